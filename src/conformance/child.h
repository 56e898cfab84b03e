/* A function in a child process, so that a crash of the child is a message of the parent. */
#ifndef GROVE_CONFORMANCE_CHILD_H
#define GROVE_CONFORMANCE_CHILD_H

/* Runs `fn` in a child process and returns the text that it returns; both texts are for free().
 * NULL with *fault, owned by the caller: "crashes with signal 11 (Segmentation fault)", "does not
 * return within 600 seconds" or "ends the process with exit status 0". Nothing else that the child
 * changes in memory reaches the parent. */
char *grove_child_run(char *(*fn)(void *context), void *context, int seconds, char **fault);

#endif
