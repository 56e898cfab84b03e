/* image: what it writes, read without any FITS library, at places that WCSLIB finds from the
 * header.
 */
#include "fits-testing.h"
#include "tests/common/probe.h"

#include "base/file.h"
#include "base/text.h"
#include "nodes/common/coordinates.h"
#include "nodes/imaging/fits/image.h"
#include "nodes/plot/service.h"
#include "unstable/module.h"

#include <math.h>
#include <signal.h>
#include <sys/resource.h>
#include <wcslib/wcs.h>
#include <wcslib/wcshdr.h>

TESTING_FIXTURE(probe_begin(&t))

static const double centre[] = {4.9, 0.8}; /* of the probe */
enum { CHANNELS = PROBE_CHANNELS };

/* ---- images to write ---- */

typedef struct {
    int columns, rows, channels, elements;
    const char *names; /* of the columns of elements */
    double cell;
    bool falling; /* both axes, against the index */
} sample;

static const sample samples[] = {
    {8, 6, 1, 1, "value", 1e-3, false},       {7, 9, 1, 1, "value", 2e-5, true},
    {3, 2, 1, 4, "0,1,2,3", 1e-4, true},      {5, 4, CHANNELS, 4, "0,1,2,3", 1e-3, false},
    {6, 5, CHANNELS, 2, "XX,YY", 3e-3, true},
};
enum { SAMPLES = sizeof(samples) / sizeof(samples[0]) };

/* Exact in single precision. */
static double number_at(int column, int row, int channel, int element)
{
    return 1 + column + 16 * row + 256 * channel + 4096 * element;
}

/* A table of it; coordinates of column 0, the most eastern, and row 0, the most southern. */
static const char *write_table(const sample *s)
{
    grove_text text = {0};

    grove_text_add(&text, "l,m%s,%s\n", s->channels > 1 ? ",freq" : "", s->names);
    for (int n = 0; n < s->columns * s->rows * s->channels; n++) {
        int x = n % s->columns, y = n / s->columns % s->rows, f = n / s->columns / s->rows;
        int column = s->falling ? x : s->columns - 1 - x, row = s->falling ? s->rows - 1 - y : y;
        grove_text_add(&text, "%.17g,%.17g", (s->columns / 2 - column) * s->cell,
                       (row - s->rows / 2) * s->cell);
        if (s->channels > 1)
            grove_text_add(&text, ",%.17g", 1.4e9 + 2e6 * f);
        for (int e = 0; e < s->elements; e++)
            grove_text_add(&text, ",%.17g", number_at(column, row, f, e));
        grove_text_add(&text, "\n");
    }
    const char *path = testing_file(&t, "x.csv", text.at);
    free(text.at);
    return path;
}

/* Runs lines in which @ is the folder. */
static int run(const char *format, const grove_session_options *options)
{
    grove_text all = {0};

    grove_text_add(&all, "obs = probe()\nT = table(\"%s/x.csv\", obs=obs, axes=\"l m\")\n",
                   t.folder);
    for (const char *at = format; *at; at++)
        if (*at == '@')
            grove_text_add(&all, "%s", t.folder);
        else
            grove_text_append(&all, at, 1);
    testing_tree(&t, all.at);
    free(all.at);
    return probe_run(&t, options);
}

static char *read_file(const char *name, size_t *length)
{
    char *path = suite_keep(grove_path_join(t.folder, name));
    char *bytes = grove_file_read(path, 1 << 24, false, length, t.error);

    ck_assert_msg(bytes != NULL, "%s: %s", name, grove_error_message(t.error, 0));
    return suite_keep(bytes);
}

static double card_number(const char *bytes, const char *name)
{
    const char *card = fits_card(bytes, name);

    ck_assert_msg(card != NULL, "no %s", name);
    return strtod(card, NULL);
}

static void card_is(const char *bytes, const char *name, const char *text)
{
    const char *card = fits_card(bytes, name);

    ck_assert_msg(card && !strncmp(card, text, strlen(text)), "%s: %.40s", name,
                  card ? card : "none");
}

/* ---- pixels and coordinates ---- */

