//! How much the caches hold.

use std::sync::OnceLock;

/// Where the system does not tell.
const LAST_BYTES_USUAL: usize = 32 << 20;

/// Whether so many bytes, written once by all ranks of the host together, would only push out of the last cache what is worth
/// more there. Others use it too, so half of it counts.
pub fn is_too_small_for(bytes: usize) -> bool {
    static LAST_BYTES: OnceLock<usize> = OnceLock::new();
    bytes > LAST_BYTES.get_or_init(|| last_bytes().unwrap_or(LAST_BYTES_USUAL)) / 2
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
    use super::is_too_small_for;

    #[test]
    fn a_line_fits_and_the_whole_memory_does_not() {
        assert!(!is_too_small_for(64));
        assert!(is_too_small_for(usize::MAX));
    }
}
