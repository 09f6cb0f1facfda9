//! Programs of `tests/c` as ranks on two hosts, which are network namespaces: what they check holds over a network, too.

mod support;

use hikyaku_testing::netns::{AGENT, Network};
use support::*;

#[test]
fn programs_run_over_two_hosts() {
    let Some(network) = Network::new(2) else { return };
    let programs = [
        "memory.c",
        "areas.c",
        "partial.c",
        "started_parts.c",
        "bcopy.c",
        "indirect.c",
        "multicast.c",
        "locks.c",
        "matched_parts.c",
        "matching.c",
        "queues.c",
        "exchange.c",
        "passing.c",
        "regions.c",
        "counting.c",
        "transfers.c",
        "messages.c",
        "waiting.c",
    ];
    // Two ranks that are near each other, and one that is far from both.
    let hosts = network.list(&[(0, 1), (1, 2)]);
    for program in programs {
        let program = compile_shared(&source(program), "-hosts");
        let mut job = patiently(&built().join("hikyaku"));
        succeed(job.args(["run", "--agent", AGENT, "--hosts", &hosts, "--"]).arg(&program));
    }
}
