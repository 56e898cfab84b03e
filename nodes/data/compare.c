/* compare: the differences between two values. */
#include "nodes/common/form.h"

#include "util.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const grove_port inputs[] = {
    {"a", GROVE_VALUE, "value to compare", .shapes = GROVE_ANY_SHAPE},
    {"b", GROVE_VALUE, "value to compare it with, in the same unit and shape",
     .shapes = GROVE_ANY_SHAPE},
    {0},
};

static const grove_port options[] = {
    {"tolerance", GROVE_NUMBER, "largest relative difference that is accepted; none: any",
     .initial = "none"},
    {"print", GROVE_BOOL, "print a line on standard output at the end", .initial = "true"},
    {0},
};

typedef struct {
    double largest, difference, reference; /* of |a - b|; sums of |a - b|^2 and |b|^2 */
    int64_t numbers, flagged, nonfinite;   /* numbers that are not finite on either side */
} comparison;

/* One of both arrays in the walk over the union of their axes. */
typedef struct {
    const grove_array *array;
    int64_t step[GROVE_MAX_AXES]; /* cells */
} walker;

static int check(grove_node *node)
{
    const grove_form *a = grove_node_input_form(node, 0), *b = grove_node_input_form(node, 1);
    grove_unit unit;
    int code = form_common_unit(node, 2, "compare", &unit);

    if (!code && (a->shape != b->shape || form_elements(a) != form_elements(b)))
        return grove_node_fail(node, GROVE_SHAPE,
                               "both must have the same cell shape; one has %d numbers, the "
                               "other %d",
                               form_elements(a), form_elements(b));
    return code;
}

static int start(const grove_node *node, void **run)
{
    (void)node;
    *run = grove_alloc(sizeof(comparison));
    return 0;
}

static void stop(const grove_node *node, void *run)
{
    (void)node;
    free(run);
}

static int begin(const grove_call *call)
{
    memset(call->run, 0, sizeof(comparison));
    return 0;
}

static void number_at(const grove_array *array, int64_t number, double value[2])
{
    bool single = array->form->precision == GROVE_PRECISION_SINGLE;
    int parts = array->form->complex_ ? 2 : 1;

    value[1] = 0;
    for (int k = 0; k < parts; k++)
        value[k] = single ? (double)((const float *)array->data)[parts * number + k]
                          : ((const double *)array->data)[parts * number + k];
}

static bool is_flagged(const grove_array *array, int64_t cell, int element)
{
    return array->flags && array->flags[cell] >> (element < 7 ? element : 7) & 1;
}

static void compare_cells(comparison *to, const grove_array *a, int64_t at_a, const grove_array *b,
                          int64_t at_b)
{
    for (int e = 0; e < a->elements; e++) {
        double x[2], y[2];
        if (is_flagged(a, at_a, e) || is_flagged(b, at_b, e)) {
            to->flagged++;
            continue;
        }
        number_at(a, at_a * a->elements + e, x);
        number_at(b, at_b * b->elements + e, y);
        double size = hypot(x[0] - y[0], x[1] - y[1]);
        to->numbers++;
        if (!isfinite(size)) {
            to->nonfinite++;
            continue;
        }
        to->largest = size > to->largest ? size : to->largest;
        to->difference += size * size;
        to->reference += y[0] * y[0] + y[1] * y[1];
    }
}

static void add_axes(walker *walkers, int which, const grove_array *array,
                     grove_range space[GROVE_MAX_AXES * 2], int *axes)
{
    int64_t step = 1;

    walkers[which].array = array;
    for (int d = array->axes - 1; d >= 0; d--) {
        int at = 0;
        while (at < *axes && space[at].axis != array->range[d].axis)
            at++;
        if (at == *axes) {
            if (*axes == GROVE_MAX_AXES)
                return; /* the maximum for a node */
            space[(*axes)++] = array->range[d];
        }
        walkers[which].step[at] = step;
        step *= array->range[d].count;
    }
}

static int write_block(const grove_call *call, const grove_array *const *arrays, int count)
{
    walker walkers[2] = {{0}};
    grove_range space[GROVE_MAX_AXES * 2];
    int64_t cells = 1;
    int axes = 0;

    (void)count;
    for (int i = 0; i < 2; i++)
        add_axes(walkers, i, arrays[i], space, &axes);
    for (int d = 0; d < axes; d++)
        cells *= space[d].count;
    for (int64_t i = 0; i < cells; i++) {
        int64_t at[2] = {0, 0}, rest = i;
        for (int d = 0; d < axes; d++) {
            for (int k = 0; k < 2; k++)
                at[k] += rest % space[d].count * walkers[k].step[d];
            rest /= space[d].count;
        }
        compare_cells(call->run, arrays[0], at[0], arrays[1], at[1]);
    }
    return 0;
}

static int prepare(const grove_call *call)
{
    const grove_node *node = call->node;
    const comparison *c = call->run;
    double numbers = c->numbers > c->nonfinite ? (double)(c->numbers - c->nonfinite) : 1;
    double relative = c->reference > 0    ? sqrt(c->difference / c->reference)
                      : c->difference > 0 ? HUGE_VAL
                                          : 0;
    char unit[48];
    int code = 0;

    grove_unit_show(unit, grove_node_input_form(node, 0)->unit);
    if (grove_node_bool(node, "print"))
        printf("%s: largest difference %.3g%s%s, rms %.3g%s%s, relative %.3g (%lld numbers, %lld "
               "flagged, %lld not finite)\n",
               grove_node_name(node), c->largest, unit[0] ? " " : "", unit,
               sqrt(c->difference / numbers), unit[0] ? " " : "", unit, relative,
               (long long)c->numbers, (long long)c->flagged, (long long)c->nonfinite);
    if (grove_node_given(node, "tolerance")) {
        double tolerance = grove_node_number(node, "tolerance");
        if (c->nonfinite)
            code = grove_node_fail(node, GROVE_INVALID, "%lld of %lld differences are not finite",
                                   (long long)c->nonfinite, (long long)c->numbers);
        else if (!(relative <= tolerance))
            code = grove_node_fail(node, GROVE_INVALID,
                                   "the relative difference is %.3g, above the tolerance of %.3g",
                                   relative, tolerance);
    }
    return code;
}

static const grove_action_functions functions = {
    .begin = begin,
    .write = write_block,
    .prepare = prepare,
};

GROVE_CLASS(compare) = {
    GROVE_CLASS_HEAD(compare),
    .doc = "Compares two values and prints their differences.\nThe relative difference is the root "
           "of the sum of |a - b|^2 over the sum of |b|^2. Flagged numbers are left out. The run "
           "fails when it is above the tolerance, or when numbers are not finite.",
    .output_doc = "an action: a line on standard output",
    .group = "actions",
    .inputs = inputs,
    .options = options,
    .kind = GROVE_CLASS_ACTION,
    .check = check,
    .start = start,
    .stop = stop,
    .action = &functions,
    .example = "same = compare(V, obs.data, tolerance=1e-5)",
};
