/* Kernels for arrays of any meaning: copies, casts, flags. */
#include "flag_rule.h"
#if !defined(GROVE_OPENCL) && !defined(__CUDACC_RTC__)
#include <string.h>
#endif
#define array_copy       GROVE_NAME(grove_array_copy)
#define array_number     GROVE_NAME(grove_array_number)
#define array_put_number GROVE_NAME(grove_array_put_number)

GROVE_FN double array_number(const char *at, int bytes, int n)
{
    return bytes == 8 ? ((const double *)(const void *)at)[n]
                      : (double)((const float *)(const void *)at)[n];
}

GROVE_FN void array_put_number(char *at, int bytes, int n, double x)
{
    if (bytes == 8)
        ((double *)(void *)at)[n] = x;
    else
        ((float *)(void *)at)[n] = (float)x;
}

/* The bytes of a cell, as many together as both addresses allow. */
GROVE_FN void array_copy(char *to, const char *from, int bytes)
{
    const unsigned alignment =
        ((unsigned)(uintptr_t)to | (unsigned)(uintptr_t)from | (unsigned)bytes);

    if (alignment % 16 == 0)
        for (int k = 0; k < bytes; k += 16)
            memcpy(GROVE_ALIGNED(to + k, 16), GROVE_ALIGNED(from + k, 16), 16);
    else if (alignment % 8 == 0)
        for (int k = 0; k < bytes; k += 8)
            memcpy(GROVE_ALIGNED(to + k, 8), GROVE_ALIGNED(from + k, 8), 8);
    else if (alignment % 4 == 0)
        for (int k = 0; k < bytes; k += 4)
            memcpy(GROVE_ALIGNED(to + k, 4), GROVE_ALIGNED(from + k, 4), 4);
    else
        for (int k = 0; k < bytes; k++)
            to[k] = from[k];
}

/* Elements of the input, from the one that the state (int64_t) names on, as numbers of the output:
 * dense copies, gathers from stations to baselines, casts between precisions and from real to
 * complex, single elements. Numbers of one byte (flags) are copied. */
GROVE_CELL(cast)
{
    const grove_view *in = &c->args->in[0], *out = &c->args->out;
    int first = (int)GROVE_STATE(c, int64_t)[0], each = out->bytes * (out->complex_ ? 2 : 1);

    if (out->bytes == 1 || (in->bytes == out->bytes && !in->complex_ == !out->complex_)) {
        array_copy(c->out, c->in[0] + first * each, out->elements * each);
        return;
    }
    for (int e = 0; e < out->elements; e++) {
        int from = (first + e) * (in->complex_ ? 2 : 1), to = e * (out->complex_ ? 2 : 1);
        array_put_number(c->out, out->bytes, to, array_number(c->in[0], in->bytes, from));
        if (out->complex_)
            array_put_number(c->out, out->bytes, to + 1,
                             in->complex_ ? array_number(c->in[0], in->bytes, from + 1) : 0);
    }
}

/* 0 where a byte of flags has all the bits of the state (uint32_t), the input elsewhere. */
GROVE_CELL(blank)
{
    const grove_view *out = &c->args->out;
    unsigned all = GROVE_STATE(c, uint32_t)[0];

    if (((unsigned char)c->in[0][0] & all) != all)
        return;
    for (int n = 0; n < out->elements * (out->complex_ ? 2 : 1); n++)
        array_put_number(c->out, out->bytes, n, 0);
}

/* A byte of flags from the flags of the inputs that have some, by a grove_flag_marks. */
GROVE_CELL(flag_rule)
{
    const grove_flag_marks *rule = GROVE_STATE(c, grove_flag_marks);
    unsigned to = 0;

    for (int k = 0; k < c->args->inputs; k++) {
        const unsigned char *bits = (const unsigned char *)c->in[k];
        if (bits)
            to |= rule->folded ? grove_flag_fold(rule, c->args, k, bits)
                               : grove_flag_bits(rule, k, *bits);
    }
    *(unsigned char *)c->out = (unsigned char)to;
}
