#include "base/module.h"

#include "base/file.h"
#include "base/text.h"

#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>

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
    /* Opened again on every call, which only raises its count, and never closed. */
    void *module = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (module)
        found = dlsym(module, symbol);
    if (!found)
        grove_fail(error, GROVE_ABI, "%s: cannot be opened: %s", path, dlerror());
    free(path);
    return found;
}
