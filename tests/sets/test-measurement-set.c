/* Measurement Sets, new ones and columns of existing ones, written and read back; recovery after a
 * run that was killed. */
#include "nodes/sets/measurement_set.h"

#include "base/file.h"
#include "base/memory.h"
#include "base/text.h"
#include "tests/common/suite.h"

#include <math.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static char folder[64];
static grove_error *error;

static void setup(void)
{
    strcpy(folder, "/tmp/grove-ms-XXXXXX");
    ck_assert_ptr_nonnull(mkdtemp(folder));
    error = grove_error_new();
}

static void teardown(void)
{
    grove_path_remove(folder, NULL);
    grove_error_free(error);
}

static const char *in_folder(const char *name)
{
    static char path[4][128];
    static int next;

    next = (next + 1) % 4;
    snprintf(path[next], sizeof(path[next]), "%s/%s", folder, name);
    return path[next];
}

/* Shapes to try: stations, times, channels, correlations, circular, autocorrelations. */
static const struct {
    int stations, times, channels, correlations, circular, autos;
} shapes[] = {{3, 4, 5, 4, 0, 0},
              {2, 1, 1, 1, 0, 0},
              {4, 2, 3, 2, 1, 0},
              {3, 2, 2, 4, 1, 1},
              {5, 500, 16, 4, 0, 0}};
enum { LONG = 4 }; /* 2.4 MiB */

static grove_ms_layout *make_layout(int k)
{
    grove_ms_layout *layout = grove_alloc(sizeof(*layout));
    int n = shapes[k].stations;

    layout->station_count = n;
    layout->stations = grove_alloc((size_t)n * sizeof(grove_station));
    for (int i = 0; i < n; i++) {
        layout->stations[i].name = grove_format("ST%d", i);
        layout->stations[i].position[0] = 5e6 + i;
        layout->stations[i].diameter = 25;
        strcpy(layout->stations[i].mount, "ALT-AZ");
    }
    layout->telescope = grove_strdup("TEST");
    layout->field_name = grove_strdup("here");
    layout->phase_centre[0] = 1.5;
    layout->phase_centre[1] = -0.5;
    layout->times = shapes[k].times;
    layout->time = grove_alloc((size_t)layout->times * sizeof(double));
    layout->interval = grove_alloc((size_t)layout->times * sizeof(double));
    for (int t = 0; t < layout->times; t++) {
        layout->time[t] = 4.5e9 + 10 * t;
        layout->interval[t] = 10;
    }
    layout->channels = shapes[k].channels;
    layout->frequency = grove_alloc((size_t)layout->channels * sizeof(double));
    layout->channel_width = grove_alloc((size_t)layout->channels * sizeof(double));
    for (int f = 0; f < layout->channels; f++) {
        layout->frequency[f] = 1.4e9 + 1e6 * f * f;
        layout->channel_width[f] = 1e6 + f;
    }
    layout->correlations = shapes[k].correlations;
    for (int i = 0; i < layout->correlations; i++)
        layout->correlation[i] =
            (shapes[k].circular ? 5 : 9) + (layout->correlations == 2 ? 3 * i : i);
    layout->antenna1 = grove_alloc((size_t)(n * n) * sizeof(int));
    layout->antenna2 = grove_alloc((size_t)(n * n) * sizeof(int));
    for (int p = 0; p < n; p++)
        for (int q = shapes[k].autos ? p : p + 1; q < n; q++) {
            layout->antenna1[layout->baselines] = p;
            layout->antenna2[layout->baselines++] = q;
        }
    return layout;
}

static size_t numbers_of(const grove_ms_layout *layout)
{
    return (size_t)(layout->times * layout->baselines * layout->channels * layout->correlations);
}

static float *make_data(size_t numbers, float scale)
{
    float *data = grove_alloc((2 * numbers + 1) * sizeof(float));

    for (size_t i = 0; i < 2 * numbers; i++)
        data[i] = scale * (float)sin(0.7 * (double)i);
    return suite_keep(data);
}

static grove_ms_block whole(const grove_ms_layout *layout)
{
    return (grove_ms_block){0, layout->times, 0, layout->baselines, 0, layout->channels};
}

