/* Records: making all changes of a run, or none. */
#include "base/record_private.h"

#include "base/file.h"
#include "base/memory.h"
#include "base/text.h"
#include "unstable/output.h"

#include <errno.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

typedef grove_record_entry entry;

struct grove_record {
    entry *entries;
    size_t count, capacity;
    char **expected; /* NULL behind the last */
    size_t expected_count, expected_capacity;
};

static atomic_bool no_wait;

void grove_record_wait(bool wait)
{
    no_wait = !wait;
}

bool grove_record_waits(void)
{
    return !no_wait;
}

grove_record *grove_record_new(void)
{
    return grove_alloc(sizeof(grove_record));
}

static void release(entry *each)
{
    grove_change_list_release(&each->list);
    if (each->lock >= 0)
        close(each->lock);
    free(each->work);
    free(each->name);
}

void grove_record_free(grove_record *record)
{
    if (!record)
        return;
    for (size_t i = 0; i < record->count; i++) {
        grove_path_remove(record->entries[i].work, NULL);
        release(&record->entries[i]);
    }
    free(record->entries);
    for (size_t i = 0; i < record->expected_count; i++)
        free(record->expected[i]);
    free(record->expected);
    free(record);
}

void grove_record_expect(grove_record *record, const char *path)
{
    grove_grow((void **)&record->expected, &record->expected_capacity, record->expected_count + 1,
               sizeof(char *));
    record->expected[record->expected_count++] = grove_strdup(path);
    record->expected[record->expected_count] = NULL;
}

const char *const *grove_record_expected(const grove_record *record)
{
    static const char *const none[] = {NULL};

    return record->expected ? (const char *const *)record->expected : none;
}

/* A new folder, locked. Until it is locked, another process may think that its run died. */
static char *make_work(const char *folder, const char *prefix, int *lock)
{
    char *work = NULL;

    *lock = -1;
    for (int k = 0; k < 10 && *lock < 0; k++) {
        free(work);
        work = grove_format("%s/%sXXXXXX", folder, prefix);
        if (!mkdtemp(work))
            break;
        *lock = grove_record_lock(work, true);
        if (*lock < 0) {
            int reason = errno;
            grove_path_remove(work, NULL);
            errno = reason;
        }
    }
    if (*lock >= 0)
        return work;
    free(work);
    return NULL;
}

const char *grove_record_work(grove_record *record, const char *folder, const char *prefix,
                              grove_error *error)
{
    char *whole = realpath(folder, NULL);
    entry made = {.lock = -1};

    if (strchr(whole ? whole : folder, '\n') || strchr(prefix, '\n'))
        grove_fail(error, GROVE_INVALID, "%s: a file name must not have a line break", folder);
    else if (!whole || !(made.work = make_work(whole[1] ? whole : "", prefix, &made.lock)))
        grove_fail(error, GROVE_IO, "%s: cannot be written: %s", folder, strerror(errno));
    free(whole);
    if (!made.work)
        return NULL;
    mode_t mask = umask(0);
    umask(mask);
    (void)!chmod(made.work, 0755 & ~mask); /* others may see that it is there */
    grove_grow((void **)&record->entries, &record->capacity, record->count, sizeof(entry));
    record->entries[record->count++] = made;
    return made.work;
}

static entry *find(grove_record *record, const char *work)
{
    for (size_t i = 0; i < record->count; i++)
        if (!strcmp(record->entries[i].work, work))
            return &record->entries[i];
    return NULL;
}

void grove_record_drop(grove_record *record, const char *work)
{
    entry *each = find(record, work);

    if (!each)
        return;
    grove_path_remove(each->work, NULL);
    release(each);
    *each = record->entries[--record->count];
}

void grove_record_add_files(grove_record *record, const char *work, bool without_lock)
{
    entry *each = find(record, work);

    each->added = true;
    each->without_lock = without_lock;
}

