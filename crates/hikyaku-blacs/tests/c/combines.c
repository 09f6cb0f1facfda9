/* Combines: what counts if magnitudes are equal, where it came from, and who keeps what. A row of any number of ranks. */
#include "blacs.h"

static int context;

static void sums(char *top) {
    double a[6] = {rank, 1, -7, 0.5 * rank, 2, -7};
    Cdgsum2d(context, "All", top, 2, 2, a, 3, 0, size - 1);
    double total = size * (size - 1) / 2.0;
    if (rank == size - 1) CHECK(a[0] == total && a[1] == size && a[3] == total / 2 && a[4] == 2 * size);
    else CHECK(a[0] == rank && a[1] == 1 && a[3] == 0.5 * rank && a[4] == 2);
    CHECK(a[2] == -7 && a[5] == -7);
    int b[2] = {1, rank};
    Cigsum2d(context, "r", top, 2, 1, b, 2, -1, 0);
    CHECK(b[0] == size && b[1] == total);
    int c[2] = {1, rank};
    Cigsum2d(context, "r", top, 2, 1, c, 2, 0, -1);
    CHECK(c[0] == size && c[1] == total);
    /* A column of one. */
    Cigsum2d(context, "C", top, 2, 1, c, 2, 0, 0);
    CHECK(c[0] == size);
}

static void extremes(char *top) {
    int ra[4] = {-5, -5, -5, -5}, ca[4] = {-5, -5, -5, -5};
    /* The sign alternates: without coordinates the positive one counts. */
    double a[2] = {rank % 2 ? 3 : -3, rank};
    Cdgamx2d(context, "A", top, 2, 1, a, 2, NULL, NULL, -1, -1, -1);
    CHECK(a[0] == (size > 1 ? 3 : -3) && a[1] == size - 1);
    double b[2] = {rank % 2 ? 3 : -3, 10 + rank};
    Cdgamn2d(context, "A", top, 2, 1, b, 2, ra, ca, -1, -1, -1);
    CHECK(b[0] == (size > 1 ? 3 : -3) && b[1] == 10 && ra[0] == -5 && ca[0] == -5);
    /* With coordinates the nearest to the destination, upwards from it; all: the first. */
    double c[2] = {rank % 2 ? 3 : -3, rank};
    Cdgamx2d(context, "A", top, 2, 1, c, 2, ra, ca, 3, -1, 0);
    CHECK(c[0] == -3 && ra[0] == 0 && ca[0] == 0 && ca[1] == size - 1 && ra[2] == -5);
    int destination = size / 2;
    double d[4] = {rank == destination ? 1 : rank + 5, -9, 4, -9};
    Cdgamn2d(context, "R", top, 1, 2, d, 2, ra, ca, 2, 0, destination);
    if (rank == destination) CHECK(d[0] == 1 && d[2] == 4 && ca[0] == destination && ca[2] == destination && ra[2] == 0);
    else CHECK(d[0] == rank + 5 && d[2] == 4);
    CHECK(d[1] == -9 && d[3] == -9);
    int e = rank == 0 ? 2 : 7;
    Cigamx2d(context, "A", top, 1, 1, &e, 1, ra, ca, 1, 0, 0);
    if (rank == 0) CHECK(e == (size > 1 ? 7 : 2) && ca[0] == (size > 1 ? 1 : 0));
    else CHECK(e == 7);
}

int main(void) {
    Cblacs_pinfo(&rank, &size);
    context = grid(1, size);
    char *tops[] = {" ", "i", "D", "s", "H", "f", "M", "t", "1", "2", "9"};
    for (int rings = -3; rings <= 3; rings++) {
        if (rings) Cblacs_set(context, 13, &rings);
        int branches = rings + 4;
        Cblacs_set(context, 14, &branches);
        for (unsigned k = 0; k < sizeof tops / sizeof *tops; k++) sums(tops[k]), extremes(tops[k]);
    }
    Cblacs_gridexit(context);
    Cblacs_exit(0);
    return 0;
}
