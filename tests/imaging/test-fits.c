/* FITS images of other programs, damaged ones, what grove info and grove plot make of them. */
#include "fits-testing.h"

#include "base/file.h"
#include "base/text.h"
#include "grove.h"
#include "nodes/imaging/fits/image.h"
#include "nodes/plot/service.h"
#include "tests/common/suite.h"
#include "unstable/module.h"

#include <fitsio.h>
#include <math.h>
#include <unistd.h>

static char folder[64];
static grove_error *error;
static grove_library *library;

static void setup(void)
{
    strcpy(folder, "/tmp/grove-test-fits-XXXXXX");
    ck_assert_ptr_nonnull(mkdtemp(folder));
    ck_assert_int_eq(chdir(folder), 0);
    error = grove_error_new();
    library = grove_library_new(NULL);
}

static void teardown(void)
{
    grove_library_free(library);
    grove_error_free(error);
    ck_assert_int_eq(chdir("/"), 0);
    grove_path_remove(folder, NULL);
}

/* ---- files ---- */

#define PRIMARY(bits) "SIMPLE  =                    T\nBITPIX  = " bits "\n"
#define SIZES         "NAXIS   = 2\nNAXIS1  = 4\nNAXIS2  = 3\n"
#define SKY(projection)                                                                            \
    "CTYPE1  = 'RA---" projection "'\nCTYPE2  = 'DEC--" projection "'\nCRVAL1  = 83.6\n"           \
    "CRVAL2  = 22.0\nCRPIX1  = 3\nCRPIX2  = 2\nCDELT1  = -0.001\nCDELT2  = 0.001\n"

static void write_bytes(const char *name, const char *bytes, size_t length)
{
    FILE *out = fopen(name, "wb");

    ck_assert(out && fwrite(bytes, 1, length, out) == length && !fclose(out));
}

/* An image of the numbers 0, 1, ... */
static void write_image(const char *name, const char *cards, int bits, int count)
{
    size_t length = 0, bytes = (size_t)abs(bits) / 8;
    unsigned char *data = calloc((size_t)count, bytes);

    for (int i = 0; i < count; i++)
        fits_put(data + (size_t)i * bytes, bits, i);
    char *all = fits_append(NULL, &length, cards, data, (size_t)count * bytes);
    write_bytes(name, all, length);
    free(all);
    free(data);
}

static grove_image *read_image(const char *name)
{
    grove_error_clear(error);
    grove_image *image = grove_image_read(name, NULL, 0, error);

    ck_assert_msg(image != NULL, "%s", grove_error_message(error, 0));
    return image;
}

static void refused(const char *name, const char *message)
{
    grove_error_clear(error);
    grove_image *image = grove_image_read(name, NULL, 0, error);

    ck_assert(image == NULL && grove_error_count(error) == 1);
    ck_assert_msg(strstr(grove_error_message(error, 0), message) != NULL, "%s",
                  grove_error_message(error, 0));
}

static void info_has(const char *name, const char *text)
{
    grove_error_clear(error);
    char *said = grove_library_info(library, name, error);

    ck_assert_msg(said && strstr(said, text), "%s: %s", text,
                  said ? said : grove_error_message(error, 0));
    free(said);
}

/* ---- kinds of numbers ---- */

LOOP_TEST(numbers, 0, 6)
{
    static const int bits[] = {8, 16, 32, 64, -32, -64};
    write_image("x.fits",
                suite_text("SIMPLE  =                    T\nBITPIX  = %d\n" SIZES SKY(
                               "SIN") "BSCALE  = 0.5\nBZERO   = -2\n",
                           bits[_i]),
                bits[_i], 12);
    grove_image *image = read_image("x.fits");
    ck_assert(image->columns == 4 && image->rows == 3 && image->bits == bits[_i]);
    for (int i = 0; i < 12; i++)
        ck_assert(grove_image_at(image, i) == -2 + 0.5 * i);
    grove_image_free(image);
}

TEST(blank)
{
    write_image("x.fits", PRIMARY("16") SIZES "BLANK   = 5\n", 16, 12);
    grove_image *image = read_image("x.fits");
    for (int i = 0; i < 12; i++)
        ck_assert(i == 5 ? isnan(grove_image_at(image, i)) : grove_image_at(image, i) == i);
    grove_image_free(image);
    info_has("x.fits", "unusual: 1 pixels (8.33 %) are not numbers");
    info_has("x.fits", "unusual: it has no coordinates on the sky");
    info_has("x.fits", "from 0 to 11 (no unit), maximum at pixel 4, 3");
}

