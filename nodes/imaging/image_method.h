/* Which gridder makes an image, or visibilities: w-stacking, or convolution functions or
 * image-domain gridding, whose chain of stages then replaces a call. */
#ifndef GROVE_NODES_IMAGE_METHOD_H
#define GROVE_NODES_IMAGE_METHOD_H

#include "nodes/imaging/image_plane.h"
#include "nodes/imaging/image_stage.h"

/* clang-format off */
#define IMAGE_METHOD_OPTIONS                                                                       \
    {"method", GROVE_CHOICE,                                                                       \
     "w_stack: improved w-stacking; aw: convolution_functions, of w and of jones; idg: image-domain gridding; auto: the method with the shortest estimated time; with jones aw or idg, in grid and degrid aw",\
     .initial = "auto",                                                                            \
     .choices = "auto w_stack aw idg"},                                                            \
    IMAGE_STAGE_IDG_OPTIONS,                                                                       \
    {"jones", GROVE_VALUE,                                                                         \
     "a Jones term of each direction of a sky_grid, and maybe of each station, time and channel, " \
     "E in place of E[p], through which the sky is seen; none: without one",                       \
     .initial = "none",                                                                            \
     .handing = GROVE_AS_COMPLEX, .shapes = GROVE_JONES, .own_axes = true},                        \
    {"support", GROVE_INTEGER, "for method=aw: as of convolution_functions", .initial = "none"},   \
    {"times", GROVE_INTEGER, "for method=aw and idg: number of successive times that share a term", .initial = "1"},         \
    {"channels", GROVE_INTEGER, "for method=aw and idg: the same for channels", .initial = "1"},   \
    {"samples", GROVE_CHOICE, "for method=aw: as of convolution_functions", .initial = "none",     \
     .choices = "nearest linear"}
/* Of classes that have them not for functions that are given, and have room for one more value. */
#define IMAGE_METHOD_OPTIONS_ALONE                                                                 \
    {"alike", GROVE_VALUE,                                                                         \
     "for method=aw: a number for each station; stations with the same number have the same jones",\
     .initial = "none",                                                                            \
     .handing = GROVE_AS_DOUBLE, .shapes = GROVE_SCALAR, .linear = GROVE_SELECTOR,                 \
     .own_axes = true},                                                                            \
    {"oversampling", GROVE_INTEGER, "for method=aw: as of convolution_functions", .initial = "none"},          \
    {"w_planes", GROVE_INTEGER, "for method=aw: as of convolution_functions", .initial = "none"}
/* clang-format on */

/* The options and the data. */
typedef struct {
    grove_gridder_image image;
    double longest[3];  /* |u|, |v|, |w|, wavelengths; 0: not known */
    double baseline;    /* the longest, wavelengths */
    const char *stokes; /* of the images */
    double samples;     /* visibilities of one polarisation */
    int bands;          /* images that they are shared out among */
    const char *only;   /* an option that functions do not have; NULL: none is given */
} image_method;

/* By whose costs methods are chosen. */
typedef enum { IMAGE_BY_CORE, IMAGE_BY_GPU } image_method_costs;

typedef enum { IMAGE_W_STACK, IMAGE_AW, IMAGE_IDG } image_method_kind;

/* Only in check: which method it is, by the costs of a GPU where the machine has one. A note
 * describes functions and image-domain gridding; `why` is for the class's note: the reason, the
 * error, and the time of all methods. 0, or a code with a message where options do not go
 * together. */
int image_method_choose(grove_node *node, const image_method *method, image_method_kind *kind,
                        char why[200]);
/* Image-domain gridding: seconds, INFINITY where it cannot be done, and its error. Where it takes
 * `worth` seconds or more, or the antennas' positions are not known, the seconds may be only a
 * lower bound. */
typedef struct {
    double seconds, error;
    bool is_bound;
} image_method_idg;

image_method_idg image_method_estimate_idg(const grove_node *node, const image_method *method,
                                           image_method_costs costs, double worth);
/* The same of a stage: aw is with jones, or asked for, and without functions that are given. */
int image_method_of_stage(const grove_node *node, bool *aw);
/* Whether image-domain gridding is asked for. */
bool image_method_is_idg(const grove_node *node);
/* The functions as an expression in the node's options, and in the options of the stages, as
 * `stage` has them; to be freed. `stokes`: of the images. */
char *image_method_functions(const grove_node *node, const char *stokes, const char *stage);
/* Whether functions are of numbers, that is, of one image. */
bool image_method_is_scalar(const grove_node *node, const char *stokes);

#endif
