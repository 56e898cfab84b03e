#include "nodes/fit/solve_samples.h"

#include "../../kernels/simd/isa.h"

#include "util.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { SAMPLES = SOLVE_SAMPLES, NUMBERS = 2 * SAMPLES, SUM = GROVE_NORMAL_SUM };
enum { COLUMN = NUMBERS + 2 * 4 * GROVE_NORMAL_SPARE };

static const grove_normal_kernels *kernels_now(void)
{
    static const grove_normal_kernels *const kernels[GROVE_ISAS] = {
        &grove_normal_portable, &grove_normal_avx2, &grove_normal_avx512};

    return kernels[grove_isa_usable()];
}

static solve_run run_of(const solve_tile *tile, const solve_view *view, const int *of)
{
    const int elements = tile->solve->elements, *cut = tile->cut;
    solve_run r = {.view = view, .elements = elements, .of = of, .all = view->elements == elements};

    r.step = cut[SOLVE_FREQ] >= 0 ? view->stride[cut[SOLVE_FREQ]] : 0;
    r.time_step = cut[SOLVE_TIME] >= 0 ? view->stride[cut[SOLVE_TIME]] : 0;
    for (int e = 0; e < elements && elements > 1; e++)
        r.all = r.all && of[e] == e;
    return r;
}

static void begin_runs(solve_samples *x)
{
    const solve_tile *tile = x->tile;
    const solve *s = tile->solve;

    x->runs = grove_alloc(((size_t)s->inputs + 1) * sizeof(*x->runs));
    for (int k = 0; k < s->inputs; k++)
        x->runs[k] = run_of(tile, &tile->views[k],
                            k == SOLVE_DATA || k == s->weights ? s->of_data : s->of_model);
    if (tile->robust)
        x->robust = solve_robust_view(tile);
    x->runs[s->inputs] =
        run_of(tile, tile->robust ? &x->robust : &tile->views[s->weights], s->of_data);
}

void solve_samples_begin(solve_samples *x, const solve_tile *tile)
{
    const solve *s = tile->solve;
    size_t columns = (size_t)s->columns + 1, pairs = columns * (columns + 1) / 2;

    *x = (solve_samples){.tile = tile, .kernels = kernels_now()};
    x->size = (int64_t)(2 * SUM * (1 + pairs));
    x->capacity = SAMPLES / s->elements / 4 * 4;
    x->plane = 2 * (x->capacity + GROVE_NORMAL_SPARE);
    begin_runs(x);
    for (int k = 0; k < SAMPLES; k++)
        x->ones[k] = 1;
    size_t numbers = (columns + 3) * COLUMN + (size_t)2 * NUMBERS + (size_t)x->size;
    x->memory = grove_alloc((numbers + 8) * sizeof(double) + columns + (size_t)s->slot_count);
    x->column = (double *)x->memory + (64 - (uintptr_t)x->memory % 64) % 64 / sizeof(double);
    x->measured = x->column + columns * COLUMN;
    x->weight = x->measured + COLUMN;
    x->leading = x->weight + COLUMN;
    x->loaded[0] = x->leading + COLUMN;
    x->loaded[1] = x->loaded[0] + NUMBERS;
    x->sums = x->loaded[1] + NUMBERS;
    x->which = (unsigned char *)(x->sums + x->size);
    x->looked = x->which + columns;
}

void solve_samples_end(solve_samples *x)
{
    free(x->runs);
    free(x->memory);
}

/* Zeros in the next cells of all planes that are in use: of columns, the residual, the measured
 * values, and weights. */
static void fill(const solve_samples *x, int64_t cells)
{
    const solve *s = x->tile->solve;

    for (int a = 0; a < s->columns + 3; a++) {
        double *to = x->column + (ptrdiff_t)a * COLUMN + 2 * x->count;
        const int which = a < s->columns ? x->which[a] : ~0;
        for (int e = 0; cells && e < s->elements; e++)
            if (which >> e & 1)
                memset(to + x->plane * e, 0, (size_t)(2 * cells) * sizeof(*to));
    }
}

/* Adds up the samples that wait. */
static void flush(solve_samples *x)
{
    const solve *s = x->tile->solve;
    const grove_normal_block block = {.cells = (x->count + 3) / 4 * 4,
                                      .plane = x->plane,
                                      .stride = COLUMN,
                                      .columns = s->columns,
                                      .elements = s->elements,
                                      .column = x->column,
                                      .measured = x->measured,
                                      .weight = x->weight,
                                      .which = x->which};

    if (!x->count)
        return;
    fill(x, (4 - x->count % 4) % 4);
    x->kernels->add(&block, x->sums);
    x->count = 0;
    memset(x->which, 0, (size_t)block.columns);
}

/* ---- loading ---- */

