/* The vectorised sums over sources by themselves: every way, instruction set and precision against
 * long double sums over random geometry; any cut into tiles and pieces gives the same bits. */
#include "predict-world.h"
#include "tests/common/suite.h"

#include <stdio.h>

/* ---- the kernel ---- */

/* Inputs in the precision of the run. */
static void *converted(const double *from, size_t count, int single)
{
    void *to = calloc(count + 1, sizeof(double));

    for (size_t i = 0; i < count; i++)
        if (single)
            ((float *)to)[i] = (float)from[i];
        else
            ((double *)to)[i] = from[i];
    return to;
}

typedef struct {
    grove_args args;
    void *brightness, *jones[2];
} call;

static void set_view(grove_view *view, void *data, int shape, int bytes, const int64_t stride[4])
{
    static const int elements[] = {0, 1, 2, 0, 4, 0, 0, 0, 3};

    *view = (grove_view){.data = data, .elements = elements[shape], .shape = shape, .bytes = bytes};
    view->complex_ = shape != GROVE_VECTOR && bytes != 9;
    for (int d = 0; d < 4; d++)
        view->stride[d] = stride[d];
}

/* Axes source, time, baseline, freq. */
static call make_call(const setup *c, world *w, grove_isa isa, int single)
{
    const int64_t n = single ? 4 : 8, v = 24, row = MAX_BASELINES * v;
    const int64_t station = 8 * n * c->channels, time = STATIONS * station;
    call k = {0};
    grove_args *a = &k.args;

    *a = (grove_args){
        .axes = 4,
        .inputs = 12,
        .size = {c->sources, c->times, c->baselines, c->channels},
        .axis = {GROVE_AXIS_SOURCE, GROVE_AXIS_TIME, GROVE_AXIS_BASELINE, GROVE_AXIS_FREQ}};
    set_plan(c, w, isa, a);
    k.brightness = converted(w->brightness[0][0], (size_t)c->sources * MAX_CHANNELS * 8, single);
    set_view(&a->in[0], k.brightness, c->elements, (int)n,
             (int64_t[]){8 * n * MAX_CHANNELS, 0, 0, c->spectra ? 8 * n : 0});
    set_view(&a->in[1], w->lmn, GROVE_VECTOR, 8, (int64_t[]){v, 0, 0, 0});
    if (c->gaussians)
        set_view(&a->in[2], w->shape, GROVE_VECTOR, 8, (int64_t[]){2 * v, 0, 0, 0});
    a->in[2].elements = 6;
    set_view(&a->in[3], w->uvw, GROVE_VECTOR, 8, (int64_t[]){0, row, v, 0});
    set_view(&a->in[4], w->freq, GROVE_SCALAR, 8, (int64_t[]){0, 0, 0, 8});
    if (c->smear & 1) {
        set_view(&a->in[5], w->rate, GROVE_VECTOR, 8, (int64_t[]){0, row, v, 0});
        set_view(&a->in[6], w->interval, GROVE_SCALAR, 8, (int64_t[]){0, 8, 0, 0});
    }
    if (c->smear & 2)
        set_view(&a->in[7], w->width, GROVE_SCALAR, 8, (int64_t[]){0, 0, 0, 8});
    for (int side = 0; side < 2 && c->jones; side++) {
        int alone = c->jones == APPARENT_JONES;
        size_t numbers = c->jones >= SOURCE_JONES ? jones_at(c, c->sources, 0, 0, 0)
                                                  : jones_at(c, 0, c->times, 0, 0);
        k.jones[side] = converted(w->jones[side], numbers, single);
        set_view(&a->in[8 + side], k.jones[side], c->jones_shape, (int)n,
                 (int64_t[]){c->jones >= SOURCE_JONES ? time * c->times : 0, alone ? 0 : time,
                             alone ? 0 : station, c->flat_jones ? 0 : 8 * n});
        a->in[8 + side].gather = alone ? NULL : w->gather[side];
        a->in[8 + side].gather_axis = 2;
    }
    for (int side = 0; side < 2 && (c->way == GROVE_PREDICT_STATION || c->factors); side++) {
        grove_view *view = &a->in[GROVE_PREDICT_UVW_LEFT + side];
        set_view(view, w->station, GROVE_VECTOR, 8, (int64_t[]){0, STATIONS * v, v, 0});
        view->gather = w->gather[side];
        view->gather_axis = 2;
    }
    return k;
}

static void free_call(call *k)
{
    free(k->brightness);
    free(k->jones[0]);
    free(k->jones[1]);
}

/* Computes a part of the cells into their place in `out`, in pieces for so many threads, from the
 * last to the first. Returns their number. */
