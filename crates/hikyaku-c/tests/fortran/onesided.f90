! The module hikyaku: every operation, checked. An expectation that fails ends the rank with status 1, and with it the job.
program onesided
    use, intrinsic :: iso_fortran_env, only: error_unit, int32, int64, real32, real64
    use hikyaku
    implicit none

    integer :: me, ranks, next, previous, ierr

    call hk_barrier(ierr)
    call fails(HK_ERR_NOT_STARTED, 'there is no job: call hk_init first, and nothing after hk_finalize')
    call expect(hk_rank() == HK_ERR_NOT_STARTED, 'no rank either')
    call hk_init()
    me = hk_rank()
    ranks = hk_size()
    next = mod(me + 1, ranks)
    previous = mod(me + ranks - 1, ranks)
    call expect(hk_is_present(next) == 1, 'the next rank is there')
    call expect(hk_is_crowded() >= 0, 'crowded or not')
    call expect(hk_progress() >= 0, 'progress')
    call expect(hk_version() /= '', 'a version')
    call expect(hk_strerror(HK_ERR_TIMEOUT) == 'timed out', 'what a code means')
    call transfers
    call started
    call by_each_path
    call notifications
    call copies
    call words
    call atomics
    call reductions
    call locks
    call long_indexes
    call mistakes
    call hk_barrier()
    call hk_finalize(ierr)
    call expect(ierr == HK_SUCCESS, 'the end')

