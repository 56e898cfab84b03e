/* Strings: building, comparing, nearest names, numbers. Independent of the locale. */
#ifndef GROVE_BASE_TEXT_H
#define GROVE_BASE_TEXT_H

#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A growing string; zero-initialise it. `at` is NULL or ends in 0. Free with free(text.at). */
typedef struct {
    char *at;
    size_t length, capacity;
} grove_text;
void grove_text_add(grove_text *text, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
void grove_text_add_v(grove_text *text, const char *format, va_list args);
void grove_text_append(grove_text *text, const char *bytes, size_t length);

char *grove_format(const char *format, ...)
    __attribute__((format(printf, 1, 2))); /* caller frees */
char *grove_strdup(const char *text);
/* Appends text for a person to read: control characters, which may steer a terminal, are written as
 * \xNN; those in `keep` ("\n") stay. */
void grove_text_add_shown(grove_text *text, const char *from, size_t length, const char *keep);
char *grove_shown(const char *from, const char *keep); /* the same; caller frees */
bool grove_equal(const char *a, const char *b);        /* both may be NULL */
bool grove_ends_with(const char *text, const char *end);

/* The name among `names[0..count)` nearest to `word`, or NULL: by edit distance with transposition,
 * at most a third of the word's length, at least 1. For "did you mean" messages. */
const char *grove_nearest(const char *word, const char *const *names, size_t count);

/* Parses a decimal number at `text`, independent of the locale; returns the first character after
 * it, or NULL if there is no number or it is out of range. "nan" and "inf" are not accepted. */
const char *grove_parse_number(const char *text, double *value);
const char *grove_parse_integer(const char *text, int64_t *value);

/* "12.3 MiB", "1.5 GB/s"-style short forms into buf (at least 32 bytes), returning buf. */
char *grove_show_bytes(char *buf, double bytes);
char *grove_show_count(char *buf, double count);     /* 1.23k, 4.56M, 7.89G */
char *grove_show_seconds(char *buf, double seconds); /* 1.2 ms, 3.4 s, 2 min 5 s, 1 h 4 min */
/* Parses "64MiB", "1GiB", "500MB", "123" (bytes); 0 or GROVE_INVALID. */
int grove_parse_bytes(const char *text, uint64_t *bytes);

#endif
