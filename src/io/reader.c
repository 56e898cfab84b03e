/* Places and faults of a text that is being read. */
#include "io/reader.h"

#include <stdio.h>

static grove_place place_of(const grove_reader *reader, const char *at, size_t length)
{
    grove_place place = {.file = reader->name, .source = reader->text, .line = 1, .column = 1};
    for (const char *c = reader->text; c < at; c++) {
        if (*c == '\n') {
            place.line++;
            place.column = 1;
        } else {
            place.column++;
        }
    }
    place.length = length < 1 ? 1 : length > 1000 ? 1000 : (int)length;
    return place;
}

void grove_reader_fault(grove_reader *reader, const char *at, size_t length, const char *format,
                        ...)
{
    if (grove_reader_stopped(reader)) {
        return;
    }
    grove_place place = place_of(reader, at, length);
    va_list args;
    va_start(args, format);
    grove_fail_v(reader->error, &place, GROVE_INVALID, format, args);
    va_end(args);
    reader->code = reader->code ? reader->code : GROVE_INVALID;
    reader->faults++;
    if (grove_reader_stopped(reader)) {
        grove_fail(reader->error, GROVE_INVALID, "%s: %d faults; the rest was not read",
                   reader->name, reader->faults);
    }
}

void grove_reader_no_memory(grove_reader *reader)
{
    reader->code = grove_fail(reader->error, GROVE_NO_MEMORY, "%s: not enough memory to read it",
                              reader->name);
    reader->faults = GROVE_READER_FAULTS;
}

bool grove_reader_stopped(const grove_reader *reader)
{
    return reader->faults >= GROVE_READER_FAULTS;
}
