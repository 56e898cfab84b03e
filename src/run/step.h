/* Evaluation of a program's steps for one tile. */
#ifndef GROVE_RUN_STEP_H
#define GROVE_RUN_STEP_H

#include "plan/program.h"
#include "run/accumulator.h"
#include "run/state.h"

typedef struct grove_run grove_run;
struct grove_run {
    grove_session *session;
    grove_program *program;
    grove_value **results; /* by node: of earlier passes */
    /* What a root does with the values of its inputs (steps of the program, which still hold
     * theirs). */
    int (*take)(grove_run *run, const grove_step *root);
    /* Of a collector; NULL: it has this tile already. */
    grove_accumulator *(*accumulator_of)(grove_run *run, const grove_step *root);
    void *context;
};

/* Finds out which steps the current tile needs: what is kept or cached is taken from there. */
void grove_run_mark(grove_run *run);
/* Evaluates the needed steps in order and lets go of what is not used any more. */
int grove_run_tile(grove_run *run);
/* After an error: lets go of everything but what is kept. */
void grove_run_drop(grove_run *run);

/* A loop over chunks, from `first` on: its steps are computed, then let go of. */
int grove_run_body(grove_run *run, const grove_step *step, int64_t first);
void grove_run_end_body(grove_run *run, const grove_step *step);

/* A new value for a step over its present ranges, on the host. NULL with a message. */
grove_value *grove_step_new_value(grove_run *run, const grove_step *step);
/* The same without storage; and storage for one, for its flags only. */
grove_value *grove_step_bare_value(const grove_run *run, const grove_step *step);
int grove_step_store(grove_run *run, const grove_step *step, grove_value *value);
int grove_step_store_flags(const grove_run *run, const grove_step *step, grove_value *value);
/* Fills it from the data leaf; from any thread. */
int grove_step_read(grove_session *session, const grove_step *step, grove_value *value);

/* compute.c: the values of single steps from those of their inputs. */
int grove_compute_constant(grove_run *run, grove_step *step);
int grove_compute_data(grove_run *run, grove_step *step);
int grove_compute_cast(grove_run *run, grove_step *step);
int grove_compute_select(grove_run *run, grove_step *step);
int grove_compute_class(grove_run *run, grove_step *step);
/* reduce.c: a reduction of what one tile has; and adding the input of one to an accumulator. */
int grove_compute_reduction(grove_run *run, grove_step *step);
int grove_reduce_input(grove_run *run, const grove_step *step, grove_accumulator *accumulator);
/* sections.c: the same for a sum over sources, by the chunks of its body. */
int grove_compute_sections(grove_run *run, grove_step *step);
/* blank.c: 0 in a class's value, on the device, where an input taken for its flags has them all. */
int grove_compute_blank(const grove_run *run, const grove_step *step);

#endif
