#include "graph/chain.h"

#include "graph/exponent.h"
#include "graph/literal.h"
#include "graph/neutral.h"

#include <stdlib.h>
#include <string.h>

/* ---- opening ---- */

/* The operations around the part that is opened. */
typedef struct {
    char side;
    bool adjoint, inverse;
    grove_node_test *whole; /* NULL: everything is opened */
    void *context;
} around;

void grove_chain_scale(grove_chain *product, double re, double im)
{
    double a = product->constant[0], b = product->constant[1];

    product->constant[0] = a * re - b * im;
    product->constant[1] = a * im + b * re;
}

void grove_chain_add(grove_chain *product, const grove_factor *factor)
{
    if (product->count == GROVE_MAX_FACTORS)
        product->too_many = true;
    else
        product->at[product->count++] = *factor;
}

/* Whether it is its own transpose. */
static bool is_flat(const grove_node *node)
{
    return node->form.shape == GROVE_SCALAR || node->form.shape == GROVE_DIAGONAL;
}

static bool is_own_adjoint(const grove_node *node)
{
    return node->form.shape != GROVE_MATRIX && !node->form.complex_;
}

bool grove_factor_adjoint(const grove_factor *factor)
{
    return !factor->adjoint && !is_own_adjoint(factor->node);
}

grove_chain grove_chain_mirror(const grove_chain *product)
{
    grove_chain mirrored = {.constant = {product->constant[0], -product->constant[1]}};

    for (int i = product->count; i-- > 0;) {
        grove_factor factor = product->at[i];
        factor.adjoint = grove_factor_adjoint(&factor);
        grove_chain_add(&mirrored, &factor);
    }
    return mirrored;
}

static void add(grove_chain *product, grove_node *node, around o)
{
    grove_chain_add(
        product, &(grove_factor){.node = node,
                                 .side = grove_node_varies(node, GROVE_AXIS_STATION) ? o.side : 0,
                                 .adjoint = o.adjoint && !is_own_adjoint(node),
                                 .inverse = o.inverse,
                                 .scalar = node->form.shape == GROVE_SCALAR});
}

bool grove_node_is_plain_number(const grove_node *node)
{
    return node->kind == GROVE_NODE_CONSTANT && node->form.shape == GROVE_SCALAR &&
           grove_unit_is_none(node->form.unit) &&
           (node->constant->number != 0 || node->constant->imaginary != 0);
}

static void add_number(grove_chain *product, const grove_literal *by, around o)
{
    double re = by->number, im = o.adjoint ? -by->imaginary : by->imaginary;
    double norm = re * re + im * im;

    if (o.inverse)
        grove_chain_scale(product, re / norm, -im / norm);
    else
        grove_chain_scale(product, re, im);
}

const grove_edge *grove_node_adjoint_of(const grove_node *node)
{
    bool conjugate = grove_node_has_role(node, GROVE_ROLE_CONJUGATE);

    if (grove_node_has_role(node, GROVE_ROLE_HERMITIAN) || (conjugate && is_flat(node)))
        return &node->inputs[0];
    if ((!conjugate && !grove_node_has_role(node, GROVE_ROLE_TRANSPOSE)) || node->inputs[0].side)
        return NULL;
    const grove_node *inner = grove_node_behind_casts(node->inputs[0].node);
    return grove_node_has_role(inner, conjugate ? GROVE_ROLE_TRANSPOSE : GROVE_ROLE_CONJUGATE)
               ? &inner->inputs[0]
               : NULL;
}

bool grove_node_is_sum(const grove_node *node)
{
    return grove_node_has_role(node, GROVE_ROLE_SUM) ||
           grove_node_has_role(node, GROVE_ROLE_DIFFERENCE) ||
           grove_node_has_role(node, GROVE_ROLE_COMPLEX);
}

static void open(grove_chain *product, grove_edge edge, around o, const grove_axis *axis);

/* 0 + i x, or x + i 0. */
static bool open_complex(grove_chain *product, const grove_node *node, around o,
                         const grove_axis *axis)
{
    bool imaginary = grove_node_is_number(node->inputs[0].node, 0);

    if (!imaginary && !grove_node_is_number(node->inputs[1].node, 0))
        return false;
    if (imaginary)
        grove_chain_scale(product, 0, o.adjoint != o.inverse ? -1 : 1);
    open(product, node->inputs[imaginary], o, axis);
    return true;
}

