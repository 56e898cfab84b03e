#include "grid.h"

#include <check.h>
#include <math.h>
#include <string.h>

#define LIGHT 299792458.0L
#define PI    3.14159265358979323846264338327950288L

grid grid_now;
field field_now;

void grid_pair(int b, int *p, int *q)
{
    int at = 0;

    for (*p = 0; *p < GRID_STATIONS; ++*p)
        for (*q = *p; *q < GRID_STATIONS; ++*q)
            if (at++ == b)
                return;
}

void grid_uvw(int time, int b, double uvw[3], double rate[3])
{
    const grid *g = &grid_now;
    int p, q;

    grid_pair(b, &p, &q);
    for (int k = 0; k < 3; k++) {
        rate[k] = g->rate[p][k] - g->rate[q][k];
        uvw[k] = g->start[p][k] - g->start[q][k] + rate[k] * (g->time[time] - g->time[0]);
    }
}

/* ---- truth ---- */

void grid_lmn(int s, long double lmn[3])
{
    long double ra = field_now.radec[s][0] - (long double)grid_now.phase_centre[0];
    long double dec = field_now.radec[s][1], centre = grid_now.phase_centre[1];

    lmn[0] = cosl(dec) * sinl(ra);
    lmn[1] = sinl(dec) * cosl(centre) - cosl(dec) * sinl(centre) * cosl(ra);
    lmn[2] = sinl(dec) * sinl(centre) + cosl(dec) * cosl(centre) * cosl(ra) - 1;
}

void grid_brightness(int s, int channel, long double complex b[4])
{
    const field *f = &field_now;
    long double nu = grid_now.freq[channel], stokes[4], scale = 1;

    for (int k = 0; k < 4; k++)
        stokes[k] = f->stokes[s][k];
    if (f->reference[s] > 0) {
        long double x = nu / f->reference[s], sum = 0;
        x = f->logarithmic[s] ? logl(x) / logl(10) : x - 1;
        for (int k = 0; k < 3; k++)
            sum += f->spectrum[s][k] * powl(x, k + 1);
        scale = f->logarithmic[s] ? powl(10, sum) : 1 + sum / stokes[0];
    }
    long double complex linear = (stokes[1] + I * stokes[2]) * scale;
    linear *= cexpl(2 * I * f->measure[s] * (LIGHT / nu * LIGHT / nu - f->rotation_reference[s]));
    long double i = stokes[0] * scale, q = creall(linear), u = cimagl(linear);
    long double v = stokes[3] * scale;
    if (grid_now.feed == 0) {
        b[0] = i + q;
        b[1] = u + I * v;
        b[2] = u - I * v;
        b[3] = i - q;
    } else {
        b[0] = i + v;
        b[1] = q + I * u;
        b[2] = q - I * u;
        b[3] = i - v;
    }
}

static long double sinc(long double x)
{
    return fabsl(x) < 1e-6L ? 1 - x * x / 6 : sinl(x) / x;
}

long double complex grid_factor(int s, int time, int b, int channel, int smear)
{
    const grid *g = &grid_now;
    double uvw[3], rate[3];
    long double lmn[3], delay = 0, drift = 0, nu = g->freq[channel];
    const double *shape = field_now.shape[s];

    grid_uvw(time, b, uvw, rate);
    grid_lmn(s, lmn);
    for (int k = 0; k < 3; k++) {
        delay += uvw[k] * lmn[k] / LIGHT;
        drift += rate[k] * lmn[k] / LIGHT;
    }
    long double complex v = cexpl(-2 * I * PI * nu * delay);
    if (smear & 1)
        v *= sinc(PI * nu * drift * g->interval[time]);
    if (smear & 2)
        v *= sinc(PI * delay * g->width[channel]);
    long double along = uvw[0] * sinl(shape[2]) + uvw[1] * cosl(shape[2]);
    long double across = uvw[0] * cosl(shape[2]) - uvw[1] * sinl(shape[2]);
    along *= shape[0] * nu / LIGHT;
    across *= shape[1] * nu / LIGHT;
    return v * expl(-PI * PI / (4 * logl(2)) * (along * along + across * across));
}

