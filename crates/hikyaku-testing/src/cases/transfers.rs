//! Pulls and pushes that go on beside the program.

use crate::support::{bytes, expect_error, spin_until, tag};
use hikyaku::{By, Error, Job, Transfer, Until};
use std::time::Duration;

/// More than a packet of any transport carries.
const LONG: usize = 300_000;

/// Long and short ones, of every rank at once, this one too; each is waited for in another way.
pub fn pulls_of_every_rank_are_under_way_at_once(job: &Job) {
    let table = job.symmetric::<u8>(LONG).unwrap();
    table.write(0, &bytes(job.rank(), LONG));
    job.barrier().unwrap();
    let lens = [LONG, 0, 1, 8191, 70_001];
    let mut copies: Vec<_> = (0..job.size()).flat_map(|rank| lens.map(|len| (rank, vec![0xEE; len]))).collect();
    job.scope(|scope| {
        let started = copies.iter_mut().map(|(rank, copy)| scope.start_pull(table.at(*rank, LONG - copy.len()), copy));
        let started: Vec<Transfer> = started.collect::<Result<_, _>>()?;
        for (way, mut pull) in started.into_iter().rev().enumerate() {
            match way % 3 {
                0 => scope.wait(pull)?,
                1 => {
                    while let Err(under_way) = scope.test(pull)? {
                        pull = under_way;
                    }
                }
                _ => {
                    while let Err(under_way) = scope.wait_for(pull, Duration::from_micros(50))? {
                        pull = under_way;
                    }
                }
            }
        }
        Ok(())
    })
    .unwrap();
    for (rank, copy) in copies {
        assert!(copy == bytes(rank, LONG)[LONG - copy.len()..], "{} bytes of rank {rank}", copy.len());
    }
    job.barrier().unwrap();
}

/// Whoever has waited for a push knows that it is there, and may tell.
pub fn pushes_to_every_rank_are_there_when_they_end(job: &Job) {
    let (me, size) = (job.rank(), job.size());
    let table = job.symmetric::<u8>(size * LONG).unwrap();
    let told = job.symmetric::<u64>(1).unwrap();
    let (long, short) = (bytes(me, LONG - 1), [tag(me, 7) as u8]);
    job.scope(|scope| {
        let mut started = Vec::new();
        for rank in 0..size {
            started.push(scope.start_push(table.at(rank, me * LONG), &long)?);
            started.push(scope.start_push(table.at(rank, (me + 1) * LONG - 1), &short)?);
        }
        started.into_iter().try_for_each(|push| scope.wait(push))
    })
    .unwrap();
    for rank in 0..size {
        job.fetch_add(told.at(rank, 0), 1).unwrap();
    }
    job.wait(told.here(0), Until::Equal(size as u64)).unwrap();
    let mut got = vec![0; LONG];
    for rank in 0..size {
        table.read(rank * LONG, &mut got);
        assert!(got[..LONG - 1] == bytes(rank, LONG - 1) && got[LONG - 1] == tag(rank, 7) as u8, "from rank {rank}");
    }
    job.barrier().unwrap();
}

/// Hundreds of short ones; nobody waits for any of them but the scope.
pub fn a_scope_waits_for_what_it_has_started(job: &Job) {
    const COUNT: usize = 500;
    let (words, peer) = (job.symmetric::<u64>(COUNT).unwrap(), 1 - job.rank());
    let data: Vec<u64> = (0..COUNT).map(|index| tag(job.rank(), index)).collect();
    let mut copy = vec![0; COUNT];
    for round in 0..2 {
        job.scope(|scope| {
            for index in 0..COUNT {
                let _ = scope.start_push(words.at(peer, index), &data[index..=index])?;
            }
            if round == 0 { scope.wait_all() } else { Ok(()) }
        })
        .unwrap();
        job.scope(|scope| {
            for (index, word) in copy.chunks_mut(1).enumerate() {
                let _ = scope.start_pull(words.at(peer, index), word)?;
            }
            Ok(())
        })
        .unwrap();
        assert_eq!(copy, data, "a pull sees what was pushed before");
        copy.fill(0);
        job.barrier().unwrap();
    }
}

