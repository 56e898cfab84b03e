/* Jones terms from solution tables. */
#include "nodes/fit/solution_parts.h"
#include "plugin.h"

#include "util.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static const grove_port inputs[] = {
    {"obs", GROVE_OBJECT, "observation whose times, channels and stations are used",
     .object = "observation", .optional = true, .implied = true},
    {"sky", GROVE_OBJECT, "sky whose sources are used, where solutions have directions",
     .object = "sky", .optional = true, .implied = true},
    {0},
};

static const grove_port options[] = {
    {"file", GROVE_FILE, "the file, .h5"},
    {"solset", GROVE_TEXT, "which set of solutions; may be left out if there is one only",
     .initial = "\"\""},
    {"tables", GROVE_TEXT,
     "names separated by blanks: of tables, such as phase000, or with their set sol001/phase000, "
     "or of parms; \"\": all tables, at most one each of amplitude, phase, clock, tec and "
     "rotation",
     .initial = "\"\""},
    {"direction", GROVE_TEXT,
     "for tables with directions: the name of the direction whose solutions all sources have; "
     "\"\": each source has the solutions of its own direction",
     .initial = "\"\""},
    {"interpolate", GROVE_CHOICE,
     "along time and freq: nearest, the interval that contains the cell; or linear between the "
     "centres, phases along the shortest way round: flagged solutions between others of their "
     "station and polarisation are then ignored",
     .initial = "nearest", .choices = GROVE_LOOKUP_INTERPOLATE},
    {"outside", GROVE_CHOICE,
     "for times and channels beyond the first or last interval of the file, and for names that it "
     "does not have: an error; edge: the first or last interval (of times and channels); flag: "
     "flagged",
     .initial = "error", .choices = GROVE_LOOKUP_OUTSIDE},
    {"outliers", GROVE_NUMBER,
     "a number of standard deviations (1.4826 times the median distance): solutions that are "
     "farther from the median of their station and polarisation along time, or along freq where "
     "there are fewer than 3 times, are flagged",
     .initial = "none"},
    {0},
};

typedef struct {
    grove_solution_parts parts;
    char *text; /* its equivalent expression */
} solutions;

/* ---- axes and members ---- */

/* Of a direction that holds for all: a single one without a sky, or one that is chosen. */
static const grove_axis everywhere = {.name = "source", .size = 1};

/* Whether a direction, which may be a list of patches, is meant by a name. */
static bool is_direction(const char *label, const char *name)
{
    size_t length = strlen(name);

    if (length > 2 && name[0] == '[' && name[length - 1] == ']') { /* as the file has it */
        name++;
        length -= 2;
    }
    if (!strncmp(label, name, length) && !label[length])
        return true;
    for (const char *at = label; at; at = strchr(at, ',')) {
        at += strspn(at, ", ");
        if (!strncmp(at, name, length) && (!at[length] || at[length] == ','))
            return true;
    }
    return false;
}

static int fail_directions(const grove_node *node, const grove_solution_part *part,
                           const grove_grid_axis *own)
{
    const char *name = grove_node_text(node, "direction");
    grove_text text = {0};
    int code;

    for (int64_t i = 0; i < own->size; i++)
        grove_text_add(&text, "%s'%s'", i ? ", " : "", own->label[i]);
    if (name[0])
        code = grove_node_fail_option(node, "direction", "%s: it has no direction '%s'; it has %s",
                                      part->name, name, text.at);
    else
        code = grove_node_fail_option(
            node, "file",
            "%s: it has solutions of several directions: %s; direction=\"%s\" selects one, and "
            "sky=... one for each source of a sky",
            part->name, text.at, own->label[0]);
    free(text.at);
    return code;
}

/* Of the direction that is chosen, or of the only one. */
static int take_direction(grove_node *node, grove_solution_part *part, int d)
{
    const grove_grid_axis *own = &part->grid->axis[d];
    const char *name = grove_node_text(node, "direction");
    int64_t chosen = own->size == 1 && !name[0] ? 0 : -1;

    for (int64_t i = 0; name[0] && i < own->size && chosen < 0; i++)
        if (is_direction(own->label[i], name))
            chosen = i;
    if (chosen < 0)
        return fail_directions(node, part, own);
    grove_lookup_take(&part->lookup, d, &everywhere);
    part->lookup.from[d][0] = (grove_lookup_place){chosen, chosen, 0};
    return 0;
}

