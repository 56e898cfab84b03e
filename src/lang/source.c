#include "lang/source.h"

#include "base/file.h"

#include <stdlib.h>
#include <string.h>

grove_source *grove_source_new(grove_arena *arena, const char *path, const char *text)
{
    grove_source *source = grove_arena_alloc(arena, sizeof(*source));
    size_t lines = 1;

    if (!strncmp(text, "\xef\xbb\xbf", 3)) /* some editors begin a UTF-8 text with this mark */
        text += 3;
    source->path = grove_arena_text(arena, path);
    source->text = grove_arena_text(arena, text);
    source->length = strlen(text);
    for (const char *at = text; (at = strchr(at, '\n')); at++)
        lines++;
    source->lines = grove_arena_alloc(arena, lines * sizeof(size_t));
    for (const char *at = source->text; at; at = strchr(at, '\n')) {
        at += source->line_count > 0;
        source->lines[source->line_count++] = (size_t)(at - source->text);
    }
    return source;
}

static size_t line_of(const grove_source *source, size_t at)
{
    size_t low = 0, high = source->line_count;

    while (high - low > 1) {
        size_t middle = low + (high - low) / 2;
        if (source->lines[middle] <= at)
            low = middle;
        else
            high = middle;
    }
    return low;
}

grove_place grove_source_place(const grove_source *source, grove_source_span span)
{
    size_t begin = span.begin < source->length ? span.begin : source->length;
    size_t line = line_of(source, begin);
    size_t left = strcspn(source->text + begin, "\r\n");
    size_t length = span.end > begin ? span.end - begin : 1;

    return (grove_place){.file = source->path,
                         .source = source->text,
                         .line = (int)line + 1,
                         .column = (int)(begin - source->lines[line]) + 1,
                         .length = (int)(length < left ? length
                                         : left > 0    ? left
                                                       : 1)};
}

size_t grove_source_indent(const grove_source *source, size_t at)
{
    return strspn(source->text + source->lines[line_of(source, at)], " \t");
}

/* ---- searching ---- */

static bool is_file(const char *path)
{
    return grove_path_exists(path) && !grove_path_is_folder(path);
}

typedef struct {
    grove_arena *arena;
    const char *name, *found, *searched;
} search;

static void search_folder(search *s, const char *folder)
{
    if (s->found)
        return;
    char *path = grove_path_join(folder, s->name);
    if (is_file(path))
        s->found = grove_arena_text(s->arena, path);
    s->searched =
        grove_arena_format(s->arena, "%s%s%s", s->searched, s->searched[0] ? ", " : "", folder);
    free(path);
}

const char *grove_source_find(grove_arena *arena, const char *name, const char *from,
                              const char *const *folders, const char **searched)
{
    search s = {.arena = arena, .name = name, .searched = ""};
    char *next_to_file = from ? grove_path_next_to(from, name) : NULL;
    const char *first = next_to_file ? next_to_file : name;

    if (is_file(first))
        s.found = grove_arena_text(arena, first);
    s.searched = from ? "the folder of the file" : "the current folder";
    free(next_to_file);
    for (const char *at = getenv("GROVE_TREE_PATH"); at && *at && name[0] != '/';) {
        size_t length = strcspn(at, ":");
        if (length)
            search_folder(&s, grove_arena_format(arena, "%.*s", (int)length, at));
        at += length + (at[length] == ':');
    }
    for (const char *const *at = folders; at && *at && name[0] != '/'; at++)
        search_folder(&s, *at);
    *searched = name[0] == '/' ? "" : s.searched;
    return s.found;
}
