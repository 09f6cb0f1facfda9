/*
 * The work of `hikyaku bench`, done by MPI.
 *
 *     mpi TEST:BYTES:REPETITIONS...
 *
 * Measures the tests in turn; message.c, window.c and collective.c say which there are. Without any it does no more
 * than MPI_Init and MPI_Finalize: the caller holds the clock.
 *
 * Rank 0 prints one line of JSON per repetition. Plain MPI-3, so that the same files serve every
 * implementation. Where MPI offers several ways to do the same work, the fastest correct one is
 * taken: a comparison with a peer that was held back is worth nothing.
 *
 * Every message carries a stamp in its first and last word which never repeats, and the receiver
 * checks it inside the timed section (two loads). The words between are filled anew before each
 * repetition and checked in full after it, outside the timed section.
 */
#include "bench.h"

#include <stdarg.h>
#include <stdio.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

enum { REPETITIONS_MIN = 3, STREAM_BYTES = 4 << 20, TEST_LIMIT_S = 20, START_LIMIT_S = 240, THRONG = 64 };
static const double REPETITION_S = 0.010, CALIBRATION_S = 0.003;
static const double ENOUGH_S = 0.6; /* fewer repetitions where they take longer than they should */

int rank, ranks, peer;
size_t words;
int slots;
uint64_t stamp = 1000;
uint64_t *outbox, *inbox;
static uint64_t repetition;

/* ---- helpers -------------------------------------------------------------------------- */

