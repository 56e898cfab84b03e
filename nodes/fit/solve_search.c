/* Start values of delays and TEC: chi-squared has many minima, so that they are searched for first,
 * station by station along the strongest baselines: where the sum over channels of data times the
 * conjugate of the model, turned back by the delay, is largest. */
#include "nodes/fit/solve_search.h"

#include "util.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Of the search for delays that baselines leave open. */
enum { ALIASES = 1, LOBES = 3, PASSES = 2 };
enum { OVERSAMPLING = 8, REFINEMENTS = 40, MAX_GRID = 20000 };

typedef solve_spectra search;

/* sum w conj(V) d of one correlation, from the normal equations of the group's own terms. */
static double complex correlate(const solve *s, const double *sums, const double complex *left,
                                const double complex *right, int correlation)
{
    int groups = s->group_count, of_left = correlation / 2 * 3, of_right = correlation % 2 * 3;
    double complex l[GROVE_MAX_GROUPS * 4] = {0}, r[GROVE_MAX_GROUPS * 4] = {0}, sum = 0;
    double complex normal[GROVE_MAX_GROUPS * GROVE_MAX_GROUPS] = {0};
    double complex gradient[GROVE_MAX_GROUPS] = {0};
    grove_compression_column column[GROVE_MAX_GROUPS] = {{0}};

    for (int g = 0; g < groups; g++) {
        l[4 * g + of_left] = left[4 * g + of_left];
        r[4 * g + of_right] = right[4 * g + of_right];
        column[g] = (grove_compression_column){.group = g, .side = 'p'};
        column[g].matrix[of_left] = l[4 * g + of_left];
    }
    grove_compression_normal(s->form, groups, sums, l, r, column, groups, normal, gradient);
    for (int g = 0; g < groups; g++) {
        sum += gradient[g];
        for (int h = 0; h < groups; h++)
            sum += normal[g * groups + h];
    }
    return sum;
}

static void add_sums(search *w)
{
    const solve *s = w->tile->solve;
    const grove_range *range = &w->tile->range[w->tile->baseline];
    int64_t t[2], stretch = 0;

    solve_stretches(s, w->d, SOLVE_TIME, t);
    for (int64_t i = t[0]; i < t[1]; i++)
        for (int64_t j = 0; j < w->channels; j++, stretch++)
            for (int64_t b = 0; b < w->c->baselines; b++) {
                int64_t p = range->axis->left[range->first + b],
                        q = range->axis->right[range->first + b];
                const double *sums = solve_sums_at(w->c, i, w->f[0] + j, b);
                if (p == q || !(grove_compression_count(sums) > 0))
                    continue;
                for (int k = 0; k < SOLVE_CORRELATIONS; k++)
                    w->sums[(b * SOLVE_CORRELATIONS + k) * w->channels + j] +=
                        correlate(s, sums, solve_jones_at(s, w->d->jones, stretch, p, 0),
                                  solve_jones_at(s, w->d->jones, stretch, q, 1), k);
            }
}

/* ---- one baseline ---- */

/* The sum over channels, turned back by `x`. */
static double complex turned(const search *w, int64_t baseline, int correlation, double x)
{
    const double complex *sums =
        &w->sums[(baseline * SOLVE_CORRELATIONS + correlation) * w->channels];
    double complex sum = 0;

    for (int64_t j = 0; j < w->channels; j++)
        sum += sums[j] * CMPLX(cos(w->angle[j] * x), -sin(w->angle[j] * x));
    return sum;
}

/* `correlations`: bits of the correlations that share the unknown. */
static double power_at(const search *w, int64_t baseline, unsigned correlations, double x)
{
    double power = 0;

    for (int k = 0; k < SOLVE_CORRELATIONS; k++)
        if (correlations >> k & 1) {
            double complex sum = turned(w, baseline, k, x);
            power += creal(sum * conj(sum));
        }
    return power;
}

static double refine(const search *w, int64_t baseline, unsigned correlations, double x)
{
    double low = x - w->step, high = x + w->step;

    for (int i = 0; i < REFINEMENTS; i++) {
        double third = (high - low) / 3;
        if (power_at(w, baseline, correlations, low + third) <
            power_at(w, baseline, correlations, high - third))
            low += third;
        else
            high -= third;
    }
    return (low + high) / 2;
}

