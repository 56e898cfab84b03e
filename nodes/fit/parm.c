/* Parms: numbers that a fit may change. The leaf has the coefficients; parm_value makes values of
 * them. */
#include "nodes/fit/parm.h"
#include "nodes/common/form.h"
#include "nodes/common/grid_lookup.h"
#include "plugin.h"

#include "unstable/fit.h"
#include "util.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Most coefficients of a parm. */
#define PARM_NUMBERS 1e7

/* Appended to a member's name for its standard deviations. */
#define ERROR "_error"

/* ---- the leaf ---- */

static const grove_port inputs[] = {
    {"obs", GROVE_OBJECT, "its stations, times and frequencies", .object = "observation",
     .optional = true, .implied = true},
    {"sky", GROVE_OBJECT, "its sources", .object = "sky", .optional = true, .implied = true},
    {0},
};

static const grove_port options[] = {
    {"name", GROVE_TEXT, "its name, in solutions and messages"},
    {"jones", GROVE_CHOICE,
     "the Jones term that it makes: scalar, diagonal and full have complex numbers; phase and "
     "amplitude are diagonal; rotation, leakage ([[1, x], [y, 1]]), delay (diagonal) and tec "
     "(scalar); none: a number",
     .initial = "none",
     .choices = "none scalar diagonal full phase amplitude rotation leakage delay tec"},
    {"axes", GROVE_AXIS_NAMES,
     "axes along which each cell has a parm of its own: station, source, or both; if left out, the "
     "indices of the definition: station for G[p], source and station for E[s,p]",
     .initial = "none"},
    {"groups", GROVE_CHOICE, "patch: all sources of a patch (a cluster) of the sky share one parm",
     .initial = "none", .choices = "none patch"},
    {"time", GROVE_TIME,
     "length of the intervals in which it is constant, s, from the start of each scan; the last "
     "one of a scan may be shorter; there are no intervals without time slots; none: one interval",
     .initial = "none"},
    {"freq", GROVE_FREQUENCY, "the same in frequency, Hz, from the lowest edge", .initial = "none"},
    {"degree", GROVE_NUMBER_LIST,
     "degree of the polynomials in each interval, at most 63: in time, or [in time, in frequency]",
     .initial = "0"},
    {"init", GROVE_QUANTITY,
     "start value, which gives the unit; none: the value with which the Jones term has no effect",
     .initial = "none"},
    {"complex", GROVE_BOOL,
     "with jones=none: the number is complex, as it also is with an init such as 1+0i",
     .initial = "false"},
    {"bounds", GROVE_NUMBER_LIST,
     "[low, high] between which a real parm stays, in the unit of init; [low, none] has no upper "
     "limit. For polynomials they apply to the constant term",
     .initial = "none"},
    {"prior", GROVE_NUMBER_LIST,
     "prior knowledge, in the unit of init: sigma, or [mean, sigma], of a normal distribution; "
     "without a mean around the start value; for complex parms sigma of the real and of the "
     "imaginary part. For polynomials it applies to the constant term",
     .initial = "none"},
    {"from", GROVE_FILE,
     "an H5parm file (.h5) whose solutions are the start values, in place of init where the file "
     "has some: at the centres of the intervals, found by names of stations and sources",
     .initial = "none"},
    {"table", GROVE_TEXT,
     "names of its tables, separated by blanks, such as \"amplitude000 phase000\" or "
     "sol001/clock000; \"\": the tables of a parm with this name, or else the tables of this kind",
     .initial = "\"\""},
    {"interpolate", GROVE_CHOICE,
     "along its time and freq: nearest, the interval that contains the centre; or linear, phases "
     "along the shortest way round",
     .initial = "nearest", .choices = GROVE_LOOKUP_INTERPOLATE},
    {"outside", GROVE_CHOICE,
     "beyond its first or last interval, and for names that it does not have: an error; edge: the "
     "first or last interval; flag: init",
     .initial = "error", .choices = GROVE_LOOKUP_OUTSIDE},
    {"fixed", GROVE_BOOL, "true: it is not fitted, and has no derivatives", .initial = "false"},
    {"step", GROVE_QUANTITY,
     "a change of the value within which the model is about linear, in the unit of init: "
     "derivatives are differences over 1e-5 of it; none: the absolute value of init; if this is 0, "
     "1e-9 s for delay, 0.01 for tec, else 1",
     .initial = "none"},
    {0},
};

