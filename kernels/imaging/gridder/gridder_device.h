/* The default gridder on devices: preparations by the host for the kernels of gridder_spread.cu and
 * gridder_image.cu. It knows no device. */
#ifndef GROVE_KERNELS_GRIDDER_DEVICE_H
#define GROVE_KERNELS_GRIDDER_DEVICE_H

#include "gridder.h"
#include "gridder_cuda.h"

typedef struct grove_gridder_device grove_gridder_device;

/* NULL: no memory. */
grove_gridder_device *grove_gridder_device_new(const grove_gridder_plan *plan);
bool grove_gridder_device_is_of(const grove_gridder_device *device, const grove_gridder_plan *plan);
void grove_gridder_device_free(grove_gridder_device *device); /* NULL is fine */

/* Bytes that it keeps on a device: the cells of all planes that samples may touch, a plane of the
 * whole grid, an image of one polarisation, and slots. */
typedef struct {
    uint64_t planes, grid, image, slots;
} grove_gridder_device_bytes;
grove_gridder_device_bytes grove_gridder_device_sizes(const grove_gridder_device *device);
grove_gridder_device_bytes grove_gridder_device_sizes_of(const grove_gridder_plan *plan);
/* Estimated seconds of an H100, as counted: of an image of a plan, whose cost on a core is
 * plan->seconds. */
double grove_gridder_device_seconds(const grove_gridder_plan *plan);
/* Adds planes as the device keeps them, of one polarisation, to [plane][v][u] with u and v 0 at
 * cell grid / 2. */
void grove_gridder_device_give(const grove_gridder_plan *plan, const void *kept, void *planes);

/* Constants of the kernels: taps, and factors and polynomial of images. */
typedef struct {
    const void *at;
    size_t bytes;
} grove_gridder_table;
grove_gridder_table grove_gridder_device_taps(const grove_gridder_device *device);
grove_gridder_table grove_gridder_device_factors(const grove_gridder_device *device);

/* The order of samples: launches do pieces [begin[k], begin[k + 1]), one launch after the other. */
typedef struct {
    grove_gridder_run *run;
    grove_gridder_piece *piece;
    double *wavenumber;
    int32_t *begin;
    int32_t runs, launches;
    int64_t outside; /* samples beyond the bounds */
} grove_gridder_work;

/* For spreading, or collecting; the same for any threads. 0, or -1: no memory, or 2^31 samples. */
int grove_gridder_device_sort(const grove_gridder_device *device,
                              const grove_gridder_samples *samples,
                              const grove_gridder_threads *threads, bool collect,
                              grove_gridder_work *work);
void grove_gridder_work_free(grove_gridder_work *work);

/* The states of kernels, by the plan. */
grove_gridder_state grove_gridder_device_state(const grove_gridder_device *device);
grove_gridder_image_state grove_gridder_device_image(const grove_gridder_device *device,
                                                     int64_t plane);

#endif
