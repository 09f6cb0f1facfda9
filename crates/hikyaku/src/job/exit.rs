//! The end of a process that a launcher of another library has started, or a wrapper under our own.
//!
//! Such a launcher takes a process that ends without a goodbye for a failed one, and ends the others. And no launcher of ours
//! is there to see that a process which ends without dropping its job ended well. So both is said when the program ends by
//! `exit(0)` or by returning from `main`. Whoever ends otherwise says nothing, and is taken for dead.
//!
//! Any thread may call `exit`, and the others go on until the process is gone: one of them may be copying into a buffer of a
//! peer. So the rank has not left by it. It says that it means well, and has left when the others see its process end
//! ([`super::watch`]).

use super::news::tell_own_end;
use super::pmi::Exchange;
use crate::error::{Error, Result};
use crate::ni::Ni;
use std::ffi::{c_int, c_void};
use std::sync::atomic::Ordering;
use std::sync::{Arc, OnceLock, Weak};

static AT_EXIT: OnceLock<AtExit> = OnceLock::new();

struct AtExit {
    /// A forked child that exits is not the rank.
    process: u32,
    /// Nothing if it is ours, which sees the process end.
    launcher: Option<Box<dyn Exchange>>,
    part: OnceLock<Weak<Ni>>,
}

/// Has the launcher told when the process ends properly.
pub(super) fn say_goodbye_to(launcher: Box<dyn Exchange>) -> Result<&'static dyn Exchange> {
    let entry = AtExit { process: std::process::id(), launcher: Some(launcher), part: OnceLock::new() };
    let entry = AT_EXIT.get_or_init(|| entry);
    at_exit(run)?;
    entry.launcher.as_deref().ok_or(Error::Launcher { reason: "this process has joined a job already".into() })
}

/// Has our own launcher told when the process ends properly, if a wrapper has started it: the wrapper alone learns its status.
pub(super) fn note_under_wrapper(ni: &Arc<Ni>, launcher: u64) -> Result<()> {
    if rustix::process::getppid().is_some_and(|parent| parent.as_raw_nonzero().get() as u64 == launcher) {
        return Ok(());
    }
    AT_EXIT.get_or_init(|| AtExit { process: std::process::id(), launcher: None, part: OnceLock::new() });
    leave(ni);
    at_exit(run)
}

/// Has the peers told as well, when the process is gone, if this rank has not left its job by then.
pub(super) fn leave(ni: &Arc<Ni>) {
    if let Some(entry) = AT_EXIT.get() {
        entry.part.get_or_init(|| Arc::downgrade(ni));
    }
}

extern "C" fn run(status: c_int, _: *mut c_void) {
    let Some(entry) = AT_EXIT.get().filter(|entry| status == 0 && entry.process == std::process::id()) else { return };
    if let Some(ni) = entry.part.get().and_then(Weak::upgrade)
        && !ni.mine().life.state().is_over()
    {
        ni.mine().life.farewell.store(1, Ordering::SeqCst);
        if entry.launcher.is_some() {
            // Nobody of this host may be left to tell it. No thread of this process touches memory of other hosts, except by asking them.
            tell_own_end(&ni, ni.leaves_as());
        }
    }
    if let Some(launcher) = &entry.launcher {
        launcher.say_goodbye();
    }
}

/// Has a function called when the process ends by `exit` or by returning from `main`: with the status, and nothing else. For
/// libraries that programs in other languages load; the one with the function stays loaded. Where the C library cannot tell
/// the status, the function is not called.
pub fn at_exit(function: extern "C" fn(c_int, *mut c_void)) -> Result<()> {
    type OnExit = unsafe extern "C" fn(extern "C" fn(c_int, *mut c_void), *mut c_void) -> c_int;
    // SAFETY: a terminated name.
    let found = unsafe { libc::dlsym(libc::RTLD_DEFAULT, c"on_exit".as_ptr()) };
    // SAFETY: null, or the address of a function that has this signature.
    let Some(on_exit) = (unsafe { std::mem::transmute::<*mut c_void, Option<OnExit>>(found) }) else { return Ok(()) };
    stay_loaded(function as *const c_void);
    // SAFETY: the function takes what it is given and stays loaded.
    match unsafe { on_exit(function, std::ptr::null_mut()) } {
        0 => Ok(()),
        _ => Err(Error::System { call: "on_exit", errno: libc::ENOMEM }),
    }
}

/// If the code is in a shared library, it must not be unloaded before the end.
fn stay_loaded(code: *const c_void) {
    let mut here = std::mem::MaybeUninit::<libc::Dl_info>::zeroed();
    // SAFETY: an address of code, and a place for the answer.
    if unsafe { libc::dladdr(code, here.as_mut_ptr()) } == 0 {
        return;
    }
    // SAFETY: filled by the call, and zeroed before. Loading what is loaded changes only its flags.
    unsafe {
        let name = here.assume_init().dli_fname;
        if !name.is_null() {
            libc::dlopen(name, libc::RTLD_LAZY | libc::RTLD_NOLOAD | libc::RTLD_NODELETE);
        }
    }
}
