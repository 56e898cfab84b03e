/* degrid: visibilities from planes of the uv grid, the adjoint of grid. */
#include "nodes/imaging/degrid.h"
#include "nodes/common/form.h"
#include "nodes/imaging/gridder_threads.h"
#include "nodes/imaging/image_method.h"
#include "nodes/imaging/image_subgrids.h"

#include "unstable/hash.h"
#include "unstable/keep.h"
#include "util.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const grove_port inputs[] = {
    {"x", GROVE_VALUE,
     "planes (w_plane, v, u), as of fft(grid_correction(image, ...)), maybe of a cube (freq)",
     .own_axes = true, .handing = GROVE_AS_COMPLEX, .shapes = GROVE_SCALAR | GROVE_VECTOR},
    {"obs", GROVE_OBJECT, "the observation", .object = "observation"},
    {0},
};
static const grove_port options[] = {
    IMAGE_STAGE_OPTIONS,
    {"uvw", GROVE_VALUE_LENGTH, "baselines, m", .initial = "obs.uvw", .handing = GROVE_AS_DOUBLE,
     .shapes = GROVE_VECTOR, .vector = 3, .linear = GROVE_SELECTOR},
    {"freq", GROVE_VALUE_FREQUENCY, "frequencies, Hz", .initial = "obs.freq",
     .handing = GROVE_AS_DOUBLE, .linear = GROVE_SELECTOR},
    IMAGE_FUNCTIONS_OPTIONS,
    IMAGE_METHOD_OPTIONS,
    IMAGE_INTERPOLATE_OPTION,
    {"stokes", GROVE_TEXT,
     "for method=idg: Stokes parameters of the planes, such as IQUV; none: as many of IQUV as they "
     "have",
     .initial = "none"},
    {0},
};

/* ---- check ---- */

/* The gridder, or the functions with theirs, and a copy of the planes if they are in another order.
 */
static uint64_t memory_of(const options_read *o, const grove_axis *const axes[3], int parameters)
{
    const grove_gridder_plan *plan = &o->plan;

    const bool same_order =
        axes[0]->kind == grove_axis_kind("w_plane") && axes[1]->kind == grove_axis_kind("v");
    const size_t cell = 2 * (plan->bounds.double_precision ? sizeof(double) : sizeof(float));

    return (o->is_idg ? degrid_subgrids_bytes(o)
            : o->has_functions
                ? grove_convolution_bytes(&o->convolution)
                : grove_gridder_plan_planes_bytes(plan) + grove_gridder_plan_own_bytes(plan) +
                      grove_gridder_plan_index_bytes(plan)) +
           (same_order
                ? 0
                : (uint64_t)(parameters * plan->planes * plan->grid[0] * plan->grid[1]) * cell);
}

/* Reads the frequencies of planes, besides the visibilities' frequencies. */
static int read_cube(const grove_node *node, options_read *o)
{
    const grove_axis *freq = grove_node_input_axis(node, FREQ, GROVE_AXIS_FREQ),
                     *axis = grove_node_input_axis(node, PLANES, GROVE_AXIS_FREQ);

    o->cube = (image_cube){.axis = axis,
                           .same = axis && axis == freq,
                           .linear = grove_node_choice(node, "interpolate") == 1,
                           .planes = axis ? (int)axis->size : 1};
    if (axis && !o->cube.same && !axis->centre)
        return grove_node_fail(node, GROVE_SHAPE, "the cube has no frequencies");
    return 0;
}

/* Planes have the Stokes parameters that the functions are for as elements, and no other axes. */
static int check_planes(const grove_node *node, const options_read *o, int parameters)
{
    const grove_form *form = grove_node_input_form(node, PLANES);
    const grove_axis *axes[GROVE_MAX_AXES];
    const int elements = form_elements(form);

    if (elements != parameters)
        return grove_node_fail(node, GROVE_SHAPE,
                               "its input has %d number%s for each cell, but the functions are for "
                               "%d Stokes parameter%s",
                               elements, elements == 1 ? "" : "s", parameters,
                               parameters == 1 ? "" : "s");
    return grove_node_input_axes(node, PLANES, axes) == (o->cube.axis ? 4 : 3)
               ? 0
               : grove_node_fail(
                     node, GROVE_SHAPE,
                     "its input varies with more than w_plane, v and u, and maybe freq");
}

