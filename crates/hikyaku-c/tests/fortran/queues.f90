! Remote queues, where all ranks push and one pops, and message exchange: checked. An expectation that fails ends the rank with status 1,
! and with it the job.
program queues
    use, intrinsic :: iso_fortran_env, only: error_unit, int32, int64, real32, real64
    use hikyaku
    implicit none

    integer, parameter :: items_each = 2000, batch = 7
    integer :: me, ranks, next, previous, ierr

    call hk_init()
    me = hk_rank()
    ranks = hk_size()
    next = mod(me + 1, ranks)
    previous = mod(me + ranks - 1, ranks)
    call no_queue
    call to_the_first
    call every_type
    call exchanged(hk_exchange_open)
    call exchanged(hk_exchange_open_packets)
    call exchanged_types
    call passed
    call hk_barrier()
    call hk_finalize(ierr)
    call expect(ierr == HK_SUCCESS, 'the end')

contains

    ! Calls on what is no queue, and queues that cannot be.
    subroutine no_queue
        type(hk_queue) :: queue
        real(real64), pointer :: items(:, :)
        integer(int64) :: pushed
        integer :: rank
        call hk_queue_push(queue, [1.0_real64], 0, pushed, ierr)
        call fails(HK_ERR_HANDLE)
        call expect(pushed == 0, 'nothing was pushed')
        call hk_queue_pop(queue, 1, items, rank, 0, ierr)
        call fails(HK_ERR_HANDLE)
        call expect(.not. associated(items) .and. rank == -1, 'nothing was popped')
        call hk_queue_release(queue, ierr)
        call fails(HK_ERR_HANDLE)
        call hk_queue_free(queue, ierr)
        call fails(HK_ERR_HANDLE)
        call hk_queue_create(0, 0, 1, 8, queue, ierr)
        call fails(HK_ERR_INVALID)
        call hk_queue_create(0, 8, 0, 8, queue, ierr)
        call fails(HK_ERR_INVALID)
        call hk_queue_create(0, 8, 1, 0, queue, ierr)
        call fails(HK_ERR_INVALID)
        call hk_queue_create(0, 'many', 1, 8, queue, ierr)
        call fails(HK_ERR_INVALID)
        call hk_queue_create(0, -1, 1, 8, queue, ierr)
        call expect(ierr < 0, 'room for less than nothing')
        call hk_queue_create(0, 8, huge(1_int64), 8, queue, ierr)
        call expect(ierr < 0, 'items longer than any memory')
    end subroutine

    ! Items of three numbers: who has pushed it, its number, and both together. All ranks but the first push, alone the first.
    subroutine to_the_first
        type(hk_queue) :: queue, copy
        real(real64), pointer :: popped(:, :)
        real(real64) :: items(3, batch)
        integer :: following(0:ranks - 1)
        integer(int64) :: pushed
        integer :: first, count, left, rank, n
        call hk_queue_create(0, 100, 3, 8, queue)
        if (me > 0 .or. ranks == 1) then
            first = 1
            do while (first <= merge(50, items_each, ranks == 1))
                count = min(batch, items_each - first + 1)
                do n = 1, count
                    items(:, n) = item(me, first + n - 1)
                end do
                call hk_queue_push(queue, reshape(items(:, :count), [3 * count]), merge(0, HK_FOREVER, mod(first, 2) == 0), &
                                   pushed, ierr)
                call expect(merge(pushed == count, ierr == HK_ERR_TIMEOUT .and. pushed < count, ierr == HK_SUCCESS), 'how many')
                first = first + int(pushed)
            end do
            call hk_queue_push(queue, [1.0_real64, 2.0_real64], ierr=ierr)
            call fails(HK_ERR_INVALID)
        end if
        if (me == 0) then
            following = 1
            left = merge(56, items_each * (ranks - 1), ranks == 1)
            do while (left > 0)
                call hk_queue_pop(queue, merge(10, 1, mod(left, 3) > 0), popped, rank)
                call expect(size(popped, 1) == 3 .and. size(popped, 2) >= 1 .and. size(popped, 2) <= 10, 'some items')
                do n = 1, size(popped, 2)
                    call expect(all(popped(:, n) == item(rank, following(rank))), 'items in their order')
                    following(rank) = following(rank) + 1
                end do
                left = left - size(popped, 2)
                if (mod(left, 2) == 0) call hk_queue_release(queue)
            end do
            call hk_queue_pop(queue, 1, popped, rank, 0, ierr)
            ! Alone, there is nobody who could push.
            call expect(ierr == HK_ERR_TIMEOUT .or. ranks == 1 .and. ierr < 0, 'no more')
            call expect(.not. associated(popped) .and. rank == -1, 'nothing was popped')
            call hk_queue_pop(queue, 0, popped, ierr=ierr)
            call fails(HK_ERR_INVALID)
            call hk_queue_pop(queue, 'all', popped, ierr=ierr)
            call fails(HK_ERR_INVALID)
        else
            call hk_queue_pop(queue, 1, popped, timeout_ms=0, ierr=ierr)
            call fails(HK_ERR_INVALID)
            call expect(.not. associated(popped), 'only the owner pops')
        end if
        call hk_barrier()
        copy = queue
        call hk_queue_free(queue)
        call hk_queue_release(queue, ierr)
        call fails(HK_ERR_HANDLE)
        call hk_queue_push(copy, items(:, 1), ierr=ierr)
        call fails(HK_ERR_HANDLE)
        call hk_queue_pop(copy, 1, popped, ierr=ierr)
        call fails(HK_ERR_HANDLE)
    end subroutine

    function item(rank, number) result(numbers)
        integer, intent(in) :: rank, number
        real(real64) :: numbers(3)
        numbers = [real(rank, real64), real(number, real64), 100000.0_real64 * rank + number + 0.25_real64]
    end function

    ! Each rank pushes two items to the last one, of each type. Items of 12 and 20 bytes do not touch each other where they have landed.
    subroutine every_type
        type(hk_queue) :: queue
        integer(int32), pointer :: i4(:, :)
        integer(int64), pointer :: i8(:, :)
        real(real32), pointer :: r4(:, :)
        integer :: rank, n, seen(0:ranks - 1)
        logical :: is_owner
        is_owner = me == ranks - 1
        call hk_queue_create(ranks - 1, 4, 3, 4, queue)
        call hk_queue_push(queue, 10 * me + [1, 2, 3, 4, 5, 6])
        seen = 0
        do while (is_owner .and. sum(seen) < 2 * ranks)
            call hk_queue_pop(queue, 2, i4, rank)
            call expect(size(i4, 1) == 3 .and. size(i4, 2) >= 1 .and. size(i4, 2) <= 2, 'one item or two')
            do n = 1, size(i4, 2)
                call expect(all(i4(:, n) == 10 * rank + 3 * seen(rank) + [1, 2, 3]), 'integers of 4 bytes')
                seen(rank) = seen(rank) + 1
            end do
        end do
        if (is_owner) then
            ! Items of 12 bytes have no whole number of elements of 8.
            call hk_queue_pop(queue, 1, i8, ierr=ierr)
            call fails(HK_ERR_INVALID)
        end if
        call hk_queue_push(queue, [1_int64], ierr=ierr)
        call fails(HK_ERR_INVALID)
        call hk_queue_free(queue)
        call hk_queue_create(ranks - 1, 4_int64, 1_int64, 8, queue)
        call hk_queue_push(queue, me + 2_int64**40 * [1, 2])
        seen = 0
        do while (is_owner .and. sum(seen) < 2 * ranks)
            call hk_queue_pop(queue, 2_int64, i8, rank, 60000)
            call expect(size(i8, 1) == 1 .and. size(i8, 2) >= 1 .and. size(i8, 2) <= 2, 'one item or two of one')
            do n = 1, size(i8, 2)
                seen(rank) = seen(rank) + 1
                call expect(i8(1, n) == rank + 2_int64**40 * seen(rank), 'integers of 8 bytes')
            end do
        end do
        call hk_queue_free(queue)
        call hk_queue_create(ranks - 1, 4, 5, 4, queue)
        call hk_queue_push(queue, [(me + n / 4.0_real32, n=1, 10)])
        seen = 0
        do while (is_owner .and. sum(seen) < 2 * ranks)
            call hk_queue_pop(queue, 2, r4, rank)
            call expect(size(r4, 1) == 5 .and. size(r4, 2) >= 1 .and. size(r4, 2) <= 2, 'one item or two of five')
            do n = 1, size(r4, 2)
                call expect(all(r4(:, n) == rank + 1.25 * seen(rank) + [0.25, 0.5, 0.75, 1.0, 1.25]), 'reals of 4 bytes')
                seen(rank) = seen(rank) + 1
            end do
        end do
        call hk_queue_free(queue)
    end subroutine

    ! Short and long messages to the next rank, received in the opposite order of tags.
    ! By each engine.
    subroutine exchanged(open)
        interface
            subroutine open(messages, bytes, ierr)
                class(*), intent(in), optional :: messages, bytes
                integer, intent(out), optional :: ierr
            end subroutine
        end interface
        type(hk_matched) :: matched
        real(real64), allocatable :: data(:), got(:)
        logical :: found
        integer :: n
        allocate (data(20000), got(20000))
        call hk_exchange_send(data(1:1), me, 1, ierr)
        call fails(HK_ERR_INVALID)
        call hk_exchange_close(ierr)
        call fails(HK_ERR_INVALID)
        call open(-1, ierr=ierr)
        call expect(ierr < 0, 'room for fewer messages than none')
        call open(10, 0.5, ierr)
        call fails(HK_ERR_INVALID)
        call open()
        call open(ierr=ierr)
        call fails(HK_ERR_INVALID)
        call hk_exchange_iprobe(HK_ANYONE, 1, found)
        call expect(.not. found .or. ranks > 1, 'nothing was sent')
        data = [(1000000 * me + n, n=1, size(data))]
        got = 0
        call hk_exchange_send(data(:3), next, 1)
        call hk_exchange_send(data(1:1000:2), next, 2_int64)
        call hk_exchange_recv(got, previous, 2, matched)
        call expect(matched%rank == previous .and. matched%key == 2 .and. matched%size == 4000, 'what has come')
        call expect(all(got(:500) == [(1000000 * previous + n, n=1, 1000, 2)]) .and. all(got(501:) == 0), 'every second number')
        found = .false.
        do while (.not. found)
            call hk_exchange_iprobe(previous, 256_int64, found, matched, ignored=511_int64)
        end do
        call expect(matched%rank == previous .and. matched%key == 1 .and. matched%size == 24, 'it is there')
        call hk_exchange_recv(got(2:4), HK_ANYONE, 0, ignored=HK_ANY_KEY)
        call expect(all(got(2:4) == 1000000 * previous + [1, 2, 3]), 'three numbers')
        ! Long ones wait for their receive: one rank after the other.
        if (ranks > 1) then
            do n = 0, ranks - 1
                if (me == n) call hk_exchange_send(data, next, 3)
                if (previous == n) call hk_exchange_recv(got, n, 3_int64, matched)
            end do
            call expect(matched%size == 160000 .and. all(got == data - 1000000 * (me - previous)), 'a long one')
        end if
        call hk_exchange_recv(got, previous, 9, timeout_ms=1, ierr=ierr)
        call fails(HK_ERR_TIMEOUT)
        ! A message that is longer than its array is lost, and nothing is written.
        call hk_exchange_send(data(:5), me, 4)
        got = -1
        call hk_exchange_recv(got(:2), me, 4, ierr=ierr)
        call fails(HK_ERR_TRUNCATED)
        call expect(all(got == -1), 'nothing was written')
        call hk_exchange_iprobe(me, 4, found)
        call expect(.not. found, 'it is lost')
        call hk_exchange_send(data, ranks, 1, ierr)
        call fails(HK_ERR_RANK)
        call hk_exchange_send(data, me, 1.5, ierr)
        call fails(HK_ERR_INVALID)
        call hk_exchange_recv(got, me, 'tag', ierr=ierr)
        call fails(HK_ERR_INVALID)
        call hk_exchange_iprobe(me, .true., found, ierr=ierr)
        call fails(HK_ERR_INVALID)
        call hk_barrier()
        call hk_exchange_close()
    end subroutine

    subroutine exchanged_types
        integer(int32) :: i4(2)
        integer(int64) :: i8(2)
        real(real32) :: r4(2)
        call hk_exchange_open(10, 4096_int64)
        call hk_exchange_send(me + [1_int32, 2_int32], next, 1)
        call hk_exchange_send(me + [3_int64, 2_int64**40], next, 1)
        call hk_exchange_send(me + [0.5_real32, 0.25_real32], next, 1)
        call hk_exchange_recv(i4, previous, 1)
        call expect(all(i4 == previous + [1, 2]), 'integers of 4 bytes')
        call hk_exchange_recv(i8, previous, 1)
        call expect(all(i8 == previous + [3_int64, 2_int64**40]), 'integers of 8 bytes')
        call hk_exchange_recv(r4, previous, 1)
        call expect(all(r4 == previous + [0.5, 0.25]), 'reals of 4 bytes')
        call hk_barrier()
        call hk_exchange_close()
    end subroutine

    ! The same by each engine: elements of every type to the next rank.
    subroutine passed
        integer, parameter :: engines(4) = [HK_ENGINE_SLOTS, HK_ENGINE_MATCHED, HK_ENGINE_EXCHANGE, HK_ENGINE_PACKETS]
        integer(int32) :: i4(2)
        integer(int64) :: i8(2), bytes
        real(real32) :: r4(2)
        real(real64) :: r8(3)
        integer :: n
        call hk_passing_send([1.0_real64], next, 1, ierr)
        call fails(HK_ERR_INVALID)
        call hk_passing_close(ierr)
        call fails(HK_ERR_INVALID)
        call hk_passing_open(4, ierr=ierr)
        call fails(HK_ERR_INVALID)
        do n = 1, size(engines)
            call hk_passing_open(engines(n), 4)
            call hk_passing_open(engines(n), 4, ierr)
            call fails(HK_ERR_INVALID)
            call hk_passing_send(me + [1_int32, 2_int32], next, 0)
            call hk_passing_send(me + [3_int64, 2_int64**40], next, 1)
            call hk_passing_send(me + [0.5_real32, 0.25_real32], next, 2_int64)
            call hk_passing_send(me + [0.5_real64, 0.25_real64], next, 3)
            call hk_passing_probe(previous, 3, bytes)
            call expect(bytes == 16, 'how long it is')
            call hk_passing_recv(r8, previous, 3, bytes)
            call expect(bytes == 16 .and. all(r8(:2) == previous + [0.5, 0.25]), 'reals of 8 bytes')
            call hk_passing_recv(r4, previous, 2)
            call expect(all(r4 == previous + [0.5, 0.25]), 'reals of 4 bytes')
            call hk_passing_recv(i8, previous, 1, timeout_ms=60000)
            call expect(all(i8 == previous + [3_int64, 2_int64**40]), 'integers of 8 bytes')
            call hk_passing_recv(i4, previous, 0)
            call expect(all(i4 == previous + [1, 2]), 'integers of 4 bytes')
            call hk_passing_send(i4, ranks, 0, ierr)
            call fails(HK_ERR_RANK)
            call hk_passing_send(i4, next, 'tag', ierr)
            call fails(HK_ERR_INVALID)
            if (ranks > 1) then
                call hk_passing_recv(i4, previous, 0, bytes, 1, ierr)
                call fails(HK_ERR_TIMEOUT)
                call expect(bytes == 0, 'nothing has come')
            end if
            call hk_passing_close()
        end do
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
