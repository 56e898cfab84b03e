#include "nodes/imaging/image_plane.h"

#include "unstable/fit.h"
#include "util.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_SIZE = 1 << 20 };

double image_longest_baseline(const grove_node *obs)
{
    const grove_axis *baseline = grove_node_axis(obs, "baseline"),
                     *station = grove_node_axis(obs, "station");
    const grove_axis *freq = grove_node_axis(obs, "freq");
    const double *position = grove_node_member_data(obs, "position");
    double longest = 0, highest = 0;

    if (!baseline || !station || !position || !freq)
        return 0;
    for (int64_t b = 0; b < baseline->size; b++) {
        const double *p = position + 3 * (int64_t)baseline->left[b],
                     *q = position + 3 * (int64_t)baseline->right[b];
        double d[3] = {p[0] - q[0], p[1] - q[1], p[2] - q[2]};
        longest = fmax(longest, sqrt(d[0] * d[0] + d[1] * d[1] + d[2] * d[2]));
    }
    for (int64_t k = 0; k < freq->size; k++)
        highest = fmax(highest, freq->centre[k]);
    return 1.001 * longest * highest / GROVE_SPEED_OF_LIGHT;
}

static int read_sizes(const grove_node *node, grove_gridder_image *image)
{
    const double *number;
    int count = grove_node_list(node, "size", &number);

    if (!grove_unit_is_none(grove_node_list_unit(node, "size")))
        return grove_node_fail_option(node, "size", "is a number of pixels, without a unit");
    if (count < 1 || count > 2)
        return grove_node_fail_option(node, "size", "is one number, or two: along l and along m");
    for (int d = 0; d < 2; d++) {
        double size = number[d < count ? d : 0];
        if (!(size >= 1 && size <= MAX_SIZE) || size != rint(size))
            return grove_node_fail_option(node, "size", "%g is not a whole number from 1 to %d",
                                          size, MAX_SIZE);
        image->size[d] = (int64_t)size;
    }
    return 0;
}

static int read_cells(const grove_node *node, double longest, grove_gridder_image *image)
{
    const double *number;
    int count = grove_node_given(node, "cell") ? grove_node_list(node, "cell", &number) : 0;

    if (!count && !(longest > 0))
        return grove_node_fail_option(node, "cell",
                                      "must be given: its default requires the antennas' "
                                      "positions, for the longest baseline");
    if (count > 2)
        return grove_node_fail_option(node, "cell", "is one angle, or two: along l and along m");
    if (count && !grove_unit_equal(grove_node_list_unit(node, "cell"), GROVE_UNIT_ANGLE))
        return grove_node_fail_option(node, "cell", "is an angle, such as 2arcsec");
    for (int d = 0; d < 2; d++) {
        double cell = count ? number[d < count ? d : 0] : 0.25 / longest;
        if (!(cell > 0 && cell < 1))
            return grove_node_fail_option(node, "cell", "%g rad is not between 0 and 1", cell);
        if (count && (double)(image->size[d] / 2 - 1) * cell >= 1)
            return grove_node_fail_option(node, "cell",
                                          "%lld pixels of %.4g deg reach beyond the horizon, which "
                                          "is at l = 1 and m = 1; %lld of them see the "
                                          "whole sky",
                                          (long long)image->size[d], cell * 180 / acos(-1),
                                          (long long)(2 / cell) + 1);
        image->cell[d] = cell;
    }
    return 0;
}

/* Direction cosines about the phase centre (Greisen & Calabretta 2002, SIN). */
static int read_centre(const grove_node *node, const grove_node *obs, grove_gridder_image *image)
{
    const double *pointing = obs ? grove_node_member_data(obs, "phase_centre") : NULL;
    double to[2];

    if (!grove_node_given(node, "centre"))
        return 0;
    if (!pointing)
        return grove_node_fail_option(node, "centre", "cannot be used: no phase centre is known");
    grove_node_direction(node, "centre", to);
    double ra = to[0] - pointing[0];
    double cosine = sin(to[1]) * sin(pointing[1]) + cos(to[1]) * cos(pointing[1]) * cos(ra);
    if (cosine <= 0)
        return grove_node_fail_option(node, "centre",
                                      "is 90 degrees or more from the phase centre");
    image->centre[0] = cos(to[1]) * sin(ra);
    image->centre[1] = sin(to[1]) * cos(pointing[1]) - cos(to[1]) * sin(pointing[1]) * cos(ra);
    return 0;
}

