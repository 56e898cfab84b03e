/* Conformance: the checks that every node class must pass. */
#ifndef GROVE_CONFORMANCE_CONFORMANCE_H
#define GROVE_CONFORMANCE_CONFORMANCE_H

#include "grove.h"

#include "conformance/fixture.h"

/* Tolerated relative differences of norms: for sums in another order or on another device, in
 * double and in single precision; and between single precision and double. */
#define GROVE_CONFORMANCE_DOUBLE 1e-11
#define GROVE_CONFORMANCE_SINGLE 1e-5
/* How long a check may take unless the test says otherwise, s. */
#define GROVE_CONFORMANCE_SECONDS 600

/* The class under test, and the result of the current check. */
typedef struct {
    grove_fixture *fixture;
    const grove_class *class_;
    const grove_class_test *test;
    const char *device; /* a device other than the cpu, or NULL; of checks that use one */
    char *fault;        /* the first fault of this check, with its place; owned */
    int faults;         /* number of faults of this check */
    char *reason;       /* why this check was skipped; owned */
    bool made;          /* something was checked */
} grove_conformance;

/* Runs all checks on the library's class of that name, which exists and need not load; prints a
 * line per check by test->print. Returns the number of checks that failed, or a negative code with
 * a message. */
int grove_conformance_test(grove_library *library, const char *const *plugin_folders,
                           const char *const *data_folders, const char *name,
                           const grove_class_test *test, grove_error *error);

/* Records a fault of this check: "G (element 2 of cell 5 ...): error; correction". */
void grove_conformance_fail(grove_conformance *c, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
/* Whether the code is 0; otherwise records the fixture's error as a fault. */
bool grove_conformance_done(grove_conformance *c, int code, const char *subject);
/* Skips this check for a reason that is printed. */
void grove_conformance_skip(grove_conformance *c, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* ---- the checks ---- */

/* Descriptors. */
void grove_conformance_texts(grove_conformance *c);
void grove_conformance_defaults(grove_conformance *c);
/* Whole calls of the kernel or of eval. */
void grove_conformance_storage(grove_conformance *c); /* all output is written, nothing else */
void grove_conformance_blocks(grove_conformance *c);  /* a block is that part of the whole */
void grove_conformance_axes(grove_conformance *c);    /* axes that no input has change nothing */
void grove_conformance_linear(grove_conformance *c);
void grove_conformance_derivatives(grove_conformance *c); /* they equal differences */
void grove_conformance_spoilt(grove_conformance *c); /* flags cover the changes by an element */
/* Sessions. */
void grove_conformance_tiles(grove_conformance *c); /* tiles, threads, cache change nothing */
void grove_conformance_flags(grove_conformance *c); /* flags follow the rule */
void grove_conformance_precision(grove_conformance *c);
void grove_conformance_device(grove_conformance *c);
/* Data leaves and actions. */
void grove_conformance_members(grove_conformance *c);
void grove_conformance_actions(grove_conformance *c);
void grove_conformance_aborts(grove_conformance *c);

/* ---- the flag rule ---- */

/* Shape and number of elements of a cell. */
typedef struct {
    int shape, elements;
} grove_flag_cell;
/* The flag bits of the output that follow from flag bits `bits` of input k, by the class's rule in
 * plugin.h. `other`: for a product, the cell of the other factor; NULL if there is none. */
unsigned grove_flag_rule_apply(const grove_class *class_, int k, unsigned bits, grove_flag_cell in,
                               grove_flag_cell out, const grove_flag_cell *other);

#endif
