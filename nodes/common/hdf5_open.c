/* Opens the service for tables in HDF5 files. */
#include "nodes/data/service.h"
#include "unstable/module.h"

const grove_hdf5_module *grove_hdf5_open_module(const char *what, grove_error *error)
{
    const grove_hdf5_module *module = grove_service_open("hdf5", GROVE_HDF5_VERSION, error);

    if (!module || !module->absent)
        return module;
    grove_fail(error, GROVE_MISSING,
               "this build cannot %s HDF5 files; build Grove with HDF5 (libhdf5-dev)", what);
    return NULL;
}
