//! How much the caches hold.

use std::sync::atomic::{AtomicUsize, Ordering};

/// Where the system does not tell.
const LAST_BYTES_USUAL: usize = 32 << 20;
/// No more is believed: it may be the whole machine's, of which this job has only a part.
const LAST_BYTES_MAX: usize = 128 << 20;

/// Whether buffers of so many bytes together do not stay in the last cache, so that what is written there only pushes out
/// what is worth more. Others use it too, so half of it counts.
pub fn is_too_small_for(together: usize) -> bool {
    together > known_last_bytes() / 2
}

/// The most that is transferred through the caches: whoever exchanges as much has a buffer for each direction, at both ends.
pub fn transfer_max() -> usize {
    known_last_bytes() / 2 / 4
}

fn known_last_bytes() -> usize {
    // 0: nobody has asked yet. Whoever asks gets the same answer, so two may ask at once.
    static KNOWN: AtomicUsize = AtomicUsize::new(0);
    match KNOWN.load(Ordering::Relaxed) {
        0 => {
            let bytes = last_bytes().unwrap_or(LAST_BYTES_USUAL).min(LAST_BYTES_MAX);
            KNOWN.store(bytes, Ordering::Relaxed);
            bytes
        }
        bytes => bytes,
    }
}

#[cfg(all(target_env = "gnu", not(miri)))]
fn last_bytes() -> Option<usize> {
    // SAFETY: a question about the machine.
    let told = unsafe { libc::sysconf(libc::_SC_LEVEL3_CACHE_SIZE) };
    usize::try_from(told).ok().filter(|bytes| *bytes > 0)
}

#[cfg(not(all(target_env = "gnu", not(miri))))]
fn last_bytes() -> Option<usize> {
    None
}

#[cfg(test)]
mod tests {
    use super::{is_too_small_for, transfer_max};

    #[test]
    fn a_line_fits_and_the_whole_memory_does_not() {
        assert!(!is_too_small_for(64));
        assert!(is_too_small_for(usize::MAX));
        assert!(!is_too_small_for(4 * transfer_max()));
        assert!(is_too_small_for(4 * (transfer_max() + 1)));
    }
}
