/* The plugin ABI: all that the author of a node class includes (with cell.h).
 *
 * A plugin is a shared object NAME.so that exports one constant, the descriptor grove_class_NAME:
 *
 *     GROVE_CLASS(beam_airy) = {
 *         GROVE_CLASS_HEAD(beam_airy),
 *         .doc = "Voltage pattern of a uniformly illuminated circular aperture.",
 *         .inputs = inputs, .options = options, .kernel = &kernel, .check = check,
 *     };
 *
 * A module may have several classes, where a file classes.index beside it says so: lines
 * "CLASS MODULE". A descriptor is checked before any code of the plugin runs; plugins are never
 * unloaded and have no constructors. */
#ifndef GROVE_PLUGIN_H
#define GROVE_PLUGIN_H

#include "cell.h"
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* What plugins fill in (class, input, option, form, axis, kernel) may grow at the end. The
 * descriptor says how long each was when the plugin was compiled, and Grove reads no more than
 * that: fields that the plugin does not know are 0. What Grove fills in (call, array) may grow at
 * the end, too, and reaches plugins by its address only. grove_view and grove_range keep their
 * size. */

typedef struct grove_node grove_node;       /* a class with options and inputs, in a tree */
typedef struct grove_literal grove_literal; /* a constant option */

/* ---- kinds of inputs and options ---- */

typedef enum {
    /* Constant options, read by grove_node_number and friends (in base units: m, s, Hz, rad, Jy).
     */
    GROVE_BOOL = 1, /* true, false */
    GROVE_INTEGER,
    GROVE_NUMBER, /* without unit */
    GROVE_LENGTH,
    GROVE_TIME,
    GROVE_FREQUENCY,
    GROVE_ANGLE,
    GROVE_FLUX,
    GROVE_TEXT,
    GROVE_FILE,        /* a path; relative ones are taken from the tree file's folder */
    GROVE_CHOICE,      /* one of the words in `choices` */
    GROVE_DIRECTION,   /* "05h42m36.1s 49d51m07s": grove_node_direction */
    GROVE_ANGLE_RANGE, /* -2h..2h or -30deg..30deg: grove_node_range (hours are 15 degrees) */
    GROVE_NUMBER_LIST, /* 1, [1, 2, 3], with any one unit: grove_node_list */
    GROVE_AXIS_NAMES,  /* time, [time, freq]: names of axes of the first value input */
    /* Values: inputs, or options that accept a number, an array, a node or a parm. Each has a unit
     * to hold to; GROVE_VALUE takes any. */
    GROVE_VALUE = 64,
    GROVE_VALUE_NUMBER,
    GROVE_VALUE_LENGTH,
    GROVE_VALUE_TIME,
    GROVE_VALUE_FREQUENCY,
    GROVE_VALUE_ANGLE,
    GROVE_VALUE_FLUX,
    GROVE_VALUE_SPEED,
    /* Inputs only: an object, which has members (obs.uvw) instead of a value. `object` says what it
     * must be: "sky", "observation", or any other kind that a class of data gives itself. */
    GROVE_OBJECT = 128
} grove_kind;

/* How an input's numbers are handed over. The framework converts. */
typedef enum {
    GROVE_AS_GIVEN = 0,      /* real or complex as it comes, in the node's precision */
    GROVE_AS_REAL,           /* `real` */
    GROVE_AS_COMPLEX,        /* `cplx` */
    GROVE_AS_DOUBLE,         /* double whatever the precision of the run: coordinates */
    GROVE_AS_SINGLE_COMPLEX, /* grove_cplx32 whatever the precision of the run: columns of data sets
                              */
    /* Of the value only its flags, a byte for each cell with bit k for element k; NULL where
     * nothing is flagged. Where all elements are flagged the class need not compute anything: the
     * result is flagged, and made 0 after kernels of .device. For .eval and .device only. */
    GROVE_AS_FLAGS
} grove_handing;

enum {
    GROVE_ANY_SHAPE = GROVE_SCALAR | GROVE_DIAGONAL | GROVE_MATRIX | GROVE_VECTOR,
    GROVE_JONES = GROVE_SCALAR | GROVE_DIAGONAL | GROVE_MATRIX
};

/* How the result depends on an input whose numbers are x, if it does so linearly; tested for every
 * class by scaling and adding. */
