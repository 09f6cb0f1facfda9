/* Misuse that ends the job; which one, is the argument. Ranks other than 0 wait outside of the library. */
#include "blacs.h"
#include <unistd.h>

int main(int count, char **arguments) {
    Cblacs_pinfo(&rank, &size);
    int context = grid(1, size), a[10] = {0};
    const char *what = count > 1 ? arguments[1] : "";
    printf("rank %d was here", rank); /* buffered until the end */
    if (!strcmp(what, "long")) {
        if (rank == 0) Cigesd2d(context, 10, 1, a, 10, 0, 1);
        if (rank == 1) Cigerv2d(context, 3, 1, a, 3, 0, 0);
    }
    if (!strcmp(what, "shape")) rank == 0 ? grid(1, size) : grid(size, 1);
    if (!strcmp(what, "smaller")) rank == 0 ? grid(1, 2) : grid(1, size);
    if (!strcmp(what, "order")) {
        int map[3] = {0, 1, 2}, other[3] = {2, 1, 0};
        Cblacs_get(-1, 0, &context);
        Cblacs_gridmap(&context, rank == 0 ? map : other, 1, 1, 3);
    }
    if (rank != 0) for (;;) {}
    if (!strcmp(what, "topology")) Cigebs2d(context, "A", "X", 1, 1, a, 1);
    if (!strcmp(what, "scope")) Cigebs2d(context, "Q", " ", 1, 1, a, 1);
    if (!strcmp(what, "number")) Ckbrid(context, "Q", 0, 0);
    if (!strcmp(what, "gridexit")) Cblacs_gridexit(-1);
    if (!strcmp(what, "rows")) Cigesd2d(context, -1, 3, a, 1, 0, 0);
    if (!strcmp(what, "columns")) Citrsd2d(context, "U", "N", 1, -3, a, 1, 0, 0);
    if (!strcmp(what, "context")) Cblacs_barrier(77, "A");
    if (!strcmp(what, "destination")) Cigesd2d(context, 1, 1, a, 1, 0, size);
    if (!strcmp(what, "source")) Cigerv2d(context, 1, 1, a, 1, -1, 0);
    if (!strcmp(what, "own")) Cigebr2d(context, "A", " ", 1, 1, a, 1, 0, 0);
    if (!strcmp(what, "grid")) grid(size, 2);
    if (!strcmp(what, "map")) Cblacs_get(0, 0, &context), a[0] = size, Cblacs_gridmap(&context, a, 1, 1, 1);
    if (!strcmp(what, "handle")) context = 12345, Cblacs_gridinit(&context, "R", 1, 1);
    if (!strcmp(what, "abort")) Cblacs_abort(context, 42);
    if (!strcmp(what, "exit")) exit(7);
    for (;;) pause();
}
