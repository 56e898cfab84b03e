/* The list of changes in one folder: written, read, undone. */
#include "base/record_private.h"

#include "base/file.h"
#include "base/memory.h"
#include "base/text.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const char title[] = "grove changes 1";

void grove_change_add(grove_change_list *list, const char *name, grove_file_mark before,
                      grove_file_mark after)
{
    grove_grow((void **)&list->changes, &list->capacity, list->count, sizeof(grove_change));
    list->changes[list->count++] = (grove_change){grove_strdup(name), before, after};
}

void grove_change_list_release(grove_change_list *list)
{
    for (size_t i = 0; i < list->count; i++)
        free(list->changes[i].name);
    free(list->changes);
    free(list->work);
    free(list->home);
    memset(list, 0, sizeof(*list));
}

char *grove_change_target(const grove_change_list *list, const grove_change *change)
{
    char *folder = grove_path_folder(list->work);
    char *path = grove_path_join(folder, change->name);

    free(folder);
    return path;
}

/* ---- names of working folders ---- */

char *grove_record_line(const char *home, const char *work)
{
    char *name = grove_path_name(home), *set = grove_path_folder(home);
    size_t length = strlen(set);
    bool inside = !strncmp(name, GROVE_RECORD_INSIDE, strlen(GROVE_RECORD_INSIDE)) &&
                  strcmp(home, work) != 0 && !strncmp(work, set, length);
    const char *rest = work + (inside ? length + strspn(work + length, "/") : 0);

    inside = inside && (set[length - 1] == '/' || work[length] == '/');
    free(name);
    free(set);
    return grove_strdup(inside ? rest : work);
}

char *grove_record_line_path(const char *home, const char *line)
{
    if (line[0] == '/')
        return grove_strdup(line);
    char *set = grove_path_folder(home), *path = grove_path_join(set, line);
    free(set);
    return path;
}

/* The home of a working folder, as its list has it: ".", up to the set and down, or absolute. */
static char *home_line(const grove_change_list *list)
{
    grove_text text = {0};
    char *line = grove_record_line(list->home, list->work), *name = grove_path_name(list->home);

    if (!strcmp(list->home, list->work)) {
        grove_text_add(&text, ".");
    } else if (line[0] == '/') {
        grove_text_add(&text, "%s", list->home);
    } else {
        for (const char *at = line; at; at = strchr(at + 1, '/'))
            grove_text_add(&text, "../");
        grove_text_add(&text, "%s", name);
    }
    free(line);
    free(name);
    return text.at;
}

static char *home_of(const char *work, const char *line)
{
    char *at = grove_strdup(work), *home;

    for (; !strncmp(line, "../", 3); line += 3) {
        char *folder = grove_path_folder(at);
        free(at);
        at = folder;
    }
    home = !strcmp(line, ".") ? grove_strdup(work)
           : line[0] == '/'   ? grove_strdup(line)
                              : grove_path_join(at, line);
    free(at);
    return home;
}

/* ---- as a file ---- */

static void print_mark(FILE *to, const grove_file_mark *mark)
{
    fprintf(to, "%" PRIu64 " %" PRId64 " %" PRId64 " %" PRId64 " ", mark->inode, mark->size,
            mark->seconds, mark->nanoseconds);
}

grove_file *grove_change_list_write(const grove_change_list *list, grove_error *error)
{
    char *path = grove_path_join(list->work, "changes");
    grove_file *file = grove_file_create(path, error);

    if (file) {
        FILE *to = grove_file_stream(file);
        char *home = home_line(list);
        fprintf(to, "%s\n%s\n%s\n", title, list->folder ? "folder" : "files", home);
        free(home);
        for (size_t i = 0; i < list->count; i++) {
            print_mark(to, &list->changes[i].before);
            print_mark(to, &list->changes[i].after);
            fprintf(to, "%s\n", list->changes[i].name);
        }
    }
    free(path);
    return file;
}

static int parse_change(grove_change_list *list, const char *line)
{
    grove_file_mark before, after;
    int at = 0;

    if (sscanf(line,
               "%" SCNu64 " %" SCNd64 " %" SCNd64 " %" SCNd64 " %" SCNu64 " %" SCNd64 " %" SCNd64
               " %" SCNd64 " %n",
               &before.inode, &before.size, &before.seconds, &before.nanoseconds, &after.inode,
               &after.size, &after.seconds, &after.nanoseconds, &at) != 8 ||
        !at || !line[at] || strchr(line + at, '/') || !strcmp(line + at, "..") ||
        !strcmp(line + at, "."))
        return GROVE_INVALID;
    grove_change_add(list, line + at, before, after);
    return 0;
}

static int parse(grove_change_list *list, char *text)
{
    char *next = NULL, *line = strtok_r(text, "\n", &next);
    int code = line && !strcmp(line, title) ? 0 : GROVE_INVALID;

    if (code || !(line = strtok_r(NULL, "\n", &next)))
        return GROVE_INVALID;
    list->folder = !strcmp(line, "folder");
    if (!(line = strtok_r(NULL, "\n", &next)))
        return GROVE_INVALID;
    list->home = home_of(list->work, line);
    while (!code && (line = strtok_r(NULL, "\n", &next)))
        code = parse_change(list, line);
    return code;
}

