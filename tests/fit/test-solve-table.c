/* Solution tables of fits, read by the HDF5 library itself: Jones matrices made of what stands in
 * them by the layout's own rules are those that the run had. */
#include "solve-world.h"

#include "base/file.h"
#include "base/text.h"

#define H5_USE_110_API
#include <hdf5.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static solve_world w;
static char *path;

static void setup(void)
{
    solve_world_begin(&w);
    path = grove_format("%s/gains.h5", w.t.folder);
}

static void teardown(void)
{
    free(path);
    solve_world_end(&w);
}

/* ---- reading ---- */

typedef struct {
    hid_t file;
    char axes[64];
    int rank;
    hsize_t size[6];
    double *value; /* of the dataset read last */
} table;

static void text_of(hid_t object, const char *name, char *to, size_t size)
{
    hid_t attribute = H5Aopen(object, name, H5P_DEFAULT), type = H5Aget_type(attribute);

    ck_assert_msg(attribute >= 0, "%s", name);
    ck_assert(H5Tget_size(type) < size && !H5Tis_variable_str(type));
    memset(to, 0, size);
    ck_assert(H5Aread(attribute, type, to) >= 0);
    H5Tclose(type);
    H5Aclose(attribute);
}

/* Reads the numbers of sol000/NAME. */
static void read_numbers(table *t, const char *soltab, const char *name)
{
    char *at = suite_text("sol000/%s/%s", soltab, name);
    hid_t data = H5Dopen2(t->file, at, H5P_DEFAULT), space = H5Dget_space(data);
    hssize_t count = H5Sget_simple_extent_npoints(space);

    ck_assert_msg(data >= 0, "%s", at);
    t->rank = H5Sget_simple_extent_dims(space, t->size, NULL);
    t->axes[0] = 0;
    if (H5Aexists(data, "AXES") > 0)
        text_of(data, "AXES", t->axes, sizeof(t->axes));
    free(t->value);
    t->value = calloc((size_t)count, sizeof(double));
    ck_assert(H5Dread(data, H5T_NATIVE_DOUBLE, H5S_ALL, H5S_ALL, H5P_DEFAULT, t->value) >= 0);
    H5Sclose(space);
    H5Dclose(data);
}

/* Text number n of a list; until the next call. */
static const char *read_label(const table *t, const char *soltab, const char *name, int n)
{
    static char text[64];
    char *at = suite_text("sol000/%s/%s", soltab, name), *all;
    hid_t data = H5Dopen2(t->file, at, H5P_DEFAULT), type = H5Dget_type(data),
          space = H5Dget_space(data);
    size_t bytes = H5Tget_size(type);

    ck_assert(data >= 0 && n < H5Sget_simple_extent_npoints(space) && bytes < sizeof(text));
    all = calloc((size_t)H5Sget_simple_extent_npoints(space), bytes);
    ck_assert(H5Dread(data, type, H5S_ALL, H5S_ALL, H5P_DEFAULT, all) >= 0);
    snprintf(text, sizeof(text), "%.*s", (int)bytes, all + (size_t)n * bytes);
    free(all);
    H5Sclose(space);
    H5Tclose(type);
    H5Dclose(data);
    return text;
}

static void open_table(table *t)
{
    *t = (table){.file = H5Fopen(path, H5F_ACC_RDONLY, H5P_DEFAULT)};
    ck_assert_msg(t->file >= 0, "%s", path);
}

static void close_table(table *t)
{
    free(t->value);
    H5Fclose(t->file);
}

/* ---- every kind ---- */

