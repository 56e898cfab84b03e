/* Locks of sets between runs, and the recovery that a new owner does first. */
#include "nodes/sets/set_lock.h"

#include "unstable/record.h"
#include "util.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <time.h>
#include <unistd.h>

enum { NFS = 0x6969 }; /* statfs's number of it */

typedef struct set {
    struct set *next;
    dev_t device;
    ino_t inode;
    char *folder;
    int file;              /* holds the lock; -1: there can be none */
    bool denied;           /* the lock file is there, but may not be opened */
    bool needed;           /* exclusively, at this attempt */
    int mode;              /* LOCK_UN, LOCK_SH or LOCK_EX */
    struct stat table;     /* table.dat when the lock was last held */
    grove_set_lock *first; /* its users in this process */
} set;

struct grove_set_lock {
    grove_set_lock *next;
    set *set;
    const grove_record *writer;
    void (*changed)(void *user);
    void *user;
    grove_set_lock *others; /* of other sets that its run will write; released with it */
};

/* Held in short steps only, never while waiting. */
static pthread_mutex_t guard = PTHREAD_MUTEX_INITIALIZER;
static set *sets; /* in the order of devices and inodes, in which all processes take locks */

int grove_set_wait(const char *path, const char *why, int *times, grove_error *error)
{
    static const struct timespec pause = {.tv_nsec = 100000000};

    if (!grove_record_waits())
        return grove_fail(error, GROVE_IO, "%s: %s; without --no-wait, this run would wait", path,
                          why);
    if (grove_interrupted())
        return grove_fail(error, GROVE_INTERRUPTED, "%s: interrupted while %s", path, why);
    if (!(*times)++)
        grove_log(GROVE_LOG_NOTE, "%s: %s; waiting, Ctrl-C stops this", path, why);
    nanosleep(&pause, NULL);
    return 0;
}

/* ---- the sets of this process ---- */

/* The lock file of a folder; -1 with errno. Whoever may read or write the set may do so with it. */
static int open_lock_file(int folder, const struct stat *info)
{
    static const char name[] = ".grove.lock";
    const int flags = O_NOFOLLOW | O_CLOEXEC;
    int file = openat(folder, name, O_RDWR | O_CREAT | O_EXCL | flags, 0666);

    if (file >= 0) {
        (void)!fchown(file, (uid_t)-1, info->st_gid);
        (void)!fchmod(file, info->st_mode & 0666);
        return file;
    }
    file = openat(folder, name, O_RDWR | flags);
    return file < 0 ? openat(folder, name, O_RDONLY | flags) : file; /* enough for a reader */
}

/* Opens the folder, or on NFS a file in it, to be locked; -1 with errno. */
static int open_lock(const char *folder, struct stat *info)
{
    struct statfs system;
    int file = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

    if (file < 0 || fstat(file, info)) {
        if (file >= 0)
            close(file);
        return -1;
    }
    if (fstatfs(file, &system) == 0 && system.f_type == NFS) {
        int inside = open_lock_file(file, info), reason = errno;
        close(file);
        errno = reason;
        return inside;
    }
    return file;
}

static bool is_before(const set *s, const struct stat *info)
{
    return s->device < info->st_dev || (s->device == info->st_dev && s->inode < info->st_ino);
}

/* The set of a folder, made if it is new; NULL when there is no such folder. Under the mutex. */
static set *find_set(const char *folder)
{
    struct stat info = {0};
    int file = open_lock(folder, &info);
    bool denied = file < 0 && errno == EACCES;

    if (!info.st_ino)
        return NULL;
    set **at = &sets;
    while (*at && is_before(*at, &info))
        at = &(*at)->next;
    if (*at && (*at)->device == info.st_dev && (*at)->inode == info.st_ino) {
        if (file >= 0)
            close(file);
        return *at;
    }
    char *whole = grove_path_whole(folder);
    set *made = grove_alloc(sizeof(*made));
    *made = (set){.next = *at,
                  .folder = whole ? whole : grove_strdup(folder),
                  .device = info.st_dev,
                  .inode = info.st_ino,
                  .file = file,
                  .denied = denied,
                  .mode = LOCK_UN};
    *at = made;
    return made;
}

static void drop_set(set *gone)
{
    set **at = &sets;

    while (*at != gone)
        at = &(*at)->next;
    *at = gone->next;
    if (gone->file >= 0)
        close(gone->file);
    free(gone->folder);
    free(gone);
}

