#include "nodes/plot/picture.h"

#include "nodes/common/grid.h"
#include "nodes/imaging/service.h"
#include "nodes/plot/figure.h"
#include "nodes/plot/sky_image.h"
#include "unstable/module.h"
#include "unstable/output.h"
#include "util.h"

#include <erfa.h>
#include <erfam.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Pictures of solutions are named after a quantity and its axes. */
#define QUANTITY(name) name "-time", name "-freq", name "-station", name "-waterfall"
static const char *const names[] = {"uv",
                                    "image",
                                    "amplitude-uvdist",
                                    "phase-uvdist",
                                    "layout",
                                    "amplitude-time",
                                    "phase-time",
                                    "amplitude-freq",
                                    "phase-freq",
                                    "amplitude-station",
                                    "phase-station",
                                    "amplitude-waterfall",
                                    "phase-waterfall",
                                    QUANTITY("clock"),
                                    QUANTITY("tec"),
                                    QUANTITY("rotation"),
                                    QUANTITY("value"),
                                    "chi2-time",
                                    "convergence",
                                    NULL};
/* Of a set are those before SETS, of solutions those from SOLUTIONS on. */
enum {
    NAMES = sizeof(names) / sizeof(names[0]) - 1,
    IMAGE = 1,
    LAYOUT = 4,
    SOLUTIONS = 5,
    SETS = 9
};

const char *const *grove_picture_list(size_t *count)
{
    if (count)
        *count = NAMES;
    return names;
}

char *grove_show_band(char *buf, const grove_ms_layout *layout)
{
    double low = INFINITY, high = 0;

    for (int64_t k = 0; k < layout->channels; k++) {
        low = fmin(low, layout->frequency[k] - layout->channel_width[k] / 2);
        high = fmax(high, layout->frequency[k] + layout->channel_width[k] / 2);
    }
    if (high >= 1e9)
        snprintf(buf, 64, "%.4g–%.4g GHz", low * 1e-9, high * 1e-9);
    else if (high > 0)
        snprintf(buf, 64, "%.5g–%.5g MHz", low * 1e-6, high * 1e-6);
    else
        buf[0] = 0;
    return buf;
}

/* ---- antenna layouts ---- */

/* East and north of the stations' mean, m. Positions far from the Earth's surface are used
 * unchanged. */
static void project(const grove_station *stations, int count, double *east, double *north)
{
    double mean[3] = {0}, longitude, latitude, height;

    for (int k = 0; k < count; k++)
        for (int i = 0; i < 3; i++)
            mean[i] += stations[k].position[i] / count;
    bool local = sqrt(mean[0] * mean[0] + mean[1] * mean[1] + mean[2] * mean[2]) < 6e6 ||
                 eraGc2gd(ERFA_WGS84, mean, &longitude, &latitude, &height);
    for (int k = 0; k < count; k++) {
        double x = stations[k].position[0] - mean[0], y = stations[k].position[1] - mean[1],
               z = stations[k].position[2] - mean[2];
        east[k] = local ? x : y * cos(longitude) - x * sin(longitude);
        north[k] =
            local ? y
                  : z * cos(latitude) - sin(latitude) * (x * cos(longitude) + y * sin(longitude));
    }
}

static void baseline_range(const grove_station *stations, int count, double *shortest,
                           double *longest)
{
    *shortest = INFINITY;
    *longest = 0;
    for (int p = 0; p < count; p++)
        for (int q = p + 1; q < count; q++) {
            const double *a = stations[p].position, *b = stations[q].position;
            double length = sqrt((a[0] - b[0]) * (a[0] - b[0]) + (a[1] - b[1]) * (a[1] - b[1]) +
                                 (a[2] - b[2]) * (a[2] - b[2]));
            *shortest = fmin(*shortest, length);
            *longest = fmax(*longest, length);
        }
}

static int draw_stations(const double *east, const double *north, int count, double unit,
                         const char *title, const char *subtitle, const char *to,
                         grove_error *error)
{
    grove_series series = {.x = east, .y = north, .count = (size_t)count, .size = 6};
    grove_chart chart = {.title = title,
                         .subtitle = subtitle,
                         .x.label = unit > 1 ? "east (km)" : "east (m)",
                         .y.label = unit > 1 ? "north (km)" : "north (m)",
                         .equal = true,
                         .series = &series,
                         .series_count = 1};
    grove_figure figure = {.width = 700, .height = 700, .charts = &chart, .count = 1};

    return grove_figure_draw(&figure, to, error);
}

