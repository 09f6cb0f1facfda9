/* A program started alone: the life of a job, and what comes before and after it. */
#include "check.h"

static const int codes[] = {
    HK_SUCCESS, HK_BUSY, HK_ERR_PEER_DEAD, HK_ERR_PEER_LEFT, HK_ERR_PEER_MISBEHAVED, HK_ERR_REFUSED, HK_ERR_TIMEOUT,
    HK_ERR_RANK, HK_ERR_BOUNDS, HK_ERR_ALIGNMENT, HK_ERR_HANDLE, HK_ERR_NOT_MINE, HK_ERR_UNKNOWN_AREA, HK_ERR_REVOKED,
    HK_ERR_AREA_ID, HK_ERR_HANDLER_ID, HK_ERR_PAYLOAD, HK_ERR_IN_HANDLER, HK_ERR_FORKED, HK_ERR_MISMATCH, HK_ERR_PORTS,
    HK_ERR_INVALID, HK_ERR_NOT_STARTED, HK_ERR_STARTED, HK_ERR_THREAD, HK_ERR_MEMORY, HK_ERR_START, HK_ERR_SYSTEM,
    HK_ERR_INTERNAL, HK_ERR_UNREACHABLE, HK_ERR_TRUNCATED, HK_ERR_PINNED,
};

static void on_message(hk_context *context, const hk_message *message, void *user) {
    (void)context, (void)message, (void)user;
}

