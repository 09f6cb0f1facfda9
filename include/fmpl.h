/*
 * FMPL: message passing by slots, for C. The Fortran interface is in fmpl.f90 (a module) and fmplf.h (an include file).
 *
 * Between every two ranks of a group there are slots for each direction, numbered from 0. Sender and receiver name the slot
 * that a message goes through. So there are no queues to search, and the sender knows where the receiver wants the bytes.
 *
 *     int rank;
 *     double x[100];
 *     fmpl_init(NULL, NULL, 16);                            16 slots between every two ranks
 *     fmpl_comm_rank(FMPL_COMM_WORLD, &rank);
 *     if (rank == 0)
 *         fmpl_send(x, sizeof x, 1, 7, FMPL_COMM_WORLD);    to rank 1, slot 7
 *     else if (rank == 1)
 *         fmpl_recv(x, sizeof x, 0, 7, FMPL_COMM_WORLD);    from rank 0, slot 7
 *     fmpl_finalize();
 *
 * `hikyaku run -n 4 -- ./program` starts a job of four ranks. A program started without it is a job of one rank. On one host,
 * `mpirun -n 4 ./program` (Open MPI, MPICH) works too; a program that also uses MPI calls MPI_Init first.
 *
 * A program may use hikyaku.h too. Both interfaces share one job, which begins with the first fmpl_init or hk_init and ends with
 * the last fmpl_finalize or hk_finalize. One thread makes these four calls, in any order. Between fmpl_init and fmpl_finalize, calls of
 * hikyaku.h work even without hk_init.
 *
 * Results. A call returns FMPL_SUCCESS (0) or one of the negative codes below. After an error, fmpl_last_error() explains it in a
 * sentence, which names ranks by their numbers in FMPL_COMM_WORLD.
 *
 * Threads. The thread that called fmpl_init makes calls, and others between fmpl_thread_init and fmpl_thread_finalize; the rest get
 * FMPL_ERR_THREAD. Inside handlers of hikyaku.h and functions of reductions, calls give FMPL_ERR_INSIDE.
 *
 * C99 and C++.
 */
#ifndef FMPL_H
#define FMPL_H

#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

/* ---- results -------------------------------------------------------------------------------------------------- */

enum {
    FMPL_SUCCESS = 0,

    /* A peer is gone or misbehaves. */
    FMPL_ERR_PEER_DEAD = -1,       /* the rank died */
    FMPL_ERR_PEER_LEFT = -2,       /* the rank ended its part of the job, but the call still needs it */
    FMPL_ERR_PEER_MISBEHAVED = -3, /* the rank sent something no correct program sends */
    FMPL_ERR_REFUSED = -4,         /* the rank could not do its part: it has not enough memory */
    FMPL_ERR_TIMEOUT = -25,        /* the time given has passed */
    FMPL_ERR_UNREACHABLE = -24,    /* the rank, of another host, cannot be reached any more; it may run on there */

    /* The call itself is wrong. */
    FMPL_ERR_RANK = -5,         /* the group has no such rank */
    FMPL_ERR_INDEX = -6,        /* there is no such slot */
    FMPL_ERR_BUSY = -7,         /* an operation that has not ended uses the slot */
    FMPL_ERR_TRUNCATED = -8,    /* a message longer than the receive's buffer; nothing was written */
    FMPL_ERR_COMM = -9,         /* no group, or one that this rank does not belong to */
    FMPL_ERR_FUNC = -10,        /* no function */
    FMPL_ERR_REQUEST = -11,     /* no request: freed, or a call that was waited for */
    FMPL_ERR_INVALID = -12,     /* a null pointer, or an argument that makes no sense */
    FMPL_ERR_UNDER_WAY = -13,   /* operations have to end first */
    FMPL_ERR_INSIDE = -14,      /* a call inside a handler or a function of a reduction */
    FMPL_ERR_FORKED = -15,      /* this process is a fork of a rank, not a rank */
    FMPL_ERR_MISMATCH = -16,    /* members of a group made different calls */
    FMPL_ERR_NOT_STARTED = -17, /* before fmpl_init or after fmpl_finalize */
    FMPL_ERR_STARTED = -18,     /* fmpl_init twice */
    FMPL_ERR_THREAD = -19,      /* this thread may not make this call: see Threads above */

