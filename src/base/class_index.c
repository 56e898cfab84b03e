#include "base/class_index.h"

#include "base/file.h"
#include "base/memory.h"
#include "base/text.h"

#include <stdlib.h>
#include <string.h>

enum { MAX_BYTES = 1 << 20 };

static void add_line(grove_class_index *index, char *line, const char *path, int number,
                     grove_error *error)
{
    static const char blanks[] = " \t\r";
    char *rest = NULL;
    const char *class_ = strtok_r(line, blanks, &rest);
    const char *module = class_ ? strtok_r(NULL, blanks, &rest) : NULL;

    if (!class_)
        return;
    if (!module || strtok_r(NULL, blanks, &rest) || strchr(module, '/')) {
        grove_fail(error, GROVE_INVALID,
                   "%s:%d: the line of '%s' is not CLASS MODULE, such as: sin arithmetic", path,
                   number, class_);
        return;
    }
    grove_grow((void **)&index->lines, &index->capacity, index->count, sizeof(*index->lines));
    index->lines[index->count++] = (grove_class_index_line){class_, module};
}

void grove_class_index_read(grove_class_index *index, const char *folder, grove_error *error)
{
    char *path = grove_path_join(folder, "classes.index");
    int number = 0;

    *index = (grove_class_index){0};
    if (grove_path_exists(path))
        index->text = grove_file_read(path, MAX_BYTES, true, NULL, error);
    for (char *line = index->text; line; number++) {
        char *end = strchr(line, '\n');
        if (end)
            *end = 0;
        add_line(index, line, path, number + 1, error);
        line = end ? end + 1 : NULL;
    }
    free(path);
}

void grove_class_index_free(grove_class_index *index)
{
    free(index->lines);
    free(index->text);
}

bool grove_class_index_has_module(const grove_class_index *index, const char *module)
{
    for (size_t i = 0; i < index->count; i++)
        if (!strcmp(index->lines[i].module, module))
            return true;
    return false;
}
