/* Passes over the tiles: reading ahead and writing behind on a thread of their own. */
#include "plan/tile.h"
#include "run/launch.h"
#include "run/step.h"

#include "base/log.h"
#include "base/memory.h"

#include <stdlib.h>
#include <string.h>

/* What one tile hands to the background thread. */
typedef struct {
    grove_session *session;
    int64_t ticket;
    int code;
    double began, ended, written; /* the last: seconds in classes that write */
} io_job;

typedef struct {
    io_job job;
    grove_step *steps;
    int *ahead, count; /* which of the steps to read, into their `next` */
} reading;

typedef struct {
    grove_node *action;
    grove_array arrays[GROVE_MAX_INPUTS];
    grove_form forms[GROVE_MAX_INPUTS];
    grove_value *values[GROVE_MAX_INPUTS];
    int count;
} write_call;

typedef struct {
    io_job job;
    write_call *calls;
    int count;
    size_t capacity;
} writing;

typedef struct {
    grove_run run;
    grove_schedule *schedule;
    grove_pass *pass;
    reading reading;
    writing *writing; /* of this tile and those before, in turns */
    int flights;      /* their number */
    int64_t number;   /* of the present tile */
    grove_tile at;    /* the present tile */
    bool small;       /* it is as small as can be */
    grove_progress *progress;
} pipeline;

/* Of the tile `back` before the present one. */
static writing *writing_of(const pipeline *line, int back)
{
    return &line->writing[(line->number + line->flights - back) % line->flights];
}

/* ---- the background thread ---- */

static void read_steps(void *context)
{
    reading *r = context;

    r->job.began = grove_now();
    r->job.code = 0;
    for (int i = 0; i < r->count && !r->job.code; i++) {
        grove_step *step = &r->steps[r->ahead[i]];
        double began = grove_now();
        r->job.code = grove_step_read(r->job.session, step, step->next);
        grove_trace_event(r->job.session, step->node->name, "read", 1, began, grove_now(),
                          step->next->range, step->next->axes);
    }
    r->job.ended = grove_now();
}

int grove_io_write(grove_session *session, grove_node *action, const grove_array *inputs, int count)
{
    const grove_array *arrays[GROVE_MAX_INPUTS];
    bool serial = action->class_->serial_io;
    size_t before = grove_error_count(session->error);

    if (!action->class_->write)
        return 0;
    if (serial)
        pthread_mutex_lock(&session->io_lock);
    for (int k = 0; k < count; k++)
        arrays[k] = &inputs[k];
    int code = action->class_->write(action, session->runs[action->id], arrays, count);
    if (serial)
        pthread_mutex_unlock(&session->io_lock);
    return grove_node_verdict(action, session->error, before, code, "writing failed");
}

/* Copies back what a device has: meanwhile the next tile is computed. */
static int find_addresses(grove_session *session, write_call *call)
{
    int code = 0;

    for (int k = 0; k < call->count && !code; k++) {
        grove_value *value = call->values[k];
        void *at = NULL;
        call->arrays[k].form = &call->forms[k];
        if (!value)
            continue;
        if (!grove_buffer_is_on(value->data, NULL))
            __atomic_fetch_add(&session->nodes[call->action->id].device.bytes_down,
                               grove_buffer_bytes(value->data), __ATOMIC_RELAXED);
        code = grove_launch_address(session, value->data, &at);
        call->arrays[k].data = at;
        if (!code && value->flags)
            code = grove_launch_address(session, value->flags, &at);
        call->arrays[k].flags = value->flags ? at : NULL;
    }
    return code;
}

static void write_calls(void *context)
{
    writing *w = context;

    w->job.began = grove_now();
    w->job.code = 0;
    for (int i = 0; i < w->count && !w->job.code; i++) {
        write_call *call = &w->calls[i];
        double began = grove_now();
        grove_launch_bill(w->job.session, &w->job.session->nodes[call->action->id].busy);
        w->job.code = find_addresses(w->job.session, call);
        grove_launch_bill(w->job.session, NULL);
        double fetched = grove_now();
        if (!w->job.code)
            w->job.code = grove_io_write(w->job.session, call->action, call->arrays, call->count);
        w->job.written += grove_now() - fetched;
        grove_trace_event(w->job.session, call->action->name, "write", 1, began, grove_now(),
                          call->arrays[0].range, call->arrays[0].axes);
    }
    w->job.ended = grove_now();
}

static void queue(io_job *job, void (*fn)(void *), void *context)
{
    if (job->session->worker)
        job->ticket = grove_worker_queue(job->session->worker, fn, context);
    else
        fn(context);
}