/* The axes of the planes, outermost first, are consumed; the axis of channels is the result's. */
static void consume_planes(grove_node *node, const options_read *o, const grove_axis *axes[3])
{
    const grove_axis *all[GROVE_MAX_AXES];
    const int count = grove_node_input_axes(node, PLANES, all);

    for (int d = 0, k = 0; d < count; d++)
        if (all[d] != o->cube.axis) {
            axes[k++] = all[d];
            grove_node_consume(node, all[d]->kind);
        }
    if (o->cube.axis && !o->cube.same)
        grove_node_consume_axis(node, o->cube.axis);
}

/* With jones: the same with functions. */
static void express(const grove_node *node, options_read *o)
{
    const char *stage = "size=size, cell=cell, centre=centre, epsilon=epsilon, max_uvw=max_uvw";
    const int elements = form_elements(grove_node_input_form(node, PLANES));
    char stokes[5], *functions;

    snprintf(stokes, sizeof(stokes), "%.*s", elements < 4 ? elements : 4, "IQUV");
    functions = image_method_functions(node, stokes, stage);
    o->expression = grove_format("degrid(x, obs, %s, uvw=uvw, freq=freq, gradient=gradient, "
                                 "interpolate=interpolate, functions=%s)",
                                 stage, functions);
    free(functions);
}

static void report_memory(grove_node *node, const options_read *o, const grove_axis *const axes[3],
                          int parameters)
{
    options_read copy = *o;

    for (int k = image_precision(grove_node_number(node, "epsilon")) == GROVE_PRECISION_DOUBLE;
         k < 2; k++) {
        copy.plan.bounds.double_precision = copy.convolution.double_precision = k;
        copy.idg.grid.bounds.double_precision = k;
        grove_node_set_memory(node, memory_of(&copy, axes, parameters));
        grove_node_set_device_memory(node, o->is_idg ? degrid_subgrids_device_bytes(&copy)
                                           : copy.has_functions
                                               ? image_convolve_memory(&copy.convolution, false)
                                               : image_device_memory(&copy.plan, false));
        if (k == 0)
            grove_node_begin_double_sizes(node);
    }
}

