/* image_model: FITS images and cubes as a model of the sky over m and l. */
#include "nodes/common/coordinates.h"
#include "nodes/common/report.h"
#include "nodes/imaging/fits/image.h"
#include "nodes/imaging/image_regrid.h"
#include "plugin.h"
#include "util.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

static const grove_port inputs[] = {
    {"obs", GROVE_OBJECT, "the observation whose phase centre l and m refer to",
     .object = "observation", .optional = true, .implied = true},
    {0},
};

static const grove_port options[] = {
    {"file", GROVE_FILE, "the FITS file"},
    {"size", GROVE_INTEGER,
     "pixels along each side; none: as in the file, or as many as its field requires",
     .initial = "none"},
    {"cell", GROVE_ANGLE, "side of a pixel, rad; none: as in the file", .initial = "none"},
    {0},
};

typedef struct {
    grove_image *image;
    image_grid grid;
    bool own;         /* the pixels of the file are the grid's */
    double centre[2]; /* of the image, J2000 */
    double scale;     /* Jy for each pixel, in the file's unit */
    double *numbers;  /* [stokes][channels][rows][columns], where they are not the file's */
} model;

/* ---- usable images ---- */

static int refuse(const grove_node *node, const char *why)
{
    return grove_node_fail_option(node, "file", "%s: %s", grove_node_text(node, "file"), why);
}

static int check_sky(const grove_node *node, model *m)
{
    const grove_image_sky *sky = &m->image->sky;

    if (!sky->projection[0])
        return refuse(node, "has no coordinates on the sky (RA---SIN, DEC--SIN), so that it is not "
                            "known where its pixels are");
    if (strcmp(sky->projection, "SIN") != 0)
        return grove_node_fail_option(
            node, "file",
            "%s: is in projection %s; direction cosines l and m need SIN: regrid it, for example "
            "with CASA's imregrid or reproject",
            grove_node_text(node, "file"), sky->projection);
    if (!sky->plain)
        return refuse(node, "is in a slanted SIN projection (PV), in which columns and rows are "
                            "not l and m");
    if (sky->frame != GROVE_FRAME_J2000)
        return grove_node_fail_option(
            node, "file", "%s: has coordinates of the system %s; a model is in ICRS or FK5 (J2000)",
            grove_node_text(node, "file"), sky->system[0] ? sky->system : "unknown");
    if (strncmp(sky->axes[0], "RA", 2) != 0)
        return refuse(node, "has the declination first; a model has RA---SIN, DEC--SIN");
    grove_image_centre(m->image, m->centre);
    return 0;
}

static int refuse_channel(const grove_node *node, const grove_image *image, int64_t channel)
{
    return grove_node_fail_option(
        node, "file",
        "%s: is in Jy/beam, but its table BEAMS has no beam of channel %lld (of 0 to %lld), so "
        "that "
        "the flux of its pixels is not known; give it BMAJ and BMIN there, or blank the channel",
        grove_node_text(node, "file"), (long long)channel, (long long)image->channels - 1);
}

/* Pixels of channels with beams of their own, by their share of them. */
static int divide_by_beams(const grove_node *node, const grove_image *image)
{
    for (int64_t s = 0; s < image->stokes; s++)
        for (int64_t f = 0; f < image->channels; f++) {
            const double share = grove_image_pixel_area(image) / grove_image_beam_area(image, f);
            const int64_t first = grove_image_plane(image, s, f),
                          end = first + image->rows * image->columns;
            for (int64_t k = first; k < end; k++) {
                if (isfinite(grove_image_at(image, k)) && !(share > 0))
                    return refuse_channel(node, image, f);
                if (image->wide)
                    ((double *)image->pixels)[k] *= share;
                else
                    ((float *)image->pixels)[k] *= (float)share;
            }
        }
    return 0;
}

