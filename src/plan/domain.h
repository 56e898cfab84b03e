/* Domains: parts of the space that an action which fits sees whole, and the nodes that are
 * evaluated again for it.
 */
#ifndef GROVE_PLAN_DOMAIN_H
#define GROVE_PLAN_DOMAIN_H

#include "plan/program.h"

/* Takes over the action's domains, and finds the nodes that depend on leaves to which it gives new
 * content. `parts`: tiles may divide domains along time, if the action takes them in parts. */
void grove_program_take_action(grove_program *program, const grove_tree *tree,
                               const grove_node *action, bool parts);
/* Where the tile ends that begins at `first` and has up to `count` cells: as far as it may without
 * dividing a domain, but at the first domain's end at least. Counted from the begin of the block.
 */
int64_t grove_domain_end(const grove_program *program, int cut, int64_t first, int64_t count);
/* Cells of the longest domain along the axis; 1 without domains. */
int64_t grove_domain_longest(const grove_program *program, int cut);
/* Whether tiles divide domains along the axis. */
bool grove_domain_is_divided(const grove_program *program, int cut);

#endif
