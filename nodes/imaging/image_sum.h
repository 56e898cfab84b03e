/* Sums of numbers that are exact, and so the same in any order: integers of 32 bits and more; each
 * counts multiples of another power of two (Neal 2015). */
#ifndef GROVE_NODES_IMAGE_SUM_H
#define GROVE_NODES_IMAGE_SUM_H

#include <stdint.h>

enum { IMAGE_SUM_PARTS = 68 };

typedef struct {
    uint64_t part[IMAGE_SUM_PARTS]; /* part k counts 2^(32 k - 1074); all 0: nothing yet */
    uint32_t added;                 /* since carries were made */
} image_sum;

/* `number`: finite, 0 or more. */
void image_sum_add(image_sum *sum, double number);
/* Rounded, with an error of a few units in the last place; the same for the same numbers in any
 * order. */
double image_sum_value(const image_sum *sum);

#endif
