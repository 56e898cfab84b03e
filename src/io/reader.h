/* A text that is being read, and the faults found in it. Private to src/io. */
#ifndef GROVE_IO_READER_H
#define GROVE_IO_READER_H

#include "base/error.h"
#include <stdbool.h>

/* Faults reported of one text; reading ends there. */
enum { GROVE_READER_FAULTS = 20 };

typedef struct {
    const char *text, *name; /* borrowed; `name` stands for the text in messages */
    grove_error *error;
    int faults, code; /* so far; the code of the first, or 0 */
} grove_reader;

/* Reports a fault at `at` (inside or at the end of the text), `length` bytes long. */
void grove_reader_fault(grove_reader *reader, const char *at, size_t length, const char *format,
                        ...) __attribute__((format(printf, 4, 5)));
/* Reports that memory ran out, without a place. */
void grove_reader_no_memory(grove_reader *reader);
/* Whether reading is to end: too many faults, or no memory. */
bool grove_reader_stopped(const grove_reader *reader);

#endif
