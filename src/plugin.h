/* The plugin ABI: the header for authors of node classes (with cell.h).
 *
 * A plugin is a shared object NAME.so that exports one constant, the descriptor grove_class_NAME:
 *
 *     GROVE_CLASS(beam_airy) = {
 *         GROVE_CLASS_HEAD(beam_airy),
 *         .doc = "Voltage pattern of a uniformly illuminated circular aperture.",
 *         .inputs = inputs, .options = options, .kernel = &kernel, .check = check,
 *     };
 *
 * A module may have several classes, listed in a file classes.index next to it: lines "CLASS
 * MODULE". A descriptor is checked before any code of the plugin runs; plugins are never unloaded
 * and have no constructors. */
#ifndef GROVE_PLUGIN_H
#define GROVE_PLUGIN_H

#include "base/unit.h"
#include "cell.h"
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Structures that plugins fill in (class, functions, input, option, form, axis, kernel) have their
 * sizes in the descriptor: a plugin with others than this Grove's is refused. Structures that Grove
 * fills in (call, array) may grow at the end, and reach plugins by address only. grove_view,
 * grove_range, and structures from grove_call_product on keep their size. */

typedef struct grove_node grove_node;       /* a class with options and inputs, in a tree */
typedef struct grove_literal grove_literal; /* a constant option */

/* ---- kinds of inputs and options ---- */

typedef enum {
    /* Constant options, read by grove_node_number and others (in base units: m, s, Hz, rad, Jy). */
    GROVE_BOOL = 1, /* true, false */
    GROVE_INTEGER,
    GROVE_NUMBER, /* a plain number */
    GROVE_LENGTH,
    GROVE_TIME,
    GROVE_FREQUENCY,
    GROVE_ANGLE,
    GROVE_FLUX,
    GROVE_TEXT,
    GROVE_FILE,        /* a path; a relative one refers to the tree file's folder */
    GROVE_CHOICE,      /* one of the words in `choices` */
    GROVE_DIRECTION,   /* "05h42m36.1s 49d51m07s": grove_node_direction */
    GROVE_ANGLE_RANGE, /* -2h..2h or -30deg..30deg: grove_node_range (hours are 15 degrees) */
    GROVE_NUMBER_LIST, /* 1, [1, 2, 3], [0, none], with any one unit: grove_node_list */
    GROVE_AXIS_NAMES,  /* time, [time, freq]: names of axes of the first value input */
    GROVE_QUANTITY,    /* a number with any unit, real or complex: grove_node_quantity */
    GROVE_PARM_NAMES,  /* G, [G, B]: parms, or values made of them: grove_node_fit */
    /* Values: inputs, or options that accept a number, an array, a node or a parm. Each requires
       its unit; GROVE_VALUE accepts any. */
    GROVE_VALUE = 64,
    GROVE_VALUE_NUMBER,
    GROVE_VALUE_LENGTH,
    GROVE_VALUE_TIME,
    GROVE_VALUE_FREQUENCY,
    GROVE_VALUE_ANGLE,
    GROVE_VALUE_FLUX,
    GROVE_VALUE_SPEED,
    /* Inputs only: an object of kind `object` ("sky"), with members (obs.uvw), without value. */
    GROVE_OBJECT = 128
} grove_kind;

/* How an input's numbers are handed over. The framework converts them. */
typedef enum {
    GROVE_AS_GIVEN = 0,      /* real or complex as the value is, in the node's precision */
    GROVE_AS_REAL,           /* `real` */
    GROVE_AS_COMPLEX,        /* `cplx` */
    GROVE_AS_DOUBLE,         /* double regardless of the run's precision: coordinates */
    GROVE_AS_SINGLE_COMPLEX, /* grove_cplx32 regardless of the run's precision: columns of sets */
    /* Only the flags of the value: a byte per cell with bit k for element k; NULL when nothing is
       flagged. In cells with all elements flagged nothing is computed or read: the result is
       flagged, and set to 0 after .device. For .eval and .device only. */
    GROVE_AS_FLAGS
} grove_handing;