/// Whichever ends first, each once; a list that has no more of them ends at once.
pub fn whichever_transfer_ends_first(job: &Job) {
    let table = job.symmetric::<u8>(LONG).unwrap();
    table.write(0, &bytes(job.rank(), LONG));
    job.barrier().unwrap();
    let lens = [LONG, 0, 1, 70_001];
    let mut copies: Vec<_> = (0..job.size()).flat_map(|rank| lens.map(|len| (rank, vec![0xEE; len]))).collect();
    let mut times = vec![0; copies.len()];
    job.scope(|scope| {
        let started = copies.iter_mut().map(|(rank, copy)| scope.start_pull(table.at(*rank, 0), copy).map(Some));
        let mut pulls = started.collect::<Result<Vec<_>, _>>()?;
        while let Some((which, ended)) = scope.wait_any(&mut pulls)? {
            ended?;
            assert!(pulls[which].is_none(), "it was taken out");
            times[which] += 1;
        }
        assert!(pulls.iter().all(Option::is_none) && scope.wait_any(&mut [])?.is_none());
        Ok(())
    })
    .unwrap();
    assert!(times.iter().all(|times| *times == 1), "{times:?}");
    for (rank, copy) in copies {
        assert!(copy == bytes(rank, LONG)[..copy.len()], "{} bytes of rank {rank}", copy.len());
    }
    job.barrier().unwrap();
}

/// One of several is refused, or none has ended in time: the others go on as before.
pub fn one_of_several_transfers_fails(job: &Job) {
    let peer = 1 - job.rank();
    let table = job.symmetric::<u8>(LONG).unwrap();
    table.write(0, &bytes(job.rank(), LONG));
    let area = job.area::<u8>(1, LONG).unwrap();
    job.barrier().unwrap();
    let opened = job.open_area::<u8>(peer, 1).unwrap();
    job.barrier().unwrap();
    drop(area);
    job.barrier().unwrap();
    let (mut refused, mut copy) = (vec![1; 100], vec![0; LONG]);
    job.scope(|scope| {
        let first = match scope.start_pull(opened.at(0), &mut refused) {
            Ok(pull) => Some(pull),
            // Found out at once.
            Err(Error::AreaRevoked { .. }) => None,
            Err(other) => return Err(other),
        };
        let mut failed = usize::from(first.is_none());
        let mut pulls = [first, Some(scope.start_pull(table.at(peer, 0), &mut copy)?)];
        while let Some((which, ended)) = scope.wait_any(&mut pulls)? {
            match which {
                0 => expect_error!(ended, Error::AreaRevoked { .. }),
                _ => ended?,
            }
            failed += 1 - which;
        }
        assert_eq!(failed, 1);
        Ok(())
    })
    .unwrap();
    assert!(copy == bytes(peer, LONG) && refused == [1; 100]);
    job.barrier().unwrap();
    // Where nothing ends at once, the time can be up before.
    if !job.is_mapped(peer).unwrap() {
        job.scope(|scope| {
            let mut pulls = [None, Some(scope.start_pull(table.at(peer, 0), &mut copy)?)];
            loop {
                match scope.wait_any_for(&mut pulls, Duration::ZERO) {
                    Err(Error::Timeout { .. }) => assert!(pulls[1].is_some(), "it is under way as before"),
                    ended => break assert!(matches!(ended?, Some((1, Ok(()))))),
                }
            }
            // Those of another scope are refused, and stay.
            let mut mine = [Some(scope.start_pull(table.at(peer, 0), &mut refused)?)];
            job.scope(|inner| {
                expect_error!(inner.wait_any(&mut mine), Error::Invalid(_));
                Ok(())
            })?;
            assert!(matches!(scope.wait_any(&mut mine)?, Some((0, Ok(())))));
            Ok(())
        })
        .unwrap();
    }
    job.barrier().unwrap();
}

/// What is under way is under way for everybody who waits for this port.
pub fn flushes_and_barriers_wait_for_transfers(job: &Job) {
    let (table, peer) = (job.symmetric::<u8>(2 * LONG).unwrap(), 1 - job.rank());
    let (data, mut copy) = (bytes(job.rank(), LONG), vec![0; LONG]);
    job.scope(|scope| {
        let push = scope.start_push(table.at(peer, 0), &data)?;
        job.flush(peer)?;
        let pull = scope.start_pull(table.at(peer, 0), &mut copy)?;
        let again = scope.start_push(table.at(peer, LONG), &data)?;
        job.barrier()?;
        let mut got = vec![0; 2 * LONG];
        table.read(0, &mut got);
        assert!(got[..LONG] == bytes(peer, LONG) && got[LONG..] == bytes(peer, LONG), "all of it is there");
        for transfer in [push, pull, again] {
            assert!(scope.test(transfer)?.is_ok(), "it has ended");
        }
        job.sync()
    })
    .unwrap();
    assert_eq!(copy, data);
    job.barrier().unwrap();
}

