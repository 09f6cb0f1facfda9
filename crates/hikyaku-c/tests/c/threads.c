/* Many threads: a port each, given back when they end; what only the init thread may do. */
#include "check.h"

enum { THREADS = 4, ROUNDS = 2000, TALLY = 1 };

static hk_area counters, data;
static int right;
static pthread_barrier_t line;

static void tally(hk_context *context, const hk_message *message, void *user) {
    (void)context, (void)user;
    /* On whichever thread: it may push as any other code. */
    OK(hk_fetch_add(hk_rank(), counters, 8, message->arguments[0], NULL));
}

static void *work(void *number) {
    size_t mine = (size_t)number;
    uint64_t arguments[HK_ARGUMENT_COUNT] = {1}, round, got;
    hk_area area;
    FAILS(HK_ERR_THREAD, hk_barrier());
    FAILS(HK_ERR_THREAD, hk_alloc(8, &area));
    FAILS(HK_ERR_THREAD, hk_free(counters));
    FAILS(HK_ERR_THREAD, hk_handler_register(9, tally, NULL));
    GIVES(1, hk_is_present(0));
    FAILS(HK_ERR_THREAD, hk_finalize());
    for (round = 1; round <= ROUNDS; round++) {
        OK(hk_fetch_add(0, counters, 0, 1, NULL));
        OK(hk_push(&round, right, data, mine * 64, 8));
        OK(hk_pull(&got, right, data, mine * 64, 8));
        CHECK(got == round);
        if (round % 10 == 0) OK(hk_send(right, TALLY, 0, arguments, NULL, 0));
    }
    OK(hk_sync());
    /* An error of one thread is not another's. */
    FAILS(HK_ERR_RANK, hk_flush(1000 + (int)mine));
    pthread_barrier_wait(&line);
    GIVES(1000 + (int)mine, hk_error_rank());
    return NULL;
}

static void *one_call(void *unused) {
    (void)unused;
    CHECK(hk_rank() >= 0);
    return NULL;
}

static void *too_many(void *unused) {
    int rank = hk_rank();
    (void)unused;
    pthread_barrier_wait(&line);
    pthread_barrier_wait(&line);
    if (rank >= 0) return NULL;
    CHECK(rank == HK_ERR_PORTS && strstr(hk_last_error(), "ports"));
    return "refused";
}

static void *second_init(void *unused) {
    (void)unused;
    FAILS(HK_ERR_STARTED, hk_init());
    return NULL;
}

int main(void) {
    pthread_t threads[40];
    void *ending;
    size_t i;
    uint64_t value;
    int refused, size;

    OK(hk_init());
    size = hk_size();
    right = (hk_rank() + 1) % size;
    OK(hk_alloc(64, &counters));
    OK(hk_alloc(THREADS * 64, &data));
    OK(hk_handler_register(TALLY, tally, NULL));
    OK(hk_ni_thread_start());
    OK(hk_barrier());
    pthread_barrier_init(&line, NULL, THREADS);
    for (i = 0; i < THREADS; i++) CHECK(!pthread_create(&threads[i], NULL, work, (void *)i));
    for (i = 0; i < THREADS; i++) CHECK(!pthread_join(threads[i], &ending) && !ending);
    OK(hk_wait(counters, 8, HK_EQUAL, THREADS * ROUNDS / 10, HK_ANYONE, HK_FOREVER, NULL));
    OK(hk_barrier());
    OK(hk_atomic(0, counters, 0, HK_ADD, 0, 0, &value));
    CHECK(value == (uint64_t)(THREADS * ROUNDS * size));

    /* Far more threads than ports, one after the other. */
    for (i = 0; i < 200; i++) {
        CHECK(!pthread_create(&threads[0], NULL, one_call, NULL));
        CHECK(!pthread_join(threads[0], &ending));
    }
    OK(hk_ni_thread_stop());

    /* Ports run out for 40 at once: all but the interface's, the init thread's and the one that its handlers took are
     * theirs, and when they have ended the ports are back. */
    for (refused = 0; refused < 2; refused++) {
        int count = 0;
        pthread_barrier_destroy(&line);
        pthread_barrier_init(&line, NULL, 41);
        for (i = 0; i < 40; i++) CHECK(!pthread_create(&threads[i], NULL, too_many, NULL));
        pthread_barrier_wait(&line);
        pthread_barrier_wait(&line);
        for (i = 0; i < 40; i++) {
            CHECK(!pthread_join(threads[i], &ending));
            count += ending != NULL;
        }
        GIVES(40 - 14, count);
    }
    CHECK(!pthread_create(&threads[0], NULL, second_init, NULL));
    CHECK(!pthread_join(threads[0], &ending));
    OK(hk_ni_thread_start());
    OK(hk_barrier());
    OK(hk_finalize());
    return 0;
}
