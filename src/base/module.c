#include "unstable/module.h"

#include "base/class_index.h"
#include "base/file.h"
#include "base/text.h"

#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>

#ifndef GROVE_NODE_FOLDER
#define GROVE_NODE_FOLDER "/usr/local/lib/grove/nodes-0"
#endif

static const char marker; /* an address in libgrove */

/* The caller frees; NULL when there is none. */
static char *find(const char *name)
{
    static const char *const folders[] = {"grove/", ""};
    Dl_info self;
    const char *slash;

    if (!dladdr(&marker, &self) || !self.dli_fname || !(slash = strrchr(self.dli_fname, '/')))
        return NULL;
    for (size_t k = 0; k < sizeof(folders) / sizeof(*folders); k++) {
        char *path = grove_format("%.*s%s%s.so", (int)(slash + 1 - self.dli_fname), self.dli_fname,
                                  folders[k], name);
        if (grove_path_exists(path))
            return path;
        free(path);
    }
    return NULL;
}

/* Opened again on every call, which only raises its count, and never closed. The path is absolute,
 * since files next to the module are found by it even after a change of folder. */
static const void *open_symbol(const char *path, const char *symbol, grove_error *error)
{
    char *whole = realpath(path, NULL);
    void *module = dlopen(whole ? whole : path, RTLD_NOW | RTLD_LOCAL);
    const void *found = module ? dlsym(module, symbol) : NULL;

    if (!found)
        grove_fail(error, GROVE_ABI, "%s: cannot be opened: %s", path, dlerror());
    free(whole);
    return found;
}

bool grove_module_exists(const char *name)
{
    char *path = find(name);

    free(path);
    return path != NULL;
}

const void *grove_module_open(const char *name, const char *symbol, const char *missing,
                              grove_error *error)
{
    char *path = find(name);
    const void *found = NULL;

    if (!path) {
        grove_fail(error, GROVE_MISSING, "%s", missing);
        return NULL;
    }
    found = open_symbol(path, symbol, error);
    free(path);
    return found;
}

/* ---- modules of subjects ---- */

static const void *open_version(const char *path, const char *symbol, int version,
                                grove_error *error)
{
    const int *found = open_symbol(path, symbol, error); /* the first member of all tables */

    if (found && *found != version) {
        grove_fail(error, GROVE_ABI, "%s: %s is of version %d; this Grove needs version %d", path,
                   symbol, *found, version);
        return NULL;
    }
    return found;
}

const grove_files *grove_files_open(const char *path, grove_error *error)
{
    return open_version(path, "grove_files_api", GROVE_FILES_VERSION, error);
}

/* The path of the module that has the service by the folder's index; NULL: none. Caller frees. */
static char *find_in_folder(const char *folder, const char *name)
{
    grove_class_index index;
    char *path = NULL;

    grove_class_index_read(&index, folder, NULL);
    for (size_t i = 0; i < index.count && !path; i++)
        if (*index.lines[i].class_ == '@' && !strcmp(index.lines[i].class_ + 1, name))
            path = grove_format("%s/%s.so", folder, index.lines[i].module);
    grove_class_index_free(&index);
    return path;
}

static char *find_service(const char *name)
{
    const char *list = getenv("GROVE_PLUGIN_PATH");
    char *folders = grove_format("%s:%s", list ? list : "", GROVE_NODE_FOLDER);
    char *path = NULL;

    for (char *rest = NULL, *at = strtok_r(folders, ":", &rest); at && !path;
         at = strtok_r(NULL, ":", &rest))
        path = find_in_folder(at, name);
    free(folders);
    return path;
}

const void *grove_service_open(const char *name, int version, grove_error *error)
{
    char *path = find_service(name), *symbol = grove_format("grove_%s_api", name);
    const void *found = NULL;

    if (path)
        found = open_version(path, symbol, version, error);
    else
        grove_fail(error, GROVE_MISSING,
                   "no module has '%s'; GROVE_PLUGIN_PATH can name the folder of Grove's modules",
                   name);
    free(symbol);
    free(path);
    return found;
}
