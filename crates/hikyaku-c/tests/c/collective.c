/* What all ranks do together: broadcast, every operation on every type, blocks; then what is refused. */
#include "check.h"
#include <stdint.h>

static int me, ranks;

/* Every rank gives (rank + 1) and 2; `expected` is computed beside it in the order of ranks. */
#define REDUCES(type, name, op, combine)                                          \
    do {                                                                          \
        type total_[2] = {1, 2}, upto_[2], before_[2], data_[2];                  \
        int rank_, at_;                                                           \
        upto_[0] = total_[0], upto_[1] = total_[1];                               \
        before_[0] = (type)(me + 1), before_[1] = 2;                              \
        for (rank_ = 1; rank_ < ranks; rank_++) {                                 \
            type more_[2];                                                        \
            more_[0] = (type)(rank_ + 1), more_[1] = 2;                           \
            if (rank_ == me) before_[0] = total_[0], before_[1] = total_[1];      \
            for (at_ = 0; at_ < 2; at_++) {                                       \
                type a = total_[at_], b = more_[at_];                             \
                total_[at_] = (combine);                                          \
            }                                                                     \
            if (rank_ == me) upto_[0] = total_[0], upto_[1] = total_[1];          \
        }                                                                         \
        data_[0] = (type)(me + 1), data_[1] = 2;                                  \
        OK(hk_allreduce(data_, 2, name, op));                                     \
        CHECK(data_[0] == total_[0] && data_[1] == total_[1]);                    \
        data_[0] = (type)(me + 1), data_[1] = 2;                                  \
        OK(hk_reduce(data_, 2, name, op, ranks - 1));                             \
        if (me == ranks - 1)                                                      \
            CHECK(data_[0] == total_[0] && data_[1] == total_[1]);                \
        else                                                                      \
            CHECK(data_[0] == (type)(me + 1) && data_[1] == 2);                   \
        data_[0] = (type)(me + 1), data_[1] = 2;                                  \
        OK(hk_scan(data_, 2, name, op));                                          \
        CHECK(data_[0] == upto_[0] && data_[1] == upto_[1]);                      \
        data_[0] = (type)(me + 1), data_[1] = 2;                                  \
        OK(hk_exscan(data_, 2, name, op));                                        \
        CHECK(data_[0] == before_[0] && data_[1] == before_[1]);                  \
    } while (0)

#define REDUCES_NUMBERS(type, name)                   \
    do {                                              \
        REDUCES(type, name, HK_SUM, a + b);           \
        REDUCES(type, name, HK_PROD, a * b);          \
        REDUCES(type, name, HK_MIN, a < b ? a : b);   \
        REDUCES(type, name, HK_MAX, a > b ? a : b);   \
    } while (0)

/* One rank alone keeps its elements as they are, so logical operations begin with 0 or 1 there too. */
#define REDUCES_INTEGERS(type, name)                     \
    do {                                                 \
        REDUCES_NUMBERS(type, name);                     \
        REDUCES(type, name, HK_BAND, a & b);             \
        REDUCES(type, name, HK_BOR, a | b);              \
        REDUCES(type, name, HK_BXOR, a ^ b);             \
        REDUCES(type, name, HK_LAND, (type)(a && b));    \
        REDUCES(type, name, HK_LOR, (type)(a || b));     \
        REDUCES(type, name, HK_LXOR, (type)(!a != !b));  \
    } while (0)

