#include "solve-world.h"

#include "grove.h"

#include "base/log.h"
#include "base/text.h"

#include <check.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

solve_kept solve_world_kept[SOLVE_WORLD_KEPT];
int solve_world_reads[3], solve_world_interrupt;
char solve_world_said[1000], solve_world_free[1000];

/* ---- draw ---- */

static const grove_port draw_inputs[] = {
    {"obs", GROVE_OBJECT, "whose times, stations and channels", .object = "observation"}, {0}};
static const grove_port draw_options[] = {
    {"shape", GROVE_CHOICE, "of the values", .initial = "scalar",
     .choices = "scalar diagonal matrix"},
    {"complex", GROVE_BOOL, "complex numbers", .initial = "true"},
    {"times", GROVE_INTEGER, "times in an interval", .initial = "1000000"},
    {"channels", GROVE_INTEGER, "channels in an interval", .initial = "1000000"},
    {"spread", GROVE_NUMBER, "of the numbers, both ways", .initial = "0.2"},
    {"around", GROVE_NUMBER, "added to diagonal elements", .initial = "0"},
    {"seed", GROVE_INTEGER, "of the numbers", .initial = "1"},
    {0}};

/* A number from -1 to 1. */
static double draw_number(uint64_t a, uint64_t b, uint64_t c, uint64_t d, uint64_t e)
{
    uint64_t x = a * 0x9e3779b97f4a7c15u + b * 0xc2b2ae3d27d4eb4fu + c * 0x165667b19e3779f9u +
                 d * 0x27d4eb2f165667c5u + e * 0x85ebca77c2b2ae63u;

    for (int i = 0; i < 3; i++) {
        x ^= x >> 29;
        x *= 0xbf58476d1ce4e5b9u;
        x ^= x >> 32;
    }
    return (double)(int64_t)x / 9223372036854775808.0;
}

static int open_draw(grove_node *node)
{
    static const int shapes[] = {GROVE_SCALAR, GROVE_DIAGONAL, GROVE_MATRIX};
    const grove_node *obs = grove_node_object(node, "obs");
    grove_form form = {.shape = shapes[grove_node_choice(node, "shape")],
                       .complex_ = grove_node_bool(node, "complex"),
                       .precision = GROVE_PRECISION_DOUBLE};

    grove_node_take_axis(node, obs, "time");
    grove_node_take_axis(node, obs, "station");
    grove_node_take_axis(node, obs, "freq");
    return grove_node_add_member(node, "value", "time station freq", &form, NULL, "numbers");
}

static int read_draw(const grove_call *call, const char *member, grove_array *out)
{
    const grove_node *node = call->node;
    int64_t times = grove_node_integer(node, "times"),
            channels = grove_node_integer(node, "channels");
    double spread = grove_node_number(node, "spread"), around = grove_node_number(node, "around");
    uint64_t seed = (uint64_t)grove_node_integer(node, "seed");
    int parts = out->form->complex_ ? 2 : 1;
    double *to = out->data;

    (void)member;
    for (int64_t i = 0; i < out->cells; i++) {
        int64_t f = out->range[2].first + i % out->range[2].count;
        int64_t s = out->range[1].first + i / out->range[2].count % out->range[1].count;
        int64_t t = out->range[0].first + i / out->range[2].count / out->range[1].count;
        for (int e = 0; e < out->elements; e++)
            for (int part = 0; part < parts; part++)
                *to++ = (part || (out->elements == 4 && (e == 1 || e == 2)) ? 0 : around) +
                        spread * draw_number((uint64_t)(t / times) + 1, (uint64_t)s,
                                             (uint64_t)(f / channels) + 7, (uint64_t)(2 * e + part),
                                             seed);
    }
    return 0;
}

static const grove_class class_draw = {
    GROVE_CLASS_HEAD(draw),
    .doc = "For tests.",
    .inputs = draw_inputs,
    .options = draw_options,
    .object = "draw",
    .kind = GROVE_CLASS_DATA,
    .data = &(const grove_data_functions){.open = open_draw, .read = read_draw}};

