/* Numbers from a file, on the axes of an observation or a sky model. */
#include "nodes/common/grid.h"
#include "nodes/common/grid_lookup.h"
#include "nodes/common/report.h"
#include "plugin.h"
#include "util.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static const grove_port inputs[] = {
    {"obs", GROVE_OBJECT, "observation whose times, channels, stations and baselines are used",
     .object = "observation", .optional = true},
    {"sky", GROVE_OBJECT, "sky whose sources are used", .object = "sky", .optional = true},
    {0},
};

static const grove_port options[] = {
    {"file", GROVE_FILE, "the file, .csv, .npy or .h5"},
    {"interpolate", GROVE_CHOICE, "along time and freq: linear, or nearest", .initial = "linear",
     .choices = GROVE_LOOKUP_INTERPOLATE},
    {"outside", GROVE_CHOICE,
     "for times and channels beyond the first or last of the file, and for names that it does not "
     "have: an error; edge: the first or last number (of times and channels); flag: flagged",
     .initial = "error", .choices = GROVE_LOOKUP_OUTSIDE},
    {"axes", GROVE_TEXT,
     "names separated by blanks: of the axes of a .npy file without its .axes file, or of a "
     "dataset in a .h5 file that is not a solution table; of a .csv file columns that are axes, "
     "besides time, freq, station, source, p and q",
     .initial = "\"\""},
    {"dataset", GROVE_TEXT,
     "for a .h5 file: the path of a dataset, or of a solution table such as sol000/amplitude000; "
     "may be left out if it has one only",
     .initial = "\"\""},
    {0},
};

typedef struct {
    grove_grid *grid;
    grove_lookup lookup;
} table;

/* ---- axes ---- */

static const grove_node *object_of(const grove_node *node, const char *axis)
{
    return grove_node_object(node, !strcmp(axis, "source") ? "sky" : "obs");
}

/* Evenly spaced cells are as wide as their step, such as pixels, so that they match the pixels of
 * images; NULL: for other axes, and times and channels, which may have gaps. */
static double *widths_of(const grove_grid_axis *own)
{
    const double *at = own->number;
    int64_t last = own->size - 1;

    if (!at || last < 1 || !strcmp(own->name, "time") || !strcmp(own->name, "freq"))
        return NULL;
    double step = (at[last] - at[0]) / (double)last;
    for (int64_t i = 0; i <= last; i++)
        if (!(fabs(at[0] + step * (double)i - at[i]) < 1e-6 * fabs(step)))
            return NULL;
    double *width = grove_alloc((size_t)own->size * sizeof(*width));
    for (int64_t i = 0; i <= last; i++)
        width[i] = fabs(step);
    return width;
}

/* An axis of the leaf's own, as the file has it. */
static int add_own(grove_node *node, table *t, int d)
{
    const grove_grid_axis *own = &t->grid->axis[d];

    if (own->other)
        return grove_node_fail_option(node, "file",
                                      "it has baselines; give their observation, obs=...");
    double *width = widths_of(own);
    grove_axis axis = {.name = own->name,
                       .size = own->size,
                       .centre = own->number,
                       .width = width,
                       .labels = (const char *const *)own->label};
    int code = grove_node_add_axis(node, &axis);
    free(width);
    if (!code)
        grove_lookup_take(&t->lookup, d, grove_node_axis(node, own->name));
    return code;
}

static int take_axis(grove_node *node, table *t, int d)
{
    const grove_grid_axis *own = &t->grid->axis[d];
    const grove_node *object = object_of(node, own->name);
    const grove_axis *axis = object ? grove_node_axis(object, own->name) : NULL;

    if (!axis)
        return add_own(node, t, d);
    int code = grove_node_take_axis(node, object, own->name);
    return code ? code : grove_lookup_match(node, &t->lookup, d, axis, object);
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
                           .flags = column->flags || t->lookup.flags,
                           .unit = column->unit};
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
    if (grove_ends_with(path, ".npy")) {
        char *note = grove_format("%s.axes", path);
        grove_node_add_identity(node, note);
        free(note);
    }
    grove_lookup_begin(&t->lookup, t->grid, "file");
    for (int d = 0; d < t->grid->axes && !code; d++)
        code = take_axis(node, t, d);
    if (t->lookup.note)
        grove_lookup_report(node, t->lookup.note, t->lookup.apart);
    return code ? code : add_members(node, t);
}

