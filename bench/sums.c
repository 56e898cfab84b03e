#include "sums.h"

#include "machine.h"

#include "../kernels/sky/predict.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { STATIONS = BENCH_SUM_STATIONS, BASELINES = BENCH_SUM_BASELINES, TIMES = BENCH_SUM_TIMES };

/* Phases are those of stations, not of baselines. */
#define OF_STATIONS ((double)STATIONS / BASELINES)

const bench_sum_workload bench_sum_workloads[] = {
    {"P1 I", 1000, 64, 1, 0, 0, 0, GROVE_PREDICT_BASELINE, 2, 2.2, 4.0 / 64},
    {"P1 I, smeared", 1000, 64, 1, 0, 3, 0, GROVE_PREDICT_BASELINE, 4, 5.1, 0},
    {"P1 I, spectra", 1000, 64, 1, 1, 0, 0, GROVE_PREDICT_BASELINE, 5, 2.2, 0},
    {"P1 I, spectra, smeared", 1000, 64, 1, 1, 3, 0, GROVE_PREDICT_BASELINE, 10, 5.1, 0},
    {"P1 IQUV", 1000, 64, 4, 0, 0, 0, GROVE_PREDICT_BASELINE, 8, 2.7, 4.0 / 64},
    {"P1 IQUV, smeared", 1000, 64, 4, 0, 3, 0, GROVE_PREDICT_BASELINE, 16, 5.1, 0},
    {"P1 I, stations", 1000, 64, 1, 0, 0, 0, GROVE_PREDICT_STATION, 3, 1.0, OF_STATIONS},
    {"P1 2x2 Jones", 1000, 64, 4, 0, 0, 1, GROVE_PREDICT_STATION, 24, 3.1, OF_STATIONS},
    {"P1 2x2 Jones, baselines", 1000, 64, 4, 0, 0, 1, GROVE_PREDICT_BASELINE, 8, 4.2, 0},
    {"P1 2x2 Jones, smeared", 1000, 64, 4, 0, 3, 1, GROVE_PREDICT_BASELINE, 16, 8.1, 0},
    {"P1 2x2 Jones of channels, smeared", 1000, 64, 4, 0, 3, 2, GROVE_PREDICT_BASELINE, 53, 12, 0},
    {"P2 2x2 Jones, smeared", 10000, 1, 4, 0, 3, 1, GROVE_PREDICT_BASELINE, 40, 32, 0},
    {"P2 I", 10000, 1, 1, 0, 0, 0, GROVE_PREDICT_STATION, 3, 1.0, OF_STATIONS},
    {"P2 I, baselines", 10000, 1, 1, 0, 0, 0, GROVE_PREDICT_BASELINE, 2, 26, 1},
    {"P2 I, smeared", 10000, 1, 1, 0, 3, 0, GROVE_PREDICT_BASELINE, 6, 20, 0},
    {"P2 I, 4 channels, smeared", 10000, 4, 1, 0, 3, 0, GROVE_PREDICT_BASELINE, 6, 14, 0},
    {"P2 I, 8 channels, smeared", 10000, 8, 1, 0, 3, 0, GROVE_PREDICT_BASELINE, 4, 24, 0},
    {"P2 IQUV", 10000, 1, 4, 0, 0, 0, GROVE_PREDICT_STATION, 12, 1.5, OF_STATIONS},
};
const int bench_sum_workload_count = sizeof(bench_sum_workloads) / sizeof(bench_sum_workloads[0]);

static uint64_t counter;

static double draw(void)
{
    return grove_random_uniform(grove_random_bits(3, counter++, 0, 0, 0)) - 0.5;
}

static void set_view(grove_view *view, void *data, int shape, int elements, int bytes,
                     const int64_t stride[4])
{
    *view = (grove_view){.data = data, .elements = elements, .shape = shape, .bytes = bytes};
    view->complex_ = 1;
    memcpy(view->stride, stride, 4 * sizeof(*stride));
}

static void put(void *to, size_t at, double x, int bytes)
{
    if (bytes == 4)
        ((float *)to)[at] = (float)x;
    else
        ((double *)to)[at] = x;
}