/// Areas in shared and in private memory, and what becomes of transfers when they are taken away.
pub fn transfers_of_areas(job: &Job) {
    let peer = 1 - job.rank();
    let shared = job.area::<u64>(1, 1000).unwrap();
    let vector = job.register(2, vec![tag(job.rank(), 2); 40_000]).unwrap();
    job.barrier().unwrap();
    let opened = (job.open_area::<u64>(peer, 1).unwrap(), job.open_area::<u64>(peer, 2).unwrap());
    let (data, mut copy, mut other) = ([tag(job.rank(), 5); 1000], vec![0; 40_000], [0; 1000]);
    job.scope(|scope| {
        let push = scope.start_push(opened.0.at(0), &data)?;
        let pull = scope.start_pull(opened.1.at(0), &mut copy)?;
        scope.wait(pull)?;
        scope.wait(push)?;
        let again = scope.start_pull(opened.0.at(0), &mut other)?;
        scope.wait(again)
    })
    .unwrap();
    assert!(copy.iter().all(|word| *word == tag(peer, 2)) && other == data);
    job.barrier().unwrap();
    assert_eq!(shared.get(999), tag(peer, 5));
    drop((shared, vector));
    job.barrier().unwrap();
    for (area, id) in [(&opened.0, 1), (&opened.1, 2)] {
        let revoked =
            |outcome| expect_error!(outcome, Error::AreaRevoked { rank, id: area } if (rank, area) == (peer, id));
        revoked(job.scope(|scope| scope.wait(scope.start_pull(area.at(0), &mut other)?)));
        revoked(job.scope(|scope| scope.wait(scope.start_push(area.at(0), &data)?)));
        revoked(job.scope(|scope| scope.start_pull(area.at(0), &mut other).map(drop)));
    }
    assert_eq!(other, data, "what was refused writes nothing");
    job.sync().expect("only whoever waits for a transfer hears of it");
    job.barrier().unwrap();
}

pub fn wrong_transfers_are_refused(job: &Job) {
    let (table, peer) = (job.symmetric::<u64>(10).unwrap(), 1 - job.rank());
    let (data, mut copy) = ([1; 11], [7; 11]);
    job.scope(|scope| {
        expect_error!(scope.start_push(table.at(peer, 0), &data), Error::OutOfBounds { .. });
        expect_error!(scope.start_push(table.at(peer, usize::MAX), &data[..1]), Error::OutOfBounds { .. });
        expect_error!(scope.start_push(table.at(2, 0), &data[..1]), Error::NoSuchRank { .. });
        expect_error!(scope.start_pull(table.at(peer, 5), &mut copy[..6]), Error::OutOfBounds { .. });
        Ok(())
    })
    .unwrap();
    assert_eq!(copy, [7; 11]);
    // Only where nothing ends at once there is something to mistake.
    if !job.is_mapped(peer).unwrap() {
        let old = job.scope(|scope| scope.start_push(table.at(peer, 0), &data[..1])).unwrap();
        job.scope(|outer| {
            let mut mine = outer.start_push(table.at(peer, 1), &data[..1])?;
            expect_error!(outer.wait(old), Error::Invalid(_));
            mine = job.scope(|inner| {
                expect_error!(inner.test(mine), Error::Invalid(_));
                outer.start_push(table.at(peer, 2), &data[..1])
            })?;
            outer.wait(mine)
        })
        .unwrap();
    }
    job.barrier().unwrap();
    assert!((0..3).all(|index| table.get(index) == u64::from(!job.is_mapped(peer).unwrap())));
    job.barrier().unwrap();
}

