/* Conformance: what every node class is held to, whoever wrote it. */
#ifndef GROVE_CONFORMANCE_CONFORMANCE_H
#define GROVE_CONFORMANCE_CONFORMANCE_H

#include "grove.h"

#include "conformance/fixture.h"

/* Relative differences of norms that are allowed: of sums taken in another order, and of another
 * device, in double and in single precision; and of single precision from double. */
#define GROVE_CONFORMANCE_DOUBLE 1e-11
#define GROVE_CONFORMANCE_SINGLE 1e-5
/* How long a check may take, if the test does not say. */
#define GROVE_CONFORMANCE_SECONDS 600

/* The class under test, and the check that is being made of it. */
typedef struct {
    grove_fixture *fixture;
    const grove_class *class_;
    const grove_class_test *test;
    const char *device; /* a device other than the cpu, or NULL; of checks that use one */
    char *fault;        /* the first of this check: where and what; owned */
    int faults;         /* of this check */
    char *reason;       /* why this check says nothing; owned */
    bool made;          /* there was something to check */
} grove_conformance;

/* Holds the class of that name to everything; prints a line per check by test->print. How many
 * checks failed, or a negative code with a message when there is no such class. */
int grove_conformance_test(const char *const *plugin_folders, const char *const *data_folders,
                           const char *name, const grove_class_test *test, grove_error *error);

/* Prints the line of a check that was made elsewhere: "ok", or, with a fault, "FAIL". How many
 * failed: 0 or 1. */
int grove_conformance_report(const grove_class_test *test, const char *name, const char *fault);

/* Notes a fault of this check: "G (element 2 of cell 5 ...): what is wrong; what would be right".
 */
void grove_conformance_fail(grove_conformance *c, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
/* Whether the code is 0; otherwise notes what the fixture's error says. */
bool grove_conformance_done(grove_conformance *c, int code, const char *what);
/* This check does not apply, for a reason that is printed. */
void grove_conformance_skip(grove_conformance *c, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* ---- the checks ---- */

/* The descriptor: texts; defaults written where a user would write them. */
void grove_conformance_texts(grove_conformance *c);
void grove_conformance_defaults(grove_conformance *c);
/* Calls of the kernel or of eval on whole inputs. */
void grove_conformance_storage(grove_conformance *c); /* writes all of its output, nothing else */
void grove_conformance_blocks(grove_conformance *c);  /* a part is that part of the whole */
void grove_conformance_axes(grove_conformance *c);    /* axes that no input has change nothing */
void grove_conformance_linear(grove_conformance *c);
void grove_conformance_spoilt(grove_conformance *c); /* flags cover what an element changes */
/* Sessions. */
void grove_conformance_tiles(grove_conformance *c); /* tiles, threads, cache change nothing */
void grove_conformance_flags(grove_conformance *c); /* flags are by the rule */
void grove_conformance_precision(grove_conformance *c);
void grove_conformance_device(grove_conformance *c);
/* Data leaves and actions. */
void grove_conformance_members(grove_conformance *c);
void grove_conformance_actions(grove_conformance *c);
void grove_conformance_aborts(grove_conformance *c);

/* ---- the flag rule ---- */

/* A cell's shape and number of elements. */
typedef struct {
    int shape, elements;
} grove_flag_cell;
/* The bits of the output that bits `bits` of input k flag, as plugin.h says. `other`: of a product,
 * the other factor's cell; NULL where there is none. */
unsigned grove_flag_rule_apply(const grove_class *class_, int k, unsigned bits, grove_flag_cell in,
                               grove_flag_cell out, const grove_flag_cell *other);

#endif
