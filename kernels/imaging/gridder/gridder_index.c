/* Which samples lie in which tile. */
#include "gridder_private.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static const double speed_of_light = 299792458.0;

/* Parts of the rows are scanned, and buckets of keys sorted, by a thread each; their numbers do not
 * depend on the number of threads. */
enum { PARTS = 32, BUCKETS = 32, SHIFT = 4 };
_Static_assert(1 << SHIFT == GROVE_GRIDDER_TILE, "tiles are shifts");

/* Where a kernel begins: the tile, and the plane within its group. */
typedef struct {
    int64_t tile[2], group, start;
} place;

/* Of an entry: its sort key, and the first and the last plane, within the group, in which kernels
 * begin. */
typedef struct {
    int64_t key;
    int16_t low, high;
} sorting;

typedef struct {
    grove_gridder_entry *entry;
    sorting *sorting;
    int64_t count, room;
    bool failed;
} list;

static void append(list *l, sorting key, grove_gridder_entry entry)
{
    if (l->count == l->room && !l->failed) {
        int64_t room = l->room ? 2 * l->room : 256;
        grove_gridder_entry *entries = realloc(l->entry, (size_t)room * sizeof(*entries));
        l->entry = entries ? entries : l->entry;
        sorting *keys = realloc(l->sorting, (size_t)room * sizeof(*keys));
        l->sorting = keys ? keys : l->sorting;
        l->failed = !entries || !keys;
        l->room = l->failed ? l->room : room;
    }
    if (l->failed)
        return;
    l->entry[l->count] = entry;
    l->sorting[l->count++] = key;
}

/* The sort key of a place, -1 outside of the kept cells. */
static int64_t key_of(const grove_gridder *g, const place *at)
{
    int64_t column[2];

    for (int d = 0; d < 2; d++) {
        column[d] = at->tile[d] - g->first_tile[d];
        if (g->columns[d] == g->tiles[d])
            column[d] = (column[d] % g->tiles[d] + g->tiles[d]) % g->tiles[d];
        else if (column[d] < 0 || column[d] >= g->columns[d] - 1)
            return -1;
    }
    if (at->group < 0 || at->group >= g->groups)
        return -1;
    return (column[1] * g->columns[0] + column[0]) * g->groups + at->group;
}

static bool same(const place *a, const place *b)
{
    return a->tile[0] == b->tile[0] && a->tile[1] == b->tile[1] && a->group == b->group;
}

static int64_t keys_of(const grove_gridder *g)
{
    return g->columns[0] * g->columns[1] * g->groups;
}

static int64_t bucket_of(const grove_gridder *g, int64_t key)
{
    return key * BUCKETS / keys_of(g);
}

/* The least key of a bucket. */
static int64_t least_key(const grove_gridder *g, int64_t bucket)
{
    return (bucket * keys_of(g) + BUCKETS - 1) / BUCKETS;
}

typedef struct {
    const grove_gridder *g;
    const double *wavenumber;
    double scale[3];
    double first_w, per_group; /* planes of w = 0 before the first one; 1 / planes of a group */
    int32_t row;
    list *lists; /* [BUCKETS] */
    const grove_gridder_samples *samples;
    grove_gridder_outside outside;
} scan;

/* First cells and planes are whole numbers: shifts round tiles down. */
static inline void find_place(const scan *s, double wavenumber, place *at)
{
    const grove_gridder *g = s->g;

    for (int d = 0; d < 2; d++)
        at->tile[d] =
            (int64_t)grove_gridder_first(wavenumber * s->scale[d], g->plan.kernel.width) >> SHIFT;
    double w = g->plan.step_w > 0 ? wavenumber * s->scale[2] - s->first_w : 0.5;
    double start = grove_gridder_first(w, g->plan.kernel_w.width);
    at->group = start < 0 ? -1 : (int64_t)((start + 0.5) * s->per_group);
    at->start = (int64_t)start - at->group * g->group;
}

static void leave_out(scan *s, int64_t first, int64_t last)
{
    const void *weight = s->samples->weight;

    for (int64_t k = first; k < last; k++) {
        int64_t at = s->row * s->samples->channels + k;
        double each = !weight                       ? 1
                      : s->g->real == sizeof(float) ? (double)((const float *)weight)[at]
                                                    : ((const double *)weight)[at];
        s->outside.samples += each != 0;
        s->outside.weight += each;
    }
}

/* Entries for channels [first, last), in whose range places change monotonously with the channel.
 */
