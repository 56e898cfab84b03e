/* ms and sink against the Measurement Set itself, which is written and read by the library of the
 * module sets (with tests of its own). */
#include "facts.h"
#include "tests/common/probe.h"

#include "base/memory.h"
#include "base/text.h"
#include "nodes/fit/parm.h"
#include "nodes/sets/measurement_set.h"
#include "nodes/sets/station_fit.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static char path[256];

TESTING_FIXTURE(probe_begin(&t), snprintf(path, sizeof(path), "%s/a.ms", t.folder))

static void good(bool fine)
{
    ck_assert_msg(fine, "%s", suite_messages(t.error));
}

static void tree(const char *format, ...) __attribute__((format(printf, 1, 2)));
static void tree(const char *format, ...)
{
    va_list args;
    grove_text text = {0};

    va_start(args, format);
    grove_text_add_v(&text, format, args);
    va_end(args);
    testing_tree(&t, text.at);
    free(text.at);
}

/* ---- sink ---- */

static const grove_ms_block all = {0, PROBE_TIMES, 0, PROBE_BASELINES, 0, PROBE_CHANNELS};
enum { CELLS = PROBE_TIMES * PROBE_BASELINES * PROBE_CHANNELS };

/* Runs the tree, tiles of any size, and opens what it wrote. */
static grove_ms *run(void)
{
    grove_session_options options =
        GROVE_SESSION_OPTIONS(.tile_times = 2, .tile_channels = 3, .tile_baselines = 4);

    good(!probe_run(&t, &options));
    grove_ms *ms = grove_ms_open(path, &(grove_ms_part){0}, t.error);
    good(ms != NULL);
    return ms;
}

/* That column `name` holds factor * data of the elements `of`, with their flags; a flagged scalar
 * flags the whole diagonal that it becomes part of. */
static void check_column(grove_ms *ms, const char *name, double factor, const int *of, int count)
{
    float *data = grove_alloc(CELLS * 8 * sizeof(float));
    unsigned char *flag = grove_alloc(CELLS * 4);
    int n = 0;

    ck_assert_int_eq(grove_ms_layout_of(ms)->correlations, count);
    good(!grove_ms_read_data(ms, name, &all, data, flag, t.error));
    for (int i = 0; i < PROBE_TIMES; i++)
        for (int b = 0; b < PROBE_BASELINES; b++)
            for (int k = 0; k < PROBE_CHANNELS; k++)
                for (int c = 0; c < count; c++, n++) {
                    double complex wanted = factor * probe_data(i, b, k, of[c]);
                    bool flagged = probe_flagged(i, b, k, of[c]) ||
                                   (count == 2 && probe_flagged(i, b, k, of[1 - c]));
                    ck_assert_msg(flag[n] == flagged, "%s: flag of %d %d %d %d", name, i, b, k, c);
                    ck_assert_msg(flagged || (data[2 * n] == (float)creal(wanted) &&
                                              data[2 * n + 1] == (float)cimag(wanted)),
                                  "%s: %d %d %d %d is %g%+gi", name, i, b, k, c, data[2 * n],
                                  data[2 * n + 1]);
                }
    free(data);
    free(flag);
}

LOOP_TEST(a_new_set, 0, 3)
{
    static const char *const values[] = {
        "obs.data", "diagonal(select(obs.data, element=XX), select(obs.data, element=YY))",
        "select(obs.data, element=YX)"};
    static const int elements[][4] = {{0, 1, 2, 3}, {0, 3}, {2}};
    static const int counts[] = {4, 2, 1};

    tree("obs = probe()\nw = sink(%s, obs, to=\"%s\")\n", values[_i], path);
    grove_ms *ms = run();
    check_column(ms, "DATA", 1, elements[_i], counts[_i]);
    grove_ms_close(ms);
}

