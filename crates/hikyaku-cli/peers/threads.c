/*
 * The work of `hikyaku bench --only threads`, done by MPI with MPI_THREAD_MULTIPLE.
 *
 *     threads THREADS REPETITIONS WORK:BYTES...
 *
 *     send     ping-pong of MPI_Send and MPI_Recv                        one-way ns; with 4 bytes M/s, with many GB/s of all threads
 *     put      ping-pong of MPI_Put and a flag, which the target watches  likewise
 *     stream   windows of 64 messages, one way, then an answer            M/s of all threads
 *
 * Thread i of rank 0 talks with thread i of rank 1, all at the same time, each with a communicator and a window of its own. Latency is
 * the median of all round trips. A test ends by the clock: rank 0 says in its last message that it is the last. Instead of ranks the lines
 * that are printed have the threads of both ranks.
 */
#include <mpi.h>
#include <pthread.h>
#include <sched.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum { THREADS_MAX = 64, OUTSTANDING = 64, SPINS = 1000, LIMIT_S = 40, COUNTED = 4, LONG = 64 << 10, WARM_UP = 1 };
static double long_enough_s; /* so that each thread has its turn several times */

struct talker {
    pthread_t thread;
    MPI_Comm comm;
    MPI_Win window;
    uint32_t *out, *in, *shared;
    uint64_t messages, round;
    double *trips;
    size_t count, room;
};

static int rank, ranks, peer, threads;
static size_t bytes;
static double (*work)(struct talker *);
static pthread_barrier_t gate;
static struct talker talkers[THREADS_MAX];

static void die(const char *what) {
    fprintf(stderr, "threads: rank %d: %s\n", rank, what);
    MPI_Abort(MPI_COMM_WORLD, 1);
    exit(1);
}

