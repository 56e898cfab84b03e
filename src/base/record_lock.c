/* Locks of working folders, which distinguish a run that lives from one that died. */
#include "base/record_private.h"

#include "base/file.h"
#include "base/memory.h"
#include "base/text.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

/* A lock is the file `lock`. It names the process that has it, which counts where the file system
 * has no locks. There the lock of a run that died is never removed: the process that takes it makes
 * `lock.1`, the next one after a death `lock.2`, and the last of them counts. */

enum { OLD = 3600 }; /* s; an empty lock of that age is of a run that died */

/* ---- the owner of a lock ---- */

/* "PID HOST" of this process. */
static void name_owner(char *text, size_t size)
{
    char host[256] = "";

    (void)gethostname(host, sizeof(host) - 1);
    snprintf(text, size, "%ld %s", (long)getpid(), host);
}

static bool write_owner(int lock)
{
    char text[300];

    name_owner(text, sizeof(text));
    return write(lock, text, strlen(text)) == (ssize_t)strlen(text);
}

static bool is_own(int lock)
{
    char text[300] = "", own[300];

    name_owner(own, sizeof(own));
    return pread(lock, text, sizeof(text) - 1, 0) > 0 && !strcmp(text, own);
}

/* Whether the run that made the file has died; if not, errno is EWOULDBLOCK, or says why that is
 * not known. Of one on another host nothing is known. */
static bool owner_died(int lock)
{
    char text[300] = "", own[300];
    struct stat info;
    ssize_t length = pread(lock, text, sizeof(text) - 1, 0);
    const char *host = strchr(text, ' ');
    bool died;

    if (length < 0 || fstat(lock, &info))
        return false;
    name_owner(own, sizeof(own));
    if (!host) /* is about to write it, or died at once */
        died = time(NULL) - info.st_mtime > OLD;
    else
        died = !strcmp(host, strchr(own, ' ')) && kill((pid_t)atol(text), 0) && errno == ESRCH;
    errno = EWOULDBLOCK;
    return died;
}

/* ---- making one ---- */

/* Makes a file that names this process, under a unique name; caller frees. NULL with errno. */
static char *make_temporary(const char *work)
{
    char *path = grove_path_join(work, "owner-XXXXXX");
    int file = mkostemp(path, O_CLOEXEC);
    bool good = file >= 0 && fchmod(file, 0644) == 0 && write_owner(file);

    if (file >= 0 && !(close(file) == 0 && good))
        unlink(path);
    else if (good)
        return path;
    int reason = errno;
    free(path);
    errno = reason;
    return NULL;
}

/* Locked, where that is possible, if no other has it. Who had it may have removed the file. */
static bool may_have(int lock)
{
    struct stat info;

    if ((flock(lock, LOCK_EX | LOCK_NB) && !grove_path_has_no_locks(errno)) || fstat(lock, &info))
        return false;
    errno = EWOULDBLOCK;
    return info.st_nlink > 0;
}

/* Closes it, keeping errno. */
static void close_lock(int lock)
{
    int reason = errno;

    close(lock);
    errno = reason;
}

/* The file is complete when it gets its name, unless the file system can neither link nor rename
 * without replacing. -1 with errno, also where there is one of that name. */
static int make_lock(const char *work, const char *name)
{
    char *path = grove_path_join(work, name), *temporary = make_temporary(work);
    bool made = temporary && (link(temporary, path) == 0 ||
                              (errno != EEXIST && grove_path_rename_new(temporary, path) == 0));
    bool empty = temporary && !made && errno == ENOTSUP;
    int lock = -1, reason = errno;

    if (temporary)
        unlink(temporary);
    free(temporary);
    errno = reason;
    if (made || empty)
        lock = open(path, O_RDWR | O_NOFOLLOW | O_CLOEXEC | (empty ? O_CREAT | O_EXCL : 0), 0666);
    if (lock >= 0 && !(may_have(lock) && (made || write_owner(lock)))) {
        close_lock(lock);
        lock = -1;
    }
    free(path);
    return lock;
}

/* ---- taking the lock of a run that died ---- */

static bool is_lock(const char *name)
{
    return !strcmp(name, "lock") || !strncmp(name, "lock.", 5);
}

/* The number of the last lock in the folder: `lock` has 0; -1 with errno. */
static int last_number(const char *work)
{
    char **names = grove_folder_read(work, NULL);
    int last = names ? 0 : -1;

    for (char **name = names; name && *name; name++) {
        int number = is_lock(*name) && (*name)[4] ? atoi(*name + 5) : 0;
        last = number > last ? number : last;
    }
    grove_folder_free(names);
    return last;
}

/* Without locks: of all processes that find the last owner dead, one can make the next lock. */
static int take_over(const char *work)
{
    int number = last_number(work), lock = -1;
    if (number < 0)
        return -1;
    char *name = number ? grove_format("lock.%d", number) : grove_strdup("lock");
    char *path = grove_path_join(work, name), *next = grove_format("lock.%d", number + 1);
    int last = open(path, O_RDONLY | O_NOFOLLOW | O_CLOEXEC);

    if (last >= 0 && owner_died(last)) {
        lock = make_lock(work, next);
        if (lock < 0 &&
            (errno == EACCES || errno == EROFS)) { /* enough for looking at the folder */
            lock = last;
            last = -1;
        }
    }
    if (last >= 0)
        close_lock(last);
    free(name);
    free(path);
    free(next);
    return lock;
}

static int take(const char *work)
{
    char *path = grove_path_join(work, "lock");
    int lock = open(path, O_RDWR | O_NOFOLLOW | O_CLOEXEC);

    if (lock < 0 && (errno == EACCES || errno == EROFS)) /* of another user */
        lock = open(path, O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
    free(path);
    if (lock < 0)
        return -1;
    bool has_locks = flock(lock, LOCK_EX | LOCK_NB) == 0 || !grove_path_has_no_locks(errno);
    if (has_locks && may_have(lock))
        return lock;
    close_lock(lock);
    return has_locks ? -1 : take_over(work);
}

int grove_record_lock(const char *work, bool create)
{
    int lock = create ? make_lock(work, "lock") : take(work);

    if (lock < 0 && errno == EEXIST)
        errno = EWOULDBLOCK;
    return lock;
}

void grove_record_unlock(const char *work, int lock)
{
    char **names = grove_folder_list(work);
    struct stat own, info;
    bool made = fstat(lock, &own) == 0 && is_own(lock);

    for (char **name = names; *name; name++) {
        char *path = grove_path_join(work, *name);
        if (made && is_lock(*name) && lstat(path, &info) == 0 && info.st_ino == own.st_ino)
            unlink(path);
        free(path);
        free(*name);
    }
    free(names);
    close(lock);
}
