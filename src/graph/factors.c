#include "graph/factors.h"

#include "base/memory.h"
#include "graph/call.h"
#include "graph/exponent.h"
#include "graph/factor_groups.h"

#include <stdlib.h>
#include <string.h>

enum { MAX_DEPTH = 8 }; /* of sums in products that are multiplied out */

typedef struct {
    grove_tree *tree;
    const grove_node *const *parms;
    int parm_count;
    const grove_axis *baseline;
    grove_operand rest; /* sum of the terms that depend on no parm */
    grove_factors *found;
} factoring;

static void give_up(factoring *f, const char *format, const grove_node *node)
{
    if (!f->found->why)
        f->found->why =
            grove_arena_format(f->tree->arena, format, node ? grove_node_shown(node) : "");
}

/* ---- dependence on parms ---- */

static bool is_parm(void *factoring_, const grove_node *node)
{
    const factoring *f = factoring_;
    const grove_node *parm = grove_node_fitted_parm(node);

    for (int i = 0; parm && i < f->parm_count; i++)
        if (f->parms[i] == parm)
            return true;
    return false;
}

static bool is_fitted(factoring *f, const grove_node *node)
{
    return grove_node_reaches(node, is_parm, f);
}

static bool varies_unseen(factoring *f, const grove_node *node, int kind, bool *seen)
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
static bool varies_itself(factoring *f, const grove_node *node, int kind)
{
    bool *seen = grove_alloc((f->tree->node_count + 1) * sizeof(*seen));
    bool found = varies_unseen(f, node, kind, seen);

    free(seen);
    return found;
}

/* ---- products ---- */

static grove_operand add(factoring *f, grove_operand a, grove_operand b)
{
    bool failed = false;
    grove_operand made = grove_chain_call(GROVE_ROLE_SUM, a, b, &a.node->place, &failed);

    if (failed)
        give_up(f, "a part of %s cannot be made", a.node);
    return made;
}

static bool is_fitted_value(void *context, const grove_node *node)
{
    return is_fitted(context, node);
}

static bool stays_whole(void *context, const grove_node *node)
{
    return !is_fitted(context, node);
}

/* Adds the factors of `edge` inside of `factor`, or of a term if that is NULL. */
static void open(factoring *f, grove_chain *product, const grove_factor *factor, grove_edge edge)
{
    grove_chain_open_but(product, factor, edge, f->baseline, stays_whole, f);
    if (product->too_many)
        give_up(f, "%s has too many factors", edge.node);
}

/* The product with its constant, or that alone. */
static grove_operand make(factoring *f, const grove_chain *product)
{
    const grove_node *first = product->count ? product->at[0].node : f->tree->actions[0];
    bool failed = false;
    grove_operand made =
        grove_chain_make_all(f->tree, product, GROVE_PRECISION_DOUBLE, &first->place, &failed);

    if (failed)
        give_up(f, "a part of %s cannot be made", first);
    return made;
}

/* ---- a term ---- */

/* Which factors go left of the middle and which right of it: matrices up to the last with parms
 * seen from p, and from the first with parms seen from q. A matrix without station keeps its
 * place. */
static void find_sides(factoring *f, const grove_chain *term, int *last_left, int *first_right)
{
    bool beyond = false; /* the middle */

    *last_left = -1;
    *first_right = term->count;
    for (int i = 0; i < term->count; i++) {
        const grove_factor *at = &term->at[i];
        bool fitted = is_fitted(f, at->node);
        bool baseline = grove_node_varies(at->node, GROVE_AXIS_BASELINE);
        if (fitted && baseline)
            give_up(f, "%s is not a product of Jones terms", at->node);
        beyond = beyond || (!at->scalar && (baseline || at->side == 'q'));
        if (at->scalar || !fitted)
            continue;
        if (at->side ? at->side == 'q' : beyond)
            *first_right = i < *first_right ? i : *first_right;
        else
            *last_left = i;
    }
    if (*last_left >= *first_right)
        give_up(f, "Jones terms of station p are to the right of Jones terms of q%s", NULL);
}

/* Into which product factor i goes. */
static char side_of(factoring *f, const grove_chain *term, int i, int last_left, int first_right)
{
    const grove_factor *at = &term->at[i];

    if (at->scalar)
        return !is_fitted(f, at->node) ? 'm' : at->side == 'q' ? 'q' : 'p';
    return i <= last_left ? 'p' : i >= first_right ? 'q' : 'm';
}

static void note_variation(factoring *f, const grove_node *node)
{
    f->found->each_time = f->found->each_time || varies_itself(f, node, GROVE_AXIS_TIME);
    f->found->each_channel = f->found->each_channel || varies_itself(f, node, GROVE_AXIS_FREQ);
    f->found->diagonal = f->found->diagonal && node->form.shape != GROVE_MATRIX;
}

