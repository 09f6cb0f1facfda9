//! A rank that writes what it likes into shared memory does no harm to memory that is not shared, as SECURITY.md says. Each
//! attack is one role of the `hostile` program, in which rank 1 attacks rank 0.

use hikyaku::launch::{Ending, Launcher, OnDeath};
use hikyaku_testing::watchdog::watched;

/// Runs an attack; `cross`: whether ranks reach each other's private memory by system calls.
fn check(role: &str, cross: &str) {
    check_among(2, role, cross);
}

/// Runs an attack among so many ranks.
fn check_among(ranks: usize, role: &str, cross: &str) {
    let launcher = Launcher::new(env!("CARGO_BIN_EXE_hostile")).arg(role).ranks(ranks).capture(true);
    let launcher = launcher.env("HIKYAKU_CROSS", cross).on_death(OnDeath::Continue);
    let outcome = watched(role, || launcher.run().unwrap());
    let said = |rank: usize| {
        let output = &outcome.output[rank];
        String::from_utf8_lossy(&output.output).into_owned() + &String::from_utf8_lossy(&output.errors)
    };
    let good = outcome.endings.iter().enumerate().all(|(rank, ending)| rank == 1 || *ending == Ending::Exited(0));
    assert!(good, "{role}: {:?}: {}\nattacker: {}", outcome.endings, said(0), said(1));
    assert!(said(0).contains("unharmed"), "{role}: {}", said(0));
}

#[test]
fn an_interface_writes_where_its_rank_has_registered_memory_whatever_the_table_says() {
    check("served", "off");
}

#[test]
fn a_rank_that_opens_its_own_area_gets_its_own_memory() {
    for cross in ["off", "on"] {
        check("opened", cross);
    }
}

#[test]
fn a_revoked_area_stays_revoked_for_its_owner() {
    for cross in ["off", "on"] {
        check("revoked", cross);
    }
}

#[test]
fn an_area_whose_key_was_taken_away_is_still_its_owners() {
    check("freed", "off");
}

#[test]
fn a_message_to_oneself_is_read_from_where_it_is() {
    for cross in ["off", "on"] {
        check("offer", cross);
    }
}

#[test]
fn a_message_from_oneself_is_written_to_where_it_is_wanted() {
    for cross in ["off", "on"] {
        check("want", cross);
    }
}

#[test]
fn a_peer_that_says_it_is_this_process_is_not_believed() {
    check("process", "on");
}

#[test]
fn an_offer_that_says_it_has_no_bytes_is_a_message_of_none() {
    for cross in ["off", "on"] {
        check("nothing", cross);
    }
}

#[test]
fn a_rank_belongs_to_the_group_that_it_joins() {
    check("group", "off");
}

/// What a hostile rank's own library writes for it, by system calls, it could write itself; the words that lead it there are
/// what is tried here.
#[test]
fn a_want_that_the_attacker_changes_leads_nobody_but_itself() {
    for cross in ["off", "on"] {
        check("lent", cross);
    }
}

/// Where ranks write into each other's private memory it would be led, as SECURITY.md says.
#[test]
fn a_third_rank_that_stays_in_the_segment_is_not_led_out_of_it() {
    check_among(3, "third", "off");
}

#[test]
fn nobody_else_is_waited_for_where_a_message_to_oneself_is_given_up() {
    for cross in ["off", "on"] {
        check("claimed", cross);
    }
}

/// Private memory that a live rank may be writing to must be waited for, so there the attacker says in the end that it is not.
#[test]
fn a_receive_is_given_up_though_a_third_rank_is_said_to_copy() {
    for cross in ["off", "on"] {
        check_among(3, "receiving", cross);
    }
}

#[test]
fn a_send_is_given_up_though_a_third_rank_is_said_to_copy() {
    for cross in ["off", "on"] {
        check_among(3, "sending", cross);
    }
}

#[test]
fn an_area_is_taken_away_though_a_third_rank_is_said_to_be_inside() {
    check_among(3, "inside", "off");
}

/// Words that a hostile rank writes before it dies, in one job.
const WORDS: u64 = 250;

/// The fuzz target of a whole segment: one input is one word, anywhere, while the victim works. It may be told nonsense, get
/// errors, and be led into waiting for what never comes (ranks trust each other to go on working); it does not crash, and
/// nothing beside its buffers changes. The attacker's own system calls into the victim's memory are withheld: its library believes
/// the words it spoils. `docs/fuzzing.md` says how to write more words.
#[test]
fn fuzz_segment() {
    let number = |variable: &str| std::env::var(variable).ok().map(|text| text.parse::<u64>().expect("a number"));
    let inputs = number("HIKYAKU_FUZZ_INPUTS").unwrap_or(10_000);
    let seed = number("HIKYAKU_FUZZ_SEED").unwrap_or(1);
    let (mut written, mut waits) = (0, std::collections::BTreeMap::<String, u64>::new());
    for round in 0..inputs.div_ceil(WORDS) {
        let seed = seed.wrapping_mul(1_000_003).wrapping_add(round);
        let (ranks, cross) = [(2, "on"), (2, "off"), (2, "on"), (3, "off")][round as usize % 4];
        let launcher = Launcher::new(env!("CARGO_BIN_EXE_besieged")).args([WORDS, seed].map(|it| it.to_string()));
        let launcher = launcher.ranks(ranks).capture(true).env("HIKYAKU_CROSS", cross).on_death(OnDeath::Continue);
        let outcome = watched(&format!("besieged {WORDS} {seed}"), || launcher.run().unwrap());
        for victim in (0..ranks).filter(|rank| *rank != 1) {
            let output = &outcome.output[victim];
            let said = String::from_utf8_lossy(&output.output).into_owned() + &String::from_utf8_lossy(&output.errors);
            match outcome.endings[victim] {
                Ending::Exited(0) => {}
                // It sleeps, for what another rank has said it would do, or for itself.
                Ending::Exited(3) => *waits.entry(said.lines().last().unwrap_or_default().to_owned()).or_default() += 1,
                ending => panic!("besieged {WORDS} {seed}, {ranks} ranks, HIKYAKU_CROSS={cross}: {ending:?}: {said}"),
            }
        }
        written += WORDS;
        if written % 50_000 == 0 {
            println!("segment: {written} words");
        }
    }
    println!("segment: {written} words of seed {seed} did no harm; waits without end: {waits:?}");
}