static void no_error(int code)
{
    ck_assert_msg(code == 0 && grove_error_count(error) == 0, "%s", suite_messages(error));
}

/* A set of shape k with data of make_data(1) in `column`, uvw and some flags. */
static void write_set(int k, const char *path, const char *column)
{
    grove_ms_layout *layout = make_layout(k);
    size_t numbers = numbers_of(layout);
    float *data = make_data(numbers, 1);
    unsigned char *flag = grove_alloc(numbers);
    double *uvw = grove_alloc((size_t)(layout->times * layout->baselines) * 3 * sizeof(double));
    grove_ms_block block = whole(layout);

    for (size_t i = 0; i < numbers; i++)
        flag[i] = i % 7 == 3;
    for (int64_t i = 0; i < 3 * layout->times * layout->baselines; i++)
        uvw[i] = 100 + (double)i;
    grove_ms *ms = grove_ms_create(path, layout, NULL, column, false, NULL, error);
    no_error(0);
    ck_assert(!grove_path_exists(path)); /* not before it is whole */
    /* in two parts along channels, as tiles may come */
    for (int half = 0; half < 2; half++) {
        grove_ms_block part = block;
        part.first_channel = half ? block.channels / 2 : 0;
        part.channels = half ? block.channels - block.channels / 2 : block.channels / 2;
        size_t cell = (size_t)(part.channels * layout->correlations), n = 0;
        float *piece = grove_alloc(2 * numbers * sizeof(float));
        unsigned char *bits = grove_alloc(numbers);
        for (int64_t row = 0; row < layout->times * layout->baselines; row++) {
            size_t from =
                (size_t)((row * layout->channels + part.first_channel) * layout->correlations);
            memcpy(piece + 2 * n, data + 2 * from, 2 * cell * sizeof(float));
            memcpy(bits + n, flag + from, cell);
            n += cell;
        }
        no_error(grove_ms_write_data(ms, &part, piece, bits, error));
        free(piece);
        free(bits);
    }
    no_error(grove_ms_write_uvw(ms, &block, uvw, error));
    no_error(grove_ms_finish(ms, error));
    ck_assert(grove_path_exists(path));
    free(flag);
    free(uvw);
    grove_ms_layout_free(layout);
}

/* Every number of `column` is scale * make_data(1), flags as written where `flags`. */
static void expect(const char *path, const char *column, float scale, bool flags)
{
    grove_ms *ms = grove_ms_open(path, &(grove_ms_part){0}, error);

    no_error(0);
    const grove_ms_layout *layout = grove_ms_layout_of(ms);
    size_t numbers = numbers_of(layout);
    float *data = grove_alloc(2 * numbers * sizeof(float)), *want = make_data(numbers, 1);
    unsigned char *flag = grove_alloc(numbers);
    grove_ms_block block = whole(layout);

    no_error(grove_ms_read_data(ms, column, &block, data, flag, error));
    for (size_t i = 0; i < 2 * numbers; i++)
        ck_assert_float_eq_tol(data[i], scale * want[i], 1e-6f);
    for (size_t i = 0; flags && i < numbers; i++)
        ck_assert_int_eq(flag[i], i % 7 == 3);
    free(data);
    free(flag);
    grove_ms_close(ms);
}

