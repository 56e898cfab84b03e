/* Rewrites sums over sources of Jones products into `predict`, which never makes a
 * source-by-baseline array. */
#include "graph/rewrite.h"
#include "graph/neutral.h"

#include "graph/call.h"
#include "graph/fuse.h"

enum { MAX_DEPTH = 6 }; /* of sums in products that are multiplied out */

/* The first factor that is a sum of values of baselines, which differ in the sources; or -1. */
static int find_sum(const grove_fusion *f, const grove_chain *product)
{
    for (int i = 0; i < product->count; i++) {
        const grove_factor *at = &product->at[i];
        bool sum = grove_node_has_role(at->node, GROVE_ROLE_SUM) ||
                   grove_node_has_role(at->node, GROVE_ROLE_DIFFERENCE);
        if (sum && !at->inverse && grove_node_varies(at->node, GROVE_AXIS_BASELINE) &&
            grove_node_has_axis(at->node, f->source))
            return i;
    }
    return -1;
}

static grove_node *rewrite_product(grove_fusion *f, const grove_chain *product, int depth);

/* sum(L (a + b) R) = sum(L a R) + sum(L b R), if each term can be fused. */
static grove_node *rewrite_terms(grove_fusion *f, const grove_chain *product, int i, int depth)
{
    const grove_factor *sum = &product->at[i];
    grove_operand made[2] = {{.kind = GROVE_OPERAND_NODE}, {.kind = GROVE_OPERAND_NODE}};
    bool failed = false;

    for (int k = 0; k < 2; k++) {
        grove_chain term = *product;
        term.count = i;
        grove_chain_open_inside(&term, sum, sum->node->inputs[k], f->source);
        for (int j = i + 1; j < product->count; j++)
            grove_chain_add(&term, &product->at[j]);
        made[k].node = rewrite_product(f, &term, depth + 1);
        if (!made[k].node)
            return NULL;
    }
    return grove_chain_call(sum->node->class_->role, made[0], made[1], &f->sum->place, &failed)
        .node;
}

/* The product with its constant; NULL if it cannot be made. */
static grove_node *make_product(const grove_fusion *f, const grove_chain *product)
{
    bool failed = false;

    return grove_chain_make_all(f->tree, product, GROVE_PRECISION_RUN, &f->sum->place, &failed)
        .node;
}

/* The factor that alone varies with the source; -1: none does, -2: more than one. */
static int find_only_source(const grove_fusion *f, const grove_chain *product)
{
    int found = -1;

    for (int i = 0; i < product->count; i++)
        if (grove_node_has_axis(product->at[i].node, f->source))
            found = found == -1 ? i : -2;
    return found;
}

/* The input in which a node is linear and which alone of its inputs varies with the source, or -1.
 */
static int find_linear_input(const grove_fusion *f, const grove_node *node)
{
    int found = -1;

    if (node->kind != GROVE_NODE_CLASS || grove_class_takes_arrays(node->class_) ||
        grove_node_may_be_flagged(node))
        return -1; /* classes that take arrays may mix sources */
    for (int k = 0; k < node->input_count; k++)
        if (node->inputs[k].node && grove_node_has_axis(node->inputs[k].node, f->source)) {
            if (found >= 0)
                return -1;
            found = k;
        }
    if (found < 0)
        return -1;
    const grove_port *port = grove_port_of_value(node->class_, found);
    bool linear = port->linear && port->linear != GROVE_SELECTOR;
    return linear && !port->group ? found : -1;
}

/* sum(f(x)) = f(sum(x)) of a function that is linear, such as conj, real, select or a mean over
 * channels. */
static grove_node *rewrite_function(grove_fusion *f, const grove_chain *product, int depth)
{
    int i = find_only_source(f, product);
    int k = i < 0 || product->at[i].inverse ? -1 : find_linear_input(f, product->at[i].node);
    grove_operand others[GROVE_MAX_INPUTS] = {{0}};
    grove_chain inner = {.constant = {1, 0}}, outer = *product;

    if (k < 0 || depth == MAX_DEPTH)
        return NULL;
    grove_node *function = product->at[i].node;
    grove_chain_open(&inner, function->inputs[k], f->source);
    grove_node *sum = rewrite_product(f, &inner, depth + 1);
    if (!sum)
        return NULL;
    others[k] = (grove_operand){.kind = GROVE_OPERAND_NODE, .node = sum};
    outer.at[i].node = grove_tree_remake(f->tree, function, others).node;
    return outer.at[i].node ? make_product(f, &outer) : NULL;
}

