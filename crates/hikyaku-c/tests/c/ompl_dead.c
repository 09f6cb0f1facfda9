/* The last rank is killed while threads of all others wait for flags: each of them is told, and the others go on among themselves. */
#include "ompl_check.h"
#include <signal.h>

enum { THREADS = 3, FLAG = 64, READY = 8, AFTER = 1024 };

static void *waits(void *flag) {
    FAILS(OMPL_ERR_PEER_DEAD, ompl_wait(*(uint64_t *)flag));
    return NULL;
}

int main(void) {
    pthread_t threads[THREADS];
    uint64_t flags[THREADS];
    uint32_t me, last, next;
    int number;

    OK(ompl_init(1 << 16));
    me = (uint32_t)ompl_rank(), last = (uint32_t)ompl_size() - 1, next = (me + 1) % last;
    if (me == last) {
        for (number = 0; number < (int)last; number++) OK(ompl_wait(READY * (uint64_t)number));
        usleep(20000); /* until they wait */
        kill(getpid(), SIGKILL);
    }
    for (number = 0; number < THREADS; number++) {
        flags[number] = FLAG + 8 * (uint64_t)number;
        CHECK(pthread_create(&threads[number], NULL, waits, &flags[number]) == 0);
    }
    OK(ompl_put_word(last, READY * me));
    for (number = 0; number < THREADS; number++) CHECK(pthread_join(threads[number], NULL) == 0);
    FAILS(OMPL_ERR_PEER_DEAD, ompl_wait(FLAG));
    /* A look does not wait for anybody. */
    memset((char *)ompl_base() + 4096, 7, 100);
    OK(ompl_put(4096, next, 8192, 100));
    OK(ompl_put_word(next, AFTER));
    while ((number = ompl_poll(AFTER)) == 0) usleep(100);
    CHECK(number == 1);
    CHECK(memcmp((char *)ompl_base() + 4096, (char *)ompl_base() + 8192, 100) == 0);
    printf("heard it\n");
    /* Not all have come to it. It has ended all the same, for every thread. */
    number = ompl_finalize();
    CHECK(number == OMPL_ERR_PEER_DEAD || number == OMPL_ERR_PEER_LEFT);
    SAYS("rank");
    CHECK(ompl_base() == NULL);
    FAILS(OMPL_ERR_NOT_STARTED, ompl_finalize());
    FAILS(OMPL_ERR_NOT_STARTED, ompl_wait(FLAG));
    FAILS(OMPL_ERR_NOT_STARTED, ompl_put_word(next, AFTER));
    return 0;
}