/* Jy of each pixel in the unit of the file. */
static int find_scale(const grove_node *node, model *m)
{
    static const struct {
        const char *name;
        double factor;
    } prefixes[] = {{"Jy", 1}, {"mJy", 1e-3}, {"uJy", 1e-6}};
    const char *unit = m->image->unit ? m->image->unit : "", *rest = NULL;

    for (int k = 0; k < 3; k++) {
        size_t length = strlen(prefixes[k].name);
        if (!strncasecmp(unit, prefixes[k].name, length)) {
            rest = unit + length;
            m->scale = prefixes[k].factor;
        }
    }
    if (rest && (!*rest || !strcasecmp(rest, "/pixel") || !strcasecmp(rest, "/pix")))
        return 0;
    if (!rest || strcasecmp(rest, "/beam") != 0)
        return grove_node_fail_option(node, "file",
                                      "%s: its unit (BUNIT) is '%s'; a model is in Jy/pixel, or in "
                                      "Jy/beam with its beam",
                                      grove_node_text(node, "file"), unit);
    if (m->image->beams)
        return divide_by_beams(node, m->image);
    const double beam = grove_image_beam_area(m->image, 0);
    if (!(beam > 0))
        return grove_node_fail_option(
            node, "file",
            "%s: is in Jy/beam and has no beam (BMAJ, BMIN)%s%s, so that the flux of a pixel is "
            "not known",
            grove_node_text(node, "file"), m->image->note[0] ? "; " : "",
            m->image->note[0] ? m->image->note[0] : "");
    m->scale *= grove_image_pixel_area(m->image) / beam;
    return 0;
}

/* One Stokes parameter, I; or I and those after it. */
static int check_stokes(const grove_node *node, model *m)
{
    const grove_image *image = m->image;

    for (int k = 0; k < image->stokes; k++)
        if (image->stokes_code[k] != k + 1 && (image->stokes > 1 || image->stokes_code[0]))
            return grove_node_fail_option(
                node, "file",
                "%s: its Stokes axis has %s in place %d; a model has I, or I, Q, U, V",
                grove_node_text(node, "file"), grove_image_stokes_name(image->stokes_code[k]),
                k + 1);
    if (image->channels > 1 && !image->freq)
        return refuse(node, "has several channels, but no frequencies");
    return 0;
}

/* ---- the grid ---- */

/* Whether columns and rows are along l and m about the phase centre, either way, within a hundredth
 * of a pixel at the edge. Near a pole the axes about one direction differ with the right ascension
 * that it is given. */
static bool is_aligned(const model *m, const double phase_centre[2], const double lmn[3])
{
    const grove_image *image = m->image;
    const double(*a)[2] = image->sky.matrix;
    double cell = fmin(fabs(a[0][0]), fabs(a[1][1])), r[3][3], slant = 0;
    double side = fmax((double)image->columns, (double)image->rows);

    image_rotation(m->centre, phase_centre, r);
    for (int i = 0; i < 2; i++)
        for (int k = 0; k < 2; k++)
            slant +=
                fabs(r[i][0] * a[0][k] + r[i][1] * a[1][k] - (i == k) * copysign(cell, a[i][i]));
    return slant * side < 1e-2 * cell && hypot(lmn[0], lmn[1]) < 1e-2 * cell;
}

/* Where row or column number i of the grid is in the file: l and m grow in the same direction as
 * the grid's. */
static int64_t place_in_file(const grove_image *image, int d, int64_t i)
{
    return image->sky.matrix[d][d] > 0 ? i : (d ? image->rows : image->columns) - 1 - i;
}

/* As many pixels as hold the image, wherever it is about the phase centre. */
static int64_t size_for(const model *m, const double lmn[3], double cell)
{
    const grove_image *image = m->image;
    const double(*a)[2] = image->sky.matrix;
    double far = 0;

    for (int k = 0; k < 4; k++) {
        double x = (k % 2 ? (double)image->columns : 0) - 0.5 - image->sky.reference[0];
        double y = (k / 2 ? (double)image->rows : 0) - 0.5 - image->sky.reference[1];
        far = fmax(far, hypot(a[0][0] * x + a[0][1] * y, a[1][0] * x + a[1][1] * y));
    }
    return 2 * (int64_t)ceil(fmin(1, hypot(lmn[0], lmn[1]) + far) / cell) + 2;
}

