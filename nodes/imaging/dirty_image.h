/* The inside of dirty_image and psf_image, shared with their work on devices. */
#ifndef GROVE_NODES_DIRTY_IMAGE_H
#define GROVE_NODES_DIRTY_IMAGE_H

#include "nodes/imaging/image_bands.h"
#include "nodes/imaging/image_device.h"
#include "nodes/imaging/image_samples.h"

/* Memory in a run of one precision. */
typedef struct {
    uint64_t fixed, *parts; /* bytes besides the planes, and of the planes of all bands */
    int part_count;
} imager_needs;

/* Results of check. Inputs are -1 where there are none. */
typedef struct {
    int data, weights, uvw, max_uvw, missing;
    bool psf, without_w, exact;
    double epsilon;
    double longest; /* limit of u, v and w, wavelengths; 0: only by max_uvw */
    grove_gridder_image image;
    image_stokes stokes;
    image_bands bands;
    double samples;
    int64_t chunk;         /* samples that are gridded together, at most */
    char *expression;      /* equivalent expression of a call; NULL: itself */
    char why[200];         /* of the method */
    imager_needs needs[2]; /* in single and in double precision */
} imager;

/* Of a band. */
typedef struct {
    grove_gridder_plan plan; /* planes 0: not chosen yet */
    grove_gridder *gridder;  /* NULL until the first samples come */
    int64_t first, end;      /* planes that this walk over the tiles makes; those before are done */
    uint64_t limit;          /* bytes for them */
    double weight_sum;
    int64_t not_finite, outside;
    image_sizes sizes; /* of an exact image, whose first walk finds them */
    bool sized;
    image_device device; /* of a state on a device */
    void *from_devices;  /* [Stokes][m][l] sums of their images; NULL: none */
} image_state;

/* Chooses the plan of a band, by the largest |u|, |v| and |w| in metres. 0, or a code with a
 * message. */
int imager_plan(const grove_call *call, const imager *m, int band, const double *max_uvw,
                image_state *state);
/* The largest |u|, |v| and |w| that count, wavelengths at a band's highest frequency, by those in
 * metres. */
void imager_longest(const imager *m, int band, const double *max_uvw, double longest[3]);
/* The highest frequency of all bands, Hz. */
double imager_highest(const imager *m);
int imager_no_memory(const grove_call *call); /* reports it; its code */
/* Bounds of a band's samples, by the largest |u|, |v| and |w| of all channels, in wavelengths at
 * 1 Hz. */
grove_gridder_bounds imager_bounds(const imager *m, int band, const double largest[3],
                                   bool double_precision);

/* Of the classes, on the host. Where planes do not all fit the memory, each walk over the tiles
 * makes some, of one band after the other, and adds them to the images. */
int imager_begin(const grove_call *call, void **state);
int imager_add(const grove_call *call, void *state, const grove_array *const *inputs, int count);
int imager_walk(const grove_call *call, void *state, grove_array *out, bool *again);
int imager_finish(const grove_call *call, void *state, grove_array *out);
void imager_end(const grove_node *node, void *state);

/* device_add and device_merge. */
int imager_add_on_device(const grove_call *call, void *state, int count);
int imager_merge_device(const grove_call *call, void *state, void *other);

#endif
