/* Steps: evaluates a program's steps for one tile. */
#ifndef GROVE_RUN_STEP_H
#define GROVE_RUN_STEP_H

#include "plan/walk.h"
#include "run/accumulator.h"
#include "run/launch.h"
#include "run/state.h"

typedef struct grove_run grove_run;
struct grove_run {
    grove_session *session;
    const grove_program *program;
    grove_walk *walk;      /* with the run as its context */
    grove_value **results; /* by node: results of earlier passes */
    grove_hash *keys;      /* by step: keys looked up in the cache for this tile */
    /* Processes the inputs of a root (steps of the program, which keep their references). */
    int (*take)(grove_run *run, const grove_step *root);
    /* The accumulator of a root; NULL when it has the tile already. */
    grove_accumulator *(*accumulator_of)(grove_run *run, const grove_step *root);
    void *context;
};

/* The value of a step (-1: NULL) of the run's program, while the walk holds it. */
static inline grove_value *grove_run_value(const grove_run *run, int step)
{
    return step < 0 ? NULL : run->walk->slots[step].value;
}

/* The part of grove_walk_work that makes, keeps and finds values. */
void *grove_run_ref(grove_walk *walk, void *value);
void grove_run_unref(grove_walk *walk, void *value);
int grove_run_make(grove_walk *walk, int step, void **value);
int grove_run_prepare(grove_walk *walk, int step, void **value);
void *grove_run_find(grove_walk *walk, int step);
void grove_run_hit(grove_walk *walk, int step);
int grove_run_check(grove_walk *walk, int step, void *found, void *made);

/* Runs a loop over chunks, from `first` on: computes its steps, then releases them. */
int grove_run_body(grove_run *run, const grove_step *step, int64_t first);
void grove_run_end_body(grove_run *run, const grove_step *step);
/* Whether the step need not compute rows that its input `rows` flags. */
static inline bool grove_run_leaves_rows(const grove_run *run, const grove_step *step)
{
    return step->rows_only && step->rows >= 0 && !grove_session_shows_all(run->session);
}
/* The current chunk of the step's loop. */
grove_chunk grove_run_chunk(const grove_run *run, const grove_step *step);
/* Calls `take` for all chunks of the step's inputs; once if it has no loop. */
int grove_run_chunks(grove_run *run, const grove_step *step,
                     int (*take)(grove_run *run, const grove_step *step, void *context),
                     void *context);

/* The step's current ranges. */
void grove_run_ranges(const grove_run *run, const grove_step *step,
                      grove_range range[GROVE_MAX_AXES]);
/* A new value for a step over its current ranges, on the host. NULL with a message. */
grove_value *grove_step_new_value(grove_run *run, const grove_step *step);
/* The same without storage; and with storage for flags only, if `flagged`. */
grove_value *grove_step_bare_value(const grove_run *run, const grove_step *step);
int grove_step_store(grove_run *run, const grove_step *step, bool flagged, grove_value *value);
int grove_step_store_flags(const grove_run *run, const grove_step *step, grove_value *value);
/* Reads it from the data leaf; from any thread. */
int grove_step_read(grove_session *session, const grove_step *step, grove_value *value);

/* compute.c: values of single steps from their inputs' values. */
int grove_compute_constant(grove_run *run, const grove_step *step, grove_value **value);
int grove_compute_data(grove_run *run, const grove_step *step, grove_value **value);
int grove_compute_cast(grove_run *run, const grove_step *step, grove_value **value);
int grove_compute_select(grove_run *run, const grove_step *step, grove_value **value);
int grove_compute_class(grove_run *run, const grove_step *step, grove_value **value);
/* A function of a class that computes on a device. */
typedef struct {
    const grove_node *node;
    bool double_precision;
    int (*compute)(const grove_call *call, void *context);
    void *context;
    bool flagged_unread; /* as in grove_call */
} grove_compute_function;
/* For a launch's `compute`: calls it there. */
int grove_compute_call(grove_session *session, grove_launch *launch, grove_device *device,
                       const grove_compute_function *function);
/* reduce.c: a reduction within a tile; and adding the input to an accumulator. */
int grove_compute_reduction(grove_run *run, const grove_step *step, grove_value **value);
int grove_reduce_input(grove_run *run, const grove_step *step, grove_accumulator *accumulator);
/* sections.c: the same for a sum over sources, by the chunks of its body. */
int grove_compute_sections(grove_run *run, const grove_step *step, grove_value **value);
/* blank.c: sets cells of a class's value on the device to 0 where the flags it was given are all
 * set. */
int grove_compute_blank(const grove_run *run, const grove_step *step, grove_value *value);

#endif