static const struct {
    const char *jones, *options;
    const char *types; /* of the soltabs */
    const char *axes;
    int times, bands;
} kinds[] = {
    {"scalar", "", "amplitude phase", "time,freq,ant", 6, 2},
    {"diagonal", "", "amplitude phase", "time,freq,ant,pol", 6, 2},
    {"full", "", "amplitude phase", "time,freq,ant,pol", 6, 2},
    {"leakage", "", "amplitude phase", "time,freq,ant,pol", 6, 2},
    {"phase", "", "phase", "time,freq,ant,pol", 6, 2},
    {"amplitude", "", "amplitude", "time,freq,ant,pol", 6, 2},
    {"delay", "", "clock", "time,freq,ant,pol", 6, 2},
    {"tec", "", "tec", "time,freq,ant", 6, 2},
    {"rotation", "", "rotation", "time,freq,ant", 6, 2},
    {"diagonal", ", degree=[1, 2]", "amplitude phase", "time,freq,ant,pol", 12, 6},
    {"amplitude", ", degree=1", "amplitude", "time,freq,ant,pol", 12, 2},
};
enum { KINDS = sizeof(kinds) / sizeof(kinds[0]), STATIONS = 8, TIMES = 12, CHANNELS = 6 };

/* The Jones matrix of what stands in the file, by the rules of DP3. */
static void jones_of(const char *jones, const double *first, const double *second, int elements,
                     double freq, double complex to[4])
{
    for (int k = 0; k < 4; k++) {
        int e = elements == 4 ? k : elements == 2 ? k / 3 : 0;
        double x = first[e];
        double complex number = second                    ? x * cexp(CMPLX(0, second[e]))
                                : !strcmp(jones, "phase") ? cexp(CMPLX(0, x))
                                : !strcmp(jones, "delay") ? cexp(CMPLX(0, 2 * M_PI * freq * x))
                                : !strcmp(jones, "tec")   ? cexp(CMPLX(0, -8.44797245e9 * x / freq))
                                                          : x;
        to[k] = elements == 4 || k % 3 == 0 ? number : 0;
    }
    if (!strcmp(jones, "rotation")) {
        to[0] = to[3] = cos(first[0]);
        to[2] = sin(first[0]);
        to[1] = -sin(first[0]);
    }
}

static void check_kept(const table *first, const table *second, int kind, int elements)
{
    const solve_kept *kept = &solve_world_kept[0];
    double worst = 0, moved = 0;

    ck_assert(kept->size[0] == TIMES && kept->size[1] == STATIONS && kept->size[2] == CHANNELS);
    for (int n = 0; n < TIMES * STATIONS * CHANNELS; n++) {
        int t = n / CHANNELS / STATIONS, a = n / CHANNELS % STATIONS, f = n % CHANNELS;
        int at = ((t * kinds[kind].times / TIMES * kinds[kind].bands +
                   f * kinds[kind].bands / CHANNELS) *
                      STATIONS +
                  a) *
                 elements;
        double complex jones[4];
        jones_of(kinds[kind].jones, first->value + at, second ? second->value + at : NULL, elements,
                 150e6 + 2e6 * f, jones);
        for (int k = 0; k < 4; k++) {
            int e = kept->elements == 4 ? k : kept->elements == 2 ? k / 3 : 0;
            if (kept->elements < 4 && k % 3)
                continue;
            worst = fmax(worst, cabs(jones[k] - kept->at[n * kept->elements + e]));
            moved = fmax(moved, cabs(jones[k] - (k % 3 == 0)));
        }
    }
    ck_assert_msg(worst < 1e-9 && moved > 1e-3, "%s: %g %g", kinds[kind].jones, worst, moved);
}

