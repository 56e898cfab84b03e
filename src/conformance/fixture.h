/* The fixture of conformance tests: a temporary folder with a sky model and an array, an
 * observation with data and flags, and trees made from the class's example. */
#ifndef GROVE_CONFORMANCE_FIXTURE_H
#define GROVE_CONFORMANCE_FIXTURE_H

#include "grove.h"

#include "graph/graph.h"

enum { GROVE_FIXTURE_NODES = 64 };

typedef struct {
    grove_classes *classes;
    grove_error *error; /* of trees and sessions */
    char *folder;       /* temporary, absolute; removed with the fixture */
    char **data_folders;
    const grove_class_test *test; /* borrowed; may be NULL */
    char *text;                   /* of the test's tree file, or NULL */
    int came_from;                /* the previous current folder, open */
    bool prepared;                /* files and classes of the preamble exist */
    grove_tree *tree;
    grove_node *nodes[GROVE_FIXTURE_NODES]; /* of the class under test, in the tree */
    int node_count;
} grove_fixture;

/* Changes to the temporary folder, or to the folder of the test's tree file, until the fixture is
 * freed. `test` is borrowed and may be NULL. NULL with a message. */
grove_fixture *grove_fixture_new(const char *const *plugin_folders, const char *const *data_folders,
                                 const grove_class_test *test, grove_error *error);
void grove_fixture_free(grove_fixture *fixture);

/* Builds the tree of the class: its example, or the test's tree file. `more` (NULL: nothing) is
 * appended to it. 0, or a code with messages in fixture->error. */
int grove_fixture_take(grove_fixture *fixture, const grove_class *class_, const char *more);
/* Builds any other text; fixture->nodes are the nodes of `class_`, which may be NULL. */
int grove_fixture_parse(grove_fixture *fixture, const char *text, const grove_class *class_);
/* Builds statements that may use the preamble's names, and D, visibilities without unit. Not for
 * tests with a tree file. */
int grove_fixture_try(grove_fixture *fixture, const char *statements, const grove_class *class_);
/* Builds the next tree for checks of cells: first the example (number 0), then a call of the class
 * for each word of its choices, where that can be built. False: there are no more. */
bool grove_fixture_next(grove_fixture *fixture, const grove_class *class_, int *number);
/* Builds a call of the class on flagged data, if possible; fixture->nodes has this call only. */
bool grove_fixture_take_flagged(grove_fixture *fixture, const grove_class *class_);

/* The name, in the preamble, of an object that fits the input. */
const char *grove_fixture_object(const grove_port *input);

/* An element of a constant table of options. */
#define GROVE_FIXTURE_OPTIONS(...)                                                                 \
    {                                                                                              \
        .size = sizeof(grove_session_options), __VA_ARGS__                                         \
    }
/* A session on the current tree: on the cpu, or as the options say. NULL with a message. */
grove_session *grove_fixture_session(grove_fixture *fixture, const grove_session_options *options);
/* The value of a node; drop it before the session is freed. NULL with a message. */
grove_value *grove_fixture_value(grove_session *session, grove_node *node);
/* Runs the actions of the tree; their standard output is discarded. */
int grove_fixture_run(grove_fixture *fixture, const grove_session_options *options);

static inline bool grove_class_is_data(const grove_class *class_)
{
    return class_->kind == GROVE_CLASS_DATA;
}
static inline bool grove_class_is_action(const grove_class *class_)
{
    return class_->kind == GROVE_CLASS_ACTION;
}
static inline bool grove_class_is_reduction(const grove_class *class_)
{
    return class_->kind == GROVE_CLASS_REDUCTION;
}
static inline bool grove_class_computes(const grove_class *class_)
{
    return class_->kind == GROVE_CLASS_VALUE;
}

/* Changes of test_parm's coefficients: a different number added to each, up to `spread`, and
 * `number` (real, imaginary) to coefficient `at` of a member, counted in order of storage; -1: to
 * all; -2: to none. */
typedef struct {
    double spread, number[2];
    const char *parm, *member;
    int64_t at;
} grove_probe_change;
grove_probe_change *grove_probe_of_parms(void);

/* Registers the data leaves `test_observation`: an observation like `observe` gives, with the
 * additional members data (time baseline freq, with flags) and weight; and `test_parm`: a `parm`
 * whose coefficients tests can change. */
int grove_probe_register(grove_classes *classes, grove_error *error);

#endif