int grove_change_list_read(grove_change_list *list, const char *work, grove_error *error)
{
    char *path = grove_path_join(work, "changes");
    int found = grove_path_exists(path);

    memset(list, 0, sizeof(*list));
    if (found) {
        char *text = grove_file_read(path, (size_t)16 << 20, true, NULL, error);
        list->work = grove_strdup(work);
        if (!text || parse(list, text)) {
            if (text)
                grove_fail(error, GROVE_INVALID, "%s: not a list of changes by Grove", path);
            grove_change_list_release(list);
            found = GROVE_INVALID;
        }
        free(text);
    }
    free(path);
    return found;
}

/* ---- undone ---- */

/* Where the file or folder lies that was there before, when it is not under its name: NULL when it
 * is nowhere. Caller frees. */
static int find_old(const grove_change_list *list, const grove_change *change, char **found,
                    grove_error *error)
{
    char *at[2] = {grove_format("%s/old/%s", list->work, change->name),
                   list->folder ? grove_path_join(list->work, GROVE_RECORD_TABLE) : NULL};
    int code = 0;

    *found = NULL;
    for (int k = 0; k < 2 && at[k]; k++) {
        grove_file_mark mark = {0};
        if (!code && !*found)
            code = grove_file_mark_of(at[k], &mark, error);
        if (!code && !*found && grove_file_mark_equal(&mark, &change->before))
            *found = grove_strdup(at[k]);
        free(at[k]);
    }
    return code;
}

/* A new folder was not there before: a folder of its name is now another program's, or the empty
 * one that kept the name for it. */
static bool is_foreign(const grove_change_list *list, const grove_change *change)
{
    return list->folder && !change->before.inode;
}

static int check_one(const grove_change_list *list, const grove_change *change, grove_error *error)
{
    char *target = grove_change_target(list, change), *old = NULL;
    grove_file_mark now;
    int code = grove_file_mark_of(target, &now, error);
    bool before = grove_file_mark_equal(&now, &change->before);
    bool after = grove_file_mark_equal(&now, &change->after);

    if (!code && !before && change->before.inode)
        code = find_old(list, change, &old, error);
    if (code || !change->after.inode)
        ; /* the old file is restored over any other one */
    else if (!before && !after && now.inode && !is_foreign(list, change))
        code = grove_fail(error, GROVE_INVALID,
                          "%s: has changed since the run that wrote it died; it is not restored. "
                          "To keep all files in their present state, remove %s",
                          target, list->work);
    else if (!before && change->before.inode && !old)
        code = grove_fail(error, GROVE_IO,
                          "%s: its content before the run that died is no longer in %s", target,
                          list->work);
    free(old);
    free(target);
    return code;
}

static int undo_one(const grove_change_list *list, const grove_change *change, grove_error *error)
{
    char *target = grove_change_target(list, change), *old = NULL;
    char *own = list->folder
                    ? grove_path_join(list->work, GROVE_RECORD_TABLE)
                    : grove_format("%s/" GROVE_RECORD_TABLE "/%s", list->work, change->name);
    grove_file_mark now;
    int code = grove_file_mark_of(target, &now, error), failed = 0;
    if (!code && change->before.inode)
        code = find_old(list, change, &old, error);
    bool after = now.inode && grove_file_mark_equal(&now, &change->after);

    if (code || grove_file_mark_equal(&now, &change->before))
        failed = 0;
    else if (!change->after.inode)
        failed = old && rename(old, target);
    else if (old && list->folder && after && grove_path_exchange(old, target) == 0)
        failed = 0;
    else if (old && list->folder && after) {
        char *aside = grove_path_join(list->work, "undone");
        failed = rename(target, aside) || rename(old, target);
        free(aside);
    } else if (old)
        failed = rename(old, target);
    else if (after)
        failed = rename(target, own);
    else if (is_foreign(list, change))
        (void)rmdir(target);
    if (failed)
        code = grove_fail(error, GROVE_IO, "%s: cannot be restored: %s", target, strerror(errno));
    free(target);
    free(own);
    free(old);
    return code;
}

int grove_change_list_check(const grove_change_list *list, grove_error *error)
{
    int code = 0;

    for (size_t i = 0; i < list->count && !code; i++)
        code = check_one(list, &list->changes[i], error);
    return code;
}

int grove_change_list_undo(const grove_change_list *list, grove_error *error)
{
    int code = 0;

    for (size_t i = list->count; i-- > 0 && !code;)
        code = undo_one(list, &list->changes[i], error);
    char *folder = grove_path_folder(list->work);
    if (!code && grove_path_sync(folder))
        code = grove_fail(error, GROVE_IO, "%s: %s", folder, strerror(errno));
    free(folder);
    return code;
}

int grove_change_list_made(const grove_change_list *list, bool *made, grove_error *error)
{
    int code = 0;

    *made = true;
    for (size_t i = 0; i < list->count && *made && !code; i++) {
        char *target = grove_change_target(list, &list->changes[i]);
        grove_file_mark now;
        code = grove_file_mark_of(target, &now, error);
        *made = !list->changes[i].after.inode || now.inode == list->changes[i].after.inode;
        free(target);
    }
    return code;
}

void grove_change_list_tidy(const grove_change_list *list)
{
    bool made, left = grove_change_list_made(list, &made, NULL) != 0;

    for (size_t i = 0; i < list->count && made && !left; i++) {
        const grove_change *change = &list->changes[i];
        char *target = grove_change_target(list, change);
        grove_file_mark now;
        left = grove_file_mark_of(target, &now, NULL) != 0;
        if (!left && !change->after.inode && grove_file_mark_equal(&now, &change->before))
            left = unlink(target) != 0;
        free(target);
    }
    if (!left) /* or the next run that writes here will see to it */
        grove_path_remove(list->work, NULL);
}
