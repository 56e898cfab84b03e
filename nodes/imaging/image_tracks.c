#include "nodes/imaging/image_tracks.h"

#include "nodes/common/coordinates.h"
#include "util.h"

#include <math.h>
#include <stdlib.h>

enum { ROWS = 1 << 17, CHUNK = 1 << 15 };

/* Every so manyth of them, from half of that on. */
static double *some_times(const grove_axis *time, int64_t baselines, int64_t *count)
{
    int64_t most = ROWS / baselines > 8 ? ROWS / baselines : 8,
            step = (time->size + most - 1) / most;
    double *some = grove_alloc((size_t)time->size * sizeof(*some));

    *count = 0;
    for (int64_t t = step / 2; t < time->size; t += step)
        some[(*count)++] = time->centre[t];
    return some;
}

static void find_rows(const grove_axis *baseline, int64_t stations, const double *station,
                      int64_t times, image_tracks *tracks)
{
    tracks->uvw = grove_alloc((size_t)(times * baseline->size * 3 + 1) * sizeof(double));
    for (int64_t t = 0; t < times; t++, station += 3 * stations)
        for (int64_t b = 0; b < baseline->size; b++, tracks->rows++)
            for (int d = 0; d < 3; d++) {
                double x = station[3 * (int64_t)baseline->left[b] + d] -
                           station[3 * (int64_t)baseline->right[b] + d];
                tracks->uvw[3 * tracks->rows + d] = x;
                tracks->largest[d] = fmax(tracks->largest[d], fabs(x));
            }
}

image_tracks image_tracks_of(const grove_node *obs)
{
    const grove_axis *time = grove_node_axis(obs, "time"),
                     *baseline = grove_node_axis(obs, "baseline"),
                     *station = grove_node_axis(obs, "station");
    const double *position = grove_node_member_data(obs, "position"),
                 *centre = grove_node_member_data(obs, "phase_centre");
    const grove_earth earth = {0};
    image_tracks tracks = {0};
    int64_t times = 0;

    if (!time || !time->centre || !baseline || !baseline->size || !baseline->left || !station ||
        !position || !centre)
        return tracks;
    double *some = some_times(time, baseline->size, &times);
    double *uvw = grove_alloc((size_t)(times * station->size * 3 + 1) * sizeof(*uvw));
    grove_error *error = grove_error_new();
    if (!grove_station_uvw(some, times, position, station->size, position, centre, &earth, uvw,
                           NULL, error))
        find_rows(baseline, station->size, uvw, times, &tracks);
    if (!isfinite(tracks.largest[0] + tracks.largest[1] + tracks.largest[2]))
        image_tracks_free(&tracks);
    grove_error_free(error);
    free(some);
    free(uvw);
    return tracks;
}

void image_tracks_free(image_tracks *tracks)
{
    free(tracks->uvw);
    *tracks = (image_tracks){0};
}

static void set_all(const grove_gridder_plan *plan, uint64_t *bytes)
{
    for (int64_t k = 0; k < plan->planes; k++)
        bytes[k] = grove_gridder_plan_planes_bytes(plan) / (uint64_t)plan->planes;
}

void image_tracks_planes(const image_tracks *tracks, const grove_gridder_plan *plan,
                         const double *freq, int64_t channels, uint64_t *bytes)
{
    grove_gridder *g = tracks->rows ? grove_gridder_new(plan, GROVE_ISA_PORTABLE) : NULL;
    int code = g ? 0 : -1;

    for (int64_t first = 0; first < tracks->rows && !code; first += CHUNK) {
        int64_t left = tracks->rows - first;
        const grove_gridder_samples samples = {.rows = left < CHUNK ? left : CHUNK,
                                               .channels = channels,
                                               .uvw = tracks->uvw + 3 * first,
                                               .freq = freq};
        code = grove_gridder_mark(g, &samples);
    }
    for (int64_t k = 0; k < plan->planes && !code; k++)
        bytes[k] = grove_gridder_marked(g, k);
    if (code)
        set_all(plan, bytes);
    grove_gridder_free(g);
}
