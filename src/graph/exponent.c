#include "graph/exponent.h"

#include "graph/phases.h"
#include "graph/rewrite.h"

#include <complex.h>
#include <math.h>
#include <string.h>

/* Factors of a higher power may be too large by themselves where their product is not. */
enum { MAX_TERMS = 16, MAX_POWER = 2, MAX_VISITS = 64 };

/* Of which stations a term is. */
typedef enum { OF_NONE, OF_P, OF_Q, OF_BOTH, PARTS } part;

typedef struct {
    const grove_factor *of;
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
        if ((grove_node_has_role(f->node, GROVE_ROLE_SUM) ||
             grove_node_has_role(f->node, GROVE_ROLE_DIFFERENCE)) &&
            !f->inverse && (all || grove_node_varies(f->node, GROVE_AXIS_BASELINE)))
            return i;
    }
    return -1;
}

static void add_term(exponent *e, const grove_chain *term)
{
    part of = part_of(term);

    e->failed = e->failed || term->too_many || e->count == MAX_TERMS ||
                (of == OF_BOTH && !e->all && varies_along(term, e->axis));
    if (e->failed)
        return;
    if (term->count) {
        e->at[e->count] = *term;
        grove_chain_sort(&e->at[e->count]);
        e->part[e->count++] = of;
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
        const grove_node *sum = term->at[i].node;
        grove_chain one = {.constant = {term->constant[0], term->constant[1]}};
        for (int j = 0; j < term->count; j++)
            if (j == i)
                grove_chain_open_inside(&one, &term->at[i], sum->inputs[k], NULL);
            else
                grove_chain_add(&one, &term->at[j]);
        if (k && grove_node_has_role(sum, GROVE_ROLE_DIFFERENCE))
            grove_chain_scale(&one, -1, 0);
        add_terms(e, &one);
    }
}

/* ---- exponentials of the terms ---- */

static grove_operand call(exponent *e, const grove_class *class_, grove_operand a, grove_operand b)
{
    const grove_place *place = &e->of->node->place;
    grove_argument arguments[2] = {{.operand = a, .place = *place},
                                   {.operand = b, .place = *place}};
    size_t count = b.kind == GROVE_OPERAND_NOTHING ? 1 : 2;
    char side = a.role ? a.role : b.role;
    grove_operand made = {0};

    if (class_ && !e->failed)
        made = grove_tree_call(e->of->node->tree, class_, NULL, place, arguments, count);
    e->failed = e->failed || made.kind != GROVE_OPERAND_NODE;
    if (!e->failed)
        made.role = grove_node_varies(made.node, GROVE_AXIS_STATION) ? side : 0;
    return made;
}

static grove_operand make_term(exponent *e, const grove_chain *term)
{
    grove_tree *tree = e->of->node->tree;
    const grove_place *place = &e->of->node->place;
    const grove_class *product = grove_tree_operator(tree, GROVE_ROLE_PRODUCT);
    /* no -0, which is another constant */
    grove_literal number = {.kind = GROVE_LITERAL_NUMBER,
                            .number = term->constant[0] == 0 ? 0 : term->constant[0],
                            .imaginary = term->constant[1] == 0 ? 0 : term->constant[1]};
    grove_operand made = {0};

    if (product)
        made = grove_chain_make(term, product, true, place, &e->failed);
    e->failed = e->failed || made.kind != GROVE_OPERAND_NODE;
    if (e->failed || (number.number == 1 && number.imaginary == 0))
        return made;
    grove_node *constant = grove_tree_constant(tree, &number, GROVE_PRECISION_RUN, place);
    return call(e, product, (grove_operand){.kind = GROVE_OPERAND_NODE, .node = constant}, made);
}

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

static char side_of(part of)
{
    return of == OF_P ? 'p' : of == OF_Q ? 'q' : 0;
}

/* The terms of the part in their order, whatever that in the text. */
static int take_sorted(const exponent *e, part of, const grove_chain *terms[MAX_TERMS])
{
    int count = 0;

    for (int i = 0; i < e->count; i++) {
        int k = count;
        if (e->part[i] != of)
            continue;
        for (; k > 0 && grove_chain_compare(&e->at[i], terms[k - 1]) < 0; k--)
            terms[k] = terms[k - 1];
        terms[k] = &e->at[i];
        count++;
    }
    return count;
}

static void add_part(exponent *e, part of, grove_chain *product)
{
    grove_tree *tree = e->of->node->tree;
    const grove_class *sum = grove_tree_operator(tree, GROVE_ROLE_SUM);
    const grove_chain *terms[MAX_TERMS];
    grove_operand all = {0}, none = {0};
    int count = take_sorted(e, of, terms);

    for (int i = 0; i < count && !e->failed; i++) {
        grove_operand next = make_term(e, terms[i]);
        all = all.kind == GROVE_OPERAND_NOTHING ? next : call(e, sum, all, next);
    }
    if (!count || e->failed)
        return;
    all = call(e, e->of->node->class_, all, none);
    if (!e->failed)
        grove_chain_add(product, &(grove_factor){.node = all.node,
                                                 .side = side_of(of),
                                                 .adjoint = of == OF_Q && all.node->form.complex_,
                                                 .scalar = true});
}

