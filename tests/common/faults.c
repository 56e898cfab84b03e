/* The functions that change, look at and read files, with a fault at one call. */
#include "faults.h"

#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <limits.h>
#include <signal.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <sys/vfs.h>
#include <unistd.h>

static char folder[PATH_MAX];
static faults_mode mode;
static faults_kind kind;
static int chosen, count, simple, protecting;
static faults_locking locking;
static long long written;
static ino_t old[4096]; /* files of tables that were there */
static int old_count;
static const void *caller, *callers[8192]; /* of the looks that were counted */

static bool is_lock(const char *path)
{
    const char *end = strrchr(path, '/');

    return end && !strcmp(end, "/table.lock");
}

/* Not what a run that died has left. */
static int note_old(const char *path, const struct stat *info, int type, struct FTW *at)
{
    if (type == FTW_F && !strncmp(path + at->base, "table.", 6) && !is_lock(path) &&
        !strstr(path, ".grove-") && old_count < (int)(sizeof(old) / sizeof(old[0])))
        old[old_count++] = info->st_ino;
    return 0;
}

/* Nothing may do what is said with a file that was there. */
static void protect(const char *path, const char *what)
{
    struct stat info;

    if (!folder[0] || strncmp(path, folder, strlen(folder)) != 0 || is_lock(path) ||
        fstatat(AT_FDCWD, path, &info, 0))
        return;
    for (int i = 0; i < old_count; i++)
        if (old[i] == info.st_ino) {
            fprintf(stderr, "%s: was there before, and is %s\n", path, what);
            kill(getpid(), SIGUSR1);
        }
}

void faults_arm(const char *where, faults_mode fault, int at)
{
    folder[0] = 0;
    old_count = 0;
    if (where[0] && protecting)
        nftw(where, note_old, 16, FTW_PHYS);
    snprintf(folder, sizeof(folder), "%s", where);
    mode = fault;
    chosen = at;
    count = 0;
    written = 0;
}

long long faults_written(void)
{
    return written;
}

void faults_choose(faults_kind which)
{
    kind = which;
}

static bool is_of_another_library(const void *at)
{
    Dl_info info;

    return !dladdr(at, &info) || strstr(info.dli_fname, "libcasa") ||
           strstr(info.dli_fname, "libstdc++");
}

const void *faults_caller(int call)
{
    const void *at = call <= (int)(sizeof(callers) / sizeof(callers[0])) ? callers[call - 1] : NULL;

    return at && !is_of_another_library(at) ? at : NULL;
}

int faults_count(void)
{
    return count;
}

void faults_protect(int is)
{
    protecting = is;
}

void faults_simple_system(int is)
{
    simple = is;
}

void faults_lock(faults_locking how)
{
    locking = how;
}

/* casacore makes a table.lock anew that it cannot look at (LockFile): rows of which only that file
 * knows are lost, whoever opens the table. */
static bool is_lock_of_casacore(const char *path)
{
    const char *name = strrchr(path, '/');

    return name && !strcmp(name, "/table.lock") && is_of_another_library(caller);
}

/* Whether a call of this kind for `path` is to fail; errno then says why. */
static bool fails_as(faults_kind is, const char *path)
{
    if (!folder[0] || is != kind || strncmp(path, folder, strlen(folder)) != 0 ||
        (is == FAULTS_LOOKS && is_lock_of_casacore(path)))
        return false;
    if (is == FAULTS_LOOKS && count < (int)(sizeof(callers) / sizeof(callers[0])))
        callers[count] = caller;
    count++;
    if (mode == FAULTS_KILL && count == chosen)
        kill(getpid(), SIGKILL);
    if ((mode == FAULTS_FAIL && count == chosen) || (mode == FAULTS_DEAD && count >= chosen)) {
        if (mode == FAULTS_FAIL)
            fprintf(stderr, "a call for %s fails\n", path);
        errno = EIO;
        return true;
    }
    return false;
}

static bool fails(const char *path)
{
    return fails_as(FAULTS_CHANGES, path);
}

