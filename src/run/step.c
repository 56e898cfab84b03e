#include "run/step.h"
#include "run/devices.h"
#include "run/usage.h"

#include "base/log.h"
#include "plan/rows.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- values of a tile ---- */

void *grove_run_ref(grove_walk *walk, void *value)
{
    (void)walk;
    return grove_value_ref(value);
}

void grove_run_unref(grove_walk *walk, void *value)
{
    (void)walk;
    grove_value_unref(value);
}

void grove_run_hit(grove_walk *walk, int s)
{
    const grove_run *run = walk->context;
    const grove_node *node = run->program->steps[s].node;
    const grove_value *value = walk->slots[s].value;
    grove_session *session = run->session;

    session->nodes[node->id].hits++;
    session->counters.hits++;
    if (grove_devices_in_use(session) && grove_buffer_is_on(value->data, session->device)) {
        session->nodes[node->id].device_hits++;
        session->counters.device_hits++;
    }
    if (session->options.trace_lines) {
        double now = grove_now();
        grove_session_event(session, node->name, "hit", 0, now, now, NULL, 0);
    }
}

/* Values that are cached; also those kept for the whole pass. */
static bool is_cached(const grove_run *run, const grove_step *step)
{
    return step->kind > GROVE_STEP_CONSTANT &&
           (step->keep == GROVE_KEEP_CACHE ||
            (step->keep == GROVE_KEEP_SLOT && !(step->cut & run->program->divided)));
}

void *grove_run_find(grove_walk *walk, int s)
{
    const grove_run *run = walk->context;
    const grove_step *step = &run->program->steps[s];
    grove_range range[GROVE_MAX_AXES];

    if (!is_cached(run, step))
        return NULL;
    grove_run_ranges(run, step, range);
    grove_hash key = run->program->facts[step->node->id].key;
    if (step->rows_only) /* nobody else finds it */
        key = grove_hash_join(key, step->node->rows->key);
    run->keys[s] = grove_cache_key(key, range, step->axes);
    return grove_cache_find(run->session->cache, run->keys[s]);
}

/* ---- values ---- */

void grove_run_ranges(const grove_run *run, const grove_step *step,
                      grove_range range[GROVE_MAX_AXES])
{
    grove_step_ranges(&run->walk->spot, step, range);
}

grove_value *grove_step_bare_value(const grove_run *run, const grove_step *step)
{
    const grove_form *form = &step->node->form;
    grove_range range[GROVE_MAX_AXES];

    grove_run_ranges(run, step, range);
    grove_value *value = grove_value_bare(range, step->axes, form->shape, grove_form_elements(form),
                                          form->complex_, step->double_);
    value->unit = form->unit;
    value->gaps = grove_step_gaps(run->program, &run->walk->spot, step);
    return value;
}

int grove_step_store_flags(const grove_run *run, const grove_step *step, grove_value *value)
{
    grove_session *session = run->session;
    int code = grove_value_add_flags(value, session->host, (1u << step->axes) - 1, session->error);

    if (!code)
        memset(grove_buffer_host(value->flags, session->error), 0,
               grove_buffer_bytes(value->flags));
    return code;
}

int grove_step_store(grove_run *run, const grove_step *step, bool flagged, grove_value *value)
{
    grove_session *session = run->session;
    size_t before = grove_error_count(session->error);
    grove_extent extent = {.gaps = value->gaps};
    int code = 0;

    if (grove_value_size(value, &extent.bytes)) {
        grove_devices_make_host_room(session, grove_extent_memory(&extent) +
                                                  (size_t)(flagged ? grove_value_cells(value) : 0));
        value->data = grove_buffer_new_gaps(session->host, &extent, session->error);
    } else
        grove_fail(session->error, GROVE_NO_MEMORY, "a value is larger than any memory");
    code = value->data ? 0 : GROVE_NO_MEMORY;
    if (!code && flagged)
        code = grove_step_store_flags(run, step, value);
    if (code)
        grove_error_context(session->error, before, &step->node->place, step->node->name);
    return code;
}

grove_value *grove_step_new_value(grove_run *run, const grove_step *step)
{
    grove_value *value = grove_step_bare_value(run, step);

    if (!grove_step_store(run, step, step->flagged, value))
        return value;
    grove_value_unref(value);
    return NULL;
}

