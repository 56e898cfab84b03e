/* Rows that a set lacks, and that nobody reads. */
#ifndef GROVE_PLAN_ROWS_H
#define GROVE_PLAN_ROWS_H

#include "plan/program.h"

/* Sets `rows_only` of all steps, and their flags accordingly. Requires that tiles and what is kept
 * were chosen. */
void grove_program_find_rows(grove_program *program);
/* Whether any value has mostly such rows. */
bool grove_program_has_gaps(const grove_program *program);

#endif
