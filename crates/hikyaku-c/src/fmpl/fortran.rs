//! FMPL for Fortran: the calls of C with everything by address, and the code in a last argument.
//!
//! One table below; each line becomes the procedure that `call fmpl_send(...)` reaches, `fmpl_send_`. Those that have
//! sizes also become `fmpl_send_long_`, with sizes of 8 bytes, which the module `fmpl` offers under the same name.

use super::entry::{count, guarded, with_comm, with_fmpl};
use super::error::{self, Outcome, Trouble};
use super::function;
use super::request;
use super::uneven::Sizes;
use crate::error::Failure;
use crate::function::Combine;
use crate::given::{CombineFortran, In, InOut, Out, Source, Target, Text, exported, exported_as};
use crate::thread;
use std::ffi::{c_int, c_void};

/// What stands for an argument in the table: how Fortran passes it, and how C takes it.
trait Argument {
    type Passed;
    type Taken;

    fn take(passed: Self::Passed) -> Outcome<Self::Taken>;
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
                fn take($from: $passed) -> Outcome<$taken> {
                    $take
                }
            }
        )*
    };
}

arguments! {
    /// A buffer that is read.
    Data: Source<'static> => Source<'static>, |from| Ok(from);
    /// A buffer that is written.
    Buffer: Target<'static> => Target<'static>, |from| Ok(from);
    /// A buffer that nobody looks at.
    Unused: *mut c_void => *mut c_void, |from| Ok(from);
    /// An integer that is given back.
    Give: Out<'static, c_int> => Out<'static, c_int>, |from| Ok(from);
    /// Integers, one per member.
    Ints: In<'static, c_int> => In<'static, c_int>, |from| Ok(from);
    /// An integer that is taken and given back.
    Change: InOut<'static, c_int> => InOut<'static, c_int>, |from| Ok(from);
    /// An integer.
    Int: In<'static, c_int> => c_int, |from| Ok(from.read("an argument")?);
    /// A function, by its number.
    Func: In<'static, function::Handle> => function::Handle, |from| Ok(from.read("an argument")?);
    /// The number of a function that is taken and given back.
    ChangeFunc: InOut<'static, function::Handle> => InOut<'static, function::Handle>, |from| Ok(from);
    /// A request, by its number.
    Req: In<'static, request::Handle> => request::Handle, |from| Ok(from.read("an argument")?);
    /// The number of a request that is given back.
    GiveReq: Out<'static, request::Handle> => Out<'static, request::Handle>, |from| Ok(from);
    /// The number of a request that is taken and given back.
    ChangeReq: InOut<'static, request::Handle> => InOut<'static, request::Handle>, |from| Ok(from);
}

/// A number of bytes, as an integer of 4 or 8 bytes.
struct Size<N>(N);

impl<N: Into<i64> + Copy + 'static> Argument for Size<N> {
    type Passed = In<'static, N>;
    type Taken = usize;

    #[inline(always)]
    fn take(passed: In<'static, N>) -> Outcome<usize> {
        count(passed.read("an argument")?, "the size")
    }
}

/// Numbers of bytes, one per member, and where blocks begin.
struct Lists<N>(N);

impl Argument for Lists<i32> {
    type Passed = In<'static, i32>;
    type Taken = Sizes<'static>;

    fn take(passed: In<'static, i32>) -> Outcome<Sizes<'static>> {
        Ok(Sizes::Short(passed))
    }
}

impl Argument for Lists<i64> {
    type Passed = In<'static, i64>;
    type Taken = Sizes<'static>;

    fn take(passed: In<'static, i64>) -> Outcome<Sizes<'static>> {
        Ok(Sizes::Long(passed))
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
                #[allow(dead_code)]
                type List = Lists<$number>;

                exported_as! { concat!(stringify!($call), $suffix),
                    fn($($name: <$kind as Argument>::Passed,)* ier: Out<'_, c_int>) {
                        let mut code = 0;
                        let checked = guarded(|| {
                            $(let $name = <$kind as Argument>::take($name)?;)*
                            code = calls::$call($($name),*);
                            Ok(())
                        });
                        ier.give(if checked == 0 { code } else { checked });
                    }
                }
            }
        )*
    };
}

