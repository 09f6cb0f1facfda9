/* Ranks that want different numbers of slots are all told, and can agree afterwards. */
#include "fmpl_check.h"

#include <hikyaku.h>

int main(void) {
    int value = 1;
    GIVES(HK_SUCCESS, hk_init());
    FAILS(FMPL_ERR_MISMATCH, "must make the same call", fmpl_init(NULL, NULL, hk_rank() == 0 ? 2 : 3));
    FAILS(FMPL_ERR_NOT_STARTED, "fmpl_init", fmpl_barrier(WORLD));
    OK(fmpl_init(NULL, NULL, 2));
    OK(fmpl_allreduce(&value, 1, fmpl_isum, WORLD, NULL));
    GIVES(hk_size(), value);
    OK(fmpl_finalize());
    GIVES(HK_SUCCESS, hk_finalize());
    return 0;
}
