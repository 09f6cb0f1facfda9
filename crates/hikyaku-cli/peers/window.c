/*
 * One-sided operations.
 *
 *     put            ping-pong of MPI_Put, the target watches memory
 *                    and copies the data out                           one-way ns
 *     get            MPI_Get and flush                                 ns each
 *     fetch_add      MPI_Fetch_and_op and flush                        ns each
 *     put_bandwidth  MPI_Put and flush                                 GB/s
 *     put_stride     MPI_Put of every second word (vector), and flush  GB/s of the range
 *     put_marked     MPI_Put of half of the words (indexed), and flush GB/s of the range
 *     get_bandwidth  MPI_Get and flush                                 GB/s
 *     get_stride     MPI_Get of every second word (vector), and flush  GB/s of the range
 *     get_marked     MPI_Get of half of the words (indexed), and flush GB/s of the range
 *     locked_add     both ranks: MPI_Win_lock, exclusive, MPI_Get, flush,
 *                    MPI_Put, MPI_Win_unlock                           ns each
 */
#include "bench.h"

enum { LINE_WORDS = 8 };

static MPI_Win window;
static long spins_per_call = 1024; /* how often a waiting target calls into MPI */
static uint64_t *taken;            /* what a target copies out of its window */

/* The window holds the slots, then a flag on a cache line of its own. */
static size_t flag_word(void) {
    return (words * slots + 2 * LINE_WORDS - 1) / LINE_WORDS * LINE_WORDS;
}

/* MPI_Win_allocate lets the implementation take memory that both ranks map. */
static void open_window(void) {
    size_t word_count = flag_word() + LINE_WORDS;
    int *model, found;
    outbox = allocate(words * slots);
    MPI_Win_allocate(word_count * 8, 8, MPI_INFO_NULL, MPI_COMM_WORLD, &inbox, &window);
    MPI_Win_get_attr(window, MPI_WIN_MODEL, &model, &found);
    if (!found || *model != MPI_WIN_UNIFIED) die("the window has no unified memory model");
    MPI_Win_lock_all(MPI_MODE_NOCHECK, window);
    memset(inbox, 0, word_count * 8);
}

static void close_window(void) {
    MPI_Win_unlock_all(window);
    MPI_Win_free(&window);
    free(outbox);
}

/* Direct stores to the own window become visible to the others. */
static void publish(void) {
    MPI_Win_sync(window);
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Win_sync(window);
}

static void put(const uint64_t *data, size_t count, MPI_Aint at) {
    MPI_Put(data, count, MPI_UINT64_T, peer, at, count, MPI_UINT64_T, window);
    MPI_Win_flush(peer, window);
}

/* A single word is its own flag. Anything longer is followed by a flag, after a flush: MPI keeps
 * no order between puts, nor within one. */
static void push(uint64_t value) {
    mark(outbox, value);
    put(outbox, words, 0);
    if (words > 1) put(&value, 1, flag_word());
}

/* In the unified model a plain load sees the put in time. Some implementations store to the
 * target's memory and are slowed down by a target that calls into MPI, others need such calls to
 * make progress: `choose_spins` finds out. */
static void await(uint64_t value) {
    const volatile uint64_t *flag = words > 1 ? inbox + flag_word() : inbox;
    for (long spins = 1; *flag != value; spins++) {
        int found;
        if (spins % spins_per_call) continue;
        MPI_Win_sync(window);
        MPI_Iprobe(MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &found, MPI_STATUS_IGNORE);
    }
    MPI_Win_sync(window);
    expect_mark(inbox, value);
}

static double run_put(long rounds) {
    fill(outbox, rank, 0);
    memset(inbox, 0, words * 8);
    publish();
    double begin = now();
    for (long round = 0; round < rounds; round++, stamp += 2) {
        if (rank == 0) push(stamp);
        await(stamp + peer);
        memcpy(taken, inbox, words * 8); /* data that nobody looks at have not come */
        if (rank == 1) push(stamp + 1);
    }
    double seconds = now() - begin;
    expect_pattern(taken, peer, 0);
    return seconds;
}

