/* Everything that peers write goes to memory that nobody has written before, and is then looked at. Under valgrind that is an error unless
 * the library says that it is defined. With an argument the program only looks at memory that nobody has written, which is one. */
#include "check.h"
#include <fmpl.h>

enum { BYTES_MAX = 1 << 17 };
static const size_t sizes[] = {8, 8192, 8193, BYTES_MAX};
enum { SIZES = sizeof sizes / sizeof *sizes };

static int me, other;

static unsigned char pattern(int rank, size_t at) { return (unsigned char)(at * 7 + (size_t)rank * 31 + at / 4099); }

static unsigned char *fresh(size_t bytes) {
    unsigned char *data = malloc(bytes);
    CHECK(data != NULL);
    return data;
}

static unsigned char *full(size_t bytes) {
    unsigned char *data = fresh(bytes);
    size_t at;
    for (at = 0; at < bytes; at++) data[at] = pattern(me, at);
    return data;
}

/* What has come from a rank, in memory that is then freed. */
static void verify(unsigned char *data, size_t bytes, int rank) {
    size_t at;
    for (at = 0; at < bytes; at++)
        if (data[at] != pattern(rank, at)) failed(__FILE__, __LINE__, "what has come", (long)at);
    free(data);
}

static void messages(size_t bytes) {
    unsigned char *sent = full(bytes), *got = fresh(bytes);
    hk_request send, receive;
    OK(fmpl_irecv(got, bytes, other, 1, FMPL_COMM_WORLD));
    OK(fmpl_send(sent, bytes, other, 1, FMPL_COMM_WORLD));
    OK(fmpl_irecv_wait(other, 1, FMPL_COMM_WORLD));
    verify(got, bytes, other);
    got = fresh(bytes);
    OK(fmpl_isend(sent, bytes, other, 2, FMPL_COMM_WORLD));
    OK(fmpl_recv(got, bytes, other, 2, FMPL_COMM_WORLD));
    OK(fmpl_isend_wait(other, 2, FMPL_COMM_WORLD));
    verify(got, bytes, other);
    got = fresh(bytes);
    OK(hk_irecv(got, bytes, other, 3, 0, &receive));
    OK(hk_isend(sent, bytes, other, 3, &send));
    OK(hk_request_wait(&receive, HK_FOREVER, NULL));
    OK(hk_request_wait(&send, HK_FOREVER, NULL));
    verify(got, bytes, other);
    free(sent);
}

static void collectives(size_t bytes) {
    unsigned char *sent = full(bytes), *got;
    int root;
    for (root = 0; root < 2; root++) {
        got = root == me ? full(bytes) : fresh(bytes);
        OK(hk_broadcast(got, bytes, root));
        verify(got, bytes, root);
        got = fresh(2 * bytes);
        OK(hk_gather(sent, bytes, got, root));
        if (root == me) CHECK(got[0] == pattern(0, 0) && got[2 * bytes - 1] == pattern(1, bytes - 1));
        free(got);
    }
    got = fresh(2 * bytes);
    OK(hk_allgather(sent, bytes, got));
    CHECK(memcmp(got + (size_t)me * bytes, sent, bytes) == 0 && got[2 * bytes - 1] == pattern(1, bytes - 1));
    OK(hk_allreduce(got, 2 * bytes / 4, HK_U32, HK_BXOR));
    CHECK(got[0] == 0 && got[bytes] == 0);
    OK(hk_alltoall(sent, bytes / 2, got));
    CHECK(got[(size_t)other * (bytes / 2)] == pattern(other, (size_t)me * (bytes / 2)));
    free(got), free(sent);
}

static void areas(size_t bytes) {
    size_t room = (bytes + 7) / 8 * 8 + 8;
    unsigned char *sent = full(bytes), *got = fresh(bytes), *area = fresh(room);
    hk_area mine, theirs;
    OK(hk_area_register(9, area, room));
    OK(hk_area_open(me, 9, &mine));
    OK(hk_word(me, mine, room - 8, 0));
    OK(hk_barrier());
    OK(hk_area_open(other, 9, &theirs));
    OK(hk_push_notify(sent, other, theirs, 0, bytes, theirs, room - 8, 1));
    OK(hk_wait(mine, room - 8, HK_EQUAL, 1, other, HK_FOREVER, NULL));
    OK(hk_pull(got, other, theirs, 0, bytes));
    verify(got, bytes, me);
    OK(hk_area_close(theirs));
    OK(hk_barrier());
    OK(hk_area_revoke(9));
    verify(area, bytes, other);
    free(sent);
}

static void symmetric(size_t bytes) {
    unsigned char *sent = full(bytes), *got = fresh(bytes);
    hk_sym memory;
    OK(hk_alloc(bytes, &memory));
    OK(hk_push(sent, other, memory, 0, bytes));
    OK(hk_barrier());
    memcpy(got, hk_local(memory), bytes);
    verify(got, bytes, other);
    got = fresh(bytes);
    OK(hk_pull(got, other, memory, 0, bytes));
    verify(got, bytes, me);
    OK(hk_free(memory));
    free(sent);
}

/* An error whatever the library does. */
static int look_at_nothing(void) {
    unsigned char *nothing = fresh(BYTES_MAX);
    if (nothing[BYTES_MAX / 2] == 77) puts("77");
    free(nothing);
    return 0;
}

int main(int count, char **arguments) {
    int at;
    (void)arguments;
    if (count > 1) return look_at_nothing();
    OK(hk_init());
    GIVES(2, hk_size());
    me = hk_rank(), other = 1 - me;
    OK(fmpl_init(NULL, NULL, 4));
    OK(hk_matching_open());
    for (at = 0; at < SIZES; at++) messages(sizes[at]), collectives(sizes[at]), areas(sizes[at]), symmetric(sizes[at]);
    OK(hk_matching_close());
    OK(fmpl_finalize());
    return hk_finalize() == HK_SUCCESS ? 0 : 1;
}
