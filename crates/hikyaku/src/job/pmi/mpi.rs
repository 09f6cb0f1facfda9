//! Whether an MPI library in this process was started.

use std::ffi::{CStr, CString, c_int, c_void};

/// Asks every loaded library that knows: MPI may have been loaded out of sight of the rest (`RTLD_LOCAL`).
pub fn was_initialized() -> bool {
    loaded().iter().any(|library| says_initialized(library))
}

/// The names of all that is loaded; the program itself has none.
fn loaded() -> Vec<CString> {
    unsafe extern "C" fn note(info: *mut libc::dl_phdr_info, _: usize, names: *mut c_void) -> c_int {
        // SAFETY: valid during the call, and the vector given below.
        let (name, names) = unsafe { ((*info).dlpi_name, &mut *names.cast::<Vec<CString>>()) };
        if !name.is_null() {
            // SAFETY: a terminated name.
            names.push(unsafe { CStr::from_ptr(name) }.to_owned());
        }
        0
    }
    let mut names: Vec<CString> = Vec::new();
    // SAFETY: `note` is called for each library, one after the other, with this vector.
    unsafe { libc::dl_iterate_phdr(Some(note), (&raw mut names).cast()) };
    names
}

fn says_initialized(library: &CStr) -> bool {
    let name = if library.is_empty() { std::ptr::null() } else { library.as_ptr() };
    // SAFETY: a terminated name, or null for the program; nothing new is loaded.
    let handle = unsafe { libc::dlopen(name, libc::RTLD_LAZY | libc::RTLD_NOLOAD) };
    if handle.is_null() {
        return false;
    }
    type Initialized = unsafe extern "C" fn(*mut c_int) -> c_int;
    // SAFETY: a live handle and a terminated name.
    let found = unsafe { libc::dlsym(handle, c"MPI_Initialized".as_ptr()) };
    // SAFETY: null, or the address of a function that has this signature in every MPI.
    let function = unsafe { std::mem::transmute::<*mut c_void, Option<Initialized>>(found) };
    let mut flag = 0;
    // SAFETY: it may be called at any time, also before the start and after the end of MPI, and sets the flag.
    let status = function.map(|function| unsafe { function(&mut flag) });
    // SAFETY: gives back the count taken above; the library stays loaded by whoever loaded it.
    unsafe { libc::dlclose(handle) };
    status == Some(0) && flag != 0
}