/* Times, channels, stations and baselines are those of the observation; UVW too. */
TEST(a_new_set_has_its_observation)
{
    double uvw[PROBE_TIMES * PROBE_BASELINES][3];

    tree("obs = probe()\nu = 1 * obs.uvw\np = 1 * obs.position\n"
         "w = sink(2 * obs.data, obs, to=\"%s\", column=\"MODEL_DATA\")\n",
         path);
    testing_value u = testing_evaluate(&t, "u"), p = testing_evaluate(&t, "p");
    grove_ms *ms = run();
    const grove_ms_layout *layout = grove_ms_layout_of(ms);
    check_column(ms, "MODEL_DATA", 2, (int[]){0, 1, 2, 3}, 4);
    ck_assert(layout->times == PROBE_TIMES && layout->channels == PROBE_CHANNELS);
    ck_assert(layout->baselines == PROBE_BASELINES && layout->station_count == PROBE_STATIONS);
    ck_assert(layout->time[3] == 51544.5 * 86400 + 1800 && layout->interval[3] == 600);
    ck_assert(layout->frequency[6] == 1.412e9 && layout->channel_width[6] == 2e6);
    ck_assert(fabs(layout->phase_centre[0] + 2 * acos(-1) - 4.9) < 1e-12 ||
              fabs(layout->phase_centre[0] - 4.9) < 1e-12);
    ck_assert(fabs(layout->phase_centre[1] - 0.8) < 1e-12);
    ck_assert_str_eq(layout->stations[2].name, "P2");
    ck_assert(layout->stations[2].diameter == 27);
    for (int k = 0; k < 3 * PROBE_STATIONS; k++)
        ck_assert(layout->stations[k / 3].position[k % 3] == creal(p.at[k]));
    for (int b = 0, i = 0; i < PROBE_STATIONS; i++)
        for (int j = i + 1; j < PROBE_STATIONS; j++, b++)
            ck_assert(layout->antenna1[b] == i && layout->antenna2[b] == j);
    good(!grove_ms_read_uvw(ms, &all, uvw[0], t.error));
    for (int k = 0; k < 3 * PROBE_TIMES * PROBE_BASELINES; k++)
        ck_assert(uvw[k / 3][k % 3] == creal(u.at[k]) && uvw[k / 3][0] != 0);
    grove_ms_close(ms);
}

/* In a set that is there: replaced, added to, subtracted from. */
TEST(columns_of_a_set)
{
    static const char *const modes[] = {"replace", "add", "subtract"};
    static const double factors[] = {4, 5, -3};

    tree("obs = probe()\nw = sink(obs.data, obs, to=\"%s\")\n", path);
    grove_ms_close(run());
    for (int i = 0; i < 3; i++) {
        tree("obs = ms(\"%s\")\nw = sink(obs.data, obs, column=\"CORRECTED_DATA\")\n", path);
        grove_ms_close(run());
        tree("obs = ms(\"%s\")\nw = sink(4 * obs.data, obs, column=\"CORRECTED_DATA\", mode=%s)\n",
             path, modes[i]);
        grove_ms *ms = run();
        check_column(ms, "CORRECTED_DATA", factors[i], (int[]){0, 1, 2, 3}, 4);
        check_column(ms, "DATA", 1, (int[]){0, 1, 2, 3}, 4);
        grove_ms_close(ms);
    }
}

/* The column that is read is replaced only if that is said, added to as it is. */
TEST(the_column_that_is_read)
{
    tree("obs = probe()\nw = sink(obs.data, obs, to=\"%s\")\n", path);
    grove_ms_close(run());
    ck_assert_ptr_nonnull(strstr(
        testing_faults(&t, suite_text("obs = ms(\"%s\")\nw = sink(4 * obs.data, obs)\n", path)),
        "DATA is read by 'obs', and would"));
    tree("obs = ms(\"%s\")\nw = sink(4 * obs.data, obs, overwrite=true)\n", path);
    grove_ms *ms = run();
    check_column(ms, "DATA", 4, (int[]){0, 1, 2, 3}, 4);
    grove_ms_close(ms);
    tree("obs = ms(\"%s\")\nw = sink(obs.data, obs, mode=add)\n", path);
    ms = run();
    check_column(ms, "DATA", 8, (int[]){0, 1, 2, 3}, 4);
    grove_ms_close(ms);
}