enum {
    GROVE_ANY_SHAPE = GROVE_SCALAR | GROVE_DIAGONAL | GROVE_MATRIX | GROVE_VECTOR,
    GROVE_JONES = GROVE_SCALAR | GROVE_DIAGONAL | GROVE_MATRIX
};

/* In which way the result is linear in an input x; tested for every class by scaling and adding. */
typedef enum {
    GROVE_NOT_LINEAR = 0,
    GROVE_LINEAR,      /* f(c x) = c f(x) for complex c, and f(x + y) = f(x) + f(y) */
    GROVE_ANTILINEAR,  /* f(c x) = conj(c) f(x) */
    GROVE_REAL_LINEAR, /* f(c x) = c f(x) for real c only: real(x), imag(x) */
    GROVE_SELECTOR     /* x chooses or counts: there is no derivative with respect to it */
} grove_linearity;

/* An input or an option of a class. Inputs are nodes: values and objects. Options are constants of
 * any kind, and values with defaults. */
typedef struct {
    const char *name; /* NULL ends the list */
    grove_kind kind;
    const char *doc; /* its meaning, of options with the base unit */

    /* Values. */
    grove_handing handing;
    int shapes; /* accepted cell shapes, GROVE_SCALAR | ...; 0: scalar */
    int vector; /* required length of a vector, 0: any */
    grove_linearity linear;
    /* 0: linear in this input alone, the others held (factors of a product). 1, 2, ...: linear in
     * all inputs of the same number together (the terms of a sum). */
    int group;
    bool own_axes; /* axes may differ from other inputs' of the same names; check consumes them */

    /* GROVE_OBJECT. */
    const char *object; /* which */
    bool optional;      /* it may be left out; by position it comes after the others */
    bool implied;       /* ... and where it is, the only object of its kind in the file is meant */

    /* Options. The default is text of the tree language that may name the class's inputs ("25m",
     * "obs.freq", "lmn(sky, obs)"); "none": optional; NULL: mandatory. */
    const char *initial;
    const char *choices; /* GROVE_CHOICE: words separated by blanks; also of GROVE_TEXT */
} grove_port;

/* ---- forms: shape, type and unit of a value ---- */

typedef enum {
    GROVE_PRECISION_RUN = 0, /* the precision of the run */
    GROVE_PRECISION_DOUBLE,  /* always double: coordinates, times, frequencies, phases */
    GROVE_PRECISION_SINGLE   /* always single: data columns */
} grove_precision;

typedef struct {
    int shape;  /* GROVE_SCALAR, GROVE_DIAGONAL, GROVE_MATRIX, GROVE_VECTOR */
    int vector; /* elements of a vector */
    bool complex_;
    grove_precision precision; /* of an input: as handed over */
    grove_unit unit;
    bool flags; /* a data leaf's member, or the value of an accumulator: has flags */
} grove_form;

/* For .output of a class: GROVE_FORM(.shape = GROVE_MATRIX, .complex_ = true). */
#define GROVE_FORM(...) (&(const grove_form){__VA_ARGS__})

/* ---- axes, blocks, arrays ---- */

typedef struct grove_axis {
    const char *name; /* "time", "freq", "station", "baseline", "source", or any other */
    int kind;         /* set by the framework: grove_axis_kind of the name */
    int64_t size;
    const double *centre, *width; /* [size] coordinates (s, Hz; index where NULL) and cell widths */
    const int32_t *left, *right;  /* baseline: station numbers p and q, [size] */
    const char *const *labels; /* names or NULL; with coordinates, labels used to make the cells */
    const grove_node *owner;   /* the node that made it; set by the framework */
} grove_axis;

typedef struct {
    const grove_axis *axis;
    int64_t first, count;
} grove_range;

/* Dense storage of a block, for data leaves and actions: range[0] is slowest, elements fastest. */
typedef struct {
    void *data;           /* NULL: an optional input that was not given */
    unsigned char *flags; /* per cell, bit k set: element k is flagged; NULL: none */
    int axes;
    grove_range range[GROVE_MAX_AXES];
    int64_t cells;
    int elements;
    const grove_form *form;
    bool rows_unread; /* in read: rows missing in the set need not be written, nor their flags */
} grove_array;

/* ---- calls of functions of classes ---- */

