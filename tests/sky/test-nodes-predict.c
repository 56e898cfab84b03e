/* predict: the sum over sources against long double sums, with all kinds of Jones terms, channels
 * and smearing; any cut into tiles gives the same bits; MeqTrees' own values. */
#include "tests/common/grid.h"

#include "../kernels/sky/predict.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

TESTING_FIXTURE(grid_begin(&t))

/* ---- against long double ---- */

typedef long double complex matrix[4];

/* What the Jones terms of a station are in a case. */
typedef void (*jones_fn)(int s, int station, int channel, matrix j);

static void multiply(matrix out, const matrix a, const matrix b)
{
    for (int i = 0; i < 4; i++)
        out[i] = a[i & 2] * b[i & 1] + a[(i & 2) + 1] * b[(i & 1) + 2];
}

static void sum_truth(int smear, jones_fn jones, testing_value *to)
{
    int64_t at = 0;

    for (int time = 0; time < grid_now.times; time++)
        for (int b = 0; b < GRID_BASELINES; b++)
            for (int k = 0; k < grid_now.channels; k++, at++) {
                matrix sum = {0};
                int p, q;
                grid_pair(b, &p, &q);
                for (int s = 0; s < field_now.sources; s++) {
                    matrix v, left, right, hermitian, part, all;
                    grid_visibility(s, time, b, k, smear, v);
                    jones(s, p, k, left);
                    jones(s, q, k, right);
                    for (int e = 0; e < 4; e++)
                        hermitian[e] = conjl(right[e == 1 ? 2 : e == 2 ? 1 : e]);
                    multiply(part, left, v);
                    multiply(all, part, hermitian);
                    for (int e = 0; e < 4; e++)
                        sum[e] += all[e];
                }
                for (int e = 0; e < to->elements; e++)
                    to->at[to->elements * at + e] = (double complex)sum[e];
            }
    ck_assert_int_eq(at, to->cells);
}

static void check_tree(const char *definitions, int smear, jones_fn jones)
{
    char text[2048] = "obs = grid()\nS = field()\n";

    strcat(text, definitions);
    testing_tree(&t, text);
    for (int single = 0; single < 2; single++) {
        t.double_precision = !single;
        testing_value x = testing_evaluate(&t, "x"), y = testing_evaluate(&t, "x");
        ck_assert_int_eq(x.elements, 4);
        sum_truth(smear, jones, &y);
        double error = testing_distance(&x, &y);
        ck_assert_msg(error < (single ? 1e-6 : 2e-12), "%s: %g", definitions, error);
    }
}

static void no_jones(int s, int station, int channel, matrix j)
{
    (void)s, (void)station, (void)channel;
    memcpy(j, (matrix){1, 0, 0, 1}, sizeof(matrix));
}

static void check_smearing(void)
{
    static const char *const smears[] = {"none", "time", "freq", "both"};

    for (int smear = 0; smear < 4; smear++) {
        char text[64];
        snprintf(text, sizeof(text), "x = predict(S, obs, smear=%s)\n", smears[smear]);
        check_tree(text, smear, no_jones);
    }
}

TEST(sums_with_equal_channels)
{
    check_smearing();
    ck_assert_ptr_nonnull(strstr(testing_node(&t, "x")->note, "recurrence"));
}

TEST(sums_with_unequal_channels)
{
    for (int k = 0; k < grid_now.channels; k++) {
        grid_now.freq[k] += 1e5 * (k % 7);
        grid_now.width[k] += 1e5 * (k % 5);
    }
    check_smearing();
    ck_assert_ptr_nonnull(strstr(testing_node(&t, "x")->note, "every phase"));
}

TEST(sums_with_descending_channels)
{
    for (int k = 0; k < grid_now.channels; k++)
        grid_now.freq[k] = 1.5e9 - 3e5 * k;
    check_smearing();
}

/* Large smearing, several turns within a cell. */
TEST(sums_with_much_smearing)
{
    field_now.radec[5][0] += 0.4;
    grid_now.interval[1] = 600;
    for (int k = 0; k < grid_now.channels; k++)
        grid_now.width[k] = 2e7;
    check_smearing();
}

