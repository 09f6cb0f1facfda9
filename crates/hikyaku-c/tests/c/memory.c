/* Remote operations on symmetric memory, each rank on its right neighbour's. */
#include "check.h"

enum { BYTES = 100000 };

static unsigned char pattern(int rank, size_t i) { return (unsigned char)(i * 7 + i / 256 + (size_t)rank * 31); }

int main(void) {
    static unsigned char out[BYTES], in[BYTES];
    static const size_t sizes[] = {0, 1, 3, 7, 8, 9, 16, 17, 64, 100, 1000, 1023, 1024, 4097, 99000};
    hk_area data, flags;
    unsigned char *mine, *theirs;
    uint64_t before, value, *words;
    size_t i, s, bytes;
    int me, size, right, left;

    OK(hk_init());
    me = hk_rank(), size = hk_size(), right = (me + 1) % size, left = (me + size - 1) % size;
    OK(hk_alloc(BYTES, &data));
    OK(hk_alloc(64, &flags));
    mine = hk_local(data), words = hk_local(flags);
    CHECK(((size_t)mine & 63) == 0 && ((size_t)words & 63) == 0);
    OK(hk_area_size(data, &bytes));
    CHECK(bytes == BYTES);
    for (i = 0; i < BYTES; i++) {
        CHECK(mine[i] == 0);
        out[i] = pattern(me, i);
    }
    OK(hk_barrier());

    /* Every size, at an odd place; the flag tells when. */
    for (s = 0; s < sizeof sizes / sizeof *sizes; s++) {
        OK(hk_push_notify(out, right, data, 5, sizes[s], flags, 8, s + 1));
        OK(hk_wait(flags, 8, HK_AT_LEAST, s + 1, left, HK_FOREVER, &value));
        CHECK(value == s + 1);
        for (i = 0; i < sizes[s]; i++) CHECK(mine[5 + i] == pattern(left, i));
        memset(in, 0, sizeof in);
        OK(hk_pull(in, right, data, 5, sizes[s]));
        CHECK(memcmp(in, out, sizes[s]) == 0);
        OK(hk_barrier());
    }

    /* Push, then a word. */
    OK(hk_push(out, right, data, 1000, 4000));
    OK(hk_word(right, flags, 16, 77));
    OK(hk_wait(flags, 16, HK_NOT_EQUAL, 0, HK_ANYONE, 10000, &value));
    CHECK(value == 77);
    for (i = 0; i < 4000; i++) CHECK(mine[1000 + i] == pattern(left, i));
    OK(hk_barrier());

    /* By a path of one's own choice. */
    OK(hk_push_by(HK_PATH_WORD, out, right, data, 3, 8));
    OK(hk_push_by(HK_PATH_WINDOW, out + 8, right, data, 11, 1000));
    OK(hk_push_by(HK_PATH_BULK, out + 1008, right, data, 1011, BYTES - 1011));
    OK(hk_push_by(HK_PATH_WINDOW, NULL, right, data, 0, 0));
    OK(hk_word(right, flags, 16, 78));
    OK(hk_wait(flags, 16, HK_EQUAL, 78, left, HK_FOREVER, NULL));
    for (i = 0; i < BYTES - 3; i++) CHECK(mine[3 + i] == pattern(left, i));
    FAILS(HK_ERR_INVALID, hk_push_by(HK_PATH_WORD, out, right, data, 0, 9));
    FAILS(HK_ERR_INVALID, hk_push_by((hk_path)3, out, right, data, 0, 8));
    FAILS(HK_ERR_INVALID, hk_push_by(HK_PATH_BULK, NULL, right, data, 0, 8));
    FAILS(HK_ERR_BOUNDS, hk_push_by(HK_PATH_BULK, out, right, data, 1, BYTES));
    FAILS(HK_ERR_RANK, hk_push_by(HK_PATH_BULK, out, size, data, 0, 8));
    OK(hk_barrier());

    /* Completion status in own memory. */
    OK(hk_push_status(out, right, data, 0, BYTES, flags, 24, 5));
    OK(hk_wait(flags, 24, HK_EQUAL, 5, right, HK_FOREVER, NULL));
    memset(in, 0, sizeof in);
    OK(hk_pull_status(in, right, data, 0, BYTES, flags, 24, 6));
    OK(hk_poll(flags, 24, &value));
    CHECK(value == 6 && memcmp(in, out, BYTES) == 0);
    OK(hk_flush(right));
    OK(hk_sync());
    OK(hk_barrier());
    for (i = 0; i < BYTES; i++) CHECK(mine[i] == pattern(left, i));

    /* Addresses of the neighbour's memory. */
    CHECK(hk_address(me, data, 7) == mine + 7);
    theirs = hk_address(right, data, 7);
    if (theirs)
        CHECK(*theirs == pattern(me, 7));
    else
        SAYS("on another host");
    CHECK(hk_address(right, data, BYTES) == NULL && hk_address(size, data, 0) == NULL);
    OK(hk_barrier());

    /* Everybody tells rank 0, which waits for all at once. */
    OK(hk_push_notify_add(out, 0, data, 0, 8, flags, 40, 2));
    if (me == 0) OK(hk_wait(flags, 40, HK_AT_LEAST, 2 * (uint64_t)size, HK_ANYONE, HK_FOREVER, &value));
    OK(hk_barrier());

    /* Atomics, all on rank 0. */
    for (i = 0; i < 1000; i++) OK(hk_fetch_add(0, flags, 32, 1, &before));
    OK(hk_barrier());
    OK(hk_atomic(0, flags, 32, HK_ADD, 0, 0, &before));
    CHECK(before == 1000 * (uint64_t)size);
    OK(hk_barrier());
    if (me == 0) {
        OK(hk_atomic(0, flags, 32, HK_SWAP, 12, 0, &before));
        CHECK(before == 1000 * (uint64_t)size);
        OK(hk_atomic(0, flags, 32, HK_COMPARE_SWAP, 1, 13, &before));
        CHECK(before == 12 && words[4] == 12);
        OK(hk_atomic(0, flags, 32, HK_COMPARE_SWAP, 15, 12, &before));
        CHECK(before == 12 && words[4] == 15);
        OK(hk_atomic(0, flags, 32, HK_AND, 6, 0, NULL));
        CHECK(words[4] == 6);
        OK(hk_atomic(0, flags, 32, HK_OR, 9, 0, NULL));
        CHECK(words[4] == 15);
        OK(hk_atomic(0, flags, 32, HK_XOR, 10, 0, &before));
        CHECK(before == 15 && words[4] == 5);
    }
    /* Other numbers: two halves of one word, a signed one, a floating-point one. */
    OK(hk_barrier());
    for (i = 0; i < 100; i++) {
        OK(hk_fetch_add_u32(0, flags, 48, 1, NULL));
        OK(hk_fetch_add_u32(0, flags, 52, UINT32_MAX, NULL));
        OK(hk_fetch_add_i64(0, flags, 56, -3, NULL));
    }
    OK(hk_barrier());
    if (me == 0) {
        uint32_t half;
        int64_t word;
        double number;
        OK(hk_atomic_u32(0, flags, 48, HK_COMPARE_SWAP, 7, 100 * (uint32_t)size, &half));
        CHECK(half == 100 * (uint32_t)size);
        OK(hk_atomic_u32(0, flags, 52, HK_XOR, 0, 0, &half));
        CHECK(half == 0 - 100 * (uint32_t)size);
        OK(hk_atomic_i64(0, flags, 56, HK_SWAP, 0, 0, &word));
        CHECK(word == -300 * (int64_t)size);
        OK(hk_fetch_add_f64(0, flags, 56, 0.5, &number));
        OK(hk_fetch_add_f64(0, flags, 56, 0.25, &number));
        CHECK(number == 0.5);
    }
    OK(hk_free(data));
    OK(hk_free(flags));

    /* Freed memory comes back zeroed, and a thousand handles are no matter. */
    for (i = 0; i < 1000; i++) {
        OK(hk_alloc(4096, &data));
        CHECK(*(unsigned char *)hk_local(data) == 0);
        *(unsigned char *)hk_local(data) = 1;
        OK(hk_barrier());
        OK(hk_free(data));
    }
    OK(hk_finalize());
    return 0;
}
