/* Fits parms to data: the action, its options and its checks. */
#include "nodes/fit/solve_table.h"

#include "nodes/common/form.h"
#include "util.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static const grove_port inputs[] = {
    {"model", GROVE_VALUE, "value that depends on the parms, such as visibilities",
     .shapes = GROVE_JONES, .handing = GROVE_AS_COMPLEX},
    {"data", GROVE_VALUE, "values that the model is fitted to; flagged data do not count",
     .shapes = GROVE_JONES, .handing = GROVE_AS_COMPLEX},
    {0},
};

static const grove_port options[] = {
    {"parms", GROVE_PARM_NAMES,
     "parms to fit, or values made of them, such as G or [G, B]; none: all parms that the model "
     "depends on and that are not fixed",
     .initial = "none"},
    {"method", GROVE_CHOICE,
     "lm: Levenberg-Marquardt, all unknowns of a domain together; block: Gauss-Newton, each "
     "station separately, with cheaper steps and more of them; stefcal: the same for Jones terms "
     "whose numbers are parms, such as jones=diagonal, phases exp(1i * x), or amplitudes times "
     "phases; alternating: lm alternately for parms with equal intervals, each interval "
     "separately; auto: stefcal where it is possible, and lm where it is not, or where stefcal is "
     "slow; alternating if a domain has too many unknowns for lm",
     .initial = "auto", .choices = "auto lm block stefcal alternating"},
    {"max_iterations", GROVE_INTEGER,
     "maximum number of steps of each method for a solution domain; in a robust fit, with the same "
     "weights",
     .initial = "50"},
    {"tolerance", GROVE_NUMBER,
     "a fit has converged when a step changes the unknowns by less than this fraction, or could "
     "lower chi-squared by less than the square of it",
     .initial = "1e-6"},
    {"weights", GROVE_VALUE,
     "weights of the data, 1 / sigma^2, one for each element or for all of a cell; none: the "
     "set's own, or 1; data with weights of 0 or less do not count",
     .initial = "none", .shapes = GROVE_JONES, .handing = GROVE_AS_REAL},
    {"damping", GROVE_NUMBER,
     "damping of the first step, relative to the diagonal of the normal matrix; such as 1 where "
     "the start values are far off",
     .initial = "0"},
    {"robust", GROVE_CHOICE,
     "student_t: outliers count less: residuals have Student's t distribution with 4 degrees of "
     "freedom, with a width from their median; chi-squared is computed with these weights",
     .initial = "none", .choices = "none student_t"},
    {"reference", GROVE_TEXT,
     "name or number of the station whose phases, delays, TEC and rotations become 0 where the "
     "data do not determine the part that all stations have in common, and no bounds are given; "
     "none: the common part stays near the start values",
     .initial = "none", .choices = ""},
    {"errors", GROVE_BOOL,
     "also computes standard deviations, from the covariance, scaled by chi-squared per degree of "
     "freedom, without combinations that the data do not determine: G.x_error; for complex numbers "
     "the errors of amplitudes; for phases and the like relative to the reference, if it makes "
     "them 0",
     .initial = "false"},
    {"min_baseline", GROVE_QUANTITY,
     "shorter projected baselines are left out: a length such as 100m, or a number of wavelengths",
     .initial = "none"},
    {"max_baseline", GROVE_QUANTITY,
     "longer projected baselines are left out: a length, or a number of wavelengths",
     .initial = "none"},
    {"autocorrelations", GROVE_BOOL, "baselines of a station with itself count, too",
     .initial = "false"},
    {"quota", GROVE_NUMBER,
     "smallest share of the data that must be unflagged, from 0 to 1; a solution domain with less "
     "is not fitted",
     .initial = "0"},
    {"keep", GROVE_NUMBER,
     "smallest share of the unflagged data that must keep a solution, from 0 to 1; with less the "
     "run fails, and writes nothing; 0: a warning if it is less than half. Without any solution "
     "the run always fails",
     .initial = "0.5"},
    {"compress", GROVE_BOOL,
     "data and models are summed over the cells in which Jones terms are constant, where this "
     "takes less time or delays or TEC are searched for; false: never",
     .initial = "true"},
    {"batch", GROVE_INTEGER,
     "how many solution domains along time start together, each from the last converged solution "
     "before them, and are in memory together; none: 8, or fewer where they have more than 16 MiB "
     "of data",
     .initial = "none"},
    {"unsolved", GROVE_CHOICE,
     "final values of parms without a solution, where there are no data, too few data, or the fit "
     "has failed: keep: their start values; nan: not a number, so that sinks flag the values made "
     "of them; sources that are 0 in the model, where others have a solution, keep their start "
     "values",
     .initial = "keep", .choices = "keep nan"},
    {"to", GROVE_TEXT,
     "a file .h5, into which the solutions are written: a solution table (H5Parm) with all parms "
     "of the fit",
     .initial = "none"},
    {"overwrite", GROVE_BOOL, "replace an existing file with this name", .initial = "false"},
    {0},
};

