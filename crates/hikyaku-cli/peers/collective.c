/*
 * What all ranks do together; any number of ranks.
 *
 *     barrier              MPI_Barrier                                 us each
 *     broadcast            MPI_Bcast                                   us each
 *     broadcast_bandwidth  the same, its size by its time              GB/s
 *     reduce               MPI_Reduce, sum of doubles                  us each
 *     allreduce            MPI_Allreduce, sum of doubles               us each
 *     alltoall             MPI_Alltoall, blocks of that size           us each
 *     memory               private memory of a process, the mean       MB
 *
 * Every operation is called many times in a row, and its time is that of the slowest rank from the common start to
 * its own end, divided by the calls. The root of a broadcast or reduction changes with every call, so that nobody gets
 * far ahead: each call's root had to take part in the one before.
 */
#include "bench.h"
#include <stdio.h>

/* In-place sums double with every call and must stay finite. */
enum { SUMS_MAX = 500 };

static double *own, *total;

static double slowest(double seconds) {
    double most;
    MPI_Allreduce(&seconds, &most, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
    return most;
}

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
    return slowest(seconds);
}

static void open_broadcast(void) {
    if (words < 1) die("a broadcast needs at least 8 bytes");
    outbox = allocate(words);
}

static void close_broadcast(void) { free(outbox); }

static double run_broadcast(long rounds) {
    memset(outbox, 0, words * 8);
    if (rank == 0) fill(outbox, 0, 0);
    MPI_Barrier(MPI_COMM_WORLD);
    double begin = now();
    for (long round = 0; round < rounds; round++, stamp++) {
        int root = round % ranks;
        if (rank == root) mark(outbox, stamp);
        MPI_Bcast(outbox, words, MPI_UINT64_T, root, MPI_COMM_WORLD);
        expect_mark(outbox, stamp);
    }
    double seconds = now() - begin;
    expect_pattern(outbox, 0, 0);
    return slowest(seconds);
}

/* What each rank contributes to a sum: small whole numbers, so that the sum is exact in any order. */
static void open_sums(void) {
    if (words < 1) die("a sum needs at least 8 bytes");
    own = (double *)allocate(words);
    total = (double *)allocate(words);
}

static void close_sums(void) {
    free(own);
    free(total);
}

static void contribute(void) {
    for (size_t i = 0; i < words; i++) own[i] = (double)(rank + 1) * (double)(i % 1000 + 1);
}

static double sum_of_contributions(size_t i) { return (double)(i % 1000 + 1) * ranks * (ranks + 1) / 2; }
static double sum_of_stamps(void) { return (double)stamp * ranks + (double)ranks * (ranks - 1) / 2; }

static void expect_sum(double found, double expected) {
    if (found != expected) die("wrong sum: expected %g, found %g", expected, found);
}

static void expect_sums(const double *sums, double factor) {
    for (size_t i = 1; i + 1 < words; i++) expect_sum(sums[i], sum_of_contributions(i) * factor);
}

static double run_reduce(long rounds) {
    contribute();
    memset(total, 0, words * 8);
    MPI_Barrier(MPI_COMM_WORLD);
    double begin = now();
    for (long round = 0; round < rounds; round++, stamp++) {
        int root = round % ranks;
        own[0] = own[words - 1] = (double)stamp + rank;
        MPI_Reduce(own, total, words, MPI_DOUBLE, MPI_SUM, root, MPI_COMM_WORLD);
        if (rank != root) continue;
        expect_sum(total[0], sum_of_stamps());
        expect_sum(total[words - 1], sum_of_stamps());
    }
    double seconds = now() - begin;
    if (rank < rounds) expect_sums(total, 1);
    return slowest(seconds);
}

/* Long vectors in place, so that no time goes into copies: every sum contributes to the next. */
static double run_allreduce(long rounds) {
    double factor = 1.0 / ranks;
    long calls = words > 1 && rounds > SUMS_MAX ? SUMS_MAX : rounds;
    if (words > 1 && ranks & (ranks - 1)) die("sums in place are exact for 2, 4, 8, ... ranks");
    contribute();
    MPI_Barrier(MPI_COMM_WORLD);
    double begin = now();
    for (long round = 0; round < calls; round++, stamp++) {
        if (words == 1) {
            own[0] = (double)stamp + rank;
            MPI_Allreduce(own, total, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
            expect_sum(total[0], sum_of_stamps());
        } else {
            factor *= ranks;
            MPI_Allreduce(MPI_IN_PLACE, own, words, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
            expect_sum(own[0], sum_of_contributions(0) * factor);
            expect_sum(own[words - 1], sum_of_contributions(words - 1) * factor);
        }
    }
    double seconds = now() - begin;
    if (words > 1) expect_sums(own, factor);
    return slowest(seconds) / (double)calls * (double)rounds;
}

static void open_blocks(void) {
    if (words < 1) die("blocks need at least 8 bytes");
    outbox = allocate(words * ranks);
    inbox = allocate(words * ranks);
}

static void close_blocks(void) {
    free(outbox);
    free(inbox);
}

static uint64_t word_of(uint64_t from, uint64_t to) { return stamp << 32 | from << 16 | to; }

static double run_alltoall(long rounds) {
    MPI_Barrier(MPI_COMM_WORLD);
    double begin = now();
    for (long round = 0; round < rounds; round++, stamp++) {
        for (int to = 0; to < ranks; to++)
            for (size_t i = 0; i < words; i++) outbox[to * words + i] = word_of(rank, to);
        MPI_Alltoall(outbox, words, MPI_UINT64_T, inbox, words, MPI_UINT64_T, MPI_COMM_WORLD);
        for (int from = 0; from < ranks; from++)
            if (inbox[from * words] != word_of(from, rank) || inbox[from * words + words - 1] != word_of(from, rank))
                die("a block of rank %d was damaged", from);
    }
    return slowest(now() - begin);
}

/* What of this process's memory no other has, in MB. */
static double run_memory(long rounds) {
    (void)rounds;
    char line[256];
    double kilobytes, mine = 0, all;
    FILE *file = fopen("/proc/self/smaps_rollup", "r");
    if (!file) die("there is no /proc/self/smaps_rollup");
    while (fgets(line, sizeof line, file))
        if (!strncmp(line, "Private_", 8) && sscanf(strchr(line, ':') + 1, "%lf", &kilobytes) == 1) mine += kilobytes;
    fclose(file);
    MPI_Allreduce(&mine, &all, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
    return all / ranks * 1024 / 1e6;
}

const struct test collective_tests[] = {
    {"barrier", "us", 0, 0, 1, NULL, run_barrier, NULL},
    {"broadcast", "us", 0, 0, 1, open_broadcast, run_broadcast, close_broadcast},
    {"broadcast_bandwidth", "GB/s", 0, 0, 1, open_broadcast, run_broadcast, close_broadcast},
    {"reduce", "us", 0, 0, 1, open_sums, run_reduce, close_sums},
    {"allreduce", "us", 0, 0, 1, open_sums, run_allreduce, close_sums},
    {"alltoall", "us", 0, 0, 1, open_blocks, run_alltoall, close_blocks},
    {"memory", "MB", 0, 0, 1, NULL, run_memory, NULL},
    {0},
};