/* Until the job is done; counts what it took. */
static int wait_for(io_job *job)
{
    grove_session *session = job->session;
    double began = grove_now();

    if (session && job->ticket)
        grove_worker_wait(session->worker, job->ticket);
    job->ticket = 0;
    if (!session)
        return 0;
    session->counters.wait_seconds += grove_now() - began;
    session->counters.io_seconds += job->ended - job->began;
    session->counters.write_seconds += job->written;
    job->began = job->ended = job->written = 0;
    return job->code;
}

/* ---- reading ahead ---- */

static void find_ahead(pipeline *line)
{
    grove_program *p = line->pass->program;
    reading *r = &line->reading;

    free(r->ahead);
    r->count = 0;
    r->job.session = line->schedule->session;
    r->steps = p->steps;
    r->ahead = grove_alloc(((size_t)p->step_count + 1) * sizeof(int));
    for (int s = 0; s < p->step_count; s++)
        if (p->steps[s].ahead && r->job.session->worker)
            r->ahead[r->count++] = s;
}

static int read_ahead(pipeline *line, const grove_tile *spot)
{
    reading *r = &line->reading;

    if (!r->count)
        return 0;
    grove_tile_set(line->pass, spot);
    for (int i = 0; i < r->count; i++) {
        grove_step *step = &r->steps[r->ahead[i]];
        step->next = grove_step_new_value(&line->run, step);
        if (!step->next)
            return GROVE_NO_MEMORY;
    }
    queue(&r->job, read_steps, r);
    return 0;
}

/* What was read is for the present tile now. */
static int take_read(pipeline *line)
{
    reading *r = &line->reading;
    grove_session *session = r->job.session;

    if (!r->count)
        return 0;
    double seconds = session->counters.io_seconds;
    int code = wait_for(&r->job);
    seconds = session->counters.io_seconds - seconds;
    for (int i = 0; i < r->count; i++) {
        grove_step *step = &r->steps[r->ahead[i]];
        grove_value_unref(step->ready);
        step->ready = step->next;
        step->next = NULL;
        session->nodes[step->node->id].seconds += seconds / r->count;
    }
    return code;
}

/* ---- roots ---- */

/* All but the addresses. */
static void to_array(grove_value *value, const grove_node *node, grove_array *array,
                     grove_form *form)
{
    array->axes = value->axes;
    memcpy(array->range, value->range, sizeof(array->range));
    array->cells = grove_value_cells(value);
    array->elements = value->elements;
    *form = node->form;
    form->precision = value->double_ ? GROVE_PRECISION_DOUBLE : GROVE_PRECISION_SINGLE;
}

static grove_range range_of(const pipeline *line, const grove_axis *axis)
{
    const grove_program *p = line->pass->program;

    for (int k = 0; k < GROVE_CUTS; k++)
        if (p->block.axis[k] == axis)
            return (grove_range){axis, p->tile.first[k], p->tile.count[k]};
    return (grove_range){axis, 0, axis->size};
}

/* An action's input, dense over the tile: the first over all axes of the action, the others over
 * their own. The value itself where it is so already. */
static int dense_input(const pipeline *line, const grove_step *root, int k, grove_value **dense)
{
    grove_program *p = line->pass->program;
    const grove_node *node = root->node, *in = node->inputs[k].node;
    grove_value *value = p->steps[root->input[k]].value;
    grove_range space[GROVE_MAX_AXES];
    int axes = 0;
    bool same;

    if (k == 0 || node->inputs[k].side) {
        for (int d = 0; d < node->axis_count; d++) {
            bool own = k == 0 || grove_node_has_axis(in, node->axes[d]) ||
                       node->axes[d]->kind == GROVE_AXIS_BASELINE;
            if (own)
                space[axes++] = range_of(line, node->axes[d]);
        }
    } else {
        for (int d = 0; d < in->axis_count; d++)
            space[axes++] = range_of(line, in->axes[d]);
    }
    same = value->axes == axes && (!value->flags || value->flag_axes == (1u << axes) - 1);
    for (int d = 0; d < axes && same; d++)
        same = value->range[d].axis == space[d].axis && value->range[d].first == space[d].first &&
               value->range[d].count == space[d].count;
    if (same) {
        *dense = grove_value_ref(value);
        return 0;
    }
    return grove_copy_dense(line->schedule->session, value, node->inputs[k].side, space, axes,
                            false, dense);
}

/* Whether the root has this tile already: it lacks an axis along which this is not the first. */
static bool seen(const pipeline *line, const grove_root *root)
{
    for (int k = 0; k < GROVE_CUTS; k++)
        if (!(root->follows >> k & 1) && line->at.first[k] > 0)
            return true;
    return false;
}

static void drop_call(write_call *call)
{
    for (int k = 0; k < call->count; k++)
        grove_value_unref(call->values[k]);
}