/* At the place of @ the coordinates of the observation are given, if there is one. */
#define VALUE(member)   "parm_value(parm, parm." member "@)"
#define DELAYED(member) "exp(2i * pi * obs.freq * " VALUE(member) ")"

/* Jones terms made of parms. TEC in TECU: -8.44797245e9 rad Hz (e^2 / (4 pi eps0 m c) of 1e16 /
 * m^2).
 */
static const struct {
    const char *text, *member[GROVE_PARM_MEMBERS];
    bool complex_;
    grove_unit unit;
    double init[GROVE_PARM_MEMBERS], step;
} kinds[] = {
    {VALUE("value"), {"value"}, false, {0}, {0}, 1},
    {VALUE("value"), {"value"}, true, {0}, {1}, 1},
    {"diagonal(" VALUE("x") ", " VALUE("y") ")", {"x", "y"}, true, {0}, {1, 1}, 1},
    {"matrix(" VALUE("xx") ", " VALUE("xy") ", " VALUE("yx") ", " VALUE("yy") ")",
     {"xx", "xy", "yx", "yy"},
     true,
     {0},
     {1, 0, 0, 1},
     1},
    {"diagonal(exp(1i * " VALUE("x") " / 1rad), exp(1i * " VALUE("y") " / 1rad))",
     {"x", "y"},
     false,
     {.rad = 1},
     {0},
     1},
    {"diagonal(" VALUE("x") ", " VALUE("y") ")", {"x", "y"}, false, {0}, {1, 1}, 1},
    {"rotation(" VALUE("angle") ")", {"angle"}, false, {.rad = 1}, {0}, 1},
    {"matrix(1, " VALUE("x") ", " VALUE("y") ", 1)", {"x", "y"}, true, {0}, {0}, 1},
    {"diagonal(" DELAYED("x") ", " DELAYED("y") ")", {"x", "y"}, false, {.s = 1}, {0}, 1e-9},
    {"exp(-8.44797245e9i * " VALUE("tec") " / (obs.freq / 1Hz))", {"tec"}, false, {0}, {0}, 0.01},
};
enum { NUMBER = 0 };

static int find_axes(grove_node *node, grove_parm *p)
{
    const char *const *words;
    int count = grove_node_words(node, "axes", &words), code = 0;

    for (int i = 0; i < count && !code; i++) {
        bool source = !strcmp(words[i], "source"), station = !strcmp(words[i], "station");
        const grove_node *object = grove_node_object(node, source ? "sky" : "obs");
        const grove_axis *axis = object ? grove_node_axis(object, words[i]) : NULL;
        if (!source && !station)
            code = grove_node_fail_option(
                node, "axes", "a parm varies along station and source, not along '%s'", words[i]);
        else if (source ? p->source : p->station)
            code = grove_node_fail_option(node, "axes", "'%s' is given twice", words[i]);
        else if (!axis)
            code = grove_node_fail_option(
                node, "axes",
                "it varies with %s, but its %s is not given; write %s=... with the name of one",
                words[i], source ? "sky" : "observation", source ? "sky" : "obs");
        else
            code = grove_node_take_axis(node, object, words[i]);
        *(source ? &p->source : &p->station) = axis;
    }
    return code;
}

/* The sources' groups, if they share coefficients. */
static int find_groups(grove_node *node, grove_parm *p)
{
    static const grove_form plain = {.shape = GROVE_SCALAR, .precision = GROVE_PRECISION_DOUBLE};
    const grove_node *sky = grove_node_object(node, "sky");

    if (grove_node_choice(node, "groups") == 0)
        return 0;
    if (!p->source)
        return grove_node_fail_option(node, "groups",
                                      "it does not vary with source; write axes=source or "
                                      "axes=[source, station]");
    const double *group = grove_node_member_data(sky, "patch");
    const grove_axis *groups = grove_node_axis(sky, "patch");
    if (!group || !groups)
        return grove_node_fail_option(
            node, "groups",
            "no source of '%s' belongs to a patch; with groups=none (in calibrate-dd.tree: "
            "groups=source) each source has its own parm",
            grove_node_name(sky));
    for (int64_t s = 0; s < p->source->size; s++)
        if (!(group[s] >= 0 && group[s] < (double)groups->size))
            return grove_node_fail_option(
                node, "groups",
                "source %lld of '%s' belongs to patch %g; there are %lld patches, counted from 0",
                (long long)s, grove_node_name(sky), group[s], (long long)groups->size);
    int code = grove_node_take_axis(node, sky, "patch");
    if (!code)
        code = grove_node_add_member(node, "group", "source", &plain, group,
                                     "number of the group of the source");
    grove_node_add_property(node, "groups", "patch");
    p->groups = groups;
    p->group = grove_node_member_data(node, "group");
    return code;
}

