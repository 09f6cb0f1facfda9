/* From one process to another: order, shapes, and sends that wait for nobody. Any number of ranks. */
#include "blacs.h"

enum { LONG = 400000 };

static int context, next, previous;

/* Any number of sends, of any size, also to oneself, before anything is received. */
static void sends_never_wait(void) {
    double *data = malloc(LONG * sizeof *data);
    int targets[2] = {rank, next};
    for (int t = 0; t < 2; t++) {
        for (int i = 0; i < 500; i++) {
            double value = 1000.0 * rank + i;
            Cdgesd2d(context, 1, 1, &value, 1, 0, targets[t]);
        }
        for (int k = 0; k < 3; k++) {
            for (int i = 0; i < LONG; i++) data[i] = rank + k + i;
            /* In one piece, and not. */
            Cdgesd2d(context, k == 1 ? LONG / 4 : LONG, k == 1 ? 2 : 1, data, k == 1 ? LONG / 2 : LONG, 0, targets[t]);
        }
        memset(data, 0, LONG * sizeof *data);
    }
    int sources[2] = {rank, previous};
    for (int s = 0; s < 2; s++) {
        for (int i = 0; i < 500; i++) {
            double value = -1;
            Cdgerv2d(context, 1, 1, &value, 1, 0, sources[s]);
            CHECK(value == 1000.0 * sources[s] + i);
        }
        for (int k = 0; k < 3; k++) {
            int count = k == 1 ? LONG / 2 : LONG;
            /* Received in another shape than it was sent in. */
            Cdgerv2d(context, count / 10, 10, data, count / 10, 0, sources[s]);
            for (int i = 0; i < count; i++)
                CHECK(data[i] == sources[s] + k + (k == 1 && i >= LONG / 4 ? i + LONG / 4 : i));
        }
    }
    free(data);
}

static void shapes(void) {
    int four[4] = {1, 2, 3, 4}, square[6] = {-1, -1, -1, -1, -1, -1}, lone = -1;
    Cigesd2d(context, 4, 1, four, 4, 0, next);
    Cigesd2d(context, 2, 1, four, 2, 0, next);
    Cigesd2d(context, 0, 5, NULL, 1, 0, next);
    Cigesd2d(context, 1, 1, four, 1, 0, next);
    Cigerv2d(context, 2, 2, square, 3, 0, previous);
    int expected[6] = {1, 2, -1, 3, 4, -1};
    CHECK(!memcmp(square, expected, sizeof square));
    /* A shorter message fills the beginning. */
    square[0] = square[1] = 0;
    Cigerv2d(context, 2, 2, square, 3, 0, previous);
    CHECK(!memcmp(square, expected, sizeof square));
    /* An empty one must be received too. */
    Cigerv2d(context, 1, 1, &lone, 1, 0, previous);
    CHECK(lone == -1);
    Cigerv2d(context, 1, 1, &lone, 1, 0, previous);
    CHECK(lone == 1);
    /* Nothing may be received into nothing. */
    Cigesd2d(context, 3, 0, NULL, 3, 0, next);
    Citrsd2d(context, "U", "U", 1, 1, NULL, 1, 0, next);
    Cigerv2d(context, 0, 0, NULL, 1, 0, previous);
    Citrrv2d(context, "L", "U", 1, 1, NULL, 1, 0, previous);
    for (int t = 0; t < 2; t++) {
        char *top = t ? "I" : " ";
        if (rank == 0) Cigebs2d(context, "A", top, 0, 1, NULL, 1);
        else Cigebr2d(context, "A", top, 0, 1, NULL, 1, 0, 0);
        Cigsum2d(context, "A", top, 0, 1, NULL, 1, -1, 0);
    }
    /* A leading dimension that is too small means that columns follow each other. */
    Cigesd2d(context, 2, 2, four, 0, 0, next);
    memset(square, -1, sizeof square);
    Cigerv2d(context, 2, 2, square, 1, 0, previous);
    CHECK(square[0] == 1 && square[3] == 4 && square[4] == -1);
}

