//! What a caller in C gives: addresses, each with the promise that the header demands of it.
//!
//! Rust cannot make a value of a type here: each comes in as an argument of a function that C calls ([`exported`]), as the address
//! that C passes, and the caller has promised in the header what the type says. So the promise is written once, beside the
//! type, and the functions that take one are ordinary code. What can be checked (null, sizes, overlap) is checked here. A value lives
//! as long as the call, `'a`, in which the promise holds.
//!
//! Memory that peers may change meanwhile never comes behind a reference: it is copied by address.

mod parts;

use crate::error::Failure;
use crate::message::CMessage;
use core_hikyaku::ffi::{RawMatching, RawPath, RawPort, RawTransfers, Request, copy_out};
use core_hikyaku::matching::{self, Keys, Matching};
use core_hikyaku::{ARGUMENT_COUNT, Area, Arguments, PAYLOAD_MAX, Place, Port, PushPath};
use std::ffi::{CStr, c_char, c_int, c_void};
use std::marker::PhantomData;

/// Functions that C finds by their names, with arguments of the types here.
macro_rules! exported {
    ($($(#[$text:meta])* pub fn $name:ident($($arguments:tt)*) $(-> $result:ty)? $body:block)*) => {
        $(
            $(#[$text])*
            // No other library has functions that begin with `hk_`, `fmpl_` or `ompl_`.
            #[unsafe(no_mangle)]
            pub extern "C" fn $name($($arguments)*) $(-> $result)? {
                $crate::current::with(|current| current.call.set(Some(&stringify!($name))));
                $body
            }
        )*
    };
}

/// A procedure that Fortran finds by its name.
macro_rules! exported_as {
    ($name:expr, fn($($arguments:tt)*) $body:block) => {
        // No other library has procedures that begin with `fmpl_`.
        #[unsafe(export_name = $name)]
        extern "C" fn procedure($($arguments)*) {
            $crate::current::with(|current| current.call.set(Some(&$name)));
            $body
        }
    };
}

/// Constants that C finds by their names.
macro_rules! exported_constants {
    ($($name:ident: $type:ty = $value:expr;)*) => {
        $(
            #[allow(non_upper_case_globals)]
            // No other library has constants that begin with `fmpl_`.
            #[unsafe(no_mangle)]
            pub static $name: $type = $value;
        )*
    };
}

pub(crate) use {exported, exported_as, exported_constants};

/// Null, or the place of a `T` that is the caller's to write.
#[repr(transparent)]
pub struct Out<'a, T>(*mut T, PhantomData<&'a mut T>);

impl<T> Out<'_, T> {
    /// Fails for a null pointer.
    #[inline(always)]
    pub fn required(&self, what: &'static str) -> Result<(), Failure> {
        required(self.0, what)
    }

    /// Gives `value` to the caller, if it wants it.
    #[inline(always)]
    pub fn give(&self, value: T) {
        if !self.0.is_null() {
            // SAFETY: not null, and the caller's to write.
            unsafe { self.0.write(value) };
        }
    }
}

/// Null, or the place of a `T` that is the caller's to read.
#[repr(transparent)]
pub struct In<'a, T>(*const T, PhantomData<&'a T>);

impl<T: Copy> In<'_, T> {
    /// What is there; fails for a null pointer.
    #[inline(always)]
    pub fn read(&self, what: &'static str) -> Result<T, Failure> {
        required(self.0, what)?;
        // SAFETY: not null, and the caller's to read.
        Ok(unsafe { self.0.read() })
    }

    /// As many as are the caller's to read there.
    pub fn slice(&self, count: usize, what: &'static str) -> Result<&[T], Failure> {
        required(self.0, what)?;
        // SAFETY: not null, and so many are the caller's to read, by the header.
        Ok(unsafe { std::slice::from_raw_parts(self.0, count) })
    }
}

impl<T: Copy> In<'_, T> {
    /// As many as are the caller's to read there; nothing for a null pointer.
    pub fn optional_slice(&self, count: usize) -> Option<&[T]> {
        self.slice(count, "a list").ok()
    }
}