/* The frequencies that are given need not be those of the axis. */
TEST(sums_with_other_frequencies)
{
    double old[GRID_MAX];

    memcpy(old, grid_now.freq, sizeof(old));
    testing_tree(&t, "obs = grid()\nS = field()\nx = predict(S, obs, freq=2 * obs.freq, "
                     "brightness=brightness(S, obs, freq=2 * obs.freq))\n");
    testing_value x = testing_evaluate(&t, "x"), y = testing_evaluate(&t, "x");
    for (int k = 0; k < grid_now.channels; k++)
        grid_now.freq[k] = 2 * old[k];
    sum_truth(0, no_jones, &y);
    ck_assert(testing_distance(&x, &y) < 2e-12);
}

TEST(one_of_everything)
{
    grid_now.channels = 1;
    grid_now.times = 1;
    check_smearing();
    field_now.sources = 1;
    check_smearing();
    field_now.sources = 0;
    testing_tree(&t, "obs = grid()\nS = field()\nx = predict(S, obs, smear=both)\n");
    testing_value x = testing_evaluate(&t, "x");
    ck_assert_int_eq(x.cells, GRID_BASELINES);
    for (int i = 0; i < 4 * GRID_BASELINES; i++)
        ck_assert(x.at[i] == 0);
}

/* ---- Jones terms ---- */

static void scalar_jones(int s, int station, int channel, matrix j)
{
    long double complex x = 1 + 0.1L * s + 0.05L * station * I +
                            1e-10L * ((long double)grid_now.freq[channel] - 1.4e9L);

    memcpy(j, (matrix){x, 0, 0, x}, sizeof(matrix));
}

static void diagonal_jones(int s, int station, int channel, matrix j)
{
    scalar_jones(s, station, channel, j);
    j[3] = 2 * j[0];
}

static void full_jones(int s, int station, int channel, matrix j)
{
    scalar_jones(s, station, channel, j);
    j[1] = 0.1L * I * station;
    j[2] = 0.3L;
    j[3] = 2 * j[0];
}

/* Sources carry their number in absolute_angle, which points do not need. */
static void number_sources(void)
{
    for (int s = 0; s < field_now.sources; s++)
        field_now.absolute[s] = s;
}

#define JONES_SCALAR                                                                               \
    "g[s,p] = complex(1 + 0.1 * S.absolute_angle + 1e-10 * (obs.freq / 1Hz - 1.4e9), "             \
    "0.05 * obs.station_index)\n"                                                                  \
    "H = shape(S, obs, absolute_angle=0)\n"

TEST(jones_terms)
{
    number_sources();
    check_tree(JONES_SCALAR "x = predict(S, obs, smear=both, shape=H, left=g[s,p], "
                            "right=g[s,q]^H)\n",
               3, scalar_jones);
    check_tree(JONES_SCALAR "J[s,p] = diagonal(g[s,p], 2 * g[s,p])\n"
                            "x = predict(S, obs, smear=both, shape=H, left=J[s,p], "
                            "right=J[s,q]^H)\n",
               3, diagonal_jones);
    ck_assert_ptr_nonnull(strstr(testing_node(&t, "x")->note, "factors of stations"));
    check_tree(JONES_SCALAR "J[s,p] = matrix(g[s,p], 0.1i * obs.station_index, 0.3, 2 * g[s,p])\n"
                            "x = predict(S, obs, smear=none, shape=H, left=J[s,p], "
                            "right=J[s,q]^H)\n",
               0, full_jones);
}

/* A sum over sources of a product becomes predict, and means the same. */
TEST(sums_are_fused)
{
    number_sources();
    check_tree(JONES_SCALAR "J[s,p] = matrix(g[s,p], 0.1i * obs.station_index, 0.3, 2 * g[s,p])\n"
                            "x = sum[s](J[s,p] * point(S, obs, smear=both, shape=H) * "
                            "J[s,q]^H)\n",
               3, full_jones);
    const grove_node *x = testing_node(&t, "x");
    ck_assert_str_eq(x->class_->name, "predict");
}

