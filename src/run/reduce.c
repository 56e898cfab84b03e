/* Reductions: pass their input to an accumulator, as a whole or in chunks along sources. */
#include "run/step.h"

static int add_input(grove_run *run, const grove_step *step, void *accumulator)
{
    grove_session *session = run->session;
    grove_range space[GROVE_MAX_AXES];
    int axes = grove_step_taken_ranges(run->program, &run->walk->spot, step, 0, space);

    if (step->collects) /* a pass's accumulator cannot be undone */
        session->may_yield = false;
    bool leaves = step->rows >= 0 && run->program->steps[step->input[0]].rows_only;
    return grove_accumulator_add(
        accumulator, &run->walk->spot.tile, grove_run_value(run, step->input[0]),
        leaves ? grove_run_value(run, step->input[step->rows]) : NULL, space, axes, step->body > 0);
}

int grove_reduce_input(grove_run *run, const grove_step *step, grove_accumulator *accumulator)
{
    int code = grove_run_chunks(run, step, add_input, accumulator);

    return code ? code : grove_accumulator_end_chunks(accumulator, &run->walk->spot.tile);
}

int grove_compute_reduction(grove_run *run, const grove_step *step, grove_value **value)
{
    /* axes that tiles cut are not reduced in this way, and a selection may be a part of the tile */
    const grove_block whole = {0};
    grove_accumulator *accumulator =
        grove_accumulator_new(run->session, step->node, &whole, 0, step->flagged);
    int code = grove_reduce_input(run, step, accumulator);
    grove_range range[GROVE_MAX_AXES];

    grove_run_ranges(run, step, range);
    if (!code)
        code = grove_accumulator_finish(accumulator, range, step->double_, step->flagged, value);
    if (!code)
        (*value)->unit = step->node->form.unit;
    grove_accumulator_free(accumulator);
    return code;
}
