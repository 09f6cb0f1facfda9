/* Threads without any preparation: more than there are ports, all at once; and thousands that come and go. Thread i of a rank talks
 * with threads i of its neighbours. An argument says how many hundredths of all that are enough. */
#include "ompl_check.h"

enum { THREADS = 40, ROUNDS = 100, WAVES = 100, WAVE = 30, LINE = 64, BYTES = 1000 };

/* Per thread: the flag and the bytes that come from the left, the flag that comes from the right, the bytes that are sent. */
enum { FLAG = 0, BACK = LINE, IN = 2 * LINE, OUT = IN + 1024, EACH = OUT + 1024 };

static uint32_t right, left;
static unsigned share = 100;

static void exchange(size_t number, unsigned rounds) {
    const uint64_t mine = number * EACH;
    unsigned char *base = (unsigned char *)ompl_base() + mine;
    unsigned round, i;
    for (round = 1; round <= rounds; round++) {
        memset(base + OUT, (int)(round + number), BYTES);
        for (i = 0; i < BYTES; i += 250) OK(ompl_put(mine + OUT + i, right, mine + IN + i, 250));
        OK(ompl_put_word(right, mine + FLAG));
        OK(ompl_wait(mine + FLAG));
        for (i = 0; i < BYTES; i++) CHECK(base[IN + i] == (unsigned char)(round + number));
        OK(ompl_put_word(left, mine + BACK));
        OK(ompl_wait(mine + BACK));
    }
}

static void *many(void *number) {
    exchange((size_t)number, ROUNDS * share / 100);
    return NULL;
}

static void *brief(void *number) {
    exchange((size_t)number, 1);
    /* An error of one thread is not another's. */
    FAILS(OMPL_ERR_ALIGNMENT, ompl_poll((size_t)number * 8 + 3));
    return NULL;
}

static void run(size_t count, void *work(void *)) {
    pthread_t threads[THREADS];
    size_t i;
    for (i = 0; i < count; i++) CHECK(!pthread_create(&threads[i], NULL, work, (void *)i));
    for (i = 0; i < count; i++) CHECK(!pthread_join(threads[i], NULL));
}

int main(int count, char **arguments) {
    unsigned wave;
    if (count > 1) share = (unsigned)atoi(arguments[1]);
    OK(ompl_init(THREADS * EACH));
    right = (uint32_t)((ompl_rank() + 1) % ompl_size());
    left = (uint32_t)((ompl_rank() + ompl_size() - 1) % ompl_size());
    run(THREADS, many);
    for (wave = 0; wave < WAVES * share / 100; wave++) run(WAVE, brief);
    /* The ports are back: threads that come now have some of their own. */
    run(5, many);
    OK(ompl_finalize());
    return 0;
}
