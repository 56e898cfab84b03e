/* Reading FITS images. Sizes given in a file are checked before anything is allocated. */
#include "nodes/imaging/fits/fits_private.h"

#include "util.h"

#include <fitsio.h>
#include <math.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

static pthread_mutex_t one_at_a_time = PTHREAD_MUTEX_INITIALIZER;

void grove_fits_begin(void)
{
    pthread_mutex_lock(&one_at_a_time);
}

void grove_fits_end(void)
{
    fits_clear_errmsg();
    pthread_mutex_unlock(&one_at_a_time);
}

void grove_fits_note(grove_image *image, const char *format, ...)
{
    int k = 0;
    va_list args;
    grove_text text = {0};

    while (k < GROVE_IMAGE_NOTES && image->note[k])
        k++;
    if (k == GROVE_IMAGE_NOTES)
        return;
    va_start(args, format);
    grove_text_add_v(&text, format, args);
    va_end(args);
    image->note[k] = text.at;
}

/* Reports cfitsio's message; GROVE_INVALID, or GROVE_NO_MEMORY. */
static int fail(const char *path, int status, grove_error *error)
{
    char text[FLEN_STATUS] = "", detail[FLEN_ERRMSG] = "";

    if (status == MEMORY_ALLOCATION)
        return grove_fail(error, GROVE_NO_MEMORY, "%s: no memory to read it", path);
    fits_get_errstatus(status, text);
    fits_read_errmsg(detail);
    char *shown = grove_shown(detail, "");
    grove_fail(error, GROVE_INVALID, "%s: cannot be read as FITS: %s%s%s%s", path, text,
               shown[0] ? " (" : "", shown, shown[0] ? ")" : "");
    free(shown);
    return GROVE_INVALID;
}

static char *take_text(fitsfile *file, const char *name)
{
    char text[FLEN_VALUE] = "";
    int status = 0;

    fits_read_key(file, TSTRING, name, text, NULL, &status);
    fits_clear_errmsg();
    return status || !text[0] ? NULL : grove_shown(text, "");
}

static double take_number(fitsfile *file, const char *name)
{
    double number = NAN;
    int status = 0;

    fits_read_key(file, TDOUBLE, name, &number, NULL, &status);
    fits_clear_errmsg();
    return status || !isfinite(number) ? NAN : number;
}

static double take_date(fitsfile *file, const char *name)
{
    char *text = take_text(file, name);
    double seconds = NAN;

    if (!text || grove_parse_date(text, &seconds))
        seconds = NAN;
    free(text);
    return seconds;
}

static void take_cards(fitsfile *file, grove_image *image)
{
    static const char *const beam[] = {"BMAJ", "BMIN", "BPA"};
    static const char *const site[] = {"OBSGEO-X", "OBSGEO-Y", "OBSGEO-Z"};

    image->unit = take_text(file, "BUNIT");
    image->object = take_text(file, "OBJECT");
    image->telescope = take_text(file, "TELESCOP");
    image->observer = take_text(file, "OBSERVER");
    image->time[0] = take_date(file, "DATE-OBS");
    image->time[1] = take_date(file, "DATE-END");
    for (int k = 0; k < 3; k++) {
        image->beam[k] = take_number(file, beam[k]) * acos(-1) / 180;
        image->position[k] = take_number(file, site[k]);
    }
    if (isnan(image->beam[2]))
        image->beam[2] = 0;
    if (!(image->beam[0] > 0 && image->beam[1] > 0))
        image->beam[0] = image->beam[1] = image->beam[2] = NAN;
}

/* ---- which image ---- */

typedef struct {
    fitsfile *file;
    const char *path;
    grove_error *error;
    double bytes; /* of the file, once decompressed */
    int axes;
    LONGLONG size[GROVE_FITS_AXES];
} reader;

/* Moves to the first image with two axes or more. */
static int find_image(reader *in, grove_image *image)
{
    int count = 0, status = 0, type, tables = 0, lines = 0;

    fits_get_num_hdus(in->file, &count, &status);
    for (int k = 1; k <= count && !status; k++) {
        fits_movabs_hdu(in->file, k, &type, &status);
        if (status)
            break;
        if (type != IMAGE_HDU) {
            tables++;
            continue;
        }
        fits_get_img_dim(in->file, &in->axes, &status);
        lines += in->axes == 1;
        if (!status && in->axes > GROVE_FITS_AXES)
            return grove_fail(in->error, GROVE_INVALID,
                              "%s: an image of %d axes; at most %d are read", in->path, in->axes,
                              GROVE_FITS_AXES);
        if (status || in->axes < 2)
            continue;
        image->unit_number = k - 1;
        image->compressed = fits_is_compressed_image(in->file, &status);
        fits_get_img_type(in->file, &image->bits, &status);
        fits_get_img_sizell(in->file, GROVE_FITS_AXES, in->size, &status);
        return status ? fail(in->path, status, in->error) : 0;
    }
    if (status)
        return fail(in->path, status, in->error);
    return grove_fail(in->error, GROVE_INVALID, "%s: has no image, but %s%s", in->path,
                      tables  ? "tables"
                      : lines ? "an image with one axis"
                              : "a header without data",
                      tables ? ", which are not read" : "");
}