/* The call of a function of a class in a run. */
typedef struct grove_call {
    const grove_node *node;
    const grove_args *args;        /* of .eval and .device, as in cell.h; the iteration space
                                      includes consumed axes; else NULL */
    bool double_precision;         /* of `real` and `cplx` in this run */
    struct grove_threads *threads; /* for grove_call_parallel */
    void *run;                     /* the state from start, or NULL */
    struct grove_call_work *work;  /* for grove_call_launch and the functions after it */
    bool on_device;  /* addresses in args are a device's: the host cannot read or write them */
    int device;      /* its number, from 0 on; 0 on the host */
    uint64_t memory; /* bytes that it may take on the host: see grove_node_set_pieces (keep.h) */
    bool flagged_unread; /* cells that GROVE_AS_FLAGS flags may hold anything, not just 0 */
    struct grove_class_call *scope; /* for grove_call_object_run and functions of fit.h */
} grove_call;

/* Calls fn for pieces of [0, count) on the run's threads, with the same result for any pieces. */
void grove_call_parallel(const grove_call *call, int64_t count,
                         void (*fn)(void *context, int64_t first, int64_t last), void *context);

/* The number of threads, at least 1. */
int grove_call_threads(const grove_call *call);

/* The state that .start of the object given for this input has made for the run, or NULL: to change
 * the values of an object of grove_node_renews. */
void *grove_call_object_run(const grove_call *call, const char *input);

/* Work of .device and .eval on the device whose addresses are in call->args: the host or another.
 * Done in this order, by the thread that called .device or .eval. 0, or a code that the class is to
 * return without a message of its own: where memory is short, or the device has no code or no
 * library for it, Grove calls again with more room or on the host. After a failure the others do
 * nothing and return its code. */

/* Runs a kernel over the iteration space of `args`, a copy of call->args with other sizes, views
 * and state, or arguments made from nothing. Views hold addresses of call->args and of scratch
 * memory, index arrays (`gather`) addresses of the host. On the host the kernel needs its function
 * of that precision. */
int grove_call_launch(const grove_call *call, const grove_kernel *kernel, const grove_args *args,
                      bool double_precision);
/* Memory until the call ends, not zeroed, for numbers of any type: in all no more than check has
 * set by grove_node_set_scratch, in at most GROVE_MAX_SCRATCH pieces. */
int grove_call_scratch(const grove_call *call, uint64_t bytes, void **at);
int grove_call_zero(const grove_call *call, void *at, uint64_t bytes);

/* Arrays are dense, by rows; numbers are complex pairs where nothing else is said; sizes are from 1
 * to 2^31 - 1. NVIDIA's libraries compute on GPUs, BLAS, FFTW and LAPACK on the host. */

/* c[k] = a[k] b[k]^H for k < count: a is rows x inner, b columns x inner, c rows x columns. From
 * one matrix to the next are the strides, in complex numbers; 0: the same for all. */
typedef struct {
    const void *a, *b;
    void *c;
    int64_t rows, columns, inner, count;
    int64_t stride_a, stride_b, stride_c;
} grove_product;

/* y = sum_x x exp(sign 2 pi i j k / n), not normalised, in one or two dimensions (rank) of sizes
 * size[0], size[1], for `count` arrays that follow each other; in place. sign: -1 or 1. */
typedef struct {
    void *at;
    int64_t size[2], count;
    int rank, sign;
} grove_transform;

/* Solves m x = right for each of `count` right sides of `size` real doubles, in place: m is
 * symmetric and positive definite, and its lower triangle becomes its Cholesky factor. *info, an
 * int32_t in the device's memory, is 0, or k when the k-th leading minor is not positive; then the
 * right sides are of no use. `right` NULL, `count` 0: the factor alone. */
typedef struct {
    double *matrix, *right;
    int32_t *info;
    int64_t size, count;
} grove_cholesky;

int grove_call_product(const grove_call *call, const grove_product *operation,
                       bool double_precision);
int grove_call_transform(const grove_call *call, const grove_transform *operation,
                         bool double_precision);
int grove_call_cholesky(const grove_call *call, const grove_cholesky *operation);

/* ---- the descriptor ---- */