/* The first cell again and again. */
static void repeat(double *to, int64_t numbers, int64_t cells)
{
    for (int64_t k = 1; k < cells; k++)
        memcpy(to + k * numbers, to, (size_t)numbers * sizeof(*to));
}

/* Rows that come soon are asked for, into the second cache: of several times there are more of them
 * than the first one holds, since they lie whole pages apart, and a processor does not predict
 * which comes next. */
static void prefetch_rows(const char *from, int64_t bytes)
{
    for (int64_t k = 0; k < bytes; k += 64)
        __builtin_prefetch(from + 3 * bytes + k, 0, 2);
}

static bool is_plain(const solve_run *r, int64_t cells)
{
    return r->all && (r->step == 1 || (r->step && cells == 1));
}

/* Complex numbers of any kind, in double. */
static void load_values(const solve_run *r, int64_t count, double *to)
{
    int64_t cells = r->step ? count : 1;

    for (int64_t k = 0; k < cells; k++)
        for (int e = 0; e < r->elements; e++) {
            double complex number = solve_number(r->view, r->at + k * r->step, r->of[e]);
            double *sample = to + 2 * (k * r->elements + e);
            sample[0] = creal(number);
            sample[1] = cimag(number);
        }
    if (!r->step)
        repeat(to, 2 * r->elements, count);
}

/* Where numbers of an input lie, if they need no loading first. */
typedef struct {
    const float *single_;
    const double *double_;
} numbers;

/* Loads them into `values` if need be. */
static numbers find_numbers(const solve_run *r, int64_t cells, double *values)
{
    numbers n = {NULL, NULL};

    if (r->view->complex_ && is_plain(r, cells)) {
        const int64_t bytes = (int64_t)2 * r->elements * (r->view->double_ ? 8 : 4);
        const char *from = r->view->data + r->at * bytes;
        prefetch_rows(from, cells * bytes);
        if (r->view->double_)
            n.double_ = (const double *)(const void *)from;
        else
            n.single_ = (const float *)(const void *)from;
    } else {
        load_values(r, cells, values);
        n.double_ = values;
    }
    return n;
}

/* Stores to the next cells of planes; returns the kernels' findings in them. */
static int split(const solve_samples *x, numbers n, int64_t cells, int which, const double *minus,
                 double *to)
{
    const int elements = x->tile->solve->elements;

    if (n.single_)
        return x->kernels->split_single(n.single_, cells, elements, which, minus, to, x->plane);
    return x->kernels->split_double(n.double_, cells, elements, which, minus, to, x->plane);
}

/* Adds flags to the flags of cells, a bit for each element. */
static void add_flags(const solve_run *r, int64_t cells, unsigned char *flags)
{
    const unsigned char *from = r->view->flags + r->at;
    int64_t k = 0;

    if (!r->view->flags)
        return;
    prefetch_rows((const char *)from, cells);
    for (uint64_t eight, more; r->all && r->step == 1 && k + 8 <= cells; k += 8) {
        memcpy(&eight, flags + k, sizeof(eight));
        memcpy(&more, from + k, sizeof(more));
        eight |= more;
        memcpy(flags + k, &eight, sizeof(eight));
    }
    for (; r->all && k < cells; k++)
        flags[k] |= from[k * r->step];
    for (; k < cells; k++)
        for (int e = 0; e < r->elements; e++)
            flags[k] |= (from[k * r->step] >> (r->view->elements > 1 ? r->of[e] : 0) & 1 ? 1 : 0)
                        << e;
}

static void load_run_weights(solve_samples *x, int64_t cells)
{
    const solve *s = x->tile->solve;
    const solve_run *r = &x->runs[s->inputs];
    double *to = x->weight + 2 * x->count;
    const float *from =
        r->view->data ? (const float *)(const void *)r->view->data + r->at * r->elements : x->ones;

    memset(x->flags, 0, (size_t)cells);
    add_flags(&x->runs[SOLVE_DATA], cells, x->flags);
    add_flags(&x->runs[SOLVE_MODEL], cells, x->flags);
    add_flags(&x->runs[s->weights], cells, x->flags);
    if (!r->view->data || (!r->view->double_ && !r->view->complex_ && is_plain(r, cells))) {
        if (r->view->data)
            prefetch_rows((const char *)(const void *)from,
                          cells * r->elements * (int64_t)sizeof(*from));
        x->kernels->weigh_single(from, x->flags, cells, r->elements, to, x->plane);
        return;
    }
    double *each = x->loaded[0];
    for (int64_t k = 0; k < cells * r->elements; k++)
        each[k] =
            creal(solve_number(r->view, r->at + k / r->elements * r->step, r->of[k % r->elements]));
    x->kernels->weigh_double(each, x->flags, cells, r->elements, to, x->plane);
}

