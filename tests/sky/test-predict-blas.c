/* The sum over sources by stations is a product of matrices, V_pq = sum_s (L_ps B_s K_ps) (R_qs
 * conj K_qs): a BLAS computes it too, from the same factors, in the same precision. */
#include "cell.h"

#include "../kernels/simd/isa.h"
#include "../kernels/sky/predict.h"
#include "tests/common/suite.h"

#include <cblas.h>
#include <complex.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { SOURCES = 700, STATIONS = 13, BASELINES = STATIONS * (STATIONS - 1) / 2, CHANNELS = 2 };
enum { ROWS = 2 * STATIONS, INNER = 2 * SOURCES };

/* Elements of the brightness and of the Jones terms of source and station (0: none). */
static const struct {
    const char *name;
    int brightness, jones;
} cases[] = {{"unpolarised", 1, 0},
             {"diagonal", 2, 0},
             {"polarised", 4, 0},
             {"scalar Jones terms", 1, 1},
             {"diagonal Jones terms", 1, 2},
             {"polarised, diagonal Jones terms", 4, 2},
             {"Jones terms", 4, 4},
             {"unpolarised, Jones terms", 1, 4}};

typedef struct {
    double lmn[SOURCES][3], uvw[BASELINES][3], station[STATIONS][3], freq[CHANNELS];
    double brightness[SOURCES][8], jones[2][SOURCES][STATIONS][8]; /* [side] */
    int32_t gather[2][BASELINES];
    float singles[2][SOURCES][STATIONS][8], fluxes[SOURCES][8];
    double complex left[ROWS][INNER], right[INNER][ROWS], product[ROWS][ROWS];
    float complex left4[ROWS][INNER], right4[INNER][ROWS], product4[ROWS][ROWS];
    char out[BASELINES * CHANNELS * 4 * 16];
} world;

static uint64_t counter;

static double draw(void)
{
    return grove_random_uniform(grove_random_bits(11, counter++, 0, 0, 0)) - 0.5;
}

/* Numbers are such as both precisions have. */
static void make_world(world *w)
{
    int b = 0;

    counter = 0;
    for (int s = 0; s < SOURCES; s++) {
        for (int d = 0; d < 3; d++)
            w->lmn[s][d] = d == 2 ? -1e-4 * (0.5 + draw()) : 0.03 * draw();
        for (int e = 0; e < 8; e++) {
            w->brightness[s][e] = w->fluxes[s][e] = (float)(draw() + (e == 0));
            for (int side = 0; side < 2; side++)
                for (int p = 0; p < STATIONS; p++)
                    w->jones[side][s][p][e] = w->singles[side][s][p][e] =
                        (float)(draw() + (e % 6 == 0));
        }
    }
    for (int p = 0; p < STATIONS; p++)
        for (int d = 0; d < 3; d++)
            w->station[p][d] = 5e3 * draw();
    for (int p = 0; p < STATIONS; p++)
        for (int q = p + 1; q < STATIONS; q++, b++) {
            w->gather[0][b] = p;
            w->gather[1][b] = q;
            for (int d = 0; d < 3; d++)
                w->uvw[b][d] = w->station[p][d] - w->station[q][d];
        }
    for (int k = 0; k < CHANNELS; k++)
        w->freq[k] = 1.1e9 + 1.7e8 * k;
}

/* ---- the product by BLAS ---- */

static void to_matrix(const double *x, int elements, double complex m[4])
{
    static const double complex one[4] = {1, 0, 0, 1};

    memcpy(m, one, sizeof(one));
    for (int e = 0; e < elements; e++)
        m[elements == 2 ? 3 * e : e] = x[2 * e] + x[2 * e + 1] * I;
    if (elements == 1)
        m[3] = m[0];
}

static double complex phase(const world *w, int s, int p, int k)
{
    long double turns = 0;

    for (int d = 0; d < 3; d++)
        turns -= (long double)w->freq[k] * w->station[p][d] * w->lmn[s][d] / GROVE_SPEED_OF_LIGHT;
    turns = 2 * acosl(-1) * (turns - roundl(turns));
    return (double)cosl(turns) + (double)sinl(turns) * I;
}

static void fill_factors(world *w, int i, int k)
{
    for (int s = 0; s < SOURCES; s++)
        for (int p = 0; p < STATIONS; p++) {
            double complex l[4], b[4], r[4], turn = phase(w, s, p, k);
            to_matrix(w->jones[0][s][p], cases[i].jones, l);
            to_matrix(w->brightness[s], cases[i].brightness, b);
            to_matrix(w->jones[1][s][p], cases[i].jones, r);
            for (int e = 0; e < 4; e++) {
                int x = e / 2, y = e % 2;
                double complex left = (l[2 * x] * b[y] + l[2 * x + 1] * b[2 + y]) * turn;
                double complex right = r[e] * conj(turn);
                w->left4[2 * p + x][2 * s + y] = (float complex)left;
                w->left[2 * p + x][2 * s + y] = left;
                w->right4[2 * s + x][2 * p + y] = (float complex)right;
                w->right[2 * s + x][2 * p + y] = right;
            }
        }
}

static void multiply(world *w, int single)
{
    const double one[2] = {1, 0}, zero[2] = {0, 0};
    const float one4[2] = {1, 0}, zero4[2] = {0, 0};

    if (!single) {
        cblas_zgemm(CblasRowMajor, CblasNoTrans, CblasNoTrans, ROWS, ROWS, INNER, one, w->left,
                    INNER, w->right, ROWS, zero, w->product, ROWS);
        return;
    }
    cblas_cgemm(CblasRowMajor, CblasNoTrans, CblasNoTrans, ROWS, ROWS, INNER, one4, w->left4, INNER,
                w->right4, ROWS, zero4, w->product4, ROWS);
    for (int p = 0; p < ROWS; p++)
        for (int q = 0; q < ROWS; q++)
            w->product[p][q] = w->product4[p][q];
}

