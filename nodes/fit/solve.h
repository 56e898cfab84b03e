/* Fits: solution domains, their unknowns, and the normal equations of a tile. */
#ifndef GROVE_NODES_SOLVE_H
#define GROVE_NODES_SOLVE_H

#include "nodes/fit/compression.h"
#include "nodes/fit/least_squares.h"
#include "nodes/fit/median.h"
#include "nodes/fit/parm.h"
#include "nodes/fit/stefcal.h"
#include "unstable/fit.h"

#include "base/text.h"

#include <complex.h>

#ifndef CMPLX /* glibc has it for gcc alone */
#define CMPLX(x, y) __builtin_complex((double)(x), (double)(y))
#endif

enum { SOLVE_MODEL, SOLVE_DATA, SOLVE_WEIGHTS };
enum { SOLVE_TIME, SOLVE_FREQ, SOLVE_CUTS, SOLVE_ELEMENTS = 4 };

typedef enum { SOLVE_AUTO, SOLVE_LM, SOLVE_BLOCK, SOLVE_STEFCAL, SOLVE_ALTERNATING } solve_method;

/* ---- the fit, as known when the tree is built ---- */

/* A parm, and the real numbers of each of its coefficients: 1 or 2. */
typedef struct {
    const grove_node *leaf;
    const grove_parm *parm;
    int parts, terms;          /* terms: of its polynomials */
    int64_t sources, stations; /* of its coefficients; 1: the same for all */
    double size;               /* of a usual change */
    int subset;                /* of alternating steps: parms of equal intervals have the same */
} solve_parm;

/* A derivative of the model, or of a group's Jones term at its left ('p') or right ('q'). Each term
 * of the parm's polynomials makes a column of the normal equations. */
typedef struct {
    int parm, member; /* numbers in solve.parms, and of the parm's member */
    int terms, first; /* the first of its columns */
    int group;
    char side; /* these three as in grove_fit_slot */
    const grove_axis *axis;
    int64_t index;
    grove_part part; /* how the model depends on it */
    int parts;       /* real unknowns of a column: 1, or 2 that follow each other */
    int input;
} solve_slot;

/* An element of a Jones term that StEFCal solves for: a number, or 1, times e^(i phase). */
typedef struct {
    struct {
        int parm, member; /* parm -1: none */
        int64_t source;   /* group of sources */
    } of[2];              /* number, phase */
} solve_element;

/* Solution domains along time or frequency: the smallest ranges of cells that the intervals of all
 * parms tile. Segments are the ranges in which no parm changes its interval. */
typedef struct {
    const grove_axis *axis; /* NULL: there is one domain */
    int64_t count, *first;  /* [count + 1] the first cell of each */
    int64_t *segments;      /* [count + 1] the first segment of each */
    bool scattered;         /* cells of an interval do not follow each other: one domain */
    int64_t *edge;          /* [segments of all + 1] the first cell of each segment */
} solve_cut;

/* grove_node_user of the action. */
typedef struct {
    solve_parm *parms;
    int parm_count, subsets;
    solve_slot *slots;
    int slot_count, columns, inputs; /* inputs: that are read */
    solve_cut cut[SOLVE_CUTS];
    /* Where the model is given by its factors, sum_g L_g M_g R_g^H; 0 groups: it is not. */
    bool products;   /* the model has these, given or not */
    const char *why; /* they are not given */
    int group_count;
    grove_fit_group groups[GROVE_MAX_GROUPS];
    grove_compression_form form;
    bool each[SOLVE_CUTS]; /* L and R vary from cell to cell */
    bool direct;           /* each group's L and R are the numbers of one parm: StEFCal */
    const char *indirect;  /* else, where data are compressed, why they are not */
    int direct_groups;     /* then: without the last one, if that has no parms */
    grove_stefcal_jones jones;
    grove_stefcal_part part; /* numbers, phases or amplitudes of diagonal terms */
    solve_element number[GROVE_MAX_GROUPS][SOLVE_ELEMENTS];
    int64_t stations, reference; /* -1: none */
    int elements;                /* of a cell that are compared */
    int parts; /* real numbers of an element: 1 where neither model nor data are complex */
    int of_model[4], of_data[4]; /* where they are */
    int uvw;                     /* number of the input; -1: none */
    int missing;                 /* ... that flags rows that nobody may read; -1: none */
    int weights;
    int64_t batch; /* domains along time that start together */
    bool autocorrelations, min_in_wavelengths, max_in_wavelengths, robust, errors,
        drops_unsolved; /* unsolved=nan */
    bool on_devices;    /* sums are made there */
    bool remote;        /* ... and their systems solved, which takes so much scratch memory */
    uint64_t remote_bytes, remote_kept; /* kept: of the device, from one evaluation to the next */
    solve_method method;
    double min_baseline, max_baseline, quota, keep, tolerance, damping;
    int32_t max_iterations, patience; /* patience: as in grove_stefcal_problem */
} solve;

