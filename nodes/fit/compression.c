#include "nodes/fit/compression.h"

#include "util.h"

#include "../../kernels/fit/compression_simd.h"
#include "../../kernels/simd/isa.h"

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
    unsigned absent;  /* bits of correlations missing in the data or weights */
    bool plain_flags; /* only the data have flags */
    bool direct;      /* rows may be added unchanged */
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

void grove_compression_subtract_last(grove_compression_form form, int groups, const double *sums,
                                     double *to)
{
    const int n = (int)form * groups, left = n - (int)form;

    memcpy(to + GROVE_SUMS_NUMBERS, sums + GROVE_SUMS_NUMBERS, 4 * sizeof(*to));
    for (int c = 0; c < 4; c++) {
        int last = left + (form == GROVE_COMPRESSION_FULL ? c : 0);
        double power = sums[GROVE_SUMS_POWER + c] - 2 * sums[GROVE_SUMS_DATA(last) + c] +
                       sums[GROVE_SUMS_SQUARE(n, last) + c];
        to[GROVE_SUMS_POWER + c] = fmax(power, 0);
        for (int j = 0; j < left; j++)
            for (int part = 0; part < 8; part += 4)
                to[GROVE_SUMS_DATA(j) + part + c] = sums[GROVE_SUMS_DATA(j) + part + c] -
                                                    sums[GROVE_SUMS_PAIR(n, j, last) + part + c];
    }
    for (int j = 0; j < left; j++) {
        memcpy(to + GROVE_SUMS_SQUARE(left, j), sums + GROVE_SUMS_SQUARE(n, j), 4 * sizeof(*to));
        for (int k = j + 1; k < left; k++)
            memcpy(to + GROVE_SUMS_PAIR(left, j, k), sums + GROVE_SUMS_PAIR(n, j, k),
                   8 * sizeof(*to));
    }
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

/* One element means that number times the identity, two a diagonal. */
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

/* Bits of the four correlations from bits of an array's elements. */
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

/* Sets all flags of a row, as flags of the weights. */
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

static grove_compression_row weights_at(const grove_compression_input *input, const place *at)
{
    static const float one = 1;
    const grove_compression_array unit = {.data = &one, .elements = 1, .bytes = 4};

    return row_at(input->weights.data ? &input->weights : &unit, at);
}

/* Weights, 0 where something is flagged. */
static void load_weights(work *w, const place *at)
{
    grove_compression_row row = weights_at(w->input, at);
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

/* Leaves out values that are not finite: a correlation, or the whole cell. */
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

/* ---- memory, and kernels ---- */

static void *aligned(void *memory)
{
    return (char *)memory + (64 - (uintptr_t)memory % 64) % 64;
}

/* Whether rows of the input may be added unchanged. */
static bool is_direct(const work *w)
{
    const grove_compression_input *input = w->input;
    const grove_compression_array *model = &input->model[0], *weights = &input->weights;

    return w->plain_flags && input->groups == 1 && input->data.bytes == 4 && model->bytes == 4 &&
           model->elements == 4 &&
           (!weights->data || (weights->bytes == 4 && weights->elements != 2));
}

/* The block's arrays and running sums in one piece of memory; NULL: it is short. */
static void *start(work *w, const grove_compression_input *input)
{
    const bool full = input->form == GROVE_COMPRESSION_FULL;
    const int groups = input->groups, pairs = groups * (groups + 1) / 2;
    const size_t array = CELL * CELLS + 5 * CELL; /* not all at the same place of a page */

    *w = (work){.input = input, .kernels = kernels[grove_isa_usable()]};
    w->running_size =
        CELL * (2 + (full ? 8 * groups + GROVE_COMPRESSION_PAIR * pairs : 2 * (groups + pairs)));
    w->block.groups = groups;
    w->block.full = full;
    w->absent = input->data.elements == 4                             ? 0
                : input->data.elements == 1 && !input->scalar_is_both ? 14
                                                                      : 6;
    if (input->weights.data && input->weights.elements == 2)
        w->absent |= 6;
    w->plain_flags = input->data.elements == 4 && !w->absent;
    for (int g = 0; g < groups; g++)
        w->plain_flags &= !input->model[g].flags;
    w->direct = is_direct(w);
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

/* Whether the next baseline's channels follow the channels of one. */
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

/* Adds the loaded rows to the running sums of one baseline after the other. */
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

/* Adds a stretch of `count` baselines without loading, from a place on; returns the number of
 * baselines before one that has to be loaded first. */
static int64_t add_directly(work *w, const place *at, int64_t count, double *running)
{
    const grove_compression_input *input = w->input;
    grove_compression_rows rows = {.rows = count,
                                   .count = at->count,
                                   .size = w->running_size,
                                   .full = w->block.full,
                                   .data = row_at(&input->data, at),
                                   .weights = weights_at(input, at),
                                   .model = row_at(&input->model[0], at),
                                   .next = {.data = input->data.stride[1],
                                            .weights = input->weights.stride[1],
                                            .model = input->model[0].stride[1],
                                            .flags = input->data.flag_stride[1]}};

    if (!w->direct)
        return 0;
    set_flags(w, at, &rows.weights);
    return w->kernels->add_rows(&rows, running);
}

/* Loads the channels of `count` baselines, which can be loaded at once, and adds them. */
static void add_blocks(work *w, const place *at, int64_t count, double *running)
{
    const int64_t end = at->freq + at->count;

    for (int64_t f = at->freq; f < end; f += CELLS) {
        int64_t channels = end - f < CELLS ? end - f : CELLS;
        load_block(w, &(place){at->time, at->baseline, f, count * channels});
        add_loaded(w, count, channels, running);
    }
}

/* Adds some channels of baselines [first, last), which are all there. */
static void add_there(work *w, place at, int64_t last, double *running)
{
    const int64_t rows = find_rows(w->input, at.count);

    while (at.baseline < last) {
        int64_t done = add_directly(w, &at, last - at.baseline, running);
        at.baseline += done;
        running += w->running_size * done;
        int64_t rest = last - at.baseline < rows ? last - at.baseline : rows;
        if (rest)
            add_blocks(w, &at, rest, running);
        at.baseline += rest;
        running += w->running_size * rest;
    }
}

static bool is_missing(const grove_compression_input *input, int64_t time, int64_t baseline)
{
    return input->missing &&
           input->missing[input->missing_stride[0] * time + input->missing_stride[1] * baseline] !=
               0;
}

/* Adds some channels of the baselines in [first, last) that have rows. */
static void add_channels(work *w, place at, int64_t last, double *running)
{
    const int64_t first = at.baseline;

    while (at.baseline < last) {
        int64_t end = at.baseline;
        while (end < last && !is_missing(w->input, at.time, end))
            end++;
        if (end > at.baseline)
            add_there(w, at, end, running + w->running_size * (at.baseline - first));
        at.baseline = end > at.baseline ? end : end + 1;
    }
}

static void add_rows(work *w, const grove_compression_stretch *stretch, int64_t first, int64_t last)
{
    const int64_t end = stretch->freq[1], most = GROVE_COMPRESSION_CHANNELS;

    memset(w->running, 0, sizeof(double) * (size_t)(w->running_size * (last - first)));
    for (int64_t t = stretch->time[0]; t < stretch->time[1]; t++)
        for (int64_t f = stretch->freq[0]; f < end; f += most)
            add_channels(w, (place){t, first, f, end - f < most ? end - f : most}, last,
                         w->running);
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
            w.kernels->finish(w.running + w.running_size * (k - b), input->groups, w.block.full,
                              sums + size * (k - first));
    }
    free(memory);
    return 0;
}
