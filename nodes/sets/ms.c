/* ms: an observation and its data from a Measurement Set. */
#include "facts.h"
#include "plugin.h"
#include "unstable/fit.h"

#include "nodes/common/observation.h"
#include "nodes/sets/correlations.h"
#include "nodes/sets/measurement_set.h"
#include "nodes/sets/station_fit.h"
#include "util.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct {
    grove_ms *ms;
    grove_observation *observation;
    grove_correlations map;
    int shape;
    bool warned; /* of samples that are not finite */
} ms_state;

static const grove_port options[] = {
    {"path", GROVE_FILE, "the Measurement Set"},
    {"column", GROVE_TEXT, "column that the member data is read from", .initial = "\"DATA\""},
    {"field", GROVE_INTEGER, "which field, as numbered in the FIELD table", .initial = "0"},
    {"spectral_window", GROVE_INTEGER,
     "which spectral window, as numbered in the SPECTRAL_WINDOW table", .initial = "0"},
    {"polarization", GROVE_INTEGER,
     "which polarization, as numbered in the POLARIZATION table, of rows that have several, such "
     "as "
     "RR in one and LL in the other; none: the only one",
     .initial = "none"},
    {"autocorrelations", GROVE_BOOL,
     "include baselines of a station with itself; false: they are neither read, computed nor "
     "written",
     .initial = "true"},
    {0},
};

static double *copy_doubles(const double *from, int64_t count)
{
    return grove_copy(from, (size_t)(count ? count : 1) * sizeof(double));
}

static void take_stations(grove_observation *o, const grove_ms_layout *layout)
{
    size_t n = (size_t)layout->station_count;

    o->stations = layout->station_count;
    o->names = grove_alloc((n + 1) * sizeof(char *));
    o->position = grove_alloc((3 * n + 1) * sizeof(double));
    o->diameter = grove_alloc((n + 1) * sizeof(double));
    for (size_t i = 0; i < n; i++) {
        const grove_station *station = &layout->stations[i];
        o->names[i] = grove_strdup(station->name ? station->name : "");
        memcpy(o->position + 3 * i, station->position, sizeof(station->position));
        o->diameter[i] = station->diameter;
    }
}

static grove_observation *take_layout(const grove_ms_layout *layout)
{
    grove_observation *o = grove_alloc(sizeof(*o));

    take_stations(o, layout);
    o->times = layout->times;
    o->time = copy_doubles(layout->time, layout->times);
    o->interval = copy_doubles(layout->interval, layout->times);
    o->scan = grove_alloc((size_t)(layout->times + 1) * sizeof(double));
    for (int64_t i = 0; i < layout->times; i++)
        o->scan[i] = layout->scan[i];
    o->channels = layout->channels;
    o->freq = copy_doubles(layout->frequency, layout->channels);
    o->channel_width = copy_doubles(layout->channel_width, layout->channels);
    o->baselines = layout->baselines;
    o->left = grove_alloc((size_t)(layout->baselines + 1) * sizeof(int32_t));
    o->right = grove_alloc((size_t)(layout->baselines + 1) * sizeof(int32_t));
    for (int64_t b = 0; b < layout->baselines; b++) {
        o->left[b] = layout->antenna1[b];
        o->right[b] = layout->antenna2[b];
    }
    memcpy(o->phase_centre, layout->phase_centre, sizeof(o->phase_centre));
    grove_observation_place(o);
    o->circular = grove_correlations_circular(layout->correlation, layout->correlations);
    return o;
}

/* Each column of visibilities is a member: column(MODEL_DATA). */
static int add_columns(grove_node *node, const grove_ms *ms, const grove_form *data)
{
    char **names = grove_ms_data_columns(ms);
    int code = 0;

    for (char **name = names; *name; name++) {
        char *member = grove_format("column(%s)", *name), *part = grove_format("part(%s)", member);
        if (!code)
            code = grove_node_add_member(node, member, "time baseline freq", data, NULL,
                                         "visibilities of that column, Jy, with the set's flags");
        grove_node_add_property(node, part, *name);
        free(part);
        free(member);
        free(*name);
    }
    free(names);
    return code;
}