/* Whether data have baselines, and no axes but time, baseline and frequency. */
bool solve_is_of_visibilities(const grove_node *node);
int solve_find_domains(grove_node *node, solve *s);
/* Whether searches or StEFCal need the sums of whole domains. */
bool solve_keeps_sums(const solve *s);
/* In fitted: replaces auto by a method, notes it, and sets the memory that the fit takes. */
int solve_choose_method(grove_node *node, solve *s);
void solve_find_slots(const grove_node *node, solve *s);
/* Whether StEFCal is tried; s->direct says whether it is possible. */
bool solve_uses_stefcal(const solve *s);
/* Whether a parm has start values of its own in each domain. */
bool solve_has_starts(const solve *s);
/* In fitted: sets s->direct and the fields with it, or s->indirect. */
void solve_find_numbers(const grove_node *node, solve *s);
void solve_free(solve *s);

/* ---- one solution domain ---- */

enum { SOLVE_NOTHING, SOLVE_ZEROS, SOLVE_SIGNAL };

typedef enum {
    SOLVE_STEPS,     /* normal equations are made for the next step */
    SOLVE_ON_DEVICE, /* the same; its matrices are on a device, at two points */
    SOLVE_REWEIGH,   /* robust: it is evaluated at its solution, for new weights */
    /* Alternating steps have ended: it is evaluated at the solution, with the matrix of all
     * unknowns, for errors and free directions. */
    SOLVE_JOINT,
    SOLVE_RESTORED /* it has ended, in a checkpoint */
} solve_stage;

typedef struct {
    int64_t number[SOLVE_CUTS];
    int64_t unknowns, *base;  /* [parms + 1] the first unknown of each parm */
    grove_least_squares *fit; /* NULL: none is needed, or not yet */
    grove_least_squares_outcome outcome;
    grove_least_squares_sums sums; /* at the point just evaluated */
    int64_t all;                   /* real numbers, flagged or not */
    solve_stage stage;
    bool starts_well;         /* from the solution of another domain */
    int32_t reweighed;        /* robust: so often */
    double scale;             /* robust: of the last weights; 0: the data's weights count */
    grove_median *median;     /* ... while it is looked for in several tiles; NULL: it is not */
    double complex *weighing; /* ... Jones terms at `before`, where each look at a tile finds its
                               * weights; NULL: others, or none */
    grove_least_squares_outcome ended; /* of alternating steps: theirs */
    double *before; /* [unknowns] where the last weights were found; NULL: none were */
    double complex *jones, *best; /* of factors: there, and at the best point; NULL: not yet */
    bool direct; /* Jones terms and their derivatives are the parms' numbers, where it begins */
    double chi2; /* these three at the end */
    int64_t determined; /* unknowns with data */
    /* Of the data's numbers: not flagged, and with a solution of both stations. */
    int64_t unflagged, kept;
    int64_t *of_baseline; /* [baselines] the first of these; NULL: not counted */
    bool *known;          /* [unknowns] which; NULL: no matter */
    /* [stations] the kind of data (SOLVE_NOTHING, ...), and [unknowns] where they start; NULL:
     * unused. Where all data of a station are 0, it has not observed: its terms have no
     * solution. */
    unsigned char *data_kind;
    double *start;
    bool describe;    /* free_words are needed */
    char *free_words; /* directions that the data leave free; NULL: none, or not known */
    int32_t iterations;
    int32_t spent; /* of max_iterations, before the fit at hand began anew */
    /* On a device: which of the two points is the best; and of its memory there. */
    int best_point;
    int64_t slot;
} solve_domain;

