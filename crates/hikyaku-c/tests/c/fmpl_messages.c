/* Send and receive: every mode, size and way, around a ring of all ranks (a rank alone talks to itself). */
#include "fmpl_check.h"

enum { SLOTS = 8, BYTES_MAX = 300000, SPARE = 1 << 20 };

static const size_t sizes[] = {0, 1, 8, 9, 64, 65, 4096, 8192, 8193, 100000, BYTES_MAX};
enum { SIZES = sizeof sizes / sizeof *sizes };

static int rank, size, next, before;
static unsigned char out[BYTES_MAX], in[BYTES_MAX + 1];

static unsigned char pattern(int from, size_t i, int salt) { return (unsigned char)(from * 31 + (int)(i % 251) + salt); }

static void fill(size_t bytes, int salt) {
    size_t i;
    for (i = 0; i < bytes; i++) out[i] = pattern(rank, i, salt);
    memset(in, 0xEE, sizeof in);
}

/* What came is exactly that, and nothing behind it was written. */
static void verify(size_t bytes, int from, int salt) {
    size_t i, count = 1;
    OK(fmpl_get_count(&count));
    GIVES(bytes, count);
    for (i = 0; i < bytes; i++) CHECK(in[i] == pattern(from, i, salt));
    CHECK(in[bytes] == 0xEE);
}

static void expect_last(int from, int index) {
    int got;
    OK(fmpl_get_source(&got));
    GIVES(from, got);
    OK(fmpl_get_index(&got));
    GIVES(index, got);
}

/* Everyone receives early, sends, and waits: works in every mode. */
static void early_receives(int salt) {
    int i, flag;
    for (i = 0; i < SIZES; i++) {
        fill(sizes[i], salt + i);
        OK(fmpl_irecv(in, BYTES_MAX, before, i % SLOTS, WORLD));
        FAILS(FMPL_ERR_BUSY, "in use", fmpl_irecv(in, BYTES_MAX, before, i % SLOTS, WORLD));
        OK(fmpl_isend(out, sizes[i], next, i % SLOTS, WORLD));
        OK(fmpl_irecv_wait(before, i % SLOTS, WORLD));
        verify(sizes[i], before, salt + i);
        expect_last(before, i % SLOTS);
        OK(fmpl_isend_wait(next, i % SLOTS, WORLD));

        /* The same by looking. */
        fill(sizes[i], salt + i + 100);
        OK(fmpl_irecv(in, sizes[i], before, 0, WORLD));
        OK(fmpl_isend(out, sizes[i], next, 0, WORLD));
        do OK(fmpl_irecv_test(before, 0, WORLD, &flag));
        while (!flag);
        verify(sizes[i], before, salt + i + 100);
        do OK(fmpl_isend_test(next, 0, WORLD, &flag));
        while (!flag);
    }
    /* Nothing under way has ended. */
    OK(fmpl_isend_wait(next, 0, WORLD));
    OK(fmpl_irecv_wait(before, 0, WORLD));
    OK(fmpl_isend_test(next, 0, WORLD, &flag));
    GIVES(1, flag);
}

/* Blocking calls, where the receiver is there sooner or later; the first rank sends first. */
static void blocking(int salt) {
    int i;
    if (size == 1) return;
    for (i = 0; i < SIZES; i++) {
        fill(sizes[i], salt + i);
        if (rank == 0) {
            OK(fmpl_send(out, sizes[i], next, 3, WORLD));
            OK(fmpl_recv(in, BYTES_MAX, before, 3, WORLD));
        } else {
            OK(fmpl_recv(in, sizes[i], before, 3, WORLD));
            OK(fmpl_send(out, sizes[i], next, 3, WORLD));
        }
        verify(sizes[i], before, salt + i);
        expect_last(before, 3);
    }
}

/* Everyone sends before anyone receives: only what is short, or copied aside, may be sent so. */
static void ahead(size_t bytes, int salt) {
    fill(bytes, salt);
    OK(fmpl_send(out, bytes, next, 5, WORLD));
    memset(out, 0, sizeof out);
    OK(fmpl_barrier(WORLD));
    OK(fmpl_recv(in, BYTES_MAX, before, 5, WORLD));
    verify(bytes, before, salt);
}

