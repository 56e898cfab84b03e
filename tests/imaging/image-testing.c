#include "image-testing.h"

#include "tests/common/probe.h"

#include <check.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define LIGHT 299792458.0L
#define PI    3.14159265358979323846264338327950288L

plane plane_now;

/* ---- the class ---- */

static int open_plane(grove_node *node)
{
    static const char *const names[] = {"l", "m"};
    const grove_form pixels = {.shape = GROVE_SCALAR, .unit = {.Jy = 1}},
                     stokes = {.shape = GROVE_VECTOR, .vector = 4, .unit = {.Jy = 1}};
    double centre[PLANE_MAX], width[PLANE_MAX];

    for (int d = 1; d >= 0; d--) {
        const int size = plane_now.size[d];
        for (int k = 0; k < size; k++) {
            centre[k] = plane_now.centre[d] + (k - size / 2) * plane_now.cell[d];
            width[k] = plane_now.cell[d];
        }
        const grove_axis axis = {.name = names[d], .size = size, .centre = centre, .width = width};
        ck_assert_int_eq(grove_node_add_axis(node, &axis), 0);
    }
    ck_assert_int_eq(grove_node_add_member(node, "pixels", "m l", &pixels, NULL, "for tests"), 0);
    return grove_node_add_member(node, "stokes", "m l", &stokes, NULL, "for tests");
}

static int read_plane(const grove_call *call, const char *member, grove_array *out)
{
    (void)call, (void)member;
    for (int64_t i = 0; i < out->cells; i++) {
        int64_t at = 0, rest = i;
        for (int d = out->axes - 1, step = 1; d >= 0; d--) {
            at += (out->range[d].first + rest % out->range[d].count) * step;
            rest /= out->range[d].count;
            step *= (int)out->range[d].axis->size;
        }
        for (int e = 0; e < out->elements; e++)
            if (out->form->precision == GROVE_PRECISION_DOUBLE)
                ((double *)out->data)[i * out->elements + e] = plane_now.stokes[at][e];
            else
                ((float *)out->data)[i * out->elements + e] = (float)plane_now.stokes[at][e];
    }
    return 0;
}

static const grove_class class_plane = {
    GROVE_CLASS_HEAD(plane), .doc = "For tests.", .kind = GROVE_CLASS_DATA, .object = "plane",
    .data = &(const grove_data_functions){.open = open_plane, .read = read_plane}};

void plane_begin(testing *t)
{
    memset(&plane_now, 0, sizeof(plane_now));
    ck_assert_int_eq(grove_classes_add(t->classes, &class_plane, t->error), 0);
}

/* ---- visibilities ---- */

image_data image_data_read(testing *t, bool circular)
{
    image_data d = {.circular = circular};

    d.v = probe_session(t, "V", NULL, &d.flags);
    d.uvw = probe_session(t, "u", NULL, NULL);
    d.freq = probe_session(t, "f", NULL, NULL);
    d.samples = d.v.cells;
    d.channels = d.freq.cells;
    ck_assert_int_eq(d.v.elements, 4);
    ck_assert_int_eq(d.samples, d.uvw.cells * d.channels);
    d.weight = suite_keep(malloc((size_t)d.samples * sizeof(*d.weight)));
    for (int64_t i = 0; i < d.samples; i++)
        d.weight[i] = 1;
    return d;
}

double complex image_data_stokes(const image_data *d, int64_t sample, int parameter)
{
    const double complex *v = d->v.at + 4 * sample, one = (v[0] + v[3]) / 2,
                         other = (v[0] - v[3]) / 2, sum = (v[1] + v[2]) / 2,
                         difference = (v[1] - v[2]) / (2 * I);
    const double complex linear[] = {one, other, sum, difference},
                         circular[] = {one, sum, difference, other};

    return d->circular ? circular[parameter] : linear[parameter];
}

double image_data_sum(const image_data *d, int parameter, double l, double m)
{
    const long double n = sqrtl(1 - (long double)l * l - (long double)m * m) - 1;
    long double sum = 0, weights = 0;

    for (int64_t i = 0; i < d->samples; i++) {
        const double complex *uvw = d->uvw.at + 3 * (i / d->channels);
        if (d->weight[i] == 0)
            continue;
        const double complex v = image_data_stokes(d, i, parameter);
        const long double phase =
            2 * PI / LIGHT * creal(d->freq.at[i % d->channels]) *
            (creal(uvw[0]) * l + creal(uvw[1]) * m + (d->without_w ? 0 : creal(uvw[2]) * n));
        sum += d->weight[i] * (creal(v) * cosl(phase) - cimag(v) * sinl(phase));
        weights += d->weight[i];
    }
    return (double)(sum / weights);
}

double image_data_distance(const image_data *d, const testing_value *image, int e, int parameter)
{
    const grove_axis *m = image->axis[0], *l = image->axis[1];
    double off = 0, size = 0;

    ck_assert_int_eq(image->axes, 2);
    ck_assert_str_eq(m->name, "m");
    ck_assert_str_eq(l->name, "l");
    for (int64_t y = 0; y < m->size; y++)
        for (int64_t x = 0; x < l->size; x++) {
            double truth = image_data_sum(d, parameter, l->centre[x], m->centre[y]),
                   is = creal(image->at[(y * l->size + x) * image->elements + e]);
            ck_assert(isfinite(is));
            off += (is - truth) * (is - truth);
            size += truth * truth;
        }
    return sqrt(off / size);
}

double testing_inner(const testing_value *a, const testing_value *b, double *size)
{
    double sum = 0;

    ck_assert_int_eq(a->cells * a->elements, b->cells * b->elements);
    for (int64_t i = 0; i < a->cells * a->elements; i++) {
        sum += creal(conj(a->at[i]) * b->at[i]);
        *size += cabs(a->at[i]) * cabs(b->at[i]);
    }
    return sum;
}

void testing_tiles_and_threads(testing *t, const char *name, bool double_precision,
                               double tolerance)
{
    testing_value first = {0};

    for (int i = 0; i < 4; i++) {
        grove_session_options options =
            GROVE_SESSION_OPTIONS(.threads = 1 + 2 * (i & 1), .double_precision = double_precision,
                                  .tile_times = i > 1 ? 2 : 0, .tile_channels = i > 1 ? 3 : 0);
        testing_value x = probe_session(t, name, &options, NULL);
        if (i == 1)
            ck_assert_mem_eq(x.at, first.at, (size_t)(x.cells * x.elements) * sizeof(*x.at));
        else if (i)
            ck_assert_double_lt(testing_distance(&x, &first), tolerance);
        else
            first = x;
    }
}
