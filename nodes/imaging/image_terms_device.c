/* Terms of the image plane on the pixels of subgrids, made by a device. */
#include "nodes/imaging/image_terms.h"

#include "../../kernels/imaging/idg/idg_device.h"
#include "unstable/keep.h"
#include "util.h"

#include <stdlib.h>
#include <string.h>

enum { L, M, STATION, TIME, FREQ };

static uint64_t taps_bytes(const grove_idg_plan *plan)
{
    return (uint64_t)(2 * plan->side) * sizeof(grove_idg_taps);
}

uint64_t image_terms_device_bytes(const image_terms *t, const grove_idg_plan *plan, int64_t times,
                                  int64_t channels, int64_t bands)
{
    return t->input < 0 ? 0
                        : image_terms_bytes(t, plan, times, channels, bands) + sizeof(int32_t) +
                              taps_bytes(plan) + (uint64_t)(times + channels + 2) * sizeof(int64_t);
}

/* Taps, and behind them where the cells of blocks are. */
static int send_lists(const grove_call *call, const image_terms *t, const grove_idg_plan *plan,
                      const image_terms_numbers *from, const image_terms_made *made,
                      grove_args *args)
{
    const int64_t times = made->time_blocks, channels = made->terms.channel_blocks;
    const uint64_t taps = taps_bytes(plan),
                   bytes = taps + (uint64_t)(times + channels) * sizeof(int64_t);
    char *packed = malloc(bytes);
    int64_t *cell = (int64_t *)(void *)(packed + taps);
    const void *at = NULL;

    if (!packed)
        return GROVE_MISSING;
    image_terms_taps(t, plan, (grove_idg_taps *)(void *)packed);
    for (int64_t k = 0; k < times; k++)
        cell[k] = made->time[k] * from->step[TIME];
    for (int64_t k = 0; k < channels; k++)
        cell[times + k] = made->channel[k] * from->step[FREQ];
    const int code = grove_call_send(call, packed, bytes, &at);
    free(packed);
    args->in[GROVE_IDG_RASTER_TAPS].data = (void *)(uintptr_t)at;
    args->in[GROVE_IDG_RASTER_CELLS].data = (char *)(uintptr_t)at + taps;
    return code;
}

static grove_idg_sampling sampling_of(const image_terms *t, const grove_idg_plan *plan,
                                      const image_terms_numbers *from, const image_terms_made *made)
{
    grove_idg_sampling s = {
        .side = grove_gridder_divide_by(plan->side),
        .elements = grove_gridder_divide_by(t->elements),
        .channels = grove_gridder_divide_by((int32_t)made->terms.channel_blocks),
        .stations = grove_gridder_divide_by((int32_t)t->stations),
        .step = {from->step[L], from->step[M], from->step[STATION]},
        .numbers =
            (int64_t)(made->bytes / (from->double_precision ? sizeof(double) : sizeof(float))),
        .times = (int32_t)made->time_blocks,
        .line = (int32_t)grove_idg_line(plan)};

    for (int d = 0; d < 2; d++)
        s.size[d] = t->raster[d] ? (int32_t)t->raster[d]->size : 1;
    return s;
}

static int find_fault(const grove_call *call, const char *at)
{
    int32_t fault = 0;
    const int code = grove_call_fetch(call, &fault, at, sizeof(fault));

    return code ? code : fault ? GROVE_MISSING : 0;
}

int image_terms_make_on_device(const grove_call *call, const image_terms *t,
                               const grove_idg_plan *plan, const image_terms_numbers *from,
                               const image_terms_made *made, const void **at)
{
    const int64_t blocks =
        made->time_blocks * t->stations * made->terms.channel_blocks * t->elements * plan->side;
    grove_args args = {
        .axes = 1, .inputs = GROVE_IDG_RASTER_INPUTS, .size = {blocks * GROVE_IDG_BLOCK}};
    const grove_idg_sampling state = sampling_of(t, plan, from, made);

    if (blocks > INT32_MAX)
        return GROVE_MISSING;
    int code = grove_call_send(call, NULL, made->bytes + sizeof(int32_t), at);
    char *to = (char *)(uintptr_t)*at;
    code = code ? code : grove_call_zero(call, to + made->bytes, sizeof(int32_t));
    code = code ? code : send_lists(call, t, plan, from, made, &args);
    args.in[GROVE_IDG_RASTER].data = (void *)(uintptr_t)from->at;
    args.out.data = to;
    memcpy(args.state.bytes, &state, sizeof(state));
    code = code ? code
                : grove_call_launch(call, &grove_idg_terms_kernel, &args, call->double_precision);
    return code ? code : find_fault(call, to + made->bytes);
}
