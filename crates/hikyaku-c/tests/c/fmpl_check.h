/* What the FMPL programs share: an expectation that fails ends the rank with status 1, and with it the job. */
#ifndef FMPL_CHECK_H
#define FMPL_CHECK_H

#define _GNU_SOURCE
#include <fmpl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define WORLD FMPL_COMM_WORLD

static void failed(const char *file, int line, const char *what, long got) {
    int rank = -1;
    const char *text = fmpl_last_error();
    fprintf(stderr, "%s:%d: %s (got %ld; last error: %s)", file, line, what, got, text);
    fmpl_comm_rank(WORLD, &rank);
    fprintf(stderr, " at rank %d\n", rank);
    fflush(stderr);
    _exit(1);
}

#include "expect.h"

#define OK(call) GIVES(FMPL_SUCCESS, call)

/* The call fails with this code, and says why in these words. */
#define FAILS(code, text, call)                                                                             \
    do {                                                                                                    \
        GIVES(code, call);                                                                                  \
        if (!strstr(fmpl_last_error(), text)) failed(__FILE__, __LINE__, #call " says \"" text "\"", code); \
    } while (0)

#endif