int image_plane_read(const grove_node *node, const grove_node *obs, double longest, bool has_centre,
                     grove_gridder_image *image)
{
    *image = (grove_gridder_image){0};
    int code = read_sizes(node, image);
    if (!code)
        code = read_cells(node, longest, image);
    if (!code && has_centre)
        code = read_centre(node, obs, image);
    /* FITS counts pixels along l from the east: its pixel size / 2 is this one of ours. */
    image->centre[0] += (double)(image->size[0] / 2 - (image->size[0] - 1) / 2) * image->cell[0];
    return code;
}

void image_plane_check_cells(const grove_node *node, double max_u, double max_v,
                             const grove_gridder_image *image)
{
    const double most[] = {max_u, max_v}, arcsec = 180 * 3600 / GROVE_PI;
    int worst = most[1] * image->cell[1] > most[0] * image->cell[0];

    if (most[worst] * image->cell[worst] > 0.5)
        grove_node_warn(node,
                        "pixels of %.3g arcsec are too large for baselines of %.3g wavelengths, "
                        "whose fringes they do not resolve; cell=%.2garcsec is small enough",
                        image->cell[worst] * arcsec, most[worst],
                        0.25 / fmax(most[0], most[1]) * arcsec);
}

int image_plane_add_axes(grove_node *node, const grove_gridder_image *image)
{
    static const char *const names[] = {"l", "m"};
    int code = 0;

    for (int d = 1; d >= 0 && !code; d--) {
        double *centre = grove_alloc((size_t)image->size[d] * sizeof(*centre));
        double *width = grove_alloc((size_t)image->size[d] * sizeof(*width));
        for (int64_t k = 0; k < image->size[d]; k++) {
            centre[k] = image->centre[d] + (double)(k - image->size[d] / 2) * image->cell[d];
            width[k] = image->cell[d];
        }
        code = grove_node_add_output_axis(
            node, &(grove_axis){
                      .name = names[d], .size = image->size[d], .centre = centre, .width = width});
        free(centre);
        free(width);
    }
    return code;
}

int image_plane_of_input(const grove_node *node, int input, grove_gridder_image *image)
{
    static const char *const names[] = {"l", "m"};

    for (int d = 0; d < 2; d++) {
        const grove_axis *axis = grove_node_input_axis(node, input, grove_axis_kind(names[d]));
        if (!axis)
            return grove_node_fail(
                node, GROVE_SHAPE,
                "it requires an image, which varies with l and m; this value does not vary with %s",
                names[d]);
        bool good = axis->centre && axis->width;
        image->size[d] = axis->size;
        image->cell[d] = good ? axis->width[0] : 0;
        image->centre[d] = good ? axis->centre[axis->size / 2] : 0;
        for (int64_t k = 0; k < axis->size && good; k++) {
            double regular = image->centre[d] + (double)(k - axis->size / 2) * image->cell[d];
            good = fabs(axis->centre[k] - regular) <= 1e-6 * image->cell[d];
        }
        if (!good)
            return grove_node_fail(node, GROVE_SHAPE,
                                   "its pixels are not equally spaced, ascending, along %s",
                                   names[d]);
    }
    return 0;
}

static int check_one(const grove_node *node, int k)
{
    const grove_axis *axes[GROVE_MAX_AXES];

    return grove_node_input_axes(node, k, axes)
               ? grove_node_fail_option(
                     node, "max_uvw",
                     "varies with %s; it must be one value for all visibilities: max(..., over=%s)",
                     axes[0]->name, axes[0]->name)
               : 0;
}