/* Products in other spellings. */
static bool open_other(grove_chain *product, const grove_node *node, around o,
                       const grove_axis *axis)
{
    bool sided = grove_node_varies(node, GROVE_AXIS_STATION);
    const grove_factor factor = {.node = (grove_node *)node,
                                 .side = sided ? o.side : 0,
                                 .adjoint = o.adjoint,
                                 .inverse = o.inverse,
                                 .scalar = true};

    if (!sided && !grove_node_varies(node, GROVE_AXIS_BASELINE))
        return false;
    if (grove_node_has_role(node, GROVE_ROLE_COMPLEX) && open_complex(product, node, o, axis))
        return true;
    if (grove_node_is_sum(node))
        return grove_chain_open_cosine(product, &factor, axis);
    return node->form.shape == GROVE_SCALAR && grove_node_has_role(node, GROVE_ROLE_EXPONENTIAL) &&
           grove_chain_open_exponential(product, &factor, axis);
}

static void open(grove_chain *product, grove_edge edge, around o, const grove_axis *axis)
{
    grove_node *node = grove_node_behind_casts(edge.node);
    bool varies = !axis || grove_node_has_axis(node, axis);
    around inside = o;

    inside.side = edge.side ? edge.side : o.side;
    if (product->too_many)
        return;
    if (grove_node_is_plain_number(node)) {
        add_number(product, node->constant, o);
    } else if (o.whole && o.whole(o.context, node)) {
        add(product, node, inside);
    } else if (grove_node_has_role(node, GROVE_ROLE_PRODUCT)) {
        int first = o.adjoint != o.inverse;
        open(product, node->inputs[first], inside, axis);
        open(product, node->inputs[!first], inside, axis);
    } else if (grove_node_has_role(node, GROVE_ROLE_NEGATIVE)) {
        grove_chain_scale(product, -1, 0);
        open(product, node->inputs[0], inside, axis);
    } else if (grove_node_adjoint_of(node)) {
        inside.adjoint = !o.adjoint;
        open(product, *grove_node_adjoint_of(node), inside, axis);
    } else if (varies && grove_node_has_role(node, GROVE_ROLE_INVERSE)) {
        inside.inverse = !o.inverse;
        open(product, node->inputs[0], inside, axis);
    } else if (grove_node_has_role(node, GROVE_ROLE_QUOTIENT) &&
               (varies ||
                grove_node_is_plain_number(grove_node_behind_casts(node->inputs[1].node)))) {
        open(product, node->inputs[0], inside, axis);
        inside.inverse = !o.inverse;
        open(product, node->inputs[1], inside, axis);
    } else if (grove_node_has_role(node, GROVE_ROLE_TRANSPOSE) && is_flat(node)) {
        open(product, node->inputs[0], inside, axis);
    } else if (!varies || !open_other(product, node, inside, axis)) {
        add(product, node, inside);
    }
}

void grove_chain_open(grove_chain *product, grove_edge edge, const grove_axis *axis)
{
    open(product, edge, (around){0}, axis);
}

void grove_chain_open_but(grove_chain *product, const grove_factor *outer, grove_edge edge,
                          const grove_axis *axis, grove_node_test *whole, void *context)
{
    around o = {.whole = whole, .context = context};

    if (outer) {
        o.side = outer->side;
        o.adjoint = outer->adjoint;
        o.inverse = outer->inverse;
    }
    open(product, edge, o, axis);
}

void grove_chain_open_inside(grove_chain *product, const grove_factor *outer, grove_edge edge,
                             const grove_axis *axis)
{
    open(product, edge,
         (around){.side = outer->side, .adjoint = outer->adjoint, .inverse = outer->inverse}, axis);
}

void grove_chain_open_term(grove_chain *product, const grove_factor *sum, int k,
                           const grove_axis *axis)
{
    grove_chain_open_inside(product, sum, sum->node->inputs[k], axis);
    if (k && grove_node_has_role(sum->node, GROVE_ROLE_DIFFERENCE))
        grove_chain_scale(product, -1, 0);
    if (k && grove_node_has_role(sum->node, GROVE_ROLE_COMPLEX))
        grove_chain_scale(product, 0, sum->adjoint != sum->inverse ? -1 : 1);
}

