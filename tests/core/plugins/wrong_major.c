/* Built for another major version of the ABI. */
#include "plain.h"

GROVE_CLASS(wrong_major) = {
    .abi_major = GROVE_ABI_MAJOR + 1,
    .abi_minor = 0,
    .struct_size = sizeof(grove_class),
    .name = "wrong_major",
    PLAIN_SIZES,
    PLAIN,
};
