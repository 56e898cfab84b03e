/* Reductions on the CPU. Neighbouring output numbers are reduced together. */
#include "reduce.h"

#include <stdbool.h>
#include <string.h>

enum { RUN = 512 }; /* numbers that are reduced together */

typedef struct {
    const grove_args *args;
    grove_reduce_state state;
    int elements, parts;
    int kept[GROVE_MAX_AXES], kept_count;
    int reduced[GROVE_MAX_AXES], reduced_count; /* without state.axis */
    int64_t row;     /* cells of the last axis that is kept, if they lie side by side; or 1 */
    bool whole_rows; /* each number is made of cells of one row only, all of them in this call */
} job;

/* Numbers that are reduced together, and how many samples each is made of. */
typedef struct {
    double sum[RUN];
    int64_t count[RUN];
    int numbers, cells;
} bench;

/* Where the samples are. */
typedef struct {
    const char *numbers, *flags, *counts, *rows;
} place;

static void clear(const job *j, bench *b)
{
    double zero = grove_reduce_zero(j->state.how);

    for (int i = 0; i < b->numbers; i++)
        b->sum[i] = zero;
    if (j->args->in[GROVE_REDUCE_COUNT].data)
        memset(b->count, 0, (size_t)(b->cells * j->elements) * sizeof(int64_t));
}

static inline place step(const job *j, place at, int axis, int64_t by)
{
    at.numbers += by * j->args->in[GROVE_REDUCE_NUMBERS].stride[axis];
    if (at.flags)
        at.flags += by * j->args->in[GROVE_REDUCE_FLAGS].stride[axis];
    if (at.counts)
        at.counts += by * j->args->in[GROVE_REDUCE_COUNTS].stride[axis];
    if (at.rows)
        at.rows += by * j->args->in[GROVE_REDUCE_ROWS].stride[axis];
    return at;
}

/* ---- samples ---- */

#define ADD_RUNS(type, n, to)                                                                      \
    for (int64_t i = 0; i < samples; i++, from += stride) {                                        \
        const type *x = (const type *)(const void *)from;                                          \
        for (int k = 0; k < (n); k++)                                                              \
            to[k] += (double)x[k];                                                                 \
    }
/* A constant count for few numbers, which then stay in registers. */
#define ADD_FEW(type, n)                                                                           \
    case n: {                                                                                      \
        double few[n];                                                                             \
        for (int k = 0; k < (n); k++)                                                              \
            few[k] = sum[k];                                                                       \
        ADD_RUNS(type, n, few)                                                                     \
        for (int k = 0; k < (n); k++)                                                              \
            sum[k] = few[k];                                                                       \
        break;                                                                                     \
    }
#define ADD_SUMS(name, type)                                                                       \
    static void name(double *sum, const char *from, int64_t stride, int64_t samples, int numbers)  \
    {                                                                                              \
        switch (numbers) {                                                                         \
            ADD_FEW(type, 1)                                                                       \
            ADD_FEW(type, 2)                                                                       \
            ADD_FEW(type, 4)                                                                       \
            ADD_FEW(type, 8)                                                                       \
        default:                                                                                   \
            ADD_RUNS(type, numbers, sum)                                                           \
        }                                                                                          \
    }
ADD_SUMS(add_floats, float)
ADD_SUMS(add_doubles, double)

static double number_at(const job *j, const char *at, int k)
{
    return j->args->in[GROVE_REDUCE_NUMBERS].bytes == 8
               ? ((const double *)(const void *)at)[k]
               : (double)((const float *)(const void *)at)[k];
}

/* Adds samples along an axis, all of them good. */
static void add_all(const job *j, place at, int64_t samples, int64_t stride, bench *b)
{
    int how = j->state.how;

    if (how == GROVE_HOW_SUM || how == GROVE_HOW_MEAN) {
        if (j->args->in[GROVE_REDUCE_NUMBERS].bytes == 8)
            add_doubles(b->sum, at.numbers, stride, samples, b->numbers);
        else
            add_floats(b->sum, at.numbers, stride, samples, b->numbers);
        return;
    }
    for (int64_t i = 0; i < samples; i++, at.numbers += stride)
        for (int k = 0; k < b->numbers; k++)
            b->sum[k] = grove_reduce_add(how, b->sum[k], number_at(j, at.numbers, k));
}

