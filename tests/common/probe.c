#include "probe.h"

#include "base/memory.h"
#include "base/text.h"
#include "nodes/common/observation.h"

#include <check.h>
#include <fcntl.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* ---- the numbers ---- */

static uint64_t mixed(int64_t time, int64_t baseline, int64_t channel, int e)
{
    return grove_random_bits(17, (uint64_t)time, (uint64_t)baseline, (uint64_t)channel,
                             (uint64_t)e);
}

bool probe_flagged(int64_t time, int64_t baseline, int64_t channel, int e)
{
    return (time == 1 && baseline == 2) || mixed(time, baseline, channel, e) % 7 == 0;
}

double complex probe_data(int64_t time, int64_t baseline, int64_t channel, int e)
{
    uint64_t bits = mixed(time, baseline, channel, e) >> 20;

    if (probe_flagged(time, baseline, channel, e))
        return CMPLX(1e6, -1e6);
    return CMPLX(((double)(bits % 2048) - 1024) / 64, ((double)(bits / 2048 % 2048) - 1024) / 64);
}

double probe_weight(int64_t time, int64_t baseline, int64_t channel, int e)
{
    return (double)(mixed(time, baseline, channel, e) >> 44 & 255) / 64;
}

/* ---- the class ---- */

static const grove_port probe_options[] = {
    {"spoil", GROVE_BOOL, "a NaN among the data", .initial = "false"},
    {"scale", GROVE_NUMBER, "factor of the data", .initial = "1"},
    {"flags", GROVE_BOOL, "some data are flagged", .initial = "true"},
    {"slots", GROVE_INTEGER, "time slots before each gap", .initial = "5"},
    {"declination", GROVE_NUMBER, "of the phase centre, rad", .initial = "0.8"},
    {"gap", GROVE_TIME, "the length of gaps", .initial = "0s"},
    {"dishes", GROVE_INTEGER, "different diameters", .initial = "4"},
    {"scans", GROVE_BOOL, "what gaps part are scans, 1, 3, ...", .initial = "false"},
    {0},
};

static void fill_times(grove_observation *o, const grove_node *node)
{
    int64_t slots = grove_node_integer(node, "slots");

    o->times = PROBE_TIMES;
    o->time = grove_alloc(PROBE_TIMES * sizeof(double));
    o->interval = grove_alloc(PROBE_TIMES * sizeof(double));
    o->scan = grove_alloc(PROBE_TIMES * sizeof(double));
    for (int i = 0; i < PROBE_TIMES; i++) {
        int64_t gaps = i / slots;
        o->time[i] = 51544.5 * 86400 + 600 * i + (double)gaps * grove_node_number(node, "gap");
        o->interval[i] = 600;
        o->scan[i] = grove_node_bool(node, "scans") ? 1 + 2 * (double)gaps : 1;
    }
}

static void fill(grove_observation *o, int dishes)
{
    o->channels = PROBE_CHANNELS;
    o->freq = grove_alloc(PROBE_CHANNELS * sizeof(double));
    o->channel_width = grove_alloc(PROBE_CHANNELS * sizeof(double));
    for (int k = 0; k < PROBE_CHANNELS; k++) {
        o->freq[k] = 1.4e9 + 2e6 * k;
        o->channel_width[k] = 2e6;
    }
    o->stations = PROBE_STATIONS;
    o->names = grove_alloc(PROBE_STATIONS * sizeof(char *));
    o->position = grove_alloc(3 * PROBE_STATIONS * sizeof(double));
    o->diameter = grove_alloc(PROBE_STATIONS * sizeof(double));
    for (int p = 0; p < PROBE_STATIONS; p++) {
        double *at = o->position + 3 * p;
        o->names[p] = grove_format("P%d", p);
        at[0] = 3826577 + 431 * p;
        at[1] = 461022 - 700 * (p % 2) + 90 * p * p;
        at[2] = 5064892 - 350 * p;
        o->diameter[p] = 25 + p % dishes;
        for (int k = 0; k < 3; k++)
            o->reference[k] += at[k] / PROBE_STATIONS;
    }
    o->baselines = PROBE_BASELINES;
    o->left = grove_alloc(PROBE_BASELINES * sizeof(int32_t));
    o->right = grove_alloc(PROBE_BASELINES * sizeof(int32_t));
    for (int p = 0, b = 0; p < PROBE_STATIONS; p++)
        for (int q = p + 1; q < PROBE_STATIONS; q++, b++) {
            o->left[b] = p;
            o->right[b] = q;
        }
}

