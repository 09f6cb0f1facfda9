//! How network interfaces reach each other.
//!
//! Rests on: [`crate::sync`] and [`crate::memory`].
//! Leaves out: what is done with the reach (that is [`crate::ni`]).
//!
//! [`shm`] is mapped memory: every rank of a host maps one segment, so a remote reference is a pointer and needs
//! no transport call at all. [`reliable`] makes links out of wires that lose frames.

// The simulator puts it between the network interface and a wire with faults.
#[allow(dead_code, unused_imports)]
pub(crate) mod reliable;
pub mod shm;
