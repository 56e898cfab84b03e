/* Checks of a sink's inputs and options when the tree is built. */
#include "facts.h"
#include "nodes/sets/sink.h"
#include "unstable/fit.h"

#include "nodes/common/form.h"
#include "nodes/sets/correlations.h"
#include "nodes/sets/measurement_set.h"
#include "util.h"

#include <stdlib.h>
#include <string.h>

/* Along an axis that the value does not have all cells get the same number: right if it never
 * varied, wrong if it was reduced. */
static int check_missing(grove_node *node, const grove_axis *axis)
{
    const grove_axis *axes[GROVE_MAX_AXES];
    int count = grove_node_input_axes(node, SINK_VISIBILITIES, axes);

    for (int i = 0; i < count; i++)
        if (axes[i] == axis)
            return 0;
    if (axis->size < 2)
        return 0;
    const char *reducer = grove_node_input_reducer(node, SINK_VISIBILITIES, axis);
    if (reducer)
        return grove_node_fail(node, GROVE_SHAPE,
                               "the visibilities no longer vary with %s, because of %s; all %lld "
                               "would get the same number",
                               axis->name, reducer, (long long)axis->size);
    grove_node_warn(node, "the visibilities do not vary with %s; all %lld get the same number",
                    axis->name, (long long)axis->size);
    return 0;
}

static int find_axes(grove_node *node, sink_state *sink)
{
    const grove_node *obs = grove_node_object(node, "obs");
    const grove_axis *axes[GROVE_MAX_AXES];
    int count = grove_node_input_axes(node, SINK_VISIBILITIES, axes), code;

    sink->time = grove_node_axis(obs, "time");
    sink->baseline = grove_node_axis(obs, "baseline");
    sink->freq = grove_node_axis(obs, "freq");
    if (grove_node_input_axis(node, SINK_VISIBILITIES, GROVE_AXIS_SOURCE))
        return grove_node_fail(
            node, GROVE_SHAPE,
            "the visibilities still vary with source; sum them first: sum[s](...)");
    if (!grove_node_input_axis(node, SINK_VISIBILITIES, GROVE_AXIS_BASELINE))
        return grove_node_fail(
            node, GROVE_SHAPE,
            "it writes visibilities, which vary with baseline; this value does not");
    for (int i = 0; i < count; i++) {
        if (axes[i] == sink->time || axes[i] == sink->baseline || axes[i] == sink->freq)
            continue;
        if (axes[i]->kind < GROVE_AXIS_OTHER)
            return grove_node_fail(node, GROVE_SHAPE,
                                   "the visibilities belong to another observation");
        return grove_node_fail(node, GROVE_SHAPE,
                               "the visibilities vary with %s too; reduce that first",
                               axes[i]->name);
    }
    code = check_missing(node, sink->time);
    return code ? code : check_missing(node, sink->freq);
}

/* Visibilities are written in Jy: another unit is an error; none, a warning. */
static int check_units(grove_node *node)
{
    const grove_form *form = grove_node_input_form(node, SINK_VISIBILITIES),
                     *weights = grove_node_input_form(node, SINK_WEIGHT);
    grove_unit unit = form->unit;
    grove_unit weight = weights ? weights->unit : GROVE_UNIT_NONE;
    char text[48];

    if (!grove_unit_is_none(unit) && !grove_unit_equal(unit, GROVE_UNIT_FLUX))
        return grove_node_fail(node, GROVE_SHAPE,
                               "it writes visibilities, in Jy, but these are %s; a value divided "
                               "by its unit is a number, as in obs.freq / 1GHz",
                               grove_unit_describe(text, unit));
    if (grove_unit_is_none(unit) && !form->flags) /* nor are they data over a model */
        grove_node_warn(node, "it writes visibilities, in Jy, but these have no unit; is the sky "
                              "missing? If not, multiply them by 1Jy");
    if (weight.Jy != 0 && weight.Jy != -2)
        return grove_node_fail_option(
            node, "weight", "weights are 1 / sigma^2, without unit or in 1/Jy^2, but these are %s",
            grove_unit_describe(text, weight));
    return 0;
}

static bool same_path(const char *a, const char *b)
{
    char *real_a = realpath(a, NULL), *real_b = realpath(b, NULL);
    bool same = real_a && real_b && !strcmp(real_a, real_b);

    free(real_a);
    free(real_b);
    return same;
}

