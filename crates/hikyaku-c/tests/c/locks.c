/* Locks: all ranks count on one of them, one at a time; and what cannot be. */
#include "check.h"

enum { TURNS = 200 };

int main(void) {
    hk_mutex mutex = {0}, none = {0}, odd = {77};
    hk_area table;
    uint64_t count = 0;
    int me, size, turn, died = 7, code;

    FAILS(HK_ERR_NOT_STARTED, hk_lock(mutex, HK_FOREVER, NULL));
    OK(hk_init());
    me = hk_rank(), size = hk_size();
    FAILS(HK_ERR_HANDLE, hk_lock(none, HK_FOREVER, NULL));
    FAILS(HK_ERR_HANDLE, hk_unlock(odd));
    FAILS(HK_ERR_HANDLE, hk_mutex_free(odd));
    FAILS(HK_ERR_INVALID, hk_mutex_create(0, NULL));
    FAILS(HK_ERR_RANK, hk_mutex_create(size, &mutex));
    FAILS(HK_ERR_RANK, hk_mutex_create(-1, &mutex));

    OK(hk_alloc(sizeof count, &table));
    OK(hk_mutex_create(size - 1, &mutex));
    FAILS(HK_ERR_INVALID, hk_unlock(mutex));
    for (turn = 0; turn < TURNS; turn++) {
        if (turn % 3 == 0) {
            do code = hk_try_lock(mutex, &died);
            while (code == HK_BUSY);
            CHECK(code == HK_SUCCESS && died == 0);
        } else if (turn % 3 == 1) {
            do code = hk_lock(mutex, 1, NULL);
            while (code == HK_ERR_TIMEOUT);
            CHECK(code == HK_SUCCESS);
        } else {
            OK(hk_lock(mutex, HK_FOREVER, &died));
            CHECK(died == 0);
        }
        OK(hk_pull(&count, 0, table, 0, sizeof count));
        count++;
        OK(hk_push(&count, 0, table, 0, sizeof count));
        OK(hk_unlock(mutex));
    }
    OK(hk_barrier());
    OK(hk_pull(&count, 0, table, 0, sizeof count));
    CHECK(count == (uint64_t)TURNS * (uint64_t)size);
    OK(hk_barrier());

    OK(hk_lock(mutex, HK_FOREVER, NULL));
    FAILS(HK_ERR_INVALID, hk_lock(mutex, HK_FOREVER, NULL));
    FAILS(HK_ERR_INVALID, hk_try_lock(mutex, NULL));
    OK(hk_unlock(mutex));
    OK(hk_barrier());

    /* While rank 0 has it, the others do not. */
    if (me == 0) OK(hk_lock(mutex, HK_FOREVER, NULL));
    OK(hk_barrier());
    if (me != 0) {
        CHECK(hk_try_lock(mutex, NULL) == HK_BUSY);
        FAILS(HK_ERR_TIMEOUT, hk_lock(mutex, 10, NULL));
    }
    OK(hk_barrier());
    if (me == 0) OK(hk_unlock(mutex));
    OK(hk_lock(mutex, HK_FOREVER, NULL));
    OK(hk_unlock(mutex));

    OK(hk_mutex_free(mutex));
    FAILS(HK_ERR_HANDLE, hk_lock(mutex, HK_FOREVER, NULL));

    /* One that is not freed ends with the job. */
    OK(hk_mutex_create(0, &mutex));
    OK(hk_free(table));
    OK(hk_finalize());
    FAILS(HK_ERR_NOT_STARTED, hk_lock(mutex, HK_FOREVER, NULL));
    return 0;
}
