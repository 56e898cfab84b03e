/* Numbers from a file, on the axes of an observation or a sky model. */
#include "base/error.h"
#include "base/memory.h"
#include "base/text.h"
#include "io/grid.h"
#include "nodes/report.h"
#include "plugin.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { LINEAR, NEAREST };
enum { ERROR, EDGE, FLAG };

static const grove_input inputs[] = {
    {"obs", GROVE_OBJECT, "whose times, channels, stations and baselines are meant",
     .object = "observation", .optional = true},
    {"sky", GROVE_OBJECT, "whose sources are meant", .object = "sky", .optional = true},
    {0},
};

static const grove_option options[] = {
    {"file", GROVE_FILE, NULL, "the file, .csv, .npy or .h5"},
    {"interpolate", GROVE_CHOICE, "linear", "along time and freq: linear, or nearest",
     "linear nearest"},
    {"outside", GROVE_CHOICE, "error",
     "what the object has and the file has not, times and channels beyond its first or last and "
     "names: an error; edge: the first or last number (of times and channels); flag: flagged",
     "error edge flag"},
    {"axes", GROVE_TEXT, "\"\"",
     "names separated by blanks: of the axes of a .npy file without its .axes file, or of a "
     "dataset in a .h5 file that is no solution table; of a .csv file columns that are axes, "
     "beside time, freq, station, source, p and q"},
    {"dataset", GROVE_TEXT, "\"\"",
     "what of a .h5 file: the path of a dataset, or of a solution table such as "
     "sol000/amplitude000; may be left out if it has one only"},
    {0},
};

/* Where the numbers of a cell of the value come from along one axis of the file. */
typedef struct {
    int64_t low, high; /* low -1: nowhere, flagged */
    double weight;     /* of high; 0: low alone */
} source;

typedef struct {
    grove_grid *grid;
    const grove_axis *axis[GROVE_MAX_AXES]; /* of the value, for each of the file */
    source *from[GROVE_MAX_AXES];           /* [axis.size] */
    int64_t step[GROVE_MAX_AXES];           /* cells of the file */
    bool flags;                             /* something is nowhere */
} table;

/* ---- numbers ---- */

/* Places of an axis's numbers in ascending order. */
typedef struct {
    double at;
    int64_t place;
} knot;

static int by_number(const void *a, const void *b)
{
    const knot *x = a, *y = b;

    return x->at < y->at ? -1 : x->at > y->at;
}

static knot *sorted(const grove_grid_axis *axis)
{
    knot *knots = grove_alloc((size_t)axis->size * sizeof(*knots) + 1);

    for (int64_t i = 0; i < axis->size; i++)
        knots[i] = (knot){axis->number[i], i};
    qsort(knots, (size_t)axis->size, sizeof(*knots), by_number);
    return knots;
}

/* How far beyond the first and last number nearest ones reach: half a step. */
static double reach(const knot *knots, int64_t count, bool last)
{
    if (count < 2)
        return 0;
    return last ? (knots[count - 1].at - knots[count - 2].at) / 2 : (knots[1].at - knots[0].at) / 2;
}

static source find(const knot *knots, int64_t count, double x, double close, int interpolate)
{
    int64_t low = 0, high = count - 1;

    while (high - low > 1) {
        int64_t middle = (low + high) / 2;
        *(knots[middle].at <= x ? &low : &high) = middle;
    }
    if (fabs(x - knots[low].at) <= close || count == 1)
        return (source){knots[low].place, knots[low].place, 0};
    if (fabs(x - knots[high].at) <= close)
        return (source){knots[high].place, knots[high].place, 0};
    double weight = (x - knots[low].at) / (knots[high].at - knots[low].at);
    if (interpolate == LINEAR && weight > 0 && weight < 1)
        return (source){knots[low].place, knots[high].place, weight};
    low = weight > 0.5 ? high : low;
    return (source){knots[low].place, knots[low].place, 0};
}

