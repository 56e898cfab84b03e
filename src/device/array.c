#include "device/array.h"

#include <stdbool.h>
#include <stddef.h>
#include <string.h>

#include "../kernels/core/reduce.h"

#define GROVE_KERNEL_SOURCE "../kernels/core/array.h"
#include "kernel.h"

/* ---- casts on the host: rows of cells at a time ---- */

/* An array as rows: the innermost axes, along which input and output have a constant step, are one
 * row. */
typedef struct {
    int64_t cells;         /* of a row */
    int64_t in, out;       /* bytes from one of its cells to the next */
    const int32_t *gather; /* or gathered: the step times these; then the row is one axis */
    int axes;              /* the other axes */
    int64_t numbers;       /* of a cell */
    int in_size, widens;   /* bytes of a number; real to complex */
    int out_size;
} rows;

static rows find_rows(const grove_args *args)
{
    const grove_view *in = &args->in[0], *out = &args->out;
    rows r = {.cells = 1, .axes = args->axes, .in_size = in->bytes, .out_size = out->bytes};

    r.widens = out->complex_ && !in->complex_;
    r.numbers = out->elements * (in->complex_ && out->complex_ ? 2 : 1);
    for (; r.axes > 0 && !r.gather; r.axes--) {
        int d = r.axes - 1;
        bool gathers = in->gather && in->gather_axis == d, first = r.cells == 1;
        if (args->size[d] == 1 && !gathers)
            continue;
        if (!first &&
            (gathers || in->stride[d] != r.in * r.cells || out->stride[d] != r.out * r.cells))
            break;
        if (first) {
            r.in = in->stride[d];
            r.out = out->stride[d];
            r.gather = gathers ? in->gather : NULL;
        }
        r.cells *= args->size[d];
    }
    return r;
}

#define CAST(source, target)                                                                       \
    {                                                                                              \
        const source *x = (const source *)(const void *)from;                                      \
        target *y = (target *)(void *)to;                                                          \
        for (int64_t i = 0; i < plain; i++)                                                        \
            y[i] = (target)x[i];                                                                   \
        for (int64_t i = 0; i < wide; i++) {                                                       \
            y[2 * i] = (target)x[i];                                                               \
            y[2 * i + 1] = 0;                                                                      \
        }                                                                                          \
    }

static void cast_numbers(const rows *r, const char *from, char *to, int64_t count)
{
    const int64_t wide = r->widens ? count : 0, plain = count - wide;

    if (!r->widens && r->in_size == r->out_size)
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

#define COPY(size)                                                                                 \
    for (int64_t i = 0; i < count; i++)                                                            \
        memcpy(to + i * r->out, from + r->in * (gather ? gather[i] : i), size);

/* Cells of the same size that are not contiguous. */
static void copy_cells(const rows *r, const char *from, const int32_t *gather, char *to,
                       int64_t count)
{
    size_t size = (size_t)(r->numbers * r->in_size);

    if (size == 8)
        COPY(8)
    else if (size == 16)
        COPY(16)
    else if (size == 32)
        COPY(32)
    else
        COPY(size)
}

/* Cells [at, at + count) of the row that begins at `from` and `to`. */
static void cast_row(const rows *r, const char *from, char *to, int64_t at, int64_t count)
{
    const int32_t *gather = r->gather ? r->gather + at : NULL;

    to += at * r->out;
    from += gather ? 0 : at * r->in;
    if (!gather && r->in == r->numbers * r->in_size &&
        r->out == r->numbers * r->out_size << r->widens)
        cast_numbers(r, from, to, count * r->numbers);
    else if (!r->widens && r->in_size == r->out_size)
        copy_cells(r, from, gather, to, count);
    else
        for (int64_t i = 0; i < count; i++)
            cast_numbers(r, from + r->in * (gather ? gather[i] : i), to + i * r->out, r->numbers);
}

/* The same result as the cell function, without looking up the address of each number. */
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
        cast_row(&r, grove_view_at(in, index, r.axes) + skip,
                 grove_view_at(&args->out, index, r.axes), at, cells);
        first += cells;
    }
}

/* ---- flag rules on the host: bytes are looked up in a table for each input ---- */

/* Cells: fewer are not worth a table; of a row at a time. */
enum { FEW = 256, PIECE = 1024 };

static void fill_table(const grove_flag_marks *rule, int k, unsigned char table[256])
{
    memset(table, 0, 256);
    if (rule->whole[k]) {
        table[rule->whole[k]] = (unsigned char)grove_flag_bits(rule, k, rule->whole[k]);
        return;
    }
    for (int e = 0; e < 8; e++)
        for (unsigned bits = 0; bits < 1u << e; bits++)
            table[bits + (1u << e)] =
                (unsigned char)(table[bits] | (rule->marks[k] >> 8 * e & 255));
}

/* The same as mark_row, without a table: most flags of a row are equal. */
static void mark_few(const grove_flag_marks *rule, int k, const grove_view *in, int inner,
                     int64_t first, const unsigned char *row, unsigned char *to, int64_t count)
{
    int64_t step = inner < 0 ? 0 : in->stride[inner];
    bool gathers = inner >= 0 && in->gather && in->gather_axis == inner;
    unsigned flags = 0, bits = 0;

    for (int64_t i = 0; i < count; i++) {
        unsigned next = row[step * (gathers ? in->gather[first + i] : first + i)];
        if (next != flags)
            bits = grove_flag_bits(rule, k, next);
        flags = next;
        to[i] |= (unsigned char)bits;
    }
}

