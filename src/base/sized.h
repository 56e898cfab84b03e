/* Structures of programs and plugins, which may have been compiled with fewer or more members than
 * this library: the first member is their size there, a size_t. */
#ifndef GROVE_BASE_SIZED_H
#define GROVE_BASE_SIZED_H

#include "base/error.h"

#include <stddef.h>

/* Takes the structure `from` into the `size` bytes at `to`, which then has this size: members that
 * `from` does not have are 0. 0, or GROVE_INVALID, with a message that names the structure, where
 * its size is not set, or it has more members and they are not all 0. */
int grove_sized_take(void *to, size_t size, const void *from, const char *name, grove_error *error);
/* Fills the structure `to` from the `size` bytes of `from`, but for its size: members that `from`
 * does not have become 0. GROVE_INVALID, with a message, where the size of `to` is not set. */
int grove_sized_give(void *to, const void *from, size_t size, const char *name, grove_error *error);

#endif
