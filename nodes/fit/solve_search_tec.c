/* Start values of a delay and TEC together. A turn of phase in the middle of the band is a delay of
 * 1 / nu or TEC of 2 pi nu / 8.4e9, and both together may make up for each other but for the
 * curvature over the band. So each station gets the point of a grid of both at which all of its
 * baselines to stations that are done agree best. */
#include "nodes/fit/solve_search.h"

#include "util.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum {
    MIN_TECS = 64, /* to each side, of a quarter turn of phase each */
    MAX_TECS = 2048,
    DELAYS = 12, /* to each side, of an eighth of a turn */
    CLIMBS = 6,
    PASSES = 1 /* over all stations, after the first */
};

#define NEAR      0.7 /* of the best place of the grid: places above this are worth a climb */
#define LEAST_TEC 2.0 /* TECU to each side, at least */
#define BENT      2.0 /* rad: delays at other TEC are searched for anew beyond */

typedef struct {
    solve_spectra *w;
    int members;          /* delays of a station: for x and y, or one for both */
    double *delay[2];     /* [station] s */
    double *tec;          /* [station] TECU */
    double *by_tec;       /* [channels] rad for a TECU */
    double complex *z[2]; /* [channels] of a station: the sums of its baselines */
    double nu;            /* Hz, about the middle of the band */
    double step;          /* TECU: a quarter turn of phase there */
    double bend;          /* rad for a TECU that no delay makes up for, at the band's ends */
} pair;

typedef struct {
    double delay[2], tec, sum;
} place;

/* The sums of a station's baselines to stations that are done, turned by these stations' phases. */
static void gather(const pair *r, int64_t station, const bool *done)
{
    const solve_spectra *w = r->w;
    const grove_range *range = &w->tile->range[w->tile->baseline];
    const size_t n = (size_t)w->channels;

    for (int m = 0; m < r->members; m++)
        memset(r->z[m], 0, n * sizeof(*r->z[m]));
    for (int64_t b = 0; b < w->c->baselines; b++) {
        const int64_t p = range->axis->left[range->first + b],
                      q = range->axis->right[range->first + b], other = p == station ? q : p;
        if (p == q || (p != station && q != station) || !done[other])
            continue;
        for (int k = 0; k < SOLVE_CORRELATIONS; k += 3) {
            const double complex *sums = &w->sums[(size_t)(b * SOLVE_CORRELATIONS + k) * n];
            const int m = r->members == 2 ? k / 3 : 0;
            for (size_t j = 0; j < n; j++) {
                const double angle =
                    w->angle[j] * r->delay[m][other] + r->by_tec[j] * r->tec[other];
                r->z[m][j] +=
                    (p == station ? sums[j] : conj(sums[j])) * CMPLX(cos(angle), sin(angle));
            }
        }
    }
}

/* The best of the delays about `middle`, an eighth of a turn apart, and its sum. */
static double best_delay(const pair *r, int m, double middle, double tec, double *sum)
{
    const int64_t n = r->w->channels;
    const double step = 1 / (8 * r->nu), first = middle - DELAYS * step;
    double at = middle, sums[2 * DELAYS + 1] = {0};

    for (int64_t j = 0; j < n; j++) {
        const double angle = r->w->angle[j] * first + r->by_tec[j] * tec;
        const double by = r->w->angle[j] * step;
        double complex z = r->z[m][j] * CMPLX(cos(angle), -sin(angle));
        const double complex turn = CMPLX(cos(by), -sin(by));
        for (int i = 0; i <= 2 * DELAYS; i++) {
            sums[i] += creal(z);
            z = CMPLX(creal(z) * creal(turn) - cimag(z) * cimag(turn),
                      creal(z) * cimag(turn) + cimag(z) * creal(turn));
        }
    }
    *sum = -INFINITY;
    for (int i = 0; i <= 2 * DELAYS; i++)
        if (sums[i] > *sum) {
            *sum = sums[i];
            at = first + i * step;
        }
    return at;
}

/* The sum at a place, with its slopes and curvatures (of -sum) along delays, TEC and both. */
typedef struct {
    double sum, delay[2], tec, of_delay[2], of_both[2], of_tec;
} slopes;