static int64_t compute(const setup *c, const call *k, const int first[3], const int count[3],
                       char *out, int single, int threads)
{
    grove_args a = k->args;
    const int64_t cell = out_elements(c) * (single ? 8 : 16);
    grove_predict_sum *sum;

    set_view(&a.out, out, out_elements(c), single ? 4 : 8,
             (int64_t[]){0, cell * c->channels * c->baselines, cell * c->channels, cell});
    for (int d = 0; d < 3; d++) {
        for (int i = 0; i < 12; i++)
            if (a.in[i].data && !(a.in[i].gather && d == 1))
                a.in[i].data = (char *)a.in[i].data + a.in[i].stride[d + 1] * first[d];
            else if (a.in[i].gather)
                a.in[i].gather += first[d];
        a.out.data = (char *)a.out.data + a.out.stride[d + 1] * first[d];
        a.size[d + 1] = count[d];
        a.origin[d + 1] = first[d];
    }
    int64_t pieces = 0;
    sum = grove_predict_sum_new(&a);
    ck_assert_ptr_nonnull(sum);
    for (grove_predict_sum *of = sum; of; of = grove_predict_sum_next(of)) {
        grove_predict_sum_cut(of, threads);
        int64_t count_of = grove_predict_sum_pieces(of);
        for (int64_t i = count_of - 1; i >= 0; i--)
            grove_predict_sum_run(of, i, i + 1);
        ck_assert(!grove_predict_sum_failed(of));
        pieces += count_of;
    }
    grove_predict_sum_free(sum);
    return pieces;
}

static double number_of(const char *out, int64_t k, int single)
{
    return single ? (double)((const float *)(const void *)out)[k]
                  : ((const double *)(const void *)out)[k];
}

static double error_of(const setup *c, const world *w, const char *out, int single)
{
    long double error = 0, norm = 0;
    int64_t at = 0;

    for (int t = 0; t < c->times; t++)
        for (int b = 0; b < c->baselines; b++)
            for (int k = 0; k < c->channels; k++) {
                matrix sum;
                int skipped = c->channels > 20 && (t * 5 + b * 3 + k) % 7;
                if (!skipped)
                    true_cell(c, w, t, b, k, sum);
                for (int e = 0; e < out_elements(c); e++, at++) {
                    long double complex is =
                        number_of(out, 2 * at, single) +
                        number_of(out, 2 * at + 1, single) * (long double complex)I;
                    if (skipped)
                        continue;
                    error += cabsl(is - sum[e]) * cabsl(is - sum[e]);
                    norm += cabsl(sum[e]) * cabsl(sum[e]);
                }
            }
    return norm > 0 ? (double)sqrtl(error / norm) : (double)sqrtl(error);
}

/* The whole again, in other tiles. */
static void check_tiles(const setup *c, const call *k, const char *whole, int single)
{
    size_t bytes =
        (size_t)(c->times * c->baselines * c->channels * out_elements(c)) * (single ? 8 : 16);
    char *part = calloc(bytes + 1, 1);
    const int step[3] = {3, 5, 37};

    for (int t = 0; t < c->times; t += step[0])
        for (int b = 0; b < c->baselines; b += step[1])
            for (int f = 0; f < c->channels; f += step[2]) {
                int first[3] = {t, b, f},
                    rest[3] = {c->times - t, c->baselines - b, c->channels - f};
                for (int d = 0; d < 3; d++)
                    rest[d] = rest[d] < step[d] ? rest[d] : step[d];
                compute(c, k, first, rest, part, single, 30 + f % 7);
            }
    ck_assert_msg(!memcmp(part, whole, bytes), "%s: tiles change bits", c->name);
    free(part);
}

static void check_setup(const setup *c)
{
    const int first[3] = {0, 0, 0}, count[3] = {c->times, c->baselines, c->channels};

    for (int single = 0; single < 2; single++) {
        world *w = make_world(c, single);
        for (int isa = 0; isa < GROVE_ISAS; isa++) {
            if (!grove_isa_works((grove_isa)isa))
                continue;
            char *out = calloc((size_t)(c->times * c->baselines * c->channels * 4 + 1), 16);
            call k = make_call(c, w, (grove_isa)isa, single);
            compute(c, &k, first, count, out, single, 1);
            double error = error_of(c, w, out, single);
            ck_assert_msg(error < (single ? 1e-6 : 1e-12), "%s: %s, %s: %g", c->name,
                          grove_isa_name((grove_isa)isa), single ? "single" : "double", error);
            check_tiles(c, &k, out, single);
            free_call(&k);
            free(out);
        }
        free_world(w);
    }
}

