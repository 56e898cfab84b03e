/* Products of values of baselines, in any spelling, with one operation for each baseline and term:
 * terms of stations are multiplied first, together with numbers, and hermitians are taken of
 * stations. Products between the same terms of stations are added before they are multiplied by
 * these. */
#include "graph/products.h"

#include "base/error.h"
#include "base/memory.h"
#include "graph/chain.h"
#include "graph/neutral.h"

#include <complex.h>
#include <stdlib.h>
#include <string.h>

typedef struct {
    grove_tree *tree;
    int *uses;             /* of each node, by id */
    bool *fitted;          /* whether it depends on parms */
    bool *inner;           /* it is a part of a product that was looked at */
    size_t known;          /* nodes that have these */
    const grove_node *top; /* the product, or the sum */
    bool sums;             /* terms are compared: terms of stations are always opened */
} gathering;

/* Whether the node is opened as a part of a product. */
static bool is_opened(const grove_node *node)
{
    return grove_node_has_role(node, GROVE_ROLE_PRODUCT) ||
           grove_node_has_role(node, GROVE_ROLE_NEGATIVE) || grove_node_adjoint_of(node) ||
           (grove_node_has_role(node, GROVE_ROLE_QUOTIENT) &&
            grove_node_is_plain_number(grove_node_behind_casts(node->inputs[1].node)));
}

/* The number of its users; for a node made after counting, of the node that it replaced. */
static int uses_of(const gathering *g, const grove_node *node)
{
    int uses = 0;

    if ((size_t)node->id < g->known)
        return g->uses[node->id];
    for (size_t i = 0; i < g->known; i++) {
        const grove_node *user = g->tree->nodes[i];
        for (int k = 0; k < user->input_count && user->used && user->kind != GROVE_NODE_CAST; k++)
            uses += grove_node_behind_casts(user->inputs[k].node) == node;
    }
    return uses;
}

/* A value with other users is computed once. */
static bool stays_whole(void *context, const grove_node *node)
{
    const gathering *g = context;

    return node != g->top &&
           (!is_opened(node) ||
            (uses_of(g, node) > 1 && (!g->sums || grove_node_varies(node, GROVE_AXIS_BASELINE))));
}

/* Number of operations on values of baselines in the value and in the factors opened in it. */
static int count_operations(gathering *g, grove_node *node)
{
    int count = 1;

    node = grove_node_behind_casts(node);
    if (!node || stays_whole(g, node) || !grove_node_varies(node, GROVE_AXIS_BASELINE))
        return 0;
    if ((size_t)node->id < g->known)
        g->inner[node->id] = true;
    for (int k = 0; k < node->input_count; k++)
        count += count_operations(g, node->inputs[k].node);
    return count;
}

/* ---- parts ---- */

enum { LEFT, MIDDLE, RIGHT, PARTS };

typedef struct {
    grove_chain matrices[PARTS], scalars[PARTS];
    grove_chain beside;    /* scalars that vary with neither station nor baseline */
    bool fitted[PARTS][2]; /* whether terms have parms: some do not, some do */
} parts;

static bool is_of_station(const grove_factor *f, char side)
{
    return f->side == side && grove_node_varies(f->node, GROVE_AXIS_STATION);
}

/* Matrices of p up to the first other one go left, matrices of q from the last other one on go
 * right, scalars of stations to their side. */
static void divide(const gathering *g, const grove_chain *product, parts *p)
{
    int first = 0, last = product->count;

    while (first < last && (product->at[first].scalar || is_of_station(&product->at[first], 'p')))
        first++;
    while (last > first &&
           (product->at[last - 1].scalar || is_of_station(&product->at[last - 1], 'q')))
        last--;
    for (int i = 0; i < product->count; i++) {
        const grove_factor *f = &product->at[i];
        bool fitted = (size_t)f->node->id < g->known && g->fitted[f->node->id];
        int part = is_of_station(f, 'p') && (f->scalar || i < first)   ? LEFT
                   : is_of_station(f, 'q') && (f->scalar || i >= last) ? RIGHT
                                                                       : MIDDLE;
        bool beside = f->scalar && part == MIDDLE && !fitted &&
                      !grove_node_varies(f->node, GROVE_AXIS_STATION) &&
                      !grove_node_varies(f->node, GROVE_AXIS_BASELINE);
        grove_chain_add(beside      ? &p->beside
                        : f->scalar ? &p->scalars[part]
                                    : &p->matrices[part],
                        f);
        p->fitted[part][fitted] = true;
    }
}