static void divide(scan *s, int32_t first, int32_t last, const place *at_first,
                   const place *at_last)
{
    if (same(at_first, at_last)) {
        int64_t key = key_of(s->g, at_first), a = at_first->start, b = at_last->start;
        if (key >= 0)
            append(&s->lists[bucket_of(s->g, key)],
                   (sorting){key, (int16_t)(a < b ? a : b), (int16_t)(a < b ? b : a)},
                   (grove_gridder_entry){s->row, first, last});
        else
            leave_out(s, first, last);
        return;
    }
    int32_t middle = first + (last - first) / 2;
    place below, above;
    find_place(s, s->wavenumber[middle - 1], &below);
    find_place(s, s->wavenumber[middle], &above);
    divide(s, first, middle, at_first, &below);
    divide(s, middle, last, &above, at_last);
}

static bool has_channel(const scan *s, int64_t channel)
{
    return !s->samples->empty || !s->samples->empty[channel];
}

/* The end of a range of channels with ascending, or descending, frequencies. */
static int64_t end_of_range(const scan *s, int64_t first)
{
    const double *wavenumber = s->wavenumber;
    const int64_t channels = s->samples->channels;
    int64_t last = first + 1;
    bool up = last < channels && wavenumber[last] > wavenumber[first];

    while (last < channels && (wavenumber[last] > wavenumber[last - 1]) == up &&
           has_channel(s, last))
        last++;
    return last;
}

/* Whether a sample is within the limits that the caller has set. */
static bool is_within(const scan *s, const double *uvw, int64_t channel)
{
    const double *longest = s->samples->longest;

    for (int d = 0; d < 3 && longest; d++)
        if (!(fabs(uvw[d]) * s->samples->freq[channel] <= longest[d] * speed_of_light))
            return false;
    return true;
}

/* Channels [first, last) with ascending, or descending, frequencies: the highest may be beyond. */
static void scan_range(scan *s, const double *uvw, int64_t first, int64_t last)
{
    int64_t begin = first, end = last;

    while (begin < end && !is_within(s, uvw, begin))
        begin++;
    while (end > begin && !is_within(s, uvw, end - 1))
        end--;
    leave_out(s, first, begin);
    leave_out(s, end, last);
    if (begin == end)
        return;
    place at_first, at_last;
    find_place(s, s->wavenumber[begin], &at_first);
    find_place(s, s->wavenumber[end - 1], &at_last);
    divide(s, (int32_t)begin, (int32_t)end, &at_first, &at_last);
}

static void scan_row(scan *s, const double *uvw)
{
    const grove_gridder_plan *p = &s->g->plan;
    const int64_t channels = s->samples->channels;
    double sign = uvw[2] < 0 ? -1 : 1;
    bool counts = true;

    if (!isfinite(uvw[0]) || !isfinite(uvw[1]) || !isfinite(uvw[2]) ||
        fmax(fmax(fabs(uvw[0]), fabs(uvw[1])), fabs(uvw[2])) > 1e12)
        counts = false;
    for (int d = 0; d < 2; d++)
        s->scale[d] = sign * uvw[d] * p->image.cell[d] * (double)p->grid[d];
    s->scale[2] = p->step_w > 0 ? sign * uvw[2] / p->step_w : 0;
    for (int64_t first = 0, last; first < channels; first = last) {
        last = end_of_range(s, first);
        if (!has_channel(s, first))
            last = first + 1;
        else if (counts)
            scan_range(s, uvw, first, last);
        else
            leave_out(s, first, last);
    }
}

/* Tiles of one colour have no common neighbour. */
static int list_tasks(const grove_gridder *g, grove_gridder_index *index)
{
    int64_t tiles = g->columns[0] * g->columns[1], count = 0;

    index->task = malloc((size_t)(tiles + 1) * sizeof(*index->task));
    if (!index->task)
        return -1;
    for (int colour = 0; colour < 4; colour++) {
        index->begin[colour] = count;
        for (int64_t tile = 0; tile < tiles; tile++) {
            int64_t u = tile % g->columns[0], v = tile / g->columns[0];
            if ((u & 1) + 2 * (v & 1) == colour &&
                index->first[tile * g->groups] < index->first[(tile + 1) * g->groups])
                index->task[count++] = (int32_t)tile;
        }
    }
    index->begin[4] = count;
    return 0;
}

typedef struct {
    const grove_gridder *g;
    const grove_gridder_samples *samples;
    grove_gridder_index *index;
    list lists[PARTS][BUCKETS];
    int64_t begin[BUCKETS]; /* of their entries in the index */
    grove_gridder_outside outside[PARTS];
} making;

