/*
 * Sample sort: every rank has a part of the numbers; afterwards rank 0 has the smallest, rank 1 the next, and so on.
 * Each rank sorts its part and shows some samples; from all samples everybody finds the same limits; then every rank
 * sends each other one the numbers between that one's limits, and merges what it gets. Checks the result.
 *
 * Build and run, in the root of the repository:
 *
 *     cargo build --release --workspace
 *     cc -O2 -o sort examples/c/sort.c $(PKG_CONFIG_PATH=$PWD/pkgconfig pkg-config --cflags --libs hikyaku)
 *     target/release/hikyaku run -n 4 -- ./sort
 */
#include <fmpl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { COUNT = 200000, SAMPLES = 64 };

static int rank, size;

static void check(int code) {
    if (code != FMPL_SUCCESS) {
        fprintf(stderr, "sort: %s\n", fmpl_last_error());
        exit(1);
    }
}

static int by_value(const void *a, const void *b) {
    int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
    return (x > y) - (x < y);
}

static void sort(int64_t *numbers, size_t count) { qsort(numbers, count, sizeof *numbers, by_value); }

/* A generator of its own for each rank (xorshift). */
static void fill(int64_t *numbers) {
    uint64_t state = 88172645463325252u + (uint64_t)rank * 1000003u;
    int i;
    for (i = 0; i < COUNT; i++) {
        state ^= state << 13, state ^= state >> 7, state ^= state << 17;
        numbers[i] = (int64_t)(state >> 20);
    }
}

/* The numbers from which each rank but the first takes over. */
static void find_limits(const int64_t *mine, int64_t *limits) {
    int64_t samples[SAMPLES], *all = malloc(sizeof samples * size);
    int i;
    for (i = 0; i < SAMPLES; i++) samples[i] = mine[(size_t)i * COUNT / SAMPLES];
    check(fmpl_allgather(samples, sizeof samples, all, FMPL_COMM_WORLD));
    sort(all, (size_t)SAMPLES * size);
    for (i = 1; i < size; i++) limits[i - 1] = all[i * SAMPLES];
    free(all);
}

/* Sends each rank its numbers; gives how many came. Everybody receives early, so that all sends go at once. */
static size_t exchange(int64_t *mine, const int64_t *limits, int64_t **result) {
    int64_t *counts = malloc(sizeof *counts * size), *coming = malloc(sizeof *coming * size);
    size_t first = 0, total = 0, place = 0;
    int r;
    for (r = 0; r < size; r++) {
        size_t end = first;
        while (end < COUNT && (r == size - 1 || mine[end] < limits[r])) end++;
        counts[r] = (int64_t)(end - first);
        first = end;
    }
    check(fmpl_alltoall(counts, sizeof *counts, coming, FMPL_COMM_WORLD));
    for (r = 0; r < size; r++) total += (size_t)coming[r];

    /* Memory that the others map is filled without system calls. */
    *result = fmpl_malloc(total * sizeof **result);
    if (!*result) check(FMPL_ERR_MEMORY);
    for (r = 0; r < size; place += (size_t)coming[r++])
        check(fmpl_irecv(*result + place, (size_t)coming[r] * 8, r, 0, FMPL_COMM_WORLD));
    for (first = 0, r = 0; r < size; first += (size_t)counts[r++])
        check(fmpl_isend(mine + first, (size_t)counts[r] * 8, r, 0, FMPL_COMM_WORLD));
    for (r = 0; r < size; r++) check(fmpl_irecv_wait(r, 0, FMPL_COMM_WORLD));
    for (r = 0; r < size; r++) check(fmpl_isend_wait(r, 0, FMPL_COMM_WORLD));
    free(counts), free(coming);
    return total;
}

/* In order here, in order with the neighbour, and neither more nor fewer numbers than before. */
static void verify(const int64_t *sorted, size_t count, int64_t sum_before) {
    int64_t totals[2] = {(int64_t)count, 0}, before;
    size_t i, bytes;
    int wrong = 0;
    for (i = 0; i < count; i++) totals[1] += sorted[i];
    for (i = 1; i < count; i++) wrong |= sorted[i - 1] > sorted[i];
    /* The last number, or nothing. */
    if (rank + 1 < size) check(fmpl_send(sorted + (count ? count - 1 : 0), count ? 8 : 0, rank + 1, 0, FMPL_COMM_WORLD));
    if (rank > 0) {
        check(fmpl_recv(&before, sizeof before, rank - 1, 0, FMPL_COMM_WORLD));
        check(fmpl_get_count(&bytes));
        wrong |= count && bytes && before > sorted[0];
    }
    check(fmpl_allreduce(totals, 2, fmpl_lsum, FMPL_COMM_WORLD, NULL));
    check(fmpl_allreduce(&sum_before, 1, fmpl_lsum, FMPL_COMM_WORLD, NULL));
    wrong |= totals[0] != (int64_t)COUNT * size || totals[1] != sum_before;
    check(fmpl_allreduce(&wrong, 1, fmpl_ilor, FMPL_COMM_WORLD, NULL));
    if (wrong) {
        fprintf(stderr, "sort: the result is wrong\n");
        exit(1);
    }
}

int main(void) {
    int64_t *mine = malloc(COUNT * sizeof *mine), *sorted, *limits, sum = 0, largest;
    size_t count;
    int i;
    check(fmpl_init(NULL, NULL, 1));
    check(fmpl_comm_rank(FMPL_COMM_WORLD, &rank));
    check(fmpl_comm_size(FMPL_COMM_WORLD, &size));
    fill(mine);
    for (i = 0; i < COUNT; i++) sum += mine[i];

    sort(mine, COUNT);
    limits = malloc(sizeof *limits * size);
    find_limits(mine, limits);
    count = exchange(mine, limits, &sorted);
    sort(sorted, count);
    verify(sorted, count, sum);

    largest = (int64_t)count;
    check(fmpl_reduce(&largest, 1, fmpl_lpmax, 0, FMPL_COMM_WORLD, NULL));
    if (rank == 0)
        printf("sort: %d numbers in order, the largest part is %.0f %% of the average\n", COUNT * size,
               100.0 * (double)largest / COUNT);
    fmpl_free(sorted);
    free(mine), free(limits);
    check(fmpl_finalize());
    return 0;
}
