//! Mapped memory: the ranks of one host, as threads or as processes.
//!
//! One sparse, sealed segment per host holds what its ranks share: a header, one control block per rank, one heap per rank.
//! Whoever starts the ranks of the host makes it; each of them maps it once. After that none of them asks another for anything
//! before it can reach it. Of ranks of other hosts it holds only whether they have ended.
//!
//! | file | concept |
//! |---|---|
//! | `layout` | what lies where in the segment |
//! | `ring` | active messages: one ring of lines per (sending port, receiving rank) |
//! | `waiting` | what each port waits for, for whoever watches the job |
//! | `cross` | private memory of another process, by process_vm_readv and process_vm_writev |

pub mod cross;
pub mod layout;
pub mod ring;
pub mod waiting;
