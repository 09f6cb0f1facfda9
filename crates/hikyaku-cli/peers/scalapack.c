/*
 * The work of `hikyaku bench --only scalapack`: factorizations of ScaLAPACK, in blocks of 64, with whatever BLACS are loaded.
 *
 *     scalapack TEST:ORDER:REPETITIONS...
 *
 *     lu            pdgetrf            ms
 *     cholesky      pdpotrf            ms
 *     qr            pdgeqrf            ms
 *     eigenvalues   pdsyev, without vectors   ms
 *
 * Matrices are the same in every run. The factors solve a system whose solution is known; eigenvalues have the sum and the
 * sum of squares that the matrix says.
 */
#include "blacs.h"

#include <stdint.h>

int numroc_(int *, int *, int *, int *, int *);
void descinit_(int *, int *, int *, int *, int *, int *, int *, int *, int *, int *);
void pdgemv_(char *, int *, int *, double *, double *, int *, int *, int *, double *, int *, int *, int *, int *, double *,
             double *, int *, int *, int *, int *);
void pdgetrf_(int *, int *, double *, int *, int *, int *, int *, int *);
void pdgetrs_(char *, int *, int *, double *, int *, int *, int *, int *, double *, int *, int *, int *, int *);
void pdpotrf_(char *, int *, double *, int *, int *, int *, int *);
void pdpotrs_(char *, int *, int *, double *, int *, int *, int *, double *, int *, int *, int *, int *);
void pdgeqrf_(int *, int *, double *, int *, int *, int *, double *, double *, int *, int *);
void pdormqr_(char *, char *, int *, int *, int *, double *, int *, int *, int *, double *, double *, int *, int *, int *,
              double *, int *, int *);
void pdtrtrs_(char *, char *, char *, int *, int *, double *, int *, int *, int *, double *, int *, int *, int *, int *);
void pdsyev_(char *, char *, int *, double *, int *, int *, int *, double *, double *, int *, int *, int *, double *,
             int *, int *);

enum { BLOCK = 64 };
static const double TOLERANCE = 1e-8;

static int zero = 0, one = 1, block = BLOCK;

/* What this process has of a matrix. */
struct local {
    int m, n, lda, descriptor[9];
    double *data;
};

static struct local make(int m, int n) {
    struct local a = {numroc_(&m, &block, &row, &zero, &rows), numroc_(&n, &block, &column, &zero, &columns), 1, {0}, NULL};
    int info;
    if (a.m > 1) a.lda = a.m;
    descinit_(a.descriptor, &m, &n, &block, &block, &zero, &zero, &context, &a.lda, &info);
    if (info) die("no descriptor");
    a.data = allocate((size_t)a.lda * a.n);
    return a;
}

static int to_global(int index, int process, int processes) {
    return (index / BLOCK * processes + process) * BLOCK + index % BLOCK;
}

/* Between -1/2 and 1/2. */
static double noise(uint64_t i, uint64_t j) {
    uint64_t x = (i << 32 | j) + 0x9e3779b97f4a7c15u;
    x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9u;
    x = (x ^ x >> 27) * 0x94d049bb133111ebu;
    return (double)((x ^ x >> 31) >> 11) * 0x1p-53 - 0.5;
}

/* Noise; symmetric and with a heavy diagonal where that is asked for. Gives the sums of its diagonal and of its squares. */
static void fill(struct local *a, int n, int symmetric, double sums[2]) {
    sums[0] = sums[1] = 0;
    for (int j = 0; j < a->n; j++)
        for (int i = 0; i < a->m; i++) {
            int gi = to_global(i, row, rows), gj = to_global(j, column, columns);
            double value = symmetric && gi < gj ? noise(gj, gi) : noise(gi, gj);
            if (gi == gj) {
                if (symmetric) value += n;
                sums[0] += value;
            }
            sums[1] += value * value;
            a->data[(size_t)j * a->lda + i] = value;
        }
    Cdgsum2d(context, "A", " ", 2, 1, sums, 2, -1, -1);
}

static void expect_near(double value, double expected, const char *what) {
    if (!(fabs(value - expected) <= TOLERANCE * fmax(1, fabs(expected)))) die(what);
}

