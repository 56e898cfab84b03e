/* What grid and degrid tell of image-domain gridding, and what its images are of. */
#ifndef GROVE_NODES_IMAGE_SUBGRIDS_H
#define GROVE_NODES_IMAGE_SUBGRIDS_H

#include "../../kernels/imaging/idg/idg.h"
#include "nodes/imaging/image_stokes.h"
#include "nodes/imaging/image_terms.h"
#include "plugin.h"

/* Only in check: a note of that, of subgrids, layers and error. */
void image_subgrids_tell(grove_node *node, const grove_node *obs, const grove_idg_plan *plan,
                         const image_terms *terms, int64_t groups);

/* What a visibility's numbers are, and how images are made of them, by the option stokes: those of
 * grid are data of a form, `stokes` makes them; 0, or a code with a message. */
int image_subgrids_of_data(const grove_node *node, const grove_form *data, bool circular,
                           const image_terms *terms, grove_idg_mix *mix, image_stokes *stokes);
/* Those of degrid are correlations of so many Stokes parameters; of I, through numbers, one number.
 */
int image_subgrids_of_planes(const grove_node *node, int parameters, bool circular,
                             const image_terms *terms, grove_idg_mix *mix);

/* From images [image][count] to cells [count][image], and back, complex numbers. */
void image_subgrids_to_cells(const void *images, void *cells, int images_count, int64_t count,
                             bool double_precision);
void image_subgrids_from_cells(const void *cells, void *images, int images_count, int64_t count,
                               bool double_precision);

/* |w| beyond that of the layers, where u and v are not beyond: how many samples. */
int64_t image_subgrids_beyond(const grove_gridder_samples *samples,
                              const grove_gridder_bounds *bounds);
/* Warns of them; `become`: what is left in place. 0 is fine. */
void image_subgrids_warn_beyond(const grove_node *node, const grove_idg_plan *plan, int64_t beyond,
                                const char *become);

#endif
