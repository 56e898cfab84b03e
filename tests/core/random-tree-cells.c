/* Cells of random trees in long double, with bounds of rounding errors. A bound counts rounding
 * errors of the run's precision; each operation adds ROUNDING of its result's size. */
#include "random-tree.h"

#include <string.h>

#define ROUNDING 8.0L
#define BOTH     1e-7L /* of a product of two errors, which matters if both factors vanish */
#define LIGHT    299792458.0L
#define PI       3.14159265358979323846264338327950288L

typedef struct {
    random_complex at;
    long double error;
    bool good; /* in the range where the bound holds */
} number;

static number make(random_complex at, long double error)
{
    return (number){at, error + ROUNDING * cabsl(at), true};
}

/* ---- functions of one number ---- */

/* A distance from 0 and from the branch cut along the negative real axis. */
static bool off_cut(random_complex z, bool complex_)
{
    return cabsl(z) > 0.1L && (creall(z) > 0.05L || (complex_ && fabsl(cimagl(z)) > 0.05L));
}

static bool whole(long double x)
{
    return x == rintl(x);
}

static number power(random_complex z, long double error, long double n, bool complex_)
{
    long double size = cabsl(z), min = n < 0 ? 0.2L : 0;
    bool good = whole(n) ? size >= min : off_cut(z, complex_);
    random_complex result = 1;

    if (!good)
        return (number){0};
    if (whole(n))
        for (int i = 0; i < fabsl(n); i++)
            result *= z;
    else
        result = cpowl(z, n);
    if (whole(n) && n < 0)
        result = 1 / result;
    if (n == 0)
        return make(1, 0);
    /* an integer power of a small number: its error may exceed it */
    long double slope =
        whole(n) && n > 0 ? n * powl(size + error * 6e-8L, n - 1) : fabsl(n) * cabsl(result) / size;
    number y = make(result, slope * error);
    y.error += ROUNDING * fabsl(n) * cabsl(result);
    return y;
}

static number tangent(random_complex z, long double error)
{
    random_complex cosine = ccosl(z), y = csinl(z) / cosine;

    if (cabsl(cosine) < 0.3L || fabsl(cimagl(z)) > 2)
        return (number){0};
    return make(y, error / (cabsl(cosine) * cabsl(cosine)) + 20 * (1 + cabsl(y)));
}

/* sin, cos, exp and others, of bounded numbers; `slope`: bound of the derivative. */
static number bounded(random_complex y, long double slope, long double error, bool good)
{
    number result = make(y, slope * error + 4);

    result.good = good;
    return result;
}

static number function_of(const random_node *node, random_complex z, long double error,
                          bool complex_)
{
    long double x = creall(z), size = cabsl(z), spread = coshl(cimagl(z));
    bool flat = fabsl(cimagl(z)) <= 2 && fabsl(x) < 100;

    switch (node->operation) {
    case RANDOM_NEGATE:
        return make(-z, error);
    case RANDOM_CONJ:
        return make(conjl(z), error);
    case RANDOM_REAL:
        return make(x, error);
    case RANDOM_IMAG:
        return make(cimagl(z), error);
    case RANDOM_ABS:
        return make(size, error);
    case RANDOM_ARG:
        return bounded(cargl(z), 1 / size, error,
                       off_cut(z, complex_) || (!complex_ && size > 0.1L));
    case RANDOM_SIN:
        return bounded(csinl(z), spread, error, flat);
    case RANDOM_COS:
        return bounded(ccosl(z), spread, error, flat);
    case RANDOM_TAN:
        return tangent(z, error);
    case RANDOM_EXP:
        return bounded(cexpl(z), expl(x), error, fabsl(x) < 4 && fabsl(cimagl(z)) < 100);
    case RANDOM_SQRT:
        return bounded(csqrtl(z), 0.5L / sqrtl(size), error, off_cut(z, complex_));
    case RANDOM_LOG:
        return bounded(clogl(z), 1 / size, error, off_cut(z, complex_));
    case RANDOM_LOG10:
        return bounded(clogl(z) / logl(10), 1 / size, error, off_cut(z, complex_));
    case RANDOM_SINC:
        return bounded(fabsl(x) < 1e-6L ? 1 - x * x / 6 : sinl(x) / x, 0.5L, error, fabsl(x) < 100);
    case RANDOM_ASIN:
        return bounded(asinl(x), 1 / sqrtl(1 - x * x), error, fabsl(x) < 0.9L);
    case RANDOM_ACOS:
        return bounded(acosl(x), 1 / sqrtl(1 - x * x), error, fabsl(x) < 0.9L);
    case RANDOM_ATAN:
        return bounded(atanl(x), 1, error, true);
    case RANDOM_POWER:
        return power(z, error, creall(node->number[0]), complex_);
    default:
        return (number){z, error, true};
    }
}