/* Every call that needs a job. */
static void everything_gives(int code) {
    hk_area area = {0};
    uint64_t word = 0;
    size_t bytes = 0;
    char data[8] = {0};
    hk_transfer transfer = {0};
    hk_request request = {0};
    hk_counting counting = {0};
    hk_recipients recipients = {0};
    hk_mutex mutex = {0};
    hk_region region = {0};
    hk_queue queue = {0};
    hk_popped popped;
    hk_stride blocks = {1, 1, 1, 1};
    uint64_t bits = 1;
    hk_event event = {HK_EVENT_HANDLER, HK_EQUAL, {0}, 0, 1, 1};
    FAILS(code, hk_rank());
    FAILS(code, hk_size());
    FAILS(code, hk_barrier());
    FAILS(code, hk_barrier_for(1));
    FAILS(code, hk_is_present(0));
    FAILS(code, hk_is_crowded());
    FAILS(code, hk_reaches_private_memory(0));
    FAILS(code, hk_alloc(8, &area));
    FAILS(code, hk_free(area));
    CHECK(hk_local(area) == NULL);
    CHECK(hk_address(0, area, 0) == NULL);
    FAILS(code, hk_area_size(area, &bytes));
    FAILS(code, hk_area_create(1, 8, NULL));
    FAILS(code, hk_area_register(1, data, 8));
    FAILS(code, hk_area_revoke(1));
    FAILS(code, hk_area_open(0, 1, &area));
    FAILS(code, hk_area_close(area));
    FAILS(code, hk_pd_req(0, area, 0, 8));
    FAILS(code, hk_pd_release(0, area));
    FAILS(code, hk_area_wait_unpinned(1, 1));
    FAILS(code, hk_area_unpin(1));
    FAILS(code, hk_push(data, 0, area, 0, 8));
    FAILS(code, hk_push_by(HK_PATH_WORD, data, 0, area, 0, 8));
    FAILS(code, hk_pull(data, 0, area, 0, 8));
    FAILS(code, hk_word(0, area, 0, 1));
    FAILS(code, hk_push_notify(data, 0, area, 0, 8, area, 0, 1));
    FAILS(code, hk_push_notify_add(data, 0, area, 0, 8, area, 0, 1));
    FAILS(code, hk_pointer_to(0, area, 0, &word));
    FAILS(code, hk_push_indirect(&word, 0, area, 0, 8));
    FAILS(code, hk_pull_indirect(&word, 0, area, 0, 8));
    FAILS(code, hk_register_set(0, 0));
    FAILS(code, hk_register_get(0, &word));
    FAILS(code, hk_push_register(&word, 0, 0, 8));
    FAILS(code, hk_pull_register(&word, 0, 0, 8));
    FAILS(code, hk_chain_create(1, NULL, 0, &word));
    FAILS(code, hk_recipients_create(NULL, 0, &recipients));
    FAILS(code, hk_recipients_free(recipients));
    FAILS(code, hk_areas_open(recipients, 1, &area));
    FAILS(code, hk_mcast_a(data, recipients, area, 0, 8));
    FAILS(code, hk_mcast_a_notify(data, recipients, area, 0, 8, area, 0, 1));
    FAILS(code, hk_mcast_a_stride(data, recipients, area, 0, blocks));
    FAILS(code, hk_mcast_a_stride_notify(data, recipients, area, 0, blocks, area, 0, 1));
    FAILS(code, hk_mcast_a_bitmap(data, recipients, area, 0, &bits, 1, 8));
    FAILS(code, hk_mcast_a_bitmap_notify(data, recipients, area, 0, &bits, 1, 8, area, 0, 1));
    FAILS(code, hk_mcast_a_diff(data, recipients, area, 0, 0, data, 1, NULL));
    FAILS(code, hk_mcast_a_diff_notify(data, recipients, area, 0, 0, data, 1, area, 0, 1, NULL));
    FAILS(code, hk_mcast_b(data, NULL, 0, area, 0, 8));
    FAILS(code, hk_mcast_b_notify(data, NULL, 0, area, 0, 8, area, 0, 1));
    FAILS(code, hk_mcast_b_stride(data, NULL, 0, area, 0, blocks));
    FAILS(code, hk_mcast_b_stride_notify(data, NULL, 0, area, 0, blocks, area, 0, 1));
    FAILS(code, hk_mcast_b_bitmap(data, NULL, 0, area, 0, &bits, 1, 8));
    FAILS(code, hk_mcast_b_bitmap_notify(data, NULL, 0, area, 0, &bits, 1, 8, area, 0, 1));
    FAILS(code, hk_mcast_b_diff(data, NULL, 0, area, 0, 0, data, 1, NULL));
    FAILS(code, hk_mcast_b_diff_notify(data, NULL, 0, area, 0, 0, data, 1, area, 0, 1, NULL));
    FAILS(code, hk_mutex_create(0, &mutex));
    FAILS(code, hk_mutex_free(mutex));
    FAILS(code, hk_lock(mutex, 1, NULL));
    FAILS(code, hk_try_lock(mutex, NULL));
    FAILS(code, hk_unlock(mutex));
    FAILS(code, hk_push_stride(data, 0, area, 0, blocks));
    FAILS(code, hk_pull_stride(data, 0, area, 0, blocks));
    FAILS(code, hk_push_bitmap(data, 0, area, 0, &bits, 1, 8));
    FAILS(code, hk_pull_bitmap(data, 0, area, 0, &bits, 1, 8));
    FAILS(code, hk_pull_twin(data, 0, area, 0, 4, data + 4));
    FAILS(code, hk_push_diff(data, 0, area, 0, 0, data, 1, NULL));
    FAILS(code, hk_bcopy(0, area, 0, 0, area, 0, 8));
    FAILS(code, hk_bcopy_notify(0, area, 0, 0, area, 0, 8, area, 0, 1));
    FAILS(code, hk_push_status(data, 0, area, 0, 8, area, 0, 1));
    FAILS(code, hk_pull_status(data, 0, area, 0, 8, area, 0, 1));
    FAILS(code, hk_push_start(data, 0, area, 0, 8, &transfer));
    FAILS(code, hk_pull_start(data, 0, area, 0, 8, &transfer));
    FAILS(code, hk_push_stride_start(data, 0, area, 0, blocks, &transfer));
    FAILS(code, hk_pull_stride_start(data, 0, area, 0, blocks, &transfer));
    FAILS(code, hk_push_bitmap_start(data, 0, area, 0, &bits, 1, 8, &transfer));
    FAILS(code, hk_pull_bitmap_start(data, 0, area, 0, &bits, 1, 8, &transfer));
    FAILS(code, hk_push_diff_start(data, 0, area, 0, 0, data, 1, NULL, &transfer));
    FAILS(code, hk_push_stride_notify(data, 0, area, 0, blocks, area, 0, 1));
    FAILS(code, hk_push_bitmap_notify(data, 0, area, 0, &bits, 1, 8, area, 0, 1));
    FAILS(code, hk_push_diff_notify(data, 0, area, 0, 0, data, 1, area, 0, 1, NULL));
    FAILS(code, hk_transfer_test(&transfer));
    FAILS(code, hk_transfer_wait(&transfer, 1));
    FAILS(code, hk_transfer_wait_any(&transfer, 1, 1, &bytes));
    FAILS(code, hk_transfer_wait_all());
    FAILS(code, hk_counting_create(0, &counting));
    FAILS(code, hk_counting_create_of(NULL, 0, 0, &counting));
    FAILS(code, hk_counting_free(counting));
    FAILS(code, hk_counting_post(counting));
    FAILS(code, hk_counting_wait(counting, 1));
    FAILS(code, hk_counting_test(counting));
    FAILS(code, hk_region_create(0, 64, &region));
    FAILS(code, hk_region_free(region));
    FAILS(code, hk_subscribe(region));
    FAILS(code, hk_unsubscribe(region));
    FAILS(code, hk_region_read(NULL, region, 0, 0));
    FAILS(code, hk_region_read_twin(NULL, region, NULL));
    FAILS(code, hk_region_write(NULL, region, 0, 0));
    FAILS(code, hk_region_write_bitmap(NULL, region, 0, &bits, 1, 0));
    FAILS(code, hk_region_sharers(region, NULL, 0, NULL));
    FAILS(code, hk_region_write_diff(NULL, region, NULL, 1, NULL));
    FAILS(code, hk_region_refresh(NULL, region, NULL, 1, NULL));
    FAILS(code, hk_queue_create(0, 8, 8, &queue));
    FAILS(code, hk_queue_free(queue));
    FAILS(code, hk_queue_push(queue, NULL, 0, 1, NULL));
    FAILS(code, hk_queue_pop(queue, 1, 1, &popped));
    FAILS(code, hk_queue_release(queue));
    FAILS(code, hk_exchange_open(0, 0));
    FAILS(code, hk_exchange_open_packets(0, 0));
    FAILS(code, hk_exchange_close());
    FAILS(code, hk_exchange_send(NULL, 0, 0, 0));
    FAILS(code, hk_exchange_recv(NULL, 0, 0, 0, 0, 1, NULL));
    FAILS(code, hk_exchange_iprobe(0, 0, 0, NULL));
    FAILS(code, hk_passing_open(HK_ENGINE_EXCHANGE, 0));
    FAILS(code, hk_passing_close());
    FAILS(code, hk_passing_send(NULL, 0, 0, 0));
    FAILS(code, hk_passing_recv(NULL, 0, 0, 0, 1, NULL));
    FAILS(code, hk_passing_probe(0, 0, NULL));
    FAILS(code, hk_matching_open());
    FAILS(code, hk_matching_close());
    FAILS(code, hk_isend(data, 8, 0, 1, &request));
    FAILS(code, hk_irecv(data, 8, 0, 1, 0, &request));
    FAILS(code, hk_isend_stride(data, blocks, 0, 1, &request));
    FAILS(code, hk_isend_bitmap(data, &bits, 8, 1, 0, 1, &request));
    FAILS(code, hk_isend_diff(data, 8, NULL, 8, 0, 1, NULL, &request));
    FAILS(code, hk_irecv_stride(data, blocks, 0, 1, 0, &request));
    FAILS(code, hk_irecv_bitmap(data, &bits, 8, 1, 0, 1, 0, &request));
    FAILS(code, hk_irecv_twin(data, 8, NULL, 0, 1, 0, &request));
    FAILS(code, hk_irecv_diff(data, 8, 8, 0, 1, 0, &request));
    FAILS(code, hk_iprobe(0, 1, 0, NULL));
    FAILS(code, hk_request_test(&request, NULL));
    FAILS(code, hk_request_wait(&request, 1, NULL));
    FAILS(code, hk_request_cancel(&request, NULL));
    FAILS(code, hk_atomic(0, area, 0, HK_ADD, 1, 0, &word));
    FAILS(code, hk_fetch_add(0, area, 0, 1, &word));
    FAILS(code, hk_atomic_u32(0, area, 0, HK_ADD, 1, 0, NULL));
    FAILS(code, hk_atomic_i64(0, area, 0, HK_ADD, 1, 0, NULL));
    FAILS(code, hk_fetch_add_u32(0, area, 0, 1, NULL));
    FAILS(code, hk_fetch_add_i64(0, area, 0, 1, NULL));
    FAILS(code, hk_fetch_add_f64(0, area, 0, 1, NULL));
    FAILS(code, hk_flush(0));
    FAILS(code, hk_sync());
    FAILS(code, hk_broadcast(data, 8, 0));
    FAILS(code, hk_reduce(data, 1, HK_U32, HK_SUM, 0));
    FAILS(code, hk_allreduce(data, 1, HK_U32, HK_SUM));
    FAILS(code, hk_scan(data, 1, HK_U32, HK_SUM));
    FAILS(code, hk_exscan(data, 1, HK_U32, HK_SUM));
    FAILS(code, hk_gather(data, 4, data + 4, 0));
    FAILS(code, hk_allgather(data, 4, data + 4));
    FAILS(code, hk_scatter(data, 4, data + 4, 0));
    FAILS(code, hk_alltoall(data, 4, data + 4));
    FAILS(code, hk_handler_register(1, on_message, NULL));
    FAILS(code, hk_handler_remove(1));
    FAILS(code, hk_send(0, 1, 0, NULL, NULL, 0));
    FAILS(code, hk_try_send(0, 1, 0, NULL, NULL, 0));
    FAILS(code, hk_call(0, 1, NULL, NULL, 0, NULL));
    FAILS(code, hk_call_with(0, 1, NULL, NULL, 0, NULL, data, 8, &bytes));
    FAILS(code, hk_progress());
    FAILS(code, hk_handled(1, &word));
    FAILS(code, hk_wait(area, 0, HK_EQUAL, 1, HK_ANYONE, 1, NULL));
    FAILS(code, hk_wait_handled(1, 1, HK_ANYONE, 1));
    FAILS(code, hk_wait_any(&event, 1, HK_ANYONE, 1));
    FAILS(code, hk_poll(area, 0, &word));
    FAILS(code, hk_ni_thread_start());
    FAILS(code, hk_ni_thread_stop());
    FAILS(code, hk_event_fd());
    FAILS(code, hk_event_clear());
    FAILS(code, hk_finalize());
}

