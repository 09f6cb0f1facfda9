/* The C interface of the BLACS, as far as the tests use it, and a way to check. */
#ifndef TEST_BLACS_H
#define TEST_BLACS_H

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void Cblacs_pinfo(int *, int *);
void Cblacs_get(int, int, int *);
void Cblacs_set(int, int, int *);
void Cblacs_gridinit(int *, char *, int, int);
void Cblacs_gridmap(int *, int *, int, int, int);
void Cblacs_gridinfo(int, int *, int *, int *, int *);
void Cblacs_gridexit(int);
int Cblacs_pnum(int, int, int);
void Cblacs_pcoord(int, int, int *, int *);
void Cblacs_barrier(int, char *);
void Cblacs_freebuff(int, int);
void Cblacs_exit(int);
void Cblacs_abort(int, int);
void Cfree_blacs_system_handle(int);
int Cksendid(int, int, int), Ckrecvid(int, int, int), Ckbsid(int, char *), Ckbrid(int, char *, int, int);
double Cdcputime00(void), Cdwalltime00(void);
void Cigesd2d(int, int, int, int *, int, int, int);
void Cigerv2d(int, int, int, int *, int, int, int);
void Citrsd2d(int, char *, char *, int, int, int *, int, int, int);
void Citrrv2d(int, char *, char *, int, int, int *, int, int, int);
void Cigebs2d(int, char *, char *, int, int, int *, int);
void Cigebr2d(int, char *, char *, int, int, int *, int, int, int);
void Cigsum2d(int, char *, char *, int, int, int *, int, int, int);
void Cigamx2d(int, char *, char *, int, int, int *, int, int *, int *, int, int, int);
void Cdgesd2d(int, int, int, double *, int, int, int);
void Cdgerv2d(int, int, int, double *, int, int, int);
void Cdgebs2d(int, char *, char *, int, int, double *, int);
void Cdgebr2d(int, char *, char *, int, int, double *, int, int, int);
void Cdgsum2d(int, char *, char *, int, int, double *, int, int, int);
void Cdgamx2d(int, char *, char *, int, int, double *, int, int *, int *, int, int, int);
void Cdgamn2d(int, char *, char *, int, int, double *, int, int *, int *, int, int, int);

static int rank, size;

#define CHECK(condition)                                                                  \
    do {                                                                                  \
        if (!(condition)) {                                                               \
            fprintf(stderr, "rank %d, line %d: %s\n", rank, __LINE__, #condition);        \
            exit(3);                                                                      \
        }                                                                                 \
    } while (0)

/* A grid of all ranks. */
static inline int grid(int rows, int columns) {
    int context;
    Cblacs_get(0, 0, &context);
    Cblacs_gridinit(&context, "Row", rows, columns);
    return context;
}

#endif