/* ---- spoil ---- */

static const grove_port spoil_inputs[] = {
    {"obs", GROVE_OBJECT, "whose times, baselines and channels", .object = "observation"}, {0}};
static const grove_port spoil_options[] = {
    {"shape", GROVE_CHOICE, "of value: 1, or the unit matrix", .initial = "scalar",
     .choices = "scalar diagonal"},
    {"share", GROVE_NUMBER, "of cells that are flagged", .initial = "0"},
    {"station", GROVE_INTEGER, "that is flagged", .initial = "-1"},
    {"channel", GROVE_INTEGER, "that is flagged", .initial = "-1"},
    {"first_time", GROVE_INTEGER, "from which on all is flagged", .initial = "1000000"},
    {"nan", GROVE_NUMBER, "share of numbers that are NaN or infinite", .initial = "0"},
    {"autocorrelations", GROVE_NUMBER, "value of theirs", .initial = "1"},
    {"weights", GROVE_CHOICE, "unequal ones; odd: also 0, negative, NaN and infinity",
     .initial = "one", .choices = "one unequal odd"},
    {"shorter", GROVE_NUMBER, "baselines that are flagged, m", .initial = "0"},
    {"longer", GROVE_NUMBER, "baselines that are flagged, m", .initial = "1e30"},
    {"waves", GROVE_BOOL, "the same in wavelengths", .initial = "false"},
    {"seed", GROVE_INTEGER, "of the numbers", .initial = "1"},
    {0}};
enum { SPOIL_VALUE, SPOIL_WEIGHT, SPOIL_UVW };

static int open_spoil(grove_node *node)
{
    const grove_node *obs = grove_node_object(node, "obs");
    grove_form value = {.shape = grove_node_choice(node, "shape") ? GROVE_DIAGONAL : GROVE_SCALAR,
                        .precision = GROVE_PRECISION_DOUBLE,
                        .flags = true},
               weight = {.shape = GROVE_SCALAR, .precision = GROVE_PRECISION_DOUBLE},
               uvw = {.shape = GROVE_VECTOR,
                      .vector = 3,
                      .precision = GROVE_PRECISION_DOUBLE,
                      .unit = {.m = 1}};

    grove_node_take_axis(node, obs, "time");
    grove_node_take_axis(node, obs, "baseline");
    grove_node_take_axis(node, obs, "freq");
    int code = grove_node_add_member(node, "value", "time baseline freq", &value, NULL, "1");
    if (!code)
        code =
            grove_node_add_member(node, "weight", "time baseline freq", &weight, NULL, "weights");
    return code ? code
                : grove_node_add_member(node, "uvw", "time baseline", &uvw, NULL, "coordinates");
}

double solve_world_length(int left, int right)
{
    return 100.0 * (right - left) + 7 * left;
}

static double draw_weight(const grove_node *node, int64_t t, int64_t b, int64_t f)
{
    static const double odd[] = {0, -1, NAN, -INFINITY, INFINITY, -0.0};
    uint64_t seed = (uint64_t)grove_node_integer(node, "seed");
    double x = draw_number((uint64_t)t + 1, (uint64_t)b + 2, (uint64_t)f + 3, 4, seed);

    if (grove_node_choice(node, "weights") == 0)
        return 1;
    if (grove_node_choice(node, "weights") == 2 && x > 0.7)
        return odd[(int)((x - 0.7) * 19.9)];
    return exp(2 * x);
}

static bool is_spoilt(const grove_node *node, const grove_axis *const *axis, int64_t t, int64_t b,
                      int64_t f, int element)
{
    uint64_t seed = (uint64_t)grove_node_integer(node, "seed");
    double x = draw_number((uint64_t)t + 11, (uint64_t)b, (uint64_t)f, (uint64_t)element, seed);
    double length = solve_world_length(axis[1]->left[b], axis[1]->right[b]) *
                    (grove_node_bool(node, "waves") ? axis[2]->centre[f] / 299792458.0 : 1);
    int64_t station = grove_node_integer(node, "station");

    return x < 2 * grove_node_number(node, "share") - 1 || axis[1]->left[b] == station ||
           axis[1]->right[b] == station || f == grove_node_integer(node, "channel") ||
           t >= grove_node_integer(node, "first_time") ||
           length < grove_node_number(node, "shorter") ||
           length > grove_node_number(node, "longer");
}

