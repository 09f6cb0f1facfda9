/*
 * The work of `hikyaku bench --only cholesky`, done by MPI between ranks and by threads inside of them.
 *
 *     cholesky THREADS REPETITIONS TILES:SIZE...
 *
 * What examples/rust/cholesky.rs does, with the same kernels, the same tiles on the same grid of ranks, and the same order: of what has its
 * inputs, what makes the next column of the factor comes first, otherwise what has had them for longest. A tile of the factor is sent to all that need it as
 * soon as it is done; receives for all of them are posted before the clock starts. Threads take work from one list. MPI is
 * called by one thread at a time, after each piece of work and while there is none, which serves it better than MPI_THREAD_MULTIPLE.
 */
#include <math.h>
#include <mpi.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

void hikyaku_tile_factor(size_t order, double *a);
void hikyaku_tile_solve(size_t order, const double *l, double *x);
void hikyaku_tile_subtract(size_t order, const double *left, const double *right, double *from);

enum { LIMIT_S = 60, THREADS_MAX = 64, SPINS = 100 };

struct tile {
    double *values;
    int row, column;
    int step;     /* columns that were taken off */
    int is_busy;  /* in the list of what is ready, or worked on */
    int is_final; /* a tile of the factor, and here */
    struct tile *next;
};

struct list {
    struct tile *first, **end;
};

static int rank, ranks, grid_rows, grid_columns, threads, tiles, size;
static struct tile *all;
static pthread_mutex_t scheduling = PTHREAD_MUTEX_INITIALIZER, network = PTHREAD_MUTEX_INITIALIZER;
static struct list urgent, usual;
static atomic_int unfinished;

/* By whoever has the network. */
static MPI_Request *receives, *sends;
static int *received, receive_count, send_count;
static struct tile **receive_tiles;

static void die(const char *what) {
    fprintf(stderr, "cholesky: rank %d: %s\n", rank, what);
    MPI_Abort(MPI_COMM_WORLD, 1);
    exit(1);
}

static void *allocate(size_t count, size_t bytes) {
    void *memory = calloc(count, bytes);
    if (!memory) die("no memory");
    return memory;
}

