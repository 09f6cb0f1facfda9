//! Status words: completion is written where the caller said (R3).

use crate::support::{expect_error, tag};
use hikyaku::{Error, Job, Until};

pub fn push_status_comes_after_the_data(job: &Job) {
    let data = job.symmetric::<u64>(1000).unwrap();
    let status = job.symmetric::<u64>(1).unwrap();
    let peer = 1 - job.rank();
    for round in 1..=50 {
        job.push_status(data.at(peer, 0), &[round; 1000], status.here(0), round).unwrap();
        job.wait(status.here(0), Until::Equal(round)).unwrap();
        let mut got = [0; 1000];
        job.pull(data.at(peer, 0), &mut got).unwrap();
        assert_eq!(got, [round; 1000]);
    }
    job.barrier().unwrap();
    assert_eq!(data.get(999), 50);
    expect_error!(job.push_status(data.at(peer, 0), &[1], status.at(peer, 0), 1), Error::NotMine { rank } if rank == peer);
    expect_error!(job.push_status(data.at(peer, 0), &[1], status.here(1), 1), Error::OutOfBounds { .. });
    job.barrier().unwrap();
    assert_eq!(data.get(0), 50, "a refused operation writes nothing");
}

pub fn pull_status_comes_after_the_data(job: &Job) {
    let data = job.symmetric::<u64>(1000).unwrap();
    let status = job.symmetric::<u64>(1).unwrap();
    let peer = 1 - job.rank();
    data.write(0, &[tag(job.rank(), 7); 1000]);
    job.barrier().unwrap();
    let mut got = [0; 1000];
    job.pull_status(data.at(peer, 0), &mut got, status.here(0), 3).unwrap();
    assert_eq!(job.wait(status.here(0), Until::NotEqual(0)).unwrap(), 3);
    assert_eq!(got, [tag(peer, 7); 1000]);
    expect_error!(job.pull_status(data.at(peer, 0), &mut got, status.at(peer, 0), 1), Error::NotMine { .. });
    job.barrier().unwrap();
    assert_eq!(status.get(0), 3);
}

pub fn each_operation_has_its_own_word(job: &Job) {
    const COUNT: usize = 100;
    let data = job.symmetric::<u64>(COUNT).unwrap();
    let status = job.symmetric::<u64>(COUNT).unwrap();
    let peer = 1 - job.rank();
    for index in 0..COUNT {
        job.push_status(data.at(peer, index), &[tag(job.rank(), index)], status.here(index), index as u64 + 1).unwrap();
    }
    for index in 0..COUNT {
        job.wait(status.here(index), Until::Equal(index as u64 + 1)).unwrap();
        assert_eq!(job.pull_one(data.at(peer, index)).unwrap(), tag(job.rank(), index));
    }
    job.barrier().unwrap();
}

pub fn status_words_in_areas(job: &Job) {
    let target = job.area::<u64>(1, 4).unwrap();
    let mapped = job.area::<u64>(2, 1).unwrap();
    let private = job.register::<u64>(3, vec![0]).unwrap();
    job.barrier().unwrap();
    let remote = job.open_area::<u64>(1 - job.rank(), 1).unwrap();
    job.push_status(remote.at(0), &[5], mapped.at(0), 1).unwrap();
    job.wait(mapped.at(0), Until::Equal(1)).unwrap();
    job.push_status(remote.at(1), &[6], private.at(0), 2).unwrap();
    job.wait(private.at(0), Until::Equal(2)).unwrap();
    let mut got = [0; 2];
    job.pull_status(remote.at(0), &mut got, private.at(0), 3).unwrap();
    job.wait(private.at(0), Until::Equal(3)).unwrap();
    assert_eq!(got, [5, 6]);
    job.barrier().unwrap();
    assert_eq!(target.to_vec(), [5, 6, 0, 0]);
}
