//! Misuse of jobs over several hosts, simulated ones: what is near is taken for far, what is gone for present, and what belongs to one
//! job for another's.

use super::canary::Guarded;
use crate::support::bytes;
use hikyaku::collective::{Formation, FormationChannel, Sum};
use hikyaku::ffi::RawPort;
use hikyaku::sim::{Faults, Machine, Partition, Sim};
use hikyaku::spi::{Loss, Packet, Sink, Token, Transport, loopback, udp};
use hikyaku::{By, Error, Event, Job, Port, Result, Until};
use std::cell::RefCell;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::time::Duration;

/// Two hosts of two ranks each, in turns.
fn two_hosts() -> Sim {
    Sim::new(Machine::plain(), 4, 1).hosts(|rank| rank % 2).time_limit(Duration::from_secs(1000))
}

fn run(sim: &Sim, program: impl Fn(&Job) -> Result<()>) {
    sim.run(program).unwrap().results.into_iter().for_each(|ended| ended.unwrap());
}

/// The rank that waits may do so; nobody else may, in its name.
fn check_foreign<R>(result: Result<R>) {
    assert!(matches!(result, Err(Error::Invalid(_))), "{:?}", result.err());
}

/// Refused, without taking memory for it.
pub fn hosts_that_cannot_be(_: &Job) {
    let sim = |size: usize| Sim::new(Machine::plain(), size, 1);
    assert!(sim(0).run(|_| ()).is_err());
    assert!(sim(0).hosts(|rank| rank).run(|_| ()).is_err());
    for host in [1, 7, u32::MAX as usize, usize::MAX] {
        assert!(sim(2).hosts(|_| host).run(|_| ()).is_err(), "{host}");
        assert!(sim(3).hosts(|rank| rank * host.min(1 << 40) * 2).run(|_| ()).is_err(), "{host}");
    }
    for size in [(1 << 16) + 1, 1 << 33, usize::MAX] {
        assert!(sim(size).run(|_| ()).is_err(), "{size}");
        assert!(sim(size).hosts(|rank| rank % 2).run(|_| ()).is_err(), "{size}");
    }
    assert!(catch_unwind(|| sim(2).hosts(|_| panic!("on purpose"))).is_err());
}

/// A rank of an inner job calls the outer one, whose rank it is not, and uses its places, which would be far outside of its own memory.
/// Both follow from the same seed, by which they are not mistaken for each other.
pub fn a_simulated_job_uses_the_one_around_it(_: &Job) {
    const LAST: usize = 1 << 20;
    run(&two_hosts(), |outer| {
        let words = outer.symmetric::<u64>(LAST + 1)?;
        let own = outer.area::<u64>(1, LAST)?;
        let area = outer.open_area::<u64>(outer.rank(), 1)?;
        let inner = Sim::new(Machine::plain(), 2, 1).heap_bytes(1 << 16).run(|inner| {
            let _own = inner.area::<u64>(1, 1)?;
            // Nothing of it waits.
            assert!(outer.is_mapped((outer.rank() + 2) % 4).unwrap());
            let _ = outer.word(words.at(outer.rank(), 0), 7);
            check_foreign(outer.barrier());
            check_foreign(outer.wait(words.here(1), Until::Equal(1)));
            check_foreign(outer.pull_one(words.at((outer.rank() + 1) % 4, 0)));
            let pushed = inner.push(words.at(inner.rank(), LAST), &[1]);
            assert!(matches!(pushed, Err(Error::ForeignArea)), "{pushed:?}");
            assert!(inner.push(area.at(0), &[1]).is_err());
            inner.barrier()
        })?;
        inner.results.into_iter().for_each(|ended| ended.unwrap());
        drop(own);
        outer.barrier()
    });
}

