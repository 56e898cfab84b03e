/* A class that gives nothing but zeros: a value test that passes with it tests nothing. */
#ifndef GROVE_TESTS_MUTANT_H
#define GROVE_TESTS_MUTANT_H

#include "graph/graph.h"

/* Puts a mutant in the place of the class that the environment variable GROVE_MUTANT names, if it
 * is set: kernels and evals give zeros, leaves have members of zeros (or one of them, after
 * "class.member"), actions are given zeros, selections take the first, a reduction becomes another
 * one. 0, or a code with a message. */
int mutant_begin(grove_classes *classes, grove_error *error);

#endif