/* The power of one correlation at all points of the grid is added to `power`. The factor that turns
 * each channel follows from the point before. */
static void add_powers(const search *w, int64_t baseline, int correlation, int64_t count,
                       double *power)
{
    const double complex *sums =
        &w->sums[(baseline * SOLVE_CORRELATIONS + correlation) * w->channels];
    size_t n = (size_t)w->channels;
    double complex *turned_ = grove_alloc(2 * n * sizeof(*turned_)), *turn = turned_ + n;

    for (int64_t i = -count; i <= count; i++) {
        bool anew = (i + count) % 256 == 0;
        double complex sum = 0;
        for (size_t j = 0; j < n; j++) {
            double angle = w->angle[j] * w->step;
            if (anew) {
                turned_[j] = sums[j] * CMPLX(cos(angle * (double)i), -sin(angle * (double)i));
                turn[j] = CMPLX(cos(angle), -sin(angle));
            }
            sum += turned_[j];
            turned_[j] =
                CMPLX(creal(turned_[j]) * creal(turn[j]) - cimag(turned_[j]) * cimag(turn[j]),
                      creal(turned_[j]) * cimag(turn[j]) + cimag(turned_[j]) * creal(turn[j]));
        }
        power[i + count] += creal(sum * conj(sum));
    }
    free(turned_);
}

double solve_find_peak(const search *w, int64_t baseline, unsigned correlations)
{
    int64_t count = (int64_t)(w->range / w->step), best = 0;
    double *power = grove_alloc((size_t)(2 * count + 1) * sizeof(*power));

    for (int k = 0; k < SOLVE_CORRELATIONS; k++)
        if (correlations >> k & 1)
            add_powers(w, baseline, k, count, power);
    for (int64_t i = 0; i < 2 * count + 1; i++)
        best = power[i] > power[best] ? i : best;
    free(power);
    return refine(w, baseline, correlations, (double)(best - count) * w->step);
}

/* Where phases are not fitted, the turn nearest to the peak that makes the sum real. */
static double find_lobe(const search *w, int64_t baseline, unsigned correlations, double x)
{
    double mean = 0, best = -INFINITY, at = x;

    for (int64_t j = 0; j < w->channels; j++)
        mean += w->angle[j] / (double)w->channels;
    for (int k = 0; k < SOLVE_CORRELATIONS; k++) {
        if (!(correlations >> k & 1))
            continue;
        double near = x + carg(turned(w, baseline, k, x)) / mean, real = 0;
        for (int l = 0; l < SOLVE_CORRELATIONS; l++)
            real += correlations >> l & 1 ? creal(turned(w, baseline, l, near)) : 0;
        if (real > best) {
            best = real;
            at = near;
        }
    }
    return at;
}

/* ---- all stations ---- */

double solve_strength(const search *w, int64_t baseline, unsigned correlations)
{
    double sum = 0;

    for (int k = 0; k < SOLVE_CORRELATIONS; k++)
        for (int64_t j = 0; j < w->channels; j++)
            sum += correlations >> k & 1
                       ? cabs(w->sums[(baseline * SOLVE_CORRELATIONS + k) * w->channels + j])
                       : 0;
    return sum;
}

int64_t solve_next_baseline(const search *w, const bool *done, bool any, const double *strengths)
{
    const grove_range *range = &w->tile->range[w->tile->baseline];
    int64_t best = -1;
    double most = 0;

    for (int64_t b = 0; b < w->c->baselines; b++) {
        int64_t p = range->axis->left[range->first + b], q = range->axis->right[range->first + b];
        bool fits = any ? done[p] != done[q] : p != q;
        double here = fits ? strengths[b] : 0;
        if (here > most) {
            most = here;
            best = b;
        }
    }
    return best;
}

/* ---- ambiguity by the spacing of channels ---- */

/* By how much a delay may change without changing the phases from channel to channel; 0: the
 * channels are not that regular. */
static double alias_of(const search *w, bool tec)
{
    double width = w->channels > 1 ? fabs(w->freq[1] - w->freq[0]) : 0;

    for (int64_t j = 1; j < w->channels && !tec; j++)
        if (fabs(fabs(w->freq[j] - w->freq[j - 1]) - width) > 1e-6 * width)
            width = 0;
    return tec || width == 0 ? 0 : 1 / width;
}

