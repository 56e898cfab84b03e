/* The framework's kernels on the host, by rows, against loops over single cells; and launches:
 * parts of values, outputs that are inputs, placement. */
#include "tests/common/session-testing.h"

#include "device/array.h"
#include "run/copy.h"
#include "run/flags.h"

#include <stdlib.h>
#include <string.h>

#include "../kernels/core/flag_rule.h"

enum { STATIONS = 5, GUARD = 64 };
static const int32_t left[] = {0, 0, 0, 0, 1, 1, 1, 2, 2, 3},
                     right[] = {1, 2, 3, 4, 2, 3, 4, 3, 4, 4};

static uint64_t seed;

static int64_t draw(int64_t below)
{
    return (int64_t)(grove_random_bits(7, seed++, 0, 0, 0) % (uint64_t)below);
}

/* A view over the axes, some of which it does not vary along; the last but one may be gathered.
 * Bytes of its array. */
static int64_t draw_view(grove_view *view, const grove_args *args, int axes, bool input)
{
    int64_t step = view->elements * (view->complex_ ? 2 : 1) * view->bytes;

    for (int d = axes - 1; d >= 0; d--) {
        bool gathers = input && args->size[d] == 10 && draw(2);
        if (input && !draw(4))
            continue;
        step += draw(4) ? 0 : step; /* holes */
        view->stride[d] = step;
        if (gathers && !view->gather) {
            view->gather = left;
            view->gather_axis = d;
            step *= STATIONS;
        } else {
            step *= args->size[d];
        }
    }
    return step;
}

static void draw_sizes(grove_args *args, int axes)
{
    static const int64_t sizes[] = {1, 2, 3, 10, 17};

    for (int d = 0; d < axes; d++)
        args->size[d] = sizes[draw(5)];
}

static int64_t offset_of(const grove_view *view, const int64_t *index, int axes)
{
    int64_t offset = 0;

    for (int d = 0; d < axes; d++)
        offset += view->stride[d] *
                  (view->gather && view->gather_axis == d ? view->gather[index[d]] : index[d]);
    return offset;
}

static void index_of(const grove_args *args, int first, int last, int64_t cell, int64_t *index)
{
    for (int d = last - 1; d >= first; d--) {
        index[d] = cell % args->size[d];
        cell /= args->size[d];
    }
}

/* ---- casts ---- */

static double number_of(const grove_view *view, const char *at, int64_t n)
{
    double x = 0;
    float y = 0;

    memcpy(view->bytes == 8 ? (void *)&x : &y, at + n * view->bytes, (size_t)view->bytes);
    return view->bytes == 8 ? x : (double)y;
}

static void compare_cell(const grove_args *args, int64_t element, const char *from, const char *to)
{
    const grove_view *in = &args->in[0], *out = &args->out;

    for (int e = 0; e < out->elements; e++)
        for (int part = 0; part <= out->complex_; part++) {
            double x = number_of(out, to, e * (out->complex_ + 1) + part);
            double y = part && !in->complex_
                           ? 0
                           : number_of(in, from, (element + e) * (in->complex_ + 1) + part);
            ck_assert(x == (out->bytes == 4 ? (double)(float)y : y));
        }
}

static void cast_once(void)
{
    grove_args args = {.axes = (int32_t)draw(5), .inputs = 1};
    grove_view *in = &args.in[0], *out = &args.out;

    draw_sizes(&args, args.axes);
    in->elements = (int32_t)(1 + draw(4));
    in->complex_ = (int32_t)draw(2);
    in->bytes = draw(2) ? 8 : 4;
    int64_t element = draw(in->elements);
    out->elements = element ? 1 : in->elements;
    out->complex_ = in->complex_ | (int32_t)draw(2);
    out->bytes = draw(2) ? 8 : 4;
    int64_t bytes_in = draw_view(in, &args, args.axes, true);
    int64_t bytes_out = draw_view(out, &args, args.axes, false);
    memcpy(args.state.bytes, &element, sizeof(element));
    char *from = malloc((size_t)bytes_in), *to = malloc((size_t)bytes_out + GUARD);
    for (int64_t n = 0; n < bytes_in / in->bytes; n++) {
        double x = (double)draw(1 << 30) / 3;
        float y = (float)x;
        memcpy(from + n * in->bytes, in->bytes == 8 ? (void *)&x : &y, (size_t)in->bytes);
    }
    in->data = from;
    out->data = to;
    memset(to, 1, (size_t)bytes_out + GUARD);
    /* in two pieces, as threads take it */
    int64_t cells = grove_args_cells(&args), cut = draw(cells + 1);
    grove_array_cast.single_precision(&args, cut, cells);
    grove_array_cast.double_precision(&args, 0, cut);
    for (int64_t cell = 0; cell < cells; cell++) {
        int64_t index[GROVE_MAX_AXES];
        index_of(&args, 0, args.axes, cell, index);
        compare_cell(&args, element, from + offset_of(in, index, args.axes),
                     to + offset_of(out, index, args.axes));
    }
    for (int i = 0; i < GUARD; i++)
        ck_assert_int_eq(to[bytes_out + i], 1);
    free(from);
    free(to);
}

