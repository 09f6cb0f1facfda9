//! What a member asks for, in two words that are compared with those of the others.
//!
//! ```text
//!   head:      number of the call (32 bits) | history (16) | operation and type (8) | kind (8)
//!   argument:  bytes (48 bits) | root (16)
//!              of a reduce: bytes of an element - 1 (12 bits) | bytes (36) | root (16)
//!              of a reduce_scatter: likewise, with a checksum of the counts for a root
//!              of an allgatherv: bytes of all (48 bits) | checksum of the counts (16), with 8 bits more for an operation
//!              of an allreduce or a scan: bytes (48 bits) | bytes of an element (16)
//! ```
//! Members share a long reduction out by elements, so they must agree on their size: others would write to the same bytes.
//! The history is a checksum of all calls before: where two members did different things and neither had to wait, the
//! next call they meet in tells.

use super::operation;
use crate::error::Error;

/// Which call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub(super) enum Kind {
    Barrier = 1,
    Broadcast,
    Reduce,
    Allreduce,
    Scan,
    Gather,
    Allgather,
    Scatter,
    Alltoall,
    Split,
    Free,
    Messages,
    FreeMessages,
    /// Messages that the group makes for itself when a call first needs them.
    Tree,
    Exscan,
    Gatherv,
    Allgatherv,
    Scatterv,
    Alltoallv,
    ReduceScatter,
}

impl Kind {
    /// The name of the kind in a head, which may be one of another member.
    pub fn name_of(code: u8) -> &'static str {
        use Kind::*;
        let all = [
            Barrier,
            Broadcast,
            Reduce,
            Allreduce,
            Scan,
            Gather,
            Allgather,
            Scatter,
            Alltoall,
            Split,
            Free,
            Messages,
            FreeMessages,
            Tree,
            Exscan,
            Gatherv,
            Allgatherv,
            Scatterv,
            Alltoallv,
            ReduceScatter,
        ];
        all.into_iter().find(|kind| *kind as u8 == code).map_or("an unknown call", Kind::name)
    }

    fn name(self) -> &'static str {
        match self {
            Kind::Barrier => "barrier",
            Kind::Broadcast => "broadcast",
            Kind::Reduce => "reduce",
            Kind::Allreduce => "allreduce",
            Kind::Scan => "scan",
            Kind::Gather => "gather",
            Kind::Allgather => "allgather",
            Kind::Scatter => "scatter",
            Kind::Alltoall => "alltoall",
            Kind::Split => "split",
            Kind::Free => "free",
            Kind::Messages => "messages",
            Kind::FreeMessages => "free_messages",
            Kind::Tree => "first call by a tree",
            Kind::Exscan => "exscan",
            Kind::Gatherv => "gatherv",
            Kind::Allgatherv => "allgatherv",
            Kind::Scatterv => "scatterv",
            Kind::Alltoallv => "alltoallv",
            Kind::ReduceScatter => "reduce_scatter",
        }
    }
}

/// What a member asks for, apart from the number of the call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Label {
    pub kind: Kind,
    /// Operation and type of a reduction.
    pub code: u8,
    /// Bytes per member.
    pub bytes: usize,
    /// Member that gives or takes, where there is one.
    pub root: usize,
    /// Bytes of an element of a reduction.
    pub element: usize,
}

const NUMBER_SHIFT: u32 = 32;
const HISTORY_SHIFT: u32 = 16;
const ROOT_BITS: u32 = 16;
/// Of the bytes of a reduce.
const REDUCE_BITS: u32 = 36;
/// So many bytes cannot be reduced to a root.
pub(super) const REDUCE_END: usize = 1 << REDUCE_BITS;

/// A size that no member can have: one that cannot do its part asks for it.
pub(super) const REFUSED_BYTES: usize = (1 << 48) - 1;

impl Label {
    pub fn new(kind: Kind, bytes: usize) -> Label {
        Label { kind, code: 0, bytes, root: 0, element: 1 }
    }

    pub fn root(self, root: usize) -> Label {
        Label { root, ..self }
    }

    pub fn code(self, code: u8) -> Label {
        Label { code, ..self }
    }

    pub fn element(self, element: usize) -> Label {
        Label { element, ..self }
    }

    #[inline(always)]
    pub fn head(&self, number: u64, history: u16) -> u64 {
        number << NUMBER_SHIFT | (history as u64) << HISTORY_SHIFT | (self.code as u64) << 8 | self.kind as u64
    }

