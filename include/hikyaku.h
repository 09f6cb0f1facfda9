/*
 * hikyaku: communication built on remote memory operations. The C interface.
 *
 * The processes of a job are its ranks. Each rank has a network interface, which reads and writes the rank's memory for the
 * other ranks. Memory that others may access is called an area, and a location in it is (rank, area, byte offset).
 *
 *     hk_area data, flag;
 *     hk_init();
 *     hk_alloc(8000, &data);                        every rank has 8000 bytes ...
 *     hk_alloc(8, &flag);                           ... and one word, both zeroed
 *     if (hk_rank() == 0)
 *         hk_push_notify(mine, 1, data, 0, 8000, flag, 0, 1);      the word arrives after the data
 *     else if (hk_rank() == 1)
 *         hk_wait(flag, 0, HK_EQUAL, 1, HK_ANYONE, HK_FOREVER, NULL);
 *     hk_finalize();
 *
 * `hikyaku run -n 4 -- ./program` starts a job of four ranks. A program started without it is a job of one rank.
 * `mpirun -n 4 ./program` (Open MPI, MPICH) and Slurm's srun work too; a program that also uses MPI calls MPI_Init first.
 *
 * Results. A call returns HK_SUCCESS (0) or one of the negative codes below. Some calls return a number that is never negative
 * instead of HK_SUCCESS; this file says which. After an error, hk_last_error() explains it in a sentence, and hk_error_rank()
 * returns the rank that it is about. HK_BUSY is positive, because it is not an error: the peer is behind.
 *
 * Threads. Any thread may make calls. A thread gets a port into the network interface at its first call, and returns it when
 * the thread ends, so threads never wait for each other. A rank has 16 ports, or as many as HIKYAKU_PORTS says. Calls
 * marked "init thread" are only for the thread that called hk_init; others get HK_ERR_THREAD.
 *
 * Handles. An hk_area that was closed or freed, or never existed, gives HK_ERR_HANDLE. As with free(), no thread may be inside a
 * call on an area while another thread frees, closes or revokes it, or ends the job.
 *
 * Words. A word is 8 bytes at an offset that is a multiple of 8, in the byte order of the machine. To access words that other
 * ranks change, use this library or the language's atomic operations.
 *
 * C99 and C++.
 */
#ifndef HIKYAKU_H
#define HIKYAKU_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define HK_VERSION "0.1.0"

/* ---- results -------------------------------------------------------------------------------------------------- */

enum {
    HK_SUCCESS = 0,
    /* The peer's queue is full, or another rank has the lock: the same call may succeed later. Not an error. */
    HK_BUSY = 1,

    /* A peer is gone or misbehaves. */
    HK_ERR_PEER_DEAD = -1,       /* the rank died */
    HK_ERR_PEER_LEFT = -2,       /* the rank ended its part of the job, but the call still needs it */
    HK_ERR_PEER_MISBEHAVED = -3, /* the rank sent something no correct program sends */
    HK_ERR_REFUSED = -4,         /* the rank refused an operation started here */
    HK_ERR_TIMEOUT = -5,         /* the time given has passed */
    HK_ERR_UNREACHABLE = -28,    /* the rank, of another host, cannot be reached any more; it may run on there */

    /* The call itself is wrong. */
    HK_ERR_RANK = -6,         /* no such rank, or the area is not of that rank */
    HK_ERR_BOUNDS = -7,       /* the access does not lie within the area */
    HK_ERR_ALIGNMENT = -8,    /* not the place of an aligned word, or of aligned elements */
    HK_ERR_HANDLE = -9,       /* the handle names no area, lock, barrier, region, queue, recipients or request (any more) */
    HK_ERR_NOT_MINE = -10,    /* memory of another rank where own memory is needed */
    HK_ERR_UNKNOWN_AREA = -11, /* the rank has no area of that id */
    HK_ERR_REVOKED = -12,     /* the owner has revoked the area */
    HK_ERR_AREA_ID = -13,     /* the area id is taken or beyond the table */
    HK_ERR_HANDLER_ID = -14,  /* the handler id is taken, beyond the table, or not registered */
    HK_ERR_PINNED = -30,      /* a rank has pinned some of the area */
    HK_ERR_TRUNCATED = -29,   /* a message is longer than the buffer of its receive */
    HK_ERR_PAYLOAD = -15,     /* a payload longer than HK_PAYLOAD_MAX, or a reply longer than the buffer for it */
    HK_ERR_IN_HANDLER = -16,  /* a call that waits, inside a handler or a function of a reduction */
    HK_ERR_FORKED = -17,      /* this process is a fork of a rank, not a rank */
    HK_ERR_MISMATCH = -18,    /* ranks called the same collective with different arguments */
    HK_ERR_PORTS = -19,       /* all ports of this rank are in use */
    HK_ERR_INVALID = -20,     /* a null pointer, or an argument that makes no sense */
    HK_ERR_NOT_STARTED = -21, /* before hk_init or after hk_finalize */
    HK_ERR_STARTED = -22,     /* hk_init twice */
    HK_ERR_THREAD = -23,      /* only the thread that called hk_init may do this */

    /* The machine, or the start of the job. */
    HK_ERR_MEMORY = -24,   /* not enough memory */
    HK_ERR_START = -25,    /* the job cannot be joined, or ranks did not join in time */
    HK_ERR_SYSTEM = -26,   /* a system call failed */
    HK_ERR_INTERNAL = -27  /* a bug in the library */
};

/* The meaning of a code. Never null. */
const char *hk_strerror(int code);

/* Explains the last error of this thread in a sentence: which peer, which limit, what to do. "" if there was none. The text
 * is valid until the next error of this thread. */
const char *hk_last_error(void);

/* The rank that the last error of this thread is about, or -1. */
int hk_error_rank(void);

/* The version of the library that was loaded. HK_VERSION is the version that the program was compiled with. */
const char *hk_version(void);

/* ---- the job -------------------------------------------------------------------------------------------------- */

/* Joins the job and waits until all ranks have joined. The calling thread becomes the init thread. After fmpl_init (see
 * fmpl.h) the process is in the job already, and the thread that called it may call hk_init too. */
int hk_init(void);

/* Leaves the job. Init thread. Peers that still wait for this rank get HK_ERR_PEER_LEFT; call hk_barrier first if there may be
 * any. Handles, handlers and areas are gone afterwards. If fmpl_finalize is still to come, the job lasts until then, and
 * handlers stay. A program started without a launcher may call hk_init again.
 *
 * A process that exits with status 0 without this call has left too. If it ends in any other way, its peers see it as dead. */
int hk_finalize(void);

/* The number of this rank, from 0, and the number of ranks. A negative code if there is no job. */
int hk_rank(void);
int hk_size(void);

/* Waits until every rank has called it. Afterwards every rank sees what any rank wrote before, and messages that init threads sent
 * before have been handled. While a rank waits here, its handlers run. Init thread. */
int hk_barrier(void);

