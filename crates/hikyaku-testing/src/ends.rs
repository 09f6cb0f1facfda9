//! Ends of ranks in the middle of something: roles of the victim (`bin/victim`).

use crate::os;
use crate::support::spin_until;
use hikyaku::{By, Error, Job, Result, Until};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

static LINGERS: AtomicBool = AtomicBool::new(false);
static MAY_END: AtomicBool = AtomicBool::new(false);

/// What is registered before the job is run after all that the job registers.
extern "C" fn linger() {
    LINGERS.store(true, Ordering::SeqCst);
    spin_until(|| MAY_END.load(Ordering::SeqCst));
}

/// To be called before the job is started.
pub fn prepare_to_linger() {
    os::at_exit(linger);
}

/// A second thread of the last rank calls `exit(0)`, which takes its time. The first thread goes on meanwhile, as it might with
/// a copy into a buffer of a peer: until the process is gone, the rank has not left.
pub fn exit_beside(job: &Job) -> Result<()> {
    const EXITS: u64 = 1;
    const SEEN: u64 = 2;
    let last = job.size() - 1;
    let turn = job.symmetric::<u64>(1)?;
    job.barrier()?;
    if job.rank() == last {
        std::thread::spawn(|| std::process::exit(0));
        spin_until(|| LINGERS.load(Ordering::SeqCst));
        (0..last).try_for_each(|rank| job.word(turn.at(rank, 0), EXITS))?;
        spin_until(|| turn.get(0) >= SEEN * last as u64);
        MAY_END.store(true, Ordering::SeqCst);
        spin_until(|| false);
    }
    MAY_END.store(true, Ordering::SeqCst);
    job.wait_from(By::Rank(last), turn.here(0), Until::Equal(EXITS))?;
    for _ in 0..1000 {
        assert!(job.is_present(last)?, "it has left, and runs");
        std::thread::yield_now();
    }
    job.fetch_add(turn.at(last, 0), SEEN)?;
    match job.wait_from(By::Rank(last), turn.here(0), Until::Equal(99)) {
        Err(Error::PeerLeft { rank }) if rank == last => println!("survived"),
        other => panic!("{other:?}"),
    }
    Ok(())
}

/// The last rank is killed while its threads are in the middle of operations on an area. Its process stays to be looked at until
/// its launcher has time, but touches nothing any more: the area can be taken away.
pub fn killed_inside(job: &Job) -> Result<()> {
    const LEN: usize = 1 << 20;
    const THREADS: usize = 8;
    let last = job.size() - 1;
    let area = (job.rank() == 0).then(|| job.register(1, vec![0u64; LEN])).transpose()?;
    let pushed = Arc::new(job.symmetric::<u64>(1)?);
    job.barrier()?;
    if job.rank() == last {
        for _ in 0..THREADS {
            let (port, remote, pushed) = (job.open()?, job.open_area::<u64>(0, 1)?, pushed.clone());
            std::thread::spawn(move || {
                let data = vec![1; LEN];
                loop {
                    port.push(remote.at(0), &data).unwrap();
                    port.fetch_add(pushed.here(0), 1).unwrap();
                }
            });
        }
        spin_until(|| pushed.get(0) >= 3 * THREADS as u64);
        os::kill_self();
    }
    match job.wait_from(By::Rank(last), pushed.here(0), Until::Equal(99)) {
        Err(Error::PeerDead { rank }) if rank == last => {}
        other => panic!("{other:?}"),
    }
    drop(area);
    println!("survived");
    Ok(())
}
