/* Correlations of all pairs of receivers, autocorrelations included: sums over samples of station y
 * times the conjugate of station x <= y, for 2 x 2 polarisations. An item computes a tile of WIDE x
 * HIGH receivers of a channel, below the diagonal or on it, where it leaves out pairs with x > y.
 * Tunables: BLOCK; WIDE; HIGH; UNROLL, samples at once. size: channels, pairs, samples. Input:
 * [channel][sample][receiver][polarisation] complex. Output: [channel][y (y + 1) / 2 + x][4]
 * complex.
 */
#include "items.h"

#ifndef GROVE_BENCH_TUNE_CORRELATOR
#define GROVE_BENCH_TUNE_CORRELATOR
enum { CORRELATOR_BLOCK, CORRELATOR_WIDE, CORRELATOR_HIGH, CORRELATOR_UNROLL };

/* Of y (y + 1) / 2 pairs. */
GROVE_FN int correlator_receivers(const grove_args *args)
{
    return (int)((sqrt(8.0 * (double)args->size[1] + 1) - 1) / 2 + 0.5);
}

/* Tiles in the rows of tiles before `row`: of row r those that begin at or left of its last
 * receiver. */
GROVE_FN int64_t correlator_tiles(int64_t row, int wide, int high)
{
    int64_t tiles = 0;

    for (int64_t r = 0; r < row; r++)
        tiles += ((r + 1) * high + wide - 1) / wide;
    return tiles;
}

GROVE_FN int64_t correlator_count(const grove_args *args)
{
    const int wide = GROVE_TUNED(args, CORRELATOR_WIDE, WIDE),
              high = GROVE_TUNED(args, CORRELATOR_HIGH, HIGH);

    return args->size[0] *
           correlator_tiles((correlator_receivers(args) + high - 1) / high, wide, high);
}
#endif

GROVE_FN void GROVE_NAME(correlator_put)(const grove_args *args, int64_t channel, int x, int y,
                                         const real sum[8])
{
    const int64_t pair = (int64_t)y * (y + 1) / 2 + x;

    for (int e = 0; e < 8; e++)
        OUTPUT(args)[(channel * args->size[1] + pair) * 8 + e] = sum[e];
}

/* Adds the products of a sample of two receivers. */
GROVE_FN void GROVE_NAME(correlator_add)(const real *a, const real *b, real sum[8])
{
    for (int p = 0; p < 2; p++)
        for (int q = 0; q < 2; q++) {
            real *to = sum + 4 * p + 2 * q;
            to[0] += a[2 * p] * b[2 * q] + a[2 * p + 1] * b[2 * q + 1];
            to[1] += a[2 * p + 1] * b[2 * q] - a[2 * p] * b[2 * q + 1];
        }
}

/* `wide` and `high` are constant, so that sums stay in registers. */
GROVE_FN void GROVE_NAME(correlator_tile)(const grove_args *args, int64_t channel, int x, int y,
                                          const int wide, const int high)
{
    const int receivers = correlator_receivers(args),
              unroll = GROVE_TUNED(args, CORRELATOR_UNROLL, UNROLL);
    const int64_t samples = args->size[2];
    real sum[4][4][8];

    for (int j = 0; j < high; j++)
        for (int i = 0; i < wide; i++)
            for (int e = 0; e < 8; e++)
                sum[j][i][e] = 0;
    for (int64_t first = 0; first < samples; first += unroll)
        for (int k = 0; k < unroll; k++) {
            const real *at = INPUT(args, 0) + (channel * samples + first + k) * receivers * 4;
            for (int j = 0; j < high; j++)
                for (int i = 0; i < wide; i++)
                    GROVE_NAME(correlator_add)(at + 4 * (y + j), at + 4 * (x + i), sum[j][i]);
        }
    for (int j = 0; j < high; j++)
        for (int i = 0; i < wide; i++)
            if (x + i <= y + j)
                GROVE_NAME(correlator_put)(args, channel, x + i, y + j, sum[j][i]);
}

GROVE_FN void GROVE_NAME(correlator_item)(const grove_args *args, int64_t item)
{
    const int wide = GROVE_TUNED(args, CORRELATOR_WIDE, WIDE),
              high = GROVE_TUNED(args, CORRELATOR_HIGH, HIGH);
    const int64_t tiles = correlator_count(args) / args->size[0], channel = item / tiles;
    int64_t row = 0, left = item % tiles, in_row = (high + wide - 1) / wide;

    for (; left >= in_row; in_row = ((row + 1) * high + wide - 1) / wide) {
        left -= in_row;
        row++;
    }
    const int x = (int)(left * wide), y = (int)(row * high);
#ifdef GROVE_OPENCL
    GROVE_NAME(correlator_tile)(args, channel, x, y, WIDE, HIGH);
#else
#define CORRELATOR_CASE(w, h)                                                                      \
    if (wide == w && high == h)                                                                    \
        GROVE_NAME(correlator_tile)(args, channel, x, y, w, h);
    CORRELATOR_CASE(1, 1)
    CORRELATOR_CASE(1, 2)
    CORRELATOR_CASE(1, 4)
    CORRELATOR_CASE(2, 1)
    CORRELATOR_CASE(2, 2)
    CORRELATOR_CASE(2, 4)
    CORRELATOR_CASE(4, 1)
    CORRELATOR_CASE(4, 2)
    CORRELATOR_CASE(4, 4)
#undef CORRELATOR_CASE
#endif
}

ITEMS(correlator, correlator_count)
