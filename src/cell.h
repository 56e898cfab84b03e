/* The arguments of cell functions: one evaluation as plain data, for C and CUDA alike.
 *
 * A cell function computes one output cell from the input cells at the same place. It is written
 * once in a kernel header, in terms of `real` and `cplx`, and compiled for single and double
 * precision:
 *
 *     GROVE_CELL(phase)
 *     {
 *         const double *uvw = GROVE_DOUBLES(c, 0);
 *         cplx *out = GROVE_OUT_COMPLEX(c);
 *         ...
 *     }
 *
 * and instantiated by a node's source file:
 *
 *     #define GROVE_KERNEL_SOURCE "../kernels/sky/phase.h"
 *     #include "kernel.h"
 *     ... .kernel = GROVE_KERNEL(phase) ...
 *
 * For CUDA devices nvcc makes phase.fatbin from kernel.h (installed as grove/kernel.h), with -x cu
 * -fatbin -DGROVE_KERNEL_SOURCE='"phase.h"'; it lies next to the plugin. So does phase.cl, which
 * the C preprocessor makes with -E -P -DGROVE_OPENCL -DGROVE_KERNEL_SOURCE='"phase.h"' and OpenCL
 * devices compile when they first need it: there pointers have no address space. With -D__CUDACC__
 * -D__CUDACC_RTC__ in place of -DGROVE_OPENCL it makes phase.cuda, which CUDA devices compile where
 * there is no fatbin, or where tunables have other values.
 */
#ifndef GROVE_CELL_H
#define GROVE_CELL_H

#ifdef GROVE_OPENCL /* defined when compiling for an OpenCL device */
#pragma OPENCL EXTENSION cl_khr_fp64 : enable
typedef char int8_t;
typedef uchar uint8_t;
typedef short int16_t;
typedef ushort uint16_t;
typedef int int32_t;
typedef uint uint32_t;
typedef long int64_t;
typedef ulong uint64_t;
#define memcpy(to, from, bytes) __builtin_memcpy(to, from, bytes)
#elif defined(__CUDACC_RTC__) /* compiled when it runs: there are no headers of the system */
typedef signed char int8_t;
typedef unsigned char uint8_t;
typedef short int16_t;
typedef unsigned short uint16_t;
typedef int int32_t;
typedef unsigned uint32_t;
typedef long int64_t;
typedef unsigned long uint64_t, uintptr_t;
#define HUGE_VAL __longlong_as_double(0x7ff0000000000000)
#else
#include <math.h>
#include <stdint.h>
#endif

#if defined(__CUDACC__) || defined(GROVE_CUDA_EMULATED)
#define GROVE_CUDA 1 /* defined when compiling for a CUDA device */
#ifndef GROVE_CUDA_EXPORT
#define GROVE_CUDA_EXPORT(name) /* emitted after each extern "C" __global__ function */
#endif
#endif
#ifdef __CUDACC__
#define GROVE_FN static __host__ __device__ __forceinline__
#else
#define GROVE_FN static inline
#endif

/* A plugin loads if its major number is this one and its minor is not newer; while the major number
 * is 0, both must be equal. */
enum { GROVE_ABI_MAJOR = 0, GROVE_ABI_MINOR = 11 };

enum {
    GROVE_VALUE_AXES = 8, /* maximum number of axes of a value */
    GROVE_MAX_AXES = 10,  /* of an iteration space, with axes that a class consumes */
    GROVE_MAX_INPUTS = 16,
    GROVE_MAX_VECTOR = 64,  /* maximum number of elements of a vector */
    GROVE_MAX_SCRATCH = 16, /* maximum number of pieces of scratch memory in a call */
    GROVE_STATE_BYTES = 256
};

/* Cell shapes. */
enum { GROVE_SCALAR = 1, GROVE_DIAGONAL = 2, GROVE_MATRIX = 4, GROVE_VECTOR = 8 };

/* Kinds of axes. The known kinds come in the order of storage, slowest first. Axes of other names
 * come last, each with a number of its own above GROVE_AXIS_OTHER: grove_axis_kind. */
enum {
    GROVE_AXIS_SOURCE,
    GROVE_AXIS_TIME,
    GROVE_AXIS_STATION,
    GROVE_AXIS_BASELINE,
    GROVE_AXIS_FREQ,
    GROVE_AXIS_OTHER
};

