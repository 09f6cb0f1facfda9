/*
 * hikyaku: communication built on remote memory operations. The C interface.
 *
 * Beside each rank (process) of a job stands a network interface that reads and writes the rank's memory on behalf
 * of the others. Memory that may be reached is an area; a remote reference is (rank, area, byte offset).
 *
 *     hk_area data, flag;
 *     hk_init();
 *     hk_alloc(8000, &data);                        every rank has 8000 bytes ...
 *     hk_alloc(8, &flag);                           ... and one word, both zeroed
 *     if (hk_rank() == 0)
 *         hk_push_notify(mine, 1, data, 0, 8000, flag, 0, 1);      the word arrives after the data
 *     else
 *         hk_wait(flag, 0, HK_EQUAL, 1, HK_ANYONE, HK_FOREVER, NULL);
 *     hk_finalize();
 *
 * A program started by `hikyaku run -n 4 -- ./program` is one rank of four; started alone it is a job of one. `mpirun -n 4
 * ./program` (Open MPI, MPICH) starts it too, on one host; a program that uses MPI as well calls MPI_Init first.
 *
 * Results. A call gives HK_SUCCESS (0), or a number of its own that is not negative where this file says so, or one
 * of the negative codes below. hk_last_error() then tells in a sentence what happened, hk_error_rank() who is to
 * blame. HK_BUSY is positive: nothing is wrong, the peer only does not keep up.
 *
 * Threads. Any thread may call. Each gets its own port into the network interface at its first call (HIKYAKU_PORTS
 * many at most, 16 unless set) and gives it back when it ends, so threads never wait for each other. Only the
 * thread that called hk_init may do what is marked "init thread" below; others get HK_ERR_THREAD.
 *
 * Handles. A closed, freed, or made-up hk_area gives HK_ERR_HANDLE. As with free(), no thread may be inside a call
 * on an area while another one frees, closes or revokes it, or while the job is ended.
 *
 * Words. A word is 8 bytes at an offset that is a multiple of 8, in this machine's byte order. Read and write words
 * that others change through this library, or by atomic operations of the language.
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
    /* The peer's queue is full; the same call may succeed later. Not an error. */
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
    HK_ERR_ALIGNMENT = -8,    /* not the place of an aligned word */
    HK_ERR_HANDLE = -9,       /* the handle names no area (any more) */
    HK_ERR_NOT_MINE = -10,    /* memory of another rank where own memory is needed */
    HK_ERR_UNKNOWN_AREA = -11, /* the rank has no area of that id */
    HK_ERR_REVOKED = -12,     /* the owner has revoked the area */
    HK_ERR_AREA_ID = -13,     /* the area id is taken or beyond the table */
    HK_ERR_HANDLER_ID = -14,  /* the handler id is taken, beyond the table, or not registered */
    HK_ERR_PAYLOAD = -15,     /* a payload longer than HK_PAYLOAD_MAX, or a reply longer than the buffer for it */
    HK_ERR_IN_HANDLER = -16,  /* a handler, or a function that combines, may not wait */
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
    HK_ERR_INTERNAL = -27  /* a mistake inside the library */
};

/* What a code means in general. Never null. */
const char *hk_strerror(int code);

/* What went wrong in the last call of this thread that failed: a full sentence with the peer, the limits, and what
 * to do; "" if nothing has. Valid until the next call that fails in this thread. */
const char *hk_last_error(void);

/* The rank that error is about, or -1. */
int hk_error_rank(void);

/* The version of the library that is loaded (HK_VERSION is the one compiled against). */
const char *hk_version(void);

/* ---- the job -------------------------------------------------------------------------------------------------- */

/* Joins the job this process was started in and waits until all ranks have joined; a program started alone is a job
 * of one. The calling thread becomes the init thread. A program that called fmpl_init (see fmpl.h) is in the job already;
 * then the same thread may call hk_init as well. */
int hk_init(void);

/* Ends this rank's part. Init thread. Peers that still wait for this rank get HK_ERR_PEER_LEFT: call hk_barrier
 * before if there may be any. Handles, handlers and areas are gone afterwards (if fmpl_finalize is still to come, the
 * job goes on until then, and handlers stay). A program started alone may call
 * hk_init again; under a launcher a process has one job. A process that exits with status 0 without it has left too;
 * one that ends in any other way is dead to its peers. */
int hk_finalize(void);

/* This rank, and the number of ranks; a negative code if there is no job. */
int hk_rank(void);
int hk_size(void);

/* Waits until every rank has called it. What any rank wrote before, all see after; and the messages that the init threads have
 * sent to handlers before were handled. While a rank waits here, its handlers run. Init thread. */
int hk_barrier(void);

