#include "nodes/imaging/image_stokes.h"
#include "nodes/imaging/image_plane.h"

#include "unstable/fit.h"
#include "util.h"

#include <string.h>

static const char letters[] = "IQUV";

/* Of elements XX XY YX YY and RR RL LR LL; B = [[I + Q, U + iV], [U - iV, I - Q]] for linear, [[I +
 * V, Q + iU], [Q - iU, I - V]] for circular feeds. */
static const double factors[2][4][4][2] = {{{{0.5, 0}, {0, 0}, {0, 0}, {0.5, 0}},
                                            {{0.5, 0}, {0, 0}, {0, 0}, {-0.5, 0}},
                                            {{0, 0}, {0.5, 0}, {0.5, 0}, {0, 0}},
                                            {{0, 0}, {0, -0.5}, {0, 0.5}, {0, 0}}},
                                           {{{0.5, 0}, {0, 0}, {0, 0}, {0.5, 0}},
                                            {{0, 0}, {0.5, 0}, {0.5, 0}, {0, 0}},
                                            {{0, 0}, {0, -0.5}, {0, 0.5}, {0, 0}},
                                            {{0.5, 0}, {0, 0}, {0, 0}, {-0.5, 0}}}};

static int add_stokes(const grove_node *node, const grove_form *form, bool circular, int parameter,
                      image_stokes *stokes)
{
    const double(*all)[2] = factors[circular][parameter];
    double(*to)[2] = stokes->factor[stokes->count++];

    if (form->shape == GROVE_SCALAR) {
        to[0][0] = 1;
        stokes->used = 1;
        return parameter ? grove_node_fail_option(node, "stokes",
                                                  "%c cannot be made of numbers: they count as I",
                                                  letters[parameter])
                         : 0;
    }
    if (form->shape == GROVE_DIAGONAL && (all[1][0] != 0 || all[1][1] != 0))
        return grove_node_fail_option(node, "stokes", "%c needs %s, which the data do not have",
                                      letters[parameter], circular ? "RL and LR" : "XY and YX");
    for (int k = 0; k < stokes->elements; k++) {
        const double *factor = all[form->shape == GROVE_DIAGONAL ? 3 * k : k];
        to[k][0] = factor[0];
        to[k][1] = factor[1];
        stokes->used |= (factor[0] != 0 || factor[1] != 0) << k;
    }
    return 0;
}

int image_stokes_check_letters(const grove_node *node, const char *text)
{
    size_t length = strlen(text);

    if (length < 1 || length > IMAGE_MAX_STOKES || strspn(text, letters) != length)
        return grove_node_fail_option(
            node, "stokes", "'%s' is not made of the letters I, Q, U, V, such as I or IQUV", text);
    for (size_t i = 0; i < length; i++)
        if (strchr(text + i + 1, text[i]))
            return grove_node_fail_option(node, "stokes", "'%s' has %c twice", text, text[i]);
    return 0;
}

/* Of data of a set that has not all correlations. */
static int check_missing(const grove_node *node, const grove_form *form, bool circular,
                         const image_stokes *stokes)
{
    static const char *const names[2][4] = {{"XX", "XY", "YX", "YY"}, {"RR", "RL", "LR", "LL"}};
    const int data = grove_node_input(node, "data");
    const int missing = data < 0 ? 0 : grove_node_missing_elements(node, data);

    if (form->shape == GROVE_SCALAR && missing & 9 && (missing & 9) != 9)
        grove_node_warn(node,
                        "the image of Stokes I is made of %s only, since the data have no other "
                        "correlations: polarized sources have another flux in it",
                        names[circular][missing & 1 ? 3 : 0]);
    for (int k = 0; k < 4 && form->shape == GROVE_MATRIX; k++)
        if (missing & stokes->used & 1 << k)
            return grove_node_fail_option(node, "stokes",
                                          "'%s' needs %s, which the data do not have",
                                          grove_node_text(node, "stokes"), names[circular][k]);
    return 0;
}

int image_stokes_read(const grove_node *node, const grove_form *form, bool circular,
                      image_stokes *stokes)
{
    const char *text = grove_node_text(node, "stokes");
    int code = image_stokes_check_letters(node, text);

    *stokes = (image_stokes){.elements = form->shape == GROVE_SCALAR     ? 1
                                         : form->shape == GROVE_DIAGONAL ? 2
                                                                         : 4};
    for (size_t i = 0; text[i] && !code; i++)
        code = add_stokes(node, form, circular, (int)(strchr(letters, text[i]) - letters), stokes);
    return code ? code : check_missing(node, form, circular, stokes);
}

void image_stokes_join(image_stokes *stokes)
{
    memset(stokes->factor, 0, sizeof(stokes->factor));
    for (int k = 0; k < stokes->elements; k++)
        stokes->factor[0][k][0] = stokes->used >> k & 1;
    stokes->count = 1;
}

