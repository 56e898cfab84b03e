#include "compression.h"

#include "base/error.h"
#include "base/memory.h"

#include "../kernels/compression/compression_simd.h"
#include "../kernels/simd/isa.h"

#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

enum { CELL = GROVE_COMPRESSION_CELL, CELLS = GROVE_COMPRESSION_CELLS };
/* Baselines whose running sums are kept at once: rows of a time follow each other in memory. */
enum { BASELINES = 32 };

static const grove_compression_kernels *const kernels[GROVE_ISAS] = {
    &grove_compression_portable, &grove_compression_avx2, &grove_compression_avx512};

/* The work of one call. */
typedef struct {
    const grove_compression_input *input;
    const grove_compression_kernels *kernels;
    grove_compression_block block;
    double *running; /* [BASELINES][running_size] */
    int64_t running_size;
    unsigned absent;  /* bits of correlations that the data or weights lack */
    bool plain_flags; /* those of the data are all there are */
    unsigned char flags[CELLS];
} work;

/* A place in the input: the first of some channels. */
typedef struct {
    int64_t time, baseline, freq, count;
} place;

int64_t grove_compression_size(grove_compression_form form, int groups)
{
    int64_t n = (int64_t)form * groups;

    return GROVE_SUMS_SIZE(n);
}

void grove_compression_add(double *to, const double *from, int64_t count)
{
    for (int64_t k = 0; k < count; k++)
        to[k] += from[k];
}

static double sum_of_four(const double *x)
{
    return (x[0] + x[1]) + (x[2] + x[3]);
}

double grove_compression_count(const double *sums)
{
    return sum_of_four(sums + GROVE_SUMS_NUMBERS);
}

double grove_compression_power(const double *sums)
{
    return sum_of_four(sums + GROVE_SUMS_POWER);
}

/* ---- loading ---- */

static grove_compression_row row_at(const grove_compression_array *array, const place *at)
{
    const int64_t *s = array->stride, *f = array->flag_stride;
    grove_compression_row row = {
        .step = s[2], .bytes = array->bytes, .elements = array->elements, .flag_step = f[2]};

    row.data = (const char *)array->data + s[0] * at->time + s[1] * at->baseline + s[2] * at->freq;
    if (array->flags)
        row.flags = array->flags + f[0] * at->time + f[1] * at->baseline + f[2] * at->freq;
    return row;
}

static double number_at(const char *from, int bytes, int k)
{
    return bytes == 4 ? (double)((const float *)(const void *)from)[k]
                      : ((const double *)(const void *)from)[k];
}

static bool are_finite(const double *x, int count)
{
    double check = 0;

    for (int k = 0; k < count; k++)
        check += x[k] - x[k];
    return check == 0;
}

/* One element stands for that number times the identity, two for a diagonal. */
static bool load_short(const grove_compression_row *row, int64_t count, double *to)
{
    const char *from = row->data;
    const int last = row->elements == 2 ? 2 : 0;
    bool finite = true;

    for (int64_t k = 0; k < count; k++, from += row->step, to += CELL) {
        memset(to, 0, CELL * sizeof(*to));
        for (int part = 0; part < 2; part++) {
            to[part] = number_at(from, row->bytes, part);
            to[6 + part] = number_at(from, row->bytes, last + part);
        }
        finite &= are_finite(to, CELL);
    }
    return finite;
}

static bool load_values(const work *w, const grove_compression_array *array, const place *at,
                        double *to)
{
    grove_compression_row row = row_at(array, at);

    return row.elements == 4 ? w->kernels->load(&row, at->count, to)
                             : load_short(&row, at->count, to);
}

/* Bits of the four correlations from those of an array's elements. */
static unsigned spread_flags(unsigned bits, int elements)
{
    if (elements == 4)
        return bits & 15;
    if (elements == 1)
        return bits & 1 ? 15 : 0;
    return (bits & 1) | (bits & 2) << 2 | (bits & 3 ? 6 : 0);
}

static void add_flags(work *w, const grove_compression_array *array, const place *at, bool all)
{
    grove_compression_row row = row_at(array, at);

    for (int64_t k = 0; k < at->count && row.flags; k++) {
        unsigned bits = spread_flags(row.flags[k * row.flag_step], array->elements);
        w->flags[k] |= (unsigned char)(all && bits ? 15 : bits);
    }
}

/* All flags, as those of the weights. */
static void set_flags(work *w, const place *at, grove_compression_row *row)
{
    const grove_compression_input *input = w->input;
    grove_compression_row data = row_at(&input->data, at);

    row->flags = data.flags;
    row->flag_step = data.flag_step;
    if (w->plain_flags)
        return;
    memset(w->flags, (int)w->absent, sizeof(w->flags));
    add_flags(w, &input->data, at, false);
    for (int g = 0; g < input->groups; g++)
        add_flags(w, &input->model[g], at, input->form == GROVE_COMPRESSION_FULL);
    row->flags = w->flags;
    row->flag_step = 1;
}

