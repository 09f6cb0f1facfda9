! Every call of the module, by a ring of all ranks. An expectation that fails ends the rank with status 1.
program module_test
    use fmpl
    use, intrinsic :: iso_c_binding, only: c_ptr, c_f_pointer, c_associated, c_null_ptr
    implicit none

    integer, parameter :: W = FMPL_COMM_WORLD
    integer :: ier, rank, ranks, next, before

    call early_misuse
    call fmpl_init(0, 0, 4, ier)
    call ok(ier)
    call fmpl_comm_rank(W, rank, ier)
    call ok(ier)
    call fmpl_comm_size(W, ranks, ier)
    call ok(ier)
    next = mod(rank + 1, ranks)
    before = mod(rank + ranks - 1, ranks)

    call messages
    call modes
    call non_blocking
    call prepared
    call groups
    call reductions
    call blocks
    call uneven
    call uneven_started
    call exchange
    call started
    call memory
    call misuse

    call fmpl_finalize(ier)
    call ok(ier)

contains

    subroutine ok(code)
        integer, intent(in) :: code
        call expect(code == FMPL_SUCCESS, 'a call succeeds')
    end subroutine

    subroutine expect(condition, what)
        logical, intent(in) :: condition
        character(*), intent(in) :: what
        character(200) :: text
        integer :: ignored
        if (condition) return
        call fmpl_last_error(text, ignored)
        print *, 'rank', rank, ': not so: ', what, '; last error: ', trim(text)
        flush (6)
        stop 1
    end subroutine

    ! The last call failed with this code, and says why in these words.
    subroutine failed(code, words)
        integer, intent(in) :: code
        character(*), intent(in) :: words
        character(200) :: text
        integer :: ignored
        call fmpl_last_error(text, ignored)
        call expect(ier == code .and. index(text, words) > 0, words)
    end subroutine

    subroutine early_misuse
        character(20) :: text
        rank = -1
        call fmpl_barrier(W, ier)
        call failed(FMPL_ERR_NOT_STARTED, 'fmpl_init')
        call fmpl_init(0, 0, -1, ier)
        call failed(FMPL_ERR_INVALID, 'not -1')
        call fmpl_strerror(FMPL_SUCCESS, text, ier)
        call ok(ier)
        call expect(text == 'all is well', 'the text of success, with blanks')
        call fmpl_strerror(FMPL_ERR_BUSY, text(1:8), ier)
        call expect(text(1:8) == 'the slot', 'a text that is cut')
    end subroutine

    subroutine messages
        real(8) :: x(5, 4), y(5, 4)
        integer :: n, from, slot
        integer(8) :: long_n
        x = rank + 0.5d0
        call fmpl_send(x, 160, next, 0, W, ier)
        call ok(ier)
        call fmpl_recv(y, 160, before, 0, W, ier)
        call ok(ier)
        call expect(all(y == before + 0.5d0), 'the numbers of the neighbour')

        ! Sizes of 8 bytes, a scalar, a shorter message, any slot.
        call fmpl_send(rank, 4_8, next, 2, W, ier)
        call ok(ier)
        y = -1
        call fmpl_recv(n, 4_8, before, FMPL_TAG_ANY, W, ier)
        call ok(ier)
        call fmpl_get_count(n, ier)
        call fmpl_get_count(long_n, ier)
        call ok(ier)
        call fmpl_get_source(from, ier)
        call ok(ier)
        call fmpl_get_index(slot, ier)
        call ok(ier)
        call expect(n == 4 .and. long_n == 4 .and. from == before .and. slot == 2, 'what was received')

        call fmpl_send_any(rank, 4, next, 1, W, ier)
        call ok(ier)
        call fmpl_recv_any(n, 4, 1, W, ier)
        call ok(ier)
        call expect(n == before, 'the only sender')
    end subroutine

    subroutine modes
        real(8), allocatable :: x(:), y(:)
        integer :: nsend, nspool, mode
        allocate (x(10000), y(10000))
        do mode = FMPL_STANDARD, 5, 1
            x = mode + rank
            if (mode < 0) then
                call fmpl_sendbuf_set(0, 0, mode, ier)
                call ok(ier)
                call fmpl_irecv(y, 80000, before, 3, W, ier)
                call fmpl_send(x, 80000, next, 3, W, ier)
                call ok(ier)
                call fmpl_irecv_wait(before, 3, W, ier)
            else
                call fmpl_sendbuf_set(0, 80000_8, mode, ier)
                call ok(ier)
                call fmpl_send(x, 80000, next, 3, W, ier)
                call ok(ier)
                call fmpl_recv(y, 80000, before, 3, W, ier)
            end if
            call ok(ier)
            call expect(all(y == mode + before), 'a long message')
            nspool = 1
            do while (nspool > 0)
                call fmpl_sendbuf_check(nsend, nspool, ier)
                call ok(ier)
            end do
        end do
        call fmpl_sendbuf_set(0, 0, FMPL_STANDARD, ier)
        call ok(ier)
    end subroutine

    subroutine non_blocking
        complex(8), asynchronous :: x(3000), y(3000)
        integer :: flag
        x = cmplx(rank, 1, 8)
        call fmpl_irecv(y, 48000, before, 1, W, ier)
        call ok(ier)
        call fmpl_irecv(y, 48000, before, 1, W, ier)
        call failed(FMPL_ERR_BUSY, 'in use')
        call fmpl_isend(x, 48000_8, next, 1, W, ier)
        call ok(ier)
        call fmpl_irecv_wait(before, 1, W, ier)
        call ok(ier)
        call fmpl_isend_wait(next, 1, W, ier)
        call ok(ier)
        call expect(all(y == cmplx(before, 1, 8)), 'complex numbers')

        call fmpl_irecv(y, 48000_8, before, 1, W, ier)
        call fmpl_isend(x, 48000, next, 1, W, ier)
        flag = 0
        do while (flag == 0)
            call fmpl_irecv_test(before, 1, W, flag, ier)
            call ok(ier)
        end do
        flag = 0
        do while (flag == 0)
            call fmpl_isend_test(next, 1, W, flag, ier)
            call ok(ier)
        end do
    end subroutine

    subroutine prepared
        integer, asynchronous :: x(100), y(100)
        integer :: send, receive, round, flag
        call fmpl_send_init(x, 400, next, 2, W, send, ier)
        call ok(ier)
        call fmpl_recv_init(y, 400_8, before, 2, W, receive, ier)
        call ok(ier)
        do round = 1, 10
            call fmpl_start(receive, ier)
            call ok(ier)
            x = rank * round
            call fmpl_start(send, ier)
            call ok(ier)
            call fmpl_wait(receive, ier)
            call ok(ier)
            flag = 0
            do while (flag == 0)
                call fmpl_test(send, flag, ier)
                call ok(ier)
            end do
            call expect(all(y == before * round), 'the numbers of this round')
        end do
        call fmpl_request_free(send, ier)
        call ok(ier)
        call fmpl_request_free(receive, ier)
        call ok(ier)
        call fmpl_start(send, ier)
        call failed(FMPL_ERR_REQUEST, 'freed')
    end subroutine

    subroutine groups
        integer :: odd, members, mine, total
        call fmpl_comm_create(odd, mod(rank, 2), ier)
        call ok(ier)
        call expect((odd == FMPL_COMM_NULL) .eqv. mod(rank, 2) == 0, 'only odd ranks join')
        if (odd /= FMPL_COMM_NULL) then
            call fmpl_comm_size(odd, members, ier)
            call fmpl_comm_rank(odd, mine, ier)
            call expect(members == ranks / 2 .and. mine == rank / 2, 'ranks of the group')
            total = 1
            call fmpl_allreduce(total, 1, FMPL_ISUM, odd, 0, ier)
            call ok(ier)
            call expect(total == members, 'the sum of the group')
            call fmpl_comm_free(odd, ier)
            call ok(ier)
            call expect(odd == FMPL_COMM_NULL, 'the group is gone')
        end if

        ! The last first, and rank 0 in none.
        call fmpl_comm_split(W, merge(FMPL_COLOR_NONE, 3, rank == 0), -rank, odd, ier)
        call ok(ier)
        call expect((odd == FMPL_COMM_NULL) .eqv. rank == 0, 'rank 0 joins none')
        if (odd /= FMPL_COMM_NULL) then
            call fmpl_comm_size(odd, members, ier)
            call fmpl_comm_rank(odd, mine, ier)
            call expect(members == ranks - 1 .and. mine == ranks - 1 - rank, 'ranks in the order of keys')
            call fmpl_comm_free(odd, ier)
            call ok(ier)
        end if
        call fmpl_comm_split(W, -9, 0, odd, ier)
        call failed(FMPL_ERR_INVALID, '-9 is negative')
    end subroutine

    ! The element with more digits counts; the order of ranks matters.
    subroutine append(inout, in, count)
        integer, intent(in) :: count
        integer, intent(inout) :: inout(2, count)
        integer, intent(in) :: in(2, count)
        integer :: i
        do i = 1, count
            inout(1, i) = inout(1, i) * 10 + in(1, i)
            inout(2, i) = inout(2, i) + in(2, i)
        end do
    end subroutine

    subroutine reductions
        integer :: func, pairs(2, 500), expected, r
        real(8) :: x(1000)
        complex(4) :: z
        x = rank
        call fmpl_reduce(x, 1000, FMPL_DSUM, 0, W, 0, ier)
        call ok(ier)
        call expect(all(x == merge(ranks * (ranks - 1) / 2, rank, rank == 0)), 'the sum at the root')
        x = -rank
        call fmpl_allreduce(x, 1000, FMPL_DMAX, W, 0, ier)
        call ok(ier)
        call expect(all(x == 1 - ranks), 'the largest absolute value')
        x = 2
        call fmpl_scan(x, 3, FMPL_DPROD, W, 0, ier)
        call ok(ier)
        call expect(all(x(1:3) == 2d0**(rank + 1)) .and. x(4) == 2, 'products up to this rank')
        x = 2
        call fmpl_exscan(x, 3, FMPL_DPROD, W, 0, ier)
        call ok(ier)
        call expect(all(x(1:3) == 2d0**max(rank, 1)) .and. x(4) == 2, 'products before this rank')
        z = (1.0, -1.0)
        call fmpl_allreduce(z, 1, FMPL_CSUM, W, 0, ier)
        call expect(z == cmplx(ranks, -ranks), 'the complex sum')

        call fmpl_func_create(append, 8, func, ier)
        call ok(ier)
        pairs(1, :) = rank + 1
        pairs(2, :) = 1
        call fmpl_allreduce(pairs, 500, func, W, 0, ier)
        call ok(ier)
        expected = 0
        do r = 1, ranks
            expected = expected * 10 + r
        end do
        call expect(all(pairs(1, :) == expected) .and. all(pairs(2, :) == ranks), 'a function of the program')
        call fmpl_func_free(func, ier)
        call ok(ier)
        call fmpl_allreduce(pairs, 1, func, W, 0, ier)
        call failed(FMPL_ERR_FUNC, 'freed')
        call fmpl_func_create(append, -8_8, func, ier)
        call failed(FMPL_ERR_INVALID, 'negative')
    end subroutine

    subroutine blocks
        integer :: mine(3), all_of(3, ranks), into(3, ranks), r
        call fmpl_barrier(W, ier)
        call ok(ier)
        mine = [rank, 1, 2]
        if (rank == 0) mine = [7, 8, 9]
        call fmpl_bcast(mine, 12, 0, W, ier)
        call ok(ier)
        call expect(all(mine == [7, 8, 9]), 'the numbers of the root')
        mine = rank
        call fmpl_gather(mine, 12, all_of, ranks - 1, W, ier)
        call ok(ier)
        if (rank == ranks - 1) call expect(all(all_of(1, :) == [(r, r = 0, ranks - 1)]), 'all blocks at the root')
        call fmpl_allgather(mine, 12_8, all_of, W, ier)
        call ok(ier)
        call expect(all(all_of(3, :) == [(r, r = 0, ranks - 1)]), 'all blocks')
        mine = -1
        call fmpl_scatter(all_of, 12, mine, 0, W, ier)
        call ok(ier)
        call expect(all(mine == rank), 'the own block')
        do r = 1, ranks
            all_of(:, r) = 10 * rank + r - 1
        end do
        call fmpl_alltoall(all_of, 12, into, W, ier)
        call ok(ier)
        call expect(all(into(2, :) == [(10 * r + rank, r = 0, ranks - 1)]), 'the block for this rank of everyone')
    end subroutine

    ! In a circle, both ways at once.
    subroutine exchange
        integer :: mine(5000), theirs(5000), next, before, flag, length
        integer(8) :: bytes
        next = mod(rank + 1, ranks)
        before = mod(rank + ranks - 1, ranks)
        mine = rank
        call fmpl_sendrecv(mine, 20000, next, 0, theirs, 20000, before, 0, W, ier)
        call ok(ier)
        call expect(all(theirs == before), 'the numbers of the rank before')
        call fmpl_sendrecv_replace(theirs, 20000_8, before, 0, next, 0, W, ier)
        call ok(ier)
        call expect(all(theirs == rank), 'the own numbers come back')
        call fmpl_recv_for(theirs, 8, before, 0, 1, W, ier)
        call expect(ier == FMPL_ERR_TIMEOUT, 'a receive that gives up')
        length = 7
        call fmpl_iprobe(before, 0, W, flag, length, ier)
        call ok(ier)
        call expect(flag == 0 .and. length == 7, 'nothing has come')
        call fmpl_barrier(W, ier)
        call fmpl_send(mine, 12, next, 0, W, ier)
        call ok(ier)
        call fmpl_probe(before, 0, W, bytes, ier)
        call ok(ier)
        call expect(bytes == 12, 'the length of what has come')
        call fmpl_recv_for(theirs, 12, before, 0, 100000, W, ier)
        call ok(ier)
        call expect(all(theirs(1:3) == before), 'the message')
        call fmpl_probe(-1, 0, W, length, ier)
        call failed(FMPL_ERR_RANK, 'rank -1')
    end subroutine

    ! Rank r has r + 1 numbers; the blocks of the last come first.
    subroutine uneven
        integer :: mine(ranks), all_of(ranks, ranks), into(ranks), r, counts(ranks)
        integer :: sizes(ranks), starts(ranks), ones(ranks), places(ranks)
        integer(8) :: long_sizes(ranks), long_starts(ranks)
        real(8) :: x(ranks), y(ranks), total(2)
        sizes = [(4 * r, r = 1, ranks)]
        starts = [(4 * ranks * (ranks - r), r = 1, ranks)]
        long_sizes = sizes
        long_starts = starts
        mine = rank
        all_of = -1
        call fmpl_gatherv(mine, 4 * (rank + 1), all_of, sizes, starts, 0, W, ier)
        call ok(ier)
        if (rank == 0) then
            do r = 1, ranks
                call expect(all(all_of(1:r, ranks - r + 1) == r - 1), 'the block of each rank at the root')
                call expect(all(all_of(r + 1:, ranks - r + 1) == -1), 'gaps stay as they are')
            end do
        end if
        all_of = -1
        call fmpl_allgatherv(mine, 4_8 * (rank + 1), all_of, long_sizes, long_starts, W, ier)
        call ok(ier)
        call expect(all([(all_of(r, ranks - r + 1) == r - 1, r = 1, ranks)]), 'the block of each rank at all')
        mine = -1
        call fmpl_scatterv(all_of, sizes, starts, mine, 4 * (rank + 1), 0, W, ier)
        call ok(ier)
        call expect(all(mine(1:rank + 1) == rank) .and. all(mine(rank + 2:) == -1), 'the own block')
        ! One number from each to each, in the other order.
        mine = [(100 * rank + r, r = 0, ranks - 1)]
        ones = 4
        places = [(4 * r, r = 0, ranks - 1)]
        call fmpl_alltoallv(mine, ones, places, into, ones, places(ranks:1:-1), W, ier)
        call ok(ier)
        call expect(all(into == [(100 * r + rank, r = ranks - 1, 0, -1)]), 'the number of everyone for this rank')
        x = rank + 1
        total = 0
        call fmpl_reduce_scatter_block(x, total, 1, FMPL_DSUM, W, ier)
        call ok(ier)
        call expect(total(1) == ranks * (ranks + 1) / 2 .and. total(2) == 0, 'the sum of this rank''s numbers')
        counts = 0
        counts(1) = ranks
        y = 0
        call fmpl_reduce_scatter(x, y, counts, FMPL_DSUM, W, ier)
        call ok(ier)
        call expect(all(y == merge(ranks * (ranks + 1) / 2, 0, rank == 0)), 'all sums at the first rank')
        ones = -4
        call fmpl_alltoallv(mine, ones, places, into, ones, places, W, ier)
        call failed(FMPL_ERR_INVALID, 'negative')
    end subroutine

    ! The same while the program computes.
    subroutine uneven_started
        integer, asynchronous :: mine(ranks), all_of(ranks, ranks), into(ranks)
        integer :: sizes(ranks), starts(ranks), ones(ranks), places(ranks), counts(ranks), r, req
        integer(8) :: long_sizes(ranks), long_starts(ranks)
        real(8), asynchronous :: x(ranks), y(ranks), total(2)
        sizes = [(4 * r, r = 1, ranks)]
        starts = [(4 * ranks * (ranks - r), r = 1, ranks)]
        long_sizes = sizes
        long_starts = starts
        mine = rank
        all_of = -1
        call fmpl_igatherv(mine, 4 * (rank + 1), all_of, sizes, starts, 0, W, req, ier)
        call done(req)
        if (rank == 0) then
            do r = 1, ranks
                call expect(all(all_of(1:r, ranks - r + 1) == r - 1), 'the block of each rank at the root, in the end')
            end do
        end if
        all_of = -1
        call fmpl_iallgatherv(mine, 4_8 * (rank + 1), all_of, long_sizes, long_starts, W, req, ier)
        ! The call has its own copies.
        long_sizes = -1
        long_starts = -1
        call done(req)
        call expect(all([(all_of(r, ranks - r + 1) == r - 1, r = 1, ranks)]), 'the block of each rank at all, in the end')
        mine = -1
        call fmpl_iscatterv(all_of, sizes, starts, mine, 4 * (rank + 1), 0, W, req, ier)
        call done(req)
        call expect(all(mine(1:rank + 1) == rank) .and. all(mine(rank + 2:) == -1), 'the own block, in the end')
        mine = [(100 * rank + r, r = 0, ranks - 1)]
        ones = 4
        places = [(4 * r, r = 0, ranks - 1)]
        call fmpl_ialltoallv(mine, ones, places, into, ones, places(ranks:1:-1), W, req, ier)
        call done(req)
        call expect(all(into == [(100 * r + rank, r = ranks - 1, 0, -1)]), 'the number of everyone, in the end')
        x = rank + 1
        total = 0
        call fmpl_ireduce_scatter_block(x, total, 1, FMPL_DSUM, W, req, ier)
        call done(req)
        call expect(total(1) == ranks * (ranks + 1) / 2 .and. total(2) == 0, 'the sum of this rank''s numbers, in the end')
        counts = 0
        counts(1) = ranks
        y = 0
        call fmpl_ireduce_scatter(x, y, counts, FMPL_DSUM, W, req, ier)
        call done(req)
        call expect(all(y == merge(ranks * (ranks + 1) / 2, 0, rank == 0)), 'all sums at the first rank, in the end')
        x = rank + 1
        call fmpl_iexscan(x, ranks, FMPL_DSUM, W, 0, req, ier)
        call done(req)
        call expect(all(x == max(rank * (rank + 1) / 2, 1)), 'the sum of those before, in the end')
        ones = -4
        call fmpl_ialltoallv(mine, ones, places, into, ones, places, W, req, ier)
        call failed(FMPL_ERR_INVALID, 'negative')
    end subroutine

    ! A call was started, and has ended.
    subroutine done(req)
        integer, intent(in) :: req
        call ok(ier)
        call fmpl_wait(req, ier)
        call ok(ier)
    end subroutine

    ! The same calls while the program computes.
    subroutine started
        integer, asynchronous :: mine(3), all_of(3, ranks), into(3, ranks), pairs(2, 500), root_has(3)
        real(8), asynchronous :: x(1000), y(1000), z(10)
        integer :: reqs(4), func, flag, r, expected
        call fmpl_ibarrier(W, reqs(1), ier)
        call ok(ier)
        root_has = merge(7, -1, rank == 0)
        call fmpl_ibcast(root_has, 12, 0, W, reqs(2), ier)
        call ok(ier)
        call fmpl_wait(reqs(2), ier)
        call ok(ier)
        call fmpl_wait(reqs(1), ier)
        call ok(ier)
        call expect(all(root_has == 7), 'the numbers of the root')
        call fmpl_wait(reqs(1), ier)
        call failed(FMPL_ERR_REQUEST, 'waited for')

        x = rank
        y = rank
        z = 2
        pairs(1, :) = rank + 1
        pairs(2, :) = 1
        call fmpl_func_create(append, 8, func, ier)
        call ok(ier)
        call fmpl_ireduce(x, 1000, FMPL_DSUM, 0, W, 0, reqs(1), ier)
        call ok(ier)
        call fmpl_iallreduce(y, 1000, FMPL_DMAX, W, 0, reqs(2), ier)
        call ok(ier)
        call fmpl_iscan(z, 3, FMPL_DPROD, W, 0, reqs(3), ier)
        call ok(ier)
        call fmpl_iallreduce(pairs, 500, func, W, 0, reqs(4), ier)
        call ok(ier)
        do r = 4, 1, -1
            flag = 0
            do while (flag == 0)
                call fmpl_test(reqs(r), flag, ier)
                call ok(ier)
            end do
        end do
        call expect(all(x == merge(ranks * (ranks - 1) / 2, rank, rank == 0)), 'the sum at the root')
        call expect(all(y == ranks - 1), 'the largest absolute value')
        call expect(all(z(1:3) == 2d0**(rank + 1)) .and. z(4) == 2, 'products up to this rank')
        expected = 0
        do r = 1, ranks
            expected = expected * 10 + r
        end do
        call expect(all(pairs(1, :) == expected) .and. all(pairs(2, :) == ranks), 'a function of the program')
        call fmpl_func_free(func, ier)
        call ok(ier)

        mine = rank
        all_of = -1
        call fmpl_igather(mine, 12_8, all_of, ranks - 1, W, reqs(1), ier)
        call ok(ier)
        call fmpl_wait(reqs(1), ier)
        call ok(ier)
        if (rank == ranks - 1) call expect(all(all_of(1, :) == [(r, r = 0, ranks - 1)]), 'all blocks at the root')
        call fmpl_iallgather(mine, 12, all_of, W, reqs(1), ier)
        call ok(ier)
        call fmpl_wait(reqs(1), ier)
        call ok(ier)
        call expect(all(all_of(3, :) == [(r, r = 0, ranks - 1)]), 'all blocks')
        mine = -1
        call fmpl_iscatter(all_of, 12_8, mine, 0, W, reqs(1), ier)
        call ok(ier)
        call fmpl_wait(reqs(1), ier)
        call ok(ier)
        call expect(all(mine == rank), 'the own block')
        do r = 1, ranks
            all_of(:, r) = 10 * rank + r - 1
        end do
        call fmpl_ialltoall(all_of, 12, into, W, reqs(1), ier)
        call ok(ier)
        call fmpl_finalize(ier)
        call failed(FMPL_ERR_UNDER_WAY, 'fmpl_finalize')
        call fmpl_barrier(W, ier)
        call ok(ier)
        call fmpl_request_free(reqs(1), ier)
        call ok(ier)
        call expect(reqs(1) == -1, 'the request is gone')
        call expect(all(into(2, :) == [(10 * r + rank, r = 0, ranks - 1)]), 'the block for this rank of everyone')
        call fmpl_ibcast(x, -8_8, 0, W, reqs(1), ier)
        call failed(FMPL_ERR_INVALID, 'negative')
    end subroutine

    subroutine memory
        type(c_ptr) :: address
        real(8), pointer :: x(:)
        call fmpl_malloc(80000, address, ier)
        call ok(ier)
        call c_f_pointer(address, x, [10000])
        call expect(all(x == 0), 'zeroed memory')
        x = rank
        call fmpl_bcast(x, 80000_8, 0, W, ier)
        call ok(ier)
        call expect(all(x == 0), 'the numbers of the root, in own memory')
        call fmpl_free(address, ier)
        call ok(ier)
        call fmpl_free(address, ier)
        call failed(FMPL_ERR_INVALID, 'freed')
        call fmpl_free(c_null_ptr, ier)
        call ok(ier)
        call fmpl_malloc(2_8**60, address, ier)
        call failed(FMPL_ERR_MEMORY, 'needed')
        call fmpl_malloc(-1, address, ier)
        call failed(FMPL_ERR_INVALID, 'negative')
    end subroutine

    subroutine misuse
        integer :: x
        call fmpl_send(x, -4, next, 0, W, ier)
        call failed(FMPL_ERR_INVALID, 'the size: -4 is negative')
        call fmpl_send(x, -4_8, next, 0, W, ier)
        call failed(FMPL_ERR_INVALID, 'negative')
        call fmpl_recv(x, 4, ranks, 0, W, ier)
        call failed(FMPL_ERR_RANK, 'does not exist')
        call fmpl_recv(x, 4, 0, 4, W, ier)
        call failed(FMPL_ERR_INDEX, 'slot 4')
        call fmpl_barrier(99, ier)
        call failed(FMPL_ERR_COMM, '99')
        call fmpl_init(0, 0, 4, ier)
        call failed(FMPL_ERR_STARTED, 'already')
        call fmpl_send([1, 2], 8, next, 0, W, ier)
        call ok(ier)
        call fmpl_recv(x, 4, before, 0, W, ier)
        call failed(FMPL_ERR_TRUNCATED, '8 bytes')
    end subroutine
end program
