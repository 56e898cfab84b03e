/* sink: writes visibilities into a Measurement Set, or discards them (to="null"). */
#include "facts.h"
#include "plugin.h"

#include "nodes/sets/correlations.h"
#include "nodes/sets/measurement_set.h"
#include "nodes/sets/sink.h"
#include "util.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* State of one run. */
typedef struct {
    grove_ms *ms;           /* NULL: nothing is written */
    grove_ms *from;         /* a new set has the weights of this one; NULL: there is none */
    bool leads;             /* writes weights and coordinates: one of the sinks that make a set */
    grove_correlations map; /* of the set's correlations to the cell's elements */
    long long nonfinite;    /* numbers that are not finite and not flagged */
    long long numbers;
    bool nonzero; /* one that is not flagged is */
    float *data;  /* [room] complex numbers that are being written, and their flags */
    unsigned char *flag;
    size_t room;
    bool incomplete;        /* rows are missing; of a block: */
    unsigned char *missing; /* [time][baseline] 1 where there is none; NULL: none is missing */
} sink_run;

static const grove_port inputs[] = {
    {"visibilities", GROVE_VALUE,
     "visibilities to write: a scalar, diagonal or matrix along time, baseline and freq, Jy",
     .handing = GROVE_AS_SINGLE_COMPLEX, .shapes = GROVE_JONES},
    {"obs", GROVE_OBJECT, "the observation that the visibilities belong to",
     .object = "observation"},
    {0},
};

static const grove_port options[] = {
    {"to", GROVE_TEXT,
     "path of the Measurement Set, a new one or the set of obs; when not given, the set of obs; "
     "\"null\" computes all values for such a set, and writes nothing; to=none removes the action",
     .initial = "none"},
    {"column", GROVE_TEXT, "column to write; it is created if necessary", .initial = "\"DATA\""},
    {"mode", GROVE_CHOICE,
     "with an existing column: replace its content, add to it or subtract from it",
     .initial = "replace", .choices = "replace add subtract"},
    {"flags", GROVE_CHOICE,
     "in an existing set: keep its FLAG, which all columns share, or write the flags of the "
     "visibilities there",
     .initial = "keep", .choices = "keep write"},
    {"overwrite", GROVE_BOOL,
     "replace an existing Measurement Set with this name; in the set of obs, a column that the "
     "tree reads",
     .initial = "false"},
    {"uvw", GROVE_VALUE_LENGTH, "baseline coordinates for the UVW column of a new set, m",
     .initial = "obs.uvw", .handing = GROVE_AS_DOUBLE, .shapes = GROVE_VECTOR, .vector = 3},
    {"weight", GROVE_VALUE,
     "weights, such as 2 * obs.channel_width * obs.interval / sefd^2; none: a new set has the "
     "weights of the set that obs was read from, else 1; an existing set keeps its own, which all "
     "columns share",
     .initial = "none", .handing = GROVE_AS_DOUBLE, .shapes = GROVE_JONES},
    {0},
};

/* Metadata of the set from which obs was read that obs does not have. */
static void take_metadata(grove_ms_layout *layout, const grove_ms_layout *from)
{
    free(layout->field_name);
    layout->field_name = grove_strdup(from->field_name ? from->field_name : "");
    memcpy(layout->manager, from->manager, sizeof(layout->manager));
    memcpy(layout->tile, from->tile, sizeof(layout->tile));
    for (int i = 0; i < layout->station_count && i < from->station_count; i++)
        memcpy(layout->stations[i].mount, from->stations[i].mount,
               sizeof(layout->stations[i].mount));
}

static bool same_correlations(const grove_ms_layout *a, const grove_ms_layout *b)
{
    return a->correlations == b->correlations &&
           !memcmp(a->correlation, b->correlation, (size_t)a->correlations * sizeof(int));
}