/* Weights, 0 where something is flagged. */
static void load_weights(work *w, const place *at)
{
    static const float one = 1;
    const grove_compression_input *input = w->input;
    grove_compression_array unit = {.data = &one, .elements = 1, .bytes = 4};
    grove_compression_row row = row_at(input->weights.data ? &input->weights : &unit, at);
    double expanded[CELLS * 4];

    if (row.elements == 2) {
        for (int64_t k = 0; k < at->count; k++)
            for (int e = 0; e < 4; e++)
                expanded[4 * k + e] =
                    number_at((const char *)row.data + k * row.step, row.bytes, e / 2);
        row.data = expanded;
        row.step = 4 * sizeof(double);
        row.bytes = 8;
        row.elements = 4;
    }
    set_flags(w, at, &row);
    w->kernels->load_weights(&row, at->count, w->block.weight);
}

/* Leaves out what is not finite: a correlation, or the whole cell. */
static void leave_out(work *w, double *values, int64_t count, bool whole)
{
    const int step = whole ? CELL : 2;

    for (int64_t k = 0; k < CELL * count; k += step)
        if (!are_finite(values + k, step)) {
            memset(values + k, 0, (size_t)step * sizeof(*values));
            memset(w->block.weight + k, 0, (size_t)step * sizeof(*values));
        }
}

static void load_block(work *w, const place *at)
{
    const grove_compression_input *input = w->input;
    bool full = input->form == GROVE_COMPRESSION_FULL;

    w->block.count = (int32_t)at->count;
    load_weights(w, at);
    if (!load_values(w, &input->data, at, w->block.data))
        leave_out(w, w->block.data, at->count, false);
    for (int g = 0; g < input->groups; g++)
        if (!load_values(w, &input->model[g], at, w->block.model[g]))
            leave_out(w, w->block.model[g], at->count, full);
}

/* ---- from running sums to finished ones ---- */

/* Correlation c of two cells of products; the number's conjugate with sign -1. */
static void put_products(double *to, int c, const double *from, double sign)
{
    to[c] = from[2 * c] + from[2 * c + 1];
    to[4 + c] = sign * (from[CELL + 2 * c] - from[CELL + 2 * c + 1]);
}

static void finish_diagonal(const double *running, int groups, double *sums)
{
    const double *pair = running + 2 * CELL * (1 + groups);

    for (int g = 0; g < groups; g++) {
        for (int c = 0; c < 4; c++) {
            put_products(sums + GROVE_SUMS_DATA(g), c, running + 2 * CELL * (1 + g), 1);
            sums[GROVE_SUMS_SQUARE(groups, g) + c] = pair[2 * c] + pair[2 * c + 1];
        }
        pair += 2 * CELL;
        for (int h = g + 1; h < groups; h++, pair += 2 * CELL)
            for (int c = 0; c < 4; c++)
                put_products(sums + GROVE_SUMS_PAIR(groups, g, h), c, pair, -1);
    }
}

/* conj(m_e) m_(e + r) of groups g and h. */
static void finish_pair(const double *running, int n, int g, int h, double *sums)
{
    for (int r = 0; r < (g == h ? 3 : 4); r++)
        for (int e = 0; e < (g == h && r == 2 ? 2 : 4); e++) {
            int j = 4 * g + e, k = 4 * h + (e + r) % 4;
            double *to = sums + (j == k  ? GROVE_SUMS_SQUARE(n, j)
                                 : j < k ? GROVE_SUMS_PAIR(n, j, k)
                                         : GROVE_SUMS_PAIR(n, k, j));
            const double *shared = running + 2 * CELL * r + 2 * e;
            const double re = shared[0] + shared[1], im = shared[CELL] - shared[CELL + 1];
            for (int c = 0; c < 4; c++) {
                const double *own = running + CELL * (GROVE_COMPRESSION_OWN + 4 * c + r) + 2 * e;
                to[c] = own[0] + re;
                if (j != k)
                    to[4 + c] = j < k ? -(own[1] + im) : own[1] + im;
            }
        }
}

static void finish_full(const double *running, int groups, double *sums)
{
    const int n = 4 * groups;
    const double *pair = running + 2 * CELL * (1 + 4 * groups);

    for (int g = 0; g < groups; g++)
        for (int r = 0; r < 4; r++)
            for (int c = 0; c < 4; c++)
                put_products(sums + GROVE_SUMS_DATA(4 * g + (c + r) % 4), c,
                             running + 2 * CELL * (1 + 4 * g + r), 1);
    for (int g = 0; g < groups; g++)
        for (int h = g; h < groups; h++, pair += CELL * GROVE_COMPRESSION_PAIR)
            finish_pair(pair, n, g, h, sums);
}