/* ---- the shapes ---- */

/* Elements XX and YY of a matrix or diagonal, the scalar for both. */
static void find_elements(const grove_node *node, solve *s)
{
    int model = grove_node_input_form(node, SOLVE_MODEL)->shape,
        data = grove_node_input_form(node, SOLVE_DATA)->shape;
    bool all = model == GROVE_MATRIX && data == GROVE_MATRIX;
    bool one = model == GROVE_SCALAR && data == GROVE_SCALAR;

    s->elements = all ? 4 : one ? 1 : 2;
    s->parts = grove_node_input_form(node, SOLVE_MODEL)->complex_ ||
                       grove_node_input_form(node, SOLVE_DATA)->complex_
                   ? 2
                   : 1;
    for (int e = 0; e < s->elements; e++) {
        s->of_model[e] = all ? e : model == GROVE_MATRIX ? 3 * e : e;
        s->of_data[e] = all ? e : data == GROVE_MATRIX ? 3 * e : e;
    }
}

/* Of data without all correlations those are compared that are there: a single one with its own
 * element of the model, Stokes I with half of the trace. *alone: 1 or 2, the first or the second of
 * the diagonal, which the data are made; else 0. */
static int take_correlations(grove_node *node, int *alone)
{
    const int missing = grove_node_missing_elements(node, SOLVE_DATA);
    bool numbers = grove_node_input_form(node, SOLVE_DATA)->shape == GROVE_SCALAR &&
                   grove_node_input_form(node, SOLVE_MODEL)->shape != GROVE_SCALAR;

    *alone = !numbers || !(missing & 9) || missing == 15 ? 0 : missing & 1 ? 2 : 1;
    if (numbers && missing == 15)
        return grove_node_replace_input(node, SOLVE_MODEL, "trace(model) / 2");
    return *alone ? grove_node_replace_input(
                        node, SOLVE_DATA, *alone == 1 ? "diagonal(data, 0)" : "diagonal(0, data)")
                  : 0;
}

/* The other element has the weight 0. */
static int weigh_correlations(grove_node *node, const solve *s, int alone)
{
    const char *name = !grove_node_input_form(node, s->weights) ? "1"
                       : s->weights == SOLVE_WEIGHTS            ? "weights"
                                                                : "weight";
    char *text = grove_format(alone == 1 ? "diagonal(%s, 0)" : "diagonal(0, %s)", name);
    int code = alone ? grove_node_replace_input(node, s->weights, text) : 0;

    free(text);
    return code;
}

/* An error for parms that data without these correlations do not determine. */
static int check_kinds(const grove_node *node, const solve *s, int missing)
{
    for (int i = 0; i < s->parm_count && missing; i++) {
        const char *jones = grove_node_text(s->parms[i].leaf, "jones");
        bool full = !strcmp(jones, "full") || !strcmp(jones, "leakage");
        if (full || (missing == 15 && s->parms[i].parm->members > 1))
            return grove_node_fail(
                node, GROVE_INVALID, "the parm '%s' (jones=%s) cannot be fitted to data %s; %s",
                grove_node_text(s->parms[i].leaf, "name"), jones,
                missing == 15 ? "of Stokes I alone" : "without all four correlations",
                missing == 15 ? "jones=scalar can" : "jones=diagonal or scalar can");
    }
    return 0;
}

static int check_axes(const grove_node *node)
{
    const grove_axis *model[GROVE_MAX_AXES], *data[GROVE_MAX_AXES];
    int models = grove_node_input_axes(node, SOLVE_MODEL, model),
        datas = grove_node_input_axes(node, SOLVE_DATA, data);

    for (int i = 0; i < models; i++) {
        bool has = false;
        for (int k = 0; k < datas; k++)
            has = has || data[k] == model[i];
        if (!has)
            return grove_node_fail(
                node, GROVE_SHAPE, "the model varies with %s, the data do not%s", model[i]->name,
                model[i]->kind == GROVE_AXIS_SOURCE ? "; sum first: sum[s](...)" : "");
    }
    return 0;
}

/* ---- options ---- */

