//! What the `hikyaku` program runs besides programs of its users, and what the tests of the library run too.
//!
//! | file | concept |
//! |---|---|
//! | `chaos/` | random programs on a simulated machine where random things go wrong |
//! | `netns` | hosts that are network namespaces of this machine |
//! | `tiles` | what a Cholesky factorisation does with a tile, for Rust and for C |
//! | `chance` | random numbers from a seed |

pub mod chance;
pub mod chaos;
pub mod netns;
pub mod tiles;
