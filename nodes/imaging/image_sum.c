#include "nodes/imaging/image_sum.h"

#include <math.h>
#include <string.h>

static void carry(image_sum *sum)
{
    for (int k = 0; k + 1 < IMAGE_SUM_PARTS; k++) {
        sum->part[k + 1] += sum->part[k] >> 32;
        sum->part[k] &= UINT32_MAX;
    }
    sum->added = 0;
}

void image_sum_add(image_sum *sum, double number)
{
    uint64_t bits;

    memcpy(&bits, &number, sizeof(bits));
    /* number = mantissa 2^(place - 1074); numbers below 2^-1022 have no leading 1 */
    const uint64_t exponent = bits >> 52, fraction = bits & ((UINT64_C(1) << 52) - 1);
    const uint64_t mantissa = exponent ? fraction | UINT64_C(1) << 52 : fraction;
    const unsigned place = exponent ? (unsigned)exponent - 1 : 0, shift = place % 32;
    uint64_t *part = &sum->part[place / 32];

    const uint64_t low = (mantissa & UINT32_MAX) << shift, high = (mantissa >> 32) << shift;
    part[0] += low & UINT32_MAX;
    part[1] += (low >> 32) + (high & UINT32_MAX);
    part[2] += high >> 32;
    if (++sum->added == 1u << 30)
        carry(sum);
}

double image_sum_value(const image_sum *sum)
{
    image_sum all = *sum;
    double value = 0;

    carry(&all);
    for (int k = IMAGE_SUM_PARTS - 1; k >= 0; k--)
        value += ldexp((double)all.part[k], 32 * k - 1074);
    return value;
}
