/* An image's value as a FITS image: axes, order, coordinates. */
#include "nodes/imaging/image.h"

#include "facts.h"
#include "nodes/common/form.h"
#include "util.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Coordinates of evenly spaced pixels may differ from that by this part of a pixel. */
static const double even = 1e-4;

/* ---- axes ---- */

static int find_axes(const grove_node *node, image_layout *layout,
                     const grove_axis *axis[GROVE_MAX_AXES])
{
    int count = grove_node_input_axes(node, 0, axis);

    *layout = (image_layout){-1, -1, -1, false, false};
    for (int d = 0; d < count; d++) {
        int *of = !strcmp(axis[d]->name, "l")        ? &layout->l
                  : !strcmp(axis[d]->name, "m")      ? &layout->m
                  : axis[d]->kind == GROVE_AXIS_FREQ ? &layout->freq
                                                     : NULL;
        if (!of)
            return grove_node_fail_option(node, "x",
                                          "varies with %s; an image has the axes l, m and maybe "
                                          "freq: take a mean, a sum or a part of it",
                                          axis[d]->name);
        *of = d;
    }
    if (layout->l < 0 || layout->m < 0)
        return grove_node_fail_option(node, "x", "has no axis %s; an image has the axes l and m",
                                      layout->l < 0 ? "l" : "m");
    return 0;
}

static bool is_even(const grove_axis *axis, double *step)
{
    int64_t last = axis->size - 1;
    const double *at = axis->centre;

    *step = last > 0 ? (at[last] - at[0]) / (double)last : axis->width ? axis->width[0] : 0;
    if (!last && axis->kind == GROVE_AXIS_FREQ && *step == 0)
        *step = 1; /* Hz, of a channel of width 0: any would do */
    bool good = isfinite(*step) && *step != 0;
    for (int64_t i = 0; i <= last && good; i++)
        good = fabs(at[0] + *step * (double)i - at[i]) < even * fabs(*step);
    return good;
}

/* Advice for frequencies that are not evenly spaced. */
static const char *advise_bands(const grove_node *node)
{
    const grove_axis *channels = grove_node_axis(grove_node_object(node, "obs"), "freq");
    double step;

    return channels && channels->centre && is_even(channels, &step)
               ? ", as a FITS image requires; bands with equal numbers of channels would be"
               : ", as a FITS image requires, nor are the channels; write one image for each, such "
                 "as select(x, axis=freq, index=0)";
}

/* The step of evenly spaced coordinates, and the index of 0. */
static int find_step(const grove_node *node, const grove_axis *axis, double *step, double *zero)
{
    if (!axis->centre)
        return grove_node_fail_option(node, "x", "its axis %s has no coordinates", axis->name);
    if (!is_even(axis, step))
        return grove_node_fail_option(node, "x", "its axis %s is not evenly spaced%s", axis->name,
                                      axis->kind == GROVE_AXIS_FREQ ? advise_bands(node) : "");
    *zero = -axis->centre[0] / *step;
    return 0;
}

static int place(const grove_node *node, const grove_axis *l, const grove_axis *m,
                 image_layout *layout, grove_image *image)
{
    double step[2], zero[2];
    int code = find_step(node, l, &step[0], &zero[0]);

    code = code ? code : find_step(node, m, &step[1], &zero[1]);
    if (code)
        return code;
    layout->l_falls = step[0] < 0;
    layout->m_falls = step[1] < 0;
    image->columns = l->size;
    image->rows = m->size;
    /* the first column is the most eastern one, the first row the most southern */
    image->sky.reference[0] = layout->l_falls ? zero[0] : (double)(l->size - 1) - zero[0];
    image->sky.reference[1] = layout->m_falls ? (double)(m->size - 1) - zero[1] : zero[1];
    image->sky.matrix[0][0] = -fabs(step[0]);
    image->sky.matrix[1][1] = fabs(step[1]);
    image->sky.plain = true;
    memcpy(image->sky.projection, "SIN", 4);
    return 0;
}

/* ---- frequencies ---- */

