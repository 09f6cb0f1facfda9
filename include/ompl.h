/*
 * OMPL: remote writes and flags for programs of many threads, in C.
 *
 * Every rank has a part of one global area, of the same size on all ranks. A location in it is (rank, byte offset). Threads write to
 * the parts of other ranks, and then set a flag there, which a thread of that rank waits for. Nothing is queued and nothing is
 * matched: in which order things happen is decided by the program, or by the graph of its tasks.
 *
 *     ompl_init(1 << 20);                     every rank has 1 MB, zeroed
 *     double *x = ompl_base();                this rank's part
 *     if (ompl_rank() == 0) {
 *         ompl_put(0, 1, 4096, 8000);         8000 bytes at offset 0 of this rank, to offset 4096 of rank 1
 *         ompl_put_word(1, 64);               then the flag at offset 64 of rank 1
 *     } else if (ompl_rank() == 1) {
 *         ompl_wait(64);                      the bytes are there; the flag is clear again
 *     }
 *     ompl_finalize();
 *
 * `hikyaku run -n 4 -- ./program` starts a job of four ranks. A program started without it is a job of one rank.
 * `mpirun -n 4 ./program` (Open MPI, MPICH) and Slurm's srun work too; a program that also uses MPI calls MPI_Init first. Both may
 * communicate at the same time, from any number of threads, and be ended in either order.
 *
 * A program may use hikyaku.h and fmpl.h too. All share one job, which begins with the first of their init calls and ends with the
 * last finalize. One thread makes all of these calls, in any order.
 *
 * Threads. Any number of threads may make calls at once, without saying so beforehand. Each gets a port of its own into the network
 * at its first call, and returns it when it ends, so threads do not slow each other down: they share no lock and write no common cache
 * line. A rank has 16 ports, or as many as HIKYAKU_PORTS says (at most 64); a quarter of them, at most 4, is kept for threads that
 * find no other. Such a thread takes one of those for each call, and lets other threads run while there is none. Its calls take longer,
 * and its puts to ranks of other hosts wait until they have arrived. No thread of the library is needed on one host; in a job of several
 * hosts each rank has one.
 *
 * A thread must not be cancelled (pthread_cancel) while it is in a call. While a thread ends, in destructors of its thread-specific data,
 * its calls may give OMPL_ERR_THREAD.
 *
 * Flags. A flag is a word of 8 bytes at an offset that is a multiple of 8. It is set or clear; setting it twice is the same as once. If
 * several threads wait for one flag, one of them gets it. Flags that different threads wait for are best 64 bytes apart.
 *
 * Results. A call returns OMPL_SUCCESS (0) or one of the negative codes below, whose values are those of hikyaku.h. ompl_rank,
 * ompl_size and ompl_poll return a number that is not negative instead. After an error, ompl_last_error() explains it in a sentence.
 *
 * C99 and C++.
 */
#ifndef OMPL_H
#define OMPL_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* ---- results -------------------------------------------------------------------------------------------------- */

enum {
    OMPL_SUCCESS = 0,

    /* A peer is gone or misbehaves. */
    OMPL_ERR_PEER_DEAD = -1,       /* the rank died */
    OMPL_ERR_PEER_LEFT = -2,       /* the rank ended its part of the job, but the call still needs it */
    OMPL_ERR_PEER_MISBEHAVED = -3, /* the rank sent something no correct program sends */
    OMPL_ERR_REFUSED = -4,         /* the rank refused an operation started here */
    OMPL_ERR_UNREACHABLE = -28,    /* the rank, of another host, cannot be reached any more; it may run on there */

