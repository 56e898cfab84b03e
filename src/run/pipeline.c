#include "run/pipeline.h"
#include "plan/rows.h"
#include "run/content.h"
#include "run/launch.h"
#include "run/usage.h"

#include "base/memory.h"

#include <stdlib.h>
#include <string.h>

grove_writing *grove_pipeline_writing(const grove_pipeline *line)
{
    const grove_walk *walk = line->run.walk;

    return &line->writing[walk->number % walk->flight_count];
}

/* Cells of the present tile along the axes that are cut. */
static double tile_cells(const grove_pipeline *line)
{
    const grove_block *block = &line->run.program->block;
    double cells = 1;

    for (int k = 0; k < GROVE_CUTS; k++)
        cells *= block->axis[k] ? (double)line->at.count[k] : 1;
    return cells;
}

/* ---- the background thread ---- */

static void read_steps(void *context)
{
    grove_pipeline *line = context;
    const grove_program *p = line->run.program;
    grove_io_job *job = &line->reading;

    job->began = grove_now();
    job->code = 0;
    for (int s = 0; s < p->step_count && !job->code; s++) {
        const grove_step *step = &p->steps[s];
        grove_value *value = line->run.walk->slots[s].next;
        double began = grove_now();
        if (!step->ahead || !value)
            continue;
        job->code = grove_step_read(job->session, step, value);
        grove_session_event(job->session, step->node->name, "read", 1, began, grove_now(),
                            value->range, value->axes);
    }
    job->ended = grove_now();
}

int grove_pipeline_fetch(grove_session *session, grove_write_call *call, int k)
{
    grove_value *value = call->values[k];
    void *at = NULL;

    if (!value)
        return 0;
    if (!grove_buffer_is_on(value->data, NULL))
        __atomic_fetch_add(&session->nodes[call->action->id].device.bytes_down,
                           grove_buffer_bytes(value->data), __ATOMIC_RELAXED);
    int code = grove_launch_host_address(session, value->data, &at);
    call->arrays[k].data = at;
    if (!code && value->flags)
        code = grove_launch_host_address(session, value->flags, &at);
    call->arrays[k].flags = value->flags ? at : NULL;
    return code;
}

/* Copies a device's results back, while the next tile is computed. */
static int find_addresses(grove_session *session, grove_write_call *call)
{
    int code = 0;

    for (int k = 0; k < call->count; k++) {
        call->arrays[k].form = &call->forms[k];
        if (!code && !call->action->leaves_inputs)
            code = grove_pipeline_fetch(session, call, k);
    }
    return code;
}

static void write_calls(void *context)
{
    grove_writing *w = context;
    grove_session *session = w->job.session;

    w->job.began = grove_now();
    w->job.code = 0;
    for (int i = 0; i < w->count && !w->job.code; i++) {
        grove_write_call *call = &w->calls[i];
        double began = grove_now();
        grove_usage_time_for(session, &session->nodes[call->action->id].busy);
        w->job.code = find_addresses(session, call);
        grove_usage_time_for(session, NULL);
        double fetched = grove_now();
        if (!w->job.code)
            w->job.code = grove_io_write(session, call->action, call->arrays, call->count);
        w->job.written += grove_now() - fetched;
        grove_session_event(session, call->action->name, "write", 1, began, grove_now(),
                            call->arrays[0].range, call->arrays[0].axes);
    }
    w->job.ended = grove_now();
}

/* The first action of the pass, which may change the values of its objects. */
static int drive_once(grove_pipeline *line, bool *again)
{
    grove_writing *w = grove_pipeline_writing(line);
    grove_write_call *call = &w->calls[0];
    grove_session *session = line->run.session;
    double began = grove_now(), kernels = session->counters.kernel_seconds;
    grove_node_counters *counters = &session->nodes[call->action->id];
    int code = find_addresses(session, call);

    if (!code)
        code = grove_drive_call(session, call, again);
    double ended = grove_now();
    counters->calls++;
    counters->seconds += ended - began;
    session->counters.drive_seconds += ended - began - (session->counters.kernel_seconds - kernels);
    grove_session_event(session, call->action->name, "drive", 0, began, ended,
                        call->arrays[0].range, call->arrays[0].axes);
    if (!code)
        grove_session_renew_for(session, call->action);
    return code;
}

/* Evaluates the tile until the first action has seen enough of it; then once for the roots that
 * follow it. */
static int drive(grove_pipeline *line)
{
    grove_writing *w = grove_pipeline_writing(line);
    bool again = true;
    int code = 0;

    line->evaluation->written = true;
    while (!code && w->count) {
        again = false;
        code = drive_once(line, &again);
        if (code || !again)
            break;
        w->count = 0;
        code = grove_interrupted() ? GROVE_INTERRUPTED : grove_walk_again(line->run.walk);
    }
    w->count = 0;
    return code || line->pass->root_count == 1 ? code : grove_walk_follow(line->run.walk);
}