static int find_axis(grove_node *node, grove_solution_part *part, int d)
{
    const grove_grid_axis *own = &part->grid->axis[d];
    bool source = !strcmp(own->name, "source"), named = source || !strcmp(own->name, "station");
    bool known = named || !strcmp(own->name, "time") || !strcmp(own->name, "freq");
    const grove_node *object = grove_node_object(node, source ? "sky" : "obs");
    const grove_axis *axis = object && known ? grove_node_axis(object, own->name) : NULL;

    if (!known)
        return grove_node_fail_option(
            node, "file",
            "%s: solutions along '%s' are not supported; axes can be time, freq, ant, dir and pol",
            part->name, own->name);
    if (source && own->label && (!object || grove_node_text(node, "direction")[0]))
        return take_direction(node, part, d);
    if (named ? !own->label : !own->number)
        return grove_node_fail_option(node, "file",
                                      "%s: it does not say which %s its numbers belong to",
                                      part->name, own->name);
    if (!axis)
        return grove_node_fail_option(
            node, "file",
            "%s: it varies with %s, but its %s is not given; write %s=... with the name of one",
            part->name, own->name, source ? "sky" : "observation", source ? "sky" : "obs");
    int code = grove_node_axis(node, own->name) ? 0 : grove_node_take_axis(node, object, own->name);
    return code ? code : grove_lookup_match(node, &part->lookup, d, axis, object);
}

static bool has_flags(const grove_solution_part *part)
{
    return part->grid && (part->grid->column->flags || part->lookup.flags);
}

/* The axes of one part, or of two together. */
static char *axes_of(const grove_solution_part *a, const grove_solution_part *b)
{
    grove_text text = {0};

    for (const grove_solution_part *part = a; part; part = part == a ? b : NULL)
        for (int d = 0; part->grid && d < part->grid->axes; d++) {
            const char *name = part->grid->axis[d].name;
            bool known = text.at && grove_grid_has_word(text.at, name, strlen(name));
            if (part->lookup.axis[d] != &everywhere && !known)
                grove_text_add(&text, "%s%s", text.at ? " " : "", name);
        }
    return text.at ? text.at : grove_strdup("");
}

static int elements_of(const grove_solution_part *part)
{
    return part->grid ? part->grid->column->elements : 0;
}

static int add_member(grove_node *node, const char *name, const grove_solution_part *a,
                      const grove_solution_part *b, grove_form form, const char *doc)
{
    int elements = elements_of(a);
    char *axes = axes_of(a, b);

    if (b && elements_of(b) > elements)
        elements = elements_of(b);
    form.shape = elements == 4 ? GROVE_MATRIX : elements == 2 ? GROVE_DIAGONAL : GROVE_SCALAR;
    form.precision = GROVE_PRECISION_DOUBLE;
    form.flags = has_flags(a) || (b && has_flags(b));
    int code = grove_node_add_member(node, name, axes, &form, NULL, doc);
    free(axes);
    return code;
}

static int add_members(grove_node *node, const solutions *s)
{
    static const struct {
        const char *doc;
        grove_unit unit;
    } about[GROVE_SOLUTION_KINDS] = {
        [GROVE_SOLUTION_AMPLITUDE] = {"amplitudes", {0}},
        [GROVE_SOLUTION_PHASE] = {"phases, rad", {.rad = 1}},
        [GROVE_SOLUTION_CLOCK] = {"delays of clocks, s", {.s = 1}},
        [GROVE_SOLUTION_TEC] = {"TEC, in TECU", {0}},
        [GROVE_SOLUTION_ROTATION] = {"angles of rotation, rad", {.rad = 1}},
    };
    const grove_solution_part *a = &s->parts.part[GROVE_SOLUTION_AMPLITUDE],
                              *p = &s->parts.part[GROVE_SOLUTION_PHASE];
    int code = 0;

    for (int k = 0; k < GROVE_SOLUTION_KINDS && !code; k++)
        if (s->parts.part[k].grid)
            code = add_member(node, grove_solution_word((grove_solution_kind)k), &s->parts.part[k],
                              NULL, (grove_form){.unit = about[k].unit}, about[k].doc);
    if (!code && (a->grid || p->grid))
        code = add_member(node, "gain", a, p, (grove_form){.complex_ = p->grid != NULL},
                          "amplitude * exp(1i phase)");
    if (!code && a->grid && p->grid)
        grove_node_add_property(node, "amplitude(gain)", "yes");
    return code;
}

