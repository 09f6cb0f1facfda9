//! FMPL for Fortran: the calls of C with everything by address, and the code in a last argument.
//!
//! One table below; each line becomes the procedure that `call fmpl_send(...)` reaches, `fmpl_send_`. Those that have
//! sizes also become `fmpl_send_long_`, with sizes of 8 bytes, which the module `fmpl` offers under the same name.

use super::entry::{count, guarded, with_fmpl};
use super::error::{self, Outcome, Trouble};
use super::function::{self, Combine};
use super::request;
use crate::entry::{give, required};
use crate::error::Failure;
use std::ffi::{CStr, c_char, c_int, c_void};

/// What stands for an argument in the table: how Fortran passes it, and how C takes it.
trait Argument {
    type Passed;
    type Taken;

    /// # Safety
    /// What Fortran passes points to such a thing.
    unsafe fn take(passed: Self::Passed) -> Outcome<Self::Taken>;
}

macro_rules! arguments {
    ($($(#[$text:meta])* $name:ident: $passed:ty => $taken:ty, |$from:ident| $take:expr;)*) => {
        $(
            $(#[$text])*
            struct $name;

            impl Argument for $name {
                type Passed = $passed;
                type Taken = $taken;

                #[inline(always)]
                unsafe fn take($from: $passed) -> Outcome<$taken> {
                    $take
                }
            }
        )*
    };
}

/// Reads what Fortran passed.
///
/// # Safety
/// Null, or readable.
#[inline(always)]
unsafe fn read<T>(from: *const T) -> Outcome<T> {
    required(from, "an argument")?;
    // SAFETY: not null, and the caller's promise.
    Ok(unsafe { from.read() })
}

arguments! {
    /// A buffer that is read.
    Data: *const c_void => *const c_void, |from| Ok(from);
    /// A buffer that is written.
    Buffer: *mut c_void => *mut c_void, |from| Ok(from);
    /// An integer that is given back.
    Give: *mut c_int => *mut c_int, |from| Ok(from);
    /// An integer.
    // SAFETY: an integer of the program.
    Int: *const c_int => c_int, |from| unsafe { read(from) };
    /// A function, by its number.
    // SAFETY: an integer of the program.
    Func: *const c_int => function::Handle, |from| Ok(function::Handle { id: unsafe { read(from)? } });
    /// The number of a function that is given back.
    GiveFunc: *mut c_int => *mut function::Handle, |from| Ok(from.cast());
    /// A request, by its number.
    // SAFETY: an integer of the program.
    Req: *const c_int => request::Handle, |from| Ok(request::Handle { id: unsafe { read(from)? } });
    /// The number of a request that is given back.
    GiveReq: *mut c_int => *mut request::Handle, |from| Ok(from.cast());
}

/// A number of bytes, as an integer of 4 or 8 bytes.
struct Size<N>(N);

impl<N: Into<i64>> Argument for Size<N> {
    type Passed = *const N;
    type Taken = usize;

    #[inline(always)]
    unsafe fn take(passed: *const N) -> Outcome<usize> {
        // SAFETY: an integer of the program.
        count(unsafe { read(passed)? }, "the size")
    }
}

/// Makes the procedures of a table, with integers of type `$number` for sizes.
macro_rules! procedures {
    ($suffix:literal, $number:ty; $($call:ident($($name:ident: $kind:ty),*);)*) => {
        $(
            mod $call {
                use super::*;

                #[allow(dead_code)]
                type Bytes = Size<$number>;

                #[unsafe(export_name = concat!(stringify!($call), $suffix))]
                unsafe extern "C" fn procedure($($name: <$kind as Argument>::Passed,)* ier: *mut c_int) {
                    let mut code = 0;
                    let checked = guarded(|| {
                        // SAFETY: what the program passes; the call checks the rest.
                        #[allow(unused_unsafe)]
                        unsafe {
                            $(let $name = <$kind as Argument>::take($name)?;)*
                            code = calls::$call($($name),*);
                        }
                        Ok(())
                    });
                    // SAFETY: null, or an integer of the program.
                    unsafe { give(ier, if checked == 0 { code } else { checked }) };
                }
            }
        )*
    };
}

/// The calls by name.
mod calls {
    pub use crate::fmpl::{
        collective::*, comm::*, function::fmpl_func_free, job::*, message::*, pending::*, prepared::*, request::*,
        started::*,
    };
}

mod plain {
    use super::*;

    procedures! { "_", i32;
        fmpl_init(ma: Buffer, fa: Buffer, count: Int);
        fmpl_finalize();
        fmpl_comm_rank(comm: Int, rank: Give);
        fmpl_comm_size(comm: Int, size: Give);
        fmpl_comm_create(comm: Give, key: Int);
        fmpl_comm_split(comm: Int, color: Int, key: Int, part: Give);
        fmpl_comm_free(comm: Give);
        fmpl_sendbuf_check(nsend: Give, nspool: Give);
        fmpl_get_source(src: Give);
        fmpl_get_index(mai: Give);
        fmpl_isend_wait(dst: Int, mai: Int, comm: Int);
        fmpl_irecv_wait(src: Int, mai: Int, comm: Int);
        fmpl_isend_test(dst: Int, mai: Int, comm: Int, flag: Give);
        fmpl_irecv_test(src: Int, mai: Int, comm: Int, flag: Give);
        fmpl_start(req: Req);
        fmpl_wait(req: Req);
        fmpl_test(req: Req, flag: Give);
        fmpl_request_free(req: GiveReq);
        fmpl_barrier(comm: Int);
        fmpl_reduce(buf: Buffer, count: Int, func: Func, root: Int, comm: Int, work: Buffer);
        fmpl_allreduce(buf: Buffer, count: Int, func: Func, comm: Int, work: Buffer);
        fmpl_scan(buf: Buffer, count: Int, func: Func, comm: Int, work: Buffer);
        fmpl_func_free(func: GiveFunc);
        fmpl_ibarrier(comm: Int, req: GiveReq);
        fmpl_ireduce(buf: Buffer, count: Int, func: Func, root: Int, comm: Int, work: Buffer, req: GiveReq);
        fmpl_iallreduce(buf: Buffer, count: Int, func: Func, comm: Int, work: Buffer, req: GiveReq);
        fmpl_iscan(buf: Buffer, count: Int, func: Func, comm: Int, work: Buffer, req: GiveReq);
    }
}

/// The calls that have sizes.
macro_rules! sized {
    ($suffix:literal, $number:ty) => {
        procedures! { $suffix, $number;
            fmpl_send(buf: Data, size: Bytes, dst: Int, mai: Int, comm: Int);
            fmpl_recv(buf: Buffer, size: Bytes, src: Int, mai: Int, comm: Int);
            fmpl_isend(buf: Data, size: Bytes, dst: Int, mai: Int, comm: Int);
            fmpl_irecv(buf: Buffer, size: Bytes, src: Int, mai: Int, comm: Int);
            fmpl_send_any(buf: Data, size: Bytes, dst: Int, mai: Int, comm: Int);
            fmpl_recv_any(buf: Buffer, size: Bytes, mai: Int, comm: Int);
            fmpl_sendbuf_set(buf: Buffer, size: Bytes, ipara: Int);
            fmpl_send_init(buf: Data, size: Bytes, dst: Int, mai: Int, comm: Int, req: GiveReq);
            fmpl_recv_init(buf: Buffer, size: Bytes, src: Int, mai: Int, comm: Int, req: GiveReq);
            fmpl_bcast(buf: Buffer, size: Bytes, root: Int, comm: Int);
            fmpl_gather(mine: Data, size: Bytes, all: Buffer, root: Int, comm: Int);
            fmpl_allgather(mine: Data, size: Bytes, all: Buffer, comm: Int);
            fmpl_scatter(all: Data, size: Bytes, mine: Buffer, root: Int, comm: Int);
            fmpl_alltoall(blocks: Data, size: Bytes, into: Buffer, comm: Int);
            fmpl_ibcast(buf: Buffer, size: Bytes, root: Int, comm: Int, req: GiveReq);
            fmpl_igather(mine: Data, size: Bytes, all: Buffer, root: Int, comm: Int, req: GiveReq);
            fmpl_iallgather(mine: Data, size: Bytes, all: Buffer, comm: Int, req: GiveReq);
            fmpl_iscatter(all: Data, size: Bytes, mine: Buffer, root: Int, comm: Int, req: GiveReq);
            fmpl_ialltoall(blocks: Data, size: Bytes, into: Buffer, comm: Int, req: GiveReq);
        }

        /// The bytes of the last receive.
        mod fmpl_get_count {
            use super::*;

            #[unsafe(export_name = concat!("fmpl_get_count", $suffix))]
            unsafe extern "C" fn procedure(bytes: *mut $number, ier: *mut c_int) {
                let code = with_fmpl(|fmpl| {
                    required(bytes, "the count to be given")?;
                    let count = fmpl.last.get().bytes;
                    // SAFETY: not null, and the caller's to write.
                    unsafe { give(bytes, <$number>::try_from(count).map_err(|_| Trouble::Large(count))?) };
                    Ok(())
                });
                // SAFETY: null, or an integer of the program.
                unsafe { give(ier, code) };
            }
        }

        /// Enters a function of the program.
        mod fmpl_func_create {
            use super::*;

            #[unsafe(export_name = concat!("fmpl_func_create", $suffix))]
            unsafe extern "C" fn procedure(
                combine: Option<unsafe extern "C" fn(*mut c_void, *const c_void, *const c_int)>,
                elem_size: *const $number,
                func: *mut c_int,
                ier: *mut c_int,
            ) {
                let code = with_fmpl(|fmpl| {
                    required(func, "the function handle to be given")?;
                    let combine = combine.ok_or(Failure::Null("the function"))?;
                    // SAFETY: an integer of the program.
                    let element = unsafe { Size::<$number>::take(elem_size)? };
                    let handle = fmpl.add_function(Combine::Fortran(combine), element)?;
                    // SAFETY: not null, and the caller's to write.
                    unsafe { give(func, handle.id) };
                    Ok(())
                });
                // SAFETY: null, or an integer of the program.
                unsafe { give(ier, code) };
            }
        }

        /// Hands memory out: its address, or 0.
        mod fmpl_malloc {
            use super::*;

            #[unsafe(export_name = concat!("fmpl_malloc", $suffix))]
            unsafe extern "C" fn procedure(size: *const $number, address: *mut *mut c_void, ier: *mut c_int) {
                let code = with_fmpl(|fmpl| {
                    required(address, "the address to be given")?;
                    // SAFETY: an integer of the program.
                    let start = fmpl.take_block(unsafe { Size::<$number>::take(size)? })?;
                    // SAFETY: not null, and the caller's to write.
                    unsafe { give(address, start) };
                    Ok(())
                });
                // SAFETY: null, or an integer of the program.
                unsafe { give(ier, code) };
            }
        }
    };
}

mod short {
    use super::*;
    sized! { "_", i32 }
}

mod long {
    use super::*;
    sized! { "_long_", i64 }
}

/// Takes memory back.
#[unsafe(no_mangle)]
unsafe extern "C" fn fmpl_free_(address: *const *mut c_void, ier: *mut c_int) {
    let code = with_fmpl(|fmpl| {
        // SAFETY: an address of the program.
        let start = unsafe { read(address)? };
        if start.is_null() { Ok(()) } else { fmpl.give_block(start) }
    });
    // SAFETY: null, or an integer of the program.
    unsafe { give(ier, code) };
}

/// What a code means in general. The length of the text comes last, as Fortran compilers pass it.
#[unsafe(no_mangle)]
unsafe extern "C" fn fmpl_strerror_(code: *const c_int, text: *mut c_char, ier: *mut c_int, length: usize) {
    let done = guarded(|| {
        // SAFETY: an integer and a text of the program.
        unsafe { fill(text, length, error::describe(read(code)?)) }
    });
    // SAFETY: null, or an integer of the program.
    unsafe { give(ier, done) };
}

/// The last error, in full.
#[unsafe(no_mangle)]
unsafe extern "C" fn fmpl_last_error_(text: *mut c_char, ier: *mut c_int, length: usize) {
    let done = guarded(|| {
        // SAFETY: the text of an error ends in a zero; the other one is the program's.
        unsafe { fill(text, length, CStr::from_ptr(error::fmpl_last_error())) }
    });
    // SAFETY: null, or an integer of the program.
    unsafe { give(ier, done) };
}

/// Copies a text, with blanks behind it.
///
/// # Safety
/// Null, or `length` characters can be written.
unsafe fn fill(text: *mut c_char, length: usize, with: &CStr) -> Outcome<()> {
    required(text, "the text to be given")?;
    let characters = with.to_bytes().iter().copied().chain(std::iter::repeat(b' '));
    for (index, character) in characters.take(length).enumerate() {
        // SAFETY: within the text.
        unsafe { text.add(index).write(character as c_char) };
    }
    Ok(())
}
