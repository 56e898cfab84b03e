/* Sessions: the same bits for any tiles, threads, cache and pipeline; reductions against plain
 * sums; what is recomputed; errors and interruption. */
#include "tests/common/session-testing.h"

#include "base/log.h"
#include "run/state.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- invariance ---- */

static const char *const definitions[] = {
    "x = -o.data",
    "x = o.data * 2 + o.data^H",
    "J[p] = o.jones\nx = J[p] * o.data * J[q]^H",
    "x = o.jones * o.gain",
    "x = sum(o.data, over=time)",
    "x = mean(o.data, over=[time, freq])",
    "x = mean(o.data, over=[time, baseline, freq])",
    "x = mean(o.data, over=baseline)",
    "x = mean(o.data, over=freq)",
    "x = max(norm(o.data), over=time)",
    "x = min(norm(o.data), over=[baseline, freq])",
    "x = o.data - mean(o.data, over=time)",
    "m = mean(o.data, over=time)\nx = sum(o.data * (o.data - m)^H, over=[time, freq]) * m",
    "J[p] = o.jones\nx = sum(o.flux * (J[p] * o.data * J[q]^H), over=source)",
    "J[p] = o.jones\nx = mean(o.flux * (J[p] * o.data * J[q]^H), over=[source, time])",
    "x = o.data * select(o.data, axis=time, index=3)",
    "x = select(o.data, axis=freq, index=-1)",
    "x = select(o.data * o.gain, element=XY)",
    "x = sum(o.flux, over=[source, freq]) * sum(o.jones, over=station)",
    "x = o.gain / 3",
};
enum { DEFINITIONS = sizeof(definitions) / sizeof(*definitions) };

typedef struct {
    size_t bytes, flag_bytes;
    unsigned char *data, *flags;
} content;

/* All numbers, and flags along all axes, so that two values can be compared byte by byte. */
static content content_of(grove_value *value)
{
    content c = {.bytes = (size_t)grove_value_cells(value) * grove_value_cell_bytes(value),
                 .flag_bytes = (size_t)grove_value_cells(value)};
    grove_view view;

    c.data = malloc(c.bytes + 1);
    c.flags = calloc(c.flag_bytes + 1, 1);
    memcpy(c.data, grove_buffer_host(value->data, NULL), c.bytes);
    ck_assert_int_eq(grove_value_flag_view(value, value->range, value->axes, 0, &view, NULL), 0);
    for (int64_t cell = 0; cell < grove_value_cells(value) && view.data; cell++) {
        int64_t index[GROVE_MAX_AXES] = {0}, rest = cell;
        for (int d = value->axes - 1; d >= 0; d--) {
            index[d] = rest % value->range[d].count;
            rest /= value->range[d].count;
        }
        c.flags[cell] = (unsigned char)*grove_view_at(&view, index, value->axes);
    }
    return c;
}

static content evaluate(const grove_session_options *options)
{
    grove_session *session = session_test_session(options);
    grove_value *value = NULL;

    ck_assert_ptr_nonnull(session);
    int code = grove_session_evaluate(session, session_test_node("x"), NULL, 0, &value);
    if (code) {
        char *text = grove_error_text(now.error);
        ck_abort_msg("%d: %s", code, text);
    }
    content c = content_of(value);
    grove_value_unref(value);
    grove_session_free(session);
    return c;
}

static void compare(const content *a, const content *b, const char *definition,
                    const grove_session_options *o)
{
    bool same = a->bytes == b->bytes && !memcmp(a->data, b->data, a->bytes) &&
                !memcmp(a->flags, b->flags, a->flag_bytes);

    ck_assert_msg(same, "%s: tiles %d %d %d, threads %d, %s%smemory %d", definition,
                  (int)o->tile_times, (int)o->tile_channels, (int)o->tile_baselines, o->threads,
                  o->cache_off ? "no cache, " : "", o->serial ? "serial, " : "", (int)o->memory);
}

