#include "diagonal.h"
#include "../convolution/convolution_hot.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

static const double speed_of_light = 299792458.0;

enum { PARTS = 256 }; /* of all points, each with a table of its own */

/* Open addressing; a slot without a point has -1. */
typedef struct {
    grove_diagonal_entry *slot;
    int64_t room, count; /* room: a power of two, or 0 */
} table;

struct grove_diagonal {
    grove_lattice lattice;
    double parts_per_point;
    int64_t most;
    uint64_t mask; /* kept are points whose hash has none of these bits */
    int64_t samples;
    table part[PARTS];
};

bool grove_lattice_make(const grove_convolution_plan *plan, grove_lattice *l)
{
    const double whole = 9007199254740992.0; /* 2^53 */

    *l = (grove_lattice){.plan = *plan, .tile = 16};
    while (l->tile < plan->support - 1)
        l->tile *= 2;
    for (int d = 0; d < 2; d++)
        l->tiles[d] = (plan->grid[d] + l->tile - 1) / l->tile;
    l->blocks = plan->functions * plan->planes * plan->oversampling * plan->oversampling;
    return (double)(l->tiles[0] * l->tiles[1] * l->tile * l->tile) * (double)plan->functions *
               (double)plan->planes * plan->oversampling * plan->oversampling <
           whole;
}

static double points_of(const grove_lattice *l)
{
    return (double)(l->tiles[0] * l->tiles[1] * l->tile * l->tile) * (double)l->blocks;
}

uint64_t grove_diagonal_bytes(int64_t entries)
{
    return sizeof(grove_diagonal) +
           sizeof(grove_diagonal_entry) * (4 * (uint64_t)entries + 16 * (uint64_t)PARTS);
}

uint64_t grove_diagonal_add_bytes(int64_t samples)
{
    return (uint64_t)samples * (sizeof(double) + sizeof(grove_diagonal_entry));
}

grove_diagonal *grove_diagonal_new(const grove_lattice *lattice, int64_t most)
{
    grove_diagonal *d = calloc(1, sizeof(*d));

    if (!d)
        return NULL;
    d->lattice = *lattice;
    d->parts_per_point = PARTS / points_of(lattice);
    d->most = most;
    return d;
}

void grove_diagonal_free(grove_diagonal *d)
{
    for (int k = 0; d && k < PARTS; k++)
        free(d->part[k].slot);
    free(d);
}

/* ---- tables ---- */

static uint64_t hash_of(double point)
{
    uint64_t h = (uint64_t)point * 0x9e3779b97f4a7c15;

    h ^= h >> 32;
    return h * 0xd6e8feb86659fd93;
}

/* The slot of a point, or the free one where it belongs. */
static grove_diagonal_entry *find(const table *t, double point)
{
    uint64_t at = hash_of(point) >> 20;

    for (;; at++) {
        grove_diagonal_entry *e = &t->slot[at & (uint64_t)(t->room - 1)];
        if (e->point == point || e->point < 0)
            return e;
    }
}

/* Room for `room` slots, with those points whose hash has none of the bits of `mask`. */
static int resize(table *t, int64_t room, uint64_t mask)
{
    table to = {.slot = malloc((size_t)room * sizeof(*to.slot)), .room = room};

    if (!to.slot)
        return -1;
    for (int64_t k = 0; k < room; k++)
        to.slot[k] = (grove_diagonal_entry){-1, 0};
    for (int64_t k = 0; k < t->room; k++)
        if (t->slot[k].point >= 0 && !(hash_of(t->slot[k].point) & mask)) {
            *find(&to, t->slot[k].point) = t->slot[k];
            to.count++;
        }
    free(t->slot);
    *t = to;
    return 0;
}

static int insert(table *t, const grove_diagonal_entry *e)
{
    if (2 * t->count >= t->room && resize(t, t->room ? 2 * t->room : 16, 0))
        return -1;
    grove_diagonal_entry *slot = find(t, e->point);
    if (slot->point < 0) {
        *slot = *e;
        t->count++;
    } else {
        slot->weight += e->weight;
    }
    return 0;
}

/* ---- samples ---- */

enum { TOGETHER = 1 << 14 }; /* samples of a piece of rows, about */