int grove_picture_layout(const grove_station *stations, int count, const char *name, const char *to,
                         grove_error *error)
{
    double *east = grove_try_alloc((size_t)count, 2 * sizeof(double)), extent = 0, shortest,
           longest;

    if (!east)
        return grove_fail(error, GROVE_NO_MEMORY, "%s: no memory for %d stations", name, count);
    double *north = east + count;
    project(stations, count, east, north);
    for (int k = 0; k < 2 * count; k++)
        extent = fmax(extent, fabs(east[k]));
    double unit = extent > 2000 ? 1000 : 1;
    for (int k = 0; k < 2 * count; k++)
        east[k] /= unit;
    baseline_range(stations, count, &shortest, &longest);
    char *title = grove_format("%s: antenna layout", name);
    char *subtitle = count > 1 ? grove_format("%d stations, baselines %.3g m to %.3g km", count,
                                              shortest, longest * 1e-3)
                               : grove_strdup("1 station");
    int code = draw_stations(east, north, count, unit, title, subtitle, to, error);
    free(title);
    free(subtitle);
    free(east);
    return code;
}

/* ---- kinds of data ---- */

typedef enum { A_LAYOUT, A_SET, A_TABLE, AN_IMAGE } data_kind;

static bool is_image(const char *path)
{
    static const char *const ends[] = {".fits", ".fit",     ".fts",     ".FITS",
                                       ".FIT",  ".fits.gz", ".fits.fz", ".fit.gz"};

    for (size_t k = 0; k < sizeof(ends) / sizeof(ends[0]); k++)
        if (grove_ends_with(path, ends[k]))
            return true;
    return false;
}

static data_kind kind_of(const char *path)
{
    if (grove_path_is_folder(path))
        return A_SET;
    return grove_grid_is_hdf5(path) ? A_TABLE : is_image(path) ? AN_IMAGE : A_LAYOUT;
}

/* Options that would do nothing are errors. */
static int check_options(const char *path, const grove_picture *p, data_kind kind,
                         grove_error *error)
{
    enum { OF_SETS = 1 << A_SET, OF_TABLES = 1 << A_TABLE, OF_IMAGES = 1 << AN_IMAGE };
    static const char *const what[] = {"an antenna layout", "a Measurement Set",
                                       "a file of solution tables", "a FITS image"};
    const struct {
        const char *name;
        bool given;
        int kinds;
    } options[] = {{"column", p->column, OF_SETS},
                   {"field", p->field, OF_SETS},
                   {"spectral-window", p->spectral_window, OF_SETS},
                   {"polarization", p->polarization, OF_SETS},
                   {"baselines", p->baselines, OF_SETS},
                   {"size", p->pixels, OF_SETS},
                   {"cell", p->cell != 0, OF_SETS},
                   {"correlations", p->correlations, OF_SETS | OF_TABLES},
                   {"log", p->logarithmic, OF_SETS | OF_TABLES | OF_IMAGES},
                   {"dataset", p->dataset, OF_TABLES},
                   {"stations", p->stations, OF_TABLES},
                   {"reference", p->reference, OF_TABLES},
                   {"direction", p->direction, OF_TABLES}};

    for (size_t k = 0; k < sizeof(options) / sizeof(options[0]); k++) {
        int kinds = options[k].kinds;
        if (!options[k].given || kinds & 1 << kind)
            continue;
        return grove_fail(error, GROVE_INVALID, "%s: --%s is for %s%s%s%s, but this is %s", path,
                          options[k].name, kinds & OF_SETS ? "Measurement Sets" : "",
                          kinds & OF_SETS && kinds & OF_TABLES ? " and " : "",
                          kinds & OF_TABLES ? "solution tables" : "",
                          kinds & OF_IMAGES ? " and FITS images" : "", what[kind]);
    }
    return 0;
}

static int draw_image(const char *path, bool logarithmic, const char *to, grove_error *error)
{
    const grove_images *images = grove_service_open("images", GROVE_IMAGES_VERSION, error);
    grove_image *image = images ? images->read(path, NULL, 0, error) : NULL;
    grove_file *file = image ? grove_file_create(to, error) : NULL;
    char *name = grove_path_name(path);
    int code = 0;

    if (file)
        code = grove_sky_image_write(image, name, logarithmic, to, grove_file_stream(file), error);
    if (file && !code)
        code = grove_file_commit(file, error);
    else
        grove_file_discard(file);
    if (image)
        images->free(image);
    free(name);
    return file ? code : grove_error_code(error);
}

static int draw_file(const char *path, const char *const *folders, const char *what, const char *to,
                     grove_error *error)
{
    int code;
    grove_layout *layout = grove_layout_read(path, folders, error);
    if (!layout)
        return grove_error_code(error);
    if (strcmp(what, "layout") != 0)
        code = grove_fail(error, GROVE_INVALID,
                          "%s: an antenna layout has no picture '%s'; that needs a Measurement Set",
                          path, what);
    else
        code = grove_picture_layout(layout->stations, layout->count, layout->name, to, error);
    grove_layout_free(layout);
    return code;
}

