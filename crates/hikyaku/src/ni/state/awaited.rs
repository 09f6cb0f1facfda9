//! What a wait is for, and who is to bring it about.

use crate::sync::bell::ANY;
use crate::transport::shm::waiting::Whom;
use std::fmt::{Display, Formatter};
use std::time::Duration;

/// Who is expected to end the wait. If that rank is gone, the wait ends with an error.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum By {
    /// Any peer. The death of any rank ends the wait, and so does one that leaves because it could not reach another.
    Anyone,
    /// This rank.
    Rank(usize),
    /// Every rank, each of which must arrive at the barrier of this number.
    Barrier(u64),
}

/// How the awaited thing comes about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Progress {
    /// By a handler that runs here: look for messages all the time.
    Always,
    /// By a store of a peer: look for messages now and then.
    Seldom,
}

/// How long a wait lasts if nothing comes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Patience {
    Unlimited,
    /// As long as the program says.
    AtMost(Duration),
    /// So long at a time: its caller looks around and comes back.
    Patrol(Duration),
}

/// A wait: for whom, for what, how and how long.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Wait {
    pub by: By,
    patience: Patience,
    pub watch: u64,
    pub progress: Progress,
    /// It sleeps at once.
    pub is_drowsy: bool,
    /// What comes takes long.
    pub is_long: bool,
    /// What whoever watches the job is told.
    pub awaited: Awaited,
    /// The rank that has not done its part, where `by` does not tell.
    pub late: Option<usize>,
}

impl Wait {
    /// For something that `by` stores.
    #[inline]
    pub fn on(by: By) -> Wait {
        Wait {
            by,
            patience: Patience::Unlimited,
            watch: ANY,
            progress: Progress::Seldom,
            is_drowsy: false,
            is_long: false,
            awaited: Awaited::Nothing,
            late: None,
        }
    }

    /// For something that `rank` stores.
    #[inline]
    pub fn on_rank(rank: usize) -> Wait {
        Wait::on(By::Rank(rank))
    }

    /// For something that a handler does.
    #[inline]
    pub fn always(self) -> Wait {
        Wait { progress: Progress::Always, ..self }
    }

    /// Sleeps at once: whoever waits would only be in the way.
    #[inline]
    pub fn drowsy(self, is_drowsy: bool) -> Wait {
        Wait { is_drowsy, ..self }
    }

    /// What comes takes long: where threads share a core, it goes to another one at once.
    #[inline]
    pub fn long(self, is_long: bool) -> Wait {
        Wait { is_long, ..self }
    }

    /// Gives up after this time, if there is one.
    #[inline]
    pub fn at_most(self, time: Option<Duration>) -> Wait {
        Wait { patience: time.map_or(Patience::Unlimited, Patience::AtMost), ..self }
    }

    /// Gives up after this time, and whoever waits looks around and comes back.
    #[inline]
    pub fn patrol(self, time: Duration) -> Wait {
        Wait { patience: Patience::Patrol(time), ..self }
    }

    /// Is woken by this word alone.
    #[inline]
    pub fn watch(self, watch: u64) -> Wait {
        Wait { watch, ..self }
    }

    /// What is awaited, in the words of the program.
    #[inline]
    pub fn of(self, awaited: Awaited) -> Wait {
        Wait { awaited, ..self }
    }

    /// Who has not done its part.
    #[inline]
    pub fn late(self, rank: Option<usize>) -> Wait {
        Wait { late: rank, ..self }
    }

    /// After which it gives up.
    pub fn timeout(&self) -> Option<Duration> {
        match self.patience {
            Patience::Unlimited => None,
            Patience::AtMost(time) | Patience::Patrol(time) => Some(time),
        }
    }

    /// Whether it ends by itself.
    pub fn ends(&self) -> bool {
        matches!(self.patience, Patience::AtMost(_))
    }

    /// Whether its caller looks around and comes back.
    #[inline(always)]
    pub fn is_patrol(&self) -> bool {
        matches!(self.patience, Patience::Patrol(_))
    }

    /// Who could end it.
    pub fn whom(&self) -> Whom {
        match (self.late, self.by) {
            (Some(rank), _) | (None, By::Rank(rank)) => Whom::Rank(rank),
            (None, By::Anyone) => Whom::Anyone,
            (None, By::Barrier(number)) => Whom::Barrier(number),
        }
    }
}

/// What a word is waited for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Until {
    /// The word equals the value.
    Equal(u64),
    /// The word differs from the value.
    NotEqual(u64),
    /// The word, as an unsigned number, is at least the value.
    AtLeast(u64),
}

impl Until {
    #[inline(always)]
    pub(crate) fn met(self, word: u64) -> bool {
        match self {
            Until::Equal(value) => word == value,
            Until::NotEqual(value) => word != value,
            Until::AtLeast(value) => word >= value,
        }
    }
}

/// What a wait is for, as the program would say it.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Awaited {
    /// What the call says by itself.
    Nothing,
    Word(Until),
    /// One of so many.
    Events(usize),
    /// A handler, and which of its runs.
    Handler(u16, u64),
    Message {
        slot: usize,
        bytes: usize,
    },
    /// Any message of a slot, or of any.
    AnyMessage(Option<usize>),
    /// A message under a key, or any.
    Key(Option<u64>),
}

impl Display for Awaited {
    fn fmt(&self, f: &mut Formatter<'_>) -> std::fmt::Result {
        match *self {
            Awaited::Nothing => Ok(()),
            Awaited::Word(Until::Equal(value)) => write!(f, "word = {value}"),
            Awaited::Word(Until::NotEqual(value)) => write!(f, "word other than {value}"),
            Awaited::Word(Until::AtLeast(value)) => write!(f, "word >= {value}"),
            Awaited::Events(count) => write!(f, "{count} events"),
            Awaited::Handler(id, count) => write!(f, "handler {id}, run {count}"),
            Awaited::Message { slot, bytes } => write!(f, "{bytes} bytes, slot {slot}"),
            Awaited::AnyMessage(Some(slot)) => write!(f, "slot {slot}"),
            Awaited::Key(Some(key)) => write!(f, "key {key}"),
            Awaited::Key(None) => write!(f, "any key"),
            Awaited::AnyMessage(None) => write!(f, "any slot"),
        }
    }
}
