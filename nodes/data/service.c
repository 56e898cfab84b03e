/* The services of the module data, besides its node classes: antenna layouts described, HDF5. */
#include "config.h"

#include "nodes/common/layout.h"
#include "nodes/data/service.h"
#include "unstable/module.h"
#include "util.h"

#include <math.h>

static double distance(const double *a, const double *b)
{
    return sqrt((a[0] - b[0]) * (a[0] - b[0]) + (a[1] - b[1]) * (a[1] - b[1]) +
                (a[2] - b[2]) * (a[2] - b[2]));
}

static void add_baselines(grove_text *text, const grove_layout *layout)
{
    double shortest = 0, longest = 0;

    for (int p = 0; p < layout->count; p++)
        for (int q = p + 1; q < layout->count; q++) {
            double length = distance(layout->stations[p].position, layout->stations[q].position);
            shortest = shortest == 0 || length < shortest ? length : shortest;
            longest = length > longest ? length : longest;
        }
    if (layout->count > 1)
        grove_text_add(text, "baselines: %lld of %.4g to %.4g m\n",
                       (long long)layout->count * (layout->count - 1) / 2, shortest, longest);
}

static char *describe_layout(const grove_layout *layout)
{
    grove_text text = {0};
    double min = INFINITY, max = 0;

    grove_text_add(&text, "antenna layout: %s, %d station%s\n", layout->name, layout->count,
                   layout->count == 1 ? "" : "s");
    add_baselines(&text, layout);
    for (int k = 0; k < layout->count; k++) {
        double diameter = layout->stations[k].diameter;
        min = diameter < min ? diameter : min;
        max = diameter > max ? diameter : max;
    }
    if (min > 0 && min == max)
        grove_text_add(&text, "dishes: %g m\n", max);
    else if (max > 0)
        grove_text_add(&text, "dishes: %g to %g m\n", min, max);
    for (int k = 0; k < layout->count; k++) {
        const grove_station *s = &layout->stations[k];
        grove_text_add(&text, "  %-12s %15.3f %15.3f %15.3f\n", s->name, s->position[0],
                       s->position[1], s->position[2]);
    }
    return text.at;
}

static char *describe(const char *path, const char *const *folders, grove_error *error)
{
    grove_layout *layout = grove_layout_read(path, folders, error);
    char *text = layout ? describe_layout(layout) : NULL;

    grove_layout_free(layout);
    return text;
}

#ifdef HAVE_HDF5
enum { ABSENT = false };
#else
enum { ABSENT = true };
const grove_hdf5_module grove_hdf5_api = {.version = GROVE_HDF5_VERSION, .absent = true};
#endif

const grove_files grove_files_api = {
    .version = GROVE_FILES_VERSION,
    .about = "tables in HDF5 files",
    .absent = ABSENT,
    .what = "an antenna layout",
    .ending = ".array",
    .describe = describe,
};