/* ---- Jones terms ---- */

static void as_matrix(const random_cell *in, random_cell *to)
{
    if (in->shape == GROVE_MATRIX) {
        *to = *in;
        return;
    }
    int last = in->shape == GROVE_DIAGONAL;
    *to = (random_cell){.shape = GROVE_MATRIX, .elements = 4};
    to->at[0] = in->at[0];
    to->error[0] = in->error[0];
    to->at[3] = in->at[last];
    to->error[3] = in->error[last];
}

static void from_matrix(const random_cell *from, random_cell *out)
{
    int step = out->shape == GROVE_MATRIX ? 1 : 3;

    for (int e = 0; e < out->elements; e++) {
        out->at[e] = from->at[step * e];
        out->error[e] = from->error[step * e];
    }
}

static void matrix_product(const random_cell *a, const random_cell *b, random_cell *out)
{
    for (int i = 0; i < 2; i++)
        for (int j = 0; j < 2; j++) {
            random_complex sum = 0;
            long double error = 0;
            for (int k = 0; k < 2; k++) {
                int ik = 2 * i + k, kj = 2 * k + j;
                long double x = cabsl(a->at[ik]), y = cabsl(b->at[kj]);
                sum += a->at[ik] * b->at[kj];
                error += x * b->error[kj] + y * a->error[ik] + ROUNDING * x * y +
                         BOTH * a->error[ik] * b->error[kj];
            }
            out->at[2 * i + j] = sum;
            out->error[2 * i + j] = error;
        }
}

static void multiply(const random_cell *a, const random_cell *b, random_cell *out)
{
    random_cell left, right, product = {0};

    if (out->shape != GROVE_VECTOR) {
        as_matrix(a, &left);
        as_matrix(b, &right);
        matrix_product(&left, &right, &product);
        from_matrix(&product, out);
        return;
    }
    const random_cell *scalar = a->shape == GROVE_SCALAR ? a : b, *vector = scalar == a ? b : a;
    for (int e = 0; e < out->elements; e++) {
        number y =
            make(scalar->at[0] * vector->at[e], cabsl(scalar->at[0]) * vector->error[e] +
                                                    cabsl(vector->at[e]) * scalar->error[0] +
                                                    BOTH * vector->error[e] * scalar->error[0]);
        out->at[e] = y.at;
        out->error[e] = y.error;
    }
}

static number determinant(const random_cell *in)
{
    random_cell x;
    long double error = 0;

    as_matrix(in, &x);
    for (int e = 0; e < 4; e++)
        error += cabsl(x.at[e]) * (x.error[3 - e] + ROUNDING * cabsl(x.at[3 - e])) +
                 BOTH * x.error[e] * x.error[3 - e];
    return make(x.at[0] * x.at[3] - x.at[1] * x.at[2], error);
}

/* The error of an inverse Y of X is |Y| dX |Y|, plus its own rounding. */
static bool inverse(const random_cell *in, random_cell *out)
{
    random_cell x, y = {0}, size = {0}, error = {0}, first = {0}, both = {0};
    number d;

    as_matrix(in, &x);
    d = determinant(&x);
    if (in->shape != GROVE_MATRIX && (cabsl(x.at[0]) < 0.2L || cabsl(x.at[3]) < 0.2L))
        return false;
    if (cabsl(d.at) < 0.1L)
        return false;
    long double lost = cabsl(x.at[0] * x.at[3]) + cabsl(x.at[1] * x.at[2]);
    for (int e = 0; e < 4; e++) {
        y.at[e] = (e == 0 || e == 3 ? x.at[3 - e] : -x.at[e]) / d.at;
        size.at[e] = cabsl(y.at[e]);
        error.at[e] = x.error[e];
    }
    matrix_product(&size, &error, &first);
    matrix_product(&first, &size, &both);
    for (int e = 0; e < 4; e++)
        y.error[e] = creall(both.at[e]) + ROUNDING * cabsl(y.at[e]) * (2 + 2 * lost / cabsl(d.at));
    from_matrix(&y, out);
    return true;
}

