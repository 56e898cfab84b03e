/* image: a value over m and l as a FITS image, or as a picture. */
#include "nodes/imaging/image.h"
#include "nodes/common/report.h"
#include "nodes/plot/service.h"
#include "unstable/module.h"
#include "unstable/record.h"
#include "util.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const grove_port inputs[] = {
    {"x", GROVE_VALUE,
     "the image, real, along m and l, maybe freq: a scalar, a vector of up to 4 Stokes parameters, "
     "or a diagonal, XX and YY (RR and LL)",
     .shapes = GROVE_SCALAR | GROVE_DIAGONAL | GROVE_VECTOR},
    {"obs", GROVE_OBJECT, "the observation: phase centre, telescope, times, frequencies",
     .object = "observation", .optional = true, .implied = true},
    {0},
};

static const grove_port options[] = {
    {"to", GROVE_TEXT, "the file: .fits, or a picture, .png or .svg; to=none removes the action"},
    {"overwrite", GROVE_BOOL, "replace an existing file with this name", .initial = "false"},
    {"unit", GROVE_TEXT, "unit of the numbers, such as Jy/beam; \"\": the value's own unit",
     .initial = "\"\""},
    {"beam", GROVE_VALUE_ANGLE,
     "the restoring beam: full widths at half maximum along both axes, and position angle, north "
     "through east, rad; NaN: none; of a cube maybe one for each channel, in a table BEAMS",
     .initial = "none", .handing = GROVE_AS_DOUBLE, .shapes = GROVE_VECTOR, .vector = 3},
    {"stokes", GROVE_TEXT,
     "Stokes parameters of the elements, of I, Q, U, V, evenly spaced; \"\": the first ones",
     .initial = "\"\""},
    {"frequency", GROVE_FREQUENCY,
     "of an image without an axis freq, Hz; none: the mean of obs.freq", .initial = "none"},
    {"name", GROVE_TEXT, "name of the field: the card OBJECT, and in pictures", .initial = "\"\""},
    {0},
};

/* Of a run. */
typedef struct {
    image_layout layout;
    grove_image image; /* its texts are borrowed */
    const char *path;  /* borrowed from the tree */
    bool picture, begun;
    bool beams; /* of the channels */
    grove_file *file;
    size_t header; /* bytes */
} writing;

static bool is_picture(const char *path)
{
    return grove_ends_with(path, ".png") || grove_ends_with(path, ".svg");
}

static int check_name(grove_node *node, const char *path)
{
    grove_error *error = grove_error_new();
    int code = 0;

    if (is_picture(path)) {
        const grove_plot *plot = grove_service_open("plot", GROVE_PLOT_VERSION, error);
        if (!plot || plot->absent)
            code = grove_node_fail_option(
                node, "to", "this build cannot draw; build Grove with cairo (libcairo2-dev)");
    } else if (!grove_ends_with(path, ".fits")) {
        code =
            grove_node_fail_option(node, "to", "'%s': the name ends in .fits, .png or .svg", path);
    }
    grove_error_free(error);
    return code;
}

/* One beam for all of the image, or for each of its channels. */
static int check_beam(const grove_node *node, bool *of_channels)
{
    const grove_axis *axes[GROVE_MAX_AXES];
    int k = grove_node_input(node, "beam");
    int count = k >= 0 && grove_node_input_form(node, k) ? grove_node_input_axes(node, k, axes) : 0;

    *of_channels = false;
    for (int d = 0; d < count; d++) {
        const bool own = axes[d] == grove_node_input_axis(node, 0, GROVE_AXIS_FREQ);
        *of_channels = *of_channels || (own && axes[d]->size > 1);
        if (axes[d]->size > 1 && !own)
            return grove_node_fail_option(
                node, "beam", "varies with %s, and the image does not; %s", axes[d]->name,
                axes[d]->kind == GROVE_AXIS_FREQ
                    ? "use the beam of the mean over the bands: fit_beam(mean(psf, over=freq))"
                    : "take a part of it");
    }
    return 0;
}

static int check(grove_node *node)
{
    const char *path = grove_node_text(node, "to");
    image_layout layout;
    grove_image image;
    bool of_channels;
    double span[3], *freq = grove_alloc(sizeof(span));
    int code = check_name(node, path);

    if (grove_node_input_span(node, 0, GROVE_AXIS_FREQ, span))
        memcpy(freq, span, sizeof(span));
    grove_node_set_user(node, freq);
    code = code ? code : check_beam(node, &of_channels);
    code = code ? code : image_describe(node, &layout, &image);
    if (code)
        return code;
    double numbers =
        (double)image.columns * (double)image.rows * (double)image.channels * (double)image.stokes;
    uint64_t pixels = ((uint64_t)numbers + (uint64_t)(image.columns * image.rows * image.stokes)) *
                      sizeof(float); /* and the pixels of the picture */
    image_release(&image);
    if (numbers > 1e12)
        return grove_node_fail_option(node, "x", "%.3g pixels are too many for a file", numbers);
    grove_node_set_memory(node, is_picture(path) ? pixels : (uint64_t)1 << 20);
    return grove_node_set_target(
        node, &(grove_target){.path = path,
                              .overwrite = grove_node_bool(node, "overwrite"),
                              .bytes = is_picture(path) ? (uint64_t)1 << 20
                                                        : (uint64_t)numbers * 8 + (1 << 16)});
}