LOOP_TEST(casts, 0, 4)
{
    seed = (uint64_t)_i << 32;
    for (int k = 0; k < 200; k++)
        cast_once();
}

/* ---- flag rules ---- */

/* Bit by bit. */
static unsigned bits_of(const grove_flag_marks *rule, int k, unsigned bits)
{
    unsigned to = 0;

    for (int e = 0; e < 8; e++)
        if (bits >> e & 1 && (!rule->whole[k] || bits == rule->whole[k]))
            to |= rule->marks[k] >> 8 * e & 255;
    return to;
}

static void rule_once(void)
{
    grove_flag_marks rule = {.folded = (int32_t)draw(3)};
    grove_args args = {.axes = (int32_t)draw(4), .inputs = (int32_t)(1 + draw(4))};
    int all = args.axes + rule.folded;
    unsigned char *to;
    int64_t fold = 1;

    draw_sizes(&args, all);
    for (int d = args.axes; d < all; d++)
        fold *= args.size[d];
    for (int k = 0; k < args.inputs; k++) {
        args.in[k] = (grove_view){.elements = 1, .bytes = 1};
        rule.marks[k] = grove_random_bits(3, seed++, 1, 0, 0);
        rule.whole[k] = draw(3) ? 0 : (uint8_t)(1 + draw(255));
        if (!draw(5))
            continue;
        int64_t bytes = draw_view(&args.in[k], &args, all, true);
        unsigned char *flags = args.in[k].data = malloc((size_t)bytes);
        for (int64_t n = 0; n < bytes; n++)
            flags[n] = draw(3) ? (unsigned char)(draw(256) & draw(256)) : rule.whole[k];
    }
    args.out = (grove_view){.elements = 1, .bytes = 1};
    for (int64_t d = args.axes - 1, step = 1; d >= 0; step *= args.size[d--])
        args.out.stride[d] = step;
    int64_t cells = grove_args_cells(&args), cut = draw(cells + 1);
    args.out.data = to = malloc((size_t)cells + 1);
    to[cells] = 77;
    memcpy(args.state.bytes, &rule, sizeof(rule));
    grove_array_flag_rule.single_precision(&args, 0, cut);
    grove_array_flag_rule.double_precision(&args, cut, cells);
    for (int64_t cell = 0; cell < cells; cell++) {
        int64_t index[GROVE_MAX_AXES];
        unsigned want = 0;
        index_of(&args, 0, args.axes, cell, index);
        for (int64_t i = 0; i < fold; i++) {
            index_of(&args, args.axes, all, i, index);
            for (int k = 0; k < args.inputs; k++)
                if (args.in[k].data)
                    want |= bits_of(
                        &rule, k,
                        ((unsigned char *)args.in[k].data)[offset_of(&args.in[k], index, all)]);
        }
        ck_assert_uint_eq(to[cell], want);
    }
    ck_assert_uint_eq(to[cells], 77);
    for (int k = 0; k < args.inputs; k++)
        free(args.in[k].data);
    free(to);
}

LOOP_TEST(flag_rules, 0, 4)
{
    seed = (uint64_t)_i << 32;
    for (int k = 0; k < 100; k++)
        rule_once();
}

/* ---- launches ---- */

enum { TIMES = 8, BASELINES = 10, CHANNELS = 40 };
static const grove_axis times = {"time", GROVE_AXIS_TIME, TIMES, NULL, NULL, NULL, NULL, NULL,
                                 NULL};
static const grove_axis stations = {
    "station", GROVE_AXIS_STATION, STATIONS, NULL, NULL, NULL, NULL, NULL, NULL};
static const grove_axis baselines = {
    "baseline", GROVE_AXIS_BASELINE, BASELINES, NULL, NULL, left, right, NULL, NULL};
static const grove_axis channels = {"freq", GROVE_AXIS_FREQ, CHANNELS, NULL, NULL, NULL, NULL, NULL,
                                    NULL};

static grove_session *open_session(void)
{
    grove_session_options options = GROVE_SESSION_OPTIONS(.threads = 2, .device = "cpu");

    session_test_tree("x = o.data");
    return session_test_session(&options);
}

