use super::*;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

/// Short and long ones, to the others and to oneself.
#[test]
fn messages_that_nobody_receives_hold_nobody() {
    crate::local(3, |job| {
        let channel = FormationChannel::new(job, 1)?;
        let formed = Formation::new(&channel, 0, &[0, 1, 2], &[], 1)?;
        for member in 0..3 {
            for bytes in [8, 100_000, 8, 100_000] {
                formed.messages.send_owned(vec![0; bytes].into(), member, 0)?;
            }
        }
        free(formed.retire())
    })
    .unwrap();
}

fn free(mut retired: Retired<'_>) -> Result<()> {
    let deadline = Instant::now() + Duration::from_secs(300);
    while !retired.try_free()? {
        assert!(Instant::now() < deadline, "{} sends left", retired.sends_left()?);
        std::thread::yield_now();
    }
    Ok(())
}

/// Of both kinds, in slots of their own, beside sends that nobody receives.
#[test]
fn operations_that_nobody_waited_for_hold_nobody() {
    crate::local(2, |job| {
        let channel = FormationChannel::new(job, 1)?;
        let formed = Formation::new(&channel, 0, &[0, 1], &[], 3)?;
        let other = 1 - job.rank();
        formed.messages.isend_for_good(vec![0; 100_000].leak(), other, 0)?;
        formed.messages.irecv_for_good(vec![0; 100_000].leak(), other, 1)?;
        formed.messages.send_owned(vec![0; 100_000].into(), other, 2)?;
        free(formed.retire())
    })
    .unwrap();
}

/// Whether it left the job or died: it touches nothing any more.
#[test]
fn a_member_that_ended_without_a_word_holds_no_memory() {
    for dies in [false, true] {
        let freed = AtomicUsize::new(0);
        let ended = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
            crate::local(3, |job| {
                let channel = FormationChannel::new(job, 1)?;
                let formed = Formation::new(&channel, 0, &[0, 1, 2], &[], 1)?;
                job.barrier()?;
                if job.rank() == 2 {
                    assert!(!dies, "a death for a test");
                    return Ok(());
                }
                free(formed.retire())?;
                freed.fetch_add(1, Ordering::Relaxed);
                Ok::<(), Error>(())
            })
        }));
        assert_eq!(ended.is_err(), dies);
        assert_eq!(freed.into_inner(), 2);
    }
}

/// A member that has left still sends what the others receive.
#[test]
fn what_was_sent_before_leaving_is_received() {
    crate::local(2, |job| {
        let channel = FormationChannel::new(job, 1)?;
        let formed = Formation::new(&channel, 0, &[0, 1], &[], 1)?;
        if job.rank() == 0 {
            (1..=4u8).try_for_each(|value| formed.messages.send_owned(vec![value; 100_000].into(), 1, 0))?;
            let retired = formed.retire();
            job.barrier()?;
            free(retired)
        } else {
            job.barrier()?;
            let mut got = vec![0; 100_000];
            for value in 1..=4u8 {
                formed.messages.recv(&mut got, 0, 0)?;
                assert_eq!(got[99_999], value);
            }
            free(formed.retire())
        }
    })
    .unwrap();
}

/// Whatever was done with the memory: a barrier, buffers, messages short and long, or nothing.
#[test]
fn memory_that_was_given_up_is_used_again_as_new() {
    crate::local(3, |job| {
        let channel = FormationChannel::new(job, 1)?;
        let (me, next, last) = (job.rank(), (job.rank() + 1) % 3, (job.rank() + 2) % 3);
        let mut starts = Vec::new();
        for turn in 0..24u64 {
            let formed = Formation::new(&channel, 0, &[0, 1, 2], &[&[0, 1, 2]], 2)?;
            starts.push(formed.memory.start);
            if turn & 1 != 0 {
                formed.all.barrier()?;
            }
            if turn & 2 != 0 {
                let mut sums = vec![turn + me as u64; 1000];
                formed.team(0).unwrap().allreduce(&mut sums, crate::collective::Sum)?;
                assert_eq!(sums, vec![3 * turn + 3; 1000]);
            }
            if turn & 4 != 0 {
                for bytes in [8, 5_000, 100_000] {
                    formed.messages.send_owned(vec![turn as u8; bytes].into(), next, 1)?;
                    let mut got = vec![0; bytes];
                    formed.messages.recv(&mut got, last, 1)?;
                    assert_eq!(got, vec![turn as u8; bytes]);
                }
            }
            free(formed.retire())?;
        }
        starts.dedup();
        assert_eq!(starts.len(), 1);
        job.barrier()
    })
    .unwrap();
}

/// Only what all formations need is there before they are used, and it goes with them.
#[test]
fn idle_formations_take_some_kilobytes() {
    crate::local(2, |job| {
        let channel = FormationChannel::new(job, 1)?;
        let formed: Vec<_> =
            (0..100).map(|_| Formation::new(&channel, 0, &[0, 1], &[&[0, 1]], 20)).collect::<Result<_>>()?;
        job.barrier()?;
        let blocks = rustix::fs::fstat(job.ni.memory.segment.file()).unwrap().st_blocks as usize;
        assert!(blocks * 512 < 2 * 100 * 32 * 1024, "{blocks}");
        job.barrier()?;
        formed.into_iter().try_for_each(|formed| free(formed.retire()))?;
        job.barrier()
    })
    .unwrap();
}
