//! Operations through pointers at their target, in memory and in registers, to plain bytes and to chains of commands.

use crate::support::{bytes, expect_error};
use hikyaku::{Area, Commands, Error, Job, Place, Pointer, Refusal, Register, Result, Stride, Through, Until};

/// In many packets, between hosts.
const LONG: usize = 150_000;

/// Pushes through a pointer, and waits until the bytes are there.
fn push<'a>(job: &Job, through: impl Into<Through<'a>>, rank: usize, data: &[u8]) -> Result<()> {
    job.push_indirect(through, data)?;
    job.flush(rank)
}

/// The reason of a refusal.
fn refusal(result: Result<()>) -> Refusal {
    match result {
        Err(Error::Refused { reason, .. }) => reason,
        other => panic!("{other:?} instead of a refusal"),
    }
}

/// Where a rank has pointers: in symmetric memory, in an area, in a vector, and in registers.
struct Pointers<'a> {
    symmetric: &'a dyn Fn(usize) -> Place<'a, Pointer>,
    area: &'a dyn Fn(usize) -> Place<'a, Pointer>,
    vector: &'a dyn Fn(usize) -> Place<'a, Pointer>,
    rank: usize,
}

impl<'a> Pointers<'a> {
    fn all(&self, number: usize) -> [Through<'a>; 4] {
        let register = Register { rank: self.rank, number };
        [(self.symmetric)(number).into(), (self.area)(number).into(), (self.vector)(number).into(), register.into()]
    }
}

/// The receiver aims its pointers, at mapped memory and at a vector, again and again; the sender knows only where the pointers are.
pub fn pushes_land_where_the_pointer_leads(job: &Job) {
    let (me, peer) = (job.rank(), (job.rank() + 1) % job.size());
    let symmetric = job.symmetric::<Pointer>(2).unwrap();
    let (area, vector) =
        (job.area::<Pointer>(1, 2).unwrap(), job.register::<Pointer>(2, vec![Pointer::NOWHERE; 2]).unwrap());
    let mapped = job.area::<u8>(3, LONG + 100).unwrap();
    let private = job.register::<u8>(4, vec![0; LONG + 100]).unwrap();
    let flag = job.symmetric::<u64>(1).unwrap();
    job.barrier().unwrap();
    let (peer_area, peer_vector) =
        (job.open_area::<Pointer>(peer, 1).unwrap(), job.open_area::<Pointer>(peer, 2).unwrap());
    let pointers = Pointers {
        symmetric: &|index| symmetric.at(peer, index),
        area: &|index| peer_area.at(index),
        vector: &|index| peer_vector.at(index),
        rank: peer,
    };
    let mut round = 0;
    for (target, len) in
        [(&mapped, 8), (&private, 8), (&mapped, 1000), (&private, 1), (&mapped, LONG), (&private, LONG)]
    {
        let at = 7 * round as usize % 90;
        let aim = Pointer::to(target.at(at)).unwrap();
        symmetric.set(1, aim);
        area.write(1, &[aim]);
        vector.write(1, &[aim]);
        job.set_register(1, aim).unwrap();
        assert_eq!(job.register_value(1).unwrap(), aim);
        job.barrier().unwrap();
        for (number, through) in pointers.all(1).into_iter().enumerate() {
            round += 1;
            let sent = bytes(me + number, len);
            job.push_indirect(through, &sent).unwrap();
            job.word(flag.at(peer, 0), round).unwrap();
            job.wait(flag.here(0), Until::Equal(round)).unwrap();
            let expected = bytes((me + job.size() - 1) % job.size() + number, len);
            let content = target.to_vec();
            assert!(content[at..at + len] == expected, "{through:?}, {len} bytes");
            assert!(content[..at].iter().chain(&content[LONG + 100..]).all(|byte| *byte == 0));
            job.barrier().unwrap();
            let mut back = vec![0; len];
            job.pull_indirect(through, &mut back).unwrap();
            assert!(back == sent, "pulled: {through:?}, {len} bytes");
            job.barrier().unwrap();
        }
        target.write(0, &vec![0; LONG + 100]);
        job.barrier().unwrap();
    }
    drop((area, vector, mapped, private));
}

/// Blocks of an area: which area, from where on, bytes of a block, how many, from one to the next.
type Shape = (usize, usize, usize, usize, usize);

/// Which byte of which area each byte belongs to, by plain loops.
fn places(shapes: &[Shape]) -> Vec<(usize, usize)> {
    let mut all = Vec::new();
    for (area, first, block, count, distance) in shapes {
        for number in 0..*count {
            all.extend((0..*block).map(|byte| (*area, first + number * distance + byte)));
        }
    }
    all
}

