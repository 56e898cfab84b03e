/* The services of the module plot, and drawing a figure into a file. */
#include "config.h"

#include "nodes/plot/picture.h"
#include "nodes/plot/service.h"
#include "unstable/module.h"
#include "util.h"

#ifdef HAVE_CAIRO
enum { ABSENT = false };
#else
enum { ABSENT = true };
#endif

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

const grove_plot grove_plot_api = {
    .version = GROVE_PLOT_VERSION,
    .absent = ABSENT,
    .draw = grove_figure_draw,
    .write_sky_image = grove_sky_image_write,
};

extern const grove_pictures grove_pictures_api;
const grove_pictures grove_pictures_api = {
    .version = GROVE_PICTURES_VERSION,
    .about = "pictures (cairo)",
    .absent = ABSENT,
    .names = grove_picture_list,
    .suited = grove_picture_default,
    .draw = grove_picture_draw,
};