static bool is_inside(int file, char path[PATH_MAX])
{
    char link[64];

    if (!folder[0])
        return false;
    snprintf(link, sizeof(link), "/proc/self/fd/%d", file);
    ssize_t length = readlinkat(AT_FDCWD, link, path, PATH_MAX - 1);
    if (length < 0)
        return false;
    path[length] = 0;
    return strncmp(path, folder, strlen(folder)) == 0;
}

static bool fails_file_as(faults_kind is, int file)
{
    char path[PATH_MAX];

    return is == kind && is_inside(file, path) && fails_as(is, path);
}

/* In the function that is called. */
#define CALLED (caller = __builtin_return_address(0))

static bool fails_file(int file)
{
    return fails_file_as(FAULTS_CHANGES, file);
}

/* The same of a call that writes so many bytes. */
static bool fails_write(int file, size_t bytes)
{
    char path[PATH_MAX];

    if (!is_inside(file, path))
        return false;
    written += (long long)bytes;
    return fails(path);
}

static size_t length_of(const struct iovec *pieces, int number)
{
    size_t length = 0;

    for (int i = 0; i < number; i++)
        length += pieces[i].iov_len;
    return length;
}

/* The C library's own function of that name. */
#define REAL(result, name, ...)                                                                    \
    static result (*real)(__VA_ARGS__);                                                            \
    if (!real)                                                                                     \
    *(void **)(void *)&real = dlsym(RTLD_NEXT, #name)

#define OPEN(name)                                                                                 \
    int name(const char *path, int flags, ...);                                                    \
    int name(const char *path, int flags, ...)                                                     \
    {                                                                                              \
        REAL(int, name, const char *, int, ...);                                                   \
        mode_t bits = 0;                                                                           \
        if (flags & O_CREAT) {                                                                     \
            va_list args;                                                                          \
            va_start(args, flags);                                                                 \
            bits = va_arg(args, mode_t);                                                           \
            va_end(args);                                                                          \
        }                                                                                          \
        if ((flags & O_ACCMODE) != O_RDONLY)                                                       \
            protect(path, "opened for writing");                                                   \
        CALLED;                                                                                    \
        faults_kind is = flags & (O_CREAT | O_TRUNC) ? FAULTS_CHANGES : FAULTS_LOOKS;              \
        return fails_as(is, path) ? -1 : real(path, flags, bits);                                  \
    }
OPEN(open)
OPEN(open64)

#define FOPEN(name)                                                                                \
    FILE *name(const char *path, const char *how);                                                 \
    FILE *name(const char *path, const char *how)                                                  \
    {                                                                                              \
        REAL(FILE *, name, const char *, const char *);                                            \
        if (how[0] != 'r' || strchr(how, '+'))                                                     \
            protect(path, "opened for writing");                                                   \
        CALLED;                                                                                    \
        return fails_as(how[0] == 'r' ? FAULTS_LOOKS : FAULTS_CHANGES, path) ? NULL                \
                                                                             : real(path, how);    \
    }
FOPEN(fopen)
FOPEN(fopen64)

ssize_t write(int file, const void *bytes, size_t length)
{
    REAL(ssize_t, write, int, const void *, size_t);
    return fails_write(file, length) ? -1 : real(file, bytes, length);
}

ssize_t writev(int file, const struct iovec *pieces, int number)
{
    REAL(ssize_t, writev, int, const struct iovec *, int);
    return fails_write(file, length_of(pieces, number)) ? -1 : real(file, pieces, number);
}

ssize_t pwrite(int file, const void *bytes, size_t length, off_t at)
{
    REAL(ssize_t, pwrite, int, const void *, size_t, off_t);
    return fails_write(file, length) ? -1 : real(file, bytes, length, at);
}

ssize_t pwrite64(int file, const void *bytes, size_t length, off64_t at)
{
    REAL(ssize_t, pwrite64, int, const void *, size_t, off64_t);
    return fails_write(file, length) ? -1 : real(file, bytes, length, at);
}

ssize_t pwritev(int file, const struct iovec *pieces, int number, off_t at)
{
    REAL(ssize_t, pwritev, int, const struct iovec *, int, off_t);
    return fails_write(file, length_of(pieces, number)) ? -1 : real(file, pieces, number, at);
}

ssize_t pwritev64(int file, const struct iovec *pieces, int number, off64_t at)
{
    REAL(ssize_t, pwritev64, int, const struct iovec *, int, off64_t);
    return fails_write(file, length_of(pieces, number)) ? -1 : real(file, pieces, number, at);
}

int truncate(const char *path, off_t length)
{
    REAL(int, truncate, const char *, off_t);
    protect(path, "truncated");
    return real(path, length);
}

int fsync(int file)
{
    return fails_file(file) ? -1 : 0;
}

int fdatasync(int file)
{
    return fails_file(file) ? -1 : 0;
}

int ftruncate(int file, off_t length)
{
    REAL(int, ftruncate, int, off_t);
    return fails_file(file) ? -1 : real(file, length);
}

int rename(const char *from, const char *to)
{
    REAL(int, rename, const char *, const char *);
    return fails(to) ? -1 : real(from, to);
}

int renameat2(int a, const char *from, int b, const char *to, unsigned flags)
{
    REAL(int, renameat2, int, const char *, int, const char *, unsigned);
    if (simple && flags) {
        errno = EINVAL;
        return -1;
    }
    return fails(to) ? -1 : real(a, from, b, to, flags);
}

int link(const char *from, const char *to)
{
    REAL(int, link, const char *, const char *);
    if (simple) {
        errno = EPERM;
        return -1;
    }
    return fails(to) ? -1 : real(from, to);
}

#define REMOVE(name)                                                                               \
    int name(const char *path)                                                                     \
    {                                                                                              \
        REAL(int, name, const char *);                                                             \
        return fails(path) ? -1 : real(path);                                                      \
    }
REMOVE(unlink)
REMOVE(rmdir)
REMOVE(remove)

int mkdir(const char *path, mode_t bits)
{
    REAL(int, mkdir, const char *, mode_t);
    return fails(path) ? -1 : real(path, bits);
}

char *mkdtemp(char *pattern)
{
    REAL(char *, mkdtemp, char *);
    return fails(pattern) ? NULL : real(pattern);
}

int mkostemp(char *pattern, int flags)
{
    REAL(int, mkostemp, char *, int);
    return fails(pattern) ? -1 : real(pattern, flags);
}

/* ---- looking and reading ---- */

#define LOOK(name, type)                                                                           \
    int name(const char *path, struct type *info)                                                  \
    {                                                                                              \
        REAL(int, name, const char *, struct type *);                                              \
        return (CALLED, fails_as(FAULTS_LOOKS, path)) ? -1 : real(path, info);                     \
    }
LOOK(stat, stat)
LOOK(lstat, stat)
LOOK(stat64, stat64)
LOOK(lstat64, stat64)

#define LOOK_FILE(name, type)                                                                      \
    int name(int file, struct type *info)                                                          \
    {                                                                                              \
        REAL(int, name, int, struct type *);                                                       \
        return (CALLED, fails_file_as(FAULTS_LOOKS, file)) ? -1 : real(file, info);                \
    }
LOOK_FILE(fstat, stat)
LOOK_FILE(fstat64, stat64)

int access(const char *path, int how)
{
    REAL(int, access, const char *, int);
    return (CALLED, fails_as(FAULTS_LOOKS, path)) ? -1 : real(path, how);
}

ssize_t readlink(const char *path, char *to, size_t room)
{
    REAL(ssize_t, readlink, const char *, char *, size_t);
    return (CALLED, fails_as(FAULTS_LOOKS, path)) ? -1 : real(path, to, room);
}

char *realpath(const char *path, char *to)
{
    REAL(char *, realpath, const char *, char *);
    return (CALLED, fails_as(FAULTS_LOOKS, path)) ? NULL : real(path, to);
}

DIR *opendir(const char *path)
{
    REAL(DIR *, opendir, const char *);
    return (CALLED, fails_as(FAULTS_LOOKS, path)) ? NULL : real(path);
}

struct dirent *readdir(DIR *from)
{
    REAL(struct dirent *, readdir, DIR *);
    return (CALLED, fails_file_as(FAULTS_LOOKS, dirfd(from))) ? NULL : real(from);
}

struct dirent64 *readdir64(DIR *from)
{
    REAL(struct dirent64 *, readdir64, DIR *);
    return (CALLED, fails_file_as(FAULTS_LOOKS, dirfd(from))) ? NULL : real(from);
}

/* A seek in a file of a disk has no error of the disk, and casacore does not look for one. */
static bool fails_seek(int file)
{
    return !is_of_another_library(caller) && fails_file_as(FAULTS_LOOKS, file);
}

off_t lseek(int file, off_t at, int from)
{
    REAL(off_t, lseek, int, off_t, int);
    return (CALLED, fails_seek(file)) ? -1 : real(file, at, from);
}

off64_t lseek64(int file, off64_t at, int from)
{
    REAL(off64_t, lseek64, int, off64_t, int);
    return (CALLED, fails_seek(file)) ? -1 : real(file, at, from);
}

ssize_t read(int file, void *bytes, size_t length)
{
    REAL(ssize_t, read, int, void *, size_t);
    return fails_file_as(FAULTS_READS, file) ? -1 : real(file, bytes, length);
}

ssize_t pread(int file, void *bytes, size_t length, off_t at)
{
    REAL(ssize_t, pread, int, void *, size_t, off_t);
    return fails_file_as(FAULTS_READS, file) ? -1 : real(file, bytes, length, at);
}

ssize_t pread64(int file, void *bytes, size_t length, off64_t at)
{
    REAL(ssize_t, pread64, int, void *, size_t, off64_t);
    return fails_file_as(FAULTS_READS, file) ? -1 : real(file, bytes, length, at);
}

ssize_t preadv64v2(int file, const struct iovec *pieces, int number, off64_t at, int flags)
{
    REAL(ssize_t, preadv64v2, int, const struct iovec *, int, off64_t, int);
    return fails_file_as(FAULTS_READS, file) ? -1 : real(file, pieces, number, at, flags);
}

/* ---- locks ---- */

int flock(int file, int how)
{
    struct stat info;

    REAL(int, flock, int, int);
    if (locking == FAULTS_NO_LOCKS) {
        errno = ENOLCK;
        return -1;
    }
    if (locking == FAULTS_NFS && fstat(file, &info) == 0 &&
        (S_ISDIR(info.st_mode) ||
         ((how & LOCK_EX) && (fcntl(file, F_GETFL) & O_ACCMODE) == O_RDONLY))) {
        errno = EBADF;
        return -1;
    }
    return real(file, how);
}

#define FCNTL(name)                                                                                \
    int name(int file, int what, ...)                                                              \
    {                                                                                              \
        REAL(int, name, int, int, ...);                                                            \
        va_list args;                                                                              \
        va_start(args, what);                                                                      \
        void *value = va_arg(args, void *);                                                        \
        va_end(args);                                                                              \
        if (locking == FAULTS_READ_LOCKS && what == F_SETLK &&                                     \
            ((const struct flock *)value)->l_type == F_WRLCK) {                                    \
            errno = EBADF;                                                                         \
            return -1;                                                                             \
        }                                                                                          \
        if ((locking == FAULTS_NO_LOCKS || locking == FAULTS_NO_RECORD_LOCKS) &&                   \
            (what == F_SETLK || what == F_SETLKW || what == F_GETLK)) {                            \
            errno = locking == FAULTS_NO_LOCKS ? ENOLCK : ENOSYS;                                  \
            return -1;                                                                             \
        }                                                                                          \
        return real(file, what, value);                                                            \
    }
FCNTL(fcntl)
FCNTL(fcntl64)

int fstatfs(int file, struct statfs *info)
{
    REAL(int, fstatfs, int, struct statfs *);
    int failed = real(file, info);

    if (!failed && locking == FAULTS_NFS)
        info->f_type = 0x6969;
    return failed;
}
