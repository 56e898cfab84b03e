/* Makes tokens of the scanner's matches. */
#include "lang/reader.h"

#include "lang/parse.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

static const char *const unit_names[] = {"m",   "km",     "cm",     "mm",  "s",   "ms",  "us",
                                         "ns",  "min",    "h",      "d",   "Hz",  "kHz", "MHz",
                                         "GHz", "THz",    "Jy",     "mJy", "uJy", "rad", "mrad",
                                         "deg", "arcmin", "arcsec", "mas", "K",   "mK"};
enum { UNIT_NAMES = sizeof(unit_names) / sizeof(unit_names[0]) };

const char *grove_reader_unit_like(const char *word)
{
    for (size_t i = 0; i < UNIT_NAMES; i++)
        if (!strcasecmp(unit_names[i], word))
            return unit_names[i];
    return grove_nearest(word, unit_names, UNIT_NAMES);
}

void grove_reader_add(grove_reader *reader, int kind, grove_source_span span, const char *text,
                      const grove_literal *literal)
{
    grove_token *last = reader->count ? &reader->tokens[reader->count - 1] : NULL;
    grove_unit unit;
    double factor;

    /* A unit may be separated from its number. */
    if (kind == NAME && last && last->kind == NUMBER && last->text &&
        grove_unit_named(text, (int)strlen(text), &unit, &factor)) {
        grove_token number = *last;
        reader->count--;
        span.begin = number.span.begin;
        char *joined = grove_format("%s%s", number.text, text);
        grove_reader_add_number(reader, joined, span);
        free(joined);
        return;
    }
    grove_grow((void **)&reader->tokens, &reader->capacity, reader->count, sizeof(grove_token));
    reader->tokens[reader->count++] =
        (grove_token){.kind = kind,
                      .span = span,
                      .text = text ? grove_arena_text(reader->maker.arena, text) : NULL,
                      .literal = literal};
}

static int set_unit(grove_reader *reader, grove_literal *literal, const char *name,
                    grove_source_span span)
{
    double factor;

    if (!strcmp(name, "i")) {
        literal->imaginary = literal->number;
        literal->number = 0;
        literal->complex_ = true;
        return 0;
    }
    if (grove_unit_named(name, (int)strlen(name), &literal->unit, &factor)) {
        literal->number *= factor;
        literal->hours = !strcmp(name, "h") || !strcmp(name, "min") || !strcmp(name, "s");
        return 0;
    }
    const char *near = grove_reader_unit_like(name);
    return grove_ast_fail(&reader->maker, span, "unknown unit '%s'%s%s%s", name,
                          near ? "; did you mean '" : "", near ? near : "", near ? "'?" : "");
}

void grove_reader_add_number(grove_reader *reader, const char *text, grove_source_span span)
{
    grove_arena *arena = reader->maker.arena;
    grove_literal literal = {.kind = GROVE_LITERAL_NUMBER};
    const char *unit = grove_parse_number(text, &literal.number);
    int code = 0;

    if (!unit)
        code = grove_ast_fail(&reader->maker, span, "the number %s is out of range", text);
    else if (unit[0])
        code = set_unit(reader, &literal, unit,
                        (grove_source_span){span.end - strlen(unit), span.end});
    literal.text = !unit || !unit[0] || !strcmp(unit, "i")
                       ? grove_arena_text(arena, text)
                       : grove_arena_format(arena, "%.*s %s", (int)(unit - text), text, unit);
    grove_reader_add(reader, NUMBER, span, unit && !unit[0] ? text : NULL,
                     code ? NULL : grove_arena_copy(arena, &literal, sizeof(literal)));
}

void grove_reader_add_text(grove_reader *reader, const char *text, size_t length,
                           grove_source_span span)
{
    char *plain = grove_arena_alloc(reader->maker.arena, length + 1);
    size_t n = 0;

    for (size_t i = 0; i < length; i++) {
        const char *escape = text[i] == '\\' ? strchr("\"\"\\\\n\nt\t", text[i + 1]) : NULL;
        if (escape) {
            plain[n++] = escape[1];
            i++;
        } else {
            plain[n++] = text[i];
            if (text[i] == '\\')
                grove_ast_fail(
                    &reader->maker, (grove_source_span){span.begin + i + 1, span.begin + i + 3},
                    "unknown escape '\\%c'; there are \\\", \\\\, \\n and \\t", text[i + 1]);
        }
    }
    grove_reader_add(reader, TEXT, span, plain, NULL);
}

/* One message per line is enough. */
void grove_reader_refuse(grove_reader *reader, const char *text, size_t length,
                         grove_source_span span)
{
    bool first = true;

    for (size_t i = reader->count; i-- > 0 && reader->tokens[i].kind != LINE;)
        first = first && reader->tokens[i].kind != BROKEN;
    if (first && text[0] == '\'')
        grove_ast_fail(&reader->maker, span,
                       "unexpected character '''; texts are written in \"...\"");
    else if (first && (length > 1 || isprint((unsigned char)text[0])))
        grove_ast_fail(&reader->maker, span, "unexpected character '%.*s'", (int)length, text);
    else if (first)
        grove_ast_fail(&reader->maker, span, "unexpected character with the code %d",
                       (unsigned char)text[0]);
    grove_reader_add(reader, BROKEN, span, NULL, NULL);
}