/* The casacore layout of the observation; the caller frees with grove_ms_layout_free. */
static grove_ms_layout *make_layout(const grove_node *node, const sink_state *sink)
{
    const grove_node *obs = grove_node_object(node, "obs");
    const grove_axis *station = grove_node_axis(obs, "station");
    const double *position = grove_node_member_data(obs, "position");
    const double *centre = grove_node_member_data(obs, "phase_centre");
    const double *diameter = grove_node_member_data(obs, "station_diameter");
    const double *scan = grove_node_member_data(obs, "scan");
    const char *telescope = grove_node_observation(obs)->telescope;
    grove_ms_layout *layout = grove_alloc(sizeof(*layout));
    size_t n = (size_t)sink->baseline->size;

    layout->station_count = (int)station->size;
    layout->stations = grove_alloc((size_t)station->size * sizeof(grove_station));
    for (int64_t i = 0; i < station->size; i++) {
        grove_station *to = &layout->stations[i];
        to->name = grove_strdup(station->labels ? station->labels[i] : "");
        memcpy(to->position, position + 3 * i, sizeof(to->position));
        to->diameter = diameter ? diameter[i] : 0;
        strcpy(to->mount, "ALT-AZ");
    }
    layout->telescope = grove_strdup(telescope ? telescope : "GROVE");
    layout->field_name = grove_strdup("field");
    memcpy(layout->phase_centre, centre, sizeof(layout->phase_centre));
    layout->times = sink->time->size;
    layout->time = grove_copy(sink->time->centre, (size_t)layout->times * sizeof(double));
    layout->interval = grove_copy(sink->time->width, (size_t)layout->times * sizeof(double));
    layout->scan = scan ? grove_alloc((size_t)layout->times * sizeof(int)) : NULL;
    for (int64_t t = 0; scan && t < layout->times; t++)
        layout->scan[t] = (int)scan[t];
    layout->channels = sink->freq->size;
    layout->frequency = grove_copy(sink->freq->centre, (size_t)layout->channels * sizeof(double));
    layout->channel_width =
        grove_copy(sink->freq->width, (size_t)layout->channels * sizeof(double));
    layout->baselines = sink->baseline->size;
    layout->antenna1 = grove_alloc(n * sizeof(int));
    layout->antenna2 = grove_alloc(n * sizeof(int));
    for (size_t b = 0; b < n; b++) {
        layout->antenna1[b] = sink->baseline->left[b];
        layout->antenna2[b] = sink->baseline->right[b];
        layout->autocorrelations |= layout->antenna1[b] == layout->antenna2[b];
    }
    sink_correlations(node, &layout->correlations, layout->correlation);
    return layout;
}

static int fail_with(const grove_node *node, int code, grove_error *error)
{
    const char *message = grove_error_message(error, 0);

    grove_node_fail(node, code, "%s", message ? message : "writing failed");
    grove_error_free(error);
    return code < 0 ? code : GROVE_IO;
}

/* Which part of its set the observation is. */
static grove_ms_part part_of(const grove_node *node)
{
    const grove_observation_facts *facts = grove_node_observation(grove_node_object(node, "obs"));

    return (grove_ms_part){.field = facts->field,
                           .spectral_window = facts->spectral_window,
                           .polarization = facts->polarization + 1,
                           .cross_only = facts->cross_only};
}

static int begin_existing(const grove_call *call, sink_run *run, grove_error *error)
{
    const grove_node *node = call->node;
    const sink_state *sink = grove_node_user(node);
    grove_ms_part part = part_of(node);
    static const grove_ms_mode modes[] = {GROVE_MS_REPLACE, GROVE_MS_ADD, GROVE_MS_SUBTRACT};

    run->ms = grove_ms_open_writable(sink->path, &part, grove_call_record(call), error);
    if (!run->ms)
        return grove_error_code(error);
    int code = grove_ms_prepare(run->ms, grove_node_text(node, "column"),
                                modes[grove_node_choice(node, "mode")], error);
    if (!code && grove_node_choice(node, "flags"))
        code = grove_ms_prepare_flags(run->ms, error);
    run->leads = grove_node_given(node, "weight");
    return !code && run->leads ? grove_ms_prepare_weights(run->ms, error) : code;
}

