//! What travels between interfaces, as data: it knows neither who sends it nor who does it.
//!
//! | file | concept |
//! |---|---|
//! | `target` | where an operation works: spaces of a rank's memory |
//! | `operation` | what it does, and its form in a packet |
//! | `tail` | words that follow a push |
//! | `onward` | where a copy between two other ranks goes |
//! | `shape` | which parts of a range it moves |
//! | `pieces` | those parts, cut into what fits packets |
//! | `pointer` | what lies in a pointer that operations follow |
//! | `command` | chains of commands that say where bytes belong |
//! | `token` | whom its answer is for |
//! | `message` | what an active message can carry |

pub(crate) mod command;
pub(crate) mod message;
pub(crate) mod onward;
pub(crate) mod operation;
pub(crate) mod pieces;
pub(crate) mod pointer;
pub(crate) mod shape;
pub(crate) mod tail;
pub(crate) mod target;
pub(crate) mod token;
