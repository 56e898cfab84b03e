/* Rows that a set lacks: cells of them are computed where somebody reads them, and only there. Of
 * what tiles, precisions and poisons could be combined with, half, or all with GROVE_ALL_ROWS=1. */
#include "tests/common/foreign-sets.h"
#include "tests/common/probe.h"

#include "base/memory.h"
#include "base/text.h"
#include "device/array.h"
#include "graph/graph.h"
#include "nodes/sets/measurement_set.h"

#include <stdlib.h>
#include <string.h>

/* Not a whole number of vectors of channels. */
enum { CHANNELS = 18, BASELINES = 21, TIMES = 10, ROWS = BASELINES * TIMES / 2 };

/* ---- a class that counts the cells that it computes, and marks its result ---- */

static int64_t counted;

static void count_cells(const grove_args *args, int64_t first, int64_t last)
{
    __atomic_fetch_add(&counted, last - first, __ATOMIC_RELAXED);
    grove_array_cast.single_precision(args, first, last);
}

static const grove_kernel count_kernel = {"count", count_cells, count_cells, NULL, NULL, 0, 0};

static int check_count(grove_node *node)
{
    grove_node_set_output(node, grove_node_input_form(node, 0));
    return 0;
}

static const grove_port count_inputs[] = {
    {"x", GROVE_VALUE, "what is handed on", .shapes = GROVE_JONES}, {0}};
static const grove_class class_count = {GROVE_CLASS_HEAD(count), .doc = "For tests.",
                                        .inputs = count_inputs,  .kernel = &count_kernel,
                                        .check = check_count,    .output_doc = "the input"};

static void begin(testing *t)
{
    unsetenv("GROVE_CHECK_CACHE"); /* all rows would be computed, to compare */
    probe_begin(t);
    ck_assert_int_eq(grove_classes_add(t->classes, &class_count, t->error), 0);
}

TESTING_FIXTURE(begin(&t))

/* The set half.ms: every second row of one by seven stations. */
static void make_half(void)
{
    const char *source = getenv("GROVE_SOURCE") ? getenv("GROVE_SOURCE") : ".";
    char *full = suite_text("%s/full.ms", t.folder), *half = suite_text("%s/half.ms", t.folder);
    testing_tree(
        &t, suite_text(
                "obs = observe(array=\"%s/data/arrays/kat-7.array\", hour_angle=-50s..50s, "
                "integration=10s, "
                "phase_centre=\"0deg -30deg\", frequency=1.4GHz, channels=%d, channel_width=1MHz)\n"
                "S = sky_model(\"%s/examples/quickstart/3C147.skymodel\")\n"
                "V[p,q] = sum[s](point(S, obs)) + noise(obs, sigma=1Jy)\n"
                "w = sink(V, obs, to=\"%s\")\nx = sink(V, obs, to=\"%s\", column=\"ONE\")\n"
                "y = sink(V, obs, to=\"%s\", column=\"TWO\")\n",
                source, CHANNELS, source, full, full, full));
    ck_assert(!probe_run(&t, NULL));
    foreign_reference(full, half);
    foreign_flag(full, 1); /* the rows that the other one lacks */
}

/* Runs these actions on a set and returns how many cells were counted. `tile`: times, 0: all. */
static int64_t run_on(const char *set, const char *actions, int64_t tile, bool double_)
{
    char *text = suite_text(
        "obs = ms(\"%s/%s.ms\")\nS = sky_model(\"%s/examples/quickstart/3C147.skymodel\")\n"
        "G[p] = gains(obs, kind=sine, period=100s, seed=2)\n"
        "M[p,q] = sum[s](point(S, obs, lmn=lmn(S, obs)))\n%s",
        t.folder, set, getenv("GROVE_SOURCE") ? getenv("GROVE_SOURCE") : ".", actions);
    grove_session_options options =
        GROVE_SESSION_OPTIONS(.threads = 2, .device = "cpu", .tile_times = tile,
                              .double_precision = double_);

    counted = 0;
    testing_tree(&t, text);
    ck_assert_msg(!probe_run(&t, &options), "%s", grove_error_message(t.error, 0));
    return counted;
}

/* What nobody is to read: numbers that are not flagged, or NaN, flagged. */
static const char *poison = "nan";

/* The same on half.ms, with poison. */
static int64_t run(const char *actions, int64_t tile, bool double_)
{
    setenv("GROVE_POISON_ROWS", poison, 1);
    int64_t count = run_on("half", actions, tile, double_);
    unsetenv("GROVE_POISON_ROWS");
    return count;
}

