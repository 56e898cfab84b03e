#include "graph/factors.h"

#include "base/memory.h"
#include "graph/call.h"
#include "graph/derivative.h"
#include "graph/exponent.h"
#include "graph/factor_groups.h"
#include "graph/rewrite.h"

#include <stdlib.h>

enum { MAX_FACTORS = 64 };

/* A factor of a product. */
typedef struct {
    grove_edge edge;
    bool fitted, scalar;
} factor;

typedef struct {
    grove_tree *tree;
    signed char *depends; /* by node id: on a fitted parm; 0: not known yet */
    size_t known;
    const grove_node *const *parms;
    int parm_count;
    factor factors[MAX_FACTORS]; /* of the term */
    int count;
    double constant[2]; /* of the term */
    int64_t group;      /* of sources: the one that a sum over sources stands for in the term */
    bool grouped;       /* the term has such a sum */
    grove_operand rest; /* sum of the terms that depend on no parm */
    grove_factors *found;
} factoring;

static void give_up(factoring *f, const char *format, const grove_node *node)
{
    if (!f->found->why)
        f->found->why =
            grove_arena_format(f->tree->arena, format, node ? grove_node_shown(node) : "");
}

/* ---- what depends on parms ---- */

static bool is_parm(const factoring *f, const grove_node *node)
{
    const grove_node *parm = grove_node_fitted_parm(node);

    for (int i = 0; parm && i < f->parm_count; i++)
        if (f->parms[i] == parm)
            return true;
    return false;
}

static bool is_fitted(factoring *f, const grove_node *node)
{
    if ((size_t)node->id < f->known && f->depends[node->id])
        return f->depends[node->id] > 0;
    bool depends = is_parm(f, node);
    for (int k = 0; k < node->input_count && !depends; k++)
        depends = node->inputs[k].node && is_fitted(f, node->inputs[k].node);
    if ((size_t)node->id < f->known)
        f->depends[node->id] = depends ? 1 : -1;
    return depends;
}

static bool varies_unseen(const factoring *f, const grove_node *node, int kind, bool *seen)
{
    if (seen[node->id] || !grove_node_varies(node, kind) || is_parm(f, node))
        return false;
    seen[node->id] = true;
    if (!node->input_count)
        return true;
    for (int k = 0; k < node->input_count; k++)
        if (node->inputs[k].node && varies_unseen(f, node->inputs[k].node, kind, seen))
            return true;
    return false;
}

/* Whether a value varies along an axis of this kind by other things than these parms. */
static bool varies_itself(const factoring *f, const grove_node *node, int kind)
{
    bool *seen = grove_alloc((f->tree->node_count + 1) * sizeof(*seen));
    bool found = varies_unseen(f, node, kind, seen);

    free(seen);
    return found;
}

/* ---- products ---- */

static grove_operand operand_of(grove_edge edge)
{
    return (grove_operand){
        .kind = GROVE_OPERAND_NODE, .node = grove_node_behind_casts(edge.node), .role = edge.side};
}

static grove_operand call(factoring *f, grove_role role, grove_operand a, grove_operand b)
{
    const grove_class *class_ = grove_tree_operator(f->tree, role);
    const grove_place *place = &a.node->place;
    grove_argument arguments[2] = {{.operand = a, .place = *place},
                                   {.operand = b, .place = *place}};
    size_t count = b.kind == GROVE_OPERAND_NOTHING ? 1 : 2;
    grove_operand made = {0};

    if (class_)
        made = grove_tree_call(f->tree, class_, NULL, place, arguments, count);
    if (made.kind != GROVE_OPERAND_NODE)
        give_up(f, "a part of %s cannot be made", a.node);
    return made;
}

static grove_operand multiply(factoring *f, grove_operand a, grove_operand b)
{
    return a.kind == GROVE_OPERAND_NOTHING ? b : call(f, GROVE_ROLE_PRODUCT, a, b);
}

static grove_operand number(factoring *f, double re, double im)
{
    grove_literal literal = {.kind = GROVE_LITERAL_NUMBER, .number = re, .imaginary = im};

    return (grove_operand){.kind = GROVE_OPERAND_NODE,
                           .node = grove_tree_constant(f->tree, &literal, GROVE_PRECISION_DOUBLE,
                                                       &f->tree->actions[0]->place)};
}

