/* RAPL through powercap: folders intel-rapl:N of packages (also of AMD's processors) and
 * intel-rapl:N:M of their parts. Source: Linux, Documentation/power/powercap/powercap.rst. */
#include "base/energy_private.h"

#include "base/file.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define FOLDER "/sys/class/powercap"

/* The file's first line; false with errno. */
static bool read_line(const char *folder, const char *name, char *line, size_t size)
{
    char path[1024];
    ssize_t got = -1;

    errno = ENAMETOOLONG;
    if (snprintf(path, sizeof(path), "%s%s%s", folder, *name ? "/" : "", name) >= (int)sizeof(path))
        return false;
    int file = open(path, O_RDONLY | O_CLOEXEC);
    if (file < 0)
        return false;
    do
        got = read(file, line, size - 1);
    while (got < 0 && errno == EINTR);
    int reason = errno;
    close(file);
    errno = reason;
    line[got < 0 ? 0 : got] = 0;
    line[strcspn(line, "\n")] = 0;
    return got >= 0;
}

/* Digits only. */
static bool parse(const char *text, uint64_t *value)
{
    char *end;

    errno = 0;
    if (!isdigit((unsigned char)*text))
        return false;
    *value = strtoull(text, &end, 10);
    return !*end && !errno;
}

static bool read_file(const grove_energy_counter *counter, uint64_t *value, char *message)
{
    char line[64];

    if (!read_line(counter->path, "", line, sizeof(line)))
        snprintf(message, GROVE_ENERGY_MESSAGE_BYTES, "%s: %s", counter->path, strerror(errno));
    else if (!parse(line, value)) {
        char *shown = grove_shown(line, "");
        snprintf(message, GROVE_ENERGY_MESSAGE_BYTES, "%s: '%.80s' is not a number of microjoules",
                 counter->path, shown);
        free(shown);
    } else if (counter->range && *value > counter->range)
        snprintf(message, GROVE_ENERGY_MESSAGE_BYTES,
                 "%s: %llu is more than max_energy_range_uj, %llu", counter->path,
                 (unsigned long long)*value, (unsigned long long)counter->range);
    else
        return true;
    return false;
}

/* "PREFIX:N" or "PREFIX:N:M"; *parts: how many numbers. */
static bool is_domain(const char *name, const char *prefix, int *parts)
{
    if (strncmp(name, prefix, strlen(prefix)) != 0)
        return false;
    name += strlen(prefix);
    for (*parts = 0; *name == ':'; (*parts)++)
        for (name++; isdigit((unsigned char)*name); name++)
            ;
    return !*name && *parts > 0;
}

static bool find_kind(const char *name, int parts, grove_energy_kind *kind)
{
    if (parts == 1 && !strncmp(name, "package", 7))
        *kind = GROVE_ENERGY_PROCESSOR;
    else if (parts == 1 && !strcmp(name, "psys"))
        *kind = GROVE_ENERGY_PLATFORM;
    else if (!strcmp(name, "dram"))
        *kind = GROVE_ENERGY_MEMORY;
    else
        return false; /* core, uncore: in the package */
    return true;
}

/* A package that two drivers show is counted once. */
static bool is_known(const struct grove_energy_list *list, const char *name)
{
    for (int k = 0; k < list->count; k++)
        if (!strcmp(list->counter[k].name, name))
            return true;
    return false;
}

/* Counters that this user may not read: the first, and how many. */
typedef struct {
    char *path;
    int count;
} denied;

static void add_counter(struct grove_energy_list *list, grove_energy_counter counter, denied *no)
{
    if (!access(counter.path, R_OK) || errno != EACCES) {
        grove_energy_add(list, counter);
        return;
    }
    free(counter.name);
    if (no->count++)
        free(counter.path);
    else
        no->path = counter.path;
}

static void add_domain(struct grove_energy_list *list, const char *root, const char *folder,
                       int parts, denied *no)
{
    char *path = grove_path_join(root, folder), line[64];
    grove_energy_counter c = {.read = read_file};

    if (!read_line(path, "name", line, sizeof(line)))
        grove_text_add(&list->missing, "%s/name: %s\n", path, strerror(errno));
    else if (find_kind(line, parts, &c.kind) && (parts > 1 || !is_known(list, line))) {
        c.name = parts > 1 ? grove_format("%s of %s", line, folder) : grove_strdup(line);
        c.path = grove_path_join(path, "energy_uj");
        if (!read_line(path, "max_energy_range_uj", line, sizeof(line)) || !parse(line, &c.range))
            c.range = 0;
        add_counter(list, c, no);
    }
    free(path);
}

/* How many domains there are, readable or not. */
static int add_domains(struct grove_energy_list *list, const char *root, const char *prefix,
                       char **names)
{
    denied no = {0};
    int found = 0, parts;

    for (char **name = names; name && *name; name++)
        if (is_domain(*name, prefix, &parts)) {
            add_domain(list, root, *name, parts, &no);
            found++;
        }
    if (no.count > 1)
        grove_text_add(&list->missing,
                       "%s and %d others: no permission to read them; root allows it until the "
                       "next start by chmod a+r %s/%s:*/energy_uj\n",
                       no.path, no.count - 1, root, prefix);
    else if (no.count)
        grove_text_add(&list->missing,
                       "%s: no permission to read it; root allows it until the next start by "
                       "chmod a+r on this file\n",
                       no.path);
    free(no.path);
    return found;
}

void grove_energy_find_powercap(struct grove_energy_list *list)
{
    const char *given = getenv("GROVE_POWERCAP"), *root = given && *given ? given : FOLDER;
    char **names = grove_folder_list(root);

    /* intel-rapl-mmio has the packages of intel-rapl once more */
    if (!add_domains(list, root, "intel-rapl", names) &&
        !add_domains(list, root, "intel-rapl-mmio", names))
        grove_text_add(&list->missing,
                       "%s: there are no domains of RAPL; the kernel's module intel_rapl_msr (for "
                       "Intel and AMD) makes them, on machines that are not virtual\n",
                       root);
    for (char **name = names; name && *name; name++)
        free(*name);
    free(names);
}
