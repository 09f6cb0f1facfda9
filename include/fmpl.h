/*
 * FMPL: message passing by slots, for C. The Fortran interface is in fmpl.f90 (a module) and fmplf.h (an include file).
 *
 * Between every two ranks of a group there are slots, numbered from 0, for each direction. A message goes through the
 * slot that both sides name, so nothing is queued or searched: the sender sees where the receiver wants the bytes.
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
 * A program started by `hikyaku run -n 4 -- ./program` is one rank of four; started alone it is a job of one. `mpirun -n 4
 * ./program` (Open MPI, MPICH) starts it too, on one host; a program that uses MPI as well calls MPI_Init first. It may
 * use hikyaku.h as well: both interfaces share one job, which begins with the first fmpl_init or hk_init and ends with
 * the last fmpl_finalize or hk_finalize. Both are then called by the same thread, in any order; while FMPL is
 * initialised, calls of hikyaku.h work without hk_init too.
 *
 * Results. A call gives FMPL_SUCCESS (0) or one of the negative codes below; fmpl_last_error() then tells in a sentence
 * what happened. Texts name ranks as they are numbered in FMPL_COMM_WORLD.
 *
 * Threads. The thread that called fmpl_init makes all calls; others get FMPL_ERR_THREAD. Handlers of hikyaku.h and
 * functions that combine may not make calls (FMPL_ERR_INSIDE).
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
    FMPL_ERR_INSIDE = -14,      /* a call inside a handler or a function that combines */
    FMPL_ERR_FORKED = -15,      /* this process is a fork of a rank, not a rank */
    FMPL_ERR_MISMATCH = -16,    /* members of a group made calls that do not fit together */
    FMPL_ERR_NOT_STARTED = -17, /* before fmpl_init or after fmpl_finalize */
    FMPL_ERR_STARTED = -18,     /* fmpl_init twice */
    FMPL_ERR_THREAD = -19,      /* another thread than the one that called fmpl_init */

    /* The machine, or the start of the job. */
    FMPL_ERR_MEMORY = -20,   /* not enough memory, or too many handles */
    FMPL_ERR_START = -21,    /* the job cannot be joined */
    FMPL_ERR_SYSTEM = -22,   /* a system call failed */
    FMPL_ERR_INTERNAL = -23  /* a mistake inside the library */
};

/* What a code means in general. Never null. */
const char *fmpl_strerror(int ier);

/* What went wrong in the last call of this thread that failed, in full; "" if nothing has. Valid until the next call
 * that fails in this thread. */
const char *fmpl_last_error(void);

/* ---- the job -------------------------------------------------------------------------------------------------- */

/* A group of ranks. Numbers of groups are of this rank only; that of a freed group names none. */
typedef int fmpl_comm;
#define FMPL_COMM_WORLD 0   /* all ranks */
#define FMPL_COMM_NULL (-1) /* no group */

/* Joins the job and makes `count` slots (1 to 1048576) between every two ranks, for each direction. All ranks call it
 * with the same count. Slots and flags must lie in memory that peers can write, so the library provides it: `ma` and
 * `fa`, which may be NULL, are not used. */
int fmpl_init(void *ma, void *fa, int count);

/* Ends FMPL. All ranks call it; it waits until all have, and until every send in a spare buffer was received. Groups,
 * functions, prepared transfers and memory from fmpl_malloc are gone afterwards. With operations under way, or ended
 * and not yet waited for, it fails with FMPL_ERR_UNDER_WAY and ends nothing; after any other error (a peer has died) it
 * is ended all the same. */
int fmpl_finalize(void);

/* This rank's number in the group, and the number of its members. */
int fmpl_comm_rank(fmpl_comm comm, int *rank);
int fmpl_comm_size(fmpl_comm comm, int *size);

/* Makes a group of the ranks that give a key other than 0, numbered in the order of their ranks. All ranks of the job
 * call it; those that do not join get FMPL_COMM_NULL. A group has slots of its own, as many as fmpl_init made. */
int fmpl_comm_create(fmpl_comm *comm, int key);

/* Splits a group: members that give the same color, which is not negative, form a new group, `part`, numbered in the
 * order of their keys, those of equal keys in the order of their ranks in `comm`. Who gives FMPL_COLOR_NONE gets
 * FMPL_COMM_NULL. All members of `comm` call it. */
#define FMPL_COLOR_NONE (-1)
int fmpl_comm_split(fmpl_comm comm, int color, int key, fmpl_comm *part);

