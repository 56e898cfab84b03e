/* The restoring beam: an elliptical Gaussian fitted to the main lobe of a point-spread function. */
#include "nodes/imaging/image_plane.h"

#include "util.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { PARAMETERS = 3, MAX_STEPS = 50 };

static const grove_port inputs[] = {
    {"psf", GROVE_VALUE, "a point-spread function (m, l), as of psf_image",
     .handing = GROVE_AS_DOUBLE},
    {0},
};

/* The psf is exp(-(a x^2 + 2 b x y + c y^2)), x along l and y along m, in pixels. */
typedef struct {
    const char *psf;
    int64_t size[2], step[2]; /* along l and m, pixels and bytes */
    int64_t middle[2];        /* the pixel at the centre */
    double level;             /* pixels above it count */
    int64_t reach;            /* and lie within this number of pixels of the centre */
} lobe;

static int check(grove_node *node)
{
    grove_gridder_image *image = grove_alloc(sizeof(*image));
    grove_form form = {.shape = GROVE_VECTOR,
                       .vector = PARAMETERS,
                       .precision = GROVE_PRECISION_DOUBLE,
                       .unit = {.rad = 1}};

    grove_node_set_user(node, image);
    int code = image_plane_of_input(node, 0, image);
    if (code)
        return code;
    grove_node_consume(node, grove_axis_kind("l"));
    grove_node_consume(node, grove_axis_kind("m"));
    grove_node_set_output(node, &form);
    return 0;
}

static void close_node(grove_node *node)
{
    free(grove_node_user(node));
}

static double psf_at(const lobe *p, int64_t x, int64_t y)
{
    const int64_t at[2] = {x + p->middle[0], y + p->middle[1]};

    if (at[0] < 0 || at[0] >= p->size[0] || at[1] < 0 || at[1] >= p->size[1])
        return 0;
    const void *number = p->psf + at[0] * p->step[0] + at[1] * p->step[1];
    return *(const double *)number;
}

/* How far the main lobe reaches: to where, along each of eight directions, it falls below the
 * level. */
static int64_t find_reach(const lobe *p)
{
    static const int directions[8][2] = {{1, 0},  {1, 1},   {0, 1},  {-1, 1},
                                         {-1, 0}, {-1, -1}, {0, -1}, {1, -1}};
    int64_t farthest = 1;

    for (int d = 0; d < 8; d++) {
        int64_t k = 1;
        while (psf_at(p, k * directions[d][0], k * directions[d][1]) > p->level)
            k++;
        farthest = k > farthest ? k : farthest;
    }
    return farthest;
}

static bool in_lobe(const lobe *p, int64_t x, int64_t y, const double a[PARAMETERS])
{
    /* Beyond where the fit itself is below half the level lie sidelobes. */
    double exponent = a[0] * (double)(x * x) + 2 * a[1] * (double)(x * y) + a[2] * (double)(y * y);

    return psf_at(p, x, y) > p->level && exponent < -log(0.5 * p->level);
}

/* Solves the 3 x 3 symmetric system in place. */
static bool solve(double m[PARAMETERS][PARAMETERS + 1])
{
    for (int k = 0; k < PARAMETERS; k++) {
        if (!(m[k][k] > 0))
            return false;
        for (int i = 0; i < PARAMETERS; i++) {
            double factor = i == k ? 0 : m[i][k] / m[k][k];
            for (int j = 0; j <= PARAMETERS && i != k; j++)
                m[i][j] -= factor * m[k][j];
        }
    }
    for (int k = 0; k < PARAMETERS; k++)
        m[k][PARAMETERS] /= m[k][k];
    return true;
}

/* One step of the least-squares fit: of the logarithm, weighted, or of the psf itself. */
static bool step(const lobe *p, bool logarithm, double a[PARAMETERS], double *change)
{
    double m[PARAMETERS][PARAMETERS + 1] = {{0}};

    for (int64_t y = -p->reach; y <= p->reach; y++)
        for (int64_t x = -p->reach; x <= p->reach; x++) {
            if (!in_lobe(p, x, y, a))
                continue;
            double psf = psf_at(p, x, y), xx = (double)(x * x), xy = (double)(x * y),
                   yy = (double)(y * y);
            double model = exp(-(a[0] * xx + 2 * a[1] * xy + a[2] * yy));
            double slope = logarithm ? psf : model;
            double rest = logarithm
                              ? -psf * log(psf) - psf * (a[0] * xx + 2 * a[1] * xy + a[2] * yy)
                              : model - psf;
            double row[PARAMETERS] = {slope * xx, slope * 2 * xy, slope * yy};
            for (int i = 0; i < PARAMETERS; i++) {
                for (int j = 0; j < PARAMETERS; j++)
                    m[i][j] += row[i] * row[j];
                m[i][PARAMETERS] += row[i] * rest;
            }
        }
    if (!solve(m))
        return false;
    *change = 0;
    for (int i = 0; i < PARAMETERS; i++) {
        a[i] += m[i][PARAMETERS];
        *change += fabs(m[i][PARAMETERS]);
    }
    return true;
}

