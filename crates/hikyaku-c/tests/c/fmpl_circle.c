/* Threads of both ranks receive before they send, while the threads that called fmpl_init wait for their end: nobody can go on. */
#include "fmpl_check.h"
#include <pthread.h>

enum { THREADS = 2 };

static void *receives_first(void *number) {
    int rank;
    double value = 1;

    OK(fmpl_thread_init((int)(long)number));
    OK(fmpl_comm_rank(WORLD, &rank));
    OK(fmpl_recv(&value, sizeof value, 1 - rank, 0, WORLD));
    OK(fmpl_send(&value, sizeof value, 1 - rank, 0, WORLD));
    OK(fmpl_thread_finalize());
    return NULL;
}

int main(void) {
    pthread_t threads[THREADS];
    long number;

    OK(fmpl_init(NULL, NULL, 1));
    OK(fmpl_threads(THREADS, 1));
    for (number = 0; number < THREADS; number++)
        CHECK(!pthread_create(&threads[number], NULL, receives_first, (void *)number));
    for (number = 0; number < THREADS; number++) CHECK(!pthread_join(threads[number], NULL));
    OK(fmpl_finalize());
    return 0;
}
