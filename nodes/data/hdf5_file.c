/* Reading parts of an HDF5 file. Sizes given in a file are checked before anything is allocated;
 * links to other files are not followed. */
#include "nodes/data/hdf5_file.h"

#include "util.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

/* ---- calls ---- */

static pthread_mutex_t one_at_a_time = PTHREAD_MUTEX_INITIALIZER;

void grove_hdf5_begin(grove_hdf5_turn *turn)
{
    pthread_mutex_lock(&one_at_a_time);
    H5Eget_auto2(H5E_DEFAULT, &turn->print, &turn->context);
    H5Eset_auto2(H5E_DEFAULT, NULL, NULL);
}

void grove_hdf5_end(const grove_hdf5_turn *turn)
{
    H5Eset_auto2(H5E_DEFAULT, turn->print, turn->context);
    pthread_mutex_unlock(&one_at_a_time);
}

/* ---- files and objects ---- */

static herr_t refuse_link(const char *file, const char *path, const char *to_file,
                          const char *to_path, unsigned *flags, hid_t access, void *context)
{
    (void)file, (void)path, (void)to_file, (void)to_path, (void)flags, (void)access, (void)context;
    return -1;
}

hid_t grove_hdf5_open(const char *bytes, size_t length)
{
    hid_t access = H5Pcreate(H5P_FILE_ACCESS), file = -1;

    /* the library copies the bytes, and needs a name that no file has */
    if (H5Pset_fapl_core(access, (size_t)1 << 16, false) >= 0 &&
        H5Pset_file_image(access, (void *)(uintptr_t)bytes, length) >= 0 &&
        H5Pset_fclose_degree(access, H5F_CLOSE_STRONG) >= 0)
        file = H5Fopen("/dev/null/image", H5F_ACC_RDONLY, access);
    H5Pclose(access);
    return file;
}

hid_t grove_hdf5_object(hid_t file, const char *path)
{
    hid_t access = H5Pcreate(H5P_LINK_ACCESS), object;

    H5Pset_elink_cb(access, refuse_link, NULL);
    object = H5Oopen(file, path[0] ? path : "/", access);
    H5Pclose(access);
    return object;
}

/* ---- sizes and kinds ---- */

static bool is_dataset(hid_t data)
{
    return H5Iget_type(data) == H5I_DATASET;
}

/* No chunk is larger than all of it may be, and no other file has a part of it. */
static bool is_in_this_file(hid_t data)
{
    hid_t layout = H5Dget_create_plist(data), type = H5Dget_type(data);
    H5D_layout_t kind = H5Pget_layout(layout);
    hsize_t chunk[H5S_MAX_RANK], bytes = H5Tget_size(type);
    bool good = kind != H5D_VIRTUAL && kind >= 0 && H5Pget_external_count(layout) == 0;
    int rank = kind == H5D_CHUNKED ? H5Pget_chunk(layout, H5S_MAX_RANK, chunk) : 0;

    for (int d = 0; d < rank && good; d++) {
        good = chunk[d] > 0 && bytes <= GROVE_HDF5_MAX_BYTES / chunk[d];
        bytes *= chunk[d];
    }
    H5Tclose(type);
    H5Pclose(layout);
    return good && rank >= 0;
}

int grove_hdf5_sizes(hid_t data, hsize_t size[GROVE_HDF5_RANK])
{
    hid_t space = is_dataset(data) ? H5Dget_space(data) : H5Aget_space(data);
    hid_t type = is_dataset(data) ? H5Dget_type(data) : H5Aget_type(data);
    int rank = H5Sget_simple_extent_ndims(space);
    hsize_t bytes = H5Tget_size(type) + 2 * sizeof(double); /* also as numbers or texts */
    bool good = H5Sget_simple_extent_type(space) != H5S_NULL && rank >= 0 &&
                rank <= GROVE_HDF5_RANK && H5Sget_simple_extent_dims(space, size, NULL) == rank &&
                bytes <= GROVE_HDF5_MAX_BYTES && (!is_dataset(data) || is_in_this_file(data));

    for (int d = 0; d < rank && good; d++) {
        good = !size[d] || bytes <= GROVE_HDF5_MAX_BYTES / size[d];
        bytes *= size[d] ? size[d] : 1;
    }
    H5Sclose(space);
    H5Tclose(type);
    return good ? rank : -1;
}

static bool is_complex(hid_t type)
{
    static const char *const names[][2] = {{"r", "i"}, {"re", "im"}, {"real", "imag"}};
    bool found = false;

    if (H5Tget_nmembers(type) != 2)
        return false;
    char *first = H5Tget_member_name(type, 0), *second = H5Tget_member_name(type, 1);
    for (int k = 0; k < 3; k++)
        found = found || (grove_equal(first, names[k][0]) && grove_equal(second, names[k][1]));
    H5free_memory(first);
    H5free_memory(second);
    return found && H5Tget_member_class(type, 0) == H5T_FLOAT &&
           H5Tget_member_class(type, 1) == H5T_FLOAT;
}

