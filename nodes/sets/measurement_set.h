/* Measurement Sets through casacore: a C interface to C++ code. The caller must make sure that only
 * one call in the process runs at a time, since casacore's tables are not thread-safe. */
#ifndef GROVE_NODES_SETS_MEASUREMENT_SET_H
#define GROVE_NODES_SETS_MEASUREMENT_SET_H

#include "base/error.h"
#include "nodes/common/layout.h"
#include "unstable/record.h"
#include <stdbool.h>
#include <stdint.h>

typedef struct grove_ms grove_ms;

/* Metadata of a set, or of one field and spectral window: filled in by opening, given when
 * creating. */
typedef struct {
    grove_station *stations;
    int station_count;
    char *telescope, *field_name;
    double phase_centre[2]; /* J2000 ra, dec, radians */
    /* [times] Centres, UTC MJD seconds, ascending, and intervals, s. A set may have several
     * intervals at one time: each pair is there once; pairs of equal times are sorted by ascending
     * interval. */
    double *time, *interval;
    int *scan; /* [times] scan numbers; when creating, NULL: 1 */
    int64_t times;
    double *frequency, *channel_width; /* [channels] Hz; widths > 0 */
    int64_t channels;
    char frequency_frame[12]; /* when opened: casacore's name of it; "": the telescope's, or none */
    int correlations;         /* 1, 2 or 4 */
    int correlation[4]; /* casacore Stokes codes: RR 5 RL 6 LR 7 LL 8 XX 9 XY 10 YX 11 YY 12; I 1 */
    int *antenna1, *antenna2; /* [baselines] ordered by antenna1, antenna2, each once;
                                 autocorrelations may occur */
    int64_t baselines;
    bool autocorrelations; /* when creating */
    bool weights; /* when creating: grove_ms_write_weight gives WEIGHT_SPECTRUM, WEIGHT and SIGMA,
                     which are 1 otherwise, the first absent */
    /* How DATA is stored: casacore's kind of manager, and its tiles (correlations, channels, rows),
     * 0 where it has none. A new set has the same, or tiles of a megabyte where that is empty, a
     * kind that does not keep numbers exactly or is not for writing in blocks, or tiles that are
     * very small or large. */
    char manager[32];
    int64_t tile[3];
    int64_t rows;        /* of the chosen field and window */
    int64_t runs;        /* when opened: of baselines in a time that follow each other, with rows */
    bool by_baseline;    /* when opened: most of them follow one of the same baseline */
    int polarization;    /* when opened: its row in the POLARIZATION table */
    int fields, windows; /* when opened: how many the rows of the whole set have */
    int polarizations;   /* ... and the rows of this window */
    int selections;      /* ... and how many of all together */
} grove_ms_layout;

void grove_ms_layout_free(grove_ms_layout *layout); /* frees the contents and the struct */

/* Selects rows of a set; all zero: the first field and window, with autocorrelations. */
typedef struct {
    int64_t field, spectral_window; /* as requested; the set must have them */
    int64_t polarization;           /* 1 + its number; 0: the only one of these rows */
    bool cross_only;                /* without autocorrelations */
} grove_ms_part;

/* Opens an existing set for reading: one field and spectral window, with the array and data
 * descriptions that belong to them. Rows of another polarization are not read: where there are
 * several, one must be chosen. Rows may be in any order; each is mapped to (time, baseline); rows
 * with another interval are at another time. Errors name the path; when a field or window does not
 * exist, they list the existing ones. */
grove_ms *grove_ms_open(const char *path, const grove_ms_part *part, grove_error *error);
/* The same for reading and updating. `record`: of the run that writes (unstable/record.h), which
 * commits it between grove_ms_settle and grove_ms_finish; NULL: one of its own. */
grove_ms *grove_ms_open_writable(const char *path, const grove_ms_part *part, grove_record *record,
                                 grove_error *error);
