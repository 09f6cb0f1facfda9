/* Wrong calls: each gives its code and harms nothing. */
#include "check.h"
#include <limits.h>

static void on_message(hk_context *context, const hk_message *message, void *user) {
    (void)context, (void)message, (void)user;
}

static hk_area area_of(uint64_t handle) {
    hk_area area;
    area.handle = handle;
    return area;
}

static void handles(hk_area good) {
    static char data[64];
    uint64_t made_up[] = {0, 1, 2, 0x3fff, 0x4000, 0x4001, UINT64_MAX, (uint64_t)(size_t)data};
    size_t i, bytes;
    uint64_t word;
    for (i = 0; i < sizeof made_up / sizeof *made_up + 3; i++) {
        hk_area bad = area_of(i < 8 ? made_up[i] : good.handle ^ (i == 8 ? 1 : i == 9 ? 1 << 14 : 1ull << 63));
        if (bad.handle == good.handle) continue;
        FAILS(HK_ERR_HANDLE, hk_push(data, 0, bad, 0, 8));
        FAILS(HK_ERR_HANDLE, hk_pull(data, 0, bad, 0, 8));
        FAILS(HK_ERR_HANDLE, hk_word(0, bad, 0, 8));
        FAILS(HK_ERR_HANDLE, hk_push_notify(data, 0, bad, 0, 8, good, 0, 1));
        FAILS(HK_ERR_HANDLE, hk_push_notify(data, 0, good, 0, 8, bad, 0, 1));
        FAILS(HK_ERR_HANDLE, hk_push_status(data, 0, good, 0, 8, bad, 0, 1));
        FAILS(HK_ERR_HANDLE, hk_pull_status(data, 0, bad, 0, 8, good, 0, 1));
        FAILS(HK_ERR_HANDLE, hk_atomic(0, bad, 0, HK_ADD, 1, 0, NULL));
        FAILS(HK_ERR_HANDLE, hk_wait(bad, 0, HK_EQUAL, 0, HK_ANYONE, 0, NULL));
        FAILS(HK_ERR_HANDLE, hk_poll(bad, 0, &word));
        FAILS(HK_ERR_HANDLE, hk_area_size(bad, &bytes));
        FAILS(HK_ERR_HANDLE, hk_area_close(bad));
        FAILS(HK_ERR_HANDLE, hk_free(bad));
        CHECK(hk_local(bad) == NULL);
    }
}