/* A tile of a domain in parts. */
static int drive_part(grove_pipeline *line)
{
    grove_writing *w = grove_pipeline_writing(line);
    bool repeats = true;
    int code = 0;

    line->evaluation->written = true;
    while (!code && repeats && w->count) {
        line->again = false;
        code = drive_once(line, &line->again);
        repeats = w->calls[0].repeats;
        w->count = 0;
        if (!code && repeats)
            code = grove_interrupted() ? GROVE_INTERRUPTED : grove_walk_again(line->run.walk);
    }
    return code;
}

static void queue(grove_io_job *job, void (*fn)(void *), void *context)
{
    if (job->session->worker)
        job->ticket = grove_worker_queue(job->session->worker, fn, context);
    else
        fn(context);
}

/* Waits for the job, and counts the waiting time. */
static int wait_for(grove_io_job *job)
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
    int code = job->code;
    job->code = 0;
    return code;
}

/* ---- operations of the walk ---- */

static int wait_written(grove_walk *walk)
{
    grove_pipeline *line = ((grove_run *)walk->context)->context;
    grove_writing *w = grove_pipeline_writing(line);
    int code = wait_for(&w->job); /* of the tile that used this flight before */

    w->count = 0;
    w->job.session = line->run.session;
    return code;
}

static void begin_reading(grove_walk *walk)
{
    grove_pipeline *line = ((grove_run *)walk->context)->context;

    line->reading.session = line->run.session;
    queue(&line->reading, read_steps, line);
}

static int wait_read(grove_walk *walk)
{
    grove_pipeline *line = ((grove_run *)walk->context)->context;
    grove_session *session = line->run.session;
    double before = session->counters.io_seconds;
    int code = wait_for(&line->reading), count = 0;
    double seconds = session->counters.io_seconds - before;

    for (int s = 0; s < walk->program->step_count; s++)
        count += walk->slots[s].next != NULL;
    for (int s = 0; s < walk->program->step_count && count; s++)
        if (walk->slots[s].next)
            session->nodes[walk->program->steps[s].node->id].seconds += seconds / count;
    return code;
}

static const grove_walk_work work = {
    .ref = grove_run_ref,
    .unref = grove_run_unref,
    .make = grove_run_make,
    .prepare = grove_run_prepare,
    .find = grove_run_find,
    .hit = grove_run_hit,
    .check = grove_run_check,
    .written = wait_written,
    .read = begin_reading,
    .was_read = wait_read,
};

/* ---- the pass ---- */

grove_pipeline *grove_pipeline_new(grove_evaluation *evaluation, grove_pass *pass)
{
    grove_pipeline *line = grove_alloc(sizeof(*line));
    grove_session *session = evaluation->session;
    const grove_program *program = pass->program;
    int flights = grove_devices_tiles_in_flight(session);

    line->evaluation = evaluation;
    line->pass = pass;
    line->run = (grove_run){.session = session,
                            .program = program,
                            .results = evaluation->results,
                            .take = grove_roots_take,
                            .accumulator_of = grove_roots_sums,
                            .context = line};
    line->run.keys = grove_alloc(((size_t)program->step_count + 1) * sizeof(grove_hash));
    line->run.walk = grove_walk_new(program, &work, &line->run, flights, !session->worker);
    line->run.walk->checks = session->checks;
    line->writing = grove_alloc((size_t)flights * sizeof(*line->writing));
    line->gathered = grove_alloc((size_t)pass->root_count * sizeof(*line->gathered));
    return line;
}

static void drop_gathered(grove_pipeline *line)
{
    for (int i = 0; i < line->pass->root_count; i++) {
        grove_accumulator_free(line->gathered[i].sums);
        grove_class_state_free(line->gathered[i].state);
        grove_value_unref(line->gathered[i].stored);
        line->gathered[i] = (grove_gathered){0};
    }
}

void grove_pipeline_free(grove_pipeline *line)
{
    if (!line)
        return;
    drop_gathered(line);
    for (int k = 0; k < line->run.walk->flight_count; k++)
        free(line->writing[k].calls);
    grove_walk_free(line->run.walk);
    free(line->run.keys);
    free(line->writing);
    free(line->gathered);
    free(line);
}

/* Tiles go to devices alternately, by number, or each device has its share of the times. */
static int64_t choose_device(const grove_pipeline *line)
{
    const grove_program *p = line->run.program;
    int64_t end;

    return p->devices > 1 ? grove_tile_device(p, line->at.first[GROVE_CUT_TIME], &end)
                          : line->run.walk->number;
}

static int run_tile(grove_pipeline *line, const grove_tile *next)
{
    grove_session *session = line->run.session;
    grove_walk *walk = line->run.walk;
    grove_writing *w = grove_pipeline_writing(line);
    int code = grove_walk_begin(walk, &line->at, next);

    grove_devices_choose(session, choose_device(line));
    if (!code && grove_interrupted())
        code = GROVE_INTERRUPTED;
    if (!code) {
        session->may_yield = !line->small && !session->host_only;
        code = grove_walk_evaluate(walk);
        session->may_yield = false;
    }
    if (!code && w->count && line->run.program->depends)
        code = line->run.program->parts ? drive_part(line) : drive(line);
    if (!code && w->count) {
        line->evaluation->written = true;
        queue(&w->job, write_calls, w);
        if (!session->worker)
            code = wait_for(&w->job);
    }
    session->counters.tiles += code != GROVE_AGAIN;
    return code;
}