/* The unit, and the start values. */
static int find_numbers(grove_node *node, grove_parm *p, grove_unit *unit)
{
    double init[2] = {0, 0}, step[2] = {kinds[p->kind].step, 0};
    bool given = grove_node_given(node, "init"), number = p->kind == NUMBER;
    grove_unit has = grove_node_quantity(node, "init", init);
    char text[48];

    *unit = kinds[p->kind].unit;
    if (number && !given)
        return grove_node_fail_option(node, "init", "a start value must be given, with its unit");
    if (number)
        *unit = has;
    p->complex_ =
        kinds[p->kind].complex_ ||
        (number && (grove_node_quantity_complex(node, "init") || grove_node_bool(node, "complex")));
    if (!p->complex_ && init[1] != 0)
        return grove_node_fail_option(node, "init", "this parm is real");
    if (given && !grove_unit_equal(*unit, has) && (init[0] != 0 || init[1] != 0))
        return grove_node_fail_option(node, "init", "must be %s", grove_unit_describe(text, *unit));
    for (int m = 0; m < p->members; m++) {
        bool diagonal = p->members < GROVE_PARM_MEMBERS || m == 0 || m == GROVE_PARM_MEMBERS - 1;
        p->init[m][0] = given && diagonal ? init[0] : kinds[p->kind].init[m];
        p->init[m][1] = given && diagonal ? init[1] : 0;
    }
    if (given && hypot(init[0], init[1]) > 0)
        step[0] = hypot(init[0], init[1]);
    if (grove_node_given(node, "step")) {
        has = grove_node_quantity(node, "step", step);
        if (!grove_unit_equal(*unit, has) || step[1] != 0 || !(step[0] > 0))
            return grove_node_fail_option(node, "step", "must be %s above 0",
                                          grove_unit_describe(text, *unit));
    }
    p->step = step[0];
    grove_node_set_step(node, p->step);
    return 0;
}

/* The numbers of an option in the unit of init; how many, or -1 after a message. */
static int list_of(const grove_node *node, const char *option, grove_unit unit,
                   const double **numbers)
{
    int count = grove_node_list(node, option, numbers);
    grove_unit has = grove_node_list_unit(node, option);
    bool zero = true;
    char text[48];

    for (int i = 0; i < count; i++)
        zero = zero && ((*numbers)[i] == 0 || isnan((*numbers)[i]));
    if (grove_unit_equal(unit, has) || (zero && grove_unit_is_none(has)))
        return count;
    grove_node_fail_option(node, option, "must be %s, the unit of the parm",
                           grove_unit_describe(text, unit));
    return -1;
}

static int find_bounds(const grove_node *node, grove_parm *p, grove_unit unit)
{
    const double *given;
    int count = list_of(node, "bounds", unit, &given);
    char text[48];

    p->bounds[0] = -INFINITY;
    p->bounds[1] = INFINITY;
    if (!grove_node_given(node, "bounds") || count < 0)
        return count < 0 ? GROVE_INVALID : 0;
    if (count != 2)
        return grove_node_fail_option(node, "bounds", "must be [low, high], %s",
                                      grove_unit_describe(text, unit));
    if (p->complex_)
        return grove_node_fail_option(node, "bounds",
                                      "a complex parm has no bounds; fit its amplitude and its "
                                      "phase, jones=amplitude and jones=phase");
    for (int i = 0; i < 2; i++)
        p->bounds[i] = isnan(given[i]) ? p->bounds[i] : given[i];
    if (!(p->bounds[0] < p->bounds[1]))
        return grove_node_fail_option(node, "bounds", "%g is not below %g", p->bounds[0],
                                      p->bounds[1]);
    for (int m = 0; m < p->members; m++)
        if (p->init[m][0] < p->bounds[0] || p->init[m][0] > p->bounds[1])
            return grove_node_fail_option(node, "bounds",
                                          "the start value %g is not between %g and %g",
                                          p->init[m][0], p->bounds[0], p->bounds[1]);
    return 0;
}

