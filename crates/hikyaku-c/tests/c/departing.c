/* The last rank ends, by death ("die") or properly ("leave"), while the others wait for it and say what they hear. */
#include "check.h"
#include <signal.h>

int main(int argc, char **argv) {
    int die = argc > 1 && strcmp(argv[1], "die") == 0, code = die ? HK_ERR_PEER_DEAD : HK_ERR_PEER_LEFT;
    hk_area flags;
    double sum = 1;
    int last, peer, first_collective = argc > 2;

    OK(hk_init());
    last = hk_size() - 1;
    OK(hk_alloc(64, &flags));
    OK(hk_barrier());
    /* Collective calls notice it when what they need is there already, and when they would have to make it. */
    if (!first_collective) OK(hk_allreduce(&sum, 1, HK_F64, HK_SUM));
    if (hk_rank() == last) {
        usleep(50000);
        if (die) raise(SIGKILL);
        OK(hk_finalize());
        /* One job per process under a launcher. */
        FAILS(HK_ERR_START, hk_init());
        return 0;
    }
    FAILS(code, hk_wait(flags, 0, HK_EQUAL, 1, last, HK_FOREVER, NULL));
    GIVES(last, hk_error_rank());
    CHECK(strstr(hk_last_error(), die ? "died" : "left"));
    FAILS(code, hk_send(last, 1, 0, NULL, NULL, 0));
    FAILS(code, hk_call(last, 1, NULL, NULL, 0, NULL));
    GIVES(0, hk_is_present(last));
    GIVES(1, hk_is_present(hk_rank()));
    FAILS(code, hk_allreduce(&sum, 1, HK_F64, HK_SUM));
    GIVES(last, hk_error_rank());
    FAILS(code, hk_barrier());
    GIVES(last, hk_error_rank());
    /* Nobody else leaves before all have heard it. */
    for (peer = 0; peer < last; peer++) OK(hk_word(peer, flags, 8 * (1 + hk_rank()), 1));
    for (peer = 0; peer < last; peer++) OK(hk_wait(flags, 8 * (1 + peer), HK_EQUAL, 1, peer, HK_FOREVER, NULL));
    OK(hk_finalize());
    printf("rank %d heard it\n", 0);
    return 0;
}
