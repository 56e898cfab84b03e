#include "nodes/imaging/image_share.h"

#include "nodes/common/coordinates.h"
#include "util.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Times in a row, in as many places of an observation, whose baselines are divided for the
 * estimate. */
enum { RUN = 256, RUNS = 4, BASELINES = 64, GROUPS = 8 /* of channels */ };

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

/* The channels of some of the groups, and numbers of the blocks that share a subgrid along them. */
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

double image_share_estimate(const grove_node *obs, const grove_idg_plan *plan,
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

void image_share_survey(const grove_node *obs, const grove_gridder_image *image,
                        grove_gridder_bounds *bounds, grove_idg_request *request)
{
    static const char *const axes[3] = {"time", "baseline", "freq"};
    const image_terms none = {0};
    double samples = 1;

    for (int k = 0; k < 3; k++) {
        const grove_axis *axis = grove_node_axis(obs, axes[k]);
        samples *= axis ? (double)axis->size : 1;
    }
    if (samples <= bounds->samples)
        return;
    bounds->samples = samples;
    for (int k = 0; k < 2; k++) {
        const grove_idg_plan square = grove_idg_square(image, k, &request->share_side[k]);
        request->share[k] = image_share_estimate(obs, &square, &none, 1);
    }
}
