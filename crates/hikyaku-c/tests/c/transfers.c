/* Pushes and pulls that go on beside the program, each rank with its right neighbour. */
#include "check.h"

enum { BYTES = 300000, COUNT = 8 };

static unsigned char pattern(int rank, size_t i) { return (unsigned char)(i * 7 + i / 256 + (size_t)rank * 31); }

int main(void) {
    static unsigned char out[BYTES], in[COUNT][BYTES];
    hk_transfer push, pulls[COUNT], none = {0}, stale;
    hk_area data, flags;
    unsigned char *mine;
    int me, size, right, left, i, ended, seen[COUNT] = {0};
    size_t at, index;

    OK(hk_init());
    me = hk_rank(), size = hk_size(), right = (me + 1) % size, left = (me + size - 1) % size;
    OK(hk_alloc(2 * BYTES, &data));
    OK(hk_alloc(64, &flags));
    mine = hk_local(data);
    for (at = 0; at < BYTES; at++) mine[at] = out[at] = pattern(me, at);
    OK(hk_barrier());

    /* Several at once; waited for in three ways. */
    OK(hk_push_start(out, right, data, BYTES, BYTES, &push));
    for (i = 0; i < COUNT; i++) OK(hk_pull_start(in[i], right, data, 0, BYTES, &pulls[i]));
    stale = pulls[0];
    OK(hk_transfer_wait(&push, HK_FOREVER));
    CHECK(push.handle == 0);
    OK(hk_word(right, flags, 0, 1));
    OK(hk_wait(flags, 0, HK_EQUAL, 1, left, HK_FOREVER, NULL));
    for (at = 0; at < BYTES; at++) CHECK(mine[BYTES + at] == pattern(left, at));
    while ((ended = hk_transfer_test(&pulls[0])) == 0) {
    }
    CHECK(ended == 1 && pulls[0].handle == 0);
    GIVES(1, hk_transfer_test(&pulls[0]));
    OK(hk_transfer_wait(&pulls[0], 0));
    while ((ended = hk_transfer_wait(&pulls[1], 1)) == HK_ERR_TIMEOUT) {
    }
    OK(ended);
    OK(hk_transfer_wait_all());
    OK(hk_transfer_wait_all());
    for (i = 0; i < COUNT; i++)
        for (at = 0; at < BYTES; at++) CHECK(in[i][at] == pattern(right, at));

    /* Whichever ends first: each once, also those that have ended at once. */
    memset(in, 0, sizeof in);
    for (i = 0; i < COUNT; i++) OK(hk_pull_start(in[i], i % 2 ? right : me, data, 0, BYTES, &pulls[i]));
    for (i = 0; i < COUNT; i++) {
        index = COUNT + 1;
        while ((ended = hk_transfer_wait_any(pulls, COUNT, 1000, &index)) == HK_ERR_TIMEOUT) CHECK(index == COUNT + 1);
        OK(ended);
        CHECK(index < COUNT && !seen[index] && pulls[index].handle == 0);
        seen[index] = 1;
        for (at = 0; at < BYTES; at++) CHECK(in[index][at] == pattern(index % 2 ? right : me, at));
    }
    OK(hk_transfer_wait_any(pulls, COUNT, HK_FOREVER, &index));
    CHECK(index == COUNT);
    OK(hk_transfer_wait_any(NULL, 0, HK_FOREVER, &index));
    CHECK(index == 0);
    FAILS(HK_ERR_INVALID, hk_transfer_wait_any(NULL, 1, 0, &index));
    FAILS(HK_ERR_INVALID, hk_transfer_wait_any(pulls, COUNT, 0, NULL));
    FAILS(HK_ERR_INVALID, hk_transfer_wait_any(pulls, (size_t)-1, 0, &index));
    pulls[2].handle = 99;
    FAILS(HK_ERR_INVALID, hk_transfer_wait_any(pulls, COUNT, 0, &index));
    CHECK(pulls[2].handle == 99);

    /* What has ended, and what cannot be. */
    /* What ended at once, which 1 stands for, is not known any more by any number. */
    if (stale.handle != 1) FAILS(HK_ERR_INVALID, hk_transfer_wait(&stale, 1));
    GIVES(1, hk_transfer_test(&none));
    FAILS(HK_ERR_INVALID, hk_transfer_test(NULL));
    FAILS(HK_ERR_INVALID, hk_transfer_wait(NULL, 1));
    FAILS(HK_ERR_INVALID, hk_push_start(out, right, data, 0, 1, NULL));
    FAILS(HK_ERR_INVALID, hk_pull_start(NULL, right, data, 0, 1, &push));
    FAILS(HK_ERR_BOUNDS, hk_pull_start(in[0], right, data, 2 * BYTES, 1, &push));
    FAILS(HK_ERR_RANK, hk_push_start(out, size, data, 0, 1, &push));
    OK(hk_push_start(NULL, right, data, 0, 0, &push));
    CHECK(push.handle != 0);
    GIVES(1, hk_transfer_test(&push));

    /* Left alone: the barrier waits for it. Before, all have read what it overwrites. */
    OK(hk_barrier());
    OK(hk_push_start(out, right, data, 0, BYTES, &push));
    OK(hk_barrier());
    for (at = 0; at < BYTES; at++) CHECK(mine[at] == pattern(left, at));
    OK(hk_barrier());
    OK(hk_finalize());
    return 0;
}