/* Nor is any other column that the tree reads, by whatever name of the set and wherever in the
 * tree; what nothing is computed from is not read. */
TEST(other_columns_that_are_read)
{
    static const char *const reads[] = {
        "w = sink(obs.data, obs, column=\"MODEL_DATA\")\np = print(mean(norm(%s)))\n",
        "m = %s\nrun w\nw = sink(obs.data - m, obs, column=\"MODEL_DATA\")\n"};
    static const char *const places[] = {"4:25", "3:9", "4:27", "3:11"}; /* of the members */
    char *twice =
        grove_format("obs = ms(\"%s\")\nother = ms(\"%s/../%s\", column=\"MODEL_DATA\")\n", path,
                     path, strrchr(path, '/') + 1);

    tree("obs = probe()\nw = sink(obs.data, obs, to=\"%s\")\n", path);
    grove_ms_close(run());
    tree("obs = ms(\"%s\")\nw = sink(4 * obs.data, obs, column=\"MODEL_DATA\")\n", path);
    grove_ms_close(run());
    for (int i = 0; i < 4; i++) {
        const char *member = i / 2 ? "other.data" : "obs.column(\"MODEL_DATA\")";
        char *rest = suite_text(reads[i % 2], member), *text = suite_text("%s%s", twice, rest);
        const char *said = testing_faults(&t, text);
        ck_assert_msg(
            strstr(said, i % 2 ? ":5:36: error: sink: column: MODEL_DATA of "
                               : ":3:32: error: sink: column: MODEL_DATA of ") &&
                strstr(said,
                       suite_text("is read by '%s' at t.tree:%s, and would be lost; write",
                                  i / 2 ? "other.data" : "obs.column(MODEL_DATA)", places[i])),
            "%s", said);
    }
    ck_assert_ptr_nonnull(strstr(
        testing_faults(
            &t, suite_text("%sw = sink(obs.data, obs, column=\"WEIGHT_SPECTRUM\")\n", twice)),
        "in Measurement Sets WEIGHT_SPECTRUM has real numbers"));
    tree("%su = other.data\nw = sink(3 * obs.data, obs, column=\"MODEL_DATA\")\nrun w\n", twice);
    grove_ms *ms = run();
    check_column(ms, "MODEL_DATA", 3, (int[]){0, 1, 2, 3}, 4);
    grove_ms_close(ms);
    tree("%sw = sink(2 * other.data, obs, column=\"MODEL_DATA\", overwrite=true)\n", twice);
    ms = run();
    check_column(ms, "MODEL_DATA", 6, (int[]){0, 1, 2, 3}, 4);
    grove_ms_close(ms);
    tree("%sw = sink(other.data, obs, column=\"MODEL_DATA\", mode=subtract)\n", twice);
    ms = run();
    check_column(ms, "MODEL_DATA", 0, (int[]){0, 1, 2, 3}, 4);
    grove_ms_close(ms);
    free(twice);
}

/* A number per baseline and nothing else fills times and channels, a scalar the diagonal. */
TEST(values_with_fewer_axes)
{
    float data[CELLS * 2], number[CELLS];

    tree("obs = probe()\nx = select(obs.weight, axis=time, index=1, element=XY)\n"
         "w = sink(select(x, axis=freq, index=2) * 1Jy, obs, to=\"%s\")\n",
         path);
    grove_ms *ms = run();
    good(!grove_ms_read_data(ms, "DATA", &all, data, NULL, t.error));
    for (int i = 0; i < CELLS; i++) {
        number[i] = (float)probe_weight(1, i / PROBE_CHANNELS % PROBE_BASELINES, 2, 1);
        ck_assert(data[2 * i] == number[i] && data[2 * i + 1] == 0);
    }
    grove_ms_close(ms);
}

/* ---- ms ---- */

static double first_time = 4.5e9;

