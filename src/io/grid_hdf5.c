/* Grids from HDF5: a dataset whose dimensions have names, or a solution table of LOFAR's H5parm
 * (https://github.com/revoltek/losoto/wiki/H5parm-specifications): a group with the datasets val,
 * weight, and one for each axis that the attribute AXES of val names. */
#include "io/grid_hdf5.h"

#include "base/memory.h"
#include "base/text.h"
#include "io/hdf5_file.h"

#include <ctype.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

typedef struct {
    char *name; /* NULL: it has none */
    int64_t size;
    double *number; /* [size], in base units; */
    char **label;   /* [size]; or neither */
} dimension;

typedef struct {
    const char *name; /* in messages */
    char *path;       /* of the dataset or solution table */
    const char *axes; /* names that the user gives */
    grove_error *error;
    grove_grid *grid;
    grove_grid_column *column;
    hid_t file, data, weight; /* weight: negative where there is none */
    int rank;
    dimension dim[GROVE_HDF5_RANK];
    /* Of each dimension: the axis of the grid, or -1: a part of the cell, or of one element. */
    int axis[GROVE_HDF5_RANK];
    int element[GROVE_MAX_VECTOR]; /* along the part of the cell that names them */
} h5_reader;

static int fail(h5_reader *in, const char *format, ...) __attribute__((format(printf, 2, 3)));

static int fail(h5_reader *in, const char *format, ...)
{
    grove_text text = {0};
    va_list args;

    va_start(args, format);
    grove_text_add_v(&text, format, args);
    va_end(args);
    grove_fail(in->error, GROVE_INVALID, "%s%s%s: %s", in->name, in->path ? ": " : "",
               in->path ? in->path : "", text.at);
    free(text.at);
    return GROVE_INVALID;
}

/* ---- which dataset ---- */

/* The dataset val of a solution table; negative: the group is none. */
static hid_t values_of(h5_reader *in, const char *group)
{
    char *path = grove_format("%s/val", group), *weight = grove_format("%s/weight", group);
    hid_t data = grove_hdf5_object(in->file, path);

    if (data >= 0 && (H5Iget_type(data) != H5I_DATASET || H5Aexists(data, "AXES") <= 0))
        data = -1;
    if (data >= 0)
        in->weight = grove_hdf5_object(in->file, weight);
    free(path);
    free(weight);
    return data;
}

/* With the attribute AXES it belongs to a solution table: coordinates stand beside it, and weights
 * beside val. */
static void take_dataset(h5_reader *in, hid_t data, const char *path)
{
    size_t length = strlen(path);
    while (length && path[length - 1] == '/')
        length--;
    char *own = grove_format("%.*s", (int)length, path), *slash = strrchr(own, '/');
    bool in_table = H5Aexists(data, "AXES") > 0, is_val = !strcmp(slash ? slash + 1 : own, "val");

    if (in_table)
        *(slash ? slash : own) = 0;
    in->path = own;
    in->data = in_table && is_val ? values_of(in, own) : data;
}

static int no_single(h5_reader *in, const char *path, const char *found, int count)
{
    if (!count)
        return fail(in, "%s has no numbers", path[0] ? path : "it");
    return fail(in, "it has several tables; dataset= names one: %s%s%s", path,
                path[0] ? "/ with " : "", found);
}