typedef enum {
    GROVE_NOT_LINEAR = 0,
    GROVE_LINEAR,     /* f(c x) = c f(x) for complex c, and f(x + y) = f(x) + f(y) */
    GROVE_ANTILINEAR, /* f(c x) = conj(c) f(x) */
    GROVE_REAL_LINEAR /* f(c x) = c f(x) for real c only: real(x), imag(x) */
} grove_linearity;

typedef struct {
    const char *name; /* NULL ends the list */
    grove_kind kind;  /* GROVE_VALUE..., GROVE_OBJECT */
    const char *doc;
    grove_handing handing;
    int shapes; /* of cells that are accepted, GROVE_SCALAR | ...; 0: scalar */
    int vector; /* length wanted of a vector, 0: any */
    grove_linearity linear;
    /* 0: linear in this input alone, the others held (factors of a product). 1, 2, ...: linear in
     * all inputs of the same number together (the terms of a sum). */
    int group;
    const char *object; /* GROVE_OBJECT: which */
} grove_input;

typedef struct {
    const char *name; /* NULL ends the list */
    grove_kind kind;
    /* Default: text of the tree language in which the class's inputs can be named ("25m",
     * "obs.freq", "lmn(sky, obs)"); "none": may be left out; NULL: must be given. */
    const char *initial;
    const char *doc;       /* what it is, with the unit it has in base units */
    const char *choices;   /* GROVE_CHOICE: words separated by blanks */
    grove_handing handing; /* value options: as in grove_input, next four too */
    int shapes;
    int vector;
    grove_linearity linear;
    int group;
} grove_option;

/* ---- forms: what a value is made of ---- */

typedef enum {
    GROVE_PRECISION_RUN = 0, /* single or double as the run is */
    GROVE_PRECISION_DOUBLE,  /* always double: coordinates, times, frequencies, phases */
    GROVE_PRECISION_SINGLE   /* always single: data columns */
} grove_precision;

/* The unit as exponents; see grove_unit in base/unit.h, which this mirrors. */
typedef struct {
    int8_t m, s, Jy, rad, K, spare[3];
} grove_dimension;

typedef struct {
    int shape;  /* GROVE_SCALAR, GROVE_DIAGONAL, GROVE_MATRIX, GROVE_VECTOR */
    int vector; /* elements of a vector */
    bool complex_;
    grove_precision precision; /* of an input: of the numbers as they are handed over */
    grove_dimension unit;
    bool flags; /* a data leaf's member, or the value of an accumulator: comes with flags */
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
    const char *const *labels;    /* names of stations, sources; may be NULL */
    const grove_node *owner;      /* the node that made it; set by the framework */
} grove_axis;

typedef struct {
    const grove_axis *axis;
    int64_t first, count;
} grove_range;

/* Dense storage of a block for data leaves and actions: range[0] slowest; then elements of the
 * cell. */
typedef struct {
    void *data;           /* NULL: this input is absent */
    unsigned char *flags; /* per cell, bit k set: element k is flagged; NULL: none */
    int axes;
    grove_range range[GROVE_MAX_AXES];
    int64_t cells;
    int elements;
    const grove_form *form;
} grove_array;

/* ---- evaluation of whole arrays ---- */

typedef struct grove_call {
    const grove_node *node;
    const grove_args *args; /* as in cell.h; iteration space includes consumed axes */
    bool double_precision;  /* of `real` and `cplx` in this run */
    void *threads;          /* for grove_call_parallel */
    void *run;              /* what start gave, or NULL */
} grove_call;

/* Splits [0, count) over the run's threads; fn must give the same result for any cut. */
void grove_call_parallel(const grove_call *call, int64_t count,
                         void (*fn)(void *context, int64_t first, int64_t last), void *context);

/* Their number, at least 1. */
int grove_call_threads(const grove_call *call);

/* ---- the descriptor ---- */

typedef enum {
    GROVE_CLASS_VALUE = 0,  /* computes its value: kernel or eval */
    GROVE_CLASS_DATA,       /* a leaf with axes and members: open, read, close */
    GROVE_CLASS_ACTION,     /* a root: begin, write, prepare, commit, abort */
    GROVE_CLASS_REDUCTION,  /* consumes the axes named by its option "over"; see .reduce */
    GROVE_CLASS_SELECTION,  /* picks a part along an axis: done by the framework */
    GROVE_CLASS_ACCUMULATOR /* gathers all tiles of its inputs into one value: accumulate_... */
} grove_class_kind;

