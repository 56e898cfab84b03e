/* What plugin.h says of flags, said once more. */
#ifndef GROVE_TESTS_FLAG_RULE_H
#define GROVE_TESTS_FLAG_RULE_H

#include "testing.h"

static inline unsigned flag_rule_all(int elements)
{
    return elements >= 8 ? 255 : (1u << elements) - 1;
}

/* Bits of a Jones cell as those of a full matrix, and back. */
static inline unsigned flag_rule_spread(unsigned bits, int shape)
{
    return shape == GROVE_SCALAR     ? (bits & 1) * 9
           : shape == GROVE_DIAGONAL ? (bits & 1) | (bits & 2) << 2
                                     : bits;
}

static inline unsigned flag_rule_gather(unsigned bits, int shape)
{
    return shape == GROVE_SCALAR     ? bits != 0
           : shape == GROVE_DIAGONAL ? (bits & 1) | (bits & 8) >> 2
                                     : bits;
}

/* What becomes of flags `bits` of input k. */
static inline unsigned flag_rule(const grove_class *class_, const testing_call *call, int k,
                                 unsigned bits)
{
    int in = call->args.in[k].shape, out = call->args.out.shape;
    bool jones = in != GROVE_VECTOR && out != GROVE_VECTOR;
    unsigned result = flag_rule_all(call->out.elements);

    if (!bits)
        return 0;
    if (class_->flag_rule == GROVE_FLAGS_MIX)
        return result;
    if (class_->flag_rule == GROVE_FLAGS_PRODUCT) {
        const grove_view *other = &call->args.in[1 - k];
        bool both = k < 2 && jones && other->data && other->shape != GROVE_VECTOR;
        unsigned there = both ? other->shape == GROVE_MATRIX ? 15 : 9 : 0,
                 from = flag_rule_spread(bits, in);
        for (int i = 0, made = 0; i < 2 && both; i++)
            for (int j = 0; j < 2; j++)
                for (int m = 0; m < 2; m++) {
                    int mine = k == 0 ? 2 * i + m : 2 * m + j;
                    int its = k == 0 ? 2 * m + j : 2 * i + m;
                    if (from >> mine & 1 && there >> its & 1)
                        made |= 1 << (2 * i + j);
                    result = flag_rule_gather((unsigned)made, out);
                }
        return result;
    }
    if (in == out && call->in[k].elements == call->out.elements)
        result = bits;
    else if (jones && in != GROVE_SCALAR && out != GROVE_SCALAR)
        result = flag_rule_gather(flag_rule_spread(bits, in), out);
    if (class_->flag_rule == GROVE_FLAGS_TRANSPOSE && out == GROVE_MATRIX)
        result = (result & 9) | (result & 2) << 1 | (result & 4) >> 1;
    return result;
}

#endif