typedef struct {
    float re, im;
} grove_cplx32;
typedef struct {
    double re, im;
} grove_cplx64;

/* An array as seen from the iteration space: the stride in bytes along each axis, 0 where it does
 * not vary. With `gather` (station values seen from baselines), the offset along `gather_axis` is
 * stride * gather[index]. */
typedef struct {
    void *data; /* NULL: an optional input that was not given */
    int64_t stride[GROVE_MAX_AXES];
    const int32_t *gather;
    int32_t gather_axis;
    int32_t elements; /* numbers per cell: 1, 2, 4 or the vector's length */
    int32_t shape;    /* GROVE_SCALAR, ... */
    int32_t complex_; /* 1: two numbers per element */
    int32_t bytes;    /* of one number: 4 or 8 */
    int32_t spare;
} grove_view;

/* Division by a size that is known at run time only, by multiplication (Granlund and Montgomery
 * 1994): of numbers below 2^31, n * multiply >> shift; of those below 2^63, the upper half of n *
 * wide, shifted by shift - 32. */
typedef struct {
    int64_t size;
    uint64_t wide;
    uint32_t multiply, shift;
} grove_divider;

/* Neighbouring axes along which each view has one step: that along `axis`, the last of them. */
typedef struct {
    grove_divider by; /* cells of all of them */
    int32_t axis;
    int32_t gathers; /* some view is gathered along it */
} grove_cell_run;

/* How threads of a device find their cells. */
typedef struct {
    int64_t cells;
    int32_t few;   /* 1: cells, and bytes of a step, are below 2^31, so that dividers serve */
    int32_t plain; /* ... and there is one run, along which nothing is gathered */
    int32_t runs,
        spare; /* fastest first; axes of one cell are in none, but where they are gathered */
    grove_cell_run run[GROVE_MAX_AXES];
    grove_divider size[GROVE_MAX_AXES]; /* of each axis */
} grove_cell_walk;

/* One evaluation. The iteration space has the node's output axes and, for classes that consume
 * axes, the consumed ones (with out.stride 0), in order of storage. */
enum { GROVE_TUNABLES = 6 };
typedef struct {
    int32_t axes, inputs;
    int64_t size[GROVE_MAX_AXES];
    int64_t origin[GROVE_MAX_AXES]; /* absolute index of the first cell: results may depend on
                                       absolute indices, never on where a tile begins */
    int32_t axis[GROVE_MAX_AXES];   /* kinds */
    grove_view out, in[GROVE_MAX_INPUTS];
    union {
        unsigned char bytes[GROVE_STATE_BYTES];
        double align;
    } state; /* set by the class's check with grove_node_set_state; without padding, whose bytes are
                arbitrary */
    const void *table; /* set by the check with grove_node_set_table, at an address of this device;
                          or NULL */
    grove_cell_walk
        walk; /* for devices: a launch sets it, and clears the strides of absent views */
    int32_t tuned[GROVE_TUNABLES]; /* values of the kernel's tunables; a launch sets them */
} grove_args;

/* How device code was compiled. Each fatbin carries a stamp, `grove_kernel_stamp`. It is refused
 * when the running Grove has another stamp, since its kernels would read wrong arguments. */
typedef struct {
    int32_t abi_major, abi_minor, args_bytes, max_axes, max_inputs;
} grove_stamp;
#define GROVE_STAMP                                                                                \
    {                                                                                              \
        GROVE_ABI_MAJOR, GROVE_ABI_MINOR, (int32_t)sizeof(grove_args), GROVE_MAX_AXES,             \
            GROVE_MAX_INPUTS                                                                       \
    }
#ifdef GROVE_CUDA
extern "C" __device__ grove_stamp grove_kernel_stamp;
__device__ grove_stamp grove_kernel_stamp = GROVE_STAMP;
#endif

/* size: from 1 to 2^62. */
GROVE_FN grove_divider grove_divider_of(int64_t size)
{
    const uint64_t by = (uint64_t)size;
    uint32_t bits = 0;
    grove_divider d;

    while ((uint64_t)1 << bits < by)
        bits++;
    d.size = size;
    d.shift = 31 + bits;
    d.multiply = 0;
    d.wide = 1; /* of 2^bits / size, then of 2^(63 + bits) / size */
    uint64_t rest = ((uint64_t)1 << bits) - by;
    for (int k = 1; k <= 63; k++) {
        rest *= 2;
        d.wide = 2 * d.wide + (rest >= by);
        rest -= rest >= by ? by : 0;
        if (k == 31 && size >> 31 == 0)
            d.multiply = (uint32_t)(d.wide + (rest > 0));
    }
    d.wide += rest > 0;
    return d;
}