impl In<'_, u64> {
    /// A private copy of a bitmap of so many units of `unit` bytes: peers may be changing it.
    pub fn bitmap(&self, unit: usize, units: usize) -> Result<Vec<u64>, Failure> {
        if unit == 0 {
            return Err(Failure::Choice { what: "unit", value: 0 });
        }
        let bytes = unit.saturating_mul(units);
        let (count, mut words) = (units.div_ceil(64), Vec::new());
        if bytes > isize::MAX as usize || words.try_reserve_exact(count).is_err() {
            return Err(Failure::Size(bytes));
        }
        if count > 0 {
            required(self.0, "the bitmap")?;
            words.resize(count, 0);
            // SAFETY: not null, and so many are the caller's to read, by the header.
            unsafe { copy_out(self.0.cast(), bytemuck::cast_slice_mut(&mut words)) };
        }
        Ok(words)
    }
}

impl In<'_, Arguments> {
    /// The words of a message, or zeros for null.
    #[inline(always)]
    pub fn words(&self) -> Arguments {
        if self.0.is_null() {
            return [0; ARGUMENT_COUNT];
        }
        // SAFETY: not null, and the caller's to read.
        unsafe { self.0.read_unaligned() }
    }
}

/// Null, or the place of a `T` that is the caller's to read and write.
#[repr(transparent)]
pub struct InOut<'a, T>(*mut T, PhantomData<&'a mut T>);

impl<T: Copy> InOut<'_, T> {
    /// What is there; fails for a null pointer.
    pub fn read(&self, what: &'static str) -> Result<T, Failure> {
        required(self.0, what)?;
        // SAFETY: not null, and the caller's to read.
        Ok(unsafe { self.0.read() })
    }

    /// Gives `value` to the caller.
    pub fn give(&self, value: T) {
        if !self.0.is_null() {
            // SAFETY: not null, and the caller's to write.
            unsafe { self.0.write(value) };
        }
    }
}

/// The place of as many `T` as the caller says, which are its own to read and write; or anything for none.
#[repr(transparent)]
pub struct Several<'a, T>(*mut T, PhantomData<&'a mut [T]>);

impl<T: Copy> Several<'_, T> {
    /// A copy of all `count`, at most `max`.
    pub fn read(&self, count: usize, max: usize, what: &'static str) -> Result<Vec<T>, Failure> {
        if count > max {
            return Err(Failure::Choice { what: "possible count", value: count as i64 });
        }
        if count == 0 {
            return Ok(Vec::new());
        }
        required(self.0, what)?;
        // SAFETY: not null, and so many are the caller's to read, by the header.
        Ok(unsafe { std::slice::from_raw_parts(self.0, count) }.to_vec())
    }

    /// Fails for a null pointer, unless there are none.
    pub fn required(&self, count: usize, what: &'static str) -> Result<(), Failure> {
        if count == 0 { Ok(()) } else { required(self.0, what) }
    }

    /// Gives one of `count` back.
    pub fn give(&self, index: usize, count: usize, value: T) {
        assert!(index < count, "one of them");
        // SAFETY: so many are the caller's to write, by the header.
        unsafe { self.0.add(index).write(value) };
    }
}

/// The place of bytes that are the caller's to read, or anything for none.
#[repr(transparent)]
pub struct Source<'a>(*const c_void, PhantomData<&'a [u8]>);

