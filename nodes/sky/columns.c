/* Text tables whose header names the columns. */
#include "nodes/sky/columns.h"

#include <ctype.h>
#include <string.h>
#include <strings.h>

static bool is_blank(char c)
{
    return c == ' ' || c == '\t' || c == '\r';
}

static bool is_name(char c)
{
    return isalnum((unsigned char)c) || c == '_';
}

static grove_piece unquote(grove_piece value)
{
    if (value.length >= 2 && (value.at[0] == '\'' || value.at[0] == '"') &&
        value.at[value.length - 1] == value.at[0]) {
        return grove_piece_trim(value.at + 1, value.at + value.length - 1);
    }
    return value;
}

grove_piece grove_columns_find(grove_piece line)
{
    const char *at = line.at, *end = at + line.length;
    const grove_piece none = {NULL, 0};
    if (line.length > 6 && strncasecmp(at, "format", 6) == 0) {
        grove_piece rest = grove_piece_trim(at + 6, end);
        return rest.length && *rest.at == '=' ? grove_piece_trim(rest.at + 1, end) : none;
    }
    if (*at != '#') {
        return none;
    }
    grove_piece inner = grove_piece_trim(at + 1, end);
    if (inner.length < 9 || *inner.at != '(' || strncasecmp(end - 6, "format", 6) != 0) {
        return none;
    }
    inner = grove_piece_trim(inner.at + 1, end - 6);
    if (!inner.length || inner.at[inner.length - 1] != '=') {
        return none;
    }
    inner = grove_piece_trim(inner.at, inner.at + inner.length - 1);
    if (!inner.length || inner.at[inner.length - 1] != ')') {
        return none;
    }
    return grove_piece_trim(inner.at, inner.at + inner.length - 1);
}

/* The value after "name =": quoted. */
static bool read_default(const grove_columns *columns, const char **at, const char *end,
                         grove_column *into)
{
    const char *start = *at;
    if (end - start > 5 && strncasecmp(start, "fixed", 5) == 0) {
        into->fixed = true;
        start += 5;
    }
    const char *close = NULL;
    if (start < end && (*start == '\'' || *start == '"')) {
        close = memchr(start + 1, *start, (size_t)(end - start - 1));
    }
    if (!close) {
        grove_scan_fault(columns->scan, *at, 1,
                         "header: a default value is not in quotes; write Column='value'");
        return false;
    }
    into->value = grove_piece_trim(start + 1, close);
    *at = close + 1;
    return true;
}

static int field_named(const grove_columns *columns, grove_piece name)
{
    int k = 0;
    while (k < columns->known && !grove_piece_is(name, columns->names[k])) {
        k++;
    }
    return k;
}

/* Reads one column and its separator. */
static bool read_column(const grove_columns *columns, const char **at, const char *end,
                        grove_column *into)
{
    const char *start = *at;
    while (*at < end && (is_name(**at) || (**at == ':' && *at > start))) {
        (*at)++;
    }
    grove_piece name = {start, (size_t)(*at - start)};
    *into =
        (grove_column){.field = field_named(columns, name), .separator = ' ', .value = {start, 0}};
    grove_piece rest = grove_piece_trim(*at, end);
    if (name.length && rest.length && *rest.at == '=') {
        *at = grove_piece_trim(rest.at + 1, end).at;
        if (!read_default(columns, at, end, into)) {
            return false;
        }
        rest = grove_piece_trim(*at, end);
    }
    if (rest.length && !is_name(*rest.at)) {
        if (strchr("'\"[]()=#", *rest.at)) {
            grove_scan_fault(columns->scan, rest.at, 1,
                             "header: '%c' cannot separate columns; a comma can", *rest.at);
            return false;
        }
        into->separator = *rest.at++;
    }
    *at = grove_piece_trim(rest.at, end).at;
    for (int k = 0; k < columns->count && into->field < columns->known; k++) {
        if (columns->column[k].field == into->field) {
            grove_scan_fault(columns->scan, name.at, name.length,
                             "header: column '%s' is named twice", columns->names[into->field]);
            return false;
        }
    }
    return true;
}

bool grove_columns_read(grove_columns *columns, grove_piece list)
{
    const char *at = list.at, *end = at + list.length;
    while (at < end) {
        if (columns->count == GROVE_MAX_COLUMNS) {
            grove_scan_fault(columns->scan, at, 1, "header: more than %d columns",
                             GROVE_MAX_COLUMNS);
            return false;
        }
        if (!read_column(columns, &at, end, &columns->column[columns->count])) {
            return false;
        }
        columns->count++;
    }
    if (columns->count > 1) { /* the last column may end with the same separator as the others */
        columns->column[columns->count - 1].separator =
            columns->column[columns->count - 2].separator;
    }
    return true;
}

bool grove_columns_have(const grove_columns *columns, int field)
{
    for (int k = 0; k < columns->count; k++) {
        if (columns->column[k].field == field) {
            return true;
        }
    }
    return false;
}

/* Reads the value up to the next separator outside quotes and brackets; moves `at` after it. */
static bool next_value(const grove_columns *columns, const char **at, const char *end,
                       char separator, grove_piece *value)
{
    const char *start = grove_piece_trim(*at, end).at, *c = start, *bracket = start;
    int depth = 0;
    for (; c < end; c++) {
        if (*c == '\'' || *c == '"') {
            const char *close = memchr(c + 1, *c, (size_t)(end - c - 1));
            if (!close) {
                grove_scan_fault(columns->scan, c, 1, "source: the quote is not closed");
                return false;
            }
            c = close;
        } else if (*c == '[') {
            bracket = c;
            depth++;
        } else if (*c == ']') {
            bracket = c;
            if (--depth < 0) {
                break;
            }
        } else if (!depth && (separator == ' ' ? is_blank(*c) : *c == separator)) {
            break;
        }
    }
    if (depth) {
        grove_scan_fault(columns->scan, bracket, 1, "source: the bracket is not closed");
        return false;
    }
    *value = unquote(grove_piece_trim(start, c));
    *at = c < end ? grove_piece_trim(c + 1, end).at : end;
    return true;
}

bool grove_columns_split(const grove_columns *columns, grove_piece line, grove_piece *value)
{
    const char *at = line.at, *end = at + line.length;
    for (int k = 0; k < columns->known; k++) {
        value[k] = (grove_piece){line.at, 0};
    }
    for (int k = 0; k < columns->count; k++) {
        const grove_column *column = &columns->column[k];
        grove_piece piece = {at, 0};
        if (!column->fixed && at < end &&
            !next_value(columns, &at, end, column->separator, &piece)) {
            return false;
        }
        if (!piece.length && column->value.length) {
            piece = column->value;
        }
        if (column->field < columns->known) {
            value[column->field] = piece;
        }
    }
    grove_piece rest = grove_piece_trim(at, end);
    if (rest.length) {
        grove_scan_fault(columns->scan, rest.at, rest.length,
                         "source: more values than columns; the header names %d", columns->count);
        return false;
    }
    return true;
}
