/* Slips of users, listed in slips.txt: each is told, and what is right passes without a word. */
#include "grove.h"

#include "base/file.h"
#include "base/memory.h"
#include "base/text.h"
#include "tests/common/suite.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { MAX_SETTINGS = 8 };

static grove_library *library;
static grove_error *error;
static char folder[64];

static void write_file(const char *path, const char *text)
{
    FILE *file = fopen(path, "w");

    ck_assert_ptr_nonnull(file);
    fputs(text, file);
    ck_assert_int_eq(fclose(file), 0);
}

/* ---- the sets and tables ---- */

static void run(const char *format, ...)
{
    const grove_session_options options = GROVE_SESSION_OPTIONS(.device = "cpu", .threads = 1);
    grove_text text = {0};
    va_list args;

    va_start(args, format);
    grove_text_add_v(&text, format, args);
    va_end(args);
    grove_tree *tree = grove_library_parse(library, text.at, "t.tree", NULL, 0, error);
    grove_session *session = tree ? grove_session_new(tree, &options, error) : NULL;
    if (!session || grove_session_run(session)) {
        char *messages = grove_error_text(error);
        ck_abort_msg("%s\n%s", text.at, messages);
    }
    grove_session_free(session);
    grove_tree_free(tree);
    grove_error_clear(error);
    free(text.at);
}

static void make_set(const char *name, const char *array, const char *options)
{
    run("obs = observe(array=\"%s\", phase_centre=\"05h42m36s -30d00m00s\", integration=60s, "
        "duration=4min, channels=4, channel_width=4MHz, %s)\n"
        "S = sky_model(\"field.skymodel\")\n"
        "G[p] = gains(obs, kind=sine, jones=diagonal)\n"
        "M[p,q] = sum[s]( point(S, obs) )\n"
        "data = sink(G[p] * M * G[q]^H, obs, to=\"%s\")\n"
        "model = sink(M, obs, to=\"%s\", column=\"MODEL_DATA\")\n",
        array, options, name, name);
}

static void make_table(const char *set, const char *name, const char *jones, const char *more)
{
    run("obs = ms(\"%s\")\nG[p] = parm(\"G\", jones=%s)\n%s"
        "fit = solve(G[p] * obs.column(\"MODEL_DATA\") * G[q]^H, obs.data, to=\"%s\")\n",
        set, jones, more, name);
}

static void make_image(const char *set, const char *name, const char *options)
{
    run("obs = ms(\"%s\")\n"
        "sky = dirty_image(obs.data, obs, size=64, cell=20arcsec%s)\n"
        "fits = image(sky, to=\"%s\", unit=\"Jy/pixel\")\n",
        set, options, name);
}

static void make_world(void)
{
    static const char *const sky = "format = Name, Type, Patch, Ra, Dec, I\n"
                                   ", , north, %s:42:40.0, -29.53.00.0\n"
                                   ", , south, %s:42:50.0, -30.07.00.0\n"
                                   "one, POINT, north, %s:42:36.0, -30.00.00.0, 2.0\n"
                                   "two, POINT, south, %s:42:50.0, -30.07.00.0, 1.0\n";
    char *field = suite_text(sky, "05", "05", "05", "05");
    char *far = suite_text(sky, "09", "09", "09", "09");

    write_file("field.skymodel", field);
    write_file("far.skymodel", far);
    make_set("observed.ms", "kat-7", "start=\"2020-01-01T20:00\", frequency=1.4GHz");
    make_set("high.ms", "kat-7", "start=\"2020-01-01T20:00\", frequency=5GHz");
    make_set("later.ms", "kat-7", "start=\"2020-01-31T20:00\", frequency=1.4GHz");
    make_set("evening.ms", "kat-7", "start=\"2020-01-02T16:00\", frequency=1.4GHz");
    make_set("wsrt.ms", "wsrt", "start=\"2020-01-01T20:00\", frequency=1.4GHz");
    make_set("circular.ms", "kat-7", "start=\"2020-01-01T20:00\", frequency=1.4GHz, feed=circular");
    make_table("observed.ms", "gains.h5", "diagonal, time=60s", "");
    make_table("observed.ms", "bandpass.h5", "diagonal, freq=4MHz", "");
    make_table("later.ms", "later.h5", "diagonal, time=60s", "");
    make_table("observed.ms", "phases.h5", "phase, time=60s", "");
    make_table("high.ms", "high.h5", "diagonal, time=60s", "");
    make_table("high.ms", "high-bandpass.h5", "diagonal, freq=4MHz",
               "keep = save(G, to=\"high.csv\")\n");
    make_table("high.ms", "high-delay.h5", "delay", "");
    make_image("high.ms", "high.fits", "");
    make_image("high.ms", "high-cube.fits", ", bands=2");
    make_image("observed.ms", "field.fits", "");
    run("obs = ms(\"observed.ms\")\nS = sky_model(\"field.skymodel\")\n"
        "X[s,p] = parm(\"X\", jones=phase, groups=patch)\n"
        "fit = solve(sum[s]( X[s,p] * point(S, obs) * X[s,q]^H ), obs.data, "
        "to=\"directions.h5\")\n");
}