/* Sizes are positive, and all data are in the file. */
static int check_sizes(reader *in, const grove_image *image)
{
    double bytes = abs(image->bits) / 8;
    LONGLONG data = 0, sizes[GROVE_FITS_AXES];
    long parameters = 0, groups;
    int status = 0, simple, bits, axes, extend;

    for (int d = 0; d < in->axes; d++) {
        if (in->size[d] < 1)
            return grove_fail(in->error, GROVE_INVALID, "%s: axis %d of the image has no pixels",
                              in->path, d + 1);
        bytes *= (double)in->size[d];
    }
    if (in->size[0] > 1 << 20 || in->size[1] > 1 << 20 || bytes > 1e14)
        return grove_fail(in->error, GROVE_INVALID,
                          "%s: an image of %lld x %lld pixels; at most %d a side are read",
                          in->path, (long long)in->size[0], (long long)in->size[1], 1 << 20);
    /* cfitsio skips as many numbers before the pixels. */
    if (!image->compressed)
        fits_read_imghdrll(in->file, GROVE_FITS_AXES, &simple, &bits, &axes, sizes, &parameters,
                           &groups, &extend, &status);
    if (parameters)
        return grove_fail(in->error, GROVE_INVALID, "%s: PCOUNT is %ld; of an image it is 0",
                          in->path, parameters);
    fits_get_hduaddrll(in->file, NULL, &data, NULL, &status);
    double rest = in->bytes - (double)data;
    if (!status && !image->compressed && bytes > rest)
        return grove_fail(
            in->error, GROVE_INVALID,
            "%s: is cut off: its header says %.0f bytes of pixels, and there are %.0f", in->path,
            bytes, fmax(0, rest));
    /* No compression of numbers goes beyond this. */
    if (!status && image->compressed && bytes > 20000 * fmax(rest, 0))
        return grove_fail(in->error, GROVE_INVALID,
                          "%s: is cut off: its header says %.0f bytes of pixels, but only %.0f "
                          "compressed ones are there",
                          in->path, bytes, fmax(0, rest));
    return status ? fail(in->path, status, in->error) : 0;
}

static int read_world(reader *in, grove_image *image, grove_fits_axes *axes)
{
    char *cards = NULL;
    int count = 0, status = 0;
    int64_t size[GROVE_FITS_AXES];

    for (int d = 0; d < in->axes; d++)
        size[d] = in->size[d];
    fits_convert_hdr2str(in->file, 0, NULL, 0, &cards, &count, &status);
    if (status || !cards)
        return fail(in->path, status, in->error);
    int code = grove_fits_world(image, cards, count, in->axes, size, axes, in->path, in->error);
    fits_free_memory(cards, &status);
    return code;
}

static int read_pixels(reader *in, grove_image *image, const grove_fits_axes *axes)
{
    size_t plane = (size_t)image->rows * (size_t)image->columns;
    size_t bytes = image->wide ? sizeof(double) : sizeof(float);
    double nothing = NAN;
    float nothing_single = NAN;
    int status = 0, any;

    image->pixels = grove_try_alloc(plane * (size_t)(image->channels * image->stokes), bytes);
    if (!image->pixels)
        return grove_fail(in->error, GROVE_NO_MEMORY, "%s: no memory for its pixels", in->path);
    for (int64_t s = 0; s < image->stokes; s++)
        for (int64_t f = 0; f < image->channels && !status; f++) {
            LONGLONG first[GROVE_FITS_AXES] = {1, 1, 1, 1, 1, 1, 1, 1, 1};
            char *to = (char *)image->pixels + (size_t)grove_image_plane(image, s, f) * bytes;
            if (axes->freq >= 0)
                first[axes->freq] = f + 1;
            if (axes->stokes >= 0)
                first[axes->stokes] = s + 1;
            fits_read_pixll(in->file, image->wide ? TDOUBLE : TFLOAT, first, (LONGLONG)plane,
                            image->wide ? (void *)&nothing : (void *)&nothing_single, to, &any,
                            &status);
        }
    return status ? fail(in->path, status, in->error) : 0;
}

static int read_image(reader *in, grove_image *image)
{
    grove_fits_axes axes = {-1, -1};
    int code = find_image(in, image);

    code = code ? code : check_sizes(in, image);
    if (code)
        return code;
    image->columns = in->size[0];
    image->rows = in->size[1];
    image->channels = image->stokes = 1;
    image->wide =
        image->bits == DOUBLE_IMG || image->bits == LONG_IMG || image->bits == LONGLONG_IMG;
    take_cards(in->file, image);
    code = read_world(in, image, &axes);
    code = code ? code : read_pixels(in, image, &axes);
    if (!code)
        grove_fits_read_beams(in->file, image);
    return code;
}

static int check_file(const char *path, grove_error *error)
{
    struct stat info;

    if (!grove_path_exists(path))
        return grove_path_fail(path, error);
    if (stat(path, &info) || !S_ISREG(info.st_mode))
        return grove_fail(error, GROVE_INVALID, "%s: this is not a regular file", path);
    return 0;
}

grove_image *grove_image_read(const char *path, const char *bytes, size_t length,
                              grove_error *error)
{
    if (!bytes && check_file(path, error))
        return NULL;
    reader in = {.path = path, .error = error};
    grove_image *image = grove_alloc(sizeof(*image));
    void *memory = (void *)(uintptr_t)bytes;
    int status = 0, code;

    grove_fits_begin();
    if (bytes)
        fits_open_memfile(&in.file, "image", READONLY, &memory, &length, 0, NULL, &status);
    else
        fits_open_diskfile(&in.file, path, READONLY, &status);
    /* cfitsio makes its own number larger where it reads beyond the end */
    in.bytes = bytes ? (double)length : in.file ? (double)in.file->Fptr->filesize : 0;
    code = status ? fail(path, status, error) : read_image(&in, image);
    status = 0;
    if (in.file)
        fits_close_file(in.file, &status);
    grove_fits_end();
    if (!code)
        return image;
    grove_image_free(image);
    return NULL;
}
