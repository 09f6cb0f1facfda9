// The header in C++: everything has C linkage and its types are usable.
#include <hikyaku.h>

#include <cstring>

static void on_message(hk_context *context, const hk_message *message, void *user) {
    *static_cast<uint64_t *>(user) += message->arguments[0];
    hk_context_reply(context, message->arguments);
}

int main() {
    uint64_t sum = 0, arguments[HK_ARGUMENT_COUNT] = {3}, reply[HK_ARGUMENT_COUNT];
    hk_area area = {};
    bool good = std::strcmp(hk_version(), HK_VERSION) == 0 && hk_init() == HK_SUCCESS &&
                hk_alloc(64, &area) == HK_SUCCESS && hk_handler_register(1, on_message, &sum) == HK_SUCCESS &&
                hk_call(0, 1, arguments, nullptr, 0, reply) == HK_SUCCESS && reply[0] == 3 && sum == 3 &&
                hk_word(0, area, 8, 4) == HK_SUCCESS &&
                hk_wait(area, 8, HK_EQUAL, 4, HK_ANYONE, HK_FOREVER, nullptr) == HK_SUCCESS &&
                hk_allreduce(&sum, 1, HK_U64, HK_MAX) == HK_SUCCESS && hk_finalize() == HK_SUCCESS;
    return good ? 0 : 1;
}