/* Whether the sum over sources of the tree is not computed where there are no rows. */
static bool skips(void)
{
    bool said = false;

    for (size_t i = 0; i < t.tree->node_count; i++)
        said = said || (t.tree->nodes[i]->fused &&
                        strstr(t.tree->nodes[i]->fused, "the set has no such rows"));
    return said;
}

/* That two columns are the same in all rows, and not zero; missing rows aside. */
static void check_columns(const char *a, const char *b)
{
    grove_ms *ms = grove_ms_open(suite_text("%s/half.ms", t.folder),
                                 &(grove_ms_part){.cross_only = true}, t.error);
    ck_assert_msg(ms != NULL, "%s", grove_error_message(t.error, 0));
    const grove_ms_layout *layout = grove_ms_layout_of(ms);
    grove_ms_block block = {0, layout->times, 0, layout->baselines, 0, layout->channels};
    const size_t cells = (size_t)(layout->times * layout->baselines), row = 4 * CHANNELS;
    float *x = grove_alloc(2 * row * cells * sizeof(float)),
          *y = grove_alloc(2 * row * cells * sizeof(float));
    unsigned char *missing = grove_alloc(cells);
    size_t rows = 0;

    ck_assert_int_eq(layout->rows, ROWS);
    ck_assert(!grove_ms_read_data(ms, a, &block, x, NULL, t.error));
    ck_assert(!grove_ms_read_data(ms, b, &block, y, NULL, t.error));
    ck_assert(!grove_ms_find_missing(ms, &block, missing, t.error));
    for (size_t i = 0; i < cells; i++) {
        if (missing[i])
            continue;
        rows++;
        ck_assert_mem_eq(x + 2 * row * i, y + 2 * row * i, 2 * row * sizeof(float));
        ck_assert(x[2 * row * i] != 0);
    }
    ck_assert_uint_eq(rows, ROWS);
    grove_ms_close(ms);
    free(x);
    free(y);
    free(missing);
}

/* Each equation, whose cells are counted: what only the set gets is computed for its rows, and the
 * same numbers for all cells where something else reads it, too. */
LOOP_TEST(cells_that_nobody_reads, 0, 14)
{
    static const char *const equations[] = {
        "count(M[p,q])",
        "G[p] * count(M[p,q]) * G[q]^H",
        "count(G[p] * M[p,q] * G[q]^H)",
        "obs.data - count(G[p] * M[p,q] * G[q]^H)",
        "count(obs.data + M[p,q])",
        "G[p]^-1 * count(obs.data) * G[q]^H^-1",
        "select(count(M[p,q]), element=XX) * obs.data / 1Jy",
    };
    const char *equation = equations[_i % 7];
    const int64_t all = 2 * ROWS * CHANNELS, tile = _i % 7 % 3 == 1 ? 3 : 0;
    const bool double_ = _i >= 7;
    poison = _i % 2 ? "number" : "nan";
    char *text = suite_text("V[p,q] = %s\nw = sink(V, obs, column=\"ONE\")\n", equation);

    make_half();
    ck_assert_int_eq(run(text, tile, double_), all / 2);
    ck_assert(skips() == (strstr(equation, "M[p,q]") != NULL));
    ck_assert_int_ge(
        run(suite_text("V[p,q] = %s\nw = sink(V, obs, column=\"TWO\")\nm = print(V, rows=2)\n",
                       equation),
            tile, double_),
        all);
    ck_assert(!skips());
    check_columns("ONE", "TWO");
}

/* The null sink gets what the set would get. */
TEST(nothing_is_written)
{
    make_half();
    ck_assert_int_eq(run("w = sink(count(M[p,q] + obs.data), obs, to=\"null\")\n", 0, false),
                     ROWS * CHANNELS);
    ck_assert(skips());
}

/* How many halves of what could be combined run. */
static int share(void)
{
    return getenv("GROVE_ALL_ROWS") ? 2 : 1;
}

/* Fits to a set that lacks rows have the same bits as to one in which these are flagged, and their
 * models are computed for rows that are there only: once, or once for each step. */
