//! PMIx: calls of the library that comes with the launcher.
//!
//! Only what has been the same since version 2 of its standard is used: seven functions, a process's name, and values
//! that are numbers or texts. The library counts its users in a process and serves all of them at once, so an MPI library
//! beside us is not disturbed.

use super::library::Library;
use super::{Exchange, nobody_came, unusable};
use crate::error::Result;
use crate::sync::brief::lock;
use std::ffi::{CStr, CString, c_char, c_int, c_void};
use std::ptr::{NonNull, null, null_mut};
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::time::Instant;

const PROTOCOL: &str = "PMIx";

// Names and numbers of the PMIx standard.
const JOB_SIZE: &CStr = c"pmix.job.size";
const LOCAL_SIZE: &CStr = c"pmix.local.size";
const COLLECT: &CStr = c"pmix.collect";
const RANK_WILDCARD: u32 = u32::MAX - 1;
const TYPE_BOOL: u16 = 1;
const TYPE_STRING: u16 = 3;
const TYPE_UINT32: u16 = 14;
const SCOPE_GLOBAL: u8 = 3;
const SUCCESS: c_int = 0;
/// A call without waiting was done at once, and will not call back.
const OPERATION_SUCCEEDED: c_int = -157;

/// `pmix_proc_t`
#[derive(Clone, Copy)]
#[repr(C)]
struct Process {
    space: [c_char; 256],
    rank: u32,
}

/// `pmix_value_t`: numbers are in the first word of the data, texts at its address. Older libraries have fewer words.
#[repr(C)]
struct Value {
    kind: u16,
    data: [u64; 3],
}

/// `pmix_info_t`: an option.
#[repr(C)]
struct Info {
    key: [c_char; 512],
    flags: u32,
    value: Value,
}

impl Info {
    /// Asks for something that is off otherwise.
    fn switch(key: &CStr) -> Info {
        // The first byte is the switch.
        let on = u64::from_ne_bytes([1, 0, 0, 0, 0, 0, 0, 0]);
        let mut info = Info { key: [0; 512], flags: 0, value: Value { kind: TYPE_BOOL, data: [on, 0, 0] } };
        for (place, byte) in info.key.iter_mut().zip(key.to_bytes()) {
            *place = *byte as c_char;
        }
        info
    }
}

type Options = *const Info;
type Callback = extern "C" fn(c_int, *mut c_void);

type Init = unsafe extern "C" fn(*mut Process, Options, usize) -> c_int;
type Finalize = unsafe extern "C" fn(Options, usize) -> c_int;
type Put = unsafe extern "C" fn(u8, *const c_char, *const Value) -> c_int;
type Commit = unsafe extern "C" fn() -> c_int;
type Fence = unsafe extern "C" fn(*const Process, usize, Options, usize, Callback, *mut c_void) -> c_int;
type Get = unsafe extern "C" fn(*const Process, *const c_char, Options, usize, *mut *mut Value) -> c_int;
type ErrorText = unsafe extern "C" fn(c_int) -> *const c_char;

/// The functions of the library.
struct Functions {
    init: Init,
    finalize: Finalize,
    put: Put,
    commit: Commit,
    fence: Fence,
    get: Get,
    error_text: ErrorText,
}

/// The connection of this process to its launcher.
pub struct Pmix {
    functions: Functions,
    me: Process,
    size: u32,
}

impl Pmix {
    /// Introduces this process.
    pub fn open() -> Result<Pmix> {
        let functions = Functions::of(&Library::find()?)?;
        let mut me = Process { space: [0; 256], rank: 0 };
        // SAFETY: the signature of the standard; a place for the name, and no options.
        functions.check("PMIx_Init", unsafe { (functions.init)(&mut me, null(), 0) })?;
        let mut pmix = Pmix { functions, me, size: 0 };
        pmix.size = pmix.number_of_job(JOB_SIZE)?;
        // A library that cannot reach the launcher may declare the process a job of its own.
        let expected = std::env::var("PMIX_RANK").ok().and_then(|rank| rank.trim().parse().ok());
        if expected != Some(me.rank) || me.rank >= pmix.size {
            let text = format!("it says that this is rank {} of {}, which cannot be", me.rank, pmix.size);
            return Err(unusable(PROTOCOL, text));
        }
        Ok(pmix)
    }

