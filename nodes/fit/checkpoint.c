/* The file: a header with the key, then records. Each ends in a hash of all before it and of
 * itself, so that a record that was not written completely, and all behind it, are recognised. */
#include "nodes/fit/checkpoint.h"

#include "unstable/hash.h"
#include "unstable/record.h"
#include "util.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

static const char magic[8] = "GROVECP2";

typedef struct {
    size_t at, length;
} span;

/* A record of a cycle that has all: which file OUTPUT will be. */
typedef struct {
    grove_checkpoint_head head; /* of no domains */
    int64_t is_last;            /* of the run's cycles */
    grove_file_mark output;
} completion;

enum { RETRY = 1 }; /* the file is gone meanwhile */

struct grove_checkpoint {
    int file;
    char *path;
    char *bytes; /* of the file as it was found; NULL: it is new */
    size_t length;
    span *records;
    size_t count, capacity;
    completion *completions; /* of the run before, and of this one */
    size_t completion_count, completion_capacity;
    size_t end; /* where the next record goes */
    grove_hash hash;
    bool has_records, has_ended;
    int64_t dropped;
    time_t synced;
};

static int fail(const grove_checkpoint *c, grove_error *error, const char *what)
{
    return grove_fail(error, GROVE_IO, "%s: %s", c->path, what);
}

static int fail_system(const grove_checkpoint *c, grove_error *error, const char *what)
{
    return grove_fail(error, GROVE_IO, "%s: cannot %s: %s", c->path, what, strerror(errno));
}

/* ---- opening ---- */

/* Whether the name still belongs to the open file: the run that had it may have removed it. */
static bool is_current(const grove_checkpoint *c)
{
    struct stat own, now;

    return fstat(c->file, &own) == 0 && lstat(c->path, &now) == 0 && own.st_ino == now.st_ino &&
           own.st_dev == now.st_dev;
}

static int check_file(const grove_checkpoint *c, grove_error *error)
{
    struct stat info;

    if (fstat(c->file, &info))
        return fail_system(c, error, "open");
    if (!S_ISREG(info.st_mode))
        return fail(c, error, "not a regular file; move it away");
    if (info.st_nlink > 1)
        return fail(c, error, "this file has a second name (a hard link); move it away");
    return 0;
}

/* 0, RETRY, or a code with a message. */
static int open_once(grove_checkpoint *c, grove_error *error)
{
    c->file = open(c->path, O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK, 0666);
    if (c->file < 0)
        return errno == ELOOP
                   ? fail(c, error, "a symbolic link, which is not followed; move it away")
                   : fail_system(c, error, "create");
    int code = check_file(c, error);
    if (!code && flock(c->file, LOCK_EX | LOCK_NB) && !grove_path_has_no_locks(errno))
        code = fail(c, error, "another run is writing it");
    if (!code && !is_current(c))
        code = RETRY;
    return code;
}

static int open_file(grove_checkpoint *c, grove_error *error)
{
    int code = RETRY;

    for (int tries = 0; tries < 10 && code == RETRY; tries++) {
        if (c->file >= 0)
            close(c->file);
        code = open_once(c, error);
    }
    return code == RETRY ? fail(c, error, "other runs create and remove it continually") : code;
}

/* ---- reading ---- */

static int read_file(grove_checkpoint *c, grove_error *error)
{
    struct stat info;
    ssize_t got;

    if (fstat(c->file, &info))
        return fail_system(c, error, "read");
    c->bytes = grove_try_alloc((size_t)info.st_size + 1, 1);
    if (!c->bytes)
        return grove_fail(error, GROVE_NO_MEMORY, "%s: no memory to read it", c->path);
    while (c->length < (size_t)info.st_size) {
        got = pread(c->file, c->bytes + c->length, (size_t)info.st_size - c->length,
                    (off_t)c->length);
        if (got < 0 && errno == EINTR)
            continue;
        if (got <= 0)
            return got < 0 ? fail_system(c, error, "read") : 0;
        c->length += (size_t)got;
    }
    return 0;
}

/* Takes the next bytes; false: there are fewer. */
static bool take(const grove_checkpoint *c, size_t *at, void *to, size_t bytes)
{
    if (c->length - *at < bytes)
        return false;
    memcpy(to, c->bytes + *at, bytes);
    *at += bytes;
    return true;
}