/* A barrier with a deadline in milliseconds; a negative number means none. On HK_ERR_TIMEOUT this rank still counts as arrived:
 * its next hk_barrier or hk_barrier_for continues the same barrier. hk_alloc and hk_free complete it first. Init thread. */
int hk_barrier_for(int timeout_ms);

/* 1 if the rank is alive and has not left, else 0. */
int hk_is_present(int rank);

/* 1 if the job has more ranks than cores, so that waiting ranks yield instead of spinning. */
int hk_is_crowded(void);

/* 1 if this rank can access the other's registered memory by a system call; 0 if it goes through the other's network interface,
 * so that the other must make progress. */
int hk_reaches_private_memory(int rank);

/* ---- memory --------------------------------------------------------------------------------------------------- */

/* A handle to an area: symmetric, of this rank, or of a peer. {0} is no area. */
typedef struct hk_area {
    uint64_t handle;
} hk_area;

/* A symmetric area: every rank has a part of the same size, and one handle is used for all of them. */
typedef hk_area hk_sym;

/* Allocates `bytes` zeroed bytes on every rank, aligned to a cache line. Collective: all ranks call it with the same size. If one
 * rank has no memory left, it fails on all. Init thread. */
int hk_alloc(size_t bytes, hk_sym *out);

/* Frees a symmetric area. Collective, init thread. The handle becomes invalid even if the call fails. */
int hk_free(hk_sym area);

/* The address of this rank's part of a symmetric area, or of an area of this rank. Null for an area of a peer; see
 * hk_last_error. */
void *hk_local(hk_area area);

/* The address of byte `offset` in a rank's part of a symmetric area, if that rank is on this host; else null (see
 * hk_last_error). The program itself must then order accesses that conflict. */
void *hk_address(int rank, hk_sym area, size_t offset);

/* The size of an area in bytes. */
int hk_area_size(hk_area area, size_t *bytes);

/* Areas of one rank. The rank gives each an id (0 to 255), and peers open it by (rank, id).
 *
 * hk_area_create allocates zeroed memory, rounded up to whole words; `memory`, if not null, gets its address. hk_area_register lets
 * peers access existing memory, which must stay valid until hk_area_revoke. It has words only if its address and size are
 * multiples of 8. */
int hk_area_create(uint32_t id, size_t bytes, void **memory);
int hk_area_register(uint32_t id, void *memory, size_t bytes);

/* Removes an area of this rank. When the call returns, no operation on the area is in progress, and peers get HK_ERR_REVOKED; those of
 * other hosts HK_ERR_REFUSED, since the owner refuses what they have sent: for a push from the next hk_flush or hk_sync.
 * HK_ERR_PINNED if a rank has pinned some of it and is still there: then the area stays. */
int hk_area_revoke(uint32_t id);

/* Opens area `id` of `rank`. A rank may open its own areas too, for example to wait for words in them. */
int hk_area_open(int rank, uint32_t id, hk_area *out);

/* Closes a handle from hk_area_open. For an area of this rank it does nothing. */
int hk_area_close(hk_area area);

/* Pindown. hk_pd_req asks the owner of an area, or of symmetric memory, to keep `size` bytes from `offset` on, and returns when it has
 * said so: until as many hk_pd_release, or the end of this rank, hk_area_revoke fails there. HK_ERR_BOUNDS if there are not as many,
 * HK_ERR_REVOKED if the area is gone, or about to go. The owner answers for ranks of other hosts at any time, for those of its own host
 * while it is inside of a call. A release takes effect after everything that this thread has pushed to the rank. */
int hk_pd_req(int rank, hk_area area, size_t offset, size_t size);
int hk_pd_release(int rank, hk_area area);

/* For the owner. Waits until no rank has pinned any of the area; nobody can pin it from then on. HK_ERR_PINNED if that takes longer than
 * `timeout_ms`, and all is as before. hk_area_unpin ends all pins, for a peer that has forgotten to. */
int hk_area_wait_unpinned(uint32_t id, int timeout_ms);
int hk_area_unpin(uint32_t id);

/* ---- remote operations ---------------------------------------------------------------------------------------- */

/* The model is RHiNET's
 *
 *     push(my_addr, remid, global_id, offset, flag, status_ret, size)
 *
 * with remid = rank and global_id = area. In place of `flag` and `status_ret` there are three calls: hk_push is the plain one,
 * hk_push_notify also sets a word at the target (a signal), and hk_push_status sets a word of this rank (a completion status).
 * All begin with (my_addr, rank, area, offset, size).
 *
 * For an area of one rank, `rank` must be its owner. */

/* Writes `size` bytes. `my_addr` may be reused when the call returns. The bytes are at the target when hk_flush returns, or
 * when the target sees a later word or notification of this thread. */
int hk_push(const void *my_addr, int rank, hk_area area, size_t offset, size_t size);

/* hk_push by a given path, to compare them; hk_push takes the one that suits the size. HK_ERR_INVALID for more than 8 bytes by
 * HK_PATH_WORD. The names in brackets are those of DIMMnet-1. */
typedef enum hk_path {
    HK_PATH_WORD = 0,   /* all at once, at most 8 bytes (AOTF): one store, or one packet */
    HK_PATH_WINDOW = 1, /* in windows of 464 bytes (BOTF): through the caches, or in packets of that size */
    HK_PATH_BULK = 2    /* in bulk (RDMA): as what the caches do not hold, or in packets as long as the network takes */
} hk_path;
int hk_push_by(hk_path path, const void *my_addr, int rank, hk_area area, size_t offset, size_t size);

/* Reads `size` bytes. They are there when the call returns. */
int hk_pull(void *my_addr, int rank, hk_area area, size_t offset, size_t size);

/* Writes a word atomically and wakes whoever waits for it. It arrives after everything this thread pushed to that rank before. */
int hk_word(int rank, hk_area area, size_t offset, uint64_t value);

/* Writes the bytes, then the word `value` at (rank, flag, flag_offset): whoever sees the word sees the bytes. */
int hk_push_notify(const void *my_addr, int rank, hk_area area, size_t offset, size_t size,
                   hk_area flag, size_t flag_offset, uint64_t value);

/* Writes the bytes, then adds `amount` to the word at (rank, counter, counter_offset): whoever sees the sum sees the bytes. Many
 * ranks can add to one counter, and its owner waits for all of them by hk_wait with HK_AT_LEAST. */
int hk_push_notify_add(const void *my_addr, int rank, hk_area area, size_t offset, size_t size,
                       hk_area counter, size_t counter_offset, uint64_t amount);

/* Write or read the bytes as hk_push and hk_pull do. When they have all arrived, `value` is written to the word at (status,
 * status_offset) in this rank's memory, where hk_poll and hk_wait find it. */
int hk_push_status(const void *my_addr, int rank, hk_area area, size_t offset, size_t size,
                   hk_area status, size_t status_offset, uint64_t value);
