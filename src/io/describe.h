/* Descriptions of data files for users. */
#ifndef GROVE_IO_DESCRIBE_H
#define GROVE_IO_DESCRIBE_H

#include "base/error.h"

/* Describes a Measurement Set, a sky model, an H5parm file, an antenna layout or a shipped array by
 * name (looked up in `folders`, NULL-terminated). Caller frees; NULL with a message. */
char *grove_data_describe(const char *path, const char *const *folders, grove_error *error);

#endif