#define BASELINE .way = GROVE_PREDICT_BASELINE

static const setup baselines[] = {
    {"points", 50, 3, 11, 64, 1, BASELINE},
    {"points, diagonal", 50, 2, 9, 40, 2, BASELINE},
    {"points, matrix", 50, 2, 9, 40, 4, BASELINE},
    {"many points", 300, 1, 9, 20, 1, BASELINE},
    {"smeared in time", 50, 3, 11, 70, 1, .smear = 1, BASELINE},
    {"smeared in frequency", 50, 3, 11, 70, 1, .smear = 2, BASELINE},
    {"smeared, matrix", 20, 3, 11, 130, 4, .smear = 3, BASELINE},
    {"unequal widths", 20, 3, 11, 70, 2, .smear = 3, .unequal_widths = 1, BASELINE},
    {"spectra", 50, 3, 5, 70, 1, .spectra = 1, BASELINE},
    {"spectra, matrix", 21, 3, 5, 150, 4, .spectra = 1, .smear = 3, BASELINE},
    {"Gaussians", 21, 3, 5, 150, 1, .gaussians = 1, BASELINE},
    {"Gaussians, downwards", 21, 3, 5, 150, 1, .gaussians = 1, .highest = 2e9, .smear = 1,
     BASELINE},
    {"Gaussians, to zero frequency", 21, 3, 5, 60, 1, .gaussians = 2, .highest = 4.7e8, BASELINE},
    {"Gaussians, matrix", 21, 3, 5, 70, 4, .gaussians = 1, .smear = 1, BASELINE},
    {"Gaussians, unequal widths", 21, 3, 5, 70, 1, .gaussians = 1, .smear = 2, .unequal_widths = 1,
     BASELINE},
    {"large Gaussians", 21, 3, 11, 70, 1, .gaussians = 30, .highest = 1e9, BASELINE},
    {"very large Gaussians", 21, 3, 11, 70, 1, .gaussians = 3000, BASELINE},
    {"Gaussians, all", 21, 3, 5, 70, 4, .spectra = 1, .gaussians = 1, .smear = 3, BASELINE},
    {"irregular", 21, 3, 5, 30, 1, .irregular = 1, BASELINE},
    {"irregular, all", 21, 3, 5, 70, 4, .irregular = 1, .spectra = 1, .gaussians = 1, .smear = 3,
     BASELINE},
    {"nearly regular", 50, 3, 21, 70, 1, .nearly = 0.02, BASELINE},
    {"nearly regular, all", 21, 3, 21, 70, 4, .nearly = 0.02, .spectra = 1, .gaussians = 1,
     .smear = 3, BASELINE},
    {"near, at the centre, few", 3, 3, 21, 8, 1, .nearly = 1e5, .smear = 3, .centre = 1, BASELINE},
    {"near, at the centre", 7, 3, 21, 70, 4, .nearly = 1e5, .smear = 3, .centre = 1, BASELINE},
    {"mixed", 100, 1, 11, 70, 4, .mixed = 1, BASELINE},
    {"mixed, all", 100, 1, 5, 70, 4, .mixed = 1, .spectra = 1, .gaussians = 1, .smear = 3,
     BASELINE},
    {"mixed, diagonal fluxes", 100, 1, 11, 3, 2, .mixed = 1, .smear = 1, BASELINE},
    {"mixed, Jones around", 100, 1, 11, 20, 4, .mixed = 1, .jones = STATION_JONES, .jones_shape = 4,
     BASELINE},
    {"mixed, apparent", 100, 1, 11, 20, 4, .mixed = 1, .jones = APPARENT_JONES, .jones_shape = 1,
     BASELINE},
    {"one channel", 300, 3, 21, 1, 1, BASELINE},
    {"one channel, all", 33, 3, 21, 1, 4, .gaussians = 1, .smear = 3, BASELINE},
    {"one channel, factors", 300, 2, 21, 1, 1, .smear = 3, .strays = 4, .factors = 1, BASELINE},
    {"two channels, factors", 40, 3, 21, 2, 4, .smear = 1, .gaussians = 1, .factors = 1, BASELINE},
    {"four channels, factors", 40, 1, 21, 4, 1, .smear = 3, .factors = 1, BASELINE},
    {"one channel, factors, mixed", 100, 2, 21, 1, 2, .smear = 2, .mixed = 1, .factors = 1,
     .strays = 9, BASELINE},
    {"irregular, factors", 40, 2, 21, 5, 1, .smear = 3, .irregular = 1, .unequal_widths = 1,
     .spectra = 1, .factors = 1, BASELINE},
    {"three channels", 33, 3, 21, 3, 1, .smear = 1, BASELINE},
    {"five channels", 33, 3, 21, 5, 1, .smear = 1, BASELINE},
    {"four channels, far", 33, 3, 21, 4, 1, .smear = 3, .highest = 2e10, BASELINE},
    {"four channels, matrix", 33, 2, 21, 4, 4, .smear = 3, .gaussians = 1, BASELINE},
    {"eight channels", 300, 1, 21, 8, 1, BASELINE},
    {"eight channels, Gaussians", 33, 2, 21, 8, 1, .smear = 3, .gaussians = 2, BASELINE},
    {"twelve channels, all", 33, 2, 11, 12, 4, .spectra = 1, .gaussians = 1, .smear = 3,
     .highest = 1.1e9, BASELINE},
    {"nine channels, nearly regular", 33, 1, 21, 9, 2, .nearly = 0.02, .smear = 2, BASELINE},
    {"six unequal widths", 33, 1, 21, 6, 1, .smear = 3, .unequal_widths = 1, BASELINE},
    {"a last block of sixteen", 21, 1, 11, 80, 1, .smear = 1, BASELINE},
    {"one after sixteen", 33, 2, 21, 17, 1, .gaussians = 1, BASELINE},
    {"two after sixteen, all", 33, 2, 21, 18, 4, .spectra = 1, .gaussians = 1, .smear = 3,
     BASELINE},
    {"one after thirty-two, nearly regular", 33, 1, 21, 33, 2, .nearly = 0.02, .smear = 1,
     BASELINE},
    {"a last block of eighteen", 21, 1, 11, 82, 4, .smear = 3, BASELINE},
    {"three groups", 40, 1, 21, 40, 1, .smear = 1, BASELINE},
    {"a last block of three", 21, 1, 11, 131, 4, .smear = 3, BASELINE},
    {"a last block of five", 21, 1, 11, 69, 4, BASELINE},
    {"a last block of seven", 21, 1, 11, 71, 4, .smear = 1, BASELINE},
    {"one source", 1, 3, 21, 64, 4, BASELINE},
    {"no source", 0, 3, 21, 64, 4, BASELINE},
    {"one row", 50, 1, 1, 64, 1, .smear = 3, BASELINE},
    {"one of each", 1, 1, 1, 1, 1, .smear = 3, BASELINE},
    {"Jones around", 20, 3, 11, 70, 4, .smear = 3, .jones = STATION_JONES, .jones_shape = 4,
     BASELINE},
    {"diagonal around", 20, 3, 11, 70, 1, .jones = STATION_JONES, .jones_shape = 2, BASELINE},
    {"apparent", 20, 3, 11, 70, 4, .smear = 3, .jones = APPARENT_JONES, .jones_shape = 4, BASELINE},
    {"apparent, scalars", 20, 3, 11, 70, 1, .spectra = 1, .gaussians = 1, .smear = 3,
     .jones = APPARENT_JONES, .jones_shape = 1, BASELINE},
    {"apparent, diagonals", 20, 3, 11, 3, 1, .jones = APPARENT_JONES, .jones_shape = 2, BASELINE},
    {"scalar around", 20, 3, 11, 7, 2, .jones = STATION_JONES, .jones_shape = 1, BASELINE},
};