static int match_numbers(grove_node *node, table *t, int d, const grove_axis *axis)
{
    const grove_grid_axis *own = &t->grid->axis[d];
    int outside = grove_node_choice(node, "outside"),
        interpolate = grove_node_choice(node, "interpolate");
    knot *knots = sorted(own);
    double first = knots[0].at, last = knots[own->size - 1].at;
    double before = interpolate == NEAREST ? reach(knots, own->size, false) : 0;
    double behind = interpolate == NEAREST ? reach(knots, own->size, true) : 0;
    int code = 0;

    for (int64_t i = 1; i < own->size && !code; i++)
        if (knots[i].at == knots[i - 1].at)
            code = grove_node_fail_option(node, "file", "%s %.15g stands there twice", own->name,
                                          knots[i].at);
    for (int64_t i = 0; i < axis->size && !code; i++) {
        double x = axis->centre[i], width = axis->width ? axis->width[i] : 0;
        double close = fmax(1e-6 * fabs(width), 1e-15 * fabs(x));
        bool beyond = x < first - before - close || x > last + behind + close;
        t->from[d][i] = find(knots, own->size, x, close, interpolate);
        if (!beyond || outside == EDGE)
            continue;
        t->from[d][i].low = -1;
        t->flags = true;
        if (outside == ERROR)
            code = grove_node_fail_option(
                node, "file",
                "%s %.15g of '%s' lies outside the file's, from %.15g to %.15g; outside=edge "
                "takes the nearest, outside=flag flags",
                own->name, x, grove_node_name(axis->owner), first, last);
    }
    free(knots);
    return code;
}

/* ---- names ---- */

typedef struct {
    const char *name, *other;
    int64_t place;
} name_place;

static int by_name(const void *a, const void *b)
{
    const name_place *x = a, *y = b;
    int order = strcmp(x->name, y->name);

    return order || !x->other ? order : strcmp(x->other, y->other);
}

static int match_names(grove_node *node, table *t, int d, const grove_axis *axis,
                       const grove_axis *stations)
{
    const grove_grid_axis *own = &t->grid->axis[d];
    name_place *names = grove_alloc((size_t)own->size * sizeof(*names) + 1);
    const char *const *labels = own->other ? stations->labels : axis->labels;
    int code = 0;

    for (int64_t i = 0; i < own->size; i++)
        names[i] = (name_place){own->label[i], own->other ? own->other[i] : NULL, i};
    qsort(names, (size_t)own->size, sizeof(*names), by_name);
    for (int64_t i = 1; i < own->size && !code; i++)
        if (!by_name(&names[i - 1], &names[i]))
            code = grove_node_fail_option(node, "file", "%s '%s%s%s' stands there twice", own->name,
                                          names[i].name, names[i].other ? "', '" : "",
                                          names[i].other ? names[i].other : "");
    for (int64_t i = 0; i < axis->size && !code; i++) {
        name_place wanted = {own->other ? labels[axis->left[i]] : labels[i],
                             own->other ? labels[axis->right[i]] : NULL, 0};
        const name_place *found =
            bsearch(&wanted, names, (size_t)own->size, sizeof(*names), by_name);
        t->from[d][i].low = found ? found->place : -1;
        t->flags = t->flags || !found;
        if (!found && grove_node_choice(node, "outside") != FLAG)
            code = grove_node_fail_option(
                node, "file", "it has no %s '%s%s%s' of '%s'; outside=flag flags what is missing",
                own->name, wanted.name, wanted.other ? "', '" : "",
                wanted.other ? wanted.other : "", grove_node_name(axis->owner));
    }
    free(names);
    return code;
}

/* ---- axes ---- */

static const grove_node *object_of(const grove_node *node, const char *axis)
{
    return grove_node_object(node, !strcmp(axis, "source") ? "sky" : "obs");
}

/* An axis of the leaf's own, as the file has it. */
static int add_own(grove_node *node, table *t, int d)
{
    const grove_grid_axis *own = &t->grid->axis[d];
    grove_axis axis = {.name = own->name,
                       .size = own->size,
                       .centre = own->number,
                       .labels = (const char *const *)own->label};

    if (own->other)
        return grove_node_fail_option(node, "file",
                                      "it has baselines; obs=... says of which observation");
    int code = grove_node_add_axis(node, &axis);
    t->axis[d] = grove_node_axis(node, own->name);
    if (code)
        return code;
    t->from[d] = grove_alloc((size_t)own->size * sizeof(source) + 1);
    for (int64_t i = 0; i < own->size; i++)
        t->from[d][i] = (source){i, i, 0};
    return 0;
}