int main(void) {
    hk_area area, word_area, mine, gone;
    uint64_t word = 0;
    char data[64] = {0};
    hk_event event = {HK_EVENT_WORD, HK_EQUAL, {0}, 0, 0, 0};
    size_t bytes;
    int me, size;

    OK(hk_init());
    me = hk_rank(), size = hk_size();
    OK(hk_alloc(64, &area));
    OK(hk_alloc(20, &word_area));
    OK(hk_alloc(8, &gone));
    handles(area);

    /* Freed handles stay dead even when the slot is used again. */
    OK(hk_free(gone));
    handles(area);
    FAILS(HK_ERR_HANDLE, hk_free(gone));
    FAILS(HK_ERR_HANDLE, hk_push(data, me, gone, 0, 8));
    OK(hk_alloc(8, &mine));
    CHECK(mine.handle != gone.handle);
    FAILS(HK_ERR_HANDLE, hk_push(data, me, gone, 0, 8));
    FAILS(HK_ERR_HANDLE, hk_area_close(mine));
    OK(hk_free(mine));

    /* Ranks. */
    FAILS(HK_ERR_RANK, hk_push(data, size, area, 0, 8));
    GIVES(size, hk_error_rank());
    FAILS(HK_ERR_RANK, hk_push(data, -1, area, 0, 8));
    SAYS("rank -1 does not exist");
    GIVES(-1, hk_error_rank());
    FAILS(HK_ERR_RANK, hk_word(INT_MIN, area, 0, 1));
    FAILS(HK_ERR_RANK, hk_flush(INT_MAX));
    FAILS(HK_ERR_RANK, hk_send(size, 1, 0, NULL, NULL, 0));
    FAILS(HK_ERR_RANK, hk_call(-5, 1, NULL, NULL, 0, NULL));
    FAILS(HK_ERR_RANK, hk_is_present(size));
    FAILS(HK_ERR_RANK, hk_area_open(-1, 0, &mine));
    FAILS(HK_ERR_RANK, hk_wait(area, 0, HK_EQUAL, 1, size, 1, NULL));
    FAILS(HK_ERR_RANK, hk_wait(area, 0, HK_EQUAL, 1, -2, 1, NULL));

    /* Bounds. */
    FAILS(HK_ERR_BOUNDS, hk_push(data, me, area, 57, 8));
    FAILS(HK_ERR_BOUNDS, hk_push(data, me, area, 65, 0));
    OK(hk_push(data, me, area, 64, 0));
    FAILS(HK_ERR_BOUNDS, hk_push(data, me, area, SIZE_MAX, 8));
    FAILS(HK_ERR_BOUNDS, hk_push(data, me, area, SIZE_MAX - 7, 8));
    FAILS(HK_ERR_BOUNDS, hk_push(data, me, area, 0, SIZE_MAX / 2));
    FAILS(HK_ERR_INVALID, hk_push(data, me, area, 0, SIZE_MAX));
    FAILS(HK_ERR_INVALID, hk_pull(data, me, area, 1, (size_t)PTRDIFF_MAX + 1));
    FAILS(HK_ERR_BOUNDS, hk_word(me, area, 64, 1));
    FAILS(HK_ERR_BOUNDS, hk_word(me, area, SIZE_MAX - 7, 1));
    FAILS(HK_ERR_BOUNDS, hk_word(me, word_area, 16, 1));
    OK(hk_word(me, word_area, 8, 1));
    FAILS(HK_ERR_ALIGNMENT, hk_word(me, area, 4, 1));
    FAILS(HK_ERR_ALIGNMENT, hk_fetch_add(me, area, 63, 1, NULL));
    FAILS(HK_ERR_ALIGNMENT, hk_fetch_add_u32(me, area, 2, 1, NULL));
    FAILS(HK_ERR_ALIGNMENT, hk_fetch_add_i64(me, area, 4, 1, NULL));
    FAILS(HK_ERR_ALIGNMENT, hk_fetch_add_f64(me, area, 4, 1, NULL));
    FAILS(HK_ERR_BOUNDS, hk_fetch_add_u32(me, area, 64, 1, NULL));
    FAILS(HK_ERR_BOUNDS, hk_fetch_add_f64(me, area, 64, 1, NULL));
    FAILS(HK_ERR_INVALID, hk_atomic_u32(me, area, 0, (hk_atomic_op)6, 1, 0, NULL));
    FAILS(HK_ERR_ALIGNMENT, hk_wait(area, 1, HK_EQUAL, 1, HK_ANYONE, 1, NULL));
    FAILS(HK_ERR_ALIGNMENT, hk_push_notify(data, me, area, 0, 8, area, 9, 1));
    FAILS(HK_ERR_ALIGNMENT, hk_push_notify_add(data, me, area, 0, 8, area, 9, 1));
    FAILS(HK_ERR_BOUNDS, hk_push_notify_add(data, me, area, 0, 8, area, 64, 1));

    /* Null pointers; none is needed for no bytes. */
    FAILS(HK_ERR_INVALID, hk_push(NULL, me, area, 0, 8));
    FAILS(HK_ERR_INVALID, hk_pull(NULL, me, area, 0, 8));
    OK(hk_push(NULL, me, area, 0, 0));
    OK(hk_pull(NULL, me, area, 0, 0));
    FAILS(HK_ERR_INVALID, hk_send(me, 1, 0, NULL, NULL, 3));
    FAILS(HK_ERR_INVALID, hk_alloc(8, NULL));
    FAILS(HK_ERR_INVALID, hk_area_open(me, 0, NULL));
    FAILS(HK_ERR_INVALID, hk_area_register(0, NULL, 8));
    FAILS(HK_ERR_INVALID, hk_area_size(area, NULL));
    FAILS(HK_ERR_INVALID, hk_handler_register(1, NULL, NULL));
    FAILS(HK_ERR_INVALID, hk_handled(1, NULL));
    FAILS(HK_ERR_INVALID, hk_poll(area, 0, NULL));
    FAILS(HK_ERR_INVALID, hk_wait_any(NULL, 1, HK_ANYONE, 1));
    FAILS(HK_ERR_INVALID, hk_context_reply(NULL, NULL));
    FAILS(HK_ERR_INVALID, hk_context_retry((hk_context *)data));
    FAILS(HK_ERR_INVALID, hk_context_send((hk_context *)8, me, 1, 0, NULL, NULL, 0));

    /* Values that are none of an enumeration's. */
    FAILS(HK_ERR_INVALID, hk_atomic(me, area, 0, (hk_atomic_op)6, 1, 0, NULL));
    FAILS(HK_ERR_INVALID, hk_wait(area, 0, (hk_until)3, 1, HK_ANYONE, 1, NULL));
    event.area = area;
    FAILS(HK_ERR_INVALID, hk_wait_any(&event, 0, HK_ANYONE, 1));
    FAILS(HK_ERR_INVALID, hk_wait_any(&event, SIZE_MAX, HK_ANYONE, 1));
    event.kind = (hk_event_kind)9;
    FAILS(HK_ERR_INVALID, hk_wait_any(&event, 1, HK_ANYONE, 1));

    /* Handlers and areas by id. */
    FAILS(HK_ERR_HANDLER_ID, hk_handler_register(HK_HANDLER_COUNT, on_message, NULL));
    OK(hk_handler_register(3, on_message, NULL));
    FAILS(HK_ERR_HANDLER_ID, hk_handler_register(3, on_message, NULL));
    OK(hk_handler_remove(3));
    FAILS(HK_ERR_HANDLER_ID, hk_handler_remove(3));
    FAILS(HK_ERR_HANDLER_ID, hk_send(me, HK_HANDLER_COUNT, 0, NULL, NULL, 0));
    FAILS(HK_ERR_HANDLER_ID, hk_handled(65535, &word));
    FAILS(HK_ERR_HANDLER_ID, hk_wait_handled(256, 1, HK_ANYONE, 1));
    FAILS(HK_ERR_AREA_ID, hk_area_create(256, 8, NULL));
    FAILS(HK_ERR_AREA_ID, hk_area_register(UINT32_MAX, data, 8));
    FAILS(HK_ERR_UNKNOWN_AREA, hk_area_revoke(9));
    FAILS(HK_ERR_UNKNOWN_AREA, hk_area_open(me, 9, &mine));
    FAILS(HK_ERR_UNKNOWN_AREA, hk_area_open(me, UINT32_MAX, &mine));
    OK(hk_area_create(9, 8, NULL));
    FAILS(HK_ERR_AREA_ID, hk_area_create(9, 8, NULL));
    FAILS(HK_ERR_AREA_ID, hk_area_register(9, data, 8));
    OK(hk_area_open(me, 9, &mine));
    FAILS(HK_ERR_HANDLE, hk_free(mine));
    FAILS(HK_ERR_RANK, hk_push(data, me + 1, mine, 0, 8));
    OK(hk_area_revoke(9));
    FAILS(HK_ERR_HANDLE, hk_push(data, me, mine, 0, 8));

    /* Sizes that no machine has. */
    FAILS(HK_ERR_MEMORY, hk_alloc((size_t)1 << 46, &mine));
    CHECK(hk_alloc(SIZE_MAX, &mine) < 0);
    CHECK(hk_area_create(9, SIZE_MAX, NULL) < 0);
    FAILS(HK_ERR_MEMORY, hk_area_create(9, (size_t)1 << 46, NULL));
    FAILS(HK_ERR_INVALID, hk_area_register(9, data, SIZE_MAX));
    OK(hk_area_register(9, data, 64));
    FAILS(HK_ERR_PAYLOAD, hk_send(me, 1, 0, NULL, hk_local(area), HK_PAYLOAD_MAX + 1));

    /* After all that, everything works. */
    OK(hk_alloc(0, &mine));
    OK(hk_area_size(mine, &bytes));
    CHECK(bytes == 0);
    OK(hk_free(mine));
    OK(hk_push("12345678", me, area, 0, 8));
    CHECK(memcmp(hk_local(area), "12345678", 8) == 0);
    OK(hk_sync());
    OK(hk_barrier());
    OK(hk_finalize());
    return 0;
}
