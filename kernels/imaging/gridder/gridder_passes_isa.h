/* Passes of Fourier transforms of LANES lines at once, a line in each lane, of radix 2, 3, 4 or 5
 * (Stockham, in natural order). Includers have vector.h, gridder_hot.h, load() and UNROLL. */
#ifndef GROVE_KERNELS_GRIDDER_PASSES_ISA_H
#define GROVE_KERNELS_GRIDDER_PASSES_ISA_H

typedef struct {
    vec re, im;
} pair;

INLINE pair add(pair a, pair b)
{
    return (pair){a.re + b.re, a.im + b.im};
}

INLINE pair subtract(pair a, pair b)
{
    return (pair){a.re - b.re, a.im - b.im};
}

INLINE pair times_i(pair a)
{
    return (pair){-a.im, a.re};
}

INLINE pair scaled(pair a, real factor)
{
    return (pair){a.re * factor, a.im * factor};
}

INLINE pair times(pair a, const real *factor)
{
    const vec re = splat(factor[0]), im = splat(factor[1]);

    return (pair){a.re * re - a.im * im, a.re * im + a.im * re};
}

/* Transforms of two to five elements with exp(+2 pi i j k / radix). */
INLINE void butterfly(int radix, const pair *a, pair *b)
{
    if (radix == 2) {
        b[0] = add(a[0], a[1]);
        b[1] = subtract(a[0], a[1]);
    } else if (radix == 3) {
        const pair sum = add(a[1], a[2]), middle = add(a[0], scaled(sum, R(-0.5)));
        const pair turned =
            times_i(scaled(subtract(a[1], a[2]), R(0.866025403784438646763723170752936)));
        b[0] = add(a[0], sum);
        b[1] = add(middle, turned);
        b[2] = subtract(middle, turned);
    } else if (radix == 4) {
        const pair even = add(a[0], a[2]), odd = add(a[1], a[3]);
        const pair low = subtract(a[0], a[2]), high = times_i(subtract(a[1], a[3]));
        b[0] = add(even, odd);
        b[1] = add(low, high);
        b[2] = subtract(even, odd);
        b[3] = subtract(low, high);
    } else {
        const real c1 = R(0.309016994374947424102293417182819),
                   c2 = R(-0.809016994374947424102293417182819),
                   s1 = R(0.951056516295153572116439333379382),
                   s2 = R(0.587785252292473129168705954639073);
        const pair p = add(a[1], a[4]), q = add(a[2], a[3]);
        const pair m = subtract(a[1], a[4]), n = subtract(a[2], a[3]);
        const pair x = add(a[0], add(scaled(p, c1), scaled(q, c2))),
                   y = add(a[0], add(scaled(p, c2), scaled(q, c1)));
        const pair u = times_i(add(scaled(m, s1), scaled(n, s2))),
                   v = times_i(subtract(scaled(m, s2), scaled(n, s1)));
        b[0] = add(a[0], add(p, q));
        b[1] = add(x, u);
        b[2] = add(y, v);
        b[3] = subtract(y, v);
        b[4] = subtract(x, u);
    }
}

/* One pass: from `length` elements, `stride` times, into a `radix`-th of that length. */
INLINE void pass(int radix, const pair *from, pair *to, int64_t length, int64_t stride,
                 const real *factor)
{
    const int64_t span = length / radix;

    for (int64_t p = 0; p < span; p++, factor += 2 * (radix - 1))
        for (int64_t q = 0; q < stride; q++) {
            pair a[5], b[5];
            UNROLL for (int j = 0; j < radix; j++) a[j] = from[q + stride * (p + span * j)];
            butterfly(radix, a, b);
            to[q + stride * radix * p] = b[0];
            UNROLL for (int j = 1; j < radix; j++) to[q + stride * (radix * p + j)] =
                p ? times(b[j], factor + 2 * (j - 1)) : b[j];
        }
}

/* The transform of from[]; the result is there, or in other[]. */
static pair *transform_part(const grove_gridder_part *t, pair *from, pair *other)
{
    const real *factor = t->factor;
    int64_t length = t->size, stride = 1;

    for (int k = 0; k < t->passes; k++) {
        const int radix = t->radix[k];
        pair *to = other;
        if (radix == 2)
            pass(2, from, to, length, stride, factor);
        else if (radix == 3)
            pass(3, from, to, length, stride, factor);
        else if (radix == 4)
            pass(4, from, to, length, stride, factor);
        else
            pass(5, from, to, length, stride, factor);
        length /= radix;
        factor += 2 * length * (radix - 1);
        stride *= radix;
        other = from;
        from = to;
    }
    return from;
}

#endif
