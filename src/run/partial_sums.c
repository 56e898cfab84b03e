#include "run/partial_sums.h"

#include "base/memory.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { RUN = 512 }; /* numbers that are added up side by side */

grove_sums *grove_sums_new(grove_device *device, grove_reduce how, const grove_range *range,
                           int axes, int elements, int parts, bool counted, grove_error *error)
{
    grove_sums *sums = grove_alloc(sizeof(*sums));
    size_t cells = 1;

    sums->how = how;
    sums->axes = axes;
    sums->elements = elements;
    sums->parts = parts;
    for (int d = 0; d < axes; d++) {
        sums->range[d] = range[d];
        cells *= (size_t)range[d].count;
    }
    size_t numbers = cells * (size_t)elements, bytes[2];
    bytes[0] = numbers * (size_t)parts * sizeof(double);
    bytes[1] = counted ? numbers * sizeof(int64_t) : 0;
    for (int i = 0; i < 1 + counted; i++) {
        sums->storage[i] = grove_buffer_new(device, bytes[i], error);
        if (!sums->storage[i]) {
            grove_sums_free(sums);
            return NULL;
        }
        memset(grove_buffer_host(sums->storage[i], error), 0, bytes[i]);
    }
    sums->sum = grove_buffer_host(sums->storage[0], error);
    if (counted)
        sums->count = grove_buffer_host(sums->storage[1], error);
    if (how == GROVE_REDUCE_MIN || how == GROVE_REDUCE_MAX)
        for (size_t i = 0; i < numbers * (size_t)parts; i++)
            sums->sum[i] = how == GROVE_REDUCE_MIN ? HUGE_VAL : -HUGE_VAL;
    return sums;
}

void grove_sums_free(grove_sums *sums)
{
    if (!sums)
        return;
    grove_buffer_unref(sums->storage[0]);
    grove_buffer_unref(sums->storage[1]);
    free(sums);
}

/* Brings the sums to the host; with `change` they are nowhere else then. */
static int bring(grove_sums *sums, bool change, grove_error *error)
{
    void *at[2] = {NULL, NULL};
    int code = 0;

    for (int i = 0; i < 2 && sums->storage[i] && !code; i++) {
        code = grove_buffer_address(sums->storage[i], NULL, &at[i], error);
        if (!code && change)
            grove_buffer_write(sums->storage[i], NULL, error);
    }
    sums->sum = at[0];
    sums->count = at[1];
    return code;
}

/* ---- adding ---- */

/* What is added: numbers with flags or counts. Strides in cells. */
typedef struct {
    const char *data;
    bool double_;
    const unsigned char *flags;
    const int64_t *counts;
    int64_t size[GROVE_MAX_AXES], stride[GROVE_MAX_AXES], flag_stride[GROVE_MAX_AXES];
    int axes;
} source;

typedef struct {
    grove_sums *to;
    source from;
    int kept[GROVE_MAX_AXES],
        kept_count; /* axes of `from` that `to` has, and its strides (cells) */
    int64_t to_stride[GROVE_MAX_AXES], to_offset;
    int folded[GROVE_MAX_AXES], folded_count; /* the others, the outer one first if there is one */
    bool nested;
    int64_t run, pieces; /* cells of a contiguous run, and into how many pieces it is cut */
    int64_t piece;       /* cells */
} addition;

static void add_number(grove_reduce how, double *to, double x)
{
    if (how == GROVE_REDUCE_MIN)
        *to = x < *to ? x : *to;
    else if (how == GROVE_REDUCE_MAX)
        *to = x > *to ? x : *to;
    else
        *to += x;
}

/* acc[0..n) and number by number the numbers at `at`. */
static void add_plain(grove_reduce how, double *acc, const source *from, int64_t at, int64_t n)
{
    if (how == GROVE_REDUCE_MIN || how == GROVE_REDUCE_MAX) {
        for (int64_t i = 0; i < n; i++)
            add_number(how, &acc[i],
                       from->double_ ? ((const double *)(const void *)from->data)[at + i]
                                     : (double)((const float *)(const void *)from->data)[at + i]);
    } else if (from->double_) {
        const double *x = (const double *)(const void *)from->data + at;
        for (int64_t i = 0; i < n; i++)
            acc[i] += x[i];
    } else {
        const float *x = (const float *)(const void *)from->data + at;
        for (int64_t i = 0; i < n; i++)
            acc[i] += (double)x[i];
    }
}

static double number_at(const source *from, int64_t at)
{
    return from->double_ ? ((const double *)(const void *)from->data)[at]
                         : (double)((const float *)(const void *)from->data)[at];
}

