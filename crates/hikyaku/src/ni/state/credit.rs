//! How many messages to handlers a rank may have unhandled at each far rank: so many that a flood is quick, and so few that it
//! cannot fill the memory of a rank that does not handle them.
//!
//! ```text
//!   sender                                     receiver
//!   sent - returned < CREDIT?  sent += 1
//!   message ---------------------------------> handled += 1, now or when its handler lets it
//!   returned = 64 <--------------------------- 64 more handled than it was told: 64
//! ```
//! What concerns memory alone needs none: it is done when it comes.

use crate::planted::{Bug, planted};
use crate::sync::atomic::{AtomicU64, Ordering};
use std::collections::BTreeMap;

/// Messages that may be under way to a far rank, or wait there.
const CREDIT: u64 = 256;
/// So many that were handled are told of at once.
const RETURN: u64 = CREDIT / 4;

/// The sender's side, for one far rank. 16 bytes.
#[derive(Debug, Default)]
pub struct Credit {
    sent: AtomicU64,
    returned: AtomicU64,
}

impl Credit {
    /// Takes one; false while there is none.
    pub fn take(&self) -> bool {
        let returned = self.returned.load(Ordering::Acquire);
        let one = |sent: u64| (sent < returned + CREDIT || planted(Bug::CreditIgnored)).then_some(sent + 1);
        self.sent.fetch_update(Ordering::Relaxed, Ordering::Relaxed, one).is_ok()
    }

    /// Gives one back that was not used.
    pub fn give(&self) {
        self.sent.fetch_sub(1, Ordering::Relaxed);
    }

    /// The receiver has handled so many. What it cannot have handled is not believed.
    pub fn give_up_to(&self, handled: u64) {
        if handled <= self.sent.load(Ordering::Relaxed) || planted(Bug::CreditUnchecked) {
            self.returned.fetch_max(handled, Ordering::Release);
        }
    }
}

/// The receiver's side, for all far ranks it has heard from.
#[derive(Debug, Default)]
pub(crate) struct Debts {
    of: BTreeMap<usize, Debt>,
    /// Some are to be told.
    is_due: bool,
}

#[derive(Debug, Default)]
struct Debt {
    handled: u64,
    told: u64,
}

impl Debts {
    /// A message of `rank` was handled.
    pub fn add(&mut self, rank: usize) {
        let debt = self.of.entry(rank).or_default();
        debt.handled += 1;
        self.is_due |= debt.handled - debt.told >= RETURN && !planted(Bug::CreditUntold);
    }

    /// Whether a sender is to be told.
    pub fn are_due(&self) -> bool {
        self.is_due
    }

    /// Tells those who are to be told, as far as `tell` says that it could.
    pub fn pay(&mut self, mut tell: impl FnMut(usize, u64) -> bool) {
        let mut is_due = false;
        for (rank, debt) in self.of.iter_mut().filter(|(_, debt)| debt.handled - debt.told >= RETURN) {
            match tell(*rank, debt.handled) {
                true => debt.told = debt.handled,
                false => is_due = true,
            }
        }
        self.is_due = is_due;
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    #[test]
    fn a_flood_stops_and_goes_on_when_some_were_handled() {
        let (credit, mut debts) = (Credit::default(), Debts::default());
        assert_eq!((0..1000).filter(|_| credit.take()).count() as u64, CREDIT);
        (0..RETURN - 1).for_each(|_| debts.add(3));
        assert!(!debts.are_due());
        debts.add(3);
        assert!(debts.are_due());
        debts.pay(|_, _| false);
        assert!(debts.are_due(), "not told");
        debts.pay(|rank, handled| {
            assert_eq!((rank, handled), (3, RETURN));
            credit.give_up_to(handled);
            true
        });
        assert!(!debts.are_due());
        assert_eq!((0..1000).filter(|_| credit.take()).count() as u64, RETURN);
        credit.give();
        assert!(credit.take() && !credit.take());
    }

    #[test]
    fn what_was_never_sent_was_not_handled() {
        let credit = Credit::default();
        (0..CREDIT).for_each(|_| assert!(credit.take()));
        credit.give_up_to(u64::MAX);
        credit.give_up_to(CREDIT + 1);
        assert!(!credit.take());
        credit.give_up_to(CREDIT);
        assert!(credit.take());
    }

    #[test]
    fn planted_bugs_are_caught() {
        use crate::planted::catches;
        catches(what_was_never_sent_was_not_handled, &[Bug::CreditUnchecked]);
        catches(a_flood_stops_and_goes_on_when_some_were_handled, &[Bug::CreditUntold, Bug::CreditIgnored]);
    }
}
