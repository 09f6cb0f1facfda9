/* Pointers in memory and in registers, to bytes and to chains of commands; and those that lead nowhere. */
#include "check.h"

enum { ROWS = 40, COLUMNS = 30, CELLS = ROWS * COLUMNS };

int main(void) {
    static double matrix[CELLS], head[2], packed[ROWS + 2], back[ROWS + 2];
    hk_area pointers, flag, own, heading, nothing;
    hk_pointer aim, chain, zero = 0;
    hk_pointer *mine;
    hk_command commands[4];
    int me, size, next, before, at;

    OK(hk_init());
    me = hk_rank(), size = hk_size(), next = (me + 1) % size, before = (me + size - 1) % size;
    OK(hk_alloc(4 * sizeof(hk_pointer), &pointers));
    OK(hk_alloc(8, &flag));
    mine = hk_local(pointers);
    OK(hk_area_register(1, matrix, sizeof matrix));
    OK(hk_area_register(2, head, sizeof head));
    OK(hk_area_open(me, 1, &own));
    OK(hk_area_open(me, 2, &heading));

    /* To bytes: each rank aims where nobody else knows of. */
    OK(hk_pointer_to(me, own, (size_t)(8 * (100 + me)), &aim));
    OK(hk_word(me, pointers, 16, aim));
    OK(hk_register_set(3, aim));
    OK(hk_register_get(3, &chain));
    CHECK(chain == aim);
    OK(hk_register_get(4, &chain));
    CHECK(chain == 0);
    OK(hk_barrier());
    packed[0] = 1000.5 + me, packed[1] = 2000.5 + me;
    OK(hk_push_indirect(packed, next, pointers, 16, 16));
    OK(hk_word(next, flag, 0, 1));
    OK(hk_wait(flag, 0, HK_EQUAL, 1, HK_ANYONE, HK_FOREVER, NULL));
    CHECK(matrix[100 + me] == 1000.5 + before && matrix[101 + me] == 2000.5 + before && matrix[102 + me] == 0);
    OK(hk_barrier());
    OK(hk_pull_register(back, next, 3, 16));
    CHECK(back[0] == 1000.5 + me && back[1] == 2000.5 + me);
    OK(hk_push_register(packed + 1, next, 3, 8));
    OK(hk_flush(next));
    OK(hk_barrier());
    CHECK(matrix[100 + me] == 2000.5 + before);
    OK(hk_barrier());

    /* To a chain: a header, and a column of the matrix. */
    commands[0].way = HK_WRITE, commands[0].area = heading, commands[0].offset = 0;
    commands[0].block = sizeof head, commands[0].count = 1, commands[0].distance = sizeof head;
    commands[1].way = HK_WRITE, commands[1].area = own, commands[1].offset = 8 * 7;
    commands[1].block = 8, commands[1].count = ROWS, commands[1].distance = 8 * COLUMNS;
    commands[2] = commands[0], commands[2].way = HK_READ;
    commands[3] = commands[1], commands[3].way = HK_READ;
    OK(hk_chain_create(3, commands, 4, &chain));
    mine[1] = chain;
    OK(hk_barrier());
    for (at = 0; at < ROWS + 2; at++) packed[at] = 10000 * me + at;
    OK(hk_push_indirect(packed, next, pointers, 8, sizeof packed));
    OK(hk_flush(next));
    OK(hk_barrier());
    CHECK(head[0] == 10000 * before && head[1] == 10000 * before + 1);
    for (at = 0; at < ROWS; at++) CHECK(matrix[COLUMNS * at + 7] == 10000 * before + at + 2);
    OK(hk_barrier());
    memset(back, 0, sizeof back);
    OK(hk_pull_indirect(back, next, pointers, 8, sizeof back));
    CHECK(memcmp(back, packed, sizeof back) == 0);
    OK(hk_barrier());

    /* What cannot be. */
    FAILS(HK_ERR_REFUSED, hk_pull_indirect(back, next, pointers, 0, 8));
    FAILS(HK_ERR_REFUSED, hk_pull_indirect(back, next, pointers, 8, sizeof back + 8));
    FAILS(HK_ERR_REFUSED, hk_pull_register(back, next, 7, 8));
    FAILS(HK_ERR_INVALID, hk_push_register(packed, next, HK_REGISTERS, 8));
    FAILS(HK_ERR_INVALID, hk_push_register(packed, next, -1, 8));
    FAILS(HK_ERR_INVALID, hk_register_set(HK_REGISTERS, zero));
    FAILS(HK_ERR_INVALID, hk_register_get(HK_REGISTERS, &zero));
    FAILS(HK_ERR_INVALID, hk_register_get(0, NULL));
    FAILS(HK_ERR_RANK, hk_push_register(packed, size, 0, 8));
    FAILS(HK_ERR_BOUNDS, hk_push_indirect(packed, next, pointers, 32, 8));
    FAILS(HK_ERR_BOUNDS, hk_pointer_to(me, own, sizeof matrix + 1, &aim));
    FAILS(HK_ERR_INVALID, hk_pointer_to(me, pointers, 0, &aim));
    commands[1].count = ROWS + 1;
    FAILS(HK_ERR_BOUNDS, hk_chain_create(4, commands, 2, &chain));
    commands[1].count = 0;
    FAILS(HK_ERR_INVALID, hk_chain_create(4, commands, 2, &chain));
    commands[1].count = 1, commands[1].way = 5;
    FAILS(HK_ERR_INVALID, hk_chain_create(4, commands, 2, &chain));
    FAILS(HK_ERR_INVALID, hk_chain_create(4, commands, 0, &chain));
    FAILS(HK_ERR_AREA_ID, hk_chain_create(3, commands, 1, &chain));
    OK(hk_area_open(me, 3, &nothing));
    CHECK(hk_local(nothing) == NULL);
    OK(hk_barrier());
    OK(hk_area_revoke(3));
    OK(hk_barrier());
    FAILS(HK_ERR_REFUSED, hk_pull_indirect(back, next, pointers, 8, 8));
    OK(hk_barrier());
    OK(hk_area_revoke(1));
    OK(hk_area_revoke(2));
    OK(hk_finalize());
    return 0;
}