/* Jones terms of source and station within the sum for baselines. */
#define WITHIN(shape) .jones = SOURCE_JONES, .jones_shape = shape, BASELINE
#define FLAT(shape)   .flat_jones = 1, WITHIN(shape)

static const setup within[] = {
    {"matrices", 50, 3, 11, 64, 4, FLAT(4)},
    {"smeared in time", 50, 3, 11, 70, 4, .smear = 1, FLAT(4)},
    {"smeared in frequency", 50, 3, 11, 70, 4, .smear = 2, FLAT(4)},
    {"smeared", 20, 3, 11, 130, 4, .smear = 3, FLAT(4)},
    {"many sources", 300, 1, 9, 20, 4, FLAT(4)},
    {"unequal widths", 20, 3, 11, 70, 4, .smear = 3, .unequal_widths = 1, FLAT(4)},
    {"Gaussians", 21, 3, 5, 150, 4, .gaussians = 1, .smear = 3, FLAT(4)},
    {"spectra", 21, 3, 5, 150, 4, .spectra = 1, .smear = 3, FLAT(4)},
    {"spectra of scalars", 21, 3, 5, 70, 1, .spectra = 1, .gaussians = 1, .smear = 3, FLAT(4)},
    {"varying", 21, 3, 5, 70, 4, .smear = 3, WITHIN(4)},
    {"varying, all", 21, 3, 5, 150, 4, .spectra = 1, .gaussians = 1, .smear = 3, WITHIN(4)},
    {"varying, unequal widths", 21, 3, 5, 70, 2, .smear = 3, .unequal_widths = 1, WITHIN(4)},
    {"irregular", 90, 3, 5, 30, 4, .irregular = 1, .smear = 3, FLAT(4)},
    {"irregular, spectra", 21, 3, 5, 30, 4, .irregular = 1, .spectra = 1, .smear = 3, FLAT(4)},
    {"irregular, all", 90, 3, 5, 70, 4, .irregular = 1, .spectra = 1, .gaussians = 1, .smear = 3,
     WITHIN(4)},
    {"nearly regular", 90, 3, 21, 70, 4, .nearly = 0.02, .smear = 3, FLAT(4)},
    {"near, at the centre", 9, 3, 21, 70, 4, .nearly = 1e5, .smear = 3, .centre = 1, FLAT(4)},
    {"nearly regular, varying", 21, 2, 21, 30, 4, .nearly = 0.02, .gaussians = 1, WITHIN(4)},
    {"irregular, scalars", 90, 3, 5, 70, 1, .irregular = 1, .spectra = 1, .smear = 3, FLAT(1)},
    {"one channel", 300, 3, 21, 1, 4, .smear = 3, WITHIN(4)},
    {"three channels", 33, 3, 21, 3, 4, .gaussians = 1, .smear = 1, FLAT(4)},
    {"scalars", 50, 3, 11, 70, 1, .smear = 3, FLAT(1)},
    {"scalars, matrix fluxes", 50, 3, 11, 70, 4, .smear = 3, .gaussians = 1, FLAT(1)},
    {"diagonals", 50, 3, 11, 70, 1, .smear = 3, FLAT(2)},
    {"diagonals, matrix fluxes", 50, 3, 11, 70, 4, .smear = 1, .spectra = 1, FLAT(2)},
    {"diagonals, varying", 50, 3, 11, 70, 2, .smear = 1, WITHIN(2)},
    {"diagonals, varying, few and mixed", 6, 3, 11, 70, 4, .smear = 1, .mixed = 1, WITHIN(2)},
    {"matrices, scalar fluxes", 50, 3, 11, 70, 1, .smear = 2, FLAT(4)},
    {"mixed, diagonals", 100, 1, 11, 20, 4, .mixed = 1, .gaussians = 1, FLAT(2)},
    {"a last block of one", 21, 1, 11, 65, 4, .smear = 3, FLAT(4)},
    {"one source", 1, 3, 21, 64, 4, .smear = 3, FLAT(4)},
    {"no source", 0, 3, 21, 64, 4, .smear = 3, WITHIN(4)},
    {"one row", 50, 1, 1, 64, 4, .smear = 3, FLAT(4)},
    {"one of each", 1, 1, 1, 1, 4, .smear = 3, WITHIN(4)},
};