/* Adds one sample of each cell; only good ones count. */
static void add_good(const job *j, place at, int64_t flag_step, bench *b)
{
    const int64_t *counts = (const int64_t *)(const void *)at.counts;
    int how = j->state.how, elements = j->elements, parts = j->parts;

    for (int c = 0; c < b->cells; c++) {
        unsigned char flags = at.flags ? (unsigned char)at.flags[c * flag_step] : 0;
        for (int e = 0; e < elements; e++) {
            int n = c * elements + e;
            int64_t good = counts ? counts[n] : !(flags >> (e < 7 ? e : 7) & 1);
            if (!good)
                continue;
            b->count[n] += good;
            for (int k = n * parts; k < (n + 1) * parts; k++)
                b->sum[k] = grove_reduce_add(how, b->sum[k], number_at(j, at.numbers, k));
        }
    }
}

static int64_t stride_of(const job *j, int input, int axis)
{
    return axis < 0 || !j->args->in[input].data ? 0 : j->args->in[input].stride[axis];
}

/* Whether a sum of one real number is made. */
static bool is_one(const job *j, const bench *b)
{
    return b->numbers == 1 && (j->state.how == GROVE_HOW_SUM || j->state.how == GROVE_HOW_MEAN);
}

/* The same as add_good for each of some samples, where they are one number each. */
static void add_ones(const job *j, place at, int axis, int64_t samples, bench *b)
{
    const int64_t numbers = stride_of(j, GROVE_REDUCE_NUMBERS, axis),
                  flags = stride_of(j, GROVE_REDUCE_FLAGS, axis),
                  counts = stride_of(j, GROVE_REDUCE_COUNTS, axis),
                  rows = stride_of(j, GROVE_REDUCE_ROWS, axis);
    double sum = b->sum[0];
    int64_t count = b->count[0];

    for (int64_t i = 0; i < samples; i++) {
        if (at.rows && at.rows[i * rows])
            continue;
        int64_t good = at.counts ? *(const int64_t *)(const void *)(at.counts + i * counts)
                                 : !(at.flags && at.flags[i * flags] & 1);
        if (!good)
            continue;
        count += good;
        sum += number_at(j, at.numbers + i * numbers, 0);
    }
    b->sum[0] = sum;
    b->count[0] = count;
}

/* Adds samples along an axis (-1: one sample). */
static void add_samples(const job *j, place at, int axis, int64_t samples, bench *b)
{
    int last = j->args->axes - 1;

    if (!j->args->in[GROVE_REDUCE_COUNT].data) {
        add_all(j, at, samples, stride_of(j, GROVE_REDUCE_NUMBERS, axis), b);
        return;
    }
    const bool varies = stride_of(j, GROVE_REDUCE_ROWS, axis);
    if (at.rows && *at.rows && !varies)
        return;
    if (is_one(j, b)) {
        add_ones(j, at, axis, samples, b);
        return;
    }
    for (int64_t i = 0; i < samples; i++) {
        if (!at.rows || !*at.rows)
            add_good(j, at, b->cells > 1 ? stride_of(j, GROVE_REDUCE_FLAGS, last) : 0, b);
        if (axis >= 0)
            at = step(j, at, axis, 1);
    }
}

/* Adds samples along the axes that are reduced first, from number `d` of them on. */
static void add_axes(const job *j, int d, place at, bench *b)
{
    if (d + 1 >= j->reduced_count) {
        int axis = j->reduced_count ? j->reduced[d] : -1;
        add_samples(j, at, axis, axis < 0 ? 1 : j->args->size[axis], b);
        return;
    }
    for (int64_t i = 0; i < j->args->size[j->reduced[d]]; i++)
        add_axes(j, d + 1, step(j, at, j->reduced[d], i), b);
}

/* ---- blocks ---- */

