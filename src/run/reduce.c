/* Reductions: their input goes into an accumulator, as a whole or in chunks along sources. */
#include "run/step.h"

#include <string.h>

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

static int add_input(grove_run *run, const grove_step *step, grove_accumulator *accumulator,
                     bool chunk)
{
    grove_session *session = run->session;
    grove_range space[GROVE_MAX_AXES];
    int axes = input_space(run, step, space);

    if (step->collects) /* what a whole pass gathers cannot be taken back */
        session->may_yield = false;
    return grove_accumulator_add(accumulator, &run->program->tile,
                                 run->program->steps[step->input[0]].value, space, axes, chunk);
}

int grove_reduce_input(grove_run *run, const grove_step *step, grove_accumulator *accumulator)
{
    grove_program *p = run->program;

    if (!step->body)
        return add_input(run, step, accumulator, false);
    for (int64_t first = 0; first < p->loops[step->body].axis->size;) {
        int code = grove_run_body(run, step, first);
        if (!code)
            code = add_input(run, step, accumulator, true);
        grove_run_end_body(run, step);
        if (code)
            return code;
        first += p->loops[step->body].count;
    }
    return grove_accumulator_end_chunks(accumulator, &p->tile);
}

int grove_compute_reduction(grove_run *run, grove_step *step)
{
    grove_program *p = run->program;
    grove_range range[GROVE_MAX_AXES];
    /* what is cut here is not reduced, or it would be a pass of its own */
    grove_accumulator *accumulator =
        grove_accumulator_new(run->session, step->node, &p->tile, 0, step->flagged);
    int code = grove_reduce_input(run, step, accumulator);

    grove_step_ranges(p, step, range);
    if (!code)
        code = grove_accumulator_finish(accumulator, range, step->double_, step->flagged,
                                        &step->value);
    if (!code)
        memcpy(&step->value->unit, &step->node->form.unit, sizeof(step->value->unit));
    grove_accumulator_free(accumulator);
    return code;
}