static struct wcsprm *world_of(char *bytes, int *count)
{
    struct wcsprm *wcs = NULL;
    int rejected, cards;

    fits_header(bytes, &cards);
    ck_assert_int_eq(wcspih(bytes, cards, WCSHDR_strict, 0, &rejected, count, &wcs), 0);
    ck_assert_int_eq(*count, 1);
    ck_assert_int_eq(wcsset(wcs), 0);
    return wcs;
}

/* A pixel, counted from 0, is where the SIN projection's formula has it. */
static void check_place(struct wcsprm *wcs, const sample *s, const int at[4])
{
    double pixel[4] = {at[0] + 1, at[1] + 1, at[2] + 1, at[3] + 1}, plane[4], world[4], phi, theta;
    double l = (s->columns / 2 - at[0]) * s->cell, m = (at[1] - s->rows / 2) * s->cell;
    int stat;

    ck_assert_int_eq(wcsp2s(wcs, 1, 4, pixel, plane, &phi, &theta, world, &stat), 0);
    const double radec[] = {world[0] * acos(-1) / 180, world[1] * acos(-1) / 180};
    double lmn[3];
    grove_direction_cosines(centre, radec, 1, lmn);
    ck_assert_double_eq_tol(lmn[0], l, 1e-13);
    ck_assert_double_eq_tol(lmn[1], m, 1e-13);
    if (s->channels > 1)
        ck_assert_double_eq_tol(world[2], 1.4e9 + 2e6 * at[2], 1e-3);
    else
        ck_assert_double_eq_tol(world[2], 1.406e9, 1e-3);
    double first = s->elements == 2 ? -5 : 1, step = s->elements == 2 ? -1 : 1;
    ck_assert_double_eq_tol(world[3], first + step * at[3], 1e-12);
}

static const grove_session_options tilings[] = {
    TESTING_OPTIONS(.threads = 1, .double_precision = true),
    TESTING_OPTIONS(.tile_times = 1, .tile_channels = 3, .threads = 2, .double_precision = true),
    TESTING_OPTIONS(.threads = 2),
};
enum { TILINGS = sizeof(tilings) / sizeof(tilings[0]) };

LOOP_TEST(pixels, 0, SAMPLES *TILINGS)
{
    const sample *s = &samples[_i % SAMPLES];
    const grove_session_options *options = &tilings[_i / SAMPLES];
    size_t length, header;
    int cards, count, bits = -64;

    write_table(s);
    ck_assert_int_eq(run("image(1Jy * T.value, to=\"@/x.fits\")", options), 0);
    char *bytes = read_file("x.fits", &length);
    bits = (int)card_number(bytes, "BITPIX");
    ck_assert(bits == -64 || bits == -32);
    header = fits_header(bytes, &cards);
    ck_assert_uint_eq(length % FITS_BLOCK, 0);
    ck_assert_uint_eq(length, header + fits_padded((size_t)(s->columns * s->rows * s->channels *
                                                            s->elements * abs(bits) / 8)));
    card_is(bytes, "BUNIT", "'Jy      '");
    card_is(bytes, "RADESYS", "'FK5'");
    ck_assert(card_number(bytes, "EQUINOX") == 2000 && card_number(bytes, "CDELT1") < 0);
    ck_assert(card_number(bytes, "CRPIX1") == s->columns / 2 + 1);
    ck_assert(card_number(bytes, "CRPIX2") == s->rows / 2 + 1);
    ck_assert(card_number(bytes, "CDELT3") == (s->channels > 1 ? 2e6 : 14e6));
    ck_assert(!fits_card(bytes, "BMAJ"));
    struct wcsprm *wcs = world_of(bytes, &count);
    for (int n = 0; n < s->columns * s->rows * s->channels * s->elements; n++) {
        int rest = n / s->columns / s->rows;
        const int at[] = {n % s->columns, n / s->columns % s->rows, rest % s->channels,
                          rest / s->channels};
        const unsigned char *from = (unsigned char *)bytes + header + n * abs(bits) / 8;
        ck_assert(fits_get(from, bits) == number_at(at[0], at[1], at[2], at[3]));
        check_place(wcs, s, at);
    }
    wcsvfree(&count, &wcs);
}