/* TEC in TECU: -8.44797245e9 rad Hz (e^2 / (4 pi eps0 m c) of 1e16 / m^2). */
static int write_text(grove_node *node, solutions *s)
{
    static const struct {
        grove_solution_kind kind;
        const char *text;
    } factors[] = {
        {GROVE_SOLUTION_AMPLITUDE, "solutions.gain"},
        {GROVE_SOLUTION_PHASE, "solutions.gain"},
        {GROVE_SOLUTION_CLOCK, "exp(2i * pi * obs.freq * solutions.clock)"},
        {GROVE_SOLUTION_TEC, "exp(-8.44797245e9i * solutions.tec / (obs.freq / 1Hz))"},
        {GROVE_SOLUTION_ROTATION, "rotation(solutions.rotation)"},
    };
    const grove_solution_part *part = s->parts.part;
    grove_text text = {0};

    for (size_t k = 0; k < sizeof(factors) / sizeof(*factors); k++) {
        bool again = factors[k].kind == GROVE_SOLUTION_PHASE && text.at;
        if (part[factors[k].kind].grid && !again)
            grove_text_add(&text, "%s%s", text.at ? " * " : "", factors[k].text);
    }
    s->text = text.at;
    if (!grove_node_object(node, "obs") && strstr(s->text, "obs."))
        return grove_node_fail_option(node, "file",
                                      "its phases vary with frequency, but no observation gives "
                                      "the channels; write obs=... with the name of one");
    return 0;
}

/* ---- opening ---- */

/* Whether a direction can be chosen, if one is. */
static int check_direction(const grove_node *node, const solutions *s)
{
    const char *name = grove_node_text(node, "direction");
    bool any = !name[0];

    for (int k = 0; k < GROVE_SOLUTION_KINDS; k++)
        for (int d = 0; s->parts.part[k].grid && d < s->parts.part[k].grid->axes; d++)
            any = any || !strcmp(s->parts.part[k].grid->axis[d].name, "source");
    return any ? 0
               : grove_node_fail_option(node, "direction",
                                        "its tables have no directions; leave out direction=\"%s\"",
                                        name);
}

/* ---- outliers ---- */

/* Sorts the numbers. */
static double median(double *x, int64_t count)
{
    qsort(x, (size_t)count, sizeof(*x), grove_compare_numbers);
    return count % 2 ? x[count / 2] : (x[count / 2 - 1] + x[count / 2]) / 2;
}

/* The direction of the mean of unit vectors. */
static double mean_direction(const double *x, int64_t count, double period)
{
    double turn = 2 * acos(-1) / period, re = 0, im = 0;

    for (int64_t i = 0; i < count; i++) {
        re += cos(turn * x[i]);
        im += sin(turn * x[i]);
    }
    return atan2(im, re) / turn;
}

/* Numbers that differ by less than this part of the largest are equal. */
#define ROUNDING 1e-12

/* Element e of the cells first, first + step, ... */
typedef struct {
    grove_grid_column *column;
    int64_t first, step, count;
    int e;
    double period;
} line;

static double *number_at(const line *l, int64_t i)
{
    return &l->column->numbers[(l->first + i * l->step) * l->column->elements + l->e];
}

static int64_t flag_line(const line *l, double sigmas, double *work)
{
    unsigned char *flags = l->column->flags, bit = (unsigned char)(1 << l->e);
    double centre = 0, largest = 0, limit;
    int64_t count = 0, flagged = 0;

    for (int64_t i = 0; i < l->count; i++)
        if (!(flags[l->first + i * l->step] & bit))
            work[count++] = *number_at(l, i);
    if (!count)
        return 0;
    double origin = l->period > 0 ? mean_direction(work, count, l->period) : 0;
    for (int64_t i = 0; i < count; i++) {
        work[i] = l->period > 0 ? remainder(work[i] - origin, l->period) : work[i];
        largest = fmax(largest, fabs(work[i]));
    }
    centre = median(work, count);
    for (int64_t i = 0; i < count; i++)
        work[i] = fabs(work[i] - centre);
    limit = fmax(1.4826 * median(work, count) * sigmas, ROUNDING * largest);
    for (int64_t i = 0; i < l->count; i++) {
        double x = *number_at(l, i) - origin - centre;
        unsigned char *flag = &flags[l->first + i * l->step];
        x = l->period > 0 ? remainder(x, l->period) : x;
        if ((*flag & bit) || !(fabs(x) > limit))
            continue;
        *flag |= bit;
        *number_at(l, i) = 0;
        flagged++;
    }
    return flagged;
}