static int open_data(h5_reader *in, const char *path)
{
    hid_t object = grove_hdf5_object(in->file, path);
    int count = 0;

    if (object < 0) {
        char *found = grove_hdf5_tables(in->file, "", &count);
        int code = fail(in, "it has no '%s'; it has %s", path, count ? found : "no numbers");
        free(found);
        return code;
    }
    if (H5Iget_type(object) == H5I_DATASET) {
        take_dataset(in, object, path);
        return 0;
    }
    if ((in->data = values_of(in, path)) >= 0) {
        in->path = grove_strdup(path);
        return 0;
    }
    char *found = grove_hdf5_tables(in->file, path, &count);
    int code = 0;
    if (count != 1) {
        code = no_single(in, path, found, count);
    } else {
        char *whole = grove_format("%s%s%s", path, path[0] ? "/" : "", found);
        /* what was found is a dataset or a solution table */
        object = grove_hdf5_object(in->file, whole);
        if (object >= 0 && H5Iget_type(object) == H5I_DATASET) {
            take_dataset(in, object, whole);
        } else {
            in->data = values_of(in, whole);
            in->path = grove_strdup(whole);
        }
        free(whole);
        if (in->data < 0)
            code = fail(in, "cannot be read");
    }
    free(found);
    return code;
}

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
static int take_names(h5_reader *in, const char *list)
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

/* The name of a dimension scale: of its attribute, or where it stands. */
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

static int read_unit(h5_reader *in, hid_t data, grove_unit *unit, double *factor)
{
    static const char *const names[] = {"units", "unit", "UNITS", "UNIT"};
    char *text = NULL;
    int code = 0;

    *unit = GROVE_UNIT_NONE;
    *factor = 1;
    for (int i = 0; i < 4 && !text; i++)
        text = grove_hdf5_attribute(data, names[i]);
    if (text && grove_grid_unit(text, strlen(text), unit, factor))
        code = fail(in, "its unit '%s' is not known", text);
    free(text);
    return code;
}

static int read_labels(h5_reader *in, dimension *d, hid_t data)
{
    d->label = grove_hdf5_texts(data, (size_t)d->size);
    if (!d->label)
        return fail(in, "the names of %s cannot be read, or are more than 1 GiB or %d", d->name,
                    (int)GROVE_HDF5_MAX_TEXTS);
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

static int read_places(h5_reader *in, dimension *d, hid_t data)
{
    grove_unit unit, wanted = !strcmp(d->name, "time")   ? GROVE_UNIT_TIME
                              : !strcmp(d->name, "freq") ? GROVE_UNIT_FREQUENCY
                                                         : GROVE_UNIT_NONE;
    double factor;
    int code = read_unit(in, data, &unit, &factor);

    if (code)
        return code;
    if (!grove_unit_is_none(unit) && !grove_unit_is_none(wanted) && !grove_unit_equal(unit, wanted))
        return fail(in, "the coordinates of %s have another unit than that axis", d->name);
    d->number = grove_try_alloc((size_t)d->size + 1, sizeof(double));
    if (!d->number || grove_hdf5_numbers(data, false, d->number))
        return fail(in, "the coordinates of %s cannot be read", d->name);
    for (int64_t i = 0; i < d->size; i++) {
        d->number[i] *= factor;
        if (!isfinite(d->number[i]))
            return fail(in, "the coordinates of %s are not all finite", d->name);
    }
    return 0;
}

/* Dates as texts; true where they are. */
static bool read_dates(dimension *d)
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

static int read_coordinates(h5_reader *in, dimension *d, hid_t data)
{
    hsize_t size[GROVE_HDF5_RANK];
    grove_hdf5_kind kind = grove_hdf5_kind_of(data);
    bool time = !strcmp(d->name, "time"), freq = !strcmp(d->name, "freq");
    int code = 0;

    if (grove_hdf5_sizes(data, size) != 1 || (int64_t)size[0] != d->size)
        return fail(in, "the coordinates of %s are not %lld along one dimension", d->name,
                    (long long)d->size);
    if (kind == GROVE_HDF5_TEXT) {
        code = read_labels(in, d, data);
        if (!code && (freq || (time && !read_dates(d))))
            code = fail(in, "the coordinates of %s are texts%s", d->name,
                        time ? " that are no dates such as 2026-11-22T10:00:00" : "");
    } else if (kind == GROVE_HDF5_REAL && !is_named(d->name)) {
        code = read_places(in, d, data);
    }
    return code;
}

/* ---- dimensions ---- */

/* Of a solution table: the attribute AXES, and a dataset for each beside the values. */
static int read_table_axes(h5_reader *in)
{
    char *list = grove_hdf5_attribute(in->data, "AXES");
    int code = 0, d = 0;

    if (in->axes[strspn(in->axes, " ,")])
        code = fail(in, "it is a solution table: its attribute AXES names its axes; leave out "
                        "axes=");
    else if (!list || take_names(in, list) != in->rank)
        code = fail(in, "the attribute AXES does not name its %d dimensions", in->rank);
    for (const char *at = list; !code && d < in->rank; d++) {
        at += strspn(at, " ,");
        size_t n = strcspn(at, " ,");
        char *path = grove_format("%s/%.*s", in->path, (int)n, at);
        hid_t data = grove_hdf5_object(in->file, path);
        if (data >= 0 && H5Iget_type(data) == H5I_DATASET)
            code = read_coordinates(in, &in->dim[d], data);
        free(path);
        at += n;
    }
    free(list);
    return code;
}

static int read_axes(h5_reader *in)
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
        return fail(in, "it has %d dimensions, axes= names more", in->rank);
    for (int d = 0; d < in->rank && !code; d++)
        if (scale[d] >= 0 && in->dim[d].name)
            code = read_coordinates(in, &in->dim[d], scale[d]);
    return code;
}