/* The header's key; NULL: it has no complete one. */
static char *read_key(grove_checkpoint *c)
{
    char begin[sizeof(magic)];
    uint64_t length;
    grove_hash hash;
    size_t at = 0;

    if (!take(c, &at, begin, sizeof(begin)) || memcmp(begin, magic, sizeof(magic)) != 0 ||
        !take(c, &at, &length, sizeof(length)) || length > c->length - at)
        return NULL;
    char *key = grove_format("%.*s", (int)length, c->bytes + at);
    at += (size_t)length;
    c->hash = grove_hash_add(grove_hash_start(), c->bytes, at);
    if (!take(c, &at, &hash, sizeof(hash)) || !grove_hash_equal(hash, c->hash)) {
        free(key);
        return NULL;
    }
    c->end = at;
    return key;
}

static void add_completion(grove_checkpoint *c, const completion *each)
{
    grove_grow((void **)&c->completions, &c->completion_capacity, c->completion_count + 1,
               sizeof(*each));
    c->completions[c->completion_count++] = *each;
}

/* Whether a record is of a cycle that has all. */
static bool is_completion(const grove_checkpoint *c, const span *record, completion *found)
{
    if (record->length != sizeof(*found))
        return false;
    memcpy(found, c->bytes + record->at, sizeof(*found));
    return !found->head.domains;
}

static void read_records(grove_checkpoint *c)
{
    completion found;

    uint64_t length;
    grove_hash hash;

    for (size_t at = c->end; take(c, &at, &length, sizeof(length)); c->end = at) {
        if (length > c->length - at)
            return;
        size_t from = at;
        grove_hash own = grove_hash_add(c->hash, c->bytes + at, (size_t)length);
        at += (size_t)length;
        if (!take(c, &at, &hash, sizeof(hash)) || !grove_hash_equal(hash, own))
            return;
        c->hash = own;
        grove_grow((void **)&c->records, &c->capacity, c->count + 1, sizeof(*c->records));
        c->records[c->count++] = (span){from, (size_t)length};
        if (is_completion(c, &c->records[c->count - 1], &found))
            add_completion(c, &found);
    }
}

/* The value of a line "NAME: VALUE"; its length in *length. NULL: there is none. */
static const char *value_of(const char *key, const char *name, size_t name_length, size_t *length)
{
    for (const char *line = key; *line;) {
        size_t all = strcspn(line, "\n");
        if (all > name_length && !strncmp(line, name, name_length) && line[name_length] == ':') {
            *length = all - name_length;
            return line + name_length;
        }
        line += all + (line[all] == '\n');
    }
    return NULL;
}

/* The names of the lines in which they differ; caller frees. */
static char *differences(const char *key, const char *other)
{
    grove_text text = {0};

    for (const char *line = key; *line;) {
        size_t all = strcspn(line, "\n"), name = strcspn(line, ":\n"), length = 0;
        const char *value = value_of(other, line, name, &length);
        if (all && (!value || length != all - name || memcmp(value, line + name, length) != 0))
            grove_text_add(&text, "%s%.*s", text.length ? ", " : "", (int)name, line);
        line += all + (line[all] == '\n');
    }
    return text.at ? text.at : grove_strdup("something");
}

/* Whether they are the same up to an empty line. */
static bool is_same_run(const char *key, const char *other)
{
    const char *end = strstr(key, "\n\n");

    return end && !strncmp(key, other, (size_t)(end - key) + 2);
}

/* ---- the output of the run before ---- */

static const char ending[] = ".checkpoint";

/* The file that the run writes when all has gone well; caller frees. */
static char *output_of(const grove_checkpoint *c)
{
    size_t length = strlen(c->path), end = grove_checkpoint_is(c->path) ? sizeof(ending) - 1 : 0;

    return grove_format("%.*s", (int)(length - end), c->path);
}

/* The cycle whose file has OUTPUT's name; NULL: it is none of theirs, or there is no file. */
static const completion *find_completion(const grove_checkpoint *c)
{
    char *path = output_of(c);
    grove_file_mark now;
    bool known = !grove_file_mark_of(path, &now, NULL);

    free(path);
    for (size_t i = c->completion_count; known && now.inode && i-- > 0;)
        if (grove_file_mark_equal(&now, &c->completions[i].output))
            return &c->completions[i];
    return NULL;
}

/* Whether the run before has put in place all that it writes. */
static bool has_ended(const grove_checkpoint *c)
{
    const completion *found = find_completion(c);

    return found && found->is_last;
}

