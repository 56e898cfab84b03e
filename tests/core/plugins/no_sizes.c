/* Does not declare the sizes of its structures. */
#include "plain.h"

GROVE_CLASS(no_sizes) = {
    .abi_major = GROVE_ABI_MAJOR,
    .abi_minor = GROVE_ABI_MINOR,
    .struct_size = sizeof(grove_class),
    .name = "no_sizes",
    PLAIN,
};
