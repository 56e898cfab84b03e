#include "base/file.h"

#include "base/memory.h"
#include "base/text.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static char *read_stream(int fd, const char *path, size_t max, size_t *length, grove_error *error)
{
    grove_text text = {0};
    char *piece = grove_alloc(65536);
    ssize_t got;

    while ((got = read(fd, piece, 65536)) != 0) {
        if (got < 0 && errno == EINTR)
            continue;
        if (got < 0 || text.length + (size_t)got > max) {
            if (got < 0)
                grove_fail(error, GROVE_IO, "%s: cannot read: %s", path, strerror(errno));
            else
                grove_fail(error, GROVE_INVALID, "%s: larger than %zu bytes", path, max);
            free(text.at);
            free(piece);
            return NULL;
        }
        grove_text_append(&text, piece, (size_t)got);
    }
    free(piece);
    *length = text.length;
    return text.at ? text.at : grove_strdup("");
}

/* The format of a file by its first bytes, if it is no text; else NULL. */
static const char *binary_format(const char *bytes, size_t length)
{
    static const struct {
        const char *begin, *format;
    } known[] = {{"SIMPLE  =", "FITS"},      {"\x89HDF", "HDF5"}, {"\x93NUMPY", "NumPy"},
                 {"\x1f\x8b", "compressed"}, {"PK\3\4", "zip"},   {"\x89PNG", "PNG"}};

    for (size_t k = 0; k < sizeof(known) / sizeof(known[0]); k++)
        if (length >= strlen(known[k].begin) &&
            !memcmp(bytes, known[k].begin, strlen(known[k].begin)))
            return known[k].format;
    return NULL;
}

static int check_text(const char *path, const char *bytes, size_t length, grove_error *error)
{
    const char *format = binary_format(bytes, length);

    if (format)
        return grove_fail(error, GROVE_INVALID,
                          "%s: this is a %s file, which is not supported; give a text file", path,
                          format);
    if (memchr(bytes, 0, length))
        return grove_fail(error, GROVE_INVALID, "%s: not a text file, it contains NUL bytes", path);
    return 0;
}

char *grove_file_read(const char *path, size_t max, bool text, size_t *length, grove_error *error)
{
    struct stat info;
    size_t got = 0;
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK); /* a FIFO would wait for a writer */

    if (fd < 0) {
        if (errno == ENOENT)
            grove_path_fail(path, error);
        else
            grove_fail(error, GROVE_IO, "%s: cannot open: %s", path, strerror(errno));
        return NULL;
    }
    if (fstat(fd, &info) || !S_ISREG(info.st_mode)) {
        grove_fail(error, GROVE_INVALID, "%s: %s", path,
                   S_ISDIR(info.st_mode) ? "this is a folder, not a file" : "not a regular file");
        close(fd);
        return NULL;
    }
    char *bytes = read_stream(fd, path, max, &got, error);
    close(fd);
    if (bytes && text && check_text(path, bytes, got, error)) {
        free(bytes);
        return NULL;
    }
    if (length)
        *length = got;
    return bytes;
}

/* ---- looking at paths ---- */

bool grove_path_is_absent(int reason)
{
    return reason == ENOENT || reason == ENOTDIR || reason == ENAMETOOLONG;
}

static int fail_to_examine(const char *path, grove_error *error)
{
    return grove_fail(error, GROVE_IO, "%s: cannot be examined: %s", path, strerror(errno));
}

int grove_file_mark_of(const char *path, grove_file_mark *mark, grove_error *error)
{
    struct stat info;

    memset(mark, 0, sizeof(*mark));
    if (lstat(path, &info))
        return grove_path_is_absent(errno) ? 0 : fail_to_examine(path, error);
    mark->inode = (uint64_t)info.st_ino;
    if (!S_ISDIR(info.st_mode)) { /* a folder's other fields change with its files */
        mark->size = (int64_t)info.st_size;
        mark->seconds = (int64_t)info.st_mtim.tv_sec;
        mark->nanoseconds = (int64_t)info.st_mtim.tv_nsec;
    }
    return 0;
}

bool grove_file_mark_equal(const grove_file_mark *a, const grove_file_mark *b)
{
    return a->inode == b->inode && a->size == b->size && a->seconds == b->seconds &&
           a->nanoseconds == b->nanoseconds;
}

/* ---- paths ---- */