static double draw_value(const grove_node *node, const grove_axis *axis, int64_t t, int64_t b,
                         int64_t f)
{
    uint64_t seed = (uint64_t)grove_node_integer(node, "seed");
    double x = draw_number((uint64_t)t + 21, (uint64_t)b, (uint64_t)f, 9, seed);

    if (x >= 2 * grove_node_number(node, "nan") - 1)
        return axis->left[b] == axis->right[b] ? grove_node_number(node, "autocorrelations") : 1;
    return t % 2 ? NAN : INFINITY;
}

static int read_spoil(const grove_call *call, const char *member, grove_array *out)
{
    const grove_node *node = call->node;
    int which = !strcmp(member, "value") ? SPOIL_VALUE
                : member[0] == 'w'       ? SPOIL_WEIGHT
                                         : SPOIL_UVW;
    int64_t channels = which == SPOIL_UVW ? 1 : out->range[2].count;
    const grove_axis *axis[] = {out->range[0].axis, out->range[1].axis,
                                which == SPOIL_UVW ? NULL : out->range[2].axis};
    double *to = out->data;

    if (__atomic_add_fetch(&solve_world_reads[which], 1, __ATOMIC_RELAXED) ==
            solve_world_interrupt &&
        which == SPOIL_VALUE)
        grove_interrupt_set(true);
    for (int64_t i = 0; i < out->cells; i++) {
        int64_t f = which == SPOIL_UVW ? 0 : out->range[2].first + i % channels;
        int64_t b = out->range[1].first + i / channels % out->range[1].count;
        int64_t t = out->range[0].first + i / channels / out->range[1].count;
        for (int e = 0; e < out->elements; e++) {
            if (which == SPOIL_UVW)
                to[i * 3 + e] = e == 1   ? solve_world_length(axis[1]->left[b], axis[1]->right[b])
                                : e == 2 ? 1e6
                                         : 0;
            else
                to[i * out->elements + e] = which == SPOIL_WEIGHT
                                                ? draw_weight(node, t, b, f)
                                                : draw_value(node, axis[1], t, b, f);
            if (which == SPOIL_VALUE && out->flags && is_spoilt(node, axis, t, b, f, e)) {
                out->flags[i] |= (unsigned char)(1 << e);
                to[i * out->elements + e] = -1e4; /* which must not count */
            }
        }
    }
    return 0;
}

static const grove_class class_spoil = {
    GROVE_CLASS_HEAD(spoil),
    .doc = "For tests.",
    .inputs = spoil_inputs,
    .options = spoil_options,
    .object = "spoil",
    .kind = GROVE_CLASS_DATA,
    .data = &(const grove_data_functions){.open = open_spoil, .read = read_spoil}};

/* ---- keep ---- */

static const grove_port keep_inputs[] = {
    {"x", GROVE_VALUE, "what is kept", .shapes = GROVE_ANY_SHAPE, .handing = GROVE_AS_COMPLEX},
    {0}};
static const grove_port keep_options[] = {{"number", GROVE_INTEGER, "which", .initial = "0"}, {0}};

static void begin_kept(solve_kept *to, const grove_array *in)
{
    to->axes = in->axes;
    to->elements = in->elements;
    to->cells = 1;
    for (int d = 0; d < in->axes; d++) {
        to->kind[d] = in->range[d].axis->kind;
        to->size[d] = in->range[d].axis->size;
        to->cells *= in->range[d].axis->size;
    }
    free(to->at);
    free(to->flags);
    to->at = calloc((size_t)(to->cells * to->elements), sizeof(*to->at));
    to->flags = calloc((size_t)to->cells, 1);
}

