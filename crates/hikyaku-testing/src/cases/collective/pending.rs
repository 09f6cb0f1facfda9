//! Non-blocking collectives: the same results as the blocking ones, in any mixture.

use super::{all_values, sum_of, value, values};
use hikyaku::collective::{Max, Sum};
use hikyaku::{Error, Group, Job};
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};

const LENGTHS: [usize; 6] = [0, 1, 7, 1000, 5000, 100_000];

pub fn every_call(job: &Job) {
    let world = job.new_world().unwrap();
    let (rank, size) = (job.rank(), job.size());
    for (turn, len) in LENGTHS.into_iter().enumerate() {
        let root = turn % size;
        world.scope(|scope| scope.wait(scope.ibarrier()?)).unwrap();

        let mut data = if rank == root { values(root, len) } else { vec![0; len] };
        world.scope(|scope| scope.wait(scope.ibroadcast(&mut data, root)?)).unwrap();
        assert!(data == values(root, len), "broadcast of {len}");

        let mut data = values(rank, len);
        world.scope(|scope| scope.wait(scope.ireduce(&mut data, Sum, root)?)).unwrap();
        assert!(data == if rank == root { sum_of(0..size, len) } else { values(rank, len) }, "reduce of {len}");

        let mut data = values(rank, len);
        world.scope(|scope| scope.wait(scope.iallreduce(&mut data, Sum)?)).unwrap();
        assert!(data == sum_of(0..size, len), "allreduce of {len}");

        let mut data = values(rank, len);
        world.scope(|scope| scope.wait(scope.iscan(&mut data, Sum)?)).unwrap();
        assert!(data == sum_of(0..rank + 1, len), "scan of {len}");

        let mine = values(rank, len);
        let mut all = vec![0; if rank == root { len * size } else { 0 }];
        world.scope(|scope| scope.wait(scope.igather(&mine, &mut all, root)?)).unwrap();
        assert!(rank != root || all == all_values(size, len), "gather of {len}");

        let mut all = vec![0; len * size];
        world.scope(|scope| scope.wait(scope.iallgather(&mine, &mut all)?)).unwrap();
        assert!(all == all_values(size, len), "allgather of {len}");

        let all = if rank == root { all } else { vec![] };
        let mut mine = vec![0; len];
        world.scope(|scope| scope.wait(scope.iscatter(&all, &mut mine, root)?)).unwrap();
        assert!(mine == values(rank, len), "scatter of {len}");

        let cells = |of: &dyn Fn(usize) -> usize| {
            let blocks = (0..size).flat_map(|peer| values(of(peer), len));
            blocks.collect::<Vec<u64>>()
        };
        let (blocks, mut into) = (cells(&|to| rank * 100 + to), vec![0; len * size]);
        world.scope(|scope| scope.wait(scope.ialltoall(&blocks, &mut into)?)).unwrap();
        assert!(into == cells(&|from| from * 100 + rank), "alltoall of {len}");
    }
}

/// Many at once, waited for in an order of each member's own, or not at all.
pub fn several_at_once(job: &Job) {
    let world = job.new_world().unwrap();
    let (rank, size) = (job.rank(), job.size());
    for turn in 0..10 {
        let len = [1, 100, 3000][turn % 3];
        let root = turn % size;
        let mut sums: Vec<_> = (0..12).map(|call| values(rank * 20 + call, len)).collect();
        let mut copies: Vec<_> =
            (0..12).map(|call| if rank == root { values(call, len) } else { vec![0; len] }).collect();
        world
            .scope(|scope| {
                let mut handles = Vec::new();
                for (sum, copy) in sums.iter_mut().zip(&mut copies) {
                    handles.push(scope.iallreduce(sum, Sum)?);
                    handles.push(scope.ibroadcast(copy, root)?);
                }
                match rank % 3 {
                    0 => handles.into_iter().rev().try_for_each(|handle| scope.wait(handle)),
                    1 => handles.into_iter().step_by(5).try_for_each(|handle| scope.wait(handle)),
                    _ => {
                        // Never dropped.
                        handles.into_iter().for_each(std::mem::forget);
                        Ok(())
                    }
                }
            })
            .unwrap();
        for (call, (sum, copy)) in sums.iter().zip(&copies).enumerate() {
            let expected = |index| (0..size).map(|rank| value(rank * 20 + call, index)).sum::<u64>();
            assert!(sum.iter().enumerate().all(|(index, sum)| *sum == expected(index)), "sum {call}");
            assert!(*copy == values(call, len), "copy {call}");
        }
    }
}