/* ---- cells ---- */

/* Elements by their names: of a matrix or a diagonal, in any order. */
static int name_elements(h5_reader *in, const dimension *d)
{
    static const char *const names[2][4] = {{"XX", "XY", "YX", "YY"}, {"RR", "RL", "LR", "LL"}};
    int seen = 0;

    for (int i = 0; i < (int)d->size; i++)
        in->element[i] = i;
    if (!d->label || d->size > 4)
        return 0;
    for (int i = 0; i < (int)d->size; i++)
        for (int k = 0; k < 8; k++)
            if (!strcmp(d->label[i], names[k / 4][k % 4])) {
                in->element[i] = d->size == 2 ? k % 4 / 3 : k % 4;
                seen |= 1 << k;
            }
    bool matrix = seen == 15 || seen == 15 << 4, diagonal = seen == 9 || seen == 9 << 4;
    if (seen && d->size == 1)
        return fail(in, "its only polarisation is %s; one alone is I, or has no name", d->label[0]);
    if (seen && !(d->size == 4 ? matrix : diagonal && d->size == 2))
        return fail(in, "its polarisations are not XX XY YX YY, XX YY, or the same with R and L");
    in->grid->feeds = !seen ? 0 : seen < 1 << 4 ? 'X' : 'R';
    if (!seen) /* Stokes parameters, or anything */
        in->column->shape = d->size > 1 ? GROVE_VECTOR : GROVE_SCALAR;
    return 0;
}

/* The dimensions behind those with names, or the one of polarisations, are the cell. */
static int find_cell(h5_reader *in)
{
    int first = in->rank, pol = -1;

    for (int d = 0; d < in->rank; d++)
        if (in->dim[d].name && !strcmp(in->dim[d].name, "pol")) {
            if (pol >= 0)
                return fail(in, "two dimensions are called pol");
            pol = d;
        }
    while (first > 0 && !in->dim[first - 1].name)
        first--;
    for (int d = 0; d < first; d++)
        if (!in->dim[d].name)
            return fail(in, "dimension %d has no name; axes=\"time station\" names them in order",
                        d + 1);
    int left = in->rank - first;
    int64_t size = pol >= 0 ? in->dim[pol].size : left ? in->dim[first].size : 1;
    bool matrix = left == 2 && size == 2 && in->dim[first + 1].size == 2;
    if (size < 1 || size > GROVE_MAX_VECTOR || left > 2 || (left == 2 && !matrix) ||
        (pol >= 0 && left))
        return fail(in,
                    "its dimensions without a name are no cell: none, 2 x 2 of a matrix, 2 of a "
                    "diagonal, n of a vector; axes=\"time station\" names the others");
    for (int i = 0; i < GROVE_MAX_VECTOR; i++)
        in->element[i] = i;
    in->column->elements = matrix ? 4 : (int)size;
    int code = pol >= 0 ? name_elements(in, &in->dim[pol]) : 0;
    if (!in->column->shape)
        in->column->shape = matrix || (pol >= 0 && size == 4)  ? GROVE_MATRIX
                            : size == 1 && (pol >= 0 || !left) ? GROVE_SCALAR
                            : size == 2                        ? GROVE_DIAGONAL
                                                               : GROVE_VECTOR;
    return code;
}

