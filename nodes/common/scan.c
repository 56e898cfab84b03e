/* Parts of a text being read, and error messages about them. */
#include "nodes/common/scan.h"

#include "util.h"
#include <math.h>
#include <string.h>
#include <strings.h>

enum { LONGEST_NUMBER = 63 };

static bool is_blank(char c)
{
    return c == ' ' || c == '\t' || c == '\r';
}

grove_piece grove_piece_trim(const char *at, const char *end)
{
    while (at < end && is_blank(*at)) {
        at++;
    }
    while (end > at && is_blank(end[-1])) {
        end--;
    }
    return (grove_piece){at, (size_t)(end - at)};
}

bool grove_piece_is(grove_piece piece, const char *word)
{
    return strlen(word) == piece.length && strncasecmp(piece.at, word, piece.length) == 0;
}

int grove_piece_shown(grove_piece piece)
{
    return piece.length < 40 ? (int)piece.length : 40;
}

char *grove_piece_copy(grove_piece piece)
{
    char *text = grove_alloc(piece.length + 1);
    memcpy(text, piece.at, piece.length);
    return text;
}

bool grove_piece_number(grove_piece piece, double *number)
{
    char text[LONGEST_NUMBER + 1] = "";
    if (!piece.length || piece.length > LONGEST_NUMBER) {
        return false;
    }
    memcpy(text, piece.at, piece.length);
    const char *end = grove_parse_number(text, number);
    return end == text + piece.length && isfinite(*number);
}

bool grove_piece_date(grove_piece piece, double *seconds)
{
    char text[LONGEST_NUMBER + 1] = "";
    if (piece.length > LONGEST_NUMBER) {
        return false;
    }
    memcpy(text, piece.at, piece.length);
    return grove_parse_date(text, seconds) == 0;
}

static grove_place place_of(const grove_scan *scan, const char *at, size_t length)
{
    grove_place place = {.file = scan->name, .source = scan->text, .line = 1, .column = 1};
    for (const char *c = scan->text; c < at; c++) {
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

void grove_scan_fault(grove_scan *scan, const char *at, size_t length, const char *format, ...)
{
    if (grove_scan_stopped(scan)) {
        return;
    }
    grove_place place = place_of(scan, at, length);
    va_list args;
    va_start(args, format);
    grove_fail_v(scan->error, &place, GROVE_INVALID, format, args);
    va_end(args);
    scan->code = scan->code ? scan->code : GROVE_INVALID;
    scan->faults++;
    if (grove_scan_stopped(scan)) {
        grove_fail(scan->error, GROVE_INVALID, "%s: %d faults; the rest was not read", scan->name,
                   scan->faults);
    }
}

void grove_scan_no_memory(grove_scan *scan)
{
    scan->code =
        grove_fail(scan->error, GROVE_NO_MEMORY, "%s: not enough memory to read it", scan->name);
    scan->faults = GROVE_SCAN_FAULTS;
}

bool grove_scan_stopped(const grove_scan *scan)
{
    return scan->faults >= GROVE_SCAN_FAULTS;
}