/// The calls by name; those with lists of sizes take them as Fortran gives them.
mod calls {
    pub use crate::fmpl::uneven::{
        allgatherv as fmpl_allgatherv, alltoallv as fmpl_alltoallv, fmpl_reduce_scatter, fmpl_reduce_scatter_block,
        gatherv as fmpl_gatherv, scatterv as fmpl_scatterv,
    };
    pub use crate::fmpl::uneven_started::{
        fmpl_ireduce_scatter, fmpl_ireduce_scatter_block, iallgatherv as fmpl_iallgatherv,
        ialltoallv as fmpl_ialltoallv, igatherv as fmpl_igatherv, iscatterv as fmpl_iscatterv,
    };
    pub use crate::fmpl::{
        collective::*, comm::*, function::fmpl_func_free, job::*, message::*, pending::*, prepared::*, request::*,
        started::*, threads::*,
    };
}

mod plain {
    use super::*;

    procedures! { "_", i32;
        fmpl_init(ma: Unused, fa: Unused, count: Int);
        fmpl_finalize();
        fmpl_threads(number: Int, slots: Int);
        fmpl_thread_init(number: Int);
        fmpl_thread_finalize();
        fmpl_comm_rank(comm: Int, rank: Give);
        fmpl_comm_size(comm: Int, size: Give);
        fmpl_comm_create(comm: Give, key: Int);
        fmpl_comm_split(comm: Int, color: Int, key: Int, part: Give);
        fmpl_comm_free(comm: Change);
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
        fmpl_request_free(req: ChangeReq);
        fmpl_barrier(comm: Int);
        fmpl_reduce(buf: Buffer, count: Int, func: Func, root: Int, comm: Int, work: Unused);
        fmpl_allreduce(buf: Buffer, count: Int, func: Func, comm: Int, work: Unused);
        fmpl_scan(buf: Buffer, count: Int, func: Func, comm: Int, work: Unused);
        fmpl_exscan(buf: Buffer, count: Int, func: Func, comm: Int, work: Unused);
        fmpl_reduce_scatter(data: Data, mine: Buffer, counts: Ints, func: Func, comm: Int);
        fmpl_reduce_scatter_block(data: Data, mine: Buffer, count: Int, func: Func, comm: Int);
        fmpl_func_free(func: ChangeFunc);
        fmpl_ibarrier(comm: Int, req: GiveReq);
        fmpl_ireduce(buf: Buffer, count: Int, func: Func, root: Int, comm: Int, work: Unused, req: GiveReq);
        fmpl_iallreduce(buf: Buffer, count: Int, func: Func, comm: Int, work: Unused, req: GiveReq);
        fmpl_iscan(buf: Buffer, count: Int, func: Func, comm: Int, work: Unused, req: GiveReq);
        fmpl_iexscan(buf: Buffer, count: Int, func: Func, comm: Int, work: Unused, req: GiveReq);
        fmpl_ireduce_scatter(data: Data, mine: Buffer, counts: Ints, func: Func, comm: Int, req: GiveReq);
        fmpl_ireduce_scatter_block(data: Data, mine: Buffer, count: Int, func: Func, comm: Int, req: GiveReq);
    }
}

