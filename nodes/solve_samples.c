#include "nodes/solve_samples.h"

#include "../kernels/simd/isa.h"

#include "base/memory.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { SAMPLES = SOLVE_SAMPLES, NUMBERS = 2 * SAMPLES, SUM = GROVE_NORMAL_SUM };

static const grove_normal_kernels *kernels_now(void)
{
    static const grove_normal_kernels *const kernels[GROVE_ISAS] = {
        &grove_normal_portable, &grove_normal_avx2, &grove_normal_avx512};

    return kernels[grove_isa_usable()];
}

void solve_samples_begin(solve_samples *x, const solve_tile *tile)
{
    const solve *s = tile->solve;
    size_t columns = (size_t)s->columns + 1, pairs = columns * (columns + 1) / 2;

    *x = (solve_samples){.tile = tile, .kernels = kernels_now()};
    x->size = (int64_t)(2 * SUM * (1 + pairs));
    x->at = grove_alloc(2 * (size_t)s->inputs * sizeof(*x->at));
    x->step = x->at + s->inputs;
    for (int k = 0; k < s->inputs && tile->cut[SOLVE_FREQ] >= 0; k++)
        x->step[k] = tile->views[k].stride[tile->cut[SOLVE_FREQ]];
    x->memory = grove_alloc(((columns + 3) * NUMBERS + (size_t)x->size + 8) * sizeof(double));
    x->column = (double *)x->memory + (64 - (uintptr_t)x->memory % 64) % 64 / sizeof(double);
    x->measured = x->column + columns * NUMBERS;
    x->weight = x->measured + NUMBERS;
    x->values = x->weight + NUMBERS;
    x->sums = x->values + NUMBERS;
}

void solve_samples_end(solve_samples *x)
{
    free(x->at);
    free(x->memory);
}

/* Adds up the samples that wait. */
static void flush(solve_samples *x)
{
    const grove_normal_block block = {.count = (x->count + 3) / 4 * 4,
                                      .stride = NUMBERS,
                                      .columns = x->tile->solve->columns,
                                      .column = x->column,
                                      .measured = x->measured,
                                      .weight = x->weight};
    size_t bytes = (size_t)(block.count - x->count) * 2 * sizeof(double);

    if (!x->count)
        return;
    for (int a = 0; a < block.columns + 3; a++) /* what was measured, and weights, too */
        memset(x->column + (ptrdiff_t)a * NUMBERS + 2 * x->count, 0, bytes);
    x->kernels->add(&block, x->sums);
    x->count = 0;
}

/* ---- loading ---- */

/* Cells of an input along the channels. */
typedef struct {
    const solve_view *view;
    int64_t at, step, cells;
    int elements;  /* that are compared, */
    const int *of; /* and where they are */
} run;

static run run_of(const solve_samples *x, const solve_view *view, int input, int64_t cells,
                  const int *of)
{
    return (run){view, x->at[input], x->step[input], cells, x->tile->solve->elements, of};
}

static bool has_all_elements(const run *r)
{
    bool same = r->view->elements == r->elements;

    for (int e = 0; e < r->elements && r->elements > 1; e++)
        same = same && r->of[e] == e;
    return same;
}

/* The first cell again and again. */
static void repeat(double *to, int64_t numbers, int64_t cells)
{
    for (int64_t k = 1; k < cells; k++)
        memcpy(to + k * numbers, to, (size_t)numbers * sizeof(*to));
}

/* The next row is asked for in advance: its cells mostly follow these. The cells of a row at
 * several times are far from each other, so that a processor does not see that by itself. */
static void prefetch_next(const char *from, int64_t bytes)
{
    for (int64_t k = 0; k < bytes; k += 64)
        __builtin_prefetch(from + bytes + k);
}

/* Complex numbers; false: some are not finite. */
static bool load_values(const solve_samples *x, run r, double *to)
{
    const solve_view *view = r.view;
    int64_t cells = r.step ? r.cells : 1, numbers = 2 * r.elements;
    bool finite = true;

    if (view->complex_ && (r.step == 1 || cells == 1) && has_all_elements(&r)) {
        const int64_t bytes = numbers * (view->double_ ? 8 : 4);
        const char *from = view->data + r.at * bytes;
        prefetch_next(from, cells * bytes);
        finite = view->double_
                     ? x->kernels->copy((const double *)(const void *)from, cells * numbers, to)
                     : x->kernels->widen((const float *)(const void *)from, cells * numbers, to);
    } else {
        for (int64_t k = 0; k < cells; k++)
            for (int e = 0; e < r.elements; e++) {
                double complex number = solve_number(view, r.at + k * r.step, r.of[e]);
                double *sample = to + 2 * (k * r.elements + e);
                sample[0] = creal(number);
                sample[1] = cimag(number);
                finite = finite && isfinite(sample[0]) && isfinite(sample[1]);
            }
    }
    if (!r.step)
        repeat(to, numbers, r.cells);
    return finite;
}