/* ---- diagonals ---- */

/* diagonal(a, d) of matrix(a, 0, 0, d); NULL: it is another, or has flags, which spread more in
 * products of matrices. */
static grove_node *diagonal_of(const grove_node *node)
{
    grove_argument arguments[2] = {{.place = node->place}, {.place = node->place}};
    const grove_class *class_ = NULL;

    if (grove_node_has_role(node, GROVE_ROLE_MATRIX) && !grove_node_may_be_flagged(node) &&
        grove_node_is_number(node->inputs[1].node, 0) &&
        grove_node_is_number(node->inputs[2].node, 0))
        class_ = grove_tree_operator(node->tree, GROVE_ROLE_DIAGONAL);
    for (int k = 0; k < 2 && class_; k++)
        arguments[k].operand = (grove_operand){.kind = GROVE_OPERAND_NODE,
                                               .node = node->inputs[3 * k].node,
                                               .role = node->inputs[3 * k].side};
    return class_ ? grove_tree_call(node->tree, class_, NULL, &node->place, arguments, 2).node
                  : NULL;
}

void grove_chain_find_diagonals(grove_chain *product)
{
    grove_node *made[GROVE_MAX_FACTORS];
    bool matrix = false;

    for (int i = 0; i < product->count; i++) {
        made[i] = diagonal_of(product->at[i].node);
        matrix = matrix || (!made[i] && product->at[i].node->form.shape == GROVE_MATRIX);
    }
    for (int i = 0; i < product->count && matrix; i++)
        if (made[i]) {
            product->at[i].node = made[i];
            product->at[i].adjoint = product->at[i].adjoint && !is_own_adjoint(made[i]);
        }
}

/* ---- the order of scalars ---- */

enum { DEPTH = 8 }; /* how far inputs are compared */

static int compare_text(const char *a, const char *b)
{
    return strcmp(a ? a : "", b ? b : "");
}

static int compare_literals(const grove_literal *a, const grove_literal *b)
{
    grove_hash left = grove_literal_hash(grove_hash_start(), a);
    grove_hash right = grove_literal_hash(grove_hash_start(), b);

    return memcmp(&left, &right, sizeof(left));
}

/* Options that are constants, then inputs. */
static int compare_nodes(const grove_node *a, const grove_node *b, int depth)
{
    int order = (int)a->kind - (int)b->kind;

    if (a == b || depth == DEPTH)
        return 0;
    if (!order)
        order = compare_text(a->class_ ? a->class_->name : "", b->class_ ? b->class_->name : "");
    if (!order && a->kind == GROVE_NODE_CONSTANT)
        order = compare_literals(a->constant, b->constant);
    if (!order && a->kind == GROVE_NODE_MEMBER) {
        order = compare_text(a->leaf->members[a->member].name, b->leaf->members[b->member].name);
        order = order ? order : compare_nodes(a->leaf, b->leaf, depth + 1);
    }
    const grove_port *options = a->class_ ? a->class_->options : NULL;
    for (int i = 0; options && options[i].name && !order; i++)
        if (a->options[i].value && b->options[i].value)
            order = compare_literals(a->options[i].value, b->options[i].value);
    for (int k = 0; k < a->input_count && k < b->input_count && !order; k++) {
        const grove_node *x = grove_node_behind_casts(a->inputs[k].node);
        const grove_node *y = grove_node_behind_casts(b->inputs[k].node);
        order = x && y ? compare_nodes(x, y, depth + 1) : (x != NULL) - (y != NULL);
    }
    return order;
}

static int compare_factors(const void *left, const void *right)
{
    const grove_factor *a = left, *b = right;
    int order = compare_nodes(a->node, b->node, 0);

    order = order ? order : a->adjoint - b->adjoint;
    order = order ? order : a->inverse - b->inverse;
    return order ? order : a->node->id - b->node->id;
}

void grove_chain_sort(grove_chain *product)
{
    qsort(product->at, (size_t)product->count, sizeof(product->at[0]), compare_factors);
}

