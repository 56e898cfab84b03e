/* The costs of predict: built in, or as `grove tune` has stored them; the ways that they choose on
 * the cpu and on GPUs; the option method overrides the choice. */
#include "tests/common/grid.h"

#include "../kernels/simd/isa.h"
#include "../kernels/sky/predict.h"
#include "base/file.h"
#include "nodes/sky/predict_cost.h"

#include <check.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static testing t;
static char file[200];

static void setup(void)
{
    testing_begin(&t);
    grid_begin(&t);
    setenv("XDG_CACHE_HOME", t.folder, 1);
    snprintf(file, sizeof(file), "%s/grove/tuning", t.folder);
}

static void teardown(void)
{
    unsetenv("XDG_CACHE_HOME");
    testing_end(&t);
}

static bool equal(grove_predict_costs a, grove_predict_costs b)
{
    return !memcmp(&a, &b, sizeof(a));
}

static grove_predict_costs usual(int isa, int jones)
{
    return grove_predict_usual_costs(isa, 4, jones);
}

static void store(const grove_predict_costs *cpu, const grove_predict_cuda_costs *gpu)
{
    grove_tuning entries[2];
    char what[PREDICT_COSTS_WORDS], said[160], *path;
    grove_isa isa;
    int count = 0;

    ck_assert(!grove_isa_choose(&isa, said));
    if (cpu)
        entries[count++] = predict_costs_entry(cpu, (int)isa, 0, what);
    if (gpu)
        entries[count++] = predict_cuda_costs_entry(gpu);
    ck_assert_int_eq(grove_tuning_store(entries, count, &path, t.error), 0);
    ck_assert_str_eq(path, file);
    free(path);
}

static void put_file(const char *text)
{
    char folder[200];

    snprintf(folder, sizeof(folder), "%s/grove", t.folder);
    ck_assert(mkdir(folder, 0777) == 0 || grove_path_is_folder(folder));
    FILE *stream = fopen(file, "w");
    fputs(text, stream);
    fclose(stream);
}

/* Whatever processor this is, nothing is measured and nothing is written. */
START_TEST(built_in)
{
    for (int isa = 0; isa < 3; isa++)
        for (int jones = 0; jones < PREDICT_COSTS_KINDS; jones++)
            ck_assert(equal(predict_costs(isa, jones), usual(isa, jones)));
    grove_predict_cuda_costs gpu = predict_cuda_costs(), usual_gpu = grove_predict_cuda_measured();
    ck_assert(!memcmp(&gpu, &usual_gpu, sizeof(gpu)));
    ck_assert(!grove_path_exists(file));
}
END_TEST

/* What was measured, and what others have stored in the file. */
START_TEST(stored)
{
    static const char other[] = "0.0.1 | Another processor | predict, avx2 | 1 2 3 4 5\n";
    const grove_predict_costs costs = {1, 2, 3, 4, 0.5};
    grove_predict_cuda_costs gpu = grove_predict_cuda_measured(), found;
    char said[160];
    grove_isa isa;

    ck_assert(!grove_isa_choose(&isa, said));
    store(NULL, NULL);
    char *text = grove_file_read(file, 100000, true, NULL, t.error);
    char *both = malloc(strlen(text) + sizeof(other));
    strcpy(both, text);
    put_file(strcat(both, other));
    gpu.product = 7;
    for (int again = 0; again < 2; again++) { /* the second time it replaces its own lines */
        store(&costs, &gpu);
        ck_assert(equal(predict_costs((int)isa, 0), costs));
        ck_assert(equal(predict_costs((int)isa, 1), usual((int)isa, 1)));
        found = predict_cuda_costs();
        ck_assert_double_eq(found.product, 7);
        ck_assert_double_eq_tol(found.recurrence, gpu.recurrence, 1e-6);
    }
    free(text);
    text = grove_file_read(file, 100000, true, NULL, t.error);
    int lines = 0;
    for (const char *c = text; *c; c++)
        lines += *c == '\n';
    ck_assert_int_eq(lines, 4);
    ck_assert_ptr_nonnull(strstr(text, other));
    free(text);
    free(both);
}
END_TEST