impl<'a> Source<'a> {
    /// `size` bytes that nobody writes meanwhile.
    #[inline(always)]
    pub fn bytes(&self, size: usize) -> Result<&'a [u8], Failure> {
        let start = self.address(size)?;
        // SAFETY: the caller's to read, not null, and no longer than a slice may be.
        Ok(if start.is_null() { &[] } else { unsafe { std::slice::from_raw_parts(start, size) } })
    }

    /// Where they are, after a look at the pointer: `size` bytes can be read there, or it is null and there are none.
    #[inline(always)]
    pub fn address(&self, size: usize) -> Result<*const u8, Failure> {
        check(self.0, size)?;
        Ok(self.0.cast())
    }

    /// A private copy of the payload of a message: what the caller gives may lie where peers write.
    #[inline(always)]
    pub fn payload<R>(&self, bytes: usize, send: impl FnOnce(&[u8]) -> R) -> Result<R, Failure> {
        let start = self.address(bytes)?;
        if bytes == 0 {
            return Ok(send(&[]));
        }
        let (mut short, mut long) = ([0; SHORT_PAYLOAD], Vec::new());
        let copy = match bytes <= SHORT_PAYLOAD {
            true => &mut short[..bytes],
            false => {
                // One that is too long is refused, however much of it there is.
                long.resize(bytes.min(PAYLOAD_MAX + 1), 0);
                &mut long[..]
            }
        };
        // SAFETY: the caller's to read; not null.
        unsafe { copy_out(start, copy) };
        Ok(send(copy))
    }

    /// Pushes `size` bytes.
    #[inline(always)]
    pub fn push(&self, port: &Port, to: Place<'_, u8>, size: usize) -> Result<(), Failure> {
        let data = self.address(size)?;
        // SAFETY: the caller's to read.
        Ok(unsafe { port.push_from(to, data, size) }?)
    }

    /// Pushes `size` bytes by a given path.
    pub fn push_by(&self, port: &Port, path: PushPath, to: Place<'_, u8>, size: usize) -> Result<(), Failure> {
        let data = self.address(size)?;
        // SAFETY: the caller's to read.
        Ok(unsafe { port.push_by_from(path, to, data, size) }?)
    }

    /// Pushes `size` bytes, then a word to the target.
    #[inline(always)]
    pub fn push_notify(
        &self,
        port: &Port,
        to: Place<'_, u8>,
        size: usize,
        flag: Place<'_, u64>,
        value: u64,
    ) -> Result<(), Failure> {
        let data = self.address(size)?;
        // SAFETY: the caller's to read.
        Ok(unsafe { port.push_notify_from(to, data, size, flag, value) }?)
    }

    /// Pushes `size` bytes, then adds to a word of the target.
    #[inline(always)]
    pub fn push_notify_add(
        &self,
        port: &Port,
        to: Place<'_, u8>,
        size: usize,
        counter: Place<'_, u64>,
        amount: u64,
    ) -> Result<(), Failure> {
        let data = self.address(size)?;
        // SAFETY: the caller's to read.
        Ok(unsafe { port.push_notify_add_from(to, data, size, counter, amount) }?)
    }

    /// Pushes `size` bytes, then sets a word here.
    #[inline(always)]
    pub fn push_status(
        &self,
        port: &Port,
        to: Place<'_, u8>,
        size: usize,
        status: Place<'_, u64>,
        value: u64,
    ) -> Result<(), Failure> {
        let data = self.address(size)?;
        // SAFETY: the caller's to read.
        Ok(unsafe { port.push_status_from(to, data, size, status, value) }?)
    }
}

/// Bytes to read, and others to write.
pub type Apart<'a> = (&'a [u8], &'a mut [u8]);

/// The place of bytes that are the caller's to read and write, and nobody else's meanwhile; or anything for none.
#[repr(transparent)]
pub struct Target<'a>(*mut c_void, PhantomData<&'a mut [u8]>);

impl<'a> Target<'a> {
    /// `size` bytes. They are given away once.
    #[inline(always)]
    pub fn bytes(self, size: usize) -> Result<&'a mut [u8], Failure> {
        let start = self.address(size)?;
        // SAFETY: the caller's to read and write, not null, and no longer than a slice may be; `self` is gone.
        Ok(if start.is_null() { &mut [] } else { unsafe { std::slice::from_raw_parts_mut(start, size) } })
    }

    /// Where they are, after a look at the pointer: `size` bytes can be written there, or it is null and there are none.
    #[inline(always)]
    pub fn address(&self, size: usize) -> Result<*mut u8, Failure> {
        check(self.0, size)?;
        Ok(self.0.cast())
    }

    /// Whether it lies at a multiple of so many bytes.
    pub fn is_aligned(&self, bytes: usize) -> bool {
        self.0.addr().is_multiple_of(bytes)
    }

    /// `other_size` bytes there and `size` bytes here, which may not overlap.
    fn apart(self, size: usize, other: &Source<'a>, other_size: usize) -> Result<Apart<'a>, Failure> {
        if self.overlaps(size, other.0.cast(), other_size) {
            return Err(Failure::Overlap);
        }
        Ok((other.bytes(other_size)?, self.bytes(size)?))
    }

    fn overlaps(&self, size: usize, other: *const u8, other_size: usize) -> bool {
        size > 0
            && other_size > 0
            && other.addr() < self.0.addr().saturating_add(size)
            && self.0.addr() < other.addr().saturating_add(other_size)
    }

    /// The twin of as many bytes elsewhere, which peers may change meanwhile.
    fn twin_of(self, data: *const u8, size: usize) -> Result<&'a mut [u8], Failure> {
        if self.overlaps(size, data, size) { Err(Failure::Overlap) } else { self.bytes(size) }
    }

    /// Pulls `size` bytes.
    #[inline(always)]
    pub fn pull(&self, port: &Port, from: Place<'_, u8>, size: usize) -> Result<(), Failure> {
        let into = self.address(size)?;
        // SAFETY: the caller's to write.
        Ok(unsafe { port.pull_into(from, into, size) }?)
    }

    /// Pulls `size` bytes, then sets a word here.
    #[inline(always)]
    pub fn pull_status(
        &self,
        port: &Port,
        from: Place<'_, u8>,
        size: usize,
        status: Place<'_, u64>,
        value: u64,
    ) -> Result<(), Failure> {
        let into = self.address(size)?;
        // SAFETY: the caller's to write.
        Ok(unsafe { port.pull_status_into(from, into, size, status, value) }?)
    }
}