static int begin_new(const grove_call *call, sink_run *run, grove_error *error)
{
    const grove_node *node = call->node;
    const sink_state *sink = grove_node_user(node);
    const char *path = grove_node_property(grove_node_object(node, "obs"), "path");
    grove_ms_part part = path ? part_of(node) : (grove_ms_part){0};

    if (path && !(run->from = grove_ms_open(path, &part, error)))
        return grove_error_code(error);
    grove_ms_layout *layout = make_layout(node, sink);
    const grove_ms_layout *from = run->from ? grove_ms_layout_of(run->from) : NULL;
    bool given = grove_node_given(node, "weight");
    if (from)
        take_metadata(layout, from);
    layout->weights = given || (from && same_correlations(layout, from));
    if (from && !layout->weights)
        grove_node_warn(node,
                        "the weights of %s belong to other correlations, and are not written; "
                        "weight=... gives others",
                        path);
    run->ms = grove_ms_create(sink->path, layout, run->from, grove_node_text(node, "column"),
                              grove_node_bool(node, "overwrite"), grove_call_record(call), error);
    if (run->from && (given || !layout->weights)) {
        grove_ms_close(run->from);
        run->from = NULL;
    }
    grove_ms_layout_free(layout);
    run->leads = run->ms && grove_ms_leads(run->ms);
    return run->ms ? 0 : grove_error_code(error);
}

static int start(const grove_node *node, void **run)
{
    (void)node;
    *run = grove_alloc(sizeof(sink_run));
    return 0;
}

static void stop(const grove_node *node, void *user)
{
    sink_run *run = user;

    (void)node;
    free(run->data);
    free(run->flag);
    free(run);
}

static void abort_run(const grove_call *call)
{
    sink_run *run = call->run;

    if (run->ms)
        grove_ms_abort(run->ms);
    if (run->from)
        grove_ms_close(run->from);
    run->ms = run->from = NULL;
}

static int begin(const grove_call *call)
{
    const grove_node *node = call->node;
    const sink_state *sink = grove_node_user(node);
    sink_run *run = call->run;
    int shape = grove_node_input_form(node, SINK_VISIBILITIES)->shape;

    free(run->data);
    free(run->flag);
    *run = (sink_run){0};
    if (sink->discard)
        return 0;
    grove_error *error = grove_error_new();
    int code = sink->existing ? begin_existing(call, run, error) : begin_new(call, run, error);
    if (!code) {
        const grove_ms_layout *layout = grove_ms_layout_of(run->ms);
        run->incomplete = layout->rows < layout->times * layout->baselines;
        grove_ms_set_history(run->ms, grove_node_history(node));
        code = grove_correlations_map(&run->map, layout->correlation, layout->correlations, shape);
        if (code)
            grove_fail(error, code, "%s: its correlations are neither linear nor circular ones",
                       sink->path);
    }
    if (code) {
        abort_run(call);
        return fail_with(node, code, error);
    }
    grove_error_free(error);
    return 0;
}

static grove_range range_of(const grove_array *array, const grove_axis *axis)
{
    for (int d = 0; d < array->axes; d++)
        if (array->range[d].axis == axis)
            return array->range[d];
    return (grove_range){axis, 0, axis->size};
}

/* Strides in cells along time, baseline, freq; 0 where the array does not vary. */
static void strides_of(const grove_array *array, const sink_state *sink, int64_t stride[3])
{
    int64_t step = 1;

    stride[0] = stride[1] = stride[2] = 0;
    for (int d = array->axes - 1; d >= 0; d--) {
        const grove_axis *axis = array->range[d].axis;
        int k = axis == sink->time ? 0 : axis == sink->baseline ? 1 : 2;
        stride[k] = step;
        step *= array->range[d].count;
    }
}

/* Whether this row of a block is missing in the set. */
static bool is_missing(const sink_run *run, const grove_ms_block *block, int64_t slot, int64_t b)
{
    return run->missing && run->missing[slot * block->baselines + b];
}