LOOP_TEST(a_new_set_comes_back, 0, LONG + 1)
{
    const char *path = in_folder("new.ms");
    grove_ms_layout *want = make_layout(_i);

    write_set(_i, path, "DATA");
    expect(path, "DATA", 1, true);
    grove_ms *ms = grove_ms_open(path, &(grove_ms_part){0}, error);
    no_error(0);
    const grove_ms_layout *got = grove_ms_layout_of(ms);
    ck_assert_int_eq(got->station_count, want->station_count);
    ck_assert_str_eq(got->stations[1].name, "ST1");
    ck_assert_double_eq(got->stations[1].position[0], 5e6 + 1);
    ck_assert_double_eq(got->stations[1].diameter, 25);
    ck_assert_str_eq(got->telescope, "TEST");
    ck_assert_double_eq(got->phase_centre[0], 1.5);
    ck_assert_double_eq(got->phase_centre[1], -0.5);
    ck_assert_int_eq(got->times, want->times);
    ck_assert_int_eq(got->channels, want->channels);
    ck_assert_int_eq(got->baselines, want->baselines);
    ck_assert_int_eq(got->correlations, want->correlations);
    for (int64_t t = 0; t < got->times; t++)
        ck_assert(got->time[t] == want->time[t] && got->interval[t] == 10);
    for (int64_t f = 0; f < got->channels; f++)
        ck_assert(got->frequency[f] == want->frequency[f] &&
                  got->channel_width[f] == want->channel_width[f]);
    for (int i = 0; i < got->correlations; i++)
        ck_assert_int_eq(got->correlation[i], want->correlation[i]);
    double *uvw = grove_alloc((size_t)(got->times * got->baselines) * 3 * sizeof(double));
    grove_ms_block block = whole(got);
    no_error(grove_ms_read_uvw(ms, &block, uvw, error));
    for (int64_t i = 0; i < 3 * got->times * got->baselines; i++)
        ck_assert_double_eq(uvw[i], 100 + (double)i);
    free(uvw);
    grove_ms_close(ms);
    grove_ms_layout_free(want);
}

TEST(another_column_of_a_new_set)
{
    write_set(0, in_folder("new.ms"), "MODEL_DATA");
    expect(in_folder("new.ms"), "MODEL_DATA", 1, true);
    expect(in_folder("new.ms"), "DATA", 0, true);
}

TEST(columns_of_visibilities_are_listed)
{
    write_set(0, in_folder("new.ms"), "GROVE_DATA");
    grove_ms *ms = grove_ms_open(in_folder("new.ms"), &(grove_ms_part){0}, error);
    no_error(0);
    char **names = grove_ms_data_columns(ms);
    bool found = false;

    for (char **name = names; *name; name++) {
        found = found || !strcmp(*name, "GROVE_DATA");
        free(*name);
    }
    ck_assert(found);
    free(names);
    grove_ms_close(ms);
}

/* Writes make_data(scale) into a column of an existing set. `die`: without ending. */
static void write_column(const char *path, const char *column, grove_ms_mode mode, float scale,
                         bool die)
{
    grove_ms *ms = grove_ms_open_writable(path, &(grove_ms_part){0}, NULL, error);

    no_error(0);
    const grove_ms_layout *layout = grove_ms_layout_of(ms);
    float *data = make_data(numbers_of(layout), scale);
    grove_ms_block block = whole(layout);
    no_error(grove_ms_prepare(ms, column, mode, error));
    no_error(grove_ms_write_data(ms, &block, data, NULL, error));
    if (die)
        _exit(0);
    no_error(grove_ms_finish(ms, error));
}

/* Without autocorrelations: they are not there, and keep what they had. */
TEST(cross_correlations_alone)
{
    const char *path = in_folder("set.ms");

    write_set(3, path, "DATA");
    grove_ms *ms = grove_ms_open_writable(path, &(grove_ms_part){.cross_only = true}, NULL, error);
    no_error(0);
    const grove_ms_layout *layout = grove_ms_layout_of(ms);
    grove_ms_block block = whole(layout);
    float *zeros = grove_alloc(2 * numbers_of(layout) * sizeof(float));
    ck_assert_int_eq(layout->baselines, 3);
    ck_assert(!layout->autocorrelations);
    no_error(grove_ms_prepare(ms, "DATA", GROVE_MS_REPLACE, error));
    no_error(grove_ms_write_data(ms, &block, zeros, NULL, error));
    no_error(grove_ms_finish(ms, error));
    free(zeros);
    ms = grove_ms_open(path, &(grove_ms_part){0}, error);
    layout = grove_ms_layout_of(ms);
    size_t numbers = numbers_of(layout),
           row = numbers / (size_t)(layout->times * layout->baselines);
    float *data = grove_alloc(2 * numbers * sizeof(float)), *want = make_data(numbers, 1);
    block = whole(layout);
    ck_assert_int_eq(layout->baselines, 6);
    no_error(grove_ms_read_data(ms, "DATA", &block, data, NULL, error));
    for (size_t i = 0; i < 2 * numbers; i++) {
        size_t b = i / (2 * row) % 6;
        bool own = layout->antenna1[b] == layout->antenna2[b];
        ck_assert_float_eq_tol(data[i], own ? want[i] : 0, 1e-6f);
    }
    free(data);
    grove_ms_close(ms);
}

