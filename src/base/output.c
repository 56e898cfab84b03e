#include "unstable/output.h"

#include "base/file.h"
#include "base/memory.h"
#include "base/text.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/magic.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/vfs.h>
#include <unistd.h>

/* ---- the kind of output ---- */

/* Links of this file system are names of open descriptors: their targets may be a pipe, or a file
 * whose name has gone. */
static bool is_descriptor(const char *link)
{
    char *folder = grove_path_folder(link);
    struct statfs disk;
    bool matches = statfs(folder, &disk) == 0 && disk.f_type == PROC_SUPER_MAGIC;

    free(folder);
    return matches;
}

/* Replaces *at by its target through `links` links, at most 40, and looks at that; 0, or -1 with
 * errno. */
static int follow(char **at, int *links, struct stat *info)
{
    char to[PATH_MAX];
    ssize_t length;

    for (*links = 0; *links < 40; ++*links) {
        if (lstat(*at, info))
            return -1;
        if (!S_ISLNK(info->st_mode) || is_descriptor(*at))
            return 0;
        if ((length = readlink(*at, to, sizeof(to) - 1)) < 0)
            return -1;
        to[length] = 0;
        char *next = grove_path_next_to(*at, to);
        free(*at);
        *at = next;
    }
    errno = ELOOP;
    return -1;
}

static grove_output_kind kind_of(mode_t mode)
{
    return S_ISREG(mode)   ? GROVE_OUTPUT_FILE
           : S_ISDIR(mode) ? GROVE_OUTPUT_FOLDER
           : S_ISBLK(mode) ? GROVE_OUTPUT_UNKNOWN
                           : GROVE_OUTPUT_STREAM; /* a link that is left is a descriptor */
}

grove_output_kind grove_output_examine(const char *path, char **place, grove_error *error)
{
    char *at = grove_strdup(path);
    grove_output_kind kind = GROVE_OUTPUT_UNKNOWN;
    struct stat info;
    int links;

    if (!follow(&at, &links, &info)) {
        kind = kind_of(info.st_mode);
        if (kind == GROVE_OUTPUT_UNKNOWN)
            grove_fail(error, GROVE_INVALID, "%s: is a disk, not a file", path);
    } else if (!grove_path_is_absent(errno)) {
        grove_fail(error, GROVE_IO, "%s: cannot be examined: %s", path, strerror(errno));
    } else if (links) {
        grove_fail(error, GROVE_INVALID,
                   "%s is a symbolic link to a file that does not exist; remove it", path);
    } else {
        kind = GROVE_OUTPUT_NEW;
    }
    if (place)
        *place = grove_strdup(kind == GROVE_OUTPUT_STREAM ? path : at);
    free(at);
    return kind;
}

/* Whether the folder is a casacore table: its table.dat begins with a mark, and "Table" with its
 * length. -1 with errno: it cannot be read. */
static int is_table(const char *folder)
{
    static const char mark[] = {'\xbe', '\xbe', '\xbe', '\xbe'}, name[] = "\0\0\0\5Table";
    char *path = grove_path_join(folder, "table.dat"), bytes[17] = {0};
    struct stat info;
    int table = 0, file = -1;

    if (stat(path, &info))
        table = grove_path_is_absent(errno) ? 0 : -1;
    else if (S_ISREG(info.st_mode) &&
             ((file = open(path, O_RDONLY | O_CLOEXEC)) < 0 || pread(file, bytes, 17, 0) < 0))
        table = -1;
    else
        table = !memcmp(bytes, mark, 4) && !memcmp(bytes + 8, name, 9);
    int reason = errno;
    if (file >= 0)
        close(file);
    free(path);
    errno = reason;
    return table;
}

/* casacore keeps all files of a table: nothing is written among them. */
static int check_around(const char *path, const char *place, grove_error *error)
{
    char *folder = grove_path_folder(place), *around = realpath(folder, NULL);
    int table = 0, code = 0;

    free(folder);
    while (around && around[1] && !(table = is_table(around))) {
        char *next = grove_path_folder(around);
        if (strlen(next) > 1) /* without the slash at its end */
            next[strlen(next) - 1] = 0;
        free(around);
        around = next;
    }
    if (table < 0)
        code = grove_fail(error, GROVE_IO,
                          "%s: %s/table.dat cannot be examined: %s; so nothing is written there",
                          path, around, strerror(errno));
    else if (table)
        code = grove_fail(error, GROVE_INVALID,
                          "%s: is inside %s, which is a casacore table; choose another path", path,
                          around);
    free(around);
    return code;
}

static bool is_file_before_slash(const char *path)
{
    char *folder = grove_path_folder(path), *name = grove_path_name(path),
         *bare = grove_path_join(folder, name);
    bool matches = grove_output_examine(bare, NULL, NULL) == GROVE_OUTPUT_FILE;

    free(bare);
    free(name);
    free(folder);
    return matches;
}