int grove_chain_compare(const grove_chain *a, const grove_chain *b)
{
    int order = a->count - b->count;

    for (int i = 0; i < a->count && !order; i++)
        order = compare_factors(&a->at[i], &b->at[i]);
    for (int k = 0; k < 2 && !order; k++)
        order = (a->constant[k] > b->constant[k]) - (a->constant[k] < b->constant[k]);
    return order;
}

/* ---- putting together ---- */

grove_operand grove_chain_call(grove_role role, grove_operand a, grove_operand b,
                               const grove_place *place, bool *failed)
{
    grove_argument arguments[2] = {{.operand = a, .place = *place},
                                   {.operand = b, .place = *place}};
    size_t count = b.kind == GROVE_OPERAND_NOTHING ? 1 : 2;
    grove_operand made = {0};

    if (*failed)
        return made;
    const grove_class *class_ = grove_tree_operator(a.node->tree, role);
    if (class_)
        made = grove_tree_call(a.node->tree, class_, NULL, place, arguments, count);
    *failed = made.kind != GROVE_OPERAND_NODE;
    made.role = 0;
    if (!*failed && grove_node_varies(made.node, GROVE_AXIS_STATION))
        made.role = a.role ? a.role : b.role;
    return made;
}

grove_operand grove_chain_multiply(grove_operand a, grove_operand b, const grove_place *place,
                                   bool *failed)
{
    if (a.kind == GROVE_OPERAND_NOTHING)
        return b;
    if (b.kind == GROVE_OPERAND_NOTHING)
        return a;
    return grove_chain_call(GROVE_ROLE_PRODUCT, a, b, place, failed);
}

grove_operand grove_chain_number(grove_tree *tree, double re, double im, grove_unit unit,
                                 grove_precision precision, const grove_place *place)
{
    /* no -0, which is another constant */
    grove_literal number = {.kind = GROVE_LITERAL_NUMBER,
                            .number = re == 0 ? 0 : re,
                            .imaginary = im == 0 ? 0 : im,
                            .unit = unit};

    return (grove_operand){.kind = GROVE_OPERAND_NODE,
                           .node = grove_tree_constant(tree, &number, precision, place)};
}

static grove_operand make_factor(const grove_factor *f, const grove_place *place, bool *failed)
{
    grove_operand made = {.kind = GROVE_OPERAND_NODE, .node = f->node, .role = f->side};
    const grove_operand none = {0};

    if (f->inverse)
        made = grove_chain_call(GROVE_ROLE_INVERSE, made, none, place, failed);
    if (f->adjoint)
        made = grove_chain_call(GROVE_ROLE_HERMITIAN, made, none, place, failed);
    return made;
}

grove_operand grove_chain_make(const grove_chain *product, bool from_left, const grove_place *place,
                               bool *failed)
{
    grove_operand all = {0};

    for (int i = 0; i < product->count && !*failed; i++) {
        const grove_factor *f = &product->at[from_left ? i : product->count - 1 - i];
        grove_operand next = make_factor(f, place, failed);
        all = grove_chain_multiply(from_left ? all : next, from_left ? next : all, place, failed);
    }
    return all;
}

grove_operand grove_chain_make_all(grove_tree *tree, const grove_chain *product,
                                   grove_precision precision, const grove_place *place,
                                   bool *failed)
{
    const double *c = product->constant;
    grove_operand made = grove_chain_make(product, true, place, failed);

    if (product->count && c[0] == 1 && c[1] == 0)
        return made;
    return grove_chain_multiply(
        grove_chain_number(tree, c[0], c[1], GROVE_UNIT_NONE, precision, place), made, place,
        failed);
}

grove_operand grove_chain_make_right(const grove_chain *product, bool from_left,
                                     const grove_place *place, bool *failed)
{
    bool adjoint = false, one_side = true;

    for (int i = 0; i < product->count; i++) {
        adjoint = adjoint || product->at[i].adjoint;
        one_side = one_side && !grove_node_varies(product->at[i].node, GROVE_AXIS_BASELINE);
    }
    if (!adjoint || !one_side)
        return grove_chain_make(product, !from_left, place, failed);
    grove_chain mirrored = grove_chain_mirror(product);
    grove_operand made = grove_chain_make(&mirrored, from_left, place, failed);
    return grove_chain_call(GROVE_ROLE_HERMITIAN, made, (grove_operand){0}, place, failed);
}
