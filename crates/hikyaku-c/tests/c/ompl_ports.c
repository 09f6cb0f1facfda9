/* As few ports as there can be: what is lent, and what there is none for. */
#include "ompl_check.h"
#include <hikyaku.h>

enum { THREADS = 8, ROUNDS = 200 };

static void *circle(void *number) {
    const uint64_t mine = (size_t)number * 64, next = ((size_t)number + 1) % THREADS * 64;
    int round;
    for (round = 0; round < ROUNDS; round++) {
        OK(ompl_wait(mine));
        OK(ompl_put_word(0, next));
    }
    return NULL;
}

static void *refused(void *unused) {
    (void)unused;
    FAILS(OMPL_ERR_PORTS, ompl_put(0, 0, 64, 8));
    SAYS("ports");
    GIVES(0, ompl_rank());
    return NULL;
}

static void *no_port_for_hikyaku(void *unused) {
    (void)unused;
    OK(ompl_put(0, 0, 64, 8));
    FAILS(HK_ERR_PORTS, hk_flush(0));
    OK(ompl_put(0, 0, 64, 8));
    return NULL;
}

static void run(size_t count, void *work(void *)) {
    pthread_t threads[THREADS];
    size_t i;
    for (i = 0; i < count; i++) CHECK(!pthread_create(&threads[i], NULL, work, (void *)i));
    for (i = 0; i < count; i++) CHECK(!pthread_join(threads[i], NULL));
}

int main(void) {
    /* The interface's and the init thread's. */
    setenv("HIKYAKU_PORTS", "2", 1);
    OK(ompl_init(4096));
    run(1, refused);
    OK(ompl_put(0, 0, 64, 8));
    OK(ompl_finalize());

    /* And one for all others. */
    setenv("HIKYAKU_PORTS", "3", 1);
    OK(ompl_init(4096));
    run(1, no_port_for_hikyaku);
    OK(ompl_put_word(0, 0));
    run(THREADS, circle);
    GIVES(1, ompl_poll(0));
    OK(ompl_finalize());

    /* Some have one of their own. */
    setenv("HIKYAKU_PORTS", "8", 1);
    OK(ompl_init(4096));
    OK(ompl_put_word(0, 0));
    run(THREADS, circle);
    GIVES(1, ompl_poll(0));
    OK(ompl_finalize());
    return 0;
}
