/* Every cell function gives the same on the CUDA device as on the cpu, in single and double
 * precision, over four axes, with inputs that vary along some of them. */
#include "base/file.h"
#include "base/text.h"
#include "tests/common/cuda-testing.h"
#include "tests/common/suite.h"

#include <glob.h>
#include <stdlib.h>
#include <string.h>

#define GROVE_KERNEL_SOURCE "../kernels/arithmetic/arithmetic.h"
#include "kernel.h"
#define GROVE_KERNEL_SOURCE "../kernels/core/array.h"
#include "kernel.h"
#define GROVE_KERNEL_SOURCE "../kernels/jones/beam.h"
#include "kernel.h"
#define GROVE_KERNEL_SOURCE "../kernels/sky/brightness.h"
#include "kernel.h"
#define GROVE_KERNEL_SOURCE "../kernels/common/coordinates.h"
#include "kernel.h"
#define GROVE_KERNEL_SOURCE "../kernels/arithmetic/elementary.h"
#include "kernel.h"
#define GROVE_KERNEL_SOURCE "../kernels/jones/gains.h"
#include "kernel.h"
#define GROVE_KERNEL_SOURCE "../kernels/arithmetic/matrix.h"
#include "kernel.h"
#define GROVE_KERNEL_SOURCE "../kernels/jones/noise.h"
#include "kernel.h"
#define GROVE_KERNEL_SOURCE "../kernels/sky/phase.h"
#include "kernel.h"
#define GROVE_KERNEL_SOURCE "../kernels/jones/rotation.h"
#include "kernel.h"
#define GROVE_KERNEL_SOURCE "../kernels/fit/parm.h"
#include "kernel.h"
#define GROVE_KERNEL_SOURCE "../kernels/sky/point.h"
#include "kernel.h"

/* Formats of cells, one word each: first the output, then the inputs. A digit: the number of
 * elements; then c or r for complex or real in the run's precision, d for doubles, z for doubles
 * that are 0 or 1, b for bytes; "-": not given. A factor after * scales the numbers. */
typedef struct {
    grove_kernel kernel;
    const char *cells;
    double state; /* as a double at the front of the state; gains: the kind; flag_rule: axes that
                     are folded */
    double turns; /* the largest phase: devices contract multiply-adds and cpus may not, so that
                     phases differ by the rounding of as many turns */
} sample;

