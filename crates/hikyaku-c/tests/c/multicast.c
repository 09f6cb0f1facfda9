/* Multicast: the last rank tells all others, and itself, in every form; and what cannot be. */
#include "check.h"

enum { CELLS = 500 };

static const hk_stride second = {sizeof(double), CELLS / 2, 2 * sizeof(double), 2 * sizeof(double)};

static void notify_a(int form, const double *data, hk_recipients to, hk_area table, const uint64_t *bitmap, double *twin,
                     hk_area flag, uint64_t word) {
    size_t pushed, bytes = CELLS * sizeof(double);
    if (form == 0) OK(hk_mcast_a_stride_notify(data, to, table, 0, second, flag, 0, word));
    if (form == 1) OK(hk_mcast_a_bitmap_notify(data, to, table, 0, bitmap, sizeof(double), CELLS, flag, 0, word));
    if (form < 2) return;
    OK(hk_mcast_a_diff_notify(data, to, table, 0, bytes, twin, sizeof(double), flag, 0, word, &pushed));
    CHECK(pushed == CELLS / 5);
}

static void notify_b(int form, const double *data, const int *ranks, size_t count, hk_area table, const uint64_t *bitmap,
                     double *twin, hk_area flag, uint64_t word) {
    size_t pushed, bytes = CELLS * sizeof(double);
    if (form == 0) OK(hk_mcast_b_stride_notify(data, ranks, count, table, 0, second, flag, 0, word));
    if (form == 1) OK(hk_mcast_b_bitmap_notify(data, ranks, count, table, 0, bitmap, sizeof(double), CELLS, flag, 0, word));
    if (form < 2) return;
    OK(hk_mcast_b_diff_notify(data, ranks, count, table, 0, bytes, twin, sizeof(double), flag, 0, word, &pushed));
    CHECK(pushed == CELLS / 5);
}

/* Areas in private memory, each somewhere else and with another size. */
static void to_areas(hk_recipients all, hk_area flag, const uint64_t *bitmap) {
    static double own[CELLS + 64], twin[CELLS], now[CELLS];
    double *mine = own + hk_rank();
    int last = hk_size() - 1, form;
    size_t at, pushed;
    hk_area areas;

    OK(hk_area_register(9, mine, (CELLS + (size_t)hk_rank()) * sizeof(double)));
    OK(hk_barrier());
    OK(hk_areas_open(all, 9, &areas));
    for (form = 0; form < 4; form++) {
        memset(own, 0, sizeof own);
        OK(hk_barrier());
        for (at = 0; at < CELLS; at++) now[at] = (double)at + 1, twin[at] = now[at] - (at % 5 == 0);
        if (hk_rank() == last) {
            if (form == 0) OK(hk_mcast_a_notify(now, all, areas, 0, sizeof now, flag, 0, 100));
            if (form == 1) OK(hk_mcast_a_stride_notify(now, all, areas, 0, second, flag, 0, 101));
            if (form == 2) OK(hk_mcast_a_bitmap_notify(now, all, areas, 0, bitmap, sizeof(double), CELLS, flag, 0, 102));
            if (form == 3) {
                OK(hk_mcast_a_diff_notify(now, all, areas, 0, sizeof now, twin, sizeof(double), flag, 0, 103, &pushed));
                CHECK(pushed == CELLS / 5);
            }
        }
        OK(hk_wait(flag, 0, HK_EQUAL, 100 + (uint64_t)form, last, HK_FOREVER, NULL));
        for (at = 0; at < CELLS; at++) {
            int is_part = form == 0 || at % (form == 1 ? 2 : form == 2 ? 3 : 5) == 0;
            CHECK(mine[at] == (is_part ? (double)at + 1 : 0));
        }
        OK(hk_barrier());
    }
    FAILS(HK_ERR_BOUNDS, hk_mcast_a(now, all, areas, 8, sizeof now));
    FAILS(HK_ERR_UNKNOWN_AREA, hk_areas_open(all, 8, &areas));
    FAILS(HK_ERR_INVALID, hk_areas_open(all, 9, NULL));
    OK(hk_barrier());
    OK(hk_area_close(areas));
    FAILS(HK_ERR_HANDLE, hk_mcast_a(now, all, areas, 0, 8));
    OK(hk_barrier());
    OK(hk_area_revoke(9));
}