/* Undoes unfinished changes to the output of a run that died, also to a set. */
static int recover(const grove_checkpoint *c, grove_error *error)
{
    char *path = output_of(c);
    int code = grove_record_recover_file(path, error);

    free(path);
    return code;
}

/* ---- writing ---- */

static int write_all(grove_checkpoint *c, const char *bytes, size_t length, grove_error *error)
{
    for (size_t done = 0; done < length;) {
        ssize_t put = pwrite(c->file, bytes + done, length - done, (off_t)(c->end + done));
        if (put < 0 && errno == EINTR)
            continue;
        if (put <= 0) {
            int reason = errno;
            (void)!ftruncate(c->file, (off_t)c->end);
            errno = reason;
            return fail_system(c, error, "write");
        }
        done += (size_t)put;
    }
    c->end += length;
    return 0;
}

static int sync_file(grove_checkpoint *c, grove_error *error)
{
    c->synced = time(NULL);
    return fsync(c->file) && errno != EINVAL && errno != EROFS ? fail_system(c, error, "write") : 0;
}

static int write_header(grove_checkpoint *c, const char *key, grove_error *error)
{
    grove_text text = {0};
    uint64_t length = strlen(key);

    c->end = 0;
    c->count = c->completion_count = 0;
    if (ftruncate(c->file, 0))
        return fail_system(c, error, "write");
    grove_text_append(&text, magic, sizeof(magic));
    grove_text_append(&text, (const char *)&length, sizeof(length));
    grove_text_append(&text, key, (size_t)length);
    c->hash = grove_hash_add(grove_hash_start(), text.at, text.length);
    grove_text_append(&text, (const char *)&c->hash, sizeof(c->hash));
    int code = write_all(c, text.at, text.length, error);
    free(text.at);
    char *folder = grove_path_folder(c->path);
    if (!code)
        code = sync_file(c, error);
    (void)grove_path_sync(folder);
    free(folder);
    return code;
}

int grove_checkpoint_append(grove_checkpoint *c, const char *bytes, size_t length,
                            grove_error *error)
{
    grove_text text = {0};
    uint64_t size = length;
    grove_hash hash = grove_hash_add(c->hash, bytes, length);

    grove_text_append(&text, (const char *)&size, sizeof(size));
    grove_text_append(&text, bytes, length);
    grove_text_append(&text, (const char *)&hash, sizeof(hash));
    int code = write_all(c, text.at, text.length, error);
    free(text.at);
    if (code)
        return code;
    c->hash = hash;
    c->has_records = true;
    return time(NULL) != c->synced ? sync_file(c, error) : 0;
}

int grove_checkpoint_complete(grove_checkpoint *c, int64_t cycle, bool is_last,
                              const char *prepared, grove_error *error)
{
    completion each = {.head = {.cycle = cycle}, .is_last = is_last};
    int code = grove_file_mark_of(prepared, &each.output, error);

    if (!code)
        code = grove_checkpoint_append(c, (const char *)&each, sizeof(each), error);
    add_completion(c, &each);
    return code ? code : sync_file(c, error);
}

/* ---- the whole ---- */

static int64_t count_domains(const grove_checkpoint *c)
{
    grove_checkpoint_head head;
    int64_t count = 0;

    for (size_t k = 0; k < c->count; k++) {
        const span *record = &c->records[k];
        if (record->length < sizeof(head))
            continue;
        memcpy(&head, c->bytes + record->at, sizeof(head));
        if (head.domains > 0 && (uint64_t)head.domains < record->length)
            count += head.domains;
    }
    return count;
}

/* Says why a run with another key cannot go on from this one. */
static int refuse(const grove_checkpoint *c, const char *key, const char *before,
                  grove_error *error)
{
    const completion *done = is_same_run(key, before) ? find_completion(c) : NULL;
    char *what = differences(key, before);

    if (done)
        grove_fail(error, GROVE_INVALID,
                   "%s: its run has completed cycle %lld, and the inputs of the run have changed "
                   "since it began: the cycle, or another program, has written them. The run "
                   "cannot be resumed; all outputs are complete as of that cycle. To start again, "
                   "restore the inputs, and remove that file",
                   c->path, (long long)done->head.cycle);
    else
        grove_fail(
            error, GROVE_INVALID,
            "%s: its run differs in %s, and cannot be resumed; to start again, remove that file",
            c->path, what);
    free(what);
    return GROVE_INVALID;
}

