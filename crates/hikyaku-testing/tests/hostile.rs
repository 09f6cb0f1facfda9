//! A rank that writes what it likes into shared memory does no harm to memory that is not shared, as SECURITY.md says. Each
//! attack is one role of the `hostile` program, in which rank 1 attacks rank 0.

use hikyaku::launch::{Ending, Launcher, OnDeath};
use hikyaku_testing::watchdog::watched;

/// Runs an attack; `cross`: whether ranks reach each other's private memory by system calls.
fn check(role: &str, cross: &str) {
    let launcher = Launcher::new(env!("CARGO_BIN_EXE_hostile")).arg(role).ranks(2).capture(true);
    let launcher = launcher.env("HIKYAKU_CROSS", cross).on_death(OnDeath::Continue);
    let outcome = watched(role, || launcher.run().unwrap());
    let said = |rank: usize| {
        let output = &outcome.output[rank];
        String::from_utf8_lossy(&output.output).into_owned() + &String::from_utf8_lossy(&output.errors)
    };
    assert_eq!(outcome.endings[0], Ending::Exited(0), "{role}: {}\nattacker: {}", said(0), said(1));
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
fn a_rank_belongs_to_the_group_that_it_joins() {
    check("group", "off");
}