static double now(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* ---- where tiles are ------------------------------------------------------------------ */

static int tile_count(void) { return tiles * (tiles + 1) / 2; }
static size_t length(void) { return (size_t)size * (size_t)size; }
static struct tile *at(int row, int column) { return &all[row * (row + 1) / 2 + column]; }
static int tag(const struct tile *tile) { return (int)(tile - all); }
static int owner(int row, int column) { return row % grid_rows * grid_columns + column % grid_columns; }
static int is_mine(int row, int column) { return owner(row, column) == rank; }

/* Whom a tile of the factor is for: a diagonal one for its column, any other for its row and for the column of that number. */
static void find_readers(const struct tile *tile, char *reads) {
    int row = tile->row, column = tile->column, i;
    for (i = 0; i < ranks; i++) reads[i] = 0;
    for (i = row; i < tiles; i++) reads[owner(i, row == column ? column : row)] = 1;
    for (i = column + 1; i < row; i++) reads[owner(row, i)] = 1;
    reads[owner(row, column)] = 0;
}

/* ---- what is ready; all of it while scheduling is locked --------------------------------- */

static void put(struct list *list, struct tile *tile) {
    tile->next = NULL;
    *list->end = tile;
    list->end = &tile->next;
}

static struct tile *take(struct list *list) {
    struct tile *tile = list->first;
    if (tile && !(list->first = tile->next)) list->end = &list->first;
    return tile;
}

/* Puts a tile into its list, if it is one of ours and the next thing can be done with it. */
static void consider(int row, int column) {
    struct tile *tile = at(row, column);
    int step = tile->step;
    if (!is_mine(row, column) || tile->is_busy || tile->is_final) return;
    if (step < column) {
        if (!at(row, step)->is_final || !at(column, step)->is_final) return;
    } else if (row != column && !at(column, column)->is_final)
        return;
    tile->is_busy = 1;
    put(step + 1 >= column ? &urgent : &usual, tile);
}

/* A tile of the factor is here. */
static void announce(struct tile *tile) {
    int row = tile->row, column = tile->column, i;
    tile->is_final = 1;
    if (row == column)
        for (i = row + 1; i < tiles; i++) consider(i, column);
    else {
        for (i = column + 1; i <= row; i++) consider(row, i);
        for (i = row + 1; i < tiles; i++) consider(i, row);
    }
}

/* ---- the network ---------------------------------------------------------------------- */

static void send_tile(const struct tile *tile) {
    char reads[ranks];
    int i;
    find_readers(tile, reads);
    pthread_mutex_lock(&network);
    for (i = 0; i < ranks; i++)
        if (reads[i])
            MPI_Isend(tile->values, (int)length(), MPI_DOUBLE, i, tag(tile), MPI_COMM_WORLD, &sends[send_count++]);
    pthread_mutex_unlock(&network);
}

/* What has come; unless another thread looks. */
static void look(void) {
    int i, count;
    if (!receive_count || pthread_mutex_trylock(&network)) return;
    MPI_Testsome(receive_count, receives, &count, received, MPI_STATUSES_IGNORE);
    if (count > 0) {
        pthread_mutex_lock(&scheduling);
        for (i = 0; i < count; i++) announce(receive_tiles[received[i]]);
        pthread_mutex_unlock(&scheduling);
    }
    pthread_mutex_unlock(&network);
}

static void post_receives(void) {
    char reads[ranks];
    int i;
    receive_count = send_count = 0;
    for (i = 0; i < tile_count(); i++) {
        struct tile *tile = &all[i];
        find_readers(tile, reads);
        if (!reads[rank]) continue;
        receive_tiles[receive_count] = tile;
        MPI_Irecv(tile->values, (int)length(), MPI_DOUBLE, owner(tile->row, tile->column), i, MPI_COMM_WORLD,
                  &receives[receive_count++]);
    }
}

/* ---- the threads ---------------------------------------------------------------------- */

static void run(struct tile *tile) {
    int row = tile->row, column = tile->column, step = tile->step;
    if (step < column)
        hikyaku_tile_subtract((size_t)size, at(row, step)->values, at(column, step)->values, tile->values);
    else if (row == column)
        hikyaku_tile_factor((size_t)size, tile->values);
    else
        hikyaku_tile_solve((size_t)size, at(column, column)->values, tile->values);
    if (step == column) send_tile(tile);
    pthread_mutex_lock(&scheduling);
    tile->is_busy = 0;
    if (step < column) {
        tile->step++;
        consider(row, column);
    } else {
        announce(tile);
        unfinished--;
    }
    pthread_mutex_unlock(&scheduling);
}

static void *work(void *unused) {
    int misses = 0;
    while (unfinished) {
        struct tile *tile;
        pthread_mutex_lock(&scheduling);
        tile = take(&urgent);
        if (!tile) tile = take(&usual);
        pthread_mutex_unlock(&scheduling);
        if (tile) run(tile);
        misses = tile ? 0 : misses + 1;
        look();
        /* Where there are more threads than cores, one that only looks would keep the others from running. */
        if (misses > SPINS) sched_yield();
    }
    return unused;
}

static void factorize(void) {
    pthread_t others[THREADS_MAX];
    int i;
    pthread_mutex_lock(&scheduling);
    consider(0, 0);
    pthread_mutex_unlock(&scheduling);
    for (i = 1; i < threads; i++)
        if (pthread_create(&others[i], NULL, work, NULL)) die("no thread");
    work(NULL);
    for (i = 1; i < threads; i++) pthread_join(others[i], NULL);
    MPI_Waitall(send_count, sends, MPI_STATUSES_IGNORE);
}

/* ---- the matrix ----------------------------------------------------------------------- */

static double element(int order, long i, long j) {
    double off = 1.0 / (double)(1 + labs(i - j)) + (double)(i * j % 7) * 0.01;
    return i == j ? order + off : off;
}

static void fill(void) {
    int row, column, i, j;
    unfinished = 0;
    urgent.first = usual.first = NULL;
    urgent.end = &urgent.first, usual.end = &usual.first;
    for (row = 0; row < tiles; row++)
        for (column = 0; column <= row; column++) {
            struct tile *tile = at(row, column);
            double *values = tile->values;
            *tile = (struct tile){.values = values, .row = row, .column = column};
            if (is_mine(row, column)) unfinished++;
            for (i = 0; i < size; i++)
                for (j = 0; j < size; j++)
                    values[i * size + j] = element(tiles * size, row * size + i, column * size + j);
        }
}

/* Rank 0 gets all tiles and compares them with what it computes alone. */
static void check(void) {
    size_t order = (size_t)tiles * (size_t)size, i, j;
    double *whole, worst = 0;
    int n;
    for (n = 0; n < tile_count(); n++) {
        int from = owner(all[n].row, all[n].column);
        if (from == 0) continue;
        if (rank == from) MPI_Send(all[n].values, (int)length(), MPI_DOUBLE, 0, n, MPI_COMM_WORLD);
        if (rank == 0) MPI_Recv(all[n].values, (int)length(), MPI_DOUBLE, from, n, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    }
    if (rank) return;
    whole = allocate(order * order, sizeof *whole);
    for (i = 0; i < order; i++)
        for (j = 0; j < order; j++) whole[i * order + j] = element((int)order, (long)i, (long)j);
    hikyaku_tile_factor(order, whole);
    for (i = 0; i < order; i++)
        for (j = 0; j <= i; j++) {
            struct tile *tile = at((int)(i / (size_t)size), (int)(j / (size_t)size));
            double value = tile->values[i % (size_t)size * (size_t)size + j % (size_t)size];
            worst = fmax(worst, fabs(value - whole[i * order + j]) / whole[i * order + i]);
        }
    free(whole);
    if (!(worst < 1e-12 * (double)order)) die("the factor is wrong");
}

/* Seconds for a matrix that is filled before. */
static double factorize_anew(void) {
    double begin;
    fill();
    post_receives();
    MPI_Barrier(MPI_COMM_WORLD);
    begin = now();
    factorize();
    MPI_Barrier(MPI_COMM_WORLD);
    return now() - begin;
}

static void measure(const char *request, int repetitions) {
    int i, repetition;
    if (sscanf(request, "%d:%d", &tiles, &size) != 2 || tiles < 1 || size < 1) die("no such work");
    all = allocate((size_t)tile_count(), sizeof *all);
    for (i = 0; i < tile_count(); i++) all[i].values = allocate(length(), sizeof(double));
    receives = allocate((size_t)tile_count(), sizeof *receives);
    received = allocate((size_t)tile_count(), sizeof *received);
    receive_tiles = allocate((size_t)tile_count(), sizeof(struct tile *));
    sends = allocate((size_t)(tile_count() * ranks), sizeof *sends);
    for (repetition = 0; repetition < repetitions; repetition++) {
        double seconds;
        alarm(LIMIT_S); /* should the caller be gone, a program that hangs still ends */
        /* Not timed: checking the last result has filled the caches with other data. */
        factorize_anew();
        seconds = factorize_anew();
        check();
        if (rank) continue;
        printf("{\"test\":\"tiles\",\"bytes\":%zu,\"ranks\":%d,\"value\":%.4f,\"unit\":\"ms\"}\n",
               length() * sizeof(double), ranks * threads, 1e3 * seconds);
        fflush(stdout);
    }
    for (i = 0; i < tile_count(); i++) free(all[i].values);
    free(all), free(receives), free(received), free(receive_tiles), free(sends);
}

int main(int count, char **arguments) {
    int wanted, provided, i;
    alarm(LIMIT_S);
    threads = count > 3 ? atoi(arguments[1]) : 0;
    wanted = threads > 1 ? MPI_THREAD_SERIALIZED : MPI_THREAD_FUNNELED;
    MPI_Init_thread(&count, &arguments, wanted, &provided);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    if (provided < wanted) die("it has no threads");
    if (threads < 1 || threads > THREADS_MAX) die("threads, repetitions, and tiles of some size");
    for (grid_rows = ranks; grid_rows * grid_rows > ranks || ranks % grid_rows; grid_rows--) continue;
    grid_columns = ranks / grid_rows;
    for (i = 3; i < count; i++) measure(arguments[i], atoi(arguments[2]));
    return MPI_Finalize();
}
