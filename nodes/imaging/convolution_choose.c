/* How large convolution functions are: support, fine samples, planes of w. */
#include "nodes/imaging/convolution_make.h"

#include "util.h"

#include <math.h>
#include <stdio.h>

enum { MAX_OVERSAMPLING = 4096, MAX_PLANES = 1 << 16, MAX_NEAREST = 64, REASON_SIZE = 400 };
#define MAX_BYTES 4e9 /* of all functions */

/* ---- errors ---- */

/* The sides of the image over the sides of the grid: cycles per cell from edge to edge. */
static void find_extent(const convolution_making *c, double extent[2])
{
    for (int d = 0; d < 2; d++)
        extent[d] = (double)c->plan.image.size[d] / (double)c->plan.grid[d];
}

/* Of the nearest fine sample: phases of 2 pi d x, with d within 1 / (2 Q) and x, cycles per cell,
 * within the image. Of linear interpolation: exp(i a t), t from 0 to 1 between two samples, less
 * its line, is a^2 t (1 - t) / 2, whose mean is taken out of functions beforehand: a^2 / sqrt(720),
 * with a = 2 pi x / Q. */
static double sampling_error(const convolution_making *c, double oversampling, bool linear)
{
    double extent[2];

    find_extent(c, extent);
    if (!linear)
        return GROVE_PI * hypot(extent[0], extent[1]) / (6 * oversampling);
    return pow(GROVE_PI / oversampling, 2) * hypot(extent[0] * extent[0], extent[1] * extent[1]) /
           60;
}

/* The oversampling for that. */
static double oversampling_for(const convolution_making *c, double error, bool linear)
{
    const double of_one = sampling_error(c, 1, linear);

    return fmax(ceil(linear ? sqrt(of_one / error) : of_one / error), 1);
}

/* Of planes that are a step apart: the same of phases of 2 pi d (n - 1), with d within half a step,
 * and n - 1 within its range. */
static double plane_error(const convolution_making *c, double step, bool linear)
{
    const double phase = 2 * GROVE_PI * step * c->half_n;

    return linear ? phase * phase / 60 : phase / 6;
}

/* Steps from w = 0 to the longest for that. */
static double steps_for(const convolution_making *c, double longest, double error, bool linear)
{
    const double of_one = plane_error(c, longest, linear);

    return ceil(linear ? sqrt(of_one / error) : of_one / error);
}

/* How far w shifts the function of a pixel at the image's edge, cells. */
static double shift_of(const convolution_making *c, double longest)
{
    const grove_gridder_image *image = &c->plan.image;
    double most = 0;

    for (int corner = 0; corner < 4; corner++) {
        double at[2], square = 0;
        for (int d = 0; d < 2; d++) {
            at[d] = image->centre[d] +
                    ((corner >> d & 1) - 0.5) * (double)image->size[d] * image->cell[d];
            square += at[d] * at[d];
        }
        for (int d = 0; d < 2; d++)
            most = fmax(most, fabs(at[d]) * c->functions.scale[d]);
        most = square < 1 ? most / sqrt(fmax(1 - square, 1e-2)) : most;
    }
    return longest * most;
}

/* ---- choices ---- */

/* The error at the corner of an image, and at the ends of n, over its root mean square: epsilon is
 * to hold there, too. */
static double edge_of(bool linear)
{
    return sqrt(linear ? 5 : 3);
}

/* The part of epsilon left for fine samples and planes by the kernel. */
static double error_left(const convolution_making *c, double epsilon)
{
    const double kernel = fmin(c->kernel_error, 0.8 * epsilon);

    return sqrt(epsilon * epsilon - kernel * kernel);
}

static void choose_oversampling(convolution_making *c, const convolution_request *request,
                                double share)
{
    grove_convolution_plan *f = &c->functions;

    f->linear = request->linear > 0;
    f->oversampling = (int)request->oversampling;
    if (request->oversampling)
        return;
    double nearest = oversampling_for(c, share / edge_of(false), false);
    f->linear = request->linear < 0 ? nearest > MAX_NEAREST : request->linear > 0;
    f->oversampling =
        (int)fmin(f->linear ? oversampling_for(c, share / edge_of(true), true) : nearest,
                  MAX_OVERSAMPLING + 1);
}

