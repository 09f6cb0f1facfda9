/* Parts that are started, parts that tell of themselves, and areas that are pinned: each rank with its right neighbour. */
#include "check.h"

enum { ROWS = 500, WIDTH = 40, CELLS = ROWS * WIDTH };

int main(void) {
    static double matrix[CELLS], column[ROWS], twin[CELLS];
    static uint64_t bitmap[(CELLS + 63) / 64];
    hk_transfer transfers[3] = {{0}, {0}, {0}};
    hk_area data, flag, mine_as_area, remote;
    double *mine;
    uint64_t value;
    void *memory;
    size_t at, pushed, row;
    int me, size, right, left;
    hk_stride whole = {sizeof(double), ROWS, WIDTH * sizeof(double), WIDTH * sizeof(double)};
    hk_stride packed = {sizeof(double), ROWS, sizeof(double), WIDTH * sizeof(double)};

    OK(hk_init());
    me = hk_rank(), size = hk_size(), right = (me + 1) % size, left = (me + size - 1) % size;
    OK(hk_alloc(sizeof matrix, &data));
    OK(hk_alloc(64, &flag));
    mine = hk_local(data);
    for (at = 0; at < CELLS; at++) mine[at] = -1, matrix[at] = (double)(1000000 * me + (int)at);
    OK(hk_barrier());

    /* Started: the last column, then every third unit, then one change. What is pushed may be changed at once. */
    OK(hk_push_stride_start(matrix + WIDTH - 1, right, data, 0, whole, &transfers[0]));
    for (row = 0; row < ROWS; row++) matrix[row * WIDTH + WIDTH - 1] = 0;
    OK(hk_transfer_wait(&transfers[0], HK_FOREVER));
    OK(hk_barrier());
    for (row = 0; row < ROWS; row++) CHECK(mine[row * WIDTH] == 1000000 * left + (int)(row * WIDTH + WIDTH - 1));
    OK(hk_pull_stride_start(column, right, data, 0, packed, &transfers[0]));
    for (at = 1; at < CELLS; at += 3) bitmap[at / 64] |= (uint64_t)1 << at % 64;
    for (at = 0; at < CELLS; at++) twin[at] = 0;
    OK(hk_pull_bitmap_start(twin, right, data, 0, bitmap, sizeof(double), CELLS, &transfers[1]));
    memset(bitmap, 0, sizeof bitmap);
    OK(hk_transfer_wait(&transfers[0], HK_FOREVER));
    OK(hk_transfer_wait(&transfers[1], HK_FOREVER));
    for (row = 0; row < ROWS; row++) CHECK(column[row] == 1000000 * me + (int)(row * WIDTH + WIDTH - 1));
    for (at = 0; at < CELLS; at++) CHECK(at % 3 == 1 ? twin[at] != 0 : twin[at] == 0);
    OK(hk_barrier());

    /* Parts, then a word. */
    for (at = 0; at < CELLS; at++) matrix[at] = me, mine[at] = 0, twin[at] = me;
    for (at = 2; at < CELLS; at += 3) bitmap[at / 64] |= (uint64_t)1 << at % 64;
    OK(hk_barrier());
    OK(hk_push_stride_notify(matrix, right, data, 0, whole, flag, 0, 1));
    OK(hk_push_bitmap_notify(matrix, right, data, 0, bitmap, sizeof(double), CELLS, flag, 8, 2));
    matrix[7] = 77;
    OK(hk_push_diff_notify(matrix, right, data, 0, sizeof matrix, twin, sizeof(double), flag, 16, 3, &pushed));
    CHECK(pushed == 1 && twin[7] == 77);
    OK(hk_wait(flag, 0, HK_EQUAL, 1, HK_ANYONE, HK_FOREVER, &value));
    for (row = 0; row < ROWS; row++) CHECK(mine[row * WIDTH] == left);
    OK(hk_wait(flag, 8, HK_EQUAL, 2, HK_ANYONE, HK_FOREVER, &value));
    for (at = 2; at < CELLS; at += 3) CHECK(at == 7 || mine[at] == left);
    OK(hk_wait(flag, 16, HK_EQUAL, 3, HK_ANYONE, HK_FOREVER, &value));
    CHECK(mine[7] == 77);
    matrix[9] = 99;
    OK(hk_push_diff_start(matrix, right, data, 0, sizeof matrix, twin, sizeof(double), &pushed, &transfers[2]));
    CHECK(pushed == 1 && twin[9] == 99);
    OK(hk_push_bitmap_start(matrix, right, data, 0, bitmap, sizeof(double), CELLS, &transfers[1]));
    OK(hk_transfer_wait_all());
    OK(hk_barrier());
    CHECK(mine[9] == 99);
    FAILS(HK_ERR_BOUNDS, hk_push_stride_notify(matrix, right, data, 0, whole, flag, 64, 1));
    FAILS(HK_ERR_BOUNDS, hk_push_stride_start(matrix, right, data, sizeof matrix - 8, whole, &transfers[0]));
    FAILS(HK_ERR_INVALID, hk_pull_bitmap_start(matrix, right, data, 0, NULL, 8, CELLS, &transfers[0]));
    FAILS(HK_ERR_INVALID, hk_push_stride_start(matrix, right, data, 0, whole, NULL));

    /* An area stays as long as it is pinned. */
    OK(hk_area_create(3, 800, &memory));
    OK(hk_area_open(me, 3, &mine_as_area));
    OK(hk_barrier());
    OK(hk_area_open(right, 3, &remote));
    FAILS(HK_ERR_BOUNDS, hk_pd_req(right, remote, 796, 8));
    OK(hk_pd_req(right, remote, 400, 400));
    OK(hk_pd_req(right, remote, 0, 8));
    OK(hk_pd_req(right, data, 0, 8));
    OK(hk_barrier());
    FAILS(HK_ERR_PINNED, hk_area_revoke(3));
    FAILS(HK_ERR_PINNED, hk_area_wait_unpinned(3, 1));
    GIVES(left, hk_error_rank());
    OK(hk_barrier());
    OK(hk_push(matrix, right, remote, 400, 400));
    OK(hk_pd_release(right, remote));
    OK(hk_pd_release(right, remote));
    OK(hk_area_wait_unpinned(3, HK_FOREVER));
    CHECK(((double *)memory)[51] == left);
    OK(hk_barrier());
    FAILS(HK_ERR_REVOKED, hk_pd_req(right, remote, 0, 8));
    OK(hk_barrier());
    OK(hk_area_revoke(3));
    FAILS(HK_ERR_UNKNOWN_AREA, hk_area_unpin(3));

    /* A peer forgets to release it. */
    OK(hk_area_register(4, matrix, sizeof matrix));
    OK(hk_barrier());
    OK(hk_area_open(right, 4, &remote));
    OK(hk_pd_req(right, remote, 0, 8));
    OK(hk_barrier());
    FAILS(HK_ERR_PINNED, hk_area_revoke(4));
    OK(hk_area_unpin(4));
    OK(hk_area_revoke(4));
    OK(hk_barrier());
    OK(hk_finalize());
    return 0;
}
