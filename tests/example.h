/* The examples that node classes give, in a tree that has all they name. */
#ifndef GROVE_TESTS_EXAMPLE_H
#define GROVE_TESTS_EXAMPLE_H

#include "probe.h"

/* As testing_begin; works in the test's folder, where files are that the examples name. Plugins'
 * folders must be absolute. */
void example_begin(testing *t);
void example_end(testing *t);
/* All classes there are in GROVE_PLUGIN_PATH and the installed folder; borrowed. */
const char *const *example_classes(testing *t, size_t *count);
/* The class, or stops the test. */
const grove_class *example_class(testing *t, const char *name);
/* Builds the class's example with everything around it, and `more` (NULL: nothing), or stops the
 * test. The name that it defines, until the next call. */
const char *example_tree(testing *t, const grove_class *class_, const char *more);
/* Builds the preamble with `more` if that can be. */
bool example_try(testing *t, const char *more);
/* "name = class(...)" with data of all elements, or one of them, for all value inputs (one
 * hundredth of them: D), options that must be given, and `more` ("smear=both", may be NULL); a
 * statement for example_try, which may not build it. Caller frees. */
char *example_call(const grove_class *class_, const char *name, const char *more);
/* The name in these trees of the object that an input wants. */
const char *example_object(const grove_input *input);
/* The nodes of the class in the tree, at most `most`; how many. */
int example_nodes(const testing *t, const grove_class *class_, grove_node **nodes, int most);

#endif
