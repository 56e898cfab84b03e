#include "nodes/imaging/image_method.h"
#include "nodes/imaging/convolution_make.h"

#include "../../kernels/imaging/gridder/gridder_device.h"

#include "unstable/tuning.h"
#include "util.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

enum { AUTO, W_STACK, AW, IDG };

enum { OF_IDG = 3, OF_AW = 4 };
static const char *const of_idg[OF_IDG] = {"subgrid", "layers", "w_tiles"}, *const of_aw[OF_AW] = {
                                                                                "samples",
                                                                                "oversampling",
                                                                                "w_planes",
                                                                                "support"};

static const grove_form *jones_of(const grove_node *node)
{
    return grove_node_input_form(node, grove_node_input(node, "jones"));
}

bool image_method_is_scalar(const grove_node *node, const char *stokes)
{
    const grove_form *jones = jones_of(node);

    return (!jones || jones->shape == GROVE_SCALAR) && !strcmp(stokes, "I");
}

char *image_method_functions(const grove_node *node, const char *stokes, const char *stage)
{
    const grove_form *jones = jones_of(node);
    const bool number = !jones || jones->shape == GROVE_SCALAR,
               scalar = image_method_is_scalar(node, stokes);
    const char *of_none = scalar ? "1" : "constant([1, 1], shape=diagonal)",
               *of_one = number && !scalar ? "jones * constant([1, 1], shape=diagonal)" : "jones";

    return grove_format("convolution_functions(%s, obs, %s, w_terms=w_terms, support=support, "
                        "oversampling=oversampling, samples=samples, w_planes=w_planes, "
                        "times=times, channels=channels, stokes=\"%s\"%s)",
                        jones ? of_one : of_none, stage, stokes,
                        grove_node_input(node, "alike") < 0 ? "" : ", alike=alike");
}

/* Functions that a visibility takes. */
static double elements_of(const grove_node *node, const char *stokes)
{
    const grove_form *jones = jones_of(node);
    const double images = (double)strlen(stokes);

    if (!jones || jones->shape == GROVE_SCALAR)
        return image_method_is_scalar(node, stokes) ? 1 : 4;
    return jones->shape == GROVE_MATRIX ? 4 * images : images > 1 ? 4 : 2;
}

/* How many blocks of cells along an axis have jones of their own. */
static double blocks_of(const grove_node *node, const char *name, const char *option)
{
    const grove_axis *axis =
        grove_node_input_axis(node, grove_node_input(node, "jones"), grove_axis_kind(name));
    const double shared = fmax((double)grove_node_integer(node, option), 1);

    return axis ? ceil((double)axis->size / shared) : 1;
}

/* How many kinds of stations there are: numbers of alike, or all that jones varies with. */
static double kinds_of(const grove_node *node)
{
    const grove_axis *axis =
        grove_node_input_axis(node, grove_node_input(node, "jones"), grove_axis_kind("station"));
    const int alike = grove_node_input(node, "alike");
    int64_t count = 0, kinds = 0;
    const double *number = axis && alike >= 0 && grove_node_input_form(node, alike)
                               ? grove_node_input_data(node, alike, &count)
                               : NULL;

    if (!axis || !number || count != axis->size)
        return axis ? (double)axis->size : 1;
    for (int64_t k = 0; k < count; k++) {
        int64_t like = 0;
        while (like < k && !(number[like] == number[k]))
            like++;
        kinds += like == k;
    }
    return (double)kinds;
}

/* Of all blocks of times and channels, and all pairs of stations. */
static double functions_of(const grove_node *node, double each)
{
    return jones_of(node) ? each * blocks_of(node, "time", "times") *
                                blocks_of(node, "freq", "channels") * pow(kinds_of(node), 2)
                          : each;
}

typedef struct {
    grove_gridder_plan stack;
    convolution_making functions;
    image_method_idg idg;
    double seconds[3]; /* of each; INFINITY: it cannot be done */
    image_method_costs costs;
} estimates;

static double seconds_of_plan(const estimates *e, const grove_gridder_plan *plan)
{
    return e->costs == IMAGE_BY_GPU ? grove_gridder_device_seconds(plan) : plan->seconds;
}

