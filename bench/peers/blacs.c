/*
 * The work of `hikyaku bench --only blacs`: linked with ScaLAPACK, and run with whatever BLACS are loaded first.
 *
 *     blacs TEST:SIZE...
 *
 *     latency     ping-pong of Cdgesd2d and Cdgerv2d, a matrix of one column        one-way ns   bytes
 *     bandwidth   the same                                                          GB/s         bytes
 *     submatrix   columns of 8 KB out of a matrix with twice as many rows           GB/s         bytes
 *     triangle    the upper triangle of a square matrix                             GB/s         bytes, about
 *     gridinfo    Cblacs_gridinfo                                                   ns           0
 *     broadcast   Cdgebs2d and Cdgebr2d to all, topology ' '                        us           bytes
 *     combine     Cdgsum2d of all for all, topology ' '                             us           bytes
 *     lu, cholesky, qr, eigenvalues   a factorization of ScaLAPACK, blocks of 64    ms           order
 *
 * Rank 0 prints one line of JSON per repetition. What arrives is checked after each repetition.
 */
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

int numroc_(int *, int *, int *, int *, int *);
void descinit_(int *, int *, int *, int *, int *, int *, int *, int *, int *, int *);
void pdgetrf_(int *, int *, double *, int *, int *, int *, int *, int *);
void pdpotrf_(char *, int *, double *, int *, int *, int *, int *);
void pdgeqrf_(int *, int *, double *, int *, int *, int *, double *, double *, int *, int *);
void pdsyev_(char *, char *, int *, double *, int *, int *, int *, double *, double *, int *, int *, int *, double *,
             int *, int *);

enum { REPETITIONS = 11, ROWS = 1024, BLOCK = 64 };
static const double REPETITION_S = 0.01;

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
    double *data = malloc(count * sizeof *data);
    if (!data) die("no memory");
    for (size_t i = 0; i < count; i++) data[i] = -1;
    return data;
}

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

static void report(const char *test, long size, double value) {
    if (rank == 0) printf("{\"test\":\"%s\",\"size\":%ld,\"ranks\":%d,\"value\":%.6g}\n", test, size, ranks, value);
}

