/* The state of degrid, and its work on a device. */
#ifndef GROVE_NODES_DEGRID_H
#define GROVE_NODES_DEGRID_H

#include "../../kernels/imaging/gridder/gridder.h"
#include "../../kernels/imaging/idg/idg.h"
#include "nodes/imaging/image_convolve.h"
#include "nodes/imaging/image_cube.h"
#include "nodes/imaging/image_device.h"
#include "nodes/imaging/image_functions.h"
#include "nodes/imaging/image_subgrids_device.h"
#include "nodes/imaging/image_terms.h"

#include <pthread.h>

/* Inputs. */
enum { PLANES, UVW, FREQ, FUNCTIONS, MUELLER /* and those after it */ };

typedef struct {
    grove_gridder_plan plan;
    bool has_functions, is_idg;
    grove_idg_plan idg;
    image_terms terms;       /* its jones */
    int64_t times, channels; /* of the observation */
    grove_convolution_plan convolution;
    image_mueller mueller; /* of the functions */
    int32_t *index;        /* its sets; NULL: there is a single function */
    image_cube cube;       /* planes at several frequencies */
    char *expression;      /* equivalent expression of a call; NULL: itself */
} options_read;

/* The planes that were last asked for, and functions, in one of two gridders. */
typedef struct {
    pthread_mutex_t lock;
    grove_gridder *gridder;
    grove_convolution *convolution;
    grove_idg *idg;
    grove_idg_counts counts; /* of its subgrids */
    int64_t beyond;          /* its layers, by w alone; of those outside */
    grove_hash planes_hash;
    bool has_planes; /* there are some */
    grove_hash functions_hash;
    uint64_t functions_serial;      /* grove_call_serial */
    int64_t outside;                /* visibilities */
    grove_gridder_outside left_out; /* by the functions */
    image_device *devices;          /* the state of each */
    image_convolve *convolving;     /* and of functions */
    image_subgrids_device *subgrids;
    int device_count, convolving_count, subgrids_count;
} degridding;

/* Planes of the call; of a cube, at one of its frequencies. */
typedef struct {
    const char *from;
    int64_t step[3];      /* bytes along u, v, w_plane */
    const int64_t *grid;  /* cells along u and v */
    int64_t planes, cell; /* bytes of a cell */
} degrid_given;

degrid_given degrid_planes(const grove_call *call, int plane);
/* Whether they lie as [w_plane][v][u]: a step along an axis of one cell does not matter. */
bool degrid_is_dense(const degrid_given *g);
/* Of the numbers, row by row where they lie. */
grove_hash degrid_hash_planes(const degrid_given *g);
/* Dense planes in the order of the gridder, which the caller frees. NULL: no memory. */
void *degrid_copy_planes(const degrid_given *g);

/* Planes of the call are found in the gridder, or made; see degrid_cube.c for all of them. */
int degrid_find_planes(const grove_call *call, degridding *d, int plane);
/* Samples of the call from its planes, of a cube from all planes in which their channels have a
 * share. 0, or a code. */
int degrid_predict_all(const grove_call *call, degridding *d, const grove_gridder_samples *samples);

/* Only in check: the plan of the option method, and jones of image-domain gridding. 0, or a code
 * with a message. */
int degrid_choose_plan(grove_node *node, options_read *o);
uint64_t degrid_subgrids_bytes(const options_read *o);
uint64_t degrid_subgrids_device_bytes(const options_read *o);
/* Once the frequencies of the planes are known: a note of subgrids. */
void degrid_describe_subgrids(grove_node *node, const options_read *o);
/* The terms of the call, to be freed by image_terms_free in any case. 0, or a code. */
int degrid_make_terms(const grove_call *call, const grove_gridder_samples *samples,
                      image_terms_made *made);
int degrid_predict_subgrids_on_device(const grove_call *call, degridding *d,
                                      const image_device_inputs *in);
/* Reports the number of subgrids, and samples beyond the layers. */
void degrid_report_subgrids(const grove_node *node, const degridding *d);
/* Numbers of a cell of the planes, and complex numbers of a visibility. */
int degrid_parameters(const options_read *o);
int degrid_numbers(const options_read *o);

int degrid_on_device(const grove_call *call);

#endif
