/* Arguments of a launch on a device with memory of its own. */
#ifndef GROVE_DEVICE_LAUNCH_H
#define GROVE_DEVICE_LAUNCH_H

#include "base/error.h"
#include "cell.h"

typedef struct grove_device grove_device;

/* An index array of the host (axes' `left`, `right`) on the device. */
typedef struct {
    int32_t *copy; /* the content that was uploaded */
    int64_t count;
    void *at;
    uint64_t last_used;
} grove_index_array;

enum { GROVE_INDEX_ARRAYS = 64 };

/* The index arrays that a device keeps; zeroed: none. The caller locks. */
typedef struct {
    grove_index_array array[GROVE_INDEX_ARRAYS];
    int count;
    uint64_t clock;
} grove_index_arrays;

/* Makes args, whose views have addresses of the device, ready for a launch: uploads the host's
 * index arrays unless the device has them, clears strides of absent views and sets the walk.
 * GROVE_MISSING when complex numbers are not aligned; or the codes of an allocation and upload. */
int grove_launch_prepare(grove_device *device, grove_index_arrays *arrays,
                         const grove_kernel *kernel, grove_args *args, grove_error *error);
/* The number of blocks of a launch with prepared args, and of threads of each; 0: nothing to do. */
unsigned grove_launch_blocks(const grove_device *device, const grove_kernel *kernel,
                             const grove_args *args, unsigned *threads);
/* Releases all index arrays. */
void grove_index_arrays_free(grove_device *device, grove_index_arrays *arrays);

#endif
