/* grid, sum_of_weights: the first stage of an image, visibilities on planes of the uv grid. */
#include "nodes/imaging/grid.h"
#include "nodes/imaging/gridder_threads.h"
#include "nodes/imaging/image_method.h"
#include "nodes/imaging/image_stage.h"
#include "nodes/imaging/image_subgrids.h"

#include "unstable/keep.h"
#include "util.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { CHUNK = 1 << 21 }; /* samples that are gridded together */

static const grove_port inputs[] = {
    {"data", GROVE_VALUE, "visibilities; flagged ones do not count", .shapes = GROVE_JONES,
     .handing = GROVE_AS_COMPLEX},
    {"obs", GROVE_OBJECT, "the observation that they belong to", .object = "observation"},
    {0},
};
/* clang-format off */
#define WEIGHT_OPTIONS                                                                             \
    {"weights", GROVE_VALUE,                                                                       \
     "weights of the visibilities, one for each element or for all of a cell; none: the set's "    \
     "own, or 1; visibilities with weights of 0 or less do not count",                             \
     .initial = "none",                                                                            \
     .shapes = GROVE_JONES, .handing = GROVE_AS_REAL},                                             \
    {"uvw", GROVE_VALUE_LENGTH, "baselines, m", .initial = "obs.uvw", .handing = GROVE_AS_DOUBLE,  \
     .shapes = GROVE_VECTOR, .vector = 3, .linear = GROVE_SELECTOR}
/* clang-format on */
static const grove_port options[] = {
    IMAGE_STAGE_OPTIONS,
    {"stokes", GROVE_TEXT,
     "the Stokes parameter: I, Q, U or V; for method=idg letters of IQUV, in one pass",
     .initial = "\"I\""},
    WEIGHT_OPTIONS,
    IMAGE_FUNCTIONS_OPTIONS,
    IMAGE_METHOD_OPTIONS,
    IMAGE_BANDS_OPTION,
    {"normalise", GROVE_BOOL,
     "true: planes are divided by the sum of weights times |sum of the numbers| of each function, "
     "in place of a division by sum_of_weights; with functions of numbers only",
     .initial = "false"},
    {"exact", GROVE_BOOL,
     "true: the same bits for any tiles and number of threads: planes in double precision, sums of "
     "integers, with one more pass over the data; not with functions",
     .initial = "false"},
    {0}};
static const grove_port sum_options[] = {
    WEIGHT_OPTIONS,
    {"stokes", GROVE_TEXT,
     "Stokes parameters that are imaged together: letters of IQUV; all of them, where matrix terms "
     "are in the functions",
     .initial = "\"I\""},
    IMAGE_STAGE_MAX_UVW,
    IMAGE_BANDS_OPTION,
    {0}};

/* ---- check ---- */

static int check_axes(const grove_node *node, const grove_node *obs, int functions, int jones)
{
    static const char *const names[] = {"time", "baseline", "freq"};
    const int data = grove_node_input(node, "data");

    for (int k = 0; k < 3; k++) {
        const grove_axis *own = grove_node_axis(obs, names[k]),
                         *of_data = own ? grove_node_input_axis(node, data, own->kind) : NULL;
        if (!own)
            return grove_node_fail(node, GROVE_SHAPE, "the observation has no axis %s", names[k]);
        if (of_data != own && own->size > 1)
            return grove_node_fail(node, GROVE_SHAPE,
                                   "the visibilities do not vary with the %s of the observation",
                                   names[k]);
    }
    for (int k = 0; k < grove_node_inputs(node); k++) {
        const grove_axis *axes[GROVE_MAX_AXES];
        int count = grove_node_input_form(node, k) ? grove_node_input_axes(node, k, axes) : 0;
        const bool own = k == functions || k == jones;
        for (int i = 0; i < count && !own; i++) {
            if (grove_node_axis(obs, axes[i]->name) != axes[i] ||
                axes[i]->kind == GROVE_AXIS_STATION)
                return grove_node_fail(node, GROVE_SHAPE,
                                       "input %d varies with %s; it may vary with times, baselines "
                                       "and channels of the observation",
                                       k, axes[i]->name);
        }
    }
    return 0;
}

