/* Errors: messages with places in files, collected in an object that the caller owns. */
#ifndef GROVE_BASE_ERROR_H
#define GROVE_BASE_ERROR_H

#include <stdarg.h>
#include <stddef.h>

/* Return codes: 0 is success, failures are one of these negative numbers. */
enum {
    GROVE_OK = 0,
    GROVE_INVALID = -1,     /* an argument, option or file content is wrong */
    GROVE_MISSING = -2,     /* a file, name or column does not exist */
    GROVE_SHAPE = -3,       /* axes, cells or units do not fit */
    GROVE_NO_MEMORY = -4,   /* an allocation failed or the budget is too small */
    GROVE_IO = -5,          /* reading or writing failed */
    GROVE_ABI = -6,         /* a plugin does not fit this version */
    GROVE_DEVICE = -7,      /* a device failed */
    GROVE_INTERRUPTED = -8, /* the user asked to stop */
    GROVE_INTERNAL = -9     /* a bug in Grove */
};

/* A place in a text file. Line and column count from 1; 0 means unknown. `file` and `source` (the
 * whole text, may be NULL) are borrowed and must outlive the use of the place; an error keeps the
 * copies that it needs. `length` is the number of columns to underline. */
typedef struct {
    const char *file, *source;
    int line, column, length;
} grove_place;

/* A list of errors and warnings. Not safe for several threads at once unless stated. */
typedef struct grove_error grove_error;

/* Never NULL: if even this small object cannot be allocated, the process is aborted. */
grove_error *grove_error_new(void);
void grove_error_free(grove_error *error); /* NULL is fine */
void grove_error_clear(grove_error *error);

/* Whoever detects an error writes its message; everyone who receives a code passes it on. Each
 * function returns `code`. `error` may be NULL (the message is then dropped). Safe from any thread.
 * Message style: "subject: error; correction", lower case, no full stop. */
int grove_fail(grove_error *error, int code, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
int grove_fail_at(grove_error *error, const grove_place *place, int code, const char *format, ...)
    __attribute__((format(printf, 4, 5)));
/* Like grove_fail_at, of a value that the setting "name=value" gave: the message begins with it and
 * ends with the place, and only the first one of each setting is printed. NULL: no setting did. */
int grove_fail_setting(grove_error *error, const grove_place *place, int code, const char *setting,
                       const char *text);
int grove_fail_v(grove_error *error, const grove_place *place, int code, const char *format,
                 va_list args);

/* Like grove_fail_at (place may be NULL), but a warning: counted separately, printed in the same
 * way; one with the text of an earlier one is left out. */
void grove_warn_at(grove_error *error, const grove_place *place, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* A scope receives the errors of functions without an error argument, which plugins call. The
 * caller of a plugin sets it for the duration of a call, for its own thread and for the threads
 * that work for it (threads.h). */
typedef struct grove_error_scope {
    grove_error *error;
    int code; /* of the first error in the scope; 0: none */
} grove_error_scope;
/* Sets the scope of this thread (NULL: none), and returns the previous one, to be restored. */
grove_error_scope *grove_error_enter(grove_error_scope *scope);
grove_error_scope *grove_error_current(void);                    /* NULL: none */
void grove_error_scope_fail(grove_error_scope *scope, int code); /* from any thread */

/* Puts "context: " before every error added since `since` (an earlier grove_error_count()), and
 * gives it `place` if it has none. Either may be NULL. */
void grove_error_context(grove_error *error, size_t since, const grove_place *place,
                         const char *context);

size_t grove_error_count(const grove_error *error);    /* errors, without warnings */
size_t grove_error_warnings(const grove_error *error); /* warnings */
int grove_error_code(const grove_error *error);        /* code of the first error, or 0 */

/* All messages in order of file, line and column (those without a place last, in order of arrival;
 * duplicates once), each as "file:line:column: error: text" with the source line and a caret below
 * when known, or as "error: text". The caller adds "grove: ". Caller frees. */
char *grove_error_text(const grove_error *error);

/* The text of message k (0-based, errors only, no place), or NULL. Borrowed. */
const char *grove_error_message(const grove_error *error, size_t k);

#endif
