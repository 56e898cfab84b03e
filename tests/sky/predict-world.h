/* A random sky, array and Jones terms for sums over sources, and the long double sum of them. */
#ifndef GROVE_TESTS_PREDICT_WORLD_H
#define GROVE_TESTS_PREDICT_WORLD_H

#include "cell.h"

#include "../kernels/simd/isa.h"
#include "../kernels/sky/predict.h"

#include <complex.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_SOURCES = 600, STATIONS = 7, MAX_BASELINES = 140, MAX_CHANNELS = 200 };
/* The axes along which Jones terms vary, beside the channel and (except the last) the time. */
enum { NO_JONES, STATION_JONES, SOURCE_JONES, APPARENT_JONES };

typedef struct {
    const char *name;
    int sources, times, baselines, channels, elements;
    int spectra, smear, irregular, unequal_widths;
    int gaussians; /* their size in 3e-5 rad or so */
    int jones, jones_shape, way;
    int flat_jones; /* Jones terms do not vary with frequency */
    int many;       /* the plan says that there are many stations */
    int strays;     /* one baseline out of so many is not the difference of its stations */
    int small;      /* these differences are millimetres, not meters */
    int factors;    /* phases may be products of those of stations */
    int mixed;      /* only one source out of four is polarised */
    double nearly;  /* Hz: channels differ from equal spacing by up to half of it */
    int centre;     /* all sources are there, or within 1e-9 of it */
    double highest; /* Hz: channels go down from it; 0: up from 1 GHz */
} setup;

/* Fills in random inputs. */
typedef struct {
    double lmn[MAX_SOURCES][3], shape[MAX_SOURCES][6];
    double brightness[MAX_SOURCES][MAX_CHANNELS][8];
    double uvw[16][MAX_BASELINES][3], rate[16][MAX_BASELINES][3], interval[16];
    double station[16][STATIONS][3];
    double freq[MAX_CHANNELS], width[MAX_CHANNELS];
    double *jones[2]; /* [source][time][station][channel][8] */
    int32_t gather[2][MAX_BASELINES];
} world;

static uint64_t counter;

static double draw(void)
{
    return grove_random_uniform(grove_random_bits(7, counter++, 0, 0, 0)) - 0.5;
}

static double rounded(double x, int single)
{
    return single ? (double)(float)x : x;
}

static size_t jones_at(const setup *c, int s, int t, int station, int k)
{
    int source = c->jones >= SOURCE_JONES ? s : 0;

    return 8 * ((((size_t)source * (size_t)c->times + (size_t)t) * STATIONS + (size_t)station) *
                    (size_t)c->channels +
                (size_t)k);
}

static void make_axes(const setup *c, world *w)
{
    for (int k = 0; k < c->channels; k++) {
        w->freq[k] = (c->highest > 0 ? c->highest - 7.8e6 * k : 1e9 + 7.8e6 * k) +
                     (c->irregular ? 3e6 * draw() : 0) + (c->nearly > 0 ? c->nearly * draw() : 0);
        w->width[k] = c->unequal_widths ? 7.8e6 * (1.5 + draw()) : 7.8e6;
    }
    for (int t = 0; t < c->times; t++) {
        w->interval[t] = 10 + t;
        for (int p = 0; p < STATIONS; p++)
            for (int d = 0; d < 3; d++)
                w->station[t][p][d] = 5e3 * draw();
        for (int b = 0; b < c->baselines; b++) {
            int p = b % STATIONS, q = (b * 5 + 1 + b / STATIONS) % STATIONS;
            w->gather[0][b] = p;
            w->gather[1][b] = q;
            for (int d = 0; d < 3; d++) {
                int stray = c->strays && (b + t) % c->strays == 0;
                w->uvw[t][b][d] = w->station[t][p][d] - w->station[t][q][d] +
                                  (stray ? (c->small ? 1e-3 : 1) * draw() : 0);
                w->rate[t][b][d] = (d == 2 ? 0.1 : 1) * draw();
            }
        }
    }
}

static world *make_world(const setup *c, int single)
{
    world *w = calloc(1, sizeof(*w));

    counter = 0;
    make_axes(c, w);
    for (int s = 0; s < c->sources; s++) {
        int gaussian = c->gaussians && s % 3 != 1;
        for (int d = 0; d < 3 && s != 2; d++) /* the third is at the phase centre */
            w->lmn[s][d] = c->centre ? (d == 2 ? 0 : 1e-9 * draw())
                           : s == 1  ? 0.4 - 0.3 * d
                           : d == 2  ? -1e-4 * (0.5 + draw())
                                     : 0.03 * draw();
        w->shape[s][0] = gaussian ? 3e-5 * c->gaussians * (1 + draw()) : 0;
        w->shape[s][1] = gaussian ? 3e-5 * c->gaussians * (1 + draw()) : 0;
        w->shape[s][2] = 3 * draw();
        for (int d = 0; d < 2 && s % 2; d++) /* in planes that touch the sphere there */
            w->shape[s][3 + d] = 1.3 * draw();
        w->shape[s][5] = sqrt(1 - pow(w->shape[s][3], 2) - pow(w->shape[s][4], 2)) - 1;
        for (int k = 0; k < c->channels; k++)
            for (int e = 0; e < 2 * c->elements; e++)
                w->brightness[s][k][e] =
                    k && !c->spectra ? w->brightness[s][0][e] : rounded(draw() + (e == 0), single);
        for (int k = 0; k < c->channels && c->mixed && s % 4; k++)
            for (int e = 1; e < 2 * c->elements; e++)
                w->brightness[s][k][e] = e == 2 * c->elements - 2 ? w->brightness[s][k][0] : 0;
    }
    for (int side = 0; side < 2 && c->jones; side++) {
        size_t numbers = jones_at(c, c->sources + 1, 0, 0, 0) + jones_at(c, 0, c->times, 0, 0);
        w->jones[side] = calloc(numbers, sizeof(double));
        for (size_t i = 0; i < numbers; i++)
            w->jones[side][i] = rounded(draw() + (i % 8 == 0), single);
        for (size_t i = 0, cell = 8 * (size_t)c->channels; i < numbers && c->flat_jones; i++)
            w->jones[side][i] = w->jones[side][i - i % cell + i % 8];
    }
    return w;
}

