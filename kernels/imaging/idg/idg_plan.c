/* The choice of subgrids, taper, grid and layers of image-domain gridding, by the cost that they
 * are estimated to have. */
#include "../gridder/gridder_private.h"
#include "idg_hot.h"

#include <math.h>
#include <stdio.h>

static const double pi = 3.14159265358979323846;

enum {
    MULTIPLE = 32,
    MAX_LAYERS = 1 << 14,
    MIN_WIDTH = 3,
    SHARE = 10,
    MIN_TILE = 16,
    MULTIPLE_OF_BLOCKS = 16
};

/* ---- pixels ---- */

static double taper_at(const grove_idg_plan *p, double x)
{
    return grove_gridder_kernel_transform(&p->grid.kernel, x);
}

double grove_idg_direction(const grove_idg_plan *p, int d, int j)
{
    const grove_gridder_image *image = &p->grid.image;

    return image->centre[d] +
           (j - p->side / 2) / (double)p->side * (double)p->grid.grid[d] * image->cell[d];
}

double grove_idg_n(const grove_idg_plan *p, int x, int y)
{
    return grove_gridder_n_less_1(grove_idg_direction(p, 0, x), grove_idg_direction(p, 1, y)) -
           p->grid.middle_n;
}

double grove_idg_taper(const grove_idg_plan *p, int x, int y)
{
    const double place[2] = {(x - p->side / 2) / (double)p->side,
                             (y - p->side / 2) / (double)p->side};

    return ((x + y) % 2 ? -1 : 1) * taper_at(p, place[0]) * taper_at(p, place[1]) /
           (p->side * p->side);
}

/* Half of the image's side over the grid's. */
static double edge_of(const grove_idg_plan *p, int d)
{
    return 0.5 * (double)p->grid.image.size[d] / (double)p->grid.grid[d];
}

static bool is_inside(const grove_idg_plan *p, int d, int j)
{
    return fabs((j - p->side / 2) / (double)p->side) <= edge_of(p, d) + 0.5 / p->side;
}

double grove_idg_separate(const grove_idg_plan *p, double *along_x, double *along_y)
{
    double mean = 0, error = 0, count[2] = {0, 0};

    for (int j = 0; j < p->side; j++) {
        along_x[j] = along_y[j] = 0;
        count[0] += is_inside(p, 0, j);
        count[1] += is_inside(p, 1, j);
    }
    for (int x = 0; x < p->side; x++)
        for (int y = 0; y < p->side; y++) {
            const double n = grove_idg_n(p, x, y);
            const bool in_x = is_inside(p, 0, x), in_y = is_inside(p, 1, y);
            along_x[x] += in_y ? n / count[1] : 0;
            along_y[y] += in_x ? n / count[0] : 0;
            mean += in_x && in_y ? n / (count[0] * count[1]) : 0;
        }
    for (int j = 0; j < p->side; j++) {
        along_x[j] -= mean / 2;
        along_y[j] -= mean / 2;
    }
    for (int x = 0; x < p->side; x++)
        for (int y = 0; y < p->side; y++)
            if (is_inside(p, 0, x) && is_inside(p, 1, y))
                error = fmax(error, fabs(grove_idg_n(p, x, y) - along_x[x] - along_y[y]));
    return error;
}

/* ---- errors ---- */

static double n_along(const grove_idg_plan *p, int d, double x)
{
    const grove_gridder_image *image = &p->grid.image;
    const double at = image->centre[d] + x * (double)p->grid.grid[d] * image->cell[d];

    return grove_gridder_n_less_1(at, image->centre[!d]) - p->grid.middle_n;
}

/* Of the image, more of its edges. */
static const double place[] = {-1, -0.96, -0.8, -0.4, 0.1, 0.6, 0.9, 0.98};
enum { MAX_PADDED = 1024, PLACES = 8 };

/* Numbers of pixels along one axis. */
typedef struct {
    double at[MAX_PADDED], taper[MAX_PADDED], n[MAX_PADDED];
} pixels;

typedef struct {
    double re[MAX_PADDED], im[MAX_PADDED];
} line;

static void fill_pixels(const grove_idg_plan *p, int d, pixels *pixel)
{
    for (int j = 0; j < p->side; j++) {
        pixel->at[j] = (j - p->side / 2) / (double)p->side;
        pixel->taper[j] = taper_at(p, pixel->at[j]);
        pixel->n[j] = n_along(p, d, pixel->at[j]);
    }
}

