/* image_model: FITS images that the test puts together, against places that WCSLIB finds and sums
 * of fluxes. */
#include "fits-testing.h"
#include "tests/common/probe.h"

#include "base/text.h"
#include "nodes/common/coordinates.h"

#include <math.h>
#include <wcslib/wcs.h>
#include <wcslib/wcshdr.h>

static char *path;
static double centre[] = {4.9, 0.8}; /* of the probe */

TESTING_FIXTURE(probe_begin(&t), centre[1] = 0.8, path = suite_text("%s/x.fits", t.folder))

static const double degree = 0.017453292519943295;

/* ---- files ---- */

typedef struct {
    int bits, columns, rows, planes;
    const char *unit, *more;             /* more: cards */
    double centre[2];                    /* deg */
    double reference[2], cell[2], angle; /* deg */
} file;

static const file plain = {.bits = -32,
                           .columns = 7,
                           .rows = 5,
                           .planes = 1,
                           .unit = "Jy/pixel",
                           .more = "",
                           .centre = {4.9 / 0.017453292519943295, 0.8 / 0.017453292519943295},
                           .reference = {4, 3},
                           .cell = {-0.01, 0.01}};

static char *cards_of(const file *f)
{
    double c = cos(f->angle * degree), s = sin(f->angle * degree);
    bool cube = strstr(f->more, "NAXIS3") != NULL;

    return suite_text("SIMPLE  =                    T\nBITPIX  = %20d\nNAXIS   = %20d\n"
                      "NAXIS1  = %20d\nNAXIS2  = %20d\n%s"
                      "BUNIT   = '%s'\nCTYPE1  = 'RA---SIN'\nCTYPE2  = 'DEC--SIN'\n"
                      "CRVAL1  = %.17g\nCRVAL2  = %.17g\nCRPIX1  = %.17g\nCRPIX2  = %.17g\n"
                      "CD1_1   = %.17g\nCD1_2   = %.17g\nCD2_1   = %.17g\nCD2_2   = %.17g\n%s",
                      f->bits, cube ? 2 + (strstr(f->more, "NAXIS4") ? 2 : 1) : 2, f->columns,
                      f->rows, cube ? f->more : "", f->unit, f->centre[0], f->centre[1],
                      f->reference[0], f->reference[1], f->cell[0] * c, -f->cell[1] * s,
                      f->cell[0] * s, f->cell[1] * c, cube ? "" : f->more);
}

static void write_file(const file *f, const double *numbers)
{
    size_t length = 0, count = (size_t)(f->columns * f->rows * f->planes);
    size_t bytes = (size_t)abs(f->bits) / 8;
    unsigned char *data = malloc(count * bytes);
    char *cards = cards_of(f);

    for (size_t i = 0; i < count; i++)
        fits_put(data + i * bytes, f->bits, numbers[i]);
    char *all = fits_append(NULL, &length, cards, data, count * bytes);
    FILE *out = fopen(path, "wb");
    ck_assert(out && fwrite(all, 1, length, out) == length && !fclose(out));
    free(all);
    free(data);
}

/* J2000 direction of a pixel, counted from 0, rad. */
static void direction_of(const file *f, double column, double row, double radec[2])
{
    struct wcsprm *wcs = NULL;
    int rejected, count, cards, stat;
    size_t length = 0;
    char *text = cards_of(f), *bytes = fits_append(NULL, &length, text, NULL, 0);
    double pixel[] = {column + 1, row + 1, 1, 1}, plane[4], world[4], phi, theta;

    fits_header(bytes, &cards);
    ck_assert_int_eq(wcspih(bytes, cards, WCSHDR_strict, 0, &rejected, &count, &wcs), 0);
    ck_assert_int_eq(wcsp2s(wcs, 1, wcs->naxis, pixel, plane, &phi, &theta, world, &stat), 0);
    radec[0] = world[0] * degree;
    radec[1] = world[1] * degree;
    wcsvfree(&count, &wcs);
    free(bytes);
}

static char *tree_of(const char *options, const char *more)
{
    return suite_text("obs = probe(declination=%.17g)\nM = image_model(\"%s\", obs%s)\n"
                      "x = 1 * M.value\nl = 1 * M.l\nm = 1 * M.m\n%s",
                      centre[1], path, options, more);
}

