//! Messages of some elements of a range.

use crate::support::expect_error;
use hikyaku::matching::Source;
use hikyaku::{Bitmap, Error, Job, Stride, Twin};
use std::hint::black_box;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};

/// Short ones and long ones, the receive first and the send first, each side with parts of its own.
pub fn parts_are_sent_and_received(job: &Job) {
    let (me, size) = (job.rank(), job.size());
    let (right, left) = ((me + 1) % size, (me + size - 1) % size);
    let matching = job.matching().unwrap();
    for len in [10, 100, 3000, 60_000] {
        for late in [0, 1] {
            let data: Vec<u32> = (0..len).map(|index| (me * 100_000 + index) as u32).collect();
            let theirs = |index: usize| (left * 100_000 + index) as u32;
            let thirds = Stride::new(1, 3, len.div_ceil(3));
            let mut odd = Bitmap::new(len);
            (1..len).step_by(2).for_each(|index| odd.set(index));
            let mut twin = Twin::of(&data);
            let mut changed = data.clone();
            (0..len).step_by(7).for_each(|index| changed[index] += 1);
            let [mut blocks, mut marked, mut packed, mut plain, mut kept] = [(); 5].map(|()| vec![9u32; len]);
            let mut diffs: Vec<u32> = (0..len).map(theirs).collect();
            let mut plain_twin = Twin::of(&plain);
            matching
                .scope(|scope| {
                    if late == me % 2 {
                        job.barrier()?;
                    }
                    let sends = [
                        scope.isend_stride(&data, thirds, right, 1)?,
                        scope.isend_bitmap(&data, &odd, right, 2)?,
                        scope.isend_stride(&data, thirds, right, 3)?,
                        scope.isend(&data, right, 4)?,
                        scope.isend_bitmap(&data, &odd, right, 5)?,
                    ];
                    let (last, count) = scope.isend_diff(&changed, &mut twin, right, 6)?;
                    assert_eq!(count, len.div_ceil(7));
                    if late != me % 2 {
                        job.barrier()?;
                    }
                    let receives = [
                        scope.irecv_stride(&mut blocks, thirds, left, 1)?,
                        scope.irecv_bitmap(&mut marked, &odd, Source::Any, 2)?,
                        scope.irecv(&mut packed, left, 3)?,
                        scope.irecv_twin(&mut plain, &mut plain_twin, left, 4)?,
                        scope.irecv_stride(&mut kept, Stride::new(1, 2, len / 2), left, 5)?,
                        scope.irecv_diff(&mut diffs, left, 6)?,
                    ];
                    let lens = receives.map(|receive| scope.wait_receive(receive).unwrap().len);
                    let (third, half) = (len.div_ceil(3), len / 2);
                    assert_eq!(lens, [third, half, third, len, half, len.div_ceil(7)]);
                    sends.into_iter().chain([last]).for_each(|send| scope.wait_send(send).unwrap());
                    Ok(())
                })
                .unwrap();
            for index in 0..len {
                let at = |is_in: bool, value: u32| if is_in { value } else { 9 };
                assert_eq!(blocks[index], at(index % 3 == 0, theirs(index)), "blocks, {index} of {len}");
                assert_eq!(marked[index], at(index % 2 == 1, theirs(index)), "marked, {index} of {len}");
                assert_eq!(packed[index], at(index < len.div_ceil(3), theirs(index * 3)), "packed, {index} of {len}");
                assert_eq!(plain[index], theirs(index));
                assert_eq!(
                    kept[index],
                    at(index % 2 == 0 && index / 2 < len / 2, theirs(index + 1)),
                    "{index} of {len}"
                );
                assert_eq!(diffs[index], theirs(index) + u32::from(index % 7 == 0), "changed, {index} of {len}");
            }
            // The twin has what was received: a change of one element is one.
            plain[len - 1] += 1;
            matching
                .scope(|scope| {
                    scope.isend_diff(&plain, &mut plain_twin, me, 7).map(|(_, count)| assert_eq!(count, 1)).and_then(
                        |()| {
                            let mut into = vec![0; len];
                            matching
                                .recv_diff(&mut into, me, 7)
                                .map(|got| assert_eq!((got.len, into[len - 1]), (1, plain[len - 1])))
                        },
                    )
                })
                .unwrap();
            job.barrier().unwrap();
        }
    }
    matching.free().unwrap();
}

