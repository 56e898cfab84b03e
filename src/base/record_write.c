/* The content of a record: the changes of each working folder, found and written down. */
#include "base/record_private.h"

#include "base/file.h"
#include "base/memory.h"
#include "base/text.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* Data files of a table begin so, as do the files that describe it. */
static bool is_table_file(const char *name)
{
    return !strncmp(name, "table.", 6) && strcmp(name, "table.lock") != 0 &&
           strcmp(name, "table.info") != 0;
}

/* Files that others point to come first: data, then headers of data, then the table's own. */
static int rank(const grove_change *change)
{
    const char *name = change->name;

    if (!strcmp(name, "table.lock"))
        return 0;
    if (!change->after.inode)
        return 4;
    if (!strcmp(name, "table.dat"))
        return 3;
    name += strcspn(name, ".") + 2;
    return *name && !name[strspn(name, "0123456789")] ? 2 : 1;
}

static int compare_changes(const void *a, const void *b)
{
    const grove_change *left = a, *right = b;

    return rank(left) != rank(right) ? rank(left) - rank(right) : strcmp(left->name, right->name);
}

static int sync_path(const char *path, grove_error *error)
{
    return grove_path_sync(path)
               ? grove_fail(error, GROVE_IO, "%s: cannot write: %s", path, strerror(errno))
               : 0;
}

/* Lists files of WORK/table that differ from the folder's, and files of the folder that are not in
 * WORK/table; `folder`: the one whose names are looked at. */
static int list_files(grove_record_entry *each, const char *folder, bool prepared,
                      grove_error *error)
{
    char **names = grove_folder_read(folder, error), *around = grove_path_folder(each->work);
    int code = names ? 0 : GROVE_IO;

    for (char **name = names; name && *name && !code; name++) {
        if (!is_table_file(*name))
            continue;
        char *before = grove_path_join(around, *name);
        char *after = grove_format("%s/" GROVE_RECORD_TABLE "/%s", each->work, *name);
        grove_file_mark old, new;
        code = grove_file_mark_of(before, &old, error);
        if (!code)
            code = grove_file_mark_of(after, &new, error);
        bool changes = !code && (prepared ? old.inode != new.inode : !new.inode);
        if (changes && prepared) {
            code = sync_path(after, error);
            if (!code)
                code = grove_file_mark_of(after, &new, error);
        }
        if (changes && !code)
            grove_change_add(&each->list, *name, old, new);
        free(before);
        free(after);
    }
    grove_folder_free(names);
    free(around);
    return code;
}

static int list_lock(grove_record_entry *each, const char *folder, grove_error *error)
{
    char *path = grove_path_join(folder, "table.lock");
    grove_file_mark mark;
    int code = grove_file_mark_of(path, &mark, error);

    if (!code && mark.inode)
        grove_change_add(&each->list, "table.lock", mark, (grove_file_mark){0});
    free(path);
    return code;
}

static int sync_all(const char *path, grove_error *error)
{
    grove_path_kind kind = grove_path_examine(path, error);
    char **names = kind == GROVE_PATH_FOLDER ? grove_folder_read(path, error) : NULL;
    int code = kind == GROVE_PATH_UNKNOWN || (kind == GROVE_PATH_FOLDER && !names) ? GROVE_IO : 0;

    for (char **name = names; name && *name && !code; name++) {
        char *each = grove_path_join(path, *name);
        code = sync_all(each, error);
        free(each);
    }
    grove_folder_free(names);
    return code ? code : sync_path(path, error);
}

static int list_path(grove_record_entry *each, const char *around, const char *prepared,
                     grove_error *error)
{
    char *path = grove_path_join(around, each->name);
    grove_file_mark now, new = {0};
    int code = grove_file_mark_of(path, &now, error);

    if (!code && now.inode && !each->replace)
        code = grove_fail(error, GROVE_INVALID,
                          "%s: another file has this name now; it is left unchanged", path);
    if (!code)
        code = grove_file_mark_of(prepared, &new, error);
    if (!code)
        grove_change_add(&each->list, each->name, now, new);
    free(path);
    return code ? code : sync_all(prepared, error);
}

