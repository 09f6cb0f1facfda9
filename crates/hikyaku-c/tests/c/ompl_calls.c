/* Every call of ompl.h, in jobs of any size: before, between and after init and finalize, and again in a second job. */
#include "ompl_check.h"

static const int codes[] = {
    OMPL_SUCCESS, OMPL_ERR_PEER_DEAD, OMPL_ERR_PEER_LEFT, OMPL_ERR_PEER_MISBEHAVED, OMPL_ERR_REFUSED,
    OMPL_ERR_UNREACHABLE, OMPL_ERR_RANK, OMPL_ERR_BOUNDS, OMPL_ERR_ALIGNMENT, OMPL_ERR_INVALID, OMPL_ERR_IN_HANDLER,
    OMPL_ERR_FORKED, OMPL_ERR_MISMATCH, OMPL_ERR_NOT_STARTED, OMPL_ERR_STARTED, OMPL_ERR_THREAD, OMPL_ERR_PORTS,
    OMPL_ERR_MEMORY, OMPL_ERR_START, OMPL_ERR_SYSTEM, OMPL_ERR_INTERNAL,
};

/* Every call that needs a job. */
static void everything_gives(int code) {
    FAILS(code, ompl_finalize());
    CHECK(ompl_base() == NULL);
    FAILS(code, ompl_rank());
    FAILS(code, ompl_size());
    FAILS(code, ompl_put(0, 0, 64, 8));
    FAILS(code, ompl_get(0, 0, 64, 8));
    FAILS(code, ompl_put_word(0, 0));
    FAILS(code, ompl_wait(0));
    FAILS(code, ompl_poll(0));
}

/* Offsets: a flag per rank, two more flags, then what is sent and what arrives, of LONG bytes each, for each rank. */
enum { FLAGS = 0, BACK = 4096, READY = 4160, HERE = 8192, LONG = 300000 };

static void use(void) {
    const uint32_t me = (uint32_t)ompl_rank(), size = (uint32_t)ompl_size();
    const uint32_t right = (me + 1) % size, left = (me + size - 1) % size;
    const uint64_t there = HERE + LONG;
    const size_t lengths[] = {0, 1, 7, 8, 64, 100, 4096, 65537, LONG};
    unsigned char *base = ompl_base();
    size_t turn, i;
    CHECK(base != NULL && (uintptr_t)base % 64 == 0);
    for (turn = 0; turn < sizeof lengths / sizeof *lengths; turn++) {
        const size_t length = lengths[turn];
        for (i = 0; i < length; i++) base[HERE + i] = (unsigned char)(me * 31 + turn * 7 + i);
        OK(ompl_put(HERE, right, there, length));
        memset(base + HERE, 0xEE, length); /* it is ours again */
        OK(ompl_put_word(right, FLAGS + 8 * me));
        OK(ompl_wait(FLAGS + 8 * left));
        for (i = 0; i < length; i++) CHECK(base[there + i] == (unsigned char)(left * 31 + turn * 7 + i));
        CHECK(base[there + length] == 0);
        /* Clear again, and read back what the right one has got. */
        GIVES(0, ompl_poll(FLAGS + 8 * left));
        OK(ompl_get(HERE, right, there, length));
        for (i = 0; i < length; i++) CHECK(base[HERE + i] == (unsigned char)(me * 31 + turn * 7 + i));
        /* The right one has been read, so it may clear its bytes; it says when it has. */
        OK(ompl_put_word(right, BACK));
        while (ompl_poll(BACK) == 0) continue;
        GIVES(0, ompl_poll(BACK));
        memset(base + there, 0, length);
        OK(ompl_put_word(left, READY));
        OK(ompl_wait(READY));
    }
    /* Setting it twice is the same as once. */
    OK(ompl_put_word(me, 2048));
    OK(ompl_put_word(me, 2048));
    GIVES(1, ompl_poll(2048));
    GIVES(0, ompl_poll(2048));
}

