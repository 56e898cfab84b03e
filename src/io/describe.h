/* What is in a file, for people. */
#ifndef GROVE_IO_DESCRIBE_H
#define GROVE_IO_DESCRIBE_H

#include "base/error.h"

/* A Measurement Set, a sky model, an antenna layout or the name of a shipped array (`folders`:
 * where these are, NULL-terminated). Caller frees; NULL with a message. */
char *grove_data_describe(const char *path, const char *const *folders, grove_error *error);

#endif