/* Of w-stacking and of functions. */
static int estimate_others(const grove_node *node, const image_method *m, estimates *to)
{
    grove_gridder_bounds bounds = {.max_u = m->longest[0],
                                   .max_v = m->longest[1],
                                   .max_w = m->longest[2],
                                   .samples = fmax(m->samples / m->bands, 1),
                                   .polarisations = (int64_t)strlen(m->stokes),
                                   .without_w = !grove_node_bool(node, "w_terms")};
    convolution_making *c = &to->functions;
    convolution_request request;
    grove_gridder_plan flat;
    char reason[400];
    int code = convolution_read_request(node, &request);

    if (code)
        return code;
    bounds.double_precision = image_precision(request.epsilon) == GROVE_PRECISION_DOUBLE;
    if (grove_gridder_plan_choose(&m->image, &bounds, request.epsilon, &to->stack))
        return 0; /* the class says so */
    to->seconds[IMAGE_W_STACK] = m->bands * seconds_of_plan(to, &to->stack);
    bounds.samples = 1;
    bounds.without_w = true;
    if (grove_gridder_plan_choose(&m->image, &bounds, request.epsilon, &flat))
        return 0;
    bounds.max_u = bounds.max_v = bounds.max_w = m->baseline; /* as stages choose them */
    bounds.samples = 1e6;
    bounds.polarisations = 1;
    if (grove_gridder_plan_choose(&m->image, &bounds, request.epsilon, &c->plan))
        return 0;
    const double each = elements_of(node, m->stokes);
    c->functions.functions = (int64_t)fmin(functions_of(node, each), INT32_MAX);
    for (int d = 0; d < 2; d++)
        c->functions.scale[d] = (double)c->plan.grid[d] * c->plan.image.cell[d];
    c->half_n = to->stack.half_n;
    if (jones_of(node))
        c->raster[0] =
            grove_node_input_axis(node, grove_node_input(node, "jones"), grove_axis_kind("l"));
    if (!convolution_size(c, &request, reason))
        to->seconds[IMAGE_AW] =
            m->bands * seconds_of_plan(to, &flat) +
            (to->costs == IMAGE_BY_GPU ? convolution_device_seconds(c, m->samples, each)
                                       : convolution_seconds(c, m->samples, each));
    return 0;
}

/* Of image-domain gridding; the choice w_tiles has no value none. */
static bool is_given(const grove_node *node, const char *option)
{
    return strcmp(option, "w_tiles") ? grove_node_given(node, option)
                                     : grove_node_choice(node, option) != 0;
}

static int check_options(const grove_node *node, const image_method *m, bool aw)
{
    static const char *const names[] = {"jones",   "support",      "times",    "channels",
                                        "samples", "oversampling", "w_planes", "alike"};
    const int count = m ? 8 : 5; /* stages have the last ones for functions that are given, too */

    for (int k = 0; k < OF_IDG; k++)
        if (is_given(node, of_idg[k]))
            return grove_node_fail_option(node, of_idg[k], "requires method=idg");
    if (aw && m && m->only)
        return grove_node_fail_option(node, m->only, "requires method=w_stack");
    for (int k = 0; k < count && !aw; k++)
        if (grove_node_written(node, names[k]) &&
            (grove_node_input(node, names[k]) >= 0
                 ? grove_node_input_form(node, grove_node_input(node, names[k])) != NULL
                 : grove_node_given(node, names[k])))
            return grove_node_fail_option(node, names[k], "requires method=aw");
    return 0;
}

static bool is_written(const grove_node *node, const char *option)
{
    return grove_node_written(node, option) && grove_node_given(node, option);
}

/* Options of others. */
static bool has_alike(const grove_node *node)
{
    const int k = grove_node_input(node, "alike");

    return k >= 0 && grove_node_input_form(node, k);
}

static int check_idg(const grove_node *node, const image_method *m)
{
    if (m->only)
        return grove_node_fail_option(node, m->only, "requires method=w_stack");
    for (int k = 0; k < OF_AW; k++)
        if (is_written(node, of_aw[k]))
            return grove_node_fail_option(node, of_aw[k], "requires method=aw");
    return has_alike(node) ? grove_node_fail_option(node, "alike", "requires method=aw") : 0;
}

/* Whether auto may take image-domain gridding: no option is given that only one method has. */
static bool may_be_idg(const grove_node *node, const image_method *m)
{
    bool may = !m->only && !has_alike(node);

    for (int k = 0; k < OF_AW; k++)
        may = may && !is_written(node, of_aw[k]);
    for (int k = 0; k < OF_IDG; k++)
        may = may && !is_given(node, of_idg[k]);
    return may;
}

/* The requested method, or else the faster one of w-stacking and functions. */
static image_method_kind choose_other(const grove_node *node, const image_method *m,
                                      const estimates *e)
{
    const int choice = grove_node_choice(node, "method");

    if (choice != AUTO)
        return (image_method_kind)(choice - W_STACK);
    return jones_of(node) || (!m->only && e->seconds[IMAGE_AW] < e->seconds[IMAGE_W_STACK])
               ? IMAGE_AW
               : IMAGE_W_STACK;
}