/* The scalars in an order of their own, then the matrices; of the right from the outside, too. */
static grove_chain put_together(parts *p, int part)
{
    grove_chain all = {.constant = {1, 0}}, *scalars = &p->scalars[part];
    const grove_chain *matrices = &p->matrices[part];

    grove_chain_sort(scalars);
    for (int i = 0; i < scalars->count && part != RIGHT; i++)
        grove_chain_add(&all, &scalars->at[i]);
    for (int i = 0; i < matrices->count; i++)
        grove_chain_add(&all, &matrices->at[i]);
    for (int i = scalars->count; i-- > 0 && part == RIGHT;)
        grove_chain_add(&all, &scalars->at[i]);
    return all;
}

static int size_of(const parts *p, int part)
{
    return p->matrices[part].count + p->scalars[part].count;
}

/* Operations on values of baselines. */
static int count_needed(const parts *p, bool scaled)
{
    bool sides = size_of(p, LEFT) || size_of(p, RIGHT);
    int count = (size_of(p, LEFT) > 0) + (size_of(p, RIGHT) > 0) + size_of(p, MIDDLE) - 1;

    for (int i = 0; i < p->matrices[MIDDLE].count; i++)
        count += p->matrices[MIDDLE].at[i].adjoint;
    for (int i = 0; i < p->scalars[MIDDLE].count; i++)
        count += p->scalars[MIDDLE].at[i].adjoint;
    return count + (!sides && (scaled || p->beside.count));
}

/* ---- putting together ---- */

static grove_operand multiply(grove_tree *tree, grove_operand a, grove_operand b,
                              const grove_place *place, bool *failed)
{
    grove_argument arguments[2] = {{.operand = a, .place = *place},
                                   {.operand = b, .place = *place}};

    if (*failed || a.kind == GROVE_OPERAND_NOTHING)
        return b;
    if (b.kind == GROVE_OPERAND_NOTHING)
        return a;
    grove_operand made = grove_tree_call(tree, grove_tree_operator(tree, GROVE_ROLE_PRODUCT), NULL,
                                         place, arguments, 2);
    *failed = made.kind != GROVE_OPERAND_NODE;
    made.role = a.role ? a.role : b.role;
    if (!*failed && !grove_node_varies(made.node, GROVE_AXIS_STATION))
        made.role = 0;
    return made;
}

/* Factors that vary with neither station nor baseline are multiplied with a term of stations. */
static grove_node *make(grove_tree *tree, const grove_chain *product, parts *p,
                        const grove_place *place)
{
    const grove_class *class_ = grove_tree_operator(tree, GROVE_ROLE_PRODUCT);
    grove_literal literal = {.kind = GROVE_LITERAL_NUMBER,
                             .number = product->constant[0],
                             .imaginary = product->constant[1]};
    bool failed = false;
    grove_operand number = {0}, at[PARTS] = {{0}}, beside;
    int scaled = size_of(p, LEFT) ? LEFT : size_of(p, RIGHT) ? RIGHT : MIDDLE;

    for (int part = 0; part < PARTS && !failed; part++) {
        grove_chain all = put_together(p, part);
        at[part] = part == RIGHT ? grove_chain_make_right(&all, class_, true, place, &failed)
                                 : grove_chain_make(&all, class_, true, place, &failed);
    }
    grove_chain_sort(&p->beside);
    beside = grove_chain_make(&p->beside, class_, true, place, &failed);
    if (literal.number != 1 || literal.imaginary != 0) {
        number.kind = GROVE_OPERAND_NODE;
        number.node = grove_tree_constant(tree, &literal, GROVE_PRECISION_RUN, place);
    }
    beside = multiply(tree, number, beside, place, &failed);
    at[scaled] = multiply(tree, beside, at[scaled], place, &failed);
    grove_operand made = multiply(tree, at[LEFT], at[MIDDLE], place, &failed);
    made = multiply(tree, made, at[RIGHT], place, &failed);
    return failed ? NULL : made.node;
}