static int open_probe(grove_node *node)
{
    grove_observation *o = grove_alloc(sizeof(*o));
    grove_form data = {.shape = GROVE_MATRIX,
                       .complex_ = true,
                       .precision = GROVE_PRECISION_SINGLE,
                       .unit = {.Jy = 1},
                       .flags = grove_node_bool(node, "flags")};
    grove_form weight = {.shape = GROVE_MATRIX, .precision = GROVE_PRECISION_SINGLE};

    fill_times(o, node);
    fill(o, (int)grove_node_integer(node, "dishes"));
    o->phase_centre[0] = 4.9;
    o->phase_centre[1] = grove_node_number(node, "declination");
    grove_node_set_user(node, o);
    ck_assert_int_eq(grove_observation_publish(node, o), 0);
    ck_assert_int_eq(
        grove_node_add_member(node, "data", "time baseline freq", &data, NULL, "for tests"), 0);
    return grove_node_add_member(node, "weight", "time baseline freq", &weight, NULL, "for tests");
}

static void put(const grove_node *node, bool weight, const int64_t at[3], int e, int64_t cell,
                grove_array *out)
{
    double complex value = probe_data(at[0], at[1], at[2], e);
    float *to = out->data;

    if (weight) {
        to[4 * cell + e] = (float)probe_weight(at[0], at[1], at[2], e);
        return;
    }
    value *= grove_node_number(node, "scale");
    if (grove_node_bool(node, "spoil") && !at[0] && !at[1] && !at[2] && !e)
        value = NAN;
    to[8 * cell + 2 * e] = (float)creal(value);
    to[8 * cell + 2 * e + 1] = (float)cimag(value);
    if (out->flags && probe_flagged(at[0], at[1], at[2], e))
        out->flags[cell] |= (unsigned char)(1 << e);
}

static int read_probe(const grove_call *call, const char *member, grove_array *out)
{
    const grove_node *node = call->node;
    bool weight = !strcmp(member, "weight");

    if (!weight && strcmp(member, "data") != 0)
        return grove_observation_read(node, grove_node_user(node), member, out);
    for (int64_t i = 0; i < out->cells; i++) {
        int64_t at[3], rest = i;
        for (int d = 2; d >= 0; d--) {
            at[d] = out->range[d].first + rest % out->range[d].count;
            rest /= out->range[d].count;
        }
        if (out->flags)
            out->flags[i] = 0;
        for (int e = 0; e < 4; e++)
            put(node, weight, at, e, i, out);
    }
    return 0;
}

static void close_probe(grove_node *node)
{
    grove_observation_free(grove_node_user(node));
    grove_node_set_user(node, NULL);
}

static const grove_class class_probe = {
    GROVE_CLASS_HEAD(probe),
    .doc = "For tests.",
    .output_doc = "an observation",
    .group = "data",
    .options = probe_options,
    .kind = GROVE_CLASS_DATA,
    .object = "observation",
    .data = &(const grove_data_functions){.open = open_probe, .read = read_probe},
    .close = close_probe,
    .example = "obs = probe()"};

void probe_begin(testing *t)
{
    ck_assert_int_eq(grove_classes_add(t->classes, &class_probe, t->error), 0);
}

/* ---- sessions ---- */

static void no_fault(testing *t, bool good, const char *what)
{
    ck_assert_msg(good, "%s: %s", what, suite_messages(t->error));
}

testing_value probe_session(testing *t, const char *name, const grove_session_options *options,
                            unsigned char **flags)
{
    grove_session_options plain = GROVE_SESSION_OPTIONS(.double_precision = true);
    grove_session *session = grove_session_new(t->tree, options ? options : &plain, t->error);
    const grove_node *node = testing_node(t, name);
    testing_value result = {.axes = node->axis_count};
    grove_value *value = NULL;

    no_fault(t, session != NULL, "a session");
    no_fault(t, !grove_session_value(session, name, &value), name);
    memcpy(result.axis, node->axes, sizeof(result.axis));
    result.elements = grove_value_elements(value);
    result.at = suite_keep(grove_value_numbers(value, &result.cells, t->error));
    no_fault(t, result.at != NULL, name);
    result.cells /= result.elements;
    if (flags) {
        *flags = suite_keep(grove_value_flagged(value, t->error));
        no_fault(t, *flags != NULL, name);
    }
    grove_value_unref(value);
    grove_session_free(session);
    return result;
}

int probe_run(testing *t, const grove_session_options *options)
{
    grove_session_options plain = GROVE_SESSION_OPTIONS(.double_precision = true);
    grove_session *session = grove_session_new(t->tree, options ? options : &plain, t->error);

    no_fault(t, session != NULL, "a session");
    int code = grove_session_run(session);
    grove_session_free(session);
    return code;
}

int probe_run_said(testing *t, const grove_session_options *options, char *said, size_t size)
{
    char *path = suite_text("%s/said", t->folder);

    fflush(stdout);
    int kept = dup(1), file = open(path, O_RDWR | O_CREAT | O_TRUNC, 0600);
    ck_assert(kept >= 0 && file >= 0 && dup2(file, 1) == 1);
    int code = probe_run(t, options);
    fflush(stdout);
    ck_assert(dup2(kept, 1) == 1);
    ssize_t length = pread(file, said, size - 1, 0);
    said[length < 0 ? 0 : length] = 0;
    close(kept);
    close(file);
    ck_assert_int_eq(unlink(path), 0);
    return code;
}