LOOP_TEST(jones_within, 0, sizeof(within) / sizeof(within[0]))
{
    check_setup(&within[_i]);
}

LOOP_TEST(baseline_form, 0, sizeof(baselines) / sizeof(baselines[0]))
{
    check_setup(&baselines[_i]);
}

#define STATION .way = GROVE_PREDICT_STATION
/* Jones terms that channels share. */
#define SHARED(shape) .flat_jones = 1, .jones = SOURCE_JONES, .jones_shape = shape, STATION

static const setup stations[] = {
    {"scalars", 300, 3, 21, 1, 1, STATION},
    {"diagonals", 33, 3, 21, 3, 2, STATION},
    {"matrices", 33, 3, 21, 5, 4, STATION},
    {"spectra", 33, 3, 21, 5, 4, .spectra = 1, .irregular = 1, STATION},
    {"strays", 50, 4, 21, 3, 4, .strays = 3, STATION},
    {"strays, nearly regular", 50, 4, 21, 20, 1, .strays = 3, .nearly = 0.02, STATION},
    {"mixed", 200, 1, 21, 3, 4, .mixed = 1, .gaussians = 1, STATION},
    {"mixed, strays", 200, 1, 11, 20, 4, .mixed = 1, .gaussians = 1, .spectra = 1, .strays = 3,
     .nearly = 0.02, STATION},
    {"mixed, Jones around", 200, 1, 11, 3, 4, .mixed = 1, .gaussians = 1, .jones = STATION_JONES,
     .jones_shape = 4, STATION},
    {"mixed, Jones", 200, 1, 11, 9, 4, .mixed = 1, .gaussians = 1, .jones = SOURCE_JONES,
     .jones_shape = 4, STATION},
    {"mixed, diagonal Jones", 200, 1, 11, 9, 4, .mixed = 1, .gaussians = 1, .jones = SOURCE_JONES,
     .jones_shape = 2, STATION},
    {"Gaussians among them", 50, 4, 21, 3, 1, .gaussians = 1, STATION},
    {"one source", 1, 3, 21, 2, 4, STATION},
    {"no source", 0, 3, 21, 2, 4, STATION},
    {"one row", 50, 1, 1, 1, 1, STATION},
    {"more sources than a panel", 600, 1, 5, 1, 1, STATION},
    {"more sources than a panel, Jones", 600, 1, 21, 5, 4, .spectra = 1, .jones = SOURCE_JONES,
     .jones_shape = 4, STATION},
    {"more sources than a panel, diagonal Jones", 600, 1, 21, 5, 2, .jones = SOURCE_JONES,
     .jones_shape = 2, STATION},
    {"Jones around", 50, 2, 21, 3, 4, .jones = STATION_JONES, .jones_shape = 4, STATION},
    {"scalar Jones", 50, 2, 21, 3, 1, .jones = SOURCE_JONES, .jones_shape = 1, STATION},
    {"diagonal Jones", 50, 2, 21, 3, 1, .jones = SOURCE_JONES, .jones_shape = 2, STATION},
    {"Jones", 50, 2, 21, 7, 4, .spectra = 1, .jones = SOURCE_JONES, .jones_shape = 4, STATION},
    {"Jones, scalar fluxes", 50, 2, 21, 3, 1, .jones = SOURCE_JONES, .jones_shape = 4, STATION},
    {"apparent and strays", 20, 2, 21, 3, 1, .strays = 2, .jones = APPARENT_JONES, .jones_shape = 4,
     STATION},
    {"shared, scalars", 70, 2, 21, 20, 1, .smear = 3, .spectra = 1, .strays = 3, SHARED(1)},
    {"shared, polarised", 70, 2, 21, 20, 4, .smear = 1, .gaussians = 1, .spectra = 1, SHARED(1)},
    {"shared, diagonals", 200, 1, 21, 12, 2, .smear = 2, .spectra = 1, .mixed = 1, SHARED(2)},
    {"shared, matrices", 70, 1, 21, 12, 4, .smear = 3, .spectra = 1, .strays = 3, .small = 1,
     SHARED(4)},
    {"shared, one vector of them", 16, 1, 21, 40, 1, .smear = 2, .spectra = 1, SHARED(1)},
    {"shared, no source", 0, 2, 21, 20, 1, .smear = 3, SHARED(1)},
    {"small strays of diagonals", 70, 2, 21, 5, 4, .smear = 1, .strays = 3, .small = 1, SHARED(2)},
    {"Jones, smeared", 50, 2, 21, 70, 4, .smear = 3, .jones = SOURCE_JONES, .jones_shape = 4,
     STATION},
    {"Jones, smeared, and strays", 50, 2, 21, 40, 4, .smear = 3, .strays = 3, .jones = SOURCE_JONES,
     .jones_shape = 4, STATION},
    {"Jones, few sources, many rows", 5, 2, 140, 40, 4, .smear = 3, .strays = 5, .spectra = 1,
     .jones = SOURCE_JONES, .jones_shape = 4, STATION},
    {"diagonal Jones, few sources, many rows", 8, 1, 130, 20, 4, .smear = 1, .gaussians = 1,
     .jones = SOURCE_JONES, .jones_shape = 2, STATION},
    {"Jones, many rows", 20, 1, 140, 20, 4, .smear = 1, .jones = SOURCE_JONES, .jones_shape = 4,
     STATION},
    {"Jones, irregular", 50, 2, 21, 40, 4, .smear = 3, .irregular = 1, .unequal_widths = 1,
     .flat_jones = 1, .jones = SOURCE_JONES, .jones_shape = 4, STATION},
    {"Jones and Gaussians", 300, 2, 21, 20, 4, .gaussians = 1, .spectra = 1, .jones = SOURCE_JONES,
     .jones_shape = 4, STATION},
    {"diagonal Jones, all", 50, 2, 21, 20, 4, .gaussians = 1, .smear = 3, .strays = 4,
     .jones = SOURCE_JONES, .jones_shape = 2, STATION},
    {"scalar Jones, smeared", 50, 2, 21, 20, 1, .smear = 1, .strays = 4, .jones = SOURCE_JONES,
     .jones_shape = 1, STATION},
    {"one channel, Jones, smeared", 300, 2, 21, 1, 4, .smear = 3, .strays = 3, .gaussians = 1,
     .jones = SOURCE_JONES, .jones_shape = 4, STATION},
    {"few channels, Jones, spectra", 70, 2, 21, 5, 4, .smear = 3, .spectra = 1, .irregular = 1,
     .unequal_widths = 1, .jones = SOURCE_JONES, .jones_shape = 4, STATION},
    {"few channels, diagonal Jones", 70, 2, 21, 3, 4, .smear = 1, .strays = 3,
     .jones = SOURCE_JONES, .jones_shape = 2, STATION},
    {"few channels, scalars", 70, 2, 21, 3, 1, .smear = 2, .gaussians = 1, .flat_jones = 1,
     .jones = SOURCE_JONES, .jones_shape = 1, STATION},
    {"diagonal Jones, many stations", 50, 2, 21, 3, 4, .many = 1, .jones = SOURCE_JONES,
     .jones_shape = 2, STATION},
    {"diagonal Jones, few stations", 50, 2, 21, 3, 4, .jones = SOURCE_JONES, .jones_shape = 2,
     STATION},
    {"scalar Jones, polarised", 50, 2, 21, 3, 4, .jones = SOURCE_JONES, .jones_shape = 1, STATION},
    {"Jones and strays", 20, 2, 21, 3, 4, .strays = 2, .jones = SOURCE_JONES, .jones_shape = 4,
     STATION},
};

