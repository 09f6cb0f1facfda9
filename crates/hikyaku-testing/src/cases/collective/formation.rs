//! Groups that are made and given up by their members alone.

use super::{value, values};
use hikyaku::collective::{Formation, FormationChannel, Retired, Sum};
use hikyaku::{Error, Job};

/// Everybody but the last, in reverse order, again and again: nobody waits for the others to leave, and memory is used
/// again.
pub fn come_and_go(job: &Job) {
    let channel = FormationChannel::new(job, 1).unwrap();
    let members: Vec<usize> = (0..job.size() - (job.size() > 1) as usize).rev().collect();
    if !members.contains(&job.rank()) {
        return;
    }
    let me = members.iter().position(|rank| *rank == job.rank()).unwrap();
    let team: Vec<usize> = (0..members.len()).filter(|other| other % 2 == me % 2).collect();
    let mut retired: Vec<Retired<'_>> = Vec::new();
    for round in 0..30 {
        let formed = Formation::new(&channel, 0, &members, &[&team], 1).unwrap();
        assert_eq!((formed.all().rank(), formed.all().size()), (me, members.len()));
        assert_eq!(formed.all().world_rank(me), Some(job.rank()));
        assert_eq!(formed.team(0).is_none(), team.len() == 1);
        let mut sum = values(me, 10 + round * 100);
        formed.all().allreduce(&mut sum, Sum).unwrap();
        assert_eq!(sum[3], (0..members.len()).map(|rank| value(rank, 3)).sum::<u64>());
        if let Some(group) = &formed.team(0) {
            let mut sum = [me as u64];
            group.allreduce(&mut sum, Sum).unwrap();
            assert_eq!(sum[0], team.iter().sum::<usize>() as u64);
        }
        // The last message is still on its way when the formation is given up.
        let (next, previous) = ((me + 1) % members.len(), (me + members.len() - 1) % members.len());
        for number in 0..3u8 {
            formed.messages().send_owned(vec![number; 50_000].into(), next, 0).unwrap();
        }
        for number in 0..3 {
            let mut got = vec![9u8; 50_000];
            formed.messages().recv(&mut got, previous, 0).unwrap();
            assert_eq!(got[49_999], number);
        }
        retired.push(formed.retire());
        retired.retain_mut(|old| !old.try_free().unwrap());
    }
    while !retired.is_empty() {
        retired.retain_mut(|old| !old.try_free().unwrap());
        job.progress();
    }
}

/// Pairs of neighbours in a ring, each rank in two of them.
pub fn overlap(job: &Job) {
    let channel = FormationChannel::new(job, 1).unwrap();
    let (rank, size) = (job.rank(), job.size());
    if size < 3 {
        return;
    }
    // In the order of their first ranks everywhere, or they would wait for each other.
    let mut pairs = [[rank, (rank + 1) % size], [(rank + size - 1) % size, rank]];
    pairs.sort();
    for pair in pairs {
        let formed = Formation::new(&channel, 0, &pair, &[], 1).unwrap();
        let mut data = [rank];
        formed.all().broadcast(&mut data, 1).unwrap();
        assert_eq!(data[0], pair[1]);
    }
    for wrong in [vec![], vec![rank, rank], vec![(rank + 1) % size], vec![rank, size]] {
        assert!(Formation::new(&channel, 0, &wrong, &[], 1).is_err());
    }
    assert!(Formation::new(&channel, 0, &[rank], &[&[1]], 1).is_err());
    assert!(matches!(Formation::new(&channel, 0, &[rank], &[], 0), Err(Error::Invalid(_))));
    job.barrier().unwrap();
}

/// Members that mean different things find out, and can try again.
pub fn mismatch(job: &Job) {
    let channel = FormationChannel::new(job, 1).unwrap();
    if job.size() < 2 || job.rank() > 1 {
        return;
    }
    let slots = 1 + job.rank();
    match Formation::new(&channel, 0, &[0, 1], &[], slots) {
        Err(Error::Mismatch { operation: "formation", .. }) => {}
        other => panic!("{other:?}"),
    }
    Formation::new(&channel, 0, &[0, 1], &[], 1).unwrap();
}
