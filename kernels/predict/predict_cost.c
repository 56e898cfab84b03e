/* Measures what the forms of the sum cost, with sums over a small artificial field. */
#include "predict_cost.h"

#include "../simd/isa.h"
#include "predict_job.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { STATIONS = 64, PAIRS = STATIONS * (STATIONS - 1) / 2, SOURCES = 2048, CHANNELS = 64 };
enum { JONES_SOURCES = 512, ROUNDS = 4 };

/* An arbitrary field: points with flat spectra, one time. */
typedef struct {
    double lmn[SOURCES][3], uvw[PAIRS][3], station[STATIONS][3], freq[CHANNELS];
    double brightness[SOURCES][2]; /* or floats in the same place */
    double out[PAIRS * CHANNELS * 8];
    double jones[STATIONS][JONES_SOURCES][8];
    int32_t left[PAIRS], right[PAIRS];
} field;

static void fill(field *f, int bytes)
{
    int b = 0;

    for (int i = 0; i < SOURCES; i++) {
        for (int k = 0; k < 3; k++)
            f->lmn[i][k] = 1e-4 * ((i * (7 + k)) % 97);
        if (bytes == 8)
            f->brightness[i][0] = 1;
        else
            ((float *)(void *)f->brightness)[2 * i] = 1;
    }
    for (int p = 0; p < STATIONS; p++)
        for (int k = 0; k < 3; k++)
            f->station[p][k] = 100.0 * ((p * (5 + k)) % 31);
    for (int k = 0; k < CHANNELS; k++)
        f->freq[k] = 1e9 + 1e6 * k;
    /* pairs of the first stations come first */
    for (int q = 1; q < STATIONS; q++)
        for (int p = 0; p < q; p++, b++) {
            f->left[b] = p;
            f->right[b] = q;
            for (int k = 0; k < 3; k++)
                f->uvw[b][k] = f->station[p][k] - f->station[q][k];
        }
}

static grove_view view_of(void *data, int shape, int elements, int bytes)
{
    grove_view view = {.data = data, .elements = elements, .shape = shape, .bytes = bytes};

    return view;
}

/* What is measured. */
typedef struct {
    int isa, bytes, jones, way, stations, channels;
} trial;

static void add_jones(field *f, const trial *t, grove_args *a)
{
    for (int side = 0; side < 2; side++) {
        grove_view *view = &a->in[side ? GROVE_PREDICT_RIGHT : GROVE_PREDICT_LEFT];
        *view = view_of(f->jones, GROVE_MATRIX, 4, t->bytes);
        view->complex_ = 1;
        view->stride[0] = (int64_t)8 * t->bytes;
        view->stride[1] = (int64_t)JONES_SOURCES * 8 * t->bytes;
        view->gather = side ? f->right : f->left;
        view->gather_axis = 1;
    }
}

/* Axes source, baseline, freq. */
static void set_args(field *f, const trial *t, grove_args *a)
{
    int bytes = t->bytes, elements = t->jones ? 4 : 1;
    enum { SOURCE, BASELINE, FREQ };
    const int64_t vector = 3 * sizeof(double);
    grove_predict_plan plan = {.channels = {t->channels > 1, 0, 1e9, 1e6},
                               .way = t->way,
                               .isa = t->isa,
                               .flat = 1,
                               .jones = t->jones ? GROVE_PREDICT_WITHIN : GROVE_PREDICT_AROUND,
                               .count = t->channels,
                               .reference = 1e9};

    memset(a, 0, sizeof(*a));
    a->axes = 3;
    a->inputs = GROVE_PREDICT_UVW_RIGHT + 1;
    a->size[SOURCE] = t->jones ? JONES_SOURCES : SOURCES;
    a->size[BASELINE] = t->stations * (t->stations - 1) / 2;
    a->size[FREQ] = t->channels;
    a->axis[SOURCE] = GROVE_AXIS_SOURCE;
    a->axis[BASELINE] = GROVE_AXIS_BASELINE;
    a->axis[FREQ] = GROVE_AXIS_FREQ;
    memcpy(a->state.bytes, &plan, sizeof(plan));
    a->out = view_of(f->out, t->jones ? GROVE_MATRIX : GROVE_SCALAR, elements, bytes);
    a->out.stride[FREQ] = (int64_t)2 * bytes * elements;
    a->out.stride[BASELINE] = a->out.stride[FREQ] * t->channels;
    a->out.complex_ = 1;
    a->in[GROVE_PREDICT_BRIGHTNESS] = view_of(f->brightness, GROVE_SCALAR, 1, bytes);
    a->in[GROVE_PREDICT_BRIGHTNESS].complex_ = 1;
    a->in[GROVE_PREDICT_BRIGHTNESS].stride[SOURCE] = (int64_t)2 * bytes;
    a->in[GROVE_PREDICT_LMN] = view_of(f->lmn, GROVE_VECTOR, 3, 8);
    a->in[GROVE_PREDICT_LMN].stride[SOURCE] = vector;
    a->in[GROVE_PREDICT_UVW] = view_of(f->uvw, GROVE_VECTOR, 3, 8);
    a->in[GROVE_PREDICT_UVW].stride[BASELINE] = vector;
    a->in[GROVE_PREDICT_FREQ] = view_of(f->freq, GROVE_SCALAR, 1, 8);
    a->in[GROVE_PREDICT_FREQ].stride[FREQ] = sizeof(double);
    for (int side = 0; side < 2; side++) {
        grove_view *view = &a->in[side ? GROVE_PREDICT_UVW_RIGHT : GROVE_PREDICT_UVW_LEFT];
        *view = view_of(f->station, GROVE_VECTOR, 3, 8);
        view->stride[BASELINE] = vector;
        view->gather = side ? f->right : f->left;
        view->gather_axis = BASELINE;
    }
}