/* Taper times the phases of a visibility at `cells` from the middle and `w` from the layer. */
static void fill_visibility(const pixels *pixel, int side, double cells, double w, line *v)
{
    for (int j = 0; j < side; j++) {
        const double angle = 2 * pi * (cells * pixel->at[j] + w * pixel->n[j]);
        v->re[j] = pixel->taper[j] * cos(angle);
        v->im[j] = pixel->taper[j] * sin(angle);
    }
}

/* How much of each pixel the trigonometric polynomial through a subgrid's pixels has at x. */
static void fill_polynomial(const grove_idg_plan *p, double x, line *t)
{
    const int side = p->side;
    const double fringe = sin(pi * side * x) / side;

    for (int j = 0; j < side; j++) {
        const double angle = pi * (x - (j - side / 2) / (double)side), s = sin(angle),
                     between = fabs(s) < 1e-12           ? 1
                               : (j - side / 2) % 2 != 0 ? -fringe / s
                                                         : fringe / s;
        t->re[j] = between * cos(angle);
        t->im[j] = -between * s;
    }
}

/* The visibility at x, by the polynomial over the taper, less its exact value. */
static double error_at(const grove_idg_plan *p, int d, double cells, double w, const line *v,
                       double x, const line *t)
{
    const double here = taper_at(p, x), phase = 2 * pi * (cells * x + w * n_along(p, d, x));
    double re = -cos(phase) * here, im = -sin(phase) * here;

    for (int j = 0; j < p->side; j++) {
        re += v->re[j] * t->re[j] - v->im[j] * t->im[j];
        im += v->re[j] * t->im[j] + v->im[j] * t->re[j];
    }
    return hypot(re, im) / fabs(here);
}

/* A place in the image a quarter of a pixel from one of the subgrid's: the polynomial's error
 * vanishes at these, halfway between them it is largest, and here as large as on average (root mean
 * square). */
static double place_at(const grove_idg_plan *p, int d, int k)
{
    return (floor(2 * place[k] * edge_of(p, d) * p->side) + 0.5) / (2 * p->side);
}

/* Root mean square over the image, with more of its edges, for visibilities at the ends of a
 * subgrid's range. The part of the taper cut off by the field's edge is proportional to the sine of
 * pi times the cells, so that an error is of two places half a cell from each other. */
static double error_along(const grove_idg_plan *p, int support, int d)
{
    const double reach = p->reach + 0.5 * support; /* as far as terms move a visibility */
    double sum = 0;
    line polynomial[PLACES], visibility;
    pixels pixel;

    fill_pixels(p, d, &pixel);
    for (int k = 0; k < PLACES; k++)
        fill_polynomial(p, place_at(p, d, k), &polynomial[k]);
    for (int end = 0; end < 8; end++) {
        const double cells = (end & 1 ? 1 : -1) * (reach - (end & 4 ? 0.5 : 0)),
                     w = end & 2 ? p->far_w : -p->far_w;
        fill_visibility(&pixel, p->side, cells, w, &visibility);
        for (int k = 0; k < PLACES; k++)
            sum += pow(error_at(p, d, cells, w, &visibility, place_at(p, d, k), &polynomial[k]), 2);
    }
    return sqrt(sum / (4 * PLACES));
}

/* Rounding is about the same at all pixels of a subgrid, and an image has it over the taper: a
 * taper that is small at the image's edge makes it large there. Root mean square as above; a cell
 * is off by up to two units in the last place, measured. */
static double error_of_rounding(const grove_idg_plan *p)
{
    double error = 2 * ldexp(1, p->grid.bounds.double_precision ? -53 : -24);

    for (int d = 0; d < 2; d++) {
        double all = 0, image = 0;
        for (int j = 0; j < p->side; j++)
            all += pow(taper_at(p, (j - p->side / 2) / (double)p->side), 2);
        for (int k = 0; k < PLACES; k++)
            image += pow(taper_at(p, place[k] * edge_of(p, d)), -2);
        error *= sqrt(all / p->side * image / PLACES);
    }
    return error;
}

/* ---- subgrids ---- */

typedef struct {
    const grove_idg_request *request;
    double epsilon;
    double n_error; /* of n as a sum */
} search;

