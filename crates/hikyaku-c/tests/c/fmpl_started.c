/* Collective calls that go on while the program does something else. */
#include "fmpl_check.h"

#include <sys/wait.h>

enum { LONG = 50000, MANY = 300 };

static int rank, size;

/* Waits for a call by looking at it. */
static void poll(fmpl_request req) {
    int flag;
    do OK(fmpl_test(req, &flag));
    while (!flag);
    FAILS(FMPL_ERR_REQUEST, "waited for", fmpl_test(req, &flag));
}

/* By waiting or by looking, in turn. */
static void end(fmpl_request req) {
    static int turn;
    if (turn++ % 2) {
        poll(req);
    } else {
        OK(fmpl_wait(req));
    }
    FAILS(FMPL_ERR_REQUEST, "waited for", fmpl_wait(req));
}

static int sum_of_ranks(void) { return size * (size - 1) / 2; }

static void numbers(int n) {
    static double data[LONG], more[LONG];
    fmpl_request req, other;
    int i, root;
    for (root = 0; root < size; root++) {
        for (i = 0; i < n; i++) data[i] = rank == root ? root + i : -1, more[i] = rank + i;
        OK(fmpl_ibcast(data, n * sizeof *data, root, WORLD, &req));
        OK(fmpl_ireduce(more, n, fmpl_dsum, root, WORLD, NULL, &other));
        end(other);
        end(req);
        for (i = 0; i < n; i++) {
            CHECK(data[i] == root + i);
            CHECK(more[i] == (rank == root ? sum_of_ranks() + (double)size * i : rank + i));
        }
    }
    for (i = 0; i < n; i++) data[i] = more[i] = rank + i;
    OK(fmpl_iallreduce(data, n, fmpl_dsum, WORLD, NULL, &req));
    OK(fmpl_iscan(more, n, fmpl_dsum, WORLD, NULL, &other));
    end(req);
    end(other);
    for (i = 0; i < n; i++) {
        CHECK(data[i] == sum_of_ranks() + (double)size * i);
        CHECK(more[i] == rank * (rank + 1) / 2 + (rank + 1.0) * i);
    }
}

static void blocks(int n) {
    size_t bytes = n * sizeof(int);
    int *mine = malloc(bytes + 1), *all = calloc(size * n + 1, sizeof(int)), *into = calloc(size * n + 1, sizeof(int));
    int i, r, root = size / 2;
    fmpl_request req;
    for (i = 0; i < n; i++) mine[i] = 1000 * rank + i;
    OK(fmpl_igather(mine, bytes, rank == root ? all : NULL, root, WORLD, &req));
    end(req);
    for (r = 0; rank == root && r < size; r++)
        for (i = 0; i < n; i++) CHECK(all[r * n + i] == 1000 * r + i);
    memset(all, 0, size * bytes);
    OK(fmpl_iallgather(mine, bytes, all, WORLD, &req));
    end(req);
    for (r = 0; r < size; r++)
        for (i = 0; i < n; i++) CHECK(all[r * n + i] == 1000 * r + i);
    memset(mine, 0, bytes);
    OK(fmpl_iscatter(rank == root ? all : NULL, bytes, mine, root, WORLD, &req));
    end(req);
    for (i = 0; i < n; i++) CHECK(mine[i] == 1000 * rank + i);
    for (r = 0; r < size; r++)
        for (i = 0; i < n; i++) all[r * n + i] = 100 * rank + r + i;
    OK(fmpl_ialltoall(all, bytes, into, WORLD, &req));
    end(req);
    for (r = 0; r < size; r++)
        for (i = 0; i < n; i++) CHECK(into[r * n + i] == 100 * r + rank + i);
    free(mine), free(all), free(into);
}

/* A call has not ended before all have started it. */
static void looking(void) {
    fmpl_request req;
    int flag, r;
    if (rank > 0) {
        OK(fmpl_ibarrier(WORLD, &req));
        flag = -1;
        OK(fmpl_test(req, &flag));
        GIVES(0, flag);
        FAILS(FMPL_ERR_UNDER_WAY, "fmpl_request_free", fmpl_request_free(&req));
        OK(fmpl_send(NULL, 0, 0, 0, WORLD));
    } else {
        for (r = 1; r < size; r++) OK(fmpl_recv(NULL, 0, r, 0, WORLD));
        OK(fmpl_ibarrier(WORLD, &req));
    }
    poll(req);
}