static int take_axis(grove_node *node, table *t, int d)
{
    const grove_grid_axis *own = &t->grid->axis[d];
    const grove_node *object = object_of(node, own->name);
    const grove_axis *axis = object ? grove_node_axis(object, own->name) : NULL;
    const grove_axis *stations = object ? grove_node_axis(object, "station") : NULL;

    if (!axis)
        return add_own(node, t, d);
    int code = grove_node_take_axis(node, object, own->name);
    if (code)
        return code;
    t->axis[d] = axis;
    t->from[d] = grove_alloc((size_t)axis->size * sizeof(source) + 1);
    if (own->number && axis->centre)
        return match_numbers(node, t, d, axis);
    if (own->label && (own->other ? stations && stations->labels : axis->labels != NULL))
        return match_names(node, t, d, axis, stations);
    if (own->size != axis->size)
        return grove_node_fail_option(node, "file", "it has %lld of %s, '%s' has %lld",
                                      (long long)own->size, own->name, grove_node_name(object),
                                      (long long)axis->size);
    for (int64_t i = 0; i < axis->size; i++)
        t->from[d][i] = (source){i, i, 0};
    return 0;
}

static int add_members(grove_node *node, const table *t)
{
    grove_text axes = {0};
    int code = 0;

    for (int d = 0; d < t->grid->axes; d++)
        grove_text_add(&axes, "%s%s", d ? " " : "", t->grid->axis[d].name);
    for (int k = 0; k < t->grid->columns && !code; k++) {
        const grove_grid_column *column = &t->grid->column[k];
        grove_form form = {.shape = column->shape,
                           .vector = column->shape == GROVE_VECTOR ? column->elements : 0,
                           .complex_ = column->complex_,
                           .precision = GROVE_PRECISION_DOUBLE,
                           .flags = column->flags || t->flags};
        memcpy(&form.unit, &column->unit, sizeof(form.unit));
        code = grove_node_add_member(node, column->name, axes.at ? axes.at : "", &form, NULL,
                                     "numbers of the file");
    }
    free(axes.at);
    return code;
}

static int open_table(grove_node *node)
{
    const char *path = grove_node_text(node, "file"), *dataset = grove_node_text(node, "dataset");
    grove_error *error = grove_error_new();
    table *t = grove_alloc(sizeof(*t));
    int64_t step = 1;
    int code = 0;

    grove_node_set_user(node, t);
    if (dataset[0] && !grove_grid_is_hdf5(path))
        code = grove_node_fail_option(node, "dataset", "only .h5 files have datasets");
    else
        t->grid = grove_grid_read(path, dataset, grove_node_text(node, "axes"), error);
    if (!t->grid && !code)
        code = report_errors(node, "file", error);
    grove_error_free(error);
    if (code)
        return code;
    grove_node_add_identity(node, path);
    for (int d = t->grid->axes - 1; d >= 0; d--) {
        t->step[d] = step;
        step *= t->grid->axis[d].size;
    }
    for (int d = 0; d < t->grid->axes && !code; d++)
        code = take_axis(node, t, d);
    return code ? code : add_members(node, t);
}

/* ---- reading ---- */

/* The corners of the file's grid that a cell lies between, and their weights. */
typedef struct {
    int64_t cell[1 << GROVE_MAX_AXES];
    double weight[1 << GROVE_MAX_AXES];
    int count; /* 0: nowhere */
} corners;

static void find_corners(const table *t, const int64_t index[GROVE_MAX_AXES], corners *c)
{
    c->count = 1;
    c->cell[0] = 0;
    c->weight[0] = 1;
    for (int d = 0; d < t->grid->axes; d++) {
        const source *from = &t->from[d][index[d]];
        int before = c->count;
        if (from->low < 0) {
            c->count = 0;
            return;
        }
        for (int k = 0; k < before; k++) {
            int64_t cell = c->cell[k];
            c->cell[k] = cell + from->low * t->step[d];
            if (from->weight == 0)
                continue;
            c->cell[c->count] = cell + from->high * t->step[d];
            c->weight[c->count++] = c->weight[k] * from->weight;
            c->weight[k] *= 1 - from->weight;
        }
    }
}