static int add_data_members(grove_node *node, const grove_ms *ms, int shape)
{
    grove_form data = {.shape = shape,
                       .complex_ = true,
                       .precision = GROVE_PRECISION_SINGLE,
                       .unit = GROVE_UNIT_FLUX,
                       .flags = true};
    grove_form weight = {.shape = shape, .precision = GROVE_PRECISION_SINGLE};
    grove_form missing = {
        .shape = GROVE_SCALAR, .precision = GROVE_PRECISION_SINGLE, .flags = true};
    const grove_ms_layout *layout = grove_ms_layout_of(ms);
    int code = grove_node_add_member(node, "data", "time baseline freq", &data, NULL,
                                     "the column's visibilities, Jy, with their flags");

    if (!code)
        code = grove_node_add_member(node, "weight", "time baseline freq", &weight, NULL,
                                     "weights of the visibilities");
    if (!code && layout->rows < layout->times * layout->baselines)
        code = grove_node_add_member(node, "missing", "time baseline", &missing, NULL,
                                     "0, flagged where the set has no row");
    return code ? code : add_columns(node, ms, &data);
}

static void add_text(grove_node *node, const char *name, const char *format, ...)
{
    grove_text text = {0};
    va_list args;

    va_start(args, format);
    grove_text_add_v(&text, format, args);
    va_end(args);
    grove_node_add_property(node, name, text.at);
    free(text.at);
}

/* Says how far coordinates are from differences of stations', by the time in the middle. Fits of
 * very many stations would take too long here. */
static void find_misclosure(ms_state *state, grove_observation_facts *facts)
{
    enum { MANY = 100 };
    const grove_observation *o = state->observation;
    grove_ms_block block = {o->times / 2, 1, 0, o->baselines, 0, 1};
    grove_error *error = grove_error_new();
    size_t baselines = (size_t)o->baselines + 1;
    double *uvw = grove_try_alloc(4 * baselines, sizeof(double));
    double *station = grove_try_alloc((size_t)o->stations * 3 + 1, sizeof(double));
    double found = -1;

    if (uvw && station && o->stations <= MANY && o->times &&
        !grove_ms_read_uvw(state->ms, &block, uvw, error))
        found = grove_station_misclosure(uvw, o->left, o->right, o->baselines, o->stations, station,
                                         uvw + 3 * baselines);
    facts->uvw_compared = found >= 0;
    facts->uvw_misclosure = fmax(found, 0);
    free(uvw);
    free(station);
    grove_error_free(error);
}

/* Of a set with several intervals at a time, how many slots its rows make. */
static void note_slots(grove_node *node, const grove_ms_layout *layout)
{
    double least = INFINITY, most = 0, end = -INFINITY;
    bool over = false;

    for (int64_t t = 0; t < layout->times; t++) {
        const double half = layout->interval[t] / 2;
        over = over || layout->time[t] < end;
        least = fmin(least, 2 * half);
        most = fmax(most, 2 * half);
        end = fmax(end, layout->time[t] + half * (1 - 1e-3));
    }
    if (!over || most - least <= 1e-3)
        return;
    const double cells = (double)layout->times * (double)layout->baselines;
    grove_node_note(node,
                    "%lld rows with intervals of %g to %g s make %lld slots of one time and "
                    "interval, which have rows for %.3g %% of %lld baselines",
                    (long long)layout->rows, least, most, (long long)layout->times,
                    100 * (double)layout->rows / cells, (long long)layout->baselines);
    if ((double)layout->rows < 0.02 * cells)
        grove_node_warn(node,
                        "%s has so many intervals that its %lld slots of time and interval have "
                        "few rows; all baselines of a slot take memory and time",
                        grove_node_text(node, "path"), (long long)layout->times);
}