int grove_output_check_place(const char *path, bool folder, grove_error *error)
{
    char *place = NULL;
    grove_output_kind kind = grove_output_examine(path, &place, error);
    int code = 0;

    if (kind == GROVE_OUTPUT_UNKNOWN)
        code = GROVE_IO;
    else if (!path[0])
        code = grove_fail(error, GROVE_INVALID, "an output has an empty name");
    else if (kind == GROVE_OUTPUT_NEW && path[strlen(path) - 1] == '/' &&
             (!folder || is_file_before_slash(path)))
        code = grove_fail(error, GROVE_INVALID, "%s: a file's name does not end in /", path);
    else if (kind == GROVE_OUTPUT_FOLDER && !folder)
        code = grove_fail(error, GROVE_INVALID, "%s: is a folder, not a file", path);
    else if (kind != GROVE_OUTPUT_STREAM)
        code = check_around(path, place, error);
    free(place);
    return code;
}

int grove_output_check(const char *path, bool overwrite, grove_error *error)
{
    int code = grove_output_check_place(path, false, error);

    if (code || overwrite)
        return code;
    switch (grove_output_examine(path, NULL, error)) {
    case GROVE_OUTPUT_UNKNOWN:
        return GROVE_IO;
    case GROVE_OUTPUT_FILE:
        return grove_fail(error, GROVE_INVALID,
                          "%s: exists already; give --overwrite to replace it", path);
    default:
        return 0;
    }
}

/* ---- streams ---- */

/* The number of this process's descriptor that a link names; -1: it names none. */
static int own_descriptor(const char *path)
{
    char *at = grove_strdup(path), *folder, *name, *whole, *own;
    struct stat info;
    int links, number = -1;

    (void)follow(&at, &links, &info);
    folder = grove_path_folder(at);
    name = grove_path_name(at);
    whole = realpath(folder, NULL);
    own = grove_format("/proc/%ld/fd", (long)getpid());
    if (whole && !strcmp(whole, own) && name[0] && !name[strspn(name, "0123456789")])
        number = atoi(name);
    free(own);
    free(whole);
    free(name);
    free(folder);
    free(at);
    return number;
}

static int connect_to(const char *path)
{
    struct sockaddr_un name = {.sun_family = AF_UNIX};
    int fd =
        strlen(path) < sizeof(name.sun_path) ? socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0) : -1;

    strncpy(name.sun_path, path, sizeof(name.sun_path) - 1);
    if (fd >= 0 && connect(fd, (const struct sockaddr *)&name, sizeof(name))) {
        int reason = errno;
        close(fd);
        errno = reason;
        return -1;
    }
    return fd;
}

int grove_output_open(const char *path, grove_error *error)
{
    int own = own_descriptor(path), fd;
    struct stat info;

    if (own >= 0)
        fd = fcntl(own, F_DUPFD_CLOEXEC, 3);
    else if (stat(path, &info) == 0 && S_ISSOCK(info.st_mode))
        fd = connect_to(path);
    else
        fd = open(path, O_WRONLY | O_APPEND | O_NOCTTY | O_CLOEXEC);
    if (fd < 0)
        grove_fail(error, GROVE_IO, "%s: cannot open: %s", path, strerror(errno));
    return fd;
}

static int write_all(int to, const char *bytes, size_t count)
{
    while (count) {
        ssize_t put = write(to, bytes, count);
        if (put < 0 && errno != EINTR)
            return -1;
        bytes += put > 0 ? put : 0;
        count -= put > 0 ? (size_t)put : 0;
    }
    return 0;
}

static int send_all(int from, int to)
{
    size_t room = (size_t)1 << 16;
    char *piece = grove_alloc(room);
    off_t at = 0;
    ssize_t got;
    int failed = 0;

    while (!failed && (got = pread(from, piece, room, at)) != 0) {
        if (got < 0 && errno == EINTR)
            continue;
        failed = got < 0 || write_all(to, piece, (size_t)got);
        at += got > 0 ? got : 0;
    }
    int reason = errno;
    free(piece);
    errno = reason;
    return failed ? -1 : 0;
}

/* A reader that has gone is an error here, not the end of the process. */
int grove_output_send(int from, int to)
{
    const struct timespec at_once = {0};
    sigset_t pipe, pending, before;

    sigemptyset(&pipe);
    sigaddset(&pipe, SIGPIPE);
    sigpending(&pending);
    pthread_sigmask(SIG_BLOCK, &pipe, &before);
    int failed = send_all(from, to), reason = errno;
    if (failed && reason == EPIPE && !sigismember(&pending, SIGPIPE))
        (void)sigtimedwait(&pipe, NULL, &at_once);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    errno = reason;
    return failed;
}

/* ---- atomic writing ---- */

struct grove_file {
    FILE *stream;
    char *path, *temporary; /* temporary NULL: a file without a name, whose bytes go to `to` */
    int to;
    bool is_new; /* nothing of that name is replaced */
};