static int find_length(grove_node *node, const char *option, double *length, bool *in_wavelengths)
{
    double number[2];

    if (!grove_node_given(node, option))
        return 0;
    grove_unit unit = grove_node_quantity(node, option, number);
    *in_wavelengths = grove_unit_is_none(unit);
    if ((!*in_wavelengths && !grove_unit_equal(unit, GROVE_UNIT_LENGTH)) || number[1] != 0 ||
        !(number[0] >= 0))
        return grove_node_fail_option(node, option,
                                      "must be a length such as 100m, or a number of wavelengths");
    *length = number[0];
    return 0;
}

static int find_baselines(grove_node *node, solve *s)
{
    bool given = grove_node_given(node, "min_baseline") || grove_node_given(node, "max_baseline");

    s->min_baseline = 0;
    s->max_baseline = INFINITY;
    s->uvw = -1;
    int code = find_length(node, "min_baseline", &s->min_baseline, &s->min_in_wavelengths);
    if (!code)
        code = find_length(node, "max_baseline", &s->max_baseline, &s->max_in_wavelengths);
    if (code || !given)
        return code;
    if (s->min_in_wavelengths == s->max_in_wavelengths && s->min_baseline > s->max_baseline)
        return grove_node_fail_option(node, "min_baseline", "it is longer than max_baseline");
    s->uvw = grove_node_add_member_input(node, SOLVE_DATA, "uvw");
    return s->uvw >= 0
               ? 0
               : grove_node_fail(node, GROVE_INVALID,
                                 "the data have no uvw, which give the lengths of baselines");
}

static int find_reference(grove_node *node, solve *s)
{
    const grove_axis *axis = NULL;
    const char *text;
    char *end;

    s->reference = -1;
    if (!grove_node_given(node, "reference"))
        return 0;
    text = grove_node_text(node, "reference");
    for (int i = 0; i < s->parm_count && !axis; i++)
        axis = s->parms[i].parm->station;
    if (!axis)
        return grove_node_fail_option(node, "reference", "none of the parms is one per station");
    for (int64_t a = 0; axis->labels && a < axis->size; a++)
        if (axis->labels[a] && !strcmp(axis->labels[a], text))
            s->reference = a;
    long number = strtol(text, &end, 10);
    if (s->reference < 0 && end != text && !*end && number >= 0 && number < axis->size)
        s->reference = number;
    return s->reference >= 0 ? 0
                             : grove_node_fail_option(node, "reference",
                                                      "there is no station '%s', and its number is "
                                                      "not one from 0 to %lld",
                                                      text, (long long)axis->size - 1);
}

static int find_numbers(grove_node *node, solve *s)
{
    int64_t iterations = grove_node_integer(node, "max_iterations");

    s->tolerance = grove_node_number(node, "tolerance");
    s->damping = grove_node_number(node, "damping");
    s->quota = grove_node_number(node, "quota");
    s->keep = grove_node_number(node, "keep");
    s->batch = grove_node_given(node, "batch") ? grove_node_integer(node, "batch") : 0;
    s->autocorrelations = grove_node_bool(node, "autocorrelations");
    s->errors = grove_node_bool(node, "errors");
    s->drops_unsolved = grove_node_choice(node, "unsolved") != 0;
    s->robust = grove_node_choice(node, "robust") == 1;
    s->method = (solve_method)grove_node_choice(node, "method");
    s->max_iterations = (int32_t)iterations;
    if (iterations < 1 || iterations > INT32_MAX)
        return grove_node_fail_option(node, "max_iterations", "%lld is not from 1 to %d",
                                      (long long)iterations, INT32_MAX);
    if (!(s->tolerance > 0) || !(s->tolerance < 1))
        return grove_node_fail_option(node, "tolerance", "%g is not between 0 and 1", s->tolerance);
    if (!(s->damping >= 0) || isinf(s->damping))
        return grove_node_fail_option(node, "damping", "%g is negative", s->damping);
    if (!(s->quota >= 0) || !(s->quota <= 1))
        return grove_node_fail_option(node, "quota", "%g is not from 0 to 1", s->quota);
    if (!(s->keep >= 0) || !(s->keep <= 1))
        return grove_node_fail_option(node, "keep", "%g is not from 0 to 1", s->keep);
    if (s->batch < 1 && grove_node_given(node, "batch"))
        return grove_node_fail_option(node, "batch", "%lld is less than 1", (long long)s->batch);
    return 0;
}

/* Whether the data have all axes of the weights: averaged data do not have the axes of their former
 * weights.
 */