/* The intervals of a parm in the domain. */
typedef struct {
    int64_t first, count;
} solve_span;

/* Whether it has a solution. */
bool solve_is_found(grove_least_squares_outcome outcome);
solve_span solve_intervals(const solve *s, const solve_domain *d, int parm, int cut);
/* The place of an unknown among all of a parm in the domain. */
typedef struct {
    int64_t member, source, station, term, part;
    int64_t interval[SOLVE_CUTS], number; /* number: of the interval in the domain */
} solve_place;

solve_place solve_find_place(const solve *s, const solve_domain *d, int parm, int64_t unknown);
/* The domains of [first, end) cells along time or frequency. */
void solve_find_range(const solve_cut *cut, int64_t first, int64_t end, int64_t range[2]);
void solve_domain_begin(const solve *s, solve_domain *d, int64_t time, int64_t freq);
void solve_domain_end(solve_domain *d);
/* The unknowns from the parms' coefficients, or into them. `runs`: [parms]. */
void solve_get(const solve *s, const solve_domain *d, grove_parm_run *const *runs, double *x);
void solve_put(const solve *s, const solve_domain *d, grove_parm_run *const *runs, const double *x);

/* The coefficients' standard deviations, of a complex one of its amplitude and its phase. */
void solve_get_errors(const solve *s, const solve_domain *d, grove_parm_run *const *runs,
                      double *x);
void solve_put_errors(const solve *s, const solve_domain *d, grove_parm_run *const *runs,
                      const double *x);
/* Of each coefficient whether it has a solution: of a domain that has one, where d->known is true
 * or NULL. known: as in solve_results. */
void solve_put_known(const solve *s, const solve_domain *d, unsigned char *const *known);
/* The places of a parm's coefficients of the domain that have no solution; `at` NULL: none are
 * listed. Returns how many there are. */
int64_t solve_list_unsolved(const solve *s, const solve_domain *d, int parm, int64_t *at);
/* How many blocks of unknowns a domain has, which step separately, and the unknowns of each, which
 * the caller frees. */
int64_t solve_count_blocks(const solve *s, const solve_domain *d, int64_t **unknowns);
/* Most unknowns of a domain in which free directions are looked for only to report them. */
enum { SOLVE_MAX_DESCRIBED = 2000 };
/* Whether the matrix of all unknowns is needed at the end of alternating steps. */
bool solve_needs_joint(const solve *s, bool describe, int64_t unknowns);
/* ---- the reference station ---- */

/* The changes of a solution that do not change the model, which is asked of two points along a
 * direction. */
typedef struct {
    const solve *s;
    const solve_domain *d;
    const bool *known; /* [unknowns], whether they have data */
    bool (*is_free)(void *context, const double *from, const double *to, const double *direction);
    void *context;
} solve_freedom;

/* Makes phases, delays and the like of the reference station 0 where their sum over all stations is
 * free. `references`: [unknowns], of each that is changed the unknown of the reference, of complex
 * ones of the real part; may be NULL. */
void solve_refer(const solve_freedom *freedom, double *x, int64_t *references);
/* In words the directions that the data leave free at x, or NULL; the caller frees. `null`: how
 * many directions change nothing; -1: not known. */
char *solve_describe_free(const solve_freedom *freedom, const double *x, int64_t null);
/* The same for a solution of d->fit, with d->free_words where they are needed. */
void solve_refer_fit(const solve *s, solve_domain *d, double *x, int64_t *references);
/* [unknowns]: standard deviations at the end of d->fit of the final coefficients: numbers, or
 * amplitudes and phases, relative to their reference if they have one. The caller frees. */
double *solve_find_errors(const solve *s, solve_domain *d, const int64_t *references);

/* ---- a tile ---- */

/* An input as the fit reads it. */
typedef struct {
    const char *data; /* NULL: not given */
    const unsigned char *flags;
    int64_t stride[GROVE_MAX_AXES]; /* cells, along the axes of the tile; 0: it does not vary */
    int64_t station_stride;         /* of a value per station */
    int elements;
    bool complex_, double_;
} solve_view;