/* Brightness that is a scalar or a diagonal, and that varies with time. */
TEST(other_brightness)
{
    testing_tree(&t, "obs = grid()\nS = field()\n"
                     "b = constant(2Jy) + constant(0Jy) * S.absolute_angle * obs.time / 1s\n"
                     "x = predict(S, obs, brightness=b)\n"
                     "y = predict(S, obs, brightness=diagonal(b, 3 * b))\n"
                     "z = predict(S, obs, brightness=b, left=rotation(0.2rad))\n");
    testing_value x = testing_evaluate(&t, "x"), y = testing_evaluate(&t, "y");
    testing_value z = testing_evaluate(&t, "z");
    int64_t at = 0;
    ck_assert_int_eq(x.elements, 1);
    ck_assert_int_eq(y.elements, 2);
    ck_assert_int_eq(z.elements, 4);
    for (int time = 0; time < GRID_TIMES; time++)
        for (int b = 0; b < GRID_BASELINES; b++)
            for (int k = 0; k < grid_now.channels; k++, at++) {
                long double complex sum = 0;
                for (int s = 0; s < field_now.sources; s++)
                    sum += 2 * grid_factor(s, time, b, k, 0);
                ck_assert(cabsl(x.at[at] - sum) < 1e-10L);
                ck_assert(cabsl(y.at[2 * at + 1] - 3 * sum) < 1e-10L);
                ck_assert(cabsl(z.at[4 * at + 1] + sinl(0.2L) * sum) < 1e-10L);
            }
}

TEST(wrong_inputs_are_told)
{
    const char *said = testing_faults(&t, "obs = grid()\nS = field()\nR = field(number=1)\n"
                                          "x = predict(S, obs, lmn=2 * lmn(R, obs))\n");
    ck_assert_msg(strstr(said, "two sky models") != NULL, "%s", said);
    said = testing_faults(&t, "obs = grid()\nS = field()\nx = predict(S, obs, freq=obs.freq * "
                              "obs.time / obs.interval)\n");
    ck_assert_msg(strstr(said, "may vary with frequency only") != NULL, "%s", said);
    said = testing_faults(&t, "obs = grid()\nS = field()\nx = predict(S, obs, smear=time, "
                              "interval=obs.interval * obs.freq / 1Hz)\n");
    ck_assert_msg(strstr(said, "may not vary with frequency") != NULL, "%s", said);
}

/* ---- the kernel by itself ---- */

enum { SOURCES = 21, ROWS = 7, CHANNELS = 100 };

typedef struct {
    double brightness[SOURCES][CHANNELS][8], lmn[SOURCES][3], shape[SOURCES][3];
    double uvw[ROWS][3], freq[CHANNELS], rate[ROWS][3], interval, width[CHANNELS];
    double left[SOURCES][ROWS][CHANNELS][8];
} tile_data;

static double draw(void)
{
    static uint64_t counter;

    return grove_random_uniform(grove_random_bits(1, counter++, 0, 0, 0)) - 0.5;
}

static tile_data *new_data(void)
{
    tile_data *d = calloc(1, sizeof(*d));

    for (int s = 0; s < SOURCES; s++) {
        for (int k = 0; k < CHANNELS; k++)
            for (int e = 0; e < 8; e++)
                d->brightness[s][k][e] = draw();
        for (int k = 0; k < 3; k++)
            d->lmn[s][k] = 0.02 * draw();
        d->shape[s][0] = s % 3 ? 0 : 1e-5;
        for (int r = 0; r < ROWS; r++)
            for (int k = 0; k < CHANNELS; k++)
                for (int e = 0; e < 8; e++)
                    d->left[s][r][k][e] = draw();
    }
    for (int r = 0; r < ROWS; r++)
        for (int k = 0; k < 3; k++) {
            d->uvw[r][k] = 1e4 * draw();
            d->rate[r][k] = draw();
        }
    d->interval = 10;
    for (int k = 0; k < CHANNELS; k++) {
        d->freq[k] = 1e9 + 2.5e5 * k;
        d->width[k] = 2.5e5;
    }
    return suite_keep(d);
}

