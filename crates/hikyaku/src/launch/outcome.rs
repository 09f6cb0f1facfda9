//! How a job ended, and each of its ranks.

use super::Captured;

/// Why a job was ended before its ranks did.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Stopped {
    /// Every rank waited, and nothing moved.
    Deadlock,
    /// It took too long.
    Timeout,
}

/// How one rank ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ending {
    /// With this exit status.
    Exited(i32),
    /// By this signal.
    Killed(i32),
    /// Without leaving its job, under a wrapper that has not said how, on a kernel that does not tell.
    Unknown,
}

impl Ending {
    /// The status a shell would show.
    pub fn status(self) -> i32 {
        match self {
            Ending::Exited(status) => status,
            Ending::Killed(signal) => 128 + signal,
            Ending::Unknown => 1,
        }
    }
}

/// How a job ended.
#[derive(Clone, Debug)]
pub struct Outcome {
    /// How each rank ended.
    pub endings: Vec<Ending>,
    /// The rank that failed first, if one did: whose end the failures of others follow from, whoever was seen to end first.
    pub first_failure: Option<usize>,
    /// All ranks that failed, the first cause first, the others in the order in which they ended; without those that had been
    /// asked to end by then.
    pub failures: Vec<usize>,
    /// Whether each rank took part in the job, as programs without the library do not.
    pub joined: Vec<bool>,
    /// What each rank printed, if it was captured.
    pub output: Vec<Captured>,
    /// What ranks printed and could not be written to its end, and why, in words: standard output, standard error, or files of
    /// [`super::Launcher::output_folder`].
    pub lost_output: Vec<String>,
    /// What else went wrong, in words: hosts that were lost, ranks that did not join.
    pub remarks: Vec<String>,
    /// Why the launcher has ended the job, if it did.
    pub stopped: Option<Stopped>,
}

impl Outcome {
    /// 0, or the status of the rank that failed first; 124, as that of `timeout`, if the launcher has ended the job.
    pub fn status(&self) -> i32 {
        if self.stopped.is_some() {
            return 124;
        }
        self.first_failure.map_or(0, |rank| self.endings[rank].status())
    }
}