typedef enum {
    GROVE_CLASS_VALUE = 0,  /* computes its value: kernel, eval or device */
    GROVE_CLASS_DATA,       /* a leaf with axes and members: .data */
    GROVE_CLASS_ACTION,     /* a root: .action */
    GROVE_CLASS_REDUCTION,  /* consumes the axes named by its option "over"; see .reduce */
    GROVE_CLASS_SELECTION,  /* picks a part along an axis: done by the framework */
    GROVE_CLASS_ACCUMULATOR /* reduces all tiles of its inputs to one value: .accumulator */
} grove_class_kind;

/* How flags of the inputs set flags of the result. */
typedef enum {
    GROVE_FLAGS_ELEMENT = 0, /* from each element to the same one; from a scalar to all */
    GROVE_FLAGS_MIX,         /* from any element to all */
    GROVE_FLAGS_PRODUCT,     /* as in the matrix product of the first two inputs */
    GROVE_FLAGS_TRANSPOSE    /* from each element to the same one, with XY and YX exchanged */
} grove_flag_rule;

typedef enum {
    GROVE_REDUCE_NONE = 0,
    GROVE_REDUCE_SUM,
    GROVE_REDUCE_MEAN,
    GROVE_REDUCE_MIN,
    GROVE_REDUCE_MAX
} grove_reduce;

/* The algebraic role of the class, by which the rewriter knows it. Inputs are counted from 0. */
typedef enum {
    GROVE_ROLE_NONE = 0,
    GROVE_ROLE_SUM,        /* input 0 + input 1 */
    GROVE_ROLE_DIFFERENCE, /* input 0 - input 1 */
    GROVE_ROLE_NEGATIVE,   /* -input 0 */
    GROVE_ROLE_PRODUCT,    /* input 0 times input 1, in this order */
    GROVE_ROLE_QUOTIENT,   /* input 0 over the scalar input 1 */
    GROVE_ROLE_POWER,      /* input 0 to a constant power */
    GROVE_ROLE_INVERSE,    /* of input 0; of a matrix the matrix inverse */
    GROVE_ROLE_TRANSPOSE,
    GROVE_ROLE_HERMITIAN, /* conjugate transpose */
    /* The contribution of each source on each baseline. Its sum over sources, between terms of both
     * stations, is the class `fused`, with inputs of the same names, and `left` and `right`. */
    GROVE_ROLE_SOURCE,
    /* The value of a parm: a function of the coefficients, its input 0, by which derivatives are
     * taken, 1 in each component's unit. Its leaf, the class's first object, knows where it counts;
     * the leaf's member group has each source's number along the axis that its "groups" names. */
    GROVE_ROLE_PARM,
    GROVE_ROLE_CONJUGATE, /* of each number of input 0; the exponential, too */
    GROVE_ROLE_EXPONENTIAL,
    GROVE_ROLE_COSINE, /* of the number or angle input 0; the sine, too */
    GROVE_ROLE_SINE,
    GROVE_ROLE_COMPLEX, /* input 0 + i input 1, of real numbers */
    GROVE_ROLE_SCALAR,  /* input 0; the diagonal and the matrix are of their elements, by rows */
    GROVE_ROLE_DIAGONAL,
    GROVE_ROLE_MATRIX
} grove_role;

/* Functions of classes of one kind. They may be NULL where nothing else is said; if they return an
 * int, it is 0 or the code of grove_node_fail. State that changes in a run belongs to the run, not
 * to the node: several runs may go on at once. */
typedef struct {
    int (*open)(grove_node *node); /* adds axes and members when the tree is built; not NULL */
    /* Fills in one member of a block, from a background thread. */
    int (*read)(const grove_call *call, const char *member, grove_array *out);
} grove_data_functions;

/* begin, then write (or drive; one is not NULL) for each tile in order, with inputs in the order of
 * value inputs and value options, then prepare, then commit. Everything that can fail belongs in
 * prepare; commit only puts results in place. All actions prepare before the first one commits. If
 * anything fails before that, abort is called instead of commit and must restore the state before
 * the run. After a failed begin, abort is not called. */
