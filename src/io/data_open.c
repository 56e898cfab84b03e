/* Opens the module that reads Measurement Sets. */
#include "base/module.h"
#include "io/data_module.h"

const grove_data_module *grove_data_open(grove_error *error)
{
    const grove_data_module *module = grove_module_open(
        "data", "grove_data_api",
        "this build cannot read Measurement Sets; build Grove with casacore (casacore-dev)", error);

    if (module && module->version != GROVE_DATA_VERSION) {
        grove_fail(error, GROVE_ABI,
                   "the module for Measurement Sets is of version %d; this Grove needs version %d",
                   module->version, GROVE_DATA_VERSION);
        return NULL;
    }
    return module;
}
