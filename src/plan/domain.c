#include "plan/domain.h"

#include "base/memory.h"

#include <stdlib.h>

static bool find_dependents(const grove_node *action, const grove_node *node, signed char *known)
{
    bool depends = false;

    if (known[node->id])
        return known[node->id] > 0;
    if (node->kind == GROVE_NODE_MEMBER)
        depends =
            !node->leaf->members[node->member].data && grove_node_renews_leaf(action, node->leaf);
    for (int k = 0; k < node->input_count; k++)
        if (node->inputs[k].node)
            depends = find_dependents(action, node->inputs[k].node, known) || depends;
    known[node->id] = depends ? 1 : -1;
    return depends;
}

void grove_program_take_action(grove_program *p, const grove_tree *tree, const grove_node *action,
                               bool parts)
{
    for (int d = 0; d < action->domain_count; d++)
        for (int k = 0; k < GROVE_CUTS; k++)
            if (p->block.axis[k] == action->domains[d].axis)
                p->domains[k] = action->domains[d];
    if (!grove_node_drives(action))
        return;
    p->parts = parts && action->in_parts && p->domains[GROVE_CUT_TIME].count &&
               p->cuttable >> GROVE_CUT_TIME & 1;
    p->repeats = p->parts && action->repeats;
    if (p->parts) /* the tiles of a domain follow each other */
        p->cuttable = 1u << GROVE_CUT_TIME;
    p->depends = grove_alloc((tree->node_count + 1) * sizeof(*p->depends));
    for (size_t i = 0; i < tree->node_count; i++)
        find_dependents(action, tree->nodes[i], p->depends);
}

/* Where domain number k begins; the end of the axis after the last. */
static int64_t edge(const grove_domains *d, int64_t k)
{
    return k < d->count ? d->first[k] : d->axis->size;
}

int64_t grove_domain_end(const grove_program *p, int cut, int64_t first, int64_t count)
{
    const grove_domains *d = &p->domains[cut];
    int64_t low = 1, high = d->count;

    if (!d->count)
        return first + count;
    while (low < high) { /* the first edge beyond the cells */
        int64_t middle = (low + high) / 2;
        if (edge(d, middle) > first + count)
            high = middle;
        else
            low = middle + 1;
    }
    if (edge(d, low) > first + count && low > 1 && edge(d, low - 1) > first)
        low--;
    return edge(d, low);
}

int64_t grove_domain_longest(const grove_program *p, int cut)
{
    const grove_domains *d = &p->domains[cut];
    int64_t longest = 1;

    for (int64_t k = 0; k < d->count; k++)
        if (edge(d, k + 1) - edge(d, k) > longest)
            longest = edge(d, k + 1) - edge(d, k);
    return longest;
}

bool grove_domain_is_divided(const grove_program *p, int cut)
{
    return p->parts && cut == GROVE_CUT_TIME;
}
