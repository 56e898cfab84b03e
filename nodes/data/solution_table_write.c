/* Writes a solution table as an H5Parm file. The file is made in memory and has no times in it, so
 * that the same table gives the same bytes. Content beyond the layout is in attributes, and in
 * further datasets of the soltabs: DP3 opens every group of a solset as a soltab. */
#include "nodes/data/hdf5_file.h"
#include "nodes/data/service.h"
#include "util.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum {
    NAME_BYTES = 16, /* of an antenna, and of a source: the layout's own, where names fit */
    SOURCE_BYTES = 128,
    ATTRIBUTE_BYTES = 60000 /* HDF5 has at most 64 KiB */
};

typedef struct {
    const grove_solution_table *table;
    hid_t file, set;
    bool failed;
} h5_writer;

static hid_t good(h5_writer *w, hid_t id)
{
    w->failed = w->failed || id < 0;
    return id;
}

static void check(h5_writer *w, herr_t status)
{
    w->failed = w->failed || status < 0;
}

/* ---- texts ---- */

static size_t longest(const char *const *texts, int64_t count, size_t min)
{
    size_t most = min;

    for (int64_t i = 0; i < count; i++)
        most = strlen(texts[i]) > most ? strlen(texts[i]) : most;
    return most;
}

static hid_t text_type(h5_writer *w, size_t bytes, bool ascii)
{
    hid_t type = good(w, H5Tcopy(H5T_C_S1));

    check(w, H5Tset_size(type, bytes ? bytes : 1));
    check(w, H5Tset_strpad(type, H5T_STR_NULLPAD));
    if (!ascii)
        check(w, H5Tset_cset(type, H5T_CSET_UTF8));
    return type;
}

static bool is_ascii(const char *text, size_t length)
{
    for (size_t i = 0; i < length; i++)
        if ((unsigned char)text[i] >= 128)
            return false;
    return true;
}

static bool are_ascii(const char *const *texts, int64_t count)
{
    bool all = true;

    for (int64_t i = 0; i < count; i++)
        all = all && is_ascii(texts[i], strlen(texts[i]));
    return all;
}

/* A file is read by its stored size: a text that ends before it is padded with zeros. */
static void put_text(h5_writer *w, hid_t object, const char *name, const char *text, size_t length)
{
    hid_t type = text_type(w, length, is_ascii(text, length)),
          space = good(w, H5Screate(H5S_SCALAR)),
          made = good(w, H5Acreate2(object, name, type, space, H5P_DEFAULT, H5P_DEFAULT));

    check(w, H5Awrite(made, type, length ? text : ""));
    H5Aclose(made);
    H5Sclose(space);
    H5Tclose(type);
}

static void put_attribute(h5_writer *w, hid_t object, const char *name, const char *text)
{
    put_text(w, object, name, text, strlen(text));
}

/* Writes the text in pieces HISTORY000, HISTORY001, ..., and cuts no character. */
static void put_history(h5_writer *w, hid_t object, const char *text)
{
    for (int piece = 0; *text && piece < 1000; piece++) {
        size_t length = strlen(text);
        char name[24];
        if (length > ATTRIBUTE_BYTES)
            for (length = ATTRIBUTE_BYTES;
                 length > 1 && ((unsigned char)text[length] & 0xc0) == 0x80;)
                length--;
        snprintf(name, sizeof(name), "HISTORY%03d", piece);
        put_text(w, object, name, text, length);
        text += length;
    }
}

/* ---- datasets and groups ---- */

/* Rows of a list, `chunked`: PyTables takes compounds for a table only where they are. */
static hid_t new_dataset(h5_writer *w, hid_t group, const char *name, hid_t type, int rank,
                         const hsize_t *size, bool chunked)
{
    const hsize_t chunk = 64, unlimited = H5S_UNLIMITED;
    hid_t space = good(w, rank ? H5Screate_simple(rank, size, chunked ? &unlimited : NULL)
                               : H5Screate(H5S_SCALAR)),
          how = good(w, H5Pcreate(H5P_DATASET_CREATE));

    check(w, H5Pset_obj_track_times(how, false));
    if (chunked)
        check(w, H5Pset_chunk(how, 1, &chunk));
    hid_t made = good(w, H5Dcreate2(group, name, type, space, H5P_DEFAULT, how, H5P_DEFAULT));
    H5Pclose(how);
    H5Sclose(space);
    return made;
}

static void put_array(h5_writer *w, hid_t group, const char *name, hid_t type, hid_t of_memory,
                      int rank, const hsize_t *size, const void *data, const char *axes)
{
    hid_t made = new_dataset(w, group, name, type, rank, size, false);

    check(w, H5Dwrite(made, of_memory, H5S_ALL, H5S_ALL, H5P_DEFAULT, data));
    if (axes)
        put_attribute(w, made, "AXES", axes);
    H5Dclose(made);
}

