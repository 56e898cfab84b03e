/* Shared by the stages of an image: the grid of uv planes that their options choose. */
#ifndef GROVE_NODES_IMAGE_STAGE_H
#define GROVE_NODES_IMAGE_STAGE_H

#include "../../kernels/imaging/idg/idg.h"
#include "nodes/imaging/image_plane.h"

/* clang-format off */
#define IMAGE_STAGE_OPTIONS                                                                        \
    IMAGE_PLANE_OPTIONS,                                                                           \
    IMAGE_CENTRE_OPTION,                                                                           \
    {"epsilon", GROVE_NUMBER,                                                                      \
     "relative error of the image, root mean square, at most, from 1e-12; below 1e-5 it is double " \
     "precision in any run",                                                                       \
     .initial = "1e-4"},                                                                           \
    {"w_terms", GROVE_BOOL, "false: the sky counts as flat, and w as 0", .initial = "true"},       \
    IMAGE_STAGE_MAX_UVW
#define IMAGE_STAGE_MAX_UVW                                                                        \
    {"max_uvw", GROVE_NUMBER_LIST,                                                                 \
     "the largest absolute values of u, v and w, m, or one for all: visibilities beyond them are left out; none: the largest distance between antennas",\
     .initial = "none"}
#define IMAGE_STAGE_IDG_OPTIONS                                                                    \
    {"subgrid", GROVE_INTEGER,                                                                     \
     "for method=idg: pixels of a subgrid along each side, 16, 24, 32, 40, 48 or 64; none: the fastest choice for epsilon",\
     .initial = "none"},                                                                           \
    {"layers", GROVE_INTEGER, "for method=idg: w-layers; none: the fastest choice for epsilon", .initial = "none"},                  \
    {"w_tiles", GROVE_CHOICE,                                                                      \
     "for method=idg: yes: tiles of the grid have their own w-layers, in place of planes; auto: the faster choice",\
     .initial = "auto", .choices = "auto yes no"}
/* clang-format on */

/* The largest |u|, |v| and |w|, wavelengths at the highest frequency, by max_uvw or the antennas'
 * positions; 0: not known. 0, or a code with a message. */
int image_stage_longest(const grove_node *node, const grove_node *obs, double longest[3]);
/* The limit beyond which baselines do not count, for a message: "max_uvw". */
const char *image_stage_limit(const grove_node *node);

/* The image and the bounds that the options give; `flat`: without w, regardless of w_terms. 0, or a
 * code with a message. */
int image_stage_read(const grove_node *node, const grove_node *obs, bool flat,
                     grove_gridder_image *image, grove_gridder_bounds *bounds);
/* Chooses kernels, grid and planes of one image by the options and by the antennas' positions,
 * beyond which no baseline is: the same options give the same planes. `flat`: a single one,
 * regardless of w_terms. 0, or a code with a message. */
int image_stage_plan(const grove_node *node, const grove_node *obs, bool flat,
                     grove_gridder_plan *plan);
/* The same for image-domain gridding, whose grid is plan->grid. If max_uvw is not given it depends
 * on the observation's times and channels, too. */
int image_stage_plan_idg(const grove_node *node, const grove_node *obs, grove_idg_plan *plan);
/* The options of a plan, and the numbers chosen by them and the observation, as the label of an
 * axis; to be freed. */
char *image_stage_label(const grove_node *node, const grove_gridder_plan *plan);
/* Whether a label is this plan's. 0, or GROVE_SHAPE with a message that names the difference. */
int image_stage_check_label(const grove_node *node, const char *label,
                            const grove_gridder_plan *plan);

/* The axes of a stage's array besides w_plane. */
typedef enum { IMAGE_STAGE_GRID /* v, u */, IMAGE_STAGE_SKY /* m, l */ } image_stage;

/* The axes that the planes have along u and v, wavelengths, or after their transform along l and m,
 * from the middle of the image: number k - grid / 2 times the step. */
double image_stage_step(const grove_gridder_plan *plan, image_stage stage, int d);
extern const char *const image_stage_names[2][2]; /* along l or u, along m or v */

/* Only in check: adds the axes w_plane (wavelengths) and the stage's axes to the result. The labels
 * of w_plane have the options of the planes. */
int image_stage_add_axes(grove_node *node, const grove_gridder_plan *plan, image_stage stage);
/* Whether an input has these axes, and was made with the same options. 0, or GROVE_SHAPE with a
 * message. */
int image_stage_check(const grove_node *node, int input, const grove_gridder_plan *plan,
                      image_stage stage);

/* Bytes from one cell to the next of an axis of a class's input where the class consumes the axis;
 * 0: there is none. */
int64_t image_stage_in_step(const grove_args *args, int input, const char *name);

/* Walks through all cells of the axes that a transform of u and v, or l and m, does not change;
 * with `planes`, of all except w_plane. */
typedef struct {
    const grove_args *args;
    int64_t index[GROVE_MAX_AXES], at, cells;
    bool other[GROVE_MAX_AXES];
} image_stage_others;

void image_stage_begin(image_stage_others *others, const grove_args *args, bool planes);
/* The next cell; false after the last one. */
bool image_stage_next(image_stage_others *others);

#endif