/* n / size for n below 2^31, as is the size. */
GROVE_FN uint32_t grove_quotient(const grove_divider *by, uint32_t n)
{
    return (uint32_t)((uint64_t)n * by->multiply >> by->shift);
}

/* ... for n below 2^63. */
GROVE_FN int64_t grove_wide_quotient(const grove_divider *by, int64_t n)
{
    const uint64_t mask = 0xffffffffu, a = (uint64_t)n, b = by->wide;
    const uint64_t low = (a & mask) * (b & mask), cross = (a >> 32) * (b & mask) + (low >> 32),
                   other = (a & mask) * (b >> 32) + (cross & mask),
                   high = (a >> 32) * (b >> 32) + (cross >> 32) + (other >> 32);

    return by->size == 1 ? n : (int64_t)(high >> (by->shift - 32));
}

/* The cell being computed. */
typedef struct {
    const grove_args *args;
    int64_t index[GROVE_MAX_AXES]; /* relative to the origin of args */
    const char *in[GROVE_MAX_INPUTS];
    char *out;
} grove_cell;

/* A launch refuses complex numbers that are not aligned to both their parts, so that devices load
 * these together. */
#ifdef GROVE_CUDA
#define GROVE_ALIGNED(at, bytes) __builtin_assume_aligned(at, bytes)
#else
#define GROVE_ALIGNED(at, bytes) (at)
#endif

/* Inputs as a type; `k` counts the value inputs in the order of the class's inputs, then of its
 * value options. NULL when an optional one was not given. */
#define GROVE_DOUBLES(c, k)   ((const double *)(c)->in[k])
#define GROVE_REALS(c, k)     ((const real *)(c)->in[k])
#define GROVE_COMPLEXES(c, k) ((const cplx *)GROVE_ALIGNED((c)->in[k], sizeof(cplx)))
#define GROVE_OUT_REAL(c)     ((real *)(c)->out)
#define GROVE_OUT_DOUBLE(c)   ((double *)(c)->out)
#define GROVE_OUT_COMPLEX(c)  ((cplx *)GROVE_ALIGNED((c)->out, sizeof(cplx)))
#define GROVE_STATE(c, type)  ((const type *)(const void *)(c)->args->state.bytes)
#define GROVE_TABLE(c, type)  ((const type *)(c)->args->table)

#ifndef GROVE_OPENCL /* of the host's names */
GROVE_FN int grove_same_word(const char *a, const char *b)
{
    while (*a && *a == *b) {
        a++;
        b++;
    }
    return *a == *b;
}

/* The kind of an axis by its name: "time", "beam". */
GROVE_FN int grove_axis_kind(const char *name)
{
    uint32_t hash = 2166136261u;

    if (grove_same_word(name, "source"))
        return GROVE_AXIS_SOURCE;
    if (grove_same_word(name, "time"))
        return GROVE_AXIS_TIME;
    if (grove_same_word(name, "station"))
        return GROVE_AXIS_STATION;
    if (grove_same_word(name, "baseline"))
        return GROVE_AXIS_BASELINE;
    if (grove_same_word(name, "freq"))
        return GROVE_AXIS_FREQ;
    for (; *name; name++)
        hash = (hash ^ (unsigned char)*name) * 16777619u;
    return GROVE_AXIS_OTHER + 1 + (int)(hash % 0x7ffffff0u);
}

#endif

/* Position of an axis kind in the iteration space, or -1. GROVE_AXIS_OTHER: of the first axis with
 * a name unknown to the framework. */
GROVE_FN int grove_args_axis(const grove_args *args, int kind)
{
    for (int d = 0; d < args->axes; d++)
        if (args->axis[d] == kind || (kind == GROVE_AXIS_OTHER && args->axis[d] > GROVE_AXIS_OTHER))
            return d;
    return -1;
}

/* Address of a view's cell at `index`. */
GROVE_FN char *grove_view_at(const grove_view *view, const int64_t *index, int axes)
{
    int64_t offset = 0;
    for (int d = 0; d < axes; d++)
        offset +=
            view->stride[d] *
            (view->gather && d == view->gather_axis ? (int64_t)view->gather[index[d]] : index[d]);
    return view->data ? (char *)view->data + offset : (char *)0;
}

