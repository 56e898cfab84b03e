/* Loadable modules of Grove itself, which link foreign libraries and are opened on demand. */
#ifndef GROVE_BASE_MODULE_H
#define GROVE_BASE_MODULE_H

#include "base/error.h"
#include <stdbool.h>

/* The address of `symbol` in the module NAME.so, in the folder grove/ beside an installed libgrove,
 * or beside libgrove in a build tree. The module stays open. NULL with GROVE_MISSING and the
 * message `missing` when this build has no such module, or with GROVE_ABI when it cannot be opened.
 */
const void *grove_module_open(const char *name, const char *symbol, const char *missing,
                              grove_error *error);

/* Whether this build has the module. */
bool grove_module_exists(const char *name);

#endif
