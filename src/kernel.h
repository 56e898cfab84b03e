/* Compiles the cell functions of GROVE_KERNEL_SOURCE in single and in double precision, each with
 * its driver: a loop over a range of cells for the CPU. No include guard on purpose: a file may
 * instantiate several kernel headers. */
#include "cell.h"

#ifndef GROVE_CELL
/* Runs a cell function over [first, last) of the output space with running pointers. A header may
 * hold several cell functions of which a node uses one. */
#define GROVE_CELL(name)                                                                           \
    GROVE_FN void GROVE_NAME(name##_cell)(const grove_cell *c);                                    \
    __attribute__((unused)) static void GROVE_NAME(name##_cells)(const grove_args *args,           \
                                                                 int64_t first, int64_t last)      \
    {                                                                                              \
        grove_cell cell;                                                                           \
        for (int64_t done = first; done < last;) {                                                 \
            int64_t run = grove_cell_start(&cell, args, done, last);                               \
            for (int64_t k = 0; k < run; k++) {                                                    \
                GROVE_NAME(name##_cell)(&cell);                                                    \
                grove_cell_step(&cell);                                                            \
            }                                                                                      \
            done += run;                                                                           \
        }                                                                                          \
    }                                                                                              \
    GROVE_FN void GROVE_NAME(name##_cell)(const grove_cell *c)

/* Sets `cell` to output cell number `at`; returns how many cells follow by steps along the last
 * axis, at most last - at. Where the last axis is gathered that is one. */
GROVE_FN int64_t grove_cell_start(grove_cell *cell, const grove_args *args, int64_t at,
                                  int64_t last)
{
    int inner = args->axes - 1;
    int64_t rest = at, run = last - at;

    cell->args = args;
    for (int d = inner; d >= 0; d--) {
        cell->index[d] = rest % args->size[d];
        rest /= args->size[d];
    }
    if (inner >= 0 && run > args->size[inner] - cell->index[inner])
        run = args->size[inner] - cell->index[inner];
    for (int k = 0; k < args->inputs; k++) {
        cell->in[k] = grove_view_at(&args->in[k], cell->index, args->axes);
        if (args->in[k].gather && args->in[k].gather_axis == inner)
            run = 1;
    }
    cell->out = grove_view_at(&args->out, cell->index, args->axes);
    return run;
}

GROVE_FN void grove_cell_step(grove_cell *cell)
{
    const grove_args *args = cell->args;
    int inner = args->axes - 1;

    if (inner < 0)
        return;
    cell->index[inner]++;
    for (int k = 0; k < args->inputs; k++)
        if (args->in[k].stride[inner])
            cell->in[k] += args->in[k].stride[inner];
    cell->out += args->out.stride[inner];
}
#endif

#define real          float
#define cplx          grove_cplx32
#define GROVE_NAME(x) x##_single
#ifndef GROVE_CELL_MATH
#include "cell_math.h"
#endif
#include GROVE_KERNEL_SOURCE
#undef real
#undef cplx
#undef GROVE_NAME

#define real          double
#define cplx          grove_cplx64
#define GROVE_NAME(x) x##_double
#ifndef GROVE_CELL_MATH
#include "cell_math.h"
#define GROVE_CELL_MATH
#endif
#include GROVE_KERNEL_SOURCE
#undef real
#undef cplx
#undef GROVE_NAME
#undef GROVE_KERNEL_SOURCE