/* Sums over the cells of stretches, boxes of times and channels. */
typedef struct {
    int64_t first[SOLVE_CUTS], count[SOLVE_CUTS]; /* stretches */
    int64_t baselines, size;                      /* doubles of the sums of one */
    double *sums;                                 /* [stretch in time, in frequency][baseline] */
    unsigned char *mask; /* flags of cells and elements that do not count; NULL: the data's own */
} solve_compressed;

typedef struct {
    const solve *solve;
    int axes;
    const grove_range *range;
    const grove_array *const *inputs;
    int count;
    solve_view *views;      /* of all inputs */
    int cut[SOLVE_CUTS];    /* which axis is time, which frequency; -1: none */
    int baseline;           /* ... baseline */
    int64_t rows;           /* combinations of the other axes */
    solve_compressed *sums; /* compressed ones, or normal equations that a device made; none: NULL
                             * sums */
    float *robust; /* [cells of the model][solve_robust_elements] weights of a robust fit; NULL: the
                    * data's own */
    /* Which part of its domains it is: both, the whole. */
    bool begins, ends;
    bool keeps; /* sums are of whole stretches, which count where their first cell is */
} solve_tile;

void solve_tile_begin(solve_tile *tile, const solve *s, solve_compressed *sums,
                      const grove_array *const *inputs, int count);
/* Gives an input its addresses on the host. 0, or a code, with a message. */
int solve_tile_fetch(const grove_call *call, const solve_tile *tile, int k);
void solve_tile_end(solve_tile *tile);

/* The part of a range of cells that is in the tile; false: none is. */
bool solve_clip(const solve_tile *tile, int cut, int64_t range[2]);
/* The cells of a domain in the tile; false: none is. */
bool solve_find_box(const solve_tile *tile, const solve_domain *d, int64_t (*box)[2]);
/* Adds up the normal equations of a domain, as grove_least_squares_matrix and _gradient need them,
 * and its sums; on all threads, or `call` NULL, on this one. */
void solve_normal(const grove_call *call, const solve_tile *tile, solve_domain *domain);
/* How many items (rows in stretches) of the tile these are sums of, at most. */
int64_t solve_count_items(const solve_tile *tile, const solve_domain *d);

bool solve_is_flagged(const solve_view *view, int64_t cell, int element);
/* A cell as a matrix. Scalars mean that number times the identity. */
void solve_matrix_at(const solve_view *view, int64_t cell, double complex to[4]);
double complex solve_number(const solve_view *view, int64_t cell, int element);
/* Whether the projected baseline's length is within the requested range; cell and channel of the
 * whole axis. */
bool solve_is_in_range(const solve_tile *tile, int64_t uvw_cell, int64_t channel);

/* Adds to d->all the numbers of the domain in the tile that are within the requested range. */
void solve_count_all(const solve_tile *tile, solve_domain *d);

/* ---- local normal equations: of one row (a baseline), for the columns of all slots ---- */

typedef struct {
    int count;
    double complex *hermitian; /* [columns][columns]: sum w conj(dV_a) dV_b */
    double complex *gradient;  /* [columns]: sum w conj(dV_a) (d - V) */
    int64_t *unknown;          /* [columns]: the domain's unknown; an imaginary part follows it */
} solve_columns;

void solve_columns_begin(solve_columns *columns, const solve *s);
void solve_columns_end(solve_columns *columns);
/* Which unknowns the columns are in the row with these indices along the tile's axes, at a cell of
 * the whole axes of time and frequency. */
void solve_find_unknowns(const solve_tile *tile, const solve_domain *d,
                         const int64_t index[GROVE_MAX_AXES], const int64_t cell[SOLVE_CUTS],
                         solve_columns *columns);
/* The sums of an item: a baseline, or row, in stretches. */
typedef struct {
    solve_columns columns;
    grove_least_squares_sums sums; /* of no data: columns say nothing */
    int64_t all;
} solve_local;

/* Where items come from: samples, sums of a device, or compressed ones. */
typedef struct solve_source solve_source;
/* Sets locals[item - first] of items [first, last); from several threads. */
void solve_find_items(const solve_source *source, int64_t first, int64_t last, solve_local *locals);
/* Whether `domains` domains of `items` items are summed one by one by all threads. */
bool solve_is_shared(const solve *s, int64_t domains, int64_t items);
/* Adds all items to the matrix, gradient and sums of a domain, in their order: the same bits on any
 * number of threads. `call` NULL: on this one. */
