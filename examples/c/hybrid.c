/*
 * MPI and OMPL in one program, several threads of each rank in both at once. A rod is cut into strips, one for each thread of each
 * rank. In every step a thread sends the ends of its strip to the threads beside it, on its own rank or on another, by ompl.h: a put, and
 * a flag that the neighbour waits for. No thread waits for any but its two neighbours. Every ten steps the threads of one number add up
 * the heat of their strips by MPI. Rank 0 checks the result against one that it computes alone.
 *
 * Build and run, in the root of the repository:
 *
 *     cargo build --release --workspace
 *     mpicc -O2 -pthread -o hybrid examples/c/hybrid.c $(PKG_CONFIG_PATH=$PWD/pkgconfig pkg-config --cflags --libs hikyaku) -lm
 *     mpirun -n 2 ./hybrid 4
 *
 * The first argument is the number of threads; the second says who ends first: mpi or ompl.
 */
#include <math.h>
#include <mpi.h>
#include <ompl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { CELLS = 100, STEPS = 60, THREADS_MAX = 64 };

/* The part of a thread in the global area. What a neighbour writes in one step may be read while it already writes for the next one, so
 * there are two of each. Each flag has a cache line of its own. */
struct strip {
    double cells[2][CELLS];
    double edge[2][2][8];      /* by side, by step */
    uint64_t flag[2][2][8];
};

static int rank, size, threads;
static MPI_Comm comms[THREADS_MAX];

static void check(int code) {
    if (code < 0) {
        fprintf(stderr, "hybrid: %s\n", ompl_last_error());
        MPI_Abort(MPI_COMM_WORLD, 1);
    }
}

static double initial(long cell) { return cell % 7 + (cell % 100 == 42 ? 1000.0 : 0.0); }

static struct strip *strips(void) { return ompl_base(); }

/* Where something of a strip of this rank is in the area. */
static uint64_t offset_of(const void *place) { return (uint64_t)((const char *)place - (const char *)ompl_base()); }

/* Sends one end of a strip to the strip beside it, which gets it at its other side. */
static void send_edge(int thread, int side, int step) {
    const struct strip *mine = &strips()[thread];
    long beside = (long)rank * threads + thread + (side ? 1 : -1);
    const struct strip *theirs;
    uint32_t target;
    if (beside < 0 || beside >= (long)size * threads) return;
    /* The area is the same on all ranks, so an offset here is one there. */
    theirs = &strips()[beside % threads], target = (uint32_t)(beside / threads);
    check(ompl_put(offset_of(&mine->cells[step % 2][side ? CELLS - 1 : 0]), target,
                   offset_of(theirs->edge[!side][step % 2]), sizeof(double)));
    check(ompl_put_word(target, offset_of(theirs->flag[!side][step % 2])));
}

/* The end of the strip beside this one, or the own one at the end of the rod. */
static double edge(int thread, int side, int step) {
    const struct strip *mine = &strips()[thread];
    long beside = (long)rank * threads + thread + (side ? 1 : -1);
    if (beside < 0 || beside >= (long)size * threads) return mine->cells[step % 2][side ? CELLS - 1 : 0];
    check(ompl_wait(offset_of(mine->flag[side][step % 2])));
    return mine->edge[side][step % 2][0];
}

static void advance(const double *old, double *next, long cells, double left, double right) {
    long i;
    for (i = 0; i < cells; i++)
        next[i] = 0.5 * old[i] + 0.25 * (i ? old[i - 1] : left) + 0.25 * (i + 1 < cells ? old[i + 1] : right);
}

