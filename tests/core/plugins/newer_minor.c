/* Built for a later minor version of the ABI. */
#include "plain.h"

GROVE_CLASS(newer_minor) = {
    .abi_major = GROVE_ABI_MAJOR,
    .abi_minor = GROVE_ABI_MINOR + 1,
    .struct_size = sizeof(grove_class),
    .name = "newer_minor",
    PLAIN_SIZES,
    PLAIN,
};
