/* Ends without a word: before any call of the BLACS, or right after long sends. */
#include "blacs.h"
#include <unistd.h>
#ifdef WITH_MPI
#include <mpi.h>
#endif

int main(int count, char **arguments) {
#ifdef WITH_MPI
    MPI_Init(&count, &arguments);
    MPI_Finalize();
#endif
    printf("nothing to do\n");
#ifdef WITH_BLACS
    static double data[300000];
    Cblacs_pinfo(&rank, &size);
    int context = grid(1, size), n = 300000;
    for (int i = 1; i <= 3 && rank == 0; i++) {
        data[n - 1] = i;
        Cdgesd2d(context, n, 1, data, n, 0, 1);
    }
    if (rank == 0) count > 1 ? _exit(0) : exit(0);
    sleep(1);
    for (int i = 1; i <= 3; i++) {
        Cdgerv2d(context, n, 1, data, n, 0, 0);
        CHECK(data[n - 1] == i);
    }
#endif
    return 0;
}
