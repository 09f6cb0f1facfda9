/* Messages by rank and tag: the same program by each engine. */
#include "check.h"

enum { TURNS = 60, LONG = 100000, SLOTS = 4 };

static size_t length_of(int turn) { return turn % 20 == 19 ? LONG : (size_t)(turn * 37 % 3000); }

static void fill(unsigned char *data, int rank, int turn) {
    size_t at;
    for (at = 0; at < length_of(turn); at++) data[at] = (unsigned char)(at * 7 + (size_t)rank * 13 + (size_t)turn);
}

static void use(hk_engine engine) {
    static unsigned char data[LONG], wanted[LONG];
    int me = hk_rank(), size = hk_size(), turn, rank;
    size_t got;

    FAILS(HK_ERR_INVALID, hk_passing_send(data, 1, 0, 0));
    FAILS(HK_ERR_INVALID, hk_passing_close());
    FAILS(HK_ERR_INVALID, hk_passing_open((hk_engine)4, 0));
    OK(hk_passing_open(engine, SLOTS));
    FAILS(HK_ERR_INVALID, hk_passing_open(engine, SLOTS));
    for (turn = 0; turn < TURNS; turn++) {
        uint64_t tag = (uint64_t)turn % SLOTS;
        if (me > 0) {
            fill(data, me, turn);
            OK(hk_passing_send(data, length_of(turn), 0, tag));
        }
        for (rank = 1; me == 0 && rank < size; rank++) {
            if (turn % 2) {
                OK(hk_passing_probe(rank, tag, &got));
                CHECK(got == length_of(turn));
            }
            got = 1;
            OK(hk_passing_recv(data, LONG, rank, tag, turn % 3 ? HK_FOREVER : 60000, &got));
            fill(wanted, rank, turn);
            CHECK(got == length_of(turn) && memcmp(data, wanted, got) == 0);
        }
    }

    /* What cannot be. */
    FAILS(HK_ERR_RANK, hk_passing_send(data, 1, size, 0));
    FAILS(HK_ERR_RANK, hk_passing_recv(data, 1, size, 0, 1, NULL));
    FAILS(HK_ERR_INVALID, hk_passing_send(NULL, 1, 0, 0));
    if (engine == HK_ENGINE_SLOTS) FAILS(HK_ERR_INVALID, hk_passing_send(data, 1, 0, SLOTS));
    if (size > 1) {
        FAILS(HK_ERR_TIMEOUT, hk_passing_recv(data, 1, (me + 1) % size, 3, 1, NULL));
        if (me == 0) OK(hk_passing_send("four", 4, 1, 2));
        if (me == 1) FAILS(HK_ERR_TRUNCATED, hk_passing_recv(data, 3, 0, 2, HK_FOREVER, NULL));
    }
    OK(hk_passing_close());
}

int main(void) {
    OK(hk_init());
    use(HK_ENGINE_SLOTS);
    use(HK_ENGINE_MATCHED);
    use(HK_ENGINE_EXCHANGE);
    use(HK_ENGINE_PACKETS);
    /* One that is not closed ends with the job. */
    OK(hk_passing_open(HK_ENGINE_MATCHED, 0));
    OK(hk_barrier());
    OK(hk_finalize());
    return 0;
}
