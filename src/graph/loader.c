/* Classes and endings of files by name: their modules are opened on first use and never closed. */
#include "graph/graph.h"

#include "base/class_index.h"

#include "base/file.h"
#include "base/text.h"

#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>

#ifndef GROVE_NODE_FOLDER
#define GROVE_NODE_FOLDER "/usr/local/lib/grove/nodes-0"
#endif

typedef struct {
    char *name, *path;   /* owned; path NULL: compiled in. The name of a class, or an ending */
    grove_class *class_; /* NULL: not loaded, or invalid */
} entry;

struct grove_classes {
    entry **entries; /* sorted by name */
    size_t count, capacity;
    const char **names;  /* NULL-terminated list of the entries' names; NULL: not made yet */
    grove_error *faults; /* owned; the indices of the folders */
};

/* ".fits", "/": sorted before all classes. */
static bool is_ending(const char *name)
{
    return *name == '.' || *name == '/';
}

static entry *find_entry(const grove_classes *classes, const char *name)
{
    for (size_t i = 0; i < classes->count; i++)
        if (!strcmp(classes->entries[i]->name, name))
            return classes->entries[i];
    return NULL;
}

static entry *add_entry(grove_classes *classes, const char *name)
{
    entry *new = grove_alloc(sizeof(*new));
    size_t at = 0;

    new->name = grove_strdup(name);
    grove_grow((void **)&classes->entries, &classes->capacity, classes->count, sizeof(entry *));
    while (at < classes->count && strcmp(classes->entries[at]->name, new->name) < 0)
        at++;
    memmove(&classes->entries[at + 1], &classes->entries[at],
            (classes->count - at) * sizeof(entry *));
    classes->entries[at] = new;
    classes->count++;
    free(classes->names);
    classes->names = NULL;
    return new;
}

/* The first folder that has a class wins, as in every search path. */
static void add_module(grove_classes *classes, const char *name, const char *folder,
                       const char *module)
{
    char *file = grove_format("%s.so", module);

    if (!find_entry(classes, name))
        add_entry(classes, name)->path = grove_path_join(folder, file);
    free(file);
}

/* A module that the index does not name has one class, of its own name. In a build tree, libtool
 * leaves NAME.so in .libs. */
static void scan(grove_classes *classes, const char *folder)
{
    char **names = grove_folder_list(folder);
    grove_class_index index;

    grove_class_index_read(&index, folder, classes->faults);
    for (size_t i = 0; i < index.count; i++)
        if (*index.lines[i].class_ != '@')
            add_module(classes, index.lines[i].class_, folder, index.lines[i].module);
    for (char **at = names; at && *at; at++) {
        if (grove_ends_with(*at, ".so") && strncmp(*at, "lib", 3) != 0) {
            (*at)[strlen(*at) - 3] = 0;
            if (!grove_class_index_has_module(&index, *at))
                add_module(classes, *at, folder, *at);
        }
        free(*at);
    }
    free(names);
    grove_class_index_free(&index);
}

static void scan_list(grove_classes *classes, const char *list)
{
    while (list && *list) {
        size_t length = strcspn(list, ":");
        char *folder = grove_format("%.*s", (int)length, list);
        if (length)
            scan(classes, folder);
        free(folder);
        list += length + (list[length] == ':');
    }
}

grove_classes *grove_classes_new(const char *const *folders)
{
    grove_classes *classes = grove_alloc(sizeof(*classes));

    classes->faults = grove_error_new();
    for (const char *const *at = folders; at && *at; at++)
        scan(classes, *at);
    scan_list(classes, getenv("GROVE_PLUGIN_PATH"));
    scan(classes, GROVE_NODE_FOLDER);
    return classes;
}

void grove_classes_free(grove_classes *classes)
{
    if (!classes)
        return;
    for (size_t i = 0; i < classes->count; i++) {
        free(classes->entries[i]->class_);
        free(classes->entries[i]->name);
        free(classes->entries[i]->path);
        free(classes->entries[i]);
    }
    free(classes->entries);
    free(classes->names);
    grove_error_free(classes->faults);
    free(classes);
}

static void load(entry *found, grove_error *error)
{
    char *symbol = grove_format("grove_class_%s", found->name);
    /* absolute, since files next to it are found by this path even after a change of folder */
    char *path = realpath(found->path, NULL);
    void *module = dlopen(path ? path : found->path, RTLD_NOW | RTLD_LOCAL);
    const grove_class *class_ = module ? dlsym(module, symbol) : NULL;

    if (!module)
        grove_fail(error, GROVE_ABI, "class %s: cannot load its module: %s", found->name,
                   dlerror());
    else if (!class_)
        grove_fail(error, GROVE_ABI,
                   "class %s: %s does not export %s; is the descriptor GROVE_CLASS(%s)?",
                   found->name, found->path, symbol, found->name);
    else
        found->class_ = grove_class_new(class_, found->name, error);
    free(path);
    free(symbol);
}

const grove_class *grove_classes_find(grove_classes *classes, const char *name, grove_error *error)
{
    entry *found = is_ending(name) ? NULL : find_entry(classes, name);

    if (found && !found->class_)
        load(found, error);
    return found ? found->class_ : NULL;
}

int grove_classes_add(grove_classes *classes, const grove_class *class_, grove_error *error)
{
    const char *name = class_->name ? class_->name : "";
    grove_class *new = grove_class_new(class_, name, error);

    if (!new)
        return GROVE_ABI;
    entry *found = find_entry(classes, name);
    if (!found)
        found = add_entry(classes, name);
    if (found->class_) { /* others may hold its address */
        grove_class old = *found->class_;
        *found->class_ = *new;
        *new = old;
        free(new);
    } else {
        found->class_ = new;
    }
    return 0;
}

const char *const *grove_classes_names(grove_classes *classes, size_t *count)
{
    size_t first = 0;

    while (first < classes->count && is_ending(classes->entries[first]->name))
        first++;
    if (!classes->names)
        classes->names = grove_alloc((classes->count - first + 1) * sizeof(char *));
    for (size_t i = first; i < classes->count; i++)
        classes->names[i - first] = classes->entries[i]->name;
    if (count)
        *count = classes->count - first;
    return classes->names;
}

const grove_files *grove_classes_files(const grove_classes *classes, const char *path,
                                       grove_error *error)
{
    for (size_t i = 0; i < classes->count && is_ending(classes->entries[i]->name); i++)
        if (grove_ends_with(path, classes->entries[i]->name))
            return grove_files_open(classes->entries[i]->path, error);
    return NULL;
}

bool grove_classes_files_at(const grove_classes *classes, size_t i, const grove_files **files)
{
    if (i >= classes->count || !is_ending(classes->entries[i]->name))
        return false;
    size_t first = 0;
    while (strcmp(classes->entries[first]->path, classes->entries[i]->path) != 0)
        first++;
    *files = first < i ? NULL : grove_files_open(classes->entries[i]->path, NULL);
    return true;
}

const char *grove_classes_path(grove_classes *classes, const char *name)
{
    entry *found = find_entry(classes, name);
    return found ? found->path : NULL;
}

const char *grove_classes_fault(const grove_classes *classes)
{
    return grove_error_count(classes->faults) ? grove_error_message(classes->faults, 0) : NULL;
}
