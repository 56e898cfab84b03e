#include "nodes/solve_samples.h"

#include "../kernels/simd/isa.h"

#include "base/memory.h"

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

void solve_samples_begin(solve_samples *x, const solve_tile *tile)
{
    const solve *s = tile->solve;
    size_t columns = (size_t)s->columns + 1, pairs = columns * (columns + 1) / 2;

    *x = (solve_samples){.tile = tile, .kernels = kernels_now()};
    x->size = (int64_t)(2 * SUM * (1 + pairs));
    x->capacity = SAMPLES / s->elements / 4 * 4;
    x->plane = 2 * (x->capacity + GROVE_NORMAL_SPARE);
    x->at = grove_alloc(2 * (size_t)s->inputs * sizeof(*x->at));
    x->step = x->at + s->inputs;
    for (int k = 0; k < s->inputs && tile->cut[SOLVE_FREQ] >= 0; k++)
        x->step[k] = tile->views[k].stride[tile->cut[SOLVE_FREQ]];
    size_t numbers = (columns + 3) * COLUMN + (size_t)2 * NUMBERS + (size_t)x->size;
    x->memory = grove_alloc((numbers + 8) * sizeof(double) + columns);
    x->column = (double *)x->memory + (64 - (uintptr_t)x->memory % 64) % 64 / sizeof(double);
    x->measured = x->column + columns * COLUMN;
    x->weight = x->measured + COLUMN;
    x->leading = x->weight + COLUMN;
    x->loaded[0] = x->leading + COLUMN;
    x->loaded[1] = x->loaded[0] + NUMBERS;
    x->sums = x->loaded[1] + NUMBERS;
    x->which = (unsigned char *)(x->sums + x->size);
}

void solve_samples_end(solve_samples *x)
{
    free(x->at);
    free(x->memory);
}

