//! x
pub mod seccomp;
