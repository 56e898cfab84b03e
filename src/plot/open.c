/* Opens the drawing module. */
#include "base/file.h"
#include "base/module.h"
#include "plot/plot.h"

int grove_figure_write(const grove_figure *figure, const char *path, FILE *stream,
                       grove_error *error)
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
    return plotter->write(figure, path, stream, error);
}

int grove_figure_draw(const grove_figure *figure, const char *path, grove_error *error)
{
    grove_file *file = grove_file_create(path, error);

    if (!file)
        return GROVE_IO;
    int code = grove_figure_write(figure, path, grove_file_stream(file), error);
    if (!code)
        return grove_file_commit(file, error);
    grove_file_discard(file);
    return code;
}
