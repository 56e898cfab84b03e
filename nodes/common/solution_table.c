/* Opens the module that makes solution tables. */
#include "nodes/common/solution_table.h"

#include "nodes/data/service.h"

int grove_solution_table_ready(grove_error *error)
{
    return grove_hdf5_open_module("write", error) ? 0 : grove_error_code(error);
}

char *grove_solution_table_bytes(const grove_solution_table *table, size_t *length,
                                 grove_error *error)
{
    const grove_hdf5_module *module = grove_hdf5_open_module("write", error);

    return module ? module->solution_table(table, length, error) : NULL;
}
