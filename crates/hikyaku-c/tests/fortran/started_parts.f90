! Parts that go on while the program computes, and parts that tell of themselves by a word, each rank with its neighbours: checked. An
! expectation that fails ends the rank with status 1, and with it the job.
program started_parts
    use, intrinsic :: iso_fortran_env, only: error_unit, int32, int64, real32, real64
    use hikyaku
    implicit none

    integer, parameter :: rows = 500, width = 40, cells = rows * width
    integer :: me, ranks, next, previous, ierr

    call hk_init()
    me = hk_rank()
    ranks = hk_size()
    next = mod(me + 1, ranks)
    previous = mod(me + ranks - 1, ranks)
    call started
    call told
    call short_integers
    call long_integers
    call short_reals
    call mistakes
    call hk_barrier()
    call hk_finalize(ierr)
    call expect(ierr == HK_SUCCESS, 'the end')

contains

    ! What is written is packed at once: array, twin and bitmap may change before it has ended.
    subroutine started
        type(hk_area) :: area
        type(hk_transfer) :: transfers(3)
        real(real64), pointer :: mine(:)
        real(real64), allocatable :: matrix(:), twin(:)
        real(real64), allocatable, asynchronous :: row(:), thirds(:)
        integer(int64), allocatable :: bits(:)
        integer(int64) :: pushed
        integer :: n, which
        allocate (matrix(cells), twin(cells), row(width), thirds(cells))
        call hk_alloc(mine, cells, area)
        mine = -1
        matrix = [(1000000 * me + n, n=1, cells)]
        call hk_barrier()
        call hk_push_stride_start(matrix(rows:), area%at(next, 1), hk_stride(1, width, rows, rows), transfers(1))
        matrix = 0
        call hk_transfer_wait(transfers(1))
        call hk_barrier()
        do n = 1, width
            call expect(mine((n - 1) * rows + 1) == 1000000 * previous + n * rows, 'a row has come')
            call expect(all(mine((n - 1) * rows + 2:n * rows) == -1), 'nothing beside it')
        end do
        ! Back, packed; and by marks, which may go at once.
        thirds = 0
        bits = hk_bitmap([(mod(n, 3) == 1, n=1, cells)])
        call hk_pull_stride_start(row, area%at(next, 1), hk_stride(1, width, 1, rows), transfers(1))
        call hk_pull_bitmap_start(thirds, area%at(next, 1), bits, transfers(2))
        bits = 0
        call hk_transfer_wait_any(transfers, which)
        call expect(which == 1 .or. which == 2, 'one of two')
        call hk_transfer_wait_any(transfers, which)
        call hk_transfer_wait_any(transfers, which)
        call expect(which == 0, 'both have ended')
        call expect(all(row == [(1000000 * me + n * rows, n=1, width)]), 'packed')
        call expect(thirds(1) == row(1) .and. all(thirds(4::3) /= 0), 'marked ones')
        call expect(all(thirds(2::3) == 0) .and. all(thirds(3::3) == 0), 'no others')
        call hk_barrier()
        matrix = [(1000000 * me + n, n=1, cells)]
        bits = hk_bitmap([(mod(n, 3) == 2, n=1, cells)])
        call hk_push_bitmap_start(matrix, area%at(next, 1), bits, transfers(1))
        twin = matrix
        matrix(7) = -77
        matrix(9) = -99
        call hk_push_diff_start(matrix, area%at(next, 1), twin, transfers(2), pushed)
        call expect(pushed == 2 .and. all(twin == matrix), 'two have changed')
        call hk_push_diff_start(matrix, area%at(next, 1), twin, transfers(3))
        matrix = 0
        bits = 0
        call hk_transfer_wait_all()
        call hk_barrier()
        call expect(all(mine(2::3) == [(1000000 * previous + n, n=2, cells, 3)]), 'those that were marked')
        call expect(mine(7) == -77 .and. mine(9) == -99, 'those that have changed')
        call hk_barrier()
        call hk_free(area)
    end subroutine

    ! A word arrives after all parts, also after none.
    subroutine told
        type(hk_area) :: area, flags
        real(real64), pointer :: mine(:)
        integer(int64), pointer :: flag(:)
        real(real64), allocatable :: matrix(:), twin(:)
        integer(int64) :: pushed
        integer :: n, round
        allocate (matrix(cells), twin(cells))
        call hk_alloc(mine, cells, area)
        call hk_alloc(flag, 3, flags)
        do round = 1, 3
            matrix = [(1000000 * round + 1000 * me + n, n=1, cells)]
            twin = matrix
            call hk_barrier()
            call hk_push_stride_notify(matrix(rows:), area%at(next, 1), hk_stride(1, width, rows, rows), flags%word(1), round)
            call hk_wait(flags%word(1), HK_EQUAL, round)
            call expect(all(mine(1::rows) == [(1000000 * round + 1000 * previous + n * rows, n=1, width)]), 'a row, then a word')
            call hk_push_bitmap_notify(matrix, area%at(next, 1), hk_bitmap([(mod(n, rows) == 2, n=1, cells)]), flags%word(2), &
                                       2_int64**40 + round)
            call hk_wait(flags%word(2), HK_EQUAL, 2_int64**40 + round)
            call expect(all(mine(2::rows) == [(1000000 * round + 1000 * previous + n, n=2, cells, rows)]), 'marks, then a word')
            if (round < 3) matrix(7) = -round
            call hk_push_diff_notify(matrix, area%at(next, 1), twin, flags%word(3), round, pushed)
            call hk_wait(flags%word(3), HK_EQUAL, round)
            call expect(pushed == merge(1, 0, round < 3) .and. all(twin == matrix), 'how many')
            call expect(mine(7) == -min(round, 2), 'a change, then a word')
        end do
        call hk_barrier()
        call hk_free(flags)
        call hk_free(area)
    end subroutine

    ! Elements of each type are as long as they should be. Each rank writes to itself, from its second element on.
    subroutine short_integers
        type(hk_area) :: area, flags
        type(hk_transfer) :: transfer(3)
        integer(int32), pointer :: mine(:)
        integer(int64), pointer :: flag(:)
        integer(int32), asynchronous :: pulled(6), marked(6)
        integer(int32) :: data(6), twin(6)
        call hk_alloc(mine, 7, area)
        call hk_alloc(flag, 3, flags)
        data = [1, 2, 3, 4, 5, 6]
        twin = [1, 2, 3, 4, 5, 0]
        call hk_push_stride_start(data, area%at(me, 2), hk_stride(1, 2, 2, 3), transfer(1))
        call hk_push_bitmap_start(data, area%at(me, 2), hk_bitmap(data == 2), transfer(2))
        call hk_push_diff_start(data, area%at(me, 2), twin, transfer(3))
        call hk_transfer_wait_all()
        call expect(all(mine == [0, 1, 2, 0, 3, 0, 6]), 'started integers of 4 bytes')
        pulled = 0
        marked = 0
        call hk_pull_stride_start(pulled, area%at(me, 3), hk_stride(1, 2, 3, 2), transfer(1))
        call hk_pull_bitmap_start(marked, area%at(me, 2), hk_bitmap(data > 4), transfer(2))
        call hk_transfer_wait_all()
        call expect(all(pulled == [2, 0, 0, 3, 0, 0]) .and. all(marked == [0, 0, 0, 0, 0, 6]), 'pulled integers of 4 bytes')
        twin(5) = 0
        call hk_push_stride_notify(data + 10, area%at(me, 2), hk_stride(2, 1, 2, 2), flags%word(1), 1)
        call hk_push_bitmap_notify(data + 10, area%at(me, 2), hk_bitmap(data == 3 .or. data == 6), flags%word(2), 2)
        call hk_push_diff_notify(data, area%at(me, 2), twin, flags%word(3), 3)
        call hk_wait(flags%word(3), HK_EQUAL, 3)
        call expect(all(flag == [1, 2, 3]) .and. all(mine == [0, 11, 12, 13, 3, 5, 16]), 'integers of 4 bytes, then words')
        call hk_free(flags)
        call hk_free(area)
    end subroutine

    subroutine long_integers
        type(hk_area) :: area, flags
        type(hk_transfer) :: transfer(3)
        integer(int64), pointer :: mine(:), flag(:)
        integer(int64), asynchronous :: pulled(6), marked(6)
        integer(int64) :: data(6), twin(6)
        call hk_alloc(mine, 7, area)
        call hk_alloc(flag, 3, flags)
        data = [1, 2, 3, 4, 5, 6]
        twin = [1, 2, 3, 4, 5, 0]
        call hk_push_stride_start(data, area%at(me, 2), hk_stride(1, 2, 2, 3), transfer(1))
        call hk_push_bitmap_start(data, area%at(me, 2), hk_bitmap(data == 2), transfer(2))
        call hk_push_diff_start(data, area%at(me, 2), twin, transfer(3))
        call hk_transfer_wait_all()
        call expect(all(mine == [0, 1, 2, 0, 3, 0, 6]), 'started integers of 8 bytes')
        pulled = 0
        marked = 0
        call hk_pull_stride_start(pulled, area%at(me, 3), hk_stride(1, 2, 3, 2), transfer(1))
        call hk_pull_bitmap_start(marked, area%at(me, 2), hk_bitmap(data > 4), transfer(2))
        call hk_transfer_wait_all()
        call expect(all(pulled == [2, 0, 0, 3, 0, 0]) .and. all(marked == [0, 0, 0, 0, 0, 6]), 'pulled integers of 8 bytes')
        twin(5) = 0
        call hk_push_stride_notify(data + 10, area%at(me, 2), hk_stride(2, 1, 2, 2), flags%word(1), 1)
        call hk_push_bitmap_notify(data + 10, area%at(me, 2), hk_bitmap(data == 3 .or. data == 6), flags%word(2), 2)
        call hk_push_diff_notify(data, area%at(me, 2), twin, flags%word(3), 3)
        call hk_wait(flags%word(3), HK_EQUAL, 3)
        call expect(all(flag == [1, 2, 3]) .and. all(mine == [0, 11, 12, 13, 3, 5, 16]), 'integers of 8 bytes, then words')
        call hk_free(flags)
        call hk_free(area)
    end subroutine

    subroutine short_reals
        type(hk_area) :: area, flags
        type(hk_transfer) :: transfer(3)
        real(real32), pointer :: mine(:)
        integer(int64), pointer :: flag(:)
        real(real32), asynchronous :: pulled(6), marked(6)
        real(real32) :: data(6), twin(6)
        call hk_alloc(mine, 7, area)
        call hk_alloc(flag, 3, flags)
        data = [1, 2, 3, 4, 5, 6]
        twin = [1, 2, 3, 4, 5, 0]
        call hk_push_stride_start(data, area%at(me, 2), hk_stride(1, 2, 2, 3), transfer(1))
        call hk_push_bitmap_start(data, area%at(me, 2), hk_bitmap(data == 2), transfer(2))
        call hk_push_diff_start(data, area%at(me, 2), twin, transfer(3))
        call hk_transfer_wait_all()
        call expect(all(mine == [0, 1, 2, 0, 3, 0, 6]), 'started reals of 4 bytes')
        pulled = 0
        marked = 0
        call hk_pull_stride_start(pulled, area%at(me, 3), hk_stride(1, 2, 3, 2), transfer(1))
        call hk_pull_bitmap_start(marked, area%at(me, 2), hk_bitmap(data > 4), transfer(2))
        call hk_transfer_wait_all()
        call expect(all(pulled == [2, 0, 0, 3, 0, 0]) .and. all(marked == [0, 0, 0, 0, 0, 6]), 'pulled reals of 4 bytes')
        twin(5) = 0
        call hk_push_stride_notify(data + 10, area%at(me, 2), hk_stride(2, 1, 2, 2), flags%word(1), 1)
        call hk_push_bitmap_notify(data + 10, area%at(me, 2), hk_bitmap(data == 3 .or. data == 6), flags%word(2), 2)
        call hk_push_diff_notify(data, area%at(me, 2), twin, flags%word(3), 3)
        call hk_wait(flags%word(3), HK_EQUAL, 3)
        call expect(all(flag == [1, 2, 3]) .and. all(mine == [0, 11, 12, 13, 3, 5, 16]), 'reals of 4 bytes, then words')
        call hk_free(flags)
        call hk_free(area)
    end subroutine

    ! Parts that reach beyond their array or their area: nothing is started, and no twin is changed.
    subroutine mistakes
        type(hk_area) :: area, none
        type(hk_transfer) :: transfer
        type(hk_area_word) :: flag
        integer(int64), pointer :: mine(:)
        integer(int64), asynchronous :: got(4), many_got(65)
        integer(int64) :: data(4), twin(4), many(65), pushed
        logical :: ended
        type(hk_stride) :: second, beyond
        integer(int64) :: one(1)
        integer :: n
        call hk_alloc(mine, 4, area)
        flag = area%word(4)
        second = hk_stride(1, 2, 2, 2)
        beyond = hk_stride(1, 3, 2, 1)
        data = 1
        twin = 2
        got = 3
        many = 4
        many_got = 4
        one = hk_bitmap(data > 0)
        do n = 1, 20
            pushed = 0
            if (any(n == [7, 8, 11, 16, 19])) pushed = -1
            select case (n)
            case (1); call hk_push_stride_start(data, area%at(me, 1), beyond, transfer, ierr)
            case (2); call hk_pull_stride_start(got, area%at(me, 1), beyond, transfer, ierr)
            case (3); call hk_push_stride_notify(data, area%at(me, 1), beyond, flag, 1, ierr)
            case (4); call hk_push_bitmap_start(many, area%at(me, 1), one, transfer, ierr)
            case (5); call hk_pull_bitmap_start(many_got, area%at(me, 1), one, transfer, ierr)
            case (6); call hk_push_bitmap_notify(many, area%at(me, 1), one, flag, 1, ierr)
            case (7); call hk_push_diff_start(data, area%at(me, 1), twin(2:), transfer, pushed, ierr)
            case (8); call hk_push_diff_notify(data(2:), area%at(me, 1), twin, flag, 1, pushed, ierr)
            case (9); call hk_push_stride_notify(data, area%at(me, 1), second, flag, 1.0, ierr)
            case (10); call hk_push_bitmap_notify(data, area%at(me, 1), hk_bitmap(data > 0), flag, '1', ierr)
            case (11); call hk_push_diff_notify(data, area%at(me, 1), twin, flag, .true., pushed, ierr)
            case (12); call hk_push_stride_start(data, area%at(me, 3), second, transfer, ierr)
            case (13); call hk_pull_stride_start(got, area%at(me, 0), second, transfer, ierr)
            case (14); call hk_push_bitmap_start(data, area%at(me, 2), hk_bitmap(data > 0), transfer, ierr)
            case (15); call hk_pull_bitmap_start(got, area%at(me, 2), hk_bitmap(data > 0), transfer, ierr)
            case (16); call hk_push_diff_start(data, area%at(me, 2), twin, transfer, pushed, ierr)
            case (17); call hk_push_stride_notify(data, area%at(me, 1), second, area%word(5), 1, ierr)
            case (18); call hk_push_bitmap_notify(data, area%at(me, 1), hk_bitmap(data > 0), area%word(0), 1, ierr)
            case (19); call hk_push_diff_notify(data, area%at(me, 1), twin, area%word(5), 1, pushed, ierr)
            ! How far apart blocks are in the area was not said.
            case (20); call hk_push_stride_start(data, area%at(me, 1), hk_stride(1, 2, 2), transfer, ierr)
            end select
            if (n < 12 .or. n == 20) call fails(HK_ERR_INVALID)
            if (n >= 12 .and. n < 20) call fails(HK_ERR_BOUNDS)
            call hk_transfer_test(transfer, ended)
            call expect(ended .and. pushed == 0, 'nothing was started')
        end do
        call expect(all(twin == 2) .and. all(got == 3) .and. all(many_got == 4) .and. all(mine == 0), 'all as it was')
        call hk_push_stride_start(data, area%at(ranks, 1), second, transfer, ierr)
        call fails(HK_ERR_RANK)
        call hk_push_diff_start(data, none%at(0, 1), twin, transfer, ierr=ierr)
        call fails(HK_ERR_HANDLE)
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
