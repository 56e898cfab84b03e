/* The index of a folder of modules: which module has which classes, files and services. */
#ifndef GROVE_BASE_CLASS_INDEX_H
#define GROVE_BASE_CLASS_INDEX_H

#include "base/error.h"
#include <stdbool.h>
#include <stddef.h>

typedef struct {
    /* class_: a class; an ending of files, such as .fits, or / of folders; or a service, @NAME. The
     * module's file is MODULE.so. */
    const char *class_, *module;
} grove_class_index_line;

typedef struct {
    grove_class_index_line *lines;
    size_t count, capacity;
    char *text; /* owned; the lines point into it */
} grove_class_index;

/* Reads the file classes.index of `folder`: lines of two words, CLASS MODULE, ENDING MODULE or
 * @SERVICE MODULE. Without such a file the index is empty. An invalid line is reported in `error`
 * as FILE:LINE and ignored. */
void grove_class_index_read(grove_class_index *index, const char *folder, grove_error *error);
void grove_class_index_free(grove_class_index *index);
bool grove_class_index_has_module(const grove_class_index *index, const char *module);

#endif