/// What was not sent has not been, so the twin still differs there.
pub fn changes_that_are_refused_are_sent_later(job: &Job) {
    let matching = job.matching().unwrap();
    let (me, nobody) = (job.rank(), job.size());
    let before = [0u32; 100];
    let (mut data, mut twin, mut into) = (before, Twin::of(&before), before);
    data[7] = 1;
    expect_error!(matching.send_diff(&data, &mut twin, nobody, 0), Error::NoSuchRank { .. });
    expect_error!(matching.scope(|scope| scope.isend_diff(&data, &mut twin, nobody, 0)), Error::NoSuchRank { .. });
    assert_eq!(matching.send_diff(&data, &mut twin, me, 0).unwrap(), 1);
    matching.recv_diff(&mut into, me, 0).unwrap();
    assert_eq!(into, data);
    assert_eq!(matching.send_diff(&data, &mut twin, me, 1).unwrap(), 0, "the twin has what was sent");
    matching.recv_diff(&mut into, me, 1).unwrap();
    job.barrier().unwrap();
    matching.free().unwrap();
}

/// A long message of parts is packed by its send. One that is given up goes on from that, and not from memory that was freed.
pub fn a_send_of_parts_that_is_given_up_goes_on(job: &Job) {
    const LEN: usize = 200_000;
    let matching = job.matching().unwrap();
    let peer = 1 - job.rank();
    let number = |rank: usize, index: usize| (rank * LEN + index) as u64;
    let data: Vec<u64> = (0..2 * LEN).map(|index| number(job.rank(), index / 2)).collect();
    let ended = catch_unwind(AssertUnwindSafe(|| {
        matching.scope(|scope| {
            let _ = scope.isend_stride(&data, Stride::new(1, 2, LEN), peer, 0)?;
            job.barrier()?;
            resume_unwind(Box::new("as planned")) as Result<(), Error>
        })
    }));
    assert!(ended.is_err(), "{ended:?}");
    // What was freed is used again.
    let other = black_box(vec![u64::MAX; LEN]);
    let mut into = vec![0; LEN];
    matching.recv(&mut into, peer, 0).unwrap();
    assert!(into.iter().enumerate().all(|(index, got)| *got == number(peer, index)));
    drop(other);
    job.barrier().unwrap();
    matching.free().unwrap();
}

pub fn wrong_parts_of_messages_are_refused(job: &Job) {
    let matching = job.matching().unwrap();
    let (data, mut into) = ([1u64; 10], [0u64; 10]);
    let me = job.rank();
    expect_error!(matching.send_stride(&data, Stride::new(2, 1, 3), me, 0), Error::Invalid(_));
    expect_error!(matching.send_stride(&data, Stride::new(1, 5, 3), me, 0), Error::OutOfBounds { .. });
    expect_error!(
        matching.send_stride(&data, Stride::new(usize::MAX, usize::MAX, 2), me, 0),
        Error::OutOfBounds { .. }
    );
    expect_error!(matching.send_bitmap(&data, &Bitmap::new(11), me, 0), Error::OutOfBounds { .. });
    expect_error!(matching.send_diff(&data, &mut Twin::of(&[1; 9]), me, 0), Error::Invalid(_));
    expect_error!(matching.recv_stride(&mut into, Stride::new(1, 5, 3), me, 0), Error::OutOfBounds { .. });
    expect_error!(matching.recv_bitmap(&mut into, &Bitmap::new(11), me, 0), Error::OutOfBounds { .. });
    // One block, however far away the next would be.
    matching.send_stride(&data, Stride::new(3, usize::MAX, 1), me, 0).unwrap();
    let got = matching.recv_stride(&mut into, Stride::new(4, usize::MAX, 1), me, 0).unwrap();
    assert_eq!((got.len, into), (3, [1, 1, 1, 0, 0, 0, 0, 0, 0, 0]));
    // Too long for the blocks.
    matching.send(&data, me, 1).unwrap();
    expect_error!(matching.recv_stride(&mut into, Stride::new(1, 2, 5), me, 1), Error::Overlong { .. });
    // Not changes, or of another length.
    matching.send(&data, me, 2).unwrap();
    expect_error!(matching.recv_diff(&mut into, me, 2), Error::Invalid(_));
    matching.send_diff(&data, &mut Twin::of(&[0; 10]), me, 3).unwrap();
    expect_error!(matching.recv_diff(&mut [0u64; 100], me, 3), Error::Invalid(_));
    matching.send(&[u8::MAX; 500], me, 4).unwrap();
    expect_error!(matching.recv_diff(&mut [0u64; 100], me, 4), Error::Invalid(_));
    assert_eq!(into[3..], [0; 7]);
    matching.free().unwrap();
}
