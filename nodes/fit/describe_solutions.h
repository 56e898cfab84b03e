/* Descriptions of H5parm files for users. */
#ifndef GROVE_NODES_FIT_DESCRIBE_SOLUTIONS_H
#define GROVE_NODES_FIT_DESCRIBE_SOLUTIONS_H

#include "base/error.h"

/* The solution tables of a file: axes, numbers, how the fits ended, history. Caller frees; NULL
 * with a message. */
char *grove_solutions_describe(const char *path, grove_error *error);

#endif
