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

    /// How many were sent, and how many of them the receiver is known to have handled.
    pub fn position(&self) -> (u64, u64) {
        (self.sent.load(Ordering::Relaxed), self.returned.load(Ordering::Acquire))
    }

    /// Whether the first `count` were handled. One may have been taken when they were counted and given back since.
    pub fn has_handled(&self, count: u64) -> bool {
        let (sent, returned) = self.position();
        returned >= count.min(sent)
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
    /// The sender has asked.
    is_asked: bool,
}

impl Debt {
    fn is_due(&self) -> bool {
        self.is_asked || self.handled - self.told >= RETURN && !planted(Bug::CreditUntold)
    }
}

impl Debts {
    /// A message of `rank` was handled.
    pub fn add(&mut self, rank: usize) {
        let debt = self.of.entry(rank).or_default();
        debt.handled += 1;
        self.is_due |= debt.is_due();
    }

    /// A rank waits to be told.
    pub fn ask(&mut self, rank: usize) {
        self.of.entry(rank).or_default().is_asked = true;
        self.is_due = true;
    }

    /// What was handled and not told: before this rank leaves.
    pub fn take_untold(&mut self) -> Vec<(usize, u64)> {
        let untold = self.of.iter_mut().filter(|(_, debt)| debt.handled != debt.told);
        let tell = |(rank, debt): (&usize, &mut Debt)| {
            debt.told = debt.handled;
            (*rank, debt.handled)
        };
        untold.map(tell).collect()
    }

    /// Whether a sender is to be told.
    pub fn are_due(&self) -> bool {
        self.is_due
    }

    /// Tells those who are to be told, as far as `tell` says that it could: who, how many, and whether that rank waits for it.
    pub fn pay(&mut self, mut tell: impl FnMut(usize, u64, bool) -> bool) {
        let mut is_due = false;
        for (rank, debt) in self.of.iter_mut().filter(|(_, debt)| debt.is_due()) {
            match tell(*rank, debt.handled, debt.is_asked) {
                true => (debt.told, debt.is_asked) = (debt.handled, false),
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
        debts.pay(|_, _, _| false);
        assert!(debts.are_due(), "not told");
        debts.pay(|rank, handled, is_asked| {
            assert_eq!((rank, handled, is_asked), (3, RETURN, false));
            credit.give_up_to(handled);
            true
        });
        assert!(!debts.are_due());
        assert_eq!((0..1000).filter(|_| credit.take()).count() as u64, RETURN);
        credit.give();
        assert!(credit.take() && !credit.take());
    }

    #[test]
    fn whoever_asks_is_told_at_once() {
        let (credit, mut debts) = (Credit::default(), Debts::default());
        assert!(credit.has_handled(0) && credit.take() && credit.take() && !credit.has_handled(2));
        debts.add(3);
        debts.add(3);
        assert!(!debts.are_due());
        debts.ask(3);
        assert!(debts.are_due());
        debts.pay(|rank, handled, is_asked| {
            assert_eq!((rank, handled, is_asked), (3, 2, true));
            credit.give_up_to(handled);
            true
        });
        assert!(!debts.are_due() && credit.has_handled(2) && debts.take_untold().is_empty());
        debts.add(3);
        assert_eq!(debts.take_untold(), [(3, 3)]);
        assert_eq!(debts.take_untold(), []);
        // One that was counted while it was tried, and not sent.
        assert!(credit.take() && !credit.has_handled(3));
        credit.give();
        assert!(credit.has_handled(3));
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