/* The same where only good samples count. */
static void add_counted(const grove_sums *to, double *acc, int64_t *count, const source *from,
                        int64_t cell, int64_t flag, int64_t flag_step, int64_t cells)
{
    int elements = to->elements, parts = to->parts;

    for (int64_t c = 0; c < cells; c++)
        for (int e = 0; e < elements; e++) {
            int64_t at = (cell + c) * elements + e, good = 1;
            if (from->counts)
                good = from->counts[at];
            else if (from->flags)
                good = !(from->flags[flag + c * flag_step] >> (e < 7 ? e : 7) & 1);
            if (!good)
                continue;
            count[c * elements + e] += good;
            for (int k = 0; k < parts; k++)
                add_number(to->how, &acc[(c * elements + e) * parts + k],
                           number_at(from, at * parts + k));
        }
}

typedef struct {
    double sum[RUN];
    int64_t count[RUN];
} bench;

static void start(const addition *a, bench *b, int64_t numbers)
{
    double zero = a->to->how == GROVE_REDUCE_MIN   ? HUGE_VAL
                  : a->to->how == GROVE_REDUCE_MAX ? -HUGE_VAL
                                                   : 0;

    for (int64_t i = 0; i < numbers; i++)
        b->sum[i] = zero;
    memset(b->count, 0, (size_t)numbers * sizeof(int64_t));
}

/* Goes over the folded axes from number `d` on, adding `cells` cells to the bench. */
static void fold_axes(const addition *a, int d, int64_t cell, int64_t flag, int64_t cells, bench *b)
{
    const grove_sums *to = a->to;
    const source *from = &a->from;
    int64_t numbers = cells * to->elements * to->parts;
    int inner = from->axes - 1;

    if (d == a->folded_count) {
        if (to->count)
            add_counted(to, b->sum, b->count, from, cell, flag,
                        cells > 1 ? from->flag_stride[inner] : 0, cells);
        else
            add_plain(to->how, b->sum, from, cell * to->elements * to->parts, numbers);
        return;
    }
    int axis = a->folded[d];
    for (int64_t i = 0; i < from->size[axis]; i++)
        fold_axes(a, d + 1, cell + i * from->stride[axis], flag + i * from->flag_stride[axis],
                  cells, b);
}

static void fold_nested(const addition *a, int64_t cell, int64_t flag, int64_t cells, bench *b)
{
    const grove_sums *to = a->to;
    int64_t numbers = cells * to->elements * to->parts;
    int axis = a->folded[0];
    bench inner;

    for (int64_t i = 0; i < a->from.size[axis]; i++) {
        start(a, &inner, numbers);
        fold_axes(a, 1, cell + i * a->from.stride[axis], flag + i * a->from.flag_stride[axis],
                  cells, &inner);
        for (int64_t n = 0; n < numbers; n++)
            add_number(to->how, &b->sum[n], inner.sum[n]);
        for (int64_t n = 0; n < cells * to->elements; n++)
            b->count[n] += inner.count[n];
    }
}

static void add_pieces(void *context, int64_t first, int64_t last)
{
    const addition *a = context;
    const grove_sums *to = a->to;
    bench b;

    for (int64_t item = first; item < last; item++) {
        int64_t rest = item / a->pieces, cell = 0, flag = 0, at = a->to_offset;
        int64_t begin = item % a->pieces * a->piece;
        int64_t cells = a->run - begin < a->piece ? a->run - begin : a->piece;
        int inner = a->from.axes - 1;
        for (int k = a->kept_count - 1; k >= 0; k--) {
            int axis = a->kept[k];
            int64_t i = rest % a->from.size[axis];
            rest /= a->from.size[axis];
            cell += i * a->from.stride[axis];
            flag += i * a->from.flag_stride[axis];
            at += i * a->to_stride[k];
        }
        if (a->run > 1) {
            cell += begin;
            flag += begin * a->from.flag_stride[inner];
            at += begin;
        }
        int64_t numbers = cells * to->elements, parts = numbers * to->parts;
        memcpy(b.sum, to->sum + at * to->elements * to->parts, (size_t)parts * sizeof(double));
        if (to->count)
            memcpy(b.count, to->count + at * to->elements, (size_t)numbers * sizeof(int64_t));
        if (a->nested)
            fold_nested(a, cell, flag, cells, &b);
        else
            fold_axes(a, 0, cell, flag, cells, &b);
        memcpy(to->sum + at * to->elements * to->parts, b.sum, (size_t)parts * sizeof(double));
        if (to->count)
            memcpy(to->count + at * to->elements, b.count, (size_t)numbers * sizeof(int64_t));
    }
}

