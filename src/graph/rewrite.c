/* Rewrites sums over sources of Jones products into `predict`, which never makes a
 * source-by-baseline array. */
#include "graph/rewrite.h"

#include "base/memory.h"
#include "base/text.h"
#include "graph/call.h"

#include <stdlib.h>
#include <string.h>

enum { MAX_FACTORS = 64 };

typedef struct {
    grove_edge edge;
    bool scalar;
} factor;

typedef struct {
    grove_tree *tree;
    const grove_axis *source;
    const bool *flagged; /* by node id: its value may have flags */
    factor factors[MAX_FACTORS];
    int count;
    int point;          /* index of the point node among the factors */
    double constant[2]; /* product of constant factors */
    const char *why;    /* NULL, or why it cannot be fused */
} product;

static const grove_node *behind_cast(const grove_node *node)
{
    while (node->kind == GROVE_NODE_CAST)
        node = node->inputs[0].node;
    return node;
}

static void add_constant(product *p, double re, double im)
{
    double a = p->constant[0], b = p->constant[1];

    p->constant[0] = a * re - b * im;
    p->constant[1] = a * im + b * re;
}

/* Flattens nested products into p->factors, in order. Only products at baseline level are opened: a
 * product of station values is itself a station value. */
static void collect(product *p, grove_edge edge)
{
    grove_node *node = edge.node;
    const grove_node *inner = behind_cast(node);
    bool open = grove_node_varies(node, GROVE_AXIS_BASELINE);

    if (p->why)
        return;
    if (inner->kind == GROVE_NODE_CONSTANT && inner->form.shape == GROVE_SCALAR) {
        add_constant(p, inner->constant->number, inner->constant->imaginary);
    } else if (open && grove_node_has_role(node, GROVE_ROLE_PRODUCT)) {
        collect(p, node->inputs[0]);
        collect(p, node->inputs[1]);
    } else if (open && grove_node_has_role(node, GROVE_ROLE_NEGATIVE)) {
        add_constant(p, -1, 0);
        collect(p, node->inputs[0]);
    } else if (open && grove_node_has_role(node, GROVE_ROLE_QUOTIENT) &&
               behind_cast(node->inputs[1].node)->kind == GROVE_NODE_CONSTANT) {
        const grove_literal *by = behind_cast(node->inputs[1].node)->constant;
        double norm = by->number * by->number + by->imaginary * by->imaginary;
        add_constant(p, by->number / norm, -by->imaginary / norm);
        collect(p, node->inputs[0]);
    } else if (p->count == MAX_FACTORS) {
        p->why = "the product has too many factors";
    } else {
        p->factors[p->count].edge = edge;
        p->factors[p->count++].scalar = node->form.shape == GROVE_SCALAR;
    }
}

static const char *reason(product *p, const factor *f, const char *text)
{
    return grove_arena_format(p->tree->arena, "'%s' %s", f->edge.node->name, text);
}

static void find_point(product *p)
{
    p->point = -1;
    for (int i = 0; i < p->count && !p->why; i++) {
        if (!grove_node_has_role(p->factors[i].edge.node, GROVE_ROLE_SOURCE) ||
            !grove_node_has_axis(p->factors[i].edge.node, p->source))
            continue;
        if (p->point >= 0)
            p->why = "the product has more than one point";
        p->point = i;
    }
    if (p->point < 0 && !p->why)
        p->why = "there is no point(...) in the product";
}

/* Checks that a factor beside the point inside the sum is a station value of its own side, or
 * varies with neither. */
static void check_factor(product *p, int i)
{
    const factor *f = &p->factors[i];
    char side = f->edge.side;

    if (grove_node_varies(f->edge.node, GROVE_AXIS_BASELINE))
        p->why = reason(p, f, "varies with source and baseline");
    else if (p->flagged[f->edge.node->id])
        p->why = reason(p, f, "may have flags, and a sum leaves out flagged samples");
    else if (!f->scalar && i < p->point && side == 'q')
        p->why = reason(p, f, "is seen from q but stands left of the point");
    else if (!f->scalar && i > p->point && side == 'p')
        p->why = reason(p, f, "is seen from p but stands right of the point");
}

static grove_operand as_operand(grove_edge edge)
{
    return (grove_operand){
        .kind = GROVE_OPERAND_NODE, .node = edge.node, .role = edge.side ? edge.side : 0};
}

/* a * b, by the class of the sum's own products. */
static grove_operand multiply(product *p, const grove_class *class_, grove_operand a,
                              grove_operand b, const grove_place *place)
{
    grove_argument arguments[2] = {{.operand = a, .place = *place},
                                   {.operand = b, .place = *place}};

    if (a.kind == GROVE_OPERAND_NOTHING)
        return b;
    return grove_tree_call(p->tree, class_, NULL, place, arguments, 2);
}