/* sum(A B^H C) = sum(C^H B A^H)^H. */
static grove_node *rewrite_mirrored(grove_fusion *f, const grove_chain *product)
{
    grove_chain mirrored = grove_chain_mirror(product);
    grove_operand sum = {.kind = GROVE_OPERAND_NODE, .node = grove_fuse(f, &mirrored)};
    bool failed = !sum.node;

    return grove_chain_call(GROVE_ROLE_HERMITIAN, sum, (grove_operand){0}, &f->sum->place, &failed)
        .node;
}

static grove_node *rewrite_product(grove_fusion *f, const grove_chain *given, int depth)
{
    grove_chain opened = *given, *product = &opened;
    int i = depth < MAX_DEPTH ? find_sum(f, product) : -1;
    const char *why;

    grove_chain_find_diagonals(product);
    if (i >= 0)
        return rewrite_terms(f, product, i, depth);
    if (find_only_source(f, product) == -1) {
        grove_chain_scale(product, (double)f->source->size, 0);
        return make_product(f, product);
    }
    grove_node *made = grove_fuse(f, product);
    why = f->why;
    for (int way = 0; way < 2 && !made && why; way++) {
        f->why = NULL;
        made = way ? rewrite_function(f, product, depth) : rewrite_mirrored(f, product);
    }
    f->why = made ? NULL : why;
    return made;
}

/* Whether users of the one can use the other. */
static bool is_alike(const grove_node *a, const grove_node *b)
{
    if (a->axis_count != b->axis_count || a->form.shape != b->form.shape ||
        a->form.complex_ != b->form.complex_)
        return false;
    for (int d = 0; d < a->axis_count; d++)
        if (a->axes[d] != b->axes[d])
            return false;
    return true;
}

static grove_node *rewrite_sum(grove_fusion *f, grove_node *sum)
{
    grove_chain product = {.constant = {1, 0}};

    grove_chain_open(&product, sum->inputs[0], f->source);
    if (sum->class_->reduce == GROVE_REDUCE_MEAN)
        grove_chain_scale(&product, 1 / (double)f->source->size, 0);
    grove_node *result = rewrite_product(f, &product, 0);
    if (result && !is_alike(result, sum)) {
        f->why =
            "there is no point(...) or phase(...) in it, and it is real, or does not vary with "
            "time and channel";
        result = NULL;
    }
    if (!result)
        sum->note = grove_arena_format(f->tree->arena, "not fused, summed in chunks: %s",
                                       f->why ? f->why : "its terms do not fit together");
    return result;
}

/* A mean over no sources is flagged, which no sum is. */
static bool is_source_sum(const grove_node *node)
{
    return node->class_ && node->consumed_count == 1 &&
           node->consumed[0]->kind == GROVE_AXIS_SOURCE &&
           (node->class_->reduce == GROVE_REDUCE_SUM ||
            (node->class_->reduce == GROVE_REDUCE_MEAN && node->consumed[0]->size > 0)) &&
           grove_node_varies(node, GROVE_AXIS_BASELINE);
}

/* The fused value in the precision that users of the sum expect: its factors may make it double
 * where the sum is of the run's precision, and the reverse. */
static grove_node *as_the_sum(grove_node *fused, const grove_node *sum)
{
    if (fused->form.precision == sum->form.precision && fused->form.complex_ == sum->form.complex_)
        return fused;
    return grove_tree_cast(fused, sum->form.precision, sum->form.complex_);
}

int grove_tree_rewrite(grove_tree *tree)
{
    size_t count = tree->node_count; /* new nodes need no second pass */

    grove_tree_drop_neutral(tree);
    for (size_t i = 0; i < count; i++) {
        grove_node *sum = tree->nodes[i];
        if (!is_source_sum(sum))
            continue;
        grove_error *error = tree->error;
        tree->error = grove_error_new(); /* a failed rewriting is not the user's error */
        grove_fusion fusion = {.tree = tree, .sum = sum, .source = sum->consumed[0]};
        grove_node *fused = rewrite_sum(&fusion, sum);
        grove_error_free(tree->error);
        tree->error = error;
        if (!fused)
            continue;
        grove_node_take_name(fused, sum);
        grove_node_replace(tree, sum, as_the_sum(fused, sum));
    }
    grove_tree_drop_neutral(tree);
    return 0;
}
