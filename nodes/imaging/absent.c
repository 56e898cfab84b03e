/* The services of the module imaging in a build without cfitsio and WCSLIB. */
#include "nodes/imaging/service.h"

#include "unstable/module.h"
#include "util.h"

static grove_image *read_image(const char *path, const char *bytes, size_t length,
                               grove_error *error)
{
    (void)length;
    if (!bytes && !grove_path_exists(path))
        grove_path_fail(path, error);
    else
        grove_fail(error, GROVE_MISSING,
                   "this build cannot read FITS files; build Grove with cfitsio and WCSLIB "
                   "(libcfitsio-dev, wcslib-dev)");
    return NULL;
}

static void free_image(grove_image *image)
{
    (void)image;
}

static char *describe(const char *path, const char *const *folders, grove_error *error)
{
    (void)folders;
    read_image(path, NULL, 0, error);
    return NULL;
}

const grove_files grove_files_api = {
    .version = GROVE_FILES_VERSION,
    .about = "FITS images (cfitsio, WCSLIB)",
    .absent = true,
    .describe = describe,
};

const grove_images grove_images_api = {
    .version = GROVE_IMAGES_VERSION,
    .absent = true,
    .read = read_image,
    .free = free_image,
};
