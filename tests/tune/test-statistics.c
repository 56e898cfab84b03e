/* Statistics of records of tuning, with results that were computed by hand; files and folders that
 * have none; the picture. */
#include "tests/common/testing.h"

#include "base/file.h"
#include "tune/statistics.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

TESTING_FIXTURE()

/* A configuration and its time; 0: it failed. */
typedef struct {
    const char *key;
    double time, error;
} point;

/* Writes a record; its name is its path in the test's folder. */
static void put_like(tune_record head, const char *name, const char *code, const point *points)
{
    head.path = suite_keep(grove_path_join(t.folder, name));
    char *folder = suite_keep(grove_path_folder(head.path));

    ck_assert_int_eq(grove_folder_make(folder, t.error), 0);
    tune_record *record = tune_record_open(&head, code, t.error);
    ck_assert_msg(record, "%s", suite_messages(t.error));
    for (; points->key; points++) {
        double times[] = {points->time - points->error, points->time + points->error};
        const tune_point to = {.key = (char *)points->key,
                               .failure = points->time > 0 ? NULL : (char *)"fails",
                               .time = points->time,
                               .times = times,
                               .runs = points->error > 0 ? 2 : 0};
        ck_assert_int_eq(tune_record_add(record, &to, t.error), 0);
    }
    tune_record_free(record);
}

static void put(const char *name, const char *machine, const char *sizes, const point *points)
{
    put_like((tune_record){.machine = (char *)machine,
                           .kernel = "sum",
                           .sizes = (char *)sizes,
                           .tunables = 3,
                           .name = {"BLOCK", "CELLS", "KIND"},
                           .values = {"32,64,128", "1,4", "a,b"}},
             name, "sum single 0123", points);
}

static tune_statistics *read_folder(void)
{
    const char *const paths[] = {t.folder};
    tune_statistics *s = tune_statistics_read(paths, 1, t.error);

    ck_assert_msg(s, "%s", suite_messages(t.error));
    return s;
}

/* The tables have these lines. */
#define HAS(...)                                                                                   \
    do {                                                                                           \
        const char *const lines[] = {__VA_ARGS__};                                                 \
        tune_statistics *s_ = read_folder();                                                       \
        const char *text = suite_keep(tune_statistics_text(s_));                                   \
        tune_statistics_free(s_);                                                                  \
        for (size_t k_ = 0; k_ < sizeof(lines) / sizeof(*lines); k_++)                             \
            ck_assert_msg(strstr(text, lines[k_]), "%s is not in\n%s", lines[k_], text);           \
    } while (0)

/* Performances 0.2 0.4 0.5 0.8 1: their mean is 0.58, the variance 2.09 / 5 - 0.58^2 = 0.0816, and
 * the best one is 0.42 / 0.28566 = 1.4703 standard deviations from the mean: 1 / 1.4703^2 = 0.4626.
 */
TEST(distribution)
{
    put("a.json", "cpu | 1", "16,300",
        (point[]){{"32,1,a", 5, 0},
                  {"64,1,a", 1, 0},
                  {"32,4,a", 2.5, 0},
                  {"64,4,a", 0, 0},
                  {"128,1,a", 2, 0},
                  {"128,4,a", 1.25, 0},
                  {NULL, 0, 0}});
    put("b.json", "gpu", "8", (point[]){{"32,1,a", 0, 0}, {NULL, 0, 0}});
    put("c.json", "gpu", "9", (point[]){{"32,1,a", 3, 0}, {NULL, 0, 0}});
    tune_statistics *s = read_folder();
    const tune_distribution d = tune_distribution_of(s->items[0].record);
    ck_assert_int_eq(s->count, 3);
    ck_assert_int_eq(s->ran_count, 2);
    ck_assert_int_eq(d.ran, 5);
    ck_assert_int_eq(d.failed, 1);
    ck_assert_double_eq_tol(d.least, 0.2, 1e-12);
    ck_assert_double_eq_tol(d.lower, 0.4, 1e-12);
    ck_assert_double_eq_tol(d.median, 0.5, 1e-12);
    ck_assert_double_eq_tol(d.upper, 0.8, 1e-12);
    ck_assert_double_eq_tol(d.distance, 0.42 / sqrt(0.0816), 1e-9);
    ck_assert_double_eq_tol(d.bound, 0.0816 / (0.42 * 0.42), 1e-9);
    tune_statistics_free(s);
    HAS("| sum single | cpu \\| 1 | 16x300 | 5 | 1 | 1 | 0.200 | 0.400 | 0.500 | 0.800 | 1.47 | "
        "0.463 |\n",
        "| sum single | gpu | 8 | 0 | 1 | - | - | - | - | - | - | - |\n",
        "| sum single | gpu | 9 | 1 | 0 | 3 | 1.000 | 1.000 | 1.000 | 1.000 | - | 1 |\n",
        "No kernel has records of two sizes on one device.\n");
}