/// A rank takes the port of another, near or far, and the program of an ended run takes one along.
pub fn a_simulated_rank_uses_the_port_of_another(_: &Job) {
    let ports: [RefCell<Option<Port>>; 4] = Default::default();
    run(&two_hosts(), |job| {
        let words = job.symmetric::<u64>(1)?;
        ports[job.rank()].replace(Some(job.open()?));
        job.barrier()?;
        let port = ports[(job.rank() + 1) % 4].take().unwrap();
        check_foreign(port.wait(words.at(port.rank(), 0), Until::Equal(9)));
        check_foreign(port.pull_one(words.at((port.rank() + 1) % 4, 0)));
        job.barrier()?;
        ports[job.rank()].replace(Some(port));
        Ok(())
    });
    // Its job is over, and somebody else's fiber uses it, and a thread.
    run(&two_hosts(), |job| {
        if let Some(port) = ports[job.rank()].take() {
            port.progress();
            assert!(port.sync().is_err() || port.size() == 4);
            assert!(port.call((port.rank() + 1) % 4, 1, [0; 6], &[]).is_err());
            std::thread::scope(|scope| scope.spawn(move || drop(port.sync())).join()).unwrap();
        }
        job.barrier()
    });
}

/// Memory of a far rank has no address, no words to wait for, and no end; and an area that is gone stays gone.
pub fn far_memory_is_taken_for_near(_: &Job) {
    run(&two_hosts(), |job| {
        let (me, far) = (job.rank(), (job.rank() + 1) % 4);
        let words = job.symmetric::<u64>(4)?;
        job.barrier()?;
        assert!(!job.is_mapped(far)? && job.is_mapped((me + 2) % 4)? && job.is_mapped(4).is_err());
        assert!(job.mapped_address(words.at(far, 0)).is_err());
        assert!(matches!(job.wait(words.at(far, 0), Until::Equal(0)), Err(Error::NotMine { .. })));
        assert!(matches!(job.poll(words.at(far, 0)), Err(Error::NotMine { .. })));
        for index in [3, 4, usize::MAX / 8, usize::MAX] {
            assert!(job.push(words.at(far, index), &[1; 2]).is_err(), "{index}");
            assert!(job.pull(words.at(far, index), &mut [0; 2]).is_err(), "{index}");
        }
        let area = job.register(1, vec![me as u64; 1000])?;
        job.barrier()?;
        let opened = job.open_area::<u64>(far, 1)?;
        assert!(job.open_area::<[u64; 7]>(far, 1).is_err() && job.open_area::<u64>(far, 2).is_err());
        assert_eq!(job.pull_one(opened.at(999))?, far as u64);
        // Under way when it is taken away.
        let _ = job.push(opened.at(0), &[9; 1000]);
        let mut vector = area.into_vec();
        vector.fill(5);
        job.barrier()?;
        assert_eq!(vector, [5; 1000], "a vector that was given back was written");
        let late = job.push(opened.at(0), &[9; 1000]).and_then(|()| job.flush(far));
        assert!(matches!(late, Err(Error::AreaRevoked { .. } | Error::Refused { .. })), "{late:?}");
        // Another one of the same number is not the one that was opened.
        let again = job.register(1, vector)?;
        job.barrier()?;
        let late = job.push(opened.at(0), &[9; 1000]).and_then(|()| job.flush(far));
        assert!(matches!(late, Err(Error::AreaRevoked { .. } | Error::Refused { .. })), "{late:?}");
        job.barrier()?;
        assert_eq!(again.into_vec(), [5; 1000]);
        Ok(())
    });
}