/// Calls of different groups go on independently: members may start and await them in different orders.
pub fn groups_cross(job: &Job) {
    let (first, second) = (job.new_world().unwrap(), job.new_world().unwrap());
    let half = first.split(Some(job.rank() as u64 % 2), 0).unwrap().unwrap();
    let (rank, size) = (job.rank(), job.size());
    for len in [1, 2000, 40_000] {
        let (mut a, mut b, mut c) = (values(rank, len), values(rank, len), values(rank, len));
        let (one, other) = if rank % 2 == 0 { (&first, &second) } else { (&second, &first) };
        one.scope(|one| {
            other.scope(|other| {
                half.scope(|half| {
                    let a = one.iallreduce(&mut a, Sum)?;
                    let c = half.iallreduce(&mut c, Sum)?;
                    let b = other.iallreduce(&mut b, Sum)?;
                    one.wait(a)?;
                    other.wait(b)?;
                    half.wait(c)
                })
            })
        })
        .unwrap();
        assert!(a == sum_of(0..size, len) && b == a, "{len}");
        let members = (0..size).filter(|peer| peer % 2 == rank % 2);
        assert_eq!(c[0], members.map(|peer| value(peer, 0)).sum::<u64>());
    }
}

/// Blocking calls of the same group wait for those before; those of another, and messages, move them on.
pub fn mixed_with_blocking_calls(job: &Job) {
    let (world, other) = (job.new_world().unwrap(), job.new_world().unwrap());
    let messages = job.messages(2).unwrap();
    let (rank, size) = (job.rank(), job.size());
    for turn in 0..20u64 {
        let len = [3, 900, 5000][turn as usize % 3];
        let (mut started, mut after) = (values(rank, len), [turn]);
        let (mut theirs, mine) = ([0u64; 700], [rank as u64 + turn; 700]);
        let (to, from) = ((rank + 1) % size, (rank + size - 1) % size);
        world
            .scope(|scope| {
                let sum = scope.iallreduce(&mut started, Sum)?;
                other.barrier()?;
                if size > 1 {
                    messages.send(&mine, to, 0)?;
                    messages.recv(&mut theirs, from, 0)?;
                }
                world.allreduce(&mut after, Max)?;
                assert!(scope.test(&sum)?, "the blocking call came after");
                scope.wait(sum)
            })
            .unwrap();
        assert!(started == sum_of(0..size, len) && after == [turn]);
        assert!(size == 1 || theirs == [from as u64 + turn; 700]);
    }
    job.barrier().unwrap();
}

/// Only ever tested, never waited for.
pub fn tested(job: &Job) {
    let world = job.new_world().unwrap();
    for len in [1, 5000, 50_000] {
        let mut data = values(job.rank(), len);
        world
            .scope(|scope| {
                let sum = scope.iallreduce(&mut data, Sum)?;
                while !scope.test(&sum)? {
                    std::thread::yield_now();
                }
                assert!(scope.test(&sum)?);
                Ok(())
            })
            .unwrap();
        assert!(data == sum_of(0..job.size(), len));
    }
}

