#include "unstable/tuning.h"

#include "base/file.h"
#include "base/log.h"
#include "base/memory.h"
#include "base/text.h"
#include "grove.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <unistd.h>

/* Lines are "VERSION | MACHINE | NAME | NUMBER ...": numbers are integers, so that no locale
 * matters, in millionths. */
#define HEAD "# Measured by grove tune on this machine; may be removed.\n"
enum { MAX_BYTES = 1 << 20 };
#define MAX_NUMBER 1000000000000

char *grove_cache_folder(void)
{
    const char *cache = getenv("XDG_CACHE_HOME"), *home = getenv("HOME");

    if (cache && cache[0] == '/')
        return grove_path_join(cache, "grove");
    return home && home[0] == '/' ? grove_path_join(home, ".cache/grove") : NULL;
}

static char *without_separators(char *words)
{
    for (char *c = words; *c; c++)
        if (*c == '|' || (unsigned char)*c < ' ')
            *c = ' ';
    return words;
}

/* The rest of the first line of a file that begins with `title`, without separators of lines and
 * columns. Caller frees. */
static char *line_of(const char *path, const char *title)
{
    char *text = grove_file_read(path, MAX_BYTES, true, NULL, NULL);
    const char *at = text ? strstr(text, title) : NULL;

    at = at ? at + strlen(title) : "";
    at += strspn(at, " \t:");
    char *line = without_separators(grove_format("%.*s", (int)strcspn(at, "\n"), at));
    free(text);
    return line;
}

char *grove_tuning_processor(void)
{
    return line_of("/proc/cpuinfo", "model name");
}

/* The GPU and its driver as the driver's files say. They are read without starting the driver. */
static char *gpu_name(void)
{
    const char *given = getenv("GROVE_CUDA_DRIVER");
    char *model = NULL, **names;

    if (given && *given)
        return without_separators(grove_format("driver %s", given));
    names = grove_folder_list("/proc/driver/nvidia/gpus");
    if (names && names[0]) {
        char *path = grove_format("/proc/driver/nvidia/gpus/%s/information", names[0]);
        model = line_of(path, "Model:");
        free(path);
    }
    for (char **each = names; each && *each; each++)
        free(*each);
    free(names);
    char *driver = line_of("/proc/driver/nvidia/version", "NVRM version:");
    char *name = grove_format("%s, %s", model ? model : "", driver);
    free(model);
    free(driver);
    return name;
}

bool grove_tuning_has_gpu(void)
{
    const char *given = getenv("GROVE_CUDA_DRIVER");

    return (given && *given) || grove_path_exists("/dev/nvidiactl") ||
           grove_path_exists("/proc/driver/nvidia/version") || grove_path_exists("/dev/dxg");
}

/* "VERSION | MACHINE | "; NULL: of the GPU. Caller frees. */
static char *machine_key(const char *given)
{
    char *machine = given ? without_separators(grove_format("%s", given)) : gpu_name();
    char *key = grove_format("%s | %s | ", GROVE_VERSION, machine);

    free(machine);
    return key;
}

/* As many numbers as there are to the end of the line, at most GROVE_TUNING_MAX; -1: something else
 * is there. */
static int read_numbers(const char *at, double numbers[GROVE_TUNING_MAX])
{
    for (int count = 0;; count++) {
        char *end;
        at += strspn(at, " ");
        if (!*at || *at == '\n')
            return count;
        if (count == GROVE_TUNING_MAX || *at < '0' || *at > '9')
            return -1;
        long long number = strtoll(at, &end, 10);
        if (number > MAX_NUMBER)
            return -1;
        numbers[count] = 1e-6 * (double)number;
        at = end;
    }
}

static const char *next_line(const char *line)
{
    const char *end = strchr(line, '\n');

    return end ? end + 1 : line + strlen(line);
}

bool grove_tuning_is_valid(const char *text)
{
    double numbers[GROVE_TUNING_MAX];

    if (strncmp(text, HEAD, strlen(HEAD)) != 0 || text[strlen(text) - 1] != '\n')
        return false;
    for (const char *line = next_line(text), *next; *line; line = next) {
        const char *at = line;
        next = next_line(line);
        for (int bar = 0; bar < 3 && at; bar++) {
            at = memchr(at, '|', (size_t)(next - at));
            at = at ? at + 1 : NULL;
        }
        if (!at || read_numbers(at, numbers) < 1)
            return false;
    }
    return true;
}

bool grove_tuning_parse(const char *text, const char *key, double *numbers, int count)
{
    double found[GROVE_TUNING_MAX];
    size_t length = strlen(key);

    for (const char *line = text; *line; line = next_line(line)) {
        if (strncmp(line, key, length) != 0)
            continue;
        if (count > GROVE_TUNING_MAX || read_numbers(line + length, found) != count)
            return false;
        memcpy(numbers, found, (size_t)count * sizeof(*numbers));
        return true;
    }
    return false;
}

