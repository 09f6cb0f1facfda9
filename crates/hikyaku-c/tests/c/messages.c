/* Active messages: sending, calling, answering from handlers, going on later, and what handlers may not do. */
#include "check.h"

enum { COUNT = 1, ADD = 2, FORWARD = 3, LATER = 4, NOSY = 5, BIG = 6, ECHO = 7, NOBODY = 200 };

static struct {
    uint64_t sum;
    int open;
    int turned_away;
    hk_context *kept;
    hk_area area;
    unsigned char payload[HK_PAYLOAD_MAX];
} state;

static void count(hk_context *context, const hk_message *message, void *user) {
    (void)context;
    CHECK(user == &state);
    CHECK(message->address == 0xabc && message->payload_bytes == 5 && memcmp(message->payload, "hello", 5) == 0);
    state.sum += message->arguments[0] + message->arguments[5];
}

static void add(hk_context *context, const hk_message *message, void *user) {
    uint64_t reply[HK_ARGUMENT_COUNT] = {0};
    (void)user;
    reply[0] = message->arguments[0] + message->arguments[1];
    reply[5] = (uint64_t)message->source;
    OK(hk_context_reply(context, reply));
    OK(hk_context_reply(context, NULL)); /* the second time does nothing */
}

/* Replies what it gets, the last byte first. */
static void echo(hk_context *context, const hk_message *message, void *user) {
    static unsigned char back[HK_PAYLOAD_MAX + 1];
    size_t i;
    (void)user;
    for (i = 0; i < message->payload_bytes; i++)
        back[i] = ((const unsigned char *)message->payload)[message->payload_bytes - 1 - i];
    FAILS(HK_ERR_PAYLOAD, hk_context_reply_with(context, NULL, back, HK_PAYLOAD_MAX + 1));
    FAILS(HK_ERR_INVALID, hk_context_reply_with(context, NULL, NULL, 1));
    OK(hk_context_reply_with(context, message->arguments, back, message->payload_bytes));
    OK(hk_context_reply_with(context, NULL, "again", 5));
}

/* Goes round the ring until its count is used up. */
static void forward(hk_context *context, const hk_message *message, void *user) {
    uint64_t arguments[HK_ARGUMENT_COUNT] = {0};
    (void)user;
    if (message->arguments[0] == 0) return;
    arguments[0] = message->arguments[0] - 1;
    OK(hk_context_send(context, (hk_rank() + 1) % hk_size(), FORWARD, 0, arguments, NULL, 0));
}

static void later(hk_context *context, const hk_message *message, void *user) {
    (void)message, (void)user;
    if (!state.open) {
        state.turned_away++;
        OK(hk_context_retry(context));
    }
}

static void nosy(hk_context *context, const hk_message *message, void *user) {
    hk_area area;
    uint64_t word;
    (void)message, (void)user;
    state.kept = context;
    FAILS(HK_ERR_IN_HANDLER, hk_barrier());
    FAILS(HK_ERR_IN_HANDLER, hk_alloc(8, &area));
    FAILS(HK_ERR_IN_HANDLER, hk_free(state.area));
    FAILS(HK_ERR_IN_HANDLER, hk_finalize());
    FAILS(HK_ERR_IN_HANDLER, hk_ni_thread_stop());
    FAILS(HK_ERR_IN_HANDLER, hk_handler_register(99, nosy, NULL));
    FAILS(HK_ERR_IN_HANDLER, hk_call(hk_rank(), ADD, NULL, NULL, 0, NULL));
    FAILS(HK_ERR_IN_HANDLER, hk_call_with(hk_rank(), ADD, NULL, NULL, 0, NULL, NULL, 0, NULL));
    FAILS(HK_ERR_IN_HANDLER, hk_wait(state.area, 0, HK_EQUAL, 99, HK_ANYONE, HK_FOREVER, NULL));
    FAILS(HK_ERR_INVALID, hk_context_retry((hk_context *)&area));
    /* What does not wait, it may. */
    GIVES(1, hk_is_present(hk_rank()));
    OK(hk_push("12345678", hk_rank(), state.area, 8, 8));
    OK(hk_word(hk_rank(), state.area, 16, 1));
    OK(hk_fetch_add(hk_rank(), state.area, 0, 1, &word));
    OK(hk_send((hk_rank() + 1) % hk_size(), COUNT, 0xabc, NULL, "hello", 5));
    OK(hk_poll(state.area, 0, &word));
    FAILS(HK_ERR_RANK, hk_context_send(context, hk_size(), COUNT, 0, NULL, NULL, 0));
    FAILS(HK_ERR_HANDLER_ID, hk_context_send(context, 0, 256, 0, NULL, NULL, 0));
    FAILS(HK_ERR_PAYLOAD, hk_context_send(context, 0, COUNT, 0, NULL, state.payload, HK_PAYLOAD_MAX + 1));
}

