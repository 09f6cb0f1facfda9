/* Calls from several threads of a rank, each with the threads of its number on the other ranks; what they may not do. */
#include "fmpl_check.h"

#include <pthread.h>

enum { THREADS = 3, SLOTS = 2, ROUNDS = 200, LONG = 40000 };

static int ranks, self;
static pthread_barrier_t line;

/* What thread `number` of a rank sends in a round. */
static int content(int rank, int number, int round) {
    return (rank * 10 + number) * 1000 + round;
}

static void twice(void *inout, const void *in, int count) {
    int *total = inout, rank;
    const int *more = in;
    FAILS(FMPL_ERR_INSIDE, "may not communicate", fmpl_comm_rank(WORLD, &rank));
    while (count--) *total++ += *more++;
}

/* Messages around the ring and reductions, in FMPL_COMM_WORLD of the calling thread and in groups of it. Thread -1 is the init thread. */
static void work(int number) {
    int rank, size, round, i, next, before, got, flag, *data = malloc(LONG * sizeof(int)), *into = malloc(LONG * sizeof(int));
    size_t bytes;
    fmpl_comm half, pair;
    fmpl_func sum;
    fmpl_request request;

    CHECK(data && into);
    OK(fmpl_comm_rank(WORLD, &rank));
    OK(fmpl_comm_size(WORLD, &size));
    CHECK(rank == self && size == ranks);
    next = (rank + 1) % size, before = (rank + size - 1) % size;
    for (round = 0; round < ROUNDS; round++) {
        int mine = content(rank, number, round), total = mine, expected = 0;
        OK(fmpl_irecv(&got, sizeof got, before, round % SLOTS, WORLD));
        OK(fmpl_send(&mine, sizeof mine, next, round % SLOTS, WORLD));
        OK(fmpl_irecv_wait(before, round % SLOTS, WORLD));
        GIVES(content(before, number, round), got);
        OK(fmpl_get_source(&got));
        GIVES(before, got);
        OK(fmpl_allreduce(&total, 1, fmpl_isum, WORLD, NULL));
        for (i = 0; i < size; i++) expected += content(i, number, round);
        GIVES(expected, total);
    }
    FAILS(FMPL_ERR_INDEX, "slot 2", fmpl_send(&got, 1, next, SLOTS, WORLD));

    /* Longer than a slot holds. */
    for (i = 0; i < LONG; i++) data[i] = content(rank, number, i);
    OK(fmpl_sendrecv(data, LONG * sizeof(int), next, 1, into, LONG * sizeof(int), before, 1, WORLD));
    OK(fmpl_get_count(&bytes));
    CHECK(bytes == LONG * sizeof(int));
    for (i = 0; i < LONG; i++) GIVES(content(before, number, i), into[i]);

    /* Groups of this thread: numbers of groups, functions and requests are the thread's own. */
    OK(fmpl_comm_split(WORLD, rank % 2, 0, &half));
    OK(fmpl_comm_create(&pair, rank < 2));
    CHECK((pair == FMPL_COMM_NULL) == (rank >= 2));
    OK(fmpl_func_create(twice, sizeof(int), &sum));
    got = number + 5;
    OK(fmpl_iallreduce(&got, 1, sum, half, NULL, &request));
    OK(fmpl_wait(request));
    OK(fmpl_comm_size(half, &size));
    GIVES(size * (number + 5), got);
    OK(fmpl_func_free(&sum));
    if (pair != FMPL_COMM_NULL) OK(fmpl_barrier(pair));
    OK(fmpl_isend(&got, sizeof got, rank, 0, WORLD));
    OK(fmpl_isend_test(rank, 0, WORLD, &flag));
    OK(fmpl_recv(&round, sizeof round, rank, 0, WORLD));
    OK(fmpl_isend_wait(rank, 0, WORLD));
    GIVES(got, round);
    free(data);
    free(into);
    if (number >= 0) return;
    if (pair != FMPL_COMM_NULL) OK(fmpl_comm_free(&pair));
    OK(fmpl_comm_free(&half));
}