LOOP_TEST(columns_of_an_existing_set, 0, LONG)
{
    const char *path = in_folder("set.ms");

    write_set(_i, path, "DATA");
    write_column(path, "MODEL_DATA", GROVE_MS_REPLACE, 2, false);
    expect(path, "MODEL_DATA", 2, true);
    write_column(path, "MODEL_DATA", GROVE_MS_ADD, 3, false);
    expect(path, "MODEL_DATA", 5, true);
    write_column(path, "MODEL_DATA", GROVE_MS_SUBTRACT, 1, false);
    expect(path, "MODEL_DATA", 4, true);
    write_column(path, "DATA", GROVE_MS_REPLACE, 7, false);
    expect(path, "DATA", 7, true);
    expect(path, "MODEL_DATA", 4, true);
}

TEST(a_run_that_dies_leaves_the_old_column)
{
    const char *path = in_folder("set.ms");

    write_set(0, path, "DATA");
    for (int mode = 0; mode < 3; mode++) {
        pid_t child = fork();
        if (child == 0) {
            write_column(path, "DATA", (grove_ms_mode)mode, 9, true);
            _exit(1);
        }
        int status;
        waitpid(child, &status, 0);
        ck_assert_int_eq(status, 0);
        expect(path, "DATA", 1, true);
        /* and the next run finds its way */
        write_column(path, "DATA", GROVE_MS_REPLACE, 1, false);
        expect(path, "DATA", 1, true);
    }
}

TEST(abort_leaves_everything)
{
    const char *path = in_folder("set.ms");
    grove_ms_layout *layout = make_layout(0);

    write_set(0, path, "DATA");
    grove_ms *ms = grove_ms_open_writable(path, &(grove_ms_part){0}, NULL, error);
    no_error(grove_ms_prepare(ms, "DATA", GROVE_MS_ADD, error));
    grove_ms_abort(ms);
    expect(path, "DATA", 1, true);
    ms = grove_ms_create(path, layout, NULL, "DATA", true, NULL, error);
    no_error(0);
    grove_ms_abort(ms);
    expect(path, "DATA", 1, true);
    char **names = grove_folder_list(folder);
    ck_assert_str_eq(names[0], "set.ms");
    ck_assert_ptr_null(names[1]);
    free(names[0]);
    free(names);
    grove_ms_layout_free(layout);
}

/* Each place of counts that are no multiple of anything, from addresses that are not aligned. */
TEST(numbers_that_are_not_finite)
{
    const float odd[] = {NAN, -NAN, INFINITY, -INFINITY};
    float numbers[24];
    bool is_odd, nonzero;

    for (size_t count = 0; count < 23; count++)
        for (size_t at = 0; at <= count; at++) {
            for (size_t k = 0; k < 24; k++)
                numbers[k] = k > count ? NAN : k % 2 ? -0.0F : 0;
            numbers[0] = 1;
            grove_ms_examine(numbers + 1, count, &is_odd, &nonzero);
            ck_assert(!is_odd && !nonzero);
            if (at == count)
                continue;
            numbers[1 + at] = at % 2 ? -1e-45F : 3e38F;
            grove_ms_examine(numbers + 1, count, &is_odd, &nonzero);
            ck_assert(!is_odd && nonzero);
            numbers[1 + at] = odd[at % 4];
            grove_ms_examine(numbers + 1, count, &is_odd, &nonzero);
            ck_assert(is_odd);
        }
}

typedef struct {
    void (*fn)(void *user, int64_t first, int64_t last);
    void *user;
    int64_t count;
} half_job;

static void *second_half(void *context)
{
    half_job *job = context;

    job->fn(job->user, job->count / 2, job->count);
    return NULL;
}

static void in_two_threads(void *calls, int64_t count,
                           void (*fn)(void *user, int64_t first, int64_t last), void *user)
{
    half_job job = {fn, user, count};
    pthread_t other;

    ck_assert_int_eq(pthread_create(&other, NULL, second_half, &job), 0);
    fn(user, 0, count / 2);
    pthread_join(other, NULL);
    *(int *)calls += count > 1;
}

