/* A text that is being read, and the faults found in it. Private to src/io. */
#ifndef GROVE_IO_SCAN_H
#define GROVE_IO_SCAN_H

#include "base/error.h"
#include <stdbool.h>
#include <stddef.h>

/* A part of a text; `at` tells where it stands even when it is empty. */
typedef struct {
    const char *at;
    size_t length;
} grove_piece;

grove_piece grove_piece_trim(const char *at, const char *end); /* without blanks at both ends */
bool grove_piece_is(grove_piece piece, const char *word);      /* whatever the case */
int grove_piece_shown(grove_piece piece);  /* how much of it to show in a message */
char *grove_piece_copy(grove_piece piece); /* caller frees */
/* The finite number that a piece is, all of it. */
bool grove_piece_number(grove_piece piece, double *number);

/* Faults reported of one text; reading ends there. */
enum { GROVE_SCAN_FAULTS = 20 };

typedef struct {
    const char *text, *name; /* borrowed; `name` stands for the text in messages */
    grove_error *error;
    int faults, code; /* so far; the code of the first, or 0 */
} grove_scan;

/* Reports a fault at `at` (inside or at the end of the text), `length` bytes long. */
void grove_scan_fault(grove_scan *scan, const char *at, size_t length, const char *format, ...)
    __attribute__((format(printf, 4, 5)));
/* Reports that memory ran out, without a place. */
void grove_scan_no_memory(grove_scan *scan);
/* Whether reading is to end: too many faults, or no memory. */
bool grove_scan_stopped(const grove_scan *scan);

#endif
