/* The state of grid and sum_of_weights, and their work on a device. */
#ifndef GROVE_NODES_GRID_H
#define GROVE_NODES_GRID_H

#include "../../kernels/imaging/gridder/gridder.h"
#include "../../kernels/imaging/idg/idg.h"
#include "nodes/imaging/image_bands.h"
#include "nodes/imaging/image_convolve.h"
#include "nodes/imaging/image_device.h"
#include "nodes/imaging/image_functions.h"
#include "nodes/imaging/image_samples.h"
#include "nodes/imaging/image_subgrids_device.h"
#include "nodes/imaging/image_terms.h"

typedef struct {
    grove_gridder_plan plan;
    image_stokes stokes;
    const grove_axis *freq;
    double longest[3]; /* |u|, |v| and |w| that count, wavelengths; 0: not known */
    int weights, uvw;
    int functions; /* the input; -1: none */
    int missing;   /* rows missing in the set; -1: none */
    bool exact;
    bool is_idg; /* image-domain gridding, by `idg` */
    grove_idg_plan idg;
    image_terms terms; /* its jones */
    image_bands bands;
    grove_convolution_plan convolution;
    image_mueller mueller; /* of the functions */
    int32_t *index;        /* its sets; NULL: there is a single function */
    char *expression;      /* equivalent expression of a call of grid; NULL: itself */
} gridding;                /* of a node */

typedef struct {
    /* Gridders [band], or functions; NULL until the first samples come, and of sum_of_weights. */
    grove_gridder **gridders;
    grove_convolution *convolution;
    grove_idg *idg;
    grove_idg_counts counts;        /* of its subgrids */
    int64_t beyond;                 /* its layers, by w alone; of those outside */
    grove_gridder_outside left_out; /* by the functions */
    double (*sums)[4];              /* [band] of weights, by the functions of each image */
    image_sizes *sizes;             /* [band] */
    bool sized;                     /* of exact planes: the first walk is over */
    double max_u, max_v;            /* of |u|, |v|, wavelengths, as far as the antennas are apart */
    int64_t outside, not_finite;
    /* Of a state on a device; one of them. */
    image_device device;
    image_convolve convolve;
    image_subgrids_device subgrids;
    double **totals;    /* [band] of sum_of_weights */
    void *from_devices; /* the sum of their planes, or grids, as they keep them; NULL: none */
} gridded;              /* the state of a run */

/* Only in check: the plan of the option method, and jones of image-domain gridding. 0, or a code
 * with a message. */
int grid_choose_plan(grove_node *node, const grove_node *obs, gridding *g);
/* Once the bands are known: the plan has them, and a note reports it. */
void grid_prepare_subgrids(grove_node *node, const grove_node *obs, gridding *g);
int grid_open_subgrids(const grove_call *call, grove_isa isa, gridded *to);
uint64_t grid_subgrids_bytes(const grove_node *node, const gridding *g);
uint64_t grid_subgrids_device_bytes(const grove_node *node, const gridding *g);
/* Adds samples of a band on subgrids; `part`: the cells of the observation that they are. 0, or a
 * code with a message. */
int grid_add_subgrids(const grove_call *call, gridded *to, const image_samples *s,
                      const grove_array *const *arrays, const image_mueller_part *part, int band);
/* Of w-tiles: onto the planes. 0, or a code with a message. */
int grid_fold_subgrids(const grove_call *call, const gridded *from);
void grid_give_subgrids(const grove_call *call, const gridded *from, grove_array *out);
/* On a device, see grid_add_on_device and the functions after it. */
int grid_add_subgrids_on_device(const grove_call *call, gridded *to, const image_device_inputs *in);
int grid_merge_subgrids(const grove_call *call, const gridded *from, gridded *to);
int grid_give_subgrids_on_device(const grove_call *call, const gridded *from);
/* Reports the number of subgrids, and samples beyond the layers. */
void grid_report_subgrids(const grove_call *call, const gridded *from);
/* With the precision of the call. */
grove_gridder_plan grid_plan_of(const grove_call *call);
/* Adds the longest baselines of `rows`, [row][u, v, w], that are not left out. */
void grid_find_longest(const gridding *g, const double *uvw, int64_t rows, gridded *to);
int grid_no_memory(const grove_call *call);
/* Warns of samples left out, and of cells that are too large. */
void grid_warn(const grove_call *call, const gridded *from);

/* The gridders of all bands: bytes of the blocks that the baselines touch, opened, given as planes
 * [band][w_plane][v][u], and freed. */
uint64_t grid_bands_bytes(const gridding *g, const grove_node *obs);
int grid_open_bands(const grove_call *call, grove_isa isa, gridded *to);
void grid_give_bands(const grove_call *call, const gridded *from, grove_array *out);
void grid_close_bands(const grove_node *node, gridded *g);

/* Real numbers of the grids of functions, of all bands. */
int64_t grid_numbers(const gridding *g);
/* The result, of the host's sums and of sums from devices. */
void grid_finish_planes(const grove_call *call, const gridded *from, grove_array *out);
/* Sums of weights, one for each band. */
int grid_finish_sum(const grove_call *call, void *state, grove_array *out);

/* Of the classes, see unstable/keep.h. */
int grid_add_on_device(const grove_call *call, void *state, int count);
int grid_merge_device(const grove_call *call, void *state, void *other);
int grid_finish_on_device(const grove_call *call, void *state);
int grid_add_sum_on_device(const grove_call *call, void *state, int count);
int grid_merge_sum(const grove_call *call, void *state, void *other);

#endif
