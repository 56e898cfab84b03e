/* Opens the module for tables in HDF5 files. */
#include "base/module.h"
#include "base/text.h"
#include "io/grid_hdf5.h"

#include <stdlib.h>

const grove_hdf5_module *grove_hdf5_open_module(const char *what, grove_error *error)
{
    char *missing =
        grove_format("this build cannot %s HDF5 files; build Grove with HDF5 (libhdf5-dev)", what);
    const grove_hdf5_module *module = grove_module_open("hdf5", "grove_hdf5_api", missing, error);

    free(missing);
    if (module && module->version != GROVE_HDF5_VERSION) {
        grove_fail(error, GROVE_ABI,
                   "the module for HDF5 files is of version %d; this Grove needs version %d",
                   module->version, GROVE_HDF5_VERSION);
        return NULL;
    }
    return module;
}
