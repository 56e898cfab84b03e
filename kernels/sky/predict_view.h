/* Cells of views, of any precision and shape, for the sums over sources. */
#ifndef GROVE_KERNELS_PREDICT_VIEW_H
#define GROVE_KERNELS_PREDICT_VIEW_H

#include "predict.h"

#include <stddef.h>

enum { PREDICT_INPUTS = 13 };

typedef struct {
    const char *in[PREDICT_INPUTS]; /* at source 0, channel 0 */
    char *out;
} row;

static inline int64_t stride_of(const grove_view *view, int axis)
{
    return axis < 0 ? 0 : view->stride[axis];
}

/* Number k, of `bytes` bytes each. */
static inline double number_at(const char *at, int k, int bytes)
{
    return bytes == 8 ? ((const double *)(const void *)at)[k]
                      : (double)((const float *)(const void *)at)[k];
}

static inline double number(const grove_view *view, const char *at, int k)
{
    return number_at(at, k, view->bytes);
}

static inline int64_t size_of(const grove_args *args, int axis)
{
    return axis < 0 ? 1 : args->size[axis];
}

/* Where row `number` is; `inner`: the last of its axes, along which rows follow each other; -1:
 * none, as before the first row. `moving`: inputs that have another cell for the next row. */
typedef struct {
    int64_t number, index[GROVE_MAX_AXES];
    int inner, moving[PREDICT_INPUTS], moves;
} row_place;

static inline row_place place_of_row(const grove_args *args, int64_t at)
{
    row_place p = {.number = at, .inner = -1};

    for (int d = args->axes - 1; d >= 0; d--)
        if (args->axis[d] != GROVE_AXIS_SOURCE && args->axis[d] != GROVE_AXIS_FREQ) {
            p.index[d] = at % args->size[d];
            at /= args->size[d];
            p.inner = p.inner < 0 ? d : p.inner;
        }
    return p;
}

static inline void find_row_at(const grove_args *args, const row_place *p, row *r)
{
    for (int k = 0; k < PREDICT_INPUTS; k++)
        r->in[k] = k < args->inputs ? grove_view_at(&args->in[k], p->index, args->axes) : NULL;
    r->out = grove_view_at(&args->out, p->index, args->axes);
}

static inline void find_row(const grove_args *args, int64_t at, row *r)
{
    const row_place p = place_of_row(args, at);

    find_row_at(args, &p, r);
}

/* How far a view's next cell is along the inner axis. */
static inline int64_t step_of_row(const grove_view *view, const row_place *p)
{
    const int64_t to = p->index[p->inner];

    return view->stride[p->inner] * (view->gather && view->gather_axis == p->inner
                                         ? (int64_t)view->gather[to] - (int64_t)view->gather[to - 1]
                                         : 1);
}

/* Row number `at`, from the one before, at `place`, where it is the next one. */
static inline void find_next_row(const grove_args *args, int64_t at, row_place *place,
                                 const row *before, row *r)
{
    const int steps = place->inner >= 0 && at == place->number + 1 &&
                      place->index[place->inner] + 1 < args->size[place->inner];

    if (!steps) {
        *place = place_of_row(args, at);
        find_row_at(args, place, r);
        for (int k = 0; k < args->inputs && place->inner >= 0; k++)
            if (r->in[k] && args->in[k].stride[place->inner])
                place->moving[place->moves++] = k;
        return;
    }
    *r = *before;
    place->number++;
    place->index[place->inner]++;
    for (int i = 0; i < place->moves; i++)
        r->in[place->moving[i]] += step_of_row(&args->in[place->moving[i]], place);
    r->out += step_of_row(&args->out, place);
}

/* A scalar, diagonal or matrix cell as a matrix; unity for NULL. */
static inline void matrix_at(const grove_view *view, const char *at, grove_cplx64 m[4])
{
    static const int of_scalar[4] = {0, -1, -1, 0}, of_diagonal[4] = {0, -1, -1, 1},
                     of_matrix[4] = {0, 1, 2, 3};
    const int *element = view->shape == GROVE_MATRIX     ? of_matrix
                         : view->shape == GROVE_DIAGONAL ? of_diagonal
                                                         : of_scalar;

    for (int i = 0; i < 4; i++) {
        m[i].re = !at && (i == 0 || i == 3);
        m[i].im = 0;
        if (at && element[i] >= 0) {
            m[i].re = number(view, at, 2 * element[i]);
            m[i].im = number(view, at, 2 * element[i] + 1);
        }
    }
}

/* Defines grove_mat_mul_double and its parts. */
#define GROVE_NAME(x) x##_double
#define cplx          grove_cplx64
#define GROVE_JONES_BY_STEPS
#include "cell_jones.h"
#undef GROVE_JONES_BY_STEPS
#undef cplx
#undef GROVE_NAME

/* Writes complex number e of a cell as two numbers of `bytes` bytes each. */
static inline void put_complex(char *at, int e, int bytes, double re, double im)
{
    if (bytes == 8) {
        ((double *)(void *)at)[2 * e] = re;
        ((double *)(void *)at)[2 * e + 1] = im;
    } else {
        ((float *)(void *)at)[2 * e] = (float)re;
        ((float *)(void *)at)[2 * e + 1] = (float)im;
    }
}

/* Writes element e of a cell. */
static inline void put_number(const grove_view *view, char *at, int e, double re, double im)
{
    put_complex(at, e, view->bytes, re, im);
}

#endif
