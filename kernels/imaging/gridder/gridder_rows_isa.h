/* Images resampled along both axes, and their pixels corrected. Included by gridder_isa.h. */
#ifndef GROVE_KERNELS_GRIDDER_ROWS_ISA_H
#define GROVE_KERNELS_GRIDDER_ROWS_ISA_H

#include "gridder_image_isa.h"

/* COUNT sums at once keep multiplications going. */
enum { COUNT = 8 };

/* to[k][i] = from[i][k] of 16 rows of `columns` numbers; rows of `to` have 16, or the reverse. */
INLINE void turn_rows(real *rows, int64_t stride, real *turned, int64_t columns, bool back)
{
    for (int64_t k = 0; k < columns; k++)
        for (int i = 0; i < TILE; i++)
            *(back ? &rows[i * stride + k] : &turned[k * TILE + i]) =
                back ? turned[k * TILE + i] : rows[i * stride + k];
}

/* Row y of a result along m, `columns` numbers, rounded up to vectors. */
INLINE void resample_row(const grove_gridder_resampling *r, int64_t y, const real *from,
                         int64_t stride, int64_t columns, real *to)
{
    const real *tap = (const real *)r->tap + y * r->taps;

    from += r->first[y] * stride;
    for (int64_t x = 0; x < columns; x += COUNT * LANES) {
        vec sum[COUNT];
        UNROLL for (int i = 0; i < COUNT; i++) sum[i] = splat(0);
        for (int64_t j = 0; j < r->taps; j++)
            UNROLL for (int i = 0; i < COUNT; i++) sum[i] +=
                splat(tap[j]) * load(from + j * stride + x + i * LANES);
        UNROLL for (int i = 0; i < COUNT; i++) store(to + x + i * LANES, sum[i]);
    }
}

/* Along l, of 16 rows that are turned. */
INLINE void resample_turned(const grove_gridder_resampling *r, const real *from, real *to)
{
    for (int64_t x = 0; x < r->to; x += COUNT)
        for (int lane = 0; lane < TILE; lane += LANES) {
            const real *tap = (const real *)r->tap + x * r->taps, *at[COUNT];
            vec sum[COUNT];
            UNROLL for (int i = 0; i < COUNT; i++)
            {
                sum[i] = splat(0);
                at[i] = from + (int64_t)r->first[x + i] * TILE + lane;
            }
            for (int64_t j = 0; j < r->taps; j++)
                UNROLL for (int i = 0; i < COUNT; i++) sum[i] +=
                    splat(tap[i * r->taps + j]) * load(at[i] + j * TILE);
            UNROLL for (int i = 0; i < COUNT; i++) store(to + (x + i) * TILE + lane, sum[i]);
        }
}

/* A row of `columns` pixels of the image: from `line`, or to it. */
INLINE void exchange_image(const grove_gridder_rows *r, int64_t y, real *line, int64_t columns,
                           bool to_image)
{
    real *row = (real *)r->image + y * r->image_stride;

    for (int64_t x = 0; x < columns; x += LANES) {
        real pixels[LANES] = {0}, *at = row + x * r->pixel_stride;
        doubles n[PARTS], above[PARTS];
        if (!to_image || !r->begin)
            exchange_pixels(pixels, at, columns - x, r->pixel_stride, false);
        vec value = load(pixels);
        if (to_image)
            value += load(line + x);
        if (r->correct) {
            directions(r->sky, x, r->sky->first_m + (double)y * r->sky->step_m, n, above);
            value *= correction(r->sky, x, y, n, above);
        }
        store(to_image ? pixels : line + x, value);
        if (to_image)
            exchange_pixels(pixels, at, columns - x, r->pixel_stride, true);
    }
}

static void refine(const grove_gridder_rows *r)
{
    real *lines = r->lines;

    for (int64_t k = 0; k < r->count; k++)
        resample_row(r->along_m, r->first + k, r->coarse, r->coarse_stride, r->along_l->from,
                     lines + k * r->line);
    turn_rows(lines, r->line, r->turned, r->along_l->from, false);
    resample_turned(r->along_l, r->turned, r->done);
    turn_rows(lines, r->line, r->done, r->along_l->to, true);
    for (int64_t k = 0; k < r->count; k++)
        exchange_image(r, r->first + k, lines + k * r->line, r->along_l->to, true);
}

static void coarsen_rows(const grove_gridder_rows *r)
{
    real *lines = r->lines, *coarse = (real *)r->coarse + r->first * r->coarse_stride;

    for (int64_t k = 0; k < r->count; k++)
        exchange_image(r, r->first + k, lines + k * r->line, r->along_l->from, false);
    turn_rows(lines, r->line, r->turned, r->along_l->from, false);
    resample_turned(r->along_l, r->turned, r->done);
    turn_rows(lines, r->line, r->done, r->along_l->to, true);
    for (int64_t k = 0; k < r->count; k++)
        memcpy(coarse + k * r->coarse_stride, lines + k * r->line,
               (size_t)r->along_l->to * sizeof(real));
}

static void coarsen_columns(const grove_gridder_rows *r)
{
    real *lines = r->lines, *image = (real *)r->image + r->first * r->image_stride;

    for (int64_t k = 0; k < r->count; k++) {
        resample_row(r->along_m, r->first + k, r->coarse, r->coarse_stride, r->along_l->to, lines);
        memcpy(image + k * r->image_stride, lines, (size_t)r->along_l->to * sizeof(real));
    }
}

#endif
