/*
 * Ranks in a row that never stop talking, so that any of them can be ended in the middle of it. Arguments: what to do over
 * and over again, and after how many microseconds the last rank calls blacs_abort; 0: never. Each rank says its rank and
 * process when it has done it once.
 */
#include "blacs.h"
#include <time.h>
#include <unistd.h>

enum { LONG = 700000 }; /* elements: longer than the longest piece of a message */

static int context, next, previous;
static double *out, *in;

/* One column, and every second row of a matrix: in one piece, and not. */
static void pass_on(int count) {
    Cdgesd2d(context, count, 1, out, count, 0, next);
    Cdgesd2d(context, count / 4, 2, out, count / 2, 0, next);
    Cdgerv2d(context, count, 1, in, count, 0, previous);
    Cdgerv2d(context, count / 4, 2, in, count / 2, 0, previous);
}

static void messages(void) {
    int counts[] = {4, 100, 4000, 100000, LONG};
    for (int i = 0; i < 5; i++) pass_on(counts[i]);
}

/* Many are sent before the first is received, so that senders keep most of them. */
static void spools(void) {
    for (int i = 0; i < 100; i++) Cdgesd2d(context, 50, 1, out, 50, 0, next);
    for (int i = 0; i < 4; i++) Cdgesd2d(context, LONG / 2, 2, out, LONG / 2, 0, next);
    for (int i = 0; i < 4; i++) Cdgesd2d(context, LONG / 4, 2, out, LONG / 2, 0, next);
    for (int i = 0; i < 100; i++) Cdgerv2d(context, 50, 1, in, 50, 0, previous);
    for (int i = 0; i < 4; i++) Cdgerv2d(context, LONG, 1, in, LONG, 0, previous);
    for (int i = 0; i < 4; i++) Cdgerv2d(context, LONG / 4, 2, in, LONG / 2, 0, previous);
}

static void broadcasts(void) {
    char *topologies[] = {" ", "I", "S", "H", "2"};
    int counts[] = {1, 1000, 100000};
    for (int root = 0; root < size; root++)
        for (int t = 0; t < 5; t++)
            for (int i = 0; i < 3; i++) {
                if (rank == root) Cdgebs2d(context, "A", topologies[t], counts[i], 1, out, counts[i]);
                else Cdgebr2d(context, "A", topologies[t], counts[i], 1, in, counts[i], 0, root);
            }
}

static void combines(void) {
    int counts[] = {1, 1000, 100000};
    for (int i = 0; i < 3; i++) {
        memset(in, 0, counts[i] * sizeof *in);
        Cdgsum2d(context, "A", " ", counts[i], 1, in, counts[i], -1, 0);
        Cdgsum2d(context, "A", "H", counts[i], 1, in, counts[i], 0, 0);
        Cdgamx2d(context, "Row", "1", counts[i], 1, in, counts[i], NULL, NULL, -1, 0, size - 1);
    }
    Cblacs_barrier(context, "A");
}

static void grids(void) {
    int other = grid(1, size);
    double one = 1;
    Cdgsum2d(other, "A", " ", 1, 1, &one, 1, -1, 0);
    Cblacs_gridexit(other);
}

static long microseconds(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return t.tv_sec * 1000000 + t.tv_nsec / 1000;
}

int main(int count, char **arguments) {
    struct { const char *name; void (*run)(void); } all[] = {
        {"messages", messages}, {"spools", spools}, {"broadcasts", broadcasts}, {"combines", combines}, {"grids", grids},
    };
    alarm(600); /* a job that is not ended ends by itself */
    Cblacs_pinfo(&rank, &size);
    CHECK(count == 3);
    void (*run)(void) = NULL;
    for (int i = 0; i < 5; i++)
        if (!strcmp(arguments[1], all[i].name)) run = all[i].run;
    CHECK(run);
    context = grid(1, size), next = (rank + 1) % size, previous = (rank + size - 1) % size;
    out = calloc(LONG, 2 * sizeof *out), in = calloc(LONG, 2 * sizeof *in);
    run();
    printf("%d %d\n", rank, getpid());
    fflush(stdout);
    long life = atol(arguments[2]), begin = microseconds();
    for (;;) {
        run();
        if (life && rank == size - 1 && microseconds() - begin >= life) {
            /* The others wait for it, and what it sends to itself is never received. */
            Cdgesd2d(context, LONG / 4, 2, out, LONG / 2, 0, rank);
            printf("aborts\n");
            fflush(stdout);
            Cblacs_abort(context, 42);
        }
    }
}