const grove_ms_layout *grove_ms_layout_of(const grove_ms *ms); /* borrowed */
/* Bytes of memory of an open set, casacore's included; its rows, which all who have it open share,
 * count once. */
uint64_t grove_ms_bytes(const grove_ms *ms);
bool grove_ms_has_column(const grove_ms *ms, const char *column);
/* Names of the set's columns of visibilities (complex numbers per channel and correlation),
 * NULL-terminated. The caller frees each and the list. */
char **grove_ms_data_columns(const grove_ms *ms);

/* The folders of the tables that have cells of an open set, without its own; NULL-terminated. The
 * caller frees each and the list. */
char **grove_ms_tables(const grove_ms *ms);

/* A block: times [first_time, first_time+times), baselines and channels likewise, all correlations
 * of the set. */
typedef struct {
    int64_t first_time, times, first_baseline, baselines, first_channel, channels;
    bool rows_unread; /* data, flags and weights of missing rows need not be read: they stay */
} grove_ms_block;

/* missing [time][baseline]: 1 where the set has no row, else 0. Channels are ignored. */
int grove_ms_find_missing(const grove_ms *ms, const grove_ms_block *block, unsigned char *missing,
                          grove_error *error);

/* Calls fn(user, first, last) for parts of [0, count), maybe in several threads, and returns when
 * all are done. */
typedef void grove_ms_parallel(void *context, int64_t count,
                               void (*fn)(void *user, int64_t first, int64_t last), void *user);
/* Gives reading a pool of threads, for columns that it reads without casacore. */
void grove_ms_set_parallel(grove_ms *ms, grove_ms_parallel *parallel, void *context);

/* Whether any of the numbers is not finite; whether any is not 0. */
void grove_ms_examine(const float *numbers, size_t count, bool *nonfinite, bool *nonzero);
/* How many samples that were read so far are not finite, but not flagged either. */
int64_t grove_ms_nonfinite_samples(const grove_ms *ms);
/* Reads a complex data column of a block: data [time][baseline][channel][correlation], complex
 * float; missing rows are 0. flag (may be NULL): bytes of the same shape, 1 where FLAG or FLAG_ROW
 * is set, the row is missing, or the value is not finite (it is then returned as 0). Flags always
 * come from the set's column FLAG. */
int grove_ms_read_data(grove_ms *ms, const char *column, const grove_ms_block *block, float *data,
                       unsigned char *flag, grove_error *error);
/* The same with flags [time][baseline][channel], a byte each, in which bit c is the flag of
 * correlation c. */
int grove_ms_read_cells(grove_ms *ms, const char *column, const grove_ms_block *block, float *data,
                        unsigned char *flags, grove_error *error);
/* Weights, float, [time][baseline][channel][correlation]: WEIGHT_SPECTRUM if present and defined,
 * else WEIGHT. */
int grove_ms_read_weight(grove_ms *ms, const grove_ms_block *block, float *weight,
                         grove_error *error);
/* UVW in Grove's sign (the column negated), metres, [time][baseline][3]; missing rows get NaN.
 * Channels are ignored. */
int grove_ms_read_uvw(grove_ms *ms, const grove_ms_block *block, double *uvw, grove_error *error);

typedef enum { GROVE_MS_REPLACE, GROVE_MS_ADD, GROVE_MS_SUBTRACT } grove_ms_mode;

/* Creates a complete set (all required subtables and columns, UVW, weights, flags, times, field,
 * spectral window, polarization, antenna, feed, observation, history, state, processor, pointing)
 * in a working folder next to `path`; it gets its name with all other changes of the run's
 * `record`, or, where that is NULL, in grove_ms_finish; grove_ms_abort removes it. An
 * existing `path` is an error unless `overwrite` and it is a Measurement Set. `column` as below
 * (DATA always exists). One run may call it several times for one path with different columns and
 * the same layout, before any of them is written: these make one set, which appears when all are
 * settled, and has the flags of all. `like`: an open set whose rows it has, if that has the same
 * number of times and baselines, and whose widths of channels and frame of frequencies, if those
 * are the same; NULL: a row for each. */
