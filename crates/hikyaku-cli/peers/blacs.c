/*
 * The work of `hikyaku bench --only blacs`, done by whatever BLACS it is linked with, or are loaded before those.
 *
 *     blacs TEST:BYTES:REPETITIONS...
 *
 *     blacs_send        ping-pong of Cdgesd2d and Cdgerv2d, a matrix of one column     one-way ns
 *     blacs_bandwidth   the same                                                       GB/s
 *     blacs_submatrix   columns of 8 KB out of a matrix with twice as many rows        GB/s
 *     blacs_triangle    the upper triangle of a square matrix, of about so many bytes  GB/s
 *     blacs_gridinfo    Cblacs_gridinfo                                                ns
 *     blacs_grid        Cblacs_gridinit and Cblacs_gridexit, all processes             us
 *     blacs_broadcast   Cdgebs2d and Cdgebr2d to all, topology ' '                     us
 *     blacs_combine     Cdgsum2d of all for all, topology ' '                          us
 *
 * Rank 0 prints one line of JSON per repetition, when what arrived was checked.
 */
#include "blacs.h"

enum { ROWS = 1024, GRIDINFOS = 50000, GRIDS = 20 };
/* Short, so that some are left undisturbed where others use the machine too. */
static const double REPETITION_S = 0.001;

/* A matrix to be sent: m by n, or its upper triangle. */
struct matrix {
    int m, n, lda, triangle;
    double *data;
};

static void send(struct matrix *a, int to) {
    if (a->triangle) Cdtrsd2d(context, "U", "N", a->m, a->n, a->data, a->lda, to / columns, to % columns);
    else Cdgesd2d(context, a->m, a->n, a->data, a->lda, to / columns, to % columns);
}

static void receive(struct matrix *a, int from) {
    if (a->triangle) Cdtrrv2d(context, "U", "N", a->m, a->n, a->data, a->lda, from / columns, from % columns);
    else Cdgerv2d(context, a->m, a->n, a->data, a->lda, from / columns, from % columns);
}

static double ping_pong(struct matrix *out, struct matrix *in, long rounds) {
    Cblacs_barrier(context, "A");
    double begin = now();
    for (long i = 0; i < rounds; i++) {
        if (rank == 0) send(out, 1), receive(in, 1);
        if (rank == 1) receive(in, 0), send(out, 0);
    }
    return now() - begin;
}

static void fill(struct matrix *a, double seed) {
    for (int j = 0; j < a->n; j++)
        for (int i = 0; i < a->m; i++) a->data[(size_t)j * a->lda + i] = seed + i + 3.0 * j;
}

static void expect(struct matrix *a, double seed) {
    for (int j = 0; j < a->n; j++)
        for (int i = 0; i < a->lda; i++) {
            int in = a->triangle ? i <= j && i < a->m : i < a->m;
            if (a->data[(size_t)j * a->lda + i] != (in ? seed + i + 3.0 * j : -1)) die("wrong data");
        }
}

/* Equal on all ranks: what rank 0 says. */
static long agree(double value) {
    if (rank == 0) Cdgebs2d(context, "A", " ", 1, 1, &value, 1);
    else Cdgebr2d(context, "A", " ", 1, 1, &value, 1, 0, 0);
    return (long)value;
}

static void messages(const char *test, long bytes, int repetitions) {
    int count = bytes / 8;
    struct matrix out = {count, 1, count, 0, NULL};
    if (!strcmp(test, "blacs_submatrix")) out = (struct matrix){ROWS, count / ROWS, 2 * ROWS, 0, NULL};
    if (!strcmp(test, "blacs_triangle")) {
        int order = (int)sqrt(2.0 * count);
        out = (struct matrix){order, order, order, 1, NULL};
        count = order * (order + 1) / 2;
    }
    struct matrix in = out;
    out.data = allocate((size_t)out.lda * out.n);
    in.data = allocate((size_t)in.lda * in.n);
    fill(&out, 100 + rank);
    double once = ping_pong(&out, &in, 20) / 20;
    long rounds = agree(REPETITION_S / once + 1);
    for (int i = 0; i < repetitions; i++) {
        fill(&out, rank + 10 * i);
        double one_way = ping_pong(&out, &in, rounds) / rounds / 2;
        if (rank < 2) expect(&in, 1 - rank + 10 * i);
        if (!strcmp(test, "blacs_send")) report(test, bytes, one_way * 1e9, "ns");
        else report(test, bytes, 8e-9 * count / one_way, "GB/s");
    }
    free(out.data);
    free(in.data);
}