/// Ranks that cannot reach each other any more drop all they have, in the middle of everything, and what they have back is theirs.
pub fn everything_is_dropped_when_others_are_unreachable(_: &Job) {
    const LONG: usize = 50_000;
    // At some moments of it, and when it is over.
    for start in [20, 50, 100, 200, 10_000].map(Duration::from_micros) {
        let cut = Partition { ranks: vec![1, 3], both_ways: true, start, end: Duration::MAX };
        let faults = Faults { partitions: vec![cut], ..Faults::default() };
        let ended = two_hosts().faults(faults).run(|job| -> Result<()> {
            let (me, far) = (job.rank(), (job.rank() + 1) % 4);
            let from = (me + 3) % 4;
            let (messages, world) = (job.messages(3)?, job.new_world()?);
            let channel = FormationChannel::new(job, 1)?;
            let area = job.register(1, vec![0u8; LONG])?;
            let formed = Formation::new(&channel, 0, &[0, 1, 2, 3], &[], 1)?;
            let mut receive = messages.prepare_recv(vec![0u8; LONG], from, 0)?;
            let mut send = messages.prepare_send(bytes(me, LONG), far, 0)?;
            let (mut room, mut sum) = (Guarded::new(LONG), Guarded::new(LONG));
            let data = bytes(me, LONG);
            let used = messages.scope(|scope| {
                receive.start()?;
                send.start()?;
                let first = scope.irecv(room.inside(), from, 1)?;
                let second = scope.isend(&data, far, 1)?;
                let area = job.open_area::<u8>(far, 1)?;
                job.push(area.at(0), &data)?;
                world.allreduce(sum.inside(), |total: &mut [u8], input: &[u8]| {
                    total.iter_mut().zip(input).for_each(|(total, input)| *total ^= input);
                })?;
                scope.wait_receive(first)?;
                scope.wait_send(second)?;
                formed.all().allreduce(&mut [1u64], Sum)
            });
            if let Err(error) = &used {
                assert!(error.is_end_of_peer() || matches!(error, Error::Mismatch { .. }), "{error}");
            }
            room.check_margins();
            sum.check_margins();
            drop((room, sum));
            let kept = [Guarded::new(LONG), Guarded::new(LONG)];
            drop(receive);
            drop(area);
            let mut retired = formed.retire();
            let _ = (0..10).try_for_each(|_| retired.try_free().map(drop));
            drop((send, world));
            drop(messages);
            let _ = job.barrier();
            kept.iter().for_each(Guarded::check_untouched);
            used
        });
        for result in ended.unwrap().results {
            assert!(result.as_ref().err().is_none_or(|error| error.rank().is_some()), "{result:?}");
        }
    }
}

/// A scope over hosts is left by a panic, with a long send that nobody receives and a receive that nobody sends to.
pub fn a_panic_leaves_a_scope_over_hosts(_: &Job) {
    run(&two_hosts(), |job| {
        let (far, from) = ((job.rank() + 1) % 4, (job.rank() + 3) % 4);
        let messages = job.messages(2)?;
        let (data, mut room) = (bytes(job.rank(), 200_000), Guarded::new(200_000));
        let caught = catch_unwind(AssertUnwindSafe(|| {
            messages.scope(|scope| -> Result<()> {
                drop(scope.isend(&data, far, 0)?);
                let _ = scope.irecv(room.inside(), from, 1)?;
                panic!("on purpose");
            })
        }));
        assert!(caught.is_err());
        room.check_untouched();
        drop(data);
        // It goes on from a copy.
        let mut got = vec![0u8; 200_000];
        assert_eq!(messages.recv(&mut got, from, 0)?, 200_000);
        assert!(got == bytes(from, 200_000));
        job.barrier()
    });
}

