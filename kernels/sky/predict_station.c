/* Plans sums for stations: whether they can be used, which rows are computed by baselines instead,
 * and the cells of the products. */
#include "predict_private.h"

#include <stdlib.h>
#include <string.h>

static int same_stations(const grove_predict_sum *p, int jones, int uvw)
{
    const grove_view *a = input_of(p, jones), *b = input_of(p, uvw);

    if (!a->data || (!a->gather && !stride_of(a, p->baseline)))
        return 1;
    return a->gather && a->gather_axis == p->baseline &&
           !memcmp(a->gather, b->gather, sizeof(*a->gather) * (size_t)p->baselines);
}

int grove_predict_station_fits(const grove_predict_sum *p)
{
    const grove_view *left = input_of(p, GROVE_PREDICT_UVW_LEFT);
    const grove_view *right = input_of(p, GROVE_PREDICT_UVW_RIGHT);

    return p->baseline >= 0 && p->baselines * p->times == p->rows && left->data && right->data &&
           left->gather && right->gather && left->gather_axis == p->baseline &&
           right->gather_axis == p->baseline && !p->job.gaussians && !p->plan.smear_time &&
           !p->plan.smear_freq && same_stations(p, GROVE_PREDICT_LEFT, GROVE_PREDICT_UVW_LEFT) &&
           same_stations(p, GROVE_PREDICT_RIGHT, GROVE_PREDICT_UVW_RIGHT);
}

static const double *baseline_uvw(const grove_predict_sum *p, int64_t time, int64_t baseline)
{
    row r;

    if (!input_of(p, GROVE_PREDICT_UVW)->gather)
        return station_uvw(p, GROVE_PREDICT_UVW, time, baseline);
    find_row(p->args, time * p->baselines + baseline, &r);
    return (const double *)(const void *)r.in[GROVE_PREDICT_UVW];
}

/* Rows whose coordinates differ from the stations' by a phase that matters. */
static void find_strays(grove_predict_sum *p, unsigned char *needed)
{
    const int32_t *left = input_of(p, GROVE_PREDICT_UVW_LEFT)->gather;
    const int32_t *right = input_of(p, GROVE_PREDICT_UVW_RIGHT)->gather;

    if (p->row_list)
        memset(p->is_stray, 1, (size_t)p->rows);
    for (int64_t i = 0; i < p->row_count; i++) {
        int64_t at = p->row_list ? p->row_list[i] : i;
        int64_t t = at / p->baselines, b = at % p->baselines;
        double rest[3];
        p->is_stray[at] =
            is_stray(p, baseline_uvw(p, t, b), station_uvw(p, GROVE_PREDICT_UVW_LEFT, t, left[b]),
                     station_uvw(p, GROVE_PREDICT_UVW_RIGHT, t, right[b]), rest);
        if (p->is_stray[at])
            p->stray[p->stray_count++] = at;
        else
            needed[left[b] * p->stations + right[b]] = 1;
    }
}

int grove_predict_by_matrices(int elements, int sums, int64_t stations)
{
    enum { MANY = 40 };

    return elements == 4 || (elements == 2 && sums == 4 && stations < MANY);
}

static int has_matrices(const grove_predict_sum *p)
{
    int left = p->terms.side[0].numbers, right = p->terms.side[1].numbers;

    return p->jones && grove_predict_by_matrices((left > right ? left : right) / 2,
                                                 p->terms.sum.components, p->plan.stations);
}

/* Bytes of a row's output that a piece stores, where one thread does all: a line of the cache is
 * written once, and its neighbours with it. */
enum { STORED_BYTES = 256 };

static int64_t channels_at_once(const grove_predict_sum *p)
{
    int64_t bytes = 2 * p->args->out.bytes * p->args->out.elements, count = STORED_BYTES / bytes;

    return count < p->channels ? count : p->channels;
}

int64_t grove_predict_station_groups(const grove_predict_sum *p)
{
    return p->at_once ? (p->channels + p->at_once - 1) / p->at_once : 0;
}

int grove_predict_station_pack(grove_predict_sum *p)
{
    const int32_t *left = input_of(p, GROVE_PREDICT_UVW_LEFT)->gather;
    const int32_t *right = input_of(p, GROVE_PREDICT_UVW_RIGHT)->gather;
    int lanes = p->kernels->lanes;
    size_t rows = (size_t)p->rows + 1;

    p->sides = has_matrices(p) ? 2 : 1;
    p->at_once = channels_at_once(p);
    for (int64_t b = 0; b < p->baselines; b++) {
        p->stations = left[b] >= p->stations ? left[b] + 1 : p->stations;
        p->stations = right[b] >= p->stations ? right[b] + 1 : p->stations;
    }
    p->padded = (p->sources + lanes - 1) / lanes * lanes;
    p->padded_direction = calloc((size_t)p->padded + 1, 3 * sizeof(double));
    p->is_stray = calloc(rows, 1);
    p->stray = calloc(rows, sizeof(*p->stray));
    unsigned char *needed = calloc((size_t)p->stations * (size_t)p->stations + 1, 1);
    if (!p->padded_direction || !needed || !p->is_stray || !p->stray) {
        free(needed);
        return 0;
    }
    for (int64_t i = 0; i < p->sources; i++)
        for (int k = 0; k < 3; k++)
            p->padded_direction[k * p->padded + i] = p->direction[3 * i + k];
    find_strays(p, needed);
    p->grid = grove_predict_grid_new(p->stations, p->sides, needed, p->kernels->tile_rows,
                                     p->kernels->tile_columns);
    free(needed);
    return p->grid != NULL;
}

void grove_predict_station_free(grove_predict_sum *p)
{
    free(p->padded_direction);
    grove_predict_grid_free(p->grid);
    free(p->is_stray);
    free(p->stray);
}

int64_t grove_predict_station_pieces(const grove_predict_sum *p)
{
    return p->times * grove_predict_station_groups(p) * p->grid->part_count;
}

/* Threads get pieces of fewer channels, where there would be too few pieces for all of them. Every
 * part of the products packs the stations that it needs: all on the right, and 1 / n of those on
 * the left for n parts. For all stations that costs as much as a product with some 60 stations (30
 * with matrices). */
void grove_predict_station_cut(grove_predict_sum *p, int threads)
{
    enum { EACH = 4 }; /* pieces of a thread */
    double packing = 60.0 / p->sides / (p->stations + 1), lowest = 0;
    int best = 1;

    while (threads > 1 && p->at_once > 1 &&
           p->times * grove_predict_station_groups(p) < EACH * (int64_t)threads)
        p->at_once = (p->at_once + 1) / 2;
    const int64_t pieces = p->times * grove_predict_station_groups(p);
    for (int parts = 1; parts <= threads && parts <= p->grid->tile_count; parts++) {
        int64_t rounds = (pieces * parts + threads - 1) / threads;
        double cost = (double)rounds * (1.0 / parts + packing * (0.5 + 0.5 / parts));
        if (parts == 1 || cost < 0.97 * lowest) {
            best = parts;
            lowest = cost;
        }
    }
    if (best > 1)
        (void)grove_predict_grid_cut(p->grid, best); /* without memory, fewer threads work */
}
