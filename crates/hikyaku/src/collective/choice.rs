//! Which version of a call is used: the same at all members, by the table of the job.

use super::group::Group;
use crate::job::Job;
use crate::job::choice::{self, Call, Choices, Version};
use std::sync::atomic::Ordering;

/// What was chosen for a group of this many members.
pub(super) struct Row {
    row: choice::Row,
    /// For a barrier, and for anything else: is any of it a tree?
    any_tree: bool,
}

impl Row {
    /// Members of a job with more ranks than cores compete with all its ranks, so its size counts then.
    pub fn of(job: &Job, size: usize, crowded: bool) -> Row {
        let words = job.ni.memory.header().choices.each_ref().map(|word| word.load(Ordering::Relaxed));
        let row = Choices::from_words(words).row(if crowded { job.size() } else { size });
        // Alone there is nothing to send.
        let any_tree = size > 1 && row.as_flattened().contains(&(Version::Tree as u8));
        Row { row, any_tree }
    }

    #[inline(always)]
    pub fn is_tree(&self, call: Call, bytes: usize) -> bool {
        self.any_tree && choice::chosen(&self.row, call, bytes) == Some(Version::Tree)
    }

    /// What was chosen, if anything was.
    pub fn chosen(&self, call: Call, bytes: usize) -> Option<Version> {
        choice::chosen(&self.row, call, bytes)
    }
}

impl Group<'_> {
    /// The version for private memory.
    pub(super) fn version(&self, call: Call, bytes: usize) -> Version {
        let default = || call.default_version(self.size(), bytes, self.crowded);
        self.choice.chosen(call, bytes).unwrap_or_else(default)
    }
}