/// The others complete a call of many rounds, and only then wake the first, which does not look at the call meanwhile:
/// its waits for other things, and its calls of `progress`, take its part.
pub fn goes_on_in_other_waits(job: &Job) {
    let world = job.new_world().unwrap();
    let flag = job.symmetric::<u64>(2).unwrap();
    let len = 60_000;
    for turn in 1..4 {
        let mut data = values(job.rank(), len);
        if job.rank() == 0 {
            world
                .scope(|scope| {
                    let sum = scope.iallreduce(&mut data, Sum)?;
                    job.wait(flag.at(0, 0), hikyaku::Until::AtLeast((job.size() as u64 - 1) * turn))?;
                    scope.wait(sum)?;
                    let _barrier = scope.ibarrier()?;
                    while flag.get(1) < (job.size() as u64 - 1) * turn {
                        job.progress();
                        std::thread::yield_now();
                    }
                    Ok(())
                })
                .unwrap();
        } else {
            world.allreduce(&mut data, Sum).unwrap();
            job.fetch_add(flag.at(0, 0), 1).unwrap();
            world.barrier().unwrap();
            job.fetch_add(flag.at(0, 1), 1).unwrap();
        }
        assert!(data == sum_of(0..job.size(), len));
    }
    job.barrier().unwrap();
}

/// What is wrong comes out of `wait`, of `test`, and of a scope in which nobody asked.
pub fn errors(job: &Job) {
    if job.size() == 1 {
        return;
    }
    let odd = job.rank() == job.size() - 1;
    let expect = |call: &dyn Fn(&Group<'_>) -> hikyaku::Result<()>| {
        let world = job.new_world().unwrap();
        match call(&world).and_then(|()| (0..20).try_for_each(|_| world.barrier())) {
            Err(Error::Mismatch { .. }) => {}
            other => panic!("{other:?} instead of a mismatch"),
        }
        assert!(world.scope(|scope| scope.wait(scope.ibarrier()?)).is_err());
        job.barrier().unwrap();
    };
    expect(&|world| {
        let mut data = [0u64];
        world.scope(|scope| {
            let call = if odd { scope.ibarrier()? } else { scope.iallreduce(&mut data, Sum)? };
            scope.wait(call)
        })
    });
    expect(&|world| {
        let mut data = vec![0u64; if odd { 3 } else { 4 }];
        world.scope(|scope| {
            let call = scope.iallreduce(&mut data, Sum)?;
            while !scope.test(&call)? {}
            Ok(())
        })
    });
    expect(&|world| {
        let mut data = [0u64; 10];
        world.scope(|scope| {
            let _ = scope.ibroadcast(&mut data, odd as usize)?;
            let _ = scope.ibarrier()?;
            Ok(())
        })
    });
    let size = job.size();
    expect(&|world| {
        let mut all = vec![0u64; 3 * size];
        world.scope(|scope| scope.wait(scope.igather(&[1; 3], &mut all, odd as usize)?))
    });
    for len in [2, 40_000] {
        let len = if odd { len + 1 } else { len };
        expect(&|world| {
            let (blocks, mut into) = (vec![0u64; len * size], vec![0; len * size]);
            world.scope(|scope| scope.wait(scope.ialltoall(&blocks, &mut into)?))
        });
        expect(&|world| {
            let (mine, mut all) = (vec![0u64; len], vec![0; len * size]);
            world.scope(|scope| scope.wait(scope.iallgather(&mine, &mut all)?))
        });
        expect(&|world| {
            let (all, mut mine) = (vec![0u64; len * size], vec![0; len]);
            world.scope(|scope| scope.wait(scope.iscatter(&all, &mut mine, 0)?))
        });
    }
    expect(&|world| {
        let mut data = [0u64; 5];
        world.scope(|scope| scope.wait(if odd { scope.iscan(&mut data, Max)? } else { scope.iscan(&mut data, Sum)? }))
    });
    expect(&|world| {
        let mut data = [0u64; 5];
        world.scope(|scope| {
            scope.wait(if odd { scope.iscan(&mut data, Sum)? } else { scope.iallreduce(&mut data, Sum)? })
        })
    });
    // One's own mistake.
    let world = job.new_world().unwrap();
    let mut data = [0u64];
    let root = if odd { job.size() } else { 0 };
    let result = world.scope(|scope| scope.wait(scope.ireduce(&mut data, Sum, root)?)).and_then(|()| world.barrier());
    match result {
        Err(Error::Invalid(text)) if odd => assert!(text.contains("does not exist"), "{text}"),
        Err(Error::Mismatch { .. }) if !odd => {}
        other => panic!("{other:?}"),
    }
    // Nobody leaves while others are told.
    job.barrier().unwrap();
}

