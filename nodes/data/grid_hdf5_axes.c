/* The axes of a table in an HDF5 file: their names and coordinates. */
#include "nodes/data/grid_hdf5_private.h"
#include "util.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- names of dimensions ---- */

/* The names that Grove has for axes, and others that are in use. */
static char *axis_name(const char *name)
{
    static const char *const names[][2] = {
        {"ant", "station"},      {"antenna", "station"},  {"dir", "source"},
        {"direction", "source"}, {"frequency", "freq"},   {"chan", "freq"},
        {"channel", "freq"},     {"polarization", "pol"}, {"polarisation", "pol"},
        {"corr", "pol"},         {"correlation", "pol"}};

    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
        if (!strcmp(name, names[i][0]))
            return grove_strdup(names[i][1]);
    return grove_strdup(name);
}

/* Takes the words of a list, separated by blanks or commas, for the first dimensions; how many. */
static int take_names(grove_hdf5_reader *in, const char *list)
{
    int count = 0;

    for (const char *at = list + strspn(list, " ,"); *at; count++) {
        size_t n = strcspn(at, " ,");
        if (count < in->rank) {
            char *word = grove_format("%.*s", (int)n, at);
            free(in->dim[count].name);
            in->dim[count].name = axis_name(word);
            free(word);
        }
        at += n;
        at += strspn(at, " ,");
    }
    return count;
}

/* The name of a dimension scale: from its attribute, or its path. */
static char *scale_name(hid_t scale)
{
    char *name = grove_hdf5_attribute(scale, "NAME"), path[256] = "";

    if (name && name[0] && strncmp(name, "This is a netCDF dimension", 26) != 0) {
        char *own = axis_name(name);
        free(name);
        return own;
    }
    free(name);
    H5Iget_name(scale, path, sizeof(path));
    const char *slash = strrchr(path, '/');
    return slash && slash[1] ? axis_name(slash + 1) : NULL;
}

/* ---- coordinates ---- */

static bool is_named(const char *axis)
{
    return !strcmp(axis, "station") || !strcmp(axis, "source") || !strcmp(axis, "pol");
}

int grove_hdf5_unit(grove_hdf5_reader *in, hid_t data, grove_unit *unit, double *factor)
{
    static const char *const names[] = {"units", "unit", "UNITS", "UNIT"};
    char *text = NULL;
    int code = 0;

    *unit = GROVE_UNIT_NONE;
    *factor = 1;
    for (int i = 0; i < 4 && !text; i++)
        text = grove_hdf5_attribute(data, names[i]);
    if (text && grove_grid_unit(text, strlen(text), unit, factor))
        code = grove_hdf5_fail(in, "its unit '%s' is not known", text);
    free(text);
    return code;
}

static int read_labels(grove_hdf5_reader *in, grove_hdf5_dimension *d, hid_t data)
{
    d->label = grove_hdf5_texts(data, (size_t)d->size);
    if (!d->label)
        return grove_hdf5_fail(in, "the names of %s cannot be read, or are more than 1 GiB or %d",
                               d->name, (int)GROVE_HDF5_MAX_TEXTS);
    for (int64_t i = 0; i < d->size; i++) { /* directions of H5parm are lists of patches */
        size_t n = strlen(d->label[i]);
        if (n > 1 && !strcmp(d->name, "source") && d->label[i][0] == '[' &&
            d->label[i][n - 1] == ']') {
            memmove(d->label[i], d->label[i] + 1, n - 2);
            d->label[i][n - 2] = 0;
        }
    }
    return 0;
}

static int read_places(grove_hdf5_reader *in, grove_hdf5_dimension *d, hid_t data)
{
    grove_unit unit, expected = !strcmp(d->name, "time")   ? GROVE_UNIT_TIME
                                : !strcmp(d->name, "freq") ? GROVE_UNIT_FREQUENCY
                                                           : GROVE_UNIT_NONE;
    double factor;
    int code = grove_hdf5_unit(in, data, &unit, &factor);

    if (code)
        return code;
    if (!grove_unit_is_none(unit) && !grove_unit_is_none(expected) &&
        !grove_unit_equal(unit, expected))
        return grove_hdf5_fail(in, "the coordinates of %s have another unit than that axis",
                               d->name);
    d->number = grove_try_alloc((size_t)d->size + 1, sizeof(double));
    if (!d->number || grove_hdf5_numbers(data, false, d->number))
        return grove_hdf5_fail(in, "the coordinates of %s cannot be read", d->name);
    for (int64_t i = 0; i < d->size; i++) {
        d->number[i] *= factor;
        if (!isfinite(d->number[i]))
            return grove_hdf5_fail(in, "the coordinates of %s are not all finite", d->name);
    }
    return 0;
}

/* Dates as texts; true where they are. */
static bool read_dates(grove_hdf5_dimension *d)
{
    double *mjd = grove_try_alloc((size_t)d->size + 1, sizeof(double));

    for (int64_t i = 0; mjd && i < d->size; i++)
        if (grove_parse_date(d->label[i], &mjd[i])) {
            free(mjd);
            return false;
        }
    for (int64_t i = 0; i < d->size; i++)
        free(d->label[i]);
    free(d->label);
    d->label = NULL;
    d->number = mjd;
    return mjd != NULL;
}

