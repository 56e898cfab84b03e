/* Mutants: a class that returns only zeros. A value test that passes with it tests nothing. */
#ifndef GROVE_TESTS_MUTANT_H
#define GROVE_TESTS_MUTANT_H

#include "graph/graph.h"

/* Replaces the class named by the environment variable GROVE_MUTANT, if it is set: kernels and
 * evals return zeros, leaves have members of zeros (or one of them, after "class.member"), actions
 * receive zeros, selections take the first cell, reductions become another one. 0, or a code with a
 * message. */
int mutant_begin(grove_classes *classes, grove_error *error);

#endif