    /* The call itself is wrong. */
    OMPL_ERR_RANK = -6,         /* no such rank */
    OMPL_ERR_BOUNDS = -7,       /* the access passes the end of the area; nothing was written */
    OMPL_ERR_ALIGNMENT = -8,    /* a flag whose offset is not a multiple of 8 */
    OMPL_ERR_INVALID = -20,     /* two ranges of this rank's own part that overlap, or a setting that makes no sense */
    OMPL_ERR_IN_HANDLER = -16,  /* a call that waits, inside a handler of hikyaku.h or a function of a reduction */
    OMPL_ERR_FORKED = -17,      /* this process is a fork of a rank, not a rank */
    OMPL_ERR_MISMATCH = -18,    /* ranks asked for areas of different sizes */
    OMPL_ERR_NOT_STARTED = -21, /* before ompl_init or after ompl_finalize */
    OMPL_ERR_STARTED = -22,     /* ompl_init twice */
    OMPL_ERR_THREAD = -23,      /* only the thread that joined the job may do that; or the thread is ending */

    /* The machine, or the start of the job. */
    OMPL_ERR_PORTS = -19,   /* all ports of this rank are in use, and none could be kept for threads: see HIKYAKU_PORTS */
    OMPL_ERR_MEMORY = -24,  /* not enough memory */
    OMPL_ERR_START = -25,   /* the job cannot be joined */
    OMPL_ERR_SYSTEM = -26,  /* a system call failed */
    OMPL_ERR_INTERNAL = -27 /* a bug in the library */
};

/* The meaning of a code. Never null. */
const char *ompl_strerror(int code);

/* Explains the last error of this thread in a sentence; "" if there was none. The text is valid until the next error of this
 * thread. */
const char *ompl_last_error(void);

/* ---- the job -------------------------------------------------------------------------------------------------- */

/* Joins the job, or the one that this process has joined by another interface, and allocates `bytes` zeroed bytes on every rank. All
 * ranks call it with the same size. If it fails on one rank for want of memory, it fails on all. How much there can be is said by
 * HIKYAKU_HEAP. */
int ompl_init(size_t bytes);

/* Ends it. All ranks call it, each on the thread that called ompl_init, when their other threads make no calls any more. Everything that
 * threads of this rank have put before has arrived when it returns, and the area is gone.
 *
 * If a rank has died, has left without it or cannot be reached any more, it gives OMPL_ERR_PEER_DEAD, OMPL_ERR_PEER_LEFT or
 * OMPL_ERR_UNREACHABLE instead of waiting for that rank. This rank's part has ended all the same: further calls give
 * OMPL_ERR_NOT_STARTED. */
int ompl_finalize(void);

/* This rank's part of the area, which starts at a multiple of 64; NULL if there is none. The program reads and writes it as any other
 * memory, except what peers are writing: a flag says when they have done so. */
void *ompl_base(void);

/* This rank, counted from 0, and how many there are. */
int ompl_rank(void);
int ompl_size(void);

/* ---- remote operations ---------------------------------------------------------------------------------------- */

/* Writes `length` bytes at `own` of this rank's part to `there` of the part of `rank`, which may be this rank if the two ranges do not
 * overlap. The bytes may be changed again when the call returns. That they have arrived is told by a flag that this thread sets
 * afterwards. Any number of puts may be under way: one that finds no room in the network waits, and memory does not grow. */
int ompl_put(uint64_t own, uint32_t rank, uint64_t there, size_t length);

/* Reads `length` bytes at `there` of the part of `rank` into `own` of this rank's part. They are there when the call returns. The
 * two ranges do not overlap, either. */
int ompl_get(uint64_t own, uint32_t rank, uint64_t there, size_t length);

/* ---- flags ---------------------------------------------------------------------------------------------------- */

/* Sets the flag at offset `flag` of `rank`, after everything that this thread has put to that rank before: whoever sees the flag sees
 * the bytes. So it is on networks that do not keep the order of writes as well. */
int ompl_put_word(uint32_t rank, uint64_t flag);

/* Waits until the flag at offset `flag` of this rank's own part is set, and clears it. Meanwhile other threads run, handlers of
 * hikyaku.h are called, and what peers ask of this rank is done. Fails if a rank has died, or if all others have left. */
int ompl_wait(uint64_t flag);

/* One look at a flag of this rank's own part: 1 if it was set, and it is clear again; 0 if it was not. */
int ompl_poll(uint64_t flag);

#ifdef __cplusplus
}
#endif

#endif
