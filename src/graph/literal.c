#include "graph/literal.h"

#include "graph/graph.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

grove_hash grove_literal_hash(grove_hash hash, const grove_literal *literal)
{
    hash = grove_hash_integer(hash, literal->kind);
    switch (literal->kind) {
    case GROVE_LITERAL_NONE:
        break;
    case GROVE_LITERAL_BOOL:
        hash = grove_hash_integer(hash, literal->truth);
        break;
    case GROVE_LITERAL_NUMBER:
    case GROVE_LITERAL_RANGE:
        hash = grove_hash_number(hash, literal->number);
        hash = grove_hash_number(hash, literal->to);
        hash = grove_hash_number(hash, literal->imaginary);
        hash = grove_hash_integer(hash, literal->complex_);
        hash = grove_hash_add(hash, &literal->unit, sizeof(literal->unit));
        break;
    case GROVE_LITERAL_TEXT:
        hash = grove_hash_text(hash, literal->text);
        hash = grove_hash_integer(hash, literal->setting != NULL);
        if (literal->node)
            hash = grove_hash_join(hash, literal->node->key);
        break;
    case GROVE_LITERAL_LIST:
        hash = grove_hash_integer(hash, literal->count);
        for (int i = 0; i < literal->count; i++)
            hash = grove_literal_hash(hash, &literal->items[i]);
        break;
    }
    return hash;
}

static const char *show_number(grove_arena *arena, const grove_literal *literal, double number)
{
    char unit[48];

    grove_unit_show(unit, literal->unit);
    return grove_arena_format(arena, "%.10g%s%s", number, unit[0] ? " " : "", unit);
}

static const char *show_list(grove_arena *arena, const grove_literal *literal)
{
    const char *text = "";

    for (int i = 0; i < literal->count && i < 4; i++)
        text = grove_arena_format(arena, "%s%s%s", text, i ? ", " : "",
                                  grove_literal_show(arena, &literal->items[i]));
    return grove_arena_format(arena, "[%s%s]", text, literal->count > 4 ? ", ..." : "");
}

const char *grove_literal_show(grove_arena *arena, const grove_literal *literal)
{
    switch (literal->kind) {
    case GROVE_LITERAL_NONE:
        return "none";
    case GROVE_LITERAL_BOOL:
        return literal->truth ? "true" : "false";
    case GROVE_LITERAL_NUMBER:
        if (literal->text)
            return literal->text;
        if (literal->complex_ || literal->imaginary != 0)
            return grove_arena_format(arena, "%s%+.10gi",
                                      show_number(arena, literal, literal->number),
                                      literal->imaginary);
        return show_number(arena, literal, literal->number);
    case GROVE_LITERAL_TEXT:
        return literal->word ? literal->text : grove_arena_format(arena, "'%s'", literal->text);
    case GROVE_LITERAL_RANGE:
        if (literal->text)
            return literal->text;
        return grove_arena_format(arena, "%s..%s", show_number(arena, literal, literal->number),
                                  show_number(arena, literal, literal->to));
    case GROVE_LITERAL_LIST:
        return show_list(arena, literal);
    }
    return "?";
}
