/* Nodes, edges and trees: the checked graph made from a tree file. */
#ifndef GROVE_GRAPH_GRAPH_H
#define GROVE_GRAPH_GRAPH_H

#include "base/error.h"
#include "base/memory.h"
#include "base/unit.h"
#include "graph/literal.h"
#include "unstable/fit.h"
#include "unstable/hash.h"
#include "unstable/module.h"

typedef struct grove_tree grove_tree;
typedef struct grove_classes grove_classes;

/* An input's node and, where a station value meets a baseline value, its side. */
typedef struct {
    grove_node *node; /* NULL: an optional input that was not given */
    char side;        /* 0: not gathered; 'p' or 'q': gathered at the left or right station */
} grove_edge;

/* The stations of a matrix at its left and at its right: 'p', 'q', 0 (none), '?' (any). A Jones
 * term of a station is open: G[p] may be followed by G[q]^H, with unity between them. */
typedef struct {
    char left, right;
    bool left_open, right_open;
} grove_sides;

/* The result of an expression while a tree is built. */
typedef enum {
    GROVE_OPERAND_NOTHING,
    GROVE_OPERAND_LITERAL,
    GROVE_OPERAND_NODE
} grove_operand_kind;
typedef struct {
    grove_operand_kind kind; /* NOTHING: an error was reported already */
    const grove_literal *literal;
    grove_node *node; /* a value or an object */
    char role;        /* station axis of a value: 'p', 'q', or 0: not determined */
} grove_operand;

/* Kinds of nodes. */
typedef enum {
    GROVE_NODE_CLASS,    /* has a class that computes, or is a reduction, select or an action */
    GROVE_NODE_LEAF,     /* a data leaf: an object with members, no value of its own */
    GROVE_NODE_MEMBER,   /* a member of a leaf */
    GROVE_NODE_CONSTANT, /* a number */
    GROVE_NODE_CAST      /* input 0 in another precision, or real made complex */
} grove_node_kind;

typedef struct {
    const char *name, *doc;
    grove_form form;
    const grove_axis *axes[GROVE_MAX_AXES];
    int axis_count;
    const void *data; /* constant members */
    grove_node *node; /* made when first referred to */
} grove_member;

typedef struct {
    const grove_literal *value; /* never NULL: defaults are filled in */
    grove_place place;
    bool by_user;
} grove_option_value;

/* Parts of an axis that an action sees whole, by their first cells. */
typedef struct {
    const grove_axis *axis;
    const int64_t *first; /* in the tree's arena */
    int64_t count;
} grove_domains;

/* A fit by an action. */
typedef struct {
    int model;        /* the value input that depends on the parms */
    grove_edge whole; /* ... as the tree gives it */
    int own_inputs;   /* the inputs from there on are factors and derivatives */
    const grove_node **parms;
    int parm_count;
    struct grove_factors *factors; /* of the model, once asked for; in the tree's arena */
    grove_fit_group *groups;       /* that it is given in place of the model */
    int group_count;               /* 0: the model itself */
    grove_fit_slot *slots;
    int slot_count;
} grove_fit;

/* Bytes that a class takes besides its values. */
typedef struct {
    uint64_t memory;
    uint64_t device_memory; /* kept on each device */
    uint64_t scratch;       /* see grove_node_scratch_bytes */
    const uint64_t *pieces; /* of memory: see grove_node_set_pieces */
    int piece_count;
} grove_amounts;

/* Most value inputs of an action, with derivatives. */
enum { GROVE_MAX_ACTION_INPUTS = 256 };

struct grove_node {
    grove_node_kind kind;
    const grove_class *class_; /* NULL for members, constants, casts */
    const char *name;          /* from the tree file, or generated ("multiply#7") */
    grove_place place;
    grove_tree *tree;
    int id; /* position in the tree's list: inputs come before their users */

    grove_edge *inputs; /* value inputs, then value options, as numbered in cell.h */
    grove_place *input_places;
    const char **input_names;
    grove_edge *dropped; /* arguments of inputs that its check dropped; NULL: none */
    grove_handing *handing;
    grove_form *seen; /* forms of the inputs as the class sees them */
    int input_count;
    grove_node **objects; /* one per declared object input, in order; NULL entries for others */
    uint32_t renews;      /* actions: bits of those whose content is another one afterwards */
    grove_fit *fit;       /* actions; NULL: it fits nothing */
    grove_domains domains[GROVE_MAX_AXES]; /* actions: parts that tiles do not divide */
    int domain_count;
    grove_option_value *options; /* one per class option (value options: literal or unused) */