LOOP_TEST(every_kind, 0, KINDS)
{
    char *text =
        suite_text("G[p] = parm(\"G\", jones=%s, time=4min, freq=6MHz%s)\n"
                   "T[p] = draw(obs, shape=matrix, around=1, times=2, channels=3).value\n"
                   "fit = solve(G[p] * M[p,q] * G[q]^H, T[p] * M[p,q] * T[q]^H, max_iterations=4, "
                   "reference=\"2\", to=\"%s\")\n"
                   "g[p] = G[p] + 0 * obs.freq / 1Hz + 0 * obs.time / 1s\nk0 = keep(g)\n",
                   kinds[_i].jones, kinds[_i].options, path);
    char first_name[32], second_name[32] = "", said[32];
    bool two = strchr(kinds[_i].types, ' ') != NULL;
    table first, second;

    solve_world_pass(&w, text);
    snprintf(first_name, sizeof(first_name), "%.*s000", (int)strcspn(kinds[_i].types, " "),
             kinds[_i].types);
    if (two)
        snprintf(second_name, sizeof(second_name), "%s000", strchr(kinds[_i].types, ' ') + 1);
    open_table(&first);
    open_table(&second);
    hid_t group = H5Gopen2(first.file, "sol000", H5P_DEFAULT);
    H5G_info_t info;
    ck_assert(H5Gget_info(group, &info) >= 0);
    ck_assert_int_eq(info.nlinks, two ? 4 : 3); /* with antenna and source */
    H5Gclose(group);
    group = H5Gopen2(first.file, suite_text("sol000/%s", first_name), H5P_DEFAULT);
    text_of(group, "TITLE", said, sizeof(said));
    ck_assert(!strncmp(said, first_name, strlen(said)) && strlen(said) + 3 == strlen(first_name));
    text_of(group, "GROVE_PARM", said, sizeof(said));
    ck_assert_str_eq(said, "G");
    text_of(group, "GROVE_JONES", said, sizeof(said));
    ck_assert_str_eq(said, kinds[_i].jones);
    H5Gclose(group);
    read_numbers(&first, first_name, "time");
    ck_assert_int_eq(first.size[0], kinds[_i].times);
    ck_assert_double_gt(first.value[1] - first.value[0], 700.0 / kinds[_i].times);
    read_numbers(&first, first_name, "freq");
    ck_assert_int_eq(first.size[0], kinds[_i].bands);
    ck_assert(fabs(first.value[0] - (kinds[_i].bands == 2 ? 152e6 : 150e6)) < 1);
    read_numbers(&first, first_name, "freq_width");
    ck_assert_int_eq(first.size[0], kinds[_i].bands);
    ck_assert(fabs(first.value[0] - 12e6 / kinds[_i].bands) < 1);
    read_numbers(&first, first_name, "time_width");
    ck_assert(fabs(first.value[0] - 12 * 119.67 / kinds[_i].times) < 1);
    read_numbers(&first, first_name, "weight");
    ck_assert_str_eq(first.axes, kinds[_i].axes);
    for (hsize_t i = 0; i < first.size[0]; i++)
        ck_assert(first.value[i] == 1);
    read_numbers(&first, first_name, "val");
    ck_assert_str_eq(first.axes, kinds[_i].axes);
    if (two)
        read_numbers(&second, second_name, "val");
    int elements = first.rank == 4 ? (int)first.size[3] : 1;
    if (elements == 2)
        ck_assert_str_eq(read_label(&first, first_name, "pol", 1), "YY");
    if (elements == 4)
        ck_assert_str_eq(read_label(&first, first_name, "pol", 1), "XY");
    check_kept(&first, two ? &second : NULL, _i, elements);
    close_table(&second);
    close_table(&first);
}

/* ---- what is not found, and how well ---- */

/* Real numbers of 21 baselines, 4 correlations, 2 times and the channels, less amplitude and phase
 * of 7 stations and 2 feeds. */
enum { FREEDOM = 21 * 4 * 2 * CHANNELS * 2 - 7 * 2 * 2 };

