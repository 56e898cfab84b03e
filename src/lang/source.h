/* Source texts, and places in them. */
#ifndef GROVE_LANG_SOURCE_H
#define GROVE_LANG_SOURCE_H

#include "base/error.h"
#include "base/memory.h"

#include <stdbool.h>

/* A text with a name. Lives in an arena. */
typedef struct {
    const char *path, *text;
    size_t length;
    size_t *lines; /* offsets of the lines */
    size_t line_count;
    bool main; /* not included by another */
} grove_source;

/* The bytes [begin, end) of a source. */
typedef struct {
    size_t begin, end;
} grove_source_span;

/* `text` is copied; messages show the path. */
grove_source *grove_source_new(grove_arena *arena, const char *path, const char *text);
/* The place of a span; underlining ends at the end of its first line. */
grove_place grove_source_place(const grove_source *source, grove_source_span span);
/* Number of blanks at the beginning of the line of `at`. */
size_t grove_source_indent(const grove_source *source, size_t at);

/* The path of the tree file `name`: `name` itself when absolute; else next to the file `from`
 * (NULL: in the current folder), in GROVE_TREE_PATH, in `folders` (NULL-terminated, may be NULL).
 * From the arena. NULL when it is not found, with the searched folders in *searched. */
const char *grove_source_find(grove_arena *arena, const char *name, const char *from,
                              const char *const *folders, const char **searched);

#endif
