/* The public library: only grove.h is included. */
#include "grove.h"
#include "tests/common/suite.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static grove_library *library;
static grove_error *error;

static void setup(void)
{
    library = grove_library_new(NULL);
    error = grove_error_new();
}

static void teardown(void)
{
    grove_error_free(error);
    grove_library_free(library);
}

static void no_error(const char *what)
{
    ck_assert_msg(!grove_error_count(error), "%s: %s", what, suite_messages(error));
}

#define ASSERT_MESSAGE(part)                                                                       \
    do {                                                                                           \
        char *text_ = grove_error_text(error);                                                     \
        ck_assert_msg(strstr(text_, part) != NULL, "wanted \"%s\" in: %s", part, text_);           \
        free(text_);                                                                               \
        grove_error_clear(error);                                                                  \
    } while (0)

/* ---- values ---- */

static const char text[] =
    "obs = observe(array=\"kat-7\", phase_centre=\"0h0m0s -30d0m0s\", hour_angle=-5min..5min,\n"
    "              integration=2min, frequency=1GHz, channels=3, channel_width=10MHz)\n"
    "b = 1 * obs.uvw\n"
    "nu = obs.freq + 1MHz\n"
    "z = matrix(1, 2i, 3, 4) * nu\n"
    "p = 2 * obs.diameter * sin(obs.parallactic)\n"
    "c = compare(z, z)\n";

static grove_value *value_of(grove_session *session, const char *name)
{
    grove_value *value = NULL;

    grove_session_value(session, name, &value);
    no_error(name);
    return value;
}

static void check_unit(const grove_value *value, const char *unit)
{
    char *found = grove_value_unit(value);

    ck_assert_str_eq(found, unit);
    free(found);
}

static void check_uvw(grove_session *session)
{
    grove_value *uvw = value_of(session, "b");
    int64_t times, baselines, count;

    ck_assert_int_eq(grove_value_axes(uvw), 2);
    ck_assert_str_eq(grove_value_axis(uvw, 0, &times), "time");
    ck_assert_str_eq(grove_value_axis(uvw, 1, &baselines), "baseline");
    ck_assert_ptr_null(grove_value_axis(uvw, 2, NULL));
    ck_assert_int_eq(times, 5);
    ck_assert_int_eq(baselines, 21);
    ck_assert_int_eq(grove_value_elements(uvw), 3);
    ck_assert(!grove_value_is_complex(uvw));
    check_unit(uvw, "m");
    /* slots of two minutes of sidereal hour angle or of UTC: within a second */
    const double *time = grove_value_coordinates(uvw, 0);
    for (int k = 1; k < times; k++)
        ck_assert(fabs(time[k] - time[k - 1] - 120) < 1);
    const int32_t *p = grove_value_stations(uvw, 1, 'p'), *q = grove_value_stations(uvw, 1, 'q');
    for (int b = 0, i = 0; i < 7; i++)
        for (int j = i + 1; j < 7; j++, b++) {
            ck_assert_int_eq(p[b], i);
            ck_assert_int_eq(q[b], j);
        }
    ck_assert_ptr_null(grove_value_stations(uvw, 0, 'p'));
    ck_assert_ptr_null(grove_value_labels(uvw, 0));
    ck_assert_ptr_null(grove_value_coordinates(uvw, 7));
    double *numbers = suite_keep(grove_value_numbers(uvw, &count, error));
    ck_assert_int_eq(count, 5 * 21 * 3);
    /* u_02 = u_01 + u_12 at the first time: baselines 1, 0 and 6 */
    for (int i = 0; i < 6; i += 2)
        ck_assert(fabs(numbers[6 + i] - numbers[i] - numbers[36 + i]) < 1e-4);
    grove_value_unref(uvw);
}

