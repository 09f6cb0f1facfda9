//! Groups and collectives with ranks as threads.

use hikyaku::collective::{Choices, Group, Sum, Version};
use hikyaku::sim::{Machine, Sim};
use hikyaku::{Config, Error, Job, Result, Until};
use hikyaku_testing::runner::{self, Kind};
use hikyaku_testing::{Suite, suite, watchdog};
use std::cell::Cell;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::time::Duration;

/// Ends the whole test, and says where it was, if it hangs or takes more than so many seconds of processor time.
fn within<R>(seconds: u64, what: &str, body: impl FnOnce() -> R) -> R {
    let limits = watchdog::Limits { busy: Duration::from_secs(seconds), ..watchdog::LIMITS };
    watchdog::watched_with(limits, what, body)
}

fn run_all(size: usize) {
    runner::check("as threads", &Kind::Threads(Config::default()), suite(Suite::Collectives), &[size]);
}

/// All cases, with one version of each call that has it.
fn run_all_by(version: Version) {
    let config = Config { choices: Choices::all(version), ..Config::default() };
    let what = format!("as threads, by {}", version.name());
    runner::check(&what, &Kind::Threads(config), suite(Suite::Collectives), &[2, 3, 6]);
}

#[test]
fn by_buffers() {
    run_all_by(Version::Buffers);
}

#[test]
fn by_stages() {
    run_all_by(Version::Stage);
}

#[test]
fn by_direct_access() {
    run_all_by(Version::Direct);
}

#[test]
fn by_trees() {
    run_all_by(Version::Tree);
}

/// Together the members write more than the last cache of most machines holds, which is done past it.
#[test]
fn by_stages_what_no_cache_holds() {
    const NUMBERS: usize = (8 << 17) + 5;
    let config = Config { choices: Choices::all(Version::Stage), ..Config::default() };
    let body = |job: &Job| {
        let world = job.new_world().unwrap();
        let mut data = vec![0; NUMBERS];
        for root in [0, 7] {
            let number = |at: usize| (at * 3 + root) as u64;
            if job.rank() == root {
                data.iter_mut().enumerate().for_each(|(at, data)| *data = number(at));
            }
            world.broadcast(&mut data, root).unwrap();
            assert!(data.iter().enumerate().all(|(at, data)| *data == number(at)));
        }
    };
    within(120, "a long broadcast", || hikyaku::local_with(9, config, body).unwrap());
}

#[test]
fn alone() {
    run_all(1);
}

#[test]
fn two() {
    run_all(2);
}

#[test]
fn three() {
    run_all(3);
}

#[test]
fn four() {
    run_all(4);
}

#[test]
fn five() {
    run_all(5);
}

#[test]
fn eight() {
    run_all(8);
}

/// The butterfly, asked for by its name: of any number of members, in any order, as a whole and in two halves with work between.
#[test]
fn the_butterfly_of_one_to_nine_ranks() {
    let config = Config { choices: Choices::all(Version::Buffers), ..Config::default() };
    let body = |job: &Job| {
        let told = job.symmetric::<u64>(job.size()).unwrap();
        let world = job.new_world().unwrap();
        let reversed = world.split(Some(0), -(job.rank() as i64)).unwrap().unwrap();
        let half = world.split(Some(job.rank() as u64 % 2), 0).unwrap().unwrap();
        let mut turn = 0;
        for group in [&world, &reversed, &half] {
            let members: Vec<usize> = (0..group.size()).map(|member| group.world_rank(member).unwrap()).collect();
            for late in 0..3 * group.size() {
                turn += 1;
                if group.rank() == late % group.size() {
                    std::thread::yield_now();
                }
                for member in &members {
                    job.push(told.at(*member, job.rank()), &[turn]).unwrap();
                }
                match late % 2 {
                    0 => group.barrier().unwrap(),
                    _ => group.scope(|scope| scope.ibarrier().and_then(|barrier| scope.wait(barrier))).unwrap(),
                }
                assert!(members.iter().all(|member| told.get(*member) >= turn), "turn {turn} of {members:?}");
            }
        }
        half.free().and_then(|()| reversed.free()).unwrap();
    };
    for size in 1..=9 {
        within(60, "butterflies", || hikyaku::local_with(size, config, body).unwrap());
    }
}

/// All cases with what groups use where every rank has a core.
#[test]
fn as_if_every_rank_had_a_core() {
    let kind = Kind::ThreadsWithCores(Config::default());
    runner::check("as threads with a core each", &kind, suite(Suite::Collectives), &[3, 5, 8]);
}

#[test]
fn as_if_every_rank_had_a_core_by_each_version() {
    for version in Version::ALL {
        let kind = Kind::ThreadsWithCores(Config { choices: Choices::all(version), ..Config::default() });
        let what = format!("as threads with a core each, by {}", version.name());
        runner::check(&what, &kind, suite(Suite::Collectives), &[5]);
    }
}

