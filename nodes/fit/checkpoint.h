/* Checkpoints: the solutions of a run so far, in a file that outlives it if it does not end. */
#ifndef GROVE_NODES_FIT_CHECKPOINT_H
#define GROVE_NODES_FIT_CHECKPOINT_H

#include "base/error.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct grove_checkpoint grove_checkpoint;

/* The beginning of a record of a fit. */
typedef struct {
    int64_t cycle, domains; /* of the run; how many solution domains the record has */
} grove_checkpoint_head;

/* The fate of the records of a run before that did not end. */
typedef enum {
    GROVE_CHECKPOINT_KEEP,    /* they are an error */
    GROVE_CHECKPOINT_REPLACE, /* records of another key are dropped: the run begins anew */
    GROVE_CHECKPOINT_RESUME   /* it goes on from them */
} grove_checkpoint_use;

/* Opens and locks the file OUTPUT.checkpoint, or makes it. `key`: lines "NAME: VALUE" of all that
 * the records depend on: which run it is, an empty line, and its inputs. Where the run before is
 * resumed, its key must be the same, and bytes after the last complete record are dropped.
 * Unfinished changes to OUTPUT of a run that died are undone first. Records of a run that has
 * ended, up to removing them, are dropped. NULL with a message. */
grove_checkpoint *grove_checkpoint_open(const char *path, const char *key, grove_checkpoint_use use,
                                        grove_error *error);
/* Of the run before: how many domains were dropped. */
int64_t grove_checkpoint_dropped(const grove_checkpoint *c);
bool grove_checkpoint_is(const char *path); /* by its name */
/* A line about the file of a run that has not ended; only reads it. Caller frees; NULL with a
 * message. */
char *grove_checkpoint_describe(const char *path, grove_error *error);
/* Whether the run that is to be resumed has ended: all that it writes is in place. */
bool grove_checkpoint_has_ended(const grove_checkpoint *c);
/* Whether the file OUTPUT is one that this run, or the one that is resumed, has put in place. */
bool grove_checkpoint_has_output(const grove_checkpoint *c);
/* Records of the run before, in order; borrowed. */
int64_t grove_checkpoint_count(const grove_checkpoint *c);
const char *grove_checkpoint_record(const grove_checkpoint *c, int64_t number, size_t *length);
/* Appends a record, whole or not at all; on disk a second later at most, or with the next one. 0,
 * or a code with a message. */
int grove_checkpoint_append(grove_checkpoint *c, const char *bytes, size_t length,
                            grove_error *error);
/* Notes that a cycle of the run, counted from 1, has all, and will put the file `prepared` in place
 * as OUTPUT, when it puts in place all else that it writes; on disk when it returns. 0, or a code
 * with a message. */
int grove_checkpoint_complete(grove_checkpoint *c, int64_t cycle, bool is_last,
                              const char *prepared, grove_error *error);
/* Closes the file, which stays if it has records and the run has not ended well. NULL is fine. */
void grove_checkpoint_close(grove_checkpoint *c, bool ended_well);

#endif
