/* The last rank dies or leaves; those that wait for it are told. */
#include "fmpl_check.h"

#include <signal.h>

int main(int argc, char **argv) {
    int rank, size, code, x = 0;
    fmpl_request req;
    CHECK(argc == 2);
    OK(fmpl_init(NULL, NULL, 1));
    OK(fmpl_comm_rank(WORLD, &rank));
    OK(fmpl_comm_size(WORLD, &size));
    OK(fmpl_barrier(WORLD));
    if (rank == size - 1) {
        if (strcmp(argv[1], "die") == 0) raise(SIGKILL);
        exit(0);
    }
    code = strcmp(argv[1], "die") == 0 ? FMPL_ERR_PEER_DEAD : FMPL_ERR_PEER_LEFT;
    FAILS(code, "rank 2", fmpl_recv(&x, sizeof x, size - 1, 0, WORLD));
    FAILS(code, "rank 2", fmpl_irecv(&x, sizeof x, size - 1, FMPL_TAG_ANY, WORLD));
    OK(fmpl_irecv(&x, sizeof x, size - 1, 0, WORLD));
    FAILS(code, "rank 2", fmpl_irecv_wait(size - 1, 0, WORLD));
    OK(fmpl_ibarrier(WORLD, &req));
    FAILS(code, "rank 2", fmpl_wait(req));
    FAILS(code, "rank 2", fmpl_barrier(WORLD));
    /* The two that are left still talk. */
    OK(fmpl_send(&rank, sizeof rank, 1 - rank, 0, WORLD));
    OK(fmpl_recv(&x, sizeof x, 1 - rank, 0, WORLD));
    GIVES(1 - rank, x);
    FAILS(code, "rank 2", fmpl_finalize());
    printf("heard it\n");
    return 0;
}
