//! Symmetric memory: equal places, zeroed, apart from each other, given back.

use crate::support::{expect_error, tag};
use hikyaku::{Error, Job};

/// Lengths around the units of the heap: a line, a page.
const LENGTHS: [usize; 10] = [0, 1, 7, 8, 9, 511, 512, 513, 5_000, 70_000];

pub fn symmetric_memory_starts_zeroed(job: &Job) {
    for len in LENGTHS {
        let area = job.symmetric::<u64>(len).unwrap();
        assert_eq!(area.len(), len);
        assert!(area.to_vec().iter().all(|word| *word == 0), "length {len}");
        job.barrier().unwrap();
        // The same place everywhere: what goes to a peer's last element is its last element.
        if len > 0 {
            let next = (job.rank() + 1) % job.size();
            job.push(area.at(next, len - 1), &[tag(job.rank(), len)]).unwrap();
            job.barrier().unwrap();
            let before = (job.rank() + job.size() - 1) % job.size();
            assert_eq!(area.get(len - 1), tag(before, len));
        }
    }
}

pub fn freed_memory_is_zeroed_again(job: &Job) {
    for len in LENGTHS {
        let area = job.symmetric::<u64>(len).unwrap();
        let place = area.as_ptr();
        let next = (job.rank() + 1) % job.size();
        job.push(area.at(next, 0), &vec![u64::MAX; len]).unwrap();
        job.free(area).unwrap();
        let again = job.symmetric::<u64>(len).unwrap();
        assert_eq!(again.as_ptr(), place, "first fit gives the place again, else this case says nothing");
        assert!(again.to_vec().iter().all(|word| *word == 0), "length {len}");
        job.free(again).unwrap();
    }
}

pub fn symmetric_areas_do_not_overlap(job: &Job) {
    let areas: Vec<_> = LENGTHS.iter().map(|len| job.symmetric::<u64>(*len).unwrap()).collect();
    let peer = 1 - job.rank();
    for (number, area) in areas.iter().enumerate() {
        job.push(area.at(peer, 0), &vec![number as u64 + 1; area.len()]).unwrap();
    }
    job.barrier().unwrap();
    for (number, area) in areas.iter().enumerate() {
        assert!(area.to_vec().iter().all(|word| *word == number as u64 + 1), "area {number}");
    }
}

pub fn elements_of_any_size(job: &Job) {
    let peer = 1 - job.rank();
    macro_rules! check {
        ($($element:ty: $value:expr),* $(,)?) => {$({
            let area = job.symmetric::<$element>(13).unwrap();
            let value: $element = $value;
            job.push(area.at(peer, 12), &[value]).unwrap();
            job.barrier().unwrap();
            assert_eq!(area.get(12), value);
            assert_eq!(job.pull_one(area.at(peer, 12)).unwrap(), value);
            assert_ne!(area.get(11), value, "one element only");
        })*};
    }
    check!(u8: 3, u16: 70, i32: -5, f32: 1.5, u64: 9, f64: -2.5, u128: 1 << 100, [u8; 3]: [1, 2, 3], [u64; 9]: [4; 9]);
    // Nobody leaves while others read its memory.
    job.barrier().unwrap();
}

pub fn own_memory_is_read_and_written_in_place(job: &Job) {
    let area = job.symmetric::<u32>(100).unwrap();
    assert!(!area.is_empty());
    area.set(3, 33);
    area.write(10, &[1, 2, 3]);
    let mut read = [0; 4];
    area.read(9, &mut read);
    assert_eq!((area.get(3), read), (33, [0, 1, 2, 3]));
    assert_eq!(area.to_vec().iter().sum::<u32>(), 39);
    job.barrier().unwrap();
    // And as the peer sees it.
    assert_eq!(job.pull_one(area.at(1 - job.rank(), 12)).unwrap(), 3);
    job.barrier().unwrap();
}

pub fn own_memory_out_of_range_panics(job: &Job) {
    let area = job.symmetric::<u32>(4).unwrap();
    let attempts: [&dyn Fn(); 5] = [
        &|| assert_eq!(area.get(4), 0),
        &|| area.set(usize::MAX, 1),
        &|| area.read(2, &mut [0; 3]),
        &|| area.write(usize::MAX, &[1; 2]),
        &|| area.write(4, &[1]),
    ];
    for attempt in attempts {
        assert!(std::panic::catch_unwind(std::panic::AssertUnwindSafe(attempt)).is_err());
    }
    assert_eq!(area.to_vec(), [0; 4]);
}

pub fn freed_room_comes_back(job: &Job) {
    // More in total than the smallest heap the suite runs with (64 MiB).
    for round in 0..20 {
        let large = job.symmetric::<u8>(7 << 20).unwrap();
        let small = job.symmetric::<u8>(100).unwrap();
        job.push(large.at(1 - job.rank(), large.len() - 1), &[round + 1]).unwrap();
        job.barrier().unwrap();
        assert_eq!(large.get(large.len() - 1), round + 1);
        job.free(large).unwrap();
        job.free(small).unwrap();
    }
}

pub fn too_much_memory_fails_everywhere_and_a_retry_succeeds(job: &Job) {
    for len in [1 << 46, usize::MAX] {
        expect_error!(job.symmetric::<u8>(len), Error::NoMemory { .. } | Error::Invalid(_));
    }
    let first = job.symmetric::<u64>(1000).unwrap();
    job.push(first.at(0, job.rank()), &[7]).unwrap();
    job.barrier().unwrap();
    if job.rank() == 0 {
        assert_eq!(first.to_vec().iter().sum::<u64>(), 7 * job.size() as u64);
    }
}
