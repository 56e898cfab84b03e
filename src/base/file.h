/* Files: reading whole, safe writing, paths. */
#ifndef GROVE_BASE_FILE_H
#define GROVE_BASE_FILE_H

#include "base/error.h"
#include <stdbool.h>
#include <stdio.h>

/* The whole of a regular file, 0-terminated (length without the 0). Limits: `most` bytes, error
 * beyond. Caller frees. NULL with a message "PATH: ..." on failure (missing, a folder, unreadable,
 * too large, contains NUL bytes when `text`). */
char *grove_file_read(const char *path, size_t most, bool text, size_t *length, grove_error *error);

/* Safe writing: grove_file_create opens a new temporary file beside `path`; grove_file_commit
 * flushes, syncs and renames it to `path` (which is replaced at once); grove_file_discard removes
 * it. Every write error shows at the latest in commit, with the path and the reason. Both free. */
typedef struct grove_file grove_file;
grove_file *grove_file_create(const char *path, grove_error *error);
FILE *grove_file_stream(grove_file *file);
int grove_file_commit(grove_file *file, grove_error *error);
void grove_file_discard(grove_file *file);

bool grove_path_exists(const char *path);
bool grove_path_is_folder(const char *path);
bool grove_path_is_link(const char *path);
/* folder of `base_file` joined with `path` when that is relative; a copy otherwise. Caller frees.
 */
char *grove_path_beside(const char *base_file, const char *path);
char *grove_path_join(const char *folder, const char *name); /* caller frees */
/* Creates a folder and its parents. Removes a file or folder tree (missing is fine; symbolic links
 * are removed, not followed). */
int grove_folder_make(const char *path, grove_error *error);
int grove_path_remove(const char *path, grove_error *error);
/* Renames, but fails with EEXIST where `to` exists; exchanges two names at once. 0, or -1 with
 * errno as the system sets it; ENOTSUP where system or file system cannot do it. */
int grove_path_rename_new(const char *from, const char *to);
int grove_path_exchange(const char *a, const char *b);
/* On disk: a file's data, a folder's names. 0, or -1 with errno. */
int grove_path_sync(const char *path);
/* The folder that has it ("." for a plain name), and its name there. Caller frees. */
char *grove_path_folder(const char *path);
char *grove_path_name(const char *path);
/* A copy of a regular file under a name that must be new; 0, or -1 with errno. */
int grove_file_copy(const char *from, const char *to);
/* Names in a folder, sorted, without "." and ".."; ends with NULL; free each and the list. */
char **grove_folder_list(const char *path);

#endif
