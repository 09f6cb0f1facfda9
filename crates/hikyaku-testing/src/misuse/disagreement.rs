//! Members of a group, and ranks of a job, that do not ask for the same thing.

use super::LONG;
use super::canary::Guarded;
use crate::chance::Chance;
use hikyaku::collective::{Choices, Elements, Formation, FormationChannel, Sum, Version};
use hikyaku::{Config, Error, Group, Job};

fn check_mismatch<R: std::fmt::Debug>(result: hikyaku::Result<R>) -> u64 {
    match result {
        Err(Error::Mismatch { theirs, .. }) => theirs,
        other => panic!("{other:?} instead of a mismatch"),
    }
}

/// They would number themselves differently, and write to the same part of each other's buffers.
pub fn members_form_teams_of_different_order(job: &Job) {
    let channel = FormationChannel::new(job, 1).unwrap();
    let team = if job.rank() == 0 { [0, 1] } else { [1, 0] };
    assert!(Formation::new(&channel, 0, &[0, 1], &[&team], 1).is_err());
    let formed = Formation::new(&channel, 0, &[0, 1], &[&[0, 1]], 1).unwrap();
    let mut sum = vec![1u64; LONG];
    formed.team(0).unwrap().allreduce(&mut sum, Sum).unwrap();
    assert!(sum.iter().all(|sum| *sum == 2));
    // Given up without a word to the others, while they are at it.
    let mut retired = formed.retire();
    while !retired.try_free().unwrap() {}
}

/// As many bytes, so that shares of elements would overlap.
pub fn members_combine_elements_of_different_size(job: &Job) {
    let mut buffer = Guarded::new(3 * LONG);
    for call in 0..3 {
        let world = job.new_world().unwrap();
        let elements = Elements::new(if job.rank() == 0 { 1 } else { 3 });
        let keep = |_: &mut [u8], _: &[u8]| {};
        let result = match call {
            0 => world.allreduce_elements(buffer.inside(), elements, &keep),
            1 => world.reduce_elements(buffer.inside(), elements, &keep, 0),
            _ => world.scan_elements(buffer.inside(), elements, &keep),
        };
        // The root need not have come yet when the other has given all it has.
        assert!(result.is_err() || call > 0 && world.barrier().is_err());
        job.barrier().unwrap();
    }
    buffer.check_untouched();
}

/// Memory of as many bytes as the library wants for itself: who could write there would tell the library what it believes.
pub fn memory_is_asked_for_that_others_ask_for_messages(job: &Job) {
    let mut bytes = 1;
    for _ in 0..3 {
        match job.rank() {
            0 => _ = check_mismatch(job.messages(1)),
            // The error tells how much the others want.
            _ => bytes = check_mismatch(job.symmetric::<u8>(bytes as usize)),
        }
    }
    assert!(job.rank() == 0 || bytes > 1);
    let mut bytes = 1;
    for _ in 0..3 {
        match job.rank() {
            0 => _ = check_mismatch(job.new_world()),
            _ => bytes = check_mismatch(job.symmetric::<u8>(bytes as usize)),
        }
    }
    assert!(job.rank() == 0 || bytes > 1);
    job.barrier().unwrap();
}

/// A member gathers as many bytes as others tell each other about messages that they make or free.
pub fn a_member_gathers_while_others_make_messages(job: &Job) {
    let world = job.new_world().unwrap();
    match job.rank() {
        0 => _ = check_mismatch(world.messages(1)),
        _ => _ = check_mismatch(world.allgather(&[[1u64 << 21, 1]], &mut [[0; 2]; 2])),
    }
    let world = job.new_world().unwrap();
    let messages = world.messages(1).unwrap();
    match job.rank() {
        0 => _ = check_mismatch(world.free_messages(messages)),
        _ => _ = check_mismatch(world.allgather(&[1u64], &mut [0; 2])),
    }
    job.barrier().unwrap();
}

/// Two members find out about a later call that it does not fit before a third comes to the first one, which does not fit either:
/// whoever waits for that one is told.
pub fn an_earlier_call_differs_too(job: &Job) {
    let world = job.new_world().unwrap();
    let word = job.symmetric::<u64>(1).unwrap();
    let gather = |bytes: usize| world.gather(&vec![1u8; bytes], &mut vec![0; 3 * bytes], 1);
    match job.rank() {
        0 => {
            gather(0).unwrap();
            // The last one is already at the second piece.
            check_mismatch(world.barrier());
            job.word(word.at(1, 0), 1).unwrap();
        }
        1 => {
            job.wait(word.here(0), hikyaku::Until::Equal(1)).unwrap();
            assert!(gather(0).is_err());
        }
        // It comes to where it must wait until the first call is over everywhere.
        _ => assert!(gather(LONG * 8).is_err()),
    }
    job.barrier().unwrap();
}