static const char *choose_planes(convolution_making *c, const convolution_request *request,
                                 double share, char reason[REASON_SIZE])
{
    grove_convolution_plan *f = &c->functions;
    const double longest = c->plan.bounds.max_w, steps = steps_for(c, longest, share, f->linear);

    f->planes = request->planes;
    if (!f->planes && (!request->with_w || plane_error(c, 2 * longest, false) <= share)) {
        f->planes = 1;
    } else if (!f->planes && steps >= MAX_PLANES) {
        snprintf(reason, REASON_SIZE,
                 "this accuracy requires more than %d planes of w; smaller images, or a lower "
                 "oversampling, require fewer",
                 MAX_PLANES);
        return request->oversampling ? "oversampling" : "epsilon";
    } else if (!f->planes) {
        f->planes = (int64_t)steps + 1;
    }
    f->step_w = f->planes > 1 ? longest / (double)(f->planes - 1) : 0;
    return NULL;
}

static const char *check_bytes(const convolution_making *c, const convolution_request *request,
                               char reason[REASON_SIZE])
{
    const grove_convolution_plan *f = &c->functions;
    const double fine = (double)grove_convolution_side(f),
                 bytes = (double)f->functions * (double)f->planes * fine * fine *
                         (c->plan.bounds.double_precision ? 16 : 8);

    if (bytes <= MAX_BYTES)
        return NULL;
    snprintf(reason, REASON_SIZE,
             "%lld functions on %lld planes of %d x %d cells with %d samples for each make %.3g "
             "GB, more than %.3g; a %s, fewer w_planes, more times and channels that share them, "
             "or stations that are alike require less",
             (long long)f->functions, (long long)f->planes, f->support, f->support, f->oversampling,
             bytes / 1e9, MAX_BYTES / 1e9,
             request->oversampling ? "lower oversampling" : "larger epsilon");
    return request->oversampling ? "oversampling" : "epsilon";
}

static const char *choose_support(convolution_making *c, const convolution_request *request,
                                  char reason[REASON_SIZE])
{
    const double most =
        fmin(GROVE_CONVOLUTION_MAX_SUPPORT,
             (double)(c->plan.grid[0] < c->plan.grid[1] ? c->plan.grid[0] : c->plan.grid[1]));
    double support = c->plan.kernel.width + (c->raster[0] ? 2 : 0) +
                     (request->with_w ? ceil(2 * shift_of(c, c->plan.bounds.max_w)) : 0);

    c->kernel_error = c->plan.error;
    if (!request->oversampling) { /* a cell more leaves a fifth, or less, of the kernel's error */
        support++;
        c->kernel_error /= 5;
    }
    if (request->has_support)
        support = (double)request->support;
    if (!(support >= 1 && support <= most)) {
        snprintf(reason, REASON_SIZE,
                 "%g cells are not from 1 to %g, as the grid of %lld x %lld cells allows%s",
                 support, most, (long long)c->plan.grid[0], (long long)c->plan.grid[1],
                 request->has_support ? "" : "; a smaller image needs fewer for w");
        return "support";
    }
    c->functions.support = (int)support;
    return NULL;
}

const char *convolution_size(convolution_making *c, const convolution_request *request,
                             char reason[REASON_SIZE])
{
    grove_convolution_plan *f = &c->functions;
    const double longest = c->plan.bounds.max_w;
    const char *fault = choose_support(c, request, reason);

    if (fault)
        return fault;
    const double left = error_left(c, request->epsilon);
    const bool one =
        !request->with_w || plane_error(c, 2 * longest, false) * edge_of(false) <= left / 2;
    choose_oversampling(c, request, one ? 0.85 * left : left / sqrt(2));
    const double samples = sampling_error(c, f->oversampling, f->linear);
    const double share = (one ? left / 2 : left / sqrt(2)) / edge_of(f->linear && !one);
    fault = choose_planes(c, request, request->oversampling ? samples : share, reason);
    if (fault)
        return fault;
    /* a single plane has w = 0, as far from the longest as half a step of twice its length */
    const double planes = !request->with_w ? 0
                          : f->planes > 1  ? plane_error(c, f->step_w, f->linear)
                                           : plane_error(c, 2 * longest, false);
    c->error = hypot(hypot(samples, planes), c->kernel_error);
    if (f->oversampling > MAX_OVERSAMPLING) {
        snprintf(reason, REASON_SIZE,
                 "requires more than %d fine samples for each cell; samples=linear requires fewer",
                 MAX_OVERSAMPLING);
        return "epsilon";
    }
    return check_bytes(c, request, reason);
}

