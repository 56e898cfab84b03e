/* Opens the module that reads Measurement Sets. */
#include "base/module.h"
#include "io/data_module.h"

#include <pthread.h>
#include <stdlib.h>

/* casacore looks for its settings in HOME, and fails where there is none. */
static void set_home(void)
{
    setenv("HOME", "/", 0);
}

const grove_data_module *grove_data_open(grove_error *error)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;

    pthread_once(&once, set_home);
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
