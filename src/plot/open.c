/* Finds and opens the drawing module. It lies beside libgrove: in the folder grove/ of an installed
 * one, in the same folder in a build tree. */
#include "base/file.h"
#include "base/text.h"
#include "plot/plot.h"
#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>

static const char marker; /* an address in libgrove */

/* The caller frees; NULL when there is none. */
static char *find_module(void)
{
    static const char *const names[] = {"grove/plot.so", "plot.so"};
    Dl_info self;
    const char *slash;

    if (!dladdr(&marker, &self) || !self.dli_fname || !(slash = strrchr(self.dli_fname, '/')))
        return NULL;
    for (size_t k = 0; k < sizeof names / sizeof *names; k++) {
        char *path =
            grove_format("%.*s%s", (int)(slash + 1 - self.dli_fname), self.dli_fname, names[k]);
        if (grove_path_exists(path))
            return path;
        free(path);
    }
    return NULL;
}

int grove_figure_draw(const grove_figure *figure, const char *path, grove_error *error)
{
    char *module = find_module();
    const grove_plotter *plotter = NULL;
    int code;

    if (!module)
        return grove_fail(error, GROVE_MISSING,
                          "%s: this build cannot draw; build Grove with cairo (libcairo2-dev)",
                          path);
    /* Opened again on every call, which counts, and never closed. */
    void *handle = dlopen(module, RTLD_NOW | RTLD_LOCAL);
    if (handle)
        plotter = dlsym(handle, "grove_plot_api");
    if (!plotter)
        code = grove_fail(error, GROVE_ABI, "%s: cannot be opened: %s", module, dlerror());
    else if (plotter->version != GROVE_PLOT_VERSION)
        code = grove_fail(error, GROVE_ABI, "%s: is of version %d; this Grove needs version %d",
                          module, plotter->version, GROVE_PLOT_VERSION);
    else
        code = plotter->draw(figure, path, error);
    free(module);
    return code;
}
