#include "nodes/common/solution_list.h"

#include "nodes/data/service.h"
#include "util.h"

#include <stdlib.h>
#include <string.h>

const char *grove_solution_word(grove_solution_kind kind)
{
    static const char *const words[GROVE_SOLUTION_KINDS] = {"other", "amplitude", "phase", "clock",
                                                            "tec",   "rotation",  "value"};

    return words[kind];
}

grove_solution_list *grove_solution_list_parse(const char *bytes, size_t length, const char *name,
                                               grove_error *error)
{
    const grove_hdf5_module *module = grove_hdf5_open_module("read", error);

    return module ? module->list(bytes, length, name, error) : NULL;
}

void grove_solution_list_free(grove_solution_list *list)
{
    for (int i = 0; list && i < list->count; i++) {
        grove_solution_entry *table = &list->table[i];
        free(table->set);
        free(table->name);
        free(table->title);
        free(table->parm);
        free(table->jones);
        free(table->history);
        free(table->outcomes);
        free(table->datasets);
    }
    if (list)
        free(list->table);
    free(list);
}

char *grove_solution_outcome(const grove_solution_entry *table, int k)
{
    for (const char *at = table->outcomes; at; k--) {
        at += strspn(at, " ");
        size_t n = strcspn(at, ",");
        if (k == 0)
            return grove_format("%.*s", (int)n, at);
        at = at[n] ? at + n + 1 : NULL;
    }
    return NULL;
}