LOOP_TEST(same_bits, 0, 2 * DEFINITIONS)
{
    const char *definition = definitions[_i % DEFINITIONS];
    bool double_ = _i >= DEFINITIONS;
    grove_session_options plain =
        GROVE_SESSION_OPTIONS(.double_precision = double_, .threads = 1, .serial = true);
    static const grove_session_options others[] = {
        TESTING_OPTIONS(.threads = 2),
        TESTING_OPTIONS(.threads = 3, .tile_times = 2),
        TESTING_OPTIONS(.threads = 1, .tile_times = 1),
        TESTING_OPTIONS(.threads = 2, .tile_times = 3, .tile_channels = 2),
        TESTING_OPTIONS(.threads = 2, .tile_channels = 1, .cache_off = true),
        TESTING_OPTIONS(.threads = 1, .tile_baselines = 4, .serial = true),
        TESTING_OPTIONS(.threads = 2, .tile_times = 2, .tile_baselines = 1),
        TESTING_OPTIONS(.threads = 2, .tile_times = 4, .tile_channels = 3, .tile_baselines = 5),
        TESTING_OPTIONS(.threads = 4, .tile_times = 1, .tile_channels = 1, .tile_baselines = 1),
        TESTING_OPTIONS(.threads = 2, .tile_times = 1, .cache_off = true, .serial = true),
    };

    session_test_tree(definition);
    content truth = evaluate(&plain);
    for (size_t i = 0; i < sizeof(others) / sizeof(*others); i++) {
        grove_session_options options = others[i];
        options.double_precision = double_;
        content c = evaluate(&options);
        compare(&truth, &c, definition, &options);
        free(c.data);
        free(c.flags);
    }
    free(truth.data);
    free(truth.flags);
}

/* ---- against plain sums ---- */

static grove_value *value_of(const grove_session_options *options, grove_session **session)
{
    grove_value *value = NULL;

    *session = session_test_session(options);
    ck_assert_int_eq(grove_session_evaluate(*session, session_test_node("x"), NULL, 0, &value), 0);
    return value;
}

TEST(means_skip_flags)
{
    grove_session_options options =
        GROVE_SESSION_OPTIONS(.tile_times = 2, .tile_channels = 3, .threads = 2);

    session_test_tree("x = mean(o.data, over=time)");
    grove_session *session;
    grove_value *value = value_of(&options, &session);
    content c = content_of(value);
    ck_assert_int_eq(value->axes, 2);
    for (int64_t b = 0; b < SAMPLES_BASELINES; b++)
        for (int64_t f = 0; f < SAMPLES_CHANNELS; f++)
            for (int e = 0; e < 4; e++) {
                long double sum[2] = {0};
                int good = 0;
                for (int t = 0; t < SAMPLES_TIMES; t++) {
                    if (samples_flagged(t, b, f, e))
                        continue;
                    good++;
                    for (int k = 0; k < 2; k++)
                        sum[k] += (long double)samples_number(0, t, b, f, e, k);
                }
                double got[2];
                grove_value_number(value, (int64_t[]){b, f}, e, &got[0], &got[1]);
                int64_t cell = b * SAMPLES_CHANNELS + f;
                ck_assert_int_eq(c.flags[cell] >> e & 1, good == 0);
                for (int k = 0; k < 2; k++)
                    ck_assert_double_eq_tol(got[k], good ? (double)(sum[k] / good) : 0, 1e-6);
            }
    ck_assert_int_eq(c.flags[2 * SAMPLES_CHANNELS + 3], 15);
    free(c.data);
    free(c.flags);
    grove_value_unref(value);
    grove_session_free(session);
}