int hk_pull_status(void *my_addr, int rank, hk_area area, size_t offset, size_t size,
                   hk_area status, size_t status_offset, uint64_t value);

/* Partial transfers: some parts of a range, in one operation. As after hk_push, a word or a notification of this thread to the same rank
 * arrives after all of them. Lengths and distances are in bytes. */

/* `count` blocks of `block` bytes. At `my_addr` one begins `here` bytes after the one before, in the area `there` bytes. Blocks must not
 * overlap; where `here` is `block`, they are packed. */
typedef struct hk_stride {
    size_t block, count, here, there;
} hk_stride;

/* Writes (reads) blocks: a column of a matrix, say. */
int hk_push_stride(const void *my_addr, int rank, hk_area area, size_t offset, hk_stride stride);
int hk_pull_stride(void *my_addr, int rank, hk_area area, size_t offset, hk_stride stride);

/* Writes (reads) those of `units` units of `unit` bytes that are marked, at the same places on both sides; others are left as they are.
 * Unit n is marked if bit n % 64 of word n / 64 of the bitmap is set. Units of 1, 4 and 8 bytes are the fastest. */
int hk_push_bitmap(const void *my_addr, int rank, hk_area area, size_t offset,
                   const uint64_t *bitmap, size_t unit, size_t units);
int hk_pull_bitmap(void *my_addr, int rank, hk_area area, size_t offset,
                   const uint64_t *bitmap, size_t unit, size_t units);

/* Reads `size` bytes, and keeps a copy of them at `twin`, which has as many and lies apart. */
int hk_pull_twin(void *my_addr, int rank, hk_area area, size_t offset, size_t size, void *twin);

/* Writes those units of `unit` bytes that differ from the twin; `pushed`, if not null, gets how many. Then the twin is as the bytes that
 * were written. So several ranks can change one range at once, each its own units. `size` is a multiple of `unit`. */
int hk_push_diff(const void *my_addr, int rank, hk_area area, size_t offset, size_t size,
                 void *twin, size_t unit, size_t *pushed);

/* The same, then the word `value` to (flag, flag_offset) on the same rank, which arrives after all parts, also if there are none. */
int hk_push_stride_notify(const void *my_addr, int rank, hk_area area, size_t offset, hk_stride stride,
                          hk_area flag, size_t flag_offset, uint64_t value);
int hk_push_bitmap_notify(const void *my_addr, int rank, hk_area area, size_t offset,
                          const uint64_t *bitmap, size_t unit, size_t units,
                          hk_area flag, size_t flag_offset, uint64_t value);
int hk_push_diff_notify(const void *my_addr, int rank, hk_area area, size_t offset, size_t size, void *twin, size_t unit,
                        hk_area flag, size_t flag_offset, uint64_t value, size_t *pushed);

/* Transfers: pushes and pulls that go on while the program computes. Any number can be under way, with one rank or several. Those
 * with ranks of this host end at once. The bytes at `my_addr` are left alone by the program until the transfer has ended: a push must
 * not find them changed, a pull writes them at any time. A transfer belongs to the thread that has started it.
 *
 * A transfer is not ordered with others, nor with words, until it was waited for. hk_flush, hk_sync and barriers wait for transfers
 * too; only waiting for the transfer itself tells whether it was refused. */
typedef struct hk_transfer {
    uint64_t handle; /* 0 for none. One that was started has another, until a call below has told that it has ended. */
} hk_transfer;

/* Starts to write (read) `size` bytes. `transfer` must not be null. */
int hk_push_start(const void *my_addr, int rank, hk_area area, size_t offset, size_t size, hk_transfer *transfer);
int hk_pull_start(void *my_addr, int rank, hk_area area, size_t offset, size_t size, hk_transfer *transfer);

/* Start to write (read) parts. What is written is packed at once: `my_addr` is free when the call returns, and the twin is as what was
 * packed, and so is the bitmap; after an error the twin is as before. Blocks and units that are longer than a packet are read before the
 * call returns. */
int hk_push_stride_start(const void *my_addr, int rank, hk_area area, size_t offset, hk_stride stride, hk_transfer *transfer);
int hk_pull_stride_start(void *my_addr, int rank, hk_area area, size_t offset, hk_stride stride, hk_transfer *transfer);
int hk_push_bitmap_start(const void *my_addr, int rank, hk_area area, size_t offset,
                         const uint64_t *bitmap, size_t unit, size_t units, hk_transfer *transfer);
int hk_pull_bitmap_start(void *my_addr, int rank, hk_area area, size_t offset,
                         const uint64_t *bitmap, size_t unit, size_t units, hk_transfer *transfer);
int hk_push_diff_start(const void *my_addr, int rank, hk_area area, size_t offset, size_t size, void *twin, size_t unit,
                       size_t *pushed, hk_transfer *transfer);

/* 1 if a transfer has ended, 0 if it is under way. An error ends it too. One that has ended is set to {0}, for which this gives 1. */
int hk_transfer_test(hk_transfer *transfer);

/* Waits for it; HK_ERR_TIMEOUT if that takes longer, and it is under way as before. Every other error ends it. A push is at its target
 * then. It is set to {0}, for which this returns at once. */
int hk_transfer_wait(hk_transfer *transfer, int timeout_ms);

/* Waits until one of `count` transfers has ended. `index` gets which, from 0, also if that one failed, and its handle is set to {0}.
 * Those that are {0} are passed over; if all are, `index` gets `count` at once. On HK_ERR_TIMEOUT, HK_ERR_INVALID and
 * HK_ERR_IN_HANDLER all are under way as before, and `index` is not set. A handle may be in the list once. */
int hk_transfer_wait_any(hk_transfer *transfers, size_t count, int timeout_ms, size_t *index);

/* Waits for all transfers of the calling thread; gives the first error. Their handles are gone then: set them to {0} before they are in
 * a list for hk_transfer_wait_any. */
int hk_transfer_wait_all(void);

typedef enum hk_atomic_op {
    HK_ADD = 0,
    HK_SWAP = 1,
    HK_COMPARE_SWAP = 2, /* stores `operand` if the word equals `expected` */
    HK_AND = 3,
    HK_OR = 4,
    HK_XOR = 5
} hk_atomic_op;

/* Changes a word atomically and wakes whoever waits for it. `before`, if not null, gets the previous value. `expected` is only for
 * HK_COMPARE_SWAP. */
int hk_atomic(int rank, hk_area area, size_t offset, hk_atomic_op op, uint64_t operand, uint64_t expected,
              uint64_t *before);
int hk_fetch_add(int rank, hk_area area, size_t offset, uint64_t value, uint64_t *before);

/* The same for other types of numbers. `offset` is a multiple of their size. Integers wrap around. */
int hk_atomic_u32(int rank, hk_area area, size_t offset, hk_atomic_op op, uint32_t operand, uint32_t expected,
                  uint32_t *before);
int hk_atomic_i64(int rank, hk_area area, size_t offset, hk_atomic_op op, int64_t operand, int64_t expected,
                  int64_t *before);