static void misuse(uint64_t bytes) {
    const uint32_t me = (uint32_t)ompl_rank(), size = (uint32_t)ompl_size();
    unsigned char *base = ompl_base();
    FAILS(OMPL_ERR_STARTED, ompl_init(bytes));
    SAYS("ompl_init");
    FAILS(OMPL_ERR_RANK, ompl_put(0, size, 64, 8));
    SAYS("does not exist");
    FAILS(OMPL_ERR_RANK, ompl_get(0, size, 64, 8));
    FAILS(OMPL_ERR_RANK, ompl_put(0, UINT32_MAX, 64, 8));
    FAILS(OMPL_ERR_RANK, ompl_put_word(size, 0));
    FAILS(OMPL_ERR_BOUNDS, ompl_put(bytes - 7, 0, 64, 8));
    FAILS(OMPL_ERR_BOUNDS, ompl_put(64, 0, bytes - 7, 8));
    FAILS(OMPL_ERR_BOUNDS, ompl_put(0, 0, 64, bytes));
    FAILS(OMPL_ERR_BOUNDS, ompl_put(UINT64_MAX, 0, 64, 8));
    FAILS(OMPL_ERR_BOUNDS, ompl_put(64, 0, UINT64_MAX - 3, 8));
    FAILS(OMPL_ERR_BOUNDS, ompl_put(0, 0, 64, SIZE_MAX));
    FAILS(OMPL_ERR_BOUNDS, ompl_get(bytes - 7, 0, 64, 8));
    FAILS(OMPL_ERR_BOUNDS, ompl_get(64, 0, bytes - 7, 8));
    FAILS(OMPL_ERR_BOUNDS, ompl_get(0, 0, 64, SIZE_MAX));
    FAILS(OMPL_ERR_BOUNDS, ompl_put_word(0, bytes + 8 - bytes % 8));
    FAILS(OMPL_ERR_BOUNDS, ompl_put_word(0, bytes - bytes % 8));
    FAILS(OMPL_ERR_ALIGNMENT, ompl_put_word(0, 4));
    FAILS(OMPL_ERR_BOUNDS, ompl_wait(bytes + 8 - bytes % 8));
    FAILS(OMPL_ERR_ALIGNMENT, ompl_wait(1));
    FAILS(OMPL_ERR_BOUNDS, ompl_poll(bytes + 8 - bytes % 8));
    FAILS(OMPL_ERR_ALIGNMENT, ompl_poll(7));
    FAILS(OMPL_ERR_INVALID, ompl_put(0, me, 4, 8));
    SAYS("overlap");
    FAILS(OMPL_ERR_INVALID, ompl_get(8, me, 1, 8));
    FAILS(OMPL_ERR_INVALID, ompl_put(8, me, 8, 1));
    /* Side by side, empty at the very end, and the last byte. */
    memcpy(base + 1024, "sixteen bytes...", 16);
    OK(ompl_put(1024, me, 1040, 16));
    CHECK(memcmp(base + 1040, "sixteen bytes...", 16) == 0);
    OK(ompl_put(bytes, me, bytes, 0));
    OK(ompl_put(bytes - 1, me, 1024, 1));
}

int main(void) {
    const uint64_t bytes = HERE + 2 * LONG + 5;
    size_t i;
    int round;
    for (i = 0; i < sizeof codes / sizeof *codes; i++) CHECK(ompl_strerror(codes[i]) != ompl_strerror(-1000));
    CHECK(ompl_strerror(1) == ompl_strerror(-1000) && strstr(ompl_strerror(-1000), "OMPL"));
    CHECK(strcmp(ompl_last_error(), "") == 0);
    everything_gives(OMPL_ERR_NOT_STARTED);
    SAYS("ompl_init");
    for (round = 0; round < 3; round++) {
        OK(ompl_init(bytes));
        use();
        misuse(bytes);
        OK(ompl_finalize());
        everything_gives(OMPL_ERR_NOT_STARTED);
        /* A job of several ranks is left for good. */
        if (getenv("HIKYAKU_RANK") || getenv("PMIX_RANK") || getenv("PMI_RANK")) break;
    }
    return 0;
}