static slopes slopes_at(const pair *r, const place *at)
{
    slopes to = {0};

    for (int m = 0; m < r->members; m++)
        for (int64_t j = 0; j < r->w->channels; j++) {
            const double x = r->w->angle[j], y = r->by_tec[j];
            const double angle = x * at->delay[m] + y * at->tec;
            const double complex z = r->z[m][j] * CMPLX(cos(angle), -sin(angle));
            to.sum += creal(z);
            to.delay[m] += cimag(z) * x;
            to.tec += cimag(z) * y;
            to.of_delay[m] += creal(z) * x * x;
            to.of_both[m] += creal(z) * x * y;
            to.of_tec += creal(z) * y * y;
        }
    return to;
}

/* Moves a place uphill by Newton's steps as far as these gain. */
static void climb(const pair *r, place *at)
{
    slopes here = slopes_at(r, at);

    at->sum = here.sum;
    for (int i = 0; i < CLIMBS; i++) {
        double slope = here.tec, curvature = here.of_tec;
        bool good = true;
        for (int m = 0; m < r->members; m++) {
            good = good && here.of_delay[m] > 0;
            slope -= here.of_both[m] * here.delay[m] / here.of_delay[m];
            curvature -= here.of_both[m] * here.of_both[m] / here.of_delay[m];
        }
        if (!good || !(curvature > 0))
            return;
        place next = {.tec = at->tec + slope / curvature};
        for (int m = 0; m < r->members; m++)
            next.delay[m] = at->delay[m] + (here.delay[m] - here.of_both[m] * slope / curvature) /
                                               here.of_delay[m];
        const slopes there = slopes_at(r, &next);
        if (!(there.sum > at->sum))
            return;
        here = there;
        *at = next;
        at->sum = there.sum;
    }
}

/* Delays by which a station's sums agree best at a TEC. */
static void find_peaks(const pair *r, double tec, double peak[2])
{
    const solve_spectra *w = r->w;
    double complex *to = &w->sums[w->c->baselines * SOLVE_CORRELATIONS * w->channels];

    for (int m = 0; m < r->members; m++) {
        for (int64_t j = 0; j < w->channels; j++)
            to[j] = r->z[m][j] * CMPLX(cos(r->by_tec[j] * tec), -sin(r->by_tec[j] * tec));
        peak[m] = solve_find_peak(w, w->c->baselines, 1);
    }
}

/* The best places of a grid of TEC for the sums that were gathered, `count` to each side of 0. */
static double fill_grid(const pair *r, int count, place *all)
{
    /* of delays that keep the slope in the middle of the band */
    const double slope = SOLVE_TEC_PHASE / (2 * M_PI * r->nu * r->nu);
    const int every = (int)fmax(1, fmin(count, BENT / (r->bend * r->step)));
    double peak[2], near = 0, most = 0;

    for (int i = -count; i <= count; i++) {
        place *at = &all[i + count];
        *at = (place){.tec = i * r->step};
        if ((i + count) % every == 0) {
            near = fmin(i + every / 2, count) * r->step;
            find_peaks(r, near, peak);
        }
        for (int m = 0; m < r->members; m++) {
            double sum;
            at->delay[m] = best_delay(r, m, peak[m] + slope * (at->tec - near), at->tec, &sum);
            at->sum += sum;
        }
        most = fmax(most, at->sum);
    }
    return most;
}

/* The best place of a station whose sums were gathered; of equally good ones the one of least
 * TEC. */
static place find_place(const pair *r)
{
    const int count = (int)fmin(fmax(MIN_TECS, LEAST_TEC / r->step), MAX_TECS);
    place *all = grove_alloc((size_t)(2 * count + 1) * sizeof(*all)), best = {.sum = -INFINITY};
    const double most = fill_grid(r, count, all);

    for (int i = 0; i <= 2 * count; i++) {
        place *at = &all[count + (i % 2 ? 1 : -1) * ((i + 1) / 2)];
        if (!(at->sum > NEAR * most))
            continue;
        climb(r, at);
        if (at->sum > best.sum + 1e-9 * most)
            best = *at;
    }
    free(all);
    return best;
}

static void set_station(const pair *r, int64_t station, const place *at)
{
    for (int m = 0; m < r->members; m++)
        r->delay[m][station] = at->delay[m];
    r->tec[station] = at->tec;
}

