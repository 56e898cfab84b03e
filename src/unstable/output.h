/* Outputs: paths to write to. Every file that is written goes through here: streams are written to
 * and never replaced, links are followed, and files are replaced at once.
 */
#ifndef GROVE_UNSTABLE_OUTPUT_H
#define GROVE_UNSTABLE_OUTPUT_H

#include "../base/error.h"
#include <stdbool.h>

typedef enum {
    GROVE_OUTPUT_UNKNOWN, /* the system reports an error, or a link leads nowhere: with a message */
    GROVE_OUTPUT_NEW,     /* nothing is there */
    GROVE_OUTPUT_FILE,
    GROVE_OUTPUT_FOLDER,
    GROVE_OUTPUT_STREAM /* a device, a FIFO, a socket, an open descriptor such as /dev/stdout */
} grove_output_kind;

/* The kind of file at `path`, links followed. *place: the name of a file or folder behind all
 * links, of anything else `path`; caller frees. `place` may be NULL. */
grove_output_kind grove_output_examine(const char *path, char **place, grove_error *error);

/* Whether a file, or with `folder` a folder such as a Measurement Set, may be made at `path`: no
 * file in place of a folder, and nothing inside of a casacore table. 0 or a code with a message.
 */
int grove_output_check_place(const char *path, bool folder, grove_error *error);
/* The same of a file, and where one is, only with `overwrite`. */
int grove_output_check(const char *path, bool overwrite, grove_error *error);

/* Opens a stream; for an open descriptor of this process a copy, which continues at its position.
 * -1 with a message. */
int grove_output_open(const char *path, grove_error *error);
/* Sends all bytes of the file `from` to the stream. 0, or -1 with errno. */
int grove_output_send(int from, int to);

#endif
