/* A sum over sources in which groups of them have fitted parms of their own,
 * sum_s F_sp rest_sp B_s rest_sq^H F_sq^H, as a sum over groups g of F_gp M_g,pq F_gq^H; or in
 * which all have the same ones, F_p M_pq F_q^H. */
#ifndef GROVE_GRAPH_FACTOR_GROUPS_H
#define GROVE_GRAPH_FACTOR_GROUPS_H

#include "graph/graph.h"

typedef struct {
    const grove_node *sum;          /* a class with inputs left and right, such as predict */
    const grove_node *leaf;         /* a parm whose groups they are */
    const grove_axis *groups;       /* NULL: all sources have the same */
    grove_node *outer[2], *rest[2]; /* of left, and of right; NULL: none */
} grove_grouped_sum;

/* Whether the node is such a sum. `is_fitted`: whether a value depends on a fitted parm. */
bool grove_grouped_sum_find(grove_node *node, grove_node_test *is_fitted, void *context,
                            grove_grouped_sum *found);
/* The factors of group g, without groups of all sources: per station, seen from p and from q, or
 * NULL, and the sum over its sources. False: they cannot be made. */
bool grove_grouped_sum_take(const grove_grouped_sum *sum, int64_t g, grove_node *outer[2],
                            grove_node **middle);

/* The group whose coefficients a parm's value has, if it has one group's; else -1. */
int64_t grove_node_parm_group(const grove_node *value, const grove_axis **groups);

#endif
