/* Sums by stations over a part of the rows of each time: the same bits as over all; tiles of the
 * products have the pairs of stations that some row needs. */
#include "../kernels/simd/isa.h"
#include "../kernels/sky/predict.h"
#include "../kernels/sky/predict_grid.h"
#include "tests/common/suite.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

enum { STATIONS = 24, PAIRS = STATIONS * (STATIONS - 1) / 2, TIMES = 3, SOURCES = 90, NUMBERS = 8 };

typedef struct {
    double lmn[SOURCES][3], station[TIMES][STATIONS][3], uvw[TIMES][PAIRS][3], freq;
    float flux[SOURCES][2], jones[SOURCES][STATIONS][NUMBERS];
    int32_t left[PAIRS], right[PAIRS];
    unsigned char skip[TIMES][PAIRS];
    float out[TIMES][PAIRS][NUMBERS];
} world;

static unsigned state;

static unsigned draw(void)
{
    state = state * 1664525 + 1013904223;
    return state >> 8;
}

static double number(void)
{
    return (double)draw() / (1 << 23) - 1;
}

static world *make_world(void)
{
    world *w = calloc(1, sizeof(*w));
    int b = 0;

    state = 1;
    w->freq = 1e9;
    for (int p = 0; p < STATIONS; p++)
        for (int q = p + 1; q < STATIONS; q++, b++)
            w->left[b] = p, w->right[b] = q;
    for (int t = 0; t < TIMES; t++)
        for (int k = 0; k < 3; k++) {
            for (int p = 0; p < STATIONS; p++)
                w->station[t][p][k] = 1000 * number();
            for (b = 0; b < PAIRS; b++)
                w->uvw[t][b][k] = w->station[t][w->left[b]][k] - w->station[t][w->right[b]][k];
        }
    for (int s = 0; s < SOURCES; s++) {
        for (int k = 0; k < 3; k++)
            w->lmn[s][k] = 0.01 * number();
        w->flux[s][0] = (float)(1 + number());
        for (int p = 0; p < STATIONS; p++)
            for (int k = 0; k < NUMBERS; k++)
                w->jones[s][p][k] = (float)number();
    }
    return suite_keep(w);
}

static void set(grove_args *a, int input, void *data, int shape, int elements, int64_t bytes,
                int64_t source, int64_t time, int64_t baseline)
{
    a->in[input] = (grove_view){.data = data, .shape = shape, .elements = elements};
    a->in[input].bytes = (int)bytes;
    a->in[input].complex_ = shape != GROVE_VECTOR && bytes == 4;
    a->in[input].stride[0] = source;
    a->in[input].stride[1] = time;
    a->in[input].stride[2] = baseline;
}

/* Axes source, time, baseline, freq. */
static void compute(world *w, int elements, bool skips, int isa, int threads)
{
    const int64_t cell = 8 * (int64_t)elements, v = 24;
    grove_predict_plan plan = {.way = GROVE_PREDICT_STATION,
                               .isa = isa,
                               .flat = 1,
                               .jones = elements == 4 ? GROVE_PREDICT_WITHIN : GROVE_PREDICT_AROUND,
                               .count = 1,
                               .reference = 1e9,
                               .stations = STATIONS};
    grove_args a = {
        .axes = 4,
        .inputs = GROVE_PREDICT_SKIP + 1,
        .size = {SOURCES, TIMES, PAIRS, 1},
        .axis = {GROVE_AXIS_SOURCE, GROVE_AXIS_TIME, GROVE_AXIS_BASELINE, GROVE_AXIS_FREQ}};

    if (a.inputs < GROVE_PREDICT_UVW_RIGHT + 1)
        a.inputs = GROVE_PREDICT_UVW_RIGHT + 1;
    memcpy(a.state.bytes, &plan, sizeof(plan));
    set(&a, GROVE_PREDICT_BRIGHTNESS, w->flux, GROVE_SCALAR, 1, 4, 8, 0, 0);
    set(&a, GROVE_PREDICT_LMN, w->lmn, GROVE_VECTOR, 3, 8, v, 0, 0);
    set(&a, GROVE_PREDICT_UVW, w->uvw, GROVE_VECTOR, 3, 8, 0, PAIRS * v, v);
    set(&a, GROVE_PREDICT_FREQ, &w->freq, GROVE_SCALAR, 1, 8, 0, 0, 0);
    for (int side = 0; side < 2; side++) {
        const int uvw = GROVE_PREDICT_UVW_LEFT + side, jones = GROVE_PREDICT_LEFT + side;
        set(&a, uvw, w->station, GROVE_VECTOR, 3, 8, 0, STATIONS * v, v);
        a.in[uvw].gather = side ? w->right : w->left;
        a.in[uvw].gather_axis = 2;
        if (elements < 4)
            continue;
        set(&a, jones, w->jones, GROVE_MATRIX, 4, 4, sizeof(w->jones[0]), 0, 32);
        a.in[jones].gather = side ? w->right : w->left;
        a.in[jones].gather_axis = 2;
    }
    if (skips)
        set(&a, GROVE_PREDICT_SKIP, w->skip, GROVE_SCALAR, 1, 1, 0, PAIRS, 1);
    a.out = (grove_view){.data = w->out, .shape = elements == 4 ? GROVE_MATRIX : GROVE_SCALAR};
    a.out.elements = elements;
    a.out.bytes = 4;
    a.out.complex_ = 1;
    a.out.stride[1] = PAIRS * cell;
    a.out.stride[2] = cell;
    grove_predict_sum *sum = grove_predict_sum_new(&a);
    ck_assert_ptr_nonnull(sum);
    ck_assert_ptr_null(grove_predict_sum_next(sum));
    grove_predict_sum_cut(sum, threads);
    grove_predict_sum_run(sum, 0, grove_predict_sum_pieces(sum));
    ck_assert(!grove_predict_sum_failed(sum));
    grove_predict_sum_free(sum);
}

