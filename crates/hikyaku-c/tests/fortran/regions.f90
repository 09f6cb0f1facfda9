! Shared regions: all copies get what anyone writes, whoever comes and goes; and what cannot be. An expectation that fails ends the rank
! with status 1, and with it the job.
program regions
    use, intrinsic :: iso_fortran_env, only: error_unit, int32, int64, real32, real64
    use hikyaku
    implicit none

    integer, parameter :: length = 100
    integer :: me, ranks, ierr

    call hk_init()
    me = hk_rank()
    ranks = hk_size()
    call none
    call rounds
    call ranges
    call short_integers
    call long_integers
    call short_reals
    call too_long
    call marked
    call hk_barrier()
    call hk_finalize(ierr)
    call expect(ierr == HK_SUCCESS, 'the end')

contains

    ! Calls on what is no region, and regions that cannot be.
    subroutine none
        type(hk_region) :: region
        real(real64) :: data(2), twin(2)
        integer(int64) :: changed
        data = 0
        call hk_subscribe(region, ierr)
        call fails(HK_ERR_HANDLE)
        call hk_unsubscribe(region, ierr)
        call fails(HK_ERR_HANDLE)
        call hk_region_free(region, ierr)
        call fails(HK_ERR_HANDLE)
        call hk_region_read(data, region%at(1), ierr)
        call fails(HK_ERR_HANDLE)
        call hk_region_write(data, region%at(1), ierr)
        call fails(HK_ERR_HANDLE)
        call hk_region_read_twin(data, region, twin, ierr)
        call fails(HK_ERR_HANDLE)
        call hk_region_write_diff(data, region, twin, changed, ierr)
        call fails(HK_ERR_HANDLE)
        call expect(changed == 0, 'nothing was written')
        call hk_region_refresh(data, region, twin, changed, ierr)
        call fails(HK_ERR_HANDLE)
        call hk_region_create(ranks, length, 8, region, ierr)
        call fails(HK_ERR_RANK)
        call hk_region_create(0, length, 0, region, ierr)
        call fails(HK_ERR_INVALID)
        call hk_region_create(0, 1.0, 8, region, ierr)
        call fails(HK_ERR_INVALID)
        call hk_region_create(0, -1, 8, region, ierr)
        call expect(ierr < 0, 'fewer elements than none')
        call hk_region_create(0, huge(1_int64), 8, region, ierr)
        call expect(ierr < 0, 'more elements than any memory has')
        call hk_subscribe(region, ierr)
        call fails(HK_ERR_HANDLE)
    end subroutine

    ! All change it at once, each an element of its own; some come and go.
    subroutine rounds
        type(hk_region) :: region, copy
        real(real64) :: mine(length), twin(length), one(1)
        integer(int64) :: changed
        integer :: round, rank
        call hk_region_create(ranks - 1, length, 8, region)
        call hk_region_read(mine, region%at(1), ierr)
        call fails(HK_ERR_INVALID)
        call hk_unsubscribe(region, ierr)
        call fails(HK_ERR_INVALID)
        call hk_subscribe(region)
        call hk_subscribe(region, ierr)
        call fails(HK_ERR_INVALID)
        mine = -1
        twin = -1
        call hk_region_read_twin(mine, region, twin)
        call expect(all(mine == 0) .and. all(twin == 0), 'zeros at first')
        call hk_barrier()
        do round = 1, 20
            mine(me + 1) = round + 0.5_real64
            call hk_region_write_diff(mine, region, twin, changed)
            call expect(changed == 1 .and. twin(me + 1) == mine(me + 1), 'one has changed')
            call hk_region_write_diff(mine, region, twin, changed)
            call expect(changed == 0, 'none since')
            if (mod(round, 5) == me) then
                call hk_unsubscribe(region)
                call hk_subscribe(region)
            end if
            call hk_barrier()
            ! What was not written yet stays.
            mine(length) = -round
            call hk_region_refresh(mine, region, twin, changed)
            call expect(changed == ranks - 1, 'those of the others')
            call expect(all(mine(:ranks) == round + 0.5_real64) .and. all(twin(:ranks) == mine(:ranks)), 'what they wrote')
            call expect(mine(length) == -round .and. twin(length) == 0, 'my own')
            call expect(all(mine(ranks + 1:length - 1) == 0), 'nothing else')
            mine(length) = 0
            do rank = 0, ranks - 1
                call hk_region_read(one, region%at(rank + 1))
                call expect(one(1) == round + 0.5_real64, 'one of them')
            end do
            call hk_barrier()
        end do
        ! Without a place for how many.
        mine(me + 1) = -1
        call hk_region_write_diff(mine, region, twin)
        call hk_barrier()
        call hk_region_refresh(mine, region, twin)
        call expect(all(mine(:ranks) == -1), 'once more')
        copy = region
        call hk_region_free(region)
        call hk_region_read(one, copy%at(1), ierr)
        call fails(HK_ERR_HANDLE)
        call hk_region_read_twin(mine, copy, twin, ierr)
        call fails(HK_ERR_HANDLE)
        call hk_subscribe(region, ierr)
        call fails(HK_ERR_HANDLE)
    end subroutine

    ! Some elements of it, also with gaps here.
    subroutine ranges
        type(hk_region) :: region
        real(real64) :: mine(length), table(2, length / 2)
        integer :: n
        call hk_region_create(0, int(length, int64), 8, region)
        call hk_subscribe(region)
        call hk_barrier()
        if (me == ranks - 1) then
            mine = [(real(n, real64), n=1, length)]
            call hk_region_write(mine(11:20), region%at(11))
            call hk_region_write(mine(31:40:2), region%at(91_int64))
            call hk_region_write(mine(1:0), region%at(1))
        end if
        call hk_barrier()
        mine = -1
        call hk_region_read(mine, region%at(1))
        call expect(all(mine(11:20) == [(n, n=11, 20)]) .and. all(mine(91:95) == [31, 33, 35, 37, 39]), 'where they belong')
        call expect(count(mine /= 0) == 15, 'nothing beside them')
        table = -1
        call hk_region_read(table(2, 2:4), region%at(12_int64))
        call expect(all(table(2, 2:4) == [12, 13, 14]) .and. count(table /= -1) == 3, 'into a row')
        call hk_barrier()
        call hk_region_free(region)
    end subroutine

    subroutine short_integers
        type(hk_region) :: region
        integer(int32) :: mine(length), twin(length), one(1)
        integer(int64) :: changed
        call hk_region_create(0, length, 4, region)
        call hk_subscribe(region)
        call hk_region_read_twin(mine, region, twin)
        call hk_barrier()
        mine(me + 1) = 100 + me
        call hk_region_write_diff(mine, region, twin, changed)
        call expect(changed == 1, 'one integer of 4 bytes')
        if (me == 0) call hk_region_write([77_int32], region%at(length))
        call hk_barrier()
        call hk_region_refresh(mine, region, twin, changed)
        call expect(changed == ranks .and. mine(ranks) == 99 + ranks .and. mine(length) == 77, 'integers of 4 bytes')
        call hk_region_read(one, region%at(1))
        call expect(one(1) == 100 .and. sum(mine) == sum([100, 101, 102], [1, 2, 3] <= ranks) + 77, 'nothing else')
        call hk_region_free(region)
    end subroutine

    subroutine long_integers
        type(hk_region) :: region
        integer(int64) :: mine(length), twin(length), one(1), changed
        call hk_region_create(0, length, 8, region)
        call hk_subscribe(region)
        call hk_region_read_twin(mine, region, twin)
        call hk_barrier()
        mine(me + 1) = 2_int64**40 + me
        call hk_region_write_diff(mine, region, twin, changed)
        call expect(changed == 1, 'one integer of 8 bytes')
        if (me == 0) call hk_region_write([77_int64], region%at(length))
        call hk_barrier()
        call hk_region_refresh(mine, region, twin, changed)
        call expect(changed == ranks .and. mine(ranks) == 2_int64**40 + ranks - 1 .and. mine(length) == 77, 'integers of 8 bytes')
        call hk_region_read(one, region%at(1))
        call expect(one(1) == 2_int64**40 .and. count(mine /= 0) == ranks + 1, 'nothing else')
        call hk_region_free(region)
    end subroutine

    subroutine short_reals
        type(hk_region) :: region
        real(real32) :: mine(length), twin(length), one(1)
        integer(int64) :: changed
        call hk_region_create(0, length, 4, region)
        call hk_subscribe(region)
        call hk_region_read_twin(mine, region, twin)
        call hk_barrier()
        mine(me + 1) = me + 0.25
        call hk_region_write_diff(mine, region, twin, changed)
        call expect(changed == 1, 'one real of 4 bytes')
        if (me == 0) call hk_region_write([7.75_real32], region%at(length))
        call hk_barrier()
        call hk_region_refresh(mine, region, twin, changed)
        call expect(changed == ranks .and. mine(ranks) == ranks - 0.75 .and. mine(length) == 7.75, 'reals of 4 bytes')
        call hk_region_read(one, region%at(1))
        call expect(one(1) == 0.25 .and. count(mine /= 0) == ranks + 1, 'nothing else')
        call hk_region_free(region)
    end subroutine

    ! Arrays that do not fit are refused, and nothing is written to them.
    subroutine too_long
        type(hk_region) :: region
        real(real64) :: mine(length + 1), twin(length + 1)
        real(real32) :: halves(length), half_twin(length)
        integer(int64) :: changed
        call hk_region_create(0, length, 8, region)
        call hk_subscribe(region)
        mine = 7
        twin = 8
        halves = 9
        half_twin = 9
        call hk_region_read(mine, region%at(1), ierr)
        call fails(HK_ERR_BOUNDS)
        call hk_region_read(mine(:2), region%at(length), ierr)
        call fails(HK_ERR_BOUNDS)
        call hk_region_read(mine(:1), region%at(0), ierr)
        call fails(HK_ERR_BOUNDS)
        call hk_region_read(mine(:1), region%at(huge(1_int64)), ierr)
        call fails(HK_ERR_BOUNDS)
        call hk_region_write(mine(:2), region%at(length), ierr)
        call fails(HK_ERR_BOUNDS)
        call hk_region_write(mine(:1), region%at(-1), ierr)
        call fails(HK_ERR_BOUNDS)
        call hk_region_read_twin(mine, region, twin, ierr)
        call fails(HK_ERR_INVALID)
        call hk_region_read_twin(mine(:length - 1), region, twin(:length - 1), ierr)
        call fails(HK_ERR_INVALID)
        call hk_region_read_twin(mine(:length), region, twin, ierr)
        call fails(HK_ERR_INVALID)
        call hk_region_read_twin(halves, region, half_twin, ierr)
        call fails(HK_ERR_INVALID)
        call hk_region_write_diff(mine(:length), region, twin(2:length), changed, ierr)
        call fails(HK_ERR_INVALID)
        call hk_region_write_diff(mine, region, twin, changed, ierr)
        call fails(HK_ERR_INVALID)
        call expect(changed == 0, 'nothing was written')
        call hk_region_write_diff(halves, region, half_twin, ierr=ierr)
        call fails(HK_ERR_INVALID)
        call hk_region_refresh(mine(2:length), region, twin(2:length), changed, ierr)
        call fails(HK_ERR_INVALID)
        call hk_region_refresh(halves, region, half_twin, ierr=ierr)
        call fails(HK_ERR_INVALID)
        call expect(all(mine == 7) .and. all(twin == 8) .and. all(halves == 9) .and. all(half_twin == 9), 'all as it was')
        call hk_region_read_twin(mine(:length), region, twin(:length))
        call expect(all(mine(:length) == 0) .and. mine(length + 1) == 7 .and. twin(length + 1) == 8, 'the region, and no more')
        call hk_barrier()
        call hk_region_free(region)
    end subroutine

    ! Marked elements, from some place on; and who has a copy.
    subroutine marked
        type(hk_region) :: region
        integer(int32) :: i4(3)
        integer(int64) :: i8(3)
        real(real32) :: r4(3)
        real(real64) :: r8(3), seen(3)
        integer :: sharers(100), count, n
        logical, parameter :: ends(3) = [.true., .false., .true.]
        call hk_region_create(0, length, 8, region)
        call hk_subscribe(region)
        call hk_barrier()
        sharers = -1
        call hk_region_sharers(region, sharers, count)
        call expect(count == ranks .and. all(sharers(:ranks) == [(n, n=0, ranks - 1)]), 'all have a copy')
        call expect(all(sharers(ranks + 1:) == -1), 'and nobody else')
        call hk_barrier()
        if (me == 0) then
            r8 = [1.5, 2.5, 3.5]
            call hk_region_write_bitmap(r8, region%at(98), hk_bitmap(ends))
            call hk_region_write_bitmap(r8, region%at(99), hk_bitmap(ends), ierr)
            call fails(HK_ERR_BOUNDS)
            call hk_region_write_bitmap(r8, region%at(1), hk_bitmap([logical ::]), ierr)
            call fails(HK_ERR_INVALID)
            i4 = [1, 2, 3]
            i8 = [1, 2, 3]
            r4 = [1, 2, 3]
            call hk_region_write_bitmap(i4, region%at(1), hk_bitmap(ends))
            call hk_region_write_bitmap(i8, region%at(11), hk_bitmap(ends))
            call hk_region_write_bitmap(r4, region%at(41), hk_bitmap(ends))
        end if
        call hk_barrier()
        call hk_region_read(seen, region%at(98))
        call expect(all(seen == [1.5, 0.0, 3.5]), 'reals of 8 bytes')
        call hk_region_read(i4, region%at(1))
        call expect(all(i4 == [1, 0, 3]), 'integers of 4 bytes')
        call hk_region_read(i8, region%at(11))
        call expect(all(i8 == [1, 0, 3]), 'integers of 8 bytes')
        call hk_region_read(r4, region%at(41))
        call expect(all(r4 == [1, 0, 3]), 'reals of 4 bytes')
        call hk_barrier()
        call hk_unsubscribe(region)
        call hk_barrier()
        call hk_region_sharers(region, sharers(:1), count)
        call expect(count == 1 .and. sharers(1) == 0, 'only the home')
        call hk_barrier()
        call hk_region_free(region)
        call hk_region_sharers(region, sharers, count, ierr)
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