static void set_view(grove_view *view, void *data, int shape, int elements, int complex_,
                     int64_t source, int64_t row, int64_t channel)
{
    *view = (grove_view){.data = data,
                         .stride = {source, row, channel},
                         .elements = elements,
                         .shape = shape,
                         .complex_ = complex_,
                         .bytes = 8};
}

/* Axes source, baseline, freq; channels [from, from + count) of the whole. */
static grove_args make_args(tile_data *d, int from, int count, int with_left, double *out)
{
    grove_args a = {.axes = 3,
                    .inputs = with_left ? 9 : 8,
                    .size = {SOURCES, ROWS, count},
                    .origin = {0, 0, from},
                    .axis = {GROVE_AXIS_SOURCE, GROVE_AXIS_BASELINE, GROVE_AXIS_FREQ}};
    const int64_t d8 = sizeof(double);
    grove_predict_channels channels;

    grove_predict_channels_of(d->freq, CHANNELS, &channels);
    ck_assert(channels.regular);
    memcpy(a.state.bytes, &channels, sizeof(channels));
    set_view(&a.in[0], d->brightness[0][from], GROVE_MATRIX, 4, 1, 8 * d8 * CHANNELS, 0, 8 * d8);
    set_view(&a.in[1], d->lmn, GROVE_VECTOR, 3, 0, 3 * d8, 0, 0);
    set_view(&a.in[2], d->shape, GROVE_VECTOR, 3, 0, 3 * d8, 0, 0);
    set_view(&a.in[3], d->uvw, GROVE_VECTOR, 3, 0, 0, 3 * d8, 0);
    set_view(&a.in[4], d->freq + from, GROVE_SCALAR, 1, 0, 0, 0, d8);
    set_view(&a.in[5], d->rate, GROVE_VECTOR, 3, 0, 0, 3 * d8, 0);
    set_view(&a.in[6], &d->interval, GROVE_SCALAR, 1, 0, 0, 0, 0);
    set_view(&a.in[7], d->width + from, GROVE_SCALAR, 1, 0, 0, 0, d8);
    if (with_left)
        set_view(&a.in[8], d->left[0][0][from], GROVE_MATRIX, 4, 1, 8 * d8 * CHANNELS * ROWS,
                 8 * d8 * CHANNELS, 8 * d8);
    set_view(&a.out, out, GROVE_MATRIX, 4, 1, 0, 8 * d8 * count, 8 * d8);
    return a;
}

/* Tiles in frequency begin anywhere, rows are cut anyhow: the same bits. */
TEST(tiles_change_no_bit)
{
    static const int tiles[][2] = {{0, 1}, {1, 30}, {31, 2}, {33, 40}, {64, 36}, {99, 1}};

    for (int with_left = 0; with_left < 2; with_left++) {
        tile_data *d = new_data();
        double *whole = calloc(ROWS * CHANNELS, 8 * sizeof(double));
        double *part = calloc(ROWS * CHANNELS, 8 * sizeof(double));
        grove_args a = make_args(d, 0, CHANNELS, with_left, whole);
        ck_assert_int_eq(grove_predict_rows(&a), ROWS);
        grove_predict_cells(&a, 0, ROWS);
        for (size_t i = 0; i < sizeof(tiles) / sizeof(tiles[0]); i++) {
            int from = tiles[i][0], count = tiles[i][1];
            a = make_args(d, from, count, with_left, part);
            for (int r = 0; r < ROWS; r += 3)
                grove_predict_cells(&a, r, r + 3 < ROWS ? r + 3 : ROWS);
            for (int r = 0; r < ROWS; r++)
                ck_assert(!memcmp(part + 8 * r * count, whole + 8 * (r * CHANNELS + from),
                                  8 * sizeof(double) * (size_t)count));
        }
        free(whole);
        free(part);
    }
}

SUITE(120, setup, teardown)
