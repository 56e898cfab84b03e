/* HDF5 files of any objects: the first line is the dataset that is read. Each line behind it is an
 * object, NAME|KIND|SIZES|DATA, then |ATTRIBUTE=TEXT as often as there is one: kinds are those of
 * put_object, sizes and data lists with commas. Bytes of a file are not damaged: the HDF5 library
 * itself would not stand that. Either a grid that keeps its promises, or a message. */
#include "fuzz-grid.h"
#include "nodes/common/solution_list.h"
#include "tests/common/fuzz.h"

#define H5_USE_110_API
#include <hdf5.h>

enum { MAX_RANK = 12, MAX_NUMBERS = 4096, MAX_FIELDS = 12, MAX_OBJECTS = 64 };

/* Cuts a text at each mark; how many pieces, at most `max`. */
static int cut(char *text, char mark, char **piece, int max)
{
    int count = 0;

    for (char *next = text; next && count < max;) {
        piece[count++] = next;
        next = strchr(next, mark);
        if (next)
            *next++ = 0;
    }
    return count;
}

static hid_t compound(const char *a, const char *b)
{
    hid_t type = H5Tcreate(H5T_COMPOUND, 16);

    H5Tinsert(type, a, 0, H5T_NATIVE_DOUBLE);
    H5Tinsert(type, b, 8, H5T_NATIVE_DOUBLE);
    return type;
}

static hid_t text_of(size_t size)
{
    hid_t type = H5Tcopy(H5T_C_S1);

    H5Tset_size(type, size);
    return type;
}

static hid_t type_of(char kind)
{
    switch (kind) {
    case 's':
        return text_of(16);
    case 'v':
        return text_of(H5T_VARIABLE);
    case 'z':
        return compound("r", "i");
    case 'o':
        return compound("a", "b");
    case 'f':
        return H5Tcopy(H5T_NATIVE_FLOAT);
    case 'i':
        return H5Tcopy(H5T_NATIVE_INT);
    default:
        return H5Tcopy(H5T_NATIVE_DOUBLE);
    }
}

/* Texts and numbers for so many elements, over and over. */
static void write_data(hid_t made, hid_t type, char kind, char *list, size_t count)
{
    static char *piece[MAX_NUMBERS], block[MAX_NUMBERS * 16];
    static double numbers[2 * MAX_NUMBERS];
    size_t pieces = (size_t)cut(list, ',', piece, MAX_NUMBERS);
    hid_t memory = kind == 'f' || kind == 'i' ? H5Tcopy(H5T_NATIVE_DOUBLE) : H5Tcopy(type);
    const void *data = numbers;

    for (size_t i = 0; i < 2 * count; i++)
        numbers[i] = strtod(piece[i % pieces], NULL);
    for (size_t i = pieces; i < count; i++)
        piece[i] = piece[i % pieces];
    for (size_t i = 0; i < count && kind == 's'; i++)
        snprintf(block + 16 * i, 16, "%s", piece[i]);
    if (kind == 's')
        data = block;
    if (kind == 'v')
        data = piece;
    H5Dwrite(made, memory, H5S_ALL, H5S_ALL, H5P_DEFAULT, data);
    H5Tclose(memory);
}

static void put_attribute(hid_t object, char *text)
{
    char *value = strchr(text, '=');
    hid_t space = H5Screate(H5S_SCALAR);

    if (value) {
        *value++ = 0;
        hid_t type = text_of(strlen(value) + 1);
        hid_t made = H5Acreate2(object, text, type, space, H5P_DEFAULT, H5P_DEFAULT);
        if (made >= 0) {
            H5Awrite(made, type, value);
            H5Aclose(made);
        }
        H5Tclose(type);
    }
    H5Sclose(space);
}

