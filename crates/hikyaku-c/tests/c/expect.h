/* Expectations of the test programs. Whoever includes it has `failed`, which tells of one and ends the rank. */
#ifndef EXPECT_H
#define EXPECT_H

#define CHECK(condition)                                             \
    do {                                                             \
        if (!(condition)) failed(__FILE__, __LINE__, #condition, 0); \
    } while (0)

/* The call gives exactly this. */
#define GIVES(value, call)                                                                   \
    do {                                                                                     \
        long got_ = (long)(call);                                                            \
        if (got_ != (long)(value)) failed(__FILE__, __LINE__, #call " gives " #value, got_); \
    } while (0)

#endif
