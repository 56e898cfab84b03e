/* Tables as programs other than Grove make and open them, through casacore alone. */
#ifndef GROVE_TESTS_FOREIGN_SETS_H
#define GROVE_TESTS_FOREIGN_SETS_H

#include <stdbool.h>
#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

/* A reference table with every second row of a set. */
void foreign_reference(const char *of, const char *path);
/* A reference table with the rows of the stations [from, to) among each other. */
void foreign_stations(const char *of, int from, int to, const char *path);
/* Flags every second row of a set, from this one on. */
void foreign_flag(const char *path, int first);
/* The concatenation of two sets. */
void foreign_concatenation(const char *a, const char *b, const char *path);
/* A copy of a set with its rows in the order of baselines, those of each by time. */
void foreign_sort(const char *of, const char *path);
/* Moves the times of a set whose rows lie by time by one of `count` offsets within an integration:
 * of the baselines in each time, the k-th by offset k % count. */
void foreign_offsets(const char *path, int baselines, int count);
/* Complex columns of DATA's shape in one storage manager: "tiled", which cannot remove one of
 * them, "standard", or "undefined": one column, whose cells have no arrays. */
void foreign_columns(const char *path, const char *kind, const char *const *names, size_t count);
/* Adds the rows of a set again, later, as Python does: their number is in table.lock alone. */
void foreign_append(const char *path);
/* Stores a set anew, with all managers in one file but for one with a column APART. */
void foreign_one_file(const char *path);
/* Stores DATA in a storage manager of this kind; a tiled one has tiles of `tile`: correlations,
 * channels, rows. */
void foreign_store(const char *path, const char *kind, const int tile[3]);
/* Puts a station that no row has into the ANTENNA table, as number `at`, 100 m off another one. */
void foreign_station(const char *path, const char *name, int at);
/* Makes `count` equal spectral windows of a set's only one: row k is of window k % count. */
void foreign_windows(const char *path, int count);
/* Puts the channels of a set's only spectral window, and all that has them, in reverse order. */
void foreign_reverse(const char *path);
/* The kind of storage manager that a column has, and its tiles if it has some:
 * "TiledShapeStMan 4 8 16"; caller frees. NULL: there is no such column. */
char *foreign_manager(const char *path, const char *column);

/* Opens a set for writing, locks it, and reads every cell of every column of complex numbers. A
 * message on standard error when that fails. */
bool foreign_opens(const char *path);
/* A hash of all those numbers, bit by bit, and of which cells have some; 0 when it cannot be
 * opened.
 */
unsigned long foreign_hash(const char *path);
long foreign_history(const char *path); /* rows of HISTORY; -1: it cannot be opened */
/* Keeps a set open, and locked where `lock` is true, until the process ends. */
/* Opens a set as casacore programs do, with locks "auto" or "autonoread"; calls `then`, and writes
 * a cell, unless `writes` is false; closes it. */
void foreign_edit(const char *path, const char *locks, bool writes, void (*then)(void *context),
                  void *context);
void foreign_hold(const char *path, bool lock);

#ifdef __cplusplus
}
#endif

#endif
