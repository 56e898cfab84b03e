/* Has a function of accumulators without being one. */
#include "plain.h"

static int begin(const grove_call *call, void **state)
{
    (void)call, (void)state;
    return 0;
}

GROVE_CLASS(adds_only) = {GROVE_CLASS_HEAD(adds_only), PLAIN,
                          .accumulator = &(const grove_accumulator_functions){.create = begin}};