/* ---- places ---- */

LOOP_TEST(projections, 0, 4)
{
    static const char *const names[] = {"TAN", "ZEA", "CAR", "SIN"};
    char *cards =
        grove_format(PRIMARY("-32") SIZES "CTYPE1  = 'RA---%s'\nCTYPE2  = 'DEC--%s'\n"
                                          "CRVAL1  = 83.6\nCRVAL2  = 22.0\nCRPIX1  = 3\n"
                                          "CRPIX2  = 2\nCDELT1  = -0.001\nCDELT2  = 0.001\n",
                     names[_i], names[_i]);

    write_image("x.fits", cards, -32, 12);
    info_has("x.fits", suite_text("projection %s", names[_i]));
    info_has("x.fits", "pixels: 3.6 arcsec x 3.6 arcsec");
    grove_image *image = read_image("x.fits");
    ck_assert(image->sky.plain == (_i == 3));
    ck_assert_double_eq_tol(image->sky.middle[0], image->sky.centre[0], 1e-12);
    grove_image_free(image);
    free(cards);
}

LOOP_TEST(odd_coordinates, 0, 11)
{
    static const struct {
        const char *cards, *said;
    } odd[] = {
        {"CTYPE1  = 'GLON-SIN'\nCTYPE2  = 'GLAT-SIN'\nCDELT1  = -0.1\nCDELT2  = 0.1\n", "GALACTIC"},
        {"CTYPE1  = 'ELON-SIN'\nCTYPE2  = 'ELAT-SIN'\nCDELT1  = -0.1\nCDELT2  = 0.1\n",
         "unusual: coordinates of the system ELON"},
        {SKY("SIN") "EQUINOX = 1950\n", "(FK4)"},
        {SKY("SIN") "CROTA2  = 30\n",
         "unusual: rows and columns are not along RA---SIN and DEC--SIN"},
        {SKY("SIN") "PV2_1   = 0.2\n", "unusual: a slanted SIN projection"},
        {SKY("NCP"), "projection SIN"},
        {"CTYPE1  = 'RA---XYZ'\nCTYPE2  = 'DEC--XYZ'\n",
         "unusual: WCSLIB does not support its coordinates"},
        {"CTYPE1  = 'RA---SIN'\nCTYPE2  = 'DEC--SIN'\nCDELT1  = 0\nCDELT2  = 1\n", "unusual: "},
        {"CTYPE1  = 'FREQ'\nCRVAL1  = 1e9\nCDELT1  = 1e6\nCTYPE2  = 'TIME'\n",
         "unusual: its axis 1 is a spectrum"},
        {SKY("SIN") "BUNIT   = 'Jy/beam'\n", "unusual: numbers per beam, but no beam"},
        {SKY("SIN") "BMAJ    = 0.003\nBMIN    = 0.002\nBPA     = 45\n",
         "beam: 10.8 arcsec x 7.2 arcsec, position angle 45 deg, 6.799 pixels in it"},
    };
    write_image("x.fits", suite_text(PRIMARY("-32") SIZES "%s", odd[_i].cards), -32, 12);
    info_has("x.fits", odd[_i].said);
}

/* Axes of one cell; cubes; more axes than are known. */
TEST(more_axes)
{
    write_image(
        "x.fits",
        PRIMARY(
            "-32") "NAXIS   = 5\nNAXIS1  = 4\nNAXIS2  = 3\nNAXIS3  = 1\nNAXIS4  = 2\n"
                   "NAXIS5  = 1\n" SKY(
                       "SIN") "CTYPE3  = 'STOKES'\nCRVAL3  = 4\nCRPIX3  = 1\n"
                              "CTYPE4  = 'FREQ'\nCRVAL4  = 1.4e9\nCDELT4  = -1e6\nCRPIX4  = 1\n",
        -32, 24);
    grove_image *image = read_image("x.fits");
    ck_assert(image->channels == 2 && image->stokes == 1 && image->stokes_code[0] == 4);
    ck_assert(image->freq[0] == 1.4e9 && image->freq[1] == 1.399e9 && image->width[1] == 1e6);
    ck_assert(grove_image_at(image, grove_image_plane(image, 0, 1)) == 12);
    grove_image_free(image);
    info_has("x.fits", "frequencies: 1399 to 1400 MHz, 1 MHz wide");
    info_has("x.fits", "Stokes: V");
    /* a spectral axis in velocity */
    write_image("x.fits",
                PRIMARY("-32") "NAXIS   = 3\nNAXIS1  = 4\nNAXIS2  = 3\nNAXIS3  = 2\n" SKY(
                    "SIN") "CTYPE3  = 'VRAD'\nCRVAL3  = 2997924.58\nCDELT3  = 1000\n"
                           "CRPIX3  = 1\nCUNIT3  = 'm/s'\nRESTFRQ = 1.0e9\n",
                -32, 24);
    image = read_image("x.fits");
    ck_assert_double_eq_tol(image->freq[0], 0.99e9, 1);
    grove_image_free(image);
    write_image("x.fits",
                PRIMARY("-32") "NAXIS   = 3\nNAXIS1  = 4\nNAXIS2  = 3\nNAXIS3  = 2\n" SKY(
                    "SIN") "CTYPE3  = 'EPOCH'\n",
                -32, 24);
    refused("x.fits", "axis 3, EPOCH has 2 cells; besides the sky, only frequency and Stokes");
}