/* The pixels of the file, or others on which its flux is put. */
static int choose_grid(const grove_node *node, model *m, const double phase_centre[2])
{
    const grove_image *image = m->image;
    const double(*a)[2] = image->sky.matrix;
    image_grid *grid = &m->grid;
    double cell = fmin(hypot(a[0][0], a[1][0]), hypot(a[0][1], a[1][1])), lmn[3];
    int64_t size = grove_node_given(node, "size") ? grove_node_integer(node, "size") : 0;

    grove_direction_cosines(phase_centre, m->centre, 1, lmn);
    if (lmn[2] <= -1)
        return refuse(node, "is more than 90 degrees from the phase centre");
    memcpy(grid->centre, phase_centre, sizeof(grid->centre));
    if (!grove_node_given(node, "size") && !grove_node_given(node, "cell") &&
        is_aligned(m, phase_centre, lmn)) {
        m->own = true;
        grid->columns = image->columns;
        grid->rows = image->rows;
        grid->cell_l = grid->cell_m = fabs(a[1][1]);
        grid->row0 = a[1][1] > 0 ? image->sky.reference[1]
                                 : (double)(image->rows - 1) - image->sky.reference[1];
        grid->column0 = a[0][0] > 0 ? image->sky.reference[0]
                                    : (double)(image->columns - 1) - image->sky.reference[0];
        return 0;
    }
    cell = grove_node_given(node, "cell") ? grove_node_number(node, "cell") : cell;
    if (!(cell > 0 && cell < 1))
        return grove_node_fail_option(node, "cell", "a pixel has a side above 0 and below 1 rad");
    size = grove_node_given(node, "size") ? size : size_for(m, lmn, cell);
    if (size < 1 || size > 1 << 16)
        return grove_node_fail_option(node, "size", "%lld pixels a side; from 1 to %d",
                                      (long long)size, 1 << 16);
    grid->columns = grid->rows = size;
    grid->cell_l = grid->cell_m = cell;
    grid->row0 = (double)(size / 2);
    grid->column0 = (double)(size - 1 - size / 2);
    return 0;
}

/* ---- pixels ---- */

/* Pixels that are no numbers are 0. */
static void drop_missing(const grove_node *node, grove_image *image)
{
    int64_t count = image->columns * image->rows * image->channels * image->stokes, missing = 0;

    for (int64_t i = 0; i < count; i++) {
        if (isfinite(grove_image_at(image, i)))
            continue;
        missing++;
        if (image->wide)
            ((double *)image->pixels)[i] = 0;
        else
            ((float *)image->pixels)[i] = 0;
    }
    if (missing)
        grove_node_warn(node, "%s: %lld of %lld pixels are not numbers, and are taken as 0",
                        grove_node_text(node, "file"), (long long)missing, (long long)count);
}

static int regrid(grove_node *node, model *m)
{
    grove_image *image = m->image;
    int64_t planes = image->stokes * image->channels, cells = m->grid.rows * m->grid.columns;
    double lost = 0, all = 0;

    m->numbers = grove_try_alloc((size_t)(planes * cells), sizeof(double));
    if (!m->numbers)
        return grove_node_fail(node, GROVE_NO_MEMORY, "no memory for %lld x %lld pixels",
                               (long long)m->grid.columns, (long long)m->grid.rows);
    for (int64_t k = 0; k < planes; k++)
        lost += image_regrid(image, m->centre, k * image->rows * image->columns, &m->grid,
                             m->numbers + k * cells);
    for (int64_t i = 0; i < planes * image->rows * image->columns; i++)
        all += grove_image_at(image, i);
    if (fabs(lost) > 1e-6 * fabs(all))
        grove_node_warn(node, "%s: %.4g of %.4g Jy are outside the %lld x %lld pixels",
                        grove_node_text(node, "file"), lost * m->scale, all * m->scale,
                        (long long)m->grid.columns, (long long)m->grid.rows);
    grove_node_note(node,
                    "%s is regridded to %lld x %lld pixels of %.4g arcsec about the phase centre",
                    grove_node_text(node, "file"), (long long)m->grid.columns,
                    (long long)m->grid.rows, m->grid.cell_l * 648000 / acos(-1));
    free(image->pixels);
    image->pixels = NULL;
    return 0;
}

/* ---- axes and members ---- */

