! Heat in a plate: Jacobi steps on a square grid, cut into strips of columns, one per rank. Each step first starts the
! receives of the two columns beside its strip, then the sends, computes the inside while they travel, and the two edges
! last. At the end rank 0 gathers the plate and compares it with a run of its own, which must give the same numbers.
!
! Build and run, in the root of the repository:
!
!     cargo build --release --workspace
!     gfortran -O2 -o heat include/fmpl.f90 examples/fortran/heat.f90 \
!         $(PKG_CONFIG_PATH=$PWD/pkgconfig pkg-config --cflags --libs hikyaku)
!     target/release/hikyaku run -n 4 -- ./heat
program heat
    use fmpl
    implicit none

    integer, parameter :: dp = kind(1d0), N = 240, STEPS = 400, FROM_LEFT = 0, FROM_RIGHT = 1
    real(dp), allocatable, asynchronous :: now(:, :)
    real(dp), allocatable :: next(:, :), plate(:, :), alone(:, :)
    real(dp) :: change
    integer :: rank, ranks, columns, step, ier

    call fmpl_init(0, 0, 2, ier)
    call check
    call fmpl_comm_rank(FMPL_COMM_WORLD, rank, ier)
    call fmpl_comm_size(FMPL_COMM_WORLD, ranks, ier)
    columns = N / ranks
    if (columns * ranks /= N) then
        if (rank == 0) print *, 'the number of ranks must divide', N
        stop 1
    end if

    ! Columns 0 and columns + 1 are the neighbours', or the rim of the plate.
    allocate (now(0:N + 1, 0:columns + 1), next(0:N + 1, 0:columns + 1))
    now = 0
    now(0, :) = 100
    next = now
    do step = 1, STEPS
        call exchange_and_relax
        change = maxval(abs(next(1:N, 1:columns) - now(1:N, 1:columns)))
        now(1:N, 1:columns) = next(1:N, 1:columns)
    end do
    call fmpl_allreduce(change, 1, FMPL_DPMAX, FMPL_COMM_WORLD, 0, ier)
    call check

    allocate (plate(0:N + 1, N))
    call fmpl_gather(now(0, 1), 8 * (N + 2) * columns, plate, 0, FMPL_COMM_WORLD, ier)
    call check
    if (rank == 0) call compare
    call fmpl_finalize(ier)
    call check

contains

    subroutine check
        character(200) :: text
        if (ier == FMPL_SUCCESS) return
        call fmpl_last_error(text, ier)
        print *, 'heat: ', trim(text)
        stop 1
    end subroutine

    subroutine exchange_and_relax
        integer, parameter :: BYTES = 8 * N
        logical :: has_left, has_right
        has_left = rank > 0
        has_right = rank < ranks - 1
        ! Early, so that the neighbours' sends go at once.
        if (has_left) call fmpl_irecv(now(1, 0), BYTES, rank - 1, FROM_LEFT, FMPL_COMM_WORLD, ier)
        if (has_right) call fmpl_irecv(now(1, columns + 1), BYTES, rank + 1, FROM_RIGHT, FMPL_COMM_WORLD, ier)
        if (has_left) call fmpl_isend(now(1, 1), BYTES, rank - 1, FROM_RIGHT, FMPL_COMM_WORLD, ier)
        if (has_right) call fmpl_isend(now(1, columns), BYTES, rank + 1, FROM_LEFT, FMPL_COMM_WORLD, ier)
        call check
        call relax(now, next, 2, columns - 1)
        if (has_left) call fmpl_irecv_wait(rank - 1, FROM_LEFT, FMPL_COMM_WORLD, ier)
        if (has_right) call fmpl_irecv_wait(rank + 1, FROM_RIGHT, FMPL_COMM_WORLD, ier)
        call check
        call relax(now, next, 1, 1)
        call relax(now, next, columns, columns)
        if (has_left) call fmpl_isend_wait(rank - 1, FROM_RIGHT, FMPL_COMM_WORLD, ier)
        if (has_right) call fmpl_isend_wait(rank + 1, FROM_LEFT, FMPL_COMM_WORLD, ier)
        call check
    end subroutine

    ! One step for some columns.
    subroutine relax(old, new, first, last)
        real(dp), intent(in) :: old(0:, 0:)
        real(dp), intent(inout) :: new(0:, 0:)
        integer, intent(in) :: first, last
        integer :: i, j
        do j = first, last
            do i = 1, N
                new(i, j) = 0.25_dp * (old(i - 1, j) + old(i + 1, j) + old(i, j - 1) + old(i, j + 1))
            end do
        end do
    end subroutine

    ! The same without help.
    subroutine compare
        real(dp), allocatable :: other(:, :)
        real(dp) :: difference
        allocate (alone(0:N + 1, 0:N + 1))
        alone = 0
        alone(0, :) = 100
        other = alone
        do step = 1, STEPS
            call relax(alone, other, 1, N)
            alone(1:N, 1:N) = other(1:N, 1:N)
        end do
        difference = maxval(abs(plate - alone(:, 1:N)))
        print '(a, i0, a, es9.2, a)', 'heat: ', ranks, ' ranks, largest change in the last step', change, ' degrees'
        if (difference > 0) then
            print *, 'heat: differs from the serial run by', difference
            stop 1
        end if
        print '(a)', 'heat: the same numbers as the serial run'
    end subroutine
end program