grove_hdf5_kind grove_hdf5_kind_of(hid_t data)
{
    hid_t type = is_dataset(data) ? H5Dget_type(data) : H5Aget_type(data);
    H5T_class_t kind = H5Tget_class(type);
    grove_hdf5_kind found = kind == H5T_INTEGER || kind == H5T_FLOAT   ? GROVE_HDF5_REAL
                            : kind == H5T_STRING                       ? GROVE_HDF5_TEXT
                            : kind == H5T_COMPOUND && is_complex(type) ? GROVE_HDF5_COMPLEX
                                                                       : GROVE_HDF5_OTHER;
    H5Tclose(type);
    return found;
}

/* ---- numbers and texts ---- */

int grove_hdf5_numbers(hid_t data, bool complex_, double *to)
{
    hid_t own = H5Dget_type(data), type = H5Tcopy(H5T_NATIVE_DOUBLE);

    if (complex_) { /* by the names that the file has for the parts */
        H5Tclose(type);
        type = H5Tcreate(H5T_COMPOUND, 2 * sizeof(double));
        for (unsigned k = 0; k < 2; k++) {
            char *name = H5Tget_member_name(own, k);
            H5Tinsert(type, name, k * sizeof(double), H5T_NATIVE_DOUBLE);
            H5free_memory(name);
        }
    }
    herr_t failed = H5Dread(data, type, H5S_ALL, H5S_ALL, H5P_DEFAULT, to);
    H5Tclose(type);
    H5Tclose(own);
    return failed < 0 ? -1 : 0;
}

static herr_t read_any(hid_t data, hid_t type, void *to)
{
    return is_dataset(data) ? H5Dread(data, type, H5S_ALL, H5S_ALL, H5P_DEFAULT, to)
                            : H5Aread(data, type, to);
}

/* Memory that the library allocates while it reads texts of variable length. A small file may have
 * one long text many times. */
typedef struct piece {
    struct piece *next;
    char bytes[];
} piece;

typedef struct {
    piece *first;
    size_t bytes;
} pieces;

static void *add_piece(size_t size, void *context)
{
    pieces *all = context;
    size_t whole = sizeof(piece) + size;

    if (size > GROVE_HDF5_MAX_BYTES || whole > GROVE_HDF5_MAX_BYTES - all->bytes)
        return NULL;
    piece *made = grove_try_alloc(1, whole);
    if (!made)
        return NULL;
    made->next = all->first;
    all->first = made;
    all->bytes += whole;
    return made->bytes;
}

static void keep_piece(void *memory, void *context)
{
    (void)memory, (void)context; /* freed with the others, also after a failure */
}

static bool read_pointers(hid_t data, hid_t type, size_t count, char **text)
{
    char **own = grove_try_alloc(count + 1, sizeof(char *));
    bool attribute = !is_dataset(data);
    hid_t transfer = H5Pcreate(H5P_DATASET_XFER);
    pieces all = {0};

    H5Pset_vlen_mem_manager(transfer, add_piece, &all, keep_piece, &all);
    bool good = own && (attribute ? H5Aread(data, type, own)
                                  : H5Dread(data, type, H5S_ALL, H5S_ALL, transfer, own)) >= 0;
    for (size_t i = 0; i < count && good; i++) {
        text[i] = grove_strdup(own[i] ? own[i] : "");
        if (attribute) /* few: of the library's own memory */
            H5free_memory(own[i]);
    }
    for (piece *next, *at = all.first; at; at = next) {
        next = at->next;
        free(at);
    }
    H5Pclose(transfer);
    free(own);
    return good;
}

static bool read_blocks(hid_t data, hid_t type, size_t count, char **text)
{
    size_t length = H5Tget_size(type);
    char *block = grove_try_alloc(count + 1, length);
    bool good = block && read_any(data, type, block) >= 0;

    for (size_t i = 0; i < count && good; i++) {
        const char *at = block + i * length;
        text[i] = grove_format("%.*s", (int)strnlen(at, length), at);
        for (size_t n = strlen(text[i]); n && text[i][n - 1] == ' ';)
            text[i][--n] = 0; /* padded */
    }
    free(block);
    return good;
}

char **grove_hdf5_texts(hid_t data, size_t count)
{
    hid_t type = is_dataset(data) ? H5Dget_type(data) : H5Aget_type(data);
    char **text = NULL;
    bool good = H5Tget_class(type) == H5T_STRING && count <= GROVE_HDF5_MAX_TEXTS;

    if (good && (text = grove_try_alloc(count + 1, sizeof(char *))))
        good = H5Tis_variable_str(type) > 0 ? read_pointers(data, type, count, text)
                                            : read_blocks(data, type, count, text);
    for (size_t i = 0; i < count && text && !good; i++)
        free(text[i]);
    if (!good) {
        free(text);
        text = NULL;
    }
    H5Tclose(type);
    return text;
}