/* ---- cards ---- */

TEST(cards_of_options)
{
    size_t length;

    write_table(&samples[0]);
    testing_file(&t, "one.csv", "k,value\n5,3\n");
    ck_assert_int_eq(run("b = [2arcsec, 1arcsec, 30deg]\n"
                         "image(T.value, to=\"@/a.fits\", unit=\"Jy/beam\", beam=b, stokes=\"V\", "
                         "frequency=1.5GHz, name=\"O'Neill \xc3\xa9\")\n"
                         "image(T.value, to=\"@/b.fits\", beam=b * sqrt(constant(-1)))\n"
                         "O = table(\"@/one.csv\", axes=\"k\")\n"
                         "image(T.value, to=\"@/c.fits\", beam=b * O.value)",
                         NULL),
                     0);
    char *bytes = read_file("a.fits", &length);
    card_is(bytes, "BUNIT", "'Jy/beam '");
    card_is(bytes, "OBJECT", "'O''Neill ?\?'");
    ck_assert_double_eq_tol(card_number(bytes, "BMAJ"), 2 / 3600.0, 1e-13);
    ck_assert_double_eq_tol(card_number(bytes, "BMIN"), 1 / 3600.0, 1e-13);
    ck_assert_double_eq_tol(card_number(bytes, "BPA"), 30, 1e-11);
    ck_assert(card_number(bytes, "CRVAL3") == 1.5e9 && card_number(bytes, "CRVAL4") == 4);
    ck_assert(fits_card(bytes, "DATE-OBS") != NULL);
    ck_assert(strstr(bytes, "HISTORY T = table(") != NULL);
    bytes = read_file("b.fits", &length);
    ck_assert(!fits_card(bytes, "BMAJ") && !fits_card(bytes, "BUNIT"));
    bytes = read_file("c.fits", &length); /* the beam has an axis of one cell */
    ck_assert_double_eq_tol(card_number(bytes, "BMAJ"), 6 / 3600.0, 1e-13);
}

/* A beam for each channel: a table, and none in the header; also where tiles cut the channels. */
LOOP_TEST(beams_of_channels, 0, 4)
{
    const grove_session_options options =
        GROVE_SESSION_OPTIONS(.double_precision = true, .tile_channels = _i);
    const double arcsec = acos(-1) / 180 / 3600;
    size_t length;

    write_table(&samples[3]);
    ck_assert_int_eq(run("f = 1 * obs.freq\n"
                         "s = sqrt((1.403GHz - f) / 1Hz)\nb = [2arcsec, 1arcsec, 0.5rad]\n"
                         "image(T.value, to=\"@/a.fits\", unit=\"Jy/beam\", "
                         "beam=b * (s / s * 1GHz / f))",
                         &options),
                     0);
    testing_value f = probe_session(&t, "f", NULL, NULL);
    char *bytes = read_file("a.fits", &length);
    ck_assert(!fits_card(bytes, "BMAJ") && length % GROVE_FITS_BLOCK == 0);
    card_is(bytes, "CASAMBM", "                   T");
    grove_image *image = grove_image_read("a.fits", bytes, length, t.error);
    ck_assert_msg(image && image->beams && !image->note[0], "%s", grove_error_text(t.error));
    for (int k = 0; k < CHANNELS; k++) {
        const double factor = 1e9 / creal(f.at[k]), *beam = image->beams + (ptrdiff_t)3 * k;
        if (creal(f.at[k]) > 1.403e9) {
            ck_assert(isnan(beam[0]) && isnan(beam[2]));
            continue;
        }
        ck_assert_double_eq_tol(beam[0] / arcsec, 2 * factor, 1e-6);
        ck_assert_double_eq_tol(beam[1] / arcsec, factor, 1e-6);
        ck_assert_double_eq_tol(beam[2], 0.5 * factor, 1e-6);
    }
    grove_image_free(image);
}