/* The origin walks over all slots, so that every operation has an answer of its own. */
static double run_get(long rounds) {
    for (int slot = 0; slot < slots; slot++) {
        fill(inbox + slot * words, rank, slot);
        mark(inbox + slot * words, stamp + slot);
    }
    memset(outbox, 0, words * slots * 8);
    publish();
    double begin = now();
    for (long round = 0; rank == 0 && round < rounds; round++) {
        int slot = round % slots;
        uint64_t *into = outbox + slot * words;
        mark(into, 0);
        MPI_Get(into, words, MPI_UINT64_T, peer, slot * words, words, MPI_UINT64_T, window);
        MPI_Win_flush(peer, window);
        expect_mark(into, stamp + slot);
    }
    double seconds = now() - begin;
    for (int slot = 0; rank == 0 && slot < slots && slot < rounds; slot++)
        expect_pattern(outbox + slot * words, peer, slot);
    stamp += slots;
    MPI_Barrier(MPI_COMM_WORLD);
    return seconds;
}

static double run_put_bandwidth(long rounds) {
    fill(outbox, rank, 0);
    memset(inbox, 0, words * 8);
    publish();
    double begin = now();
    for (long round = 0; rank == 0 && round < rounds; round++) {
        mark(outbox, stamp + round);
        put(outbox, words, 0);
    }
    double seconds = now() - begin;
    publish();
    stamp += rounds;
    if (rank == 1) {
        expect_mark(inbox, stamp - 1);
        expect_pattern(inbox, 0, 0);
    }
    return seconds;
}

static double run_get_bandwidth(long rounds) {
    fill(inbox, rank, 0);
    memset(outbox, 0, words * 8);
    publish();
    double begin = now();
    for (long round = 0; rank == 0 && round < rounds; round++) {
        MPI_Get(outbox, words, MPI_UINT64_T, peer, 0, words, MPI_UINT64_T, window);
        MPI_Win_flush(peer, window);
    }
    double seconds = now() - begin;
    publish();
    if (rank == 0) expect_pattern(outbox, peer, 0);
    return seconds;
}

static double run_fetch_add(long rounds) {
    const int64_t one = 1;
    inbox[0] = stamp;
    publish();
    double begin = now();
    for (long round = 0; rank == 0 && round < rounds; round++) {
        int64_t before = -1;
        MPI_Fetch_and_op(&one, &before, MPI_INT64_T, peer, 0, MPI_SUM, window);
        MPI_Win_flush(peer, window);
        if (before != (int64_t)stamp + round) die("wrong sum: expected %lld, found %lld",
            (long long)stamp + round, (long long)before);
    }
    double seconds = now() - begin;
    publish();
    stamp += rounds;
    if (rank == 1 && inbox[0] != stamp) die("wrong sum at the target");
    return seconds;
}

static double run_put_parts(long rounds) {
    for (size_t i = 0; i < words; i++) outbox[i] = stamp + i;
    memset(inbox, 0, words * 8);
    publish();
    double begin = now();
    for (long round = 0; rank == 0 && round < rounds; round++) {
        MPI_Put(outbox, 1, parts, peer, 0, 1, parts, window);
        MPI_Win_flush(peer, window);
    }
    double seconds = now() - begin;
    publish();
    for (size_t i = 0; rank == 1 && i < words; i++)
        if (inbox[i] != (travels[i] ? stamp + i : 0)) die("word %lu was damaged", (unsigned long)i);
    stamp += words;
    publish();
    return seconds;
}

static double run_get_parts(long rounds) {
    for (size_t i = 0; i < words; i++) inbox[i] = stamp + i;
    memset(outbox, 0, words * 8);
    publish();
    double begin = now();
    for (long round = 0; rank == 0 && round < rounds; round++) {
        MPI_Get(outbox, 1, parts, peer, 0, 1, parts, window);
        MPI_Win_flush(peer, window);
    }
    double seconds = now() - begin;
    for (size_t i = 0; rank == 0 && i < words; i++)
        if (outbox[i] != (travels[i] ? stamp + i : 0)) die("word %lu was damaged", (unsigned long)i);
    stamp += words;
    publish();
    return seconds;
}

