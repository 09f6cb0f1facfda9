//! Messages between far ranks: operations that are given up, packets that find no room, and what the papers measured.

use hikyaku::message::{EAGER_MAX, Messages, Mode};
use hikyaku::sim::{Machine, Sim};
use hikyaku::{Error, Job, Result};
use hikyaku_testing::pattern;
use std::time::Duration;

fn simulate<R>(machine: &Machine, ranks: usize, body: impl Fn(&Job) -> Result<R>) -> Vec<R> {
    let run = Sim::new(machine.clone(), ranks, 1).run(body).unwrap();
    run.results.into_iter().map(|result| result.unwrap()).collect()
}

fn two_ranks(body: impl Fn(&Job, &Messages<'_>) -> Result<()>) {
    simulate(&Machine::plain(), 2, |job| {
        let messages = job.messages(2)?;
        body(job, &messages)?;
        job.barrier()
    });
}

/// Lets time go on, without moving anything on that this rank has under way.
fn idle(job: &Job) -> Result<()> {
    let word = job.area::<u64>(77, 1)?;
    (0..4000).try_for_each(|_| job.poll(word.at(0)).map(drop))
}

/// The copy of a send that was given up is the library's own affair: the program's spare buffer stays as empty as it was.
#[test]
fn what_goes_on_from_a_copy_takes_no_room_of_the_spare_buffer() {
    two_ranks(|job, messages| {
        if job.rank() == 0 {
            messages.set_spare(1000)?;
            let mut send = messages.prepare_send(pattern(1, 100_000), 1, 0)?;
            send.start()?;
            idle(job)?;
            drop(send);
            messages.set_mode(Mode::Spool(Duration::ZERO));
            messages.send(&pattern(2, 900), 1, 0)?;
            assert_eq!(messages.spooled(1, 0), 2);
            messages.set_spare(900)?;
            return job.barrier();
        }
        job.barrier()?;
        for (number, bytes) in [(1, 100_000), (2, 900)] {
            let mut got = vec![0; bytes];
            assert_eq!(messages.recv(&mut got, 0, 0)?, bytes);
            assert!(got == pattern(number, bytes), "message {number}");
        }
        Ok(())
    });
}

/// As between near ranks; and the memory is used again by messages that know nothing of them.
#[test]
fn slots_are_freed_with_messages_in_them_that_nobody_received() {
    simulate(&Machine::plain(), 2, |job| {
        let world = job.new_world()?;
        let peer = 1 - job.rank();
        for round in 0..20 {
            let messages = world.messages(2)?;
            let mut got = vec![0; EAGER_MAX];
            for (slot, bytes) in [(0, 8), (1, EAGER_MAX)] {
                messages.send(&pattern(round, bytes), peer, slot)?;
                messages.recv(&mut got, peer, slot)?;
                assert!(got[..bytes] == pattern(round, bytes), "round {round}");
                messages.send(&pattern(100, bytes), peer, slot)?;
            }
            world.free_messages(messages)?;
        }
        Ok(())
    });
}

#[test]
fn what_a_given_up_receive_was_sent_belongs_to_the_next_one() {
    const TOLD: usize = 100_000;
    // The message lands before the receive is given up, or after; the next one has less room, as much, or more.
    for early in [true, false] {
        for (sent, room) in [(9, 9), (9, TOLD), (TOLD, TOLD), (TOLD, 2 * TOLD), (TOLD + 1, 2 * TOLD), (0, 0)] {
            two_ranks(|job, messages| {
                if job.rank() == 0 {
                    job.barrier()?;
                    messages.send(&pattern(3, sent), 1, 1)?;
                    return messages.send(&pattern(4, 50_000), 1, 1);
                }
                let mut receive = messages.prepare_recv(vec![0u8; TOLD], 0, 1)?;
                receive.start()?;
                if early {
                    job.barrier()?;
                    idle(job)?;
                    drop(receive);
                } else {
                    drop(receive);
                    job.barrier()?;
                }
                let mut got = vec![0; room];
                assert_eq!(messages.recv(&mut got, 0, 1)?, sent, "early: {early}, room {room}");
                assert!(got[..sent] == pattern(3, sent), "early: {early}, room {room}");
                let mut next = vec![0; 50_000];
                assert_eq!(messages.recv(&mut next, 0, 1)?, 50_000);
                assert!(next == pattern(4, 50_000));
                Ok(())
            });
        }
    }
}

#[test]
fn what_a_given_up_receive_was_sent_is_found_by_searches() {
    two_ranks(|job, messages| {
        if job.rank() == 0 {
            job.barrier()?;
            return messages.send(&pattern(3, 700), 1, 1);
        }
        let mut receive = messages.prepare_recv(vec![0u8; 100_000], 0, 1)?;
        receive.start()?;
        drop(receive);
        job.barrier()?;
        let mut small = [0u8; 699];
        let got = messages.recv_any_slot(&mut small, 0);
        assert!(matches!(got, Err(Error::Truncated { from: 0, to: 1, slot: 1, bytes: 700 })), "{got:?}");
        assert_eq!(small, [0; 699]);
        Ok(())
    });
}

#[test]
fn what_a_given_up_send_has_offered_is_delivered() {
    two_ranks(|job, messages| {
        if job.rank() == 0 {
            let mut send = messages.prepare_send(pattern(5, 100_000), 1, 1)?;
            send.start()?;
            drop(send);
            assert_eq!(messages.check_spool()?.remaining, 1);
            job.barrier()?;
            return messages.send(&[7u8], 1, 1);
        }
        job.barrier()?;
        let mut got = vec![0; 100_000];
        assert_eq!(messages.recv(&mut got, 0, 1)?, 100_000);
        assert!(got == pattern(5, 100_000));
        let mut last = [0u8];
        messages.recv(&mut last, 0, 1)?;
        assert_eq!(last, [7]);
        Ok(())
    });
}

#[test]
fn nothing_is_lost_when_packets_find_no_room() {
    // More than may be under way between two ranks, of messages and of what is said about them.
    const SLOTS: usize = 400;
    simulate(&Machine::plain(), 2, |job| {
        let messages = job.messages(SLOTS)?;
        let peer = 1 - job.rank();
        for mode in [Mode::Standard, Mode::Synchronous] {
            messages.set_mode(mode);
            for bytes in [5, 200, EAGER_MAX + 1] {
                let mine: Vec<_> = (0..SLOTS).map(|slot| pattern(slot + job.rank(), bytes)).collect();
                let mut got = vec![vec![0u8; bytes]; SLOTS];
                messages.scope(|scope| {
                    for (slot, into) in got.iter_mut().enumerate() {
                        let _ = scope.irecv(into, peer, slot)?;
                    }
                    for (slot, data) in mine.iter().enumerate() {
                        let _ = scope.isend(data, peer, slot)?;
                    }
                    Ok(())
                })?;
                for (slot, got) in got.iter().enumerate() {
                    assert!(*got == pattern(slot + peer, bytes), "{mode:?}, {bytes} bytes, slot {slot}");
                }
            }
        }
        // Taken without a wait, and told to a sender that waits for room in its slots.
        job.barrier()?;
        messages.set_mode(Mode::Standard);
        for slot in 0..SLOTS {
            messages.send(&[slot as u64], peer, slot)?;
        }
        job.barrier()?;
        for slot in 0..SLOTS {
            let mut got = [0u64];
            messages.recv(&mut got, peer, slot)?;
            assert_eq!(got, [slot as u64]);
        }
        drop(messages);
        job.barrier()
    });
}

/// Virtual time of a job that sends 8 bytes back and forth.
fn ping_pong(machine: &Machine, mode: Mode, rounds: u32) -> Duration {
    let run = Sim::new(machine.clone(), 2, 1).run(|job| {
        let messages = job.messages(1)?;
        messages.set_mode(mode);
        let (mut data, peer) = ([0u8; 8], 1 - job.rank());
        for _ in 0..rounds {
            if job.rank() == 0 {
                messages.send(&data, peer, 0)?;
                messages.recv(&mut data, peer, 0)?;
            } else {
                messages.recv(&mut data, peer, 0)?;
                messages.send(&data, peer, 0)?;
            }
        }
        Ok(())
    });
    let run = run.unwrap();
    run.results.into_iter().for_each(|result: Result<()>| result.unwrap());
    run.elapsed
}

/// Half a round, in microseconds.
fn one_way(machine: &Machine, mode: Mode) -> f64 {
    (ping_pong(machine, mode, 110) - ping_pong(machine, mode, 10)).as_secs_f64() * 1e6 / 200.0
}

#[test]
fn eight_bytes_take_as_long_as_the_paper_says() {
    let machine = Machine::named("sr8000").unwrap();
    let time = one_way(&machine, Mode::Synchronous);
    println!("8 bytes one way: {time:.2} µs (FMPL, table 1: 12.8)");
    assert!((time - 12.8).abs() < 1.28, "{time}");
}

#[test]
fn a_pair_that_never_talked_costs_next_to_nothing() {
    const RANKS: usize = 4096;
    let begin = rustix::time::clock_gettime(rustix::time::ClockId::ThreadCPUTime).tv_sec;
    let sim = Sim::new(Machine::plain(), RANKS, 1).stack_bytes(64 * 1024).heap_bytes(512 << 20);
    let run = sim
        .run(|job| {
            let messages = job.messages(4)?;
            let (next, mut got) = ((job.rank() + 1) % RANKS, [0usize]);
            messages.send(&[job.rank()], next, 0)?;
            messages.recv(&mut got, (job.rank() + RANKS - 1) % RANKS, 0)?;
            job.barrier()?;
            Ok(got[0])
        })
        .unwrap();
    for (rank, got) in run.results.into_iter().enumerate() {
        assert_eq!(hikyaku::Result::unwrap(got), (rank + RANKS - 1) % RANKS);
    }
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let peak = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).unwrap();
    let kilobytes: usize = peak.trim().trim_end_matches(" kB").parse().unwrap();
    println!("{RANKS} ranks: {} MB", kilobytes / 1024);
    assert!(kilobytes < 1_500_000, "{peak}");
    // Of processor time, whatever else the machine does.
    let used = rustix::time::clock_gettime(rustix::time::ClockId::ThreadCPUTime).tv_sec - begin;
    assert!(used < 60, "{used} s");
}