/* The sums of a station's baselines, turned by the delays of the others, in place of the last
 * baseline's sums: turned back by its own delay they are real. */
static void gather_station(const search *w, unsigned correlations, int64_t station,
                           const bool *done, const double *found)
{
    const grove_range *range = &w->tile->range[w->tile->baseline];
    double complex *to = &w->sums[w->c->baselines * SOLVE_CORRELATIONS * w->channels];

    memset(to, 0, (size_t)w->channels * sizeof(*to));
    for (int64_t b = 0; b < w->c->baselines; b++) {
        int64_t p = range->axis->left[range->first + b], q = range->axis->right[range->first + b];
        if (p == q || (p != station && q != station) || !done[p == station ? q : p])
            continue;
        double other = found[p == station ? q : p];
        for (int k = 0; k < SOLVE_CORRELATIONS; k++) {
            const double complex *sums = &w->sums[(b * SOLVE_CORRELATIONS + k) * w->channels];
            for (int64_t j = 0; j < w->channels && correlations >> k & 1; j++)
                to[j] += (p == station ? sums[j] : conj(sums[j])) *
                         CMPLX(cos(w->angle[j] * other), sin(w->angle[j] * other));
        }
    }
}

/* Where the station's sum is largest: near x, up to multiples of `alias` and of the time of a turn
 * of phase; of equally good places that nearest to 0. */
static double best_place(const search *w, double x, double alias, double turn)
{
    double best = -INFINITY, at = x;

    for (int m = -ALIASES; m <= ALIASES; m++)
        for (int l = -LOBES; l <= LOBES; l++) {
            double y = x + m * alias + l * turn;
            y += carg(turned(w, w->c->baselines, 0, y)) * turn / (2 * M_PI);
            double sum = creal(turned(w, w->c->baselines, 0, y));
            bool equal = isfinite(best) && fabs(sum - best) <= 1e-7 * fabs(best);
            if (equal ? fabs(y) < fabs(at) : sum > best) {
                best = sum;
                at = y;
            }
        }
    return at;
}

/* Delays of baselines are found up to multiples of `alias`: moves a station's delay to where all of
 * its baselines to stations that are done agree best. */
static void move_station(const search *w, unsigned correlations, double alias, int64_t station,
                         const bool *done, double *found)
{
    double mean = 0;

    for (int64_t j = 0; j < w->channels; j++)
        mean += w->angle[j] / (double)w->channels;
    gather_station(w, correlations, station, done, found);
    found[station] = best_place(w, found[station], alias, 2 * M_PI / mean);
}

/* Where phases are fitted, too, all are equally good. */
static void move_nearest(const search *w, double alias, double *found, double *phase)
{
    for (int64_t a = 0; a < w->tile->solve->stations; a++) {
        double x = remainder(found[a], alias);
        phase[a] += w->angle[0] * (found[a] - x);
        found[a] = x;
    }
}

/* found: [stations] the unknowns; phase: [stations] the rest of the phase, where it is fitted. */
static void search_stations(const search *w, unsigned correlations, bool phases, double alias,
                            double *found, double *phase)
{
    const solve *s = w->tile->solve;
    const grove_range *range = &w->tile->range[w->tile->baseline];
    bool *done = grove_alloc((size_t)s->stations);
    double *strengths = grove_alloc(((size_t)w->c->baselines + 1) * sizeof(*strengths));

    for (int64_t b = 0; b < w->c->baselines; b++)
        strengths[b] = solve_strength(w, b, correlations);
    int64_t b = solve_next_baseline(w, done, false, strengths);

    if (b >= 0)
        done[range->axis->left[range->first + b]] = true;
    for (; b >= 0; b = solve_next_baseline(w, done, true, strengths)) {
        int64_t p = range->axis->left[range->first + b], q = range->axis->right[range->first + b];
        int64_t from = done[p] ? p : q, to = done[p] ? q : p;
        int k = correlations & 1 ? 0 : 3;
        double sign = to == p ? 1 : -1, x = solve_find_peak(w, b, correlations);
        if (!phases)
            x = find_lobe(w, b, correlations, x);
        found[to] = found[from] + sign * x;
        phase[to] = phase[from] + sign * carg(turned(w, b, k, x));
        if (!phases && alias > 0)
            move_station(w, correlations, alias, to, done, found);
        done[to] = true;
    }
    for (int64_t i = 0; i < PASSES * s->stations && !phases && alias > 0; i++)
        if (done[i % s->stations] && found[i % s->stations] != 0)
            move_station(w, correlations, alias, i % s->stations, done, found);
    if (phases && alias > 0)
        move_nearest(w, alias, found, phase);
    free(done);
    free(strengths);
}

