/* Which solution tables an H5parm file has: groups SET/TABLE with the dataset val. */
#include "nodes/data/hdf5_file.h"
#include "nodes/data/service.h"
#include "util.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_TABLES = 4096, MAX_HISTORY = 1000, PIECE = 32768 };

typedef struct {
    hid_t file;
    const char *set; /* whose members are visited; NULL: the file's */
    grove_solution_list *list;
} visit;

static grove_solution_kind kind_of(const char *title)
{
    for (int k = GROVE_SOLUTION_OTHER + 1; k < GROVE_SOLUTION_KINDS; k++)
        if (grove_equal(title, grove_solution_word((grove_solution_kind)k)))
            return (grove_solution_kind)k;
    return GROVE_SOLUTION_OTHER;
}

/* The name without the number at its end. */
static char *plain_name(const char *name)
{
    size_t n = strlen(name);

    while (n && isdigit((unsigned char)name[n - 1]))
        n--;
    return grove_format("%.*s", (int)n, name);
}

/* The attributes HISTORY000, HISTORY001, ...: lines, or pieces of a longer text. */
static char *history_of(hid_t data)
{
    grove_text lines = {0};
    bool goes_on = false;

    for (int k = 0; k < MAX_HISTORY; k++) {
        char *name = grove_format("HISTORY%03d", k), *text = grove_hdf5_attribute(data, name);
        if (text)
            grove_text_add(&lines, "%s%s", lines.at && !goes_on ? "\n" : "", text);
        goes_on = text && strlen(text) >= PIECE;
        free(name);
        free(text);
    }
    return lines.at;
}

static char *outcomes_of(hid_t file, const char *path)
{
    char *whole = grove_format("%s/outcome", path);
    hid_t data = grove_hdf5_object(file, whole);
    char *words = data >= 0 ? grove_hdf5_attribute(data, "NAMES") : NULL;

    if (data >= 0)
        H5Oclose(data);
    free(whole);
    return words;
}

static herr_t add_name(hid_t group, const char *name, const H5L_info_t *info, void *context)
{
    (void)group, (void)info;
    grove_text_add(context, "%s ", name);
    return 0;
}

static char *datasets_of(hid_t group)
{
    grove_text names = {0};

    grove_text_append(&names, " ", 1);
    H5Literate(group, H5_INDEX_NAME, H5_ITER_INC, NULL, add_name, &names);
    return names.at;
}

static void add_table(visit *v, const char *name, hid_t group, hid_t data)
{
    grove_solution_list *list = v->list;
    char *path = grove_format("%s/%s", v->set, name);

    list->table = grove_realloc(list->table, ((size_t)list->count + 1) * sizeof(*list->table));
    grove_solution_entry *table = &list->table[list->count++];
    *table = (grove_solution_entry){.set = grove_strdup(v->set), .name = grove_strdup(name)};
    table->title = grove_hdf5_attribute(group, "TITLE");
    if (!table->title || !table->title[0]) {
        free(table->title);
        table->title = plain_name(name);
    }
    table->kind = kind_of(table->title);
    table->parm = grove_hdf5_attribute(group, "GROVE_PARM");
    table->jones = grove_hdf5_attribute(group, "GROVE_JONES");
    table->history = history_of(data);
    table->outcomes = outcomes_of(v->file, path);
    table->datasets = datasets_of(group);
    free(path);
}

static herr_t visit_table(hid_t from, const char *name, const H5L_info_t *info, void *context)
{
    visit *v = context;
    char *path = grove_format("%s/%s/val", v->set, name);
    char *own = grove_format("%s/%s", v->set, name);
    hid_t data = grove_hdf5_object(v->file, path), group = grove_hdf5_object(v->file, own);

    (void)from, (void)info;
    if (data >= 0 && group >= 0 && H5Iget_type(data) == H5I_DATASET &&
        H5Aexists(data, "AXES") > 0 && v->list->count < MAX_TABLES)
        add_table(v, name, group, data);
    if (data >= 0)
        H5Oclose(data);
    if (group >= 0)
        H5Oclose(group);
    free(path);
    free(own);
    return 0;
}

static herr_t visit_set(hid_t from, const char *name, const H5L_info_t *info, void *context)
{
    visit *v = context;
    hid_t set = grove_hdf5_object(v->file, name);

    (void)from, (void)info;
    v->set = name;
    if (set >= 0 && H5Iget_type(set) == H5I_GROUP)
        H5Literate(set, H5_INDEX_NAME, H5_ITER_INC, NULL, visit_table, v);
    if (set >= 0)
        H5Oclose(set);
    return 0;
}

grove_solution_list *grove_hdf5_solutions(const char *bytes, size_t length, const char *name,
                                          grove_error *error)
{
    visit v = {.list = grove_alloc(sizeof(*v.list))};
    grove_hdf5_turn turn;

    grove_hdf5_begin(&turn);
    v.file = grove_hdf5_open(bytes, length);
    if (v.file >= 0) {
        H5Literate(v.file, H5_INDEX_NAME, H5_ITER_INC, NULL, visit_set, &v);
        H5Fclose(v.file);
    } else {
        grove_fail(error, GROVE_INVALID, "%s: it is not an HDF5 file, or it is damaged", name);
    }
    grove_hdf5_end(&turn);
    if (v.file >= 0)
        return v.list;
    grove_solution_list_free(v.list);
    return NULL;
}
