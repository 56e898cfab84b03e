/* Modules of Grove's own, which alone link a foreign library: opened when they are needed. */
#ifndef GROVE_BASE_MODULE_H
#define GROVE_BASE_MODULE_H

#include "base/error.h"
#include <stdbool.h>

/* The address of `symbol` in the module NAME.so, which lies beside libgrove: in the folder grove/
 * of an installed one, in the same folder in a build tree. Once open it stays so. NULL with
 * GROVE_MISSING and the message `missing` when this build has no such module, with GROVE_ABI when
 * it cannot be opened. */
const void *grove_module_open(const char *name, const char *symbol, const char *missing,
                              grove_error *error);

/* Whether this build has the module. */
bool grove_module_exists(const char *name);

#endif
