#include "graph/factor_spellings.h"

#include "graph/exponent.h"
#include "graph/neutral.h"

enum { MAX_SUMS = 48 }; /* that are looked at in a factor, some in each other */

typedef struct {
    const grove_axis *baseline;
    grove_chain_test *known;
    void *context;
    int *sums; /* how many more may be opened */
} spelling;

/* An element as a product of factors with parms and factors without. */
typedef struct {
    grove_chain fitted, known;
    bool zero;
    bool changed; /* it has exponentials or products in place of other spellings */
} element;

static bool open_element(const spelling *s, grove_edge edge, element *to);

static bool is_fitted(const spelling *s, const grove_node *node)
{
    return !s->known(s->context, node);
}

grove_operand grove_factor_make(const grove_chain *product, const grove_node *like, bool *failed)
{
    const grove_class *class_ = grove_tree_operator(like->tree, GROVE_ROLE_PRODUCT);
    const grove_place *place = product->count ? &product->at[0].node->place : &like->place;
    grove_literal literal = {.kind = GROVE_LITERAL_NUMBER,
                             .number = product->constant[0],
                             .imaginary = product->constant[1]};
    grove_argument arguments[2] = {{.place = *place}, {.place = *place}};
    grove_operand constant = {.kind = GROVE_OPERAND_NODE}, made = {0};

    if (product->count)
        made = grove_chain_make(product, class_, true, place, failed);
    if (*failed || (product->count && literal.number == 1 && literal.imaginary == 0))
        return made;
    constant.node = grove_tree_constant(like->tree, &literal, GROVE_PRECISION_DOUBLE, place);
    if (!product->count)
        return constant;
    arguments[0].operand = constant;
    arguments[1].operand = made;
    constant = grove_tree_call(like->tree, class_, NULL, place, arguments, 2);
    constant.role = made.role;
    *failed = constant.kind != GROVE_OPERAND_NODE;
    return constant;
}

/* ---- exponentials ---- */

/* Adds an exponential with parms as two: of the terms with parms and of the rest. */
static bool split(const spelling *s, grove_chain *opened, const grove_factor *at)
{
    return at->scalar && grove_node_has_role(at->node, GROVE_ROLE_EXPONENTIAL) &&
           is_fitted(s, at->node) &&
           grove_chain_split_exponential(opened, at, s->known, s->context);
}

/* ---- sums ---- */

/* Opens u b + u c as u (b + c), where b and c do not depend on parms. */
static bool open_sum(const spelling *s, grove_chain *opened, const grove_factor *at)
{
    const grove_node *node = at->node;
    const bool minus = grove_node_has_role(node, GROVE_ROLE_DIFFERENCE);
    const grove_class *class_ = grove_tree_operator(node->tree, GROVE_ROLE_SUM);
    grove_argument arguments[2] = {{.place = node->place}, {.place = node->place}};
    element term[2];
    bool failed = !class_;

    if ((!minus && !grove_node_has_role(node, GROVE_ROLE_SUM)) || --*s->sums < 0)
        return false;
    for (int k = 0; k < 2 && !failed; k++) {
        failed = !open_element(s, node->inputs[k], &term[k]) || !term[k].fitted.count;
        if (!failed)
            grove_chain_sort(&term[k].fitted);
    }
    if (failed || grove_chain_compare(&term[0].fitted, &term[1].fitted))
        return false;
    if (minus)
        grove_chain_scale(&term[1].known, -1, 0);
    for (int k = 0; k < 2; k++)
        arguments[k].operand = grove_factor_make(&term[k].known, node, &failed);
    grove_operand fitted = grove_factor_make(&term[0].fitted, node, &failed);
    grove_node *known =
        failed ? NULL : grove_tree_call(node->tree, class_, NULL, &node->place, arguments, 2).node;
    if (!known || fitted.role)
        return false;
    grove_chain_open_but(opened, at, (grove_edge){fitted.node, 0}, s->baseline, s->known,
                         s->context);
    grove_chain_open_but(opened, at, (grove_edge){known, 0}, s->baseline, s->known, s->context);
    return true;
}

