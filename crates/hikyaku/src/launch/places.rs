//! Which cores each rank gets, of those that there are.

use super::Bind;

/// The cores of each of so many ranks, out of those of a machine, where processors that are threads of one core are together; nothing
/// if they are not to be bound, or if there are too few. All ranks get as many: what is left over stays idle, because a job is as
/// slow as its slowest rank.
pub(super) fn places(bind: Bind, machine: &[Vec<usize>], ranks: usize) -> Option<Vec<Vec<usize>>> {
    // A rank that is alone keeps all for its threads, unbound.
    if bind == Bind::None || ranks < 2 {
        return None;
    }
    let whole_each = if bind == Bind::Share { machine.len() / ranks } else { 0 };
    if whole_each > 0 {
        return Some(machine.chunks(whole_each).take(ranks).map(<[_]>::concat).collect());
    }
    let single = one_by_one(machine);
    (single.len() >= ranks).then(|| single[..ranks].iter().map(|core| vec![*core]).collect())
}

/// All processors, those of different cores first.
pub(super) fn one_by_one(machine: &[Vec<usize>]) -> Vec<usize> {
    let threads_max = machine.iter().map(Vec::len).max().unwrap_or(0);
    (0..threads_max).flat_map(|thread| machine.iter().filter_map(move |core| core.get(thread).copied())).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// So many cores of so many threads, numbered as Linux does: first threads first.
    fn machine(cores: usize, threads: usize) -> Vec<Vec<usize>> {
        (0..cores).map(|core| (0..threads).map(|thread| core + thread * cores).collect()).collect()
    }

    #[test]
    fn shares_are_equal_and_of_whole_cores() {
        let share = |cores, threads, ranks| places(Bind::Share, &machine(cores, threads), ranks);
        assert_eq!(share(8, 1, 2), Some(vec![vec![0, 1, 2, 3], vec![4, 5, 6, 7]]));
        assert_eq!(share(4, 2, 2), Some(vec![vec![0, 4, 1, 5], vec![2, 6, 3, 7]]));
        assert_eq!(share(4, 2, 4), Some(vec![vec![0, 4], vec![1, 5], vec![2, 6], vec![3, 7]]));
        assert_eq!(share(5, 1, 2), Some(vec![vec![0, 1], vec![2, 3]]), "one is left over");
        assert_eq!(share(2, 1, 2), Some(vec![vec![0], vec![1]]));
        assert_eq!(share(2, 2, 3), Some(vec![vec![0], vec![1], vec![2]]), "more ranks than cores");
        assert_eq!(share(2, 2, 5), None);
        assert_eq!(share(8, 1, 1), None, "all are its own");
        assert_eq!(share(0, 0, 2), None);
    }

    #[test]
    fn every_layout_gives_each_rank_cores_of_its_own() {
        for (cores, threads, ranks) in (1..20).flat_map(|c| (1..5).flat_map(move |t| (1..90).map(move |r| (c, t, r)))) {
            for bind in [Bind::Core, Bind::Share, Bind::None] {
                let given = places(bind, &machine(cores, threads), ranks);
                let fits = bind != Bind::None && ranks > 1 && ranks <= cores * threads;
                assert_eq!(given.is_some(), fits, "{ranks} ranks on {cores} cores of {threads} threads");
                let Some(given) = given else { continue };
                let each = if bind == Bind::Share { (cores / ranks * threads).max(1) } else { 1 };
                assert!(given.len() == ranks && given.iter().all(|place| place.len() == each));
                let mut all = given.concat();
                all.sort();
                all.dedup();
                assert!(all.len() == ranks * each && all.iter().all(|core| *core < cores * threads));
                // No thread of a core works for another rank as long as there are enough cores.
                let of_core =
                    |place: &[usize]| place.iter().map(|it| it % cores).collect::<std::collections::BTreeSet<_>>();
                let used: usize = given.iter().map(|place| of_core(place).len()).sum();
                assert!(
                    ranks > cores
                        || used
                            == given
                                .iter()
                                .flat_map(|place| of_core(place))
                                .collect::<std::collections::BTreeSet<_>>()
                                .len()
                );
            }
        }
    }

    #[test]
    fn with_a_core_each_threads_of_one_core_come_last() {
        let core = |cores, threads, ranks| places(Bind::Core, &machine(cores, threads), ranks).map(|it| it.concat());
        assert_eq!(core(8, 1, 2), Some(vec![0, 1]));
        assert_eq!(core(2, 2, 3), Some(vec![0, 1, 2]));
        // Some processors may be forbidden, as by `taskset`.
        assert_eq!(one_by_one(&[vec![0], vec![1, 5], vec![6]]), [0, 1, 6, 5]);
    }
}