/* A set whose numbers are those of probe, written without the class sink. */
static bool descending; /* channels */

static void write_set(const int *codes, int count)
{
    grove_ms_layout *layout = grove_alloc(sizeof(*layout));
    float *data = grove_alloc(CELLS * 8 * sizeof(float));
    unsigned char *flag = grove_alloc(CELLS * 4);
    double uvw[PROBE_TIMES * PROBE_BASELINES][3];

    layout->station_count = PROBE_STATIONS;
    layout->stations = grove_alloc(PROBE_STATIONS * sizeof(grove_station));
    for (int p = 0; p < PROBE_STATIONS; p++) {
        layout->stations[p].name = grove_format("T%d", p);
        layout->stations[p].position[0] = 6378000;
        layout->stations[p].position[1] = 10 * p * p;
        layout->stations[p].diameter = 12;
        strcpy(layout->stations[p].mount, "ALT-AZ");
    }
    layout->telescope = grove_strdup("TEST");
    layout->field_name = grove_strdup("here");
    layout->phase_centre[0] = 1.25;
    layout->phase_centre[1] = -0.25;
    layout->times = PROBE_TIMES;
    layout->time = grove_alloc(PROBE_TIMES * sizeof(double));
    layout->interval = grove_alloc(PROBE_TIMES * sizeof(double));
    for (int i = 0; i < PROBE_TIMES; i++) {
        layout->time[i] = first_time + 20 * i;
        layout->interval[i] = 20;
    }
    layout->channels = PROBE_CHANNELS;
    layout->frequency = grove_alloc(PROBE_CHANNELS * sizeof(double));
    layout->channel_width = grove_alloc(PROBE_CHANNELS * sizeof(double));
    for (int k = 0; k < PROBE_CHANNELS; k++) {
        int place = descending ? PROBE_CHANNELS - 1 - k : k;
        layout->frequency[k] = 150e6 + 1e5 * place * place;
        layout->channel_width[k] = 1e5;
    }
    layout->correlations = count;
    memcpy(layout->correlation, codes, (size_t)count * sizeof(int));
    layout->baselines = PROBE_BASELINES;
    layout->antenna1 = grove_alloc(PROBE_BASELINES * sizeof(int));
    layout->antenna2 = grove_alloc(PROBE_BASELINES * sizeof(int));
    for (int b = 0, p = 0; p < PROBE_STATIONS; p++)
        for (int q = p + 1; q < PROBE_STATIONS; q++, b++) {
            layout->antenna1[b] = p;
            layout->antenna2[b] = q;
        }
    for (int n = 0; n < CELLS * count; n++) {
        int e = codes[n % count] == 1 ? 0 : (codes[n % count] - 1) % 4;
        int k = n / count % PROBE_CHANNELS, b = n / count / PROBE_CHANNELS % PROBE_BASELINES;
        int i = n / count / PROBE_CHANNELS / PROBE_BASELINES;
        double complex v = probe_data(i, b, k, e);
        data[2 * n] = (float)creal(v);
        data[2 * n + 1] = (float)cimag(v);
        flag[n] = probe_flagged(i, b, k, e);
    }
    for (int i = 0; i < 3 * PROBE_TIMES * PROBE_BASELINES; i++)
        uvw[i / 3][i % 3] = 0.5 * i + 1;
    grove_ms *ms = grove_ms_create(path, layout, NULL, "DATA", false, NULL, t.error);
    good(ms != NULL);
    good(!grove_ms_write_data(ms, &all, data, flag, t.error));
    good(!grove_ms_write_uvw(ms, &all, uvw[0], t.error));
    good(!grove_ms_finish(ms, t.error));
    grove_ms_layout_free(layout);
    free(data);
    free(flag);
}

/* XX XY YX YY, RR LL, and I: with the shape that each has, and which element each number is. */
static const struct {
    int codes[4], count, shape, element[4];
} kinds[] = {{{9, 10, 11, 12}, 4, GROVE_MATRIX, {0, 1, 2, 3}},
             {{5, 8}, 2, GROVE_DIAGONAL, {0, 3}},
             {{1}, 1, GROVE_SCALAR, {0}}};