    grove_form form;                        /* of the value */
    const grove_axis *axes[GROVE_MAX_AXES]; /* of the value, in order of storage */
    int axis_count;
    unsigned char missing_elements; /* elements not measured: grove_node_missing_elements */
    const grove_axis *consumed[GROVE_MAX_AXES]; /* axes of the inputs, not of the value */
    int consumed_count;
    char role;         /* station axis: 'p', 'q', or 0 when no index determines it */
    grove_sides sides; /* of a value per baseline */

    const grove_kernel *kernel;
    unsigned char state[GROVE_STATE_BYTES];
    const void *table; /* in the tree's arena; NULL: none */
    size_t table_bytes;
    bool auto_named;     /* the name was generated */
    grove_hash call_key; /* of class, options and inputs as called */
    grove_hash key; /* of class, options, state, inputs and leaf content, but not of the tile */
    void *user;
    grove_amounts amounts[2];          /* of runs in single and in double precision */
    bool double_sizes;                 /* see grove_node_begin_double_sizes */
    int first_walks;                   /* see grove_node_set_first_walks */
    uint64_t flags_only;               /* inputs whose flags alone devices need */
    const char *advice;                /* how to take less memory; NULL: unknown */
    uint64_t scratch_per_cell;         /* see grove_node_scratch_bytes */
    bool leaves_inputs;                /* see grove_node_leave_inputs */
    bool in_parts, repeats;            /* see grove_node_set_parts, as the next two */
    uint64_t part_memory, once_memory; /* once_memory 0: data cannot be read once only */
    const char *tangent;               /* rules of derivatives; NULL: none */
    const char *note;                  /* on the method that the class has chosen */
    const char *fused;                 /* the values from which the rewriter made it */
    const grove_target *target;        /* of an action: its output; NULL: none */
    const char *target_path;           /* without links, . and .. */
    /* The member `missing` of a leaf: of a value users read no row that it flags; or, of an action,
     * a reduction or an accumulator, it reads no such row of its inputs (an action: of the first
     * one, or of the inputs of a fit). NULL: all may be read. See graph/skip.h. */
    grove_node *rows;
    grove_node *rows_of; /* of an action: the leaf that grove_node_leave_rows names; or NULL */

    /* select: the part */
    const grove_axis *select_axis;
    int64_t select_first, select_count; /* count 1 and select_drop: the axis is dropped */
    bool select_drop;
    int select_element; /* -1: all */

    /* leaves */
    const grove_axis **own_axes;
    size_t own_axis_count;
    grove_member *members;
    size_t member_count;
    grove_hash identity;
    struct grove_property *properties; /* a list */
    const struct grove_observation_facts *observation;
    double step;            /* of a parm; 0: not set */
    grove_node *leaf;       /* MEMBER: its leaf */
    grove_node *stands_for; /* a value: the leaf whose call it is, and whose members are
                               written as its own; NULL: none */
    size_t member;          /* MEMBER: its number */

    grove_literal *constant; /* CONSTANT */
    bool used;               /* an action depends on it */
};

enum { GROVE_RULE_ID = -1 };

struct grove_tree {
    grove_arena *arena;
    const char *path, *folder, *source; /* of the main file; folder "." when made from text */
    const char *settings;               /* "name=value" lines, as given; NULL: none */
    grove_node **nodes;
    size_t node_count, node_capacity;
    grove_node **actions; /* in order of execution */
    size_t action_count, action_capacity;
    int cycles;         /* from `run a, b [cycles=n]`; else 1 */
    const char **reads; /* files and sets that it was made of, or that its leaves read */
    size_t read_count, read_capacity;
    const char *const *data_folders;
    grove_classes *classes; /* borrowed; the rewriter makes nodes of its classes */
    /* The name of the class of an operator; NULL: none. */
    const char *(*operator_class)(grove_role role);
    bool in_double;     /* nodes that are made now compute in double precision in any run */
    grove_error *error; /* borrowed while the tree is built: nodes report to it (error.h: scopes) */
    /* Turns a default's text into an operand; set by the language (see grove_tree_call). `scope`
     * with the id GROVE_RULE_ID: a copy of a node, in which a rule of derivatives is evaluated. */
    int (*expand)(void *context, grove_tree *tree, const char *text, const grove_node *scope,
                  const grove_place *place, grove_operand *result);
    void *expand_context;
};