/* ---- a term ---- */

static void scale(factoring *f, double re, double im)
{
    double a = f->constant[0], b = f->constant[1];

    f->constant[0] = a * re - b * im;
    f->constant[1] = a * im + b * re;
}

static void add_factor(factoring *f, grove_edge edge)
{
    if (f->count == MAX_FACTORS)
        give_up(f, "%s has too many factors", edge.node);
    else
        f->factors[f->count++] =
            (factor){edge, is_fitted(f, edge.node), edge.node->form.shape == GROVE_SCALAR};
}

/* A station's part of its value. */
static grove_edge part_of(const grove_node *value, int k, char side)
{
    grove_node *node = grove_node_behind_casts(value->inputs[k].node);

    return (grove_edge){node, grove_node_varies(node, GROVE_AXIS_STATION) ? side : 0};
}

/* A value of a station. Factors without parms next to the middle belong there, as P of G P M (G
 * P)^H.
 */
static void collect_station(factoring *f, grove_edge edge)
{
    const grove_node *node = edge.node;
    bool hermitian = edge.side == 'q' && grove_node_is_adjoint(node);
    const grove_node *product = hermitian ? grove_node_behind_casts(node->inputs[0].node) : node;
    int inner = edge.side == 'q' && !hermitian ? 0 : 1;

    if (f->found->why)
        return;
    if (!edge.side || !is_fitted(f, node) || !grove_node_has_role(product, GROVE_ROLE_PRODUCT) ||
        is_fitted(f, product->inputs[inner].node)) {
        add_factor(f, edge);
        return;
    }
    grove_edge parts[2] = {part_of(product, inner, edge.side),
                           part_of(product, 1 - inner, edge.side)};
    for (int k = 0; k < 2 && hermitian; k++) {
        grove_operand operand = {.kind = GROVE_OPERAND_NODE, .node = parts[k].node};
        parts[k].node = call(f, GROVE_ROLE_HERMITIAN, operand, (grove_operand){0}).node;
    }
    if (f->found->why)
        return;
    if (edge.side == 'q')
        add_factor(f, parts[0]);
    collect_station(f, parts[1]);
    if (edge.side != 'q')
        add_factor(f, parts[0]);
}

static bool is_fitted_value(void *context, const grove_node *node)
{
    return is_fitted(context, node);
}

/* A sum over sources in groups with parms of their own: its group in this term. */
static void collect_group(factoring *f, const grove_grouped_sum *sum)
{
    grove_node *outer[2] = {NULL, NULL}, *middle = NULL;

    if (f->grouped) {
        give_up(f, "%s is a second sum over groups of sources in a product", sum->sum);
        return;
    }
    f->grouped = true;
    if (!grove_grouped_sum_take(sum, f->group, outer, &middle)) {
        give_up(f, "%s has parms of groups of sources inside that cannot be taken out", sum->sum);
        return;
    }
    collect_station(
        f, (grove_edge){outer[0], grove_node_varies(outer[0], GROVE_AXIS_STATION) ? 'p' : 0});
    add_factor(f, (grove_edge){middle, 0});
    collect_station(
        f, (grove_edge){outer[1], grove_node_varies(outer[1], GROVE_AXIS_STATION) ? 'q' : 0});
}

/* exp(a[p] - a[q]): a factor of each station. False if it cannot be opened. */
static bool collect_exponential(factoring *f, grove_node *node)
{
    grove_chain opened = {.constant = {1, 0}};

    if (!grove_node_has_role(node, GROVE_ROLE_EXPONENTIAL) || node->form.shape != GROVE_SCALAR ||
        !is_fitted(f, node) ||
        !grove_chain_open_exponential(&opened, &(grove_factor){.node = node}, NULL))
        return false;
    scale(f, opened.constant[0], opened.constant[1]);
    for (int i = 0; i < opened.count && !f->found->why; i++) {
        grove_operand made = {.kind = GROVE_OPERAND_NODE, .node = opened.at[i].node};
        if (opened.at[i].adjoint)
            made = call(f, GROVE_ROLE_HERMITIAN, made, (grove_operand){0});
        if (!f->found->why)
            add_factor(f, (grove_edge){made.node, opened.at[i].side});
    }
    return true;
}