LOOP_TEST(fits, 0, share() * 36)
{
    static const char *const options[] = {
        "",
        ", method=lm",
        ", compress=false",
        ", compress=false, robust=student_t",
        ", robust=student_t, method=lm",
        ", min_baseline=30m, quota=0.1",
        ", min_baseline=30m, compress=false, quota=0.1",
        ", weights=obs.weight * 2, compress=false",
        ", weights=1 + 0 * obs.time / 1s",
    };
    const bool double_ = _i % 2;
    const int64_t tile = _i / 2 % 2 ? 3 : 0;
    poison = (_i / 36 + _i / 4) % 2 ? "number" : "nan";
    const int64_t all = 2 * ROWS * CHANNELS;
    char *text[2];

    make_half();
    for (int k = 0; k < 2; k++)
        text[k] =
            grove_format("g[p] = parm(\"g\", obs, jones=diagonal, time=20s)\n"
                         "f = solve(g[p] * count(M[p,q]) * g[q]^H, obs.data, max_iterations=5%s)\n"
                         "w = sink(g[p]^-1 * obs.data * g[q]^H^-1, obs, column=\"%s\")\n",
                         options[_i / 4 % 9], k ? "TWO" : "ONE");
    int64_t there = run(text[0], tile, double_), flagged = run_on("full", text[1], tile, double_);
    ck_assert_int_gt(there, 0);
    ck_assert_int_eq(there % (all / 2), 0);
    ck_assert_int_eq(2 * there, flagged);
    check_columns("ONE", "TWO");
    for (int k = 0; k < 2; k++)
        free(text[k]);
}

/* The same of models that lack axes, whose copies leave rows out. */
LOOP_TEST(fits_of_models_without_axes, 0, 18)
{
    static const char *const models[] = {"1Jy", "h[p] * h[q]^H * 1Jy", "H[p] * H[q]^H * 1Jy"};
    static const char *const options[] = {"", ", method=lm", ", compress=false, robust=student_t"};
    const int64_t tile = _i / 9 ? 3 : 0;
    poison = _i % 2 ? "number" : "nan";

    make_half();
    for (int k = 0; k < 2; k++) {
        char *text = suite_text(
            "g[p] = parm(\"g\", obs, jones=diagonal, time=20s)\n"
            "h[p] = gains(obs, kind=sine, period=100s, seed=2)\nH[p] = gains(obs, kind=sine, "
            "period=100s, seed=3) * obs.freq / 1GHz\n"
            "f = solve(g[p] * %s * g[q]^H, obs.data, max_iterations=5%s)\n"
            "w = sink(g[p]^-1 * obs.data * g[q]^H^-1, obs, column=\"%s\")\n",
            models[_i % 3], options[_i / 3 % 3], k ? "TWO" : "ONE");
        if (k)
            run_on("full", text, tile, false);
        else
            run(text, tile, false);
    }
    check_columns("ONE", "TWO");
}

/* The value R, made of V, of a set: with poison where it lacks rows; `more`: further actions. Sets
 * *cells: how many were counted. */
static testing_value value_of(const char *set, const char *expression, const char *more,
                              int64_t tile, bool double_, unsigned char **flags, int64_t *cells)
{
    const grove_session_options options =
        GROVE_SESSION_OPTIONS(.threads = 2, .device = "cpu", .tile_times = tile,
                              .double_precision = double_);
    char *text = suite_text(
        "obs = ms(\"%s/%s.ms\")\nS = sky_model(\"%s/examples/quickstart/3C147.skymodel\")\n"
        "G[p] = gains(obs, kind=sine, period=100s, seed=2)\n"
        "M[p,q] = sum[s](point(S, obs, lmn=lmn(S, obs)))\n"
        "V[p,q] = obs.data - count(G[p] * M[p,q] * G[q]^H)\nR = %s\nw = print(R, rows=2)\n%s",
        t.folder, set, getenv("GROVE_SOURCE") ? getenv("GROVE_SOURCE") : ".", expression, more);

    setenv("GROVE_POISON_ROWS", poison, 1);
    counted = 0;
    testing_tree(&t, text);
    testing_value value = probe_session(&t, "R", &options, flags);
    *cells = counted;
    unsetenv("GROVE_POISON_ROWS");
    return value;
}

typedef struct {
    const char *expression; /* of V */
    double accuracy;        /* 0: the same bits */
    int walks;              /* over tiles, where there are some */
    bool whole;             /* all rows are looked at */
} gathered;

/* That an expression has the same flags and numbers of a set that lacks rows as of another, or with
 * other actions, where all of these are computed; and that of `rows` only V is. */
