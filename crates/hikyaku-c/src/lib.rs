//! `libhikyaku.so`: the C interface of hikyaku, described by `include/hikyaku.h`, and message passing for C and Fortran,
//! described by `include/fmpl.h`, and remote writes and flags for many threads, described by `include/ompl.h`.
//!
//! Rests on the Rust library alone and adds nothing to it but what C needs: one job per process held in a global,
//! one port per thread, handles instead of borrowed places, codes instead of errors.
//!
//! | file | concept |
//! |---|---|
//! | `entry` | the boundary: what every entry point passes through |
//! | `given` | what C gives: addresses, each with what the caller has promised of it |
//! | `error` | codes, and the last error of a thread |
//! | `process` | the job of this process: starting and ending it, what its ranks do together |
//! | `thread` | what a thread holds: its port, the handler it runs, its last error |
//! | `current` | what the calling thread works with, found fast |
//! | `handle` | the table behind `hk_area` |
//! | `area` | symmetric memory and areas by id |
//! | `operation` | push, pull, word, atomics, notification, flush |
//! | `partial` | pushes and pulls of some elements of a range |
//! | `collective` | broadcast, reductions and blocks of all ranks |
//! | `function` | what reductions combine by, in both interfaces |
//! | `check` | arguments of collective calls, in both interfaces |
//! | `copy` | copies between any two ranks |
//! | `multicast` | the same for several ranks |
//! | `transfer` | pulls and pushes that go on beside the program |
//! | `counting` | barriers that one rank counts |
//! | `numbered` | what C names by numbers |
//! | `lock` | locks |
//! | `matching` | messages that are matched by keys |
//! | `matched_parts` | such messages of some bytes of a range |
//! | `region` | shared regions |
//! | `queue` | remote queues |
//! | `exchange` | message exchange |
//! | `passing` | messages by an engine that one argument chooses |
//! | `message` | active messages |
//! | `wait` | waiting for words and handlers |
//! | `progress` | threads and a descriptor that serve peers |
//! | `fmpl` | messages and groups: everything in `fmpl.h` |
//! | `ompl` | remote writes and flags for any number of threads: everything in `ompl.h` |
//!
//! The way of a remote operation is short on purpose: find the thread's port (one thread-local, one comparison), find
//! the area (one comparison), call the Rust library. No lock, no allocation.

mod area;
mod check;
mod collective;
mod copy;
mod counting;
mod current;
mod entry;
mod error;
mod exchange;
mod fmpl;
mod function;
mod given;
mod handle;
mod indirect;
mod lock;
mod matched_parts;
mod matching;
mod message;
mod multicast;
mod numbered;
mod ompl;
mod operation;
mod partial;
mod passing;
mod process;
mod progress;
mod queue;
mod region;
mod thread;
mod transfer;
mod wait;