/* Two groups, whose calls are started and waited for in different orders: with blocking calls all would hang. */
static void two_groups(void) {
    static double a[LONG], b[LONG];
    fmpl_comm first, second;
    fmpl_request in_first, in_second;
    int i;
    OK(fmpl_comm_create(&first, 1));
    OK(fmpl_comm_split(WORLD, 7, -rank, &second));
    for (i = 0; i < LONG; i++) a[i] = rank, b[i] = i;
    if (rank % 2) {
        OK(fmpl_iallreduce(a, LONG, fmpl_dsum, first, NULL, &in_first));
        OK(fmpl_iallreduce(b, LONG, fmpl_dsum, second, NULL, &in_second));
        OK(fmpl_wait(in_first));
        OK(fmpl_wait(in_second));
    } else {
        OK(fmpl_iallreduce(b, LONG, fmpl_dsum, second, NULL, &in_second));
        OK(fmpl_wait(in_second));
        OK(fmpl_iallreduce(a, LONG, fmpl_dsum, first, NULL, &in_first));
        poll(in_first);
    }
    for (i = 0; i < LONG; i++) CHECK(a[i] == sum_of_ranks() && b[i] == (double)size * i);
    OK(fmpl_comm_free(&first));
    OK(fmpl_comm_free(&second));
}

/* New groups while a call is under way in an old one. */
static void groups_meanwhile(void) {
    static double data[LONG];
    fmpl_comm made[40];
    fmpl_request req;
    int i;
    for (i = 0; i < LONG; i++) data[i] = rank;
    OK(fmpl_iallreduce(data, LONG, fmpl_dsum, WORLD, NULL, &req));
    for (i = 0; i < 40; i++) OK(fmpl_comm_create(&made[i], 1));
    OK(fmpl_wait(req));
    for (i = 0; i < LONG; i++) CHECK(data[i] == sum_of_ranks());
    for (i = 0; i < 40; i++) OK(fmpl_comm_free(&made[i]));
}

/* Waits for messages move calls on: the first rank's call needs the work of the others, who wait for its message. */
static void moved_by_other_waits(void) {
    static double data[LONG];
    fmpl_request req;
    int i;
    for (i = 0; i < LONG; i++) data[i] = rank;
    OK(fmpl_iallreduce(data, LONG, fmpl_dsum, WORLD, NULL, &req));
    if (rank == 0) {
        OK(fmpl_wait(req));
        for (i = 1; i < size; i++) OK(fmpl_send(NULL, 0, i, 0, WORLD));
    } else {
        OK(fmpl_recv(NULL, 0, 0, 0, WORLD));
        OK(fmpl_wait(req));
    }
    for (i = 0; i < LONG; i++) CHECK(data[i] == sum_of_ranks());
}

/* Many at once, ended in the opposite order; and a blocking call comes after those before it. */
static void many(void) {
    static int values[MANY];
    fmpl_request reqs[MANY];
    int i, flag, total = 1;
    for (i = 0; i < MANY; i++) {
        values[i] = rank + i;
        OK(fmpl_iallreduce(&values[i], 1, fmpl_isum, WORLD, NULL, &reqs[i]));
    }
    for (i = MANY - 1; i >= 10; i--) OK(fmpl_wait(reqs[i]));
    OK(fmpl_allreduce(&total, 1, fmpl_isum, WORLD, NULL));
    GIVES(size, total);
    for (i = 0; i < 10; i++) {
        flag = 0;
        OK(fmpl_test(reqs[i], &flag));
        GIVES(1, flag);
    }
    for (i = 0; i < MANY; i++) GIVES(sum_of_ranks() + size * i, values[i]);
    /* The numbers of requests begin anew at some time. */
    for (i = 0; i < 3000; i++) {
        OK(fmpl_ibarrier(WORLD, &reqs[0]));
        OK(fmpl_wait(reqs[0]));
    }
}

/* Affine maps x -> ax + b: the order of their composition matters. */
typedef struct { int a, b; } map;

static int inside_code, calls;

static void compose(void *inout, const void *in, int count) {
    map *f = inout;
    const map *g = in;
    fmpl_request req = {-5};
    int i;
    for (i = 0; i < count; i++) f[i].b = (g[i].a * f[i].b + g[i].b) % 1009, f[i].a = f[i].a * g[i].a % 1009;
    inside_code = fmpl_ibarrier(WORLD, &req);
    if (req.id != -5) inside_code = 1;
    calls++;
}

