//! Receives that do not say from where.

use super::pattern;
use hikyaku::message::Received;
use hikyaku::{Job, Result};

pub fn receives_from_any_slot(job: &Job) -> Result<()> {
    let messages = job.messages(100)?;
    if job.rank() == 0 {
        for slot in [70, 3, 99, 0] {
            messages.send(&[slot as u64], 1, slot)?;
        }
        job.barrier()?;
        messages.send(&pattern(5, 200_000), 1, 42)?;
    } else {
        let mut slots = Vec::new();
        for _ in 0..4 {
            let mut value = [0u64];
            let Received { rank, slot, len } = messages.recv_any_slot(&mut value, 0)?;
            assert_eq!((rank, value[0], len), (0, slot as u64, 1));
            slots.push(slot);
        }
        slots.sort();
        assert_eq!(slots, [0, 3, 70, 99]);
        job.barrier()?;
        let mut long = vec![0; 200_000];
        assert_eq!(messages.recv_any_slot(&mut long, 0)?.slot, 42);
        assert!(long == pattern(5, 200_000));
    }
    job.barrier()
}

pub fn receives_from_any_rank_keep_each_senders_order_and_hold_floods_back(job: &Job) -> Result<()> {
    const COUNT: u64 = 300;
    let messages = job.messages(2)?;
    if job.rank() != 0 {
        for number in 0..COUNT {
            messages.send_any(&[job.rank() as u64, number], 0, 1)?;
            if number % 100 == 0 {
                messages.send_any(&vec![number; 5000], 0, 0)?;
            }
        }
    } else {
        let mut next = [0u64; 4];
        for _ in 0..3 * COUNT {
            let mut value = [0u64; 2];
            let got = messages.recv_any(&mut value, 1)?;
            assert_eq!(got.rank as u64, value[0]);
            assert_eq!(value[1], next[got.rank], "order of rank {}", got.rank);
            next[got.rank] += 1;
            if value[1] % 100 == 0 {
                let mut long = vec![0u64; 5000];
                let got = messages.recv_any(&mut long, 0)?;
                assert_eq!(got.len, 5000);
                assert!(long.iter().all(|word| *word == long[0]));
            }
        }
        assert_eq!(next, [0, COUNT, COUNT, COUNT]);
    }
    job.barrier()
}