    fn number_of_job(&self, key: &CStr) -> Result<u32> {
        match self.value_of(RANK_WILDCARD, key)? {
            Answer { kind: TYPE_UINT32, word } => Ok(word as u32),
            _ => Err(unusable(PROTOCOL, format!("{} is no number", key.to_string_lossy()))),
        }
    }

    fn text_of(&self, rank: u32, key: &CStr) -> Result<String> {
        let answer = self.value_of(rank, key)?;
        if answer.kind != TYPE_STRING || answer.word == 0 {
            return Err(unusable(PROTOCOL, format!("{} is no text", key.to_string_lossy())));
        }
        // SAFETY: a terminated text that the library has allocated for us.
        Ok(unsafe { CStr::from_ptr(answer.word as *const c_char) }.to_string_lossy().into_owned())
    }

    fn value_of(&self, rank: u32, key: &CStr) -> Result<Answer> {
        let process = Process { rank, ..self.me };
        let mut value: *mut Value = null_mut();
        // SAFETY: the signature of the standard; the library stores the address of a value it has allocated.
        let status = unsafe { (self.functions.get)(&process, key.as_ptr(), null(), 0, &mut value) };
        self.functions.check("PMIx_Get", status)?;
        if value.is_null() {
            return Err(unusable(PROTOCOL, format!("{} has no value", key.to_string_lossy())));
        }
        // SAFETY: every value has a type and at least one word of data.
        let answer = unsafe { Answer { kind: (*value).kind, word: (*value).data[0] } };
        // SAFETY: it came from `malloc`, and is used no more.
        unsafe { libc::free(value.cast()) };
        Ok(answer)
    }

    /// Waits for all ranks of the job.
    fn meet_all(&self, deadline: Instant) -> Result<()> {
        let reply = Arc::new(Reply {
            everyone: Process { rank: RANK_WILDCARD, ..self.me },
            // What all have said is brought here meanwhile: nobody has to be asked for it later, when it may have ended.
            collect: Info::switch(COLLECT),
            status: Mutex::new(None),
            came: Condvar::new(),
        });
        let theirs = Arc::into_raw(reply.clone());
        let data = theirs as *mut c_void;
        // SAFETY: the signature of the standard. The library calls back once, with a share of `reply`, also if that is after we
        // have given up; until then names and options stay where they are.
        match unsafe { (self.functions.fence)(&reply.everyone, 1, &reply.collect, 1, fence_ended, data) } {
            SUCCESS => {}
            status => {
                // SAFETY: nobody calls back, so the share is still ours.
                drop(unsafe { Arc::from_raw(theirs) });
                let failed = if status == OPERATION_SUCCEEDED { SUCCESS } else { status };
                return self.functions.check("PMIx_Fence_nb", failed);
            }
        }
        let status = reply.wait(deadline).ok_or_else(|| nobody_came(PROTOCOL))?;
        self.functions.check("PMIx_Fence_nb", status)
    }
}

impl Exchange for Pmix {
    fn rank(&self) -> usize {
        self.me.rank as usize
    }

    fn size(&self) -> usize {
        self.size as usize
    }

    fn spans_hosts(&self) -> Result<bool> {
        Ok(self.number_of_job(LOCAL_SIZE).map_or(true, |here| here < self.size))
    }