/// A function that makes a call of its own group is refused.
pub fn call_in_a_function(job: &Job) {
    let (world, other) = (job.new_world().unwrap(), job.new_world().unwrap());
    if job.size() == 1 {
        return;
    }
    let mut data = [1u64];
    let refused = std::cell::Cell::new(false);
    world
        .scope(|scope| {
            let add = |total: &mut [u64], input: &[u64]| {
                total[0] += input[0];
                refused.set(matches!(world.barrier(), Err(Error::InFunction)));
            };
            scope.wait(scope.iallreduce(&mut data, add)?)
        })
        .unwrap();
    other.barrier().unwrap();
    // Where one member combines for all, the function runs at that one alone.
    let mut seen = [refused.get() as u64];
    other.allreduce(&mut seen, Max).unwrap();
    assert_eq!((data, seen), ([job.size() as u64], [1]));
}

/// A panic in the middle of a call, that this member survives: it goes on at the member, and the others get to know.
fn survive_panic(job: &Job, call: impl Fn(&Group<'_>, bool) -> hikyaku::Result<()>) {
    if job.size() == 1 {
        return;
    }
    let world = job.new_world().unwrap();
    world.barrier().unwrap();
    let panics = job.rank() == 0;
    let ended = catch_unwind(AssertUnwindSafe(|| call(&world, panics)));
    match ended {
        Err(panic) => assert!(panics && panic.downcast_ref::<&str>() == Some(&"as planned")),
        Ok(result) => {
            let result = result.and_then(|()| (0..20).try_for_each(|_| world.barrier()));
            assert!(!panics && matches!(result, Err(Error::Mismatch { rank: 0, .. })), "{result:?}");
        }
    }
    assert!(world.barrier().is_err());
    // Other groups are not concerned.
    job.new_world().unwrap().barrier().unwrap();
}

pub fn panics(job: &Job) {
    let planned = || resume_unwind(Box::new("as planned"));
    // In a function of a reduction.
    for len in [1, 50_000] {
        let add = move |panics: bool| {
            move |_: &mut [u64], _: &[u64]| {
                if panics {
                    planned()
                }
            }
        };
        survive_panic(job, |world, panics| world.reduce(&mut vec![0u64; len], add(panics), 0));
        survive_panic(job, |world, panics| {
            let mut data = vec![0u64; len];
            world.scope(|scope| scope.wait(scope.ireduce(&mut data, add(panics), 0)?))
        });
        survive_panic(job, |world, panics| {
            let mut data = vec![0u64; len];
            // Nobody waits.
            world.scope(|scope| scope.ireduce(&mut data, add(panics), 0).map(drop))
        });
    }
    // In the scope, while calls are under way that no other takes part in before the panic is over.
    let gone = job.symmetric::<u64>(1).unwrap();
    for (turn, len) in [1, 50_000].into_iter().enumerate() {
        survive_panic(job, |world, panics| {
            struct Tells<F: Fn()>(F);
            impl<F: Fn()> Drop for Tells<F> {
                fn drop(&mut self) {
                    (self.0)();
                }
            }
            let tell = || (1..job.size()).for_each(|peer| drop(job.fetch_add(gone.at(peer, 0), 1)));
            let _tells = panics.then(|| Tells(tell));
            if !panics {
                job.wait(gone.at(job.rank(), 0), hikyaku::Until::AtLeast(turn as u64 + 1))?;
            }
            let (mut data, mut more) = (vec![0u64; len], vec![0u64; len]);
            world.scope(|scope| {
                let first = scope.ibroadcast(&mut data, 0)?;
                let second = scope.iallreduce(&mut more, Sum)?;
                if panics {
                    planned()
                }
                scope.wait(first).and_then(|()| scope.wait(second))
            })
        });
    }
}