typedef struct {
    int (*begin)(const grove_call *call);
    int (*write)(const grove_call *call, const grove_array *const *inputs, int count);
    int (*prepare)(const grove_call *call);
    int (*commit)(const grove_call *call);
    void (*abort)(const grove_call *call);
    /* Actions that fit: in place of write, for each tile, by the thread that runs the session. It
     * may change the values of the objects of grove_node_renews in this tile, and sets *again to be
     * called once more for the tile, with its inputs evaluated with them; nodes that do not depend
     * on these objects are not evaluated or read again. */
    int (*drive)(const grove_call *call, const grove_array *const *inputs, int count, bool *again);
    int (*fit)(grove_node *node);    /* after grove_node_fit, before derivatives are made: fit.h */
    int (*fitted)(grove_node *node); /* when they are known */
} grove_action_functions;

/* Images, histograms, sums over a whole observation: create, add, finish and free, not NULL, are on
 * the host, by the thread that runs the session; call->args is NULL. Any cut of tiles must give the
 * same, but for rounding. */
typedef struct {
    int (*create)(const grove_call *call, void **state); /* of grove_node_set_memory's bytes */
    /* Gets parts of the inputs, one after the other in the order of tiles: each dense over its own
     * axes, with flags if it has some; an input taken by station has baselines instead. An input
     * without an axis that is cut comes again with each part. */
    int (*add)(const grove_call *call, void *state, const grove_array *const *inputs, int count);
    /* Fills the value over all of its axes, 0 and unflagged before. */
    int (*finish)(const grove_call *call, void *state, grove_array *out);
    void (*free)(const grove_node *node, void *state); /* then, or after a failure */
    /* Adds the sums of `other` to `state`; then `other` is freed. With it there are as many states
     * as threads, and memory for them; each gets pieces of every tile: then `add` is called by
     * several threads at the same time, each with another state. */
    int (*merge)(const grove_call *call, void *state, void *other);
    /* On devices, both or neither; a part at a time; values that stay on a device: see keep.h. */
    int (*device_add)(const grove_call *call, void *state, int count);
    int (*device_merge)(const grove_call *call, void *state, void *other);
    int (*walk)(const grove_call *call, void *state, grove_array *out, bool *again);
    int (*device_finish)(const grove_call *call, void *state);
} grove_accumulator_functions;

/* A node class. Fields that are left out are 0 or NULL, functions as above. */
typedef struct grove_class {
    uint16_t abi_major, abi_minor;
    uint32_t struct_size; /* sizes when the plugin was compiled, by GROVE_CLASS_HEAD */
    uint16_t port_size, form_size, axis_size, kernel_size;
    uint16_t data_size, action_size, accumulator_size;
    const char *name;
    const char *doc;        /* one sentence, then more after a newline */
    const char *output_doc; /* meaning of the value, with its unit */
    const char *group;      /* heading in the reference: "sky", "Jones terms", "arithmetic", ... */
    const char *example;    /* a line of the tree language, for the reference */
    grove_class_kind kind;
    grove_flag_rule flag_rule;
    grove_reduce reduce; /* reductions: which */
    grove_role role;
    const char *fused;  /* of a source or a phase (docs/plugins.md): the class of the sum */
    const char *object; /* data: the kind of object, "sky", "observation" or another word */
    bool serial_io;     /* casacore and the like: its open, read, begin, write, prepare, commit and
                           abort never run at the same time as in other such classes */
    bool sum; /* its value is a sum over the axes it consumes: sums over parts of them may be
                 computed one by one, and added */
    const grove_port *inputs;  /* NULL: none */
    const grove_port *options; /* NULL: none */
    const grove_form *output;  /* unless check sets one; NULL: a real scalar */

    /* After options and inputs are bound: check them, grove_node_set_output, _set_kernel,
     * _set_state, _consume. Called once when the tree is built. */
    int (*check)(grove_node *node);
    /* One cell (check may choose another kernel) ... */
    const grove_kernel *kernel;
    /* ... or the whole array at once. */
    int (*eval)(const grove_call *call);
    /* The same with addresses of a device, which it must not read or write itself: it calls
     * grove_call_launch and the functions after it, and may be called again where one of them has
     * failed. On the host, too, where there is no eval. GROVE_MISSING (base/error.h): the host is
     * to compute it. NULL: always the host. */
    int (*device)(const grove_call *call);

    const grove_data_functions *data; /* each for its kind alone, which must have it */
    const grove_action_functions *action;
    const grove_accumulator_functions *accumulator;
    /* Frees the pointer of grove_node_set_user with the tree; also after a failed check, open. */
    void (*close)(grove_node *node);

    /* Once per run, before and after all other functions of it: start returns the state of the run
     * for this node, which the other functions get as call->run; stop frees it, if start succeeded.
     */
    int (*start)(const grove_node *node, void **run);
    void (*stop)(const grove_node *node, void *run);

    /* Rules of derivatives, "INPUT: RULE; INPUT: RULE": how the value changes where INPUT changes
     * by dINPUT, as an expression of the tree language in the inputs, the constant options, dINPUT
     * and the value: "x: value * dx" for exp. A rule with a complex result is linear in dINPUT for
     * complex factors. Linear inputs need none; of others without one, derivatives are differences.
     * "x: step H": they are, over a change of the parm of at most H to both sides. */
    const char *tangent;

    /* An equivalent expression. Data leaves: in the inputs and, by its kind of object, the leaf:
     * "exp(1i * parm.value)"; an option of kind GROVE_AXIS_NAMES is, if not given, the axes of the
     * definition's indices. Values: in inputs and constant options; NULL: the node. */
    const char *(*expression)(const grove_node *node);
} grove_class;