static void close_node(grove_node *node)
{
    free(grove_node_user(node));
}

static int start(const grove_node *node, void **run)
{
    writing *w = grove_alloc(sizeof(*w));
    int code = image_describe(node, &w->layout, &w->image);

    if (code) {
        free(w);
        return code;
    }
    w->path = grove_node_text(node, "to");
    w->picture = is_picture(w->path);
    check_beam(node, &w->beams);
    *run = w;
    return 0;
}

static void stop(const grove_node *node, void *run)
{
    writing *w = run;

    (void)node;
    image_release(&w->image);
    free(w);
}

static void abort_run(const grove_call *call)
{
    writing *w = call->run;

    grove_file_discard(w->file);
    free(w->image.pixels);
    w->file = NULL;
    w->image.pixels = NULL;
}

/* Room for the header, with a beam: whether there is one is known in the end. */
static int reserve_header(writing *w, grove_error *error)
{
    size_t bytes = 0;

    memcpy(w->image.beam, (double[]){1e-3, 1e-3, 0}, sizeof(w->image.beam));
    char *header = grove_image_header(&w->image, 0, &bytes, error);
    w->image.beam[0] = w->image.beam[1] = w->image.beam[2] = NAN;
    free(header);
    w->header = bytes;
    return header ? 0 : grove_error_code(error);
}

static int begin(const grove_call *call)
{
    const grove_node *node = call->node;
    writing *w = call->run;
    grove_error *error = grove_error_new();
    int code = 0;

    w->begun = false;
    if (!w->picture)
        code = reserve_header(w, error);
    if (!code)
        w->file = grove_record_create(grove_call_record(call), w->path,
                                      grove_node_bool(node, "overwrite"), error);
    if (!code && !w->file)
        code = grove_error_code(error);
    if (code)
        return report_output(node, error);
    grove_error_free(error);
    return 0;
}

/* ---- pixels, tile by tile ---- */

static int io_fault(const grove_node *node, const writing *w)
{
    return grove_node_fail_option(node, "to", "%s: cannot write: %s", w->path, strerror(errno));
}

/* Pixels [first, first + count) of a row, in the order of the file, from `at` on in the image. */
static int put_row(writing *w, int64_t at, int64_t count, const double *row, unsigned char *buffer)
{
    size_t bytes = w->image.wide ? sizeof(double) : sizeof(float);
    FILE *out = grove_file_stream(w->file);

    if (w->picture) {
        for (int64_t i = 0; i < count; i++)
            ((float *)w->image.pixels)[at + i] = (float)row[i];
        return 0;
    }
    for (int64_t i = 0; i < count; i++) {
        uint64_t bits;
        uint32_t single;
        float number = (float)row[i];
        memcpy(&bits, &row[i], sizeof(bits));
        memcpy(&single, &number, sizeof(single));
        bits = w->image.wide ? bits : single;
        for (size_t b = 0; b < bytes; b++)
            buffer[(size_t)i * bytes + b] = (unsigned char)(bits >> 8 * (bytes - 1 - b));
    }
    if (fseeko(out, (off_t)(w->header + (size_t)at * bytes), SEEK_SET) ||
        fwrite(buffer, bytes, (size_t)count, out) != (size_t)count)
        return GROVE_IO;
    return 0;
}

static int first_block(const grove_node *node, writing *w, const grove_array *array)
{
    size_t pixels =
        (size_t)(w->image.columns * w->image.rows * w->image.channels * w->image.stokes);

    w->begun = true;
    if (w->beams && !w->picture)
        w->image.beams = grove_alloc((size_t)w->image.channels * 3 * sizeof(double));
    for (int64_t k = 0; w->image.beams && k < 3 * w->image.channels; k++)
        w->image.beams[k] = NAN;
    w->image.wide = !w->picture && array->form->precision != GROVE_PRECISION_SINGLE;
    if (w->picture && !(w->image.pixels = grove_try_alloc(pixels, sizeof(float))))
        return grove_node_fail(node, GROVE_NO_MEMORY, "no memory for a picture of %zu pixels",
                               pixels);
    return 0;
}

static void take_one_beam(const double *number, bool flagged, double beam[3])
{
    bool good =
        !flagged && isfinite(number[0] + number[1] + number[2]) && number[0] > 0 && number[1] > 0;

    for (int k = 0; k < 3; k++)
        beam[k] = good ? number[k] : NAN;
}

/* Only the axis of channels has more than one cell. */
static void take_beam(writing *w, const grove_array *beam)
{
    int64_t first = 0;

    if (!beam->data)
        return;
    for (int d = 0; d < beam->axes; d++)
        first = beam->range[d].axis->kind == GROVE_AXIS_FREQ ? beam->range[d].first : first;
    for (int64_t k = 0; k < beam->cells && (w->beams || k == 0); k++)
        take_one_beam((const double *)beam->data + 3 * k, beam->flags && beam->flags[k],
                      w->beams ? w->image.beams + 3 * (first + k) : w->image.beam);
}

