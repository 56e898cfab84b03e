/* The flag rules of plugin.h, implemented independently of src/run. */
#include "conformance/conformance.h"

static unsigned all_of(int elements)
{
    return elements >= 8 ? 255 : (1U << elements) - 1;
}

/* Bits of a Jones cell to bits of a full matrix, and back. */
static unsigned spread(unsigned bits, int shape)
{
    return shape == GROVE_SCALAR     ? (bits & 1) * 9
           : shape == GROVE_DIAGONAL ? (bits & 1) | (bits & 2) << 2
                                     : bits;
}

static unsigned gather(unsigned bits, int shape)
{
    return shape == GROVE_SCALAR     ? bits != 0
           : shape == GROVE_DIAGONAL ? (bits & 1) | (bits & 8) >> 2
                                     : bits;
}

static unsigned product(int k, unsigned from, unsigned other)
{
    unsigned made = 0;

    for (int i = 0; i < 2; i++)
        for (int j = 0; j < 2; j++)
            for (int m = 0; m < 2; m++) {
                int mine = k == 0 ? 2 * i + m : 2 * m + j;
                int its = k == 0 ? 2 * m + j : 2 * i + m;
                if (from >> mine & 1 && other >> its & 1)
                    made |= 1U << (2 * i + j);
            }
    return made;
}

unsigned grove_flag_rule_apply(const grove_class *class_, int k, unsigned bits, grove_flag_cell in,
                               grove_flag_cell out, const grove_flag_cell *other)
{
    bool jones = in.shape != GROVE_VECTOR && out.shape != GROVE_VECTOR;
    unsigned result = all_of(out.elements);

    if (!bits)
        return 0;
    if (class_->flag_rule == GROVE_FLAGS_MIX)
        return result;
    if (class_->flag_rule == GROVE_FLAGS_PRODUCT) {
        if (k >= 2 || !jones || !other || other->shape == GROVE_VECTOR)
            return result;
        unsigned full = other->shape == GROVE_MATRIX ? 15 : 9;
        return gather(product(k, spread(bits, in.shape), full), out.shape);
    }
    if (in.shape == out.shape && in.elements == out.elements)
        result = bits;
    else if (jones && in.shape != GROVE_SCALAR && out.shape != GROVE_SCALAR)
        result = gather(spread(bits, in.shape), out.shape);
    if (class_->flag_rule == GROVE_FLAGS_TRANSPOSE && out.shape == GROVE_MATRIX)
        result = (result & 9) | (result & 2) << 1 | (result & 4) >> 1;
    return result;
}