TEST(threads_share_the_reading)
{
    const char *path = in_folder("long.ms");
    write_set(LONG, path, "DATA");
    grove_ms *ms = grove_ms_open_writable(path, &(grove_ms_part){0}, NULL, error);
    no_error(0);
    grove_ms_block block = whole(grove_ms_layout_of(ms));
    size_t numbers = numbers_of(grove_ms_layout_of(ms));
    float *want = make_data(numbers, 3), *data = grove_alloc(2 * numbers * sizeof(float));
    unsigned char *flag = grove_alloc(numbers);
    int calls = 0;

    for (size_t i = 0; i < numbers; i += 1000) /* of which each seventh is flagged */
        want[2 * i + i % 2] = NAN;
    no_error(grove_ms_prepare(ms, "DATA", GROVE_MS_REPLACE, error));
    no_error(grove_ms_write_data(ms, &block, want, NULL, error));
    no_error(grove_ms_finish(ms, error));
    ms = grove_ms_open(path, &(grove_ms_part){0}, error);
    no_error(0);
    grove_ms_set_parallel(ms, in_two_threads, &calls);
    no_error(grove_ms_read_data(ms, "DATA", &block, data, flag, error));
    ck_assert_int_eq(calls, 1);
    int64_t odd = 0;
    for (size_t i = 0; i < numbers; i++) {
        bool bad = i % 1000 == 0;
        odd += bad && i % 7 != 3;
        ck_assert_int_eq(flag[i], bad || i % 7 == 3);
        ck_assert(data[2 * i] == (bad ? 0 : want[2 * i]));
        ck_assert(data[2 * i + 1] == (bad ? 0 : want[2 * i + 1]));
    }
    ck_assert_int_eq(grove_ms_nonfinite_samples(ms), odd);
    grove_ms_close(ms);
    free(data);
    free(flag);
}

TEST(faults_are_told)
{
    grove_ms_layout *layout = make_layout(0);
    char *want;

    ck_assert_ptr_null(grove_ms_open(in_folder("none.ms"), &(grove_ms_part){0}, error));
    ck_assert_str_eq(grove_error_message(error, 0),
                     suite_text("%s: there is no such file or folder", in_folder("none.ms")));
    grove_error_clear(error);
    ck_assert_ptr_null(grove_ms_open("/tmp", &(grove_ms_part){0}, error));
    ck_assert_str_eq(grove_error_message(error, 0), "/tmp: not a Measurement Set");
    grove_error_clear(error);

    write_set(0, in_folder("set.ms"), "DATA");
    ck_assert_ptr_null(grove_ms_open(in_folder("set.ms"), &(grove_ms_part){.field = 3}, error));
    want = suite_text("%s: no field 3; there is only 0", in_folder("set.ms"));
    ck_assert_str_eq(grove_error_message(error, 0), want);
    grove_error_clear(error);
    ck_assert_ptr_null(
        grove_ms_create(in_folder("set.ms"), layout, NULL, "DATA", false, NULL, error));
    want = suite_text("%s: exists already; give overwrite=true to replace it", in_folder("set.ms"));
    ck_assert_str_eq(grove_error_message(error, 0), want);
    grove_error_clear(error);
    grove_ms *ms = grove_ms_open_writable(in_folder("set.ms"), &(grove_ms_part){0}, NULL, error);
    ck_assert_int_eq(grove_ms_prepare(ms, "MODEL_DATA", GROVE_MS_ADD, error), GROVE_MISSING);
    ck_assert_str_eq(
        grove_error_message(error, 0),
        suite_text("%s: has no column MODEL_DATA to add to or subtract from", in_folder("set.ms")));
    grove_ms_abort(ms);
    grove_error_clear(error);
    /* a table file cut short */
    ck_assert_int_eq(truncate(suite_text("%s/table.dat", in_folder("set.ms")), 20), 0);
    ck_assert_ptr_null(grove_ms_open(in_folder("set.ms"), &(grove_ms_part){0}, error));
    ck_assert_uint_eq(grove_error_count(error), 1);
    grove_ms_layout_free(layout);
}

SUITE(60, setup, teardown)