/* With functions of Mueller elements the correlations themselves, else a Stokes parameter. */
static int read_stokes(const grove_node *node, const grove_form *data, bool circular, bool weighs,
                       gridding *g)
{
    const image_mueller *m = &g->mueller;
    const bool one = grove_node_written(node, "stokes");

    if (g->is_idg)
        return image_subgrids_of_data(node, data, circular, &g->terms, &g->idg.mix, &g->stokes);
    if (m->shape < 2 && (one || !grove_node_input_form(node, grove_node_input(node, "mueller")))) {
        int code = image_stokes_read(node, data, circular, &g->stokes);
        if (!code && weighs)
            image_stokes_join(&g->stokes);
        return code || g->stokes.count == 1
                   ? code
                   : grove_node_fail_option(node, "stokes", "is one letter of IQUV");
    }
    if (m->shape > 1 && data->shape == GROVE_SCALAR)
        return grove_node_fail_option(node, "functions",
                                      "are of Jones matrices, which need visibilities of 2 or 4 "
                                      "correlations, not numbers");
    if (m->shape > 1 && one)
        return grove_node_fail_option(node, "stokes",
                                      "is an option of convolution_functions, where these are of "
                                      "Jones matrices");
    g->stokes = (image_stokes){.count = data->shape, .elements = data->shape};
    for (int k = 0; k < data->shape; k++) {
        for (int r = 0; r < m->images; r++)
            if (m->shape < 2 || m->element[data->shape == GROVE_DIAGONAL ? 3 * k : k][r] >= 0)
                g->stokes.used |= 1 << k;
        g->stokes.factor[k][k][0] = g->stokes.used >> k & 1;
    }
    return g->stokes.used ? 0
                          : grove_node_fail_option(
                                node, "functions",
                                "are of images that do not contribute to the data's correlations");
}

/* Checks the functions and prepares their index for the run. */
static int prepare_functions(grove_node *node, gridding *g)
{
    g->convolution.visibilities = g->stokes.count;
    g->convolution.bands = g->bands.count;
    int code =
        image_functions_check_given(node, g->stokes.count, true, &g->mueller, &g->convolution);
    if (!code)
        g->index = image_mueller_index(&g->mueller, g->stokes.count);
    if (!code && g->index)
        code = grove_node_set_table(node, g->index,
                                    image_convolve_index_bytes(&g->mueller, g->stokes.count));
    return code;
}

static int check_both(grove_node *node, bool weighs, gridding *g)
{
    const grove_node *obs = grove_node_object(node, "obs");
    const double *feed = grove_node_member_data(obs, "feed");
    const grove_form *data = grove_node_input_form(node, grove_node_input(node, "data"));

    g->uvw = grove_node_input(node, "uvw");
    g->weights = grove_node_input(node, "weights");
    g->freq = grove_node_axis(obs, "freq");
    int code = image_stage_longest(node, obs, g->longest);
    code = code ? code : read_stokes(node, data, feed && *feed > 0, weighs, g);
    if (!code)
        code = image_samples_find_weights(node, grove_node_input(node, "data"), g->stokes.elements,
                                          &g->weights);
    /* sets of indices and gradients are looked at whole */
    g->missing = code || (g->functions >= 0 && image_use_varies_by_row(node))
                     ? -1
                     : image_samples_find_missing(node, grove_node_input(node, "data"));
    code = code ? code : check_axes(node, obs, g->functions, g->is_idg ? g->terms.input : -1);
    code = code ? code : image_bands_read(node, g->freq, &g->bands);
    if (!code)
        image_samples_consume_axes(node);
    return code;
}

/* With jones: the same with functions. */
static void express(const grove_node *node, gridding *g)
{
    const char *stage = "size=size, cell=cell, centre=centre, epsilon=epsilon, max_uvw=max_uvw",
               *stokes = grove_node_text(node, "stokes");
    const grove_form *jones = grove_node_input_form(node, grove_node_input(node, "jones"));
    const bool one = (!jones || jones->shape == GROVE_SCALAR) && strlen(stokes) == 1;
    char *functions = image_method_functions(node, one ? "I" : stokes, stage);

    g->expression = grove_format("grid(data, obs, %s, weights=weights, uvw=uvw, gradient=gradient, "
                                 "normalise=normalise, bands=bands, functions=%s%s)",
                                 stage, functions, one ? ", stokes=stokes" : "");
    free(functions);
}

