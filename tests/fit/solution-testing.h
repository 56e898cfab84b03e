/* For tests of the class solutions: trees in which G are the solutions of a file. */
#ifndef GROVE_TESTS_SOLUTION_TESTING_H
#define GROVE_TESTS_SOLUTION_TESTING_H

#include "tests/common/hdf5-testing.h"
#include "tests/common/probe.h"

extern testing solution_t;
extern char *solution_path; /* of the file, which is open for hdf5_put_table */

void solution_setup(void);
void solution_teardown(void);
/* obs, and G[p] = solutions(..., obs<options>); then `more`. */
char *solution_tree(const char *options, const char *more);
/* The value of a node of this tree. */
testing_value solution_value(const char *options, const char *more, const char *node,
                             unsigned char **flags);
/* There is one error, with this message. */
void solution_refused(const char *options, const char *message);
void solution_near(double complex found, double complex wanted, const char *what, int i, int p,
                   int k);

#endif
