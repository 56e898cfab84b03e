/* Compiles the cell functions of GROVE_KERNEL_SOURCE in single and in double precision, each with a
 * loop over a range of cells for the CPU or a kernel for CUDA or OpenCL. Deliberately without
 * include guard: a file may instantiate several kernel headers. */
#include "cell.h"

#ifndef GROVE_CELL
#if defined(GROVE_CUDA) || defined(GROVE_OPENCL)
/* A kernel for a cell function: each thread takes cells in steps of the whole grid. */
#define GROVE_CELL(name)                                                                           \
    GROVE_FN void GROVE_NAME(name##_cell)(const grove_cell *c);                                    \
    GROVE_CELL_KERNEL(GROVE_NAME(name), GROVE_NAME(name##_cell))                                   \
    GROVE_FN void GROVE_NAME(name##_cell)(const grove_cell *c)

#ifdef GROVE_OPENCL
/* A kernel that calls a function of the arguments, in the current precision. The device defines
 * GROVE_GENERIC, which makes a pointer without address space. */
#define GROVE_OPENCL_KERNEL(name, function)                                                        \
    __kernel void GROVE_NAME(name)(__global const grove_args *given)                               \
    {                                                                                              \
        function(GROVE_GENERIC(const grove_args, given));                                          \
    }
#define GROVE_UNROLL
#define GROVE_UNROLL_NOT
#define GROVE_CELL_KERNEL(kernel_, function)                                                       \
    __kernel void kernel_(__global const grove_args *given)                                        \
    {                                                                                              \
        const grove_args *args = GROVE_GENERIC(const grove_args, given);                           \
        const int64_t cells = args->walk.cells, step = get_global_size(0);                         \
        for (int64_t at = get_global_id(0); at < cells; at += step) {                              \
            grove_cell cell;                                                                       \
            grove_cell_find(&cell, args, at);                                                      \
            function(&cell);                                                                       \
        }                                                                                          \
    }
#else
#define GROVE_UNROLL     _Pragma("unroll")
#define GROVE_UNROLL_NOT _Pragma("unroll 1")
#define GROVE_CELL_KERNEL(kernel_, function)                                                       \
    extern "C" __global__ void kernel_(const __grid_constant__ grove_args args)                    \
    {                                                                                              \
        const int64_t cells = args.walk.cells, step = (int64_t)gridDim.x * blockDim.x;             \
        int64_t at = (int64_t)blockIdx.x * blockDim.x + threadIdx.x;                               \
        for (; at < cells; at += step) {                                                           \
            grove_cell cell;                                                                       \
            grove_cell_find(&cell, &args, at);                                                     \
            function(&cell);                                                                       \
        }                                                                                          \
    }                                                                                              \
    GROVE_CUDA_EXPORT(kernel_)
#endif

/* grove_cell_add_NAME adds `index` steps along an axis to the addresses of a cell,
 * grove_cell_add_run_NAME along a run; with 32 bits, both a step's bytes and `index` are below
 * 2^31. Loops have constant lengths, so that the compiler keeps addresses in registers, and leaves
 * out addresses that a cell function ignores. */
#define GROVE_CELL_ADD(NAME, number)                                                               \
    GROVE_FN int64_t grove_cell_bytes_##NAME(const grove_view *view, int axis, number steps)       \
    {                                                                                              \
        return (int64_t)((uint64_t)(number)view->stride[axis] * steps);                            \
    }                                                                                              \
    GROVE_FN void grove_cell_add_##NAME(grove_cell *cell, int axis, number index)                  \
    {                                                                                              \
        const grove_args *args = cell->args;                                                       \
        GROVE_UNROLL                                                                               \
        for (int k = 0; k < GROVE_MAX_INPUTS; k++)                                                 \
            if (k < GROVE_FEW_INPUTS || args->inputs > GROVE_FEW_INPUTS)                           \
                cell->in[k] += grove_cell_bytes_##NAME(&args->in[k], axis, index);                 \
        cell->out += grove_cell_bytes_##NAME(&args->out, axis, index);                             \
    }                                                                                              \
    GROVE_FN void grove_cell_add_run_##NAME(grove_cell *cell, const grove_cell_run *run,           \
                                            number index)                                          \
    {                                                                                              \
        const grove_args *args = cell->args;                                                       \
        const int axis = run->axis;                                                                \
        if (!run->gathers) {                                                                       \
            grove_cell_add_##NAME(cell, axis, index);                                              \
            return;                                                                                \
        }                                                                                          \
        GROVE_UNROLL                                                                               \
        for (int k = 0; k < GROVE_MAX_INPUTS; k++)                                                 \
            if (k < GROVE_FEW_INPUTS || args->inputs > GROVE_FEW_INPUTS) {                         \
                const grove_view *view = &args->in[k];                                             \
                const bool gathered = view->gather && view->gather_axis == axis;                   \
                cell->in[k] += grove_cell_bytes_##NAME(                                            \
                    view, axis, gathered ? (number)view->gather[index] : index);                   \
            }                                                                                      \
        cell->out += grove_cell_bytes_##NAME(&args->out, axis, index);                             \
    }
GROVE_CELL_ADD(few, uint32_t)
GROVE_CELL_ADD(many, uint64_t)

/* Sets the addresses of `cell` to output cell number `at`. */
GROVE_FN void grove_cell_addresses(grove_cell *cell, const grove_args *args, int64_t at)
{
    const grove_cell_walk *walk = &args->walk;

    GROVE_UNROLL
    for (int k = 0; k < GROVE_MAX_INPUTS; k++)
        cell->in[k] = (const char *)args->in[k].data;
    cell->out = (char *)args->out.data;
    if (walk->plain) {
        grove_cell_add_few(cell, walk->run[0].axis, (uint32_t)at);
    } else if (walk->few) {
        uint32_t rest = (uint32_t)at;
        GROVE_UNROLL_NOT
        for (int r = 0; r < walk->runs; r++) {
            const grove_cell_run *run = &walk->run[r];
            uint32_t next = grove_quotient(&run->by, rest);
            grove_cell_add_run_few(cell, run, rest - next * (uint32_t)run->by.size);
            rest = next;
        }
    } else {
        GROVE_UNROLL_NOT
        for (int r = 0; r < walk->runs; r++) {
            const grove_cell_run *run = &walk->run[r];
            int64_t next = grove_wide_quotient(&run->by, at);
            grove_cell_add_run_many(cell, run, (uint64_t)(at - next * run->by.size));
            at = next;
        }
    }
}

/* Sets `cell` to output cell number `at`. */
GROVE_FN void grove_cell_find(grove_cell *cell, const grove_args *args, int64_t at)
{
    uint32_t few = (uint32_t)at;
    int64_t rest = at;

    cell->args = args;
    grove_cell_addresses(cell, args, at);
    GROVE_UNROLL
    for (int d = GROVE_VALUE_AXES - 1; d >= 0; d--) {
        cell->index[d] = 0;
        if (d < args->axes && args->walk.few) {
            uint32_t next = grove_quotient(&args->walk.size[d], few);
            cell->index[d] = few - next * (uint32_t)args->size[d];
            few = next;
        } else if (d < args->axes) {
            int64_t next = grove_wide_quotient(&args->walk.size[d], rest);
            cell->index[d] = rest - next * args->size[d];
            rest = next;
        }
    }
}
#else
/* Runs a cell function over [first, last) of the iteration space with running pointers. A header
 * may hold several cell functions; a node uses one of them. */
#define GROVE_CELL(name)                                                                           \
    GROVE_FN void GROVE_NAME(name##_cell)(const grove_cell *c);                                    \
    GROVE_CELL_SOURCE(name)                                                                        \
    GROVE_FN void GROVE_NAME(name##_many)(grove_cell * cell, int64_t run)                          \
    {                                                                                              \
        for (int64_t k = 0; k < run; k++) {                                                        \
            GROVE_NAME(name##_cell)(cell);                                                         \
            grove_cell_step(cell);                                                                 \
        }                                                                                          \
    }                                                                                              \
    GROVE_FN void GROVE_NAME(name##_few)(const grove_cell *first, int64_t run)                     \
    {                                                                                              \
        grove_cell cell = *first;                                                                  \
        grove_steps steps = grove_cell_steps(first);                                               \
        for (int64_t k = 0; k < run; k++) {                                                        \
            GROVE_NAME(name##_cell)(&cell);                                                        \
            grove_cell_move(&cell, &steps);                                                        \
        }                                                                                          \
    }                                                                                              \
    __attribute__((unused)) static void GROVE_NAME(name##_cells)(const grove_args *args,           \
                                                                 int64_t first, int64_t last)      \
    {                                                                                              \
        grove_cell cell;                                                                           \
        for (int64_t done = first; done < last;) {                                                 \
            int64_t run = grove_cell_start(&cell, args, done, last);                               \
            if (args->inputs <= GROVE_FEW_INPUTS)                                                  \
                GROVE_NAME(name##_few)(&cell, run);                                                \
            else                                                                                   \
                GROVE_NAME(name##_many)(&cell, run);                                               \
            done += run;                                                                           \
        }                                                                                          \
    }                                                                                              \
    GROVE_FN void GROVE_NAME(name##_cell)(const grove_cell *c)

/* Steps in bytes from one cell to the next, for classes with few inputs: the pointers stay in
 * registers. */
typedef struct {
    int inner; /* the last axis; 0 if there is none, which means one cell */
    int64_t in[GROVE_FEW_INPUTS], out;
} grove_steps;

GROVE_FN grove_steps grove_cell_steps(const grove_cell *cell)
{
    const grove_args *args = cell->args;
    grove_steps steps = {args->axes > 0 ? args->axes - 1 : 0, {0}, 0};

    if (args->axes == 0)
        return steps;
    for (int k = 0; k < args->inputs && k < GROVE_FEW_INPUTS; k++)
        steps.in[k] = cell->in[k] ? args->in[k].stride[steps.inner] : 0;
    steps.out = args->out.stride[steps.inner];
    return steps;
}

/* as integers, since absent inputs have no address to step from */
GROVE_FN const char *grove_cell_next(const char *at, int64_t step)
{
    return (const char *)((uintptr_t)at + (uintptr_t)step);
}

GROVE_FN void grove_cell_move(grove_cell *cell, const grove_steps *steps)
{
    cell->index[steps->inner]++;
    cell->in[0] = grove_cell_next(cell->in[0], steps->in[0]);
    cell->in[1] = grove_cell_next(cell->in[1], steps->in[1]);
    cell->in[2] = grove_cell_next(cell->in[2], steps->in[2]);
    cell->out += steps->out;
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
#endif

#define real          float
#define cplx          grove_cplx32
#define GROVE_NAME(x) x##_single
#define GROVE_CELL_SOURCE(name)                                                                    \
    __attribute__((unused)) static const char name##_source[] = GROVE_KERNEL_SOURCE;
#ifndef GROVE_CELL_MATH
#include "cell_math.h"
#endif
#include GROVE_KERNEL_SOURCE
#undef real
#undef cplx
#undef GROVE_NAME
#undef GROVE_CELL_SOURCE

#define real          double
#define cplx          grove_cplx64
#define GROVE_NAME(x) x##_double
#define GROVE_CELL_SOURCE(name)
#ifndef GROVE_CELL_MATH
#include "cell_math.h"
#define GROVE_CELL_MATH
#endif
#include GROVE_KERNEL_SOURCE
#undef real
#undef cplx
#undef GROVE_NAME
#undef GROVE_CELL_SOURCE
#undef GROVE_KERNEL_SOURCE