static int check(grove_node *node)
{
    options_read *o = grove_alloc(sizeof(*o));
    grove_gridder_plan *plan = &o->plan;
    const grove_axis *axes[GROVE_MAX_AXES];
    grove_form form = {.shape = GROVE_SCALAR,
                       .complex_ = true,
                       .precision = image_precision(grove_node_number(node, "epsilon")),
                       .unit = grove_node_input_form(node, PLANES)->unit};

    *o = (options_read){.has_functions = grove_node_input_form(node, FUNCTIONS) != NULL};
    grove_node_set_user(node, o);
    bool aw;
    int code = image_method_of_stage(node, &aw);
    if (!code && grove_node_given(node, "stokes") && !image_method_is_idg(node))
        code = grove_node_fail_option(node, "stokes", "requires method=idg");
    if (!code && aw)
        express(node, o);
    if (code || aw)
        return code;
    code = degrid_choose_plan(node, o);
    if (!code && !o->has_functions)
        code = image_functions_check_none(node);
    if (!code && o->has_functions)
        code = image_functions_check(node, FUNCTIONS, plan, &o->convolution, &o->mueller);
    if (!code && o->has_functions)
        code = image_functions_check_given(node, form_elements(grove_node_input_form(node, PLANES)),
                                           false, &o->mueller, &o->convolution);
    code = code ? code : image_stage_check(node, PLANES, plan, IMAGE_STAGE_GRID);
    if (code)
        return code;
    const int parameters = degrid_parameters(o);
    code = read_cube(node, o);
    code = code ? code : check_planes(node, o, parameters);
    if (code)
        return code;
    consume_planes(node, o, axes);
    if (o->is_idg)
        degrid_describe_subgrids(node, o);
    if (o->has_functions)
        o->index = image_mueller_index(&o->mueller, o->convolution.visibilities);
    if (o->index)
        code = grove_node_set_table(
            node, o->index, image_convolve_index_bytes(&o->mueller, o->convolution.visibilities));
    if (code)
        return code;
    form.shape = degrid_numbers(o);
    report_memory(node, o, axes, parameters);
    const int others = o->has_functions ? grove_node_input_axes(node, FUNCTIONS, axes) : 0;
    for (int d = 0; d < others; d++)
        grove_node_consume(node, axes[d]->kind);
    for (int k = 0; k < 3 && o->is_idg; k++)
        grove_node_consume(node, grove_axis_kind(image_terms_axes[k]));
    grove_node_set_output(node, &form);
    /* of a sample: data, baselines, their order; its index sets and gradient */
    uint64_t sets =
        2 * sizeof(int32_t) * (uint64_t)(o->convolution.visibilities * o->convolution.images);
    grove_node_set_scratch(node, 0,
                           24 + (o->cube.axis ? 32 : 16) * (uint64_t)form.shape +
                               (o->mueller.given ? sets : 0) + (o->has_functions ? 16 : 0));
    return 0;
}

static void close_node(grove_node *node)
{
    options_read *o = grove_node_user(node);

    if (o) {
        image_mueller_free(&o->mueller);
        free(o->index);
        free(o->expression);
    }
    free(o);
}

static const char *expression(const grove_node *node)
{
    return ((const options_read *)grove_node_user(node))->expression;
}

static int start(const grove_node *node, void **run)
{
    degridding *d = grove_alloc(sizeof(*d));

    (void)node;
    *d = (degridding){0};
    pthread_mutex_init(&d->lock, NULL);
    *run = d;
    return 0;
}

static void stop(const grove_node *node, void *run)
{
    degridding *d = run;

    if (d->outside > d->beyond)
        grove_node_warn(node,
                        "%lld visibilities have baselines that are not numbers, or longer than "
                        "%s; they are 0",
                        (long long)(d->outside - d->beyond), image_stage_limit(node));
    degrid_report_subgrids(node, d);
    image_functions_warn_outside(node, &d->left_out, "and are 0");
    grove_gridder_free(d->gridder);
    grove_convolution_free(d->convolution);
    grove_idg_free(d->idg);
    for (int k = 0; k < d->device_count; k++)
        image_device_free(&d->devices[k]);
    free(d->devices);
    free(d->convolving);
    for (int k = 0; k < d->subgrids_count; k++)
        image_subgrids_device_free(&d->subgrids[k]);
    free(d->subgrids);
    pthread_mutex_destroy(&d->lock);
    free(d);
}

/* ---- planes ---- */

/* Functions, which are dense where they lie: [w_function][fine]. */
static bool are_functions_dense(const grove_args *args, const grove_convolution_plan *plan,
                                int64_t cell)
{
    const int64_t fine = grove_convolution_side(plan);

    return image_stage_in_step(args, FUNCTIONS, "fine") == cell &&
           (plan->functions * plan->planes == 1 ||
            image_stage_in_step(args, FUNCTIONS, "w_function") == fine * fine * cell);
}

static grove_hash hash_functions(const grove_call *call, const grove_convolution_plan *plan)
{
    const int64_t fine = grove_convolution_side(plan);

    return grove_hash_add(grove_hash_start(), call->args->in[FUNCTIONS].data,
                          (size_t)(plan->functions * plan->planes * fine * fine) * 2 *
                              (call->double_precision ? sizeof(double) : sizeof(float)));
}