static int write_keep(const grove_call *call, const grove_array *const *inputs, int count)
{
    solve_kept *to = &solve_world_kept[grove_node_integer(call->node, "number")];
    const grove_array *in = inputs[0];
    const double *x = in->data;
    const float *single = in->data;
    bool first = true;

    (void)count;
    for (int d = 0; d < in->axes; d++)
        first = first && !in->range[d].first;
    if (first)
        begin_kept(to, in);
    for (int64_t i = 0; i < in->cells; i++) {
        int64_t rest = i, index[GROVE_MAX_AXES], at = 0;
        for (int d = in->axes - 1; d >= 0; d--) {
            index[d] = in->range[d].first + rest % in->range[d].count;
            rest /= in->range[d].count;
        }
        for (int d = 0; d < in->axes; d++)
            at = at * in->range[d].axis->size + index[d];
        to->flags[at] = in->flags ? in->flags[i] : 0;
        for (int e = 0; e < in->elements; e++) {
            int64_t n = 2 * (i * in->elements + e);
            to->at[at * in->elements + e] = in->form->precision == GROVE_PRECISION_DOUBLE
                                                ? CMPLX(x[n], x[n + 1])
                                                : CMPLX(single[n], single[n + 1]);
        }
    }
    return 0;
}

static const grove_class class_keep = {
    GROVE_CLASS_HEAD(keep),     .doc = "For tests.",
    .inputs = keep_inputs,      .options = keep_options,
    .kind = GROVE_CLASS_ACTION, .action = &(const grove_action_functions){.write = write_keep}};

/* ---- the world ---- */

static const char observed[] =
    "obs = observe(array=\"%s\", phase_centre=\"05h00m00s 45d00m00s\", hour_angle=-%dmin..%dmin, "
    "integration=2min, frequency=150MHz, channels=6, channel_width=2MHz%s)\n"
    "S = sky_model(\"%s\")\n"
    "M[p,q] = sum[s](point(S, obs))\n"
    "S2 = sky_model(\"%s\")\n"
    "N[p,q] = sum[s](point(S2, obs))\n";

static const char other_sources[] = "FORMAT = Name, Type, Ra, Dec, I, Q, U, V\n"
                                    "d, POINT, 04:58:00, +45.40.00, 4.0, 0.3, -0.5, 0.1\n"
                                    "e, POINT, 04:59:00, +44.20.00, 3.0, 0, 0, 0\n";

static const char stations[] = "-1601185 -5041977 3554876\n"
                               "-1601035 -5041957 3554951\n"
                               "-1601275 -5041767 3554832\n"
                               "-1601125 -5042317 3554906\n"
                               "-1601685 -5041937 3554628\n"
                               "-1600565 -5041667 3555186\n"
                               "-1601425 -5042747 3554757\n"
                               "-1600305 -5042497 3555316\n";

static const char sources[] = "FORMAT = Name, Type, Patch, Ra, Dec, I, Q, U, V\n"
                              ", , A, 05:00:00, +45.00.00\n"
                              ", , B, 05:02:40, +45.25.00\n"
                              "a, POINT, A, 05:00:00, +45.00.00, 10.0, 1, 0.5, 0.2\n"
                              "b, POINT, B, 05:02:40, +45.25.00, 3.0, 0, 0, 0\n"
                              "c, POINT, A, 04:57:10, +44.31.00, 2.0, 0.3, -0.4, 0\n";

static void hear(const char *message)
{
    char *to = strstr(message, "the data do not determine") ? solve_world_free : solve_world_said;

    snprintf(to, sizeof(solve_world_said), "%s", message);
}

void solve_world_begin(solve_world *w)
{
    testing_begin(&w->t);
    w->session = NULL;
    w->observe = "";
    w->times = 12;
    ck_assert_int_eq(grove_classes_add(w->t.classes, &class_draw, w->t.error), 0);
    ck_assert_int_eq(grove_classes_add(w->t.classes, &class_spoil, w->t.error), 0);
    ck_assert_int_eq(grove_classes_add(w->t.classes, &class_keep, w->t.error), 0);
    memset(solve_world_reads, 0, sizeof(solve_world_reads));
    solve_world_interrupt = 0;
    solve_world_said[0] = solve_world_free[0] = 0;
    grove_log_watch(hear);
}

