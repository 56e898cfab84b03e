/* Has a descriptor shorter than the mandatory fields. */
#include "plain.h"

GROVE_CLASS(too_short) = {
    .abi_major = GROVE_ABI_MAJOR,
    .abi_minor = GROVE_ABI_MINOR,
    .struct_size = offsetof(grove_class, options),
    .name = "too_short",
    PLAIN_SIZES,
    PLAIN,
};