/* A file of something else is not used: one warning, and what is built in. */
START_TEST(spoilt_files)
{
    static const char *const texts[] = {
        "",
        "nonsense\n",
        "# Costs on this machine, measured by grove tune; may be removed.",
        "# Costs on this machine, measured by grove tune; may be removed.\n0.1.0 | x | y | 1 2 z\n",
        "# Costs on this machine, measured by grove tune; may be removed.\n0.1.0 | x | y |\n",
        "# Costs on this machine, measured by grove tune; may be removed.\n0.1.0 | x | y | 1"};
    char said[200];

    snprintf(said, sizeof(said), "%s/said", t.folder);
    put_file(texts[_i]);
    fflush(stderr);
    int before = dup(2), to = open(said, O_CREAT | O_WRONLY, 0600);
    ck_assert(before >= 0 && to >= 0 && dup2(to, 2) == 2);
    bool good = equal(predict_costs(GROVE_ISA_PORTABLE, 0), usual(GROVE_ISA_PORTABLE, 0)) &&
                equal(predict_costs(GROVE_ISA_PORTABLE, 1), usual(GROVE_ISA_PORTABLE, 1));
    predict_cuda_costs();
    dup2(before, 2);
    close(before);
    close(to);
    ck_assert(good);
    char *text = grove_file_read(said, 100000, true, NULL, t.error);
    ck_assert_ptr_nonnull(strstr(text, "this is not a file of grove tune"));
    ck_assert_ptr_eq(strchr(text, '\n'), text + strlen(text) - 1);
    free(text);
    const grove_predict_cuda_costs gpu = {1, 2, 3, 4, 5, 6, 7, 8};
    store(NULL, &gpu);
    ck_assert_double_eq(predict_cuda_costs().varying, 4);
}
END_TEST

/* No folder, or none that can be written. */
START_TEST(no_folder)
{
    static const grove_predict_costs costs = {1, 2, 3, 4, 5};
    char path[200], what[PREDICT_COSTS_WORDS], *kept;

    testing_file(&t, "plain", "a file is no folder");
    snprintf(path, sizeof(path), "%s/plain", t.folder);
    setenv("XDG_CACHE_HOME", path, 1);
    grove_tuning entry = predict_costs_entry(&costs, GROVE_ISA_PORTABLE, 0, what);
    for (int k = 0; k < 3; k++) {
        ck_assert(equal(predict_costs(GROVE_ISA_PORTABLE, 0), usual(GROVE_ISA_PORTABLE, 0)));
        ck_assert_int_ne(grove_tuning_store(&entry, 1, &kept, t.error), 0);
        ck_assert_int_eq(grove_error_count(t.error), 1);
        grove_error_clear(t.error);
        free(kept);
        unsetenv("XDG_CACHE_HOME");
        if (k)
            unsetenv("HOME");
        else
            setenv("HOME", "", 1);
    }
}
END_TEST

/* By stations (1) or baselines on a GPU, as measured: by stations where phases are evaluated, or
 * where more than the phase varies with the channel. */
START_TEST(shapes_on_gpus)
{
    static const struct {
        int stations, channels, regular, jones, varies, by_stations, spectra;
    } rows[] = {
        {14, 64, 1, 0, 0, 0},  {64, 64, 1, 0, 0, 0},
        {64, 1, 1, 0, 0, 1},   {64, 64, 0, 0, 0, 1},
        {7, 1, 1, 0, 0, 0},    {512, 64, 1, 0, 0, 0},
        {64, 9, 1, 0, 0, 1},   {14, 64, 1, 1, 0, 0},
        {27, 64, 1, 1, 0, 0},  {64, 64, 1, 1, 0, 0},
        {27, 1, 1, 1, 0, 1},   {16, 64, 1, 1, 1, 1},
        {512, 64, 1, 1, 0, 0}, {64, 64, 1, 1, 0, 1, .spectra = 1},
    };
    const grove_predict_cuda_costs costs = grove_predict_cuda_measured();

    for (size_t k = 0; k < sizeof(rows) / sizeof(*rows); k++) {
        int64_t n = rows[k].stations;
        grove_predict_cuda_shape shape = {.baselines = n * (n - 1) / 2,
                                          .stations = n,
                                          .channels = rows[k].channels,
                                          .regular = rows[k].regular,
                                          .flat = !rows[k].spectra,
                                          .jones = rows[k].jones,
                                          .varies = rows[k].varies};
        ck_assert_msg((grove_predict_cuda_by_stations(&costs, &shape) <
                       grove_predict_cuda_by_baselines(&costs, &shape)) == rows[k].by_stations,
                      "%zu: %g, %g", k, grove_predict_cuda_by_stations(&costs, &shape),
                      grove_predict_cuda_by_baselines(&costs, &shape));
    }
}
END_TEST