static void *work(void *number) {
    const int thread = (int)(size_t)number;
    struct strip *mine = &strips()[thread];
    double before = 0;
    int step, i;
    for (step = 0; step < STEPS; step++) {
        send_edge(thread, 0, step);
        send_edge(thread, 1, step);
        if (step % 10 == 0) {
            /* Other threads are in their puts and waits meanwhile, or here with a communicator of their own. */
            double heat = 0, all;
            for (i = 0; i < CELLS; i++) heat += mine->cells[step % 2][i];
            MPI_Allreduce(&heat, &all, 1, MPI_DOUBLE, MPI_SUM, comms[thread]);
            if (threads == 1 && step && fabs(all - before) > 1e-6 * fabs(all)) {
                fprintf(stderr, "hybrid: heat was lost\n");
                MPI_Abort(MPI_COMM_WORLD, 1);
            }
            before = all;
        }
        double left = edge(thread, 0, step), right = edge(thread, 1, step);
        advance(mine->cells[step % 2], mine->cells[(step + 1) % 2], CELLS, left, right);
    }
    return NULL;
}

/* All strips, at rank 0. */
static void compare(void) {
    const long cells = (long)size * threads * CELLS;
    double *mine = malloc(sizeof(double) * (size_t)threads * CELLS), *all = malloc(sizeof(double) * (size_t)cells);
    double *old = malloc(sizeof(double) * (size_t)cells), *next = malloc(sizeof(double) * (size_t)cells), *swap;
    long i;
    int thread, step;
    if (!mine || !all || !old || !next) MPI_Abort(MPI_COMM_WORLD, 1);
    for (thread = 0; thread < threads; thread++)
        memcpy(mine + (size_t)thread * CELLS, strips()[thread].cells[STEPS % 2], sizeof(double) * CELLS);
    MPI_Gather(mine, threads * CELLS, MPI_DOUBLE, all, threads * CELLS, MPI_DOUBLE, 0, MPI_COMM_WORLD);
    for (i = 0; i < cells; i++) old[i] = initial(i);
    for (step = 0; step < STEPS; step++) {
        advance(old, next, cells, old[0], old[cells - 1]);
        swap = old, old = next, next = swap;
    }
    if (rank == 0 && memcmp(all, old, sizeof(double) * (size_t)cells)) {
        fprintf(stderr, "hybrid: the result is wrong\n");
        MPI_Abort(MPI_COMM_WORLD, 1);
    }
    if (rank == 0) printf("%d ranks of %d threads: the same as computed by one thread\n", size, threads);
    fflush(stdout);
    free(mine), free(all), free(old), free(next);
}

int main(int count, char **arguments) {
    const int mpi_ends_first = count > 2 && !strcmp(arguments[2], "mpi");
    pthread_t list[THREADS_MAX];
    int provided, thread, i;
    MPI_Init_thread(&count, &arguments, MPI_THREAD_MULTIPLE, &provided);
    threads = count > 1 ? atoi(arguments[1]) : 2;
    if (provided < MPI_THREAD_MULTIPLE || threads < 1 || threads > THREADS_MAX) {
        fprintf(stderr, "hybrid: it needs MPI_THREAD_MULTIPLE, and 1 to %d threads\n", THREADS_MAX);
        MPI_Abort(MPI_COMM_WORLD, 1);
    }
    check(ompl_init((size_t)threads * sizeof(struct strip)));
    rank = ompl_rank(), size = ompl_size();
    for (thread = 0; thread < threads; thread++) {
        MPI_Comm_dup(MPI_COMM_WORLD, &comms[thread]);
        for (i = 0; i < CELLS; i++)
            strips()[thread].cells[0][i] = initial(((long)rank * threads + thread) * CELLS + i);
    }
    for (thread = 0; thread < threads; thread++)
        if (pthread_create(&list[thread], NULL, work, (void *)(size_t)thread)) MPI_Abort(MPI_COMM_WORLD, 1);
    for (thread = 0; thread < threads; thread++) pthread_join(list[thread], NULL);
    compare();
    for (thread = 0; thread < threads; thread++) MPI_Comm_free(&comms[thread]);
    if (mpi_ends_first) MPI_Finalize();
    check(ompl_finalize());
    if (!mpi_ends_first) MPI_Finalize();
    return 0;
}
