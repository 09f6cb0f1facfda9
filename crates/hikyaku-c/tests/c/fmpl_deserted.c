/* A thread that ends without fmpl_thread_finalize: fmpl_finalize says which. */
#include "fmpl_check.h"
#include <pthread.h>

static void *deserts(void *number) {
    OK(fmpl_thread_init((int)(long)number));
    return NULL;
}

static void *takes_its_place(void *number) {
    FAILS(FMPL_ERR_THREAD, "another thread is thread 1 now", fmpl_thread_init((int)(long)number));
    return NULL;
}

static void run(void *(*work)(void *), long number) {
    pthread_t thread;
    CHECK(!pthread_create(&thread, NULL, work, (void *)number));
    CHECK(!pthread_join(thread, NULL));
}

int main(void) {
    OK(fmpl_init(NULL, NULL, 1));
    OK(fmpl_threads(3, 1));
    run(deserts, 1);
    FAILS(FMPL_ERR_UNDER_WAY, "1 thread has not called fmpl_thread_finalize: number 1; number 1 has ended without it",
          fmpl_finalize());
    run(takes_its_place, 1);
    run(deserts, 2);
    FAILS(FMPL_ERR_UNDER_WAY,
          "2 threads have not called fmpl_thread_finalize: numbers 1, 2; numbers 1, 2 have ended without it",
          fmpl_finalize());
    OK(fmpl_barrier(WORLD));
    /* Who exits so has left. */
    return 0;
}