int grove_run_prepare(grove_walk *walk, int s, void **value)
{
    grove_run *run = walk->context;

    *value = grove_step_new_value(run, &run->program->steps[s]);
    return *value ? 0 : GROVE_NO_MEMORY;
}

int grove_step_read(grove_session *session, const grove_step *step, grove_value *value)
{
    grove_form form = step->node->form;
    grove_array array = {.data = grove_buffer_host(value->data, session->error),
                         .axes = value->axes,
                         .cells = grove_value_cells(value),
                         .elements = value->elements,
                         .form = &form,
                         .rows_unread = step->rows_only && !grove_session_shows_all(session)};

    if (value->flags)
        array.flags = grove_buffer_host(value->flags, session->error);
    form.precision = value->double_ ? GROVE_PRECISION_DOUBLE : GROVE_PRECISION_SINGLE;
    memcpy(array.range, value->range, sizeof(array.range));
    if (array.rows_unread)
        grove_session_poison(session, array.data,
                             (size_t)array.cells * grove_value_cell_bytes(value), false);
    if (array.rows_unread && array.flags && step->rows_flagged)
        memset(array.flags, 0xff, (size_t)array.cells); /* and stays where nothing is read */
    else if (array.rows_unread && array.flags)
        grove_session_poison(session, array.flags, (size_t)array.cells, true);
    return array.cells ? grove_io_read(session, step->node, &array) : 0;
}

static int read_now(grove_run *run, const grove_step *step, grove_value **value)
{
    *value = grove_walk_take_ready(run->walk, (int)(step - run->program->steps));
    if (*value)
        return 0;
    *value = grove_step_new_value(run, step);
    return *value ? grove_step_read(run->session, step, *value) : GROVE_NO_MEMORY;
}

/* ---- loops over chunks ---- */

int grove_run_body(grove_run *run, const grove_step *step, int64_t first)
{
    return grove_interrupted()
               ? GROVE_INTERRUPTED
               : grove_walk_body(run->walk, (int)(step - run->program->steps), first);
}

void grove_run_end_body(grove_run *run, const grove_step *step)
{
    grove_walk_end_body(run->walk, (int)(step - run->program->steps));
}

grove_chunk grove_run_chunk(const grove_run *run, const grove_step *step)
{
    return run->walk->spot.chunks[step->body];
}

int grove_run_chunks(grove_run *run, const grove_step *step,
                     int (*take)(grove_run *run, const grove_step *step, void *context),
                     void *context)
{
    const grove_loop *loop = &run->program->loops[step->body];

    if (!step->body)
        return take(run, step, context);
    for (int64_t first = 0; first < loop->axis->size; first += loop->chunk) {
        int code = grove_run_body(run, step, first);
        if (!code)
            code = take(run, step, context);
        grove_run_end_body(run, step);
        if (code)
            return code;
    }
    return 0;
}

/* ---- steps ---- */

static int compute(grove_run *run, const grove_step *step, grove_value **value)
{
    switch (step->kind) {
    case GROVE_STEP_DATA:
        return grove_compute_data(run, step, value);
    case GROVE_STEP_GIVEN:
        *value = grove_value_ref(run->results[step->node->id]);
        return *value ? 0
                      : grove_fail(run->session->error, GROVE_INTERNAL,
                                   "'%s' is asked for before its pass", step->node->name);
    case GROVE_STEP_CONSTANT:
        return grove_compute_constant(run, step, value);
    case GROVE_STEP_READ:
        return read_now(run, step, value);
    case GROVE_STEP_CAST:
        return grove_compute_cast(run, step, value);
    case GROVE_STEP_SELECT:
        return grove_compute_select(run, step, value);
    case GROVE_STEP_REDUCE:
        return grove_compute_reduction(run, step, value);
    default:
        return step->body ? grove_compute_sections(run, step, value)
                          : grove_compute_class(run, step, value);
    }
}

static void account(grove_run *run, const grove_step *step, const grove_value *value, double began,
                    double ended)
{
    grove_session *session = run->session;
    grove_node_counters *node = &session->nodes[step->node->id];

    node->calls++;
    node->seconds += ended - began;
    session->counters.node_tiles++;
    if (step->kind <= GROVE_STEP_CONSTANT)
        return;
    session->counters.evaluations++;
    session->counters.misses++;
    node->bytes += grove_value_bytes(value);
    grove_session_event(session, step->node->name, "evaluate", 0, began, ended, value->range,
                        value->axes);
}