/* Numbers and flags are functions of the place. */
static grove_value *make_value(grove_session *session, const grove_range *range, int axes)
{
    grove_value *value = grove_value_new(session->host, range, axes, GROVE_SCALAR, 1, false, false,
                                         true, session->error);
    float *data = grove_buffer_host(value->data, NULL);
    unsigned char *flags = grove_buffer_host(value->flags, NULL);

    for (int64_t n = 0; n < grove_value_cells(value); n++) {
        int64_t rest = n, place = 0, step = 1;
        for (int d = axes - 1; d >= 0; d--) {
            place += (range[d].first + rest % range[d].count) * step;
            step *= 100;
            rest /= range[d].count;
        }
        data[n] = (float)place;
        flags[n] = (unsigned char)(place % 7 == 0);
    }
    return value;
}

/* Of values that begin later than their axes do; stations, of which the first are not there. */
TEST(parts)
{
    grove_session *session = open_session();
    const grove_range own[] = {{&times, 2, 5}, {&stations, 1, 4}, {&channels, 3, 30}};
    const grove_range space[] = {{&times, 3, 2}, {&baselines, 4, 6}, {&channels, 10, 20}};
    grove_value *value = make_value(session, own, 3), *part;

    for (int q = 0; q < 2; q++) {
        ck_assert_int_eq(grove_copy_dense(session, value, q ? 'q' : 'p', space, 3,
                                          GROVE_LAUNCH_BY_INPUT, NULL, (grove_gaps){.written = 0},
                                          &part),
                         0);
        const float *data = grove_buffer_host(part->data, NULL);
        const unsigned char *flags = grove_buffer_host(part->flags, NULL);
        for (int64_t n = 0; n < 2 * 6 * 20; n++) {
            int64_t station = (q ? right : left)[4 + n / 20 % 6];
            int64_t place = ((3 + n / 120) * 100 + station) * 100 + 10 + n % 20;
            ck_assert(data[n] == (float)place);
            ck_assert_uint_eq(flags[n], place % 7 == 0);
        }
        grove_value_unref(part);
    }
    grove_value_unref(value);
    grove_session_free(session);
}

/* Part by part into a larger value, and flags added to what is there: outputs with storage. */
TEST(outputs_with_storage)
{
    grove_session *session = open_session();
    const grove_range whole[] = {{&times, 0, TIMES}, {&channels, 0, CHANNELS}};
    grove_value *all = make_value(session, whole, 2), *got;

    got = grove_value_new(session->host, whole, 2, GROVE_SCALAR, 1, false, false, true,
                          session->error);
    for (int first = 0; first < TIMES; first += 3) {
        grove_range range[] = {{&times, first, first + 3 < TIMES ? 3 : TIMES - first}, whole[1]};
        grove_value *tile = make_value(session, range, 2);
        ck_assert_int_eq(grove_copy_into(session, tile, got), 0);
        grove_value_unref(tile);
    }
    unsigned char *flags = grove_buffer_host(got->flags, NULL);
    ck_assert_mem_eq(grove_buffer_host(got->data, NULL), grove_buffer_host(all->data, NULL),
                     grove_buffer_bytes(all->data));
    ck_assert_mem_eq(flags, grove_buffer_host(all->flags, NULL), TIMES * CHANNELS);
    for (int n = 0; n < TIMES * CHANNELS; n++)
        flags[n] = n % 3 ? 2 : 0;
    ck_assert_int_eq(grove_flags_merge(session, all, got), 0);
    for (int n = 0; n < TIMES * CHANNELS; n++)
        ck_assert_uint_eq(flags[n],
                          (n % 3 ? 2u : 0u) | ((n / CHANNELS * 100 + n % CHANNELS) % 7 == 0));
    grove_value_unref(got);
    grove_value_unref(all);
    grove_session_free(session);
}

/* Values without cells get an empty buffer; ranges that a value does not cover are refused. */
TEST(degenerate)
{
    grove_session *session = open_session();
    const grove_range own[] = {{&times, 2, 4}}, none[] = {{&times, 3, 0}},
                      more[] = {{&times, 3, 4}};
    grove_value *value = make_value(session, own, 1), *part;

    ck_assert_int_eq(grove_copy_dense(session, value, 0, none, 1, GROVE_LAUNCH_ON_DEVICE, NULL,
                                      (grove_gaps){.written = 0}, &part),
                     0);
    ck_assert_uint_eq(grove_buffer_bytes(part->data), 0);
    grove_value_unref(part);
    ck_assert_int_eq(grove_copy_dense(session, value, 0, more, 1, GROVE_LAUNCH_ON_DEVICE, NULL,
                                      (grove_gaps){.written = 0}, &part),
                     GROVE_INTERNAL);
    ck_assert_ptr_null(part);
    ck_assert_int_eq(grove_error_count(session->error), 1);
    grove_value_unref(value);
    grove_session_free(session);
}

SUITE(240, session_test_begin, session_test_end)