static testing_value value_of(const char *options, const char *name)
{
    testing_tree(&t, tree_of(options, ""));
    return testing_evaluate(&t, name);
}

/* The warnings of a tree that can be built, until the next call. */
static const char *warnings_of(const char *text)
{
    ck_assert_msg(testing_try(&t, text), "%s", grove_error_message(t.error, 0));
    return suite_messages(t.error);
}

/* ---- images about the phase centre ---- */

/* Every number is where its pixel is. */
LOOP_TEST(as_it_is, 0, 20)
{
    file f = plain;
    double numbers[35];
    int found = 0;

    f.bits = _i % 4 == 0 ? -64 : _i % 4 == 1 ? -32 : _i % 4 == 2 ? 16 : 32;
    f.cell[0] *= _i / 4 % 2 ? -1 : 1;
    f.cell[1] *= _i / 8 ? -1 : 1;
    f.angle = _i / 16 ? 180 : 0;
    for (int i = 0; i < 35; i++)
        numbers[i] = 1 + i;
    write_file(&f, numbers);
    testing_value x = value_of("", "x"), l = testing_evaluate(&t, "l"),
                  m = testing_evaluate(&t, "m");
    ck_assert_int_eq(x.axes, 2);
    ck_assert_int_eq(x.cells, 35);
    int l_first = !strcmp(x.axis[0]->name, "l");
    for (int64_t i = 1; i < l.cells; i++)
        ck_assert(creal(l.at[i]) > creal(l.at[i - 1]));
    for (int n = 0; n < 35; n++) {
        double radec[2], lmn[3];
        direction_of(&f, n % 7, n / 7, radec);
        grove_direction_cosines(centre, radec, 1, lmn);
        for (int64_t i = 0; i < x.cells; i++) {
            int64_t a = i / x.axis[1]->size, b = i % x.axis[1]->size;
            double at_l = creal(l.at[l_first ? a : b]), at_m = creal(m.at[l_first ? b : a]);
            if (hypot(at_l - lmn[0], at_m - lmn[1]) > 1e-6)
                continue;
            ck_assert_double_eq_tol(at_l, lmn[0], 1e-12);
            ck_assert_double_eq_tol(at_m, lmn[1], 1e-12);
            ck_assert(creal(x.at[i]) == 1 + n);
            found++;
        }
    }
    ck_assert_int_eq(found, 35);
}

/* ---- others ---- */

static const struct {
    double shift[2], cell, angle; /* deg */
    const char *options;
    double declination; /* of the phase centre, rad; 0: as usual */
    const char *more;   /* cards */
} others[] = {
    {{0, 0}, 0.01, 0, ", size=32, cell=20arcsec"},
    {{0, 0}, 0.01, 30, ""},
    {{0.02, -0.03}, 0.01, 0, ""},
    {{-0.6, 0.5}, 0.013, -77, ""},
    {{3, 1}, 0.02, 120, ", cell=100arcsec"},
    {{0, 0}, 0.002, 0, ", size=40, cell=0.01deg"},
    /* the same direction with another right ascension, whose axes are others */
    {{50, 0}, 0.01, 0, "", 90 * 0.017453292519943295},
    {{-130, 0}, 0.01, 40, "", -90 * 0.017453292519943295},
    {{180, 0}, 0.01, 0, "", 90 * 0.017453292519943295},
    {{30, 0}, 0.01, 0, "", 89.99999 * 0.017453292519943295},
    {{2, 0}, 0.01, 0, "", 89.9999 * 0.017453292519943295},
    {{180, 0}, 0.01, 0, "", 90 * 0.017453292519943295, "LONPOLE = 180\n"},
    {{0, 0}, 0.01, 0, "", 0, "LONPOLE = 170\n"},
    {{0, 0}, 0.01, 0, "", 0, "LONPOLE = 0\n"},
};

