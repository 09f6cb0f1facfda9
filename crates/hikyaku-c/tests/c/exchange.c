/* Message exchange: buffers at each receiver, messages by sender and tag. */
#include "check.h"
#include <stdlib.h>
#include <string.h>

enum { TURNS = 200, LONG = 200000 };

static size_t length_of(int turn) {
    return turn % 50 == 49 ? LONG : (size_t)(turn * 37 % 3000);
}

static void fill(unsigned char *data, int rank, int turn) {
    for (size_t at = 0; at < length_of(turn); at++) data[at] = (unsigned char)(at * 7 + (size_t)rank * 13 + (size_t)turn);
}

static void send_all(unsigned char *data) {
    for (int turn = 0; turn < TURNS; turn++) {
        fill(data, hk_rank(), turn);
        OK(hk_exchange_send(data, length_of(turn), 0, (uint64_t)turn % 3));
    }
}

/* Of each sender in the order in which it has sent. */
static void receive_all(unsigned char *data, unsigned char *wanted) {
    for (int turn = 0; turn < TURNS; turn++) {
        for (int rank = 1; rank < hk_size(); rank++) {
            hk_matched matched = {0};
            uint64_t ignored = turn % 2 ? HK_ANY_KEY : 0;
            OK(hk_exchange_recv(data, LONG, rank, (uint64_t)turn % 3, ignored, -1, &matched));
            CHECK(matched.rank == rank && matched.key == (uint64_t)turn % 3 && matched.size == length_of(turn));
            fill(wanted, rank, turn);
            CHECK(memcmp(data, wanted, matched.size) == 0);
        }
    }
    FAILS(HK_ERR_TIMEOUT, hk_exchange_recv(data, LONG, 0, 9, 0, 1, NULL));
}

/* The same by each engine. */
static void use(int (*open)(size_t, size_t), unsigned char *data, unsigned char *wanted) {
    OK(open(0, 0));
    FAILS(HK_ERR_INVALID, open(0, 0));
    if (hk_rank() == 0)
        receive_all(data, wanted);
    else
        send_all(data);
    hk_matched matched = {0};
    CHECK(hk_exchange_iprobe(hk_rank(), 5, 0, &matched) == 0);
    OK(hk_exchange_send("to itself", 9, hk_rank(), 5));
    CHECK(hk_exchange_iprobe(hk_rank(), 5, 0, &matched) == 1 && matched.size == 9);
    CHECK(hk_exchange_recv(data, 3, hk_rank(), 5, 0, -1, NULL) < 0);
    OK(hk_exchange_send("again", 5, hk_rank(), 5));
    OK(hk_exchange_recv(data, LONG, HK_ANYONE, 0, HK_ANY_KEY, -1, &matched));
    CHECK(matched.size == 5 && memcmp(data, "again", 5) == 0);
    OK(hk_exchange_close());
}

int main(void) {
    OK(hk_init());
    unsigned char *data = malloc(LONG), *wanted = malloc(LONG);
    CHECK(data && wanted);
    FAILS(HK_ERR_INVALID, hk_exchange_send(data, 1, 0, 0));
    FAILS(HK_ERR_INVALID, hk_exchange_close());
    for (int engine = 0; engine < 2; engine++) use(engine ? hk_exchange_open_packets : hk_exchange_open, data, wanted);
    OK(hk_exchange_open(10, 4096));
    OK(hk_exchange_close());
    free(data);
    free(wanted);
    OK(hk_finalize());
    return 0;
}