/* Waits until all flights are written, oldest first; `last` 1: except the current tile's. */
static int finish_writing(grove_pipeline *line, int last)
{
    grove_walk *walk = line->run.walk;
    int code = 0;

    for (int back = walk->flight_count - 1; back >= last; back--) {
        int k = (int)((walk->number + walk->flight_count - back) % walk->flight_count);
        int written = wait_for(&line->writing[k].job);
        code = code ? code : written;
        line->writing[k].count = 0;
        grove_walk_drop_flight(walk, k);
    }
    return code;
}

/* Discards the current tile's work, and releases values held by earlier tiles after they are
 * written. */
static int undo_tile(grove_pipeline *line)
{
    grove_walk *walk = line->run.walk;
    int code = wait_for(&line->reading);

    grove_pipeline_writing(line)->count = 0;
    grove_walk_drop_flight(walk, (int)(walk->number % walk->flight_count));
    int written = finish_writing(line, 1);
    grove_walk_drop(walk);
    return code ? code : written;
}

static bool gathers(const grove_pipeline *line)
{
    for (int i = 0; i < line->pass->root_count; i++)
        if (line->gathered[i].sums || line->gathered[i].state || line->gathered[i].stored)
            return true;
    return false;
}

/* The device has too little memory for this tile: continues with smaller tiles, or with another
 * schedule if none is complete yet. */
static int shrink(grove_pipeline *line)
{
    int code = undo_tile(line);

    if (code)
        return code;
    if (grove_tile_halve(line->pass->program, &line->at, gathers(line),
                         line->run.session->budget / 4)) {
        grove_walk_forget(line->run.walk, false);
    } else {
        if (!line->evaluation->written)
            return GROVE_AGAIN;
        line->small = true;
    }
    return 0;
}

/* The last tile of a domain in parts is done: the next one is the first of the same domain, or of
 * another. */
static int end_domain(grove_pipeline *line, grove_tile *next, bool *more)
{
    grove_walk *walk = line->run.walk;

    if (line->again) {
        *next = grove_tile_at(line->run.program, line->domain.first);
        *more = true;
    } else {
        line->domain = *next;
        memset(walk->left_out, 0, sizeof(walk->left_out));
        grove_progress_advance(line->progress, line->cells);
        line->cells = 0;
    }
    line->revisits = line->again;
    line->again = false;
    return *more ? grove_walk_read_ahead(walk, next) : 0;
}

static int run_tiles(grove_pipeline *line)
{
    const grove_program *p = line->run.program;
    grove_walk *walk = line->run.walk;
    bool more = true;

    line->at = line->domain = grove_tile_begin(p);
    line->small = line->again = line->revisits = false;
    line->cells = 0;
    int code = grove_walk_read_ahead(walk, &line->at);
    while (more && !code) {
        grove_tile next = line->at;
        more = grove_tile_advance(p, &next);
        bool ends = p->parts && grove_tile_ends_domain(p, &line->at);
        code = run_tile(line, more && !ends ? &next : NULL);
        if (code == GROVE_AGAIN) {
            more = true;
            code = shrink(line);
            continue;
        }
        grove_walk_end(walk);
        if (!code && !p->parts)
            grove_progress_advance(line->progress, tile_cells(line));
        else if (!line->revisits)
            line->cells += tile_cells(line);
        if (ends && !code)
            code = end_domain(line, &next, &more);
        line->at = next;
    }
    /* no background work may continue after the pass */
    int reading_code = wait_for(&line->reading);
    code = code ? code : reading_code;
    int writing_code = finish_writing(line, 0);
    return code ? code : writing_code;
}

static grove_progress *new_progress(const grove_pipeline *line)
{
    const grove_schedule *schedule = line->evaluation->schedule;
    const grove_block *block = &line->run.program->block;
    double cells = line->pass->walks;

    if (!line->run.session->options.progress)
        return NULL;
    for (int k = 0; k < GROVE_CUTS; k++)
        cells *= block->axis[k] ? (double)block->count[k] : 1;
    char *title = schedule->count > 1
                      ? grove_format("pass %d of %d", (int)(line->pass - schedule->passes) + 1,
                                     schedule->count)
                      : grove_strdup("run");
    grove_progress *progress =
        grove_progress_new(title, block->axis[GROVE_CUT_BASELINE] ? "vis" : "cells", cells);
    free(title);
    return progress;
}

int grove_pipeline_run(grove_pipeline *line)
{
    bool again = true;
    int code = 0;

    drop_gathered(line);
    line->progress = new_progress(line);
    for (int i = 0; i < line->pass->root_count; i++)
        grove_walk_give(line->run.walk, line->pass->roots[i].step, true);
    while (again && !code) {
        code = run_tiles(line);
        grove_walk_drop(line->run.walk);
        if (!code)
            code = grove_roots_walk(line, &again);
    }
    if (!code)
        code = grove_roots_finish(line);
    grove_progress_free(line->progress);
    line->progress = NULL;
    return code;
}
