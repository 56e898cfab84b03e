/* Correct: built when the descriptor ended before `close`; later fields are not read. */
#include "plain.h"

GROVE_CLASS(shorter) = {
    .abi_major = GROVE_ABI_MAJOR,
    .abi_minor = GROVE_ABI_MINOR,
    .struct_size = offsetof(grove_class, close),
    .name = "shorter",
    PLAIN_SIZES,
    PLAIN,
    .close = (void (*)(grove_node *))(uintptr_t)1,
};
