//! Waiting, and serving others meanwhile.
//!
//! | file | concept |
//! |---|---|
//! | `wait` | the one wait loop |
//! | `delay` | a wait that takes long is told to whoever watches the job |
//! | `rest` | waiting for whoever is in the middle of a copy |
//! | `revoke` | taking an area away from the peers, who may be in the middle of one |
//! | `service` | a thread that serves ranks of other hosts while this one computes |

pub(crate) mod delay;
pub(crate) mod rest;
pub(crate) mod revoke;
pub(crate) mod service;
pub(crate) mod wait;