static void put_texts(h5_writer *w, hid_t group, const char *name, int64_t count,
                      const char *const *texts)
{
    size_t bytes = longest(texts, count, 0) + 1; /* DP3 needs a zero behind each */
    hid_t type = text_type(w, bytes, are_ascii(texts, count));
    char *block = grove_alloc((size_t)count * bytes + 1);
    hsize_t size = (hsize_t)count;

    for (int64_t i = 0; i < count; i++)
        memcpy(block + (size_t)i * bytes, texts[i], strlen(texts[i]));
    put_array(w, group, name, type, type, 1, &size, block, NULL);
    free(block);
    H5Tclose(type);
}

static hid_t new_group(h5_writer *w, hid_t at, const char *name)
{
    hid_t how = good(w, H5Pcreate(H5P_GROUP_CREATE));

    check(w, H5Pset_obj_track_times(how, false));
    hid_t made = good(w, H5Gcreate2(at, name, H5P_DEFAULT, how, H5P_DEFAULT));
    H5Pclose(how);
    return made;
}

/* ---- the tables antenna and source ---- */

/* Names and `numbers` single-precision numbers each. */
static void put_places(h5_writer *w, const char *name, const char *field, size_t min_bytes,
                       int64_t count, const char *const *names, const double *place,
                       hsize_t numbers)
{
    size_t bytes = longest(names, count, min_bytes), row = bytes + numbers * sizeof(float);
    hid_t text = text_type(w, bytes, are_ascii(names, count)),
          list = good(w, H5Tarray_create2(H5T_IEEE_F32LE, 1, &numbers)),
          type = good(w, H5Tcreate(H5T_COMPOUND, row));
    char *rows = grove_alloc((size_t)count * row + 1);
    hsize_t size = (hsize_t)count;

    check(w, H5Tinsert(type, "name", 0, text));
    check(w, H5Tinsert(type, field, bytes, list));
    for (int64_t i = 0; i < count; i++) {
        memcpy(rows + (size_t)i * row, names[i], strlen(names[i]));
        for (hsize_t k = 0; k < numbers; k++) {
            float number = (float)place[(hsize_t)i * numbers + k];
            memcpy(rows + (size_t)i * row + bytes + k * sizeof(float), &number, sizeof(number));
        }
    }
    hid_t made = new_dataset(w, w->set, name, type, 1, &size, true);
    if (count)
        check(w, H5Dwrite(made, type, H5S_ALL, H5S_ALL, H5P_DEFAULT, rows));
    H5Dclose(made);
    free(rows);
    H5Tclose(type);
    H5Tclose(list);
    H5Tclose(text);
}

/* ---- soltabs ---- */

static char *join(const grove_soltab *t, int count)
{
    grove_text text = {0};

    grove_text_add(&text, "%s", "");
    for (int d = 0; d < count; d++)
        grove_text_add(&text, "%s%s", d ? "," : "", t->axis[d].name);
    return text.at;
}

/* The number of axes that domains vary along. */
static int domain_axes(const grove_soltab *t)
{
    int count = 0;

    while (count < t->axes &&
           (!strcmp(t->axis[count].name, "time") || !strcmp(t->axis[count].name, "freq")))
        count++;
    return count;
}

/* The intervals of an axis, next to the datasets that other programs read. */
static void put_intervals(h5_writer *w, hid_t group, const grove_solution_axis *axis)
{
    const hsize_t size = (hsize_t)axis->size;
    const bool differ =
        axis->centre && memcmp(axis->centre, axis->number, (size_t)size * sizeof(double)) != 0;
    const struct {
        const char *suffix;
        const double *numbers;
    } parts[] = {{"width", axis->width}, {"centre", differ ? axis->centre : NULL}};

    for (size_t i = 0; i < sizeof(parts) / sizeof(parts[0]); i++) {
        char *name = grove_format("%s_%s", axis->name, parts[i].suffix);
        if (parts[i].numbers)
            put_array(w, group, name, H5T_IEEE_F64LE, H5T_NATIVE_DOUBLE, 1, &size, parts[i].numbers,
                      NULL);
        free(name);
    }
}

static void put_axes(h5_writer *w, hid_t group, const grove_soltab *t)
{
    for (int d = 0; d < t->axes; d++) {
        const grove_solution_axis *axis = &t->axis[d];
        hsize_t size = (hsize_t)axis->size;
        if (axis->label)
            put_texts(w, group, axis->name, axis->size, axis->label);
        else
            put_array(w, group, axis->name, H5T_IEEE_F64LE, H5T_NATIVE_DOUBLE, 1, &size,
                      axis->number, NULL);
        put_intervals(w, group, axis);
    }
}

