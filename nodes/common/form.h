/* Forms and units: checks that several arithmetic classes share. */
#ifndef GROVE_NODES_FORM_H
#define GROVE_NODES_FORM_H

#include "base/error.h"
#include "base/unit.h"
#include "plugin.h"

static inline int form_elements(const grove_form *form)
{
    return form->shape == GROVE_VECTOR ? form->vector : form->shape;
}

/* A check function: the result has the form of input 0. */
static inline int form_keep(grove_node *node)
{
    grove_node_set_output(node, grove_node_input_form(node, 0));
    return 0;
}

/* Whether input k is the constant 0, which goes with any unit. */
static inline bool form_is_zero(const grove_node *node, int k)
{
    double number;

    return grove_node_input_constant(node, k, &number) && number == 0;
}

/* Fails unless input k is a plain number or, where `angles` is true, an angle. */
static inline int form_require_number(const grove_node *node, int k, const char *name, bool angles)
{
    grove_unit unit = grove_node_input_form(node, k)->unit;
    char text[48];

    if (grove_unit_is_none(unit) || (angles && grove_unit_equal(unit, GROVE_UNIT_ANGLE)))
        return 0;
    return grove_node_fail_option(node, name, "'%s' must be %s, got %s", name,
                                  angles ? "an angle or a plain number" : "a plain number",
                                  grove_unit_describe(text, unit));
}

/* The unit that inputs [0, count) share; a constant 0 goes with any unit. `action`, for the
 * message: "add". */
static inline int form_common_unit(const grove_node *node, int count, const char *action,
                                   grove_unit *unit)
{
    int first = -1;

    *unit = GROVE_UNIT_NONE;
    for (int k = 0; k < count; k++) {
        const grove_form *form = grove_node_input_form(node, k);
        if (!form || form_is_zero(node, k))
            continue;
        if (first < 0) {
            first = k;
            *unit = form->unit;
        } else if (!grove_unit_equal(*unit, form->unit)) {
            char a[48], b[48];
            return grove_node_fail(node, GROVE_SHAPE, "cannot %s %s and %s; the units must agree",
                                   action, grove_unit_describe(a, *unit),
                                   grove_unit_describe(b, form->unit));
        }
    }
    if (first < 0 && count > 0)
        *unit = grove_node_input_form(node, 0)->unit;
    return 0;
}

#endif