/* Files of WORK/table begin to go to disk together, before all are synced. */
static void start_sync(const grove_record_entry *each)
{
    char *prepared = grove_path_join(each->work, GROVE_RECORD_TABLE);
    char **names = each->name ? NULL : grove_folder_list(prepared);

    for (char **name = names; name && *name; name++) {
        char *path = grove_path_join(prepared, *name);
        if (is_table_file(*name))
            grove_path_start_sync(path);
        free(path);
    }
    grove_folder_free(names);
    free(prepared);
}

static int list_changes(grove_record_entry *each, const char *home, grove_error *error)
{
    char *around = grove_path_folder(each->work);
    char *prepared = grove_path_join(each->work, GROVE_RECORD_TABLE);
    int code = 0;

    each->list = (grove_change_list){
        .work = grove_strdup(each->work), .home = grove_strdup(home), .folder = each->name != NULL};
    if (each->name) {
        code = list_path(each, around, prepared, error);
    } else {
        code = list_files(each, prepared, true, error);
        if (!code)
            code = list_files(each, around, false, error);
        if (!code && each->without_lock)
            code = list_lock(each, around, error);
        qsort(each->list.changes, each->list.count, sizeof(grove_change), compare_changes);
    }
    free(around);
    free(prepared);
    return code;
}

static int make_old(const grove_record_entry *each, grove_error *error)
{
    char *old = grove_path_join(each->work, "old");
    int code = mkdir(old, 0777) ? grove_fail(error, GROVE_IO, "%s: %s", old, strerror(errno)) : 0;

    free(old);
    return code;
}

static int sync_folders(const grove_record_entry *each, grove_error *error)
{
    char *around = grove_path_folder(each->work);
    char *prepared = grove_path_join(each->work, GROVE_RECORD_TABLE);
    int code = each->name ? 0 : sync_path(prepared, error);

    if (!code)
        code = sync_path(each->work, error);
    if (!code)
        code = sync_path(around, error);
    free(around);
    free(prepared);
    return code;
}

static grove_file *write_record(const grove_record_entry *entries, size_t count, grove_error *error)
{
    char *path = grove_path_join(entries[0].work, "record");
    grove_file *file = grove_file_create(path, error);

    for (size_t i = 0; file && i < count; i++) {
        char *line = grove_record_line(entries[0].work, entries[i].work);
        fprintf(grove_file_stream(file), "%s\n", line);
        free(line);
    }
    free(path);
    return file;
}

/* The file's buffered bytes begin to go to disk; faults show when the file is renamed. */
static void start_file(grove_file *file)
{
    (void)fflush(grove_file_stream(file));
    grove_path_start_sync(grove_file_temporary(file));
}

/* Gives the lists their names, then the record. A file system with a journal syncs many files that
 * were written before at the cost of one: all are written first. */
static int place_lists(const grove_record_entry *entries, size_t count, grove_file **lists,
                       grove_error *error)
{
    grove_file *file = write_record(entries, count, error);
    int code = file ? 0 : GROVE_IO;

    for (size_t i = 0; i < count; i++)
        start_file(lists[i]);
    if (file)
        start_file(file);
    for (size_t i = 0; i < count && !code; i++) {
        char *to = grove_path_join(entries[i].work, "changes");
        code = grove_file_rename(lists[i], to, error);
        lists[i] = NULL;
        free(to);
    }
    for (size_t i = 0; i < count && !code; i++)
        code = sync_folders(&entries[i], error);
    if (code) {
        grove_file_discard(file);
        return code;
    }
    /* a record whose name is not on disk could not undo the changes after it */
    char *record = grove_path_join(entries[0].work, "record");
    code = grove_file_rename(file, record, error);
    if (!code && (code = sync_path(entries[0].work, error)))
        unlink(record);
    free(record);
    return code;
}

int grove_record_write_down(grove_record_entry *entries, size_t count, grove_error *error)
{
    grove_file **lists = grove_alloc(count * sizeof(*lists));
    int code = 0;

    for (size_t i = 0; i < count; i++)
        start_sync(&entries[i]);
    for (size_t i = 0; i < count && !code; i++)
        code = list_changes(&entries[i], entries[0].work, error);
    for (size_t i = 0; i < count && !code; i++) {
        code = make_old(&entries[i], error);
        if (!code && !(lists[i] = grove_change_list_write(&entries[i].list, error)))
            code = GROVE_IO;
    }
    if (!code)
        code = place_lists(entries, count, lists, error);
    for (size_t i = 0; i < count; i++)
        grove_file_discard(lists[i]);
    free(lists);
    return code;
}