int image_plane_find_longest(grove_node *node, int *max_uvw)
{
    if (!grove_node_written(node, "uvw") || grove_node_written(node, "max_uvw"))
        return check_one(node, *max_uvw);
    const int before = *max_uvw;
    *max_uvw = grove_node_add_input(node, "max_uvw", "max(abs(uvw))");
    if (*max_uvw < 0)
        return GROVE_INVALID;
    grove_node_set_handing(node, *max_uvw, GROVE_AS_DOUBLE);
    grove_node_drop_input(node, before);
    return 0;
}

/* ---- visibilities that are computed ---- */

/* Bytes from one pixel to the next, along l and along m. */
static void find_steps(const grove_call *call, int input, int64_t step[2])
{
    step[0] = image_axis_step(call->args, &call->args->in[input], grove_axis_kind("l"));
    step[1] = image_axis_step(call->args, &call->args->in[input], grove_axis_kind("m"));
}

/* In runs along the axis in which pixels follow each other. */
grove_hash image_plane_hash(const grove_call *call, int input, const void *from,
                            const grove_gridder_image *image, int count)
{
    const size_t pixel = (call->double_precision ? sizeof(double) : sizeof(float)) * (size_t)count;
    grove_hash hash = grove_hash_start();
    int64_t step[2];

    find_steps(call, input, step);
    const int fast = step[1] == (int64_t)pixel;
    const int64_t size = image->size[fast], run = step[fast] == (int64_t)pixel ? size : 1;
    for (int64_t y = 0; y < image->size[!fast]; y++)
        for (int64_t x = 0; x < size; x += run)
            hash = grove_hash_add(hash, (const char *)from + y * step[!fast] + x * step[fast],
                                  (size_t)run * pixel);
    return hash;
}

int64_t image_leave_out(const grove_gridder_samples *s, const double longest[3], size_t bytes)
{
    double highest = 0;
    int64_t outside = 0;

    for (int64_t k = 0; k < s->channels; k++)
        highest = isfinite(s->freq[k]) ? fmax(highest, s->freq[k]) : INFINITY;
    for (int64_t row = 0; row < s->rows; row++)
        for (int64_t k = 0; k < s->channels && !image_is_within(s->uvw + 3 * row, highest, longest);
             k++)
            if (!image_is_within(s->uvw + 3 * row, s->freq[k], longest)) {
                if (bytes)
                    memset((char *)s->data + (size_t)(row * s->channels + k) * bytes, 0, bytes);
                outside++;
            }
    return outside;
}

int64_t image_axis_size(const grove_args *args, int kind)
{
    int d = grove_args_axis(args, kind);

    return d < 0 ? 1 : args->size[d];
}

int64_t image_axis_step(const grove_args *args, const grove_view *view, int kind)
{
    int d = grove_args_axis(args, kind);

    return d < 0 ? 0 : view->stride[d];
}

double *image_copy_uvw(const grove_args *args, const grove_view *view)
{
    const int64_t baselines = image_axis_size(args, GROVE_AXIS_BASELINE),
                  rows = image_axis_size(args, GROVE_AXIS_TIME) * baselines,
                  time = image_axis_step(args, view, GROVE_AXIS_TIME),
                  baseline = image_axis_step(args, view, GROVE_AXIS_BASELINE);
    double *uvw = malloc((size_t)rows * 3 * sizeof(*uvw));

    for (int64_t row = 0; uvw && row < rows; row++)
        memcpy(uvw + 3 * row,
               (const char *)view->data + row / baselines * time + row % baselines * baseline,
               3 * sizeof(*uvw));
    return uvw;
}

double *image_copy_freq(const grove_args *args, const void *from, int64_t step)
{
    const int64_t channels = image_axis_size(args, GROVE_AXIS_FREQ);
    double *freq = malloc((size_t)channels * sizeof(*freq));

    for (int64_t k = 0; freq && k < channels; k++)
        memcpy(&freq[k], (const char *)from + k * step, sizeof(*freq));
    return freq;
}