static bool has_axes_of(const grove_node *node, int weights)
{
    const grove_axis *axes[GROVE_MAX_AXES];
    int count = grove_node_input_axes(node, weights, axes);

    for (int i = 0; i < count; i++)
        if (axes[i]->size > 1 && !grove_node_input_axis(node, SOLVE_DATA, axes[i]->kind))
            return false;
    return true;
}

static int find_weights(grove_node *node, solve *s)
{
    bool given = grove_node_input_form(node, SOLVE_WEIGHTS) != NULL;
    int own = given ? -1 : grove_node_add_member_input(node, SOLVE_DATA, "weight");
    const grove_form *form = grove_node_input_form(node, own < 0 ? SOLVE_WEIGHTS : own);
    bool fits = !form || form->shape == GROVE_SCALAR ||
                form->shape == grove_node_input_form(node, SOLVE_DATA)->shape;

    if (given && !has_axes_of(node, SOLVE_WEIGHTS))
        return grove_node_fail_option(node, "weights", "they vary with more than the data do");
    if (given && !fits)
        return grove_node_fail_option(node, "weights",
                                      "they must be numbers, or of the shape of the data");
    if (own >= 0 && (!fits || !has_axes_of(node, own))) {
        grove_node_warn(node, "the set's weights do not match these data, and all weights are "
                              "taken as 1; weights=... gives others");
        grove_node_drop_input(node, own);
        own = -1;
    }
    s->weights = own >= 0 ? own : SOLVE_WEIGHTS;
    return 0;
}

static int check(grove_node *node)
{
    solve *s = grove_alloc(sizeof(*s));
    grove_unit unit;

    grove_node_set_user(node, s);
    const int missing = grove_node_missing_elements(node, SOLVE_DATA);
    int alone, code = form_common_unit(node, 2, "compare", &unit);
    if (!code)
        code = take_correlations(node, &alone);
    if (!code)
        code = check_axes(node);
    if (!code)
        code = find_numbers(node, s);
    if (!code)
        code = grove_node_fit(node, SOLVE_MODEL, "parms");
    if (!code)
        code = solve_find_domains(node, s);
    if (!code)
        code = check_kinds(node, s, missing);
    if (!code)
        code = find_reference(node, s);
    if (!code)
        code = solve_table_check(node, s);
    if (code)
        return code;
    find_elements(node, s);
    s->patience = 30;
    const grove_axis *baseline = grove_node_input_axis(node, SOLVE_DATA, GROVE_AXIS_BASELINE);
    for (int64_t b = 0; baseline && b < baseline->size; b++) {
        int32_t last =
            baseline->left[b] > baseline->right[b] ? baseline->left[b] : baseline->right[b];
        s->stations = last >= s->stations ? last + 1 : s->stations;
    }
    code = find_weights(node, s);
    if (!code)
        code = weigh_correlations(node, s, alone);
    if (code)
        return code;
    s->missing = grove_node_add_rows_input(node, SOLVE_DATA);
    return find_baselines(node, s);
}

/* ---- factors ---- */

/* The average number of cells in which Jones terms are constant. */
static double cells_of_stretch(const solve *s, const bool each[SOLVE_CUTS])
{
    double cells = 1;

    for (int cut = 0; cut < SOLVE_CUTS; cut++) {
        const solve_cut *own = &s->cut[cut];
        if (!each[cut])
            cells *= (double)own->first[own->count] / (double)own->segments[own->count];
    }
    return cells;
}

/* Bytes that an iteration reads and writes: the sums of a stretch; the data, the model and its
 * derivatives, made and read. */
static bool is_cheaper(const grove_node *node, const solve *s)
{
    int elements = grove_node_input_form(node, SOLVE_DATA)->shape;
    int slots = 2 * (s->form == GROVE_COMPRESSION_FULL ? 4 : 2) * s->group_count;
    double cell = elements * (8 + 4 + 2 * 8 * (1 + slots));
    double sums = 8 * (double)grove_compression_size(s->form, s->group_count);

    return sums <= cell * cells_of_stretch(s, s->each);
}

bool solve_is_of_visibilities(const grove_node *node)
{
    const grove_axis *axes[GROVE_MAX_AXES];
    int count = grove_node_input_axes(node, SOLVE_DATA, axes);
    bool baseline = false;

    for (int i = 0; i < count; i++) {
        if (axes[i]->kind != GROVE_AXIS_TIME && axes[i]->kind != GROVE_AXIS_BASELINE &&
            axes[i]->kind != GROVE_AXIS_FREQ)
            return false;
        baseline = baseline || axes[i]->kind == GROVE_AXIS_BASELINE;
    }
    return baseline;
}