    #[inline(always)]
    pub fn argument(&self) -> u64 {
        let (bytes, root, element) = (self.bytes as u64, self.root as u64, self.element as u64);
        match self.kind {
            Kind::Reduce | Kind::ReduceScatter => (element.wrapping_sub(1) << REDUCE_BITS | bytes) << ROOT_BITS | root,
            Kind::Allreduce | Kind::Scan | Kind::Exscan => bytes << ROOT_BITS | element,
            _ => bytes << ROOT_BITS | root,
        }
    }
}

/// The history after a call.
#[inline(always)]
pub(super) fn history(head: u64, argument: u64) -> u16 {
    // The head holds the history before.
    ((head ^ argument.rotate_left(24)).wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 48) as u16
}

/// Whether a head belongs to the same call, whatever it asks for.
#[inline(always)]
pub(super) fn same_number(head: u64, other: u64) -> bool {
    (head ^ other) >> NUMBER_SHIFT == 0
}

/// By how many calls a head is earlier than another.
pub(super) fn calls_before(head: u64, other: u64) -> u64 {
    ((other >> NUMBER_SHIFT) as u32).wrapping_sub((head >> NUMBER_SHIFT) as u32) as u64
}

/// The error of a member that disagrees with `rank`, out of what both ask for.
#[cold]
pub(super) fn mismatch(rank: usize, mine: (u64, u64), theirs: (u64, u64)) -> Error {
    let (my_call, their_call) = (call(mine), call(theirs));
    let (operation, mine, theirs) = difference(mine, theirs);
    Error::Mismatch { operation, rank, mine, theirs, my_call, their_call }
}

/// What a member asks for.
struct Parts {
    kind: u8,
    code: u8,
    bytes: u64,
    /// 0 where no root is compared.
    root: u64,
    /// 0 where no elements are combined.
    element: u64,
}

impl Parts {
    fn of((head, argument): (u64, u64)) -> Parts {
        let (kind, code) = (head as u8, (head >> 8) as u8);
        let (size, low) = (argument >> ROOT_BITS, argument & ((1 << ROOT_BITS) - 1));
        let is = |kinds: &[Kind]| kinds.iter().any(|it| *it as u8 == kind);
        let (bytes, root, element) = if is(&[Kind::Reduce, Kind::ReduceScatter]) {
            (size & ((1 << REDUCE_BITS) - 1), low, (size >> REDUCE_BITS) + 1)
        } else if is(&[Kind::Allreduce, Kind::Scan, Kind::Exscan]) {
            (size, 0, low)
        } else {
            (size, low, 0)
        };
        Parts { kind, code, bytes, root, element }
    }
}

/// What a member asks for, as a program would write it. The words may be those of another member.
fn call(words: (u64, u64)) -> String {
    let Parts { kind, code, bytes, root, element } = Parts::of(words);
    let name = Kind::name_of(kind);
    let is = |kinds: &[Kind]| kinds.iter().any(|it| *it as u8 == kind);
    if bytes >= REFUSED_BYTES as u64 || (is(&[Kind::Reduce, Kind::ReduceScatter]) && bytes >= REDUCE_END as u64 - 1) {
        return format!("{name} with arguments that it refused");
    }
    let size = match element {
        0 => format!("{bytes} bytes"),
        _ => format!("{}, {} x {}", operation::name_of(code), bytes / element, operation::type_of(code, element)),
    };
    if is(&[Kind::Broadcast, Kind::Gather, Kind::Scatter, Kind::Reduce]) {
        format!("{name}({size}, root {root})")
    } else if is(&[Kind::Allreduce, Kind::Scan, Kind::Exscan, Kind::Allgather, Kind::Alltoall]) {
        format!("{name}({size})")
    } else if is(&[Kind::Gatherv, Kind::Scatterv]) {
        format!("{name}(root {root})")
    } else if is(&[Kind::Allgatherv]) {
        format!("{name}({size}, checksum of counts {code:02x}{root:04x})")
    } else if is(&[Kind::ReduceScatter]) {
        format!("{name}({size}, checksum of counts {root:04x})")
    } else {
        name.to_owned()
    }
}

