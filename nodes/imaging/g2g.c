/* g2g: from a grid to a grid, as degrid and grid would, through a compressed diagonal. */
#include "nodes/imaging/g2g.h"
#include "nodes/imaging/convolution_make.h"
#include "nodes/imaging/gridder_threads.h"

#include "../../kernels/imaging/g2g/g2g_device.h"

#include "unstable/fit.h"
#include "unstable/hash.h"
#include "unstable/keep.h"
#include "unstable/tuning.h"
#include "util.h"

#include <math.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const grove_port inputs[] = {
    {"x", GROVE_VALUE, "planes (w_plane, v, u), as of fft(grid_correction(image, ...))",
     .own_axes = true, .handing = GROVE_AS_COMPLEX, .shapes = GROVE_SCALAR},
    {"obs", GROVE_OBJECT, "the observation", .object = "observation"},
    {0},
};
/* clang-format off */
static const grove_port options[] = {
    IMAGE_STAGE_OPTIONS,
    G2G_FUNCTIONS_OPTION,
    {"diagonal", GROVE_VALUE_NUMBER,
     "a g2g_diagonal of the same functions; none: made from weights, data and uvw",
     .initial = "none",
     .handing = GROVE_AS_DOUBLE, .shapes = GROVE_VECTOR, .vector = 2, .own_axes = true},
    G2G_VISIBILITY_OPTIONS,
    {"support", GROVE_INTEGER, "as of convolution_functions", .initial = "none"},
    {"oversampling", GROVE_INTEGER, "as of convolution_functions", .initial = "none"},
    {"w_planes", GROVE_INTEGER, "as of convolution_functions", .initial = "none"},
    {"samples", GROVE_CHOICE, "as of convolution_functions; only these are possible", .initial = "nearest",
     .choices = "nearest"},
    {"method", GROVE_CHOICE,
     "g2g: by a compressed diagonal; degrid: each visibility; auto: the one with the shorter estimated time, on a GPU if the machine has one",
     .initial = "auto", .choices = "auto g2g degrid"},
    {0},
};
static const grove_port diagonal_options[] = {
    IMAGE_STAGE_OPTIONS,
    G2G_FUNCTIONS_OPTION,
    G2G_VISIBILITY_OPTIONS,
    {"oversampling", GROVE_INTEGER,
     "for functions without this information, such as from a table",
     .initial = "none"},
    {"w_planes", GROVE_INTEGER, "for each of such functions; none: 1", .initial = "none"},
    {"entries", GROVE_INTEGER,
     "maximum number of entries; none: 5 % more than the estimate from the antennas' positions",
     .initial = "none"},
    {0},
};
/* clang-format on */
static const grove_port diagonal_inputs[] = {
    {"obs", GROVE_OBJECT, "the observation", .object = "observation"},
    {0},
};

enum { AUTO, G2G, DEGRID };
#define STAGE                                                                                      \
    "size=size, cell=cell, centre=centre, epsilon=epsilon, w_terms=w_terms, max_uvw=max_uvw"

typedef struct {
    grove_gridder_plan plan;
    grove_lattice lattice;
    image_mueller mueller;
    int functions, diagonal; /* inputs */
    char *expression;        /* NULL: itself */
} operator;

/* ---- check: the choice ---- */

static bool given(const grove_node *node, const char *input)
{
    return grove_node_input_form(node, grove_node_input(node, input)) != NULL;
}

/* Functions as convolution_functions will choose them. */
static int choose_functions(const grove_node *node, operator* o)
{
    const grove_node *obs = grove_node_object(node, "obs");
    convolution_making c = {.plan = o->plan, .functions.functions = 1};
    convolution_request request;
    char reason[400];

    for (int d = 0; d < 2; d++)
        c.functions.scale[d] = (double)c.plan.grid[d] * c.plan.image.cell[d];
    int code = image_functions_n(node, &c.plan.image, &c.functions.turn[2], &c.half_n);
    code = code ? code : convolution_read_request(node, &request);
    if (code)
        return code;
    request.linear = 0;
    const char *fault = convolution_size(&c, &request, reason);
    if (fault)
        return grove_node_fail_option(node, fault, "%s", reason);
    for (int d = 0; d < 2; d++)
        c.functions.grid[d] = c.plan.grid[d];
    c.functions.double_precision = c.plan.bounds.double_precision;
    o->mueller = (image_mueller){.shape = 1, .groups = 1};
    image_mueller_make(&o->mueller, obs);
    return g2g_make_lattice(node, &c.functions, &o->lattice);
}