/* Frees a group; `comm` becomes FMPL_COMM_NULL. All its members call it. It waits for them, and until every send in the
 * spare buffer was received. With operations under way it fails as fmpl_finalize does. */
int fmpl_comm_free(fmpl_comm *comm);

/* ---- send and receive ----------------------------------------------------------------------------------------- */

/* `size` is in bytes, `mai` the slot. A slot is used by one send and one receive at a time (FMPL_ERR_BUSY names slot
 * and peer); messages of one slot keep their order.
 *
 * For fmpl_recv, `mai` may be FMPL_TAG_ANY: then it takes the next message of that rank, whatever its slot, except
 * those that a receive under way or a prepared one is for. No order is promised between such receives and others. */
#define FMPL_TAG_ANY (-1)
int fmpl_send(const void *buf, size_t size, int dst, int mai, fmpl_comm comm);
int fmpl_recv(void *buf, size_t size, int src, int mai, fmpl_comm comm);

/* Sends `size` bytes and receives up to `room` bytes at the same time, so that ranks that do it in a circle do not wait for each other.
 * The two buffers may not overlap; fmpl_sendrecv_replace has one, in which what comes takes the place of what is sent. */
int fmpl_sendrecv(const void *buf, size_t size, int dst, int mai, void *into, size_t room, int src, int from_mai, fmpl_comm comm);
int fmpl_sendrecv_replace(void *buf, size_t size, int dst, int mai, int src, int from_mai, fmpl_comm comm);

/* As fmpl_recv from one slot, for at most `ms` milliseconds; then FMPL_ERR_TIMEOUT. The buffer is the program's again, and the
 * message, if there is one, stays for the next receive. */
int fmpl_recv_for(void *buf, size_t size, int src, int mai, int ms, fmpl_comm comm);

/* Waits for a message in a slot; `bytes` gets its length. It stays for the next receive of the slot. fmpl_iprobe looks instead: `flag`
 * gets 1 if there is one, else 0, and then `bytes` stays as it is. */
int fmpl_probe(int src, int mai, fmpl_comm comm, size_t *bytes);
int fmpl_iprobe(int src, int mai, fmpl_comm comm, int *flag, size_t *bytes);

/* What the last receive of this process that ended has got: bytes (a message may be shorter than the buffer), sender
 * and slot. Before any receive: 0, -1, -1. */
int fmpl_get_count(size_t *bytes);
int fmpl_get_source(int *src);
int fmpl_get_index(int *mai);

/* The same for receivers that do not know who sends: slots of a domain of its own, apart from those above. Messages of
 * one sender keep their order; a sender that is far ahead waits. */
int fmpl_send_any(const void *buf, size_t size, int dst, int mai, fmpl_comm comm);
int fmpl_recv_any(void *buf, size_t size, int mai, fmpl_comm comm);

/* When fmpl_send and fmpl_send_any return, in all groups from now on:
 *
 *     never called, or FMPL_STANDARD   when a short message (up to 8 KB) is on its way, a longer one was received
 *     FMPL_SYNC                        when the message was received
 *     ipara ms (0: buffered mode)      as FMPL_STANDARD, and a send that has waited so long is copied into a spare
 *                                      buffer, from which it goes by itself during later calls
 *
 * Each group has a spare buffer of `size` bytes, which the library keeps itself: `buf`, which may be NULL, is not used.
 * A full one makes sends wait for their receives; a message that can never fit is an error (FMPL_ERR_INVALID), and so is
 * a size smaller than what lies there. */
#define FMPL_SYNC (-1)
#define FMPL_STANDARD (-2)
int fmpl_sendbuf_set(void *buf, size_t size, int ipara);

/* Moves sends out of the spare buffers. `nsend` gets how many have left them since the last time, `nspool` how many
 * are still there; both may be NULL. */
int fmpl_sendbuf_check(int *nsend, int *nspool);

/* ---- while the program computes ------------------------------------------------------------------------------- */

/* The buffer belongs to the operation until it has ended. A receive that was started early lets its send go at once.
 * With FMPL_TAG_ANY, at most one receive per source is under way, and it takes a message when it is asked for: a send
 * that waits for its receive waits until then. */
int fmpl_isend(const void *buf, size_t size, int dst, int mai, fmpl_comm comm);
int fmpl_irecv(void *buf, size_t size, int src, int mai, fmpl_comm comm);

/* Waits until the operation of the slot has ended; at once if there is none. After fmpl_irecv_wait, fmpl_get_count tells
 * the bytes that came, 0 if there was none. */
int fmpl_isend_wait(int dst, int mai, fmpl_comm comm);
int fmpl_irecv_wait(int src, int mai, fmpl_comm comm);

