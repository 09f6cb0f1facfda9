//! Messages that are matched by keys.

use super::canary::Guarded;
use super::check_refused;
use crate::support::{bytes, expect_error, other};
use hikyaku::matching::{Keys, Source};
use hikyaku::{Error, Job, Until};
use std::cell::RefCell;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::time::Duration;

/// Within a message, beside it, in a slot.
const SIZES: [usize; 4] = [8, 3000, 9000, 200_000];

/// Receives do not write any more, and what was sent arrives all the same.
pub fn a_scope_panics_with_everything_under_way(job: &Job) {
    let (matching, peer) = (job.matching().unwrap(), other(job));
    for turn in 0..20 {
        let mut buffers: Vec<_> = SIZES.iter().map(|len| Guarded::new(*len)).collect();
        let data: Vec<_> = SIZES.iter().map(|len| bytes(turn, *len)).collect();
        let caught = catch_unwind(AssertUnwindSafe(|| {
            matching.scope(|scope| {
                for (key, buffer) in (0..).zip(&mut buffers) {
                    let _ = scope.irecv(buffer.inside(), peer, key)?;
                }
                for (key, data) in (10..).zip(&data) {
                    let _ = scope.isend(data, peer, key)?;
                }
                if turn % 2 == 0 {
                    job.progress();
                }
                resume_unwind(Box::new("on purpose"));
                #[allow(unreachable_code)]
                Ok(())
            })
        }));
        assert!(caught.is_err());
        drop(data);
        // Both have panicked: nobody waits for these any more.
        job.barrier().unwrap();
        for (key, len) in (0..).zip(SIZES) {
            let data = bytes(turn + 1, len);
            let mut got = vec![0; len];
            matching
                .scope(|scope| {
                    let _ = scope.isend(&data, peer, key)?;
                    let _ = scope.irecv(&mut got, peer, key)?;
                    Ok(())
                })
                .unwrap();
            assert!(got == data, "{len} bytes");
        }
        buffers.iter().for_each(Guarded::check_untouched);
        for (key, len) in (10..).zip(SIZES) {
            let mut got = vec![0; len];
            assert_eq!(matching.recv(&mut got, peer, key).unwrap().len, len);
            assert!(got == bytes(turn, len), "{len} bytes that were sent before the panic");
        }
    }
    matching.free().unwrap();
}

/// A send that the program has given up is called by its receiver, which then gives up too: it is under way for ever, until all are freed.
pub fn what_was_called_is_never_taken(job: &Job) {
    // More than a rank can offer at a time.
    const SENDS: u64 = 20;
    let (matching, peer) = (job.matching().unwrap(), other(job));
    let data = bytes(1, 200_000);
    if job.rank() == 0 {
        let caught = catch_unwind(AssertUnwindSafe(|| {
            matching.scope(|scope| {
                for key in 0..SENDS {
                    let _ = scope.isend(&data, peer, key)?;
                }
                resume_unwind(Box::new("on purpose"));
                #[allow(unreachable_code)]
                Ok(())
            })
        }));
        assert!(caught.is_err());
        job.barrier().unwrap();
        job.barrier().unwrap();
    } else {
        job.barrier().unwrap();
        while matching.try_probe(peer, SENDS - 1).unwrap().is_none() {}
        let mut room = Guarded::new(data.len());
        let given_up = matching.scope(|scope| {
            let receive = scope.irecv(room.inside(), peer, SENDS - 1)?;
            scope.cancel_receive(receive)
        });
        assert_eq!(given_up.unwrap(), None);
        job.barrier().unwrap();
        room.check_untouched();
    }
    drop(data);
    matching.free().unwrap();
    job.barrier().unwrap();
}