void solve_add_items(const grove_call *call, const solve *s, solve_domain *d,
                     const solve_source *source, int64_t items);
/* Bytes that this takes where columns are many, on any number of threads; else 0: little, at most
 * 2 MiB of all threads or 256 KiB of each. */
double solve_locals_bytes(const solve *s);
/* [terms]: the terms of a parm's polynomials at a cell. */
void solve_find_basis(const grove_parm *p, const int64_t cell[SOLVE_CUTS], double *basis);
/* The index of a row along each axis of the tile but time and frequency. */
void solve_find_row(const solve_tile *tile, int64_t row, int64_t index[GROVE_MAX_AXES]);
/* ... and its baseline, of the whole axis; and whether that counts. */
int64_t solve_baseline_of(const solve_tile *tile, const int64_t index[GROVE_MAX_AXES]);
bool solve_baseline_counts(const solve_tile *tile, int64_t baseline);
/* The first cell of the tile along time or frequency, of the whole axis. */
static inline int64_t solve_origin(const solve_tile *tile, int cut)
{
    return tile->cut[cut] >= 0 ? tile->range[tile->cut[cut]].first : 0;
}
/* The cell of an input at a row, whose index is as of solve_find_row, and at cells of the whole
 * axes. */
int64_t solve_cell_of(const solve_tile *tile, const solve_view *view,
                      const int64_t index[GROVE_MAX_AXES], const int64_t cell[SOLVE_CUTS]);
/* The first cell of an input at a time of the whole axis and a baseline of the tile. */
static inline int64_t solve_row_cell(const solve_tile *tile, int input, int64_t time,
                                     int64_t baseline)
{
    const int64_t *stride = tile->views[input].stride;
    const int along = tile->cut[SOLVE_TIME];

    return (along >= 0 ? stride[along] * (time - tile->range[along].first) : 0) +
           (tile->baseline >= 0 ? stride[tile->baseline] * baseline : 0);
}
/* Whether the row there is missing in the set: only its coordinates may be read. */
static inline bool solve_is_missing(const solve_tile *tile, int64_t time, int64_t baseline)
{
    const int missing = tile->solve->missing;

    return missing >= 0 && tile->views[missing].flags &&
           tile->views[missing].flags[solve_row_cell(tile, missing, time, baseline)] != 0;
}

/* ---- compressed sums of a tile ---- */

/* The first cell of a stretch. */
int64_t solve_stretch_edge(const solve *s, int cut, int64_t stretch);
/* The stretches of a domain: cells where Jones terms vary from cell to cell, else segments. */
void solve_stretches(const solve *s, const solve_domain *d, int cut, int64_t range[2]);
/* The stretches whose sums count in the tile; and the first cell of one in the tile. */
void solve_tile_stretches(const solve_tile *tile, const solve_domain *d, int cut, int64_t range[2]);
int64_t solve_first_cell(const solve_tile *tile, int cut, int64_t stretch);
/* The number of a stretch in its domain. */
int64_t solve_stretch_in(const solve *s, const solve_domain *d, int64_t time, int64_t freq);
/* Whether the tile ends or begins within a stretch. */
bool solve_divides_stretches(const solve_tile *tile);
/* The sums of a baseline of the tile in a stretch. */
const double *solve_sums_at(const solve_compressed *c, int64_t time, int64_t freq,
                            int64_t baseline);
/* In fitted: sums are made on a device where there is one; their inputs stay there. */
int solve_prepare_devices(grove_node *node, solve *s);
/* Whether an input is read for compressed sums alone. */
bool solve_is_summed(const solve *s, int input);
/* In drive, before all else but solve_remote_begin: fetches inputs that are read on the host; makes
 * normal equations on the device. */
int solve_fetch(const grove_call *call, solve_tile *tile);
/* The computation of normal equations on the device, by solve_launch_normal: its inputs, and bytes
 * of its result. Sets the stretches in tile->sums. */