/* A run of ScaLAPACK that needs room: asks how much, and gets it. */
#define WITH_ROOM(call)                    \
    do {                                   \
        double asked = 0, *work = &asked;  \
        int lwork = -1;                    \
        call;                              \
        lwork = (int)asked;                \
        work = allocate(lwork);            \
        Cblacs_barrier(context, "A");      \
        begin = now();                     \
        call;                              \
        Cblacs_barrier(context, "A");      \
        seconds = now() - begin;           \
        free(work);                        \
    } while (0)

/* The time of one factorization; what it solves, with all ones as the right answer, is left in b. */
static double factorize(const char *test, int n, struct local *a, struct local *b) {
    double begin, seconds = 0, *tau = allocate(a->n);
    int info = 0, *pivots = calloc(a->m + BLOCK, sizeof *pivots);
    Cblacs_barrier(context, "A");
    begin = now();
    if (!strcmp(test, "lu")) pdgetrf_(&n, &n, a->data, &one, &one, a->descriptor, pivots, &info);
    else if (!strcmp(test, "cholesky")) pdpotrf_("L", &n, a->data, &one, &one, a->descriptor, &info);
    else if (strcmp(test, "qr")) die("no such test");
    Cblacs_barrier(context, "A");
    seconds = now() - begin;
    if (!strcmp(test, "qr"))
        WITH_ROOM(pdgeqrf_(&n, &n, a->data, &one, &one, a->descriptor, tau, work, &lwork, &info));
    if (info) die("the factorization failed");

    double factorization = seconds;
    if (!strcmp(test, "lu"))
        pdgetrs_("N", &n, &one, a->data, &one, &one, a->descriptor, pivots, b->data, &one, &one, b->descriptor, &info);
    else if (!strcmp(test, "cholesky"))
        pdpotrs_("L", &n, &one, a->data, &one, &one, a->descriptor, b->data, &one, &one, b->descriptor, &info);
    else {
        WITH_ROOM(pdormqr_("L", "T", &n, &one, &n, a->data, &one, &one, a->descriptor, tau, b->data, &one, &one,
                           b->descriptor, work, &lwork, &info));
        pdtrtrs_("U", "N", "N", &n, &one, a->data, &one, &one, a->descriptor, b->data, &one, &one, b->descriptor, &info);
    }
    if (info) die("the system was not solved");
    free(tau), free(pivots);
    return factorization;
}

static double solve(const char *test, int n) {
    struct local a = make(n, n), b = make(n, 1), ones = make(n, 1);
    double sums[2], plus = 1, nothing = 0;
    fill(&a, n, !strcmp(test, "cholesky"), sums);
    for (int i = 0; i < ones.m * ones.n; i++) ones.data[i] = 1;
    pdgemv_("N", &n, &n, &plus, a.data, &one, &one, a.descriptor, ones.data, &one, &one, ones.descriptor, &one, &nothing,
            b.data, &one, &one, b.descriptor, &one);
    double seconds = factorize(test, n, &a, &b);
    for (int i = 0; i < b.m * b.n; i++) expect_near(b.data[i], 1, "the solution is wrong");
    free(a.data), free(b.data), free(ones.data);
    return seconds;
}

static double eigenvalues(int n) {
    struct local a = make(n, n);
    double sums[2], begin, seconds = 0, *w = allocate(n), found[2] = {0, 0};
    int info = 0;
    fill(&a, n, 1, sums);
    WITH_ROOM(pdsyev_("N", "L", &n, a.data, &one, &one, a.descriptor, w, NULL, &one, &one, a.descriptor, work, &lwork,
                      &info));
    if (info) die("the eigenvalues were not found");
    for (int i = 0; i < n; i++) found[0] += w[i], found[1] += w[i] * w[i];
    expect_near(found[0], sums[0], "the sum of the eigenvalues is wrong");
    expect_near(found[1], sums[1], "the sum of their squares is wrong");
    free(a.data), free(w);
    return seconds;
}

static void run(const char *test, long order, int repetitions) {
    for (int i = 0; i < repetitions; i++)
        report(test, order, 1e3 * (strcmp(test, "eigenvalues") ? solve(test, order) : eigenvalues(order)), "ms");
}

int main(int count, char **tests) {
    return run_all(count, tests, run);
}
