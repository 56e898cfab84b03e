/* The inside of predict_image, shared with its work on devices. */
#ifndef GROVE_NODES_PREDICT_IMAGE_H
#define GROVE_NODES_PREDICT_IMAGE_H

#include "nodes/imaging/image_cube.h"
#include "nodes/imaging/image_device.h"
#include "nodes/imaging/image_plane.h"

#include <pthread.h>

/* Inputs. */
enum { PREDICTION_IMAGE, PREDICTION_UVW, PREDICTION_MAX_UVW, PREDICTION_FREQ };

typedef struct {
    grove_gridder_image image;
    image_stokes stokes;
    double epsilon, highest;
    double longest; /* u, v and w beyond are 0, wavelengths; 0: only beyond max_uvw */
    bool without_w, exact;
    int max_uvw;       /* input of the largest |u|, |v|, |w| */
    int max_freq;      /* input of the highest of frequencies that are given; -1: none are */
    int kind[2];       /* of the axes l and m */
    uint64_t fixed[2]; /* bytes besides the planes of w, in single and in double precision */
    image_cube cube;
    char *expression; /* equivalent expression of a call; NULL: itself */
    char why[200];    /* of the method */
} predictor;

/* The transform of an image. */
typedef struct {
    grove_gridder *gridder;
    grove_gridder_plan plan;
    grove_hash hash;    /* of the image */
    int64_t first, end; /* planes of w that are there; 0, 0: none */
} transformed;

/* The state of a device: planes of w of one image after the other. */
typedef struct {
    image_device device;
    grove_hash plan_hash;
    void **planes;          /* of each image; NULL: none yet */
    grove_hash *image_hash; /* of each */
} prediction_device;

/* The transforms of the image, or of a cube's planes, that was last asked for, on the host and on
 * each device. The host may have some planes of w of an image at a time. */
typedef struct {
    pthread_mutex_t lock;
    transformed *planes;
    int plane_count;
    double highest; /* frequency that its planes are for */
    grove_gridder_outside outside;
    prediction_device *devices;
    int device_count;
} prediction;

/* Bytes from the first pixel of the call's input to the first one of a plane of a cube. A consumed
 * axis follows a remaining one of the same kind. */
int64_t predictor_plane_offset(const grove_call *call, const predictor *p, int plane);
/* The highest frequency: of the channels, or of those in their place. */
double predictor_highest(const predictor *p, const double *max_freq);
/* The largest |u|, |v| and |w| that count at a frequency, wavelengths, by those in metres. */
void predictor_longest(const predictor *p, const double *max_uvw, double highest,
                       double longest[3]);
/* 0, or a code with a message. */
int predictor_plan(const grove_call *call, const predictor *p, double highest,
                   const double *max_uvw, grove_gridder_plan *plan);

/* Only in check: by option method; p->expression is the equivalent expression, or NULL: the call
 * itself. 0, or a code with a message. */
int predictor_choose_method(grove_node *node, predictor *p);

/* Of the class. */
int prediction_on_device(const grove_call *call);
void prediction_free_devices(prediction *run);

#endif
