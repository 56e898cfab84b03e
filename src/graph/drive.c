/* Actions that give leaves new content, and the domains that they see whole. */
#include "graph/call.h"

#include <string.h>

/* ---- new content ---- */

static bool has_constants_only(const grove_node *leaf)
{
    for (size_t i = 0; i < leaf->member_count; i++)
        if (!leaf->members[i].data)
            return false;
    return true;
}

int grove_node_renews(grove_node *node, const char *input)
{
    const grove_port *inputs = node->class_->inputs;
    int i = 0;

    while (inputs && inputs[i].name && strcmp(inputs[i].name, input) != 0)
        i++;
    if (node->class_->kind != GROVE_CLASS_ACTION || !inputs || !inputs[i].name ||
        inputs[i].kind != GROVE_OBJECT || i >= 32)
        return grove_node_fail(node, GROVE_INVALID,
                               "the plugin says that it renews '%s'; only actions can renew an "
                               "object, and it must be among their inputs",
                               input);
    if (node->objects[i] && has_constants_only(node->objects[i]))
        return grove_node_fail(node, GROVE_INVALID,
                               "'%s' cannot have new content: all its members are constant",
                               node->objects[i]->name);
    if (node->objects[i])
        node->renews |= (uint32_t)1 << i;
    return 0;
}

bool grove_node_renews_any(const grove_node *action)
{
    return action->renews || action->fit;
}

bool grove_node_renews_leaf(const grove_node *action, const grove_node *leaf)
{
    for (int i = 0; action->fit && i < action->fit->parm_count; i++)
        if (action->fit->parms[i] == leaf)
            return true;
    for (int i = 0; i < 32; i++)
        if (action->renews >> i & 1 && action->objects[i] == leaf)
            return true;
    return false;
}

bool grove_node_drives(const grove_node *node)
{
    return node->class_ && node->class_->action && node->class_->action->drive;
}

void grove_node_leave_inputs(grove_node *node)
{
    if (!grove_node_drives(node))
        grove_node_fail(node, GROVE_ABI,
                        "the plugin calls grove_node_leave_inputs, but the class has no drive");
    node->leaves_inputs = true;
}

/* ---- domains ---- */

void grove_node_set_parts(grove_node *node, uint64_t bytes, uint64_t once)
{
    if (!grove_node_drives(node))
        grove_node_fail(node, GROVE_ABI,
                        "the plugin calls grove_node_set_parts, but the class has no drive");
    node->in_parts = true;
    node->part_memory = bytes;
    node->once_memory = once;
}

void grove_node_set_repeats(grove_node *node)
{
    if (!node->in_parts)
        grove_node_fail(node, GROVE_ABI,
                        "the plugin calls grove_node_set_repeats without grove_node_set_parts");
    node->repeats = true;
}

static int find_axis(grove_node *node, const char *name, const grove_axis **axis)
{
    int kind = grove_axis_kind(name);

    for (int k = 0; k < node->input_count; k++)
        if (node->inputs[k].node && (*axis = grove_node_input_axis(node, k, kind)))
            return 0;
    return grove_node_fail(node, GROVE_INVALID,
                           "the plugin sets domains along '%s', an axis that no input has", name);
}

int grove_node_set_domains(grove_node *node, const char *axis, const int64_t *first, int64_t count)
{
    const grove_axis *along = NULL;
    int code = find_axis(node, axis, &along);
    bool ascend = !code && count > 0 && first[0] == 0 &&
                  (first[count - 1] < along->size || (count == 1 && !along->size));

    if (code)
        return code;
    for (int64_t k = 1; ascend && k < count; k++)
        ascend = first[k - 1] < first[k];
    if (node->class_->kind != GROVE_CLASS_ACTION || !ascend || node->domain_count == GROVE_MAX_AXES)
        return grove_node_fail(node, GROVE_INVALID,
                               "the plugin sets domains along '%s' that do not begin at 0 and "
                               "ascend within its %lld cells, or the class is not an action",
                               axis, (long long)along->size);
    node->domains[node->domain_count++] = (grove_domains){
        along, grove_arena_copy(node->tree->arena, first, (size_t)count * sizeof(*first)), count};
    return 0;
}