/* Terms with the same Jones terms become one, with the sum of the values between these. */
static bool add_to_group(factoring *f, grove_operand left, grove_operand middle,
                         grove_operand right)
{
    for (int g = 0; g < f->found->count; g++) {
        grove_group *group = &f->found->groups[g];
        if (group->left != left.node || group->right != right.node ||
            !grove_node_varies(group->middle, GROVE_AXIS_BASELINE) ||
            !grove_node_varies(middle.node, GROVE_AXIS_BASELINE) ||
            group->middle->form.shape != middle.node->form.shape)
            continue;
        grove_operand before = {.kind = GROVE_OPERAND_NODE, .node = group->middle};
        middle = add(f, before, middle);
        group->middle = f->found->why ? group->middle : middle.node;
        return true;
    }
    return false;
}

/* Right: as the hermitian of this. */
static void add_group(factoring *f, grove_operand left, grove_operand middle, grove_operand right)
{
    grove_factors *found = f->found;

    if (found->why || add_to_group(f, left, middle, right))
        return;
    if (found->count == GROVE_MAX_GROUPS) {
        give_up(f, "it has too many terms%s", NULL);
        return;
    }
    found->groups[found->count++] = (grove_group){
        .left = left.node, .middle = middle.node, .right = right.node, .side = middle.role};
    if (left.node)
        note_variation(f, left.node);
    if (right.node)
        note_variation(f, right.node);
}

/* The same regardless of their order in the text. */
static void sort(grove_chain *product)
{
    for (int i = 0; i < product->count; i++)
        if (product->at[i].node->form.shape == GROVE_MATRIX)
            return;
    grove_chain_sort(product);
}

/* The best place of a factor: 0 left of the middle, 1 in it, 2 right of it. */
static int best_place(factoring *f, const grove_factor *at)
{
    return !is_fitted(f, at->node) ? 1 : at->side == 'q' ? 2 : 0;
}

/* Diagonal factors commute: those without parms go inside, where they are known once for all. */
static void order_diagonals(factoring *f, grove_chain *term)
{
    for (int i = 1; i < term->count; i++)
        for (int k = i; k > 0; k--) {
            const grove_factor before = term->at[k - 1], at = term->at[k];
            if (before.node->form.shape == GROVE_MATRIX || at.node->form.shape == GROVE_MATRIX ||
                best_place(f, &before) <= best_place(f, &at))
                break;
            term->at[k - 1] = at;
            term->at[k] = before;
        }
}

/* The term with exponentials of station q as hermitians of p's, where they depend on parms. */
static grove_chain open_exponentials(factoring *f, const grove_chain *term)
{
    grove_chain opened = {.constant = {term->constant[0], term->constant[1]},
                          .too_many = term->too_many};

    for (int i = 0; i < term->count; i++) {
        const grove_factor *at = &term->at[i];
        if (!at->side || !at->scalar || !is_fitted(f, at->node) ||
            !grove_node_has_role(at->node, GROVE_ROLE_EXPONENTIAL) ||
            !grove_chain_open_exponential(&opened, at, f->baseline))
            grove_chain_add(&opened, at);
    }
    return opened;
}

/* The products of a term. A factor whose station is left or right keeps that to itself. */
static void add_product(factoring *f, const grove_chain *given)
{
    grove_chain opened = open_exponentials(f, given);
    const grove_chain *term = &opened;
    grove_chain parts[3] = {{.constant = {1, 0}}, {.constant = {1, 0}}, {.constant = {1, 0}}};
    grove_chain *left = &parts[0], *middle = &parts[1], *right = &parts[2];
    int last_left, first_right;

    if (opened.too_many)
        give_up(f, "it has too many factors%s", NULL);
    grove_chain_find_diagonals(&opened);
    order_diagonals(f, &opened);
    memcpy(middle->constant, term->constant, sizeof(middle->constant));
    find_sides(f, term, &last_left, &first_right);
    for (int i = 0; i < term->count && !f->found->why; i++) {
        char side = side_of(f, term, i, last_left, first_right);
        grove_factor factor = term->at[i];
        if (side != 'm' && grove_node_varies(factor.node, GROVE_AXIS_BASELINE))
            give_up(f, "%s is between Jones terms and varies with baseline", factor.node);
        else if (side != 'm' && grove_node_may_be_flagged(factor.node))
            give_up(f, "%s may have flags, and is outside the fitted terms", factor.node);
        else if (side != 'm' && factor.side && factor.side != side)
            give_up(f, "%s belongs to the other station", factor.node);
        factor.side = side == 'm' ? factor.side : 0;
        grove_chain_add(side == 'p' ? left : side == 'q' ? right : middle, &factor);
    }
    if (f->found->why)
        return;
    *right = grove_chain_mirror(right);
    sort(left);
    sort(right);
    add_group(f, left->count ? make(f, left) : (grove_operand){0}, make(f, middle),
              right->count ? make(f, right) : (grove_operand){0});
}

/* The first factor from `from` on that is a sum over sources with parms inside, of groups of
 * sources or of all; -1: there is none. */
static int find_grouped(factoring *f, const grove_chain *term, int from, grove_grouped_sum *sum)
{
    for (int i = from; i < term->count; i++)
        if (grove_node_varies(term->at[i].node, GROVE_AXIS_BASELINE) &&
            is_fitted(f, term->at[i].node) && !term->at[i].inverse &&
            grove_grouped_sum_find(term->at[i].node, is_fitted_value, f, sum))
            return i;
    return -1;
}

