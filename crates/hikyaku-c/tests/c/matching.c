/* Messages by key: every rank sends to the next, of all sizes; open sources and keys; and what cannot be. */
#include "check.h"
#include <stdlib.h>
#include <string.h>

enum { COUNT = 60, LONG = 50000 };

static size_t size_of(int number) {
    static const size_t sizes[] = {0, 8, 100, 8192, 8193, LONG};
    return sizes[number % 6];
}

static void fill(unsigned char *data, size_t size, int rank, int number) {
    size_t at;
    for (at = 0; at < size; at++) data[at] = (unsigned char)(at * 7 + (size_t)(rank * 31 + number));
}

static void exchange(int me, int size) {
    int to = (me + 1) % size, from = (me + size - 1) % size, number;
    unsigned char *sent = malloc(COUNT * LONG), *got = malloc(COUNT * LONG), *expected = malloc(LONG);
    hk_request sends[COUNT], receives[COUNT];
    CHECK(sent && got && expected);
    for (number = 0; number < COUNT; number++) {
        fill(sent + number * LONG, size_of(number), me, number);
        OK(hk_isend(sent + number * LONG, size_of(number), to, (uint64_t)number, &sends[number]));
    }
    for (number = COUNT - 1; number >= 0; number--)
        OK(hk_irecv(got + number * LONG, LONG, from, (uint64_t)number, 0, &receives[number]));
    for (number = 0; number < COUNT; number++) {
        hk_matched matched = {-1, 99, 99};
        if (number % 2) {
            OK(hk_request_wait(&receives[number], HK_FOREVER, &matched));
        } else {
            int code;
            do code = hk_request_test(&receives[number], &matched);
            while (code == 0);
            CHECK(code == 1);
        }
        CHECK(matched.rank == from && matched.key == (uint64_t)number && matched.size == size_of(number));
        fill(expected, size_of(number), from, number);
        CHECK(memcmp(expected, got + number * LONG, size_of(number)) == 0);
        CHECK(receives[number].handle == 0);
        OK(hk_request_wait(&receives[number], HK_FOREVER, NULL));
        OK(hk_request_wait(&sends[number], HK_FOREVER, NULL));
    }
    free(sent), free(got), free(expected);
}

int main(void) {
    hk_request request = {0}, other = {0}, odd = {77};
    hk_matched matched;
    uint64_t word = 5, room = 0;
    int me, size, rank;

    FAILS(HK_ERR_NOT_STARTED, hk_isend(&word, 8, 0, 1, &request));
    OK(hk_init());
    me = hk_rank(), size = hk_size();
    FAILS(HK_ERR_INVALID, hk_isend(&word, 8, 0, 1, &request));
    OK(hk_matching_open());
    FAILS(HK_ERR_INVALID, hk_matching_open());
    FAILS(HK_ERR_HANDLE, hk_request_wait(&odd, 1, NULL));
    FAILS(HK_ERR_INVALID, hk_request_wait(NULL, 1, NULL));
    FAILS(HK_ERR_INVALID, hk_isend(&word, 8, 0, 1, NULL));
    FAILS(HK_ERR_INVALID, hk_isend(NULL, 8, 0, 1, &request));
    FAILS(HK_ERR_RANK, hk_isend(&word, 8, size, 1, &request));
    FAILS(HK_ERR_RANK, hk_irecv(&word, 8, -7, 1, 0, &request));
    FAILS(HK_ERR_RANK, hk_iprobe(size, 1, 0, NULL));
    CHECK(hk_iprobe(HK_ANYONE, 0, HK_ANY_KEY, NULL) == 0);
    OK(hk_barrier());

    exchange(me, size);
    exchange(me, size);

    /* Everybody to rank 0, which takes what comes. */
    OK(hk_isend(&me, sizeof me, 0, 0x700 | (uint64_t)me, &request));
    OK(hk_request_wait(&request, HK_FOREVER, NULL));
    if (me == 0) {
        int sum = 0, got;
        for (rank = 0; rank < size; rank++) {
            OK(hk_irecv(&got, sizeof got, HK_ANYONE, 0x700, 0xff, &request));
            OK(hk_request_wait(&request, HK_FOREVER, &matched));
            CHECK(matched.rank == got && matched.key == (uint64_t)(0x700 | got) && matched.size == sizeof got);
            sum += got;
        }
        CHECK(sum == size * (size - 1) / 2);
    }

    /* To itself: probed, too long, given up. */
    OK(hk_isend(&word, 8, me, 3, &request));
    while (hk_iprobe(me, 3, 0, &matched) == 0) {}
    CHECK(matched.rank == me && matched.key == 3 && matched.size == 8);
    OK(hk_irecv(&room, 4, me, 3, 0, &other));
    FAILS(HK_ERR_TRUNCATED, hk_request_wait(&other, HK_FOREVER, NULL));
    CHECK(other.handle == 0 && room == 0);
    OK(hk_request_wait(&request, HK_FOREVER, NULL));
    OK(hk_irecv(&room, 8, me, 4, 0, &request));
    FAILS(HK_ERR_TIMEOUT, hk_request_wait(&request, 10, NULL));
    CHECK(request.handle != 0 && hk_request_test(&request, NULL) == 0);
    FAILS(HK_ERR_INVALID, hk_matching_close());
    CHECK(hk_request_cancel(&request, NULL) == 0 && request.handle == 0);
    OK(hk_isend(&word, 8, me, 4, &request));
    OK(hk_irecv(&room, 8, me, 4, 0, &other));
    OK(hk_request_wait(&other, HK_FOREVER, &matched));
    CHECK(room == word && matched.size == 8);
    OK(hk_request_wait(&request, HK_FOREVER, NULL));

    OK(hk_matching_close());
    FAILS(HK_ERR_INVALID, hk_matching_close());
    OK(hk_matching_open());
    /* One that is under way ends with the job. */
    OK(hk_irecv(&room, 8, me, 4, 0, &request));
    OK(hk_barrier());
    OK(hk_finalize());
    return 0;
}
