! The communicator of a grid in Fortran, of a program that MPI has started. An even number of ranks.
program communicators
  use mpi
  implicit none
  integer :: rank, size, context, comm, rows, columns, row, column, number, sum, part, error
  integer, external :: sys2blacs_handle, blacs2sys_handle

  call mpi_init(error)
  call blacs_pinfo(rank, size)
  call blacs_get(-1, 0, context)
  call blacs_gridinit(context, 'Column', 2, size / 2)
  call blacs_gridinfo(context, rows, columns, row, column)
  call blacs_get(context, 10, comm)
  call check(comm, row * columns + column, size)
  call check(blacs2sys_handle(comm), row * columns + column, size)

  call mpi_comm_split(MPI_COMM_WORLD, mod(rank, 2), -rank, part, error)
  context = sys2blacs_handle(part)
  call blacs_gridinit(context, 'Row', 1, size / 2)
  call blacs_gridinfo(context, rows, columns, row, column)
  call check(part, column, size / 2)
  call blacs_get(context, 10, comm)
  call check(comm, column, size / 2)
  call blacs_exit(0)

contains

  subroutine check(communicator, expected, members)
    integer, intent(in) :: communicator, expected, members
    call mpi_comm_rank(communicator, number, error)
    if (number /= expected) stop 1
    sum = 1
    call mpi_allreduce(MPI_IN_PLACE, sum, 1, MPI_INTEGER, MPI_SUM, communicator, error)
    if (sum /= members) stop 2
  end subroutine
end program