/* Says which of the set's rows a tree may leave unread. */
static void add_unread(grove_node *node, const grove_ms_layout *layout)
{
    const char *path = grove_node_text(node, "path");
    grove_text text = {0};

    if (layout->selections < 2)
        return;
    const bool several[] = {layout->fields > 1, layout->windows > 1, layout->polarizations > 1};
    const int kinds = several[0] + several[1] + several[2];
    grove_text_add(&text, "%s has rows of ", path);
    if (several[0])
        grove_text_add(&text, "%d fields%s", layout->fields,
                       kinds == 3                 ? ", "
                       : several[1] || several[2] ? " and "
                                                  : "");
    if (several[1])
        grove_text_add(&text, "%d spectral windows%s", layout->windows, several[2] ? " and " : "");
    if (several[2])
        grove_text_add(&text, "%d polarizations", layout->polarizations);
    grove_text_add(&text, "; each ms reads one%s", kinds > 1 ? " of each" : "");
    if (several[0] || several[1])
        grove_text_add(&text, ", %s%s%s if none is given", several[0] ? "field=0" : "",
                       several[0] && several[1] ? " and " : "",
                       several[1] ? "spectral_window=0" : "");
    grove_node_add_property(node, "unread", text.at);
    char *real = realpath(path, NULL); /* however it is spelt */
    grove_node_add_property(node, "unread_of", real ? real : path);
    free(real);
    free(text.at);
}

static int set_facts(grove_node *node, ms_state *state)
{
    const grove_ms_layout *layout = grove_ms_layout_of(state->ms);
    const double cells = (double)layout->times * (double)layout->baselines;
    grove_observation_facts facts =
        GROVE_OBSERVATION_FACTS(.telescope = layout->telescope ? layout->telescope : "",
                                .column = grove_node_text(node, "column"),
                                .field = grove_node_integer(node, "field"),
                                .spectral_window = grove_node_integer(node, "spectral_window"),
                                .polarization = layout->polarization,
                                .selections = layout->selections,
                                .cross_only = !grove_node_bool(node, "autocorrelations"),
                                .rows = layout->rows,
                                .rows_share = fmin((double)layout->rows / fmax(cells, 1), 1),
                                .runs_share = fmin((double)layout->runs / fmax(cells, 1), 1),
                                .correlation_count = layout->correlations);

    memcpy(facts.correlations, layout->correlation,
           (size_t)layout->correlations * sizeof(*facts.correlations));
    find_misclosure(state, &facts);
    return grove_node_set_observation(node, &facts);
}

static int describe(grove_node *node, ms_state *state)
{
    const grove_ms_layout *layout = grove_ms_layout_of(state->ms);
    const char *path = grove_node_text(node, "path");

    state->observation = take_layout(layout);
    state->shape = grove_correlations_shape(layout->correlation, layout->correlations);
    if (!state->shape || grove_correlations_map(&state->map, layout->correlation,
                                                layout->correlations, state->shape))
        return grove_node_fail(
            node, GROVE_INVALID,
            "%s: its correlations are neither linear (XX..YY), circular (RR..LL) nor I", path);
    grove_node_add_property(node, "path", path);
    grove_node_add_property(node, "part(data)", grove_node_text(node, "column"));
    add_text(node, "selection", "field %lld, spectral window %lld, polarization %d",
             (long long)grove_node_integer(node, "field"),
             (long long)grove_node_integer(node, "spectral_window"), layout->polarization);
    add_unread(node, layout);
    if (layout->frequency_frame[0])
        grove_node_warn(node,
                        "%s: its frequencies are in the frame %s, and are used unchanged; they "
                        "differ by about 1e-4 from the frequencies at the telescope",
                        path, layout->frequency_frame);
    grove_node_set_missing_elements(
        node, grove_correlations_missing(layout->correlation, layout->correlations));
    if (layout->by_baseline)
        grove_node_add_property(node, "order", "baseline");
    grove_node_add_identity(node, path);
    char **tables = grove_ms_tables(state->ms);
    for (size_t i = 0; tables[i]; i++)
        grove_node_add_identity(node, tables[i]);
    grove_folder_free(tables);
    note_slots(node, layout);
    int code = set_facts(node, state);
    if (!code)
        code = grove_observation_publish(node, state->observation);
    return code ? code : add_data_members(node, state->ms, state->shape);
}