/* ---- phases that are written out ---- */

static grove_node *input_of(const grove_node *node, const char *name)
{
    int k = node ? grove_node_input(node, name) : -1;

    return k < 0 ? NULL : grove_node_behind_casts(node->inputs[k].node);
}

#define ZERO                                                                                       \
    {                                                                                              \
        .kind = GROVE_LITERAL_NUMBER, .unit = {.rad = 1 }                                          \
    }

/* The phase of a station; of a baseline a source of 1 Jy without shape. `x`: its directions; NULL:
 * those of the sky. */
static grove_node *make_kernel(const exponent *e, part of, grove_node *x)
{
    static const grove_literal flux = {
        .kind = GROVE_LITERAL_NUMBER, .number = 1, .unit = {.Jy = 1}};
    static const grove_literal zeros[3] = {ZERO, ZERO, ZERO};
    static const grove_literal point = {.kind = GROVE_LITERAL_LIST, .count = 3, .items = zeros};
    const grove_argument more[3] = {
        {.name = "lmn", .operand = {.kind = GROVE_OPERAND_NODE, .node = x}},
        {.name = "brightness", .operand = {.kind = GROVE_OPERAND_LITERAL, .literal = &flux}},
        {.name = "shape", .operand = {.kind = GROVE_OPERAND_LITERAL, .literal = &point}}};
    const grove_node *node = e->of->node;
    const grove_axis *axes[2] = {e->axis, NULL};
    grove_role role = of == OF_BOTH ? GROVE_ROLE_SOURCE : GROVE_ROLE_NONE;

    if (!grove_node_axes_of_kind(node, GROVE_AXIS_BASELINE, &axes[1], 1))
        grove_node_axes_of_kind(node, GROVE_AXIS_STATION, &axes[1], 1);
    return grove_phases_call(node->tree, grove_tree_operator(node->tree, role), axes,
                             x ? more : more + 1, (size_t)(of == OF_BOTH ? 2 : 0) + (x != NULL),
                             &node->place);
}

static grove_node *scaled(exponent *e, grove_node *x, double by)
{
    grove_tree *tree = x->tree;
    grove_literal number = {.kind = GROVE_LITERAL_NUMBER, .number = by};
    grove_operand a = {
        .kind = GROVE_OPERAND_NODE,
        .node = grove_tree_constant(tree, &number, GROVE_PRECISION_RUN, &e->of->node->place)};
    grove_operand b = {.kind = GROVE_OPERAND_NODE, .node = x};

    return call(e, grove_tree_operator(tree, GROVE_ROLE_PRODUCT), a, b).node;
}

/* Takes the terms of a phase out of a part, and adds it to the product. */
static bool take_phase(exponent *e, part of, grove_chain *product)
{
    const grove_chain *terms[MAX_TERMS];
    int found[3], count = take_sorted(e, of, terms);
    grove_node *kernel = count < 3 || of == OF_NONE ? NULL : make_kernel(e, of, NULL);

    if (!kernel)
        return false;
    const grove_node *uvw = input_of(kernel, of == OF_BOTH ? "uvw" : "station_uvw");
    double scale = 1;
    grove_node *x = grove_phases_find(terms, count, uvw, input_of(kernel, "freq"), found, &scale);
    if (x && scale != 1)
        x = scaled(e, x, scale);
    if (x && x != input_of(kernel, "lmn"))
        kernel = make_kernel(e, of, x);
    if (!x || !kernel)
        return false;
    for (int k = 0; k < 3; k++)
        e->part[terms[found[k]] - e->at] = PARTS;
    grove_chain_add(product, &(grove_factor){.node = kernel,
                                             .side = side_of(of),
                                             .adjoint = of == OF_Q,
                                             .scalar = true,
                                             .unity = of == OF_BOTH});
    return true;
}

/* Adds phases that are written out. False: there are none. */
static bool take_phases(exponent *e, const grove_chain *whole, grove_chain *product)
{
    bool found = false;

    e->all = true;
    add_terms(e, whole);
    take_conjugates(e);
    for (int of = OF_P; of < PARTS && !e->failed; of++)
        found = take_phase(e, (part)of, product) || found;
    for (int i = 0; i < e->count; i++)
        if (e->part[i] == OF_BOTH && varies_along(&e->at[i], e->axis))
            found = false;
    return found && !e->failed;
}