/// The calls that have sizes.
macro_rules! sized {
    ($suffix:literal, $number:ty) => {
        procedures! { $suffix, $number;
            fmpl_send(buf: Data, size: Bytes, dst: Int, mai: Int, comm: Int);
            fmpl_recv(buf: Buffer, size: Bytes, src: Int, mai: Int, comm: Int);
            fmpl_sendrecv(
                buf: Data,
                size: Bytes,
                dst: Int,
                mai: Int,
                into: Buffer,
                room: Bytes,
                src: Int,
                from_mai: Int,
                comm: Int
            );
            fmpl_sendrecv_replace(buf: Buffer, size: Bytes, dst: Int, mai: Int, src: Int, from_mai: Int, comm: Int);
            fmpl_recv_for(buf: Buffer, size: Bytes, src: Int, mai: Int, ms: Int, comm: Int);
            fmpl_isend(buf: Data, size: Bytes, dst: Int, mai: Int, comm: Int);
            fmpl_irecv(buf: Buffer, size: Bytes, src: Int, mai: Int, comm: Int);
            fmpl_send_any(buf: Data, size: Bytes, dst: Int, mai: Int, comm: Int);
            fmpl_recv_any(buf: Buffer, size: Bytes, mai: Int, comm: Int);
            fmpl_sendbuf_set(buf: Unused, size: Bytes, ipara: Int);
            fmpl_send_init(buf: Data, size: Bytes, dst: Int, mai: Int, comm: Int, req: GiveReq);
            fmpl_recv_init(buf: Buffer, size: Bytes, src: Int, mai: Int, comm: Int, req: GiveReq);
            fmpl_bcast(buf: Buffer, size: Bytes, root: Int, comm: Int);
            fmpl_gather(mine: Data, size: Bytes, all: Buffer, root: Int, comm: Int);
            fmpl_allgather(mine: Data, size: Bytes, all: Buffer, comm: Int);
            fmpl_scatter(all: Data, size: Bytes, mine: Buffer, root: Int, comm: Int);
            fmpl_alltoall(blocks: Data, size: Bytes, into: Buffer, comm: Int);
            fmpl_gatherv(mine: Data, size: Bytes, all: Buffer, sizes: List, starts: List, root: Int, comm: Int);
            fmpl_allgatherv(mine: Data, size: Bytes, all: Buffer, sizes: List, starts: List, comm: Int);
            fmpl_scatterv(all: Data, sizes: List, starts: List, mine: Buffer, size: Bytes, root: Int, comm: Int);
            fmpl_alltoallv(
                from: Data,
                from_sizes: List,
                from_starts: List,
                into: Buffer,
                into_sizes: List,
                into_starts: List,
                comm: Int
            );
            fmpl_ibcast(buf: Buffer, size: Bytes, root: Int, comm: Int, req: GiveReq);
            fmpl_igather(mine: Data, size: Bytes, all: Buffer, root: Int, comm: Int, req: GiveReq);
            fmpl_iallgather(mine: Data, size: Bytes, all: Buffer, comm: Int, req: GiveReq);
            fmpl_iscatter(all: Data, size: Bytes, mine: Buffer, root: Int, comm: Int, req: GiveReq);
            fmpl_ialltoall(blocks: Data, size: Bytes, into: Buffer, comm: Int, req: GiveReq);
            fmpl_igatherv(
                mine: Data,
                size: Bytes,
                all: Buffer,
                sizes: List,
                starts: List,
                root: Int,
                comm: Int,
                req: GiveReq
            );
            fmpl_iallgatherv(
                mine: Data,
                size: Bytes,
                all: Buffer,
                sizes: List,
                starts: List,
                comm: Int,
                req: GiveReq
            );
            fmpl_iscatterv(
                all: Data,
                sizes: List,
                starts: List,
                mine: Buffer,
                size: Bytes,
                root: Int,
                comm: Int,
                req: GiveReq
            );
            fmpl_ialltoallv(
                from: Data,
                from_sizes: List,
                from_starts: List,
                into: Buffer,
                into_sizes: List,
                into_starts: List,
                comm: Int,
                req: GiveReq
            );
        }

        /// The bytes of the last receive.
        mod fmpl_get_count {
            use super::*;

            exported_as! { concat!("fmpl_get_count", $suffix),
                fn(bytes: Out<'_, $number>, ier: Out<'_, c_int>) {
                    let code = with_fmpl(|fmpl| {
                        bytes.required("the count to be given")?;
                        let count = fmpl.last.get().bytes;
                        bytes.give(<$number>::try_from(count).map_err(|_| Trouble::Large(count))?);
                        Ok(())
                    });
                    ier.give(code);
                }
            }
        }

        /// Waits for a message, and tells its length.
        mod fmpl_probe {
            use super::*;

            exported_as! { concat!("fmpl_probe", $suffix),
                fn(
                    src: In<'_, c_int>,
                    mai: In<'_, c_int>,
                    comm: In<'_, c_int>,
                    bytes: Out<'_, $number>,
                    ier: Out<'_, c_int>,
                ) {
                    let code = guarded(|| {
                        bytes.required("the length to be given")?;
                        let [src, mai, comm] = [src, mai, comm].map(|number| number.read("an argument"));
                        let (src, mai) = (src? as usize, mai? as usize);
                        let fmpl_code = with_comm(comm?, |_, comm| {
                            let length = comm.messages.probe(src, mai)?;
                            bytes.give(<$number>::try_from(length).map_err(|_| Trouble::Large(length))?);
                            Ok(())
                        });
                        ier.give(fmpl_code);
                        Ok(())
                    });
                    if code != 0 {
                        ier.give(code);
                    }
                }
            }
        }

        /// Looks for one.
        mod fmpl_iprobe {
            use super::*;

            exported_as! { concat!("fmpl_iprobe", $suffix),
                fn(
                    src: In<'_, c_int>,
                    mai: In<'_, c_int>,
                    comm: In<'_, c_int>,
                    flag: Out<'_, c_int>,
                    bytes: Out<'_, $number>,
                    ier: Out<'_, c_int>,
                ) {
                    let code = guarded(|| {
                        flag.required("the flag to be given")?;
                        let [src, mai, comm] = [src, mai, comm].map(|number| number.read("an argument"));
                        let (src, mai) = (src? as usize, mai? as usize);
                        let fmpl_code = with_comm(comm?, |_, comm| {
                            let found = comm.messages.try_probe(src, mai)?;
                            flag.give(found.is_some() as c_int);
                            if let Some(length) = found {
                                bytes.give(<$number>::try_from(length).map_err(|_| Trouble::Large(length))?);
                            }
                            Ok(())
                        });
                        ier.give(fmpl_code);
                        Ok(())
                    });
                    if code != 0 {
                        ier.give(code);
                    }
                }
            }
        }

        /// Enters a function of the program.
        mod fmpl_func_create {
            use super::*;

            exported_as! { concat!("fmpl_func_create", $suffix),
                fn(combine: Option<CombineFortran>, elem_size: In<'static, $number>, func: Out<'_, c_int>, ier: Out<'_, c_int>) {
                    let code = with_fmpl(|fmpl| {
                        func.required("the function handle to be given")?;
                        let combine = combine.ok_or(Failure::Null("the function"))?;
                        let element = Size::<$number>::take(elem_size)?;
                        let handle = fmpl.add_function(Combine::Fortran(combine), element)?;
                        func.give(handle.id);
                        Ok(())
                    });
                    ier.give(code);
                }
            }
        }

        /// Hands memory out: its address, or 0.
        mod fmpl_malloc {
            use super::*;

            exported_as! { concat!("fmpl_malloc", $suffix),
                fn(size: In<'static, $number>, address: Out<'_, *mut c_void>, ier: Out<'_, c_int>) {
                    let code = with_fmpl(|fmpl| {
                        address.required("the address to be given")?;
                        let start = fmpl.take_block(Size::<$number>::take(size)?)?;
                        address.give(start);
                        Ok(())
                    });
                    ier.give(code);
                }
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

exported! {
    /// Takes memory back.
    pub fn fmpl_free_(address: In<'_, *mut c_void>, ier: Out<'_, c_int>) {
        let code = with_fmpl(|fmpl| {
            let start = address.read("an argument")?;
            if start.is_null() { Ok(()) } else { fmpl.give_block(start) }
        });
        ier.give(code);
    }

    /// What a code means in general. The length of the text comes last, as Fortran compilers pass it.
    pub fn fmpl_strerror_(code: In<'_, c_int>, text: Text<'_>, ier: Out<'_, c_int>, length: usize) {
        let done = guarded(|| Ok(text.fill(length, error::describe(code.read("an argument")?))?));
        ier.give(done);
    }

    /// The last error, in full.
    pub fn fmpl_last_error_(text: Text<'_>, ier: Out<'_, c_int>, length: usize) {
        let done = guarded(|| Ok(thread::with_error_text(|error| text.fill(length, error))?));
        ier.give(done);
    }
}
