/* Fits parms to data: the action, its options and what it checks. */
#include "nodes/solve.h"

#include "base/error.h"
#include "base/memory.h"
#include "base/text.h"
#include "nodes/form.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static const grove_input inputs[] = {
    {"model", GROVE_VALUE, "what depends on the parms, such as visibilities",
     .shapes = GROVE_JONES, .handing = GROVE_AS_COMPLEX},
    {"data", GROVE_VALUE, "what the model is to be like; flagged data do not count",
     .shapes = GROVE_JONES, .handing = GROVE_AS_COMPLEX},
    {0},
};

static const grove_option options[] = {
    {"parms", GROVE_PARM_NAMES, "none",
     "what is fitted: parms, or values made of them, such as G or [G, B]; none: all that the model "
     "depends on and are not fixed"},
    {"method", GROVE_CHOICE, "auto",
     "lm: Levenberg-Marquardt; block: each station by itself, again and again, which takes less "
     "time for each step and more steps; auto: lm",
     "auto lm block"},
    {"max_iterations", GROVE_INTEGER, "50", "most steps for a solution domain"},
    {"tolerance", GROVE_NUMBER, "1e-6",
     "relative change of the unknowns, or of what chi-squared can still fall, at which a fit has "
     "converged"},
    {"weights", GROVE_VALUE, "none",
     "weights of the data, 1 / sigma^2, for each element or for all; none: the set's own, or 1; data "
     "with weights of 0 or less do not count",
     .shapes = GROVE_JONES, .handing = GROVE_AS_REAL},
    {"damping", GROVE_NUMBER, "0",
     "of the first step, relative to the matrix's diagonal: larger where the start is bad"},
    {"min_baseline", GROVE_QUANTITY, "none",
     "shorter projected baselines are left out: a length such as 100m, or a number of wavelengths"},
    {"max_baseline", GROVE_QUANTITY, "none", "longer ones are left out"},
    {"autocorrelations", GROVE_BOOL, "false", "baselines of a station with itself count, too"},
    {"quota", GROVE_NUMBER, "0",
     "smallest share of data that must not be flagged; a solution domain with less is not fitted"},
    {"batch", GROVE_INTEGER, "8",
     "so many solution domains along time start together, from the last converged solution before"},
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
    for (int e = 0; e < s->elements; e++) {
        s->of_model[e] = all ? e : model == GROVE_MATRIX ? 3 * e : e;
        s->of_data[e] = all ? e : data == GROVE_MATRIX ? 3 * e : e;
    }
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
            return grove_node_fail(node, GROVE_SHAPE,
                                   "the model varies with %s, the data do not%s", model[i]->name,
                                   model[i]->kind == GROVE_AXIS_SOURCE ? "; sum first: sum[s](...)"
                                                                       : "");
    }
    return 0;
}

/* ---- options ---- */

static int find_length(grove_node *node, const char *option, double *length, bool *in_wavelengths)
{
    double number[2];

    if (!grove_node_given(node, option))
        return 0;
    grove_dimension unit = grove_node_quantity(node, option, number);
    grove_dimension metres = {.m = 1}, none = {0};
    *in_wavelengths = !memcmp(&unit, &none, sizeof(unit));
    if ((!*in_wavelengths && memcmp(&unit, &metres, sizeof(unit)) != 0) || number[1] != 0 ||
        !(number[0] >= 0))
        return grove_node_fail_option(node, option,
                                      "wants a length such as 100m, or a number of wavelengths");
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
    return s->uvw >= 0 ? 0
                       : grove_node_fail(node, GROVE_INVALID,
                                         "the data have no uvw that tell the baselines' lengths");
}

static int find_numbers(grove_node *node, solve *s)
{
    int64_t iterations = grove_node_integer(node, "max_iterations");

    s->tolerance = grove_node_number(node, "tolerance");
    s->damping = grove_node_number(node, "damping");
    s->quota = grove_node_number(node, "quota");
    s->batch = grove_node_integer(node, "batch");
    s->autocorrelations = grove_node_bool(node, "autocorrelations");
    s->blocks = !strcmp(grove_node_text(node, "method"), "block");
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
    if (s->batch < 1)
        return grove_node_fail_option(node, "batch", "%lld is less than 1", (long long)s->batch);
    return 0;
}