/// A transport of its own, outside of any job, made with numbers that nobody means: what cannot be posted is an error, what is polled
/// comes to an end.
pub fn a_transport_is_used_by_itself(_: &Job) {
    /// Polls again, and panics when a rank is lost.
    struct Odd<'t>(&'t dyn Transport);
    impl Sink for Odd<'_> {
        fn message(&mut self, _: usize, _: &Packet, _: &[u8]) {
            assert!(!self.0.poll(&mut Odd(self.0)), "a poll inside a poll");
        }
        fn completed(&mut self, _: Token) {}
        fn lost(&mut self, _: usize, _: Loss) {
            assert!(!self.0.poll(&mut Odd(self.0)), "a poll inside a poll");
            panic!("on purpose");
        }
    }
    assert!(loopback::endpoints(0).unwrap().is_empty());
    let mut ends = loopback::endpoints(3).unwrap();
    drop(ends.remove(1));
    let lost = |end: &dyn Transport| catch_unwind(AssertUnwindSafe(|| end.poll(&mut Odd(end))));
    assert!(ends.iter().all(|end| lost(end).is_err() && lost(end).is_ok_and(|any| !any)));
    let here = "127.0.0.1:0".parse().unwrap();
    for (index, number) in (0..4).flat_map(|index| [0, 1, 77, usize::MAX].map(|number| (index, number))) {
        let config = || {
            let mut config = udp::Config::new(here, [7; udp::SECRET_BYTES]);
            match index {
                0 => config.payload_max = number,
                1 => config.frame_max = number,
                2 => config.window_max = number,
                _ => config.silence = Duration::from_micros(number as u64),
            }
            config
        };
        let bound = [udp::Bound::new(config()).unwrap(), udp::Bound::new(config()).unwrap()];
        let addresses: Vec<_> = bound.iter().map(|bound| Some(bound.address().unwrap())).collect();
        let [first, second] = bound;
        let ends = [first.start(0, addresses.clone()).unwrap(), second.start(1, addresses.clone()).unwrap()];
        for _ in 0..50 {
            for end in &ends {
                [0, 1, 2, usize::MAX].into_iter().for_each(|rank| end.watch(rank));
                let _ = (lost(end), end.arm(), end.drained(), end.has_arrived());
                assert!(!end.recall(usize::MAX, Token(1)) && !end.recall(1, Token(1)));
            }
        }
        // One leaves, the other is dropped in the middle; one is a rank that its own table does not have.
        ends[0].leave();
        ends[0].leave();
        let _ = ends.each_ref().map(|end| lost(end));
        let stranger = udp::Bound::new(config()).unwrap().start(usize::MAX, addresses).unwrap();
        stranger.watch(0);
        let _ = lost(&stranger);
    }
}

/// A handler panics while a long pull waits for its answers. Its buffer is the program's again: what comes later goes nowhere, not
/// into the next pull either.
pub fn a_panic_leaves_a_pull_over_hosts(_: &Job) {
    const BYTES: usize = 300_000;
    const HANDLER: u16 = 3;
    // Only a wire that may fail carries long pulls in pieces.
    let sim = two_hosts().faults(Faults { loss: 1e-9, ..Faults::default() });
    run(&sim, |job| {
        let area = job.symmetric::<u8>(BYTES)?;
        let left = job.symmetric::<u64>(1)?;
        area.write(0, &vec![job.rank() as u8 + 1; BYTES]);
        job.register_handler(HANDLER, |_, _| panic!("on purpose"))?;
        job.barrier()?;
        match job.rank() {
            0 => {
                job.word(left.at(2, 0), 1)?;
                let mut first = vec![0; BYTES];
                let caught = catch_unwind(AssertUnwindSafe(|| job.pull(area.at(1, 0), &mut first)));
                assert!(caught.is_err(), "the handler ran in the pull");
                let kept = first.clone();
                assert!(kept.contains(&2) && kept.contains(&0), "its answers are under way");
                // Answered after everything that was asked before.
                job.fetch_add(left.at(1, 0), 1)?;
                assert!(first == kept, "written after the panic");
                let mut second = vec![0; BYTES];
                job.pull(area.at(3, 0), &mut second)?;
                assert!(second.iter().all(|byte| *byte == 4));
                assert!(first == kept, "written after the panic");
            }
            2 => {
                job.wait(left.here(0), Until::Equal(1))?;
                // Some pieces have come by then, and others have not.
                let never = Event::Word(left.here(0), Until::Equal(2));
                assert!(job.wait_any(By::Anyone, &[never], Some(Duration::from_micros(10))).is_err());
                job.send(0, HANDLER, 0, [0; 6], &[])?;
            }
            _ => {}
        }
        job.barrier()
    });
}
