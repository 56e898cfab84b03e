/* Actions that fit, or leave out rows, include this besides plugin.h. Their .drive gets a tile
 * several times, with new values of the parms; besides the declared inputs they get derivatives. */
#ifndef GROVE_FIT_H
#define GROVE_FIT_H

#include "../plugin.h"

#ifdef __cplusplus
extern "C" {
#endif

/* ---- parms and derivatives ---- */

/* Only in check of an action with a drive: it changes the parms that value input k depends on: all
 * free ones, or only the parms in an option of kind GROVE_PARM_NAMES (NULL: no such option). They
 * have new values afterwards (grove_node_renews). Besides its own inputs the action gets the
 * derivatives of input k. 0, or GROVE_INVALID with a message: no such parm. */
int grove_node_fit(grove_node *node, int k, const char *option);
/* By which part of a complex component a derivative is; a real one has a real part only. */
typedef enum {
    GROVE_PART_REAL,
    GROVE_PART_IMAGINARY,
    GROVE_PART_BOTH,          /* imaginary: i times the real one */
    GROVE_PART_BOTH_CONJUGATE /* imaginary: -i times the real one */
} grove_part;
/* A derivative of the fitted input: its change per unit of a component of a parm, over the whole
 * interval, times the value of the term of the polynomial there. */
typedef struct {
    const grove_node *parm; /* one of grove_node_parms */
    const char *member;     /* of the parm: the component */
    char side; /* 'p', 'q': as the parm of that station of a baseline; 0: of the cell */
    /* NULL, or where cells along an axis are taken together: of one station or source alone. */
    const grove_axis *axis;
    int64_t index;
    grove_part part;
    int differentiated; /* the input that it is the derivative of */
    bool constant;      /* it depends on no parm that is fitted */
    int input;          /* number of the input that has it: real or complex; axes along which it is
                           constant may be missing */
} grove_fit_slot;
/* Only in .fit, where the model has its final form: whether it is a sum of Jones products, sum_g
 * L_g M_g R_g^H, in which only L and R, per station, depend on the fitted parms. */
typedef struct {
    int groups;      /* terms, at most GROVE_MAX_GROUPS; 0: it is no such sum */
    const char *why; /* then */
    /* Whether L or R vary with time or frequency by other things than the parms. */
    bool each_time, each_channel;
    bool diagonal; /* each L and R is a scalar or diagonal */
} grove_fit_form;
enum { GROVE_MAX_GROUPS = 32 };
grove_fit_form grove_node_factor(grove_node *node);
/* Only in .fit, after grove_node_factor found groups: the action is given the factors in place of
 * the model, and the derivatives of L and R in place of the model's. L and R are not gathered. */
int grove_node_take_factors(grove_node *node);
/* Numbers of inputs; left and right -1: unity. The first middle takes the model's place. */
typedef struct {
    int left, middle, right;
} grove_fit_group;
int grove_node_groups(const grove_node *node, const grove_fit_group **groups);
/* Only in check of an action: gives it the member of that name of the data with flags that input k
 * is made of, such as their weights, or where no data with flags are, of the one leaf that has it,
 * as a further input; returns its number, or -1: there is none. */
int grove_node_add_member_input(grove_node *node, int k, const char *member);
/* Only in check of an action that fits, or of an accumulator: gives it, as a further input, the
 * member `missing` of the set whose data flag input k wherever it has no row: a value per time and
 * baseline, flagged there. On the host, inputs along these axes (of a fit: inputs of Jones shapes)
 * and their flags are then undefined in such rows; on devices nothing changes. Returns its number,
 * or -1: there are no such rows. */
int grove_node_add_rows_input(grove_node *node, int k);
/* Then, for grove_node_set_memory: bytes in use of an array of `rows` times and baselines,
 * `row_bytes` each, if the system zeroes it, in small pages, and rows missing in the set are never
 * written. */
uint64_t grove_node_rows_bytes(const grove_node *node, double rows, double row_bytes);
/* Only in check of an action without a target: it does not need rows of its inputs that are missing
 * in the set from which its object input `input` is read. They are undefined. */
void grove_node_leave_rows(grove_node *node, const char *input);
/* Sets missing[time][baseline] for `times` times of an observation: 1 if it has no such row. False:
 * the observation does not report it, or, with a message, reading it failed. */
bool grove_node_find_missing(const grove_node *obs, int64_t first, int64_t times,
                             unsigned char *missing);
/* Only in check: a further input, called `name` in messages, made of an expression of the tree
 * language in the node's inputs. Returns its number, or -1 with a message.
 */
int grove_node_add_input(grove_node *node, const char *name, const char *expression);
/* Only in check: the same in place of input k, with the same axes. 0, or a code after a message. */
int grove_node_replace_input(grove_node *node, int k, const char *expression);
/* Elements of the 2x2 matrix, bits 0 to 3 of XX XY YX YY or RR RL LR LL, that were not measured:
 * input k, of any shape, is made of data of a set without these correlations. 15: the set has
 * Stokes I alone, half the trace. A leaf sets them for its complex members, only in open. */
int grove_node_missing_elements(const grove_node *node, int k);
void grove_node_set_missing_elements(grove_node *node, int elements);
/* The parms that it fits, data leaves of kind "parm"; returns how many. */
int grove_node_parms(const grove_node *node, const grove_node *const **parms);
/* The derivatives, from .fitted on; returns how many. */
int grove_node_slots(const grove_node *node, const grove_fit_slot **slots);
/* A component of a parm, of a group of sources (-1: it has no groups); parm NULL: none. */
typedef struct {
    const grove_node *parm;
    const char *member;
    int64_t group;
} grove_fit_component;
/* A number times exp(1i * phase); where there is none of one of them, 1 or 0. */
typedef struct {
    grove_fit_component number, phase;
} grove_fit_number;
/* Only in fitted: the components of parms whose number is element `element` of input k, a Jones
 * term (of a scalar 0; of a diagonal 0 or 1; of a matrix 0 to 3, row-wise), as far as the tree
 * shows: a class that combines scalars may change their order. False: it is no such number. */
bool grove_node_find_number(const grove_node *node, int k, int element, grove_fit_number *number);
/* Only in open of a parm: a change of it, in its unit, after which values are still about linear in
 * it. Without it 1. */
void grove_node_set_step(grove_node *node, double step);
/* As grove_call_object_run, of a parm it fits. */
void *grove_call_parm_run(const grove_call *call, const grove_node *parm);
/* Only in begin: whether the run continues an interrupted one; and everything that its results
 * depend on, as lines "NAME: VALUE" for people, which the caller frees: the run, an empty line, and
 * the content of the files that it reads. Two runs with the same lines compute the same bits. And,
 * in prepare too, how many cycles the run has. */
bool grove_call_resumes(const grove_call *call);
char *grove_call_run_key(const grove_call *call);
int grove_call_run_cycles(const grove_call *call);
/* Only in begin: the run to continue was complete, and nothing is left to do. The run ends without
 * an error, and actions that have begun are aborted. */
void grove_call_end_run(const grove_call *call);
/* Only in check, fit or fitted of an action with a drive: its inputs stay where they were computed.
 * `data` and `flags` of its arrays are NULL until the drive asks for them. */
void grove_node_leave_inputs(grove_node *node);
/* Only in check, fit or fitted of an action with a drive: a domain that does not fit the memory may
 * come in several tiles, which divide it along time, one call of .drive for each in their order.
 * `again` counts in the last call of a domain: if set, all its tiles come once more. `bytes`:
 * memory of the class then, in place of grove_node_set_memory; `once`: memory with which it needs
 * some inputs the first time only; 0: it always needs all. */
void grove_node_set_parts(grove_node *node, uint64_t bytes, uint64_t once);
/* Only in check, fit or fitted, after grove_node_set_parts: its drive may ask for the same tile
 * once more at once (grove_call_repeat). Inputs that do not depend on the fitted parms are kept for
 * that.
 */
void grove_node_set_repeats(grove_node *node);
/* Only in drive, of such a tile: it comes once more before the next one. */
void grove_call_repeat(const grove_call *call);
/* Only in drive: whether the memory `once` of grove_node_set_parts is available. */
bool grove_call_reads_once(const grove_call *call);
/* Only in drive: input k is not evaluated any more until the domain has ended. Its array has axes
 * and ranges, and no data. */
void grove_call_leave_out(const grove_call *call, int k);
/* Only in drive: gives the array of input k its addresses on the host, until drive returns; values
 * that are only on a device are copied. 0, or a code, with a message, that drive is to return. */
int grove_call_fetch_input(const grove_call *call, int k);
/* A computation of a drive on the device of its tile. */
typedef struct {
    /* Inputs of call->args, over the axes of the action: k for the numbers of input k, ~k for its
     * flags, a byte per cell. `data` is NULL if the input is not given or has no flags. */
    int inputs[GROVE_MAX_INPUTS], count;
    /* Called with addresses of the device, as .device is; args->out is the result, args->table as
     * always. */
    int (*compute)(const grove_call *call, void *context);
    void *context;
    void *result; /* on the host: gets `bytes` bytes */
    uint64_t bytes;
} grove_computation;
/* Only in drive, by its thread: computes, and copies the result to the host. The result counts as
 * scratch memory (grove_node_set_scratch, for the cells of the tile). GROVE_MISSING (base/error.h),
 * without a message: the drive has to compute on the host, as there is no device, or no code or
 * memory on it. Else 0, or a code, with a message, that drive is to return. */
int grove_call_compute(const grove_call *call, const grove_computation *computation);

#ifdef __cplusplus
}
#endif

#endif