static bool matrix_power(const random_node *node, const random_cell *in, random_cell *out)
{
    int n = (int)creall(node->number[0]);
    random_cell x = *in, result = {.shape = GROVE_MATRIX, .elements = 4}, next = {0};

    result.at[0] = result.at[3] = 1;
    if (n < 0 && !inverse(in, &x))
        return false;
    x.shape = GROVE_MATRIX;
    for (int i = 0; i < (n < 0 ? -n : n); i++) {
        matrix_product(&result, &x, &next);
        memcpy(result.at, next.at, sizeof(result.at));
        memcpy(result.error, next.error, sizeof(result.error));
    }
    from_matrix(&result, out);
    return true;
}

/* Also of the transpose, in which elements are exchanged. */
static void transpose(const random_node *node, const random_cell *in, random_cell *out)
{
    for (int e = 0; e < out->elements; e++) {
        int from = out->shape == GROVE_MATRIX && (e == 1 || e == 2) ? 3 - e : e;
        out->at[e] = node->operation == RANDOM_HERMITIAN ? conjl(in->at[from]) : in->at[from];
        out->error[e] = in->error[from];
    }
}

static void norm(const random_cell *in, random_cell *out)
{
    long double squares = 0, error = 0;

    for (int e = 0; e < in->elements; e++) {
        squares += cabsl(in->at[e]) * cabsl(in->at[e]);
        error += in->error[e];
    }
    out->at[0] = sqrtl(squares);
    out->error[0] = error + ROUNDING * sqrtl(squares);
}

/* ---- two operands ---- */

static void add(const random_node *node, const random_cell *in, random_cell *out)
{
    random_cell a = in[0], b = in[1], sum = {0};
    bool jones = a.shape != b.shape;
    int elements = jones ? 4 : out->elements;

    if (jones) {
        as_matrix(&in[0], &a);
        as_matrix(&in[1], &b);
    }
    for (int e = 0; e < elements; e++) {
        random_complex y = node->operation == RANDOM_ADD ? a.at[e] + b.at[e] : a.at[e] - b.at[e];
        sum.at[e] = y;
        sum.error[e] =
            a.error[e] + b.error[e] + ROUNDING * (cabsl(y) + cabsl(a.at[e]) + cabsl(b.at[e]));
    }
    if (jones) {
        from_matrix(&sum, out);
        return;
    }
    memcpy(out->at, sum.at, sizeof(sum.at));
    memcpy(out->error, sum.error, sizeof(sum.error));
}

static bool divide(const random_cell *a, const random_cell *b, random_cell *out)
{
    long double by = cabsl(b->at[0]);

    for (int e = 0; e < out->elements; e++) {
        number y = make(a->at[e] / b->at[0],
                        (a->error[e] + cabsl(a->at[e] / b->at[0]) * b->error[0]) / by);
        out->at[e] = y.at;
        out->error[e] = y.error;
    }
    return by >= 0.2L;
}

static void rotation(const random_cell *in, random_cell *out)
{
    long double angle = creall(in->at[0]);

    out->at[0] = out->at[3] = cosl(angle);
    out->at[1] = -sinl(angle);
    out->at[2] = sinl(angle);
    for (int e = 0; e < 4; e++)
        out->error[e] = in->error[0] + ROUNDING;
}

static void put_together(const random_node *node, const random_cell *in, random_cell *out)
{
    if (node->operation == RANDOM_COMPLEX) {
        out->at[0] = creall(in[0].at[0]) + I * creall(in[1].at[0]);
        out->error[0] = in[0].error[0] + in[1].error[0];
        return;
    }
    for (int e = 0; e < out->elements; e++) {
        out->at[e] = in[e].at[0];
        out->error[e] = in[e].error[0];
    }
}