static hid_t put_dataset(hid_t file, const char *name, hid_t links, char kind, char *sizes,
                         char *data)
{
    char *piece[MAX_RANK];
    hsize_t size[MAX_RANK], count = 1;
    int rank = sizes[0] ? cut(sizes, ',', piece, MAX_RANK) : 0;

    for (int d = 0; d < rank; d++) {
        size[d] = strtoull(piece[d], NULL, 10) & 0xffffffff;
        count = count > MAX_NUMBERS ? count : count * size[d];
    }
    hid_t type = type_of(kind), space = H5Screate_simple(rank, size, NULL);
    hid_t made = H5Dcreate2(file, name, type, space, links, H5P_DEFAULT, H5P_DEFAULT);
    if (made >= 0 && count && count <= MAX_NUMBERS)
        write_data(made, type, kind, data, (size_t)count);
    H5Sclose(space);
    H5Tclose(type);
    return made;
}

/* Kinds: numbers d f i, texts s and v, compounds z (complex) and o, a group g, links l (soft), h
 * (hard), e (to another file). */
static void put_object(hid_t file, char *line)
{
    char *field[MAX_FIELDS], empty[1] = "";
    int fields = cut(line, '|', field, MAX_FIELDS);
    hid_t links = H5Pcreate(H5P_LINK_CREATE), made = -1;

    for (int k = fields; k < 4; k++)
        field[k] = empty;
    H5Pset_create_intermediate_group(links, 1);
    if (!field[0][0])
        made = -1;
    else if (*field[1] == 'g')
        made = H5Gcreate2(file, field[0], links, H5P_DEFAULT, H5P_DEFAULT);
    else if (*field[1] == 'a')
        made = H5Oopen(file, field[0], H5P_DEFAULT);
    else if (*field[1] == 'l')
        H5Lcreate_soft(field[3], file, field[0], links, H5P_DEFAULT);
    else if (*field[1] == 'h')
        H5Lcreate_hard(file, field[3], file, field[0], links, H5P_DEFAULT);
    else if (*field[1] == 'e')
        H5Lcreate_external("/dev/null", field[3], file, field[0], links, H5P_DEFAULT);
    else
        made = put_dataset(file, field[0], links, *field[1], field[2], field[3]);
    for (int k = 4; k < fields && made >= 0; k++)
        put_attribute(made, field[k]);
    if (made >= 0)
        H5Oclose(made);
    H5Pclose(links);
}

/* The bytes of a file with these objects. */
static char *make_file(char **line, int lines, size_t *length)
{
    hid_t access = H5Pcreate(H5P_FILE_ACCESS);

    H5Eset_auto2(H5E_DEFAULT, NULL, NULL);
    H5Pset_fapl_core(access, 1 << 16, 0);
    H5Pset_fclose_degree(access, H5F_CLOSE_STRONG);
    hid_t file = H5Fcreate("/dev/null/fuzz", H5F_ACC_TRUNC, H5P_DEFAULT, access);
    fuzz_check(file >= 0);
    for (int k = 1; k < lines; k++)
        put_object(file, line[k]);
    H5Fflush(file, H5F_SCOPE_GLOBAL);
    ssize_t size = H5Fget_file_image(file, NULL, 0);
    char *bytes = size > 0 ? malloc((size_t)size) : NULL;
    fuzz_check(bytes && H5Fget_file_image(file, bytes, (size_t)size) == size);
    H5Fclose(file);
    H5Pclose(access);
    *length = (size_t)size;
    return bytes;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static char *line[MAX_OBJECTS];
    char *text = fuzz_text(data, size);
    int lines = cut(text, '\n', line, MAX_OBJECTS);
    grove_error *error = grove_error_new();
    size_t length;
    char *bytes = make_file(line, lines, &length);
    grove_solution_list *list = grove_solution_list_parse(bytes, length, "input", error);

    fuzz_check(list && !grove_error_count(error));
    for (int k = -1; k < list->count; k++) {
        char path[600];
        snprintf(path, sizeof(path), "%s/%s", k < 0 ? "" : list->table[k].set,
                 k < 0 ? "" : list->table[k].name);
        grove_grid *grid =
            grove_grid_parse_hdf5(bytes, length, "input", k < 0 ? line[0] : path, "", error);
        fuzz_check((grid == NULL) == (grove_error_count(error) > 0));
        if (grid)
            fuzz_check_grid(grid);
        grove_grid_free(grid);
        grove_error_clear(error);
    }
    grove_solution_list_free(list);
    grove_error_free(error);
    free(bytes);
    free(text);
    return 0;
}