/* ---- the domain ---- */

bool solve_is_searched(const solve *s, int parm, bool *tec)
{
    const grove_parm *p = s->parms[parm].parm;
    const char *jones = grove_node_text(s->parms[parm].leaf, "jones");

    *tec = !strcmp(jones, "tec");
    return (*tec || !strcmp(jones, "delay")) && p->station && !p->source && p->time.terms == 1 &&
           p->freq.terms == 1;
}

int solve_searched(const solve *s)
{
    int found = 0;
    bool tec;

    for (int i = 0; i < s->parm_count; i++)
        found += solve_is_searched(s, i, &tec);
    return s->group_count && s->each[SOLVE_FREQ] ? found : 0;
}

/* The parm of phases of the same domain; -1: none. */
static int find_phases(const solve *s)
{
    for (int i = 0; i < s->parm_count; i++) {
        const grove_parm *p = s->parms[i].parm;
        if (!strcmp(grove_node_text(s->parms[i].leaf, "jones"), "phase") && p->station &&
            !p->source && p->time.terms == 1 && p->freq.terms == 1)
            return i;
    }
    return -1;
}

void solve_add_to_parm(const solve *s, const solve_domain *d, int parm, int member,
                       const double *found, double *x)
{
    int64_t intervals = solve_intervals(s, d, parm, SOLVE_TIME).count *
                        solve_intervals(s, d, parm, SOLVE_FREQ).count;

    int64_t stations = s->parms[parm].parm->station->size;

    for (int64_t a = 0; a < s->stations; a++)
        for (int64_t i = 0; i < intervals; i++)
            x[d->base[parm] + (member * stations + a) * intervals + i] += found[a];
}

void solve_set_grid(search *w, bool tec)
{
    double low = w->freq[0], high = low, width = INFINITY;

    for (int64_t j = 0; j < w->channels; j++) {
        w->angle[j] = tec ? SOLVE_TEC_PHASE / w->freq[j] : 2 * M_PI * w->freq[j];
        low = fmin(low, w->freq[j]);
        high = fmax(high, w->freq[j]);
        if (j)
            width = fmin(width, fabs(w->freq[j] - w->freq[j - 1]));
    }
    /* A turn over the whole band; and from one channel to the next. */
    double turn = tec ? -2 * M_PI / SOLVE_TEC_PHASE / (1 / low - 1 / high) : 1 / (high - low);
    w->step = turn / OVERSAMPLING;
    w->range = tec ? -M_PI / SOLVE_TEC_PHASE * low * low / width : 0.5 / width;
    w->range = fmin(w->range, MAX_GRID / 2 * w->step);
}

void solve_search_between(const search *w, bool phases, const double *x, double *y,
                          const double *phase_x, double *phase_y)
{
    const solve *s = w->tile->solve;
    const grove_range *range = &w->tile->range[w->tile->baseline];
    int64_t all = w->c->baselines;
    double complex *to = &w->sums[all * SOLVE_CORRELATIONS * w->channels];
    double power = 0, whole = 0;

    memset(to, 0, (size_t)(SOLVE_CORRELATIONS * w->channels) * sizeof(*to));
    for (int64_t b = 0; b < all; b++) {
        int64_t p = range->axis->left[range->first + b], q = range->axis->right[range->first + b];
        const double complex *sums = &w->sums[b * SOLVE_CORRELATIONS * w->channels];
        for (int64_t j = 0; j < w->channels; j++) {
            double xy = w->angle[j] * (x[p] - y[q]) + phase_x[p] - phase_y[q],
                   yx = w->angle[j] * (y[p] - x[q]) + phase_y[p] - phase_x[q];
            to[j] += sums[w->channels + j] * CMPLX(cos(xy), -sin(xy)) +
                     conj(sums[2 * w->channels + j] * CMPLX(cos(yx), -sin(yx)));
            whole += cabs(sums[j]) + cabs(sums[3 * w->channels + j]);
            power += cabs(sums[w->channels + j]) + cabs(sums[2 * w->channels + j]);
        }
    }
    if (!(power > 1e-9 * whole))
        return;
    double delay = solve_find_peak(w, all, 1);
    if (!phases)
        delay = find_lobe(w, all, 1, delay);
    double phase = phases ? carg(turned(w, all, 0, delay)) : 0;
    for (int64_t a = 0; a < s->stations; a++) {
        y[a] -= delay;
        phase_y[a] -= phase;
    }
}

