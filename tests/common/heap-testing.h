/* Compares sessions on devices by what an action `heap` receives. Used with session-testing.h and
 * cuda-testing.h. */
#ifndef GROVE_TESTS_HEAP_TESTING_H
#define GROVE_TESTS_HEAP_TESTING_H

#include "session-testing.h"

typedef struct {
    double *numbers; /* real and imaginary part of each, in order of the action's axes */
    size_t count;
} heap;

extern heap kept;                                    /* written last */
extern void (*heap_written)(grove_session *session); /* called after each write; NULL: nothing */

void heap_test_add(void); /* adds the class to those of the test */
grove_session *heap_test_session(const char *device, grove_session_options options);
/* Frees it; fails when memory of the driver was leaked. */
void heap_test_close(grove_session *session);
/* What the tree's action receives in a run on the device. */
heap heap_test_run(const char *device, grove_session_options options, grove_counters *counters);
bool heap_test_helped(void); /* whether the cpu had to compute something in that run */

double heap_distance(const heap *a, const heap *b); /* relative to b */
bool heap_equal(const heap *a, const heap *b);      /* bit for bit */

/* Runs the tree on the emulated device with one fault, in the first, second, ... call of a kind
 * (EMULATED_...) until there is none left, from the tenth on each third one unless GROVE_ALL_FAULTS
 * is set: each gives the truth or one clear error, and leaks nothing. How many failed and worked.
 */
void heap_test_each_fault(int kind, grove_session_options options, const heap *truth, int *failed,
                          int *worked);
/* Whether one of these faults came when planes had visibilities that the host cannot add again. */
bool heap_test_failed_late(void);

/* Writes a sky model of sources at random, distinct positions. */
void heap_test_sources(const char *path, int sources);

#endif
