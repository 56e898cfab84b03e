/* The image's side of the hot loops: planes of columns are turned and added, and the reverse.
 * Included by gridder_isa.h. */
#ifndef GROVE_KERNELS_GRIDDER_IMAGE_ISA_H
#define GROVE_KERNELS_GRIDDER_IMAGE_ISA_H

#include "gridder_fft_isa.h"

/* n - 1 - middle_n of LANES pixels of a row, and 0 beyond the horizon for `above`, else 1. */
INLINE void directions(const grove_gridder_sky *s, int64_t first, double m, doubles n[PARTS],
                       doubles above[PARTS])
{
    for (int i = 0; i < PARTS; i++) {
        doubles l, square, rest;
        double root[PART];
        const doubles zero = {0}, one = 1 - zero;
        memcpy(&l, s->l + first + i * PART, sizeof(l));
        square = l * l + m * m; /* rest - 1 would lose the digits of a small field */
        rest = 1 - square;
        above[i] = choose(rest > zero, one, zero);
        square = choose(rest > zero, square, one);
        rest = choose(rest > zero, rest, zero);
        memcpy(root, &rest, sizeof(root));
        for (int k = 0; k < PART; k++)
            root[k] = __builtin_sqrt(root[k]);
        memcpy(&l, root, sizeof(l));
        n[i] = -square / (1 + l) - s->middle_n;
    }
}

/* The factor that divides by the transforms of the kernels. */
INLINE vec correction(const grove_gridder_sky *s, int64_t first, int64_t y, const doubles n[PARTS],
                      const doubles above[PARTS])
{
    doubles factor[PARTS];

    for (int i = 0; i < PARTS; i++) {
        doubles t = 2 * s->scale_t * (n[i] * n[i]) - 1,
                sum = s->polynomial[s->degree] - (doubles){0};
        for (int d = s->degree - 1; d >= 0; d--)
            sum = sum * t + s->polynomial[d];
        memcpy(&t, s->factor_l + first + i * PART, sizeof(t));
        factor[i] = sum * t * s->factor_m[y] * above[i];
    }
    return narrow(factor);
}

INLINE void phasors(const doubles n[PARTS], double w, vec *cosine, vec *sine)
{
    phasor(fractional_turns(n, w), cosine, sine);
}

/* LANES pixels of a row, or the `left` ones that there are, which most often follow each other:
 * then they are copied as a vector. */
INLINE void exchange_pixels(real *pixels, real *row, int64_t left, int64_t stride, bool to_row)
{
    if (stride == 1 && left >= LANES && to_row)
        memcpy(row, pixels, LANES * sizeof(real));
    else if (stride == 1 && left >= LANES)
        memcpy(pixels, row, LANES * sizeof(real));
    else
        for (int64_t k = 0; k < LANES && k < left; k++)
            *(to_row ? &row[k * stride] : &pixels[k]) = to_row ? pixels[k] : row[k * stride];
}

INLINE void exchange_row(const grove_gridder_strip *s, real *pixels, real *row, int first,
                         bool to_row)
{
    exchange_pixels(pixels, row + first * s->pixel_stride, s->count - first, s->pixel_stride,
                    to_row);
}

static void to_image(const grove_gridder_strip *s)
{
    const grove_gridder_sky *sky = s->sky;
    pair *columns = s->columns;

    for (int first = 0; first < s->count; first += LANES) {
        for (int64_t p = 0; p < s->planes; p++)
            transform(s->fourier, s->work, (real *)s->rows + p * s->rows_stride + 2 * first,
                      columns + p * s->size, true);
        for (int64_t y = 0; y < s->size; y++) {
            real *row = (real *)s->image + y * s->image_stride, pixels[LANES] = {0};
            doubles n[PARTS], above[PARTS];
            vec cosine, sine, step_cosine, step_sine;
            pair sum = {splat(0), splat(0)};
            directions(sky, s->first + first, sky->first_m + (double)y * sky->step_m, n, above);
            phasors(n, s->w, &cosine, &sine);
            phasors(n, s->step_w, &step_cosine, &step_sine);
            for (int64_t p = s->planes - 1; p >= 0; p--) {
                const pair old = sum, one = columns[p * s->size + y];
                sum.re = old.re * step_cosine - old.im * step_sine + one.re;
                sum.im = old.re * step_sine + old.im * step_cosine + one.im;
            }
            if (!s->begin)
                exchange_row(s, pixels, row, first, false);
            vec pixel = load(pixels) + sum.re * cosine - sum.im * sine;
            if (s->correct)
                pixel *= correction(sky, s->first + first, y, n, above);
            store(pixels, pixel);
            exchange_row(s, pixels, row, first, true);
        }
    }
}

static void from_image(const grove_gridder_strip *s)
{
    const grove_gridder_sky *sky = s->sky;
    pair *columns = s->columns;

    for (int first = 0; first < s->count; first += LANES) {
        for (int64_t y = 0; y < s->size; y++) {
            real *row = (real *)s->image + y * s->image_stride, pixels[LANES] = {0};
            doubles n[PARTS], above[PARTS];
            vec cosine, sine, step_cosine, step_sine;
            exchange_row(s, pixels, row, first, false);
            directions(sky, s->first + first, sky->first_m + (double)y * sky->step_m, n, above);
            phasors(n, s->w, &cosine, &sine);
            phasors(n, s->step_w, &step_cosine, &step_sine);
            vec pixel = load(pixels);
            if (s->correct)
                pixel *= correction(sky, s->first + first, y, n, above);
            pair value = {pixel * cosine, -pixel * sine};
            for (int64_t p = 0; p < s->planes; p++) {
                const pair old = value;
                columns[p * s->size + y] = old;
                value.re = old.re * step_cosine + old.im * step_sine;
                value.im = old.im * step_cosine - old.re * step_sine;
            }
        }
        for (int64_t p = 0; p < s->planes; p++)
            transform(s->fourier, s->work, (real *)s->rows + p * s->rows_stride + 2 * first,
                      columns + p * s->size, false);
    }
}

#endif