/* The flags of four elements. */
static void add_four(int flags, unsigned char *left_out)
{
    static const unsigned char one[16][4] = {
        {0, 0, 0, 0}, {1, 0, 0, 0}, {0, 1, 0, 0}, {1, 1, 0, 0}, {0, 0, 1, 0}, {1, 0, 1, 0},
        {0, 1, 1, 0}, {1, 1, 1, 0}, {0, 0, 0, 1}, {1, 0, 0, 1}, {0, 1, 0, 1}, {1, 1, 0, 1},
        {0, 0, 1, 1}, {1, 0, 1, 1}, {0, 1, 1, 1}, {1, 1, 1, 1}};
    uint32_t bits, all;

    memcpy(&bits, one[flags & 15], sizeof(bits));
    memcpy(&all, left_out, sizeof(all));
    all |= bits;
    memcpy(left_out, &all, sizeof(all));
}

/* Adds the flags to those of samples. */
static void add_flags(run r, unsigned char *left_out)
{
    const bool four = r.elements == 4 && has_all_elements(&r);

    for (int64_t k = 0; k < r.cells && r.view->flags; k++, left_out += r.elements) {
        int flags = r.view->flags[r.at + k * r.step];
        if (four)
            add_four(flags, left_out);
        for (int e = 0; e < r.elements && !four; e++)
            left_out[e] |= flags >> (r.view->elements > 1 ? r.of[e] : 0) & 1;
    }
}

/* Real numbers, one for each sample. */
static void load_weights(run r, double *to)
{
    int64_t cells = r.step ? r.cells : 1;

    if (!r.view->double_ && r.step == 1 && has_all_elements(&r)) {
        const float *from = (const float *)(const void *)r.view->data + r.at * r.elements;
        prefetch_next((const char *)(const void *)from,
                      cells * r.elements * (int64_t)sizeof(*from));
        for (int64_t k = 0; k < cells * r.elements; k++)
            to[k] = (double)from[k];
        return;
    }
    for (int64_t k = 0; k < cells; k++)
        for (int e = 0; e < r.elements; e++)
            to[k * r.elements + e] = creal(solve_number(r.view, r.at + k * r.step, r.of[e]));
    if (!r.step)
        repeat(to, r.elements, r.cells);
}

static void load_run_weights(solve_samples *x, int64_t cells)
{
    const solve_tile *tile = x->tile;
    const solve *s = tile->solve;
    const solve_view robust = tile->robust ? solve_robust_view(tile) : (solve_view){0};
    int64_t count = cells * s->elements;
    double weights[SAMPLES];

    memset(x->left_out, 0, (size_t)count);
    add_flags(run_of(x, &tile->views[SOLVE_DATA], SOLVE_DATA, cells, s->of_data), x->left_out);
    add_flags(run_of(x, &tile->views[SOLVE_MODEL], SOLVE_MODEL, cells, s->of_model), x->left_out);
    add_flags(run_of(x, &tile->views[s->weights], s->weights, cells, s->of_data), x->left_out);
    for (int64_t k = 0; k < count; k++)
        weights[k] = 1;
    if (tile->robust)
        load_weights(run_of(x, &robust, SOLVE_MODEL, cells, s->of_data), weights);
    else if (tile->views[s->weights].data)
        load_weights(run_of(x, &tile->views[s->weights], s->weights, cells, s->of_data), weights);
    x->kernels->weigh(weights, x->left_out, count, x->weight + 2 * x->count);
}

/* ---- samples ---- */

/* Leaves out samples that are not finite. */
static void leave_out(const solve_samples *x, double *numbers, int64_t samples)
{
    double *weight = x->weight + 2 * x->count;

    for (int64_t k = 0; k < 2 * samples; k += 2)
        if (!isfinite(numbers[k]) || !isfinite(numbers[k + 1]))
            numbers[k] = numbers[k + 1] = weight[k] = weight[k + 1] = 0;
}

/* From the leading term of a polynomial to all of them. */
static void expand(const solve_samples *x, const solve_slot *slot, const int64_t cell[SOLVE_CUTS],
                   int64_t cells, double *to)
{
    const solve *s = x->tile->solve;
    const int64_t numbers = 2 * s->elements;
    double basis[GROVE_PARM_TERMS * GROVE_PARM_TERMS];

    for (int64_t k = 0; k < cells; k++) {
        const int64_t at[SOLVE_CUTS] = {cell[SOLVE_TIME], cell[SOLVE_FREQ] + k};
        solve_find_basis(s->parms[slot->parm].parm, at, basis);
        for (int t = 0; t < slot->terms; t++)
            for (int64_t i = numbers * k; i < numbers * (k + 1); i++)
                to[(ptrdiff_t)t * NUMBERS + i] = basis[t] * x->values[i];
    }
}

static void load_column(const solve_samples *x, const solve_slot *slot,
                        const int64_t cell[SOLVE_CUTS], int64_t cells)
{
    const solve *s = x->tile->solve;
    double *to = x->column + (ptrdiff_t)slot->first * NUMBERS + 2 * x->count;
    double *leading = slot->terms > 1 ? x->values : to;
    run r = run_of(x, &x->tile->views[slot->input], slot->input, cells, s->of_model);

    if (!load_values(x, r, leading))
        leave_out(x, leading, cells * s->elements);
    if (slot->terms > 1)
        expand(x, slot, cell, cells, to);
}

