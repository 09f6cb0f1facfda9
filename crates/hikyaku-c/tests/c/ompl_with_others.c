/* ompl.h, hikyaku.h and fmpl.h in one process: one job, joined and left in any order. */
#include "ompl_check.h"
#include <fmpl.h>
#include <hikyaku.h>
#include <sys/wait.h>

static void handler(hk_context *context, const hk_message *message, void *user) {
    (void)context, (void)user;
    /* It may set flags, but not wait for them. */
    OK(ompl_put_word((uint32_t)message->source, 8));
    FAILS(OMPL_ERR_IN_HANDLER, ompl_wait(16));
    FAILS(OMPL_ERR_IN_HANDLER, ompl_finalize());
}

static void *elsewhere(void *unused) {
    (void)unused;
    FAILS(OMPL_ERR_THREAD, ompl_finalize());
    FAILS(OMPL_ERR_STARTED, ompl_init(64));
    CHECK(ompl_base() != NULL && ompl_rank() == hk_rank() && ompl_size() == hk_size());
    return NULL;
}

int main(int count, char **arguments) {
    const char *order = count > 1 ? arguments[1] : "inside";
    const int first = !strcmp(order, "outside") || !strcmp(order, "first");
    const int ends_first = !strcmp(order, "inside") || !strcmp(order, "first");
    pthread_t thread;
    hk_area area;
    uint32_t peer;
    int status;
    if (first) OK(ompl_init(4096));
    OK(hk_init());
    OK(fmpl_init(NULL, NULL, 4));
    if (!first) OK(ompl_init(4096));
    peer = (uint32_t)((hk_rank() + 1) % hk_size());
    OK(hk_alloc(64, &area));
    OK(hk_handler_register(1, handler, NULL));
    OK(hk_barrier());
    OK(hk_send((int)peer, 1, 0, NULL, NULL, 0));
    OK(ompl_wait(8));
    CHECK(!pthread_create(&thread, NULL, elsewhere, NULL) && !pthread_join(thread, NULL));
    OK(ompl_put_word(peer, 24));
    OK(hk_word((int)peer, area, 0, 5));
    OK(ompl_wait(24));
    OK(hk_wait(area, 0, HK_EQUAL, 5, HK_ANYONE, HK_FOREVER, NULL));
    fflush(NULL);
    if (!fork()) {
        FAILS(OMPL_ERR_FORKED, ompl_put(0, 0, 64, 8));
        FAILS(OMPL_ERR_FORKED, ompl_wait(0));
        FAILS(OMPL_ERR_FORKED, ompl_rank());
        FAILS(OMPL_ERR_FORKED, ompl_finalize());
        CHECK(ompl_base() == NULL);
        _exit(0);
    }
    CHECK(wait(&status) > 0 && status == 0);
    OK(fmpl_barrier(FMPL_COMM_WORLD));
    if (ends_first) OK(ompl_finalize());
    OK(hk_finalize());
    OK(fmpl_barrier(FMPL_COMM_WORLD));
    if (!ends_first) {
        /* The area stays when hikyaku.h has gone. */
        OK(ompl_put_word(peer, 32));
        OK(ompl_wait(32));
        OK(ompl_finalize());
    }
    FAILS(OMPL_ERR_NOT_STARTED, ompl_poll(32));
    OK(fmpl_finalize());
    return 0;
}
