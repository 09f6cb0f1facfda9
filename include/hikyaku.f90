! One-sided operations, shared regions, queues, messages and reductions for Fortran: the calls of hikyaku.h. Fortran 2008.
!
! Compile this file with your program, by the same compiler:
!
!     gfortran -o program hikyaku.f90 program.f90 $(pkg-config --cflags --libs hikyaku)
!
!     use hikyaku
!     type(hk_area) :: data, flag
!     real(8), pointer :: x(:)
!     integer(8), pointer :: word(:)
!     call hk_init()
!     call hk_alloc(x, 1000, data)             ! every rank has 1000 numbers ...
!     call hk_alloc(word, 1, flag)             ! ... and a word, both zeroed
!     if (hk_rank() == 0) then
!         call hk_push_notify(mine, data%at(1, 1), flag%word(1), 1)     ! to rank 1; the word arrives after the data
!     else if (hk_rank() == 1) then
!         call hk_wait(flag%word(1), HK_EQUAL, 1)
!     end if                                   ! now x has the numbers
!     call hk_finalize()
!
! hikyaku.h tells what each call does. In Fortran:
!
! * Ranks are numbered from 0, elements from 1. area%at(rank, index) is element `index` of a rank's part of the area, counted in
!   elements of the type that the call transfers.
! * area%word(index) is a word (8 bytes) of the rank that the call is about: of the target in hk_push_notify,
!   hk_push_notify_add and hk_bcopy_notify, of this rank in hk_wait and hk_poll.
! * hk_bcopy(area%at(1, 1), area%at(2, 5), count, 8) copies `count` elements of 8 bytes from rank 1 to rank 2.
! * hk_alloc gives this rank's part as a pointer. After hk_free(area) the pointer must not be used.
! * Data are integer(4), integer(8), real(4) or real(8), as scalars or arrays of one dimension. For others, use a section
!   (x(:, j)) or a pointer to them with one dimension. Sections with gaps are copied.
! * Indexes, counts and the values of words are integers of 4 or 8 bytes.
! * Each subroutine has a last argument ierr, which gets HK_SUCCESS or a negative code; hk_last_error() then tells what went
!   wrong. If ierr is left out, an error prints that text and ends the program.
! * hk_push_start, hk_pull_start, hk_pull_stride_start and hk_pull_bitmap_start go on while the program computes: declare their
!   arrays asynchronous, and use no sections with gaps. hk_push_stride_start and the like have taken what they write when they
!   return.
! * A handler of active messages is a bind(C) subroutine of a module, with the interface hk_handler. The words of a message are
!   hk_words(a, b, ...): up to six integers, all of 4 or all of 8 bytes. In a handler, hk_payload(message, x) copies the payload
!   to an allocatable array x. A payload that is no whole number of elements is HK_ERR_INVALID. hk_try_send and hk_context_send may
!   give HK_BUSY, so their ierr cannot be left out.
! * Parts of a range are told in elements: hk_stride(block, count, here, there), and hk_bitmap(mask) for those elements of an array for
!   which a logical mask is true.
! * area%each(index) is element `index` of the part of every recipient of a multicast. Recipients are a list of ranks, or named once by
!   hk_recipients_create.
! * hk_isend and hk_irecv go on while the program computes, too. Their keys are integers of 4 or 8 bytes; hk_matched has the size of
!   a message in bytes. So do receives of parts, hk_irecv_stride and the like; hk_isend_stride and the like have taken what they
!   send when they return. A bitmap may change when its call returns.
! * region%at(index) is element `index` of a shared region.
! * hk_queue_pop gives a pointer to items where they have landed: items(:, i) are the elements of one. It is good until the next
!   hk_queue_pop, hk_queue_release or hk_queue_free.
! * Regions, items of queues, twins and bitmaps that do not fit their arrays are HK_ERR_INVALID.
! * Areas of one rank, pointers and chains, status words, threads that serve and collective calls on blocks are only in C.
!   Messages by slots and groups are in fmpl.f90; a program may use both modules.

