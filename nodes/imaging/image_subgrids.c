#include "nodes/imaging/image_subgrids.h"
#include "nodes/imaging/image_plane.h"
#include "nodes/imaging/image_share.h"

#include "util.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void image_subgrids_report(grove_node *node, const grove_node *obs, const grove_idg_plan *p,
                           const image_terms *terms, int64_t groups)
{
    const double each = image_share_estimate(obs, p, terms, groups);
    char many[60] = "", tiles[100] = "";

    if (each > 0)
        snprintf(many, sizeof(many), ", about %.3g visibilities in each", each);
    if (p->tile)
        snprintf(tiles, sizeof(tiles), " of w-tiles of %d x %d cells, about %lld in all", p->tile,
                 p->tile, (long long)p->blocks);
    grove_node_note(node,
                    "image-domain gridding: subgrids of %d x %d pixels%s, a taper of %d cells, "
                    "%lld w-layer%s%s; error %.2g, root mean square",
                    p->side, p->side, many, p->grid.kernel.width, (long long)p->layers,
                    p->layers == 1 ? "" : "s", tiles, p->error);
}

/* ---- numbers and images ---- */

int image_subgrids_of_data(const grove_node *node, const grove_form *data, bool circular,
                           const image_terms *terms, grove_idg_mix *mix, image_stokes *stokes)
{
    image_stokes requested;
    int code = image_stokes_read(node, data, circular, &requested);

    if (!code && terms->elements > 1 && data->shape == GROVE_SCALAR)
        code = grove_node_fail_option(node, "jones",
                                      "is of matrices, which need visibilities of 2 or 4 "
                                      "correlations, not numbers");
    if (code)
        return code;
    *mix = (grove_idg_mix){.visibilities = requested.count, .images = requested.count};
    *stokes = requested;
    if (terms->elements <= 1) {
        for (int r = 0; r < requested.count; r++)
            mix->factor[r][r][0] = 1;
        return 0;
    }
    if (terms->elements == 4)
        requested.used = (1 << requested.elements) - 1;
    *stokes = (image_stokes){.elements = requested.elements, .used = requested.used};
    for (int k = 0; k < requested.elements; k++) {
        if (!(requested.used >> k & 1))
            continue;
        const int c = stokes->count++;
        stokes->factor[c][k][0] = 1;
        mix->element[c] = data->shape == GROVE_DIAGONAL ? 3 * k : k;
        for (int r = 0; r < requested.count; r++)
            memcpy(mix->factor[r][c], requested.factor[r][k], sizeof(mix->factor[r][c]));
    }
    mix->visibilities = stokes->count;
    return 0;
}

int image_subgrids_of_planes(const grove_node *node, int parameters, bool circular,
                             const image_terms *terms, grove_idg_mix *mix)
{
    image_stokes s;
    int code = image_stokes_expand(node, parameters, circular, &s);

    if (code)
        return code;
    const bool one =
        parameters == 1 && terms->elements <= 1 &&
        (!grove_node_given(node, "stokes") || !strcmp(grove_node_text(node, "stokes"), "I"));
    *mix = (grove_idg_mix){.visibilities = one ? 1 : 4, .images = parameters};
    mix->factor[0][0][0] = 1;
    for (int c = 0; c < 4 && !one; c++) {
        mix->element[c] = c;
        for (int r = 0; r < parameters; r++) {
            mix->factor[r][c][0] = s.factor[r][c][0];
            mix->factor[r][c][1] = -s.factor[r][c][1]; /* the adjoint's conjugate */
        }
    }
    return 0;
}

/* ---- cells ---- */

static void copy_numbers(const char *from, int64_t from_step, char *to, int64_t to_step,
                         int64_t count, size_t bytes)
{
    for (int64_t k = 0; k < count; k++, from += from_step, to += to_step)
        memcpy(to, from, bytes);
}

void image_subgrids_to_cells(const void *images, void *cells, int images_count, int64_t count,
                             bool double_precision)
{
    const int64_t number = double_precision ? 16 : 8;

    for (int r = 0; r < images_count; r++)
        copy_numbers((const char *)images + r * count * number, number, (char *)cells + r * number,
                     images_count * number, count, (size_t)number);
}

void image_subgrids_from_cells(const void *cells, void *images, int images_count, int64_t count,
                               bool double_precision)
{
    const int64_t number = double_precision ? 16 : 8;

    for (int r = 0; r < images_count; r++)
        copy_numbers((const char *)cells + r * number, images_count * number,
                     (char *)images + r * count * number, number, count, (size_t)number);
}

/* ---- w beyond the layers ---- */

int64_t image_subgrids_beyond(const grove_gridder_samples *s, const grove_gridder_bounds *b)
{
    const double within[3] = {b->max_u, b->max_v, b->max_w},
                 flat[3] = {b->max_u, b->max_v, INFINITY};
    int64_t beyond = 0;

    for (int64_t i = 0; i < s->rows * s->channels && !b->without_w; i++) {
        const double *uvw = s->uvw + 3 * (i / s->channels), freq = s->freq[i % s->channels];
        beyond += image_is_within(uvw, freq, flat) && !image_is_within(uvw, freq, within);
    }
    return beyond;
}

void image_subgrids_warn_beyond(const grove_node *node, const grove_idg_plan *plan, int64_t beyond,
                                const char *become)
{
    if (beyond)
        grove_node_warn(node,
                        "%lld visibilities have w beyond the layers, which reach to %.4g "
                        "wavelengths, %s; a larger max_uvw gives layers for them",
                        (long long)beyond, plan->grid.bounds.max_w, become);
}