/// The last rank dies before a call, and all others get to know, whichever call it is.
fn survive(size: usize, call: impl Fn(&hikyaku::Group<'_>) -> hikyaku::Result<()> + Sync) {
    survive_by(Config::default(), size, call);
}

fn survive_by(config: Config, size: usize, call: impl Fn(&hikyaku::Group<'_>) -> hikyaku::Result<()> + Sync) {
    let body = |job: &Job| {
        let ready = job.symmetric::<u64>(1).unwrap();
        let world = job.new_world().unwrap();
        world.barrier().unwrap();
        if job.rank() != size - 1 {
            job.fetch_add(ready.at(size - 1, 0), 1).unwrap();
        } else {
            // Nobody needs it any more for the barrier.
            job.wait(ready.at(size - 1, 0), Until::Equal(size as u64 - 1)).unwrap();
            // Silently: a panic that is not reported.
            std::panic::resume_unwind(Box::new("as planned"));
        }
        let result = call(&world).and_then(|()| (0..20).try_for_each(|_| world.barrier()));
        assert!(matches!(result, Err(Error::PeerDead { rank }) if rank == size - 1), "{result:?}");
        // The group is of no use any more, and says so at once.
        assert!(matches!(world.allreduce(&mut [0u64], Sum), Err(Error::PeerDead { .. })));
    };
    let ended = within(120, "a call with a dead member", || {
        catch_unwind(AssertUnwindSafe(|| hikyaku::local_with(size, config, body)))
    });
    let panic = ended.expect_err("the dead rank's panic goes on");
    assert_eq!(panic.downcast_ref::<&str>(), Some(&"as planned"), "a survivor failed");
}

#[test]
fn a_dead_member_ends_every_call() {
    for size in [2, 3, 8] {
        survive(size, |world| world.barrier());
        survive(size, |world| world.broadcast(&mut [0u64; 4], 0));
        survive(size, |world| world.broadcast(&mut vec![0u64; 100_000], 0));
        survive(size, |world| world.broadcast(&mut vec![0u64; 100_000], size - 1));
        survive(size, |world| world.reduce(&mut vec![0u64; 10_000], Sum, 0));
        survive(size, |world| world.allreduce(&mut vec![0u64; 10_000], Sum));
        survive(size, |world| world.split(Some(0), 0).map(|_| ()));
    }
}

#[test]
fn a_dead_member_ends_every_version() {
    for version in Version::ALL {
        let config = Config { choices: Choices::all(version), ..Config::default() };
        for size in [3, 6] {
            survive_by(config, size, |world| world.barrier());
            for len in [4, 100_000] {
                survive_by(config, size, |world| world.broadcast(&mut vec![0u64; len], size - 1));
                survive_by(config, size, |world| world.broadcast(&mut vec![0u64; len], 0));
                survive_by(config, size, |world| world.reduce(&mut vec![0u64; len], Sum, 1));
                survive_by(config, size, |world| world.allreduce(&mut vec![0u64; len], Sum));
            }
        }
    }
}

#[test]
fn a_dead_member_ends_calls_under_way() {
    for size in [2, 3, 8] {
        survive(size, |world| world.scope(|scope| scope.wait(scope.ibarrier()?)));
        for len in [4, 100_000] {
            let (data, more) = (|| vec![0u64; len], || vec![0u64; len]);
            for root in [0, size - 1] {
                survive(size, |world| {
                    let (mut data, mut more) = (data(), more());
                    world.scope(|scope| {
                        let first = scope.ibroadcast(&mut data, root)?;
                        let second = scope.iallreduce(&mut more, Sum)?;
                        let result = scope.wait(first);
                        assert!(scope.wait(second).is_err());
                        result
                    })
                });
            }
            // Nobody waits: the scope tells.
            survive(size, |world| {
                let mut data = data();
                world.scope(|scope| scope.iallreduce(&mut data, Sum).map(drop))
            });
        }
    }
}

#[test]
fn the_panic_of_a_rank_in_a_scope_ends_the_others_calls() {
    let body = |job: &Job| {
        let (world, started) = (job.new_world().unwrap(), job.symmetric::<u64>(1).unwrap());
        let mut data = vec![0u64; 50_000];
        let result = world.scope(|scope| {
            if job.rank() != 1 {
                // Otherwise its call may have ended before it panics.
                job.wait(started.here(0), Until::Equal(1))?;
                return scope.iallreduce(&mut data, Sum).map(drop);
            }
            let _ = scope.iallreduce(&mut data, Sum)?;
            [0, 2].into_iter().try_for_each(|rank| job.word(started.at(rank, 0), 1))?;
            std::panic::resume_unwind(Box::new("as planned"))
        });
        assert!(matches!(result, Err(Error::Mismatch { rank: 1, .. } | Error::PeerDead { rank: 1 })), "{result:?}");
    };
    let ended = within(120, "a panic in a scope", || catch_unwind(AssertUnwindSafe(|| hikyaku::local(3, body))));
    let panic = ended.expect_err("the rank's panic goes on");
    assert_eq!(panic.downcast_ref::<&str>(), Some(&"as planned"), "a survivor failed");
}

/// A handler that panics in the waits of a call takes its buffer away: nobody uses it any more, and the others are told.
#[test]
fn a_panic_in_a_wait_ends_the_call() {
    type Call = fn(&Group<'_>, &mut [u64]) -> Result<()>;
    let calls: [(&str, Call); 5] = [
        ("broadcast", |world, data| world.broadcast(data, 0)),
        ("allreduce", |world, data| world.allreduce(data, Sum)),
        ("a call that was started, at the end of its scope", |world, data| {
            world.scope(|scope| scope.iallreduce(data, Sum).map(drop))
        }),
        ("a call that is waited for", |world, data| world.scope(|scope| scope.wait(scope.iallreduce(data, Sum)?))),
        ("gather", |world, data| {
            let mut all = vec![0; data.len() * world.size()];
            world.gather(data, &mut all, 0)
        }),
    ];
    let body = |job: &Job, call: Call| {
        let (world, waiting, has_panicked) =
            (job.new_world().unwrap(), job.symmetric::<u64>(1).unwrap(), Cell::new(false));
        let panic_once = move || {
            if !has_panicked.replace(true) {
                std::panic::resume_unwind(Box::new("the first time"));
            }
        };
        job.register_handler(1, move |_, _| panic_once()).unwrap();
        let mut data = vec![job.rank() as u64 + 1; 100_000];
        // What all members find out about each other at the first long call.
        world.allreduce(&mut data, Sum).unwrap();
        data.fill(5);
        job.barrier().unwrap();
        if job.rank() == 0 {
            let ended = catch_unwind(AssertUnwindSafe(|| {
                job.word(waiting.at(1, 0), 1).unwrap();
                call(&world, &mut data)
            }));
            assert!(ended.is_err(), "{ended:?}");
            std::hint::black_box(&mut data).fill(7);
            job.word(waiting.at(1, 0), 2).unwrap();
            job.barrier().unwrap();
            assert!(std::hint::black_box(&data).iter().all(|number| *number == 7));
        } else {
            job.wait(waiting.here(0), Until::Equal(1)).unwrap();
            job.send(0, 1, 0, [0; 6], &[]).unwrap();
            job.wait(waiting.here(0), Until::Equal(2)).unwrap();
            let result = call(&world, &mut data);
            assert!(result.is_err(), "{result:?}");
            job.barrier().unwrap();
        }
    };
    for (name, call) in calls {
        println!("{name}");
        within(120, name, || hikyaku::local(2, |job| body(job, call)).unwrap());
    }
}

#[test]
fn a_member_that_left_in_good_order_is_no_error() {
    hikyaku::local(4, |job| {
        let world = job.new_world().unwrap();
        for _ in 0..5 {
            world.barrier().unwrap();
        }
        let mut data = [1u64];
        world.allreduce(&mut data, Sum).unwrap();
        assert_eq!(data, [4]);
        if job.rank() % 2 == 0 {
            std::thread::sleep(Duration::from_millis(3));
        }
    })
    .unwrap();
}

#[test]
fn a_member_that_left_too_early_is_noticed() {
    let results = hikyaku::local(3, |job| {
        let world = job.new_world().unwrap();
        if job.rank() == 1 { Ok(()) } else { world.barrier() }
    })
    .unwrap();
    assert!(matches!(results[0], Err(Error::PeerLeft { rank: 1 })), "{:?}", results[0]);
    assert!(matches!(results[2], Err(Error::PeerLeft { .. })), "{:?}", results[2]);
}

/// All cases on hosts of several ranks, in mixed order.
#[test]
fn on_hosts_of_several_ranks() {
    for (size, hosts, seed) in [(2, 1, 1), (3, 2, 2), (6, 3, 3), (7, 2, 4)] {
        let kind = Kind::Simulated(&|size, _| Sim::new(Machine::plain(), size, seed).hosts(|rank| rank % hosts));
        runner::check(&format!("on {hosts} simulated hosts"), &kind, suite(Suite::Collectives), &[size]);
    }
}

/// All cases where no rank has another's memory mapped.
#[test]
fn in_virtual_time() {
    for (size, seed) in [(1, 1), (2, 2), (3, 3), (5, 4), (8, 5)] {
        let kind = Kind::Simulated(&|size, _| Sim::new(Machine::plain(), size, seed));
        runner::check("simulated", &kind, suite(Suite::Collectives), &[size]);
    }
}