static grove_predict_plan plan_of(const char *text)
{
    grove_predict_plan plan;

    testing_tree(&t, text);
    memcpy(&plan, testing_node(&t, "x")->state, sizeof(plan));
    return plan;
}

/* The cpu's costs choose the cpu's way alone, and the GPU's the GPU's. */
START_TEST(ways_apart)
{
    static const char tree[] = "obs = grid()\nS = field()\nx = predict(S, obs)\n";
    const grove_predict_costs cheap[] = {{1, 1, 1, 1e5, 1e5}, {1e5, 1e5, 1e5, 1, 1}};
    grove_predict_cuda_costs gpu = grove_predict_cuda_measured();

    setenv("GROVE_CUDA_DRIVER", "some", 1); /* there may be a GPU */
    memset(field_now.shape, 0, sizeof(field_now.shape));
    for (int counted = 0; counted < 2; counted++) {
        gpu.phasor = gpu.product = counted ? gpu.product : 1e-3;
        for (int by = 0; by < 2; by++) {
            store(&cheap[by], counted ? NULL : &gpu);
            grove_predict_plan plan = plan_of(tree);
            ck_assert_int_eq(plan.way, by ? GROVE_PREDICT_STATION : GROVE_PREDICT_BASELINE);
            ck_assert_int_eq(plan.products, !counted);
            const char *note = testing_node(&t, "x")->note;
            ck_assert_int_eq(strstr(note, "GPUs sum by") != NULL, by == counted);
        }
    }
}
END_TEST

/* Coordinates that are no differences of stations' go by baselines, whatever the costs, where that
 * turns a phase; and the note says so. */
START_TEST(rows_off_the_stations)
{
    static const char off[] = "uvw are not differences of the stations'";
    static const char *const trees[] = {
        "obs = grid()\nS = field()\nx = predict(S, obs)\n",
        "obs = grid()\nS = field()\nx = predict(S, obs, method=stations)\n"};
    static const struct {
        bool compared;
        double misclosure;
        int strays;
    } rows[] = {{false, 0, 0}, {true, 0, 0}, {true, 1e-7, 0}, {true, 1e-3, 1}};
    const grove_predict_costs cheap = {1e5, 1e5, 1e5, 1, 1};

    setenv("GROVE_CUDA_DRIVER", "none", 1);
    memset(field_now.shape, 0, sizeof(field_now.shape));
    store(&cheap, NULL);
    for (size_t k = 0; k < sizeof(rows) / sizeof(*rows); k++)
        for (int forced = 0; forced < 2; forced++) {
            grid_now.facts = GROVE_OBSERVATION_FACTS(.uvw_compared = rows[k].compared,
                                                     .uvw_misclosure = rows[k].misclosure);
            grove_predict_plan plan = plan_of(trees[forced]);
            const char *note = testing_node(&t, "x")->note;
            ck_assert_int_eq(plan.way, rows[k].strays && !forced ? GROVE_PREDICT_BASELINE
                                                                 : GROVE_PREDICT_STATION);
            ck_assert_msg((strstr(note, off) != NULL) == rows[k].strays, "%zu: %s", k, note);
        }
}
END_TEST

