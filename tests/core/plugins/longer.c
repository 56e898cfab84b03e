/* Built with fields that this Grove does not know. */
#include "plain.h"

typedef struct {
    grove_class class_;
    const char *more[4];
} longer_class;

extern const longer_class grove_class_longer;
const longer_class grove_class_longer = {
    .class_ = {.abi_major = GROVE_ABI_MAJOR,
               .abi_minor = GROVE_ABI_MINOR,
               .struct_size = sizeof(longer_class),
               .name = "longer",
               PLAIN_SIZES,
               PLAIN},
    .more = {"of", "what", "is", "new"},
};