LOOP_TEST(data_of_a_set, 0, 3)
{
    unsigned char *flags;
    int n = 0;

    write_set(kinds[_i].codes, kinds[_i].count);
    tree("obs = ms(\"%s\")\nx = 1 * obs.data\nf = 1 * obs.feed\n", path);
    testing_value x = testing_evaluate(&t, "x"), f = testing_evaluate(&t, "f");
    testing_value y = probe_session(&t, "x", NULL, &flags);
    ck_assert_int_eq(testing_node(&t, "x")->form.shape, kinds[_i].shape);
    ck_assert_int_eq(x.cells, CELLS);
    for (int i = 0; i < PROBE_TIMES; i++)
        for (int b = 0; b < PROBE_BASELINES; b++)
            for (int k = 0; k < PROBE_CHANNELS; k++)
                for (int e = 0; e < kinds[_i].count; e++, n++) {
                    bool flagged = probe_flagged(i, b, k, kinds[_i].element[e]);
                    double complex wanted = probe_data(i, b, k, kinds[_i].element[e]);
                    ck_assert(flags[n] == flagged && x.at[n] == y.at[n]);
                    ck_assert_msg(flagged || x.at[n] == wanted, "%d %d %d %d: %g%+gi", i, b, k, e,
                                  creal(x.at[n]), cimag(x.at[n]));
                }
    ck_assert(f.at[0] == (_i == 1));
}

/* The UVW column as it is, and what else stands in the set. */
TEST(members_of_a_set)
{
    write_set(kinds[0].codes, 4);
    tree("obs = ms(\"%s\")\nu = 1 * obs.uvw\nf = 1 * obs.freq\nc = 1 * obs.phase_centre\n"
         "d = 1 * obs.diameter\ni = 1 * obs.interval\nw = 1 * obs.weight\nt = 1 * obs.time\n"
         "h = 1 * obs.channel_width\n",
         path);
    testing_value h = testing_evaluate(&t, "h");
    ck_assert(h.cells == PROBE_CHANNELS && h.at[5] == 1e5);
    testing_value u = testing_evaluate(&t, "u"), f = testing_evaluate(&t, "f");
    testing_value c = testing_evaluate(&t, "c"), d = testing_evaluate(&t, "d");
    testing_value i = testing_evaluate(&t, "i"), w = testing_evaluate(&t, "w");
    testing_value time = testing_evaluate(&t, "t");
    for (int k = 0; k < 3 * PROBE_TIMES * PROBE_BASELINES; k++)
        ck_assert(u.at[k] == 0.5 * k + 1);
    ck_assert(f.cells == PROBE_CHANNELS && f.at[5] == 152.5e6);
    ck_assert(cabs(c.at[0] - 1.25) < 1e-12 && cabs(c.at[1] + 0.25) < 1e-12);
    ck_assert(d.cells == 1 && d.at[0] == 12);
    ck_assert(i.at[3] == 20 && time.at[3] == 4.5e9 + 60);
    for (int k = 0; k < 4 * CELLS; k++)
        ck_assert(w.at[k] == 1);
    ck_assert_str_eq(grove_node_axis(testing_node(&t, "obs"), "station")->labels[3], "T3");
}

static int by_size(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;

    return (x > y) - (x < y);
}

/* How far the coordinates at the middle time are from differences of those of stations, of which a
 * fit to all pairs is the mean over the others; a row without coordinates is left out. */