/* Between two performances: 0.5 and 1 have quartiles at 0.625, 0.75 and 0.875. */
TEST(quartiles_between)
{
    put("a.json", "cpu", "1", (point[]){{"32,1,a", 2, 0}, {"64,1,a", 1, 0}, {NULL, 0, 0}});
    tune_statistics *s = read_folder();
    const tune_distribution d = tune_distribution_of(s->items[0].record);
    ck_assert_double_eq_tol(d.lower, 0.625, 1e-12);
    ck_assert_double_eq_tol(d.median, 0.75, 1e-12);
    ck_assert_double_eq_tol(d.upper, 0.875, 1e-12);
    ck_assert_double_eq_tol(d.distance, 1, 1e-12);
    ck_assert_double_eq(d.bound, 1);
    tune_statistics_free(s);
}

/* With 100 cells 64,1 is best, with 2000 128,1, which takes 3 times as long with 100; 64,1 takes 4
 * times as long. 32,1 takes 1.5 and 1.2 times as long as the optima, geometric mean 1.342, and 64,4
 * 1.345 times, which is less than the arithmetic mean 1.35. 32,4 would be better, but fails. */
static void put_sizes(double error)
{
    put("x/one.json", "cpu", "10,200",
        (point[]){{"64,1,b", 8, error},
                  {"32,1,a", 2.4, error},
                  {"128,1,a", 2, error},
                  {"64,4,a", 2.69, error},
                  {"32,4,a", 0, 0},
                  {NULL, 0, 0}});
    put("x/y/two.json", "cpu", "100",
        (point[]){{"32,1,a", 1.5, error},
                  {"64,1,b", 1, error},
                  {"128,1,a", 3, error},
                  {"64,4,a", 1.345, error},
                  {"32,4,a", 1.1, 0},
                  {NULL, 0, 0}});
}

TEST(fixed)
{
    put_sizes(0.01);
    HAS("| sum single | cpu | 100 | BLOCK=64 CELLS=1 KIND=b | 1 | BLOCK=32 CELLS=1 KIND=a | 1.5 | "
        "1.500 |\n| sum single | cpu | 10x200 | BLOCK=128 CELLS=1 KIND=a | 2 | BLOCK=32 CELLS=1 "
        "KIND=a | 2.4 | 1.200 |\n");
}

/* The standard error of t - e and t + e is e: of a difference of two, 1.414 e. 0.4 is less than
 * three of them where e is 0.1, 0.5 is not. */
TEST(fixed_within_errors)
{
    put_sizes(0.1);
    HAS("| BLOCK=32 CELLS=1 KIND=a | 1.5 | 1.500 |\n",
        "| BLOCK=32 CELLS=1 KIND=a | 2.4 | none |\n");
}

TEST(none_fixed)
{
    put("a.json", "cpu", "1", (point[]){{"32,1,a", 1, 0}, {"64,1,a", 0, 0}, {NULL, 0, 0}});
    put("b.json", "cpu", "2", (point[]){{"64,1,a", 1, 0}, {NULL, 0, 0}});
    put("c.json", "gpu", "2", (point[]){{"32,1,a", 1, 0}, {NULL, 0, 0}});
    HAS("| sum single | cpu | 1 | BLOCK=32 CELLS=1 KIND=a | 1 | - | - | - |\n",
        "| sum single | cpu | 2 | BLOCK=64 CELLS=1 KIND=a | 1 | - | - | - |\n");
}

/* On the CPU 64 and 128: their mean is 96, the standard deviation 64 / sqrt(2) = 45.255. With 96 of
 * the GPU: 32. KIND is a text, and one device has no choice of CELLS. */