static const grove_class *multiply_class(const grove_node *node, int depth)
{
    if (grove_node_has_role(node, GROVE_ROLE_PRODUCT))
        return node->class_;
    for (int k = 0; depth < 8 && k < node->input_count; k++)
        if (node->inputs[k].node) {
            const grove_class *found = multiply_class(node->inputs[k].node, depth + 1);
            if (found)
                return found;
        }
    return NULL;
}

typedef struct {
    grove_operand left, right;             /* station Jones terms inside the sum */
    grove_operand outer_left, outer_right; /* factors without source axis, outside the sum */
} sides;

/* Assigns factor i to an operand of `s`. Scalars commute; matrices without source axis at either
 * end leave the sum. */
static grove_operand *place_of(product *p, sides *s, int i, int first_inner, int last_inner)
{
    const factor *f = &p->factors[i];
    bool source = grove_node_has_axis(f->edge.node, p->source);

    if (f->scalar && !source)
        return &s->outer_left;
    if (f->scalar)
        return f->edge.side == 'q' ? &s->right : &s->left;
    if (i < first_inner)
        return &s->outer_left;
    if (i > last_inner)
        return &s->outer_right;
    return i < p->point ? &s->left : &s->right;
}

static void split(product *p, const grove_class *class_, const grove_place *place, sides *s)
{
    int first = 0, last = p->count - 1;

    while (first < p->point && !grove_node_has_axis(p->factors[first].edge.node, p->source))
        first++;
    while (last > p->point && !grove_node_has_axis(p->factors[last].edge.node, p->source))
        last--;
    for (int i = 0; i < p->count && !p->why; i++) {
        if (i == p->point)
            continue;
        bool outside =
            i < first || i > last ||
            (p->factors[i].scalar && !grove_node_has_axis(p->factors[i].edge.node, p->source));
        if (!outside)
            check_factor(p, i);
        grove_operand *at = place_of(p, s, i, first, last);
        if (!p->why)
            *at = multiply(p, class_, *at, as_operand(p->factors[i].edge), place);
        if (!p->why && at->kind != GROVE_OPERAND_NODE)
            p->why = "its factors do not fit together";
    }
}

/* predict with those inputs of `point` that both classes have. */
static grove_operand make_predict(product *p, const grove_class *predict, const grove_node *sum,
                                  const sides *s)
{
    const grove_node *point = p->factors[p->point].edge.node;
    const grove_class *class_ = point->class_;
    grove_argument arguments[GROVE_MAX_INPUTS + 64] = {{0}};
    size_t count = 0;

    for (int i = 0; class_->inputs && class_->inputs[i].name; i++)
        if (point->objects[i]) {
            arguments[count].name = class_->inputs[i].name;
            arguments[count++].operand =
                (grove_operand){.kind = GROVE_OPERAND_NODE, .node = point->objects[i]};
        }
    for (int k = 0; k < point->input_count; k++)
        if (point->inputs[k].node) {
            arguments[count].name = point->input_names[k];
            arguments[count++].operand = as_operand(point->inputs[k]);
        }
    for (int i = 0; class_->options && class_->options[i].name && count < 60; i++)
        if (!grove_kind_is_value(class_->options[i].kind)) {
            arguments[count].name = class_->options[i].name;
            arguments[count++].operand =
                (grove_operand){.kind = GROVE_OPERAND_LITERAL, .literal = point->options[i].value};
        }
    if (s->left.kind == GROVE_OPERAND_NODE)
        arguments[count] = (grove_argument){.name = "left", .operand = s->left}, count++;
    if (s->right.kind == GROVE_OPERAND_NODE)
        arguments[count] = (grove_argument){.name = "right", .operand = s->right}, count++;
    return grove_tree_call(p->tree, predict, NULL, &sum->place, arguments, count);
}

static grove_operand apply_outer(product *p, const grove_class *class_, grove_operand result,
                                 const sides *s, const grove_place *place)
{
    if (p->constant[0] != 1 || p->constant[1] != 0) {
        grove_literal number = {
            .kind = GROVE_LITERAL_NUMBER, .number = p->constant[0], .imaginary = p->constant[1]};
        grove_operand constant = {.kind = GROVE_OPERAND_NODE};
        constant.node = grove_tree_constant(p->tree, &number, GROVE_PRECISION_RUN, place);
        result = multiply(p, class_, constant, result, place);
    }
    if (result.kind == GROVE_OPERAND_NODE && s->outer_left.kind == GROVE_OPERAND_NODE)
        result = multiply(p, class_, s->outer_left, result, place);
    if (result.kind == GROVE_OPERAND_NODE && s->outer_right.kind == GROVE_OPERAND_NODE)
        result = multiply(p, class_, result, s->outer_right, place);
    return result;
}

/* The sum over the values of a source class. */
static const grove_class *fused_class(product *p)
{
    const char *name = p->factors[p->point].edge.node->class_->fused;
    const grove_class *found =
        p->tree->classes ? grove_classes_find(p->tree->classes, name, p->tree->error) : NULL;

    if (!found)
        p->why = grove_arena_format(p->tree->arena, "there is no class %s", name);
    return found;
}

