/* Prepared transfers, and memory that all ranks of the host map. */
#include "fmpl_check.h"

enum { ROUNDS = 50 };

static int rank, size, next, before;

/* Slot 0 belongs to a prepared send and a prepared receive, under way or not. */
static void only_for_the_prepared(char *out, char *in, size_t bytes) {
    fmpl_request req = {-5};
    FAILS(FMPL_ERR_BUSY, "in use", fmpl_send_init(out, bytes, next, 0, WORLD, &req));
    FAILS(FMPL_ERR_BUSY, "in use", fmpl_recv_init(in, bytes, before, 0, WORLD, &req));
    GIVES(-5, req.id);
    FAILS(FMPL_ERR_BUSY, "in use", fmpl_send(out, bytes, next, 0, WORLD));
    FAILS(FMPL_ERR_BUSY, "in use", fmpl_isend(out, bytes, next, 0, WORLD));
    FAILS(FMPL_ERR_BUSY, "in use", fmpl_recv(in, bytes, before, 0, WORLD));
    FAILS(FMPL_ERR_BUSY, "in use", fmpl_irecv(in, bytes, before, 0, WORLD));
}

static void rounds(char *out, char *in, size_t bytes) {
    fmpl_request send, receive, old;
    int round, flag;
    size_t count;
    OK(fmpl_send_init(out, bytes, next, 0, WORLD, &send));
    OK(fmpl_recv_init(in, bytes, before, 0, WORLD, &receive));
    OK(fmpl_wait(send));
    only_for_the_prepared(out, in, bytes);
    for (round = 0; round < ROUNDS; round++) {
        OK(fmpl_start(receive));
        FAILS(FMPL_ERR_BUSY, "in use", fmpl_start(receive));
        if (round == 0) {
            /* Nobody has sent yet. */
            FAILS(FMPL_ERR_UNDER_WAY, "fmpl_request_free", fmpl_request_free(&receive));
            only_for_the_prepared(out, in, bytes);
            OK(fmpl_barrier(WORLD));
        }
        memset(out, rank + round, bytes);
        OK(fmpl_start(send));
        if (round % 2) {
            OK(fmpl_wait(receive));
            OK(fmpl_wait(send));
        } else {
            do OK(fmpl_test(receive, &flag));
            while (!flag);
            do OK(fmpl_test(send, &flag));
            while (!flag);
        }
        OK(fmpl_get_count(&count));
        GIVES(bytes, count);
        CHECK(in[0] == (char)(before + round) && in[bytes - 1] == (char)(before + round));
        OK(fmpl_barrier(WORLD));
    }
    old = send;
    OK(fmpl_request_free(&send));
    OK(fmpl_request_free(&receive));
    FAILS(FMPL_ERR_REQUEST, "freed", fmpl_start(send));
    FAILS(FMPL_ERR_REQUEST, "freed", fmpl_start(old));
    FAILS(FMPL_ERR_REQUEST, "freed", fmpl_wait(old));
    FAILS(FMPL_ERR_REQUEST, "freed", fmpl_test(old, &flag));
    FAILS(FMPL_ERR_REQUEST, "freed", fmpl_request_free(&old));
    /* The slot is free again. */
    OK(fmpl_irecv(in, bytes, before, 0, WORLD));
    FAILS(FMPL_ERR_BUSY, "in use", fmpl_recv_init(in, bytes, before, 0, WORLD, &receive));
    OK(fmpl_send(out, bytes, next, 0, WORLD));
    OK(fmpl_irecv_wait(before, 0, WORLD));
}

/* Receives of any slot from that rank belong to a prepared one, under way or not. */
static void only_for_the_prepared_of_any_slot(void) {
    fmpl_request req = {-5};
    int other;
    FAILS(FMPL_ERR_BUSY, "any slot", fmpl_irecv(&other, sizeof other, before, FMPL_TAG_ANY, WORLD));
    FAILS(FMPL_ERR_BUSY, "any slot", fmpl_recv_init(&other, sizeof other, before, FMPL_TAG_ANY, WORLD, &req));
    GIVES(-5, req.id);
}