static int set_planes(degridding *d, const degrid_given *g, const image_mueller *mueller,
                      bool double_precision)
{
    void *copy = degrid_is_dense(g) ? NULL : degrid_copy_planes(g);
    const void *planes = degrid_is_dense(g) ? g->from : copy;
    int code = planes ? 0 : GROVE_NO_MEMORY;

    if (!code && d->convolution)
        image_mueller_from_stokes(mueller, planes, grove_convolution_grid(d->convolution),
                                  g->grid[0] * g->grid[1], double_precision);
    else if (!code && d->idg && !grove_idg_planes(d->idg))
        code = GROVE_NO_MEMORY;
    else if (!code && d->idg) {
        image_subgrids_from_cells(planes, grove_idg_planes(d->idg),
                                  (int)(g->cell / (double_precision ? 16 : 8)),
                                  g->planes * g->grid[0] * g->grid[1], double_precision);
        grove_idg_unfold(d->idg);
    } else if (!code && grove_gridder_set_planes(d->gridder, 0, planes))
        code = GROVE_NO_MEMORY;
    free(copy);
    return code;
}

/* Makes a gridder with these functions unless they are the ones that it has. */
static int find_functions(const grove_call *call, degridding *d, grove_isa isa)
{
    const options_read *o = grove_node_user(call->node);
    const uint64_t serial = grove_call_serial(call, FUNCTIONS);
    grove_convolution_plan plan = o->convolution;

    if (d->convolution && serial && serial == d->functions_serial)
        return 0;
    if (!are_functions_dense(call->args, &plan, call->double_precision ? 16 : 8))
        return grove_node_fail_option(call->node, "functions", "are not whole");
    const grove_hash hash = hash_functions(call, &plan);
    d->functions_serial = serial;
    if (d->convolution && grove_hash_equal(hash, d->functions_hash))
        return 0;
    grove_convolution_free(d->convolution);
    d->convolution = NULL;
    d->has_planes = false;
    plan.double_precision = call->double_precision;
    int code =
        image_functions_check_finite(call->node, &plan, call->args->in[FUNCTIONS].data, NULL);
    if (code)
        return code;
    d->convolution = grove_convolution_new(&plan, call->args->in[FUNCTIONS].data, isa);
    d->functions_hash = hash;
    return d->convolution ? 0 : GROVE_NO_MEMORY;
}

static int find_gridder(const grove_call *call, degridding *d, grove_isa isa)
{
    const options_read *o = grove_node_user(call->node);
    grove_gridder_plan plan = o->plan;
    grove_idg_plan idg = o->idg;

    if (o->is_idg) {
        idg.grid.bounds.double_precision = call->double_precision;
        d->idg = d->idg ? d->idg : grove_idg_new(&idg, isa);
        return d->idg ? 0 : GROVE_NO_MEMORY;
    }
    grove_gridder_free(d->gridder);
    plan.bounds.double_precision = call->double_precision;
    d->gridder = grove_gridder_new(&plan, isa);
    return d->gridder ? 0 : GROVE_NO_MEMORY;
}

int degrid_find_planes(const grove_call *call, degridding *d, int plane)
{
    const options_read *o = grove_node_user(call->node);
    const degrid_given g = degrid_planes(call, plane);
    const grove_hash hash = degrid_hash_planes(&g);
    grove_isa isa;
    char message[200];

    if (grove_isa_choose(&isa, message))
        return grove_node_fail(call->node, GROVE_INVALID, "%s", message);
    int code = o->has_functions ? find_functions(call, d, isa) : 0;
    if (code || (d->has_planes && grove_hash_equal(hash, d->planes_hash)))
        return code;
    d->has_planes = false;
    if (!o->has_functions)
        code = find_gridder(call, d, isa);
    if (!code)
        code = set_planes(d, &g, &o->mueller, call->double_precision);
    d->planes_hash = hash;
    d->has_planes = !code;
    return code;
}

