/* What a program can do wrong, and what it is told. */
#include "fmpl_check.h"

#include <pthread.h>
#include <sys/wait.h>

static int rank, size;

static void *other_thread(void *unused) {
    char x = 0;
    (void)unused;
    FAILS(FMPL_ERR_THREAD, "thread", fmpl_send(&x, 1, 0, 0, WORLD));
    FAILS(FMPL_ERR_THREAD, "thread", fmpl_finalize());
    FAILS(FMPL_ERR_STARTED, "already", fmpl_init(NULL, NULL, 1));
    CHECK(fmpl_malloc(8) == NULL);
    return NULL;
}

static void fork_is_no_rank(void) {
    int status;
    pid_t child = fork();
    if (child == 0) {
        char x = 0;
        void *p;
        GIVES(FMPL_ERR_FORKED, fmpl_send(&x, 1, 0, 0, WORLD));
        GIVES(FMPL_ERR_FORKED, fmpl_recv(&x, 1, 0, 0, WORLD));
        GIVES(FMPL_ERR_FORKED, fmpl_barrier(WORLD));
        GIVES(FMPL_ERR_FORKED, fmpl_finalize());
        p = fmpl_malloc(8);
        CHECK(p == NULL);
        _exit(0);
    }
    CHECK(waitpid(child, &status, 0) == child && WIFEXITED(status) && WEXITSTATUS(status) == 0);
}

