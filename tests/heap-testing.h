/* Sessions on devices, compared: what an action `heap` is given in a run, as a whole. With
 * session-testing.h and cuda-testing.h. */
#ifndef GROVE_TESTS_HEAP_TESTING_H
#define GROVE_TESTS_HEAP_TESTING_H

#include "session-testing.h"

typedef struct {
    double *numbers; /* real and imaginary part of each, in order of the action's axes */
    size_t count;
} heap;

extern heap kept;                                    /* what was written last */
extern void (*heap_written)(grove_session *session); /* called after each write; NULL: nothing */

void heap_test_add(void); /* the class, to those of the test */
void heap_test_end(void);
grove_session *heap_test_session(const char *device, grove_session_options options);
/* Frees it; nothing may be left in the driver. */
void heap_test_close(grove_session *session);
/* What the tree's action gets from a run there; the caller frees its numbers. */
heap heap_test_run(const char *device, grove_session_options options, grove_counters *counters);
bool heap_test_helped(void); /* whether the cpu had to help in that run */

double heap_distance(const heap *a, const heap *b); /* relative to b */
bool heap_equal(const heap *a, const heap *b);      /* bit for bit */

/* Writes a sky model: sources at random places, none of them so near to another that they are one.
 */
void heap_test_sources(const char *path, int sources);

#endif
