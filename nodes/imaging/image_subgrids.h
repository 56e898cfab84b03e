/* Notes and warnings of grid and degrid about image-domain gridding, and the numbers in its
 * images. */
#ifndef GROVE_NODES_IMAGE_SUBGRIDS_H
#define GROVE_NODES_IMAGE_SUBGRIDS_H

#include "../../kernels/imaging/idg/idg.h"
#include "nodes/imaging/image_stokes.h"
#include "nodes/imaging/image_terms.h"
#include "plugin.h"

/* Only in check: a note of that, of subgrids, layers and error. */
void image_subgrids_report(grove_node *node, const grove_node *obs, const grove_idg_plan *plan,
                           const image_terms *terms, int64_t groups);

/* The numbers of a visibility, and the images made of them, by the option stokes. For grid they are
 * data of a form, `stokes` makes the images; 0, or a code with a message. */
int image_subgrids_of_data(const grove_node *node, const grove_form *data, bool circular,
                           const image_terms *terms, grove_idg_mix *mix, image_stokes *stokes);
/* For degrid they are correlations of `parameters` Stokes parameters; of I, through numbers, one
 * number.
 */
int image_subgrids_of_planes(const grove_node *node, int parameters, bool circular,
                             const image_terms *terms, grove_idg_mix *mix);

/* From images [image][count] to cells [count][image], and back, complex numbers. */
void image_subgrids_to_cells(const void *images, void *cells, int images_count, int64_t count,
                             bool double_precision);
void image_subgrids_from_cells(const void *cells, void *images, int images_count, int64_t count,
                               bool double_precision);

/* The number of samples with |w| beyond the layers, and u and v within the limits. */
int64_t image_subgrids_beyond(const grove_gridder_samples *samples,
                              const grove_gridder_bounds *bounds);
/* Warns of them; `become`: their treatment. 0 is fine. */
void image_subgrids_warn_beyond(const grove_node *node, const grove_idg_plan *plan, int64_t beyond,
                                const char *become);

#endif
