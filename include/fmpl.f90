! FMPL for Fortran: the calls of fmpl.h, with one more argument, ier, that gets the code.
!
! Compile this file with your program, by the same compiler:
!
!     gfortran -c -I<hikyaku>/include <hikyaku>/include/fmpl.f90
!     gfortran -o program program.f90 fmpl.o -lhikyaku
!
!     use fmpl
!     real(8) :: x(100)
!     integer :: ier
!     call fmpl_init(0, 0, 16, ier)
!     call fmpl_send(x, 800, 1, 7, FMPL_COMM_WORLD, ier)
!
! fmpl.h tells what each call does. In Fortran:
!
! * Buffers are variables of any type and rank. In non-blocking calls, do not pass an array section with gaps: the compiler makes a
!   copy of it that is gone when the call returns. Give the buffers of these calls the attribute asynchronous, so that the compiler
!   knows that they change while the program computes.
! * Sizes are in bytes, as integers of 4 or 8 bytes. A negative size is an error.
! * Functions of reductions (FMPL_DSUM) and requests are integers. A function of the program is a subroutine
!   fn(inout, in, count), where the integer count is the number of elements of both arrays.
! * fmpl_malloc gives a type(c_ptr), for c_f_pointer.
! * fmpl_strerror and fmpl_last_error fill a character variable, with blanks at the end.
! * With OpenMP, thread 0 is the one that called fmpl_init. The others may be threads omp_get_thread_num() - 1 of fmpl_threads.
! * Where C takes NULL, pass anything, for example 0: it is not used. Only `starts`, where blocks begin, must always be given.