int hk_fetch_add_u32(int rank, hk_area area, size_t offset, uint32_t value, uint32_t *before);
int hk_fetch_add_i64(int rank, hk_area area, size_t offset, int64_t value, int64_t *before);
int hk_fetch_add_f64(int rank, hk_area area, size_t offset, double value, double *before);

/* Waits until everything this thread has pushed to the rank is there. Does not wait for messages to handlers. Gives HK_ERR_PEER_DEAD if a rank
 * of another host has died. Symmetric memory and areas of hk_area_create of a dead rank of this host stay: what is pushed there arrives, and
 * nothing fails. Whoever waits for what that rank is to do is told (hk_wait with `by`, receives, locks, barriers). */
int hk_flush(int rank);

/* Waits until everything this thread has started is complete at its target: pushes are there, and handlers of messages have run. They
 * run only while their ranks are inside calls of this library. Gives an error if a peer refused an operation, or ended before it
 * had handled a message. */
int hk_sync(void);

/* ---- copies between any two ranks ------------------------------------------------------------------------------- */

/* Copies `size` bytes at (from_rank, from, from_offset) to (to_rank, to, to_offset). The caller may be either of the two ranks, both, or a
 * third, and they need not know of it: between two other hosts the source's network interface sends the bytes to the target. They are there
 * when hk_flush(to_rank) or hk_sync returns. What this thread has pushed to the source before is copied; otherwise it is not ordered with
 * pushes and words. Ranges of one rank must not overlap: HK_ERR_INVALID. */
int hk_bcopy(int from_rank, hk_area from, size_t from_offset, int to_rank, hk_area to, size_t to_offset, size_t size);

/* The same, then the word `value` at (to_rank, flag, flag_offset): whoever sees the word sees the bytes. */
int hk_bcopy_notify(int from_rank, hk_area from, size_t from_offset, int to_rank, hk_area to, size_t to_offset, size_t size,
                    hk_area flag, size_t flag_offset, uint64_t value);

/* ---- pointers, registers and chains ------------------------------------------------------------------------------- */

/* The target decides where bytes land: the operations below follow a pointer in the target's memory, which the target aims and others need
 * not know. A pointer is a word of 8 bytes, and leads to an area of the rank in whose memory it is (hk_area_create, hk_area_register), or to
 * a chain of commands there. 0 leads nowhere; so does a pointer to an area that was revoked. */
typedef uint64_t hk_pointer;

/* A pointer to byte `offset` of an area of `rank`. It may be written into memory of that rank as any other word. */
int hk_pointer_to(int rank, hk_area area, size_t offset, hk_pointer *out);

/* Write (read) `size` bytes to (from) where the pointer leads that is the word at (rank, area, offset). They complete as hk_push and hk_pull
 * do. HK_ERR_REFUSED if it leads nowhere, or to less: from the call itself, or for a push to another host from the next hk_flush or hk_sync.
 * No byte outside of what the pointer leads to is written. */
int hk_push_indirect(const void *my_addr, int rank, hk_area area, size_t offset, size_t size);
int hk_pull_indirect(void *my_addr, int rank, hk_area area, size_t offset, size_t size);

/* Every rank has HK_REGISTERS pointers that others name by a number. hk_register_set aims one of this rank's, hk_register_get gives
 * where it leads. A pointer in memory is read and written as any other word, by hk_poll and hk_word. */
#define HK_REGISTERS 8
int hk_register_set(int number, hk_pointer pointer);
int hk_register_get(int number, hk_pointer *out);
int hk_push_register(const void *my_addr, int rank, int number, size_t size);
int hk_pull_register(void *my_addr, int rank, int number, size_t size);

/* A command of a chain: `count` blocks of `block` bytes in an area of this rank, the first at `offset`, each `distance` bytes after the one
 * before. Bytes that come are written to the blocks of the HK_WRITE commands, one after the other, and bytes that are asked for are read
 * from those of the HK_READ commands. */
enum { HK_WRITE = 1, HK_READ = 2 };
typedef struct hk_command {
    int way;
    hk_area area;
    size_t offset, block, count, distance;
} hk_command;

/* Makes a chain of `count` commands, in an area of its own with this id, and gives a pointer to it. hk_area_revoke(id) ends it. */
int hk_chain_create(uint32_t id, const hk_command *commands, size_t count, hk_pointer *out);

/* ---- multicast ------------------------------------------------------------------------------------------------ */

/* Writes the same to the same place of several ranks, in a symmetric area, or in areas of theirs (hk_areas_open). To symmetric memory of
 * another host the data travel once, whatever the number of recipients there: one of them writes for the others. A multicast is done after the next hk_sync or hk_barrier, and is not ordered with
 * pushes and words to single ranks. The caller's own rank may be among the recipients. */

/* Recipients that are named once and used any number of times. {0} is none. */
typedef struct hk_recipients {
    uint64_t handle;
} hk_recipients;

/* Names `count` ranks, each once, in any order. Frees them. */
int hk_recipients_create(const int *ranks, size_t count, hk_recipients *out);
int hk_recipients_free(hk_recipients recipients);

/* Opens area `id` of each recipient, which has created or registered it at any address, with any size: as the area of multicasts, and of
 * their flags. hk_area_close closes it. */
int hk_areas_open(hk_recipients recipients, uint32_t id, hk_area *out);

/* To recipients that were named before: `size` bytes; blocks; marked units; units that differ from a twin, as in hk_push_stride,
 * hk_push_bitmap and hk_push_diff. Those that notify then write the word `value` of each recipient: whoever sees it has the data. */
int hk_mcast_a(const void *my_addr, hk_recipients to, hk_sym area, size_t offset, size_t size);
int hk_mcast_a_notify(const void *my_addr, hk_recipients to, hk_sym area, size_t offset, size_t size,
                      hk_sym flag, size_t flag_offset, uint64_t value);
int hk_mcast_a_stride(const void *my_addr, hk_recipients to, hk_sym area, size_t offset, hk_stride stride);
int hk_mcast_a_stride_notify(const void *my_addr, hk_recipients to, hk_sym area, size_t offset, hk_stride stride,
                             hk_sym flag, size_t flag_offset, uint64_t value);
int hk_mcast_a_bitmap(const void *my_addr, hk_recipients to, hk_sym area, size_t offset,
                      const uint64_t *bitmap, size_t unit, size_t units);
int hk_mcast_a_bitmap_notify(const void *my_addr, hk_recipients to, hk_sym area, size_t offset,
                             const uint64_t *bitmap, size_t unit, size_t units,
                             hk_sym flag, size_t flag_offset, uint64_t value);
int hk_mcast_a_diff(const void *my_addr, hk_recipients to, hk_sym area, size_t offset, size_t size,
                    void *twin, size_t unit, size_t *pushed);
int hk_mcast_a_diff_notify(const void *my_addr, hk_recipients to, hk_sym area, size_t offset, size_t size,
                           void *twin, size_t unit, hk_sym flag, size_t flag_offset, uint64_t value, size_t *pushed);