/* The node that replaces `sum`, or NULL with p->why. */
static grove_node *fuse(product *p, grove_node *sum)
{
    grove_tree *tree = p->tree;
    const grove_class *class_ = multiply_class(sum, 0), *predict = NULL;
    sides s = {0};

    find_point(p);
    if (!p->why)
        predict = fused_class(p);
    if (!class_)
        class_ = grove_tree_operator(tree, GROVE_ROLE_PRODUCT);
    if (!p->why)
        split(p, class_, &sum->place, &s);
    if (p->why)
        return NULL;
    grove_operand result = make_predict(p, predict, sum, &s);
    grove_node *fused = result.node;
    if (result.kind == GROVE_OPERAND_NODE)
        result = apply_outer(p, class_, result, &s, &sum->place);
    if (result.kind != GROVE_OPERAND_NODE) {
        p->why = grove_arena_format(tree->arena, "%s does not take these terms", predict->name);
        return NULL;
    }
    fused->fused = grove_arena_format(tree->arena, "fused from the sum over %s", p->source->name);
    return result.node;
}

static grove_node *rewrite_sum(grove_tree *tree, const bool *flagged, grove_node *sum,
                               grove_edge body);

/* sum(a + b) = sum(a) + sum(b), if each term varies with the source and can be fused. */
static grove_node *split_terms(grove_tree *tree, const bool *flagged, grove_node *sum,
                               grove_node *body)
{
    grove_node *term[2];
    grove_argument arguments[2] = {{0}};

    for (int k = 0; k < 2; k++) {
        if (!grove_node_has_axis(body->inputs[k].node, sum->consumed[0]))
            return NULL;
        term[k] = rewrite_sum(tree, flagged, sum, body->inputs[k]);
        if (!term[k])
            return NULL;
        arguments[k].operand = (grove_operand){.kind = GROVE_OPERAND_NODE, .node = term[k]};
        arguments[k].place = sum->place;
    }
    return grove_tree_call(tree, body->class_, NULL, &sum->place, arguments, 2).node;
}

static grove_node *rewrite_sum(grove_tree *tree, const bool *flagged, grove_node *sum,
                               grove_edge body)
{
    product p = {.tree = tree, .source = sum->consumed[0], .flagged = flagged, .constant = {1, 0}};
    grove_node *result = NULL;

    if ((grove_node_has_role(body.node, GROVE_ROLE_SUM) ||
         grove_node_has_role(body.node, GROVE_ROLE_DIFFERENCE)) &&
        grove_node_varies(body.node, GROVE_AXIS_BASELINE))
        result = split_terms(tree, flagged, sum, body.node);
    if (!result) {
        collect(&p, body);
        result = fuse(&p, sum);
    }
    if (!result)
        sum->note = grove_arena_format(tree->arena, "not fused, summed in chunks: %s", p.why);
    return result;
}

static bool is_source_sum(const grove_node *node)
{
    return node->class_ && node->class_->reduce == GROVE_REDUCE_SUM && node->consumed_count == 1 &&
           node->consumed[0]->kind == GROVE_AXIS_SOURCE &&
           grove_node_varies(node, GROVE_AXIS_BASELINE);
}

void grove_node_replace(grove_tree *tree, const grove_node *old, grove_node *new)
{
    for (size_t i = 0; i < tree->node_count; i++)
        for (int k = 0; k < tree->nodes[i]->input_count; k++)
            if (tree->nodes[i]->inputs[k].node == old && tree->nodes[i] != new)
                tree->nodes[i]->inputs[k].node = new;
}

/* Whether values may have flags, by node id. */
static bool *find_flagged(const grove_tree *tree)
{
    bool *flagged = grove_alloc(tree->node_count + 1);

    for (size_t i = 0; i < tree->node_count; i++) {
        const grove_node *node = tree->nodes[i];
        flagged[i] = node->kind == GROVE_NODE_MEMBER && node->form.flags;
        for (int k = 0; k < node->input_count; k++)
            flagged[i] = flagged[i] || (node->inputs[k].node && flagged[node->inputs[k].node->id]);
    }
    return flagged;
}

int grove_tree_rewrite(grove_tree *tree)
{
    size_t count = tree->node_count; /* new nodes need no second pass */
    bool *flagged = find_flagged(tree);

    for (size_t i = 0; i < count; i++) {
        grove_node *sum = tree->nodes[i];
        if (!is_source_sum(sum))
            continue;
        grove_error *error = tree->error;
        tree->error = grove_error_new(); /* a failed rewriting is not the user's error */
        grove_node *fused = rewrite_sum(tree, flagged, sum, sum->inputs[0]);
        grove_error_free(tree->error);
        tree->error = error;
        if (!fused)
            continue;
        grove_node_replace(tree, sum, fused);
        if (fused->auto_named && !sum->auto_named) {
            fused->name = sum->name;
            fused->auto_named = false;
        }
    }
    free(flagged);
    grove_tree_drop_neutral(tree);
    return 0;
}
