//! Waiting for conditions, and promises in time on a machine that others use too.

use std::fmt::Display;
use std::time::{Duration, Instant};

/// Longer than anything takes that happens at all.
const LONG: Duration = Duration::from_secs(300);

/// Looks until there is a value.
///
/// # Panics
/// If there is none for very long.
pub fn eventually<T>(what: &str, mut ready: impl FnMut() -> Option<T>) -> T {
    let begin = Instant::now();
    loop {
        if let Some(value) = ready() {
            return value;
        }
        assert!(begin.elapsed() < LONG, "{what}: not within {LONG:?}");
        std::thread::sleep(Duration::from_millis(2));
    }
}

/// Checks that something took no longer than promised. On a machine with more to do than it has processors the promise is
/// longer by as much, and twice: everything waits for its turn several times.
///
/// # Panics
/// If it did.
pub fn assert_prompt(took: Duration, promised: Duration, what: impl Display) {
    if took >= promised {
        let crowd = crowd();
        assert!(took < promised * crowd, "{what}: only after {took:?}; promised are {promised:?}, crowd {crowd}");
    }
}

/// By how much the machine is slower than promises assume, as it is now; 1 if nobody waits for a processor.
pub fn crowd() -> u32 {
    let processors = std::thread::available_parallelism().map_or(1, |count| count.get());
    let before = processor_time();
    let most = (0..100).map(|_| {
        std::thread::sleep(Duration::from_millis(2));
        runnable().unwrap_or(1)
    });
    let waiting = match most.max().unwrap_or(1) {
        most if most <= processors => 1,
        most => (2 * most).div_ceil(processors) as u32,
    };
    let stolen = match (before, processor_time()) {
        (Some(before), Some(after)) if after.all > before.all => {
            let left = 1.0 - (after.stolen - before.stolen) as f64 / (after.all - before.all) as f64;
            if left > 0.95 { 1 } else { (2.0 / left.max(0.05)).ceil() as u32 }
        }
        _ => 1,
    };
    waiting * stolen
}

/// What all processors have spent so far, and what of it other machines have had on the same processors.
struct ProcessorTime {
    all: u64,
    stolen: u64,
}

fn processor_time() -> Option<ProcessorTime> {
    let text = std::fs::read_to_string("/proc/stat").ok()?;
    let times: Vec<u64> =
        text.lines().next()?.split_whitespace().skip(1).filter_map(|field| field.parse().ok()).collect();
    // The two after the stolen time are part of others.
    Some(ProcessorTime { all: times.iter().take(8).sum(), stolen: *times.get(7)? })
}

/// How many threads of this machine run or could run.
fn runnable() -> Option<usize> {
    let text = std::fs::read_to_string("/proc/loadavg").ok()?;
    text.split_whitespace().nth(3)?.split_once('/')?.0.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    #[should_panic(expected = "promised are 1s")]
    fn what_took_too_long_is_told() {
        assert_prompt(Duration::from_secs(1_000_000), Duration::from_secs(1), "it ended");
    }

    #[test]
    fn whoever_looks_is_runnable() {
        assert!(runnable().is_some_and(|count| count >= 1));
    }
}
