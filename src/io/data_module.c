/* The data module: a table of the functions in measurement_set*.cc. */
#include "io/data_module.h"

const grove_data_module grove_data_api = {
    .version = GROVE_DATA_VERSION,
    .describe = grove_ms_describe,
    .open = grove_ms_open,
    .layout = grove_ms_layout_of,
    .has_column = grove_ms_has_column,
    .read_data = grove_ms_read_data,
    .read_weight = grove_ms_read_weight,
    .read_uvw = grove_ms_read_uvw,
    .close = grove_ms_close,
    .recover = grove_ms_recover,
    .restore_flags = grove_ms_restore_flags,
};
