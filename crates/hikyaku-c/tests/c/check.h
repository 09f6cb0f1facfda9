/* What the test programs share: an expectation that fails ends the rank with status 1, and with it the job. */
#ifndef CHECK_H
#define CHECK_H

#define _GNU_SOURCE
#include <hikyaku.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static void failed(const char *file, int line, const char *what, long got) {
    fprintf(stderr, "%s:%d: rank %d: %s (got %ld; last error: %s)\n", file, line, hk_rank(), what, got,
            hk_last_error());
    fflush(stderr);
    _exit(1);
}

#include "expect.h"

#define OK(call) GIVES(HK_SUCCESS, call)

/* The call fails with this code and says why. */
#define FAILS(code, call)                                              \
    do {                                                               \
        GIVES(code, call);                                             \
        if (!*hk_last_error()) failed(__FILE__, __LINE__, #call " says why", 0); \
    } while (0)

#define SAYS(text) CHECK(strstr(hk_last_error(), text) != NULL)

#endif