/* The channels from `cell` on, as many as fit. */
static void load_run(solve_samples *x, const int64_t cell[SOLVE_CUTS], int64_t cells)
{
    const solve_tile *tile = x->tile;
    const solve *s = tile->solve;
    double *measured = x->measured + 2 * x->count;
    double *residual = x->column + (ptrdiff_t)s->columns * NUMBERS + 2 * x->count;
    int64_t samples = cells * s->elements;

    load_run_weights(x, cells);
    load_values(x, run_of(x, &tile->views[SOLVE_DATA], SOLVE_DATA, cells, s->of_data), measured);
    load_values(x, run_of(x, &tile->views[SOLVE_MODEL], SOLVE_MODEL, cells, s->of_model), residual);
    if (!x->kernels->subtract(measured, 2 * samples, residual)) {
        leave_out(x, measured, samples);
        leave_out(x, residual, samples);
    }
    for (int k = 0; k < s->slot_count; k++)
        load_column(x, &s->slots[k], cell, cells);
    x->count += samples;
    x->all += s->parts * samples;
}

static void add_run(solve_samples *x, const int64_t cell[SOLVE_CUTS], int64_t cells)
{
    const solve *s = x->tile->solve;
    int64_t at[SOLVE_CUTS] = {cell[SOLVE_TIME], cell[SOLVE_FREQ]};

    while (cells) {
        int64_t room = (SAMPLES - x->count) / s->elements, count = cells < room ? cells : room;
        if (!room) {
            flush(x);
            continue;
        }
        load_run(x, at, count);
        for (int k = 0; k < s->inputs; k++)
            x->at[k] += x->step[k] * count;
        at[SOLVE_FREQ] += count;
        cells -= count;
    }
}

/* The cells of all inputs at the first channel. */
static void find_cells(const solve_samples *x, const int64_t index[GROVE_MAX_AXES],
                       const int64_t cell[SOLVE_CUTS])
{
    const solve_tile *tile = x->tile;

    for (int k = 0; k < tile->solve->inputs; k++) {
        const int64_t *stride = tile->views[k].stride;
        x->at[k] = 0;
        for (int d = 0; d < tile->axes; d++)
            x->at[k] += stride[d] * index[d];
        for (int c = 0; c < SOLVE_CUTS; c++)
            if (tile->cut[c] >= 0)
                x->at[k] += stride[tile->cut[c]] * (cell[c] - tile->range[tile->cut[c]].first);
    }
}

/* Channels from `first` on that are all within what is asked for. */
static int64_t channels_in_range(const solve_samples *x, int64_t first, int64_t end)
{
    const int uvw = x->tile->solve->uvw;
    int64_t count = 0;

    while (uvw >= 0 && first + count < end &&
           solve_is_in_range(x->tile, x->at[uvw] + x->step[uvw] * count, first + count))
        count++;
    return uvw < 0 ? end - first : count;
}

void solve_samples_add(solve_samples *x, const int64_t index[GROVE_MAX_AXES], int64_t (*box)[2])
{
    const int64_t *times = box[SOLVE_TIME], *freqs = box[SOLVE_FREQ];

    for (int64_t t = times[0]; t < times[1]; t++)
        for (int64_t f = freqs[0]; f < freqs[1];) {
            const int64_t cell[SOLVE_CUTS] = {t, f};
            find_cells(x, index, cell);
            int64_t channels = channels_in_range(x, f, freqs[1]);
            add_run(x, cell, channels);
            f += channels ? channels : 1;
        }
}

/* ---- sums ---- */

static double total(const double *x)
{
    return ((x[0] + x[1]) + (x[2] + x[3])) + ((x[4] + x[5]) + (x[6] + x[7]));
}

static double complex product(const double *x)
{
    const double *im = x + SUM;

    return CMPLX(total(x),
                 ((im[1] - im[0]) + (im[3] - im[2])) + ((im[5] - im[4]) + (im[7] - im[6])));
}

bool solve_samples_take(solve_samples *x, solve_columns *local)
{
    const int n = local->count;

    flush(x);
    double used = total(x->sums) / 2;
    x->power += total(x->sums + SUM);
    x->data += (int64_t)used * x->tile->solve->parts;
    const double *from = x->sums + 2 * SUM;
    for (int a = 0; a < n && used > 0; a++) {
        for (int b = a; b < n; b++, from += 2 * SUM) {
            local->hermitian[a * n + b] = product(from);
            local->hermitian[b * n + a] = conj(local->hermitian[a * n + b]);
        }
        local->gradient[a] = product(from);
        from += 2 * SUM;
    }
    x->chi2 += used > 0 ? total(from) : 0;
    memset(x->sums, 0, (size_t)x->size * sizeof(*x->sums));
    return used > 0;
}
