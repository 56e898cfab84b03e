/* Samples to the uv planes and back on OpenCL devices. Spreading: of each piece a thread adds the
 * rows of kernels whose number, modulo their width, is its own, so that threads never meet and sums
 * have one order. Collecting: a thread takes samples of a piece. */
#ifndef GROVE_GRIDDER_SPREAD_OPENCL
#define GROVE_GRIDDER_SPREAD_OPENCL
#include "gridder_sample_cuda.h"

/* The piece and the polarisation of a thread, and its number there. */
typedef struct {
    const grove_args *args;
    const grove_gridder_state *g;
    const grove_gridder_piece *piece;
    int64_t number;
    int pol, lane;
} gridder_work;

GROVE_FN gridder_work gridder_find_work(const grove_args *args, int64_t item)
{
    const grove_gridder_state *g = grove_gridder_state_of(args);
    const int64_t block = item / GROVE_GRIDDER_BLOCK;
    gridder_work w = {
        args, g, 0, block % g->pieces, (int)(block / g->pieces), (int)(item % GROVE_GRIDDER_BLOCK)};

    w.piece = (const grove_gridder_piece *)args->in[GROVE_GRIDDER_PIECE_LIST].data + w.number;
    return w;
}

GROVE_FN int64_t gridder_items(const grove_args *args)
{
    const grove_gridder_state *g = grove_gridder_state_of(args);

    return (int64_t)g->pieces * g->polarisations * GROVE_GRIDDER_BLOCK;
}

/* Cells of a plane of a tile with its halo along each side. */
GROVE_FN int gridder_side(const grove_gridder_state *g)
{
    return GROVE_GRIDDER_SIDE + g->width - 1;
}

/* The cell of the planes at a place of the tile, in a plane of the piece's chunk. */
GROVE_FN int64_t gridder_cell(const gridder_work *w, int plane, int x, int y)
{
    const grove_gridder_state *g = w->g;
    int64_t column = (int64_t)w->piece->column[0] * GROVE_GRIDDER_SIDE + x,
            row = (int64_t)w->piece->column[1] * GROVE_GRIDDER_SIDE + y;

    plane += w->piece->chunk * g->chunk_planes;
    column -= column >= g->cells[0] ? g->cells[0] : 0;
    row -= row >= g->cells[1] ? g->cells[1] : 0;
    return (((int64_t)w->pol * g->planes + plane) * g->cells[1] + row) * g->cells[0] + column;
}

/* The row of a kernel from row `cell` of the tile on that is the thread's. */
GROVE_FN int gridder_row(const gridder_work *w, int cell)
{
    return (w->lane + w->g->width - cell % w->g->width) % w->g->width;
}

/* Planes of the piece's chunk. */
GROVE_FN int gridder_planes(const gridder_work *w)
{
    const int rest = w->g->planes - w->piece->chunk * w->g->chunk_planes;

    return rest < w->g->chunk_planes ? rest : w->g->chunk_planes;
}
#endif

#define gridder_sample       GROVE_NAME(gridder_sample)
#define gridder_make_taps    GROVE_NAME(gridder_make_taps)
#define gridder_load         GROVE_NAME(gridder_load)
#define gridder_weigh_sample GROVE_NAME(gridder_weigh_sample)
#define gridder_begin        GROVE_NAME(gridder_begin)
#define gridder_finish       GROVE_NAME(gridder_finish)
#define gridder_add          GROVE_NAME(gridder_add)
#define gridder_sums         GROVE_NAME(gridder_sums)
#define gridder_flush        GROVE_NAME(gridder_flush)
#define gridder_gather       GROVE_NAME(gridder_gather)
#define gridder_spread_piece GROVE_NAME(gridder_spread_piece)
#define gridder_sum          GROVE_NAME(gridder_sum)
#define gridder_put          GROVE_NAME(gridder_put)
#define gridder_collect_own  GROVE_NAME(gridder_collect_own)
#define gridder_spread_all   GROVE_NAME(gridder_spread_all)
#define gridder_collect_all  GROVE_NAME(gridder_collect_all)

/* Where the kernel of a sample begins, in cells of the tile and planes of the chunk, its taps along
 * u, v and w, its phase; its number, or ~number with w < 0. */