/* From time slots of the block to the set's correlations. */
static void fill_slots(const sink_state *sink, const sink_run *run, const grove_array *array,
                       const grove_ms_block *block, int64_t first, float *data, unsigned char *flag)
{
    const grove_correlations *map = &run->map;
    const grove_cplx32 *cells = array->data;
    int64_t stride[3], at = 0;

    strides_of(array, sink, stride);
    for (int64_t slot = first; slot < first + block->times; slot++)
        for (int64_t b = 0; b < block->baselines; b++) {
            const int64_t count = is_missing(run, block, slot, b) ? 0 : block->channels;
            for (int64_t f = 0; f < count; f++, at += map->count) {
                int64_t cell = slot * stride[0] + b * stride[1] + f * stride[2];
                grove_correlations_store(map, cells + cell * array->elements,
                                         array->flags ? array->flags[cell] : 0, data + 2 * at,
                                         flag + at);
            }
            at += (block->channels - count) * map->count;
        }
}

/* Flags numbers that are not finite, and counts them. True: there is a flag. */
static bool flag_nonfinite(sink_run *run, const float *data, unsigned char *flag, size_t numbers)
{
    bool any = false;

    for (size_t i = 0; i < numbers; i++) {
        bool finite = isfinite(data[2 * i]) && isfinite(data[2 * i + 1]);
        run->nonfinite += !finite && !flag[i];
        run->nonzero = run->nonzero || (!flag[i] && (data[2 * i] != 0 || data[2 * i + 1] != 0));
        flag[i] |= !finite;
        any = any || flag[i];
    }
    run->numbers += (long long)numbers;
    return any;
}

/* The same of time slots from `first` on. */
static bool flag_slots(sink_run *run, const grove_ms_block *block, int64_t first)
{
    const size_t row = (size_t)(block->channels * run->map.count);
    bool any = false;

    for (int64_t i = 0; i < block->times * block->baselines; i++)
        if (!is_missing(run, block, first, i))
            any |= flag_nonfinite(run, run->data + 2 * row * (size_t)i, run->flag + row * (size_t)i,
                                  row);
    return any;
}

/* Whether cells that are already in the form of the set are finite and not flagged. */
static bool is_plain(sink_run *run, const grove_array *array, int64_t cell, int64_t count)
{
    const size_t numbers = (size_t)(count * run->map.count);
    bool nonfinite, nonzero;

    for (int64_t i = cell; array->flags && i < cell + count; i++)
        if (array->flags[i])
            return false;
    grove_ms_examine((const float *)array->data + 2 * cell * run->map.count, 2 * numbers,
                     &nonfinite, &nonzero);
    if (nonfinite)
        return false;
    run->nonzero = run->nonzero || nonzero;
    return true;
}

/* A time slot's numbers if they are in the form of the set: its rows are plain. Else NULL. */
static const float *plain_slot(const sink_state *sink, sink_run *run, const grove_array *array,
                               const grove_ms_block *block, int64_t slot)
{
    const int64_t cells = block->baselines * block->channels;
    int64_t stride[3], rows = 0, step = run->missing ? 1 : block->baselines;

    strides_of(array, sink, stride);
    if (!grove_correlations_are_cells(&run->map) || stride[0] != cells ||
        stride[1] != block->channels || stride[2] != 1)
        return NULL;
    for (int64_t b = 0; b < block->baselines; b += step) {
        if (is_missing(run, block, slot, b))
            continue;
        if (!is_plain(run, array, slot * cells + b * block->channels, step * block->channels))
            return NULL;
        rows += step;
    }
    run->numbers += (long long)(rows * block->channels * run->map.count);
    return (const float *)array->data + 2 * slot * cells * run->map.count;
}

/* Numbers and flags of time slots that are not as the set is to have them. */
static int make_room(sink_run *run, size_t numbers, grove_error *error)
{
    if (numbers <= run->room)
        return 0;
    free(run->data);
    free(run->flag);
    run->room = 0;
    run->data = grove_try_alloc(2 * numbers, sizeof(float));
    run->flag = grove_try_alloc(numbers, 1);
    if (!run->data || !run->flag)
        return grove_fail(error, GROVE_NO_MEMORY, "no memory for time slots of %zu numbers",
                          numbers);
    run->room = numbers;
    return 0;
}

