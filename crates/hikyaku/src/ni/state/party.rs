//! The ranks of other hosts, host by host: what is for all of them travels once to each, where one rank writes for the others.

use super::routes::Routes;
use crate::ni::wire::target::{LOCALS_MAX, LOCALS_TURNS, Locals};
use crate::sync::brief::Brief;
use std::sync::Arc;

/// Some ranks of one other host.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Party {
    pub ranks: Vec<usize>,
    pub locals: Locals,
}

impl Party {
    /// Those of all ranks that `is_wanted` and are not on this host.
    pub fn all(routes: &Routes, is_wanted: impl Fn(usize) -> bool) -> Vec<Party> {
        // Ranks are numbered on their host in the order of their numbers in the job.
        let mut counts = vec![0; routes.host_count()];
        let mut found: Vec<Party> = Vec::new();
        // The last party of each host.
        let mut last: Vec<Option<usize>> = vec![None; routes.host_count()];
        for rank in 0..routes.size() {
            let host = routes.to(rank).host as usize;
            let local = counts[host];
            counts[host] += 1;
            if !routes.to(rank).heap.is_null() || !is_wanted(rank) {
                continue;
            }
            let (turn, bits) = ((local / LOCALS_MAX) as u32, 1 << (local % LOCALS_MAX));
            // One that cannot be named beside others is alone.
            let fits = |party: &Party| party.locals.turn == turn && turn < LOCALS_TURNS;
            match last[host].filter(|index| fits(&found[*index])) {
                Some(index) => {
                    found[index].ranks.push(rank);
                    found[index].locals.bits |= bits;
                }
                None => {
                    last[host] = Some(found.len());
                    found.push(Party { ranks: vec![rank], locals: Locals { turn, bits } });
                }
            }
        }
        found
    }
}

/// The parties of all ranks, made when they are first needed: most ranks never tell all others anything by themselves.
#[derive(Debug, Default)]
pub(crate) struct Parties(Brief<Option<Arc<[Party]>>>);

impl Parties {
    pub fn get(&self, routes: &Routes) -> Arc<[Party]> {
        let mut parties = self.0.lock();
        parties.get_or_insert_with(|| Party::all(routes, |_| true).into()).clone()
    }
}
