/* MPI and this library in one process: both number the ranks alike, and their traffic goes on side by side. The argument
 * says in which order they begin and end. */
#include "check.h"
#include <mpi.h>

static int me, size;

static void begin_mpi(void) {
    int provided;
    GIVES(MPI_SUCCESS, MPI_Init_thread(NULL, NULL, MPI_THREAD_SERIALIZED, &provided));
}

static void begin(void) {
    OK(hk_init());
    me = hk_rank(), size = hk_size();
}

/* A round of each in turn, each passing on what the other brought. */
static void use_both(void) {
    hk_area data, flag;
    uint64_t *inbox;
    int mpi_rank, mpi_size, right, left, round;

    MPI_Comm_rank(MPI_COMM_WORLD, &mpi_rank);
    MPI_Comm_size(MPI_COMM_WORLD, &mpi_size);
    CHECK(mpi_rank == me && mpi_size == size);
    right = (me + 1) % size, left = (me + size - 1) % size;
    OK(hk_alloc(64, &data));
    OK(hk_alloc(64, &flag));
    inbox = hk_local(data);
    OK(hk_barrier());
    for (round = 1; round <= 20; round++) {
        uint64_t token = (uint64_t)me, sum;
        OK(hk_push_notify(&token, right, data, 0, 8, flag, 0, (uint64_t)round));
        OK(hk_wait(flag, 0, HK_AT_LEAST, (uint64_t)round, left, HK_FOREVER, NULL));
        CHECK(inbox[0] == (uint64_t)left);
        MPI_Sendrecv(inbox, 1, MPI_UINT64_T, right, round, &token, 1, MPI_UINT64_T, left, round, MPI_COMM_WORLD,
                     MPI_STATUS_IGNORE);
        CHECK(token == (uint64_t)((left + size - 1) % size));
        MPI_Allreduce(&token, &sum, 1, MPI_UINT64_T, MPI_SUM, MPI_COMM_WORLD);
        CHECK(sum == (uint64_t)(size * (size - 1) / 2));
        OK(hk_barrier());
    }
    printf("rank %d: both agree\n", me);
    fflush(stdout);
}

int main(int count, char **arguments) {
    const char *order = count > 1 ? arguments[1] : "";
    int mpi_first = !strcmp(order, "mpi-outside") || !strcmp(order, "mpi-first") || !strcmp(order, "no-finalize");
    int mpi_ends_first = !strcmp(order, "mpi-inside") || !strcmp(order, "mpi-first") || !strcmp(order, "no-finalize");

    if (mpi_first) begin_mpi();
    begin();
    if (!mpi_first) begin_mpi();
    use_both();
    if (mpi_ends_first) MPI_Finalize();
    if (strcmp(order, "no-finalize")) OK(hk_finalize());
    if (!mpi_ends_first) MPI_Finalize();
    return 0;
}