/* ---- attributes ---- */

/* Whether it has `count` elements along one dimension; 0: a single element. */
static bool has_count(hid_t attribute, hsize_t count)
{
    hsize_t size[GROVE_HDF5_RANK];
    int rank = grove_hdf5_sizes(attribute, size);

    return count ? rank == 1 && size[0] == count : rank == 0 || (rank == 1 && size[0] == 1);
}

static char **texts_of(hid_t object, const char *name, hsize_t count)
{
    hid_t attribute = H5Aexists(object, name) > 0 ? H5Aopen(object, name, H5P_DEFAULT) : -1;
    char **texts = NULL;

    if (attribute < 0)
        return NULL;
    if (has_count(attribute, count))
        texts = grove_hdf5_texts(attribute, count ? (size_t)count : 1);
    H5Aclose(attribute);
    return texts;
}

char *grove_hdf5_attribute(hid_t object, const char *name)
{
    char **texts = texts_of(object, name, 0), *text = texts ? texts[0] : NULL;

    free(texts);
    return text;
}

char **grove_hdf5_labels(hid_t data, int rank)
{
    return rank ? texts_of(data, "DIMENSION_LABELS", (hsize_t)rank) : NULL;
}

void grove_hdf5_scales(hid_t data, int rank, hid_t scale[GROVE_HDF5_RANK])
{
    hid_t list =
        H5Aexists(data, "DIMENSION_LIST") > 0 ? H5Aopen(data, "DIMENSION_LIST", H5P_DEFAULT) : -1;
    hvl_t reference[GROVE_HDF5_RANK] = {{0}};
    hid_t type, one = -1;

    for (int d = 0; d < rank; d++)
        scale[d] = -1;
    if (list < 0)
        return;
    type = H5Aget_type(list);
    if (rank && has_count(list, (hsize_t)rank) && H5Tget_class(type) == H5T_VLEN)
        one = H5Tget_super(type);
    if (one >= 0 && H5Tequal(one, H5T_STD_REF_OBJ) > 0 && H5Aread(list, type, reference) >= 0)
        for (int d = 0; d < rank; d++) {
            if (reference[d].len)
                scale[d] = H5Rdereference2(data, H5P_DEFAULT, H5R_OBJECT, reference[d].p);
            if (scale[d] >= 0 && !is_dataset(scale[d]))
                scale[d] = -1; /* closed with the file */
            H5free_memory(reference[d].p);
        }
    if (one >= 0)
        H5Tclose(one);
    H5Tclose(type);
    H5Aclose(list);
}

/* ---- the tables of a file ---- */

typedef struct {
    grove_text text;
    int count;
} finding;

enum { MAX_SHOWN = 8 };

/* The folder of a path, if it is a solution table: with a dataset val that names its axes. */
static char *solution_table(hid_t from, const char *path)
{
    const char *slash = strrchr(path, '/');
    char *folder = grove_format("%.*s", slash ? (int)(slash - path) : 0, path);
    char *values = grove_format("%s%sval", folder, slash ? "/" : "");
    hid_t data = grove_hdf5_object(from, values);
    bool is_table = data >= 0 && is_dataset(data) && H5Aexists(data, "AXES") > 0;

    if (data >= 0)
        H5Oclose(data);
    free(values);
    if (is_table)
        return folder;
    free(folder);
    return NULL;
}

static bool is_scale(hid_t data)
{
    char *class_ = grove_hdf5_attribute(data, "CLASS");
    bool found = grove_equal(class_, "DIMENSION_SCALE");

    free(class_);
    return found;
}

static herr_t find_table(hid_t from, const char *path, const H5O_info_t *info, void *context)
{
    finding *f = context;
    hid_t data;

    if (info->type != H5O_TYPE_DATASET || (data = grove_hdf5_object(from, path)) < 0)
        return 0;
    char *table = solution_table(from, path);
    grove_hdf5_kind kind = grove_hdf5_kind_of(data);
    bool take = table ? grove_ends_with(path, "/val") || !strcmp(path, "val")
                      : (kind == GROVE_HDF5_REAL || kind == GROVE_HDF5_COMPLEX) && !is_scale(data);
    if (take && f->count++ < MAX_SHOWN)
        grove_text_add(&f->text, "%s%s", f->count > 1 ? ", " : "", table ? table : path);
    free(table);
    H5Oclose(data);
    return 0;
}

char *grove_hdf5_tables(hid_t file, const char *path, int *count)
{
    finding f = {0};
    hid_t from = grove_hdf5_object(file, path);

    if (from >= 0)
        H5Ovisit(from, H5_INDEX_NAME, H5_ITER_INC, find_table, &f);
    if (f.count > MAX_SHOWN)
        grove_text_add(&f.text, " ...");
    *count = f.count;
    return f.text.at ? f.text.at : grove_strdup("");
}
