/* Blocks of different lengths, and reductions whose result is shared out, while the program does something else. */
#include "fmpl_check.h"

static int rank, size;

/* Spoils a list that a call was started with: the call has a copy. */
static void spoil(size_t *list) {
    int r;
    for (r = 0; r < size; r++) list[r] = 123456789;
}

/* Rank r has r * n numbers; in `all` of the root the block of the last comes first. */
static void uneven(int n) {
    size_t *sizes = malloc(size * sizeof(size_t)), *starts = malloc(size * sizeof(size_t)), *list = malloc(size * sizeof(size_t));
    size_t *other = malloc(size * sizeof(size_t)), end = 0, own = (size_t)rank * n * sizeof(int);
    int *mine = malloc(own + 1), *all, *into = malloc(size * sizeof(int)), i, r, flag = 0, root = size - 1;
    fmpl_request req, barrier;
    for (r = size - 1; r >= 0; r--) {
        sizes[r] = (size_t)r * n * sizeof(int);
        starts[r] = end;
        end += sizes[r];
    }
    all = calloc(end / sizeof(int) + 1, sizeof(int));
    for (i = 0; i < rank * n; i++) mine[i] = 1000 * rank + i;

    memcpy(list, sizes, size * sizeof *list), memcpy(other, starts, size * sizeof *other);
    OK(rank == root ? fmpl_igatherv(mine, own, all, list, other, root, WORLD, &req)
                    : fmpl_igatherv(mine, own, NULL, NULL, NULL, root, WORLD, &req));
    spoil(list), spoil(other);
    OK(fmpl_ibarrier(WORLD, &barrier));
    OK(fmpl_wait(barrier));
    OK(fmpl_wait(req));
    for (r = 0; rank == root && r < size; r++)
        for (i = 0; i < r * n; i++) CHECK(all[starts[r] / sizeof(int) + i] == 1000 * r + i);

    memset(all, 0, end);
    memcpy(list, sizes, size * sizeof *list);
    OK(fmpl_iallgatherv(mine, own, all, list, NULL, WORLD, &req));
    spoil(list);
    while (!flag) OK(fmpl_test(req, &flag));
    for (r = 0; r < size; r++)
        for (i = 0; i < r * n; i++) CHECK(all[n * r * (r - 1) / 2 + i] == 1000 * r + i);

    memset(mine, 0, own);
    memcpy(list, sizes, size * sizeof *list);
    OK(fmpl_iscatterv(rank == root ? all : NULL, rank == root ? list : NULL, NULL, mine, own, root, WORLD, &req));
    spoil(list);
    OK(fmpl_wait(req));
    for (i = 0; i < rank * n; i++) CHECK(mine[i] == 1000 * rank + i);

    /* Every rank gives its number to all above it, whose blocks begin at the end. */
    for (r = 0; r < size; r++) list[r] = r > rank ? sizeof(int) : 0, starts[r] = 0;
    for (r = 0; r < size; r++) sizes[r] = r < rank ? sizeof(int) : 0, other[r] = (size - 1 - r) * sizeof(int), into[r] = -1;
    OK(fmpl_ialltoallv(&rank, list, starts, into, sizes, other, WORLD, &req));
    spoil(list), spoil(sizes), spoil(other), spoil(starts);
    OK(fmpl_wait(req));
    for (r = 0; r < size; r++) CHECK(into[size - 1 - r] == (r < rank ? r : -1));
    free(sizes), free(starts), free(list), free(other), free(mine), free(all), free(into);
}

/* The sums of all ranks: member r gets r * n of them, then each gets n; and the sum of those before. */
static void shares(int n) {
    int total = n * size * (size - 1) / 2, most = total > n * size ? total : n * size, i, r, sum = size * (size - 1) / 2;
    int *counts = malloc(size * sizeof(int)), first = n * rank * (rank - 1) / 2;
    double *data = malloc((most + 1) * sizeof(double)), *mine = malloc((rank * n + n + 1) * sizeof(double)), before = rank + 1;
    fmpl_request req, other;
    for (r = 0; r < size; r++) counts[r] = r * n;
    for (i = 0; i < most; i++) data[i] = rank + i;
    OK(fmpl_ireduce_scatter(data, mine, counts, fmpl_dsum, WORLD, &req));
    for (r = 0; r < size; r++) counts[r] = -1;
    OK(fmpl_iexscan(&before, 1, fmpl_dsum, WORLD, NULL, &other));
    OK(fmpl_wait(other));
    OK(fmpl_wait(req));
    CHECK(before == (rank ? rank * (rank + 1) / 2 : 1));
    for (i = 0; i < rank * n; i++) CHECK(mine[i] == sum + (double)size * (first + i));
    OK(fmpl_ireduce_scatter_block(data, mine, n, fmpl_dsum, WORLD, &req));
    OK(fmpl_wait(req));
    for (i = 0; i < n; i++) CHECK(mine[i] == sum + (double)size * (rank * n + i));
    free(counts), free(data), free(mine);
}

