/* Visibilities that MeqTrees computed, from data that are not part of Grove. Its phases turn the
 * other way, so baselines are negated. */
#include "tests/common/grid.h"

#include "base/file.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { TIMES = 4, CHANNELS = 5 };

static char *json;

TESTING_FIXTURE(grid_begin(&t))

/* Numbers that follow the first `key` after the first `within`. */
static void read_numbers(const char *within, const char *key, double *to, int count)
{
    char quoted[64];

    snprintf(quoted, sizeof(quoted), "\"%s\": {", within);
    const char *at = strstr(json, quoted);
    ck_assert_ptr_nonnull(at);
    snprintf(quoted, sizeof(quoted), "\"%s\":", key);
    at = strstr(at, quoted);
    ck_assert_ptr_nonnull(at);
    at += strlen(quoted);
    for (int i = 0; i < count; i++) {
        char *end;
        at += strcspn(at, "-0123456789");
        to[i] = strtod(at, &end);
        at = end;
    }
}

static void set_grid(void)
{
    static const double start[3] = {200, 150, 0}, rate[3] = {0.5, -0.25, 0.125};
    grid *g = &grid_now;

    memset(g, 0, sizeof(*g));
    g->times = TIMES;
    g->channels = CHANNELS;
    read_numbers("grid", "time_centres", g->time, TIMES);
    read_numbers("grid", "freq_centres", g->freq, CHANNELS);
    for (int i = 0; i < TIMES; i++)
        g->interval[i] = 60;
    for (int k = 0; k < CHANNELS; k++)
        g->width[k] = 2e6;
    for (int k = 0; k < 3; k++) {
        g->start[0][k] = -(start[k] + rate[k] * g->time[0]);
        g->rate[0][k] = -rate[k];
    }
}

/* MeqTrees gives a Gaussian by both projections of its major axis, and the ratio of the axes. */
static void set_field(bool gaussian)
{
    double lmn[3][3], b[3][4][2], shape[3][3];
    field *f = &field_now;

    memset(f, 0, sizeof(*f));
    read_numbers("sources", "lmn", lmn[0], 9);
    read_numbers("sources", "B", b[0][0], 24);
    read_numbers("sources", "shape", shape[0], 9);
    read_numbers("sources", "E", f->jones[0], 24);
    f->sources = 3;
    for (int s = 0; s < 3; s++) {
        f->radec[s][1] = asin(lmn[s][1]);
        f->radec[s][0] = asin(lmn[s][0] / cos(f->radec[s][1]));
        f->stokes[s][0] = (b[s][0][0] + b[s][3][0]) / 2;
        f->stokes[s][1] = (b[s][0][0] - b[s][3][0]) / 2;
        f->stokes[s][2] = b[s][1][0];
        f->stokes[s][3] = b[s][1][1];
        if (!gaussian)
            continue;
        f->shape[s][0] = hypot(shape[s][0], shape[s][1]);
        f->shape[s][1] = shape[s][2] * f->shape[s][0];
        f->shape[s][2] = atan2(shape[s][0], shape[s][1]);
    }
}

static void compare(const char *name, const char *definition, bool gaussian)
{
    static const char *const elements[] = {"XX", "XY", "YX", "YY"};
    char text[256];

    set_grid();
    set_field(gaussian);
    snprintf(text, sizeof(text), "obs = grid()\nS = field()\nx = %s\n", definition);
    testing_tree(&t, text);
    testing_value x = testing_evaluate(&t, "x");
    for (int e = 0; e < 4; e++) {
        double wanted[TIMES * CHANNELS][2];
        read_numbers(name, elements[e], wanted[0], 2 * TIMES * CHANNELS);
        for (int i = 0; i < TIMES; i++)
            for (int k = 0; k < CHANNELS; k++) {
                double complex got = x.at[4 * ((i * GRID_BASELINES + 1) * CHANNELS + k) + e];
                const double *v = wanted[i * CHANNELS + k];
                ck_assert_msg(cabs(got - CMPLX(v[0], v[1])) < 1e-13,
                              "%s %s: %.17g%+.17gi, not %.17g%+.17gi", name, elements[e],
                              creal(got), cimag(got), v[0], v[1]);
            }
    }
}

/* MeqTrees takes the smearing in time at the middle of a narrow band. */
#define MIDDLE "interval=60s * 1.405GHz / obs.freq"

TEST(all_cases)
{
    compare("psv", "predict(S, obs)", false);
    compare("psvs", "sum[s](point(S, obs, smear=both, " MIDDLE "))", false);
    compare("psvg", "predict(S, obs)", true);
    compare("psvgs", "sum[s](point(S, obs, smear=both, " MIDDLE "))", true);
    compare("psvj", "predict(S, obs, left=S.jones, right=S.jones^H)", false);
    compare("psvj", "sum[s](S.jones * point(S, obs) * S.jones^H)", false);
}

int main(void)
{
    const char *folder = getenv("GROVE_TEST_DATA");
    char *path =
        suite_keep(grove_path_join(folder ? folder : "../shared/data", "meqtrees_cases.json"));
    grove_error *error = grove_error_new();
    size_t length;

    json = suite_keep(grove_file_read(path, 1 << 20, true, &length, error));
    grove_error_free(error);
    if (json)
        return suite_run(__FILE__, 60, setup, teardown);
    printf("skipped: there is no %s\n", path);
    return 77;
}
