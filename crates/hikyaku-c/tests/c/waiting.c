/* Waiting: timeouts, several events at once, the descriptor for event loops, the thread that serves peers. */
#include "check.h"
#include <poll.h>
#include <time.h>

enum { TICK = 1 };

static void tick(hk_context *context, const hk_message *message, void *user) {
    (void)message;
    ++*(int *)user;
    OK(hk_context_reply(context, NULL));
}

static double now_ms(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec * 1e3 + (double)t.tv_nsec / 1e6;
}

static int readable(int fd, int timeout_ms) {
    struct pollfd polled = {fd, POLLIN, 0};
    return poll(&polled, 1, timeout_ms);
}

int main(void) {
    static int ticks;
    hk_area flags;
    hk_event events[3];
    uint64_t value;
    double begin;
    int me, size, right, left, fd, i;

    OK(hk_init());
    me = hk_rank(), size = hk_size(), right = (me + 1) % size, left = (me + size - 1) % size;
    OK(hk_alloc(64, &flags));
    OK(hk_handler_register(TICK, tick, &ticks));
    OK(hk_barrier());

    /* A barrier that is given up is gone on with. */
    if (me == 0)
        OK(hk_wait(flags, 16, HK_EQUAL, size - 1, HK_ANYONE, HK_FOREVER, NULL));
    else {
        FAILS(HK_ERR_TIMEOUT, hk_barrier_for(1));
        OK(hk_fetch_add(0, flags, 16, 1, NULL));
    }
    OK(me % 2 ? hk_barrier() : hk_barrier_for(-1));

    /* Timeouts: neither early nor very late; none at all looks once. */
    begin = now_ms();
    FAILS(HK_ERR_TIMEOUT, hk_wait(flags, 0, HK_EQUAL, 1, HK_ANYONE, 50, NULL));
    SAYS("50 ms");
    CHECK(now_ms() - begin >= 50 && now_ms() - begin < 5000);
    FAILS(HK_ERR_TIMEOUT, hk_wait(flags, 0, HK_EQUAL, 1, HK_ANYONE, 0, NULL));
    FAILS(HK_ERR_TIMEOUT, hk_wait_handled(TICK, 1, right, 10));
    OK(hk_wait(flags, 0, HK_EQUAL, 0, HK_ANYONE, 0, &value));
    CHECK(value == 0);
    OK(hk_barrier());

    /* Several events. */
    memset(events, 0, sizeof events);
    for (i = 0; i < 2; i++) {
        events[i].kind = HK_EVENT_WORD, events[i].until = i ? HK_AT_LEAST : HK_EQUAL;
        events[i].area = flags, events[i].offset = (size_t)i * 8, events[i].value = 3;
    }
    events[2].kind = HK_EVENT_HANDLER, events[2].handler = TICK, events[2].value = 1;
    FAILS(HK_ERR_TIMEOUT, hk_wait_any(events, 3, HK_ANYONE, 20));
    OK(hk_barrier());
    OK(hk_word(right, flags, 8, 5));
    GIVES(1, hk_wait_any(events, 3, left, HK_FOREVER));
    OK(hk_poll(flags, 8, &value));
    CHECK(value == 5);
    OK(hk_barrier());
    OK(hk_word(me, flags, 8, 0));
    OK(hk_send(right, TICK, 0, NULL, NULL, 0));
    GIVES(2, hk_wait_any(events, 3, HK_ANYONE, HK_FOREVER));
    CHECK(ticks == 1);
    events[2].area.handle = 1; /* does not matter there */
    GIVES(2, hk_wait_any(events, 3, HK_ANYONE, 0));
    events[1].area.handle = 1;
    FAILS(HK_ERR_HANDLE, hk_wait_any(events, 3, HK_ANYONE, 0));
    OK(hk_barrier());

    /* A descriptor. */
    OK(hk_event_clear());
    fd = hk_event_fd();
    CHECK(fd > 2);
    GIVES(fd, hk_event_fd());
    OK(hk_barrier());
    for (i = 1; i <= 20; i++) {
        OK(hk_word(right, flags, 16, (uint64_t)i));
        for (;;) {
            GIVES(1, readable(fd, 1000000));
            OK(hk_event_clear());
            OK(hk_poll(flags, 16, &value));
            if (value == (uint64_t)i) break;
        }
        OK(hk_barrier());
    }
    for (i = 0; i < 50; i++) { /* quiet again: not readable for long */
        OK(hk_event_clear());
        if (readable(fd, 50) == 0) break;
    }
    CHECK(i < 50);
    OK(hk_barrier());

    /* Served while this rank sleeps. */
    OK(hk_ni_thread_start());
    OK(hk_ni_thread_start());
    OK(hk_barrier());
    if (me == 0) {
        for (i = 0; i < 100; i++) OK(hk_call(right, TICK, NULL, NULL, 0, NULL));
        for (i = 0; i < size; i++) OK(hk_word(i, flags, 24, 1));
    } else {
        volatile uint64_t *done = (uint64_t *)hk_local(flags) + 3;
        while (!*done) usleep(1000);
    }
    OK(hk_wait(flags, 24, HK_EQUAL, 1, 0, HK_FOREVER, NULL));
    if (me == 1 % size) CHECK(ticks == 101);
    OK(hk_ni_thread_stop());
    OK(hk_ni_thread_stop());
    OK(hk_barrier());
    OK(hk_finalize());
    return 0;
}