static int add_axis(grove_node *node, const char *name, int64_t size, double zero, double cell)
{
    static const grove_form plain = {.shape = GROVE_SCALAR, .precision = GROVE_PRECISION_DOUBLE};
    double *centre = grove_alloc(sizeof(double) * (size_t)size);
    double *width = grove_alloc(sizeof(double) * (size_t)size);

    for (int64_t i = 0; i < size; i++) {
        centre[i] = ((double)i - zero) * cell;
        width[i] = cell;
    }
    grove_axis axis = {.name = name, .size = size, .centre = centre, .width = width};
    int code = grove_node_add_axis(node, &axis);
    if (!code)
        code = grove_node_add_member(node, name, name, &plain, centre,
                                     "direction cosines of the pixels' centres");
    free(centre);
    free(width);
    return code;
}

static int publish(grove_node *node, const model *m)
{
    const grove_image *image = m->image;
    const grove_form hertz = {
        .shape = GROVE_SCALAR, .precision = GROVE_PRECISION_DOUBLE, .unit = {.s = -1}};
    grove_form form = {.shape = image->stokes > 1 ? GROVE_VECTOR : GROVE_SCALAR,
                       .vector = image->stokes > 1 ? (int)image->stokes : 0,
                       .precision = image->wide ? GROVE_PRECISION_DOUBLE : GROVE_PRECISION_SINGLE,
                       .unit = {.Jy = 1}};
    const grove_axis freq = {
        .name = "freq", .size = image->channels, .centre = image->freq, .width = image->width};
    int code = add_axis(node, "l", m->grid.columns, m->grid.column0, m->grid.cell_l);

    code = code ? code : add_axis(node, "m", m->grid.rows, m->grid.row0, m->grid.cell_m);
    if (!code && image->channels > 1)
        code = grove_node_add_axis(node, &freq);
    if (!code && image->channels > 1)
        code = grove_node_add_member(node, "freq", "freq", &hertz, image->freq,
                                     "frequencies of the channels, Hz");
    if (!code)
        code = grove_node_add_member(node, "value", image->channels > 1 ? "freq l m" : "l m", &form,
                                     NULL, "flux of each pixel, Jy");
    return code;
}

/* Frequencies further apart than this factor: with a spectral index of -0.7, 7 % of the flux. */
#define FAR 1.1

/* The lowest and the highest edge of channels. */
static void band_of(const double *centre, const double *width, int64_t count, double band[2])
{
    band[0] = INFINITY;
    band[1] = 0;
    for (int64_t i = 0; i < count; i++) {
        const double half = width ? fabs(width[i]) / 2 : 0;
        band[0] = fmin(band[0], centre[i] - half);
        band[1] = fmax(band[1], centre[i] + half);
    }
}

/* Notes if no channel of the observation is near to a channel of the image. */
static void compare_bands(grove_node *node, const grove_image *image, const grove_axis *freq)
{
    double own[2], observed[2];

    if (!image->freq || !freq || !freq->centre)
        return;
    band_of(image->freq, image->width, image->channels, own);
    band_of(freq->centre, freq->width, freq->size, observed);
    if (observed[0] <= FAR * own[1] && own[0] <= FAR * observed[1])
        return;
    const char *obs = grove_node_name(grove_node_object(node, "obs"));
    char *text = grove_format("%s is for %.6g to %.6g MHz, channels of '%s' are at %.6g to %.6g "
                              "MHz, and its fluxes are used unchanged; %s.value * (%s.freq / "
                              "%.6gMHz)^-0.7 scales them to each channel, by a spectrum",
                              grove_node_text(node, "file"), own[0] / 1e6, own[1] / 1e6, obs,
                              observed[0] / 1e6, observed[1] / 1e6, grove_node_name(node), obs,
                              (own[0] + own[1]) / 2e6);
    grove_node_add_property(node, "far(value)", text);
    free(text);
}

