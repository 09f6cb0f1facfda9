/* Barriers that one rank counts: nobody passes before all have arrived; and what cannot be. */
#include "check.h"

enum { ROUNDS = 200 };

int main(void) {
    hk_counting barrier = {0}, odd = {77};
    hk_area table;
    uint64_t round, value;
    int me, size, rank, code;

    FAILS(HK_ERR_NOT_STARTED, hk_counting_post(barrier));
    OK(hk_init());
    me = hk_rank(), size = hk_size();
    FAILS(HK_ERR_HANDLE, hk_counting_post(barrier));
    FAILS(HK_ERR_HANDLE, hk_counting_wait(odd, HK_FOREVER));
    FAILS(HK_ERR_HANDLE, hk_counting_free(odd));
    FAILS(HK_ERR_INVALID, hk_counting_create(0, NULL));
    FAILS(HK_ERR_RANK, hk_counting_create(size, &barrier));

    OK(hk_alloc((size_t)size * 8, &table));
    OK(hk_counting_create(size - 1, &barrier));
    FAILS(HK_ERR_INVALID, hk_counting_wait(barrier, HK_FOREVER));
    FAILS(HK_ERR_INVALID, hk_counting_test(barrier));
    for (round = 1; round <= ROUNDS; round++) {
        for (rank = 0; rank < size; rank++) OK(hk_push(&round, rank, table, (size_t)me * 8, 8));
        OK(hk_counting_post(barrier));
        FAILS(HK_ERR_INVALID, hk_counting_post(barrier));
        if (round % 2) {
            OK(hk_counting_wait(barrier, HK_FOREVER));
        } else {
            do code = hk_counting_test(barrier);
            while (code == 0);
            CHECK(code == 1);
        }
        for (rank = 0; rank < size; rank++) {
            OK(hk_pull(&value, me, table, (size_t)rank * 8, 8));
            CHECK(value == round);
        }
        OK(hk_counting_post(barrier));
        OK(hk_counting_wait(barrier, 60000));
    }
    OK(hk_counting_free(barrier));
    FAILS(HK_ERR_HANDLE, hk_counting_post(barrier));

    /* While rank 0 has not arrived, the others wait. */
    OK(hk_counting_create(0, &barrier));
    if (me != 0) {
        OK(hk_counting_post(barrier));
        CHECK(hk_counting_test(barrier) == 0);
        FAILS(HK_ERR_TIMEOUT, hk_counting_wait(barrier, 5));
    }
    OK(hk_barrier());
    if (me == 0) OK(hk_counting_post(barrier));
    OK(hk_counting_wait(barrier, HK_FOREVER));
    /* Odd and even ranks by themselves, the odd ones more often. */
    {
        int mine[64], count = 0;
        hk_counting half = {0};
        for (rank = me % 2; rank < size; rank += 2) mine[count++] = rank;
        FAILS(HK_ERR_INVALID, hk_counting_create_of(mine, (size_t)count, mine[0], NULL));
        OK(hk_counting_create_of(mine, (size_t)count, mine[count - 1], &half));
        for (round = 1; round <= ROUNDS * (1 + (uint64_t)me % 2); round++) {
            for (rank = 0; rank < count; rank++) OK(hk_push(&round, mine[rank], table, (size_t)me * 8, 8));
            OK(hk_counting_post(half));
            OK(hk_counting_wait(half, HK_FOREVER));
            for (rank = 0; rank < count; rank++) {
                OK(hk_pull(&value, me, table, (size_t)mine[rank] * 8, 8));
                CHECK(value == round);
            }
            OK(hk_counting_post(half));
            OK(hk_counting_wait(half, 60000));
        }
        OK(hk_counting_free(half));
        FAILS(HK_ERR_INVALID, hk_counting_create_of(NULL, 0, 0, &half));
        mine[0] = size;
        FAILS(HK_ERR_RANK, hk_counting_create_of(mine, 1, size, &half));
    }
    /* One that is not freed ends with the job. */
    OK(hk_free(table));
    OK(hk_finalize());
    FAILS(HK_ERR_NOT_STARTED, hk_counting_post(barrier));
    return 0;
}
