//! Mapped memory: the ranks of one host, as threads or as processes.
//!
//! One sparse, sealed segment holds everything of a job: a header, one control block per rank, one heap per rank.
//! Whoever starts the job makes it; every rank maps it once. After that no rank asks any other for anything
//! before it can reach it.
//!
//! | file | concept |
//! |---|---|
//! | `layout` | what lies where in the segment |
//! | `ring` | active messages: one ring of lines per (sending port, receiving rank) |
//! | `cross` | private memory of another process, by process_vm_readv and process_vm_writev |

pub mod cross;
pub mod layout;
pub mod ring;
