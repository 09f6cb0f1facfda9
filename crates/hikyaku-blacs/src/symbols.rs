//! The table of names that programs call: every line gives one name for C and one for Fortran.
//!
//! C passes numbers by value, Fortran by reference; letters and arrays are pointers in both. Fortran's lengths of strings
//! come last and are not looked at. Neither name calls the other, nor any other name here: a program may bring some of them
//! itself.

use crate::abort::{abort, fail, warn};
use crate::blacs::{NOT_IN_CONTEXT, Order};
use crate::combine::{Coordinates, Operation};
use crate::element::Element;
use crate::error::{Outcome, Trouble};
use crate::grid::Grid;
use crate::matrix::{Matrix, Shape};
use crate::mpi;
use crate::process;
use crate::scope::Scope;
use crate::settings::Answer;
use hikyaku::collective::{Complex32, Complex64};
use std::ffi::{c_double, c_int, c_void};

/// How an argument is passed by C.
macro_rules! by_c {
    (number) => { c_int };
    (letter) => { *const u8 };
    (numbers) => { *mut c_int };
    (elements) => { *mut c_void };
}

/// How it is passed by Fortran.
macro_rules! by_fortran {
    (number) => { *const c_int };
    (letter) => { *const u8 };
    (numbers) => { *mut c_int };
    (elements) => { *mut c_void };
}

/// What a call gets of what C passed. Callers pass valid pointers.
macro_rules! of_c {
    (letter, $argument:ident) => {
        *$argument
    };
    ($kind:ident, $argument:ident) => {
        $argument
    };
}

/// What it gets of what Fortran passed.
macro_rules! of_fortran {
    (number, $argument:ident) => {
        *$argument
    };
    (letter, $argument:ident) => {
        *$argument
    };
    ($kind:ident, $argument:ident) => {
        $argument
    };
}