/// What two members that disagree ask for: whichever of kind, operation, size, root and element differs first, or if none
/// does, the history; and a name for it.
fn difference(mine: (u64, u64), theirs: (u64, u64)) -> (&'static str, u64, u64) {
    let name = Kind::name_of(mine.0 as u8);
    let histories = [mine.0, theirs.0].map(|head| head >> HISTORY_SHIFT & 0xFFFF);
    let parts = |words| {
        let Parts { kind, code, bytes, root, element } = Parts::of(words);
        [kind as u64, code as u64, bytes, root, element]
    };
    let (mine, theirs) = (parts(mine), parts(theirs));
    match mine.into_iter().zip(theirs).find(|(mine, theirs)| mine != theirs) {
        Some((mine, theirs)) => (name, mine, theirs),
        None => ("a collective call before this one", histories[0], histories[1]),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_differs_first_is_named() {
        let words = |label: Label| (label.head(7, 1), label.argument());
        let label = Label::new(Kind::Reduce, 800).root(3).code(5);
        assert_eq!(difference(words(label), words(label.root(2))), ("reduce", 3, 2));
        assert_eq!(difference(words(label), words(Label { bytes: 80, ..label })), ("reduce", 800, 80));
        assert_eq!(difference(words(label), words(label.code(4))), ("reduce", 5, 4));
        assert_eq!(difference(words(label.element(8)), words(label.element(4))), ("reduce", 8, 4));
        let scan = Label::new(Kind::Scan, 800);
        assert_eq!(difference(words(scan.element(4096)), words(scan.element(1))), ("scan", 4096, 1));
        assert_eq!(difference(words(label), words(Label::new(Kind::Scan, 800))), ("reduce", 3, 5));
        let (_, mine, theirs) = difference(words(label), (label.head(7, 2), label.argument()));
        assert_eq!((mine, theirs), (1, 2));
        assert!(same_number(label.head(7, 0), Label::new(Kind::Barrier, 0).head(7, 1)));
        assert!(!same_number(label.head(7, 0), label.head(8, 0)));
    }

    #[test]
    fn calls_are_told_as_programs_write_them() {
        let words = |label: Label| (label.head(7, 1), label.argument());
        let sum = Label::new(Kind::Allreduce, 80).code(1 << 4 | 6).element(8);
        let text = mismatch(1, words(sum), words(sum.code(3 << 4 | 6))).to_string();
        let same = "all ranks must make the same call";
        assert_eq!(text, format!("rank 1 calls allreduce(max, 10 x f64), this rank allreduce(sum, 10 x f64); {same}"));
        let before = mismatch(1, words(sum), (sum.head(7, 2), sum.argument())).to_string();
        let both = "rank 1 and this rank both call allreduce(sum, 10 x f64)";
        assert_eq!(before, format!("{both}, but a call before it was not the same on both"));
        let counts = Label::new(Kind::Allgatherv, 24).code(0xAB).root(0x12);
        assert_eq!(call(words(counts)), "allgatherv(24 bytes, checksum of counts ab0012)");
        let share = Label::new(Kind::ReduceScatter, 80).code(1 << 4 | 6).element(8).root(0x12);
        assert_eq!(call(words(share)), "reduce_scatter(sum, 10 x f64, checksum of counts 0012)");
        assert_eq!(call(words(Label::new(Kind::Gatherv, 0).root(2))), "gatherv(root 2)");
        let own = Label::new(Kind::Reduce, 24).code(0xFF).element(12).root(2);
        assert_eq!(call(words(own)), "reduce(a function, 2 x 12 bytes, root 2)");
        assert_eq!(call(words(Label::new(Kind::Broadcast, 8).root(1))), "broadcast(8 bytes, root 1)");
        assert_eq!(call(words(Label::new(Kind::Barrier, 0))), "barrier");
        let refused = Label { bytes: REFUSED_BYTES, ..sum };
        assert_eq!(call(words(refused)), "allreduce with arguments that it refused");
        // Whatever a member has written.
        assert_eq!(call((0, u64::MAX - (1 << 63))), "an unknown call");
        call((u64::MAX, u64::MAX));
    }

    #[test]
    fn histories_tell_sizes_and_roots_apart() {
        let after = |label: Label| history(label.head(7, 1), label.argument());
        let label = Label::new(Kind::Broadcast, 8);
        assert_ne!(after(label), after(label.root(1)));
        assert_ne!(after(label), after(Label::new(Kind::Broadcast, 16)));
        assert_ne!(after(label), after(Label::new(Kind::Reduce, 8)));
        assert_ne!(after(label), history(label.head(7, 2), label.argument()));
    }
}