module hikyaku
    use, intrinsic :: iso_c_binding, only: c_char, c_double, c_f_pointer, c_funloc, c_funptr, c_int, c_int16_t, c_int32_t, &
                                           c_int64_t, c_loc, c_null_ptr, c_ptr, c_size_t
    use, intrinsic :: iso_fortran_env, only: error_unit, int32, int64, real32, real64
    implicit none
    private

    integer, parameter, public :: HK_SUCCESS = 0
    integer, parameter, public :: HK_BUSY = 1
    integer, parameter, public :: HK_ERR_PEER_DEAD = -1
    integer, parameter, public :: HK_ERR_PEER_LEFT = -2
    integer, parameter, public :: HK_ERR_PEER_MISBEHAVED = -3
    integer, parameter, public :: HK_ERR_REFUSED = -4
    integer, parameter, public :: HK_ERR_TIMEOUT = -5
    integer, parameter, public :: HK_ERR_RANK = -6
    integer, parameter, public :: HK_ERR_BOUNDS = -7
    integer, parameter, public :: HK_ERR_ALIGNMENT = -8
    integer, parameter, public :: HK_ERR_HANDLE = -9
    integer, parameter, public :: HK_ERR_NOT_MINE = -10
    integer, parameter, public :: HK_ERR_UNKNOWN_AREA = -11
    integer, parameter, public :: HK_ERR_REVOKED = -12
    integer, parameter, public :: HK_ERR_AREA_ID = -13
    integer, parameter, public :: HK_ERR_HANDLER_ID = -14
    integer, parameter, public :: HK_ERR_PAYLOAD = -15
    integer, parameter, public :: HK_ERR_IN_HANDLER = -16
    integer, parameter, public :: HK_ERR_FORKED = -17
    integer, parameter, public :: HK_ERR_MISMATCH = -18
    integer, parameter, public :: HK_ERR_PORTS = -19
    integer, parameter, public :: HK_ERR_INVALID = -20
    integer, parameter, public :: HK_ERR_NOT_STARTED = -21
    integer, parameter, public :: HK_ERR_STARTED = -22
    integer, parameter, public :: HK_ERR_THREAD = -23
    integer, parameter, public :: HK_ERR_MEMORY = -24
    integer, parameter, public :: HK_ERR_START = -25
    integer, parameter, public :: HK_ERR_SYSTEM = -26
    integer, parameter, public :: HK_ERR_INTERNAL = -27
    integer, parameter, public :: HK_ERR_UNREACHABLE = -28
    integer, parameter, public :: HK_ERR_TRUNCATED = -29
    integer, parameter, public :: HK_ERR_PINNED = -30

    ! What changes a number atomically.
    integer, parameter, public :: HK_ADD = 0
    integer, parameter, public :: HK_SWAP = 1
    integer, parameter, public :: HK_COMPARE_SWAP = 2
    integer, parameter, public :: HK_AND = 3
    integer, parameter, public :: HK_OR = 4
    integer, parameter, public :: HK_XOR = 5

    ! What a reduction combines by.
    integer, parameter, public :: HK_SUM = 0
    integer, parameter, public :: HK_PROD = 1
    integer, parameter, public :: HK_MIN = 2
    integer, parameter, public :: HK_MAX = 3
    integer, parameter, public :: HK_BAND = 4
    integer, parameter, public :: HK_BOR = 5
    integer, parameter, public :: HK_BXOR = 6
    integer, parameter, public :: HK_LAND = 7
    integer, parameter, public :: HK_LOR = 8
    integer, parameter, public :: HK_LXOR = 9

    ! Waiting: until when, by whom, how long.
    integer, parameter, public :: HK_EQUAL = 0
    integer, parameter, public :: HK_NOT_EQUAL = 1
    integer, parameter, public :: HK_AT_LEAST = 2
    integer, parameter, public :: HK_ANYONE = -1
    integer, parameter, public :: HK_FOREVER = -1

    ! The way of a push.
    integer, parameter, public :: HK_PATH_WORD = 0
    integer, parameter, public :: HK_PATH_WINDOW = 1
    integer, parameter, public :: HK_PATH_BULK = 2

    ! Engines of messages.
    integer, parameter, public :: HK_ENGINE_SLOTS = 0
    integer, parameter, public :: HK_ENGINE_MATCHED = 1
    integer, parameter, public :: HK_ENGINE_EXCHANGE = 2
    integer, parameter, public :: HK_ENGINE_PACKETS = 3

    ! Messages by key: in place of `ignored`, any key.
    integer(int64), parameter, public :: HK_ANY_KEY = -1_int64

    ! Active messages: words of each, handlers of a rank, bytes of a payload.
    integer, parameter, public :: HK_ARGUMENT_COUNT = 6
    integer, parameter, public :: HK_HANDLER_COUNT = 256
    integer, parameter, public :: HK_PAYLOAD_MAX = 8192

    ! Types of elements, as C knows them.
    integer, parameter :: HK_I32 = 0
    integer, parameter :: HK_I64 = 1
    integer, parameter :: HK_F32 = 4
    integer, parameter :: HK_F64 = 5

    ! A symmetric area: every rank has a part of the same size.
    type, public :: hk_area
        private
        integer(c_int64_t) :: handle = 0
    contains
        procedure, private :: at_short, at_long, word_short, word_long, each_short, each_long
        generic :: at => at_short, at_long
        generic :: word => word_short, word_long
        generic :: each => each_short, each_long
    end type

    ! An element of a rank's part of an area.
    type, public :: hk_place
        private
        integer(c_int64_t) :: handle = 0
        integer :: rank = -1
        integer(int64) :: index = 0
    end type

    ! A word of an area.
    type, public :: hk_area_word
        private
        integer(c_int64_t) :: handle = 0
        integer(int64) :: index = 0
    end type

    ! An element of the part of every recipient of a multicast.
    type, public :: hk_area_each
        private
        integer(c_int64_t) :: handle = 0
        integer(int64) :: index = 0
    end type

    ! Blocks at equal distances: `count` blocks of `block` elements; in the array one begins `here` elements after the one before, in the
    ! area `there` elements, which messages do without.
    type, public :: hk_stride
        integer(int64) :: block, count, here, there = 0
    end type

    ! A push or a pull that goes on while the program computes.
    type, public :: hk_transfer
        private
        integer(c_int64_t) :: handle = 0
    end type

    ! What a handler is given; it must not be used afterwards.
    type, bind(C), public :: hk_message
        integer(c_int) :: source
        integer(c_int64_t) :: address
        integer(c_int64_t) :: arguments(HK_ARGUMENT_COUNT)
        type(c_ptr) :: payload
        integer(c_size_t) :: payload_bytes
    end type

    ! A handler. `context` is for hk_context_reply and the like, `user` is what hk_handler_register was given. hikyaku.h says when
    ! it runs, and what it may do.
    abstract interface
        subroutine hk_handler(context, message, user) bind(C)
            import :: c_ptr, hk_message
            type(c_ptr), value :: context
            type(hk_message), intent(in) :: message
            type(c_ptr), value :: user
        end subroutine
    end interface
    public :: hk_handler

    ! A lock of all ranks.
    type, bind(C), public :: hk_mutex
        integer(c_int64_t) :: handle = 0
    end type

    ! A barrier of all ranks in two halves.
    type, bind(C), public :: hk_counting
        integer(c_int64_t) :: handle = 0
    end type

    ! Recipients of multicasts.
    type, bind(C), public :: hk_recipients
        integer(c_int64_t) :: handle = 0
    end type

    ! A send or a receive under way, of messages by key.
    type, bind(C), public :: hk_request
        integer(c_int64_t) :: handle = 0
    end type

    ! A message: who has sent it, its key, its bytes.
    type, bind(C), public :: hk_matched
        integer(c_int) :: rank = -1
        integer(c_int64_t) :: key = 0
        integer(c_size_t) :: size = 0
    end type

    ! A shared region, and how many bytes it has.
    type, public :: hk_region
        private
        integer(c_int64_t) :: handle = 0
        integer(c_size_t) :: bytes = 0
    contains
        procedure, private :: region_at_short, region_at_long
        generic :: at => region_at_short, region_at_long
    end type

    ! An element of a shared region.
    type, public :: hk_region_place
        private
        integer(c_int64_t) :: handle = 0
        integer(int64) :: index = 0
    end type

    ! A remote queue, and how many bytes an item has.
    type, public :: hk_queue
        private
        integer(c_int64_t) :: handle = 0
        integer(c_size_t) :: bytes = 0
    end type

    ! Items of one rank, as C gives them: each begins `stride` bytes after the one before.
    type, bind(C) :: c_popped
        integer(c_int) :: rank
        integer(c_size_t) :: count
        type(c_ptr) :: items
        integer(c_size_t) :: stride
    end type

    ! An array as C takes it: where it is, how many elements it has, and of how many bytes.
    type :: c_array
        type(c_ptr) :: start
        integer(int64) :: count
        integer :: bytes
    end type

    ! Blocks as C takes them: in bytes.
    type, bind(C) :: c_stride
        integer(c_size_t) :: block, count, here, there
    end type

    ! The handle as C takes it. Those of regions and queues look the same.
    type, bind(C) :: c_area
        integer(c_int64_t) :: handle
    end type

    public :: hk_init, hk_finalize, hk_rank, hk_size, hk_error_rank, hk_barrier, hk_barrier_for, hk_is_present, hk_is_crowded, &
              hk_free, hk_flush, hk_sync, hk_transfer_wait, hk_transfer_test, hk_transfer_wait_any, hk_transfer_wait_all, &
              hk_progress, hk_poll, hk_last_error, hk_strerror, hk_version, hk_handler_register, hk_handler_remove, hk_handled, &
              hk_context_reply, hk_context_retry, hk_mutex_create, hk_mutex_free, hk_lock, hk_try_lock, hk_unlock, &
              hk_counting_create, hk_counting_create_of, hk_counting_free, hk_counting_post, hk_counting_wait, &
              hk_counting_test, hk_bitmap, &
              hk_recipients_create, hk_recipients_free, hk_matching_open, hk_matching_close, hk_request_test, hk_request_wait, &
              hk_request_cancel, hk_region_create, hk_region_free, hk_subscribe, hk_unsubscribe, hk_queue_create, hk_queue_free, &
              hk_queue_release, hk_exchange_open, hk_exchange_open_packets, hk_exchange_close, hk_exchange_iprobe, &
              hk_region_sharers, hk_passing_open, hk_passing_close, hk_passing_probe

    interface hk_alloc
        module procedure alloc_i4_short, alloc_i4_long, alloc_i8_short, alloc_i8_long, alloc_r4_short, alloc_r4_long, &
                         alloc_r8_short, alloc_r8_long
    end interface
    public :: hk_alloc

    interface hk_push
        module procedure push_i4, push_i4_one, push_i8, push_i8_one, push_r4, push_r4_one, push_r8, push_r8_one
    end interface
    public :: hk_push

    interface hk_push_by
        module procedure push_by_i4, push_by_i8, push_by_r4, push_by_r8
    end interface
    public :: hk_push_by

    interface hk_pull
        module procedure pull_i4, pull_i4_one, pull_i8, pull_i8_one, pull_r4, pull_r4_one, pull_r8, pull_r8_one
    end interface
    public :: hk_pull

    ! Starts a push; the data are left alone until it has ended.
    interface hk_push_start
        module procedure push_start_i4, push_start_i8, push_start_r4, push_start_r8
    end interface
    public :: hk_push_start

    ! Starts a pull; its target is written at any time until it has ended.
    interface hk_pull_start
        module procedure pull_start_i4, pull_start_i8, pull_start_r4, pull_start_r8
    end interface
    public :: hk_pull_start

    interface hk_push_notify
        module procedure notify_i4, notify_i4_short, notify_i4_one, notify_i4_one_short, notify_i8, notify_i8_short, &
                         notify_i8_one, notify_i8_one_short, notify_r4, notify_r4_short, notify_r4_one, notify_r4_one_short, &
                         notify_r8, notify_r8_short, notify_r8_one, notify_r8_one_short
    end interface
    public :: hk_push_notify

    interface hk_push_notify_add
        module procedure notify_add_i4, notify_add_i4_short, notify_add_i4_one, notify_add_i4_one_short, notify_add_i8, &
                         notify_add_i8_short, notify_add_i8_one, notify_add_i8_one_short, notify_add_r4, notify_add_r4_short, &
                         notify_add_r4_one, notify_add_r4_one_short, notify_add_r8, notify_add_r8_short, notify_add_r8_one, &
                         notify_add_r8_one_short
    end interface
    public :: hk_push_notify_add

    ! Blocks, those that are marked, those that have changed since the twin was taken.
    interface hk_push_stride
        module procedure push_stride_i4, push_stride_i8, push_stride_r4, push_stride_r8
    end interface
    public :: hk_push_stride

    interface hk_pull_stride
        module procedure pull_stride_i4, pull_stride_i8, pull_stride_r4, pull_stride_r8
    end interface
    public :: hk_pull_stride

    interface hk_push_bitmap
        module procedure push_bitmap_i4, push_bitmap_i8, push_bitmap_r4, push_bitmap_r8
    end interface
    public :: hk_push_bitmap

    interface hk_pull_bitmap
        module procedure pull_bitmap_i4, pull_bitmap_i8, pull_bitmap_r4, pull_bitmap_r8
    end interface
    public :: hk_pull_bitmap

    interface hk_pull_twin
        module procedure pull_twin_i4, pull_twin_i8, pull_twin_r4, pull_twin_r8
    end interface
    public :: hk_pull_twin

    interface hk_push_diff
        module procedure push_diff_i4, push_diff_i8, push_diff_r4, push_diff_r8
    end interface
    public :: hk_push_diff

    ! The same, which go on while the program computes.
    interface hk_push_stride_start
        module procedure push_stride_start_i4, push_stride_start_i8, push_stride_start_r4, push_stride_start_r8
    end interface
    public :: hk_push_stride_start

    interface hk_pull_stride_start
        module procedure pull_stride_start_i4, pull_stride_start_i8, pull_stride_start_r4, pull_stride_start_r8
    end interface
    public :: hk_pull_stride_start

    interface hk_push_bitmap_start
        module procedure push_bitmap_start_i4, push_bitmap_start_i8, push_bitmap_start_r4, push_bitmap_start_r8
    end interface
    public :: hk_push_bitmap_start

    interface hk_pull_bitmap_start
        module procedure pull_bitmap_start_i4, pull_bitmap_start_i8, pull_bitmap_start_r4, pull_bitmap_start_r8
    end interface
    public :: hk_pull_bitmap_start

    interface hk_push_diff_start
        module procedure push_diff_start_i4, push_diff_start_i8, push_diff_start_r4, push_diff_start_r8
    end interface
    public :: hk_push_diff_start

    ! The same, then a word of the target.
    interface hk_push_stride_notify
        module procedure push_stride_notify_i4, push_stride_notify_i8, push_stride_notify_r4, push_stride_notify_r8
    end interface
    public :: hk_push_stride_notify

    interface hk_push_bitmap_notify
        module procedure push_bitmap_notify_i4, push_bitmap_notify_i8, push_bitmap_notify_r4, push_bitmap_notify_r8
    end interface
    public :: hk_push_bitmap_notify

    interface hk_push_diff_notify
        module procedure push_diff_notify_i4, push_diff_notify_i8, push_diff_notify_r4, push_diff_notify_r8
    end interface
    public :: hk_push_diff_notify

    ! To several ranks at once: whole, with a word of each, or parts.
    interface hk_mcast
        module procedure mcast_a_i4, mcast_b_i4, mcast_a_i8, mcast_b_i8, mcast_a_r4, mcast_b_r4, mcast_a_r8, &
                         mcast_b_r8
    end interface
    public :: hk_mcast

    interface hk_mcast_notify
        module procedure mcast_a_notify_i4, mcast_a_notify_i4_short, mcast_b_notify_i4, mcast_b_notify_i4_short, &
                         mcast_a_notify_i8, mcast_a_notify_i8_short, mcast_b_notify_i8, mcast_b_notify_i8_short, &
                         mcast_a_notify_r4, mcast_a_notify_r4_short, mcast_b_notify_r4, mcast_b_notify_r4_short, &
                         mcast_a_notify_r8, mcast_a_notify_r8_short, mcast_b_notify_r8, mcast_b_notify_r8_short
    end interface
    public :: hk_mcast_notify

    interface hk_mcast_stride
        module procedure mcast_a_stride_i4, mcast_b_stride_i4, mcast_a_stride_i8, mcast_b_stride_i8, &
                         mcast_a_stride_r4, mcast_b_stride_r4, mcast_a_stride_r8, mcast_b_stride_r8
    end interface
    public :: hk_mcast_stride

    interface hk_mcast_bitmap
        module procedure mcast_a_bitmap_i4, mcast_b_bitmap_i4, mcast_a_bitmap_i8, mcast_b_bitmap_i8, &
                         mcast_a_bitmap_r4, mcast_b_bitmap_r4, mcast_a_bitmap_r8, mcast_b_bitmap_r8
    end interface
    public :: hk_mcast_bitmap

    interface hk_mcast_diff
        module procedure mcast_a_diff_i4, mcast_b_diff_i4, mcast_a_diff_i8, mcast_b_diff_i8, mcast_a_diff_r4, &
                         mcast_b_diff_r4, mcast_a_diff_r8, mcast_b_diff_r8
    end interface
    public :: hk_mcast_diff

    ! Messages by key.
    interface hk_isend
        module procedure isend_i4, isend_i4_short, isend_i8, isend_i8_short, isend_r4, isend_r4_short, isend_r8, &
                         isend_r8_short
    end interface
    public :: hk_isend

    interface hk_irecv
        module procedure irecv_i4, irecv_i4_short, irecv_i8, irecv_i8_short, irecv_r4, irecv_r4_short, irecv_r8, &
                         irecv_r8_short
    end interface
    public :: hk_irecv

    interface hk_iprobe
        module procedure iprobe_long, iprobe_short
    end interface
    public :: hk_iprobe

    ! Messages of parts: blocks, those that are marked, those that have changed; a receive can also keep a twin.
    interface hk_isend_stride
        module procedure isend_stride_i4, isend_stride_i8, isend_stride_r4, isend_stride_r8
    end interface
    public :: hk_isend_stride

    interface hk_isend_bitmap
        module procedure isend_bitmap_i4, isend_bitmap_i8, isend_bitmap_r4, isend_bitmap_r8
    end interface
    public :: hk_isend_bitmap

    interface hk_isend_diff
        module procedure isend_diff_i4, isend_diff_i8, isend_diff_r4, isend_diff_r8
    end interface
    public :: hk_isend_diff

    interface hk_irecv_stride
        module procedure irecv_stride_i4, irecv_stride_i8, irecv_stride_r4, irecv_stride_r8
    end interface
    public :: hk_irecv_stride

    interface hk_irecv_bitmap
        module procedure irecv_bitmap_i4, irecv_bitmap_i8, irecv_bitmap_r4, irecv_bitmap_r8
    end interface
    public :: hk_irecv_bitmap

    interface hk_irecv_twin
        module procedure irecv_twin_i4, irecv_twin_i8, irecv_twin_r4, irecv_twin_r8
    end interface
    public :: hk_irecv_twin

    interface hk_irecv_diff
        module procedure irecv_diff_i4, irecv_diff_i8, irecv_diff_r4, irecv_diff_r8
    end interface
    public :: hk_irecv_diff

    ! Message exchange.
    interface hk_exchange_send
        module procedure exchange_send_i4, exchange_send_i8, exchange_send_r4, exchange_send_r8
    end interface
    public :: hk_exchange_send

    interface hk_exchange_recv
        module procedure exchange_recv_i4, exchange_recv_i8, exchange_recv_r4, exchange_recv_r8
    end interface
    public :: hk_exchange_recv

    ! Messages by any engine.
    interface hk_passing_send
        module procedure passing_send_i4, passing_send_i8, passing_send_r4, passing_send_r8
    end interface
    public :: hk_passing_send

    interface hk_passing_recv
        module procedure passing_recv_i4, passing_recv_i8, passing_recv_r4, passing_recv_r8
    end interface
    public :: hk_passing_recv

    ! Shared regions: this rank's copy is read, all copies are written.
    interface hk_region_read
        module procedure region_read_i4, region_read_i8, region_read_r4, region_read_r8
    end interface
    public :: hk_region_read

    interface hk_region_read_twin
        module procedure region_read_twin_i4, region_read_twin_i8, region_read_twin_r4, region_read_twin_r8
    end interface
    public :: hk_region_read_twin

    interface hk_region_write
        module procedure region_write_i4, region_write_i8, region_write_r4, region_write_r8
    end interface
    public :: hk_region_write

    interface hk_region_write_bitmap
        module procedure region_write_bitmap_i4, region_write_bitmap_i8, region_write_bitmap_r4, region_write_bitmap_r8
    end interface
    public :: hk_region_write_bitmap

    interface hk_region_write_diff
        module procedure region_write_diff_i4, region_write_diff_i8, region_write_diff_r4, region_write_diff_r8
    end interface
    public :: hk_region_write_diff

    interface hk_region_refresh
        module procedure region_refresh_i4, region_refresh_i8, region_refresh_r4, region_refresh_r8
    end interface
    public :: hk_region_refresh

    ! Remote queues.
    interface hk_queue_push
        module procedure queue_push_i4, queue_push_i8, queue_push_r4, queue_push_r8
    end interface
    public :: hk_queue_push

    interface hk_queue_pop
        module procedure queue_pop_i4, queue_pop_i8, queue_pop_r4, queue_pop_r8
    end interface
    public :: hk_queue_pop

    ! An array as C takes it.
    interface array_of
        module procedure array_of_i4, array_of_i8, array_of_r4, array_of_r8
    end interface

    ! Copies elements of any rank to any rank.
    interface hk_bcopy
        module procedure copy_long, copy_short
    end interface
    public :: hk_bcopy

    ! The same, then a word of the rank that they are copied to.
    interface hk_bcopy_notify
        module procedure copy_notify_long, copy_notify_short
    end interface
    public :: hk_bcopy_notify

    interface hk_word
        module procedure set_long, set_short
    end interface
    public :: hk_word

    interface hk_wait
        module procedure wait_long, wait_short
    end interface
    public :: hk_wait

    interface hk_fetch_add
        module procedure fetch_add_i4, fetch_add_i8, fetch_add_r8
    end interface
    public :: hk_fetch_add

    interface hk_atomic
        module procedure atomic_i4, atomic_i8
    end interface
    public :: hk_atomic

    interface hk_broadcast
        module procedure broadcast_i4, broadcast_i4_one, broadcast_i8, broadcast_i8_one, broadcast_r4, broadcast_r4_one, &
                         broadcast_r8, broadcast_r8_one
    end interface
    public :: hk_broadcast

    interface hk_reduce
        module procedure reduce_i4, reduce_i4_one, reduce_i8, reduce_i8_one, reduce_r4, reduce_r4_one, reduce_r8, &
                         reduce_r8_one
    end interface
    public :: hk_reduce

    interface hk_allreduce
        module procedure allreduce_i4, allreduce_i4_one, allreduce_i8, allreduce_i8_one, allreduce_r4, allreduce_r4_one, &
                         allreduce_r8, allreduce_r8_one
    end interface
    public :: hk_allreduce

    interface hk_scan
        module procedure scan_i4, scan_i4_one, scan_i8, scan_i8_one, scan_r4, scan_r4_one, scan_r8, scan_r8_one
    end interface
    public :: hk_scan

    interface hk_exscan
        module procedure exscan_i4, exscan_i4_one, exscan_i8, exscan_i8_one, exscan_r4, exscan_r4_one, exscan_r8, &
                         exscan_r8_one
    end interface
    public :: hk_exscan

    ! The words of a message; those left out are zeros.
    interface hk_words
        module procedure words_short, words_long
    end interface
    public :: hk_words

    ! Copies the payload of a message, in a handler.
    interface hk_payload
        module procedure payload_i4, payload_i8, payload_r4, payload_r8
    end interface
    public :: hk_payload

    interface hk_send
        module procedure send_plain, send_i4, send_i8, send_r4, send_r8
    end interface
    public :: hk_send

    interface hk_try_send
        module procedure try_send_plain, try_send_i4, try_send_i8, try_send_r4, try_send_r8
    end interface
    public :: hk_try_send

    interface hk_call
        module procedure call_plain, call_i4, call_i8, call_r4, call_r8
    end interface
    public :: hk_call

    ! A call whose reply carries elements, too.
    interface hk_call_with
        module procedure call_with_i4, call_with_i8, call_with_r4, call_with_r8, call_with_i4_asked, &
                         call_with_i8_asked, call_with_r4_asked, call_with_r8_asked
    end interface
    public :: hk_call_with

    interface hk_context_send
        module procedure context_send_plain, context_send_i4, context_send_i8, context_send_r4, context_send_r8
    end interface
    public :: hk_context_send

    interface hk_context_reply_with
        module procedure context_reply_with_i4, context_reply_with_i8, context_reply_with_r4, context_reply_with_r8
    end interface
    public :: hk_context_reply_with

    interface hk_wait_handled
        module procedure wait_handled_short, wait_handled_long
    end interface
    public :: hk_wait_handled

    ! ---- the functions of hikyaku.h

    interface
        function c_init() bind(C, name='hk_init') result(code)
            import :: c_int
            integer(c_int) :: code
        end function
        function c_finalize() bind(C, name='hk_finalize') result(code)
            import :: c_int
            integer(c_int) :: code
        end function
        function hk_rank() bind(C, name='hk_rank') result(code)
            import :: c_int
            integer(c_int) :: code
        end function
        function hk_size() bind(C, name='hk_size') result(code)
            import :: c_int
            integer(c_int) :: code
        end function
        function hk_error_rank() bind(C, name='hk_error_rank') result(code)
            import :: c_int
            integer(c_int) :: code
        end function
        function c_barrier() bind(C, name='hk_barrier') result(code)
            import :: c_int
            integer(c_int) :: code
        end function
        function hk_is_crowded() bind(C, name='hk_is_crowded') result(code)
            import :: c_int
            integer(c_int) :: code
        end function
        function c_sync() bind(C, name='hk_sync') result(code)
            import :: c_int
            integer(c_int) :: code
        end function
        function c_progress() bind(C, name='hk_progress') result(code)
            import :: c_int
            integer(c_int) :: code
        end function
        function c_barrier_for(timeout_ms) bind(C, name='hk_barrier_for') result(code)
            import :: c_int
            integer(c_int), value :: timeout_ms
            integer(c_int) :: code
        end function
        function c_is_present(rank) bind(C, name='hk_is_present') result(code)
            import :: c_int
            integer(c_int), value :: rank
            integer(c_int) :: code
        end function
        function c_alloc(bytes, area) bind(C, name='hk_alloc') result(code)
            import :: c_area, c_int, c_size_t
            integer(c_size_t), value :: bytes
            type(c_area), intent(out) :: area
            integer(c_int) :: code
        end function
        function c_free(area) bind(C, name='hk_free') result(code)
            import :: c_area, c_int
            type(c_area), value :: area
            integer(c_int) :: code
        end function
        function c_local(area) bind(C, name='hk_local') result(code)
            import :: c_area, c_ptr
            type(c_area), value :: area
            type(c_ptr) :: code
        end function
        function c_flush(rank) bind(C, name='hk_flush') result(code)
            import :: c_int
            integer(c_int), value :: rank
            integer(c_int) :: code
        end function
        function c_push(from, rank, area, offset, bytes) bind(C, name='hk_push') result(code)
            import :: c_area, c_int, c_ptr, c_size_t
            type(c_ptr), value :: from
            integer(c_int), value :: rank
            type(c_area), value :: area
            integer(c_size_t), value :: offset, bytes
            integer(c_int) :: code
        end function
        function c_pull(into, rank, area, offset, bytes) bind(C, name='hk_pull') result(code)
            import :: c_area, c_int, c_ptr, c_size_t
            type(c_ptr), value :: into
            integer(c_int), value :: rank
            type(c_area), value :: area
            integer(c_size_t), value :: offset, bytes
            integer(c_int) :: code
        end function
        function c_push_start(from, rank, area, offset, bytes, transfer) bind(C, name='hk_push_start') result(code)
            import :: c_area, c_int, c_int64_t, c_ptr, c_size_t
            type(c_ptr), value :: from
            integer(c_int), value :: rank
            type(c_area), value :: area
            integer(c_size_t), value :: offset, bytes
            integer(c_int64_t), intent(out) :: transfer
            integer(c_int) :: code
        end function
        function c_pull_start(into, rank, area, offset, bytes, transfer) bind(C, name='hk_pull_start') result(code)
            import :: c_area, c_int, c_int64_t, c_ptr, c_size_t
            type(c_ptr), value :: into
            integer(c_int), value :: rank
            type(c_area), value :: area
            integer(c_size_t), value :: offset, bytes
            integer(c_int64_t), intent(out) :: transfer
            integer(c_int) :: code
        end function
        function c_transfer_test(transfer) bind(C, name='hk_transfer_test') result(code)
            import :: c_int, c_int64_t
            integer(c_int64_t), intent(inout) :: transfer
            integer(c_int) :: code
        end function
        function c_transfer_wait(transfer, timeout_ms) bind(C, name='hk_transfer_wait') result(code)
            import :: c_int, c_int64_t
            integer(c_int64_t), intent(inout) :: transfer
            integer(c_int), value :: timeout_ms
            integer(c_int) :: code
        end function
        function c_transfer_wait_any(transfers, count, timeout_ms, index) bind(C, name='hk_transfer_wait_any') result(code)
            import :: c_int, c_int64_t, c_size_t
            integer(c_int64_t), intent(inout) :: transfers(*)
            integer(c_size_t), value :: count
            integer(c_int), value :: timeout_ms
            integer(c_size_t), intent(inout) :: index
            integer(c_int) :: code
        end function
        function c_mutex_create(manager, mutex) bind(C, name='hk_mutex_create') result(code)
            import :: c_int, hk_mutex
            integer(c_int), value :: manager
            type(hk_mutex), intent(out) :: mutex
            integer(c_int) :: code
        end function
        function c_mutex_free(mutex) bind(C, name='hk_mutex_free') result(code)
            import :: c_int, hk_mutex
            type(hk_mutex), value :: mutex
            integer(c_int) :: code
        end function
        function c_lock(mutex, timeout_ms, owner_died) bind(C, name='hk_lock') result(code)
            import :: c_int, hk_mutex
            type(hk_mutex), value :: mutex
            integer(c_int), value :: timeout_ms
            integer(c_int), intent(inout) :: owner_died
            integer(c_int) :: code
        end function
        function c_try_lock(mutex, owner_died) bind(C, name='hk_try_lock') result(code)
            import :: c_int, hk_mutex
            type(hk_mutex), value :: mutex
            integer(c_int), intent(inout) :: owner_died
            integer(c_int) :: code
        end function
        function c_unlock(mutex) bind(C, name='hk_unlock') result(code)
            import :: c_int, hk_mutex
            type(hk_mutex), value :: mutex
            integer(c_int) :: code
        end function
        function c_transfer_wait_all() bind(C, name='hk_transfer_wait_all') result(code)
            import :: c_int
            integer(c_int) :: code
        end function
        function c_push_notify(from, rank, area, offset, bytes, flag, flag_offset, value) &
            bind(C, name='hk_push_notify') result(code)
            import :: c_area, c_int, c_int64_t, c_ptr, c_size_t
            type(c_ptr), value :: from
            integer(c_int), value :: rank
            type(c_area), value :: area
            integer(c_size_t), value :: offset, bytes
            type(c_area), value :: flag
            integer(c_size_t), value :: flag_offset
            integer(c_int64_t), value :: value
            integer(c_int) :: code
        end function
        function c_push_notify_add(from, rank, area, offset, bytes, flag, flag_offset, value) &
            bind(C, name='hk_push_notify_add') result(code)
            import :: c_area, c_int, c_int64_t, c_ptr, c_size_t
            type(c_ptr), value :: from
            integer(c_int), value :: rank
            type(c_area), value :: area
            integer(c_size_t), value :: offset, bytes
            type(c_area), value :: flag
            integer(c_size_t), value :: flag_offset
            integer(c_int64_t), value :: value
            integer(c_int) :: code
        end function
        function c_push_stride(data, rank, area, offset, stride) bind(C, name='hk_push_stride') result(code)
            import :: c_area, c_int, c_ptr, c_size_t, c_stride
            type(c_ptr), value :: data
            integer(c_int), value :: rank
            type(c_area), value :: area
            integer(c_size_t), value :: offset
            type(c_stride), value :: stride
            integer(c_int) :: code
        end function
        function c_push_by(path, data, rank, area, offset, bytes) bind(C, name='hk_push_by') result(code)
            import :: c_area, c_int, c_ptr, c_size_t
            integer(c_int), value :: path
            type(c_ptr), value :: data
            integer(c_int), value :: rank
            type(c_area), value :: area
            integer(c_size_t), value :: offset, bytes
            integer(c_int) :: code
        end function
        function c_push_bitmap(data, rank, area, offset, bitmap, unit, units) bind(C, name='hk_push_bitmap') result(code)
            import :: c_area, c_int, c_ptr, c_size_t
            type(c_ptr), value :: data
            integer(c_int), value :: rank
            type(c_area), value :: area
            integer(c_size_t), value :: offset
            type(c_ptr), value :: bitmap
            integer(c_size_t), value :: unit, units
            integer(c_int) :: code
        end function
        function c_pull_stride(data, rank, area, offset, stride) bind(C, name='hk_pull_stride') result(code)
            import :: c_area, c_int, c_ptr, c_size_t, c_stride
            type(c_ptr), value :: data
            integer(c_int), value :: rank
            type(c_area), value :: area
            integer(c_size_t), value :: offset
            type(c_stride), value :: stride
            integer(c_int) :: code
        end function
        function c_pull_bitmap(data, rank, area, offset, bitmap, unit, units) bind(C, name='hk_pull_bitmap') result(code)
            import :: c_area, c_int, c_ptr, c_size_t
            type(c_ptr), value :: data
            integer(c_int), value :: rank
            type(c_area), value :: area
            integer(c_size_t), value :: offset
            type(c_ptr), value :: bitmap
            integer(c_size_t), value :: unit, units
            integer(c_int) :: code
        end function
        function c_pull_twin(data, rank, area, offset, bytes, twin) bind(C, name='hk_pull_twin') result(code)
            import :: c_area, c_int, c_ptr, c_size_t
            type(c_ptr), value :: data
            integer(c_int), value :: rank
            type(c_area), value :: area
            integer(c_size_t), value :: offset
            integer(c_size_t), value :: bytes
            type(c_ptr), value :: twin
            integer(c_int) :: code
        end function
        function c_push_diff(data, rank, area, offset, bytes, twin, unit, pushed) bind(C, name='hk_push_diff') result(code)
            import :: c_area, c_int, c_ptr, c_size_t
            type(c_ptr), value :: data
            integer(c_int), value :: rank
            type(c_area), value :: area
            integer(c_size_t), value :: offset
            integer(c_size_t), value :: bytes
            type(c_ptr), value :: twin
            integer(c_size_t), value :: unit
            integer(c_size_t), intent(inout) :: pushed
            integer(c_int) :: code
        end function
        function c_recipients_create(ranks, count, recipients) bind(C, name='hk_recipients_create') result(code)
            import :: c_int, c_size_t, hk_recipients
            integer(c_int), intent(in) :: ranks(*)
            integer(c_size_t), value :: count
            type(hk_recipients), intent(inout) :: recipients
            integer(c_int) :: code
        end function
        function c_recipients_free(recipients) bind(C, name='hk_recipients_free') result(code)
            import :: c_int, hk_recipients
            type(hk_recipients), value :: recipients
            integer(c_int) :: code
        end function
        function c_mcast_a(data, to, area, offset, bytes) bind(C, name='hk_mcast_a') result(code)
            import :: c_area, c_int, c_ptr, c_size_t, hk_recipients
            type(c_ptr), value :: data
            type(hk_recipients), value :: to
            type(c_area), value :: area
            integer(c_size_t), value :: offset
            integer(c_size_t), value :: bytes
            integer(c_int) :: code
        end function
        function c_mcast_a_notify(data, to, area, offset, bytes, flag, flag_offset, value) &
            bind(C, name='hk_mcast_a_notify') result(code)
            import :: c_area, c_int, c_int64_t, c_ptr, c_size_t, hk_recipients
            type(c_ptr), value :: data
            type(hk_recipients), value :: to
            type(c_area), value :: area
            integer(c_size_t), value :: offset
            integer(c_size_t), value :: bytes
            type(c_area), value :: flag
            integer(c_size_t), value :: flag_offset
            integer(c_int64_t), value :: value
            integer(c_int) :: code
        end function
        function c_mcast_a_stride(data, to, area, offset, stride) bind(C, name='hk_mcast_a_stride') result(code)
            import :: c_area, c_int, c_ptr, c_size_t, c_stride, hk_recipients
            type(c_ptr), value :: data
            type(hk_recipients), value :: to
            type(c_area), value :: area
            integer(c_size_t), value :: offset
            type(c_stride), value :: stride
            integer(c_int) :: code
        end function
        function c_mcast_a_bitmap(data, to, area, offset, bitmap, unit, units) &
            bind(C, name='hk_mcast_a_bitmap') result(code)
            import :: c_area, c_int, c_ptr, c_size_t, hk_recipients
            type(c_ptr), value :: data
            type(hk_recipients), value :: to
            type(c_area), value :: area
            integer(c_size_t), value :: offset
            type(c_ptr), value :: bitmap
            integer(c_size_t), value :: unit, units
            integer(c_int) :: code
        end function
        function c_mcast_a_diff(data, to, area, offset, bytes, twin, unit, pushed) &
            bind(C, name='hk_mcast_a_diff') result(code)
            import :: c_area, c_int, c_ptr, c_size_t, hk_recipients
            type(c_ptr), value :: data
            type(hk_recipients), value :: to
            type(c_area), value :: area
            integer(c_size_t), value :: offset
            integer(c_size_t), value :: bytes
            type(c_ptr), value :: twin
            integer(c_size_t), value :: unit
            integer(c_size_t), intent(inout) :: pushed
            integer(c_int) :: code
        end function
        function c_mcast_b(data, ranks, count, area, offset, bytes) bind(C, name='hk_mcast_b') result(code)
            import :: c_area, c_int, c_ptr, c_size_t
            type(c_ptr), value :: data
            integer(c_int), intent(in) :: ranks(*)
            integer(c_size_t), value :: count
            type(c_area), value :: area
            integer(c_size_t), value :: offset
            integer(c_size_t), value :: bytes
            integer(c_int) :: code
        end function
        function c_mcast_b_notify(data, ranks, count, area, offset, bytes, flag, flag_offset, value) &
            bind(C, name='hk_mcast_b_notify') result(code)
            import :: c_area, c_int, c_int64_t, c_ptr, c_size_t
            type(c_ptr), value :: data
            integer(c_int), intent(in) :: ranks(*)
            integer(c_size_t), value :: count
            type(c_area), value :: area
            integer(c_size_t), value :: offset
            integer(c_size_t), value :: bytes
            type(c_area), value :: flag
            integer(c_size_t), value :: flag_offset
            integer(c_int64_t), value :: value
            integer(c_int) :: code
        end function
        function c_mcast_b_stride(data, ranks, count, area, offset, stride) bind(C, name='hk_mcast_b_stride') result(code)
            import :: c_area, c_int, c_ptr, c_size_t, c_stride
            type(c_ptr), value :: data
            integer(c_int), intent(in) :: ranks(*)
            integer(c_size_t), value :: count
            type(c_area), value :: area
            integer(c_size_t), value :: offset
            type(c_stride), value :: stride
            integer(c_int) :: code
        end function
        function c_mcast_b_bitmap(data, ranks, count, area, offset, bitmap, unit, units) &
            bind(C, name='hk_mcast_b_bitmap') result(code)
            import :: c_area, c_int, c_ptr, c_size_t
            type(c_ptr), value :: data
            integer(c_int), intent(in) :: ranks(*)
            integer(c_size_t), value :: count
            type(c_area), value :: area
            integer(c_size_t), value :: offset
            type(c_ptr), value :: bitmap
            integer(c_size_t), value :: unit, units
            integer(c_int) :: code
        end function
        function c_mcast_b_diff(data, ranks, count, area, offset, bytes, twin, unit, pushed) &
            bind(C, name='hk_mcast_b_diff') result(code)
            import :: c_area, c_int, c_ptr, c_size_t
            type(c_ptr), value :: data
            integer(c_int), intent(in) :: ranks(*)
            integer(c_size_t), value :: count
            type(c_area), value :: area
            integer(c_size_t), value :: offset
            integer(c_size_t), value :: bytes
            type(c_ptr), value :: twin
            integer(c_size_t), value :: unit
            integer(c_size_t), intent(inout) :: pushed
            integer(c_int) :: code
        end function
        function c_counting_create(manager, barrier) bind(C, name='hk_counting_create') result(code)
            import :: c_int, hk_counting
            integer(c_int), value :: manager
            type(hk_counting), intent(out) :: barrier
            integer(c_int) :: code
        end function
        function c_counting_create_of(ranks, count, manager, barrier) bind(C, name='hk_counting_create_of') result(code)
            import :: c_int, c_size_t, hk_counting
            integer(c_int), intent(in) :: ranks(*)
            integer(c_size_t), value :: count
            integer(c_int), value :: manager
            type(hk_counting), intent(inout) :: barrier
            integer(c_int) :: code
        end function
        function c_counting_free(barrier) bind(C, name='hk_counting_free') result(code)
            import :: c_int, hk_counting
            type(hk_counting), value :: barrier
            integer(c_int) :: code
        end function
        function c_counting_post(barrier) bind(C, name='hk_counting_post') result(code)
            import :: c_int, hk_counting
            type(hk_counting), value :: barrier
            integer(c_int) :: code
        end function
        function c_counting_test(barrier) bind(C, name='hk_counting_test') result(code)
            import :: c_int, hk_counting
            type(hk_counting), value :: barrier
            integer(c_int) :: code
        end function
        function c_counting_wait(barrier, timeout_ms) bind(C, name='hk_counting_wait') result(code)
            import :: c_int, hk_counting
            type(hk_counting), value :: barrier
            integer(c_int), value :: timeout_ms
            integer(c_int) :: code
        end function
        function c_matching_open() bind(C, name='hk_matching_open') result(code)
            import :: c_int
            integer(c_int) :: code
        end function
        function c_matching_close() bind(C, name='hk_matching_close') result(code)
            import :: c_int
            integer(c_int) :: code
        end function
        function c_isend(data, bytes, rank, key, request) bind(C, name='hk_isend') result(code)
            import :: c_int, c_int64_t, c_ptr, c_size_t, hk_request
            type(c_ptr), value :: data
            integer(c_size_t), value :: bytes
            integer(c_int), value :: rank
            integer(c_int64_t), value :: key
            type(hk_request), intent(inout) :: request
            integer(c_int) :: code
        end function
        function c_irecv(data, bytes, rank, key, ignored, request) bind(C, name='hk_irecv') result(code)
            import :: c_int, c_int64_t, c_ptr, c_size_t, hk_request
            type(c_ptr), value :: data
            integer(c_size_t), value :: bytes
            integer(c_int), value :: rank
            integer(c_int64_t), value :: key, ignored
            type(hk_request), intent(inout) :: request
            integer(c_int) :: code
        end function
        function c_iprobe(rank, key, ignored, matched) bind(C, name='hk_iprobe') result(code)
            import :: c_int, c_int64_t, hk_matched
            integer(c_int), value :: rank
            integer(c_int64_t), value :: key, ignored
            type(hk_matched), intent(inout) :: matched
            integer(c_int) :: code
        end function
        function c_request_test(request, matched) bind(C, name='hk_request_test') result(code)
            import :: c_int, hk_matched, hk_request
            type(hk_request), intent(inout) :: request
            type(hk_matched), intent(inout) :: matched
            integer(c_int) :: code
        end function
        function c_request_wait(request, timeout_ms, matched) bind(C, name='hk_request_wait') result(code)
            import :: c_int, hk_matched, hk_request
            type(hk_request), intent(inout) :: request
            integer(c_int), value :: timeout_ms
            type(hk_matched), intent(inout) :: matched
            integer(c_int) :: code
        end function
        function c_request_cancel(request, matched) bind(C, name='hk_request_cancel') result(code)
            import :: c_int, hk_matched, hk_request
            type(hk_request), intent(inout) :: request
            type(hk_matched), intent(inout) :: matched
            integer(c_int) :: code
        end function
        function c_push_stride_start(data, rank, area, offset, stride, transfer) &
            bind(C, name='hk_push_stride_start') result(code)
            import :: c_area, c_int, c_int64_t, c_ptr, c_size_t, c_stride
            type(c_ptr), value :: data
            integer(c_int), value :: rank
            type(c_area), value :: area
            integer(c_size_t), value :: offset
            type(c_stride), value :: stride
            integer(c_int64_t), intent(inout) :: transfer
            integer(c_int) :: code
        end function
        function c_pull_stride_start(data, rank, area, offset, stride, transfer) &
            bind(C, name='hk_pull_stride_start') result(code)
            import :: c_area, c_int, c_int64_t, c_ptr, c_size_t, c_stride
            type(c_ptr), value :: data
            integer(c_int), value :: rank
            type(c_area), value :: area
            integer(c_size_t), value :: offset
            type(c_stride), value :: stride
            integer(c_int64_t), intent(inout) :: transfer
            integer(c_int) :: code
        end function
        function c_push_bitmap_start(data, rank, area, offset, bitmap, unit, units, transfer) &
            bind(C, name='hk_push_bitmap_start') result(code)
            import :: c_area, c_int, c_int64_t, c_ptr, c_size_t
            type(c_ptr), value :: data
            integer(c_int), value :: rank
            type(c_area), value :: area
            integer(c_size_t), value :: offset
            type(c_ptr), value :: bitmap
            integer(c_size_t), value :: unit, units
            integer(c_int64_t), intent(inout) :: transfer
            integer(c_int) :: code
        end function
        function c_pull_bitmap_start(data, rank, area, offset, bitmap, unit, units, transfer) &
            bind(C, name='hk_pull_bitmap_start') result(code)
            import :: c_area, c_int, c_int64_t, c_ptr, c_size_t
            type(c_ptr), value :: data
            integer(c_int), value :: rank
            type(c_area), value :: area
            integer(c_size_t), value :: offset
            type(c_ptr), value :: bitmap
            integer(c_size_t), value :: unit, units
            integer(c_int64_t), intent(inout) :: transfer
            integer(c_int) :: code
        end function
        function c_push_diff_start(data, rank, area, offset, bytes, twin, unit, pushed, transfer) &
            bind(C, name='hk_push_diff_start') result(code)
            import :: c_area, c_int, c_int64_t, c_ptr, c_size_t
            type(c_ptr), value :: data
            integer(c_int), value :: rank
            type(c_area), value :: area
            integer(c_size_t), value :: offset, bytes
            type(c_ptr), value :: twin
            integer(c_size_t), value :: unit
            integer(c_size_t), intent(inout) :: pushed
            integer(c_int64_t), intent(inout) :: transfer
            integer(c_int) :: code
        end function
        function c_push_stride_notify(data, rank, area, offset, stride, flag, flag_offset, value) &
            bind(C, name='hk_push_stride_notify') result(code)
            import :: c_area, c_int, c_int64_t, c_ptr, c_size_t, c_stride
            type(c_ptr), value :: data
            integer(c_int), value :: rank
            type(c_area), value :: area
            integer(c_size_t), value :: offset
            type(c_stride), value :: stride
            type(c_area), value :: flag
            integer(c_size_t), value :: flag_offset
            integer(c_int64_t), value :: value
            integer(c_int) :: code
        end function
        function c_push_bitmap_notify(data, rank, area, offset, bitmap, unit, units, flag, flag_offset, value) &
            bind(C, name='hk_push_bitmap_notify') result(code)
            import :: c_area, c_int, c_int64_t, c_ptr, c_size_t
            type(c_ptr), value :: data
            integer(c_int), value :: rank
            type(c_area), value :: area
            integer(c_size_t), value :: offset
            type(c_ptr), value :: bitmap
            integer(c_size_t), value :: unit, units
            type(c_area), value :: flag
            integer(c_size_t), value :: flag_offset
            integer(c_int64_t), value :: value
            integer(c_int) :: code
        end function
        function c_push_diff_notify(data, rank, area, offset, bytes, twin, unit, flag, flag_offset, value, pushed) &
            bind(C, name='hk_push_diff_notify') result(code)
            import :: c_area, c_int, c_int64_t, c_ptr, c_size_t
            type(c_ptr), value :: data
            integer(c_int), value :: rank
            type(c_area), value :: area
            integer(c_size_t), value :: offset, bytes
            type(c_ptr), value :: twin
            integer(c_size_t), value :: unit
            type(c_area), value :: flag
            integer(c_size_t), value :: flag_offset
            integer(c_int64_t), value :: value
            integer(c_size_t), intent(inout) :: pushed
            integer(c_int) :: code
        end function
        function c_isend_stride(data, stride, rank, key, request) bind(C, name='hk_isend_stride') result(code)
            import :: c_int, c_int64_t, c_ptr, c_stride, hk_request
            type(c_ptr), value :: data
            type(c_stride), value :: stride
            integer(c_int), value :: rank
            integer(c_int64_t), value :: key
            type(hk_request), intent(inout) :: request
            integer(c_int) :: code
        end function
        function c_isend_bitmap(data, bitmap, unit, units, rank, key, request) bind(C, name='hk_isend_bitmap') result(code)
            import :: c_int, c_int64_t, c_ptr, c_size_t, hk_request
            type(c_ptr), value :: data, bitmap
            integer(c_size_t), value :: unit, units
            integer(c_int), value :: rank
            integer(c_int64_t), value :: key
            type(hk_request), intent(inout) :: request
            integer(c_int) :: code
        end function
        function c_isend_diff(data, bytes, twin, unit, rank, key, sent, request) bind(C, name='hk_isend_diff') result(code)
            import :: c_int, c_int64_t, c_ptr, c_size_t, hk_request
            type(c_ptr), value :: data
            integer(c_size_t), value :: bytes
            type(c_ptr), value :: twin
            integer(c_size_t), value :: unit
            integer(c_int), value :: rank
            integer(c_int64_t), value :: key
            integer(c_size_t), intent(inout) :: sent
            type(hk_request), intent(inout) :: request
            integer(c_int) :: code
        end function
        function c_irecv_stride(data, stride, rank, key, ignored, request) bind(C, name='hk_irecv_stride') result(code)
            import :: c_int, c_int64_t, c_ptr, c_stride, hk_request
            type(c_ptr), value :: data
            type(c_stride), value :: stride
            integer(c_int), value :: rank
            integer(c_int64_t), value :: key, ignored
            type(hk_request), intent(inout) :: request
            integer(c_int) :: code
        end function
        function c_irecv_bitmap(data, bitmap, unit, units, rank, key, ignored, request) &
            bind(C, name='hk_irecv_bitmap') result(code)
            import :: c_int, c_int64_t, c_ptr, c_size_t, hk_request
            type(c_ptr), value :: data, bitmap
            integer(c_size_t), value :: unit, units
            integer(c_int), value :: rank
            integer(c_int64_t), value :: key, ignored
            type(hk_request), intent(inout) :: request
            integer(c_int) :: code
        end function
        function c_irecv_twin(data, bytes, twin, rank, key, ignored, request) bind(C, name='hk_irecv_twin') result(code)
            import :: c_int, c_int64_t, c_ptr, c_size_t, hk_request
            type(c_ptr), value :: data
            integer(c_size_t), value :: bytes
            type(c_ptr), value :: twin
            integer(c_int), value :: rank
            integer(c_int64_t), value :: key, ignored
            type(hk_request), intent(inout) :: request
            integer(c_int) :: code
        end function
        function c_irecv_diff(data, bytes, unit, rank, key, ignored, request) bind(C, name='hk_irecv_diff') result(code)
            import :: c_int, c_int64_t, c_ptr, c_size_t, hk_request
            type(c_ptr), value :: data
            integer(c_size_t), value :: bytes, unit
            integer(c_int), value :: rank
            integer(c_int64_t), value :: key, ignored
            type(hk_request), intent(inout) :: request
            integer(c_int) :: code
        end function
        function c_exchange_open(messages, bytes) bind(C, name='hk_exchange_open') result(code)
            import :: c_int, c_size_t
            integer(c_size_t), value :: messages, bytes
            integer(c_int) :: code
        end function
        function c_exchange_open_packets(messages, bytes) bind(C, name='hk_exchange_open_packets') result(code)
            import :: c_int, c_size_t
            integer(c_size_t), value :: messages, bytes
            integer(c_int) :: code
        end function
        function c_exchange_close() bind(C, name='hk_exchange_close') result(code)
            import :: c_int
            integer(c_int) :: code
        end function
        function c_exchange_send(data, bytes, rank, tag) bind(C, name='hk_exchange_send') result(code)
            import :: c_int, c_int64_t, c_ptr, c_size_t
            type(c_ptr), value :: data
            integer(c_size_t), value :: bytes
            integer(c_int), value :: rank
            integer(c_int64_t), value :: tag
            integer(c_int) :: code
        end function
        function c_exchange_recv(data, bytes, rank, tag, ignored, timeout_ms, matched) &
            bind(C, name='hk_exchange_recv') result(code)
            import :: c_int, c_int64_t, c_ptr, c_size_t, hk_matched
            type(c_ptr), value :: data
            integer(c_size_t), value :: bytes
            integer(c_int), value :: rank
            integer(c_int64_t), value :: tag, ignored
            integer(c_int), value :: timeout_ms
            type(hk_matched), intent(inout) :: matched
            integer(c_int) :: code
        end function
        function c_exchange_iprobe(rank, tag, ignored, matched) bind(C, name='hk_exchange_iprobe') result(code)
            import :: c_int, c_int64_t, hk_matched
            integer(c_int), value :: rank
            integer(c_int64_t), value :: tag, ignored
            type(hk_matched), intent(inout) :: matched
            integer(c_int) :: code
        end function
        function c_passing_open(engine, slots) bind(C, name='hk_passing_open') result(code)
            import :: c_int, c_size_t
            integer(c_int), value :: engine
            integer(c_size_t), value :: slots
            integer(c_int) :: code
        end function
        function c_passing_close() bind(C, name='hk_passing_close') result(code)
            import :: c_int
            integer(c_int) :: code
        end function
        function c_passing_send(data, bytes, rank, tag) bind(C, name='hk_passing_send') result(code)
            import :: c_int, c_int64_t, c_ptr, c_size_t
            type(c_ptr), value :: data
            integer(c_size_t), value :: bytes
            integer(c_int), value :: rank
            integer(c_int64_t), value :: tag
            integer(c_int) :: code
        end function
        function c_passing_recv(data, bytes, rank, tag, timeout_ms, got) bind(C, name='hk_passing_recv') result(code)
            import :: c_int, c_int64_t, c_ptr, c_size_t
            type(c_ptr), value :: data
            integer(c_size_t), value :: bytes
            integer(c_int), value :: rank
            integer(c_int64_t), value :: tag
            integer(c_int), value :: timeout_ms
            integer(c_size_t), intent(inout) :: got
            integer(c_int) :: code
        end function
        function c_passing_probe(rank, tag, bytes) bind(C, name='hk_passing_probe') result(code)
            import :: c_int, c_int64_t, c_size_t
            integer(c_int), value :: rank
            integer(c_int64_t), value :: tag
            integer(c_size_t), intent(inout) :: bytes
            integer(c_int) :: code
        end function
        function c_region_write_bitmap(data, region, offset, bitmap, unit, units) &
            bind(C, name='hk_region_write_bitmap') result(code)
            import :: c_area, c_int, c_ptr, c_size_t
            type(c_ptr), value :: data
            type(c_area), value :: region
            integer(c_size_t), value :: offset
            type(c_ptr), value :: bitmap
            integer(c_size_t), value :: unit, units
            integer(c_int) :: code
        end function
        function c_region_sharers(region, ranks, most, count) bind(C, name='hk_region_sharers') result(code)
            import :: c_area, c_int, c_ptr, c_size_t
            type(c_area), value :: region
            type(c_ptr), value :: ranks
            integer(c_size_t), value :: most
            integer(c_size_t), intent(inout) :: count
            integer(c_int) :: code
        end function
        function c_region_create(home, bytes, region) bind(C, name='hk_region_create') result(code)
            import :: c_int, c_int64_t, c_size_t
            integer(c_int), value :: home
            integer(c_size_t), value :: bytes
            integer(c_int64_t), intent(inout) :: region
            integer(c_int) :: code
        end function
        function c_region_free(region) bind(C, name='hk_region_free') result(code)
            import :: c_area, c_int
            type(c_area), value :: region
            integer(c_int) :: code
        end function
        function c_subscribe(region) bind(C, name='hk_subscribe') result(code)
            import :: c_area, c_int
            type(c_area), value :: region
            integer(c_int) :: code
        end function
        function c_unsubscribe(region) bind(C, name='hk_unsubscribe') result(code)
            import :: c_area, c_int
            type(c_area), value :: region
            integer(c_int) :: code
        end function
        function c_region_read(data, region, offset, bytes) bind(C, name='hk_region_read') result(code)
            import :: c_area, c_int, c_ptr, c_size_t
            type(c_ptr), value :: data
            type(c_area), value :: region
            integer(c_size_t), value :: offset, bytes
            integer(c_int) :: code
        end function
        function c_region_read_twin(data, region, twin) bind(C, name='hk_region_read_twin') result(code)
            import :: c_area, c_int, c_ptr
            type(c_ptr), value :: data
            type(c_area), value :: region
            type(c_ptr), value :: twin
            integer(c_int) :: code
        end function
        function c_region_write(data, region, offset, bytes) bind(C, name='hk_region_write') result(code)
            import :: c_area, c_int, c_ptr, c_size_t
            type(c_ptr), value :: data
            type(c_area), value :: region
            integer(c_size_t), value :: offset, bytes
            integer(c_int) :: code
        end function
        function c_region_write_diff(data, region, twin, unit, written) bind(C, name='hk_region_write_diff') result(code)
            import :: c_area, c_int, c_ptr, c_size_t
            type(c_ptr), value :: data
            type(c_area), value :: region
            type(c_ptr), value :: twin
            integer(c_size_t), value :: unit
            integer(c_size_t), intent(inout) :: written
            integer(c_int) :: code
        end function
        function c_region_refresh(data, region, twin, unit, changed) bind(C, name='hk_region_refresh') result(code)
            import :: c_area, c_int, c_ptr, c_size_t
            type(c_ptr), value :: data
            type(c_area), value :: region
            type(c_ptr), value :: twin
            integer(c_size_t), value :: unit
            integer(c_size_t), intent(inout) :: changed
            integer(c_int) :: code
        end function
        function c_queue_create(owner, capacity, bytes, queue) bind(C, name='hk_queue_create') result(code)
            import :: c_int, c_int64_t, c_size_t
            integer(c_int), value :: owner
            integer(c_size_t), value :: capacity, bytes
            integer(c_int64_t), intent(inout) :: queue
            integer(c_int) :: code
        end function
        function c_queue_free(queue) bind(C, name='hk_queue_free') result(code)
            import :: c_area, c_int
            type(c_area), value :: queue
            integer(c_int) :: code
        end function
        function c_queue_push(queue, items, count, timeout_ms, pushed) bind(C, name='hk_queue_push') result(code)
            import :: c_area, c_int, c_ptr, c_size_t
            type(c_area), value :: queue
            type(c_ptr), value :: items
            integer(c_size_t), value :: count
            integer(c_int), value :: timeout_ms
            integer(c_size_t), intent(inout) :: pushed
            integer(c_int) :: code
        end function
        function c_queue_pop(queue, most, timeout_ms, popped) bind(C, name='hk_queue_pop') result(code)
            import :: c_area, c_int, c_popped, c_size_t
            type(c_area), value :: queue
            integer(c_size_t), value :: most
            integer(c_int), value :: timeout_ms
            type(c_popped), intent(inout) :: popped
            integer(c_int) :: code
        end function
        function c_queue_release(queue) bind(C, name='hk_queue_release') result(code)
            import :: c_area, c_int
            type(c_area), value :: queue
            integer(c_int) :: code
        end function
        function c_bcopy(from_rank, from, from_offset, to_rank, to, to_offset, bytes) bind(C, name='hk_bcopy') result(code)
            import :: c_area, c_int, c_size_t
            integer(c_int), value :: from_rank
            type(c_area), value :: from
            integer(c_size_t), value :: from_offset
            integer(c_int), value :: to_rank
            type(c_area), value :: to
            integer(c_size_t), value :: to_offset, bytes
            integer(c_int) :: code
        end function
        function c_bcopy_notify(from_rank, from, from_offset, to_rank, to, to_offset, bytes, flag, flag_offset, value) &
            bind(C, name='hk_bcopy_notify') result(code)
            import :: c_area, c_int, c_int64_t, c_size_t
            integer(c_int), value :: from_rank
            type(c_area), value :: from
            integer(c_size_t), value :: from_offset
            integer(c_int), value :: to_rank
            type(c_area), value :: to
            integer(c_size_t), value :: to_offset, bytes
            type(c_area), value :: flag
            integer(c_size_t), value :: flag_offset
            integer(c_int64_t), value :: value
            integer(c_int) :: code
        end function
        function c_word(rank, area, offset, value) bind(C, name='hk_word') result(code)
            import :: c_area, c_int, c_int64_t, c_size_t
            integer(c_int), value :: rank
            type(c_area), value :: area
            integer(c_size_t), value :: offset
            integer(c_int64_t), value :: value
            integer(c_int) :: code
        end function
        function c_fetch_add_i8(rank, area, offset, value, before) bind(C, name='hk_fetch_add') result(code)
            import :: c_area, c_int, c_int64_t, c_size_t
            integer(c_int), value :: rank
            type(c_area), value :: area
            integer(c_size_t), value :: offset
            integer(c_int64_t), value :: value
            integer(c_int64_t), intent(out) :: before
            integer(c_int) :: code
        end function
        function c_fetch_add_i4(rank, area, offset, value, before) bind(C, name='hk_fetch_add_u32') result(code)
            import :: c_area, c_int, c_int32_t, c_size_t
            integer(c_int), value :: rank
            type(c_area), value :: area
            integer(c_size_t), value :: offset
            integer(c_int32_t), value :: value
            integer(c_int32_t), intent(out) :: before
            integer(c_int) :: code
        end function
        function c_fetch_add_r8(rank, area, offset, value, before) bind(C, name='hk_fetch_add_f64') result(code)
            import :: c_area, c_double, c_int, c_size_t
            integer(c_int), value :: rank
            type(c_area), value :: area
            integer(c_size_t), value :: offset
            real(c_double), value :: value
            real(c_double), intent(out) :: before
            integer(c_int) :: code
        end function
        function c_atomic_i8(rank, area, offset, op, operand, expected, before) bind(C, name='hk_atomic') result(code)
            import :: c_area, c_int, c_int64_t, c_size_t
            integer(c_int), value :: rank
            type(c_area), value :: area
            integer(c_size_t), value :: offset
            integer(c_int), value :: op
            integer(c_int64_t), value :: operand, expected
            integer(c_int64_t), intent(out) :: before
            integer(c_int) :: code
        end function
        function c_atomic_i4(rank, area, offset, op, operand, expected, before) bind(C, name='hk_atomic_u32') result(code)
            import :: c_area, c_int, c_int32_t, c_size_t
            integer(c_int), value :: rank
            type(c_area), value :: area
            integer(c_size_t), value :: offset
            integer(c_int), value :: op
            integer(c_int32_t), value :: operand, expected
            integer(c_int32_t), intent(out) :: before
            integer(c_int) :: code
        end function
        function c_wait(area, offset, until, value, by, timeout_ms, seen) bind(C, name='hk_wait') result(code)
            import :: c_area, c_int, c_int64_t, c_size_t
            type(c_area), value :: area
            integer(c_size_t), value :: offset
            integer(c_int), value :: until
            integer(c_int64_t), value :: value
            integer(c_int), value :: by, timeout_ms
            integer(c_int64_t), intent(out) :: seen
            integer(c_int) :: code
        end function
        function c_poll(area, offset, value) bind(C, name='hk_poll') result(code)
            import :: c_area, c_int, c_int64_t, c_size_t
            type(c_area), value :: area
            integer(c_size_t), value :: offset
            integer(c_int64_t), intent(out) :: value
            integer(c_int) :: code
        end function
        function c_broadcast(data, bytes, root) bind(C, name='hk_broadcast') result(code)
            import :: c_int, c_ptr, c_size_t
            type(c_ptr), value :: data
            integer(c_size_t), value :: bytes
            integer(c_int), value :: root
            integer(c_int) :: code
        end function
        function c_reduce(data, count, elements, op, root) bind(C, name='hk_reduce') result(code)
            import :: c_int, c_ptr, c_size_t
            type(c_ptr), value :: data
            integer(c_size_t), value :: count
            integer(c_int), value :: elements, op, root
            integer(c_int) :: code
        end function
        function c_allreduce(data, count, elements, op) bind(C, name='hk_allreduce') result(code)
            import :: c_int, c_ptr, c_size_t
            type(c_ptr), value :: data
            integer(c_size_t), value :: count
            integer(c_int), value :: elements, op
            integer(c_int) :: code
        end function
        function c_scan(data, count, elements, op) bind(C, name='hk_scan') result(code)
            import :: c_int, c_ptr, c_size_t
            type(c_ptr), value :: data
            integer(c_size_t), value :: count
            integer(c_int), value :: elements, op
            integer(c_int) :: code
        end function
        function c_exscan(data, count, elements, op) bind(C, name='hk_exscan') result(code)
            import :: c_int, c_ptr, c_size_t
            type(c_ptr), value :: data
            integer(c_size_t), value :: count
            integer(c_int), value :: elements, op
            integer(c_int) :: code
        end function
        function c_handler_register(id, handler, user) bind(C, name='hk_handler_register') result(code)
            import :: c_funptr, c_int, c_int16_t, c_ptr
            integer(c_int16_t), value :: id
            type(c_funptr), value :: handler
            type(c_ptr), value :: user
            integer(c_int) :: code
        end function
        function c_handler_remove(id) bind(C, name='hk_handler_remove') result(code)
            import :: c_int, c_int16_t
            integer(c_int16_t), value :: id
            integer(c_int) :: code
        end function
        function c_handled(id, count) bind(C, name='hk_handled') result(code)
            import :: c_int, c_int16_t, c_int64_t
            integer(c_int16_t), value :: id
            integer(c_int64_t), intent(out) :: count
            integer(c_int) :: code
        end function
        function c_wait_handled(id, count, by, timeout_ms) bind(C, name='hk_wait_handled') result(code)
            import :: c_int, c_int16_t, c_int64_t
            integer(c_int16_t), value :: id
            integer(c_int64_t), value :: count
            integer(c_int), value :: by, timeout_ms
            integer(c_int) :: code
        end function
        function c_send(rank, handler, address, words, payload, bytes) bind(C, name='hk_send') result(code)
            import :: c_int, c_int16_t, c_int64_t, c_ptr, c_size_t
            integer(c_int), value :: rank
            integer(c_int16_t), value :: handler
            integer(c_int64_t), value :: address
            integer(c_int64_t), intent(in) :: words(*)
            type(c_ptr), value :: payload
            integer(c_size_t), value :: bytes
            integer(c_int) :: code
        end function
        function c_try_send(rank, handler, address, words, payload, bytes) bind(C, name='hk_try_send') result(code)
            import :: c_int, c_int16_t, c_int64_t, c_ptr, c_size_t
            integer(c_int), value :: rank
            integer(c_int16_t), value :: handler
            integer(c_int64_t), value :: address
            integer(c_int64_t), intent(in) :: words(*)
            type(c_ptr), value :: payload
            integer(c_size_t), value :: bytes
            integer(c_int) :: code
        end function
        function c_call(rank, handler, words, payload, bytes, reply) bind(C, name='hk_call') result(code)
            import :: c_int, c_int16_t, c_int64_t, c_ptr, c_size_t
            integer(c_int), value :: rank
            integer(c_int16_t), value :: handler
            integer(c_int64_t), intent(in) :: words(*)
            type(c_ptr), value :: payload
            integer(c_size_t), value :: bytes
            integer(c_int64_t), intent(inout) :: reply(*)
            integer(c_int) :: code
        end function
        function c_call_with(rank, handler, words, payload, bytes, reply_words, reply, reply_max, reply_bytes) &
            bind(C, name='hk_call_with') result(code)
            import :: c_int, c_int16_t, c_int64_t, c_ptr, c_size_t
            integer(c_int), value :: rank
            integer(c_int16_t), value :: handler
            integer(c_int64_t), intent(in) :: words(*)
            type(c_ptr), value :: payload
            integer(c_size_t), value :: bytes
            integer(c_int64_t), intent(inout) :: reply_words(*)
            type(c_ptr), value :: reply
            integer(c_size_t), value :: reply_max
            integer(c_size_t), intent(inout) :: reply_bytes
            integer(c_int) :: code
        end function
        function c_context_send(context, rank, handler, address, words, payload, bytes) &
            bind(C, name='hk_context_send') result(code)
            import :: c_int, c_int16_t, c_int64_t, c_ptr, c_size_t
            type(c_ptr), value :: context
            integer(c_int), value :: rank
            integer(c_int16_t), value :: handler
            integer(c_int64_t), value :: address
            integer(c_int64_t), intent(in) :: words(*)
            type(c_ptr), value :: payload
            integer(c_size_t), value :: bytes
            integer(c_int) :: code
        end function
        function c_context_reply(context, words) bind(C, name='hk_context_reply') result(code)
            import :: c_int, c_int64_t, c_ptr
            type(c_ptr), value :: context
            integer(c_int64_t), intent(in) :: words(*)
            integer(c_int) :: code
        end function
        function c_context_reply_with(context, words, payload, bytes) bind(C, name='hk_context_reply_with') result(code)
            import :: c_int, c_int64_t, c_ptr, c_size_t
            type(c_ptr), value :: context
            integer(c_int64_t), intent(in) :: words(*)
            type(c_ptr), value :: payload
            integer(c_size_t), value :: bytes
            integer(c_int) :: code
        end function
        function c_context_retry(context) bind(C, name='hk_context_retry') result(code)
            import :: c_int, c_ptr
            type(c_ptr), value :: context
            integer(c_int) :: code
        end function
        function c_last_error() bind(C, name='hk_last_error') result(code)
            import :: c_ptr
            type(c_ptr) :: code
        end function
        function c_strerror(code_asked) bind(C, name='hk_strerror') result(code)
            import :: c_int, c_ptr
            integer(c_int), value :: code_asked
            type(c_ptr) :: code
        end function
        function c_version() bind(C, name='hk_version') result(code)
            import :: c_ptr
            type(c_ptr) :: code
        end function
        function c_strlen(text) bind(C, name='strlen') result(length)
            import :: c_ptr, c_size_t
            type(c_ptr), value :: text
            integer(c_size_t) :: length
        end function
    end interface