/* The same table in other units: those that are known are minded, others are said. */
LOOP_TEST(units_of_beams, 0, 5)
{
    static const struct {
        const char *unit;
        double arcsec; /* 0: unknown */
    } units[] = {{"arcmin", 60}, {"ArcSec", 1}, {"mas   ", 1e-3}, {"DEG   ", 3600}, {"parsec", 0}};
    size_t length;

    write_table(&samples[3]);
    ck_assert_int_eq(run("f = 1 * obs.freq\nimage(T.value, to=\"@/a.fits\", unit=\"Jy/beam\", "
                         "beam=[2arcsec, 1arcsec, 0.5rad] * (f / f))",
                         NULL),
                     0);
    char *bytes = read_file("a.fits", &length);
    char *table = memmem(bytes, length, "XTENSION", 8);
    ck_assert_ptr_nonnull(table);
    char *at = memmem(table, length - (size_t)(table - bytes), "arcsec", 6);
    ck_assert_ptr_nonnull(at);
    memcpy(at, units[_i].unit, 6);
    grove_image *image = grove_image_read("a.fits", bytes, length, t.error);
    ck_assert_msg(image, "%s", grove_error_text(t.error));
    if (units[_i].arcsec > 0)
        ck_assert_double_eq_tol(image->beams[0] * 180 * 3600 / acos(-1) / units[_i].arcsec, 2,
                                1e-6);
    else
        ck_assert(!image->beams && image->note[0] && strstr(image->note[0], "BEAMS"));
    grove_image_free(image);
}

/* A model of a cube of which a channel has no beam, but pixels. */
TEST(channel_without_beam)
{
    write_table(&samples[3]);
    ck_assert_int_eq(run("f = 1 * obs.freq\ng = f - select(f, axis=freq, index=1)\n"
                         "image(T.value, to=\"@/a.fits\", unit=\"Jy/beam\", "
                         "beam=[2arcsec, 1arcsec, 0.5rad] * (g / g))",
                         NULL),
                     0);
    const char *said = testing_faults(
        &t, suite_text("obs = probe()\nM = image_model(\"%s/a.fits\", obs)\n", t.folder));
    ck_assert_msg(strstr(said, "has no beam of channel 1 (of 0 to "), "%s", said);
}

/* Flagged pixels are NaN. */
TEST(flagged)
{
    size_t length;
    int cards, missing = 0;

    testing_file(&t, "x.csv", "l,m,value\n0.001,0,1\n0,0,\n0.001,0.001,3\n0,0.001,4\n");
    ck_assert_int_eq(run("image(T.value, to=\"@/a.fits\")", NULL), 0);
    char *bytes = read_file("a.fits", &length);
    size_t header = fits_header(bytes, &cards);
    int bits = (int)card_number(bytes, "BITPIX");
    for (int n = 0; n < 4; n++)
        missing += isnan(fits_get((unsigned char *)bytes + header + n * abs(bits) / 8, bits)) != 0;
    ck_assert_int_eq(missing, 1);
    ck_assert(isnan(fits_get((unsigned char *)bytes + header + abs(bits) / 8, bits)));
}

/* ---- files ---- */

static int count_files(void)
{
    char **names = grove_folder_list(t.folder);
    int count = 0;

    for (; names[count]; count++)
        free(names[count]);
    free(names);
    return count;
}

TEST(files_that_exist)
{
    size_t length, length_after;

    write_table(&samples[0]);
    int before = count_files();
    ck_assert_int_eq(run("image(T.value, to=\"@/a.fits\")", NULL), 0);
    char *first = read_file("a.fits", &length);
    ck_assert_int_lt(run("image(2 * T.value, to=\"@/a.fits\")", NULL), 0);
    ck_assert(strstr(grove_error_message(t.error, 0), "exists already; give overwrite=true"));
    ck_assert_int_lt(run("image(2 * T.value, to=\"@/a.fits\", overwrite=true)\n"
                         "compare(1, 2, tolerance=0, print=false)",
                         NULL),
                     0);
    char *second = read_file("a.fits", &length_after);
    ck_assert(length == length_after && !memcmp(first, second, length));
    ck_assert_int_eq(count_files(), before + 1);
    ck_assert_int_eq(run("image(2 * T.value, to=\"@/a.fits\", overwrite=true)", NULL), 0);
    second = read_file("a.fits", &length_after);
    ck_assert(length != length_after || memcmp(first, second, length) != 0);
    ck_assert_int_eq(count_files(), before + 1);
}