TEST(portability)
{
    put_sizes(0);
    put("gpu.json", "gpu", "100", (point[]){{"96,4,a", 1, 0}, {NULL, 0, 0}});
    put("none.json", "gpu", "200", (point[]){{"32,1,a", 0, 0}, {NULL, 0, 0}});
    put_like((tune_record){.machine = "old",
                           .kernel = "sum",
                           .sizes = "5",
                           .tunables = 1,
                           .name = {"CELLS"},
                           .values = {"7"}},
             "old.json", "sum single 45", (point[]){{"7", 1, 0}, {NULL, 0, 0}});
    HAS("|---|---|---|--:|--:|\n"
        "| sum single | BLOCK | cpu | 2 | 0.471 |\n"
        "| sum single | BLOCK | all | 3 | 0.333 |\n"
        "| sum single | CELLS | cpu | 2 | 0.000 |\n"
        "| sum single | CELLS | all | 3 | 0.866 |\n");
    tune_statistics *s = read_folder();
    ck_assert_ptr_null(strstr(suite_keep(tune_statistics_text(s)), "KIND |"));
    tune_statistics_free(s);
}

/* A file of kernel_tuner is a kernel of its own. */
TEST(of_kernel_tuner)
{
    const char *paths[] = {
        suite_keep(grove_path_join(getenv("GROVE_SOURCE"), "tests/tune/theirs.json")), NULL};
    paths[1] = paths[0]; /* named twice: once */
    tune_statistics *s = tune_statistics_read(paths, 2, t.error);
    ck_assert_msg(s, "%s", suite_messages(t.error));
    ck_assert_int_eq(s->count, 1);
    ck_assert_str_eq(s->items[0].kernel, "triad");
    tune_statistics_free(s);
}

TEST(none)
{
    const char *const path = testing_file(&t, "wrong.json", "{\"a\": 1}");
    const char *paths[] = {t.folder};

    ck_assert_ptr_null(tune_statistics_read(paths, 1, t.error));
    ck_assert_ptr_nonnull(strstr(suite_messages(t.error), path));
    ck_assert_ptr_nonnull(strstr(suite_messages(t.error), "this is not a record of tuning"));
    grove_error_clear(t.error);
    ck_assert_int_eq(grove_path_remove(path, t.error), 0);
    ck_assert_ptr_null(tune_statistics_read(paths, 1, t.error));
    ck_assert_ptr_nonnull(strstr(suite_messages(t.error), "there are no records in "));
    grove_error_clear(t.error);
    setenv("XDG_CACHE_HOME", t.folder, 1);
    ck_assert_ptr_null(tune_statistics_read(NULL, 0, t.error));
    ck_assert_ptr_nonnull(strstr(suite_messages(t.error), "/grove/tuned; grove tune TREE makes"));
    put("grove/tuned/cpu/a.json", "cpu", "1", (point[]){{"32,1,a", 1, 0}, {NULL, 0, 0}});
    tune_statistics *s = tune_statistics_read(NULL, 0, t.error);
    ck_assert_ptr_nonnull(s);
    ck_assert_int_eq(s->count, 1);
    tune_statistics_free(s);
}

static int count_of(const char *text, const char *word)
{
    int count = 0;

    for (; (text = strstr(text, word)); text++)
        count++;
    return count;
}

/* A box for each record that ran, and a place in the legend for each device. */
TEST(picture)
{
    char *path = suite_keep(grove_path_join(t.folder, "picture.svg"));

    put_sizes(0);
    put("gpu.json", "<gpu> & \"\x01\xef\xbf\xbe", "100", (point[]){{"96,4,a", 1, 0}, {NULL, 0, 0}});
    put("none.json", "none", "200", (point[]){{"32,1,a", 0, 0}, {NULL, 0, 0}});
    tune_statistics *s = read_folder();
    ck_assert_int_eq(tune_statistics_draw(s, path, false, t.error), 0);
    const char *text = suite_keep(grove_file_read(path, 1 << 20, true, NULL, t.error));
    ck_assert_int_eq(count_of(text, "stroke=\"black\"/>\n<line"), 3);
    ck_assert_int_eq(count_of(text, "width=\"12\""), 2);
    ck_assert_ptr_nonnull(strstr(text, ">&#60;gpu&#62; &#38; &#34;?"
                                       "?</text>"));
    ck_assert_ptr_nonnull(strstr(text, ">sum single 10x200</text>"));
    ck_assert_int_ne(tune_statistics_draw(s, path, false, t.error), 0);
    grove_error_clear(t.error);
    ck_assert_int_eq(tune_statistics_draw(s, path, true, t.error), 0);
    tune_statistics_free(s);
}

SUITE(60, setup, teardown)