void grid_visibility(int s, int time, int b, int channel, int smear, long double complex v[4])
{
    long double complex factor = grid_factor(s, time, b, channel, smear);

    grid_brightness(s, channel, v);
    for (int e = 0; e < 4; e++)
        v[e] *= factor;
}

void grid_multiply(long double complex to[4], const long double complex a[4],
                   const long double complex b[4])
{
    long double complex out[4];

    for (int i = 0; i < 4; i++)
        out[i] = a[i & 2] * b[i & 1] + a[(i & 2) + 1] * b[(i & 1) + 2];
    memcpy(to, out, sizeof(out));
}

/* ---- classes ---- */

static void add(grove_node *node, const char *name, const char *axes, int vector, grove_unit unit,
                const void *data)
{
    grove_form form = {.shape = vector ? GROVE_VECTOR : GROVE_SCALAR,
                       .vector = vector,
                       .precision = GROVE_PRECISION_DOUBLE,
                       .unit = unit};

    ck_assert_int_eq(grove_node_add_member(node, name, axes, &form, data, "for tests"), 0);
}

static void add_grid_axes(grove_node *node)
{
    const grid *g = &grid_now;
    int32_t left[GRID_BASELINES], right[GRID_BASELINES];
    grove_axis axes[] = {
        {.name = "time", .size = g->times, .centre = g->time, .width = g->interval},
        {.name = "station", .size = GRID_STATIONS},
        {.name = "baseline", .size = GRID_BASELINES, .left = left, .right = right},
        {.name = "freq", .size = g->channels, .centre = g->freq, .width = g->width}};
    static const int kinds[] = {GROVE_AXIS_TIME, GROVE_AXIS_STATION, GROVE_AXIS_BASELINE,
                                GROVE_AXIS_FREQ};

    for (int b = 0; b < GRID_BASELINES; b++)
        grid_pair(b, &left[b], &right[b]);
    for (int i = 0; i < 4; i++) {
        axes[i].kind = kinds[i];
        ck_assert_int_eq(grove_node_add_axis(node, &axes[i]), 0);
    }
}

static int open_grid(grove_node *node)
{
    const grid *g = &grid_now;
    double uvw[GRID_TIMES][GRID_BASELINES][3], rate[GRID_TIMES][GRID_BASELINES][3];
    double station[GRID_TIMES][GRID_STATIONS][3], index[GRID_STATIONS], pair[GRID_BASELINES][2];
    const double diameter = 25;

    add_grid_axes(node);
    for (int b = 0; b < GRID_BASELINES; b++) {
        int p, q;
        grid_pair(b, &p, &q);
        pair[b][0] = p;
        pair[b][1] = q;
        for (int i = 0; i < g->times; i++)
            grid_uvw(i, b, uvw[i][b], rate[i][b]);
    }
    for (int i = 0; i < g->times; i++)
        for (int p = 0; p < GRID_STATIONS; p++)
            for (int k = 0; k < 3; k++) {
                index[p] = p;
                station[i][p][k] = g->start[p][k] + g->rate[p][k] * (g->time[i] - g->time[0]);
            }
    const grove_unit none = {0}, m = {.m = 1}, s = {.s = 1}, hertz = {.s = -1}, radian = {.rad = 1},
                     speed = {.m = 1, .s = -1};
    add(node, "time", "time", 0, s, g->time);
    add(node, "interval", "time", 0, s, g->interval);
    add(node, "freq", "freq", 0, hertz, g->freq);
    add(node, "channel_width", "freq", 0, hertz, g->width);
    add(node, "uvw", "time baseline", 3, m, uvw);
    add(node, "uvw_rate", "time baseline", 3, speed, rate);
    add(node, "station_uvw", "time station", 3, m, station);
    add(node, "station_index", "station", 0, none, index);
    add(node, "baseline", "baseline", 2, none, pair);
    add(node, "diameter", "", 0, m, &diameter);
    add(node, "phase_centre", "", 2, radian, g->phase_centre);
    add(node, "feed", "", 0, none, &g->feed);
    return g->facts.size ? grove_node_set_observation(node, &g->facts) : 0;
}

