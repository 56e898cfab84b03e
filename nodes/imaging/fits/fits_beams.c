/* Beams of the channels of a cube: the table BEAMS, as CASA writes it and others read it. */
#include "nodes/imaging/fits/fits_private.h"

#include "util.h"

#include <fitsio.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

enum { CARD = 80, ROW = 20 }; /* bytes of a row: three numbers and two integers */

static const double degree = 3.14159265358979323846 / 180;

/* ---- writing ---- */

static void add_bits(char **to, const void *number)
{
    uint32_t bits;

    memcpy(&bits, number, sizeof(bits));
    for (int k = 3; k >= 0; k--)
        *(*to)++ = (char)(bits >> 8 * k & 0xff);
}

static void add_row(char **to, const double beam[3], int32_t channel, int32_t stokes)
{
    const float numbers[] = {(float)(beam[0] / degree * 3600), (float)(beam[1] / degree * 3600),
                             (float)(beam[2] / degree)};

    for (int k = 0; k < 3; k++)
        add_bits(to, &numbers[k]);
    add_bits(to, &channel);
    add_bits(to, &stokes);
}

char *grove_image_beams(const grove_image *image, size_t *length)
{
    static const char *const columns[][3] = {{"BMAJ", "1E", "arcsec"},
                                             {"BMIN", "1E", "arcsec"},
                                             {"BPA", "1E", "deg"},
                                             {"CHAN", "1J", ""},
                                             {"POL", "1J", ""}};
    const int64_t rows = image->channels * image->stokes;
    const size_t data = ((size_t)rows * ROW + GROVE_FITS_BLOCK - 1) / GROVE_FITS_BLOCK;
    char cards[GROVE_FITS_BLOCK + 1] = "", card[CARD + 1];
    size_t used = 0;

#define ADD(...)                                                                                   \
    do {                                                                                           \
        snprintf(card, sizeof(card), __VA_ARGS__);                                                 \
        used += (size_t)snprintf(cards + used, sizeof(cards) - used, "%-80s", card);               \
    } while (0)
    ADD("XTENSION= 'BINTABLE'           / beams of the planes of the image");
    ADD("BITPIX  = %20d", 8);
    ADD("NAXIS   = %20d", 2);
    ADD("NAXIS1  = %20d", ROW);
    ADD("NAXIS2  = %20lld", (long long)rows);
    ADD("PCOUNT  = %20d", 0);
    ADD("GCOUNT  = %20d", 1);
    ADD("TFIELDS = %20d", 5);
    for (int k = 0; k < 5; k++) {
        ADD("TTYPE%d  = '%-8s'", k + 1, columns[k][0]);
        ADD("TFORM%d  = '%-8s'", k + 1, columns[k][1]);
        if (columns[k][2][0])
            ADD("TUNIT%d  = '%-8s'", k + 1, columns[k][2]);
    }
    ADD("EXTNAME = 'BEAMS   '");
    ADD("EXTVER  = %20d", 1);
    ADD("NCHAN   = %20lld", (long long)image->channels);
    ADD("NPOL    = %20lld", (long long)image->stokes);
    ADD("END");
#undef ADD
    *length = GROVE_FITS_BLOCK * (1 + data);
    char *made = grove_alloc(*length), *to = made + GROVE_FITS_BLOCK;
    memset(made, 0, *length);
    memset(made, ' ', GROVE_FITS_BLOCK);
    memcpy(made, cards, used);
    for (int32_t s = 0; s < (int32_t)image->stokes; s++)
        for (int32_t f = 0; f < (int32_t)image->channels; f++)
            add_row(&to, image->beams + 3 * (size_t)f, f, s);
    return made;
}

/* ---- reading ---- */

/* The unit of a column in rad, arcsec where none is given; NaN: an unknown unit. */
static double unit_of(fitsfile *file, int column)
{
    const struct {
        const char *name;
        double rad;
    } units[] = {
        {"", degree / 3600}, {"arcsec", degree / 3600}, {"arcmin", degree / 60},  {"deg", degree},
        {"degree", degree},  {"degrees", degree},       {"mas", degree / 3600e3}, {"rad", 1},
        {NULL, NAN}};
    char name[FLEN_KEYWORD], unit[FLEN_VALUE] = "";
    int status = 0, k = 0;

    fits_make_keyn("TUNIT", column, name, &status);
    fits_read_key(file, TSTRING, name, unit, NULL, &status);
    while (units[k].name && strcasecmp(unit, units[k].name) != 0)
        k++;
    return units[k].rad;
}

/* One column of all rows, an `angle` in rad; false: it cannot be read. */
static bool read_column(fitsfile *file, const char *name, bool angle, LONGLONG rows, double *to)
{
    char pattern[FLEN_VALUE];
    int column = 0, status = 0, any = 0, type;
    long repeat = 0;
    double none = NAN;

    snprintf(pattern, sizeof(pattern), "%s", name);
    fits_get_colnum(file, CASEINSEN, pattern, &column, &status);
    fits_get_coltype(file, column, &type, &repeat, NULL, &status);
    fits_read_col(file, TDOUBLE, column, 1, 1, rows, &none, to, &any, &status);
    if (status || repeat != 1)
        return false;
    const double unit = angle ? unit_of(file, column) : 1;
    if (isnan(unit))
        return false;
    for (LONGLONG k = 0; k < rows; k++)
        to[k] *= unit;
    return true;
}

/* Beams of the first Stokes parameter that a channel has. */
static void take_rows(grove_image *image, const double *rows, LONGLONG count)
{
    image->beams = grove_alloc((size_t)image->channels * 3 * sizeof(double));
    for (int64_t k = 0; k < 3 * image->channels; k++)
        image->beams[k] = NAN;
    for (LONGLONG k = 0; k < count; k++) {
        const double channel = rows[3 * count + k];
        if (!(channel >= 0 && channel < (double)image->channels))
            continue;
        double *beam = image->beams + 3 * (int64_t)channel;
        if (isnan(beam[0]) && rows[k] > 0 && rows[count + k] > 0)
            for (int d = 0; d < 3; d++)
                beam[d] = rows[d * count + k];
    }
}

void grove_fits_read_beams(void *from, grove_image *image)
{
    static const char *const names[] = {"BMAJ", "BMIN", "BPA", "CHAN"};
    char name[] = "BEAMS";
    fitsfile *file = from;
    LONGLONG count = 0;
    int status = 0;

    if (fits_movnam_hdu(file, BINARY_TBL, name, 0, &status)) {
        fits_clear_errmsg();
        return;
    }
    fits_get_num_rowsll(file, &count, &status);
    bool good = !status && count > 0 && count <= 8 * image->channels;
    double *rows = good ? grove_try_alloc((size_t)count, 4 * sizeof(double)) : NULL;
    for (int k = 0; k < 4 && rows && good; k++)
        good = read_column(file, names[k], k < 3, count, rows + k * count);
    if (rows && good)
        take_rows(image, rows, count);
    else
        grove_fits_note(image, "its table BEAMS cannot be read");
    free(rows);
    fits_clear_errmsg();
}