/* An action that makes files, as another program may: while the run writes, or when it has
 * prepared its outputs. */
static const char *rivals[3]; /* NULL: none */

static int make_rivals(const grove_call *call)
{
    (void)call;
    for (int i = 0; i < 3 && rivals[i]; i++)
        testing_file(&t, rivals[i], "of another program");
    return 0;
}

static int write_rivals(const grove_call *call, const grove_array *const *arrays, int count)
{
    (void)arrays, (void)count;
    return make_rivals(call);
}

static int write_nothing(const grove_call *call, const grove_array *const *arrays, int count)
{
    (void)call, (void)arrays, (void)count;
    return 0;
}

static const grove_port rival_inputs[] = {{"x", GROVE_VALUE, "a value"}, {0}};
static const grove_class rival_classes[] = {
    {GROVE_CLASS_HEAD(early), .doc = "For tests.", .inputs = rival_inputs,
     .kind = GROVE_CLASS_ACTION, .action = &(const grove_action_functions){.write = write_rivals}},
    {GROVE_CLASS_HEAD(late), .doc = "For tests.", .inputs = rival_inputs,
     .kind = GROVE_CLASS_ACTION,
     .action = &(const grove_action_functions){.write = write_nothing, .prepare = make_rivals}}};

/* What another program has made in the meantime stays as it is. */
LOOP_TEST(two_programs, 0, 6)
{
    static const struct {
        const char *action, *files[3];
    } cases[] = {{"image(T.value, to=\"@/a.fits\")", {"a.fits"}},
                 {"save(T.value, to=\"@/a.csv\")", {"a.csv"}},
                 {"save(T.value, to=\"@/a.npy\")", {"a.npy", "a.npy.axes"}}};
    char *lines =
        grove_format("%s\n%s(T.value)\n", cases[_i / 2].action, _i % 2 ? "late" : "early");
    size_t length;

    for (int k = 0; k < 2; k++)
        ck_assert_int_eq(grove_classes_add(t.classes, &rival_classes[k], t.error), 0);
    write_table(&samples[0]);
    memcpy(rivals, cases[_i / 2].files, sizeof(rivals));
    int before = count_files(), code = run(lines, NULL), made = 0;
    ck_assert_int_lt(code, 0);
    const char *words =
        _i % 2 ? "another file has this name now" : "another program has created it";
    ck_assert_msg(strstr(grove_error_message(t.error, 0), words) != NULL, "%s",
                  grove_error_message(t.error, 0));
    for (; rivals[made]; made++) {
        char *bytes = read_file(rivals[made], &length);
        ck_assert_str_eq(bytes, "of another program");
    }
    ck_assert_int_eq(count_files(), before + made);
    free(lines);
}

/* Files may not grow beyond some bytes, as on a disk that is full. */
LOOP_TEST(full_disk, 0, 3)
{
    struct rlimit limit;

    write_table(&samples[3]);
    int before = count_files();
    signal(SIGXFSZ, SIG_IGN);
    ck_assert(!getrlimit(RLIMIT_FSIZE, &limit));
    struct rlimit little = {.rlim_cur = (rlim_t)(1000 + 2000 * _i), .rlim_max = limit.rlim_max};
    testing_tree(&t, suite_text("obs = probe()\nT = table(\"%s/x.csv\", obs=obs, axes=\"l m\")\n"
                                "image(T.value, to=\"%s/a.fits\")",
                                t.folder, t.folder));
    ck_assert(!setrlimit(RLIMIT_FSIZE, &little));
    int code = probe_run(&t, NULL);
    ck_assert(!setrlimit(RLIMIT_FSIZE, &limit));
    ck_assert_int_lt(code, 0);
    ck_assert(strstr(grove_error_message(t.error, 0), "a.fits: cannot write: File too large") ||
              strstr(grove_error_message(t.error, 0), "File too large"));
    ck_assert_int_eq(count_files(), before);
}

