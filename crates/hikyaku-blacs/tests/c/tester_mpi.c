/* What Netlib's tester of the BLACS asks of MPI: to tell all processes what to do, and to gather what they found. Here it is done
 * by the BLACS themselves, in a grid of their own. So the tester runs under `hikyaku run`, over several hosts too, where there is
 * no MPI. To be preloaded into the tester that Debian has linked with Open MPI: the numbers of types are Open MPI's. */
#include <stdio.h>
#include <stdlib.h>

void Cblacs_pinfo(int *rank, int *size);
void Cblacs_get(int context, int what, int *value);
void Cblacs_gridinit(int *context, const char *order, int rows, int columns);
void Cigesd2d(int context, int rows, int columns, const int *matrix, int lead, int row, int column);
void Cigerv2d(int context, int rows, int columns, int *matrix, int lead, int row, int column);

static int rank = -1, size, context;

static int type_bytes(int type)
{
    switch (type) {
    case 7: case 13: return 4;  /* INTEGER, REAL */
    case 17: case 18: return 8; /* DOUBLE PRECISION, COMPLEX */
    case 22: return 16;         /* DOUBLE COMPLEX */
    }
    fprintf(stderr, "the tester uses a type that is not known here: %d\n", type);
    exit(1);
}

void mpi_initialized_(int *flag, int *error)
{
    *flag = rank >= 0;
    *error = 0;
}

void mpi_init_(int *error)
{
    Cblacs_pinfo(&rank, &size);
    Cblacs_get(0, 0, &context);
    Cblacs_gridinit(&context, "Row", 1, size);
    *error = 0;
}

void mpi_comm_dup_(int *from, int *to, int *error)
{
    *to = *from;
    *error = 0;
}

void mpi_comm_rank_(int *communicator, int *mine, int *error)
{
    (void)communicator;
    *mine = rank;
    *error = 0;
}

void mpi_comm_size_(int *communicator, int *count, int *error)
{
    (void)communicator;
    *count = size;
    *error = 0;
}

void mpi_type_size_(int *type, int *bytes, int *error)
{
    *bytes = type_bytes(*type);
    *error = 0;
}

/* All types are made of words of four bytes. */
void mpi_send_(const void *buffer, int *count, int *type, int *to, int *tag, int *communicator, int *error)
{
    int words = *count * type_bytes(*type) / 4;
    (void)tag, (void)communicator;
    Cigesd2d(context, words, 1, buffer, words > 0 ? words : 1, 0, *to);
    *error = 0;
}

void mpi_recv_(void *buffer, int *count, int *type, int *from, int *tag, int *communicator, int *status, int *error)
{
    int words = *count * type_bytes(*type) / 4;
    (void)tag, (void)communicator, (void)status;
    Cigerv2d(context, words, 1, buffer, words > 0 ? words : 1, 0, *from);
    *error = 0;
}

void mpi_abort_(int *communicator, int *code, int *error)
{
    (void)communicator, (void)error;
    exit(*code ? *code : 1);
}
