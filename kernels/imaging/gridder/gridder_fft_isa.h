/* Fourier transforms of LANES lines at once, a line in each lane. A transform of n = n1 n2 elements
 * is made of n2 ones of n1 elements, factors, and n1 ones of n2 elements (Bailey 1990). Each fits
 * into the first cache and is done in passes of radix 2, 3, 4 or 5 (Stockham, in natural order).
 * Included by gridder_isa.h. */
#ifndef GROVE_KERNELS_GRIDDER_FFT_ISA_H
#define GROVE_KERNELS_GRIDDER_FFT_ISA_H

#include "gridder_passes_isa.h"

/* Between two vectors of complex numbers and vectors of their parts. */
#if VECTOR_BYTES == 64 && GROVE_REAL_SINGLE
#define EVENS 0, 2, 4, 6, 8, 10, 12, 14, 16, 18, 20, 22, 24, 26, 28, 30
#define ODDS  1, 3, 5, 7, 9, 11, 13, 15, 17, 19, 21, 23, 25, 27, 29, 31
#define LOWER 0, 16, 1, 17, 2, 18, 3, 19, 4, 20, 5, 21, 6, 22, 7, 23
#define UPPER 8, 24, 9, 25, 10, 26, 11, 27, 12, 28, 13, 29, 14, 30, 15, 31
#elif VECTOR_BYTES == 64 || (VECTOR_BYTES == 32 && GROVE_REAL_SINGLE)
#define EVENS 0, 2, 4, 6, 8, 10, 12, 14
#define ODDS  1, 3, 5, 7, 9, 11, 13, 15
#define LOWER 0, 8, 1, 9, 2, 10, 3, 11
#define UPPER 4, 12, 5, 13, 6, 14, 7, 15
#elif VECTOR_BYTES == 32 || GROVE_REAL_SINGLE
#define EVENS 0, 2, 4, 6
#define ODDS  1, 3, 5, 7
#define LOWER 0, 4, 1, 5
#define UPPER 2, 6, 3, 7
#else
#define EVENS 0, 2
#define ODDS  1, 3
#define LOWER 0, 2
#define UPPER 1, 3
#endif

/* The rows of a plane: numbers [16][2] for each row. */
INLINE pair load_row(const real *row)
{
    const vec a = load(row), b = load(row + LANES);

    return (pair){__builtin_shufflevector(a, b, EVENS), __builtin_shufflevector(a, b, ODDS)};
}

INLINE void store_row(real *row, pair x)
{
    store(row, __builtin_shufflevector(x.re, x.im, LOWER));
    store(row + LANES, __builtin_shufflevector(x.re, x.im, UPPER));
}

INLINE pair swapped(pair x)
{
    return (pair){x.im, x.re};
}

/* Of 16 lines (a vector of them): from cells to pixels, `pixels` of a pair for each, or the reverse
 * with the other sign. */
INLINE void transform(const grove_gridder_fourier *f, void *work, real *cells, pair *pixels,
                      bool to_pixels)
{
    const int64_t n1 = f->part[0].size, n2 = f->part[1].size;
    const real *factor = f->factor;
    pair *middle = (pair *)work, *line = middle + f->size, *other = line + (n1 > n2 ? n1 : n2);
    const pair zero = {splat(0), splat(0)};

    for (int64_t b = 0; b < n2; b++) {
        bool any = false;
        for (int64_t a = 0; a < n1; a++) {
            const int32_t at = to_pixels ? f->cell[n2 * a + b] : f->pixel[n2 * a + b];
            line[a] = at < 0      ? zero
                      : to_pixels ? load_row(cells + at * 2 * GROVE_GRIDDER_LANES)
                                  : swapped(pixels[at]);
            any = any || at >= 0;
        }
        const pair *done = any ? transform_part(&f->part[0], line, other) : line;
        for (int64_t k = 0; k < n1; k++, factor += 2)
            middle[b * n1 + k] = times(done[k], factor);
    }
    for (int64_t k = 0; k < n1; k++) {
        for (int64_t b = 0; b < n2; b++)
            line[b] = middle[b * n1 + k];
        const pair *done = transform_part(&f->part[1], line, other);
        for (int64_t j = 0; j < n2; j++) {
            const int32_t at = to_pixels ? f->pixel[k + n1 * j] : f->cell[k + n1 * j];
            if (at >= 0 && to_pixels)
                pixels[at] = done[j];
            else if (at >= 0)
                store_row(cells + at * 2 * GROVE_GRIDDER_LANES, swapped(done[j]));
        }
    }
}

/* Complex numbers of a 16 x 16 tile: to[k][i] = from[i][k], rows of 16. */
INLINE void turn_tile(const real *from, real *to)
{
    UNROLL for (int i = 0; i < TILE; i++) for (int k = 0; k < TILE; k++)
        memcpy(to + 2 * (k * TILE + i), from + 2 * (i * TILE + k), 2 * sizeof(real));
}

/* ---- along u ---- */

static void row_to_image(const grove_gridder_row *r)
{
    enum { NUMBERS = 2 * TILE * TILE };
    real *cells = r->cells, *rows = r->rows, turned[NUMBERS];
    pair *pixels = r->pixels;
    bool any = false;

    for (int64_t u = 0; u < r->tiles; u++) {
        if (r->block[u])
            turn_tile(r->block[u], cells + u * NUMBERS);
        else
            memset(cells + u * NUMBERS, 0, NUMBERS * sizeof(real));
        any = any || r->block[u];
    }
    if (!any) {
        for (int64_t x = 0; x < r->strips; x++)
            memset(rows + x * r->strip, 0, NUMBERS * sizeof(real));
        return;
    }
    /* [vector of lines][pixel] */
    for (int first = 0; first < TILE; first += LANES)
        transform(r->fourier, r->work, cells + 2 * first, pixels + first / LANES * r->strips * TILE,
                  true);
    for (int64_t x = 0; x < r->strips; x++) {
        for (int first = 0; first < TILE; first += LANES)
            for (int k = 0; k < TILE; k++)
                store_row(turned + 2 * (k * TILE + first),
                          pixels[(first / LANES * r->strips + x) * TILE + k]);
        turn_tile(turned, rows + x * r->strip);
    }
}

static void row_from_image(const grove_gridder_row *r)
{
    enum { NUMBERS = 2 * TILE * TILE };
    real *cells = r->cells, turned[NUMBERS];
    const real *rows = r->rows;
    pair *pixels = r->pixels;

    for (int64_t x = 0; x < r->strips; x++) {
        turn_tile(rows + x * r->strip, turned);
        for (int first = 0; first < TILE; first += LANES)
            for (int k = 0; k < TILE; k++)
                pixels[(first / LANES * r->strips + x) * TILE + k] =
                    load_row(turned + 2 * (k * TILE + first));
    }
    for (int first = 0; first < TILE; first += LANES)
        transform(r->fourier, r->work, cells + 2 * first, pixels + first / LANES * r->strips * TILE,
                  false);
    for (int64_t u = 0; u < r->tiles; u++)
        if (r->block[u])
            turn_tile(cells + u * NUMBERS, r->block[u]);
}

#endif
