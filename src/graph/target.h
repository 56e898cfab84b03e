/* Targets: the files and sets that actions write. */
#ifndef GROVE_GRAPH_TARGET_H
#define GROVE_GRAPH_TARGET_H

#include "graph/graph.h"

/* Reports actions that would write the same, at tree->error; 0 or a code. */
int grove_tree_check_targets(const grove_tree *tree);
/* Whether a file that is no action's may be written at `path`: as grove_output_check says, and not
 * in place of anything that the tree reads or its actions write. 0 or a code with a message. */
int grove_tree_check_output(const grove_tree *tree, const char *path, bool overwrite,
                            grove_error *error);
/* The leaf that reads the set which the action writes to, or the model for a new set: only rows of
 * this leaf are written. NULL: none. */
grove_node *grove_target_rows(const grove_node *action);
/* Whether the disks have room for the outputs of all actions. */
int grove_tree_check_room(const grove_tree *tree, grove_error *error);
/* A line for each target, its size and the room there is; NULL with a message for one that cannot
 * be written: it exists already, its folder may not be written, there is no room. Caller frees. */
char *grove_tree_describe_targets(const grove_tree *tree, grove_error *error);

#endif
