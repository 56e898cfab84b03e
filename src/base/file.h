/* Files: reading whole files, atomic writing, paths. */
#ifndef GROVE_BASE_FILE_H
#define GROVE_BASE_FILE_H

#include "error.h"
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

/* Reads a whole regular file of at most `max` bytes; the text ends in 0, which the length does not
 * count. Caller frees. NULL with a message "PATH: ..." if the file is missing, a folder, unreadable
 * or too large, or, when `text`, contains NUL bytes. */
char *grove_file_read(const char *path, size_t max, bool text, size_t *length, grove_error *error);

/* Atomic writing: grove_file_create opens a new temporary file next to `path`, or next to the
 * target of a link there, grove_file_create_in one in a folder; grove_file_commit flushes it, syncs
 * it and renames it to `path`, replacing an existing file at once; grove_file_move renames it to
 * another name on the same disk; grove_file_discard removes it. A write error is reported by commit
 * and move at the latest, with the path and the reason. These three free the object. A stream
 * (unstable/output.h) is never replaced: commit and move send it all bytes. */
typedef struct grove_file grove_file;
grove_file *grove_file_create(const char *path, grove_error *error);
/* The same after grove_output_check; without `overwrite` nothing is replaced that comes later. */
grove_file *grove_file_create_output(const char *path, bool overwrite, grove_error *error);
bool grove_file_is_stream(const grove_file *file); /* of such a file */
grove_file *grove_file_create_in(const char *folder, const char *path, grove_error *error);
FILE *grove_file_stream(grove_file *file);
const char *grove_file_path(const grove_file *file);
const char *grove_file_temporary(const grove_file *file); /* its name until then */
int grove_file_commit(grove_file *file, grove_error *error);
int grove_file_move(grove_file *file, const char *to, grove_error *error);
/* The same, but the new name is on disk only once its folder is synced. */
int grove_file_rename(grove_file *file, const char *to, grove_error *error);
void grove_file_discard(grove_file *file);

/* Identifies a file: renaming keeps all fields. inode 0: there is none. */
typedef struct {
    uint64_t inode;
    int64_t size, seconds, nanoseconds;
} grove_file_mark;
/* Of a link itself, not of its target. A code with a message if the system reports an error. */
int grove_file_mark_of(const char *path, grove_file_mark *mark, grove_error *error);
bool grove_file_mark_equal(const grove_file_mark *a, const grove_file_mark *b);

/* "; did you mean 'PATH'?" with the name in the folder of `path` that is nearest to it, or "".
 * Caller frees. */
char *grove_path_hint(const char *path);
/* "PATH: there is no such file or folder", with that hint: GROVE_MISSING. */
int grove_path_fail(const char *path, grove_error *error);
/* The kind of file at a path, links followed; UNKNOWN, with a message, if the system reports an
 * error. NONE only if the system reports that nothing is there. */
typedef enum {
    GROVE_PATH_UNKNOWN,
    GROVE_PATH_NONE,
    GROVE_PATH_FILE,
    GROVE_PATH_FOLDER
} grove_path_kind;
grove_path_kind grove_path_examine(const char *path, grove_error *error);
/* Whether this errno says that nothing can be at a path; all others say nothing of that. */
bool grove_path_is_absent(int reason);
bool grove_path_exists(const char *path); /* also if the system reports an error */
bool grove_path_is_folder(const char *path);
bool grove_path_is_link(const char *path);
/* Whether both are one file or folder that exists, by any names. */
bool grove_path_is_same(const char *a, const char *b);
/* The path without links, . and .., also of a file that does not exist yet; NULL where its folder
 * does not exist. Caller frees. */
char *grove_path_whole(const char *path);
/* `path` relative to the folder of `base_file`; a copy of an absolute path. Caller frees. */
char *grove_path_next_to(const char *base_file, const char *path);
char *grove_path_join(const char *folder, const char *name); /* caller frees */
/* Creates a folder and its parents; removes a file or folder tree (a missing one is no error;
 * symbolic links are removed, not followed). */
int grove_folder_make(const char *path, grove_error *error);
int grove_path_remove(const char *path, grove_error *error);
/* Renames, but fails with EEXIST where `to` exists; exchanges two names at once. 0, or -1 with
 * errno as the system sets it; ENOTSUP where system or file system cannot do it. */
int grove_path_rename_new(const char *from, const char *to);
int grove_path_exchange(const char *a, const char *b);
/* Whether this errno of a lock says that the file system has none. */
bool grove_path_has_no_locks(int reason);
/* On disk: a file's data, a folder's names. 0, or -1 with errno. */
int grove_path_sync(const char *path);
/* Begins to write a file's data to disk, without waiting. A hint: faults show when it is synced. */
void grove_path_start_sync(const char *path);
/* Frees the memory in which the system keeps a part of a file that nobody will read again. A hint.
 */
void grove_path_forget(const char *path, int64_t first, int64_t bytes);
/* The folder that has it ("." for a plain name), and its name there. Caller frees. */
char *grove_path_folder(const char *path);
char *grove_path_name(const char *path);
/* A copy of a regular file under a name that must be new; 0, or -1 with errno. */
int grove_file_copy(const char *from, const char *to);
/* Names in a folder, sorted, without "." and ".."; NULL-terminated. Free each name and the list.
 * grove_folder_list: none where it cannot be read, for uses that need not be complete;
 * grove_folder_read: NULL with a message. */
char **grove_folder_list(const char *path);
char **grove_folder_read(const char *path, grove_error *error);
void grove_folder_free(char **names); /* NULL is fine */

#endif
