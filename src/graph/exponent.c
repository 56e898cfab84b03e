#include "graph/exponent.h"

#include "graph/neutral.h"
#include "graph/phases.h"

#include <complex.h>
#include <math.h>
#include <string.h>

enum { MAX_TERMS = 16 };

/* The stations of a term. */
typedef enum { OF_NONE, OF_P, OF_Q, OF_BOTH, PARTS } part;

typedef struct {
    const grove_factor *factor;
    const grove_axis *axis;
    grove_chain at[MAX_TERMS];
    part part[MAX_TERMS];
    int count;
    double constant[2]; /* the sum of the plain numbers */
    bool all;           /* sums of values of one station are multiplied out, too */
    bool failed;
} exponent;

/* ---- its terms ---- */

static part part_of(const grove_chain *term)
{
    int stations = OF_NONE;

    for (int i = 0; i < term->count; i++) {
        const grove_factor *f = &term->at[i];
        stations |= grove_node_varies(f->node, GROVE_AXIS_BASELINE) ? OF_BOTH
                    : f->side == 'p'                                ? OF_P
                    : f->side == 'q'                                ? OF_Q
                                                                    : OF_NONE;
    }
    return (part)stations;
}

static bool varies_along(const grove_chain *term, const grove_axis *axis)
{
    for (int i = 0; i < term->count; i++)
        if (grove_node_has_axis(term->at[i].node, axis))
            return true;
    return false;
}

/* The first factor that is a sum of values of both stations, or of any, or -1. */
static int find_sum(const grove_chain *term, bool all)
{
    for (int i = 0; i < term->count; i++) {
        const grove_factor *f = &term->at[i];
        if (grove_node_is_sum(f->node) && !f->inverse &&
            (all || grove_node_varies(f->node, GROVE_AXIS_BASELINE)))
            return i;
    }
    return -1;
}

static void add_term(exponent *e, const grove_chain *term)
{
    part stations = part_of(term);

    e->failed = e->failed || term->too_many || e->count == MAX_TERMS ||
                (stations == OF_BOTH && !e->all && varies_along(term, e->axis));
    if (e->failed)
        return;
    if (term->count) {
        e->at[e->count] = *term;
        grove_chain_sort(&e->at[e->count]);
        e->part[e->count++] = stations;
        return;
    }
    e->constant[0] += term->constant[0];
    e->constant[1] += term->constant[1];
}

/* Multiplies sums of values of both stations out. */
static void add_terms(exponent *e, const grove_chain *term)
{
    int i = find_sum(term, e->all);

    if (i < 0) {
        add_term(e, term);
        return;
    }
    for (int k = 0; k < 2 && !e->failed; k++) {
        grove_chain one = {.constant = {term->constant[0], term->constant[1]}};
        for (int j = 0; j < term->count; j++)
            if (j == i)
                grove_chain_open_term(&one, &term->at[i], k, NULL);
            else
                grove_chain_add(&one, &term->at[j]);
        if (!e->failed)
            add_terms(e, &one);
    }
}

/* ---- exponentials of the terms ---- */

static void take_conjugate(grove_chain *term)
{
    term->constant[1] = -term->constant[1];
    for (int i = 0; i < term->count; i++)
        term->at[i].adjoint = grove_factor_adjoint(&term->at[i]);
}

static void take_conjugates(exponent *e)
{
    for (int i = 0; i < e->count; i++)
        if (e->part[i] == OF_Q)
            take_conjugate(&e->at[i]);
}

static char side_of(part stations)
{
    return stations == OF_P ? 'p' : stations == OF_Q ? 'q' : 0;
}

/* The terms of the part, sorted regardless of their order in the text. */
static int take_sorted(const exponent *e, part stations, const grove_chain *terms[MAX_TERMS])
{
    int count = 0;

    for (int i = 0; i < e->count; i++) {
        int k = count;
        if (e->part[i] != stations)
            continue;
        for (; k > 0 && grove_chain_compare(&e->at[i], terms[k - 1]) < 0; k--)
            terms[k] = terms[k - 1];
        terms[k] = &e->at[i];
        count++;
    }
    return count;
}

