#define _GNU_SOURCE 1
#include "device/code.h"

#include "base/file.h"
#include "base/text.h"

#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>

static const char *last_part(const char *path)
{
    const char *slash = strrchr(path, '/');

    return slash ? slash + 1 : path;
}

/* FILE of PATH/FILE.EXTENSION; the caller frees. */
static char *stem(const char *path)
{
    const char *name = last_part(path), *dot = strrchr(name, '.');

    return grove_format("%.*s", dot ? (int)(dot - name) : (int)strlen(name), name);
}

char *grove_code_file(const grove_kernel *kernel, const char *ending)
{
    const char *given = getenv("GROVE_DEVICE_KERNELS");
    Dl_info plugin;

    if (!dladdr(kernel, &plugin) || !plugin.dli_fname)
        return NULL;
    char *name = stem(kernel->source ? kernel->source : plugin.dli_fname);
    int folder = (int)(last_part(plugin.dli_fname) - plugin.dli_fname);
    char *paths[] = {
        grove_format("%s/%s.%s", given ? given : "", name, ending),
        grove_format("%.*s%s.%s", folder, plugin.dli_fname, name, ending),
        grove_format("%.*s../%s.%s", folder, plugin.dli_fname, name, ending),
        grove_format("%.*s../../nodes/%s.%s", folder, plugin.dli_fname, name, ending),
        grove_format("%s/%s.%s", GROVE_NODE_FOLDER, name, ending),
    };
    enum { PATHS = sizeof(paths) / sizeof(*paths) };
    bool libtool = folder >= 6 && !strncmp(plugin.dli_fname + folder - 6, ".libs/", 6);
    char *found = NULL;
    for (int k = 0; k < PATHS; k++)
        if (!found && (k != 0 || (given && *given)) && (libtool || (k != 2 && k != 3)) &&
            grove_path_exists(paths[k]))
            found = paths[k];
    if (!found)
        found = paths[1];
    for (int k = 0; k < PATHS; k++)
        if (paths[k] != found)
            free(paths[k]);
    free(name);
    return found;
}
