/* Descriptions of solution tables and of checkpoints of fits, for grove info. */
#include "nodes/fit/checkpoint.h"
#include "nodes/fit/describe_solutions.h"
#include "unstable/module.h"

static char *describe(const char *path, const char *const *folders, grove_error *error)
{
    (void)folders;
    return grove_checkpoint_is(path) ? grove_checkpoint_describe(path, error)
                                     : grove_solutions_describe(path, error);
}

const grove_files grove_files_api = {.version = GROVE_FILES_VERSION, .describe = describe};
