#include "nodes/image_subgrids.h"
#include "nodes/image_plane.h"

#include "base/error.h"
#include "base/memory.h"
#include "io/coordinates.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Times in a row, in as many places of an observation, whose baselines are divided to foretell. */
enum { RUN = 256, RUNS = 4, BASELINES = 64, GROUPS = 8 /* of channels */ };

/* ---- visibilities in a subgrid ---- */

/* Every so manyth baseline at `times` times; [time][baseline][u, v, w]. */
static double *find_rows(const grove_axis *baseline, int64_t stations, const double *station,
                         int64_t times, int64_t step, int64_t *baselines)
{
    double *uvw = grove_alloc((size_t)(times * (baseline->size / step + 1) * 3) * sizeof(*uvw)),
           *to = uvw;

    for (int64_t t = 0; t < times; t++, station += 3 * stations) {
        *baselines = 0;
        for (int64_t b = step / 2; b < baseline->size; b += step, ++*baselines)
            for (int d = 0; d < 3; d++)
                *to++ = station[3 * (int64_t)baseline->left[b] + d] -
                        station[3 * (int64_t)baseline->right[b] + d];
    }
    return uvw;
}

/* Numbers of blocks, counted from the cell `first`. */
static int32_t *number_blocks(int64_t cells, int64_t first, int64_t count)
{
    int32_t *block = grove_alloc((size_t)count * sizeof(*block));

    for (int64_t k = 0; k < count; k++)
        block[k] = cells ? (int32_t)((first + k) / cells - first / cells) : 0;
    return block;
}

/* The channels of some of the groups, and numbers of what shares a subgrid along them. */
typedef struct {
    int64_t count;
    double *freq;
    int32_t *block;
} channels;

static channels choose_channels(const grove_axis *freq, int64_t groups, int64_t cells)
{
    channels c = {.freq = grove_alloc((size_t)freq->size * sizeof(double)),
                  .block = grove_alloc((size_t)freq->size * sizeof(int32_t))};
    int32_t block = 0;

    groups = groups < freq->size ? groups : freq->size;
    const int64_t some = groups < GROUPS ? groups : GROUPS;
    for (int64_t s = 0; s < some; s++) {
        const int64_t group = (2 * s + 1) * groups / (2 * some),
                      first = freq->size * group / groups;
        for (int64_t k = first; k < freq->size * (group + 1) / groups; k++) {
            block += c.count && (k == first || (cells && k % cells == 0));
            c.freq[c.count] = freq->centre[k];
            c.block[c.count++] = block;
        }
    }
    return c;
}

/* Divides a run of times of an observation. */
static int count_run(const grove_node *obs, const grove_idg_plan *plan, const image_terms *terms,
                     const channels *chosen, int64_t first, int64_t times, grove_idg_counts *counts)
{
    const grove_axis *time = grove_node_axis(obs, "time"),
                     *baseline = grove_node_axis(obs, "baseline"),
                     *station = grove_node_axis(obs, "station");
    const double *position = grove_node_member_data(obs, "position"),
                 *centre = grove_node_member_data(obs, "phase_centre");
    const int64_t step = (baseline->size + BASELINES - 1) / BASELINES;
    const grove_earth earth = {0};
    grove_error *error = grove_error_new();
    double *at = grove_alloc((size_t)(times * station->size * 3) * sizeof(*at)), *uvw = NULL;
    int64_t baselines = 0;
    int code = grove_station_uvw(time->centre + first, times, position, station->size, position,
                                 centre, &earth, at, NULL, error);

    if (!code) {
        uvw = find_rows(baseline, station->size, at, times, step, &baselines);
        const grove_gridder_samples samples = {
            .rows = times * baselines, .channels = chosen->count, .uvw = uvw, .freq = chosen->freq};
        int32_t *time_block = number_blocks(terms->times, first, times),
                *none = grove_alloc((size_t)(baselines + 1) * sizeof(*none));
        memset(none, 0, (size_t)(baselines + 1) * sizeof(*none));
        const grove_idg_terms blocks = {.elements = 1,
                                        .stations = 1,
                                        .channel_blocks = chosen->count,
                                        .time_block = time_block,
                                        .channel_block = chosen->block,
                                        .left = none,
                                        .right = none};
        code = grove_idg_count(plan, &samples, baselines, &blocks, counts);
        free(time_block);
        free(none);
    }
    grove_error_free(error);
    free(at);
    free(uvw);
    return code;
}

double image_subgrids_foretell(const grove_node *obs, const grove_idg_plan *plan,
                               const image_terms *terms, int64_t groups)
{
    const grove_axis *time = grove_node_axis(obs, "time"),
                     *baseline = grove_node_axis(obs, "baseline"),
                     *freq = grove_node_axis(obs, "freq"),
                     *station = grove_node_axis(obs, "station");
    grove_idg_counts counts = {0};
    int code = 0;

    if (!time || !time->centre || !time->size || !baseline || !baseline->size || !baseline->left ||
        !station || !freq || !freq->centre || !grove_node_member_data(obs, "position") ||
        !grove_node_member_data(obs, "phase_centre"))
        return 0;
    const int64_t runs = time->size > RUN * RUNS ? RUNS : 1, times = runs > 1 ? RUN : time->size;
    channels chosen = choose_channels(freq, groups, terms->channels);
    for (int64_t k = 0; k < runs && !code; k++)
        code = count_run(obs, plan, terms, &chosen,
                         (2 * k + 1) * time->size / (2 * runs) - times / 2, times, &counts);
    free(chosen.freq);
    free(chosen.block);
    return code || !counts.subgrids ? 0 : (double)counts.visibilities / (double)counts.subgrids;
}