    fn put(&self, topic: &str, text: &str) -> Result<()> {
        let (key, text) = (key(topic), CString::new(text).expect("no zero in what ranks say"));
        let value = Value { kind: TYPE_STRING, data: [text.as_ptr() as u64, 0, 0] };
        // SAFETY: the signature of the standard; key and value are copied during the call.
        let status = unsafe { (self.functions.put)(SCOPE_GLOBAL, key.as_ptr(), &value) };
        self.functions.check("PMIx_Put", status)?;
        // SAFETY: the signature of the standard.
        self.functions.check("PMIx_Commit", unsafe { (self.functions.commit)() })
    }

    fn fence(&self, deadline: Instant) -> Result<()> {
        self.meet_all(deadline)
    }

    fn get(&self, rank: usize, topic: &str) -> Result<String> {
        self.text_of(rank as u32, &key(topic))
    }

    fn say_goodbye(&self) {
        // SAFETY: the signature of the standard. The last of its users in this process closes the connection.
        unsafe { (self.functions.finalize)(null(), 0) };
    }
}

/// The key of what a rank says on a topic: each rank has its own keys.
fn key(topic: &str) -> CString {
    CString::new(format!("hikyaku.{topic}")).expect("no zero in a topic")
}

/// The type of a value, and the first word of its data.
struct Answer {
    kind: u16,
    word: u64,
}

impl Drop for Answer {
    fn drop(&mut self) {
        if self.kind == TYPE_STRING {
            // SAFETY: a text came from `malloc`, or is none; it is used no more.
            unsafe { libc::free(self.word as *mut c_void) };
        }
    }
}

/// What a call was asked that did not wait, and how it ended.
struct Reply {
    everyone: Process,
    collect: Info,
    status: Mutex<Option<c_int>>,
    came: Condvar,
}

impl Reply {
    fn wait(&self, deadline: Instant) -> Option<c_int> {
        let left = deadline.saturating_duration_since(Instant::now());
        let status = lock(&self.status);
        let waited = self.came.wait_timeout_while(status, left, |status| status.is_none());
        *waited.unwrap_or_else(PoisonError::into_inner).0
    }
}

/// Runs in a thread of the library.
extern "C" fn fence_ended(status: c_int, data: *mut c_void) {
    // SAFETY: the share that was given to the call, which calls back once.
    let reply = unsafe { Arc::from_raw(data as *const Reply) };
    *lock(&reply.status) = Some(status);
    reply.came.notify_all();
}

impl Functions {
    fn of(library: &Library) -> Result<Functions> {
        macro_rules! function {
            ($name:literal, $signature:ty) => {
                // SAFETY: a function of that name has the signature of the standard.
                unsafe { std::mem::transmute::<NonNull<c_void>, $signature>(library.function($name)?) }
            };
        }
        Ok(Functions {
            init: function!(c"PMIx_Init", Init),
            finalize: function!(c"PMIx_Finalize", Finalize),
            put: function!(c"PMIx_Put", Put),
            commit: function!(c"PMIx_Commit", Commit),
            fence: function!(c"PMIx_Fence_nb", Fence),
            get: function!(c"PMIx_Get", Get),
            error_text: function!(c"PMIx_Error_string", ErrorText),
        })
    }

