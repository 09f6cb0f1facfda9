/* MPI communicators as system handles and grids as communicators, of a program that MPI has started. Any number of ranks. */
#include "blacs.h"
#include <mpi.h>

int Csys2blacs_handle(MPI_Comm);
MPI_Comm Cblacs2sys_handle(int);
void blacs_get_(const int *, const int *, int *);
int blacs2sys_handle_(const int *);

/* The communicator has the processes of the grid row by row, and is one of its own. */
static void is_of_grid(MPI_Comm communicator, int context) {
    int rows, columns, row, column, number, count, sum = 1;
    Cblacs_gridinfo(context, &rows, &columns, &row, &column);
    MPI_Comm_rank(communicator, &number);
    MPI_Comm_size(communicator, &count);
    CHECK(count == rows * columns && number == row * columns + column);
    MPI_Allreduce(MPI_IN_PLACE, &sum, 1, MPI_INT, MPI_SUM, communicator);
    CHECK(sum == count);
    MPI_Comm_compare(communicator, MPI_COMM_WORLD, &sum);
    CHECK(sum != MPI_IDENT);
}

/* From C and from Fortran, and as often as it is asked for; and what it is made of makes grids again. */
static void check_grid(int context) {
    int rows, columns, row, column, handle = -1, number = -1, what = 10, relation;
    Cblacs_gridinfo(context, &rows, &columns, &row, &column);
    if (row < 0) return;
    Cblacs_get(context, 10, &handle);
    is_of_grid(Cblacs2sys_handle(handle), context);
    blacs_get_(&context, &what, &number);
    is_of_grid(MPI_Comm_f2c(blacs2sys_handle_(&number)), context);
    MPI_Comm_compare(Cblacs2sys_handle(handle), MPI_Comm_f2c(number), &relation);
    CHECK(relation == MPI_IDENT);
    int again = handle;
    Cblacs_gridinit(&again, "R", 1, rows * columns);
    Cblacs_gridinfo(again, &rows, &columns, &relation, &column);
    Cblacs_get(context, 10, &handle);
    MPI_Comm_rank(Cblacs2sys_handle(handle), &number);
    CHECK(column == number);
    Cblacs_gridexit(again);
    Cfree_blacs_system_handle(handle);
}

/* A communicator comes back as it was. */
static void check_communicator(MPI_Comm communicator) {
    int handle = Csys2blacs_handle(communicator), count, number, relation, rows, columns, row, column;
    MPI_Comm_compare(Cblacs2sys_handle(handle), communicator, &relation);
    CHECK(relation == MPI_IDENT);
    MPI_Comm_size(communicator, &count);
    MPI_Comm_rank(communicator, &number);
    int context = handle;
    Cblacs_gridinit(&context, "C", count, 1);
    Cblacs_gridinfo(context, &rows, &columns, &row, &column);
    CHECK(row == number);
    check_grid(context);
    Cblacs_gridexit(context);
    Cfree_blacs_system_handle(handle);
}

int main(int count, char **arguments) {
    MPI_Init(&count, &arguments);
    Cblacs_pinfo(&rank, &size);
    int alone = Csys2blacs_handle(MPI_COMM_SELF), all = Csys2blacs_handle(MPI_COMM_WORLD), sum = 1, some, map[64];
    Cblacs_gridinit(&alone, "R", 1, 1);
    CHECK(alone >= 0);
    Cigsum2d(alone, "A", " ", 1, 1, &sum, 1, -1, -1);
    CHECK(sum == 1);
    Cblacs_gridinit(&all, "R", 1, size);
    Cigsum2d(all, "A", " ", 1, 1, &sum, 1, -1, -1);
    CHECK(sum == size);
    check_grid(alone);
    check_grid(all);

    /* Column by column; some of the processes; backwards. */
    Cblacs_get(-1, 0, &all);
    Cblacs_gridinit(&all, "C", 2, size / 2);
    check_grid(all);
    Cblacs_get(-1, 0, &some);
    Cblacs_gridinit(&some, "R", 1, size - 1);
    check_grid(some);
    for (int i = 0; i < size; i++) map[i] = size - 1 - i;
    Cblacs_get(-1, 0, &some);
    Cblacs_gridmap(&some, map, 1, 1, size);
    check_grid(some);

    MPI_Comm parts, reversed;
    MPI_Comm_split(MPI_COMM_WORLD, rank % 2, rank, &parts);
    MPI_Comm_split(MPI_COMM_WORLD, 0, -rank, &reversed);
    check_communicator(MPI_COMM_WORLD);
    check_communicator(parts);
    check_communicator(reversed);
    MPI_Comm_free(&parts);
    MPI_Comm_free(&reversed);
    Cblacs_exit(0);
    return 0;
}