typedef struct {
    place at;
    int32_t number;
    int cell[2], plane;
    real sign, tap[3][GROVE_GRIDDER_FACTORS];
    cplx phase;
} gridder_sample;

GROVE_FN void gridder_make_taps(const gridder_work *w, int d, real s,
                                real tap[GROVE_GRIDDER_FACTORS])
{
    const int degree = w->g->degree, width = d < 2 ? w->g->width : w->g->width_w;
    const real *coefficient = (const real *)w->args->in[GROVE_GRIDDER_TAPS].data +
                              (d < 2 ? 0 : (degree + 1) * GROVE_GRIDDER_FACTORS);

    for (int k = 0; k < width; k++) {
        real sum = coefficient[degree * GROVE_GRIDDER_FACTORS + k];
        for (int e = degree - 1; e >= 0; e--)
            sum = sum * s + coefficient[e * GROVE_GRIDDER_FACTORS + k];
        tap[k] = sum;
    }
}

/* Sample n of the piece; *found: its run, from an earlier sample's on. */
GROVE_FN void gridder_load(const gridder_work *w, int32_t n, int32_t *found, gridder_sample *to)
{
    const grove_args *args = w->args;
    const grove_gridder_state *g = w->g;
    const grove_gridder_run *runs = (const grove_gridder_run *)args->in[GROVE_GRIDDER_RUNS].data;
    const grove_view *baselines = &args->in[GROVE_GRIDDER_UVW];

    *found = find_run(runs, g->runs, *found, n);
    const grove_gridder_run run = runs[*found];
    to->at.time = run.row / g->baselines;
    to->at.baseline = run.row % g->baselines;
    to->at.channel = run.first + (n - run.start);
    const double *uvw = (const double *)(const void *)((const char *)baselines->data +
                                                       offset_of(baselines, g->axis, to->at.time,
                                                                 to->at.baseline, 0));
    const double k = ((const double *)args->in[GROVE_GRIDDER_WAVENUMBERS].data)[to->at.channel],
                 sign = uvw[2] < 0 ? -1 : 1;
    double turns = 0;
    double s[3];

    for (int d = 0; d < 3; d++)
        turns += sign * uvw[d] * g->turn[d];
    for (int d = 0; d < 2; d++) {
        double position = sign * uvw[d] * g->scale[d] * k;
        position -= origin_of(g, d, w->piece->column[d], position);
        to->cell[d] = place_kernel(position, g->width, GROVE_GRIDDER_SIDE - 1, &s[d]);
    }
    const double along_w = g->scale[2] > 0 ? sign * uvw[2] * g->scale[2] * k - g->first_w : 0.5;
    to->plane = place_kernel(along_w, g->width_w, g->planes - g->width_w, &s[2]);
    if (run.w >= 0) {
        s[2] = 2 * (run.w - along_w) + (g->width_w - 1.0);
        to->plane = run.w;
    }
    to->plane -= w->piece->chunk * g->chunk_planes;
    for (int d = 0; d < 3; d++)
        gridder_make_taps(w, d, (real)s[d], to->tap[d]);
    turns = turns * k;
    turns -= rint(turns);
    to->phase.re = cospi((real)(2 * turns));
    to->phase.im = sinpi((real)(2 * turns));
    to->sign = (real)sign;
    to->number = run.row * g->channels + (int32_t)to->at.channel;
    to->number = sign < 0 ? ~to->number : to->number;
}

/* The value to be spread, and its part of the sums of weights. */
GROVE_FN cplx gridder_weigh_sample(const gridder_work *w, const gridder_sample *s, double sum[2])
{
    const double weight = weight_at(w->args, w->g, &s->at);
    double value[2] = {1, 0};
    const bool finite =
        !(weight > 0) || w->g->as_ones || mix_parts(w->args, w->g, &s->at, w->pol, value);
    const real factor = finite ? (real)weight : 0;
    cplx z = {0, 0};

    /* each sample counts in the piece that has the first of its planes */
    if (s->plane >= 0) {
        sum[0] += finite ? weight : 0;
        sum[1] += !finite;
    }
    if (factor != 0) {
        const real re = (real)value[0] * factor, im = (real)value[1] * factor * s->sign;
        z.re = re * s->phase.re - im * s->phase.im;
        z.im = re * s->phase.im + im * s->phase.re;
    }
    return z;
}

