/*
 * Solves a dense system of equations with ScaLAPACK, on as many ranks as it is started with, and checks the solution.
 *
 *     gcc -O2 -o solve solve.c -lscalapack-openmpi -lm
 *     hikyaku run --blacs -n 4 ./solve 1000
 *
 * The matrix is made so that the solution is known: every unknown is 1.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

void Cblacs_pinfo(int *rank, int *ranks);
void Cblacs_get(int context, int what, int *value);
void Cblacs_gridinit(int *context, char *order, int rows, int columns);
void Cblacs_gridinfo(int context, int *rows, int *columns, int *row, int *column);
void Cblacs_gridexit(int context);
void Cblacs_exit(int go_on);
void Cigsum2d(int context, char *scope, char *top, int m, int n, int *a, int lda, int row, int column);

int numroc_(int *n, int *block, int *process, int *first, int *processes);
void descinit_(int *descriptor, int *m, int *n, int *mb, int *nb, int *row, int *column, int *context, int *lda, int *info);
void pdgesv_(int *n, int *nrhs, double *a, int *ia, int *ja, int *desca, int *pivots, double *b, int *ib, int *jb,
             int *descb, int *info);

/* An element of the matrix; the diagonal keeps it far from singular. */
static double element(int i, int j, int n) { return i == j ? n : cos(0.37 * i * j + j); }

/* The global index of a local one, in blocks dealt out in turn. */
static int global(int local, int block, int process, int processes) {
    return (local / block * processes + process) * block + local % block;
}

int main(int count, char **arguments) {
    int n = count > 1 ? atoi(arguments[1]) : 500, block = 64, zero = 0, one = 1;
    int rank, ranks, context, rows, columns, row, column, info;
    Cblacs_pinfo(&rank, &ranks);
    for (rows = (int)sqrt(ranks); ranks % rows; rows--) {}
    Cblacs_get(0, 0, &context);
    Cblacs_gridinit(&context, "Row", rows, ranks / rows);
    Cblacs_gridinfo(context, &rows, &columns, &row, &column);

    /* Each process has the blocks of rows and columns that fall to it. */
    int m_local = numroc_(&n, &block, &row, &zero, &rows), n_local = numroc_(&n, &block, &column, &zero, &columns);
    int b_local = numroc_(&one, &block, &column, &zero, &columns), lda = m_local > 1 ? m_local : 1;
    double *a = malloc(sizeof *a * lda * (n_local + 1)), *b = malloc(sizeof *b * lda);
    int *pivots = malloc(sizeof *pivots * (m_local + block)), desca[9], descb[9];
    if (!a || !b || !pivots) return 1;
    descinit_(desca, &n, &n, &block, &block, &zero, &zero, &context, &lda, &info);
    descinit_(descb, &n, &one, &block, &block, &zero, &zero, &context, &lda, &info);
    for (int i = 0; i < m_local; i++) {
        int gi = global(i, block, row, rows);
        b[i] = 0;
        for (int j = 0; j < n; j++) b[i] += element(gi, j, n);
        for (int j = 0; j < n_local; j++) a[(size_t)j * lda + i] = element(gi, global(j, block, column, columns), n);
    }

    pdgesv_(&n, &one, a, &one, &one, desca, pivots, b, &one, &one, descb, &info);

    int wrong = 0; /* Said so that no number at all is wrong too. */
    for (int i = 0; i < m_local && b_local; i++) wrong += !(fabs(b[i] - 1) <= 1e-9);
    Cigsum2d(context, "All", " ", 1, 1, &wrong, 1, -1, -1);
    if (rank == 0) printf("%d equations on %d x %d processes: %d unknowns are wrong\n", n, rows, columns, wrong);
    Cblacs_gridexit(context);
    Cblacs_exit(0);
    return info != 0 || wrong != 0;
}
