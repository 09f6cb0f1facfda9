//! Random programs of messages, for those who follow them; see `hikyaku_testing::programs`.

use hikyaku::message::EAGER_MAX;
use hikyaku_testing::programs::{DOMAINS, Domain, GROUPS, RECEIVINGS, SENDINGS, SLOTS, Step};
use proptest::prelude::*;

/// Programs of as many ranks: two, or an even number above.
pub fn program(ranks: usize) -> impl Strategy<Value = Vec<Step>> {
    prop::collection::vec(step(ranks), 1..60)
}

fn step(ranks: usize) -> impl Strategy<Value = Step> {
    // With two ranks the even ones are alone.
    let group = 0..if ranks > 2 { GROUPS } else { GROUPS - 1 };
    let size = prop_oneof![4 => 0usize..100, 2 => 100usize..EAGER_MAX + 50, 1 => EAGER_MAX..300_000];
    let domain = prop_oneof![6 => Just(DOMAINS[0]), 2 => Just(DOMAINS[1]), 1 => Just(DOMAINS[2])];
    let forms = (domain, prop::sample::select(&SENDINGS[..]), prop::sample::select(&RECEIVINGS[..]));
    (group, 0..ranks, 1..ranks, 0..SLOTS, size, forms, 0usize..6).prop_map(
        move |(group, from, distance, slot, bytes, (domain, sending, receiving), ahead)| {
            let to = match group {
                2 => (from + 2 * (1 + distance % (ranks / 2 - 1))) % ranks,
                _ => (from + distance) % ranks,
            };
            let step = Step { group, from, to, slot, domain, bytes, sending, receiving, ahead };
            match domain {
                // They keep their slot and their size.
                Domain::Prepared => {
                    let to = (from + distance) % ranks;
                    Step { group: 0, to, slot: SLOTS, bytes: [8, 3000, 100_000][(from + 2 * to) % 3], ..step }
                }
                _ => step,
            }
        },
    )
}
