/* Built when the descriptor ended before `example`: loads, without one. */
#include "plain.h"

GROVE_CLASS(shorter) = {
    .abi_major = GROVE_ABI_MAJOR,
    .abi_minor = GROVE_ABI_MINOR,
    .struct_size = offsetof(grove_class, example),
    .name = "shorter",
    PLAIN,
};