LOOP_TEST(station_form, 0, sizeof(stations) / sizeof(stations[0]))
{
    check_setup(&stations[_i]);
}

/* Strays of a sum by stations take the form of sums by baselines, with all its bits; other rows do
 * not. */
LOOP_TEST(strays_by_baselines, 0, 3)
{
    static const setup all[] = {{"points", 300, 1, 21, 1, 1, .strays = 3, STATION},
                                {"one channel", 300, 1, 21, 1, 4, .strays = 3,
                                 .jones = SOURCE_JONES, .jones_shape = 4, STATION},
                                {"channels", 20, 1, 21, 16, 4, .strays = 3, .jones = SOURCE_JONES,
                                 .jones_shape = 4, STATION}};
    setup c = all[_i];
    const int first[3] = {0, 0, 0}, count[3] = {1, 21, c.channels};
    const size_t row = (size_t)c.channels * (size_t)out_elements(&c) * 8;
    char *by[2] = {calloc(21, row), calloc(21, row)};
    world *w = make_world(&c, 1);

    for (int i = 0; i < 2; i++) {
        c.factors = i; /* coordinates of stations */
        c.way = i ? GROVE_PREDICT_BASELINE : GROVE_PREDICT_STATION;
        call k = make_call(&c, w, GROVE_ISA_PORTABLE, 1);
        ((grove_predict_plan *)(void *)k.args.state.bytes)->factors = 0;
        compute(&c, &k, first, count, by[i], 1, 1);
        free_call(&k);
    }
    for (int b = 0; b < 21; b++)
        ck_assert_int_eq(!memcmp(by[0] + row * (size_t)b, by[1] + row * (size_t)b, row),
                         b % 3 == 0);
    free(by[0]);
    free(by[1]);
    free_world(w);
}

