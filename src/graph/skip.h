/* Skipping: samples that need not be computed because nothing reads them. */
#ifndef GROVE_GRAPH_SKIP_H
#define GROVE_GRAPH_SKIP_H

#include "graph/graph.h"

/* If a node has an unused input with handing GROVE_AS_FLAGS, and its value is combined with flagged
 * data and then only reduced, it gets those data for that input; if it is only written into a set
 * with missing rows, fitted to its data, or reduced or imaged with them, it gets the member
 * `missing` of the leaf that reads it, which comes first where most rows are missing. Sets `rows`
 * of such values and of the cells made of them, and of reductions. Requires nodes in order and
 * marked as used. */
void grove_tree_skip_flagged(grove_tree *tree);
/* The member `missing` of the leaf whose data flag every element of the value where the leaf has no
 * row; NULL: there are no such data. */
grove_node *grove_node_missing_rows(const grove_node *value);
/* The share of rows that the leaf has, by its member `missing`; 1 where it is unknown. Below
 * GROVE_FEW_ROWS most rows are missing. */
#define GROVE_FEW_ROWS 0.25
double grove_node_rows_share(const grove_node *missing);
/* Runs of rows that follow each other, for each row that there could be: at most that share. */
double grove_node_runs_share(const grove_node *missing);
/* Bytes in written pages of an array of `rows` rows, `row_bytes` each, at most the leaf's, if rows
 * missing in the leaf are never written. All bytes where most rows are present; up to
 * GROVE_MUCH_OF_GAPS bytes, since clearing them then costs less than small pages; or where the
 * system counts addresses. */
#define GROVE_MUCH_OF_GAPS ((uint64_t)64 << 20)
uint64_t grove_missing_written_bytes(const grove_node *missing, double rows, double row_bytes);

#endif