/* Cells of the axis that goes in blocks, all of one block. */
static void add_to_block(const job *j, place at, int64_t cells, bench *b)
{
    int axis = j->state.axis;
    bench inner;

    if (!j->reduced_count) {
        add_samples(j, at, axis, cells, b);
        return;
    }
    inner.numbers = b->numbers;
    inner.cells = b->cells;
    for (int64_t i = 0; i < cells; i++) {
        clear(j, &inner);
        add_axes(j, 0, step(j, at, axis, i), &inner);
        for (int k = 0; k < b->numbers; k++)
            b->sum[k] = grove_reduce_add(j->state.how, b->sum[k], inner.sum[k]);
        if (j->args->in[GROVE_REDUCE_COUNT].data)
            for (int n = 0; n < b->cells * j->elements; n++)
                b->count[n] += inner.count[n];
    }
}

static void add_blocks(const job *j, place at, double *nodes, bench *b)
{
    const grove_reduce_state *s = &j->state;
    int64_t size = j->args->size[s->axis], begin = j->args->origin[s->axis], i = 0;

    while (i < size) {
        int64_t cells = grove_reduce_within(begin + i, size - i);
        add_to_block(j, step(j, at, s->axis, i), cells, b);
        i += cells;
        int64_t index = begin + i, block = (index - 1) / GROVE_REDUCE_BLOCK;
        if (index == s->end) {
            if (!s->begin)
                grove_reduce_close(s, nodes, b->sum, b->numbers, block);
        } else if (index % GROVE_REDUCE_BLOCK == 0) {
            grove_reduce_push(s, nodes, b->sum, b->numbers, 0, block);
            for (int k = 0; k < b->numbers; k++)
                b->sum[k] = grove_reduce_zero(s->how);
        }
    }
}

/* Cells side by side, the first one at `index`. */
static void reduce_run(const job *j, const int64_t *index, int cells)
{
    const grove_args *args = j->args;
    double own[GROVE_REDUCE_LEVELS][RUN]; /* nodes that nobody keeps */
    double *sum = (double *)(void *)grove_view_at(&args->out, index, args->axes);
    int64_t *count =
        (int64_t *)(void *)grove_view_at(&args->in[GROVE_REDUCE_COUNT], index, args->axes);
    const char *rows = grove_view_at(&args->in[GROVE_REDUCE_ROWS], index, args->axes);
    bench b;

    if (rows && *rows && j->whole_rows) {
        for (int k = 0; k < cells * j->elements * j->parts; k++)
            sum[k] = grove_reduce_zero(j->state.how);
        memset(count, 0, (size_t)(cells * j->elements) * sizeof(int64_t));
        return;
    }
    double *nodes =
        (double *)(void *)grove_view_at(&args->in[GROVE_REDUCE_NODES], index, args->axes);
    place at = {grove_view_at(&args->in[GROVE_REDUCE_NUMBERS], index, args->axes),
                grove_view_at(&args->in[GROVE_REDUCE_FLAGS], index, args->axes),
                grove_view_at(&args->in[GROVE_REDUCE_COUNTS], index, args->axes), rows};
    b.cells = cells;
    b.numbers = cells * j->elements * j->parts;
    size_t bytes = (size_t)b.numbers * sizeof(double);
    size_t count_bytes = (size_t)(cells * j->elements) * sizeof(int64_t);
    clear(j, &b);
    if (!j->state.fresh) {
        memcpy(b.sum, sum, bytes);
        if (count)
            memcpy(b.count, count, count_bytes);
    }
    if (j->state.axis < 0)
        add_axes(j, 0, at, &b);
    else
        add_blocks(j, at, nodes ? nodes : own[0], &b);
    memcpy(sum, b.sum, bytes);
    if (count)
        memcpy(count, b.count, count_bytes);
}

/* Whether cells along an axis lie side by side in all that is read and written. */
static bool is_row(const job *j, int axis)
{
    static const int inputs[] = {GROVE_REDUCE_NUMBERS, GROVE_REDUCE_COUNTS, GROVE_REDUCE_COUNT,
                                 GROVE_REDUCE_NODES};
    const grove_args *args = j->args;
    int64_t numbers = (int64_t)j->elements * j->parts;

    for (int i = 0; i < 4; i++) {
        const grove_view *in = &args->in[inputs[i]];
        int64_t bytes = inputs[i] == GROVE_REDUCE_NUMBERS ? numbers * in->bytes
                        : inputs[i] == GROVE_REDUCE_NODES ? numbers * 8
                                                          : (int64_t)j->elements * 8;
        if (in->data && in->stride[axis] != bytes)
            return false;
    }
    const grove_view *rows = &args->in[GROVE_REDUCE_ROWS];
    return args->out.stride[axis] == numbers * 8 && numbers <= RUN &&
           !(rows->data && rows->stride[axis]);
}