void grove_record_add_path(grove_record *record, const char *work, const char *path, bool replace)
{
    entry *each = find(record, work);

    each->name = grove_path_name(path);
    each->replace = replace;
    each->added = true;
}

grove_file *grove_record_create(grove_record *record, const char *path, bool overwrite,
                                grove_error *error)
{
    char *place = NULL;
    grove_file *file = NULL;

    if (grove_record_recover_file(path, error))
        return NULL;
    grove_output_kind kind = grove_output_examine(path, &place, error);
    if (kind == GROVE_OUTPUT_FOLDER || kind == GROVE_OUTPUT_STREAM) {
        file = grove_file_create(path, error);
    } else if (kind == GROVE_OUTPUT_FILE && !overwrite) {
        grove_fail(error, GROVE_INVALID, "%s: exists already; give overwrite=true to replace it",
                   path);
    } else if (kind != GROVE_OUTPUT_UNKNOWN) {
        char *folder = grove_path_folder(place), *prefix = grove_record_prefix(place);
        const char *work = grove_record_work(record, folder, prefix, error);
        file = work ? grove_file_create_in(work, place, error) : NULL;
        free(prefix);
        free(folder);
    }
    free(place);
    return file;
}

int grove_record_add_file(grove_record *record, grove_file *file, bool overwrite,
                          grove_error *error)
{
    if (grove_file_is_stream(file))
        return grove_file_commit(file, error);
    char *path = grove_strdup(grove_file_path(file)),
         *folder = grove_path_folder(grove_file_temporary(file)),
         *work = grove_format("%.*s", (int)strlen(folder) - 1, folder),
         *prepared = grove_path_join(work, GROVE_RECORD_TABLE);
    int code = grove_file_move(file, prepared, error);

    if (!code && !overwrite && grove_path_exists(path))
        code = grove_fail(error, GROVE_IO,
                          "%s: another program has created it since this run began; it is kept, "
                          "and the result of this run is not written",
                          path);
    else if (!code)
        grove_record_add_path(record, work, path, overwrite);
    free(prepared);
    free(work);
    free(folder);
    free(path);
    return code;
}

/* The path that an entry changes, or the folder whose files it changes; caller frees. */
static char *changed_path(const entry *each)
{
    char *around = grove_path_folder(each->work);
    char *path = each->name ? grove_path_join(around, each->name)
                            : grove_format("%.*s", (int)strlen(around) - 1, around);

    free(around);
    return path;
}

static int check_conflicts(const grove_record *record, grove_error *error)
{
    int code = 0;

    for (size_t i = 0; i < record->count && !code; i++)
        for (size_t k = 0; k < i && !code; k++) {
            char *one = changed_path(&record->entries[i]);
            char *other = changed_path(&record->entries[k]);
            if (!strcmp(one, other))
                code = grove_fail(error, GROVE_INVALID,
                                  "%s: two outputs of one run write to the same path", one);
            free(one);
            free(other);
        }
    return code;
}

/* ---- committing ---- */

/* To a new name. Where the system cannot rename so, a folder of that name is made, which keeps it,
 * and is replaced; files are in a folder that is locked. */
static int rename_new(const char *from, const char *to, bool folder)
{
    if (grove_path_rename_new(from, to) == 0)
        return 0;
    if (errno != ENOTSUP || (folder && mkdir(to, 0777)))
        return -1;
    if (rename(from, to) == 0)
        return 0;
    int reason = errno;
    if (folder)
        (void)rmdir(to);
    errno = reason;
    return -1;
}

