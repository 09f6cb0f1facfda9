//! What becomes of a job whose rank has died or that was asked to end: who failed first, and when the others are asked to end
//! and killed. It knows no processes, only what is told.

use super::{Ending, OnDeath};
use std::time::{Duration, Instant};

/// After a death the others have this long to say what they make of it.
const LAST_WORDS: Duration = Duration::from_millis(150);
/// After being asked to end they have this long to do so.
const GRACE: Duration = Duration::from_millis(350);

/// What is to be done about deaths.
#[derive(Debug)]
pub(super) struct Policy {
    on_death: OnDeath,
    first_failure: Option<Failure>,
    stage: Stage,
    asked_to_end: bool,
}

/// The end of a rank that was not a good one.
#[derive(Clone, Copy, Debug)]
struct Failure {
    rank: usize,
    seen: Instant,
    crashed: bool,
}

/// How far the ranks are on the way to their end.
#[derive(Clone, Copy, Debug)]
enum Stage {
    Running,
    /// A rank has died; the others are asked to end at this time.
    LastWords(Instant),
    /// They were asked to end and are killed at this time.
    Asked(Instant),
    Killed,
}

impl Policy {
    pub fn new(on_death: OnDeath) -> Policy {
        Policy { on_death, first_failure: None, stage: Stage::Running, asked_to_end: false }
    }

    /// The rank that failed first.
    pub fn first_failure(&self) -> Option<usize> {
        self.first_failure.map(|failure| failure.rank)
    }

    /// A rank has ended.
    pub fn ended(&mut self, rank: usize, ending: Ending, now: Instant) {
        if ending == Ending::Exited(0) {
            return;
        }
        self.note_failure(rank, ending, now);
        if let (OnDeath::End, Stage::Running) = (self.on_death, self.stage) {
            self.stage = Stage::LastWords(now + LAST_WORDS);
        }
    }

    /// A rank that crashes says nothing, and others may learn of it, and exit, before its end is seen here: it came first.
    fn note_failure(&mut self, rank: usize, ending: Ending, now: Instant) {
        const CRASHES: [i32; 5] = [libc::SIGKILL, libc::SIGSEGV, libc::SIGBUS, libc::SIGILL, libc::SIGFPE];
        let asked = self.asked_to_end || matches!(self.stage, Stage::Asked(_) | Stage::Killed);
        let crashed = !asked && matches!(ending, Ending::Killed(signal) if CRASHES.contains(&signal));
        let failure = Failure { rank, seen: now, crashed };
        let is_first = match &self.first_failure {
            Some(first) => crashed && !first.crashed && failure.seen - first.seen < LAST_WORDS,
            None => true,
        };
        if is_first {
            self.first_failure = Some(failure);
        }
    }

    /// The user asks the job to end; false if that was asked before, and is now meant.
    pub fn asked(&mut self) -> bool {
        !std::mem::replace(&mut self.asked_to_end, true)
    }

    /// The ranks are asked to end now.
    pub fn end(&mut self, now: Instant) {
        if let Stage::Running = self.stage {
            self.stage = Stage::LastWords(now);
        }
    }

    /// How long until something is due.
    pub fn time_left(&self, now: Instant) -> Option<Duration> {
        match self.stage {
            Stage::LastWords(at) | Stage::Asked(at) => Some(at.saturating_duration_since(now)),
            Stage::Running | Stage::Killed => None,
        }
    }

    /// The signals that are due for all ranks.
    pub fn due(&mut self, now: Instant) -> &'static [i32] {
        match self.stage {
            Stage::LastWords(at) if now >= at => {
                self.stage = Stage::Asked(now + GRACE);
                // A stopped process would not hear the first.
                &[libc::SIGTERM, libc::SIGCONT]
            }
            Stage::Asked(at) if now >= at => {
                self.stage = Stage::Killed;
                &[libc::SIGKILL]
            }
            _ => &[],
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_others_are_asked_and_then_killed() {
        let (mut policy, now) = (Policy::new(OnDeath::End), Instant::now());
        policy.ended(2, Ending::Exited(0), now);
        assert_eq!((policy.time_left(now), policy.first_failure()), (None, None));
        policy.ended(1, Ending::Exited(3), now);
        assert_eq!((policy.time_left(now), policy.first_failure()), (Some(LAST_WORDS), Some(1)));
        assert!(policy.due(now).is_empty());
        assert_eq!(policy.due(now + LAST_WORDS), [libc::SIGTERM, libc::SIGCONT]);
        assert_eq!(policy.due(now + LAST_WORDS + GRACE), [libc::SIGKILL]);
        assert_eq!(policy.time_left(now), None);
    }

    #[test]
    fn whoever_crashed_came_first_unless_all_were_asked_to_end() {
        let now = Instant::now();
        let mut policy = Policy::new(OnDeath::Continue);
        policy.ended(0, Ending::Exited(1), now);
        policy.ended(1, Ending::Killed(libc::SIGSEGV), now);
        assert_eq!(policy.first_failure(), Some(1));
        assert_eq!(policy.time_left(now), None, "the others go on");
        let mut policy = Policy::new(OnDeath::End);
        assert!(policy.asked() && !policy.asked());
        policy.ended(0, Ending::Exited(1), now);
        policy.ended(1, Ending::Killed(libc::SIGKILL), now);
        assert_eq!(policy.first_failure(), Some(0));
    }
}