TEST(values_have_axes_units_and_coordinates)
{
    grove_tree *tree = grove_library_parse(library, text, "text.tree", NULL, 0, error);
    no_error("parse");
    ck_assert_uint_eq(grove_tree_action_count(tree), 1);
    grove_session_options options = GROVE_SESSION_OPTIONS(.double_precision = true, .threads = 1);
    grove_session *session = grove_session_new(tree, &options, error);
    int64_t count, size;

    check_uvw(session);

    grove_value *z = value_of(session, "z");
    ck_assert(grove_value_is_complex(z));
    ck_assert_int_eq(grove_value_elements(z), 4);
    check_unit(z, "Hz");
    ck_assert_str_eq(grove_value_axis(z, 0, &size), "freq");
    const double *frequency = grove_value_coordinates(z, 0);
    double *numbers = suite_keep(grove_value_numbers(z, &count, error));
    ck_assert_int_eq(count, 12);
    for (int k = 0; k < 3; k++) {
        ck_assert(fabs(frequency[k] - (1e9 + 1e7 * k)) < 1e-3);
        ck_assert(fabs(numbers[8 * k + 2]) < 1e-3);
        ck_assert(fabs(numbers[8 * k + 3] - 2 * (frequency[k] + 1e6)) < 1);
    }
    unsigned char *flagged = suite_keep(grove_value_flagged(z, error));
    for (int i = 0; i < 12; i++)
        ck_assert_int_eq(flagged[i], 0);
    grove_value_unref(z);

    grove_value *p = value_of(session, "p");
    ck_assert_str_eq(grove_value_axis(p, 1, &size), "station");
    ck_assert_int_eq(size, 7);
    const char *const *labels = grove_value_labels(p, 1);
    for (int k = 0; k < 7; k++)
        ck_assert_msg(labels[k][0] != 0, "station %d has no name", k);
    grove_value_unref(p);

    grove_value *none = NULL;
    ck_assert_int_ne(grove_session_value(session, "zz", &none), 0);
    ASSERT_MESSAGE("no node is called 'zz'");
    grove_session_free(session);
    grove_tree_free(tree);
}

/* ---- classes and folders ---- */

TEST(classes_are_found_and_sound)
{
    size_t count;
    const char *const *names = grove_library_classes(library, &count), *group, *path;

    ck_assert_int_eq(grove_library_ready(library, error), 0);
    ck_assert_uint_gt(count, 40);
    for (size_t k = 0; k < count; k++) {
        ck_assert(k == 0 || strcmp(names[k - 1], names[k]) < 0);
        grove_library_check(library, names[k], error);
        no_error(names[k]);
    }
    ck_assert_ptr_nonnull(grove_library_summary(library, "sin", &group, &path, error));
    ck_assert_str_eq(group, "functions");
    ck_assert_ptr_nonnull(strstr(path, "arithmetic.so"));
    ck_assert_ptr_null(grove_library_describe(library, "beam_ary", false, error));
    ASSERT_MESSAGE("no class 'beam_ary'; did you mean 'beam_airy'?");
    ck_assert_ptr_nonnull(grove_library_data_folders(library)[0]);
}

static void has(char *found, const char *part)
{
    ck_assert_ptr_nonnull(found);
    ck_assert_msg(strstr(found, part) != NULL, "wanted \"%s\" in: %s", part, found);
    free(found);
}

TEST(data_are_described)
{
    has(grove_library_about(library), "grove " GROVE_VERSION);
    has(grove_library_devices(library), "cpu");
    has(grove_library_info(library, "wsrt", error), "14 stations");
    has(grove_library_options(library, "simulate.tree", error), "phase_centre");
    ck_assert_ptr_null(grove_library_info(library, "nowhere", error));
    ASSERT_MESSAGE("there is no file or array 'nowhere'");
    ck_assert_ptr_null(grove_library_info(library, "no/where", error));
    ASSERT_MESSAGE("no/where: there is no such file or folder");
}

TEST(pictures_that_cannot_be_are_refused)
{
    size_t count;
    const char *const *names = grove_picture_names(&count);
    grove_picture picture = GROVE_PICTURE(.what = "imag");

    ck_assert_uint_gt(count, 5);
    ck_assert_ptr_null(names[count]);
    ck_assert_int_ne(grove_library_plot(library, "wsrt", &picture, "x.png", error), 0);
    ASSERT_MESSAGE("there is no picture 'imag'; did you mean 'image'?");
    picture.what = NULL;
    ck_assert_int_ne(grove_library_plot(library, "wsrt", &picture, "x.png", error), 0);
    ASSERT_MESSAGE("there is no picture ''");
    picture.what = "layout";
    ck_assert_int_ne(grove_library_plot(library, "wsrt", &picture, "x.jpg", error), 0);
    ASSERT_MESSAGE("x.jpg: a picture's name ends in .png or .svg");
}

