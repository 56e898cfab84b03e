/* Convolution functions as a value: axes w_function, the planes of w of one function after the
 * other, and fine, the fine samples (v, u) of one plane, u fastest; a complex number for each. */
#ifndef GROVE_NODES_IMAGE_FUNCTIONS_H
#define GROVE_NODES_IMAGE_FUNCTIONS_H

#include "../../kernels/imaging/convolution/convolution.h"
#include "nodes/imaging/image_mueller.h"
#include "nodes/imaging/image_stage.h"

/* n - 1 of an image's pixels: the middle and half of its range. GROVE_INVALID with a message where
 * pixels are beyond the horizon. */
int image_functions_n(const grove_node *node, const grove_gridder_image *image, double *middle,
                      double *half);

/* Only in check: adds the axes of functions to the result. They are of a plan without w; `has_w`:
 * they have it, of n - 1 less its middle. */
int image_functions_add_axes(grove_node *node, const grove_gridder_plan *plan, bool has_w,
                             const grove_convolution_plan *functions, const image_mueller *mueller);
/* Only in check: whether an input is functions that were made with the same options. Sets the rest
 * of `functions`, and `mueller`, to be freed in any case. 0, or a code with a message. */
int image_functions_check(const grove_node *node, int input, const grove_gridder_plan *plan,
                          grove_convolution_plan *functions, image_mueller *mueller);

/* Only in check: without functions, options that go with them are errors. */
int image_functions_check_none(const grove_node *node);
/* Only in check: the other options about functions, of classes that take some: the options below.
 * `own`: polarisations of the data, or of the planes, as `of_data` says; the others are found. Sets
 * mueller->given where the option mueller is. 0, or a code with a message. */
int image_functions_check_given(grove_node *node, int own, bool of_data, image_mueller *mueller,
                                grove_convolution_plan *functions);

/* In a run: whether the numbers of functions, of their precision, are finite; `step`: bytes from
 * one cell to the next along w_function and fine; NULL: they are dense. 0, or a code with a
 * message. */
int image_functions_check_finite(const grove_node *node, const grove_convolution_plan *functions,
                                 const void *numbers, const int64_t step[2]);
/* In a run of an accumulator: whether flags of functions, index sets or gradients are set. 0, or a
 * code with a message. */
int image_functions_check_flags(const grove_node *node, const grove_array *const *arrays);

/* The options of classes that take functions. */
#define IMAGE_FUNCTIONS_OPTIONS                                                                    \
    {"functions",                                                                                  \
     GROVE_VALUE_NUMBER,                                                                           \
     "convolution_functions, which contain w and beams; the other stages then have "               \
     "w_terms=false; none: the kernel and planes of the other stages",                             \
     .initial = "none",                                                                            \
     .handing = GROVE_AS_COMPLEX,                                                                  \
     .shapes = GROVE_SCALAR},                                                                      \
        {"mueller",                                                                                \
         GROVE_VALUE_NUMBER,                                                                       \
         "for functions of your own: for each correlation of a visibility, and each image, the "   \
         "images fastest, the number of a function, from 0, or -1: none; none: as "                \
         "convolution_functions has made them",                                                    \
         .initial = "none",                                                                        \
         .handing = GROVE_AS_DOUBLE,                                                               \
         .shapes = GROVE_SCALAR | GROVE_VECTOR,                                                    \
         .linear = GROVE_SELECTOR},                                                                \
        {"mueller_conjugate",                                                                      \
         GROVE_VALUE_NUMBER,                                                                       \
         "the same for visibilities with w < 0, whose conjugates are gridded: functions of "       \
         "conjugate elements; none: as mueller",                                                   \
         .initial = "none",                                                                        \
         .handing = GROVE_AS_DOUBLE,                                                               \
         .shapes = GROVE_SCALAR | GROVE_VECTOR,                                                    \
         .linear = GROVE_SELECTOR},                                                                \
        {"gradient",                                                                               \
         GROVE_VALUE_ANGLE,                                                                        \
         "how far the sky of a visibility's functions is shifted, direction cosines along l and "  \
         "m: phase gradients of screens, pointing errors",                                         \
         .initial = "none",                                                                        \
         .handing = GROVE_AS_DOUBLE,                                                               \
         .shapes = GROVE_VECTOR,                                                                   \
         .vector = 2,                                                                              \
         .linear = GROVE_SELECTOR},                                                                \
        {"oversampling", GROVE_INTEGER,                                                            \
         "for functions without this information, such as from a table", .initial = "none"},       \
    {                                                                                              \
        "w_planes", GROVE_INTEGER, "for each of such functions; none: 1", .initial = "none"        \
    }

/* Numbers of a tile, 0 where they do not vary: doubles from one cell to the next. NULL: none. */
typedef struct {
    const double *at;
    int64_t time, baseline, freq;
} image_numbers;

/* Of an accumulator's input (NULL: none), from time `first` of the tile on. */
image_numbers image_numbers_of(const grove_array *array, int64_t first);

/* Inputs of a part's samples besides functions; to be freed by image_use_end. */
typedef struct {
    grove_convolution_mueller mueller;
    int32_t *index;
    double *gradient;
    bool needed; /* false: a single function for all */
} image_use;

/* `index`: as of image_mueller_index, or NULL. 0, or a code with a message where numbers of mueller
 * are no functions, or numbers of a gradient are not finite. */
int image_use_begin(const grove_node *node, const image_mueller *mueller, const int32_t *index,
                    const grove_convolution_plan *functions, const image_mueller_part *part,
                    const image_numbers numbers[3], image_use *use);
/* Only these of the part's rows (NULL: all) are rows of the samples. */
void image_use_keep_rows(image_use *use, const int64_t *list, int64_t rows, int64_t channels);
void image_use_end(image_use *use);
/* Only in check: whether index sets or gradients vary from row to row. */
bool image_use_varies_by_row(const grove_node *node);
extern const char *const image_use_names[3]; /* mueller, mueller_conjugate, gradient */

/* By which the grid of an image is divided, as a factor; 0 where it has no weight. */
double image_normalising(const image_mueller *mueller, const grove_gridder_plan *plan, double sum);
/* Divides grids [image][v][u] by their sums of weights, as of grove_convolution_add, so that a
 * source at the image's middle is seen as through one of both beams. Those without weight stay 0.
 */
void image_normalise(const grove_call *call, const image_mueller *mueller,
                     const grove_gridder_plan *plan, const double sums[4], void *grids);

/* Warns of samples that `outside` counts, if any; `become`: their treatment. */
void image_functions_warn_outside(const grove_node *node, const grove_gridder_outside *outside,
                                  const char *become);

#endif
