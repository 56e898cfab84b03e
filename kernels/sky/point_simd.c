#include "point_simd.h"

#include "../common/visibility.h"

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>

enum { BRIGHTNESS, LMN, SHAPE, UVW, FREQ, UVW_RATE, INTERVAL, CHANNEL_WIDTH };

/* By instruction set; in single and in double precision. */
static grove_point_fn *const kernels[GROVE_ISAS][2] = {
    {grove_point_single_portable, grove_point_double_portable},
    {grove_point_single_avx2, grove_point_double_avx2},
    {grove_point_single_avx512, grove_point_double_avx512}};
static grove_isa chosen;

static void choose(void)
{
    chosen = grove_isa_usable();
}

/* The axis of runs: the last one that has more than one cell; -1: there is none. */
static int find_inner(const grove_args *args)
{
    int inner = args->axes - 1;

    while (inner > 0 && args->size[inner] == 1)
        inner--;
    return inner;
}

/* Sets `cell`, but for its addresses, to output cell number `at`. */
static void set_index(grove_cell *cell, const grove_args *args, int64_t at)
{
    cell->args = args;
    for (int d = args->axes - 1; d >= 0; d--) {
        cell->index[d] = at % args->size[d];
        at /= args->size[d];
    }
}

/* Sets the addresses of `cell`; how many cells follow with constant steps, at most `last`. */
static int64_t begin_run(grove_cell *cell, int inner, int64_t last)
{
    const grove_args *args = cell->args;
    int64_t count = inner < 0 ? 1 : args->size[inner] - cell->index[inner];

    for (int k = 0; k < args->inputs; k++) {
        cell->in[k] = grove_view_at(&args->in[k], cell->index, args->axes);
        if (args->in[k].gather && args->in[k].gather_axis == inner)
            count = 1;
    }
    cell->out = grove_view_at(&args->out, cell->index, args->axes);
    return count < last ? count : last;
}

static void end_run(grove_cell *cell, int inner, int64_t count)
{
    const grove_args *args = cell->args;

    for (int d = inner; d >= 0; d--) {
        cell->index[d] += d == inner ? count : 1;
        if (cell->index[d] < args->size[d])
            break;
        cell->index[d] = 0;
    }
}

/* Cells that follow each other along an axis: the first, and bytes from each to the next. */
typedef struct {
    grove_cell cell;
    int64_t step[CHANNEL_WIDTH + 1], out_step;
} run;

static void set_steps(run *r, const grove_args *args, int inner)
{
    for (int k = 0; k <= CHANNEL_WIDTH; k++)
        r->step[k] = inner < 0 || !args->in[k].data ? 0 : args->in[k].stride[inner];
    r->out_step = inner < 0 ? 0 : args->out.stride[inner];
}

static const double *numbers_at(const run *r, int input, int64_t k)
{
    return (const double *)(const void *)(r->cell.in[input] + r->step[input] * k);
}

/* Delay, its rate, and the exponent of a Gaussian, in Hz^-2. */
typedef struct {
    double delay, rate, gaussian;
} geometry;

static geometry find_geometry(const run *r, int64_t k)
{
    const double *lmn = numbers_at(r, LMN, k), *uvw = numbers_at(r, UVW, k);
    geometry g = {.delay = grove_delay(uvw, lmn)};

    if (r->cell.in[UVW_RATE])
        g.rate = grove_delay(numbers_at(r, UVW_RATE, k), lmn);
    if (r->cell.in[SHAPE] && grove_is_gaussian(numbers_at(r, SHAPE, k)))
        g.gaussian = grove_gaussian(uvw, numbers_at(r, SHAPE, k), r->cell.args->in[SHAPE].elements);
    return g;
}

/* Adds cells [from, from + count) of a run to the block. */
static void add(grove_point_block *block, const run *r, int64_t from, int64_t count)
{
    const bool moves = r->step[LMN] || r->step[UVW] || r->step[SHAPE] || r->step[UVW_RATE];
    geometry g = {0};

    for (int64_t k = from; k < from + count; k++) {
        int64_t to = block->count++;
        double freq = *numbers_at(r, FREQ, k);
        if (moves || k == from)
            g = find_geometry(r, k);
        block->turns[to] = -freq * g.delay;
        block->decay[to] = g.gaussian * freq * freq;
        block->decays = block->decays || g.gaussian != 0;
        if (block->smears[0])
            block->growth[0][to] = freq * g.rate * *numbers_at(r, INTERVAL, k);
        if (block->smears[1])
            block->growth[1][to] = *numbers_at(r, CHANNEL_WIDTH, k) * g.delay;
        block->brightness[to] = r->cell.in[BRIGHTNESS] + r->step[BRIGHTNESS] * k;
        block->out[to] = r->cell.out + r->out_step * k;
    }
}

static void fill(const grove_args *args, int64_t first, int64_t last, bool double_)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    grove_point_block block = {
        .elements = args->out.elements,
        .smears = {args->in[UVW_RATE].data != NULL, args->in[CHANNEL_WIDTH].data != NULL}};
    const int inner = find_inner(args);
    run r;

    pthread_once(&once, choose);
    grove_point_fn *const finish = kernels[chosen][double_];
    set_index(&r.cell, args, first);
    set_steps(&r, args, inner);
    while (first < last) {
        int64_t count = begin_run(&r.cell, inner, last - first);
        for (int64_t done = 0; done < count;) {
            int64_t room = GROVE_POINT_CELLS - block.count, left = count - done;
            int64_t some = left < room ? left : room;
            add(&block, &r, done, some);
            done += some;
            if (block.count == GROVE_POINT_CELLS)
                finish(&block);
        }
        end_run(&r.cell, inner, count);
        first += count;
    }
    finish(&block);
}

void grove_point_single(const grove_args *args, int64_t first, int64_t last)
{
    fill(args, first, last, false);
}

void grove_point_double(const grove_args *args, int64_t first, int64_t last)
{
    fill(args, first, last, true);
}