static void own_functions(void) {
    static map maps[10000], parts[10000];
    fmpl_func func;
    fmpl_request req, other;
    int i, r, n;
    for (n = 1; n <= 10000; n *= 100) {
        OK(fmpl_func_create(compose, sizeof *maps, &func));
        for (i = 0; i < n; i++) maps[i] = parts[i] = (map){rank + 2, rank + i % 7};
        OK(fmpl_iallreduce(maps, n, func, WORLD, NULL, &req));
        OK(fmpl_iscan(parts, n, func, WORLD, NULL, &other));
        /* What was started keeps it. */
        OK(fmpl_func_free(&func));
        end(req);
        end(other);
        for (i = 0; i < n; i++) {
            int a = 1, b = 0;
            for (r = 0; r < size; r++) {
                b = r ? ((r + 2) * b + r + i % 7) % 1009 : i % 7, a = a * (r + 2) % 1009;
                if (r == rank) CHECK(parts[i].a == a && parts[i].b == b);
            }
            CHECK(maps[i].a == a && maps[i].b == b);
        }
    }
    if (calls) GIVES(FMPL_ERR_INSIDE, inside_code);
    CHECK(size == 1 || rank == 0 || calls > 0);
}

/* Nothing of this is heard by the others. */
static void wrong(void) {
    double x[2] = {0};
    fmpl_request req = {-5};
    FAILS(FMPL_ERR_INVALID, "null", fmpl_ibarrier(WORLD, NULL));
    FAILS(FMPL_ERR_INVALID, "null", fmpl_ialltoall(x, 8, x + 1, WORLD, NULL));
    FAILS(FMPL_ERR_COMM, "77", fmpl_ibarrier(77, &req));
    FAILS(FMPL_ERR_RANK, "rank -1", fmpl_ibcast(x, 8, -1, WORLD, &req));
    FAILS(FMPL_ERR_RANK, "does not exist", fmpl_ireduce(x, 1, fmpl_dsum, size, WORLD, NULL, &req));
    FAILS(FMPL_ERR_RANK, "does not exist", fmpl_igather(x, 8, x, 99, WORLD, &req));
    FAILS(FMPL_ERR_RANK, "does not exist", fmpl_iscatter(x, 8, x, 99, WORLD, &req));
    FAILS(FMPL_ERR_INVALID, "null", fmpl_ibcast(NULL, 8, 0, WORLD, &req));
    FAILS(FMPL_ERR_INVALID, "-3 is negative", fmpl_iallreduce(x, -3, fmpl_dsum, WORLD, NULL, &req));
    FAILS(FMPL_ERR_INVALID, "alignment", fmpl_iscan((char *)x + 1, 1, fmpl_dsum, WORLD, NULL, &req));
    FAILS(FMPL_ERR_FUNC, "0 names", fmpl_iscan(x, 1, (fmpl_func){0}, WORLD, NULL, &req));
    FAILS(FMPL_ERR_INVALID, "overlap", fmpl_iallgather(x, 8, x, WORLD, &req));
    FAILS(FMPL_ERR_INVALID, "overlap", fmpl_ialltoall(x, 8, x, WORLD, &req));
    FAILS(FMPL_ERR_INVALID, "more than any memory", fmpl_iallgather(x, (size_t)-1, x, WORLD, &req));
    GIVES(-5, req.id);
    FAILS(FMPL_ERR_REQUEST, "-5 names no", fmpl_wait(req));
    FAILS(FMPL_ERR_REQUEST, "names no", fmpl_wait((fmpl_request){1 << 30}));
    FAILS(FMPL_ERR_REQUEST, "names no", fmpl_wait((fmpl_request){0x7fffffff}));
    OK(fmpl_barrier(WORLD));
}