typedef struct {
    const char *name; /* NULL: positional */
    grove_operand operand;
    grove_place place;
} grove_argument;

grove_tree *grove_tree_new(void);
void grove_tree_free(grove_tree *tree);
void grove_tree_add_read(grove_tree *tree, const char *path);

/* A new node in the tree's list; the caller fills it in. */
grove_node *grove_tree_add_node(grove_tree *tree, grove_node_kind kind, const char *name,
                                const grove_place *place);

/* Makes a node, or finds an equal one: binds arguments (positional ones to inputs, then options, in
 * order; named ones to either), checks kinds, units and shapes, expands defaults, gathers stations
 * to baselines, converts, calls the class's check. All errors are reported to tree->error at their
 * places; the result is then NOTHING, which callers do not report again. `name`: of the definition,
 * or NULL. Actions are never merged. */
grove_operand grove_tree_call(grove_tree *tree, const grove_class *class_, const char *name,
                              const grove_place *place, const grove_argument *arguments,
                              size_t count);
/* The node of a member, as in obs.uvw; NOTHING after reporting an unknown one (with the nearest
 * name). */
grove_operand grove_tree_member(grove_tree *tree, grove_node *object, const char *member,
                                const grove_place *place);
/* A node for a literal number (real or complex). */
grove_node *grove_tree_constant(grove_tree *tree, const grove_literal *literal,
                                grove_precision precision, const grove_place *place);
/* The class of an operator, or NULL. */
const grove_class *grove_tree_operator(grove_tree *tree, grove_role role);
/* The name of an axis for the reductions' option `over`: its own, preceded by its owner's
 * ("S2.source") if the tree has several of that name. From the tree's arena. */
const char *grove_tree_axis_name(grove_tree *tree, const grove_axis *axis);
/* The axes of a kind that the node's value has; returns how many. */
int grove_node_axes_of_kind(const grove_node *node, int kind, const grove_axis **axes, int max);
static inline bool grove_node_varies(const grove_node *node, int kind)
{
    return grove_node_axes_of_kind(node, kind, NULL, 0) > 0;
}
/* Whether the node is of a class with this role. */
static inline bool grove_node_has_role(const grove_node *node, grove_role role)
{
    return node && node->class_ && node->class_->role == role;
}
/* The leaf of a parm that is not fixed, where the node is the value of a component; else NULL. */
const grove_node *grove_node_fitted_parm(const grove_node *node);
typedef bool grove_node_test(void *context, const grove_node *node);
/* Whether the test is true of the node, or of a value that it is made of. */
bool grove_node_reaches(const grove_node *node, grove_node_test *test, void *context);
/* Whether the value depends on a parm. */
bool grove_node_has_parm(const grove_node *node);
/* Whether the value is made of data with flags, among others. */
bool grove_node_may_be_flagged(const grove_node *node);
/* The next of all inputs, then all options: the first after NULL, and NULL after the last. */
const grove_port *grove_port_next(const grove_class *class_, const grove_port *port);
const grove_port *grove_port_named(const grove_class *class_, const char *name); /* or NULL */
/* The declaration of value input k; without a name where check has added the input. */
const grove_port *grove_port_of_value(const grove_class *class_, int k);
/* A node of the same class with the same options, and other inputs where `others`, one for each
 * input, is not NOTHING. NOTHING with a message in tree->error. */
grove_operand grove_tree_remake(grove_tree *tree, const grove_node *node,
                                const grove_operand *others);
/* Whether the action gives leaves new content; and whether this one. */
bool grove_node_renews_any(const grove_node *action);
bool grove_node_renews_leaf(const grove_node *action, const grove_node *leaf);
/* Whether it may have its inputs evaluated again for the same tile. */
bool grove_node_drives(const grove_node *node);
bool grove_node_has_axis(const grove_node *node, const grove_axis *axis);
/* The last node on the way to this value that reduced the axis (axis NULL: one of the kind), or
 * NULL: it never had it, or a part of it was selected. While the tree is built. */
const grove_node *grove_node_reducer(const grove_node *node, int kind, const grove_axis *axis);
/* How messages name it: 'V', or its class where it has no name of its own. From the tree's arena.
 */