/* ---- reading ---- */

static int read_member(const grove_call *call, const char *member, grove_array *out)
{
    const table *t = grove_node_user(call->node);
    const grove_grid_column *column = t->grid->column;
    int64_t index[GROVE_MAX_AXES];
    int file_axis[GROVE_MAX_AXES] = {0}; /* the file's axis of each of the block */
    int numbers = 0;

    while (strcmp(column->name, member) != 0)
        column++;
    numbers = column->elements * (column->complex_ ? 2 : 1);
    for (int k = 0; k < out->axes; k++)
        while (t->lookup.axis[file_axis[k]] != out->range[k].axis)
            file_axis[k]++;
    for (int64_t i = 0; i < out->cells; i++) {
        int64_t rest = i;
        for (int k = out->axes - 1; k >= 0; k--) {
            index[file_axis[k]] = out->range[k].first + rest % out->range[k].count;
            rest /= out->range[k].count;
        }
        unsigned char flags =
            grove_lookup_cell(&t->lookup, column, index, (double *)out->data + i * numbers);
        if (out->flags)
            out->flags[i] = flags;
    }
    return 0;
}

static void close_table(grove_node *node)
{
    table *t = grove_node_user(node);

    if (!t)
        return;
    grove_lookup_free(&t->lookup);
    grove_grid_free(t->grid);
    free(t);
    grove_node_set_user(node, NULL);
}

GROVE_CLASS(table) = {
    GROVE_CLASS_HEAD(table),
    .doc = "Numbers from a file: gains, bandpasses, anything on named axes.\nStations, baselines "
           "and sources are found by their names, times and channels by their coordinates, between "
           "which the numbers are interpolated; complex ones by real and imaginary part. Axes that "
           "no object given has are the table's own; where their coordinates are the same as for "
           "an image or another table, such as l and m, they are the same axis. A .csv file has a "
           "header with names of columns, units in parentheses, and a row for each cell, in any "
           "order. Columns time (a number or a UTC date such as 2026-11-22T10:00:00), freq, "
           "station, source, p and q are coordinates. Each other column is a member; NAME_re and "
           "NAME_im together are the complex member NAME; XX, XY, YX, YY (or RR, ...), XX and YY, "
           "or 0, 1, ... together are the member value. Empty fields and numbers that are not "
           "finite are flagged. The numbers of a .npy file are the member value. The class save "
           "writes both.\nFrom a .h5 file a dataset is read, real, or complex as h5py writes it. "
           "Its dimensions have the names and coordinates of their dimension scales. The last "
           "dimensions may have no names: they are the elements of a matrix (2 x 2), a diagonal "
           "(2) or a vector (n). Or one dimension is called pol and has the elements. Solution "
           "tables in LOFAR's H5parm are read, too: a group with val, weight (0 is flagged), and "
           "ant, dir, freq, time, pol, as the attribute AXES of val says. A single polarisation is "
           "a scalar, I or without a name; XX, YY, RR and such alone are errors.",
    .output_doc = "an object: its columns are members, value in files that save has written",
    .group = "data",
    .inputs = inputs,
    .options = options,
    .kind = GROVE_CLASS_DATA,
    .object = "table",
    .data = &(const grove_data_functions){.open = open_table, .read = read_member},
    .close = close_table,
    .example = "g = table(\"gains.csv\", obs=obs, outside=edge)",
};
