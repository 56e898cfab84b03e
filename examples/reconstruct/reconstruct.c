/* An image from visibilities by projected gradient descent: an image that is sought (an object),
 * and the action that seeks it. In each step the action is given what the visibilities of the image
 * would give if they were gridded again (`again`), improves the image, and asks for the next.
 *
 * Least squares: half of sum W |V - A x|^2, over the sum of W, is <x, again> / 2 - <x, dirty> but
 * for a constant, with its gradient again - dirty. Beck & Teboulle 2009 (FISTA) make the steps. For
 * your own regulariser change `regularise`, the step that follows each one down the gradient. */
#include <grove/plugin.h>

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- the image that is sought ---- */

static const grove_port image_inputs[] = {
    {"pixels", GROVE_OBJECT, "a sky_grid: its pixels", .object = "sky"},
    {0},
};

static int open_image(grove_node *node)
{
    static const grove_form form = {
        .shape = GROVE_SCALAR, .precision = GROVE_PRECISION_DOUBLE, .unit = {.Jy = 1}};
    const grove_node *pixels = grove_node_object(node, "pixels");
    int code = 0;

    for (int d = 0; d < 2 && !code; d++)
        code = grove_node_take_axis(node, pixels, d ? "l" : "m");
    return code ? code : grove_node_add_member(node, "value", "m l", &form, NULL, "Jy per pixel");
}

static int64_t pixels_of(const grove_node *image)
{
    return grove_node_axis(image, "m")->size * grove_node_axis(image, "l")->size;
}

/* Its numbers belong to a run. */
static int start_image(const grove_node *node, void **run)
{
    *run = calloc((size_t)pixels_of(node), sizeof(double));
    return *run ? 0 : grove_node_fail(node, -1, "no memory for the image");
}

static void stop_image(const grove_node *node, void *run)
{
    (void)node;
    free(run);
}

static int read_image(const grove_call *call, const char *member, grove_array *out)
{
    (void)member;
    memcpy(out->data, call->run, (size_t)out->cells * sizeof(double));
    return 0;
}

GROVE_CLASS(sought_image) = {
    GROVE_CLASS_HEAD(sought_image),
    .doc = "An image that reconstruct seeks; 0 before.",
    .output_doc = "an object with the member value, Jy per pixel (m, l)",
    .group = "data",
    .kind = GROVE_CLASS_DATA,
    .object = "sought_image",
    .inputs = image_inputs,
    .data = &(const grove_data_functions){.open = open_image, .read = read_image},
    .start = start_image,
    .stop = stop_image,
    .example = "x = sought_image(sky_grid(obs, size=8, cell=20arcsec))",
};

/* ---- the steps ---- */

enum { DIRTY, AGAIN, POWER }; /* numbers of the values, and of their arrays */

static const grove_port inputs[] = {
    {"sought", GROVE_OBJECT, "the image that is sought", .object = "sought_image"},
    {"dirty", GROVE_VALUE, "the dirty image, Jy/beam (m, l)", .handing = GROVE_AS_DOUBLE,
     .shapes = GROVE_SCALAR},
    {"again", GROVE_VALUE, "the same of the visibilities of sought.value",
     .handing = GROVE_AS_DOUBLE, .shapes = GROVE_SCALAR},
    {"of_data", GROVE_VALUE, "sum of W |V|^2 over the sum of W", .handing = GROVE_AS_DOUBLE,
     .shapes = GROVE_SCALAR},
    {0},
};
static const grove_port options[] = {
    {"steps", GROVE_INTEGER, "how many", .initial = "100"},
    {"threshold", GROVE_NUMBER,
     "the weight of the sum of |pixels| beside half of chi-squared, "
     "Jy/beam",
     .initial = "0"},
    {"positive", GROVE_BOOL, "no pixels below 0", .initial = "true"},
    {"accelerated", GROVE_BOOL, "false: plain gradient descent", .initial = "true"},
    {0},
};

enum { POWER_STEPS = 15 }; /* that find the largest eigenvalue */

typedef struct {
    int64_t pixels, call;
    double *image; /* the leaf's: where the gradient is wanted */
    double *best;  /* the image of the last step */
    double largest, momentum;
} descent;

static int check(grove_node *node)
{
    const grove_node *image = grove_node_object(node, "sought");
    const grove_axis *axes[GROVE_MAX_AXES];

    if (grove_node_integer(node, "steps") < 1)
        return grove_node_fail_option(node, "steps", "%lld is not at least 1",
                                      (long long)grove_node_integer(node, "steps"));
    for (int k = DIRTY; k <= AGAIN; k++)
        if (grove_node_input_axes(node, k, axes) != 2 || axes[0] != grove_node_axis(image, "m") ||
            axes[1] != grove_node_axis(image, "l"))
            return grove_node_fail(node, -1, "%s is not over the pixels (m, l) of the image",
                                   grove_node_input_name(node, k));
    grove_node_set_memory(node, 2 * sizeof(double) * (uint64_t)pixels_of(image));
    return grove_node_renews(node, "sought");
}

static void stop(const grove_node *node, void *run)
{
    descent *d = run;

    (void)node;
    free(d->best);
    free(d);
}