/// `"name for C", "name for Fortran" => (arguments) -> result { what is done }`
macro_rules! symbols {
    ($($c:expr, $fortran:expr => ($($argument:ident: $kind:ident),*) $(-> $result:ty)? $body:block)*) => {$(
        const _: () = {
            // SAFETY: no other symbol of the program has this name, unless the program means to take this one's place.
            #[unsafe(export_name = $c)]
            unsafe extern "C" fn for_c($($argument: by_c!($kind)),*) $(-> $result)? {
                // SAFETY: the program passes what the interface asks for.
                $(#[allow(unused_unsafe)] let $argument = unsafe { of_c!($kind, $argument) };)*
                $body
            }
            // SAFETY: as above.
            #[unsafe(export_name = $fortran)]
            unsafe extern "C" fn for_fortran($($argument: by_fortran!($kind)),*) $(-> $result)? {
                // SAFETY: the program passes what the interface asks for.
                $(#[allow(unused_unsafe)] let $argument = unsafe { of_fortran!($kind, $argument) };)*
                $body
            }
        };
    )*};
}

/// Runs a call; an error ends the job.
#[inline(always)]
fn call<R>(context: c_int, routine: &str, body: impl FnOnce() -> Outcome<R>) -> R {
    body().unwrap_or_else(|trouble| fail(&trouble, Some(context), routine))
}

/// Runs a call on a grid.
#[inline(always)]
fn on_grid<R>(context: c_int, routine: &str, body: impl FnOnce(&Grid<'static>) -> Outcome<R>) -> R {
    call(context, routine, || body(&*process::blacs().grid(context)?))
}

/// # Safety
/// The pointer is null or the caller's to write.
unsafe fn give(to: *mut c_int, value: impl TryInto<c_int>) {
    if !to.is_null() {
        // SAFETY: the caller's promise.
        unsafe { to.write_unaligned(value.try_into().unwrap_or(c_int::MAX)) };
    }
}

symbols! {
    "Cblacs_pinfo", "blacs_pinfo_" => (rank: numbers, size: numbers) {
        pinfo(rank, size)
    }
    "Cblacs_setup", "blacs_setup_" => (rank: numbers, size: numbers) {
        pinfo(rank, size)
    }
    "Cblacs_get", "blacs_get_" => (context: number, what: number, value: numbers) {
        let answer = call(context, "BLACS_GET", || process::blacs().get(context, what));
        // SAFETY: the program's to write.
        unsafe {
            match answer {
                Answer::One(one) => give(value, one),
                Answer::Two(one, two) => {
                    give(value, one);
                    give(value.add(1), two);
                }
                Answer::Unknown => warn(&format!("Unknown WHAT ({what})"), Some(context), "BLACS_GET"),
            }
        }
    }
    "Cblacs_set", "blacs_set_" => (context: number, what: number, value: numbers) {
        // SAFETY: the program's to read.
        let value = unsafe { value.read_unaligned() };
        if let Some(text) = call(context, "BLACS_SET", || process::blacs().set(context, what, value)) {
            warn(&text, Some(context), "BLACS_SET");
        }
    }
    "Cblacs_gridinit", "blacs_gridinit_" => (context: numbers, order: letter, rows: number, columns: number) {
        let order = if order.eq_ignore_ascii_case(&b'c') { Order::Column } else { Order::Row };
        // SAFETY: a handle comes in, a context goes out.
        unsafe {
            let handle = context.read_unaligned();
            give(context, call(NOT_IN_CONTEXT, "BLACS_GRIDINIT", || {
                process::blacs().grid_init(handle, order, rows, columns)
            }));
        }
    }
    "Cblacs_gridmap", "blacs_gridmap_" =>
        (context: numbers, map: numbers, stride: number, rows: number, columns: number)
    {
        // SAFETY: a handle comes in, a context goes out; the map has as many entries.
        unsafe {
            let handle = context.read_unaligned();
            let entry = |row, column| map.offset(column as isize * stride as isize + row as isize).read_unaligned();
            give(context, call(NOT_IN_CONTEXT, "BLACS_GRIDMAP", || {
                process::blacs().grid_map(handle, rows, columns, entry)
            }));
        }
    }
    "Cblacs_gridexit", "blacs_gridexit_" => (context: number) {
        call(context, "BLACS_GRIDEXIT", || process::blacs().grid_exit(context))
    }
    "Cblacs_gridinfo", "blacs_gridinfo_" =>
        (context: number, rows: numbers, columns: numbers, row: numbers, column: numbers)
    {
        // Programs ask all the time: the first call, which joins the job, is out of the way.
        match process::known() {
            Some(blacs) => tell_position(blacs.position(context), [rows, columns, row, column]),
            None => first_gridinfo(context, rows, columns, row, column),
        }
    }
    "Cblacs_pnum", "blacs_pnum_" => (context: number, row: number, column: number) -> c_int {
        on_grid(context, "BLACS_PNUM", |grid| {
            Ok(grid.position.member(row, column, ["", ""]).map_or(-1, |member| member as c_int))
        })
    }
    "Cblacs_pcoord", "blacs_pcoord_" => (context: number, member: number, row: numbers, column: numbers) {
        let place = on_grid(context, "BLACS_PCOORD", |grid| {
            let columns = grid.position.columns as c_int;
            let is_member = (0..grid.ranks.len() as c_int).contains(&member);
            Ok(if is_member { (member / columns, member % columns) } else { (-1, -1) })
        });
        // SAFETY: the program's to write.
        unsafe {
            give(row, place.0);
            give(column, place.1);
        }
    }
    "Cblacs_barrier", "blacs_barrier_" => (context: number, scope: letter) {
        on_grid(context, "BLACS_BARRIER", |grid| match grid.group(Scope::of(scope)?) {
            Some(group) => Ok(group.barrier()?),
            None => Ok(()),
        })
    }
    "Cblacs_freebuff", "blacs_freebuff_" => (context: number, wait: number) {
        on_grid(context, "BLACS_FREEBUFF", |grid| match wait {
            0 => Ok(grid.messages().check_spool().map(drop)?),
            _ => process::blacs().settle(),
        })
    }
    "Cblacs_exit", "blacs_exit_" => (goes_on: number) {
        call(NOT_IN_CONTEXT, "BLACS_EXIT", || process::blacs().exit());
        // A program with MPI leaves ending it to the last call of the BLACS.
        if let (0, Some(mpi)) = (goes_on, mpi::find()) {
            mpi.finalize();
        }
    }
    "Cblacs_abort", "blacs_abort_" => (context: number, number: number) {
        abort(context, number)
    }
    "Cfree_blacs_system_handle", "free_blacs_system_handle_" => (handle: number) {
        if !process::blacs().handles.remove(handle) {
            warn(&format!("Trying to free non-existent system context handle {handle}"), None, "FREE_BLACS_SYSTEM_HANDLE");
        }
    }
    "Cksendid", "ksendid_" => (_context: number, _row: number, _column: number) -> c_int {
        POINT_TO_POINT
    }
    "Ckrecvid", "krecvid_" => (_context: number, _row: number, _column: number) -> c_int {
        POINT_TO_POINT
    }
    "Ckbsid", "kbsid_" => (context: number, scope: letter) -> c_int {
        on_grid(context, "KBSID", |grid| grid.next_message_number(scope))
    }
    "Ckbrid", "kbrid_" => (context: number, scope: letter, _row: number, _column: number) -> c_int {
        on_grid(context, "KBRID", |grid| grid.next_message_number(scope))
    }
    "Cdcputime00", "dcputime00_" => () -> c_double {
        seconds(libc::CLOCK_PROCESS_CPUTIME_ID)
    }
    "Cdwalltime00", "dwalltime00_" => () -> c_double {
        seconds(libc::CLOCK_MONOTONIC)
    }
}

/// What messages from one to one are said to be numbered.
const POINT_TO_POINT: c_int = 9977;

fn pinfo(rank: *mut c_int, size: *mut c_int) {
    let blacs = process::blacs();
    // SAFETY: the program's to write.
    unsafe {
        give(rank, blacs.rank());
        give(size, blacs.size());
    }
}

#[inline(always)]
fn tell_position(position: [c_int; 4], to: [*mut c_int; 4]) {
    for (to, value) in to.into_iter().zip(position) {
        // SAFETY: the program's to write.
        unsafe { to.write_unaligned(value) };
    }
}

/// Arguments as the interface has them: the call is a jump.
#[cold]
extern "C" fn first_gridinfo(
    context: c_int,
    rows: *mut c_int,
    columns: *mut c_int,
    row: *mut c_int,
    column: *mut c_int,
) {
    tell_position(process::blacs().position(context), [rows, columns, row, column]);
}

fn seconds(clock: libc::clockid_t) -> c_double {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: fills a structure.
    unsafe { libc::clock_gettime(clock, &mut time) };
    time.tv_sec as c_double + time.tv_nsec as c_double * 1e-9
}

/// The processes of an MPI communicator, which C passes as it is and Fortran by the number it knows. Without MPI all of
/// them.
#[unsafe(export_name = "Csys2blacs_handle")]
unsafe extern "C" fn handle_of_communicator(communicator: usize) -> c_int {
    call(NOT_IN_CONTEXT, "SYS2BLACS_HANDLE", || process::blacs().handles.of_communicator(communicator))
}

/// Fortran's numbers of communicators are handles as they are.
///
/// # Safety
/// Points to a number.
#[unsafe(export_name = "sys2blacs_handle_")]
unsafe extern "C" fn handle_of_number(communicator: *const c_int) -> c_int {
    // SAFETY: the program passes what the interface asks for.
    unsafe { *communicator }
}

/// The communicator of a handle that was made of one; without MPI there is none.
#[unsafe(export_name = "Cblacs2sys_handle")]
extern "C" fn communicator_of_handle(handle: c_int) -> usize {
    call(NOT_IN_CONTEXT, "BLACS2SYS_HANDLE", || process::blacs().handles.communicator(handle))
}

/// Handles are Fortran's numbers as they are.
///
/// # Safety
/// Points to a number.
#[unsafe(export_name = "blacs2sys_handle_")]
unsafe extern "C" fn number_of_handle(handle: *const c_int) -> c_int {
    // SAFETY: the program passes what the interface asks for.
    unsafe { *handle }
}

/// The calls of one type.
macro_rules! typed {
    ($type:ty, $letter:literal) => {
        moving!($type, $letter, "ge", (), Shape::General);
        moving!($type, $letter, "tr", (uplo, diag), Shape::trapezoid(uplo, diag));
        symbols! {
            concat!("C", $letter, "gsum2d"), concat!($letter, "gsum2d_") =>
                (context: number, scope: letter, top: letter, m: number, n: number, a: elements, lda: number,
                 row: number, column: number)
            {
                on_grid(context, concat!($letter, "gsum2d"), |grid| {
                    let matrix = matrix::<$type>(a, m, n, lda, Shape::General)?;
                    // SAFETY: no coordinates are wanted.
                    unsafe { grid.combine::<$type>(Operation::Sum, scope, top, &matrix, None, row, column) }
                })
            }
        }
        extreme!($type, $letter, "gamx2d", Operation::Largest);
        extreme!($type, $letter, "gamn2d", Operation::Smallest);
    };
}

/// Those that move matrices of one shape, which letters may tell.
macro_rules! moving {
    ($type:ty, $letter:literal, $kind:literal, ($($told:ident),*), $shape:expr) => {
        symbols! {
            concat!("C", $letter, $kind, "sd2d"), concat!($letter, $kind, "sd2d_") =>
                (context: number, $($told: letter,)* m: number, n: number, a: elements, lda: number,
                 row: number, column: number)
            {
                on_grid(context, concat!($letter, $kind, "sd2d"), |grid| {
                    let matrix = matrix::<$type>(a, m, n, lda, $shape)?;
                    grid.send(&matrix, row, column)
                })
            }
            concat!("C", $letter, $kind, "rv2d"), concat!($letter, $kind, "rv2d_") =>
                (context: number, $($told: letter,)* m: number, n: number, a: elements, lda: number,
                 row: number, column: number)
            {
                on_grid(context, concat!($letter, $kind, "rv2d"), |grid| {
                    let matrix = matrix::<$type>(a, m, n, lda, $shape)?;
                    grid.receive(&matrix, row, column)
                })
            }
            concat!("C", $letter, $kind, "bs2d"), concat!($letter, $kind, "bs2d_") =>
                (context: number, scope: letter, top: letter, $($told: letter,)* m: number, n: number, a: elements,
                 lda: number)
            {
                on_grid(context, concat!($letter, $kind, "bs2d"), |grid| {
                    let matrix = matrix::<$type>(a, m, n, lda, $shape)?;
                    grid.broadcast(scope, top, &matrix)
                })
            }
            concat!("C", $letter, $kind, "br2d"), concat!($letter, $kind, "br2d_") =>
                (context: number, scope: letter, top: letter, $($told: letter,)* m: number, n: number, a: elements,
                 lda: number, row: number, column: number)
            {
                on_grid(context, concat!($letter, $kind, "br2d"), |grid| {
                    let matrix = matrix::<$type>(a, m, n, lda, $shape)?;
                    grid.receive_broadcast(scope, top, &matrix, row, column)
                })
            }
        }
    };
}

/// One that looks for an extreme.
macro_rules! extreme {
    ($type:ty, $letter:literal, $name:literal, $operation:expr) => {
        symbols! {
            concat!("C", $letter, $name), concat!($letter, $name, "_") =>
                (context: number, scope: letter, top: letter, m: number, n: number, a: elements, lda: number,
                 ra: numbers, ca: numbers, stride: number, row: number, column: number)
            {
                let coordinates = coordinates(ra, ca, stride);
                on_grid(context, concat!($letter, $name), |grid| {
                    let matrix = matrix::<$type>(a, m, n, lda, Shape::General)?;
                    // SAFETY: the program's to write, if they are wanted.
                    unsafe { grid.combine::<$type>($operation, scope, top, &matrix, coordinates, row, column) }
                })
            }
        }
    };
}

typed!(c_int, "i");
typed!(f32, "s");
typed!(f64, "d");
typed!(Complex32, "c");
typed!(Complex64, "z");

#[inline(always)]
fn matrix<T: Element>(a: *mut c_void, m: c_int, n: c_int, lda: c_int, shape: Shape) -> Outcome<Matrix> {
    if m < 0 || n < 0 {
        return Err(Trouble::Dimensions { m, n });
    }
    // SAFETY: the program passes a matrix as large as it says, which nobody else uses during the call.
    Ok(unsafe { Matrix::new(a.cast(), size_of::<T>(), m, n, lda, shape) })
}

/// Where coordinates are wanted, if they are.
fn coordinates(rows: *mut c_int, columns: *mut c_int, stride: c_int) -> Option<Coordinates> {
    (stride != -1).then_some(Coordinates { rows, columns, stride })
}