static void scan_part(void *context, int64_t part)
{
    making *m = context;
    const grove_gridder_samples *samples = m->samples;
    list own[BUCKETS] = {0}; /* not next to other threads' lists */
    const grove_gridder_plan *p = &m->g->plan;
    scan s = {.g = m->g,
              .wavenumber = m->index->wavenumber,
              .first_w = p->step_w > 0 ? p->first_w / p->step_w : 0,
              .per_group = 1 / (double)m->g->group,
              .lists = own,
              .samples = samples};

    for (int64_t row = samples->rows * part / PARTS; row < samples->rows * (part + 1) / PARTS;
         row++) {
        s.row = (int32_t)row;
        scan_row(&s, samples->uvw + 3 * row);
    }
    memcpy(m->lists[part], own, sizeof(own));
    m->outside[part] = s.outside;
}

static void count_entry(grove_gridder_index *index, const sorting *s)
{
    int16_t *starts = index->starts[s->key];
    const bool none = !index->first[s->key + 1]++;

    starts[0] = none || s->low < starts[0] ? s->low : starts[0];
    starts[1] = none || s->high > starts[1] ? s->high : starts[1];
}

/* Stable counting sort of a bucket's entries of all parts; first[k + 1] is where the next entry of
 * key k goes, and at last where the entries of k + 1 begin. */
static void sort_bucket(void *context, int64_t bucket)
{
    making *m = context;
    const int64_t least = least_key(m->g, bucket), end = least_key(m->g, bucket + 1);
    int64_t *first = m->index->first, at = m->begin[bucket];

    for (int part = 0; part < PARTS; part++)
        for (int64_t i = 0; i < m->lists[part][bucket].count; i++)
            count_entry(m->index, &m->lists[part][bucket].sorting[i]);
    for (int64_t k = least; k < end; k++) {
        int64_t count = first[k + 1];
        first[k + 1] = at;
        at += count;
    }
    for (int part = 0; part < PARTS; part++)
        for (int64_t i = 0; i < m->lists[part][bucket].count; i++)
            m->index->entry[first[m->lists[part][bucket].sorting[i].key + 1]++] =
                m->lists[part][bucket].entry[i];
}

static int sort(making *m, const grove_gridder_threads *threads)
{
    int64_t count = 0;

    for (int bucket = 0; bucket < BUCKETS; bucket++) {
        m->begin[bucket] = count;
        for (int part = 0; part < PARTS; part++) {
            if (m->lists[part][bucket].failed)
                return -1;
            count += m->lists[part][bucket].count;
        }
    }
    m->index->entry = malloc((size_t)(count + 1) * sizeof(*m->index->entry));
    m->index->first = calloc((size_t)keys_of(m->g) + 1, sizeof(*m->index->first));
    m->index->starts = calloc((size_t)keys_of(m->g), sizeof(*m->index->starts));
    if (!m->index->entry || !m->index->first || !m->index->starts)
        return -1;
    threads->run(threads->pool, BUCKETS, sort_bucket, m);
    return 0;
}

static int make_entries(making *m, const grove_gridder_threads *threads)
{
    threads->run(threads->pool, PARTS, scan_part, m);
    for (int part = 0; part < PARTS; part++) {
        m->index->outside.samples += m->outside[part].samples;
        m->index->outside.weight += m->outside[part].weight;
    }
    int code = sort(m, threads);
    for (int part = 0; part < PARTS; part++)
        for (int bucket = 0; bucket < BUCKETS; bucket++) {
            free(m->lists[part][bucket].entry);
            free(m->lists[part][bucket].sorting);
        }
    return code;
}

int grove_gridder_index_make(const grove_gridder *g, const grove_gridder_samples *samples,
                             const grove_gridder_threads *threads, grove_gridder_index *index)
{
    const int64_t room = samples->channels + GROVE_GRIDDER_LANES;
    making *m = calloc(1, sizeof(*m));

    *index = (grove_gridder_index){.wavenumber = calloc((size_t)room, sizeof(double))};
    if (!index->wavenumber || !m) {
        free(m);
        grove_gridder_index_free(index);
        return -1;
    }
    for (int64_t k = 0; k < samples->channels; k++)
        index->wavenumber[k] = samples->freq[k] / speed_of_light;
    m->g = g;
    m->samples = samples;
    m->index = index;
    int code = make_entries(m, threads);
    free(m);
    if (!code)
        code = list_tasks(g, index);
    if (code)
        grove_gridder_index_free(index);
    return code;
}

void grove_gridder_index_free(grove_gridder_index *index)
{
    free(index->entry);
    free(index->first);
    free(index->starts);
    free(index->task);
    free(index->wavenumber);
    *index = (grove_gridder_index){0};
}