static void trapezoids(void) {
    int a[12], b[12];
    struct { char *uplo, *diag; int m, n; const char *picture; } cases[] = {
        {"U", "N", 4, 2, "xxx.xxxx"}, {"u", "U", 4, 2, "xx..xxx."}, {"U", "n", 2, 4, "x.xxxxxx"},
        {"L", "N", 4, 2, "xxxx.xxx"}, {"l", "u", 4, 2, ".xxx..xx"}, {"L", "N", 2, 4, "xxxxxx.x"},
        {"L", "U", 3, 3, ".xx..x..."}, {"U", "U", 1, 1, "."},
    };
    for (unsigned k = 0; k < sizeof cases / sizeof *cases; k++) {
        int count = cases[k].m * cases[k].n;
        for (int i = 0; i < 12; i++) a[i] = i + 1, b[i] = -1;
        Citrsd2d(context, cases[k].uplo, cases[k].diag, cases[k].m, cases[k].n, a, cases[k].m, 0, next);
        Citrrv2d(context, cases[k].uplo, cases[k].diag, cases[k].m, cases[k].n, b, cases[k].m, 0, previous);
        for (int i = 0; i < count; i++) CHECK(b[i] == (cases[k].picture[i] == 'x' ? i + 1 : -1));
    }
}

/* Messages, rows, columns and all have nothing to do with each other. */
static void separate(void) {
    int value, got = 0;
    for (int source = 0; source < size; source++) {
        value = 10 * source;
        if (rank == source) {
            Cigebs2d(context, "A", "I", 1, 1, &value, 1);
            value += 1;
            Cigebs2d(context, "R", "S", 1, 1, &value, 1);
            value += 1;
            for (int to = 0; to < size; to++)
                if (to != rank) Cigesd2d(context, 1, 1, &value, 1, 0, to);
        } else {
            Cigerv2d(context, 1, 1, &got, 1, 0, source);
            CHECK(got == 10 * source + 2);
            Cigebr2d(context, "R", "S", 1, 1, &got, 1, 0, source);
            CHECK(got == 10 * source + 1);
            Cigebr2d(context, "A", "I", 1, 1, &got, 1, 0, source);
            CHECK(got == 10 * source);
        }
    }
}

/* By messages, a broadcast that is shorter than what is received into fills the beginning, at everybody. */
static void shorter_broadcasts(void) {
    char *tops[] = {"I", "D", "S", "M", "F", "H", "T", "2"};
    for (unsigned k = 0; k < sizeof tops / sizeof *tops; k++) {
        double three[3] = {k + 1, k + 2, k + 3}, five[5] = {-1, -1, -1, -1, -1};
        if (rank == 0) {
            Cdgebs2d(context, "A", tops[k], 3, 1, three, 3);
        } else {
            Cdgebr2d(context, "A", tops[k], 5, 1, five, 5, 0, 0);
            CHECK(!memcmp(five, three, sizeof three) && five[3] == -1 && five[4] == -1);
        }
    }
}

int main(void) {
    Cblacs_pinfo(&rank, &size);
    context = grid(1, size);
    next = (rank + 1) % size;
    previous = (rank + size - 1) % size;
    sends_never_wait();
    shapes();
    trapezoids();
    separate();
    shorter_broadcasts();
    Cblacs_freebuff(context, 1);
    /* What was sent is received, even if the sender has ended without a word. */
    double last[20000], got[20000];
    for (int i = 0; i < 20000; i++) last[i] = i + rank;
    if (rank == 0) {
        Cdgesd2d(context, 20000, 1, last, 20000, 0, size - 1);
        Cdgesd2d(context, 20000, 1, last, 20000, 0, size - 1);
    }
    if (rank == size - 1) {
        for (double begin = Cdwalltime00(); Cdwalltime00() < begin + 0.2;) {}
        for (int k = 0; k < 2; k++) {
            Cdgerv2d(context, 20000, 1, got, 20000, 0, 0);
            CHECK(got[19999] == 19999);
        }
    }
    return 0;
}