int main(void) {
    int x = 0, flag;
    pthread_t thread;
    fmpl_comm comm;

    FAILS(FMPL_ERR_NOT_STARTED, "fmpl_init", fmpl_comm_rank(WORLD, &rank));
    FAILS(FMPL_ERR_NOT_STARTED, "fmpl_init", fmpl_send(&x, 1, 0, 0, WORLD));
    FAILS(FMPL_ERR_NOT_STARTED, "fmpl_init", fmpl_finalize());
    FAILS(FMPL_ERR_INVALID, "not -1", fmpl_init(NULL, NULL, -1));
    FAILS(FMPL_ERR_INVALID, "not 0", fmpl_init(NULL, NULL, 0));
    FAILS(FMPL_ERR_INVALID, "1 to 1048576", fmpl_init(NULL, NULL, 1048577));
    FAILS(FMPL_ERR_NOT_STARTED, "fmpl_init", fmpl_barrier(WORLD));

    /* Memory for slots is the library's, whatever is given. */
    OK(fmpl_init(&x, &flag, 4));
    FAILS(FMPL_ERR_STARTED, "already", fmpl_init(NULL, NULL, 4));
    OK(fmpl_comm_rank(WORLD, &rank));
    OK(fmpl_comm_size(WORLD, &size));

    FAILS(FMPL_ERR_RANK, "rank -1", fmpl_send(&x, 1, -1, 0, WORLD));
    FAILS(FMPL_ERR_RANK, "does not exist", fmpl_recv(&x, 1, size, 0, WORLD));
    FAILS(FMPL_ERR_RANK, "does not exist", fmpl_recv(&x, 1, size, FMPL_TAG_ANY, WORLD));
    FAILS(FMPL_ERR_RANK, "does not exist", fmpl_irecv(&x, 1, size, FMPL_TAG_ANY, WORLD));
    FAILS(FMPL_ERR_RANK, "does not exist", fmpl_isend(&x, 1, size, 0, WORLD));
    FAILS(FMPL_ERR_RANK, "does not exist", fmpl_isend_wait(size, 0, WORLD));
    FAILS(FMPL_ERR_RANK, "does not exist", fmpl_send_any(&x, 1, size, 0, WORLD));
    FAILS(FMPL_ERR_INDEX, "slot 4", fmpl_send(&x, 1, 0, 4, WORLD));
    FAILS(FMPL_ERR_INDEX, "slot -1", fmpl_send(&x, 1, 0, FMPL_TAG_ANY, WORLD));
    FAILS(FMPL_ERR_INDEX, "slot -2", fmpl_recv(&x, 1, 0, -2, WORLD));
    FAILS(FMPL_ERR_INDEX, "slot 9", fmpl_irecv_wait(0, 9, WORLD));
    FAILS(FMPL_ERR_INDEX, "slot 4", fmpl_recv_any(&x, 1, 4, WORLD));
    FAILS(FMPL_ERR_INDEX, "slot -1", fmpl_recv_any(&x, 1, -1, WORLD));
    FAILS(FMPL_ERR_INVALID, "null", fmpl_send(NULL, 1, 0, 0, WORLD));
    FAILS(FMPL_ERR_INVALID, "null", fmpl_recv(NULL, 1, 0, 0, WORLD));
    FAILS(FMPL_ERR_INVALID, "null", fmpl_irecv(NULL, 1, 0, FMPL_TAG_ANY, WORLD));
    FAILS(FMPL_ERR_INVALID, "more than any memory", fmpl_send(&x, (size_t)-1, 0, 0, WORLD));
    FAILS(FMPL_ERR_INVALID, "more than any memory", fmpl_isend(&x, (size_t)1 << 63, 0, 0, WORLD));
    FAILS(FMPL_ERR_COMM, "99", fmpl_send(&x, 1, 0, 0, 99));
    FAILS(FMPL_ERR_COMM, "-1", fmpl_recv(&x, 1, 0, 0, FMPL_COMM_NULL));
    FAILS(FMPL_ERR_INVALID, "null", fmpl_comm_rank(WORLD, NULL));
    FAILS(FMPL_ERR_INVALID, "null", fmpl_comm_size(WORLD, NULL));
    FAILS(FMPL_ERR_INVALID, "null", fmpl_comm_create(NULL, 1));
    FAILS(FMPL_ERR_INVALID, "null", fmpl_comm_free(NULL));
    FAILS(FMPL_ERR_INVALID, "null", fmpl_get_count(NULL));
    FAILS(FMPL_ERR_INVALID, "null", fmpl_get_source(NULL));
    FAILS(FMPL_ERR_INVALID, "null", fmpl_get_index(NULL));
    FAILS(FMPL_ERR_INVALID, "null", fmpl_isend_test(0, 0, WORLD, NULL));
    FAILS(FMPL_ERR_INVALID, "null", fmpl_irecv_test(0, 0, WORLD, NULL));
    FAILS(FMPL_ERR_INVALID, "FMPL_SYNC", fmpl_sendbuf_set(NULL, 0, -3));
    FAILS(FMPL_ERR_COMM, "freed", fmpl_comm_free((comm = 5, &comm)));

    CHECK(strstr(fmpl_strerror(FMPL_ERR_BUSY), "in use") && strcmp(fmpl_strerror(0), "all is well") == 0);
    CHECK(strstr(fmpl_strerror(-1000), "no code"));

    CHECK(pthread_create(&thread, NULL, other_thread, NULL) == 0 && pthread_join(thread, NULL) == 0);
    fork_is_no_rank();

    /* All of it has harmed nothing. */
    x = rank;
    OK(fmpl_send(&x, sizeof x, rank, 0, WORLD));
    OK(fmpl_recv(&flag, sizeof flag, rank, 0, WORLD));
    GIVES(rank, flag);
    OK(fmpl_send(NULL, 0, rank, 0, WORLD));
    OK(fmpl_recv(NULL, 0, rank, 0, WORLD));
    OK(fmpl_irecv(&x, sizeof x, rank, 0, WORLD));
    FAILS(FMPL_ERR_UNDER_WAY, "wait for them", fmpl_finalize());
    OK(fmpl_send(&flag, sizeof flag, rank, 0, WORLD));
    OK(fmpl_irecv_wait(rank, 0, WORLD));
    OK(fmpl_finalize());
    FAILS(FMPL_ERR_NOT_STARTED, "fmpl_init", fmpl_send(&x, 1, 0, 0, WORLD));
    FAILS(FMPL_ERR_NOT_STARTED, "fmpl_init", fmpl_finalize());
    return 0;
}