/* ---- other units than the first ---- */

TEST(extension)
{
    size_t length = 0;
    float data[12] = {0};
    char *all = fits_append(NULL, &length, PRIMARY("8") "NAXIS   = 0\nEXTEND  = T\n", NULL, 0);

    all = fits_append(all, &length,
                      "XTENSION= 'IMAGE   '\nBITPIX  = -32\n" SIZES
                      "PCOUNT  = 0\nGCOUNT  = 1\n" SKY("SIN"),
                      data, sizeof(data));
    write_bytes("x.fits", all, length);
    info_has("x.fits", "in extension 1");
    free(all);
}

LOOP_TEST(compressed, 0, 4)
{
    fitsfile *file = NULL;
    int status = 0;
    long size[] = {40, 30}, kinds[] = {RICE_1, GZIP_1, HCOMPRESS_1, PLIO_1};
    short pixels[1200];

    for (int i = 0; i < 1200; i++)
        pixels[i] = (short)(i * 7 % 300);
    fits_create_file(&file, "!x.fits.fz", &status);
    fits_set_compression_type(file, (int)kinds[_i], &status);
    fits_create_img(file, SHORT_IMG, 2, size, &status);
    fits_write_img(file, TSHORT, 1, 1200, pixels, &status);
    fits_close_file(file, &status);
    ck_assert_int_eq(status, 0);
    grove_image *image = read_image("x.fits.fz");
    ck_assert(image->compressed && image->columns == 40 && image->rows == 30);
    for (int i = 0; i < 1200; i++)
        ck_assert(grove_image_at(image, i) == pixels[i]);
    grove_image_free(image);
}

TEST(no_image)
{
    size_t length = 0;
    char *all = fits_append(NULL, &length, PRIMARY("8") "NAXIS   = 0\n", NULL, 0);

    write_bytes("x.fits", all, length);
    refused("x.fits", "x.fits: has no image, but a header without data");
    all = fits_append(all, &length,
                      "XTENSION= 'BINTABLE'\nBITPIX  = 8\nNAXIS   = 2\nNAXIS1  = 8\nNAXIS2  = 2\n"
                      "PCOUNT  = 0\nGCOUNT  = 1\nTFIELDS = 1\nTFORM1  = '1D'\n",
                      "0123456789abcdef", 16);
    write_bytes("x.fits", all, length);
    refused("x.fits", "x.fits: has no image, but tables, which are not read");
    write_image("x.fits", PRIMARY("-32") "NAXIS   = 1\nNAXIS1  = 12\n", -32, 12);
    refused("x.fits", "x.fits: has no image, but an image with one axis");
    write_bytes("x.fits", "no FITS file at all", 19);
    refused("x.fits", "x.fits: cannot be read as FITS");
    write_bytes("x.fits", "", 0);
    refused("x.fits", "x.fits: cannot be read as FITS");
    refused("y.fits", "y.fits: there is no such file or folder");
    refused(folder, "this is not a regular file");
    free(all);
}

