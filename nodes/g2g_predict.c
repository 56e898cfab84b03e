/* How many entries a diagonal has, before it is made. */
#include "nodes/g2g.h"

#include "base/error.h"
#include "base/hash.h"
#include "base/memory.h"
#include "io/coordinates.h"

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

/* A share that the observation tells of its rows; 1: all. */
static double share_of(const grove_node *obs, const char *name)
{
    const char *share = grove_node_property(obs, name);

    return share ? strtod(share, NULL) : 1;
}

/* Slots of the observation: as many as the baseline with most rows has, at even distances. Where
 * times of baselines differ, those of one slot stand for their neighbours'. Others then have more
 * than there are, and no fewer entries. */
static int64_t pick_slots(const grove_axis *time, double share, double *at)
{
    int64_t count = 0;

    for (int64_t t = 0; t < time->size; t++)
        if (floor((double)(t + 1) * share) > floor((double)t * share) || t + 1 == time->size)
            at[count++] = time->centre[t];
    return count;
}

/* All that the count depends on. */
static grove_hash hash_of(const grove_lattice *l, const double longest[3], const grove_axis *time,
                          const grove_axis *baseline, const grove_axis *freq,
                          const double *position, int64_t stations, const double *centre,
                          double share)
{
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
    h = grove_hash_add(h, position, (size_t)stations * 3 * sizeof(double));
    h = grove_hash_number(h, share);
    return grove_hash_add(h, centre, 2 * sizeof(double));
}

/* Baselines of so many times. */
static int find_uvw(const double *time, const grove_axis *baseline, const double *position,
                    int64_t stations, const double *centre, int64_t count, double *station,
                    double *uvw)
{
    const grove_earth earth = {0};
    grove_error *error = grove_error_new();
    int code = grove_station_uvw(time, count, position, stations, position, centre, &earth, station,
                                 NULL, error);

    for (int64_t t = 0; t < count && !code; t++, station += 3 * stations)
        for (int64_t b = 0; b < baseline->size; b++)
            for (int d = 0; d < 3; d++)
                *uvw++ = station[3 * (int64_t)baseline->left[b] + d] -
                         station[3 * (int64_t)baseline->right[b] + d];
    grove_error_free(error);
    return code;
}

static int count_all(const grove_lattice *l, const double longest[3], const double *slot,
                     int64_t slots, const grove_axis *baseline, const grove_axis *freq,
                     const double *position, int64_t stations, const double *centre, g2g_size *size)
{
    const int64_t each = baseline->size * freq->size, times = each < SAMPLES ? SAMPLES / each : 1;
    const grove_gridder_threads threads = {run_in_order, NULL};
    double *uvw = grove_alloc((size_t)(times * baseline->size * 3 + 1) * sizeof(*uvw)),
           *station = grove_alloc((size_t)(times * stations * 3 + 1) * sizeof(*station));
    grove_gridder_outside outside = {0};
    grove_diagonal *d = grove_diagonal_new(l, MOST);
    int code = d ? 0 : GROVE_NO_MEMORY;

    for (int64_t first = 0; first < slots && !code; first += times) {
        const int64_t count = slots - first < times ? slots - first : times;
        const grove_gridder_samples samples = {.rows = count * baseline->size,
                                               .channels = freq->size,
                                               .uvw = uvw,
                                               .freq = freq->centre,
                                               .longest = longest};
        code = find_uvw(slot + first, baseline, position, stations, centre, count, station, uvw);
        code = code ? code : grove_diagonal_add(d, &samples, NULL, &threads, &outside);
    }
    if (!code)
        *size =
            (g2g_size){(double)grove_diagonal_samples(d), (double)grove_diagonal_count(d), true};
    grove_diagonal_free(d);
    free(uvw);
    free(station);
    return code;
}

g2g_size g2g_predict(const grove_node *obs, const grove_lattice *lattice, const double longest[3])
{
    static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
    static grove_hash last_of; /* a check asks for the same more than once */
    static g2g_size last;
    const grove_axis *time = grove_node_axis(obs, "time"),
                     *baseline = grove_node_axis(obs, "baseline"),
                     *freq = grove_node_axis(obs, "freq"),
                     *station = grove_node_axis(obs, "station");
    const double *position = grove_node_member_data(obs, "position"),
                 *centre = grove_node_member_data(obs, "phase_centre");
    grove_lattice one = *lattice;
    g2g_size size = {0};

    for (int k = 0; k < 3; k++) {
        const grove_axis *axis = k == 0 ? time : k == 1 ? baseline : freq;
        size.samples = (k ? size.samples : 1) * (axis ? (double)axis->size : 1);
    }
    size.samples *= share_of(obs, "rows_share");
    size.entries = size.samples;
    if (!time || time->size < 1 || !time->centre || !baseline || !baseline->size ||
        !baseline->left || !station || !freq || !freq->centre || !position || !centre)
        return size;
    one.plan.functions = 1;
    one.plan.double_precision = true;
    if (!grove_lattice_make(&one.plan, &one))
        return size;
    const double share = share_of(obs, "fullest_baseline"), rows = share_of(obs, "rows_share");
    const grove_hash of =
        hash_of(&one, longest, time, baseline, freq, position, station->size, centre, share);
    pthread_mutex_lock(&lock);
    if (!last.known || !grove_hash_equal(of, last_of)) {
        double *slot = grove_alloc((size_t)(time->size + 1) * sizeof(*slot));
        const int64_t slots = pick_slots(time, share, slot);
        last.known = false;
        count_all(&one, longest, slot, slots, baseline, freq, position, station->size, centre,
                  &last);
        last.samples *= rows * (double)time->size / (double)slots;
        last_of = of;
        free(slot);
    }
    if (last.known)
        size = (g2g_size){last.samples, fmin(last.entries, size.samples), true};
    pthread_mutex_unlock(&lock);
    return size;
}