static void check_gathered(const gathered *g, const char *set, int64_t rows, const char *other,
                           const char *more, int64_t tile, bool double_)
{
    unsigned char *flags[2];
    int64_t cells[2];
    testing_value there = value_of(set, g->expression, "", tile, double_, &flags[0], &cells[0]);
    const bool skipped = skips();
    testing_value whole = value_of(other, g->expression, more, tile, double_, &flags[1], &cells[1]);
    const size_t numbers = there.cells * (size_t)there.elements;

    ck_assert_int_eq(cells[0], (g->whole ? 2 * ROWS : rows) * CHANNELS * (tile ? g->walks : 1));
    ck_assert_int_ge(cells[1], 2 * ROWS * CHANNELS);
    ck_assert(skipped || g->whole || rows == ROWS); /* then flags of cells may be looked at */
    ck_assert_uint_eq(there.cells, whole.cells);
    ck_assert_mem_eq(flags[0], flags[1], numbers);
    if (g->accuracy > 0)
        ck_assert_double_le(testing_distance(&there, &whole), g->accuracy);
    else
        ck_assert_mem_eq(there.at, whole.at, numbers * sizeof(*there.at));
    for (int k = 0; k < 2; k++)
        free(flags[k]);
}

/* Of rows that are missing, and of ones that are flagged; of few rows, and of all cells. `kind`: 0
 * to 3, of tiles, precision and poison. */
static void check_both(const gathered *g, int kind)
{
    enum { FEW = (ROWS + 3) / 4 };
    const int64_t tile = kind % 2 ? 3 : 0;
    const bool double_ = kind / 2;
    char *half = suite_text("%s/half.ms", t.folder), *less = suite_text("%s/less.ms", t.folder),
         *few = suite_text("%s/few.ms", t.folder);

    poison = kind == 1 || kind == 2 ? "number" : "nan";
    make_half();
    check_gathered(g, "half", ROWS, "full", "", tile, double_);
    foreign_reference(half, less);
    foreign_reference(less, few);
    check_gathered(g, "few", FEW, "few", "z = print(V, rows=2)\n", tile, double_);
}

/* The kind of test i of a list of so many: all four in turn; of the first two rounds, in which each
 * has tiles once, all kinds. */
static int kind_of(int i, int count)
{
    return (i % count + 3 * (i / count)) % 4;
}

LOOP_TEST(reductions, 0, share() * 20)
{
    static const gathered list[] = {
        {"sum(norm(V), over=[time, baseline, freq])", 0, 1},
        {"mean(V, over=time)", 0, 1},
        {"sum(V, over=baseline)", 0, 1},
        {"mean(V, over=[time, freq])", 0, 1},
        {"min(abs(V), over=[time, baseline])", 0, 1},
        {"max(norm(V), over=freq)", 0, 1},
        {"mean(V * V, over=[baseline, freq])", 0, 1},
        {"sum(mean(V, over=freq), over=time)", 0, 1},
        {"sum(norm(select(V, element=XX)), over=[time, baseline, freq])", 0, 1},
        {"mean(select(V, element=YX) - select(V, element=XX), over=time)", 0, 1},
    };
    check_both(&list[_i % 10], kind_of(_i, 10));
}

#define FUNCTIONS                                                                                  \
    ", size=64, cell=60arcsec, functions=convolution_functions(1, obs, size=64, cell=60arcsec, "   \
    "oversampling=8, samples=nearest)"

LOOP_TEST(images, 0, share() * 22)
{
    static const gathered list[] = {
        {"dirty_image(V, obs, size=64, cell=60arcsec, exact=true)", 0, 2},
        {"uv_density(obs, data=V, size=64, cell=60arcsec, exact=true)", 0, 2},
        {"dirty_image(V, obs, size=64, cell=60arcsec, stokes=\"IQUV\", bands=3)", 1e-5, 1},
        {"dirty_image(V, obs, size=64, cell=60arcsec, weights=obs.weight * 2, method=idg)", 1e-5,
         1},
        {"psf_image(obs, data=V, size=64, cell=60arcsec)", 1e-5, 1},
        {"grid(V, obs, size=64, cell=60arcsec)", 1e-5, 1},
        {"sum_of_weights(V, obs)", 1e-5, 1},
        {"grid(V, obs" FUNCTIONS ")", 1e-5, 1},
        {"grid(trace(V), obs" FUNCTIONS
         ", bands=3, mueller=cos(obs.time / 7s) / abs(cos(obs.time / 7s)) / 2 - "
         "1 / 2, gradient=vector(1e-3 * sin(obs.time / 7s), 1e-3 * cos(obs.time / 7s)))",
         1e-5, 1},
        {"grid(V, obs" FUNCTIONS ", gradient=vector(1e-6 * select(obs.uvw, element=x) / 1m, "
         "1e-6 * select(obs.uvw, element=y) / 1m))",
         1e-5, 1, true},
        {"g2g_diagonal(obs, data=V" FUNCTIONS ", entries=1500)", 0, 1},
    };
    check_both(&list[_i % 11], kind_of(_i, 11));
}