/* Where to write: the path, and whether it is the set that obs was read from. */
static int find_target(grove_node *node, sink_state *sink)
{
    const char *from = grove_node_property(grove_node_object(node, "obs"), "path");

    if (!grove_node_given(node, "to")) {
        if (!from)
            return grove_node_fail(
                node, GROVE_INVALID,
                "option 'to' must be given: obs was not read from a Measurement Set");
        sink->path = from;
        sink->existing = true;
        return 0;
    }
    sink->path = grove_node_text(node, "to");
    if (!sink->path[0])
        return grove_node_fail_option(node, "to", "the path is empty");
    sink->discard = !strcmp(sink->path, "null");
    sink->existing = from && same_path(from, sink->path);
    return 0;
}

/* Of the set of the observation, or the most that there can be. */
static int64_t rows_of(const grove_node *node, const sink_state *sink)
{
    const int64_t rows = grove_node_observation(grove_node_object(node, "obs"))->rows;

    return rows ? rows : sink->time->size * sink->baseline->size;
}

/* Measured: casacore's memory for a set that is written; and visibilities that are put in order,
 * where they cannot be written directly from memory. Rows of a set that exists are its `ms`
 * node's. */
static uint64_t memory_of(const grove_node *node, const sink_state *sink)
{
    const grove_form *form = grove_node_input_form(node, SINK_VISIBILITIES);
    uint64_t memory = (uint64_t)9 << 20;
    const grove_node *obs = grove_node_object(node, "obs");
    const int64_t rows = rows_of(node, sink);
    const bool incomplete = rows < sink->time->size * sink->baseline->size;

    if (incomplete && !sink->existing)
        memory += 12 * (uint64_t)rows; /* the list of a new set's rows */
    if (sink->existing && (incomplete || grove_node_property(obs, "order")))
        memory += GROVE_MS_KEPT;
    if (form->flags || form->shape != GROVE_MATRIX)
        memory += SINK_ROOM + (uint64_t)(sink->baseline->size * sink->freq->size) * 40;
    return memory;
}

void sink_correlations(const grove_node *node, int *count, int codes[4])
{
    const grove_node *obs = grove_node_object(node, "obs");
    const double *feed = grove_node_member_data(obs, "feed");
    const grove_observation_facts *facts = grove_node_observation(obs);

    grove_correlations_for_shape(grove_node_input_form(node, SINK_VISIBILITIES)->shape,
                                 grove_node_missing_elements(node, SINK_VISIBILITIES),
                                 feed && *feed != 0, facts->correlations, facts->correlation_count,
                                 count, codes);
}

/* An error for elements that were not measured, where the set has such correlations. */
static int check_correlations(grove_node *node)
{
    static const char *const names[] = {"XX (RR)", "XY (RL)", "YX (LR)", "YY (LL)"};
    const grove_observation_facts *facts = grove_node_observation(grove_node_object(node, "obs"));
    const int missing = grove_node_missing_elements(node, SINK_VISIBILITIES);

    for (int i = 0; i < facts->correlation_count; i++) {
        const int element =
            15 & ~grove_correlations_missing(&facts->correlations[i], 1); /* 0: Stokes I */
        if (element ? missing & element : missing != 15 && missing & 9)
            return grove_node_fail(
                node, GROVE_SHAPE,
                "the visibilities come from a set without %s, which this set has",
                !element || missing == 15 ? "correlations of this kind"
                : element == 8            ? names[3]
                                          : names[element / 2]);
    }
    return 0;
}

/* A new set also has a bit of flags for each number, rows of coordinates and two stations, and
 * perhaps weights; DATA is made besides another column. A column of a set that exists has no flags.
 */
static void add_bytes(const grove_node *node, const sink_state *sink, grove_target *target)
{
    const int64_t rows = rows_of(node, sink);
    const int own = grove_node_observation(grove_node_object(node, "obs"))->correlation_count;
    int correlations, codes[4];

    sink_correlations(node, &correlations, codes);
    if (sink->existing) {
        target->bytes =
            (uint64_t)(rows * sink->freq->size * own) * (grove_node_given(node, "weight") ? 12 : 8);
        return;
    }
    uint64_t numbers = (uint64_t)(rows * sink->freq->size * correlations);
    bool weights = grove_node_given(node, "weight") || own == correlations;
    bool data = !strcmp(grove_node_text(node, "column"), "DATA");
    target->bytes = numbers * 8;
    target->common_bytes =
        (data ? 0 : numbers * 8) + numbers / 8 + (weights ? numbers * 4 : 0) + (uint64_t)rows * 32;
}

