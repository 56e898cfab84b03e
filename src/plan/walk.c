#include "plan/walk.h"

#include "base/memory.h"

#include <stdlib.h>
#include <string.h>

static void drop(grove_walk *w, void **value)
{
    if (*value)
        w->work->unref(w, *value);
    *value = NULL;
}

grove_walk *grove_walk_new(const grove_program *program, const grove_walk_work *work, void *context,
                           int flights, bool serial)
{
    grove_walk *w = grove_alloc(sizeof(*w));

    w->program = program;
    w->work = work;
    w->context = context;
    w->serial = serial;
    w->spot.tile = program->block;
    w->spot.chunks = grove_alloc((size_t)program->loop_count * sizeof(grove_chunk));
    w->slots = grove_alloc(((size_t)program->step_count + 1) * sizeof(grove_walk_slot));
    w->flight_count = flights;
    w->flights = grove_alloc((size_t)flights * sizeof(grove_flight));
    return w;
}

void grove_walk_free(grove_walk *w)
{
    if (!w)
        return;
    grove_walk_drop(w);
    grove_walk_forget(w, true);
    for (int k = 0; k < w->flight_count; k++) {
        grove_walk_drop_flight(w, k);
        free(w->flights[k].values);
    }
    free(w->flights);
    free(w->slots);
    free(w->spot.chunks);
    free(w);
}

/* ---- needed steps ---- */

static grove_hash key_of(const grove_walk *w, const grove_step *step)
{
    return w->program->facts[step->node->id].key;
}

static bool slot_holds(const grove_walk *w, const grove_step *step, const grove_walk_slot *slot)
{
    if (!slot->kept || !grove_hash_equal(slot->kept_key, key_of(w, step)))
        return false;
    for (int k = 0; k < GROVE_CUTS; k++)
        if (step->cut & w->program->divided & 1u << k &&
            slot->kept_first[k] != w->spot.tile.first[k])
            return false;
    return true;
}

static void *find_value(grove_walk *w, int s)
{
    const grove_step *step = &w->program->steps[s];
    grove_walk_slot *slot = &w->slots[s];

    if (step->keep == GROVE_KEEP_SLOT) {
        if (slot_holds(w, step, slot))
            return w->work->ref(w, slot->kept);
        drop(w, &slot->kept);
    }
    return step->keep != GROVE_KEEP_NOT && w->work->find ? w->work->find(w, s) : NULL;
}

/* A value that is found need not be made, unless it is to be checked. */
static bool is_found(grove_walk *w, int s)
{
    grove_walk_slot *slot = &w->slots[s];

    slot->value = find_value(w, s);
    if (!slot->value)
        return false;
    if (w->program->steps[s].kind <= GROVE_STEP_CONSTANT)
        return true;
    if (w->work->hit)
        w->work->hit(w, s);
    if (!w->checks)
        return true;
    slot->found = slot->value;
    slot->value = NULL;
    return false;
}

static bool needs_input(const grove_walk *w, const grove_step *step, int k)
{
    return step->input[k] >= 0 &&
           !(w->program->parts && step->kind == GROVE_STEP_ROOT && w->left_out[k]);
}

static void mark(grove_walk *w)
{
    const grove_program *p = w->program;

    for (int s = 0; s < p->step_count; s++)
        w->slots[s].needed = p->steps[s].kind == GROVE_STEP_ROOT &&
                             p->steps[s].follows == w->following && !w->slots[s].idle;
    /* users come after their inputs, and the owner of a loop after the steps in it */
    for (int s = p->step_count - 1; s >= 0; s--) {
        const grove_step *step = &p->steps[s];
        if (step->loop)
            w->slots[s].needed = w->slots[p->loops[step->loop].owner].needed;
        if (!w->slots[s].needed)
            continue;
        if (!step->loop && is_found(w, s)) {
            w->slots[s].needed = false;
            continue;
        }
        for (int k = 0; k < step->inputs; k++)
            if (needs_input(w, step, k))
                w->slots[step->input[k]].needed = true;
    }
}

/* Marks the values that a root may need. */
static void ask(grove_walk *w)
{
    const grove_program *p = w->program;

    for (int s = 0; s < p->step_count; s++)
        w->slots[s].asked = p->steps[s].kind == GROVE_STEP_ROOT || !p->parts;
    for (int s = p->step_count - 1; s >= 0 && p->parts; s--) {
        const grove_step *step = &p->steps[s];
        if (step->loop)
            w->slots[s].asked = w->slots[p->loops[step->loop].owner].asked;
        for (int k = 0; k < step->inputs && w->slots[s].asked; k++)
            if (needs_input(w, step, k))
                w->slots[step->input[k]].asked = true;
    }
}

void grove_walk_give(grove_walk *w, int root_step, bool given)
{
    const grove_program *p = w->program;

    w->slots[root_step].idle = !given;
    for (int s = 0; s < p->step_count; s++)
        w->slots[s].idle = w->slots[s].idle || p->steps[s].kind != GROVE_STEP_ROOT;
    for (int s = p->step_count - 1; s >= 0; s--) {
        const grove_step *step = &p->steps[s];
        if (step->loop)
            w->slots[s].idle = w->slots[p->loops[step->loop].owner].idle;
        for (int k = 0; k < step->inputs && !w->slots[s].idle; k++)
            if (step->input[k] >= 0)
                w->slots[step->input[k]].idle = false;
    }
}

bool grove_walk_gives(const grove_walk *w, int root_step)
{
    return !w->slots[root_step].idle;
}

/* ---- evaluation ---- */

static void keep(grove_walk *w, int s)
{
    const grove_step *step = &w->program->steps[s];
    grove_walk_slot *slot = &w->slots[s];

    drop(w, &slot->kept);
    if (!slot->value)
        return;
    slot->kept = w->work->ref(w, slot->value);
    slot->kept_key = key_of(w, step);
    memcpy(slot->kept_first, w->spot.tile.first, sizeof(slot->kept_first));
}

