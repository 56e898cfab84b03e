/* Images of the sky: opening the module for FITS files, and what needs no FITS. */
#include "io/image.h"

#include "base/file.h"
#include "base/module.h"
#include "base/text.h"

#include <math.h>
#include <stdlib.h>
#include <sys/stat.h>

static const grove_fits_module *open_module(const char *what, grove_error *error)
{
    char *missing = grove_format("this build cannot %s FITS files; build Grove with cfitsio and "
                                 "WCSLIB (libcfitsio-dev, wcslib-dev)",
                                 what);
    const grove_fits_module *module = grove_module_open("fits", "grove_fits_api", missing, error);

    free(missing);
    if (module && module->version != GROVE_FITS_VERSION) {
        grove_fail(error, GROVE_ABI,
                   "the module for FITS files is of version %d; this Grove needs version %d",
                   module->version, GROVE_FITS_VERSION);
        return NULL;
    }
    return module;
}

grove_image *grove_image_read(const char *path, const char *bytes, size_t length,
                              grove_error *error)
{
    const grove_fits_module *module;
    struct stat info;

    if (!bytes && !grove_path_exists(path)) {
        grove_path_fail(path, error);
        return NULL;
    }
    if (!bytes && (stat(path, &info) || !S_ISREG(info.st_mode))) {
        grove_fail(error, GROVE_INVALID, "%s: this is no regular file", path);
        return NULL;
    }
    module = open_module("read", error);
    return module ? module->read(path, bytes, length, error) : NULL;
}

int grove_image_ready(grove_error *error)
{
    return open_module("write", error) ? 0 : grove_error_code(error);
}

char *grove_image_header(const grove_image *image, size_t room, size_t *length, grove_error *error)
{
    const grove_fits_module *module = open_module("write", error);

    return module ? module->header(image, room, length, error) : NULL;
}

char *grove_image_beams(const grove_image *image, size_t *length, grove_error *error)
{
    const grove_fits_module *module = open_module("write", error);

    return module ? module->beams(image, length) : NULL;
}

void grove_image_free(grove_image *image)
{
    if (!image)
        return;
    for (int k = 0; k < GROVE_IMAGE_NOTES; k++)
        free(image->note[k]);
    free(image->freq);
    free(image->beams);
    free(image->width);
    free(image->unit);
    free(image->object);
    free(image->telescope);
    free(image->observer);
    free(image->history);
    free(image->pixels);
    free(image);
}

bool grove_image_is(const char *path)
{
    static const char *const ends[] = {".fits", ".fit",     ".fts",     ".FITS",
                                       ".FIT",  ".fits.gz", ".fits.fz", ".fit.gz"};

    for (size_t k = 0; k < sizeof(ends) / sizeof(ends[0]); k++)
        if (grove_ends_with(path, ends[k]))
            return true;
    return false;
}

const char *grove_image_stokes_name(int code)
{
    static const char *const names[] = {"YX", "XY", "YY", "XX", "LR", "RL", "LL",
                                        "RR", "?",  "I",  "Q",  "U",  "V"};

    return code < -8 || code > 4 ? "?" : names[code + 8];
}

double grove_image_pixel_area(const grove_image *image)
{
    const double(*m)[2] = image->sky.matrix;

    return image->sky.projection[0] ? fabs(m[0][0] * m[1][1] - m[0][1] * m[1][0]) : NAN;
}

double grove_image_beam_area(const grove_image *image, int64_t channel)
{
    const double *beam = image->beams ? image->beams + 3 * channel : image->beam;

    return acos(-1) / (4 * log(2)) * beam[0] * beam[1];
}

bool grove_image_centre(const grove_image *image, double radec[2])
{
    radec[0] = image->sky.centre[0];
    radec[1] = image->sky.centre[1];
    if (!image->sky.projection[0] || image->sky.frame == GROVE_FRAME_UNKNOWN)
        return false;
    grove_frame_to_j2000(image->sky.frame, radec);
    return true;
}