/* The first time has one row out of eight, the second none, the third all. */
LOOP_TEST(same_bits, 0, 2)
{
    const int elements = _i ? 4 : 1;
    const size_t row = 8 * (size_t)elements, bytes = TIMES * PAIRS * row;
    char *all = malloc(bytes);

    for (int isa = 0; isa < GROVE_ISAS; isa++)
        for (int threads = 1; threads < 20 && grove_isa_works((grove_isa)isa); threads += 6) {
            world *w = make_world();
            compute(w, elements, false, isa, threads);
            memcpy(all, w->out, bytes);
            memset(w->out, 0x55, sizeof(w->out));
            for (int b = 0; b < PAIRS; b++)
                w->skip[0][b] = draw() % 8 > 0, w->skip[1][b] = 1;
            compute(w, elements, true, isa, threads);
            const unsigned char *skip = (const unsigned char *)w->skip;
            for (int at = 0; at < TIMES * PAIRS; at++) {
                const char *is = (const char *)w->out + row * (size_t)at;
                if (skip[at])
                    ck_assert_int_eq(*is, 0x55); /* nobody writes there */
                else
                    ck_assert(!memcmp(is, all + row * (size_t)at, row));
            }
        }
    free(all);
}

static int columns_of(const grove_predict_grid *g)
{
    int count = 0;

    for (int t = 0; t < g->tile_count; t++)
        count += g->tiles[t].columns;
    return count;
}

/* Each cell that is wanted has a place of its own, also in parts; tiles have no others than their
 * lines need. */
LOOP_TEST(few_tiles, 0, 2)
{
    enum { ROWS = 4, COLUMNS = 6 };
    const int sides = 1 + _i;
    world *w = make_world();
    unsigned char wanted[STATIONS * STATIONS] = {0};

    for (int b = 0; b < PAIRS; b += 9)
        wanted[w->left[b] * STATIONS + w->right[b]] = 1;
    grove_predict_grid *few = grove_predict_grid_new(STATIONS, sides, wanted, ROWS, COLUMNS);
    ck_assert(grove_predict_grid_cut(few, 3));
    ck_assert_int_eq(few->part_count, 3);
    ck_assert_int_le(columns_of(few), sides * (PAIRS / 9 + 1));
    unsigned char *taken = calloc((size_t)few->tile_count * ROWS * COLUMNS, 1);
    for (int b = 0; b < PAIRS; b += 9) {
        const int line = sides * few->place[0][w->left[b]];
        for (int k = 0; k < sides; k++) {
            const int column = sides * few->place[1][w->right[b]] + k;
            const int32_t at = few->cells[line / ROWS * sides * few->rows[1] + column];
            ck_assert_int_ge(at, 0);
            ck_assert_int_eq(taken[at + line % ROWS]++, 0);
        }
    }
    free(taken);
    grove_predict_grid_free(few);
}

SUITE(60, NULL, NULL)
