/* Running sums (means, least and greatest values) per element, in double, in the order in which
 * cells are given. */
#ifndef GROVE_EVAL_SUMS_H
#define GROVE_EVAL_SUMS_H

#include "plugin.h"
#include "value/value.h"

/* One element's running state. */
typedef struct {
    double re, im;
    double count; /* samples taken; the flagged ones are skipped */
} grove_sum;

static inline void grove_sum_add(grove_sum *sum, grove_reduce how, double re, double im,
                                 double count)
{
    if (count <= 0)
        return;
    if (how == GROVE_REDUCE_MIN)
        sum->re = sum->count == 0 || re < sum->re ? re : sum->re;
    else if (how == GROVE_REDUCE_MAX)
        sum->re = sum->count == 0 || re > sum->re ? re : sum->re;
    else {
        sum->re += re;
        sum->im += im;
    }
    sum->count += count;
}

static inline void grove_sum_result(const grove_sum *sum, grove_reduce how, double *re, double *im)
{
    double scale = how == GROVE_REDUCE_MEAN && sum->count > 0 ? 1 / sum->count : 1;

    *re = sum->re * scale;
    *im = sum->im * scale;
}

/* Sums [cells][elements] to the numbers and flags of a value; a cell without any good sample is
 * zero and flagged. */
void grove_sums_to_value(const grove_sum *sums, grove_reduce how, grove_value *value);

#endif