/// The receive is withdrawn, and the message that follows goes to the next one.
pub fn a_handler_panics_in_a_receive(job: &Job) {
    const HANDLER: u16 = 1;
    let (matching, peer) = (job.matching().unwrap(), other(job));
    let turns = job.symmetric::<u64>(1).unwrap();
    job.register_handler(HANDLER, |_, _| resume_unwind(Box::new("on purpose"))).unwrap();
    job.barrier().unwrap();
    for (turn, len) in (1..).zip(SIZES) {
        if job.rank() == 0 {
            let mut room = Guarded::new(len);
            let caught = catch_unwind(AssertUnwindSafe(|| {
                job.word(turns.at(1, 0), 2 * turn).unwrap();
                matching.recv(room.inside(), peer, 3)
            }));
            assert!(caught.is_err());
            job.word(turns.at(1, 0), 2 * turn + 1).unwrap();
            let mut last = vec![0; len];
            matching.recv(&mut last, peer, 3).unwrap();
            room.check_untouched();
            assert!(last == bytes(3, len));
        } else {
            job.wait(turns.here(0), Until::AtLeast(2 * turn)).unwrap();
            job.send(0, HANDLER, 0, [0; 6], &[]).unwrap();
            job.wait(turns.here(0), Until::AtLeast(2 * turn + 1)).unwrap();
            matching.send(&bytes(3, len), 0, 3).unwrap();
        }
    }
    job.barrier().unwrap();
    matching.free().unwrap();
}

/// A handle of one scope is nothing to another, be it of the same messages or of others.
pub fn handles_are_used_in_other_scopes(job: &Job) {
    let me = job.rank();
    let (first, second) = (job.matching().unwrap(), job.matching().unwrap());
    for other in [&first, &second] {
        let (mut rooms, data) = ([[0u8; 8]; 2], vec![1u8; 50_000]);
        let [mine, theirs] = &mut rooms;
        let kept = RefCell::new(None);
        first
            .scope(|scope| {
                let receive = scope.irecv(mine, me, 1)?;
                let send = scope.isend(&data, me, 2)?;
                *kept.borrow_mut() = Some((receive, send));
                let mut room = vec![0u8; 50_000];
                first.send(&[5u8; 8], me, 1)?;
                first.recv(&mut room, me, 2)?;
                Ok(())
            })
            .unwrap();
        let (receive, send) = kept.take().unwrap();
        other
            .scope(|scope| {
                let own = scope.irecv(theirs, me, 1)?;
                check_invalid(scope.wait_receive(receive).map(drop));
                check_invalid(scope.wait_send(send));
                assert!(scope.cancel_receive(own)?.is_none());
                Ok(())
            })
            .unwrap();
        assert_eq!(rooms, [[5; 8], [0; 8]]);
    }
}

fn check_invalid(result: hikyaku::Result<()>) {
    expect_error!(result, Error::Invalid(_));
}

/// It is never dropped, with messages that nobody wants, and the rank goes on and leaves.
pub fn matching_is_leaked(job: &Job) {
    for turn in 0..3u64 {
        let matching = job.matching().unwrap();
        for len in [8, 3000] {
            matching.send(&vec![turn as u8; len], other(job), turn).unwrap();
        }
        std::mem::forget(matching);
        job.barrier().unwrap();
    }
    let matching = job.matching().unwrap();
    matching.send(&[job.rank()], other(job), 0).unwrap();
    let mut got = [9];
    matching.recv(&mut got, Source::Any, Keys::ANY).unwrap();
    assert_eq!(got, [other(job)]);
    job.barrier().unwrap();
}

/// Where nothing can be waited for, nothing is begun.
pub fn a_function_uses_matching(job: &Job) {
    let (matching, peer) = (job.matching().unwrap(), other(job));
    let mut room = vec![0u8; 9000];
    let into = RefCell::new(&mut room);
    let combine = |total: &mut [u64], input: &[u64]| {
        check_refused(matching.send(&[1u8], peer, 1));
        check_refused(matching.send(&[1u8; 9000], peer, 1));
        check_refused(matching.recv(&mut into.borrow_mut()[..], peer, 1));
        check_refused(matching.probe(peer, 1));
        super::add(total, input);
    };
    job.world().unwrap().allreduce(&mut vec![1u64; 100], combine).unwrap();
    assert_eq!(matching.try_probe(Source::Any, Keys::ANY).unwrap(), None);
    job.barrier().unwrap();
    matching.free().unwrap();
}