#define GROVE_CLASS(name)                                                                          \
    extern const grove_class grove_class_##name;                                                   \
    const grove_class grove_class_##name
#define GROVE_CLASS_HEAD(class_name)                                                               \
    .abi_major = GROVE_ABI_MAJOR, .abi_minor = GROVE_ABI_MINOR,                                    \
    .struct_size = sizeof(grove_class), .port_size = sizeof(grove_port),                           \
    .form_size = sizeof(grove_form), .axis_size = sizeof(grove_axis),                              \
    .kernel_size = sizeof(grove_kernel), .data_size = sizeof(grove_data_functions),                \
    .action_size = sizeof(grove_action_functions),                                                 \
    .accumulator_size = sizeof(grove_accumulator_functions), .name = #class_name

/* ---- functions that a class may call with its node ---- */

/* Reports an error; the core adds the class, the node's name and its place in the tree file.
 * Returns `code` (GROVE_INVALID and others of base/error.h; -1 when in doubt). */
int grove_node_fail(const grove_node *node, int code, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
/* As grove_node_fail, but names the option before the message, and points at it; or at an input. */
int grove_node_fail_option(const grove_node *node, const char *option, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
void grove_node_warn(const grove_node *node, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
/* A line that `grove check` and `grove show` print for this node ("method: ..., because ..."); of a
 * data leaf `grove run`, too. */
void grove_node_note(grove_node *node, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
const char *grove_node_name(const grove_node *node);
/* Constant options by name. A wrong name or kind is a fault of the plugin: the core reports it when
 * the tree is built, and 0 or "" is returned. */
bool grove_node_given(const grove_node *node, const char *option);   /* false: "none" */
bool grove_node_written(const grove_node *node, const char *option); /* the call has it */
bool grove_node_bool(const grove_node *node, const char *option);
int64_t grove_node_integer(const grove_node *node, const char *option);
double grove_node_number(const grove_node *node, const char *option);    /* all numeric kinds */
const char *grove_node_text(const grove_node *node, const char *option); /* text, file, choice */
int grove_node_choice(const grove_node *node, const char *option);       /* index in choices */
void grove_node_direction(const grove_node *node, const char *option, double radec[2]);
void grove_node_range(const grove_node *node, const char *option, double range[2]);
/* How many, and the numbers; "none" among them is NaN. Their unit; 0 goes with any. */
int grove_node_list(const grove_node *node, const char *option, const double **numbers);
grove_unit grove_node_list_unit(const grove_node *node, const char *option);
/* The words of a GROVE_AXIS_NAMES or GROVE_PARM_NAMES, as written; returns how many. */
int grove_node_words(const grove_node *node, const char *option, const char *const **words);
grove_unit grove_node_quantity(const grove_node *node, const char *option, double number[2]);
bool grove_node_quantity_complex(const grove_node *node, const char *option); /* as 1+0i is */

/* The tree's name for input k, or its number. */
const char *grove_node_input_name(const grove_node *node, int k);
/* Value inputs: number k as in cell.h. Their forms and axes are known from check on, so that an
 * action knows them when it begins. */
int grove_node_inputs(const grove_node *node);
int grove_node_input(const grove_node *node, const char *name); /* its number, or -1 */
/* Its form, in the precision that it is handed over in; RUN: the node's. NULL: not given. */
const grove_form *grove_node_input_form(const grove_node *node, int k);
const grove_axis *grove_node_input_axis(const grove_node *node, int k, int kind); /* or NULL */
/* All axes of its value, in order of storage; returns how many. */
int grove_node_input_axes(const grove_node *node, int k, const grove_axis *axes[GROVE_MAX_AXES]);
/* The node that reduced the axis before input k, for messages; or NULL. Only in check. */
const char *grove_node_input_reducer(const grove_node *node, int k, const grove_axis *axis);
/* The span of an axis of this kind that was reduced before input k: span[0], [1] edges of its
 * cells, [2] mean of their centres. False: no such axis, or no coordinates. Only in check. */
bool grove_node_input_span(const grove_node *node, int k, int kind, double span[3]);
/* The number given for a value input or value option, if that is a constant real scalar. */
bool grove_node_input_constant(const grove_node *node, int k, double *number);
/* The numbers of input k if they are known when the tree is built: a constant member of a leaf in
 * double precision (*count numbers, dense); else NULL. */
const double *grove_node_input_data(const grove_node *node, int k, int64_t *count);
/* The object given for an object input: the leaf itself, or NULL. */
grove_node *grove_node_object(const grove_node *node, const char *input);

/* Only in check: sets the form of the result. Its precision is the precision of `real`, too: DOUBLE
 * and SINGLE hold in any run; RUN means double when all inputs that are handed over in the node's
 * precision are double in any run, else the run's. GROVE_OUT_DOUBLE in a kernel requires DOUBLE. */
void grove_node_set_output(grove_node *node, const grove_form *form);
const grove_form *grove_node_output(const grove_node *node);
void grove_node_set_kernel(grove_node *node, const grove_kernel *kernel);
void grove_node_set_state(grove_node *node, const void *state, size_t bytes); /* copied */
/* Another rule of derivatives than the class's .tangent, for these inputs; NULL: none. Copied. */
void grove_node_set_tangent(grove_node *node, const char *rule);
/* A constant table of any size, copied: cell functions and kernels read it with GROVE_TABLE, .eval
 * as args->table. Each device gets it once per session. 0, or GROVE_INVALID, with a message, for an
 * empty one. */
int grove_node_set_table(grove_node *node, const void *bytes, size_t size);
/* Hands input k over in another way than declared: GROVE_AS_COMPLEX for a real operand of a sum. */
void grove_node_set_handing(grove_node *node, int k, grove_handing handing);
/* Input k is not needed: it is neither computed nor read, is NULL in the cell, and its axes do not
 * count. Before grove_node_consume. */
void grove_node_drop_input(grove_node *node, int k);
/* The result has no axes of this kind (grove_axis_kind of a name): .eval sums along the inputs'. */
void grove_node_consume(grove_node *node, int kind);
void grove_node_consume_axis(grove_node *node, const grove_axis *axis); /* this one */
/* Adds an axis, of any name, to the result, besides the axes of the inputs. For accumulators, and
 * for .eval classes, whose iteration space then has it. Copied with all that it points to. */
int grove_node_add_output_axis(grove_node *node, const grove_axis *axis);
/* Of actions: the object given for this input has new values once the action is prepared, which
 * then happens as soon as it has all its tiles. This action and actions before it get the old
 * values; actions after it get the new ones. 0, or GROVE_INVALID with a message, where the input is
 * no object's, or all members are constant; 0 where no object is given. */
int grove_node_renews(grove_node *node, const char *input);
/* Only in check of an action with a drive, or of one that is to see whole domains: along this axis
 * of its inputs ("time", "freq", "baseline") tiles begin at these cells only, `first` in ascending
 * order from 0 on. Copied. Each must fit the memory (but see fit.h). 0, or GROVE_INVALID. */
int grove_node_set_domains(grove_node *node, const char *axis, const int64_t *first, int64_t count);
/* Bytes that the class takes while it runs, besides its inputs and its value; the state of an
 * accumulator counts. Of accumulators and actions with a drive they leave less memory to tiles. */
void grove_node_set_memory(grove_node *node, uint64_t bytes);
/* How to take less memory, as "batch=1 takes less": a hint where there is no room. Copied. */
void grove_node_set_advice(grove_node *node, const char *advice);
/* The output of an action: a file, or a folder that is one thing, such as a Measurement Set.
 * Actions that would write the same, or replace an input of the tree, are refused when the tree is
 * built; grove check says how much is written and how much room there is. */
typedef struct {
    const char *path;
    const char *part; /* the part to write, such as a column; NULL: all, by this action alone */
    bool overwrite;   /* may replace an existing one; of a part, an input of the tree */
    uint64_t bytes;   /* additional room that the run needs on the disk */
    const char *second_path; /* a second file that goes with the first; NULL: none */
    /* With a part: NULL, the existing file stays and gets the part; else all is made anew, by all
     * actions that name a part of it. They must be of one class and have the same format, a text
     * like "4 correlations", the same objects and options of values, and the same overwrite. */
    const char *format;
    uint64_t common_bytes; /* additional room for common parts; the smallest number counts */
} grove_target;
/* Only in check of an action; copied. */
int grove_node_set_target(grove_node *node, const grove_target *target);
/* Scratch memory that .device or .eval asks for at most: bytes, and bytes for each cell of the
 * output, in which axes that check has added are whole; of an accumulator bytes, besides its state.
 */
void grove_node_set_scratch(grove_node *node, uint64_t bytes, uint64_t bytes_per_cell);
/* The class's own; `close` frees it. */
void grove_node_set_user(grove_node *node, void *user);
void *grove_node_user(const grove_node *node);

/* Only in open: axes (copied with all they point to), and members. A member varies along the named
 * axes ("time baseline freq"), stored in the order of cell.h. Members with `data` (dense, copied)
 * are constant for the run; the others are read block by block. The name column(DATA) is written
 * obs.column("DATA") in trees. After open, axes of time, freq, and station with baseline that equal
 * an earlier leaf's are replaced by that leaf's. */
int grove_node_add_axis(grove_node *node, const grove_axis *axis);
/* Adds an axis of another object to the leaf: a table of gains varies along the time and station of
 * its observation. */
int grove_node_take_axis(grove_node *node, const grove_node *object, const char *name);
int grove_node_add_member(grove_node *node, const char *name, const char *axes,
                          const grove_form *form, const void *data, const char *doc);
/* Texts that others may request from a leaf ("path"). Copied; NULL when absent. "name": for
 * messages where the tree has none. "part(MEMBER)": the part of "path" that it is read from, as in
 * a target: an action that does not make the path anew replaces it only with .overwrite, or if an
 * object of it has that "path" and another "selection" (rows). "amplitude(MEMBER)": a complex one
 * is not phases alone. "far(MEMBER)": its fluxes are of other frequencies. An action's "order",
 * "baseline": the layout of its output. */
void grove_node_add_property(grove_node *node, const char *name, const char *text);
const char *grove_node_property(const grove_node *node, const char *name);
/* Adds a file's identity to the leaf's key: its content depends on the file, too. */
void grove_node_add_identity(grove_node *node, const char *path);
const grove_axis *grove_node_axis(const grove_node *node, const char *name); /* of a leaf */
/* Of a constant member (dense, in base units, type as declared), or NULL. */
const void *grove_node_member_data(const grove_node *node, const char *member);
/* Lines that describe the run, for the history in outputs: Grove's version and the tree's file, the
 * settings given, and the text of the tree. */
const char *grove_node_history(const grove_node *node);
/* Folders with data that Grove ships or the user named (arrays), NULL-terminated. */
const char *const *grove_node_data_folders(const grove_node *node);

#ifdef __cplusplus
}
#endif
#endif
