/* The module of Measurement Sets in a build without casacore: its errors say that casacore is
 * missing. */
#include "nodes/sets/service.h"
#include "unstable/module.h"

static int fail(grove_error *error)
{
    return grove_fail(
        error, GROVE_MISSING,
        "this build cannot read Measurement Sets; build Grove with casacore (casacore-dev)");
}

static char *describe(const char *path, const char *const *folders, grove_error *error)
{
    (void)path;
    (void)folders;
    fail(error);
    return NULL;
}

static int recover(const char *path, bool *done, grove_error *error)
{
    (void)path;
    (void)done;
    return fail(error);
}

static int restore_flags(const char *path, const char *version, grove_error *error)
{
    (void)path;
    (void)version;
    return fail(error);
}

static grove_ms *open_set(const char *path, const grove_ms_part *part, grove_error *error)
{
    (void)path;
    (void)part;
    fail(error);
    return NULL;
}

const grove_files grove_files_api = {
    .version = GROVE_FILES_VERSION,
    .about = "Measurement Sets (casacore)",
    .absent = true,
    .describe = describe,
    .recover = recover,
    .restore_flags = restore_flags,
};

const grove_sets grove_sets_api = {.version = GROVE_SETS_VERSION, .open = open_set};
