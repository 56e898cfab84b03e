/* Reductions: their input goes into an accumulator, as a whole or in chunks along sources. */
#include "run/step.h"

#include <string.h>

/* The ranges of a reduction's input: what its step has, chunks of one axis, and whole axes. */
static int input_space(const grove_run *run, const grove_step *step, grove_range *space)
{
    const grove_node *in = step->node->inputs[0].node;
    grove_range own[GROVE_MAX_AXES];

    grove_run_ranges(run, step, own);
    for (int d = 0; d < in->axis_count; d++) {
        const grove_axis *axis = in->axes[d];
        space[d] = (grove_range){axis, 0, axis->size};
        for (int e = 0; e < step->axes; e++)
            if (own[e].axis == axis)
                space[d] = own[e];
        if (step->body && run->program->loops[step->body].axis == axis) {
            grove_chunk chunk = grove_run_chunk(run, step);
            space[d] = (grove_range){axis, chunk.first, chunk.count};
        }
    }
    return in->axis_count;
}

static int add_input(grove_run *run, const grove_step *step, grove_accumulator *accumulator,
                     bool chunk)
{
    grove_session *session = run->session;
    grove_range space[GROVE_MAX_AXES];
    int axes = input_space(run, step, space);

    if (step->collects) /* what a whole pass gathers cannot be taken back */
        session->may_yield = false;
    return grove_accumulator_add(accumulator, &run->walk->spot.tile,
                                 grove_run_value(run, step->input[0]), space, axes, chunk);
}

int grove_reduce_input(grove_run *run, const grove_step *step, grove_accumulator *accumulator)
{
    const grove_program *p = run->program;

    if (!step->body)
        return add_input(run, step, accumulator, false);
    for (int64_t first = 0; first < p->loops[step->body].axis->size;) {
        int code = grove_run_body(run, step, first);
        if (!code)
            code = add_input(run, step, accumulator, true);
        grove_run_end_body(run, step);
        if (code)
            return code;
        first += p->loops[step->body].chunk;
    }
    return grove_accumulator_end_chunks(accumulator, &run->walk->spot.tile);
}

int grove_compute_reduction(grove_run *run, const grove_step *step, grove_value **value)
{
    /* what is cut here is not reduced, or it would be a pass of its own; and what is selected may
     * be a part of the tile */
    const grove_block whole = {0};
    grove_accumulator *accumulator =
        grove_accumulator_new(run->session, step->node, &whole, 0, step->flagged);
    int code = grove_reduce_input(run, step, accumulator);
    grove_range range[GROVE_MAX_AXES];

    grove_run_ranges(run, step, range);
    if (!code)
        code = grove_accumulator_finish(accumulator, range, step->double_, step->flagged, value);
    if (!code)
        memcpy(&(*value)->unit, &step->node->form.unit, sizeof((*value)->unit));
    grove_accumulator_free(accumulator);
    return code;
}