/* 45 stations within 300 m, the rest within 4 km, turning with the sky. */
static void place_stations(bench_sum *p)
{
    double at[STATIONS][3], sine = -0.707, cosine = 0.707;

    for (int i = 0; i < STATIONS; i++)
        for (int d = 0; d < 3; d++)
            at[i][d] = (i < 45 ? 300 : 8000) * draw() * (d == 2 ? 0.1 : 1);
    for (int t = 0; t < TIMES; t++) {
        double angle = 7.27e-5 * 10 * t, c = cos(angle), s = sin(angle);
        for (int i = 0; i < STATIONS; i++) {
            double *u = p->station + 3 * (t * STATIONS + i);
            double x = c * at[i][0] + s * at[i][1], y = c * at[i][1] - s * at[i][0];
            u[0] = x;
            u[1] = cosine * at[i][2] - sine * y;
            u[2] = sine * at[i][2] + cosine * y;
        }
        for (int b = 0; b < BASELINES; b++)
            for (int d = 0; d < 3; d++) {
                const double *u = p->station + (size_t)3 * STATIONS * (size_t)t;
                double *to = p->uvw + 3 * (t * BASELINES + b);
                to[d] = u[3 * p->left[b] + d] - u[3 * p->right[b] + d];
                p->rate[3 * (t * BASELINES + b) + d] = 7.27e-5 * to[(d + 1) % 3];
            }
    }
}

/* [source][station][channel or nothing][8] */
static size_t jones_numbers(const bench_sum_workload *w)
{
    size_t cells = (size_t)w->sources * STATIONS;

    return w->jones == 2 ? cells * (size_t)w->channels * 8 : w->jones ? cells * 8 : 0;
}

static void fill(const bench_sum_workload *w, bench_sum *p, int bytes)
{
    int b = 0;

    for (int i = 0; i < STATIONS; i++)
        for (int j = i + 1; j < STATIONS; j++, b++) {
            p->left[b] = i;
            p->right[b] = j;
        }
    place_stations(p);
    p->interval = 10;
    for (int k = 0; k < w->channels; k++) {
        p->freq[k] = w->channels == 1 ? 1.25e9 : 1e9 + 7.8125e6 * k;
        p->width[k] = 7.8125e6;
    }
    for (int s = 0; s < w->sources; s++) {
        double l = 0.034 * draw(), m = 0.034 * draw();
        p->lmn[3 * s] = l;
        p->lmn[3 * s + 1] = m;
        p->lmn[3 * s + 2] = sqrt(1 - l * l - m * m) - 1;
        double i = draw() + 0.6, q = 0.1 * draw(), u = 0.1 * draw(), v = 0.1 * draw();
        double b8[8] = {i + q, 0, u, v, u, -v, i - q, 0};
        for (int k = 0; k < (w->spectra ? w->channels : 1); k++)
            for (int e = 0; e < 2 * w->elements; e++)
                put(p->brightness, ((size_t)s * (size_t)w->channels + (size_t)k) * 8 + (size_t)e,
                    b8[e] * (1 - 0.005 * k), bytes);
    }
    for (size_t k = 0; k < jones_numbers(w); k++)
        put(p->jones, k, 0.2 * draw() + (k % 8 == 0 || k % 8 == 6), bytes);
}

void bench_sum_set_isa(const bench_sum_workload *w, bench_sum *p, int isa)
{
    grove_predict_plan plan = {.way = w->way,
                               .isa = isa,
                               .flat = !w->spectra,
                               .equal_width = 1,
                               .smear_time = w->smear & 1,
                               .smear_freq = w->smear >> 1,
                               .factors = w->smear && !w->jones &&
                                          w->channels < GROVE_PREDICT_RECURRED_BLOCK,
                               .jones = w->jones ? GROVE_PREDICT_WITHIN : GROVE_PREDICT_AROUND,
                               .count = w->channels,
                               .width = p->width[0],
                               .reference = 1.25e9};

    grove_predict_channels_of(p->freq, w->channels, &plan.channels);
    memcpy(p->args.state.bytes, &plan, sizeof(plan));
}

