//! What a rank reports when it cannot go on.

use hikyaku::Error;

/// See above.
#[derive(Clone, Debug)]
pub enum Trouble {
    /// A call failed.
    Call(Error),
    /// A promise was broken.
    Broken(String),
}

impl From<Error> for Trouble {
    fn from(error: Error) -> Trouble {
        Trouble::Call(error)
    }
}

impl std::fmt::Display for Trouble {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Trouble::Call(error) => write!(f, "a call failed: {error}"),
            Trouble::Broken(what) => f.write_str(what),
        }
    }
}

/// What a part of a workload comes to.
pub type Outcome<T = ()> = Result<T, Trouble>;

/// Reports a broken promise if a condition does not hold.
macro_rules! promise {
    ($condition:expr, $($words:tt)+) => {
        if !$condition {
            return Err(crate::chaos::trouble::Trouble::Broken(format!($($words)+)));
        }
    };
}
pub(super) use promise;