/* Seconds of both ways: of g2g each time, of degrid and grid. */
typedef struct {
    double g2g, degrid;
} costs;

/* The time on a core, if the costs of a GPU count. */
static const char *show_other(char text[100], bool on_device, const costs *c)
{
    char seconds[2][32];

    if (!on_device)
        return "";
    snprintf(text, 100, "; %s and %s on a core", grove_show_seconds(seconds[0], c->g2g),
             grove_show_seconds(seconds[1], c->degrid));
    return text;
}

/* Chooses the method, and notes why: by the costs of a GPU where the machine has one. */
static int choose(grove_node *node, const operator* o, bool *compresses)
{
    const int choice = grove_node_choice(node, "method");
    const grove_lattice *l = &o->lattice;
    double longest[3];
    char bytes[32], seconds[2][32], other[100];
    int code = image_stage_longest(node, grove_node_object(node, "obs"), longest);

    if (code)
        return code;
    const g2g_size size = g2g_predict(grove_node_object(node, "obs"), l, longest);
    const costs core = {grove_g2g_seconds(l, size.entries),
                        grove_g2g_seconds_of_both(l, size.samples)},
                gpu = {grove_g2g_device_seconds(l, size.entries),
                       grove_g2g_device_seconds_of_both(l, size.samples)};
    const bool on_device =
        grove_tuning_has_gpu() && g2g_device_memory(l, (int64_t)fmin(size.entries, INT32_MAX));
    const costs *c = on_device ? &gpu : &core;
    *compresses = choice == G2G || (choice == AUTO && c->g2g < c->degrid);
    grove_node_note(
        node,
        "method: %s, %s; functions of %d x %d cells, %d fine samples for each, %lld planes of w; "
        "the diagonal has %s%.4g entries for %.4g visibilities (%.3g %%), %s; on %s about %s "
        "with it each time, %s by degrid and grid%s",
        *compresses ? "g2g" : "degrid", choice == AUTO ? "which takes less time" : "as asked for",
        l->plan.support, l->plan.support, l->plan.oversampling, (long long)l->plan.planes,
        size.known ? "" : "at most ", size.entries, size.samples,
        size.samples > 0 ? 100 * size.entries / size.samples : 0,
        grove_show_bytes(bytes, size.entries * sizeof(grove_diagonal_entry)),
        on_device ? "a GPU such as an H100" : "a core", grove_show_seconds(seconds[0], c->g2g),
        grove_show_seconds(seconds[1], c->degrid), show_other(other, on_device, &core));
    return 0;
}

/* ---- check: expressions ---- */

/* The form of the visibilities, whose flags and weights count; *data: of that set, if there is one.
 */
static const grove_form *find_visibilities(grove_node *node, const char **data)
{
    const int uvw = grove_node_input(node, "uvw"),
              own = given(node, "data") ? -1 : grove_node_add_member_input(node, uvw, "data"),
              weights =
                  given(node, "weights") ? -1 : grove_node_add_member_input(node, uvw, "weight");
    const grove_form *form = NULL;

    *data = given(node, "data") ? "data" : own >= 0 ? "obs.data" : NULL;
    if (*data)
        form = grove_node_input_form(node, own < 0 ? grove_node_input(node, "data") : own);
    else if (given(node, "weights") || weights >= 0)
        form =
            grove_node_input_form(node, weights < 0 ? grove_node_input(node, "weights") : weights);
    return form;
}

/* The equivalent expression of a call. */
static void express(grove_node *node, operator* o, bool compresses)
{
    const char *data,
        *own = given(node, "functions") ? ", oversampling=oversampling, "
                                          "w_planes=w_planes"
                                        : "",
        *functions = given(node, "functions")
                         ? "functions"
                         : "convolution_functions(1, obs, " STAGE ", support=support, "
                           "oversampling=oversampling, samples=nearest, w_planes=w_planes)";
    const grove_form *form = find_visibilities(node, &data);
    const char *elements = !form                         ? ""
                           : form->shape == GROVE_MATRIX ? " * constant([1, 0, 0, 1], shape=matrix)"
                           : form->shape == GROVE_DIAGONAL ? " * constant([1, 1], shape=diagonal)"
                                                           : "";

    if (compresses)
        o->expression =
            grove_format("g2g(x, obs, " STAGE "%s, functions=%s, diagonal=g2g_diagonal(obs, " STAGE
                         "%s, functions=%s, weights=weights, data=data, uvw=uvw))",
                         own, functions, own, functions);
    else
        o->expression = grove_format(
            "grid(degrid(x, obs, " STAGE "%s, uvw=uvw, functions=%s)%s%s%s, obs, " STAGE
            "%s, weights=weights, uvw=uvw, functions=%s)",
            own, functions, elements, data ? " + 0 * " : "", data ? data : "", own, functions);
}