/* Of the samples that are gridded together: their numbers and their order, index sets, gradient. */
static uint64_t chunk_bytes(const grove_node *node, const gridding *g)
{
    static const char *const names[] = {"time", "baseline", "freq"};
    const uint64_t real = g->plan.bounds.double_precision ? sizeof(double) : sizeof(float),
                   sets = g->mueller.given
                              ? 8 * (uint64_t)(g->mueller.visibilities * g->mueller.images)
                              : 0,
                   gradient = g->functions >= 0 && grove_node_given(node, "gradient")
                                  ? 2 * sizeof(double)
                                  : 0;
    uint64_t samples = 1;

    for (int k = 0; k < 3; k++) {
        const grove_axis *axis = grove_node_axis(grove_node_object(node, "obs"), names[k]);
        samples *= axis ? (uint64_t)axis->size : 1;
    }
    return (samples < CHUNK ? samples : CHUNK) *
           (real * (2 * (uint64_t)g->stokes.count + 1) + 12 + sets + gradient);
}

static void report_memory(grove_node *node, const gridding *g, const grove_node *obs)
{
    const bool normalises = g->functions >= 0 && grove_node_bool(node, "normalise");
    gridding copy = *g;

    for (int k = grove_node_output(node)->precision == GROVE_PRECISION_DOUBLE; k < 2; k++) {
        copy.plan.bounds.double_precision = copy.convolution.double_precision = k;
        copy.idg.grid.bounds.double_precision = k;
        const uint64_t own = g->is_idg          ? grid_subgrids_bytes(node, &copy)
                             : g->functions < 0 ? grid_bands_bytes(&copy, obs)
                                                : grove_convolution_bytes(&copy.convolution);
        grove_node_set_memory(node, own + chunk_bytes(node, &copy));
        if (!g->exact && !g->is_idg && g->functions < 0 && g->bands.count == 1)
            grove_node_set_device_memory(node, image_device_memory(&copy.plan, false));
        else if (g->is_idg)
            grove_node_set_device_memory(node, grid_subgrids_device_bytes(node, &copy));
        else if (g->functions >= 0)
            grove_node_set_device_memory(node,
                                         image_convolve_memory(&copy.convolution, normalises));
        if (k == 0)
            grove_node_begin_double_sizes(node);
    }
}

static int check(grove_node *node)
{
    gridding *g = grove_alloc(sizeof(*g));
    const grove_node *obs = grove_node_object(node, "obs");

    *g = (gridding){.functions = grove_node_input(node, "functions"),
                    .exact = grove_node_bool(node, "exact")};
    grove_node_set_user(node, g);
    if (!grove_node_input_form(node, g->functions))
        g->functions = -1;
    bool aw;
    int code = image_method_of_stage(node, &aw);
    if (!code && aw && g->exact)
        code = grove_node_fail_option(node, "exact", "requires method=w_stack");
    if (!code && aw) {
        express(node, g);
        grove_node_set_memory(node, 1);
        return 0;
    }
    code = code ? code : grid_choose_plan(node, obs, g);
    if (!code && g->functions < 0)
        code = image_functions_check_none(node);
    if (!code && g->functions < 0 && grove_node_bool(node, "normalise"))
        code = grove_node_fail_option(node, "normalise", "requires functions");
    if (!code && g->functions >= 0 && g->exact)
        code = grove_node_fail_option(node, "exact", "is not possible with functions");
    if (!code && g->functions >= 0)
        code = image_functions_check(node, g->functions, &g->plan, &g->convolution, &g->mueller);
    if (!code && g->mueller.shape > 1 && grove_node_bool(node, "normalise"))
        code =
            grove_node_fail_option(node, "normalise",
                                   "requires functions of numbers: functions of Jones matrices "
                                   "have a weight for each correlation; divide by sum_of_weights");
    code = code ? code : check_both(node, false, g);
    if (!code && g->functions >= 0)
        code = prepare_functions(node, g);
    if (!code && g->is_idg)
        grid_prepare_subgrids(node, obs, g);
    if (code)
        return code;
    const int parameters = g->is_idg ? g->idg.mix.images : image_mueller_parameters(&g->mueller);
    grove_form form = {.shape = parameters > 1 ? GROVE_VECTOR : GROVE_SCALAR,
                       .vector = parameters > 1 ? parameters : 0,
                       .complex_ = true,
                       .precision = g->exact ? GROVE_PRECISION_DOUBLE
                                             : image_precision(grove_node_number(node, "epsilon")),
                       .unit = grove_node_input_form(node, grove_node_input(node, "data"))->unit};
    grove_node_set_output(node, &form);
    if (g->exact)
        grove_node_set_first_walks(node, 1);
    report_memory(node, g, obs);
    code = image_stage_add_axes(node, &g->plan, IMAGE_STAGE_GRID);
    return code ? code : image_bands_add_axis(node, &g->bands);
}

