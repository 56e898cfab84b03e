/* Where a class need not compute anything because all elements of a value are flagged, its result
 * is 0, as on a cpu: devices compute it all the same, or leave anything there. */
#include "run/launch.h"
#include "run/step.h"

#include "device/array.h"

#include <string.h>

static int blank_here(grove_session *session, const grove_launch *launch, grove_args *args)
{
    int code = grove_launch_fetch(session, launch->out);

    if (!code)
        code = grove_value_settle(launch->in[0], NULL, &args->in[0], session->error);
    if (!code && !grove_buffer_write(launch->out->data, NULL, session->error))
        code = GROVE_NO_MEMORY;
    if (!code)
        code = grove_value_settle(launch->out, NULL, &args->out, session->error);
    return code ? code
                : grove_device_launch(session->host, launch->kernel, args, launch->double_,
                                      session->error);
}

static int blank(const grove_run *run, const grove_step *step, int k, grove_value *from,
                 grove_value *out)
{
    grove_session *session = run->session;
    grove_value flags = {.data = from->flags};
    grove_args args = {.axes = out->axes, .inputs = 1};
    grove_launch launch = {&grove_array_blank, &args, step->double_, out, {&flags}};
    uint32_t all = from->elements >= 8 ? 255 : (1u << from->elements) - 1;
    bool done = false;

    for (int d = 0; d < out->axes; d++) {
        args.size[d] = out->range[d].count;
        args.axis[d] = out->range[d].axis->kind;
    }
    memcpy(args.state.bytes, &all, sizeof(all));
    int code = grove_value_layout(out, out->range, out->axes, 0, &args.out, session->error);
    if (!code)
        code = grove_value_flag_layout(from, &flags, out->range, out->axes, step->side[k],
                                       &args.in[0], session->error);
    if (!code && grove_launch_has(session, launch.kernel, step->double_))
        code = grove_launch_run(session, &launch, &done);
    return code || done ? code : blank_here(session, &launch, &args);
}

int grove_compute_blank(const grove_run *run, const grove_step *step, grove_value *value)
{
    int code = 0;

    for (int k = 0; k < step->inputs && !code; k++) {
        grove_value *from = grove_run_value(run, step->input[k]);
        if (from && from->flags && step->node->handing[k] == GROVE_AS_FLAGS)
            code = blank(run, step, k, from, value);
    }
    return code;
}
