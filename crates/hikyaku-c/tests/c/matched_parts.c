/* Messages of some bytes of a range: blocks, marked units, what differs from a twin; and what cannot be. */
#include "check.h"

enum { WORDS = 20000 };

static uint64_t data[WORDS], changed[WORDS], twin[WORDS], blocks[WORDS], marked[WORDS], kept[WORDS], kept_twin[WORDS], diffs[WORDS];
static uint64_t bits[WORDS / 64 + 1];

static uint64_t value(int rank, size_t word) { return (uint64_t)rank * 1000000 + word; }

int main(void) {
    hk_request sends[4], receives[4], none;
    hk_stride thirds = {8, 0, 24, 0}, overlapping = {8, 2, 4, 8};
    hk_matched matched;
    size_t word, words, count;
    int me, size, left, right, number;

    OK(hk_init());
    me = hk_rank(), size = hk_size();
    left = (me + size - 1) % size, right = (me + 1) % size;
    OK(hk_matching_open());
    FAILS(HK_ERR_INVALID, hk_isend_stride(data, overlapping, me, 0, &none));
    FAILS(HK_ERR_INVALID, hk_irecv_stride(data, overlapping, me, 0, 0, &none));
    FAILS(HK_ERR_INVALID, hk_isend_stride(data, thirds, me, 0, NULL));
    FAILS(HK_ERR_INVALID, hk_isend_bitmap(data, NULL, 8, 10, me, 0, &none));
    FAILS(HK_ERR_INVALID, hk_isend_diff(data, 80, twin, 7, me, 0, NULL, &none));
    FAILS(HK_ERR_INVALID, hk_isend_diff(data, 80, data, 8, me, 0, NULL, &none));
    data[3] = 1;
    FAILS(HK_ERR_RANK, hk_isend_diff(data, 80, twin, 8, size, 0, NULL, &none));
    CHECK(twin[3] == 0);
    FAILS(HK_ERR_INVALID, hk_irecv_diff(data, 80, 0, me, 0, 0, &none));
    FAILS(HK_ERR_INVALID, hk_irecv_twin(data, 80, data, me, 0, 0, &none));
    FAILS(HK_ERR_RANK, hk_irecv_bitmap(data, bits, 8, 10, size, 0, 0, &none));

    for (words = 10; words <= WORDS; words *= 10) {
        thirds.count = words / 3;
        memset(bits, 0, sizeof bits);
        for (word = 0; word < words; word++) {
            data[word] = twin[word] = changed[word] = value(me, word);
            blocks[word] = marked[word] = kept[word] = kept_twin[word] = 9;
            diffs[word] = value(left, word);
            if (word % 2) bits[word / 64] |= (uint64_t)1 << word % 64;
            if (word % 7 == 0) changed[word]++;
        }
        OK(hk_irecv_stride(blocks, thirds, left, 1, 0, &receives[0]));
        OK(hk_irecv_bitmap(marked, bits, 8, words, HK_ANYONE, 2, 0, &receives[1]));
        OK(hk_isend_stride(data, thirds, right, 1, &sends[0]));
        OK(hk_isend_bitmap(data, bits, 8, words, right, 2, &sends[1]));
        OK(hk_isend(data, words * 8, right, 3, &sends[2]));
        OK(hk_isend_diff(changed, words * 8, twin, 8, right, 4, &count, &sends[3]));
        CHECK(count == (words + 6) / 7 && memcmp(twin, changed, words * 8) == 0);
        OK(hk_barrier());
        OK(hk_irecv_twin(kept, words * 8, kept_twin, left, 3, 0, &receives[2]));
        OK(hk_irecv_diff(diffs, words * 8, 8, left, 4, 0, &receives[3]));
        for (number = 0; number < 4; number++) {
            OK(hk_request_wait(&receives[number], HK_FOREVER, &matched));
            CHECK(matched.rank == left && matched.key == (uint64_t)number + 1);
            if (number == 0) CHECK(matched.size == words / 3 * 8);
            if (number == 1) CHECK(matched.size == words / 2 * 8);
        }
        for (number = 0; number < 4; number++) OK(hk_request_wait(&sends[number], HK_FOREVER, NULL));
        for (word = 0; word < words; word++) {
            CHECK(blocks[word] == (word % 3 == 0 && word / 3 < words / 3 ? value(left, word) : 9));
            CHECK(marked[word] == (word % 2 ? value(left, word) : 9));
            CHECK(kept[word] == value(left, word) && kept_twin[word] == kept[word]);
            CHECK(diffs[word] == value(left, word) + (word % 7 == 0));
        }
        OK(hk_barrier());
    }
    /* What is no message of changes. */
    OK(hk_isend(data, 80, me, 5, &sends[0]));
    OK(hk_irecv_diff(diffs, 80, 8, me, 5, 0, &receives[0]));
    FAILS(HK_ERR_INVALID, hk_request_wait(&receives[0], HK_FOREVER, NULL));
    OK(hk_request_wait(&sends[0], HK_FOREVER, NULL));
    OK(hk_matching_close());
    OK(hk_finalize());
    return 0;
}
