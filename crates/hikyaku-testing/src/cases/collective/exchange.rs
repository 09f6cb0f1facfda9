//! What members tell each other.

use super::{LENGTHS, all_values, value, values};
use hikyaku::Job;

pub fn broadcast(job: &Job) {
    let world = job.new_world().unwrap();
    for root in 0..job.size() {
        for len in LENGTHS {
            let mut data = if job.rank() == root { values(root, len) } else { vec![0; len] };
            world.broadcast(&mut data, root).unwrap();
            assert!(data == values(root, len), "{len} from {root}");
            let mut bytes: Vec<u8> = (0..len).map(|i| if job.rank() == root { i as u8 } else { 0 }).collect();
            world.broadcast(&mut bytes, root).unwrap();
            assert!(bytes.iter().enumerate().all(|(i, byte)| *byte == i as u8), "{len} bytes from {root}");
        }
    }
}

pub fn broadcast_of_job_memory(job: &Job) {
    let len = 20_000;
    let mut memory = job.block(8 * len).unwrap();
    let data = memory.as_mut_slice::<u64>();
    let world = job.new_world().unwrap();
    for root in 0..job.size() {
        data.copy_from_slice(&if job.rank() == root { values(root, len) } else { vec![0; len] });
        world.broadcast(data, root).unwrap();
        assert!(data == values(root, len));
    }
    job.barrier().unwrap();
}

/// Long ones from the same root, which must not overtake a slow reader.
pub fn broadcasts_in_a_row(job: &Job) {
    let world = job.new_world().unwrap();
    let len = 50_000;
    for turn in 0..12 {
        if turn % 4 == 1 && job.rank() == job.size() - 1 {
            std::thread::sleep(std::time::Duration::from_millis(3));
        }
        let mut data = if job.rank() == 0 { values(turn, len) } else { vec![0; len] };
        world.broadcast(&mut data, 0).unwrap();
        assert!(data == values(turn, len), "turn {turn}");
    }
    world.free().unwrap();
}

pub fn gather(job: &Job) {
    let world = job.new_world().unwrap();
    for len in LENGTHS {
        let mine = values(job.rank(), len);
        for root in 0..job.size() {
            let mut all = vec![0; if job.rank() == root { len * job.size() } else { 0 }];
            world.gather(&mine, &mut all, root).unwrap();
            assert!(job.rank() != root || all == all_values(job.size(), len), "{len} to {root}");
        }
        let mut all = vec![0; len * job.size()];
        world.allgather(&mine, &mut all).unwrap();
        assert!(all == all_values(job.size(), len), "{len}");
    }
}

pub fn scatter(job: &Job) {
    let world = job.new_world().unwrap();
    for len in LENGTHS {
        for root in 0..job.size() {
            let all = if job.rank() == root { all_values(job.size(), len) } else { vec![] };
            let mut mine = vec![0; len];
            world.scatter(&all, &mut mine, root).unwrap();
            assert!(mine == values(job.rank(), len), "{len} from {root}");
        }
    }
}

pub fn alltoall(job: &Job) {
    let world = job.new_world().unwrap();
    for len in [0, 1, 7, 8, 1000, 20_000] {
        let cell = |from: usize, to: usize, index: usize| value(from * 1000 + to, index);
        let row = |of: &dyn Fn(usize, usize) -> u64| {
            (0..job.size()).flat_map(|peer| (0..len).map(move |i| (peer, i))).map(|(p, i)| of(p, i)).collect::<Vec<_>>()
        };
        let blocks = row(&|to, index| cell(job.rank(), to, index));
        let mut into = vec![0; blocks.len()];
        world.alltoall(&blocks, &mut into).unwrap();
        assert!(into == row(&|from, index| cell(from, job.rank(), index)), "{len}");
    }
}

/// Elements without a size have no bytes to carry, but the calls are calls.
pub fn of_sizeless_elements(job: &Job) {
    let world = job.new_world().unwrap();
    let (mut mine, mut all) = ([(); 2], vec![(); 2 * job.size()]);
    world.broadcast(&mut mine, 0).unwrap();
    world.gather(&mine, &mut all, 0).unwrap();
    world.allgather(&mine, &mut all).unwrap();
    world.scatter(&all, &mut mine, 0).unwrap();
    world.alltoall(&all.clone(), &mut all).unwrap();
    world.gatherv(&mine, &mut all, &vec![2; job.size()], 0).unwrap();
    world.allgatherv(&mine, &mut all, &vec![2; job.size()]).unwrap();
    world.scatterv(&all, &vec![2; job.size()], &mut mine, 0).unwrap();
    world.alltoallv(&all.clone(), &vec![2; job.size()], &mut all, &vec![2; job.size()]).unwrap();
    world.scope(|scope| scope.wait(scope.ibroadcast(&mut mine, 0)?)).unwrap();
    // All have come, and the group is as it was.
    let mut ranks = vec![0; job.size()];
    world.allgather(&[job.rank()], &mut ranks).unwrap();
    assert!(ranks.into_iter().eq(0..job.size()));
}