static void begin(job *j, const grove_args *args)
{
    memcpy(&j->state, args->state.bytes, sizeof(j->state));
    j->args = args;
    j->elements = args->out.elements;
    j->parts = args->out.complex_ ? 2 : 1;
    j->kept_count = j->reduced_count = 0;
    j->whole_rows = j->state.fresh && !args->in[GROVE_REDUCE_NODES].data;
    for (int d = 0; d < args->axes; d++) {
        j->whole_rows =
            j->whole_rows && (args->out.stride[d] || !stride_of(j, GROVE_REDUCE_ROWS, d));
        if (args->out.stride[d])
            j->kept[j->kept_count++] = d;
        else if (d != j->state.axis)
            j->reduced[j->reduced_count++] = d;
    }
    int last = args->axes - 1;
    bool row = j->kept_count && j->kept[j->kept_count - 1] == last && is_row(j, last);
    j->row = row ? args->size[last] : 1;
    if (!args->in[GROVE_REDUCE_NODES].data)
        j->state.distance = RUN;
}

/* The first cell whose numbers do not begin before item `item`. */
static int64_t cell_of(const job *j, int64_t item)
{
    int64_t each = (int64_t)j->elements * grove_reduce_team(j->args);

    return (item + each - 1) / each;
}

void grove_reduce_cells(const grove_args *args, int64_t first, int64_t last)
{
    job j;

    begin(&j, args);
    int64_t at = cell_of(&j, first), index[GROVE_MAX_AXES] = {0}, rest = at;
    last = cell_of(&j, last);
    for (int k = j.kept_count - 1; k >= 0 && at < last; k--) {
        index[j.kept[k]] = rest % args->size[j.kept[k]];
        rest /= args->size[j.kept[k]];
    }
    while (at < last) {
        int64_t cells = j.row - at % j.row, most = RUN / (j.elements * j.parts);
        cells = cells < most ? cells : most < 1 ? 1 : most;
        cells = cells < last - at ? cells : last - at;
        reduce_run(&j, index, (int)cells);
        at += cells;
        rest = cells;
        for (int k = j.kept_count - 1; k >= 0 && rest; k--) {
            index[j.kept[k]] += rest;
            rest = index[j.kept[k]] == args->size[j.kept[k]];
            index[j.kept[k]] = rest ? 0 : index[j.kept[k]];
        }
    }
}

/* ---- results ---- */

void grove_reduce_finish_cells(const grove_args *args, int64_t first, int64_t last)
{
    const grove_view *out = &args->out;
    grove_reduce_state state;
    int parts = out->complex_ ? 2 : 1;

    memcpy(&state, args->state.bytes, sizeof(state));
    for (int64_t at = first; at < last; at++) {
        int64_t index[GROVE_MAX_AXES], rest = at;
        unsigned flags = 0;
        for (int d = args->axes - 1; d >= 0; d--) {
            index[d] = rest % args->size[d];
            rest /= args->size[d];
        }
        char *to = grove_view_at(out, index, args->axes);
        const double *sums = (const double *)(const void *)grove_view_at(
            &args->in[GROVE_FINISH_SUMS], index, args->axes);
        const int64_t *counts = (const int64_t *)(const void *)grove_view_at(
            &args->in[GROVE_FINISH_COUNTS], index, args->axes);
        for (int e = 0; e < out->elements; e++) {
            int64_t count = counts ? counts[e] : state.samples;
            for (int k = e * parts; k < (e + 1) * parts; k++) {
                double x = count ? sums[k] : 0;
                if (count && state.how == GROVE_HOW_MEAN)
                    x /= (double)count;
                if (out->bytes == 8)
                    ((double *)(void *)to)[k] = x;
                else
                    ((float *)(void *)to)[k] = (float)x;
            }
            if (!count && (counts || state.how != GROVE_HOW_SUM))
                flags |= 1u << (e < 7 ? e : 7);
        }
        char *flag = grove_view_at(&args->in[GROVE_FINISH_FLAGS], index, args->axes);
        if (flag)
            *(unsigned char *)flag = (unsigned char)flags;
    }
}