/* The term with group g in place of the sum, factor i. */
static grove_chain take_group(factoring *f, const grove_chain *term, int i,
                              const grove_grouped_sum *sum, int64_t g)
{
    grove_chain taken = *term;
    const grove_factor *at = &term->at[i];
    grove_node *outer[2] = {NULL, NULL}, *middle = NULL;

    taken.count = i;
    if (!grove_grouped_sum_take(sum, g, outer, &middle)) {
        give_up(f, "%s contains parms of groups of sources that cannot be taken out of it",
                sum->sum);
        return taken;
    }
    grove_edge edges[3] = {{outer[0], 0}, {middle, 0}, {outer[1], 0}};
    for (int k = 0; k < 3; k += 2)
        if (edges[k].node && grove_node_varies(edges[k].node, GROVE_AXIS_STATION))
            edges[k].side = k ? 'q' : 'p';
    for (int k = 0; k < 3; k++)
        if (edges[at->adjoint ? 2 - k : k].node)
            open(f, &taken, at, edges[at->adjoint ? 2 - k : k]);
    for (int j = i + 1; j < term->count; j++)
        grove_chain_add(&taken, &term->at[j]);
    return taken;
}

/* A term for each group of sources of the first sum in the product that has groups. */
static void add_groups(factoring *f, const grove_chain *term)
{
    grove_grouped_sum sum, second;
    int i = find_grouped(f, term, 0, &sum);

    if (i < 0)
        add_product(f, term);
    else if (sum.groups && find_grouped(f, term, i + 1, &second) >= 0)
        give_up(f, "%s is a second sum over groups of sources in a product", second.sum);
    for (int64_t g = 0; i >= 0 && g < (sum.groups ? sum.groups->size : 1) && !f->found->why; g++) {
        grove_chain taken = take_group(f, term, i, &sum, g);
        if (!f->found->why)
            add_groups(f, &taken);
    }
}

/* ---- sums ---- */

/* The first factor that is a sum of values of baselines with parms; -1: there is none. */
static int find_sum(factoring *f, const grove_chain *term)
{
    for (int i = 0; i < term->count; i++) {
        const grove_node *node = term->at[i].node;
        bool sum = grove_node_has_role(node, GROVE_ROLE_SUM) ||
                   grove_node_has_role(node, GROVE_ROLE_DIFFERENCE);
        if (sum && !term->at[i].inverse && is_fitted(f, node) &&
            grove_node_varies(node, GROVE_AXIS_BASELINE))
            return i;
    }
    return -1;
}

static bool has_fitted(factoring *f, const grove_chain *term)
{
    bool any = false;

    for (int i = 0; i < term->count; i++)
        any = any || is_fitted(f, term->at[i].node);
    return any;
}

static void add_rest(factoring *f, const grove_chain *term)
{
    grove_operand made = make(f, term);

    if (!f->found->why)
        f->rest = f->rest.kind == GROVE_OPERAND_NOTHING ? made : add(f, f->rest, made);
}

/* Multiplies out sums of values of baselines, not of station values. */
static void add_terms(factoring *f, const grove_chain *product, int depth)
{
    int i = depth < MAX_DEPTH ? find_sum(f, product) : -1;

    if (f->found->why)
        return;
    if (i < 0 && has_fitted(f, product))
        add_groups(f, product);
    else if (i < 0)
        add_rest(f, product);
    for (int k = 0; i >= 0 && k < 2; k++) {
        const grove_factor *sum = &product->at[i];
        grove_chain term = *product;
        term.count = i;
        if (k && grove_node_has_role(sum->node, GROVE_ROLE_DIFFERENCE))
            grove_chain_scale(&term, -1, 0);
        open(f, &term, sum, sum->node->inputs[k]);
        for (int j = i + 1; j < product->count; j++)
            grove_chain_add(&term, &product->at[j]);
        add_terms(f, &term, depth + 1);
    }
}

void grove_tree_factor(grove_tree *tree, grove_node *value, const grove_node *const *parms,
                       int parm_count, grove_factors *found)
{
    grove_error *outer = tree->error;
    factoring f = {.tree = tree, .parms = parms, .parm_count = parm_count, .found = found};
    grove_chain product = {.constant = {1, 0}};

    *found = (grove_factors){.diagonal = true};
    if (!grove_node_axes_of_kind(value, GROVE_AXIS_BASELINE, &f.baseline, 1)) {
        give_up(&f, "%s does not vary with baseline", value);
        return;
    }
    tree->error = grove_error_new(); /* a failure here is no error of the tree */
    open(&f, &product, NULL, (grove_edge){value, 0});
    add_terms(&f, &product, 0);
    if (!found->why && f.rest.kind == GROVE_OPERAND_NODE)
        add_group(&f, (grove_operand){0}, f.rest, (grove_operand){0});
    grove_error_free(tree->error);
    tree->error = outer;
}