static int open_set(grove_node *node)
{
    ms_state *state = grove_alloc(sizeof(*state));
    grove_error *error = grove_error_new();
    int code = 0;

    grove_node_set_user(node, state);
    grove_ms_part part = {.field = grove_node_integer(node, "field"),
                          .spectral_window = grove_node_integer(node, "spectral_window"),
                          .cross_only = !grove_node_bool(node, "autocorrelations")};
    if (grove_node_given(node, "polarization")) {
        const int64_t number = grove_node_integer(node, "polarization");
        part.polarization = number < 0 || number == INT64_MAX ? -1 : number + 1;
    }
    state->ms = grove_ms_open(grove_node_text(node, "path"), &part, error);
    if (!state->ms)
        code = grove_node_fail(node, grove_error_code(error), "%s", grove_error_message(error, 0));
    grove_error_free(error);
    if (code)
        return code;
    grove_node_set_memory(node, grove_ms_bytes(state->ms));
    return describe(node, state);
}

static grove_ms_block block_of(const grove_array *out)
{
    grove_range t = grove_observation_range(out, GROVE_AXIS_TIME);
    grove_range b = grove_observation_range(out, GROVE_AXIS_BASELINE);
    grove_range f = grove_observation_range(out, GROVE_AXIS_FREQ);

    return (grove_ms_block){t.first, t.count, b.first, b.count, f.first, f.count, out->rows_unread};
}

static void warn_of_nonfinite_samples(const grove_node *node, ms_state *state, const char *column)
{
    if (state->warned || !grove_ms_nonfinite_samples(state->ms))
        return;
    state->warned = true;
    grove_node_warn(node,
                    "%s: column %s has samples that are not finite and not flagged, %lld in "
                    "the first part that has some; they count as flagged, and are 0 where they "
                    "are written",
                    grove_node_text(node, "path"), column,
                    (long long)grove_ms_nonfinite_samples(state->ms));
}

/* For each row of the block whether it is missing in the set; or NULL: all are to be converted. */
static int find_unread(const ms_state *state, const grove_ms_block *block, unsigned char **missing,
                       grove_error *error)
{
    *missing = NULL;
    if (!block->rows_unread)
        return 0;
    *missing = grove_try_alloc((size_t)(block->times * block->baselines) + 1, 1);
    return *missing ? grove_ms_find_missing(state->ms, block, *missing, error)
                    : grove_fail(error, GROVE_NO_MEMORY, "no memory for flags of rows");
}

/* The set's numbers into cells of another order. */
static int convert_data(ms_state *state, const char *column, grove_array *out, grove_error *error)
{
    size_t corrs = (size_t)state->map.count, cells = (size_t)out->cells;
    float *data = grove_try_alloc(cells * corrs + 1, 2 * sizeof(float));
    unsigned char *flag = grove_try_alloc(cells * corrs + 1, 1);
    grove_ms_block block = block_of(out);
    grove_cplx32 *to = out->data;
    unsigned char dropped, *missing = NULL;
    int code;

    if (!data || !flag)
        code = grove_fail(error, GROVE_NO_MEMORY, "no memory for %zu visibilities", cells * corrs);
    else
        code = grove_ms_read_data(state->ms, column, &block, data, flag, error);
    if (!code)
        code = find_unread(state, &block, &missing, error);
    for (size_t i = 0; i < cells && !code; i++)
        if (!missing || !missing[i / (size_t)block.channels])
            grove_correlations_load(&state->map, data + 2 * corrs * i, flag + corrs * i,
                                    to + (size_t)out->elements * i,
                                    out->flags ? &out->flags[i] : &dropped);
    free(missing);
    free(data);
    free(flag);
    return code;
}

static int read_data(const grove_node *node, ms_state *state, const char *column, grove_array *out,
                     grove_error *error)
{
    grove_ms_block block = block_of(out);
    int code = grove_correlations_are_cells(&state->map)
                   ? grove_ms_read_cells(state->ms, column, &block, out->data, out->flags, error)
                   : convert_data(state, column, out, error);

    if (!code)
        warn_of_nonfinite_samples(node, state, column);
    return code;
}