/* Two passes: the mean must be that of all times. */
TEST(two_passes)
{
    grove_session_options options =
        GROVE_SESSION_OPTIONS(.tile_times = 3, .threads = 2, .double_precision = true);

    session_test_tree("x = o.gain * sum(o.flux, over=[source, freq])");
    long double sum = 0;
    for (int s = 0; s < SAMPLES_SOURCES; s++)
        for (int f = 0; f < SAMPLES_CHANNELS; f++)
            sum += (long double)samples_number(2, s, f, 0, 0, 0);
    options.tile_channels = 2;
    grove_session *session;
    grove_value *value = value_of(&options, &session);
    for (int64_t f = 0; f < SAMPLES_CHANNELS; f++) {
        double re, im;
        grove_value_number(value, &f, 0, &re, &im);
        ck_assert_double_eq_tol(re, (double)(samples_number(3, f, 0, 0, 0, 0) * sum), 1e-12);
        ck_assert_double_eq_tol(im, (double)(samples_number(3, f, 0, 0, 0, 1) * sum), 1e-12);
    }
    grove_value_unref(value);
    grove_session_free(session);
}

TEST(part_of_an_axis)
{
    grove_session_options options = GROVE_SESSION_OPTIONS(.threads = 1);
    session_test_tree("x = o.data * 2");
    grove_node *x = session_test_node("x");
    grove_range part[] = {{x->axes[0], 2, 3}, {x->axes[2], 1, 2}};
    grove_session *session = session_test_session(&options);
    grove_value *value = NULL;

    ck_assert_int_eq(grove_session_evaluate(session, x, part, 2, &value), 0);
    ck_assert_int_eq(grove_value_cells(value), 3 * SAMPLES_BASELINES * 2);
    double re, im;
    grove_value_number(value, (int64_t[]){4, 5, 2}, 1, &re, &im);
    ck_assert_double_eq(re, 2 * samples_number(0, 4, 5, 2, 1, 0));
    ck_assert_double_eq(im, 2 * samples_number(0, 4, 5, 2, 1, 1));
    grove_value_unref(value);
    grove_session_free(session);
}

/* ---- actions ---- */

/* What is found kept is not read and computed again, also where it is to be checked elsewhere. */
static void count_what_is_kept(void)
{
    unsetenv("GROVE_CHECK_CACHE");
}

static int run(const grove_session_options *options, grove_counters *counters)
{
    grove_session *session = session_test_session(options);
    int code = grove_session_run(session);

    if (counters)
        *counters = *grove_session_counters(session);
    grove_session_free(session);
    return code;
}

static bool has_message(const char *part)
{
    char *text = suite_messages(now.error);
    bool found = strstr(text, part) != NULL;

    if (!found)
        printf("wanted: %s\ngot: %s\n", part, text);
    return found;
}

LOOP_TEST(actions_get_each_cell_once, 0, 8)
{
    grove_session_options options =
        GROVE_SESSION_OPTIONS(.threads = 2, .tile_times = 1 + _i % 4, .serial = _i / 4);

    options.tile_channels = _i % 3;
    session_test_tree("write = record(o.data)");
    ck_assert_int_eq(run(&options, NULL), 0);
    for (int64_t cell = 0; cell < SAMPLES_CELLS; cell++) {
        int64_t f = cell % SAMPLES_CHANNELS, b = cell / SAMPLES_CHANNELS % SAMPLES_BASELINES;
        int64_t t = cell / SAMPLES_CHANNELS / SAMPLES_BASELINES;
        ck_assert_int_eq(now.places[cell], 1);
        for (int e = 0; e < 4; e++) {
            ck_assert_double_eq(now.numbers[cell][2 * e], samples_number(0, t, b, f, e, 0));
            ck_assert_double_eq(now.numbers[cell][2 * e + 1], samples_number(0, t, b, f, e, 1));
            ck_assert_int_eq(now.flags[cell] >> e & 1, samples_flagged(t, b, f, e));
        }
    }
    ck_assert_int_eq(now.begins, 1);
    ck_assert_int_eq(now.finishes, 1);
    ck_assert_int_eq(now.aborts, 0);
}

