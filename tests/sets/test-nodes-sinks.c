/* sink: values that it refuses to write, or warns of. */
#include "tests/common/foreign-sets.h"
#include "tests/common/probe.h"

#include "base/memory.h"
#include "base/text.h"
#include "nodes/sets/measurement_set.h"
#include "run/session.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

TESTING_FIXTURE(probe_begin(&t))

static char *all(const char *text)
{
    return suite_text("obs = probe()\nG[p] = gains(obs, jones=diagonal)\n%s", text);
}

/* That the tree is refused with this message, which is the beginning of one. */
static void refused(const char *text, const char *message)
{
    char *whole = all(text);

    testing_faults(&t, whole);
    ck_assert_msg(!strncmp(grove_error_message(t.error, 0), message, strlen(message)), "%s: %s",
                  text, grove_error_message(t.error, 0));
}

/* That the tree is accepted, with so many warnings, of which one has this text. */
static void warned(const char *text, size_t count, const char *message)
{
    testing_tree(&t, all(text));
    char *said = suite_messages(t.error);
    ck_assert_msg(grove_error_warnings(t.error) == count && strstr(said, message), "%s: %s", text,
                  said);
}

TEST(axes_that_are_missing)
{
    refused("w = sink(mean(obs.data, over=freq), obs, to=\"null\")\n",
            "sink: the visibilities no longer vary with freq, because of mean; all 7 would get the "
            "same number");
    refused("m = mean(obs.data, over=[time, freq])\nw = sink(m, obs, to=\"null\")\n",
            "sink: the visibilities no longer vary with time, because of 'm'; all 5");
    refused("w = sink(G[p]*mean(obs.data, over=time)*G[q]^H, obs, to=\"null\")\n",
            "sink: the visibilities no longer vary with time, because of mean; all 5");
    warned("w = sink(G[p]*G[q]^H*1Jy, obs, to=\"null\")\n", 2,
           "sink: the visibilities do not vary with time; all 5 get the same number");
    warned("w = sink(G[p]*select(obs.data, axis=freq, index=0)*G[q]^H, obs, to=\"null\")\n", 1,
           "sink: the visibilities do not vary with freq; all 7 get the same number");
    warned("m = mean(obs.data, over=[time, freq])\nw = sink(G[p]*(obs.data - m)*G[q]^H, obs, "
           "to=\"null\")\n",
           0, "");
}

TEST(axes_of_others)
{
    refused("other = observe(array=\"vla-d\", phase_centre=\"0deg 30deg\", hour_angle=0h..1h)\n"
            "w = sink(G[p]*G[q]^H*other.freq*1Jy/1Hz, obs, to=\"null\")\n",
            "sink: the visibilities belong to another observation");
}

/* ---- targets ---- */

/* The tree with the text's marks: @ is the test's folder. */
static const char *placed(const char *text)
{
    static char kept[2048];
    size_t n = 0;

    for (; *text && n + sizeof(t.folder) < sizeof(kept); text++)
        if (*text == '@')
            n += (size_t)snprintf(kept + n, sizeof(kept) - n, "%s", t.folder);
        else
            kept[n++] = *text;
    kept[n] = 0;
    return kept;
}

static void make_set(const char *text)
{
    testing_tree(&t, all(placed(text)));
    ck_assert_int_eq(probe_run(&t, NULL), 0);
}

/* The set a.ms, and a link to it. */
static void make_old(void)
{
    char path[200], link[200];

    make_set("w = sink(G[p]*obs.data*G[q]^H, obs, to=\"@/a.ms\")\n");
    snprintf(path, sizeof(path), "%s/a.ms", t.folder);
    snprintf(link, sizeof(link), "%s/link.ms", t.folder);
    ck_assert_int_eq(symlink(path, link), 0);
    snprintf(path, sizeof(path), "%s/dangling.ms", t.folder);
    snprintf(link, sizeof(link), "%s/new.ms", t.folder);
    ck_assert_int_eq(symlink(link, path), 0);
    snprintf(path, sizeof(path), "%s/x.npy.axes", t.folder);
    ck_assert_int_eq(symlink(link, path), 0);
}

