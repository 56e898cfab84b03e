/* Powers in products: powers of the factors. */
#include "graph/exponent.h"

#include "graph/neutral.h"

#include <complex.h>
#include <math.h>

enum { MAX_TIMES = 64 }; /* of exponentials */

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

/* Whether all factors are exponentials, whose powers are exponentials of multiples. */
static bool are_exponentials(const grove_chain *product)
{
    for (int i = 0; i < product->count; i++)
        if (!grove_node_has_role(product->at[i].node, GROVE_ROLE_EXPONENTIAL) ||
            !product->at[i].scalar)
            return false;
    return product->count > 0;
}

/* The factors to a positive power. */
static bool take_power(grove_chain *product, double power, const grove_node *like,
                       const grove_axis *axis)
{
    const double complex c = product->constant[0] + I * product->constant[1];
    double complex all = c;
    grove_chain taken = {.constant = {1, 0}, .depth = product->depth};

    for (int k = 1; k < power; k++)
        all *= c;
    grove_chain_scale(&taken, creal(all), cimag(all));
    for (int i = 0; i < product->count; i++) {
        grove_factor f = product->at[i];
        if (grove_node_has_role(f.node, GROVE_ROLE_EXPONENTIAL) && f.scalar &&
            grove_chain_open_exponential(&taken, &f, power, axis))
            continue;
        f.node = f.scalar && power <= GROVE_MAX_POWER ? make_power(&f, power, like) : NULL;
        if (!f.node)
            return false;
        grove_chain_add(&taken, &f);
    }
    taken.too_many = taken.too_many || product->too_many;
    *product = taken;
    return true;
}

bool grove_chain_open_power(grove_chain *product, const grove_factor *factor,
                            const grove_axis *axis)
{
    const grove_node *node = factor->node;
    const grove_edge *base = &node->inputs[0];
    const double power = grove_node_number(node, "exponent");
    grove_chain opened = {.constant = {1, 0}, .depth = product->depth};
    grove_factor inside = *factor;

    if (power != rint(power) || power == 0 || fabs(power) > MAX_TIMES)
        return false;
    inside.inverse = factor->inverse != (power < 0);
    inside.node = grove_node_behind_casts(base->node);
    inside.side = base->side ? base->side : factor->side;
    if (grove_node_has_role(inside.node, GROVE_ROLE_EXPONENTIAL))
        return grove_chain_open_exponential(product, &inside, fabs(power), axis);
    grove_chain_open_inside(&opened, &inside, *base, axis);
    bool whole = opened.count == 1 && opened.at[0].node == inside.node;
    bool exponentials = are_exponentials(&opened);
    if (!opened.count ||
        (!exponentials && (fabs(power) > GROVE_MAX_POWER || (whole && power > 0))) ||
        !take_power(&opened, fabs(power), node, axis))
        return false;
    grove_chain_append(product, &opened);
    return true;
}
