#include "graph/exponent.h"

#include "graph/neutral.h"

#include <complex.h>
#include <math.h>
#include <string.h>

enum { MAX_VISITS = 64, MAX_DEPTH = 4 };

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

static bool have_same_terms(const grove_chain *a, const grove_chain *b, int count)
{
    bool used[GROVE_MAX_TERMS] = {false};

    for (int i = 0; i < count; i++) {
        int k = 0;
        while (k < count &&
               (used[k] || !have_same(&a[i], &b[k]) || a[i].constant[0] != b[k].constant[0] ||
                a[i].constant[1] != b[k].constant[1]))
            k++;
        if (k == count)
            return false;
        used[k] = true;
    }
    return true;
}

/* 1: both are the same sums of the same terms; -1: the one is minus the other; else 0. */
static int compare_angles(const grove_factor *a, const grove_factor *b, int depth)
{
    const grove_edge *x = &a->node->inputs[0], *y = &b->node->inputs[0];
    grove_chain terms[2][GROVE_MAX_TERMS];
    int count[2];

    if (x->side == y->side && grove_node_behind_casts(x->node) == grove_node_behind_casts(y->node))
        return 1;
    count[0] = grove_chain_open_sum(terms[0], a, *x, depth);
    count[1] = grove_chain_open_sum(terms[1], b, *y, depth);
    for (int sign = 1; sign >= -1 && count[0] > 0 && count[0] == count[1]; sign -= 2) {
        if (have_same_terms(terms[0], terms[1], count[0]))
            return sign;
        for (int i = 0; i < count[1]; i++)
            grove_chain_scale(&terms[1][i], -1, 0);
    }
    return 0;
}

/* Two parts of a complex number. */
typedef struct {
    grove_role first, second;
} pair;

static const pair pairs[] = {{GROVE_ROLE_COSINE, GROVE_ROLE_SINE},
                             {GROVE_ROLE_REAL, GROVE_ROLE_IMAGINARY}};
enum { PAIRS = sizeof(pairs) / sizeof(pairs[0]) };

/* Takes cos x out of the one term and sin x of the same real scalar out of the other, or the parts
 * of another number. 1, or -1 if it is sin -x; 0: there are none. */
static int take_functions(grove_chain *common, grove_chain *other, bool inverse,
                          grove_factor *first)
{
    for (int i = 0; i < common->count; i++)
        for (int k = 0; k < other->count; k++)
            for (int n = 0; n < PAIRS; n++) {
                const grove_factor *c = &common->at[i], *s = &other->at[k];
                if (!is_of_real(c, pairs[n].first, inverse) ||
                    !is_of_real(s, pairs[n].second, inverse) || c->side != s->side)
                    continue;
                int sign = compare_angles(c, s, common->depth);
                if (!sign)
                    continue;
                *first = take(common, i);
                take(other, k);
                return sign;
            }
    return 0;
}

static grove_operand call(const grove_node *like, grove_role role, grove_operand a, grove_operand b)
{
    const grove_class *class_ = grove_tree_operator(like->tree, role);
    grove_argument arguments[2] = {{.operand = a, .place = like->place},
                                   {.operand = b, .place = like->place}};
    size_t count = b.kind == GROVE_OPERAND_NOTHING ? 1 : 2;
    grove_operand made = {0};

    if (class_ && a.kind == GROVE_OPERAND_NODE)
        made = grove_tree_call(like->tree, class_, NULL, &like->place, arguments, count);
    return made;
}

