/* Measures the cost of the forms of the sum, with sums over a small artificial field. */
#include "predict_cost.h"

#include "../simd/isa.h"
#include "predict_job.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { STATIONS = 64, PAIRS = STATIONS * (STATIONS - 1) / 2, SOURCES = 2048, CHANNELS = 64 };
/* With Jones terms: of all stations, and of some stations and all channels. */
enum { JONES_SOURCES = 512, VARIED_SOURCES = 256, VARIED_STATIONS = 24 };
enum { ROUNDS = 4 };

/* An arbitrary field: points with flat spectra, one time. */
typedef struct {
    double lmn[SOURCES][3], uvw[PAIRS][3], station[STATIONS][3], freq[CHANNELS];
    double brightness[SOURCES][2]; /* or floats in the same place */
    double out[PAIRS * CHANNELS * 8];
    /* [source][station][channel, if of channels], as values are in tiles */
    double jones[VARIED_SOURCES * VARIED_STATIONS * CHANNELS][8];
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

/* A measurement. */
typedef struct {
    int isa, bytes, jones, way, stations, channels;
} trial;

/* Memory that nobody has written to is one page of zeros, which a cache holds. */
static void write_jones(field *f)
{
    const size_t cells = sizeof(f->jones) / sizeof(f->jones[0]);

    for (size_t i = 0; i < cells; i++)
        f->jones[i][0] = f->jones[i][6] = 1;
}

static void add_jones(field *f, const trial *t, grove_args *a)
{
    for (int side = 0; side < 2; side++) {
        grove_view *view = &a->in[side ? GROVE_PREDICT_RIGHT : GROVE_PREDICT_LEFT];
        *view = view_of(f->jones, GROVE_MATRIX, 4, t->bytes);
        view->complex_ = 1;
        int64_t cell = (int64_t)8 * t->bytes, varies = t->jones == PREDICT_COSTS_VARIED;
        view->stride[0] = cell * (varies ? VARIED_STATIONS * CHANNELS : STATIONS);
        view->stride[1] = varies ? cell * CHANNELS : cell;
        view->stride[2] = varies ? cell : 0;
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
    grove_predict_plan plan = {.channels = {t->channels > 1, 0, 1e9, 1e6, 0},
                               .way = t->way,
                               .isa = t->isa,
                               .flat = 1,
                               .jones = t->jones ? GROVE_PREDICT_WITHIN : GROVE_PREDICT_AROUND,
                               .count = t->channels,
                               .reference = 1e9};

    memset(a, 0, sizeof(*a));
    a->axes = 3;
    a->inputs = GROVE_PREDICT_UVW_RIGHT + 1;
    a->size[SOURCE] = t->jones == PREDICT_COSTS_VARIED ? VARIED_SOURCES
                      : t->jones                       ? JONES_SOURCES
                                                       : SOURCES;
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

/* Times of some trials, ns for a source. 0: no memory. */
static int time_all(const trial *trials, int count, double *times)
{
    field *f = calloc(1, sizeof(*f));
    int good = f != NULL;

    if (good)
        fill(f, trials->bytes);
    if (good && trials->jones)
        write_jones(f);
    for (int i = 0; i < count && good; i++) {
        times[i] = time_of(f, &trials[i]);
        good = times[i] >= 0;
    }
    free(f);
    return good;
}

enum { FEW = 12, FEW_PAIRS = FEW * (FEW - 1) / 2, SHORT = 32 };
/* By baselines, with few channels, phases of a station are found for its left and its right. */
enum { SIDES = 2 };

/* n station + n (n - 1) / 2 pair = few for n = FEW, many for n = `number`. */
static void solve_costs(double few, double many, int number, double *station, double *pair)
{
    few /= FEW;
    many /= number;
    *pair = positive((many - few) * 2 / (number - FEW), 0.001);
    *station = positive(many - *pair * (number - 1) / 2, 0.001);
}

/* With Jones terms of channels. A product of matrices of stations takes as long as without them;
 * collecting their rows takes longer, since rows of a channel lie far apart. */
static int measure_varied(int isa, int bytes, grove_predict_costs *costs)
{
    enum { VARIED = PREDICT_COSTS_VARIED, SOME = 4, MANY = VARIED_STATIONS };
    const trial trials[] = {{isa, bytes, VARIED, GROVE_PREDICT_BASELINE, FEW, CHANNELS},
                            {isa, bytes, VARIED, GROVE_PREDICT_BASELINE, MANY, CHANNELS},
                            {isa, bytes, VARIED, GROVE_PREDICT_BASELINE, MANY, SOME},
                            {isa, bytes, VARIED, GROVE_PREDICT_STATION, MANY, CHANNELS},
                            {isa, bytes, PREDICT_COSTS_JONES, GROVE_PREDICT_STATION, FEW, 1},
                            {isa, bytes, PREDICT_COSTS_JONES, GROVE_PREDICT_STATION, STATIONS, 1}};
    double times[6], phase;

    if (!time_all(trials, 6, times))
        return 0;
    solve_costs(times[0] / CHANNELS, times[1] / CHANNELS, MANY, &costs->panel, &costs->channel);
    solve_costs(times[4], times[5], STATIONS, &phase, &costs->pair);
    costs->direct =
        positive((times[2] / SOME / MANY - SIDES * phase) * 2 / (MANY - 1), costs->pair);
    costs->phase = positive(times[3] / CHANNELS / MANY - costs->pair * (MANY - 1) / 2, phase);
    return 1;
}

int grove_predict_measure(int isa, int bytes, int jones, grove_predict_costs *costs)
{
    const trial trials[] = {{isa, bytes, jones, GROVE_PREDICT_BASELINE, FEW, CHANNELS},
                            {isa, bytes, jones, GROVE_PREDICT_BASELINE, FEW, SHORT},
                            {isa, bytes, jones, GROVE_PREDICT_BASELINE, FEW, 1},
                            {isa, bytes, jones, GROVE_PREDICT_STATION, FEW, 1},
                            {isa, bytes, jones, GROVE_PREDICT_STATION, STATIONS, 1}};
    double times[5];

    if (jones == PREDICT_COSTS_VARIED)
        return measure_varied(isa, bytes, costs);
    if (!time_all(trials, 5, times))
        return 0;
    double block = times[0] / FEW_PAIRS;
    costs->channel = positive((block - times[1] / FEW_PAIRS) / (CHANNELS - SHORT), 0.001);
    costs->panel = positive(block - CHANNELS * costs->channel, 0.001);
    solve_costs(times[3], times[4], STATIONS, &costs->phase, &costs->pair);
    costs->direct = times[2] / FEW_PAIRS;
    if (jones)
        costs->direct =
            positive(costs->direct - SIDES * costs->phase * FEW / FEW_PAIRS, costs->pair);
    return 1;
}

/* As `grove tune` measures them, on an AMD EPYC with AVX-512 for all three; doubles take twice as
 * long. */
grove_predict_costs grove_predict_usual_costs(int isa, int bytes, int jones)
{
    static const grove_predict_costs usual[][PREDICT_COSTS_KINDS] = {
        [GROVE_ISA_PORTABLE] = {{10, 0.104, 1.73, 3.3, 0.113},
                                {21, 0.41, 2.2, 8.1, 1.06},
                                {15, 1.8, 2.1, 16, 1.05}},
        [GROVE_ISA_AVX2] = {{3.9, 0.065, 0.72, 1.85, 0.048},
                            {12.8, 0.26, 1.2, 4.6, 0.57},
                            {8.8, 0.95, 1.15, 11.5, 0.57}},
        [GROVE_ISA_AVX512] = {
            {2.8, 0.054, 0.6, 1.55, 0.048}, {9, 0.18, 0.82, 4.1, 0.57}, {3.3, 1, 0.9, 11, 0.57}}};
    grove_predict_costs costs = usual[isa][jones];
    double factor = bytes == 8 ? 2 : 1;

    costs.panel *= factor;
    costs.channel *= factor;
    costs.direct *= factor;
    costs.phase *= factor;
    costs.pair *= factor;
    return costs;
}

static double sums_of(const grove_predict_shape *shape)
{
    return shape->sums > 0 ? shape->sums : 1;
}

/* Costs shared by the sources, ns, for all instruction sets: to start a channel, to find a row, and
 * to store a sum of a visibility. */
static double shared(const grove_predict_shape *shape, double channel, double row, double sum)
{
    double channels = (double)shape->channels, sums = channels * sum * sums_of(shape);

    return shape->sources > 0 ? (channels * channel + (double)shape->baselines * (row + sums)) /
                                    (double)shape->sources
                              : 0;
}

/* Lanes that are computed for a source, where they are sources. */
static double lanes_of_source(const grove_predict_shape *shape)
{
    int64_t lanes = shape->lanes > 0 ? shape->lanes : 1, n = shape->sources;

    return n > 0 ? (double)((n + lanes - 1) / lanes * lanes) / (double)n : 1;
}

/* Few channels with Jones terms: phases of stations, and products for each row. Fewer sources than
 * lanes have a row in each lane, whose Jones terms are collected and multiplied separately, once
 * for the channels that share them. */
static double few_by_baselines(const grove_predict_costs *costs, const grove_predict_shape *shape,
                               int64_t channels, double phase)
{
    const int by_rows = shape->sources > 0 && shape->sources < shape->lanes;
    const double made = shape->jones == PREDICT_COSTS_VARIED ? 1 : 1.0 / (double)shape->channels;
    const double direct =
        costs->direct * (0.56 + 0.11 * sums_of(shape)) * (by_rows ? 1 + 3.7 * made : 1);

    return (double)channels * ((by_rows ? 0 : (double)(shape->stations * SIDES) * phase) +
                               (double)shape->baselines * direct);
}

/* Of the phase of a station with Jones terms of channels: to collect them, 64 channels apart, takes
 * most of it; Jones terms of fewer channels lie in fewer lines of the cache. */
static double collecting(const grove_predict_shape *shape)
{
    return 0.6 * (shape->channels < CHANNELS ? (double)shape->channels / CHANNELS : 1);
}

static double phase_at(const grove_predict_costs *costs, const grove_predict_shape *shape)
{
    return costs->phase * (shape->jones == PREDICT_COSTS_VARIED ? 0.4 + collecting(shape) : 1);
}

/* Channels that a recurrence of few takes for `count`, no more than a group. */
static int64_t turned(int64_t count)
{
    return count > PREDICT_GROUP / 2 ? PREDICT_GROUP : count > PREDICT_GROUP / 4 ? 8 : 4;
}

/* Channels of the groups that are computed for `count` of them. */
static int64_t in_groups(int64_t count)
{
    return (count + PREDICT_GROUP - 1) / PREDICT_GROUP * PREDICT_GROUP;
}

/* The share of the sources that are Gaussians. */
static double gaussians(const grove_predict_shape *shape)
{
    return shape->sources > 0 ? (double)shape->gaussians / (double)shape->sources : 0;
}

/* The share of the sources that have a real factor in each channel. */
static double factored(const grove_predict_shape *shape)
{
    return shape->flat ? gaussians(shape) : 1;
}

/* Between Jones terms that channels share, a row in each lane: the time of a panel and a channel,
 * relative to 64 channels without spectra and smearing. */
static double jones_panel(const grove_predict_shape *shape, double sums)
{
    return 0.8 + 0.05 * sums + 0.2 * factored(shape) + (shape->smear_time ? 0.5 + 0.1 * sums : 0);
}

static double jones_channel(const grove_predict_shape *shape, double sums)
{
    const double share = factored(shape);

    return (1 - share) * (0.1 + 0.225 * sums) + share * (2.1 + 0.39 * sums);
}

static double points_by_baselines(const grove_predict_costs *costs,
                                  const grove_predict_shape *shape)
{
    const double spectra = 2.7; /* the operations of a channel, where its weights differ */
    const int within = shape->jones != PREDICT_COSTS_POINTS;
    double sums = sums_of(shape);
    const double evaluated = within ? 1 : 0.9 + 0.1 * sums; /* every phase */
    const int64_t left = shape->regular ? shape->channels % PREDICT_BLOCK : shape->channels;
    const int64_t after = shape->regular && !within ? grove_predict_channels_after(left) : 0;
    int64_t few = left - after;
    double last = (double)few * evaluated;

    if (!within && few >= GROVE_PREDICT_RECURRED && few <= PREDICT_GROUP && shape->regular)
        last = 2.2 + (double)turned(few) * (0.03 + 0.12 * sums); /* two phasors, and powers */
    else if (shape->regular && few >= GROVE_PREDICT_RECURRED_BLOCK)
        few = 0;
    int64_t rest = shape->channels - few - after;
    int64_t blocks = (rest + PREDICT_BLOCK - 1) / PREDICT_BLOCK;
    double panel = costs->panel * (within ? jones_panel(shape, sums) : 1);
    double channel = costs->channel * (within ? jones_channel(shape, sums) : sums);
    return (double)shape->baselines *
           ((double)blocks * panel +
            (double)in_groups(rest) * channel * (shape->flat || within ? 1 : spectra) +
            ((few ? last : 0) + (double)after * evaluated) * costs->direct);
}

/* Jones terms of channels: vectors of channels, and few channels after them as if there were no
 * others. */
static double varied_by_baselines(const grove_predict_costs *costs,
                                  const grove_predict_shape *shape)
{
    const int64_t lanes = shape->lanes > 0 ? shape->lanes : 1;
    const int64_t first = shape->channels;
    const int64_t whole = (first + lanes - 1) / lanes * lanes;

    return (double)whole *
               ((double)shape->stations * costs->panel +
                (double)shape->baselines * costs->channel * (0.3 + 0.175 * sums_of(shape))) +
           few_by_baselines(costs, shape, shape->channels - first, phase_at(costs, shape));
}

/* To find a row by baselines, ns, and with narrow vectors, which few rows share, to collect its
 * sums. */
static double row_by_baselines(const grove_predict_shape *shape, int varied)
{
    const int64_t least = shape->jones == PREDICT_COSTS_POINTS ? GROVE_PREDICT_RECURRED
                                                               : GROVE_PREDICT_RECURRED_BLOCK;
    const int recurred = shape->channels >= least;
    const double row = recurred ? 60 : 17;

    if (shape->lanes >= PREDICT_MAX_LANES)
        return row;
    return 2 * row + (recurred && shape->regular && !varied
                          ? 1.8 * sums_of(shape) * (double)in_groups(shape->channels)
                          : 0);
}

/* Between Jones terms that channels share, a source in each lane: phases of stations, products,
 * smearing, shapes and phases of strays for each row. Scalars and diagonals take less to load and
 * multiply, by the elements that are summed; scalars have one for each station. */
static double by_sources(const grove_predict_costs *costs, const grove_predict_shape *shape)
{
    const double sums = sums_of(shape), loaded = shape->elements > 1 ? sums : 1;
    const double phase = shape->elements < 4 ? 0.07 + 0.11 * loaded : 0.8;
    const double slope = 0.19 + 0.02 * shape->elements;
    const double product = shape->elements < 4 ? 0.2 + slope * sums : 0.56 + 0.11 * sums;
    const int smears = shape->smear_freq || shape->smear_time;
    const double shapes = gaussians(shape);
    const double factors = 0.12 * (shape->smear_freq != 0) + 0.2 * (shape->smear_time != 0) +
                           0.35 * (shape->strays != 0) + (shapes > 0 && !smears ? 0.15 : 0) +
                           shapes * (shape->elements < 4 ? 0.22 : 0.4);

    return lanes_of_source(shape) * (double)shape->channels *
           ((double)(shape->stations * SIDES) * phase * costs->phase +
            (double)shape->baselines * (product + factors) * costs->direct);
}

int grove_predict_sources_win(const grove_predict_costs *costs, const grove_predict_shape *shape)
{
    return shape->jones == PREDICT_COSTS_JONES && shape->regular && shape->lanes > 0 &&
           shape->sources >= shape->lanes &&
           by_sources(costs, shape) < points_by_baselines(costs, shape);
}

double grove_predict_cost_of_baselines(const grove_predict_costs *costs,
                                       const grove_predict_shape *shape)
{
    const int varied = shape->jones == PREDICT_COSTS_VARIED && shape->channels >= GROVE_PREDICT_FEW;
    double store = shared(shape, 0, row_by_baselines(shape, varied), varied ? 1.6 : 3.1);

    if (varied)
        return store + varied_by_baselines(costs, shape);
    if (shape->jones && (shape->jones == PREDICT_COSTS_VARIED || !shape->regular))
        return store + few_by_baselines(costs, shape, shape->channels, phase_at(costs, shape));
    return store + (grove_predict_sources_win(costs, shape) ? by_sources(costs, shape)
                                                            : points_by_baselines(costs, shape));
}

/* The same by stations, where its arithmetic takes `kind` times the time with matrices. A batch of
 * sources stays in the cache for all channels of a piece: waiting for memory takes time in
 * proportion to bytes. */
static double phase_by_stations(const grove_predict_costs *costs, const grove_predict_shape *shape,
                                double kind)
{
    return costs->phase * (shape->jones == PREDICT_COSTS_VARIED
                               ? 0.4 * kind + collecting(shape) * (double)shape->elements / 4
                               : kind);
}

double grove_predict_cost_of_stations(const grove_predict_costs *costs,
                                      const grove_predict_shape *shape)
{
    const double fit = shape->fitted && shape->jones == PREDICT_COSTS_POINTS ? 30 : 0; /* a row */
    double n = (double)shape->stations, sums = sums_of(shape), phase = 1, pair = 1;
    double together = 4; /* stations on the left of a tile of pairs */

    if (shape->jones == PREDICT_COSTS_POINTS) { /* phases once, panels for each sum */
        phase = 0.7 + 0.3 * sums;
        pair = sums;
    } else if (!grove_predict_by_matrices(shape->elements, shape->sums, shape->stations)) {
        phase = shape->elements == 2 ? 0.75 + 0.2 * sums : 0.5 + 0.12 * sums;
        pair = sums / 12;
    } else {
        together = 2;
    }
    /* a tile is computed if any of its rows is there */
    const double there = shape->share > 0 ? 1 - pow(1 - shape->share, together) : 1;
    return shared(shape, 100, 13 + fit, 5.7) + lanes_of_source(shape) * (double)shape->channels *
                                                   (n * phase_by_stations(costs, shape, phase) +
                                                    n * (n - 1) / 2 * pair * costs->pair * there);
}