int main(void) {
    hk_area old, area;
    size_t i;
    CHECK(strcmp(hk_version(), HK_VERSION) == 0);
    for (i = 0; i < sizeof codes / sizeof *codes; i++) CHECK(strcmp(hk_strerror(codes[i]), hk_strerror(-1000)) != 0);
    CHECK(hk_strerror(HK_ERR_PINNED - 1) == hk_strerror(-1000));
    CHECK(hk_strerror(2) == hk_strerror(-1000));

    CHECK(strcmp(hk_last_error(), "") == 0);
    GIVES(-1, hk_error_rank());
    everything_gives(HK_ERR_NOT_STARTED);
    OK(hk_init());
    FAILS(HK_ERR_STARTED, hk_init());
    GIVES(0, hk_rank());
    GIVES(1, hk_size());
    GIVES(1, hk_is_present(0));
    GIVES(1, hk_reaches_private_memory(0));
    GIVES(0, hk_is_crowded());
    OK(hk_barrier());
    OK(hk_barrier_for(0));
    OK(hk_alloc(64, &old));
    OK(hk_handler_register(7, on_message, NULL));
    OK(hk_area_create(7, 64, NULL));
    OK(hk_ni_thread_start());
    CHECK(hk_event_fd() > 2);
    OK(hk_finalize());

    everything_gives(HK_ERR_NOT_STARTED);
    FAILS(HK_ERR_NOT_STARTED, hk_push("12345678", 0, old, 0, 8));

    /* A second job knows nothing of the first. */
    OK(hk_init());
    FAILS(HK_ERR_HANDLE, hk_push("12345678", 0, old, 0, 8));
    OK(hk_alloc(64, &area));
    FAILS(HK_ERR_HANDLE, hk_push("12345678", 0, old, 0, 8));
    OK(hk_push("12345678", 0, area, 0, 8));
    CHECK(memcmp(hk_local(area), "12345678", 8) == 0);
    OK(hk_handler_register(7, on_message, NULL));
    OK(hk_area_create(7, 64, NULL));
    OK(hk_finalize());
    FAILS(HK_ERR_NOT_STARTED, hk_finalize());
    for (i = 0; i < 20; i++) {
        OK(hk_init());
        OK(hk_finalize());
    }
    return 0;
}
