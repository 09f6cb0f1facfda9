/* FMPL and the calls of hikyaku.h in one program: whoever begins, whoever ends. */
#include "fmpl_check.h"

#include <hikyaku.h>

static int handler_code;

static void on_message(hk_context *context, const hk_message *message, void *user) {
    char x = 0;
    (void)user;
    handler_code = fmpl_send(&x, 1, 0, 0, WORLD);
    hk_context_reply(context, message->arguments);
}

static int function_codes[3];

static void combine(void *inout, const void *in, int count) {
    hk_sym word;
    int i;
    for (i = 0; i < count; i++) ((int *)inout)[i] += ((const int *)in)[i];
    function_codes[0] = hk_barrier();
    function_codes[1] = hk_alloc(8, &word);
    function_codes[2] = fmpl_barrier(WORLD);
}

/* Nor does a function that combines wait by the other interface. */
static void add_up(void) {
    int numbers[100], i;
    fmpl_func func;
    for (i = 0; i < 100; i++) numbers[i] = 1;
    for (i = 0; i < 3; i++) function_codes[i] = 0;
    OK(fmpl_func_create(combine, sizeof *numbers, &func));
    OK(fmpl_allreduce(numbers, 100, func, WORLD, NULL));
    for (i = 0; i < 100; i++) GIVES(hk_size(), numbers[i]);
    if (function_codes[0] != 0) {
        GIVES(HK_ERR_IN_HANDLER, function_codes[0]);
        GIVES(HK_ERR_IN_HANDLER, function_codes[1]);
        GIVES(FMPL_ERR_INSIDE, function_codes[2]);
    }
    OK(fmpl_func_free(&func));
}

static void talk(void) {
    int rank, size, value, got;
    OK(fmpl_comm_rank(WORLD, &rank));
    OK(fmpl_comm_size(WORLD, &size));
    CHECK(rank == hk_rank() && size == hk_size());
    value = rank;
    OK(fmpl_send(&value, sizeof value, (rank + 1) % size, 0, WORLD));
    OK(fmpl_recv(&got, sizeof got, (rank + size - 1) % size, 0, WORLD));
    GIVES((rank + size - 1) % size, got);
}

static void push(void) {
    hk_sym word;
    uint64_t seen, ranks = 1;
    int next = (hk_rank() + 1) % hk_size();
    GIVES(HK_SUCCESS, hk_alloc(8, &word));
    GIVES(HK_SUCCESS, hk_word(next, word, 0, 5));
    GIVES(HK_SUCCESS, hk_wait(word, 0, HK_EQUAL, 5, HK_ANYONE, HK_FOREVER, &seen));
    GIVES(HK_SUCCESS, hk_barrier());
    GIVES(HK_SUCCESS, hk_free(word));
    GIVES(HK_SUCCESS, hk_allreduce(&ranks, 1, HK_U64, HK_SUM));
    GIVES(hk_size(), ranks);
}

int main(int argc, char **argv) {
    uint64_t arguments[HK_ARGUMENT_COUNT] = {1}, reply[HK_ARGUMENT_COUNT];
    hk_sym kept;
    if (argc > 1 && strcmp(argv[1], "fmpl-first") == 0) {
        OK(fmpl_init(NULL, NULL, 1));
        push();
        GIVES(HK_ERR_NOT_STARTED, hk_finalize());
        GIVES(HK_SUCCESS, hk_init());
    } else {
        GIVES(HK_SUCCESS, hk_init());
        GIVES(FMPL_ERR_NOT_STARTED, fmpl_barrier(WORLD));
        OK(fmpl_init(NULL, NULL, 1));
    }
    GIVES(HK_ERR_STARTED, hk_init());
    GIVES(FMPL_ERR_STARTED, fmpl_init(NULL, NULL, 1));
    talk();
    push();

    /* A handler may not wait, so it makes no FMPL calls. */
    GIVES(HK_SUCCESS, hk_handler_register(1, on_message, NULL));
    OK(fmpl_barrier(WORLD));
    GIVES(HK_SUCCESS, hk_call(hk_rank(), 1, arguments, NULL, 0, reply));
    GIVES(FMPL_ERR_INSIDE, handler_code);
    add_up();
    talk();
    GIVES(HK_SUCCESS, hk_alloc(8, &kept));
    OK(fmpl_barrier(WORLD));

    if (argc > 2 && strcmp(argv[2], "fmpl-last") == 0) {
        GIVES(HK_SUCCESS, hk_finalize());
        GIVES(HK_ERR_HANDLE, hk_word(0, kept, 0, 1));
        GIVES(HK_ERR_NOT_STARTED, hk_finalize());
        talk();
        push();
        OK(fmpl_finalize());
    } else {
        OK(fmpl_finalize());
        GIVES(FMPL_ERR_NOT_STARTED, fmpl_barrier(WORLD));
        /* FMPL may come again while the job goes on, and what was there stays. */
        OK(fmpl_init(NULL, NULL, 3));
        talk();
        OK(fmpl_finalize());
        GIVES(HK_SUCCESS, hk_word(hk_rank(), kept, 0, 1));
        push();
        GIVES(HK_SUCCESS, hk_finalize());
    }
    GIVES(HK_ERR_NOT_STARTED, hk_rank());
    GIVES(FMPL_ERR_NOT_STARTED, fmpl_barrier(WORLD));
    return 0;
}