static void add_part(exponent *e, part stations, grove_chain *product)
{
    const grove_place *place = &e->factor->node->place;
    const grove_chain *terms[MAX_TERMS];
    grove_operand all = {0}, none = {0};
    int count = take_sorted(e, stations, terms);

    for (int i = 0; i < count; i++) {
        grove_operand next = grove_chain_make_all(e->factor->node->tree, terms[i],
                                                  GROVE_PRECISION_RUN, place, &e->failed);
        all = i ? grove_chain_call(GROVE_ROLE_SUM, all, next, place, &e->failed) : next;
    }
    if (count)
        all = grove_chain_call(GROVE_ROLE_EXPONENTIAL, all, none, place, &e->failed);
    if (count && !e->failed)
        grove_chain_add(product,
                        &(grove_factor){.node = all.node,
                                        .side = side_of(stations),
                                        .adjoint = stations == OF_Q && all.node->form.complex_,
                                        .scalar = true});
}

/* ---- phases that are written out ---- */

#define ZERO                                                                                       \
    {                                                                                              \
        .kind = GROVE_LITERAL_NUMBER, .unit = {.rad = 1 }                                          \
    }

/* The phase of a station; of a baseline a source of 1 Jy without shape. `x`: its directions; NULL:
 * the sky's. */
static grove_node *make_kernel(const exponent *e, part stations, grove_node *x)
{
    static const grove_literal flux = {
        .kind = GROVE_LITERAL_NUMBER, .number = 1, .unit = {.Jy = 1}};
    static const grove_literal zeros[3] = {ZERO, ZERO, ZERO};
    static const grove_literal point = {.kind = GROVE_LITERAL_LIST, .count = 3, .items = zeros};
    const grove_argument more[3] = {
        {.name = "lmn", .operand = {.kind = GROVE_OPERAND_NODE, .node = x}},
        {.name = "brightness", .operand = {.kind = GROVE_OPERAND_LITERAL, .literal = &flux}},
        {.name = "shape", .operand = {.kind = GROVE_OPERAND_LITERAL, .literal = &point}}};
    const grove_node *node = e->factor->node;
    const grove_axis *axes[2] = {e->axis, NULL};
    grove_role role = stations == OF_BOTH ? GROVE_ROLE_SOURCE : GROVE_ROLE_NONE;

    if (!grove_node_axes_of_kind(node, GROVE_AXIS_BASELINE, &axes[1], 1))
        grove_node_axes_of_kind(node, GROVE_AXIS_STATION, &axes[1], 1);
    return grove_phases_call(node->tree, grove_tree_operator(node->tree, role), axes,
                             x ? more : more + 1,
                             (size_t)(stations == OF_BOTH ? 2 : 0) + (x != NULL), &node->place);
}

/* Takes the terms of a phase out of a part, and adds it to the product. */
static bool take_phase(exponent *e, part stations, grove_chain *product)
{
    const grove_chain *terms[MAX_TERMS];
    int found[3], count = take_sorted(e, stations, terms);
    grove_node *kernel = count < 3 || stations == OF_NONE ? NULL : make_kernel(e, stations, NULL);

    if (!kernel)
        return false;
    const grove_node *uvw =
        grove_node_input_named(kernel, stations == OF_BOTH ? "uvw" : "station_uvw");
    const grove_place *place = &e->factor->node->place;
    double scale = 1;
    grove_node *x =
        grove_phases_find(terms, count, uvw, grove_node_input_named(kernel, "freq"), found, &scale);
    if (x && scale != 1)
        x = grove_chain_multiply(
                grove_chain_number(x->tree, scale, 0, GROVE_UNIT_NONE, GROVE_PRECISION_RUN, place),
                (grove_operand){.kind = GROVE_OPERAND_NODE, .node = x}, place, &e->failed)
                .node;
    if (x && x != grove_node_input_named(kernel, "lmn"))
        kernel = make_kernel(e, stations, x);
    if (!x || !kernel)
        return false;
    for (int k = 0; k < 3; k++)
        e->part[terms[found[k]] - e->at] = PARTS;
    grove_chain_add(product, &(grove_factor){.node = kernel,
                                             .side = side_of(stations),
                                             .adjoint = stations == OF_Q,
                                             .scalar = true,
                                             .unity = stations == OF_BOTH});
    return true;
}

/* Adds phases that are written out among the terms. False: there are none. */
static bool take_phases(exponent *e, grove_chain *product)
{
    bool found = false;

    take_conjugates(e);
    for (int stations = OF_P; stations < PARTS && !e->failed; stations++)
        found = take_phase(e, (part)stations, product) || found;
    for (int i = 0; i < e->count; i++)
        if (e->part[i] == OF_BOTH && varies_along(&e->at[i], e->axis))
            found = false;
    return found && !e->failed;
}