/* One time and channel, in parts of the cells. */
LOOP_TEST(threads_change_no_bit, 0, 4)
{
    static const setup all[] = {{"one channel", 300, 1, 49, 1, 4, STATION},
                                {"one channel, Jones around", 90, 1, 49, 1, 4,
                                 .jones = STATION_JONES, .jones_shape = 4, STATION},
                                {"one channel, diagonal Jones", 90, 1, 49, 1, 4,
                                 .jones = SOURCE_JONES, .jones_shape = 2, STATION},
                                {"one channel, Jones", 300, 1, 49, 1, 4, .strays = 5,
                                 .jones = SOURCE_JONES, .jones_shape = 4, STATION}};
    const setup *c = &all[_i];
    const int first[3] = {0, 0, 0}, count[3] = {1, 49, 1};

    for (int isa = 0; isa < GROVE_ISAS; isa++)
        for (int single = 0; single < 2 && grove_isa_works((grove_isa)isa); single++) {
            world *w = make_world(c, single);
            call k = make_call(c, w, (grove_isa)isa, single);
            char *whole = calloc(49 * 4, 16), *out = calloc(49 * 4, 16);
            int64_t pieces = compute(c, &k, first, count, whole, single, 1);
            for (int threads = 2; threads < 40; threads += threads < 9 ? 1 : 15) {
                memset(out, 0, 49 * 4 * 16);
                int64_t cut = compute(c, &k, first, count, out, single, threads);
                ck_assert_int_gt(cut, pieces);
                ck_assert_msg(!memcmp(out, whole, 49 * 4 * 16), "%s: %d threads change bits",
                              c->name, threads);
            }
            ck_assert(error_of(c, w, out, single) < (single ? 1e-6 : 1e-12));
            free_call(&k);
            free(whole);
            free(out);
            free_world(w);
        }
}