/* The same to a list of ranks. */
int hk_mcast_b(const void *my_addr, const int *ranks, size_t count, hk_sym area, size_t offset, size_t size);
int hk_mcast_b_notify(const void *my_addr, const int *ranks, size_t count, hk_sym area, size_t offset, size_t size,
                      hk_sym flag, size_t flag_offset, uint64_t value);
int hk_mcast_b_stride(const void *my_addr, const int *ranks, size_t count, hk_sym area, size_t offset, hk_stride stride);
int hk_mcast_b_stride_notify(const void *my_addr, const int *ranks, size_t count, hk_sym area, size_t offset, hk_stride stride,
                             hk_sym flag, size_t flag_offset, uint64_t value);
int hk_mcast_b_bitmap(const void *my_addr, const int *ranks, size_t count, hk_sym area, size_t offset,
                      const uint64_t *bitmap, size_t unit, size_t units);
int hk_mcast_b_bitmap_notify(const void *my_addr, const int *ranks, size_t count, hk_sym area, size_t offset,
                             const uint64_t *bitmap, size_t unit, size_t units,
                             hk_sym flag, size_t flag_offset, uint64_t value);
int hk_mcast_b_diff(const void *my_addr, const int *ranks, size_t count, hk_sym area, size_t offset, size_t size,
                    void *twin, size_t unit, size_t *pushed);
int hk_mcast_b_diff_notify(const void *my_addr, const int *ranks, size_t count, hk_sym area, size_t offset, size_t size,
                           void *twin, size_t unit, hk_sym flag, size_t flag_offset, uint64_t value, size_t *pushed);

/* ---- locks ---------------------------------------------------------------------------------------------------- */

/* A lock of all ranks: one rank at a time holds it, and requests are served in the order in which they came. What an owner has written
 * to memory of any rank before it released the lock, the next owner sees. All calls: init thread, not in handlers. {0} is no lock. */
typedef struct hk_mutex {
    uint64_t handle;
} hk_mutex;

/* Makes a lock whose queue is in the memory of `manager`, whose program does nothing for it. Frees it. Collective: all ranks call them
 * with the same manager, the same lock. A lock that was to be freed is gone even if the call fails. */
int hk_mutex_create(int manager, hk_mutex *out);
int hk_mutex_free(hk_mutex mutex);

/* Waits for the lock, for `timeout_ms` milliseconds at most or HK_FOREVER; HK_ERR_TIMEOUT after that. `owner_died`, if not null, gets 1
 * if an owner before has died, or left the job, without releasing it, else 0; only the next owner is told. If an owner cannot be
 * reached any more, it may still be inside: HK_ERR_UNREACHABLE. If the manager is gone, the lock is gone. HK_ERR_INVALID if this rank
 * holds it already. */
int hk_lock(hk_mutex mutex, int timeout_ms, int *owner_died);

/* Takes the lock if it is free; HK_BUSY if another rank has it or waits for it. */
int hk_try_lock(hk_mutex mutex, int *owner_died);

/* Releases the lock, after everything that this thread has pushed has arrived. */
int hk_unlock(hk_mutex mutex);

/* ---- barriers in two halves ------------------------------------------------------------------------------------ */

/* A barrier of all ranks, or of some, that one of them counts. A rank arrives by hk_counting_post, goes on with what needs nothing of the others, and
 * waits for them by hk_counting_wait. What it has pushed before it arrived, the others see after they have waited. All calls: init
 * thread, not in handlers. {0} is no barrier. */
typedef struct hk_counting {
    uint64_t handle;
} hk_counting;

/* Makes a barrier that `manager` counts, whose program does nothing for it. Frees it. Collective: all ranks call them with the same
 * manager, the same barrier. */
int hk_counting_create(int manager, hk_counting *out);
int hk_counting_free(hk_counting barrier);

/* Makes barriers of some ranks each: `count` ranks, of which `manager`, one of them, counts. All ranks of the job call it together, and so
 * they free it, each with the ranks of its own barrier; a rank that needs none names itself alone. HK_ERR_INVALID on all ranks, or
 * HK_ERR_RANK, if a rank names another twice, not itself or not the manager, or if those of a manager do not name the same ranks. */
int hk_counting_create_of(const int *ranks, size_t count, int manager, hk_counting *out);

/* This rank arrives. HK_ERR_INVALID if it has arrived already and not waited yet. */
int hk_counting_post(hk_counting barrier);

/* Waits until all have arrived; HK_ERR_TIMEOUT after that time, and it can be called again. HK_ERR_INVALID if this rank has not arrived. A
 * rank that has ended before it has arrived is an error. */
int hk_counting_wait(hk_counting barrier, int timeout_ms);

/* 1 if all have arrived, and then this rank need not wait any more; else 0. */
int hk_counting_test(hk_counting barrier);

/* ---- shared regions -------------------------------------------------------------------------------------------- */

/* Memory of which every rank that subscribes has a copy. Writes go to all copies, and are there when they return. Ranks may write
 * different units at the same time; if several write the same one without a lock or a barrier between them, copies may end up
 * with different values. If a rank dies in the middle of a write, the others find out when they next read, and take over from the home
 * what it had written there. If the home dies, writes fail, and everyone keeps the copy it has. All calls: init thread, not in handlers.
 * {0} is no region. `my_addr` and `twin` are memory that no other rank writes meanwhile, and do not overlap. */
typedef struct hk_region {
    uint64_t handle;
} hk_region;

/* Makes a region of `size` bytes, which begin as zeros, with its first copy at `home`, whose program does nothing for it. Frees it.
 * Collective: all ranks call them with the same arguments, the same region. */
int hk_region_create(int home, size_t size, hk_region *out);
int hk_region_free(hk_region region);

/* This rank gets a copy of what the region has now, and from then on what others write; it gives the copy up. At any time, whatever the
 * others do. HK_ERR_INVALID if this rank has subscribed already, or has not. */
int hk_subscribe(hk_region region);
int hk_unsubscribe(hk_region region);

/* Copies `size` bytes of this rank's copy out, from `offset` on. The second copies all of them out, and keeps a twin of what was
 * read. HK_ERR_INVALID if this rank has not subscribed, here and below. */
int hk_region_read(void *my_addr, hk_region region, size_t offset, size_t size);
int hk_region_read_twin(void *my_addr, hk_region region, void *twin);

/* Writes `size` bytes to all copies, from `offset` on. HK_ERR_UNREACHABLE if a sharer cannot be reached, which may live on and has not
 * got them; all others have. */
int hk_region_write(const void *my_addr, hk_region region, size_t offset, size_t size);

/* Writes those of `units` units of `unit` bytes that are marked, as in hk_push_bitmap, to all copies: the first unit is at `my_addr`, and
 * at `offset` of the region. */
int hk_region_write_bitmap(const void *my_addr, hk_region region, size_t offset, const uint64_t *bitmap, size_t unit, size_t units);

