/* Memory, text, files, errors, messages and interruption for node classes and programs. Errors that
 * these functions report go to the grove_error that the caller gives.
 */
#ifndef GROVE_UTIL_H
#define GROVE_UTIL_H

#include "base/error.h"
#include "base/file.h"
#include "base/log.h"
#include "base/memory.h"
#include "base/text.h"
#include "base/unit.h"

#endif
