! Messages by key, and barriers in two halves: checked. An expectation that fails ends the rank with status 1, and with it the job.
program matching
    use, intrinsic :: iso_fortran_env, only: error_unit, int32, int64, real32, real64
    use hikyaku
    implicit none

    integer, parameter :: sizes(4) = [1, 100, 1025, 200000]
    integer :: me, ranks, next, previous, ierr

    call hk_init()
    me = hk_rank()
    ranks = hk_size()
    next = mod(me + 1, ranks)
    previous = mod(me + ranks - 1, ranks)
    call unprepared
    call hk_matching_open()
    call around
    call every_type
    call any_key
    call given_up
    call hk_matching_close()
    call barriers
    call hk_barrier()
    call hk_finalize(ierr)
    call expect(ierr == HK_SUCCESS, 'the end')

contains

    subroutine unprepared
        type(hk_request) :: request
        integer(int32) :: data(1)
        data = 0
        call hk_isend(data, me, 1, request, ierr)
        call fails(HK_ERR_INVALID)
    end subroutine

    ! Short and long messages to the next rank, received in the opposite order.
    subroutine around
        type(hk_request) :: sends(4), receives(4)
        type(hk_matched) :: matched
        real(real64), allocatable, asynchronous :: sent(:, :), got(:, :)
        logical :: ended
        integer :: n, i
        allocate (sent(maxval(sizes), 4), got(maxval(sizes), 4))
        got = 0
        do n = 1, 4
            sent(:, n) = [(1000000 * me + n + i, i=1, maxval(sizes))]
            call hk_isend(sent(:sizes(n), n), next, n, sends(n))
        end do
        do n = 4, 1, -1
            call hk_irecv(got(:, n), previous, n, receives(n))
        end do
        do n = 1, 4
            if (n == 2) then
                ended = .false.
                do while (.not. ended)
                    call hk_request_test(receives(n), ended, matched)
                end do
            else
                call hk_request_wait(receives(n), matched=matched)
            end if
            call expect(matched%rank == previous .and. matched%key == n .and. matched%size == 8 * sizes(n), 'what has come')
            call expect(all(got(:sizes(n), n) == [(1000000 * previous + n + i, i=1, sizes(n))]), 'the numbers')
            call expect(all(got(sizes(n) + 1:, n) == 0), 'nothing behind them')
            call hk_request_wait(sends(n), 60000)
            call hk_request_wait(sends(n))
        end do
    end subroutine

    subroutine every_type
        type(hk_request) :: send, receive
        integer(int32), asynchronous :: i4(3), i4_got(3)
        integer(int64), asynchronous :: i8(3), i8_got(3)
        real(real32), asynchronous :: r4(3), r4_got(3)
        integer(int64) :: key
        key = 2_int64**40 + me
        i4 = me + [1, 2, 3]
        i8 = me + [4, 5, 6]
        r4 = me + [7, 8, 9]
        call hk_irecv(i4_got, previous, key - me + previous, receive)
        call hk_isend(i4, next, key, send)
        call hk_request_wait(receive)
        call hk_request_wait(send)
        call expect(all(i4_got == previous + [1, 2, 3]), 'integers of 4 bytes')
        call hk_irecv(i8_got, previous, 5, receive)
        call hk_isend(i8, next, 5, send)
        call hk_request_wait(receive)
        call hk_request_wait(send)
        call expect(all(i8_got == previous + [4, 5, 6]), 'integers of 8 bytes')
        call hk_irecv(r4_got, previous, 6_int64, receive)
        call hk_isend(r4, next, 6_int64, send)
        call hk_request_wait(receive)
        call hk_request_wait(send)
        call expect(all(r4_got == previous + [7, 8, 9]), 'reals of 4 bytes')
    end subroutine

    ! Of anybody, under any key, or some bits of it; looked for before it is received.
    subroutine any_key
        type(hk_request) :: send, receive
        type(hk_matched) :: matched, again
        integer(int64), asynchronous :: data(2), got(2)
        logical :: found
        data = [me, 7]
        call hk_iprobe(HK_ANYONE, 0, found, ignored=HK_ANY_KEY)
        call expect(.not. found .or. ranks > 1, 'nothing was sent')
        call hk_barrier()
        call hk_isend(data, next, 256 + me, send)
        found = .false.
        do while (.not. found)
            call hk_iprobe(previous, 256_int64, found, matched, ignored=255_int64)
        end do
        call expect(matched%rank == previous .and. matched%key == 256 + previous .and. matched%size == 16, 'it is there')
        call hk_irecv(got, HK_ANYONE, 0, receive, ignored=HK_ANY_KEY)
        call hk_request_wait(receive, matched=again)
        call expect(again%key == matched%key .and. all(got == [previous, 7]), 'it has come')
        call hk_request_wait(send)
        ! One that is too long.
        call hk_irecv(got(1:1), previous, 9, receive)
        call hk_isend(data, next, 9, send)
        call hk_request_wait(receive, ierr=ierr)
        call fails(HK_ERR_TRUNCATED)
        call hk_request_wait(send)
        call hk_barrier()
    end subroutine

    subroutine given_up
        type(hk_request) :: request
        integer(int32), asynchronous :: data(1)
        logical :: received, ended
        call hk_irecv(data, previous, 12345, request)
        call hk_request_test(request, ended)
        call expect(.not. ended, 'nobody sends it')
        call hk_request_wait(request, 10, ierr=ierr)
        call fails(HK_ERR_TIMEOUT)
        call hk_request_cancel(request, received)
        call expect(.not. received .and. request%handle == 0, 'it is given up')
        call hk_isend(data, ranks, 1, request, ierr)
        call fails(HK_ERR_RANK)
        call hk_barrier()
    end subroutine

    ! Nobody passes before all have arrived.
    subroutine barriers
        type(hk_counting) :: barrier
        type(hk_area) :: area
        integer(int64), pointer :: rounds(:)
        integer :: round, rank
        logical :: complete
        call hk_counting_post(barrier, ierr)
        call fails(HK_ERR_HANDLE)
        call hk_alloc(rounds, ranks, area)
        call hk_counting_create(ranks - 1, barrier)
        call hk_counting_wait(barrier, ierr=ierr)
        call fails(HK_ERR_INVALID)
        do round = 1, 50
            do rank = 0, ranks - 1
                call hk_push(int(round, int64), area%at(rank, me + 1))
            end do
            call hk_counting_post(barrier)
            if (mod(round, 2) == 0) then
                call hk_counting_wait(barrier, 60000)
            else
                complete = .false.
                do while (.not. complete)
                    call hk_counting_test(barrier, complete)
                end do
            end if
            call expect(all(rounds == round), 'all have arrived')
            call hk_counting_post(barrier)
            call hk_counting_wait(barrier)
        end do
        ! While the first one has not arrived, the others wait.
        if (me > 0) then
            call hk_counting_post(barrier)
            call hk_counting_test(barrier, complete)
            call expect(.not. complete, 'not all')
            call hk_counting_wait(barrier, 10, ierr)
            call fails(HK_ERR_TIMEOUT)
        end if
        call hk_barrier()
        if (me == 0) call hk_counting_post(barrier)
        call hk_counting_wait(barrier)
        call hk_counting_free(barrier)
        ! Each alone.
        call hk_counting_create_of([me], me, barrier)
        call hk_counting_post(barrier)
        call hk_counting_wait(barrier)
        call hk_counting_free(barrier)
        call expect(barrier%handle == 0, 'it is gone')
        call hk_free(area)
    end subroutine

    subroutine fails(code)
        integer, intent(in) :: code
        call expect(ierr == code, 'code '//trim(hk_strerror(code))//', not '//trim(hk_strerror(ierr)))
    end subroutine

    subroutine expect(condition, what)
        logical, intent(in) :: condition
        character(len=*), intent(in) :: what
        if (condition) return
        write (error_unit, '(a, i0, 2a)') 'rank ', me, ': ', what
        error stop 1
    end subroutine
end program