bool grove_chain_open_exponential(grove_chain *product, const grove_factor *factor,
                                  const grove_axis *axis)
{
    exponent e = {.of = factor, .axis = axis}, phases = e;
    grove_chain whole = {.constant = {factor->inverse ? -1 : 1, 0}}, opened = *product;
    const grove_factor outside = {.side = factor->side, .adjoint = factor->adjoint};

    grove_chain_open_inside(&whole, &outside, factor->node->inputs[0], NULL);
    if (axis && take_phases(&phases, &whole, &opened)) {
        e = phases;
    } else {
        opened = *product;
        add_terms(&e, &whole);
        take_conjugates(&e);
    }
    for (int of = 0; of < PARTS && !e.failed; of++)
        add_part(&e, (part)of, &opened);
    if (e.failed)
        return false;
    double complex c = cexp(e.constant[0] + I * e.constant[1]);
    grove_chain_scale(&opened, creal(c), cimag(c));
    *product = opened;
    return true;
}

/* ---- other spellings ---- */

static void add_chain(grove_chain *product, const grove_chain *more)
{
    grove_chain_scale(product, more->constant[0], more->constant[1]);
    for (int i = 0; i < more->count; i++)
        grove_chain_add(product, &more->at[i]);
    product->too_many = product->too_many || more->too_many;
}

static bool is_of_real(const grove_factor *f, grove_role role, bool inverse)
{
    return grove_node_has_role(f->node, role) && f->inverse == inverse && f->scalar &&
           !f->node->form.complex_;
}

static grove_factor take(grove_chain *term, int i)
{
    grove_factor taken = term->at[i];

    memmove(&term->at[i], &term->at[i + 1], (size_t)(term->count - i - 1) * sizeof(term->at[0]));
    term->count--;
    return taken;
}

/* Takes cos x out of the one term and sin x of the same real scalar out of the other. */
static bool take_functions(grove_chain *common, grove_chain *other, bool inverse,
                           grove_factor *cosine)
{
    for (int i = 0; i < common->count; i++)
        for (int k = 0; k < other->count; k++) {
            const grove_factor *c = &common->at[i], *s = &other->at[k];
            if (!is_of_real(c, GROVE_ROLE_COSINE, inverse) ||
                !is_of_real(s, GROVE_ROLE_SINE, inverse) || c->side != s->side ||
                c->node->inputs[0].side != s->node->inputs[0].side ||
                grove_node_behind_casts(c->node->inputs[0].node) !=
                    grove_node_behind_casts(s->node->inputs[0].node))
                continue;
            *cosine = take(common, i);
            take(other, k);
            return true;
        }
    return false;
}

static bool is_same(const grove_factor *a, const grove_factor *b)
{
    return a->node == b->node && a->side == b->side && a->adjoint == b->adjoint &&
           a->inverse == b->inverse;
}

/* Whether both have the same factors, matrices in the same order. */
static bool have_same(const grove_chain *a, const grove_chain *b)
{
    bool used[GROVE_MAX_FACTORS] = {false};
    int last = -1;

    for (int i = 0; i < a->count; i++) {
        int k = a->at[i].scalar ? 0 : last + 1;
        while (k < b->count && (used[k] || !is_same(&a->at[i], &b->at[k])))
            k++;
        if (k >= b->count)
            return false;
        used[k] = true;
        last = a->at[i].scalar ? last : k;
    }
    return a->count == b->count;
}

/* exp(i x) of the angle of a cosine, or exp(-i x). */
static grove_operand make_exponential(const grove_factor *cosine, double sign)
{
    grove_node *node = cosine->node, *x = node->inputs[0].node;
    grove_literal number = {.kind = GROVE_LITERAL_NUMBER, .imaginary = sign};
    exponent e = {.of = cosine};
    grove_unit unit;

    memcpy(&unit, &x->form.unit, sizeof(unit));
    number.unit = grove_unit_divide(GROVE_UNIT_NONE, unit);
    grove_operand i = {
        .kind = GROVE_OPERAND_NODE,
        .node = grove_tree_constant(node->tree, &number, GROVE_PRECISION_RUN, &node->place)};
    grove_operand angle = {.kind = GROVE_OPERAND_NODE, .node = x, .role = node->inputs[0].side};
    grove_operand all = call(&e, grove_tree_operator(node->tree, GROVE_ROLE_PRODUCT), i, angle);
    return call(&e, grove_tree_operator(node->tree, GROVE_ROLE_EXPONENTIAL), all,
                (grove_operand){0});
}

/* Whether a product has a factor of the role, sums inside of it aside. *visits: how many more
 * values are looked at. */
