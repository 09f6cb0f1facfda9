//! How network interfaces reach each other.
//!
//! Rests on: [`crate::sync`] and [`crate::memory`].
//! Leaves out: what is done with the reach (that is [`crate::ni`]).
//!
//! [`shm`] is mapped memory: every rank of a host maps one segment, so a remote reference is a pointer and needs
//! no transport call at all.

pub mod shm;