/* Who has a copy now, the home always: `ranks` gets the first `max` of them, in the order of ranks, and `count`, if not null, how many they
 * are. This rank need not have subscribed. */
int hk_region_sharers(hk_region region, int *ranks, size_t max, size_t *count);

/* Writes those units of `unit` bytes that differ from the twin to all copies; `written`, if not null, gets how many they were. Both are as
 * long as the region. Then the twin is as the data. */
int hk_region_write_diff(const void *my_addr, hk_region region, void *twin, size_t unit, size_t *written);

/* Takes over what others have written: where units of this rank's copy differ from the twin, the twin and the data become as it is.
 * `changed`, if not null, gets how many they were. What this rank has changed and not written yet stays, unless others have written the
 * same units. */
int hk_region_refresh(void *my_addr, hk_region region, void *twin, size_t unit, size_t *changed);

/* ---- remote queues --------------------------------------------------------------------------------------------- */

/* All ranks push items of one size, one rank pops them where they have landed. The items of one rank come in the order in which it has
 * pushed them. If a rank dies, its items that were pushed are popped, and the queue goes on with those of the others. All calls: init
 * thread, not in handlers. {0} is no queue. */
typedef struct hk_queue {
    uint64_t handle;
} hk_queue;

/* Items of one rank: the first is at `items`, each at `stride` bytes after the one before. */
typedef struct hk_popped {
    int rank;
    size_t count;
    const void *items;
    size_t stride;
} hk_popped;

/* Makes a queue of `owner`, with room for `capacity` items of `item_size` bytes of each rank. Frees it; what nobody has popped is gone.
 * Collective: all ranks call them with the same arguments, the same queue. */
int hk_queue_create(int owner, size_t capacity, size_t item_size, hk_queue *out);
int hk_queue_free(hk_queue queue);

/* Pushes `count` items, one behind the other at `items`, which no other rank writes meanwhile. Waits while there is no room, for
 * `timeout_ms` at most, forever if negative; HK_ERR_TIMEOUT then. `pushed`, if not null, gets how many were pushed. HK_ERR_PEER_DEAD or
 * HK_ERR_PEER_LEFT if the owner has ended. */
int hk_queue_push(hk_queue queue, const void *items, size_t count, int timeout_ms, size_t *pushed);

/* The owner pops the next items of one rank, at least one and at most `max`; waits for that, as above. They stay where they are until the
 * next call with this queue; copy what you need, since the rank that has pushed them can still write there. */
int hk_queue_pop(hk_queue queue, size_t max, int timeout_ms, hk_popped *popped);

/* Gives the room of what was popped last back before the next pop does. */
int hk_queue_release(hk_queue queue);

/* ---- messages by key ------------------------------------------------------------------------------------------ */

/* A send has a key, and a receive takes the first message of a rank, or of any, under a key, or any of several, as with the tags of
 * MPI. Messages of one rank that a receive takes come in the order in which they were sent, and receives that take a message get it in
 * the order in which they were started. All calls: init thread, not in handlers. */

/* Prepares them, ends them. Collective. All requests have ended before; messages that nobody has received are lost. */
int hk_matching_open(void);
int hk_matching_close(void);

/* A send or a receive under way. */
typedef struct hk_request {
    uint64_t handle; /* 0 for none. One that was started has another, until a call below has told that it has ended. */
} hk_request;

/* A message. */
typedef struct hk_matched {
    int rank;     /* who has sent it */
    uint64_t key; /* its key */
    size_t size;  /* its bytes */
} hk_matched;

/* In place of `ignored`: any key. */
#define HK_ANY_KEY UINT64_MAX

/* Starts to send `size` bytes to `rank` under `key`. Up to HK_PAYLOAD_MAX bytes are copied, unless the receiver is a megabyte behind, and
 * then the send ends at once; more are copied from buffer to buffer when the receive is there. The program leaves the bytes as they are
 * until the request has ended. `request` must not be null. */
int hk_isend(const void *data, size_t size, int rank, uint64_t key, hk_request *request);

/* Starts to receive the first message of `rank`, or of HK_ANYONE, whose key is `key` but for the bits that are set in `ignored`: 0 for
 * just that key. The program leaves the `size` bytes at `into` alone until the request has ended. If the message is longer, the request
 * ends with HK_ERR_TRUNCATED, nothing is written, and the message is lost. */
int hk_irecv(void *into, size_t size, int rank, uint64_t key, uint64_t ignored, hk_request *request);

/* Sends of some bytes of a range, as one message: blocks (of the stride only `block`, `count` and `here` count), marked units as in
 * hk_push_bitmap, or those units that differ from a twin as in hk_push_diff; `sent`, if not null, gets how many. They are packed at once, so
 * the range may change when the call returns. After an error the twin is as before. */
int hk_isend_stride(const void *data, hk_stride stride, int rank, uint64_t key, hk_request *request);
int hk_isend_bitmap(const void *data, const uint64_t *bitmap, size_t unit, size_t units, int rank, uint64_t key, hk_request *request);
int hk_isend_diff(const void *data, size_t size, void *twin, size_t unit, int rank, uint64_t key, size_t *sent, hk_request *request);

/* Receives into some bytes of a range, which the program leaves alone until the request has ended: blocks, marked units, all of it
 * and a twin, or those units that hk_isend_diff has sent from as many, to the same places. A message that is shorter fills the first
 * blocks or units. Which parts those are, each side says for itself. `matched` tells the size of the message, which with hk_isend_diff
 * says besides which units they are. */
int hk_irecv_stride(void *into, hk_stride stride, int rank, uint64_t key, uint64_t ignored, hk_request *request);
int hk_irecv_bitmap(void *into, const uint64_t *bitmap, size_t unit, size_t units, int rank, uint64_t key, uint64_t ignored, hk_request *request);
int hk_irecv_twin(void *into, size_t size, void *twin, int rank, uint64_t key, uint64_t ignored, hk_request *request);
int hk_irecv_diff(void *into, size_t size, size_t unit, int rank, uint64_t key, uint64_t ignored, hk_request *request);

/* 1 if there is such a message, and then `matched`, if not null, tells of it; else 0. It stays there. */
int hk_iprobe(int rank, uint64_t key, uint64_t ignored, hk_matched *matched);

/* 1 if a request has ended, 0 if it is under way. An error ends it too. One that has ended is set to {0}, for which this gives 1.
 * `matched`, if not null, tells what a receive got. */
int hk_request_test(hk_request *request, hk_matched *matched);

/* Waits for it; HK_ERR_TIMEOUT if that takes longer, and it is under way as before. Every other error ends it. It is set to {0}, for which
 * this returns at once. */
int hk_request_wait(hk_request *request, int timeout_ms, hk_matched *matched);

/* Ends it, so that the program can use its bytes. A receive gets nothing any more: gives 0, or 1 if its message had come already, and
 * then `matched` tells of it. A message that was on its way waits for another receive. A send goes on from a copy; gives 0. */