/* The same for at most so many milliseconds (negative: without end); then HK_ERR_TIMEOUT. This rank has come and is counted: its next
 * hk_barrier or hk_barrier_for goes on with the same barrier, and so does every other call that all ranks make together, first. */
int hk_barrier_for(int timeout_ms);

/* 1 if the rank is alive and has not left, else 0. */
int hk_is_present(int rank);

/* 1 if the job has more ranks than cores, so that waiting ranks yield instead of spinning. */
int hk_is_crowded(void);

/* 1 if the rank's registered memory is reached by a system call from here, 0 if through its network interface, which
 * needs the rank to make progress. */
int hk_reaches_private_memory(int rank);

/* ---- memory --------------------------------------------------------------------------------------------------- */

/* A handle to an area: symmetric, own, or a peer's. {0} names none. */
typedef struct hk_area {
    uint64_t handle;
} hk_area;

/* A symmetric area: every rank has one of the same size, and the handle serves for all of them. */
typedef hk_area hk_sym;

/* Allocates `bytes` zeroed bytes on every rank. Collective: all ranks call it alike; if one cannot, none does.
 * Starts on a cache line. Init thread. */
int hk_alloc(size_t bytes, hk_sym *out);

/* Frees a symmetric area. Collective, init thread. The handle is gone even if the call fails. */
int hk_free(hk_sym area);

/* This rank's own memory of a symmetric or own area; null (see hk_last_error) for a peer's. */
void *hk_local(hk_area area);

/* Byte `offset` of a symmetric area of a rank of this host, as an address, for code that keeps its own promises about
 * who writes when; null (see hk_last_error) where there is none. */
void *hk_address(int rank, hk_sym area, size_t offset);

/* The size of an area in bytes. */
int hk_area_size(hk_area area, size_t *bytes);

/* Areas of one rank, by an id that the rank chooses (0 to 255). Peers open (rank, id).
 *
 * hk_area_create makes one of zeroed bytes, rounded up to whole words. `memory`, if not null, gets its address.
 * hk_area_register lets peers reach memory that exists already; it must stay until hk_area_revoke. Words in it need
 * a start and a size that are multiples of 8. */
int hk_area_create(uint32_t id, size_t bytes, void **memory);
int hk_area_register(uint32_t id, void *memory, size_t bytes);

/* Takes an own area away. When it returns, nobody is inside an operation on it; peers get HK_ERR_REVOKED. */
int hk_area_revoke(uint32_t id);

/* Opens area `id` of `rank`; the own rank too, for words to wait on. */
int hk_area_open(int rank, uint32_t id, hk_area *out);

/* Gives a handle from hk_area_open back. For an own area this does nothing. */
int hk_area_close(hk_area area);

/* ---- remote operations ---------------------------------------------------------------------------------------- */

/* The model is RHiNET's
 *
 *     push(my_addr, remid, global_id, offset, flag, status_ret, size)
 *
 * with remid = rank and global_id = area. What `flag` chose and `status_ret` received are calls of their own:
 * hk_push is the plain one, hk_push_notify sets a word at the target (the signal), hk_push_status sets a word here
 * (the completion status). All begin with (my_addr, rank, area, offset, size).
 *
 * For an area that was opened, `rank` must be its owner. */

/* Writes `size` bytes. `my_addr` may be reused when the call returns. The bytes are all there after the next
 * hk_flush, hk_word or notification to that rank. */
int hk_push(const void *my_addr, int rank, hk_area area, size_t offset, size_t size);

/* Reads `size` bytes; done when the call returns. */
int hk_pull(void *my_addr, int rank, hk_area area, size_t offset, size_t size);

/* Writes a word that arrives whole, after everything this thread has pushed to that rank before, and wakes whoever
 * waits for it. */
int hk_word(int rank, hk_area area, size_t offset, uint64_t value);

/* Writes the bytes, then the word `value` at (rank, flag, flag_offset): whoever sees the word sees the bytes. */
int hk_push_notify(const void *my_addr, int rank, hk_area area, size_t offset, size_t size,
                   hk_area flag, size_t flag_offset, uint64_t value);

/* Writes the bytes, then adds `amount` to the word at (rank, counter, counter_offset): whoever sees the sum sees the bytes. Many
 * ranks can add to one counter, whose owner waits for all of them by hk_wait with HK_AT_LEAST. */
int hk_push_notify_add(const void *my_addr, int rank, hk_area area, size_t offset, size_t size,
                       hk_area counter, size_t counter_offset, uint64_t amount);

/* Writes (reads) the bytes, and `value` into the word at (status, status_offset) of this rank's own memory once they
 * are all there: look at it by hk_poll or wait for it by hk_wait whenever you like. */