/* One direction that is that of the whole field holds for all sources. */
static bool is_everywhere(const dimension *d)
{
    const char *label = d->label ? d->label[0] : "pointing";
    char word[9] = "";

    for (int i = 0; i < 8 && label[i]; i++)
        word[i] = (char)tolower((unsigned char)label[i]);
    return !strcmp(d->name, "source") && d->size == 1 && strlen(label) == 8 &&
           !strcmp(word, "pointing");
}

static int make_axes(h5_reader *in)
{
    grove_grid *grid = in->grid;

    for (int d = 0; d < in->rank; d++) {
        dimension *from = &in->dim[d];
        in->axis[d] = -1;
        if (!from->name || !strcmp(from->name, "pol") || is_everywhere(from))
            continue;
        for (int k = 0; k < grid->axes; k++)
            if (!strcmp(grid->axis[k].name, from->name))
                return fail(in, "two dimensions are called %s", from->name);
        if (grid->axes == GROVE_MAX_AXES)
            return fail(in, "it has more than %d axes", (int)GROVE_MAX_AXES);
        in->axis[d] = grid->axes;
        grid->axis[grid->axes++] = (grove_grid_axis){
            .name = from->name, .size = from->size, .number = from->number, .label = from->label};
        from->name = NULL;
        from->number = NULL;
        from->label = NULL;
    }
    return 0;
}

/* ---- numbers ---- */

/* Where number n of the file belongs. */
static int64_t cell_of(const h5_reader *in, int64_t n, int *element)
{
    int64_t index[GROVE_HDF5_RANK], cell = 0;

    *element = 0;
    for (int d = in->rank - 1; d >= 0; d--) {
        index[d] = n % in->dim[d].size;
        n /= in->dim[d].size;
    }
    for (int d = 0; d < in->rank; d++)
        if (in->axis[d] >= 0)
            cell = cell * in->dim[d].size + index[d];
        else
            *element = *element * (int)in->dim[d].size + (int)index[d];
    *element = in->element[*element];
    return cell;
}

static double *read_weights(h5_reader *in)
{
    hsize_t size[GROVE_HDF5_RANK];
    int64_t count = 1;
    bool same = grove_hdf5_kind_of(in->weight) == GROVE_HDF5_REAL &&
                grove_hdf5_sizes(in->weight, size) == in->rank;

    for (int d = 0; d < in->rank && same; d++) {
        same = (int64_t)size[d] == in->dim[d].size;
        count *= in->dim[d].size;
    }
    double *weight = same ? grove_try_alloc((size_t)count + 1, sizeof(double)) : NULL;
    if (weight && !grove_hdf5_numbers(in->weight, false, weight))
        return weight;
    free(weight);
    fail(in, "its weights cannot be read");
    return NULL;
}

