//! Whether a job moves: what its launcher looks at now and then, and what follows.

use super::{OnDeadlock, Stopped};
use crate::job::standstill::{LOOK_EVERY, News, Standstill, View, table};
use std::time::{Duration, Instant};

/// What a launcher knows of how its job goes on.
#[derive(Debug)]
pub(super) struct Lookout {
    standstill: Standstill,
    next: Instant,
    on_deadlock: OnDeadlock,
    begin: Instant,
    timeout: Option<Duration>,
    /// Why the job is to end.
    pub stopped: Option<Stopped>,
}

impl Lookout {
    pub fn new(on_deadlock: OnDeadlock, timeout: Option<Duration>) -> Lookout {
        let begin = Instant::now();
        Lookout {
            standstill: Standstill::default(),
            next: begin + LOOK_EVERY,
            on_deadlock,
            begin,
            timeout,
            stopped: None,
        }
    }

    /// How long until something is due.
    pub fn time_left(&self, now: Instant) -> Option<Duration> {
        if self.stopped.is_some() {
            return None;
        }
        let look = (self.on_deadlock != OnDeadlock::Ignore).then(|| self.next.saturating_duration_since(now));
        let timeout = self.timeout.map(|timeout| timeout.saturating_sub(now - self.begin));
        [look, timeout].into_iter().flatten().min()
    }

    /// Looks, if it is time for that; gives what the user is to be told.
    pub fn look(&mut self, now: Instant, views: impl Fn() -> Vec<View>) -> Option<String> {
        if self.stopped.is_some() {
            return None;
        }
        if let Some(timeout) = self.timeout.filter(|timeout| now - self.begin >= *timeout) {
            self.stopped = Some(Stopped::Timeout);
            let table = self.table(&views());
            return Some(format!("the job has not ended within {} s, so it is ended\n{table}", timeout.as_secs_f64()));
        }
        if self.on_deadlock == OnDeadlock::Ignore || now < self.next {
            return None;
        }
        self.next = now + LOOK_EVERY;
        match self.standstill.judge(&views())? {
            News::Moves => Some("the job moves again\n".into()),
            News::Stands(text) if self.on_deadlock == OnDeadlock::End => {
                self.stopped = Some(Stopped::Deadlock);
                Some(format!("{text}The job is ended.\n"))
            }
            News::Stands(text) => Some(text),
        }
    }

    /// Who waits for what, for somebody who ends the job and wants to know.
    pub fn table(&self, views: &[View]) -> String {
        match table(views) {
            none if none.is_empty() => none,
            table => format!("who waits, and for what:\n{table}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::job::standstill::{Presence, Standing};
    use crate::transport::shm::waiting::Whom;

    fn view(rank: usize) -> View {
        let waited = Duration::from_secs(2);
        let (call, place) = ("recv()".into(), "src/main.rs:1:1".into());
        let wait = Standing { wait: (1, 2), whom: Whom::Rank(1 - rank), waited, ends: false, call, place };
        View { rank, presence: Presence::Waits, arrivals: 0, waits: vec![wait] }
    }

    #[test]
    fn a_deadlock_is_told_once_or_ends_the_job() {
        let views = || vec![view(0), view(1)];
        let now = Instant::now() + 10 * LOOK_EVERY;
        let mut lookout = Lookout::new(OnDeadlock::Report, None);
        assert!(lookout.look(now, views).is_some_and(|text| text.contains("every rank waits")));
        assert_eq!(lookout.look(now + LOOK_EVERY, views), None);
        assert_eq!(lookout.stopped, None);
        let mut lookout = Lookout::new(OnDeadlock::End, None);
        assert!(lookout.look(now, views).is_some_and(|text| text.ends_with("The job is ended.\n")));
        assert_eq!(lookout.stopped, Some(Stopped::Deadlock));
        let mut lookout = Lookout::new(OnDeadlock::Ignore, None);
        assert_eq!((lookout.time_left(now), lookout.look(now, views)), (None, None));
    }

    #[test]
    fn time_that_is_up_ends_the_job_and_says_who_waits() {
        let mut lookout = Lookout::new(OnDeadlock::Ignore, Some(Duration::from_secs(3)));
        let begin = lookout.begin;
        assert_eq!(lookout.time_left(begin), Some(Duration::from_secs(3)));
        assert_eq!(lookout.look(begin + Duration::from_secs(2), Vec::new), None);
        let text = lookout.look(begin + Duration::from_secs(3), || vec![view(0), view(1)]).unwrap();
        assert!(text.starts_with("the job has not ended within 3 s, so it is ended\nwho waits"), "{text}");
        assert_eq!(lookout.stopped, Some(Stopped::Timeout));
    }
}