static int draw_solutions(const char *path, const grove_picture *picture, const char *to,
                          grove_error *error)
{
    static const char *const against[] = {"time", "freq", "station"};
    const char *dash = strchr(picture->what, '-');
    bool chi2 = !strcmp(picture->what, "chi2-time"), convergence = !dash;
    char *quantity = chi2 || convergence
                         ? NULL
                         : grove_format("%.*s", (int)(dash - picture->what), picture->what);
    grove_solutions s;
    int code =
        grove_solutions_open(&s, path, quantity, chi2 ? "chi2" : "iterations", picture, error);

    if (!code && chi2)
        code = grove_picture_chi2(&s, picture, to);
    else if (!code && convergence)
        code = grove_picture_convergence(&s, to);
    else if (!code && !strcmp(dash, "-waterfall"))
        code = grove_picture_waterfall(&s, picture, to);
    for (int k = 0; k < 3 && !code && quantity; k++)
        if (!strcmp(dash + 1, against[k]))
            code = grove_picture_stations(&s, GROVE_CUBE_TIME + k, picture, to);
    grove_solutions_close(&s);
    free(quantity);
    return code;
}

static int draw_set(const char *path, const grove_picture *picture, const char *to,
                    grove_error *error)
{
    bool layout = !strcmp(picture->what, "layout"), uv = !strcmp(picture->what, "uv");
    grove_set set;
    const grove_ms_part part = {.field = picture->field,
                                .spectral_window = picture->spectral_window,
                                .polarization = picture->polarization};
    int code = grove_set_open(&set, path, &part, picture->column, !layout && !uv, error);

    if (code)
        return code;
    if (!layout)
        code = grove_set_choose_baselines(&set, picture->baselines);
    if (!code && picture->correlations)
        code = grove_set_choose_correlations(&set, picture->correlations);
    if (code) {
        grove_set_close(&set);
        return code;
    }
    if (layout)
        code = grove_picture_layout(set.layout->stations, set.layout->station_count, set.name, to,
                                    error);
    else if (uv)
        code = grove_picture_uv(&set, to);
    else if (!strcmp(picture->what, "image"))
        code = grove_picture_image(&set, picture, to);
    else
        code = grove_picture_scatter(&set, picture, to);
    grove_set_close(&set);
    return code;
}

char *grove_picture_default(const char *path, const char *dataset, grove_error *error)
{
    switch (kind_of(path)) {
    case A_SET:
        return grove_strdup("uv,image");
    case A_TABLE:
        return grove_solutions_pictures(path, dataset, error);
    case AN_IMAGE:
        return grove_strdup("image");
    default:
        return grove_strdup("layout");
    }
}

/* Whether there is picture k of data of that kind. */
static int check_kind(const char *path, data_kind kind, int k, grove_error *error)
{
    static const char *const has[] = {"", "a Measurement Set has", "solution tables have",
                                      "a FITS image has"};

    if (kind == A_SET     ? k < SETS
        : kind == A_TABLE ? k >= SOLUTIONS
                          : kind != AN_IMAGE || k == IMAGE)
        return 0;
    return grove_fail(error, GROVE_INVALID, "%s: %s no picture '%s'; that needs %s", path,
                      has[kind], names[k],
                      k >= SETS || (k >= SOLUTIONS && kind == AN_IMAGE) ? "solution tables (.h5)"
                      : k == LAYOUT ? "a Measurement Set or an antenna layout"
                                    : "a Measurement Set");
}

int grove_picture_draw(const char *path, const char *const *folders, const grove_picture *picture,
                       const char *to, grove_error *error)
{
    data_kind kind = kind_of(path);
    int k = 0;

    while (k < NAMES && picture->what && strcmp(names[k], picture->what) != 0)
        k++;
    if (k == NAMES || !picture->what) {
        const char *what = picture->what ? picture->what : "", *near;
        near = grove_nearest(what, names, NAMES);
        return grove_fail(error, GROVE_INVALID, "there is no picture '%s'%s%s%s", what,
                          near ? "; did you mean '" : "", near ? near : "", near ? "'?" : "");
    }
    if (!grove_ends_with(to, ".png") && !grove_ends_with(to, ".svg"))
        return grove_fail(error, GROVE_INVALID, "%s: a picture's name ends in .png or .svg", to);
    int code = check_kind(path, kind, k, error);
    if (!code && kind != A_SET && !grove_path_exists(path) && strpbrk(path, "/."))
        code = grove_path_fail(path, error);
    code = code ? code : check_options(path, picture, kind, error);
    if (!code && grove_path_is_same(path, to))
        code = grove_fail(
            error, GROVE_INVALID,
            "%s: is an input of this run (%s), which is never replaced; choose another path", to,
            path);
    code = code ? code : grove_output_check(to, picture->overwrite, error);
    if (code)
        return code;
    switch (kind) {
    case A_SET:
        return draw_set(path, picture, to, error);
    case A_TABLE:
        return draw_solutions(path, picture, to, error);
    case AN_IMAGE:
        return draw_image(path, picture->logarithmic, to, error);
    default:
        return draw_file(path, folders, picture->what, to, error);
    }
}