/// One rank leaves in the middle: its transfers fail or are done, those with others go on.
pub fn transfers_with_a_rank_that_leaves(job: &Job) {
    let (table, left) = (job.symmetric::<u8>(LONG).unwrap(), job.symmetric::<u64>(1).unwrap());
    table.write(0, &bytes(job.rank(), LONG));
    job.barrier().unwrap();
    match job.rank() {
        0 => {
            let mut copies = [vec![0; LONG], vec![0; LONG]];
            job.scope(|scope| {
                let [first, second] = &mut copies;
                let gone = scope.start_pull(table.at(1, 0), first)?;
                let kept = scope.start_pull(table.at(2, 0), second)?;
                job.word(left.at(1, 0), 1)?;
                match scope.wait(gone) {
                    Ok(()) => {}
                    Err(error) => assert!(error.rank() == Some(1) && error.is_end_of_peer(), "{error}"),
                }
                spin_until(|| !job.is_present(1).unwrap());
                scope.wait(kept)
            })
            .unwrap();
            assert!(copies[1] == bytes(2, LONG));
            let late = job.scope(|scope| scope.wait(scope.start_pull(table.at(1, 0), &mut copies[0])?));
            match job.is_mapped(1).unwrap() {
                true => late.expect("what is mapped stays"),
                false => expect_error!(late, Error::PeerLeft { rank: 1 }),
            }
            job.word(left.at(2, 0), 1).unwrap();
        }
        1 => drop(job.wait_from(By::Rank(0), left.here(0), Until::Equal(1)).unwrap()),
        _ => drop(job.wait_from(By::Rank(0), left.here(0), Until::Equal(1)).unwrap()),
    }
}

/// Likewise, and whichever ends first is waited for: the end of one rank is the end of its transfer alone.
pub fn a_list_of_transfers_with_a_rank_that_leaves(job: &Job) {
    let (table, left) = (job.symmetric::<u8>(LONG).unwrap(), job.symmetric::<u64>(1).unwrap());
    table.write(0, &bytes(job.rank(), LONG));
    job.barrier().unwrap();
    if job.rank() > 0 {
        job.wait_from(By::Rank(0), left.here(0), Until::Equal(1)).unwrap();
        return;
    }
    let mut copies = [vec![0; LONG], vec![0; LONG]];
    job.scope(|scope| {
        let [first, second] = &mut copies;
        // The first in the list is with the rank that stays.
        let mut pulls = [None, None];
        job.word(left.at(1, 0), 1)?;
        pulls[0] = Some(scope.start_pull(table.at(2, 0), first)?);
        pulls[1] = match scope.start_pull(table.at(1, 0), second) {
            Ok(pull) => Some(pull),
            Err(error) if error.is_end_of_peer() => None,
            Err(error) => return Err(error),
        };
        while let Some((which, ended)) = scope.wait_any(&mut pulls)? {
            match (which, ended) {
                (_, Ok(())) => {}
                (1, Err(error)) => assert!(error.rank() == Some(1) && error.is_end_of_peer(), "{error}"),
                (_, Err(error)) => return Err(error),
            }
        }
        Ok(())
    })
    .unwrap();
    assert!(copies[0] == bytes(2, LONG));
    job.word(left.at(2, 0), 1).unwrap();
}

/// Where a handler cannot wait it cannot start what must be waited for.
pub fn transfers_in_a_handler(job: &Job) {
    let (words, peer) = (job.symmetric::<u64>(2).unwrap(), 1 - job.rank());
    job.barrier().unwrap();
    let port = job.open().unwrap();
    let is_mapped = job.is_mapped(peer).unwrap();
    let area = job.area::<u64>(1, 2).unwrap();
    job.barrier().unwrap();
    let opened = job.open_area::<u64>(peer, 1).unwrap();
    job.register_handler(1, move |_, _| {
        let (data, mut copy) = ([5], [0]);
        let pushed = port.scope(|scope| scope.wait(scope.start_push(opened.at(0), &data)?));
        let pulled = port.scope(|scope| scope.wait(scope.start_pull(opened.at(0), &mut copy)?));
        match is_mapped {
            true => assert_eq!((pushed.is_ok(), pulled.is_ok(), copy), (true, true, [5])),
            false => {
                expect_error!(pushed, Error::InHandler);
                expect_error!(pulled, Error::InHandler);
            }
        }
    })
    .unwrap();
    job.barrier().unwrap();
    job.send(peer, 1, 0, [0; 6], &[]).unwrap();
    job.sync().unwrap();
    job.barrier().unwrap();
    assert_eq!(area.get(0), if is_mapped { 5 } else { 0 });
    job.unregister_handler(1).unwrap();
    drop(words);
}