uint64_t solve_find_normal(solve_tile *tile, grove_computation *to);
/* `to`: on the device; NULL: the result of the call. */
int solve_launch_normal(const grove_call *call, const solve_tile *tile, void *to);
void solve_find_all_stretches(const solve_tile *tile, solve_compressed *c);
/* 0, or GROVE_NO_MEMORY without a message, or another code with one. */
int solve_compress(const grove_call *call, const solve_tile *tile, solve_compressed *c);
/* Makes room for the sums of domains in several tiles; and adds the sums of a tile. */
int solve_compress_begin(const solve_tile *tile, const solve_domain *domains, int64_t count,
                         solve_compressed *c);
int solve_compress_part(const grove_call *call, const solve_tile *tile, solve_compressed *c);
/* The same on the device of the tile; GROVE_MISSING: it has to be done on the host. */
int solve_compress_on_device(const grove_call *call, const solve_tile *tile, solve_compressed *c);
/* The sums of a domain with other weights. */
int solve_compress_again(const solve_tile *tile, const solve_domain *d);
void solve_compressed_end(solve_compressed *c);
/* [4]: the matrix of a value per station, time and channel. Scalars mean that number times the
 * identity. */
void solve_load(const solve_tile *tile, int input, const int64_t cell[SOLVE_CUTS], int64_t station,
                double complex to[4]);
/* The Jones matrices of the tile's stretches and all stations of a domain where it was evaluated;
 * and the matrices of a stretch (numbered in the domain) and station at side 0 (left) or 1,
 * [group][4]. */
void solve_load_jones(const solve_tile *tile, solve_domain *d);
const double complex *solve_jones_at(const solve *s, const double complex *jones, int64_t stretch,
                                     int64_t station, int side);
/* How many parms are delays or TEC to search for; and start values for the first of them, or for a
 * delay and TEC, from d->jones. False: too few channels. */
int solve_searched(const solve *s);
bool solve_search(const solve_tile *tile, solve_domain *d, double *x);
/* The point just evaluated is the best one. */
void solve_compressed_accept(const solve *s, solve_domain *d);
/* In the tile in which the domain begins: sets d->direct. `x`: the unknowns. */
void solve_find_direct(const solve_tile *tile, solve_domain *d, const double *x);
/* Solves for the Jones terms of a domain by StEFCal, from `x` and into it, and sets the outcome,
 * with all results of a fit. Running: the Jones terms are not the ones that the parms' numbers
 * give. 0, or GROVE_NO_MEMORY. */
int solve_directly(const solve_tile *tile, solve_domain *d, double *x);

/* Solves a domain again, if it has few data, from `x` and into it; whether that
 * has led to a lower chi-squared. 0, or GROVE_NO_MEMORY. */
int solve_directly_from(const solve_tile *tile, solve_domain *d, double *x, bool *better);

/* ---- the end ---- */

/* At the first look at the tiles of domains: counts their data, if they have several tiles, and
 * sets d->data_kind, where the model is made of products with terms of stations. 0, or a code with
 * a message. */
int solve_look_first(const grove_call *call, solve_tile *tile, solve_domain *domains,
                     int64_t count);
/* Counts data of ended domains in which some data may have no solution, in a tile that has all of
 * them. 0, or a code with a message. */
int solve_count_lost(const grove_call *call, solve_tile *tile, solve_domain *domains,
                     int64_t count);
/* Whether all data of the station in the domain are 0; none: no. */
bool solve_is_silent(const solve *s, const solve_domain *d, int64_t station);
/* Unknowns of stations with zeros are not known, and keep their start values; known and x may be
 * NULL. Whether there are any. */
bool solve_leave_silent(const solve *s, const solve_domain *d, bool *known, double *x);
/* Sets d->unflagged and d->kept; where data are not counted, by the outcome of the domain alone. */
void solve_find_kept(const grove_node *node, const solve *s, solve_domain *d);

enum { SOLVE_OUTCOMES = GROVE_LEAST_SQUARES_NOT_FINITE + 1 };

typedef struct {
    int64_t outcomes[SOLVE_OUTCOMES], iterations, data;
    int64_t unflagged, kept;    /* as in solve_domain */
    const grove_axis *stations; /* of the parms; NULL: none is one per station */
    int64_t *missing, *silent;  /* [stations] in how many domains they had no data, or only 0 */
    bool described;
    char *free_words; /* of a domain; NULL: none */
    double chi2;
} solve_summary;