/// The two buffers of a call, which may not overlap.
pub fn apart<'a>(
    from: Source<'a>,
    from_bytes: usize,
    into: Target<'a>,
    into_bytes: usize,
) -> Result<Apart<'a>, Failure> {
    into.apart(into_bytes, &from, from_bytes)
}

/// The place of bytes that are the caller's to read, and to write for a pull, until the transfer that it starts with them has ended; or
/// anything for none.
#[repr(transparent)]
pub struct Lasting(*mut c_void);

impl Lasting {
    /// Starts to push `size` bytes.
    pub fn start_push(&self, port: &Port, to: Place<'_, u8>, size: usize) -> Result<u64, Failure> {
        check(self.0, size)?;
        // SAFETY: the caller's to read until it has ended, as the header demands.
        Ok(unsafe { port.start_push_from(to, self.0.cast(), size) }?)
    }

    /// Starts to pull `size` bytes.
    pub fn start_pull(&self, port: &Port, from: Place<'_, u8>, size: usize) -> Result<u64, Failure> {
        check(self.0, size)?;
        // SAFETY: the caller's to write until it has ended, as the header demands.
        Ok(unsafe { port.start_pull_into(from, self.0.cast(), size) }?)
    }

    /// Starts to send `size` bytes.
    pub fn start_send(&self, matching: &Matching<'_>, size: usize, rank: usize, key: u64) -> Result<Request, Failure> {
        check(self.0, size)?;
        // SAFETY: the caller's to read until it has ended, as the header demands.
        Ok(unsafe { matching.isend(self.0.cast(), size, rank, key) }?)
    }

    /// Starts to receive at most `size` bytes.
    pub fn start_receive(
        &self,
        matching: &Matching<'_>,
        size: usize,
        from: matching::Source,
        keys: Keys,
    ) -> Result<Request, Failure> {
        check(self.0, size)?;
        // SAFETY: the caller's to write until it has ended, as the header demands.
        Ok(unsafe { matching.irecv(self.0.cast(), size, from, keys) }?)
    }
}

/// Memory of the program that it lets peers reach: it stays until it is revoked, and meanwhile the program reads and writes it as
/// the header says.
#[derive(Clone, Copy, Debug)]
#[repr(transparent)]
pub struct Registered(*mut c_void);

impl Registered {
    pub fn address(self) -> Address {
        Address(self.0)
    }

    /// Whether `bytes` bytes there are words.
    pub fn is_words(self, bytes: usize) -> Result<bool, Failure> {
        required(self.0, "the memory to be registered")?;
        if self.0.addr().checked_add(bytes).is_none() || bytes > isize::MAX as usize {
            return Err(Failure::Size(bytes));
        }
        Ok(self.0.addr().is_multiple_of(8) && bytes.is_multiple_of(8))
    }

    /// Lets peers reach `bytes` bytes, as words.
    pub fn words(self, port: &Port, id: u32, bytes: usize) -> Result<Area<u64>, Failure> {
        assert!(self.is_words(bytes)?);
        // SAFETY: the memory stays until it is revoked, as the header demands; aligned, as was just seen.
        Ok(unsafe { port.register_raw(id, self.0.cast(), bytes / 8)? })
    }

    /// Lets peers reach `bytes` bytes.
    pub fn bytes(self, port: &Port, id: u32, bytes: usize) -> Result<Area<u8>, Failure> {
        self.is_words(bytes)?;
        // SAFETY: the memory stays until it is revoked, as the header demands.
        Ok(unsafe { port.register_raw(id, self.0.cast(), bytes)? })
    }
}