static int read_weight(ms_state *state, grove_array *out, grove_error *error)
{
    size_t corrs = (size_t)state->map.count, cells = (size_t)out->cells;
    const size_t elements = (size_t)out->elements;
    grove_ms_block block = block_of(out);
    float *weight, *to = out->data;
    unsigned char *missing = NULL;

    if (grove_correlations_are_cells(&state->map))
        return grove_ms_read_weight(state->ms, &block, to, error);
    weight = grove_try_alloc(cells * corrs + 1, sizeof(float));
    int code = weight
                   ? grove_ms_read_weight(state->ms, &block, weight, error)
                   : grove_fail(error, GROVE_NO_MEMORY, "no memory for %zu weights", cells * corrs);
    if (!code)
        code = find_unread(state, &block, &missing, error);
    for (size_t i = 0; i < cells && !code; i++) {
        if (missing && missing[i / (size_t)block.channels])
            continue;
        memset(to + i * elements, 0, elements * sizeof(float));
        for (size_t k = 0; k < corrs; k++) {
            int element = state->map.element[k] < 0 ? 0 : state->map.element[k];
            int at = state->shape == GROVE_MATRIX     ? element
                     : state->shape == GROVE_DIAGONAL ? element / 3
                                                      : 0;
            to[i * elements + (size_t)at] = weight[i * corrs + k];
        }
    }
    free(missing);
    free(weight);
    return code;
}

/* Reads the UVW column. Missing rows are computed from positions and times, so that there are no
 * NaNs. */
static int read_uvw(ms_state *state, grove_ms_block block, double *uvw, grove_error *error)
{
    const grove_observation *o = state->observation;
    double *station = NULL;
    int code = grove_ms_read_uvw(state->ms, &block, uvw, error);

    for (int64_t i = 0; i < block.times * block.baselines && !code && !block.rows_unread; i++) {
        if (isfinite(uvw[3 * i]))
            continue;
        if (!station) {
            station = grove_try_alloc((size_t)(block.times * o->stations * 3), sizeof(double));
            code = station
                       ? grove_observation_station_uvw(o, block.first_time, block.times, station,
                                                       NULL, error)
                       : grove_fail(error, GROVE_NO_MEMORY, "no memory for station coordinates");
            if (code)
                break;
        }
        int64_t t = i / block.baselines, b = block.first_baseline + i % block.baselines;
        const double *p = station + 3 * (t * o->stations + o->left[b]);
        const double *q = station + 3 * (t * o->stations + o->right[b]);
        for (int k = 0; k < 3; k++)
            uvw[3 * i + k] = p[k] - q[k];
    }
    free(station);
    return code;
}

/* Coordinates of stations from their positions, with mean zero, as fitted coordinates have. */
static int find_model(const grove_observation *o, int64_t time, double *model, grove_error *error)
{
    double mean[3] = {0};
    int code = grove_observation_station_uvw(o, time, 1, model, NULL, error);

    for (int64_t i = 0; i < 3 * o->stations && !code; i++)
        mean[i % 3] += model[i] / (double)o->stations;
    for (int64_t i = 0; i < 3 * o->stations && !code; i++)
        model[i] -= mean[i % 3];
    return code;
}

/* Of a time, from its rows. Where some are missing, positions give the rest: of stations without
 * rows, and of groups of stations that no row connects. model: as many numbers as `all`. */
static int fit_stations(const grove_observation *o, int64_t time, double *uvw, double *model,
                        double *all, grove_error *error)
{
    bool complete = true;

    for (int64_t b = 0; b < o->baselines; b++)
        complete = complete && (isfinite(uvw[3 * b]) || o->left[b] == o->right[b]);
    int code = complete ? 0 : find_model(o, time, model, error);
    for (int64_t b = 0; b < o->baselines && !complete && !code; b++)
        for (int k = 0; k < 3; k++)
            uvw[3 * b + k] -= model[3 * o->left[b] + k] - model[3 * o->right[b] + k];
    if (!code)
        code = grove_station_fit(uvw, o->left, o->right, o->baselines, o->stations, all);
    for (int64_t i = 0; i < 3 * o->stations && !complete && !code; i++)
        all[i] += model[i];
    return code;
}

