/* Values of parms: polynomials of their coefficients at times and frequencies. */
#include "nodes/common/form.h"
#include "nodes/fit/parm.h"
#include "plugin.h"

#include "util.h"

#include <stdlib.h>
#include <string.h>

#define GROVE_KERNEL_SOURCE "../../kernels/fit/parm.h"
#include "kernel.h"

static const grove_kernel kernel = GROVE_KERNEL(parm);

static const grove_port inputs[] = {
    {"of", GROVE_OBJECT, "the parm", .object = "parm"},
    {"coefficients", GROVE_VALUE, "its coefficients", .linear = GROVE_LINEAR},
    {0},
};

static const grove_port options[] = {
    {"time", GROVE_VALUE_TIME, "times at which it is computed, s", .initial = "none",
     .handing = GROVE_AS_DOUBLE, .linear = GROVE_SELECTOR},
    {"freq", GROVE_VALUE_FREQUENCY, "frequencies at which it is computed, Hz", .initial = "none",
     .handing = GROVE_AS_DOUBLE, .linear = GROVE_SELECTOR},
    {"group", GROVE_VALUE_NUMBER,
     "numbers of groups of sources; each source has the coefficients of its group; one number: the "
     "coefficients of that group",
     .initial = "none", .handing = GROVE_AS_DOUBLE, .linear = GROVE_SELECTOR},
    {0},
};

static void put_places(const grove_parm_intervals *own, grove_parm_place *places)
{
    for (int64_t i = 0; own->axis && i < own->axis->size; i++)
        places[i].interval = grove_parm_find(own, i, &places[i].x);
}

static int set_places(grove_node *node, const grove_parm *p)
{
    const grove_parm_state state = {.time_terms = p->time.terms,
                                    .freq_terms = p->freq.terms,
                                    .interval = grove_axis_kind("interval"),
                                    .band = grove_axis_kind("band"),
                                    .term = grove_axis_kind("term"),
                                    .group = p->groups ? p->groups->kind : -1,
                                    .times = p->time.axis ? p->time.axis->size : 0,
                                    .channels = p->freq.axis ? p->freq.axis->size : 0};
    size_t count = (size_t)(state.times + state.channels);
    grove_parm_place *places = grove_alloc((count + 1) * sizeof(*places));

    put_places(&p->time, places);
    put_places(&p->freq, places + state.times);
    grove_node_set_state(node, &state, sizeof(state));
    int code = count ? grove_node_set_table(node, places, count * sizeof(*places)) : 0;
    free(places);
    return code;
}

/* Its places are of the parm's own times and channels: the requested values must be along them. */
static int check_places(grove_node *node, int k, const grove_parm_intervals *own, const char *name)
{
    const grove_axis *axes[GROVE_MAX_AXES];
    int count = grove_node_input_axes(node, k, axes);

    if (own->axis && !grove_node_input_form(node, k))
        return grove_node_fail(node, GROVE_INVALID, "this parm varies with %s, which must be given",
                               name);
    if (own->axis && (count != 1 || axes[0] != own->axis))
        return grove_node_fail_option(node, name, "must be the %s of the parm's own observation",
                                      name);
    if (!own->axis)
        grove_node_drop_input(node, k);
    return 0;
}

/* Its groups are the parm's own. */
static int check_groups(grove_node *node, int k, const grove_parm *p)
{
    double number;
    int64_t count = 0;
    const double *group =
        grove_node_input_form(node, k) ? grove_node_input_data(node, k, &count) : NULL;

    if (!p->groups) {
        grove_node_drop_input(node, k);
        return 0;
    }
    bool one = grove_node_input_constant(node, k, &number) && number >= 0 &&
               number < (double)p->groups->size;
    if (!one && (!group || count != p->source->size ||
                 memcmp(group, p->group, (size_t)count * sizeof(*group)) != 0))
        return grove_node_fail(
            node, GROVE_INVALID,
            "this parm has groups; group= must be its own member, or the number of a group");
    grove_node_consume(node, p->groups->kind);
    return 0;
}

static int check(grove_node *node)
{
    const grove_parm *p = grove_node_user(grove_node_object(node, "of"));
    grove_form form = *grove_node_input_form(node, 0);
    int code = check_places(node, 1, &p->time, "time");

    if (!code)
        code = check_places(node, 2, &p->freq, "freq");
    if (!code)
        code = check_groups(node, 3, p);
    if (code)
        return code;
    grove_node_consume(node, grove_axis_kind("interval"));
    grove_node_consume(node, grove_axis_kind("band"));
    grove_node_consume(node, grove_axis_kind("term"));
    form.precision = GROVE_PRECISION_DOUBLE;
    grove_node_set_output(node, &form);
    return set_places(node, p);
}

/* Each cell finds its coefficients itself: the space without their axes. */
static grove_args space_of(const grove_call *call)
{
    const grove_parm_state *own = (const grove_parm_state *)(const void *)call->args->state.bytes;
    grove_args args = *call->args;

    for (int d = 0; d < args.axes; d++)
        if (args.axis[d] == own->interval || args.axis[d] == own->band ||
            args.axis[d] == own->term || args.axis[d] == own->group)
            args.size[d] = 1;
    return args;
}

static void run_cells(void *args, int64_t first, int64_t last)
{
    kernel.double_precision(args, first, last);
}

static int eval(const grove_call *call)
{
    grove_args args = space_of(call);

    grove_call_parallel(call, grove_args_cells(&args), run_cells, &args);
    return 0;
}

static int device(const grove_call *call)
{
    const grove_args args = space_of(call);

    return grove_call_launch(call, &kernel, &args, true);
}

GROVE_CLASS(parm_value) = {
    GROVE_CLASS_HEAD(parm_value),
    .doc = "The value of a parm at times and frequencies, as a call of parm uses it.\nPolynomials "
           "of each interval, in places from -1 to 1.",
    .output_doc = "its value, in double precision and in its unit",
    .group = "fitting",
    .inputs = inputs,
    .options = options,
    .role = GROVE_ROLE_PARM,
    .check = check,
    .eval = eval,
    .device = device,
    .example = "A[p] = parm(\"A\", obs=obs, jones=amplitude, time=60s)",
};
