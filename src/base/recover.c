/* Records of runs that died: found, and put right. */
#include "base/record_private.h"

#include "base/file.h"
#include "base/log.h"
#include "base/memory.h"
#include "base/text.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* The working folder of a run that died, locked. */
typedef struct {
    char *path;
    int lock;
    grove_change_list list; /* empty: the run did not come so far */
} remnant;

typedef struct {
    remnant *at;
    size_t count, capacity;
} remnants;

char *grove_record_prefix(const char *path)
{
    char *name = grove_path_name(path), *prefix = grove_format(".%s.grove-", name);

    free(name);
    return prefix;
}

/* Whether errno means that nothing is there, or that this user may not look at it: then another
 * user can. */
static bool is_nothing(void)
{
    return errno == ENOENT || errno == ENOTDIR || errno == EACCES || errno == EPERM ||
           errno == EROFS;
}

static int fail_to_examine(const char *path, grove_error *error)
{
    return grove_fail(error, GROVE_IO,
                      "%s: cannot be searched for the files that a run that died may have left: %s",
                      path, strerror(errno));
}

/* Takes the lock of a working folder: 1, or 0 when its run lives, or it is none. One without a lock
 * is of a run that died at once, or of one that will find it removed and make another. */
static int take(const char *path, remnant *found, grove_error *error)
{
    struct stat info;

    *found = (remnant){.lock = -1};
    if (lstat(path, &info))
        return is_nothing() ? 0 : fail_to_examine(path, error);
    if (!S_ISDIR(info.st_mode))
        return 0;
    found->lock = grove_record_lock(path, false);
    if (found->lock < 0 && errno == ENOENT)
        found->lock = grove_record_lock(path, true);
    if (found->lock < 0)
        return is_nothing() || errno == EWOULDBLOCK || errno == EBADF /* NFS: only a reader */
                   ? 0
                   : fail_to_examine(path, error);
    found->path = grove_strdup(path);
    return 1;
}

static void release(remnants *found)
{
    while (found->count) {
        remnant *each = &found->at[--found->count];
        grove_change_list_release(&each->list);
        grove_record_unlock(each->path, each->lock);
        free(each->path);
    }
    free(found->at);
}

static void append(remnants *to, const remnant *each)
{
    grove_grow((void **)&to->at, &to->capacity, to->count, sizeof(remnant));
    to->at[to->count++] = *each;
}

static int add(remnants *found, const char *path, grove_error *error)
{
    remnant each;
    int taken = take(path, &each, error);

    if (taken <= 0)
        return taken;
    append(found, &each);
    return 0;
}

/* Moves one, with its lock; false: it is not in `from`. */
static bool move(remnants *from, const char *path, remnants *to)
{
    for (size_t i = 0; i < from->count; i++)
        if (!strcmp(from->at[i].path, path)) {
            append(to, &from->at[i]);
            from->at[i] = from->at[--from->count];
            return true;
        }
    return false;
}

/* Whether a record may change files around it: if its owner is this user or the owner of the
 * folder. In a folder for all, anyone may make a file. 1 or 0. */
static int is_trusted(const char *path, grove_error *error)
{
    char *folder = grove_path_folder(path);
    struct stat file, around;
    int trusted;

    if (lstat(path, &file) || stat(folder, &around))
        trusted = is_nothing() ? 0 : fail_to_examine(path, error);
    else
        trusted = file.st_uid == geteuid() || file.st_uid == around.st_uid;
    free(folder);
    return trusted;
}

/* Those in `folder` whose names are the prefix and six characters of mkdtemp. */
static int find_in(const char *folder, const char *prefix, bool inside, remnants *found,
                   grove_error *error)
{
    char **names = grove_folder_read(folder, NULL);
    size_t length = strlen(prefix);
    int code = names || is_nothing() ? 0 : fail_to_examine(folder, error);

    for (char **name = names; name && *name && !code; name++)
        if (!strncmp(*name, prefix, length) && strlen(*name) == length + 6) {
            char *path = grove_path_join(folder, *name);
            /* a user who may write into a set may do anything there */
            int trusted = inside ? 1 : is_trusted(path, error);
            code = trusted > 0 ? add(found, path, error) : trusted;
            free(path);
        }
    grove_folder_free(names);
    return code;
}

/* Locks the remnants that it finds; the caller releases them, also after a failure. */
static int find(const char *path, remnants *found, grove_error *error)
{
    char *real = realpath(path, NULL);
    int code = real || is_nothing() ? 0 : fail_to_examine(path, error);
    char *folder = grove_path_folder(real ? real : path);
    char *around = code ? NULL : realpath(folder, NULL);
    char *prefix = grove_record_prefix(real ? real : path);
    grove_path_kind kind = GROVE_PATH_NONE;

    *found = (remnants){0};
    if (!code && !around && !is_nothing())
        code = fail_to_examine(folder, error);
    if (around)
        code = find_in(around, prefix, false, found, error);
    if (!code && real && (kind = grove_path_examine(real, error)) == GROVE_PATH_UNKNOWN)
        code = GROVE_IO;
    if (kind == GROVE_PATH_FOLDER)
        code = find_in(real, GROVE_RECORD_INSIDE, true, found, error);
    free(real);
    free(folder);
    free(around);
    free(prefix);
    return code;
}