static void messages(const char *test, long bytes) {
    int count = bytes / 8;
    struct matrix out = {count, 1, count, 0, NULL};
    if (!strcmp(test, "submatrix")) out = (struct matrix){ROWS, count / ROWS, 2 * ROWS, 0, NULL};
    if (!strcmp(test, "triangle")) {
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
    for (int i = 0; i < REPETITIONS; i++) {
        fill(&out, rank + 10 * i);
        double one_way = ping_pong(&out, &in, rounds) / rounds / 2;
        if (rank < 2) expect(&in, 1 - rank + 10 * i);
        report(test, bytes, !strcmp(test, "latency") ? one_way * 1e9 : 8e-9 * count / one_way);
    }
    free(out.data);
    free(in.data);
}

static void gridinfo(void) {
    for (int i = 0; i < REPETITIONS; i++) {
        int r, c, mr, mc, sum = 0;
        double begin = now();
        for (int k = 0; k < 1000000; k++) {
            Cblacs_gridinfo(context, &r, &c, &mr, &mc);
            sum += mr + mc;
        }
        report("gridinfo", 0, (now() - begin) * 1e3);
        if (sum != 1000000 * (row + column)) die("wrong position");
    }
}

static double together(const char *test, double *data, int count, long rounds) {
    Cblacs_barrier(context, "A");
    double begin = now();
    for (long i = 0; i < rounds; i++) {
        int root = i % ranks;
        if (!strcmp(test, "combine")) Cdgsum2d(context, "A", " ", count, 1, data, count, -1, -1);
        else if (rank == root) Cdgebs2d(context, "A", " ", count, 1, data, count);
        else Cdgebr2d(context, "A", " ", count, 1, data, count, root / columns, root % columns);
    }
    Cblacs_barrier(context, "A");
    return now() - begin;
}

static void collective(const char *test, long bytes) {
    int count = bytes / 8, sums = !strcmp(test, "combine");
    double *data = allocate(count);
    for (int k = 0; k < count; k++) data[k] = 0;
    long rounds = agree(REPETITION_S / (together(test, data, count, 20) / 20) + 1);
    for (int i = 0; i < REPETITIONS; i++) {
        /* Sums of zeros stay what they are; a broadcast takes over what rank 0 has. */
        for (int k = 0; k < count; k++) data[k] = sums ? 0 : rank * 1000.0 + i + k;
        double seconds = together(test, data, count, rounds);
        for (int k = 0; k < count; k++)
            if (data[k] != (sums ? 0 : i + k)) die("wrong data");
        report(test, bytes, seconds / rounds * 1e6);
    }
    if (sums) {
        for (int k = 0; k < count; k++) data[k] = rank + k;
        together(test, data, count, 1);
        for (int k = 0; k < count; k++)
            if (data[k] != ranks * (ranks - 1) / 2 + (double)ranks * k) die("wrong sum");
    }
    free(data);
}

static void factorization(const char *test, int n) {
    int zero = 0, one = 1, block = BLOCK, info = 0, descriptor[9];
    int m_local = numroc_(&n, &block, &row, &zero, &rows), n_local = numroc_(&n, &block, &column, &zero, &columns);
    int lda = m_local > 1 ? m_local : 1, lwork = -1;
    descinit_(descriptor, &n, &n, &block, &block, &zero, &zero, &context, &lda, &info);
    size_t size = (size_t)lda * (n_local > 1 ? n_local : 1);
    double *a = allocate(size), *z = allocate(size), *tau = allocate(n + BLOCK), *w = allocate(n), query = 0;
    int *pivots = malloc((m_local + BLOCK) * sizeof *pivots);
    for (int repetition = 0; repetition < 3; repetition++) {
        /* Symmetric, and positive by its diagonal. */
        for (int j = 0; j < n_local; j++)
            for (int i = 0; i < m_local; i++) {
                long gi = ((long)i / BLOCK * rows + row) * BLOCK + i % BLOCK;
                long gj = ((long)j / BLOCK * columns + column) * BLOCK + j % BLOCK;
                a[(size_t)j * lda + i] = gi == gj ? n : (double)((gi * gj + gi + gj) % 97) / 97;
            }
        double *work = NULL;
        if (!strcmp(test, "qr")) {
            lwork = -1;
            pdgeqrf_(&n, &n, a, &one, &one, descriptor, tau, &query, &lwork, &info);
        }
        if (!strcmp(test, "eigenvalues")) {
            lwork = -1;
            pdsyev_("N", "L", &n, a, &one, &one, descriptor, w, z, &one, &one, descriptor, &query, &lwork, &info);
        }
        lwork = (int)query;
        work = allocate(lwork + 1);
        Cblacs_barrier(context, "A");
        double begin = now();
        if (!strcmp(test, "lu")) pdgetrf_(&n, &n, a, &one, &one, descriptor, pivots, &info);
        if (!strcmp(test, "cholesky")) pdpotrf_("L", &n, a, &one, &one, descriptor, &info);
        if (!strcmp(test, "qr")) pdgeqrf_(&n, &n, a, &one, &one, descriptor, tau, work, &lwork, &info);
        if (!strcmp(test, "eigenvalues"))
            pdsyev_("N", "L", &n, a, &one, &one, descriptor, w, z, &one, &one, descriptor, work, &lwork, &info);
        Cblacs_barrier(context, "A");
        if (info) die("the factorization failed");
        report(test, n, (now() - begin) * 1e3);
        free(work);
    }
    free(a), free(z), free(tau), free(w), free(pivots);
}

int main(int count, char **tests) {
    Cblacs_pinfo(&rank, &ranks);
    Cblacs_get(0, 0, &context);
    rows = ranks == 4 ? 2 : 1;
    Cblacs_gridinit(&context, "R", rows, ranks / rows);
    Cblacs_gridinfo(context, &rows, &columns, &row, &column);
    for (int i = 1; i < count; i++) {
        char *colon = strchr(tests[i], ':');
        if (!colon) die("TEST:SIZE is wanted");
        *colon = 0;
        const char *test = tests[i];
        long size = atol(colon + 1);
        if (!strcmp(test, "gridinfo")) gridinfo();
        else if (!strcmp(test, "broadcast") || !strcmp(test, "combine")) collective(test, size);
        else if (!strcmp(test, "latency") || !strcmp(test, "bandwidth") || !strcmp(test, "submatrix") ||
                 !strcmp(test, "triangle"))
            messages(test, size);
        else factorization(test, (int)size);
    }
    Cblacs_gridexit(context);
    Cblacs_exit(0);
    return 0;
}