/* ---- check ---- */

static int check_diagonal(const grove_node *node, const operator* o)
{
    const grove_axis *made = grove_node_input_axis(node, o->diagonal, grove_axis_kind(g2g_axes[0])),
                     *entries =
                         grove_node_input_axis(node, o->diagonal, grove_axis_kind(g2g_axes[1]));
    const grove_axis *axes[GROVE_MAX_AXES];

    if (!made || !entries || !made->labels || made->size != 1 ||
        grove_node_input_axes(node, o->diagonal, axes) != 2)
        return grove_node_fail_option(node, "diagonal", "is not a whole value of g2g_diagonal");
    char *own = g2g_label(node, &o->plan, &o->lattice);
    const bool same = !strcmp(own, made->labels[0]);
    int code = same ? 0
                    : grove_node_fail_option(node, "diagonal",
                                             "was made with %s, but these functions and options "
                                             "are %s; give both the same",
                                             made->labels[0], own);
    free(own);
    return code;
}

static void consume(grove_node *node)
{
    for (int k = 0; k < grove_node_inputs(node); k++) {
        const grove_axis *axes[GROVE_MAX_AXES];
        const int count = grove_node_input_form(node, k) ? grove_node_input_axes(node, k, axes) : 0;
        for (int d = 0; d < count; d++)
            grove_node_consume(node, axes[d]->kind);
    }
}

/* With a diagonal: applies it. */
static int check_applied(grove_node *node, operator* o)
{
    static const char *const unused[] = {"weights", "data", "uvw"};
    const grove_axis *axes[GROVE_MAX_AXES];
    const grove_form form = {.shape = GROVE_SCALAR,
                             .complex_ = true,
                             .precision = image_precision(grove_node_number(node, "epsilon")),
                             .unit = grove_node_input_form(node, 0)->unit};
    int code = check_diagonal(node, o);

    code = code ? code : image_stage_check(node, 0, &o->plan, IMAGE_STAGE_GRID);
    if (code)
        return code;
    if (grove_node_input_axes(node, 0, axes) != 3)
        return grove_node_fail(node, GROVE_SHAPE,
                               "its input varies with more than w_plane, v and u");
    for (int k = 0; k < 3; k++) {
        if (k < 2 && given(node, unused[k]))
            return grove_node_fail_option(node, unused[k],
                                          "is not possible with a diagonal, which contains it");
        if (given(node, unused[k]))
            grove_node_drop_input(node, grove_node_input(node, unused[k]));
    }
    consume(node);
    grove_node_set_output(node, &form);
    const grove_axis *entries =
        grove_node_input_axis(node, o->diagonal, grove_axis_kind(g2g_axes[1]));
    grove_lattice copy = o->lattice;
    for (int k = form.precision == GROVE_PRECISION_DOUBLE; k < 2; k++) {
        copy.plan.double_precision = k;
        grove_node_set_memory(node, grove_g2g_bytes(&copy));
        grove_node_set_device_memory(node, g2g_device_memory(&copy, entries->size));
        grove_node_set_scratch(
            node, (uint64_t)(copy.plan.grid[0] * copy.plan.grid[1]) * (k ? 32 : 16) + 128, 0);
        if (k == 0)
            grove_node_begin_double_sizes(node);
    }
    return image_stage_add_axes(node, &o->plan, IMAGE_STAGE_GRID);
}