/* A part of the channels may need fewer sums than the whole: unpolarised, or the same in both. */
LOOP_TEST(equal_elements_change_no_bit, 0, 2)
{
    setup c = {"equal elements", 20, 1, 11, 100, 4, .spectra = 1, .smear = 3, BASELINE};
    c.jones = _i ? SOURCE_JONES : 0, c.jones_shape = GROVE_MATRIX;
    const int first[3] = {0, 0, 0}, count[3] = {1, 11, 100};

    for (int isa = 0; isa < GROVE_ISAS; isa++)
        for (int single = 0; single < 2 && grove_isa_works((grove_isa)isa); single++) {
            world *w = make_world(&c, single);
            for (int s = 0; s < 20; s++)
                for (int k = 0; k < 60; k++) {
                    double *b = w->brightness[s][k];
                    b[6] = b[0];
                    b[1] = b[7] = 0;
                    b[4] = k < 30 ? (b[2] = 0) : b[2];
                    b[5] = k < 30 ? (b[3] = 0) : -b[3];
                }
            char *out = calloc(11 * 100 * 4, 16);
            call k = make_call(&c, w, (grove_isa)isa, single);
            compute(&c, &k, first, count, out, single, 1);
            ck_assert(error_of(&c, w, out, single) < (single ? 1e-6 : 1e-12));
            check_tiles(&c, &k, out, single);
            free_call(&k);
            free(out);
            free_world(w);
        }
}

/* Channels just within and beyond the distance from equal spacing that turns a row's phases by
 * 1e-7: within it the row has the bits of equally spaced channels, beyond not. */
TEST(nearly_regular_by_row)
{
    setup c = {"nearly regular", 50, 1, 21, 64, 1, BASELINE};
    const int first[3] = {0, 0, 0}, count[3] = {1, 21, 64};
    enum { ROW = 64 * 8 };
    char *equal = calloc(21, ROW), *out = calloc(21, ROW);

    for (int beyond = 0; beyond < 2; beyond++) {
        world *w = make_world(&c, 1);
        double length[21];
        int even = 0;
        for (int b = 0; b < 21; b++)
            length[b] = fabs(w->uvw[0][b][0]) + fabs(w->uvw[0][b][1]) + fabs(w->uvw[0][b][2]);
        double most = 1e-7 * GROVE_SPEED_OF_LIGHT / 0.4 / length[3]; /* 0.4: of the second source */
        call k = make_call(&c, w, GROVE_ISA_PORTABLE, 1);
        compute(&c, &k, first, count, equal, 1, 1);
        free_call(&k);
        w->freq[30] += most * (beyond ? 1.01 : 0.99);
        k = make_call(&c, w, GROVE_ISA_PORTABLE, 1);
        compute(&c, &k, first, count, out, 1, 1);
        ck_assert(error_of(&c, w, out, 1) < 1e-6);
        for (int b = 0; b < 21; b++) {
            int fits = length[b] * (beyond ? 1.01 : 0.99) < length[3];
            ck_assert_int_eq(!memcmp(out + b * ROW, equal + b * ROW, ROW), fits);
            even += fits;
        }
        ck_assert_msg(even > 1 && even < 20, "%d", even);
        free_call(&k);
        free_world(w);
    }
    free(equal);
    free(out);
}

TEST(isa_by_environment)
{
    grove_isa isa;
    char said[160];

    setenv("GROVE_ISA", "portable", 1);
    ck_assert_int_eq(grove_isa_choose(&isa, said), 0);
    ck_assert_int_eq(isa, GROVE_ISA_PORTABLE);
    setenv("GROVE_ISA", "mmx", 1);
    ck_assert_int_eq(grove_isa_choose(&isa, said), -1);
    ck_assert_str_eq(said, "GROVE_ISA is 'mmx'; it takes avx512, avx2 or portable");
    unsetenv("GROVE_ISA");
    ck_assert_int_eq(grove_isa_choose(&isa, said), 0);
    ck_assert_int_eq(isa, grove_isa_best());
}

SUITE(300, NULL, NULL)