/* The axis of that name with at least 3 places, or -1. */
static int long_axis(const grove_grid *grid, const char *name)
{
    for (int d = 0; d < grid->axes; d++)
        if (!strcmp(grid->axis[d].name, name) && grid->axis[d].size >= 3)
            return d;
    return -1;
}

/* Flags the numbers of a grid's only column, a real one, that are farther than `sigmas` standard
 * deviations from the median along time (along frequency if there are fewer than 3 times), of each
 * element and place along the other axes. The standard deviation is 1.4826 times the median of the
 * distances. With a period, such as 2 pi, they are taken the shortest way round, from the mean
 * direction. Returns how many; -1 where there are fewer than 3 of both. */
static int64_t flag_grid(grove_grid *grid, double period, double sigmas)
{
    grove_grid_column *column = grid->column;
    int time = long_axis(grid, "time"), along = time >= 0 ? time : long_axis(grid, "freq");
    int64_t step = 1, flagged = 0;

    if (along < 0)
        return -1;
    int64_t count = grid->axis[along].size;
    for (int d = along + 1; d < grid->axes; d++)
        step *= grid->axis[d].size;
    if (!column->flags)
        column->flags = grove_alloc((size_t)grid->cells + 1);
    double *work = grove_alloc((size_t)count * sizeof(*work));
    for (int64_t outer = 0; outer < grid->cells; outer += count * step)
        for (int64_t inner = 0; inner < step; inner++)
            for (int e = 0; e < column->elements; e++)
                flagged +=
                    flag_line(&(line){column, outer + inner, step, count, e, period}, sigmas, work);
    free(work);
    grove_grid_settle(grid, column);
    return flagged;
}

static int flag_outliers(grove_node *node, solutions *s, char **note)
{
    double sigmas = grove_node_given(node, "outliers") ? grove_node_number(node, "outliers") : 0;
    int64_t flagged = 0, all = 0;
    grove_text without = {0};

    if (!grove_node_given(node, "outliers"))
        return 0;
    if (!(sigmas > 0))
        return grove_node_fail_option(node, "outliers", "%g is not a number above 0", sigmas);
    for (int k = 0; k < GROVE_SOLUTION_KINDS; k++) {
        grove_grid *grid = s->parts.part[k].grid;
        if (!grid)
            continue;
        all += grid->cells * grid->column->elements;
        int64_t found = flag_grid(grid, grove_solution_period((grove_solution_kind)k), sigmas);
        if (found < 0)
            grove_text_add(&without, "; %s has neither 3 times nor 3 channels",
                           s->parts.part[k].name);
        else
            flagged += found;
    }
    *note = grove_format("outliers: %lld of %lld solutions%s", (long long)flagged, (long long)all,
                         without.at ? without.at : "");
    free(without.at);
    return 0;
}

static int open_solutions(grove_node *node)
{
    const grove_solution_request request = {
        .option = "file",
        .set = grove_node_text(node, "solset"),
        .tables = grove_node_text(node, "tables"),
        .tables_option = "tables",
        .kinds = 1u << GROVE_SOLUTION_AMPLITUDE | 1u << GROVE_SOLUTION_PHASE |
                 1u << GROVE_SOLUTION_CLOCK | 1u << GROVE_SOLUTION_TEC |
                 1u << GROVE_SOLUTION_ROTATION};
    solutions *s = grove_alloc(sizeof(*s));
    char *note = NULL;

    grove_node_set_user(node, s);
    int code = grove_solution_parts_read(node, &request, &s->parts);
    if (code)
        return code;
    grove_node_add_identity(node, grove_node_text(node, "file"));
    code = grove_solution_parts_check(node, &request, &s->parts, grove_node_object(node, "obs"));
    if (!code)
        code = check_direction(node, s);
    if (!code)
        code = flag_outliers(node, s, &note);
    for (int k = 0; k < GROVE_SOLUTION_KINDS; k++)
        for (int d = 0; s->parts.part[k].grid && d < s->parts.part[k].grid->axes && !code; d++)
            code = find_axis(node, &s->parts.part[k], d);
    if (!code)
        grove_solution_parts_complete(node, &s->parts, note);
    free(note);
    if (!code)
        code = write_text(node, s);
    return code ? code : add_members(node, s);
}

static const char *express(const grove_node *node)
{
    const solutions *s = grove_node_user(node);

    return s->text;
}

static void close_solutions(grove_node *node)
{
    solutions *s = grove_node_user(node);

    if (!s)
        return;
    grove_solution_parts_free(&s->parts);
    free(s->text);
    free(s);
    grove_node_set_user(node, NULL);
}