static int make_root(grove_run *run, const grove_step *step)
{
    bool reduces = step->collects && !grove_node_accumulates(step->node);
    grove_accumulator *sums = reduces ? run->accumulator_of(run, step) : NULL;
    double began = grove_now();
    int code = sums ? grove_reduce_input(run, step, sums) : reduces ? 0 : run->take(run, step);

    grove_usage_count_for(run->session, step->node);
    if (step->collects && !step->body)
        grove_usage_seconds_for(run->session, step->node, "add", began);
    return code;
}

static void report_failed(const grove_run *run, const grove_step *step)
{
    const grove_observer *observer = &run->session->observer;
    grove_value *inputs[GROVE_MAX_INPUTS] = {0};

    for (int k = 0; k < step->node->input_count; k++)
        inputs[k] = grove_run_value(run, step->input[k]);
    if (observer->failed)
        observer->failed(observer->context, step->node, inputs);
}

static int make_step(grove_run *run, const grove_step *step, grove_value **value)
{
    grove_session *session = run->session;
    double began = grove_now(), kernel = session->counters.kernel_seconds;
    size_t errors = grove_error_count(session->error);

    if (step->kind == GROVE_STEP_ROOT)
        return make_root(run, step);
    int code = compute(run, step, value);
    grove_usage_count_for(session, step->node);
    double ended = grove_now();
    if (code) {
        if (code == GROVE_INTERRUPTED || code == GROVE_AGAIN)
            return code;
        grove_error_context(session->error, errors, &step->node->place, NULL);
        report_failed(run, step);
        return code;
    }
    /* the time of inner loops is counted there */
    account(run, step, *value,
            step->body ? ended - (session->counters.kernel_seconds - kernel) : began, ended);
    if (is_cached(run, step))
        grove_cache_put(session->cache, run->keys[step - run->program->steps],
                        run->program->facts[step->node->id].key, *value, ended - began);
    return 0;
}

/* Device time is counted for the step, and afterwards again for the owner of its loop. */
int grove_run_make(grove_walk *walk, int s, void **made)
{
    grove_run *run = walk->context;
    const grove_step *step = &run->program->steps[s];
    grove_session *session = run->session;
    grove_busy *outer = session->timed_for;
    grove_value *value = NULL;

    if (grove_session_times(session))
        grove_usage_time_for(session, session->timed_for = &session->nodes[step->node->id].busy);
    int code = make_step(run, step, &value);
    if (grove_session_times(session))
        grove_usage_time_for(session, session->timed_for = outer);
    *made = value;
    return code;
}

/* ---- checks of found values ---- */

static bool same_flags(grove_value *a, grove_value *b)
{
    grove_view view[2];
    int64_t cells = grove_value_cells(a);

    if (grove_value_flag_view(a, a->range, a->axes, 0, &view[0], NULL) ||
        grove_value_flag_view(b, a->range, a->axes, 0, &view[1], NULL))
        return false;
    for (int64_t cell = 0; cell < cells; cell++) {
        int64_t index[GROVE_MAX_AXES] = {0}, rest = cell;
        unsigned char bits[2] = {0};
        for (int d = a->axes - 1; d >= 0; d--) {
            index[d] = rest % a->range[d].count;
            rest /= a->range[d].count;
        }
        for (int k = 0; k < 2; k++)
            if (view[k].data)
                bits[k] = *(const unsigned char *)grove_view_at(&view[k], index, a->axes);
        if (bits[0] != bits[1])
            return false;
    }
    return true;
}

int grove_run_check(grove_walk *walk, int s, void *found, void *made)
{
    const grove_run *run = walk->context;
    const grove_node *node = run->program->steps[s].node;
    grove_error *error = run->session->error;
    grove_value *a = found, *b = made;
    size_t bytes = (size_t)grove_value_cells(a) * grove_value_cell_bytes(a);
    const void *numbers[2] = {NULL, NULL};

    for (int k = 0; k < 2 && bytes; k++)
        if (!(numbers[k] = grove_buffer_host((k ? b : a)->data, error)))
            return GROVE_DEVICE;
    if ((!bytes || !memcmp(numbers[0], numbers[1], bytes)) && same_flags(a, b))
        return 0;
    return grove_fail_at(error, &node->place, GROVE_INTERNAL,
                         "a kept value of '%s' differs from the recomputed one", node->name);
}