/* Every rank gives 1 + i: sums are n + n i, and (1 + i)^2 = 2i. */
#define REDUCES_COMPLEX(type, name)                                                       \
    do {                                                                                  \
        type sum_[2] = {1, 1}, product_[2] = {1, 1}, re_ = 1, im_ = 1, next_;             \
        int rank_;                                                                        \
        for (rank_ = 1; rank_ < ranks; rank_++) next_ = re_ - im_, im_ = re_ + im_, re_ = next_; \
        OK(hk_allreduce(sum_, 1, name, HK_SUM));                                          \
        CHECK(sum_[0] == ranks && sum_[1] == ranks);                                      \
        OK(hk_allreduce(product_, 1, name, HK_PROD));                                     \
        CHECK(product_[0] == re_ && product_[1] == im_);                                  \
        FAILS(HK_ERR_INVALID, hk_allreduce(sum_, 1, name, HK_MIN));                       \
        SAYS("HK_MIN cannot combine elements of " #name);                                 \
    } while (0)

/* So long that it passes through other buffers than short data. */
enum { MANY = 100000 };

static void long_data(void) {
    double *data = malloc(MANY * sizeof *data);
    int i;
    for (i = 0; i < MANY; i++) data[i] = me + i;
    OK(hk_allreduce(data, MANY, HK_F64, HK_SUM));
    for (i = 0; i < MANY; i++) CHECK(data[i] == ranks * (ranks - 1) / 2 + (double)ranks * i);
    for (i = 0; i < MANY; i++) data[i] = me == ranks - 1 ? i : -1;
    OK(hk_broadcast(data, MANY * sizeof *data, ranks - 1));
    for (i = 0; i < MANY; i++) CHECK(data[i] == i);
    free(data);
}

static void blocks(void) {
    int32_t mine[3] = {me, me * 10, me * 100}, taken[3] = {-1, -1, -1}, *all = malloc(3 * ranks * sizeof *all);
    int32_t *into = malloc(3 * ranks * sizeof *into);
    int k, i;
    OK(hk_gather(mine, sizeof mine, me == 0 ? all : NULL, 0));
    if (me == 0)
        for (k = 0; k < ranks; k++) CHECK(all[3 * k] == k && all[3 * k + 1] == k * 10 && all[3 * k + 2] == k * 100);
    memset(all, 0, 3 * ranks * sizeof *all);
    OK(hk_allgather(mine, sizeof mine, all));
    for (k = 0; k < ranks; k++) CHECK(all[3 * k] == k && all[3 * k + 1] == k * 10 && all[3 * k + 2] == k * 100);
    OK(hk_scatter(me == ranks - 1 ? all : NULL, sizeof taken, taken, ranks - 1));
    CHECK(memcmp(taken, mine, sizeof mine) == 0);
    for (i = 0; i < 3 * ranks; i++) all[i] = 1000 * me + i;
    OK(hk_alltoall(all, sizeof mine, into));
    for (k = 0; k < ranks; k++)
        for (i = 0; i < 3; i++) CHECK(into[3 * k + i] == 1000 * k + 3 * me + i);
    free(all);
    free(into);
}

/* A wrong call fails at once, though the other ranks do not make it, and harms nothing. */
static void misuse(void) {
    double data[4] = {0}, sum = 1;
    FAILS(HK_ERR_RANK, hk_broadcast(data, 8, ranks));
    GIVES(ranks, hk_error_rank());
    FAILS(HK_ERR_RANK, hk_reduce(data, 1, HK_F64, HK_SUM, -1));
    SAYS("rank -1 does not exist: the job has");
    FAILS(HK_ERR_RANK, hk_gather(data, 8, NULL, ranks));
    FAILS(HK_ERR_RANK, hk_scatter(NULL, 8, data, -1));
    FAILS(HK_ERR_INVALID, hk_allreduce(NULL, 1, HK_F64, HK_SUM));
    SAYS("the data: a null pointer");
    FAILS(HK_ERR_INVALID, hk_allreduce(data, 1, (hk_type)8, HK_SUM));
    SAYS("8 is no hk_type");
    FAILS(HK_ERR_INVALID, hk_scan(data, 1, HK_F64, (hk_reduce_op)-1));
    SAYS("-1 is no hk_reduce_op");
    FAILS(HK_ERR_INVALID, hk_exscan(data, 1, HK_F64, HK_BXOR));
    SAYS("HK_BXOR cannot combine elements of HK_F64");
    FAILS(HK_ERR_INVALID, hk_allreduce(data, 1, HK_F32, HK_LAND));
    SAYS("HK_LAND cannot combine elements of HK_F32");
    FAILS(HK_ERR_ALIGNMENT, hk_allreduce((char *)data + 4, 1, HK_F64, HK_SUM));
    SAYS("the buffer does not lie at a multiple of its element's alignment");
    FAILS(HK_ERR_INVALID, hk_allreduce(data, SIZE_MAX / 8, HK_F64, HK_SUM));
    FAILS(HK_ERR_INVALID, hk_allreduce(data, SIZE_MAX, HK_F64, HK_SUM));
    SAYS("bytes are more than any memory has");
    FAILS(HK_ERR_INVALID, hk_allgather(data, 8, data));
    SAYS("the two buffers overlap");
    FAILS(HK_ERR_INVALID, hk_alltoall(data, SIZE_MAX, data + 1));
    FAILS(HK_ERR_INVALID, hk_broadcast(NULL, 8, 0));
    OK(hk_allreduce(&sum, 1, HK_F64, HK_SUM));
    CHECK(sum == ranks);
}

static void *other_thread(void *unused) {
    double data = 0;
    FAILS(HK_ERR_THREAD, hk_allreduce(&data, 1, HK_F64, HK_SUM));
    SAYS("only the thread that called hk_init may do this");
    return unused;
}

static void on_message(hk_context *context, const hk_message *message, void *user) {
    double data = 0;
    (void)context, (void)message, (void)user;
    FAILS(HK_ERR_IN_HANDLER, hk_allreduce(&data, 1, HK_F64, HK_SUM));
}

int main(void) {
    pthread_t thread;
    double none = 0;
    FAILS(HK_ERR_NOT_STARTED, hk_allreduce(&none, 1, HK_F64, HK_SUM));
    OK(hk_init());
    me = hk_rank(), ranks = hk_size();
    /* Before there is a group, and after. */
    misuse();
    misuse();
    REDUCES_INTEGERS(int32_t, HK_I32);
    REDUCES_INTEGERS(int64_t, HK_I64);
    REDUCES_INTEGERS(uint32_t, HK_U32);
    REDUCES_INTEGERS(uint64_t, HK_U64);
    REDUCES_NUMBERS(float, HK_F32);
    REDUCES_NUMBERS(double, HK_F64);
    REDUCES_COMPLEX(float, HK_CF32);
    REDUCES_COMPLEX(double, HK_CF64);
    OK(hk_allreduce(NULL, 0, HK_I32, HK_SUM));
    OK(hk_broadcast(NULL, 0, 0));
    long_data();
    blocks();
    pthread_create(&thread, NULL, other_thread, NULL);
    pthread_join(thread, NULL);
    OK(hk_handler_register(7, on_message, NULL));
    OK(hk_barrier());
    OK(hk_send((me + 1) % ranks, 7, 0, NULL, NULL, 0));
    OK(hk_barrier());

    /* What does not fit together is told, here and from then on. */
    if (ranks > 1) {
        int32_t value = 1;
        FAILS(HK_ERR_MISMATCH, hk_allreduce(&value, 1, HK_I32, me == 0 ? HK_MAX : HK_SUM));
        SAYS("allreduce(max, 1 x i32)");
        SAYS("allreduce(sum, 1 x i32)");
        CHECK(hk_error_rank() >= 0);
        FAILS(HK_ERR_MISMATCH, hk_broadcast(&value, 4, 0));
    }
    OK(hk_finalize());

    /* The next job has a group of its own. */
    if (ranks == 1 && getenv("HIKYAKU_RANK") == NULL && hk_init() == HK_SUCCESS) {
        OK(hk_allreduce(&none, 1, HK_F64, HK_SUM));
        OK(hk_finalize());
    }
    return 0;
}