/* A structure of a program in memory that may be larger: of an older or a newer Grove. */
#define SIZED(type, ...)                                                                           \
    union {                                                                                        \
        type own;                                                                                  \
        char bytes[sizeof(type) + 16];                                                             \
    } __VA_ARGS__

enum { UNSET, NEWER, CHANGED, OLDER, WAYS }; /* sizes; CHANGED: newer, with a member set */

/* Sets the size, and bytes after the structure; whether Grove is to take it. */
static bool set_size(int way, size_t size, size_t older, void *at)
{
    const size_t sizes[WAYS] = {0, size + 16, size + 16, older};
    char *bytes = at;

    memset(bytes + size, 0, 16);
    bytes[size + 15] = way == CHANGED;
    if (way == OLDER) /* what follows is not the program's */
        memset(bytes + older, -1, size - older);
    memcpy(at, &sizes[way], sizeof(size_t));
    return way == NEWER || way == OLDER;
}

static void check_refused(bool taken, const char *name)
{
    char *all = suite_messages(error);

    ck_assert_msg((strstr(all, name) == NULL) == taken, "%s: %s", name, all);
    ck_assert(taken || grove_error_code(error) == -1);
    grove_error_clear(error);
}

/* Of structures that the program fills in: options of sessions, tests of classes, pictures. */
LOOP_TEST(sizes_of_structures, 0, WAYS)
{
    SIZED(grove_session_options, options) = {.own = {.threads = 2, .device = "cpu"}};
    SIZED(grove_class_test, how) = {.own = {.tree = "none.tree"}};
    SIZED(grove_picture, picture) = {.own = {.what = "imag"}};
    grove_tree *tree = grove_library_parse(library, text, "text.tree", NULL, 0, error);

    bool taken =
        set_size(_i, sizeof(options.own), offsetof(grove_session_options, device_memory), &options);
    ck_assert_int_eq(!grove_session_option(&options.own, "threads", "1", error), taken);
    check_refused(taken, "grove_session_options: its size is not");
    ck_assert_int_eq(options.own.threads, taken ? 1 : 2);
    ck_assert_int_eq(options.bytes[offsetof(grove_session_options, overwrite)],
                     _i == OLDER ? -1 : 0);
    grove_session *session = grove_session_new(tree, &options.own, error);
    ck_assert_int_eq(session != NULL, taken);
    check_refused(taken, "grove_session_options: its size is not");
    grove_session_free(session);

    set_size(_i, sizeof(how.own), offsetof(grove_class_test, device), &how);
    ck_assert_int_lt(grove_library_test_class(library, "none", &how.own, error), 0);
    check_refused(taken, "grove_class_test: its size is not");

    set_size(_i, sizeof(picture.own), offsetof(grove_picture, column), &picture);
    ck_assert_int_ne(grove_library_plot(library, "wsrt", &picture.own, "x.png", error), 0);
    check_refused(taken, "grove_picture: its size is not");
    grove_tree_free(tree);
}

/* Of structures that Grove fills in: no byte is written after those of the program. */
LOOP_TEST(sizes_of_results, 0, WAYS)
{
    SIZED(grove_plan, plan) = {.own = {.passes = -1}};
    grove_tree *tree = grove_library_parse(library, text, "text.tree", NULL, 0, error);
    grove_session *session = grove_session_new(tree, NULL, error);
    const size_t older = offsetof(grove_plan, walks);

    ck_assert_uint_eq(grove_session_counters(session)->size, sizeof(grove_counters));
    set_size(_i, sizeof(plan.own), older, &plan);
    ck_assert_int_eq(!grove_session_plan(session, &plan.own), _i != UNSET);
    check_refused(_i != UNSET, "grove_plan: its size is not");
    ck_assert_int_eq(plan.own.passes, _i == UNSET ? -1 : 1);
    ck_assert_int_eq(plan.own.walks, _i == OLDER ? -1 : _i == UNSET ? 0 : 1);
    ck_assert_int_eq(plan.bytes[sizeof(plan) - 1], 0);
    grove_session_free(session);
    grove_tree_free(tree);
}

SUITE(60, setup, teardown)