static int find_prior(const grove_node *node, grove_parm *p, grove_unit unit)
{
    const double *given;
    int count = list_of(node, "prior", unit, &given);

    p->prior_sigma = INFINITY;
    memcpy(p->prior_mean, p->init, sizeof(p->prior_mean));
    if (!grove_node_given(node, "prior") || count < 0)
        return count < 0 ? GROVE_INVALID : 0;
    if (count < 1 || count > 2 || isnan(given[0]) || isnan(given[count - 1]))
        return grove_node_fail_option(node, "prior", "must be sigma or [mean, sigma]");
    if (count == 2 && p->complex_)
        return grove_node_fail_option(
            node, "prior", "the mean of a complex parm is its start value; give only sigma");
    p->prior_sigma = given[count - 1];
    if (!(p->prior_sigma > 0))
        return grove_node_fail_option(node, "prior", "%g is not a sigma, which must be above 0",
                                      p->prior_sigma);
    for (int m = 0; m < p->members && count == 2; m++)
        p->prior_mean[m][0] = given[0];
    return 0;
}

static int add_intervals(grove_node *node, const char *name, const grove_parm_intervals *own)
{
    const grove_axis axis = {
        .name = name, .size = own->count, .centre = own->centre, .width = own->width};

    return grove_node_add_axis(node, &axis);
}

static int add_members(grove_node *node, const grove_parm *p, grove_unit unit)
{
    grove_form form = {.shape = GROVE_SCALAR,
                       .complex_ = p->complex_,
                       .precision = GROVE_PRECISION_DOUBLE,
                       .unit = unit};
    grove_axis terms = {.name = "term", .size = p->time.terms * p->freq.terms};
    char *axes = grove_format("%s%s%sinterval band term", p->source && !p->groups ? "source " : "",
                              p->station ? "station " : "", p->groups ? "patch " : "");
    int code = add_intervals(node, "interval", &p->time);

    if (!code)
        code = add_intervals(node, "band", &p->freq);
    if (!code)
        code = grove_node_add_axis(node, &terms);
    for (int m = 0; m < p->members && !code; m++)
        code = grove_node_add_member(node, p->member[m], axes, &form, NULL, "coefficients");
    form.complex_ = false;
    for (int m = 0; m < p->members && !code; m++) {
        char *name = grove_format("%s" ERROR, p->member[m]);
        code = grove_node_add_member(
            node, name, axes, &form, NULL,
            "their standard deviations; for complex ones of each part; 0: not known");
        free(name);
    }
    free(axes);
    return code;
}

static int write_text(grove_node *node, grove_parm *p)
{
    bool obs = grove_node_object(node, "obs") != NULL;
    grove_text text = {0};

    if (!obs && strstr(kinds[p->kind].text, "obs."))
        return grove_node_fail_option(node, "jones",
                                      "it varies with frequency, but no observation gives the "
                                      "channels; write obs=... with the name of one");
    for (const char *at = kinds[p->kind].text; *at; at++)
        if (*at != '@')
            grove_text_add(&text, "%c", *at);
        else
            grove_text_add(&text, "%s%s", p->groups ? ", group=parm.group" : "",
                           obs ? ", time=obs.time, freq=obs.freq" : "");
    p->text = text.at;
    return 0;
}

static int open_parm(grove_node *node)
{
    grove_parm *p = grove_alloc(sizeof(*p));
    grove_unit unit;

    grove_node_set_user(node, p);
    p->kind = grove_node_choice(node, "jones");
    while (p->members < GROVE_PARM_MEMBERS && kinds[p->kind].member[p->members]) {
        p->member[p->members] = kinds[p->kind].member[p->members];
        p->members++;
    }
    grove_node_add_property(node, "name", grove_node_text(node, "name"));
    if (grove_node_bool(node, "fixed"))
        grove_node_add_property(node, "fixed", "yes");
    int code = find_axes(node, p);
    if (!code)
        code = find_groups(node, p);
    if (!code)
        code = grove_parm_divide(node, p);
    if (!code)
        code = find_numbers(node, p, &unit);
    if (!code)
        code = find_bounds(node, p, unit);
    if (!code)
        code = find_prior(node, p, unit);
    double numbers = (double)p->members * (double)p->time.count * (double)p->freq.count *
                     p->time.terms * p->freq.terms * (p->station ? (double)p->station->size : 1);
    numbers *= p->groups ? (double)p->groups->size : p->source ? (double)p->source->size : 1;
    if (!code && numbers > PARM_NUMBERS)
        code = grove_node_fail(node, GROVE_INVALID, "%g coefficients are too many; at most %g",
                               numbers, PARM_NUMBERS);
    if (!code)
        code = grove_parm_start(node, p, unit);
    if (!code)
        code = write_text(node, p);
    return code ? code : add_members(node, p, unit);
}