/* Elements are sums of Stokes parameters with the conjugates of twice the factors. */
void image_stokes_elements(const char *parameters, bool circular, image_stokes *stokes)
{
    *stokes = (image_stokes){.count = (int)strlen(parameters), .elements = 4, .used = 15};
    for (int i = 0; i < stokes->count; i++) {
        const double(*all)[2] = factors[circular][strchr(letters, parameters[i]) - letters];
        for (int k = 0; k < 4; k++) {
            stokes->factor[i][k][0] = 2 * all[k][0];
            stokes->factor[i][k][1] = -2 * all[k][1];
        }
    }
}

int image_stokes_expand(const grove_node *node, int count, bool circular, image_stokes *stokes)
{
    char text[IMAGE_MAX_STOKES + 1] = {0};
    int code = 0;

    if (grove_node_given(node, "stokes")) {
        code = image_stokes_check_letters(node, grove_node_text(node, "stokes"));
        if (!code && (int)strlen(grove_node_text(node, "stokes")) != count)
            code = grove_node_fail_option(node, "stokes",
                                          "'%s' is not of %d letter%s: the image has "
                                          "%d number%s per pixel",
                                          grove_node_text(node, "stokes"), count,
                                          count == 1 ? "" : "s", count, count == 1 ? "" : "s");
        if (!code)
            memcpy(text, grove_node_text(node, "stokes"), (size_t)count);
    } else if (count > IMAGE_MAX_STOKES) {
        code = grove_node_fail(node, GROVE_SHAPE,
                               "the image has %d numbers per pixel; there are 4 "
                               "Stokes parameters",
                               count);
    } else {
        memcpy(text, letters, (size_t)count);
    }
    if (!code)
        image_stokes_elements(text, circular, stokes);
    return code;
}

/* ---- visibilities that are computed ---- */

typedef struct {
    const grove_call *call;
    const image_stokes *stokes;
    int64_t baselines, channels;
    const void *data; /* [row][channel][stokes] */
    char *out;
} copying;

/* Correlations of the rows' Stokes parameters. */
static void copy_rows(void *context, int64_t first, int64_t last)
{
    const copying *c = context;
    const grove_args *args = c->call->args;
    const image_stokes *s = c->stokes;
    const bool double_precision = c->call->double_precision;
    const int64_t time = image_axis_step(args, &args->out, GROVE_AXIS_TIME),
                  baseline = image_axis_step(args, &args->out, GROVE_AXIS_BASELINE),
                  freq = image_axis_step(args, &args->out, GROVE_AXIS_FREQ);

    for (int64_t row = first; row < last; row++)
        for (int64_t f = 0; f < c->channels; f++) {
            char *to =
                c->out + row / c->baselines * time + row % c->baselines * baseline + f * freq;
            double sum[8] = {0};
            for (int k = 0; k < s->count; k++) {
                int64_t at = 2 * ((row * c->channels + f) * s->count + k);
                double re =
                    double_precision ? ((const double *)c->data)[at] : ((const float *)c->data)[at];
                double im = double_precision ? ((const double *)c->data)[at + 1]
                                             : ((const float *)c->data)[at + 1];
                for (int e = 0; e < 4; e++) {
                    sum[2 * e] += s->factor[k][e][0] * re - s->factor[k][e][1] * im;
                    sum[2 * e + 1] += s->factor[k][e][0] * im + s->factor[k][e][1] * re;
                }
            }
            for (int e = 0; e < 8; e++)
                if (double_precision)
                    ((double *)(void *)to)[e] = sum[e];
                else
                    ((float *)(void *)to)[e] = (float)sum[e];
        }
}

void image_stokes_give(const grove_call *call, const image_stokes *stokes, const void *data)
{
    static const char *const names[] = {"time", "baseline", "freq", "l", "m"};
    const grove_args *args = call->args;
    const int64_t baselines = image_axis_size(args, GROVE_AXIS_BASELINE),
                  rows = image_axis_size(args, GROVE_AXIS_TIME) * baselines;
    copying c = {call, stokes, baselines, image_axis_size(args, GROVE_AXIS_FREQ), data, NULL};
    int64_t index[GROVE_MAX_AXES] = {0}, others = 1;
    bool other[GROVE_MAX_AXES];

    for (int d = 0; d < args->axes; d++) {
        other[d] = true;
        for (int k = 0; k < 5; k++)
            other[d] = other[d] && args->axis[d] != grove_axis_kind(names[k]);
        others *= other[d] ? args->size[d] : 1;
    }
    for (int64_t k = 0; k < others; k++) {
        int64_t rest = k;
        for (int d = args->axes - 1; d >= 0; d--)
            if (other[d]) {
                index[d] = rest % args->size[d];
                rest /= args->size[d];
            }
        c.out = grove_view_at(&args->out, index, args->axes);
        grove_call_parallel(call, rows, copy_rows, &c);
    }
}