static void put_values(h5_writer *w, hid_t group, const grove_soltab *t, const hsize_t *size)
{
    char *axes = join(t, t->axes);
    hid_t made = new_dataset(w, group, "val", H5T_IEEE_F64LE, t->axes, size, false);

    check(w, H5Dwrite(made, H5T_NATIVE_DOUBLE, H5S_ALL, H5S_ALL, H5P_DEFAULT, t->value));
    put_attribute(w, made, "AXES", axes);
    if (t->unit)
        put_attribute(w, made, "UNIT", t->unit);
    put_history(w, made, w->table->history);
    H5Dclose(made);
    put_array(w, group, "weight", H5T_IEEE_F32LE, H5T_NATIVE_FLOAT, t->axes, size, t->weight, axes);
    if (t->error)
        put_array(w, group, "error", H5T_IEEE_F64LE, H5T_NATIVE_DOUBLE, t->axes, size, t->error,
                  axes);
    free(axes);
}

/* The fit's results for each domain. */
static void put_domains(h5_writer *w, hid_t group, const grove_soltab *t, const hsize_t *size)
{
    int rank = domain_axes(t);
    char *axes = join(t, rank);
    grove_text names = {0};

    put_array(w, group, "chi2", H5T_IEEE_F64LE, H5T_NATIVE_DOUBLE, rank, size, t->chi2, axes);
    put_array(w, group, "degrees_of_freedom", H5T_STD_I64LE, H5T_NATIVE_INT64, rank, size,
              t->freedom, axes);
    put_array(w, group, "iterations", H5T_STD_I32LE, H5T_NATIVE_INT32, rank, size, t->iterations,
              axes);
    put_array(w, group, "outcome", H5T_STD_I32LE, H5T_NATIVE_INT32, rank, size, t->outcome, axes);
    for (int k = 0; k < w->table->outcomes; k++)
        grove_text_add(&names, "%s%s", k ? "," : "", w->table->outcome[k]);
    hid_t made = good(w, H5Dopen2(group, "outcome", H5P_DEFAULT));
    put_attribute(w, made, "NAMES", names.at ? names.at : "");
    H5Dclose(made);
    free(names.at);
    free(axes);
}

/* Soltabs of one type are numbered. */
static void put_soltab(h5_writer *w, int which)
{
    const grove_soltab *t = &w->table->soltab[which];
    hsize_t size[GROVE_SOLUTION_AXES];
    int number = 0;

    for (int k = 0; k < which; k++)
        number += !strcmp(w->table->soltab[k].type, t->type);
    for (int d = 0; d < t->axes; d++)
        size[d] = (hsize_t)t->axis[d].size;
    char *name = grove_format("%s%03d", t->type, number);
    hid_t group = new_group(w, w->set, name);
    put_attribute(w, group, "TITLE", t->type);
    put_attribute(w, group, "h5parm_version", "1.0");
    put_attribute(w, group, "GROVE_PARM", t->parm);
    put_attribute(w, group, "GROVE_JONES", t->jones);
    put_axes(w, group, t);
    put_values(w, group, t, size);
    put_domains(w, group, t, size);
    H5Gclose(group);
    free(name);
}

/* ---- the file ---- */

static void make_file(h5_writer *w)
{
    hid_t how = good(w, H5Pcreate(H5P_FILE_CREATE)), access = good(w, H5Pcreate(H5P_FILE_ACCESS));
    const grove_solution_table *t = w->table;

    check(w, H5Pset_obj_track_times(how, false));
    check(w, H5Pset_fapl_core(access, (size_t)1 << 20, false));
    check(w, H5Pset_fclose_degree(access, H5F_CLOSE_STRONG));
    /* a name that no file has */
    w->file = good(w, H5Fcreate("/dev/null/made", H5F_ACC_TRUNC, how, access));
    w->set = new_group(w, w->file, "sol000");
    put_attribute(w, w->set, "h5parm_version", "1.0");
    put_places(w, "antenna", "position", NAME_BYTES, t->antennas, t->antenna, t->position, 3);
    put_places(w, "source", "dir", SOURCE_BYTES, t->sources, t->source, t->direction, 2);
    for (int k = 0; k < t->soltabs && !w->failed; k++)
        put_soltab(w, k);
    H5Gclose(w->set);
    H5Pclose(access);
    H5Pclose(how);
    check(w, H5Fflush(w->file, H5F_SCOPE_GLOBAL));
}

static char *take_bytes(h5_writer *w, size_t *length)
{
    ssize_t size = w->failed ? -1 : H5Fget_file_image(w->file, NULL, 0);
    char *bytes = size > 0 ? grove_try_alloc((size_t)size, 1) : NULL;

    if (bytes && H5Fget_file_image(w->file, bytes, (size_t)size) != size) {
        free(bytes);
        bytes = NULL;
    }
    *length = bytes ? (size_t)size : 0;
    return bytes;
}

char *grove_hdf5_solution_table(const grove_solution_table *table, size_t *length,
                                grove_error *error)
{
    h5_writer w = {.table = table, .file = -1};
    grove_hdf5_turn turn;

    grove_hdf5_begin(&turn);
    make_file(&w);
    char *bytes = take_bytes(&w, length);
    if (w.file >= 0)
        H5Fclose(w.file);
    grove_hdf5_end(&turn);
    if (!bytes)
        grove_fail(error, GROVE_NO_MEMORY,
                   "the solution table cannot be created; is there too little memory?");
    return bytes;
}