TEST(domains)
{
    char *text =
        suite_text("G[p] = parm(\"G\", jones=diagonal, time=4min)\n"
                   "T[p] = draw(obs, shape=diagonal, around=1, times=2).value\n"
                   "b = spoil(obs, station=3, first_time=8)\n"
                   "D[p,q] = (T[p] * M[p,q] * T[q]^H + noise(obs, sigma=0.1Jy)) * b.value\n"
                   "fit = solve(G[p] * M[p,q] * G[q]^H, D, errors=true, to=\"%s\")\n"
                   "k0 = keep(G.x_error)\n",
                   path);
    const solve_kept *errors = &solve_world_kept[0]; /* [station, interval, band, term] */
    char names[200];
    table t;

    solve_world_pass(&w, text);
    open_table(&t);
    read_numbers(&t, "phase000", "val");
    ck_assert_str_eq(t.axes, "time,freq,ant,pol");
    for (int n = 0; n < 6 * STATIONS * 2; n++)
        ck_assert(isnan(t.value[n]) == (n / 2 % STATIONS == 3 || n / 2 / STATIONS >= 4));
    read_numbers(&t, "amplitude000", "weight");
    for (int n = 0; n < 6 * STATIONS * 2; n++)
        ck_assert(t.value[n] == !(n / 2 % STATIONS == 3 || n / 2 / STATIONS >= 4));
    read_numbers(&t, "amplitude000", "error");
    for (int n = 0; n < 6 * STATIONS; n++)
        if (n % STATIONS == 3 || n / STATIONS >= 4)
            ck_assert(isnan(t.value[2 * n]));
        else
            ck_assert(t.value[2 * n] > 0 &&
                      t.value[2 * n] == creal(errors->at[n % STATIONS * 6 + n / STATIONS]));
    read_numbers(&t, "phase000", "outcome");
    ck_assert_str_eq(t.axes, "time,freq");
    hid_t data = H5Dopen2(t.file, "sol000/phase000/outcome", H5P_DEFAULT);
    text_of(data, "NAMES", names, sizeof(names));
    H5Dclose(data);
    for (int i = 0; i < 6; i++) {
        const char *word = names;
        for (int k = 0; k < (int)t.value[i]; k++)
            word = strchr(word, ',') + 1;
        ck_assert(!strncmp(word, i < 4 ? "converged," : "not enough data,", i < 4 ? 10 : 16));
    }
    read_numbers(&t, "phase000", "iterations");
    for (int i = 0; i < 4; i++)
        ck_assert(t.value[i] >= 1);
    read_numbers(&t, "phase000", "chi2");
    for (int i = 0; i < 6; i++)
        ck_assert(i < 4 ? t.value[i] > 0 : isnan(t.value[i]));
    double chi2 = t.value[0] + t.value[1] + t.value[2] + t.value[3];
    read_numbers(&t, "phase000", "degrees_of_freedom");
    ck_assert_str_eq(t.axes, "time,freq");
    for (int i = 0; i < 6; i++)
        ck_assert_double_eq(t.value[i], i < 4 ? FREEDOM : 0);
    text = suite_text("degree of freedom %.4g", chi2 / (4.0 * FREEDOM));
    ck_assert_msg(strstr(solve_world_said, text) != NULL, "%s, not %s", solve_world_said, text);
    close_table(&t);
}

/* ---- standard deviations ---- */

#define BOTH  "amplitude000 phase000"
#define X     "[p,q] = select(M, element=XX)\n" /* unpolarised */
#define GAINS "T[p] = draw(obs, shape=diagonal, around=1, spread=0.4).value\n"
#define NUMBERS                                                                                    \
    "a = draw(obs, complex=false, spread=0.7).value\n"                                             \
    "b = draw(obs, complex=false, spread=0.7, seed=2).value\n"                                     \
    "w = 2 * pi * 1ns * obs.freq\nl2 = (299792458m / 1s / obs.freq)^2 / 1m^2\n"