static void finish(const work *w, const double *running, double *sums)
{
    for (int c = 0; c < 4; c++) {
        sums[GROVE_SUMS_NUMBERS + c] = running[2 * c] + running[2 * c + 1];
        sums[GROVE_SUMS_POWER + c] = running[CELL + 2 * c] + running[CELL + 2 * c + 1];
    }
    if (w->input->form == GROVE_COMPRESSION_FULL)
        finish_full(running, w->input->groups, sums);
    else
        finish_diagonal(running, w->input->groups, sums);
}

/* ---- */

static void *aligned(void *memory)
{
    return (char *)memory + (64 - (uintptr_t)memory % 64) % 64;
}

/* The block's arrays and running sums in one piece of memory; NULL: it is short. */
static void *start(work *w, const grove_compression_input *input)
{
    const bool full = input->form == GROVE_COMPRESSION_FULL;
    const int groups = input->groups, pairs = groups * (groups + 1) / 2;
    const size_t array = CELL * CELLS + 5 * CELL; /* not all at the same place of a page */
    char said[160];
    grove_isa isa;

    if (grove_isa_choose(&isa, said))
        isa = grove_isa_best();
    *w = (work){.input = input, .kernels = kernels[isa]};
    w->running_size =
        CELL * (2 + (full ? 8 * groups + GROVE_COMPRESSION_PAIR * pairs : 2 * (groups + pairs)));
    w->block.groups = groups;
    w->block.full = full;
    w->absent = input->data.elements == 1 ? 14 : input->data.elements == 2 ? 6 : 0;
    if (input->weights.data && input->weights.elements == 2)
        w->absent |= 6;
    w->plain_flags = input->data.elements == 4 && !w->absent;
    for (int g = 0; g < groups; g++)
        w->plain_flags &= !input->model[g].flags;
    size_t count = array * (size_t)(2 + groups) + BASELINES * (size_t)w->running_size + CELL;
    void *memory = grove_try_alloc(count, sizeof(double));
    if (!memory)
        return NULL;
    double *next = aligned(memory);
    w->block.weight = next;
    w->block.data = next + array;
    for (int g = 0; g < groups; g++)
        w->block.model[g] = next + array * (size_t)(2 + g);
    w->running = next + array * (size_t)(2 + groups);
    return memory;
}

/* Whether the next baseline's channels follow those of one. */
static bool follows(const grove_compression_array *array, int64_t channels)
{
    return (!array->data || array->stride[1] == channels * array->stride[2]) &&
           (!array->flags || array->flag_stride[1] == channels * array->flag_stride[2]);
}

/* How many baselines can be loaded at once. */
static int64_t find_rows(const grove_compression_input *input, int64_t channels)
{
    bool all = follows(&input->data, channels) && follows(&input->weights, channels);

    for (int g = 0; g < input->groups; g++)
        all = all && follows(&input->model[g], channels);
    return all && channels && channels < CELLS ? CELLS / channels : 1;
}

/* Adds what is loaded to the running sums of one baseline after the other. */
static void add_loaded(const work *w, int64_t rows, int64_t channels, double *running)
{
    grove_compression_block row = w->block;

    row.count = (int32_t)channels;
    for (int64_t k = 0; k < rows; k++, running += w->running_size) {
        w->kernels->add(&row, running);
        row.weight += CELL * channels;
        row.data += CELL * channels;
        for (int g = 0; g < row.groups; g++)
            row.model[g] += CELL * channels;
    }
}

static void add_rows(work *w, const grove_compression_stretch *stretch, int64_t first, int64_t last)
{
    const int64_t rows = find_rows(w->input, stretch->freq[1] - stretch->freq[0]);

    memset(w->running, 0, sizeof(double) * (size_t)(w->running_size * (last - first)));
    for (int64_t t = stretch->time[0]; t < stretch->time[1]; t++)
        for (int64_t b = first; b < last; b += rows)
            for (int64_t f = stretch->freq[0]; f < stretch->freq[1]; f += CELLS) {
                int64_t channels = stretch->freq[1] - f < CELLS ? stretch->freq[1] - f : CELLS;
                int64_t count = last - b < rows ? last - b : rows;
                load_block(w, &(place){t, b, f, count * channels});
                add_loaded(w, count, channels, w->running + w->running_size * (b - first));
            }
}

int grove_compression_sum(const grove_compression_input *input,
                          const grove_compression_stretch *stretch, int64_t first, int64_t last,
                          double *sums)
{
    const int64_t size = grove_compression_size(input->form, input->groups);
    work w;
    void *memory = start(&w, input);

    if (!memory)
        return GROVE_NO_MEMORY;
    for (int64_t b = first; b < last; b += BASELINES) {
        int64_t end = last - b < BASELINES ? last : b + BASELINES;
        add_rows(&w, stretch, b, end);
        for (int64_t k = b; k < end; k++)
            finish(&w, w.running + w.running_size * (k - b), sums + size * (k - first));
    }
    free(memory);
    return 0;
}