/* ---- and by stations ---- */

static void set_view(grove_view *view, void *data, int shape, int bytes, const int64_t stride[4])
{
    static const int elements[] = {0, 1, 2, 0, 4, 0, 0, 0, 3};

    *view = (grove_view){.data = data, .elements = elements[shape], .shape = shape, .bytes = bytes};
    view->complex_ = shape != GROVE_VECTOR;
    memcpy(view->stride, stride, 4 * sizeof(*stride));
}

static int out_elements(int i)
{
    return cases[i].jones > cases[i].brightness ? cases[i].jones : cases[i].brightness;
}

static void set_views(world *w, int i, int single, grove_args *a)
{
    const int64_t n = single ? 4 : 8, v = 24, cell = 2 * n * out_elements(i);

    set_view(&a->in[GROVE_PREDICT_BRIGHTNESS], single ? (void *)w->fluxes : w->brightness,
             cases[i].brightness, (int)n, (int64_t[]){8 * n, 0, 0, 0});
    set_view(&a->in[GROVE_PREDICT_LMN], w->lmn, GROVE_VECTOR, 8, (int64_t[]){v, 0, 0, 0});
    set_view(&a->in[GROVE_PREDICT_UVW], w->uvw, GROVE_VECTOR, 8, (int64_t[]){0, 0, v, 0});
    set_view(&a->in[GROVE_PREDICT_FREQ], w->freq, GROVE_SCALAR, 8, (int64_t[]){0, 0, 0, 8});
    a->in[GROVE_PREDICT_FREQ].complex_ = 0;
    for (int side = 0; side < 2; side++) {
        grove_view *jones = &a->in[GROVE_PREDICT_LEFT + side];
        grove_view *uvw = &a->in[GROVE_PREDICT_UVW_LEFT + side];
        if (cases[i].jones)
            set_view(jones, single ? (void *)w->singles[side] : w->jones[side], cases[i].jones,
                     (int)n, (int64_t[]){8 * n * STATIONS, 0, 8 * n, 0});
        set_view(uvw, w->station, GROVE_VECTOR, 8, (int64_t[]){0, 0, v, 0});
        jones->gather = uvw->gather = w->gather[side];
        jones->gather_axis = uvw->gather_axis = 2;
    }
    set_view(&a->out, w->out, out_elements(i), (int)n, (int64_t[]){0, 0, cell * CHANNELS, cell});
}

static void sum_by_stations(world *w, int i, grove_isa isa, int single)
{
    grove_predict_plan plan = {.way = GROVE_PREDICT_STATION,
                               .isa = (int32_t)isa,
                               .flat = 1,
                               .jones =
                                   cases[i].jones ? GROVE_PREDICT_WITHIN : GROVE_PREDICT_AROUND,
                               .count = CHANNELS,
                               .reference = 1.2e9};
    grove_args a = {
        .axes = 4,
        .inputs = 12,
        .size = {SOURCES, 1, BASELINES, CHANNELS},
        .axis = {GROVE_AXIS_SOURCE, GROVE_AXIS_TIME, GROVE_AXIS_BASELINE, GROVE_AXIS_FREQ}};

    grove_predict_channels_of(w->freq, CHANNELS, &plan.channels);
    memcpy(a.state.bytes, &plan, sizeof(plan));
    set_views(w, i, single, &a);
    grove_predict_sum *sum = grove_predict_sum_new(&a);
    ck_assert_ptr_nonnull(sum);
    grove_predict_sum_run(sum, 0, grove_predict_sum_pieces(sum));
    ck_assert(!grove_predict_sum_failed(sum));
    grove_predict_sum_free(sum);
}

static double complex number_of(const world *w, int64_t k, int single)
{
    if (single)
        return ((const float complex *)(const void *)w->out)[k];
    return ((const double complex *)(const void *)w->out)[k];
}

/* Relative difference of a channel's visibilities. */
static double difference_of(const world *w, int i, int k, int single)
{
    int elements = out_elements(i);
    double difference = 0, norm = 0;

    for (int b = 0; b < BASELINES; b++)
        for (int e = 0; e < elements; e++) {
            int at = elements == 2 ? 3 * e : e;
            double complex is = number_of(w, ((int64_t)b * CHANNELS + k) * elements + e, single);
            double complex of =
                w->product[2 * w->gather[0][b] + at / 2][2 * w->gather[1][b] + at % 2];
            difference += cabs(is - of) * cabs(is - of);
            norm += cabs(of) * cabs(of);
        }
    return sqrt(difference / norm);
}

LOOP_TEST(as_blas, 0, sizeof(cases) / sizeof(cases[0]))
{
    world *w = calloc(1, sizeof(*w));

    ck_assert_ptr_nonnull(w);
    make_world(w);
    for (int k = 0; k < CHANNELS; k++) {
        fill_factors(w, _i, k);
        for (int single = 0; single < 2; single++) {
            multiply(w, single);
            for (int isa = 0; isa < GROVE_ISAS; isa++) {
                if (!grove_isa_works((grove_isa)isa))
                    continue;
                sum_by_stations(w, _i, (grove_isa)isa, single);
                double difference = difference_of(w, _i, k, single);
                ck_assert_msg(difference < (single ? 1e-6 : 1e-12), "%s: %s, %s: %g",
                              cases[_i].name, grove_isa_name((grove_isa)isa),
                              single ? "single" : "double", difference);
            }
        }
    }
    free(w);
}

SUITE(300, NULL, NULL)
