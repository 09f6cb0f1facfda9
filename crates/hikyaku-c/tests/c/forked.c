/* A child of a rank is no rank: it is told so, and its end harms nobody. */
#include "check.h"
#include <sys/wait.h>

static hk_area area;

static void *in_thread(void *unused) {
    (void)unused;
    FAILS(HK_ERR_FORKED, hk_rank());
    return NULL;
}

int main(void) {
    uint64_t word;
    pthread_t thread;
    pid_t child;
    int status, me, right;

    /* A child from before the start may do as it likes. */
    if ((child = fork()) == 0) {
        FAILS(HK_ERR_NOT_STARTED, hk_rank());
        exit(7);
    }
    CHECK(waitpid(child, &status, 0) == child && WIFEXITED(status) && WEXITSTATUS(status) == 7);

    OK(hk_init());
    me = hk_rank(), right = (me + 1) % hk_size();
    OK(hk_alloc(64, &area));
    OK(hk_area_create(3, 64, NULL));
    OK(hk_ni_thread_start());
    OK(hk_barrier());
    if ((child = fork()) == 0) {
        hk_area other;
        FAILS(HK_ERR_FORKED, hk_rank());
        SAYS("fork");
        FAILS(HK_ERR_FORKED, hk_size());
        FAILS(HK_ERR_FORKED, hk_push("12345678", right, area, 0, 8));
        FAILS(HK_ERR_FORKED, hk_word(right, area, 0, 1));
        FAILS(HK_ERR_FORKED, hk_poll(area, 0, &word));
        FAILS(HK_ERR_FORKED, hk_wait(area, 0, HK_EQUAL, 5, HK_ANYONE, HK_FOREVER, NULL));
        FAILS(HK_ERR_FORKED, hk_send(right, 1, 0, NULL, NULL, 0));
        FAILS(HK_ERR_FORKED, hk_barrier());
        FAILS(HK_ERR_FORKED, hk_alloc(8, &other));
        FAILS(HK_ERR_FORKED, hk_area_revoke(3));
        FAILS(HK_ERR_FORKED, hk_progress());
        FAILS(HK_ERR_FORKED, hk_finalize());
        FAILS(HK_ERR_FORKED, hk_init());
        CHECK(hk_local(area) == NULL);
        CHECK(!pthread_create(&thread, NULL, in_thread, NULL) && !pthread_join(thread, NULL));
        exit(7);
    }
    CHECK(waitpid(child, &status, 0) == child && WIFEXITED(status) && WEXITSTATUS(status) == 7);

    /* The rank goes on. */
    OK(hk_word(right, area, 0, 5));
    OK(hk_wait(area, 0, HK_EQUAL, 5, HK_ANYONE, HK_FOREVER, NULL));
    OK(hk_area_revoke(3));
    OK(hk_barrier());
    OK(hk_finalize());

    /* After the end a child is an ordinary process again. */
    if ((child = fork()) == 0) {
        FAILS(HK_ERR_NOT_STARTED, hk_rank());
        exit(7);
    }
    CHECK(waitpid(child, &status, 0) == child && WIFEXITED(status) && WEXITSTATUS(status) == 7);
    return 0;
}