/* What is foretold of a diagonal is by the rows that are there, and enough for them. */
TEST(entries_foretold)
{
    make_half();
    run("d = g2g_diagonal(obs, data=M" FUNCTIONS ")\nw = print(sum(d))\n"
        "P = grid(M, obs, size=64, cell=60arcsec, w_terms=false)\n"
        "x = g2g(P, obs, size=64, cell=60arcsec, oversampling=8, w_terms=false)\n",
        0, false);
    const char *note = testing_node(&t, "x")->note, *told = strstr(note, " entries for ");
    ck_assert_int_eq(testing_node(&t, "d")->axes[1]->size, ROWS * CHANNELS);
    ck_assert_msg(told != NULL, "%s", note);
    ck_assert_double_eq_tol(strtod(told + 13, NULL), ROWS * CHANNELS, 0.02 * ROWS * CHANNELS);
}

/* Two of the stations observe for some minutes every second, the others for hours every 10 s, so
 * that no baseline has rows at most times: of all times together as many entries for each row would
 * be fewer. */
TEST(entries_of_bursts)
{
    static const char *const hours[] = {"00:00\", duration=600s, integration=1s",
                                        "30:05\", duration=6000s, integration=10s"};
    const char *source = getenv("GROVE_SOURCE") ? getenv("GROVE_SOURCE") : ".";
    char *part[2], *all = suite_text("%s/all.ms", t.folder), *text;

    for (int k = 0; k < 2; k++) {
        char *whole = suite_text("%s/whole-%d.ms", t.folder, k);
        part[k] = grove_format("%s/part-%d.ms", t.folder, k);
        text = suite_text(
            "obs = observe(array=\"%s/data/arrays/kat-7.array\", start=\"2026-11-21T20:%s, "
            "phase_centre=\"0deg -30deg\", frequency=1.4GHz, channels=%d, channel_width=1MHz)\n"
            "V[p,q] = noise(obs, sigma=1Jy)\nw = sink(V, obs, to=\"%s\")\n",
            source, hours[k], CHANNELS, whole);
        testing_tree(&t, text);
        ck_assert_msg(!probe_run(&t, NULL), "%s", grove_error_message(t.error, 0));
        foreign_stations(whole, k ? 2 : 0, k ? 7 : 2, part[k]);
    }
    foreign_concatenation(part[1], part[0], all);
    text =
        grove_format("obs = ms(\"%s\")\nC = convolution_functions(1, obs, size=64, cell=120arcsec, "
                     "oversampling=63, samples=nearest, w_terms=false)\n"
                     "d = g2g_diagonal(obs, size=64, cell=120arcsec, functions=C, w_terms=false)\n"
                     "s = print(sum(d))\n",
                     all);
    testing_tree(&t, text);
    ck_assert_msg(!probe_run(&t, NULL), "%s", grove_error_message(t.error, 0));
    ck_assert_int_lt(testing_node(&t, "d")->axes[1]->size, 0.8 * 11 * 600 * CHANNELS);
    for (int k = 0; k < 2; k++)
        free(part[k]);
}

/* A value that is asked for by itself has zeros where the set has no row, flagged. */
TEST(a_value_that_is_asked_for)
{
    const grove_session_options options = GROVE_SESSION_OPTIONS(.device = "cpu", .tile_times = 3);
    unsigned char *flags;

    make_half();
    testing_tree(
        &t,
        suite_text(
            "obs = ms(\"%s/half.ms\")\nS = sky_model(\"%s/examples/quickstart/3C147.skymodel\")\n"
            "M[p,q] = sum[s](point(S, obs))\nV[p,q] = count(M[p,q])\n"
            "w = sink(V, obs, column=\"ONE\")\n",
            t.folder, getenv("GROVE_SOURCE") ? getenv("GROVE_SOURCE") : "."));
    counted = 0;
    testing_value value = probe_session(&t, "V", &options, &flags);
    ck_assert_int_eq(counted, 2 * ROWS * CHANNELS);
    const size_t row = 4 * CHANNELS;
    size_t zeros = 0;
    for (size_t i = 0; i < 2 * ROWS; i++) {
        size_t flagged = 0, zero = 0;
        for (size_t k = 0; k < row; k++) {
            flagged += flags[row * i + k] != 0;
            zero += value.at[row * i + k] == 0;
        }
        ck_assert(flagged == 0 || (flagged == row && zero == row));
        zeros += flagged == row;
    }
    ck_assert_uint_eq(zeros, ROWS);
}

SUITE(60, setup, teardown)