static bool open_spelling(const spelling *s, grove_chain *opened, const grove_factor *at)
{
    const grove_node *node = at->node;

    if (!at->scalar || grove_node_varies(node, GROVE_AXIS_BASELINE) || !is_fitted(s, node))
        return false;
    if (grove_node_is_sum(node))
        return grove_chain_open_cosine(opened, at, s->baseline) || open_sum(s, opened, at);
    if (grove_node_has_role(node, GROVE_ROLE_POWER))
        return grove_node_has_role(grove_node_behind_casts(node->inputs[0].node),
                                   GROVE_ROLE_EXPONENTIAL) &&
               grove_chain_open_power(opened, at, s->baseline);
    return grove_node_has_role(node, GROVE_ROLE_EXPONENTIAL) &&
           grove_chain_open_exponential(opened, at, 1, s->baseline);
}

/* Opens an exponential of stations with parms, or another spelling of one. */
static bool open_exponential(const spelling *s, grove_chain *opened, const grove_factor *at)
{
    grove_chain some = {.constant = {1, 0}};

    if (!open_spelling(s, &some, at))
        return false;
    opened->too_many = opened->too_many || some.too_many;
    grove_chain_scale(opened, some.constant[0], some.constant[1]);
    for (int i = 0; i < some.count; i++)
        if (!split(s, opened, &some.at[i]))
            grove_chain_add(opened, &some.at[i]);
    return true;
}

/* ---- elements ---- */

static const grove_chain one = {.constant = {1, 0}};

static bool is_one(const grove_chain *product)
{
    return !product->count && product->constant[0] == 1 && product->constant[1] == 0;
}

/* False: it is seen from a station, or has too many factors. */
static bool open_element(const spelling *s, grove_edge edge, element *to)
{
    grove_chain product = one, opened = one;

    *to = (element){.fitted = one, .known = one, .zero = grove_node_is_number(edge.node, 0)};
    if (edge.side)
        return false;
    grove_chain_open_but(&product, NULL, edge, s->baseline, s->known, s->context);
    opened.too_many = product.too_many;
    grove_chain_scale(&opened, product.constant[0], product.constant[1]);
    for (int i = 0; i < product.count; i++)
        if (grove_node_has_role(product.at[i].node, GROVE_ROLE_EXPONENTIAL)
                ? split(s, &opened, &product.at[i])
                : open_exponential(s, &opened, &product.at[i]))
            to->changed = true;
        else
            grove_chain_add(&opened, &product.at[i]);
    grove_chain_scale(&to->known, opened.constant[0], opened.constant[1]);
    for (int i = 0; i < opened.count; i++)
        grove_chain_add(is_fitted(s, opened.at[i].node) ? &to->fitted : &to->known, &opened.at[i]);
    return !opened.too_many;
}

static void join(element *e)
{
    grove_chain_append(&e->fitted, &e->known);
    e->known = one;
}

/* Takes the factors without parms out of a column of a matrix, where both elements have the
 * same. */
static grove_chain take_column(element *a, element *b)
{
    grove_chain taken = one;
    element *only = a->zero ? b : b->zero ? a : NULL;

    grove_chain_sort(&a->known);
    grove_chain_sort(&b->known);
    bool same = a->fitted.count && b->fitted.count && !grove_chain_compare(&a->known, &b->known);
    if (only && !only->zero && (only->fitted.count || only->known.count)) {
        taken = only->known;
        only->known = one;
    } else if (same) {
        taken = a->known;
        a->known = b->known = one;
    }
    join(a);
    join(b);
    return taken;
}