/* exp(i x) of the angle of a cosine, or exp(-i x). */
static grove_node *make_exponential(const grove_factor *cosine, double sign)
{
    grove_node *node = cosine->node, *x = node->inputs[0].node;
    grove_literal number = {.kind = GROVE_LITERAL_NUMBER, .imaginary = sign};

    number.unit = grove_unit_divide(GROVE_UNIT_NONE, x->form.unit);
    grove_operand i = {
        .kind = GROVE_OPERAND_NODE,
        .node = grove_tree_constant(node->tree, &number, GROVE_PRECISION_RUN, &node->place)};
    grove_operand angle = {.kind = GROVE_OPERAND_NODE, .node = x, .role = node->inputs[0].side};
    grove_operand turned = call(node, GROVE_ROLE_PRODUCT, i, angle);
    if (grove_node_varies(x, GROVE_AXIS_STATION))
        turned.role = node->inputs[0].side;
    return call(node, GROVE_ROLE_EXPONENTIAL, turned, (grove_operand){0}).node;
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
        !grove_node_has_role(node, GROVE_ROLE_INVERSE) && !grove_node_adjoint_of(node))
        return false;
    return has_factor(node->inputs[0].node, role, visits) ||
           (two && has_factor(node->inputs[1].node, role, visits));
}

/* Whether one term has a cosine and the other a sine, or the parts of a number: before they are
 * opened, which takes as long as all that is in them. */
static bool may_be_pair(const grove_node *sum, const pair *of)
{
    bool found[2][2];

    for (int k = 0; k < 2; k++)
        for (int second = 0; second < 2; second++) {
            int visits = MAX_VISITS;
            found[k][second] =
                has_factor(sum->inputs[k].node, second ? of->second : of->first, &visits);
        }
    return (found[0][0] && found[1][1]) || (found[0][1] && found[1][0]);
}

static bool may_be_any(const grove_node *sum)
{
    for (int n = 0; n < PAIRS; n++)
        if (may_be_pair(sum, &pairs[n]))
            return true;
    return false;
}

/* Adds exp(i x) of cos x, z of its real part; or the conjugate of that. */
static bool add_number(grove_chain *product, const grove_factor *first, bool conjugate,
                       const grove_axis *axis)
{
    grove_chain opened = {.constant = {1, 0}, .depth = product->depth + 1};
    grove_factor whole = {
        .adjoint = conjugate, .inverse = first->inverse, .side = first->side, .scalar = true};

    if (grove_node_has_role(first->node, GROVE_ROLE_REAL)) {
        grove_chain_open_inside(&opened, &whole, first->node->inputs[0], axis);
        grove_chain_append(product, &opened);
        return true;
    }
    whole.adjoint = false;
    whole.node = make_exponential(first, conjugate ? -1 : 1);
    if (!whole.node)
        return false;
    whole.side = grove_node_varies(whole.node, GROVE_AXIS_STATION) ? first->side : 0;
    if (!grove_chain_open_exponential(product, &whole, axis))
        grove_chain_add(product, &whole);
    return true;
}

/* Both terms are opened with the operations around the sum: of an inverse as 1 / c cos x and 1 / i
 * c sin x. */
bool grove_chain_open_cosine(grove_chain *product, const grove_factor *factor,
                             const grove_axis *axis)
{
    const grove_node *sum = factor->node;
    grove_chain term[2] = {{.constant = {1, 0}, .depth = product->depth + 1},
                           {.constant = {1, 0}, .depth = product->depth + 1}};
    grove_factor part;
    int first = 0, sign = 0;

    if (product->depth >= MAX_DEPTH || !may_be_any(sum))
        return false;
    for (int k = 0; k < 2; k++)
        grove_chain_open_term(&term[k], factor, k, axis);
    for (; first < 2; first++) {
        sign = take_functions(&term[first], &term[!first], factor->inverse, &part);
        if (sign)
            break;
    }
    if (!sign || term[0].too_many || term[1].too_many || !have_same(&term[0], &term[1]))
        return false;
    const double *c = term[first].constant, *s = term[!first].constant;
    double complex ratio = sign * (s[0] + I * s[1]) / (c[0] + I * c[1]);
    double turn = copysign(1, cimag(ratio));
    grove_chain whole = {.constant = {1, 0}, .depth = product->depth};
    if (!(cabs(ratio - I * turn) < 1e-15) ||
        !add_number(&whole, &part, (turn < 0) != factor->inverse, axis))
        return false;
    grove_chain_append(product, &term[first]);
    grove_chain_append(product, &whole);
    return true;
}