/* ---- spreading ---- */

/* A cell of the piece's buffer; NULL: its cells are added to the planes. */
GROVE_FN cplx *gridder_begin(const gridder_work *w)
{
    const int side = gridder_side(w->g), count = w->g->chunk_planes * side * side;

    if (w->piece->slot < 0)
        return 0;
    cplx *buffer = (cplx *)w->args->in[GROVE_GRIDDER_BUFFERS].data +
                   ((int64_t)w->piece->slot * w->g->polarisations + w->pol) * count;
    for (int plane = 0; plane < w->g->chunk_planes; plane++)
        for (int y = w->lane; y < side; y += w->g->width)
            for (int x = 0; x < side; x++) {
                cplx *cell = &buffer[(plane * side + y) * side + x];
                cell->re = cell->im = 0;
            }
    return buffer;
}

/* Adds the buffers of the tile's other pieces to the planes, in their order. */
GROVE_FN void gridder_finish(const gridder_work *w)
{
    const int side = gridder_side(w->g), count = w->g->chunk_planes * side * side,
              planes = gridder_planes(w);
    const cplx *buffers = (const cplx *)w->args->in[GROVE_GRIDDER_BUFFERS].data;

    for (int k = 0; k < w->piece->slots; k++) {
        const cplx *from =
            buffers + ((int64_t)(w->piece->first_slot + k) * w->g->polarisations + w->pol) * count;
        for (int plane = 0; plane < planes; plane++)
            for (int y = w->lane; y < side; y += w->g->width)
                for (int x = 0; x < side; x++) {
                    const cplx more = from[(plane * side + y) * side + x];
                    cplx *to = (cplx *)w->args->out.data + gridder_cell(w, plane, x, y);
                    to->re += more.re;
                    to->im += more.im;
                }
    }
}

/* Adds the thread's row of kernels that begin at one place, times its factor: sums of
 * [plane][column], or a value times taps where sums are NULL. */
GROVE_FN void gridder_add(const gridder_work *w, const gridder_sample *s, const cplx *sums,
                          cplx value, cplx *buffer)
{
    const int width = w->g->width, side = gridder_side(w->g), row = gridder_row(w, s->cell[1]),
              y = s->cell[1] + row, planes = gridder_planes(w);

    for (int p = 0; p < w->g->width_w; p++) {
        const int plane = s->plane + p;
        if (plane < 0 || plane >= planes)
            continue;
        const real factor = sums ? 1 : s->tap[1][row] * s->tap[2][p];
        for (int k = 0; k < width; k++) {
            const int x = s->cell[0] + k;
            cplx *to = buffer ? &buffer[(plane * side + y) * side + x]
                              : (cplx *)w->args->out.data + gridder_cell(w, plane, x, y);
            const real tap = factor * (sums ? 1 : s->tap[0][k]);
            const cplx z = sums ? sums[p * width + k] : value;
            to->re += z.re * tap;
            to->im += z.im * tap;
        }
    }
}

/* The sums of neighbouring samples whose kernels begin at the place of `s`. */
typedef struct {
    gridder_sample s;
    bool any;
    cplx sum[GROVE_GRIDDER_NARROW * GROVE_GRIDDER_NARROW];
} gridder_sums;

GROVE_FN void gridder_flush(const gridder_work *w, gridder_sums *sums, cplx *buffer)
{
    const cplx none = {0, 0};

    if (sums->any)
        gridder_add(w, &sums->s, sums->sum, none, buffer);
    sums->any = false;
    for (int k = 0; k < w->g->width * w->g->width_w; k++)
        sums->sum[k] = none;
}

GROVE_FN void gridder_gather(const gridder_work *w, const gridder_sample *s, cplx value,
                             gridder_sums *sums, cplx *buffer)
{
    const int width = w->g->width, row = gridder_row(w, s->cell[1]);

    if (!sums->any || s->cell[0] != sums->s.cell[0] || s->cell[1] != sums->s.cell[1] ||
        s->plane != sums->s.plane)
        gridder_flush(w, sums, buffer);
    sums->s = *s;
    sums->any = true;
    for (int p = 0; p < w->g->width_w; p++)
        for (int k = 0; k < width; k++) {
            const real tap = s->tap[1][row] * s->tap[2][p] * s->tap[0][k];
            sums->sum[p * width + k].re += value.re * tap;
            sums->sum[p * width + k].im += value.im * tap;
        }
}