static void put_cell(const grove_grid_column *column, const corners *c, grove_array *out,
                     int64_t cell)
{
    int numbers = column->elements * (column->complex_ ? 2 : 1);
    double *to = (double *)out->data + cell * numbers;
    unsigned char flags = c->count ? 0 : 255;

    for (int k = 0; k < c->count && column->flags; k++)
        flags |= column->flags[c->cell[k]];
    for (int n = 0; n < numbers; n++) {
        to[n] = 0;
        if (c->count == 1) /* its very bits */
            to[n] = column->numbers[c->cell[0] * numbers + n];
        for (int k = 0; k < c->count && c->count > 1; k++)
            to[n] += c->weight[k] * column->numbers[c->cell[k] * numbers + n];
    }
    if (out->flags)
        out->flags[cell] =
            (unsigned char)(flags & ((1 << (column->elements < 8 ? column->elements : 8)) - 1));
}

static int read_member(const grove_node *node, void *run, const char *member, grove_array *out)
{
    const table *t = grove_node_user(node);
    const grove_grid_column *column = t->grid->column;
    int64_t index[GROVE_MAX_AXES];
    int of[GROVE_MAX_AXES] = {0}; /* the file's axis of each of the block */
    corners c;

    (void)run;
    while (strcmp(column->name, member) != 0)
        column++;
    for (int k = 0; k < out->axes; k++)
        while (t->axis[of[k]] != out->range[k].axis)
            of[k]++;
    for (int64_t i = 0; i < out->cells; i++) {
        int64_t rest = i;
        for (int k = out->axes - 1; k >= 0; k--) {
            index[of[k]] = out->range[k].first + rest % out->range[k].count;
            rest /= out->range[k].count;
        }
        find_corners(t, index, &c);
        put_cell(column, &c, out, i);
    }
    return 0;
}

static void close_table(grove_node *node)
{
    table *t = grove_node_user(node);

    if (!t)
        return;
    for (int d = 0; d < GROVE_MAX_AXES; d++)
        free(t->from[d]);
    grove_grid_free(t->grid);
    free(t);
    grove_node_set_user(node, NULL);
}

GROVE_CLASS(table) = {
    GROVE_CLASS_HEAD(table),
    .doc =
        "Numbers from a file: gains, bandpasses, anything on named axes.\n"
        "Stations, baselines and sources are found by their names, times and channels by their "
        "coordinates, between which the numbers are interpolated; complex ones by real and "
        "imaginary part. Axes that no object given has are the table's own. A .csv file has a "
        "header with names of columns, units in parentheses, and a row for each cell, in any "
        "order. Columns time (a number or a UTC date such as 2026-11-22T10:00:00), freq, station, "
        "source, p and q are coordinates. Each other column is a member; NAME_re and NAME_im "
        "together are the complex member NAME; XX, XY, YX, YY (or RR, ...), XX and YY, or 0, 1, "
        "... together are the member value. Empty fields and numbers that are not finite are "
        "flagged. Of a .npy file the numbers are the member value. The class save writes both.\n"
        "Of a .h5 file a dataset is read, real, or complex as h5py writes it. Its dimensions have "
        "the names and coordinates of their dimension scales. The last dimensions may have no "
        "names: they are the elements of a matrix (2 x 2), a diagonal (2) or a vector (n). Or one "
        "dimension is called pol and has the elements. Solution tables in LOFAR's H5parm are "
        "read, too: a group with val, weight (0 is flagged), and ant, dir, freq, time, pol, as the "
        "attribute AXES of val says. A single polarisation is a scalar, I or without a name; XX, "
        "YY, RR and such alone are errors.",
    .output_doc = "an object: its columns are members, value in files that save has written",
    .group = "data",
    .inputs = inputs,
    .options = options,
    .kind = GROVE_CLASS_DATA,
    .object = "table",
    .open = open_table,
    .read = read_member,
    .close = close_table,
    .example = "g = table(\"gains.csv\", obs=obs, outside=edge)",
};
