/* Areas by id: created, registered, opened by the right neighbour, revoked. */
#include "check.h"

/* A push to an area that was revoked fails by itself on this host. Between hosts the owner refuses it, and a flush says so. */
static void push_fails(int rank, hk_area area) {
    int code = hk_push("12345678", rank, area, 0, 8);
    if (code == HK_SUCCESS)
        FAILS(HK_ERR_REFUSED, hk_flush(rank));
    else
        GIVES(HK_ERR_REVOKED, code);
    SAYS("revoked");
    GIVES(rank, hk_error_rank());
}

int main(void) {
    static _Alignas(64) char buffer[20000];
    char text[64] = "";
    void *created;
    hk_area own, theirs, odd, unaligned;
    uint64_t before, value;
    size_t bytes;
    int me, size, right, left;

    OK(hk_init());
    OK(hk_ni_thread_start());
    me = hk_rank(), size = hk_size(), right = (me + 1) % size, left = (me + size - 1) % size;

    /* Made by the library: rounded up to words, zeroed. */
    OK(hk_area_create(5, 4001, &created));
    CHECK(*(char *)created == 0 && ((size_t)created & 7) == 0);
    OK(hk_barrier());
    OK(hk_area_open(me, 5, &own));
    OK(hk_area_open(right, 5, &theirs));
    CHECK(hk_local(own) == created);
    CHECK(hk_address(me, own, 0) == NULL && hk_address(right, theirs, 0) == NULL);
    OK(hk_area_size(theirs, &bytes));
    CHECK(bytes == 4008);
    sprintf(text, "from rank %d", me);
    OK(hk_push_notify(text, right, theirs, 100, sizeof text, theirs, 4000, 1));
    OK(hk_wait(own, 4000, HK_EQUAL, 1, left, HK_FOREVER, NULL));
    sprintf(text, "from rank %d", left);
    CHECK(strcmp((char *)created + 100, text) == 0);
    OK(hk_pull(text, right, theirs, 100, sizeof text));
    OK(hk_fetch_add(right, theirs, 8, 5, &before));
    CHECK(before == 0);
    OK(hk_wait(own, 8, HK_EQUAL, 5, left, HK_FOREVER, NULL));
    if (size > 1) {
        CHECK(hk_local(theirs) == NULL);
        SAYS("own memory");
        FAILS(HK_ERR_NOT_MINE, hk_wait(theirs, 0, HK_EQUAL, 1, HK_ANYONE, 1, NULL));
        FAILS(HK_ERR_NOT_MINE, hk_push_status(text, right, theirs, 0, 8, theirs, 0, 1));
        FAILS(HK_ERR_RANK, hk_push(text, me, theirs, 0, 8));
    }
    FAILS(HK_ERR_BOUNDS, hk_push(text, right, theirs, 4001, 8));
    FAILS(HK_ERR_BOUNDS, hk_word(right, theirs, 4008, 8));
    FAILS(HK_ERR_ALIGNMENT, hk_word(right, theirs, 4, 8));

    /* Closing the own one does nothing; a closed one is gone. */
    OK(hk_area_close(own));
    OK(hk_poll(own, 8, &value));
    CHECK(value == 5);
    OK(hk_barrier());
    OK(hk_area_revoke(5));
    FAILS(HK_ERR_HANDLE, hk_poll(own, 8, &value));
    OK(hk_barrier());
    if (size > 1) {
        push_fails(right, theirs);
        OK(hk_area_close(theirs));
        FAILS(HK_ERR_HANDLE, hk_area_close(theirs));
    }
    FAILS(HK_ERR_UNKNOWN_AREA, hk_area_open(right, 5, &theirs));

    /* Memory of the program. */
    OK(hk_area_register(6, buffer, sizeof buffer));
    OK(hk_area_register(7, buffer + 8, 13));
    OK(hk_area_register(8, buffer + 3, 64));
    OK(hk_barrier());
    OK(hk_area_open(right, 6, &theirs));
    OK(hk_area_open(right, 7, &odd));
    OK(hk_area_open(right, 8, &unaligned));
    OK(hk_area_open(me, 6, &own));
    {
        static char big[sizeof buffer - 64];
        memset(big, 'a' + me, sizeof big);
        OK(hk_push(big, right, theirs, 64, sizeof big));
        OK(hk_word(right, theirs, 0, 9));
        OK(hk_wait(own, 0, HK_EQUAL, 9, left, HK_FOREVER, NULL));
        CHECK(buffer[64] == 'a' + left && buffer[sizeof buffer - 1] == 'a' + left);
        memset(big, 0, sizeof big);
        OK(hk_pull(big, right, theirs, 64, sizeof big));
        CHECK(big[0] == 'a' + me && big[sizeof big - 1] == 'a' + me);
    }
    OK(hk_fetch_add(right, theirs, 16, 3, &before));
    OK(hk_wait(own, 16, HK_EQUAL, 3, left, HK_FOREVER, NULL));
    OK(hk_push_status("x", right, theirs, 24, 1, own, 32, 4));
    OK(hk_wait(own, 32, HK_EQUAL, 4, right, HK_FOREVER, NULL));
    OK(hk_sync());
    OK(hk_barrier());
    CHECK(buffer[24] == 'x');

    /* Words only where the area is made of them. */
    OK(hk_push("0123456789abc", right, odd, 0, 13));
    FAILS(HK_ERR_BOUNDS, hk_push("0123456789abc", right, odd, 1, 13));
    FAILS(HK_ERR_ALIGNMENT, hk_word(right, odd, 0, 1));
    FAILS(HK_ERR_ALIGNMENT, hk_word(right, unaligned, 8, 1));
    OK(hk_push("z", right, unaligned, 0, 1));
    OK(hk_sync());
    OK(hk_barrier());
    CHECK(memcmp(buffer + 8, "0123456789abc", 13) == 0 && buffer[3] == 'z');

    OK(hk_area_revoke(6));
    OK(hk_area_register(6, buffer, 128));
    OK(hk_barrier());
    if (size > 1) push_fails(right, theirs);
    OK(hk_barrier());
    OK(hk_finalize());
    return 0;
}