/* The value with other elements. NULL: it cannot be made. */
static grove_node *remake(const grove_node *node, element e[4])
{
    const int step = node->input_count == 4 ? 1 : 3;
    grove_operand others[GROVE_MAX_INPUTS] = {{0}};
    bool failed = false;

    for (int k = 0; k < node->input_count && !failed; k++)
        if (!e[k * step].zero)
            others[k] = grove_factor_make(&e[k * step].fitted, node, &failed);
    return failed ? NULL : grove_tree_remake(node->tree, node, others).node;
}

/* The factors taken out of the columns: a diagonal, or a scalar if both are the same. */
static grove_node *make_known(const grove_chain columns[2], const grove_node *like)
{
    const bool scalar = !grove_chain_compare(&columns[0], &columns[1]);
    const grove_class *class_ = grove_tree_operator(like->tree, GROVE_ROLE_DIAGONAL);
    grove_argument arguments[2] = {{.place = like->place}, {.place = like->place}};
    bool failed = !class_;

    for (int k = 0; k < 2 && !failed; k++)
        arguments[k].operand = grove_factor_make(&columns[k], like, &failed);
    if (failed || scalar)
        return failed ? NULL : arguments[0].operand.node;
    return grove_tree_call(like->tree, class_, NULL, &like->place, arguments, 2).node;
}

/* Adds a matrix as one of elements that depend on parms times a diagonal that does not. */
static void add_matrix(const spelling *s, grove_chain *opened, const grove_factor *at)
{
    const grove_node *node = at->node;
    const bool diagonal = grove_node_has_role(node, GROVE_ROLE_DIAGONAL);
    element e[4] = {{.zero = true}, {.zero = true}, {.zero = true}, {.zero = true}};
    grove_chain columns[2] = {one, one};
    grove_factor parts[2] = {*at, *at};
    bool changed = false, fits = is_fitted(s, node);

    for (int k = 0; k < 4 && fits; k++)
        if (!diagonal || k % 3 == 0) {
            fits = open_element(s, node->inputs[diagonal ? k / 3 : k], &e[k]);
            changed = changed || e[k].changed;
        }
    for (int k = 0; k < 2 && fits; k++) {
        columns[k] = take_column(&e[k], &e[2 + k]);
        changed = changed || !is_one(&columns[k]);
    }
    parts[0].node = fits && changed ? remake(node, e) : NULL;
    bool both = parts[0].node && !(is_one(&columns[0]) && is_one(&columns[1]));
    parts[1].node = both ? make_known(columns, node) : NULL;
    if (!parts[0].node || (both && !parts[1].node)) {
        grove_chain_add(opened, at);
        return;
    }
    if (both && at->adjoint != at->inverse)
        grove_chain_open_but(opened, &parts[1], (grove_edge){parts[1].node, 0}, s->baseline,
                             s->known, s->context);
    grove_chain_add(opened, &parts[0]);
    if (both && at->adjoint == at->inverse)
        grove_chain_open_but(opened, &parts[1], (grove_edge){parts[1].node, 0}, s->baseline,
                             s->known, s->context);
}

grove_chain grove_factor_respell(const grove_chain *term, const grove_axis *baseline,
                                 grove_chain_test *known, void *context)
{
    int sums;
    const spelling s = {.baseline = baseline, .known = known, .context = context, .sums = &sums};
    grove_chain opened = {.constant = {term->constant[0], term->constant[1]}};

    opened.too_many = term->too_many;
    for (int i = 0; i < term->count; i++) {
        const grove_factor *at = &term->at[i];
        sums = MAX_SUMS;
        if (at->side ? open_exponential(&s, &opened, at) : split(&s, &opened, at))
            continue;
        if (grove_node_has_role(at->node, GROVE_ROLE_DIAGONAL) ||
            grove_node_has_role(at->node, GROVE_ROLE_MATRIX))
            add_matrix(&s, &opened, at);
        else
            grove_chain_add(&opened, at);
    }
    return opened;
}
