#include "run/step.h"
#include "run/launch.h"

#include "base/log.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- what a tile needs ---- */

static void count_hit(grove_run *run, const grove_step *step)
{
    grove_session *session = run->session;

    session->nodes[step->node->id].hits++;
    session->counters.hits++;
    if (grove_launch_is_away(session) && grove_buffer_is_on(step->value->data, session->device)) {
        session->nodes[step->node->id].device_hits++;
        session->counters.device_hits++;
    }
    if (session->options.trace_lines) {
        double now = grove_now();
        grove_trace_event(session, step->node->name, "hit", 0, now, now, NULL, 0);
    }
}

static bool slot_holds(const grove_program *p, const grove_step *step)
{
    if (!step->kept)
        return false;
    for (int k = 0; k < GROVE_CUTS; k++)
        if (step->cut & p->divided & 1u << k && step->kept_first[k] != p->tile.first[k])
            return false;
    return true;
}

/* Values that go into the cache: also those that a slot keeps for the whole pass. */
static bool is_cached(const grove_run *run, const grove_step *step)
{
    return !run->session->options.cache_off && step->kind > GROVE_STEP_CONSTANT &&
           (step->keep == GROVE_KEEP_CACHE ||
            (step->keep == GROVE_KEEP_SLOT && !(step->cut & run->program->divided)));
}

static bool find_value(grove_run *run, grove_step *step)
{
    grove_program *p = run->program;

    if (step->keep == GROVE_KEEP_SLOT) {
        bool holds = slot_holds(p, step) &&
                     !(run->session->options.cache_off && step->kind > GROVE_STEP_CONSTANT);
        if (holds) {
            step->value = grove_value_ref(step->kept);
            if (step->kind > GROVE_STEP_CONSTANT)
                count_hit(run, step);
            return true;
        }
        grove_value_unref(step->kept);
        step->kept = NULL;
    }
    if (!is_cached(run, step))
        return false;
    grove_range range[GROVE_MAX_AXES];
    grove_step_ranges(p, step, range);
    step->value_key = grove_cache_key(step->key, range, step->axes);
    step->value = grove_cache_find(run->session->cache, step->value_key);
    if (step->value)
        count_hit(run, step);
    return step->value != NULL;
}

static void need_inputs(grove_program *p, const grove_step *step)
{
    for (int k = 0; k < step->inputs; k++)
        if (step->input[k] >= 0)
            p->steps[step->input[k]].needed = true;
}

void grove_run_mark(grove_run *run)
{
    grove_program *p = run->program;

    for (int s = 0; s < p->step_count; s++)
        p->steps[s].needed = p->steps[s].kind == GROVE_STEP_ROOT;
    /* users come after their inputs, and the owner of a loop after what is in it */
    for (int s = p->step_count - 1; s >= 0; s--) {
        grove_step *step = &p->steps[s];
        if (step->loop)
            step->needed = p->steps[p->loops[step->loop].owner].needed;
        if (!step->needed)
            continue;
        if (!step->loop && find_value(run, step))
            step->needed = false;
        else
            need_inputs(p, step);
    }
}

/* ---- values ---- */