/* Opens products of values per baseline. */
static void collect(factoring *f, grove_edge edge)
{
    grove_edge inner = {grove_node_behind_casts(edge.node), edge.side};
    grove_node *node = inner.node;
    bool open = grove_node_varies(node, GROVE_AXIS_BASELINE) && is_fitted(f, node);
    grove_grouped_sum sum;

    if (open && grove_grouped_sum_find(node, is_fitted_value, f, &sum)) {
        collect_group(f, &sum);
    } else if (node->kind == GROVE_NODE_CONSTANT && node->form.shape == GROVE_SCALAR &&
               grove_unit_is_none(*(const grove_unit *)(const void *)&node->form.unit)) {
        scale(f, node->constant->number, node->constant->imaginary);
    } else if (open && grove_node_has_role(node, GROVE_ROLE_PRODUCT)) {
        collect(f, node->inputs[0]);
        collect(f, node->inputs[1]);
    } else if (open && grove_node_has_role(node, GROVE_ROLE_NEGATIVE)) {
        scale(f, -1, 0);
        collect(f, node->inputs[0]);
    } else if (!open || !collect_exponential(f, node)) {
        collect_station(f, inner);
    }
}

/* Which factors go left of the middle and which right of it: matrices up to the last with parms
 * seen from p, and from the first with parms seen from q. */
static void find_sides(factoring *f, int *last_left, int *first_right)
{
    *last_left = -1;
    *first_right = f->count;
    for (int i = 0; i < f->count; i++) {
        const factor *at = &f->factors[i];
        if (at->fitted && grove_node_varies(at->edge.node, GROVE_AXIS_BASELINE))
            give_up(f, "%s is no product of Jones terms", at->edge.node);
        if (at->scalar || !at->fitted)
            continue;
        if (at->edge.side == 'q')
            *first_right = i < *first_right ? i : *first_right;
        else
            *last_left = i;
    }
    if (*last_left >= *first_right)
        give_up(f, "Jones terms of station p stand right of those of q%s", NULL);
}

/* Into which product a factor goes. */
static char side_of(const factoring *f, int i, int last_left, int first_right)
{
    const factor *at = &f->factors[i];

    if (at->scalar)
        return !at->fitted ? 'm' : at->edge.side == 'q' ? 'q' : 'p';
    return i <= last_left ? 'p' : i >= first_right ? 'q' : 'm';
}

static void note_variation(factoring *f, const grove_node *node)
{
    f->found->each_time = f->found->each_time || varies_itself(f, node, GROVE_AXIS_TIME);
    f->found->each_channel = f->found->each_channel || varies_itself(f, node, GROVE_AXIS_FREQ);
    f->found->diagonal = f->found->diagonal && node->form.shape != GROVE_MATRIX;
}

static grove_node *conjugate(factoring *f, grove_operand right)
{
    grove_operand made = {0};

    if (grove_node_is_adjoint(right.node))
        return grove_node_behind_casts(right.node->inputs[0].node);
    right.role = 0;
    made = call(f, GROVE_ROLE_HERMITIAN, right, made);
    return made.node;
}

static void add_group(factoring *f, grove_operand left, grove_operand middle, grove_operand right)
{
    grove_factors *found = f->found;

    if (found->count == GROVE_MAX_GROUPS)
        give_up(f, "it has too many terms%s", NULL);
    if (found->why)
        return;
    grove_group *group = &found->groups[found->count++];
    *group = (grove_group){.middle = middle.node, .side = middle.role};
    if (left.kind == GROVE_OPERAND_NODE)
        note_variation(f, group->left = left.node);
    if (right.kind == GROVE_OPERAND_NODE) {
        group->right = conjugate(f, right);
        if (group->right)
            note_variation(f, group->right);
    }
}