/* ---- samples ---- */

/* Leaves out samples with a number that is not finite: in the order of an input. */
static void leave_out(const solve_samples *x, double *a, double *b, int64_t cells)
{
    const int elements = x->tile->solve->elements;

    for (int64_t k = 0; k < cells * elements; k++)
        if (!isfinite(a[2 * k]) || !isfinite(a[2 * k + 1]) || !isfinite(b[2 * k]) ||
            !isfinite(b[2 * k + 1])) {
            double *weight = x->weight + x->plane * (k % elements) + 2 * (x->count + k / elements);
            a[2 * k] = a[2 * k + 1] = b[2 * k] = b[2 * k + 1] = weight[0] = weight[1] = 0;
        }
}

/* From the leading term of a polynomial to all of them. */
static void expand(const solve_samples *x, const solve_slot *slot, const int64_t cell[SOLVE_CUTS],
                   int64_t cells, int which, double *to)
{
    const solve *s = x->tile->solve;
    double basis[GROVE_PARM_TERMS * GROVE_PARM_TERMS];

    for (int64_t k = 0; k < cells; k++) {
        const int64_t at[SOLVE_CUTS] = {cell[SOLVE_TIME], cell[SOLVE_FREQ] + k};
        solve_find_basis(s->parms[slot->parm].parm, at, basis);
        for (int e = 0; e < s->elements; e++)
            for (int t = 0; t < slot->terms && which >> e & 1; t++)
                for (int64_t i = x->plane * e + 2 * k, end = i + 2; i < end; i++)
                    to[(ptrdiff_t)t * COLUMN + i] = basis[t] * x->leading[i];
    }
}

/* Into the planes of elements that were not 0 in the run before, or are not now: which those are.
 */
static int split_column(const solve_samples *x, int slot, int64_t cells, int guess, double *to)
{
    const solve_run *r = &x->runs[x->tile->solve->slots[slot].input];
    numbers n = find_numbers(r, cells, x->loaded[0]);
    int found = split(x, n, cells, guess, NULL, to);

    if (found & GROVE_NORMAL_NOT_FINITE) {
        load_values(r, cells, x->loaded[0]);
        leave_out(x, x->loaded[0], x->loaded[0], cells);
        n = (numbers){NULL, x->loaded[0]};
        guess = 0;
    }
    return found & ~guess ? split(x, n, cells, found, NULL, to) : found;
}

static void load_column(const solve_samples *x, int number, const int64_t cell[SOLVE_CUTS],
                        int64_t cells)
{
    const solve *s = x->tile->solve;
    const solve_slot *slot = &s->slots[number];
    double *column = x->column + (ptrdiff_t)slot->first * COLUMN, *to = column + 2 * x->count;
    const int before = x->which[slot->first];
    const int found = split_column(x, number, cells, before | x->looked[number],
                                   slot->terms > 1 ? x->leading : to);
    const int which = before | found;

    x->looked[number] = (unsigned char)found;
    for (int t = 0; t < slot->terms && which != before; t++) {
        for (int e = 0; e < s->elements; e++) /* all was 0 up to here */
            if ((which & ~before) >> e & 1)
                memset(column + (ptrdiff_t)t * COLUMN + x->plane * e, 0,
                       (size_t)(2 * x->count) * sizeof(*column));
        x->which[slot->first + t] = (unsigned char)which;
    }
    if (slot->terms > 1)
        expand(x, slot, cell, cells, which, to);
}

/* Loads the measured values, and their residuals after the model. */
static void load_residual(const solve_samples *x, int64_t cells)
{
    const solve *s = x->tile->solve;
    const solve_run *data = &x->runs[SOLVE_DATA], *model = &x->runs[SOLVE_MODEL];
    double *measured = x->measured + 2 * x->count;
    double *residual = x->column + (ptrdiff_t)s->columns * COLUMN + 2 * x->count;
    numbers from = find_numbers(data, cells, x->loaded[0]),
            minus = find_numbers(model, cells, x->loaded[1]);
    int found = from.single_ || minus.single_ ? split(x, from, cells, ~0, NULL, measured) |
                                                    split(x, minus, cells, ~0, measured, residual)
                                              : GROVE_NORMAL_NOT_FINITE;

    /* Finite numbers in single precision have a finite difference in double. */
    if (!(found & GROVE_NORMAL_NOT_FINITE))
        return;
    load_values(data, cells, x->loaded[0]);
    load_values(model, cells, x->loaded[1]);
    for (int64_t k = 0; k < 2 * cells * s->elements; k++)
        x->loaded[1][k] = x->loaded[0][k] - x->loaded[1][k];
    leave_out(x, x->loaded[0], x->loaded[1], cells);
    split(x, (numbers){NULL, x->loaded[0]}, cells, ~0, NULL, measured);
    split(x, (numbers){NULL, x->loaded[1]}, cells, ~0, NULL, residual);
}