grove_value *grove_step_bare_value(const grove_run *run, const grove_step *step)
{
    const grove_form *form = &step->node->form;
    grove_range range[GROVE_MAX_AXES];

    grove_step_ranges(run->program, step, range);
    grove_value *value = grove_value_bare(range, step->axes, form->shape, grove_form_elements(form),
                                          form->complex_, step->double_);
    memcpy(&value->unit, &form->unit, sizeof(value->unit));
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

int grove_step_store(grove_run *run, const grove_step *step, grove_value *value)
{
    grove_session *session = run->session;
    size_t before = grove_error_count(session->error), bytes;
    int code = 0;

    grove_launch_room(session, grove_step_bytes(run->program, step));
    if (grove_value_size(value, &bytes))
        value->data = grove_buffer_new(session->host, bytes, session->error);
    else
        grove_fail(session->error, GROVE_NO_MEMORY, "a value is larger than any memory");
    code = value->data ? 0 : GROVE_NO_MEMORY;
    if (!code && step->flagged)
        code = grove_step_store_flags(run, step, value);
    if (code)
        grove_error_context(session->error, before, &step->node->place, step->node->name);
    return code;
}

grove_value *grove_step_new_value(grove_run *run, const grove_step *step)
{
    grove_value *value = grove_step_bare_value(run, step);

    if (!grove_step_store(run, step, value))
        return value;
    grove_value_unref(value);
    return NULL;
}

int grove_io_read(grove_session *session, grove_node *member, grove_array *out)
{
    grove_node *leaf = member->leaf;
    bool serial = leaf->class_->serial_io;
    size_t before = grove_error_count(session->error);

    if (serial)
        pthread_mutex_lock(&session->io_lock);
    int code = leaf->class_->read
                   ? leaf->class_->read(leaf, session->runs ? session->runs[leaf->id] : NULL,
                                        leaf->members[member->member].name, out)
                   : GROVE_INTERNAL;
    if (serial)
        pthread_mutex_unlock(&session->io_lock);
    char unsaid[128];
    snprintf(unsaid, sizeof(unsaid), "reading '%s' failed", leaf->members[member->member].name);
    return grove_node_verdict(leaf, session->error, before, code, unsaid);
}

int grove_step_read(grove_session *session, const grove_step *step, grove_value *value)
{
    grove_form form = step->node->form;
    grove_array array = {.data = grove_buffer_host(value->data, session->error),
                         .axes = value->axes,
                         .cells = grove_value_cells(value),
                         .elements = value->elements,
                         .form = &form};

    if (value->flags)
        array.flags = grove_buffer_host(value->flags, session->error);
    form.precision = value->double_ ? GROVE_PRECISION_DOUBLE : GROVE_PRECISION_SINGLE;
    memcpy(array.range, value->range, sizeof(array.range));
    return array.cells ? grove_io_read(session, step->node, &array) : 0;
}

static int read_now(grove_run *run, grove_step *step)
{
    if (step->ready) { /* it was read ahead */
        step->value = step->ready;
        step->ready = NULL;
        return 0;
    }
    step->value = grove_step_new_value(run, step);
    return step->value ? grove_step_read(run->session, step, step->value) : GROVE_NO_MEMORY;
}

/* ---- reductions ---- */

static void let_go(grove_program *p, const grove_step *step)
{
    for (int i = 0; i < step->release_count; i++) {
        grove_step *done = &p->steps[step->release[i]];
        grove_value_unref(done->value);
        done->value = NULL;
    }
}

static int run_step(grove_run *run, grove_step *step);

static int run_list(grove_run *run, const grove_loop *loop)
{
    grove_program *p = run->program;

    for (int i = 0; i < loop->step_count; i++) {
        grove_step *step = &p->steps[loop->steps[i]];
        int code = step->needed ? run_step(run, step) : 0;
        if (code)
            return code;
        let_go(p, step);
    }
    return 0;
}

/* The ranges of a reduction's input: what its step has, chunks of one axis, and whole axes. */
static int input_space(const grove_run *run, const grove_step *step, grove_range *space)
{
    const grove_node *in = step->node->inputs[0].node;
    const grove_program *p = run->program;
    grove_range own[GROVE_MAX_AXES];

    grove_step_ranges(p, step, own);
    for (int d = 0; d < in->axis_count; d++) {
        const grove_axis *axis = in->axes[d];
        space[d] = (grove_range){axis, 0, axis->size};
        for (int e = 0; e < step->axes; e++)
            if (own[e].axis == axis)
                space[d] = own[e];
        if (step->body && p->loops[step->body].axis == axis)
            space[d] = (grove_range){axis, p->loops[step->body].first, p->loops[step->body].count};
    }
    return in->axis_count;
}

static int add_input(grove_run *run, const grove_step *step, grove_accumulator *fold, bool chunk)
{
    grove_session *session = run->session;
    grove_range space[GROVE_MAX_AXES];
    int axes = input_space(run, step, space);
    double began = grove_now();

    if (step->collects) /* what a whole pass gathers cannot be taken back */
        session->may_yield = false;
    int code =
        grove_accumulator_add(fold, &run->program->tile, run->program->steps[step->input[0]].value,
                              space, axes, chunk, session->error);

    session->counters.kernel_seconds += grove_now() - began;
    return code;
}

int grove_run_body(grove_run *run, const grove_step *step, int64_t first)
{
    grove_loop *loop = &run->program->loops[step->body];
    int64_t rest = loop->axis->size - first;

    loop->first = first;
    loop->count = rest < loop->chunk ? rest : loop->chunk;
    return grove_interrupted() ? GROVE_INTERRUPTED : run_list(run, loop);
}

void grove_run_end_body(grove_run *run, const grove_step *step)
{
    for (int k = 0; k < step->inputs; k++) {
        grove_step *in = step->input[k] < 0 ? NULL : &run->program->steps[step->input[k]];
        if (!in || in->loop != step->body)
            continue;
        grove_value_unref(in->value);
        in->value = NULL;
    }
}

static int fold_input(grove_run *run, const grove_step *step, grove_accumulator *fold)
{
    grove_program *p = run->program;

    if (!step->body)
        return add_input(run, step, fold, false);
    for (int64_t first = 0; first < p->loops[step->body].axis->size;) {
        int code = grove_run_body(run, step, first);
        if (!code)
            code = add_input(run, step, fold, true);
        grove_run_end_body(run, step);
        if (code)
            return code;
        first += p->loops[step->body].count;
    }
    double began = grove_now();
    int code = grove_accumulator_end_chunks(fold, &p->tile, run->session->error);
    run->session->counters.kernel_seconds += grove_now() - began;
    return code;
}

static int reduce(grove_run *run, grove_step *step)
{
    grove_program *p = run->program;
    grove_range range[GROVE_MAX_AXES];
    /* what is cut here is not reduced, or it would be a pass of its own */
    grove_accumulator *fold =
        grove_accumulator_new(run->session, step->node, &p->tile, 0, step->flagged);
    int code = fold_input(run, step, fold);

    grove_step_ranges(p, step, range);
    if (!code)
        code = grove_accumulator_value(fold, range, step->double_, step->flagged, &step->value,
                                       run->session->error);
    if (!code)
        memcpy(&step->value->unit, &step->node->form.unit, sizeof(step->value->unit));
    grove_accumulator_free(fold);
    return code;
}

/* ---- steps ---- */

static int compute(grove_run *run, grove_step *step)
{
    switch (step->kind) {
    case GROVE_STEP_DATA:
        return grove_compute_data(run, step);
    case GROVE_STEP_GIVEN:
        step->value = grove_value_ref(run->results[step->node->id]);
        return step->value
                   ? 0
                   : grove_node_fail(step->node, GROVE_INTERNAL, "it is asked for before its pass");
    case GROVE_STEP_CONSTANT:
        return grove_compute_constant(run, step);
    case GROVE_STEP_READ:
        return read_now(run, step);
    case GROVE_STEP_CAST:
        return grove_compute_cast(run, step);
    case GROVE_STEP_SELECT:
        return grove_compute_select(run, step);
    case GROVE_STEP_REDUCE:
        return reduce(run, step);
    default:
        return step->body ? grove_compute_sections(run, step) : grove_compute_class(run, step);
    }
}

static void keep_value(grove_run *run, grove_step *step, double seconds)
{
    if (step->keep == GROVE_KEEP_SLOT) {
        grove_value_unref(step->kept);
        step->kept = grove_value_ref(step->value);
        memcpy(step->kept_first, run->program->tile.first, sizeof(step->kept_first));
    }
    if (is_cached(run, step))
        grove_cache_put(run->session->cache, step->value_key, step->key, step->value, seconds);
}

static void account(grove_run *run, const grove_step *step, double began, double ended)
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
    node->bytes += grove_value_bytes(step->value);
    if (session->trace || session->options.trace_lines)
        grove_trace_event(session, step->node->name, "evaluate", 0, began, ended,
                          step->value->range, step->value->axes);
}