static void count_cells(pipeline *line, double cells)
{
    line->schedule->session->counters.visibilities += cells;
    grove_progress_advance(line->progress, cells);
}

static int take_action(pipeline *line, const grove_step *step)
{
    writing *w = writing_of(line, 0);
    int code = 0;

    grove_grow((void **)&w->calls, &w->capacity, (size_t)w->count, sizeof(write_call));
    write_call *call = &w->calls[w->count++];
    memset(call, 0, sizeof(*call));
    call->action = step->node;
    call->count = step->inputs;
    for (int k = 0; k < step->inputs && !code; k++) {
        if (step->input[k] < 0)
            continue;
        code = dense_input(line, step, k, &call->values[k]);
        if (!code)
            to_array(call->values[k], step->node->inputs[k].node, &call->arrays[k],
                     &call->forms[k]);
        if (!code && !grove_buffer_is_on(call->values[k]->data, NULL))
            grove_launch_room(line->schedule->session, grove_buffer_bytes(call->values[k]->data));
    }
    if (!code && call->values[0]) {
        count_cells(line, (double)call->arrays[0].cells);
        if (call->arrays[0].cells == 0)
            drop_call(&w->calls[--w->count]);
    }
    return code;
}

/* The ranges of a step over the whole of the pass. */
static void whole_ranges(const pipeline *line, const grove_step *step, grove_range *range)
{
    grove_program *p = line->pass->program;
    grove_block tile = p->tile;

    p->tile = p->block;
    grove_step_ranges(p, step, range);
    p->tile = tile;
}

static int take_store(pipeline *line, grove_root *root, const grove_step *step)
{
    grove_session *session = line->schedule->session;
    const grove_step *in = &line->pass->program->steps[step->input[0]];
    grove_value *value = in->value, *dense = NULL;
    grove_range range[GROVE_MAX_AXES];

    if (!line->pass->program->divided) {
        root->stored = grove_value_ref(value);
        return 0;
    }
    whole_ranges(line, in, range);
    if (!root->stored) {
        root->stored =
            grove_value_new(session->host, range, in->axes, value->shape, value->elements,
                            value->complex_, value->double_, value->flags != NULL, session->error);
        if (!root->stored)
            return GROVE_NO_MEMORY;
        root->stored->unit = value->unit;
    }
    /* with flags along all axes */
    int code = grove_copy_dense(session, value, 0, value->range, value->axes, false, &dense);
    if (!code)
        grove_copy_part(root->stored, dense);
    grove_value_unref(dense);
    return code;
}

static int take(grove_run *run, const grove_step *step)
{
    pipeline *line = run->context;
    grove_root *root = &line->pass->roots[step->root];

    if (seen(line, root))
        return 0;
    return root->kind == GROVE_ROOT_STORE ? take_store(line, root, step) : take_action(line, step);
}

static grove_accumulator *fold_of(grove_run *run, const grove_step *step)
{
    pipeline *line = run->context;
    grove_root *root = &line->pass->roots[step->root];
    grove_program *p = line->pass->program;

    if (!root->fold)
        root->fold = grove_accumulator_new(line->schedule->session, step->node, &p->block,
                                           p->divided, step->flagged);
    return root->fold;
}

/* ---- the pass ---- */

static void drop_writing(writing *w)
{
    for (int i = 0; i < w->count; i++)
        drop_call(&w->calls[i]);
    w->count = 0;
}

static int run_tile(pipeline *line, const grove_tile *next)
{
    writing *w = writing_of(line, 0);
    int code = wait_for(&w->job); /* of so many tiles ago */

    drop_writing(w);
    w->job.session = line->schedule->session;
    if (!code)
        code = take_read(line);
    if (!code && next)
        code = read_ahead(line, next);
    grove_tile_set(line->pass, &line->at);
    grove_launch_turn(w->job.session, line->number);
    if (!code && grove_interrupted())
        code = GROVE_INTERRUPTED;
    if (!code) {
        w->job.session->may_yield = !line->small && !w->job.session->resigned;
        grove_run_mark(&line->run);
        code = grove_run_tile(&line->run);
        w->job.session->may_yield = false;
    }
    if (!code && w->count) {
        line->schedule->written = true;
        queue(&w->job, write_calls, w);
        if (!w->job.session->worker)
            code = wait_for(&w->job);
    }
    line->schedule->session->counters.tiles += code != GROVE_AGAIN;
    return code;
}

/* Of the tiles before the present one, oldest first, until that `last` before it. */
static int finish_writing(pipeline *line, int last)
{
    int code = 0;

    for (int back = line->flights - 1; back >= last; back--) {
        writing *w = writing_of(line, back);
        int written = wait_for(&w->job);
        code = code ? code : written;
        drop_writing(w);
    }
    return code;
}

