/* The service of the module data: tables in HDF5 files. */
#ifndef GROVE_NODES_DATA_SERVICE_H
#define GROVE_NODES_DATA_SERVICE_H

#include "nodes/common/grid.h"
#include "nodes/common/solution_list.h"
#include "nodes/common/solution_table.h"

enum { GROVE_HDF5_VERSION = 2 };

/* grove_service_open("hdf5", GROVE_HDF5_VERSION, error) */
typedef struct {
    int version;
    bool absent; /* HDF5 from this build: there are no functions */
    /* As grove_grid_parse_hdf5. */
    grove_grid *(*parse)(const char *bytes, size_t length, const char *name, const char *dataset,
                         const char *axes, grove_error *error);
    /* As grove_solution_table_bytes. */
    char *(*solution_table)(const grove_solution_table *table, size_t *length, grove_error *error);
    /* As grove_solution_list_parse. */
    grove_solution_list *(*list)(const char *bytes, size_t length, const char *name,
                                 grove_error *error);
} grove_hdf5_module;

extern const grove_hdf5_module grove_hdf5_api;
/* Within the module. */
char *grove_hdf5_solution_table(const grove_solution_table *table, size_t *length,
                                grove_error *error);
grove_solution_list *grove_hdf5_solutions(const char *bytes, size_t length, const char *name,
                                          grove_error *error);

/* In nodes/common: opens the service. `what`: "read" or "write", for the message. NULL with
 * GROVE_MISSING where this build is without HDF5. */
const grove_hdf5_module *grove_hdf5_open_module(const char *what, grove_error *error);

#endif