/// One message is scattered over two areas by commands of all shapes, and gathered again, whole and in part.
pub fn chains_scatter_and_gather(job: &Job) {
    let peer = (job.rank() + 1) % job.size();
    let areas: [Area<u8>; 2] = [job.area(1, LONG).unwrap(), job.register(2, vec![0; LONG]).unwrap()];
    let shapes: [Shape; 6] = [
        (0, 5, 3, 1, 3),
        (1, 100, 7, 300, 11),
        (0, 40, 1, 1000, 64),
        (1, 0, 90, 1, 90),
        (0, 70_000, 2000, 20, 2500),
        (1, 60_000, 80_000, 1, 80_000),
    ];
    let add = |commands: Commands, (area, first, block, count, distance): &Shape| {
        let (at, blocks) = (areas[*area].at(*first), Stride::new(*block, *distance, *count));
        commands.write_blocks(at, blocks)?.read_blocks(at, blocks)
    };
    let commands = shapes.iter().try_fold(Commands::new(), add).unwrap();
    let chain = job.chain(3, &commands).unwrap();
    assert_eq!((chain.len(), chain.is_empty()), (12, false));
    job.set_register(5, chain.pointer()).unwrap();
    job.barrier().unwrap();
    let (places, through) = (places(&shapes), Register { rank: peer, number: 5 });
    for len in [1, 3, 50, 2000, 3103, 3103 + 90 + 1999, places.len()] {
        let sent = bytes(len, len);
        push(job, through, peer, &sent).unwrap();
        job.barrier().unwrap();
        // Both have sent the same.
        let mut expected = [vec![0; LONG], vec![0; LONG]];
        for (byte, (area, at)) in sent.iter().zip(&places) {
            expected[*area][*at] = *byte;
        }
        for (area, expected) in areas.iter().zip(&expected) {
            assert!(&area.to_vec() == expected, "{len} bytes");
        }
        job.barrier().unwrap();
        let mut back = vec![0; len];
        job.pull_indirect(through, &mut back).unwrap();
        assert!(back == sent, "gathered {len} bytes");
        job.barrier().unwrap();
        areas.iter().for_each(|area| area.write(0, &vec![0; LONG]));
        job.barrier().unwrap();
    }
    let too_long = vec![1; places.len() + 1];
    assert_eq!(refusal(push(job, through, peer, &too_long)), Refusal::ChainTooShort);
    expect_error!(
        job.pull_indirect(through, &mut vec![0u8; places.len() + 1]),
        Error::Refused { reason: Refusal::ChainTooShort, .. }
    );
    job.barrier().unwrap();
    drop((chain, areas));
}

/// The receiver aims its pointer elsewhere when it sees the first bytes of a long message: the rest follows them all the same.
pub fn a_long_message_lands_in_one_place(job: &Job) {
    let pointers = job.symmetric::<Pointer>(1).unwrap();
    let (one, two) = (job.area::<u8>(1, LONG).unwrap(), job.area::<u8>(2, LONG).unwrap());
    pointers.set(0, Pointer::to(one.at(0)).unwrap());
    job.barrier().unwrap();
    if job.rank() == 0 {
        push(job, pointers.at(1, 0), 1, &[7; LONG]).unwrap();
    } else {
        while one.get(0) == 0 {
            job.progress();
        }
        pointers.set(0, Pointer::to(two.at(0)).unwrap());
    }
    job.barrier().unwrap();
    let expected = if job.rank() == 0 { 0 } else { 7 };
    assert!(one.to_vec() == [expected; LONG] && two.to_vec() == [0; LONG]);
    job.barrier().unwrap();
}