static struct stat stat_table(const char *folder)
{
    char *path = grove_path_join(folder, "table.dat");
    struct stat info = {0};

    if (stat(path, &info))
        info = (struct stat){0};
    free(path);
    return info;
}

static bool same_table(const struct stat *a, const struct stat *b)
{
    return a->st_ino == b->st_ino && a->st_size == b->st_size &&
           a->st_mtim.tv_sec == b->st_mtim.tv_sec && a->st_mtim.tv_nsec == b->st_mtim.tv_nsec;
}

static void notify(const set *s, const grove_set_lock *except)
{
    for (const grove_set_lock *each = s->first; each; each = each->next)
        if (each != except && each->changed)
            each->changed(each->user);
}

/* ---- taking one ---- */

static bool fail_denied(const char *folder, grove_error *error)
{
    grove_fail(error, GROVE_IO,
               "%s/.grove.lock: may not be written, so the set cannot be locked; its owner can "
               "change its mode",
               folder);
    return false;
}

/* One attempt. False: another process has it, or a message. Changing a shared lock into an
 * exclusive one gives it up for a moment, so the set may have changed in between. */
static bool attempt(set *s, int mode, const char *folder, grove_error *error)
{
    if (s->denied && mode == LOCK_EX)
        return fail_denied(folder, error);
    if (s->mode == LOCK_EX || s->mode == mode || s->file < 0)
        return true;
    int failed = flock(s->file, mode | LOCK_NB);
    if (failed && (errno == EWOULDBLOCK || errno == EINTR))
        return false;
    if (failed && errno == EBADF && mode == LOCK_EX) /* NFS: the file is open for reading only */
        return fail_denied(folder, error);
    if (failed && errno != EBADF && !grove_path_has_no_locks(errno)) {
        grove_fail(error, GROVE_IO, "%s: cannot be locked: %s", folder, strerror(errno));
        return false;
    }
    if (failed) { /* the file system has no locks */
        close(s->file);
        s->file = -1;
        return true;
    }
    struct stat now = stat_table(folder);
    if (s->first && !same_table(&now, &s->table))
        notify(s, NULL);
    s->table = now;
    s->mode = mode;
    return true;
}

static const grove_record *writer_of(const set *s)
{
    for (const grove_set_lock *each = s->first; each; each = each->next)
        if (each->writer)
            return each->writer;
    return NULL;
}

/* Whether the folder's name still belongs to the set; -1 with a message. */
static int is_current(const set *s, const char *folder, grove_error *error)
{
    struct stat now;

    if (stat(folder, &now) == 0)
        return now.st_ino == s->inode && now.st_dev == s->device;
    return errno == ENOENT ? 0 : grove_fail(error, GROVE_IO, "%s: %s", folder, strerror(errno));
}

/* Gives up all locks before waiting, but for sets that are being written. */
static void give_back(void)
{
    for (set *each = sets; each; each = each->next) {
        if (each->mode == LOCK_UN || each->file < 0 || writer_of(each))
            continue;
        flock(each->file, LOCK_UN);
        each->mode = LOCK_UN;
        notify(each, NULL);
    }
}

static bool try_lock(set *s, grove_error *error)
{
    const bool locked = attempt(s, s->needed ? LOCK_EX : LOCK_SH, s->folder, error);

    return locked && (!s->needed || is_current(s, s->folder, error) > 0);
}

/* Locks all needed sets, and sets whose locks were given back; or none, and *busy, to be freed, is
 * a set that another process has. */
static bool attempt_all(char **busy, grove_error *error)
{
    for (set *each = sets; each; each = each->next) {
        const bool again = each->first && each->mode == LOCK_UN;
        if ((!each->needed && !again) || try_lock(each, error))
            continue;
        *busy = grove_strdup(each->folder);
        give_back();
        return false;
    }
    return true;
}

static grove_set_lock *add_lock(set *s, const grove_record *writer, grove_set_lock *others)
{
    grove_set_lock *lock = grove_alloc(sizeof(*lock));

    *lock = (grove_set_lock){.next = s->first, .set = s, .writer = writer, .others = others};
    s->first = lock;
    return lock;
}

/* Sets `needed` of all sets that the run expects to write, and that exist. */
static void mark_expected(const grove_record *writer)
{
    const char *const *each = writer ? grove_record_expected(writer) : NULL;

    for (; each && *each; each++) {
        set *s = stat_table(*each).st_ino ? find_set(*each) : NULL;
        if (s && !writer_of(s))
            s->needed = true;
    }
}