/* How far w moves the image's edge, cells. */
static double shift_of(const grove_idg_plan *p, double w)
{
    const grove_gridder_image *image = &p->grid.image;
    double most = 0;

    for (int d = 0; d < 2; d++)
        for (int end = -1; end <= 1; end += 2) {
            const double half = 0.5 * (double)image->size[d] * image->cell[d],
                         l = image->centre[d] + end * half, other = fabs(image->centre[!d]),
                         n = sqrt(fmax(1 - l * l - other * other, 1e-2));
            most = fmax(most, fabs(l) / n * (double)p->grid.grid[d] * image->cell[d]);
        }
    return w * most;
}

/* With a taper of that many cells; false: there is no room for visibilities. */
static bool set_width(const search *s, grove_idg_plan *p, int width)
{
    p->grid.kernel = (grove_gridder_kernel){.width = width, .beta = pi / 2 * width};
    p->reach = 0.5 * (p->side - width - s->request->support) - shift_of(p, p->far_w);
    return p->reach >= 2;
}

/* The narrowest taper that is exact enough. */
static bool choose_width(const search *s, grove_idg_plan *p, double epsilon)
{
    int low = MIN_WIDTH, high = p->side - 4;

    while (low < high) {
        const int middle = (low + high) / 2;
        const bool room = set_width(s, p, middle);
        if (!room || hypot(error_along(p, s->request->support, 0),
                           error_along(p, s->request->support, 1)) <= epsilon)
            high = middle;
        else
            low = middle + 1;
    }
    if (!set_width(s, p, low))
        return false;
    p->error =
        hypot(hypot(error_along(p, s->request->support, 0), error_along(p, s->request->support, 1)),
              error_of_rounding(p));
    return p->error <= epsilon;
}

/* About the smallest and the largest that a plan has. */
grove_idg_plan grove_idg_square(const grove_gridder_image *image, int second, double *side)
{
    grove_idg_plan p = {.side = 16,
                        .layers = 1,
                        .reach = second ? 16 : 2,
                        .reach_w = INFINITY,
                        .grid.image = *image};

    p.grid.bounds.without_w = true;
    for (int d = 0; d < 2; d++)
        p.grid.grid[d] = image->size[d] + image->size[d] / 2;
    *side = (2 * p.reach - 1) / ((double)p.grid.grid[0] * image->cell[0]);
    return p;
}

/* Visibilities of a subgrid, which has `cells` cells for them. Their number goes with a power of
 * its side: the square, where both times and channels go on beyond it. */
static double share_of(const search *s, const grove_idg_plan *p, double cells)
{
    const grove_idg_request *w = s->request;

    if (!(w->share[0] > 0))
        return fmax(0.14 * cells * cells, 1);
    const double side = cells / ((double)p->grid.grid[0] * p->grid.image.cell[0]),
                 power = log(w->share[1] / w->share[0]) / log(w->share_side[1] / w->share_side[0]);
    return fmax(w->share[0] * pow(side / w->share_side[0], power), 1);
}

static double cost_of(const search *s, const grove_idg_plan *p)
{
    const grove_gridder_bounds *b = &p->grid.bounds;
    const double field = (double)p->grid.grid[0] * p->grid.image.cell[0];
    double cells = 2 * p->reach - 1;

    if (!b->without_w)
        cells = fmin(cells, 1 + 4 * p->reach_w * field); /* w changes by half as much as u and v */
    return grove_idg_seconds(p, b->samples, b->samples / share_of(s, p, cells), 0);
}

/* Sets `layers` layers, of planes or w-tiles. */
static void set_layers(const search *s, grove_idg_plan *p, int64_t layers, bool tiles)
{
    const grove_gridder_bounds *b = &p->grid.bounds;
    const double step = b->max_w / (double)layers;

    p->layers = layers;
    p->grid.kernel_w = (grove_gridder_kernel){.width = 1};
    p->first_w = p->step_w = p->far_w = 0;
    p->tile = p->padded = 0;
    p->reach_w = INFINITY;
    if (!b->without_w) {
        p->reach_w = fmin(0.3 * s->epsilon / (2 * pi * s->n_error), step / SHARE);
        p->far_w = step / 2 + p->reach_w;
        p->first_w = step / 2;
        p->step_w = layers > 1 ? step : 0;
    }
    p->grid.planes = tiles ? 1 : layers;
    p->grid.first_w = tiles && !b->without_w ? b->max_w / 2 : p->first_w;
    p->grid.step_w = tiles ? 0 : p->step_w;
}