/* Sorts the axes of what is added into kept and folded ones. */
static void sort_axes(addition *a, const grove_range *space, const grove_axis *outer)
{
    const grove_sums *to = a->to;
    int64_t step = 1;

    a->kept_count = a->folded_count = 0;
    for (int d = 0; d < a->from.axes; d++)
        if (space[d].axis == outer)
            a->folded[a->folded_count++] = d;
    for (int d = 0; d < a->from.axes; d++) {
        bool has = false;
        for (int e = 0; e < to->axes; e++)
            has = has || to->range[e].axis == space[d].axis;
        if (has)
            a->kept[a->kept_count++] = d;
        else if (space[d].axis != outer)
            a->folded[a->folded_count++] = d;
    }
    a->nested = outer && a->folded_count > 1;
    a->to_offset = 0;
    for (int e = to->axes - 1; e >= 0; e--) {
        for (int k = 0; k < a->kept_count; k++)
            if (space[a->kept[k]].axis == to->range[e].axis) {
                a->to_stride[k] = step;
                a->to_offset += (space[a->kept[k]].first - to->range[e].first) * step;
            }
        step *= to->range[e].count;
    }
}

static void add(addition *a, const grove_range *space, const grove_axis *outer,
                grove_threads *threads)
{
    const grove_sums *to = a->to;
    int64_t items = 1, all = 1;

    sort_axes(a, space, outer);
    /* the last axis is a contiguous run if both have it and it is not folded */
    int inner = a->from.axes - 1, last = a->kept_count - 1;
    a->run = a->piece = 1;
    if (last >= 0 && a->kept[last] == inner && a->from.stride[inner] == 1 &&
        a->to_stride[last] == 1) {
        a->run = a->from.size[inner];
        a->piece = RUN / (to->elements * to->parts);
        a->kept_count--;
    }
    a->pieces = (a->run + a->piece - 1) / a->piece;
    for (int k = 0; k < a->kept_count; k++)
        items *= a->from.size[a->kept[k]];
    items *= a->pieces;
    for (int d = 0; d < a->from.axes; d++)
        all *= a->from.size[d];
    if (all == 0)
        return;
    grove_parallel(all < 8192 ? NULL : threads, items, 0, add_pieces, a);
}

int grove_sums_add_value(grove_sums *to, grove_value *value, const grove_range *space, int axes,
                         const grove_axis *outer, grove_threads *threads, grove_error *error)
{
    addition a = {.to = to, .from = {.double_ = value->double_, .axes = axes}};
    grove_view view, flags;
    int64_t bytes = (int64_t)grove_value_cell_bytes(value);
    int code = grove_value_view(value, space, axes, 0, NULL, &view, error);

    if (!code)
        code = grove_value_flag_view(value, space, axes, 0, &flags, error);
    if (!code)
        code = bring(to, true, error);
    if (code)
        return code;
    a.from.data = view.data;
    a.from.flags = flags.data;
    for (int d = 0; d < axes; d++) {
        a.from.size[d] = space[d].count;
        a.from.stride[d] = view.stride[d] / bytes;
        a.from.flag_stride[d] = flags.stride[d];
    }
    add(&a, space, outer, threads);
    return 0;
}

int grove_sums_add(grove_sums *to, grove_sums *from, grove_threads *threads, grove_error *error)
{
    int code = bring(from, false, error);

    if (!code)
        code = bring(to, true, error);
    if (code)
        return code;
    addition a = {.to = to,
                  .from = {.data = (const char *)from->sum,
                           .double_ = true,
                           .counts = from->count,
                           .axes = from->axes}};
    int64_t step = 1;

    for (int d = from->axes - 1; d >= 0; d--) {
        a.from.size[d] = from->range[d].count;
        a.from.stride[d] = step;
        step *= from->range[d].count;
    }
    add(&a, from->range, NULL, threads);
    return 0;
}

/* ---- results ---- */

int grove_sums_finish(grove_sums *sums, int64_t samples, grove_value *value, grove_error *error)
{
    int64_t numbers = grove_value_cells(value) * value->elements;
    void *data = grove_buffer_host(value->data, error);
    unsigned char *flags = value->flags ? grove_buffer_host(value->flags, error) : NULL;
    int code = bring(sums, false, error);

    if (code)
        return code;

    for (int64_t i = 0; i < numbers; i++) {
        int64_t count = sums->count ? sums->count[i] : samples;
        int e = (int)(i % value->elements);
        for (int k = 0; k < sums->parts; k++) {
            double x = count ? sums->sum[i * sums->parts + k] : 0;
            if (count && sums->how == GROVE_REDUCE_MEAN)
                x /= (double)count;
            if (value->double_)
                ((double *)data)[i * sums->parts + k] = x;
            else
                ((float *)data)[i * sums->parts + k] = (float)x;
        }
        if (flags && !count && (sums->count || sums->how != GROVE_REDUCE_SUM))
            flags[i / value->elements] |= (unsigned char)(1u << (e < 7 ? e : 7));
    }
    return 0;
}
