/* What the files of the MPI benchmark share; mpi.c says what it is. */
#ifndef HIKYAKU_BENCH_H
#define HIKYAKU_BENCH_H

#include <mpi.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

enum { OUTSTANDING_MAX = 64, POSTED = 600 };

struct test {
    const char *name, *unit;
    int pair;                   /* needs two ranks and messages of at least one word */
    int streams;                /* several messages with buffers of their own */
    int counted;                /* operations per round; 0: one per message of the stream */
    void (*open)(void);
    double (*run)(long rounds); /* seconds; only rank 0's count */
    void (*close)(void);
};

/* Each ends with a test without a name. */
extern const struct test message_tests[], window_tests[], collective_tests[];

extern int rank, ranks, peer;
extern size_t words;        /* one message, in 8-byte words */
extern int slots;           /* messages with their own buffers */
extern uint64_t stamp;      /* equal on all ranks: every round takes the same number of them */
extern uint64_t *outbox;    /* private memory, `slots` messages */
extern uint64_t *inbox;     /* private memory, or the window where the test is one-sided */

void die(const char *format, ...);
double now(void);
uint64_t *allocate(size_t word_count);

/* A test once before it is measured, e.g. to find what suits the implementation best. */
double run(const struct test *test, long rounds);

/* Parts of a message, by a datatype, and which of its words they are. */
extern MPI_Datatype parts;
extern unsigned char *travels;
void choose_every_second(void);
void choose_half(void); /* at irregular places */
void forget_parts(void);

/* What a message holds: a pattern that changes with the repetition, and a stamp in its first and last word. */
void fill(uint64_t *data, int sender, int slot);
void mark(uint64_t *data, uint64_t mark);
void expect_mark(const volatile uint64_t *data, uint64_t mark);
void expect_pattern(const uint64_t *data, int sender, int slot);

#endif