GROVE_FN void gridder_spread_piece(const gridder_work *w)
{
    const bool narrow =
        w->g->width <= GROVE_GRIDDER_NARROW && w->g->width_w <= GROVE_GRIDDER_NARROW;
    double sum[2] = {0, 0};
    int32_t run = w->piece->run;
    gridder_sample s;
    gridder_sums sums = {.any = false};

    if (w->lane >= w->g->width)
        return;
    cplx *buffer = gridder_begin(w);
    for (int32_t n = w->piece->first; n < w->piece->last; n++) {
        gridder_load(w, n, &run, &s);
        const cplx value = gridder_weigh_sample(w, &s, sum);
        if (narrow)
            gridder_gather(w, &s, value, &sums, buffer);
        else
            gridder_add(w, &s, 0, value, buffer);
    }
    if (narrow)
        gridder_flush(w, &sums, buffer);
    if (!buffer)
        gridder_finish(w);
    for (int k = 0; k < 2 && w->pol == 0 && w->lane == 0; k++)
        ((double *)w->args->in[GROVE_GRIDDER_SUMS].data)[2 * w->number + k] = sum[k];
}

/* ---- collecting ---- */

/* The sum over the cells that the kernel of a sample reads. */
GROVE_FN cplx gridder_sum(const gridder_work *w, const gridder_sample *s)
{
    const int planes = gridder_planes(w);
    cplx sum = {0, 0};

    for (int p = 0; p < w->g->width_w; p++) {
        const int plane = s->plane + p;
        if (plane < 0 || plane >= planes)
            continue;
        for (int row = 0; row < w->g->width; row++) {
            const real factor = s->tap[1][row] * s->tap[2][p];
            for (int k = 0; k < w->g->width; k++) {
                const cplx cell =
                    ((const cplx *)w->args->out
                         .data)[gridder_cell(w, plane, s->cell[0] + k, s->cell[1] + row)];
                sum.re += cell.re * (factor * s->tap[0][k]);
                sum.im += cell.im * (factor * s->tap[0][k]);
            }
        }
    }
    return sum;
}

GROVE_FN void gridder_put(const gridder_work *w, const gridder_sample *s, cplx sum)
{
    const int32_t number = s->number < 0 ? ~s->number : s->number;
    const double *share = (const double *)w->args->in[GROVE_GRIDDER_WEIGHTS].data;
    const real factor = share ? (real)share[number % w->g->channels] : 1;
    cplx *to = (cplx *)w->args->in[GROVE_GRIDDER_SAMPLES].data +
               (int64_t)number * w->g->polarisations + w->pol;

    sum.re *= factor;
    sum.im *= factor;
    to->re += sum.re * s->phase.re + sum.im * s->phase.im;
    to->im += (sum.im * s->phase.re - sum.re * s->phase.im) * s->sign;
}

GROVE_FN void gridder_collect_own(const gridder_work *w)
{
    int32_t run = w->piece->run;
    gridder_sample s;

    for (int32_t n = w->piece->first + w->lane; n < w->piece->last; n += GROVE_GRIDDER_BLOCK) {
        gridder_load(w, n, &run, &s);
        gridder_put(w, &s, gridder_sum(w, &s));
    }
}

GROVE_FN void gridder_spread_all(const grove_args *args)
{
    for (int64_t item = get_global_id(0); item < gridder_items(args); item += get_global_size(0)) {
        const gridder_work w = gridder_find_work(args, item);
        gridder_spread_piece(&w);
    }
}

GROVE_FN void gridder_collect_all(const grove_args *args)
{
    for (int64_t item = get_global_id(0); item < gridder_items(args); item += get_global_size(0)) {
        const gridder_work w = gridder_find_work(args, item);
        gridder_collect_own(&w);
    }
}

GROVE_OPENCL_KERNEL(gridder_spread, gridder_spread_all)
GROVE_OPENCL_KERNEL(gridder_collect, gridder_collect_all)