#define PHASES "T[p] = diagonal(exp(1i * a[p]), exp(1i * b[p]))\n"
static const struct {
    const char *parm, *truth, *tables, *options; /* of a sky V */
} scattered[] = {
    {"jones=scalar", "T[p] = draw(obs, around=1, spread=0.4).value\nV[p,q] = M\n", BOTH, ""},
    {"init=1, complex=true", "T[p] = draw(obs, around=1).value\nV[p,q] = M\n", BOTH, ""},
    {"jones=diagonal", GAINS "V" X, BOTH, ""},
    {"jones=diagonal", GAINS "V" X, BOTH, ", method=lm, compress=false"},
    {"jones=diagonal", GAINS "V" X, "amplitude000", ", reference=none"},
    {"jones=diagonal", GAINS "V[p,q] = M + N\n", BOTH, ""},
    {"jones=full", "T[p] = draw(obs, shape=matrix, around=1).value\nV[p,q] = M + N\n", BOTH, ""},
    {"jones=leakage",
     "a = draw(obs, spread=0.3).value\nb = draw(obs, spread=0.3, seed=2).value\n"
     "T[p] = matrix(1, a[p], b[p], 1)\nV[p,q] = M + N\n",
     BOTH, ", reference=none"},
    {"jones=amplitude", NUMBERS "T[p] = diagonal(1 + a[p] / 2, 1 + b[p] / 2)\nV[p,q] = M\n",
     "amplitude000", ""},
    {"jones=phase", NUMBERS PHASES "V" X, "phase000", ""},
    {"jones=phase", NUMBERS PHASES "V[p,q] = M + N\n", "phase000", ""},
    {"jones=delay", NUMBERS "T[p] = diagonal(exp(1i * w * a[p]), exp(1i * w * b[p]))\nV" X,
     "clock000", ""},
    {"jones=tec", NUMBERS "T[p] = exp(-0.84e9i * a[p] * 1Hz / obs.freq)\nV[p,q] = M\n", "tec000",
     ""},
    {"jones=rotation", NUMBERS "T[p] = rotation(1rad * a[p])\nV" X, "rotation000", ""},
    {"init=0.1", NUMBERS "T[p] = rotation(0.2rad * a[p] * l2)\nV" X, "value000", ""},
};
enum { SCATTERED = sizeof(scattered) / sizeof(scattered[0]), REALISATIONS = 239 };

/* What noise makes of a number of the table in so many realisations, in units of its error. */
static double scatter_of(const double *value, const double *error, int step, bool turns, int *zeros)
{
    double sum = 0, square = 0;

    for (int t = 0; t < REALISATIONS; t++) {
        double x = value[t * step] - value[0], e = error[t * step];
        x = turns ? remainder(x, 2 * acos(-1)) : x;
        *zeros += e == 0 && x == 0;
        ck_assert_msg(e > 0 || (e == 0 && x == 0), "%g, %g", x, e);
        sum += x / (e > 0 ? e : 1);
        square += x * x / (e > 0 ? e * e : 1);
    }
    return (square - sum * sum / REALISATIONS) / (REALISATIONS - 1);
}

static void check_scatter(const char *name, bool has_reference)
{
    table value, error;
    double mean = 0;
    int numbers = 1, zeros = 0, count = 0;

    open_table(&value);
    open_table(&error);
    read_numbers(&value, name, "val");
    read_numbers(&error, name, "error");
    ck_assert_int_eq((int)value.size[0], REALISATIONS);
    for (int d = 1; d < value.rank; d++)
        numbers *= (int)value.size[d];
    for (int n = 0; n < numbers; n++) {
        int before = zeros;
        double square = scatter_of(value.value + n, error.value + n, numbers,
                                   !strncmp(name, "phase", 5), &zeros);
        if (zeros > before) {
            ck_assert_int_eq(zeros - before, REALISATIONS); /* the reference, or 1 of a leakage */
            continue;
        }
        /* its standard deviation is 0.09 */
        ck_assert_msg(fabs(square - 1) < 0.5, "%s %d: %g", name, n, square);
        mean += square;
        count++;
    }
    ck_assert_msg(fabs(mean / count - 1) < 0.1, "%s: %g", name, mean / count);
    ck_assert(!has_reference || count < numbers);
    close_table(&value);
    close_table(&error);
}

/* What stands in the table scatters over realisations of the noise by its error, whatever the data
 * leave free: the phase of all stations, that between X and Y. */
LOOP_TEST(errors_of_all_kinds, 0, SCATTERED)
{
    const char *given = scattered[_i].options, *tables = scattered[_i].tables;
    bool is_number = !strncmp(scattered[_i].parm, "init", 4),
         is_real = is_number && !strstr(scattered[_i].parm, "complex");
    char *text = suite_text("%sx[p] = parm(\"x\", %s, time=1ms)\nG[p] = %s\n"
                            "D[p,q] = T[p] * V * T[q]^H + noise(obs, sigma=0.2Jy, seed=7)\n"
                            "fit = solve(G[p] * V * G[q]^H, D, errors=true%s%s, to=\"%s\")\n",
                            scattered[_i].truth, scattered[_i].parm,
                            is_real ? "rotation(1rad * x[p] * l2)" : "x[p]", given,
                            strstr(given, "reference") ? "" : ", reference=\"1\"", path);

    w.times = REALISATIONS + 1;
    solve_world_pass(&w, text);
    ck_assert_msg(strstr(solve_world_said, ": 239 converged") != NULL, "%s", solve_world_said);
    for (const char *name = tables; name; name = strchr(name, ' ')) {
        char soltab[32];
        name += *name == ' ';
        snprintf(soltab, sizeof(soltab), "%.*s", (int)strcspn(name, " "), name);
        check_scatter(soltab, !strstr(given, "reference") && strncmp(soltab, "amplitude", 9) != 0);
    }
}