static bool number_by_number(const random_node *node, const random_cell *in, random_cell *out)
{
    for (int e = 0; e < out->elements; e++) {
        if (out->flags >> e & 1)
            continue;
        number y = function_of(node, in->at[e], in->error[e], in->complex_);
        if (!y.good)
            return false;
        out->at[e] = y.at;
        out->error[e] = y.error;
    }
    return true;
}

bool random_cell_compute(const random_node *node, const random_cell *in, random_cell *out)
{
    number y;
    bool all = out->flags == (1u << out->elements) - 1; /* then the numbers are not read */

    switch (node->operation) {
    case RANDOM_NUMBER:
        memcpy(out->at, node->number, sizeof(node->number));
        for (int e = 0; e < out->elements; e++)
            out->error[e] = cabsl(out->at[e]);
        return true;
    case RANDOM_HERMITIAN:
    case RANDOM_TRANSPOSE:
        transpose(node, in, out);
        return true;
    case RANDOM_INVERSE:
        return all || inverse(in, out);
    case RANDOM_POWER:
        if (all || in->shape != GROVE_MATRIX)
            return all || number_by_number(node, in, out);
        return matrix_power(node, in, out);
    case RANDOM_DETERMINANT:
        y = determinant(in);
        out->at[0] = y.at;
        out->error[0] = y.error;
        return true;
    case RANDOM_TRACE:
        out->at[0] =
            in->shape == GROVE_SCALAR ? 2 * in->at[0] : in->at[0] + in->at[in->elements - 1];
        out->error[0] = in->error[0] + in->error[in->elements - 1] +
                        ROUNDING * (cabsl(in->at[0]) + cabsl(in->at[in->elements - 1]));
        return true;
    case RANDOM_NORM:
        norm(in, out);
        return true;
    case RANDOM_ROTATION:
        rotation(in, out);
        return fabsl(creall(in->at[0])) < 100;
    case RANDOM_ELEMENT:
        out->at[0] = in->at[node->choice[0]];
        out->error[0] = in->error[node->choice[0]];
        return true;
    case RANDOM_ADD:
    case RANDOM_SUBTRACT:
        add(node, in, out);
        return true;
    case RANDOM_MULTIPLY:
        multiply(&in[0], &in[1], out);
        return true;
    case RANDOM_DIVIDE:
        return all || divide(&in[0], &in[1], out);
    case RANDOM_COMPLEX:
    case RANDOM_DIAGONAL:
    case RANDOM_MATRIX:
        put_together(node, in, out);
        return true;
    default: /* functions, and what hands numbers on */
        return number_by_number(node, in, out);
    }
}

/* ---- point sources ---- */

/* Absolute values of the terms that are added in the matrix. */
static long double brightness(const random_source *s, bool circular, long double nu,
                              random_complex matrix[4])
{
    long double stokes[4], scale = 1, sum = 0, turn = 2 * s->measure * (LIGHT / nu) * (LIGHT / nu);
    long double size = 0;

    for (int k = 0; k < 4; k++) {
        stokes[k] = s->stokes[k];
        size += fabsl(stokes[k]);
    }
    if (s->reference > 0) {
        long double ratio = nu / s->reference, x = s->logarithmic ? log10l(ratio) : ratio - 1;
        sum = s->spectrum[0] * x + s->spectrum[1] * x * x;
        scale = s->logarithmic ? powl(10, sum) : 1 + sum / stokes[0];
        size *= (1 + fabsl(scale)) * (1 + 3 * fabsl(sum) / stokes[0]);
    }
    random_complex linear = (stokes[1] + I * stokes[2]) * scale * cexpl(I * turn);
    long double i = stokes[0] * scale, v = stokes[3] * scale;
    long double q = creall(linear), u = cimagl(linear);
    if (circular) {
        matrix[0] = i + v;
        matrix[1] = q + I * u;
        matrix[2] = q - I * u;
        matrix[3] = i - v;
    } else {
        matrix[0] = i + q;
        matrix[1] = u + I * v;
        matrix[2] = u - I * v;
        matrix[3] = i - q;
    }
    return 2 * size * (1 + fabsl(turn));
}