/* Which flags of the inputs reach which elements of the result. */
typedef enum {
    GROVE_FLAGS_ELEMENT = 0, /* those of the same element; of a scalar, all */
    GROVE_FLAGS_MIX,         /* those of any element reach all */
    GROVE_FLAGS_PRODUCT,     /* as in the matrix product of the first two inputs */
    GROVE_FLAGS_TRANSPOSE    /* by element, and those of XY and YX change places */
} grove_flag_rule;

typedef enum {
    GROVE_REDUCE_NONE = 0,
    GROVE_REDUCE_SUM,
    GROVE_REDUCE_MEAN,
    GROVE_REDUCE_MIN,
    GROVE_REDUCE_MAX
} grove_reduce;

/* What the class is in algebra: by this, not by names, the rewriter knows it. Inputs are counted
 * from 0. */
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
    /* What each source contributes on each baseline. Its sum over sources, with factors of station
     * p at its left and of station q at its right, is the class `fused`, which has inputs and
     * options of the same names, and `left` and `right` beside. */
    GROVE_ROLE_SOURCE
} grove_role;

/* A node class. Fields that are left out are 0 or NULL. */
typedef struct grove_class {
    uint16_t abi_major, abi_minor;
    uint32_t struct_size; /* these sizes: as the plugin was compiled, by GROVE_CLASS_HEAD */
    uint16_t input_size, option_size, form_size, axis_size, kernel_size;
    uint16_t spare;
    const char *name;
    const char *doc;        /* one sentence, then more after a newline */
    const char *output_doc; /* what the value is, with its unit */
    const char *group;      /* heading in the reference: "sky", "Jones terms", "arithmetic", ... */
    const char *example;    /* a line of the tree language, for the reference */
    grove_class_kind kind;
    grove_flag_rule flag_rule;
    grove_reduce reduce; /* reductions: which */
    grove_role role;
    const char *fused;  /* sources: the class of their sum */
    const char *object; /* data: the kind of object, "sky", "observation" or another word */
    bool serial_io;     /* casacore and the like: its open, read, begin, write, prepare, commit and
                           abort never run at the same time as another's */
    bool sum; /* its value is a sum over the axes it consumes: that of parts of them may be
                 computed one after the other, and added */
    const grove_input *inputs;   /* NULL: none */
    const grove_option *options; /* NULL: none */
    const grove_form *output;    /* when check does not set one; NULL: a real scalar */

    /* Functions may be NULL. Those that return an int return 0, or the code of grove_node_fail. A
     * tree may be run by several sessions at once: what changes while it runs belongs to the run,
     * not to the node. */

    /* After options and inputs are bound: check them, grove_node_set_output, _set_kernel,
     * _set_state, _consume. Called once when the tree is built. */
    int (*check)(grove_node *node);
    /* One cell (may also be chosen by check) ... */
    const grove_kernel *kernel;
    /* ... or the whole array at once. */
    int (*eval)(const grove_call *call);
    /* What eval is on a device with memory of its own: the kernel that takes these arguments, whose
     * addresses are the device's; NULL: eval on the host. */
    const grove_kernel *(*device)(const grove_args *args);

    /* Data leaves: open adds axes and members, when the tree is built; read fills one member of a
     * block, from a background thread. */
    int (*open)(grove_node *node);
    int (*read)(const grove_node *node, void *run, const char *member, grove_array *out);
    /* Frees what grove_node_set_user keeps, when the tree goes; after a check or open that failed,
     * too. */
    void (*close)(grove_node *node);

    /* Once per run, before anything else of it and after everything: start makes what the run keeps
     * for this node, which the other functions are given as `run`; stop frees it. After a start
     * that failed there is no stop. */
    int (*start)(const grove_node *node, void **run);
    void (*stop)(const grove_node *node, void *run);

    /* Actions: begin, then write for each tile in order (inputs in the order of value inputs and
     * value options), then prepare: everything that can fail, so that commit only puts things in
     * place. Of several actions all prepare before the first commits. If anything fails before
     * that, abort, in place of commit: then everything is to be as it was before. After a begin
     * that failed there is no abort. */
    int (*begin)(const grove_node *node, void *run);
    int (*write)(const grove_node *node, void *run, const grove_array *const *inputs, int count);
    int (*prepare)(const grove_node *node, void *run);
    int (*commit)(const grove_node *node, void *run);
    void (*abort)(const grove_node *node, void *run);

    /* Reserved, to be left out: the rule of derivatives, and what re-evaluates its inputs. */
    const char *tangent;
    int (*drive)(const grove_node *node, void *run);

    /* Accumulators, all four: images, histograms, sums over a whole observation. `new` makes the
     * state, whose bytes check has told by grove_node_set_memory. `add` gets parts of the inputs,
     * one after the other in the order of tiles: each dense over its own axes, with flags if it has
     * some; one taken by station over baselines instead. What lacks an axis that is cut comes again
     * with each part. `finish` fills the value over all of its axes, 0 and unflagged before. Then,
     * or after a failure, `free`. All on the host, by the thread that runs the session; call->args
     * is NULL. Any cut of tiles must give the same, but for rounding. */
    int (*accumulate_new)(const grove_call *call, void **state);
    int (*accumulate_add)(const grove_call *call, void *state, const grove_array *const *inputs,
                          int count);
    int (*accumulate_finish)(const grove_call *call, void *state, grove_array *out);
    void (*accumulate_free)(const grove_node *node, void *state);
} grove_class;