char *grove_path_hint(const char *path)
{
    const char *slash = strrchr(path, '/'), *name = slash ? slash + 1 : path;
    int folder = (int)(name - path);
    char *within = grove_format("%.*s", folder, path), *hint = NULL;
    char **names = grove_folder_list(folder ? within : ".");
    size_t count = 0;

    while (names && names[count])
        count++;
    const char *near = grove_nearest(name, (const char *const *)names, count);
    hint = near ? grove_format("; did you mean '%s%s'?", within, near) : grove_strdup("");
    for (size_t k = 0; k < count; k++)
        free(names[k]);
    free(names);
    free(within);
    return hint;
}

int grove_path_fail(const char *path, grove_error *error)
{
    char *hint = grove_path_hint(path);
    int code =
        grove_fail(error, GROVE_MISSING, "%s: there is no such file or folder%s", path, hint);

    free(hint);
    return code;
}

grove_path_kind grove_path_examine(const char *path, grove_error *error)
{
    struct stat info;

    if (stat(path, &info) == 0)
        return S_ISDIR(info.st_mode) ? GROVE_PATH_FOLDER : GROVE_PATH_FILE;
    if (grove_path_is_absent(errno))
        return GROVE_PATH_NONE;
    fail_to_examine(path, error);
    return GROVE_PATH_UNKNOWN;
}

bool grove_path_exists(const char *path)
{
    return access(path, F_OK) == 0 || !grove_path_is_absent(errno);
}

bool grove_path_is_folder(const char *path)
{
    struct stat info;

    return stat(path, &info) == 0 && S_ISDIR(info.st_mode);
}

bool grove_path_is_link(const char *path)
{
    struct stat info;

    return lstat(path, &info) == 0 && S_ISLNK(info.st_mode);
}

char *grove_path_next_to(const char *base_file, const char *path)
{
    const char *name = strrchr(base_file, '/');

    if (path[0] == '/' || !name)
        return grove_strdup(path);
    return grove_format("%.*s%s", (int)(name - base_file) + 1, base_file, path);
}

char *grove_path_join(const char *folder, const char *name)
{
    bool slash = folder[0] && folder[strlen(folder) - 1] == '/';

    return grove_format("%s%s%s", folder, slash || !folder[0] ? "" : "/", name);
}

/* The length of a path without slashes at its end. */
static int bare_length(const char *path)
{
    size_t length = strlen(path);

    while (length > 1 && path[length - 1] == '/')
        length--;
    return (int)length;
}

char *grove_path_name(const char *path)
{
    int length = bare_length(path), start = length;

    while (start > 0 && path[start - 1] != '/')
        start--;
    return grove_format("%.*s", length - start, path + start);
}

char *grove_path_folder(const char *path)
{
    int length = bare_length(path);

    while (length > 0 && path[length - 1] != '/')
        length--;
    return length ? grove_format("%.*s", length, path) : grove_strdup(".");
}

bool grove_path_is_same(const char *a, const char *b)
{
    struct stat one, other;

    return stat(a, &one) == 0 && stat(b, &other) == 0 && one.st_ino == other.st_ino &&
           one.st_dev == other.st_dev;
}

/* `links`: that led here. */
static char *whole_of(const char *path, int links)
{
    char to[PATH_MAX], *whole = realpath(path, NULL);

    if (whole || links == 40)
        return whole;
    char *bare = grove_format("%.*s", bare_length(path), path), *folder = grove_path_folder(bare);
    ssize_t length = readlink(bare, to, sizeof(to) - 1);
    char *parent = length > 0 ? NULL : realpath(folder, NULL);
    if (length > 0) { /* of something that does not exist */
        to[length] = 0;
        char *next = grove_path_next_to(bare, to);
        whole = whole_of(next, links + 1);
        free(next);
    } else if (parent) {
        char *name = grove_path_name(bare);
        whole = grove_path_join(parent, name);
        free(name);
    }
    free(parent);
    free(folder);
    free(bare);
    return whole;
}

char *grove_path_whole(const char *path)
{
    return whole_of(path, 0);
}

/* Errors of older systems and some file systems for a flag that they do not know. */
static int unsupported(int failed)
{
    if (failed && (errno == EINVAL || errno == ENOSYS || errno == EOPNOTSUPP))
        errno = ENOTSUP;
    return failed;
}

int grove_path_rename_new(const char *from, const char *to)
{
    return unsupported(renameat2(AT_FDCWD, from, AT_FDCWD, to, RENAME_NOREPLACE));
}

int grove_path_exchange(const char *a, const char *b)
{
    return unsupported(renameat2(AT_FDCWD, a, AT_FDCWD, b, RENAME_EXCHANGE));
}

bool grove_path_has_no_locks(int reason)
{
    return reason == ENOLCK || reason == ENOSYS || reason == EOPNOTSUPP || reason == EINVAL;
}