static void any_slot(void) {
    fmpl_request receive;
    int value = rank, got = -1, slot;
    OK(fmpl_recv_init(&got, sizeof got, before, FMPL_TAG_ANY, WORLD, &receive));
    only_for_the_prepared_of_any_slot();
    OK(fmpl_start(receive));
    only_for_the_prepared_of_any_slot();
    FAILS(FMPL_ERR_BUSY, "any slot", fmpl_start(receive));
    OK(fmpl_send(&value, sizeof value, next, 1, WORLD));
    OK(fmpl_wait(receive));
    OK(fmpl_get_index(&slot));
    CHECK(got == before && slot == 1);
    only_for_the_prepared_of_any_slot();
    OK(fmpl_request_free(&receive));
    /* Everybody has taken the message of slot 1. */
    OK(fmpl_barrier(WORLD));
    OK(fmpl_irecv(&got, sizeof got, before, FMPL_TAG_ANY, WORLD));
    FAILS(FMPL_ERR_BUSY, "any slot",
          fmpl_recv_init(&got, sizeof got, before, FMPL_TAG_ANY, WORLD, &receive));
    OK(fmpl_send(&value, sizeof value, next, 0, WORLD));
    OK(fmpl_irecv_wait(before, FMPL_TAG_ANY, WORLD));
    GIVES(before, got);

    /* It takes no message of a slot that a prepared receive keeps, though that was not started. */
    OK(fmpl_recv_init(&got, sizeof got, before, 0, WORLD, &receive));
    OK(fmpl_barrier(WORLD));
    OK(fmpl_send(&value, sizeof value, next, 0, WORLD));
    value += 100;
    OK(fmpl_send(&value, sizeof value, next, 1, WORLD));
    OK(fmpl_barrier(WORLD));
    OK(fmpl_recv(&got, sizeof got, before, FMPL_TAG_ANY, WORLD));
    GIVES(before + 100, got);
    OK(fmpl_start(receive));
    OK(fmpl_wait(receive));
    GIVES(before, got);
    OK(fmpl_request_free(&receive));
}

static void nothing(void) {
    fmpl_request send, receive;
    size_t count = 9;
    OK(fmpl_send_init(NULL, 0, next, 1, WORLD, &send));
    OK(fmpl_recv_init(NULL, 0, before, 1, WORLD, &receive));
    OK(fmpl_start(receive));
    OK(fmpl_start(send));
    OK(fmpl_wait(receive));
    OK(fmpl_get_count(&count));
    GIVES(0, count);
    OK(fmpl_wait(send));
    OK(fmpl_request_free(&send));
    OK(fmpl_request_free(&receive));
}

static void wrong(void) {
    fmpl_request req;
    fmpl_comm group;
    char x;
    FAILS(FMPL_ERR_RANK, "does not exist", fmpl_send_init(&x, 1, size, 0, WORLD, &req));
    FAILS(FMPL_ERR_INDEX, "slot 2", fmpl_send_init(&x, 1, 0, 2, WORLD, &req));
    FAILS(FMPL_ERR_INDEX, "slot -1", fmpl_send_init(&x, 1, 0, FMPL_TAG_ANY, WORLD, &req));
    FAILS(FMPL_ERR_INVALID, "null", fmpl_recv_init(NULL, 1, 0, 0, WORLD, &req));
    FAILS(FMPL_ERR_INVALID, "null", fmpl_recv_init(&x, 1, 0, 0, WORLD, NULL));
    OK(fmpl_comm_create(&group, 1));
    OK(fmpl_recv_init(&x, 1, 0, 0, group, &req));
    OK(fmpl_comm_free(&group));
    FAILS(FMPL_ERR_COMM, "freed", fmpl_start(req));
    OK(fmpl_request_free(&req));
}

static void memory(void) {
    size_t bytes = 1 << 20, i;
    char *out = fmpl_malloc(bytes), *in = fmpl_malloc(bytes), *tiny = fmpl_malloc(0);
    CHECK(out && in && tiny && out != in && ((size_t)out & 63) == 0);
    for (i = 0; i < bytes; i++) CHECK(out[i] == 0);
    rounds(out, in, bytes);
    fmpl_free(out);
    fmpl_free(NULL);
    fmpl_free(&bytes);
    CHECK(strstr(fmpl_last_error(), "not from fmpl_malloc"));
    fmpl_free(in + 1);
    in[0] = 1;
    fmpl_free(in);
    fmpl_free(in);
    CHECK(fmpl_malloc((size_t)1 << 60) == NULL);
    CHECK(strstr(fmpl_last_error(), "needed"));
    /* What was freed is used again. */
    for (i = 0; i < 300; i++) {
        char *p = fmpl_malloc(bytes);
        CHECK(p && p[0] == 0 && p[bytes - 1] == 0);
        p[0] = p[bytes - 1] = 1;
        fmpl_free(p);
    }
}

int main(void) {
    static char out[200000], in[200000];
    CHECK(fmpl_malloc(8) == NULL);
    OK(fmpl_init(NULL, NULL, 2));
    OK(fmpl_comm_rank(WORLD, &rank));
    OK(fmpl_comm_size(WORLD, &size));
    next = (rank + 1) % size, before = (rank + size - 1) % size;
    rounds(out, in, 8);
    rounds(out, in, 5000);
    rounds(out, in, sizeof in);
    any_slot();
    nothing();
    wrong();
    memory();
    OK(fmpl_barrier(WORLD));
    OK(fmpl_finalize());
    return 0;
}
