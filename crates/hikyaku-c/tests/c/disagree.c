/* Ranks that ask for different things in a collective call are told so. */
#include "check.h"

int main(void) {
    hk_area area;
    OK(hk_init());
    FAILS(HK_ERR_MISMATCH, hk_alloc(hk_rank() == 0 ? 64 : 128, &area));
    CHECK(hk_error_rank() >= 0);
    OK(hk_finalize());
    return 0;
}
