/* The tree language: from text to graph. */
#ifndef GROVE_LANG_LANG_H
#define GROVE_LANG_LANG_H

#include "grove.h"

#include "graph/graph.h"

/* Reads a tree file and all included files, and builds its graph. All errors of all files are in
 * `error`; NULL when there was one. Files are searched for in the current folder, in
 * GROVE_TREE_PATH and in `tree_folders` (NULL-terminated, may be NULL). */
grove_tree *grove_lang_load(const char *path, grove_classes *classes, const grove_setting *settings,
                            size_t setting_count, const char *const *tree_folders,
                            const char *const *data_folders, grove_error *error);
/* The same from text; `name` is the file name in messages. */
grove_tree *grove_lang_parse(const char *text, const char *name, grove_classes *classes,
                             const grove_setting *settings, size_t setting_count,
                             const char *const *tree_folders, const char *const *data_folders,
                             grove_error *error);
/* A tree whose only action prints the value of an expression, in which the names of the tree file
 * at `path` are known (NULL: no file); or, if the expression is an action, runs it. `name` is the
 * file name in messages. */
grove_tree *grove_lang_value(const char *path, const char *expression, const char *name,
                             grove_classes *classes, const grove_setting *settings,
                             size_t setting_count, const char *const *tree_folders,
                             const char *const *data_folders, grove_error *error);
/* The options that a file declares: "name = default   text" lines, for `grove run FILE --help`.
 * Caller frees. */
char *grove_lang_options(const char *path, const char *const *tree_folders, grove_error *error);

#endif