static int check_sum(grove_node *node)
{
    gridding *g = grove_alloc(sizeof(*g));

    *g = (gridding){.functions = -1, .plan.bounds.double_precision = true};
    grove_node_set_user(node, g);
    int code = check_both(node, true, g);
    if (code)
        return code;
    grove_node_set_output(node, &(grove_form){.shape = GROVE_SCALAR,
                                              .precision = GROVE_PRECISION_DOUBLE,
                                              .flags = g->bands.count > 1}); /* empty bands */
    grove_node_set_memory(node,
                          chunk_bytes(node, g) + (uint64_t)g->bands.count * sizeof(image_sizes));
    return image_bands_add_axis(node, &g->bands);
}

static void close_node(grove_node *node)
{
    gridding *g = grove_node_user(node);

    if (g) {
        image_mueller_free(&g->mueller);
        free(g->index);
        free(g->expression);
    }
    free(g);
}

static const char *expression(const grove_node *node)
{
    return ((const gridding *)grove_node_user(node))->expression;
}

/* ---- a run ---- */

int grid_no_memory(const grove_call *call)
{
    return grove_node_fail(call->node, GROVE_NO_MEMORY, "not enough memory for the planes");
}

static int begin(const grove_call *call, void **state)
{
    const size_t bands = (size_t)((const gridding *)grove_node_user(call->node))->bands.count;
    gridded *g = grove_alloc(sizeof(*g));

    *g = (gridded){.sums = calloc(bands, sizeof(*g->sums)),
                   .sizes = calloc(bands, sizeof(*g->sizes)),
                   .totals = calloc(bands, sizeof(*g->totals))};
    *state = g;
    return g->sums && g->sizes && g->totals ? 0 : grid_no_memory(call);
}

/* `functions`: NULL, or the functions of the whole run. */
static int open_gridder(const grove_call *call, const gridding *g, const grove_array *functions,
                        gridded *to)
{
    grove_convolution_plan convolution = g->convolution;
    grove_isa isa;
    char message[200];

    if (grove_isa_choose(&isa, message))
        return grove_node_fail(call->node, GROVE_INVALID, "%s", message);
    if (!functions)
        return g->is_idg ? grid_open_subgrids(call, isa, to) : grid_open_bands(call, isa, to);
    convolution.double_precision = call->double_precision;
    int code = image_functions_check_finite(call->node, &convolution, functions->data, NULL);
    if (code)
        return code;
    to->convolution = grove_convolution_new(&convolution, functions->data, isa);
    return to->convolution ? 0 : grid_no_memory(call);
}

void grid_find_longest(const gridding *g, const double *uvw, int64_t rows, gridded *to)
{
    double highest = 0;

    for (int64_t k = 0; k < g->freq->size; k++)
        highest = fmax(highest, g->freq->centre[k]);
    for (int64_t row = 0; row < rows; row++) {
        double u = fabs(uvw[3 * row]) * highest / GROVE_SPEED_OF_LIGHT,
               v = fabs(uvw[3 * row + 1]) * highest / GROVE_SPEED_OF_LIGHT;
        to->max_u = u <= g->longest[0] ? fmax(to->max_u, u) : to->max_u;
        to->max_v = v <= g->longest[1] ? fmax(to->max_v, v) : to->max_v;
    }
}

/* By functions, each sample by its own; `part`: the cells of the observation that they are, from
 * time `first` of the tile on. */
