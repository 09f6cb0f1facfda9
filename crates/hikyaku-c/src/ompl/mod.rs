//! OMPL: the communication layer of the multi-task PGAS model (`include/ompl.h`). Threads of every rank write to each other's part of one
//! global area, and set and await flags there.
//!
//! Rests on the job of this process, which it shares with the calls of `hikyaku.h` and `fmpl.h`, and on the ports of its threads: a thread
//! that has a port of its own uses that one alone, so threads share nothing that they write. See `ports` for threads that find none.
//!
//! | file | concept |
//! |---|---|
//! | `area` | beginning and ending, the global area |
//! | `operation` | put, get, flags |
//! | `ports` | ports of threads, and what those go on with that find none |
//! | `error` | codes |

mod area;
mod error;
mod operation;
pub mod ports;
