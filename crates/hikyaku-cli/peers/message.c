/*
 * Two-sided messages.
 *
 *     send             ping-pong of MPI_Send and MPI_Recv               one-way ns
 *     send_synchronous the same with MPI_Ssend                          one-way ns
 *     send_prepared    the same with persistent requests                one-way ns
 *     send_blocks      as send, into blocks of 64 bytes, 64 bytes apart (struct)  one-way ns
 *     send_uneven      the same, into blocks 8 to 120 bytes apart                 one-way ns
 *     send_whole       MPI_Send one way, then an answer                 GB/s
 *     send_stride      the same with every second word (vector), received at the same places  GB/s of the range
 *     send_marked      the same with half of the words (indexed)        GB/s of the range
 *     bandwidth        as send, from private memory to private memory   GB/s
 *     rate             windows of 64 messages, one way, then an answer  M/s
 *     send_call        what MPI_Send takes of the sender's time         ns each
 *     receive_call     what MPI_Recv takes when its message is there    ns each
 *     posted_one       ping-pong, each to the one receive posted        one-way ns
 *     posted_many      both ranks post 600 receives with tags of their own; then a ping-pong goes
 *                      through the tags, the last first                 one-way ns
 *     post_gap         posting those receives                           ns each
 */
#include "bench.h"

static void open_private(void) {
    outbox = allocate(words * slots);
    inbox = allocate(words * slots);
}

static void close_private(void) {
    free(outbox);
    free(inbox);
}

