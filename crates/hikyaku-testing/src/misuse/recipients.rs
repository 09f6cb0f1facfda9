//! Multicasts into areas that come and go.

use crate::support::expect_error;
use hikyaku::{Error, Job, Stride, Twin};

const LEN: usize = 3000;

/// What was opened before leads nowhere: neither to the vector, which the program has back, nor to the area that has the number now.
pub fn areas_of_recipients_are_taken_back(job: &Job) {
    let all = job.recipients(&[0, 1, 2]).unwrap();
    for round in 0..10 {
        let last = round % 3;
        let first = job.register(5, vec![0u64; LEN]).unwrap();
        job.barrier().unwrap();
        let areas = job.open_areas::<u64>(&all, 5).unwrap();
        job.barrier().unwrap();
        // One rank has another area of that number meanwhile.
        let mut first = Some(first);
        let mut own = (job.rank() == last).then(|| first.take().unwrap().into_vec());
        let second = own.is_some().then(|| job.register(5, vec![0u64; LEN]).unwrap());
        job.barrier().unwrap();
        let data = vec![9u64; LEN];
        let mut twin = Twin::of(&vec![8u64; LEN]);
        let sent = match round % 3 {
            0 => job.multicast(&all, &areas, 0, &data),
            1 => job.multicast_stride(&all, &areas, 0, &data, Stride::new(1, 2, LEN / 2)),
            _ => job.multicast_diff(&all, &areas, 0, &data, &mut twin).map(drop),
        };
        assert!(sent.and_then(|()| job.sync()).is_err(), "round {round}");
        job.barrier().unwrap();
        let untouched = |vector: &[u64]| vector.iter().all(|word| *word == 0);
        assert!(own.take().is_none_or(|vector| untouched(&vector)), "a vector that was taken back, round {round}");
        assert!(second.is_none_or(|area| untouched(&area.to_vec())), "an area that was not opened, round {round}");
        drop(first);
        job.barrier().unwrap();
    }
}

/// Those of another job, of other ranks, of other elements.
pub fn areas_are_mixed_up(job: &Job) {
    let (small, words) = (job.area::<u32>(1, 7).unwrap(), job.area::<u64>(2, 4).unwrap());
    job.barrier().unwrap();
    let (all, one) = (job.recipients(&[0, 1]).unwrap(), job.recipients(&[1]).unwrap());
    expect_error!(job.open_areas::<u64>(&all, 1), Error::WrongElement { .. });
    let of_one = job.open_areas::<u64>(&one, 2).unwrap();
    expect_error!(job.multicast(&all, &of_one, 0, &[1]), Error::Invalid(_));
    let of_all = job.open_areas::<u64>(&all, 2).unwrap();
    expect_error!(job.multicast_notify(&all, &of_all, 0, &[1], (&of_one, 0), 1), Error::Invalid(_));
    expect_error!(job.multicast_notify(&all, &of_all, 0, &[1], (&of_all, 4), 1), Error::OutOfBounds { .. });
    expect_error!(job.multicast(&all, &of_all, usize::MAX, &[1]), Error::OutOfBounds { .. });
    hikyaku::local(2, |inner| {
        let table = inner.area::<u64>(2, 4).unwrap();
        inner.barrier().unwrap();
        let both = inner.recipients(&[0, 1]).unwrap();
        expect_error!(inner.open_areas::<u64>(&all, 2), Error::ForeignArea);
        expect_error!(inner.multicast(&both, &of_all, 0, &[1]), Error::ForeignArea);
        inner.barrier().unwrap();
        assert_eq!(table.to_vec(), [0; 4]);
    })
    .unwrap();
    drop((of_all, of_one));
    job.barrier().unwrap();
    assert_eq!((small.to_vec(), words.to_vec()), (vec![0; 7], vec![0; 4]));
    job.barrier().unwrap();
}