/* Several parms, of other intervals; directions; a number with a unit. */
TEST(several)
{
    static const char *const names[] = {"[a]", "[b]", "[c]"};
    char *text = suite_text(
        "E[s,p] = parm(\"E\", jones=scalar, time=12min, sky=S)\nG[p] = parm(\"G\", jones=phase, "
        "time=4min)\nf = parm(\"flux\", init=2Jy)\n"
        "V[p,q] = G[p] * sum[s](f / 2Jy * E[s,p] * point(S, obs) * E[s,q]^H) * G[q]^H\n"
        "T[p] = draw(obs, shape=diagonal, around=1, times=2).value\n"
        "fit = solve(V, T[p] * M[p,q] * T[q]^H, max_iterations=2, to=\"%s\")\n"
        "e[s,p] = E[s,p] + 0 * obs.time / 1s\nk0 = keep(e)\nk1 = keep(f / 1Jy, number=1)\n",
        path);
    const solve_kept *e = &solve_world_kept[0];
    char said[32];
    table t, phase;

    solve_world_pass(&w, text);
    open_table(&t);
    open_table(&phase);
    read_numbers(&phase, "phase001", "val");
    read_numbers(&t, "amplitude000", "val");
    ck_assert_str_eq(t.axes, "time,freq,ant,dir");
    ck_assert(t.size[0] == 2 && t.size[1] == 1 && t.size[2] == STATIONS && t.size[3] == 3);
    ck_assert_int_eq(e->axes, 3);
    for (int n = 0; n < 2 * STATIONS * 3; n++) {
        int64_t index[3], at = 0;
        for (int d = 0; d < 3; d++) {
            index[d] = e->kind[d] == GROVE_AXIS_TIME      ? n / 3 / STATIONS * 6
                       : e->kind[d] == GROVE_AXIS_STATION ? n / 3 % STATIONS
                                                          : n % 3;
            at = at * e->size[d] + index[d];
        }
        ck_assert(cabs(t.value[n] * cexp(CMPLX(0, phase.value[n])) - e->at[at]) < 1e-12);
    }
    for (int k = 0; k < 3; k++)
        ck_assert_str_eq(read_label(&t, "amplitude000", "dir", k), names[k]);
    read_numbers(&t, "phase000", "val");
    ck_assert_str_eq(t.axes, "time,freq,ant,pol");
    ck_assert_int_eq(t.size[0], 6);
    read_numbers(&t, "value000", "val");
    ck_assert_int_eq(t.rank, 1);
    ck_assert(t.value[0] == creal(solve_world_kept[1].at[0]) && t.value[0] != 2);
    hid_t data = H5Dopen2(t.file, "sol000/value000/val", H5P_DEFAULT);
    text_of(data, "UNIT", said, sizeof(said));
    ck_assert_str_eq(said, "Jy");
    H5Dclose(data);
    close_table(&phase);
    close_table(&t);
}

/* What holds for all times, for all channels, or both: DP3 and LoSoTo want both axes of amplitudes,
 * phases and rotations, but not of clock and tec. The one interval is the whole observation. */