int hk_push_status(const void *my_addr, int rank, hk_area area, size_t offset, size_t size,
                   hk_area status, size_t status_offset, uint64_t value);
int hk_pull_status(void *my_addr, int rank, hk_area area, size_t offset, size_t size,
                   hk_area status, size_t status_offset, uint64_t value);

/* Transfers: pushes and pulls that go on while the program computes. Any number can be under way, with one rank or several. Those
 * with ranks of this host end at once. The bytes at `my_addr` are left alone by the program until the transfer has ended: a push must
 * not find them changed, a pull writes them at any time. A transfer belongs to the thread that has started it.
 *
 * A transfer is not ordered with others, nor with words, until it was waited for. hk_flush, hk_sync and barriers wait for transfers
 * too; only waiting for the transfer itself tells whether it was refused. */
typedef struct hk_transfer {
    uint64_t handle; /* 0 for one that has ended */
} hk_transfer;

/* Starts to write (read) `size` bytes. `transfer` must not be null. */
int hk_push_start(const void *my_addr, int rank, hk_area area, size_t offset, size_t size, hk_transfer *transfer);
int hk_pull_start(void *my_addr, int rank, hk_area area, size_t offset, size_t size, hk_transfer *transfer);

/* 1 if a transfer has ended, 0 if it is under way. An error ends it too. One that has ended is set to {0}, which has always ended. */
int hk_transfer_test(hk_transfer *transfer);

/* Waits for it; HK_ERR_TIMEOUT if that takes longer, and it is under way as before. Every other error ends it. A push is at its target
 * then. */
int hk_transfer_wait(hk_transfer *transfer, int timeout_ms);

/* Waits for all transfers of the calling thread, whose handles are gone then; gives the first error. */
int hk_transfer_wait_all(void);

typedef enum hk_atomic_op {
    HK_ADD = 0,
    HK_SWAP = 1,
    HK_COMPARE_SWAP = 2, /* stores `operand` if the word equals `expected` */
    HK_AND = 3,
    HK_OR = 4,
    HK_XOR = 5
} hk_atomic_op;

/* Changes a word atomically and wakes whoever waits for it. `before`, if not null, gets the value from before.
 * `expected` matters to HK_COMPARE_SWAP only. */
int hk_atomic(int rank, hk_area area, size_t offset, hk_atomic_op op, uint64_t operand, uint64_t expected,
              uint64_t *before);
int hk_fetch_add(int rank, hk_area area, size_t offset, uint64_t value, uint64_t *before);

/* Changes other numbers atomically; `offset` is a multiple of their size. Integers wrap around. */
int hk_atomic_u32(int rank, hk_area area, size_t offset, hk_atomic_op op, uint32_t operand, uint32_t expected,
                  uint32_t *before);
int hk_atomic_i64(int rank, hk_area area, size_t offset, hk_atomic_op op, int64_t operand, int64_t expected,
                  int64_t *before);
int hk_fetch_add_u32(int rank, hk_area area, size_t offset, uint32_t value, uint32_t *before);
int hk_fetch_add_i64(int rank, hk_area area, size_t offset, int64_t value, int64_t *before);
int hk_fetch_add_f64(int rank, hk_area area, size_t offset, double value, double *before);

/* Waits until everything this thread has pushed to the rank is there; not for messages to handlers. */
int hk_flush(int rank);

/* Waits until everything this thread has started is done at its target, and reports what a peer refused: pushes are there, and
 * the handlers of messages sent with hk_send have run, as soon as their ranks are inside calls of this library. If a rank has ended
 * without having handled a message, that is the error. Costs nothing for messages where none were sent. */
int hk_sync(void);

/* ---- active messages ------------------------------------------------------------------------------------------ */

#define HK_ARGUMENT_COUNT 6
#define HK_HANDLER_COUNT 256
#define HK_PAYLOAD_MAX 8192

/* What a handler may use while it runs, and not after. */
typedef struct hk_context hk_context;

typedef struct hk_message {
    int source; /* the rank that sent it */
    uint64_t address;
    uint64_t arguments[HK_ARGUMENT_COUNT];
    const void *payload; /* valid while the handler runs */
    size_t payload_bytes;
} hk_message;

/* Runs when a message arrives and this rank is inside a call of this library, or any time once hk_ni_thread_start or
 * hk_event_fd was called; on whichever thread finds the message, one handler of a rank at a time. It may call
 * anything that does not wait. It must not throw or longjmp out. */
typedef void (*hk_handler)(hk_context *context, const hk_message *message, void *user);

/* Registers a handler on this rank. Register on all ranks, then hk_barrier, before anyone sends. Init thread. */
int hk_handler_register(uint16_t id, hk_handler handler, void *user);

