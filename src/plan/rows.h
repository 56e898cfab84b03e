/* Rows that a set lacks, and that nobody reads. */
#ifndef GROVE_PLAN_ROWS_H
#define GROVE_PLAN_ROWS_H

#include "plan/program.h"

/* Whether rows of the step's value that `missing` of its node flags are long enough to be worth
 * leaving out one by one: what goes through rows begins anew after each gap. */
bool grove_step_has_long_rows(const grove_step *step);
/* Sets `rows_only` of all steps, and their flags accordingly. Requires that tiles and what is kept
 * were chosen. */
void grove_program_find_rows(grove_program *program);
/* Whether any value has mostly such rows. One of more than GROVE_MUCH_OF_GAPS bytes comes in small
 * pages: up to there clearing gaps costs less than more pages do. */
#define GROVE_MUCH_OF_GAPS ((uint64_t)64 << 20)
bool grove_program_has_gaps(const grove_program *program);

#endif