/* ---- reading ---- */

/* The numbers of one part at a cell of a block, which may have more axes; a single one holds for
 * all `elements`. Returns their flags. */
static unsigned char part_at(const grove_solution_part *part, const grove_array *out,
                             const int64_t *index, double to[4])
{
    const grove_grid_column *column = part->grid->column;
    int64_t own[GROVE_MAX_AXES] = {0};

    for (int d = 0; d < part->grid->axes; d++)
        for (int k = 0; k < out->axes; k++)
            if (out->range[k].axis == part->lookup.axis[d])
                own[d] = index[k];
    unsigned char flags = grove_lookup_cell(&part->lookup, column, own, to);

    if (column->elements == out->elements)
        return flags;
    for (int e = 1; e < out->elements; e++)
        to[e] = to[0];
    return flags ? (unsigned char)((1 << out->elements) - 1) : 0;
}

static void put_gain(const solutions *s, grove_array *out, const int64_t *index, int64_t cell)
{
    const grove_solution_part *a = &s->parts.part[GROVE_SOLUTION_AMPLITUDE],
                              *p = &s->parts.part[GROVE_SOLUTION_PHASE];
    double amplitude[4] = {1, 1, 1, 1}, phase[4],
           *to = (double *)out->data + cell * out->elements * (p->grid ? 2 : 1);
    unsigned char flags = 0;

    if (a->grid)
        flags |= part_at(a, out, index, amplitude);
    if (p->grid)
        flags |= part_at(p, out, index, phase);
    for (int e = 0; e < out->elements; e++)
        if (p->grid) {
            to[2 * e] = amplitude[e] * cos(phase[e]);
            to[2 * e + 1] = amplitude[e] * sin(phase[e]);
        } else {
            to[e] = amplitude[e];
        }
    if (out->flags)
        out->flags[cell] = flags;
}

static void put_part(const grove_solution_part *part, grove_array *out, const int64_t *index,
                     int64_t cell)
{
    unsigned char flags = part_at(part, out, index, (double *)out->data + cell * out->elements);

    if (out->flags)
        out->flags[cell] = flags;
}

static int read_member(const grove_call *call, const char *member, grove_array *out)
{
    const solutions *s = grove_node_user(call->node);
    int64_t index[GROVE_MAX_AXES];
    int kind = 0;

    while (kind < GROVE_SOLUTION_KINDS &&
           strcmp(member, grove_solution_word((grove_solution_kind)kind)) != 0)
        kind++;
    for (int64_t i = 0; i < out->cells; i++) {
        int64_t rest = i;
        for (int k = out->axes - 1; k >= 0; k--) {
            index[k] = out->range[k].first + rest % out->range[k].count;
            rest /= out->range[k].count;
        }
        if (kind < GROVE_SOLUTION_KINDS)
            put_part(&s->parts.part[kind], out, index, i);
        else
            put_gain(s, out, index, i);
    }
    return 0;
}

GROVE_CLASS(solutions) = {
    GROVE_CLASS_HEAD(solutions),
    .doc = "A Jones term from solution tables: an H5parm file of LoSoTo, DP3 or a fit.\nThe "
           "product, in this order, of the parts that the file has: amplitude * exp(1i phase) (its "
           "member gain), exp(2i pi nu clock), exp(-8.44797245e9i tec / nu) with TEC in TECU and "
           "nu in Hz, and the rotation by an angle. One polarisation, or none, is a scalar, XX and "
           "YY (RR and LL) a diagonal, four a matrix. Data are G[p] M G[q]^H. Stations and sources "
           "are found by name, sources also by the name of their patch; a direction named pointing "
           "is for all sources, and so are a single direction where there is no sky (sky=none), "
           "and the one that direction= names; solutions with one time or channel are for all "
           "times or channels. Solutions with the weight 0, or that are not finite, are flagged. "
           "obs and sky may be left out where there is one. Members are the parts that the file "
           "has, gain, amplitude, phase, clock, tec and rotation.",
    .output_doc = "a scalar, diagonal or matrix without unit, along the axes of the tables",
    .group = "data",
    .inputs = inputs,
    .options = options,
    .kind = GROVE_CLASS_DATA,
    .object = "solutions",
    .data = &(const grove_data_functions){.open = open_solutions, .read = read_member},
    .close = close_solutions,
    .expression = express,
    .example = "G[p] = solutions(\"gains.h5\", obs, outside=edge)",
};
