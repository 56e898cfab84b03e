/* The lock of a Measurement Set between runs of Grove: shared while a set is open for reading,
 * exclusive from opening it for writing to the end. Within a process all who open a set share one
 * lock, and one run at a time may write.
 *
 * Two runs that wait for each other would wait for ever. So a run takes the locks of all sets that
 * it will write at once, with the first of them. While one of them is not free, the process takes
 * none; it gives shared locks back, too, and takes them again with the others.
 *
 * The lock is on the set's folder itself, so that it needs no file and no permission to write: on
 * Linux any folder that can be read can be locked (flock). On NFS, where that is not so, it is a
 * file ".grove.lock" in the set, which a writer must be able to write. On a file system without
 * locks there is none: a writer says so. */
#ifndef GROVE_NODES_SETS_SET_LOCK_H
#define GROVE_NODES_SETS_SET_LOCK_H

#include "base/error.h"
#include "unstable/record.h"
#include <stdbool.h>

typedef struct grove_set_lock grove_set_lock;

/* Waits for the lock of `folder`, saying so once, until grove_interrupted(), or fails at once after
 * grove_record_wait(false). First puts right unfinished changes of a run that died, and says so.
 * `writer`: NULL for shared; for exclusive the record of the run (unstable/record.h): also takes
 * the locks of all sets that it expects. `changed`: called with `user` when values read from the
 * set's tables may not hold any more: close them, and open them again at the next use. */
grove_set_lock *grove_set_lock_take(const char *folder, const grove_record *writer,
                                    void (*changed)(void *user), void *user, grove_error *error);
void grove_set_lock_release(grove_set_lock *lock); /* NULL is fine */
/* The set has been written: calls `changed` of all others in this process. */
void grove_set_lock_changed(grove_set_lock *lock);

/* Whether to go on waiting for something, some tenths of a second later: the first time
 * (*times == 0) reports "PATH: WHY; waiting, Ctrl-C gives up". 0, or a code with a message. */
int grove_set_wait(const char *path, const char *why, int *times, grove_error *error);

/* 1 if the file system of a table has the locks with which casacore locks tables, 0 if it has none,
 * -1 with errno if the table cannot be examined. `warn`: a warning once for each file system
 * without: another program that has the table open goes unnoticed. */
int grove_set_has_record_locks(const char *table, bool warn);

/* Where the versions of a set's flags are, SET.flagversions, and in it the list of them: the folder
 * that CASA's flagmanager has. Caller frees; NULL: there is no such set. */
#define GROVE_SET_FLAG_LIST "FLAG_VERSION_LIST"
char *grove_set_flag_versions(const char *path);

/* Puts right unfinished changes of a run that died, at `path`, a set or the name planned for one;
 * *done says whether there was anything. For grove recover. */
int grove_set_recover(const char *path, bool *done, grove_error *error);

#endif