static long double sinc(long double x)
{
    return fabsl(x) < 1e-6L ? 1 - x * x / 6 : sinl(x) / x;
}

/* l, m, n - 1 */
static void direction(const random_source *s, long double lmn[3])
{
    long double ra = s->radec[0] - (long double)random_centre[0], dec = s->radec[1];
    long double centre = random_centre[1];

    lmn[0] = cosl(dec) * sinl(ra);
    lmn[1] = sinl(dec) * cosl(centre) - cosl(dec) * sinl(centre) * cosl(ra);
    lmn[2] = sinl(dec) * sinl(centre) + cosl(dec) * cosl(centre) * cosl(ra) - 1;
}

static void point(const random_world *world, const random_source *s, int smear, const int64_t *cell,
                  random_cell *out)
{
    int64_t p = world->left[cell[RANDOM_BASELINE]], q = world->right[cell[RANDOM_BASELINE]];
    int64_t t = cell[RANDOM_TIME], seed = world->seed;
    long double nu = random_freq(world->seed, cell[RANDOM_FREQ]), uvw[3], lmn[3], delay = 0,
                drift = 0;
    long double length = 0; /* the delay's error is a part of it */

    direction(s, lmn);
    for (int k = 0; k < 3; k++) {
        uvw[k] = random_uvw(seed, p, t, k, false) - random_uvw(seed, q, t, k, false);
        delay += uvw[k] * lmn[k] / LIGHT;
        length += fabsl(uvw[k] * lmn[k]) / LIGHT;
        drift +=
            (random_uvw(seed, p, t, k, true) - random_uvw(seed, q, t, k, true)) * lmn[k] / LIGHT;
    }
    random_complex v = cexpl(-2 * I * PI * nu * delay);
    if (smear & 1)
        v *= sinc(PI * nu * drift * RANDOM_INTERVAL);
    if (smear & 2)
        v *= sinc(PI * delay * RANDOM_WIDTH);
    long double along = uvw[0] * sinl(s->shape[2]) + uvw[1] * cosl(s->shape[2]);
    long double across = uvw[0] * cosl(s->shape[2]) - uvw[1] * sinl(s->shape[2]);
    along *= s->shape[0] * nu / LIGHT;
    across *= s->shape[1] * nu / LIGHT;
    v *= expl(-PI * PI / (4 * logl(2)) * (along * along + across * across));
    long double size = brightness(s, seed % 2, nu, out->at);
    for (int e = 0; e < 4; e++) {
        out->at[e] *= v;
        out->error[e] = (64 + 8 * PI * nu * length) * size;
    }
}

void random_sky_compute(const random_world *world, const random_node *node, const int64_t *cell,
                        random_cell *out)
{
    int sky = node->choice[0];
    int64_t source = cell[sky == 1 ? RANDOM_SOURCE : RANDOM_OTHER_SOURCE];
    random_source s = random_source_of(world->seed + sky, source);
    long double nu = random_freq(world->seed, cell[RANDOM_FREQ]), lmn[3], delay = 0, size = 0;

    if (node->operation == RANDOM_POINT) {
        point(world, &s, node->choice[1], cell, out);
    } else if (node->operation == RANDOM_BRIGHTNESS) {
        size = brightness(&s, world->seed % 2, nu, out->at);
        for (int e = 0; e < 4; e++)
            out->error[e] = ROUNDING * size;
    } else {
        direction(&s, lmn);
        for (int k = 0; k < 3; k++) {
            long double part =
                random_uvw(world->seed, cell[RANDOM_STATION], cell[RANDOM_TIME], k, false) *
                lmn[k] / LIGHT;
            delay += part;
            size += fabsl(part);
        }
        out->at[0] = cexpl(-2 * I * PI * nu * delay);
        out->error[0] = 2 * ROUNDING + 8 * PI * nu * size;
    }
}

bool random_sky_is_flat(const random_world *world, int sky)
{
    for (int64_t i = 0; i < world->size[sky - 1]; i++) {
        random_source s = random_source_of(world->seed + sky, i);
        if (s.measure != 0 || s.reference > 0)
            return false;
    }
    return true;
}