    fn check(&self, call: &str, status: c_int) -> Result<()> {
        if status == SUCCESS {
            return Ok(());
        }
        // SAFETY: gives a constant text, or nothing, for every number.
        let text = unsafe { (self.error_text)(status) };
        // SAFETY: constant and terminated.
        let text = if text.is_null() { "".into() } else { unsafe { CStr::from_ptr(text) }.to_string_lossy() };
        Err(unusable(PROTOCOL, format!("{call} fails ({status} {text})")))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::cell::RefCell;

    thread_local! {
        /// What the library still has to say.
        static SAYS: RefCell<Vec<u8>> = const { RefCell::new(Vec::new()) };
    }

    /// The next so many bytes; zeros when there are no more.
    fn said<const N: usize>() -> [u8; N] {
        SAYS.with_borrow_mut(|says| {
            let mut bytes = [0; N];
            let count = says.len().min(N);
            says.drain(..count).zip(&mut bytes).for_each(|(from, to)| *to = from);
            bytes
        })
    }

    fn status() -> c_int {
        // Mostly well, or little else would be said.
        match u32::from_le_bytes(said()) {
            code if code % 4 == 0 => code as c_int,
            _ => SUCCESS,
        }
    }

    unsafe extern "C" fn init(_: *mut Process, _: Options, _: usize) -> c_int {
        status()
    }

    unsafe extern "C" fn finalize(_: Options, _: usize) -> c_int {
        status()
    }

    unsafe extern "C" fn put(_: u8, _: *const c_char, _: *const Value) -> c_int {
        status()
    }

    unsafe extern "C" fn commit() -> c_int {
        status()
    }

    unsafe extern "C" fn fence(
        _: *const Process,
        _: usize,
        _: Options,
        _: usize,
        ended: Callback,
        data: *mut c_void,
    ) -> c_int {
        match status() {
            SUCCESS => {
                ended(status(), data);
                SUCCESS
            }
            other => other,
        }
    }

    /// Memory of the C library, as the standard says; its content is what was said.
    unsafe extern "C" fn get(
        _: *const Process,
        _: *const c_char,
        _: Options,
        _: usize,
        value: *mut *mut Value,
    ) -> c_int {
        let [kind, word, has_value, ..]: [u8; 4] = said();
        let kind = [TYPE_STRING, TYPE_UINT32, kind as u16][kind as usize % 3];
        // A text is at an address, or nowhere: anything else would break the library's own promise.
        let has_text = kind == TYPE_STRING && word % 4 != 0 && has_value % 16 != 0;
        let text = has_text.then(|| CString::new(said::<60>().map(|byte| byte.max(1))).unwrap());
        let number = if kind == TYPE_STRING { 0 } else { u64::from_le_bytes(said()) };
        let status = status();
        if status == SUCCESS && has_value % 16 != 0 {
            // SAFETY: copies a terminated text; fresh memory of that size, if there is any.
            unsafe {
                let word = text.map_or(number, |text| libc::strdup(text.as_ptr()) as u64);
                let place = libc::malloc(size_of::<Value>()).cast::<Value>();
                place.write(Value { kind, data: [word, 0, 0] });
                value.write(place);
            }
        }
        status
    }

    unsafe extern "C" fn error_text(code: c_int) -> *const c_char {
        if code % 2 == 0 { null() } else { c"trouble".as_ptr() }
    }

    #[test]
    fn options_have_the_form_of_the_standard() {
        assert_eq!((size_of::<Process>(), size_of::<Value>(), size_of::<Info>()), (260, 32, 552));
        assert_eq!((std::mem::offset_of!(Info, flags), std::mem::offset_of!(Info, value)), (512, 520));
    }

    /// A library that answers anything, within what its standard says about memory.
    #[test]
    fn fuzz_pmix() {
        let functions = || Functions { init, finalize, put, commit, fence, get, error_text };
        let answer = |kind: u8, word: u8| [&[kind, word, 1, 0][..], &[b'x'; 60], &[1, 0, 0, 0]].concat();
        let samples = [answer(1, 1), answer(0, 2), [answer(1, 1), answer(0, 2), vec![1; 40]].concat(), vec![1; 100]];
        crate::fuzz::run("pmix", &samples, |input| {
            SAYS.set(input.to_vec());
            let me = Process { space: [0; 256], rank: 0 };
            let mut pmix = Pmix { functions: functions(), me, size: 0 };
            pmix.size = pmix.number_of_job(JOB_SIZE).unwrap_or(2);
            let _ = (pmix.rank(), pmix.size(), pmix.spans_hosts());
            let _ = pmix.put("card", "word");
            let _ = pmix.fence(Instant::now());
            let _ = Exchange::get(&pmix, 1, "card");
            pmix.say_goodbye();
        });
    }
}