contains

    ! All ranks count on the first, one at a time.
    subroutine locks
        type(hk_mutex) :: mutex
        type(hk_area) :: area
        integer(int64), pointer :: counter(:)
        integer(int64) :: count
        integer :: turn
        logical :: taken, died
        call hk_alloc(counter, 1, area)
        call hk_mutex_create(0, mutex)
        do turn = 1, 100
            if (mod(turn, 2) == 0) then
                call hk_lock(mutex, owner_died=died)
                call expect(.not. died, 'nobody died')
            else
                taken = .false.
                do while (.not. taken)
                    call hk_try_lock(mutex, taken)
                end do
            end if
            call hk_pull(count, area%at(0, 1))
            count = count + 1
            call hk_push(count, area%at(0, 1))
            call hk_unlock(mutex)
        end do
        call hk_barrier()
        if (me == 0) call expect(counter(1) == 100 * ranks, 'everybody has counted')
        call hk_lock(mutex)
        call hk_lock(mutex, 10, ierr=ierr)
        call fails(HK_ERR_INVALID, 'this rank holds the lock already: it would wait for itself')
        call hk_unlock(mutex)
        call hk_mutex_free(mutex)
        call hk_lock(mutex, ierr=ierr)
        call fails(HK_ERR_HANDLE, '0 names no lock; it was freed, or never was one')
        call hk_free(area)
    end subroutine

    subroutine expect(holds, what)
        logical, intent(in) :: holds
        character(len=*), intent(in) :: what
        if (holds) return
        write (error_unit, '(a, i0, 4a)') 'rank ', me, ': ', what, '; last error: ', hk_last_error()
        error stop 1
    end subroutine

    ! The last call gave this code, and says this.
    subroutine fails(code, text)
        integer, intent(in) :: code
        character(len=*), intent(in) :: text
        call expect(ierr == code, 'the code of: '//text)
        call expect(hk_last_error() == text, 'the text: '//text)
    end subroutine

    ! Pushes of every type, by a path of one's own choice.
    subroutine by_each_path
        type(hk_area) :: area4, area8, areas, aread
        integer(int32), pointer :: x4(:)
        integer(int64), pointer :: x8(:)
        real(real32), pointer :: xs(:)
        real(real64), pointer :: xd(:)
        integer :: n
        call hk_alloc(x4, 500, area4)
        call hk_alloc(x8, 500, area8)
        call hk_alloc(xs, 500, areas)
        call hk_alloc(xd, 500, aread)
        call hk_push_by(HK_PATH_WORD, [me, me + 1], area4%at(next, 2))
        call hk_push_by(HK_PATH_WINDOW, [(int(me + n, int64), n=1, 499)], area8%at(next, 2))
        call hk_push_by(HK_PATH_BULK, [(real(me + n, real32), n=1, 499)], areas%at(next, 2))
        call hk_push_by(HK_PATH_WINDOW, [(real(me + n, real64), n=1, 499)], aread%at(next, 2))
        call hk_sync()
        call hk_barrier()
        call expect(all(x4(:4) == [0, previous, previous + 1, 0]), 'a word')
        call expect(x8(1) == 0 .and. all(x8(2:) == [(previous + n, n=1, 499)]), 'integers of 8 bytes')
        call expect(xs(1) == 0 .and. all(xs(2:) == [(previous + n, n=1, 499)]), 'reals of 4 bytes')
        call expect(xd(1) == 0 .and. all(xd(2:) == [(previous + n, n=1, 499)]), 'reals of 8 bytes')
        call hk_push_by(HK_PATH_WORD, [me, me, me], area4%at(next, 1), ierr)
        call expect(ierr == HK_ERR_INVALID, 'more than a word')
        call hk_push_by(3, [me], area4%at(next, 1), ierr)
        call expect(ierr == HK_ERR_INVALID, 'no path')
        call hk_barrier()
        call hk_free(area4)
        call hk_free(area8)
        call hk_free(areas)
        call hk_free(aread)
    end subroutine

    ! Pushes and pulls of every type, several under way at once.
    subroutine started
        type(hk_area) :: area4, area8, areas, aread
        integer(int32), pointer :: x4(:)
        integer(int64), pointer :: x8(:)
        real(real32), pointer :: xs(:)
        real(real64), pointer :: xd(:)
        integer(int32), asynchronous :: got4(5000)
        integer(int64), asynchronous :: got8(5000)
        real(real32), asynchronous :: gots(5000)
        real(real64), asynchronous :: gotd(5000)
        type(hk_transfer) :: these(4)
        logical :: ended
        integer :: number, which
        call hk_alloc(x4, 5000, area4)
        call hk_alloc(x8, 5000, area8)
        call hk_alloc(xs, 5000, areas)
        call hk_alloc(xd, 5000, aread)
        got4 = me
        got8 = me + 1
        gots = me + 2
        gotd = me + 3
        call hk_push_start(got4, area4%at(next, 1), these(1))
        call hk_push_start(got8, area8%at(next, 1), these(2))
        call hk_push_start(gots, areas%at(next, 1), these(3))
        call hk_push_start(gotd, aread%at(next, 1), these(4))
        do number = 1, 4
            call hk_transfer_wait(these(number), ierr=ierr)
            call expect(ierr == HK_SUCCESS, 'a push ends')
        end do
        call hk_barrier()
        call expect(all(x4 == previous) .and. all(x8 == previous + 1), 'started pushes of integers')
        call expect(all(xs == previous + 2) .and. all(xd == previous + 3), 'started pushes of reals')
        got4 = -1
        got8 = -1
        gots = -1
        gotd = -1
        call hk_pull_start(got4, area4%at(me, 1), these(1))
        call hk_pull_start(got8, area8%at(next, 1), these(2))
        call hk_pull_start(gots, areas%at(next, 1), these(3))
        call hk_pull_start(gotd, aread%at(next, 1), these(4))
        do
            call hk_transfer_test(these(2), ended)
            if (ended) exit
        end do
        call hk_transfer_wait(these(3), 60000)
        call hk_transfer_wait_all()
        call expect(all(got4 == previous) .and. all(got8 == me + 1), 'started pulls of integers')
        call expect(all(gots == me + 2) .and. all(gotd == me + 3), 'started pulls of reals')
        ! Whichever ends first.
        got4 = -1
        got8 = -1
        these = hk_transfer()
        call hk_pull_start(got4, area4%at(next, 1), these(1))
        call hk_pull_start(got8, area8%at(me, 1), these(3))
        number = 0
        do
            call hk_transfer_wait_any(these, which, 60000)
            if (which == 0) exit
            number = number + which
        end do
        call expect(number == 4, 'both have ended, each once')
        call expect(all(got4 == me) .and. all(got8 == previous + 1), 'whichever ends first')
        call hk_transfer_wait_any(these(1:0), which)
        call expect(which == 0, 'none of none')
        call hk_pull_start(got4, area4%at(next, 2), these(1), ierr)
        call expect(ierr == HK_ERR_BOUNDS, 'a pull beyond the area')
        call hk_transfer_wait(these(1))
        call hk_barrier()
        call hk_free(area4)
        call hk_free(area8)
        call hk_free(areas)
        call hk_free(aread)
    end subroutine

    ! Every type, as an array, as a scalar, and as a section with gaps.
    subroutine transfers
        type(hk_area) :: area4, area8, areas, aread
        integer(int32), pointer :: x4(:)
        integer(int64), pointer :: x8(:)
        real(real32), pointer :: xs(:)
        real(real64), pointer :: xd(:)
        integer(int32) :: got4(3), one4
        integer(int64) :: got8(3), one8
        real(real32) :: gots(3), ones
        real(real64) :: gotd(3), oned, grid(2, 3)

        call hk_alloc(x4, 10, area4)
        call hk_alloc(x8, 10, area8)
        call hk_alloc(xs, 10, areas)
        call hk_alloc(xd, 10_int64, aread)
        call expect(size(x4) == 10 .and. size(xd) == 10, 'sizes')
        call expect(all(x4 == 0) .and. all(x8 == 0) .and. all(xs == 0) .and. all(xd == 0), 'zeroed')
        call hk_barrier()
        call hk_push([me, me + 1, me + 2], area4%at(next, 2))
        call hk_push(me + 9, area4%at(next, 10))
        call hk_push([me + 0_int64, me + 1_int64], area8%at(next, 1))
        call hk_push(int(me, int64), area8%at(next, 10))
        call hk_push([me + 0.5, me + 1.5], areas%at(next, 3))
        call hk_push(me + 0.25, areas%at(next, 1))
        grid = reshape([1d0, 2d0, 3d0, 4d0, 5d0, 6d0], [2, 3]) + me
        call hk_push(grid(2, :), aread%at(next, 4))
        call hk_push(me + 0.125d0, aread%at(next, 1_int64))
        call hk_flush(next)
        call hk_sync()
        call hk_barrier()
        associate (p => previous)
            call expect(all(x4 == [0, p, p + 1, p + 2, 0, 0, 0, 0, 0, p + 9]), 'integers of 4 bytes')
            call expect(x8(1) == p .and. x8(2) == p + 1 .and. all(x8(3:9) == 0) .and. x8(10) == p, 'integers of 8 bytes')
            call expect(xs(1) == p + 0.25 .and. xs(3) == p + 0.5 .and. xs(4) == p + 1.5, 'reals of 4 bytes')
            call expect(all(xd == [p + 0.125d0, 0d0, 0d0, 2d0 + p, 4d0 + p, 6d0 + p, 0d0, 0d0, 0d0, 0d0]), 'reals of 8 bytes')
        end associate

        call hk_pull(got4, area4%at(next, 2))
        call hk_pull(one4, area4%at(next, 10))
        call expect(all(got4 == [me, me + 1, me + 2]) .and. one4 == me + 9, 'what was pulled: integers of 4 bytes')
        call hk_pull(got8, area8%at(next, 1))
        call hk_pull(one8, area8%at(next, 10))
        call expect(all(got8 == [me, me + 1, 0]) .and. one8 == me, 'what was pulled: integers of 8 bytes')
        call hk_pull(gots, areas%at(next, 3))
        call hk_pull(ones, areas%at(next, 1))
        call expect(all(gots == [me + 0.5, me + 1.5, 0.0]) .and. ones == me + 0.25, 'what was pulled: reals of 4 bytes')
        call hk_pull(gotd, aread%at(next, 4))
        call hk_pull(oned, aread%at(next, 1))
        call expect(all(gotd == [2d0, 4d0, 6d0] + me) .and. oned == me + 0.125d0, 'what was pulled: reals of 8 bytes')
        call hk_pull(grid(1, :), aread%at(next, 4))
        call expect(all(grid(1, :) == grid(2, :)), 'what was pulled into a section')
        call hk_barrier()
        call hk_free(area4)
        call hk_free(area8)
        call hk_free(areas)
        call hk_free(aread)
    end subroutine

    ! Rank by rank, the word arrives after the data; a counter gets the additions of everyone.
    subroutine notifications
        type(hk_area) :: area, flag
        real(real64), pointer :: x(:)
        integer(int64), pointer :: word(:)
        integer(int64) :: seen
        integer :: k, step

        call hk_alloc(x, 4 + ranks, area)
        call hk_alloc(word, 3, flag)
        do step = 1, 20
            call hk_push_notify([1d0, 2d0, 3d0, 4d0] * step + me, area%at(next, 1), flag%word(2), step)
            call hk_wait(flag%word(2), HK_EQUAL, step)
            call expect(all(x(1:4) == [1d0, 2d0, 3d0, 4d0] * step + previous), 'data before the word')
            call hk_barrier()
        end do
        call hk_push_notify(7d0, area%at(next, 1), flag%word(1), 2_int64**40)
        call hk_wait(flag%word(1), HK_AT_LEAST, 2_int64**40, by=previous, timeout_ms=60000, seen=seen)
        call expect(seen == 2_int64**40 .and. x(1) == 7, 'a scalar, and a long value')
        do k = 0, ranks - 1
            call hk_push_notify_add([real(me, real64)], area%at(k, 5 + me), flag%word(3), 1)
        end do
        call hk_wait(flag%word(3), HK_AT_LEAST, ranks)
        call expect(all(x(5:) == [(real(k, real64), k = 0, ranks - 1)]), 'everybody has added')
        call hk_barrier()
        call hk_push_notify_add(1d0, area%at(next, 1), flag%word(3), 1_int64)
        call hk_wait(flag%word(3), HK_EQUAL, ranks + 1)
        call all_types(flag)
        call hk_barrier()
        call hk_free(area)
        call hk_free(flag)
    end subroutine

    ! Each rank has the next one's numbers copied to the one behind that.
    subroutine copies
        type(hk_area) :: area, flag
        real(real64), pointer :: x(:)
        integer(int64), pointer :: word(:)
        integer :: after, k, ierr

        after = mod(next + 1, ranks)
        call hk_alloc(x, 2000, area)
        call hk_alloc(word, 2, flag)
        x(:1000) = [(1000d0 * me + k, k = 1, 1000)]
        call hk_barrier()
        call hk_bcopy_notify(area%at(next, 11), area%at(after, 1011), 990, 8, flag%word(1), 5)
        call hk_wait(flag%word(1), HK_EQUAL, 5)
        call expect(all(x(1011:) == [(1000d0 * previous + k, k = 11, 1000)]), 'copied, and then the word')
        call hk_barrier()
        call hk_bcopy(area%at(next, 1), area%at(after, 1001), 10_int64, 8)
        call hk_sync()
        call hk_barrier()
        call expect(all(x(1001:1010) == [(1000d0 * previous + k, k = 1, 10)]), 'copied')
        call hk_bcopy(area%at(next, 1), area%at(next, 2), 2, 8, ierr)
        call expect(ierr == HK_ERR_INVALID, 'a copy onto itself')
        call hk_bcopy(area%at(next, 1), area%at(after, 1), -1, 8, ierr)
        call expect(ierr == HK_ERR_BOUNDS, 'a copy of less than nothing')
        call hk_bcopy_notify(area%at(next, 0), area%at(after, 1), 1_int64, 8, flag%word(2), 5_int64, ierr)
        call expect(ierr == HK_ERR_BOUNDS, 'a copy from before the area')
        call hk_barrier()
        call hk_free(area)
        call hk_free(flag)
    end subroutine

    ! Both kinds of notification, of arrays and scalars of the other types.
    subroutine all_types(flag)
        type(hk_area), intent(in) :: flag
        type(hk_area) :: area
        integer(int64), pointer :: x(:)
        integer(int64) :: at
        call hk_alloc(x, 8, area)
        call hk_barrier()
        call hk_word(flag%at(me, 3), 0)
        call hk_barrier()
        call hk_push_notify_add([1_int32, 2_int32], area%at(next, 1), flag%word(3), 1)
        call hk_push_notify_add(3_int32, area%at(next, 3), flag%word(3), 1_int64)
        call hk_push_notify_add([4_int64], area%at(next, 3), flag%word(3), 1)
        call hk_push_notify_add(5_int64, area%at(next, 4), flag%word(3), 1_int64)
        call hk_push_notify_add([6.0], area%at(next, 9), flag%word(3), 1)
        call hk_push_notify_add(7.0, area%at(next, 10), flag%word(3), 1_int64)
        call hk_wait(flag%word(3), HK_EQUAL, 6)
        at = ior(1_int64, shiftl(2_int64, 32))
        call expect(x(1) == at .and. x(2) == 3 .and. x(3) == 4 .and. x(4) == 5, 'additions')
        call expect(all(transfer(x(5), [0.0]) == [6.0, 7.0]), 'additions with reals')
        call hk_barrier()
        call hk_push_notify([8_int32], area%at(next, 1), flag%word(1), 1)
        call hk_push_notify(9_int32, area%at(next, 2), flag%word(1), 2_int64)
        call hk_push_notify([10_int64], area%at(next, 2), flag%word(1), 3)
        call hk_push_notify(11_int64, area%at(next, 3), flag%word(1), 4_int64)
        call hk_push_notify([12.0], area%at(next, 7), flag%word(1), 5)
        call hk_push_notify(13.0, area%at(next, 8), flag%word(1), 6_int64)
        call hk_wait(flag%word(1), HK_EQUAL, 6_int64)
        at = ior(8_int64, shiftl(9_int64, 32))
        call expect(x(1) == at .and. x(2) == 10 .and. x(3) == 11, 'notifications')
        call expect(all(transfer(x(4), [0.0]) == [12.0, 13.0]), 'notifications with reals')
        call hk_barrier()
        call hk_free(area)
    end subroutine

    subroutine words
        type(hk_area) :: area
        integer(int64), pointer :: word(:)
        integer(int64) :: seen
        call hk_alloc(word, 2, area)
        call hk_word(area%at(next, 1), 5)
        call hk_wait(area%word(1), HK_NOT_EQUAL, 0, seen=seen)
        call expect(seen == 5, 'a word')
        call hk_word(area%at(next, 2), -1_int64)
        call hk_wait(area%word(2), HK_EQUAL, -1)
        call hk_poll(area%word(2), seen)
        call expect(seen == -1 .and. word(2) == -1, 'a look at a word')
        call hk_wait(area%word(1_int64), HK_EQUAL, 6, timeout_ms=1, ierr=ierr)
        call expect(ierr == HK_ERR_TIMEOUT, 'a wait that ends')
        ! Late ranks make this time out; it goes on with the same barrier.
        do
            call hk_barrier_for(1000, ierr)
            if (ierr == HK_SUCCESS) exit
            call expect(ierr == HK_ERR_TIMEOUT, 'a barrier that ends')
        end do
        call hk_free(area)
    end subroutine

    subroutine atomics
        type(hk_area) :: area4, area8, aread
        integer(int32), pointer :: x4(:)
        integer(int64), pointer :: x8(:)
        real(real64), pointer :: xd(:)
        integer(int32) :: old4
        integer(int64) :: old8
        real(real64) :: old
        integer :: i
        call hk_alloc(x4, 3, area4)
        call hk_alloc(x8, 3, area8)
        call hk_alloc(xd, 3, aread)
        do i = 1, 100
            call hk_fetch_add(area4%at(0, 3), -1)
            call hk_fetch_add(area8%at(0, 2), 2_int64**33)
            call hk_fetch_add(aread%at(0, 1), 0.5d0)
        end do
        call hk_barrier()
        call hk_pull(old4, area4%at(0, 3))
        call hk_pull(old8, area8%at(0, 2))
        call hk_pull(old, aread%at(0, 1))
        call expect(old4 == -100 * ranks .and. old8 == 100 * ranks * 2_int64**33 .and. old == 50 * ranks, 'additions')
        call hk_fetch_add(area4%at(me, 1), 4, before=old4)
        call hk_fetch_add(area8%at(me, 1), -4_int64, before=old8)
        call hk_fetch_add(aread%at(me, 2), 4d0, before=old)
        call expect(old4 == 0 .and. old8 == 0 .and. old == 0 .and. x4(1) == 4 .and. x8(1) == -4 .and. xd(2) == 4, 'before')

        call hk_atomic(area4%at(me, 1), HK_SWAP, 12, before=old4)
        call expect(old4 == 4 .and. x4(1) == 12, 'swap')
        call hk_atomic(area4%at(me, 1), HK_COMPARE_SWAP, 1, before=old4, expected=11)
        call expect(old4 == 12 .and. x4(1) == 12, 'compare, and do not swap')
        call hk_atomic(area4%at(me, 1), HK_COMPARE_SWAP, 6, expected=12)
        call expect(x4(1) == 6, 'compare and swap')
        call hk_atomic(area4%at(me, 1), HK_AND, 12)
        call expect(x4(1) == 4, 'and')
        call hk_atomic(area8%at(me, 1), HK_SWAP, 6_int64, before=old8)
        call expect(old8 == -4 .and. x8(1) == 6, 'swap of 8 bytes')
        call hk_atomic(area8%at(me, 1), HK_OR, 9_int64)
        call hk_atomic(area8%at(me, 1), HK_XOR, 1_int64)
        call hk_atomic(area8%at(me, 1), HK_ADD, -20_int64, before=old8)
        call expect(old8 == 14 .and. x8(1) == -6, 'or, xor, add of 8 bytes')
        call hk_atomic(area8%at(me, 1), HK_COMPARE_SWAP, 3_int64, expected=-6_int64)
        call expect(x8(1) == 3, 'compare and swap of 8 bytes')
        call hk_barrier()
        call hk_free(area4)
        call hk_free(area8)
        call hk_free(aread)
    end subroutine

    subroutine reductions
        integer(int32) :: i4(2), j4
        integer(int64) :: i8(2), j8
        real(real32) :: s(2), t
        real(real64) :: d(2), e
        integer :: total
        total = ranks * (ranks + 1) / 2
        i4 = [me + 1, -me]
        call hk_allreduce(i4, HK_SUM)
        call expect(all(i4 == [total, ranks - total]), 'sum')
        j4 = shiftl(1, me)
        call hk_allreduce(j4, HK_BOR)
        call expect(j4 == shiftl(1, ranks) - 1, 'bit or')
        i8 = [me + 1_int64, 2_int64**40]
        call hk_allreduce(i8, HK_MAX)
        call expect(all(i8 == [int(ranks, int64), 2_int64**40]), 'max')
        j8 = 2
        call hk_allreduce(j8, HK_PROD)
        call expect(j8 == 2_int64**ranks, 'product')
        s = [real(me), 1.5]
        call hk_allreduce(s, HK_MIN)
        call expect(all(s == [0.0, 1.5]), 'min')
        t = 0.5
        call hk_allreduce(t, HK_SUM)
        call expect(t == 0.5 * ranks, 'sum of reals')
        d = [me + 1d0, 0.25d0]
        call hk_allreduce(d, HK_SUM)
        call expect(all(d == [real(total, real64), 0.25d0 * ranks]), 'sum of long reals')
        e = me
        call hk_allreduce(e, HK_MAX)
        call expect(e == ranks - 1, 'max of long reals')

        i4 = me + 1
        call hk_reduce(i4, HK_SUM, ranks - 1)
        call expect(all(i4 == merge(total, me + 1, me == ranks - 1)), 'a sum at one rank')
        j4 = me + 1
        call hk_reduce(j4, HK_MIN, 0)
        call expect(j4 == merge(1, me + 1, me == 0), 'a minimum at one rank')
        i8 = me + 1
        call hk_reduce(i8, HK_SUM, 0)
        j8 = me + 1
        call hk_reduce(j8, HK_SUM, 0)
        s = me + 1
        call hk_reduce(s, HK_SUM, 0)
        t = me + 1
        call hk_reduce(t, HK_SUM, 0)
        d = me + 1
        call hk_reduce(d, HK_SUM, 0)
        e = me + 1
        call hk_reduce(e, HK_SUM, 0)
        total = merge(total, me + 1, me == 0)
        call expect(all(i8 == total) .and. j8 == total .and. all(s == total) .and. t == total, 'sums at one rank')
        call expect(all(d == total) .and. e == total, 'sums of long reals at one rank')

        ! Of the ranks up to this one, and of those before it.
        total = (me + 1) * (me + 2) / 2
        i4 = me + 1
        call hk_scan(i4, HK_SUM)
        j4 = me + 1
        call hk_scan(j4, HK_SUM)
        i8 = me + 1
        call hk_scan(i8, HK_SUM)
        j8 = me + 1
        call hk_scan(j8, HK_SUM)
        s = me + 1
        call hk_scan(s, HK_SUM)
        t = me + 1
        call hk_scan(t, HK_SUM)
        d = me + 1
        call hk_scan(d, HK_SUM)
        e = me + 1
        call hk_scan(e, HK_SUM)
        call expect(all(i4 == total) .and. j4 == total .and. all(i8 == total) .and. j8 == total, 'scans')
        call expect(all(s == total) .and. t == total .and. all(d == total) .and. e == total, 'scans of reals')
        total = max(me * (me + 1) / 2, 1)
        i4 = me + 1
        call hk_exscan(i4, HK_SUM)
        j4 = me + 1
        call hk_exscan(j4, HK_SUM)
        i8 = me + 1
        call hk_exscan(i8, HK_SUM)
        j8 = me + 1
        call hk_exscan(j8, HK_SUM)
        s = me + 1
        call hk_exscan(s, HK_SUM)
        t = me + 1
        call hk_exscan(t, HK_SUM)
        d = me + 1
        call hk_exscan(d, HK_SUM)
        e = me + 1
        call hk_exscan(e, HK_SUM)
        call expect(all(i4 == total) .and. j4 == total .and. all(i8 == total) .and. j8 == total, 'scans without the own')
        call expect(all(s == total) .and. t == total .and. all(d == total) .and. e == total, 'scans of reals without the own')

        i4 = me
        call hk_broadcast(i4, ranks - 1)
        j4 = me
        call hk_broadcast(j4, ranks - 1)
        i8 = me
        call hk_broadcast(i8, ranks - 1)
        j8 = me
        call hk_broadcast(j8, ranks - 1)
        s = me
        call hk_broadcast(s, ranks - 1)
        t = me
        call hk_broadcast(t, ranks - 1)
        d = me
        call hk_broadcast(d, ranks - 1)
        e = me
        call hk_broadcast(e, ranks - 1)
        total = ranks - 1
        call expect(all(i4 == total) .and. j4 == total .and. all(i8 == total) .and. j8 == total, 'broadcasts')
        call expect(all(s == total) .and. t == total .and. all(d == total) .and. e == total, 'broadcasts of reals')
        i4 = [1, 0]
        call hk_allreduce(i4, HK_LAND)
        call expect(all(i4 == [1, 0]), 'logical and')
        i4 = merge([0, 1], [0, 0], me == 0)
        call hk_allreduce(i4, HK_LOR)
        call expect(all(i4 == [0, 1]), 'logical or')
    end subroutine

    ! Numbers that do not fit 4 bytes are refused by the library, not cut.
    subroutine long_indexes
        type(hk_area) :: area
        real(real64), pointer :: x(:)
        call hk_alloc(x, 10, area)
        call hk_push(1d0, area%at(me, 2_int64**32 + 1), ierr)
        call expect(ierr == HK_ERR_BOUNDS, 'an index of more than 4 bytes')
        call hk_push(1d0, area%at(me, 2_int64**61 + 1), ierr)
        call expect(ierr == HK_ERR_BOUNDS, 'an index whose bytes cannot be counted')
        call hk_push(1d0, area%at(me, 0), ierr)
        call expect(ierr == HK_ERR_BOUNDS, 'elements are numbered from 1')
        call hk_push(1d0, area%at(me, -huge(1) - 1), ierr)
        call expect(ierr == HK_ERR_BOUNDS, 'no negative elements')
        call hk_push(x(1:2), area%at(me, 10), ierr)
        call expect(ierr == HK_ERR_BOUNDS, 'the end of the area')
        call hk_push(x(1:0), area%at(me, 11), ierr)
        call expect(ierr == HK_SUCCESS .and. all(x == 0), 'nothing fits everywhere')
        call hk_free(area)
    end subroutine

    subroutine mistakes
        type(hk_area) :: area, gone
        real(real64), pointer :: x(:)
        integer(int64), pointer :: word(:)
        character(len=100) :: text
        call hk_alloc(x, 4, area)
        call hk_push(x, area%at(ranks, 1), ierr)
        write (text, '(3(a, i0), a)') 'rank ', ranks, ' does not exist: the job has ', ranks, ' ranks (0 to ', ranks - 1, ')'
        call fails(HK_ERR_RANK, trim(text))
        call expect(hk_error_rank() == ranks, 'which rank')
        call hk_push(x, gone%at(me, 1), ierr)
        call fails(HK_ERR_HANDLE, 'handle 0x0 names no area; it was freed, closed or revoked, or never was one')
        call hk_allreduce(x, HK_BAND, ierr)
        call fails(HK_ERR_INVALID, 'HK_BAND cannot combine elements of HK_F64')
        call hk_allreduce(x, 10, ierr)
        call fails(HK_ERR_INVALID, '10 is no hk_reduce_op')
        call hk_atomic(area%at(me, 1), 6, 1_int64, ierr=ierr)
        call fails(HK_ERR_INVALID, '6 is no hk_atomic_op')
        call hk_wait(area%word(1), 3, 0, ierr=ierr)
        call fails(HK_ERR_INVALID, '3 is no hk_until')
        call hk_free(area)
        call hk_free(area, ierr)
        call fails(HK_ERR_HANDLE, 'handle 0x0 names no area; it was freed, closed or revoked, or never was one')
        call hk_alloc(word, -1, area, ierr)
        call expect(ierr < 0 .and. .not. associated(word), 'no negative size')
        call hk_init(ierr)
        call fails(HK_ERR_STARTED, 'hk_init was called already')
    end subroutine
end program
