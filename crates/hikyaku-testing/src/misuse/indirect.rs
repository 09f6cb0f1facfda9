//! Misuse of pointers and chains.

use super::canary::Guarded;
use hikyaku::{Commands, Error, Job, Pointer, Register};

const LONG: usize = 40_000;

fn is_refusal<T>(result: hikyaku::Result<T>) -> bool {
    matches!(result, Ok(_) | Err(Error::Refused { .. }))
}

/// Areas and chains are revoked while others push through pointers to them, and their memory is used for something else: nobody writes
/// there any more.
pub fn areas_are_revoked_under_pointers(job: &Job) {
    let (size, me) = (job.size(), job.rank());
    let next = (me + 1) % size;
    let data = vec![7u8; LONG];
    for round in 0..5 {
        let area = job.register(1, vec![0u8; LONG]).unwrap();
        let list =
            (0..100).fold(Commands::new(), |list, block| list.write(area.at(block * LONG / 100), LONG / 100).unwrap());
        let chain = job.chain(2, &list).unwrap();
        job.set_register(0, Pointer::to(area.at(0)).unwrap()).unwrap();
        job.set_register(1, chain.pointer()).unwrap();
        job.barrier().unwrap();
        for number in [0, 1, 1, 0, 1] {
            assert!(is_refusal(job.push_indirect(Register { rank: next, number }, &data)));
        }
        if round % 2 == 0 {
            drop(chain);
        } else {
            std::mem::forget(chain);
        }
        let memory = area.into_vec();
        let before = memory.clone();
        let later = Guarded::new(2 * LONG);
        for number in [0, 1] {
            assert!(is_refusal(job.push_indirect(Register { rank: next, number }, &data)));
        }
        assert!(is_refusal(job.sync()));
        job.barrier().unwrap();
        assert!(memory == before, "written after the revocation");
        later.check_untouched();
        job.barrier().unwrap();
        if round % 2 == 1 {
            // The forgotten chain still has its id: whatever follows has another.
            break;
        }
    }
    job.barrier().unwrap();
}

/// The receiver aims a pointer anew all the time while others push through it: every message lands in one of the places, whole.
pub fn a_pointer_moves_while_it_is_followed(job: &Job) {
    let (size, me) = (job.size(), job.rank());
    let pointers = job.symmetric::<Pointer>(1).unwrap();
    let done = job.symmetric::<u64>(1).unwrap();
    let area = job.area::<u8>(1, 2 * LONG).unwrap();
    pointers.set(0, Pointer::to(area.at(0)).unwrap());
    job.barrier().unwrap();
    if me == 0 {
        let aims = [0, LONG].map(|at| Pointer::to(area.at(at)).unwrap());
        let mut turn = 0;
        while job.poll(done.here(0)).unwrap() < (size - 1) as u64 {
            turn += 1;
            pointers.set(0, aims[turn % 2]);
            job.progress();
        }
    } else {
        for round in 0..50 {
            job.push_indirect(pointers.at(0, 0), &vec![round + 1u8; LONG - round as usize]).unwrap();
        }
        job.flush(0).unwrap();
        job.fetch_add(done.at(0, 0), 1).unwrap();
    }
    job.barrier().unwrap();
    if me == 0 {
        assert!(area.to_vec().iter().all(|byte| *byte <= 50));
        assert!(area.to_vec().iter().any(|byte| *byte > 0));
    }
    job.barrier().unwrap();
}

/// Pointers to anything are written into everybody's memory, and followed: they lead to areas or nowhere.
pub fn pointers_are_made_up(job: &Job) {
    let (size, me) = (job.size(), job.rank());
    let next = (me + 1) % size;
    let pointers = job.symmetric::<Pointer>(1).unwrap();
    let area = job.area::<u8>(1, 100).unwrap();
    let vector = job.register::<u8>(2, vec![0; 100]).unwrap();
    let around = Guarded::new(LONG);
    job.barrier().unwrap();
    let right = Pointer::to(job.open_area::<u8>(next, 2).unwrap().at(0)).unwrap().word();
    let mut word = 0x9E37_79B9_7F4A_7C15u64;
    for round in 0..2000 {
        word = word.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(me as u64 + 1);
        let made_up = if round % 2 == 0 { word } else { right ^ (word >> 34 & (word >> 8) & word) };
        job.push(pointers.at(next, 0), &[Pointer::from_word(made_up)]).unwrap();
        job.flush(next).unwrap();
        let pushed = job.push_indirect(pointers.at(next, 0), &[1u8; 30]).and_then(|()| job.flush(next));
        assert!(is_refusal(pushed));
        assert!(is_refusal(job.pull_indirect(pointers.at(next, 0), &mut [0u8; 30])));
    }
    job.barrier().unwrap();
    around.check_untouched();
    drop((area, vector));
    job.barrier().unwrap();
}
