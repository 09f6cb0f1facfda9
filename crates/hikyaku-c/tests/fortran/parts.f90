! Parts of a range, and multicast, each rank with its neighbours: checked. An expectation that fails ends the rank with status 1, and with
! it the job.
program parts
    use, intrinsic :: iso_fortran_env, only: error_unit, int32, int64, real32, real64
    use hikyaku
    implicit none

    integer, parameter :: rows = 50, width = 40, cells = rows * width
    integer :: me, ranks, next, previous, ierr, r

    call hk_init()
    me = hk_rank()
    ranks = hk_size()
    next = mod(me + 1, ranks)
    previous = mod(me + ranks - 1, ranks)
    call columns
    call marked
    call changed
    call every_type
    call recipients
    call mistakes
    call hk_barrier()
    call hk_finalize(ierr)
    call expect(ierr == HK_SUCCESS, 'the end')

contains

    ! The last row of a matrix becomes the first one of the next rank: elements at a distance, in Fortran's order.
    subroutine columns
        type(hk_area) :: area
        real(real64), pointer :: mine(:)
        real(real64) :: matrix(cells), row(width)
        integer :: n
        call hk_alloc(mine, cells, area)
        mine = -1
        matrix = [(1000000 * me + n, n=1, cells)]
        call hk_barrier()
        call hk_push_stride(matrix(rows:), area%at(next, 1), &
                            hk_stride(block=1, count=width, here=rows, there=rows))
        call hk_barrier()
        do n = 1, width
            call expect(mine((n - 1) * rows + 1) == 1000000 * previous + n * rows, 'a row has come')
            call expect(mine((n - 1) * rows + 2) == -1, 'nothing beside it')
        end do
        call hk_pull_stride(row, area%at(next, 1), hk_stride(1, width, 1, rows))
        call expect(all(row == [(1000000 * me + n * rows, n=1, width)]), 'packed')
        call hk_pull_stride(row, area%at(next, 1), hk_stride(1, width, 1, rows + 2), ierr)
        call fails(HK_ERR_BOUNDS)
        call hk_push_stride(matrix, area%at(next, 1), hk_stride(1, width + 1, rows, 1), ierr)
        call fails(HK_ERR_INVALID)
        call hk_push_stride(matrix, area%at(next, 1), hk_stride(cells + 1, 1, 0, 0), ierr)
        call fails(HK_ERR_INVALID)
        call hk_push_stride(matrix, area%at(next, 1), hk_stride(2, 2, 1, 2), ierr)
        call fails(HK_ERR_INVALID)
        call hk_push_stride(matrix, area%at(next, 1), hk_stride(-1, 2, 1, 2), ierr)
        call expect(ierr < 0, 'a block of less than nothing')
        call hk_free(area)
    end subroutine

    subroutine marked
        type(hk_area) :: area
        integer(int32), pointer :: mine(:)
        integer(int32) :: data(cells)
        integer(int64) :: every_third(32)
        integer :: n
        every_third = hk_bitmap([(mod(n, 3) == 0, n=1, cells)])
        call expect(every_third(1) == int(z'4924924924924924', int64), 'the bits of a mask')
        call expect(size(hk_bitmap([.true., .false.])) == 1 .and. size(hk_bitmap([logical ::])) == 0, 'words')
        call expect(all(hk_bitmap([(n == 64, n=1, 65)]) == [ibset(0_int64, 63), 0_int64]), 'the last bit of a word')
        call hk_alloc(mine, cells, area)
        mine = -1
        data = [(1000000 * me + n, n=1, cells)]
        call hk_barrier()
        call hk_push_bitmap(data, area%at(next, 1), every_third)
        call hk_barrier()
        call expect(all(mine == [(merge(1000000 * previous + n, -1, mod(n, 3) == 0), n=1, cells)]), 'every third')
        data = 0
        call hk_pull_bitmap(data, area%at(next, 1), every_third)
        call expect(all(data == [(merge(1000000 * me + n, 0, mod(n, 3) == 0), n=1, cells)]), 'and back')
        call hk_push_bitmap(data, area%at(next, 1), every_third(2:), ierr)
        call fails(HK_ERR_INVALID)
        call hk_push_bitmap(data, area%at(next, 2), every_third, ierr)
        call fails(HK_ERR_BOUNDS)
        call hk_free(area)
    end subroutine

    ! All ranks change the numbers of rank 0, each its own.
    subroutine changed
        type(hk_area) :: area
        real(real32), pointer :: mine(:)
        real(real32) :: data(cells), twin(cells)
        integer(int64) :: pushed
        integer :: n
        call hk_alloc(mine, cells, area)
        call hk_barrier()
        call hk_pull_twin(data, area%at(0, 1), twin)
        call hk_barrier()
        data(me + 1::ranks) = real(me + 1)
        call hk_push_diff(data, area%at(0, 1), twin, pushed)
        call expect(pushed == size(data(me + 1::ranks)), 'as many as have changed')
        call hk_push_diff(data, area%at(0, 1), twin, pushed)
        call expect(pushed == 0, 'none since')
        call hk_barrier()
        call hk_pull(data, area%at(0, 1))
        call expect(all(data == [(real(mod(n - 1, ranks) + 1), n=1, cells)]), 'all changes together')
        call hk_push_diff(data, area%at(0, 1), twin(2:), ierr=ierr)
        call fails(HK_ERR_INVALID)
        call hk_pull_twin(data, area%at(0, 1), twin(2:), ierr)
        call fails(HK_ERR_INVALID)
        call hk_free(area)
    end subroutine

    ! Elements of each type are as long as they should be.
    subroutine every_type
        type(hk_area) :: area
        integer(int64), pointer :: memory(:)
        integer(int32) :: i4(4), i4_twin(4)
        integer(int64) :: i8(4), i8_twin(4), bits(1), pushed
        real(real32) :: r4(4), r4_twin(4)
        real(real64) :: r8(4), r8_twin(4)
        type(hk_stride) :: second
        second = hk_stride(1, 2, 2, 2)
        bits = hk_bitmap([.false., .true., .true., .false.])
        call hk_alloc(memory, 4, area)
        i4 = [1, 2, 3, 4]
        call hk_push_stride(i4, area%at(me, 1), second)
        call hk_push_bitmap(i4, area%at(me, 1), bits)
        i4_twin = [1, 2, 3, 0]
        call hk_push_diff(i4, area%at(me, 1), i4_twin, pushed)
        call hk_sync()
        i4 = 0
        call hk_pull_stride(i4, area%at(me, 1), second)
        call expect(all(i4 == [1, 0, 3, 0]), 'blocks of 4 bytes')
        call hk_pull_bitmap(i4, area%at(me, 1), bits)
        call hk_pull_twin(i4, area%at(me, 1), i4_twin)
        call expect(all(i4 == [1, 2, 3, 4]) .and. all(i4_twin == i4) .and. pushed == 1, 'integers of 4 bytes')
        r4 = [1, 2, 3, 4]
        call hk_push_stride(r4, area%at(me, 1), second)
        call hk_push_bitmap(r4, area%at(me, 1), bits)
        r4_twin = [1, 2, 3, 0]
        call hk_push_diff(r4, area%at(me, 1), r4_twin, pushed)
        call hk_sync()
        r4 = 0
        call hk_pull_stride(r4, area%at(me, 1), second)
        call hk_pull_bitmap(r4, area%at(me, 1), bits)
        call expect(all(r4 == [1, 2, 3, 0]), 'parts of reals of 4 bytes')
        call hk_pull_twin(r4, area%at(me, 1), r4_twin)
        call expect(all(r4 == [1, 2, 3, 4]) .and. all(r4_twin == r4) .and. pushed == 1, 'reals of 4 bytes')
        i8 = [1, 2, 3, 4]
        call hk_push_stride(i8, area%at(me, 1), second)
        call hk_push_bitmap(i8, area%at(me, 1), bits)
        i8_twin = [1, 2, 3, 0]
        call hk_push_diff(i8, area%at(me, 1), i8_twin, pushed)
        call hk_sync()
        i8 = 0
        call hk_pull_stride(i8, area%at(me, 1), second)
        call hk_pull_bitmap(i8, area%at(me, 1), bits)
        call expect(all(i8 == [1, 2, 3, 0]), 'parts of integers of 8 bytes')
        call hk_pull_twin(i8, area%at(me, 1), i8_twin)
        call expect(all(i8 == [1, 2, 3, 4]) .and. all(i8_twin == i8) .and. pushed == 1, 'integers of 8 bytes')
        r8 = [1, 2, 3, 4]
        call hk_push_stride(r8, area%at(me, 1), second)
        call hk_push_bitmap(r8, area%at(me, 1), bits)
        r8_twin = [1, 2, 3, 0]
        call hk_push_diff(r8, area%at(me, 1), r8_twin, pushed)
        call hk_sync()
        r8 = 0
        call hk_pull_stride(r8, area%at(me, 1), second)
        call hk_pull_bitmap(r8, area%at(me, 1), bits)
        call expect(all(r8 == [1, 2, 3, 0]), 'parts of reals of 8 bytes')
        call hk_pull_twin(r8, area%at(me, 1), r8_twin)
        call expect(all(r8 == [1, 2, 3, 4]) .and. all(r8_twin == r8) .and. pushed == 1, 'reals of 8 bytes')
        call hk_free(area)
    end subroutine

    ! The last rank tells all others, and itself, in every form: to recipients that it has named, and to a list.
    subroutine recipients
        type(hk_area) :: area, flags
        type(hk_recipients) :: everyone
        real(real64), pointer :: mine(:)
        integer(int64), pointer :: flag(:)
        real(real64) :: data(100), twin(100)
        integer(int64) :: pushed
        integer :: list(ranks), way, n
        list = [(r, r=ranks - 1, 0, -1)]
        call hk_alloc(mine, 100, area)
        call hk_alloc(flag, 2, flags)
        call hk_recipients_create(list, everyone)
        do way = 1, 2
            data = [(1000 * way + n, n=1, 100)]
            call ready(mine)
            if (me == ranks - 1) then
                if (way == 1) call hk_mcast_notify(data, everyone, area%each(1), flags%word(2), 1)
                if (way == 2) call hk_mcast_notify(data, list, area%each(1_int64), flags%word(2), 2_int64)
            end if
            call hk_wait(flags%word(2), HK_EQUAL, way)
            call expect(all(mine == data), 'all, then a word')
            call ready(mine)
            if (me == ranks - 1) then
                if (way == 1) call hk_mcast(data(1:2), everyone, area%each(2))
                if (way == 2) call hk_mcast(data(1:2), list, area%each(2))
            end if
            call hk_barrier()
            call expect(all(mine(1:4) == [0.0_real64, data(1), data(2), 0.0_real64]), 'two of them')
            call ready(mine)
            if (me == ranks - 1) then
                if (way == 1) call hk_mcast_stride(data, everyone, area%each(1), hk_stride(1, 50, 2, 2))
                if (way == 2) call hk_mcast_stride(data, list, area%each(1), hk_stride(1, 50, 2, 2))
            end if
            call hk_barrier()
            call expect(all(mine == [(merge(data(n), 0.0_real64, mod(n, 2) == 1), n=1, 100)]), 'every second')
            call ready(mine)
            if (me == ranks - 1) then
                if (way == 1) call hk_mcast_bitmap(data, everyone, area%each(1), hk_bitmap([(mod(n, 3) == 0, n=1, 100)]))
                if (way == 2) call hk_mcast_bitmap(data, list, area%each(1), hk_bitmap([(mod(n, 3) == 0, n=1, 100)]))
            end if
            call hk_barrier()
            call expect(all(mine == [(merge(data(n), 0.0_real64, mod(n, 3) == 0), n=1, 100)]), 'every third')
            call ready(mine)
            if (me == ranks - 1) then
                twin = data
                data(7) = -1
                data(40) = -2
                if (way == 1) call hk_mcast_diff(data, everyone, area%each(1), twin, pushed)
                if (way == 2) call hk_mcast_diff(data, list, area%each(1), twin, pushed)
                call expect(pushed == 2, 'two have changed')
            end if
            call hk_barrier()
            call expect(mine(7) == -1 .and. mine(40) == -2 .and. count(mine /= 0) == 2, 'those that have changed')
        end do
        call hk_barrier()
        call hk_mcast(data, everyone, area%each(2), ierr)
        call fails(HK_ERR_BOUNDS)
        call hk_mcast(data, [ranks], area%each(1), ierr)
        call fails(HK_ERR_RANK)
        call hk_mcast_diff(data, everyone, area%each(1), twin(2:), ierr=ierr)
        call fails(HK_ERR_INVALID)
        call hk_recipients_free(everyone)
        call hk_mcast(data, everyone, area%each(1), ierr)
        call fails(HK_ERR_HANDLE)
        call hk_recipients_create([0, 0], everyone, ierr)
        call expect(ierr < 0, 'each rank once')
        call other_types
        call hk_free(area)
        call hk_free(flags)
    end subroutine

    subroutine other_types
        type(hk_area) :: area, flags
        integer(int64), pointer :: memory(:), flag(:)
        integer(int32) :: i4(2)
        integer(int64) :: i8(2)
        real(real32) :: r4(2)
        call hk_alloc(memory, 2, area)
        call hk_alloc(flag, 1, flags)
        i4 = [5, 6]
        i8 = [7, 8]
        r4 = [9, 10]
        call hk_mcast(i4, [me], area%each(1))
        call hk_sync()
        i4 = 0
        call hk_pull(i4, area%at(me, 1))
        call expect(all(i4 == [5, 6]), 'integers of 4 bytes')
        call hk_mcast(i8, [me], area%each(1))
        call hk_sync()
        call expect(all(memory == [7, 8]), 'integers of 8 bytes')
        call hk_mcast_notify(r4, [me], area%each(1), flags%word(1), 3)
        call hk_wait(flags%word(1), HK_EQUAL, 3)
        r4 = 0
        call hk_pull(r4, area%at(me, 1))
        call expect(all(r4 == [9, 10]), 'reals of 4 bytes')
        call hk_barrier()
        call hk_free(flags)
        call hk_free(area)
    end subroutine

    ! Everyone has done with what was there.
    subroutine ready(mine)
        real(real64), intent(inout) :: mine(:)
        call hk_barrier()
        mine = 0
        call hk_barrier()
    end subroutine

    subroutine mistakes
        type(hk_area) :: none
        real(real64) :: data(4)
        data = 0
        call hk_push_stride(data, none%at(0, 1), hk_stride(1, 2, 2, 2), ierr)
        call fails(HK_ERR_HANDLE)
        call hk_push_bitmap(data, none%at(0, 1), hk_bitmap(data > 1), ierr)
        call fails(HK_ERR_HANDLE)
        call hk_mcast(data, [0], none%each(1), ierr)
        call fails(HK_ERR_HANDLE)
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