TEST(misclosure_of_a_set)
{
    enum { PAIRS = PROBE_BASELINES, MIDDLE = PROBE_TIMES / 2 };
    double place[PROBE_STATIONS][3] = {{0}}, distance[PAIRS] = {0}, uvw[PAIRS + 1][3], found[4][3];
    int32_t left[PAIRS + 1] = {0}, right[PAIRS + 1] = {[PAIRS] = 1};

    write_set(kinds[0].codes, 4);
    tree("obs = ms(\"%s\")\nu = 1 * obs.uvw\nb = 1 * obs.baseline\n", path);
    testing_value u = testing_evaluate(&t, "u"), pair = testing_evaluate(&t, "b");
    for (int b = 0; b < PAIRS; b++) {
        left[b] = (int32_t)creal(pair.at[2 * b]);
        right[b] = (int32_t)creal(pair.at[2 * b + 1]);
        for (int k = 0; k < 3; k++) {
            uvw[b][k] = creal(u.at[3 * (MIDDLE * PAIRS + b) + k]);
            place[left[b]][k] += uvw[b][k] / PROBE_STATIONS;
            place[right[b]][k] -= uvw[b][k] / PROBE_STATIONS;
        }
    }
    for (int b = 0; b < PAIRS; b++)
        for (int k = 0; k < 3; k++)
            distance[b] += fabs(uvw[b][k] - place[left[b]][k] + place[right[b]][k]);
    qsort(distance, PAIRS, sizeof(*distance), by_size);
    double said = grove_node_observation(testing_node(&t, "obs"))->uvw_misclosure;
    ck_assert(distance[PAIRS / 2] > 1);
    ck_assert_double_eq_tol(said, distance[PAIRS / 2], 1e-4 * said);
    uvw[PAIRS][0] = uvw[PAIRS][1] = uvw[PAIRS][2] = NAN;
    ck_assert_int_eq(grove_station_fit(uvw[0], left, right, PAIRS + 1, 4, found[0]), 0);
    for (int p = 0; p < PROBE_STATIONS; p++)
        for (int k = 0; k < 3; k++)
            ck_assert_double_eq_tol(found[p][k], place[p][k], 1e-9);
}

/* That element e of x at each cell is `factor` times that of probe, flagged where it is. */
static void check_multiple(const char *name, double factor)
{
    unsigned char *flags;
    testing_value x = probe_session(&t, name, NULL, &flags);

    ck_assert(x.cells == CELLS && x.elements == 4 && x.axes == 3);
    for (int n = 0; n < 4 * CELLS; n++) {
        int k = n / 4 % PROBE_CHANNELS, b = n / 4 / PROBE_CHANNELS % PROBE_BASELINES;
        int i = n / 4 / PROBE_CHANNELS / PROBE_BASELINES;
        ck_assert(flags[n] == probe_flagged(i, b, k, n % 4));
        ck_assert(flags[n] || x.at[n] == factor * probe_data(i, b, k, n % 4));
    }
}

TEST(columns_are_members)
{
    write_set(kinds[0].codes, 4);
    tree("obs = ms(\"%s\")\nw = sink(3 * obs.data, obs, column=\"MODEL_DATA\")\n", path);
    grove_ms_close(run());
    tree("option c = \"MODEL_DATA\"\nobs = ms(\"%s\")\n"
         "x = obs.column(\"DATA\") - obs.column($c)\n",
         path);
    check_multiple("x", -2);
    ck_assert_ptr_nonnull(
        strstr(testing_faults(
                   &t, suite_text("obs = ms(\"%s\")\nx = 1 * obs.column(\"MODEL_DTA\")\n", path)),
               "'obs' (ms) has no member 'column(MODEL_DTA)'; did you mean "
               "'column(MODEL_DATA)'?"));
}