static void open_stride(void) {
    open_window();
    choose_every_second();
}

static void open_marked(void) {
    open_window();
    choose_half();
}

static void close_parts(void) {
    forget_parts();
    close_window();
}

/* A window of its own: the others are locked all the time. */
static MPI_Win locked;
static uint64_t *counter;

static void open_locked_add(void) {
    if (words != 1) die("locked_add works on 8 bytes");
    outbox = allocate(1);
    MPI_Win_allocate(8, 8, MPI_INFO_NULL, MPI_COMM_WORLD, &counter, &locked);
    *counter = 0;
    MPI_Barrier(MPI_COMM_WORLD);
}

static void add_locked(void) {
    uint64_t value;
    MPI_Win_lock(MPI_LOCK_EXCLUSIVE, 1, 0, locked);
    MPI_Get(&value, 1, MPI_UINT64_T, 1, 0, 1, MPI_UINT64_T, locked);
    MPI_Win_flush(1, locked);
    value++;
    MPI_Put(&value, 1, MPI_UINT64_T, 1, 0, 1, MPI_UINT64_T, locked);
    MPI_Win_unlock(1, locked);
}

static uint64_t read_locked(void) {
    uint64_t value;
    MPI_Win_lock(MPI_LOCK_EXCLUSIVE, 1, 0, locked);
    MPI_Get(&value, 1, MPI_UINT64_T, 1, 0, 1, MPI_UINT64_T, locked);
    MPI_Win_unlock(1, locked);
    return value;
}

static double run_locked_add(long rounds) {
    uint64_t before = read_locked();
    MPI_Barrier(MPI_COMM_WORLD);
    double begin = now();
    for (long round = 0; round < rounds; round++) add_locked();
    MPI_Barrier(MPI_COMM_WORLD);
    double seconds = now() - begin;
    if (read_locked() - before != 2 * (uint64_t)rounds) die("two were inside at once");
    MPI_Barrier(MPI_COMM_WORLD);
    return seconds;
}

static void close_locked_add(void) {
    MPI_Win_free(&locked);
    free(outbox);
}

/* Takes the number of spins between two calls into MPI that suits this implementation best. */
static void choose_spins(void) {
    const struct test *test = &window_tests[0];
    const long candidates[] = {16, 1024}, rounds = 500;
    double best = 1e9;
    long best_spins = candidates[1];
    for (int i = 0; i < 2; i++) {
        spins_per_call = candidates[i];
        run(test, rounds);
        double seconds = run(test, rounds);
        if (seconds < best) best = seconds, best_spins = spins_per_call;
    }
    spins_per_call = best_spins;
}

static void open_put(void) {
    open_window();
    taken = allocate(words);
    choose_spins();
}

static void close_put(void) {
    close_window();
    free(taken);
}

static void open_fetch_add(void) {
    if (words != 1) die("fetch_add works on 8 bytes");
    open_window();
}

const struct test window_tests[] = {
    {"put", "ns", 1, 0, 2, open_put, run_put, close_put},
    {"get", "ns", 1, 1, 1, open_window, run_get, close_window},
    {"fetch_add", "ns", 1, 0, 1, open_fetch_add, run_fetch_add, close_window},
    {"put_bandwidth", "GB/s", 1, 0, 1, open_window, run_put_bandwidth, close_window},
    {"put_stride", "GB/s", 1, 0, 1, open_stride, run_put_parts, close_parts},
    {"put_marked", "GB/s", 1, 0, 1, open_marked, run_put_parts, close_parts},
    {"get_bandwidth", "GB/s", 1, 0, 1, open_window, run_get_bandwidth, close_window},
    {"get_stride", "GB/s", 1, 0, 1, open_stride, run_get_parts, close_parts},
    {"get_marked", "GB/s", 1, 0, 1, open_marked, run_get_parts, close_parts},
    {"locked_add", "ns", 1, 0, 2, open_locked_add, run_locked_add, close_locked_add},
    {0},
};