static void close_parm(grove_node *node)
{
    grove_parm *p = grove_node_user(node);

    if (p) {
        free(p->text);
        free(p->start);
        grove_parm_intervals_free(&p->time);
        grove_parm_intervals_free(&p->freq);
    }
    free(p);
    grove_node_set_user(node, NULL);
}

static const char *express(const grove_node *node)
{
    const grove_parm *p = grove_node_user(node);

    return p->text;
}

/* ---- its numbers in a run ---- */

static int start(const grove_node *node, void **run)
{
    const grove_parm *p = grove_node_user(node);
    grove_parm_run *own = grove_alloc(sizeof(*own));
    int64_t terms = p->time.terms * p->freq.terms;

    own->count = grove_parm_count(p);
    own->numbers = grove_alloc((size_t)(p->members * own->count) * 2 * sizeof(double) + 1);
    own->errors = grove_alloc((size_t)(p->members * own->count) * sizeof(double) + 1);
    own->phase_errors = grove_alloc((size_t)(p->members * own->count) * sizeof(double) + 1);
    if (p->start)
        memcpy(own->numbers, p->start, (size_t)(p->members * own->count) * 2 * sizeof(double));
    for (int m = 0; m < p->members && !p->start; m++)
        for (int64_t i = 0; i < own->count; i += terms)
            memcpy(own->numbers + 2 * (m * own->count + i), p->init[m], sizeof(p->init[m]));
    *run = own;
    return 0;
}

static void stop(const grove_node *node, void *run)
{
    grove_parm_run *own = run;

    (void)node;
    free(own->numbers);
    free(own->errors);
    free(own->phase_errors);
    free(own);
}

static int read_parm(const grove_call *call, const char *member, grove_array *out)
{
    const grove_parm *p = grove_node_user(call->node);
    const grove_parm_run *own = call->run;
    size_t length = strlen(member), suffix = strlen(ERROR);
    bool error = length > suffix && !strcmp(member + length - suffix, ERROR);
    int m = 0, parts = out->form->complex_ ? 2 : 1;
    double *to = out->data;

    length -= error ? suffix : 0;
    while (strncmp(p->member[m], member, length) != 0 || p->member[m][length])
        m++;
    for (int64_t i = 0; i < out->cells; i++) {
        int64_t at = 0, rest = i, index[GROVE_MAX_AXES];
        for (int d = out->axes - 1; d >= 0; d--) {
            index[d] = out->range[d].first + rest % out->range[d].count;
            rest /= out->range[d].count;
        }
        for (int d = 0; d < out->axes; d++)
            at = at * out->range[d].axis->size + index[d];
        if (error)
            to[i] = isnan(own->errors[m * own->count + at]) ? 0 : own->errors[m * own->count + at];
        else
            memcpy(to + parts * i, own->numbers + 2 * (m * own->count + at),
                   (size_t)parts * sizeof(double));
    }
    return 0;
}

GROVE_CLASS(parm) = {
    GROVE_CLASS_HEAD(parm),
    .doc =
        "An unknown that can be fitted: a number, or a Jones term made of unknown numbers.\nInside "
        "intervals of time and frequency it is constant or a polynomial. A run begins with the "
        "start value. phase is diagonal(exp(1i x), exp(1i y)); delay diagonal(exp(2i pi nu x), "
        "exp(2i pi nu y)), tec exp(-8.44797245e9i x / nu) with x in TECU and nu in Hz. Other terms "
        "can be written with parms without jones. obs and sky may be left out where there is one. "
        "from= takes start values from solution tables, or the values of a fixed parm; for a "
        "polynomial the constant term. A parm has at most 1e7 coefficients. They are its members, "
        "such as G.x, for each interval: value for a number and for scalar; x and y for diagonal, "
        "phase, amplitude, delay and leakage; xx, xy, yx and yy for full; angle for rotation; tec; "
        "and, such as G.x_error, their standard deviations where solve computes errors; for "
        "complex numbers the errors of their amplitudes.",
    .output_doc = "its value, along its axes and, where it varies, time and freq, in the unit of "
                  "init",
    .group = "fitting",
    .inputs = inputs,
    .options = options,
    .kind = GROVE_CLASS_DATA,
    .object = "parm",
    .data = &(const grove_data_functions){.open = open_parm, .read = read_parm},
    .close = close_parm,
    .start = start,
    .stop = stop,
    .expression = express,
    .example = "A[p] = parm(\"A\", obs=obs, jones=diagonal, time=60s, init=1)",
};
