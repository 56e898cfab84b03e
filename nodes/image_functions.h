/* Convolution functions as a value: axes w_function, the planes of w, and fine, the fine samples
 * (v, u) of one function, u fastest; a complex number for each. */
#ifndef GROVE_NODES_IMAGE_FUNCTIONS_H
#define GROVE_NODES_IMAGE_FUNCTIONS_H

#include "../kernels/convolution/convolution.h"
#include "nodes/image_stage.h"

/* n - 1 of an image's pixels: the middle and half of its range. GROVE_INVALID with a message where
 * pixels are beyond the horizon. */
int image_functions_n(const grove_node *node, const grove_gridder_image *image, double *middle,
                      double *half);

/* Only in check: adds the axes of functions to the result. They are of a plan without w; `has_w`:
 * they have it, of n - 1 less its middle. */
int image_functions_add_axes(grove_node *node, const grove_gridder_plan *plan, bool has_w,
                             const grove_convolution_plan *functions);
/* Only in check: whether an input is functions that were made with the same options. Sets the rest
 * of `functions`. 0, or a code with a message. */
int image_functions_check(const grove_node *node, int input, const grove_gridder_plan *plan,
                          grove_convolution_plan *functions);

/* The option of classes that take functions. */
#define IMAGE_FUNCTIONS_OPTION                                                                     \
    {                                                                                              \
        "functions", GROVE_VALUE, "none",                                                          \
            "convolution_functions, by which w and beams enter; the other stages then have "       \
            "w_terms=false; none: the kernel and planes of the other stages",                      \
            .handing = GROVE_AS_COMPLEX, .shapes = GROVE_SCALAR                                    \
    }

/* What `outside` has left out, if anything, as a warning; `become`: what is left in place. */
void image_functions_warn_outside(const grove_node *node, const grove_gridder_outside *outside,
                                  const char *become);

#endif