/* Seconds. Choosing subgrids takes up to half a second: not for runs that take hardly more. */
#define WORTH 1.0

static int estimate(const grove_node *node, const image_method *m, estimates *e)
{
    int code = estimate_others(node, m, e);

    if (code)
        return code;
    const image_method_kind other = choose_other(node, m, e);
    const double worth = other == IMAGE_IDG          ? INFINITY
                         : e->seconds[other] > WORTH ? e->seconds[other]
                                                     : 0;
    e->idg = image_method_estimate_idg(node, m, e->costs, worth);
    e->seconds[IMAGE_IDG] = e->idg.seconds;
    return 0;
}

/* The requested method, or the fastest one that is possible. */
static image_method_kind choose(const grove_node *node, const image_method *m, const estimates *e)
{
    const image_method_kind kind = choose_other(node, m, e);

    if (grove_node_choice(node, "method") == AUTO && !e->idg.is_bound && may_be_idg(node, m) &&
        e->seconds[IMAGE_IDG] < e->seconds[kind])
        return IMAGE_IDG;
    return kind;
}

/* A word for each method and its seconds. */
static void describe(const estimates *e, image_method_kind kind, char text[100])
{
    static const char *const names[] = {"w_stack", "aw", "idg"};
    int length = 0;

    text[0] = 0;
    for (int k = 0; k < 3; k++)
        if (k != (int)kind && isfinite(e->seconds[k]))
            length += snprintf(
                text + length, (size_t)(100 - length), "%s%s %s%.2g s", length ? ", " : " (",
                names[k], k == IMAGE_IDG && e->idg.is_bound ? "more than " : "", e->seconds[k]);
    if (length)
        snprintf(text + length, (size_t)(100 - length), ")");
}

static void report(grove_node *node, const estimates *e, image_method_kind kind, const char *why)
{
    const grove_convolution_plan *f = &e->functions.functions;

    if (kind == IMAGE_AW)
        grove_node_note(node,
                        "method: aw, functions of %d x %d cells, %d fine samples for each, %lld "
                        "planes of w; %s",
                        f->support, f->support, f->oversampling, (long long)f->planes, why);
    else if (kind == IMAGE_IDG)
        grove_node_note(node, "method: idg, %s", why);
}

/* Of sums of integers a GPU makes none. */
static image_method_costs costs_of(const image_method *m)
{
    return grove_tuning_has_gpu() && !(m->only && !strcmp(m->only, "exact")) ? IMAGE_BY_GPU
                                                                             : IMAGE_BY_CORE;
}

int image_method_choose(grove_node *node, const image_method *m, image_method_kind *kind,
                        char why[200])
{
    const int choice = grove_node_choice(node, "method");
    estimates e = {.seconds = {INFINITY, INFINITY, INFINITY}, .costs = costs_of(m)};
    char others[100];
    int code = m->longest[0] > 0 ? estimate(node, m, &e) : 0;

    why[0] = 0;
    *kind = choose(node, m, &e);
    code = code                 ? code
           : *kind == IMAGE_IDG ? check_idg(node, m)
                                : check_options(node, m, *kind == IMAGE_AW);
    if (code || isinf(e.seconds[*kind]))
        return code;
    describe(&e, *kind, others);
    snprintf(why, 200, "%s; error %.2g, root mean square, about %.2g s on a %s%s",
             choice != AUTO                        ? "as asked for"
             : jones_of(node) && *kind == IMAGE_AW ? "since jones is given"
                                                   : "which takes less time",
             *kind == IMAGE_AW    ? e.functions.error
             : *kind == IMAGE_IDG ? e.idg.error
                                  : e.stack.error,
             e.seconds[*kind], e.costs == IMAGE_BY_GPU ? "GPU such as an H100" : "core", others);
    report(node, &e, *kind, why);
    return 0;
}

bool image_method_is_idg(const grove_node *node)
{
    return grove_node_choice(node, "method") == IDG;
}

int image_method_of_stage(const grove_node *node, bool *aw)
{
    const bool functions = grove_node_input_form(node, grove_node_input(node, "functions")) != NULL;
    const int choice = grove_node_choice(node, "method");

    *aw = false;
    if (functions && choice == W_STACK)
        return grove_node_fail_option(node, "method", "w_stack is not possible with functions");
    if (functions && choice == IDG)
        return grove_node_fail_option(node, "method", "idg is not possible with functions");
    if (functions && jones_of(node))
        return grove_node_fail_option(node, "jones",
                                      "is not possible with functions, which contain it");
    *aw = !functions && (choice == AW || (choice == AUTO && jones_of(node)));
    return choice == IDG ? 0 : check_options(node, NULL, *aw);
}