int hk_request_cancel(hk_request *request, hk_matched *matched);

/* ---- message exchange ------------------------------------------------------------------------------------------ */

/* Messages through a buffer that each rank has at every other one, received by sender and tag. A message goes at once if there is room,
 * expected or not; otherwise its send waits for room. One that is longer than a quarter of the buffer goes from the sender's memory to the
 * receiver's, and its send waits for the receive. All calls: init thread, not in handlers. */

/* Prepares it: room for so many messages of each rank, and so many bytes of those that are longer than 40; 0 for the usual. Ends it; messages
 * that nobody has received are gone. Collective: all ranks call them with the same arguments. */
int hk_exchange_open(size_t messages, size_t bytes);
int hk_exchange_close(void);

/* Instead of hk_exchange_open: messages are cut into packets and sent without asking; a receiver that has no room for them refuses them, and
 * they are sent again. This is the protocol of the DIMMnet-1 paper, to be compared; it needs handlers at the receiver, and is slower. A send
 * copies its message, and waits only while 256 KB for its receiver are not acknowledged. All other calls are the same. */
int hk_exchange_open_packets(size_t messages, size_t bytes);

/* Sends `size` bytes to `rank` under `tag`. */
int hk_exchange_send(const void *data, size_t size, int rank, uint64_t tag);

/* Receives the first message of `rank`, or of HK_ANYONE, whose tag is `tag` but for the bits that are set in `ignored`. Waits for
 * `timeout_ms` at most, forever if negative. HK_ERR_TRUNCATED if it is longer than `size`, and then it is lost. `matched`, if not null, gets
 * what it was. */
int hk_exchange_recv(void *into, size_t size, int rank, uint64_t tag, uint64_t ignored, int timeout_ms, hk_matched *matched);

/* 1 if there is such a message, which stays; else 0. */
int hk_exchange_iprobe(int rank, uint64_t tag, uint64_t ignored, hk_matched *matched);

/* ---- messages by any engine ------------------------------------------------------------------------------------ */

/* The same messages by rank and tag over several engines, so that a program changes its engine by one argument. What all engines
 * agree on: messages between two ranks under one tag come in the order in which they were sent, and a send may return before its message
 * is received, but need not. Two ranks that send to each other before they receive may wait forever. All calls: init thread, not in
 * handlers. */
typedef enum hk_engine {
    /* Through a slot for each tag between every two ranks, as fmpl.h: nothing is looked up. Tags are numbers below `slots`. */
    HK_ENGINE_SLOTS = 0,
    HK_ENGINE_MATCHED = 1,  /* matched by the receiver's handler, as hk_isend and hk_irecv */
    HK_ENGINE_EXCHANGE = 2, /* through a buffer at each receiver, as hk_exchange_send after hk_exchange_open */
    HK_ENGINE_PACKETS = 3   /* by packets that a full receiver refuses, as after hk_exchange_open_packets */
} hk_engine;

/* Prepares them; `slots` is for HK_ENGINE_SLOTS alone. Ends them; messages that nobody has received are gone. The memory of slots stays until
 * the job ends. Collective: all ranks call them with the same arguments. */
int hk_passing_open(hk_engine engine, size_t slots);
int hk_passing_close(void);

/* Sends `size` bytes to `rank` under `tag`. Short messages are mostly copied, so that it returns at once; for a long one it waits until it
 * was received. HK_ERR_INVALID for a tag that has no slot, here and below. */
int hk_passing_send(const void *data, size_t size, int rank, uint64_t tag);

/* Receives the next message of `rank` under `tag`; `got`, if not null, gets its size. Waits for `timeout_ms` at most, forever if
 * negative. HK_ERR_TRUNCATED if it is longer than `size`. */
int hk_passing_recv(void *into, size_t size, int rank, uint64_t tag, int timeout_ms, size_t *got);

/* Waits for the next message of `rank` under `tag`, which stays; `size` gets its size. */
int hk_passing_probe(int rank, uint64_t tag, size_t *size);

/* ---- collective calls ----------------------------------------------------------------------------------------- */

/* All ranks make these calls, in the same order, with the same sizes, types, operations and roots. If ranks make different calls,
 * they get HK_ERR_MISMATCH, and all later collective calls fail. A call with a wrong argument (a null pointer, no such root) fails
 * before it has any effect on other ranks, and can be made again. Init thread.
 *
 * They are no barriers: a rank continues as soon as its own part is done. Nor do they complete anything else: after a push or a
 * message to a handler, call hk_sync or hk_barrier. The first of these calls also sets up what all of them need, in each rank's
 * heap. */

/* Copies `size` bytes of the root to all. */
int hk_broadcast(void *data, size_t size, int root);

/* The elements of a reduction. */
typedef enum hk_type {
    HK_I32 = 0,  /* int32_t */
    HK_I64 = 1,  /* int64_t */
    HK_U32 = 2,  /* uint32_t */
    HK_U64 = 3,  /* uint64_t */
    HK_F32 = 4,  /* float */
    HK_F64 = 5,  /* double */
    HK_CF32 = 6, /* a complex number of two floats */
    HK_CF64 = 7  /* a complex number of two doubles */
} hk_type;

/* What elements are combined by. Integers wrap around. */
typedef enum hk_reduce_op {
    HK_SUM = 0,
    HK_PROD = 1,
    HK_MIN = 2, /* not for complex numbers */
    HK_MAX = 3,
    HK_BAND = 4, /* bit by bit; integers only */
    HK_BOR = 5,
    HK_BXOR = 6,
    HK_LAND = 7, /* 1 or 0, where every value but 0 is true; integers only */
    HK_LOR = 8,
    HK_LXOR = 9
} hk_reduce_op;

/* Combine `count` elements of every rank. hk_reduce leaves the result in `data` of the root; the other ranks keep their elements.
 * hk_allreduce leaves it at all ranks. hk_scan leaves at each rank the result of all ranks up to it, hk_exscan that of all ranks
 * before it; in hk_exscan rank 0 keeps its elements.
 *
 * Elements are combined in the order of ranks, so results are the same every time. In a job over several hosts, sums and products of
 * floating-point numbers are first formed on each host, which may round differently. */
int hk_reduce(void *data, size_t count, hk_type type, hk_reduce_op op, int root);
int hk_allreduce(void *data, size_t count, hk_type type, hk_reduce_op op);
int hk_scan(void *data, size_t count, hk_type type, hk_reduce_op op);
int hk_exscan(void *data, size_t count, hk_type type, hk_reduce_op op);

/* Blocks of `size` bytes, one per rank, in the order of ranks. hk_gather collects `mine` of all ranks in `all` of the root,
 * hk_allgather in `all` of every rank. hk_scatter gives each rank its block of the root's `all`. With hk_alltoall, block m of
 * rank k becomes block k in `into` of rank m. In gather and scatter, ranks other than the root may give NULL for `all`. The two
 * buffers may not overlap. For blocks of different lengths, and for groups of some ranks, see fmpl.h. */