/* What can be done with the request of a call, and what not. */
static void requests(void) {
    fmpl_request req, old;
    fmpl_comm group;
    int flag, status;
    pid_t child;
    OK(fmpl_comm_create(&group, 1));
    OK(fmpl_ibarrier(group, &req));
    FAILS(FMPL_ERR_REQUEST, "names no", fmpl_start(req));
    FAILS(FMPL_ERR_INVALID, "null", fmpl_test(req, NULL));
    /* Whether it has ended or not: it was not waited for. */
    FAILS(FMPL_ERR_UNDER_WAY, "fmpl_comm_free", fmpl_comm_free(&group));
    FAILS(FMPL_ERR_UNDER_WAY, "fmpl_finalize", fmpl_finalize());
    OK(fmpl_barrier(group));
    old = req;
    OK(fmpl_request_free(&req));
    GIVES(-1, req.id);
    FAILS(FMPL_ERR_REQUEST, "freed", fmpl_request_free(&req));
    FAILS(FMPL_ERR_REQUEST, "freed", fmpl_request_free(&old));
    FAILS(FMPL_ERR_REQUEST, "freed", fmpl_wait(old));
    FAILS(FMPL_ERR_REQUEST, "freed", fmpl_test(old, &flag));

    /* A fork is no rank; what is under way is its parent's. */
    if (rank > 0) OK(fmpl_ibarrier(group, &req));
    child = fork();
    if (child == 0) {
        GIVES(FMPL_ERR_FORKED, fmpl_ibarrier(WORLD, &old));
        if (rank > 0) GIVES(FMPL_ERR_FORKED, fmpl_test(req, &flag));
        _exit(0);
    }
    CHECK(waitpid(child, &status, 0) == child && WIFEXITED(status) && WEXITSTATUS(status) == 0);
    OK(fmpl_barrier(WORLD));
    if (rank == 0) OK(fmpl_ibarrier(group, &req));
    OK(fmpl_wait(req));
    OK(fmpl_comm_free(&group));
}

/* The last rank gives other arguments than the rest: all are told, some of them in a later call. */
static void disagree(int how) {
    static int x[64], y[64 * 64];
    int flag = 0, code, odd = rank == size - 1, tries;
    fmpl_comm group;
    fmpl_request req;
    OK(fmpl_comm_create(&group, 1));
    switch (how) {
    case 0: OK(fmpl_iallreduce(x, 1 + odd, fmpl_isum, group, NULL, &req)); break;
    case 1: OK(fmpl_ialltoall(y, 4 * (1 + odd), x, group, &req)); break;
    case 2: OK(fmpl_igather(x, 4 * (1 + odd), y, 0, group, &req)); break;
    case 3: OK(fmpl_iscan(x, 1, odd ? fmpl_imax : fmpl_isum, group, NULL, &req)); break;
    case 4: OK(odd ? fmpl_ibarrier(group, &req) : fmpl_ibcast(x, 4, 0, group, &req)); break;
    default: OK(fmpl_ireduce(x, 1, fmpl_isum, odd, group, NULL, &req));
    }
    if (how % 2) {
        code = fmpl_wait(req);
    } else {
        do code = fmpl_test(req, &flag);
        while (code == FMPL_SUCCESS && !flag);
    }
    if (how < 2) GIVES(FMPL_ERR_MISMATCH, code);
    FAILS(FMPL_ERR_REQUEST, "waited for", fmpl_wait(req));
    for (tries = 0; code == FMPL_SUCCESS && tries < 20; tries++) code = fmpl_barrier(group);
    GIVES(FMPL_ERR_MISMATCH, code);
    /* The group is of no use any more: also calls that are started say so. */
    OK(fmpl_ibarrier(group, &req));
    FAILS(FMPL_ERR_MISMATCH, "the same", fmpl_wait(req));
    OK(fmpl_barrier(WORLD));
}

int main(void) {
    fmpl_request req;
    int how;
    FAILS(FMPL_ERR_NOT_STARTED, "fmpl_init", fmpl_ibarrier(WORLD, &req));
    OK(fmpl_init(NULL, NULL, 1));
    OK(fmpl_comm_rank(WORLD, &rank));
    OK(fmpl_comm_size(WORLD, &size));
    numbers(0);
    numbers(1);
    numbers(LONG);
    blocks(0);
    blocks(1);
    blocks(30000);
    looking();
    two_groups();
    groups_meanwhile();
    moved_by_other_waits();
    many();
    own_functions();
    wrong();
    requests();
    for (how = 0; size > 1 && how < 6; how++) disagree(how);
    /* The groups that are broken cannot be freed any more; the rest ends. */
    GIVES(size > 1 ? FMPL_ERR_MISMATCH : FMPL_SUCCESS, fmpl_finalize());
    return 0;
}
