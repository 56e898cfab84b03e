/* The planes that degrid is given. */
#include "nodes/imaging/degrid.h"

#include "unstable/hash.h"

#include <stdlib.h>
#include <string.h>

int degrid_parameters(const options_read *o)
{
    return o->is_idg ? o->idg.mix.images : image_mueller_parameters(&o->mueller);
}

int degrid_numbers(const options_read *o)
{
    return o->has_functions ? o->convolution.visibilities : o->is_idg ? o->idg.mix.visibilities : 1;
}

degrid_given degrid_planes(const grove_call *call, int plane)
{
    static const char *const names[] = {"u", "v", "w_plane"};
    const grove_args *args = call->args;
    const options_read *o = grove_node_user(call->node);
    const int freq = grove_args_axis(args, GROVE_AXIS_FREQ);
    const int64_t first = o->cube.same && freq >= 0 ? args->origin[freq] : 0;
    degrid_given g = {.from = args->in[PLANES].data,
                      .grid = o->plan.grid,
                      .planes = o->plan.planes,
                      .cell = 2 *
                              (int64_t)(call->double_precision ? sizeof(double) : sizeof(float)) *
                              degrid_parameters(o)};

    for (int d = 0; d < 3; d++)
        g.step[d] = image_stage_in_step(args, PLANES, names[d]);
    if (o->cube.axis)
        g.from += (plane - first) * image_stage_in_step(args, PLANES, "freq");
    return g;
}

bool degrid_is_dense(const degrid_given *g)
{
    return g->step[0] == g->cell && g->step[1] == g->grid[0] * g->cell &&
           (g->planes == 1 || g->step[2] == g->grid[1] * g->step[1]);
}

grove_hash degrid_hash_planes(const degrid_given *g)
{
    const int64_t run = g->step[0] == g->cell ? g->grid[0] : 1;
    grove_hash hash = grove_hash_start();

    for (int64_t w = 0; w < g->planes; w++)
        for (int64_t v = 0; v < g->grid[1]; v++)
            for (int64_t u = 0; u < g->grid[0]; u += run)
                hash =
                    grove_hash_add(hash, g->from + w * g->step[2] + v * g->step[1] + u * g->step[0],
                                   (size_t)(run * g->cell));
    return hash;
}

void *degrid_copy_planes(const degrid_given *g)
{
    char *copy = malloc((size_t)(g->planes * g->grid[0] * g->grid[1] * g->cell)), *to = copy;

    for (int64_t w = 0; copy && w < g->planes; w++)
        for (int64_t v = 0; v < g->grid[1]; v++)
            for (int64_t u = 0; u < g->grid[0]; u++, to += g->cell)
                memcpy(to, g->from + w * g->step[2] + v * g->step[1] + u * g->step[0],
                       (size_t)g->cell);
    return copy;
}