static int convolve(const grove_call *call, gridded *to, const image_samples *s,
                    const grove_array *const *arrays, const image_mueller_part *part, int64_t first,
                    int band)
{
    const gridding *g = grove_node_user(call->node);
    const grove_gridder_threads threads = gridder_threads(call);
    image_numbers numbers[3];
    image_use use;

    for (int k = 0; k < 3; k++)
        numbers[k] =
            image_numbers_of(arrays[grove_node_input(call->node, image_use_names[k])], first);
    int code =
        image_use_begin(call->node, &g->mueller, g->index, &g->convolution, part, numbers, &use);
    if (code)
        return code == GROVE_NO_MEMORY ? grid_no_memory(call) : code;
    image_use_keep_rows(&use, s->list, s->samples.rows, s->samples.channels);
    grove_convolution_choose_band(to->convolution, band);
    code = grove_convolution_add(to->convolution, &s->samples, use.needed ? &use.mueller : NULL,
                                 &threads, &to->left_out,
                                 grove_node_bool(call->node, "normalise") ? to->sums[band] : NULL);
    image_use_end(&use);
    return code ? grid_no_memory(call) : 0;
}

static int spread(const grove_call *call, gridded *to, const image_samples *s, int band)
{
    const grove_gridder_threads threads = gridder_threads(call);
    grove_gridder_outside outside = {0};

    return grove_gridder_add(to->gridders[band], &s->samples, &threads, &outside)
               ? grid_no_memory(call)
               : 0;
}

/* The first cell of an array along an axis. */
static int64_t first_of(const grove_array *array, int kind)
{
    for (int d = 0; d < array->axes; d++)
        if (array->range[d].axis->kind == kind)
            return array->range[d].first;
    return 0;
}

/* Of a band; `grids`: the samples are spread, too. */
static int add_band(const grove_call *call, gridded *to, const grove_array *const *arrays, int band,
                    bool grids)
{
    const gridding *g = grove_node_user(call->node);
    const int64_t channel = image_bands_first(&g->bands, band);
    const image_part part = {.data = arrays[grove_node_input(call->node, "data")],
                             .weights = g->weights >= 0 ? arrays[g->weights] : NULL,
                             .uvw = arrays[g->uvw],
                             .missing = g->missing >= 0 ? arrays[g->missing] : NULL,
                             .all_rows = g->is_idg,
                             .freq = g->freq,
                             .first_channel = channel,
                             .channels = image_bands_first(&g->bands, band + 1) - channel,
                             .stokes = g->stokes,
                             .longest = {g->longest[0], g->longest[1], g->longest[2]}};
    const image_extent e = image_part_extent(&part);
    int code = 0;

    for (int64_t first = 0, times; first < e.times && e.channels > 0 && !code; first += times) {
        image_samples s;
        times = image_part_times(&part, &e, first, CHUNK);
        if (image_samples_make(call, &part, first, times, call->double_precision, &s))
            return grid_no_memory(call);
        const image_mueller_part cells = {
            .first_time = first_of(part.data, GROVE_AXIS_TIME) + first,
            .times = times,
            .first_baseline = first_of(part.data, GROVE_AXIS_BASELINE),
            .baselines = e.baselines,
            .first_channel = e.first_channel,
            .channels = e.channels};
        if (grids && to->convolution)
            code = convolve(call, to, &s, arrays, &cells, first, band);
        else if (grids && to->idg)
            code = grid_add_subgrids(call, to, &s, arrays, &cells, band);
        else if (grids)
            code = spread(call, to, &s, band);
        else
            image_sizes_add(&to->sizes[band], &s, 1);
        if (grids && to->idg)
            to->beyond += s.beyond;
        if (!to->sized) { /* else the walk before has counted them */
            to->outside += s.outside;
            to->not_finite += s.not_finite;
            grid_find_longest(g, s.uvw, s.samples.rows, to);
        }
        image_samples_free(&s);
    }
    return code;
}

static int add_samples(const grove_call *call, gridded *to, const grove_array *const *arrays,
                       bool grids)
{
    const gridding *g = grove_node_user(call->node);
    int code = 0;

    grids = grids && (to->sized || !g->exact);
    if (grids && g->functions >= 0)
        code = image_functions_check_flags(call->node, arrays);
    if (!code && grids && !to->gridders && !to->convolution && !to->idg)
        code = open_gridder(call, g, g->functions >= 0 ? arrays[g->functions] : NULL, to);
    for (int band = 0; band < g->bands.count && !code; band++)
        code = add_band(call, to, arrays, band, grids);
    return code;
}

