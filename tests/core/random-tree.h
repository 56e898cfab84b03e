/* Random trees: from a seed an expression over random data, its text in the tree language, and its
 * value, evaluated in long double without any part of Grove, with a bound of rounding errors. */
#ifndef GROVE_TESTS_RANDOM_TREE_H
#define GROVE_TESTS_RANDOM_TREE_H

#include "random-tree-data.h"

#include <complex.h>
#include <stddef.h>

#ifndef CMPLXL /* glibc has it for gcc alone */
#define CMPLXL(x, y) __builtin_complex((long double)(x), (long double)(y))
#endif

typedef long double complex random_complex;

/* Axes, as bits 1 << axis of a mask. The two sky models have a source axis each. */
typedef enum {
    RANDOM_SOURCE,
    RANDOM_OTHER_SOURCE,
    RANDOM_TIME,
    RANDOM_STATION,
    RANDOM_BASELINE,
    RANDOM_FREQ,
    RANDOM_AXES
} random_axis;

/* The sizes of the data, and the options of their classes. */
typedef struct {
    int64_t seed, size[RANDOM_AXES];
    int layout, flagging;
    int32_t left[RANDOM_MAX_BASELINES], right[RANDOM_MAX_BASELINES];
} random_world;

/* An array: cells in the order of random_axis, slowest first, each of 1, 2 (diagonal), 4 (matrix)
 * numbers or a vector. `error`: bound of a number's error, in units of the relative rounding error
 * of the run's precision. Flagged numbers are 0. */
typedef struct {
    unsigned axes;
    int shape, elements;
    bool complex_, may_flag;
    int flux; /* power of Jy in its unit */
    int64_t cells;
    random_complex *at;
    long double *error;
    unsigned char *flag;
} random_value;

typedef enum {
    RANDOM_MEMBER, /* of leaf choice[0] (0: the observation, 1, 2: sky models), member choice[1] */
    RANDOM_NUMBER, /* number[0..elements), of cell `shape` */
    RANDOM_POINT,  /* of sky choice[0]; smearing choice[1]: bit 0 in time, 1 in frequency */
    RANDOM_PHASE,  /* of sky choice[0] */
    RANDOM_BRIGHTNESS,
    RANDOM_NEGATE,
    RANDOM_HERMITIAN,
    RANDOM_TRANSPOSE,
    RANDOM_INVERSE,
    RANDOM_POWER, /* number[0] */
    RANDOM_SIN,
    RANDOM_COS,
    RANDOM_TAN,
    RANDOM_EXP,
    RANDOM_SQRT,
    RANDOM_LOG,
    RANDOM_LOG10,
    RANDOM_ABS,
    RANDOM_ARG,
    RANDOM_REAL,
    RANDOM_IMAG,
    RANDOM_CONJ,
    RANDOM_SINC,
    RANDOM_ASIN,
    RANDOM_ACOS,
    RANDOM_ATAN,
    RANDOM_DETERMINANT,
    RANDOM_TRACE,
    RANDOM_NORM,
    RANDOM_SCALAR,
    RANDOM_RESHAPE, /* to `shape` */
    RANDOM_ROTATION,
    RANDOM_PLAIN,   /* without its unit */
    RANDOM_ELEMENT, /* choice[0] */
    RANDOM_CELL,    /* along axis choice[0], number choice[1] */
    RANDOM_ADD,
    RANDOM_SUBTRACT,
    RANDOM_MULTIPLY,
    RANDOM_DIVIDE,
    RANDOM_COMPLEX,
    RANDOM_DIAGONAL,
    RANDOM_MATRIX,
    RANDOM_SUM, /* over the axes `over` */
    RANDOM_MEAN,
    RANDOM_MIN,
    RANDOM_MAX,
    RANDOM_OPERATIONS
} random_operation;

enum { RANDOM_MAX_NODES = 64, RANDOM_MAX_ELEMENTS = 40000 };

/* Of which station a matrix per baseline is at its left and right: 'p', 'q', 0 none, '?' any; open:
 * it is a Jones term's end, which may meet one of the other station. */
typedef struct {
    char left, right;
    bool left_open, right_open;
} random_sides;

typedef struct {
    random_operation operation;
    int inputs, input[4]; /* earlier nodes */
    char role[4];         /* 'p', 'q': the side of a station value; 0: not gathered */
    int choice[2], shape, elements;
    unsigned over;
    random_complex number[5];
    bool used, named, declared; /* it has a definition with indices */
    random_value value;
    random_sides sides; /* of its value */
} random_node;

typedef struct {
    uint64_t seed, state; /* state: of its random numbers */
    random_world world;
    int64_t max_elements;
    int count, root;
    random_node node[RANDOM_MAX_NODES];
} random_tree;

/* Free with random_tree_free. */
random_tree *random_tree_new(uint64_t seed);
void random_tree_free(random_tree *tree);
/* Whether the node's value can be requested. */
bool random_tree_is_root(const random_tree *tree, int node);
/* From 0 to below - 1. */
int random_tree_draw(random_tree *tree, int below);
/* The class of an operation, as the tree language calls it. */
const char *random_operation_class(random_operation operation);
/* The text with the definition of `root`, and all it needs, as node `x<root>`. Caller frees. */
char *random_tree_text(random_tree *tree, int root);

/* Evaluates a node whose inputs have values. False: numbers are outside the range in which rounding
 * errors can be bounded (near a pole, a branch cut, too large), or there are too many. */
bool random_node_evaluate(const random_tree *tree, random_node *node);
void random_value_free(random_value *value);

/* The sides of its value; and whether those of its inputs may stand beside each other. */
random_sides random_sides_of(const random_tree *tree, const random_node *node);
bool random_sides_fit(const random_tree *tree, const random_node *node);

/* For random-tree-evaluate.c: one cell. */
typedef struct {
    random_complex at[8];
    long double error[8];
    unsigned flags; /* bit per element */
    int shape, elements;
    bool complex_;
} random_cell;

/* Sets the result's numbers and errors, with its shape given, from cells of the inputs. Flagged
 * numbers are not read. */
bool random_cell_compute(const random_node *node, const random_cell *in, random_cell *out);
/* One cell of point, phase or brightness; `cell` along random_axis. */
void random_sky_compute(const random_world *world, const random_node *node, const int64_t *cell,
                        random_cell *out);
/* Whether no brightness of sky model `sky` varies with frequency. */
bool random_sky_is_flat(const random_world *world, int sky);

#endif