/* Removes it; messages for it are refused from now on. Init thread. */
int hk_handler_remove(uint16_t id);

/* Sends an active message. `arguments` null means six zeros; `payload` may be null if it has 0 bytes. Waits while the
 * rank does not keep up; hk_try_send gives HK_BUSY instead, after serving what has arrived here. That the handler has run is
 * known after hk_sync or hk_barrier. A rank that ends with messages unhandled says so on standard error. */
int hk_send(int rank, uint16_t handler, uint64_t address, const uint64_t arguments[HK_ARGUMENT_COUNT],
            const void *payload, size_t payload_bytes);
int hk_try_send(int rank, uint16_t handler, uint64_t address, const uint64_t arguments[HK_ARGUMENT_COUNT],
                const void *payload, size_t payload_bytes);

/* Runs a handler of the rank and waits for what it replies: six words, zeros if it does not reply. */
int hk_call(int rank, uint16_t handler, const uint64_t arguments[HK_ARGUMENT_COUNT], const void *payload,
            size_t payload_bytes, uint64_t reply[HK_ARGUMENT_COUNT]);

/* Runs a handler of the rank and waits for what it replies: six words, as hk_call, and bytes, by hk_context_reply_with. At most
 * `reply_max` bytes are written to `reply`, which nobody else writes meanwhile, and `reply_bytes`, if not null, gets how many. If the
 * handler replies more, the call fails with HK_ERR_PAYLOAD, and nothing is written. */
int hk_call_with(int rank, uint16_t handler, const uint64_t arguments[HK_ARGUMENT_COUNT], const void *payload,
                 size_t payload_bytes, uint64_t words[HK_ARGUMENT_COUNT], void *reply, size_t reply_max, size_t *reply_bytes);

/* Inside a handler: sends a further message, without waiting. HK_BUSY if that rank is far behind. */
int hk_context_send(hk_context *context, int rank, uint16_t handler, uint64_t address,
                    const uint64_t arguments[HK_ARGUMENT_COUNT], const void *payload, size_t payload_bytes);

/* Inside a handler: answers hk_call. Does nothing for a message that is no call, or the second time. */
int hk_context_reply(hk_context *context, const uint64_t arguments[HK_ARGUMENT_COUNT]);

/* Inside a handler: answers hk_call_with by six words and at most HK_PAYLOAD_MAX bytes, which hk_call does not get. */
int hk_context_reply_with(hk_context *context, const uint64_t arguments[HK_ARGUMENT_COUNT], const void *payload,
                          size_t payload_bytes);

/* Inside a handler: asks to be run again with the same message later. Messages of the same sender wait behind it, and so does
 * that sender in hk_sync and hk_barrier. */
int hk_context_retry(hk_context *context);

/* Runs the handlers of messages that have arrived; 1 if there were any, else 0. Waiting calls do so by themselves. */
int hk_progress(void);

/* How many times handler `id` has run on this rank. */
int hk_handled(uint16_t id, uint64_t *count);

/* ---- waiting -------------------------------------------------------------------------------------------------- */

/* Who is expected to end a wait: a rank, whose end ends the wait too (HK_ERR_PEER_DEAD, HK_ERR_PEER_LEFT,
 * HK_ERR_UNREACHABLE), or: */
#define HK_ANYONE (-1)
/* Timeouts are milliseconds, or: */
#define HK_FOREVER (-1)

typedef enum hk_until {
    HK_EQUAL = 0,
    HK_NOT_EQUAL = 1,
    HK_AT_LEAST = 2 /* as an unsigned number */
} hk_until;

/* Waits for a word of this rank's own memory, written by a peer's word, notification or atomic operation. Reads
 * after it see everything the writer wrote before. `seen`, if not null, gets the word. */
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

/* Waits for one of several events; gives the index (0 and up) of one that has happened. */
int hk_wait_any(const hk_event *events, size_t count, int by, int timeout_ms);

/* One look at a word of this rank's own memory, without waiting. */
int hk_poll(hk_area area, size_t offset, uint64_t *value);

/* Starts a thread that runs handlers whenever messages arrive, so that peers are served while this rank computes. It
 * sleeps when idle, and takes one port. Starting it twice, or stopping it when there is none, does nothing. */
int hk_ni_thread_start(void);
int hk_ni_thread_stop(void);

/* A descriptor for event loops: readable once anything that notifies has reached this rank (a word, a notification,
 * an atomic operation, a message) since it was last cleared; now and then without cause. The first call starts a
 * thread, which takes one port; hk_finalize closes the descriptor. Clear first, then look at your words: an arrival
 * in between makes it readable again. */
int hk_event_fd(void);
int hk_event_clear(void);

#ifdef __cplusplus
}
#endif

#endif