/* The product with fewer operations for a baseline; NULL: there is none. */
static grove_node *gather(gathering *g, grove_node *node)
{
    grove_chain product = {.constant = {1, 0}};
    const grove_axis *baseline = NULL;
    parts p = {.beside.constant = {1, 0}};

    g->top = node;
    int operations = count_operations(g, node);
    grove_node_axes_of_kind(node, GROVE_AXIS_BASELINE, &baseline, 1);
    grove_chain_open_but(&product, NULL, (grove_edge){node, 0}, baseline, stays_whole, g);
    divide(g, &product, &p);
    bool scaled = product.constant[0] != 1 || product.constant[1] != 0;
    bool mixed = (p.fitted[LEFT][0] && p.fitted[LEFT][1]) ||
                 (p.fitted[RIGHT][0] && p.fitted[RIGHT][1]); /* fits keep values without parms */
    bool sides = size_of(&p, LEFT) || size_of(&p, RIGHT);
    if (product.too_many || mixed || !size_of(&p, MIDDLE) || (!sides && p.beside.count) ||
        count_needed(&p, scaled) >= operations)
        return NULL;
    grove_node *made = make(g->tree, &product, &p, &node->place);
    return made && grove_node_alike(made, node) ? made : NULL;
}

/* ---- sums ---- */

enum { MAX_TERMS = 32 };

/* A term of a sum. */
typedef struct {
    grove_node *node;
    double sign;
    double complex constant;
    parts p;
    bool outer; /* it has terms of stations around other values, and no parms */
    bool taken;
} term;

typedef struct {
    gathering *g;
    const grove_axis *baseline;
    term *at;
    int count;
    bool too_many;
} terms;

static bool is_sum(const grove_node *node)
{
    return grove_node_has_role(node, GROVE_ROLE_SUM) ||
           grove_node_has_role(node, GROVE_ROLE_DIFFERENCE);
}

static void add_term(terms *all, grove_node *node, double sign)
{
    grove_chain product = {.constant = {1, 0}};

    if (all->count == MAX_TERMS) {
        all->too_many = true;
        return;
    }
    term *t = &all->at[all->count++];
    *t = (term){.node = node, .sign = sign, .p.beside.constant = {1, 0}};
    grove_chain_open_but(&product, NULL, (grove_edge){node, 0}, all->baseline, stays_whole, all->g);
    divide(all->g, &product, &t->p);
    t->constant = sign * (product.constant[0] + I * product.constant[1]);
    t->outer = !product.too_many && (size_of(&t->p, LEFT) || size_of(&t->p, RIGHT)) &&
               size_of(&t->p, MIDDLE);
    for (int part = 0; part < PARTS; part++)
        t->outer = t->outer && !t->p.fitted[part][true];
}

/* A value with other users is computed once. */
static void find_terms(terms *all, grove_node *node, double sign)
{
    grove_node *inside = grove_node_behind_casts(node);
    const bool negative = grove_node_has_role(inside, GROVE_ROLE_NEGATIVE);

    if ((!is_sum(inside) && !negative) || (inside != all->g->top && uses_of(all->g, inside) > 1)) {
        add_term(all, node, sign);
        return;
    }
    for (int k = 0; k < inside->input_count; k++) {
        bool minus = negative || (k && grove_node_has_role(inside, GROVE_ROLE_DIFFERENCE));
        find_terms(all, inside->inputs[k].node, minus ? -sign : sign);
    }
}

static bool are_same(const grove_chain *a, const grove_chain *b)
{
    bool same = a->count == b->count;

    for (int i = 0; i < a->count && same; i++)
        same = a->at[i].node == b->at[i].node && a->at[i].side == b->at[i].side &&
               a->at[i].adjoint == b->at[i].adjoint && a->at[i].inverse == b->at[i].inverse;
    return same;
}

