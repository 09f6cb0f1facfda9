/* xssyevr, xdsyevr, xcheevr and xzheevr hand VL and VU to their eigensolver without ever having set them when all eigenvalues are asked for,
 * and say that a test FAILED if these are not equal to what they were. What lies on the stack by chance may be no number, which is not
 * equal to itself. To be preloaded into them: says so, and in which call. Calls are counted for each size of a grid by itself, since only
 * those who are in a grid make its calls: so all of them say the same. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>

/* JOBZ, RANGE, UPLO, N, A, IA, JA, DESCA, VL, VU, and what is only handed on: up to 26 arguments and the lengths of three texts. */
#define ARGUMENTS 29
enum { RANGE = 1, DESCA = 7, VL = 8, VU = 9 };

/* Where a descriptor has its grid. */
enum { CONTEXT = 1 };

/* No grid of these programs has as many ranks. */
#define RANKS 64

typedef void *Arguments[ARGUMENTS];
typedef void Solver(void *, void *, void *, void *, void *, void *, void *, void *, void *, void *, void *, void *, void *, void *, void *,
                    void *, void *, void *, void *, void *, void *, void *, void *, void *, void *, void *, void *, void *, void *);

typedef void Gridinfo(const int *context, int *rows, int *columns, int *row, int *column);

static void *find(const char *name)
{
    void *found = dlsym(RTLD_NEXT, name);
    if (!found) {
        fprintf(stderr, "unset words: there is no %s: %s\n", name, dlerror());
        exit(1);
    }
    return found;
}

static int grid_size(const int *descriptor)
{
    int rows, columns, row, column;
    ((Gridinfo *)find("blacs_gridinfo_"))(&descriptor[CONTEXT], &rows, &columns, &row, &column);
    return rows * columns;
}

static void look(Arguments a, int is_double, const char *name)
{
    static int calls[RANKS];
    int size = grid_size(a[DESCA]);
    char range = *(char *)a[RANGE];
    int is_set = range == 'V' || range == 'v';
    double low = is_double ? *(double *)a[VL] : *(float *)a[VL];
    double high = is_double ? *(double *)a[VU] : *(float *)a[VU];
    Solver *solver = (Solver *)find(name);
    if (size < 0 || size >= RANKS) {
        fprintf(stderr, "unset words: a grid of %d ranks\n", size);
        exit(1);
    }
    calls[size]++;
    if (!is_set && (low != low || high != high))
        fprintf(stderr, "unset words: VL or VU of %s is no number, call %d:%d\n", name, size, calls[size]);
    solver(a[0], a[1], a[2], a[3], a[4], a[5], a[6], a[7], a[8], a[9], a[10], a[11], a[12], a[13], a[14], a[15], a[16], a[17], a[18], a[19],
           a[20], a[21], a[22], a[23], a[24], a[25], a[26], a[27], a[28]);
}

#define WATCH(name, is_double)                                                                                                          \
    void name(void *a, void *b, void *c, void *d, void *e, void *f, void *g, void *h, void *i, void *j, void *k, void *l, void *m,     \
              void *n, void *o, void *p, void *q, void *r, void *s, void *t, void *u, void *v, void *w, void *x, void *y, void *z,     \
              void *first, void *second, void *third)                                                                                  \
    {                                                                                                                                  \
        Arguments all = {a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p, q, r, s, t, u, v, w, x, y, z, first, second, third};          \
        look(all, is_double, #name);                                                                                                   \
    }

WATCH(pssyevr_, 0)
WATCH(pdsyevr_, 1)
WATCH(pcheevr_, 0)
WATCH(pzheevr_, 1)