/* Bands of a parm: channels at 0, 1, 4, 9, ... times their width, in either order. */
LOOP_TEST(bands, 0, 2)
{
    static const int wanted[PROBE_CHANNELS] = {0, 0, 1, 2, 3, 4, 5};
    static const double low[] = {0, 3, 9, 15, 24, 36}; /* edges, counted in widths */

    descending = _i;
    write_set(kinds[0].codes, 4);
    descending = false;
    tree("obs = ms(\"%s\")\nJ = parm(\"J\", init=1, freq=300kHz)\n", path);
    const grove_node *leaf = testing_node(&t, "J")->inputs[0].node->leaf;
    const grove_parm *p = grove_node_user(leaf);
    const grove_axis *band = grove_node_axis(leaf, "band");
    ck_assert_int_eq(band->size, 6);
    for (int k = 0; k < PROBE_CHANNELS; k++)
        ck_assert_int_eq(p->freq.number[_i ? PROBE_CHANNELS - 1 - k : k], wanted[k]);
    for (int i = 0; i < 6; i++) {
        double start = (band->centre[i] - band->width[i] / 2 - 149.95e6) / 1e5;
        ck_assert_msg(fabs(start - low[i]) < 1e-6, "band %d from %g widths", i, start);
        ck_assert(fabs(band->width[i] - (i < 5 ? 3e5 : 1e5)) < 1e-3);
    }
}

/* Of two sets with the same axes, and of two whose times differ. */
TEST(sets_meet)
{
    char *first = suite_text("%s/first.ms", t.folder);

    write_set(kinds[0].codes, 4);
    ck_assert_int_eq(rename(path, first), 0);
    write_set(kinds[0].codes, 4);
    tree("a = ms(\"%s\")\nb = ms(\"%s\")\nx = a.data - 3 * b.data\n"
         "w = sink(x, b, column=\"CORRECTED_DATA\")\n",
         first, path);
    check_multiple("x", -2);
    grove_ms *ms = run();
    check_column(ms, "CORRECTED_DATA", -2, (int[]){0, 1, 2, 3}, 4);
    grove_ms_close(ms);
    snprintf(path, sizeof(path), "%s/later.ms", t.folder);
    first_time += 40;
    write_set(kinds[0].codes, 4);
    first_time -= 40;
    const char *faults = testing_faults(
        &t, suite_text("a = ms(\"%s\")\nb = ms(\"%s\")\nx = a.data - b.data\n", first, path));
    ck_assert_msg(strstr(faults, "'b' has the time axis of 'b', the inputs before it have the axis "
                                 "of 'a'; both must be the same, but they differ: time 0 is at "
                                 "4500000040 in one, at 4500000000 in the other") != NULL,
                  "%s", faults);
}

/* What follows from stations, times and the phase centre is as in the observation that the set was
 * written from; stations' coordinates are known but for an offset. */
TEST(members_that_follow)
{
    static const struct {
        const char *member;
        double size; /* of what may be off by 1e-9 */
    } members[] = {{"position", 1e3},  {"station_diameter", 1}, {"station_index", 1},
                   {"baseline", 1},    {"uvw_rate", 1},         {"station_rate", 1},
                   {"hour_angle", 1},  {"azimuth", 1},          {"elevation", 1},
                   {"parallactic", 1}, {"station_uvw", 1e3},    {"scan", 1}};

    tree("obs = probe(slots=2, scans=true)\nw = sink(obs.data, obs, to=\"%s\")\n", path);
    grove_ms_close(run());
    for (size_t i = 0; i < sizeof(members) / sizeof(members[0]); i++) {
        const char *name = members[i].member;
        bool offset = !strcmp(name, "station_uvw");
        tree("obs = probe(slots=2, scans=true)\nset = ms(\"%s\")\na = 1 * set.%s\nb = 1 * obs.%s\n",
             path, name, name);
        testing_value a = testing_evaluate(&t, "a"), b = testing_evaluate(&t, "b");
        int64_t numbers = a.cells * a.elements, row = 3 * PROBE_STATIONS;
        double largest = 0;
        ck_assert(numbers == b.cells * b.elements && a.axes == b.axes);
        for (int64_t k = 0; k < numbers; k++) {
            int64_t first = k / row * row + k % 3;
            double complex off = a.at[k] - b.at[k] - (offset ? a.at[first] - b.at[first] : 0);
            ck_assert_msg(cabs(off) < 1e-9 * members[i].size, "%s: number %ld is off by %g", name,
                          (long)k, cabs(off));
            largest = fmax(largest, cabs(b.at[k]));
        }
        ck_assert(largest > 0.01);
    }
}

SUITE(60, setup, teardown)
