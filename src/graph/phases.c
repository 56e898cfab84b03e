#include "graph/phases.h"

#include "graph/neutral.h"

#include <complex.h>
#include <math.h>
#include <string.h>

#define LIGHT 299792458.0 /* m/s */
#define PI    3.14159265358979323846
#define CLOSE 1e-12 /* two numbers that are the same but for rounding, relatively */

/* The element of a vector of three that a value is, or -1. */
static int element_of(const grove_node *node, const grove_node **vector)
{
    if (node->kind != GROVE_NODE_CLASS || node->class_->kind != GROVE_CLASS_SELECTION ||
        node->select_axis || node->select_element < 0)
        return -1;
    *vector = grove_node_behind_casts(node->inputs[0].node);
    return (*vector)->form.shape == GROVE_VECTOR && (*vector)->form.vector == 3
               ? node->select_element
               : -1;
}

/* The element of uvw and of x in -2 pi i freq/c scale uvw_k x_k with a real scale, or -1. */
static int match(const grove_chain *term, const grove_node *uvw, const grove_node *freq,
                 const grove_node **x, double *scale)
{
    double complex number = term->constant[0] + I * term->constant[1];
    int of_uvw = -1, of_x = -1, freqs = 0;

    for (int i = 0; i < term->count; i++) {
        const grove_factor *f = &term->at[i];
        const grove_node *vector = NULL;
        int element = element_of(f->node, &vector);
        if (f->node->kind == GROVE_NODE_CONSTANT && f->scalar && !f->adjoint) {
            double complex by = f->node->constant->number + I * f->node->constant->imaginary;
            number = f->inverse ? number / by : number * by;
        } else if (f->inverse || (element < 0 && f->node != freq)) {
            return -1;
        } else if (f->node == freq) {
            freqs++;
        } else if (vector == uvw && of_uvw < 0) {
            of_uvw = element;
        } else if (vector != uvw && of_x < 0 && grove_node_varies(vector, GROVE_AXIS_SOURCE)) {
            of_x = element;
            *x = vector;
        } else {
            return -1;
        }
    }
    number *= I * (LIGHT / (2 * PI));
    *scale = fabs(fabs(creal(number)) - 1) < CLOSE ? copysign(1, creal(number)) : creal(number);
    bool real = fabs(cimag(number)) < CLOSE * fabs(*scale);
    return real && freqs == 1 && of_uvw == of_x ? of_uvw : -1;
}

grove_node *grove_phases_find(const grove_chain *const *terms, int count, const grove_node *uvw,
                              const grove_node *freq, int found[3], double *scale)
{
    const grove_node *x = NULL;
    int elements = 0;

    for (int i = 0; i < count; i++) {
        const grove_node *value = NULL;
        double by = 0;
        int element = match(terms[i], uvw, freq, &value, &by);
        if (element < 0 || elements >> element & 1 ||
            (x && (value != x || fabs(by - *scale) > CLOSE * fabs(*scale))))
            continue;
        if (!x)
            *scale = by;
        x = value;
        elements |= 1 << element;
        found[element] = i;
    }
    return elements == 7 ? (grove_node *)x : NULL;
}

grove_node *grove_phases_call(grove_tree *tree, const grove_class *class_,
                              const grove_axis *const axes[2], const grove_argument *more,
                              size_t count, const grove_place *place)
{
    grove_argument arguments[GROVE_MAX_INPUTS] = {{0}};
    size_t given = 0;

    for (int i = 0; class_ && class_->inputs && class_->inputs[i].name; i++) {
        const char *kind = class_->inputs[i].object;
        const grove_node *object = NULL;
        for (int k = 0; kind && k < 2; k++) {
            const grove_node *owner = axes[k] ? axes[k]->owner : NULL;
            if (owner && owner->class_ && owner->class_->object &&
                !strcmp(owner->class_->object, kind))
                object = owner;
        }
        if (object)
            arguments[given++] = (grove_argument){
                .name = class_->inputs[i].name,
                .operand = {.kind = GROVE_OPERAND_NODE, .node = (grove_node *)object},
                .place = *place};
        else if (kind)
            return NULL;
    }
    if (!given || given + count > GROVE_MAX_INPUTS)
        return NULL;
    memcpy(&arguments[given], more, count * sizeof(*more));
    return grove_tree_call(tree, class_, NULL, place, arguments, given + count).node;
}