/* The flux of one pixel stays, and its centre of gravity is where the pixel is. */
LOOP_TEST(other_pixels, 0, sizeof(others) / sizeof(others[0]))
{
    file f = plain;
    double numbers[35] = {0}, radec[2], lmn[3], flux = 0, at_l = 0, at_m = 0;
    int which = _i * 11 % 35;

    if (others[_i].declination) {
        centre[1] = others[_i].declination;
        f.centre[0] += others[_i].shift[0];
        f.centre[1] = centre[1] / degree;
    } else {
        f.centre[0] += others[_i].shift[0] / cos(f.centre[1] * degree);
        f.centre[1] += others[_i].shift[1];
    }
    f.cell[0] = -others[_i].cell;
    f.cell[1] = others[_i].cell;
    f.angle = others[_i].angle;
    f.more = others[_i].more ? others[_i].more : "";
    numbers[which] = 3;
    write_file(&f, numbers);
    testing_value x = value_of(others[_i].options, "x"), l = testing_evaluate(&t, "l"),
                  m = testing_evaluate(&t, "m");
    int l_first = !strcmp(x.axis[0]->name, "l");
    for (int64_t i = 0; i < x.cells; i++) {
        int64_t a = i / x.axis[1]->size, b = i % x.axis[1]->size;
        flux += creal(x.at[i]);
        at_l += creal(x.at[i]) * creal(l.at[l_first ? a : b]) / 3;
        at_m += creal(x.at[i]) * creal(m.at[l_first ? b : a]) / 3;
    }
    direction_of(&f, which % 7, which / 7, radec);
    grove_direction_cosines(centre, radec, 1, lmn);
    ck_assert_double_eq_tol(flux, 3, 1e-5);
    ck_assert_double_eq_tol(at_l, lmn[0], 1e-6 * degree);
    ck_assert_double_eq_tol(at_m, lmn[1], 1e-6 * degree);
}

/* A surface of constant brightness stays one: rotated by 30 degrees, within a few per cent. */
TEST(even_surface)
{
    enum { SIDE = 41 };
    file f = plain;
    double numbers[SIDE * SIDE];

    f.columns = f.rows = SIDE;
    f.reference[0] = f.reference[1] = SIDE / 2 + 1;
    f.angle = 30;
    for (int i = 0; i < SIDE * SIDE; i++)
        numbers[i] = 1;
    write_file(&f, numbers);
    testing_value x = value_of(", size=20, cell=27arcsec", "x");
    for (int64_t i = 0; i < x.cells; i++)
        ck_assert_double_eq_tol(creal(x.at[i]), 27.0 * 27 / 36 / 36, 0.03);
}

TEST(outside)
{
    file f = plain;
    double numbers[35] = {1};

    numbers[17] = 3;
    write_file(&f, numbers);
    char *text = tree_of(", size=3, cell=36arcsec", "");
    const char *said = warnings_of(text);
    ck_assert_msg(strstr(said, "1 of 4 Jy are outside the 3 x 3 pixels") != NULL, "%s", said);
}

/* ---- units, cubes, pixels that are no numbers ---- */

static const struct {
    const char *unit, *more;
    double scale;
} units[] = {
    {"Jy/pixel", "", 1},
    {"JY/PIXEL", "", 1},
    {"mJy/pixel", "", 1e-3},
    {"Jy", "", 1},
    /* pi / (4 ln 2) 0.03 0.02 / 0.01^2 pixels in the beam */
    {"Jy/beam", "BMAJ    = 0.03\nBMIN    = 0.02\nBPA     = 10\n", 1 / 6.7985402399},
};

LOOP_TEST(unit, 0, sizeof(units) / sizeof(units[0]))
{
    file f = plain;
    double numbers[35] = {0};

    f.unit = units[_i].unit;
    f.more = units[_i].more;
    numbers[9] = 2;
    write_file(&f, numbers);
    testing_value x = value_of("", "x");
    double sum = 0;
    for (int64_t i = 0; i < x.cells; i++)
        sum += creal(x.at[i]);
    ck_assert_double_eq_tol(sum, 2 * units[_i].scale, 1e-6 * units[_i].scale);
}

