/* Class `plane`, an image with numbers that the test chooses; visibilities of a tree, and their
 * direct Fourier sums. */
#ifndef GROVE_TESTS_IMAGE_TESTING_H
#define GROVE_TESTS_IMAGE_TESTING_H

#include "tests/common/testing.h"

enum { PLANE_MAX = 64 };

/* A tree's first lines: visibilities, baselines and frequencies of the class `probe`. */
#define PROBE "obs = probe()\nV = 1 * obs.data\nu = 1 * obs.uvw\nf = 1 * obs.freq\n"

/* Members of `plane`: pixels [m l], and stokes [m l], vectors of 4. Pixel k of an axis lies at
 * centre + (k - size / 2) cell.. */
typedef struct {
    int size[2]; /* along l, along m */
    double cell[2], centre[2];
    double stokes[PLANE_MAX * PLANE_MAX][4]; /* [m][l]; the first of each is the pixel */
} plane;

extern plane plane_now;

/* Registers the class; plane_now is all 0. */
void plane_begin(testing *t);

/* The nodes V, u = 1 * obs.uvw and f = 1 * obs.freq of a tree: visibilities [time][baseline][freq]
 * of 4 elements with their flags, and weights, 1 until the test changes them. */
typedef struct {
    testing_value v, uvw, freq;
    unsigned char *flags; /* of each element */
    double *weight;       /* of each sample */
    int64_t samples, channels;
    bool circular, without_w;
} image_data;

image_data image_data_read(testing *t, bool circular);
/* Stokes parameter 0 to 3 of a sample. */
double complex image_data_stokes(const image_data *data, int64_t sample, int parameter);
/* Sum of weight V exp(2 pi i (u l + v m + w (n - 1))), real part, over the sum of the weights. */
double image_data_sum(const image_data *data, int parameter, double l, double m);
/* ||image - sums|| / ||sums|| over the pixels of an image (m, l), element e of each, which is
 * Stokes parameter `parameter`. */
double image_data_distance(const image_data *data, const testing_value *image, int e,
                           int parameter);

/* Re <a, b> over all numbers; adds sum |a| |b| to `size`. */
double testing_inner(const testing_value *a, const testing_value *b, double *size);
/* A node has the same bits for any number of threads, and within the tolerance in other tiles. */
void testing_tiles_and_threads(testing *t, const char *name, bool double_precision,
                               double tolerance);

#endif
