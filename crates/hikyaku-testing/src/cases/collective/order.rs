//! Calls one after the other, without anything in between that would bring the members into step.

use super::{all_values, sum_of, values};
use hikyaku::Job;
use hikyaku::collective::{Max, Sum};

/// All collectives one after the other, without anything in between that would bring the members into step.
pub fn mixture(job: &Job) {
    let world = job.new_world().unwrap();
    let (rank, size) = (job.rank(), job.size());
    for turn in 0..60usize {
        let root = turn % size;
        let len = [1, 30, 3000][turn % 3];
        let mut data = if rank == root { values(turn, len) } else { vec![0; len] };
        world.broadcast(&mut data, root).unwrap();
        assert!(data == values(turn, len));
        let mut data = values(rank, len);
        world.reduce(&mut data, Sum, (root + 1) % size).unwrap();
        assert!(rank != (root + 1) % size || data == sum_of(0..size, len));
        let mut mine = vec![0; len];
        let all = if rank == root { all_values(size, len) } else { vec![] };
        world.scatter(&all, &mut mine, root).unwrap();
        assert!(mine == values(rank, len));
        world.scan(&mut mine, Sum).unwrap();
        assert!(mine == sum_of(0..rank + 1, len));
        if turn % 5 == 0 {
            world.barrier().unwrap();
        }
        let mut all = vec![0; len * size];
        world.gather(&values(rank, len), &mut all, root).unwrap();
        assert!(rank != root || all == all_values(size, len));
        let mut total = values(rank, len);
        world.allreduce(&mut total, Sum).unwrap();
        assert!(total == sum_of(0..size, len));
    }
}

/// Calls in which most members do not wait, and one is slow.
pub fn runs_ahead(job: &Job) {
    let world = job.new_world().unwrap();
    for turn in 0..40u64 {
        if job.rank() == 0 && turn % 10 == 0 {
            std::thread::sleep(std::time::Duration::from_millis(5));
        }
        let mut data = [turn + job.rank() as u64; 100];
        world.reduce(&mut data, Max, 0).unwrap();
        assert!(job.rank() != 0 || data == [turn + job.size() as u64 - 1; 100]);
    }
    for turn in 0..40u64 {
        if job.rank() == job.size() - 1 && turn % 10 == 0 {
            std::thread::sleep(std::time::Duration::from_millis(5));
        }
        let mut data = [if job.rank() == 0 { turn } else { 0 }; 100];
        world.broadcast(&mut data, 0).unwrap();
        assert_eq!(data, [turn; 100]);
    }
}