void solve_summary_end(solve_summary *summary);
void solve_summary_add(solve_summary *summary, const solve *s, const solve_domain *d);
/* Reports the result; an error where there is no solution, or where too few data keep one. */
int solve_summary_report(const solve_summary *summary, const grove_node *node);

/* ---- evaluation ---- */

/* Domains that are evaluated in a tile. */
typedef struct {
    const solve *solve;
    grove_parm_run *const *parms;
    const solve_tile *tile;
    solve_domain **active;
    int code;
} solve_evaluation;

/* Makes d->fit, in place of one before it, which starts from the parms' numbers; d->stage says
 * where its matrices are. 0, or GROVE_NO_MEMORY. */
int solve_start_fit(const solve_evaluation *e, solve_domain *d);
/* Its next point, or its solution, into the parms. */
void solve_take_result(const solve *s, solve_domain *d, grove_parm_run *const *parms);
/* Whether the first point of a domain has too few data. */
bool solve_has_few_data(const solve *s, const solve_domain *d);
/* Whether models round to single precision. */
bool solve_rounds(const solve_evaluation *e);
/* Notes the code of a thread that failed. */
void solve_fail(solve_evaluation *e, int code);
/* A domain that has ended may have been cut short; the others are not continued by the run. */
void solve_check_interrupt(solve_evaluation *e, const solve_domain *d);
/* For `count` active domains: adds up the normal equations at the point, and in the last tile of a
 * domain finds the next point or takes the result. 0, or a code. */
int solve_evaluate(const grove_call *call, solve_evaluation *e, int64_t count);

/* ---- on a device: nothing but gradients, diagonals and steps comes back ---- */

/* In fitted, where sums of data that are not compressed are made on devices: whether systems are
 * solved there, too, and the scratch memory for that. Sets s->remote_kept. */
bool solve_may_be_remote(grove_node *node, solve *s, uint64_t *bytes);

typedef struct solve_remote solve_remote;
solve_remote *solve_remote_new(void);
void solve_remote_free(solve_remote *remote);
/* At the start of a batch: keeps `count` active domains on the device, and marks them so. 0, also
 * where there is none or it does not suit, or a code, with a message. */
int solve_remote_begin(const grove_call *call, solve_remote *remote, solve_tile *tile,
                       const solve_evaluation *e, int64_t count);
/* As solve_evaluate, of domains on a device. GROVE_MISSING: it has lost them, and they begin anew
 * on the host. */
int solve_remote_evaluate(const grove_call *call, solve_remote *remote, solve_tile *tile,
                          solve_evaluation *e, int64_t count);

/* ---- a run ---- */

/* Of the action. */
int solve_start(const grove_node *node, void **run);
int solve_begin(const grove_call *call);
int solve_drive(const grove_call *call, const grove_array *const *inputs, int count, bool *again);
int solve_prepare(const grove_call *call);
int solve_commit(const grove_call *call);
void solve_abort(const grove_call *call);
void solve_stop(const grove_node *node, void *run);

/* ---- robust fits ---- */

/* Makes tile->robust, with the data's weights, for grove_free_gaps. 0, or GROVE_NO_MEMORY. */
int solve_begin_weights(solve_tile *tile);
/* Elements of a cell: of the data, or all compared ones, if a scalar is compared with two. */
static inline int solve_robust_elements(const solve *s, int data_elements)
{
    return data_elements > s->elements ? data_elements : s->elements;
}
/* They as an input. */
solve_view solve_robust_view(const solve_tile *tile);
/* Finds d->scale of a domain that was evaluated at its solution, and whose Jones terms there are
 * d->jones, in a walk over its tiles; several walks may be needed. True: it is found. */
bool solve_find_scale(const solve_tile *tile, solve_domain *d);
/* The same in a tile that has all of the domain; and sets its weights. */
void solve_reweigh(const solve_tile *tile, solve_domain *d);
/* Makes tile->robust of a part of `count` active domains, NULL where the data's own weights count.
 * By factors; else the model is at the points of the weights, and the domains move to the requested
 * points for a second look at the tile: `again`. 0, or GROVE_NO_MEMORY. */
int solve_weigh_part(const grove_call *call, solve_tile *tile, solve_evaluation *e, int64_t count,
                     bool *again);
/* After that look: for the next tile. */
void solve_move_to_weights(const solve_evaluation *e, int64_t count);

#endif