/* Lets the view step through a dense array, the first axis slowest, of cells over the whole
 * iteration space: `elements` numbers of `bytes` each, or pairs of such. The caller sets `data`. */
GROVE_FN void grove_view_set_dense(grove_view *view, const grove_args *args, int elements,
                                   int complex_, int bytes)
{
    int64_t step = (int64_t)elements * (complex_ ? 2 : 1) * bytes;

    view->gather = 0;
    view->elements = elements;
    view->shape = elements == 1 ? GROVE_SCALAR : GROVE_VECTOR;
    view->complex_ = complex_;
    view->bytes = bytes;
    for (int d = args->axes - 1; d >= 0; d--) {
        view->stride[d] = step;
        step *= args->size[d];
    }
}

/* Absolute index of the cell along an axis kind (0 if the space does not have it): for
 * counter-based random numbers. */
GROVE_FN int64_t grove_cell_index(const grove_cell *c, int kind)
{
    int d = grove_args_axis(c->args, kind);
    return d < 0 ? 0 : c->args->origin[d] + c->index[d];
}

/* The number of cells of the iteration space. */
GROVE_FN int64_t grove_args_cells(const grove_args *args)
{
    int64_t n = 1;
    for (int d = 0; d < args->axes; d++)
        n *= args->size[d];
    return n;
}

/* Addresses of this number of inputs are kept in registers; of all inputs where a class has
 * more. */
enum { GROVE_FEW_INPUTS = 3 };

/* Sets `cell` to output cell number `at`; returns how many cells follow with constant steps along
 * the last axis, at most last - at; 1 if the last axis is gathered. */
GROVE_FN int64_t grove_cell_start(grove_cell *cell, const grove_args *args, int64_t at,
                                  int64_t last)
{
    int inner = args->axes - 1;
    int64_t rest = at, run = last - at;

    cell->args = args;
    for (int d = inner; d >= 0; d--) {
        cell->index[d] = rest % args->size[d];
        rest /= args->size[d];
    }
    if (inner >= 0 && run > args->size[inner] - cell->index[inner])
        run = args->size[inner] - cell->index[inner];
    for (int k = args->inputs; k < GROVE_FEW_INPUTS; k++)
        cell->in[k] = 0;
    for (int k = 0; k < args->inputs; k++) {
        cell->in[k] = grove_view_at(&args->in[k], cell->index, args->axes);
        if (args->in[k].gather && args->in[k].gather_axis == inner)
            run = 1;
    }
    cell->out = grove_view_at(&args->out, cell->index, args->axes);
    return run;
}

/* The value of a kernel's tunable number k, which is called `name`. */
#if defined(GROVE_OPENCL) || defined(__CUDACC_RTC__)
#define GROVE_TUNED(args, k, name) name
#else
#define GROVE_TUNED(args, k, name) ((args)->tuned[k])
#endif

#ifndef GROVE_OPENCL
#ifndef __CUDACC_RTC__
#include <stdbool.h>
#endif
typedef void (*grove_cells_fn)(const grove_args *args, int64_t first, int64_t last);

/* A number that changes the speed of a kernel, and its results by rounding at most. It is in
 * args->tuned. Where a device compiles kernels when they run, the compiler defines the name,
 * too: GROVE_TUNED; all kernels of a file have the same ones. */
enum { GROVE_TUNABLE_VALUES = 12 };
typedef struct {
    const char *name; /* BLOCK: threads of a block; CELLS, of cell functions: cells of a thread */
    const char *kind; /* of the devices that have it. "compiled": all that compile kernels when
                  they run, with a constant of this name; "cuda", "opencl": of a kind among them;
                  "device": all but the cpu; NULL: all */
    int32_t count, values[GROVE_TUNABLE_VALUES]; /* the first one is used without tuning */
} grove_tunable;

/* For `grove tune`, which finds the fastest configuration: one value of each tunable. */
typedef struct {
    grove_tunable tunable[GROVE_TUNABLES]; /* up to the first without a name */
    /* Whether args->tuned may be used; NULL: always. */
    bool (*allows)(const grove_args *args);
    /* Operations and bytes for these sizes and, where it matters, args->tuned; NULL: unknown. */
    void (*work)(const grove_args *args, double *operations, double *bytes);
    /* Largest difference between outputs of two configurations, relative to the largest absolute
     * value, in single and in double precision; 0: all have the same bytes. */
    double tolerance[2];
} grove_tunables;