/* Adds an exponential of the terms of each part. */
static bool add_parts(exponent *e, grove_chain *product)
{
    for (int stations = 0; stations < PARTS && !e->failed; stations++)
        add_part(e, (part)stations, product);
    if (e->failed)
        return false;
    double complex c = cexp(e->constant[0] + I * e->constant[1]);
    grove_chain_scale(product, creal(c), cimag(c));
    return true;
}

static grove_chain open_exponent(const grove_factor *factor)
{
    grove_chain whole = {.constant = {factor->inverse ? -1 : 1, 0}};
    const grove_factor outside = {.side = factor->side, .adjoint = factor->adjoint};

    grove_chain_open_inside(&whole, &outside, factor->node->inputs[0], NULL);
    return whole;
}

bool grove_chain_open_exponential(grove_chain *product, const grove_factor *factor,
                                  const grove_axis *axis)
{
    exponent e = {.factor = factor, .axis = axis}, phases = e;
    const grove_chain whole = open_exponent(factor);
    grove_chain opened = *product;

    phases.all = true;
    if (axis)
        add_terms(&phases, &whole);
    if (axis && take_phases(&phases, &opened)) {
        e = phases;
    } else {
        opened = *product;
        add_terms(&e, &whole);
        take_conjugates(&e);
    }
    if (!add_parts(&e, &opened))
        return false;
    *product = opened;
    return true;
}

/* ---- cos x + i sin x ---- */

/* The value in a term that is a number times a value; *side becomes its station. */
static const grove_node *take_number(grove_edge edge, char *side, double complex *number)
{
    grove_node *node = grove_node_behind_casts(edge.node);

    *side = edge.side ? edge.side : *side;
    if (grove_node_has_role(node, GROVE_ROLE_NEGATIVE)) {
        *number = -*number;
        return take_number(node->inputs[0], side, number);
    }
    for (int k = 0; k < 2 && grove_node_has_role(node, GROVE_ROLE_PRODUCT); k++) {
        const grove_node *by = grove_node_behind_casts(node->inputs[k].node);
        if (!grove_node_is_plain_number(by))
            continue;
        *number *= by->constant->number + I * by->constant->imaginary;
        return take_number(node->inputs[!k], side, number);
    }
    return node;
}

bool grove_chain_open_cosine(grove_chain *product, const grove_factor *factor,
                             const grove_axis *axis)
{
    const grove_node *sum = factor->node, *terms[2];
    double complex by[2] = {1, 1};
    char side[2] = {factor->side, factor->side};
    bool failed = false;

    for (int k = 0; k < 2; k++)
        terms[k] = take_number(sum->inputs[k], &side[k], &by[k]);
    if (grove_node_has_role(sum, GROVE_ROLE_COMPLEX))
        by[1] *= I;
    if (grove_node_has_role(sum, GROVE_ROLE_DIFFERENCE))
        by[1] = -by[1];
    const int sine = grove_node_has_role(terms[0], GROVE_ROLE_SINE);
    const grove_edge *x = terms[!sine]->inputs, *y = terms[sine]->inputs;
    if (!grove_node_has_role(terms[sine], GROVE_ROLE_COSINE) ||
        !grove_node_has_role(terms[!sine], GROVE_ROLE_SINE) || x->node != y->node ||
        x->side != y->side || side[0] != side[1] || terms[0]->form.complex_ ||
        terms[0]->form.shape != GROVE_SCALAR || by[sine] != 1 ||
        (by[!sine] != I && by[!sine] != -I))
        return false;
    grove_unit unit = grove_unit_divide(GROVE_UNIT_NONE, x->node->form.unit);
    grove_operand i =
        grove_chain_number(sum->tree, 0, cimag(by[!sine]), unit, GROVE_PRECISION_RUN, &sum->place);
    grove_operand angle = {.kind = GROVE_OPERAND_NODE, .node = x->node, .role = x->side};
    angle = grove_chain_multiply(i, angle, &sum->place, &failed);
    angle =
        grove_chain_call(GROVE_ROLE_EXPONENTIAL, angle, (grove_operand){0}, &sum->place, &failed);
    grove_factor whole = *factor;
    whole.node = angle.node;
    whole.side = !failed && grove_node_varies(angle.node, GROVE_AXIS_STATION) ? side[0] : 0;
    if (!failed && !grove_chain_open_exponential(product, &whole, axis))
        grove_chain_add(product, &whole);
    return !failed;
}
