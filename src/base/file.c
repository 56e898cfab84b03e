#include "base/file.h"

#include "base/memory.h"
#include "base/text.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
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

/* What a file is by its first bytes, where that is no text; else NULL. */
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
                          "%s: this is a %s file, which is not supported; a text file is wanted",
                          path, format);
    if (memchr(bytes, 0, length))
        return grove_fail(error, GROVE_INVALID, "%s: not a text file, it contains NUL bytes", path);
    return 0;
}

char *grove_file_read(const char *path, size_t max, bool text, size_t *length, grove_error *error)
{
    struct stat info;
    size_t got = 0;
    /* A pipe with nobody at its other end would hold us for ever. */
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);

    if (fd < 0) {
        if (errno == ENOENT)
            grove_path_fail(path, error);
        else
            grove_fail(error, GROVE_IO, "%s: cannot open: %s", path, strerror(errno));
        return NULL;
    }
    if (fstat(fd, &info) || !S_ISREG(info.st_mode)) {
        grove_fail(error, GROVE_INVALID, "%s: %s", path,
                   S_ISDIR(info.st_mode) ? "this is a folder; a file is wanted"
                                         : "not a regular file");
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

/* ---- atomic writing ---- */

struct grove_file {
    FILE *stream;
    char *path, *temporary;
};

grove_file *grove_file_create(const char *path, grove_error *error)
{
    grove_file *file = grove_alloc(sizeof(*file));
    const char *name = strrchr(path, '/');
    int folder = name ? (int)(name - path) + 1 : 0;

    file->path = grove_strdup(path);
    file->temporary = grove_format("%.*s.%s.XXXXXX", folder, path, path + folder);
    int fd = mkostemp(file->temporary, O_CLOEXEC);
    if (fd >= 0) {
        mode_t mask = umask(0);
        umask(mask);
        (void)!fchmod(fd, 0666 & ~mask); /* mkstemp's 0600 is not what a user expects */
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

static void sync_folder(const char *path)
{
    const char *name = strrchr(path, '/');
    char *folder = name ? grove_format("%.*s", (int)(name - path) + 1, path) : grove_strdup(".");
    int fd = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

    if (fd >= 0) {
        fsync(fd);
        close(fd);
    }
    free(folder);
}

int grove_file_commit(grove_file *file, grove_error *error)
{
    int code = 0, reason = 0;

    if (ferror(file->stream))
        reason = errno ? errno : EIO;
    if (fflush(file->stream) || fsync(fileno(file->stream)))
        reason = reason ? reason : errno;
    if (fclose(file->stream))
        reason = reason ? reason : errno;
    if (!reason && rename(file->temporary, file->path))
        reason = errno;
    if (reason) {
        code =
            grove_fail(error, GROVE_IO, "%s: cannot write: %s; the previous content is unchanged",
                       file->path, strerror(reason));
        unlink(file->temporary);
    } else {
        sync_folder(file->path);
    }
    release(file);
    return code;
}

void grove_file_discard(grove_file *file)
{
    if (!file)
        return;
    fclose(file->stream);
    unlink(file->temporary);
    release(file);
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

bool grove_path_exists(const char *path)
{
    return access(path, F_OK) == 0;
}

bool grove_path_is_folder(const char *path)
{
    struct stat info;

    return stat(path, &info) == 0 && S_ISDIR(info.st_mode);
}

char *grove_path_beside(const char *base_file, const char *path)
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
        return 0;
    if (nftw(path, remove_one, 32, FTW_DEPTH | FTW_PHYS))
        return grove_fail(error, GROVE_IO, "%s: cannot remove: %s", path, strerror(errno));
    return 0;
}

static int compare_names(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

char **grove_folder_list(const char *path)
{
    DIR *folder = opendir(path);
    char **names = grove_alloc(sizeof(*names));
    size_t count = 0, capacity = 1;
    struct dirent *entry;

    while (folder && (entry = readdir(folder))) {
        if (!strcmp(entry->d_name, ".") || !strcmp(entry->d_name, ".."))
            continue;
        grove_grow((void **)&names, &capacity, count + 1, sizeof(*names));
        names[count++] = grove_strdup(entry->d_name);
    }
    names[count] = NULL;
    if (folder)
        closedir(folder);
    qsort(names, count, sizeof(*names), compare_names);
    return names;
}