static void any_slot(void) {
    int flag = 1, slot;
    OK(fmpl_irecv(in, BYTES_MAX, before, FMPL_TAG_ANY, WORLD));
    FAILS(FMPL_ERR_BUSY, "any slot", fmpl_irecv(in, 8, before, FMPL_TAG_ANY, WORLD));
    OK(fmpl_irecv_test(before, FMPL_TAG_ANY, WORLD, &flag));
    GIVES(0, flag);
    OK(fmpl_barrier(WORLD));
    fill(77, 1);
    OK(fmpl_send(out, 77, next, 6, WORLD));
    do OK(fmpl_irecv_test(before, FMPL_TAG_ANY, WORLD, &flag));
    while (!flag);
    verify(77, before, 1);
    expect_last(before, 6);

    OK(fmpl_irecv(in, BYTES_MAX, before, FMPL_TAG_ANY, WORLD));
    fill(20000, 2);
    OK(fmpl_isend(out, 20000, next, 7, WORLD));
    OK(fmpl_irecv_wait(before, FMPL_TAG_ANY, WORLD));
    verify(20000, before, 2);
    expect_last(before, 7);
    OK(fmpl_isend_wait(next, 7, WORLD));
    OK(fmpl_irecv_wait(before, FMPL_TAG_ANY, WORLD));

    for (slot = 0; slot < 3; slot++) {
        fill(8, slot);
        OK(fmpl_send(out, 8, next, slot, WORLD));
        OK(fmpl_recv(in, BYTES_MAX, before, FMPL_TAG_ANY, WORLD));
        verify(8, before, slot);
        expect_last(before, slot);
    }
}

/* Everyone sends to the first rank, which does not know who comes when; each sender's messages keep their order. */
static void any_source(void) {
    int i, from, told[2], seen[64] = {0};
    if (rank != 0 || size == 1) {
        for (i = 0; i < 5; i++) {
            told[0] = rank, told[1] = i;
            OK(fmpl_send_any(told, sizeof told, 0, 2, WORLD));
            if (size > 1) continue;
            OK(fmpl_recv_any(told, sizeof told, 2, WORLD));
            CHECK(told[1] == i);
        }
        return;
    }
    for (i = 0; i < 5 * (size - 1); i++) {
        OK(fmpl_recv_any(told, sizeof told, 2, WORLD));
        OK(fmpl_get_source(&from));
        expect_last(told[0], 2);
        CHECK(told[1] == seen[from]++);
    }
}

static void truncated(void) {
    fill(100, 9);
    OK(fmpl_send(out, 100, next, 1, WORLD));
    FAILS(FMPL_ERR_TRUNCATED, "100 bytes", fmpl_recv(in, 99, before, 1, WORLD));
    CHECK(in[0] == 0xEE && in[98] == 0xEE);
    OK(fmpl_barrier(WORLD));
    /* A long one: both sides hear of it. */
    OK(fmpl_isend(out, 100000, next, 1, WORLD));
    FAILS(FMPL_ERR_TRUNCATED, "100000 bytes", fmpl_recv(in, 50000, before, 1, WORLD));
    FAILS(FMPL_ERR_TRUNCATED, "100000 bytes", fmpl_isend_wait(next, 1, WORLD));
    CHECK(in[0] == 0xEE);
}

static void spare(void) {
    int nsend = -1, nspool = -1, moved = 0;
    OK(fmpl_sendbuf_set(NULL, SPARE, 0));
    FAILS(FMPL_ERR_INVALID, "never fits", fmpl_send(out, SPARE + 1, next, 0, WORLD));
    fill(BYTES_MAX, 3);
    OK(fmpl_send(out, BYTES_MAX, next, 4, WORLD));
    OK(fmpl_send(out, BYTES_MAX, next, 4, WORLD));
    OK(fmpl_sendbuf_check(&nsend, &nspool));
    GIVES(0, nsend);
    GIVES(2, nspool);
    FAILS(FMPL_ERR_INVALID, "still lie", fmpl_sendbuf_set(NULL, 10, FMPL_SYNC));
    OK(fmpl_barrier(WORLD));
    OK(fmpl_recv(in, BYTES_MAX, before, 4, WORLD));
    verify(BYTES_MAX, before, 3);
    OK(fmpl_recv(in, BYTES_MAX, before, 4, WORLD));
    do {
        OK(fmpl_sendbuf_check(&nsend, &nspool));
        moved += nsend;
    } while (nspool);
    GIVES(2, moved);
    OK(fmpl_sendbuf_check(NULL, NULL));
    OK(fmpl_barrier(WORLD));
}