/* Slots are written together, so that sets in any order of rows have few pieces. */
static int write_data(const sink_state *sink, sink_run *run, const grove_array *array,
                      grove_ms_block block, grove_error *error)
{
    const size_t slot = (size_t)(block.baselines * block.channels * run->map.count);
    const int64_t slots = block.times, first = block.first_time;
    const int64_t most = (int64_t)(SINK_ROOM / (9 * (slot ? slot : 1))) + 1;
    int code = 0;

    for (int64_t t = 0; t < slots && !code; t += block.times) {
        int64_t plain = 0;
        const float *data = NULL;
        while (t + plain < slots) {
            const float *next = plain_slot(sink, run, array, &block, t + plain);
            if (!next)
                break;
            data = data ? data : next;
            plain++;
        }
        bool any = false;
        block.first_time = first + t;
        block.times = plain ? plain : slots - t < most ? slots - t : most;
        if (!plain && !(code = make_room(run, (size_t)block.times * slot, error))) {
            fill_slots(sink, run, array, &block, t, run->data, run->flag);
            any = flag_slots(run, &block, t);
        }
        if (!code)
            code = grove_ms_write_data(run->ms, &block, data ? data : run->data,
                                       any ? run->flag : NULL, error);
    }
    return code;
}

/* The weight of the set's correlation c, from a cell of any shape. */
static double weight_of(const grove_correlations *map, const grove_array *array, int64_t cell,
                        int c)
{
    const double *from = (const double *)array->data + cell * array->elements;
    int e = map->element[c] < 0 ? 0 : map->element[c];

    if (array->elements == 4)
        return from[e];
    if (array->elements == 2)
        return e == 0 ? from[0] : e == 3 ? from[1] : sqrt(from[0] * from[1]);
    return from[0];
}

static void fill_weights(const sink_state *sink, const grove_correlations *map,
                         const grove_array *array, const grove_ms_block *block, int64_t slot,
                         float *weight)
{
    int64_t stride[3];

    strides_of(array, sink, stride);
    for (int64_t b = 0; b < block->baselines; b++)
        for (int64_t f = 0; f < block->channels; f++)
            for (int c = 0; c < map->count; c++) {
                double x =
                    weight_of(map, array, slot * stride[0] + b * stride[1] + f * stride[2], c);
                *weight++ = isfinite(x) ? (float)x : 0;
            }
}

/* Writes the given weights, else the weights of the set from which obs was read. */
static int write_weights(const sink_state *sink, sink_run *run, const grove_array *array,
                         grove_ms_block block, grove_error *error)
{
    size_t numbers = (size_t)(block.baselines * block.channels * run->map.count);
    float *weight = grove_try_alloc(numbers, sizeof(float));
    int64_t slots = block.times;
    int code =
        weight ? 0 : grove_fail(error, GROVE_NO_MEMORY, "no memory for %zu weights", numbers);

    block.times = 1;
    for (int64_t t = 0; t < slots && !code; t++, block.first_time++) {
        if (run->from)
            code = grove_ms_read_weight(run->from, &block, weight, error);
        else
            fill_weights(sink, &run->map, array, &block, t, weight);
        if (!code)
            code = grove_ms_write_weight(run->ms, &block, weight, error);
    }
    free(weight);
    return code;
}

/* Sets run->missing for a block, if rows of the set are missing. */
static int find_missing(sink_run *run, const grove_ms_block *block, grove_error *error)
{
    if (!run->incomplete)
        return 0;
    run->missing = grove_try_alloc((size_t)block->times, (size_t)block->baselines);
    return run->missing ? grove_ms_find_missing(run->ms, block, run->missing, error)
                        : grove_fail(error, GROVE_NO_MEMORY, "no memory for a list of rows");
}

