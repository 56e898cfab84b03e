#define _GNU_SOURCE 1
#include "device/code.h"

#include "base/file.h"
#include "base/memory.h"
#include "base/text.h"
#include "device/tunables.h"

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

/* Tunables as constants for a compiler. Where a kernel declares none, 0 is its own number and no
 * constant: all kernels of a file then share its module. Caller frees. */
static char *constants_for(grove_device *device, const grove_kernel *kernel,
                           const int32_t tuned[GROVE_TUNABLES])
{
    const grove_tunables *tunables = grove_tunables_of(device, kernel);
    grove_text text = {0};

    for (int k = 0; grove_tunables_are_constants(tunables) && k < grove_tunables_count(tunables);
         k++)
        if (grove_tunables_has(tunables, k, device) && (kernel->tunables || tuned[k]))
            grove_text_add(&text, "#define %s %d\n", tunables->tunable[k].name, tuned[k]);
    return text.at ? text.at : grove_format("%s", "");
}

/* Takes ownership of `path` and `constants`. */
static int find_module(grove_code *code, const grove_code_loader *loader, grove_device *device,
                       const grove_kernel *kernel, char *path, char *constants, void **module,
                       grove_error *error)
{
    int result;

    for (size_t k = 0; k < code->module_count; k++) {
        const grove_code_module *m = &code->modules[k];
        if (!strcmp(m->path, path) && !strcmp(m->constants, constants)) {
            *module = m->module;
            free(path);
            free(constants);
            return 0;
        }
    }
    if (!grove_path_exists(path))
        result = grove_fail(error, GROVE_MISSING, "%s: %s has no code for it: there is no %s",
                            device->name, kernel->name, path);
    else
        result = loader->module(device, path, constants, module, error);
    if (result) {
        free(path);
        free(constants);
        return result;
    }
    grove_grow((void **)&code->modules, &code->module_capacity, code->module_count,
               sizeof(grove_code_module));
    code->modules[code->module_count++] = (grove_code_module){path, constants, *module};
    return 0;
}

static int load(grove_code *code, const grove_code_loader *loader, grove_device *device,
                const grove_kernel *kernel, const int32_t tuned[GROVE_TUNABLES],
                bool double_precision, void **function, grove_error *error)
{
    bool constant = false;
    char *path = grove_code_file(kernel, loader->ending(device, kernel, tuned, &constant));
    void *module = NULL;

    if (!path)
        return grove_fail(error, GROVE_MISSING, "%s: %s belongs to no plugin", device->name,
                          kernel->name);
    char *constants = constant ? constants_for(device, kernel, tuned) : grove_format("%s", "");
    int result = find_module(code, loader, device, kernel, path, constants, &module, error);
    if (result)
        return result;
    char *name = grove_format("%s_%s", kernel->name, double_precision ? "double" : "single");
    result = loader->function(device, module, name, function, error);
    if (result)
        *function = NULL;
    free(name);
    return result;
}

static grove_code_function *find_entry(grove_code *code, const grove_device *device,
                                       const grove_kernel *kernel,
                                       const int32_t tuned[GROVE_TUNABLES])
{
    const size_t bytes = grove_tunables_are_constants(grove_tunables_of(device, kernel))
                             ? GROVE_TUNABLES * sizeof(*tuned)
                             : 0;

    for (size_t k = 0; k < code->function_count; k++)
        if (code->functions[k].kernel == kernel && !memcmp(code->functions[k].tuned, tuned, bytes))
            return &code->functions[k];
    grove_grow((void **)&code->functions, &code->function_capacity, code->function_count,
               sizeof(grove_code_function));
    grove_code_function *entry = &code->functions[code->function_count++];
    *entry = (grove_code_function){.kernel = kernel};
    memcpy(entry->tuned, tuned, bytes);
    return entry;
}

int grove_code_find(grove_code *code, const grove_code_loader *loader, grove_device *device,
                    const grove_kernel *kernel, const int32_t tuned[GROVE_TUNABLES],
                    bool double_precision, void **function, grove_error *error)
{
    grove_code_function *entry = find_entry(code, device, kernel, tuned);
    int result = 0;

    if (entry->missing[double_precision]) /* reported before */
        return GROVE_MISSING;
    if (!entry->function[double_precision]) {
        double began = grove_now();
        result = load(code, loader, device, kernel, tuned, double_precision,
                      &entry->function[double_precision], error);
        device->timing.load_seconds += grove_now() - began;
    }
    entry->missing[double_precision] = result && result != GROVE_NO_MEMORY;
    *function = entry->function[double_precision];
    return result;
}

int grove_code_check_text(const grove_device *device, const char *path, const char *text,
                          grove_error *error)
{
    char *own = grove_format("GROVE_ABI_MAJOR = %d, GROVE_ABI_MINOR = %d", GROVE_ABI_MAJOR,
                             GROVE_ABI_MINOR);
    bool same = strstr(text, own) != NULL;

    free(own);
    return same ? 0
                : grove_fail(error, GROVE_ABI,
                             "%s: %s was made from headers of another version than %d.%d of this "
                             "Grove; build it again",
                             device->name, path, GROVE_ABI_MAJOR, GROVE_ABI_MINOR);
}

void grove_code_free(grove_code *code)
{
    for (size_t k = 0; k < code->module_count; k++) {
        free(code->modules[k].path);
        free(code->modules[k].constants);
    }
    free(code->modules);
    free(code->functions);
    *code = (grove_code){0};
}
