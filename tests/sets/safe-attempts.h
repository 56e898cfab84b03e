/* Runs that write into sets, with a fault at a call: afterwards a set is as it was before or as it
 * was to be, bit by bit, and nothing is left behind. GROVE_ALL_FAULTS=1: at every call; without, at
 * some of them. GROVE_FAULTS_OF=TEXT: of scenarios whose name has this text; GROVE_FAULTS_AT=CALL:
 * at this one.
 */
#ifndef GROVE_TESTS_SAFE_ATTEMPTS_H
#define GROVE_TESTS_SAFE_ATTEMPTS_H

#include "safe-scenarios.h"
#include "tests/common/faults.h"

/* Before each test; safe_teardown() after it. */
void safe_attempts_setup(void);

/* A fault at each call of this kind; of some, from the one that `shift` gives. */
void safe_try_all(const safe_scenario *of, faults_kind kind, faults_mode mode, int shift);

#endif
