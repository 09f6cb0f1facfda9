//! Which messages a receive takes: of whom, and with which keys.

/// Whose messages a receive takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Source {
    /// Those of this rank.
    Rank(usize),
    /// Those of any rank.
    Any,
}

impl From<usize> for Source {
    fn from(rank: usize) -> Source {
        Source::Rank(rank)
    }
}

/// Which keys a receive takes: one, any, or all that agree in some bits.
///
/// ```
/// use hikyaku::matching::Keys;
///
/// assert!(Keys::from(7).matches(7));
/// assert!(Keys::ANY.matches(7));
/// let pages = Keys::with_ignored(0x1200, 0xff); // 0x1200 to 0x12ff
/// assert!(pages.matches(0x1234) && !pages.matches(0x1334));
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Keys {
    pub(super) key: u64,
    pub(super) ignored: u64,
}

impl Keys {
    /// Any key.
    pub const ANY: Keys = Keys::with_ignored(0, u64::MAX);

    /// All keys that are equal to `key` but for the bits that are set in `ignored`.
    pub const fn with_ignored(key: u64, ignored: u64) -> Keys {
        Keys { key: key & !ignored, ignored }
    }

    /// The key, if it is one.
    #[inline(always)]
    pub(crate) fn exact(self) -> Option<u64> {
        (self.ignored == 0).then_some(self.key)
    }

    /// Whether `key` is one of them.
    #[inline]
    pub const fn matches(self, key: u64) -> bool {
        key & !self.ignored == self.key
    }
}

impl From<u64> for Keys {
    fn from(key: u64) -> Keys {
        Keys::with_ignored(key, 0)
    }
}

/// What a receive takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Pattern {
    pub source: Source,
    pub keys: Keys,
}

impl Pattern {
    pub fn new(source: impl Into<Source>, keys: impl Into<Keys>) -> Pattern {
        Pattern { source: source.into(), keys: keys.into() }
    }

    pub fn shape(self) -> Shape {
        Shape { is_of_any: self.source == Source::Any, ignored: self.keys.ignored }
    }

    /// Under which label its shape lists it.
    pub fn label(self) -> Label {
        let source = match self.source {
            Source::Rank(rank) => rank as u32,
            Source::Any => ANY_RANK,
        };
        Label { source, key: self.keys.key }
    }

    #[inline]
    pub fn matches(self, source: u32, key: u64) -> bool {
        self.shape().label(source, key) == self.label()
    }
}

/// What a pattern leaves open. Patterns of one shape differ only in their labels, so a message has one label per shape, and whether it
/// matches is whether labels are equal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Shape {
    pub is_of_any: bool,
    pub ignored: u64,
}

/// Ranks are fewer.
const ANY_RANK: u32 = u32::MAX;

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct Label {
    source: u32,
    key: u64,
}

impl Shape {
    /// Nothing is left open.
    pub const EXACT: Shape = Shape { is_of_any: false, ignored: 0 };

    /// The label of a message.
    pub fn label(self, source: u32, key: u64) -> Label {
        Label { source: if self.is_of_any { ANY_RANK } else { source }, key: key & !self.ignored }
    }
}