static int open_field(grove_node *node)
{
    const field *f = &field_now;
    grove_axis axis = {.name = "source", .size = f->sources};
    const grove_unit none = {0}, jansky = {.Jy = 1}, hertz = {.s = -1}, radian = {.rad = 1};

    ck_assert_int_eq(grove_node_add_axis(node, &axis), 0);
    add(node, "radec", "source", 2, radian, f->radec);
    add(node, "stokes", "source", 4, jansky, f->stokes);
    add(node, "reference_frequency", "source", 0, hertz, f->reference);
    add(node, "spectrum", "source", 3, none, f->spectrum);
    add(node, "logarithmic", "source", 0, none, f->logarithmic);
    add(node, "rotation_measure", "source", 0, none, f->measure);
    add(node, "rotation_reference", "source", 0, none, f->rotation_reference);
    add(node, "shape", "source", 3, radian, f->shape);
    add(node, "absolute_angle", "source", 0, none, f->absolute);
    grove_form jones = {
        .shape = GROVE_MATRIX, .complex_ = true, .precision = GROVE_PRECISION_DOUBLE};
    return grove_node_add_member(node, "jones", "source", &jones, f->jones, "for tests");
}

static const grove_class class_grid = {GROVE_CLASS_HEAD(grid), .doc = "For tests.",
                                       .kind = GROVE_CLASS_DATA, .object = "observation",
                                       .data = &(const grove_data_functions){.open = open_grid}};
static const grove_port field_options[] = {
    {"number", GROVE_INTEGER, "to tell two of them apart", .initial = "0"}, {0}};
static const grove_class class_field = {
    GROVE_CLASS_HEAD(field),  .doc = "For tests.",
    .options = field_options, .kind = GROVE_CLASS_DATA,
    .object = "sky",          .data = &(const grove_data_functions){.open = open_field}};

static const grid first_grid = {
    .times = GRID_TIMES,
    .channels = 70,
    .start = {{100, 50, 3}, {-2100, 840, 12}, {3300, -1200, -40}, {500, 4800, 77}},
    .rate = {{0.01, 0.2, 0.03}, {-0.3, 0.1, 0.2}, {0.2, -0.25, 0.1}, {0.15, 0.35, -0.2}},
    .phase_centre = {1.4948, 0.8701}};

static const field first_field = {
    .sources = 6,
    .radec = {{1.4948, 0.8701},
              {1.4978, 0.8690},
              {1.4900, 0.8750},
              {1.5100, 0.8600},
              {1.4950, 0.8702},
              {1.4700, 0.8850}},
    .stokes = {{1, 0, 0, 0},
               {2, 0.3, -0.2, 0.1},
               {0.5, -0.1, 0.05, -0.02},
               {1.5, 0, 0.2, 0},
               {0.7, 0.01, 0.02, 0.03},
               {-0.3, 0.1, 0, 0}},
    .reference = {0, 1.3e9, 1.5e9, 1.4e9, 0, 1e9},
    .spectrum = {{0}, {-0.7, 0.1, 0}, {-0.5, 0, 0}, {0.4, -0.3, 0.2}, {0}, {0.1, 0.2, 0}},
    .logarithmic = {0, 1, 1, 1, 0, 0},
    .measure = {0, 20, -7, 0, 0, 3},
    .rotation_reference = {0, 0, 0.04, 0, 0, 0},
    .shape = {{0}, {0}, {4e-5, 1e-5, 0.6}, {0}, {1e-5, 3e-5, -1.1}, {0}}};

void grid_reset(void)
{
    grid_now = first_grid;
    field_now = first_field;
    for (int i = 0; i < GRID_TIMES; i++) {
        grid_now.time[i] = 5e9 + 60 * i;
        grid_now.interval[i] = 60;
    }
    for (int k = 0; k < grid_now.channels; k++) {
        grid_now.freq[k] = 1.4e9 + 1e6 * k;
        grid_now.width[k] = 1e6;
    }
}

void grid_begin(testing *t)
{
    grid_reset();
    ck_assert_int_eq(grove_classes_add(t->classes, &class_grid, t->error), 0);
    ck_assert_int_eq(grove_classes_add(t->classes, &class_field, t->error), 0);
}