static void free_world(world *w)
{
    free(w->jones[0]);
    free(w->jones[1]);
    free(w);
}

static void set_plan(const setup *c, const world *w, grove_isa isa, grove_args *args)
{
    grove_predict_plan plan = {.way = c->way,
                               .isa = (int32_t)isa,
                               .flat = !c->spectra && c->jones != APPARENT_JONES,
                               .equal_width = !c->unequal_widths,
                               .smear_time = c->smear & 1,
                               .smear_freq = c->smear >> 1,
                               .jones = c->jones == APPARENT_JONES ? GROVE_PREDICT_FOLDED
                                        : c->jones == SOURCE_JONES ? GROVE_PREDICT_WITHIN
                                                                   : GROVE_PREDICT_AROUND,
                               .factors = c->factors,
                               .stations = c->many ? 64 : 0,
                               .count = c->channels,
                               .width = w->width[0],
                               .reference = 1.2e9};

    grove_predict_channels_of(w->freq, c->channels, &plan.channels);
    memcpy(args->state.bytes, &plan, sizeof(plan));
}

/* ---- the truth ---- */

static long double sinc(long double x)
{
    return fabsl(x) < 1e-9L ? 1 : sinl(x) / x;
}

/* uvw along an axis of a shape whose sine and cosine are given from the m axis: the axis is turned
 * about (-m, l, 0), as n = (0, 0, 1) is to l, m, n (Rodrigues). */
static long double along(const double *uvw, const double *shape, long double sine,
                         long double cosine)
{
    const long double l = shape[3], m = shape[4], n = 1 + (long double)shape[5];
    const long double axis[3] = {-m, l, 0}, from[3] = {sine, cosine, 0};
    const long double along_axis = axis[0] * from[0] + axis[1] * from[1];
    const long double crossed[3] = {axis[1] * from[2] - axis[2] * from[1],
                                    axis[2] * from[0] - axis[0] * from[2],
                                    axis[0] * from[1] - axis[1] * from[0]};
    long double sum = 0;

    for (int d = 0; d < 3; d++)
        sum += uvw[d] * (n * from[d] + crossed[d] + axis[d] * along_axis / (1 + n));
    return sum;
}

static long double complex factor_of(const setup *c, const world *w, int s, int t, int b, int k)
{
    const long double pi = acosl(-1), light = GROVE_SPEED_OF_LIGHT;
    const double *uvw = w->uvw[t][b], *lmn = w->lmn[s], *shape = w->shape[s];
    long double delay = 0, change = 0, factor = 1, nu = w->freq[k];

    for (int d = 0; d < 3; d++) {
        delay += (long double)uvw[d] * lmn[d] / light;
        change += (long double)w->rate[t][b][d] * lmn[d] / light * w->interval[t];
    }
    if (c->smear & 1)
        factor *= sinc(pi * nu * change);
    if (c->smear & 2)
        factor *= sinc(pi * w->width[k] * delay);
    if (shape[0] != 0) {
        long double sine = sinl(shape[2]), cosine = cosl(shape[2]);
        long double x = shape[0] * along(uvw, shape, sine, cosine) * nu / light;
        long double y = shape[1] * along(uvw, shape, cosine, -sine) * nu / light;
        factor *= expl(-pi * pi / (4 * logl(2)) * (x * x + y * y));
    }
    return factor * cexpl(-2 * pi * I * (nu * delay - roundl(nu * delay)));
}

typedef long double complex matrix[4];

static void to_matrix(const double *x, int elements, matrix m)
{
    for (int i = 0; i < 4; i++)
        m[i] = 0;
    for (int e = 0; e < elements; e++)
        m[elements == 2 ? 3 * e : e] = x[2 * e] + (long double)x[2 * e + 1] * I;
    if (elements == 1)
        m[3] = m[0];
}

static void multiply(matrix out, const matrix a, const matrix b)
{
    for (int i = 0; i < 4; i++)
        out[i] = a[i & 2] * b[i & 1] + a[(i & 2) + 1] * b[(i & 1) + 2];
}

static int out_elements(const setup *c)
{
    return c->jones && c->jones_shape > c->elements ? c->jones_shape : c->elements;
}

static void true_cell(const setup *c, const world *w, int t, int b, int k, matrix sum)
{
    for (int e = 0; e < 4; e++)
        sum[e] = 0;
    for (int s = 0; s < c->sources; s++) {
        matrix m, left = {1, 0, 0, 1}, right = {1, 0, 0, 1}, part, all;
        long double complex factor = factor_of(c, w, s, t, b, k);
        to_matrix(w->brightness[s][k], c->elements, m);
        if (c->jones) {
            int alone = c->jones == APPARENT_JONES, p = alone ? 0 : w->gather[0][b];
            int q = alone ? 0 : w->gather[1][b], time = alone ? 0 : t;
            to_matrix(w->jones[0] + jones_at(c, s, time, p, k), c->jones_shape, left);
            to_matrix(w->jones[1] + jones_at(c, s, time, q, k), c->jones_shape, right);
        }
        multiply(part, left, m);
        multiply(all, part, right);
        for (int e = 0; e < 4; e++)
            sum[e] += factor * all[e];
    }
    if (out_elements(c) == 2)
        sum[1] = sum[3];
}

#endif
