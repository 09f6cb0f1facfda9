/* Copies between any two ranks, started by any: symmetric memory and areas, with a word and without; and what cannot be. */
#include "check.h"

enum { CELLS = 5000 };

int main(void) {
    static double mine[CELLS];
    hk_area table, flag, area, next_area;
    double *numbers;
    int me, size, from, to;
    size_t at;

    OK(hk_init());
    me = hk_rank(), size = hk_size();
    OK(hk_alloc(2 * sizeof mine, &table));
    OK(hk_alloc(8 * (size_t)size, &flag));
    for (at = 0; at < CELLS; at++) mine[at] = 10000.0 * me + (double)at;
    numbers = hk_local(table);
    memcpy(numbers, mine, sizeof mine);
    OK(hk_area_register(1, mine, sizeof mine));
    OK(hk_barrier());
    OK(hk_area_open((me + 1) % size, 1, &next_area));

    /* Rank by rank: the first half of one rank to the second half of another. */
    for (from = 0; from < size; from++) {
        to = (from + 1) % size;
        if (me == (from + 2) % size)
            OK(hk_bcopy_notify(from, table, 0, to, table, sizeof mine, sizeof mine, flag, 0, (uint64_t)from + 1));
        if (me == to) {
            OK(hk_wait(flag, 0, HK_EQUAL, (uint64_t)from + 1, HK_ANYONE, HK_FOREVER, NULL));
            for (at = 0; at < CELLS; at++) CHECK(numbers[CELLS + at] == 10000.0 * from + (double)at);
        }
        OK(hk_barrier());
    }

    /* From an area of the next rank to the one behind it. */
    to = (me + 2) % size;
    OK(hk_bcopy((me + 1) % size, next_area, 80, to, table, sizeof mine, 800));
    OK(hk_flush(to));
    OK(hk_sync());
    OK(hk_barrier());
    from = (me + size - 1) % size;
    for (at = 0; at < 100; at++) CHECK(numbers[CELLS + at] == 10000.0 * from + 10 + (double)at);

    /* Inside one rank: what touches does not overlap. */
    OK(hk_bcopy(to, table, 0, to, table, sizeof mine, 0));
    FAILS(HK_ERR_INVALID, hk_bcopy(to, table, 0, to, table, 8, 16));
    FAILS(HK_ERR_BOUNDS, hk_bcopy(me, table, 8, to, table, sizeof mine, sizeof mine + 8));
    FAILS(HK_ERR_BOUNDS, hk_bcopy(me, table, SIZE_MAX, to, table, 0, 8));
    FAILS(HK_ERR_BOUNDS, hk_bcopy(me, table, 0, to, table, 0, SIZE_MAX));
    FAILS(HK_ERR_RANK, hk_bcopy(size, table, 0, to, table, 0, 8));
    FAILS(HK_ERR_RANK, hk_bcopy(me, table, 0, -1, table, 0, 8));
    FAILS(HK_ERR_BOUNDS, hk_bcopy_notify(me, table, 0, to, table, sizeof mine, 8, flag, 8 * (size_t)size, 1));
    memset(&area, 0, sizeof area);
    FAILS(HK_ERR_HANDLE, hk_bcopy(me, area, 0, to, table, 0, 8));
    FAILS(HK_ERR_HANDLE, hk_bcopy(me, table, 0, to, area, 0, 8));
    OK(hk_barrier());
    OK(hk_area_close(next_area));
    OK(hk_barrier());
    OK(hk_area_revoke(1));
    OK(hk_finalize());
    return 0;
}