/* Costs know how many sources share what a visibility takes, and which sources there are. */
START_TEST(kinds_of_sources)
{
    static const char tree[] = "obs = grid()\nS = field()\nx = predict(S, obs)\n",
                      phases[] = "obs = grid()\nS = field()\nx = predict(S, obs, lmn=[0, 0, 0], "
                                 "shape=[0rad, 0rad, 0rad])\n";
    const grove_predict_costs cheap = {1e5, 1e5, 1e5, 1, 1};

    store(&cheap, NULL);
    field_now.shape[0][0] = 1e-5;
    ck_assert_int_eq(plan_of(tree).way, GROVE_PREDICT_BASELINE);
    ck_assert_ptr_nonnull(strstr(testing_node(&t, "x")->note, ": Gaussian sources;"));
    ck_assert_int_eq(plan_of(phases).way, GROVE_PREDICT_STATION); /* which have no shapes */
    memset(field_now.shape, 0, sizeof(field_now.shape));
    ck_assert_int_eq(plan_of(tree).way, GROVE_PREDICT_STATION);
}
END_TEST

static double by(int stations, grove_predict_shape shape)
{
    grove_predict_costs costs = usual(GROVE_ISA_AVX2, shape.jones);

    return stations ? grove_predict_cost_of_stations(&costs, &shape)
                    : grove_predict_cost_of_baselines(&costs, &shape);
}

START_TEST(costs_grow)
{
    const grove_predict_shape shape = {.baselines = 100, .channels = 64, .regular = 1, .flat = 1};
    const grove_predict_costs costs = usual(GROVE_ISA_AVX2, 0);
    grove_predict_shape other = shape;

    other.channels = 65; /* the last one has its phase evaluated */
    ck_assert_double_eq_tol(by(0, other) - by(0, shape), 100 * costs.direct, 1e-9);
    other.channels = 69; /* the last five have two phasors, and powers as eight would */
    ck_assert_double_eq_tol(by(0, other) - by(0, shape), 100 * 3.4 * costs.direct, 1e-9);
    other.channels = 81; /* sixteen, and the last one has its phase evaluated */
    ck_assert_double_eq_tol(by(0, other) - by(0, shape), 100 * 5.6 * costs.direct, 1e-9);
    other.channels = 83; /* two groups of the next block */
    ck_assert_double_eq_tol(by(0, other) - by(0, shape), 100 * (costs.panel + 32 * costs.channel),
                            1e-9);
    other = shape;
    other.regular = 0;
    ck_assert(by(0, other) > by(0, shape));
    other = shape;
    other.flat = 0;
    ck_assert(by(0, other) > by(0, shape));
    other = (grove_predict_shape){.stations = 10, .channels = 1};
    ck_assert(by(1, other) == 10 * costs.phase + 45 * costs.pair);
    other.channels = 4;
    grove_predict_shape twice = other;
    twice.channels = 8;
    ck_assert(by(1, other) * 2 == by(1, twice));
    other = (grove_predict_shape){
        .baselines = 45, .stations = 10, .channels = 1, .sources = 1, .fitted = 1};
    twice = other;
    twice.fitted = 0; /* coordinates of stations are there: not fitted for each row */
    ck_assert(by(1, other) > by(1, twice) && by(0, other) == by(0, twice));
    other.jones = twice.jones = PREDICT_COSTS_JONES; /* which take them by baselines, too */
    ck_assert(by(1, other) == by(1, twice));
}
END_TEST

