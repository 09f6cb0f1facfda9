//! A forked child is no rank (fault 13).

pub(super) use crate::os::in_fork;
use crate::support::{spin_until, words};
use hikyaku::{By, Error, Event, Job, Result, Until};

const HANDLER: u16 = 1;

pub(super) fn refused<T>(result: Result<T>) -> bool {
    matches!(result, Err(Error::ForkedChild))
}

pub fn a_forked_child_is_refused(job: &Job) {
    let area = job.symmetric::<u64>(4).unwrap();
    let mut own = Some(job.area::<u64>(1, 4).unwrap());
    let mut vector = Some(job.register(2, vec![0u64; 4]).unwrap());
    let sent = job.symmetric::<u64>(1).unwrap();
    job.register_handler(HANDLER, |context, message| context.reply(words(2 * message.arguments[0])).unwrap()).unwrap();
    job.barrier().unwrap();
    let peer = 1 - job.rank();
    let remote = job.open_area::<u64>(peer, 2).unwrap();
    let pool = job.pool(1).unwrap();
    let lent = pool.take().unwrap();
    if job.rank() == 0 {
        // Messages lie in the ring when the child looks.
        job.push(sent.at(1, 0), &[1]).unwrap();
        spin_until(|| sent.get(0) == 1);
        let verdict = in_fork(|| {
            let moment = Some(std::time::Duration::from_millis(1));
            let event = [Event::Word(area.here(0), Until::Equal(9))];
            let attempts: [(&dyn Fn() -> bool, i32); 18] = [
                (&|| refused(job.push(area.at(peer, 0), &[1])), 1),
                (&|| refused(job.pull(area.at(peer, 0), &mut [0])), 2),
                (&|| refused(job.word(area.at(peer, 0), 1)), 3),
                (&|| refused(job.fetch_add(remote.at(0), 1)), 4),
                (&|| refused(job.send(peer, HANDLER, 0, [0; 6], &[])), 5),
                (&|| refused(job.call(peer, HANDLER, [0; 6], &[])), 6),
                (&|| refused(job.barrier()), 7),
                (&|| refused(job.symmetric::<u64>(1)), 8),
                (&|| refused(job.area::<u64>(9, 1)), 9),
                (&|| refused(job.open()), 10),
                (&|| refused(job.wait_any(By::Anyone, &event, moment)), 11),
                (&|| refused(job.sync()), 12),
                (&|| refused(job.flush(peer)), 13),
                (&|| refused(job.open_area::<u64>(peer, 2)), 14),
                // It runs no handlers, else the parent's messages are gone.
                (&|| !job.progress() && job.handled(HANDLER) == 0, 15),
                (&|| refused(job.register_handler(2, |_, _| {})), 16),
                // The threads that have the other ports are not there.
                (&|| refused(lent.push(area.at(peer, 0), &[1])), 17),
                (&|| refused(pool.take()), 18),
            ];
            if let Some((_, step)) = attempts.iter().find(|(attempt, _)| !attempt()) {
                return *step;
            }
            // The child ends its copies of what the parent still has.
            drop(own.take());
            drop(vector.take().unwrap().into_vec());
            0
        });
        assert_eq!(verdict, 0, "step of the child");
    } else {
        spin_until(|| sent.get(0) == 1);
        for number in 0..100 {
            job.send(0, HANDLER, 0, words(number), &[1; 10]).unwrap();
        }
        job.push(sent.at(0, 0), &[1]).unwrap();
    }
    job.barrier().unwrap();
    // The parent goes on as if nothing had happened.
    if job.rank() == 0 {
        job.wait_handled(By::Rank(1), HANDLER, 100).unwrap();
    }
    let remote = job.open_area::<u64>(peer, 1).unwrap();
    job.push(remote.at(0), &[5]).unwrap();
    job.push(job.open_area::<u64>(peer, 2).unwrap().at(0), &[6]).unwrap();
    assert_eq!(job.call(peer, HANDLER, words(4), &[]).unwrap(), words(8));
    job.barrier().unwrap();
    assert_eq!((own.unwrap().get(0), vector.unwrap().into_vec()[0]), (5, 6));
}

pub fn a_forked_child_ends_cleanly(job: &Job) {
    let mut ni_thread = Some(job.start_ni_thread().unwrap());
    let mut port = Some(job.open().unwrap());
    job.barrier().unwrap();
    let verdict = in_fork(|| {
        // The thread is not there: ending it must not wait for it.
        drop(ni_thread.take());
        drop(port.take());
        0
    });
    assert_eq!(verdict, 0);
    port.unwrap().sync().unwrap();
    job.barrier().unwrap();
}
