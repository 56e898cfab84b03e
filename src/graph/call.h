/* The steps of making a node from a call; internal to graph/. */
#ifndef GROVE_GRAPH_CALL_H
#define GROVE_GRAPH_CALL_H

#include "graph/graph.h"

/* Most inputs and options of a class; bytes of a message. */
enum { GROVE_MAX_PORTS = 256, GROVE_FAULT_BYTES = 160 };

/* Binds arguments to the class's inputs and options, and fills in defaults; reports all errors.
 * roles: station axes of the bound inputs, [GROVE_MAX_INPUTS]. */
int grove_bind_arguments(grove_node *node, const grove_argument *arguments, size_t count,
                         char *roles);
/* Sets axes, sides and role of the node from its inputs. */
int grove_infer_axes(grove_node *node, const char *roles);
/* Sets which axes a reduction consumes; which part a selection takes. */
int grove_infer_reduction(grove_node *node);
int grove_infer_selection(grove_node *node);
/* Checks units and shapes of the inputs against the class's declarations. */
int grove_infer_forms(grove_node *node);
/* Checks on which side of a product the stations p and q are; the sides of the result. */
int grove_check_sides(const grove_node *node);
grove_sides grove_infer_sides(const grove_node *node);
/* Sets which elements of a Jones term are not measured; an error if none is left. */
int grove_infer_missing_elements(grove_node *node);
/* Reports at input k; returns `code`. */
int grove_infer_fail(const grove_node *node, int k, int code, const char *format, ...)
    __attribute__((format(printf, 4, 5)));
/* The value in another precision, or as complex numbers: a node of its own, or one that there is.
 */
grove_node *grove_tree_cast(grove_node *from, grove_precision precision, bool complex_);
/* Inserts casts where an input's numbers are not of the type that the class asks for. */
void grove_infer_casts(grove_node *node);

/* The precision of inputs handed over in this way; GROVE_PRECISION_RUN: the node's. */
grove_precision grove_handing_precision(grove_handing handing);
/* Sets the form of input k as the class sees it. */
void grove_node_see_input(grove_node *node, int k);
/* Position of an axis kind in the order of storage; axes with other names come last, in the order
 * of insertion. */
static inline int grove_axis_rank(int kind)
{
    return kind < GROVE_AXIS_OTHER ? kind : GROVE_AXIS_OTHER;
}
/* Whether an axis is of a kind; GROVE_AXIS_OTHER matches every axis with a name unknown to the
 * framework. */
static inline bool grove_axis_is(const grove_axis *axis, int kind)
{
    return axis->kind == kind || (kind == GROVE_AXIS_OTHER && axis->kind > kind);
}
/* Inserts an axis in the order of storage; the caller makes sure that there is space. */
void grove_axis_insert(const grove_axis **axes, int *count, const grove_axis *axis);
/* Checks that a leaf's axes are consistent. */
int grove_leaf_check(const grove_node *node);
/* Gives a new leaf the axes of time, freq, and station with baseline of an earlier one where they
 * are the same, so that values of both meet. */
void grove_leaf_share_axes(grove_node *node);
/* The axis with coordinates of an earlier value that is the same as this one of the node's, so that
 * values of both meet, such as two images, or an image and a table; or else this one. Not one that
 * the node consumes, or that an object of the node has. */
const grove_axis *grove_axis_shared(const grove_node *node, const grove_axis *axis);
/* Whether two axes of one name differ, with the difference: "60 against 59 cells". */
bool grove_axis_differs(const grove_axis *a, const grove_axis *b, char difference[200]);

/* Whether a number with unit `unit` fits the kind. Plain numbers fit angles when computed, not when
 * written. */
bool grove_kind_fits(grove_kind kind, grove_unit unit, bool written);
/* "a length", "one of: none, time, freq, both", ... into the arena. */
const char *grove_kind_describe(grove_arena *arena, grove_kind kind, const char *choices);
bool grove_kind_is_value(grove_kind kind);
/* "an observation", "a sky" */
const char *grove_object_describe(grove_arena *arena, const char *kind);
const char *grove_port_describe(grove_arena *arena, const grove_port *port);

/* Whether the form or kernel is invalid, and why: "has the unknown shape 3". */
bool grove_form_fault(const grove_form *form, char fault[GROVE_FAULT_BYTES]);
bool grove_kernel_fault(const grove_kernel *kernel, char fault[GROVE_FAULT_BYTES]);
/* The same of rules of derivatives: each is for a value input or value option, and no name among
 * these means something else in rules. */
bool grove_tangent_fault(const grove_class *class_, const char *rules,
                         char fault[GROVE_FAULT_BYTES]);

/* The node with this key, or NULL. */
grove_node *grove_tree_find_key(const grove_tree *tree, grove_hash key);

#endif