/* Which way costs less, by the instruction set's built-in costs: sources, kinds and Jones terms. */
START_TEST(ways_of_workloads)
{
    static const struct {
        int isa, stations, channels, sources, jones, elements, sums, by_stations;
    } rows[] = {
        {GROVE_ISA_AVX512, 64, 16, 2000, 0, 1, 1, 1}, {GROVE_ISA_AVX512, 64, 16, 620, 0, 1, 4, 1},
        {GROVE_ISA_AVX512, 14, 9, 512, 0, 1, 1, 1},   {GROVE_ISA_AVX512, 64, 64, 1, 0, 1, 1, 0},
        {GROVE_ISA_AVX512, 24, 64, 1000, 0, 1, 1, 0}, {GROVE_ISA_AVX512, 24, 4, 1000, 0, 1, 1, 1},
        {GROVE_ISA_AVX512, 24, 16, 64, 1, 4, 4, 0},   {GROVE_ISA_AVX512, 64, 1, 1000, 1, 4, 4, 1},
        {GROVE_ISA_AVX512, 7, 16, 256, 2, 4, 4, 0},   {GROVE_ISA_AVX512, 24, 16, 256, 2, 1, 1, 1},
        {GROVE_ISA_AVX2, 64, 16, 2000, 0, 1, 1, 1},   {GROVE_ISA_AVX2, 24, 64, 256, 0, 1, 1, 0},
        {GROVE_ISA_AVX2, 7, 4, 256, 2, 4, 4, 1},      {GROVE_ISA_PORTABLE, 14, 4, 256, 2, 1, 1, 1},
    };

    for (size_t k = 0; k < sizeof(rows) / sizeof(*rows); k++) {
        int64_t n = rows[k].stations;
        const grove_predict_shape shape = {.baselines = n * (n - 1) / 2,
                                           .stations = n,
                                           .channels = rows[k].channels,
                                           .sources = rows[k].sources,
                                           .regular = 1,
                                           .flat = 1,
                                           .lanes = 4 << rows[k].isa,
                                           .jones = rows[k].jones,
                                           .elements = rows[k].elements,
                                           .sums = rows[k].sums};
        const grove_predict_costs costs = usual(rows[k].isa, rows[k].jones);
        double stations = grove_predict_cost_of_stations(&costs, &shape);
        double baselines = grove_predict_cost_of_baselines(&costs, &shape);
        ck_assert_msg((stations < baselines) == rows[k].by_stations, "%zu: %g, %g", k, stations,
                      baselines);
    }
}
END_TEST

/* Jones terms of channels: by baselines where few stations have many channels of matrices, which
 * lie far apart for one channel; by stations with few channels, or scalars. */
START_TEST(jones_of_channels)
{
    static const int rows[][4] = {{14, 64, 4, 0}, {14, 4, 4, 1},  {14, 16, 4, 1},
                                  {64, 16, 4, 1}, {14, 64, 1, 1}, {64, 64, 1, 1}};

    for (size_t k = 0; k < sizeof(rows) / sizeof(*rows); k++) {
        int64_t n = rows[k][0];
        const grove_predict_shape shape = {.baselines = n * (n - 1) / 2,
                                           .stations = n,
                                           .channels = rows[k][1],
                                           .regular = 1,
                                           .flat = 1,
                                           .jones = PREDICT_COSTS_VARIED,
                                           .elements = rows[k][2],
                                           .sums = rows[k][2]};
        ck_assert_msg((by(1, shape) < by(0, shape)) == rows[k][3], "%zu", k);
    }
}
END_TEST

/* Jones terms that channels share: a source in each lane where channels are some and stations many,
 * the more so for spectra and smearing in time. */
START_TEST(jones_that_channels_share)
{
    static const struct {
        int stations, channels, elements, sums, flat, smear_time, strays, by_sources, gaussians;
    } rows[] = {{64, 8, 1, 1, 0, 0, 0, 1},      {64, 16, 1, 1, 0, 1, 0, 1},
                {64, 8, 4, 4, 1, 1, 0, 1},      {64, 8, 1, 1, 1, 0, 0, 1},
                {64, 8, 1, 1, 0, 1, 1, 1},      {7, 16, 4, 4, 1, 0, 0, 0},
                {64, 24, 4, 4, 1, 0, 0, 0},     {64, 64, 1, 1, 0, 0, 0, 1},
                {7, 12, 2, 4, 1, 1, 1, 0},      {64, 64, 1, 1, 1, 0, 0, 0},
                {64, 8, 1, 4, 1, 0, 0, 1},      {7, 64, 1, 1, 0, 0, 0, 0},
                {64, 32, 1, 1, 0, 0, 0, 1},     {64, 48, 2, 2, 1, 0, 0, 0, 100},
                {64, 48, 1, 1, 0, 0, 0, 0, 100}};

    for (size_t k = 0; k < sizeof(rows) / sizeof(*rows); k++) {
        int64_t n = rows[k].stations;
        grove_predict_shape shape = {.baselines = n * (n - 1) / 2,
                                     .stations = n,
                                     .channels = rows[k].channels,
                                     .sources = 100,
                                     .gaussians = rows[k].gaussians,
                                     .regular = 1,
                                     .flat = rows[k].flat,
                                     .smear_time = rows[k].smear_time,
                                     .strays = rows[k].strays,
                                     .jones = PREDICT_COSTS_JONES,
                                     .elements = rows[k].elements,
                                     .sums = rows[k].sums,
                                     .lanes = 16};
        const grove_predict_costs costs = usual(GROVE_ISA_AVX512, PREDICT_COSTS_JONES);
        ck_assert_msg(grove_predict_sources_win(&costs, &shape) == rows[k].by_sources, "%zu", k);
        shape.sources = 15; /* fewer than lanes */
        ck_assert_int_eq(grove_predict_sources_win(&costs, &shape), 0);
    }
}
END_TEST

