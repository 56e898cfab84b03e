/* How many entries a diagonal has, before it is made. */
#include "nodes/imaging/g2g.h"

#include "facts.h"
#include "nodes/common/coordinates.h"
#include "unstable/fit.h"
#include "unstable/hash.h"
#include "util.h"

#include <math.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

enum { SAMPLES = 1 << 19 /* at once */, MOST = 1 << 20 /* entries that are counted one by one */ };

static void run_in_order(void *pool, int64_t count, void (*fn)(void *, int64_t), void *context)
{
    (void)pool;
    for (int64_t i = 0; i < count; i++)
        fn(context, i);
}

/* An observation, and the rows that it has. */
typedef struct {
    const grove_node *obs;
    const grove_axis *time, *baseline, *freq;
    const double *position, *centre;
    int64_t stations;
    bool full; /* no row is missing */
} rows;

/* Rows that are missing at `count` times: missing[time][baseline]. */
static void find_missing(const rows *r, int64_t first, int64_t count, unsigned char *missing)
{
    if (r->full || !grove_node_find_missing(r->obs, first, count, missing))
        memset(missing, 0, (size_t)(count * r->baseline->size));
}

static int64_t times_of(const rows *r)
{
    const int64_t each = r->baseline->size * r->freq->size;

    return each < SAMPLES ? SAMPLES / each : 1;
}

static grove_hash hash_rows(grove_hash h, const rows *r)
{
    const int64_t times = times_of(r), baselines = r->baseline->size;
    unsigned char *missing = grove_alloc((size_t)(times * baselines + 1));

    for (int64_t first = 0; first < r->time->size && !r->full; first += times) {
        const int64_t left = r->time->size - first, count = left < times ? left : times;
        find_missing(r, first, count, missing);
        h = grove_hash_add(h, missing, (size_t)(count * baselines));
    }
    free(missing);
    return h;
}

/* All that the count depends on. */
static grove_hash hash_of(const grove_lattice *l, const double longest[3], const rows *r)
{
    const grove_axis *time = r->time, *baseline = r->baseline, *freq = r->freq;
    grove_hash h = grove_hash_add(grove_hash_start(), longest, 3 * sizeof(double));

    h = grove_hash_add(h, l->plan.grid, sizeof(l->plan.grid));
    h = grove_hash_add(h, l->plan.scale, sizeof(l->plan.scale));
    h = grove_hash_integer(h, l->plan.support);
    h = grove_hash_integer(h, l->plan.oversampling);
    h = grove_hash_integer(h, l->plan.planes);
    h = grove_hash_number(h, l->plan.step_w);
    h = grove_hash_add(h, time->centre, (size_t)time->size * sizeof(double));
    h = grove_hash_add(h, freq->centre, (size_t)freq->size * sizeof(double));
    h = grove_hash_add(h, baseline->left, (size_t)baseline->size * sizeof(*baseline->left));
    h = grove_hash_add(h, baseline->right, (size_t)baseline->size * sizeof(*baseline->right));
    h = grove_hash_add(h, r->position, (size_t)r->stations * 3 * sizeof(double));
    return hash_rows(grove_hash_add(h, r->centre, 2 * sizeof(double)), r);
}

/* Coordinates of the rows of `count` times; returns their number, or -1 where they cannot be
 * found. */
static int64_t find_uvw(const rows *r, int64_t first, int64_t count, const unsigned char *missing,
                        double *station, double *uvw)
{
    const grove_axis *baseline = r->baseline;
    const grove_earth earth = {0};
    grove_error *error = grove_error_new();
    int64_t found = 0;
    int code = grove_station_uvw(r->time->centre + first, count, r->position, r->stations,
                                 r->position, r->centre, &earth, station, NULL, error);

    for (int64_t t = 0; t < count && !code; t++, station += 3 * r->stations)
        for (int64_t b = 0; b < baseline->size; b++) {
            if (missing[t * baseline->size + b])
                continue;
            for (int d = 0; d < 3; d++)
                uvw[3 * found + d] = station[3 * (int64_t)baseline->left[b] + d] -
                                     station[3 * (int64_t)baseline->right[b] + d];
            found++;
        }
    grove_error_free(error);
    return code ? -1 : found;
}

static void count_all(const grove_lattice *l, const double longest[3], const rows *r,
                      g2g_size *size)
{
    const int64_t times = times_of(r);
    const size_t most = (size_t)(times * r->baseline->size);
    const grove_gridder_threads threads = {run_in_order, NULL};
    unsigned char *missing = grove_alloc(most + 1);
    double *uvw = grove_alloc((3 * most + 1) * sizeof(*uvw)),
           *station = grove_alloc((size_t)(times * r->stations * 3 + 1) * sizeof(*station));
    grove_gridder_outside outside = {0};
    grove_diagonal *d = grove_diagonal_new(l, MOST);
    bool good = d != NULL;

    for (int64_t first = 0; first < r->time->size && good; first += times) {
        const int64_t left = r->time->size - first, count = left < times ? left : times;
        find_missing(r, first, count, missing);
        const grove_gridder_samples samples = {.rows =
                                                   find_uvw(r, first, count, missing, station, uvw),
                                               .channels = r->freq->size,
                                               .uvw = uvw,
                                               .freq = r->freq->centre,
                                               .longest = longest};
        good = samples.rows >= 0 &&
               (samples.rows == 0 || !grove_diagonal_add(d, &samples, NULL, &threads, &outside));
    }
    if (good)
        *size =
            (g2g_size){(double)grove_diagonal_samples(d), (double)grove_diagonal_count(d), true};
    grove_diagonal_free(d);
    free(missing);
    free(uvw);
    free(station);
}

g2g_size g2g_predict(const grove_node *obs, const grove_lattice *lattice, const double longest[3])
{
    static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
    static grove_hash last_hash; /* a check asks for the same more than once */
    static g2g_size last;
    const grove_axis *station = grove_node_axis(obs, "station");
    const double share = grove_node_observation(obs)->rows_share;
    const rows r = {.obs = obs,
                    .time = grove_node_axis(obs, "time"),
                    .baseline = grove_node_axis(obs, "baseline"),
                    .freq = grove_node_axis(obs, "freq"),
                    .position = grove_node_member_data(obs, "position"),
                    .centre = grove_node_member_data(obs, "phase_centre"),
                    .stations = station ? station->size : 0,
                    .full = share >= 1};
    const grove_axis *axes[3] = {r.time, r.baseline, r.freq};
    grove_lattice one = *lattice;
    g2g_size size = {.samples = share};

    for (int k = 0; k < 3; k++)
        size.samples *= axes[k] ? (double)axes[k]->size : 1;
    size.entries = size.samples;
    if (!r.time || !r.time->centre || !r.baseline || !r.baseline->size || !r.baseline->left ||
        !station || !r.freq || !r.freq->centre || !r.position || !r.centre)
        return size;
    one.plan.functions = 1;
    one.plan.double_precision = true;
    if (!grove_lattice_make(&one.plan, &one))
        return size;
    const grove_hash hash = hash_of(&one, longest, &r);
    pthread_mutex_lock(&lock);
    if (!last.known || !grove_hash_equal(hash, last_hash)) {
        last.known = false;
        count_all(&one, longest, &r, &last);
        last_hash = hash;
    }
    size = last.known ? last : size;
    pthread_mutex_unlock(&lock);
    return size;
}
