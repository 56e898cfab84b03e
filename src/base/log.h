/* Messages to users, with levels, and the progress bar. All go to standard error. */
#ifndef GROVE_BASE_LOG_H
#define GROVE_BASE_LOG_H

#include <stdbool.h>
#include <stdint.h>

typedef enum { GROVE_LOG_ERROR, GROVE_LOG_WARNING, GROVE_LOG_NOTE } grove_log_level;

/* Prints a line "grove: ..." on standard error. A progress bar on the same terminal is cleared and
 * redrawn. Thread-safe. */
void grove_log(grove_log_level level, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
/* For tests: `watch` sees each message before it is printed; NULL: nobody does. */
void grove_log_watch(void (*watch)(const char *message));

/* A progress bar. On a terminal it is one line, redrawn at most ten times a second, with
 * percentage, rate and time left; elsewhere a plain line at most every 10 s. Unit: "vis", for
 * example. */
typedef struct grove_progress grove_progress;
grove_progress *grove_progress_new(const char *title, const char *unit, double total);
void grove_progress_advance(grove_progress *progress, double by);
/* Shows the present work behind the bar until the next note; without a bar nothing. */
void grove_progress_note(const char *format, ...) __attribute__((format(printf, 1, 2)));
void grove_progress_free(grove_progress *progress); /* removes the bar; NULL is fine */

/* Ctrl-C: after grove_interrupt_watch(), SIGINT and SIGTERM set a flag instead of ending the
 * process. A second signal ends it at once. */
void grove_interrupt_watch(void);
bool grove_interrupted(void);
/* For tests and embedding programs: sets or clears the flag. */
void grove_interrupt_set(bool set);

#endif