static int open_model(grove_node *node)
{
    const char *path = grove_node_text(node, "file");
    const grove_node *obs = grove_node_object(node, "obs");
    const double *centre = obs ? grove_node_member_data(obs, "phase_centre") : NULL;
    grove_error *error = grove_error_new();
    model *m = grove_alloc(sizeof(*m));
    int code = 0;

    grove_node_set_user(node, m);
    if (!centre)
        code = grove_node_fail_option(
            node, "obs", "its observation is not given; write obs=... with the name of one");
    else if (!(m->image = grove_image_read(path, NULL, 0, error)))
        code = report_errors(node, "file", error);
    grove_error_free(error);
    code = code ? code : check_sky(node, m);
    code = code ? code : find_scale(node, m);
    code = code ? code : check_stokes(node, m);
    code = code ? code : choose_grid(node, m, centre);
    if (code)
        return code;
    grove_node_add_identity(node, path);
    drop_missing(node, m->image);
    compare_bands(node, m->image, grove_node_axis(obs, "freq"));
    code = m->own ? 0 : regrid(node, m);
    return code ? code : publish(node, m);
}

/* ---- reading ---- */

static double number_at(const model *m, int64_t plane, int64_t column, int64_t row)
{
    const grove_image *image = m->image;
    const int64_t first = plane * m->grid.rows * m->grid.columns;

    if (!m->own)
        return m->scale * m->numbers[first + row * m->grid.columns + column];
    return m->scale * grove_image_at(image, first + place_in_file(image, 1, row) * image->columns +
                                                place_in_file(image, 0, column));
}

static int read_member(const grove_call *call, const char *member, grove_array *out)
{
    const model *m = grove_node_user(call->node);
    int order[GROVE_MAX_AXES];

    (void)member;
    for (int d = 0; d < out->axes; d++)
        order[d] = !strcmp(out->range[d].axis->name, "l")   ? 0
                   : !strcmp(out->range[d].axis->name, "m") ? 1
                                                            : 2;
    for (int64_t i = 0; i < out->cells; i++) {
        int64_t index[3] = {0}, rest = i;
        for (int d = out->axes - 1; d >= 0; d--) {
            index[order[d]] = out->range[d].first + rest % out->range[d].count;
            rest /= out->range[d].count;
        }
        for (int e = 0; e < out->elements; e++) {
            double number = number_at(m, e * m->image->channels + index[2], index[0], index[1]);
            if (m->image->wide)
                ((double *)out->data)[i * out->elements + e] = number;
            else
                ((float *)out->data)[i * out->elements + e] = (float)number;
        }
        if (out->flags)
            out->flags[i] = 0;
    }
    return 0;
}

static void close_model(grove_node *node)
{
    model *m = grove_node_user(node);

    if (!m)
        return;
    grove_image_free(m->image);
    free(m->numbers);
    free(m);
    grove_node_set_user(node, NULL);
}

GROVE_CLASS(image_model) = {
    GROVE_CLASS_HEAD(image_model),
    .doc =
        "A model of the sky from a FITS image or cube: the flux of each pixel.\nThe image is in "
        "SIN projection, in ICRS or FK5 (J2000), in Jy/pixel, or in Jy/beam with its beam (then "
        "divided by the beam's area in pixels). One about the phase centre of obs, with square "
        "pixels along l and m, either way, is used unchanged. Any other image (about another "
        "centre, or about a pole with another right ascension, rotated, with pixels of another "
        "size), or one with size or cell, is regridded to size x size pixels about the phase "
        "centre: each pixel is cut into parts no larger than a third of a new one, and each part "
        "is divided among the four pixels around it by bilinear weights, so that fluxes and "
        "centres of gravity are conserved. The channels of a cube are an axis freq, the axis of "
        "obs where frequencies and widths agree; several Stokes parameters, I, Q, U, V, are a "
        "vector. Pixels that are not numbers are 0, with a warning. There is also a warning where "
        "visibilities are made of the model at frequencies that differ by more than a tenth from "
        "the file, and it is not multiplied by a spectrum, such as (obs.freq / 5GHz)^-0.7.",
    .output_doc = "an object: members value (Jy), l and m, of a cube freq (Hz)",
    .group = "data",
    .inputs = inputs,
    .options = options,
    .kind = GROVE_CLASS_DATA,
    .object = "image",
    .data = &(const grove_data_functions){.open = open_model, .read = read_member},
    .close = close_model,
    .example = "M = image_model(\"model.fits\", obs)",
};
