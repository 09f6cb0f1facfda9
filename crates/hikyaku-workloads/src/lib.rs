//! What the `hikyaku` program runs besides programs of its users, and what the tests of the library run too.
//!
//! | file | concept |
//! |---|---|
//! | `chaos/` | random programs on a simulated machine where random things go wrong |
//! | `netns` | hosts that are network namespaces of this machine |
//! | `chance` | random numbers from a seed |

pub mod chance;
pub mod chaos;
pub mod netns;
