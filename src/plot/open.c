/* Opens the drawing module. */
#include "base/module.h"
#include "plot/plot.h"

int grove_figure_draw(const grove_figure *figure, const char *path, grove_error *error)
{
    size_t before = grove_error_count(error);
    const grove_plotter *plotter =
        grove_module_open("plot", "grove_plot_api",
                          "this build cannot draw; build Grove with cairo (libcairo2-dev)", error);

    if (!plotter) {
        grove_error_context(error, before, NULL, path);
        return GROVE_MISSING;
    }
    if (plotter->version != GROVE_PLOT_VERSION)
        return grove_fail(error, GROVE_ABI,
                          "the drawing module is of version %d; this Grove needs version %d",
                          plotter->version, GROVE_PLOT_VERSION);
    return plotter->draw(figure, path, error);
}
