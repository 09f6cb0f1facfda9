/* Millions of puts that nobody waits for: neither rank takes more memory for them. */
#include "ompl_check.h"

enum { PUTS = 100000, LENGTH = 64 };

static long resident_kilobytes(void) {
    char line[256];
    long kilobytes = -1;
    FILE *status = fopen("/proc/self/status", "r");
    CHECK(status != NULL);
    while (fgets(line, sizeof line, status)) sscanf(line, "VmRSS: %ld", &kilobytes);
    fclose(status);
    return kilobytes;
}

static void flood(uint32_t peer, long puts) {
    long i;
    for (i = 0; i < puts; i++) {
        memcpy((char *)ompl_base() + 4096, &i, sizeof i);
        OK(ompl_put(4096, peer, 8192 + i % 64 * LENGTH, LENGTH));
    }
}

int main(int count, char **arguments) {
    const long puts = count > 1 ? strtol(arguments[1], NULL, 10) : PUTS;
    uint32_t peer;
    long before, i;
    OK(ompl_init(1 << 16));
    peer = (uint32_t)((ompl_rank() + 1) % ompl_size());
    flood(peer, puts / 10);
    before = resident_kilobytes();
    flood(peer, puts);
    CHECK(resident_kilobytes() < before + 4096);
    OK(ompl_put_word(peer, 64));
    OK(ompl_wait(64));
    for (i = puts - 64; i < puts; i++) CHECK(memcmp((char *)ompl_base() + 8192 + i % 64 * LENGTH, &i, sizeof i) == 0);
    OK(ompl_finalize());
    return 0;
}