void image_subgrids_tell(grove_node *node, const grove_node *obs, const grove_idg_plan *p,
                         const image_terms *terms, int64_t groups)
{
    const double each = image_subgrids_foretell(obs, p, terms, groups);
    char many[60] = "", tiles[100] = "";

    if (each > 0)
        snprintf(many, sizeof(many), ", about %.3g visibilities in each", each);
    if (p->tile)
        snprintf(tiles, sizeof(tiles), " of w-tiles of %d x %d cells, about %lld in all", p->tile,
                 p->tile, (long long)p->blocks);
    grove_node_note(node,
                    "image-domain gridding: subgrids of %d x %d pixels%s, a taper of %d cells, "
                    "%lld w-layer%s%s; error %.2g, root mean square",
                    p->side, p->side, many, p->grid.kernel.width, (long long)p->layers,
                    p->layers == 1 ? "" : "s", tiles, p->error);
}

/* ---- numbers and images ---- */

int image_subgrids_of_data(const grove_node *node, const grove_form *data, bool circular,
                           const image_terms *terms, grove_idg_mix *mix, image_stokes *stokes)
{
    image_stokes wanted;
    int code = image_stokes_read(node, data, circular, &wanted);

    if (!code && terms->elements > 1 && data->shape == GROVE_SCALAR)
        code = grove_node_fail_option(node, "jones",
                                      "is of matrices, which need visibilities of 2 or 4 "
                                      "correlations, not numbers");
    if (code)
        return code;
    *mix = (grove_idg_mix){.visibilities = wanted.count, .images = wanted.count};
    *stokes = wanted;
    if (terms->elements <= 1) {
        for (int r = 0; r < wanted.count; r++)
            mix->factor[r][r][0] = 1;
        return 0;
    }
    if (terms->elements == 4)
        wanted.used = (1 << wanted.elements) - 1;
    *stokes = (image_stokes){.elements = wanted.elements, .used = wanted.used};
    for (int k = 0; k < wanted.elements; k++) {
        if (!(wanted.used >> k & 1))
            continue;
        const int c = stokes->count++;
        stokes->factor[c][k][0] = 1;
        mix->element[c] = data->shape == GROVE_DIAGONAL ? 3 * k : k;
        for (int r = 0; r < wanted.count; r++)
            memcpy(mix->factor[r][c], wanted.factor[r][k], sizeof(mix->factor[r][c]));
    }
    mix->visibilities = stokes->count;
    return 0;
}

int image_subgrids_of_planes(const grove_node *node, int parameters, bool circular,
                             const image_terms *terms, grove_idg_mix *mix)
{
    image_stokes s;
    int code = image_stokes_expand(node, parameters, circular, &s);

    if (code)
        return code;
    const bool one =
        parameters == 1 && terms->elements <= 1 &&
        (!grove_node_given(node, "stokes") || !strcmp(grove_node_text(node, "stokes"), "I"));
    *mix = (grove_idg_mix){.visibilities = one ? 1 : 4, .images = parameters};
    mix->factor[0][0][0] = 1;
    for (int c = 0; c < 4 && !one; c++) {
        mix->element[c] = c;
        for (int r = 0; r < parameters; r++) {
            mix->factor[r][c][0] = s.factor[r][c][0];
            mix->factor[r][c][1] = -s.factor[r][c][1]; /* what is the adjoint's conjugate */
        }
    }
    return 0;
}

/* ---- cells ---- */

static void copy_numbers(const char *from, int64_t from_step, char *to, int64_t to_step,
                         int64_t count, size_t bytes)
{
    for (int64_t k = 0; k < count; k++, from += from_step, to += to_step)
        memcpy(to, from, bytes);
}

void image_subgrids_to_cells(const void *images, void *cells, int images_count, int64_t count,
                             bool double_precision)
{
    const int64_t number = double_precision ? 16 : 8;

    for (int r = 0; r < images_count; r++)
        copy_numbers((const char *)images + r * count * number, number, (char *)cells + r * number,
                     images_count * number, count, (size_t)number);
}

void image_subgrids_from_cells(const void *cells, void *images, int images_count, int64_t count,
                               bool double_precision)
{
    const int64_t number = double_precision ? 16 : 8;

    for (int r = 0; r < images_count; r++)
        copy_numbers((const char *)cells + r * number, images_count * number,
                     (char *)images + r * count * number, number, count, (size_t)number);
}

/* ---- w beyond the layers ---- */

int64_t image_subgrids_beyond(const grove_gridder_samples *s, const grove_gridder_bounds *b)
{
    const double within[3] = {b->max_u, b->max_v, b->max_w},
                 flat[3] = {b->max_u, b->max_v, INFINITY};
    int64_t beyond = 0;

    for (int64_t i = 0; i < s->rows * s->channels && !b->without_w; i++) {
        const double *uvw = s->uvw + 3 * (i / s->channels), freq = s->freq[i % s->channels];
        beyond += image_is_within(uvw, freq, flat) && !image_is_within(uvw, freq, within);
    }
    return beyond;
}

void image_subgrids_warn_beyond(const grove_node *node, const grove_idg_plan *plan, int64_t beyond,
                                const char *become)
{
    if (beyond)
        grove_node_warn(node,
                        "%lld visibilities have w beyond the layers, which reach to %.4g "
                        "wavelengths, %s; a larger max_uvw makes layers for them",
                        (long long)beyond, plan->grid.bounds.max_w, become);
}