static void gridinfo(int repetitions) {
    for (int i = 0; i < repetitions; i++) {
        int r, c, mr, mc, sum = 0;
        double begin = now();
        for (int k = 0; k < GRIDINFOS; k++) {
            Cblacs_gridinfo(context, &r, &c, &mr, &mc);
            sum += mr + mc;
        }
        double seconds = now() - begin;
        if (sum != GRIDINFOS * (row + column)) die("wrong position");
        report("blacs_gridinfo", 0, seconds * 1e9 / GRIDINFOS, "ns");
    }
}

static void grid(int repetitions) {
    for (int i = 0; i < repetitions; i++) {
        Cblacs_barrier(context, "A");
        double begin = now();
        for (int k = 0; k < GRIDS; k++) {
            int made, r, c, mr, mc;
            Cblacs_get(-1, 0, &made);
            Cblacs_gridinit(&made, "R", 1, ranks);
            Cblacs_gridinfo(made, &r, &c, &mr, &mc);
            if (r != 1 || c != ranks || mr != 0 || mc != rank) die("wrong grid");
            Cblacs_gridexit(made);
        }
        Cblacs_barrier(context, "A");
        report("blacs_grid", 0, (now() - begin) * 1e6 / GRIDS, "us");
    }
}

static double together(const char *test, double *data, int count, long rounds) {
    Cblacs_barrier(context, "A");
    double begin = now();
    for (long i = 0; i < rounds; i++) {
        int root = i % ranks;
        if (!strcmp(test, "blacs_combine")) Cdgsum2d(context, "A", " ", count, 1, data, count, -1, -1);
        else if (rank == root) Cdgebs2d(context, "A", " ", count, 1, data, count);
        else Cdgebr2d(context, "A", " ", count, 1, data, count, root / columns, root % columns);
    }
    Cblacs_barrier(context, "A");
    return now() - begin;
}

static void collective(const char *test, long bytes, int repetitions) {
    int count = bytes / 8, sums = !strcmp(test, "blacs_combine");
    double *data = allocate(count);
    if (sums) {
        for (int k = 0; k < count; k++) data[k] = rank + k;
        together(test, data, count, 1);
        for (int k = 0; k < count; k++)
            if (data[k] != ranks * (ranks - 1) / 2 + (double)ranks * k) die("wrong sum");
    }
    for (int k = 0; k < count; k++) data[k] = 0;
    long rounds = agree(REPETITION_S / (together(test, data, count, 20) / 20) + 1);
    for (int i = 0; i < repetitions; i++) {
        /* Sums of zeros stay what they are; a broadcast takes over what rank 0 has. */
        for (int k = 0; k < count; k++) data[k] = sums ? 0 : rank * 1000.0 + i + k;
        double seconds = together(test, data, count, rounds);
        for (int k = 0; k < count; k++)
            if (data[k] != (sums ? 0 : i + k)) die("wrong data");
        report(test, bytes, seconds / rounds * 1e6, "us");
    }
    free(data);
}

static void run(const char *test, long bytes, int repetitions) {
    if (!strcmp(test, "blacs_gridinfo")) gridinfo(repetitions);
    else if (!strcmp(test, "blacs_grid")) grid(repetitions);
    else if (!strcmp(test, "blacs_broadcast") || !strcmp(test, "blacs_combine")) collective(test, bytes, repetitions);
    else messages(test, bytes, repetitions);
}

int main(int count, char **tests) {
    return run_all(count, tests, run);
}