START_TEST(methods)
{
    static const char *const words[] = {"baselines", "stations", "plain"};
    static const char *const notes[] = {"direct sum for baselines", "products of matrices",
                                        "source by source"};
    testing_value truth = {0};

    memset(field_now.shape, 0, sizeof(field_now.shape));
    for (int k = 0; k < 4; k++) {
        char text[200];
        snprintf(text, sizeof(text), "obs = grid()\nS = field()\nx = predict(S, obs%s%s)\n",
                 k ? ", method=" : "", k ? words[k - 1] : "");
        testing_tree(&t, text);
        t.double_precision = true;
        testing_value x = testing_evaluate(&t, "x");
        if (k) {
            ck_assert(strstr(testing_node(&t, "x")->note, notes[k - 1]) != NULL);
            ck_assert(testing_distance(&x, &truth) < 1e-12);
            testing_free(&x);
        } else {
            ck_assert(strstr(testing_node(&t, "x")->note, "times faster than by") != NULL);
            truth = x;
        }
    }
    testing_free(&truth);
    const char *said = testing_faults(&t, "obs = grid()\nS = field()\n"
                                          "x = predict(S, obs, smear=time, method=stations)\n");
    ck_assert_msg(strstr(said, "stations cannot be: smearing couples the stations") != NULL, "%s",
                  said);
}
END_TEST

/* By stations tiles of pairs without rows cost nothing, phases of stations always. */
START_TEST(share_of_rows)
{
    for (int jones = 0; jones < 2; jones++) {
        const grove_predict_costs costs = usual(GROVE_ISA_AVX512, jones);
        grove_predict_shape shape = {.baselines = 2016, .stations = 64, .channels = 1, .flat = 1};
        double before = 0;
        shape.jones = jones;
        shape.elements = shape.sums = jones ? 4 : 1;
        for (int parts = 64; parts > 0; parts /= 2) {
            shape.share = 1.0 / parts;
            double cost = grove_predict_cost_of_stations(&costs, &shape);
            ck_assert_double_gt(cost, before + (parts == 1 ? 0 : 1));
            ck_assert_double_gt(cost, 64 * costs.phase);
            before = cost;
        }
        shape.share = 0;
        ck_assert_double_eq(grove_predict_cost_of_stations(&costs, &shape), before);
    }
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("predict-cost");
    TCase *test = tcase_create("all");

    tcase_add_checked_fixture(test, setup, teardown);
    tcase_add_test(test, built_in);
    tcase_add_test(test, stored);
    tcase_add_loop_test(test, spoilt_files, 0, 6);
    tcase_add_test(test, no_folder);
    tcase_add_test(test, shapes_on_gpus);
    tcase_add_test(test, ways_apart);
    tcase_add_test(test, costs_grow);
    tcase_add_test(test, share_of_rows);
    tcase_add_test(test, jones_of_channels);
    tcase_add_test(test, jones_that_channels_share);
    tcase_add_test(test, ways_of_workloads);
    tcase_add_test(test, rows_off_the_stations);
    tcase_add_test(test, kinds_of_sources);
    tcase_add_test(test, methods);
    suite_add_tcase(suite, test);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_NORMAL);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed != 0;
}
