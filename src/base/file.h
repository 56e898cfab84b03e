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

/* "; did you mean 'PATH'?" with the name in the folder of `path` that is nearest to it, or "".
 * Caller frees. */
char *grove_path_hint(const char *path);
/* "PATH: there is no such file or folder", with that hint: GROVE_MISSING. */
int grove_path_fail(const char *path, grove_error *error);
bool grove_path_exists(const char *path);
bool grove_path_is_folder(const char *path);
/* folder of `base_file` joined with `path` when that is relative; a copy otherwise. Caller frees.
 */
char *grove_path_beside(const char *base_file, const char *path);
char *grove_path_join(const char *folder, const char *name); /* caller frees */
/* Creates a folder and its parents. Removes a file or folder tree (missing is fine; symbolic links
 * are removed, not followed). */
int grove_folder_make(const char *path, grove_error *error);
int grove_path_remove(const char *path, grove_error *error);
/* Names in a folder, sorted, without "." and ".."; ends with NULL; free each and the list. */
char **grove_folder_list(const char *path);

#endif
