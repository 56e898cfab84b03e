/* Grids from HDF5: a dataset whose dimensions have names, or a solution table of LOFAR's H5parm
 * (https://github.com/revoltek/losoto/wiki/H5parm-specifications): a group with the datasets val,
 * weight, and one for each axis that the attribute AXES of val names. */
#include "nodes/data/service.h"

#include "nodes/data/grid_hdf5_private.h"
#include "nodes/data/hdf5_file.h"
#include "util.h"

#include <ctype.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

int grove_hdf5_fail(grove_hdf5_reader *in, const char *format, ...)
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
static hid_t values_of(grove_hdf5_reader *in, const char *group)
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

/* A dataset with the attribute AXES belongs to a solution table: coordinates are next to it, and
 * weights next to val. */
static void take_dataset(grove_hdf5_reader *in, hid_t data, const char *path)
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

static int no_single(grove_hdf5_reader *in, const char *path, const char *found, int count)
{
    if (!count)
        return grove_hdf5_fail(in, "%s has no numbers", path[0] ? path : "it");
    return grove_hdf5_fail(in, "it has several tables; dataset= names one: %s%s%s", path,
                           path[0] ? "/ with " : "", found);
}

static int open_data(grove_hdf5_reader *in, const char *path)
{
    hid_t object = grove_hdf5_object(in->file, path);
    int count = 0;

    if (object < 0) {
        char *found = grove_hdf5_tables(in->file, "", &count);
        int code =
            grove_hdf5_fail(in, "it has no '%s'; it has %s", path, count ? found : "no numbers");
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
        /* the object is a dataset or a solution table */
        object = grove_hdf5_object(in->file, whole);
        if (object >= 0 && H5Iget_type(object) == H5I_DATASET) {
            take_dataset(in, object, whole);
        } else {
            in->data = values_of(in, whole);
            in->path = grove_strdup(whole);
        }
        free(whole);
        if (in->data < 0)
            code = grove_hdf5_fail(in, "cannot be read");
    }
    free(found);
    return code;
}

/* ---- cells ---- */

/* Elements by their names: of a matrix or a diagonal, in any order. */
static int name_elements(grove_hdf5_reader *in, const grove_hdf5_dimension *d)
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
        return grove_hdf5_fail(
            in, "its only polarisation is %s; a single one must be I, or have no name",
            d->label[0]);
    if (seen && !(d->size == 4 ? matrix : diagonal && d->size == 2))
        return grove_hdf5_fail(
            in, "its polarisations are not XX XY YX YY, XX YY, or the same with R and L");
    in->grid->feeds = !seen ? 0 : seen < 1 << 4 ? 'X' : 'R';
    if (!seen) /* Stokes parameters, or anything */
        in->column->shape = d->size > 1 ? GROVE_VECTOR : GROVE_SCALAR;
    return 0;
}

/* The dimensions behind those with names, or the one of polarisations, are the cell. */
static int find_cell(grove_hdf5_reader *in)
{
    int first = in->rank, pol = -1;

    for (int d = 0; d < in->rank; d++)
        if (in->dim[d].name && !strcmp(in->dim[d].name, "pol")) {
            if (pol >= 0)
                return grove_hdf5_fail(in, "two dimensions are called pol");
            pol = d;
        }
    while (first > 0 && !in->dim[first - 1].name)
        first--;
    for (int d = 0; d < first; d++)
        if (!in->dim[d].name)
            return grove_hdf5_fail(
                in, "dimension %d has no name; axes=\"time station\" names them in order", d + 1);
    int left = in->rank - first;
    int64_t size = pol >= 0 ? in->dim[pol].size : left ? in->dim[first].size : 1;
    bool matrix = left == 2 && size == 2 && in->dim[first + 1].size == 2;
    if (size < 1 || size > GROVE_MAX_VECTOR || left > 2 || (left == 2 && !matrix) ||
        (pol >= 0 && left))
        return grove_hdf5_fail(
            in, "its dimensions without a name are not a cell: no dimension, 2 x 2 for a matrix, 2 "
                "for a diagonal, n for a vector; axes=\"time station\" names the others");
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

/* Whether the only direction is the whole field: it holds for all sources. */
static bool is_everywhere(const grove_hdf5_dimension *d)
{
    const char *label = d->label ? d->label[0] : "pointing";
    char word[9] = "";

    for (int i = 0; i < 8 && label[i]; i++)
        word[i] = (char)tolower((unsigned char)label[i]);
    return !strcmp(d->name, "source") && d->size == 1 && strlen(label) == 8 &&
           !strcmp(word, "pointing");
}

static int make_axes(grove_hdf5_reader *in)
{
    grove_grid *grid = in->grid;

    for (int d = 0; d < in->rank; d++) {
        grove_hdf5_dimension *from = &in->dim[d];
        in->axis[d] = -1;
        if (!from->name || !strcmp(from->name, "pol") || is_everywhere(from))
            continue;
        for (int k = 0; k < grid->axes; k++)
            if (!strcmp(grid->axis[k].name, from->name))
                return grove_hdf5_fail(in, "two dimensions are called %s", from->name);
        if (grid->axes == GROVE_VALUE_AXES)
            return grove_hdf5_fail(in, "it has more than %d axes", (int)GROVE_VALUE_AXES);
        in->axis[d] = grid->axes;
        grid->axis[grid->axes++] = (grove_grid_axis){.name = from->name,
                                                     .size = from->size,
                                                     .number = from->number,
                                                     .label = from->label,
                                                     .width = from->width};
        from->name = NULL;
        from->number = NULL;
        from->width = NULL;
        from->label = NULL;
    }
    return 0;
}

/* ---- numbers ---- */

/* Where number n of the file belongs. */
static int64_t cell_of(const grove_hdf5_reader *in, int64_t n, int *element)
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

static double *read_weights(grove_hdf5_reader *in)
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
    grove_hdf5_fail(in, "its weights cannot be read");
    return NULL;
}