static int run_root(grove_run *run, const grove_step *step)
{
    int code =
        step->collects ? fold_input(run, step, run->fold_of(run, step)) : run->take(run, step);

    grove_launch_claim(run->session, step->node);
    return code;
}

static void dump(const grove_run *run, const grove_step *step)
{
    grove_value *inputs[GROVE_MAX_INPUTS] = {0};

    for (int k = 0; k < step->inputs; k++)
        if (step->input[k] >= 0)
            inputs[k] = run->program->steps[step->input[k]].value;
    grove_dump_inputs(step->node, inputs);
}

static int make_step(grove_run *run, grove_step *step)
{
    grove_session *session = run->session;
    double began = grove_now(), kernel = session->counters.kernel_seconds;
    size_t errors = grove_error_count(session->error);

    if (step->kind == GROVE_STEP_ROOT)
        return run_root(run, step);
    int code = compute(run, step);
    grove_launch_claim(session, step->node);
    double ended = grove_now();
    if (code) {
        if (code == GROVE_INTERRUPTED || code == GROVE_AGAIN)
            return code;
        grove_error_context(session->error, errors, &step->node->place, NULL);
        if (session->options.stop_on_error)
            dump(run, step);
        return code;
    }
    /* what a loop within it took is counted there */
    account(run, step, step->body ? ended - (session->counters.kernel_seconds - kernel) : began,
            ended);
    keep_value(run, step, ended - began);
    return 0;
}

/* Devices are timed for the step, and afterwards again for the one whose loop it stands in. */
static int run_step(grove_run *run, grove_step *step)
{
    grove_session *session = run->session;
    grove_busy *outer = session->billed;

    if (!session->options.profile)
        return make_step(run, step);
    grove_launch_bill(session, session->billed = &session->nodes[step->node->id].busy);
    int code = make_step(run, step);
    grove_launch_bill(session, session->billed = outer);
    return code;
}

int grove_run_tile(grove_run *run)
{
    return run_list(run, &run->program->loops[0]);
}

void grove_run_drop(grove_run *run)
{
    for (int s = 0; s < run->program->step_count; s++) {
        grove_step *step = &run->program->steps[s];
        grove_value_unref(step->value);
        grove_value_unref(step->ready);
        grove_value_unref(step->next);
        step->value = step->ready = step->next = NULL;
    }
}