static int write(const grove_call *call, const grove_array *const *arrays, int count)
{
    const grove_node *node = call->node;
    const sink_state *sink = grove_node_user(node);
    const grove_array *array = arrays[SINK_VISIBILITIES];
    sink_run *run = call->run;
    grove_range t = range_of(array, sink->time), b = range_of(array, sink->baseline);
    grove_range f = range_of(array, sink->freq);
    grove_ms_block block = {t.first, t.count, b.first, b.count, f.first, f.count};

    if (sink->discard)
        return 0;
    grove_error *error = grove_error_new();
    int code = find_missing(run, &block, error);
    if (!code)
        code = write_data(sink, run, array, block, error);
    free(run->missing);
    run->missing = NULL;
    if (!code && run->leads && count > SINK_UVW && arrays[SINK_UVW]->data && f.first == 0)
        code = grove_ms_write_uvw(run->ms, &block, arrays[SINK_UVW]->data, error);
    if (!code && run->leads && (run->from || (count > SINK_WEIGHT && arrays[SINK_WEIGHT]->data)))
        code = write_weights(sink, run, arrays[SINK_WEIGHT], block, error);
    if (code)
        return fail_with(node, code, error);
    grove_error_free(error);
    return 0;
}

static void warn(const grove_node *node, const sink_run *run)
{
    const sink_state *sink = grove_node_user(node);

    if (run->nonfinite)
        grove_node_warn(
            node, "%lld of %lld numbers are not finite; %s", run->nonfinite, run->numbers,
            !sink->existing || grove_node_choice(node, "flags") ? "they are written, and flagged"
            : grove_ms_has_flags_written(run->ms)
                ? "they are written; another sink of this run writes their flags"
                : "they are written, and the set's flags are unchanged; flags=write flags them");
    if (run->numbers && !run->nonzero)
        grove_node_warn(node, "all numbers are zero or flagged");
}

static int prepare(const grove_call *call)
{
    const grove_node *node = call->node;
    sink_run *run = call->run;

    if (run->ms)
        warn(node, run);
    grove_error *error = grove_error_new();
    int code = run->ms ? grove_ms_settle(run->ms, error) : 0;

    if (code)
        return fail_with(node, code, error);
    grove_error_free(error);
    return 0;
}

static int commit(const grove_call *call)
{
    sink_run *run = call->run;
    grove_error *error = grove_error_new();
    int code = run->ms ? grove_ms_finish(run->ms, error) : 0;

    if (run->from)
        grove_ms_close(run->from);
    run->ms = run->from = NULL;
    if (code)
        return fail_with(call->node, code, error);
    grove_error_free(error);
    return 0;
}

static void close_node(grove_node *node)
{
    free(grove_node_user(node));
    grove_node_set_user(node, NULL);
}

static const grove_action_functions functions = {
    .begin = begin, .write = write, .prepare = prepare, .commit = commit, .abort = abort_run};

GROVE_CLASS(sink) = {
    GROVE_CLASS_HEAD(sink),
    .doc =
        "Writes visibilities into a Measurement Set: a new one, or a column of one that exists.\nA "
        "new set is complete and gets its name when the run ends successfully; an existing column "
        "is replaced in one step at the end, so that a run that dies leaves it unchanged. A scalar "
        "is multiplied by the identity matrix. Numbers that are not finite are flagged in a new "
        "set, or with flags=write, and counted in a warning. Sinks of one run that write different "
        "columns of one new set create it together: they need the same obs, weight, uvw, overwrite "
        "and number of correlations; samples that are flagged in any of the columns are flagged.",
    .output_doc = "an action: runs when the tree runs",
    .group = "actions",
    .inputs = inputs,
    .options = options,
    .kind = GROVE_CLASS_ACTION,
    .serial_io = true,
    .check = sink_check,
    .start = start,
    .stop = stop,
    .action = &functions,
    .close = close_node,
    .example = "write = sink(V, obs, to=\"simulated.ms\", column=\"DATA\")",
};