static int check(grove_node *node)
{
    operator* o = grove_alloc(sizeof(*o));
    bool compresses = true;

    *o = (operator){.functions = grove_node_input(node, "functions"),
                    .diagonal = grove_node_input(node, "diagonal")};
    grove_node_set_user(node, o);
    const bool has_functions = given(node, "functions");
    int code = image_stage_plan(node, grove_node_object(node, "obs"), true, &o->plan);
    if (!code && has_functions && grove_node_given(node, "support"))
        code = grove_node_fail_option(node, "support",
                                      "is not possible with functions, which contain it");
    if (!code && !has_functions && given(node, "diagonal"))
        code = grove_node_fail_option(node, "diagonal", "requires its functions");
    if (!code && given(node, "diagonal") && grove_node_choice(node, "method") == DEGRID)
        code = grove_node_fail_option(node, "method", "degrid is not possible with a diagonal");
    if (!code && has_functions)
        code = g2g_read_functions(node, o->functions, &o->plan, &o->lattice, &o->mueller);
    else if (!code)
        code = choose_functions(node, o);
    if (!code && given(node, "diagonal"))
        return check_applied(node, o);
    code = code ? code : choose(node, o, &compresses);
    if (!code)
        express(node, o, compresses);
    return code;
}

static void close_node(grove_node *node)
{
    operator* o = grove_node_user(node);

    if (o) {
        image_mueller_free(&o->mueller);
        free(o->expression);
    }
    free(o);
}

static const char *expression(const grove_node *node)
{
    return ((const operator*)grove_node_user(node))->expression;
}

/* ---- a run ---- */

typedef struct {
    pthread_mutex_t lock;
    grove_g2g *g2g; /* with these functions */
    grove_hash functions;
    g2g_devices devices;
} applying;

static int start(const grove_node *node, void **run)
{
    applying *a = grove_alloc(sizeof(*a));

    (void)node;
    *a = (applying){0};
    pthread_mutex_init(&a->lock, NULL);
    *run = a;
    return 0;
}

static void stop(const grove_node *node, void *run)
{
    applying *a = run;

    (void)node;
    grove_g2g_free(a->g2g);
    g2g_devices_free(&a->devices);
    pthread_mutex_destroy(&a->lock);
    free(a);
}

/* Makes the operator of these functions unless it is there. */
static int find_g2g(const grove_call *call, applying *a)
{
    const operator* o = grove_node_user(call->node);
    const int64_t cell = call->double_precision ? 16 : 8,
                  planes = o->lattice.plan.functions * o->lattice.plan.planes;
    const void *numbers = call->args->in[o->functions].data;
    grove_lattice lattice = o->lattice;
    grove_isa isa;
    char message[200];

    lattice.plan.double_precision = call->double_precision;
    const int64_t fine = grove_convolution_side(&lattice.plan);
    if (image_stage_in_step(call->args, o->functions, "fine") != cell ||
        (planes > 1 &&
         image_stage_in_step(call->args, o->functions, "w_function") != fine * fine * cell))
        return grove_node_fail_option(call->node, "functions", "are not whole");
    const grove_hash hash =
        grove_hash_add(grove_hash_start(), numbers, (size_t)(planes * fine * fine * cell));
    if (a->g2g && grove_hash_equal(hash, a->functions))
        return 0;
    grove_g2g_free(a->g2g);
    a->g2g = NULL;
    if (grove_isa_choose(&isa, message))
        return grove_node_fail(call->node, GROVE_INVALID, "%s", message);
    int code = image_functions_check_finite(call->node, &lattice.plan, numbers, NULL);
    if (code)
        return code;
    a->functions = hash;
    a->g2g = grove_g2g_new(&lattice, numbers, isa);
    return a->g2g ? 0 : GROVE_NO_MEMORY;
}

/* Cells (v, u), dense. */
static void copy_in(const grove_call *call, const operator* o, char *to)
{
    const grove_args *args = call->args;
    const int64_t cell = call->double_precision ? 16 : 8, u = image_stage_in_step(args, 0, "u"),
                  v = image_stage_in_step(args, 0, "v");

    for (int64_t y = 0; y < o->plan.grid[1]; y++)
        for (int64_t x = 0; x < o->plan.grid[0]; x++, to += cell)
            memcpy(to, (const char *)args->in[0].data + y * v + x * u, (size_t)cell);
}

/* The part that is asked for. */
static void copy_out(const grove_call *call, const operator* o, const char *from)
{
    const grove_args *args = call->args;
    const int64_t cell = call->double_precision ? 16 : 8;
    const int u = grove_args_axis(args, grove_axis_kind("u")),
              v = grove_args_axis(args, grove_axis_kind("v"));

    for (int64_t y = 0; y < args->size[v]; y++)
        for (int64_t x = 0; x < args->size[u]; x++)
            memcpy((char *)args->out.data + y * args->out.stride[v] + x * args->out.stride[u],
                   from + ((y + args->origin[v]) * o->plan.grid[0] + x + args->origin[u]) * cell,
                   (size_t)cell);
}