static int read_numbers(h5_reader *in)
{
    int parts = in->column->complex_ ? 2 : 1, element, code = 0;
    int64_t count = in->grid->cells * in->column->elements;
    double *number = grove_try_alloc((size_t)count * (size_t)parts + 1, sizeof(double));
    double *weight = NULL, factor;

    if (!number || !grove_grid_room(in->grid, in->column))
        code = grove_fail(in->error, GROVE_NO_MEMORY, "%s: no memory for its numbers", in->name);
    if (!code)
        code = read_unit(in, in->data, &in->column->unit, &factor);
    if (!code && grove_hdf5_numbers(in->data, parts == 2, number))
        code = fail(in, "its numbers cannot be read; the file is damaged, or compressed in a way "
                        "that this HDF5 library does not know");
    if (!code && in->weight >= 0 && !(weight = read_weights(in)))
        code = GROVE_INVALID;
    for (int64_t n = 0; n < count && !code; n++) {
        int64_t cell = cell_of(in, n, &element);
        bool flagged = weight && !(weight[n] > 0);
        for (int part = 0; part < parts; part++)
            grove_grid_put(in->column, cell, element, part,
                           flagged ? NAN : number[n * parts + part] * factor);
    }
    if (!code)
        grove_grid_settle(in->grid, in->column);
    free(number);
    free(weight);
    return code;
}

static int read_all(h5_reader *in, const char *dataset)
{
    hsize_t size[GROVE_HDF5_RANK];
    int code = open_data(in, dataset);

    if (code)
        return code;
    grove_hdf5_kind kind = grove_hdf5_kind_of(in->data);
    if (kind != GROVE_HDF5_REAL && kind != GROVE_HDF5_COMPLEX)
        return fail(in, "its elements are no numbers; read are real ones, and complex ones as h5py "
                        "writes them, compounds of r and i");
    in->column->complex_ = kind == GROVE_HDF5_COMPLEX;
    in->rank = grove_hdf5_sizes(in->data, size);
    if (in->rank < 0) {
        in->rank = 0;
        return fail(in, "it has more than %d dimensions or 1 GiB, or is stored in another file",
                    (int)GROVE_HDF5_RANK);
    }
    for (int d = 0; d < in->rank; d++) {
        in->dim[d].size = (int64_t)size[d];
        if (!size[d])
            return fail(in, "it has no numbers");
    }
    code = H5Aexists(in->data, "AXES") > 0 ? read_table_axes(in) : read_axes(in);
    code = code ? code : find_cell(in);
    code = code ? code : make_axes(in);
    if (code)
        return code;
    in->grid->cells = grove_grid_count(in->grid, INT64_MAX / 1024);
    return read_numbers(in);
}

/* ---- the module ---- */

static int read_file(h5_reader *in, const char *bytes, size_t length, const char *dataset)
{
    grove_hdf5_turn turn;

    grove_hdf5_begin(&turn);
    in->file = grove_hdf5_open(bytes, length);
    int code =
        in->file < 0 ? fail(in, "it is no HDF5 file, or it is damaged") : read_all(in, dataset);
    if (in->file >= 0)
        H5Fclose(in->file);
    grove_hdf5_end(&turn);
    return code;
}

static grove_grid *parse(const char *bytes, size_t length, const char *name, const char *dataset,
                         const char *axes, grove_error *error)
{
    grove_grid *grid = grove_alloc(sizeof(*grid));
    h5_reader *in = grove_alloc(sizeof(*in));

    *in = (h5_reader){.name = name, .axes = axes, .error = error, .grid = grid, .weight = -1};
    grid->column = in->column = grove_alloc(sizeof(*grid->column));
    grid->columns = 1;
    in->column->name = grove_strdup("value");
    int code = read_file(in, bytes, length, dataset);
    for (int d = 0; d < in->rank; d++) {
        for (int64_t i = 0; in->dim[d].label && i < in->dim[d].size; i++)
            free(in->dim[d].label[i]);
        free(in->dim[d].label);
        free(in->dim[d].number);
        free(in->dim[d].name);
    }
    free(in->path);
    free(in);
    if (code)
        grove_grid_free(grid);
    return code ? NULL : grid;
}

const grove_hdf5_module grove_hdf5_api = {
    .version = GROVE_HDF5_VERSION,
    .parse = parse,
    .list = grove_hdf5_solutions,
    .solution_table = grove_hdf5_solution_table,
};