/* The channels from `cell` on, as many as fit. */
static void load_run(solve_samples *x, const int64_t cell[SOLVE_CUTS], int64_t cells)
{
    const solve *s = x->tile->solve;

    load_run_weights(x, cells);
    load_residual(x, cells);
    for (int k = 0; k < s->slot_count; k++)
        load_column(x, k, cell, cells);
    x->count += cells;
}

static void add_run(solve_samples *x, const int64_t cell[SOLVE_CUTS], int64_t cells)
{
    const solve *s = x->tile->solve;
    int64_t at[SOLVE_CUTS] = {cell[SOLVE_TIME], cell[SOLVE_FREQ]};

    while (cells) {
        int64_t room = x->capacity - x->count, count = cells < room ? cells : room;
        if (!room) {
            flush(x);
            continue;
        }
        load_run(x, at, count);
        x->all += s->parts * count * s->elements;
        for (int k = 0; k <= s->inputs; k++)
            x->runs[k].at += x->runs[k].step * count;
        at[SOLVE_FREQ] += count;
        cells -= count;
    }
}

/* Skips cells missing in the set: later cells keep their places in vectors, so that sums have the
 * same bits as with weights of 0. */
static void leave_run(solve_samples *x, int64_t cells)
{
    const solve *s = x->tile->solve;

    x->all += s->parts * cells * s->elements;
    for (int64_t rest = cells % 4; rest; rest--) {
        if (x->count == x->capacity)
            flush(x);
        fill(x, 1);
        x->count++;
    }
}

/* The first cell of a box in all inputs. */
static void find_start(const solve_samples *x, const int64_t index[GROVE_MAX_AXES],
                       int64_t (*box)[2])
{
    const int64_t cell[SOLVE_CUTS] = {box[SOLVE_TIME][0], box[SOLVE_FREQ][0]};

    for (int k = 0; k <= x->tile->solve->inputs; k++)
        x->runs[k].start = solve_cell_of(x->tile, x->runs[k].view, index, cell);
}

/* Channels from `first` on that are all within the requested range. */
static int64_t channels_in_range(const solve_samples *x, int64_t first, int64_t end)
{
    const int uvw = x->tile->solve->uvw;
    int64_t count = 0;

    if (uvw < 0)
        return end - first;
    const solve_run *r = &x->runs[uvw];
    while (first + count < end &&
           solve_is_in_range(x->tile, r->at + r->step * count, first + count))
        count++;
    return count;
}

void solve_samples_add(solve_samples *x, const int64_t index[GROVE_MAX_AXES], int64_t (*box)[2])
{
    const int64_t *times = box[SOLVE_TIME], *freqs = box[SOLVE_FREQ];
    const solve_tile *tile = x->tile;
    const int64_t baseline = tile->baseline >= 0 ? index[tile->baseline] : 0;

    find_start(x, index, box);
    for (int64_t t = times[0]; t < times[1]; t++) {
        const bool missing = solve_is_missing(tile, t, baseline);
        for (int64_t f = freqs[0]; f < freqs[1];) {
            const int64_t cell[SOLVE_CUTS] = {t, f};
            for (int k = 0; k <= tile->solve->inputs; k++) {
                solve_run *r = &x->runs[k];
                r->at = r->start + (t - times[0]) * r->time_step + (f - freqs[0]) * r->step;
            }
            int64_t channels = channels_in_range(x, f, freqs[1]);
            if (missing)
                leave_run(x, channels);
            else
                add_run(x, cell, channels);
            f += channels ? channels : 1;
        }
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

bool solve_samples_take(solve_samples *x, solve_local *to)
{
    const int n = to->columns.count;

    flush(x);
    double used = total(x->sums) / 2;
    to->all = x->all;
    to->sums.power = total(x->sums + SUM);
    to->sums.data = (int64_t)used * x->tile->solve->parts;
    const double *from = x->sums + 2 * SUM;
    for (int a = 0; a < n && used > 0; a++) {
        for (int b = a; b < n; b++, from += 2 * SUM) {
            to->columns.hermitian[a * n + b] = product(from);
            to->columns.hermitian[b * n + a] = conj(to->columns.hermitian[a * n + b]);
        }
        to->columns.gradient[a] = product(from);
        from += 2 * SUM;
    }
    to->sums.chi2 = used > 0 ? total(from) : 0;
    to->sums.values = used > 0 ? total(from + SUM) : 0;
    memset(x->sums, 0, (size_t)x->size * sizeof(*x->sums));
    x->all = 0;
    return used > 0;
}