static int check(grove_node *node)
{
    solve *s = grove_alloc(sizeof(*s));
    grove_unit unit;

    grove_node_set_user(node, s);
    int code = form_common_unit(node, 2, "compare", &unit);
    if (!code)
        code = check_axes(node);
    if (!code)
        code = find_numbers(node, s);
    if (!code)
        code = grove_node_fit(node, SOLVE_MODEL, "parms");
    if (!code)
        code = solve_find_domains(node, s);
    if (code)
        return code;
    find_elements(node, s);
    s->weights = grove_node_input_form(node, SOLVE_WEIGHTS)
                     ? SOLVE_WEIGHTS
                     : grove_node_add_member_input(node, SOLVE_DATA, "weight");
    s->weights = s->weights < 0 ? SOLVE_WEIGHTS : s->weights;
    return find_baselines(node, s);
}

/* ---- derivatives ---- */

/* Unknowns of the largest domain, and of all. */
static void count_unknowns(const solve *s, int64_t *largest, int64_t *all)
{
    *largest = *all = 0;
    for (int64_t t = 0; t < s->cut[SOLVE_TIME].count; t++)
        for (int64_t f = 0; f < s->cut[SOLVE_FREQ].count; f++) {
            solve_domain d;
            solve_domain_begin(s, &d, t, f);
            *largest = d.unknowns > *largest ? d.unknowns : *largest;
            *all += d.unknowns;
            solve_domain_end(&d);
        }
}

enum { MAX_UNKNOWNS = 20000 };

static int fitted(grove_node *node)
{
    solve *s = grove_node_user(node);
    int64_t largest, all, domains = s->cut[SOLVE_TIME].count * s->cut[SOLVE_FREQ].count;
    int64_t batch = s->batch < s->cut[SOLVE_TIME].count ? s->batch : s->cut[SOLVE_TIME].count;

    solve_find_slots(node, s);
    if (!s->slot_count)
        return grove_node_fail(node, GROVE_INVALID,
                               "the model does not change where these parms do");
    count_unknowns(s, &largest, &all);
    if (largest > MAX_UNKNOWNS)
        return grove_node_fail(node, GROVE_INVALID,
                               "%lld unknown numbers in one solution domain, at most %d; make the "
                               "intervals of all parms end together more often",
                               (long long)largest, (int)MAX_UNKNOWNS);
    grove_node_set_memory(node, (uint64_t)(2 * largest * largest * 8 * batch));
    grove_node_note(node,
                    "method: %s; %lld solution domains, %lld unknown numbers (at most %lld in a "
                    "domain); %d derivatives",
                    s->blocks ? "block" : "lm", (long long)domains, (long long)all,
                    (long long)largest, s->slot_count);
    return 0;
}

static void close_solve(grove_node *node)
{
    solve_free(grove_node_user(node));
    grove_node_set_user(node, NULL);
}

GROVE_CLASS(solve) = {
    GROVE_CLASS_HEAD(solve),
    .doc =
        "Fits parms so that the model is most like the data: least squares, weighted.\n"
        "Each solution domain, the smallest range of times and channels that the intervals of all "
        "parms tile, is fitted by itself. What comes after in the tree sees the solutions. "
        "A station without data keeps its start value. At the end it says how many domains have "
        "converged; stalled: no step makes chi-squared smaller.",
    .group = "fitting",
    .inputs = inputs,
    .options = options,
    .kind = GROVE_CLASS_ACTION,
    .check = check,
    .fitted = fitted,
    .close = close_solve,
    .start = solve_start,
    .drive = solve_drive,
    .prepare = solve_prepare,
    .stop = solve_stop,
    .example = "fit = solve(V, obs.data, parms=G, max_iterations=30, tolerance=1e-6)",
};