/* w-tiles of the least cost whose transforms are exact enough, with `apart` cells more than w
 * moves. The plane is in the middle of w. */
static bool fit_tile(const search *s, grove_idg_plan *p, int apart)
{
    static const int sizes[] = {64, 96, 128, 192, 256, 384, 512, 768, 1024};
    const double away = p->layers > 1 ? p->grid.bounds.max_w / 2 : 0;
    const int moved = (int)ceil(fmax(shift_of(p, away) - shift_of(p, p->far_w), 0));
    const int64_t most = p->grid.grid[0] < p->grid.grid[1] ? p->grid.grid[0] : p->grid.grid[1];
    grove_idg_plan best = {.seconds = INFINITY}, q = *p;

    for (int k = 0; k < (int)(sizeof(sizes) / sizeof(*sizes)); k++) {
        q.padded = sizes[k];
        q.tile = (q.padded - 2 * moved - apart) / MULTIPLE_OF_BLOCKS * MULTIPLE_OF_BLOCKS - q.side;
        /* where it is not asked for, tiles are much smaller than the grid */
        if (q.tile >= MIN_TILE && q.padded <= (s->request->tiles ? most : most / 4) &&
            (q.seconds = cost_of(s, &q)) < best.seconds)
            best = q;
    }
    if (isinf(best.seconds))
        return false;
    *p = best;
    return true;
}

static double error_of_tile(const search *s, const grove_idg_plan *p)
{
    grove_idg_plan q = *p;

    if (p->layers == 1)
        return 0; /* nothing is turned */
    q.side = p->padded;
    q.reach = 0.5 * p->tile + p->reach;
    q.far_w = p->grid.bounds.max_w / 2;
    return hypot(error_along(&q, s->request->support, 0), error_along(&q, s->request->support, 1));
}

static bool choose_tile(const search *s, grove_idg_plan *p)
{
    for (int apart = 0; apart <= 96; apart += MULTIPLE_OF_BLOCKS) {
        if (!fit_tile(s, p, apart))
            return false;
        const double error = error_of_tile(s, p);
        if (p->error + error <= s->epsilon) {
            p->error += error;
            return true;
        }
    }
    return false;
}

/* w-tiles have a quarter of the error, or the part left by subgrids that cannot have less. */
static bool choose_both(const search *s, grove_idg_plan *p)
{
    return (choose_width(s, p, 0.75 * s->epsilon) || choose_width(s, p, s->epsilon)) &&
           choose_tile(s, p);
}

/* The present number of layers, if that is better than the best. */
static void try_one(const search *s, grove_idg_plan *p, bool tiles, grove_idg_plan *best)
{
    if (!set_width(s, p, MIN_WIDTH) || (tiles && !fit_tile(s, p, 0)) ||
        !((p->seconds = cost_of(s, p)) < best->seconds) ||
        !(tiles ? choose_both(s, p) : choose_width(s, p, s->epsilon)))
        return;
    if ((p->seconds = cost_of(s, p)) < best->seconds)
        *best = *p;
}

static void try_layers(search *s, grove_idg_plan *p, bool tiles, grove_idg_plan *best)
{
    double x[GROVE_IDG_MAX_SIDE], y[GROVE_IDG_MAX_SIDE];
    int64_t layers = s->request->layers > 1 ? s->request->layers : 1;

    s->n_error = p->grid.bounds.without_w ? 0 : fmax(grove_idg_separate(p, x, y), 1e-18);
    for (; layers <= MAX_LAYERS; layers += layers < 4 ? 1 : layers / 3) {
        set_layers(s, p, layers, tiles);
        p->seconds = 0;
        try_one(s, p, tiles, best);
        if (p->seconds > best->seconds && set_width(s, p, MIN_WIDTH) && p->reach > 0.4 * p->side)
            break; /* more of them only cost more */
        if (p->grid.bounds.without_w || layers == s->request->layers)
            break;
    }
}

/* The part of the field that subgrids have and the sky does not. */
static bool is_below_horizon(const grove_idg_plan *p)
{
    const grove_gridder_image *image = &p->grid.image;
    double most[2];

    for (int d = 0; d < 2; d++)
        most[d] = fabs(image->centre[d]) + 0.5 * (double)p->grid.grid[d] * image->cell[d];
    return !p->grid.bounds.without_w && most[0] * most[0] + most[1] * most[1] >= 0.98;
}

