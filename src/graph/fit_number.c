/* Jones terms that are numbers of fitted parms. */
#include "graph/chain.h"
#include "graph/factor_groups.h"
#include "graph/neutral.h"

static bool is_of(const grove_fit *fit, const grove_node *leaf)
{
    for (int i = 0; leaf && i < fit->parm_count; i++)
        if (fit->parms[i] == leaf)
            return true;
    return false;
}

/* False: it is no fitted parm, or there is one already. */
static bool take(const grove_fit *fit, const grove_node *value, grove_fit_component *to)
{
    const grove_node *leaf = grove_node_fitted_parm(value);
    const grove_axis *groups;

    if (!is_of(fit, leaf) || to->parm)
        return false;
    *to = (grove_fit_component){
        .parm = leaf,
        .member = leaf->members[grove_node_behind_casts(value->inputs[0].node)->member].name,
        .group = grove_node_parm_group(value, &groups)};
    return true;
}

/* exp(1i * phase), or of an angle exp(1i * phase / 1rad) */
static bool take_phase(const grove_fit *fit, const grove_node *node, grove_fit_number *to)
{
    grove_chain argument = {.constant = {1, 0}};
    bool found = true;

    grove_chain_open(&argument, node->inputs[0], NULL);
    for (int i = 0; i < argument.count && found; i++) {
        const grove_factor *at = &argument.at[i];
        const grove_literal *number = at->node->constant;
        if (at->node->kind == GROVE_NODE_CONSTANT)
            found = number->number == 1 && number->imaginary == 0;
        else
            found = !at->adjoint && !at->inverse && !at->node->form.complex_ &&
                    take(fit, at->node, &to->phase);
    }
    return found && to->phase.parm && argument.constant[0] == 0 && argument.constant[1] == 1;
}

/* Whether it puts scalars together, one for each element. */
static bool is_assembled(const grove_node *node)
{
    int first = 0;

    if (node->kind != GROVE_NODE_CLASS || node->class_->kind != GROVE_CLASS_VALUE ||
        (node->class_->role != GROVE_ROLE_NONE && node->class_->role != GROVE_ROLE_SCALAR &&
         node->class_->role != GROVE_ROLE_DIAGONAL && node->class_->role != GROVE_ROLE_MATRIX) ||
        node->input_count != node->form.shape)
        return false;
    for (int k = 0; k < node->input_count; k++) {
        const grove_node *input = node->inputs[k].node;
        const grove_port *port = grove_port_of_value(node->class_, k);
        if (!input || input->form.shape != GROVE_SCALAR || port->linear != GROVE_LINEAR)
            return false;
        first = k ? first : port->group;
        if (k && (!port->group || port->group != first))
            return false;
    }
    return true;
}

static bool find(const grove_fit *fit, const grove_edge *edge, int element, grove_fit_number *to)
{
    grove_node *node = grove_node_behind_casts(edge->node);

    if (!node || edge->side)
        return false;
    if (grove_node_fitted_parm(node))
        return take(fit, node, &to->number);
    if (grove_node_has_role(node, GROVE_ROLE_EXPONENTIAL) && node->form.shape == GROVE_SCALAR)
        return take_phase(fit, node, to);
    if (grove_node_has_role(node, GROVE_ROLE_PRODUCT) && node->form.shape != GROVE_MATRIX)
        return find(fit, &node->inputs[0], element, to) && find(fit, &node->inputs[1], element, to);
    if (!is_assembled(node))
        return false;
    return find(fit, &node->inputs[node->form.shape == GROVE_SCALAR ? 0 : element], 0, to);
}

bool grove_node_find_number(const grove_node *node, int k, int element, grove_fit_number *number)
{
    *number = (grove_fit_number){0};
    return find(node->fit, &node->inputs[k], element, number);
}