/* A cube of the channels of obs has its axis; Stokes parameters are a vector. */
TEST(cube)
{
    file f = plain;
    double numbers[35 * 14];

    f.planes = 14;
    f.more = "NAXIS3  = 7\nNAXIS4  = 2\nCTYPE3  = 'FREQ'\nCRVAL3  = 1.4e9\nCD3_3   = 2e6\n"
             "CRPIX3  = 1\nCTYPE4  = 'STOKES'\nCRVAL4  = 1\nCD4_4   = 1\nCRPIX4  = 1\n";
    for (int i = 0; i < 35 * 14; i++)
        numbers[i] = i;
    write_file(&f, numbers);
    testing_tree(&t, tree_of("", "y = sum(M.value, over=[l, m]) * (obs.freq / M.freq)\n"));
    testing_value y = testing_evaluate(&t, "y");
    ck_assert(y.axes == 1 && y.cells == 7 && y.elements == 2);
    for (int k = 0; k < 14; k++)
        ck_assert_double_eq_tol(creal(y.at[k]), 35.0 * 17 + 35.0 * 35 * (k / 2 + 7 * (k % 2)),
                                1e-2);
}

TEST(missing_pixels)
{
    file f = plain;
    double numbers[35] = {1, NAN, 2, INFINITY};

    write_file(&f, numbers);
    char *text = tree_of("", "y = sum(M.value, over=[l, m])\n");
    const char *said = warnings_of(text);
    ck_assert_msg(strstr(said, "2 of 35 pixels are not numbers, and are taken as 0") != NULL, "%s",
                  said);
    testing_value y = testing_evaluate(&t, "y");
    ck_assert(creal(y.at[0]) == 3);
}

/* ---- messages ---- */

static const struct {
    const char *find, *put, *message;
} bad[] = {
    {"RA---SIN", "RA---TAN", "is in projection TAN; direction cosines l and m need SIN"},
    {"CTYPE1", "NOTYPE1", "has no coordinates on the sky"},
    {"Jy/pixel", "K", "its unit (BUNIT) is 'K'; a model is in Jy/pixel, or in Jy/beam"},
    {"Jy/pixel", "Jy/beam", "is in Jy/beam and has no beam (BMAJ, BMIN)"},
    {"BUNIT ", "RADESYS = 'FK4'\nBUNIT ", "has coordinates of the system FK4"},
    {"BUNIT ", "PV2_1   = 0.1\nBUNIT ", "is in a slanted SIN projection"},
    {"SIMPLE  =                    T", "SIMPLE  =                    X", "cannot be read as FITS"},
    {"NAXIS2  =                    5", "NAXIS2  =                 5000", "is cut off"},
    {"BUNIT ", "PCOUNT  = 700\nBUNIT ", "PCOUNT is 700; of an image it is 0"},
};

LOOP_TEST(faults, 0, sizeof(bad) / sizeof(bad[0]))
{
    file f = plain;
    char *cards = cards_of(&f), *at = strstr(cards, bad[_i].find), *all;
    size_t length = 0;

    ck_assert(at != NULL);
    char *text =
        suite_text("%.*s%s%s", (int)(at - cards), cards, bad[_i].put, at + strlen(bad[_i].find));
    if (!strcmp(bad[_i].put, "RA---TAN"))
        memcpy(strstr(text, "DEC--SIN"), "DEC--TAN", 8);
    if (!strcmp(bad[_i].put, "NOTYPE1"))
        memcpy(strstr(text, "CTYPE2"), "NTYPE2", 6);
    all = fits_append(NULL, &length, text, (double[35]){0}, 35 * 4);
    FILE *out = fopen(path, "wb");
    ck_assert(out && fwrite(all, 1, length, out) == length && !fclose(out));
    text = tree_of("", "");
    const char *said = testing_faults(&t, text);
    ck_assert_msg(strstr(said, bad[_i].message) != NULL, "%s: %s", bad[_i].put, said);
    free(all);
}

LOOP_TEST(bad_options, 0, 3)
{
    static const char *const options[][2] = {{", size=0", "size: 0 pixels a side; from 1 to 65536"},
                                             {", cell=-1arcsec", "a pixel has a side above 0"},
                                             {", cell=60deg", "a pixel has a side above 0"}};
    double numbers[35] = {0};

    write_file(&plain, numbers);
    char *text = tree_of(options[_i][0], "");
    const char *said = testing_faults(&t, text);
    ck_assert_msg(strstr(said, options[_i][1]) != NULL, "%s", said);
}

SUITE(60, setup, teardown)