TEST(pictures)
{
    size_t length;

    const grove_plot *plot = grove_service_open("plot", GROVE_PLOT_VERSION, NULL);
    if (!plot || plot->absent)
        return;
    write_table(&samples[3]);
    ck_assert_int_eq(run("image(1Jy * T.value, to=\"@/a.svg\", unit=\"Jy/beam\", "
                         "beam=[6arcmin, 3arcmin, 30deg])\nimage(1Jy * T.value, to=\"@/a.png\")",
                         NULL),
                     0);
    char *bytes = read_file("a.svg", &length);
    ck_assert(strstr(bytes, "Stokes V") && strstr(bytes, "Jy/beam") &&
              strstr(bytes, "l (arcmin)") && strstr(bytes, "mean of 7 channels") &&
              strstr(bytes, "#40e0ff"));
    bytes = read_file("a.png", &length);
    ck_assert(length > 1000 && !memcmp(bytes, "\x89PNG", 4));
    testing_file(&t, "y.csv", /* the second channel has one pixel, the third none */
                 "l,m,freq,value\n0.001,0,1e9,1\n0,0,1e9,2\n0.001,0.001,1e9,3\n0,0.001,1e9,4\n"
                 "0.001,0,2e9,\n0,0,2e9,\n0.001,0.001,2e9,\n0,0.001,2e9,4\n"
                 "0.001,0,3e9,\n0,0,3e9,\n0.001,0.001,3e9,\n0,0.001,3e9,\n");
    ck_assert_int_eq(run("Y = table(\"@/y.csv\", axes=\"l m\")\n"
                         "image(Y.value, to=\"@/b.svg\", obs=obs)",
                         NULL),
                     0);
    bytes = read_file("b.svg", &length);
    ck_assert(strstr(bytes, "mean of 2 of 3 channels") != NULL);
}

/* ---- messages ---- */

static const struct {
    const char *line, *message;
} bad[] = {
    {"image(T.value, to=\"x.txt\")", "to: 'x.txt': the name ends in .fits, .png or .svg"},
    {"image(obs.freq, to=\"x.fits\")", "has no axis l"},
    {"image(T.value * obs.time, to=\"x.fits\")", "varies with time; an image has the axes l, m"},
    {"image(mean(T.value, over=m), to=\"x.fits\")", "has no axis m"},
    {"image(1i * T.value, to=\"x.fits\")", "is complex"},
    {"image(T.value, to=\"x.fits\", stokes=\"IQ\")", "the image has 1 element"},
    {"image(T.value, to=\"x.fits\", stokes=\"X\")", "give as many of I, Q, U and V"},
    {"image(exp(T.value), to=\"x.fits\")", "axis l is not evenly spaced"},
    {"image(T.value, to=\"x.fits\", beam=1deg)", "beam"},
    {"image(T.value, to=\"x.fits\", beam=[2arcsec, 1arcsec, 30deg] * obs.freq / 1Hz)",
     "beam: varies with freq, and the image does not; use the beam of the mean over the bands: "
     "fit_beam(mean(psf, over=freq))"},
};

LOOP_TEST(faults, 0, sizeof(bad) / sizeof(bad[0]))
{
    char *text =
        grove_format("obs = probe()\nT = table(\"%s\", obs=obs, axes=\"l m\")\n"
                     "%s\n",
                     testing_file(&t, "x.csv",
                                  strstr(bad[_i].line, "exp(")
                                      ? "l,m,value\n0,0,1\n1e-3,0,2\n3e-3,0,1\n0,1e-3,1\n"
                                        "1e-3,1e-3,1\n3e-3,1e-3,1\n"
                                      : "l,m,value\n0,0,1\n1e-3,0,2\n0,1e-3,1\n1e-3,1e-3,1\n"),
                     bad[_i].line);
    const char *said = testing_faults(&t, text);

    ck_assert_msg(strstr(said, bad[_i].message) != NULL, "%s: %s", bad[_i].line, said);
    free(text);
}

SUITE(60, setup, teardown)