#define ELEMENTARY(name, cells)                                                                    \
    {                                                                                              \
        GROVE_KERNEL(elementary_##name), cells, 0                                                  \
    }
#define BOTH(name) ELEMENTARY(name, "1c 1c"), ELEMENTARY(name, "3r 3r")

static const sample samples[] = {
    {GROVE_KERNEL(add_elements), "4c 4c 4c", 0},
    {GROVE_KERNEL(add_elements), "2c 2r 2c", 0},
    {GROVE_KERNEL(add_matrices), "4c 4c 4c", 0},
    {GROVE_KERNEL(add_jones), "4c 2c 4c", 0},
    {GROVE_KERNEL(subtract_elements), "2c 2c 2c", 0},
    {GROVE_KERNEL(subtract_matrices), "4c 4c 4c", 0},
    {GROVE_KERNEL(subtract_jones), "4c 4c 1r", 0},
    {GROVE_KERNEL(multiply_elements), "4c 1c 4c", 0},
    {GROVE_KERNEL(scale_from_left), "4c 1c 4c", 0},
    {GROVE_KERNEL(scale_from_right), "4c 4c 1c", 0},
    {GROVE_KERNEL(multiply_from_left), "4c 2c 4c", 0},
    {GROVE_KERNEL(multiply_from_right), "4c 4c 2c", 0},
    {GROVE_KERNEL(multiply_real_left), "4c 2r 4c", 0},
    {GROVE_KERNEL(multiply_real_right), "4c 4c 2r", 0},
    {GROVE_KERNEL(multiply_reals), "3r 3r 1r", 0},
    {GROVE_KERNEL(multiply_jones), "4c 2c 4r", 0},
    {GROVE_KERNEL(multiply_matrices), "4c 4c 4c", 0},
    {GROVE_KERNEL(divide), "4c 4c 1c", 0},
    {GROVE_KERNEL(divide), "2r 2r 1r", 0},
    {GROVE_KERNEL(negate), "4c 4c", 0},
    {GROVE_KERNEL(power_elements), "2c 2c", -3},
    {GROVE_KERNEL(power_elements), "1c 1c", 0.5},
    {GROVE_KERNEL(power_matrix), "4c 4c", 5},
    {GROVE_KERNEL(complex_parts), "2c 2r 2r", 0},
    {GROVE_KERNEL(cast), "4c 4r", 0},
    {GROVE_KERNEL(cast), "4c 4d", 0},
    {GROVE_KERNEL(cast), "3d 3r", 0},
    {GROVE_KERNEL(cast), "1c 4c", 1.5e-323},   /* the third element: 3 as an integer */
    {GROVE_KERNEL(blank), "4c 1r", 4.94e-324}, /* where the lowest bit is set: 1 as an integer */
    {GROVE_KERNEL(flag_rule), "1b 1b 1b", 0},
    {GROVE_KERNEL(flag_rule), "1b - 1b 1b 1b 1b", 2},
    {GROVE_KERNEL(beam_airy), "1r 3d*0.01 1d*1e9 1d*25", 0},
    {GROVE_KERNEL(beam_gaussian), "1r 3d*0.01 1d*1e9 1d*25 -", 1.2},
    {GROVE_KERNEL(beam_gaussian), "1r 3d*0.01 - - 1d*0.01", 0},
    {GROVE_KERNEL(brightness), "4c 4d 1d*1e9 3d 1z 1d*10 1d*0.1 1d*1e9 1z", 0},
    {GROVE_KERNEL(wavelength), "1d 1d*1e9", 0},
    {GROVE_KERNEL(lmn), "3d 2d 2d", 0},
    {GROVE_KERNEL(shape), "6d 3d 1z 2d 2d", 0},
    BOTH(conj),
    BOTH(real_part),
    BOTH(imag),
    BOTH(abs),
    BOTH(arg),
    BOTH(sqrt),
    BOTH(exp),
    BOTH(log),
    BOTH(log10),
    BOTH(sin),
    BOTH(cos),
    BOTH(tan),
    ELEMENTARY(asin, "1r 1r*0.4"),
    ELEMENTARY(acos, "1r 1r*0.4"),
    ELEMENTARY(atan, "1r 1r"),
    ELEMENTARY(sinc, "1r 1r*10"),
    {GROVE_KERNEL(gains), "1c 1z -", GROVE_GAINS_CONSTANT},
    {GROVE_KERNEL(gains), "2c 1z 1d*1e3", GROVE_GAINS_SINE},
    {GROVE_KERNEL(gains), "4c 1z 1d*1e3", GROVE_GAINS_RANDOM_WALK},
    {GROVE_KERNEL(parm), "1c 1c - - -",
     2.121995791459338e-314}, /* 1 and 1 as integers of 32 bits */
    {GROVE_KERNEL(inverse), "4c 4c", 0},
    {GROVE_KERNEL(inverse), "2r 2r", 0},
    {GROVE_KERNEL(hermitian), "4c 4c", 0},
    {GROVE_KERNEL(transpose), "4c 4c", 0},
    {GROVE_KERNEL(trace), "1c 4c", 0},
    {GROVE_KERNEL(determinant), "1c 4c", 0},
    {GROVE_KERNEL(norm), "1r 4c", 0},
    {GROVE_KERNEL(assemble), "4c 1c 1r 1r 1c", 0},
    {GROVE_KERNEL(reshape), "4c 4c", 0},
    {GROVE_KERNEL(rotation), "4r 1d", 0},
    {GROVE_KERNEL(noise), "4c 1d*10 1d*1e6 2d 1d -", 7e-310},
    {GROVE_KERNEL(noise), "4c 1d*10 1d*1e6 2d - 1d*400", 7e-310},
    {GROVE_KERNEL(phase), "1c 3d*0.1 3d*3e3 1d*1e9", .turns = 1e4},
    {GROVE_KERNEL(point), "4c 4c 3d*0.1 3d*1e-5 3d*3e3 1d*1e9 - - -", .turns = 1e4},
    {GROVE_KERNEL(point), "4c 4c 3d*0.1 6d*1e-5 3d*3e3 1d*1e9 - - -", .turns = 1e4},
    {GROVE_KERNEL(point), "4c 4c 3d*0.1 - 3d*3e3 1d*1e9 3d 1d*10 1d*1e6", .turns = 1e4},
};

enum { SAMPLES = sizeof(samples) / sizeof(*samples), AXES = 4, STATIONS = 5 };

static const int64_t sizes[AXES] = {3, 4, 10, 7};
static const int32_t kinds[AXES] = {GROVE_AXIS_SOURCE, GROVE_AXIS_TIME, GROVE_AXIS_BASELINE,
                                    GROVE_AXIS_FREQ};
static const int32_t left[] = {0, 0, 0, 0, 1, 1, 1, 2, 2, 3};

/* The cell's form from a word; bytes of the array. Input k varies along the axes of the bits of k +
 * 1 and, where it varies along baselines and k is odd, belongs to stations. */
static size_t set_view(grove_view *view, const char *word, int k, bool double_)
{
    int elements = word[0] - '0', varies = k < 0 ? 15 : (k * 5 + 3) % 16;
    bool wide = word[1] == 'd' || word[1] == 'z' || double_;

    memset(view, 0, sizeof(*view));
    view->elements = elements;
    view->shape = elements == 1   ? GROVE_SCALAR
                  : elements == 2 ? GROVE_DIAGONAL
                  : elements == 3 ? GROVE_VECTOR
                                  : GROVE_MATRIX;
    view->complex_ = word[1] == 'c';
    view->bytes = word[1] == 'b' ? 1 : wide ? 8 : 4;
    int64_t step = (int64_t)elements * (view->complex_ ? 2 : 1) * view->bytes;
    for (int d = AXES - 1; d >= 0; d--) {
        if (!(varies >> d & 1))
            continue;
        view->stride[d] = step;
        if (kinds[d] == GROVE_AXIS_BASELINE && k >= 0 && k % 2) {
            view->gather = left;
            view->gather_axis = d;
            step *= STATIONS;
        } else {
            step *= sizes[d];
        }
    }
    return (size_t)step;
}

static void fill(const grove_view *view, const char *word, size_t bytes, int k, void *to)
{
    double scale = strchr(word, '*') ? strtod(strchr(word, '*') + 1, NULL) : 1, normal[2];

    for (size_t n = 0; n < bytes / (size_t)view->bytes; n++) {
        grove_random_normal(5, (uint64_t)k, n, 0, 0, normal);
        double x = word[1] == 'z'   ? (double)(n % 2)
                   : word[1] == 'c' ? scale * normal[0]
                                    : scale * (0.5 + fmod(fabs(normal[0]), 1));
        if (view->bytes == 1)
            ((unsigned char *)to)[n] = (unsigned char)(normal[0] > 0 ? 255 * fabs(normal[1]) : 0);
        else if (view->bytes == 8)
            ((double *)to)[n] = x;
        else
            ((float *)to)[n] = (float)x;
    }
}

static void set_state(grove_args *args, const sample *s)
{
    grove_gains gains = {0.1, 0.5, 100, 3, 17, (int32_t)s->state, 0};

    grove_flag_marks rule = {{0x8040201008040201u, 0x000000000c0c0303u, 0x0f0f0f0f0f0f0f0fu,
                              0x0302010003020100u, 0x8040201008040201u},
                             {0, 15},
                             (int32_t)s->state};

    if (!strcmp(s->kernel.name, "flag_rule")) {
        memcpy(args->state.bytes, &rule, sizeof(rule));
        args->axes -= rule.folded;
    } else if (!strcmp(s->kernel.name, "gains"))
        memcpy(args->state.bytes, &gains, sizeof(gains));
    else
        memcpy(args->state.bytes, &s->state, sizeof(s->state));
}

/* The arguments on the host; `bytes` of the output and of each input. */
static grove_args host_args(const sample *s, bool double_, size_t bytes[1 + GROVE_MAX_INPUTS])
{
    grove_args args = {.axes = AXES, .inputs = -1};

    for (int d = 0; d < AXES; d++) {
        args.size[d] = sizes[d];
        args.axis[d] = kinds[d];
        args.origin[d] = ((int64_t)d << 32) + 100 * d + 7; /* more than 32 bits */
    }
    set_state(&args, s);
    for (const char *word = s->cells; word; args.inputs++) {
        int k = args.inputs;
        grove_view *view = k < 0 ? &args.out : &args.in[k];
        bytes[k + 1] = 0;
        if (*word != '-') {
            bytes[k + 1] = set_view(view, word, k, double_);
            view->data = malloc(bytes[k + 1]);
            fill(view, word, bytes[k + 1], k, view->data);
        }
        word = strchr(word, ' ') ? strchr(word, ' ') + 1 : NULL;
    }
    return args;
}

static double number_at(const grove_view *view, const void *numbers, size_t n)
{
    return view->bytes == 8   ? ((const double *)numbers)[n]
           : view->bytes == 4 ? (double)((const float *)numbers)[n]
                              : (double)((const unsigned char *)numbers)[n];
}

static void compare(const sample *s, const grove_view *view, size_t bytes, const void *cpu,
                    const void *cuda)
{
    double error = 0, size = 0;
    double max = view->bytes == 8 ? 1e-13 + 2 * GROVE_PI * s->turns * 2e-16 : 1e-6;

    for (size_t n = 0; n < bytes / (size_t)view->bytes; n++) {
        double x = number_at(view, cpu, n), y = number_at(view, cuda, n);
        if (isnan(x) && isnan(y))
            continue;
        error += (x - y) * (x - y);
        size += x * x;
    }
    ck_assert_msg(sqrt(error) <= max * sqrt(size), "%s (%s): %g of %g", s->kernel.name, s->cells,
                  sqrt(error), sqrt(size));
    ck_assert_msg(size > 0 || strstr(s->kernel.name, "imag") || strstr(s->kernel.name, "arg"),
                  "%s: all zeros", s->kernel.name);
}

static void run_sample(grove_device *device, const sample *s, bool double_)
{
    size_t bytes[1 + GROVE_MAX_INPUTS];
    grove_args args = host_args(s, double_, bytes), there = args;
    grove_error *error = grove_error_new();
    grove_cells_fn cells = double_ ? s->kernel.double_precision : s->kernel.single_precision;
    void *result = malloc(bytes[0]);

    fill(&args.out, args.out.bytes == 1 ? "1b" : "4c", bytes[0], 20,
         args.out.data); /* what was there before */
    grove_device_allocate(device, bytes[0], &there.out.data, error);
    grove_device_upload(device, there.out.data, args.out.data, bytes[0], error);
    grove_device_ready(device, there.out.data, error);
    cells(&args, 0, grove_args_cells(&args));
    for (int k = 0; k < args.inputs; k++)
        if (args.in[k].data) {
            grove_device_allocate(device, bytes[k + 1], &there.in[k].data, error);
            grove_device_upload(device, there.in[k].data, args.in[k].data, bytes[k + 1], error);
            grove_device_ready(device, there.in[k].data, error);
        }
    grove_device_launch(device, &s->kernel, &there, double_, error);
    grove_device_download(device, result, there.out.data, bytes[0], error);
    ck_assert_msg(grove_error_count(error) == 0, "%s", grove_error_message(error, 0));
    compare(s, &args.out, bytes[0], args.out.data, result);
    for (int k = 0; k < args.inputs; k++) {
        grove_device_release(device, there.in[k].data, bytes[k + 1]);
        free(args.in[k].data);
    }
    grove_device_release(device, there.out.data, bytes[0]);
    free(args.out.data);
    free(result);
    grove_error_free(error);
}

LOOP_TEST(test_every_cell_function, 0, 6)
{
    cuda_testing_reset((uint64_t)_i);
    grove_device *device = cuda_testing_open(cuda_testing_room(64 << 20));

    for (int k = 0; device && k < SAMPLES; k++)
        run_sample(device, &samples[k], _i % 2);
    if (device) {
        ck_assert_uint_eq(device->launches, SAMPLES);
        cuda_testing_close(device);
    }
}

static bool is_sample(const char *prefix, const char *name, size_t length)
{
    size_t before = strlen(prefix);

    for (int k = 0; k < SAMPLES; k++) {
        const char *own = samples[k].kernel.name;
        if (!strncmp(own, prefix, before) && strlen(own) == before + length &&
            !strncmp(own + before, name, length))
            return true;
    }
    return false;
}

/* Whether a class has the name. Its conformance test runs the function on the device. */
static bool is_class(const char *name, size_t length)
{
    const char *source = getenv("GROVE_SOURCE");
    char *pattern = grove_format("%s/nodes/*/%.*s.c", source ? source : "..", (int)length, name);
    glob_t files = {0};
    bool found = glob(pattern, 0, NULL, &files) == 0;

    globfree(&files);
    free(pattern);
    return found;
}

/* The cell functions of a header, each of which has a sample or a class. */
static int count_samples(const char *path)
{
    char *text = suite_keep(grove_file_read(path, (size_t)1 << 20, true, NULL, NULL));
    int found = 0;

    for (char *line = text; line; line = strchr(line, '\n')) {
        line += *line == '\n';
        bool elementary = !strncmp(line, "GROVE_ELEMENTARY(", 17);
        if (!elementary && strncmp(line, "GROVE_CELL(", 11) != 0)
            continue;
        line += elementary ? 17 : 11;
        size_t length = strcspn(line, ",)");
        ck_assert_msg(is_sample(elementary ? "elementary_" : "", line, length) ||
                          is_class(line, length),
                      "%s: %.*s has no line in samples", path, (int)length, line);
        found++;
    }
    return found;
}

/* A cell function that is not a class's only one has a sample. */
TEST(test_all_cell_functions_have_samples)
{
    const char *source = getenv("GROVE_SOURCE");
    char *pattern = suite_text("%s/kernels/*/*.h", source ? source : "..");
    glob_t headers;
    int found = 0;

    ck_assert_int_eq(glob(pattern, 0, NULL, &headers), 0);
    for (size_t k = 0; k < headers.gl_pathc; k++)
        found += count_samples(headers.gl_pathv[k]);
    ck_assert_int_gt(found, 40);
    globfree(&headers);
}

CUDA_SUITE(120, NULL, NULL)