static bool fit(lobe *p, double a[PARAMETERS])
{
    double change = 1;

    p->reach = find_reach(p);
    /* To begin with, all of the main lobe counts. */
    memset(a, 0, PARAMETERS * sizeof(*a));
    if (!step(p, true, a, &change))
        return false;
    for (int k = 0; k < MAX_STEPS && change > 1e-12 * (fabs(a[0]) + fabs(a[2])); k++)
        if (!step(p, false, a, &change) || !(a[0] * a[2] > a[1] * a[1]))
            return false;
    return a[0] > 0 && a[2] > 0;
}

/* Widths and the angle, in direction cosines, x to the east: position angles are from north through
 * east. */
static void describe(const double a[PARAMETERS], const grove_gridder_image *image, double *beam)
{
    double xx = a[0] / (image->cell[0] * image->cell[0]),
           xy = a[1] / (image->cell[0] * image->cell[1]),
           yy = a[2] / (image->cell[1] * image->cell[1]);
    double mean = (xx + yy) / 2, spread = hypot((xx - yy) / 2, xy);

    beam[0] = 2 * sqrt(log(2) / (mean - spread));
    beam[1] = 2 * sqrt(log(2) / (mean + spread));
    /* Towards (sin angle, cos angle) the curvature is mean + (yy - xx) / 2 cos(2 angle) + xy sin(2
       angle), which is least along the major axis. */
    beam[2] = spread > 1e-12 * mean ? 0.5 * atan2(-2 * xy, xx - yy) : 0;
}

static int eval(const grove_call *call)
{
    const grove_gridder_image *image = grove_node_user(call->node);
    const grove_args *args = call->args;
    const int axis[2] = {grove_args_axis(args, grove_axis_kind("l")),
                         grove_args_axis(args, grove_axis_kind("m"))};
    lobe p = {.level = 0.35};
    int64_t cells = 1;

    for (int d = 0; d < 2; d++) {
        p.size[d] = image->size[d];
        p.middle[d] = image->size[d] / 2 - (int64_t)rint(image->centre[d] / image->cell[d]);
        p.step[d] = axis[d] < 0 ? 0 : args->in[0].stride[axis[d]];
    }
    for (int d = 0; d < args->axes; d++)
        cells *= d == axis[0] || d == axis[1] ? 1 : args->size[d];
    /* One beam for each cell of the psf's other axes. */
    for (int64_t k = 0; k < cells; k++) {
        int64_t index[GROVE_MAX_AXES] = {0}, rest = k;
        double a[PARAMETERS];
        for (int d = args->axes - 1; d >= 0; d--)
            if (d != axis[0] && d != axis[1]) {
                index[d] = rest % args->size[d];
                rest /= args->size[d];
            }
        p.psf = grove_view_at(&args->in[0], index, args->axes);
        double *beam = (double *)(void *)grove_view_at(&args->out, index, args->axes);
        if (fit(&p, a)) {
            describe(a, image, beam);
            continue;
        }
        grove_node_warn(call->node, "no Gaussian fits to the middle of the point-spread function: "
                                    "the beam is not a number");
        beam[0] = beam[1] = beam[2] = NAN;
    }
    return 0;
}

GROVE_CLASS(fit_beam) = {
    GROVE_CLASS_HEAD(fit_beam),
    .doc =
        "The restoring beam: an elliptical Gaussian fitted to the main lobe of a point-spread "
        "function.\nLeast squares of the pixels above 0.35 around the centre, where the Gaussian "
        "is 1. Sidelobes, and lower pixels, such as a plateau around the lobe, are left out.",
    .output_doc = "a vector: full widths at half maximum along the major and the minor axis, and "
                  "the major axis' position angle from north through east, rad",
    .group = "images",
    .inputs = inputs,
    .check = check,
    .eval = eval,
    .close = close_node,
    .example = "beam = fit_beam(psf_image(obs, size=64, cell=4arcsec))",
};