/// A group makes messages for itself when a call first goes by a tree; a member makes some for the program meanwhile. The others
/// do not go on without it.
pub fn messages_are_made_while_others_need_a_tree(_: &Job) {
    let config = Config { choices: Choices::all(Version::Tree), ..Config::default() };
    let ended = hikyaku::local_with(3, config, |job| {
        for slots in [1, 4] {
            let world = job.new_world()?;
            let made = if job.rank() == 2 { world.messages(slots).map(drop) } else { world.barrier() };
            assert!(made.is_err(), "{slots} slots");
            job.barrier()?;
        }
        Ok(())
    });
    ended.unwrap().into_iter().for_each(|ended: hikyaku::Result<()>| ended.unwrap());
}

/// The call of that number, of so many bytes at each member.
fn call_some(world: &Group<'_>, call: usize, root: usize, [one, all]: &mut [Guarded; 2]) -> hikyaku::Result<()> {
    let add = |total: &mut [u8], input: &[u8]| total.iter_mut().zip(input).for_each(|(total, input)| *total ^= input);
    let (one, all) = (one.inside(), all.inside());
    match call {
        0 => world.barrier(),
        1 => world.broadcast(one, root),
        2 => world.reduce(one, add, root),
        3 => world.allreduce(one, add),
        4 => world.scan(one, add),
        5 => world.gather(one, all, root),
        6 => world.allgather(one, all),
        7 => world.scatter(all, one, root),
        8 => {
            let blocks = all.to_vec();
            world.alltoall(&blocks, all)
        }
        9 => world.split(Some(0), 0).map(drop),
        // Of counts of its own: those of the others differ with their sizes.
        11 => world.gatherv(one, all, &vec![one.len(); world.size()], root),
        12 => world.allgatherv(one, all, &vec![one.len(); world.size()]),
        13 => world.scatterv(all, &vec![one.len(); world.size()], one, root),
        14 => {
            let (blocks, counts) = (all.to_vec(), vec![one.len(); world.size()]);
            world.alltoallv(&blocks, &counts, all, &counts)
        }
        15 => world.reduce_scatter_block(all, one, add),
        _ => world.messages(1).map(drop),
    }
}

/// By chance, in every version: calls, sizes and roots that mostly differ. Nobody waits for ever, and nobody writes to buffers that
/// are gone.
pub fn members_ask_for_different_things(_: &Job) {
    const ROUNDS: usize = 25;
    for version in Version::ALL {
        let config = Config { choices: Choices::all(version), ..Config::default() };
        let ended = hikyaku::local_with(3, config, |job| {
            let mut chance = Chance::new(version as u64, 0);
            for round in 0..ROUNDS {
                let mut draw = |below: usize| [(); 3].map(|()| chance.below(below));
                let (calls, sizes, roots) = (draw(16), draw(5), draw(3));
                // Of some the call is the same, or the size.
                let pick = |all: [usize; 3], same: usize| if round % 3 == same { all[0] } else { all[job.rank()] };
                let bytes = [0, 8, 900, 9_000, 200_000][pick(sizes, 1)];
                let world = job.new_world()?;
                let mut buffers = [Guarded::new(bytes), Guarded::new(3 * bytes)];
                let asked = call_some(&world, pick(calls, 0), roots[job.rank()], &mut buffers);
                buffers.iter().for_each(Guarded::check_margins);
                drop(buffers);
                let kept = [Guarded::new(bytes), Guarded::new(3 * bytes)];
                if asked.is_ok() {
                    let _ = world.allreduce(&mut [1u64; 3], Sum);
                }
                job.barrier()?;
                kept.iter().for_each(Guarded::check_untouched);
            }
            Ok(())
        });
        ended.unwrap().into_iter().for_each(|ended: hikyaku::Result<()>| ended.unwrap());
    }
}

/// What is said there leads others to memory, so no program can say it.
pub fn a_channel_is_made_while_others_make_messages(job: &Job) {
    let refused = match job.rank() {
        0 => FormationChannel::new(job, 1).map(drop),
        _ => job.messages(1).map(drop),
    };
    assert!(matches!(refused, Err(Error::Mismatch { .. })), "{refused:?}");
    let channel = FormationChannel::new(job, 1).unwrap();
    Formation::new(&channel, 0, &[0, 1], &[], 1).unwrap().all().barrier().unwrap();
}
