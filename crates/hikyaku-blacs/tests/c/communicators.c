/* MPI communicators as system handles, of a program that MPI has started. Any number of ranks. */
#include "blacs.h"
#include <mpi.h>

int Csys2blacs_handle(MPI_Comm);

int main(int count, char **arguments) {
    MPI_Init(&count, &arguments);
    Cblacs_pinfo(&rank, &size);
    int alone = Csys2blacs_handle(MPI_COMM_SELF), all = Csys2blacs_handle(MPI_COMM_WORLD), sum = 1;
    Cblacs_gridinit(&alone, "R", 1, 1);
    CHECK(alone >= 0);
    Cigsum2d(alone, "A", " ", 1, 1, &sum, 1, -1, -1);
    CHECK(sum == 1);
    Cblacs_gridinit(&all, "R", 1, size);
    Cigsum2d(all, "A", " ", 1, 1, &sum, 1, -1, -1);
    CHECK(sum == size);
    Cblacs_exit(0);
    return 0;
}
