/* Sums that a class takes over sources, in sections, to save memory. Sections are the same for
 * every tile; their sums are added in double, in order. */
#include "run/block_sums.h"
#include "run/flags.h"
#include "run/step.h"

/* Flags of any section flag the sum. */
static int add_flags(const grove_run *run, const grove_step *step, grove_value *part,
                     grove_value *sum)
{
    if (!part->flags)
        return 0;
    int code = sum->flags ? 0 : grove_step_store_flags(run, step, sum);
    return code ? code : grove_flags_merge(run->session, part, sum);
}

static int add_section(grove_run *run, const grove_step *step, int64_t first,
                       grove_block_sums **sums, grove_value *sum)
{
    grove_value *part = NULL;
    int code = grove_run_body(run, step, first);

    if (!code)
        code = grove_compute_class(run, step, &part);
    grove_run_end_body(run, step);
    if (!code && !*sums)
        *sums = grove_block_sums_new(GROVE_REDUCE_SUM, part->range, part->axes, part->elements,
                                     part->complex_ ? 2 : 1, false, NULL, 0);
    if (!code)
        code = grove_block_sums_add_value(run->session, *sums, part, NULL, part->range, part->axes,
                                          first == 0);
    if (!code)
        code = add_flags(run, step, part, sum);
    grove_value_unref(part);
    return code;
}

int grove_compute_sections(grove_run *run, const grove_step *step, grove_value **value)
{
    const grove_program *p = run->program;
    int64_t size = p->loops[step->body].axis->size, first = 0;
    grove_value *sum = grove_step_bare_value(run, step);
    grove_block_sums *sums = NULL;
    int code = 0;

    while (first < size && !code) {
        code = add_section(run, step, first, &sums, sum);
        first += p->loops[step->body].chunk;
    }
    if (!code)
        code = grove_block_sums_finish(run->session, sums, 1, sum, false);
    grove_block_sums_free(sums);
    *value = code ? NULL : sum;
    if (code)
        grove_value_unref(sum);
    return code;
}