static char *record_of(const grove_change_list *list)
{
    char *path = grove_path_join(list->home, "record");

    if (grove_path_exists(path))
        return path;
    free(path);
    return NULL;
}

int grove_record_examine(const char *path, grove_record_state *state, grove_error *error)
{
    remnants found;
    int code = find(path, &found, error);

    *state = found.count ? GROVE_RECORD_CLEANED : GROVE_RECORD_NONE;
    for (size_t i = 0; i < found.count; i++) {
        int read = grove_change_list_read(&found.at[i].list, found.at[i].path, NULL);
        char *record = read > 0 ? record_of(&found.at[i].list) : NULL;
        if (record || read < 0)
            *state = GROVE_RECORD_UNDONE;
        free(record);
    }
    release(&found);
    return code;
}

/* Whether the name is one that grove_record_work gives. */
static bool is_work(const char *path)
{
    char *name = grove_path_name(path);
    size_t length = strlen(name);
    bool matches = path[0] == '/' && length >= 13 && name[0] == '.' &&
                   !strncmp(name + length - 13, ".grove-", 7);

    free(name);
    return matches;
}

/* Adds another working folder that the record of `first` names: of those found, or any other. */
static int join(remnants *all, const remnant *first, const char *path, remnants *found,
                grove_error *error)
{
    size_t before = all->count;
    int code = move(found, path, all) || !is_work(path) ? 0 : is_trusted(path, error);

    if (code > 0)
        code = add(all, path, error);
    if (code < 0)
        return code;
    if (all->count == before)
        return grove_fail(error, GROVE_IO,
                          "%s: the run that died wrote there, too, and this cannot be restored: it "
                          "is %s. To keep all files in their present state, remove %s",
                          path, grove_path_exists(path) ? "in use" : "not there", first->path);
    remnant *other = &all->at[before];
    code = grove_change_list_read(&other->list, path, error);
    if (code > 0 && strcmp(other->list.home, first->list.home) != 0)
        code = 0;
    return code > 0 ? grove_change_list_check(&other->list, error)
           : code == 0
               ? grove_fail(error, GROVE_INVALID, "%s: does not belong to the run that died", path)
               : code;
}

/* Reads the lines of a record: its home, then others. */
static int read_record(const remnant *first, const char *record, remnants *all, remnants *found,
                       grove_error *error)
{
    char *text = grove_file_read(record, (size_t)16 << 20, true, NULL, error), *next = NULL;
    bool is_home = !strcmp(first->list.home, first->path), named = is_home;
    int code = text ? 0 : GROVE_IO, number = 0;

    for (char *line = text ? strtok_r(text, "\n", &next) : NULL; line && !code;
         line = strtok_r(NULL, "\n", &next), number++) {
        char *path = grove_record_line_path(first->list.home, line);
        bool own = is_home ? number == 0 : !strcmp(path, first->path);
        named = named || own;
        if (!own)
            code = join(all, first, path, found, error);
        free(path);
    }
    if (!code && !named)
        code = grove_fail(error, GROVE_INVALID, "%s: does not name %s; has it been moved?", record,
                          first->path);
    free(text);
    return code;
}

/* Undoes all that a record names, and removes it. */
static int undo(const remnant *first, const char *record, remnants *found, grove_error *error)
{
    remnants all = {0};
    int code = read_record(first, record, &all, found, error);

    if (!code)
        code = grove_change_list_check(&first->list, error);
    if (!code)
        code = grove_change_list_undo(&first->list, error);
    for (size_t i = 0; i < all.count && !code; i++)
        code = grove_change_list_undo(&all.at[i].list, error);
    if (!code && unlink(record))
        code = grove_fail(error, GROVE_IO, "%s: %s", record, strerror(errno));
    for (size_t i = 0; i < all.count && !code; i++)
        code = grove_path_remove(all.at[i].path, error);
    if (!code)
        code = grove_path_remove(first->path, error);
    release(&all);
    return code;
}

static int recover_one(remnant *each, remnants *found, grove_record_state *done, grove_error *error)
{
    int code = grove_change_list_read(&each->list, each->path, error);
    char *record = code > 0 ? record_of(&each->list) : NULL;

    if (code < 0)
        return code;
    if (record) {
        code = undo(each, record, found, error);
        *done = GROVE_RECORD_UNDONE;
    } else {
        if (code)
            grove_change_list_tidy(&each->list);
        else
            grove_path_remove(each->path, NULL);
        code = 0; /* remaining files are harmless */
        if (*done == GROVE_RECORD_NONE && !grove_path_exists(each->path))
            *done = GROVE_RECORD_CLEANED;
    }
    free(record);
    return code;
}

int grove_record_recover(const char *path, grove_record_state *done, grove_error *error)
{
    remnants found;
    int code = find(path, &found, error);

    *done = GROVE_RECORD_NONE;
    while (found.count && !code) {
        remnants one = {0};
        move(&found, found.at[0].path, &one);
        code = recover_one(&one.at[0], &found, done, error);
        release(&one);
    }
    release(&found);
    return code;
}

int grove_record_recover_file(const char *path, grove_error *error)
{
    grove_record_state state;
    int code = grove_record_recover(path, &state, error);

    if (!code && state == GROVE_RECORD_UNDONE)
        grove_log(GROVE_LOG_NOTE,
                  "%s: a run died before it had finished writing; everything is restored to the "
                  "state before that run",
                  path);
    return code;
}