/* Fills the planes of a column up to a number of cells in fours. */
static void fill_up(const solve_samples *x, double *column, int which)
{
    size_t bytes = (size_t)((4 - x->count % 4) % 4 * 2) * sizeof(*column);

    for (int e = 0; bytes && e < x->tile->solve->elements; e++)
        if (which >> e & 1)
            memset(column + x->plane * e + 2 * x->count, 0, bytes);
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
    for (int a = 0; a < block.columns + 3; a++) /* the residual, what was measured, weights, too */
        fill_up(x, x->column + (ptrdiff_t)a * COLUMN, a < block.columns ? x->which[a] : ~0);
    x->kernels->add(&block, x->sums);
    x->count = 0;
    memset(x->which, 0, (size_t)block.columns);
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

/* Rows that come soon are asked for, into the second cache: of several times there are more of them
 * than the first one holds, since they lie whole pages apart, and a processor does not see by
 * itself which comes next. */
static void prefetch_rows(const char *from, int64_t bytes)
{
    for (int64_t k = 0; k < bytes; k += 64)
        __builtin_prefetch(from + 3 * bytes + k, 0, 2);
}

static bool is_plain(const run *r)
{
    return (r->step == 1 || (r->step && r->cells == 1)) && has_all_elements(r);
}

/* Complex numbers of any kind, in double. */
static void load_values(const run *r, double *to)
{
    int64_t cells = r->step ? r->cells : 1;

    for (int64_t k = 0; k < cells; k++)
        for (int e = 0; e < r->elements; e++) {
            double complex number = solve_number(r->view, r->at + k * r->step, r->of[e]);
            double *sample = to + 2 * (k * r->elements + e);
            sample[0] = creal(number);
            sample[1] = cimag(number);
        }
    if (!r->step)
        repeat(to, 2 * r->elements, r->cells);
}

/* Where numbers of an input lie, if they need no loading first. */
typedef struct {
    const float *single_;
    const double *double_;
    int look; /* as grove_normal_kernels has it */
} numbers;

/* Looks at numbers, which are loaded into `values` if need be. */
static numbers look(const solve_samples *x, const run *r, double *values)
{
    numbers n = {NULL, NULL, 0};

    if (r->view->complex_ && is_plain(r)) {
        const int64_t bytes = (int64_t)2 * r->elements * (r->view->double_ ? 8 : 4);
        const char *from = r->view->data + r->at * bytes;
        prefetch_rows(from, r->cells * bytes);
        if (r->view->double_)
            n.double_ = (const double *)(const void *)from;
        else
            n.single_ = (const float *)(const void *)from;
    } else {
        load_values(r, values);
        n.double_ = values;
    }
    n.look = n.single_ ? x->kernels->look_single(n.single_, r->cells, r->elements)
                       : x->kernels->look_double(n.double_, r->cells, r->elements);
    return n;
}

/* To the cells of planes that come next. */
static void split(const solve_samples *x, const numbers *n, int64_t cells, int which,
                  const double *minus, double *to)
{
    const int elements = x->tile->solve->elements;

    if (n->single_)
        x->kernels->split_single(n->single_, cells, elements, which, minus, to, x->plane);
    else
        x->kernels->split_double(n->double_, cells, elements, which, minus, to, x->plane);
}

/* Adds flags to those of cells, a bit for each element. */
static void add_flags(const run *r, unsigned char *flags)
{
    const bool all = has_all_elements(r);
    const unsigned char *from = r->view->flags + r->at;

    for (int64_t k = 0; r->view->flags && all && k < r->cells; k++)
        flags[k] |= from[k * r->step];
    for (int64_t k = 0; r->view->flags && !all && k < r->cells; k++)
        for (int e = 0; e < r->elements; e++)
            flags[k] |= (from[k * r->step] >> (r->view->elements > 1 ? r->of[e] : 0) & 1 ? 1 : 0)
                        << e;
}

static void load_run_weights(solve_samples *x, const run *data, const run *model)
{
    const solve_tile *tile = x->tile;
    const solve *s = tile->solve;
    const solve_view robust = tile->robust ? solve_robust_view(tile) : (solve_view){0};
    const int64_t cells = data->cells;
    const run weights = run_of(x, &tile->views[s->weights], s->weights, cells, s->of_data);
    const run r = tile->robust ? run_of(x, &robust, SOLVE_MODEL, cells, s->of_data) : weights;
    double *to = x->weight + 2 * x->count;

    memset(x->flags, 0, (size_t)cells);
    add_flags(data, x->flags);
    add_flags(model, x->flags);
    add_flags(&weights, x->flags);
    if (r.view->data && !r.view->double_ && !r.view->complex_ && is_plain(&r)) {
        const float *from = (const float *)(const void *)r.view->data + r.at * r.elements;
        prefetch_rows((const char *)(const void *)from,
                      cells * r.elements * (int64_t)sizeof(*from));
        x->kernels->weigh_single(from, x->flags, cells, r.elements, to, x->plane);
        return;
    }
    double *each = x->loaded[0];
    for (int64_t k = 0; k < cells * r.elements; k++)
        each[k] =
            r.view->data
                ? creal(solve_number(r.view, r.at + k / r.elements * r.step, r.of[k % r.elements]))
                : 1;
    x->kernels->weigh_double(each, x->flags, cells, r.elements, to, x->plane);
}

/* ---- samples ---- */

/* Leaves out samples of which either number is not finite: as they lie in an input. */
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

/* As above, of what has been looked at. */
static void leave_out_numbers(const solve_samples *x, const run *r, numbers *n)
{
    load_values(r, x->loaded[0]);
    leave_out(x, x->loaded[0], x->loaded[0], r->cells);
    *n =
        (numbers){NULL, x->loaded[0], x->kernels->look_double(x->loaded[0], r->cells, r->elements)};
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

static void load_column(const solve_samples *x, const solve_slot *slot,
                        const int64_t cell[SOLVE_CUTS], int64_t cells)
{
    const solve *s = x->tile->solve;
    double *column = x->column + (ptrdiff_t)slot->first * COLUMN, *to = column + 2 * x->count;
    const run r = run_of(x, &x->tile->views[slot->input], slot->input, cells, s->of_model);
    numbers n = look(x, &r, x->loaded[0]);

    if (n.look & GROVE_NORMAL_NOT_FINITE)
        leave_out_numbers(x, &r, &n);
    int had = x->which[slot->first], which = had | (n.look & 15);
    for (int t = 0; t < slot->terms; t++) {
        for (int e = 0; e < s->elements; e++) /* all was 0 up to here */
            if ((which & ~had) >> e & 1)
                memset(column + (ptrdiff_t)t * COLUMN + x->plane * e, 0,
                       (size_t)(2 * x->count) * sizeof(*column));
        x->which[slot->first + t] = (unsigned char)which;
    }
    split(x, &n, cells, which, NULL, slot->terms > 1 ? x->leading : to);
    if (slot->terms > 1)
        expand(x, slot, cell, cells, which, to);
}

/* What was measured, and what the model leaves of it. */
static void load_residual(solve_samples *x, const run *data, const run *model)
{
    const solve *s = x->tile->solve;
    const int64_t cells = data->cells;
    double *measured = x->measured + 2 * x->count;
    double *residual = x->column + (ptrdiff_t)s->columns * COLUMN + 2 * x->count;
    numbers from = look(x, data, x->loaded[0]), minus = look(x, model, x->loaded[1]);

    /* What is finite in single precision has a finite difference in double. */
    if ((from.look | minus.look) & GROVE_NORMAL_NOT_FINITE || (!from.single_ && !minus.single_)) {
        load_values(data, x->loaded[0]);
        load_values(model, x->loaded[1]);
        for (int64_t k = 0; k < 2 * cells * s->elements; k++)
            x->loaded[1][k] = x->loaded[0][k] - x->loaded[1][k];
        leave_out(x, x->loaded[0], x->loaded[1], cells);
        from = (numbers){NULL, x->loaded[0], 0};
        minus = (numbers){NULL, x->loaded[1], 0};
        split(x, &from, cells, ~0, NULL, measured);
        split(x, &minus, cells, ~0, NULL, residual);
    } else {
        split(x, &from, cells, ~0, NULL, measured);
        split(x, &minus, cells, ~0, measured, residual);
    }
}

/* The channels from `cell` on, as many as fit. */
static void load_run(solve_samples *x, const int64_t cell[SOLVE_CUTS], int64_t cells)
{
    const solve_tile *tile = x->tile;
    const solve *s = tile->solve;
    const run data = run_of(x, &tile->views[SOLVE_DATA], SOLVE_DATA, cells, s->of_data),
              model = run_of(x, &tile->views[SOLVE_MODEL], SOLVE_MODEL, cells, s->of_model);

    load_run_weights(x, &data, &model);
    load_residual(x, &data, &model);
    for (int k = 0; k < s->slot_count; k++)
        load_column(x, &s->slots[k], cell, cells);
    x->count += cells;
    x->all += s->parts * cells * s->elements;
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
    x->values += used > 0 ? total(from + SUM) : 0;
    memset(x->sums, 0, (size_t)x->size * sizeof(*x->sums));
    return used > 0;
}
