#include "predict_cost.h"

#include "isa.h"
#include "predict_job.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { STATIONS = 64, PAIRS = STATIONS * (STATIONS - 1) / 2, SOURCES = 2048, CHANNELS = 64 };
enum { ROUNDS = 4 };

/* A field without meaning: points, flat spectra, one time. */
typedef struct {
    double lmn[SOURCES][3], uvw[PAIRS][3], station[STATIONS][3], freq[CHANNELS];
    double brightness[SOURCES][2]; /* or floats in the same place */
    double out[PAIRS * CHANNELS * 2];
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

/* Axes source, baseline, freq. */
static void set_args(field *f, int isa, int bytes, int way, int stations, int channels,
                     grove_args *a)
{
    enum { SOURCE, BASELINE, FREQ };
    const int64_t vector = 3 * sizeof(double);
    grove_predict_plan plan = {.channels = {channels > 1, 0, 1e9, 1e6},
                               .way = way,
                               .isa = isa,
                               .flat = 1,
                               .count = channels,
                               .reference = 1e9};

    memset(a, 0, sizeof(*a));
    a->axes = 3;
    a->inputs = GROVE_PREDICT_UVW_RIGHT + 1;
    a->size[SOURCE] = SOURCES;
    a->size[BASELINE] = stations * (stations - 1) / 2;
    a->size[FREQ] = channels;
    a->axis[SOURCE] = GROVE_AXIS_SOURCE;
    a->axis[BASELINE] = GROVE_AXIS_BASELINE;
    a->axis[FREQ] = GROVE_AXIS_FREQ;
    memcpy(a->state.bytes, &plan, sizeof(plan));
    a->out = view_of(f->out, GROVE_SCALAR, 1, bytes);
    a->out.stride[BASELINE] = (int64_t)2 * bytes * channels;
    a->out.stride[FREQ] = (int64_t)2 * bytes;
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

/* The least of several times for one source, ns; negative: no memory. */
static double time_of(field *f, int isa, int bytes, int way, int stations, int channels)
{
    grove_args args;
    double least = -1;

    set_args(f, isa, bytes, way, stations, channels, &args);
    for (int round = 0; round < ROUNDS; round++) {
        grove_predict_sum *sum = grove_predict_sum_new(&args);
        double began = now();
        if (!sum)
            return -1;
        grove_predict_sum_run(sum, 0, grove_predict_sum_pieces(sum));
        double took = (now() - began) / SOURCES;
        int failed = grove_predict_sum_failed(sum);
        grove_predict_sum_free(sum);
        if (failed)
            return -1;
        least = least < 0 || took < least ? took : least;
    }
    return least;
}

static double positive(double x, double at_least)
{
    return x > at_least ? x : at_least;
}

int grove_predict_measure(int isa, int bytes, grove_predict_costs *costs)
{
    enum { FEW = 12, FEW_PAIRS = FEW * (FEW - 1) / 2, SHORT = 16 };
    field *f = calloc(1, sizeof(*f));

    if (!f)
        return 0;
    fill(f, bytes);
    double block = time_of(f, isa, bytes, GROVE_PREDICT_BASELINE, FEW, CHANNELS) / FEW_PAIRS;
    double group = time_of(f, isa, bytes, GROVE_PREDICT_BASELINE, FEW, SHORT) / FEW_PAIRS;
    double one = time_of(f, isa, bytes, GROVE_PREDICT_BASELINE, FEW, 1) / FEW_PAIRS;
    double few = time_of(f, isa, bytes, GROVE_PREDICT_STATION, FEW, 1);
    double many = time_of(f, isa, bytes, GROVE_PREDICT_STATION, STATIONS, 1);
    free(f);
    if (block < 0 || group < 0 || one < 0 || few < 0 || many < 0)
        return 0;
    costs->channel = positive((block - group) / (CHANNELS - SHORT), 0.001);
    costs->panel = positive(block - CHANNELS * costs->channel, 0.001);
    costs->direct = one;
    /* n phase + n (n - 1) / 2 pair, for both numbers n of stations */
    costs->pair = positive((many / STATIONS - few / FEW) * 2 / (STATIONS - FEW), 0.001);
    costs->phase = positive(many / STATIONS - costs->pair * (STATIONS - 1) / 2, 0.001);
    return 1;
}

grove_predict_costs grove_predict_usual_costs(int isa, int bytes)
{
    static const double slower[] = {3, 1.4, 1}; /* portable, avx2, avx512 */
    double factor = slower[isa] * (bytes == 8 ? 2 : 1);
    grove_predict_costs costs = {.panel = 3 * factor,
                                 .channel = 0.045 * factor,
                                 .direct = 0.5 * factor,
                                 .phase = 1 * factor,
                                 .pair = 0.1 * factor};

    return costs;
}

double grove_predict_cost_of_baselines(const grove_predict_costs *costs, int64_t baselines,
                                       int64_t channels, int regular)
{
    double blocks = (double)((channels + PREDICT_BLOCK - 1) / PREDICT_BLOCK);

    return (double)baselines * (regular ? blocks * costs->panel + (double)channels * costs->channel
                                        : (double)channels * costs->direct);
}

double grove_predict_cost_of_stations(const grove_predict_costs *costs, int64_t stations,
                                      int64_t channels)
{
    double n = (double)stations;

    return (double)channels * (n * costs->phase + n * (n - 1) / 2 * costs->pair);
}
