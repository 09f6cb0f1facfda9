/*
 * The pushes of `hikyaku bench --only threads`, by ompl.h: what a program in C gets.
 *
 *     ompl THREADS REPETITIONS BYTES...
 *
 * Ping-pong of ompl_put and ompl_put_word, which ompl_wait waits for, and of which a copy is taken. Thread i of rank 0 talks with thread i
 * of rank 1, all at the same time. The lines that are printed are those of threads.c: the median of all round trips, halved, and with 4
 * bytes messages of all threads in a second.
 */
#include <ompl.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { THREADS_MAX = 64, COUNTED = 4, LONG = 64 << 10, BYTES_MAX = 1 << 20, WARM_UP = 1 };
/* Of a thread: the flag that its partner sets, what it puts, what its partner has put. */
enum { FLAG = 0, OUT = 64, IN = OUT + BYTES_MAX + 64, EACH = IN + BYTES_MAX + 64 };
static double long_enough_s; /* so that each thread has its turn several times */

struct talker {
    pthread_t thread;
    uint64_t at;
    uint32_t round, *got;
    uint64_t messages;
    double *trips;
    size_t count, room;
};

static uint32_t rank, peer;
static int threads, is_over;
static size_t bytes;
static pthread_barrier_t gate;
static struct talker talkers[THREADS_MAX];

static void die(const char *what) {
    fprintf(stderr, "ompl: rank %u: %s: %s\n", rank, what, ompl_last_error());
    exit(1);
}

static double now(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static void note(struct talker *me, double seconds) {
    if (me->count == me->room) {
        me->room = me->room ? 2 * me->room : 4096;
        me->trips = realloc(me->trips, me->room * sizeof *me->trips);
        if (!me->trips) die("no memory");
    }
    me->trips[me->count++] = seconds;
}

static void give(const struct talker *me, uint32_t number) {
    uint32_t *out = (uint32_t *)((char *)ompl_base() + me->at + OUT);
    out[0] = out[bytes / 4 - 1] = number;
    if (ompl_put(me->at + OUT, peer, me->at + IN, bytes) || ompl_put_word(peer, me->at + FLAG)) die("put");
}

static void take(struct talker *me) {
    if (ompl_wait(me->at + FLAG)) die("wait");
    memcpy(me->got, (char *)ompl_base() + me->at + IN, bytes);
    if (me->got[0] >> 1 != (me->round & UINT32_MAX >> 1) || me->got[bytes / 4 - 1] != me->got[0]) die("wrong data");
}

/* Rank 0 says in its last message that it is the last. */
static void ping_pong(struct talker *me) {
    double begin = now(), before = begin;
    do {
        me->round++;
        if (rank == 0) give(me, me->round << 1 | (before - begin >= long_enough_s));
        take(me);
        if (rank == 1) give(me, me->got[0]);
        me->messages += 2;
        if (rank == 0) {
            double after = now();
            note(me, after - before);
            before = after;
        }
    } while (!(me->got[0] & 1));
}

static void *talk(void *talker) {
    for (;;) {
        pthread_barrier_wait(&gate);
        if (is_over) return NULL;
        ping_pong(talker);
        pthread_barrier_wait(&gate);
    }
}

/* ---- what comes of it ----------------------------------------------------------------- */

static int ascending(const void *one, const void *other) {
    double a = *(const double *)one, b = *(const double *)other;
    return (a > b) - (a < b);
}

static double median_of_trips(void) {
    size_t count = 0, at = 0;
    double *all, median;
    int i;
    for (i = 0; i < threads; i++) count += talkers[i].count;
    all = malloc(count * sizeof *all);
    if (!all) die("no memory");
    for (i = 0; i < threads; at += talkers[i++].count)
        memcpy(all + at, talkers[i].trips, talkers[i].count * sizeof *all);
    qsort(all, count, sizeof *all, ascending);
    median = all[count / 2];
    free(all);
    return median;
}

static void print(const char *name, double value, const char *unit) {
    printf("{\"test\":\"threads_put%s\",\"bytes\":%zu,\"ranks\":%d,\"value\":%.4f,\"unit\":\"%s\"}\n", name, bytes,
           2 * threads, value, unit);
}

static void measure(int repetitions) {
    double begin, seconds, messages;
    int i, repetition;
    for (repetition = 0; repetition < WARM_UP + repetitions; repetition++) {
        for (i = 0; i < threads; i++) talkers[i].messages = talkers[i].count = 0;
        begin = now();
        pthread_barrier_wait(&gate);
        pthread_barrier_wait(&gate);
        seconds = now() - begin;
        for (messages = 0, i = 0; i < threads; i++) messages += (double)talkers[i].messages;
        if (rank || repetition < WARM_UP) continue;
        print("", median_of_trips() / 2 * 1e9, "ns");
        if (bytes == COUNTED) print("_rate", messages / seconds / 1e6, "M/s");
        if (bytes >= LONG) print("_bandwidth", messages * (double)bytes / seconds / 1e9, "GB/s");
    }
}

int main(int count, char **arguments) {
    int i;
    if (count < 4) die("threads, repetitions and bytes");
    threads = atoi(arguments[1]);
    if (threads < 1 || threads > THREADS_MAX) die("too many threads");
    if (ompl_init((size_t)threads * EACH)) die("init");
    if (ompl_size() != 2) die("two ranks");
    rank = (uint32_t)ompl_rank(), peer = 1 - rank;
    long_enough_s = 0.040 + 0.010 * threads;
    pthread_barrier_init(&gate, NULL, (unsigned)threads + 1);
    for (i = 0; i < threads; i++) {
        talkers[i].at = (uint64_t)i * EACH;
        talkers[i].got = malloc(BYTES_MAX);
        if (!talkers[i].got || pthread_create(&talkers[i].thread, NULL, talk, &talkers[i])) die("no thread");
    }
    for (i = 3; i < count; i++) {
        bytes = (size_t)atol(arguments[i]);
        if (bytes < 4 || bytes % 4 || bytes > BYTES_MAX) die("so many bytes");
        measure(atoi(arguments[2]));
    }
    is_over = 1;
    pthread_barrier_wait(&gate);
    for (i = 0; i < threads; i++) pthread_join(talkers[i].thread, NULL);
    return ompl_finalize() ? 1 : 0;
}
