//! Tasks: work that says what it needs, and runs on some thread of the rank when all of that is there.
//!
//! Rests on: `ni` for ports, words and sleeping; on `lock`, `counting`, [`crate::message`] and [`crate::matching`] for what can be awaited. Leaves out: where data is, and who sends it to whom. A program pushes by itself, and
//! the word that comes after the data is what a task of the other rank names.
//!
//! | file | concept |
//! |---|---|
//! | `queue` | the order of tasks at one datum |
//! | `data` | a datum that tasks name: [`Data`] |
//! | `flag` | a word that tasks name: [`Flag`], and the list of those that are awaited |
//! | `access` | all that one task names: [`Access`] |
//! | `cell` | a task, in one piece of memory |
//! | `core` | what the workers of a scope share: queues of ready tasks, counts, the first failure |
//! | `worker` | a thread that runs tasks, and rests when there are none |
//! | `scope` | what the program sees: [`Tasks`] |
//! | `live` | futures that run as tasks |
//! | `events` | futures for any executor: [`Events`] |
//! | `future` | what can be awaited |
//!
//! # Design
//! **Types.** [`crate::Job::tasks`] opens a scope with some workers. The calling thread is the first worker: it runs tasks whenever it
//! waits for them, with the job's own port. Each other worker is a thread with a port of its own. A scope with one worker has no thread
//! at all, which is what simulated ranks use. A task is a function of its worker's [`crate::Port`] and of what it named: `&A` for what it
//! reads, `&mut B` for what it writes, the value of each flag.
//!
//! **Who owns what.** A [`Data`] owns its value, shared by handles, and each task that names it holds one. The scope owns the tasks: it
//! returns when each has run or was dropped, so tasks may borrow what outlives the scope. Nothing depends on a destructor of the program:
//! who forgets a handle keeps its value alive, no more. A task is one allocation, freed by the worker that has run it.
//!
//! **When a task is ready.** Each datum has a queue, in the order in which tasks were submitted: one writer, or any number of readers, at
//! its head. A task counts what it still lacks: places at the head of queues, and flags. Whoever takes the count to zero puts it into
//! its own queue of ready tasks, from which others steal. A task enters all its queues at once, under their locks, taken in the order of
//! addresses. So of two tasks that are submitted by two threads one comes first everywhere, and no circle can form. The locks are held
//! for some instructions, and a task without data takes none.
//!
//! **Flags.** Words that are awaited are in one list per scope. A worker looks at them between tasks and while it has nothing to do, which
//! is one load each; so no thread blocks for any of them. A flag is not consumed: a task that wants it back clears it, or awaits
//! a count.
//!
//! **Turns.** A worker runs first what the last task has made ready, then what waits in its own queue, then what it finds elsewhere. That would
//! let a future that gives way again and again, or a task that submits itself again, keep everything else waiting. So now and then a worker
//! takes from all other places first.
//!
//! **Sleep.** A worker without work rests as every wait of the library does: it spins, yields, then sleeps at the bell of its rank, which
//! whoever writes to this rank's memory rings. So a remote flag wakes a worker as it wakes a thread that waits for a word. Whoever makes a
//! task ready wakes one worker that sleeps (`Bell::ring_one`); a worker that wakes up, finds work and sees more of it
//! wakes the next. If nobody sleeps, that is one load.
//!
//! **Failure.** The first panic, or the first error that a task or the scope's function gives, ends the scope: tasks that run come to
//! their end, futures are dropped where they stand, all others are dropped without being run, and then the panic goes on in the
//! scope, or the error is what it returns. [`Tasks::cancel`] does the same on request. A flag whose rank has ended is such an error, of the
//! task that awaits it: what was written before the end counts. Peers find out as from any rank that fails.
//!
//! # Against it
//! * *A task that blocks, blocks its worker.* To run others on its stack meanwhile could bury it below one that waits for it. To give each
//!   task a stack of its own, and suspend it, is unsound in Rust: safe code of other crates relies on that what it has put into a
//!   thread-local variable is taken out in the opposite order. So what may wait is a flag, or a future; a plain task that waits is
//!   allowed, and costs a worker.
//! * *One list of flags is one line that all look at.* It is looked at by one worker at a time, and only where there are flags. Rings wake
//!   sleepers anyway; a list by address would save a scan of loads from the cache, a nanosecond each.
//! * *Everybody who sleeps is woken by a word.* The rank's workers are few. Choosing one that keeps watch needs a hand-over whenever
//!   it finds work, which is a wake-up too.
//! * *Why not wait only for the failing task's successors?* They would have to be found, and run by others with half of their inputs. A
//!   scope that fails as a whole is what a program can reason about.
//! * *Data must be owned.* `Data<&mut [f64]>` would need a function type that no stable Rust can express for both lifetimes; tiles
//!   are owned in practice, and functions may borrow what they like from around the scope.
//! * *A number of tasks that nobody bounds.* A program that submits without end fills memory, as one that allocates without end does.
//!   [`Tasks::wait`] between two phases is the bound.
//! * *Awaiting a lock or a receive looks again and again.* These calls have no list of who wants to know. Whenever something arrives here, and
//!   every few milliseconds besides, such futures are looked at. Words, which tasks across ranks mostly wait for, are exact.

mod access;
mod cell;
mod core;
mod data;
mod events;
mod flag;
mod future;
mod live;
mod queue;
mod scope;
#[cfg(test)]
mod tests;
mod worker;

pub use access::Access;
pub use data::{Data, Read, Write};
pub use events::{EventWord, Events};
pub use flag::{Flag, when};
pub use future::{Awaits, Look, Word, yield_now};
pub use live::Joined;
pub use scope::Tasks;