grove_ms *grove_ms_create(const char *path, const grove_ms_layout *layout, const grove_ms *like,
                          const char *column, bool overwrite, grove_record *record,
                          grove_error *error);
/* Whether this is the first column of a new set: coordinates and weights come with it. */
bool grove_ms_leads(const grove_ms *ms);
int grove_ms_write_uvw(grove_ms *ms, const grove_ms_block *block, const double *uvw,
                       grove_error *error);

/* Weights of a block of a set that is created with them, or prepared for them, as
 * grove_ms_read_weight has them. WEIGHT is their mean over channels, of a new set SIGMA =
 * 1/sqrt(WEIGHT). Blocks of one row come in order of channels. */
int grove_ms_write_weight(grove_ms *ms, const grove_ms_block *block, const float *weight,
                          grove_error *error);
/* Lines about this writing for the set's HISTORY; copied, written by grove_ms_finish. */
void grove_ms_set_history(grove_ms *ms, const char *text);

/* Prepares writing `column` of an existing set opened writable. A new column gets the shape of
 * DATA. The set itself is not written before the end, see measurement_set_view.cc: changes are
 * prepared in a folder inside of it, and then put in place as grove_ms_create says. Rows of other
 * fields and windows keep their old content. */
int grove_ms_prepare(grove_ms *ms, const char *column, grove_ms_mode mode, grove_error *error);
/* After grove_ms_prepare: FLAG of the chosen rows, which all columns share, will be written, too;
 * others of the run may write it in other rows. Where they differ, the flags from before become a
 * version, see grove_ms_restore_flags. */
int grove_ms_prepare_flags(grove_ms *ms, grove_error *error);
/* The same of WEIGHT and WEIGHT_SPECTRUM, which is made where there is none: grove_ms_write_weight
 * gives them. SIGMA, the noise of DATA, does not change. */
int grove_ms_prepare_weights(grove_ms *ms, grove_error *error);
/* Puts back FLAG and FLAG_ROW of a set, or of the tables that it consists of, as a version has
 * them: its name, or "last" for the last one that Grove has kept in SET.flagversions, where it
 * keeps the flags of a set when a run writes other flags. The replaced flags are kept there,
 * too. */
int grove_ms_restore_flags(const char *path, const char *version, grove_error *error);
/* Whether any writer of this run writes FLAG of these rows of the existing set. */
bool grove_ms_has_flags_written(const grove_ms *ms);
/* Bytes of rows that lie apart in the set's file and are kept at most, so that rows between them
 * are written with them; grove_ms_settle writes the rest. */
#define GROVE_MS_KEPT ((size_t)4 << 20)
/* data as in reading; flag may be NULL: nothing is flagged. Existing sets keep their flags without
 * grove_ms_prepare_flags. */
int grove_ms_write_data(grove_ms *ms, const grove_ms_block *block, const float *data,
                        const unsigned char *flag, grove_error *error);
/* Writes cells that are still held, and adds the change to the run's record: where space is short,
 * it fails here. Abort must follow where it fails. */
int grove_ms_settle(grove_ms *ms, grove_error *error);
/* Ends well: settles; commits the record unless it belongs to a run, which commits it between
 * settling and finishing. Ends badly: leaves everything as it was before. Both free. */
int grove_ms_finish(grove_ms *ms, grove_error *error);
void grove_ms_abort(grove_ms *ms);
/* For sets opened for reading only. */
void grove_ms_close(grove_ms *ms);

/* Puts right unfinished changes of runs that died, in a set and the tables that it consists of, or
 * where a set of that name was planned; *done says whether there was anything. */
int grove_ms_recover(const char *path, bool *done, grove_error *error);

/* A summary of any Measurement Set for users (fields, windows, stations, times, columns). Caller
 * frees. */
char *grove_ms_describe(const char *path, grove_error *error);

#endif
