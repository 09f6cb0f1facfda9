//! What a multicast sends to other hosts: its data once to each, whatever the number of recipients there.

use hikyaku::sim::{Machine, Passage, Sim};
use hikyaku::{Bitmap, Job, Recipients, Stride, Symmetric, Twin, Until};

/// The host of each rank.
const HOSTS: [usize; 8] = [0, 1, 2, 1, 0, 1, 2, 1];
const LEN: usize = 4000;
const BYTES: usize = 8 * LEN;

type Send = fn(&Job, &Recipients, &Symmetric<u64>, &Symmetric<u64>);

/// What goes from rank 0 to other hosts, and how many bytes of it are data.
fn sent(send: Send) -> Vec<Passage> {
    let sim = Sim::new(Machine::plain(), HOSTS.len(), 1).hosts(|rank| HOSTS[rank]).trace(true);
    let run = |times: u64| {
        sim.clone()
            .run(move |job| {
                let (table, flag) = (job.symmetric::<u64>(LEN).unwrap(), job.symmetric::<u64>(1).unwrap());
                let all = job.recipients(&[0, 1, 2, 3, 4, 5, 6, 7]).unwrap();
                if job.rank() == 0 {
                    (0..times).for_each(|_| send(job, &all, &table, &flag));
                }
                job.barrier().unwrap();
                if times > 0 {
                    job.wait(flag.here(0), Until::Equal(1)).unwrap();
                    assert_eq!(table.get(LEN - 1), 7);
                }
                job.barrier().unwrap();
            })
            .unwrap()
            .passages
    };
    assert!(run(0).iter().all(|passage| passage.bytes < BYTES / 100), "the rest is short");
    run(1).into_iter().filter(|passage| passage.from == 0).collect()
}

#[test]
fn data_leave_once_for_each_host() {
    let all: [(usize, Send); 4] = [
        (BYTES, |job, to, table, flag| job.multicast_notify(to, table, 0, &[7; LEN], (flag, 0), 1).unwrap()),
        (BYTES / 2, |job, to, table, flag| {
            let odd = Stride::new(1, 2, LEN / 2);
            job.multicast_parts_notify(to, table, 1, &[7; LEN - 1], odd, (flag, 0), 1).unwrap();
        }),
        (BYTES / 2, |job, to, table, flag| {
            let mut odd = Bitmap::new(LEN);
            (1..LEN).step_by(2).for_each(|at| odd.set(at));
            job.multicast_parts_notify(to, table, 0, &[7; LEN], &odd, (flag, 0), 1).unwrap();
        }),
        (BYTES / 4, |job, to, table, flag| {
            let mut twin = Twin::of(&[7; LEN]);
            let mut data = [7; LEN];
            (3..LEN).step_by(4).for_each(|at| data[at] = 9);
            job.multicast_diff(to, table, 0, &data, &mut twin).unwrap();
            // The same places get what all expect.
            job.multicast_diff_notify(to, table, 0, &[7; LEN], &mut twin, (flag, 0), 1).unwrap();
        }),
    ];
    for (form, (bytes, send)) in all.into_iter().enumerate() {
        // The last form sends twice.
        let expected = if form == 3 { 2 * bytes } else { bytes };
        let sent = sent(send);
        for host in [1, 2] {
            let there: usize = sent.iter().filter(|at| HOSTS[at.to] == host).map(|passage| passage.bytes).sum();
            assert!((expected..expected + BYTES / 10).contains(&there), "form {form}, host {host}: {there} bytes");
        }
        assert!(sent.iter().all(|passage| HOSTS[passage.to] != 0), "those of its own host get it in memory");
    }
}