static int take_axis(const grove_node *node, const grove_axis *axis, grove_image *image)
{
    double step, zero;

    image->channels = axis->size;
    if (!axis->centre || (axis->size == 1 && !axis->width))
        return 0;
    if (find_step(node, axis, &step, &zero))
        return GROVE_INVALID;
    image->freq = grove_alloc(sizeof(double) * (size_t)axis->size);
    image->width = grove_alloc(sizeof(double) * (size_t)axis->size);
    for (int64_t k = 0; k < axis->size; k++) {
        image->freq[k] = axis->centre[k];
        image->width[k] = axis->width && axis->width[k] > 0 ? axis->width[k] : fabs(step);
    }
    return 0;
}

/* One channel: all channels that the value was made of, or the frequency given. */
static void take_band(const grove_node *node, const grove_axis *axis, grove_image *image)
{
    const double *made_of = grove_node_user(node);
    double low = INFINITY, high = 0, mean = 0;

    if (made_of[1] > 0) {
        low = made_of[0];
        high = made_of[1];
        mean = made_of[2];
    } else {
        for (int64_t k = 0; k < axis->size; k++) {
            double half = axis->width ? axis->width[k] / 2 : 0;
            low = fmin(low, axis->centre[k] - half);
            high = fmax(high, axis->centre[k] + half);
            mean += axis->centre[k] / (double)axis->size;
        }
    }
    image->freq = grove_alloc(sizeof(double));
    image->width = grove_alloc(sizeof(double));
    image->freq[0] =
        grove_node_given(node, "frequency") ? grove_node_number(node, "frequency") : mean;
    image->width[0] = high > low ? high - low : 1;
}

static int take_frequencies(const grove_node *node, const grove_node *obs, const grove_axis *own,
                            grove_image *image)
{
    const grove_axis *axis = grove_node_axis(obs, "freq");

    image->channels = 1;
    memcpy(image->spectral_frame, "TOPOCENT", sizeof("TOPOCENT"));
    if (own && grove_node_given(node, "frequency"))
        return grove_node_fail_option(node, "frequency", "the image has an axis freq of its own");
    if (own)
        return take_axis(node, own, image);
    if (axis && axis->centre && axis->size)
        take_band(node, axis, image);
    return 0;
}

/* ---- Stokes parameters ---- */

static int take_stokes(const grove_node *node, const grove_node *obs, grove_image *image)
{
    static const char letters[] = "IQUV";
    const grove_form *form = grove_node_input_form(node, 0);
    const char *given = grove_node_text(node, "stokes");
    const double *feed = grove_node_member_data(obs, "feed");
    int elements = form->shape == GROVE_SCALAR ? 1 : form_elements(form);
    bool good = !given[0] || (int)strlen(given) == elements;

    image->stokes = elements;
    if (form->complex_)
        return grove_node_fail_option(node, "x", "is complex; real(...) and imag(...) are images");
    if (elements > 4)
        return grove_node_fail_option(
            node, "x", "is a vector of %d; an image has at most 4 Stokes parameters", elements);
    if (form->shape == GROVE_DIAGONAL && !given[0]) {
        image->stokes_code[0] = feed && *feed != 0 ? -1 : -5;
        image->stokes_code[1] = image->stokes_code[0] - 1;
        return 0;
    }
    for (int k = 0; k < elements && good; k++) {
        const char *at = given[0] ? strchr(letters, given[k]) : letters + k;
        good = at != NULL;
        image->stokes_code[k] = good ? (int)(at - letters) + 1 : 0;
        int step = k ? image->stokes_code[k] - image->stokes_code[k - 1] : 1;
        good = good && step > 0 && (k < 2 || step == image->stokes_code[1] - image->stokes_code[0]);
    }
    return good
               ? 0
               : grove_node_fail_option(node, "stokes",
                                        "'%s': the image has %d element%s; give as many of I, Q, U "
                                        "and V, in this order and evenly spaced",
                                        given, elements, elements == 1 ? "" : "s");
}

/* ---- all of it ---- */

static char *unit_of(const grove_node *node)
{
    const char *given = grove_node_text(node, "unit");
    char shown[48];

    if (given[0])
        return grove_strdup(given);
    grove_unit_show(shown, grove_node_input_form(node, 0)->unit);
    return shown[0] ? grove_strdup(shown) : NULL;
}