static int make_change(const grove_change_list *list, const grove_change *change)
{
    char *target = grove_change_target(list, change);
    char *from = list->folder
                     ? grove_path_join(list->work, GROVE_RECORD_TABLE)
                     : grove_format("%s/" GROVE_RECORD_TABLE "/%s", list->work, change->name);
    char *old = grove_format("%s/old/%s", list->work, change->name);
    int failed;

    if (!change->after.inode) /* goes at the end, but the lock file at once */
        failed = !strcmp(change->name, "table.lock") && rename(target, old);
    else if (!change->before.inode)
        failed = rename_new(from, target, list->folder && grove_path_is_folder(from));
    else if (list->folder && grove_path_exchange(from, target) == 0)
        failed = 0;
    else if (list->folder)
        failed = errno != ENOTSUP || rename(target, old) || rename(from, target);
    else /* without hard links there is no file of that name for a moment */
        failed = (link(target, old) && rename(target, old)) || rename(from, target);
    int reason = errno;
    free(target);
    free(from);
    free(old);
    errno = reason;
    return failed;
}

static int make_changes(entry *each, grove_error *error)
{
    int code = 0;

    for (size_t i = 0; i < each->list.count && !code; i++)
        if (make_change(&each->list, &each->list.changes[i])) {
            char *target = grove_change_target(&each->list, &each->list.changes[i]);
            code = grove_fail(error, GROVE_IO, "%s: cannot be put in place: %s", target,
                              errno == EEXIST ? "another file has this name now" : strerror(errno));
            free(target);
        }
    return code;
}

/* Successful calls are no proof: the files are checked. */
static int check_changes(const entry *each, grove_error *error)
{
    bool made;
    int code = grove_change_list_made(&each->list, &made, error);

    return code || made
               ? code
               : grove_fail(error, GROVE_IO, "%s: the new file is not in place", each->list.work);
}

static int sync_around(const entry *each, grove_error *error)
{
    char *folder = grove_path_folder(each->work);
    int code = grove_path_sync(folder)
                   ? grove_fail(error, GROVE_IO, "%s: cannot write: %s", folder, strerror(errno))
                   : 0;

    free(folder);
    return code;
}

/* Removes the record: this commits, or ends an undoing. It is gone then, synced or not. */
static int remove_record(const grove_record *record, grove_error *error)
{
    const char *home = record->entries[0].work;
    char *path = grove_path_join(home, "record");
    int code = unlink(path) ? grove_fail(error, GROVE_IO, "%s: %s", path, strerror(errno)) : 0;

    free(path);
    if (!code)
        (void)grove_path_sync(home);
    return code;
}

static void put_back(grove_record *record, size_t count, grove_error *error)
{
    int code = 0;

    for (size_t i = 0; i < count && !code; i++)
        code = grove_change_list_check(&record->entries[i].list, error);
    for (size_t i = count; i-- > 0 && !code;)
        code = grove_change_list_undo(&record->entries[i].list, error);
    if (!code)
        code = remove_record(record, error);
    if (!code)
        return;
    /* Keeps the working folders, which alone can restore the old state. */
    grove_fail(error, code, "%s: grove recover will restore everything",
               record->entries[0].list.work);
    while (record->count)
        release(&record->entries[--record->count]);
}

int grove_record_commit(grove_record *record, grove_error *error)
{
    size_t made = 0;
    int code = 0;

    for (size_t i = 0; i < record->count; i++) /* drops outputs that are not to be written */
        while (i < record->count && !record->entries[i].added)
            grove_record_drop(record, record->entries[i].work);
    if (!record->count)
        return 0;
    code = check_conflicts(record, error);
    if (!code)
        code = grove_record_write_down(record->entries, record->count, error);
    if (code)
        return code;
    while (made < record->count && !code)
        code = make_changes(&record->entries[made++], error);
    for (size_t i = 0; i < record->count && !code; i++)
        code = check_changes(&record->entries[i], error);
    for (size_t i = 0; i < record->count && !code; i++)
        code = sync_around(&record->entries[i], error);
    if (!code)
        code = remove_record(record, error);
    if (code) {
        put_back(record, made, error);
        return code;
    }
    for (size_t i = record->count; i-- > 0;) /* the one with the record last */
        grove_change_list_tidy(&record->entries[i].list);
    while (record->count)
        release(&record->entries[--record->count]);
    return 0;
}
