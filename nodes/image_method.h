/* Which gridder makes an image, or visibilities: w-stacking, or convolution functions, whose chain
 * of stages a call then stands for. */
#ifndef GROVE_NODES_IMAGE_METHOD_H
#define GROVE_NODES_IMAGE_METHOD_H

#include "nodes/image_plane.h"
#include "nodes/image_stage.h"

/* clang-format off */
#define IMAGE_METHOD_OPTIONS                                                                       \
    {"method", GROVE_CHOICE, "auto",                                                               \
     "w_stack: improved w-stacking; aw: convolution_functions, of w and of jones; idg: "           \
     "image-domain gridding; auto: aw with jones, else w_stack or aw, whichever is estimated to "  \
     "take less time",                                                                             \
     .choices = "auto w_stack aw idg"},                                                            \
    IMAGE_STAGE_IDG_OPTIONS,                                                                \
    {"jones", GROVE_VALUE, "none",                                                                 \
     "a Jones term of each direction of a sky_grid, and maybe of each station, time and channel, " \
     "E in place of E[p], through which the sky is seen; none: without one",                       \
     .handing = GROVE_AS_COMPLEX, .shapes = GROVE_JONES, .own_axes = true},                        \
    {"support", GROVE_INTEGER, "none", "of method=aw: as of convolution_functions"},               \
    {"times", GROVE_INTEGER, "1", "of method=aw and idg: so many times in a row share a term"},         \
    {"channels", GROVE_INTEGER, "1", "of method=aw and idg: the same of channels"},                        \
    {"samples", GROVE_CHOICE, "none", "of method=aw: as of convolution_functions",                 \
     .choices = "nearest linear"}
/* Of classes that have them not for functions that are given, and have room for one more value. */
#define IMAGE_METHOD_OPTIONS_ALONE                                                                 \
    {"alike", GROVE_VALUE, "none",                                                                 \
     "of method=aw: a number for each station; those with the same one have the same jones",       \
     .handing = GROVE_AS_DOUBLE, .shapes = GROVE_SCALAR, .linear = GROVE_SELECTOR,                 \
     .own_axes = true},                                                                            \
    {"oversampling", GROVE_INTEGER, "none", "of method=aw: as of convolution_functions"},          \
    {"w_planes", GROVE_INTEGER, "none", "of method=aw: as of convolution_functions"}
/* clang-format on */

/* What the options ask for, and what there is. */
typedef struct {
    grove_gridder_image image;
    double longest[3];  /* |u|, |v|, |w|, wavelengths; 0: not known */
    double baseline;    /* the longest, wavelengths */
    const char *stokes; /* of the images */
    double samples;     /* visibilities of one polarisation */
    int bands;          /* images that they are shared out among */
    const char *only;   /* an option that functions do not have; NULL: none is given */
} image_method;

/* Only in check: whether functions are the method, of which a note tells; else `why` is for that of
 * the class: why, how exact it is, and how long it takes. 0, or a code with a message where options
 * do not go together. */
int image_method_choose(grove_node *node, const image_method *method, bool *aw, char why[200]);
/* The same of a stage: aw is with jones, or asked for, and without functions that are given. */
int image_method_of_stage(const grove_node *node, bool *aw);
/* Image-domain gridding, which is asked for: whether it has what is asked for beside, and a note of
 * its plan, error and time. 0, or a code with a message. */
int image_method_choose_idg(grove_node *node, const image_method *method);
/* Whether it is asked for image-domain gridding. */
bool image_method_is_idg(const grove_node *node);
/* The functions as an expression in the node's options, and in those of the stages, as `stage` has
 * them; to be freed. `stokes`: of the images. */
char *image_method_functions(const grove_node *node, const char *stokes, const char *stage);
/* Whether functions are of numbers, that is, of one image. */
bool image_method_is_scalar(const grove_node *node, const char *stokes);

#endif