/* Takes the lock of a set, and with it the locks of all sets that the run expects to write. */
static grove_set_lock *take_all(set *s, const grove_record *writer, char **busy, grove_error *error)
{
    grove_set_lock *others = NULL;

    mark_expected(writer);
    s->needed = true;
    const bool locked = attempt_all(busy, error);
    for (set *each = sets, *next; each; each = next) {
        const bool needed = each->needed && each != s;
        next = each->next;
        each->needed = false;
        if (needed && locked)
            others = add_lock(each, writer, others);
        else if (needed && !each->first)
            drop_set(each);
    }
    return locked ? add_lock(s, writer, others) : NULL;
}

/* With the lock, or without one where there is none; NULL: another has *busy, or a message. */
static grove_set_lock *try_take(const char *folder, const grove_record *writer, char **busy,
                                grove_error *error)
{
    set *s = find_set(folder);
    grove_set_lock *lock = NULL;
    const grove_record *other = s ? writer_of(s) : NULL;

    if (!s)
        grove_fail(error, GROVE_MISSING, "%s: %s", folder, strerror(errno));
    else if (writer && other && other != writer)
        grove_fail(error, GROVE_INVALID, "%s: is being written by another run of this program",
                   folder);
    else if (writer && !other)
        lock = take_all(s, writer, busy, error);
    else if (attempt(s, LOCK_SH, folder, error) && is_current(s, folder, error) > 0)
        lock = add_lock(s, writer, NULL); /* else replaced by another set meanwhile */
    if (!lock && (!*busy || (s && !strcmp(*busy, s->folder)))) {
        free(*busy);
        *busy = grove_strdup(folder);
    }
    if (s && !s->first)
        drop_set(s);
    return lock;
}

static grove_set_lock *wait_for(const char *folder, const grove_record *writer, grove_error *error)
{
    size_t before = grove_error_count(error);
    grove_set_lock *lock = NULL;
    int times = 0, code = 0;

    while (!lock && !code) {
        char *busy = NULL;
        pthread_mutex_lock(&guard);
        lock = try_take(folder, writer, &busy, error);
        pthread_mutex_unlock(&guard);
        if (!lock && grove_error_count(error) > before)
            code = grove_error_code(error);
        else if (!lock)
            code = grove_set_wait(busy,
                                  writer ? "another run of Grove has it open"
                                         : "another run of Grove is writing it",
                                  &times, error);
        free(busy);
    }
    if (!lock && writer) { /* sets whose locks were given back may still be read */
        char *busy = NULL;
        pthread_mutex_lock(&guard);
        attempt_all(&busy, NULL);
        pthread_mutex_unlock(&guard);
        free(busy);
    }
    return lock;
}

int grove_set_has_record_locks(const char *table, bool warn)
{
    static dev_t warned; /* the file system */
    char *path =
        grove_path_join(table, "table.dat"); /* closing table.lock would give up its locks */
    struct flock whole = {.l_type = F_RDLCK, .l_whence = SEEK_SET};
    struct stat info = {0};
    int file = open(path, O_RDONLY | O_CLOEXEC);
    const bool opened = file >= 0 && !fstat(file, &info);
    const bool has = opened && fcntl(file, F_GETLK, &whole) == 0;
    const int reason = errno;

    if (file >= 0)
        close(file);
    free(path);
    if (!has && !(opened && grove_path_has_no_locks(reason))) {
        errno = reason;
        return -1;
    }
    pthread_mutex_lock(&guard);
    warn = warn && !has && warned != info.st_dev;
    if (warn)
        warned = info.st_dev;
    pthread_mutex_unlock(&guard);
    if (warn)
        grove_log(GROVE_LOG_WARNING,
                  "%s: this file system has no record locks (fcntl), with which casacore locks "
                  "tables; make sure that no other program has the set open",
                  table);
    return has;
}

/* ---- recovery after a run that died ---- */

char *grove_set_flag_versions(const char *path)
{
    char *real = realpath(path, NULL);
    char *versions = real ? grove_format("%s.flagversions", real) : NULL;

    free(real);
    return versions;
}

/* Runs write into the set's HISTORY and next to the list of versions of its flags, too, under the
 * lock of the set. Does `work` for all three. */
