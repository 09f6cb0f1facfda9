/* Making and leaving grids: what is where, for whom. Any number of ranks. */
#include "blacs.h"

static void expect_info(int context, int rows, int columns, int row, int column) {
    int r, c, mr, mc;
    Cblacs_gridinfo(context, &r, &c, &mr, &mc);
    CHECK(r == rows && c == columns && mr == row && mc == column);
}

/* All ranks in one row, in both orders, and the odd ones out. */
static void orders(void) {
    int context = grid(1, size), row, column;
    expect_info(context, 1, size, 0, rank);
    CHECK(Cblacs_pnum(context, 0, size - 1) == size - 1 && Cblacs_pnum(context, 1, 0) == -1);
    Cblacs_pcoord(context, rank, &row, &column);
    CHECK(row == 0 && column == rank);
    Cblacs_pcoord(context, size, &row, &column);
    CHECK(row == -1 && column == -1);
    Cblacs_gridexit(context);
    expect_info(context, -1, -1, -1, -1);
    if (size < 4) return;
    Cblacs_get(0, 0, &context);
    Cblacs_gridinit(&context, "col", 2, 2);
    if (rank < 4) expect_info(context, 2, 2, rank % 2, rank / 2);
    else CHECK(context == -1);
    /* The number of a process is its place row by row, not its rank. */
    if (rank < 4) {
        CHECK(Cblacs_pnum(context, 1, 0) == 2);
        Cblacs_gridexit(context);
    }
}

/* Grids of grids: entries of a map are ranks in what the handle stands for. */
static void nested(void) {
    int outer, inner, reversed[64], handle;
    for (int i = 0; i < size; i++) reversed[i] = size - 1 - i;
    Cblacs_get(0, 0, &outer);
    Cblacs_gridmap(&outer, reversed, 1, 1, size);
    expect_info(outer, 1, size, 0, size - 1 - rank);
    Cblacs_get(outer, 10, &handle);
    inner = handle;
    Cblacs_gridinit(&inner, "R", 1, size > 1 ? size - 1 : 1);
    if (size > 1 && rank == 0) CHECK(inner == -1);
    else expect_info(inner, 1, size > 1 ? size - 1 : 1, 0, size - 1 - rank);
    if (inner >= 0) {
        int value = 1;
        Cigsum2d(inner, "All", " ", 1, 1, &value, 1, -1, 0);
        CHECK(value == (size > 1 ? size - 1 : 1));
        Cblacs_gridexit(inner);
    }
    /* The same again: the handle stays after its grid. */
    Cblacs_gridexit(outer);
    inner = handle;
    Cblacs_gridinit(&inner, "R", 1, 1);
    CHECK((inner >= 0) == (rank == size - 1));
    Cfree_blacs_system_handle(handle);
}

/* Contexts are numbered by each process for itself, so the same grid may have different numbers. */
static void different_numbers(void) {
    int alone, together, value = rank, from = -1;
    if (size < 2) return;
    Cblacs_get(0, 0, &alone);
    int map[1] = {0};
    Cblacs_gridmap(&alone, map, 1, 1, 1);
    together = grid(1, size);
    CHECK((together == alone) == 0);
    Cigesd2d(together, 1, 1, &value, 1, 0, (rank + 1) % size);
    Cigerv2d(together, 1, 1, &from, 1, 0, (rank + size - 1) % size);
    CHECK(from == (rank + size - 1) % size);
    Cblacs_gridexit(together);
    if (rank == 0) Cblacs_gridexit(alone);
}

/* Each pair of neighbours makes a grid of its own at the same time. */
static void halves(void) {
    int context, map[2] = {rank / 2 * 2, rank / 2 * 2 + 1}, sum = rank;
    if (size % 2) return;
    Cblacs_get(0, 0, &context);
    Cblacs_gridmap(&context, map, 1, 1, 2);
    Cigsum2d(context, "R", "H", 1, 1, &sum, 1, -1, -1);
    CHECK(sum == map[0] + map[1]);
    Cblacs_gridexit(context);
}

/* More messages than there are slots for, short and long ones, which nobody will receive. */
static void unwanted(int context, int peer) {
    static int data[20000];
    for (int i = 0; i < 20; i++) Cigesd2d(context, 1, 1, data, 1, peer, 0);
    Cigesd2d(context, 20000, 1, data, 20000, peer, 0);
}

/* Grids come and go, with messages left in them that were received, or never will be. */
static void many(void) {
    for (int i = 0; i < 200; i++) {
        int context = grid(size, 1), value = i, got = -1, peer = (rank + 1) % size;
        Cigesd2d(context, 1, 1, &value, 1, peer, 0);
        if (i % 3 == 0) unwanted(context, peer), unwanted(context, rank);
        Cigerv2d(context, 1, 1, &got, 1, (rank + size - 1) % size, 0);
        CHECK(got == i);
        Cblacs_gridexit(context);
    }
}

static void settings(void) {
    int context = grid(1, size), value, numbers[2];
    Cblacs_get(context, 11, &value);
    CHECK(value == 1);
    Cblacs_get(context, 14, &value);
    CHECK(value == 1);
    value = 3;
    Cblacs_set(context, 12, &value);
    value = 0;
    Cblacs_get(context, 12, &value);
    CHECK(value == 3);
    value = 1;
    Cblacs_set(context, 15, &value);
    value = 0;
    Cblacs_get(context, 15, &value);
    CHECK(value == 1);
    Cblacs_get(-1, 1, numbers);
    CHECK(numbers[0] == 0 && numbers[1] >= 32767);
    CHECK(Cksendid(context, 0, 0) == Ckrecvid(context, 0, 0));
    /* Each scope counts for itself. */
    CHECK(Ckbsid(context, "A") == 0 && Ckbsid(context, "r") == 0 && Ckbsid(context, "C") == 0);
    CHECK(Ckbrid(context, "a", 0, 0) == 1 && Ckbrid(context, "R", 0, 0) == 1 && Ckbsid(context, "A") == 2);
    double wall = Cdwalltime00(), processor = Cdcputime00();
    for (volatile int i = 0; i < 1000000; i++) {}
    CHECK(Cdwalltime00() > wall && Cdcputime00() >= processor);
    Cblacs_gridexit(context);
}

static int last;

/* What is done at the end may come after the end of the BLACS. */
static void leave_last(void) { Cblacs_gridexit(last); }

int main(void) {
    atexit(leave_last);
    Cblacs_pinfo(&rank, &size);
    expect_info(-1, -1, -1, -1, -1);
    expect_info(1000, -1, -1, -1, -1);
    orders();
    nested();
    different_numbers();
    halves();
    many();
    settings();
    /* A program may go on after an exit that says so, and end without one. */
    int before = grid(size, 1);
    unwanted(before, (rank + 1) % size);
    unwanted(before, rank);
    Cblacs_exit(1);
    expect_info(before, -1, -1, -1, -1);
    int context = grid(1, size), sum = 1;
    Cigsum2d(context, "A", " ", 1, 1, &sum, 1, -1, -1);
    CHECK(sum == size);
    last = grid(size, 1);
    unwanted(last, (rank + 1) % size);
    unwanted(last, rank);
    return 0;
}