static bool has_factor(grove_node *node, grove_role role, int *visits)
{
    node = grove_node_behind_casts(node);
    const bool two = grove_node_has_role(node, GROVE_ROLE_PRODUCT) ||
                     grove_node_has_role(node, GROVE_ROLE_QUOTIENT);

    if (--*visits < 0)
        return false;
    if (grove_node_has_role(node, role))
        return true;
    if (!two && !grove_node_has_role(node, GROVE_ROLE_NEGATIVE) &&
        !grove_node_has_role(node, GROVE_ROLE_INVERSE) && !grove_node_is_adjoint(node))
        return false;
    return has_factor(node->inputs[0].node, role, visits) ||
           (two && has_factor(node->inputs[1].node, role, visits));
}

/* Whether one term has a cosine and the other a sine: before they are opened, which takes as long
 * as all that is in them. */
static bool may_be_exponential(const grove_node *sum)
{
    bool found[2][2];

    for (int k = 0; k < 2; k++)
        for (int sine = 0; sine < 2; sine++) {
            int visits = MAX_VISITS;
            found[k][sine] = has_factor(sum->inputs[k].node,
                                        sine ? GROVE_ROLE_SINE : GROVE_ROLE_COSINE, &visits);
        }
    return (found[0][0] && found[1][1]) || (found[0][1] && found[1][0]);
}

/* Both terms are opened with what is done to the sum: of an inverse as 1 / c cos x and
 * 1 / i c sin x. */
bool grove_chain_open_cosine(grove_chain *product, const grove_factor *factor,
                             const grove_axis *axis)
{
    const grove_node *sum = factor->node;
    grove_chain term[2] = {{.constant = {1, 0}}, {.constant = {1, 0}}};
    grove_factor cosine, whole = {.inverse = factor->inverse, .scalar = true};
    int first = 0;

    if (!may_be_exponential(sum))
        return false;
    for (int k = 0; k < 2; k++)
        grove_chain_open_inside(&term[k], factor, sum->inputs[k], axis);
    if (grove_node_has_role(sum, GROVE_ROLE_DIFFERENCE))
        grove_chain_scale(&term[1], -1, 0);
    while (first < 2 && !take_functions(&term[first], &term[!first], factor->inverse, &cosine))
        first++;
    if (first == 2 || term[0].too_many || term[1].too_many || !have_same(&term[0], &term[1]))
        return false;
    const double *c = term[first].constant, *s = term[!first].constant;
    double complex ratio = (s[0] + I * s[1]) / (c[0] + I * c[1]);
    double sign = copysign(1, cimag(ratio));
    if (!(cabs(ratio - I * sign) < 1e-15))
        return false;
    whole.node = make_exponential(&cosine, factor->inverse ? -sign : sign).node;
    if (!whole.node)
        return false;
    whole.side = grove_node_varies(whole.node, GROVE_AXIS_STATION) ? cosine.side : 0;
    add_chain(product, &term[first]);
    if (!grove_chain_open_exponential(product, &whole, axis))
        grove_chain_add(product, &whole);
    return true;
}

/* A factor to a positive power; NULL: it cannot be made. */
static grove_node *make_power(const grove_factor *f, double power, const grove_node *like)
{
    const grove_literal *number = grove_arena_copy(
        like->tree->arena, &(grove_literal){.kind = GROVE_LITERAL_NUMBER, .number = power},
        sizeof(*number));
    const grove_argument arguments[2] = {
        {.operand = {.kind = GROVE_OPERAND_NODE, .node = f->node}, .place = like->place},
        {.name = "exponent",
         .operand = {.kind = GROVE_OPERAND_LITERAL, .literal = number},
         .place = like->place}};

    if (power == 1)
        return f->node;
    return grove_tree_call(like->tree, like->class_, NULL, &like->place, arguments, 2).node;
}

bool grove_chain_open_power(grove_chain *product, const grove_factor *factor,
                            const grove_axis *axis)
{
    const grove_node *node = factor->node;
    const double power = grove_node_number(node, "exponent");
    grove_chain opened = {.constant = {1, 0}};
    grove_factor inside = *factor;

    if (power != rint(power) || power == 0 || fabs(power) > MAX_POWER)
        return false;
    inside.inverse = factor->inverse != (power < 0);
    grove_chain_open_inside(&opened, &inside, node->inputs[0], axis);
    if (!opened.count ||
        (power > 0 && opened.at[0].node == grove_node_behind_casts(node->inputs[0].node)))
        return false;
    for (int i = 0; i < opened.count; i++) {
        grove_factor *f = &opened.at[i];
        f->node = f->scalar ? make_power(f, fabs(power), node) : NULL;
        if (!f->node)
            return false;
    }
    const double c[2] = {opened.constant[0], opened.constant[1]};
    for (int k = 1; k < fabs(power); k++)
        grove_chain_scale(&opened, c[0], c[1]);
    add_chain(product, &opened);
    return true;
}