static void setup(void)
{
    const char *parent = getenv("TMPDIR");

    snprintf(folder, sizeof(folder), "%s/grove-slips-XXXXXX", parent ? parent : "/tmp");
    ck_assert_ptr_nonnull(mkdtemp(folder));
    ck_assert_int_eq(chdir(folder), 0);
    library = grove_library_new(NULL);
    error = grove_error_new();
    make_world();
}

static void teardown(void)
{
    ck_assert_int_eq(chdir("/"), 0);
    grove_error_free(error);
    grove_library_free(library);
    grove_path_remove(folder, NULL);
}

/* ---- the slips ---- */

static char *cut(char **at, const char *mark)
{
    char *begin = *at, *end = begin ? strstr(begin, mark) : NULL;

    *at = end ? end + strlen(mark) : NULL;
    if (end)
        *end = 0;
    return begin;
}

/* Takes the lines -s NAME=VALUE from the beginning of a tree's text. */
static size_t take_settings(char **text, grove_setting settings[MAX_SETTINGS])
{
    size_t count = 0;

    while (!strncmp(*text, "-s ", 3)) {
        char *line = cut(text, "\n") + 3, *value = strchr(line, '=');
        ck_assert(value && count < MAX_SETTINGS);
        *value = 0;
        settings[count++] = (grove_setting){line, value + 1};
    }
    return count;
}

/* Whether this is said, with errors, warnings or notes as it begins with, and no others. */
static bool is_said(bool good, const char *wanted, const char *messages, const char *notes)
{
    bool fails = !strncmp(wanted, "error: ", 7), warns = !strncmp(wanted, "warning: ", 9);
    bool noted = !strncmp(wanted, "note: ", 6);
    const char *text = strchr(wanted, ' ');

    if (fails == good || (good && warns != (grove_error_warnings(error) > 0)))
        return false;
    if (noted)
        return strstr(notes, text + 1);
    return fails || warns ? strstr(messages, text + 1) != NULL : !strcmp(wanted, "passes");
}

/* Whether a run of it would begin. */
static bool may_run(grove_tree *tree)
{
    const grove_session_options options = GROVE_SESSION_OPTIONS(.device = "cpu", .threads = 1);
    grove_session *session = grove_session_new(tree, &options, error);
    char *outputs = session ? grove_session_outputs(session) : NULL;
    bool may = outputs != NULL;

    free(outputs);
    grove_session_free(session);
    return may;
}

static int try_slip(const char *name, char *text, char *wanted)
{
    grove_setting settings[MAX_SETTINGS];
    size_t count = take_settings(&text, settings);
    grove_tree *tree = grove_library_parse(library, text, "t.tree", settings, count, error);
    char *notes = tree ? grove_tree_notes(tree) : NULL;
    bool good = tree && may_run(tree);
    char *messages = suite_messages(error);

    wanted[strcspn(wanted, "\n")] = 0;
    bool said = is_said(good, wanted, messages, notes);
    if (!said)
        fprintf(stderr, "%s:\n%s\nwanted is \"%s\", said is\n%s%s", name, text, wanted, messages,
                notes ? notes : "");
    free(notes);
    grove_tree_free(tree);
    grove_error_clear(error);
    return said ? 0 : 1;
}

TEST(slips)
{
    const char *source = getenv("GROVE_SOURCE");
    char *path = suite_keep(grove_path_join(source ? source : ".", "tests/cli/slips.txt"));
    char *all = suite_keep(grove_file_read(path, 1 << 20, true, NULL, NULL)), *at = all;
    int count = 0, wrong = 0;

    ck_assert_msg(all, "%s", path);
    write_file("world.tree", cut(&at, "\n==== "));
    for (char *slip; (slip = cut(&at, "\n==== ")); count++) {
        char *name = cut(&slip, "\n"), *text = cut(&slip, "\n--\n");
        ck_assert_msg(slip, "%s: no --", name);
        wrong += try_slip(name, text, slip);
    }
    ck_assert_int_ge(count, 70);
    ck_assert_msg(!wrong, "%d of %d slips are said otherwise", wrong, count);
}

SUITE(120, setup, teardown)
