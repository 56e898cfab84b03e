/* The gridder that predicts from an image: the stages equivalent to a call. */
#include "nodes/imaging/image_method.h"
#include "nodes/imaging/image_tracks.h"
#include "nodes/imaging/predict_image.h"

#include "util.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Direction of the phase centre's (l, m), degrees (Greisen & Calabretta 2002, SIN). */
static void find_direction(const grove_node *obs, const double cosine[2], double radec[2])
{
    const double *centre = grove_node_member_data(obs, "phase_centre"), degree = GROVE_PI / 180,
                 dec = centre ? centre[1] : 0,
                 n = sqrt(fmax(1 - cosine[0] * cosine[0] - cosine[1] * cosine[1], 0));

    radec[0] =
        ((centre ? centre[0] : 0) + atan2(cosine[0], n * cos(dec) - cosine[1] * sin(dec))) / degree;
    radec[1] = asin(fmin(fmax(cosine[1] * cos(dec) + n * sin(dec), -1), 1)) / degree;
}

/* The options of stages about the image; to be freed. */
static char *stage_of(const grove_node *node, const predictor *p)
{
    const grove_node *obs = grove_node_object(node, "obs");
    const grove_gridder_image *image = &p->image;
    const double half = (double)(image->size[0] / 2 - (image->size[0] - 1) / 2) * image->cell[0],
                 middle[2] = {image->centre[0] - half, image->centre[1]};
    char about[80] = "";
    double radec[2];

    find_direction(obs, middle, radec);
    if (fabs(middle[0]) > 1e-6 * image->cell[0] || fabs(middle[1]) > 1e-6 * image->cell[1])
        snprintf(about, sizeof(about), ", centre=\"%.15gdeg %.15gdeg\"", fmod(radec[0] + 720, 360),
                 radec[1]);
    return grove_format("size=[%lld, %lld], cell=[%.17grad, %.17grad], epsilon=epsilon%s",
                        (long long)image->size[0], (long long)image->size[1], image->cell[0],
                        image->cell[1], about);
}

static const char of_one_number[] = " * constant([1, 0, 0, 1], shape=matrix)";

/* By convolution functions: the stages equivalent to a call. */
static void express(const grove_node *node, predictor *p, const char *stokes)
{
    char *stage = stage_of(node, p), *functions = image_method_functions(node, stokes, stage);

    p->expression = grove_format("degrid(fft(grid_correction(image, obs, %s, w_terms=false)), obs, "
                                 "%s, uvw=uvw, freq=freq, interpolate=interpolate, functions=%s)%s",
                                 stage, stage, functions,
                                 image_method_is_scalar(node, stokes) ? of_one_number : "");
    free(functions);
    free(stage);
}

static void express_idg(const grove_node *node, predictor *p, const char *stokes)
{
    const char *idg = "w_terms=w_terms, method=idg, subgrid=subgrid, layers=layers, "
                      "w_tiles=w_tiles",
               *jones = "jones=jones, times=times, channels=channels";
    char *stage = stage_of(node, p);

    p->expression =
        grove_format("degrid(fft(grid_correction(image, obs, %s, %s)), obs, %s, %s, "
                     "uvw=uvw, freq=freq, interpolate=interpolate, %s, stokes=\"%s\")%s",
                     stage, idg, stage, idg, jones, stokes,
                     image_method_is_scalar(node, stokes) ? of_one_number : "");
    free(stage);
}

int predictor_choose_method(grove_node *node, predictor *p)
{
    static const char letters[] = "IQUV";
    const grove_node *obs = grove_node_object(node, "obs");
    const grove_axis *time = grove_node_axis(obs, "time"),
                     *baseline = grove_node_axis(obs, "baseline"),
                     *freq = grove_node_axis(obs, "freq");
    image_tracks tracks = image_tracks_of(obs);
    char stokes[5] = "";
    image_method_kind kind;

    if (grove_node_given(node, "stokes"))
        snprintf(stokes, sizeof(stokes), "%s", grove_node_text(node, "stokes"));
    else
        snprintf(stokes, sizeof(stokes), "%.*s", p->stokes.count, letters);
    image_method method = {.image = p->image,
                           .baseline = image_longest_baseline(obs),
                           .stokes = stokes,
                           .bands = p->cube.planes,
                           .samples = time && baseline && freq
                                          ? (double)time->size * (double)baseline->size *
                                                (double)freq->size
                                          : 0,
                           .only = p->exact                              ? "exact"
                                   : grove_node_written(node, "max_uvw") ? "max_uvw"
                                                                         : NULL};
    for (int d = 0; d < 3; d++)
        method.longest[d] =
            tracks.rows ? tracks.largest[d] * p->highest / GROVE_SPEED_OF_LIGHT : method.baseline;
    image_tracks_free(&tracks);
    int code = image_method_choose(node, &method, &kind, p->why);
    if (!code && kind == IMAGE_AW)
        express(node, p, stokes);
    if (!code && kind == IMAGE_IDG)
        express_idg(node, p, stokes);
    return code;
}