static void search_all(const pair *r)
{
    const solve_spectra *w = r->w;
    const grove_range *range = &w->tile->range[w->tile->baseline];
    const int64_t stations = w->tile->solve->stations;
    bool *done = grove_alloc((size_t)stations);
    double *strengths = grove_alloc(((size_t)w->c->baselines + 1) * sizeof(*strengths));

    for (int64_t b = 0; b < w->c->baselines; b++)
        strengths[b] = solve_strength(w, b, 9);
    int64_t b = solve_next_baseline(w, done, false, strengths);
    const int64_t first = b < 0 ? -1 : range->axis->left[range->first + b];
    if (b >= 0)
        done[first] = true;
    for (; b >= 0; b = solve_next_baseline(w, done, true, strengths)) {
        const int64_t p = range->axis->left[range->first + b],
                      q = range->axis->right[range->first + b], station = done[p] ? q : p;
        gather(r, station, done);
        const place at = find_place(r);
        set_station(r, station, &at);
        done[station] = true;
    }
    for (int64_t i = 0; i < PASSES * stations; i++) {
        const int64_t station = i % stations;
        if (!done[station] || station == first)
            continue;
        gather(r, station, done);
        place now = {{r->delay[0][station], r->delay[r->members - 1][station]}, r->tec[station], 0};
        climb(r, &now);
        const place at = find_place(r);
        set_station(r, station, at.sum > now.sum ? &at : &now);
    }
    free(done);
    free(strengths);
}

/* Turns all sums back by TEC; returns, for XX and YY, how much better they agree with the model
 * with the found values. */
static double turn_sums(const pair *r)
{
    const solve_spectra *w = r->w;
    const grove_range *range = &w->tile->range[w->tile->baseline];
    double better = 0;

    for (int64_t b = 0; b < w->c->baselines; b++) {
        const int64_t p = range->axis->left[range->first + b],
                      q = range->axis->right[range->first + b];
        for (int k = 0; k < SOLVE_CORRELATIONS; k++) {
            double complex *sums = &w->sums[(b * SOLVE_CORRELATIONS + k) * w->channels];
            const double *delay = r->delay[r->members == 2 ? k / 3 : 0];
            for (int64_t j = 0; j < w->channels; j++) {
                const double tec = r->by_tec[j] * (r->tec[p] - r->tec[q]);
                const double angle = w->angle[j] * (delay[p] - delay[q]);
                const double before = creal(sums[j]);
                sums[j] *= CMPLX(cos(tec), -sin(tec));
                better +=
                    k % 3 ? 0 : creal(sums[j]) * cos(angle) + cimag(sums[j]) * sin(angle) - before;
            }
        }
    }
    return better;
}

bool solve_finds_pair(const solve *s, int *delay, int *tec)
{
    int found[2] = {0};
    bool phases = false;

    for (int i = 0; i < s->parm_count; i++) {
        const char *jones = grove_node_text(s->parms[i].leaf, "jones");
        bool is_tec;
        phases = phases || !strcmp(jones, "phase");
        if (!solve_is_searched(s, i, &is_tec))
            continue;
        *(is_tec ? tec : delay) = i;
        found[is_tec]++;
    }
    return found[0] == 1 && found[1] == 1 && !phases;
}

void solve_search_pair(solve_spectra *w, int delay, int tec, double *x)
{
    const solve *s = w->tile->solve;
    const size_t n = (size_t)s->stations, channels = (size_t)w->channels;
    double *found = grove_alloc(4 * n * sizeof(*found)), *by_tec = NULL;
    double low = w->freq[0], high = low;
    double complex *z = grove_alloc(2 * channels * sizeof(*z));
    pair r = {.w = w,
              .members = s->parms[delay].parm->members,
              .delay = {found, found + n},
              .tec = found + 2 * n,
              .z = {z, z + channels}};

    by_tec = grove_alloc(channels * sizeof(*by_tec));
    r.by_tec = by_tec;
    solve_set_grid(w, false);
    for (size_t j = 0; j < channels; j++) {
        by_tec[j] = SOLVE_TEC_PHASE / w->freq[j];
        r.nu += w->freq[j] / (double)channels;
        low = fmin(low, w->freq[j]);
        high = fmax(high, w->freq[j]);
    }
    r.step = M_PI / 2 * r.nu / fabs(SOLVE_TEC_PHASE);
    r.bend = fabs(SOLVE_TEC_PHASE) * (high - low) * (high - low) / 4 / (r.nu * r.nu * r.nu);
    search_all(&r);
    if (turn_sums(&r) > 0) {
        double *none = found + 3 * n;
        if (r.members == 2)
            solve_search_between(w, false, r.delay[0], r.delay[1], none, none);
        for (int m = 0; m < r.members; m++)
            solve_add_to_parm(s, w->d, delay, m, r.delay[m], x);
        solve_add_to_parm(s, w->d, tec, 0, r.tec, x);
    }
    free(by_tec);
    free(z);
    free(found);
}