/* Why there is none: with other layers there may be one. */
static int explain(const search *s, double epsilon, const grove_gridder_image *image,
                   const grove_gridder_bounds *bounds, char reason[200])
{
    const grove_idg_request other = {.side = s->request->side,
                                     .support = s->request->support,
                                     .tiles = s->request->tiles,
                                     .planes = s->request->planes};
    grove_idg_request without = *s->request;
    grove_idg_plan plan;

    without.tiles = false;
    if (s->request->tiles &&
        !grove_idg_plan_choose(image, bounds, &without, epsilon, &plan, reason)) {
        snprintf(reason, 200,
                 "w moves the sky by more cells than w-tiles of this grid have room for; use "
                 "w_tiles=no");
        return GROVE_IDG_NO_TILES;
    }
    if (s->request->layers &&
        !grove_idg_plan_choose(image, bounds, &other, epsilon, &plan, reason)) {
        snprintf(reason, 200,
                 "w reaches %.4g wavelengths, more than %lld w-layer%s allow%s with an error of "
                 "%g; use %lld, or a larger epsilon",
                 bounds->max_w, (long long)s->request->layers, s->request->layers > 1 ? "s" : "",
                 s->request->layers > 1 ? "" : "s", epsilon, (long long)plan.layers);
        return GROVE_IDG_LAYERS;
    }
    if (s->request->side)
        snprintf(
            reason, 200,
            "subgrids of %d x %d pixels are too small for the support of taper, w and beams with "
            "an error of %g; use more pixels (up to %d), or w-layers, or a larger epsilon",
            s->request->side, s->request->side, epsilon, (int)GROVE_IDG_MAX_SIDE);
    else
        snprintf(reason, 200,
                 "no subgrids of up to %d x %d pixels reach an error of %g for this field and w; "
                 "use a larger epsilon, or method=w_stack",
                 (int)GROVE_IDG_MAX_SIDE, (int)GROVE_IDG_MAX_SIDE, epsilon);
    return -1;
}

int grove_idg_plan_choose(const grove_gridder_image *image, const grove_gridder_bounds *bounds,
                          const grove_idg_request *request, double epsilon, grove_idg_plan *plan,
                          char reason[200])
{
    static const double padding[] = {1.2, 1.35, 1.5, 1.75, 2, 2.5};
    static const int sides[] = {16, 24, 32, 40, 48, 64};
    grove_idg_plan p = {.grid = {.image = *image, .bounds = *bounds},
                        .mix = {.visibilities = 1, .images = 1, .factor = {{{1, 0}}}}},
                   best = {.seconds = INFINITY};
    search s = {.request = request, .epsilon = 0.8 * epsilon};
    double low, high;

    if (!(epsilon >= (bounds->double_precision ? 1e-12 : 1e-5) * (1 - 1e-9))) {
        snprintf(reason, 200, "%g is less than single precision allows", epsilon);
        return -1;
    }
    grove_gridder_find_n(image, &low, &high);
    p.grid.middle_n = bounds->without_w ? 0 : (low + high) / 2;
    p.grid.half_n = (high - low) / 2;
    for (int k = 0; k < (int)(sizeof(padding) / sizeof(*padding)); k++) {
        for (int d = 0; d < 2; d++)
            p.grid.grid[d] = p.grid.transform[d] = grove_gridder_transform_size(
                fmax(padding[k] * (double)image->size[d], request->side), MULTIPLE);
        for (int i = 0; i < (int)(sizeof(sides) / sizeof(*sides)); i++) {
            p.side = sides[i];
            /* a subgrid meets no cell twice */
            const bool fits = p.side <= p.grid.grid[0] && p.side <= p.grid.grid[1];
            if ((!request->side || request->side == p.side) && fits && !is_below_horizon(&p))
                for (int tiles = 0; tiles < 2; tiles++)
                    if (!(tiles ? request->planes : request->tiles))
                        try_layers(&s, &p, tiles, &best);
        }
    }
    if (!(best.seconds < INFINITY))
        return explain(&s, epsilon, image, bounds, reason);
    best.grid.error = best.error;
    best.grid.seconds = best.seconds;
    *plan = best;
    return 0;
}