int convolution_read_request(const grove_node *node, convolution_request *request)
{
    *request = (convolution_request){.with_w = grove_node_bool(node, "w_terms"),
                                     .epsilon = grove_node_number(node, "epsilon"),
                                     .linear = -1};

    request->has_support = grove_node_given(node, "support");
    if (request->has_support)
        request->support = grove_node_integer(node, "support");
    if (grove_node_given(node, "oversampling")) {
        request->oversampling = grove_node_integer(node, "oversampling");
        request->linear = 0;
        if (request->oversampling < 1 || request->oversampling > MAX_OVERSAMPLING)
            return grove_node_fail_option(node, "oversampling", "%lld is not from 1 to %d",
                                          (long long)request->oversampling, MAX_OVERSAMPLING);
    }
    if (grove_node_given(node, "samples"))
        request->linear = grove_node_choice(node, "samples");
    if (grove_node_given(node, "w_planes")) {
        request->planes = grove_node_integer(node, "w_planes");
        if (request->planes < 1 || request->planes > MAX_PLANES)
            return grove_node_fail_option(node, "w_planes", "%lld is not from 1 to %d",
                                          (long long)request->planes, MAX_PLANES);
        if (!request->with_w && request->planes != 1)
            return grove_node_fail_option(node, "w_planes", "without w_terms there is one");
    }
    return 0;
}

int convolution_choose(const grove_node *node, convolution_making *c)
{
    convolution_request request;
    char reason[REASON_SIZE];
    int code = convolution_read_request(node, &request);
    const char *fault = code ? NULL : convolution_size(c, &request, reason);

    return fault ? grove_node_fail_option(node, fault, "%s", reason) : code;
}

/* ---- cost ---- */

/* Nanoseconds on one core with AVX-512, measured with `bench/gridder --support`: of a sample; of
 * each vector of 8 numbers of a function, and of blending it into a mean; of reading one, or one of
 * a mean, from beyond the cache; of an operation of making, and of a number that is made, put in
 * order and copied. */
static const double per_sample = 80, per_vector = 2.4, per_blend = 1.6, per_far = 32,
                    per_far_blend = 8, per_operation = 0.2, per_number = 40;
#define CACHE 12e6 /* with this number of bytes half of the functions are near */
enum { MAKING_NODES = 17 };

/* Bytes of all functions, and how many of them a visibility takes in place of one. */
static double bytes_of(const convolution_making *c)
{
    const grove_convolution_plan *f = &c->functions;
    const double side = (double)grove_convolution_side(f);

    return (double)(f->functions * f->planes) * side * side *
           (c->plan.bounds.double_precision ? 16 : 8);
}

static double blocks_of(const grove_convolution_plan *f)
{
    return !f->linear ? 1 : f->planes > 1 ? 8 : 4;
}

/* Of making them. */
static double making_seconds(const convolution_making *c)
{
    const grove_convolution_plan *f = &c->functions;
    const double side = (double)grove_convolution_side(f), support = f->support,
                 all = (double)(f->functions * f->planes), places = 4 * support + 1,
                 made = fmin(side, support * MAKING_NODES);

    return 1e-9 * (per_operation * 8 * all * (made * places * places + made * made * places) +
                   per_number * all * side * side);
}

double convolution_seconds(const convolution_making *c, double samples, double each)
{
    const grove_convolution_plan *f = &c->functions;
    const double support = f->support, real = c->plan.bounds.double_precision ? 8 : 4,
                 vectors = support * ceil(support / 8) * real / 4, bytes = bytes_of(c),
                 far = bytes / (bytes + CACHE),
                 vector = f->linear ? per_vector + blocks_of(f) * (per_blend + far * per_far_blend)
                                    : per_vector + far * per_far;

    return 1e-9 * samples * (per_sample + each * vectors * vector) + making_seconds(c);
}

/* Picoseconds of an H100, as counted in both precisions (bench/RESULTS-gpu-counted.md), the mean of
 * gridding and degridding: of a sample, of a cell of its function, of one of each function beyond
 * the first that a mean is of; and of a byte from beyond the cache. */
static const double gpu_sample = 220, gpu_cell = 0.62, gpu_blend = 1.25, gpu_byte = 0.3;
#define GPU_CACHE 50e6

double convolution_device_seconds(const convolution_making *c, double samples, double each)
{
    const grove_convolution_plan *f = &c->functions;
    const double cells = (double)(f->support * f->support), blocks = blocks_of(f),
                 bytes = bytes_of(c), far = bytes / (bytes + GPU_CACHE),
                 of_cell = gpu_cell + (blocks - 1) * gpu_blend +
                           blocks * far * gpu_byte * (c->plan.bounds.double_precision ? 16 : 8);

    return 1e-12 * samples * (gpu_sample + each * cells * of_cell) + making_seconds(c);
}