TEST(targets_that_conflict)
{
    static const char *const cases[][2] = {
        {"w = sink(obs.data, obs, to=\"@/b.ms\")\nv = sink(obs.data, obs, to=\"@/./b.ms/\")\n",
         "DATA of @/./b.ms/ is also written at t.tree:3:5"},
        {"w = sink(obs.data, obs, to=\"@/b.ms\")\n"
         "v = sink(obs.data, obs, to=\"@//b.ms\", column=\"M\", overwrite=true)\n",
         "sink: M and DATA, written at t.tree:3:5, go to one new @//b.ms, but differ in "
         "'overwrite'; give both the same value, or write to another path"},
        {"w = sink(obs.data, obs, to=\"@/b.ms\")\n"
         "v = sink(old.data, old, to=\"@/b.ms\", column=\"M\")\n",
         "but differ in 'obs'"},
        {"w = sink(obs.data, obs, to=\"@/b.ms\", weight=obs.weight)\n"
         "v = sink(obs.data, obs, to=\"@/b.ms\", column=\"M\")\n",
         "but differ in 'weight'"},
        {"w = sink(obs.data, obs, to=\"@/b.ms\")\n"
         "v = sink(obs.data, obs, to=\"@/b.ms\", column=\"M\", uvw=2*obs.uvw)\n",
         "but differ in 'uvw'"},
        {"G[p] = gains(obs, jones=diagonal)\nw = sink(obs.data, obs, to=\"@/b.ms\")\n"
         "v = sink(G[p]*1Jy*G[q]^H, obs, to=\"@/b.ms\", column=\"M\")\n",
         "but one has the correlations XX YY, the other the correlations XX XY YX YY; write to "
         "another path"},
        {"u = sink(obs.data, obs, to=\"@/b.ms\")\nv = sink(obs.data, obs, to=\"@/b.ms\", "
         "column=\"M\")\n"
         "w = sink(obs.data, obs, to=\"@/b.ms\", column=\"M\")\n",
         "M of @/b.ms is also written at t.tree:4:5; give one of them another name"},
        {"w = sink(obs.data, obs, to=\"@/new.ms\")\nv = sink(obs.data, obs, "
         "to=\"@/dangling.ms\")\n",
         "dangling.ms is a symbolic link to a file that does not exist"},
        {"s = save(mean(norm(obs.data)), to=\"@/x.npy\")\n",
         "to: @/x.npy.axes is a symbolic link to a file that does not exist; remove it"},
        {"w = sink(obs.data, obs, to=\"@/link.ms\", overwrite=true)\n"
         "v = sink(old.data, old, column=\"X\")\n",
         "a.ms is created at t.tree:3:5, and X written here"},
        {"w = sink(old.data, old, column=\"X\")\n"
         "v = sink(obs.data, obs, to=\"@/link.ms\", overwrite=true)\n",
         "link.ms is created here, and written at t.tree:3:5"},
        {"w = sink(old.data, old, column=\"X\")\n"
         "v = sink(old.data, old, to=\"@/link.ms\", column=\"X\")\n",
         "X of @/link.ms is also written at t.tree:3:5"},
        {"w = sink(obs.data, obs, to=\"@/b.ms\")\nv = sink(obs.data, obs, to=\"@/b.ms/c.ms\")\n",
         "is inside the other"}};

    make_old();
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        const char *said = testing_faults(
            &t, placed(suite_text("obs = probe()\nold = ms(\"@/a.ms\")\n%s", cases[i][0])));
        ck_assert_msg(strstr(said, placed(cases[i][1])), "%s: %s", cases[i][0], said);
    }
    testing_tree(&t, placed("obs = probe()\nold = ms(\"@/a.ms\")\n"
                            "u = sink(obs.data, obs, to=\"@/b.ms\")\n"
                            "v = sink(old.data, old, column=\"X\")\n"
                            "w = sink(old.data, old, to=\"@/link.ms\", column=\"Y\")\n"
                            "x = sink(obs.data, obs, to=\"@/.//b.ms\", column=\"X\")\n"
                            "y = sink(obs.data, obs, to=\"@/c.ms\", weight=2*obs.weight)\n"
                            "z = sink(obs.data, obs, to=\"@/c.ms\", weight=2*obs.weight, "
                            "column=\"X\")\n"));
}

