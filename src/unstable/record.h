/* The record of a run: changes to folders: either all happen or none, also when the process dies.
 *
 * Changes are first prepared in working folders, each next to or inside of the folder that it will
 * change. Committing writes down the new names and the old files, renames, and removes the record:
 * that moment commits. A record that is still there belongs to a run that died:
 * grove_record_recover puts everything back. */
#ifndef GROVE_UNSTABLE_RECORD_H
#define GROVE_UNSTABLE_RECORD_H

#include "../base/file.h"
#include <stdbool.h>

typedef struct grove_record grove_record;
grove_record *grove_record_new(void);
/* Removes the working folders; changes that were not committed are gone. NULL is fine. */
void grove_record_free(grove_record *record);

/* Of the run that calls the class, in .begin and .prepare of an action; borrowed. */
struct grove_call;
grove_record *grove_call_record(const struct grove_call *call);

/* Whether runs wait for files that another run has open (the default), or fail. */
void grove_record_wait(bool wait);
bool grove_record_waits(void);

/* Declares a path that the run will write, so that locks of all paths can be taken at once. The
 * declared paths, NULL-terminated; borrowed. */
void grove_record_expect(grove_record *record, const char *path);
const char *const *grove_record_expected(const grove_record *record);

/* A new empty folder FOLDER/PREFIXxxxxxx for work, which only this user may enter and which is
 * locked as long as the record lives. In it, the prepared folder or file has the name
 * GROVE_RECORD_TABLE. Borrowed; NULL with a message. */
#define GROVE_RECORD_TABLE "table"
const char *grove_record_work(grove_record *record, const char *folder, const char *prefix,
                              grove_error *error);
/* Removes a working folder and its planned changes. */
void grove_record_drop(grove_record *record, const char *work);

/* The files of WORK/table replace the files of the folder around WORK: different files replace the
 * ones of their names, table.dat last, and data files that are not in WORK/table are removed.
 * `without_lock`: table.lock is removed first. It has the number of columns and rows; casacore
 * makes a new one. */
void grove_record_add_files(grove_record *record, const char *work, bool without_lock);
/* The folder or file WORK/table will have the name `path`, next to WORK. `replace`: an existing one
 * is replaced; else nothing may be there. */
void grove_record_add_path(grove_record *record, const char *work, const char *path, bool replace);

/* A file to be written in a working folder of its own; then it will have the name `path`, as above.
 * A run that died there is recovered first. Unless `overwrite`, a file of that name is an error,
 * also one that another program has made in the meantime: it is kept. A stream (unstable/output.h)
 * gets it when it is added. NULL, or a code, with a message. */
grove_file *grove_record_create(grove_record *record, const char *path, bool overwrite,
                                grove_error *error);
int grove_record_add_file(grove_record *record, grove_file *file, bool overwrite,
                          grove_error *error);

/* Makes all changes, or none and says why. Data and folders are on disk when it returns. */
int grove_record_commit(grove_record *record, grove_error *error);

/* ---- after a run that died ---- */

/* The names of working folders inside of a folder, and next to it, begin with these. */
#define GROVE_RECORD_INSIDE ".grove-"
char *grove_record_prefix(const char *path); /* next to it: ".NAME.grove-"; caller frees */

typedef enum { GROVE_RECORD_NONE, GROVE_RECORD_CLEANED, GROVE_RECORD_UNDONE } grove_record_state;

/* Whether a working folder inside or next to `path` is left from a run that died; NONE also where
 * all belong to runs that live. */
int grove_record_examine(const char *path, grove_record_state *state, grove_error *error);
/* Restores `path`, and all other outputs of the same run, to the state before that run, or finishes
 * tidying up for a run that had committed. The caller has the exclusive lock of `path`. Fails, and
 * changes nothing, when files have changed since that run. */
int grove_record_recover(const char *path, grove_record_state *done, grove_error *error);
/* The same for a file that is to be written; a note reports restored files. */
int grove_record_recover_file(const char *path, grove_error *error);

#endif