static void big(hk_context *context, const hk_message *message, void *user) {
    size_t i;
    (void)context, (void)user;
    CHECK(message->payload_bytes == HK_PAYLOAD_MAX);
    for (i = 0; i < HK_PAYLOAD_MAX; i++) CHECK(((const unsigned char *)message->payload)[i] == (unsigned char)(i % 251));
}

int main(void) {
    static const uint64_t zeros[HK_ARGUMENT_COUNT];
    uint64_t arguments[HK_ARGUMENT_COUNT] = {1, 0, 0, 0, 0, 2}, reply[HK_ARGUMENT_COUNT], ran, sent, received;
    static unsigned char bytes[HK_PAYLOAD_MAX + 1];
    size_t got;
    int me, size, right, left, i, code;

    OK(hk_init());
    me = hk_rank(), size = hk_size(), right = (me + 1) % size, left = (me + size - 1) % size;
    OK(hk_alloc(64, &state.area));
    OK(hk_handler_register(COUNT, count, &state));
    OK(hk_handler_register(ADD, add, NULL));
    OK(hk_handler_register(ECHO, echo, NULL));
    OK(hk_handler_register(FORWARD, forward, NULL));
    OK(hk_handler_register(LATER, later, NULL));
    OK(hk_handler_register(NOSY, nosy, NULL));
    OK(hk_handler_register(BIG, big, NULL));
    OK(hk_barrier());

    for (i = 0; i < 1000; i++) OK(hk_send(right, COUNT, 0xabc, arguments, "hello", 5));
    OK(hk_wait_handled(COUNT, 1000, HK_ANYONE, HK_FOREVER));
    CHECK(state.sum == 3000);
    OK(hk_handled(COUNT, &ran));
    CHECK(ran == 1000);
    OK(hk_barrier());

    /* The messages of all ranks were handled when hk_sync has returned on them. */
    arguments[0] = 1, arguments[1] = 0;
    for (i = 0; i < 10; i++) OK(hk_send(right, COUNT, 0xabc, arguments, "hello", 5));
    OK(hk_sync());
    OK(hk_barrier());
    OK(hk_handled(COUNT, &ran));
    CHECK(ran == 1010);

    for (i = 0; i < 100; i++) {
        arguments[0] = (uint64_t)i, arguments[1] = 10;
        OK(hk_call(right, ADD, arguments, NULL, 0, reply));
        CHECK(reply[0] == (uint64_t)i + 10 && reply[5] == (uint64_t)me);
    }
    for (i = 0; i < HK_PAYLOAD_MAX; i++) state.payload[i] = (unsigned char)(i % 251);
    memset(reply, 1, sizeof reply);
    OK(hk_call(right, BIG, NULL, state.payload, HK_PAYLOAD_MAX, reply));
    CHECK(memcmp(reply, zeros, sizeof reply) == 0); /* it did not reply */

    /* Bytes come back. */
    OK(hk_call_with(right, ECHO, arguments, state.payload, HK_PAYLOAD_MAX, reply, bytes, sizeof bytes, &got));
    CHECK(got == HK_PAYLOAD_MAX && memcmp(reply, arguments, sizeof reply) == 0);
    for (i = 0; i < HK_PAYLOAD_MAX; i++) CHECK(bytes[i] == state.payload[HK_PAYLOAD_MAX - 1 - i]);
    OK(hk_call_with(right, ECHO, NULL, "abc", 3, NULL, bytes, 3, NULL));
    CHECK(memcmp(bytes, "cba", 3) == 0);
    FAILS(HK_ERR_PAYLOAD, hk_call_with(right, ECHO, NULL, "xyz", 3, NULL, bytes, 2, &got));
    CHECK(memcmp(bytes, "cba", 3) == 0 && hk_error_rank() == right);
    OK(hk_call_with(right, ADD, arguments, NULL, 0, reply, NULL, 0, &got));
    CHECK(got == 0 && reply[0] == arguments[0] + arguments[1]);
    FAILS(HK_ERR_INVALID, hk_call_with(right, ADD, NULL, NULL, 0, NULL, NULL, 1, NULL));
    FAILS(HK_ERR_PAYLOAD, hk_call_with(right, ADD, NULL, bytes, HK_PAYLOAD_MAX + 1, NULL, NULL, 0, NULL));

    /* Nobody is registered there. A plain send hears of it later. */
    FAILS(HK_ERR_REFUSED, hk_call(right, NOBODY, NULL, NULL, 0, reply));
    GIVES(right, hk_error_rank());
    OK(hk_send(right, NOBODY, 0, NULL, NULL, 0));
    while ((code = hk_sync()) == HK_SUCCESS) hk_progress();
    FAILS(HK_ERR_REFUSED, code);
    OK(hk_barrier());

    /* Ten times round the ring. */
    arguments[0] = 10 * (uint64_t)size;
    if (me == 0) OK(hk_send(right, FORWARD, 0, arguments, NULL, 0));
    ran = me == 1 % size ? 11 : 10;
    OK(hk_wait_handled(FORWARD, ran, HK_ANYONE, HK_FOREVER));
    OK(hk_barrier());

    /* A handler that goes on later holds its sender's messages back. */
    OK(hk_send(right, LATER, 0, NULL, NULL, 0));
    OK(hk_send(right, COUNT, 0xabc, NULL, "hello", 5));
    while (state.turned_away < 3) CHECK(hk_progress() >= 0);
    OK(hk_handled(LATER, &ran));
    CHECK(ran == 0);
    OK(hk_handled(COUNT, &ran));
    CHECK(ran == 1010);
    state.open = 1;
    OK(hk_wait_handled(COUNT, 1011, HK_ANYONE, HK_FOREVER));
    OK(hk_handled(LATER, &ran));
    CHECK(ran == 1);
    OK(hk_barrier());

    OK(hk_send(right, NOSY, 0, NULL, NULL, 0));
    OK(hk_wait_handled(NOSY, 1, HK_ANYONE, HK_FOREVER));
    OK(hk_wait_handled(COUNT, 1012, HK_ANYONE, HK_FOREVER));
    FAILS(HK_ERR_INVALID, hk_context_retry(state.kept));
    FAILS(HK_ERR_INVALID, hk_context_send(state.kept, right, COUNT, 0, NULL, NULL, 0));
    CHECK(memcmp((char *)hk_local(state.area) + 8, "12345678", 8) == 0);

    /* Busy is not an error. */
    OK(hk_handled(FORWARD, &ran));
    OK(hk_barrier());
    FAILS(HK_ERR_RANK, hk_try_send(size, FORWARD, 0, NULL, NULL, 0));
    for (sent = 0; (code = hk_try_send(right, FORWARD, 0, NULL, NULL, 0)) == HK_SUCCESS; sent++) CHECK(sent < 1000000);
    GIVES(HK_BUSY, code);
    SAYS("does not exist");
    OK(hk_word(right, state.area, 24, sent + 1));
    OK(hk_wait(state.area, 24, HK_NOT_EQUAL, 0, left, HK_FOREVER, &received));
    OK(hk_wait_handled(FORWARD, ran + received - 1, HK_ANYONE, HK_FOREVER));
    OK(hk_barrier());
    OK(hk_try_send(right, FORWARD, 0, NULL, NULL, 0));
    OK(hk_wait_handled(FORWARD, ran + received, HK_ANYONE, HK_FOREVER));
    OK(hk_barrier());
    OK(hk_finalize());
    return 0;
}
