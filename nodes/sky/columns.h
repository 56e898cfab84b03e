/* Text tables whose header names the columns, such as sky models. */
#ifndef GROVE_NODES_SKY_COLUMNS_H
#define GROVE_NODES_SKY_COLUMNS_H

#include "nodes/common/scan.h"

enum { GROVE_MAX_COLUMNS = 128 };

typedef struct {
    int field;         /* index into the known names; their count for any other column */
    char separator;    /* the separator after it; a blank is any white space */
    bool fixed;        /* `value` holds for all rows, whose lines do not have the column */
    grove_piece value; /* the default, or empty */
} grove_column;

typedef struct {
    grove_scan *scan;
    const char *const *names; /* the known names, [known] */
    int known, count;
    grove_column column[GROVE_MAX_COLUMNS];
} grove_columns;

/* The list of columns in "# (A, B, ...) = format" or "format = A, B, ..."; at == NULL for any other
 * line. `line` is trimmed and not empty. */
grove_piece grove_columns_find(grove_piece line);
/* Parses the list: names, separated by one character or blanks, each optionally followed by
 * ='default' or =fixed'value'. False after an error. */
bool grove_columns_read(grove_columns *columns, grove_piece list);
bool grove_columns_have(const grove_columns *columns, int field);
/* Splits a line into `value` [known], with quotes removed; separators within quotes and brackets
 * are ignored; missing values are the defaults or empty. False after an error. */
bool grove_columns_split(const grove_columns *columns, grove_piece line, grove_piece *value);

#endif