/* The sum of w Re(conj(V) d) with these changes: the larger, the smaller chi^2. */
static double gain_of(const search *w, const double *x, const double *y, const double *phase_x,
                      const double *phase_y)
{
    const grove_range *range = &w->tile->range[w->tile->baseline];
    double sum = 0;

    for (int64_t b = 0; b < w->c->baselines; b++) {
        int64_t p = range->axis->left[range->first + b], q = range->axis->right[range->first + b];
        for (int k = 0; k < SOLVE_CORRELATIONS; k++) {
            double by = (k / 2 ? y : x)[p] - (k % 2 ? y : x)[q];
            double phase = (k / 2 ? phase_y : phase_x)[p] - (k % 2 ? phase_y : phase_x)[q];
            const double complex *sums = &w->sums[(b * SOLVE_CORRELATIONS + k) * w->channels];
            for (int64_t j = 0; j < w->channels; j++) {
                double angle = w->angle[j] * by + phase;
                sum += creal(sums[j]) * cos(angle) + cimag(sums[j]) * sin(angle);
            }
        }
    }
    return sum;
}

static void search_parm(search *w, int parm, bool tec, double *x)
{
    const solve *s = w->tile->solve;
    size_t n = (size_t)s->stations;
    int phases = find_phases(s), members = s->parms[parm].parm->members;
    double *found = grove_alloc(4 * n * sizeof(*found)), *phase = found + 2 * n;

    solve_set_grid(w, tec);
    double alias = alias_of(w, tec);
    for (int m = 0; m < members; m++) {
        unsigned correlations = tec ? 9 : m ? 8 : 1;
        search_stations(w, correlations, phases >= 0, alias, found + (size_t)m * n,
                        phase + (size_t)m * n);
    }
    if (members == 2)
        solve_search_between(w, phases >= 0, found, found + n, phase, phase + n);
    double *none = grove_alloc(n * sizeof(*none)), *y = members == 2 ? found + n : found,
           *phase_y = members == 2 ? phase + n : phase;
    bool better = gain_of(w, found, y, phase, phase_y) > gain_of(w, none, none, none, none);
    free(none);
    for (int m = 0; m < members && better; m++)
        solve_add_to_parm(s, w->d, parm, m, found + (size_t)m * n, x);
    for (int m = 0; m < 2 && phases >= 0 && better; m++)
        solve_add_to_parm(s, w->d, phases, m, phase + (members == 2 ? (size_t)m * n : 0), x);
    free(found);
}

bool solve_search(const solve_tile *tile, solve_domain *d, double *x)
{
    const solve *s = tile->solve;
    const solve_compressed *c = tile->sums;
    search w = {.tile = tile, .c = c, .d = d};
    int delay, of_tec;
    bool tec;

    solve_stretches(s, d, SOLVE_FREQ, w.f);
    w.channels = w.f[1] - w.f[0];
    if (w.channels < 2)
        return false;
    w.freq = s->cut[SOLVE_FREQ].axis->centre + w.f[0];
    w.angle = grove_alloc((size_t)w.channels * sizeof(*w.angle));
    w.sums = grove_alloc((size_t)((c->baselines + 1) * SOLVE_CORRELATIONS * w.channels) *
                         sizeof(*w.sums));
    add_sums(&w);
    if (solve_finds_pair(s, &delay, &of_tec))
        solve_search_pair(&w, delay, of_tec, x);
    else
        for (int i = 0; i < s->parm_count; i++)
            if (solve_is_searched(s, i, &tec)) {
                search_parm(&w, i, tec, x);
                break; /* the sums are of the start */
            }
    free(w.angle);
    free(w.sums);
    return true;
}
