//! Groups over several hosts: the same calls, inside a host by mapped memory, between hosts by one member of each.
//!
//! Everything goes by messages between the members, which carry what their sender asks for before the data, so a member compares
//! with whom it hears from. Messages of near members go through mapped memory, those of far ones are packets; a call chooses
//! only *who* talks to whom. Data go in pieces of a short message, in several slots in turn; long ones straight from buffer to
//! buffer. A member that finds out that a call can never be complete alarms all others: they may wait for somebody who waits.
//!
//! # Types
//! * `Hosts`, made with the group, says which members are on which host. A `View` of it is what a call uses: the hosts as they
//!   are, or flat, as if each member were alone on one.
//! * A `Team` is a list of members in a call: those of a host, one of each host, all. Algorithms are written once, for a team:
//!   barrier and short allreduce (`doubling`), reduce-scatter and allgather (`shares`). A `Branch` is what one member of a tree
//!   over the hosts talks to (`tree`, `long`).
//! * All of them borrow from the group, which owns the slots, the alarm, and the number of the call. There are no groups inside
//!   of groups: a call is one call, whoever takes part in which step, so its errors are those of any other.
//!
//! # An allreduce over two hosts
//! ```text
//!   host a: 0 1          host b: 2 3
//!   short    1 -> 0   3 -> 2      each leader combines its host, in the order of members
//!            0 <-----> 2          leaders exchange, and combine in the order of hosts
//!            0 -> 1   2 -> 3
//! ```
//! *Leader 2 dies half way.* 3 waits for 2, and 0 waits for 2: both see the end of any member in every wait, so both return
//! `PeerDead` with its rank. 1 waits for 0, which is alive: it sees the death of 2 in the same way, whether or not it ever hears
//! from it. If host b is cut off instead, 0 gets `Unreachable` and alarms all others; 1 has it from the alarm in its own memory;
//! 3 hears nothing of 0 and gets `Unreachable` from its own network. If 2 leaves, 0 and 3 alarm the others, who wait a moment for
//! an alarm before they take the end of a neighbour for the cause. A call that fails at one member fails at all that still wait;
//! who has its result keeps it, and gets the error in the next call.
//!
//! # The order of reductions
//! Contributions are combined in the order of members, with brackets in places that depend on version, size and hosts only:
//! so all members get the same bits, every time. If the members of a host are not neighbours, hosts are combined one after the
//! other all the same where only rounding can tell (`Sum`, `Product`, `Max` and `Min` of integers, logical and bit operations);
//! where the order can matter (functions of the program, `AbsMax`, the largest of numbers that may be NaN) such a group is seen flat.
//!
//! # What speaks against it
//! * *A near group of each host would use the near protocols*, which combine in place. It would also have alarms, numbers and
//!   buffers of its own, and every error would have to cross from one group to the other in each step, both ways. Messages of near
//!   members are one line, or one copy, and a leader hears them while it waits for the slowest anyway.
//! * *Leaders are a bottleneck* for long data: so these go by shares, where everyone works.
//! * *Not all calls gain.* Gather, scatter and alltoall move each byte between hosts once in any case, and a scan needs the order of
//!   members: they are flat.
//!
//! | file | concept |
//! |---|---|
//! | `state` | what such a group has instead of shared parts |
//! | `group` | the group itself: the other files are what it does |
//! | `list`, `branch` | members, and what one of them talks to in a tree |
//! | `hosts` | which members are on which host |
//! | `pieces`, `spare` | data in pieces of a message, and memory for them |
//! | `team` | the members that take part in a step, and messages between them |
//! | `transfer` | bytes of any length from one member to another |
//! | `doubling` | barrier and short allreduce of a team |
//! | `tree` | broadcast and reduction by a tree over the hosts |
//! | `long` | broadcast of much data by a tree |
//! | `shares` | long reductions |
//! | `calls` | which of these a call is made of; scan, gather, allgather, scatter, alltoall |
//! | `uneven` | allgather and reduce-scatter of blocks of different lengths |
//! | `gate` | the network's own barrier |
//! | `multicast`, `cast` | broadcast by the network's multicast: its words, and the protocol |
//! | `alarm` | calls that do not fit together, members that end |

mod alarm;
mod branch;
mod calls;
mod cast;
mod doubling;
mod gate;
pub(super) mod group;
mod hosts;
mod list;
mod long;
mod multicast;

mod pieces;
mod shares;
mod spare;
pub(super) mod state;
mod team;
mod transfer;
mod tree;
mod uneven;
