//! The tables of FMPL, with few places so that they can be full.

#[path = "../src/fmpl/table.rs"]
#[allow(dead_code)]
mod table;

use core_hikyaku::{Group, Result};
use table::{Table, who_is_full};

/// Of four places.
type Small<T> = Table<T, 2>;

#[test]
fn a_full_table_says_so_and_a_number_names_one_thing() {
    let mut table = Small::default();
    let numbers: Vec<_> = (0..4).map(|thing| table.add(thing).unwrap()).collect();
    assert!(table.is_full() && table.add(4).is_none());
    assert_eq!(table.remove(numbers[1]), Some(1));
    assert!(!table.is_full());
    let again = table.add(5).unwrap();
    assert!(table.is_full() && again != numbers[1] && table.get(numbers[1]).is_none());
    assert_eq!(table.all().copied().collect::<Vec<_>>(), [0, 5, 2, 3]);
    assert_eq!(table.into_all().collect::<Vec<_>>(), [0, 2, 3, 5]);
}

/// One member has other groups than the rest, so its table is full first: all are refused together, and nobody loses a group.
#[test]
fn a_member_whose_table_is_full_makes_the_creation_fail_at_all() {
    core_hikyaku::local(3, |job| {
        let world = job.new_world()?;
        let mut table = Small::default();
        let create = |table: &mut Small<_>, joins: bool| -> Result<Option<i32>> {
            let Some(group) = world.split(joins.then_some(0), 0)? else { return Ok(None) };
            match who_is_full(&group, table.is_full())? {
                Some(member) => {
                    assert_eq!(group.world_rank(member), Some(1));
                    group.free().map(|()| None)
                }
                None => Ok(Some(table.add(group).expect("there is room"))),
            }
        };
        let alone = create(&mut table, job.rank() == 1)?;
        for _ in 0..3 {
            assert!(create(&mut table, true)?.is_some());
        }
        assert_eq!(table.is_full(), job.rank() == 1);
        for _ in 0..3 {
            assert!(create(&mut table, true)?.is_none());
        }
        if let Some(number) = alone {
            table.remove(number).map(Group::free).expect("entered")?;
        }
        assert!(create(&mut table, true)?.is_some());
        // All have the same groups, in the same order though not in the same places.
        table.into_all().rev().try_for_each(Group::free)
    })
    .unwrap()
    .into_iter()
    .for_each(|ended| ended.unwrap());
}
