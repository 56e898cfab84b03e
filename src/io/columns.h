/* Text tables whose header names the columns, as sky models have them. Private to src/io. */
#ifndef GROVE_IO_COLUMNS_H
#define GROVE_IO_COLUMNS_H

#include "io/scan.h"

enum { GROVE_COLUMNS_MOST = 128 };

typedef struct {
    int field;         /* index into the known names; their number for any other column */
    char separator;    /* after it; a blank stands for any white space */
    bool fixed;        /* `value` is that of every row, whose lines have no such column */
    grove_piece value; /* the default, or empty */
} grove_column;

typedef struct {
    grove_scan *scan;
    const char *const *names; /* the known names, [known] */
    int known, count;
    grove_column column[GROVE_COLUMNS_MOST];
} grove_columns;

/* The list of columns in "# (A, B, ...) = format" or "format = A, B, ..."; at == NULL for any other
 * line. `line` is trimmed and not empty. */
grove_piece grove_columns_find(grove_piece line);
/* Reads the list: names, separated by one character or blanks, each with ='default' or
 * =fixed'value' behind it. False after a fault. */
bool grove_columns_read(grove_columns *columns, grove_piece list);
bool grove_columns_have(const grove_columns *columns, int field);
/* Cuts a line into `value` [known], quotes removed; separators within quotes and brackets do not
 * count, missing values are the defaults or empty. False after a fault. */
bool grove_columns_split(const grove_columns *columns, grove_piece line, grove_piece *value);

#endif