/* What does not vary along an axis reaches an action spread out, and is made once. */
TEST(broadcast_and_reuse)
{
    grove_session_options options = GROVE_SESSION_OPTIONS(.threads = 1, .tile_times = 1);
    grove_counters counters;

    count_what_is_kept();
    session_test_tree("write = record(o.data * 0 + exp(o.gain) * exp(o.gain))");
    ck_assert_int_eq(run(&options, &counters), 0);
    ck_assert_int_eq(now.cells_written, SAMPLES_CELLS);
    /* data for each tile, gain once */
    ck_assert_int_eq(now.reads, SAMPLES_TIMES + 1);
    ck_assert_int_eq(counters.tiles, SAMPLES_TIMES);
    ck_assert_int_gt(counters.hits, 0);
}

/* A second evaluation in the same session finds everything in the cache. */
TEST(cached)
{
    grove_session_options options = GROVE_SESSION_OPTIONS(.threads = 1);
    grove_value *first = NULL, *second = NULL;

    count_what_is_kept();
    session_test_tree("x = exp(o.gain) * 3");
    grove_session *session = session_test_session(&options);
    ck_assert_int_eq(grove_session_evaluate(session, session_test_node("x"), NULL, 0, &first), 0);
    uint64_t misses = grove_session_counters(session)->misses;
    ck_assert_int_eq(grove_session_evaluate(session, session_test_node("x"), NULL, 0, &second), 0);
    ck_assert_uint_eq(grove_session_counters(session)->misses, misses);
    ck_assert_ptr_eq(first, second);
    ck_assert_int_eq(now.reads, 1);
    grove_value_unref(first);
    grove_value_unref(second);
    grove_session_free(session);
}

/* A run may have written what was read before it. */
TEST(read_again_after_a_run)
{
    grove_session_options options = GROVE_SESSION_OPTIONS(.threads = 1);
    grove_value *value = NULL;
    int before = 0;

    count_what_is_kept();
    session_test_tree("x = exp(o.gain)\nwrite = record(o.data * x)");
    grove_session *session = session_test_session(&options);
    for (int i = 0; i < 3; i++) {
        ck_assert_int_eq(grove_session_evaluate(session, session_test_node("x"), NULL, 0, &value),
                         0);
        grove_value_unref(value);
        ck_assert_int_eq(now.reads, before + (i != 1));
        if (i == 1)
            ck_assert_int_eq(grove_session_run(session), 0);
        before = now.reads;
    }
    grove_session_free(session);
}

LOOP_TEST(faults_undo_all, 0, 8)
{
    grove_session_options options =
        GROVE_SESSION_OPTIONS(.threads = 2, .tile_times = 2, .serial = _i % 2);

    now.fail_read = _i / 2 == 0 ? 3 : 0;
    now.fail_write = _i / 2 == 1 ? 3 : 0;
    now.fail_begin = _i / 2 == 2 ? 2 : 0;
    now.fail_finish = _i / 2 == 3 ? 2 : 0;
    session_test_tree("w1 = record(o.data)\nw2 = record(o.data * 2)");
    ck_assert_int_eq(run(&options, NULL), -5);
    static const char *const messages[] = {"samples: the disk is gone", "record: the disk is full",
                                           "record: cannot begin so", "record: cannot finish so"};
    ck_assert(has_message(messages[_i / 2]));
    ck_assert_int_eq(grove_error_count(now.error), 1);
    static const int aborts[] = {2, 2, 1, 1}, finishes[] = {0, 0, 0, 2};
    ck_assert_int_eq(now.aborts, aborts[_i / 2]);
    ck_assert_int_eq(now.finishes, finishes[_i / 2]);
}

/* However many actions and passes see them. */
LOOP_TEST(visibilities_count_once, 0, 2)
{
    grove_session_options options =
        GROVE_SESSION_OPTIONS(.threads = 2, .tile_times = 2, .serial = _i);
    grove_counters counters;
    grove_plan plan = GROVE_PLAN();

    session_test_tree("m = mean(o.data, over=time)\nw1 = record(o.data - m)\n"
                      "w2 = record(o.data * 2)");
    grove_session *session = session_test_session(&options);
    ck_assert_int_eq(grove_session_plan(session, &plan), 0);
    ck_assert_int_eq(plan.passes, 2);
    ck_assert_double_eq(plan.visibilities, SAMPLES_CELLS);
    grove_session_free(session);
    ck_assert_int_eq(run(&options, &counters), 0);
    ck_assert_double_eq(counters.visibilities, SAMPLES_CELLS);
}

