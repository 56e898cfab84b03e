/* Evaluation of a program's steps for one tile. */
#ifndef GROVE_RUN_STEP_H
#define GROVE_RUN_STEP_H

#include "plan/walk.h"
#include "run/accumulator.h"
#include "run/state.h"

typedef struct grove_run grove_run;
struct grove_run {
    grove_session *session;
    const grove_program *program;
    grove_walk *walk;      /* its context is the run */
    grove_value **results; /* by node: of earlier passes */
    grove_hash *keys;      /* by step: of what was looked for in the cache in this tile */
    /* What a root does with the values of its inputs (steps of the program, which still hold
     * theirs). */
    int (*take)(grove_run *run, const grove_step *root);
    /* Of a collector; NULL: it has the tile already. */
    grove_accumulator *(*accumulator_of)(grove_run *run, const grove_step *root);
    void *context;
};

/* The value of a step (-1: NULL) of the run's program, while the walk has it. */
static inline grove_value *grove_run_value(const grove_run *run, int step)
{
    return step < 0 ? NULL : run->walk->slots[step].value;
}

/* The part of grove_walk_work that makes values, keeps and finds them. */
void *grove_run_ref(grove_walk *walk, void *value);
void grove_run_unref(grove_walk *walk, void *value);
int grove_run_make(grove_walk *walk, int step, void **value);
int grove_run_prepare(grove_walk *walk, int step, void **value);
void *grove_run_find(grove_walk *walk, int step);
void grove_run_hit(grove_walk *walk, int step);
int grove_run_check(grove_walk *walk, int step, void *found, void *made);

/* A loop over chunks, from `first` on: its steps are computed, then released. */
int grove_run_body(grove_run *run, const grove_step *step, int64_t first);
void grove_run_end_body(grove_run *run, const grove_step *step);
/* The present chunk of the step's loop. */
grove_chunk grove_run_chunk(const grove_run *run, const grove_step *step);
/* Calls `take` for all chunks of the step's inputs; once where it has no loop. */
int grove_run_chunks(grove_run *run, const grove_step *step,
                     int (*take)(grove_run *run, const grove_step *step, void *context),
                     void *context);

/* The step's present ranges. */
void grove_run_ranges(const grove_run *run, const grove_step *step,
                      grove_range range[GROVE_MAX_AXES]);
/* A new value for a step over its present ranges, on the host. NULL with a message. */
grove_value *grove_step_new_value(grove_run *run, const grove_step *step);
/* The same without storage; and storage for one (of flags: if `flagged`), for its flags only. */
grove_value *grove_step_bare_value(const grove_run *run, const grove_step *step);
int grove_step_store(grove_run *run, const grove_step *step, bool flagged, grove_value *value);
int grove_step_store_flags(const grove_run *run, const grove_step *step, grove_value *value);
/* Fills it from the data leaf; from any thread. */
int grove_step_read(grove_session *session, const grove_step *step, grove_value *value);

/* compute.c: the values of single steps from those of their inputs. */
int grove_compute_constant(grove_run *run, const grove_step *step, grove_value **value);
int grove_compute_data(grove_run *run, const grove_step *step, grove_value **value);
int grove_compute_cast(grove_run *run, const grove_step *step, grove_value **value);
int grove_compute_select(grove_run *run, const grove_step *step, grove_value **value);
int grove_compute_class(grove_run *run, const grove_step *step, grove_value **value);
/* reduce.c: a reduction of what one tile has; and adding the input of one to an accumulator. */
int grove_compute_reduction(grove_run *run, const grove_step *step, grove_value **value);
int grove_reduce_input(grove_run *run, const grove_step *step, grove_accumulator *accumulator);
/* sections.c: the same for a sum over sources, by the chunks of its body. */
int grove_compute_sections(grove_run *run, const grove_step *step, grove_value **value);
/* blank.c: 0 in a class's value, on the device, where an input taken for its flags has them all. */
int grove_compute_blank(const grove_run *run, const grove_step *step, grove_value *value);

#endif
