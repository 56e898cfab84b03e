/* A function in a child process, so that the parent reports its crash as a message. */
#ifndef GROVE_CONFORMANCE_CHILD_H
#define GROVE_CONFORMANCE_CHILD_H

#include <stdint.h>

/* Limits for a child. */
typedef struct {
    int seconds;
    uint64_t memory; /* resident bytes; 0: three quarters of the available memory */
} grove_child_limits;

/* Runs `fn` in a child process and returns the text that it returns; both texts are for free().
 * NULL with *fault, owned by the caller: "crashes with signal 11 (Segmentation fault)", "does not
 * return within 600 seconds", "takes more than 17.2 GB of memory", "closes file descriptors that it
 * did not open" or "ends the process with exit status 0". Nothing else that the child changes in
 * memory reaches the parent; processes that it has started, and not moved elsewhere, end with it.
 */
char *grove_child_run(char *(*fn)(void *context), void *context, grove_child_limits limits,
                      char **fault);

#endif