/* Looks instead of waiting: `flag` gets 1 if the operation has ended, else 0. */
int fmpl_isend_test(int dst, int mai, fmpl_comm comm, int *flag);
int fmpl_irecv_test(int src, int mai, fmpl_comm comm, int *flag);

/* A prepared transfer, or a collective call under way (fmpl_ibarrier and those after it). */
typedef struct fmpl_request {
    int id;
} fmpl_request;

/* Transfers that are described once and started many times. fmpl_start is fmpl_isend or fmpl_irecv. The slot belongs to
 * the request, in its direction, until it is freed: preparing another transfer there, and every other send or receive,
 * gives FMPL_ERR_BUSY. To one with FMPL_TAG_ANY belong fmpl_irecv and fmpl_recv_init with FMPL_TAG_ANY from its source; a
 * blocking receive may still take a message before it. */
int fmpl_send_init(const void *buf, size_t size, int dst, int mai, fmpl_comm comm, fmpl_request *req);
int fmpl_recv_init(void *buf, size_t size, int src, int mai, fmpl_comm comm, fmpl_request *req);
int fmpl_start(fmpl_request req);

/* fmpl_wait waits until the transfer or call has ended; fmpl_test looks instead, as those above. A prepared transfer can
 * be started again afterwards, and waiting for one that is not under way returns at once; the request of a collective
 * call names none once the program has heard that it ended.
 *
 * fmpl_request_free is for prepared transfers; it also forgets a collective call that has ended, whatever became of it.
 * What is under way cannot be freed (FMPL_ERR_UNDER_WAY). The request names none afterwards. */
int fmpl_wait(fmpl_request req);
int fmpl_test(fmpl_request req, int *flag);
int fmpl_request_free(fmpl_request *req);

/* ---- together ------------------------------------------------------------------------------------------------- */

/* All members of the group make these calls, in the same order, with the same root, sizes and function. Calls that do
 * not fit together give FMPL_ERR_MISMATCH, and such calls on that group fail from then on. A call whose own arguments are
 * wrong (a null pointer, no such root) fails before the others hear of it, and can be made again. */

int fmpl_barrier(fmpl_comm comm);

/* Copies `size` bytes of the root to all. */
int fmpl_bcast(void *buf, size_t size, int root, fmpl_comm comm);

/* A function by which numbers are combined: one of those below, or one of the program. */
typedef struct fmpl_func {
    int id;
} fmpl_func;

/* Combines `count` elements of every member, always in the order of ranks (over several hosts those of a host first, where
 * nothing but rounding can tell), so that results are the same every time. fmpl_reduce leaves the result at the root (the others keep their numbers), fmpl_allreduce at all, fmpl_scan at each
 * member the result of all up to it. `work` is not needed and may be NULL. */
int fmpl_reduce(void *buf, int count, fmpl_func func, int root, fmpl_comm comm, void *work);
int fmpl_allreduce(void *buf, int count, fmpl_func func, fmpl_comm comm, void *work);
int fmpl_scan(void *buf, int count, fmpl_func func, fmpl_comm comm, void *work);

/* As fmpl_scan, without the member's own numbers: each gets the result of all before it, and the first keeps its own. */
int fmpl_exscan(void *buf, int count, fmpl_func func, fmpl_comm comm, void *work);

/* Combines the `data` of all members and gives each its block of the result in `mine`: counts[m] elements for member m, one block
 * after the other, or `count` for each. All give the same counts. The data stay as they are; the two buffers may not overlap. */
int fmpl_reduce_scatter(const void *data, void *mine, const int *counts, fmpl_func func, fmpl_comm comm);
int fmpl_reduce_scatter_block(const void *data, void *mine, int count, fmpl_func func, fmpl_comm comm);

/* The letter tells the type: i int, l 64-bit integer, s float, d double, c and z complex numbers of floats and doubles
 * (two in a row). max and min go by the absolute value (of complex numbers |re| + |im|) and give the element with its
 * sign, of equal ones that of the lowest rank; pmax and pmin are the plain ones. land, lor, lxor give 1 or 0; band, bor,
 * bxor go bit by bit. Integers wrap around. */