/* Cut off anywhere, or with any byte changed: an image or a message. */
TEST(damaged)
{
    size_t length = 0;
    float data[12] = {0};
    char *all = fits_append(NULL, &length,
                            PRIMARY("-32") SIZES SKY("SIN") "BUNIT   = 'Jy/beam'\nBMAJ    = 0.01\n"
                                                            "BMIN    = 0.01\n",
                            data, sizeof(data));

    for (size_t k = 0; k < length; k += 97) {
        grove_error_clear(error);
        grove_image *image = grove_image_read("cut", all, k, error);
        ck_assert((image == NULL) == (grove_error_count(error) > 0));
        ck_assert_msg(image == NULL || k >= FITS_BLOCK + sizeof(data), "%zu", k);
        grove_image_free(image);
    }
    for (size_t k = 0; k < 2000; k += 3)
        for (int change = 0; change < 3; change++) {
            char before = all[k];
            all[k] = change == 0 ? '9' : change == 1 ? '\'' : (char)(k * 7);
            grove_error_clear(error);
            grove_image *image = grove_image_read("changed", all, length, error);
            ck_assert((image == NULL) == (grove_error_count(error) > 0));
            grove_image_free(image);
            all[k] = before;
        }
    free(all);
}

/* ---- pictures ---- */

LOOP_TEST(pictures, 0, 4)
{
    static const struct {
        const char *cards, *shown;
    } kinds[] = {
        {SKY("SIN") "BUNIT   = 'Jy/beam'\nBMAJ    = 0.002\nBMIN    = 0.001\nBPA     = 30\n",
         "l (arcsec)"},
        {SKY("TAN") "OBJECT  = 'Crab'\n", "RA---TAN (arcsec from the reference point)"},
        {SKY("TAN") "CROTA2  = 30\n", "column"},
        {"OBJECT  = 'Crab'\n", "column"},
    };
    char *cards = suite_text(PRIMARY("-32") SIZES "%s", kinds[_i].cards);
    size_t length;

    const grove_plot *plot = grove_service_open("plot", GROVE_PLOT_VERSION, NULL);
    if (!plot || plot->absent)
        return;
    write_image("x.fits", cards, -32, 12);
    grove_picture picture =
        GROVE_PICTURE(.what = "image", .logarithmic = _i == 1, .overwrite = true);
    ck_assert_int_eq(grove_library_plot(library, "x.fits", &picture, "x.svg", error), 0);
    char *svg = suite_keep(grove_file_read("x.svg", 1 << 24, true, &length, error));
    ck_assert(svg && strstr(svg, kinds[_i].shown) && strstr(svg, _i ? "no unit" : "Jy/beam"));
    ck_assert((strstr(svg, "#40e0ff") != NULL) == (_i == 0));
    ck_assert_int_eq(grove_library_plot(library, "x.fits", &picture, "x.png", error), 0);
    picture.what = "uv";
    ck_assert_int_lt(grove_library_plot(library, "x.fits", &picture, "x.svg", error), 0);
    ck_assert(strstr(grove_error_message(error, 0), "a FITS image has no picture 'uv'"));
    grove_error_clear(error);
    picture = GROVE_PICTURE(.what = "image", .column = "DATA");
    ck_assert_int_lt(grove_library_plot(library, "x.fits", &picture, "x.svg", error), 0);
    ck_assert(strstr(grove_error_message(error, 0),
                     "--column is for Measurement Sets, but this is a FITS image"));
}

/* A header at a pole, which has WCSLIB's other default for its longitude. */
TEST(header_at_the_pole)
{
    double freq = 1e9, width = 1e6;
    grove_image image = {.columns = 4,
                         .rows = 4,
                         .channels = 1,
                         .stokes = 1,
                         .stokes_code = {1},
                         .freq = &freq,
                         .width = &width,
                         .beam = {NAN, NAN, NAN},
                         .time = {NAN, NAN},
                         .position = {NAN, NAN, NAN},
                         .sky = {.projection = "SIN",
                                 .centre = {1, acos(0)},
                                 .reference = {2, 2},
                                 .matrix = {{-1e-4, 0}, {0, 1e-4}}}};
    size_t length, whole = 0;
    char *header = grove_image_header(&image, 0, &length, error);

    ck_assert(header && length % FITS_BLOCK == 0);
    whole = length + FITS_BLOCK;
    header = realloc(header, whole);
    ck_assert_ptr_nonnull(header);
    memset(header + length, 0, FITS_BLOCK);
    grove_image *back = grove_image_read("made", header, whole, error);
    ck_assert(back && back->sky.plain && back->channels == 1 && back->freq[0] == 1e9);
    ck_assert_double_eq_tol(back->sky.matrix[0][0], -1e-4, 1e-17);
    ck_assert_double_eq_tol(back->sky.centre[1], acos(0), 1e-12);
    grove_image_free(back);
    free(header);
}

SUITE(60, setup, teardown)
