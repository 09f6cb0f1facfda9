/* One job after another, each started by another thread. */
#include "check.h"

static pthread_barrier_t line;
static hk_area area;

static void step(void) { pthread_barrier_wait(&line); }

static void *other(void *unused) {
    (void)unused;
    step();
    GIVES(0, hk_rank());
    FAILS(HK_ERR_THREAD, hk_finalize());
    step();
    /* The other thread ends the job. */
    step();
    FAILS(HK_ERR_NOT_STARTED, hk_rank());
    OK(hk_init());
    OK(hk_alloc(8, &area));
    step();
    /* It is now a guest in this one. */
    step();
    OK(hk_barrier());
    OK(hk_finalize());
    step();
    step();
    GIVES(0, hk_rank());
    FAILS(HK_ERR_THREAD, hk_barrier());
    step();
    return NULL;
}

int main(void) {
    pthread_t thread;
    CHECK(!pthread_barrier_init(&line, NULL, 2));
    CHECK(!pthread_create(&thread, NULL, other, NULL));
    OK(hk_init());
    step();
    step();
    OK(hk_finalize());
    step();
    step();
    FAILS(HK_ERR_THREAD, hk_barrier());
    OK(hk_push("12345678", 0, area, 0, 8));
    FAILS(HK_ERR_THREAD, hk_barrier());
    FAILS(HK_ERR_STARTED, hk_init());
    step();
    step();
    FAILS(HK_ERR_NOT_STARTED, hk_rank());
    OK(hk_init());
    step();
    OK(hk_barrier());
    step();
    CHECK(!pthread_join(thread, NULL));
    OK(hk_finalize());
    return 0;
}