static int add(const grove_call *call, void *state, const grove_array *const *arrays, int count)
{
    (void)count;
    return add_samples(call, state, arrays, true);
}

static int add_sum(const grove_call *call, void *state, const grove_array *const *arrays, int count)
{
    (void)count;
    return add_samples(call, state, arrays, false);
}

static int walk(const grove_call *call, void *state, grove_array *out, bool *again)
{
    gridded *g = state;

    (void)out;
    *again = ((const gridding *)grove_node_user(call->node))->exact && !g->sized;
    g->sized = *again || g->sized;
    return 0;
}

/* ---- the result ---- */

static int finish(const grove_call *call, void *state, grove_array *out)
{
    int code = grid_fold_subgrids(call, state);

    grid_warn(call, state);
    if (!code)
        grid_finish_planes(call, state, out);
    return code;
}

static void end(const grove_node *node, void *state)
{
    gridded *g = state;

    grid_close_bands(node, g);
    grove_convolution_free(g->convolution);
    grove_idg_free(g->idg);
    image_subgrids_device_free(&g->subgrids);
    image_device_free(&g->device);
    free(g->from_devices);
    free(g->sums);
    free(g->sizes);
    free(g->totals);
    free(g);
}

static const grove_accumulator_functions grid_functions = {
    .create = begin,
    .add = add,
    .finish = finish,
    .free = end,
    .device_add = grid_add_on_device,
    .device_merge = grid_merge_device,
    .walk = walk,
    .device_finish = grid_finish_on_device,
};

GROVE_CLASS(grid) = {
    GROVE_CLASS_HEAD(grid),
    .doc = "Visibilities, times their weights, on planes of the uv grid.\nThe first stage of "
           "dirty_image: samples are spread by a Kaiser-Bessel kernel in u, v and w, those with w "
           "< 0 as their conjugates at (-u, -v, -w). fft and grid_correction make the image, which "
           "must be divided by sum_of_weights. Kernel, cells and planes are chosen by size, cell, "
           "epsilon and the antennas' positions: give all stages the same options. With functions "
           "each visibility is spread by its own one (convolution_functions) on a single plane, or "
           "one for each band of channels.",
    .output_doc =
        "a complex number for each plane and cell (w_plane, v, u), in wavelengths; with bands "
        "along freq, too",
    .group = "images",
    .inputs = inputs,
    .options = options,
    .kind = GROVE_CLASS_ACCUMULATOR,
    .check = check,
    .expression = expression,
    .accumulator = &grid_functions,
    .close = close_node,
    .example = "planes = grid(obs.data, obs, size=8, cell=20arcsec)",
};

static const grove_accumulator_functions sum_of_weights_functions = {
    .create = begin,
    .add = add_sum,
    .finish = grid_finish_sum,
    .free = end,
    .device_add = grid_add_sum_on_device,
    .device_merge = grid_merge_sum,
};

GROVE_CLASS(sum_of_weights) = {
    GROVE_CLASS_HEAD(sum_of_weights),
    .doc = "Sum of the weights of visibilities that count in an image.\nFor Stokes parameters that "
           "are imaged together, as dirty_image and grid weight them: for I, 4 / (1 / W_XX + 1 / "
           "W_YY) for each time, baseline and channel; for IQUV, or functions of matrix terms, 8 / "
           "(1 / W_XX + 1 / W_XY + 1 / W_YX + 1 / W_YY). A sample with one of these correlations "
           "flagged does not count. Baselines that are not numbers, or longer than the antennas "
           "are apart or max_uvw, do not count; a sum of 0 is an error.",
    .output_doc = "a number, double precision; with bands one for each, along freq",
    .group = "images",
    .inputs = inputs,
    .options = sum_options,
    .kind = GROVE_CLASS_ACCUMULATOR,
    .check = check_sum,
    .accumulator = &sum_of_weights_functions,
    .close = close_node,
    .example = "total = sum_of_weights(obs.data, obs)",
};
