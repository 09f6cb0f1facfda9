/* Many threads that do what chance says, beside a model that says what must come of it.
 *     ompl_random THREADS OPERATIONS SEED
 * A thread alone writes its windows, one at every rank, so it knows what is in each of them. It sets and clears flags of its own, and
 * sends numbered letters to the same thread of the next rank, each when the one before was answered. */
#include "ompl_check.h"

enum { WINDOW = 256, LETTER = 200, RANKS_MAX = 8 };

/* Of thread i at every rank: the window of thread i of each rank, then its own flag, the letter from the left with its flag, the flag of
 * the answer from the right, one by which the left one says that it writes no more, and what it puts and gets. */
enum { OWN_FLAG = RANKS_MAX * WINDOW, LETTER_FLAG = OWN_FLAG + 64, ANSWER_FLAG = LETTER_FLAG + 64,
       DONE_FLAG = ANSWER_FLAG + 64, LETTER_IN = DONE_FLAG + 64, LETTER_OUT = LETTER_IN + 256, SCRATCH = LETTER_OUT + 256, EACH = SCRATCH + WINDOW };

static unsigned long operations;
static uint32_t me, size;
static uint64_t seed;

struct model {
    unsigned char window[RANKS_MAX][WINDOW];
    int flag;                                /* the own one is set */
    unsigned long sent, answered, received;  /* letters */
    uint64_t state;
};

static uint64_t chance(struct model *model, uint64_t below) {
    uint64_t x = model->state;
    x ^= x << 13, x ^= x >> 7, x ^= x << 17;
    model->state = x;
    return (x * 0x2545F4914F6CDD1DULL >> 33) % below;
}

static unsigned char letter_byte(uint32_t from, size_t thread, unsigned long number, size_t at) {
    return (unsigned char)(from * 131 + thread * 17 + number * 7 + at);
}

static void write_letter(struct model *model, size_t thread, uint64_t mine, unsigned char *base) {
    const uint32_t right = (me + 1) % size;
    size_t i, half = chance(model, LETTER);
    for (i = 0; i < LETTER; i++) base[LETTER_OUT + i] = letter_byte(me, thread, model->sent, i);
    OK(ompl_put(mine + LETTER_OUT, right, mine + LETTER_IN, half));
    OK(ompl_put(mine + LETTER_OUT + half, right, mine + LETTER_IN + half, LETTER - half));
    OK(ompl_put_word(right, mine + LETTER_FLAG));
    model->sent++;
}

/* A look at the letter flag and at the answer flag. */
static void read_letters(struct model *model, size_t thread, uint64_t mine, unsigned char *base) {
    const uint32_t left = (me + size - 1) % size;
    size_t i;
    if (ompl_poll(mine + LETTER_FLAG)) {
        for (i = 0; i < LETTER; i++)
            CHECK(base[LETTER_IN + i] == letter_byte(left, thread, model->received, i));
        model->received++;
        OK(ompl_put_word(left, mine + ANSWER_FLAG));
    }
    if (ompl_poll(mine + ANSWER_FLAG)) model->answered++;
    CHECK(model->answered == model->sent || model->answered + 1 == model->sent);
}

static void put_or_get(struct model *model, uint64_t mine, unsigned char *base, int put) {
    const uint32_t rank = (uint32_t)chance(model, size);
    const size_t from = chance(model, WINDOW), length = chance(model, WINDOW - from + 1);
    const uint64_t there = mine + (uint64_t)me * WINDOW + from;
    size_t i;
    if (put) {
        for (i = 0; i < length; i++) base[SCRATCH + i] = model->window[rank][from + i] = (unsigned char)chance(model, 256);
        OK(ompl_put(mine + SCRATCH, rank, there, length));
    } else {
        OK(ompl_get(mine + SCRATCH, rank, there, length));
        CHECK(memcmp(base + SCRATCH, &model->window[rank][from], length) == 0);
    }
}

static void *work(void *number) {
    const size_t thread = (size_t)number;
    const uint64_t mine = thread * EACH;
    unsigned char *base = (unsigned char *)ompl_base() + mine;
    struct model *model = calloc(1, sizeof *model);
    unsigned long done;
    uint32_t rank;
    CHECK(model != NULL);
    model->state = (seed * 1000003 + me * 1009 + thread + 1) * 0x9E3779B97F4A7C15ULL | 1;
    for (done = 0; done < operations; done++) {
        switch (chance(model, 8)) {
        case 0: case 1: put_or_get(model, mine, base, 1); break;
        case 2: put_or_get(model, mine, base, 0); break;
        case 3: OK(ompl_put_word(me, mine + OWN_FLAG)); model->flag = 1; break;
        case 4: GIVES(model->flag, ompl_poll(mine + OWN_FLAG)); model->flag = 0; break;
        case 5: if (model->flag) OK(ompl_wait(mine + OWN_FLAG)); model->flag = 0; break;
        case 6: if (model->sent == model->answered) write_letter(model, thread, mine, base); break;
        default: read_letters(model, thread, mine, base);
        }
    }
    while (model->sent != model->answered) read_letters(model, thread, mine, base);
    GIVES(model->flag, ompl_poll(mine + OWN_FLAG));
    OK(ompl_put_word((me + 1) % size, mine + DONE_FLAG));
    while (!ompl_poll(mine + DONE_FLAG)) read_letters(model, thread, mine, base);
    /* All windows are as the model says. */
    for (rank = 0; rank < size; rank++) {
        OK(ompl_get(mine + SCRATCH, rank, mine + (uint64_t)me * WINDOW, WINDOW));
        CHECK(memcmp(base + SCRATCH, model->window[rank], WINDOW) == 0);
    }
    free(model);
    return NULL;
}

int main(int count, char **arguments) {
    const size_t threads = count > 1 ? strtoul(arguments[1], NULL, 10) : 24;
    pthread_t *list = calloc(threads, sizeof *list);
    size_t i;
    operations = count > 2 ? strtoul(arguments[2], NULL, 10) : 2000;
    seed = count > 3 ? strtoul(arguments[3], NULL, 10) : 1;
    CHECK(list != NULL);
    OK(ompl_init(threads * EACH));
    me = (uint32_t)ompl_rank(), size = (uint32_t)ompl_size();
    CHECK(size <= RANKS_MAX);
    for (i = 0; i < threads; i++) CHECK(!pthread_create(&list[i], NULL, work, (void *)i));
    for (i = 0; i < threads; i++) CHECK(!pthread_join(list[i], NULL));
    OK(ompl_finalize());
    free(list);
    return 0;
}
