/* What members do together: every call, every function, long and short. */
#include "fmpl_check.h"

#include <complex.h>
#include <math.h>
#include <stdint.h>

enum { LONG = 50000 };

static int rank, size;

static int sum_of_ranks(void) { return size * (size - 1) / 2; }

static void broadcast(void) {
    static int data[LONG];
    int root, i, n;
    for (root = 0; root < size; root++)
        for (n = 0; n <= LONG; n = n ? n * 37 : 1) {
            for (i = 0; i < n; i++) data[i] = rank == root ? root + i : -1;
            OK(fmpl_bcast(data, n * sizeof *data, root, WORLD));
            for (i = 0; i < n; i++) CHECK(data[i] == root + i);
        }
}

/* One element of each rank, combined at all; the result is compared with that of a loop. */
#define TRY(type, func, mine, combine)                                  \
    do {                                                                \
        int r_;                                                         \
        type a = 0, b, value;                                           \
        for (r_ = 0; r_ < size; r_++) {                                 \
            int r = r_;                                                 \
            b = (mine);                                                 \
            a = r_ ? (combine) : b;                                     \
        }                                                               \
        {                                                               \
            int r = rank;                                               \
            value = (mine);                                             \
        }                                                               \
        OK(fmpl_allreduce(&value, 1, func, WORLD, NULL));               \
        if (value != a) failed(__FILE__, __LINE__, #func, (long)creal(value)); \
    } while (0)

/* Different signs and sizes; some equal in size. */
#define REAL (((r % 2) ? -1 : 1) * (2 + (r * 5 + 1) % 3))
#define COMPLEX (REAL + (r + 1) * I)
#define SIZE1(z) (fabs(creal(z)) + fabs(cimag(z)))

#define INTEGERS(type, letter)                                                             \
    TRY(type, fmpl_##letter##sum, REAL, a + b);                                            \
    TRY(type, fmpl_##letter##max, REAL, llabs((long long)b) > llabs((long long)a) ? b : a); \
    TRY(type, fmpl_##letter##min, REAL, llabs((long long)b) < llabs((long long)a) ? b : a); \
    TRY(type, fmpl_##letter##pmax, REAL, b > a ? b : a);                                   \
    TRY(type, fmpl_##letter##pmin, REAL, b < a ? b : a);                                   \
    TRY(type, fmpl_##letter##prod, REAL, a * b);                                           \
    TRY(type, fmpl_##letter##land, r, a && b);                                             \
    TRY(type, fmpl_##letter##lor, r % 2, a || b);                                          \
    TRY(type, fmpl_##letter##lxor, (r % 2) * 3, !a != !b);                                 \
    TRY(type, fmpl_##letter##band, 6 + r, a & b);                                          \
    TRY(type, fmpl_##letter##bor, 1 << r, a | b);                                          \
    TRY(type, fmpl_##letter##bxor, 6 + r, a ^ b)

#define REALS(type, letter)                                                            \
    TRY(type, fmpl_##letter##sum, REAL * 0.5, a + b);                                  \
    TRY(type, fmpl_##letter##max, REAL * 0.5, fabs((double)b) > fabs((double)a) ? b : a); \
    TRY(type, fmpl_##letter##min, REAL * 0.5, fabs((double)b) < fabs((double)a) ? b : a); \
    TRY(type, fmpl_##letter##pmax, REAL * 0.5, b > a ? b : a);                         \
    TRY(type, fmpl_##letter##pmin, REAL * 0.5, b < a ? b : a);                         \
    TRY(type, fmpl_##letter##prod, REAL * 0.5, a * b)

#define COMPLEXES(type, letter)                                          \
    TRY(type, fmpl_##letter##sum, COMPLEX, a + b);                       \
    TRY(type, fmpl_##letter##max, COMPLEX, SIZE1(b) > SIZE1(a) ? b : a); \
    TRY(type, fmpl_##letter##min, COMPLEX, SIZE1(b) < SIZE1(a) ? b : a); \
    TRY(type, fmpl_##letter##prod, COMPLEX, a * b)

static void functions(void) {
    INTEGERS(int, i);
    INTEGERS(int64_t, l);
    REALS(float, s);
    REALS(double, d);
    COMPLEXES(float complex, c);
    COMPLEXES(double complex, z);
    /* 64 bits count. */
    {
        int64_t value = (int64_t)1 << 40;
        OK(fmpl_allreduce(&value, 1, fmpl_lsum, WORLD, NULL));
        CHECK(value == ((int64_t)size << 40));
    }
}

static void long_vectors(void) {
    static double data[LONG], work[LONG];
    int i, root = size - 1;
    for (i = 0; i < LONG; i++) data[i] = rank + i;
    OK(fmpl_reduce(data, LONG, fmpl_dsum, root, WORLD, work));
    for (i = 0; i < LONG; i++) CHECK(data[i] == (rank == root ? sum_of_ranks() + (double)size * i : rank + i));
    for (i = 0; i < LONG; i++) data[i] = rank + i;
    OK(fmpl_scan(data, LONG, fmpl_dsum, WORLD, NULL));
    for (i = 0; i < LONG; i++) CHECK(data[i] == rank * (rank + 1) / 2 + (rank + 1.0) * i);
    OK(fmpl_allreduce(data, 0, fmpl_dsum, WORLD, NULL));
    OK(fmpl_allreduce(NULL, 0, fmpl_dsum, WORLD, NULL));
}

/* Affine maps x -> ax + b: the order of their composition matters. */
typedef struct { int a, b, padding; } map;

static int inside_code, calls;

static void compose(void *inout, const void *in, int count) {
    map *f = inout;
    const map *g = in;
    int i;
    for (i = 0; i < count; i++) f[i].b = (g[i].a * f[i].b + g[i].b) % 1009, f[i].a = f[i].a * g[i].a % 1009;
    inside_code = fmpl_barrier(WORLD);
    calls++;
}

static void own_functions(void) {
    static map maps[10000];
    fmpl_func func, old;
    int i, r, n;
    OK(fmpl_func_create(compose, sizeof *maps, &func));
    for (n = 1; n <= 10000; n *= 100) {
        for (i = 0; i < n; i++) maps[i] = (map){rank + 2, rank + i % 7, rank};
        OK(fmpl_allreduce(maps, n, func, WORLD, NULL));
        for (i = 0; i < n; i++) {
            int a = 1, b = 0;
            for (r = 0; r < size; r++) b = r ? ((r + 2) * b + r + i % 7) % 1009 : i % 7, a = a * (r + 2) % 1009;
            CHECK(maps[i].a == a && maps[i].b == b && maps[i].padding == 0);
        }
    }
    if (calls) GIVES(FMPL_ERR_INSIDE, inside_code);
    CHECK(size > 1 || calls == 0);
    old = func;
    OK(fmpl_func_free(&func));
    FAILS(FMPL_ERR_FUNC, "freed", fmpl_allreduce(maps, 1, func, WORLD, NULL));
    FAILS(FMPL_ERR_FUNC, "freed", fmpl_allreduce(maps, 1, old, WORLD, NULL));
    FAILS(FMPL_ERR_FUNC, "freed", fmpl_func_free(&old));
    func = fmpl_dsum;
    FAILS(FMPL_ERR_FUNC, "names no", fmpl_func_free(&func));
    FAILS(FMPL_ERR_INVALID, "null", fmpl_func_create(NULL, 8, &func));
    FAILS(FMPL_ERR_INVALID, "null", fmpl_func_create(compose, 8, NULL));
    FAILS(FMPL_ERR_INVALID, "0 bytes", fmpl_func_create(compose, 0, &func));
}

static void blocks(int n) {
    int *mine = malloc(n * sizeof(int)), *all = malloc(size * n * sizeof(int)), *into = malloc(size * n * sizeof(int));
    size_t bytes = n * sizeof(int);
    int i, r, root = size / 2;
    for (i = 0; i < n; i++) mine[i] = 1000 * rank + i;
    memset(all, 0, size * bytes);
    OK(fmpl_gather(mine, bytes, rank == root ? all : NULL, root, WORLD));
    for (r = 0; rank == root && r < size; r++)
        for (i = 0; i < n; i++) CHECK(all[r * n + i] == 1000 * r + i);
    memset(all, 0, size * bytes);
    OK(fmpl_allgather(mine, bytes, all, WORLD));
    for (r = 0; r < size; r++)
        for (i = 0; i < n; i++) CHECK(all[r * n + i] == 1000 * r + i);
    memset(mine, 0, bytes);
    OK(fmpl_scatter(rank == root ? all : NULL, bytes, mine, root, WORLD));
    for (i = 0; i < n; i++) CHECK(mine[i] == 1000 * rank + i);
    for (r = 0; r < size; r++)
        for (i = 0; i < n; i++) all[r * n + i] = 100 * rank + r + i;
    OK(fmpl_alltoall(all, bytes, into, WORLD));
    for (r = 0; r < size; r++)
        for (i = 0; i < n; i++) CHECK(into[r * n + i] == 100 * r + rank + i);
    if (n) {
        FAILS(FMPL_ERR_INVALID, "overlap", fmpl_allgather(all, bytes, all, WORLD));
        FAILS(FMPL_ERR_INVALID, "overlap", fmpl_alltoall(all, bytes, all, WORLD));
    }
    free(mine), free(all), free(into);
}

/* Rank r has r * n numbers; the blocks of the last come first. */
static void uneven(int n) {
    size_t *sizes = malloc(size * sizeof(size_t)), *starts = malloc(size * sizeof(size_t)), end = 0;
    size_t own = (size_t)rank * n * sizeof(int), *ones = malloc(size * sizeof(size_t));
    int *mine = malloc(own + 1), *all, *into = malloc(size * sizeof(int)), *counts = malloc(size * sizeof(int));
    int i, r, root = size - 1, total = n * size * (size - 1) / 2;
    double *data = malloc((total + 1) * sizeof(double)), *share = malloc((rank * n + 1) * sizeof(double));
    for (r = size - 1; r >= 0; r--) {
        sizes[r] = (size_t)r * n * sizeof(int);
        starts[r] = end;
        end += sizes[r];
    }
    all = malloc(end + sizeof(int));
    for (i = 0; i < rank * n; i++) mine[i] = 1000 * rank + i;
    memset(all, 0, end + sizeof(int));
    OK(rank == root ? fmpl_gatherv(mine, own, all, sizes, starts, root, WORLD)
                    : fmpl_gatherv(mine, own, NULL, NULL, NULL, root, WORLD));
    for (r = 0; rank == root && r < size; r++)
        for (i = 0; i < r * n; i++) CHECK(all[starts[r] / sizeof(int) + i] == 1000 * r + i);
    memset(all, 0, end + sizeof(int));
    OK(fmpl_allgatherv(mine, own, all, sizes, NULL, WORLD));
    for (r = 0; r < size; r++)
        for (i = 0; i < r * n; i++) CHECK(all[n * r * (r - 1) / 2 + i] == 1000 * r + i);
    memset(mine, 0, own);
    OK(fmpl_scatterv(all, sizes, NULL, mine, own, root, WORLD));
    for (i = 0; i < rank * n; i++) CHECK(mine[i] == 1000 * rank + i);
    /* Every rank gives its number to all above it. */
    for (r = 0; r < size; r++) sizes[r] = r > rank ? sizeof(int) : 0, starts[r] = 0;
    for (r = 0; r < size; r++) ones[r] = r < rank ? sizeof(int) : 0, into[r] = -1;
    OK(fmpl_alltoallv(&rank, sizes, starts, into, ones, NULL, WORLD));
    for (r = 0; r < size; r++) CHECK(into[r] == (r < rank ? r : -1));
    for (r = 0; r < size; r++) counts[r] = r * n;
    for (i = 0; i < total; i++) data[i] = rank + i;
    OK(fmpl_reduce_scatter(data, share, counts, fmpl_dsum, WORLD));
    for (i = 0; i < rank * n; i++) CHECK(share[i] == sum_of_ranks() + (double)size * (n * rank * (rank - 1) / 2 + i));
    CHECK(total == 0 || data[0] == rank);
    if (n) {
        double ranks[8] = {0, 1, 2, 3, 4, 5, 6, 7}, one = 0, before = rank + 1;
        OK(fmpl_reduce_scatter_block(ranks, &one, 1, fmpl_dsum, WORLD));
        CHECK(one == (double)size * rank);
        OK(fmpl_exscan(&before, 1, fmpl_dsum, WORLD, NULL));
        CHECK(before == (rank ? rank * (rank + 1) / 2 : 1));
        FAILS(FMPL_ERR_INVALID, "overlap", fmpl_reduce_scatter_block(ranks, ranks, 1, fmpl_dsum, WORLD));
        FAILS(FMPL_ERR_INVALID, "null", fmpl_allgatherv(mine, own, all, NULL, NULL, WORLD));
        FAILS(FMPL_ERR_INVALID, "own block", fmpl_allgatherv(mine, 3, all, ones, NULL, WORLD));
        for (r = 0; r < size; r++) sizes[r] = (size_t)-1;
        FAILS(FMPL_ERR_INVALID, "more than any memory", fmpl_alltoallv(all, sizes, NULL, into, ones, NULL, WORLD));
        if (size > 1) {
            for (r = 0; r < size; r++) sizes[r] = 8, starts[r] = 4 * r;
            FAILS(FMPL_ERR_INVALID, "blocks 0 and 1 overlap", fmpl_allgatherv(mine, 8, all, sizes, starts, WORLD));
        }
    }
    free(sizes), free(starts), free(ones), free(mine), free(all), free(into), free(counts), free(data), free(share);
}

static void wrong(void) {
    double x[2] = {0};
    FAILS(FMPL_ERR_RANK, "rank -1", fmpl_bcast(x, 8, -1, WORLD));
    FAILS(FMPL_ERR_RANK, "does not exist", fmpl_reduce(x, 1, fmpl_dsum, size, WORLD, NULL));
    FAILS(FMPL_ERR_INVALID, "-3 is negative", fmpl_allreduce(x, -3, fmpl_dsum, WORLD, NULL));
    FAILS(FMPL_ERR_INVALID, "null", fmpl_allreduce(NULL, 3, fmpl_dsum, WORLD, NULL));
    FAILS(FMPL_ERR_INVALID, "alignment", fmpl_allreduce((char *)x + 1, 1, fmpl_dsum, WORLD, NULL));
    FAILS(FMPL_ERR_FUNC, "0 names", fmpl_scan(x, 1, (fmpl_func){0}, WORLD, NULL));
    FAILS(FMPL_ERR_INVALID, "more than any memory", fmpl_allgather(x, (size_t)-1, x, WORLD));
    FAILS(FMPL_ERR_INVALID, "more than any memory", fmpl_bcast(x, (size_t)-1, 0, WORLD));
    FAILS(FMPL_ERR_RANK, "does not exist", fmpl_gather(x, 8, x, 99, WORLD));
    FAILS(FMPL_ERR_RANK, "does not exist", fmpl_scatter(x, 8, x, 99, WORLD));
    FAILS(FMPL_ERR_COMM, "77", fmpl_barrier(77));
    /* Nothing of this has disturbed anyone. */
    OK(fmpl_barrier(WORLD));
}

/* Ranks that disagree are told, and others are not disturbed. */
static void disagree(void) {
    fmpl_comm group;
    int x[2] = {0, 0};
    OK(fmpl_comm_create(&group, 1));
    if (size > 1) {
        FAILS(FMPL_ERR_MISMATCH, "must make the same call", fmpl_allreduce(x, 1 + (rank == 0), fmpl_isum, group, NULL));
        CHECK(fmpl_barrier(group) != FMPL_SUCCESS);
        OK(fmpl_comm_create(&group, 1));
        size_t sizes[8] = {4, 4, 4, 4, 4, 4, 4, 4};
        FAILS(FMPL_ERR_MISMATCH, "gatherv(8 bytes for rank 0)",
              fmpl_gatherv(x, rank == 1 ? 8 : 4, rank ? NULL : (int[8]){0}, sizes, NULL, 0, group));
    }
    OK(fmpl_barrier(WORLD));
}

int main(void) {
    OK(fmpl_init(NULL, NULL, 1));
    OK(fmpl_comm_rank(WORLD, &rank));
    OK(fmpl_comm_size(WORLD, &size));
    broadcast();
    functions();
    long_vectors();
    own_functions();
    blocks(0);
    blocks(1);
    blocks(30000);
    uneven(0);
    uneven(1);
    uneven(9000);
    wrong();
    disagree();
    /* The group that is broken cannot be freed any more; the rest ends. */
    GIVES(size > 1 ? FMPL_ERR_MISMATCH : FMPL_SUCCESS, fmpl_finalize());
    FAILS(FMPL_ERR_NOT_STARTED, "fmpl_init", fmpl_barrier(WORLD));
    return 0;
}