int grove_path_sync(const char *path)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);

    if (fd < 0)
        return -1;
    int failed = fsync(fd), reason = errno;
    close(fd);
    errno = reason;
    return failed && reason != EINVAL ? -1 : 0; /* EINVAL: cannot be synced, as on some folders */
}

void grove_path_start_sync(const char *path)
{
#ifdef SYNC_FILE_RANGE_WRITE
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);

    if (fd < 0)
        return;
    (void)sync_file_range(fd, 0, 0, SYNC_FILE_RANGE_WRITE);
    close(fd);
#else
    (void)path;
#endif
}

void grove_path_forget(const char *path, int64_t first, int64_t bytes)
{
#ifdef POSIX_FADV_DONTNEED
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);

    if (fd < 0)
        return;
    (void)posix_fadvise(fd, (off_t)first, (off_t)bytes, POSIX_FADV_DONTNEED);
    close(fd);
#else
    (void)path;
    (void)first;
    (void)bytes;
#endif
}

static int copy_bytes(int from, int to)
{
    size_t room = (size_t)1 << 20;
    char *piece = grove_alloc(room);
    ssize_t got;
    int failed = 0;

    while (!failed && (got = read(from, piece, room)) != 0) {
        if (got < 0 && errno == EINTR)
            continue;
        failed = got < 0;
        for (ssize_t done = 0, put; !failed && done < got; done += put) {
            put = write(to, piece + done, (size_t)(got - done));
            if (put < 0 && errno == EINTR)
                put = 0;
            failed = put < 0;
        }
    }
    int reason = errno;
    free(piece);
    errno = reason;
    return failed ? -1 : 0;
}

int grove_file_copy(const char *from, const char *to)
{
    struct stat info;
    int in = open(from, O_RDONLY | O_CLOEXEC);
    int out =
        in < 0 || fstat(in, &info)
            ? -1
            : open(to, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, info.st_mode & 0777);
    int failed = in < 0 || out < 0 || copy_bytes(in, out), reason = errno;

    if (in >= 0)
        close(in);
    if (out >= 0 && close(out) && !failed) {
        failed = 1;
        reason = errno;
    }
    errno = reason;
    return failed ? -1 : 0;
}

int grove_folder_make(const char *path, grove_error *error)
{
    char *copy = grove_strdup(path);
    int code = 0;

    for (char *at = copy + 1; *copy && !code; at++) {
        if (*at && *at != '/')
            continue;
        char kept = *at;
        *at = 0;
        if (mkdir(copy, 0777) && errno != EEXIST)
            code = grove_fail(error, GROVE_IO, "%s: cannot make the folder: %s", path,
                              strerror(errno));
        *at = kept;
        if (!kept)
            break;
    }
    if (!code && !grove_path_is_folder(path))
        code = grove_fail(error, GROVE_IO, "%s: not a folder", path);
    free(copy);
    return code;
}

static int remove_one(const char *path, const struct stat *info, int type, struct FTW *at)
{
    (void)info;
    (void)type;
    (void)at;
    return remove(path);
}

int grove_path_remove(const char *path, grove_error *error)
{
    struct stat info;

    if (lstat(path, &info))
        return grove_path_is_absent(errno) ? 0 : fail_to_examine(path, error);
    if (nftw(path, remove_one, 32, FTW_DEPTH | FTW_PHYS))
        return grove_fail(error, GROVE_IO, "%s: cannot remove: %s", path, strerror(errno));
    return 0;
}

static int compare_names(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

char **grove_folder_read(const char *path, grove_error *error)
{
    DIR *folder = opendir(path);
    char **names = grove_alloc(sizeof(*names));
    size_t count = 0, capacity = 1;
    struct dirent *entry;

    while (folder && (errno = 0, entry = readdir(folder))) {
        if (!strcmp(entry->d_name, ".") || !strcmp(entry->d_name, ".."))
            continue;
        grove_grow((void **)&names, &capacity, count + 1, sizeof(*names));
        names[count++] = grove_strdup(entry->d_name);
    }
    int reason = errno;
    names[count] = NULL;
    if (folder)
        closedir(folder);
    if (!folder || reason) {
        grove_folder_free(names);
        grove_fail(error, GROVE_IO, "%s: its files cannot be listed: %s", path, strerror(reason));
        errno = reason;
        return NULL;
    }
    qsort(names, count, sizeof(*names), compare_names);
    return names;
}

char **grove_folder_list(const char *path)
{
    char **names = grove_folder_read(path, NULL);

    return names ? names : grove_alloc(sizeof(*names));
}

void grove_folder_free(char **names)
{
    for (char **name = names; name && *name; name++)
        free(*name);
    free(names);
}