    /* The machine, or the start of the job. */
    FMPL_ERR_MEMORY = -20,   /* not enough memory, or too many handles */
    FMPL_ERR_START = -21,    /* the job cannot be joined */
    FMPL_ERR_SYSTEM = -22,   /* a system call failed */
    FMPL_ERR_INTERNAL = -23  /* a bug in the library */
};

/* The meaning of a code. Never null. */
const char *fmpl_strerror(int ier);

/* Explains the last error of this thread in a sentence; "" if there was none. The text is valid until the next error of this
 * thread. */
const char *fmpl_last_error(void);

/* ---- the job -------------------------------------------------------------------------------------------------- */

/* A group of ranks. The number of a group has a meaning on this rank only, and none once the group was freed. */
typedef int fmpl_comm;
#define FMPL_COMM_WORLD 0   /* all ranks */
#define FMPL_COMM_NULL (-1) /* no group */

/* Joins the job and makes `count` slots (1 to 1048576) between every two ranks, for each direction. All ranks call it with the
 * same count. `ma` and `fa` may be NULL and are not used: the library allocates slots and flags itself, where peers can write. */
int fmpl_init(void *ma, void *fa, int count);

/* Ends FMPL. All ranks call it. It waits until all have, and until every send in a spare buffer was received. Groups, functions,
 * prepared transfers and memory from fmpl_malloc are gone afterwards.
 *
 * If operations are under way, or have ended but were not waited for, or other threads have not called fmpl_thread_finalize, it
 * fails with FMPL_ERR_UNDER_WAY and FMPL continues. After any other error, for example that a peer has died, FMPL has ended
 * nevertheless. */
int fmpl_finalize(void);

/* Calls from several threads. Threads of the same number form a job of their own: thread 2 of rank 0 sends to thread 2 of rank 1, and
 * FMPL_COMM_WORLD of thread 2 is threads 2 of all ranks. Threads do not wait for each other.
 *
 *     fmpl_threads(3, 16);                 init thread, on all ranks: threads 0, 1 and 2, with 16 slots
 *     ...
 *     fmpl_thread_init(number);            on each thread, with its number
 *     fmpl_send(x, sizeof x, 1, 7, FMPL_COMM_WORLD);
 *     fmpl_thread_finalize();
 *
 * fmpl_threads prepares `count` threads besides the one that called fmpl_init, which alone calls it. Groups of these threads have
 * `slots` slots. All ranks call it, with the same numbers. Each thread takes a port until it leaves (HIKYAKU_PORTS). Called again,
 * when all threads have left, it prepares others.
 *
 * fmpl_thread_init makes the calling thread the one of a number, from 0 to count - 1. A number can be taken once. The threads of that
 * number on all ranks call it together, and so they do with fmpl_thread_finalize, which a thread calls before it ends. It waits and
 * fails as fmpl_finalize does.
 *
 * Groups, functions, requests and memory from fmpl_malloc belong to the thread that made them, and are gone when it leaves.
 * fmpl_sendbuf_set is for the calling thread. */
int fmpl_threads(int count, int slots);
int fmpl_thread_init(int number);
int fmpl_thread_finalize(void);

/* This rank's number in the group, and the number of its members. */
int fmpl_comm_rank(fmpl_comm comm, int *rank);
int fmpl_comm_size(fmpl_comm comm, int *size);

/* Makes a group of the ranks that give a key other than 0, in the order of their ranks. All ranks of the job call it; those that
 * do not join get FMPL_COMM_NULL. A group has its own slots, as many as fmpl_init made. */
int fmpl_comm_create(fmpl_comm *comm, int key);

/* Splits a group. Members that give the same color (0 or more) form a new group, `part`. They are numbered in the order of their keys,
 * and of their ranks in `comm` where keys are equal. A member that gives FMPL_COLOR_NONE gets FMPL_COMM_NULL. All members of
 * `comm` call it. */
#define FMPL_COLOR_NONE (-1)
int fmpl_comm_split(fmpl_comm comm, int color, int key, fmpl_comm *part);

