! Solves a dense system of equations with ScaLAPACK, on as many ranks as it is started with, and checks the solution.
!
!     gfortran -O2 -o solve solve.f90 -lscalapack-openmpi
!     hikyaku run --blacs -n 4 ./solve
!
! The matrix is made so that the solution is known: every unknown is 1.
program solve
  implicit none
  integer, parameter :: n = 500, block = 64
  integer :: rank, ranks, context, rows, columns, row, column, info
  integer :: m_local, n_local, b_local, lda, i, j, wrong(1)
  integer :: desca(9), descb(9)
  integer, allocatable :: pivots(:)
  double precision, allocatable :: a(:, :), b(:)
  integer, external :: numroc, indxl2g

  call blacs_pinfo(rank, ranks)
  rows = int(sqrt(dble(ranks)))
  do while (mod(ranks, rows) /= 0)
    rows = rows - 1
  end do
  call blacs_get(-1, 0, context)
  call blacs_gridinit(context, 'Row', rows, ranks/rows)
  call blacs_gridinfo(context, rows, columns, row, column)

  ! Each process has the blocks of rows and columns that fall to it.
  m_local = numroc(n, block, row, 0, rows)
  n_local = numroc(n, block, column, 0, columns)
  b_local = numroc(1, block, column, 0, columns)
  lda = max(m_local, 1)
  allocate (a(lda, max(n_local, 1)), b(lda), pivots(m_local + block))
  call descinit(desca, n, n, block, block, 0, 0, context, lda, info)
  call descinit(descb, n, 1, block, block, 0, 0, context, lda, info)
  do i = 1, m_local
    b(i) = 0
    do j = 1, n
      b(i) = b(i) + element(indxl2g(i, block, row, 0, rows), j)
    end do
    do j = 1, n_local
      a(i, j) = element(indxl2g(i, block, row, 0, rows), indxl2g(j, block, column, 0, columns))
    end do
  end do

  call pdgesv(n, 1, a, 1, 1, desca, pivots, b, 1, 1, descb, info)

  ! Said so that no number at all is wrong too.
  wrong(1) = 0
  if (b_local > 0) wrong(1) = count(.not. abs(b(1:m_local) - 1) <= 1d-9)
  call igsum2d(context, 'All', ' ', 1, 1, wrong, 1, -1, -1)
  if (rank == 0) print '(i0, a, i0, a, i0, a, i0, a)', n, ' equations on ', rows, ' x ', columns, &
    ' processes: ', wrong(1), ' unknowns are wrong'
  if (info /= 0 .or. wrong(1) /= 0) call blacs_abort(context, 1)
  call blacs_gridexit(context)
  call blacs_exit(0)

contains

  ! An element of the matrix; the diagonal keeps it far from singular.
  double precision function element(i, j)
    integer, intent(in) :: i, j
    if (i == j) then
      element = n
    else
      element = cos(0.37d0*i*j + j)
    end if
  end function
end program
