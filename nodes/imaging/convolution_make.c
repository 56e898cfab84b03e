#include "nodes/imaging/convolution_make.h"
#include "../../kernels/imaging/convolution/convolution_fit.h"

#include "util.h"

#include <complex.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_NODES = 32 };

/* Of the raster those pixels count that lie in the image, and one more on each side. */
static bool counts(const convolution_making *c, int d, double at)
{
    const grove_gridder_image *image = &c->plan.image;
    const double low = image->centre[d] - (double)(image->size[d] / 2) * image->cell[d],
                 high = low + (double)(image->size[d] - 1) * image->cell[d],
                 margin = c->raster[d] ? c->raster[d]->width[0] : 0.1 * image->cell[d];

    return at > low - margin && at < high + margin;
}

int64_t convolution_pixels(const convolution_making *c, int d, int64_t *first, double *at)
{
    const grove_gridder_image *image = &c->plan.image;
    const int64_t size = c->raster[d] ? c->raster[d]->size : 4 * (int64_t)c->functions.support + 1;
    int64_t count = 0;

    for (int64_t k = 0; k < size; k++) {
        double cosine = c->raster[d] ? c->raster[d]->centre[k]
                                     : image->centre[d] +
                                           ((double)k / (double)(size - 1) - 0.5) *
                                               (double)(image->size[d] - 1) * image->cell[d] -
                                           (image->size[d] % 2 ? 0 : 0.5 * image->cell[d]);
        if (!counts(c, d, cosine))
            continue;
        if (!count)
            *first = k;
        if (at)
            at[count] = cosine;
        count++;
    }
    return count;
}

uint64_t convolution_work_bytes(const convolution_making *c)
{
    const uint64_t support = (uint64_t)c->functions.support,
                   fine = (uint64_t)grove_convolution_side(&c->functions),
                   nodes = fine < support * MAX_NODES ? fine : support * MAX_NODES;
    uint64_t pixels[2];

    for (int d = 0; d < 2; d++) {
        int64_t first;
        pixels[d] = (uint64_t)convolution_pixels(c, d, &first, NULL);
    }
    return 16 * (nodes * (pixels[0] + 2 * pixels[1] + nodes + fine) + 2 * pixels[0] * pixels[1] +
                 support * (pixels[0] + pixels[1] + support)) +
           8 * MAX_NODES * (uint64_t)grove_convolution_stride(&c->functions);
}

/* Pixels along l or m that count. */
typedef struct {
    int64_t count, first;
    double *at;           /* direction cosines */
    double complex *fit;  /* as of grove_convolution_fit; along l conjugate, as products need it */
    double complex *seen; /* [pixel] as of grove_convolution_see; along l conjugate, too */
} axis_work;

/* In cycles per cell of the grid, from the image's middle. */
static double cycles(const convolution_making *c, int d, double cosine)
{
    return (cosine - c->plan.image.centre[d]) / c->functions.scale[d];
}

/* Between the cells a function is a smooth function of the offset f: exp(-2 pi i f x) with |x| of
 * half a cycle at most, so that few nodes of Chebyshev give all of the oversampled ones. The least
 * n with 2 (pi x / 2)^n / n! below rounding, or the offsets themselves. */
static int choose_nodes(const convolution_making *c)
{
    double most = 0, left = 2;
    int nodes = 0;

    for (int d = 0; d < 2; d++) {
        const double half = 0.5 * (double)c->plan.image.size[d] * c->plan.image.cell[d],
                     margin = c->raster[d] ? c->raster[d]->width[0] : c->plan.image.cell[d];
        most = fmax(most, (half + margin) / c->functions.scale[d]);
    }
    while (left > 1e-16 && nodes < MAX_NODES)
        left *= GROVE_PI * most / 2 / ++nodes;
    const int stride = (int)grove_convolution_stride(&c->functions);
    return left <= 1e-16 && nodes < stride ? nodes : stride;
}

typedef struct {
    const grove_call *call;
    const convolution_making *c;
    axis_work axis[2];
    int nodes;               /* offsets at which functions are made */
    double *weight;          /* [oversampled offset][node] of the interpolation */
    double complex *element; /* of the Mueller matrix, conjugate, [m][l] */
    double complex *sky, *half;
    double complex *plane, *wide; /* between nodes; between nodes along v alone */
    double complex *cells;        /* of the function at offset 0 */
    double residual, size; /* squares of the residual of a set's functions, and of the functions */
    double left;           /* of the first by the second, square, at most */
} making_work;