/// Pointers that lead nowhere, not far enough, or to an area that is gone; commands that cannot be.
pub fn wrong_pointers_and_chains_are_refused(job: &Job) {
    let (me, peer) = (job.rank(), (job.rank() + 1) % job.size());
    let pointers = job.symmetric::<Pointer>(4).unwrap();
    let (area, next) = (job.area::<u8>(1, 100).unwrap(), job.area::<u8>(2, 100).unwrap());
    pointers.set(1, Pointer::to(area.at(90)).unwrap());
    pointers.set(2, Pointer::from_word(u64::MAX));
    let chain = job.chain(3, &Commands::new().write(area.at(0), 10).unwrap()).unwrap();
    pointers.set(3, chain.pointer());
    job.barrier().unwrap();
    let through = |index| pointers.at(peer, index);
    assert_eq!(refusal(push(job, through(0), peer, &[1])), Refusal::NoPointer);
    assert_eq!(refusal(push(job, through(2), peer, &[1])), Refusal::NoPointer);
    assert_eq!(refusal(push(job, Register { rank: peer, number: 7 }, peer, &[1])), Refusal::NoPointer);
    assert_eq!(refusal(push(job, through(1), peer, &[1; 11])), Refusal::OutOfBounds);
    assert_eq!(refusal(job.pull_indirect(through(1), &mut [0u8; 11])), Refusal::OutOfBounds);
    assert_eq!(refusal(push(job, through(3), peer, &[1; 11])), Refusal::ChainTooShort);
    assert_eq!(refusal(job.pull_indirect(through(3), &mut [0u8])), Refusal::ChainTooShort);
    push(job, through(1), peer, &[2; 10]).unwrap();
    push(job, through(1), peer, &[]).unwrap();
    job.pull_indirect::<u8>(through(3), &mut []).unwrap();
    expect_error!(job.push_indirect(Register { rank: peer, number: 8 }, &[1u8]), Error::Invalid(_));
    expect_error!(job.push_indirect(Register { rank: job.size(), number: 0 }, &[1u8]), Error::NoSuchRank { .. });
    expect_error!(job.push_indirect(pointers.at(peer, 4), &[1u8]), Error::OutOfBounds { .. });
    expect_error!(job.set_register(8, Pointer::NOWHERE), Error::Invalid(_));
    expect_error!(Pointer::to(pointers.here(0)), Error::Invalid(_));
    expect_error!(Pointer::to(area.at(101)), Error::OutOfBounds { .. });
    let new = Commands::new;
    expect_error!(job.chain(4, &new()), Error::Invalid(_));
    expect_error!(new().write(area.at(50), 51), Error::OutOfBounds { .. });
    expect_error!(new().read(area.at(0), 0), Error::Invalid(_));
    expect_error!(new().write(pointers.here(0), 1), Error::Invalid(_));
    expect_error!(new().write_blocks(area.at(0), Stride::new(2, usize::MAX, 2)), Error::OutOfBounds { .. });
    job.barrier().unwrap();
    let opened = job.open_area::<u8>(peer, 1).unwrap();
    if peer != me {
        let theirs = new().write(opened.at(0), 1).unwrap();
        expect_error!(job.chain(4, &theirs), Error::NotMine { .. });
        expect_error!(theirs.write(area.at(0), 1), Error::Invalid(_));
    }
    // A chain that is too short has taken what it is for.
    let content = area.to_vec();
    assert!(content[..10].iter().all(|byte| *byte < 2) && content[10..90] == [0; 80] && content[90..] == [2; 10]);
    assert!(next.to_vec() == [0; 100]);
    job.barrier().unwrap();
    // Another area has its id now.
    drop(area);
    let area = job.area::<u8>(1, 1000).unwrap();
    job.barrier().unwrap();
    assert_eq!(refusal(push(job, through(1), peer, &[1])), Refusal::UnknownArea);
    assert_eq!(refusal(push(job, through(3), peer, &[1])), Refusal::UnknownArea);
    job.barrier().unwrap();
    drop(chain);
    job.barrier().unwrap();
    assert_eq!(refusal(push(job, through(3), peer, &[1])), Refusal::UnknownArea);
    job.barrier().unwrap();
    assert!(area.to_vec() == [0; 1000]);
    job.sync().unwrap();
    job.barrier().unwrap();
}

/// A peer writes anything into the commands of a chain: what comes through it is refused, or lands in the areas that it names.
pub fn random_commands_stay_inside(job: &Job) {
    const ROUNDS: u64 = 400;
    let peer = (job.rank() + 1) % job.size();
    let area = job.area::<u8>(1, 64).unwrap();
    let fence = [job.area::<u8>(5, 4096).unwrap(), job.area::<u8>(6, 4096).unwrap()];
    let list = (0..6).fold(Commands::new(), |list, number| list.write(area.at(number), 8).unwrap());
    let chain = job.chain(3, &list).unwrap();
    job.set_register(0, chain.pointer()).unwrap();
    job.barrier().unwrap();
    let words = job.open_area::<u64>(peer, 3).unwrap();
    let mut original = vec![0u64; words.len()];
    job.pull(words.at(0), &mut original).unwrap();
    let mut state = 0x9E37_79B9_7F4A_7C15 ^ peer as u64;
    let mut random = move || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        state
    };
    let (mut landed, mut refused) = (0, 0);
    for _ in 0..ROUNDS {
        let mut forged = original.clone();
        for _ in 0..1 + random() % 4 {
            // Of the eight words of a command the first two are what it is and whose: kept in half of the cases.
            let at = random() as usize % forged.len();
            forged[at] = match random() % 4 {
                0 => random(),
                1 => random() % 100,
                2 => u64::MAX - random() % 100,
                _ => 1 + random() % 6,
            };
        }
        job.push(words.at(0), &forged).unwrap();
        match push(job, Register { rank: peer, number: 0 }, peer, &vec![1; random() as usize % 200]) {
            Ok(()) => landed += 1,
            Err(Error::Refused { .. }) => refused += 1,
            Err(other) => panic!("{other}"),
        }
    }
    job.barrier().unwrap();
    assert!(landed > 0 && refused > 0, "{landed} landed, {refused} were refused");
    assert!(fence.iter().all(|area| area.to_vec() == [0; 4096]), "written outside");
    job.barrier().unwrap();
    drop((chain, area, fence));
}
