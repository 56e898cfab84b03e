/* Rows that are missing in a set and not read. */
#ifndef GROVE_PLAN_ROWS_H
#define GROVE_PLAN_ROWS_H

#include "plan/program.h"

#include "device/budget.h"

/* Whether rows of the step's value that `missing` of its node flags are long enough to be worth
 * leaving out one by one: loops over rows begin anew after each gap. */
bool grove_step_has_long_rows(const grove_step *step);
/* Sets `rows_only` of all steps, and their flags accordingly. Requires that tiles and kept values
 * were chosen. */
void grove_program_find_rows(grove_program *program);
/* Whether any value has mostly such rows. */
bool grove_program_has_gaps(const grove_program *program);
/* The gaps of a step's value on the host, if it has some: absent rows are never written. */
grove_gaps grove_step_gaps(const grove_program *program, const grove_spot *spot,
                           const grove_step *step);
/* The same for an array of cells over some ranges. */
grove_gaps grove_rows_gaps(const grove_node *missing, const grove_range *range, int axes,
                           size_t cell_bytes);
/* Where a fit's input k is copied over these ranges: the number of the input that flags rows whose
 * copies are not read; -1: none. */
int grove_root_rows(const grove_program *program, const grove_step *root, int k,
                    const grove_range *range, int axes);

#endif