/* What grove_session_outputs says of a tree that can be built, or why it says nothing. */
static const char *outputs(const char *text)
{
    static char kept[1024];

    testing_tree(&t, placed(text));
    grove_error_clear(t.error);
    grove_session *session = grove_session_open(t.tree, NULL, t.error);
    char *said = grove_session_outputs(session);
    snprintf(kept, sizeof(kept), "%s", said ? said : grove_error_message(t.error, 0));
    free(said);
    grove_session_free(session);
    return kept;
}

TEST(targets_that_cannot_be_written)
{
    make_old();
    const char *said = testing_faults(&t, placed("obs = probe()\nw = sink(obs.data, obs, "
                                                 "to=\"@/..\", overwrite=true)\n"));
    ck_assert_msg(strstr(said, "/.. exists and is not a Measurement Set; it is not replaced"), "%s",
                  said);
    said = outputs("obs = probe()\nw = sink(obs.data, obs, to=\"@/a.ms\")\n");
    ck_assert_msg(strstr(said, "a.ms: exists already; give overwrite=true to replace it"), "%s",
                  said);
    said = outputs("obs = probe()\nw = sink(obs.data, obs, to=\"@/none/a.ms\")\n");
    ck_assert_msg(strstr(said, "a.ms: its folder does not exist"), "%s", said);
    said = outputs("obs = probe()\nw = sink(obs.data, obs, to=\"null\")\n");
    ck_assert_str_eq(said, "");
    /* 5 * 6 * 7 * 4 numbers of 8 bytes */
    said = outputs("old = ms(\"@/a.ms\")\nw = sink(old.data, old, column=\"X\")\n");
    ck_assert_msg(strstr(said, "/a.ms X: 6.6 KiB, ") && strstr(said, " are free there\n"), "%s",
                  said);
    /* 840 numbers in two columns, as many bits, and 30 rows of 32 bytes; DATA is made in any case
     */
    said = outputs("obs = probe()\nv = sink(obs.data, obs, to=\"@/b.ms\", column=\"X\")\n"
                   "w = sink(obs.data, obs, to=\"@/b.ms\")\n");
    ck_assert_msg(strstr(said, "/b.ms X, DATA: 14.2 KiB, ") && !strstr(said, "\n/"), "%s", said);
    said = outputs("obs = probe()\nv = sink(obs.data, obs, to=\"@/b.ms\", column=\"X\")\n");
    ck_assert_msg(strstr(said, "/b.ms X: 14.2 KiB, "), "%s", said);
    /* with overwrite the old set may go; 1e8 s of 0.1 s are in no disk */
    said = outputs(
        "obs = observe(array=\"vla-a\", phase_centre=\"0h0m0s 30d0m0s\", channels=1000000, "
        "start=\"2020-01-01\", duration=1e6s, integration=0.1s)\n"
        "G[p] = gains(obs)\nw = sink(G[p]*1Jy*G[q]^H, obs, to=\"@/a.ms\", overwrite=true)\n");
    ck_assert_msg(strstr(said, "a.ms: this run writes ") && strstr(said, " are free"), "%s", said);
    ck_assert_int_eq(probe_run(&t, NULL), GROVE_IO);
}

/* ---- sets that several make, or that are copied ---- */

enum { NUMBERS = PROBE_TIMES * PROBE_BASELINES * PROBE_CHANNELS * 4 };

/* What a set has of one column. */
typedef struct {
    float data[2 * NUMBERS], weight[NUMBERS];
    double uvw[PROBE_TIMES * PROBE_BASELINES * 3];
    unsigned char flag[NUMBERS];
} content;

static content read_set(const char *name, const char *column)
{
    static const grove_ms_block whole = {0, PROBE_TIMES, 0, PROBE_BASELINES, 0, PROBE_CHANNELS};
    content found;

    grove_ms *ms = grove_ms_open(placed(name), &(grove_ms_part){0}, t.error);
    ck_assert_msg(ms != NULL, "%s", grove_error_message(t.error, 0));
    ck_assert_int_eq(grove_ms_read_data(ms, column, &whole, found.data, found.flag, t.error), 0);
    ck_assert_int_eq(grove_ms_read_weight(ms, &whole, found.weight, t.error), 0);
    ck_assert_int_eq(grove_ms_read_uvw(ms, &whole, found.uvw, t.error), 0);
    grove_ms_close(ms);
    return found;
}

