/* Forces between all atoms, without a cut-off; an atom has none on itself. An item computes those
 * of ATOMS atoms. Tunables: BLOCK; ATOMS; UNROLL, atoms of the inner loop at once. size: atoms,
 * atoms; input: x, y, z, 0 of each; output: the same of forces. */
#include "items.h"

#ifndef GROVE_BENCH_TUNE_DYNAMICS
#define GROVE_BENCH_TUNE_DYNAMICS
enum { DYNAMICS_BLOCK, DYNAMICS_ITEMS, DYNAMICS_UNROLL };

GROVE_FN int64_t dynamics_count(const grove_args *args)
{
    return args->size[0] / GROVE_TUNED(args, DYNAMICS_ITEMS, ATOMS);
}
#endif

/* Lennard-Jones' force but for units. */
GROVE_FN void GROVE_NAME(dynamics_add)(const real *on, const real *by, real sum[3])
{
    const real x = by[0] - on[0], y = by[1] - on[1], z = by[2] - on[2],
               square = x * x + y * y + z * z, inverse = 1 / (square > 0 ? square : 1),
               sixth = inverse * inverse * inverse,
               force = square > 0 ? inverse * sixth * ((real)1.5 * sixth - 2) : 0;

    sum[0] += force * x;
    sum[1] += force * y;
    sum[2] += force * z;
}

GROVE_FN void GROVE_NAME(dynamics_wide)(const grove_args *args, int64_t item, const int atoms)
{
    const int unroll = GROVE_TUNED(args, DYNAMICS_UNROLL, UNROLL);
    const int64_t all = args->size[1];
    real sum[16][3];

    for (int a = 0; a < atoms; a++)
        sum[a][0] = sum[a][1] = sum[a][2] = 0;
    for (int64_t by = 0; by < all; by += unroll)
        for (int k = 0; k < unroll; k++)
            for (int a = 0; a < atoms; a++)
                GROVE_NAME(dynamics_add)
    (INPUT(args, 0) + 4 * (item * atoms + a), INPUT(args, 0) + 4 * (by + k), sum[a]);
    for (int a = 0; a < atoms; a++) {
        real *to = OUTPUT(args) + 4 * (item * atoms + a);
        to[0] = sum[a][0];
        to[1] = sum[a][1];
        to[2] = sum[a][2];
        to[3] = 0;
    }
}

GROVE_FN void GROVE_NAME(dynamics_item)(const grove_args *args, int64_t item)
{
    WITH_LENGTH(GROVE_NAME(dynamics_wide), args, item, DYNAMICS_ITEMS, ATOMS);
}

ITEMS(dynamics, dynamics_count)
