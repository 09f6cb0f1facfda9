! Heat in a rod, by one-sided operations: each rank has a strip of the rod in symmetric memory, with one cell more at either end.
! After each step it pushes its outermost cells into those of its neighbours, with a notification, and waits for theirs. One end of
! the rod is kept at 0 degrees, the other at 100, so in the end the temperature rises evenly, which is checked.
!
! Build and run, in the root of the repository:
!
!     cargo build --release --workspace
!     gfortran -O2 -o rod include/hikyaku.f90 examples/fortran/rod.f90 \
!         $(PKG_CONFIG_PATH=$PWD/pkgconfig pkg-config --cflags --libs hikyaku)
!     target/release/hikyaku run -n 4 -- ./rod
program rod
    use hikyaku
    implicit none

    integer, parameter :: dp = kind(1d0), CELLS = 24, FROM_LEFT = 1, FROM_RIGHT = 2
    type(hk_area) :: strip, flags
    real(dp), pointer :: now(:)
    integer(8), pointer :: flag(:)
    real(dp), allocatable :: next(:)
    real(dp) :: change, error, width
    integer :: rank, ranks, i, step, half

    call hk_init()
    rank = hk_rank()
    ranks = hk_size()
    ! Two strips, used in turn: a neighbour that is ahead writes into the one that is not read now. Each has cells 1 to CELLS + 2,
    ! of which the first and the last are the neighbours', or the ends of the rod.
    call hk_alloc(now, 2 * (CELLS + 2), strip)
    call hk_alloc(flag, 2, flags)
    allocate (next(CELLS + 2))
    if (rank == ranks - 1) then
        now(CELLS + 2) = 100
        now(2 * (CELLS + 2)) = 100
    end if
    call hk_barrier()

    step = 0
    do
        half = mod(step, 2) * (CELLS + 2)
        step = step + 1
        do i = 2, CELLS + 1
            next(i) = (now(half + i - 1) + now(half + i + 1)) / 2
        end do
        change = maxval(abs(next(2:CELLS + 1) - now(half + 2:half + CELLS + 1)))
        half = mod(step, 2) * (CELLS + 2)
        now(half + 2:half + CELLS + 1) = next(2:CELLS + 1)
        ! The words count steps; each arrives after the cell.
        if (rank > 0) call hk_push_notify(next(2), strip%at(rank - 1, half + CELLS + 2), flags%word(FROM_RIGHT), step)
        if (rank < ranks - 1) call hk_push_notify(next(CELLS + 1), strip%at(rank + 1, half + 1), flags%word(FROM_LEFT), step)
        if (rank > 0) call hk_wait(flags%word(FROM_LEFT), HK_AT_LEAST, step)
        if (rank < ranks - 1) call hk_wait(flags%word(FROM_RIGHT), HK_AT_LEAST, step)
        if (mod(step, 100) == 0) then
            call hk_allreduce(change, HK_MAX)
            if (change < 1d-7) exit
        end if
    end do

    width = ranks * CELLS + 1
    error = 0
    do i = 2, CELLS + 1
        error = max(error, abs(now(half + i) - 100 * (rank * CELLS + i - 1) / width))
    end do
    call hk_allreduce(error, HK_MAX)
    if (error > 0.05) error stop 'the temperature does not rise evenly'
    if (rank == 0) print '(a, i0, a)', 'after ', step, ' steps the temperature rises evenly'
    call hk_barrier()
    call hk_finalize()
end program
