//! The one list of cases: the conformance suite, messages and collectives. What runs them is [`crate::runner`].

use crate::cases::{self, collective, message};
use hikyaku::{Job, Result};
use std::sync::LazyLock;

/// What a case belongs to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Suite {
    /// What every way of running a job must do.
    Conformance,
    /// Messages by slots.
    Messages,
    /// Groups and what they do together.
    Collectives,
}

/// How many ranks a case needs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ranks {
    /// So many.
    Exactly(usize),
    /// As many as there are.
    Any,
}

/// One promise, as code that every rank of a job runs.
#[derive(Clone, Copy)]
pub struct Case {
    /// What it belongs to.
    pub suite: Suite,
    /// Its name, of which there is one. In the conformance suite it begins with the theme, as in
    /// `memory::symmetric_memory_starts_zeroed`.
    pub name: &'static str,
    /// How many ranks it needs.
    pub ranks: Ranks,
    body: Body,
}

#[derive(Clone, Copy)]
enum Body {
    Plain(fn(&Job)),
    Fallible(fn(&Job) -> Result<()>),
}

impl Case {
    /// One rank's part.
    ///
    /// # Panics
    /// If a promise is broken.
    pub fn run(&self, job: &Job) {
        match self.body {
            Body::Plain(body) => body(job),
            Body::Fallible(body) => body(job).unwrap_or_else(|error| panic!("{}: {error}", self.name)),
        }
    }

    /// The numbers of ranks to run it with: its own, or `any` where it does not mind.
    pub fn sizes(&self, any: &[usize]) -> Vec<usize> {
        match self.ranks {
            Ranks::Exactly(ranks) => vec![ranks],
            Ranks::Any => any.to_vec(),
        }
    }
}

impl std::fmt::Debug for Case {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} ({:?}, ranks: {:?})", self.name, self.suite, self.ranks)
    }
}

macro_rules! table {
    ($($theme:ident { $($case:ident: $ranks:expr),* $(,)? })*) => {
        [$($(Case {
            suite: Suite::Conformance,
            name: concat!(stringify!($theme), "::", stringify!($case)),
            ranks: Ranks::Exactly($ranks),
            body: Body::Plain(cases::$theme::$case),
        }),*),*]
    };
}

static CASES: LazyLock<Vec<Case>> = LazyLock::new(|| {
    let conformance = crate::for_each_case!(table).into_iter();
    let messages = message::CASES.iter().map(|(name, ranks, body)| Case {
        suite: Suite::Messages,
        name,
        ranks: Ranks::Exactly(*ranks),
        body: Body::Fallible(*body),
    });
    let collectives = collective::CASES.iter().map(|(name, body)| Case {
        suite: Suite::Collectives,
        name,
        ranks: Ranks::Any,
        body: Body::Plain(*body),
    });
    conformance.chain(messages).chain(collectives).collect()
});

/// All cases.
pub fn cases() -> &'static [Case] {
    &CASES
}

/// Those of a suite.
pub fn suite(suite: Suite) -> impl Iterator<Item = &'static Case> + Clone {
    cases().iter().filter(move |case| case.suite == suite)
}

/// The case of that name.
pub fn case(name: &str) -> Option<&'static Case> {
    cases().iter().find(|case| case.name == name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_name_is_there_once() {
        let mut names: Vec<_> = cases().iter().map(|case| case.name).collect();
        names.sort_unstable();
        assert!(names.windows(2).all(|two| two[0] != two[1]), "{names:?}");
        assert!(suite(Suite::Messages).count() > 20 && suite(Suite::Collectives).count() > 20);
    }
}