/* Both ways at once, in a circle; what has come is looked at, and not waited for longer than told. */
static void exchange(void) {
    size_t i, bytes = 7;
    int flag = 7;
    for (i = 0; i < SIZES; i++) {
        fill(sizes[i], 3);
        OK(fmpl_sendrecv(out, sizes[i], next, 1, in, BYTES_MAX, before, 1, WORLD));
        verify(sizes[i], before, 3);
        expect_last(before, 1);
        OK(fmpl_sendrecv_replace(out, sizes[i], next, 1, before, 1, WORLD));
        memcpy(in, out, sizes[i]);
        verify(sizes[i], before, 3);
        FAILS(FMPL_ERR_TIMEOUT, "", fmpl_recv_for(in, BYTES_MAX, before, 2, 1, WORLD));
        OK(fmpl_iprobe(before, 2, WORLD, &flag, &bytes));
        CHECK(flag == 0 && bytes == 7);
        OK(fmpl_barrier(WORLD));
        fill(sizes[i], 4);
        OK(fmpl_isend(out, sizes[i], next, 2, WORLD));
        OK(fmpl_probe(before, 2, WORLD, &bytes));
        GIVES(sizes[i], bytes);
        OK(fmpl_iprobe(before, 2, WORLD, &flag, NULL));
        GIVES(1, flag);
        OK(fmpl_recv_for(in, BYTES_MAX, before, 2, 100000, WORLD));
        verify(sizes[i], before, 4);
        OK(fmpl_isend_wait(next, 2, WORLD));
        bytes = 7;
    }
    FAILS(FMPL_ERR_INVALID, "overlap", fmpl_sendrecv(out, 8, next, 1, out, 8, before, 1, WORLD));
    FAILS(FMPL_ERR_RANK, "does not exist", fmpl_sendrecv(out, 8, 99, 1, in, 8, before, 1, WORLD));
    FAILS(FMPL_ERR_INDEX, "does not exist", fmpl_probe(before, 99, WORLD, &bytes));
    FAILS(FMPL_ERR_INVALID, "-1 is negative", fmpl_recv_for(in, 8, before, 2, -1, WORLD));
    FAILS(FMPL_ERR_INVALID, "null", fmpl_probe(before, 2, WORLD, NULL));
    OK(fmpl_barrier(WORLD));
}

int main(void) {
    size_t count = 1;
    OK(fmpl_init(NULL, NULL, SLOTS));
    OK(fmpl_comm_rank(WORLD, &rank));
    OK(fmpl_comm_size(WORLD, &size));
    next = (rank + 1) % size, before = (rank + size - 1) % size;
    OK(fmpl_get_count(&count));
    GIVES(0, count);
    expect_last(-1, -1);

    early_receives(0);
    blocking(10);
    ahead(8192, 20);
    any_slot();
    any_source();
    OK(fmpl_barrier(WORLD));
    exchange();
    truncated();

    OK(fmpl_sendbuf_set(NULL, 0, FMPL_SYNC));
    early_receives(30);
    blocking(40);

    spare();
    early_receives(50);
    blocking(60);
    ahead(BYTES_MAX, 70);

    OK(fmpl_sendbuf_set(out, SPARE, 20));
    blocking(80);
    ahead(BYTES_MAX, 90);

    do OK(fmpl_sendbuf_check(NULL, &size));
    while (size);
    OK(fmpl_sendbuf_set(NULL, 0, FMPL_STANDARD));
    ahead(64, 100);
    OK(fmpl_finalize());
    return 0;
}