/* The nodes' offsets, and the weights: Lagrange's polynomials, by their barycentric form. */
static void make_nodes(making_work *w, double *offset)
{
    const grove_convolution_plan *plan = &w->c->functions;
    const int support = plan->support, oversampling = plan->oversampling, least = -plan->linear,
              stride = (int)grove_convolution_stride(plan);
    const double first = grove_convolution_offset(support, oversampling, least),
                 half = 0.5 * (stride - 1) / oversampling;

    for (int i = 0; i < w->nodes; i++)
        offset[i] = w->nodes == stride ? grove_convolution_offset(support, oversampling, least + i)
                                       : first + half - half * cos(GROVE_PI * (i + 0.5) / w->nodes);
    for (int q = 0; q < stride; q++) {
        const double f = grove_convolution_offset(support, oversampling, least + q);
        double *weight = w->weight + q * w->nodes, sum = 0;
        int equal = -1;
        for (int i = 0; i < w->nodes; i++) {
            equal = fabs(f - offset[i]) < 1e-14 ? i : equal;
            weight[i] = (i % 2 ? -1 : 1) * sin(GROVE_PI * (i + 0.5) / w->nodes) / (f - offset[i]);
            sum += weight[i];
        }
        for (int i = 0; i < w->nodes; i++)
            weight[i] = equal >= 0 ? i == equal : weight[i] / sum;
    }
}

/* Interpolation multiplies the functions' image by a factor; so fits have its inverse. */
static int fit_axis(const making_work *all, int d, const double *offset)
{
    const convolution_making *c = all->c;
    const axis_work *w = &all->axis[d];
    const int support = c->functions.support, rows = support * all->nodes;
    double *x = grove_alloc((size_t)w->count * sizeof(*x));

    for (int64_t k = 0; k < w->count; k++) {
        x[k] = cycles(c, d, w->at[k]);
        grove_convolution_see(&c->plan.kernel, support, c->functions.oversampling, x[k],
                              (double *)(w->seen + k * support));
    }
    int code = grove_convolution_fit(&c->plan.kernel, support, offset, all->nodes, x, w->count,
                                     (double *)w->fit);
    for (int64_t k = 0; k < w->count; k++) {
        const double factor =
            c->functions.linear ? grove_convolution_unsmear(x[k] / c->functions.oversampling) : 1;
        for (int64_t i = k; i < rows * w->count && !code; i += w->count)
            w->fit[i] = factor * (d ? w->fit[i] : conj(w->fit[i]));
        for (int64_t i = k * support; i < (k + 1) * support; i++)
            w->seen[i] = (d ? w->seen[i] : conj(w->seen[i])) / factor;
    }
    free(x);
    return code ? GROVE_NO_MEMORY : 0;
}

/* Of plane k: fit_v S fit_u^T, the sky's S = conj(M) exp(2 pi i w (n - 1 - its middle)). */
static int make_plane(making_work *w, int64_t k)
{
    const convolution_making *c = w->c;
    const int64_t columns = w->axis[0].count, rows = w->axis[1].count,
                  fine = (int64_t)c->functions.support * w->nodes;
    const double plane = (double)k * c->functions.step_w;

    for (int64_t y = 0; y < rows; y++)
        for (int64_t x = 0; x < columns; x++) {
            double n =
                grove_gridder_n_less_1(w->axis[0].at[x], w->axis[1].at[y]) - c->functions.turn[2];
            w->sky[y * columns + x] =
                w->element[y * columns + x] * cexp(2 * GROVE_PI * I * (plane * n));
            if (c->functions.linear)
                w->sky[y * columns + x] *= grove_convolution_unsmear(c->functions.step_w * n);
        }
    int code = grove_call_product(w->call,
                                  &(grove_product){.a = w->axis[0].fit,
                                                   .b = w->sky,
                                                   .c = w->half,
                                                   .rows = fine,
                                                   .columns = rows,
                                                   .inner = columns,
                                                   .count = 1},
                                  true);
    return code ? code
                : grove_call_product(w->call,
                                     &(grove_product){.a = w->axis[1].fit,
                                                      .b = w->half,
                                                      .c = w->plane,
                                                      .rows = fine,
                                                      .columns = fine,
                                                      .inner = rows,
                                                      .count = 1},
                                     true);
}

/* The distance of the function at offset 0 from the required one, over all pixels, of the last
 * plane: seen_v F seen_u^T less the sky. */
