//! What a sender knows of the path to its peer: how long a round trip takes, and how many bytes it carries at a time.
//!
//! The timeout is that of RFC 6298 with a floor for short paths; no round trip is measured with what was sent twice (Karn). The
//! congestion window begins with slow start and halves when something is lost, at most once in a window (RFC 5681). What is lost is
//! known from requests of the peer. One timeout alone only asks: the peer may have been off its core. A second one in a row
//! begins slow start anew, until something is acknowledged: if nothing was lost then, all is as before.

use super::{Settings, Time};

/// See above.
#[derive(Debug)]
pub struct Path {
    settings: Settings,
    /// Smoothed round trip and its variation, once there is a sample.
    round_trip: Option<(Time, Time)>,
    /// Bytes that may be under way.
    window: u64,
    /// Below this the window grows fast.
    threshold: u64,
    /// Both, as they were when the peer fell silent.
    before: Option<(u64, u64)>,
}

impl Path {
    pub fn new(settings: Settings) -> Path {
        let window = settings.fit.map_or(u64::MAX, |fit| fit.window_bytes_first.min(fit.window_bytes_max));
        Path { settings, round_trip: None, window, threshold: u64::MAX, before: None }
    }

    /// The timeout after `backoff` of them in a row.
    pub fn timeout(&self, backoff: u32) -> Time {
        let first = match (self.settings.fit, self.round_trip) {
            (Some(fit), Some((smoothed, variation))) => {
                smoothed.saturating_add(variation.saturating_mul(4)).max(fit.timeout_min_ps)
            }
            _ => self.settings.timeout_ps,
        };
        let factor = 1u64.checked_shl(backoff).unwrap_or(u64::MAX);
        first.saturating_mul(factor).min(self.settings.timeout_max_ps)
    }

    /// A round trip took so long.
    pub fn measured(&mut self, sample: Time) {
        let (smoothed, variation) = self.round_trip.unwrap_or((sample, sample));
        let variation = variation - variation / 4 + sample.abs_diff(smoothed) / 4;
        self.round_trip = Some((smoothed - smoothed / 8 + sample / 8, variation));
    }

    /// The smoothed round trip, if one was measured.
    pub fn round_trip(&self) -> Option<Time> {
        self.round_trip.map(|(smoothed, _)| smoothed)
    }

    /// Whether so many more bytes may be under way. One frame always may.
    pub fn has_room(&self, under_way: u64, bytes: u64) -> bool {
        under_way == 0 || under_way + bytes <= self.window
    }

    /// So many bytes were acknowledged.
    pub fn carried(&mut self, bytes: u64) {
        let Some(fit) = self.settings.fit else { return };
        if let Some(before) = self.before.take() {
            (self.window, self.threshold) = before;
        }
        let growth =
            if self.window < self.threshold { bytes } else { (fit.frame_bytes * bytes / self.window.max(1)).max(1) };
        self.window = (self.window + growth).min(fit.window_bytes_max);
    }

    /// Something was lost, for the first time in this window.
    pub fn lost(&mut self) {
        let Some(fit) = self.settings.fit else { return };
        self.threshold = (self.window / 2).max(4 * fit.frame_bytes);
        self.window = self.threshold.min(fit.window_bytes_max);
    }

    /// The second timeout in a row.
    pub fn stalled(&mut self) {
        let Some(fit) = self.settings.fit else { return };
        self.before.get_or_insert((self.window, self.threshold));
        self.threshold = (self.window / 2).max(4 * fit.frame_bytes);
        self.window = 2 * fit.frame_bytes;
    }

    /// Frames are of this size from now on.
    pub fn set_frame_bytes(&mut self, bytes: u64) {
        if let Some(fit) = &mut self.settings.fit {
            fit.frame_bytes = bytes;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::Fit;
    use super::*;

    fn path() -> Path {
        let fit = Fit { timeout_min_ps: 100, frame_bytes: 10, window_bytes_first: 40, window_bytes_max: 400 };
        Path::new(Settings { timeout_ps: 5000, timeout_max_ps: 9000, fit: Some(fit), ..Settings::for_round_trip(10) })
    }

    #[test]
    fn the_timeout_follows_the_round_trip() {
        let mut path = path();
        assert_eq!(path.timeout(0), 5000, "nothing measured");
        path.measured(800);
        assert_eq!(path.timeout(0), 800 + 4 * 600);
        for _ in 0..100 {
            path.measured(800);
        }
        assert!((800..820).contains(&path.timeout(0)), "{}", path.timeout(0));
        assert_eq!(path.timeout(2), 4 * path.timeout(0));
        assert_eq!(path.timeout(40), 9000);
        for _ in 0..100 {
            path.measured(8);
        }
        assert_eq!(path.timeout(0), 100, "the floor");
    }

    #[test]
    fn the_window_grows_fast_then_slowly_and_halves_with_losses() {
        let mut path = path();
        assert!(path.has_room(0, 1000), "one frame always");
        assert!(path.has_room(30, 10) && !path.has_room(31, 10));
        path.carried(40);
        assert!(path.has_room(70, 10), "doubled");
        path.carried(1000);
        assert!(path.has_room(390, 10) && !path.has_room(400, 10), "up to the most");
        path.lost();
        assert!(path.has_room(190, 10) && !path.has_room(200, 10), "half");
        path.carried(200);
        assert!(path.has_room(200, 10) && !path.has_room(210, 10), "a frame more for a window");
        path.stalled();
        assert!(path.has_room(10, 10) && !path.has_room(20, 10), "slow start");
        path.carried(10);
        assert!(path.has_room(200, 10), "the peer was only off its core");
        path.stalled();
        path.carried(10);
        path.lost();
        assert!(path.has_room(90, 10) && !path.has_room(110, 10), "it was not");
    }
}