module fmpl
    use, intrinsic :: iso_c_binding, only: c_int, c_int64_t, c_ptr
    implicit none

    integer, parameter, private :: SHORT = c_int, LONG = c_int64_t

    integer, parameter :: FMPL_COMM_WORLD = 0
    integer, parameter :: FMPL_COMM_NULL = -1
    integer, parameter :: FMPL_COLOR_NONE = -1
    integer, parameter :: FMPL_TAG_ANY = -1
    integer, parameter :: FMPL_SYNC = -1
    integer, parameter :: FMPL_STANDARD = -2

    integer, parameter :: FMPL_SUCCESS = 0
    integer, parameter :: FMPL_ERR_PEER_DEAD = -1
    integer, parameter :: FMPL_ERR_PEER_LEFT = -2
    integer, parameter :: FMPL_ERR_PEER_MISBEHAVED = -3
    integer, parameter :: FMPL_ERR_REFUSED = -4
    integer, parameter :: FMPL_ERR_RANK = -5
    integer, parameter :: FMPL_ERR_INDEX = -6
    integer, parameter :: FMPL_ERR_BUSY = -7
    integer, parameter :: FMPL_ERR_TRUNCATED = -8
    integer, parameter :: FMPL_ERR_COMM = -9
    integer, parameter :: FMPL_ERR_FUNC = -10
    integer, parameter :: FMPL_ERR_REQUEST = -11
    integer, parameter :: FMPL_ERR_INVALID = -12
    integer, parameter :: FMPL_ERR_UNDER_WAY = -13
    integer, parameter :: FMPL_ERR_INSIDE = -14
    integer, parameter :: FMPL_ERR_FORKED = -15
    integer, parameter :: FMPL_ERR_MISMATCH = -16
    integer, parameter :: FMPL_ERR_NOT_STARTED = -17
    integer, parameter :: FMPL_ERR_STARTED = -18
    integer, parameter :: FMPL_ERR_THREAD = -19
    integer, parameter :: FMPL_ERR_MEMORY = -20
    integer, parameter :: FMPL_ERR_START = -21
    integer, parameter :: FMPL_ERR_SYSTEM = -22
    integer, parameter :: FMPL_ERR_INTERNAL = -23
    integer, parameter :: FMPL_ERR_UNREACHABLE = -24
    integer, parameter :: FMPL_ERR_TIMEOUT = -25

    integer, parameter :: FMPL_ISUM = 1
    integer, parameter :: FMPL_SSUM = 2
    integer, parameter :: FMPL_DSUM = 3
    integer, parameter :: FMPL_CSUM = 4
    integer, parameter :: FMPL_ZSUM = 5
    integer, parameter :: FMPL_LSUM = 6
    integer, parameter :: FMPL_IMAX = 11
    integer, parameter :: FMPL_SMAX = 12
    integer, parameter :: FMPL_DMAX = 13
    integer, parameter :: FMPL_CMAX = 14
    integer, parameter :: FMPL_ZMAX = 15
    integer, parameter :: FMPL_LMAX = 16
    integer, parameter :: FMPL_IMIN = 21
    integer, parameter :: FMPL_SMIN = 22
    integer, parameter :: FMPL_DMIN = 23
    integer, parameter :: FMPL_CMIN = 24
    integer, parameter :: FMPL_ZMIN = 25
    integer, parameter :: FMPL_LMIN = 26
    integer, parameter :: FMPL_IPMAX = 31
    integer, parameter :: FMPL_SPMAX = 32
    integer, parameter :: FMPL_DPMAX = 33
    integer, parameter :: FMPL_LPMAX = 36
    integer, parameter :: FMPL_IPMIN = 41
    integer, parameter :: FMPL_SPMIN = 42
    integer, parameter :: FMPL_DPMIN = 43
    integer, parameter :: FMPL_LPMIN = 46
    integer, parameter :: FMPL_IPROD = 51
    integer, parameter :: FMPL_SPROD = 52
    integer, parameter :: FMPL_DPROD = 53
    integer, parameter :: FMPL_CPROD = 54
    integer, parameter :: FMPL_ZPROD = 55
    integer, parameter :: FMPL_LPROD = 56
    integer, parameter :: FMPL_ILAND = 61
    integer, parameter :: FMPL_LLAND = 66
    integer, parameter :: FMPL_ILOR = 71
    integer, parameter :: FMPL_LLOR = 76
    integer, parameter :: FMPL_ILXOR = 81
    integer, parameter :: FMPL_LLXOR = 86
    integer, parameter :: FMPL_IBAND = 91
    integer, parameter :: FMPL_LBAND = 96
    integer, parameter :: FMPL_IBOR = 101
    integer, parameter :: FMPL_LBOR = 106
    integer, parameter :: FMPL_IBXOR = 111
    integer, parameter :: FMPL_LBXOR = 116

    ! ---- beginning and ending, groups

    interface
        subroutine fmpl_init(ma, fa, count, ier)
            import :: SHORT
            !GCC$ ATTRIBUTES NO_ARG_CHECK :: ma
            !DEC$ ATTRIBUTES NO_ARG_CHECK :: ma
            !DIR$ IGNORE_TKR ma
            !GCC$ ATTRIBUTES NO_ARG_CHECK :: fa
            !DEC$ ATTRIBUTES NO_ARG_CHECK :: fa
            !DIR$ IGNORE_TKR fa
            type(*) :: ma(*)
            type(*) :: fa(*)
            integer(SHORT), intent(in) :: count
            integer(SHORT), intent(out) :: ier
        end subroutine
    end interface

    interface
        subroutine fmpl_finalize(ier)
            import :: SHORT
            integer(SHORT), intent(out) :: ier
        end subroutine
    end interface

    interface
        subroutine fmpl_threads(count, slots, ier)
            import :: SHORT
            integer(SHORT), intent(in) :: count
            integer(SHORT), intent(in) :: slots
            integer(SHORT), intent(out) :: ier
        end subroutine
    end interface

    interface
        subroutine fmpl_thread_init(number, ier)
            import :: SHORT
            integer(SHORT), intent(in) :: number
            integer(SHORT), intent(out) :: ier
        end subroutine
    end interface

    interface
        subroutine fmpl_thread_finalize(ier)
            import :: SHORT
            integer(SHORT), intent(out) :: ier
        end subroutine
    end interface

    interface
        subroutine fmpl_comm_rank(comm, rank, ier)
            import :: SHORT
            integer(SHORT), intent(in) :: comm
            integer(SHORT), intent(out) :: rank
            integer(SHORT), intent(out) :: ier
        end subroutine
    end interface

    interface
        subroutine fmpl_comm_size(comm, size, ier)
            import :: SHORT
            integer(SHORT), intent(in) :: comm
            integer(SHORT), intent(out) :: size
            integer(SHORT), intent(out) :: ier
        end subroutine
    end interface

    interface
        subroutine fmpl_comm_create(comm, key, ier)
            import :: SHORT
            integer(SHORT), intent(out) :: comm
            integer(SHORT), intent(in) :: key
            integer(SHORT), intent(out) :: ier
        end subroutine
    end interface

    interface
        subroutine fmpl_comm_split(comm, color, key, part, ier)
            import :: SHORT
            integer(SHORT), intent(in) :: comm, color, key
            integer(SHORT), intent(out) :: part
            integer(SHORT), intent(out) :: ier
        end subroutine
    end interface

    interface
        subroutine fmpl_comm_free(comm, ier)
            import :: SHORT
            integer(SHORT), intent(inout) :: comm
            integer(SHORT), intent(out) :: ier
        end subroutine
    end interface

    ! ---- send and receive

    interface fmpl_send
        subroutine fmpl_send(buf, size, dst, mai, comm, ier)
            import :: SHORT
            !GCC$ ATTRIBUTES NO_ARG_CHECK :: buf
            !DEC$ ATTRIBUTES NO_ARG_CHECK :: buf
            !DIR$ IGNORE_TKR buf
            type(*), intent(in) :: buf(*)
            integer(SHORT), intent(in) :: size
            integer(SHORT), intent(in) :: dst, mai, comm
            integer(SHORT), intent(out) :: ier
        end subroutine
        subroutine fmpl_send_long(buf, size, dst, mai, comm, ier)
            import :: SHORT, LONG
            !GCC$ ATTRIBUTES NO_ARG_CHECK :: buf
            !DEC$ ATTRIBUTES NO_ARG_CHECK :: buf
            !DIR$ IGNORE_TKR buf
            type(*), intent(in) :: buf(*)
            integer(LONG), intent(in) :: size
            integer(SHORT), intent(in) :: dst, mai, comm
            integer(SHORT), intent(out) :: ier
        end subroutine
    end interface

    interface fmpl_recv
        subroutine fmpl_recv(buf, size, src, mai, comm, ier)
            import :: SHORT
            !GCC$ ATTRIBUTES NO_ARG_CHECK :: buf
            !DEC$ ATTRIBUTES NO_ARG_CHECK :: buf
            !DIR$ IGNORE_TKR buf
            type(*) :: buf(*)
            integer(SHORT), intent(in) :: size
            integer(SHORT), intent(in) :: src, mai, comm
            integer(SHORT), intent(out) :: ier
        end subroutine
        subroutine fmpl_recv_long(buf, size, src, mai, comm, ier)
            import :: SHORT, LONG
            !GCC$ ATTRIBUTES NO_ARG_CHECK :: buf
            !DEC$ ATTRIBUTES NO_ARG_CHECK :: buf
            !DIR$ IGNORE_TKR buf
            type(*) :: buf(*)
            integer(LONG), intent(in) :: size
            integer(SHORT), intent(in) :: src, mai, comm
            integer(SHORT), intent(out) :: ier
        end subroutine
    end interface

    interface fmpl_sendrecv
        subroutine fmpl_sendrecv(buf, size, dst, mai, into, room, src, from_mai, comm, ier)
            import :: SHORT
            !GCC$ ATTRIBUTES NO_ARG_CHECK :: buf
            !DEC$ ATTRIBUTES NO_ARG_CHECK :: buf
            !DIR$ IGNORE_TKR buf
            !GCC$ ATTRIBUTES NO_ARG_CHECK :: into
            !DEC$ ATTRIBUTES NO_ARG_CHECK :: into
            !DIR$ IGNORE_TKR into
            type(*), intent(in) :: buf(*)
            integer(SHORT), intent(in) :: size, room
            integer(SHORT), intent(in) :: dst, mai, src, from_mai, comm
            type(*) :: into(*)
            integer(SHORT), intent(out) :: ier
        end subroutine
        subroutine fmpl_sendrecv_long(buf, size, dst, mai, into, room, src, from_mai, comm, ier)
            import :: SHORT, LONG
            !GCC$ ATTRIBUTES NO_ARG_CHECK :: buf
            !DEC$ ATTRIBUTES NO_ARG_CHECK :: buf
            !DIR$ IGNORE_TKR buf
            !GCC$ ATTRIBUTES NO_ARG_CHECK :: into
            !DEC$ ATTRIBUTES NO_ARG_CHECK :: into
            !DIR$ IGNORE_TKR into
            type(*), intent(in) :: buf(*)
            integer(LONG), intent(in) :: size, room
            integer(SHORT), intent(in) :: dst, mai, src, from_mai, comm
            type(*) :: into(*)
            integer(SHORT), intent(out) :: ier
        end subroutine
    end interface

    interface fmpl_sendrecv_replace
        subroutine fmpl_sendrecv_replace(buf, size, dst, mai, src, from_mai, comm, ier)
            import :: SHORT
            !GCC$ ATTRIBUTES NO_ARG_CHECK :: buf
            !DEC$ ATTRIBUTES NO_ARG_CHECK :: buf
            !DIR$ IGNORE_TKR buf
            type(*) :: buf(*)
            integer(SHORT), intent(in) :: size
            integer(SHORT), intent(in) :: dst, mai, src, from_mai, comm
            integer(SHORT), intent(out) :: ier
        end subroutine
        subroutine fmpl_sendrecv_replace_long(buf, size, dst, mai, src, from_mai, comm, ier)
            import :: SHORT, LONG
            !GCC$ ATTRIBUTES NO_ARG_CHECK :: buf
            !DEC$ ATTRIBUTES NO_ARG_CHECK :: buf
            !DIR$ IGNORE_TKR buf
            type(*) :: buf(*)
            integer(LONG), intent(in) :: size
            integer(SHORT), intent(in) :: dst, mai, src, from_mai, comm
            integer(SHORT), intent(out) :: ier
        end subroutine
    end interface

    interface fmpl_recv_for
        subroutine fmpl_recv_for(buf, size, src, mai, ms, comm, ier)
            import :: SHORT
            !GCC$ ATTRIBUTES NO_ARG_CHECK :: buf
            !DEC$ ATTRIBUTES NO_ARG_CHECK :: buf
            !DIR$ IGNORE_TKR buf
            type(*) :: buf(*)
            integer(SHORT), intent(in) :: size
            integer(SHORT), intent(in) :: src, mai, ms, comm
            integer(SHORT), intent(out) :: ier
        end subroutine
        subroutine fmpl_recv_for_long(buf, size, src, mai, ms, comm, ier)
            import :: SHORT, LONG
            !GCC$ ATTRIBUTES NO_ARG_CHECK :: buf
            !DEC$ ATTRIBUTES NO_ARG_CHECK :: buf
            !DIR$ IGNORE_TKR buf
            type(*) :: buf(*)
            integer(LONG), intent(in) :: size
            integer(SHORT), intent(in) :: src, mai, ms, comm
            integer(SHORT), intent(out) :: ier
        end subroutine
    end interface

    interface fmpl_probe
        subroutine fmpl_probe(src, mai, comm, bytes, ier)
            import :: SHORT
            integer(SHORT), intent(in) :: src, mai, comm
            integer(SHORT), intent(out) :: bytes
            integer(SHORT), intent(out) :: ier
        end subroutine
        subroutine fmpl_probe_long(src, mai, comm, bytes, ier)
            import :: SHORT, LONG
            integer(SHORT), intent(in) :: src, mai, comm
            integer(LONG), intent(out) :: bytes
            integer(SHORT), intent(out) :: ier
        end subroutine
    end interface

    interface fmpl_iprobe
        subroutine fmpl_iprobe(src, mai, comm, flag, bytes, ier)
            import :: SHORT
            integer(SHORT), intent(in) :: src, mai, comm
            integer(SHORT), intent(out) :: flag
            integer(SHORT), intent(inout) :: bytes
            integer(SHORT), intent(out) :: ier
        end subroutine
        subroutine fmpl_iprobe_long(src, mai, comm, flag, bytes, ier)
            import :: SHORT, LONG
            integer(SHORT), intent(in) :: src, mai, comm
            integer(SHORT), intent(out) :: flag
            integer(LONG), intent(inout) :: bytes
            integer(SHORT), intent(out) :: ier
        end subroutine
    end interface

    interface fmpl_send_any
        subroutine fmpl_send_any(buf, size, dst, mai, comm, ier)
            import :: SHORT
            !GCC$ ATTRIBUTES NO_ARG_CHECK :: buf
            !DEC$ ATTRIBUTES NO_ARG_CHECK :: buf
            !DIR$ IGNORE_TKR buf
            type(*), intent(in) :: buf(*)
            integer(SHORT), intent(in) :: size
            integer(SHORT), intent(in) :: dst, mai, comm
            integer(SHORT), intent(out) :: ier
        end subroutine
        subroutine fmpl_send_any_long(buf, size, dst, mai, comm, ier)
            import :: SHORT, LONG
            !GCC$ ATTRIBUTES NO_ARG_CHECK :: buf
            !DEC$ ATTRIBUTES NO_ARG_CHECK :: buf
            !DIR$ IGNORE_TKR buf
            type(*), intent(in) :: buf(*)
            integer(LONG), intent(in) :: size
            integer(SHORT), intent(in) :: dst, mai, comm
            integer(SHORT), intent(out) :: ier
        end subroutine
    end interface

    interface fmpl_recv_any
        subroutine fmpl_recv_any(buf, size, mai, comm, ier)
            import :: SHORT
            !GCC$ ATTRIBUTES NO_ARG_CHECK :: buf
            !DEC$ ATTRIBUTES NO_ARG_CHECK :: buf
            !DIR$ IGNORE_TKR buf
            type(*) :: buf(*)
            integer(SHORT), intent(in) :: size
            integer(SHORT), intent(in) :: mai, comm
            integer(SHORT), intent(out) :: ier
        end subroutine
        subroutine fmpl_recv_any_long(buf, size, mai, comm, ier)
            import :: SHORT, LONG
            !GCC$ ATTRIBUTES NO_ARG_CHECK :: buf
            !DEC$ ATTRIBUTES NO_ARG_CHECK :: buf
            !DIR$ IGNORE_TKR buf
            type(*) :: buf(*)
            integer(LONG), intent(in) :: size
            integer(SHORT), intent(in) :: mai, comm
            integer(SHORT), intent(out) :: ier
        end subroutine
    end interface

    interface fmpl_get_count
        subroutine fmpl_get_count(bytes, ier)
            import :: SHORT
            integer(SHORT), intent(out) :: bytes
            integer(SHORT), intent(out) :: ier
        end subroutine
        subroutine fmpl_get_count_long(bytes, ier)
            import :: SHORT, LONG
            integer(LONG), intent(out) :: bytes
            integer(SHORT), intent(out) :: ier
        end subroutine
    end interface

    interface
        subroutine fmpl_get_source(src, ier)
            import :: SHORT
            integer(SHORT), intent(out) :: src
            integer(SHORT), intent(out) :: ier
        end subroutine
    end interface

    interface
        subroutine fmpl_get_index(mai, ier)
            import :: SHORT
            integer(SHORT), intent(out) :: mai
            integer(SHORT), intent(out) :: ier
        end subroutine
    end interface

    interface fmpl_sendbuf_set
        subroutine fmpl_sendbuf_set(buf, size, ipara, ier)
            import :: SHORT
            !GCC$ ATTRIBUTES NO_ARG_CHECK :: buf
            !DEC$ ATTRIBUTES NO_ARG_CHECK :: buf
            !DIR$ IGNORE_TKR buf
            type(*) :: buf(*)
            integer(SHORT), intent(in) :: size
            integer(SHORT), intent(in) :: ipara
            integer(SHORT), intent(out) :: ier
        end subroutine
        subroutine fmpl_sendbuf_set_long(buf, size, ipara, ier)
            import :: SHORT, LONG
            !GCC$ ATTRIBUTES NO_ARG_CHECK :: buf
            !DEC$ ATTRIBUTES NO_ARG_CHECK :: buf
            !DIR$ IGNORE_TKR buf
            type(*) :: buf(*)
            integer(LONG), intent(in) :: size
            integer(SHORT), intent(in) :: ipara
            integer(SHORT), intent(out) :: ier
        end subroutine
    end interface

    interface
        subroutine fmpl_sendbuf_check(nsend, nspool, ier)
            import :: SHORT
            integer(SHORT), intent(out) :: nsend, nspool
            integer(SHORT), intent(out) :: ier
        end subroutine
    end interface

    ! ---- while the program computes

    interface fmpl_isend
        subroutine fmpl_isend(buf, size, dst, mai, comm, ier)
            import :: SHORT
            !GCC$ ATTRIBUTES NO_ARG_CHECK :: buf
            !DEC$ ATTRIBUTES NO_ARG_CHECK :: buf
            !DIR$ IGNORE_TKR buf
            type(*), intent(in), asynchronous :: buf(*)
            integer(SHORT), intent(in) :: size
            integer(SHORT), intent(in) :: dst, mai, comm
            integer(SHORT), intent(out) :: ier
        end subroutine
        subroutine fmpl_isend_long(buf, size, dst, mai, comm, ier)
            import :: SHORT, LONG
            !GCC$ ATTRIBUTES NO_ARG_CHECK :: buf
            !DEC$ ATTRIBUTES NO_ARG_CHECK :: buf
            !DIR$ IGNORE_TKR buf
            type(*), intent(in), asynchronous :: buf(*)
            integer(LONG), intent(in) :: size
            integer(SHORT), intent(in) :: dst, mai, comm
            integer(SHORT), intent(out) :: ier
        end subroutine
    end interface

    interface fmpl_irecv
        subroutine fmpl_irecv(buf, size, src, mai, comm, ier)
            import :: SHORT
            !GCC$ ATTRIBUTES NO_ARG_CHECK :: buf
            !DEC$ ATTRIBUTES NO_ARG_CHECK :: buf
            !DIR$ IGNORE_TKR buf
            type(*), asynchronous :: buf(*)
            integer(SHORT), intent(in) :: size
            integer(SHORT), intent(in) :: src, mai, comm
            integer(SHORT), intent(out) :: ier
        end subroutine
        subroutine fmpl_irecv_long(buf, size, src, mai, comm, ier)
            import :: SHORT, LONG
            !GCC$ ATTRIBUTES NO_ARG_CHECK :: buf
            !DEC$ ATTRIBUTES NO_ARG_CHECK :: buf
            !DIR$ IGNORE_TKR buf
            type(*), asynchronous :: buf(*)
            integer(LONG), intent(in) :: size
            integer(SHORT), intent(in) :: src, mai, comm
            integer(SHORT), intent(out) :: ier
        end subroutine
    end interface

    interface
        subroutine fmpl_isend_wait(dst, mai, comm, ier)
            import :: SHORT
            integer(SHORT), intent(in) :: dst, mai, comm
            integer(SHORT), intent(out) :: ier
        end subroutine
    end interface

    interface
        subroutine fmpl_irecv_wait(src, mai, comm, ier)
            import :: SHORT
            integer(SHORT), intent(in) :: src, mai, comm
            integer(SHORT), intent(out) :: ier
        end subroutine
    end interface

    interface
        subroutine fmpl_isend_test(dst, mai, comm, flag, ier)
            import :: SHORT
            integer(SHORT), intent(in) :: dst, mai, comm
            integer(SHORT), intent(out) :: flag
            integer(SHORT), intent(out) :: ier
        end subroutine
    end interface

    interface
        subroutine fmpl_irecv_test(src, mai, comm, flag, ier)
            import :: SHORT
            integer(SHORT), intent(in) :: src, mai, comm
            integer(SHORT), intent(out) :: flag
            integer(SHORT), intent(out) :: ier
        end subroutine
    end interface

    interface fmpl_send_init
        subroutine fmpl_send_init(buf, size, dst, mai, comm, req, ier)
            import :: SHORT
            !GCC$ ATTRIBUTES NO_ARG_CHECK :: buf
            !DEC$ ATTRIBUTES NO_ARG_CHECK :: buf
            !DIR$ IGNORE_TKR buf
            type(*), intent(in), asynchronous :: buf(*)
            integer(SHORT), intent(in) :: size
            integer(SHORT), intent(in) :: dst, mai, comm
            integer(SHORT), intent(out) :: req
            integer(SHORT), intent(out) :: ier
        end subroutine
        subroutine fmpl_send_init_long(buf, size, dst, mai, comm, req, ier)
            import :: SHORT, LONG
            !GCC$ ATTRIBUTES NO_ARG_CHECK :: buf
            !DEC$ ATTRIBUTES NO_ARG_CHECK :: buf
            !DIR$ IGNORE_TKR buf
            type(*), intent(in), asynchronous :: buf(*)
            integer(LONG), intent(in) :: size
            integer(SHORT), intent(in) :: dst, mai, comm
            integer(SHORT), intent(out) :: req
            integer(SHORT), intent(out) :: ier
        end subroutine
    end interface

    interface fmpl_recv_init
        subroutine fmpl_recv_init(buf, size, src, mai, comm, req, ier)
            import :: SHORT
            !GCC$ ATTRIBUTES NO_ARG_CHECK :: buf
            !DEC$ ATTRIBUTES NO_ARG_CHECK :: buf
            !DIR$ IGNORE_TKR buf
            type(*), asynchronous :: buf(*)
            integer(SHORT), intent(in) :: size
            integer(SHORT), intent(in) :: src, mai, comm
            integer(SHORT), intent(out) :: req
            integer(SHORT), intent(out) :: ier
        end subroutine
        subroutine fmpl_recv_init_long(buf, size, src, mai, comm, req, ier)
            import :: SHORT, LONG
            !GCC$ ATTRIBUTES NO_ARG_CHECK :: buf
            !DEC$ ATTRIBUTES NO_ARG_CHECK :: buf
            !DIR$ IGNORE_TKR buf
            type(*), asynchronous :: buf(*)
            integer(LONG), intent(in) :: size
            integer(SHORT), intent(in) :: src, mai, comm
            integer(SHORT), intent(out) :: req
            integer(SHORT), intent(out) :: ier
        end subroutine
    end interface

    interface
        subroutine fmpl_start(req, ier)
            import :: SHORT
            integer(SHORT), intent(in) :: req
            integer(SHORT), intent(out) :: ier
        end subroutine
    end interface

    interface
        subroutine fmpl_wait(req, ier)
            import :: SHORT
            integer(SHORT), intent(in) :: req
            integer(SHORT), intent(out) :: ier
        end subroutine
    end interface

    interface
        subroutine fmpl_test(req, flag, ier)
            import :: SHORT
            integer(SHORT), intent(in) :: req
            integer(SHORT), intent(out) :: flag
            integer(SHORT), intent(out) :: ier
        end subroutine
    end interface

    interface
        subroutine fmpl_request_free(req, ier)
            import :: SHORT
            integer(SHORT), intent(inout) :: req
            integer(SHORT), intent(out) :: ier
        end subroutine
    end interface

    ! ---- together

    interface
        subroutine fmpl_barrier(comm, ier)
            import :: SHORT
            integer(SHORT), intent(in) :: comm
            integer(SHORT), intent(out) :: ier
        end subroutine
    end interface

    interface fmpl_bcast
        subroutine fmpl_bcast(buf, size, root, comm, ier)
            import :: SHORT
            !GCC$ ATTRIBUTES NO_ARG_CHECK :: buf
            !DEC$ ATTRIBUTES NO_ARG_CHECK :: buf
            !DIR$ IGNORE_TKR buf
            type(*) :: buf(*)
            integer(SHORT), intent(in) :: size
            integer(SHORT), intent(in) :: root, comm
            integer(SHORT), intent(out) :: ier
        end subroutine
        subroutine fmpl_bcast_long(buf, size, root, comm, ier)
            import :: SHORT, LONG
            !GCC$ ATTRIBUTES NO_ARG_CHECK :: buf
            !DEC$ ATTRIBUTES NO_ARG_CHECK :: buf
            !DIR$ IGNORE_TKR buf
            type(*) :: buf(*)
            integer(LONG), intent(in) :: size
            integer(SHORT), intent(in) :: root, comm
            integer(SHORT), intent(out) :: ier
        end subroutine
    end interface

    interface
        subroutine fmpl_reduce(buf, count, func, root, comm, work, ier)
            import :: SHORT
            !GCC$ ATTRIBUTES NO_ARG_CHECK :: buf
            !DEC$ ATTRIBUTES NO_ARG_CHECK :: buf
            !DIR$ IGNORE_TKR buf
            !GCC$ ATTRIBUTES NO_ARG_CHECK :: work
            !DEC$ ATTRIBUTES NO_ARG_CHECK :: work
            !DIR$ IGNORE_TKR work
            type(*) :: buf(*)
            integer(SHORT), intent(in) :: count, func, root, comm
            type(*) :: work(*)
            integer(SHORT), intent(out) :: ier
        end subroutine
    end interface

    interface
        subroutine fmpl_allreduce(buf, count, func, comm, work, ier)
            import :: SHORT
            !GCC$ ATTRIBUTES NO_ARG_CHECK :: buf
            !DEC$ ATTRIBUTES NO_ARG_CHECK :: buf
            !DIR$ IGNORE_TKR buf
            !GCC$ ATTRIBUTES NO_ARG_CHECK :: work
            !DEC$ ATTRIBUTES NO_ARG_CHECK :: work
            !DIR$ IGNORE_TKR work
            type(*) :: buf(*)
            integer(SHORT), intent(in) :: count, func, comm
            type(*) :: work(*)
            integer(SHORT), intent(out) :: ier
        end subroutine
    end interface

    interface
        subroutine fmpl_scan(buf, count, func, comm, work, ier)
            import :: SHORT
            !GCC$ ATTRIBUTES NO_ARG_CHECK :: buf
            !DEC$ ATTRIBUTES NO_ARG_CHECK :: buf
            !DIR$ IGNORE_TKR buf
            !GCC$ ATTRIBUTES NO_ARG_CHECK :: work
            !DEC$ ATTRIBUTES NO_ARG_CHECK :: work
            !DIR$ IGNORE_TKR work
            type(*) :: buf(*)
            integer(SHORT), intent(in) :: count, func, comm
            type(*) :: work(*)
            integer(SHORT), intent(out) :: ier
        end subroutine
    end interface

    interface
        subroutine fmpl_exscan(buf, count, func, comm, work, ier)
            import :: SHORT
            !GCC$ ATTRIBUTES NO_ARG_CHECK :: buf
            !DEC$ ATTRIBUTES NO_ARG_CHECK :: buf
            !DIR$ IGNORE_TKR buf
            !GCC$ ATTRIBUTES NO_ARG_CHECK :: work
            !DEC$ ATTRIBUTES NO_ARG_CHECK :: work
            !DIR$ IGNORE_TKR work
            type(*) :: buf(*)
            integer(SHORT), intent(in) :: count, func, comm
            type(*) :: work(*)
            integer(SHORT), intent(out) :: ier
        end subroutine
    end interface

    interface
        subroutine fmpl_reduce_scatter(data, mine, counts, func, comm, ier)
            import :: SHORT
            !GCC$ ATTRIBUTES NO_ARG_CHECK :: data
            !DEC$ ATTRIBUTES NO_ARG_CHECK :: data
            !DIR$ IGNORE_TKR data
            !GCC$ ATTRIBUTES NO_ARG_CHECK :: mine
            !DEC$ ATTRIBUTES NO_ARG_CHECK :: mine
            !DIR$ IGNORE_TKR mine
            type(*), intent(in) :: data(*)
            type(*) :: mine(*)
            integer(SHORT), intent(in) :: counts(*)
            integer(SHORT), intent(in) :: func, comm
            integer(SHORT), intent(out) :: ier
        end subroutine
    end interface

    interface
        subroutine fmpl_reduce_scatter_block(data, mine, count, func, comm, ier)
            import :: SHORT
            !GCC$ ATTRIBUTES NO_ARG_CHECK :: data
            !DEC$ ATTRIBUTES NO_ARG_CHECK :: data
            !DIR$ IGNORE_TKR data
            !GCC$ ATTRIBUTES NO_ARG_CHECK :: mine
            !DEC$ ATTRIBUTES NO_ARG_CHECK :: mine
            !DIR$ IGNORE_TKR mine
            type(*), intent(in) :: data(*)
            type(*) :: mine(*)
            integer(SHORT), intent(in) :: count, func, comm
            integer(SHORT), intent(out) :: ier
        end subroutine
    end interface

    interface fmpl_func_create
        subroutine fmpl_func_create(fn, elem_size, func, ier)
            import :: SHORT
            external :: fn
            integer(SHORT), intent(in) :: elem_size
            integer(SHORT), intent(out) :: func
            integer(SHORT), intent(out) :: ier
        end subroutine
        subroutine fmpl_func_create_long(fn, elem_size, func, ier)
            import :: SHORT, LONG
            external :: fn
            integer(LONG), intent(in) :: elem_size
            integer(SHORT), intent(out) :: func
            integer(SHORT), intent(out) :: ier
        end subroutine
    end interface

    interface
        subroutine fmpl_func_free(func, ier)
            import :: SHORT
            integer(SHORT), intent(inout) :: func
            integer(SHORT), intent(out) :: ier
        end subroutine
    end interface

    interface fmpl_gather
        subroutine fmpl_gather(mine, size, all, root, comm, ier)
            import :: SHORT
            !GCC$ ATTRIBUTES NO_ARG_CHECK :: mine
            !DEC$ ATTRIBUTES NO_ARG_CHECK :: mine
            !DIR$ IGNORE_TKR mine
            !GCC$ ATTRIBUTES NO_ARG_CHECK :: all
            !DEC$ ATTRIBUTES NO_ARG_CHECK :: all
            !DIR$ IGNORE_TKR all
            type(*), intent(in) :: mine(*)
            integer(SHORT), intent(in) :: size
            type(*) :: all(*)
            integer(SHORT), intent(in) :: root, comm
            integer(SHORT), intent(out) :: ier
        end subroutine
        subroutine fmpl_gather_long(mine, size, all, root, comm, ier)
            import :: SHORT, LONG
            !GCC$ ATTRIBUTES NO_ARG_CHECK :: mine
            !DEC$ ATTRIBUTES NO_ARG_CHECK :: mine
            !DIR$ IGNORE_TKR mine
            !GCC$ ATTRIBUTES NO_ARG_CHECK :: all
            !DEC$ ATTRIBUTES NO_ARG_CHECK :: all
            !DIR$ IGNORE_TKR all
            type(*), intent(in) :: mine(*)
            integer(LONG), intent(in) :: size
            type(*) :: all(*)
            integer(SHORT), intent(in) :: root, comm
            integer(SHORT), intent(out) :: ier
        end subroutine
    end interface

    interface fmpl_allgather
        subroutine fmpl_allgather(mine, size, all, comm, ier)
            import :: SHORT
            !GCC$ ATTRIBUTES NO_ARG_CHECK :: mine
            !DEC$ ATTRIBUTES NO_ARG_CHECK :: mine
            !DIR$ IGNORE_TKR mine
            !GCC$ ATTRIBUTES NO_ARG_CHECK :: all
            !DEC$ ATTRIBUTES NO_ARG_CHECK :: all
            !DIR$ IGNORE_TKR all
            type(*), intent(in) :: mine(*)
            integer(SHORT), intent(in) :: size
            type(*) :: all(*)
            integer(SHORT), intent(in) :: comm
            integer(SHORT), intent(out) :: ier
        end subroutine
        subroutine fmpl_allgather_long(mine, size, all, comm, ier)
            import :: SHORT, LONG
            !GCC$ ATTRIBUTES NO_ARG_CHECK :: mine
            !DEC$ ATTRIBUTES NO_ARG_CHECK :: mine
            !DIR$ IGNORE_TKR mine
            !GCC$ ATTRIBUTES NO_ARG_CHECK :: all
            !DEC$ ATTRIBUTES NO_ARG_CHECK :: all
            !DIR$ IGNORE_TKR all
            type(*), intent(in) :: mine(*)
            integer(LONG), intent(in) :: size
            type(*) :: all(*)
            integer(SHORT), intent(in) :: comm
            integer(SHORT), intent(out) :: ier
        end subroutine
    end interface

    interface fmpl_scatter
        subroutine fmpl_scatter(all, size, mine, root, comm, ier)
            import :: SHORT
            !GCC$ ATTRIBUTES NO_ARG_CHECK :: all
            !DEC$ ATTRIBUTES NO_ARG_CHECK :: all
            !DIR$ IGNORE_TKR all
            !GCC$ ATTRIBUTES NO_ARG_CHECK :: mine
            !DEC$ ATTRIBUTES NO_ARG_CHECK :: mine
            !DIR$ IGNORE_TKR mine
            type(*), intent(in) :: all(*)
            integer(SHORT), intent(in) :: size
            type(*) :: mine(*)
            integer(SHORT), intent(in) :: root, comm
            integer(SHORT), intent(out) :: ier
        end subroutine
        subroutine fmpl_scatter_long(all, size, mine, root, comm, ier)
            import :: SHORT, LONG
            !GCC$ ATTRIBUTES NO_ARG_CHECK :: all
            !DEC$ ATTRIBUTES NO_ARG_CHECK :: all
            !DIR$ IGNORE_TKR all
            !GCC$ ATTRIBUTES NO_ARG_CHECK :: mine
            !DEC$ ATTRIBUTES NO_ARG_CHECK :: mine
            !DIR$ IGNORE_TKR mine
            type(*), intent(in) :: all(*)
            integer(LONG), intent(in) :: size
            type(*) :: mine(*)
            integer(SHORT), intent(in) :: root, comm
            integer(SHORT), intent(out) :: ier
        end subroutine
    end interface

    interface fmpl_alltoall
        subroutine fmpl_alltoall(blocks, size, into, comm, ier)
            import :: SHORT
            !GCC$ ATTRIBUTES NO_ARG_CHECK :: blocks
            !DEC$ ATTRIBUTES NO_ARG_CHECK :: blocks
            !DIR$ IGNORE_TKR blocks
            !GCC$ ATTRIBUTES NO_ARG_CHECK :: into
            !DEC$ ATTRIBUTES NO_ARG_CHECK :: into
            !DIR$ IGNORE_TKR into
            type(*), intent(in) :: blocks(*)
            integer(SHORT), intent(in) :: size
            type(*) :: into(*)
            integer(SHORT), intent(in) :: comm
            integer(SHORT), intent(out) :: ier
        end subroutine
        subroutine fmpl_alltoall_long(blocks, size, into, comm, ier)
            import :: SHORT, LONG
            !GCC$ ATTRIBUTES NO_ARG_CHECK :: blocks
            !DEC$ ATTRIBUTES NO_ARG_CHECK :: blocks
            !DIR$ IGNORE_TKR blocks
            !GCC$ ATTRIBUTES NO_ARG_CHECK :: into
            !DEC$ ATTRIBUTES NO_ARG_CHECK :: into
            !DIR$ IGNORE_TKR into
            type(*), intent(in) :: blocks(*)
            integer(LONG), intent(in) :: size
            type(*) :: into(*)
            integer(SHORT), intent(in) :: comm
            integer(SHORT), intent(out) :: ier
        end subroutine
    end interface

    interface fmpl_gatherv
        subroutine fmpl_gatherv(mine, size, all, sizes, starts, root, comm, ier)
            import :: SHORT
            !GCC$ ATTRIBUTES NO_ARG_CHECK :: mine
            !DEC$ ATTRIBUTES NO_ARG_CHECK :: mine
            !DIR$ IGNORE_TKR mine
            !GCC$ ATTRIBUTES NO_ARG_CHECK :: all
            !DEC$ ATTRIBUTES NO_ARG_CHECK :: all
            !DIR$ IGNORE_TKR all
            type(*), intent(in) :: mine(*)
            integer(SHORT), intent(in) :: size
            type(*) :: all(*)
            integer(SHORT), intent(in) :: sizes(*), starts(*)
            integer(SHORT), intent(in) :: root, comm
            integer(SHORT), intent(out) :: ier
        end subroutine
        subroutine fmpl_gatherv_long(mine, size, all, sizes, starts, root, comm, ier)
            import :: SHORT, LONG
            !GCC$ ATTRIBUTES NO_ARG_CHECK :: mine
            !DEC$ ATTRIBUTES NO_ARG_CHECK :: mine
            !DIR$ IGNORE_TKR mine
            !GCC$ ATTRIBUTES NO_ARG_CHECK :: all
            !DEC$ ATTRIBUTES NO_ARG_CHECK :: all
            !DIR$ IGNORE_TKR all
            type(*), intent(in) :: mine(*)
            integer(LONG), intent(in) :: size
            type(*) :: all(*)
            integer(LONG), intent(in) :: sizes(*), starts(*)
            integer(SHORT), intent(in) :: root, comm
            integer(SHORT), intent(out) :: ier
        end subroutine
    end interface

    interface fmpl_allgatherv
        subroutine fmpl_allgatherv(mine, size, all, sizes, starts, comm, ier)
            import :: SHORT
            !GCC$ ATTRIBUTES NO_ARG_CHECK :: mine
            !DEC$ ATTRIBUTES NO_ARG_CHECK :: mine
            !DIR$ IGNORE_TKR mine
            !GCC$ ATTRIBUTES NO_ARG_CHECK :: all
            !DEC$ ATTRIBUTES NO_ARG_CHECK :: all
            !DIR$ IGNORE_TKR all
            type(*), intent(in) :: mine(*)
            integer(SHORT), intent(in) :: size
            type(*) :: all(*)
            integer(SHORT), intent(in) :: sizes(*), starts(*)
            integer(SHORT), intent(in) :: comm
            integer(SHORT), intent(out) :: ier
        end subroutine
        subroutine fmpl_allgatherv_long(mine, size, all, sizes, starts, comm, ier)
            import :: SHORT, LONG
            !GCC$ ATTRIBUTES NO_ARG_CHECK :: mine
            !DEC$ ATTRIBUTES NO_ARG_CHECK :: mine
            !DIR$ IGNORE_TKR mine
            !GCC$ ATTRIBUTES NO_ARG_CHECK :: all
            !DEC$ ATTRIBUTES NO_ARG_CHECK :: all
            !DIR$ IGNORE_TKR all
            type(*), intent(in) :: mine(*)
            integer(LONG), intent(in) :: size
            type(*) :: all(*)
            integer(LONG), intent(in) :: sizes(*), starts(*)
            integer(SHORT), intent(in) :: comm
            integer(SHORT), intent(out) :: ier
        end subroutine
    end interface

    interface fmpl_scatterv
        subroutine fmpl_scatterv(all, sizes, starts, mine, size, root, comm, ier)
            import :: SHORT
            !GCC$ ATTRIBUTES NO_ARG_CHECK :: all
            !DEC$ ATTRIBUTES NO_ARG_CHECK :: all
            !DIR$ IGNORE_TKR all
            !GCC$ ATTRIBUTES NO_ARG_CHECK :: mine
            !DEC$ ATTRIBUTES NO_ARG_CHECK :: mine
            !DIR$ IGNORE_TKR mine
            type(*), intent(in) :: all(*)
            integer(SHORT), intent(in) :: sizes(*), starts(*)
            type(*) :: mine(*)
            integer(SHORT), intent(in) :: size
            integer(SHORT), intent(in) :: root, comm
            integer(SHORT), intent(out) :: ier
        end subroutine
        subroutine fmpl_scatterv_long(all, sizes, starts, mine, size, root, comm, ier)
            import :: SHORT, LONG
            !GCC$ ATTRIBUTES NO_ARG_CHECK :: all
            !DEC$ ATTRIBUTES NO_ARG_CHECK :: all
            !DIR$ IGNORE_TKR all
            !GCC$ ATTRIBUTES NO_ARG_CHECK :: mine
            !DEC$ ATTRIBUTES NO_ARG_CHECK :: mine
            !DIR$ IGNORE_TKR mine
            type(*), intent(in) :: all(*)
            integer(LONG), intent(in) :: sizes(*), starts(*)
            type(*) :: mine(*)
            integer(LONG), intent(in) :: size
            integer(SHORT), intent(in) :: root, comm
            integer(SHORT), intent(out) :: ier
        end subroutine
    end interface

    interface fmpl_alltoallv
        subroutine fmpl_alltoallv(from, from_sizes, from_starts, into, into_sizes, into_starts, comm, ier)
            import :: SHORT
            !GCC$ ATTRIBUTES NO_ARG_CHECK :: from
            !DEC$ ATTRIBUTES NO_ARG_CHECK :: from
            !DIR$ IGNORE_TKR from
            !GCC$ ATTRIBUTES NO_ARG_CHECK :: into
            !DEC$ ATTRIBUTES NO_ARG_CHECK :: into
            !DIR$ IGNORE_TKR into
            type(*), intent(in) :: from(*)
            integer(SHORT), intent(in) :: from_sizes(*), from_starts(*)
            type(*) :: into(*)
            integer(SHORT), intent(in) :: into_sizes(*), into_starts(*)
            integer(SHORT), intent(in) :: comm
            integer(SHORT), intent(out) :: ier
        end subroutine
        subroutine fmpl_alltoallv_long(from, from_sizes, from_starts, into, into_sizes, into_starts, comm, ier)
            import :: SHORT, LONG
            !GCC$ ATTRIBUTES NO_ARG_CHECK :: from
            !DEC$ ATTRIBUTES NO_ARG_CHECK :: from
            !DIR$ IGNORE_TKR from
            !GCC$ ATTRIBUTES NO_ARG_CHECK :: into
            !DEC$ ATTRIBUTES NO_ARG_CHECK :: into
            !DIR$ IGNORE_TKR into
            type(*), intent(in) :: from(*)
            integer(LONG), intent(in) :: from_sizes(*), from_starts(*)
            type(*) :: into(*)
            integer(LONG), intent(in) :: into_sizes(*), into_starts(*)
            integer(SHORT), intent(in) :: comm
            integer(SHORT), intent(out) :: ier
        end subroutine
    end interface

    ! ---- together, while the program computes

    interface
        subroutine fmpl_ibarrier(comm, req, ier)
            import :: SHORT
            integer(SHORT), intent(in) :: comm
            integer(SHORT), intent(out) :: req
            integer(SHORT), intent(out) :: ier
        end subroutine
    end interface

    interface fmpl_ibcast
        subroutine fmpl_ibcast(buf, size, root, comm, req, ier)
            import :: SHORT
            !GCC$ ATTRIBUTES NO_ARG_CHECK :: buf
            !DEC$ ATTRIBUTES NO_ARG_CHECK :: buf
            !DIR$ IGNORE_TKR buf
            type(*), asynchronous :: buf(*)
            integer(SHORT), intent(in) :: size
            integer(SHORT), intent(in) :: root, comm
            integer(SHORT), intent(out) :: req
            integer(SHORT), intent(out) :: ier
        end subroutine
        subroutine fmpl_ibcast_long(buf, size, root, comm, req, ier)
            import :: SHORT, LONG
            !GCC$ ATTRIBUTES NO_ARG_CHECK :: buf
            !DEC$ ATTRIBUTES NO_ARG_CHECK :: buf
            !DIR$ IGNORE_TKR buf
            type(*), asynchronous :: buf(*)
            integer(LONG), intent(in) :: size
            integer(SHORT), intent(in) :: root, comm
            integer(SHORT), intent(out) :: req
            integer(SHORT), intent(out) :: ier
        end subroutine
    end interface

    interface
        subroutine fmpl_ireduce(buf, count, func, root, comm, work, req, ier)
            import :: SHORT
            !GCC$ ATTRIBUTES NO_ARG_CHECK :: buf
            !DEC$ ATTRIBUTES NO_ARG_CHECK :: buf
            !DIR$ IGNORE_TKR buf
            !GCC$ ATTRIBUTES NO_ARG_CHECK :: work
            !DEC$ ATTRIBUTES NO_ARG_CHECK :: work
            !DIR$ IGNORE_TKR work
            type(*), asynchronous :: buf(*)
            integer(SHORT), intent(in) :: count, func, root, comm
            type(*) :: work(*)
            integer(SHORT), intent(out) :: req
            integer(SHORT), intent(out) :: ier
        end subroutine
    end interface

    interface
        subroutine fmpl_iallreduce(buf, count, func, comm, work, req, ier)
            import :: SHORT
            !GCC$ ATTRIBUTES NO_ARG_CHECK :: buf
            !DEC$ ATTRIBUTES NO_ARG_CHECK :: buf
            !DIR$ IGNORE_TKR buf
            !GCC$ ATTRIBUTES NO_ARG_CHECK :: work
            !DEC$ ATTRIBUTES NO_ARG_CHECK :: work
            !DIR$ IGNORE_TKR work
            type(*), asynchronous :: buf(*)
            integer(SHORT), intent(in) :: count, func, comm
            type(*) :: work(*)
            integer(SHORT), intent(out) :: req
            integer(SHORT), intent(out) :: ier
        end subroutine
    end interface

    interface
        subroutine fmpl_iscan(buf, count, func, comm, work, req, ier)
            import :: SHORT
            !GCC$ ATTRIBUTES NO_ARG_CHECK :: buf
            !DEC$ ATTRIBUTES NO_ARG_CHECK :: buf
            !DIR$ IGNORE_TKR buf
            !GCC$ ATTRIBUTES NO_ARG_CHECK :: work
            !DEC$ ATTRIBUTES NO_ARG_CHECK :: work
            !DIR$ IGNORE_TKR work
            type(*), asynchronous :: buf(*)
            integer(SHORT), intent(in) :: count, func, comm
            type(*) :: work(*)
            integer(SHORT), intent(out) :: req
            integer(SHORT), intent(out) :: ier
        end subroutine
    end interface

    interface
        subroutine fmpl_iexscan(buf, count, func, comm, work, req, ier)
            import :: SHORT
            !GCC$ ATTRIBUTES NO_ARG_CHECK :: buf
            !DEC$ ATTRIBUTES NO_ARG_CHECK :: buf
            !DIR$ IGNORE_TKR buf
            !GCC$ ATTRIBUTES NO_ARG_CHECK :: work
            !DEC$ ATTRIBUTES NO_ARG_CHECK :: work
            !DIR$ IGNORE_TKR work
            type(*), asynchronous :: buf(*)
            integer(SHORT), intent(in) :: count, func, comm
            type(*) :: work(*)
            integer(SHORT), intent(out) :: req
            integer(SHORT), intent(out) :: ier
        end subroutine
    end interface

    interface fmpl_igather
        subroutine fmpl_igather(mine, size, all, root, comm, req, ier)
            import :: SHORT
            !GCC$ ATTRIBUTES NO_ARG_CHECK :: mine
            !DEC$ ATTRIBUTES NO_ARG_CHECK :: mine
            !DIR$ IGNORE_TKR mine
            !GCC$ ATTRIBUTES NO_ARG_CHECK :: all
            !DEC$ ATTRIBUTES NO_ARG_CHECK :: all
            !DIR$ IGNORE_TKR all
            type(*), intent(in), asynchronous :: mine(*)
            integer(SHORT), intent(in) :: size
            type(*), asynchronous :: all(*)
            integer(SHORT), intent(in) :: root, comm
            integer(SHORT), intent(out) :: req
            integer(SHORT), intent(out) :: ier
        end subroutine
        subroutine fmpl_igather_long(mine, size, all, root, comm, req, ier)
            import :: SHORT, LONG
            !GCC$ ATTRIBUTES NO_ARG_CHECK :: mine
            !DEC$ ATTRIBUTES NO_ARG_CHECK :: mine
            !DIR$ IGNORE_TKR mine
            !GCC$ ATTRIBUTES NO_ARG_CHECK :: all
            !DEC$ ATTRIBUTES NO_ARG_CHECK :: all
            !DIR$ IGNORE_TKR all
            type(*), intent(in), asynchronous :: mine(*)
            integer(LONG), intent(in) :: size
            type(*), asynchronous :: all(*)
            integer(SHORT), intent(in) :: root, comm
            integer(SHORT), intent(out) :: req
            integer(SHORT), intent(out) :: ier
        end subroutine
    end interface

    interface fmpl_iallgather
        subroutine fmpl_iallgather(mine, size, all, comm, req, ier)
            import :: SHORT
            !GCC$ ATTRIBUTES NO_ARG_CHECK :: mine
            !DEC$ ATTRIBUTES NO_ARG_CHECK :: mine
            !DIR$ IGNORE_TKR mine
            !GCC$ ATTRIBUTES NO_ARG_CHECK :: all
            !DEC$ ATTRIBUTES NO_ARG_CHECK :: all
            !DIR$ IGNORE_TKR all
            type(*), intent(in), asynchronous :: mine(*)
            integer(SHORT), intent(in) :: size
            type(*), asynchronous :: all(*)
            integer(SHORT), intent(in) :: comm
            integer(SHORT), intent(out) :: req
            integer(SHORT), intent(out) :: ier
        end subroutine
        subroutine fmpl_iallgather_long(mine, size, all, comm, req, ier)
            import :: SHORT, LONG
            !GCC$ ATTRIBUTES NO_ARG_CHECK :: mine
            !DEC$ ATTRIBUTES NO_ARG_CHECK :: mine
            !DIR$ IGNORE_TKR mine
            !GCC$ ATTRIBUTES NO_ARG_CHECK :: all
            !DEC$ ATTRIBUTES NO_ARG_CHECK :: all
            !DIR$ IGNORE_TKR all
            type(*), intent(in), asynchronous :: mine(*)
            integer(LONG), intent(in) :: size
            type(*), asynchronous :: all(*)
            integer(SHORT), intent(in) :: comm
            integer(SHORT), intent(out) :: req
            integer(SHORT), intent(out) :: ier
        end subroutine
    end interface

    interface fmpl_iscatter
        subroutine fmpl_iscatter(all, size, mine, root, comm, req, ier)
            import :: SHORT
            !GCC$ ATTRIBUTES NO_ARG_CHECK :: all
            !DEC$ ATTRIBUTES NO_ARG_CHECK :: all
            !DIR$ IGNORE_TKR all
            !GCC$ ATTRIBUTES NO_ARG_CHECK :: mine
            !DEC$ ATTRIBUTES NO_ARG_CHECK :: mine
            !DIR$ IGNORE_TKR mine
            type(*), intent(in), asynchronous :: all(*)
            integer(SHORT), intent(in) :: size
            type(*), asynchronous :: mine(*)
            integer(SHORT), intent(in) :: root, comm
            integer(SHORT), intent(out) :: req
            integer(SHORT), intent(out) :: ier
        end subroutine
        subroutine fmpl_iscatter_long(all, size, mine, root, comm, req, ier)
            import :: SHORT, LONG
            !GCC$ ATTRIBUTES NO_ARG_CHECK :: all
            !DEC$ ATTRIBUTES NO_ARG_CHECK :: all
            !DIR$ IGNORE_TKR all
            !GCC$ ATTRIBUTES NO_ARG_CHECK :: mine
            !DEC$ ATTRIBUTES NO_ARG_CHECK :: mine
            !DIR$ IGNORE_TKR mine
            type(*), intent(in), asynchronous :: all(*)
            integer(LONG), intent(in) :: size
            type(*), asynchronous :: mine(*)
            integer(SHORT), intent(in) :: root, comm
            integer(SHORT), intent(out) :: req
            integer(SHORT), intent(out) :: ier
        end subroutine
    end interface

    interface fmpl_ialltoall
        subroutine fmpl_ialltoall(blocks, size, into, comm, req, ier)
            import :: SHORT
            !GCC$ ATTRIBUTES NO_ARG_CHECK :: blocks
            !DEC$ ATTRIBUTES NO_ARG_CHECK :: blocks
            !DIR$ IGNORE_TKR blocks
            !GCC$ ATTRIBUTES NO_ARG_CHECK :: into
            !DEC$ ATTRIBUTES NO_ARG_CHECK :: into
            !DIR$ IGNORE_TKR into
            type(*), intent(in), asynchronous :: blocks(*)
            integer(SHORT), intent(in) :: size
            type(*), asynchronous :: into(*)
            integer(SHORT), intent(in) :: comm
            integer(SHORT), intent(out) :: req
            integer(SHORT), intent(out) :: ier
        end subroutine
        subroutine fmpl_ialltoall_long(blocks, size, into, comm, req, ier)
            import :: SHORT, LONG
            !GCC$ ATTRIBUTES NO_ARG_CHECK :: blocks
            !DEC$ ATTRIBUTES NO_ARG_CHECK :: blocks
            !DIR$ IGNORE_TKR blocks
            !GCC$ ATTRIBUTES NO_ARG_CHECK :: into
            !DEC$ ATTRIBUTES NO_ARG_CHECK :: into
            !DIR$ IGNORE_TKR into
            type(*), intent(in), asynchronous :: blocks(*)
            integer(LONG), intent(in) :: size
            type(*), asynchronous :: into(*)
            integer(SHORT), intent(in) :: comm
            integer(SHORT), intent(out) :: req
            integer(SHORT), intent(out) :: ier
        end subroutine
    end interface

    interface
        subroutine fmpl_ireduce_scatter(data, mine, counts, func, comm, req, ier)
            import :: SHORT
            !GCC$ ATTRIBUTES NO_ARG_CHECK :: data
            !DEC$ ATTRIBUTES NO_ARG_CHECK :: data
            !DIR$ IGNORE_TKR data
            !GCC$ ATTRIBUTES NO_ARG_CHECK :: mine
            !DEC$ ATTRIBUTES NO_ARG_CHECK :: mine
            !DIR$ IGNORE_TKR mine
            type(*), intent(in), asynchronous :: data(*)
            type(*), asynchronous :: mine(*)
            integer(SHORT), intent(in) :: counts(*)
            integer(SHORT), intent(in) :: func, comm
            integer(SHORT), intent(out) :: req
            integer(SHORT), intent(out) :: ier
        end subroutine
    end interface

    interface
        subroutine fmpl_ireduce_scatter_block(data, mine, count, func, comm, req, ier)
            import :: SHORT
            !GCC$ ATTRIBUTES NO_ARG_CHECK :: data
            !DEC$ ATTRIBUTES NO_ARG_CHECK :: data
            !DIR$ IGNORE_TKR data
            !GCC$ ATTRIBUTES NO_ARG_CHECK :: mine
            !DEC$ ATTRIBUTES NO_ARG_CHECK :: mine
            !DIR$ IGNORE_TKR mine
            type(*), intent(in), asynchronous :: data(*)
            type(*), asynchronous :: mine(*)
            integer(SHORT), intent(in) :: count, func, comm
            integer(SHORT), intent(out) :: req
            integer(SHORT), intent(out) :: ier
        end subroutine
    end interface

    interface fmpl_igatherv
        subroutine fmpl_igatherv(mine, size, all, sizes, starts, root, comm, req, ier)
            import :: SHORT
            !GCC$ ATTRIBUTES NO_ARG_CHECK :: mine
            !DEC$ ATTRIBUTES NO_ARG_CHECK :: mine
            !DIR$ IGNORE_TKR mine
            !GCC$ ATTRIBUTES NO_ARG_CHECK :: all
            !DEC$ ATTRIBUTES NO_ARG_CHECK :: all
            !DIR$ IGNORE_TKR all
            type(*), intent(in), asynchronous :: mine(*)
            integer(SHORT), intent(in) :: size
            type(*), asynchronous :: all(*)
            integer(SHORT), intent(in) :: sizes(*), starts(*)
            integer(SHORT), intent(in) :: root, comm
            integer(SHORT), intent(out) :: req
            integer(SHORT), intent(out) :: ier
        end subroutine
        subroutine fmpl_igatherv_long(mine, size, all, sizes, starts, root, comm, req, ier)
            import :: SHORT, LONG
            !GCC$ ATTRIBUTES NO_ARG_CHECK :: mine
            !DEC$ ATTRIBUTES NO_ARG_CHECK :: mine
            !DIR$ IGNORE_TKR mine
            !GCC$ ATTRIBUTES NO_ARG_CHECK :: all
            !DEC$ ATTRIBUTES NO_ARG_CHECK :: all
            !DIR$ IGNORE_TKR all
            type(*), intent(in), asynchronous :: mine(*)
            integer(LONG), intent(in) :: size
            type(*), asynchronous :: all(*)
            integer(LONG), intent(in) :: sizes(*), starts(*)
            integer(SHORT), intent(in) :: root, comm
            integer(SHORT), intent(out) :: req
            integer(SHORT), intent(out) :: ier
        end subroutine
    end interface

    interface fmpl_iallgatherv
        subroutine fmpl_iallgatherv(mine, size, all, sizes, starts, comm, req, ier)
            import :: SHORT
            !GCC$ ATTRIBUTES NO_ARG_CHECK :: mine
            !DEC$ ATTRIBUTES NO_ARG_CHECK :: mine
            !DIR$ IGNORE_TKR mine
            !GCC$ ATTRIBUTES NO_ARG_CHECK :: all
            !DEC$ ATTRIBUTES NO_ARG_CHECK :: all
            !DIR$ IGNORE_TKR all
            type(*), intent(in), asynchronous :: mine(*)
            integer(SHORT), intent(in) :: size
            type(*), asynchronous :: all(*)
            integer(SHORT), intent(in) :: sizes(*), starts(*)
            integer(SHORT), intent(in) :: comm
            integer(SHORT), intent(out) :: req
            integer(SHORT), intent(out) :: ier
        end subroutine
        subroutine fmpl_iallgatherv_long(mine, size, all, sizes, starts, comm, req, ier)
            import :: SHORT, LONG
            !GCC$ ATTRIBUTES NO_ARG_CHECK :: mine
            !DEC$ ATTRIBUTES NO_ARG_CHECK :: mine
            !DIR$ IGNORE_TKR mine
            !GCC$ ATTRIBUTES NO_ARG_CHECK :: all
            !DEC$ ATTRIBUTES NO_ARG_CHECK :: all
            !DIR$ IGNORE_TKR all
            type(*), intent(in), asynchronous :: mine(*)
            integer(LONG), intent(in) :: size
            type(*), asynchronous :: all(*)
            integer(LONG), intent(in) :: sizes(*), starts(*)
            integer(SHORT), intent(in) :: comm
            integer(SHORT), intent(out) :: req
            integer(SHORT), intent(out) :: ier
        end subroutine
    end interface

    interface fmpl_iscatterv
        subroutine fmpl_iscatterv(all, sizes, starts, mine, size, root, comm, req, ier)
            import :: SHORT
            !GCC$ ATTRIBUTES NO_ARG_CHECK :: all
            !DEC$ ATTRIBUTES NO_ARG_CHECK :: all
            !DIR$ IGNORE_TKR all
            !GCC$ ATTRIBUTES NO_ARG_CHECK :: mine
            !DEC$ ATTRIBUTES NO_ARG_CHECK :: mine
            !DIR$ IGNORE_TKR mine
            type(*), intent(in), asynchronous :: all(*)
            integer(SHORT), intent(in) :: sizes(*), starts(*)
            type(*), asynchronous :: mine(*)
            integer(SHORT), intent(in) :: size
            integer(SHORT), intent(in) :: root, comm
            integer(SHORT), intent(out) :: req
            integer(SHORT), intent(out) :: ier
        end subroutine
        subroutine fmpl_iscatterv_long(all, sizes, starts, mine, size, root, comm, req, ier)
            import :: SHORT, LONG
            !GCC$ ATTRIBUTES NO_ARG_CHECK :: all
            !DEC$ ATTRIBUTES NO_ARG_CHECK :: all
            !DIR$ IGNORE_TKR all
            !GCC$ ATTRIBUTES NO_ARG_CHECK :: mine
            !DEC$ ATTRIBUTES NO_ARG_CHECK :: mine
            !DIR$ IGNORE_TKR mine
            type(*), intent(in), asynchronous :: all(*)
            integer(LONG), intent(in) :: sizes(*), starts(*)
            type(*), asynchronous :: mine(*)
            integer(LONG), intent(in) :: size
            integer(SHORT), intent(in) :: root, comm
            integer(SHORT), intent(out) :: req
            integer(SHORT), intent(out) :: ier
        end subroutine
    end interface

    interface fmpl_ialltoallv
        subroutine fmpl_ialltoallv(from, from_sizes, from_starts, into, into_sizes, into_starts, comm, req, ier)
            import :: SHORT
            !GCC$ ATTRIBUTES NO_ARG_CHECK :: from
            !DEC$ ATTRIBUTES NO_ARG_CHECK :: from
            !DIR$ IGNORE_TKR from
            !GCC$ ATTRIBUTES NO_ARG_CHECK :: into
            !DEC$ ATTRIBUTES NO_ARG_CHECK :: into
            !DIR$ IGNORE_TKR into
            type(*), intent(in), asynchronous :: from(*)
            integer(SHORT), intent(in) :: from_sizes(*), from_starts(*)
            type(*), asynchronous :: into(*)
            integer(SHORT), intent(in) :: into_sizes(*), into_starts(*)
            integer(SHORT), intent(in) :: comm
            integer(SHORT), intent(out) :: req
            integer(SHORT), intent(out) :: ier
        end subroutine
        subroutine fmpl_ialltoallv_long(from, from_sizes, from_starts, into, into_sizes, into_starts, comm, req, ier)
            import :: SHORT, LONG
            !GCC$ ATTRIBUTES NO_ARG_CHECK :: from
            !DEC$ ATTRIBUTES NO_ARG_CHECK :: from
            !DIR$ IGNORE_TKR from
            !GCC$ ATTRIBUTES NO_ARG_CHECK :: into
            !DEC$ ATTRIBUTES NO_ARG_CHECK :: into
            !DIR$ IGNORE_TKR into
            type(*), intent(in), asynchronous :: from(*)
            integer(LONG), intent(in) :: from_sizes(*), from_starts(*)
            type(*), asynchronous :: into(*)
            integer(LONG), intent(in) :: into_sizes(*), into_starts(*)
            integer(SHORT), intent(in) :: comm
            integer(SHORT), intent(out) :: req
            integer(SHORT), intent(out) :: ier
        end subroutine
    end interface

    ! ---- memory and texts

    interface fmpl_malloc
        subroutine fmpl_malloc(size, address, ier)
            import :: SHORT, c_ptr
            integer(SHORT), intent(in) :: size
            type(c_ptr), intent(out) :: address
            integer(SHORT), intent(out) :: ier
        end subroutine
        subroutine fmpl_malloc_long(size, address, ier)
            import :: SHORT, LONG, c_ptr
            integer(LONG), intent(in) :: size
            type(c_ptr), intent(out) :: address
            integer(SHORT), intent(out) :: ier
        end subroutine
    end interface

    interface
        subroutine fmpl_free(address, ier)
            import :: SHORT, c_ptr
            type(c_ptr), intent(in) :: address
            integer(SHORT), intent(out) :: ier
        end subroutine
    end interface

    interface
        subroutine fmpl_strerror(code, text, ier)
            import :: SHORT
            integer(SHORT), intent(in) :: code
            character(*), intent(out) :: text
            integer(SHORT), intent(out) :: ier
        end subroutine
    end interface

    interface
        subroutine fmpl_last_error(text, ier)
            import :: SHORT
            character(*), intent(out) :: text
            integer(SHORT), intent(out) :: ier
        end subroutine
    end interface

end module fmpl
