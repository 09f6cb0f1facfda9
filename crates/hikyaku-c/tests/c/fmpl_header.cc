// fmpl.h in C++: everything has C linkage and its types are usable.
#include <fmpl.h>

#include <cstring>

static void add(void *inout, const void *in, int count) {
    for (int i = 0; i < count; i++) static_cast<short *>(inout)[i] += static_cast<const short *>(in)[i];
}

int main() {
    double out = 2.5, in = 0;
    short small = 3;
    size_t bytes = 0;
    fmpl_func own = fmpl_dsum;
    fmpl_request request;
    bool good = fmpl_init(nullptr, nullptr, 2) == FMPL_SUCCESS &&
                fmpl_send(&out, sizeof out, 0, 1, FMPL_COMM_WORLD) == FMPL_SUCCESS &&
                fmpl_recv(&in, sizeof in, 0, FMPL_TAG_ANY, FMPL_COMM_WORLD) == FMPL_SUCCESS && in == 2.5 &&
                fmpl_get_count(&bytes) == FMPL_SUCCESS && bytes == sizeof in &&
                fmpl_allreduce(&in, 1, own, FMPL_COMM_WORLD, nullptr) == FMPL_SUCCESS && in == 2.5 &&
                fmpl_func_create(add, sizeof small, &own) == FMPL_SUCCESS &&
                fmpl_scan(&small, 1, own, FMPL_COMM_WORLD, nullptr) == FMPL_SUCCESS && small == 3 &&
                fmpl_send_init(&out, sizeof out, 0, 0, FMPL_COMM_WORLD, &request) == FMPL_SUCCESS &&
                fmpl_request_free(&request) == FMPL_SUCCESS &&
                fmpl_ibarrier(FMPL_COMM_WORLD, &request) == FMPL_SUCCESS && fmpl_wait(request) == FMPL_SUCCESS &&
                fmpl_finalize() == FMPL_SUCCESS &&
                std::strcmp(fmpl_strerror(FMPL_SUCCESS), "all is well") == 0;
    return good ? 0 : 1;
}