/* What the present tile has done is undone, and what earlier ones hold until it is written is let
 * go. */
static int take_back(pipeline *line)
{
    writing *w = writing_of(line, 0);
    int code = wait_for(&line->reading.job);

    for (int i = 0; i < w->count; i++)
        count_cells(line, -(double)w->calls[i].arrays[0].cells);
    drop_writing(w);
    int written = finish_writing(line, 1);
    grove_run_drop(&line->run);
    return code ? code : written;
}

/* The device has not the memory for this tile: smaller ones from here on, or another schedule if
 * nothing is done yet. */
static int make_do(pipeline *line)
{
    grove_session *session = line->schedule->session;
    int code = take_back(line);

    if (code)
        return code;
    if (!grove_tile_halve(line->pass, &line->at, session->budget / 4)) {
        if (!line->schedule->written)
            return GROVE_AGAIN;
        line->small = true;
    }
    find_ahead(line);
    return 0;
}

static int run_tiles(pipeline *line)
{
    bool more = true;

    line->at = grove_tile_begin(line->pass);
    int code = read_ahead(line, &line->at);
    while (more && !code) {
        grove_tile next = line->at;
        more = grove_tile_advance(line->pass, &next);
        code = run_tile(line, more ? &next : NULL);
        if (code == GROVE_AGAIN) {
            more = true;
            code = make_do(line);
            continue;
        }
        line->at = next;
        line->small = false;
        line->number++;
    }
    /* nothing may go on behind the back of what follows */
    int reading_code = wait_for(&line->reading.job);
    code = code ? code : reading_code;
    int writing_code = finish_writing(line, 0);
    return code ? code : writing_code;
}

/* The results of the pass's reductions, for later passes. */
static int take_results(pipeline *line)
{
    grove_session *session = line->schedule->session;

    for (int i = 0; i < line->pass->root_count; i++) {
        grove_root *root = &line->pass->roots[i];
        grove_node *node = root->node;
        grove_range range[GROVE_MAX_AXES];
        if (root->kind != GROVE_ROOT_COLLECT)
            continue;
        for (int d = 0; d < node->axis_count; d++)
            range[d] = (grove_range){node->axes[d], 0, node->axes[d]->size};
        const grove_facts *facts = &session->facts[node->id];
        grove_launch_bill(session, &session->nodes[node->id].busy);
        int code = grove_accumulator_value(root->fold, range, facts->double_, facts->flagged,
                                           &line->schedule->results[node->id], session->error);
        grove_launch_claim(session, node);
        grove_launch_bill(session, NULL);
        grove_accumulator_free(root->fold);
        root->fold = NULL;
        if (code)
            return code;
        memcpy(&line->schedule->results[node->id]->unit, &node->form.unit, sizeof(grove_unit));
    }
    return 0;
}

static double cells_of(const grove_pass *pass)
{
    double sum = 0;

    for (int i = 0; i < pass->root_count; i++) {
        const grove_node *node = pass->roots[i].node;
        double cells = pass->roots[i].kind == GROVE_ROOT_ACTION;
        for (int d = 0; d < node->axis_count; d++)
            cells *= (double)node->axes[d]->size;
        sum += cells;
    }
    return sum;
}

static int run_pass(grove_schedule *schedule, grove_pass *pass)
{
    pipeline *line = grove_alloc(sizeof(*line));
    grove_session *session = schedule->session;

    line->schedule = schedule;
    line->pass = pass;
    line->flights = grove_launch_flights(session);
    line->writing = grove_alloc((size_t)line->flights * sizeof(*line->writing));
    line->run = (grove_run){session, pass->program, schedule->results, take, fold_of, line};
    find_ahead(line);
    if (session->options.progress && cells_of(pass) > 0)
        line->progress = grove_progress_new("run", "vis", cells_of(pass));
    int code = run_tiles(line);
    grove_run_drop(&line->run);
    if (!code)
        code = take_results(line);
    grove_progress_free(line->progress);
    free(line->reading.ahead);
    for (int k = 0; k < line->flights; k++)
        free(line->writing[k].calls);
    free(line->writing);
    free(line);
    return code;
}

/* Values kept for a pass are of no use after it. */
static void let_go(grove_program *p)
{
    for (int s = 0; s < p->step_count; s++) {
        grove_value_unref(p->steps[s].kept);
        p->steps[s].kept = NULL;
    }
}

int grove_schedule_run(grove_schedule *schedule)
{
    int code = 0;

    for (int i = 0; i < schedule->count && !code; i++) {
        code = run_pass(schedule, &schedule->passes[i]);
        let_go(schedule->passes[i].program);
    }
    return code;
}