static double now(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static void note(struct talker *me, double seconds) {
    if (me->count == me->room) {
        me->room = me->room ? 2 * me->room : 4096;
        me->trips = realloc(me->trips, me->room * sizeof *me->trips);
        if (!me->trips) die("no memory");
    }
    me->trips[me->count++] = seconds;
}

/* ---- how a message goes --------------------------------------------------------------- */

static void give_message(struct talker *me) { MPI_Send(me->out, (int)bytes, MPI_BYTE, peer, 0, me->comm); }

static void take_message(struct talker *me) {
    MPI_Recv(me->in, (int)bytes, MPI_BYTE, peer, 0, me->comm, MPI_STATUS_IGNORE);
}

/* The flag is on a line of its own behind the data. */
static size_t flag_at(void) { return (bytes + 127) / 64 * 64; }

static void give_put(struct talker *me) {
    MPI_Put(me->out, (int)bytes, MPI_BYTE, peer, 0, (int)bytes, MPI_BYTE, me->window);
    MPI_Win_flush(peer, me->window); /* MPI keeps no order between puts */
    MPI_Put(&me->round, 8, MPI_BYTE, peer, (MPI_Aint)flag_at(), 8, MPI_BYTE, me->window);
    MPI_Win_flush(peer, me->window);
}

/* Where there are more threads than cores, one that only watches would keep the others from running. */
static void take_put(struct talker *me) {
    const volatile uint64_t *flag = (void *)((char *)me->shared + flag_at());
    long spins;
    int found;
    for (spins = 1; *flag != me->round; spins++) {
        if (spins % SPINS) continue;
        MPI_Win_sync(me->window);
        MPI_Iprobe(MPI_ANY_SOURCE, MPI_ANY_TAG, me->comm, &found, MPI_STATUS_IGNORE);
        sched_yield();
    }
    MPI_Win_sync(me->window);
    memcpy(me->in, me->shared, bytes);
}

static double ping_pong(struct talker *me, void give(struct talker *), void take(struct talker *)) {
    const size_t last = bytes / 4 - 1;
    double begin = now(), before = begin;
    for (;;) {
        uint32_t number = (uint32_t)++me->round << 1;
        if (rank == 0) {
            me->out[0] = me->out[last] = number | (before - begin >= long_enough_s);
            give(me);
        }
        take(me);
        if (me->in[0] >> 1 != number >> 1 || me->in[last] != me->in[0]) die("wrong data");
        if (rank == 1) {
            me->out[0] = me->out[last] = me->in[0];
            give(me);
        }
        me->messages += 2;
        if (rank == 0) {
            double after = now();
            note(me, after - before);
            before = after;
        }
        if (me->in[0] & 1) return now() - begin;
    }
}

static double run_send(struct talker *me) { return ping_pong(me, give_message, take_message); }
static double run_put(struct talker *me) { return ping_pong(me, give_put, take_put); }

static double run_stream(struct talker *me) {
    MPI_Request requests[OUTSTANDING];
    uint32_t data[OUTSTANDING], answer = 0;
    double begin = now();
    for (;;) {
        uint32_t number = (uint32_t)++me->round << 1;
        int i;
        if (rank == 0) {
            number |= now() - begin >= long_enough_s;
            for (i = 0; i < OUTSTANDING; i++) {
                data[i] = number;
                MPI_Isend(&data[i], 4, MPI_BYTE, 1, 0, me->comm, &requests[i]);
            }
            MPI_Waitall(OUTSTANDING, requests, MPI_STATUSES_IGNORE);
            MPI_Recv(&answer, 4, MPI_BYTE, 1, 1, me->comm, MPI_STATUS_IGNORE);
        } else {
            for (i = 0; i < OUTSTANDING; i++) MPI_Irecv(&data[i], 4, MPI_BYTE, 0, 0, me->comm, &requests[i]);
            MPI_Waitall(OUTSTANDING, requests, MPI_STATUSES_IGNORE);
            answer = data[OUTSTANDING - 1];
            if (answer >> 1 != number >> 1) die("wrong data");
            MPI_Send(&answer, 4, MPI_BYTE, 0, 1, me->comm);
        }
        me->messages += OUTSTANDING;
        if (answer & 1) return now() - begin;
    }
}

/* ---- the threads ---------------------------------------------------------------------- */

static void *talk(void *talker) {
    for (;;) {
        pthread_barrier_wait(&gate);
        if (!work) return NULL;
        work(talker);
        pthread_barrier_wait(&gate);
    }
}

static int ascending(const void *one, const void *other) {
    double a = *(const double *)one, b = *(const double *)other;
    return (a > b) - (a < b);
}

static double median_of_trips(void) {
    size_t count = 0, at = 0;
    double *all, median;
    int i;
    for (i = 0; i < threads; i++) count += talkers[i].count;
    all = malloc(count * sizeof *all);
    if (!all) die("no memory");
    for (i = 0; i < threads; at += talkers[i++].count)
        memcpy(all + at, talkers[i].trips, talkers[i].count * sizeof *all);
    qsort(all, count, sizeof *all, ascending);
    median = all[count / 2];
    free(all);
    return median;
}

static void print(const char *name, double value, const char *unit) {
    printf("{\"test\":\"threads_%s\",\"bytes\":%zu,\"ranks\":%d,\"value\":%.4f,\"unit\":\"%s\"}\n", name, bytes,
           2 * threads, value, unit);
    fflush(stdout);
}

static void measure(const char *request, int repetitions) {
    char name[16], rate[24], throughput[32];
    double begin, seconds, messages;
    int i, repetition;
    if (sscanf(request, "%15[a-z]:%zu", name, &bytes) != 2 || bytes < 4 || bytes % 4) die("no such work");
    work = !strcmp(name, "send") ? run_send : !strcmp(name, "put") ? run_put : run_stream;
    snprintf(rate, sizeof rate, "%s_rate", name);
    snprintf(throughput, sizeof throughput, "%s_bandwidth", name);
    for (i = 0; i < threads; i++) {
        struct talker *me = &talkers[i];
        me->out = calloc(1, bytes), me->in = calloc(1, bytes);
        if (!me->out || !me->in) die("no memory");
        MPI_Win_allocate((MPI_Aint)flag_at() + 64, 1, MPI_INFO_NULL, me->comm, &me->shared, &me->window);
        MPI_Win_lock_all(MPI_MODE_NOCHECK, me->window);
        memset(me->shared, 0, flag_at() + 64);
        MPI_Win_sync(me->window);
        me->round = 0;
    }
    for (repetition = 0; repetition < WARM_UP + repetitions; repetition++) {
        alarm(LIMIT_S); /* should the caller be gone, a program that hangs still ends */
        for (i = 0; i < threads; i++) talkers[i].messages = talkers[i].count = 0;
        MPI_Barrier(MPI_COMM_WORLD);
        begin = now();
        pthread_barrier_wait(&gate);
        pthread_barrier_wait(&gate);
        seconds = now() - begin;
        for (messages = 0, i = 0; i < threads; i++) messages += (double)talkers[i].messages;
        if (rank || repetition < WARM_UP) continue;
        if (work == run_stream)
            print(name, messages / seconds / 1e6, "M/s");
        else
            print(name, median_of_trips() / 2 * 1e9, "ns");
        if (work != run_stream && bytes == COUNTED) print(rate, messages / seconds / 1e6, "M/s");
        if (work != run_stream && bytes >= LONG) print(throughput, messages * (double)bytes / seconds / 1e9, "GB/s");
    }
    MPI_Barrier(MPI_COMM_WORLD);
    for (i = 0; i < threads; i++) {
        struct talker *me = &talkers[i];
        MPI_Win_unlock_all(me->window);
        MPI_Win_free(&me->window);
        free(me->out), free(me->in);
    }
}

int main(int count, char **arguments) {
    int provided, i;
    alarm(LIMIT_S);
    MPI_Init_thread(&count, &arguments, MPI_THREAD_MULTIPLE, &provided);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    if (provided < MPI_THREAD_MULTIPLE) die("it has no MPI_THREAD_MULTIPLE");
    if (ranks != 2 || count < 4) die("two ranks, and threads, repetitions and work");
    peer = 1 - rank, threads = atoi(arguments[1]);
    if (threads < 1 || threads > THREADS_MAX) die("too many threads");
    long_enough_s = 0.040 + 0.010 * threads;
    pthread_barrier_init(&gate, NULL, (unsigned)threads + 1);
    for (i = 0; i < threads; i++) {
        MPI_Comm_dup(MPI_COMM_WORLD, &talkers[i].comm);
        if (pthread_create(&talkers[i].thread, NULL, talk, &talkers[i])) die("no thread");
    }
    for (i = 3; i < count; i++) measure(arguments[i], atoi(arguments[2]));
    work = NULL;
    pthread_barrier_wait(&gate);
    for (i = 0; i < threads; i++) pthread_join(talkers[i].thread, NULL);
    for (i = 0; i < threads; i++) MPI_Comm_free(&talkers[i].comm);
    return MPI_Finalize();
}
