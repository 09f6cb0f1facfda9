//! Locks: one rank at a time, first come, first served.
//!
//! Rests on: [`crate::job`]. Leaves out: what a lock protects.
//!
//! | file | concept |
//! |---|---|
//! | `queue` | the words of a lock: tickets, whose turn it is, who holds which |
//! | `line` | taking a ticket, and handing on to whoever has the next |
//! | `turn` | taking the lock: waiting for a ticket's turn, giving it up, releasing |
//! | `search` | passing over ranks that are gone |
//! | `guard` | what the program sees: [`Mutex`], [`MutexGuard`] |
//!
//! **How it works.** One rank, the manager, has the lock's words in its memory. Whoever wants the lock takes a ticket from a counter
//! there. If it is the ticket's turn, the lock is taken. Otherwise the rank writes its name beside the ticket and waits for a word of
//! its own memory, so the queue is spread over those who wait. Whoever releases the lock makes it the next ticket's turn, reads who
//! has that ticket, and tells it. All of that are atomic operations on the manager's memory: its program does nothing.
//!
//! **At hand.** Mostly the words are mapped here, nobody has ended, and nobody else wants the lock. Then taking it is one addition, a look and
//! two stores, releasing it one exchange and a look, in one piece of code without calls (`take_at_once`, `release_at_once`). It makes the same
//! steps as the other way, which can wait, go to other hosts and be interrupted by the simulator; whatever is unusual goes on there.
//!
//! **Nobody is missed.** One side writes its name and then reads whose turn it is; the other says whose turn it is and then reads the
//! name. So one of them sees the other. Besides, whoever waits looks at the manager's words from time to time, and whenever a rank has
//! ended: a rank can die at any point of this, or lose its way to the manager.
//!
//! **The dead.** If the turn is that of a rank that is gone, whoever waits makes it the next one's, with a mark that an owner has died.
//! A ticket without a name belongs to a rank that is about to write it, or to one that has died before it could. So each rank says, in a
//! word that it alone writes, that it takes a ticket before it does, and then which one it has: when none of those that say so is still
//! there, the ticket was of a dead one. A rank that merely cannot be reached may still be inside, so it is never passed over, unless it
//! can be asked and says that it has lost the manager.
//!
//! **Giving up.** Whoever gives up marks its ticket, and whoever hands on passes over it. If the rank comes back before that, it has its
//! old place. So no rank ever has two tickets that count.

mod guard;
mod line;
mod queue;
mod search;
#[cfg(test)]
mod tests;
mod turn;

pub use guard::{Mutex, MutexGuard};
pub use turn::RawMutex;
