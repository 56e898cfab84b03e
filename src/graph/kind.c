/* Kinds of options: which values fit, and their descriptions for messages. */
#include "graph/call.h"

#include "base/text.h"

#include <string.h>

bool grove_kind_is_value(grove_kind kind)
{
    return kind >= GROVE_VALUE && kind < GROVE_OBJECT;
}

static bool kind_unit(grove_kind kind, grove_unit *unit)
{
    switch ((int)kind) {
    case GROVE_INTEGER:
    case GROVE_NUMBER:
    case GROVE_VALUE_NUMBER:
        *unit = GROVE_UNIT_NONE;
        return true;
    case GROVE_LENGTH:
    case GROVE_VALUE_LENGTH:
        *unit = GROVE_UNIT_LENGTH;
        return true;
    case GROVE_TIME:
    case GROVE_VALUE_TIME:
        *unit = GROVE_UNIT_TIME;
        return true;
    case GROVE_FREQUENCY:
    case GROVE_VALUE_FREQUENCY:
        *unit = GROVE_UNIT_FREQUENCY;
        return true;
    case GROVE_ANGLE:
    case GROVE_ANGLE_RANGE:
    case GROVE_VALUE_ANGLE:
        *unit = GROVE_UNIT_ANGLE;
        return true;
    case GROVE_FLUX:
    case GROVE_VALUE_FLUX:
        *unit = GROVE_UNIT_FLUX;
        return true;
    case GROVE_VALUE_SPEED:
        *unit = GROVE_UNIT_SPEED;
        return true;
    default:
        return false;
    }
}

bool grove_kind_fits(grove_kind kind, grove_unit unit, bool written)
{
    grove_unit expected;

    if (!kind_unit(kind, &expected) || grove_unit_equal(expected, unit))
        return true;
    return !written && kind == GROVE_VALUE_ANGLE && grove_unit_is_none(unit);
}

static const char *choices_text(grove_arena *arena, const char *choices)
{
    const char *text = "one of";

    for (const char *at = choices; *at;) {
        int length = (int)strcspn(at, " ");
        text = grove_arena_format(arena, "%s%s %.*s", text, at == choices ? "" : ",", length, at);
        at += length;
        at += strspn(at, " ");
    }
    return text;
}

const char *grove_kind_describe(grove_arena *arena, grove_kind kind, const char *choices)
{
    grove_unit unit;
    char text[48];

    switch ((int)kind) {
    case GROVE_BOOL:
        return "true or false";
    case GROVE_INTEGER:
        return "a whole number";
    case GROVE_TEXT:
        return "a text";
    case GROVE_FILE:
        return "a path";
    case GROVE_CHOICE:
        return choices_text(arena, choices);
    case GROVE_DIRECTION:
        return "a direction such as \"05h42m36.1s 49d51m07s\"";
    case GROVE_ANGLE_RANGE:
        return "a range of angles such as -2h..2h or -10min..10min";
    case GROVE_NUMBER_LIST:
        return "a number, or a list such as [1, 2]";
    case GROVE_AXIS_NAMES:
        return "names of axes";
    case GROVE_PARM_NAMES:
        return "names of parms";
    case GROVE_QUANTITY:
        return "a number with any unit";
    case GROVE_VALUE:
        return "a value";
    default:
        if (kind_unit(kind, &unit))
            return grove_arena_text(arena, grove_unit_describe(text, unit));
        return "a value";
    }
}

const char *grove_object_describe(grove_arena *arena, const char *kind)
{
    char *words = grove_arena_format(arena, "%s %s", strchr("aeiou", kind[0]) ? "an" : "a", kind);

    for (char *at = words; *at; at++)
        *at = *at == '_' ? ' ' : *at;
    return words;
}

const char *grove_port_describe(grove_arena *arena, const grove_port *port)
{
    if (port->kind != GROVE_OBJECT)
        return grove_kind_describe(arena, port->kind, port->choices);
    const char *text = grove_object_describe(arena, port->object);
    return port->optional ? grove_arena_format(arena, "%s; may be left out", text) : text;
}
