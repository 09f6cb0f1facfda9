! Messages of parts: blocks, marked elements, what differs from a twin; and what cannot be. An expectation that fails ends the rank with
! status 1, and with it the job.
program message_parts
    use, intrinsic :: iso_fortran_env, only: error_unit, int32, int64, real32, real64
    use hikyaku
    implicit none

    integer, parameter :: sizes(4) = [10, 130, 3000, 40000]
    integer :: me, ranks, next, previous, ierr, turn

    call hk_init()
    me = hk_rank()
    ranks = hk_size()
    next = mod(me + 1, ranks)
    previous = mod(me + ranks - 1, ranks)
    call hk_matching_open()
    do turn = 1, size(sizes)
        call around(sizes(turn))
    end do
    call other_parts
    call short_integers
    call long_integers
    call short_reals
    call mistakes
    call hk_matching_close()
    call hk_barrier()
    call hk_finalize(ierr)
    call expect(ierr == HK_SUCCESS, 'the end')

contains

    ! Every form to the next rank, two received before and two after they were sent.
    subroutine around(length)
        integer, intent(in) :: length
        real(real64), dimension(length) :: data, twin, changed
        real(real64), dimension(length), asynchronous :: blocks, marked, kept, kept_twin, diffs
        integer(int64), allocatable :: bits(:)
        type(hk_stride) :: thirds
        type(hk_request) :: sends(4), receives(4)
        type(hk_matched) :: matched
        integer(int64) :: sent
        integer :: n
        thirds = hk_stride(block=1, count=length / 3, here=3)
        allocate (bits((length + 63) / 64))
        bits(:) = hk_bitmap([(mod(n, 2) == 0, n=1, length)])
        data = [(1000000 * me + n, n=1, length)]
        twin = data
        changed = [(1000000 * me + n + merge(0.5_real64, 0.0_real64, mod(n, 7) == 1), n=1, length)]
        blocks = -9
        marked = -9
        kept = -9
        kept_twin = -9
        diffs = [(1000000 * previous + n, n=1, length)]
        call hk_irecv_stride(blocks, thirds, previous, 1, receives(1))
        call hk_irecv_bitmap(marked, bits, HK_ANYONE, 2, receives(2))
        call hk_isend_stride(data, thirds, next, 1, sends(1))
        call hk_isend_bitmap(data, bits, next, 2_int64, sends(2))
        call hk_isend(data, next, 3, sends(3))
        call hk_isend_diff(changed, twin, next, 4, sends(4), sent)
        ! What was sent in parts is packed already; so is the bitmap that is received by.
        call expect(sent == (length + 6) / 7 .and. all(twin == changed), 'how many have changed')
        changed = 0
        bits = 0
        call hk_barrier()
        call hk_irecv_twin(kept, kept_twin, previous, 3_int64, receives(3))
        call hk_irecv_diff(diffs, previous, 4, receives(4))
        do n = 1, 4
            call hk_request_wait(receives(n), matched=matched)
            call expect(matched%rank == previous .and. matched%key == n, 'what has come')
            if (n == 1) call expect(matched%size == length / 3 * 8, 'the bytes of blocks')
            if (n == 2) call expect(matched%size == length / 2 * 8, 'the bytes of marked elements')
            if (n == 3) call expect(matched%size == length * 8, 'all bytes')
            call hk_request_wait(sends(n))
        end do
        do n = 1, length
            call expect(blocks(n) == merge(1000000 * previous + n, -9, mod(n, 3) == 1 .and. n < length / 3 * 3), 'blocks')
            call expect(marked(n) == merge(1000000 * previous + n, -9, mod(n, 2) == 0), 'marked elements')
            call expect(kept(n) == 1000000 * previous + n .and. kept_twin(n) == kept(n), 'all, and a twin')
            call expect(diffs(n) == 1000000 * previous + n + merge(0.5_real64, 0.0_real64, mod(n, 7) == 1), 'what has changed')
        end do
        call hk_barrier()
    end subroutine

    ! Each side says for itself which parts. A message that is shorter fills the first ones; some bits of a key do not count.
    subroutine other_parts
        real(real64) :: column(6), matrix(3, 6)
        real(real64), asynchronous :: got(20), row(9)
        type(hk_request) :: send, receive
        type(hk_matched) :: matched
        integer :: n
        matrix = reshape([(100 * me + n, n=1, 18)], [3, 6])
        got = 0
        ! Elements with gaps, sent as an array without: they are packed twice.
        call hk_irecv_stride(got, hk_stride(2, 5, 4), previous, 1024, receive, ignored=1023_int64)
        call hk_isend_bitmap(matrix(2, :), hk_bitmap([.true., .true., .true., .false., .true., .false.]), next, 1030, send)
        call hk_request_wait(receive, matched=matched)
        call hk_request_wait(send)
        call expect(matched%key == 1030 .and. matched%size == 32, 'half of it')
        call expect(all(got(1:6) == [100 * previous + 2, 100 * previous + 5, 0, 0, 100 * previous + 8, 100 * previous + 14]), &
                    'two blocks of two')
        call expect(all(got(7:) == 0), 'the others are left alone')
        row = 0
        column = matrix(3, :)
        call hk_irecv_bitmap(row, hk_bitmap([(n > 3, n=1, 9)]), HK_ANYONE, 0, receive, HK_ANY_KEY)
        call hk_isend_stride(column, hk_stride(2, 3, 2), next, 5, send)
        call hk_request_wait(receive)
        call hk_request_wait(send)
        call expect(all(row == [0, 0, 0, (100 * previous + 3 * n, n=1, 6)]), 'blocks that touch each other')
        ! What is no message of changes, and one that is too long.
        call hk_irecv_diff(got, me, 6, receive)
        call hk_isend(column, me, 6, send)
        call hk_request_wait(receive, ierr=ierr)
        call fails(HK_ERR_INVALID)
        call hk_request_wait(send)
        call hk_irecv_stride(got, hk_stride(1, 2, 1), me, 7, receive)
        call hk_isend(column, me, 7, send)
        call hk_request_wait(receive, ierr=ierr)
        call fails(HK_ERR_TRUNCATED)
        call hk_request_wait(send)
        call hk_barrier()
    end subroutine

    ! Elements of each type are as long as they should be.
    subroutine short_integers
        integer(int32) :: data(4), twin(4)
        integer(int32), dimension(4), asynchronous :: blocks, marked, kept, kept_twin, diffs
        type(hk_request) :: sends(4), receives(4)
        data = me + [10, 20, 30, 40]
        twin = me + [10, 20, 30, 44]
        blocks = 0
        marked = 0
        diffs = 0
        call hk_isend_stride(data, hk_stride(1, 2, 2), next, 1, sends(1))
        call hk_isend_bitmap(data, hk_bitmap([.false., .true., .true., .false.]), next, 2, sends(2))
        call hk_isend(data, next, 3, sends(3))
        call hk_isend_diff(data, twin, next, 4, sends(4))
        call hk_irecv_stride(blocks, hk_stride(1, 2, 3), previous, 1, receives(1))
        call hk_irecv_bitmap(marked, hk_bitmap([.true., .false., .false., .true.]), previous, 2, receives(2))
        call hk_irecv_twin(kept, kept_twin, previous, 3, receives(3))
        call hk_irecv_diff(diffs, previous, 4, receives(4))
        call ended(sends, receives)
        call expect(all(blocks == [previous + 10, 0, 0, previous + 30]), 'blocks of 4 bytes')
        call expect(all(marked == [previous + 20, 0, 0, previous + 30]), 'marked integers of 4 bytes')
        call expect(all(kept == previous + [10, 20, 30, 40]) .and. all(kept_twin == kept), 'integers of 4 bytes')
        call expect(all(diffs == [0, 0, 0, previous + 40]) .and. all(twin == data), 'changed integers of 4 bytes')
    end subroutine

    subroutine long_integers
        integer(int64) :: data(4), twin(4)
        integer(int64), dimension(4), asynchronous :: blocks, marked, kept, kept_twin, diffs
        type(hk_request) :: sends(4), receives(4)
        data = me + [10, 20, 30, 40]
        twin = me + [10, 20, 30, 44]
        blocks = 0
        marked = 0
        diffs = 0
        call hk_isend_stride(data, hk_stride(1, 2, 2), next, 1, sends(1))
        call hk_isend_bitmap(data, hk_bitmap([.false., .true., .true., .false.]), next, 2, sends(2))
        call hk_isend(data, next, 3, sends(3))
        call hk_isend_diff(data, twin, next, 4, sends(4))
        call hk_irecv_stride(blocks, hk_stride(1, 2, 3), previous, 1, receives(1))
        call hk_irecv_bitmap(marked, hk_bitmap([.true., .false., .false., .true.]), previous, 2, receives(2))
        call hk_irecv_twin(kept, kept_twin, previous, 3, receives(3))
        call hk_irecv_diff(diffs, previous, 4, receives(4))
        call ended(sends, receives)
        call expect(all(blocks == [previous + 10, 0, 0, previous + 30]), 'blocks of 8 bytes')
        call expect(all(marked == [previous + 20, 0, 0, previous + 30]), 'marked integers of 8 bytes')
        call expect(all(kept == previous + [10, 20, 30, 40]) .and. all(kept_twin == kept), 'integers of 8 bytes')
        call expect(all(diffs == [0, 0, 0, previous + 40]) .and. all(twin == data), 'changed integers of 8 bytes')
    end subroutine

    subroutine short_reals
        real(real32) :: data(4), twin(4)
        real(real32), dimension(4), asynchronous :: blocks, marked, kept, kept_twin, diffs
        type(hk_request) :: sends(4), receives(4)
        data = me + [10, 20, 30, 40]
        twin = me + [10, 20, 30, 44]
        blocks = 0
        marked = 0
        diffs = 0
        call hk_isend_stride(data, hk_stride(1, 2, 2), next, 1, sends(1))
        call hk_isend_bitmap(data, hk_bitmap([.false., .true., .true., .false.]), next, 2, sends(2))
        call hk_isend(data, next, 3, sends(3))
        call hk_isend_diff(data, twin, next, 4, sends(4))
        call hk_irecv_stride(blocks, hk_stride(1, 2, 3), previous, 1, receives(1))
        call hk_irecv_bitmap(marked, hk_bitmap([.true., .false., .false., .true.]), previous, 2, receives(2))
        call hk_irecv_twin(kept, kept_twin, previous, 3, receives(3))
        call hk_irecv_diff(diffs, previous, 4, receives(4))
        call ended(sends, receives)
        call expect(all(blocks == [previous + 10, 0, 0, previous + 30]), 'blocks of reals')
        call expect(all(marked == [previous + 20, 0, 0, previous + 30]), 'marked reals')
        call expect(all(kept == previous + [10, 20, 30, 40]) .and. all(kept_twin == kept), 'reals of 4 bytes')
        call expect(all(diffs == [0, 0, 0, previous + 40]) .and. all(twin == data), 'changed reals')
    end subroutine

    subroutine ended(sends, receives)
        type(hk_request), intent(inout) :: sends(:), receives(:)
        integer :: n
        do n = 1, size(sends)
            call hk_request_wait(receives(n))
            call hk_request_wait(sends(n))
        end do
    end subroutine

    ! Parts that reach beyond their array, and the like: no request is left, and no twin is changed.
    subroutine mistakes
        real(real64) :: data(4), twin(4), many(65)
        real(real64), asynchronous :: got(4), got_twin(4), many_got(65)
        type(hk_request) :: request
        integer(int64) :: sent
        integer :: n
        data = 1
        twin = 2
        many = 3
        do n = 1, 12
            sent = 0
            if (n == 7 .or. n == 11) sent = -1
            select case (n)
            case (1)
                call hk_isend_stride(data, hk_stride(1, 3, 2), me, 1, request, ierr)
            case (2)
                call hk_irecv_stride(got, hk_stride(5, 1, 0), me, 1, request, ierr=ierr)
            case (3)
                call hk_isend_stride(data, hk_stride(2, 2, 1), me, 1, request, ierr)
            case (4)
                call hk_irecv_stride(got, hk_stride(2, 2, 1), me, 1, request, ierr=ierr)
            case (5)
                call hk_isend_bitmap(many, hk_bitmap(data > 0), me, 1, request, ierr)
            case (6)
                call hk_irecv_bitmap(many_got, hk_bitmap(data > 0), me, 1, request, ierr=ierr)
            case (7)
                call hk_isend_diff(data, twin(2:), me, 1, request, sent, ierr)
            case (8)
                call hk_irecv_twin(got, got_twin(2:), me, 1, request, ierr=ierr)
            case (9)
                call hk_irecv_twin(got(2:), got_twin, me, 1, request, ierr=ierr)
            case (10)
                call hk_isend_stride(data, hk_stride(1, 2, 2), me, 1.5, request, ierr)
            case (11)
                call hk_isend_diff(data, twin, me, 'key', request, sent, ierr)
            case (12)
                call hk_irecv_diff(got, me, .true., request, ierr=ierr)
            end select
            call fails(HK_ERR_INVALID)
            call expect(request%handle == 0 .and. sent == 0, 'no request, and nothing sent')
        end do
        call hk_isend_stride(data, hk_stride(-1, 2, 2), me, 1, request, ierr)
        call expect(ierr < 0, 'a block of less than nothing')
        call hk_irecv_stride(got, hk_stride(1, -2, 2), me, 1, request, ierr=ierr)
        call expect(ierr < 0, 'fewer blocks than none')
        call hk_isend_diff(data, twin, ranks, 1, request, sent, ierr)
        call fails(HK_ERR_RANK)
        call expect(sent == 0 .and. all(twin == 2), 'the twin is as it was')
        call hk_irecv_bitmap(got, hk_bitmap(data > 0), ranks, 1, request, ierr=ierr)
        call fails(HK_ERR_RANK)
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
