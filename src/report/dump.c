/* Prints the inputs of a failed step on standard error. */
#include "report/report.h"

#include <math.h>
#include <stdio.h>

enum { SHOWN = 8 };

static void advance(const grove_value *value, int64_t *index)
{
    for (int d = value->axes - 1; d >= 0; d--) {
        if (++index[d] < value->range[d].first + value->range[d].count)
            return;
        index[d] = value->range[d].first;
    }
}

/* The first numbers; the maximum modulus; the count of numbers that are not finite. */
static void dump_numbers(grove_value *value)
{
    int64_t index[GROVE_MAX_AXES] = {0}, cells = grove_value_cells(value), nonfinite = 0, shown = 0;
    double max = 0;

    for (int d = 0; d < value->axes; d++)
        index[d] = value->range[d].first;
    for (int64_t cell = 0; cell < cells; cell++) {
        for (int e = 0; e < value->elements; e++) {
            double re, im;
            grove_value_number(value, index, e, &re, &im);
            if (shown++ < SHOWN && value->complex_)
                fprintf(stderr, " %g%+gi", re, im);
            else if (shown <= SHOWN)
                fprintf(stderr, " %g", re);
            nonfinite += !isfinite(re) || !isfinite(im);
            max = fmax(max, hypot(re, im));
        }
        advance(value, index);
    }
    fprintf(stderr, "%s\n      %lld numbers, greatest modulus %g, %lld not finite\n",
            shown > SHOWN ? " ..." : "", (long long)shown, max, (long long)nonfinite);
}

void grove_dump_inputs(const grove_node *node, grove_value *const *inputs)
{
    fprintf(stderr, "grove: inputs of '%s' when it failed:\n", node->name);
    for (int k = 0; k < node->input_count; k++) {
        const grove_node *in = node->inputs[k].node;
        grove_value *value = inputs[k];
        fprintf(stderr, "  %s = %s", node->input_names[k] ? node->input_names[k] : "input",
                in ? in->name : "not given");
        for (int d = 0; value && d < value->axes; d++)
            fprintf(stderr, "%s%s %lld..%lld", d ? ", " : " over ", value->range[d].axis->name,
                    (long long)value->range[d].first,
                    (long long)(value->range[d].first + value->range[d].count - 1));
        fputs(value ? "\n     " : "\n", stderr);
        if (value)
            dump_numbers(value);
    }
}