/* ---- memory that is refused ---- */

static const grove_device_operations *real;
static int allocations, refused;

static int refuse(grove_device *device, size_t bytes, bool staging, void **at, grove_error *error)
{
    if (__atomic_add_fetch(&allocations, 1, __ATOMIC_RELAXED) == refused) /* from two threads */
        return grove_fail(error, GROVE_NO_MEMORY, "no memory for %zu bytes", bytes);
    return real->allocate(device, bytes, staging, at, error);
}

LOOP_TEST(each_refused_allocation, 0, 2)
{
    grove_session_options options =
        GROVE_SESSION_OPTIONS(.threads = 1, .tile_times = 3, .tile_channels = 2, .serial = _i);
    int code = -1;

    session_test_tree(
        "J[p] = o.jones\nm = mean(o.data, over=time)\n"
        "w1 = record(J[p] * (o.data - m) * J[q]^H)\n"
        "w2 = record(sum(o.flux * o.data, over=source), y=select(o.data, element=XX))");
    for (refused = 1; code; refused++) {
        now.begins = now.aborts = now.finishes = allocations = 0;
        grove_error_clear(now.error);
        grove_session *session = session_test_session(&options);
        real = session->host->operations;
        grove_device_operations refusing = *real;
        refusing.allocate = refuse;
        session->host->operations = &refusing;
        code = grove_session_run(session);
        grove_session_free(session);
        if (!code)
            break;
        ck_assert_int_eq(code, GROVE_NO_MEMORY);
        ck_assert_int_eq(grove_error_count(now.error), 1);
        ck_assert(has_message("no memory for"));
        ck_assert_int_eq(now.aborts, 2);
        ck_assert_int_eq(now.finishes, 0);
        ck_assert_int_lt(refused, 10000);
    }
    ck_assert_int_gt(refused, 20);
    ck_assert_int_eq(now.finishes, 2);
}

LOOP_TEST(interruption, 0, 2)
{
    grove_session_options options =
        GROVE_SESSION_OPTIONS(.threads = 2, .tile_times = 1, .serial = _i);

    now.interrupt_write = 2;
    session_test_tree("write = record(o.data)");
    ck_assert_int_eq(run(&options, NULL), -8);
    ck_assert(has_message("interrupted; all outputs are unchanged"));
    ck_assert_int_eq(now.aborts, 1);
    ck_assert_int_eq(now.finishes, 0);
    ck_assert_int_lt(now.writes, SAMPLES_TIMES);
}

TEST(too_little_memory)
{
    /* 3000 times the samples: more than 1 MiB, the least that there is */
    grove_session_options options = GROVE_SESSION_OPTIONS(.threads = 1, .memory = 1);
    grove_plan plan = GROVE_PLAN();

    session_test_tree("write = record(o.data)");
    grove_session *session = session_test_session(&options);
    ck_assert_int_eq(grove_session_plan(session, &plan), 0);
    ck_assert_uint_le(plan.peak_bytes, 1 << 20);
    ck_assert_double_eq(plan.visibilities, SAMPLES_CELLS);
    ck_assert_int_eq(plan.passes, 1);
    grove_session_free(session);
}

TEST(neutral_operands_go)
{
    session_test_tree("J[p] = 1\nx = J[p] * o.data * J[q]^H + 0\nwrite = record(x)");
    for (size_t i = 0; i < now.tree->node_count; i++)
        if (now.tree->nodes[i]->used && now.tree->nodes[i]->class_)
            ck_assert_str_ne(now.tree->nodes[i]->class_->name, "multiply");
    grove_session_options options = GROVE_SESSION_OPTIONS(.threads = 1);
    ck_assert_int_eq(run(&options, NULL), 0);
    ck_assert_double_eq(now.numbers[1][0], samples_number(0, 0, 0, 1, 0, 0));
}

SUITE(120, session_test_begin, session_test_end)
