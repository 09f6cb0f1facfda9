/* As few ports as there can be: the last one goes wherever it is needed. */
#include "check.h"

static pthread_barrier_t line;

static void *call(void *expected) {
    int code = hk_flush(0);
    pthread_barrier_wait(&line);
    pthread_barrier_wait(&line);
    GIVES(*(int *)expected, code);
    return NULL;
}

static void in_thread(int expected, int meanwhile) {
    pthread_t thread;
    CHECK(!pthread_create(&thread, NULL, call, &expected));
    pthread_barrier_wait(&line);
    GIVES(meanwhile, hk_ni_thread_start());
    pthread_barrier_wait(&line);
    CHECK(!pthread_join(thread, NULL));
}

int main(void) {
    CHECK(!pthread_barrier_init(&line, NULL, 2));

    /* The interface's and the init thread's. */
    setenv("HIKYAKU_PORTS", "2", 1);
    OK(hk_init());
    in_thread(HK_ERR_PORTS, HK_ERR_PORTS);
    SAYS("all 2 ports");
    OK(hk_finalize());

    /* And one more: a thread's, or that of the thread that serves peers. */
    setenv("HIKYAKU_PORTS", "3", 1);
    OK(hk_init());
    in_thread(HK_SUCCESS, HK_ERR_PORTS);
    in_thread(HK_SUCCESS, HK_ERR_PORTS);
    OK(hk_ni_thread_start());
    in_thread(HK_ERR_PORTS, HK_SUCCESS);
    OK(hk_ni_thread_stop());
    in_thread(HK_SUCCESS, HK_ERR_PORTS);
    OK(hk_finalize());

    setenv("HIKYAKU_PORTS", "1", 1);
    FAILS(HK_ERR_INVALID, hk_init());
    FAILS(HK_ERR_NOT_STARTED, hk_rank());
    return 0;
}
