/* Sums that a class takes over sources, section by section: memory need not hold what all sources
 * have at once. Sections are the same for every tile; they are added in double, in order. */
#include "run/flags.h"
#include "run/launch.h"
#include "run/partial_sums.h"
#include "run/step.h"

static grove_sums *new_sums(const grove_run *run, const grove_value *part)
{
    return grove_sums_new(run->session->host, GROVE_REDUCE_SUM, part->range, part->axes,
                          part->elements, part->complex_ ? 2 : 1, false, run->session->error);
}

static int add_part(const grove_run *run, grove_sums *sums, grove_value *part)
{
    grove_session *session = run->session;
    bool done = false;
    int code = 0;

    if (grove_buffer_is_on(part->data, session->device) && !grove_buffer_is_on(part->data, NULL))
        code =
            grove_sums_add_value_there(session, sums, part, part->range, part->axes, NULL, &done);
    if (!code && !done)
        code = grove_launch_to_host(session, part->data);
    if (code || done)
        return code;
    return grove_sums_add_value(sums, part, part->range, part->axes, NULL, session->host->threads,
                                session->error);
}

/* Flags of any section are the sum's. */
static int add_flags(const grove_run *run, const grove_step *step, grove_value *part,
                     grove_value *sum)
{
    if (!part->flags)
        return 0;
    int code = sum->flags ? 0 : grove_step_store_flags(run, step, sum);
    return code ? code : grove_flags_merge(run->session, part, sum);
}

static int finish(const grove_run *run, grove_sums *sums, grove_value *value)
{
    grove_session *session = run->session;
    bool done = false;
    size_t bytes;
    int code = 0;

    if (grove_buffer_is_on(sums->storage[0], session->device) &&
        !grove_buffer_is_on(sums->storage[0], NULL))
        code = grove_sums_finish_there(session, sums, 1, value, false, &done);
    if (code || done)
        return code;
    if (!grove_value_size(value, &bytes))
        return grove_fail(session->error, GROVE_NO_MEMORY, "a value is larger than any memory");
    value->data = grove_buffer_new(session->host, bytes, session->error);
    return value->data ? grove_sums_finish(sums, 1, value, session->error) : GROVE_NO_MEMORY;
}

static int add_section(grove_run *run, const grove_step *step, int64_t first, grove_sums **sums,
                       grove_value *sum)
{
    grove_value *part = NULL;
    int code = grove_run_body(run, step, first);

    if (!code)
        code = grove_compute_class(run, step, &part);
    grove_run_end_body(run, step);
    if (!code && !*sums && !(*sums = new_sums(run, part)))
        code = GROVE_NO_MEMORY;
    if (!code)
        code = add_part(run, *sums, part);
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
    grove_sums *sums = NULL;
    int code = 0;

    while (first < size && !code) {
        code = add_section(run, step, first, &sums, sum);
        first += p->loops[step->body].chunk;
    }
    if (!code)
        code = finish(run, sums, sum);
    grove_sums_free(sums);
    *value = code ? NULL : sum;
    if (code)
        grove_value_unref(sum);
    return code;
}