int main(void) {
    static double data[CELLS], twin[CELLS];
    uint64_t bitmap[(CELLS + 63) / 64] = {0};
    hk_recipients all = {0}, none = {0};
    hk_area table, flag;
    double *mine;
    int ranks[64] = {0}, me, size, rank, list, form;
    size_t at, pushed;

    FAILS(HK_ERR_NOT_STARTED, hk_recipients_create(ranks, 0, &all));
    OK(hk_init());
    me = hk_rank(), size = hk_size();
    for (rank = 0; rank < size; rank++) ranks[rank] = size - 1 - rank;
    OK(hk_alloc(sizeof data, &table));
    OK(hk_alloc(8, &flag));
    OK(hk_recipients_create(ranks, (size_t)size, &all));
    mine = hk_local(table);
    for (at = 0; at < CELLS; at += 3) bitmap[at / 64] |= (uint64_t)1 << at % 64;

    for (list = 0; list < 2; list++) {
        uint64_t word = (uint64_t)list + 1;
        for (at = 0; at < CELLS; at++) data[at] = 1000 * (list + 1) + (int)at;
        memset(mine, 0, sizeof data);
        OK(hk_barrier());
        if (me == size - 1) {
            if (list) OK(hk_mcast_b_notify(data, ranks, (size_t)size, table, 0, sizeof data, flag, 0, word));
            else OK(hk_mcast_a_notify(data, all, table, 0, sizeof data, flag, 0, word));
        }
        OK(hk_wait(flag, 0, HK_EQUAL, word, size - 1, HK_FOREVER, NULL));
        for (at = 0; at < CELLS; at++) CHECK(mine[at] == data[at]);
        OK(hk_barrier());

        memset(mine, 0, sizeof data);
        OK(hk_barrier());
        if (me == size - 1) {
            if (list) OK(hk_mcast_b(data, ranks, (size_t)size, table, sizeof(double), 2 * sizeof(double)));
            else OK(hk_mcast_a(data, all, table, sizeof(double), 2 * sizeof(double)));
        }
        OK(hk_barrier());
        CHECK(mine[0] == 0 && mine[1] == data[0] && mine[2] == data[1] && mine[3] == 0);
        OK(hk_barrier());

        memset(mine, 0, sizeof data);
        OK(hk_barrier());
        if (me == size - 1) {
            if (list) OK(hk_mcast_b_stride(data, ranks, (size_t)size, table, 0, second));
            else OK(hk_mcast_a_stride(data, all, table, 0, second));
        }
        OK(hk_barrier());
        for (at = 0; at < CELLS; at++) CHECK(mine[at] == (at % 2 ? 0 : data[at]));
        OK(hk_barrier());

        memset(mine, 0, sizeof data);
        OK(hk_barrier());
        if (me == size - 1) {
            if (list) OK(hk_mcast_b_bitmap(data, ranks, (size_t)size, table, 0, bitmap, sizeof(double), CELLS));
            else OK(hk_mcast_a_bitmap(data, all, table, 0, bitmap, sizeof(double), CELLS));
        }
        OK(hk_barrier());
        for (at = 0; at < CELLS; at++) CHECK(mine[at] == (at % 3 ? 0 : data[at]));
        OK(hk_barrier());

        memset(mine, 0, sizeof data);
        OK(hk_barrier());
        if (me == size - 1) {
            memcpy(twin, data, sizeof data);
            data[7] = -1;
            data[400] = -2;
            if (list) OK(hk_mcast_b_diff(data, ranks, (size_t)size, table, 0, sizeof data, twin, sizeof(double), &pushed));
            else OK(hk_mcast_a_diff(data, all, table, 0, sizeof data, twin, sizeof(double), &pushed));
            CHECK(pushed == 2);
        }
        OK(hk_barrier());
        for (at = 0; at < CELLS; at++) CHECK(mine[at] == (at == 7 ? -1 : at == 400 ? -2 : 0));
        OK(hk_barrier());

        /* Whoever sees the word sees all parts. */
        for (form = 0; form < 3; form++) {
            memset(mine, 0, sizeof data);
            OK(hk_barrier());
            word += 2;
            if (me == size - 1) {
                for (at = 0; at < CELLS; at++) twin[at] = data[at] - (at % 5 == 0);
                if (list) notify_b(form, data, ranks, (size_t)size, table, bitmap, twin, flag, word);
                else notify_a(form, data, all, table, bitmap, twin, flag, word);
            }
            OK(hk_wait(flag, 0, HK_EQUAL, word, size - 1, HK_FOREVER, NULL));
            for (at = 0; at < CELLS; at++) CHECK((mine[at] != 0) == (at % (form == 0 ? 2 : form == 1 ? 3 : 5) == 0));
            OK(hk_barrier());
        }
    }
    to_areas(all, flag, bitmap);
    FAILS(HK_ERR_BOUNDS, hk_mcast_a_stride_notify(data, all, table, 0, second, flag, 8, 1));
    FAILS(HK_ERR_BOUNDS, hk_mcast_b_bitmap_notify(data, ranks, 1, table, 8, bitmap, sizeof(double), CELLS, flag, 0, 1));
    FAILS(HK_ERR_ALIGNMENT, hk_mcast_a_diff_notify(data, all, table, 0, sizeof data, twin, sizeof(double), flag, 4, 1, NULL));

    FAILS(HK_ERR_HANDLE, hk_mcast_a(data, none, table, 0, 8));
    FAILS(HK_ERR_BOUNDS, hk_mcast_a(data, all, table, 8, sizeof data));
    FAILS(HK_ERR_ALIGNMENT, hk_mcast_a_notify(data, all, table, 0, 8, flag, 4, 1));
    FAILS(HK_ERR_BOUNDS, hk_mcast_a_notify(data, all, table, 0, 8, flag, 8, 1));
    FAILS(HK_ERR_INVALID, hk_mcast_a(NULL, all, table, 0, 8));
    FAILS(HK_ERR_INVALID, hk_mcast_b(data, NULL, 1, table, 0, 8));
    FAILS(HK_ERR_INVALID, hk_recipients_create(ranks, (size_t)size + 1, &all));
    FAILS(HK_ERR_INVALID, hk_recipients_create(ranks, (size_t)size, NULL));
    ranks[0] = -1;
    FAILS(HK_ERR_RANK, hk_mcast_b(data, ranks, 1, table, 0, 8));
    OK(hk_mcast_b(data, NULL, 0, table, 0, 8));
    OK(hk_area_create(1, 64, NULL));
    OK(hk_area_open(me, 1, &flag));
    FAILS(HK_ERR_HANDLE, hk_mcast_a(data, all, flag, 0, 8));
    OK(hk_recipients_free(all));
    FAILS(HK_ERR_HANDLE, hk_recipients_free(all));
    OK(hk_barrier());
    OK(hk_finalize());
    return 0;
}
