/* Remote queues: all ranks push, one pops where items have landed. */
#include "check.h"
#include <string.h>

typedef struct item {
    uint64_t rank, number, check;
} item;

static item make(int rank, uint64_t number) {
    item made = {(uint64_t)rank, number, (uint64_t)(rank + 3) * 0x9e3779b9u ^ number};
    return made;
}

enum { ITEMS = 5000, BATCH = 37 };

static void produce(hk_queue queue) {
    item items[BATCH];
    for (uint64_t first = 0; first < ITEMS;) {
        size_t count = ITEMS - first < BATCH ? (size_t)(ITEMS - first) : BATCH, pushed = 0;
        for (size_t at = 0; at < count; at++) items[at] = make(hk_rank(), first + at);
        int code = hk_queue_push(queue, items, count, first % 2 ? 0 : -1, &pushed);
        CHECK(code == 0 ? pushed == count : code == HK_ERR_TIMEOUT && pushed < count);
        first += pushed;
    }
}

static void consume(hk_queue queue) {
    uint64_t next[16] = {0};
    hk_popped popped;
    for (long left = (long)ITEMS * (hk_size() - 1); left > 0; left -= (long)popped.count) {
        OK(hk_queue_pop(queue, left % 3 ? 10 : 1, -1, &popped));
        CHECK(popped.rank > 0 && popped.count > 0 && popped.count <= 10);
        for (size_t at = 0; at < popped.count; at++) {
            item got, wanted = make(popped.rank, next[popped.rank]++);
            memcpy(&got, (const char *)popped.items + at * popped.stride, sizeof got);
            CHECK(memcmp(&got, &wanted, sizeof got) == 0);
        }
        if (left % 2) OK(hk_queue_release(queue));
    }
    FAILS(HK_ERR_TIMEOUT, hk_queue_pop(queue, 1, 0, &popped));
}

int main(void) {
    OK(hk_init());
    hk_queue queue = {0};
    hk_popped popped;
    FAILS(HK_ERR_INVALID, hk_queue_create(0, 0, 8, &queue));
    FAILS(HK_ERR_INVALID, hk_queue_create(0, 8, 0, &queue));
    FAILS(HK_ERR_INVALID, hk_queue_create(0, 8, 8, NULL));
    FAILS(HK_ERR_HANDLE, hk_queue_push(queue, "12345678", 1, -1, NULL));
    OK(hk_queue_create(0, 100, sizeof(item), &queue));
    if (hk_size() == 1) {
        item one = make(0, 7);
        OK(hk_queue_push(queue, &one, 1, -1, NULL));
        OK(hk_queue_pop(queue, 5, -1, &popped));
        CHECK(popped.rank == 0 && popped.count == 1 && memcmp(popped.items, &one, sizeof one) == 0);
    } else if (hk_rank() == 0) {
        consume(queue);
    } else {
        FAILS(HK_ERR_INVALID, hk_queue_pop(queue, 1, 0, &popped));
        produce(queue);
    }
    OK(hk_queue_free(queue));
    FAILS(HK_ERR_HANDLE, hk_queue_free(queue));
    OK(hk_finalize());
    return 0;
}