LOOP_TEST(one_interval, 0, 6)
{
    static const struct {
        const char *parm, *soltab, *axes;
    } cases[] = {{"jones=diagonal", "amplitude000", "time,freq,ant,pol"},
                 {"jones=full, freq=2MHz", "phase000", "time,freq,ant,pol"},
                 {"jones=phase, time=4min", "phase000", "time,freq,ant,pol"},
                 {"jones=rotation", "rotation000", "time,freq,ant"},
                 {"jones=delay, time=4min", "clock000", "time,ant,pol"},
                 {"jones=tec", "tec000", "ant"}};
    const double middle[] = {0, 155e6}, width[] = {TIMES * 120.0, CHANNELS * 2e6};
    const char *const names[] = {"time", "freq"};
    char *text =
        grove_format("G[p] = parm(\"G\", %s)\nT[p] = draw(obs, shape=diagonal, around=1).value\n"
                     "fit = solve(G[p] * M[p,q] * G[q]^H, T[p] * M[p,q] * T[q]^H, "
                     "max_iterations=2, to=\"%s\")\n",
                     cases[_i].parm, path);
    table t;

    solve_world_pass(&w, text);
    free(text);
    open_table(&t);
    read_numbers(&t, cases[_i].soltab, "val");
    ck_assert_str_eq(t.axes, cases[_i].axes);
    for (int k = 0; k < 2; k++) {
        char *widths = suite_text("%s_width", names[k]);
        read_numbers(&t, cases[_i].soltab, "val");
        if (strstr(cases[_i].axes, names[k]) && !strstr(cases[_i].parm, names[k])) {
            ck_assert_int_eq(t.size[k], 1);
            read_numbers(&t, cases[_i].soltab, names[k]);
            ck_assert(k == 0 || fabs(t.value[0] - middle[k]) < 1);
            read_numbers(&t, cases[_i].soltab, widths);
            ck_assert_msg(fabs(t.value[0] - width[k]) < 1, "%s: %g", names[k], t.value[0]);
        }
    }
    close_table(&t);
}

/* ---- files ---- */

static char *fit_of(const char *options)
{
    return grove_format("G[p] = parm(\"G\", jones=diagonal, time=4min)\n"
                        "T[p] = draw(obs, shape=diagonal, around=1, times=2).value\n"
                        "fit = solve(G[p] * M[p,q] * G[q]^H, T[p] * M[p,q] * T[q]^H%s)\n",
                        options);
}

static char *read_file(size_t *length)
{
    char *bytes = grove_file_read(path, (size_t)1 << 30, false, length, w.t.error);

    ck_assert_ptr_nonnull(bytes);
    return bytes;
}

/* The same run makes the same bytes; one that fails leaves those that were there. */
TEST(files)
{
    size_t length, again;
    char *once = grove_format(", to=\"%s\"", path),
         *over = grove_format("%s, overwrite=true", once);
    char *first = fit_of(once), *next = fit_of(over), *bad = fit_of(", to=\"gains.txt\"");
    char *fails = grove_format("%sb = spoil(obs, first_time=0)\n"
                               "fail = solve(G[p] * M[p,q] * G[q]^H, M * b.value)\n",
                               next);

    solve_world_pass(&w, first);
    solve_world_refuse(&w, first, "exists already; give overwrite=true");
    solve_world_pass(&w, next);
    char *bytes = read_file(&length);
    solve_world_pass(&w, next);
    char *same = read_file(&again);
    ck_assert(length == again && !memcmp(bytes, same, length));
    solve_world_refuse(&w, fails, "there is nothing to fit to");
    free(same);
    same = read_file(&again);
    ck_assert(length == again && !memcmp(bytes, same, length));
    solve_world_refuse(&w, bad, "the name ends in .h5");
    ck_assert(!unlink(path) && !symlink("/nowhere/gains.h5", path));
    solve_world_refuse(&w, next, "gains.h5 is a symbolic link to a file that does not exist");
    char *const texts[] = {once, over, first, next, bad, fails, bytes, same};
    for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++)
        free(texts[i]);
}

/* A fit is one, whether it writes or not. */
TEST(no_file)
{
    char *text = fit_of(", to=none");

    solve_world_pass(&w, text);
    ck_assert_ptr_nonnull(strstr(solve_world_said, "6 converged"));
    free(text);
}

SUITE(60, setup, teardown)
