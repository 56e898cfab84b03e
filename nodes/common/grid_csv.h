/* Fields of a line of CSV. */
#ifndef GROVE_NODES_COMMON_GRID_CSV_H
#define GROVE_NODES_COMMON_GRID_CSV_H

#include "nodes/common/scan.h"

enum { GROVE_CSV_FIELDS = 512 };

/* Cuts a line [at, end) into fields, which may be in double quotes. How many, or -1 where there are
 * more than GROVE_CSV_FIELDS or a quote is not closed. */
int grove_csv_split(const char *at, const char *end, grove_piece field[GROVE_CSV_FIELDS]);
/* The text of a field without quotes. Caller frees. */
char *grove_csv_text(grove_piece field);

#endif