static int start(const grove_node *node, void **run)
{
    descent *d = calloc(1, sizeof(*d));

    if (!d)
        return grove_node_fail(node, -1, "no memory");
    d->pixels = pixels_of(grove_node_object(node, "sought"));
    d->momentum = 1;
    d->best = calloc((size_t)d->pixels, sizeof(double));
    *run = d;
    if (d->best)
        return 0;
    stop(node, d);
    return grove_node_fail(node, -1, "no memory for the image");
}

static double size_of(const double *x, int64_t pixels)
{
    double sum = 0;

    for (int64_t k = 0; k < pixels; k++)
        sum += x[k] * x[k];
    return sqrt(sum);
}

/* The power method: of an image of length 1, `again` is as long as the largest eigenvalue, from
 * below. At first some image, the same in each run. */
static void find_largest(descent *d, const double *again)
{
    uint64_t state = 1;

    d->largest = size_of(again, d->pixels);
    for (int64_t k = 0; k < d->pixels; k++) {
        state = state * 6364136223846793005u + 1442695040888963407u;
        d->image[k] = d->call ? again[k] : (double)(state >> 11) / 9007199254740992.0 - 0.5;
    }
    const double size = size_of(d->image, d->pixels);
    for (int64_t k = 0; k < d->pixels && size > 0; k++)
        d->image[k] /= size;
}

/* The image that is nearest to x, plus `step` times its penalty, is the least: here soft
 * thresholds, and the projection on what is not negative. */
static void regularise(const grove_node *node, double *x, int64_t pixels, double step)
{
    const double threshold = step * grove_node_number(node, "threshold");
    const bool positive = grove_node_bool(node, "positive");

    for (int64_t k = 0; k < pixels; k++) {
        const double less = fmax(fabs(x[k]) - threshold, 0);
        x[k] = x[k] < 0 ? (positive ? 0 : -less) : less;
    }
}

/* A step from where the gradient is known; then on in the direction of the last one. */
static void improve(const grove_node *node, descent *d, const double *dirty, const double *again)
{
    const double step = 1 / (1.05 * d->largest), /* the power method has not quite ended */
        next = grove_node_bool(node, "accelerated")
                   ? (1 + sqrt(1 + 4 * d->momentum * d->momentum)) / 2
                   : 1,
                 further = (d->momentum - 1) / next;

    for (int64_t k = 0; k < d->pixels; k++)
        d->image[k] += step * (dirty[k] - again[k]);
    regularise(node, d->image, d->pixels, step);
    for (int64_t k = 0; k < d->pixels; k++) {
        const double x = d->image[k];
        d->image[k] = x + further * (x - d->best[k]);
        d->best[k] = x;
    }
    d->momentum = next;
}

/* Chi-squared over the sum of the weights, of the image at which the gradient is. */
static void show(const grove_node *node, const descent *d, const double *dirty, const double *again,
                 double power)
{
    double sum = power;

    for (int64_t k = 0; k < d->pixels; k++)
        sum += d->image[k] * (again[k] - 2 * dirty[k]);
    printf("%s: step %lld of %lld, chi-squared %.9g\n", grove_node_name(node),
           (long long)(d->call - POWER_STEPS), (long long)grove_node_integer(node, "steps"), sum);
    fflush(stdout);
}

/* Called with the values of the image as it is, until *again stays false. */
static int drive(const grove_call *call, const grove_array *const *arrays, int count, bool *more)
{
    const grove_node *node = call->node;
    const double *dirty = arrays[DIRTY]->data, *again = arrays[AGAIN]->data;
    descent *d = call->run;

    (void)count;
    d->image = grove_call_object_run(call, "sought");
    if (d->call <= POWER_STEPS) {
        find_largest(d, again);
        if (d->call == POWER_STEPS)
            memset(d->image, 0, (size_t)d->pixels * sizeof(double));
        if (d->call > 1 && !(d->largest > 0 && isfinite(d->largest)))
            return grove_node_fail(node, -1, "the image that the visibilities give has %s",
                                   isfinite(d->largest) ? "0 everywhere" : "no numbers");
    } else {
        show(node, d, dirty, again, *(const double *)arrays[POWER]->data);
        improve(node, d, dirty, again);
    }
    *more = d->call++ < POWER_STEPS + grove_node_integer(node, "steps");
    if (!*more)
        memcpy(d->image, d->best, (size_t)d->pixels * sizeof(double));
    return 0;
}

GROVE_CLASS(reconstruct) = {
    GROVE_CLASS_HEAD(reconstruct),
    .doc = "Seeks the image whose visibilities are nearest to the data.\nProjected gradient "
           "descent, accelerated (Beck & Teboulle 2009). Shows chi-squared of each step.",
    .output_doc = "an action: actions after it are given the image that was found",
    .group = "actions",
    .kind = GROVE_CLASS_ACTION,
    .inputs = inputs,
    .options = options,
    .check = check,
    .start = start,
    .stop = stop,
    .action = &(const grove_action_functions){.drive = drive},
    .example = "y = sought_image(sky_grid(obs, size=8, cell=20arcsec))\n"
               "found = reconstruct(y, dirty_image(obs.data, obs, size=8, cell=20arcsec), "
               "2Jy * y.value / 1Jy, 3, steps=2)",
};