/* Frees a group; `comm` becomes FMPL_COMM_NULL. All members call it. It waits for them, and until every send in the spare buffer was
 * received. If operations are under way, it fails as fmpl_finalize does. */
int fmpl_comm_free(fmpl_comm *comm);

/* ---- send and receive ----------------------------------------------------------------------------------------- */

/* `size` is in bytes, `mai` is the slot. One send and one receive at a time may use a slot; a second gives FMPL_ERR_BUSY. Messages of
 * one slot arrive in order.
 *
 * In fmpl_recv, `mai` may be FMPL_TAG_ANY. Then it receives the next message of that rank from any slot, except slots for which
 * a receive is under way or prepared. The order of such receives and others is not defined. */
#define FMPL_TAG_ANY (-1)
int fmpl_send(const void *buf, size_t size, int dst, int mai, fmpl_comm comm);
int fmpl_recv(void *buf, size_t size, int src, int mai, fmpl_comm comm);

/* Sends `size` bytes and receives up to `room` bytes at the same time, so that ranks in a ring do not wait for each other. The two
 * buffers may not overlap. fmpl_sendrecv_replace uses one buffer: what is received replaces what was sent. */
int fmpl_sendrecv(const void *buf, size_t size, int dst, int mai, void *into, size_t room, int src, int from_mai, fmpl_comm comm);
int fmpl_sendrecv_replace(void *buf, size_t size, int dst, int mai, int src, int from_mai, fmpl_comm comm);

/* fmpl_recv with a deadline of `ms` milliseconds; not for FMPL_TAG_ANY. After FMPL_ERR_TIMEOUT the program may use the buffer again,
 * and a message that comes later is for the next receive. */
int fmpl_recv_for(void *buf, size_t size, int src, int mai, int ms, fmpl_comm comm);

/* Waits for a message in a slot; `bytes` gets its length. The next receive of the slot gets the message. fmpl_iprobe does not wait:
 * `flag` gets 1 if there is a message, else 0, and then `bytes` is not changed. */
int fmpl_probe(int src, int mai, fmpl_comm comm, size_t *bytes);
int fmpl_iprobe(int src, int mai, fmpl_comm comm, int *flag, size_t *bytes);

/* Length in bytes, sender and slot of the last message that this thread received. A message may be shorter than the buffer. Before
 * the first receive they are 0, -1 and -1. */
int fmpl_get_count(size_t *bytes);
int fmpl_get_source(int *src);
int fmpl_get_index(int *mai);

/* Messages for a receiver that does not know the sender. They have slots of their own, separate from those above. Messages of one
 * sender arrive in order. A sender that is far ahead of the receiver waits. */
int fmpl_send_any(const void *buf, size_t size, int dst, int mai, fmpl_comm comm);
int fmpl_recv_any(void *buf, size_t size, int mai, fmpl_comm comm);

/* Sets when fmpl_send and fmpl_send_any return, in all groups:
 *
 *     FMPL_STANDARD (the default)      when a short message (up to 8 KB) is on its way, or a longer one was received
 *     FMPL_SYNC                        when the message was received
 *     ipara ms (0: buffered mode)      as FMPL_STANDARD, but after so many ms of waiting the message is copied into a spare
 *                                      buffer, and later calls send it from there
 *
 * Each group has a spare buffer of `size` bytes, which the library allocates itself; `buf` may be NULL and is not used. When it is
 * full, sends wait for their receives. A message that is longer than it is an error (FMPL_ERR_INVALID), and so is a size too small
 * for what the buffer holds now. */
#define FMPL_SYNC (-1)
#define FMPL_STANDARD (-2)
int fmpl_sendbuf_set(void *buf, size_t size, int ipara);

/* Sends what it can from the spare buffers. `nsend` gets how many messages have left them since the last such call, `nspool` how many
 * are still there. Both may be NULL. */
int fmpl_sendbuf_check(int *nsend, int *nspool);

/* ---- while the program computes ------------------------------------------------------------------------------- */