static int read_coordinates(grove_hdf5_reader *in, grove_hdf5_dimension *d, hid_t data)
{
    hsize_t size[GROVE_HDF5_RANK];
    grove_hdf5_kind kind = grove_hdf5_kind_of(data);
    bool time = !strcmp(d->name, "time"), freq = !strcmp(d->name, "freq");
    int code = 0;

    if (grove_hdf5_sizes(data, size) != 1 || (int64_t)size[0] != d->size)
        return grove_hdf5_fail(in, "the coordinates of %s are not %lld along one dimension",
                               d->name, (long long)d->size);
    if (kind == GROVE_HDF5_TEXT) {
        code = read_labels(in, d, data);
        if (!code && (freq || (time && !read_dates(d))))
            code = grove_hdf5_fail(in, "the coordinates of %s are texts%s", d->name,
                                   time ? " that are not dates such as 2026-11-22T10:00:00" : "");
    } else if (kind == GROVE_HDF5_REAL && !is_named(d->name)) {
        code = read_places(in, d, data);
    }
    return code;
}

/* Of a solution table's axis: the numbers of the dataset NAME_suffix next to it, in the base unit;
 * NULL where there is none. */
static int read_companion(grove_hdf5_reader *in, const grove_hdf5_dimension *d, const char *path,
                          const char *suffix, double **numbers)
{
    char *whole = grove_format("%s_%s", path, suffix);
    hid_t data = d->number ? grove_hdf5_object(in->file, whole) : -1;
    hsize_t size[GROVE_HDF5_RANK];
    bool good = data < 0 ||
                (H5Iget_type(data) == H5I_DATASET && grove_hdf5_kind_of(data) == GROVE_HDF5_REAL &&
                 grove_hdf5_sizes(data, size) == 1 && (int64_t)size[0] == d->size);

    free(whole);
    *numbers = data >= 0 && good ? grove_try_alloc((size_t)d->size + 1, sizeof(double)) : NULL;
    if (data >= 0 && good)
        good = *numbers && !grove_hdf5_numbers(data, false, *numbers);
    for (int64_t i = 0; *numbers && i < d->size && good; i++)
        good = isfinite((*numbers)[i]);
    return good ? 0
                : grove_hdf5_fail(in, "the %ss of %s are not %lld numbers", suffix, d->name,
                                  (long long)d->size);
}

/* The lengths of the intervals, if they are there, and their centres where those differ from the
 * coordinates: of a short interval these are the middle of a whole one. */
static int read_intervals(grove_hdf5_reader *in, grove_hdf5_dimension *d, const char *path)
{
    double *centre = NULL;
    int code = read_companion(in, d, path, "width", &d->width);

    for (int64_t i = 0; d->width && i < d->size && !code; i++)
        if (!(d->width[i] > 0))
            code = grove_hdf5_fail(in, "the widths of %s are not %lld numbers above 0", d->name,
                                   (long long)d->size);
    code = code ? code : read_companion(in, d, path, "centre", &centre);
    if (!code && centre) {
        free(d->number);
        d->number = centre;
    } else
        free(centre);
    return code;
}

/* ---- dimensions ---- */

/* Of a solution table: the attribute AXES, and a dataset for each axis next to the values. */
int grove_hdf5_table_axes(grove_hdf5_reader *in)
{
    char *list = grove_hdf5_attribute(in->data, "AXES");
    int code = 0, d = 0;

    if (in->axes[strspn(in->axes, " ,")])
        code = grove_hdf5_fail(
            in, "it is a solution table: its attribute AXES names its axes; leave out "
                "axes=");
    else if (!list || take_names(in, list) != in->rank)
        code = grove_hdf5_fail(in, "the attribute AXES does not name its %d dimensions", in->rank);
    for (const char *at = list; !code && d < in->rank; d++) {
        at += strspn(at, " ,");
        size_t n = strcspn(at, " ,");
        char *path = grove_format("%s/%.*s", in->path, (int)n, at);
        hid_t data = grove_hdf5_object(in->file, path);
        if (data >= 0 && H5Iget_type(data) == H5I_DATASET)
            code = read_coordinates(in, &in->dim[d], data);
        code = code ? code : read_intervals(in, &in->dim[d], path);
        free(path);
        at += n;
    }
    free(list);
    return code;
}

int grove_hdf5_axes(grove_hdf5_reader *in)
{
    hid_t scale[GROVE_HDF5_RANK];
    char **label = grove_hdf5_labels(in->data, in->rank);
    int code = 0;

    grove_hdf5_scales(in->data, in->rank, scale);
    for (int d = 0; d < in->rank; d++) {
        if (label && label[d][0])
            in->dim[d].name = axis_name(label[d]);
        else if (scale[d] >= 0)
            in->dim[d].name = scale_name(scale[d]);
        if (label)
            free(label[d]);
    }
    free(label);
    if (take_names(in, in->axes) > in->rank)
        return grove_hdf5_fail(in, "it has %d dimensions, but axes= names more", in->rank);
    for (int d = 0; d < in->rank && !code; d++)
        if (scale[d] >= 0 && in->dim[d].name)
            code = read_coordinates(in, &in->dim[d], scale[d]);
    return code;
}