const char *grove_node_shown(const grove_node *node);
static inline bool grove_node_accumulates(const grove_node *node)
{
    return node->kind == GROVE_NODE_CLASS && node->class_->kind == GROVE_CLASS_ACCUMULATOR;
}
/* The axes of input k as the node uses it, in order of storage: its value's axes, with the baseline
 * axis for a gathered station axis. And the union over all inputs. */
int grove_node_taken_axes(const grove_node *node, int k, const grove_axis *axes[GROVE_MAX_AXES]);
int grove_node_all_taken_axes(const grove_node *node, const grove_axis *axes[GROVE_MAX_AXES]);

/* The outcome of a call of a class that returned `code` when there were `before` errors: 0, or a
 * negative code. Any grove_node_fail is a failure; a failure without a message gets
 * `default_message`. */
int grove_node_verdict(const grove_node *node, const grove_error *error, size_t before, int code,
                       const char *default_message);

/* Finishes a tree: fuses sums over sources into predict (graph/rewrite.c), marks the nodes that the
 * actions depend on, and numbers the nodes so that inputs come before users. */
int grove_tree_finish(grove_tree *tree);

/* Loaded classes. Folders are searched in order. Their index (base/class_index.h) says which
 * module has a class; a module that the index does not name has one class, of its own name. */
/* `folders`: NULL-terminated; NULL: GROVE_PLUGIN_PATH and the installed folder. */
grove_classes *grove_classes_new(const char *const *folders);
void grove_classes_free(grove_classes *classes); /* the modules stay loaded */
/* The class, loaded on first use. NULL with a message when its module is invalid; NULL without a
 * message when there is no such module (use grove_classes_names for the nearest name). */
const grove_class *grove_classes_find(grove_classes *classes, const char *name, grove_error *error);
/* Registers a compiled-in class (tests, embedding programs), which is found before any module. */
int grove_classes_add(grove_classes *classes, const grove_class *class_, grove_error *error);
/* Names of all known classes, sorted; NULL-terminated; owned by `classes`. */
const char *const *grove_classes_names(grove_classes *classes, size_t *count);
const char *grove_classes_path(grove_classes *classes, const char *name); /* path of the module */
/* The grove_files of the module whose index names an ending of `path`; a folder's path ends with a
 * slash here. NULL without a message: there is none. */
const grove_files *grove_classes_files(const grove_classes *classes, const char *path,
                                       grove_error *error);
/* ... and of entry i of the index: false behind the last; NULL where the module cannot be opened,
 * or an earlier entry has it. */
bool grove_classes_files_at(const grove_classes *classes, size_t i, const grove_files **files);
/* The first error in the index of a folder; NULL: none. Owned by `classes`. */
const char *grove_classes_fault(const grove_classes *classes);
/* A copy of a descriptor, for free(); its lists are the descriptor's. NULL with a message when it
 * is invalid: another ABI or other sizes, missing texts, numbers out of range. */
grove_class *grove_class_new(const grove_class *descriptor, const char *name, grove_error *error);

/* Whether it computes whole arrays, not cells. */
static inline bool grove_class_takes_arrays(const grove_class *class_)
{
    return class_->eval || class_->device;
}

/* The scratch memory that a call for these ranges of the output may take: the bytes that check has
 * set, and room for each piece to begin at a multiple of GROVE_SCRATCH_ALIGN. 0: none. */
enum { GROVE_SCRATCH_ALIGN = 256 };
uint64_t grove_node_scratch_bytes(const grove_node *node, const grove_range *range, int axes);

/* Around calls of open, read, begin, write, finish, abort, close: for classes with serial_io, one
 * call at a time in the whole process (serial.c). */
void grove_class_lock(const grove_class *class_);
void grove_class_unlock(const grove_class *class_);

/* The reference page of a class as text. Caller frees. */
char *grove_class_describe(const grove_class *class_);
char *grove_class_markdown(const grove_class *class_); /* the same as Markdown */
/* The tree as text: a line for each definition in the tree language, then its axes and shape; or in
 * Graphviz's language, with all nodes. Caller frees. */
char *grove_tree_show(const grove_tree *tree);
char *grove_tree_dot(const grove_tree *tree);
/* "NAME: ..." for each data leaf that has a note. Caller frees. */
char *grove_tree_notes(const grove_tree *tree);
/* "scalar complex [source, time] Jy" */
char *grove_node_describe(const grove_node *node);

#endif
