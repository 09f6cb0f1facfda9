/*
 * Ping-pong between two ranks: each push carries its bytes and then a word that tells they are there. Checks every
 * byte and prints the time of one way.
 *
 * Build and run, in the root of the repository:
 *
 *     cargo build --release --workspace
 *     cc -O2 -o pingpong examples/c/pingpong.c $(PKG_CONFIG_PATH=$PWD/pkgconfig pkg-config --cflags --libs hikyaku)
 *     target/release/hikyaku run -n 2 -- ./pingpong
 */
#include <hikyaku.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { BYTES_MAX = 65536, ROUNDS = 10000, WARM_UP = 1000 };

static void check(int code) {
    if (code < 0) {
        fprintf(stderr, "pingpong: %s\n", hk_last_error());
        exit(1);
    }
}

static double now_us(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec * 1e6 + (double)t.tv_nsec / 1e3;
}

/* What the buffer holds in a round: the first and the last byte change with it. */
static void fill(unsigned char *buffer, size_t bytes, unsigned round) {
    buffer[0] = buffer[bytes - 1] = (unsigned char)round;
}

static void verify(const unsigned char *buffer, const unsigned char *expected, size_t bytes, unsigned round) {
    if (memcmp(buffer, expected, bytes) != 0) {
        fprintf(stderr, "pingpong: wrong bytes in round %u of %zu bytes\n", round, bytes);
        exit(1);
    }
}

int main(void) {
    static unsigned char out[BYTES_MAX];
    hk_sym data, flag;
    unsigned char *in;
    size_t bytes, i;
    uint64_t turn = 0;

    check(hk_init());
    if (hk_size() != 2) {
        fprintf(stderr, "pingpong: needs 2 ranks, has %d: hikyaku run -n 2 -- ./pingpong\n", hk_size());
        return 1;
    }
    check(hk_alloc(BYTES_MAX, &data));
    check(hk_alloc(8, &flag));
    in = hk_local(data);
    for (i = 0; i < BYTES_MAX; i++) out[i] = (unsigned char)(i * 7);

    for (bytes = 8; bytes <= BYTES_MAX; bytes *= 8) {
        int me = hk_rank(), peer = 1 - me;
        unsigned round;
        double begin = 0;
        check(hk_barrier());
        for (round = 0; round < ROUNDS + WARM_UP; round++) {
            if (round == WARM_UP) begin = now_us();
            fill(out, bytes, round);
            turn++;
            if (me == 0) check(hk_push_notify(out, peer, data, 0, bytes, flag, 0, turn));
            check(hk_wait(flag, 0, HK_EQUAL, turn, peer, HK_FOREVER, NULL));
            verify(in, out, bytes, round);
            if (me == 1) check(hk_push_notify(out, peer, data, 0, bytes, flag, 0, turn));
        }
        if (me == 0) printf("%6zu bytes: %8.3f us one way\n", bytes, (now_us() - begin) / (2.0 * ROUNDS));
    }
    check(hk_barrier());
    return hk_finalize() == HK_SUCCESS ? 0 : 1;
}
