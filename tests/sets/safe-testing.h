/* What tests of writing into sets share: a folder with small sets. */
#ifndef GROVE_TESTS_SAFE_TESTING_H
#define GROVE_TESTS_SAFE_TESTING_H

#include "base/error.h"
#include "nodes/sets/measurement_set.h"

extern char safe_top[64];  /* a folder of the test */
extern char safe_work[80]; /* in it, where sets are */
extern grove_error *safe_error;
extern grove_record *safe_record; /* of the run that writes; NULL: each set has its own */

void safe_setup(void);
void safe_teardown(void);
const char *safe_path(const char *name); /* in safe_work; lasts for some calls */

/* A set of 3 times, 3 baselines, 2 channels, XX and YY, whose numbers are scale * 1, 2, ... */
enum { SAFE_NUMBERS = 3 * 3 * 2 * 2 };
/* Of the sets that are made: the first time, s; the last interval, s; the width of the last
 * channel, Hz; z of the last station, m. */
extern double safe_first_time, safe_interval, safe_width, safe_height;
grove_ms *safe_create(const char *path, const char *column, bool overwrite);
int safe_write_all(grove_ms *ms, float scale);
int safe_new_set(const char *path, float scale, bool overwrite);
/* A column of a set that is there, opened and written. */
grove_ms *safe_open_column(const char *path, const char *column, grove_ms_mode mode);
int safe_write_column(const char *path, const char *column, grove_ms_mode mode, float scale);
/* Flags of a set with scale 1: of every third number, from this one on. */
int safe_write_flags(const char *path, int from);

/* What the function returns in a process of its own, 0 or 1, or 128 + the signal. */
int safe_in_child(int (*function)(const void *context), const void *context);

/* That it is fine: else the test ends with the messages. */
void safe_good(bool fine);
/* That the first message says `part`; forgets all. */
void safe_said(const char *part);
/* Every number of a column is scale * 1, 2, ...; of other rows than each `step` says, `other`
 * times. */
void safe_expect(const char *path, const char *column, float scale, int step, float other);
/* The names in a folder, each with a space. And that they are these. */
char *safe_names(const char *path);
void safe_expect_names(const char *path, const char *wanted);
void safe_make(const char *name); /* a set in safe_work, with scale 1 */

#endif
