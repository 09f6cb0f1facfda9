use super::*;
use proptest::prelude::*;

const AREA_BYTES: u64 = 64;

/// Which byte of which area each byte of an operation belongs to, by plain loops.
fn expected(commands: &[Command], first: u64, way: Way) -> Vec<(u32, u64)> {
    let (mut at, mut all) = (first as usize, Vec::new());
    loop {
        let Command { area, offset, block, count, distance, next, .. } = commands[at];
        if commands[at].way == way as u32 {
            for number in 0..count {
                all.extend((0..block).map(|byte| (area, offset + number * distance + byte)));
            }
        }
        match next {
            0 => return all,
            next => at = next as usize - 1,
        }
    }
}

fn found(commands: &[Command], first: u64, way: Way, skip: u64, bytes: u64) -> Result<Vec<(u32, u64)>, Refusal> {
    let mut all = Vec::new();
    let read = |number: u64| commands[number as usize];
    let mut walk = Walk::new((first, commands.len() as u64), way, (skip, bytes));
    while let Some(run) = walk.next(read)? {
        let mut count = 0;
        for number in 0..run.count {
            for byte in 0..run.block {
                all.push((run.area, run.offset.wrapping_add(number * run.distance + byte)));
                count += 1;
                // What nobody could write.
                assert!(count <= bytes);
            }
        }
    }
    Ok(all)
}

fn command() -> impl Strategy<Value = Command> {
    let way = prop_oneof![Just(Way::Write), Just(Way::Read)];
    (way, 0u32..4, any::<u64>(), 0..AREA_BYTES, 1u64..9, 1u64..5, 0u64..20).prop_map(
        |(way, area, key, offset, block, count, distance)| {
            Command::new(way, area, key, offset, [block, count, distance])
        },
    )
}

/// In any order, each followed by the next.
fn chain() -> impl Strategy<Value = (Vec<Command>, u64)> {
    proptest::collection::vec(command(), 1..12).prop_flat_map(|commands| {
        let order = Just((0..commands.len()).collect::<Vec<_>>()).prop_shuffle();
        (Just(commands), order).prop_map(|(commands, order)| {
            let mut placed = commands.clone();
            for (number, command) in commands.iter().enumerate() {
                placed[order[number]] = order.get(number + 1).map_or(*command, |next| command.then(*next));
            }
            (placed, order[0] as u64)
        })
    })
}

proptest! {
    #[test]
    fn bytes_go_where_plain_loops_say((commands, first) in chain(), from in 0usize..100, to in 0usize..100) {
        for way in [Way::Write, Way::Read] {
            let all = expected(&commands, first, way);
            let (from, to) = (from.min(to).min(all.len()), to.max(from).min(all.len()));
            prop_assert_eq!(found(&commands, first, way, from as u64, (to - from) as u64).unwrap(), &all[from..to]);
            prop_assert_eq!(found(&commands, first, way, 0, all.len() as u64 + 1), Err(Refusal::ChainTooShort));
        }
    }

    #[test]
    fn commands_are_joined_if_that_changes_nothing(offsets in proptest::collection::vec((0u64..4, 1u64..3), 2..20)) {
        let mut offset = 0;
        let commands: Vec<Command> = offsets
            .iter()
            .map(|(gap, block)| {
                offset += gap;
                let command = Command::new(Way::Write, 1, 1, offset, [*block, 1, *block]);
                offset += block;
                command
            })
            .collect();
        let all: Vec<_> = commands.iter().flat_map(|command| expected(&[*command], 0, Way::Write)).collect();
        let mut joined = vec![commands[0]];
        for command in &commands[1..] {
            match joined.last().unwrap().joined(command) {
                Some(both) => *joined.last_mut().unwrap() = both,
                None => joined.push(*command),
            }
        }
        let found: Vec<_> = joined.iter().flat_map(|command| expected(&[*command], 0, Way::Write)).collect();
        prop_assert_eq!(found, all);
    }

    #[test]
    fn any_two_commands_are_joined_if_that_changes_nothing(one in command(), other in command()) {
        let other = Command { way: one.way, area: one.area, key: one.key, ..other };
        if let Some(both) = one.joined(&other) {
            let way = if one.way == Way::Write as u32 { Way::Write } else { Way::Read };
            let apart = [one, other].iter().flat_map(|command| expected(&[*command], 0, way)).collect::<Vec<_>>();
            prop_assert_eq!(expected(&[both], 0, way), apart);
        }
    }

    #[test]
    fn a_chain_that_loops_ends(mut commands in proptest::collection::vec(command(), 1..12), nexts: [u8; 12], first in 0u64..12) {
        let count = commands.len();
        for (command, next) in commands.iter_mut().zip(nexts) {
            *command = command.then(next as usize % count);
        }
        // More than any chain without a loop is for.
        prop_assert_eq!(found(&commands, first, Way::Write, 0, 1 << 20), Err(Refusal::BadChain));
    }

    #[test]
    fn random_words_are_refused_or_in_order(words: [[u64; 8]; 4], small: [bool; 4], first: u64, skip: u64, bytes in 0u64..1000) {
        let commands: [Command; 4] = std::array::from_fn(|index| match small[index] {
            true => bytemuck::cast(words[index].map(|word| word % 5)),
            false => bytemuck::cast(words[index]),
        });
        for first in [first, first % 4] {
            for skip in [skip, 0] {
                let _ = found(&commands, first, Way::Write, skip, bytes);
            }
        }
    }
}

#[test]
fn even_steps_are_one_command() {
    let at = |offset| Command::new(Way::Write, 1, 1, offset, [8, 1, 8]);
    let steps = (1..1000).fold(at(0), |joined, number| joined.joined(&at(24 * number)).unwrap());
    assert_eq!(steps, Command::new(Way::Write, 1, 1, 0, [8, 1000, 24]));
    assert_eq!(at(0).joined(&at(8)), Some(Command::new(Way::Write, 1, 1, 0, [16, 1, 8])));
    // Blocks on each other stay apart: what comes later wins, and they need not be copied in order.
    assert_eq!(at(0).joined(&at(4)), None);
    assert_eq!(at(8).joined(&at(0)), None);
    assert_eq!(at(0).joined(&Command::new(Way::Read, 1, 1, 8, [8, 1, 8])), None);
}