static int find_residual(making_work *w)
{
    const int64_t columns = w->axis[0].count, rows = w->axis[1].count,
                  support = w->c->functions.support, nodes = w->nodes;
    const double *weight = w->weight + w->c->functions.linear * nodes; /* of offset 0 */
    double residual = 0, size = 0;

    for (int64_t i = 0; i < support; i++)
        for (int64_t j = 0; j < support; j++) {
            double complex cell = 0;
            for (int64_t k = 0; k < nodes * nodes; k++)
                cell += weight[k / nodes] * weight[k % nodes] *
                        w->plane[(j * nodes + k / nodes) * support * nodes + i * nodes + k % nodes];
            w->cells[i * support + j] = conj(cell); /* as products need it */
        }
    int code = grove_call_product(w->call,
                                  &(grove_product){.a = w->axis[1].seen,
                                                   .b = w->cells,
                                                   .c = w->half,
                                                   .rows = rows,
                                                   .columns = support,
                                                   .inner = support,
                                                   .count = 1},
                                  true);
    code = code ? code
                : grove_call_product(w->call,
                                     &(grove_product){.a = w->half,
                                                      .b = w->axis[0].seen,
                                                      .c = w->element,
                                                      .rows = rows,
                                                      .columns = columns,
                                                      .inner = support,
                                                      .count = 1},
                                     true);
    for (int64_t k = 0; k < rows * columns && !code; k++) {
        const double complex sky = w->sky[k], less = w->element[k] - sky;
        residual += creal(less) * creal(less) + cimag(less) * cimag(less);
        size += creal(sky) * creal(sky) + cimag(sky) * cimag(sky);
    }
    w->residual += residual;
    w->size += size;
    return code;
}

enum { PIECES = 10 };

static bool take_memory(making_work *w, void *taken[PIECES])
{
    const convolution_making *c = w->c;
    const int64_t nodes = (int64_t)c->functions.support * w->nodes, rows = w->axis[1].count,
                  pixels = w->axis[0].count * rows;
    const struct {
        double complex **at;
        int64_t numbers;
    } all[PIECES] = {{&w->axis[0].fit, nodes * w->axis[0].count},
                     {&w->axis[1].fit, nodes * rows},
                     {&w->element, pixels},
                     {&w->sky, pixels},
                     {&w->half, nodes * rows},
                     {&w->plane, nodes * nodes},
                     {&w->wide, nodes * grove_convolution_side(&c->functions)},
                     {&w->axis[0].seen, w->axis[0].count * c->functions.support},
                     {&w->axis[1].seen, rows * c->functions.support},
                     {&w->cells, (int64_t)c->functions.support * c->functions.support}};
    bool good = true;

    for (int i = 0; i < PIECES; i++) {
        taken[i] = *all[i].at = malloc((size_t)all[i].numbers * sizeof(**all[i].at));
        good = good && taken[i];
    }
    return good;
}

/* Rows of nodes along v from nodes along u to the oversampled offsets. */
static void widen(void *context, int64_t first, int64_t last)
{
    const making_work *w = context;
    const int64_t support = w->c->functions.support,
                  stride = grove_convolution_stride(&w->c->functions), nodes = w->nodes;

    for (int64_t row = first * support; row < last * support; row++) {
        const double complex *from =
            w->plane + row / support * support * nodes + row % support * nodes;
        double complex *to = w->wide + row * stride;
        for (int64_t q = 0; q < stride; q++) {
            double re = 0, im = 0;
            for (int64_t i = 0; i < nodes; i++) {
                re += w->weight[q * nodes + i] * creal(from[i]);
                im += w->weight[q * nodes + i] * cimag(from[i]);
            }
            to[q] = re + I * im;
        }
    }
}

typedef struct {
    const making_work *w;
    char *to;
} putting;

/* Rows of the oversampled offsets along v, in their final order. */
static void put_rows(void *context, int64_t first, int64_t last)
{
    enum { CHUNK = 128 };
    const putting *p = context;
    const making_work *w = p->w;
    const int64_t stride = grove_convolution_stride(&w->c->functions),
                  numbers = 2 * grove_convolution_side(&w->c->functions);

    for (int64_t row = first; row < last; row++)
        for (int64_t at = 0; at < numbers; at += CHUNK) {
            const int64_t count = numbers - at < CHUNK ? numbers - at : CHUNK;
            double sum[CHUNK] = {0};
            for (int64_t i = 0; i < w->nodes; i++) {
                const double weight = w->weight[row % stride * w->nodes + i],
                             *from = (const double *)w->wide +
                                     (row / stride * w->nodes + i) * numbers + at;
                for (int64_t k = 0; k < count && weight != 0; k++)
                    sum[k] += weight * from[k];
            }
            if (w->call->double_precision)
                memcpy(p->to + (row * numbers + at) * (int64_t)sizeof(double), sum,
                       (size_t)count * sizeof(double));
            for (int64_t k = 0; k < count && !w->call->double_precision; k++)
                ((float *)(void *)p->to)[row * numbers + at + k] = (float)sum[k];
        }
}

static void put_plane(making_work *w, char *to)
{
    const int64_t support = w->c->functions.support;
    putting p = {w, to};

    grove_call_parallel(w->call, support * w->nodes, widen, w);
    grove_call_parallel(w->call, grove_convolution_side(&w->c->functions), put_rows, &p);
}

