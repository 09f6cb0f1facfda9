/* Shared regions: all copies get what anyone writes, whoever comes and goes; and what cannot be. */
#include "check.h"

enum { ROUNDS = 50, WORDS = 100 };

int main(void) {
    hk_region region = {0}, odd = {77};
    uint64_t mine[WORDS], twin[WORDS], word, round;
    size_t count;
    int me, size, rank, ranks[64];

    FAILS(HK_ERR_NOT_STARTED, hk_subscribe(region));
    OK(hk_init());
    me = hk_rank(), size = hk_size();
    FAILS(HK_ERR_HANDLE, hk_subscribe(region));
    FAILS(HK_ERR_HANDLE, hk_region_write(&word, odd, 0, 8));
    FAILS(HK_ERR_HANDLE, hk_region_free(odd));
    FAILS(HK_ERR_INVALID, hk_region_create(0, 8, NULL));
    FAILS(HK_ERR_RANK, hk_region_create(size, 8, &region));

    OK(hk_region_create(size - 1, sizeof mine, &region));
    FAILS(HK_ERR_INVALID, hk_unsubscribe(region));
    FAILS(HK_ERR_INVALID, hk_region_read(&word, region, 0, 8));
    FAILS(HK_ERR_INVALID, hk_region_write(&word, region, 0, 8));
    OK(hk_subscribe(region));
    FAILS(HK_ERR_INVALID, hk_subscribe(region));
    FAILS(HK_ERR_BOUNDS, hk_region_read(mine, region, 8, sizeof mine));
    FAILS(HK_ERR_BOUNDS, hk_region_write(mine, region, 8, sizeof mine));
    FAILS(HK_ERR_INVALID, hk_region_read_twin(mine, region, mine));
    OK(hk_region_read_twin(mine, region, twin));
    FAILS(HK_ERR_INVALID, hk_region_write_diff(mine, region, twin, 7, NULL));
    FAILS(HK_ERR_INVALID, hk_region_refresh(mine, region, twin, 0, NULL));

    /* All change it at once, each a word of its own; some come and go. */
    for (round = 1; round <= ROUNDS; round++) {
        mine[me] = round;
        OK(hk_region_write_diff(mine, region, twin, 8, &count));
        CHECK(count == 1);
        OK(hk_region_write_diff(mine, region, twin, 8, &count));
        CHECK(count == 0);
        if (round % 5 == (uint64_t)me) {
            OK(hk_unsubscribe(region));
            OK(hk_subscribe(region));
        }
        OK(hk_barrier());
        OK(hk_region_refresh(mine, region, twin, 8, &count));
        for (rank = 0; rank < size; rank++) {
            OK(hk_region_read(&word, region, (size_t)rank * 8, 8));
            CHECK(word == round && mine[rank] == round && twin[rank] == round);
        }
        OK(hk_barrier());
    }
    if (me == 0) {
        word = 12345;
        OK(hk_region_write(&word, region, 90 * 8, 8));
    }
    OK(hk_barrier());
    OK(hk_region_read(&word, region, 90 * 8, 8));
    CHECK(word == 12345);
    OK(hk_barrier());

    /* Marked units, from some place on. */
    if (me == 0) {
        uint64_t marks[2] = {5, 0}, units[3] = {1, 2, 3};
        OK(hk_region_write_bitmap(units, region, 90 * 8, marks, 8, 3));
        FAILS(HK_ERR_BOUNDS, hk_region_write_bitmap(mine, region, 8, marks, 8, WORDS));
        FAILS(HK_ERR_INVALID, hk_region_write_bitmap(mine, region, 0, NULL, 8, WORDS));
        FAILS(HK_ERR_INVALID, hk_region_write_bitmap(mine, region, 0, marks, 0, WORDS));
        FAILS(HK_ERR_INVALID, hk_region_write_bitmap(NULL, region, 0, marks, 8, WORDS));
    }
    OK(hk_barrier());
    OK(hk_region_read(mine, region, 90 * 8, 24));
    CHECK(mine[0] == 1 && mine[1] == 0 && mine[2] == 3);

    /* Who has a copy: all; then only the home, which always has one. */
    OK(hk_region_sharers(region, ranks, sizeof ranks / sizeof *ranks, &count));
    CHECK(count == (size_t)size);
    for (rank = 0; rank < size; rank++) CHECK(ranks[rank] == rank);
    OK(hk_barrier());
    OK(hk_unsubscribe(region));
    OK(hk_barrier());
    ranks[0] = ranks[1] = -1;
    OK(hk_region_sharers(region, ranks, 2, &count));
    CHECK(count == 1 && ranks[0] == size - 1 && ranks[1] == -1);
    OK(hk_region_sharers(region, NULL, 0, &count));
    CHECK(count == 1);
    FAILS(HK_ERR_INVALID, hk_region_sharers(region, NULL, 1, NULL));
    FAILS(HK_ERR_INVALID, hk_region_write_bitmap(mine, region, 0, &word, 8, 1));
    OK(hk_region_free(region));
    FAILS(HK_ERR_HANDLE, hk_subscribe(region));

    /* One that is not freed ends with the job. */
    OK(hk_region_create(0, 8, &region));
    OK(hk_finalize());
    FAILS(HK_ERR_NOT_STARTED, hk_subscribe(region));
    return 0;
}