static int make(grove_walk *w, int s)
{
    grove_walk_slot *slot = &w->slots[s];
    int code = w->work->make(w, s, &slot->value);

    if (!code && slot->found)
        code = w->work->check(w, s, slot->found, slot->value);
    drop(w, &slot->found);
    if (!code && w->program->steps[s].keep == GROVE_KEEP_SLOT)
        keep(w, s);
    return code;
}

static int run_list(grove_walk *w, const grove_loop *loop)
{
    for (int i = 0; i < loop->step_count; i++) {
        int s = loop->steps[i], code = w->slots[s].needed ? make(w, s) : 0;
        const grove_step *step = &w->program->steps[s];
        if (code)
            return code;
        for (int r = 0; r < step->release_count; r++)
            drop(w, &w->slots[step->release[r]].value);
    }
    return 0;
}

int grove_walk_evaluate(grove_walk *w)
{
    mark(w);
    return run_list(w, &w->program->loops[0]);
}

int grove_walk_again(grove_walk *w)
{
    grove_walk_drop_flight(w, (int)(w->number % w->flight_count));
    return grove_walk_evaluate(w);
}

/* Drops values of this tile that no other can use: all, or the ones that this evaluation does not
 * need. */
static void drop_kept(grove_walk *w, bool all)
{
    const grove_program *p = w->program;

    for (int s = 0; s < p->step_count; s++)
        if (p->divided && (p->steps[s].cut & p->divided) == p->divided &&
            (all || (!w->slots[s].needed && !w->slots[s].value)))
            drop(w, &w->slots[s].kept);
}

int grove_walk_follow(grove_walk *w)
{
    w->following = true;
    grove_walk_drop_flight(w, (int)(w->number % w->flight_count));
    mark(w);
    drop_kept(w, false);
    return run_list(w, &w->program->loops[0]);
}

int grove_walk_body(grove_walk *w, int step, int64_t first)
{
    int body = w->program->steps[step].body;
    const grove_loop *loop = &w->program->loops[body];
    int64_t rest = loop->axis->size - first;

    w->spot.chunks[body] = (grove_chunk){first, rest < loop->chunk ? rest : loop->chunk};
    return run_list(w, loop);
}

void grove_walk_end_body(grove_walk *w, int s)
{
    const grove_step *step = &w->program->steps[s];

    for (int k = 0; k < step->inputs; k++)
        if (step->input[k] >= 0 && w->program->steps[step->input[k]].loop == step->body)
            drop(w, &w->slots[step->input[k]].value);
}

/* ---- reading ahead and writing behind ---- */

int grove_walk_read_ahead(grove_walk *w, const grove_tile *tile)
{
    const grove_program *p = w->program;
    bool any = false;

    if (w->serial)
        return 0;
    w->spot.tile = grove_tile_block(p, tile);
    ask(w);
    for (int s = 0; s < p->step_count; s++) {
        if (!p->steps[s].ahead || !w->slots[s].asked || w->slots[s].idle)
            continue;
        int code = w->work->prepare(w, s, &w->slots[s].next);
        if (code)
            return code;
        any = true;
    }
    if (any && w->work->read)
        w->work->read(w);
    return 0;
}

static int take_read(grove_walk *w)
{
    int code = w->work->was_read && !w->serial ? w->work->was_read(w) : 0;

    for (int s = 0; s < w->program->step_count; s++) {
        grove_walk_slot *slot = &w->slots[s];
        if (!slot->next)
            continue;
        drop(w, &slot->ready);
        slot->ready = slot->next;
        slot->next = NULL;
    }
    return code;
}

int grove_walk_begin(grove_walk *w, const grove_tile *tile, const grove_tile *next)
{
    int code = w->work->written ? w->work->written(w) : 0;

    grove_walk_drop_flight(w, (int)(w->number % w->flight_count));
    w->following = false;
    if (!code)
        code = take_read(w);
    if (!code && next)
        code = grove_walk_read_ahead(w, next);
    w->spot.tile = grove_tile_block(w->program, tile);
    return code;
}

void grove_walk_end(grove_walk *w)
{
    drop_kept(w, true);
    if (w->serial)
        grove_walk_drop_flight(w, (int)(w->number % w->flight_count));
    w->number++;
}

void *grove_walk_take_ready(grove_walk *w, int step)
{
    void *ready = w->slots[step].ready;

    w->slots[step].ready = NULL;
    return ready;
}

void grove_walk_hold(grove_walk *w, void *value)
{
    grove_flight *flight = &w->flights[w->number % w->flight_count];

    grove_grow((void **)&flight->values, &flight->capacity, flight->count, sizeof(void *));
    flight->values[flight->count++] = value;
}

/* ---- releasing ---- */

void grove_walk_drop_flight(grove_walk *w, int k)
{
    grove_flight *flight = &w->flights[k];

    for (size_t i = 0; i < flight->count; i++)
        drop(w, &flight->values[i]);
    flight->count = 0;
}

void grove_walk_drop(grove_walk *w)
{
    for (int s = 0; s < w->program->step_count; s++) {
        grove_walk_slot *slot = &w->slots[s];
        drop(w, &slot->value);
        drop(w, &slot->found);
        drop(w, &slot->ready);
        drop(w, &slot->next);
    }
}

void grove_walk_forget(grove_walk *w, bool all)
{
    const grove_program *p = w->program;

    for (int s = 0; s < p->step_count; s++)
        if (all || p->steps[s].keep != GROVE_KEEP_SLOT || p->steps[s].cut & p->divided)
            drop(w, &w->slots[s].kept);
}