/* A cell function in both precisions; its kernels on devices are called NAME_single and
 * NAME_double. */
typedef struct {
    const char *name;
    grove_cells_fn single_precision, double_precision; /* NULL: it runs on other devices only */
    /* The source file: with PATH/FILE.h, devices load FILE.fatbin or FILE.cl next to the plugin.
     * NULL: the file with the plugin's name. */
    const char *source;
    /* Devices: the number of threads of an evaluation (NULL: one per cell), and of a block (0:
     * 128). A kernel may get more or fewer threads than it asked for, a quarter where there are
     * many: it must loop with the size of the whole grid as its step. */
    int64_t (*threads)(const grove_args *args);
    int32_t block;
    int32_t writes; /* devices: bit k set: it also writes input k; 0 for cell functions */
    /* NULL: on devices, BLOCK and CELLS of cell functions can be tuned, of others nothing. */
    const grove_tunables *tunables;
} grove_kernel;

#define GROVE_KERNEL(name)                                                                         \
    {                                                                                              \
#name, name##_cells_single, name##_cells_double, name##_source, 0, 0, 0, 0                 \
    }

#endif

/* |x + i y|. hypot takes ten times as long and is used only when squares would overflow or
 * underflow. */
GROVE_FN double grove_modulus(double x, double y)
{
    double square = x * x + y * y;
    return square > 1e-280 && square < 1e300 ? sqrt(square) : hypot(x, y);
}

#define GROVE_SPEED_OF_LIGHT 299792458.0
#define GROVE_PI             3.14159265358979323846

/* 128 random bits of a seed and four counters below 2^32, the same in every tile, thread and on
 * every device: Philox4x32-10 (Salmon et al. 2011, SC11). */
GROVE_FN void grove_random_block(uint64_t seed, uint64_t a, uint64_t b, uint64_t c, uint64_t d,
                                 uint64_t bits[2])
{
    uint32_t x[4] = {(uint32_t)a, (uint32_t)b, (uint32_t)c, (uint32_t)d};
    uint32_t key[2] = {(uint32_t)seed, (uint32_t)(seed >> 32)};

    for (int round = 0; round < 10; round++) {
        const uint64_t first = (uint64_t)0xd2511f53u * x[0], second = (uint64_t)0xcd9e8d57u * x[2];
        x[0] = (uint32_t)(second >> 32) ^ x[1] ^ key[0];
        x[1] = (uint32_t)second;
        x[2] = (uint32_t)(first >> 32) ^ x[3] ^ key[1];
        x[3] = (uint32_t)first;
        key[0] += 0x9e3779b9u;
        key[1] += 0xbb67ae85u;
    }
    bits[0] = (uint64_t)x[1] << 32 | x[0];
    bits[1] = (uint64_t)x[3] << 32 | x[2];
}

/* The first half of them. */
GROVE_FN uint64_t grove_random_bits(uint64_t seed, uint64_t a, uint64_t b, uint64_t c, uint64_t d)
{
    uint64_t bits[2];

    grove_random_block(seed, a, b, c, d, bits);
    return bits[0];
}

/* Uniform in (0, 1). */
GROVE_FN double grove_random_uniform(uint64_t bits)
{
    return ((double)(bits >> 11) + 0.5) * (1.0 / 9007199254740992.0);
}

/* Two independent standard normal numbers (Box-Muller). */
GROVE_FN void grove_random_normal(uint64_t seed, uint64_t a, uint64_t b, uint64_t c, uint64_t d,
                                  double normal[2])
{
    uint64_t bits[2];

    grove_random_block(seed, a, b, c, d, bits);
    double r = sqrt(-2 * log(grove_random_uniform(bits[0]))), v = grove_random_uniform(bits[1]);
#ifdef GROVE_CUDA
    double sine, cosine;
    sincospi(2 * v, &sine,
             &cosine); /* without the range reduction by pi, which is expensive on GPUs */
    normal[0] = r * cosine;
    normal[1] = r * sine;
#elif defined(GROVE_OPENCL)
    normal[0] = r * cospi(2 * v);
    normal[1] = r * sinpi(2 * v);
#else
    normal[0] = r * cos(2 * GROVE_PI * v);
    normal[1] = r * sin(2 * GROVE_PI * v);
#endif
}

#endif
