/* Groups: who joins, how ranks are numbered, slots of their own, freeing. */
#include "fmpl_check.h"

static int rank, size;

/* Groups of groups: by color, in the order of keys. */
static void split(void) {
    fmpl_comm half, lonely, pair;
    int r, s, value, got, last = rank == size - 1;
    OK(fmpl_comm_split(WORLD, rank % 2, -rank, &half));
    OK(fmpl_comm_rank(half, &r));
    OK(fmpl_comm_size(half, &s));
    GIVES((size + 1 - rank % 2) / 2, s);
    /* The highest first. */
    GIVES(s - 1 - rank / 2, r);
    value = rank;
    OK(fmpl_send(&value, sizeof value, (r + 1) % s, 1, half));
    OK(fmpl_recv(&got, sizeof got, (r + s - 1) % s, 1, half));
    GIVES(rank % 2 + 2 * (s - 1 - (r + s - 1) % s), got);
    value = rank;
    OK(fmpl_bcast(&value, sizeof value, 0, half));
    GIVES(rank % 2 + 2 * (s - 1), value);

    /* The last rank joins none; the others are numbered as before. */
    OK(fmpl_comm_split(WORLD, last ? FMPL_COLOR_NONE : 1 << 30, 5, &lonely));
    CHECK((lonely == FMPL_COMM_NULL) == last);
    if (!last) {
        OK(fmpl_comm_rank(lonely, &r));
        OK(fmpl_comm_size(lonely, &s));
        CHECK(r == rank && s == size - 1);
        OK(fmpl_comm_free(&lonely));
    }

    /* Parts of a part. Wrong arguments are not heard by the others. */
    FAILS(FMPL_ERR_INVALID, "the color: -2 is negative", fmpl_comm_split(half, -2, 0, &pair));
    GIVES(FMPL_COMM_NULL, pair);
    FAILS(FMPL_ERR_INVALID, "null", fmpl_comm_split(half, 0, 0, NULL));
    FAILS(FMPL_ERR_COMM, "-1", fmpl_comm_split(FMPL_COMM_NULL, 0, 0, &pair));
    OK(fmpl_comm_rank(half, &r));
    OK(fmpl_comm_split(half, r / 2, 0, &pair));
    value = 1;
    OK(fmpl_allreduce(&value, 1, fmpl_isum, pair, NULL));
    OK(fmpl_comm_size(pair, &s));
    GIVES(s, value);
    OK(fmpl_comm_free(&half));
    /* Groups do not need the one they came from. */
    OK(fmpl_barrier(pair));
    OK(fmpl_comm_free(&pair));
    GIVES(FMPL_COMM_NULL, pair);
}

