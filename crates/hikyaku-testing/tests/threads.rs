//! The conformance suite with ranks as threads, one test per case, and what concerns threads alone.

use hikyaku::{By, Config, Error, Job, Until};
use hikyaku_testing::runner::{self, Kind};
use hikyaku_testing::support::lock;
use hikyaku_testing::{case, watchdog};
use std::hint::black_box;

macro_rules! tests {
    ($($theme:ident { $($case:ident: $ranks:expr),* $(,)? })*) => {
        $(mod $theme {
            $(#[test]
            fn $case() {
                super::run(concat!(stringify!($theme), "::", stringify!($case)));
            })*
        })*
    };
}
hikyaku_testing::for_each_case!(tests);

fn run(name: &str) {
    runner::check("as threads", &Kind::Threads(Config::default()), case(name), &[]);
}

/// Runs a job and gives what each rank returned.
fn local<R: Send>(name: &str, size: usize, rank: impl Fn(&Job) -> R + Sync) -> Vec<R> {
    watchdog::watched(name, || hikyaku::local(size, rank).expect("a job of threads"))
}

#[test]
fn results_come_in_the_order_of_ranks() {
    assert_eq!(local("order", 5, |job| (job.rank(), job.size())), [(0, 5), (1, 5), (2, 5), (3, 5), (4, 5)]);
}

#[test]
fn impossible_jobs_are_refused() {
    let start = |size, change: &dyn Fn(&mut Config)| {
        let mut config = Config { heap_bytes: 1 << 20, ..Config::default() };
        change(&mut config);
        hikyaku::local_with(size, config, |_| ()).map(drop)
    };
    assert!(matches!(start(0, &|_| ()), Err(Error::Invalid(_))));
    assert!(matches!(start(usize::MAX, &|_| ()), Err(Error::Invalid(_))));
    for ports in [0, 1, 65, usize::MAX] {
        assert!(matches!(start(1, &|config| config.ports = ports), Err(Error::Invalid(_))), "{ports} ports");
    }
    for heap in [1 << 50, u64::MAX / 4, u64::MAX] {
        let refused = start(2, &|config| config.heap_bytes = heap);
        assert!(matches!(refused, Err(Error::NoMemory { .. })), "{heap} bytes: {refused:?}");
    }
    start(2, &|config| config.ports = 64).unwrap();
    start(2, &|config| config.heap_bytes = 1).unwrap();
}

#[test]
fn a_panic_reaches_the_peers_and_the_caller() {
    let ended: [_; 3] = std::array::from_fn(|_| std::sync::Mutex::new(Vec::new()));
    let panicked = std::panic::catch_unwind(|| {
        local("panic", 3, |job| {
            let word = job.symmetric::<u64>(1).unwrap();
            if job.rank() == 1 {
                panic!("on purpose");
            }
            let waits = [
                job.wait(word.here(0), Until::Equal(1)).map(drop),
                job.wait_from(By::Rank(1), word.here(0), Until::Equal(1)).map(drop),
                job.barrier(),
                job.send(1, 0, 0, [0; 6], &[]),
                job.call(1, 0, [0; 6], &[]).map(drop),
            ];
            lock(&ended[job.rank()]).extend(waits);
        });
    });
    assert_eq!(panicked.unwrap_err().downcast_ref::<&str>(), Some(&"on purpose"));
    let ended: Vec<_> = ended.into_iter().flat_map(|ended| ended.into_inner().unwrap()).collect();
    assert_eq!(ended.len(), 10);
    assert!(ended.iter().all(|end| matches!(end, Err(Error::PeerDead { rank: 1 }))), "{ended:?}");
}

#[test]
fn a_panic_in_a_handler_is_the_end_of_its_rank() {
    for ni_thread in [false, true] {
        let outcome = std::panic::catch_unwind(|| {
            local("panic in a handler", 2, move |job| {
                job.register_handler(1, |_, _| panic!("on purpose")).unwrap();
                let outside = job.symmetric::<u64>(1).unwrap();
                let thread = (ni_thread && job.rank() == 1).then(|| job.start_ni_thread().unwrap());
                job.barrier().unwrap();
                if job.rank() == 0 {
                    // A rank in the barrier would run the handler there.
                    while outside.get(0) == 0 {
                        std::thread::yield_now();
                    }
                    let end = job.call(1, 1, [0; 6], &[]);
                    assert!(matches!(end, Err(Error::PeerDead { rank: 1 })), "{end:?}");
                    return;
                }
                job.push(outside.at(0, 0), &[1]).unwrap();
                if thread.is_some() {
                    while job.is_present(1).unwrap() {
                        std::thread::yield_now();
                    }
                } else {
                    let _ = job.wait_handled(By::Rank(0), 1, 1);
                }
            })
        });
        // The panic goes through the program, also from the interface's thread: until the program has come out of its
        // calls, peers must not free what it may be copying from or to.
        assert_eq!(outcome.unwrap_err().downcast_ref::<&str>(), Some(&"on purpose"), "NI thread: {ni_thread}");
    }
}

/// A rank may leave while another of its threads is in the middle of a push. Whoever then takes the memory away must
/// wait for that push all the same.
#[test]
fn a_port_outlives_its_job_and_is_waited_for() {
    const LEN: usize = 1 << 18;
    for _ in 0..10 {
        local("a port outlives its job", 2, |job| {
            let area = (job.rank() == 0).then(|| job.register(1, vec![0u64; LEN]).unwrap());
            let pushed = job.symmetric::<u64>(1).unwrap();
            job.barrier().unwrap();
            if let Some(area) = area {
                while job.is_present(1).unwrap() || pushed.get(0) == 0 {
                    std::thread::yield_now();
                }
                // Once the middle changes, a push is half done.
                let middle = area.get(LEN / 2);
                while area.get(LEN / 2) == middle {}
                let memory = area.into_vec();
                // From the end: a push on its way there is still behind.
                let copy: Vec<u64> = black_box(&memory).iter().rev().copied().collect();
                // The other thread ends by the revocation.
                while pushed.get(0) != 2 {
                    std::thread::yield_now();
                }
                assert!(black_box(&memory).iter().eq(copy.iter().rev()), "written after the revocation");
            } else {
                let (port, remote) = (job.open().unwrap(), job.open_area::<u64>(0, 1).unwrap());
                std::thread::spawn(move || {
                    let data = [vec![1u64; LEN], vec![2u64; LEN]];
                    port.push(remote.at(0), &data[1]).unwrap();
                    port.word(pushed.at(0, 0), 1).unwrap();
                    let end = (0..).find_map(|turn| port.push(remote.at(0), &data[turn % 2]).err());
                    assert!(matches!(end, Some(Error::AreaRevoked { .. })), "{end:?}");
                    port.push(pushed.at(0, 0), &[2]).unwrap();
                });
            }
        });
    }
}

/// A rank answers and leaves at once: the answer counts, however close the two are.
#[test]
fn an_answer_just_before_the_end_counts() {
    for _ in 0..500 {
        local("an answer before the end", 3, |job| {
            job.register_handler(1, |context, _| context.reply([7; 6]).unwrap()).unwrap();
            job.barrier().unwrap();
            if job.rank() == 0 {
                assert_eq!(job.call(1, 1, [0; 6], &[]).unwrap(), [7; 6]);
            } else if job.rank() == 1 {
                while job.handled(1) == 0 {
                    job.progress();
                }
            }
        });
    }
}
