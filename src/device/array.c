#include "device/array.h"

#include <stddef.h>
#include <string.h>

#include "../kernels/reduce/reduce.h"

#define GROVE_KERNEL_SOURCE "../kernels/array.h"
#include "kernel.h"

/* ---- casts on the host: rows of cells at a time ---- */

/* The innermost axes that input and output step through evenly, as one row. */
typedef struct {
    int64_t cells;       /* of a row */
    int64_t in, out;     /* bytes from one of its cells to the next */
    int axes;            /* the others */
    int64_t numbers;     /* of a cell */
    int in_size, widens; /* bytes of a number; real to complex */
    int out_size;
} rows;

static rows find_rows(const grove_args *args)
{
    const grove_view *in = &args->in[0], *out = &args->out;
    rows r = {.cells = 1, .axes = args->axes, .in_size = in->bytes, .out_size = out->bytes};

    r.widens = out->complex_ && !in->complex_;
    r.numbers = out->elements * (in->complex_ && out->complex_ ? 2 : 1);
    for (; r.axes > 0; r.axes--) {
        int d = r.axes - 1;
        if (in->gather && in->gather_axis == d)
            break;
        if (args->size[d] == 1)
            continue;
        if (r.cells == 1) {
            r.in = in->stride[d];
            r.out = out->stride[d];
        } else if (in->stride[d] != r.in * r.cells || out->stride[d] != r.out * r.cells) {
            break;
        }
        r.cells *= args->size[d];
    }
    return r;
}

#define CAST(source, target)                                                                       \
    {                                                                                              \
        const source *x = (const source *)(const void *)from;                                      \
        target *y = (target *)(void *)to;                                                          \
        for (int64_t i = 0; i < count; i++) {                                                      \
            if (widens) {                                                                          \
                y[2 * i] = (target)x[i];                                                           \
                y[2 * i + 1] = 0;                                                                  \
            } else {                                                                               \
                y[i] = (target)x[i];                                                               \
            }                                                                                      \
        }                                                                                          \
    }

static void cast_numbers(const rows *r, const char *from, char *to, int64_t count)
{
    const int widens = r->widens;

    if (!widens && r->in_size == r->out_size)
        memcpy(to, from, (size_t)(count * r->in_size));
    else if (r->in_size == 8 && r->out_size == 8)
        CAST(double, double)
    else if (r->in_size == 8)
        CAST(double, float)
    else if (r->out_size == 8)
        CAST(float, double)
    else
        CAST(float, float)
}

static void cast_row(const rows *r, const char *from, char *to, int64_t cells)
{
    if (r->in == r->numbers * r->in_size && r->out == r->numbers * r->out_size << r->widens)
        cast_numbers(r, from, to, cells * r->numbers);
    else
        for (int64_t i = 0; i < cells; i++)
            cast_numbers(r, from + i * r->in, to + i * r->out, r->numbers);
}

/* What the cell function does, which would look at each number anew. */
static void cast_cells(const grove_args *args, int64_t first, int64_t last)
{
    const grove_view *in = &args->in[0];
    rows r = find_rows(args);
    int64_t element, skip;

    memcpy(&element, args->state.bytes, sizeof(element));
    skip = element * (in->complex_ ? 2 : 1) * in->bytes;
    while (first < last) {
        int64_t index[GROVE_MAX_AXES] = {0}, rest = first / r.cells, at = first % r.cells;
        int64_t cells = r.cells - at < last - first ? r.cells - at : last - first;
        for (int d = r.axes - 1; d >= 0; d--) {
            index[d] = rest % args->size[d];
            rest /= args->size[d];
        }
        cast_row(&r, grove_view_at(in, index, r.axes) + at * r.in + skip,
                 grove_view_at(&args->out, index, r.axes) + at * r.out, cells);
        first += cells;
    }
}

static int64_t reduce_threads(const grove_args *args)
{
    return grove_reduce_numbers(args);
}

const grove_kernel grove_array_cast = {"cast", cast_cells, cast_cells, cast_source, NULL, 0, 0};
const grove_kernel grove_array_blank = GROVE_KERNEL(blank);
const grove_kernel grove_array_flag_rule = GROVE_KERNEL(flag_rule);
const grove_kernel grove_array_reduce = {"reduce",
                                         grove_reduce_cells,
                                         grove_reduce_cells,
                                         "reduce.cu",
                                         reduce_threads,
                                         0,
                                         1 << GROVE_REDUCE_COUNT | 1 << GROVE_REDUCE_NODES};
const grove_kernel grove_array_reduce_finish = {"reduce_finish",
                                                grove_reduce_finish_cells,
                                                grove_reduce_finish_cells,
                                                "reduce.cu",
                                                NULL,
                                                0,
                                                1 << GROVE_FINISH_FLAGS};