/* Bytes for a stream are kept until they are complete. */
static grove_file *create_for_stream(const char *path, grove_error *error)
{
    grove_file *file = grove_alloc(sizeof(*file));

    file->path = grove_strdup(path);
    file->to = grove_output_open(path, error);
    if (file->to >= 0 && (file->stream = tmpfile()))
        return file;
    if (file->to >= 0) {
        grove_fail(error, GROVE_IO, "%s: no temporary file: %s", path, strerror(errno));
        close(file->to);
    }
    free(file->path);
    free(file);
    return NULL;
}

grove_file *grove_file_create(const char *path, grove_error *error)
{
    char *place = NULL;
    grove_file *file = NULL;
    grove_output_kind kind = grove_output_examine(path, &place, error);

    if (kind == GROVE_OUTPUT_FOLDER) {
        grove_fail(error, GROVE_INVALID, "%s: is a folder, not a file", path);
    } else if (kind == GROVE_OUTPUT_STREAM) {
        file = create_for_stream(path, error);
    } else if (kind != GROVE_OUTPUT_UNKNOWN) {
        char *folder = grove_path_folder(place);
        file = grove_file_create_in(folder, place, error);
        free(folder);
    }
    free(place);
    return file;
}

grove_file *grove_file_create_output(const char *path, bool overwrite, grove_error *error)
{
    grove_file *file =
        grove_output_check(path, overwrite, error) ? NULL : grove_file_create(path, error);

    if (file)
        file->is_new = !overwrite;
    return file;
}

bool grove_file_is_stream(const grove_file *file)
{
    return !file->temporary;
}

grove_file *grove_file_create_in(const char *folder, const char *path, grove_error *error)
{
    grove_file *file = grove_alloc(sizeof(*file));
    char *name = grove_path_name(path), *hidden = grove_format(".%s.XXXXXX", name);

    file->path = grove_strdup(path);
    file->temporary = grove_path_join(folder, hidden);
    free(hidden);
    free(name);
    int fd = mkostemp(file->temporary, O_CLOEXEC);
    if (fd >= 0) {
        mode_t mask = umask(0);
        umask(mask);
        (void)!fchmod(fd, 0666 & ~mask); /* a user does not expect mkstemp's 0600 */
        file->stream = fdopen(fd, "wb");
    }
    if (!file->stream) {
        grove_fail(error, GROVE_IO, "%s: cannot create: %s", path, strerror(errno));
        if (fd >= 0) {
            close(fd);
            unlink(file->temporary);
        }
        free(file->path);
        free(file->temporary);
        free(file);
        return NULL;
    }
    return file;
}

FILE *grove_file_stream(grove_file *file)
{
    return file->stream;
}

static void release(grove_file *file)
{
    free(file->path);
    free(file->temporary);
    free(file);
}

static int sync_folder(const char *path)
{
    char *folder = grove_path_folder(path);
    int failed = grove_path_sync(folder);

    free(folder);
    return failed;
}

const char *grove_file_path(const grove_file *file)
{
    return file->path;
}

const char *grove_file_temporary(const grove_file *file)
{
    return file->temporary;
}

/* Where the system cannot rename so, nothing is replaced unless it has come this moment. */
static int rename_new(const char *from, const char *to)
{
    if (grove_path_rename_new(from, to) == 0)
        return 0;
    return errno != ENOTSUP || grove_path_exists(to) ? -1 : rename(from, to);
}

static int send_file(grove_file *file, grove_error *error)
{
    bool failed = ferror(file->stream) || fflush(file->stream) ||
                  grove_output_send(fileno(file->stream), file->to);
    int reason = failed ? errno : 0;

    fclose(file->stream);
    if (close(file->to) && !reason)
        reason = errno;
    int code =
        reason ? grove_fail(error, GROVE_IO, "%s: cannot write: %s", file->path, strerror(reason))
               : 0;
    release(file);
    return code;
}

int grove_file_rename(grove_file *file, const char *to, grove_error *error)
{
    int code = 0, reason = 0;

    if (grove_file_is_stream(file))
        return send_file(file, error);
    if (ferror(file->stream))
        reason = errno ? errno : EIO;
    if (fflush(file->stream) || fsync(fileno(file->stream)))
        reason = reason ? reason : errno;
    if (fclose(file->stream))
        reason = reason ? reason : errno;
    if (!reason && (file->is_new ? rename_new(file->temporary, to) : rename(file->temporary, to)))
        reason = errno;
    if (reason) {
        code =
            grove_fail(error, GROVE_IO, "%s: cannot write: %s; the previous content is unchanged",
                       file->path, strerror(reason));
        unlink(file->temporary);
    }
    release(file);
    return code;
}

int grove_file_move(grove_file *file, const char *to, grove_error *error)
{
    char *copy = grove_strdup(to); /* it may be the file's own */
    int code = grove_file_rename(file, copy, error);

    if (!code)
        (void)sync_folder(copy);
    free(copy);
    return code;
}

int grove_file_commit(grove_file *file, grove_error *error)
{
    return grove_file_move(file, file->path, error);
}

void grove_file_discard(grove_file *file)
{
    if (!file)
        return;
    fclose(file->stream);
    if (file->temporary)
        unlink(file->temporary);
    else
        close(file->to);
    release(file);
}