typedef struct {
    grove_diagonal *d;
    const grove_gridder_samples *samples;
    const grove_convolution_mueller *mueller;
    double *wavenumber;
    int64_t rows, pieces;           /* of a piece */
    double *point;                  /* [sample]; -1: it does not count */
    int64_t (*first)[PARTS];        /* [piece] of samples of each part, and where its own begin */
    grove_gridder_outside *outside; /* [piece] */
    int64_t *counted;               /* [piece] of samples that lie in the grid */
    grove_diagonal_entry *sorted;
    int64_t begin[PARTS + 1];
    atomic_bool failed;
} work;

static double weight_of(const work *w, int64_t i)
{
    const void *weight = w->samples->weight;

    return !weight                               ? 1
           : w->d->lattice.plan.double_precision ? ((const double *)weight)[i]
                                                 : (double)((const float *)weight)[i];
}

static int64_t function_of(const work *w, int64_t row, int64_t channel, double sign)
{
    const grove_convolution_mueller *m = w->mueller;

    return m ? m->index[2 * ((int64_t)m->row[row] + m->channel[channel]) + (sign < 0)] : 0;
}

/* The point of a sample; -1: its function leaves the grid. */
static double point_of(const grove_lattice *l, const double uvw[3], double wavenumber,
                       int64_t function)
{
    const grove_convolution_plan *p = &l->plan;
    grove_convolution_place place;

    if (!grove_convolution_find(p, uvw, wavenumber, &place))
        return -1;
    const int64_t u = (int64_t)place.cell[0], v = (int64_t)place.cell[1],
                  tile = v / l->tile * l->tiles[0] + u / l->tile,
                  cell = (tile * l->tile + v % l->tile) * l->tile + u % l->tile,
                  block = ((function * p->planes + (int64_t)place.plane) * p->oversampling +
                           (int64_t)place.offset[1]) *
                              p->oversampling +
                          (int64_t)place.offset[0];
    return (double)(cell * l->blocks + block);
}

static int part_of(const work *w, double point)
{
    return (int)(point * w->d->parts_per_point);
}

static bool is_within(const double uvw[3], double wavenumber, const double *longest)
{
    for (int d = 0; d < 3 && longest; d++)
        if (!(fabs(uvw[d]) * wavenumber <= longest[d]))
            return false;
    return true;
}

static void find_row(work *w, int64_t piece, int64_t row)
{
    const double *given = w->samples->uvw + 3 * row, sign = given[2] < 0 ? -1 : 1,
                 uvw[3] = {sign * given[0], sign * given[1], sign * given[2]};

    for (int64_t k = 0; k < w->samples->channels; k++) {
        const int64_t i = row * w->samples->channels + k;
        const double weight = weight_of(w, i);
        w->point[i] = -1;
        const int64_t function = weight == 0 ? -1 : function_of(w, row, k, sign);
        if (function < 0 || !is_within(uvw, w->wavenumber[k], w->samples->longest))
            continue;
        const double point = point_of(&w->d->lattice, uvw, w->wavenumber[k], function);
        if (point < 0) {
            w->outside[piece].samples++;
            w->outside[piece].weight += weight;
            continue;
        }
        w->counted[piece]++;
        if (!(hash_of(point) & w->d->mask)) {
            w->point[i] = point;
            w->first[piece][part_of(w, point)]++;
        }
    }
}