/* The file's text, NULL if there is none or it is not one of ours. */
static char *read_file(const char *path)
{
    static bool warned;
    char *text;

    if (!path || !grove_path_exists(path))
        return NULL;
    text = grove_file_read(path, MAX_BYTES, true, NULL, NULL);
    if (text && grove_tuning_is_valid(text))
        return text;
    if (!__atomic_exchange_n(&warned, true, __ATOMIC_RELAXED))
        grove_log(GROVE_LOG_WARNING,
                  "%s: this is not a file of grove tune, and is not used; grove tune replaces it",
                  path);
    free(text);
    return NULL;
}

/* The path of the file, NULL if there is no folder for it. Caller frees. */
static char *file_path(void)
{
    char *folder = grove_cache_folder(), *path = folder ? grove_path_join(folder, "tuning") : NULL;

    free(folder);
    return path;
}

/* The file's text for a run; NULL with GROVE_TUNING=off. */
static char *read_for_run(const char *path)
{
    return grove_equal(getenv("GROVE_TUNING"), "off") ? NULL : read_file(path);
}

bool grove_tuning_find(const char *quantity, double *numbers, int count)
{
    char *path = file_path(), *text = read_for_run(path);
    bool found = false;

    if (text) {
        char *machine = machine_key(NULL), *key = grove_format("%s%s |", machine, quantity);
        found = grove_tuning_parse(text, key, numbers, count);
        free(machine);
        free(key);
    }
    free(text);
    free(path);
    return found;
}

void grove_tuning_each(const char *machine, grove_tuning_take *take, void *context)
{
    char *path = file_path(), *text = read_for_run(path), *key = text ? machine_key(machine) : NULL;
    double numbers[GROVE_TUNING_MAX];

    for (char *line = text, *next; line && *line; line = next) {
        next = line + (next_line(line) - line);
        char *name = line + strlen(key), *bar = NULL;
        if (strncmp(line, key, strlen(key)) != 0 || !(bar = strchr(name, '|')))
            continue;
        const int count = read_numbers(bar + 1, numbers);
        bar[bar[-1] == ' ' ? -1 : 0] = 0;
        take(context, name, numbers, count);
    }
    free(key);
    free(text);
    free(path);
}

/* Whether the line, of this key, is of one of these entries. */
static bool is_replaced(const char *line, const char *key, const grove_tuning *entries, int count)
{
    const char *name = line + strlen(key);

    if (strncmp(line, key, strlen(key)) != 0)
        return false;
    for (int i = 0; i < count; i++) {
        const size_t length = strlen(entries[i].what);
        if (!strncmp(name, entries[i].what, length) && !strncmp(name + length, " |", 2))
            return true;
    }
    return false;
}

static void write_lines(FILE *stream, const char *text, const char *key,
                        const grove_tuning *entries, int count)
{
    fputs(HEAD, stream);
    for (const char *line = text ? next_line(text) : ""; *line; line = next_line(line))
        if (!is_replaced(line, key, entries, count))
            fwrite(line, 1, (size_t)(next_line(line) - line), stream);
    for (int i = 0; i < count; i++) {
        fprintf(stream, "%s%s |", key, entries[i].what);
        for (int k = 0; k < entries[i].count; k++) {
            double number = 1e6 * entries[i].numbers[k] + 0.5;
            fprintf(stream, " %lld", (long long)(number < MAX_NUMBER ? number : MAX_NUMBER));
        }
        fputs("\n", stream);
    }
}

/* Locks the folder, so that programs at the same time keep each other's lines; -1: it has no
 * locks. */
static int lock_folder(const char *folder)
{
    int lock = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

    if (lock >= 0)
        flock(lock, LOCK_EX);
    return lock;
}

int grove_tuning_store(const char *machine, const grove_tuning *entries, int count, char **path,
                       grove_error *error)
{
    char *folder = grove_cache_folder();

    *path = file_path();
    if (!folder)
        return grove_fail(
            error, GROVE_IO,
            "there is no folder for the measurements: neither XDG_CACHE_HOME nor HOME names one");
    int code = grove_folder_make(folder, error), lock = code ? -1 : lock_folder(folder);
    char *text = code ? NULL : read_file(*path);
    grove_file *file = code ? NULL : grove_file_create(*path, error);
    if (file) {
        char *key = machine_key(machine);
        write_lines(grove_file_stream(file), text, key, entries, count);
        code = grove_file_commit(file, error);
        free(key);
    } else if (!code) {
        code = grove_error_code(error);
    }
    if (lock >= 0)
        close(lock);
    free(text);
    free(folder);
    return code;
}