/* The program must not use the buffer until the operation has ended. A send does not wait if its receive was started before.
 *
 * With FMPL_TAG_ANY, one receive per source may be under way. It takes its message only in fmpl_irecv_wait or fmpl_irecv_test, and a
 * send that waits for its receive waits until then. */
int fmpl_isend(const void *buf, size_t size, int dst, int mai, fmpl_comm comm);
int fmpl_irecv(void *buf, size_t size, int src, int mai, fmpl_comm comm);

/* Waits until the operation of the slot has ended. If there is none, it returns at once. After fmpl_irecv_wait, fmpl_get_count gives
 * the length of the message, or 0 if there was no receive. */
int fmpl_isend_wait(int dst, int mai, fmpl_comm comm);
int fmpl_irecv_wait(int src, int mai, fmpl_comm comm);

/* Does not wait: `flag` gets 1 if the operation has ended, else 0. */
int fmpl_isend_test(int dst, int mai, fmpl_comm comm, int *flag);
int fmpl_irecv_test(int src, int mai, fmpl_comm comm, int *flag);

/* A prepared transfer, or a collective call under way (fmpl_ibarrier and those after it). */
typedef struct fmpl_request {
    int id;
} fmpl_request;

/* Transfers that are described once and started many times. fmpl_start does what fmpl_isend or fmpl_irecv does. Until the request is
 * freed, it owns the slot in its direction: other sends (or receives) there give FMPL_ERR_BUSY.
 *
 * A request with FMPL_TAG_ANY owns no slot. Instead, fmpl_irecv and fmpl_recv_init with FMPL_TAG_ANY from its source give
 * FMPL_ERR_BUSY. A blocking receive is still possible, and may take a message first. */
int fmpl_send_init(const void *buf, size_t size, int dst, int mai, fmpl_comm comm, fmpl_request *req);
int fmpl_recv_init(void *buf, size_t size, int src, int mai, fmpl_comm comm, fmpl_request *req);
int fmpl_start(fmpl_request req);

/* fmpl_wait waits until the transfer or call has ended. fmpl_test does not wait: `flag` gets 1 if it has ended, else 0.
 *
 * A prepared transfer can be started again afterwards. Waiting for one that is not under way returns at once. The request of a
 * collective call becomes invalid when fmpl_wait returns, or fmpl_test says that the call has ended.
 *
 * fmpl_request_free frees a prepared transfer. It may also be used for a collective call that has ended, to ignore its result. It
 * gives FMPL_ERR_UNDER_WAY for what has not ended. The request becomes invalid. */
int fmpl_wait(fmpl_request req);
int fmpl_test(fmpl_request req, int *flag);
int fmpl_request_free(fmpl_request *req);

/* ---- together ------------------------------------------------------------------------------------------------- */

/* All members of the group make these calls, in the same order, with the same root, sizes and function. If members make different
 * calls, they get FMPL_ERR_MISMATCH, and all later collective calls of that group fail. A call with a wrong argument (a null
 * pointer, no such root) fails before it has any effect on other members, and can be made again. */

int fmpl_barrier(fmpl_comm comm);

/* Copies `size` bytes of the root to all. */
int fmpl_bcast(void *buf, size_t size, int root, fmpl_comm comm);

/* A function by which numbers are combined: one of those below, or one of the program. */
typedef struct fmpl_func {
    int id;
} fmpl_func;

/* Combine `count` elements of every member. fmpl_reduce leaves the result in `buf` of the root; the other members keep their
 * elements. fmpl_allreduce leaves it at all members. fmpl_scan leaves at each member the result of all members up to it. `work` is
 * not used and may be NULL.
 *
 * Elements are combined in the order of ranks, so results are the same every time. In a group over several hosts, sums and products
 * of floating-point numbers are first formed on each host, which may round differently. */
int fmpl_reduce(void *buf, int count, fmpl_func func, int root, fmpl_comm comm, void *work);
int fmpl_allreduce(void *buf, int count, fmpl_func func, fmpl_comm comm, void *work);
int fmpl_scan(void *buf, int count, fmpl_func func, fmpl_comm comm, void *work);