contains

    ! ---- errors

    ! Gives a code to the program. Without a place for it, an error ends the program.
    subroutine give(code, ierr)
        integer(c_int), intent(in) :: code
        integer, intent(out), optional :: ierr
        character(len=:), allocatable :: text
        integer :: rank
        if (present(ierr)) then
            ierr = code
        else if (code < 0) then
            text = hk_last_error()
            ! This call may fail too, where there is no job.
            rank = hk_rank()
            if (rank < 0) then
                write (error_unit, '(2a)') 'hikyaku: ', text
            else
                write (error_unit, '(a, i0, 2a)') 'hikyaku: rank ', rank, ': ', text
            end if
            error stop 1
        end if
    end subroutine

    ! What went wrong in the last call of this thread that failed.
    function hk_last_error() result(text)
        character(len=:), allocatable :: text
        text = text_at(c_last_error())
    end function

    ! What a code means in general.
    function hk_strerror(code) result(text)
        integer, intent(in) :: code
        character(len=:), allocatable :: text
        text = text_at(c_strerror(code))
    end function

    ! The version of the library.
    function hk_version() result(text)
        character(len=:), allocatable :: text
        text = text_at(c_version())
    end function

    function text_at(place) result(text)
        type(c_ptr), intent(in) :: place
        character(len=:), allocatable :: text
        character(kind=c_char), pointer :: characters(:)
        integer :: i
        call c_f_pointer(place, characters, [c_strlen(place)])
        allocate (character(len=size(characters)) :: text)
        do i = 1, size(characters)
            text(i:i) = characters(i)
        end do
    end function

    ! ---- the job

    subroutine hk_init(ierr)
        integer, intent(out), optional :: ierr
        call give(c_init(), ierr)
    end subroutine

    subroutine hk_finalize(ierr)
        integer, intent(out), optional :: ierr
        call give(c_finalize(), ierr)
    end subroutine

    subroutine hk_barrier(ierr)
        integer, intent(out), optional :: ierr
        call give(c_barrier(), ierr)
    end subroutine

    subroutine hk_sync(ierr)
        integer, intent(out), optional :: ierr
        call give(c_sync(), ierr)
    end subroutine

    subroutine hk_barrier_for(timeout_ms, ierr)
        integer, intent(in) :: timeout_ms
        integer, intent(out), optional :: ierr
        call give(c_barrier_for(timeout_ms), ierr)
    end subroutine

    subroutine hk_flush(rank, ierr)
        integer, intent(in) :: rank
        integer, intent(out), optional :: ierr
        call give(c_flush(rank), ierr)
    end subroutine

    ! 1 if the rank is alive and has not left, else 0.
    function hk_is_present(rank) result(code)
        integer, intent(in) :: rank
        integer :: code
        code = c_is_present(rank)
    end function

    ! Runs the handlers of messages that have arrived; 1 if there were any, else 0.
    function hk_progress() result(code)
        integer :: code
        code = c_progress()
    end function

    ! ---- areas and places

    pure function at_short(area, rank, index) result(place)
        class(hk_area), intent(in) :: area
        integer, intent(in) :: rank
        integer(int32), intent(in) :: index
        type(hk_place) :: place
        place = area%at_long(rank, int(index, int64))
    end function

    pure function at_long(area, rank, index) result(place)
        class(hk_area), intent(in) :: area
        integer, intent(in) :: rank
        integer(int64), intent(in) :: index
        type(hk_place) :: place
        place%handle = area%handle
        place%rank = rank
        place%index = index
    end function

    pure function each_short(area, index) result(each)
        class(hk_area), intent(in) :: area
        integer(int32), intent(in) :: index
        type(hk_area_each) :: each
        each = area%each_long(int(index, int64))
    end function

    pure function each_long(area, index) result(each)
        class(hk_area), intent(in) :: area
        integer(int64), intent(in) :: index
        type(hk_area_each) :: each
        each%handle = area%handle
        each%index = index
    end function

    pure function word_short(area, index) result(word)
        class(hk_area), intent(in) :: area
        integer(int32), intent(in) :: index
        type(hk_area_word) :: word
        word = area%word_long(int(index, int64))
    end function

    pure function word_long(area, index) result(word)
        class(hk_area), intent(in) :: area
        integer(int64), intent(in) :: index
        type(hk_area_word) :: word
        word%handle = area%handle
        word%index = index
    end function

    ! The byte where an element begins; for an index that cannot be, one that no area has.
    pure function offset_of(index, bytes) result(offset)
        integer(int64), intent(in) :: index
        integer, intent(in) :: bytes
        integer(c_size_t) :: offset
        offset = bytes_of(max(index, 0_int64) - 1, bytes)
    end function

    ! The bytes of so many elements; for a number that cannot be, more than any memory has.
    pure function bytes_of(count, bytes) result(total)
        integer(int64), intent(in) :: count
        integer, intent(in) :: bytes
        integer(c_size_t) :: total
        total = -int(bytes, c_size_t)
        if (count >= 0 .and. count <= huge(count) / bytes) total = count * bytes
    end function

    subroutine alloc_bytes(count, bytes, area, place, code)
        integer(int64), intent(in) :: count
        integer, intent(in) :: bytes
        type(hk_area), intent(out) :: area
        type(c_ptr), intent(out) :: place
        integer(c_int), intent(out) :: code
        type(c_area) :: made
        made%handle = 0
        code = c_alloc(bytes_of(count, bytes), made)
        if (code == HK_SUCCESS) then
            area%handle = made%handle
            place = c_local(made)
        end if
    end subroutine

    ! Frees an area. All ranks call it.
    subroutine hk_free(area, ierr)
        type(hk_area), intent(inout) :: area
        integer, intent(out), optional :: ierr
        type(c_area) :: old
        old%handle = area%handle
        area%handle = 0
        call give(c_free(old), ierr)
    end subroutine

    subroutine alloc_i4_short(array, count, area, ierr)
        integer(int32), pointer, intent(out) :: array(:)
        integer(int32), intent(in) :: count
        type(hk_area), intent(out) :: area
        integer, intent(out), optional :: ierr
        type(c_ptr) :: place
        integer(c_int) :: code
        nullify (array)
        call alloc_bytes(int(count, int64), 4, area, place, code)
        if (code == HK_SUCCESS) call c_f_pointer(place, array, [count])
        call give(code, ierr)
    end subroutine

    subroutine alloc_i4_long(array, count, area, ierr)
        integer(int32), pointer, intent(out) :: array(:)
        integer(int64), intent(in) :: count
        type(hk_area), intent(out) :: area
        integer, intent(out), optional :: ierr
        type(c_ptr) :: place
        integer(c_int) :: code
        nullify (array)
        call alloc_bytes(count, 4, area, place, code)
        if (code == HK_SUCCESS) call c_f_pointer(place, array, [count])
        call give(code, ierr)
    end subroutine

    subroutine alloc_i8_short(array, count, area, ierr)
        integer(int64), pointer, intent(out) :: array(:)
        integer(int32), intent(in) :: count
        type(hk_area), intent(out) :: area
        integer, intent(out), optional :: ierr
        type(c_ptr) :: place
        integer(c_int) :: code
        nullify (array)
        call alloc_bytes(int(count, int64), 8, area, place, code)
        if (code == HK_SUCCESS) call c_f_pointer(place, array, [count])
        call give(code, ierr)
    end subroutine

    subroutine alloc_i8_long(array, count, area, ierr)
        integer(int64), pointer, intent(out) :: array(:)
        integer(int64), intent(in) :: count
        type(hk_area), intent(out) :: area
        integer, intent(out), optional :: ierr
        type(c_ptr) :: place
        integer(c_int) :: code
        nullify (array)
        call alloc_bytes(count, 8, area, place, code)
        if (code == HK_SUCCESS) call c_f_pointer(place, array, [count])
        call give(code, ierr)
    end subroutine

    subroutine alloc_r4_short(array, count, area, ierr)
        real(real32), pointer, intent(out) :: array(:)
        integer(int32), intent(in) :: count
        type(hk_area), intent(out) :: area
        integer, intent(out), optional :: ierr
        type(c_ptr) :: place
        integer(c_int) :: code
        nullify (array)
        call alloc_bytes(int(count, int64), 4, area, place, code)
        if (code == HK_SUCCESS) call c_f_pointer(place, array, [count])
        call give(code, ierr)
    end subroutine

    subroutine alloc_r4_long(array, count, area, ierr)
        real(real32), pointer, intent(out) :: array(:)
        integer(int64), intent(in) :: count
        type(hk_area), intent(out) :: area
        integer, intent(out), optional :: ierr
        type(c_ptr) :: place
        integer(c_int) :: code
        nullify (array)
        call alloc_bytes(count, 4, area, place, code)
        if (code == HK_SUCCESS) call c_f_pointer(place, array, [count])
        call give(code, ierr)
    end subroutine

    subroutine alloc_r8_short(array, count, area, ierr)
        real(real64), pointer, intent(out) :: array(:)
        integer(int32), intent(in) :: count
        type(hk_area), intent(out) :: area
        integer, intent(out), optional :: ierr
        type(c_ptr) :: place
        integer(c_int) :: code
        nullify (array)
        call alloc_bytes(int(count, int64), 8, area, place, code)
        if (code == HK_SUCCESS) call c_f_pointer(place, array, [count])
        call give(code, ierr)
    end subroutine

    subroutine alloc_r8_long(array, count, area, ierr)
        real(real64), pointer, intent(out) :: array(:)
        integer(int64), intent(in) :: count
        type(hk_area), intent(out) :: area
        integer, intent(out), optional :: ierr
        type(c_ptr) :: place
        integer(c_int) :: code
        nullify (array)
        call alloc_bytes(count, 8, area, place, code)
        if (code == HK_SUCCESS) call c_f_pointer(place, array, [count])
        call give(code, ierr)
    end subroutine

    ! ---- push and pull

    subroutine push(data, count, bytes, to, ierr)
        type(c_ptr), intent(in) :: data
        integer(int64), intent(in) :: count
        integer, intent(in) :: bytes
        type(hk_place), intent(in) :: to
        integer, intent(out), optional :: ierr
        associate (place => to)
            call give(c_push(data, place%rank, c_area(place%handle), offset_of(place%index, bytes), count * bytes), ierr)
        end associate
    end subroutine

    subroutine pull(data, count, bytes, from, ierr)
        type(c_ptr), intent(in) :: data
        integer(int64), intent(in) :: count
        integer, intent(in) :: bytes
        type(hk_place), intent(in) :: from
        integer, intent(out), optional :: ierr
        associate (place => from)
            call give(c_pull(data, place%rank, c_area(place%handle), offset_of(place%index, bytes), count * bytes), ierr)
        end associate
    end subroutine

    subroutine notify(data, count, bytes, to, flag, value, ierr)
        type(c_ptr), intent(in) :: data
        integer(int64), intent(in) :: count
        integer, intent(in) :: bytes
        type(hk_place), intent(in) :: to
        type(hk_area_word), intent(in) :: flag
        integer(int64), intent(in) :: value
        integer, intent(out), optional :: ierr
        call give(c_push_notify(data, to%rank, c_area(to%handle), offset_of(to%index, bytes), count * bytes, &
                  c_area(flag%handle), offset_of(flag%index, 8), value), ierr)
    end subroutine

    subroutine notify_add(data, count, bytes, to, flag, value, ierr)
        type(c_ptr), intent(in) :: data
        integer(int64), intent(in) :: count
        integer, intent(in) :: bytes
        type(hk_place), intent(in) :: to
        type(hk_area_word), intent(in) :: flag
        integer(int64), intent(in) :: value
        integer, intent(out), optional :: ierr
        call give(c_push_notify_add(data, to%rank, c_area(to%handle), offset_of(to%index, bytes), count * bytes, &
                  c_area(flag%handle), offset_of(flag%index, 8), value), ierr)
    end subroutine

    subroutine push_i4(data, to, ierr)
        integer(int32), target, contiguous, intent(in) :: data(:)
        type(hk_place), intent(in) :: to
        integer, intent(out), optional :: ierr
        call push(c_loc(data), size(data, kind=int64), 4, to, ierr)
    end subroutine

    subroutine pull_i4(data, from, ierr)
        integer(int32), target, contiguous, intent(inout) :: data(:)
        type(hk_place), intent(in) :: from
        integer, intent(out), optional :: ierr
        call pull(c_loc(data), size(data, kind=int64), 4, from, ierr)
    end subroutine

    subroutine notify_i4(data, to, flag, value, ierr)
        integer(int32), target, contiguous, intent(in) :: data(:)
        type(hk_place), intent(in) :: to
        type(hk_area_word), intent(in) :: flag
        integer(int64), intent(in) :: value
        integer, intent(out), optional :: ierr
        call notify(c_loc(data), size(data, kind=int64), 4, to, flag, value, ierr)
    end subroutine

    subroutine notify_i4_short(data, to, flag, value, ierr)
        integer(int32), target, contiguous, intent(in) :: data(:)
        type(hk_place), intent(in) :: to
        type(hk_area_word), intent(in) :: flag
        integer(int32), intent(in) :: value
        integer, intent(out), optional :: ierr
        call notify(c_loc(data), size(data, kind=int64), 4, to, flag, int(value, int64), ierr)
    end subroutine

    subroutine notify_add_i4(data, to, flag, value, ierr)
        integer(int32), target, contiguous, intent(in) :: data(:)
        type(hk_place), intent(in) :: to
        type(hk_area_word), intent(in) :: flag
        integer(int64), intent(in) :: value
        integer, intent(out), optional :: ierr
        call notify_add(c_loc(data), size(data, kind=int64), 4, to, flag, value, ierr)
    end subroutine

    subroutine notify_add_i4_short(data, to, flag, value, ierr)
        integer(int32), target, contiguous, intent(in) :: data(:)
        type(hk_place), intent(in) :: to
        type(hk_area_word), intent(in) :: flag
        integer(int32), intent(in) :: value
        integer, intent(out), optional :: ierr
        call notify_add(c_loc(data), size(data, kind=int64), 4, to, flag, int(value, int64), ierr)
    end subroutine

    subroutine push_i4_one(data, to, ierr)
        integer(int32), target, intent(in) :: data
        type(hk_place), intent(in) :: to
        integer, intent(out), optional :: ierr
        call push(c_loc(data), 1_int64, 4, to, ierr)
    end subroutine

    subroutine pull_i4_one(data, from, ierr)
        integer(int32), target, intent(inout) :: data
        type(hk_place), intent(in) :: from
        integer, intent(out), optional :: ierr
        call pull(c_loc(data), 1_int64, 4, from, ierr)
    end subroutine

    subroutine notify_i4_one(data, to, flag, value, ierr)
        integer(int32), target, intent(in) :: data
        type(hk_place), intent(in) :: to
        type(hk_area_word), intent(in) :: flag
        integer(int64), intent(in) :: value
        integer, intent(out), optional :: ierr
        call notify(c_loc(data), 1_int64, 4, to, flag, value, ierr)
    end subroutine

    subroutine notify_i4_one_short(data, to, flag, value, ierr)
        integer(int32), target, intent(in) :: data
        type(hk_place), intent(in) :: to
        type(hk_area_word), intent(in) :: flag
        integer(int32), intent(in) :: value
        integer, intent(out), optional :: ierr
        call notify(c_loc(data), 1_int64, 4, to, flag, int(value, int64), ierr)
    end subroutine

    subroutine notify_add_i4_one(data, to, flag, value, ierr)
        integer(int32), target, intent(in) :: data
        type(hk_place), intent(in) :: to
        type(hk_area_word), intent(in) :: flag
        integer(int64), intent(in) :: value
        integer, intent(out), optional :: ierr
        call notify_add(c_loc(data), 1_int64, 4, to, flag, value, ierr)
    end subroutine

    subroutine notify_add_i4_one_short(data, to, flag, value, ierr)
        integer(int32), target, intent(in) :: data
        type(hk_place), intent(in) :: to
        type(hk_area_word), intent(in) :: flag
        integer(int32), intent(in) :: value
        integer, intent(out), optional :: ierr
        call notify_add(c_loc(data), 1_int64, 4, to, flag, int(value, int64), ierr)
    end subroutine

    subroutine push_i8(data, to, ierr)
        integer(int64), target, contiguous, intent(in) :: data(:)
        type(hk_place), intent(in) :: to
        integer, intent(out), optional :: ierr
        call push(c_loc(data), size(data, kind=int64), 8, to, ierr)
    end subroutine

    subroutine pull_i8(data, from, ierr)
        integer(int64), target, contiguous, intent(inout) :: data(:)
        type(hk_place), intent(in) :: from
        integer, intent(out), optional :: ierr
        call pull(c_loc(data), size(data, kind=int64), 8, from, ierr)
    end subroutine

    subroutine notify_i8(data, to, flag, value, ierr)
        integer(int64), target, contiguous, intent(in) :: data(:)
        type(hk_place), intent(in) :: to
        type(hk_area_word), intent(in) :: flag
        integer(int64), intent(in) :: value
        integer, intent(out), optional :: ierr
        call notify(c_loc(data), size(data, kind=int64), 8, to, flag, value, ierr)
    end subroutine

    subroutine notify_i8_short(data, to, flag, value, ierr)
        integer(int64), target, contiguous, intent(in) :: data(:)
        type(hk_place), intent(in) :: to
        type(hk_area_word), intent(in) :: flag
        integer(int32), intent(in) :: value
        integer, intent(out), optional :: ierr
        call notify(c_loc(data), size(data, kind=int64), 8, to, flag, int(value, int64), ierr)
    end subroutine

    subroutine notify_add_i8(data, to, flag, value, ierr)
        integer(int64), target, contiguous, intent(in) :: data(:)
        type(hk_place), intent(in) :: to
        type(hk_area_word), intent(in) :: flag
        integer(int64), intent(in) :: value
        integer, intent(out), optional :: ierr
        call notify_add(c_loc(data), size(data, kind=int64), 8, to, flag, value, ierr)
    end subroutine

    subroutine notify_add_i8_short(data, to, flag, value, ierr)
        integer(int64), target, contiguous, intent(in) :: data(:)
        type(hk_place), intent(in) :: to
        type(hk_area_word), intent(in) :: flag
        integer(int32), intent(in) :: value
        integer, intent(out), optional :: ierr
        call notify_add(c_loc(data), size(data, kind=int64), 8, to, flag, int(value, int64), ierr)
    end subroutine

    subroutine push_i8_one(data, to, ierr)
        integer(int64), target, intent(in) :: data
        type(hk_place), intent(in) :: to
        integer, intent(out), optional :: ierr
        call push(c_loc(data), 1_int64, 8, to, ierr)
    end subroutine

    subroutine pull_i8_one(data, from, ierr)
        integer(int64), target, intent(inout) :: data
        type(hk_place), intent(in) :: from
        integer, intent(out), optional :: ierr
        call pull(c_loc(data), 1_int64, 8, from, ierr)
    end subroutine

    subroutine notify_i8_one(data, to, flag, value, ierr)
        integer(int64), target, intent(in) :: data
        type(hk_place), intent(in) :: to
        type(hk_area_word), intent(in) :: flag
        integer(int64), intent(in) :: value
        integer, intent(out), optional :: ierr
        call notify(c_loc(data), 1_int64, 8, to, flag, value, ierr)
    end subroutine

    subroutine notify_i8_one_short(data, to, flag, value, ierr)
        integer(int64), target, intent(in) :: data
        type(hk_place), intent(in) :: to
        type(hk_area_word), intent(in) :: flag
        integer(int32), intent(in) :: value
        integer, intent(out), optional :: ierr
        call notify(c_loc(data), 1_int64, 8, to, flag, int(value, int64), ierr)
    end subroutine

    subroutine notify_add_i8_one(data, to, flag, value, ierr)
        integer(int64), target, intent(in) :: data
        type(hk_place), intent(in) :: to
        type(hk_area_word), intent(in) :: flag
        integer(int64), intent(in) :: value
        integer, intent(out), optional :: ierr
        call notify_add(c_loc(data), 1_int64, 8, to, flag, value, ierr)
    end subroutine

    subroutine notify_add_i8_one_short(data, to, flag, value, ierr)
        integer(int64), target, intent(in) :: data
        type(hk_place), intent(in) :: to
        type(hk_area_word), intent(in) :: flag
        integer(int32), intent(in) :: value
        integer, intent(out), optional :: ierr
        call notify_add(c_loc(data), 1_int64, 8, to, flag, int(value, int64), ierr)
    end subroutine

    subroutine push_r4(data, to, ierr)
        real(real32), target, contiguous, intent(in) :: data(:)
        type(hk_place), intent(in) :: to
        integer, intent(out), optional :: ierr
        call push(c_loc(data), size(data, kind=int64), 4, to, ierr)
    end subroutine

    subroutine pull_r4(data, from, ierr)
        real(real32), target, contiguous, intent(inout) :: data(:)
        type(hk_place), intent(in) :: from
        integer, intent(out), optional :: ierr
        call pull(c_loc(data), size(data, kind=int64), 4, from, ierr)
    end subroutine

    subroutine notify_r4(data, to, flag, value, ierr)
        real(real32), target, contiguous, intent(in) :: data(:)
        type(hk_place), intent(in) :: to
        type(hk_area_word), intent(in) :: flag
        integer(int64), intent(in) :: value
        integer, intent(out), optional :: ierr
        call notify(c_loc(data), size(data, kind=int64), 4, to, flag, value, ierr)
    end subroutine

    subroutine notify_r4_short(data, to, flag, value, ierr)
        real(real32), target, contiguous, intent(in) :: data(:)
        type(hk_place), intent(in) :: to
        type(hk_area_word), intent(in) :: flag
        integer(int32), intent(in) :: value
        integer, intent(out), optional :: ierr
        call notify(c_loc(data), size(data, kind=int64), 4, to, flag, int(value, int64), ierr)
    end subroutine

    subroutine notify_add_r4(data, to, flag, value, ierr)
        real(real32), target, contiguous, intent(in) :: data(:)
        type(hk_place), intent(in) :: to
        type(hk_area_word), intent(in) :: flag
        integer(int64), intent(in) :: value
        integer, intent(out), optional :: ierr
        call notify_add(c_loc(data), size(data, kind=int64), 4, to, flag, value, ierr)
    end subroutine

    subroutine notify_add_r4_short(data, to, flag, value, ierr)
        real(real32), target, contiguous, intent(in) :: data(:)
        type(hk_place), intent(in) :: to
        type(hk_area_word), intent(in) :: flag
        integer(int32), intent(in) :: value
        integer, intent(out), optional :: ierr
        call notify_add(c_loc(data), size(data, kind=int64), 4, to, flag, int(value, int64), ierr)
    end subroutine

    subroutine push_r4_one(data, to, ierr)
        real(real32), target, intent(in) :: data
        type(hk_place), intent(in) :: to
        integer, intent(out), optional :: ierr
        call push(c_loc(data), 1_int64, 4, to, ierr)
    end subroutine

    subroutine pull_r4_one(data, from, ierr)
        real(real32), target, intent(inout) :: data
        type(hk_place), intent(in) :: from
        integer, intent(out), optional :: ierr
        call pull(c_loc(data), 1_int64, 4, from, ierr)
    end subroutine

    subroutine notify_r4_one(data, to, flag, value, ierr)
        real(real32), target, intent(in) :: data
        type(hk_place), intent(in) :: to
        type(hk_area_word), intent(in) :: flag
        integer(int64), intent(in) :: value
        integer, intent(out), optional :: ierr
        call notify(c_loc(data), 1_int64, 4, to, flag, value, ierr)
    end subroutine

    subroutine notify_r4_one_short(data, to, flag, value, ierr)
        real(real32), target, intent(in) :: data
        type(hk_place), intent(in) :: to
        type(hk_area_word), intent(in) :: flag
        integer(int32), intent(in) :: value
        integer, intent(out), optional :: ierr
        call notify(c_loc(data), 1_int64, 4, to, flag, int(value, int64), ierr)
    end subroutine

    subroutine notify_add_r4_one(data, to, flag, value, ierr)
        real(real32), target, intent(in) :: data
        type(hk_place), intent(in) :: to
        type(hk_area_word), intent(in) :: flag
        integer(int64), intent(in) :: value
        integer, intent(out), optional :: ierr
        call notify_add(c_loc(data), 1_int64, 4, to, flag, value, ierr)
    end subroutine

    subroutine notify_add_r4_one_short(data, to, flag, value, ierr)
        real(real32), target, intent(in) :: data
        type(hk_place), intent(in) :: to
        type(hk_area_word), intent(in) :: flag
        integer(int32), intent(in) :: value
        integer, intent(out), optional :: ierr
        call notify_add(c_loc(data), 1_int64, 4, to, flag, int(value, int64), ierr)
    end subroutine

    subroutine push_r8(data, to, ierr)
        real(real64), target, contiguous, intent(in) :: data(:)
        type(hk_place), intent(in) :: to
        integer, intent(out), optional :: ierr
        call push(c_loc(data), size(data, kind=int64), 8, to, ierr)
    end subroutine

    subroutine pull_r8(data, from, ierr)
        real(real64), target, contiguous, intent(inout) :: data(:)
        type(hk_place), intent(in) :: from
        integer, intent(out), optional :: ierr
        call pull(c_loc(data), size(data, kind=int64), 8, from, ierr)
    end subroutine

    subroutine notify_r8(data, to, flag, value, ierr)
        real(real64), target, contiguous, intent(in) :: data(:)
        type(hk_place), intent(in) :: to
        type(hk_area_word), intent(in) :: flag
        integer(int64), intent(in) :: value
        integer, intent(out), optional :: ierr
        call notify(c_loc(data), size(data, kind=int64), 8, to, flag, value, ierr)
    end subroutine

    subroutine notify_r8_short(data, to, flag, value, ierr)
        real(real64), target, contiguous, intent(in) :: data(:)
        type(hk_place), intent(in) :: to
        type(hk_area_word), intent(in) :: flag
        integer(int32), intent(in) :: value
        integer, intent(out), optional :: ierr
        call notify(c_loc(data), size(data, kind=int64), 8, to, flag, int(value, int64), ierr)
    end subroutine

    subroutine notify_add_r8(data, to, flag, value, ierr)
        real(real64), target, contiguous, intent(in) :: data(:)
        type(hk_place), intent(in) :: to
        type(hk_area_word), intent(in) :: flag
        integer(int64), intent(in) :: value
        integer, intent(out), optional :: ierr
        call notify_add(c_loc(data), size(data, kind=int64), 8, to, flag, value, ierr)
    end subroutine

    subroutine notify_add_r8_short(data, to, flag, value, ierr)
        real(real64), target, contiguous, intent(in) :: data(:)
        type(hk_place), intent(in) :: to
        type(hk_area_word), intent(in) :: flag
        integer(int32), intent(in) :: value
        integer, intent(out), optional :: ierr
        call notify_add(c_loc(data), size(data, kind=int64), 8, to, flag, int(value, int64), ierr)
    end subroutine

    subroutine push_r8_one(data, to, ierr)
        real(real64), target, intent(in) :: data
        type(hk_place), intent(in) :: to
        integer, intent(out), optional :: ierr
        call push(c_loc(data), 1_int64, 8, to, ierr)
    end subroutine

    subroutine pull_r8_one(data, from, ierr)
        real(real64), target, intent(inout) :: data
        type(hk_place), intent(in) :: from
        integer, intent(out), optional :: ierr
        call pull(c_loc(data), 1_int64, 8, from, ierr)
    end subroutine

    subroutine notify_r8_one(data, to, flag, value, ierr)
        real(real64), target, intent(in) :: data
        type(hk_place), intent(in) :: to
        type(hk_area_word), intent(in) :: flag
        integer(int64), intent(in) :: value
        integer, intent(out), optional :: ierr
        call notify(c_loc(data), 1_int64, 8, to, flag, value, ierr)
    end subroutine

    subroutine notify_r8_one_short(data, to, flag, value, ierr)
        real(real64), target, intent(in) :: data
        type(hk_place), intent(in) :: to
        type(hk_area_word), intent(in) :: flag
        integer(int32), intent(in) :: value
        integer, intent(out), optional :: ierr
        call notify(c_loc(data), 1_int64, 8, to, flag, int(value, int64), ierr)
    end subroutine

    subroutine notify_add_r8_one(data, to, flag, value, ierr)
        real(real64), target, intent(in) :: data
        type(hk_place), intent(in) :: to
        type(hk_area_word), intent(in) :: flag
        integer(int64), intent(in) :: value
        integer, intent(out), optional :: ierr
        call notify_add(c_loc(data), 1_int64, 8, to, flag, value, ierr)
    end subroutine

    subroutine notify_add_r8_one_short(data, to, flag, value, ierr)
        real(real64), target, intent(in) :: data
        type(hk_place), intent(in) :: to
        type(hk_area_word), intent(in) :: flag
        integer(int32), intent(in) :: value
        integer, intent(out), optional :: ierr
        call notify_add(c_loc(data), 1_int64, 8, to, flag, int(value, int64), ierr)
    end subroutine

    ! ---- words

    ! `count` elements of `bytes` bytes: 8 for real(8). The rank of this program may be any.
    subroutine copy_long(from, to, count, bytes, ierr)
        type(hk_place), intent(in) :: from, to
        integer(int64), intent(in) :: count
        integer, intent(in) :: bytes
        integer, intent(out), optional :: ierr
        call give(c_bcopy(from%rank, c_area(from%handle), offset_of(from%index, max(bytes, 1)), to%rank, c_area(to%handle), &
                  offset_of(to%index, max(bytes, 1)), bytes_of(count, max(bytes, 1))), ierr)
    end subroutine

    subroutine copy_short(from, to, count, bytes, ierr)
        type(hk_place), intent(in) :: from, to
        integer(int32), intent(in) :: count
        integer, intent(in) :: bytes
        integer, intent(out), optional :: ierr
        call copy_long(from, to, int(count, int64), bytes, ierr)
    end subroutine

    subroutine copy_notify_long(from, to, count, bytes, flag, value, ierr)
        type(hk_place), intent(in) :: from, to
        integer(int64), intent(in) :: count
        integer, intent(in) :: bytes
        type(hk_area_word), intent(in) :: flag
        integer(int64), intent(in) :: value
        integer, intent(out), optional :: ierr
        call give(c_bcopy_notify(from%rank, c_area(from%handle), offset_of(from%index, max(bytes, 1)), to%rank, &
                  c_area(to%handle), offset_of(to%index, max(bytes, 1)), bytes_of(count, max(bytes, 1)), c_area(flag%handle), &
                  offset_of(flag%index, 8), value), ierr)
    end subroutine

    subroutine copy_notify_short(from, to, count, bytes, flag, value, ierr)
        type(hk_place), intent(in) :: from, to
        integer(int32), intent(in) :: count
        integer, intent(in) :: bytes
        type(hk_area_word), intent(in) :: flag
        integer(int32), intent(in) :: value
        integer, intent(out), optional :: ierr
        call copy_notify_long(from, to, int(count, int64), bytes, flag, int(value, int64), ierr)
    end subroutine

    subroutine set_long(to, value, ierr)
        type(hk_place), intent(in) :: to
        integer(int64), intent(in) :: value
        integer, intent(out), optional :: ierr
        call give(c_word(to%rank, c_area(to%handle), offset_of(to%index, 8), value), ierr)
    end subroutine

    subroutine set_short(to, value, ierr)
        type(hk_place), intent(in) :: to
        integer(int32), intent(in) :: value
        integer, intent(out), optional :: ierr
        call set_long(to, int(value, int64), ierr)
    end subroutine

    ! Waits for a word of this rank, by default set by anyone and for any time.
    subroutine wait_long(word, until, value, by, timeout_ms, seen, ierr)
        type(hk_area_word), intent(in) :: word
        integer, intent(in) :: until
        integer(int64), intent(in) :: value
        integer, intent(in), optional :: by, timeout_ms
        integer(int64), intent(out), optional :: seen
        integer, intent(out), optional :: ierr
        integer(c_int) :: who, ms, code
        integer(int64) :: found
        who = HK_ANYONE
        ms = HK_FOREVER
        found = 0
        if (present(by)) who = by
        if (present(timeout_ms)) ms = timeout_ms
        code = c_wait(c_area(word%handle), offset_of(word%index, 8), until, value, who, ms, found)
        if (present(seen)) seen = found
        call give(code, ierr)
    end subroutine

    subroutine wait_short(word, until, value, by, timeout_ms, seen, ierr)
        type(hk_area_word), intent(in) :: word
        integer, intent(in) :: until
        integer(int32), intent(in) :: value
        integer, intent(in), optional :: by, timeout_ms
        integer(int64), intent(out), optional :: seen
        integer, intent(out), optional :: ierr
        call wait_long(word, until, int(value, int64), by, timeout_ms, seen, ierr)
    end subroutine

    ! One look at a word of this rank, without waiting.
    subroutine hk_poll(word, value, ierr)
        type(hk_area_word), intent(in) :: word
        integer(int64), intent(out) :: value
        integer, intent(out), optional :: ierr
        value = 0
        call give(c_poll(c_area(word%handle), offset_of(word%index, 8), value), ierr)
    end subroutine

    ! ---- transfers that go on while the program computes

    ! Waits until a transfer has ended, for timeout_ms milliseconds at most if that is given and not negative: then the code is
    ! HK_ERR_TIMEOUT, and it is under way as before.
    subroutine hk_transfer_wait(transfer, timeout_ms, ierr)
        type(hk_transfer), intent(inout) :: transfer
        integer, intent(in), optional :: timeout_ms
        integer, intent(out), optional :: ierr
        integer :: timeout
        timeout = -1
        if (present(timeout_ms)) timeout = timeout_ms
        call give(c_transfer_wait(transfer%handle, timeout), ierr)
    end subroutine

    ! Whether a transfer has ended. An error ends it too.
    subroutine hk_transfer_test(transfer, ended, ierr)
        type(hk_transfer), intent(inout) :: transfer
        logical, intent(out) :: ended
        integer, intent(out), optional :: ierr
        integer(c_int) :: code
        code = c_transfer_test(transfer%handle)
        ended = code /= 0
        call give(min(code, 0), ierr)
    end subroutine

    ! Waits until one of several transfers has ended: `which` is its index, also if that one failed. 0 if none is left, or if the call
    ! itself failed, as by HK_ERR_TIMEOUT: then all are under way as before.
    subroutine hk_transfer_wait_any(transfers, which, timeout_ms, ierr)
        type(hk_transfer), intent(inout) :: transfers(:)
        integer, intent(out) :: which
        integer, intent(in), optional :: timeout_ms
        integer, intent(out), optional :: ierr
        integer(c_int64_t) :: handles(size(transfers))
        integer(c_size_t) :: index
        integer :: timeout
        integer(c_int) :: code
        timeout = HK_FOREVER
        if (present(timeout_ms)) timeout = timeout_ms
        handles = transfers%handle
        index = size(transfers)
        code = c_transfer_wait_any(handles, size(handles, kind=c_size_t), timeout, index)
        transfers%handle = handles
        which = 0
        if (index < size(transfers)) which = int(index) + 1
        call give(code, ierr)
    end subroutine

    ! Makes a lock whose queue is in the memory of `manager`. All ranks call it together, with the same argument.
    subroutine hk_mutex_create(manager, mutex, ierr)
        integer, intent(in) :: manager
        type(hk_mutex), intent(out) :: mutex
        integer, intent(out), optional :: ierr
        call give(c_mutex_create(manager, mutex), ierr)
    end subroutine

    ! Frees a lock. All ranks call it together.
    subroutine hk_mutex_free(mutex, ierr)
        type(hk_mutex), intent(inout) :: mutex
        integer, intent(out), optional :: ierr
        call give(c_mutex_free(mutex), ierr)
        mutex = hk_mutex()
    end subroutine

    ! Waits for a lock, for timeout_ms at most (HK_FOREVER). owner_died: an owner before has died with it.
    subroutine hk_lock(mutex, timeout_ms, owner_died, ierr)
        type(hk_mutex), intent(in) :: mutex
        integer, intent(in), optional :: timeout_ms
        logical, intent(out), optional :: owner_died
        integer, intent(out), optional :: ierr
        integer(c_int) :: patience, died, code
        patience = HK_FOREVER
        died = 0
        if (present(timeout_ms)) patience = timeout_ms
        code = c_lock(mutex, patience, died)
        if (present(owner_died)) owner_died = died /= 0
        call give(code, ierr)
    end subroutine

    ! Takes a lock if it is free: taken says whether.
    subroutine hk_try_lock(mutex, taken, owner_died, ierr)
        type(hk_mutex), intent(in) :: mutex
        logical, intent(out) :: taken
        logical, intent(out), optional :: owner_died
        integer, intent(out), optional :: ierr
        integer(c_int) :: died, code
        died = 0
        code = c_try_lock(mutex, died)
        taken = code == HK_SUCCESS
        if (present(owner_died)) owner_died = died /= 0
        if (code == HK_BUSY) code = HK_SUCCESS
        call give(code, ierr)
    end subroutine

    ! Releases a lock, after everything that this thread has pushed has arrived.
    subroutine hk_unlock(mutex, ierr)
        type(hk_mutex), intent(in) :: mutex
        integer, intent(out), optional :: ierr
        call give(c_unlock(mutex), ierr)
    end subroutine

    ! Waits for all transfers of the calling thread; gives the first error. Their handles are gone then: set them to hk_transfer() before
    ! they are in a list for hk_transfer_wait_any.
    subroutine hk_transfer_wait_all(ierr)
        integer, intent(out), optional :: ierr
        call give(c_transfer_wait_all(), ierr)
    end subroutine

    subroutine push_start(data, count, bytes, to, transfer, ierr)
        type(c_ptr), intent(in) :: data
        integer(int64), intent(in) :: count
        integer, intent(in) :: bytes
        type(hk_place), intent(in) :: to
        type(hk_transfer), intent(out) :: transfer
        integer, intent(out), optional :: ierr
        call give(c_push_start(data, to%rank, c_area(to%handle), offset_of(to%index, bytes), count * bytes, &
                  transfer%handle), ierr)
    end subroutine

    subroutine pull_start(data, count, bytes, from, transfer, ierr)
        type(c_ptr), intent(in) :: data
        integer(int64), intent(in) :: count
        integer, intent(in) :: bytes
        type(hk_place), intent(in) :: from
        type(hk_transfer), intent(out) :: transfer
        integer, intent(out), optional :: ierr
        call give(c_pull_start(data, from%rank, c_area(from%handle), offset_of(from%index, bytes), count * bytes, &
                  transfer%handle), ierr)
    end subroutine

    subroutine push_start_i4(data, to, transfer, ierr)
        integer(int32), target, contiguous, asynchronous, intent(in) :: data(:)
        type(hk_place), intent(in) :: to
        type(hk_transfer), intent(out) :: transfer
        integer, intent(out), optional :: ierr
        call push_start(c_loc(data), size(data, kind=int64), 4, to, transfer, ierr)
    end subroutine

    subroutine pull_start_i4(data, from, transfer, ierr)
        integer(int32), target, contiguous, asynchronous, intent(inout) :: data(:)
        type(hk_place), intent(in) :: from
        type(hk_transfer), intent(out) :: transfer
        integer, intent(out), optional :: ierr
        call pull_start(c_loc(data), size(data, kind=int64), 4, from, transfer, ierr)
    end subroutine

    subroutine push_start_i8(data, to, transfer, ierr)
        integer(int64), target, contiguous, asynchronous, intent(in) :: data(:)
        type(hk_place), intent(in) :: to
        type(hk_transfer), intent(out) :: transfer
        integer, intent(out), optional :: ierr
        call push_start(c_loc(data), size(data, kind=int64), 8, to, transfer, ierr)
    end subroutine

    subroutine pull_start_i8(data, from, transfer, ierr)
        integer(int64), target, contiguous, asynchronous, intent(inout) :: data(:)
        type(hk_place), intent(in) :: from
        type(hk_transfer), intent(out) :: transfer
        integer, intent(out), optional :: ierr
        call pull_start(c_loc(data), size(data, kind=int64), 8, from, transfer, ierr)
    end subroutine

    subroutine push_start_r4(data, to, transfer, ierr)
        real(real32), target, contiguous, asynchronous, intent(in) :: data(:)
        type(hk_place), intent(in) :: to
        type(hk_transfer), intent(out) :: transfer
        integer, intent(out), optional :: ierr
        call push_start(c_loc(data), size(data, kind=int64), 4, to, transfer, ierr)
    end subroutine

    subroutine pull_start_r4(data, from, transfer, ierr)
        real(real32), target, contiguous, asynchronous, intent(inout) :: data(:)
        type(hk_place), intent(in) :: from
        type(hk_transfer), intent(out) :: transfer
        integer, intent(out), optional :: ierr
        call pull_start(c_loc(data), size(data, kind=int64), 4, from, transfer, ierr)
    end subroutine

    subroutine push_start_r8(data, to, transfer, ierr)
        real(real64), target, contiguous, asynchronous, intent(in) :: data(:)
        type(hk_place), intent(in) :: to
        type(hk_transfer), intent(out) :: transfer
        integer, intent(out), optional :: ierr
        call push_start(c_loc(data), size(data, kind=int64), 8, to, transfer, ierr)
    end subroutine

    subroutine pull_start_r8(data, from, transfer, ierr)
        real(real64), target, contiguous, asynchronous, intent(inout) :: data(:)
        type(hk_place), intent(in) :: from
        type(hk_transfer), intent(out) :: transfer
        integer, intent(out), optional :: ierr
        call pull_start(c_loc(data), size(data, kind=int64), 8, from, transfer, ierr)
    end subroutine

    ! ---- atomic operations

    subroutine fetch_add_i4(place, value, before, ierr)
        type(hk_place), intent(in) :: place
        integer(int32), intent(in) :: value
        integer(int32), intent(out), optional :: before
        integer, intent(out), optional :: ierr
        integer(int32) :: old
        integer(c_int) :: code
        old = 0
        code = c_fetch_add_i4(place%rank, c_area(place%handle), offset_of(place%index, 4), value, old)
        if (present(before)) before = old
        call give(code, ierr)
    end subroutine

    subroutine fetch_add_i8(place, value, before, ierr)
        type(hk_place), intent(in) :: place
        integer(int64), intent(in) :: value
        integer(int64), intent(out), optional :: before
        integer, intent(out), optional :: ierr
        integer(int64) :: old
        integer(c_int) :: code
        old = 0
        code = c_fetch_add_i8(place%rank, c_area(place%handle), offset_of(place%index, 8), value, old)
        if (present(before)) before = old
        call give(code, ierr)
    end subroutine

    subroutine fetch_add_r8(place, value, before, ierr)
        type(hk_place), intent(in) :: place
        real(real64), intent(in) :: value
        real(real64), intent(out), optional :: before
        integer, intent(out), optional :: ierr
        real(real64) :: old
        integer(c_int) :: code
        old = 0
        code = c_fetch_add_r8(place%rank, c_area(place%handle), offset_of(place%index, 8), value, old)
        if (present(before)) before = old
        call give(code, ierr)
    end subroutine

    ! `expected` is for HK_COMPARE_SWAP.
    subroutine atomic_i4(place, op, operand, before, expected, ierr)
        type(hk_place), intent(in) :: place
        integer, intent(in) :: op
        integer(int32), intent(in) :: operand
        integer(int32), intent(out), optional :: before
        integer(int32), intent(in), optional :: expected
        integer, intent(out), optional :: ierr
        integer(int32) :: old, wanted
        integer(c_int) :: code
        old = 0
        wanted = 0
        if (present(expected)) wanted = expected
        code = c_atomic_i4(place%rank, c_area(place%handle), offset_of(place%index, 4), op, operand, wanted, old)
        if (present(before)) before = old
        call give(code, ierr)
    end subroutine

    ! `expected` is for HK_COMPARE_SWAP.
    subroutine atomic_i8(place, op, operand, before, expected, ierr)
        type(hk_place), intent(in) :: place
        integer, intent(in) :: op
        integer(int64), intent(in) :: operand
        integer(int64), intent(out), optional :: before
        integer(int64), intent(in), optional :: expected
        integer, intent(out), optional :: ierr
        integer(int64) :: old, wanted
        integer(c_int) :: code
        old = 0
        wanted = 0
        if (present(expected)) wanted = expected
        code = c_atomic_i8(place%rank, c_area(place%handle), offset_of(place%index, 8), op, operand, wanted, old)
        if (present(before)) before = old
        call give(code, ierr)
    end subroutine

    ! ---- collective calls

    subroutine broadcast_i4(data, root, ierr)
        integer(int32), target, contiguous, intent(inout) :: data(:)
        integer, intent(in) :: root
        integer, intent(out), optional :: ierr
        call give(c_broadcast(c_loc(data), size(data, kind=c_size_t) * 4, root), ierr)
    end subroutine

    subroutine reduce_i4(data, op, root, ierr)
        integer(int32), target, contiguous, intent(inout) :: data(:)
        integer, intent(in) :: op, root
        integer, intent(out), optional :: ierr
        call give(c_reduce(c_loc(data), size(data, kind=c_size_t), HK_I32, op, root), ierr)
    end subroutine

    subroutine allreduce_i4(data, op, ierr)
        integer(int32), target, contiguous, intent(inout) :: data(:)
        integer, intent(in) :: op
        integer, intent(out), optional :: ierr
        call give(c_allreduce(c_loc(data), size(data, kind=c_size_t), HK_I32, op), ierr)
    end subroutine

    subroutine scan_i4(data, op, ierr)
        integer(int32), target, contiguous, intent(inout) :: data(:)
        integer, intent(in) :: op
        integer, intent(out), optional :: ierr
        call give(c_scan(c_loc(data), size(data, kind=c_size_t), HK_I32, op), ierr)
    end subroutine

    subroutine exscan_i4(data, op, ierr)
        integer(int32), target, contiguous, intent(inout) :: data(:)
        integer, intent(in) :: op
        integer, intent(out), optional :: ierr
        call give(c_exscan(c_loc(data), size(data, kind=c_size_t), HK_I32, op), ierr)
    end subroutine

    subroutine broadcast_i4_one(data, root, ierr)
        integer(int32), target, intent(inout) :: data
        integer, intent(in) :: root
        integer, intent(out), optional :: ierr
        call give(c_broadcast(c_loc(data), int(4, c_size_t), root), ierr)
    end subroutine

    subroutine reduce_i4_one(data, op, root, ierr)
        integer(int32), target, intent(inout) :: data
        integer, intent(in) :: op, root
        integer, intent(out), optional :: ierr
        call give(c_reduce(c_loc(data), 1_c_size_t, HK_I32, op, root), ierr)
    end subroutine

    subroutine allreduce_i4_one(data, op, ierr)
        integer(int32), target, intent(inout) :: data
        integer, intent(in) :: op
        integer, intent(out), optional :: ierr
        call give(c_allreduce(c_loc(data), 1_c_size_t, HK_I32, op), ierr)
    end subroutine

    subroutine scan_i4_one(data, op, ierr)
        integer(int32), target, intent(inout) :: data
        integer, intent(in) :: op
        integer, intent(out), optional :: ierr
        call give(c_scan(c_loc(data), 1_c_size_t, HK_I32, op), ierr)
    end subroutine

    subroutine exscan_i4_one(data, op, ierr)
        integer(int32), target, intent(inout) :: data
        integer, intent(in) :: op
        integer, intent(out), optional :: ierr
        call give(c_exscan(c_loc(data), 1_c_size_t, HK_I32, op), ierr)
    end subroutine

    subroutine broadcast_i8(data, root, ierr)
        integer(int64), target, contiguous, intent(inout) :: data(:)
        integer, intent(in) :: root
        integer, intent(out), optional :: ierr
        call give(c_broadcast(c_loc(data), size(data, kind=c_size_t) * 8, root), ierr)
    end subroutine

    subroutine reduce_i8(data, op, root, ierr)
        integer(int64), target, contiguous, intent(inout) :: data(:)
        integer, intent(in) :: op, root
        integer, intent(out), optional :: ierr
        call give(c_reduce(c_loc(data), size(data, kind=c_size_t), HK_I64, op, root), ierr)
    end subroutine

    subroutine allreduce_i8(data, op, ierr)
        integer(int64), target, contiguous, intent(inout) :: data(:)
        integer, intent(in) :: op
        integer, intent(out), optional :: ierr
        call give(c_allreduce(c_loc(data), size(data, kind=c_size_t), HK_I64, op), ierr)
    end subroutine

    subroutine scan_i8(data, op, ierr)
        integer(int64), target, contiguous, intent(inout) :: data(:)
        integer, intent(in) :: op
        integer, intent(out), optional :: ierr
        call give(c_scan(c_loc(data), size(data, kind=c_size_t), HK_I64, op), ierr)
    end subroutine

    subroutine exscan_i8(data, op, ierr)
        integer(int64), target, contiguous, intent(inout) :: data(:)
        integer, intent(in) :: op
        integer, intent(out), optional :: ierr
        call give(c_exscan(c_loc(data), size(data, kind=c_size_t), HK_I64, op), ierr)
    end subroutine

    subroutine broadcast_i8_one(data, root, ierr)
        integer(int64), target, intent(inout) :: data
        integer, intent(in) :: root
        integer, intent(out), optional :: ierr
        call give(c_broadcast(c_loc(data), int(8, c_size_t), root), ierr)
    end subroutine

    subroutine reduce_i8_one(data, op, root, ierr)
        integer(int64), target, intent(inout) :: data
        integer, intent(in) :: op, root
        integer, intent(out), optional :: ierr
        call give(c_reduce(c_loc(data), 1_c_size_t, HK_I64, op, root), ierr)
    end subroutine

    subroutine allreduce_i8_one(data, op, ierr)
        integer(int64), target, intent(inout) :: data
        integer, intent(in) :: op
        integer, intent(out), optional :: ierr
        call give(c_allreduce(c_loc(data), 1_c_size_t, HK_I64, op), ierr)
    end subroutine

    subroutine scan_i8_one(data, op, ierr)
        integer(int64), target, intent(inout) :: data
        integer, intent(in) :: op
        integer, intent(out), optional :: ierr
        call give(c_scan(c_loc(data), 1_c_size_t, HK_I64, op), ierr)
    end subroutine

    subroutine exscan_i8_one(data, op, ierr)
        integer(int64), target, intent(inout) :: data
        integer, intent(in) :: op
        integer, intent(out), optional :: ierr
        call give(c_exscan(c_loc(data), 1_c_size_t, HK_I64, op), ierr)
    end subroutine

    subroutine broadcast_r4(data, root, ierr)
        real(real32), target, contiguous, intent(inout) :: data(:)
        integer, intent(in) :: root
        integer, intent(out), optional :: ierr
        call give(c_broadcast(c_loc(data), size(data, kind=c_size_t) * 4, root), ierr)
    end subroutine

    subroutine reduce_r4(data, op, root, ierr)
        real(real32), target, contiguous, intent(inout) :: data(:)
        integer, intent(in) :: op, root
        integer, intent(out), optional :: ierr
        call give(c_reduce(c_loc(data), size(data, kind=c_size_t), HK_F32, op, root), ierr)
    end subroutine

    subroutine allreduce_r4(data, op, ierr)
        real(real32), target, contiguous, intent(inout) :: data(:)
        integer, intent(in) :: op
        integer, intent(out), optional :: ierr
        call give(c_allreduce(c_loc(data), size(data, kind=c_size_t), HK_F32, op), ierr)
    end subroutine

    subroutine scan_r4(data, op, ierr)
        real(real32), target, contiguous, intent(inout) :: data(:)
        integer, intent(in) :: op
        integer, intent(out), optional :: ierr
        call give(c_scan(c_loc(data), size(data, kind=c_size_t), HK_F32, op), ierr)
    end subroutine

    subroutine exscan_r4(data, op, ierr)
        real(real32), target, contiguous, intent(inout) :: data(:)
        integer, intent(in) :: op
        integer, intent(out), optional :: ierr
        call give(c_exscan(c_loc(data), size(data, kind=c_size_t), HK_F32, op), ierr)
    end subroutine

    subroutine broadcast_r4_one(data, root, ierr)
        real(real32), target, intent(inout) :: data
        integer, intent(in) :: root
        integer, intent(out), optional :: ierr
        call give(c_broadcast(c_loc(data), int(4, c_size_t), root), ierr)
    end subroutine

    subroutine reduce_r4_one(data, op, root, ierr)
        real(real32), target, intent(inout) :: data
        integer, intent(in) :: op, root
        integer, intent(out), optional :: ierr
        call give(c_reduce(c_loc(data), 1_c_size_t, HK_F32, op, root), ierr)
    end subroutine

    subroutine allreduce_r4_one(data, op, ierr)
        real(real32), target, intent(inout) :: data
        integer, intent(in) :: op
        integer, intent(out), optional :: ierr
        call give(c_allreduce(c_loc(data), 1_c_size_t, HK_F32, op), ierr)
    end subroutine

    subroutine scan_r4_one(data, op, ierr)
        real(real32), target, intent(inout) :: data
        integer, intent(in) :: op
        integer, intent(out), optional :: ierr
        call give(c_scan(c_loc(data), 1_c_size_t, HK_F32, op), ierr)
    end subroutine

    subroutine exscan_r4_one(data, op, ierr)
        real(real32), target, intent(inout) :: data
        integer, intent(in) :: op
        integer, intent(out), optional :: ierr
        call give(c_exscan(c_loc(data), 1_c_size_t, HK_F32, op), ierr)
    end subroutine

    subroutine broadcast_r8(data, root, ierr)
        real(real64), target, contiguous, intent(inout) :: data(:)
        integer, intent(in) :: root
        integer, intent(out), optional :: ierr
        call give(c_broadcast(c_loc(data), size(data, kind=c_size_t) * 8, root), ierr)
    end subroutine

    subroutine reduce_r8(data, op, root, ierr)
        real(real64), target, contiguous, intent(inout) :: data(:)
        integer, intent(in) :: op, root
        integer, intent(out), optional :: ierr
        call give(c_reduce(c_loc(data), size(data, kind=c_size_t), HK_F64, op, root), ierr)
    end subroutine

    subroutine allreduce_r8(data, op, ierr)
        real(real64), target, contiguous, intent(inout) :: data(:)
        integer, intent(in) :: op
        integer, intent(out), optional :: ierr
        call give(c_allreduce(c_loc(data), size(data, kind=c_size_t), HK_F64, op), ierr)
    end subroutine

    subroutine scan_r8(data, op, ierr)
        real(real64), target, contiguous, intent(inout) :: data(:)
        integer, intent(in) :: op
        integer, intent(out), optional :: ierr
        call give(c_scan(c_loc(data), size(data, kind=c_size_t), HK_F64, op), ierr)
    end subroutine

    subroutine exscan_r8(data, op, ierr)
        real(real64), target, contiguous, intent(inout) :: data(:)
        integer, intent(in) :: op
        integer, intent(out), optional :: ierr
        call give(c_exscan(c_loc(data), size(data, kind=c_size_t), HK_F64, op), ierr)
    end subroutine

    subroutine broadcast_r8_one(data, root, ierr)
        real(real64), target, intent(inout) :: data
        integer, intent(in) :: root
        integer, intent(out), optional :: ierr
        call give(c_broadcast(c_loc(data), int(8, c_size_t), root), ierr)
    end subroutine

    subroutine reduce_r8_one(data, op, root, ierr)
        real(real64), target, intent(inout) :: data
        integer, intent(in) :: op, root
        integer, intent(out), optional :: ierr
        call give(c_reduce(c_loc(data), 1_c_size_t, HK_F64, op, root), ierr)
    end subroutine

    subroutine allreduce_r8_one(data, op, ierr)
        real(real64), target, intent(inout) :: data
        integer, intent(in) :: op
        integer, intent(out), optional :: ierr
        call give(c_allreduce(c_loc(data), 1_c_size_t, HK_F64, op), ierr)
    end subroutine

    subroutine scan_r8_one(data, op, ierr)
        real(real64), target, intent(inout) :: data
        integer, intent(in) :: op
        integer, intent(out), optional :: ierr
        call give(c_scan(c_loc(data), 1_c_size_t, HK_F64, op), ierr)
    end subroutine

    subroutine exscan_r8_one(data, op, ierr)
        real(real64), target, intent(inout) :: data
        integer, intent(in) :: op
        integer, intent(out), optional :: ierr
        call give(c_exscan(c_loc(data), 1_c_size_t, HK_F64, op), ierr)
    end subroutine

    ! ---- active messages

    pure function words_short(a, b, c, d, e, f) result(words)
        integer(int32), intent(in), optional :: a, b, c, d, e, f
        integer(int64) :: words(HK_ARGUMENT_COUNT)
        words = 0
        if (present(a)) words(1) = a
        if (present(b)) words(2) = b
        if (present(c)) words(3) = c
        if (present(d)) words(4) = d
        if (present(e)) words(5) = e
        if (present(f)) words(6) = f
    end function

    pure function words_long(a, b, c, d, e, f) result(words)
        integer(int64), intent(in) :: a
        integer(int64), intent(in), optional :: b, c, d, e, f
        integer(int64) :: words(HK_ARGUMENT_COUNT)
        words = 0
        words(1) = a
        if (present(b)) words(2) = b
        if (present(c)) words(3) = c
        if (present(d)) words(4) = d
        if (present(e)) words(5) = e
        if (present(f)) words(6) = f
    end function

    ! The id of a handler as C takes it, 2 bytes without a sign; for one that cannot be, the largest, which no rank has.
    pure function short(id) result(taken)
        integer, intent(in) :: id
        integer(c_int16_t) :: taken
        taken = -1
        if (id >= 0 .and. id <= huge(taken)) taken = int(id, c_int16_t)
    end function

    ! How many elements so many bytes are. Bytes that are no whole elements are an error.
    subroutine whole(bytes, element, count, ierr)
        integer(c_size_t), intent(in) :: bytes
        integer, intent(in) :: element
        integer, intent(out) :: count
        integer, intent(out), optional :: ierr
        count = int(bytes / element)
        if (present(ierr)) ierr = HK_SUCCESS
        if (mod(bytes, int(element, c_size_t)) == 0) return
        if (present(ierr)) then
            ierr = HK_ERR_INVALID
        else
            write (error_unit, '(3(a, i0), a)') 'hikyaku: rank ', hk_rank(), ': ', bytes, &
                ' bytes have come, which are no whole elements of ', element, ' bytes'
            error stop 1
        end if
    end subroutine

    ! Registers a handler on this rank. Do so on all ranks, then call hk_barrier, before anyone sends. `user` is handed to it.
    subroutine hk_handler_register(id, handler, user, ierr)
        integer, intent(in) :: id
        procedure(hk_handler) :: handler
        type(c_ptr), intent(in), optional :: user
        integer, intent(out), optional :: ierr
        type(c_ptr) :: given
        given = c_null_ptr
        if (present(user)) given = user
        call give(c_handler_register(short(id), c_funloc(handler), given), ierr)
    end subroutine

    ! Removes a handler. Messages for it are refused from now on.
    subroutine hk_handler_remove(id, ierr)
        integer, intent(in) :: id
        integer, intent(out), optional :: ierr
        call give(c_handler_remove(short(id)), ierr)
    end subroutine

    ! How many times a handler has run on this rank.
    subroutine hk_handled(id, count, ierr)
        integer, intent(in) :: id
        integer(int64), intent(out) :: count
        integer, intent(out), optional :: ierr
        count = 0
        call give(c_handled(short(id), count), ierr)
    end subroutine

    ! Waits until a handler of this rank has run `count` times since the start of the job.
    subroutine wait_handled_long(id, count, by, timeout_ms, ierr)
        integer, intent(in) :: id
        integer(int64), intent(in) :: count
        integer, intent(in), optional :: by, timeout_ms
        integer, intent(out), optional :: ierr
        integer(c_int) :: who, ms
        who = HK_ANYONE
        ms = HK_FOREVER
        if (present(by)) who = by
        if (present(timeout_ms)) ms = timeout_ms
        call give(c_wait_handled(short(id), count, who, ms), ierr)
    end subroutine

    subroutine wait_handled_short(id, count, by, timeout_ms, ierr)
        integer, intent(in) :: id
        integer(int32), intent(in) :: count
        integer, intent(in), optional :: by, timeout_ms
        integer, intent(out), optional :: ierr
        call wait_handled_long(id, int(count, int64), by, timeout_ms, ierr)
    end subroutine

    ! In a handler: it will run again later with the same message.
    subroutine hk_context_retry(context, ierr)
        type(c_ptr), intent(in) :: context
        integer, intent(out), optional :: ierr
        call give(c_context_retry(context), ierr)
    end subroutine

    ! In a handler: replies to hk_call.
    subroutine hk_context_reply(context, words, ierr)
        type(c_ptr), intent(in) :: context
        integer(int64), intent(in) :: words(HK_ARGUMENT_COUNT)
        integer, intent(out), optional :: ierr
        call give(c_context_reply(context, words), ierr)
    end subroutine

    ! The bytes of a payload.
    function bytes_at(message) result(bytes)
        type(hk_message), intent(in) :: message
        character(kind=c_char), pointer :: bytes(:)
        call c_f_pointer(message%payload, bytes, [message%payload_bytes])
    end function

    subroutine send_plain(rank, handler, words, address, ierr)
        integer, intent(in) :: rank, handler
        integer(int64), intent(in) :: words(HK_ARGUMENT_COUNT)
        integer(int64), intent(in), optional :: address
        integer, intent(out), optional :: ierr
        call send_bytes(rank, handler, words, c_null_ptr, 0_c_size_t, address, ierr)
    end subroutine

    subroutine send_bytes(rank, handler, words, payload, bytes, address, ierr)
        integer, intent(in) :: rank, handler
        integer(int64), intent(in) :: words(HK_ARGUMENT_COUNT)
        type(c_ptr), intent(in) :: payload
        integer(c_size_t), intent(in) :: bytes
        integer(int64), intent(in), optional :: address
        integer, intent(out), optional :: ierr
        integer(int64) :: at
        at = 0
        if (present(address)) at = address
        call give(c_send(rank, short(handler), at, words, payload, bytes), ierr)
    end subroutine

    subroutine try_send_plain(rank, handler, words, address, ierr)
        integer, intent(in) :: rank, handler
        integer(int64), intent(in) :: words(HK_ARGUMENT_COUNT)
        integer(int64), intent(in), optional :: address
        integer, intent(out) :: ierr
        call try_send_bytes(rank, handler, words, c_null_ptr, 0_c_size_t, address, ierr)
    end subroutine

    subroutine try_send_bytes(rank, handler, words, payload, bytes, address, ierr)
        integer, intent(in) :: rank, handler
        integer(int64), intent(in) :: words(HK_ARGUMENT_COUNT)
        type(c_ptr), intent(in) :: payload
        integer(c_size_t), intent(in) :: bytes
        integer(int64), intent(in), optional :: address
        integer, intent(out), optional :: ierr
        integer(int64) :: at
        at = 0
        if (present(address)) at = address
        call give(c_try_send(rank, short(handler), at, words, payload, bytes), ierr)
    end subroutine

    subroutine context_send_plain(context, rank, handler, words, address, ierr)
        type(c_ptr), intent(in) :: context
        integer, intent(in) :: rank, handler
        integer(int64), intent(in) :: words(HK_ARGUMENT_COUNT)
        integer(int64), intent(in), optional :: address
        integer, intent(out) :: ierr
        call context_send_bytes(context, rank, handler, words, c_null_ptr, 0_c_size_t, address, ierr)
    end subroutine

    subroutine context_send_bytes(context, rank, handler, words, payload, bytes, address, ierr)
        type(c_ptr), intent(in) :: context
        integer, intent(in) :: rank, handler
        integer(int64), intent(in) :: words(HK_ARGUMENT_COUNT)
        type(c_ptr), intent(in) :: payload
        integer(c_size_t), intent(in) :: bytes
        integer(int64), intent(in), optional :: address
        integer, intent(out) :: ierr
        integer(int64) :: at
        at = 0
        if (present(address)) at = address
        ierr = c_context_send(context, rank, short(handler), at, words, payload, bytes)
    end subroutine

    subroutine call_plain(rank, handler, words, reply, ierr)
        integer, intent(in) :: rank, handler
        integer(int64), intent(in) :: words(HK_ARGUMENT_COUNT)
        integer(int64), intent(out) :: reply(HK_ARGUMENT_COUNT)
        integer, intent(out), optional :: ierr
        reply = 0
        call give(c_call(rank, short(handler), words, c_null_ptr, 0_c_size_t, reply), ierr)
    end subroutine

    subroutine call_with_bytes(rank, handler, words, payload, bytes, reply_words, reply, reply_max, element, count, ierr)
        integer, intent(in) :: rank, handler
        integer(int64), intent(in) :: words(HK_ARGUMENT_COUNT)
        type(c_ptr), intent(in) :: payload
        integer(c_size_t), intent(in) :: bytes
        integer(int64), intent(out) :: reply_words(HK_ARGUMENT_COUNT)
        type(c_ptr), intent(in) :: reply
        integer(c_size_t), intent(in) :: reply_max
        integer, intent(in) :: element
        integer, intent(out) :: count
        integer, intent(out), optional :: ierr
        integer(c_size_t) :: got
        integer(c_int) :: code
        reply_words = 0
        count = 0
        got = 0
        code = c_call_with(rank, short(handler), words, payload, bytes, reply_words, reply, reply_max, got)
        if (code == HK_SUCCESS) then
            call whole(got, element, count, ierr)
        else
            call give(code, ierr)
        end if
    end subroutine

    subroutine send_i4(rank, handler, words, payload, address, ierr)
        integer, intent(in) :: rank, handler
        integer(int64), intent(in) :: words(HK_ARGUMENT_COUNT)
        integer(int32), target, contiguous, intent(in) :: payload(:)
        integer(int64), intent(in), optional :: address
        integer, intent(out), optional :: ierr
        call send_bytes(rank, handler, words, c_loc(payload), size(payload, kind=c_size_t) * 4, address, ierr)
    end subroutine

    subroutine try_send_i4(rank, handler, words, payload, address, ierr)
        integer, intent(in) :: rank, handler
        integer(int64), intent(in) :: words(HK_ARGUMENT_COUNT)
        integer(int32), target, contiguous, intent(in) :: payload(:)
        integer(int64), intent(in), optional :: address
        integer, intent(out) :: ierr
        call try_send_bytes(rank, handler, words, c_loc(payload), size(payload, kind=c_size_t) * 4, address, ierr)
    end subroutine

    subroutine context_send_i4(context, rank, handler, words, payload, address, ierr)
        type(c_ptr), intent(in) :: context
        integer, intent(in) :: rank, handler
        integer(int64), intent(in) :: words(HK_ARGUMENT_COUNT)
        integer(int32), target, contiguous, intent(in) :: payload(:)
        integer(int64), intent(in), optional :: address
        integer, intent(out) :: ierr
        call context_send_bytes(context, rank, handler, words, c_loc(payload), size(payload, kind=c_size_t) * 4, address, ierr)
    end subroutine

    subroutine call_i4(rank, handler, words, payload, reply, ierr)
        integer, intent(in) :: rank, handler
        integer(int64), intent(in) :: words(HK_ARGUMENT_COUNT)
        integer(int32), target, contiguous, intent(in) :: payload(:)
        integer(int64), intent(out) :: reply(HK_ARGUMENT_COUNT)
        integer, intent(out), optional :: ierr
        reply = 0
        call give(c_call(rank, short(handler), words, c_loc(payload), size(payload, kind=c_size_t) * 4, reply), ierr)
    end subroutine

    subroutine call_with_i4(rank, handler, words, reply_words, reply, count, ierr)
        integer, intent(in) :: rank, handler
        integer(int64), intent(in) :: words(HK_ARGUMENT_COUNT)
        integer(int64), intent(out) :: reply_words(HK_ARGUMENT_COUNT)
        integer(int32), target, contiguous, intent(inout) :: reply(:)
        integer, intent(out) :: count
        integer, intent(out), optional :: ierr
        call call_with_bytes(rank, handler, words, c_null_ptr, 0_c_size_t, reply_words, c_loc(reply), &
                             size(reply, kind=c_size_t) * 4, 4, count, ierr)
    end subroutine

    subroutine call_with_i4_asked(rank, handler, words, payload, reply_words, reply, count, ierr)
        integer, intent(in) :: rank, handler
        integer(int64), intent(in) :: words(HK_ARGUMENT_COUNT)
        integer(int32), target, contiguous, intent(in) :: payload(:)
        integer(int64), intent(out) :: reply_words(HK_ARGUMENT_COUNT)
        integer(int32), target, contiguous, intent(inout) :: reply(:)
        integer, intent(out) :: count
        integer, intent(out), optional :: ierr
        call call_with_bytes(rank, handler, words, c_loc(payload), size(payload, kind=c_size_t) * 4, reply_words, &
                             c_loc(reply), size(reply, kind=c_size_t) * 4, 4, count, ierr)
    end subroutine

    subroutine context_reply_with_i4(context, words, payload, ierr)
        type(c_ptr), intent(in) :: context
        integer(int64), intent(in) :: words(HK_ARGUMENT_COUNT)
        integer(int32), target, contiguous, intent(in) :: payload(:)
        integer, intent(out), optional :: ierr
        call give(c_context_reply_with(context, words, c_loc(payload), size(payload, kind=c_size_t) * 4), ierr)
    end subroutine

    subroutine payload_i4(message, data, ierr)
        type(hk_message), intent(in) :: message
        integer(int32), allocatable, intent(out) :: data(:)
        integer, intent(out), optional :: ierr
        integer :: count
        call whole(message%payload_bytes, 4, count, ierr)
        allocate (data(count))
        if (count > 0) data = transfer(bytes_at(message), data, count)
    end subroutine

    subroutine send_i8(rank, handler, words, payload, address, ierr)
        integer, intent(in) :: rank, handler
        integer(int64), intent(in) :: words(HK_ARGUMENT_COUNT)
        integer(int64), target, contiguous, intent(in) :: payload(:)
        integer(int64), intent(in), optional :: address
        integer, intent(out), optional :: ierr
        call send_bytes(rank, handler, words, c_loc(payload), size(payload, kind=c_size_t) * 8, address, ierr)
    end subroutine

    subroutine try_send_i8(rank, handler, words, payload, address, ierr)
        integer, intent(in) :: rank, handler
        integer(int64), intent(in) :: words(HK_ARGUMENT_COUNT)
        integer(int64), target, contiguous, intent(in) :: payload(:)
        integer(int64), intent(in), optional :: address
        integer, intent(out) :: ierr
        call try_send_bytes(rank, handler, words, c_loc(payload), size(payload, kind=c_size_t) * 8, address, ierr)
    end subroutine

    subroutine context_send_i8(context, rank, handler, words, payload, address, ierr)
        type(c_ptr), intent(in) :: context
        integer, intent(in) :: rank, handler
        integer(int64), intent(in) :: words(HK_ARGUMENT_COUNT)
        integer(int64), target, contiguous, intent(in) :: payload(:)
        integer(int64), intent(in), optional :: address
        integer, intent(out) :: ierr
        call context_send_bytes(context, rank, handler, words, c_loc(payload), size(payload, kind=c_size_t) * 8, address, ierr)
    end subroutine

    subroutine call_i8(rank, handler, words, payload, reply, ierr)
        integer, intent(in) :: rank, handler
        integer(int64), intent(in) :: words(HK_ARGUMENT_COUNT)
        integer(int64), target, contiguous, intent(in) :: payload(:)
        integer(int64), intent(out) :: reply(HK_ARGUMENT_COUNT)
        integer, intent(out), optional :: ierr
        reply = 0
        call give(c_call(rank, short(handler), words, c_loc(payload), size(payload, kind=c_size_t) * 8, reply), ierr)
    end subroutine

    subroutine call_with_i8(rank, handler, words, reply_words, reply, count, ierr)
        integer, intent(in) :: rank, handler
        integer(int64), intent(in) :: words(HK_ARGUMENT_COUNT)
        integer(int64), intent(out) :: reply_words(HK_ARGUMENT_COUNT)
        integer(int64), target, contiguous, intent(inout) :: reply(:)
        integer, intent(out) :: count
        integer, intent(out), optional :: ierr
        call call_with_bytes(rank, handler, words, c_null_ptr, 0_c_size_t, reply_words, c_loc(reply), &
                             size(reply, kind=c_size_t) * 8, 8, count, ierr)
    end subroutine

    subroutine call_with_i8_asked(rank, handler, words, payload, reply_words, reply, count, ierr)
        integer, intent(in) :: rank, handler
        integer(int64), intent(in) :: words(HK_ARGUMENT_COUNT)
        integer(int64), target, contiguous, intent(in) :: payload(:)
        integer(int64), intent(out) :: reply_words(HK_ARGUMENT_COUNT)
        integer(int64), target, contiguous, intent(inout) :: reply(:)
        integer, intent(out) :: count
        integer, intent(out), optional :: ierr
        call call_with_bytes(rank, handler, words, c_loc(payload), size(payload, kind=c_size_t) * 8, reply_words, &
                             c_loc(reply), size(reply, kind=c_size_t) * 8, 8, count, ierr)
    end subroutine

    subroutine context_reply_with_i8(context, words, payload, ierr)
        type(c_ptr), intent(in) :: context
        integer(int64), intent(in) :: words(HK_ARGUMENT_COUNT)
        integer(int64), target, contiguous, intent(in) :: payload(:)
        integer, intent(out), optional :: ierr
        call give(c_context_reply_with(context, words, c_loc(payload), size(payload, kind=c_size_t) * 8), ierr)
    end subroutine

    subroutine payload_i8(message, data, ierr)
        type(hk_message), intent(in) :: message
        integer(int64), allocatable, intent(out) :: data(:)
        integer, intent(out), optional :: ierr
        integer :: count
        call whole(message%payload_bytes, 8, count, ierr)
        allocate (data(count))
        if (count > 0) data = transfer(bytes_at(message), data, count)
    end subroutine

    subroutine send_r4(rank, handler, words, payload, address, ierr)
        integer, intent(in) :: rank, handler
        integer(int64), intent(in) :: words(HK_ARGUMENT_COUNT)
        real(real32), target, contiguous, intent(in) :: payload(:)
        integer(int64), intent(in), optional :: address
        integer, intent(out), optional :: ierr
        call send_bytes(rank, handler, words, c_loc(payload), size(payload, kind=c_size_t) * 4, address, ierr)
    end subroutine

    subroutine try_send_r4(rank, handler, words, payload, address, ierr)
        integer, intent(in) :: rank, handler
        integer(int64), intent(in) :: words(HK_ARGUMENT_COUNT)
        real(real32), target, contiguous, intent(in) :: payload(:)
        integer(int64), intent(in), optional :: address
        integer, intent(out) :: ierr
        call try_send_bytes(rank, handler, words, c_loc(payload), size(payload, kind=c_size_t) * 4, address, ierr)
    end subroutine

    subroutine context_send_r4(context, rank, handler, words, payload, address, ierr)
        type(c_ptr), intent(in) :: context
        integer, intent(in) :: rank, handler
        integer(int64), intent(in) :: words(HK_ARGUMENT_COUNT)
        real(real32), target, contiguous, intent(in) :: payload(:)
        integer(int64), intent(in), optional :: address
        integer, intent(out) :: ierr
        call context_send_bytes(context, rank, handler, words, c_loc(payload), size(payload, kind=c_size_t) * 4, address, ierr)
    end subroutine

    subroutine call_r4(rank, handler, words, payload, reply, ierr)
        integer, intent(in) :: rank, handler
        integer(int64), intent(in) :: words(HK_ARGUMENT_COUNT)
        real(real32), target, contiguous, intent(in) :: payload(:)
        integer(int64), intent(out) :: reply(HK_ARGUMENT_COUNT)
        integer, intent(out), optional :: ierr
        reply = 0
        call give(c_call(rank, short(handler), words, c_loc(payload), size(payload, kind=c_size_t) * 4, reply), ierr)
    end subroutine

    subroutine call_with_r4(rank, handler, words, reply_words, reply, count, ierr)
        integer, intent(in) :: rank, handler
        integer(int64), intent(in) :: words(HK_ARGUMENT_COUNT)
        integer(int64), intent(out) :: reply_words(HK_ARGUMENT_COUNT)
        real(real32), target, contiguous, intent(inout) :: reply(:)
        integer, intent(out) :: count
        integer, intent(out), optional :: ierr
        call call_with_bytes(rank, handler, words, c_null_ptr, 0_c_size_t, reply_words, c_loc(reply), &
                             size(reply, kind=c_size_t) * 4, 4, count, ierr)
    end subroutine

    subroutine call_with_r4_asked(rank, handler, words, payload, reply_words, reply, count, ierr)
        integer, intent(in) :: rank, handler
        integer(int64), intent(in) :: words(HK_ARGUMENT_COUNT)
        real(real32), target, contiguous, intent(in) :: payload(:)
        integer(int64), intent(out) :: reply_words(HK_ARGUMENT_COUNT)
        real(real32), target, contiguous, intent(inout) :: reply(:)
        integer, intent(out) :: count
        integer, intent(out), optional :: ierr
        call call_with_bytes(rank, handler, words, c_loc(payload), size(payload, kind=c_size_t) * 4, reply_words, &
                             c_loc(reply), size(reply, kind=c_size_t) * 4, 4, count, ierr)
    end subroutine

    subroutine context_reply_with_r4(context, words, payload, ierr)
        type(c_ptr), intent(in) :: context
        integer(int64), intent(in) :: words(HK_ARGUMENT_COUNT)
        real(real32), target, contiguous, intent(in) :: payload(:)
        integer, intent(out), optional :: ierr
        call give(c_context_reply_with(context, words, c_loc(payload), size(payload, kind=c_size_t) * 4), ierr)
    end subroutine

    subroutine payload_r4(message, data, ierr)
        type(hk_message), intent(in) :: message
        real(real32), allocatable, intent(out) :: data(:)
        integer, intent(out), optional :: ierr
        integer :: count
        call whole(message%payload_bytes, 4, count, ierr)
        allocate (data(count))
        if (count > 0) data = transfer(bytes_at(message), data, count)
    end subroutine

    subroutine send_r8(rank, handler, words, payload, address, ierr)
        integer, intent(in) :: rank, handler
        integer(int64), intent(in) :: words(HK_ARGUMENT_COUNT)
        real(real64), target, contiguous, intent(in) :: payload(:)
        integer(int64), intent(in), optional :: address
        integer, intent(out), optional :: ierr
        call send_bytes(rank, handler, words, c_loc(payload), size(payload, kind=c_size_t) * 8, address, ierr)
    end subroutine

    subroutine try_send_r8(rank, handler, words, payload, address, ierr)
        integer, intent(in) :: rank, handler
        integer(int64), intent(in) :: words(HK_ARGUMENT_COUNT)
        real(real64), target, contiguous, intent(in) :: payload(:)
        integer(int64), intent(in), optional :: address
        integer, intent(out) :: ierr
        call try_send_bytes(rank, handler, words, c_loc(payload), size(payload, kind=c_size_t) * 8, address, ierr)
    end subroutine

    subroutine context_send_r8(context, rank, handler, words, payload, address, ierr)
        type(c_ptr), intent(in) :: context
        integer, intent(in) :: rank, handler
        integer(int64), intent(in) :: words(HK_ARGUMENT_COUNT)
        real(real64), target, contiguous, intent(in) :: payload(:)
        integer(int64), intent(in), optional :: address
        integer, intent(out) :: ierr
        call context_send_bytes(context, rank, handler, words, c_loc(payload), size(payload, kind=c_size_t) * 8, address, ierr)
    end subroutine

    subroutine call_r8(rank, handler, words, payload, reply, ierr)
        integer, intent(in) :: rank, handler
        integer(int64), intent(in) :: words(HK_ARGUMENT_COUNT)
        real(real64), target, contiguous, intent(in) :: payload(:)
        integer(int64), intent(out) :: reply(HK_ARGUMENT_COUNT)
        integer, intent(out), optional :: ierr
        reply = 0
        call give(c_call(rank, short(handler), words, c_loc(payload), size(payload, kind=c_size_t) * 8, reply), ierr)
    end subroutine

    subroutine call_with_r8(rank, handler, words, reply_words, reply, count, ierr)
        integer, intent(in) :: rank, handler
        integer(int64), intent(in) :: words(HK_ARGUMENT_COUNT)
        integer(int64), intent(out) :: reply_words(HK_ARGUMENT_COUNT)
        real(real64), target, contiguous, intent(inout) :: reply(:)
        integer, intent(out) :: count
        integer, intent(out), optional :: ierr
        call call_with_bytes(rank, handler, words, c_null_ptr, 0_c_size_t, reply_words, c_loc(reply), &
                             size(reply, kind=c_size_t) * 8, 8, count, ierr)
    end subroutine

    subroutine call_with_r8_asked(rank, handler, words, payload, reply_words, reply, count, ierr)
        integer, intent(in) :: rank, handler
        integer(int64), intent(in) :: words(HK_ARGUMENT_COUNT)
        real(real64), target, contiguous, intent(in) :: payload(:)
        integer(int64), intent(out) :: reply_words(HK_ARGUMENT_COUNT)
        real(real64), target, contiguous, intent(inout) :: reply(:)
        integer, intent(out) :: count
        integer, intent(out), optional :: ierr
        call call_with_bytes(rank, handler, words, c_loc(payload), size(payload, kind=c_size_t) * 8, reply_words, &
                             c_loc(reply), size(reply, kind=c_size_t) * 8, 8, count, ierr)
    end subroutine

    subroutine context_reply_with_r8(context, words, payload, ierr)
        type(c_ptr), intent(in) :: context
        integer(int64), intent(in) :: words(HK_ARGUMENT_COUNT)
        real(real64), target, contiguous, intent(in) :: payload(:)
        integer, intent(out), optional :: ierr
        call give(c_context_reply_with(context, words, c_loc(payload), size(payload, kind=c_size_t) * 8), ierr)
    end subroutine

    subroutine payload_r8(message, data, ierr)
        type(hk_message), intent(in) :: message
        real(real64), allocatable, intent(out) :: data(:)
        integer, intent(out), optional :: ierr
        integer :: count
        call whole(message%payload_bytes, 8, count, ierr)
        allocate (data(count))
        if (count > 0) data = transfer(bytes_at(message), data, count)
    end subroutine

    ! ---- parts of a range

    ! The bitmap of a mask: bit n - 1, counted through the words, is set if element n of the mask is true.
    pure function hk_bitmap(mask) result(bitmap)
        logical, intent(in) :: mask(:)
        integer(int64), allocatable :: bitmap(:)
        integer(int64) :: n
        allocate (bitmap((size(mask, kind=int64) + 63) / 64))
        bitmap = 0
        do n = 1, size(mask, kind=int64)
            if (mask(n)) bitmap((n + 63) / 64) = ibset(bitmap((n + 63) / 64), mod(n - 1, 64_int64))
        end do
    end function

    ! Whether blocks fit an array of `count` elements; a number that cannot be is left to the library.
    pure function fits(stride, count) result(is_inside)
        type(hk_stride), intent(in) :: stride
        integer(int64), intent(in) :: count
        logical :: is_inside
        is_inside = stride%block <= count .or. stride%count < 1
        ! Several that overlap are refused there, too.
        if (stride%count < 2 .or. stride%here < max(stride%block, 1_int64) .or. .not. is_inside) return
        is_inside = stride%count - 1 <= (count - stride%block) / stride%here
    end function

    pure function in_bytes(stride, bytes) result(blocks)
        type(hk_stride), intent(in) :: stride
        integer, intent(in) :: bytes
        type(c_stride) :: blocks
        blocks = c_stride(bytes_of(stride%block, bytes), int(stride%count, c_size_t), bytes_of(stride%here, bytes), &
                          bytes_of(stride%there, bytes))
    end function

    ! Gives HK_ERR_INVALID for arrays that are too small, and says so if nobody asks.
    subroutine refuse(text, ierr)
        character(len=*), intent(in) :: text
        integer, intent(out), optional :: ierr
        if (present(ierr)) then
            ierr = HK_ERR_INVALID
        else
            write (error_unit, '(a, i0, 2a)') 'hikyaku: rank ', hk_rank(), ': ', text
            error stop 1
        end if
    end subroutine

    ! The words of a bitmap for so many elements are there; else an error is given.
    function has_bits(bitmap, count, ierr) result(enough)
        integer(int64), intent(in) :: bitmap(:), count
        integer, intent(out), optional :: ierr
        logical :: enough
        enough = size(bitmap, kind=int64) >= (count + 63) / 64
        if (.not. enough) call refuse('the bitmap is shorter than the array', ierr)
    end function

    ! Likewise, a twin is as long as its array.
    function are_twins(count, other, ierr) result(equal)
        integer(int64), intent(in) :: count, other
        integer, intent(out), optional :: ierr
        logical :: equal
        equal = count == other
        if (.not. equal) call refuse('the twin is not as long as the array', ierr)
    end function

    ! Likewise, blocks lie inside their array.
    function has_blocks(stride, count, ierr) result(inside)
        type(hk_stride), intent(in) :: stride
        integer(int64), intent(in) :: count
        integer, intent(out), optional :: ierr
        logical :: inside
        inside = fits(stride, count)
        if (.not. inside) call refuse('the blocks reach beyond the array', ierr)
    end function

    subroutine push_stride_i4(data, to, stride, ierr)
        integer(int32), target, contiguous, intent(in) :: data(:)
        type(hk_place), intent(in) :: to
        type(hk_stride), intent(in) :: stride
        integer, intent(out), optional :: ierr
        if (.not. has_blocks(stride, size(data, kind=int64), ierr)) return
        call give(c_push_stride(c_loc(data), to%rank, c_area(to%handle), offset_of(to%index, 4), in_bytes(stride, 4)), ierr)
    end subroutine

    subroutine push_bitmap_i4(data, to, bitmap, ierr)
        integer(int32), target, contiguous, intent(in) :: data(:)
        type(hk_place), intent(in) :: to
        integer(int64), target, contiguous, intent(in) :: bitmap(:)
        integer, intent(out), optional :: ierr
        if (.not. has_bits(bitmap, size(data, kind=int64), ierr)) return
        call give(c_push_bitmap(c_loc(data), to%rank, c_area(to%handle), offset_of(to%index, 4), &
                               c_loc(bitmap), 4_c_size_t, size(data, kind=c_size_t)), ierr)
    end subroutine

    subroutine pull_stride_i4(data, from, stride, ierr)
        integer(int32), target, contiguous, intent(inout) :: data(:)
        type(hk_place), intent(in) :: from
        type(hk_stride), intent(in) :: stride
        integer, intent(out), optional :: ierr
        if (.not. has_blocks(stride, size(data, kind=int64), ierr)) return
        call give(c_pull_stride(c_loc(data), from%rank, c_area(from%handle), offset_of(from%index, 4), in_bytes(stride, 4)), ierr)
    end subroutine

    subroutine pull_bitmap_i4(data, from, bitmap, ierr)
        integer(int32), target, contiguous, intent(inout) :: data(:)
        type(hk_place), intent(in) :: from
        integer(int64), target, contiguous, intent(in) :: bitmap(:)
        integer, intent(out), optional :: ierr
        if (.not. has_bits(bitmap, size(data, kind=int64), ierr)) return
        call give(c_pull_bitmap(c_loc(data), from%rank, c_area(from%handle), offset_of(from%index, 4), &
                               c_loc(bitmap), 4_c_size_t, size(data, kind=c_size_t)), ierr)
    end subroutine

    subroutine pull_twin_i4(data, from, twin, ierr)
        integer(int32), target, contiguous, intent(inout) :: data(:)
        type(hk_place), intent(in) :: from
        integer(int32), target, contiguous, intent(inout) :: twin(:)
        integer, intent(out), optional :: ierr
        if (.not. are_twins(size(data, kind=int64), size(twin, kind=int64), ierr)) return
        call give(c_pull_twin(c_loc(data), from%rank, c_area(from%handle), offset_of(from%index, 4), &
                              size(data, kind=c_size_t) * 4, c_loc(twin)), ierr)
    end subroutine

    subroutine push_diff_i4(data, to, twin, pushed, ierr)
        integer(int32), target, contiguous, intent(in) :: data(:)
        type(hk_place), intent(in) :: to
        integer(int32), target, contiguous, intent(inout) :: twin(:)
        integer(int64), intent(out), optional :: pushed
        integer, intent(out), optional :: ierr
        integer(c_size_t) :: changed
        changed = 0
        if (present(pushed)) pushed = 0
        if (.not. are_twins(size(data, kind=int64), size(twin, kind=int64), ierr)) return
        call give(c_push_diff(c_loc(data), to%rank, c_area(to%handle), offset_of(to%index, 4), &
                              size(data, kind=c_size_t) * 4, c_loc(twin), 4_c_size_t, changed), ierr)
        if (present(pushed)) pushed = changed
    end subroutine

    subroutine push_stride_i8(data, to, stride, ierr)
        integer(int64), target, contiguous, intent(in) :: data(:)
        type(hk_place), intent(in) :: to
        type(hk_stride), intent(in) :: stride
        integer, intent(out), optional :: ierr
        if (.not. has_blocks(stride, size(data, kind=int64), ierr)) return
        call give(c_push_stride(c_loc(data), to%rank, c_area(to%handle), offset_of(to%index, 8), in_bytes(stride, 8)), ierr)
    end subroutine

    subroutine push_bitmap_i8(data, to, bitmap, ierr)
        integer(int64), target, contiguous, intent(in) :: data(:)
        type(hk_place), intent(in) :: to
        integer(int64), target, contiguous, intent(in) :: bitmap(:)
        integer, intent(out), optional :: ierr
        if (.not. has_bits(bitmap, size(data, kind=int64), ierr)) return
        call give(c_push_bitmap(c_loc(data), to%rank, c_area(to%handle), offset_of(to%index, 8), &
                               c_loc(bitmap), 8_c_size_t, size(data, kind=c_size_t)), ierr)
    end subroutine

    subroutine pull_stride_i8(data, from, stride, ierr)
        integer(int64), target, contiguous, intent(inout) :: data(:)
        type(hk_place), intent(in) :: from
        type(hk_stride), intent(in) :: stride
        integer, intent(out), optional :: ierr
        if (.not. has_blocks(stride, size(data, kind=int64), ierr)) return
        call give(c_pull_stride(c_loc(data), from%rank, c_area(from%handle), offset_of(from%index, 8), in_bytes(stride, 8)), ierr)
    end subroutine

    subroutine pull_bitmap_i8(data, from, bitmap, ierr)
        integer(int64), target, contiguous, intent(inout) :: data(:)
        type(hk_place), intent(in) :: from
        integer(int64), target, contiguous, intent(in) :: bitmap(:)
        integer, intent(out), optional :: ierr
        if (.not. has_bits(bitmap, size(data, kind=int64), ierr)) return
        call give(c_pull_bitmap(c_loc(data), from%rank, c_area(from%handle), offset_of(from%index, 8), &
                               c_loc(bitmap), 8_c_size_t, size(data, kind=c_size_t)), ierr)
    end subroutine

    subroutine pull_twin_i8(data, from, twin, ierr)
        integer(int64), target, contiguous, intent(inout) :: data(:)
        type(hk_place), intent(in) :: from
        integer(int64), target, contiguous, intent(inout) :: twin(:)
        integer, intent(out), optional :: ierr
        if (.not. are_twins(size(data, kind=int64), size(twin, kind=int64), ierr)) return
        call give(c_pull_twin(c_loc(data), from%rank, c_area(from%handle), offset_of(from%index, 8), &
                              size(data, kind=c_size_t) * 8, c_loc(twin)), ierr)
    end subroutine

    subroutine push_diff_i8(data, to, twin, pushed, ierr)
        integer(int64), target, contiguous, intent(in) :: data(:)
        type(hk_place), intent(in) :: to
        integer(int64), target, contiguous, intent(inout) :: twin(:)
        integer(int64), intent(out), optional :: pushed
        integer, intent(out), optional :: ierr
        integer(c_size_t) :: changed
        changed = 0
        if (present(pushed)) pushed = 0
        if (.not. are_twins(size(data, kind=int64), size(twin, kind=int64), ierr)) return
        call give(c_push_diff(c_loc(data), to%rank, c_area(to%handle), offset_of(to%index, 8), &
                              size(data, kind=c_size_t) * 8, c_loc(twin), 8_c_size_t, changed), ierr)
        if (present(pushed)) pushed = changed
    end subroutine

    subroutine push_stride_r4(data, to, stride, ierr)
        real(real32), target, contiguous, intent(in) :: data(:)
        type(hk_place), intent(in) :: to
        type(hk_stride), intent(in) :: stride
        integer, intent(out), optional :: ierr
        if (.not. has_blocks(stride, size(data, kind=int64), ierr)) return
        call give(c_push_stride(c_loc(data), to%rank, c_area(to%handle), offset_of(to%index, 4), in_bytes(stride, 4)), ierr)
    end subroutine

    subroutine push_bitmap_r4(data, to, bitmap, ierr)
        real(real32), target, contiguous, intent(in) :: data(:)
        type(hk_place), intent(in) :: to
        integer(int64), target, contiguous, intent(in) :: bitmap(:)
        integer, intent(out), optional :: ierr
        if (.not. has_bits(bitmap, size(data, kind=int64), ierr)) return
        call give(c_push_bitmap(c_loc(data), to%rank, c_area(to%handle), offset_of(to%index, 4), &
                               c_loc(bitmap), 4_c_size_t, size(data, kind=c_size_t)), ierr)
    end subroutine

    subroutine pull_stride_r4(data, from, stride, ierr)
        real(real32), target, contiguous, intent(inout) :: data(:)
        type(hk_place), intent(in) :: from
        type(hk_stride), intent(in) :: stride
        integer, intent(out), optional :: ierr
        if (.not. has_blocks(stride, size(data, kind=int64), ierr)) return
        call give(c_pull_stride(c_loc(data), from%rank, c_area(from%handle), offset_of(from%index, 4), in_bytes(stride, 4)), ierr)
    end subroutine

    subroutine pull_bitmap_r4(data, from, bitmap, ierr)
        real(real32), target, contiguous, intent(inout) :: data(:)
        type(hk_place), intent(in) :: from
        integer(int64), target, contiguous, intent(in) :: bitmap(:)
        integer, intent(out), optional :: ierr
        if (.not. has_bits(bitmap, size(data, kind=int64), ierr)) return
        call give(c_pull_bitmap(c_loc(data), from%rank, c_area(from%handle), offset_of(from%index, 4), &
                               c_loc(bitmap), 4_c_size_t, size(data, kind=c_size_t)), ierr)
    end subroutine

    subroutine pull_twin_r4(data, from, twin, ierr)
        real(real32), target, contiguous, intent(inout) :: data(:)
        type(hk_place), intent(in) :: from
        real(real32), target, contiguous, intent(inout) :: twin(:)
        integer, intent(out), optional :: ierr
        if (.not. are_twins(size(data, kind=int64), size(twin, kind=int64), ierr)) return
        call give(c_pull_twin(c_loc(data), from%rank, c_area(from%handle), offset_of(from%index, 4), &
                              size(data, kind=c_size_t) * 4, c_loc(twin)), ierr)
    end subroutine

    subroutine push_diff_r4(data, to, twin, pushed, ierr)
        real(real32), target, contiguous, intent(in) :: data(:)
        type(hk_place), intent(in) :: to
        real(real32), target, contiguous, intent(inout) :: twin(:)
        integer(int64), intent(out), optional :: pushed
        integer, intent(out), optional :: ierr
        integer(c_size_t) :: changed
        changed = 0
        if (present(pushed)) pushed = 0
        if (.not. are_twins(size(data, kind=int64), size(twin, kind=int64), ierr)) return
        call give(c_push_diff(c_loc(data), to%rank, c_area(to%handle), offset_of(to%index, 4), &
                              size(data, kind=c_size_t) * 4, c_loc(twin), 4_c_size_t, changed), ierr)
        if (present(pushed)) pushed = changed
    end subroutine

    subroutine push_stride_r8(data, to, stride, ierr)
        real(real64), target, contiguous, intent(in) :: data(:)
        type(hk_place), intent(in) :: to
        type(hk_stride), intent(in) :: stride
        integer, intent(out), optional :: ierr
        if (.not. has_blocks(stride, size(data, kind=int64), ierr)) return
        call give(c_push_stride(c_loc(data), to%rank, c_area(to%handle), offset_of(to%index, 8), in_bytes(stride, 8)), ierr)
    end subroutine

    subroutine push_bitmap_r8(data, to, bitmap, ierr)
        real(real64), target, contiguous, intent(in) :: data(:)
        type(hk_place), intent(in) :: to
        integer(int64), target, contiguous, intent(in) :: bitmap(:)
        integer, intent(out), optional :: ierr
        if (.not. has_bits(bitmap, size(data, kind=int64), ierr)) return
        call give(c_push_bitmap(c_loc(data), to%rank, c_area(to%handle), offset_of(to%index, 8), &
                               c_loc(bitmap), 8_c_size_t, size(data, kind=c_size_t)), ierr)
    end subroutine

    subroutine pull_stride_r8(data, from, stride, ierr)
        real(real64), target, contiguous, intent(inout) :: data(:)
        type(hk_place), intent(in) :: from
        type(hk_stride), intent(in) :: stride
        integer, intent(out), optional :: ierr
        if (.not. has_blocks(stride, size(data, kind=int64), ierr)) return
        call give(c_pull_stride(c_loc(data), from%rank, c_area(from%handle), offset_of(from%index, 8), in_bytes(stride, 8)), ierr)
    end subroutine

    subroutine pull_bitmap_r8(data, from, bitmap, ierr)
        real(real64), target, contiguous, intent(inout) :: data(:)
        type(hk_place), intent(in) :: from
        integer(int64), target, contiguous, intent(in) :: bitmap(:)
        integer, intent(out), optional :: ierr
        if (.not. has_bits(bitmap, size(data, kind=int64), ierr)) return
        call give(c_pull_bitmap(c_loc(data), from%rank, c_area(from%handle), offset_of(from%index, 8), &
                               c_loc(bitmap), 8_c_size_t, size(data, kind=c_size_t)), ierr)
    end subroutine

    subroutine pull_twin_r8(data, from, twin, ierr)
        real(real64), target, contiguous, intent(inout) :: data(:)
        type(hk_place), intent(in) :: from
        real(real64), target, contiguous, intent(inout) :: twin(:)
        integer, intent(out), optional :: ierr
        if (.not. are_twins(size(data, kind=int64), size(twin, kind=int64), ierr)) return
        call give(c_pull_twin(c_loc(data), from%rank, c_area(from%handle), offset_of(from%index, 8), &
                              size(data, kind=c_size_t) * 8, c_loc(twin)), ierr)
    end subroutine

    subroutine push_diff_r8(data, to, twin, pushed, ierr)
        real(real64), target, contiguous, intent(in) :: data(:)
        type(hk_place), intent(in) :: to
        real(real64), target, contiguous, intent(inout) :: twin(:)
        integer(int64), intent(out), optional :: pushed
        integer, intent(out), optional :: ierr
        integer(c_size_t) :: changed
        changed = 0
        if (present(pushed)) pushed = 0
        if (.not. are_twins(size(data, kind=int64), size(twin, kind=int64), ierr)) return
        call give(c_push_diff(c_loc(data), to%rank, c_area(to%handle), offset_of(to%index, 8), &
                              size(data, kind=c_size_t) * 8, c_loc(twin), 8_c_size_t, changed), ierr)
        if (present(pushed)) pushed = changed
    end subroutine

    ! ---- what the calls below have in common

    ! An array as C takes it. Its address stays right, since arrays are handed on without gaps.
    pure function array_of_i4(data) result(array)
        integer(int32), target, contiguous, intent(in) :: data(:)
        type(c_array) :: array
        array = c_array(c_loc(data), size(data, kind=int64), 4)
    end function

    pure function array_of_i8(data) result(array)
        integer(int64), target, contiguous, intent(in) :: data(:)
        type(c_array) :: array
        array = c_array(c_loc(data), size(data, kind=int64), 8)
    end function

    pure function array_of_r4(data) result(array)
        real(real32), target, contiguous, intent(in) :: data(:)
        type(c_array) :: array
        array = c_array(c_loc(data), size(data, kind=int64), 4)
    end function

    pure function array_of_r8(data) result(array)
        real(real64), target, contiguous, intent(in) :: data(:)
        type(c_array) :: array
        array = c_array(c_loc(data), size(data, kind=int64), 8)
    end function

    ! The number in a key, a value or a count, which is an integer of 4 or 8 bytes; else an error is given.
    function has_number(given, number, ierr) result(is_one)
        class(*), intent(in) :: given
        integer(int64), intent(out) :: number
        integer, intent(out), optional :: ierr
        logical :: is_one
        number = 0
        is_one = .true.
        select type (given)
        type is (integer(int32))
            number = given
        type is (integer(int64))
            number = given
        class default
            is_one = .false.
            call refuse('keys, values and counts are integers of 4 or 8 bytes', ierr)
        end select
    end function

    ! So many units have changed, if somebody asks.
    subroutine tell(count, asked)
        integer(c_size_t), intent(in) :: count
        integer(int64), intent(out), optional :: asked
        if (present(asked)) asked = count
    end subroutine

    ! ---- parts that are started, or that tell of themselves

    subroutine push_stride_start(data, to, stride, transfer, ierr)
        type(c_array), intent(in) :: data
        type(hk_place), intent(in) :: to
        type(hk_stride), intent(in) :: stride
        type(hk_transfer), intent(inout) :: transfer
        integer, intent(out), optional :: ierr
        if (.not. has_blocks(stride, data%count, ierr)) return
        call give(c_push_stride_start(data%start, to%rank, c_area(to%handle), offset_of(to%index, data%bytes), &
                  in_bytes(stride, data%bytes), transfer%handle), ierr)
    end subroutine

    subroutine pull_stride_start(data, from, stride, transfer, ierr)
        type(c_array), intent(in) :: data
        type(hk_place), intent(in) :: from
        type(hk_stride), intent(in) :: stride
        type(hk_transfer), intent(inout) :: transfer
        integer, intent(out), optional :: ierr
        if (.not. has_blocks(stride, data%count, ierr)) return
        call give(c_pull_stride_start(data%start, from%rank, c_area(from%handle), offset_of(from%index, data%bytes), &
                  in_bytes(stride, data%bytes), transfer%handle), ierr)
    end subroutine

    subroutine push_bitmap_start(data, to, bitmap, transfer, ierr)
        type(c_array), intent(in) :: data
        type(hk_place), intent(in) :: to
        integer(int64), target, contiguous, intent(in) :: bitmap(:)
        type(hk_transfer), intent(inout) :: transfer
        integer, intent(out), optional :: ierr
        if (.not. has_bits(bitmap, data%count, ierr)) return
        call give(c_push_bitmap_start(data%start, to%rank, c_area(to%handle), offset_of(to%index, data%bytes), c_loc(bitmap), &
                  int(data%bytes, c_size_t), data%count, transfer%handle), ierr)
    end subroutine

    subroutine pull_bitmap_start(data, from, bitmap, transfer, ierr)
        type(c_array), intent(in) :: data
        type(hk_place), intent(in) :: from
        integer(int64), target, contiguous, intent(in) :: bitmap(:)
        type(hk_transfer), intent(inout) :: transfer
        integer, intent(out), optional :: ierr
        if (.not. has_bits(bitmap, data%count, ierr)) return
        call give(c_pull_bitmap_start(data%start, from%rank, c_area(from%handle), offset_of(from%index, data%bytes), &
                  c_loc(bitmap), int(data%bytes, c_size_t), data%count, transfer%handle), ierr)
    end subroutine

    subroutine push_diff_start(data, to, twin, transfer, pushed, ierr)
        type(c_array), intent(in) :: data, twin
        type(hk_place), intent(in) :: to
        type(hk_transfer), intent(inout) :: transfer
        integer(int64), intent(out), optional :: pushed
        integer, intent(out), optional :: ierr
        integer(c_size_t) :: changed
        changed = 0
        call tell(changed, pushed)
        if (.not. are_twins(data%count, twin%count, ierr)) return
        call give(c_push_diff_start(data%start, to%rank, c_area(to%handle), offset_of(to%index, data%bytes), &
                  data%count * data%bytes, twin%start, int(data%bytes, c_size_t), changed, transfer%handle), ierr)
        call tell(changed, pushed)
    end subroutine

    subroutine push_stride_notify(data, to, stride, flag, value, ierr)
        type(c_array), intent(in) :: data
        type(hk_place), intent(in) :: to
        type(hk_stride), intent(in) :: stride
        type(hk_area_word), intent(in) :: flag
        class(*), intent(in) :: value
        integer, intent(out), optional :: ierr
        integer(int64) :: word
        if (.not. has_number(value, word, ierr)) return
        if (.not. has_blocks(stride, data%count, ierr)) return
        call give(c_push_stride_notify(data%start, to%rank, c_area(to%handle), offset_of(to%index, data%bytes), &
                  in_bytes(stride, data%bytes), c_area(flag%handle), offset_of(flag%index, 8), word), ierr)
    end subroutine

    subroutine push_bitmap_notify(data, to, bitmap, flag, value, ierr)
        type(c_array), intent(in) :: data
        type(hk_place), intent(in) :: to
        integer(int64), target, contiguous, intent(in) :: bitmap(:)
        type(hk_area_word), intent(in) :: flag
        class(*), intent(in) :: value
        integer, intent(out), optional :: ierr
        integer(int64) :: word
        if (.not. has_number(value, word, ierr)) return
        if (.not. has_bits(bitmap, data%count, ierr)) return
        call give(c_push_bitmap_notify(data%start, to%rank, c_area(to%handle), offset_of(to%index, data%bytes), c_loc(bitmap), &
                  int(data%bytes, c_size_t), data%count, c_area(flag%handle), offset_of(flag%index, 8), word), ierr)
    end subroutine

    subroutine push_diff_notify(data, to, twin, flag, value, pushed, ierr)
        type(c_array), intent(in) :: data, twin
        type(hk_place), intent(in) :: to
        type(hk_area_word), intent(in) :: flag
        class(*), intent(in) :: value
        integer(int64), intent(out), optional :: pushed
        integer, intent(out), optional :: ierr
        integer(int64) :: word
        integer(c_size_t) :: changed
        changed = 0
        call tell(changed, pushed)
        if (.not. has_number(value, word, ierr)) return
        if (.not. are_twins(data%count, twin%count, ierr)) return
        call give(c_push_diff_notify(data%start, to%rank, c_area(to%handle), offset_of(to%index, data%bytes), &
                  data%count * data%bytes, twin%start, int(data%bytes, c_size_t), c_area(flag%handle), offset_of(flag%index, 8), &
                  word, changed), ierr)
        call tell(changed, pushed)
    end subroutine

    subroutine push_stride_start_i4(data, to, stride, transfer, ierr)
        integer(int32), target, contiguous, intent(in) :: data(:)
        type(hk_place), intent(in) :: to
        type(hk_stride), intent(in) :: stride
        type(hk_transfer), intent(out) :: transfer
        integer, intent(out), optional :: ierr
        call push_stride_start(array_of(data), to, stride, transfer, ierr)
    end subroutine

    subroutine push_stride_start_i8(data, to, stride, transfer, ierr)
        integer(int64), target, contiguous, intent(in) :: data(:)
        type(hk_place), intent(in) :: to
        type(hk_stride), intent(in) :: stride
        type(hk_transfer), intent(out) :: transfer
        integer, intent(out), optional :: ierr
        call push_stride_start(array_of(data), to, stride, transfer, ierr)
    end subroutine

    subroutine push_stride_start_r4(data, to, stride, transfer, ierr)
        real(real32), target, contiguous, intent(in) :: data(:)
        type(hk_place), intent(in) :: to
        type(hk_stride), intent(in) :: stride
        type(hk_transfer), intent(out) :: transfer
        integer, intent(out), optional :: ierr
        call push_stride_start(array_of(data), to, stride, transfer, ierr)
    end subroutine

    subroutine push_stride_start_r8(data, to, stride, transfer, ierr)
        real(real64), target, contiguous, intent(in) :: data(:)
        type(hk_place), intent(in) :: to
        type(hk_stride), intent(in) :: stride
        type(hk_transfer), intent(out) :: transfer
        integer, intent(out), optional :: ierr
        call push_stride_start(array_of(data), to, stride, transfer, ierr)
    end subroutine

    subroutine pull_stride_start_i4(data, from, stride, transfer, ierr)
        integer(int32), target, contiguous, asynchronous, intent(inout) :: data(:)
        type(hk_place), intent(in) :: from
        type(hk_stride), intent(in) :: stride
        type(hk_transfer), intent(out) :: transfer
        integer, intent(out), optional :: ierr
        call pull_stride_start(array_of(data), from, stride, transfer, ierr)
    end subroutine

    subroutine pull_stride_start_i8(data, from, stride, transfer, ierr)
        integer(int64), target, contiguous, asynchronous, intent(inout) :: data(:)
        type(hk_place), intent(in) :: from
        type(hk_stride), intent(in) :: stride
        type(hk_transfer), intent(out) :: transfer
        integer, intent(out), optional :: ierr
        call pull_stride_start(array_of(data), from, stride, transfer, ierr)
    end subroutine

    subroutine pull_stride_start_r4(data, from, stride, transfer, ierr)
        real(real32), target, contiguous, asynchronous, intent(inout) :: data(:)
        type(hk_place), intent(in) :: from
        type(hk_stride), intent(in) :: stride
        type(hk_transfer), intent(out) :: transfer
        integer, intent(out), optional :: ierr
        call pull_stride_start(array_of(data), from, stride, transfer, ierr)
    end subroutine

    subroutine pull_stride_start_r8(data, from, stride, transfer, ierr)
        real(real64), target, contiguous, asynchronous, intent(inout) :: data(:)
        type(hk_place), intent(in) :: from
        type(hk_stride), intent(in) :: stride
        type(hk_transfer), intent(out) :: transfer
        integer, intent(out), optional :: ierr
        call pull_stride_start(array_of(data), from, stride, transfer, ierr)
    end subroutine

    subroutine push_bitmap_start_i4(data, to, bitmap, transfer, ierr)
        integer(int32), target, contiguous, intent(in) :: data(:)
        type(hk_place), intent(in) :: to
        integer(int64), target, contiguous, intent(in) :: bitmap(:)
        type(hk_transfer), intent(out) :: transfer
        integer, intent(out), optional :: ierr
        call push_bitmap_start(array_of(data), to, bitmap, transfer, ierr)
    end subroutine

    subroutine push_bitmap_start_i8(data, to, bitmap, transfer, ierr)
        integer(int64), target, contiguous, intent(in) :: data(:)
        type(hk_place), intent(in) :: to
        integer(int64), target, contiguous, intent(in) :: bitmap(:)
        type(hk_transfer), intent(out) :: transfer
        integer, intent(out), optional :: ierr
        call push_bitmap_start(array_of(data), to, bitmap, transfer, ierr)
    end subroutine

    subroutine push_bitmap_start_r4(data, to, bitmap, transfer, ierr)
        real(real32), target, contiguous, intent(in) :: data(:)
        type(hk_place), intent(in) :: to
        integer(int64), target, contiguous, intent(in) :: bitmap(:)
        type(hk_transfer), intent(out) :: transfer
        integer, intent(out), optional :: ierr
        call push_bitmap_start(array_of(data), to, bitmap, transfer, ierr)
    end subroutine

    subroutine push_bitmap_start_r8(data, to, bitmap, transfer, ierr)
        real(real64), target, contiguous, intent(in) :: data(:)
        type(hk_place), intent(in) :: to
        integer(int64), target, contiguous, intent(in) :: bitmap(:)
        type(hk_transfer), intent(out) :: transfer
        integer, intent(out), optional :: ierr
        call push_bitmap_start(array_of(data), to, bitmap, transfer, ierr)
    end subroutine

    subroutine pull_bitmap_start_i4(data, from, bitmap, transfer, ierr)
        integer(int32), target, contiguous, asynchronous, intent(inout) :: data(:)
        type(hk_place), intent(in) :: from
        integer(int64), target, contiguous, intent(in) :: bitmap(:)
        type(hk_transfer), intent(out) :: transfer
        integer, intent(out), optional :: ierr
        call pull_bitmap_start(array_of(data), from, bitmap, transfer, ierr)
    end subroutine

    subroutine pull_bitmap_start_i8(data, from, bitmap, transfer, ierr)
        integer(int64), target, contiguous, asynchronous, intent(inout) :: data(:)
        type(hk_place), intent(in) :: from
        integer(int64), target, contiguous, intent(in) :: bitmap(:)
        type(hk_transfer), intent(out) :: transfer
        integer, intent(out), optional :: ierr
        call pull_bitmap_start(array_of(data), from, bitmap, transfer, ierr)
    end subroutine

    subroutine pull_bitmap_start_r4(data, from, bitmap, transfer, ierr)
        real(real32), target, contiguous, asynchronous, intent(inout) :: data(:)
        type(hk_place), intent(in) :: from
        integer(int64), target, contiguous, intent(in) :: bitmap(:)
        type(hk_transfer), intent(out) :: transfer
        integer, intent(out), optional :: ierr
        call pull_bitmap_start(array_of(data), from, bitmap, transfer, ierr)
    end subroutine

    subroutine pull_bitmap_start_r8(data, from, bitmap, transfer, ierr)
        real(real64), target, contiguous, asynchronous, intent(inout) :: data(:)
        type(hk_place), intent(in) :: from
        integer(int64), target, contiguous, intent(in) :: bitmap(:)
        type(hk_transfer), intent(out) :: transfer
        integer, intent(out), optional :: ierr
        call pull_bitmap_start(array_of(data), from, bitmap, transfer, ierr)
    end subroutine

    subroutine push_diff_start_i4(data, to, twin, transfer, pushed, ierr)
        integer(int32), target, contiguous, intent(in) :: data(:)
        type(hk_place), intent(in) :: to
        integer(int32), target, contiguous, intent(inout) :: twin(:)
        type(hk_transfer), intent(out) :: transfer
        integer(int64), intent(out), optional :: pushed
        integer, intent(out), optional :: ierr
        call push_diff_start(array_of(data), to, array_of(twin), transfer, pushed, ierr)
    end subroutine

    subroutine push_diff_start_i8(data, to, twin, transfer, pushed, ierr)
        integer(int64), target, contiguous, intent(in) :: data(:)
        type(hk_place), intent(in) :: to
        integer(int64), target, contiguous, intent(inout) :: twin(:)
        type(hk_transfer), intent(out) :: transfer
        integer(int64), intent(out), optional :: pushed
        integer, intent(out), optional :: ierr
        call push_diff_start(array_of(data), to, array_of(twin), transfer, pushed, ierr)
    end subroutine

    subroutine push_diff_start_r4(data, to, twin, transfer, pushed, ierr)
        real(real32), target, contiguous, intent(in) :: data(:)
        type(hk_place), intent(in) :: to
        real(real32), target, contiguous, intent(inout) :: twin(:)
        type(hk_transfer), intent(out) :: transfer
        integer(int64), intent(out), optional :: pushed
        integer, intent(out), optional :: ierr
        call push_diff_start(array_of(data), to, array_of(twin), transfer, pushed, ierr)
    end subroutine

    subroutine push_diff_start_r8(data, to, twin, transfer, pushed, ierr)
        real(real64), target, contiguous, intent(in) :: data(:)
        type(hk_place), intent(in) :: to
        real(real64), target, contiguous, intent(inout) :: twin(:)
        type(hk_transfer), intent(out) :: transfer
        integer(int64), intent(out), optional :: pushed
        integer, intent(out), optional :: ierr
        call push_diff_start(array_of(data), to, array_of(twin), transfer, pushed, ierr)
    end subroutine

    subroutine push_stride_notify_i4(data, to, stride, flag, value, ierr)
        integer(int32), target, contiguous, intent(in) :: data(:)
        type(hk_place), intent(in) :: to
        type(hk_stride), intent(in) :: stride
        type(hk_area_word), intent(in) :: flag
        class(*), intent(in) :: value
        integer, intent(out), optional :: ierr
        call push_stride_notify(array_of(data), to, stride, flag, value, ierr)
    end subroutine

    subroutine push_stride_notify_i8(data, to, stride, flag, value, ierr)
        integer(int64), target, contiguous, intent(in) :: data(:)
        type(hk_place), intent(in) :: to
        type(hk_stride), intent(in) :: stride
        type(hk_area_word), intent(in) :: flag
        class(*), intent(in) :: value
        integer, intent(out), optional :: ierr
        call push_stride_notify(array_of(data), to, stride, flag, value, ierr)
    end subroutine

    subroutine push_stride_notify_r4(data, to, stride, flag, value, ierr)
        real(real32), target, contiguous, intent(in) :: data(:)
        type(hk_place), intent(in) :: to
        type(hk_stride), intent(in) :: stride
        type(hk_area_word), intent(in) :: flag
        class(*), intent(in) :: value
        integer, intent(out), optional :: ierr
        call push_stride_notify(array_of(data), to, stride, flag, value, ierr)
    end subroutine

    subroutine push_stride_notify_r8(data, to, stride, flag, value, ierr)
        real(real64), target, contiguous, intent(in) :: data(:)
        type(hk_place), intent(in) :: to
        type(hk_stride), intent(in) :: stride
        type(hk_area_word), intent(in) :: flag
        class(*), intent(in) :: value
        integer, intent(out), optional :: ierr
        call push_stride_notify(array_of(data), to, stride, flag, value, ierr)
    end subroutine

    subroutine push_bitmap_notify_i4(data, to, bitmap, flag, value, ierr)
        integer(int32), target, contiguous, intent(in) :: data(:)
        type(hk_place), intent(in) :: to
        integer(int64), target, contiguous, intent(in) :: bitmap(:)
        type(hk_area_word), intent(in) :: flag
        class(*), intent(in) :: value
        integer, intent(out), optional :: ierr
        call push_bitmap_notify(array_of(data), to, bitmap, flag, value, ierr)
    end subroutine

    subroutine push_bitmap_notify_i8(data, to, bitmap, flag, value, ierr)
        integer(int64), target, contiguous, intent(in) :: data(:)
        type(hk_place), intent(in) :: to
        integer(int64), target, contiguous, intent(in) :: bitmap(:)
        type(hk_area_word), intent(in) :: flag
        class(*), intent(in) :: value
        integer, intent(out), optional :: ierr
        call push_bitmap_notify(array_of(data), to, bitmap, flag, value, ierr)
    end subroutine

    subroutine push_bitmap_notify_r4(data, to, bitmap, flag, value, ierr)
        real(real32), target, contiguous, intent(in) :: data(:)
        type(hk_place), intent(in) :: to
        integer(int64), target, contiguous, intent(in) :: bitmap(:)
        type(hk_area_word), intent(in) :: flag
        class(*), intent(in) :: value
        integer, intent(out), optional :: ierr
        call push_bitmap_notify(array_of(data), to, bitmap, flag, value, ierr)
    end subroutine

    subroutine push_bitmap_notify_r8(data, to, bitmap, flag, value, ierr)
        real(real64), target, contiguous, intent(in) :: data(:)
        type(hk_place), intent(in) :: to
        integer(int64), target, contiguous, intent(in) :: bitmap(:)
        type(hk_area_word), intent(in) :: flag
        class(*), intent(in) :: value
        integer, intent(out), optional :: ierr
        call push_bitmap_notify(array_of(data), to, bitmap, flag, value, ierr)
    end subroutine

    subroutine push_diff_notify_i4(data, to, twin, flag, value, pushed, ierr)
        integer(int32), target, contiguous, intent(in) :: data(:)
        type(hk_place), intent(in) :: to
        integer(int32), target, contiguous, intent(inout) :: twin(:)
        type(hk_area_word), intent(in) :: flag
        class(*), intent(in) :: value
        integer(int64), intent(out), optional :: pushed
        integer, intent(out), optional :: ierr
        call push_diff_notify(array_of(data), to, array_of(twin), flag, value, pushed, ierr)
    end subroutine

    subroutine push_diff_notify_i8(data, to, twin, flag, value, pushed, ierr)
        integer(int64), target, contiguous, intent(in) :: data(:)
        type(hk_place), intent(in) :: to
        integer(int64), target, contiguous, intent(inout) :: twin(:)
        type(hk_area_word), intent(in) :: flag
        class(*), intent(in) :: value
        integer(int64), intent(out), optional :: pushed
        integer, intent(out), optional :: ierr
        call push_diff_notify(array_of(data), to, array_of(twin), flag, value, pushed, ierr)
    end subroutine

    subroutine push_diff_notify_r4(data, to, twin, flag, value, pushed, ierr)
        real(real32), target, contiguous, intent(in) :: data(:)
        type(hk_place), intent(in) :: to
        real(real32), target, contiguous, intent(inout) :: twin(:)
        type(hk_area_word), intent(in) :: flag
        class(*), intent(in) :: value
        integer(int64), intent(out), optional :: pushed
        integer, intent(out), optional :: ierr
        call push_diff_notify(array_of(data), to, array_of(twin), flag, value, pushed, ierr)
    end subroutine

    subroutine push_diff_notify_r8(data, to, twin, flag, value, pushed, ierr)
        real(real64), target, contiguous, intent(in) :: data(:)
        type(hk_place), intent(in) :: to
        real(real64), target, contiguous, intent(inout) :: twin(:)
        type(hk_area_word), intent(in) :: flag
        class(*), intent(in) :: value
        integer(int64), intent(out), optional :: pushed
        integer, intent(out), optional :: ierr
        call push_diff_notify(array_of(data), to, array_of(twin), flag, value, pushed, ierr)
    end subroutine

    ! ---- multicast

    ! Names recipients, each once.
    subroutine hk_recipients_create(ranks, recipients, ierr)
        integer, intent(in) :: ranks(:)
        type(hk_recipients), intent(out) :: recipients
        integer, intent(out), optional :: ierr
        call give(c_recipients_create(ranks, size(ranks, kind=c_size_t), recipients), ierr)
    end subroutine

    subroutine hk_recipients_free(recipients, ierr)
        type(hk_recipients), intent(inout) :: recipients
        integer, intent(out), optional :: ierr
        call give(c_recipients_free(recipients), ierr)
        recipients = hk_recipients()
    end subroutine

    subroutine mcast_a_i4(data, to, at, ierr)
        integer(int32), target, contiguous, intent(in) :: data(:)
        type(hk_recipients), intent(in) :: to
        type(hk_area_each), intent(in) :: at
        integer, intent(out), optional :: ierr
        call give(c_mcast_a(c_loc(data), to, c_area(at%handle), offset_of(at%index, 4), &
                          size(data, kind=c_size_t) * 4), ierr)
    end subroutine

    subroutine mcast_a_notify_i4(data, to, at, flag, value, ierr)
        integer(int32), target, contiguous, intent(in) :: data(:)
        type(hk_recipients), intent(in) :: to
        type(hk_area_each), intent(in) :: at
        type(hk_area_word), intent(in) :: flag
        integer(int64), intent(in) :: value
        integer, intent(out), optional :: ierr
        call give(c_mcast_a_notify(c_loc(data), to, c_area(at%handle), offset_of(at%index, 4), &
                                 size(data, kind=c_size_t) * 4, c_area(flag%handle), offset_of(flag%index, 8), value), ierr)
    end subroutine

    subroutine mcast_a_notify_i4_short(data, to, at, flag, value, ierr)
        integer(int32), target, contiguous, intent(in) :: data(:)
        type(hk_recipients), intent(in) :: to
        type(hk_area_each), intent(in) :: at
        type(hk_area_word), intent(in) :: flag
        integer(int32), intent(in) :: value
        integer, intent(out), optional :: ierr
        call mcast_a_notify_i4(data, to, at, flag, int(value, int64), ierr)
    end subroutine

    subroutine mcast_a_stride_i4(data, to, at, stride, ierr)
        integer(int32), target, contiguous, intent(in) :: data(:)
        type(hk_recipients), intent(in) :: to
        type(hk_area_each), intent(in) :: at
        type(hk_stride), intent(in) :: stride
        integer, intent(out), optional :: ierr
        if (.not. has_blocks(stride, size(data, kind=int64), ierr)) return
        call give(c_mcast_a_stride(c_loc(data), to, c_area(at%handle), offset_of(at%index, 4), &
                                 in_bytes(stride, 4)), ierr)
    end subroutine

    subroutine mcast_a_bitmap_i4(data, to, at, bitmap, ierr)
        integer(int32), target, contiguous, intent(in) :: data(:)
        type(hk_recipients), intent(in) :: to
        type(hk_area_each), intent(in) :: at
        integer(int64), target, contiguous, intent(in) :: bitmap(:)
        integer, intent(out), optional :: ierr
        if (.not. has_bits(bitmap, size(data, kind=int64), ierr)) return
        call give(c_mcast_a_bitmap(c_loc(data), to, c_area(at%handle), offset_of(at%index, 4), &
                                 c_loc(bitmap), 4_c_size_t, size(data, kind=c_size_t)), ierr)
    end subroutine

    subroutine mcast_a_diff_i4(data, to, at, twin, pushed, ierr)
        integer(int32), target, contiguous, intent(in) :: data(:)
        type(hk_recipients), intent(in) :: to
        type(hk_area_each), intent(in) :: at
        integer(int32), target, contiguous, intent(inout) :: twin(:)
        integer(int64), intent(out), optional :: pushed
        integer, intent(out), optional :: ierr
        integer(c_size_t) :: changed
        changed = 0
        if (present(pushed)) pushed = 0
        if (.not. are_twins(size(data, kind=int64), size(twin, kind=int64), ierr)) return
        call give(c_mcast_a_diff(c_loc(data), to, c_area(at%handle), offset_of(at%index, 4), &
                               size(data, kind=c_size_t) * 4, c_loc(twin), 4_c_size_t, changed), ierr)
        if (present(pushed)) pushed = changed
    end subroutine

    subroutine mcast_b_i4(data, to, at, ierr)
        integer(int32), target, contiguous, intent(in) :: data(:)
        integer, intent(in) :: to(:)
        type(hk_area_each), intent(in) :: at
        integer, intent(out), optional :: ierr
        call give(c_mcast_b(c_loc(data), to, size(to, kind=c_size_t), c_area(at%handle), offset_of(at%index, 4), &
                          size(data, kind=c_size_t) * 4), ierr)
    end subroutine

    subroutine mcast_b_notify_i4(data, to, at, flag, value, ierr)
        integer(int32), target, contiguous, intent(in) :: data(:)
        integer, intent(in) :: to(:)
        type(hk_area_each), intent(in) :: at
        type(hk_area_word), intent(in) :: flag
        integer(int64), intent(in) :: value
        integer, intent(out), optional :: ierr
        call give(c_mcast_b_notify(c_loc(data), to, size(to, kind=c_size_t), c_area(at%handle), offset_of(at%index, 4), &
                                 size(data, kind=c_size_t) * 4, c_area(flag%handle), offset_of(flag%index, 8), value), ierr)
    end subroutine

    subroutine mcast_b_notify_i4_short(data, to, at, flag, value, ierr)
        integer(int32), target, contiguous, intent(in) :: data(:)
        integer, intent(in) :: to(:)
        type(hk_area_each), intent(in) :: at
        type(hk_area_word), intent(in) :: flag
        integer(int32), intent(in) :: value
        integer, intent(out), optional :: ierr
        call mcast_b_notify_i4(data, to, at, flag, int(value, int64), ierr)
    end subroutine

    subroutine mcast_b_stride_i4(data, to, at, stride, ierr)
        integer(int32), target, contiguous, intent(in) :: data(:)
        integer, intent(in) :: to(:)
        type(hk_area_each), intent(in) :: at
        type(hk_stride), intent(in) :: stride
        integer, intent(out), optional :: ierr
        if (.not. has_blocks(stride, size(data, kind=int64), ierr)) return
        call give(c_mcast_b_stride(c_loc(data), to, size(to, kind=c_size_t), c_area(at%handle), offset_of(at%index, 4), &
                                 in_bytes(stride, 4)), ierr)
    end subroutine

    subroutine mcast_b_bitmap_i4(data, to, at, bitmap, ierr)
        integer(int32), target, contiguous, intent(in) :: data(:)
        integer, intent(in) :: to(:)
        type(hk_area_each), intent(in) :: at
        integer(int64), target, contiguous, intent(in) :: bitmap(:)
        integer, intent(out), optional :: ierr
        if (.not. has_bits(bitmap, size(data, kind=int64), ierr)) return
        call give(c_mcast_b_bitmap(c_loc(data), to, size(to, kind=c_size_t), c_area(at%handle), offset_of(at%index, 4), &
                                 c_loc(bitmap), 4_c_size_t, size(data, kind=c_size_t)), ierr)
    end subroutine

    subroutine mcast_b_diff_i4(data, to, at, twin, pushed, ierr)
        integer(int32), target, contiguous, intent(in) :: data(:)
        integer, intent(in) :: to(:)
        type(hk_area_each), intent(in) :: at
        integer(int32), target, contiguous, intent(inout) :: twin(:)
        integer(int64), intent(out), optional :: pushed
        integer, intent(out), optional :: ierr
        integer(c_size_t) :: changed
        changed = 0
        if (present(pushed)) pushed = 0
        if (.not. are_twins(size(data, kind=int64), size(twin, kind=int64), ierr)) return
        call give(c_mcast_b_diff(c_loc(data), to, size(to, kind=c_size_t), c_area(at%handle), offset_of(at%index, 4), &
                               size(data, kind=c_size_t) * 4, c_loc(twin), 4_c_size_t, changed), ierr)
        if (present(pushed)) pushed = changed
    end subroutine

    subroutine mcast_a_i8(data, to, at, ierr)
        integer(int64), target, contiguous, intent(in) :: data(:)
        type(hk_recipients), intent(in) :: to
        type(hk_area_each), intent(in) :: at
        integer, intent(out), optional :: ierr
        call give(c_mcast_a(c_loc(data), to, c_area(at%handle), offset_of(at%index, 8), &
                          size(data, kind=c_size_t) * 8), ierr)
    end subroutine

    subroutine mcast_a_notify_i8(data, to, at, flag, value, ierr)
        integer(int64), target, contiguous, intent(in) :: data(:)
        type(hk_recipients), intent(in) :: to
        type(hk_area_each), intent(in) :: at
        type(hk_area_word), intent(in) :: flag
        integer(int64), intent(in) :: value
        integer, intent(out), optional :: ierr
        call give(c_mcast_a_notify(c_loc(data), to, c_area(at%handle), offset_of(at%index, 8), &
                                 size(data, kind=c_size_t) * 8, c_area(flag%handle), offset_of(flag%index, 8), value), ierr)
    end subroutine

    subroutine mcast_a_notify_i8_short(data, to, at, flag, value, ierr)
        integer(int64), target, contiguous, intent(in) :: data(:)
        type(hk_recipients), intent(in) :: to
        type(hk_area_each), intent(in) :: at
        type(hk_area_word), intent(in) :: flag
        integer(int32), intent(in) :: value
        integer, intent(out), optional :: ierr
        call mcast_a_notify_i8(data, to, at, flag, int(value, int64), ierr)
    end subroutine

    subroutine mcast_a_stride_i8(data, to, at, stride, ierr)
        integer(int64), target, contiguous, intent(in) :: data(:)
        type(hk_recipients), intent(in) :: to
        type(hk_area_each), intent(in) :: at
        type(hk_stride), intent(in) :: stride
        integer, intent(out), optional :: ierr
        if (.not. has_blocks(stride, size(data, kind=int64), ierr)) return
        call give(c_mcast_a_stride(c_loc(data), to, c_area(at%handle), offset_of(at%index, 8), &
                                 in_bytes(stride, 8)), ierr)
    end subroutine

    subroutine mcast_a_bitmap_i8(data, to, at, bitmap, ierr)
        integer(int64), target, contiguous, intent(in) :: data(:)
        type(hk_recipients), intent(in) :: to
        type(hk_area_each), intent(in) :: at
        integer(int64), target, contiguous, intent(in) :: bitmap(:)
        integer, intent(out), optional :: ierr
        if (.not. has_bits(bitmap, size(data, kind=int64), ierr)) return
        call give(c_mcast_a_bitmap(c_loc(data), to, c_area(at%handle), offset_of(at%index, 8), &
                                 c_loc(bitmap), 8_c_size_t, size(data, kind=c_size_t)), ierr)
    end subroutine

    subroutine mcast_a_diff_i8(data, to, at, twin, pushed, ierr)
        integer(int64), target, contiguous, intent(in) :: data(:)
        type(hk_recipients), intent(in) :: to
        type(hk_area_each), intent(in) :: at
        integer(int64), target, contiguous, intent(inout) :: twin(:)
        integer(int64), intent(out), optional :: pushed
        integer, intent(out), optional :: ierr
        integer(c_size_t) :: changed
        changed = 0
        if (present(pushed)) pushed = 0
        if (.not. are_twins(size(data, kind=int64), size(twin, kind=int64), ierr)) return
        call give(c_mcast_a_diff(c_loc(data), to, c_area(at%handle), offset_of(at%index, 8), &
                               size(data, kind=c_size_t) * 8, c_loc(twin), 8_c_size_t, changed), ierr)
        if (present(pushed)) pushed = changed
    end subroutine

    subroutine mcast_b_i8(data, to, at, ierr)
        integer(int64), target, contiguous, intent(in) :: data(:)
        integer, intent(in) :: to(:)
        type(hk_area_each), intent(in) :: at
        integer, intent(out), optional :: ierr
        call give(c_mcast_b(c_loc(data), to, size(to, kind=c_size_t), c_area(at%handle), offset_of(at%index, 8), &
                          size(data, kind=c_size_t) * 8), ierr)
    end subroutine

    subroutine mcast_b_notify_i8(data, to, at, flag, value, ierr)
        integer(int64), target, contiguous, intent(in) :: data(:)
        integer, intent(in) :: to(:)
        type(hk_area_each), intent(in) :: at
        type(hk_area_word), intent(in) :: flag
        integer(int64), intent(in) :: value
        integer, intent(out), optional :: ierr
        call give(c_mcast_b_notify(c_loc(data), to, size(to, kind=c_size_t), c_area(at%handle), offset_of(at%index, 8), &
                                 size(data, kind=c_size_t) * 8, c_area(flag%handle), offset_of(flag%index, 8), value), ierr)
    end subroutine

    subroutine mcast_b_notify_i8_short(data, to, at, flag, value, ierr)
        integer(int64), target, contiguous, intent(in) :: data(:)
        integer, intent(in) :: to(:)
        type(hk_area_each), intent(in) :: at
        type(hk_area_word), intent(in) :: flag
        integer(int32), intent(in) :: value
        integer, intent(out), optional :: ierr
        call mcast_b_notify_i8(data, to, at, flag, int(value, int64), ierr)
    end subroutine

    subroutine mcast_b_stride_i8(data, to, at, stride, ierr)
        integer(int64), target, contiguous, intent(in) :: data(:)
        integer, intent(in) :: to(:)
        type(hk_area_each), intent(in) :: at
        type(hk_stride), intent(in) :: stride
        integer, intent(out), optional :: ierr
        if (.not. has_blocks(stride, size(data, kind=int64), ierr)) return
        call give(c_mcast_b_stride(c_loc(data), to, size(to, kind=c_size_t), c_area(at%handle), offset_of(at%index, 8), &
                                 in_bytes(stride, 8)), ierr)
    end subroutine

    subroutine mcast_b_bitmap_i8(data, to, at, bitmap, ierr)
        integer(int64), target, contiguous, intent(in) :: data(:)
        integer, intent(in) :: to(:)
        type(hk_area_each), intent(in) :: at
        integer(int64), target, contiguous, intent(in) :: bitmap(:)
        integer, intent(out), optional :: ierr
        if (.not. has_bits(bitmap, size(data, kind=int64), ierr)) return
        call give(c_mcast_b_bitmap(c_loc(data), to, size(to, kind=c_size_t), c_area(at%handle), offset_of(at%index, 8), &
                                 c_loc(bitmap), 8_c_size_t, size(data, kind=c_size_t)), ierr)
    end subroutine

    subroutine mcast_b_diff_i8(data, to, at, twin, pushed, ierr)
        integer(int64), target, contiguous, intent(in) :: data(:)
        integer, intent(in) :: to(:)
        type(hk_area_each), intent(in) :: at
        integer(int64), target, contiguous, intent(inout) :: twin(:)
        integer(int64), intent(out), optional :: pushed
        integer, intent(out), optional :: ierr
        integer(c_size_t) :: changed
        changed = 0
        if (present(pushed)) pushed = 0
        if (.not. are_twins(size(data, kind=int64), size(twin, kind=int64), ierr)) return
        call give(c_mcast_b_diff(c_loc(data), to, size(to, kind=c_size_t), c_area(at%handle), offset_of(at%index, 8), &
                               size(data, kind=c_size_t) * 8, c_loc(twin), 8_c_size_t, changed), ierr)
        if (present(pushed)) pushed = changed
    end subroutine

    subroutine mcast_a_r4(data, to, at, ierr)
        real(real32), target, contiguous, intent(in) :: data(:)
        type(hk_recipients), intent(in) :: to
        type(hk_area_each), intent(in) :: at
        integer, intent(out), optional :: ierr
        call give(c_mcast_a(c_loc(data), to, c_area(at%handle), offset_of(at%index, 4), &
                          size(data, kind=c_size_t) * 4), ierr)
    end subroutine

    subroutine mcast_a_notify_r4(data, to, at, flag, value, ierr)
        real(real32), target, contiguous, intent(in) :: data(:)
        type(hk_recipients), intent(in) :: to
        type(hk_area_each), intent(in) :: at
        type(hk_area_word), intent(in) :: flag
        integer(int64), intent(in) :: value
        integer, intent(out), optional :: ierr
        call give(c_mcast_a_notify(c_loc(data), to, c_area(at%handle), offset_of(at%index, 4), &
                                 size(data, kind=c_size_t) * 4, c_area(flag%handle), offset_of(flag%index, 8), value), ierr)
    end subroutine

    subroutine mcast_a_notify_r4_short(data, to, at, flag, value, ierr)
        real(real32), target, contiguous, intent(in) :: data(:)
        type(hk_recipients), intent(in) :: to
        type(hk_area_each), intent(in) :: at
        type(hk_area_word), intent(in) :: flag
        integer(int32), intent(in) :: value
        integer, intent(out), optional :: ierr
        call mcast_a_notify_r4(data, to, at, flag, int(value, int64), ierr)
    end subroutine

    subroutine mcast_a_stride_r4(data, to, at, stride, ierr)
        real(real32), target, contiguous, intent(in) :: data(:)
        type(hk_recipients), intent(in) :: to
        type(hk_area_each), intent(in) :: at
        type(hk_stride), intent(in) :: stride
        integer, intent(out), optional :: ierr
        if (.not. has_blocks(stride, size(data, kind=int64), ierr)) return
        call give(c_mcast_a_stride(c_loc(data), to, c_area(at%handle), offset_of(at%index, 4), &
                                 in_bytes(stride, 4)), ierr)
    end subroutine

    subroutine mcast_a_bitmap_r4(data, to, at, bitmap, ierr)
        real(real32), target, contiguous, intent(in) :: data(:)
        type(hk_recipients), intent(in) :: to
        type(hk_area_each), intent(in) :: at
        integer(int64), target, contiguous, intent(in) :: bitmap(:)
        integer, intent(out), optional :: ierr
        if (.not. has_bits(bitmap, size(data, kind=int64), ierr)) return
        call give(c_mcast_a_bitmap(c_loc(data), to, c_area(at%handle), offset_of(at%index, 4), &
                                 c_loc(bitmap), 4_c_size_t, size(data, kind=c_size_t)), ierr)
    end subroutine

    subroutine mcast_a_diff_r4(data, to, at, twin, pushed, ierr)
        real(real32), target, contiguous, intent(in) :: data(:)
        type(hk_recipients), intent(in) :: to
        type(hk_area_each), intent(in) :: at
        real(real32), target, contiguous, intent(inout) :: twin(:)
        integer(int64), intent(out), optional :: pushed
        integer, intent(out), optional :: ierr
        integer(c_size_t) :: changed
        changed = 0
        if (present(pushed)) pushed = 0
        if (.not. are_twins(size(data, kind=int64), size(twin, kind=int64), ierr)) return
        call give(c_mcast_a_diff(c_loc(data), to, c_area(at%handle), offset_of(at%index, 4), &
                               size(data, kind=c_size_t) * 4, c_loc(twin), 4_c_size_t, changed), ierr)
        if (present(pushed)) pushed = changed
    end subroutine

    subroutine mcast_b_r4(data, to, at, ierr)
        real(real32), target, contiguous, intent(in) :: data(:)
        integer, intent(in) :: to(:)
        type(hk_area_each), intent(in) :: at
        integer, intent(out), optional :: ierr
        call give(c_mcast_b(c_loc(data), to, size(to, kind=c_size_t), c_area(at%handle), offset_of(at%index, 4), &
                          size(data, kind=c_size_t) * 4), ierr)
    end subroutine

    subroutine mcast_b_notify_r4(data, to, at, flag, value, ierr)
        real(real32), target, contiguous, intent(in) :: data(:)
        integer, intent(in) :: to(:)
        type(hk_area_each), intent(in) :: at
        type(hk_area_word), intent(in) :: flag
        integer(int64), intent(in) :: value
        integer, intent(out), optional :: ierr
        call give(c_mcast_b_notify(c_loc(data), to, size(to, kind=c_size_t), c_area(at%handle), offset_of(at%index, 4), &
                                 size(data, kind=c_size_t) * 4, c_area(flag%handle), offset_of(flag%index, 8), value), ierr)
    end subroutine

    subroutine mcast_b_notify_r4_short(data, to, at, flag, value, ierr)
        real(real32), target, contiguous, intent(in) :: data(:)
        integer, intent(in) :: to(:)
        type(hk_area_each), intent(in) :: at
        type(hk_area_word), intent(in) :: flag
        integer(int32), intent(in) :: value
        integer, intent(out), optional :: ierr
        call mcast_b_notify_r4(data, to, at, flag, int(value, int64), ierr)
    end subroutine

    subroutine mcast_b_stride_r4(data, to, at, stride, ierr)
        real(real32), target, contiguous, intent(in) :: data(:)
        integer, intent(in) :: to(:)
        type(hk_area_each), intent(in) :: at
        type(hk_stride), intent(in) :: stride
        integer, intent(out), optional :: ierr
        if (.not. has_blocks(stride, size(data, kind=int64), ierr)) return
        call give(c_mcast_b_stride(c_loc(data), to, size(to, kind=c_size_t), c_area(at%handle), offset_of(at%index, 4), &
                                 in_bytes(stride, 4)), ierr)
    end subroutine

    subroutine mcast_b_bitmap_r4(data, to, at, bitmap, ierr)
        real(real32), target, contiguous, intent(in) :: data(:)
        integer, intent(in) :: to(:)
        type(hk_area_each), intent(in) :: at
        integer(int64), target, contiguous, intent(in) :: bitmap(:)
        integer, intent(out), optional :: ierr
        if (.not. has_bits(bitmap, size(data, kind=int64), ierr)) return
        call give(c_mcast_b_bitmap(c_loc(data), to, size(to, kind=c_size_t), c_area(at%handle), offset_of(at%index, 4), &
                                 c_loc(bitmap), 4_c_size_t, size(data, kind=c_size_t)), ierr)
    end subroutine

    subroutine mcast_b_diff_r4(data, to, at, twin, pushed, ierr)
        real(real32), target, contiguous, intent(in) :: data(:)
        integer, intent(in) :: to(:)
        type(hk_area_each), intent(in) :: at
        real(real32), target, contiguous, intent(inout) :: twin(:)
        integer(int64), intent(out), optional :: pushed
        integer, intent(out), optional :: ierr
        integer(c_size_t) :: changed
        changed = 0
        if (present(pushed)) pushed = 0
        if (.not. are_twins(size(data, kind=int64), size(twin, kind=int64), ierr)) return
        call give(c_mcast_b_diff(c_loc(data), to, size(to, kind=c_size_t), c_area(at%handle), offset_of(at%index, 4), &
                               size(data, kind=c_size_t) * 4, c_loc(twin), 4_c_size_t, changed), ierr)
        if (present(pushed)) pushed = changed
    end subroutine

    subroutine mcast_a_r8(data, to, at, ierr)
        real(real64), target, contiguous, intent(in) :: data(:)
        type(hk_recipients), intent(in) :: to
        type(hk_area_each), intent(in) :: at
        integer, intent(out), optional :: ierr
        call give(c_mcast_a(c_loc(data), to, c_area(at%handle), offset_of(at%index, 8), &
                          size(data, kind=c_size_t) * 8), ierr)
    end subroutine

    subroutine mcast_a_notify_r8(data, to, at, flag, value, ierr)
        real(real64), target, contiguous, intent(in) :: data(:)
        type(hk_recipients), intent(in) :: to
        type(hk_area_each), intent(in) :: at
        type(hk_area_word), intent(in) :: flag
        integer(int64), intent(in) :: value
        integer, intent(out), optional :: ierr
        call give(c_mcast_a_notify(c_loc(data), to, c_area(at%handle), offset_of(at%index, 8), &
                                 size(data, kind=c_size_t) * 8, c_area(flag%handle), offset_of(flag%index, 8), value), ierr)
    end subroutine

    subroutine mcast_a_notify_r8_short(data, to, at, flag, value, ierr)
        real(real64), target, contiguous, intent(in) :: data(:)
        type(hk_recipients), intent(in) :: to
        type(hk_area_each), intent(in) :: at
        type(hk_area_word), intent(in) :: flag
        integer(int32), intent(in) :: value
        integer, intent(out), optional :: ierr
        call mcast_a_notify_r8(data, to, at, flag, int(value, int64), ierr)
    end subroutine

    subroutine mcast_a_stride_r8(data, to, at, stride, ierr)
        real(real64), target, contiguous, intent(in) :: data(:)
        type(hk_recipients), intent(in) :: to
        type(hk_area_each), intent(in) :: at
        type(hk_stride), intent(in) :: stride
        integer, intent(out), optional :: ierr
        if (.not. has_blocks(stride, size(data, kind=int64), ierr)) return
        call give(c_mcast_a_stride(c_loc(data), to, c_area(at%handle), offset_of(at%index, 8), &
                                 in_bytes(stride, 8)), ierr)
    end subroutine

    subroutine mcast_a_bitmap_r8(data, to, at, bitmap, ierr)
        real(real64), target, contiguous, intent(in) :: data(:)
        type(hk_recipients), intent(in) :: to
        type(hk_area_each), intent(in) :: at
        integer(int64), target, contiguous, intent(in) :: bitmap(:)
        integer, intent(out), optional :: ierr
        if (.not. has_bits(bitmap, size(data, kind=int64), ierr)) return
        call give(c_mcast_a_bitmap(c_loc(data), to, c_area(at%handle), offset_of(at%index, 8), &
                                 c_loc(bitmap), 8_c_size_t, size(data, kind=c_size_t)), ierr)
    end subroutine

    subroutine mcast_a_diff_r8(data, to, at, twin, pushed, ierr)
        real(real64), target, contiguous, intent(in) :: data(:)
        type(hk_recipients), intent(in) :: to
        type(hk_area_each), intent(in) :: at
        real(real64), target, contiguous, intent(inout) :: twin(:)
        integer(int64), intent(out), optional :: pushed
        integer, intent(out), optional :: ierr
        integer(c_size_t) :: changed
        changed = 0
        if (present(pushed)) pushed = 0
        if (.not. are_twins(size(data, kind=int64), size(twin, kind=int64), ierr)) return
        call give(c_mcast_a_diff(c_loc(data), to, c_area(at%handle), offset_of(at%index, 8), &
                               size(data, kind=c_size_t) * 8, c_loc(twin), 8_c_size_t, changed), ierr)
        if (present(pushed)) pushed = changed
    end subroutine

    subroutine mcast_b_r8(data, to, at, ierr)
        real(real64), target, contiguous, intent(in) :: data(:)
        integer, intent(in) :: to(:)
        type(hk_area_each), intent(in) :: at
        integer, intent(out), optional :: ierr
        call give(c_mcast_b(c_loc(data), to, size(to, kind=c_size_t), c_area(at%handle), offset_of(at%index, 8), &
                          size(data, kind=c_size_t) * 8), ierr)
    end subroutine

    subroutine mcast_b_notify_r8(data, to, at, flag, value, ierr)
        real(real64), target, contiguous, intent(in) :: data(:)
        integer, intent(in) :: to(:)
        type(hk_area_each), intent(in) :: at
        type(hk_area_word), intent(in) :: flag
        integer(int64), intent(in) :: value
        integer, intent(out), optional :: ierr
        call give(c_mcast_b_notify(c_loc(data), to, size(to, kind=c_size_t), c_area(at%handle), offset_of(at%index, 8), &
                                 size(data, kind=c_size_t) * 8, c_area(flag%handle), offset_of(flag%index, 8), value), ierr)
    end subroutine

    subroutine mcast_b_notify_r8_short(data, to, at, flag, value, ierr)
        real(real64), target, contiguous, intent(in) :: data(:)
        integer, intent(in) :: to(:)
        type(hk_area_each), intent(in) :: at
        type(hk_area_word), intent(in) :: flag
        integer(int32), intent(in) :: value
        integer, intent(out), optional :: ierr
        call mcast_b_notify_r8(data, to, at, flag, int(value, int64), ierr)
    end subroutine

    subroutine mcast_b_stride_r8(data, to, at, stride, ierr)
        real(real64), target, contiguous, intent(in) :: data(:)
        integer, intent(in) :: to(:)
        type(hk_area_each), intent(in) :: at
        type(hk_stride), intent(in) :: stride
        integer, intent(out), optional :: ierr
        if (.not. has_blocks(stride, size(data, kind=int64), ierr)) return
        call give(c_mcast_b_stride(c_loc(data), to, size(to, kind=c_size_t), c_area(at%handle), offset_of(at%index, 8), &
                                 in_bytes(stride, 8)), ierr)
    end subroutine

    subroutine mcast_b_bitmap_r8(data, to, at, bitmap, ierr)
        real(real64), target, contiguous, intent(in) :: data(:)
        integer, intent(in) :: to(:)
        type(hk_area_each), intent(in) :: at
        integer(int64), target, contiguous, intent(in) :: bitmap(:)
        integer, intent(out), optional :: ierr
        if (.not. has_bits(bitmap, size(data, kind=int64), ierr)) return
        call give(c_mcast_b_bitmap(c_loc(data), to, size(to, kind=c_size_t), c_area(at%handle), offset_of(at%index, 8), &
                                 c_loc(bitmap), 8_c_size_t, size(data, kind=c_size_t)), ierr)
    end subroutine

    subroutine mcast_b_diff_r8(data, to, at, twin, pushed, ierr)
        real(real64), target, contiguous, intent(in) :: data(:)
        integer, intent(in) :: to(:)
        type(hk_area_each), intent(in) :: at
        real(real64), target, contiguous, intent(inout) :: twin(:)
        integer(int64), intent(out), optional :: pushed
        integer, intent(out), optional :: ierr
        integer(c_size_t) :: changed
        changed = 0
        if (present(pushed)) pushed = 0
        if (.not. are_twins(size(data, kind=int64), size(twin, kind=int64), ierr)) return
        call give(c_mcast_b_diff(c_loc(data), to, size(to, kind=c_size_t), c_area(at%handle), offset_of(at%index, 8), &
                               size(data, kind=c_size_t) * 8, c_loc(twin), 8_c_size_t, changed), ierr)
        if (present(pushed)) pushed = changed
    end subroutine

    ! ---- barriers in two halves

    ! Makes a barrier that `manager` counts. All ranks call it together.
    subroutine hk_counting_create(manager, barrier, ierr)
        integer, intent(in) :: manager
        type(hk_counting), intent(out) :: barrier
        integer, intent(out), optional :: ierr
        call give(c_counting_create(manager, barrier), ierr)
    end subroutine

    ! Makes barriers of some ranks each, of which `manager`, one of them, counts. All ranks call it together, each with its own.
    subroutine hk_counting_create_of(ranks, manager, barrier, ierr)
        integer, intent(in) :: ranks(:)
        integer, intent(in) :: manager
        type(hk_counting), intent(out) :: barrier
        integer, intent(out), optional :: ierr
        call give(c_counting_create_of(ranks, size(ranks, kind=c_size_t), manager, barrier), ierr)
    end subroutine

    ! Frees a barrier. All ranks call it together.
    subroutine hk_counting_free(barrier, ierr)
        type(hk_counting), intent(inout) :: barrier
        integer, intent(out), optional :: ierr
        call give(c_counting_free(barrier), ierr)
        barrier = hk_counting()
    end subroutine

    ! This rank arrives.
    subroutine hk_counting_post(barrier, ierr)
        type(hk_counting), intent(in) :: barrier
        integer, intent(out), optional :: ierr
        call give(c_counting_post(barrier), ierr)
    end subroutine

    ! Waits until all have arrived, for timeout_ms at most (HK_FOREVER).
    subroutine hk_counting_wait(barrier, timeout_ms, ierr)
        type(hk_counting), intent(in) :: barrier
        integer, intent(in), optional :: timeout_ms
        integer, intent(out), optional :: ierr
        integer(c_int) :: patience
        patience = HK_FOREVER
        if (present(timeout_ms)) patience = timeout_ms
        call give(c_counting_wait(barrier, patience), ierr)
    end subroutine

    ! Whether all have arrived, and then this rank need not wait any more.
    subroutine hk_counting_test(barrier, complete, ierr)
        type(hk_counting), intent(in) :: barrier
        logical, intent(out) :: complete
        integer, intent(out), optional :: ierr
        integer(c_int) :: code
        code = c_counting_test(barrier)
        complete = code == 1
        call give(min(code, 0), ierr)
    end subroutine

    ! ---- messages by key

    ! Prepares them. All ranks call it together.
    subroutine hk_matching_open(ierr)
        integer, intent(out), optional :: ierr
        call give(c_matching_open(), ierr)
    end subroutine

    ! Ends them, when all requests have ended. All ranks call it together.
    subroutine hk_matching_close(ierr)
        integer, intent(out), optional :: ierr
        call give(c_matching_close(), ierr)
    end subroutine

    ! Whether there is a message of `rank`, or of HK_ANYONE, under the key but for the bits of `ignored`. It stays there.
    subroutine iprobe_long(rank, key, found, matched, ignored, ierr)
        integer, intent(in) :: rank
        integer(int64), intent(in) :: key
        logical, intent(out) :: found
        type(hk_matched), intent(out), optional :: matched
        integer(int64), intent(in), optional :: ignored
        integer, intent(out), optional :: ierr
        type(hk_matched) :: seen
        integer(c_int) :: code
        code = c_iprobe(rank, key, bits(ignored), seen)
        found = code == 1
        if (present(matched)) matched = seen
        call give(min(code, 0), ierr)
    end subroutine

    subroutine iprobe_short(rank, key, found, matched, ignored, ierr)
        integer, intent(in) :: rank
        integer(int32), intent(in) :: key
        logical, intent(out) :: found
        type(hk_matched), intent(out), optional :: matched
        integer(int64), intent(in), optional :: ignored
        integer, intent(out), optional :: ierr
        call iprobe_long(rank, int(key, int64), found, matched, ignored, ierr)
    end subroutine

    ! The bits of a key that do not count: none, if nothing is said.
    pure function bits(ignored) result(word)
        integer(int64), intent(in), optional :: ignored
        integer(int64) :: word
        word = 0
        if (present(ignored)) word = ignored
    end function

    ! Whether a request has ended. An error ends it too. `matched` tells what a receive got.
    subroutine hk_request_test(request, ended, matched, ierr)
        type(hk_request), intent(inout) :: request
        logical, intent(out) :: ended
        type(hk_matched), intent(out), optional :: matched
        integer, intent(out), optional :: ierr
        type(hk_matched) :: got
        integer(c_int) :: code
        code = c_request_test(request, got)
        ended = code /= 0
        if (present(matched)) matched = got
        call give(min(code, 0), ierr)
    end subroutine

    ! Waits for a request, for timeout_ms at most (HK_FOREVER). Every error but HK_ERR_TIMEOUT ends it.
    subroutine hk_request_wait(request, timeout_ms, matched, ierr)
        type(hk_request), intent(inout) :: request
        integer, intent(in), optional :: timeout_ms
        type(hk_matched), intent(out), optional :: matched
        integer, intent(out), optional :: ierr
        type(hk_matched) :: got
        integer(c_int) :: patience, code
        patience = HK_FOREVER
        if (present(timeout_ms)) patience = timeout_ms
        code = c_request_wait(request, patience, got)
        if (present(matched)) matched = got
        call give(code, ierr)
    end subroutine

    ! Ends a request, so that its array can be used. `received`: the message of a receive had come already, and `matched` tells of it.
    subroutine hk_request_cancel(request, received, matched, ierr)
        type(hk_request), intent(inout) :: request
        logical, intent(out), optional :: received
        type(hk_matched), intent(out), optional :: matched
        integer, intent(out), optional :: ierr
        type(hk_matched) :: got
        integer(c_int) :: code
        code = c_request_cancel(request, got)
        if (present(received)) received = code == 1
        if (present(matched)) matched = got
        call give(min(code, 0), ierr)
    end subroutine

    subroutine isend_i4(data, rank, key, request, ierr)
        integer(int32), target, contiguous, asynchronous, intent(in) :: data(:)
        integer, intent(in) :: rank
        integer(int64), intent(in) :: key
        type(hk_request), intent(out) :: request
        integer, intent(out), optional :: ierr
        call give(c_isend(c_loc(data), size(data, kind=c_size_t) * 4, rank, key, request), ierr)
    end subroutine

    subroutine isend_i4_short(data, rank, key, request, ierr)
        integer(int32), target, contiguous, asynchronous, intent(in) :: data(:)
        integer, intent(in) :: rank
        integer(int32), intent(in) :: key
        type(hk_request), intent(out) :: request
        integer, intent(out), optional :: ierr
        call give(c_isend(c_loc(data), size(data, kind=c_size_t) * 4, rank, int(key, int64), request), ierr)
    end subroutine

    subroutine irecv_i4(data, rank, key, request, ignored, ierr)
        integer(int32), target, contiguous, asynchronous, intent(inout) :: data(:)
        integer, intent(in) :: rank
        integer(int64), intent(in) :: key
        type(hk_request), intent(out) :: request
        integer(int64), intent(in), optional :: ignored
        integer, intent(out), optional :: ierr
        call give(c_irecv(c_loc(data), size(data, kind=c_size_t) * 4, rank, key, bits(ignored), request), ierr)
    end subroutine

    subroutine irecv_i4_short(data, rank, key, request, ignored, ierr)
        integer(int32), target, contiguous, asynchronous, intent(inout) :: data(:)
        integer, intent(in) :: rank
        integer(int32), intent(in) :: key
        type(hk_request), intent(out) :: request
        integer(int64), intent(in), optional :: ignored
        integer, intent(out), optional :: ierr
        call give(c_irecv(c_loc(data), size(data, kind=c_size_t) * 4, rank, int(key, int64), bits(ignored), request), ierr)
    end subroutine

    subroutine isend_i8(data, rank, key, request, ierr)
        integer(int64), target, contiguous, asynchronous, intent(in) :: data(:)
        integer, intent(in) :: rank
        integer(int64), intent(in) :: key
        type(hk_request), intent(out) :: request
        integer, intent(out), optional :: ierr
        call give(c_isend(c_loc(data), size(data, kind=c_size_t) * 8, rank, key, request), ierr)
    end subroutine

    subroutine isend_i8_short(data, rank, key, request, ierr)
        integer(int64), target, contiguous, asynchronous, intent(in) :: data(:)
        integer, intent(in) :: rank
        integer(int32), intent(in) :: key
        type(hk_request), intent(out) :: request
        integer, intent(out), optional :: ierr
        call give(c_isend(c_loc(data), size(data, kind=c_size_t) * 8, rank, int(key, int64), request), ierr)
    end subroutine

    subroutine irecv_i8(data, rank, key, request, ignored, ierr)
        integer(int64), target, contiguous, asynchronous, intent(inout) :: data(:)
        integer, intent(in) :: rank
        integer(int64), intent(in) :: key
        type(hk_request), intent(out) :: request
        integer(int64), intent(in), optional :: ignored
        integer, intent(out), optional :: ierr
        call give(c_irecv(c_loc(data), size(data, kind=c_size_t) * 8, rank, key, bits(ignored), request), ierr)
    end subroutine

    subroutine irecv_i8_short(data, rank, key, request, ignored, ierr)
        integer(int64), target, contiguous, asynchronous, intent(inout) :: data(:)
        integer, intent(in) :: rank
        integer(int32), intent(in) :: key
        type(hk_request), intent(out) :: request
        integer(int64), intent(in), optional :: ignored
        integer, intent(out), optional :: ierr
        call give(c_irecv(c_loc(data), size(data, kind=c_size_t) * 8, rank, int(key, int64), bits(ignored), request), ierr)
    end subroutine

    subroutine isend_r4(data, rank, key, request, ierr)
        real(real32), target, contiguous, asynchronous, intent(in) :: data(:)
        integer, intent(in) :: rank
        integer(int64), intent(in) :: key
        type(hk_request), intent(out) :: request
        integer, intent(out), optional :: ierr
        call give(c_isend(c_loc(data), size(data, kind=c_size_t) * 4, rank, key, request), ierr)
    end subroutine

    subroutine isend_r4_short(data, rank, key, request, ierr)
        real(real32), target, contiguous, asynchronous, intent(in) :: data(:)
        integer, intent(in) :: rank
        integer(int32), intent(in) :: key
        type(hk_request), intent(out) :: request
        integer, intent(out), optional :: ierr
        call give(c_isend(c_loc(data), size(data, kind=c_size_t) * 4, rank, int(key, int64), request), ierr)
    end subroutine

    subroutine irecv_r4(data, rank, key, request, ignored, ierr)
        real(real32), target, contiguous, asynchronous, intent(inout) :: data(:)
        integer, intent(in) :: rank
        integer(int64), intent(in) :: key
        type(hk_request), intent(out) :: request
        integer(int64), intent(in), optional :: ignored
        integer, intent(out), optional :: ierr
        call give(c_irecv(c_loc(data), size(data, kind=c_size_t) * 4, rank, key, bits(ignored), request), ierr)
    end subroutine

    subroutine irecv_r4_short(data, rank, key, request, ignored, ierr)
        real(real32), target, contiguous, asynchronous, intent(inout) :: data(:)
        integer, intent(in) :: rank
        integer(int32), intent(in) :: key
        type(hk_request), intent(out) :: request
        integer(int64), intent(in), optional :: ignored
        integer, intent(out), optional :: ierr
        call give(c_irecv(c_loc(data), size(data, kind=c_size_t) * 4, rank, int(key, int64), bits(ignored), request), ierr)
    end subroutine

    subroutine isend_r8(data, rank, key, request, ierr)
        real(real64), target, contiguous, asynchronous, intent(in) :: data(:)
        integer, intent(in) :: rank
        integer(int64), intent(in) :: key
        type(hk_request), intent(out) :: request
        integer, intent(out), optional :: ierr
        call give(c_isend(c_loc(data), size(data, kind=c_size_t) * 8, rank, key, request), ierr)
    end subroutine

    subroutine isend_r8_short(data, rank, key, request, ierr)
        real(real64), target, contiguous, asynchronous, intent(in) :: data(:)
        integer, intent(in) :: rank
        integer(int32), intent(in) :: key
        type(hk_request), intent(out) :: request
        integer, intent(out), optional :: ierr
        call give(c_isend(c_loc(data), size(data, kind=c_size_t) * 8, rank, int(key, int64), request), ierr)
    end subroutine

    subroutine irecv_r8(data, rank, key, request, ignored, ierr)
        real(real64), target, contiguous, asynchronous, intent(inout) :: data(:)
        integer, intent(in) :: rank
        integer(int64), intent(in) :: key
        type(hk_request), intent(out) :: request
        integer(int64), intent(in), optional :: ignored
        integer, intent(out), optional :: ierr
        call give(c_irecv(c_loc(data), size(data, kind=c_size_t) * 8, rank, key, bits(ignored), request), ierr)
    end subroutine

    subroutine irecv_r8_short(data, rank, key, request, ignored, ierr)
        real(real64), target, contiguous, asynchronous, intent(inout) :: data(:)
        integer, intent(in) :: rank
        integer(int32), intent(in) :: key
        type(hk_request), intent(out) :: request
        integer(int64), intent(in), optional :: ignored
        integer, intent(out), optional :: ierr
        call give(c_irecv(c_loc(data), size(data, kind=c_size_t) * 8, rank, int(key, int64), bits(ignored), request), ierr)
    end subroutine

    ! ---- messages of parts

    subroutine isend_stride(data, stride, rank, key, request, ierr)
        type(c_array), intent(in) :: data
        type(hk_stride), intent(in) :: stride
        integer, intent(in) :: rank
        class(*), intent(in) :: key
        type(hk_request), intent(inout) :: request
        integer, intent(out), optional :: ierr
        integer(int64) :: word
        if (.not. has_number(key, word, ierr)) return
        if (.not. has_blocks(stride, data%count, ierr)) return
        call give(c_isend_stride(data%start, in_bytes(stride, data%bytes), rank, word, request), ierr)
    end subroutine

    subroutine isend_bitmap(data, bitmap, rank, key, request, ierr)
        type(c_array), intent(in) :: data
        integer(int64), target, contiguous, intent(in) :: bitmap(:)
        integer, intent(in) :: rank
        class(*), intent(in) :: key
        type(hk_request), intent(inout) :: request
        integer, intent(out), optional :: ierr
        integer(int64) :: word
        if (.not. has_number(key, word, ierr)) return
        if (.not. has_bits(bitmap, data%count, ierr)) return
        call give(c_isend_bitmap(data%start, c_loc(bitmap), int(data%bytes, c_size_t), data%count, rank, word, request), ierr)
    end subroutine

    subroutine isend_diff(data, twin, rank, key, request, sent, ierr)
        type(c_array), intent(in) :: data, twin
        integer, intent(in) :: rank
        class(*), intent(in) :: key
        type(hk_request), intent(inout) :: request
        integer(int64), intent(out), optional :: sent
        integer, intent(out), optional :: ierr
        integer(int64) :: word
        integer(c_size_t) :: changed
        changed = 0
        call tell(changed, sent)
        if (.not. has_number(key, word, ierr)) return
        if (.not. are_twins(data%count, twin%count, ierr)) return
        call give(c_isend_diff(data%start, data%count * data%bytes, twin%start, int(data%bytes, c_size_t), rank, word, changed, &
                  request), ierr)
        call tell(changed, sent)
    end subroutine

    subroutine irecv_stride(data, stride, rank, key, request, ignored, ierr)
        type(c_array), intent(in) :: data
        type(hk_stride), intent(in) :: stride
        integer, intent(in) :: rank
        class(*), intent(in) :: key
        type(hk_request), intent(inout) :: request
        integer(int64), intent(in), optional :: ignored
        integer, intent(out), optional :: ierr
        integer(int64) :: word
        if (.not. has_number(key, word, ierr)) return
        if (.not. has_blocks(stride, data%count, ierr)) return
        call give(c_irecv_stride(data%start, in_bytes(stride, data%bytes), rank, word, bits(ignored), request), ierr)
    end subroutine

    subroutine irecv_bitmap(data, bitmap, rank, key, request, ignored, ierr)
        type(c_array), intent(in) :: data
        integer(int64), target, contiguous, intent(in) :: bitmap(:)
        integer, intent(in) :: rank
        class(*), intent(in) :: key
        type(hk_request), intent(inout) :: request
        integer(int64), intent(in), optional :: ignored
        integer, intent(out), optional :: ierr
        integer(int64) :: word
        if (.not. has_number(key, word, ierr)) return
        if (.not. has_bits(bitmap, data%count, ierr)) return
        call give(c_irecv_bitmap(data%start, c_loc(bitmap), int(data%bytes, c_size_t), data%count, rank, word, bits(ignored), &
                  request), ierr)
    end subroutine

    subroutine irecv_twin(data, twin, rank, key, request, ignored, ierr)
        type(c_array), intent(in) :: data, twin
        integer, intent(in) :: rank
        class(*), intent(in) :: key
        type(hk_request), intent(inout) :: request
        integer(int64), intent(in), optional :: ignored
        integer, intent(out), optional :: ierr
        integer(int64) :: word
        if (.not. has_number(key, word, ierr)) return
        if (.not. are_twins(data%count, twin%count, ierr)) return
        call give(c_irecv_twin(data%start, data%count * data%bytes, twin%start, rank, word, bits(ignored), request), ierr)
    end subroutine

    subroutine irecv_diff(data, rank, key, request, ignored, ierr)
        type(c_array), intent(in) :: data
        integer, intent(in) :: rank
        class(*), intent(in) :: key
        type(hk_request), intent(inout) :: request
        integer(int64), intent(in), optional :: ignored
        integer, intent(out), optional :: ierr
        integer(int64) :: word
        if (.not. has_number(key, word, ierr)) return
        call give(c_irecv_diff(data%start, data%count * data%bytes, int(data%bytes, c_size_t), rank, word, bits(ignored), &
                  request), ierr)
    end subroutine

    subroutine isend_stride_i4(data, stride, rank, key, request, ierr)
        integer(int32), target, contiguous, intent(in) :: data(:)
        type(hk_stride), intent(in) :: stride
        integer, intent(in) :: rank
        class(*), intent(in) :: key
        type(hk_request), intent(out) :: request
        integer, intent(out), optional :: ierr
        call isend_stride(array_of(data), stride, rank, key, request, ierr)
    end subroutine

    subroutine isend_stride_i8(data, stride, rank, key, request, ierr)
        integer(int64), target, contiguous, intent(in) :: data(:)
        type(hk_stride), intent(in) :: stride
        integer, intent(in) :: rank
        class(*), intent(in) :: key
        type(hk_request), intent(out) :: request
        integer, intent(out), optional :: ierr
        call isend_stride(array_of(data), stride, rank, key, request, ierr)
    end subroutine

    subroutine isend_stride_r4(data, stride, rank, key, request, ierr)
        real(real32), target, contiguous, intent(in) :: data(:)
        type(hk_stride), intent(in) :: stride
        integer, intent(in) :: rank
        class(*), intent(in) :: key
        type(hk_request), intent(out) :: request
        integer, intent(out), optional :: ierr
        call isend_stride(array_of(data), stride, rank, key, request, ierr)
    end subroutine

    subroutine isend_stride_r8(data, stride, rank, key, request, ierr)
        real(real64), target, contiguous, intent(in) :: data(:)
        type(hk_stride), intent(in) :: stride
        integer, intent(in) :: rank
        class(*), intent(in) :: key
        type(hk_request), intent(out) :: request
        integer, intent(out), optional :: ierr
        call isend_stride(array_of(data), stride, rank, key, request, ierr)
    end subroutine

    subroutine isend_bitmap_i4(data, bitmap, rank, key, request, ierr)
        integer(int32), target, contiguous, intent(in) :: data(:)
        integer(int64), target, contiguous, intent(in) :: bitmap(:)
        integer, intent(in) :: rank
        class(*), intent(in) :: key
        type(hk_request), intent(out) :: request
        integer, intent(out), optional :: ierr
        call isend_bitmap(array_of(data), bitmap, rank, key, request, ierr)
    end subroutine

    subroutine isend_bitmap_i8(data, bitmap, rank, key, request, ierr)
        integer(int64), target, contiguous, intent(in) :: data(:)
        integer(int64), target, contiguous, intent(in) :: bitmap(:)
        integer, intent(in) :: rank
        class(*), intent(in) :: key
        type(hk_request), intent(out) :: request
        integer, intent(out), optional :: ierr
        call isend_bitmap(array_of(data), bitmap, rank, key, request, ierr)
    end subroutine

    subroutine isend_bitmap_r4(data, bitmap, rank, key, request, ierr)
        real(real32), target, contiguous, intent(in) :: data(:)
        integer(int64), target, contiguous, intent(in) :: bitmap(:)
        integer, intent(in) :: rank
        class(*), intent(in) :: key
        type(hk_request), intent(out) :: request
        integer, intent(out), optional :: ierr
        call isend_bitmap(array_of(data), bitmap, rank, key, request, ierr)
    end subroutine

    subroutine isend_bitmap_r8(data, bitmap, rank, key, request, ierr)
        real(real64), target, contiguous, intent(in) :: data(:)
        integer(int64), target, contiguous, intent(in) :: bitmap(:)
        integer, intent(in) :: rank
        class(*), intent(in) :: key
        type(hk_request), intent(out) :: request
        integer, intent(out), optional :: ierr
        call isend_bitmap(array_of(data), bitmap, rank, key, request, ierr)
    end subroutine

    subroutine isend_diff_i4(data, twin, rank, key, request, sent, ierr)
        integer(int32), target, contiguous, intent(in) :: data(:)
        integer(int32), target, contiguous, intent(inout) :: twin(:)
        integer, intent(in) :: rank
        class(*), intent(in) :: key
        type(hk_request), intent(out) :: request
        integer(int64), intent(out), optional :: sent
        integer, intent(out), optional :: ierr
        call isend_diff(array_of(data), array_of(twin), rank, key, request, sent, ierr)
    end subroutine

    subroutine isend_diff_i8(data, twin, rank, key, request, sent, ierr)
        integer(int64), target, contiguous, intent(in) :: data(:)
        integer(int64), target, contiguous, intent(inout) :: twin(:)
        integer, intent(in) :: rank
        class(*), intent(in) :: key
        type(hk_request), intent(out) :: request
        integer(int64), intent(out), optional :: sent
        integer, intent(out), optional :: ierr
        call isend_diff(array_of(data), array_of(twin), rank, key, request, sent, ierr)
    end subroutine

    subroutine isend_diff_r4(data, twin, rank, key, request, sent, ierr)
        real(real32), target, contiguous, intent(in) :: data(:)
        real(real32), target, contiguous, intent(inout) :: twin(:)
        integer, intent(in) :: rank
        class(*), intent(in) :: key
        type(hk_request), intent(out) :: request
        integer(int64), intent(out), optional :: sent
        integer, intent(out), optional :: ierr
        call isend_diff(array_of(data), array_of(twin), rank, key, request, sent, ierr)
    end subroutine

    subroutine isend_diff_r8(data, twin, rank, key, request, sent, ierr)
        real(real64), target, contiguous, intent(in) :: data(:)
        real(real64), target, contiguous, intent(inout) :: twin(:)
        integer, intent(in) :: rank
        class(*), intent(in) :: key
        type(hk_request), intent(out) :: request
        integer(int64), intent(out), optional :: sent
        integer, intent(out), optional :: ierr
        call isend_diff(array_of(data), array_of(twin), rank, key, request, sent, ierr)
    end subroutine

    subroutine irecv_stride_i4(data, stride, rank, key, request, ignored, ierr)
        integer(int32), target, contiguous, asynchronous, intent(inout) :: data(:)
        type(hk_stride), intent(in) :: stride
        integer, intent(in) :: rank
        class(*), intent(in) :: key
        type(hk_request), intent(out) :: request
        integer(int64), intent(in), optional :: ignored
        integer, intent(out), optional :: ierr
        call irecv_stride(array_of(data), stride, rank, key, request, ignored, ierr)
    end subroutine

    subroutine irecv_stride_i8(data, stride, rank, key, request, ignored, ierr)
        integer(int64), target, contiguous, asynchronous, intent(inout) :: data(:)
        type(hk_stride), intent(in) :: stride
        integer, intent(in) :: rank
        class(*), intent(in) :: key
        type(hk_request), intent(out) :: request
        integer(int64), intent(in), optional :: ignored
        integer, intent(out), optional :: ierr
        call irecv_stride(array_of(data), stride, rank, key, request, ignored, ierr)
    end subroutine

    subroutine irecv_stride_r4(data, stride, rank, key, request, ignored, ierr)
        real(real32), target, contiguous, asynchronous, intent(inout) :: data(:)
        type(hk_stride), intent(in) :: stride
        integer, intent(in) :: rank
        class(*), intent(in) :: key
        type(hk_request), intent(out) :: request
        integer(int64), intent(in), optional :: ignored
        integer, intent(out), optional :: ierr
        call irecv_stride(array_of(data), stride, rank, key, request, ignored, ierr)
    end subroutine

    subroutine irecv_stride_r8(data, stride, rank, key, request, ignored, ierr)
        real(real64), target, contiguous, asynchronous, intent(inout) :: data(:)
        type(hk_stride), intent(in) :: stride
        integer, intent(in) :: rank
        class(*), intent(in) :: key
        type(hk_request), intent(out) :: request
        integer(int64), intent(in), optional :: ignored
        integer, intent(out), optional :: ierr
        call irecv_stride(array_of(data), stride, rank, key, request, ignored, ierr)
    end subroutine

    subroutine irecv_bitmap_i4(data, bitmap, rank, key, request, ignored, ierr)
        integer(int32), target, contiguous, asynchronous, intent(inout) :: data(:)
        integer(int64), target, contiguous, intent(in) :: bitmap(:)
        integer, intent(in) :: rank
        class(*), intent(in) :: key
        type(hk_request), intent(out) :: request
        integer(int64), intent(in), optional :: ignored
        integer, intent(out), optional :: ierr
        call irecv_bitmap(array_of(data), bitmap, rank, key, request, ignored, ierr)
    end subroutine

    subroutine irecv_bitmap_i8(data, bitmap, rank, key, request, ignored, ierr)
        integer(int64), target, contiguous, asynchronous, intent(inout) :: data(:)
        integer(int64), target, contiguous, intent(in) :: bitmap(:)
        integer, intent(in) :: rank
        class(*), intent(in) :: key
        type(hk_request), intent(out) :: request
        integer(int64), intent(in), optional :: ignored
        integer, intent(out), optional :: ierr
        call irecv_bitmap(array_of(data), bitmap, rank, key, request, ignored, ierr)
    end subroutine

    subroutine irecv_bitmap_r4(data, bitmap, rank, key, request, ignored, ierr)
        real(real32), target, contiguous, asynchronous, intent(inout) :: data(:)
        integer(int64), target, contiguous, intent(in) :: bitmap(:)
        integer, intent(in) :: rank
        class(*), intent(in) :: key
        type(hk_request), intent(out) :: request
        integer(int64), intent(in), optional :: ignored
        integer, intent(out), optional :: ierr
        call irecv_bitmap(array_of(data), bitmap, rank, key, request, ignored, ierr)
    end subroutine

    subroutine irecv_bitmap_r8(data, bitmap, rank, key, request, ignored, ierr)
        real(real64), target, contiguous, asynchronous, intent(inout) :: data(:)
        integer(int64), target, contiguous, intent(in) :: bitmap(:)
        integer, intent(in) :: rank
        class(*), intent(in) :: key
        type(hk_request), intent(out) :: request
        integer(int64), intent(in), optional :: ignored
        integer, intent(out), optional :: ierr
        call irecv_bitmap(array_of(data), bitmap, rank, key, request, ignored, ierr)
    end subroutine

    subroutine irecv_twin_i4(data, twin, rank, key, request, ignored, ierr)
        integer(int32), target, contiguous, asynchronous, intent(inout) :: data(:)
        integer(int32), target, contiguous, asynchronous, intent(inout) :: twin(:)
        integer, intent(in) :: rank
        class(*), intent(in) :: key
        type(hk_request), intent(out) :: request
        integer(int64), intent(in), optional :: ignored
        integer, intent(out), optional :: ierr
        call irecv_twin(array_of(data), array_of(twin), rank, key, request, ignored, ierr)
    end subroutine

    subroutine irecv_twin_i8(data, twin, rank, key, request, ignored, ierr)
        integer(int64), target, contiguous, asynchronous, intent(inout) :: data(:)
        integer(int64), target, contiguous, asynchronous, intent(inout) :: twin(:)
        integer, intent(in) :: rank
        class(*), intent(in) :: key
        type(hk_request), intent(out) :: request
        integer(int64), intent(in), optional :: ignored
        integer, intent(out), optional :: ierr
        call irecv_twin(array_of(data), array_of(twin), rank, key, request, ignored, ierr)
    end subroutine

    subroutine irecv_twin_r4(data, twin, rank, key, request, ignored, ierr)
        real(real32), target, contiguous, asynchronous, intent(inout) :: data(:)
        real(real32), target, contiguous, asynchronous, intent(inout) :: twin(:)
        integer, intent(in) :: rank
        class(*), intent(in) :: key
        type(hk_request), intent(out) :: request
        integer(int64), intent(in), optional :: ignored
        integer, intent(out), optional :: ierr
        call irecv_twin(array_of(data), array_of(twin), rank, key, request, ignored, ierr)
    end subroutine

    subroutine irecv_twin_r8(data, twin, rank, key, request, ignored, ierr)
        real(real64), target, contiguous, asynchronous, intent(inout) :: data(:)
        real(real64), target, contiguous, asynchronous, intent(inout) :: twin(:)
        integer, intent(in) :: rank
        class(*), intent(in) :: key
        type(hk_request), intent(out) :: request
        integer(int64), intent(in), optional :: ignored
        integer, intent(out), optional :: ierr
        call irecv_twin(array_of(data), array_of(twin), rank, key, request, ignored, ierr)
    end subroutine

    subroutine irecv_diff_i4(data, rank, key, request, ignored, ierr)
        integer(int32), target, contiguous, asynchronous, intent(inout) :: data(:)
        integer, intent(in) :: rank
        class(*), intent(in) :: key
        type(hk_request), intent(out) :: request
        integer(int64), intent(in), optional :: ignored
        integer, intent(out), optional :: ierr
        call irecv_diff(array_of(data), rank, key, request, ignored, ierr)
    end subroutine

    subroutine irecv_diff_i8(data, rank, key, request, ignored, ierr)
        integer(int64), target, contiguous, asynchronous, intent(inout) :: data(:)
        integer, intent(in) :: rank
        class(*), intent(in) :: key
        type(hk_request), intent(out) :: request
        integer(int64), intent(in), optional :: ignored
        integer, intent(out), optional :: ierr
        call irecv_diff(array_of(data), rank, key, request, ignored, ierr)
    end subroutine

    subroutine irecv_diff_r4(data, rank, key, request, ignored, ierr)
        real(real32), target, contiguous, asynchronous, intent(inout) :: data(:)
        integer, intent(in) :: rank
        class(*), intent(in) :: key
        type(hk_request), intent(out) :: request
        integer(int64), intent(in), optional :: ignored
        integer, intent(out), optional :: ierr
        call irecv_diff(array_of(data), rank, key, request, ignored, ierr)
    end subroutine

    subroutine irecv_diff_r8(data, rank, key, request, ignored, ierr)
        real(real64), target, contiguous, asynchronous, intent(inout) :: data(:)
        integer, intent(in) :: rank
        class(*), intent(in) :: key
        type(hk_request), intent(out) :: request
        integer(int64), intent(in), optional :: ignored
        integer, intent(out), optional :: ierr
        call irecv_diff(array_of(data), rank, key, request, ignored, ierr)
    end subroutine

    ! ---- message exchange

    ! Prepares it: room for so many messages of each rank, and so many bytes of longer ones; the usual, if nothing is said. All ranks
    ! call it together, with the same arguments.
    subroutine hk_exchange_open(messages, bytes, ierr)
        class(*), intent(in), optional :: messages, bytes
        integer, intent(out), optional :: ierr
        integer(int64) :: room(2)
        if (has_room(messages, bytes, room, ierr)) call give(c_exchange_open(room(1), room(2)), ierr)
    end subroutine

    ! The same by packets that a full receiver refuses and that are sent again, to compare; all other calls are the same.
    subroutine hk_exchange_open_packets(messages, bytes, ierr)
        class(*), intent(in), optional :: messages, bytes
        integer, intent(out), optional :: ierr
        integer(int64) :: room(2)
        if (has_room(messages, bytes, room, ierr)) call give(c_exchange_open_packets(room(1), room(2)), ierr)
    end subroutine

    logical function has_room(messages, bytes, room, ierr)
        class(*), intent(in), optional :: messages, bytes
        integer(int64), intent(out) :: room(2)
        integer, intent(out), optional :: ierr
        room = 0
        has_room = .true.
        if (present(messages)) has_room = has_number(messages, room(1), ierr)
        if (has_room .and. present(bytes)) has_room = has_number(bytes, room(2), ierr)
    end function

    ! Ends it; messages that nobody has received are gone. All ranks call it together.
    subroutine hk_exchange_close(ierr)
        integer, intent(out), optional :: ierr
        call give(c_exchange_close(), ierr)
    end subroutine

    ! Whether there is a message of `rank`, or of HK_ANYONE, under the tag but for the bits of `ignored`. It stays there.
    subroutine hk_exchange_iprobe(rank, tag, found, matched, ignored, ierr)
        integer, intent(in) :: rank
        class(*), intent(in) :: tag
        logical, intent(out) :: found
        type(hk_matched), intent(out), optional :: matched
        integer(int64), intent(in), optional :: ignored
        integer, intent(out), optional :: ierr
        type(hk_matched) :: seen
        integer(int64) :: word
        integer(c_int) :: code
        found = .false.
        if (.not. has_number(tag, word, ierr)) return
        code = c_exchange_iprobe(rank, word, bits(ignored), seen)
        found = code == 1
        if (present(matched)) matched = seen
        call give(min(code, 0), ierr)
    end subroutine

    ! How long to wait: forever, if nothing is said.
    pure function patience(timeout_ms) result(ms)
        integer, intent(in), optional :: timeout_ms
        integer(c_int) :: ms
        ms = HK_FOREVER
        if (present(timeout_ms)) ms = timeout_ms
    end function

    subroutine exchange_send(data, rank, tag, ierr)
        type(c_array), intent(in) :: data
        integer, intent(in) :: rank
        class(*), intent(in) :: tag
        integer, intent(out), optional :: ierr
        integer(int64) :: word
        if (.not. has_number(tag, word, ierr)) return
        call give(c_exchange_send(data%start, data%count * data%bytes, rank, word), ierr)
    end subroutine

    subroutine exchange_recv(data, rank, tag, matched, ignored, timeout_ms, ierr)
        type(c_array), intent(in) :: data
        integer, intent(in) :: rank
        class(*), intent(in) :: tag
        type(hk_matched), intent(inout), optional :: matched
        integer(int64), intent(in), optional :: ignored
        integer, intent(in), optional :: timeout_ms
        integer, intent(out), optional :: ierr
        type(hk_matched) :: got
        integer(int64) :: word
        integer(c_int) :: code
        if (.not. has_number(tag, word, ierr)) return
        code = c_exchange_recv(data%start, data%count * data%bytes, rank, word, bits(ignored), patience(timeout_ms), got)
        if (present(matched)) matched = got
        call give(code, ierr)
    end subroutine

    subroutine exchange_send_i4(data, rank, tag, ierr)
        integer(int32), target, contiguous, intent(in) :: data(:)
        integer, intent(in) :: rank
        class(*), intent(in) :: tag
        integer, intent(out), optional :: ierr
        call exchange_send(array_of(data), rank, tag, ierr)
    end subroutine

    subroutine exchange_send_i8(data, rank, tag, ierr)
        integer(int64), target, contiguous, intent(in) :: data(:)
        integer, intent(in) :: rank
        class(*), intent(in) :: tag
        integer, intent(out), optional :: ierr
        call exchange_send(array_of(data), rank, tag, ierr)
    end subroutine

    subroutine exchange_send_r4(data, rank, tag, ierr)
        real(real32), target, contiguous, intent(in) :: data(:)
        integer, intent(in) :: rank
        class(*), intent(in) :: tag
        integer, intent(out), optional :: ierr
        call exchange_send(array_of(data), rank, tag, ierr)
    end subroutine

    subroutine exchange_send_r8(data, rank, tag, ierr)
        real(real64), target, contiguous, intent(in) :: data(:)
        integer, intent(in) :: rank
        class(*), intent(in) :: tag
        integer, intent(out), optional :: ierr
        call exchange_send(array_of(data), rank, tag, ierr)
    end subroutine

    subroutine exchange_recv_i4(data, rank, tag, matched, ignored, timeout_ms, ierr)
        integer(int32), target, contiguous, intent(inout) :: data(:)
        integer, intent(in) :: rank
        class(*), intent(in) :: tag
        type(hk_matched), intent(out), optional :: matched
        integer(int64), intent(in), optional :: ignored
        integer, intent(in), optional :: timeout_ms
        integer, intent(out), optional :: ierr
        call exchange_recv(array_of(data), rank, tag, matched, ignored, timeout_ms, ierr)
    end subroutine

    subroutine exchange_recv_i8(data, rank, tag, matched, ignored, timeout_ms, ierr)
        integer(int64), target, contiguous, intent(inout) :: data(:)
        integer, intent(in) :: rank
        class(*), intent(in) :: tag
        type(hk_matched), intent(out), optional :: matched
        integer(int64), intent(in), optional :: ignored
        integer, intent(in), optional :: timeout_ms
        integer, intent(out), optional :: ierr
        call exchange_recv(array_of(data), rank, tag, matched, ignored, timeout_ms, ierr)
    end subroutine

    subroutine exchange_recv_r4(data, rank, tag, matched, ignored, timeout_ms, ierr)
        real(real32), target, contiguous, intent(inout) :: data(:)
        integer, intent(in) :: rank
        class(*), intent(in) :: tag
        type(hk_matched), intent(out), optional :: matched
        integer(int64), intent(in), optional :: ignored
        integer, intent(in), optional :: timeout_ms
        integer, intent(out), optional :: ierr
        call exchange_recv(array_of(data), rank, tag, matched, ignored, timeout_ms, ierr)
    end subroutine

    subroutine exchange_recv_r8(data, rank, tag, matched, ignored, timeout_ms, ierr)
        real(real64), target, contiguous, intent(inout) :: data(:)
        integer, intent(in) :: rank
        class(*), intent(in) :: tag
        type(hk_matched), intent(out), optional :: matched
        integer(int64), intent(in), optional :: ignored
        integer, intent(in), optional :: timeout_ms
        integer, intent(out), optional :: ierr
        call exchange_recv(array_of(data), rank, tag, matched, ignored, timeout_ms, ierr)
    end subroutine

    ! ---- messages by any engine

    ! Prepares them, by an engine; `slots` is for HK_ENGINE_SLOTS. All ranks call it together, with the same arguments.
    subroutine hk_passing_open(engine, slots, ierr)
        integer, intent(in) :: engine
        integer, intent(in), optional :: slots
        integer, intent(out), optional :: ierr
        integer(c_size_t) :: room
        room = 0
        if (present(slots)) room = slots
        call give(c_passing_open(engine, room), ierr)
    end subroutine

    ! Ends them; messages that nobody has received are gone. All ranks call it together.
    subroutine hk_passing_close(ierr)
        integer, intent(out), optional :: ierr
        call give(c_passing_close(), ierr)
    end subroutine

    ! Waits for the next message of `rank` under the tag, which stays; how many bytes it has.
    subroutine hk_passing_probe(rank, tag, bytes, ierr)
        integer, intent(in) :: rank
        class(*), intent(in) :: tag
        integer(int64), intent(out) :: bytes
        integer, intent(out), optional :: ierr
        integer(int64) :: word
        integer(c_size_t) :: count
        bytes = 0
        count = 0
        if (.not. has_number(tag, word, ierr)) return
        call give(c_passing_probe(rank, word, count), ierr)
        bytes = count
    end subroutine

    subroutine passing_send(data, rank, tag, ierr)
        type(c_array), intent(in) :: data
        integer, intent(in) :: rank
        class(*), intent(in) :: tag
        integer, intent(out), optional :: ierr
        integer(int64) :: word
        if (.not. has_number(tag, word, ierr)) return
        call give(c_passing_send(data%start, data%count * data%bytes, rank, word), ierr)
    end subroutine

    ! `bytes` gets how many have come.
    subroutine passing_recv(data, rank, tag, bytes, timeout_ms, ierr)
        type(c_array), intent(in) :: data
        integer, intent(in) :: rank
        class(*), intent(in) :: tag
        integer(int64), intent(out), optional :: bytes
        integer, intent(in), optional :: timeout_ms
        integer, intent(out), optional :: ierr
        integer(int64) :: word
        integer(c_size_t) :: got
        got = 0
        call tell(got, bytes)
        if (.not. has_number(tag, word, ierr)) return
        call give(c_passing_recv(data%start, data%count * data%bytes, rank, word, patience(timeout_ms), got), ierr)
        call tell(got, bytes)
    end subroutine

    subroutine passing_send_i4(data, rank, tag, ierr)
        integer(int32), target, contiguous, intent(in) :: data(:)
        integer, intent(in) :: rank
        class(*), intent(in) :: tag
        integer, intent(out), optional :: ierr
        call passing_send(array_of(data), rank, tag, ierr)
    end subroutine

    subroutine passing_send_i8(data, rank, tag, ierr)
        integer(int64), target, contiguous, intent(in) :: data(:)
        integer, intent(in) :: rank
        class(*), intent(in) :: tag
        integer, intent(out), optional :: ierr
        call passing_send(array_of(data), rank, tag, ierr)
    end subroutine

    subroutine passing_send_r4(data, rank, tag, ierr)
        real(real32), target, contiguous, intent(in) :: data(:)
        integer, intent(in) :: rank
        class(*), intent(in) :: tag
        integer, intent(out), optional :: ierr
        call passing_send(array_of(data), rank, tag, ierr)
    end subroutine

    subroutine passing_send_r8(data, rank, tag, ierr)
        real(real64), target, contiguous, intent(in) :: data(:)
        integer, intent(in) :: rank
        class(*), intent(in) :: tag
        integer, intent(out), optional :: ierr
        call passing_send(array_of(data), rank, tag, ierr)
    end subroutine

    subroutine passing_recv_i4(data, rank, tag, bytes, timeout_ms, ierr)
        integer(int32), target, contiguous, intent(inout) :: data(:)
        integer, intent(in) :: rank
        class(*), intent(in) :: tag
        integer(int64), intent(out), optional :: bytes
        integer, intent(in), optional :: timeout_ms
        integer, intent(out), optional :: ierr
        call passing_recv(array_of(data), rank, tag, bytes, timeout_ms, ierr)
    end subroutine

    subroutine passing_recv_i8(data, rank, tag, bytes, timeout_ms, ierr)
        integer(int64), target, contiguous, intent(inout) :: data(:)
        integer, intent(in) :: rank
        class(*), intent(in) :: tag
        integer(int64), intent(out), optional :: bytes
        integer, intent(in), optional :: timeout_ms
        integer, intent(out), optional :: ierr
        call passing_recv(array_of(data), rank, tag, bytes, timeout_ms, ierr)
    end subroutine

    subroutine passing_recv_r4(data, rank, tag, bytes, timeout_ms, ierr)
        real(real32), target, contiguous, intent(inout) :: data(:)
        integer, intent(in) :: rank
        class(*), intent(in) :: tag
        integer(int64), intent(out), optional :: bytes
        integer, intent(in), optional :: timeout_ms
        integer, intent(out), optional :: ierr
        call passing_recv(array_of(data), rank, tag, bytes, timeout_ms, ierr)
    end subroutine

    subroutine passing_recv_r8(data, rank, tag, bytes, timeout_ms, ierr)
        real(real64), target, contiguous, intent(inout) :: data(:)
        integer, intent(in) :: rank
        class(*), intent(in) :: tag
        integer(int64), intent(out), optional :: bytes
        integer, intent(in), optional :: timeout_ms
        integer, intent(out), optional :: ierr
        call passing_recv(array_of(data), rank, tag, bytes, timeout_ms, ierr)
    end subroutine

    ! ---- shared regions

    ! Makes a region of `count` elements of `bytes` bytes, 8 for real(8), with its first copy at `home`. All ranks call it together, with
    ! the same arguments.
    subroutine hk_region_create(home, count, bytes, region, ierr)
        integer, intent(in) :: home, bytes
        class(*), intent(in) :: count
        type(hk_region), intent(out) :: region
        integer, intent(out), optional :: ierr
        integer(int64) :: elements
        integer(c_int) :: code
        if (.not. has_number(count, elements, ierr)) return
        if (.not. has_size(bytes, ierr)) return
        region%bytes = bytes_of(elements, bytes)
        code = c_region_create(home, region%bytes, region%handle)
        if (code /= HK_SUCCESS) region = hk_region()
        call give(code, ierr)
    end subroutine

    ! Frees a region. All ranks call it together.
    subroutine hk_region_free(region, ierr)
        type(hk_region), intent(inout) :: region
        integer, intent(out), optional :: ierr
        call give(c_region_free(c_area(region%handle)), ierr)
        region = hk_region()
    end subroutine

    ! This rank gets a copy of what the region has now, and from then on what others write.
    subroutine hk_subscribe(region, ierr)
        type(hk_region), intent(in) :: region
        integer, intent(out), optional :: ierr
        call give(c_subscribe(c_area(region%handle)), ierr)
    end subroutine

    ! It gives the copy up.
    subroutine hk_unsubscribe(region, ierr)
        type(hk_region), intent(in) :: region
        integer, intent(out), optional :: ierr
        call give(c_unsubscribe(c_area(region%handle)), ierr)
    end subroutine

    ! Elements of a region are counted in those of the type that the call transfers.
    pure function region_at_short(region, index) result(place)
        class(hk_region), intent(in) :: region
        integer(int32), intent(in) :: index
        type(hk_region_place) :: place
        place = region%region_at_long(int(index, int64))
    end function

    pure function region_at_long(region, index) result(place)
        class(hk_region), intent(in) :: region
        integer(int64), intent(in) :: index
        type(hk_region_place) :: place
        place%handle = region%handle
        place%index = index
    end function

    ! An element has bytes; else an error is given.
    function has_size(bytes, ierr) result(is_one)
        integer, intent(in) :: bytes
        integer, intent(out), optional :: ierr
        logical :: is_one
        is_one = bytes > 0
        if (.not. is_one) call refuse('an element has at least one byte', ierr)
    end function

    ! Likewise, an array and its twin are as long as a region. One that is none is left to the library.
    function are_all_of(region, data, twin, ierr) result(equal)
        type(hk_region), intent(in) :: region
        type(c_array), intent(in) :: data, twin
        integer, intent(out), optional :: ierr
        logical :: equal
        equal = are_twins(data%count, twin%count, ierr)
        if (.not. equal .or. region%handle == 0) return
        equal = data%count * data%bytes == region%bytes
        if (.not. equal) call refuse('the array is not as long as the region', ierr)
    end function

    subroutine region_read(data, from, ierr)
        type(c_array), intent(in) :: data
        type(hk_region_place), intent(in) :: from
        integer, intent(out), optional :: ierr
        call give(c_region_read(data%start, c_area(from%handle), offset_of(from%index, data%bytes), data%count * data%bytes), ierr)
    end subroutine

    subroutine region_read_twin(data, region, twin, ierr)
        type(c_array), intent(in) :: data, twin
        type(hk_region), intent(in) :: region
        integer, intent(out), optional :: ierr
        if (.not. are_all_of(region, data, twin, ierr)) return
        call give(c_region_read_twin(data%start, c_area(region%handle), twin%start), ierr)
    end subroutine

    subroutine region_write(data, to, ierr)
        type(c_array), intent(in) :: data
        type(hk_region_place), intent(in) :: to
        integer, intent(out), optional :: ierr
        call give(c_region_write(data%start, c_area(to%handle), offset_of(to%index, data%bytes), data%count * data%bytes), ierr)
    end subroutine

    ! Who has a copy now, the home always: `ranks` gets the first of them, in the order of ranks, and `count` how many they are.
    subroutine hk_region_sharers(region, ranks, count, ierr)
        type(hk_region), intent(in) :: region
        integer(c_int), target, contiguous, intent(inout) :: ranks(:)
        integer, intent(out) :: count
        integer, intent(out), optional :: ierr
        integer(c_size_t) :: sharers
        sharers = 0
        count = 0
        call give(c_region_sharers(c_area(region%handle), c_loc(ranks), size(ranks, kind=c_size_t), sharers), ierr)
        count = int(sharers)
    end subroutine

    subroutine region_write_bitmap(data, to, bitmap, ierr)
        type(c_array), intent(in) :: data
        type(hk_region_place), intent(in) :: to
        integer(int64), target, contiguous, intent(in) :: bitmap(:)
        integer, intent(out), optional :: ierr
        if (.not. has_bits(bitmap, data%count, ierr)) return
        call give(c_region_write_bitmap(data%start, c_area(to%handle), offset_of(to%index, data%bytes), c_loc(bitmap), &
                  int(data%bytes, c_size_t), data%count), ierr)
    end subroutine

    subroutine region_write_bitmap_i4(data, to, bitmap, ierr)
        integer(int32), target, contiguous, intent(in) :: data(:)
        type(hk_region_place), intent(in) :: to
        integer(int64), target, contiguous, intent(in) :: bitmap(:)
        integer, intent(out), optional :: ierr
        call region_write_bitmap(array_of(data), to, bitmap, ierr)
    end subroutine

    subroutine region_write_bitmap_i8(data, to, bitmap, ierr)
        integer(int64), target, contiguous, intent(in) :: data(:)
        type(hk_region_place), intent(in) :: to
        integer(int64), target, contiguous, intent(in) :: bitmap(:)
        integer, intent(out), optional :: ierr
        call region_write_bitmap(array_of(data), to, bitmap, ierr)
    end subroutine

    subroutine region_write_bitmap_r4(data, to, bitmap, ierr)
        real(real32), target, contiguous, intent(in) :: data(:)
        type(hk_region_place), intent(in) :: to
        integer(int64), target, contiguous, intent(in) :: bitmap(:)
        integer, intent(out), optional :: ierr
        call region_write_bitmap(array_of(data), to, bitmap, ierr)
    end subroutine

    subroutine region_write_bitmap_r8(data, to, bitmap, ierr)
        real(real64), target, contiguous, intent(in) :: data(:)
        type(hk_region_place), intent(in) :: to
        integer(int64), target, contiguous, intent(in) :: bitmap(:)
        integer, intent(out), optional :: ierr
        call region_write_bitmap(array_of(data), to, bitmap, ierr)
    end subroutine

    subroutine push_by_i4(path, data, to, ierr)
        integer, intent(in) :: path
        integer(int32), target, contiguous, intent(in) :: data(:)
        type(hk_place), intent(in) :: to
        integer, intent(out), optional :: ierr
        type(c_array) :: bytes
        bytes = array_of(data)
        call give(c_push_by(path, bytes%start, to%rank, c_area(to%handle), offset_of(to%index, bytes%bytes), &
                  bytes%count * bytes%bytes), ierr)
    end subroutine

    subroutine push_by_i8(path, data, to, ierr)
        integer, intent(in) :: path
        integer(int64), target, contiguous, intent(in) :: data(:)
        type(hk_place), intent(in) :: to
        integer, intent(out), optional :: ierr
        type(c_array) :: bytes
        bytes = array_of(data)
        call give(c_push_by(path, bytes%start, to%rank, c_area(to%handle), offset_of(to%index, bytes%bytes), &
                  bytes%count * bytes%bytes), ierr)
    end subroutine

    subroutine push_by_r4(path, data, to, ierr)
        integer, intent(in) :: path
        real(real32), target, contiguous, intent(in) :: data(:)
        type(hk_place), intent(in) :: to
        integer, intent(out), optional :: ierr
        type(c_array) :: bytes
        bytes = array_of(data)
        call give(c_push_by(path, bytes%start, to%rank, c_area(to%handle), offset_of(to%index, bytes%bytes), &
                  bytes%count * bytes%bytes), ierr)
    end subroutine

    subroutine push_by_r8(path, data, to, ierr)
        integer, intent(in) :: path
        real(real64), target, contiguous, intent(in) :: data(:)
        type(hk_place), intent(in) :: to
        integer, intent(out), optional :: ierr
        type(c_array) :: bytes
        bytes = array_of(data)
        call give(c_push_by(path, bytes%start, to%rank, c_area(to%handle), offset_of(to%index, bytes%bytes), &
                  bytes%count * bytes%bytes), ierr)
    end subroutine

    subroutine region_write_diff(data, region, twin, written, ierr)
        type(c_array), intent(in) :: data, twin
        type(hk_region), intent(in) :: region
        integer(int64), intent(out), optional :: written
        integer, intent(out), optional :: ierr
        integer(c_size_t) :: count
        count = 0
        call tell(count, written)
        if (.not. are_all_of(region, data, twin, ierr)) return
        call give(c_region_write_diff(data%start, c_area(region%handle), twin%start, int(data%bytes, c_size_t), count), ierr)
        call tell(count, written)
    end subroutine

    subroutine region_refresh(data, region, twin, changed, ierr)
        type(c_array), intent(in) :: data, twin
        type(hk_region), intent(in) :: region
        integer(int64), intent(out), optional :: changed
        integer, intent(out), optional :: ierr
        integer(c_size_t) :: count
        count = 0
        call tell(count, changed)
        if (.not. are_all_of(region, data, twin, ierr)) return
        call give(c_region_refresh(data%start, c_area(region%handle), twin%start, int(data%bytes, c_size_t), count), ierr)
        call tell(count, changed)
    end subroutine

    subroutine region_read_i4(data, from, ierr)
        integer(int32), target, contiguous, intent(inout) :: data(:)
        type(hk_region_place), intent(in) :: from
        integer, intent(out), optional :: ierr
        call region_read(array_of(data), from, ierr)
    end subroutine

    subroutine region_read_i8(data, from, ierr)
        integer(int64), target, contiguous, intent(inout) :: data(:)
        type(hk_region_place), intent(in) :: from
        integer, intent(out), optional :: ierr
        call region_read(array_of(data), from, ierr)
    end subroutine

    subroutine region_read_r4(data, from, ierr)
        real(real32), target, contiguous, intent(inout) :: data(:)
        type(hk_region_place), intent(in) :: from
        integer, intent(out), optional :: ierr
        call region_read(array_of(data), from, ierr)
    end subroutine

    subroutine region_read_r8(data, from, ierr)
        real(real64), target, contiguous, intent(inout) :: data(:)
        type(hk_region_place), intent(in) :: from
        integer, intent(out), optional :: ierr
        call region_read(array_of(data), from, ierr)
    end subroutine

    subroutine region_read_twin_i4(data, region, twin, ierr)
        integer(int32), target, contiguous, intent(inout) :: data(:)
        type(hk_region), intent(in) :: region
        integer(int32), target, contiguous, intent(inout) :: twin(:)
        integer, intent(out), optional :: ierr
        call region_read_twin(array_of(data), region, array_of(twin), ierr)
    end subroutine

    subroutine region_read_twin_i8(data, region, twin, ierr)
        integer(int64), target, contiguous, intent(inout) :: data(:)
        type(hk_region), intent(in) :: region
        integer(int64), target, contiguous, intent(inout) :: twin(:)
        integer, intent(out), optional :: ierr
        call region_read_twin(array_of(data), region, array_of(twin), ierr)
    end subroutine

    subroutine region_read_twin_r4(data, region, twin, ierr)
        real(real32), target, contiguous, intent(inout) :: data(:)
        type(hk_region), intent(in) :: region
        real(real32), target, contiguous, intent(inout) :: twin(:)
        integer, intent(out), optional :: ierr
        call region_read_twin(array_of(data), region, array_of(twin), ierr)
    end subroutine

    subroutine region_read_twin_r8(data, region, twin, ierr)
        real(real64), target, contiguous, intent(inout) :: data(:)
        type(hk_region), intent(in) :: region
        real(real64), target, contiguous, intent(inout) :: twin(:)
        integer, intent(out), optional :: ierr
        call region_read_twin(array_of(data), region, array_of(twin), ierr)
    end subroutine

    subroutine region_write_i4(data, to, ierr)
        integer(int32), target, contiguous, intent(in) :: data(:)
        type(hk_region_place), intent(in) :: to
        integer, intent(out), optional :: ierr
        call region_write(array_of(data), to, ierr)
    end subroutine

    subroutine region_write_i8(data, to, ierr)
        integer(int64), target, contiguous, intent(in) :: data(:)
        type(hk_region_place), intent(in) :: to
        integer, intent(out), optional :: ierr
        call region_write(array_of(data), to, ierr)
    end subroutine

    subroutine region_write_r4(data, to, ierr)
        real(real32), target, contiguous, intent(in) :: data(:)
        type(hk_region_place), intent(in) :: to
        integer, intent(out), optional :: ierr
        call region_write(array_of(data), to, ierr)
    end subroutine

    subroutine region_write_r8(data, to, ierr)
        real(real64), target, contiguous, intent(in) :: data(:)
        type(hk_region_place), intent(in) :: to
        integer, intent(out), optional :: ierr
        call region_write(array_of(data), to, ierr)
    end subroutine

    subroutine region_write_diff_i4(data, region, twin, written, ierr)
        integer(int32), target, contiguous, intent(in) :: data(:)
        type(hk_region), intent(in) :: region
        integer(int32), target, contiguous, intent(inout) :: twin(:)
        integer(int64), intent(out), optional :: written
        integer, intent(out), optional :: ierr
        call region_write_diff(array_of(data), region, array_of(twin), written, ierr)
    end subroutine

    subroutine region_write_diff_i8(data, region, twin, written, ierr)
        integer(int64), target, contiguous, intent(in) :: data(:)
        type(hk_region), intent(in) :: region
        integer(int64), target, contiguous, intent(inout) :: twin(:)
        integer(int64), intent(out), optional :: written
        integer, intent(out), optional :: ierr
        call region_write_diff(array_of(data), region, array_of(twin), written, ierr)
    end subroutine

    subroutine region_write_diff_r4(data, region, twin, written, ierr)
        real(real32), target, contiguous, intent(in) :: data(:)
        type(hk_region), intent(in) :: region
        real(real32), target, contiguous, intent(inout) :: twin(:)
        integer(int64), intent(out), optional :: written
        integer, intent(out), optional :: ierr
        call region_write_diff(array_of(data), region, array_of(twin), written, ierr)
    end subroutine

    subroutine region_write_diff_r8(data, region, twin, written, ierr)
        real(real64), target, contiguous, intent(in) :: data(:)
        type(hk_region), intent(in) :: region
        real(real64), target, contiguous, intent(inout) :: twin(:)
        integer(int64), intent(out), optional :: written
        integer, intent(out), optional :: ierr
        call region_write_diff(array_of(data), region, array_of(twin), written, ierr)
    end subroutine

    subroutine region_refresh_i4(data, region, twin, changed, ierr)
        integer(int32), target, contiguous, intent(inout) :: data(:)
        type(hk_region), intent(in) :: region
        integer(int32), target, contiguous, intent(inout) :: twin(:)
        integer(int64), intent(out), optional :: changed
        integer, intent(out), optional :: ierr
        call region_refresh(array_of(data), region, array_of(twin), changed, ierr)
    end subroutine

    subroutine region_refresh_i8(data, region, twin, changed, ierr)
        integer(int64), target, contiguous, intent(inout) :: data(:)
        type(hk_region), intent(in) :: region
        integer(int64), target, contiguous, intent(inout) :: twin(:)
        integer(int64), intent(out), optional :: changed
        integer, intent(out), optional :: ierr
        call region_refresh(array_of(data), region, array_of(twin), changed, ierr)
    end subroutine

    subroutine region_refresh_r4(data, region, twin, changed, ierr)
        real(real32), target, contiguous, intent(inout) :: data(:)
        type(hk_region), intent(in) :: region
        real(real32), target, contiguous, intent(inout) :: twin(:)
        integer(int64), intent(out), optional :: changed
        integer, intent(out), optional :: ierr
        call region_refresh(array_of(data), region, array_of(twin), changed, ierr)
    end subroutine

    subroutine region_refresh_r8(data, region, twin, changed, ierr)
        real(real64), target, contiguous, intent(inout) :: data(:)
        type(hk_region), intent(in) :: region
        real(real64), target, contiguous, intent(inout) :: twin(:)
        integer(int64), intent(out), optional :: changed
        integer, intent(out), optional :: ierr
        call region_refresh(array_of(data), region, array_of(twin), changed, ierr)
    end subroutine

    ! ---- remote queues

    ! Makes a queue of `owner` with room for `capacity` items of each rank. An item is `count` elements of `bytes` bytes. All ranks call
    ! it together, with the same arguments.
    subroutine hk_queue_create(owner, capacity, count, bytes, queue, ierr)
        integer, intent(in) :: owner, bytes
        class(*), intent(in) :: capacity, count
        type(hk_queue), intent(out) :: queue
        integer, intent(out), optional :: ierr
        integer(int64) :: room, elements
        integer(c_int) :: code
        if (.not. has_number(capacity, room, ierr)) return
        if (.not. has_number(count, elements, ierr)) return
        if (.not. has_size(bytes, ierr)) return
        queue%bytes = bytes_of(elements, bytes)
        code = c_queue_create(owner, room, queue%bytes, queue%handle)
        if (code /= HK_SUCCESS) queue = hk_queue()
        call give(code, ierr)
    end subroutine

    ! Frees a queue; what nobody has popped is gone. All ranks call it together.
    subroutine hk_queue_free(queue, ierr)
        type(hk_queue), intent(inout) :: queue
        integer, intent(out), optional :: ierr
        call give(c_queue_free(c_area(queue%handle)), ierr)
        queue = hk_queue()
    end subroutine

    ! Gives the room of what was popped last back before the next pop does.
    subroutine hk_queue_release(queue, ierr)
        type(hk_queue), intent(in) :: queue
        integer, intent(out), optional :: ierr
        call give(c_queue_release(c_area(queue%handle)), ierr)
    end subroutine

    ! Pushes the items of an array, the elements of one behind those of the other.
    subroutine queue_push(queue, items, timeout_ms, pushed, ierr)
        type(hk_queue), intent(in) :: queue
        type(c_array), intent(in) :: items
        integer, intent(in), optional :: timeout_ms
        integer(int64), intent(out), optional :: pushed
        integer, intent(out), optional :: ierr
        integer(c_size_t) :: bytes, done
        done = 0
        call tell(done, pushed)
        bytes = items%count * items%bytes
        ! What is no queue is left to the library.
        if (mod(bytes, max(queue%bytes, 1_c_size_t)) /= 0) then
            call refuse('the array has no whole number of items', ierr)
            return
        end if
        call give(c_queue_push(c_area(queue%handle), items%start, bytes / max(queue%bytes, 1_c_size_t), patience(timeout_ms), &
                  done), ierr)
        call tell(done, pushed)
    end subroutine

    ! Pops the next items of one rank, at most so many, for an array with elements of `bytes` bytes. On an error there are none.
    subroutine queue_pop(queue, most, bytes, popped, rank, timeout_ms, ierr)
        type(hk_queue), intent(in) :: queue
        class(*), intent(in) :: most
        integer, intent(in) :: bytes
        type(c_popped), intent(out) :: popped
        integer, intent(out), optional :: rank
        integer, intent(in), optional :: timeout_ms
        integer, intent(out), optional :: ierr
        integer(int64) :: items
        integer(c_int) :: code
        popped = c_popped(-1, 0, c_null_ptr, 0)
        if (present(rank)) rank = -1
        if (.not. has_number(most, items, ierr)) return
        if (items < 1 .or. mod(queue%bytes, int(bytes, c_size_t)) /= 0) then
            call refuse('at least one item is popped, in whole elements', ierr)
            return
        end if
        code = c_queue_pop(c_area(queue%handle), items, patience(timeout_ms), popped)
        if (present(rank)) rank = popped%rank
        call give(code, ierr)
    end subroutine

    subroutine queue_push_i4(queue, items, timeout_ms, pushed, ierr)
        type(hk_queue), intent(in) :: queue
        integer(int32), target, contiguous, intent(in) :: items(:)
        integer, intent(in), optional :: timeout_ms
        integer(int64), intent(out), optional :: pushed
        integer, intent(out), optional :: ierr
        call queue_push(queue, array_of(items), timeout_ms, pushed, ierr)
    end subroutine

    subroutine queue_push_i8(queue, items, timeout_ms, pushed, ierr)
        type(hk_queue), intent(in) :: queue
        integer(int64), target, contiguous, intent(in) :: items(:)
        integer, intent(in), optional :: timeout_ms
        integer(int64), intent(out), optional :: pushed
        integer, intent(out), optional :: ierr
        call queue_push(queue, array_of(items), timeout_ms, pushed, ierr)
    end subroutine

    subroutine queue_push_r4(queue, items, timeout_ms, pushed, ierr)
        type(hk_queue), intent(in) :: queue
        real(real32), target, contiguous, intent(in) :: items(:)
        integer, intent(in), optional :: timeout_ms
        integer(int64), intent(out), optional :: pushed
        integer, intent(out), optional :: ierr
        call queue_push(queue, array_of(items), timeout_ms, pushed, ierr)
    end subroutine

    subroutine queue_push_r8(queue, items, timeout_ms, pushed, ierr)
        type(hk_queue), intent(in) :: queue
        real(real64), target, contiguous, intent(in) :: items(:)
        integer, intent(in), optional :: timeout_ms
        integer(int64), intent(out), optional :: pushed
        integer, intent(out), optional :: ierr
        call queue_push(queue, array_of(items), timeout_ms, pushed, ierr)
    end subroutine

    subroutine queue_pop_i4(queue, most, items, rank, timeout_ms, ierr)
        type(hk_queue), intent(in) :: queue
        class(*), intent(in) :: most
        integer(int32), pointer, intent(out) :: items(:, :)
        integer, intent(out), optional :: rank
        integer, intent(in), optional :: timeout_ms
        integer, intent(out), optional :: ierr
        integer(int32), pointer :: places(:, :)
        type(c_popped) :: popped
        nullify (items)
        call queue_pop(queue, most, 4, popped, rank, timeout_ms, ierr)
        if (popped%count == 0) return
        call c_f_pointer(popped%items, places, [popped%stride / 4, popped%count])
        items => places(:queue%bytes / 4, :)
    end subroutine

    subroutine queue_pop_i8(queue, most, items, rank, timeout_ms, ierr)
        type(hk_queue), intent(in) :: queue
        class(*), intent(in) :: most
        integer(int64), pointer, intent(out) :: items(:, :)
        integer, intent(out), optional :: rank
        integer, intent(in), optional :: timeout_ms
        integer, intent(out), optional :: ierr
        integer(int64), pointer :: places(:, :)
        type(c_popped) :: popped
        nullify (items)
        call queue_pop(queue, most, 8, popped, rank, timeout_ms, ierr)
        if (popped%count == 0) return
        call c_f_pointer(popped%items, places, [popped%stride / 8, popped%count])
        items => places(:queue%bytes / 8, :)
    end subroutine

    subroutine queue_pop_r4(queue, most, items, rank, timeout_ms, ierr)
        type(hk_queue), intent(in) :: queue
        class(*), intent(in) :: most
        real(real32), pointer, intent(out) :: items(:, :)
        integer, intent(out), optional :: rank
        integer, intent(in), optional :: timeout_ms
        integer, intent(out), optional :: ierr
        real(real32), pointer :: places(:, :)
        type(c_popped) :: popped
        nullify (items)
        call queue_pop(queue, most, 4, popped, rank, timeout_ms, ierr)
        if (popped%count == 0) return
        call c_f_pointer(popped%items, places, [popped%stride / 4, popped%count])
        items => places(:queue%bytes / 4, :)
    end subroutine

    subroutine queue_pop_r8(queue, most, items, rank, timeout_ms, ierr)
        type(hk_queue), intent(in) :: queue
        class(*), intent(in) :: most
        real(real64), pointer, intent(out) :: items(:, :)
        integer, intent(out), optional :: rank
        integer, intent(in), optional :: timeout_ms
        integer, intent(out), optional :: ierr
        real(real64), pointer :: places(:, :)
        type(c_popped) :: popped
        nullify (items)
        call queue_pop(queue, most, 8, popped, rank, timeout_ms, ierr)
        if (popped%count == 0) return
        call c_f_pointer(popped%items, places, [popped%stride / 8, popped%count])
        items => places(:queue%bytes / 8, :)
    end subroutine

end module