/* All planes of element [j][r] of stations whose terms are at p and q. */
static int make_function(making_work *w, int j, int r, const double *p, const double *q, char *to)
{
    const convolution_making *c = w->c;
    const int64_t pixels = w->axis[0].count * w->axis[1].count,
                  fine = grove_convolution_side(&c->functions),
                  bytes = fine * fine * (w->call->double_precision ? 16 : 8);
    int code = 0;

    image_mueller_element(&c->mueller, j, r, (const double(*)[2])(const void *)p,
                          (const double(*)[2])(const void *)q, pixels,
                          (double(*)[2])(void *)w->element);
    for (int64_t k = 0; k < pixels; k++)
        w->element[k] = conj(w->element[k]);
    for (int64_t k = 0; k < c->functions.planes && !code; k++) {
        code = make_plane(w, k);
        if (!code)
            put_plane(w, to + k * bytes);
    }
    return code ? code : find_residual(w);
}

/* Functions of a block of times, of channels, and of a pair of groups: of all its elements. */
static int make_elements(making_work *w, const double *p, const double *q, char *to,
                         int64_t function_bytes)
{
    const image_mueller *m = &w->c->mueller;
    int code = 0;

    w->residual = w->size = 0;
    for (int j = 0; j < m->visibilities; j++)
        for (int r = 0; r < m->images && !code; r++)
            if (m->element[j][r] >= 0)
                code = make_function(w, j, r, p, q, to + m->element[j][r] * function_bytes);
    w->left = fmax(w->left, w->size > 0 ? w->residual / w->size : 0);
    return code;
}

static int make_all(making_work *w, const double *jones, char *out)
{
    const image_mueller *m = &w->c->mueller;
    const int64_t fine = grove_convolution_side(&w->c->functions),
                  bytes =
                      w->c->functions.planes * fine * fine * (w->call->double_precision ? 16 : 8),
                  numbers = 2 * m->shape * w->axis[0].count * w->axis[1].count,
                  sets = m->time_blocks * m->groups * m->groups * m->channel_blocks;
    int code = 0;

    for (int64_t set = 0; set < sets && !code; set++) {
        const int64_t f = set % m->channel_blocks, pair = set / m->channel_blocks,
                      q = pair % m->groups, p = pair / m->groups % m->groups,
                      t = pair / m->groups / m->groups;
        const double *of_time = jones + t * m->groups * m->channel_blocks * numbers;
        code = make_elements(w, of_time + (p * m->channel_blocks + f) * numbers,
                             of_time + (q * m->channel_blocks + f) * numbers,
                             out + set * m->elements * bytes, bytes);
    }
    return code;
}

static void warn_support(const making_work *w)
{
    const convolution_making *c = w->c;
    const double residual = sqrt(w->left), allowed = grove_node_number(w->call->node, "epsilon");

    if (residual > fmax(c->error, allowed))
        grove_node_warn(w->call->node,
                        "a support of %d cells leaves an error of %.2g, more than the error of the "
                        "samples and epsilon (%.2g); support=%d would leave less",
                        c->functions.support, residual, fmax(c->error, allowed),
                        c->functions.support + 4);
}

int convolution_make(const grove_call *call, const convolution_making *c, const double *jones,
                     void *out)
{
    making_work w = {
        .call = call,
        .c = c,
        .nodes = choose_nodes(c),
    };
    void *taken[PIECES];

    for (int d = 0; d < 2; d++) {
        axis_work *a = &w.axis[d];
        a->count = convolution_pixels(c, d, &a->first, NULL);
        a->at = grove_alloc((size_t)a->count * sizeof(*a->at));
        convolution_pixels(c, d, &a->first, a->at);
    }
    w.weight = grove_alloc((size_t)(w.nodes * (int)grove_convolution_stride(&c->functions)) *
                           sizeof(*w.weight));
    double *offset = grove_alloc((size_t)w.nodes * sizeof(*offset));
    int code = take_memory(&w, taken) ? 0 : GROVE_NO_MEMORY;
    if (!code)
        make_nodes(&w, offset);
    for (int d = 0; d < 2 && !code; d++)
        code = fit_axis(&w, d, offset);
    free(offset);
    code = code ? code : make_all(&w, jones, out);
    for (int d = 0; d < 2; d++)
        free(w.axis[d].at);
    for (int i = 0; i < PIECES; i++)
        free(taken[i]);
    free(w.weight);
    if (code == GROVE_NO_MEMORY)
        return grove_node_fail(call->node, code, "not enough memory to make the functions");
    if (!code)
        warn_support(&w);
    return code;
}
