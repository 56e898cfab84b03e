/* Steps of making a node from a call; internal to graph/. */
#ifndef GROVE_GRAPH_CALL_H
#define GROVE_GRAPH_CALL_H

#include "graph/graph.h"

enum { GROVE_MAX_PORTS = 256, GROVE_FAULT_BYTES = 160 }; /* inputs and options of a class */

/* Binds arguments to the class's inputs and options, fills in defaults; reports all faults. roles:
 * of the bound inputs' station axes, [GROVE_MAX_INPUTS]. */
int grove_bind_arguments(grove_node *node, const grove_argument *arguments, size_t count,
                         char *roles);
/* Axes, sides and role of the node from its inputs. */
int grove_infer_axes(grove_node *node, const char *roles);
/* Which axes a reduction consumes; which part a selection takes. */
int grove_infer_reduction(grove_node *node);
int grove_infer_selection(grove_node *node);
/* Checks units and shapes of the inputs against what the class declares. */
int grove_infer_forms(grove_node *node);
/* Checks at which side of a product the stations p and q stand; and what comes of it. */
int grove_check_sides(const grove_node *node);
grove_sides grove_infer_sides(const grove_node *node);
/* Reports at input k; returns `code`. */
int grove_infer_fail(const grove_node *node, int k, int code, const char *format, ...)
    __attribute__((format(printf, 4, 5)));
/* Puts casts where an input's numbers are not as the class wants them. */
void grove_infer_casts(grove_node *node);

/* The precision in which inputs so handed over arrive; GROVE_PRECISION_RUN: the node's. */
grove_precision grove_handing_precision(grove_handing handing);
/* Notes the form of input k as the class sees it. */
void grove_node_see_input(grove_node *node, int k);
/* Where an axis of that kind stands in the order of storage; those of other names stand last, in
 * the order in which they come. */
static inline int grove_axis_rank(int kind)
{
    return kind < GROVE_AXIS_OTHER ? kind : GROVE_AXIS_OTHER;
}
/* GROVE_AXIS_OTHER is every axis whose name is none that the framework knows. */
static inline bool grove_axis_is(const grove_axis *axis, int kind)
{
    return axis->kind == kind || (kind == GROVE_AXIS_OTHER && axis->kind > kind);
}
/* Puts an axis where it belongs in the order of storage; there must be room for it. */
void grove_axis_insert(const grove_axis **axes, int *count, const grove_axis *axis);
/* Whether a leaf's axes go together. */
int grove_leaf_check(const grove_node *node);

/* Does a number of unit `unit` fit the kind? Plain numbers fit angles when computed (not written).
 */
bool grove_kind_fits(grove_kind kind, grove_unit unit, bool written);
/* "a length", "one of: none, time, freq, both", ... into the arena. */
const char *grove_kind_describe(grove_arena *arena, grove_kind kind, const char *choices);
bool grove_kind_is_value(grove_kind kind);
/* "an observation", "a sky" */
const char *grove_object_describe(grove_arena *arena, const char *kind);
const char *grove_input_describe(grove_arena *arena, const grove_input *input);

/* What a plugin calls a form, an axis or a kernel, as ours: what it does not know is 0. `room` is
 * used where the kernel must be copied. */
void grove_form_take(const grove_class *class_, const grove_form *from, grove_form *to);
void grove_axis_take(const grove_class *class_, const grove_axis *from, grove_axis *to);
const grove_kernel *grove_kernel_take(const grove_class *class_, const grove_kernel *from,
                                      grove_kernel *room);
/* Whether there is something wrong with it, and what: "has the unknown shape 3". */
bool grove_form_fault(const grove_form *form, char fault[GROVE_FAULT_BYTES]);
bool grove_kernel_fault(const grove_kernel *kernel, char fault[GROVE_FAULT_BYTES]);

/* The node with this key, or NULL. */
grove_node *grove_tree_find_key(const grove_tree *tree, grove_hash key);

#endif
