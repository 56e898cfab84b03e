/* The services of the module of Measurement Sets, besides its node classes. */
#include "nodes/sets/service.h"
#include "unstable/module.h"
#include "util.h"

#include <stdlib.h>

static char *describe(const char *path, const char *const *folders, grove_error *error)
{
    char *table = grove_path_join(path, "table.dat");
    const bool is = grove_path_exists(table);

    (void)folders;
    free(table);
    if (is)
        return grove_ms_describe(path, error);
    grove_fail(error, GROVE_INVALID, "%s: a folder, but not a Measurement Set", path);
    return NULL;
}

const grove_files grove_files_api = {
    .version = GROVE_FILES_VERSION,
    .about = "Measurement Sets (casacore)",
    .describe = describe,
    .recover = grove_ms_recover,
    .restore_flags = grove_ms_restore_flags,
};

const grove_sets grove_sets_api = {
    .version = GROVE_SETS_VERSION,
    .open = grove_ms_open,
    .layout = grove_ms_layout_of,
    .has_column = grove_ms_has_column,
    .read_data = grove_ms_read_data,
    .read_weight = grove_ms_read_weight,
    .read_uvw = grove_ms_read_uvw,
    .close = grove_ms_close,
};
