#include "io/describe.h"

#include "base/file.h"
#include "base/memory.h"
#include "base/text.h"
#include "base/unit.h"
#include "io/checkpoint.h"
#include "io/describe_solutions.h"
#include "io/grid.h"
#include "io/layout.h"
#include "io/sky.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { BRIGHTEST = 5 };

/* ---- antenna layouts ---- */

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

/* ---- sky models ---- */

static int by_flux(const void *a, const void *b)
{
    const grove_source *const *x = a, *const *y = b;

    return ((*x)->stokes[0] < (*y)->stokes[0]) - ((*x)->stokes[0] > (*y)->stokes[0]);
}

static void add_brightest(grove_text *text, const grove_sky *sky)
{
    const grove_source **order = grove_try_alloc((size_t)sky->count + 1, sizeof(*order));
    char ra[32], dec[32];

    if (!order)
        return;
    for (int64_t k = 0; k < sky->count; k++)
        order[k] = &sky->sources[k];
    qsort(order, (size_t)sky->count, sizeof(*order), by_flux);
    grove_text_add(text, "brightest:\n");
    for (int64_t k = 0; k < sky->count && k < BRIGHTEST; k++)
        grove_text_add(text, "  %-16s %s %s  %.4g Jy\n", order[k]->name,
                       grove_show_ra(ra, order[k]->ra), grove_show_dec(dec, order[k]->dec),
                       order[k]->stokes[0]);
    free(order);
}

static char *describe_sky(const grove_sky *sky)
{
    int64_t gaussians = 0, polarised = 0, spectra = 0;
    double flux = 0;
    grove_text text = {0};

    for (int64_t k = 0; k < sky->count; k++) {
        const grove_source *s = &sky->sources[k];
        gaussians += s->major > 0 || s->minor > 0;
        polarised += s->stokes[1] != 0 || s->stokes[2] != 0 || s->stokes[3] != 0;
        spectra += s->terms > 0;
        flux += s->stokes[0];
    }
    grove_text_add(&text,
                   "sky model: %lld source%s (%lld point, %lld Gaussian), %.4g Jy in all\n"
                   "%lld polarised, %lld with a spectrum\n",
                   (long long)sky->count, sky->count == 1 ? "" : "s",
                   (long long)(sky->count - gaussians), (long long)gaussians, flux,
                   (long long)polarised, (long long)spectra);
    if (sky->count)
        add_brightest(&text, sky);
    return text.at;
}

/* ---- kinds of files ---- */

static char *try_sky(const char *path, grove_error *error)
{
    grove_sky *sky = grove_sky_read(path, NULL, error);
    char *text = sky ? describe_sky(sky) : NULL;

    grove_sky_free(sky);
    return text;
}

static char *try_layout(const char *path, const char *const *folders, grove_error *error)
{
    grove_layout *layout = grove_layout_read(path, folders, error);
    char *text = layout ? describe_layout(layout) : NULL;

    grove_layout_free(layout);
    return text;
}

/* A file whose name does not tell its kind: the first reader that accepts it. */
static char *describe_any(const char *path, const char *const *folders, grove_error *error)
{
    grove_error *quiet = grove_error_new();
    char *text = try_layout(path, folders, quiet);

    if (!text)
        text = try_sky(path, quiet);
    grove_error_free(quiet);
    if (!text)
        grove_fail(error, GROVE_INVALID,
                   "%s: neither a sky model nor an antenna layout; to see what is wrong with one, "
                   "name it .skymodel or .array",
                   path);
    return text;
}

char *grove_data_describe(const char *path, const char *const *folders, grove_error *error)
{
    static const char *const skies[] = {".skymodel", ".lsm.html", ".html", ".sky", ".bbs"};

    for (size_t k = 0; k < sizeof(skies) / sizeof(*skies); k++)
        if (grove_ends_with(path, skies[k]))
            return try_sky(path, error);
    if (grove_checkpoint_is(path))
        return grove_checkpoint_describe(path, error);
    if (grove_grid_is_hdf5(path))
        return grove_solutions_describe(path, error);
    if (grove_ends_with(path, ".array") || !grove_path_exists(path))
        return try_layout(path, folders, error);
    return describe_any(path, folders, error);
}