/* Why data are not compressed; NULL: they are. */
static const char *find_factors(grove_node *node, solve *s)
{
    grove_fit_form form = {.why = "the data are not visibilities"};

    if (solve_is_of_visibilities(node))
        form = grove_node_factor(node);
    s->products = form.groups > 0;
    if (!grove_node_bool(node, "compress"))
        return "compress=false";
    if (!form.groups)
        return form.why;
    s->each[SOLVE_TIME] = form.each_time;
    s->each[SOLVE_FREQ] = form.each_channel;
    for (int i = 0; i < s->parm_count; i++) {
        s->each[SOLVE_TIME] = s->each[SOLVE_TIME] || s->parms[i].parm->time.terms > 1;
        s->each[SOLVE_FREQ] = s->each[SOLVE_FREQ] || s->parms[i].parm->freq.terms > 1;
    }
    for (int cut = 0; cut < SOLVE_CUTS; cut++)
        s->each[cut] = s->each[cut] && s->cut[cut].axis;
    s->group_count = form.groups;
    s->form = form.diagonal ? GROVE_COMPRESSION_DIAGONAL : GROVE_COMPRESSION_FULL;
    if (solve_searched(s) || is_cheaper(node, s)) /* searches need sums */
        return NULL;
    s->group_count = 0;
    s->each[SOLVE_TIME] = s->each[SOLVE_FREQ] = false;
    return "Jones terms vary from cell to cell";
}

static int fit(grove_node *node)
{
    solve *s = grove_node_user(node);
    const grove_fit_group *groups;

    s->why = find_factors(node, s);
    if (s->why)
        return s->method == SOLVE_STEFCAL
                   ? grove_node_fail_option(node, "method", "stefcal is not possible: %s", s->why)
                   : 0;
    int code = grove_node_take_factors(node);
    if (code)
        return code;
    s->group_count = grove_node_groups(node, &groups);
    memcpy(s->groups, groups, (size_t)s->group_count * sizeof(*groups));
    return 0;
}

/* ---- derivatives ---- */

static int fitted(grove_node *node)
{
    solve *s = grove_node_user(node);

    solve_find_slots(node, s);
    if (!s->slot_count)
        return grove_node_fail(node, GROVE_INVALID, "the model does not depend on these parms");
    solve_find_numbers(node, s);
    if (s->method == SOLVE_BLOCK && (s->reference >= 0 || s->errors))
        return grove_node_fail_option(node, "method",
                                      "block supports neither a reference nor errors");
    if (s->method == SOLVE_STEFCAL && (s->robust || s->errors))
        return grove_node_fail_option(node, "method",
                                      "stefcal supports neither errors nor outliers");
    if (s->method == SOLVE_STEFCAL && !s->direct)
        return grove_node_fail_option(node, "method", "stefcal is not possible: it requires %s",
                                      s->indirect);
    int code = solve_choose_method(node, s);
    return code ? code : solve_prepare_devices(node, s);
}

static void close_solve(grove_node *node)
{
    solve_free(grove_node_user(node));
    grove_node_set_user(node, NULL);
}

static const grove_action_functions functions = {
    .begin = solve_begin,
    .prepare = solve_prepare,
    .commit = solve_commit,
    .abort = solve_abort,
    .drive = solve_drive,
    .fit = fit,
    .fitted = fitted,
};

GROVE_CLASS(solve) = {
    GROVE_CLASS_HEAD(solve),
    .doc =
        "Fits parms to data, so that the model comes closest to them: weighted least "
        "squares.\nEach solution domain, the smallest range of times and channels that the "
        "intervals of all parms tile, is fitted separately. Later parts of the tree use the "
        "solutions. A station without data keeps its start value. At the end it reports the "
        "outcomes of the domains: converged; stalled, no step lowers chi-squared; iteration limit; "
        "not enough data; singular, nothing depends on the unknowns; not finite. to= writes the "
        "solutions as LoSoTo and DP3 read them: amplitude and phase of complex parms, clock (s) of "
        "delays, tec, rotation, value of other numbers; parms without a solution have weight 0.",
    .output_doc = "nothing: it gives the parms their values",
    .group = "fitting",
    .inputs = inputs,
    .options = options,
    .kind = GROVE_CLASS_ACTION,
    .check = check,
    .action = &functions,
    .close = close_solve,
    .start = solve_start,
    .stop = solve_stop,
    .example = "fit = solve(M[p,q] * parm(\"A\", init=1), V[p,q], max_iterations=30)",
};