/* Begins with an empty file, or with records of a run that did not end. */
static int begin(grove_checkpoint *c, const char *key, grove_checkpoint_use use, grove_error *error)
{
    bool resume = use == GROVE_CHECKPOINT_RESUME;
    int code = read_file(c, error);

    if (!code)
        code = recover(c, error);
    if (code || !c->length)
        return code ? code : write_header(c, key, error);
    char *before = read_key(c);
    if (!before)
        return fail(
            c, error,
            "it is not a checkpoint of this Grove, or its beginning is damaged; move it away");
    read_records(c);
    if (c->count && has_ended(c)) {
        c->has_ended = resume && is_same_run(key, before);
        c->count = 0;
    }
    if (use == GROVE_CHECKPOINT_REPLACE && strcmp(before, key) != 0) {
        c->dropped = count_domains(c);
        c->count = 0;
    }
    if (c->has_ended) {
        code = 0; /* the file stays until it is closed */
    } else if (!c->count) {
        code = write_header(c, key, error);
    } else if (!resume && !strcmp(before, key)) {
        code = fail(c, error,
                    "a run that did not end has left its solutions there; grove run --resume "
                    "continues from them; to start again, remove that file");
    } else if (!resume) {
        code = fail(c, error,
                    "another run that did not end has left its solutions there; to start again, "
                    "give overwrite=true or remove that file");
    } else if (strcmp(before, key) != 0) {
        code = refuse(c, key, before, error);
    } else if (ftruncate(c->file, (off_t)c->end)) {
        code = fail_system(c, error, "write");
    }
    free(before);
    c->has_records = c->count > 0;
    return code;
}

static void release(grove_checkpoint *c)
{
    if (c->file >= 0)
        close(c->file);
    free(c->path);
    free(c->bytes);
    free(c->records);
    free(c->completions);
    free(c);
}

grove_checkpoint *grove_checkpoint_open(const char *path, const char *key, grove_checkpoint_use use,
                                        grove_error *error)
{
    grove_checkpoint *c = grove_alloc(sizeof(*c));

    c->file = -1;
    c->path = grove_strdup(path);
    int code = open_file(c, error);
    if (!code) {
        code = begin(c, key, use, error);
        if (code && !c->length) /* it was made now */
            unlink(c->path);
    }
    if (!code)
        return c;
    release(c);
    return NULL;
}

/* ---- descriptions ---- */

bool grove_checkpoint_is(const char *path)
{
    return grove_ends_with(path, ending);
}

char *grove_checkpoint_describe(const char *path, grove_error *error)
{
    const char *slash = strrchr(path, '/'), *name = slash ? slash + 1 : path;
    size_t length = strlen(name), end = grove_checkpoint_is(path) ? sizeof(ending) - 1 : 0;
    grove_checkpoint c = {.file = -1};
    char *text = NULL;

    c.path = grove_strdup(path);
    c.bytes = grove_file_read(path, (size_t)1 << 40, false, &c.length, error);
    char *key = c.bytes ? read_key(&c) : NULL;
    if (key) {
        read_records(&c);
        int64_t domains = count_domains(&c);
        text = grove_format("checkpoint of %.*s: %lld solution domain%s of a run that has not "
                            "ended; grove run --resume continues from it\n",
                            (int)(length - end), name, (long long)domains, domains == 1 ? "" : "s");
    } else if (c.bytes) {
        fail(&c, error, "it is not a checkpoint of this Grove, or its beginning is damaged");
    }
    free(key);
    free(c.path);
    free(c.bytes);
    free(c.records);
    free(c.completions);
    return text;
}

/* ---- records ---- */

bool grove_checkpoint_has_ended(const grove_checkpoint *c)
{
    return c->has_ended;
}

bool grove_checkpoint_has_output(const grove_checkpoint *c)
{
    return find_completion(c) != NULL;
}

int64_t grove_checkpoint_dropped(const grove_checkpoint *c)
{
    return c->dropped;
}

int64_t grove_checkpoint_count(const grove_checkpoint *c)
{
    return (int64_t)c->count;
}

const char *grove_checkpoint_record(const grove_checkpoint *c, int64_t number, size_t *length)
{
    *length = c->records[number].length;
    return c->bytes + c->records[number].at;
}

void grove_checkpoint_close(grove_checkpoint *c, bool ended_well)
{
    if (!c)
        return;
    if (ended_well || !c->has_records)
        unlink(c->path);
    else
        (void)fsync(c->file);
    release(c);
}
