/*
 * The work of `hikyaku bench`, done by MPI.
 *
 *     mpi TEST [BYTES] [ROUNDS]
 *
 *     send           ping-pong of MPI_Send and MPI_Recv                one-way ns
 *     put            ping-pong of MPI_Put, the target watches memory   one-way ns
 *     get            MPI_Get and flush                                 ns each
 *     fetch_add      MPI_Fetch_and_op and flush                        ns each
 *     rate           windows of 64 messages, one way, then an answer   million/s
 *     bandwidth      the same with larger messages, 4 MB in flight     GB/s
 *     put_bandwidth  MPI_Put and flush                                 GB/s
 *     barrier        MPI_Barrier, any number of ranks                  us each
 *     start          MPI_Init and MPI_Finalize; prints nothing, the caller holds the clock
 *
 * Rank 0 prints one line of JSON per repetition. Plain MPI-3, so that the same file serves every
 * implementation. Where MPI offers several ways to do the same work, the fastest correct one is
 * taken: a comparison with a peer that was held back is worth nothing.
 *
 * Every message carries a stamp in its first and last word which never repeats, and the receiver
 * checks it inside the timed section (two loads). The words between are filled anew before each
 * repetition and checked in full after it, outside the timed section.
 */
#include <mpi.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

enum { REPETITIONS = 7, OUTSTANDING_MAX = 64, STREAM_BYTES = 4 << 20, LINE_WORDS = 8 };
static const double REPETITION_S = 0.040, CALIBRATION_S = 0.008;

static int rank, ranks, peer;
static size_t words;         /* one message, in 8-byte words */
static int slots;            /* messages with their own buffers */
static uint64_t stamp;       /* equal on all ranks: every round takes the same number of them */
static uint64_t repetition;
static uint64_t *outbox;     /* private memory, `slots` messages */
static uint64_t *inbox;      /* private memory, or the window where the test is one-sided */
static MPI_Win window;
static long spins_per_call = 1024; /* how often a waiting target calls into MPI */

/* ---- helpers -------------------------------------------------------------------------- */

static void die(const char *format, ...) {
    char text[256];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    fprintf(stderr, "mpi: rank %d: %s\n", rank, text);
    MPI_Abort(MPI_COMM_WORLD, 1);
    exit(1);
}