static double now(void)
{
    struct timespec t;

    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return 1e9 * (double)t.tv_sec + (double)t.tv_nsec;
}

/* The lowest of several times for one source, ns; negative: no memory. */
static double time_of(field *f, const trial *t)
{
    grove_args args;
    double lowest = -1;

    set_args(f, t, &args);
    if (t->jones)
        add_jones(f, t, &args);
    for (int round = 0; round < ROUNDS; round++) {
        grove_predict_sum *sum = grove_predict_sum_new(&args);
        double began = now();
        if (!sum)
            return -1;
        grove_predict_sum_run(sum, 0, grove_predict_sum_pieces(sum));
        double took = (now() - began) / (double)args.size[0];
        int failed = grove_predict_sum_failed(sum);
        grove_predict_sum_free(sum);
        if (failed)
            return -1;
        lowest = lowest < 0 || took < lowest ? took : lowest;
    }
    return lowest;
}

static double positive(double x, double at_least)
{
    return x > at_least ? x : at_least;
}

int grove_predict_measure(int isa, int bytes, int jones, grove_predict_costs *costs)
{
    enum { FEW = 12, FEW_PAIRS = FEW * (FEW - 1) / 2, SHORT = 16 };
    const trial trials[] = {{isa, bytes, jones, GROVE_PREDICT_BASELINE, FEW, CHANNELS},
                            {isa, bytes, jones, GROVE_PREDICT_BASELINE, FEW, SHORT},
                            {isa, bytes, jones, GROVE_PREDICT_BASELINE, FEW, 1},
                            {isa, bytes, jones, GROVE_PREDICT_STATION, FEW, 1},
                            {isa, bytes, jones, GROVE_PREDICT_STATION, STATIONS, 1}};
    enum { TRIALS = sizeof(trials) / sizeof(trials[0]) };
    double times[TRIALS];
    field *f = calloc(1, sizeof(*f));
    int good = f != NULL;

    if (good)
        fill(f, bytes);
    for (int i = 0; i < TRIALS && good; i++) {
        times[i] = time_of(f, &trials[i]);
        good = times[i] >= 0;
    }
    free(f);
    if (!good)
        return 0;
    double block = times[0] / FEW_PAIRS, few = times[3] / FEW, many = times[4] / STATIONS;
    costs->channel = positive((block - times[1] / FEW_PAIRS) / (CHANNELS - SHORT), 0.001);
    costs->panel = positive(block - CHANNELS * costs->channel, 0.001);
    costs->direct = times[2] / FEW_PAIRS;
    /* n phase + n (n - 1) / 2 pair, for both numbers n of stations */
    costs->pair = positive((many - few) * 2 / (STATIONS - FEW), 0.001);
    costs->phase = positive(many - costs->pair * (STATIONS - 1) / 2, 0.001);
    return 1;
}

/* Measured by `grove tune` on an AMD EPYC with AVX-512; doubles take twice as long. */
grove_predict_costs grove_predict_usual_costs(int isa, int bytes, int jones)
{
    static const grove_predict_costs usual[][2] = {
        [GROVE_ISA_PORTABLE] = {{8.7, 0.095, 2, 2.15, 0.18}, {18.8, 0.39, 4.2, 6.9, 0.86}},
        [GROVE_ISA_AVX2] = {{3.3, 0.061, 0.735, 1.05, 0.12}, {13.9, 0.276, 2.66, 4.1, 0.43}},
        [GROVE_ISA_AVX512] = {{2.4, 0.018, 0.43, 0.65, 0.095}, {9.5, 0.087, 1.4, 3.4, 0.265}}};
    grove_predict_costs costs = usual[isa][jones != 0];
    double factor = bytes == 8 ? 2 : 1;

    costs.panel *= factor;
    costs.channel *= factor;
    costs.direct *= factor;
    costs.phase *= factor;
    costs.pair *= factor;
    return costs;
}

double grove_predict_cost_of_baselines(const grove_predict_costs *costs, int64_t baselines,
                                       int64_t channels, int regular)
{
    int64_t few = regular ? channels % PREDICT_BLOCK : channels; /* with every phase evaluated */

    if (regular && few >= GROVE_PREDICT_RECURRED)
        few = 0;
    double blocks = (double)((channels - few + PREDICT_BLOCK - 1) / PREDICT_BLOCK);
    return (double)baselines * (blocks * costs->panel + (double)(channels - few) * costs->channel +
                                (double)few * costs->direct);
}

double grove_predict_cost_of_stations(const grove_predict_costs *costs, int64_t stations,
                                      int64_t channels)
{
    double n = (double)stations;

    return (double)channels * (n * costs->phase + n * (n - 1) / 2 * costs->pair);
}