/// `hk_handler`: a function of the program that takes these.
#[derive(Clone, Copy)]
#[repr(transparent)]
pub struct Function(unsafe extern "C" fn(*mut c_void, *const CMessage, *mut c_void));

impl Function {
    /// Runs the handler on a context that is known to this thread.
    pub fn run(self, context: *mut c_void, message: &CMessage, user: User) {
        // SAFETY: a function of the program that takes these; it can only hand the context back, which is then looked at, and the
        // message lives during the call.
        unsafe { (self.0)(context, message, user.0) };
    }
}

/// What a handler wants to be given; never followed here.
#[derive(Clone, Copy)]
#[repr(transparent)]
pub struct User(*mut c_void);

// SAFETY: the header tells that a handler runs on whichever thread finds the message.
unsafe impl Send for User {}

/// An address that is handed out to the program, and never followed here.
#[derive(Clone, Copy, Debug)]
pub struct Address(pub *mut c_void);

// SAFETY: whoever has it can only hand it on.
unsafe impl Send for Address {}
// SAFETY: as above.
unsafe impl Sync for Address {}

/// A text of Fortran, of a length that comes with the call: the caller's to write.
#[repr(transparent)]
pub struct Text<'a>(*mut c_char, PhantomData<&'a mut [u8]>);

impl Text<'_> {
    /// Copies a text there, with blanks behind it.
    pub fn fill(&self, length: usize, with: &CStr) -> Result<(), Failure> {
        required(self.0, "the text to be given")?;
        let characters = with.to_bytes().iter().copied().chain(std::iter::repeat(b' '));
        for (index, character) in characters.take(length).enumerate() {
            // SAFETY: within the text.
            unsafe { self.0.add(index).write(character as c_char) };
        }
        Ok(())
    }
}

/// A function of a C program that combines `count` elements of both into the first.
#[derive(Clone, Copy, Debug)]
#[repr(transparent)]
pub struct Combine(unsafe extern "C" fn(*mut c_void, *const c_void, c_int));

impl Combine {
    /// Combines elements of `bytes` bytes.
    pub fn combine(self, total: &mut [u8], input: &[u8], bytes: usize) {
        let count = elements(total, input, bytes);
        // SAFETY: a function of the program that takes these; both hold `count` elements.
        unsafe { (self.0)(total.as_mut_ptr().cast(), input.as_ptr().cast(), count) };
    }
}

/// A function of a Fortran program, which takes the count by address.
#[derive(Clone, Copy, Debug)]
#[repr(transparent)]
pub struct CombineFortran(unsafe extern "C" fn(*mut c_void, *const c_void, *const c_int));

impl CombineFortran {
    /// Combines elements of `bytes` bytes.
    pub fn combine(self, total: &mut [u8], input: &[u8], bytes: usize) {
        let count = elements(total, input, bytes);
        // SAFETY: a function of the program that takes these; both hold `count` elements.
        unsafe { (self.0)(total.as_mut_ptr().cast(), input.as_ptr().cast(), &count) };
    }
}

/// How many elements there are in both.
fn elements(total: &[u8], input: &[u8], bytes: usize) -> c_int {
    assert_eq!(total.len(), input.len(), "as many elements in both");
    (total.len() / bytes) as c_int
}

/// Bytes of a payload that is copied to the stack.
const SHORT_PAYLOAD: usize = 256;

/// Fails for a null pointer.
#[inline(always)]
fn required<T>(pointer: *const T, what: &'static str) -> Result<(), Failure> {
    if pointer.is_null() { Err(Failure::Null(what)) } else { Ok(()) }
}

/// Fails for a place that cannot have so many bytes; null is fine for none.
#[inline(always)]
fn check(start: *const c_void, bytes: usize) -> Result<(), Failure> {
    if start.is_null() || bytes > isize::MAX as usize { absent(start, bytes) } else { Ok(()) }
}

/// A pointer that leads to no memory: fine only for no bytes at all.
#[cold]
fn absent(start: *const c_void, bytes: usize) -> Result<(), Failure> {
    match (start.is_null(), bytes) {
        (true, 0) => Ok(()),
        (true, _) => Err(Failure::Null("the data")),
        _ => Err(Failure::Size(bytes)),
    }
}
