//! The BLACS that a program opens while it runs lead here.
//!
//! Where a program is linked with ScaLAPACK, a library that is loaded before it takes the place of its BLACS: whoever is bound to a
//! name finds the first library that has it. A program that opens ScaLAPACK by `dlopen` (from Python or Julia, say) asks for names of
//! that library alone, by `dlsym`. Then some calls would come here and others would go to the BLACS of MPI, each of which knows nothing of
//! the grids of the other. The same happens inside of libraries that are opened with `RTLD_DEEPBIND` or were linked with `-Bsymbolic`.
//!
//! So the functions themselves are replaced: the first instructions of each function of the BLACS in another library become a jump to
//! the one here. However a caller has found it, it comes here. A library can only be called after somebody has asked for a name, so
//! this is done inside of `dlsym`, when there is something new in the process.

use crate::abort;
use crate::error::Trouble;
use crate::jump;
use crate::object::{self, Object};
use std::ffi::{CStr, c_void};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

/// Some of these names are in every library that has a part of the BLACS.
const SIGNS: [&CStr; 4] = [c"blacs_gridinit_", c"Cblacs_gridinit", c"blacs_pinfo_", c"Cblacs_pinfo"];

/// How many objects had been loaded when the process was last looked through.
static SEEN: AtomicU64 = AtomicU64::new(0);
/// Somebody looks through it; what that calls may ask for names again.
static BUSY: AtomicBool = AtomicBool::new(false);

/// Takes the place of the BLACS in libraries that were loaded since the last call.
pub fn take_over() {
    if object::loads() == SEEN.load(Ordering::Acquire) || BUSY.swap(true, Ordering::AcqRel) {
        return;
    }
    let loads = object::loads();
    if let Some(own) = this_library() {
        object::each(&mut |other| {
            if !other.name.is_empty() && SIGNS.iter().any(|sign| other.find(sign).is_some()) {
                replace(&own, &other);
            }
        });
    }
    SEEN.store(loads, Ordering::Release);
    BUSY.store(false, Ordering::Release);
}

/// The library with these functions, unless they are a part of the program itself: that takes its place by being first.
fn this_library() -> Option<Object> {
    let mut found = None;
    object::each(&mut |object| {
        if object.contains(look as *const () as usize) && !object.name.is_empty() {
            found = Some(object);
        }
    });
    found
}

fn replace(own: &Object, other: &Object) {
    for function in own.functions() {
        let Some(theirs) = other.find(function.name).filter(|theirs| theirs.address != function.address) else {
            continue;
        };
        // SAFETY: functions of one name of the BLACS have one interface. Nobody could call this one before.
        if let Err(error) = unsafe { jump::lead(theirs, function.address) } {
            let trouble = Trouble::Takeover { library: other.name.to_string_lossy().into(), why: error.to_string() };
            abort::fail(&trouble, None, "BLACS");
        }
    }
}

/// `dlsym` of the C library; before, what was opened is looked at.
extern "C" fn look() -> *const c_void {
    take_over();
    real()
}

/// What the C library has under the name that is taken here.
fn real() -> *const c_void {
    // Since this version of the C library it is in the library itself, not in libdl; before, under the first version there is.
    const VERSIONS: [&CStr; 3] = [c"GLIBC_2.34", c"GLIBC_2.17", c"GLIBC_2.2.5"];
    let find = |version: &&CStr| {
        // SAFETY: terminated names.
        let found = unsafe { libc::dlvsym(libc::RTLD_NEXT, c"dlsym".as_ptr(), version.as_ptr()) };
        (!found.is_null()).then_some(found.cast_const())
    };
    match VERSIONS.iter().find_map(find) {
        Some(real) => real,
        // Without it nobody could be told anything.
        None => std::process::abort(),
    }
}

/// Finds a name, as ever. It jumps to the real one, which must see from where it was called: `RTLD_NEXT` means the libraries
/// behind that one.
#[cfg(target_arch = "x86_64")]
#[unsafe(naked)]
#[unsafe(export_name = "dlsym")]
unsafe extern "C" fn dlsym(handle: *mut c_void, name: *const std::ffi::c_char) -> *mut c_void {
    std::arch::naked_asm!(
        "push rdi",
        "push rsi",
        "sub rsp, 8",
        "call {look}",
        "add rsp, 8",
        "pop rsi",
        "pop rdi",
        "jmp rax",
        look = sym look,
    )
}

/// As above.
#[cfg(target_arch = "aarch64")]
#[unsafe(naked)]
#[unsafe(export_name = "dlsym")]
unsafe extern "C" fn dlsym(handle: *mut c_void, name: *const std::ffi::c_char) -> *mut c_void {
    std::arch::naked_asm!(
        "stp x29, x30, [sp, #-32]!",
        "stp x0, x1, [sp, #16]",
        "bl {look}",
        "mov x16, x0",
        "ldp x0, x1, [sp, #16]",
        "ldp x29, x30, [sp], #32",
        "br x16",
        look = sym look,
    )
}