static void set_views(const bench_sum_workload *w, bench_sum *p, int bytes)
{
    const int64_t n = bytes, v = 24, shape = w->elements, of = w->jones == 2 ? w->channels : 1;
    grove_args *a = &p->args;

    a->axes = 4;
    a->inputs = 12;
    memcpy(a->size, (int64_t[]){w->sources, TIMES, BASELINES, w->channels}, 32);
    memcpy(a->axis,
           (int32_t[]){GROVE_AXIS_SOURCE, GROVE_AXIS_TIME, GROVE_AXIS_BASELINE, GROVE_AXIS_FREQ},
           16);
    set_view(&a->in[0], p->brightness, (int)shape, w->elements, bytes,
             (int64_t[]){8 * n * w->channels, 0, 0, w->spectra ? 8 * n : 0});
    set_view(&a->in[1], p->lmn, GROVE_VECTOR, 3, 8, (int64_t[]){v, 0, 0, 0});
    set_view(&a->in[3], p->uvw, GROVE_VECTOR, 3, 8, (int64_t[]){0, v * BASELINES, v, 0});
    set_view(&a->in[4], p->freq, GROVE_SCALAR, 1, 8, (int64_t[]){0, 0, 0, 8});
    if (w->smear) {
        set_view(&a->in[5], p->rate, GROVE_VECTOR, 3, 8, (int64_t[]){0, v * BASELINES, v, 0});
        set_view(&a->in[6], &p->interval, GROVE_SCALAR, 1, 8, (int64_t[]){0, 0, 0, 0});
        set_view(&a->in[7], p->width, GROVE_SCALAR, 1, 8, (int64_t[]){0, 0, 0, 8});
    }
    for (int side = 0; side < 2; side++) {
        if (w->jones)
            set_view(&a->in[8 + side], p->jones, GROVE_MATRIX, 4, bytes,
                     (int64_t[]){8 * n * STATIONS * of, 0, 8 * n * of, w->jones == 2 ? 8 * n : 0});
        set_view(&a->in[10 + side], p->station, GROVE_VECTOR, 3, 8,
                 (int64_t[]){0, v * STATIONS, v, 0});
        for (int k = 8 + side; k < 12; k += 2) {
            a->in[k].gather = side ? p->right : p->left;
            a->in[k].gather_axis = 2;
        }
    }
    const int64_t cell = 2 * n * w->elements;
    set_view(&a->out, p->out, (int)shape, w->elements, bytes,
             (int64_t[]){0, cell * w->channels * BASELINES, cell * w->channels, cell});
}

bench_sum *bench_sum_new(const bench_sum_workload *w, int bytes)
{
    bench_sum *p = bench_allocate(1, sizeof(*p));
    size_t sources = (size_t)w->sources, channels = (size_t)w->channels;

    counter = 0;
    p->lmn = bench_allocate(3 * sources, 8);
    p->uvw = bench_allocate(3 * TIMES * BASELINES, 8);
    p->rate = bench_allocate(3 * TIMES * BASELINES, 8);
    p->station = bench_allocate(3 * TIMES * STATIONS, 8);
    p->freq = bench_allocate(channels, 8);
    p->width = bench_allocate(channels, 8);
    p->left = bench_allocate(BASELINES, 4);
    p->right = bench_allocate(BASELINES, 4);
    p->brightness = bench_allocate(sources * channels * 8, 8);
    p->jones = bench_allocate(jones_numbers(w), (size_t)bytes);
    p->out = bench_allocate((size_t)TIMES * BASELINES * channels * (size_t)w->elements * 2, 8);
    fill(w, p, bytes);
    set_views(w, p, bytes);
    return p;
}

void bench_sum_free(bench_sum *p)
{
    void *all[] = {p->lmn,  p->uvw,   p->rate,       p->station, p->freq, p->width,
                   p->left, p->right, p->brightness, p->jones,   p->out,  p};

    for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++)
        free(all[i]);
}

double bench_sum_bytes(const bench_sum_workload *w, int bytes)
{
    double rows = (double)TIMES * BASELINES, sources = w->sources, channels = w->channels;
    double each = 2.0 * bytes * w->elements;
    double read = sources * (24 + each * (w->spectra ? channels : 1)) +
                  (double)jones_numbers(w) * bytes + 24 * rows * (w->smear & 1 ? 2 : 1);

    return (read + each * rows * channels) / (rows * channels * sources);
}