/* Whether both are between the same terms of stations. */
static bool have_same_outer(term *a, term *b)
{
    grove_chain of[2][PARTS];
    term *both[2] = {a, b};

    for (int k = 0; k < 2; k++) {
        of[k][LEFT] = put_together(&both[k]->p, LEFT);
        of[k][RIGHT] = put_together(&both[k]->p, RIGHT);
        of[k][MIDDLE] = both[k]->p.beside;
        grove_chain_sort(&of[k][MIDDLE]);
    }
    return a->outer && b->outer && are_same(&of[0][LEFT], &of[1][LEFT]) &&
           are_same(&of[0][RIGHT], &of[1][RIGHT]) && are_same(&of[0][MIDDLE], &of[1][MIDDLE]);
}

static grove_operand call(grove_role role, grove_operand a, grove_operand b, bool *failed)
{
    const grove_place *place = &b.node->place;
    grove_tree *tree = b.node->tree;
    grove_argument arguments[2] = {{.operand = a, .place = *place},
                                   {.operand = b, .place = *place}};
    const grove_class *class_ = grove_tree_operator(tree, role);
    grove_operand made = {0};

    if (a.kind == GROVE_OPERAND_NOTHING)
        return b;
    if (class_ && !*failed)
        made = grove_tree_call(tree, class_, NULL, place, arguments, 2);
    *failed = *failed || made.kind != GROVE_OPERAND_NODE;
    return made;
}

/* Adds the value between the terms of stations, times a number. */
static grove_operand add_middle(grove_operand sum, term *t, double complex by, bool *failed)
{
    grove_tree *tree = t->node->tree;
    const grove_place *place = &t->node->place;
    const grove_class *class_ = grove_tree_operator(tree, GROVE_ROLE_PRODUCT);
    grove_chain middle = put_together(&t->p, MIDDLE);
    const bool minus = sum.kind != GROVE_OPERAND_NOTHING && creal(by) < 0 && cimag(by) == 0;

    by = minus ? -by : by;
    grove_operand made = grove_chain_make(&middle, class_, true, place, failed);
    if (*failed || made.kind != GROVE_OPERAND_NODE)
        return made;
    if (by != 1) {
        grove_literal literal = {
            .kind = GROVE_LITERAL_NUMBER, .number = creal(by), .imaginary = cimag(by)};
        grove_operand number = {
            .kind = GROVE_OPERAND_NODE,
            .node = grove_tree_constant(tree, &literal, GROVE_PRECISION_RUN, place)};
        made = multiply(tree, number, made, place, failed);
    }
    if (*failed)
        return made;
    made.role = 0;
    return call(minus ? GROVE_ROLE_DIFFERENCE : GROVE_ROLE_SUM, sum, made, failed);
}

/* The sum of term i and later ones between the same terms of stations; NOTHING: it is the only
 * one. */
static grove_operand make_group(terms *all, int i, bool *failed)
{
    term *first = &all->at[i], *members[MAX_TERMS] = {first};
    grove_operand middle = {0}, none = {0};
    double complex largest = first->constant;
    parts p = first->p;
    int count = 1;

    for (int k = i + 1; k < all->count && first->outer; k++)
        if (!all->at[k].taken && have_same_outer(first, &all->at[k]))
            members[count++] = &all->at[k];
    /* no number above 1 is left inside, which single precision might not hold */
    for (int k = 1; k < count; k++)
        largest = cabs(members[k]->constant) > cabs(largest) ? members[k]->constant : largest;
    if (count == 1 || largest == 0)
        return none;
    for (int k = 0; k < count && !*failed; k++)
        middle = add_middle(middle, members[k], members[k]->constant / largest, failed);
    const grove_chain constant = {.constant = {creal(largest), cimag(largest)}};
    if (*failed || middle.kind != GROVE_OPERAND_NODE ||
        !grove_node_varies(middle.node, GROVE_AXIS_BASELINE))
        return none;
    const bool scalar = middle.node->form.shape == GROVE_SCALAR;
    p.matrices[MIDDLE].count = p.scalars[MIDDLE].count = 0;
    grove_chain_add(scalar ? &p.scalars[MIDDLE] : &p.matrices[MIDDLE],
                    &(grove_factor){.node = middle.node, .scalar = scalar});
    middle.node = make(middle.node->tree, &constant, &p, &first->node->place);
    *failed = !middle.node;
    for (int k = 0; k < count; k++)
        members[k]->taken = true;
    return middle;
}

