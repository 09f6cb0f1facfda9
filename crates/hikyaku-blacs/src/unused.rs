//! A program that `hikyaku run --blacs` has started and that does not use these BLACS.
//!
//! It may have nothing to do: it prints its version, say. But one that has initialised MPI has static BLACS, which are not replaced, so that
//! each of its processes has done everything by itself. That must not look like success.

use crate::{mpi, process};
use std::ffi::{c_int, c_void};

/// What the loader calls before the program begins.
#[used]
#[unsafe(link_section = ".init_array")]
static BEGIN: extern "C" fn() = watch_end;

/// Only where the launcher has had this library loaded into a rank of its job: a program that is linked with it knows what it does.
extern "C" fn watch_end() {
    let is_rank = std::env::var_os("HIKYAKU_RANK").is_some();
    let preloads = std::env::var_os("LD_PRELOAD").unwrap_or_default();
    if is_rank && preloads.as_encoded_bytes().windows(NAME.len()).any(|part| part == NAME) {
        // Without it there is one warning less.
        let _ = hikyaku::at_exit(look_at_end);
    }
}

const NAME: &[u8] = b"libhikyaku_blacs.so";

extern "C" fn look_at_end(status: c_int, _: *mut c_void) {
    if status != 0 || process::was_called() || !mpi::was_initialized() {
        return;
    }
    eprintln!(
        "BLACS ERROR 'The program has used MPI, but not hikyaku's BLACS: link it with a shared ScaLAPACK, or start it by mpirun'\n"
    );
    // SAFETY: writes out what the program has printed, and ends the process, which ends anyway.
    unsafe {
        libc::fflush(std::ptr::null_mut());
        libc::_exit(1)
    }
}