/* As fmpl_scan, but without the member's own elements: each member gets the result of all before it. The first keeps its elements. */
int fmpl_exscan(void *buf, int count, fmpl_func func, fmpl_comm comm, void *work);

/* Combine the `data` of all members, and give each member its block of the result in `mine`. Blocks follow each other. That of member
 * m has counts[m] elements, or `count`. All members give the same counts. `data` is not changed, and the two buffers may not
 * overlap. */
int fmpl_reduce_scatter(const void *data, void *mine, const int *counts, fmpl_func func, fmpl_comm comm);
int fmpl_reduce_scatter_block(const void *data, void *mine, int count, fmpl_func func, fmpl_comm comm);

/* The first letter is the type: i int, l 64-bit integer, s float, d double, c and z complex numbers of two floats and two doubles.
 *
 * max and min compare absolute values (|re| + |im| of complex numbers). The result is the element itself, with its sign; of equal ones
 * that of the lowest rank. pmax and pmin are the ordinary maximum and minimum. land, lor and lxor are logical, and give 1 or 0. band,
 * bor and bxor are bitwise. Integers wrap around. */
extern const fmpl_func fmpl_isum, fmpl_ssum, fmpl_dsum, fmpl_csum, fmpl_zsum, fmpl_lsum;
extern const fmpl_func fmpl_imax, fmpl_smax, fmpl_dmax, fmpl_cmax, fmpl_zmax, fmpl_lmax;
extern const fmpl_func fmpl_imin, fmpl_smin, fmpl_dmin, fmpl_cmin, fmpl_zmin, fmpl_lmin;
extern const fmpl_func fmpl_ipmax, fmpl_spmax, fmpl_dpmax, fmpl_lpmax;
extern const fmpl_func fmpl_ipmin, fmpl_spmin, fmpl_dpmin, fmpl_lpmin;
extern const fmpl_func fmpl_iprod, fmpl_sprod, fmpl_dprod, fmpl_cprod, fmpl_zprod, fmpl_lprod;
extern const fmpl_func fmpl_iland, fmpl_lland, fmpl_ilor, fmpl_llor, fmpl_ilxor, fmpl_llxor;
extern const fmpl_func fmpl_iband, fmpl_lband, fmpl_ibor, fmpl_lbor, fmpl_ibxor, fmpl_lbxor;

/* A function of the program, which combines `count` elements at `in` into those at `inout`. It must be associative, and may be called
 * for parts of the data. It must not make calls of this library, nor leave by an exception or longjmp. In non-blocking calls it has
 * 8 MB of stack. An element has 1 to 4096 bytes.
 *
 * The library cannot compare functions: if members give different ones with elements of the same size, that is not detected.
 * fmpl_func_free makes the handle invalid. */
int fmpl_func_create(void (*fn)(void *inout, const void *in, int count), size_t elem_size, fmpl_func *func);
int fmpl_func_free(fmpl_func *func);

/* Blocks of `size` bytes, one per member, in the order of ranks. fmpl_gather collects `mine` of all members in `all` of the root,
 * fmpl_allgather in `all` of every member. fmpl_scatter gives each member its block of the root's `all`. With fmpl_alltoall, block m of
 * member k becomes block k in `into` of member m. In gather and scatter, members other than the root may give NULL for `all`. The
 * two buffers may not overlap. */
int fmpl_gather(const void *mine, size_t size, void *all, int root, fmpl_comm comm);
int fmpl_allgather(const void *mine, size_t size, void *all, fmpl_comm comm);
int fmpl_scatter(const void *all, size_t size, void *mine, int root, fmpl_comm comm);
int fmpl_alltoall(const void *blocks, size_t size, void *into, fmpl_comm comm);

/* The same with blocks of different lengths. The block of member m has sizes[m] bytes and begins at byte starts[m] of the buffer. If
 * `starts` is NULL, blocks follow each other. Blocks that are written may not overlap.
 *
 * In gatherv and scatterv, `all`, `sizes` and `starts` are the root's, and other members may give NULL; `size` is the size of the
 * member's own block. In allgatherv all members give the same sizes. In alltoallv, from_sizes[m] of member k must be equal to
 * into_sizes[k] of member m. If sizes differ, all members get FMPL_ERR_MISMATCH, no data is moved, and fmpl_last_error says which
 * sizes they are. */
