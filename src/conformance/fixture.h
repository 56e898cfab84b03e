/* The fixture: what a class under test finds around it. A folder with a sky model and an array, an
 * observation with data and flags, and trees made of the class's example. */
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
    int came_from;                /* the folder that was the current one, open */
    bool prepared;                /* files and classes of the preamble are there */
    grove_tree *tree;
    grove_node *nodes[GROVE_FIXTURE_NODES]; /* of the class under test, in the tree */
    int node_count;
} grove_fixture;

/* Makes the temporary folder, or that of the test's tree file, the current one until the fixture is
 * freed. `test` stays the caller's, and may be NULL. NULL with a message. */
grove_fixture *grove_fixture_new(const char *const *plugin_folders, const char *const *data_folders,
                                 const grove_class_test *test, grove_error *error);
void grove_fixture_free(grove_fixture *fixture);

/* Builds the tree of the class: its example, or the file that the test names. `more` (NULL:
 * nothing) are statements added to it. 0, or a code with messages in fixture->error. */
int grove_fixture_take(grove_fixture *fixture, const grove_class *class_, const char *more);
/* Builds any other text; nodes are those of `class_`, which may be NULL. */
int grove_fixture_parse(grove_fixture *fixture, const char *text, const grove_class *class_);
/* Builds statements that may name what the preamble defines, and D, visibilities without unit. Not
 * with a tree file. */
int grove_fixture_try(grove_fixture *fixture, const char *statements, const grove_class *class_);
/* The trees that checks of cells go through: the example first (number 0), then a call of the class
 * with each of the words that it knows, as far as that can be built. False: that was all. */
bool grove_fixture_next(grove_fixture *fixture, const grove_class *class_, int *number);
/* A call of the class on data that are flagged, if that can be built: nodes has this one. */
bool grove_fixture_take_flagged(grove_fixture *fixture, const grove_class *class_);

/* The name that trees have for the object that an input wants. */
const char *grove_fixture_object(const grove_input *input);

/* A session on the present tree: cpu or as the options say. NULL with a message. */
grove_session *grove_fixture_session(grove_fixture *fixture, const grove_session_options *options);
/* The value of a node; drop it before the session goes. NULL with a message. */
grove_value *grove_fixture_value(grove_session *session, grove_node *node);
/* Runs the actions of the tree; what they print on standard output is thrown away. */
int grove_fixture_run(grove_fixture *fixture, const grove_session_options *options);

/* What kind of class it is. */
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

/* The data leaf `test_observation`: an observation as `observe` makes it, with members data (time
 * baseline freq, with flags) and weight beside. */
int grove_probe_register(grove_classes *classes, grove_error *error);

#endif