/* Runs a tree with two observations, of which the other has a number that is not finite. */
static void run(const char *actions, const grove_session_options *options)
{
    testing_tree(
        &t, placed(suite_text("obs = probe()\nbad = probe(spoil=true, flags=false)\n%s", actions)));
    ck_assert_msg(probe_run(&t, options) == 0, "%s", grove_error_message(t.error, 0));
}

/* Columns of one new set are what each of them is in a set of its own, with the flags of all. One
 * of them needs a pass more than the others. */
LOOP_TEST(columns_that_make_one_set, 0, 2)
{
    static const char *const columns[] = {"LESS", "DATA", "OTHER"};
    static const char *const sets[] = {"@/less.ms", "@/data.ms", "@/other.ms"};
    const char *where = _i ? "old.ms\", overwrite=true" : "both.ms\"";
    const char *both = _i ? "@/old.ms" : "@/both.ms";
    grove_session_options small =
        GROVE_SESSION_OPTIONS(.tile_times = 2, .tile_channels = 3, .double_precision = true);
    content single[3];

    run("u = sink(obs.data - mean(obs.data, over=time), obs, to=\"@/less.ms\", column=\"LESS\")\n"
        "v = sink(bad.data, obs, to=\"@/data.ms\", weight=obs.weight)\n"
        "w = sink(2*obs.data, obs, to=\"@/other.ms\", column=\"OTHER\")\n"
        "x = sink(obs.data, obs, to=\"@/old.ms\", column=\"GONE\")\n",
        NULL);
    run(suite_text(
            "u = sink(obs.data - mean(obs.data, over=time), obs, to=\"@/%s, column=\"LESS\", "
            "weight=obs.weight)\n"
            "v = sink(bad.data, obs, to=\"@/./%s, weight=obs.weight)\n"
            "w = sink(2*obs.data, obs, to=\"@/%s, column=\"OTHER\", weight=obs.weight)\n",
            where, where, where),
        _i ? NULL : &small);
    for (int k = 0; k < 3; k++)
        single[k] = read_set(sets[k], columns[k]);
    for (int k = 0; k < 3; k++) {
        content now = read_set(both, columns[k]);
        ck_assert_mem_eq(now.data, single[k].data, sizeof(now.data));
        ck_assert_mem_eq(now.uvw, single[k].uvw, sizeof(now.uvw));
        ck_assert_mem_eq(now.weight, single[1].weight, sizeof(now.weight));
        for (int i = 0; i < NUMBERS; i++)
            ck_assert_int_eq(now.flag[i],
                             single[0].flag[i] | single[1].flag[i] | single[2].flag[i]);
    }
    ck_assert(single[1].flag[0] && !single[2].flag[0] && !single[1].flag[4 * 7 * 6 + 4 * 7 * 2] &&
              single[2].flag[4 * 7 * 6 + 4 * 7 * 2]);
    grove_ms *ms = grove_ms_open(placed(both), &(grove_ms_part){0}, t.error);
    ck_assert(!grove_ms_has_column(ms, "GONE"));
    grove_ms_close(ms);
}

/* DATA, which every set has, is zero where no sink writes it. */
TEST(columns_beside_no_data)
{
    run("v = sink(obs.data, obs, to=\"@/both.ms\", column=\"A\")\n"
        "w = sink(bad.data, obs, to=\"@/both.ms\", column=\"B\")\n",
        NULL);
    content zero = read_set("@/both.ms", "DATA"), a = read_set("@/both.ms", "A");
    content b = read_set("@/both.ms", "B");
    for (int i = 0; i < 2 * NUMBERS; i++) {
        ck_assert(zero.data[i] == 0);
        ck_assert(a.flag[i / 2] || a.data[i] == b.data[i]);
    }
    ck_assert(a.data[8] != 0);
}

/* The copy of a set stores DATA as that does, where numbers stay as they are, and tiles have 64 KiB
 * or the whole. */
