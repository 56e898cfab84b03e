/* The grids of gridding by convolution functions on a device: to and from Stokes parameters, and to
 * the host. */
#include "nodes/imaging/image_convolve.h"
#include "nodes/imaging/image_launch.h"

#include "util.h"

#include <stdlib.h>
#include <string.h>

static const grove_kernel mix = {
    "gridder_convolve_mix_cells", NULL, NULL, "gridder_convolve.cu", NULL, 0, 0};

static uint64_t pair_of(const grove_convolution_plan *plan)
{
    return 2 * (plan->double_precision ? sizeof(double) : sizeof(float));
}

typedef struct {
    double at[GROVE_CONVOLVE_MOST][GROVE_CONVOLVE_MOST][2]; /* [to][from] */
} factors;

static int mix_grids(const grove_call *call, const grove_convolution_plan *plan,
                     const factors *matrix, const void *from, void *to,
                     grove_convolve_mix_state *state)
{
    const void *table = NULL;
    int code = grove_call_send(call, matrix, sizeof(*matrix), &table);

    state->row = grove_gridder_divide_by((int32_t)plan->grid[0]);
    return code ? code
                : image_launch_items(call, &mix, plan->grid[0] * plan->grid[1], from, table, to,
                                     state, sizeof(*state));
}

int image_convolve_take(const grove_call *call, const image_convolving *by, const image_convolve *d,
                        const image_convolve_part *part)
{
    const grove_convolution_plan *plan = &by->plan;
    const int64_t pair = (int64_t)pair_of(plan);
    grove_convolve_mix_state state = {
        .count = {image_mueller_parameters(by->mueller), plan->images},
        .from_step = {part->step[0], part->step[1], pair},
        .to_step = {pair, plan->grid[0] * pair, plan->grid[0] * plan->grid[1] * pair}};
    factors matrix = {0};

    for (int r = 0; r < plan->images; r++)
        memcpy(matrix.at[r], by->mueller->basis[r], sizeof(matrix.at[r]));
    return mix_grids(call, plan, &matrix, part->cells, d->grids, &state);
}

int image_convolve_give(const grove_call *call, const image_convolving *by, const image_convolve *d,
                        int band, const double factor[4], void *to)
{
    const grove_convolution_plan *plan = &by->plan;
    const int parameters = image_mueller_parameters(by->mueller);
    const int64_t pair = (int64_t)pair_of(plan);
    const double half = by->mueller->shape > 1 ? 0.5 : 1;
    grove_convolve_mix_state state = {
        .count = {plan->images, parameters},
        .from_step = {pair, plan->grid[0] * pair, plan->grid[0] * plan->grid[1] * pair},
        .to_step = {parameters * pair, plan->grid[0] * parameters * pair, pair}};
    factors matrix = {0};

    for (int s = 0; s < parameters; s++)
        for (int r = 0; r < plan->images; r++) {
            matrix.at[s][r][0] = half * factor[r] * by->mueller->basis[r][s][0];
            matrix.at[s][r][1] = -half * factor[r] * by->mueller->basis[r][s][1];
        }
    return mix_grids(call, plan, &matrix,
                     (const char *)d->grids + band * grove_convolution_cells(plan) * pair, to,
                     &state);
}

int image_convolve_fetch(const grove_call *call, const image_convolving *by,
                         const image_convolve *d, void *grids)
{
    const uint64_t bytes =
        (uint64_t)(grove_convolution_bands(&by->plan) * grove_convolution_cells(&by->plan)) *
        pair_of(&by->plan);
    const size_t count = bytes / (pair_of(&by->plan) / 2);
    void *more = malloc(bytes);
    int code = more ? grove_call_fetch(call, more, d->grids, bytes)
                    : grove_node_fail(call->node, GROVE_NO_MEMORY,
                                      "not enough memory for the results of the device");

    for (size_t i = 0; i < count && !code; i++)
        if (by->plan.double_precision)
            ((double *)grids)[i] += ((const double *)more)[i];
        else
            ((float *)grids)[i] += ((const float *)more)[i];
    free(more);
    return code;
}

int image_convolve_totals(const grove_call *call, const image_convolve *d, int band,
                          double totals[GROVE_CONVOLVE_TOTALS])
{
    return grove_call_fetch(call, totals, d->totals + (ptrdiff_t)GROVE_CONVOLVE_TOTALS * band,
                            GROVE_CONVOLVE_TOTALS * sizeof(double));
}