static int write_block(const grove_call *call, const grove_array *const *arrays, int count)
{
    const grove_node *node = call->node;
    writing *w = call->run;
    const grove_array *array = arrays[0];
    image_block block;
    int code = w->begun ? 0 : first_block(node, w, array);

    if (code)
        return code;
    if (count > 1 && !(w->beams && w->picture)) /* a picture is of the mean over channels */
        take_beam(w, arrays[1]);
    image_block_begin(&block, &w->layout, &w->image, array);
    double *row = grove_try_alloc((size_t)block.columns, 2 * sizeof(double));
    if (!row)
        return grove_node_fail(node, GROVE_NO_MEMORY, "no memory for a row of an image");
    for (int64_t k = 0; k < block.rows && !code; k++) {
        int64_t at = image_block_row(&block, k, row);
        code = put_row(w, at, block.columns, row, (unsigned char *)(row + block.columns));
    }
    free(row);
    return code ? io_fault(node, w) : 0;
}

/* ---- the end ---- */

static int finish_fits(writing *w, grove_error *error)
{
    size_t bytes = w->image.wide ? sizeof(double) : sizeof(float), length = 0;
    size_t pixels =
        (size_t)(w->image.columns * w->image.rows * w->image.channels * w->image.stokes);
    size_t end = w->header + pixels * bytes;
    size_t rest = (GROVE_FITS_BLOCK - end % GROVE_FITS_BLOCK) % GROVE_FITS_BLOCK;
    static const char zeros[GROVE_FITS_BLOCK];
    FILE *out = grove_file_stream(w->file);
    char *header = grove_image_header(&w->image, w->header, &length, error);

    if (!header)
        return grove_error_code(error);
    bool good = length == w->header && !fseeko(out, 0, SEEK_SET) &&
                fwrite(header, 1, length, out) == length && !fseeko(out, (off_t)end, SEEK_SET) &&
                fwrite(zeros, 1, rest, out) == rest && !fflush(out);
    free(header);
    if (good && w->image.beams) {
        char *table = grove_image_beams(&w->image, &length);
        good = fwrite(table, 1, length, out) == length && !fflush(out);
        free(table);
    }
    return good ? 0 : grove_fail(error, GROVE_IO, "%s: cannot write: %s", w->path, strerror(errno));
}

/* The file is put in place with all else that the run writes. */
static int prepare(const grove_call *call)
{
    const grove_node *node = call->node;
    writing *w = call->run;
    grove_error *error = grove_error_new();
    const char *name = w->image.object ? w->image.object : grove_node_input_name(node, 0);
    const grove_plot *plot =
        w->picture ? grove_service_open("plot", GROVE_PLOT_VERSION, error) : NULL;
    int code = plot         ? plot->write_sky_image(&w->image, name, false, w->path,
                                                    grove_file_stream(w->file), error)
               : w->picture ? grove_error_code(error)
                            : finish_fits(w, error);

    if (!code && w->picture && fflush(grove_file_stream(w->file)))
        code = grove_fail(error, GROVE_IO, "%s: cannot write: %s", w->path, strerror(errno));
    if (!code) {
        grove_file *file = w->file;
        w->file = NULL;
        free(w->image.pixels);
        w->image.pixels = NULL;
        code = grove_record_add_file(grove_call_record(call), file,
                                     grove_node_bool(node, "overwrite"), error);
    }
    if (code)
        return report_output(node, error);
    grove_error_free(error);
    return 0;
}

static const grove_action_functions functions = {
    .begin = begin,
    .write = write_block,
    .prepare = prepare,
    .abort = abort_run,
};

GROVE_CLASS(image) = {
    GROVE_CLASS_HEAD(image),
    .doc = "Writes an image of the sky as a FITS file, or as a picture.\nThe axes l (east) and m "
           "(north) have direction cosines of the pixels' centres about the phase centre of obs, "
           "evenly spaced. FITS has them in SIN projection, RA falling with the column, J2000; "
           "numbers in single or double precision, as they come; flagged ones NaN. A third axis is "
           "the frequency, with the width of the channels, or for an image without an axis freq "
           "the band of obs (evenly spaced, TOPOCENT); the last one is STOKES. HISTORY has the "
           "tree that made the file. Pictures have a colour bar, l and m in angles, the beam in a "
           "corner, a chart for each Stokes parameter, and the mean over channels. An existing "
           "file is unchanged until the run ends successfully.",
    .output_doc = "an action: runs when the tree runs",
    .group = "actions",
    .inputs = inputs,
    .options = options,
    .kind = GROVE_CLASS_ACTION,
    .check = check,
    .start = start,
    .stop = stop,
    .action = &functions,
    .close = close_node,
    .example = "image(dirty, to=\"obs-dirty.fits\", unit=\"Jy/beam\")",
};