static int read_station_uvw(ms_state *state, grove_array *out, grove_error *error)
{
    const grove_observation *o = state->observation;
    grove_range t = grove_observation_range(out, GROVE_AXIS_TIME);
    grove_range s = grove_observation_range(out, GROVE_AXIS_STATION);
    grove_ms_block block = {t.first, 1, 0, o->baselines, 0, 1};
    const size_t numbers = (size_t)o->stations * 3;
    double *uvw = grove_try_alloc((size_t)o->baselines * 3 + 1, sizeof(double));
    double *all = grove_try_alloc(2 * numbers + 1, sizeof(double)), *to = out->data;
    int code = uvw && all ? 0 : grove_fail(error, GROVE_NO_MEMORY, "no memory for coordinates");

    for (; block.first_time < t.first + t.count && !code; block.first_time++) {
        code = grove_ms_read_uvw(state->ms, &block, uvw, error); /* missing rows: not a number */
        if (!code)
            code = fit_stations(o, block.first_time, uvw, all + numbers, all, error);
        if (code)
            break;
        memcpy(to, all + 3 * s.first, (size_t)s.count * 3 * sizeof(double));
        to += 3 * s.count;
    }
    free(uvw);
    free(all);
    return code;
}

static int read_missing(ms_state *state, grove_array *out, grove_error *error)
{
    grove_ms_block block = block_of(out);

    memset(out->data, 0, (size_t)out->cells * sizeof(float));
    return grove_ms_find_missing(state->ms, &block, out->flags, error);
}

static int read_column(const grove_node *node, ms_state *state, const char *member,
                       grove_array *out, grove_error *error)
{
    char *column = grove_format("%.*s", (int)strlen(member) - 8, member + 7); /* column(...) */
    int code = read_data(node, state, column, out, error);

    free(column);
    return code;
}

static void share(void *call, int64_t count, void (*fn)(void *user, int64_t first, int64_t last),
                  void *user)
{
    grove_call_parallel(*(const grove_call **)call, count, fn, user);
}

static int read_member(const grove_call *call, const char *member, grove_array *out)
{
    const grove_node *node = call->node;
    ms_state *state = grove_node_user(node);
    grove_error *error = grove_error_new();
    int code;

    grove_ms_set_parallel(state->ms, share, &call); /* reads of sets come one at a time */
    if (!strcmp(member, "data"))
        code = read_data(node, state, grove_node_text(node, "column"), out, error);
    else if (!strncmp(member, "column(", 7))
        code = read_column(node, state, member, out, error);
    else if (!strcmp(member, "weight"))
        code = read_weight(state, out, error);
    else if (!strcmp(member, "missing"))
        code = read_missing(state, out, error);
    else if (!strcmp(member, "uvw"))
        code = read_uvw(state, block_of(out), out->data, error);
    else if (!strcmp(member, "station_uvw"))
        code = read_station_uvw(state, out, error);
    else
        code = grove_observation_read(node, state->observation, member, out);
    grove_ms_set_parallel(state->ms, NULL, NULL);
    if (code && grove_error_count(error))
        grove_node_fail(node, code, "%s", grove_error_message(error, 0));
    grove_error_free(error);
    return code;
}

static void close_set(grove_node *node)
{
    ms_state *state = grove_node_user(node);

    if (!state)
        return;
    if (state->ms)
        grove_ms_close(state->ms);
    grove_observation_free(state->observation);
    free(state);
    grove_node_set_user(node, NULL);
}

GROVE_CLASS(ms) = {
    GROVE_CLASS_HEAD(ms),
    .doc =
        "An observation read from a Measurement Set: one field and spectral window of it.\nRows "
        "may have any order. Rows of one time may have several intervals, as in sets with "
        "baseline-dependent averaging: a cell along time is one time and interval. Visibilities "
        "that are flagged, missing or not finite are zero and flagged. The UVW column is used with "
        "the opposite sign: a set has u_q - u_p. Sets with the same times, channels, or stations "
        "and baselines share these axes, so that their values can be combined: a.data - b.data.",
    .output_doc = "an observation: members as for observe, and data (with flags), weight, missing "
                  "(flagged where the set has no row; only if some rows are missing), and "
                  "column(\"NAME\") for each column of visibilities",
    .group = "data",
    .options = options,
    .kind = GROVE_CLASS_DATA,
    .serial_io = true,
    .object = "observation",
    .data = &(const grove_data_functions){.open = open_set, .read = read_member},
    .close = close_set,
    .example = "obs = ms(\"observed.ms\", column=\"DATA\")",
};