#define GROVE_CLASS(name)                                                                          \
    extern const grove_class grove_class_##name;                                                   \
    const grove_class grove_class_##name
#define GROVE_CLASS_HEAD(class_name)                                                               \
    .abi_major = GROVE_ABI_MAJOR, .abi_minor = GROVE_ABI_MINOR,                                    \
    .struct_size = sizeof(grove_class), .input_size = sizeof(grove_input),                         \
    .option_size = sizeof(grove_option), .form_size = sizeof(grove_form),                          \
    .axis_size = sizeof(grove_axis), .kernel_size = sizeof(grove_kernel), .name = #class_name

/* ---- what a class may ask of its node ---- */

/* Reports an error: the core adds the class, the node's name and its place in the tree file.
 * Returns `code` (GROVE_INVALID and friends of base/error.h; use -1 when in doubt). */
int grove_node_fail(const grove_node *node, int code, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
/* As grove_node_fail, but points at an option or input. */
int grove_node_fail_option(const grove_node *node, const char *option, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
void grove_node_warn(const grove_node *node, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
/* A line that `grove check` and the run's summary show for this node ("method: ..., because ...").
 */
void grove_node_note(grove_node *node, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

const char *grove_node_name(const grove_node *node);

/* Constant options by name. Asking for one that does not exist, or with the wrong kind, is a fault
 * of the plugin: it is reported by the core when the tree is built, and 0 or "" is returned. */
bool grove_node_given(const grove_node *node, const char *option); /* false: "none" */
bool grove_node_bool(const grove_node *node, const char *option);
int64_t grove_node_integer(const grove_node *node, const char *option);
double grove_node_number(const grove_node *node, const char *option); /* all numeric kinds */
const char *grove_node_text(const grove_node *node,
                            const char *option);                   /* text, file, choice word */
int grove_node_choice(const grove_node *node, const char *option); /* index in choices */
void grove_node_direction(const grove_node *node, const char *option, double radec[2]);
void grove_node_range(const grove_node *node, const char *option, double range[2]);
int grove_node_list(const grove_node *node, const char *option, const double **numbers);

/* Value inputs: number k as in cell.h. All that is said of them is known from check on, so that an
 * action knows it when it begins. */
int grove_node_inputs(const grove_node *node);
int grove_node_input(const grove_node *node, const char *name); /* its number, or -1 */
/* Its form, with the precision in which it is handed over: RUN means that of the node. NULL: not
 * given. */
const grove_form *grove_node_input_form(const grove_node *node, int k);
const grove_axis *grove_node_input_axis(const grove_node *node, int k, int kind); /* or NULL */
/* All axes of its value, in order of storage: how many. */
int grove_node_input_axes(const grove_node *node, int k, const grove_axis *axes[GROVE_MAX_AXES]);
/* What reduced the axis on the way to input k, as messages name it; NULL: it never had it, or a
 * part was selected. Only in check. */
const char *grove_node_input_reducer(const grove_node *node, int k, const grove_axis *axis);
/* A literal number given for a value input or value option (false if it is not a constant real
 * scalar). */
bool grove_node_input_constant(const grove_node *node, int k, double *number);
/* The numbers of input k where they are known when the tree is built: of a constant member of a
 * leaf in double precision (*count of them, dense), or NULL. */
const double *grove_node_input_data(const grove_node *node, int k, int64_t *count);
/* The object given for an object input: the leaf itself, or NULL. */
grove_node *grove_node_object(const grove_node *node, const char *input);

/* Only in check: what the result is. Its precision is that of `real`, too: DOUBLE and SINGLE hold
 * whatever the run's; RUN means double where all inputs that are handed over in the node's
 * precision are double by themselves, else the run's. GROVE_OUT_DOUBLE in a kernel needs DOUBLE. */
void grove_node_set_output(grove_node *node, const grove_form *form);
const grove_form *grove_node_output(const grove_node *node);
void grove_node_set_kernel(grove_node *node, const grove_kernel *kernel);
void grove_node_set_state(grove_node *node, const void *state, size_t bytes); /* copied */
/* A constant table of any size, copied: cell functions and kernels read it with GROVE_TABLE, .eval
 * as args->table. Each device gets it once and keeps it as long as the session. 0, or
 * GROVE_INVALID, with a message, for an empty one. */
int grove_node_set_table(grove_node *node, const void *bytes, size_t size);
/* Take input k as another handing than declared (GROVE_AS_COMPLEX for a real operand of a sum). */
void grove_node_set_handing(grove_node *node, int k, grove_handing handing);
/* Input k is not needed after all: it is neither computed nor read, NULL in the cell, and its axes
 * do not count. Before grove_node_consume. */
void grove_node_drop_input(grove_node *node, int k);
/* The result does not have the axes of this kind (grove_axis_kind of a name) that the inputs have;
 * .eval sums over them or the like. */
void grove_node_consume(grove_node *node, int kind);
/* The result has this axis, of any name, beside those of its inputs. Of accumulators; and of .eval
 * classes, where the iteration space then has it. Copied with all it points to. */
int grove_node_add_output_axis(grove_node *node, const grove_axis *axis);
/* Bytes that the class takes while it runs beside the values it is given: `grove check` counts
 * them. Accumulators must say so: those of their state. */
void grove_node_set_memory(grove_node *node, uint64_t bytes);
/* What an action writes: a file, or a folder that is one thing, such as a Measurement Set. Actions
 * that would write the same are refused when the tree is built; grove check says how much is
 * written and how much room there is. */
typedef struct {
    const char *path;
    const char *part; /* what is written of what exists, such as a column; NULL: all, made anew */
    bool overwrite;   /* all made anew: may replace what is there */
    uint64_t bytes;   /* room that the run needs on the disk, beside what is there */
} grove_target;
/* Only in check of an action; copied. */
int grove_node_set_target(grove_node *node, const grove_target *target);
/* Anything of the class's own; `close` frees it. */
void grove_node_set_user(grove_node *node, void *user);
void *grove_node_user(const grove_node *node);

/* Only in open: axes (copied with all they point to), and members. A member varies along the named
 * axes ("time baseline freq"), stored in the order of cell.h. Members with `data` (dense, copied)
 * are constant for the run; the others are read block by block. */
int grove_node_add_axis(grove_node *node, const grove_axis *axis);
/* The leaf has an axis of another object that it was given, as its own: a table of gains varies
 * along the time and station of its observation. */
int grove_node_take_axis(grove_node *node, const grove_node *object, const char *name);
int grove_node_add_member(grove_node *node, const char *name, const char *axes,
                          const grove_form *form, const void *data, const char *doc);
/* Texts that other classes may ask a leaf for ("telescope", "path"). Copied; NULL where there is
 * none. */
void grove_node_add_property(grove_node *node, const char *name, const char *text);
const char *grove_node_property(const grove_node *node, const char *name);
/* What the content of this leaf depends on beside its options, for the cache: a file's identity. */
void grove_node_add_identity(grove_node *node, const char *path);
const grove_axis *grove_node_axis(const grove_node *node, const char *name); /* of a leaf */
/* Data of a constant member of a leaf (dense, in base units, type as declared), or NULL. */
const void *grove_node_member_data(const grove_node *node, const char *member);
/* Folders with data that Grove ships or the user named (arrays), NULL-terminated. */
const char *const *grove_node_data_folders(const grove_node *node);

#ifdef __cplusplus
}
#endif

#endif
