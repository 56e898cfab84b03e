/* The services of the module imaging, besides its node classes. */
#include "nodes/imaging/service.h"

#include "nodes/imaging/fits/describe_image.h"
#include "unstable/module.h"

static char *describe(const char *path, const char *const *folders, grove_error *error)
{
    (void)folders;
    return grove_image_describe(path, error);
}

const grove_files grove_files_api = {
    .version = GROVE_FILES_VERSION,
    .about = "FITS images (cfitsio, WCSLIB)",
    .describe = describe,
};

const grove_images grove_images_api = {
    .version = GROVE_IMAGES_VERSION,
    .read = grove_image_read,
    .free = grove_image_free,
};