/* Nothing of this is heard by the others. */
static void wrong(void) {
    double x[16] = {0};
    int counts[8] = {1, 1, 1, 1, 1, 1, 1, -1};
    size_t sizes[8] = {8, 8, 8, 8, 8, 8, 8, 8}, starts[8] = {0}, huge[8] = {(size_t)-1};
    fmpl_request req = {-5};
    FAILS(FMPL_ERR_INVALID, "null", fmpl_igatherv(x, 8, x + 8, sizes, NULL, 0, WORLD, NULL));
    FAILS(FMPL_ERR_COMM, "77", fmpl_ialltoallv(x, sizes, NULL, x + 8, sizes, NULL, 77, &req));
    FAILS(FMPL_ERR_RANK, "rank -1 does not exist", fmpl_igatherv(x, 8, x + 8, sizes, NULL, -1, WORLD, &req));
    FAILS(FMPL_ERR_RANK, "does not exist", fmpl_iscatterv(x, sizes, NULL, x + 8, 8, size, WORLD, &req));
    FAILS(FMPL_ERR_INVALID, "the sizes: a null pointer", fmpl_iallgatherv(x, 8, x + 8, NULL, NULL, WORLD, &req));
    FAILS(FMPL_ERR_INVALID, "the own block has 3 bytes, and the size of rank",
          fmpl_iallgatherv(x, 3, x + 8, sizes, NULL, WORLD, &req));
    FAILS(FMPL_ERR_INVALID, "more than any memory", fmpl_ialltoallv(x, huge, NULL, x + 8, sizes, NULL, WORLD, &req));
    FAILS(FMPL_ERR_INVALID, "the two buffers overlap", fmpl_iallgatherv(x, 8, x, sizes, NULL, WORLD, &req));
    if (size > 1)
        FAILS(FMPL_ERR_INVALID, "blocks 0 and 1 overlap", fmpl_iallgatherv(x, 8, x + 8, sizes, starts, WORLD, &req));
    FAILS(FMPL_ERR_INVALID, "the counts: a null pointer", fmpl_ireduce_scatter(x, x + 8, NULL, fmpl_dsum, WORLD, &req));
    FAILS(FMPL_ERR_INVALID, "-1 is negative", fmpl_ireduce_scatter(x, x + 8, counts + 8 - size, fmpl_dsum, WORLD, &req));
    FAILS(FMPL_ERR_INVALID, "the count: -2 is negative", fmpl_ireduce_scatter_block(x, x + 8, -2, fmpl_dsum, WORLD, &req));
    FAILS(FMPL_ERR_INVALID, "the buffer of the result does not lie at a multiple",
          fmpl_ireduce_scatter_block(x, (char *)(x + 8) + 4, 1, fmpl_dsum, WORLD, &req));
    FAILS(FMPL_ERR_INVALID, "overlap", fmpl_ireduce_scatter_block(x, x, 1, fmpl_dsum, WORLD, &req));
    FAILS(FMPL_ERR_FUNC, "0 names", fmpl_ireduce_scatter_block(x, x + 8, 1, (fmpl_func){0}, WORLD, &req));
    GIVES(-5, req.id);
    OK(fmpl_barrier(WORLD));
}

/* Sizes that do not fit together are told to all when they wait, and nothing is moved. */
static void disagree(void) {
    int x[8] = {7, 7}, all[8] = {0};
    size_t sizes[8] = {4, 4, 4, 4, 4, 4, 4, 4};
    fmpl_comm group;
    fmpl_request req;
    OK(fmpl_comm_create(&group, 1));
    OK(fmpl_igatherv(x, rank == 1 ? 8 : 4, rank ? NULL : all, sizes, NULL, 0, group, &req));
    FAILS(FMPL_ERR_MISMATCH, "gatherv(8 bytes for rank 0)", fmpl_wait(req));
    GIVES(0, all[0]);
    OK(fmpl_barrier(WORLD));
}

int main(void) {
    fmpl_request req;
    double x[2] = {0};
    FAILS(FMPL_ERR_NOT_STARTED, "fmpl_init", fmpl_ireduce_scatter_block(x, x + 1, 1, fmpl_dsum, WORLD, &req));
    OK(fmpl_init(NULL, NULL, 1));
    OK(fmpl_comm_rank(WORLD, &rank));
    OK(fmpl_comm_size(WORLD, &size));
    uneven(0);
    uneven(1);
    uneven(20000);
    shares(0);
    shares(1);
    shares(20000);
    wrong();
    if (size > 1) disagree();
    /* The group that is broken cannot be freed any more; the rest ends. */
    GIVES(size > 1 ? FMPL_ERR_MISMATCH : FMPL_SUCCESS, fmpl_finalize());
    return 0;
}