/* ---- visibilities ---- */

/* The same visibilities for each cell of axes that only other inputs of the tree have. */
static void copy_out(const grove_args *args, const char *data, size_t cell)
{
    const int kinds[] = {GROVE_AXIS_TIME, GROVE_AXIS_BASELINE, GROVE_AXIS_FREQ};
    int64_t index[GROVE_MAX_AXES], cells = 1;

    for (int d = 0; d < args->axes; d++)
        cells *= args->out.stride[d] ? args->size[d] : 1;
    for (int64_t i = 0; i < cells; i++) {
        int64_t rest = i, at = 0;
        for (int d = args->axes - 1; d >= 0; d--) {
            int64_t size = args->out.stride[d] ? args->size[d] : 1;
            index[d] = rest % size;
            rest /= size;
        }
        for (int k = 0; k < 3; k++) {
            int d = grove_args_axis(args, kinds[k]);
            at = d < 0 ? at : at * args->size[d] + index[d];
        }
        memcpy(grove_view_at(&args->out, index, args->axes), data + (size_t)at * cell, cell);
    }
}

static int predict(const grove_call *call, degridding *d)
{
    const grove_args *args = call->args;
    const options_read *o = grove_node_user(call->node);
    const int64_t times = image_axis_size(args, GROVE_AXIS_TIME),
                  baselines = image_axis_size(args, GROVE_AXIS_BASELINE),
                  channels = image_axis_size(args, GROVE_AXIS_FREQ), rows = times * baselines;
    const int64_t freq_step = image_axis_step(args, &args->in[FREQ], GROVE_AXIS_FREQ);
    const size_t cell =
        2 * (call->double_precision ? sizeof(double) : sizeof(float)) * (size_t)degrid_numbers(o);
    double *uvw = image_copy_uvw(args, &args->in[UVW]),
           *freq = image_copy_freq(args, args->in[FREQ].data, freq_step);
    char *data = calloc((size_t)(rows * channels), cell);
    const grove_gridder_samples samples = {
        .rows = rows, .channels = channels, .uvw = uvw, .freq = freq, .data = data};
    int code = uvw && freq && data ? 0 : GROVE_NO_MEMORY;

    if (!code)
        code = degrid_predict_all(call, d, &samples);
    if (!code && o->is_idg)
        d->beyond += image_subgrids_beyond(&samples, &o->plan.bounds);
    if (!code)
        d->outside += image_leave_out(
            &samples, (double[]){o->plan.bounds.max_u, o->plan.bounds.max_v, o->plan.bounds.max_w},
            cell);
    if (!code)
        copy_out(args, data, cell);
    free(uvw);
    free(freq);
    free(data);
    return code;
}

static int eval(const grove_call *call)
{
    degridding *d = call->run;

    pthread_mutex_lock(&d->lock);
    int code = predict(call, d);
    pthread_mutex_unlock(&d->lock);
    return code == GROVE_NO_MEMORY
               ? grove_node_fail(call->node, code, "not enough memory for the planes")
               : code;
}

GROVE_CLASS(degrid) = {
    GROVE_CLASS_HEAD(degrid),
    .doc =
        "Visibilities from planes of the uv grid: the exact adjoint of grid.\nThe last stage of "
        "predict_image: each visibility is the sum over the cells in reach of its kernel in u, v "
        "and w, or by a function of its own (convolution_functions). Of planes at several "
        "frequencies a channel has its own, or the nearest. The options are the same as for grid.",
    .output_doc = "a complex number per time, baseline and channel, in the unit of the planes",
    .group = "images",
    .inputs = inputs,
    .options = options,
    .check = check,
    .expression = expression,
    .eval = eval,
    .device = degrid_on_device,
    .start = start,
    .stop = stop,
    .close = close_node,
    .example = "V = degrid(grid(obs.data, obs, size=8, cell=20arcsec, w_terms=false), obs, size=8, "
               "cell=20arcsec, w_terms=false)",
};
