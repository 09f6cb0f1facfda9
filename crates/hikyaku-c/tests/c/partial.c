/* Partial transfers, each rank with its right neighbour: columns, marked units, changed units. */
#include "check.h"

enum { ROWS = 50, WIDTH = 40, CELLS = ROWS * WIDTH };

int main(void) {
    static double matrix[CELLS], column[ROWS], twin[CELLS];
    uint64_t bitmap[(CELLS + 63) / 64] = {0};
    hk_area data, other;
    double *mine;
    size_t at, pushed, row;
    int me, size, right, left;
    hk_stride whole = {sizeof(double), ROWS, WIDTH * sizeof(double), WIDTH * sizeof(double)};
    hk_stride packed = {sizeof(double), ROWS, sizeof(double), WIDTH * sizeof(double)};
    hk_stride overlapping = {16, 2, 16, 8};

    OK(hk_init());
    me = hk_rank(), size = hk_size(), right = (me + 1) % size, left = (me + size - 1) % size;
    OK(hk_alloc(sizeof matrix, &data));
    mine = hk_local(data);
    for (at = 0; at < CELLS; at++) mine[at] = -1, matrix[at] = (double)(1000000 * me + (int)at);
    OK(hk_barrier());

    /* My last column becomes the neighbour's first one. */
    OK(hk_push_stride(matrix + WIDTH - 1, right, data, 0, whole));
    OK(hk_barrier());
    for (row = 0; row < ROWS; row++) {
        CHECK(mine[row * WIDTH] == 1000000 * left + (int)(row * WIDTH + WIDTH - 1));
        CHECK(mine[row * WIDTH + 1] == -1);
    }
    OK(hk_pull_stride(column, right, data, 0, packed));
    for (row = 0; row < ROWS; row++) CHECK(column[row] == 1000000 * me + (int)(row * WIDTH + WIDTH - 1));

    /* Every third unit. */
    for (at = 0; at < CELLS; at += 3) bitmap[at / 64] |= (uint64_t)1 << at % 64;
    OK(hk_barrier());
    OK(hk_push_bitmap(matrix, right, data, 0, bitmap, sizeof(double), CELLS));
    OK(hk_barrier());
    for (at = 0; at < CELLS; at++)
        CHECK(mine[at] == (at % 3 == 0 ? 1000000 * left + (int)at : at % WIDTH == 0 ? 1000000 * left + (int)at + WIDTH - 1 : -1));
    for (at = 0; at < CELLS; at++) matrix[at] = 0;
    OK(hk_pull_bitmap(matrix, right, data, 0, bitmap, sizeof(double), CELLS));
    for (at = 0; at < CELLS; at++) CHECK(matrix[at] == (at % 3 ? 0 : 1000000 * me + (int)at));
    OK(hk_barrier());

    /* All ranks change the matrix of rank 0, each its own elements. */
    for (at = 0; at < CELLS; at++) mine[at] = 0;
    OK(hk_barrier());
    OK(hk_pull_twin(matrix, 0, data, 0, sizeof matrix, twin));
    for (at = (size_t)me; at < CELLS; at += (size_t)size) matrix[at] = 1 + me;
    OK(hk_push_diff(matrix, 0, data, 0, sizeof matrix, twin, sizeof(double), &pushed));
    CHECK(pushed == (CELLS - (size_t)me + (size_t)size - 1) / (size_t)size);
    OK(hk_push_diff(matrix, 0, data, 0, sizeof matrix, twin, 1, &pushed));
    CHECK(pushed == 0);
    OK(hk_barrier());
    OK(hk_pull(matrix, 0, data, 0, sizeof matrix));
    for (at = 0; at < CELLS; at++) CHECK(matrix[at] == 1 + (int)(at % (size_t)size));

    /* What cannot be. */
    FAILS(HK_ERR_INVALID, hk_push_stride(matrix, right, data, 0, overlapping));
    SAYS("overlap");
    FAILS(HK_ERR_INVALID, hk_push_stride(NULL, right, data, 0, whole));
    FAILS(HK_ERR_BOUNDS, hk_push_stride(matrix, right, data, 8 * WIDTH, whole));
    FAILS(HK_ERR_BOUNDS, hk_push_bitmap(matrix, right, data, 8, bitmap, 8, CELLS));
    FAILS(HK_ERR_INVALID, hk_push_bitmap(matrix, right, data, 0, NULL, 8, CELLS));
    FAILS(HK_ERR_INVALID, hk_push_bitmap(matrix, right, data, 0, bitmap, 0, CELLS));
    FAILS(HK_ERR_INVALID, hk_push_bitmap(matrix, right, data, 0, bitmap, 8, SIZE_MAX));
    OK(hk_push_diff(matrix, right, data, 0, 0, twin, (size_t)1 << 60, &pushed));
    CHECK(pushed == 0);
    FAILS(HK_ERR_INVALID, hk_push_diff(matrix, right, data, 0, 12, twin, 8, NULL));
    FAILS(HK_ERR_INVALID, hk_push_diff(matrix, right, data, 0, 16, matrix, 8, NULL));
    FAILS(HK_ERR_INVALID, hk_pull_twin(matrix, right, data, 0, 16, (char *)matrix + 8));
    memset(&other, 0xff, sizeof other);
    GIVES(hk_push(matrix, right, other, 0, 8), hk_push_stride(matrix, right, other, 0, packed));
    OK(hk_pull_bitmap(NULL, right, data, sizeof matrix, NULL, 8, 0));
    OK(hk_barrier());
    OK(hk_finalize());
    return 0;
}