/// The other rank drops its side: what is sent then is lost, and who waits hears when that rank leaves.
pub fn one_side_is_dropped(job: &Job) {
    let (matching, peer) = (job.matching().unwrap(), other(job));
    if job.rank() == 1 {
        let mut room = Guarded::new(100_000);
        let late = matching.recv_for(room.inside(), peer, 1, Duration::from_millis(1));
        expect_error!(late, Error::Timeout { .. });
        drop(matching);
        job.barrier().unwrap();
        for _ in 0..100 {
            job.progress();
        }
        room.check_untouched();
        return;
    }
    job.barrier().unwrap();
    for key in 0..300 {
        match matching.send(&[1u8; 100], peer, key) {
            Ok(()) | Err(Error::PeerLeft { .. }) => {}
            Err(error) => panic!("{error}"),
        }
    }
    expect_error!(matching.send(&vec![1u8; 100_000], peer, 1), Error::PeerLeft { .. });
    expect_error!(matching.recv(&mut [0u8], peer, 1), Error::PeerLeft { .. });
}

/// Another thread runs the handlers, while receives are begun and given up all the time.
pub fn receives_are_given_up_beside_the_ni_thread(job: &Job) {
    const TURNS: usize = 300;
    if job.is_simulated() {
        return;
    }
    let (matching, peer) = (job.matching().unwrap(), other(job));
    let thread = job.start_ni_thread().unwrap();
    for turn in 0..TURNS {
        let len = SIZES[turn % 3];
        let data = bytes(turn, len);
        let mut unused = Guarded::new(len);
        let mut got = vec![0; len];
        matching
            .scope(|scope| {
                let receive = scope.irecv(unused.inside(), peer, 1)?;
                let send = scope.isend(&data, peer, 1)?;
                if scope.cancel_receive(receive)?.is_none() {
                    while let Err(Error::Timeout { .. }) =
                        matching.recv_for(&mut got, Source::Any, Keys::ANY, Duration::from_micros(3))
                    {
                    }
                } else {
                    got.clear();
                }
                scope.wait_send(send)
            })
            .unwrap();
        assert!(got == data || got.is_empty() && unused.inside() == data, "turn {turn}");
        unused.check_margins();
    }
    drop(thread);
    job.barrier().unwrap();
    matching.free().unwrap();
}

/// What was sent from inside of one scope is received inside of another of the same messages.
pub fn scopes_are_nested(job: &Job) {
    let (matching, peer) = (job.matching().unwrap(), other(job));
    let data: Vec<_> = SIZES.iter().map(|len| bytes(*len, *len)).collect();
    let mut rooms: Vec<_> = SIZES.iter().map(|len| Guarded::new(*len)).collect();
    matching
        .scope(|outer| {
            for (key, room) in (0..).zip(&mut rooms) {
                let _ = outer.irecv(room.inside(), peer, key)?;
            }
            matching.scope(|inner| {
                for (key, data) in (0..).zip(&data) {
                    let _ = inner.isend(data, peer, key)?;
                }
                let caught = catch_unwind(AssertUnwindSafe(|| {
                    let mut never = Guarded::new(100);
                    let _ = matching.scope(|innermost| {
                        let _ = innermost.irecv(never.inside(), peer, 99)?;
                        resume_unwind(Box::new("on purpose"));
                        #[allow(unreachable_code)]
                        Ok(())
                    });
                }));
                assert!(caught.is_err());
                Ok(())
            })
        })
        .unwrap();
    for (room, data) in rooms.iter_mut().zip(&data) {
        assert!(room.inside() == &data[..]);
        room.check_margins();
    }
    job.barrier().unwrap();
    matching.free().unwrap();
}
