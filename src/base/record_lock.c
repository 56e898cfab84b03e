/* Locks of working folders, by which a run that lives is told from one that died. */
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
#include <unistd.h>

/* ---- where the file system has no locks: the file says who has it ---- */

static bool has_no_locks(int reason)
{
    return reason == ENOLCK || reason == ENOSYS || reason == EOPNOTSUPP;
}

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

/* Whether the run that made the file has died. Of one on another host nothing is known. */
static bool owner_died(int lock)
{
    char text[300] = "", own[300];
    ssize_t length = pread(lock, text, sizeof(text) - 1, 0);
    const char *host = strchr(text, ' ');

    if (length <= 0 || !host) /* it died at once */
        return length >= 0;
    name_owner(own, sizeof(own));
    return !strcmp(host, strchr(own, ' ')) && kill((pid_t)atol(text), 0) && errno == ESRCH;
}

/* ---- the lock ---- */

/* Whether the open file is locked now. */
static bool take(int lock, bool create)
{
    struct stat info;
    bool had = flock(lock, LOCK_EX | LOCK_NB) == 0;

    if (!had && has_no_locks(errno))
        had = create ? write_owner(lock) : owner_died(lock);
    /* Who had the lock may have removed the file. */
    return had && fstat(lock, &info) == 0 && info.st_nlink > 0;
}

int grove_record_lock(const char *work, bool create)
{
    char *path = grove_path_join(work, "lock");
    int lock = open(path, O_RDWR | O_NOFOLLOW | O_CLOEXEC | (create ? O_CREAT | O_EXCL : 0), 0666);

    if (lock < 0 && !create) /* of another user */
        lock = open(path, O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
    free(path);
    if (lock >= 0 && !take(lock, create)) {
        close(lock);
        lock = -1;
    }
    return lock;
}
