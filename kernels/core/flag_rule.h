/* How the flags of a value follow from flags of others: bits of bytes, the effect of each bit
 * separately. */
#ifndef GROVE_KERNELS_FLAG_RULE_H
#define GROVE_KERNELS_FLAG_RULE_H

#include "cell.h"

/* How flags of inputs become flags of the output. Byte e of marks[k] are the bits of the output
 * that are set where bit e of input k is. */
typedef struct {
    uint64_t marks[GROVE_MAX_INPUTS];
    uint8_t whole[GROVE_MAX_INPUTS]; /* not 0: only where the input has just these bits */
    int32_t folded; /* number of axes of args behind the output's: flags along them are combined */
} grove_flag_marks;

/* The bits that a byte of flags of input k sets. */
GROVE_FN unsigned grove_flag_bits(const grove_flag_marks *rule, int k, unsigned bits)
{
    if (!bits || (rule->whole[k] && bits != rule->whole[k]))
        return 0;
    /* bytes of ones where the bit is set */
    uint64_t bytes = (bits * 0x0101010101010101u) & 0x8040201008040201u;
    bytes = ((bytes + 0x7f7f7f7f7f7f7f7fu) & 0x8080808080808080u) >> 7;
    uint64_t to = (bytes * 255) & rule->marks[k];
    to |= to >> 32;
    to |= to >> 16;
    return (unsigned)(to | to >> 8) & 255;
}

/* The same for all bytes along the axes that are reduced. */
GROVE_FN unsigned grove_flag_fold(const grove_flag_marks *rule, const grove_args *args, int k,
                                  const unsigned char *first)
{
    const grove_view *in = &args->in[k];
    int64_t index[GROVE_MAX_AXES] = {0};
    int axes = args->axes, last = axes + rule->folded, d;
    unsigned to = 0;

    do {
        int64_t offset = 0;
        for (d = axes; d < last; d++)
            offset +=
                in->stride[d] *
                (in->gather && in->gather_axis == d ? (int64_t)in->gather[index[d]] : index[d]);
        to |= grove_flag_bits(rule, k, first[offset]);
        for (d = last - 1; d >= axes; d--) {
            /* axes along which the flags do not vary count once */
            if (in->stride[d] && ++index[d] < args->size[d])
                break;
            index[d] = 0;
        }
    } while (d >= axes);
    return to;
}
#endif