void die(const char *format, ...) {
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
double now(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* Large pages, where the machine has them: copies of 1 MB and more gain up to a third. */
uint64_t *allocate(size_t word_count) {
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

void fill(uint64_t *data, int sender, int slot) {
    for (size_t i = 0; i < words; i++) data[i] = pattern(sender, slot, i);
}

void mark(uint64_t *data, uint64_t mark) { data[0] = data[words - 1] = mark; }

void expect_mark(const volatile uint64_t *data, uint64_t mark) {
    if (data[0] != mark || data[words - 1] != mark)
        die("wrong data: expected stamp %llu, found %llu and %llu", (unsigned long long)mark,
            (unsigned long long)data[0], (unsigned long long)data[words - 1]);
}

void expect_pattern(const uint64_t *data, int sender, int slot) {
    for (size_t i = 1; i + 1 < words; i++)
        if (data[i] != pattern(sender, slot, i))
            die("wrong data: word %zu of %zu in slot %d was not what was sent", i, words, slot);
}

/* ---- parts ---------------------------------------------------------------------------- */

MPI_Datatype parts;
unsigned char *travels;

static void choose(int (*is_part)(size_t)) {
    travels = malloc(words);
    if (!travels) die("no memory");
    for (size_t i = 0; i < words; i++) travels[i] = is_part(i);
}

static int is_second(size_t i) { return i % 2 == 0; }
static int is_marked(size_t i) { return (i * UINT64_C(0x9E3779B97F4A7C15)) >> 40 & 1; }

void choose_every_second(void) {
    choose(is_second);
    MPI_Type_vector(words / 2, 1, 2, MPI_UINT64_T, &parts);
    MPI_Type_commit(&parts);
}

void choose_half(void) {
    int *places = malloc(words * sizeof *places), count = 0;
    if (!places) die("no memory");
    choose(is_marked);
    for (size_t i = 0; i < words; i++)
        if (travels[i]) places[count++] = (int)i;
    MPI_Type_create_indexed_block(count, 1, places, MPI_UINT64_T, &parts);
    MPI_Type_commit(&parts);
    free(places);
}

void forget_parts(void) {
    MPI_Type_free(&parts);
    free(travels);
}

/* ---- the tests and their repetitions -------------------------------------------------- */

static const struct test *find(const char *name, size_t length) {
    const struct test *families[] = {message_tests, window_tests, collective_tests};
    for (int i = 0; i < 3; i++)
        for (const struct test *test = families[i]; test->name; test++)
            if (strlen(test->name) == length && !strncmp(test->name, name, length)) return test;
    die("no test is called '%.*s'", (int)length, name);
    return NULL;
}

static double value_of(const struct test *test, double seconds, long rounds) {
    double count = (double)rounds * (test->counted ? test->counted : slots);
    if (!strcmp(test->unit, "ns")) return seconds / count * 1e9;
    if (!strcmp(test->unit, "MB")) return seconds; /* it is no time */
    if (!strcmp(test->unit, "us")) return seconds / count * 1e6;
    if (!strcmp(test->unit, "M/s")) return count / seconds / 1e6;
    return count * (double)words * 8 / seconds / 1e9;
}

double run(const struct test *test, long rounds) {
    repetition++;
    double seconds = test->run(rounds);
    MPI_Bcast(&seconds, 1, MPI_DOUBLE, 0, MPI_COMM_WORLD);
    return seconds;
}

/* Doubles as the warm-up. All ranks see rank 0's time and so come to the same number. */
static long choose_rounds(const struct test *test) {
    long rounds = 1, least = test->pair || ranks >= THRONG ? 1 : ranks; /* so that every rank is root once */
    run(test, rounds);
    for (;;) {
        double seconds = run(test, rounds);
        for (int i = 0; i < 2; i++) { /* one that was disturbed would tell too few */
            double again = run(test, rounds);
            if (again < seconds) seconds = again;
        }
        if (seconds >= CALIBRATION_S) {
            rounds = (long)((double)rounds * REPETITION_S / seconds);
            return rounds > least ? rounds : least;
        }
        double growth = 1.5 * CALIBRATION_S / (seconds + 1e-9);
        rounds = (long)((double)rounds * (growth < 2 ? 2 : growth > 32 ? 32 : growth));
    }
}

static void measure(const char *request) {
    size_t length = strcspn(request, ":");
    const struct test *test = find(request, length);
    char *rest = (char *)request + length;
    size_t bytes = *rest == ':' ? strtoull(rest + 1, &rest, 10) : 0;
    long repetitions = *rest == ':' ? strtol(rest + 1, &rest, 10) : 1;
    if (*rest) die("no test is asked for by '%s'", request);
    alarm(TEST_LIMIT_S + ranks); /* should the caller be gone, a program that hangs still ends */
    if (bytes % 8) die("BYTES must be a multiple of 8");
    if (test->pair && (ranks != 2 || bytes < 8))
        die("%s needs 2 ranks and 8 bytes, and was given %d and %zu", test->name, ranks, bytes);
    words = bytes / 8;
    slots = 1;
    if (test->streams) { /* more than 4 MB in flight falls out of the caches and is slower */
        size_t fit = STREAM_BYTES / bytes;
        slots = fit > OUTSTANDING_MAX ? OUTSTANDING_MAX : fit < 1 ? 1 : (int)fit;
    }
    if (test->open) test->open();
    double begin = now();
    long rounds = choose_rounds(test);
    for (int i = 0, more = 1; i < repetitions && more; i++) {
        double seconds = run(test, rounds);
        more = i + 1 < REPETITIONS_MIN || now() - begin < ENOUGH_S;
        MPI_Bcast(&more, 1, MPI_INT, 0, MPI_COMM_WORLD);
        if (rank) continue;
        printf("{\"test\":\"%s\",\"bytes\":%zu,\"ranks\":%d,\"value\":%.4f,\"unit\":\"%s\"}\n",
               test->name, bytes, ranks, value_of(test, seconds, rounds), test->unit);
        fflush(stdout);
    }
    if (test->close) test->close();
}

int main(int argc, char **argv) {
    alarm(START_LIMIT_S);
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    peer = 1 - rank;
    for (int i = 1; i < argc; i++) measure(argv[i]);
    return MPI_Finalize();
}
