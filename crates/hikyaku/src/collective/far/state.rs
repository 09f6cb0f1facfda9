//! What a group over several hosts has instead of shared parts.

use super::hosts::{Hosts, View};
use super::multicast::{self, Cast};
use super::spare::Spare;
use crate::collective::part::Member;
use crate::collective::slots::SLOTS;
use crate::error::Result;
use crate::memory::segment::PAGE_BYTES;
use crate::message::Messages;
use crate::ni::Port;

/// See above.
pub(in crate::collective) struct Far {
    /// Where the alarm lies in each member's part: behind the slots.
    pub(super) alarm: usize,
    /// Where the parts of all ranks of the job lie in their heaps, if all are members and it is the same place.
    pub(super) common_start: Option<usize>,
    /// For broadcasts by the network.
    pub(super) cast: Option<Cast>,
    pub(super) hosts: Hosts,
    pub(super) spare: Spare,
}

/// What each of at most `members` members takes from its heap: slots, a page with its alarm, and what the network needs.
pub(in crate::collective) fn part_bytes(port: &Port, members: usize) -> Result<usize> {
    Ok(Messages::bytes_for(SLOTS, members)? + PAGE_BYTES + multicast::part_bytes(port, members))
}

impl Far {
    /// Of these members, of which this one is number `me`, with parts for at most `room`.
    pub fn new(port: &Port, members: &[Member], me: usize, room: usize) -> Result<Far> {
        let alarm = Messages::bytes_for(SLOTS, room)?;
        let first = members[0].start;
        let is_common = members.len() == port.size() && members.iter().all(|member| member.start == first);
        let cast = if is_common { Cast::new(port, alarm + PAGE_BYTES) } else { None };
        let hosts = Hosts::new(port.ni(), members.iter().map(|member| member.rank), me);
        Ok(Far { alarm, common_start: is_common.then_some(first), cast, hosts, spare: Spare::default() })
    }

    /// How many hosts the members are on.
    pub fn host_count(&self) -> usize {
        View::Hosts(&self.hosts).host_count()
    }
}