/* Adds the bits of `count` cells along the last axis of the space, from a row of an input. */
static void mark_row(const unsigned char *table, const grove_view *in, int inner, int64_t first,
                     const unsigned char *row, unsigned char *to, int64_t count)
{
    int64_t step = inner < 0 ? 0 : in->stride[inner];

    if (inner >= 0 && in->gather && in->gather_axis == inner)
        for (int64_t i = 0; i < count; i++)
            to[i] |= table[row[step * in->gather[first + i]]];
    else if (step == 1)
        for (int64_t i = 0; i < count; i++)
            to[i] |= table[row[first + i]];
    else
        for (int64_t i = 0; i < count; i++)
            to[i] |= table[row[step * (first + i)]];
}

/* The union of an input's bits along the folded axes, for the cell at `first`. */
static unsigned fold_bits(const unsigned char *table, const grove_args *args, int folded,
                          const grove_view *in, const unsigned char *first)
{
    int64_t index[GROVE_MAX_AXES] = {0};
    int axes = args->axes, inner = axes + folded - 1, d;
    int64_t count = in->stride[inner] ? args->size[inner] : 1;
    unsigned to = 0;

    do {
        int64_t offset = 0;
        for (d = axes; d < inner; d++)
            offset +=
                in->stride[d] *
                (in->gather && in->gather_axis == d ? (int64_t)in->gather[index[d]] : index[d]);
        const unsigned char *row = first + offset;
        if (in->gather && in->gather_axis == inner)
            for (int64_t i = 0; i < count; i++)
                to |= table[row[in->stride[inner] * in->gather[i]]];
        else
            for (int64_t i = 0; i < count; i++)
                to |= table[row[in->stride[inner] * i]];
        for (d = inner - 1; d >= axes; d--) {
            if (in->stride[d] && ++index[d] < args->size[d])
                break;
            index[d] = 0;
        }
    } while (d >= axes);
    return to;
}

/* Cells [first, first + count) of a row; `index` is the first cell's. table: NULL: none. */
static void mark_cells(const grove_args *args, int k, const unsigned char *table, int64_t *index,
                       int64_t first, int64_t count, unsigned char *to)
{
    const grove_view *in = &args->in[k];
    const grove_flag_marks *rule = (const void *)args->state.bytes;
    int inner = args->axes - 1;

    if (!rule->folded) {
        const char *row = grove_view_at(in, index, inner < 0 ? 0 : inner);
        if (table)
            mark_row(table, in, inner, first, (const unsigned char *)row, to, count);
        else
            mark_few(rule, k, in, inner, first, (const unsigned char *)row, to, count);
        return;
    }
    for (int64_t i = 0; i < count; i++) {
        if (inner >= 0)
            index[inner] = first + i;
        to[i] |=
            (unsigned char)fold_bits(table, args, rule->folded, in,
                                     (const unsigned char *)grove_view_at(in, index, args->axes));
    }
}

static void flag_cells(const grove_args *args, int64_t first, int64_t last)
{
    const grove_flag_marks *rule = (const void *)args->state.bytes;
    unsigned char table[GROVE_MAX_INPUTS][256];
    unsigned char bits[PIECE]; /* because the output may also be an input */
    int inner = args->axes - 1;
    int64_t size = inner < 0 ? 1 : args->size[inner];
    bool dense = inner < 0 || args->out.stride[inner] == 1, few = last - first < FEW;

    if (!dense || (few && rule->folded)) {
        flag_rule_cells_single(args, first, last);
        return;
    }
    for (int k = 0; k < args->inputs; k++)
        if (args->in[k].data && !few)
            fill_table(rule, k, table[k]);
    while (first < last) {
        int64_t index[GROVE_MAX_AXES] = {0}, rest = first / size, at = first % size;
        int64_t count = size - at < last - first ? size - at : last - first;
        count = count < PIECE ? count : PIECE;
        for (int d = inner - 1; d >= 0; d--) {
            index[d] = rest % args->size[d];
            rest /= args->size[d];
        }
        char *to = grove_view_at(&args->out, index, args->axes) + at;
        memset(bits, 0, (size_t)count);
        for (int k = 0; k < args->inputs; k++)
            if (args->in[k].data)
                mark_cells(args, k, few ? NULL : table[k], index, at, count, bits);
        memcpy(to, bits, (size_t)count);
        first += count;
    }
}

const grove_kernel grove_array_cast = {"cast", cast_cells, cast_cells, cast_source, NULL, 0, 0};
const grove_kernel grove_array_blank = GROVE_KERNEL(blank);
const grove_kernel grove_array_flag_rule = {"flag_rule", flag_cells, flag_cells, flag_rule_source,
                                            NULL,        0,          0};
const grove_kernel grove_array_reduce = {"reduce",
                                         grove_reduce_cells,
                                         grove_reduce_cells,
                                         "reduce.cu",
                                         grove_reduce_threads,
                                         GROVE_REDUCE_THREADS,
                                         1 << GROVE_REDUCE_COUNT | 1 << GROVE_REDUCE_NODES};
const grove_kernel grove_array_reduce_finish = {"reduce_finish",
                                                grove_reduce_finish_cells,
                                                grove_reduce_finish_cells,
                                                "reduce.cu",
                                                NULL,
                                                0,
                                                1 << GROVE_FINISH_FLAGS};
