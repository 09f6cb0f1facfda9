/* Many grids: open at the same time, most of them idle; and one after the other, each used in its own way. */
#include "blacs.h"

#define OPEN 400
#define TURNS 120

static int rank, size, all;

static int make(void) {
    int context = all;
    Cblacs_gridinit(&context, "Row", 1, size);
    return context;
}

static void use(int context, int turn) {
    int sum = rank + turn, next = (rank + 1) % size, last = (rank + size - 1) % size;
    static double data[5000];
    if (turn % 2)
        Cblacs_barrier(context, "All");
    Cigsum2d(context, "All", " ", 1, 1, &sum, 1, -1, -1);
    CHECK(sum == size * turn + size * (size - 1) / 2);
    if (turn % 3 == 0) {
        int count = turn % 2 ? 5000 : 50;
        for (int i = 0; i < count; i++) data[i] = rank + turn + i;
        Cdgesd2d(context, count, 1, data, count, 0, next);
        Cdgerv2d(context, count, 1, data, count, 0, last);
        CHECK(data[0] == last + turn && data[count - 1] == last + turn + count - 1);
    }
    if (turn % 5 == 0) {
        for (int i = 0; i < 1000; i++) data[i] = rank == 0 ? turn + i : -1;
        if (rank == 0) Cdgebs2d(context, "Row", " ", 1000, 1, data, 1000);
        else Cdgebr2d(context, "Row", " ", 1000, 1, data, 1000, 0, 0);
        CHECK(data[999] == turn + 999);
    }
}

int main(void) {
    static int contexts[OPEN];
    Cblacs_pinfo(&rank, &size);
    Cblacs_get(-1, 0, &all);
    for (int i = 0; i < OPEN; i++) {
        contexts[i] = make();
        CHECK(contexts[i] == i);
    }
    for (int i = 0; i < OPEN; i += 50) use(contexts[i], i);
    /* The lowest number that is free comes next. */
    Cblacs_gridexit(contexts[350]);
    Cblacs_gridexit(contexts[40]);
    Cblacs_gridexit(contexts[300]);
    CHECK(make() == 40);
    CHECK(make() == 300);
    CHECK(make() == 350);
    CHECK(make() == OPEN);
    Cblacs_gridexit(OPEN);
    for (int i = OPEN; i-- > 0;) Cblacs_gridexit(contexts[i]);
    for (int turn = 0; turn < TURNS; turn++) {
        int context = make();
        CHECK(context == 0);
        if (turn % 4) use(context, turn);
        Cblacs_gridexit(context);
    }
    Cblacs_exit(0);
    return 0;
}
