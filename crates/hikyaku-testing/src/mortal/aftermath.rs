//! After a death the others go on among themselves: messages round and round, and collectives of a group without the
//! dead.

use super::{LATER_SLOT, Ready, check, content, mortal};
use hikyaku::collective::Sum;
use hikyaku::message::Mode;
use hikyaku::{Error, Job, Result};

pub fn go_on(job: &Job, ready: &Ready<'_>) -> Result<()> {
    let (messages, others) = (&ready.messages, mortal(job));
    messages.set_mode(Mode::Standard);
    // What was on its way to the dead is given up, and told once.
    let rest = job.sync();
    assert!(matches!(rest, Ok(()) | Err(Error::PeerDead { .. })), "{rest:?}");
    while messages.check_spool()?.remaining > 0 {}
    // A long message may have told of the death before the launcher does: then one send may still leave. The next one
    // finds its slot taken.
    let send = || messages.send(&[0u8], mortal(job), LATER_SLOT);
    let refused = send().and_then(|()| send());
    assert!(matches!(refused, Err(Error::PeerDead { rank }) if rank == mortal(job)), "{refused:?}");
    let (next, before) = ((job.rank() + 1) % others, (job.rank() + others - 1) % others);
    for round in 0..if others > 1 { 30 } else { 0 } {
        let bytes = [8, 4000, 200_000][round % 3];
        let (mine, mut got) = (content(job.rank(), round, bytes), vec![0; bytes]);
        messages.scope(|scope| {
            let receive = scope.irecv(&mut got, before, LATER_SLOT)?;
            messages.send(&mine, next, LATER_SLOT)?;
            scope.wait_receive(receive)
        })?;
        check(&got, before, round);
    }
    // Whoever is no member of a group may die without its messages taking notice.
    let among = ready.among.as_ref().expect("this rank lives");
    for round in 0..if others > 1 { 30 } else { 0 } {
        among.send_any(&content(job.rank(), round, 500), next, 0)?;
        let mut got = vec![0; 500];
        assert_eq!(among.recv_any(&mut got, 0)?.rank, before);
        check(&got, before, round);
    }
    let survivors = ready.survivors.as_ref().expect("this rank lives");
    for len in [1, 500, 50_000] {
        let mut total = vec![1u64; len];
        survivors.allreduce(&mut total, Sum)?;
        assert!(total.iter().all(|word| *word == others as u64));
    }
    survivors.barrier()
}