static int64_t least(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

static void find_piece(void *context, int64_t piece)
{
    work *w = context;

    for (int64_t row = piece * w->rows; row < least((piece + 1) * w->rows, w->samples->rows); row++)
        find_row(w, piece, row);
}

/* From counts to places. */
static void find_places(work *w)
{
    int64_t at = 0;

    for (int part = 0; part < PARTS; part++) {
        w->begin[part] = at;
        for (int64_t piece = 0; piece < w->pieces; piece++) {
            const int64_t count = w->first[piece][part];
            w->first[piece][part] = at;
            at += count;
        }
    }
    w->begin[PARTS] = at;
}

static void sort_piece(void *context, int64_t piece)
{
    work *w = context;
    const int64_t channels = w->samples->channels,
                  end = least((piece + 1) * w->rows, w->samples->rows) * channels;

    for (int64_t i = piece * w->rows * channels; i < end; i++)
        if (w->point[i] >= 0)
            w->sorted[w->first[piece][part_of(w, w->point[i])]++] =
                (grove_diagonal_entry){w->point[i], weight_of(w, i)};
}

static void insert_part(void *context, int64_t part)
{
    work *w = context;
    int code = 0;

    for (int64_t i = w->begin[part]; i < w->begin[part + 1] && !code; i++)
        code = insert(&w->d->part[part], &w->sorted[i]);
    if (code)
        w->failed = true;
}

static int64_t kept(const grove_diagonal *d)
{
    int64_t count = 0;

    for (int k = 0; k < PARTS; k++)
        count += d->part[k].count;
    return count;
}

/* A smaller share, until there are few enough. */
static int thin(grove_diagonal *d)
{
    while (d->most && kept(d) > d->most) {
        d->mask = 2 * d->mask + 1;
        for (int k = 0; k < PARTS; k++)
            if (d->part[k].room && resize(&d->part[k], d->part[k].room, d->mask))
                return -1;
    }
    return 0;
}

static int add(work *w, const grove_gridder_threads *threads, grove_gridder_outside *outside)
{
    for (int64_t k = 0; k < w->samples->channels; k++)
        w->wavenumber[k] = w->samples->freq[k] / speed_of_light;
    threads->run(threads->pool, w->pieces, find_piece, w);
    find_places(w);
    threads->run(threads->pool, w->pieces, sort_piece, w);
    threads->run(threads->pool, PARTS, insert_part, w);
    for (int64_t piece = 0; piece < w->pieces; piece++) {
        outside->samples += w->outside[piece].samples;
        outside->weight += w->outside[piece].weight;
        w->d->samples += w->counted[piece];
    }
    return w->failed || thin(w->d) ? -1 : 0;
}

int grove_diagonal_add(grove_diagonal *d, const grove_gridder_samples *samples,
                       const grove_convolution_mueller *mueller,
                       const grove_gridder_threads *threads, grove_gridder_outside *outside)
{
    const int64_t count = samples->rows * samples->channels;
    work w = {.d = d, .samples = samples, .mueller = mueller};

    if (!count)
        return 0;
    w.rows = samples->channels < TOGETHER ? TOGETHER / samples->channels : 1;
    w.pieces = (samples->rows + w.rows - 1) / w.rows;
    w.wavenumber = malloc((size_t)samples->channels * sizeof(*w.wavenumber));
    w.point = malloc((size_t)count * sizeof(*w.point));
    w.first = calloc((size_t)w.pieces, sizeof(*w.first));
    w.outside = calloc((size_t)w.pieces, sizeof(*w.outside));
    w.counted = calloc((size_t)w.pieces, sizeof(*w.counted));
    w.sorted = malloc((size_t)count * sizeof(*w.sorted));
    int code = w.wavenumber && w.point && w.first && w.outside && w.counted && w.sorted
                   ? add(&w, threads, outside)
                   : -1;
    free(w.wavenumber);
    free(w.point);
    free(w.first);
    free(w.outside);
    free(w.counted);
    free(w.sorted);
    return code;
}

/* ---- the result ---- */

int64_t grove_diagonal_count(const grove_diagonal *d)
{
    return kept(d) * (int64_t)(d->mask + 1);
}

int64_t grove_diagonal_samples(const grove_diagonal *d)
{
    return d->samples;
}

static int by_point(const void *a, const void *b)
{
    const grove_diagonal_entry *x = a, *y = b;

    return x->point < y->point ? -1 : x->point > y->point;
}

typedef struct {
    const grove_diagonal *d;
    grove_diagonal_entry *to[PARTS];
} writing;

static void write_part(void *context, int64_t part)
{
    const writing *w = context;
    const table *t = &w->d->part[part];
    grove_diagonal_entry *to = w->to[part];

    for (int64_t k = 0; k < t->room; k++)
        if (t->slot[k].point >= 0)
            *to++ = t->slot[k];
    if (t->count)
        qsort(w->to[part], (size_t)t->count, sizeof(*to), by_point);
}

void grove_diagonal_write(const grove_diagonal *d, const grove_gridder_threads *threads,
                          grove_diagonal_entry *to)
{
    writing w = {.d = d};

    for (int k = 0; k < PARTS; k++) {
        w.to[k] = to;
        to += d->part[k].count;
    }
    threads->run(threads->pool, PARTS, write_part, &w);
}

int64_t grove_diagonal_find(const grove_diagonal_entry *entries, int64_t low, int64_t high,
                            double point)
{
    while (low < high) {
        const int64_t middle = low + (high - low) / 2;
        if (entries[middle].point < point)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}
