/* Scanning a text and reporting errors in it. */
#ifndef GROVE_NODES_COMMON_SCAN_H
#define GROVE_NODES_COMMON_SCAN_H

#include "base/error.h"
#include <stdbool.h>
#include <stddef.h>

/* A part of a text; `at` gives its position even when it is empty. */
typedef struct {
    const char *at;
    size_t length;
} grove_piece;

grove_piece grove_piece_trim(const char *at, const char *end); /* without blanks at both ends */
bool grove_piece_is(grove_piece piece, const char *word);      /* ignoring case */
int grove_piece_shown(grove_piece piece);                      /* the length to show in a message */
char *grove_piece_copy(grove_piece piece);                     /* caller frees */
/* Parses the whole piece as a finite number. */
bool grove_piece_number(grove_piece piece, double *number);

/* Parses it as a UTC date such as 2026-11-22T10:00:00, into MJD s. */
bool grove_piece_date(grove_piece piece, double *seconds);

/* The errors reported in one text; after the maximum, reading ends. */
enum { GROVE_SCAN_FAULTS = 20 };

typedef struct {
    const char *text, *name; /* borrowed; `name` is the file name in messages */
    grove_error *error;
    int faults, code; /* count so far; the code of the first, or 0 */
} grove_scan;

/* Reports an error at `at` (inside or at the end of the text), `length` bytes long. */
void grove_scan_fault(grove_scan *scan, const char *at, size_t length, const char *format, ...)
    __attribute__((format(printf, 4, 5)));
/* Reports that memory is short, without a place. */
void grove_scan_no_memory(grove_scan *scan);
/* Whether reading must end: too many errors, or no memory. */
bool grove_scan_stopped(const grove_scan *scan);

#endif