/* The products of a term. A factor whose station is left or right keeps that to itself. */
static void add_term(factoring *f, grove_edge term, double sign)
{
    grove_operand left = {0}, middle = {0}, right = {0};
    int last_left, first_right;

    f->count = 0;
    f->grouped = false;
    f->constant[0] = sign;
    f->constant[1] = 0;
    collect(f, term);
    find_sides(f, &last_left, &first_right);
    for (int i = 0; i < f->count && !f->found->why; i++) {
        char side = side_of(f, i, last_left, first_right);
        grove_operand *to = side == 'p' ? &left : side == 'q' ? &right : &middle;
        const grove_edge *edge = &f->factors[i].edge;
        if (side != 'm' && grove_node_varies(edge->node, GROVE_AXIS_BASELINE))
            give_up(f, "%s stands between Jones terms and varies with baseline", edge->node);
        else if (side != 'm' && grove_node_may_be_flagged(edge->node))
            give_up(f, "%s may have flags, and stands outside what is fitted", edge->node);
        else if (side != 'm' && edge->side && edge->side != side)
            give_up(f, "%s is seen from the other station", edge->node);
        else
            *to = multiply(f, *to, operand_of(*edge));
    }
    if (f->found->why)
        return;
    bool scaled = f->constant[0] != 1 || f->constant[1] != 0;
    if (scaled || middle.kind == GROVE_OPERAND_NOTHING) {
        grove_operand constant = number(f, f->constant[0], f->constant[1]);
        middle = middle.kind == GROVE_OPERAND_NOTHING ? constant : multiply(f, constant, middle);
    }
    add_group(f, left, middle, right);
}

/* How many groups of sources a product has a term for each of: of the first sum in it that has
 * groups; 1: none has. */
static int64_t count_groups(factoring *f, const grove_node *value)
{
    grove_node *node = grove_node_behind_casts((grove_node *)value);
    grove_grouped_sum sum;
    int64_t count = 1;

    if (!grove_node_varies(node, GROVE_AXIS_BASELINE) || !is_fitted(f, node))
        return 1;
    if (grove_grouped_sum_find(node, is_fitted_value, f, &sum))
        return sum.groups->size;
    if (!grove_node_has_role(node, GROVE_ROLE_PRODUCT) &&
        !grove_node_has_role(node, GROVE_ROLE_NEGATIVE))
        return 1;
    for (int k = 0; k < node->input_count && count == 1; k++)
        count = count_groups(f, node->inputs[k].node);
    return count;
}

/* ---- sums ---- */

/* Opens sums of values per baseline; those of station values stay what they are. */
static void add_terms(factoring *f, grove_edge edge, double sign)
{
    grove_node *node = grove_node_behind_casts(edge.node);
    bool sum = grove_node_has_role(node, GROVE_ROLE_SUM) ||
               grove_node_has_role(node, GROVE_ROLE_DIFFERENCE);

    edge.node = node;
    if (f->found->why)
        return;
    if (!is_fitted(f, node)) {
        grove_operand term = operand_of(edge);
        if (f->rest.kind == GROVE_OPERAND_NODE)
            f->rest = call(f, sign < 0 ? GROVE_ROLE_DIFFERENCE : GROVE_ROLE_SUM, f->rest, term);
        else
            f->rest = sign < 0 ? multiply(f, number(f, -1, 0), term) : term;
    } else if (sum && grove_node_varies(node, GROVE_AXIS_BASELINE)) {
        add_terms(f, node->inputs[0], sign);
        add_terms(f, node->inputs[1], grove_node_has_role(node, GROVE_ROLE_SUM) ? sign : -sign);
    } else {
        int64_t groups = count_groups(f, node);
        for (f->group = 0; f->group < groups && !f->found->why; f->group++)
            add_term(f, edge, sign);
    }
}

void grove_tree_factor(grove_tree *tree, grove_node *value, const grove_node *const *parms,
                       int parm_count, grove_factors *found)
{
    grove_error *outer = tree->error;
    factoring f = {.tree = tree,
                   .known = tree->node_count,
                   .parms = parms,
                   .parm_count = parm_count,
                   .found = found};

    *found = (grove_factors){.diagonal = true};
    if (!grove_node_varies(value, GROVE_AXIS_BASELINE)) {
        give_up(&f, "%s does not vary with baseline", value);
        return;
    }
    f.depends = grove_alloc(f.known + 1);
    tree->error = grove_error_new(); /* what cannot be made is no fault of the tree */
    add_terms(&f, (grove_edge){value, 0}, 1);
    if (!found->why && f.rest.kind == GROVE_OPERAND_NODE)
        add_group(&f, (grove_operand){0}, f.rest, (grove_operand){0});
    grove_error_free(tree->error);
    tree->error = outer;
    free(f.depends);
}