static void *thread(void *given) {
    int number = (int)(size_t)given, x;
    char *block;
    FAILS(FMPL_ERR_THREAD, "only the thread that called fmpl_init may make calls, and others that called fmpl_thread_init",
          fmpl_barrier(WORLD));
    FAILS(FMPL_ERR_THREAD, "only the thread that called fmpl_init may make calls", fmpl_thread_finalize());
    FAILS(FMPL_ERR_INVALID, "there is no thread -1: fmpl_threads was called for 3 (0 to 2)", fmpl_thread_init(-1));
    FAILS(FMPL_ERR_INVALID, "there is no thread 3: fmpl_threads was called for 3 (0 to 2)", fmpl_thread_init(THREADS));
    OK(fmpl_thread_init(number));
    FAILS(FMPL_ERR_THREAD, "this thread called fmpl_thread_init already", fmpl_thread_init(number));
    FAILS(FMPL_ERR_THREAD, "only the thread that called fmpl_init may call fmpl_finalize", fmpl_finalize());
    FAILS(FMPL_ERR_THREAD, "only the thread that called fmpl_init may call fmpl_threads", fmpl_threads(1, 1));
    FAILS(FMPL_ERR_STARTED, "already", fmpl_init(NULL, NULL, 1));
    work(number);

    block = fmpl_malloc(100);
    CHECK(block && block[99] == 0);
    OK(fmpl_irecv(&x, sizeof x, self, 0, WORLD));
    FAILS(FMPL_ERR_UNDER_WAY, "fmpl_thread_finalize while operations are under way", fmpl_thread_finalize());
    OK(fmpl_send(&number, sizeof number, self, 0, WORLD));
    OK(fmpl_irecv_wait(self, 0, WORLD));
    GIVES(number, x);
    /* The init thread looks around meanwhile. */
    pthread_barrier_wait(&line);
    pthread_barrier_wait(&line);
    OK(fmpl_thread_finalize());
    FAILS(FMPL_ERR_THREAD, "only the thread that called fmpl_init may make calls", fmpl_barrier(WORLD));
    FAILS(FMPL_ERR_THREAD, "a thread was thread ", fmpl_thread_init(number));
    return NULL;
}

static void *takes_a_number(void *unused) {
    (void)unused;
    FAILS(FMPL_ERR_THREAD, "another thread is thread 1 now", fmpl_thread_init(1));
    return NULL;
}

static void *unprepared(void *unused) {
    (void)unused;
    FAILS(FMPL_ERR_THREAD, "call fmpl_threads first", fmpl_thread_init(0));
    return NULL;
}

static void *too_late(void *unused) {
    (void)unused;
    FAILS(FMPL_ERR_NOT_STARTED, "fmpl_init", fmpl_thread_init(0));
    return NULL;
}

static void run_alone(void *(*body)(void *)) {
    pthread_t other;
    CHECK(!pthread_create(&other, NULL, body, NULL) && !pthread_join(other, NULL));
}

int main(void) {
    pthread_t threads[THREADS];
    size_t i;
    int again;

    FAILS(FMPL_ERR_NOT_STARTED, "fmpl_init", fmpl_threads(1, 1));
    FAILS(FMPL_ERR_NOT_STARTED, "fmpl_init", fmpl_thread_init(0));
    FAILS(FMPL_ERR_NOT_STARTED, "fmpl_init", fmpl_thread_finalize());
    OK(fmpl_init(NULL, NULL, 2));
    OK(fmpl_comm_rank(WORLD, &self));
    OK(fmpl_comm_size(WORLD, &ranks));
    run_alone(unprepared);
    FAILS(FMPL_ERR_INVALID, "the number of threads: -1 is negative", fmpl_threads(-1, 1));
    FAILS(FMPL_ERR_INVALID, "not 0", fmpl_threads(1, 0));
    FAILS(FMPL_ERR_MEMORY, "ports", fmpl_threads(1000, 1));
    run_alone(unprepared);
    CHECK(!pthread_barrier_init(&line, NULL, THREADS + 1));

    /* Those that have left are followed by new ones. */
    for (again = 0; again < 2; again++) {
        OK(fmpl_threads(THREADS, SLOTS));
        FAILS(FMPL_ERR_THREAD, "without fmpl_thread_init", fmpl_thread_init(0));
        FAILS(FMPL_ERR_THREAD, "without fmpl_thread_init", fmpl_thread_finalize());
        for (i = 0; i < THREADS; i++) CHECK(!pthread_create(&threads[i], NULL, thread, (void *)i));
        /* Beside them. */
        work(-1);
        pthread_barrier_wait(&line);
        run_alone(takes_a_number);
        FAILS(FMPL_ERR_UNDER_WAY, "3 threads have not called fmpl_thread_finalize", fmpl_finalize());
        FAILS(FMPL_ERR_UNDER_WAY, "3 threads have not called fmpl_thread_finalize", fmpl_threads(1, 1));
        pthread_barrier_wait(&line);
        for (i = 0; i < THREADS; i++) CHECK(!pthread_join(threads[i], NULL));
    }
    /* Prepared, but never used. */
    OK(fmpl_threads(2, 1));
    OK(fmpl_barrier(WORLD));
    OK(fmpl_finalize());
    run_alone(too_late);
    return 0;
}
