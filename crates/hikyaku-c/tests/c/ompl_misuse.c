/* What threads should not do, or may do though few would: calls while a thread ends, in handlers that run in a lent port's call, after
 * the end and in the next job. With the number of ports that the argument names. */
#include "ompl_check.h"
#include <hikyaku.h>

enum { THREADS = 20, JOBS = 3, TOLD = 64, GO = 128, HEARD = 192, ENDED = 256, EACH = 64 };

static pthread_key_t key;
static pthread_barrier_t gate;
static int handled;

/* The thread has perhaps no port any more: it works, or says that. */
static void at_the_end(void *number) {
    const int code = ompl_put_word(0, ENDED + EACH * (uint64_t)(size_t)number);
    CHECK(code == OMPL_SUCCESS || code == OMPL_ERR_THREAD);
    CHECK(ompl_base() != NULL);
    /* Nobody has taken it away for good. */
    CHECK(code == ompl_put_word(0, ENDED + EACH * (uint64_t)(size_t)number));
}

static void *ends_with_a_call(void *number) {
    CHECK(!pthread_setspecific(key, number));
    OK(ompl_put(0, 0, 4096, 8));
    return NULL;
}

static void handler(hk_context *context, const hk_message *message, void *user) {
    (void)context, (void)message, (void)user;
    handled++;
    OK(ompl_put(0, 0, 4096, 64));
    OK(ompl_put_word(0, TOLD));
    GIVES(1, ompl_poll(TOLD));
    FAILS(OMPL_ERR_IN_HANDLER, ompl_wait(TOLD));
    CHECK(ompl_finalize() < 0 && ompl_init(64) < 0);
    FAILS(OMPL_ERR_BOUNDS, ompl_put(0, 0, 1 << 20, 8));
    OK(ompl_put_word(0, HEARD));
}

static void *waits(void *unused) {
    (void)unused;
    OK(ompl_wait(GO));
    return NULL;
}

/* In one job after the other, and in between. */
static void *outlives_jobs(void *number) {
    const uint64_t flag = ENDED + EACH * (uint64_t)(size_t)number;
    int job;
    for (job = 0; job < JOBS; job++) {
        pthread_barrier_wait(&gate);
        OK(ompl_put_word(0, flag));
        OK(ompl_wait(flag));
        OK(ompl_put_word(0, flag));
        pthread_barrier_wait(&gate);
        /* It has ended. */
        pthread_barrier_wait(&gate);
        FAILS(OMPL_ERR_NOT_STARTED, ompl_put_word(0, flag));
        FAILS(OMPL_ERR_NOT_STARTED, ompl_wait(flag));
        CHECK(ompl_base() == NULL);
        pthread_barrier_wait(&gate);
    }
    return NULL;
}

static void start(pthread_t *threads, size_t count, void *work(void *)) {
    size_t i;
    for (i = 0; i < count; i++) CHECK(!pthread_create(&threads[i], NULL, work, (void *)i));
}

static void join(pthread_t *threads, size_t count) {
    size_t i;
    for (i = 0; i < count; i++) CHECK(!pthread_join(threads[i], NULL));
}

int main(int count, char **arguments) {
    pthread_t threads[THREADS];
    int job;
    setenv("HIKYAKU_PORTS", count > 1 ? arguments[1] : "16", 1);
    CHECK(!pthread_key_create(&key, at_the_end));
    CHECK(!pthread_barrier_init(&gate, NULL, THREADS + 1));

    OK(hk_init());
    OK(ompl_init(8192));
    start(threads, THREADS, ends_with_a_call);
    join(threads, THREADS);
    /* Whoever waits runs the handler, on its port or on a lent one. */
    OK(hk_handler_register(1, handler, NULL));
    start(threads, 3, waits);
    for (job = 0; job < 50; job++) {
        OK(hk_send(0, 1, 0, NULL, NULL, 0));
        while (!ompl_poll(HEARD)) sched_yield();
    }
    CHECK(handled == 50);
    for (job = 0; job < 3; job++) {
        OK(ompl_put_word(0, GO));
        /* One of those that wait clears it. */
        while (*(volatile uint64_t *)((char *)ompl_base() + GO)) sched_yield();
    }
    join(threads, 3);
    GIVES(0, ompl_poll(GO));
    OK(hk_finalize());
    OK(ompl_finalize());

    start(threads, THREADS, outlives_jobs);
    for (job = 0; job < JOBS; job++) {
        OK(ompl_init(8192));
        pthread_barrier_wait(&gate);
        pthread_barrier_wait(&gate);
        OK(ompl_finalize());
        pthread_barrier_wait(&gate);
        pthread_barrier_wait(&gate);
    }
    join(threads, THREADS);
    return 0;
}
