//! Whether what the ranks report is what was promised.

use super::plan::Plan;
use super::trouble::{Outcome, Trouble};
use hikyaku::Error;

/// What each rank reported; nothing if it was killed.
pub fn judge(plan: &Plan, reports: &[Option<Outcome>]) -> Result<(), String> {
    let is_gone = |rank: usize| !matches!(reports.get(rank), Some(Some(Ok(()))));
    let died = reports.iter().any(Option::is_none);
    let cut = |one: usize, other: usize| plan.is_cut(one, other) || reports[other].is_none();
    let parted = reports.iter().enumerate().any(|(rank, report)| match report {
        Some(Err(Trouble::Call(Error::Unreachable { rank: peer, .. }))) => plan.is_cut(rank, *peer),
        _ => false,
    });
    let excused = |rank: usize, trouble: &Trouble| match trouble {
        // One that has heard of it from another member is not cut off itself.
        Trouble::Call(Error::Unreachable { rank: peer, .. }) => {
            (0..plan.ranks).any(|member| cut(member, *peer)) && (parted || cut(rank, *peer))
        }
        // What it had sent before it left did not arrive.
        Trouble::Call(Error::PeerLeft { rank: peer }) if plan.is_cut(rank, *peer) => true,
        Trouble::Call(error) => (died || parted) && blames_one_that_is_gone(error, &is_gone),
        Trouble::Broken(_) => false,
    };
    let mut worst: Option<(usize, &Trouble)> = None;
    for (rank, report) in reports.iter().enumerate() {
        match report {
            None if !plan.faults.crashes.iter().any(|crash| crash.rank == rank) => {
                return Err(format!("rank {rank} was given up, though it could be reached"));
            }
            Some(Err(trouble))
                if !excused(rank, trouble) && worst.is_none_or(|(_, other)| weight(trouble) > weight(other)) =>
            {
                worst = Some((rank, trouble));
            }
            _ => {}
        }
    }
    worst.map_or(Ok(()), |(rank, trouble)| Err(format!("rank {rank}: {trouble}")))
}

/// What stopped one rank stops others, too: the cause is what does not blame a peer.
fn weight(trouble: &Trouble) -> u8 {
    match trouble {
        Trouble::Broken(_) => 2,
        Trouble::Call(error) if !error.is_peer_fault() => 1,
        Trouble::Call(_) => 0,
    }
}

/// A rank that has ended takes its areas and handlers along.
fn blames_one_that_is_gone(error: &Error, is_gone: &impl Fn(usize) -> bool) -> bool {
    let kind = matches!(
        error,
        Error::PeerDead { .. }
            | Error::PeerLeft { .. }
            | Error::Refused { .. }
            | Error::UnknownArea { .. }
            | Error::AreaRevoked { .. }
    );
    kind && error.rank().is_some_and(is_gone)
}