LOOP_TEST(storage_of_a_copy, 0, 7)
{
    static const struct {
        const char *kind;
        int tile[3];
        const char *kept;
    } cases[] = {
        {"TiledShapeStMan", {2, 3, 2000}, "TiledShapeStMan 2 3 2000"},
        {"TiledColumnStMan", {4, 7, 30}, "TiledColumnStMan 4 7 30"},
        {"TiledColumnStMan", {1, 1, 1}, "TiledColumnStMan 4 7 4681"},
        {"TiledShapeStMan", {4, 7, 29}, "TiledShapeStMan 4 7 4681"},
        {"StandardStMan", {1, 1, 1}, "StandardStMan"},
        {"IncrementalStMan", {1, 1, 1}, "TiledColumnStMan 4 7 4681"},
        {"TiledCellStMan", {2, 3, 1}, "TiledColumnStMan 4 7 4681"},
    };
    grove_session_options small =
        GROVE_SESSION_OPTIONS(.tile_times = 2, .tile_channels = 3, .double_precision = true);

    run("w = sink(obs.data, obs, to=\"@/a.ms\")\n", NULL);
    foreign_store(placed("@/a.ms"), cases[_i].kind, cases[_i].tile);
    content before = read_set("@/a.ms", "DATA");
    run("old = ms(\"@/a.ms\")\nv = sink(old.data, old, to=\"@/copy.ms\")\n"
        "w = sink(2*old.data, old, to=\"@/copy.ms\", column=\"TWICE\")\n",
        &small);
    char *kept = foreign_manager(placed("@/copy.ms"), "DATA");
    ck_assert_str_eq(kept, cases[_i].kept);
    free(kept);
    content after = read_set("@/copy.ms", "DATA"), twice = read_set("@/copy.ms", "TWICE");
    ck_assert_mem_eq(after.data, before.data, sizeof(after.data));
    ck_assert_mem_eq(after.flag, before.flag, sizeof(after.flag));
    for (int i = 0; i < 2 * NUMBERS; i++)
        ck_assert(twice.data[i] == 2 * before.data[i]);
}

/* ---- numbers that are none ---- */

TEST(what_is_not_finite_is_flagged)
{
    grove_ms_block first = {0, 1, 0, 1, 0, 1};
    unsigned char flag[4];
    float data[8];
    char path[200];

    testing_tree(&t, placed("obs = probe(spoil=true, flags=false)\n"
                            "w = sink(obs.data, obs, to=\"@/n.ms\")\n"));
    ck_assert_int_eq(probe_run(&t, NULL), 0);
    char *said = suite_messages(t.error);
    ck_assert_msg(strstr(said, "1 of 840 numbers are not finite; they are written, and flagged"),
                  "%s", said);
    snprintf(path, sizeof(path), "%s/n.ms", t.folder);
    grove_ms *ms = grove_ms_open(path, &(grove_ms_part){0}, t.error);
    ck_assert_int_eq(grove_ms_read_data(ms, "DATA", &first, data, flag, t.error), 0);
    ck_assert(flag[0] && !flag[1] && !flag[2] && !flag[3]);
    ck_assert_int_eq(grove_ms_nonfinite_samples(ms), 0); /* FLAG says it */
    grove_ms_close(ms);
}

/* FLAG of a set that exists is kept, unless it is to be written. Of the other observation one
 * number is not finite, and nothing is flagged. */
TEST(flags_of_a_set_that_exists)
{
    static const grove_ms_block whole = {0, PROBE_TIMES, 0, PROBE_BASELINES, 0, PROBE_CHANNELS};
    static const char *const ways[] = {"keep", "write"};
    unsigned char before[NUMBERS], after[NUMBERS];
    float data[2 * NUMBERS];
    char path[200];
    int flagged = 0;

    make_old();
    snprintf(path, sizeof(path), "%s/a.ms", t.folder);
    grove_ms *ms = grove_ms_open(path, &(grove_ms_part){0}, t.error);
    ck_assert_int_eq(grove_ms_read_data(ms, "DATA", &whole, data, before, t.error), 0);
    grove_ms_close(ms);
    for (int i = 0; i < NUMBERS; i++)
        flagged += before[i];
    ck_assert_int_gt(flagged, 1);
    for (int way = 0; way < 2; way++) {
        testing_tree(
            &t, placed(suite_text("old = ms(\"@/a.ms\")\nbad = probe(spoil=true, flags=false)\n"
                                  "w = sink(bad.data, old, column=\"X\", flags=%s)\n",
                                  ways[way])));
        ck_assert_int_eq(probe_run(&t, NULL), 0);
        ms = grove_ms_open(path, &(grove_ms_part){0}, t.error);
        ck_assert_int_eq(grove_ms_read_data(ms, "DATA", &whole, data, after, t.error), 0);
        grove_ms_close(ms);
        for (int i = 0; i < NUMBERS; i++)
            ck_assert_int_eq(after[i], way ? i == 0 : before[i]);
    }
}