static int everywhere(const char *path, grove_record_state *state, grove_error *error,
                      int (*work)(const char *path, grove_record_state *state, grove_error *error))
{
    char *versions = grove_set_flag_versions(path);
    char *others[] = {grove_path_join(path, "HISTORY"),
                      versions ? grove_path_join(versions, GROVE_SET_FLAG_LIST) : NULL};
    int code = work(path, state, error);

    for (size_t i = 0; i < sizeof(others) / sizeof(*others); i++) {
        grove_record_state other = GROVE_RECORD_NONE;
        if (!code && others[i])
            code = work(others[i], &other, error);
        *state = other > *state ? other : *state;
        free(others[i]);
    }
    free(versions);
    return code;
}

static int recover(const char *folder, grove_record_state *done, grove_error *error)
{
    int code = everywhere(folder, done, error, grove_record_recover);

    if (*done == GROVE_RECORD_UNDONE && !code)
        grove_log(GROVE_LOG_NOTE,
                  "%s: a run died before it had finished writing; everything is restored to the "
                  "state before that run",
                  folder);
    else if (*done == GROVE_RECORD_CLEANED)
        grove_log(GROVE_LOG_NOTE, "%s: removed files that a run that died had left", folder);
    return code;
}

/* With the exclusive lock; a reader has had it for a moment then. */
static int put_right(const char *folder, const grove_record *writer, grove_set_lock **lock,
                     grove_error *error)
{
    grove_record_state state, done;
    int code = everywhere(folder, &state, error, grove_record_examine);

    if (code || state == GROVE_RECORD_NONE || (!writer && state != GROVE_RECORD_UNDONE))
        return code;
    if (writer)
        return recover(folder, &done, error);
    grove_set_lock_release(*lock);
    grove_record *own = grove_record_new();
    *lock = wait_for(folder, own, error);
    code = *lock ? recover(folder, &done, error) : grove_error_code(error);
    grove_set_lock_release(*lock);
    grove_record_free(own);
    *lock = NULL;
    if (!code && !(*lock = wait_for(folder, NULL, error)))
        code = grove_error_code(error);
    return code;
}

static bool cannot_lock(const grove_set_lock *lock)
{
    pthread_mutex_lock(&guard);
    bool cannot = lock->set->file < 0;
    pthread_mutex_unlock(&guard);
    return cannot;
}

grove_set_lock *grove_set_lock_take(const char *folder, const grove_record *writer,
                                    void (*changed)(void *user), void *user, grove_error *error)
{
    grove_set_lock *lock = wait_for(folder, writer, error);

    if (!lock)
        return NULL;
    if (put_right(folder, writer, &lock, error)) {
        grove_set_lock_release(lock);
        return NULL;
    }
    if (writer && cannot_lock(lock))
        grove_log(GROVE_LOG_WARNING,
                  "%s: this file system has no locks; make sure that no other run writes there",
                  folder);
    pthread_mutex_lock(&guard);
    lock->changed = changed;
    lock->user = user;
    pthread_mutex_unlock(&guard);
    return lock;
}

static void release(grove_set_lock *lock)
{
    set *s = lock->set;
    grove_set_lock **at = &s->first;
    while (*at != lock)
        at = &(*at)->next;
    *at = lock->next;
    if (!s->first) {
        drop_set(s);
    } else if (s->mode == LOCK_EX && !writer_of(s) && s->file >= 0) {
        s->mode = LOCK_SH;
        if (flock(s->file, LOCK_SH | LOCK_NB))
            s->mode = LOCK_UN;
    }
    free(lock);
}

void grove_set_lock_release(grove_set_lock *lock)
{
    pthread_mutex_lock(&guard);
    while (lock) {
        grove_set_lock *others = lock->others;
        release(lock);
        lock = others;
    }
    pthread_mutex_unlock(&guard);
}

void grove_set_lock_changed(grove_set_lock *lock)
{
    pthread_mutex_lock(&guard);
    notify(lock->set, lock);
    pthread_mutex_unlock(&guard);
}

int grove_set_recover(const char *path, bool *done, grove_error *error)
{
    grove_record *writer = grove_record_new();
    grove_record_state state = GROVE_RECORD_NONE;
    grove_set_lock *lock = NULL;
    grove_path_kind kind = grove_path_examine(path, error);
    int code;

    if (kind == GROVE_PATH_UNKNOWN ||
        (kind == GROVE_PATH_FOLDER && !(lock = wait_for(path, writer, error)))) {
        code = grove_error_code(error);
    } else {
        code = recover(path, &state, error);
        *done = state != GROVE_RECORD_NONE;
    }
    grove_set_lock_release(lock);
    grove_record_free(writer);
    return code;
}
