/* Pipelines: a pass over the tiles while it runs; and evaluations: all passes of a schedule. */
#ifndef GROVE_RUN_PIPELINE_H
#define GROVE_RUN_PIPELINE_H

#include "base/log.h"
#include "plan/schedule.h"
#include "run/class_state.h"
#include "run/step.h"

typedef struct grove_evaluation grove_evaluation;

/* Results that a root accumulates over the tiles of a pass. */
typedef struct {
    grove_accumulator *sums; /* COLLECT: sums so far */
    grove_class_state *state;
    grove_value *stored; /* STORE */
} grove_gathered;

/* A tile's job for the background thread. */
typedef struct {
    grove_session *session;
    int64_t ticket;
    int code;
    double began, ended, written; /* written: seconds in classes that write */
} grove_io_job;

typedef struct grove_write_call {
    grove_node *action;
    grove_array arrays[GROVE_MAX_ACTION_INPUTS];
    grove_form forms[GROVE_MAX_ACTION_INPUTS];
    grove_value *values[GROVE_MAX_ACTION_INPUTS]; /* held by the walk until written */
    int count;
    bool *left_out, once; /* of a domain in parts: see grove_call_leave_out; NULL: it is not */
    bool repeats;         /* then: the tile comes once more before the next one */
} grove_write_call;

typedef struct {
    grove_io_job job;
    grove_write_call *calls;
    int count;
    size_t capacity;
} grove_writing;

/* A pass during a run, or between two runs. */
typedef struct {
    grove_run run;
    grove_evaluation *evaluation;
    grove_pass *pass;
    grove_gathered *gathered; /* by root */
    grove_io_job reading;
    grove_writing *writing; /* by flight of the walk */
    grove_tile at;          /* the present tile */
    grove_tile domain;      /* of domains in parts: the first tile of this one */
    bool again, revisits;   /* ... and its tiles come once more; this is not the first time */
    double cells;           /* ... of its tiles */
    bool small;             /* it is as small as can be */
    grove_progress *progress;
} grove_pipeline;

grove_pipeline *grove_pipeline_new(grove_evaluation *evaluation, grove_pass *pass);
void grove_pipeline_free(grove_pipeline *line);
/* Runs the pass. GROVE_AGAIN: nothing was written yet, and devices have less memory than planned.
 */
int grove_pipeline_run(grove_pipeline *line);

/* The job of the current tile. */
grove_writing *grove_pipeline_writing(const grove_pipeline *line);
/* Sets the host's addresses of an action's input; from any thread. */
int grove_pipeline_fetch(grove_session *session, grove_write_call *call, int k);

/* drive.c: calls the action's drive. */
int grove_drive_call(grove_session *session, grove_write_call *call, bool *again);

/* roots.c: of grove_run, whose context is the pipeline. */
int grove_roots_take(grove_run *run, const grove_step *step);
grove_accumulator *grove_roots_sums(grove_run *run, const grove_step *step);
/* After the last tile: whether some roots ask for all tiles once more; then only these get them. */
int grove_roots_walk(grove_pipeline *line, bool *again);
/* After the last walk over the tiles: stores results of the pass's reductions for later passes. */
int grove_roots_finish(grove_pipeline *line);

/* evaluation.c */
struct grove_evaluation {
    grove_session *session;
    grove_node *const *nodes;
    size_t node_count;
    grove_range range[GROVE_MAX_AXES];
    int ranges;
    grove_schedule *schedule;
    grove_pipeline **lines;   /* by pass */
    grove_value **results;    /* by node: results of staged reductions, once known */
    grove_hash *results_keys; /* hashes of the content when they were computed */
    bool written;             /* actions have received something */
};

/* Plans the run of all actions, or the value of one node over some ranges of axes. `nodes` must
 * outlive it. */
int grove_evaluation_new(grove_session *session, grove_node *const *nodes, size_t count,
                         const grove_range *range, int ranges, grove_evaluation **evaluation);
void grove_evaluation_free(grove_evaluation *evaluation);
/* Runs it; may be called again after the content of leaves has changed: values that do not depend
 * on it are not recomputed. `value`: gets a reference if a value was requested; else NULL. */
int grove_evaluation_run(grove_evaluation *evaluation, grove_value **value);

/* Plans within the session's memory; falls back to the host's memory if the devices' is too small.
 */
int grove_session_schedule(grove_session *session, grove_node *const *nodes, size_t count,
                           const grove_range *range, int ranges, grove_schedule **schedule);

#endif