/* The tiles of a run that writes into the set in the order of baselines, @/b.ms. */
static grove_plan run_by_baselines(const char *value)
{
    grove_session_options options = GROVE_SESSION_OPTIONS(.threads = 1, .device = "cpu");
    grove_plan plan = GROVE_PLAN();

    testing_tree(
        &t,
        placed(suite_text(
            "obs = ms(\"@/b.ms\")\nw = sink(%s, obs, column=\"DATA\", overwrite=true)\n", value)));
    grove_session *session = grove_session_new(t.tree, &options, t.error);
    ck_assert(session && !grove_session_plan(session, &plan) && !grove_session_run(session));
    grove_session_free(session);
    return plan;
}

/* That b.ms has `factor` times the visibilities of a.ms. */
static void check_times(float factor)
{
    grove_ms *from = grove_ms_open(placed("@/a.ms"), &(grove_ms_part){0}, t.error),
             *to = grove_ms_open(placed("@/b.ms"), &(grove_ms_part){0}, t.error);
    const grove_ms_layout *layout = grove_ms_layout_of(from);
    grove_ms_block block = {0, layout->times, 0, layout->baselines, 0, layout->channels};
    const size_t count = 8 * (size_t)(layout->times * layout->baselines * layout->channels);
    float *is = grove_alloc(count * sizeof(float)), *wanted = grove_alloc(count * sizeof(float));

    ck_assert(!layout->by_baseline && grove_ms_layout_of(to)->by_baseline);
    ck_assert(!grove_ms_read_data(from, "DATA", &block, wanted, NULL, t.error));
    ck_assert(!grove_ms_read_data(to, "DATA", &block, is, NULL, t.error));
    size_t good = 0;
    for (size_t i = 0; i < count; i++)
        good += wanted[i] != 0 && is[i] == factor * wanted[i];
    ck_assert_uint_eq(good, count);
    free(is);
    free(wanted);
    grove_ms_close(from);
    grove_ms_close(to);
}

/* Tiles divide baselines where rows lie so, but not where gains of all times would be there for
 * each of them. */
TEST(rows_in_the_order_of_baselines)
{
    const char *source = getenv("GROVE_SOURCE") ? getenv("GROVE_SOURCE") : ".";

    testing_tree(
        &t, placed(suite_text(
                "obs = observe(array=\"%s/data/arrays/kat-7.array\", hour_angle=-300s..300s, "
                "integration=10s, phase_centre=\"0deg -30deg\", frequency=1.4GHz, channels=256, "
                "channel_width=1MHz)\nw = sink(noise(obs, sigma=1Jy), obs, to=\"@/a.ms\")\n",
                source)));
    ck_assert(!probe_run(&t, NULL));
    char *from = suite_keep(grove_strdup(placed("@/a.ms")));
    foreign_sort(from, placed("@/b.ms"));
    grove_plan plan = run_by_baselines("2 * obs.data");
    ck_assert(plan.passes == 1 && plan.tile_times == 60 && plan.tile_baselines < 21);
    check_times(2);
    plan = run_by_baselines("obs.data * obs.scan");
    ck_assert(plan.passes == 1 && plan.tile_times < 60 && plan.tile_baselines >= 21);
    check_times(2);
}

TEST(nothing_but_zeros)
{
    testing_tree(&t, placed("obs = probe()\nw = sink(0*obs.data, obs, to=\"@/z.ms\")\n"));
    ck_assert_int_eq(probe_run(&t, NULL), 0);
    char *said = suite_messages(t.error);
    ck_assert_msg(strstr(said, "sink: all numbers are zero or flagged"), "%s", said);
}

SUITE(60, setup, teardown)
