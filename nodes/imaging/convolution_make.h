/* Convolution functions of Jones terms on a raster of directions, for planes of w: the value of the
 * class convolution_functions. */
#ifndef GROVE_NODES_CONVOLUTION_MAKE_H
#define GROVE_NODES_CONVOLUTION_MAKE_H

#include "nodes/imaging/image_functions.h"
#include "nodes/imaging/image_mueller.h"

typedef struct {
    grove_gridder_plan plan; /* without w */
    grove_convolution_plan functions;
    image_mueller mueller;
    const grove_axis *raster[2]; /* l, m of the input; NULL: the same for all directions */
    double half_n;
    double kernel_error; /* of the kernel, as the functions have it */
    double error;        /* of samples, planes and kernel, relative, root mean square */
} convolution_making;

/* The requested numbers; 0: not given. */
typedef struct {
    bool has_support;
    int64_t support, oversampling, planes;
    int linear; /* 0: the nearest sample and plane, 1: linear interpolation, -1: either */
    bool with_w;
    double epsilon;
} convolution_request;

/* Chooses support, samples, planes and their error by epsilon, or as given, and by plan, raster,
 * half_n and functions.scale, .functions. NULL, or the option at fault, and why. */
const char *convolution_size(convolution_making *c, const convolution_request *request,
                             char reason[400]);
/* Reads the options of a node. 0, or a code with a message. */
int convolution_read_request(const grove_node *node, convolution_request *request);
/* The same by the options of a node. 0, or a code with a message. */
int convolution_choose(const grove_node *node, convolution_making *c);

/* Pixels of the raster along l or m that count, the first of them, and their direction cosines (at:
 * NULL, or room for them). */
int64_t convolution_pixels(const convolution_making *c, int d, int64_t *first, double *at);
/* Bytes that making takes. */
uint64_t convolution_work_bytes(const convolution_making *c);

/* Makes all functions: `jones` [time block][group][channel block][m][l][element] complex numbers of
 * the pixels that count. `out` is [function][plane][fine] of the call's precision. 0, or a code
 * with a message. */
int convolution_make(const grove_call *call, const convolution_making *c, const double *jones,
                     void *out);

/* Seconds that making functions takes, and gridding or predicting by them `samples` samples of
 * polarisations with `each` functions each, on one core, as bench/gridder has found. */
double convolution_seconds(const convolution_making *c, double samples, double each);
/* The same of an H100, as counted; a core makes the functions. */
double convolution_device_seconds(const convolution_making *c, double samples, double each);

#endif
