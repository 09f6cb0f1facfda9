/* What the programs of the BLACS benchmark share: the interface, and how they measure and report. */
#ifndef HIKYAKU_BLACS_H
#define HIKYAKU_BLACS_H

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

void Cblacs_pinfo(int *, int *);
void Cblacs_get(int, int, int *);
void Cblacs_gridinit(int *, char *, int, int);
void Cblacs_gridinfo(int, int *, int *, int *, int *);
void Cblacs_gridexit(int);
void Cblacs_barrier(int, char *);
void Cblacs_exit(int);
void Cblacs_abort(int, int);
void Cdgesd2d(int, int, int, double *, int, int, int);
void Cdgerv2d(int, int, int, double *, int, int, int);
void Cdtrsd2d(int, char *, char *, int, int, double *, int, int, int);
void Cdtrrv2d(int, char *, char *, int, int, double *, int, int, int);
void Cdgebs2d(int, char *, char *, int, int, double *, int);
void Cdgebr2d(int, char *, char *, int, int, double *, int, int, int);
void Cdgsum2d(int, char *, char *, int, int, double *, int, int, int);

static int rank, ranks, context, rows, columns, row, column;

static double now(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static void die(const char *what) {
    fprintf(stderr, "blacs: rank %d: %s\n", rank, what);
    Cblacs_abort(context, 1);
}

static double *allocate(size_t count) {
    double *data = malloc((count ? count : 1) * sizeof *data);
    if (!data) die("no memory");
    for (size_t i = 0; i < count; i++) data[i] = -1;
    return data;
}

static void report(const char *test, long size, double value, const char *unit) {
    if (rank == 0)
        printf("{\"test\":\"%s\",\"bytes\":%ld,\"ranks\":%d,\"value\":%.6g,\"unit\":\"%s\"}\n", test, size, ranks, value,
               unit);
}

/* All processes in one row, four of them in a square. */
static void open_grid(void) {
    Cblacs_pinfo(&rank, &ranks);
    Cblacs_get(0, 0, &context);
    rows = ranks == 4 ? 2 : 1;
    Cblacs_gridinit(&context, "R", rows, ranks / rows);
    Cblacs_gridinfo(context, &rows, &columns, &row, &column);
}

/* Runs what the arguments say, TEST:SIZE:REPETITIONS each. */
static int run_all(int count, char **tests, void (*run)(const char *test, long size, int repetitions)) {
    open_grid();
    for (int i = 1; i < count; i++) {
        char test[32];
        long size;
        int repetitions;
        if (sscanf(tests[i], "%31[^:]:%ld:%d", test, &size, &repetitions) != 3) die("TEST:SIZE:REPETITIONS is wanted");
        run(test, size, repetitions);
    }
    Cblacs_gridexit(context);
    Cblacs_exit(0);
    return 0;
}

#endif