/* The sum with fewer operations for a baseline; NULL: there is none. */
static grove_node *gather_sum(gathering *g, grove_node *node)
{
    terms all = {.g = g, .at = grove_alloc(MAX_TERMS * sizeof(term))};
    grove_operand sum = {0};
    bool failed = false;

    g->top = node;
    grove_node_axes_of_kind(node, GROVE_AXIS_BASELINE, &all.baseline, 1);
    find_terms(&all, node, 1);
    for (int i = 0; i < all.count && !all.too_many && !failed; i++) {
        grove_operand group = all.at[i].taken ? (grove_operand){0} : make_group(&all, i, &failed);
        if (group.kind != GROVE_OPERAND_NODE)
            continue;
        sum = call(GROVE_ROLE_SUM, sum, group, &failed);
    }
    for (int i = 0; i < all.count && sum.kind == GROVE_OPERAND_NODE && !failed; i++)
        if (!all.at[i].taken)
            sum =
                call(all.at[i].sign < 0 ? GROVE_ROLE_DIFFERENCE : GROVE_ROLE_SUM, sum,
                     (grove_operand){.kind = GROVE_OPERAND_NODE, .node = all.at[i].node}, &failed);
    free(all.at);
    return !failed && sum.kind == GROVE_OPERAND_NODE && grove_node_alike(sum.node, node) ? sum.node
                                                                                         : NULL;
}

static void count_uses(gathering *g)
{
    for (size_t i = 0; i < g->known; i++) {
        const grove_node *node = g->tree->nodes[i];
        g->fitted[node->id] = grove_node_has_role(node, GROVE_ROLE_PARM);
        for (int k = 0; k < node->input_count; k++) {
            grove_node *input = node->inputs[k].node;
            g->fitted[node->id] = g->fitted[node->id] || (input && g->fitted[input->id]);
            if (input && node->used && node->kind != GROVE_NODE_CAST)
                g->uses[grove_node_behind_casts(input)->id]++;
        }
    }
}

static bool replace(gathering *g, grove_node *node,
                    grove_node *(*gathers)(gathering *, grove_node *))
{
    grove_error *error = g->tree->error;

    g->tree->error = grove_error_new(); /* a failure here is no error of the tree */
    grove_node *made = gathers(g, node);
    grove_error_free(g->tree->error);
    g->tree->error = error;
    if (!made)
        return false;
    grove_node_take_name(made, node);
    grove_node_replace(g->tree, node, made);
    return true;
}

static gathering begin(grove_tree *tree)
{
    gathering g = {.tree = tree, .known = tree->node_count};

    g.uses = grove_alloc((g.known + 1) * sizeof(*g.uses));
    g.fitted = grove_alloc((g.known + 1) * sizeof(*g.fitted));
    g.inner = grove_alloc((g.known + 1) * sizeof(*g.inner));
    count_uses(&g);
    return g;
}

static void end(gathering *g)
{
    free(g->uses);
    free(g->fitted);
    free(g->inner);
}

/* Inner sums before outer ones. */
bool grove_tree_gather_sums(grove_tree *tree)
{
    gathering g = begin(tree);
    bool any = false;

    g.sums = true;
    for (size_t i = 0; i < g.known; i++) {
        grove_node *node = tree->nodes[i];
        if (node->used && is_sum(node) && grove_node_varies(node, GROVE_AXIS_BASELINE))
            any = replace(&g, node, gather_sum) || any;
    }
    end(&g);
    return any;
}

void grove_tree_gather_products(grove_tree *tree)
{
    gathering g = begin(tree);

    for (size_t i = g.known; i-- > 0;) {
        grove_node *node = tree->nodes[i];
        if (node->used && !g.inner[i] && is_opened(node) &&
            grove_node_varies(node, GROVE_AXIS_BASELINE))
            replace(&g, node, gather);
    }
    end(&g);
}