static int apply(const grove_call *call, applying *a)
{
    const operator* o = grove_node_user(call->node);
    const grove_gridder_threads threads = gridder_threads(call);
    const grove_axis *entries =
        grove_node_input_axis(call->node, o->diagonal, grove_axis_kind(g2g_axes[1]));
    const uint64_t cells = (uint64_t)(o->plan.grid[0] * o->plan.grid[1]),
                   bytes = (cells * (call->double_precision ? 16 : 8) + 63) / 64 * 64;
    void *in = NULL;
    int code = find_g2g(call, a);

    if (!code && entries->size > 1 &&
        image_stage_in_step(call->args, o->diagonal, g2g_axes[1]) != sizeof(grove_diagonal_entry))
        code = grove_node_fail_option(call->node, "diagonal", "is not whole");
    code = code ? code : grove_call_scratch(call, 2 * bytes, &in);
    if (code)
        return code;
    copy_in(call, o, in);
    if (grove_g2g_apply(a->g2g, call->args->in[o->diagonal].data, entries->size, in,
                        (char *)in + bytes, &threads))
        return GROVE_NO_MEMORY;
    copy_out(call, o, (char *)in + bytes);
    return 0;
}

static int eval(const grove_call *call)
{
    applying *a = call->run;

    pthread_mutex_lock(&a->lock);
    int code = apply(call, a);
    pthread_mutex_unlock(&a->lock);
    return code == GROVE_NO_MEMORY
               ? grove_node_fail(call->node, code, "not enough memory for the functions")
               : code;
}

static int device(const grove_call *call)
{
    const operator* o = grove_node_user(call->node);
    applying *a = call->run;
    grove_lattice lattice = o->lattice;

    lattice.plan.double_precision = call->double_precision;
    pthread_mutex_lock(&a->lock);
    int code = g2g_device_apply(call, &lattice, o->functions, o->diagonal, &a->devices);
    pthread_mutex_unlock(&a->lock);
    return code;
}

GROVE_CLASS(g2g) = {
    GROVE_CLASS_HEAD(g2g),
    .doc = "From a uv grid to a uv grid: as grid of the weighted degrid, without "
           "visibilities.\nVisibilities that the same function takes at the same cell count as "
           "one, with the sum of their weights: a compressed diagonal (Monnier et al. 2023), made "
           "once and kept for the session. So the gradient of an imaging problem costs one pass "
           "over it. Equal to grid(degrid(x, obs, functions=C), obs, functions=C) but for "
           "rounding, where the functions C are of numbers and of the nearest fine samples. grove "
           "check reports the length of the diagonal, and the faster method.",
    .output_doc = "a complex number for each plane and cell (w_plane, v, u), as of grid",
    .group = "images",
    .inputs = inputs,
    .options = options,
    .check = check,
    .expression = expression,
    .eval = eval,
    .device = device,
    .start = start,
    .stop = stop,
    .close = close_node,
    .example = "again = g2g(grid(obs.data, obs, size=8, cell=20arcsec, w_terms=false), obs, "
               "size=8, cell=20arcsec, w_terms=false, oversampling=8)",
};

static const grove_accumulator_functions g2g_diagonal_functions = {
    .create = g2g_diagonal_new,
    .add = g2g_diagonal_add,
    .finish = g2g_diagonal_finish,
    .free = g2g_diagonal_free,
};

GROVE_CLASS(g2g_diagonal) = {
    GROVE_CLASS_HEAD(g2g_diagonal),
    .doc = "The compressed diagonal of g2g: which functions visibilities use, and where.\nEntries "
           "are in ascending order: the real part numbers the place on the grid's fine samples, "
           "plane of w and function, the imaginary part is the sum of the weights there. Unused "
           "entries at the end have a place of -1. g2g makes the diagonal if none is given.",
    .output_doc = "a complex number for each entry, double precision",
    .group = "images",
    .inputs = diagonal_inputs,
    .options = diagonal_options,
    .kind = GROVE_CLASS_ACCUMULATOR,
    .check = g2g_diagonal_check,
    .accumulator = &g2g_diagonal_functions,
    .close = g2g_diagonal_close,
    .example = "D = g2g_diagonal(obs, size=8, cell=20arcsec, w_terms=false, functions="
               "convolution_functions(1, obs, size=8, cell=20arcsec, w_terms=false, "
               "oversampling=8, samples=nearest))",
};