void solve_world_end(solve_world *w)
{
    grove_session_free(w->session);
    w->session = NULL;
    testing_end(&w->t);
    grove_log_watch(NULL);
    for (int k = 0; k < SOLVE_WORLD_KEPT; k++) {
        free(solve_world_kept[k].at);
        free(solve_world_kept[k].flags);
        solve_world_kept[k] = (solve_kept){0};
    }
}

int solve_world_run(solve_world *w, const char *text, const grove_session_options *options)
{
    const grove_session_options usual =
        GROVE_SESSION_OPTIONS(.device = "cpu", .double_precision = true);
    const char *layout = testing_file(&w->t, "stations.txt", stations);
    const char *sky = testing_file(&w->t, "sky.skymodel", sources);
    char *all = suite_text("%s%s",
                           suite_text(observed, layout, w->times, w->times, w->observe, sky,
                                      testing_file(&w->t, "other.skymodel", other_sources)),
                           text);

    grove_session_free(w->session);
    w->session = NULL;
    if (!testing_try(&w->t, all)) {
        return GROVE_INVALID;
    }
    w->session = grove_session_new(w->t.tree, options ? options : &usual, w->t.error);
    return w->session ? grove_session_run(w->session) : GROVE_INVALID;
}

void solve_world_pass(solve_world *w, const char *text)
{
    if (solve_world_run(w, text, NULL)) {
        char *messages = grove_error_text(w->t.error);
        ck_abort_msg("%s\n%s", text, messages);
    }
}

void solve_world_refuse(solve_world *w, const char *text, const char *words)
{
    ck_assert_int_ne(solve_world_run(w, text, NULL), 0);
    char *messages = suite_messages(w->t.error);
    ck_assert_msg(strstr(messages, words) != NULL, "%s\n%s\nnot: %s", text, messages, words);
}

/* ---- comparisons ---- */

/* The station of a number of [time station freq], -1 of others. */
static int64_t station_of(const solve_kept *kept, int64_t number)
{
    if (kept->axes != 3 || kept->kind[1] != GROVE_AXIS_STATION)
        return -1;
    return number / kept->elements / kept->size[2] % kept->size[1];
}

void solve_world_align(int k, int l, int without)
{
    solve_kept *found = &solve_world_kept[k];
    const solve_kept *truth = &solve_world_kept[l];
    int64_t times = found->size[0], count = found->size[1], channels = found->size[2];

    ck_assert_int_eq(found->cells, times * count * channels);
    for (int64_t t = 0; t < times; t++)
        for (int64_t f = 0; f < channels; f++) {
            double complex sum = 0;
            for (int64_t n = 0; n < count * found->elements; n++) {
                int64_t at = ((t * count + n / found->elements) * channels + f) * found->elements +
                             n % found->elements;
                if (n / found->elements != without)
                    sum += truth->at[at] * conj(found->at[at]);
            }
            for (int64_t n = 0; n < count * found->elements; n++) {
                int64_t at = ((t * count + n / found->elements) * channels + f) * found->elements +
                             n % found->elements;
                found->at[at] *= sum / cabs(sum);
            }
        }
}

double solve_world_distance_without(int k, int l, int without)
{
    const solve_kept *a = &solve_world_kept[k], *b = &solve_world_kept[l];
    double largest = 0;

    ck_assert_int_eq(a->cells * a->elements, b->cells * b->elements);
    ck_assert_int_gt(a->cells, 0);
    for (int64_t i = 0; i < a->cells * a->elements; i++) {
        double distance = cabs(a->at[i] - b->at[i]);
        if (without < 0 || station_of(a, i) != without)
            largest = fmax(largest, isfinite(distance) ? distance : INFINITY);
    }
    return largest;
}

double solve_world_distance(int k, int l)
{
    return solve_world_distance_without(k, l, -1);
}