static void take_observation(const grove_node *node, const grove_node *obs, grove_image *image)
{
    const grove_axis *time = grove_node_axis(obs, "time"),
                     *station = grove_node_axis(obs, "station");
    const double *position = grove_node_member_data(obs, "position");
    const char *telescope = grove_node_observation(obs)->telescope;
    const char *name = grove_node_text(node, "name"), *history = grove_node_history(node);

    image->unit = unit_of(node);
    image->object = name[0] ? grove_strdup(name) : NULL;
    image->telescope = telescope && telescope[0] ? grove_strdup(telescope) : NULL;
    image->history = history ? grove_strdup(history) : NULL;
    if (time && time->centre && time->size) {
        int64_t last = time->size - 1;
        image->time[0] = time->centre[0] - (time->width ? time->width[0] / 2 : 0);
        image->time[1] = time->centre[last] + (time->width ? time->width[last] / 2 : 0);
    }
    for (int k = 0; k < 3 && position && station && station->size; k++) {
        image->position[k] = 0;
        for (int64_t p = 0; p < station->size; p++)
            image->position[k] += position[3 * p + k] / (double)station->size;
    }
}

int image_describe(const grove_node *node, image_layout *layout, grove_image *image)
{
    const grove_node *obs = grove_node_object(node, "obs");
    const double *centre = obs ? grove_node_member_data(obs, "phase_centre") : NULL;
    const grove_axis *axis[GROVE_MAX_AXES];

    memset(image, 0, sizeof(*image));
    for (int k = 0; k < 3; k++)
        image->beam[k] = image->position[k] = image->time[k % 2] = NAN;
    if (!centre)
        return grove_node_fail_option(
            node, "obs", "its observation is not given; write obs=... with the name of one");
    int code = find_axes(node, layout, axis);
    code = code ? code : place(node, axis[layout->l], axis[layout->m], layout, image);
    code = code ? code : take_stokes(node, obs, image);
    if (!code)
        code = take_frequencies(node, obs, layout->freq < 0 ? NULL : axis[layout->freq], image);
    if (code) {
        image_release(image);
        return code;
    }
    memcpy(image->sky.centre, centre, sizeof(image->sky.centre));
    image->sky.frame = GROVE_FRAME_J2000;
    take_observation(node, obs, image);
    return 0;
}

void image_release(grove_image *image)
{
    free(image->freq);
    free(image->width);
    free(image->beams);
    free(image->unit);
    free(image->object);
    free(image->telescope);
    free(image->history);
    free(image->pixels);
    memset(image, 0, sizeof(*image));
}

/* ---- rows ---- */

void image_block_begin(image_block *block, const image_layout *layout, const grove_image *image,
                       const grove_array *array)
{
    int64_t step = 1;

    *block = (image_block){.layout = layout, .image = image, .array = array, .rows = image->stokes};
    for (int d = array->axes - 1; d >= 0; d--) {
        if (d == layout->l)
            block->step_l = step;
        else if (d == layout->m)
            block->step_m = step;
        else
            block->step_freq = step;
        if (d == layout->l)
            block->columns = array->range[d].count;
        else
            block->rows *= array->range[d].count;
        step *= array->range[d].count;
    }
}

int64_t image_block_row(const image_block *block, int64_t k, double *row)
{
    const image_layout *layout = block->layout;
    const grove_image *image = block->image;
    const grove_array *a = block->array;
    const grove_range *l = &a->range[layout->l], *m = &a->range[layout->m];
    const grove_range *f = layout->freq < 0 ? NULL : &a->range[layout->freq];
    int64_t channels = f ? f->count : 1, y = k % m->count, channel = k / m->count % channels;
    int e = (int)(k / m->count / channels);
    int64_t from = y * block->step_m + channel * block->step_freq;

    for (int64_t i = 0; i < block->columns; i++) {
        int64_t x = layout->l_falls ? i : block->columns - 1 - i;
        int64_t cell = from + x * block->step_l, at = cell * a->elements + e;
        bool flagged = a->flags && a->flags[cell] >> (e < 7 ? e : 7) & 1;
        row[i] = flagged ? NAN
                 : a->form->precision == GROVE_PRECISION_SINGLE
                     ? (double)((const float *)a->data)[at]
                     : ((const double *)a->data)[at];
    }
    int64_t line = layout->m_falls ? image->rows - 1 - (m->first + y) : m->first + y;
    int64_t first = layout->l_falls ? l->first : image->columns - l->first - l->count;
    return grove_image_plane(image, e, (f ? f->first : 0) + channel) + line * image->columns +
           first;
}