/* One clock for all ranks of the machine, which MPI_Wtime does not promise. */
static double now(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* Large pages, where the machine has them: copies of 1 MB and more gain up to a third. */
static uint64_t *allocate(size_t word_count) {
    size_t page = 2 << 20, size = word_count * 8;
    void *memory = NULL;
    if (posix_memalign(&memory, page, size)) die("no memory for %zu bytes", size);
#ifdef MADV_HUGEPAGE
    if (size >= page) (void)madvise(memory, size / page * page, MADV_HUGEPAGE);
#endif
    memset(memory, 0, size);
    return memory;
}

/* What word `i` of slot `slot` sent by `sender` holds in this repetition. */
static uint64_t pattern(int sender, int slot, size_t i) {
    uint64_t seed = repetition << 20 | (uint64_t)slot << 4 | (uint64_t)sender;
    return (seed + i) * UINT64_C(0x9E3779B97F4A7C15);
}

static void fill(uint64_t *data, int sender, int slot) {
    for (size_t i = 0; i < words; i++) data[i] = pattern(sender, slot, i);
}

static void mark(uint64_t *data, uint64_t mark) { data[0] = data[words - 1] = mark; }

static void expect_mark(const volatile uint64_t *data, uint64_t mark) {
    if (data[0] != mark || data[words - 1] != mark)
        die("wrong data: expected stamp %llu, found %llu and %llu", (unsigned long long)mark,
            (unsigned long long)data[0], (unsigned long long)data[words - 1]);
}

static void expect_pattern(const uint64_t *data, int sender, int slot) {
    for (size_t i = 1; i + 1 < words; i++)
        if (data[i] != pattern(sender, slot, i))
            die("wrong data: word %zu of %zu in slot %d was not what was sent", i, words, slot);
}

/* ---- two-sided ------------------------------------------------------------------------ */

static void open_private(void) {
    outbox = allocate(words * slots);
    inbox = allocate(words * slots);
}

/* Ranks take even and odd stamps, so that an echoed message is noticed. */
static double run_send(long rounds) {
    fill(outbox, rank, 0);
    memset(inbox, 0, words * 8);
    MPI_Barrier(MPI_COMM_WORLD);
    double begin = now();
    for (long round = 0; round < rounds; round++, stamp += 2) {
        mark(outbox, stamp + rank);
        if (rank == 0) MPI_Send(outbox, words, MPI_UINT64_T, peer, 0, MPI_COMM_WORLD);
        MPI_Recv(inbox, words, MPI_UINT64_T, peer, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        if (rank == 1) MPI_Send(outbox, words, MPI_UINT64_T, peer, 0, MPI_COMM_WORLD);
        expect_mark(inbox, stamp + peer);
    }
    double seconds = now() - begin;
    expect_pattern(inbox, peer, 0);
    return seconds;
}

static void post_receives(MPI_Request *requests) {
    for (int slot = 0; slot < slots; slot++)
        MPI_Irecv(inbox + slot * words, words, MPI_UINT64_T, 0, 0, MPI_COMM_WORLD, &requests[slot]);
}

/* The next receives are posted after the answer, while the sender is already at work: that proved
 * faster everywhere than to post them first. */
static double run_stream(long rounds) {
    MPI_Request requests[OUTSTANDING_MAX];
    char answer = 0;
    for (int slot = 0; slot < slots; slot++) fill(outbox + slot * words, 0, slot);
    memset(inbox, 0, words * slots * 8);
    if (rank == 1) post_receives(requests);
    MPI_Barrier(MPI_COMM_WORLD);
    double begin = now();
    for (long round = 0; round < rounds; round++, stamp += slots) {
        if (rank == 0) {
            for (int slot = 0; slot < slots; slot++) {
                uint64_t *data = outbox + slot * words;
                mark(data, stamp + slot);
                MPI_Isend(data, words, MPI_UINT64_T, 1, 0, MPI_COMM_WORLD, &requests[slot]);
            }
            MPI_Waitall(slots, requests, MPI_STATUSES_IGNORE);
            MPI_Recv(&answer, 1, MPI_CHAR, 1, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        } else {
            MPI_Waitall(slots, requests, MPI_STATUSES_IGNORE);
            for (int slot = 0; slot < slots; slot++)
                expect_mark(inbox + slot * words, stamp + slot);
            MPI_Send(&answer, 1, MPI_CHAR, 0, 1, MPI_COMM_WORLD);
            if (round + 1 < rounds) post_receives(requests);
        }
    }
    double seconds = now() - begin;
    if (rank == 1)
        for (int slot = 0; slot < slots; slot++) expect_pattern(inbox + slot * words, 0, slot);
    return seconds;
}

/* ---- one-sided ------------------------------------------------------------------------ */

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
        if (rank == 1) push(stamp + 1);
    }
    double seconds = now() - begin;
    expect_pattern(inbox, peer, 0);
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

/* ---- all ranks ------------------------------------------------------------------------ */

/* A barrier moves no bytes; what it promises is that nobody leaves before the last one enters. */
static double run_barrier(long rounds) {
    double mine, last_in, first_out;
    MPI_Barrier(MPI_COMM_WORLD);
    double begin = now();
    for (long round = 0; round < rounds; round++) MPI_Barrier(MPI_COMM_WORLD);
    double seconds = now() - begin;
    mine = now();
    MPI_Barrier(MPI_COMM_WORLD);
    double out = now();
    MPI_Reduce(&mine, &last_in, 1, MPI_DOUBLE, MPI_MAX, 0, MPI_COMM_WORLD);
    MPI_Reduce(&out, &first_out, 1, MPI_DOUBLE, MPI_MIN, 0, MPI_COMM_WORLD);
    if (rank == 0 && first_out < last_in) die("a rank left the barrier before all had entered");
    return seconds;
}

/* ---- the tests and their repetitions -------------------------------------------------- */

struct test {
    const char *name, *unit;
    size_t bytes;              /* unless the command line says otherwise */
    int streams;               /* several messages with buffers of their own */
    void (*open)(void);
    double (*run)(long rounds); /* seconds; only rank 0's count */
};

static const struct test tests[] = {
    {"send", "ns", 8, 0, open_private, run_send},
    {"put", "ns", 8, 0, open_window, run_put},
    {"get", "ns", 8, 1, open_window, run_get},
    {"fetch_add", "ns", 8, 0, open_window, run_fetch_add},
    {"rate", "million/s", 8, 1, open_private, run_stream},
    {"bandwidth", "GB/s", 64 << 10, 1, open_private, run_stream},
    {"put_bandwidth", "GB/s", 16 << 20, 0, open_window, run_put_bandwidth},
    {"barrier", "us", 0, 0, NULL, run_barrier},
};

static double value_of(const struct test *test, double seconds, long rounds) {
    int both_ways = test->run == run_send || test->run == run_put;
    double count = (double)rounds * (test->run == run_stream ? slots : both_ways ? 2 : 1);
    if (!strcmp(test->unit, "ns")) return seconds / count * 1e9;
    if (!strcmp(test->unit, "us")) return seconds / count * 1e6;
    if (!strcmp(test->unit, "million/s")) return count / seconds / 1e6;
    return count * (double)words * 8 / seconds / 1e9;
}

static double run(const struct test *test, long rounds) {
    repetition++;
    double seconds = test->run(rounds);
    MPI_Bcast(&seconds, 1, MPI_DOUBLE, 0, MPI_COMM_WORLD);
    return seconds;
}

/* Takes the number of spins between two calls into MPI that suits this implementation best. */
static void choose_spins(const struct test *test) {
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

/* Doubles as the warm-up. All ranks see rank 0's time and so come to the same number. */
static long choose_rounds(const struct test *test) {
    long rounds = 1;
    run(test, rounds);
    for (;;) {
        double seconds = run(test, rounds);
        if (seconds >= CALIBRATION_S) {
            rounds = (long)((double)rounds * REPETITION_S / seconds);
            return rounds > 0 ? rounds : 1;
        }
        double growth = 1.5 * CALIBRATION_S / (seconds + 1e-9);
        rounds = (long)((double)rounds * (growth < 2 ? 2 : growth > 32 ? 32 : growth));
    }
}

int main(int argc, char **argv) {
    const struct test *test = NULL;
    alarm(60); /* should the caller be gone, a program that hangs still ends */
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    if (argc < 2) die("usage: mpi TEST [BYTES] [ROUNDS]");
    if (!strcmp(argv[1], "start")) return MPI_Finalize();
    for (size_t i = 0; i < sizeof tests / sizeof *tests; i++)
        if (!strcmp(tests[i].name, argv[1])) test = &tests[i];
    if (!test) die("no test is called '%s'", argv[1]);
    if (test->open && ranks != 2) die("%s needs 2 ranks and was given %d", test->name, ranks);

    size_t bytes = argc > 2 ? strtoull(argv[2], NULL, 10) : test->bytes;
    if (test->open && (bytes < 8 || bytes % 8)) die("BYTES must be a multiple of 8");
    if (test->run == run_fetch_add && bytes != 8) die("fetch_add works on 8 bytes");
    words = bytes / 8;
    slots = 1;
    if (test->streams) { /* more than 4 MB in flight falls out of the caches and is slower */
        size_t fit = STREAM_BYTES / bytes;
        slots = fit > OUTSTANDING_MAX ? OUTSTANDING_MAX : fit < 1 ? 1 : (int)fit;
    }
    peer = 1 - rank;
    stamp = 1000;
    if (test->open) test->open();

    if (test->run == run_put) choose_spins(test);
    long rounds = argc > 3 ? strtol(argv[3], NULL, 10) : 0;
    if (rounds > 0) run(test, rounds);
    else rounds = choose_rounds(test);

    for (int i = 0; i < REPETITIONS; i++) {
        double seconds = run(test, rounds);
        if (rank) continue;
        printf("{\"test\":\"%s\",\"bytes\":%zu,\"ranks\":%d,\"value\":%.4f,\"unit\":\"%s\"}\n",
               test->name, bytes, ranks, value_of(test, seconds, rounds), test->unit);
        fflush(stdout);
    }
    if (test->open == open_window) {
        MPI_Win_unlock_all(window);
        MPI_Win_free(&window);
    } else {
        free(inbox);
    }
    free(outbox);
    return MPI_Finalize();
}