int fmpl_gatherv(const void *mine, size_t size, void *all, const size_t *sizes, const size_t *starts, int root, fmpl_comm comm);
int fmpl_allgatherv(const void *mine, size_t size, void *all, const size_t *sizes, const size_t *starts, fmpl_comm comm);
int fmpl_scatterv(const void *all, const size_t *sizes, const size_t *starts, void *mine, size_t size, int root, fmpl_comm comm);
int fmpl_alltoallv(const void *from, const size_t *from_sizes, const size_t *from_starts, void *into,
                   const size_t *into_sizes, const size_t *into_starts, fmpl_comm comm);

/* Non-blocking forms of these calls. Each gives a request for fmpl_wait or fmpl_test, and the program must not use its buffers until it
 * has ended. The lists of sizes, starts and counts are copied, and may be changed at once. A wrong argument is an error of the call
 * itself. All other errors, such as the death of a member or a mismatch, are errors of fmpl_wait or fmpl_test.
 *
 * The calls of a group run in the order in which they were started, and a blocking call first waits for those before it. Calls of
 * different groups are independent. Calls advance in fmpl_test, in hk_progress, and in every call that waits. A function of the
 * program runs there too. fmpl_func_free does not affect calls that were started before. */
int fmpl_ibarrier(fmpl_comm comm, fmpl_request *req);
int fmpl_ibcast(void *buf, size_t size, int root, fmpl_comm comm, fmpl_request *req);
int fmpl_ireduce(void *buf, int count, fmpl_func func, int root, fmpl_comm comm, void *work, fmpl_request *req);
int fmpl_iallreduce(void *buf, int count, fmpl_func func, fmpl_comm comm, void *work, fmpl_request *req);
int fmpl_iscan(void *buf, int count, fmpl_func func, fmpl_comm comm, void *work, fmpl_request *req);
int fmpl_iexscan(void *buf, int count, fmpl_func func, fmpl_comm comm, void *work, fmpl_request *req);
int fmpl_igather(const void *mine, size_t size, void *all, int root, fmpl_comm comm, fmpl_request *req);
int fmpl_iallgather(const void *mine, size_t size, void *all, fmpl_comm comm, fmpl_request *req);
int fmpl_iscatter(const void *all, size_t size, void *mine, int root, fmpl_comm comm, fmpl_request *req);
int fmpl_ialltoall(const void *blocks, size_t size, void *into, fmpl_comm comm, fmpl_request *req);
int fmpl_ireduce_scatter(const void *data, void *mine, const int *counts, fmpl_func func, fmpl_comm comm, fmpl_request *req);
int fmpl_ireduce_scatter_block(const void *data, void *mine, int count, fmpl_func func, fmpl_comm comm, fmpl_request *req);
int fmpl_igatherv(const void *mine, size_t size, void *all, const size_t *sizes, const size_t *starts, int root, fmpl_comm comm,
                  fmpl_request *req);
int fmpl_iallgatherv(const void *mine, size_t size, void *all, const size_t *sizes, const size_t *starts, fmpl_comm comm,
                     fmpl_request *req);
int fmpl_iscatterv(const void *all, const size_t *sizes, const size_t *starts, void *mine, size_t size, int root, fmpl_comm comm,
                   fmpl_request *req);
int fmpl_ialltoallv(const void *from, const size_t *from_sizes, const size_t *from_starts, void *into,
                    const size_t *into_sizes, const size_t *into_starts, fmpl_comm comm, fmpl_request *req);

/* ---- memory --------------------------------------------------------------------------------------------------- */

/* Zeroed memory that all ranks of the host have mapped, so that long messages from or to it are copied without system calls. Any other
 * memory can be used for messages too. NULL if there is not enough; HIKYAKU_HEAP sets how much there is. fmpl_finalize frees it.
 * fmpl_free ignores NULL, and addresses that are not from fmpl_malloc of this thread. */
void *fmpl_malloc(size_t size);
void fmpl_free(void *p);

#ifdef __cplusplus
}
#endif

#endif