extern const fmpl_func fmpl_isum, fmpl_ssum, fmpl_dsum, fmpl_csum, fmpl_zsum, fmpl_lsum;
extern const fmpl_func fmpl_imax, fmpl_smax, fmpl_dmax, fmpl_cmax, fmpl_zmax, fmpl_lmax;
extern const fmpl_func fmpl_imin, fmpl_smin, fmpl_dmin, fmpl_cmin, fmpl_zmin, fmpl_lmin;
extern const fmpl_func fmpl_ipmax, fmpl_spmax, fmpl_dpmax, fmpl_lpmax;
extern const fmpl_func fmpl_ipmin, fmpl_spmin, fmpl_dpmin, fmpl_lpmin;
extern const fmpl_func fmpl_iprod, fmpl_sprod, fmpl_dprod, fmpl_cprod, fmpl_zprod, fmpl_lprod;
extern const fmpl_func fmpl_iland, fmpl_lland, fmpl_ilor, fmpl_llor, fmpl_ilxor, fmpl_llxor;
extern const fmpl_func fmpl_iband, fmpl_lband, fmpl_ibor, fmpl_lbor, fmpl_ibxor, fmpl_lbxor;

/* A function of the program: it combines `count` elements at `in` into those at `inout`. It must be associative, may
 * be called for parts of the data, and must not make calls, throw or longjmp out. In calls that do not block it has 8 MB of
 * stack. An element has 1 to 4096 bytes. Members that give different functions of their own are not found out: only that
 * all give one, and as many bytes. fmpl_func_free forgets the function; the handle names none afterwards. */
int fmpl_func_create(void (*fn)(void *inout, const void *in, int count), size_t elem_size, fmpl_func *func);
int fmpl_func_free(fmpl_func *func);

/* Blocks of `size` bytes, one per member, in the order of ranks. fmpl_gather collects the `mine` of all in `all` of the
 * root, fmpl_allgather in `all` of everyone; fmpl_scatter gives each member its block of the root's `all`; with
 * fmpl_alltoall, block m of member k becomes block k of the `into` of member m. Others than the root may give NULL for
 * `all` in gather and scatter. The two buffers may not overlap. */
int fmpl_gather(const void *mine, size_t size, void *all, int root, fmpl_comm comm);
int fmpl_allgather(const void *mine, size_t size, void *all, fmpl_comm comm);
int fmpl_scatter(const void *all, size_t size, void *mine, int root, fmpl_comm comm);
int fmpl_alltoall(const void *blocks, size_t size, void *into, fmpl_comm comm);

/* The same with blocks of different lengths. sizes[m] is the bytes of the block of member m, starts[m] where it begins in the
 * buffer, in bytes; without `starts`, which may be NULL, blocks follow each other. Blocks that are written may not overlap.
 *
 * In gatherv and scatterv `all`, `sizes` and `starts` are the root's (others may give NULL), and `size` is the own block. In
 * allgatherv all give the same sizes. In alltoallv, what member k gives to m by its from_sizes[m] is what m takes by its
 * into_sizes[k]. Sizes that do not fit together give FMPL_ERR_MISMATCH to all members, and nothing is moved; fmpl_last_error says
 * which. */
int fmpl_gatherv(const void *mine, size_t size, void *all, const size_t *sizes, const size_t *starts, int root, fmpl_comm comm);
int fmpl_allgatherv(const void *mine, size_t size, void *all, const size_t *sizes, const size_t *starts, fmpl_comm comm);
int fmpl_scatterv(const void *all, const size_t *sizes, const size_t *starts, void *mine, size_t size, int root, fmpl_comm comm);
int fmpl_alltoallv(const void *from, const size_t *from_sizes, const size_t *from_starts, void *into,
                   const size_t *into_sizes, const size_t *into_starts, fmpl_comm comm);

/* The same calls while the program computes: each gives a request, for fmpl_wait or fmpl_test. Its buffers belong to the
 * call until it has ended; lists of sizes, beginnings and counts are copied. Wrong arguments are told at once, everything else (a
 * member that died, a mismatch) when the call is waited for.
 *
 * Calls of a group are done in the order in which they were started, the blocking ones included, which first wait for
 * those started before; calls of different groups do not wait for each other. They move on in fmpl_test, in every call
 * that waits, whatever it waits for, and in hk_progress. A function of the program runs in those calls, on a stack of
 * 8 MB; fmpl_func_free does not take it away from calls that were started. */
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

/* Zeroed memory of this rank that all ranks of the host map: long messages from or into it are copied by both sides
 * without system calls. Any other memory can be used for messages as well. NULL if there is none (HIKYAKU_HEAP sets how
 * much there is); gone after fmpl_finalize. fmpl_free ignores NULL, and addresses that fmpl_malloc did not give. */
void *fmpl_malloc(size_t size);
void fmpl_free(void *p);

#ifdef __cplusplus
}
#endif

#endif
