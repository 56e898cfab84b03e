/* The ways that predict chooses on the cpu; on GPUs by costs, built in or as `grove tune` has
 * stored them; the option method overrides the choice. */
#include "tests/common/grid.h"

#include "../kernels/simd/isa.h"
#include "../kernels/sky/predict.h"
#include "base/file.h"
#include "nodes/sky/predict_cost.h"

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

static bool are_usual(void)
{
    const grove_predict_cuda_costs costs = predict_cuda_costs(),
                                   usual = grove_predict_cuda_measured();

    return !memcmp(&costs, &usual, sizeof(costs));
}

static void store(const grove_predict_cuda_costs *costs)
{
    const grove_tuning entry = predict_cuda_costs_entry(costs);
    char *path;

    ck_assert_int_eq(grove_tuning_store(NULL, &entry, 1, &path, t.error), 0);
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

/* Nothing is measured and nothing is written. */
TEST(built_in)
{
    ck_assert(are_usual());
    ck_assert(!grove_path_exists(file));
}

/* What was measured, and what others have stored in the file. */
TEST(stored)
{
    static const char other[] = "0.0.1 | Another GPU | predict, GPU | 1 2 3 4 5 6 7 8\n";
    grove_predict_cuda_costs gpu = grove_predict_cuda_measured(), found;

    store(&gpu);
    char *text = suite_keep(grove_file_read(file, 100000, true, NULL, t.error));
    char *both = malloc(strlen(text) + sizeof(other));
    strcpy(both, text);
    put_file(strcat(both, other));
    for (int again = 0; again < 2; again++) { /* it replaces its own line */
        gpu.product = 7 + again;
        store(&gpu);
        found = predict_cuda_costs();
        ck_assert_double_eq(found.product, 7 + again);
        ck_assert_double_eq_tol(found.recurrence, gpu.recurrence, 1e-6);
    }
    text = suite_keep(grove_file_read(file, 100000, true, NULL, t.error));
    int lines = 0;
    for (const char *c = text; *c; c++)
        lines += *c == '\n';
    ck_assert_int_eq(lines, 3);
    ck_assert_ptr_nonnull(strstr(text, other));
    free(both);
}

/* A file of something else is not used: one warning, and what is built in. */
LOOP_TEST(spoilt_files, 0, 6)
{
    static const char *const texts[] = {
        "",
        "nonsense\n",
        "# Measured by grove tune on this machine; may be removed.",
        "# Measured by grove tune on this machine; may be removed.\n0.1.0 | x | y | 1 2 z\n",
        "# Measured by grove tune on this machine; may be removed.\n0.1.0 | x | y |\n",
        "# Measured by grove tune on this machine; may be removed.\n0.1.0 | x | y | 1"};
    char said[200];

    snprintf(said, sizeof(said), "%s/said", t.folder);
    put_file(texts[_i]);
    fflush(stderr);
    int before = dup(2), to = open(said, O_CREAT | O_WRONLY, 0600);
    ck_assert(before >= 0 && to >= 0 && dup2(to, 2) == 2);
    bool good = are_usual() && are_usual();
    dup2(before, 2);
    close(before);
    close(to);
    ck_assert(good);
    char *text = suite_keep(grove_file_read(said, 100000, true, NULL, t.error));
    ck_assert_ptr_nonnull(strstr(text, "this is not a file of grove tune"));
    ck_assert_ptr_eq(strchr(text, '\n'), text + strlen(text) - 1);
    const grove_predict_cuda_costs gpu = {1, 2, 3, 4, 5, 6, 7, 8};
    store(&gpu);
    ck_assert_double_eq(predict_cuda_costs().varying, 4);
}

/* No folder, or none that can be written. */
TEST(no_folder)
{
    const grove_predict_cuda_costs costs = grove_predict_cuda_measured();
    const grove_tuning entry = predict_cuda_costs_entry(&costs);
    char path[200], *kept;

    testing_file(&t, "plain", "a file is no folder");
    snprintf(path, sizeof(path), "%s/plain", t.folder);
    setenv("XDG_CACHE_HOME", path, 1);
    for (int k = 0; k < 3; k++) {
        ck_assert(are_usual());
        ck_assert_int_ne(grove_tuning_store(NULL, &entry, 1, &kept, t.error), 0);
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

/* By stations (1) or baselines on a GPU, as measured: by stations where phases are evaluated, or
 * where more than the phase varies with the channel. */
TEST(shapes_on_gpus)
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

static grove_predict_plan plan_of(const char *text)
{
    grove_predict_plan plan;

    testing_tree(&t, text);
    memcpy(&plan, testing_node(&t, "x")->state, sizeof(plan));
    return plan;
}

/* By stations, since channels do not share the product of these terms and spectra. */
#define TERMS "E[s,p] = 1 + 0.1 * S.absolute_angle * obs.station_index\n"
#define SIDES "left=E[s,p], right=E[s,q]^H"

/* A GPU has costs and a method of its own. */
TEST(ways_apart)
{
    grove_predict_cuda_costs gpu = grove_predict_cuda_measured();

    setenv("GROVE_CUDA_DRIVER", "some", 1); /* there may be a GPU */
    memset(field_now.shape, 0, sizeof(field_now.shape));
    for (int cheap = 0; cheap < 2; cheap++) {
        gpu.phasor = gpu.product = cheap ? 1e-3 : 1e3;
        store(&gpu);
        grove_predict_plan plan = plan_of("obs = grid()\nS = field()\nx = predict(S, obs)\n");
        ck_assert_int_eq(plan.way, GROVE_PREDICT_BASELINE);
        ck_assert_int_eq(plan.products, cheap);
        const char *note = testing_node(&t, "x")->note;
        ck_assert_int_eq(strstr(note, "GPUs sum by") != NULL, cheap);
    }
}

/* Coordinates that are no differences of stations' go by baselines, whatever the costs, where that
 * turns a phase; and the note says so. */
TEST(rows_off_the_stations)
{
    static const char off[] = "uvw are not differences of the stations'";
    static const char *const trees[] = {
        "obs = grid()\nS = field()\n" TERMS "x[p,q] = predict(S, obs, " SIDES ")\n",
        "obs = grid()\nS = field()\nx = predict(S, obs, method=stations)\n"};
    static const struct {
        bool compared;
        double misclosure;
        int strays;
    } rows[] = {{false, 0, 0}, {true, 0, 0}, {true, 1e-7, 0}, {true, 1e-3, 1}};

    setenv("GROVE_CUDA_DRIVER", "none", 1);
    memset(field_now.shape, 0, sizeof(field_now.shape));
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

/* Gaussians are summed by baselines, and few points among them, too; few sources without Jones
 * terms as well. */
TEST(kinds_of_sources)
{
    static const char tree[] =
        "obs = grid()\nS = field()\n" TERMS "x[p,q] = predict(S, obs, " SIDES ")\n";

    field_now.shape[0][0] = 1e-5;
    ck_assert_int_eq(plan_of(tree).way, GROVE_PREDICT_BASELINE);
    ck_assert_ptr_nonnull(strstr(testing_node(&t, "x")->note, ": Gaussian sources;"));
    memset(field_now.shape, 0, sizeof(field_now.shape));
    ck_assert_int_eq(plan_of(tree).way, GROVE_PREDICT_STATION);
    ck_assert_int_eq(plan_of("obs = grid()\nS = field()\nx = predict(S, obs)\n").way,
                     GROVE_PREDICT_BASELINE);
    ck_assert_ptr_nonnull(strstr(testing_node(&t, "x")->note, ": fewer than"));
}

/* The faster way, as measured: kind of Jones terms (0: none, 1: of source and station, 2: of
 * channels, too), their elements, sums, and whether spectra are flat. */
TEST(ways_of_workloads)
{
    static const struct {
        int isa, stations, channels, jones, elements, sums, flat, by_stations;
    } rows[] = {
        {GROVE_ISA_AVX512, 14, 1, 0, 1, 1, 1, 1},   {GROVE_ISA_AVX512, 7, 1, 0, 1, 1, 1, 0},
        {GROVE_ISA_AVX512, 64, 16, 0, 1, 1, 1, 1},  {GROVE_ISA_AVX512, 14, 8, 0, 1, 1, 1, 0},
        {GROVE_ISA_AVX512, 64, 64, 0, 1, 1, 1, 0},  {GROVE_ISA_AVX512, 64, 8, 0, 1, 4, 1, 1},
        {GROVE_ISA_AVX512, 64, 64, 0, 1, 4, 1, 0},  {GROVE_ISA_AVX512, 64, 32, 0, 1, 1, 0, 1},
        {GROVE_ISA_AVX512, 14, 64, 0, 1, 1, 0, 0},  {GROVE_ISA_AVX512, 64, 64, 1, 4, 4, 1, 0},
        {GROVE_ISA_AVX512, 64, 64, 1, 4, 4, 0, 1},  {GROVE_ISA_AVX512, 64, 1, 1, 4, 4, 1, 1},
        {GROVE_ISA_AVX512, 64, 32, 1, 1, 1, 1, 1},  {GROVE_ISA_AVX512, 27, 64, 1, 1, 1, 1, 0},
        {GROVE_ISA_AVX512, 7, 4, 2, 4, 4, 1, 1},    {GROVE_ISA_AVX512, 64, 64, 2, 4, 4, 1, 0},
        {GROVE_ISA_AVX512, 27, 64, 2, 1, 1, 1, 1},  {GROVE_ISA_AVX512, 7, 64, 2, 1, 1, 1, 0},
        {GROVE_ISA_AVX512, 14, 16, 2, 2, 4, 1, 0},  {GROVE_ISA_AVX512, 128, 64, 2, 2, 4, 1, 1},
        {GROVE_ISA_AVX2, 64, 32, 0, 1, 1, 1, 1},    {GROVE_ISA_AVX2, 27, 64, 0, 1, 1, 1, 0},
        {GROVE_ISA_PORTABLE, 14, 4, 2, 1, 1, 1, 1}, {GROVE_ISA_PORTABLE, 64, 64, 0, 1, 1, 1, 1},
    };

    for (size_t k = 0; k < sizeof(rows) / sizeof(*rows); k++) {
        const grove_predict_plan plan = {.channels = {.regular = 1},
                                         .isa = rows[k].isa,
                                         .flat = rows[k].flat,
                                         .jones = rows[k].jones ? GROVE_PREDICT_WITHIN
                                                                : GROVE_PREDICT_AROUND,
                                         .count = rows[k].channels};
        const double least =
            predict_least_stations(&plan, rows[k].jones == 2, rows[k].elements, rows[k].sums);
        ck_assert_msg((rows[k].stations >= least) == rows[k].by_stations, "%zu: %g", k, least);
    }
}

TEST(methods)
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
        } else {
            ck_assert(strstr(testing_node(&t, "x")->note, "fewer than") != NULL);
            truth = x;
        }
    }
    const char *said = testing_faults(&t, "obs = grid()\nS = field()\n"
                                          "x = predict(S, obs, smear=time, method=stations)\n");
    ck_assert_msg(strstr(said, "stations cannot be: smearing couples the stations") != NULL, "%s",
                  said);
}

SUITE(60, setup, teardown)