/* Ranks take even and odd stamps, so that an echoed message is noticed. */
static double ping_pong(long rounds, int (*send)(const void *, int, MPI_Datatype, int, int, MPI_Comm)) {
    fill(outbox, rank, 0);
    memset(inbox, 0, words * 8);
    MPI_Barrier(MPI_COMM_WORLD);
    double begin = now();
    for (long round = 0; round < rounds; round++, stamp += 2) {
        mark(outbox, stamp + rank);
        if (rank == 0) send(outbox, words, MPI_UINT64_T, peer, 0, MPI_COMM_WORLD);
        MPI_Recv(inbox, words, MPI_UINT64_T, peer, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        if (rank == 1) send(outbox, words, MPI_UINT64_T, peer, 0, MPI_COMM_WORLD);
        expect_mark(inbox, stamp + peer);
    }
    double seconds = now() - begin;
    expect_pattern(inbox, peer, 0);
    return seconds;
}

static double run_send(long rounds) { return ping_pong(rounds, MPI_Send); }
static double run_send_synchronous(long rounds) { return ping_pong(rounds, MPI_Ssend); }

/* A struct of blocks, as programs describe messages that are scattered. */
static MPI_Datatype blocks;
static int are_even;
enum { BLOCK = 8 };

/* The word that a block begins at. */
static size_t block_at(size_t block) { return 2 * block * BLOCK + (are_even ? 0 : block * block % 61 % BLOCK); }

static void open_struct(void) {
    int count = (int)(words / BLOCK);
    int *lengths = malloc(count * sizeof *lengths);
    MPI_Aint *places = malloc(count * sizeof *places);
    MPI_Datatype *types = malloc(count * sizeof *types);
    if (!lengths || !places || !types) die("no memory");
    for (int block = 0; block < count; block++) {
        lengths[block] = BLOCK;
        places[block] = (MPI_Aint)block_at(block) * 8;
        types[block] = MPI_UINT64_T;
    }
    MPI_Type_create_struct(count, lengths, places, types, &blocks);
    MPI_Type_commit(&blocks);
    free(lengths), free(places), free(types);
    outbox = allocate(words);
    inbox = allocate(2 * words);
}

static void open_blocks(void) {
    are_even = 1;
    open_struct();
}

static void open_uneven(void) {
    are_even = 0;
    open_struct();
}

static void close_blocks(void) {
    MPI_Type_free(&blocks);
    close_private();
}

static double run_send_blocks(long rounds) {
    size_t last = block_at(words / BLOCK - 1) + BLOCK - 1;
    fill(outbox, rank, 0);
    memset(inbox, 0, 2 * words * 8);
    MPI_Barrier(MPI_COMM_WORLD);
    double begin = now();
    for (long round = 0; round < rounds; round++, stamp += 2) {
        mark(outbox, stamp + rank);
        if (rank == 0) MPI_Send(outbox, words, MPI_UINT64_T, peer, 0, MPI_COMM_WORLD);
        MPI_Recv(inbox, 1, blocks, peer, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        if (rank == 1) MPI_Send(outbox, words, MPI_UINT64_T, peer, 0, MPI_COMM_WORLD);
        if (inbox[0] != stamp + peer || inbox[last] != stamp + peer) die("wrong data in a message of blocks");
    }
    double seconds = now() - begin;
    for (size_t block = 0; block < words / BLOCK; block++)
        memmove(inbox + block * BLOCK, inbox + block_at(block), BLOCK * 8);
    expect_pattern(inbox, peer, 0);
    return seconds;
}

static double send_one_way(long rounds, int count, MPI_Datatype type) {
    char answer = 0;
    memset(inbox, 0, words * 8);
    MPI_Barrier(MPI_COMM_WORLD);
    double begin = now();
    for (long round = 0; round < rounds; round++) {
        if (rank == 0) {
            MPI_Send(outbox, count, type, 1, 0, MPI_COMM_WORLD);
            MPI_Recv(&answer, 1, MPI_CHAR, 1, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        } else {
            MPI_Recv(inbox, count, type, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
            MPI_Send(&answer, 1, MPI_CHAR, 0, 1, MPI_COMM_WORLD);
        }
    }
    return now() - begin;
}

static double run_send_whole(long rounds) {
    fill(outbox, 0, 0);
    double seconds = send_one_way(rounds, words, MPI_UINT64_T);
    if (rank == 1) expect_pattern(inbox, 0, 0);
    return seconds;
}

static double run_send_parts(long rounds) {
    for (size_t i = 0; i < words; i++) outbox[i] = stamp + i;
    double seconds = send_one_way(rounds, 1, parts);
    for (size_t i = 0; rank == 1 && i < words; i++)
        if (inbox[i] != (travels[i] ? stamp + i : 0)) die("word %lu was damaged", (unsigned long)i);
    stamp += words;
    return seconds;
}

static void open_stride(void) {
    open_private();
    choose_every_second();
}

static void open_marked(void) {
    open_private();
    choose_half();
}

static void close_parts(void) {
    forget_parts();
    close_private();
}

static MPI_Request prepared_send, prepared_receive;

static void open_prepared(void) {
    open_private();
    MPI_Send_init(outbox, words, MPI_UINT64_T, peer, 0, MPI_COMM_WORLD, &prepared_send);
    MPI_Recv_init(inbox, words, MPI_UINT64_T, peer, 0, MPI_COMM_WORLD, &prepared_receive);
}

static void close_prepared(void) {
    MPI_Request_free(&prepared_send);
    MPI_Request_free(&prepared_receive);
    close_private();
}

static void send_prepared(void) {
    MPI_Start(&prepared_send);
    MPI_Wait(&prepared_send, MPI_STATUS_IGNORE);
}

static double run_send_prepared(long rounds) {
    fill(outbox, rank, 0);
    memset(inbox, 0, words * 8);
    MPI_Barrier(MPI_COMM_WORLD);
    double begin = now();
    for (long round = 0; round < rounds; round++, stamp += 2) {
        mark(outbox, stamp + rank);
        MPI_Start(&prepared_receive);
        if (rank == 0) send_prepared();
        MPI_Wait(&prepared_receive, MPI_STATUS_IGNORE);
        if (rank == 1) send_prepared();
        expect_mark(inbox, stamp + peer);
    }
    double seconds = now() - begin;
    expect_pattern(inbox, peer, 0);
    return seconds;
}

static void post_receives(MPI_Request *requests) {
    for (int slot = 0; slot < slots; slot++)
        MPI_Irecv(inbox + slot * words, words, MPI_UINT64_T, 0, 0, MPI_COMM_WORLD, &requests[slot]);
}

/* The next receives are posted after the answer, while the sender is already at work: that proved
 * faster everywhere than to post them first. */
static double run_stream(long rounds) {
    MPI_Request requests[OUTSTANDING_MAX];
    char answer = 0;
    for (int slot = 0; slot < slots; slot++) fill(outbox + slot * words, 0, slot);
    memset(inbox, 0, words * slots * 8);
    if (rank == 1) post_receives(requests);
    MPI_Barrier(MPI_COMM_WORLD);
    double begin = now();
    for (long round = 0; round < rounds; round++, stamp += slots) {
        if (rank == 0) {
            for (int slot = 0; slot < slots; slot++) {
                uint64_t *data = outbox + slot * words;
                mark(data, stamp + slot);
                MPI_Isend(data, words, MPI_UINT64_T, 1, 0, MPI_COMM_WORLD, &requests[slot]);
            }
            MPI_Waitall(slots, requests, MPI_STATUSES_IGNORE);
            MPI_Recv(&answer, 1, MPI_CHAR, 1, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        } else {
            MPI_Waitall(slots, requests, MPI_STATUSES_IGNORE);
            for (int slot = 0; slot < slots; slot++)
                expect_mark(inbox + slot * words, stamp + slot);
            MPI_Send(&answer, 1, MPI_CHAR, 0, 1, MPI_COMM_WORLD);
            if (round + 1 < rounds) post_receives(requests);
        }
    }
    double seconds = now() - begin;
    if (rank == 1)
        for (int slot = 0; slot < slots; slot++) expect_pattern(inbox + slot * words, 0, slot);
    return seconds;
}

/* Rank `from` sends a window of messages; the other takes them when all are there. Gives rank 0's time. */
static double run_window(int from) {
    double begin = now(), seconds = 0;
    for (int slot = 0; rank == from && slot < OUTSTANDING_MAX; slot++) {
        uint64_t value = stamp + slot;
        MPI_Send(&value, 1, MPI_UINT64_T, peer, slot, MPI_COMM_WORLD);
    }
    seconds = now() - begin;
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank != from) {
        begin = now();
        for (int slot = 0; slot < OUTSTANDING_MAX; slot++) {
            uint64_t value = 0;
            MPI_Recv(&value, 1, MPI_UINT64_T, peer, slot, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
            if (value != stamp + slot) die("wrong data in message %d of a window", slot);
        }
        seconds = now() - begin;
    }
    MPI_Barrier(MPI_COMM_WORLD);
    stamp += OUTSTANDING_MAX;
    return seconds;
}

static double run_calls(long rounds, int from) {
    double seconds = 0;
    if (words != 1) die("calls are timed with 8 bytes");
    MPI_Barrier(MPI_COMM_WORLD);
    for (long round = 0; round < rounds; round++) seconds += run_window(from);
    return seconds;
}

static double run_send_call(long rounds) { return run_calls(rounds, 0); }
static double run_receive_call(long rounds) { return run_calls(rounds, 1); }

/* Each rank posts its receive before it sends. */
static double run_posted_one(long rounds) {
    MPI_Request request;
    MPI_Barrier(MPI_COMM_WORLD);
    double begin = now();
    for (long round = 0; round < rounds; round++, stamp += 2) {
        mark(outbox, stamp + rank);
        MPI_Irecv(inbox, words, MPI_UINT64_T, peer, 0, MPI_COMM_WORLD, &request);
        if (rank == 0) MPI_Send(outbox, words, MPI_UINT64_T, peer, 0, MPI_COMM_WORLD);
        MPI_Wait(&request, MPI_STATUS_IGNORE);
        if (rank == 1) MPI_Send(outbox, words, MPI_UINT64_T, peer, 0, MPI_COMM_WORLD);
        expect_mark(inbox, stamp + peer);
    }
    return now() - begin;
}

static MPI_Request posted[POSTED];

static void post_many(void) {
    for (int slot = 0; slot < POSTED; slot++)
        MPI_Irecv(inbox + slot, 1, MPI_UINT64_T, peer, slot, MPI_COMM_WORLD, &posted[slot]);
}

static void send_one(int slot) {
    outbox[slot] = stamp + 2 * slot + rank;
    MPI_Send(outbox + slot, 1, MPI_UINT64_T, peer, slot, MPI_COMM_WORLD);
}

static void expect_many(void) {
    for (int slot = 0; slot < POSTED; slot++)
        if (inbox[slot] != stamp + 2 * slot + peer) die("wrong data in the receive of tag %d", slot);
}

static double run_posted_many(long rounds) {
    double seconds = 0;
    for (long round = 0; round < rounds; round++, stamp += 2 * POSTED) {
        post_many();
        MPI_Barrier(MPI_COMM_WORLD);
        double begin = now();
        for (int slot = POSTED; slot-- > 0;) {
            if (rank == 0) send_one(slot);
            MPI_Wait(&posted[slot], MPI_STATUS_IGNORE);
            if (rank == 1) send_one(slot);
        }
        seconds += now() - begin;
        expect_many();
    }
    return seconds;
}

/* The messages come in the order of the receives, which costs least: they are not what is measured. */
static double run_post_gap(long rounds) {
    double seconds = 0;
    for (long round = 0; round < rounds; round++, stamp += 2 * POSTED) {
        MPI_Barrier(MPI_COMM_WORLD);
        double begin = now();
        post_many();
        seconds += now() - begin;
        MPI_Barrier(MPI_COMM_WORLD);
        for (int slot = 0; slot < POSTED; slot++) send_one(slot);
        MPI_Waitall(POSTED, posted, MPI_STATUSES_IGNORE);
        expect_many();
    }
    return seconds;
}

static void open_posted(void) {
    if (words != 1) die("receives posted ahead are of 8 bytes");
    outbox = allocate(POSTED);
    inbox = allocate(POSTED);
}

const struct test message_tests[] = {
    {"send", "ns", 1, 0, 2, open_private, run_send, close_private},
    {"send_synchronous", "ns", 1, 0, 2, open_private, run_send_synchronous, close_private},
    {"send_prepared", "ns", 1, 0, 2, open_prepared, run_send_prepared, close_prepared},
    {"send_blocks", "ns", 1, 0, 2, open_blocks, run_send_blocks, close_blocks},
    {"send_uneven", "ns", 1, 0, 2, open_uneven, run_send_blocks, close_blocks},
    {"send_whole", "GB/s", 1, 0, 1, open_private, run_send_whole, close_private},
    {"send_stride", "GB/s", 1, 0, 1, open_stride, run_send_parts, close_parts},
    {"send_marked", "GB/s", 1, 0, 1, open_marked, run_send_parts, close_parts},
    {"bandwidth", "GB/s", 1, 0, 2, open_private, run_send, close_private},
    {"rate", "M/s", 1, 1, 0, open_private, run_stream, close_private},
    {"send_call", "ns", 1, 0, OUTSTANDING_MAX, NULL, run_send_call, NULL},
    {"receive_call", "ns", 1, 0, OUTSTANDING_MAX, NULL, run_receive_call, NULL},
    {"posted_one", "ns", 1, 0, 2, open_private, run_posted_one, close_private},
    {"posted_many", "ns", 1, 0, 2 * POSTED, open_posted, run_posted_many, close_private},
    {"post_gap", "ns", 1, 0, POSTED, open_posted, run_post_gap, close_private},
    {0},
};