static int read_numbers(grove_hdf5_reader *in)
{
    int parts = in->column->complex_ ? 2 : 1, element, code = 0;
    int64_t count = in->grid->cells * in->column->elements;
    double *number = grove_try_alloc((size_t)count * (size_t)parts + 1, sizeof(double));
    double *weight = NULL, factor;

    if (!number || !grove_grid_room(in->grid, in->column))
        code = grove_fail(in->error, GROVE_NO_MEMORY, "%s: no memory for its numbers", in->name);
    if (!code)
        code = grove_hdf5_unit(in, in->data, &in->column->unit, &factor);
    if (!code && grove_hdf5_numbers(in->data, parts == 2, number))
        code = grove_hdf5_fail(
            in, "its numbers cannot be read; the file is damaged, or compressed in a way "
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

static int read_all(grove_hdf5_reader *in, const char *dataset)
{
    hsize_t size[GROVE_HDF5_RANK];
    int code = open_data(in, dataset);

    if (code)
        return code;
    grove_hdf5_kind kind = grove_hdf5_kind_of(in->data);
    if (kind != GROVE_HDF5_REAL && kind != GROVE_HDF5_COMPLEX)
        return grove_hdf5_fail(in, "its elements are not numbers; supported are real ones, and "
                                   "complex ones as h5py writes them, compounds of r and i");
    in->column->complex_ = kind == GROVE_HDF5_COMPLEX;
    in->rank = grove_hdf5_sizes(in->data, size);
    if (in->rank < 0) {
        in->rank = 0;
        return grove_hdf5_fail(
            in, "it has more than %d dimensions or 1 GiB, or is stored in another file",
            (int)GROVE_HDF5_RANK);
    }
    for (int d = 0; d < in->rank; d++) {
        in->dim[d].size = (int64_t)size[d];
        if (!size[d])
            return grove_hdf5_fail(in, "it has no numbers");
    }
    code = H5Aexists(in->data, "AXES") > 0 ? grove_hdf5_table_axes(in) : grove_hdf5_axes(in);
    code = code ? code : find_cell(in);
    code = code ? code : make_axes(in);
    if (code)
        return code;
    in->grid->cells = grove_grid_count(in->grid, INT64_MAX / 1024);
    return read_numbers(in);
}

/* ---- the module ---- */

static int read_file(grove_hdf5_reader *in, const char *bytes, size_t length, const char *dataset)
{
    grove_hdf5_turn turn;

    grove_hdf5_begin(&turn);
    in->file = grove_hdf5_open(bytes, length);
    int code = in->file < 0 ? grove_hdf5_fail(in, "it is not an HDF5 file, or it is damaged")
                            : read_all(in, dataset);
    if (in->file >= 0)
        H5Fclose(in->file);
    grove_hdf5_end(&turn);
    return code;
}

static grove_grid *parse(const char *bytes, size_t length, const char *name, const char *dataset,
                         const char *axes, grove_error *error)
{
    grove_grid *grid = grove_alloc(sizeof(*grid));
    grove_hdf5_reader *in = grove_alloc(sizeof(*in));

    *in =
        (grove_hdf5_reader){.name = name, .axes = axes, .error = error, .grid = grid, .weight = -1};
    grid->column = in->column = grove_alloc(sizeof(*grid->column));
    grid->columns = 1;
    in->column->name = grove_strdup("value");
    int code = read_file(in, bytes, length, dataset);
    for (int d = 0; d < in->rank; d++) {
        for (int64_t i = 0; in->dim[d].label && i < in->dim[d].size; i++)
            free(in->dim[d].label[i]);
        free(in->dim[d].label);
        free(in->dim[d].number);
        free(in->dim[d].width);
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
