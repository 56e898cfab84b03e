/* Zeroes cells of a class's result that need not be computed, because an input handed over as flags
 * has all elements flagged. The cpu skips these cells; kernels on devices may leave anything there.
 */
#include "run/launch.h"
#include "run/step.h"

#include "device/array.h"

#include <string.h>

static int blank(const grove_run *run, const grove_step *step, int k, grove_value *from,
                 grove_value *out)
{
    grove_session *session = run->session;
    uint32_t all = from->elements >= 8 ? 255 : (1u << from->elements) - 1;
    grove_launch launch;

    grove_launch_begin(&launch, session, &grove_array_blank, GROVE_LAUNCH_ON_DEVICE, out->range,
                       out->axes, 1);
    memcpy(launch.args.state.bytes, &all, sizeof(all));
    int code = grove_launch_input_flags(&launch, 0, from, step->side[k], session->error);
    if (!code)
        code = grove_launch_output(&launch, out, session->error);
    return code ? code : grove_launch_run(session, &launch);
}

int grove_compute_blank(const grove_run *run, const grove_step *step, grove_value *value)
{
    int code = 0;

    for (int k = 0; k < step->node->input_count && !code; k++) {
        grove_value *from = grove_run_value(run, step->input[k]);
        if (from && from->flags && step->node->handing[k] == GROVE_AS_FLAGS)
            code = blank(run, step, k, from, value);
    }
    return code;
}
