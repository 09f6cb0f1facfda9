//! A list of members.

/// Some members, and this one's place among them.
#[derive(Clone, Copy)]
pub(super) struct List<'f> {
    /// `None`: those from `first` on.
    members: Option<&'f [u32]>,
    first: usize,
    len: usize,
    pub place: usize,
}

impl<'f> List<'f> {
    pub fn of(members: &'f [u32], place: usize) -> List<'f> {
        List { members: Some(members), first: 0, len: members.len(), place }
    }

    pub fn range(first: usize, len: usize, place: usize) -> List<'f> {
        List { members: None, first, len, place }
    }

    pub fn len(&self) -> usize {
        self.len
    }

    /// The member at a place.
    pub fn member(&self, place: usize) -> usize {
        self.members.map_or(self.first + place, |members| members[place] as usize)
    }
}