int hk_gather(const void *mine, size_t size, void *all, int root);
int hk_allgather(const void *mine, size_t size, void *all);
int hk_scatter(const void *all, size_t size, void *mine, int root);
int hk_alltoall(const void *blocks, size_t size, void *into);

/* ---- active messages ------------------------------------------------------------------------------------------ */

#define HK_ARGUMENT_COUNT 6
#define HK_HANDLER_COUNT 256
#define HK_PAYLOAD_MAX 8192

/* Belongs to a handler while it runs, and must not be used afterwards. */
typedef struct hk_context hk_context;

typedef struct hk_message {
    int source; /* the rank that sent it */
    uint64_t address;
    uint64_t arguments[HK_ARGUMENT_COUNT];
    const void *payload; /* valid while the handler runs */
    size_t payload_bytes;
} hk_message;

/* Runs when a message has arrived and this rank is inside a call of this library; after hk_ni_thread_start or hk_event_fd, at any
 * time. It runs on whichever thread finds the message, but a rank runs one handler at a time. It may make calls that do not wait. It
 * must not leave by an exception or longjmp. */
typedef void (*hk_handler)(hk_context *context, const hk_message *message, void *user);

/* Registers a handler on this rank. Register on all ranks, then hk_barrier, before anyone sends. Init thread. */
int hk_handler_register(uint16_t id, hk_handler handler, void *user);

/* Removes a handler. Messages for it are refused from now on. Init thread. */
int hk_handler_remove(uint16_t id);

/* Sends an active message. Null `arguments` are six zeros, and `payload` may be null if it has 0 bytes. hk_send waits while the target
 * is behind; hk_try_send returns HK_BUSY instead, after it has served what arrived here. After hk_sync or hk_barrier the handler has
 * run. A rank that ends with unhandled messages says so on standard error. */
int hk_send(int rank, uint16_t handler, uint64_t address, const uint64_t arguments[HK_ARGUMENT_COUNT],
            const void *payload, size_t payload_bytes);
int hk_try_send(int rank, uint16_t handler, uint64_t address, const uint64_t arguments[HK_ARGUMENT_COUNT],
                const void *payload, size_t payload_bytes);

/* Runs a handler of the rank and waits for its reply: six words, which are zeros if it does not reply. */
int hk_call(int rank, uint16_t handler, const uint64_t arguments[HK_ARGUMENT_COUNT], const void *payload,
            size_t payload_bytes, uint64_t reply[HK_ARGUMENT_COUNT]);

/* Runs a handler of the rank and waits for what it replies: six words, as hk_call, and bytes, by hk_context_reply_with. At most
 * `reply_max` bytes are written to `reply`, which nobody else writes meanwhile, and `reply_bytes`, if not null, gets how many. If the
 * handler replies more, the call fails with HK_ERR_PAYLOAD, and nothing is written. */
int hk_call_with(int rank, uint16_t handler, const uint64_t arguments[HK_ARGUMENT_COUNT], const void *payload,
                 size_t payload_bytes, uint64_t words[HK_ARGUMENT_COUNT], void *reply, size_t reply_max, size_t *reply_bytes);

/* Inside a handler: sends a message without waiting. HK_BUSY if that rank is too far behind. */
int hk_context_send(hk_context *context, int rank, uint16_t handler, uint64_t address,
                    const uint64_t arguments[HK_ARGUMENT_COUNT], const void *payload, size_t payload_bytes);

/* Inside a handler: replies to hk_call. Does nothing if the message is not a call, or was replied to already. */
int hk_context_reply(hk_context *context, const uint64_t arguments[HK_ARGUMENT_COUNT]);

/* Inside a handler: replies to hk_call_with by six words and at most HK_PAYLOAD_MAX bytes, which hk_call does not get. */
int hk_context_reply_with(hk_context *context, const uint64_t arguments[HK_ARGUMENT_COUNT], const void *payload,
                          size_t payload_bytes);

/* Inside a handler: the handler will run again later with the same message. Until then, later messages of that sender wait, and so
 * does the sender in hk_sync and hk_barrier. */
int hk_context_retry(hk_context *context);

/* Runs the handlers of messages that have arrived; 1 if there were any, else 0. Calls that wait do this too. */
int hk_progress(void);

/* How many times handler `id` has run on this rank. */
int hk_handled(uint16_t id, uint64_t *count);

/* ---- waiting -------------------------------------------------------------------------------------------------- */

/* `by` is the rank that is expected to end a wait. If that rank ends, the wait fails (HK_ERR_PEER_DEAD, HK_ERR_PEER_LEFT,
 * HK_ERR_UNREACHABLE). Or: */
#define HK_ANYONE (-1)
/* Timeouts are in milliseconds. Or: */
#define HK_FOREVER (-1)

typedef enum hk_until {
    HK_EQUAL = 0,
    HK_NOT_EQUAL = 1,
    HK_AT_LEAST = 2 /* as an unsigned number */
} hk_until;

/* Waits until a word in this rank's memory has a value. Peers set it by hk_word, a notification or an atomic operation, and
 * reads after the wait see everything the writer wrote before. `seen`, if not null, gets the word. */
int hk_wait(hk_area area, size_t offset, hk_until until, uint64_t value, int by, int timeout_ms, uint64_t *seen);

/* Waits until handler `id` of this rank has run `count` times since the start of the job. */
int hk_wait_handled(uint16_t id, uint64_t count, int by, int timeout_ms);

typedef enum hk_event_kind {
    HK_EVENT_WORD = 0,   /* the word at (area, offset) of own memory compares with `value` as `until` says */
    HK_EVENT_HANDLER = 1 /* handler `handler` has run at least `value` times */
} hk_event_kind;

typedef struct hk_event {
    hk_event_kind kind;
    hk_until until;
    hk_area area;
    size_t offset;
    uint64_t value;
    uint16_t handler;
} hk_event;

#define HK_EVENT_COUNT_MAX 65536

/* Waits for one of several events, and returns the index of one that has happened, from 0. */
int hk_wait_any(const hk_event *events, size_t count, int by, int timeout_ms);

/* Reads a word in this rank's memory, without waiting. */
int hk_poll(hk_area area, size_t offset, uint64_t *value);

/* Start and stop a thread that runs handlers whenever messages arrive, so that peers are served while this rank computes. It sleeps
 * when idle, and uses one port. Starting it twice does nothing, and neither does stopping it when it does not run. */
int hk_ni_thread_start(void);
int hk_ni_thread_stop(void);

/* A file descriptor for event loops. It becomes readable when a word, a notification, an atomic operation or a message has reached this
 * rank since it was last cleared; sometimes also without a cause. Clear it first, then look at your words: anything that arrives in
 * between makes it readable again. The first call starts a thread, which uses one port. hk_finalize closes the descriptor. */
int hk_event_fd(void);
int hk_event_clear(void);

#ifdef __cplusplus
}
#endif

#endif
