/* Plain evaluation of trees: every node whole, one after the other, without tiles, threads or
 * cache. For tests of node classes, and as a reference for sessions. */
#ifndef GROVE_TESTS_TESTING_H
#define GROVE_TESTS_TESTING_H

#include "graph/graph.h"
#include "lang/lang.h"
#include "suite.h"

#include <complex.h>

#ifndef CMPLX /* glibc has it for gcc alone */
#define CMPLX(x, y)  __builtin_complex((double)(x), (double)(y))
#define CMPLXL(x, y) __builtin_complex((long double)(x), (long double)(y))
#endif

typedef struct {
    grove_classes *classes;
    grove_error *error;
    grove_tree *tree;
    grove_arena *arena;
    bool double_precision;
    char folder[100]; /* for files; removed at the end */
} testing;

/* The whole of a value, all numbers as double, cells in order of the axes, slowest first. */
typedef struct {
    int axes, elements;
    const grove_axis *axis[GROVE_MAX_AXES];
    int64_t cells;
    double complex *at; /* [cells][elements] */
} testing_value;

/* Classes are those of GROVE_PLUGIN_PATH. */
void testing_begin(testing *t);
void testing_end(testing *t);
/* Builds a tree from text, or fails the test with its messages. */
void testing_tree(testing *t, const char *text);
/* Builds a tree; false, with messages in t->error, when it cannot be built. */
bool testing_try(testing *t, const char *text);
/* The messages of an invalid text. */
const char *testing_faults(testing *t, const char *text);
/* The node of that name; for a fused sum, the node that replaced it. */
grove_node *testing_node(testing *t, const char *name);
/* The value of the node of that name. */
testing_value testing_evaluate(testing *t, const char *name);
/* The one number of `x = EXPRESSION`, evaluated in double. */
double complex testing_number(testing *t, const char *expression);
/* Writes a file into the test's folder; returns its path. */
const char *testing_file(testing *t, const char *name, const char *text);
/* ||a - b|| / ||b|| over all numbers; both must have the same number. */
double testing_distance(const testing_value *a, const testing_value *b);

/* An element of a constant table of grove_session_options. */
#define TESTING_OPTIONS(...)                                                                       \
    {                                                                                              \
        .size = sizeof(grove_session_options), __VA_ARGS__                                         \
    }

/* The testing `t` of a test program, with setup and teardown; what else begins, separated by
 * commas. */
#define TESTING_FIXTURE(...)                                                                       \
    static testing t;                                                                              \
                                                                                                   \
    static void setup(void)                                                                        \
    {                                                                                              \
        testing_begin(&t);                                                                         \
        __VA_ARGS__;                                                                               \
    }                                                                                              \
                                                                                                   \
    static void teardown(void)                                                                     \
    {                                                                                              \
        testing_end(&t);                                                                           \
    }

#endif
