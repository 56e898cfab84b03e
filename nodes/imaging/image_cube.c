#include "nodes/imaging/image_cube.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* How much of a plane is in a channel. */
static double share_of(const image_cube *cube, int plane, int64_t channel, double freq)
{
    int below = -1, above = -1, nearest = 0;

    if (cube->same)
        return plane == channel;
    const double *centre = cube->axis->centre;
    for (int k = 0; k < cube->planes; k++) {
        if (centre[k] <= freq && (below < 0 || centre[k] > centre[below]))
            below = k;
        if (centre[k] >= freq && (above < 0 || centre[k] < centre[above]))
            above = k;
        if (fabs(centre[k] - freq) < fabs(centre[nearest] - freq))
            nearest = k;
    }
    if (!cube->linear || below < 0 || above < 0 || !(centre[above] > centre[below]))
        return plane == nearest;
    double part = (freq - centre[below]) / (centre[above] - centre[below]);
    return plane == above ? part : plane == below ? 1 - part : 0;
}

bool image_cube_shares(const image_cube *cube, int plane, int64_t first, const double *freq,
                       int64_t channels, double *share)
{
    bool any = false;

    for (int64_t k = 0; k < channels; k++) {
        share[k] = share_of(cube, plane, first + k, freq[k]);
        any = any || share[k] != 0;
    }
    return any;
}

/* ---- runs of channels ---- */

/* The first pass in which no channel of a plane has another one; it may be a new one. -1 without
 * memory. */
static int choose_pass(image_cube_division *d, const double *own, int64_t channels)
{
    for (int k = 0; k < d->passes; k++) {
        bool fits = true;
        for (int64_t c = 0; c < channels; c++)
            fits = fits && (own[c] == 0 || d->share[k * channels + c] == 0);
        if (fits)
            return k;
    }
    double *more = realloc(d->share, (size_t)((d->passes + 1) * channels) * sizeof(*more));
    if (!more)
        return -1;
    d->share = more;
    memset(more + d->passes * channels, 0, (size_t)channels * sizeof(*more));
    return d->passes++;
}

/* Appends the runs of a plane; `own`: the channels' shares of it. -1 without memory. */
static int append_runs(image_cube_division *d, const double *own, int64_t channels, int plane)
{
    const int pass = choose_pass(d, own, channels);

    for (int64_t first = 0, end; first < channels && pass >= 0; first = end) {
        for (end = first + 1; end < channels && (own[end] != 0) == (own[first] != 0);)
            end++;
        if (own[first] == 0)
            continue;
        image_cube_run *run = realloc(d->run, (size_t)(d->count + 1) * sizeof(*run));
        if (!run)
            return -1;
        d->run = run;
        run[d->count++] = (image_cube_run){first, end - first, plane, pass};
    }
    for (int64_t c = 0; c < channels && pass >= 0; c++) {
        if (own[c] != 0)
            d->share[pass * channels + c] = own[c];
        d->whole = d->whole && (own[c] == 0 || own[c] == 1);
    }
    return pass < 0 ? -1 : 0;
}

int image_cube_divide(const image_cube *cube, int64_t first, const double *freq, int64_t channels,
                      image_cube_division *d)
{
    double *own = malloc((size_t)channels * sizeof(*own) + 1);
    int code = own ? 0 : -1;

    *d = (image_cube_division){.whole = true};
    for (int plane = 0; plane < cube->planes && !code; plane++) {
        bool any = !cube->axis;
        for (int64_t c = 0; c < channels && any; c++)
            own[c] = 1;
        if (cube->axis)
            any = image_cube_shares(cube, plane, first, freq, channels, own);
        code = any ? append_runs(d, own, channels, plane) : 0;
    }
    free(own);
    d->whole = d->whole && d->passes <= 1;
    return code;
}

void image_cube_division_free(image_cube_division *d)
{
    free(d->run);
    free(d->share);
    *d = (image_cube_division){0};
}

/* ---- samples ---- */

int image_cube_part_make(const image_cube *cube, int plane, int64_t first,
                         const grove_gridder_samples *all, int numbers, bool double_precision,
                         image_cube_part *part)
{
    const size_t channels = (size_t)all->channels;
    int64_t count = 0;

    *part = (image_cube_part){.freq = malloc(channels * sizeof(double)),
                              .share = malloc(channels * sizeof(double)),
                              .channel = malloc(channels * sizeof(int64_t))};
    if (!part->freq || !part->share || !part->channel)
        return -1;
    for (int64_t k = 0; k < all->channels; k++) {
        part->freq[count] = all->freq[k];
        part->share[count] = share_of(cube, plane, first + k, all->freq[k]);
        part->channel[count] = k;
        count += part->share[count] != 0;
    }
    part->samples = (grove_gridder_samples){
        .rows = all->rows, .channels = count, .uvw = all->uvw, .freq = part->freq};
    if (count)
        part->samples.data = calloc((size_t)(all->rows * count * numbers),
                                    double_precision ? sizeof(double) : sizeof(float));
    return count && !part->samples.data ? -1 : 0;
}

void image_cube_part_add(const image_cube_part *part, const grove_gridder_samples *all, int numbers,
                         bool double_precision)
{
    const int64_t count = part->samples.channels;

    for (int64_t i = 0; i < all->rows * count; i++) {
        const double share = part->share[i % count];
        int64_t to = (i / count * all->channels + part->channel[i % count]) * numbers;
        for (int e = 0; e < numbers; e++)
            if (double_precision)
                ((double *)all->data)[to + e] +=
                    share * ((const double *)part->samples.data)[i * numbers + e];
            else
                ((float *)all->data)[to + e] +=
                    (float)share * ((const float *)part->samples.data)[i * numbers + e];
    }
}

void image_cube_part_free(image_cube_part *part)
{
    free(part->freq);
    free(part->share);
    free(part->channel);
    free(part->samples.data);
}