static int set_target(grove_node *node, const sink_state *sink)
{
    static const char *const names[] = {"",    " I",  "",    "",    "",    " RR", " RL",
                                        " LR", " LL", " XX", " XY", " YX", " YY"};
    char format[48] = "the correlations";
    int count, codes[4];
    bool replaces = !sink->existing || grove_node_choice(node, "mode") == 0;
    grove_target target = {.path = sink->path,
                           .part = grove_node_text(node, "column"),
                           .overwrite = !replaces || grove_node_bool(node, "overwrite"),
                           .format = sink->existing ? NULL : format};

    sink_correlations(node, &count, codes);
    for (int i = 0; i < count; i++)
        strcat(format, names[codes[i]]);
    add_bytes(node, sink, &target);
    return grove_node_set_target(node, &target);
}

/* A folder with the files that any set has. */
static bool may_be_set(const char *path)
{
    char *table = grove_path_join(path, "table.dat"), *antennas = grove_path_join(path, "ANTENNA");
    bool may = grove_path_exists(table) && grove_path_is_folder(antennas);

    free(table);
    free(antennas);
    return may;
}

/* Optional columns of a set, in which other programs and Grove look for real numbers. */
static bool is_of_real_numbers(const char *column)
{
    static const char *const names[] = {"WEIGHT_SPECTRUM", "SIGMA_SPECTRUM",
                                        "CORRECTED_WEIGHT_SPECTRUM", "IMAGING_WEIGHT",
                                        "FLOAT_DATA"};

    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
        if (!strcmp(column, names[i]))
            return true;
    return false;
}

/* Raw data are not replaced unasked. */
static int check_column(grove_node *node, const sink_state *sink)
{
    const char *column = grove_node_text(node, "column");
    const grove_node *obs = grove_node_object(node, "obs");
    const char *read = grove_node_observation(obs)->column;

    if (!column[0])
        return grove_node_fail_option(node, "column", "the name is empty");
    if (is_of_real_numbers(column))
        return grove_node_fail_option(node, "column",
                                      "in Measurement Sets %s has real numbers, not visibilities; "
                                      "write another column",
                                      column);
    if (sink->existing && read && !strcmp(column, read) && grove_node_choice(node, "mode") == 0 &&
        !grove_node_bool(node, "overwrite"))
        return grove_node_fail_option(node, "column",
                                      "%s is read by '%s', and would be lost; write another "
                                      "column, or give sink overwrite=true",
                                      column, grove_node_name(obs));
    return 0;
}

int sink_check(grove_node *node)
{
    sink_state *sink = grove_alloc(sizeof(*sink));
    int code = 0;

    grove_node_set_user(node, sink);
    if ((code = find_axes(node, sink)) || (code = check_units(node)) ||
        (code = find_target(node, sink)) || (code = check_column(node, sink)))
        return code;
    if (!sink->existing && !sink->discard && grove_node_choice(node, "mode") != 0)
        return grove_node_fail_option(
            node, "mode", "'%s' needs a column that exists; %s is a new Measurement Set",
            grove_node_text(node, "mode"), sink->path);
    if (grove_node_input_axis(node, SINK_WEIGHT, GROVE_AXIS_SOURCE) ||
        grove_node_input_axis(node, SINK_WEIGHT, GROVE_AXIS_STATION))
        return grove_node_fail_option(node, "weight",
                                      "weights vary along time, baseline and freq only");
    if (sink->existing) {
        grove_node_drop_input(node, SINK_UVW); /* the set has its own */
        if ((code = check_correlations(node)))
            return code;
    }
    const char *order = grove_node_property(grove_node_object(node, "obs"), "order");
    if (sink->existing && order)
        grove_node_add_property(node, "order", order);
    if (sink->discard) {
        grove_node_leave_rows(node, "obs");
        return 0;
    }
    if (!sink->existing && grove_node_bool(node, "overwrite") && grove_path_exists(sink->path) &&
        !may_be_set(sink->path))
        return grove_node_fail_option(
            node, "to", "%s exists and is not a Measurement Set; it is not replaced", sink->path);
    grove_node_set_memory(node, memory_of(node, sink));
    return set_target(node, sink);
}