int main(void) {
    fmpl_comm odd, all, none, old;
    int r, s, i, value, got, spooled;
    OK(fmpl_init(NULL, NULL, 2));
    OK(fmpl_comm_rank(WORLD, &rank));
    OK(fmpl_comm_size(WORLD, &size));
    CHECK(rank >= 0 && rank < size);

    OK(fmpl_comm_create(&none, 0));
    GIVES(FMPL_COMM_NULL, none);
    FAILS(FMPL_ERR_COMM, "-1", fmpl_comm_rank(none, &r));
    FAILS(FMPL_ERR_COMM, "-1", fmpl_comm_free(&none));

    OK(fmpl_comm_create(&odd, rank % 2));
    OK(fmpl_comm_create(&all, -7));
    CHECK(all != WORLD && all != odd && (odd != FMPL_COMM_NULL) == rank % 2);
    if (odd != FMPL_COMM_NULL) {
        OK(fmpl_comm_rank(odd, &r));
        OK(fmpl_comm_size(odd, &s));
        GIVES(rank / 2, r);
        GIVES(size / 2, s);
        FAILS(FMPL_ERR_RANK, "the group has", fmpl_send(&r, sizeof r, s, 0, odd));
        /* Slot 0 of three groups at once. */
        for (i = 0; i < 3; i++) {
            value = 100 * rank + i;
            OK(fmpl_send(&value, sizeof value, (r + 1) % s, 0, odd));
            OK(fmpl_recv(&got, sizeof got, (r + s - 1) % s, 0, odd));
            GIVES(100 * (2 * ((r + s - 1) % s) + 1) + i, got);
        }
        value = rank;
        OK(fmpl_allreduce(&value, 1, fmpl_isum, odd, NULL));
        GIVES((size / 2) * (size / 2), value);
        OK(fmpl_barrier(odd));
    }
    for (i = 0; i < 2; i++) {
        value = 10 * rank + i;
        OK(fmpl_isend(&value, sizeof value, (rank + 1) % size, 1, i ? all : WORLD));
        OK(fmpl_isend_wait((rank + 1) % size, 1, i ? all : WORLD));
    }
    for (i = 1; i >= 0; i--) {
        OK(fmpl_recv(&got, sizeof got, (rank + size - 1) % size, 1, i ? all : WORLD));
        GIVES(10 * ((rank + size - 1) % size) + i, got);
    }

    /* The way of sending holds for all groups, also for those made later; a free waits for what was copied aside. */
    {
        static char big[50000], into[50000];
        fmpl_comm later;
        OK(fmpl_sendbuf_set(NULL, 1 << 20, 0));
        OK(fmpl_comm_create(&later, 1));
        memset(big, rank + 1, sizeof big);
        OK(fmpl_send(big, sizeof big, (rank + 1) % size, 0, all));
        OK(fmpl_send(big, sizeof big, (rank + 1) % size, 0, later));
        OK(fmpl_sendbuf_check(NULL, &spooled));
        GIVES(2, spooled);
        OK(fmpl_barrier(WORLD));
        OK(fmpl_recv(into, sizeof into, (rank + size - 1) % size, 0, all));
        GIVES((rank + size - 1) % size + 1, into[49999]);
        OK(fmpl_recv(into, sizeof into, (rank + size - 1) % size, 0, later));
        OK(fmpl_comm_free(&later));
    }

    OK(fmpl_irecv(&got, sizeof got, (rank + 1) % size, 0, all));
    FAILS(FMPL_ERR_UNDER_WAY, "fmpl_comm_free", fmpl_comm_free(&all));
    FAILS(FMPL_ERR_UNDER_WAY, "fmpl_finalize", fmpl_finalize());
    value = 5;
    OK(fmpl_send(&value, sizeof value, (rank + size - 1) % size, 0, all));
    OK(fmpl_irecv_wait((rank + 1) % size, 0, all));
    OK(fmpl_irecv(&got, sizeof got, (rank + 1) % size, FMPL_TAG_ANY, all));
    FAILS(FMPL_ERR_UNDER_WAY, "fmpl_comm_free", fmpl_comm_free(&all));
    OK(fmpl_send(&value, sizeof value, (rank + size - 1) % size, 1, all));
    OK(fmpl_irecv_wait((rank + 1) % size, FMPL_TAG_ANY, all));

    old = all;
    OK(fmpl_comm_free(&all));
    GIVES(FMPL_COMM_NULL, all);
    FAILS(FMPL_ERR_COMM, "freed", fmpl_barrier(old));
    OK(fmpl_comm_create(&all, 1));
    CHECK(all != old);
    FAILS(FMPL_ERR_COMM, "freed", fmpl_barrier(old));
    FAILS(FMPL_ERR_COMM, "fmpl_finalize", fmpl_comm_free(&(fmpl_comm){WORLD}));

    split();

    /* Memory of freed groups is used again. */
    for (i = 0; i < 200; i++) {
        fmpl_comm again, part;
        OK(fmpl_comm_create(&again, 1));
        OK(fmpl_comm_split(again, rank % 3, 0, &part));
        OK(fmpl_comm_free(&part));
        OK(fmpl_comm_free(&again));
    }
    OK(fmpl_finalize());
    return 0;
}
