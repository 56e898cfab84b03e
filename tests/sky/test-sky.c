/* Sky models in the text format of makesourcedb: real files, faults. */
#include "sky.h"

#define HEADER "# (Name, Type, Ra, Dec, I) = format\n"

TEST(text_has_all_columns)
{
    grove_sky *sky =
        parsed("# a comment\n"
               "# ( Name, Type, Patch, Ra, Dec, I, Q, U, V, ReferenceFrequency='60e6', "
               "SpectralIndex='[]', LogarithmicSI, MajorAxis, MinorAxis, Orientation, "
               "OrientationIsAbsolute, Extra ) = FORMAT\r\n"
               ", , north, 00:00:00, +00.00.00\n"
               "a, POINT, north, 10:30:00.0, -00.30.00, 1.5, -.1, 0.2, 3e-3\r\n"
               "  'b, c' , gaussian, , 157.5, 45.25, -2, , , , 1.4e9, [-0.7, 0.1], true, 30, 60.5, "
               "-20, true, what\n"
               "\n"
               "d,,\"north\",12h30m00s,+12d30m36s,0,,,,5e7,0.5,F,,,,\n");
    ck_assert_int_eq(sky->count, 3);
    const grove_source *a = &sky->sources[0], *b = a + 1, *d = a + 2;
    ck_assert_str_eq(a->name, "a");
    ck_assert_str_eq(a->patch, "north");
    near(a->ra, 157.5 * DEGREE);
    near(a->dec, -0.5 * DEGREE);
    near(a->stokes[0], 1.5);
    near(a->stokes[1], -0.1);
    near(a->stokes[2], 0.2);
    near(a->stokes[3], 3e-3);
    ck_assert_int_eq(a->terms, 0);
    near(a->reference_frequency, 60e6);
    ck_assert(a->rotation_measure == 0 && a->major == 0 && a->minor == 0);
    ck_assert_str_eq(b->name, "b, c");
    ck_assert_str_eq(b->patch, "");
    near(b->ra, 157.5 * DEGREE);
    near(b->dec, 45.25 * DEGREE);
    near(b->stokes[0], -2);
    ck_assert_int_eq(b->terms, 2);
    near(b->spectrum[0], -0.7);
    near(b->spectrum[1], 0.1);
    ck_assert(b->logarithmic);
    near(b->reference_frequency, 1.4e9);
    near(b->major, 30 * ARCSEC);
    near(b->minor, 60.5 * ARCSEC);
    near(b->position_angle, -20 * DEGREE);
    ck_assert(b->absolute_angle);
    near(d->ra, 187.5 * DEGREE);
    near(d->dec, 12.51 * DEGREE);
    ck_assert_int_eq(d->terms, 1);
    ck_assert(!d->logarithmic);
    grove_sky_free(sky);
    grove_sky_free(NULL);
}

TEST(headers_come_in_other_forms)
{
    static const char *const texts[] = {
        "Format = Name, Type, Ra, Dec, I\nx,POINT,10,20,3\n",
        "\xef\xbb\xbf# (name,type,ra,dec,i)=format\nx,POINT,10,20,3",
        "format=Name Ra Dec I\nx 10\t 20 3\n",
        "format=Name Ra, Dec | I\n\"x\"  10, 20 | 3\n",
        "FORMAT = Ra, dummy, Dec, , I, Name=fixed'x'\n10, z, 20, y, 3\n",
        "format=Name,I=\"3\",Ra,Dec,\nx,,10,20\n",
        "# (Name, Type, Ra, Dec, I) = format\n# (Name, Type, Ra, Dec, I) = format\nx,,10,20,3,\n"};
    for (size_t k = 0; k < sizeof texts / sizeof *texts; k++) {
        grove_sky *sky = parsed(texts[k]);
        ck_assert_int_eq(sky->count, 1);
        ck_assert_str_eq(sky->sources[0].name, "x");
        near(sky->sources[0].ra, 10 * DEGREE);
        near(sky->sources[0].dec, 20 * DEGREE);
        near(sky->sources[0].stokes[0], 3);
        grove_sky_free(sky);
    }
}

TEST(angles_come_in_other_forms)
{
    static const struct {
        const char *text;
        double degrees;
        bool dec;
    } angles[] = {{"23:59:59.5", 359.99791666666664, false},
                  {"1h30m36s", 22.65, false},
                  {"123.30.36", 123.51, false},
                  {"-90", 270, false},
                  {"2rad", 2 / DEGREE, false},
                  {"12.5deg", 12.5, false},
                  {"-00.00.36.0", -0.01, true},
                  {"+031.39.36.0", 31.66, true},
                  {"-1d30m36s", -1.51, true},
                  {"-89.5", -89.5, true},
                  {"90", 90, true}};
    for (size_t k = 0; k < sizeof angles / sizeof *angles; k++) {
        bool dec = angles[k].dec;
        grove_sky *sky = parsed(suite_text(HEADER "x, , %s, %s, 1\n", dec ? "0" : angles[k].text,
                                           dec ? angles[k].text : "0"));
        double found = dec ? sky->sources[0].dec : sky->sources[0].ra;
        ck_assert_double_lt(fabs(found / DEGREE - angles[k].degrees), 1e-13 * 360);
        grove_sky_free(sky);
    }
}

#define RM_HEADER                                                                                  \
    "format = Name, Ra, Dec, I, Q, U, ReferenceFrequency, SpectralIndex, LogarithmicSI, "          \
    "RotationMeasure, PolarizedFraction, PolarizationAngle, ReferenceWavelength\n"

/* makesourcedb turns Q and U into a polarised fraction and an angle at wavelength 0; the predicted
 * Q and U are I(nu) fraction exp(2i (angle + RM lambda^2)). */
TEST(rotation_measures_mean_what_makesourcedb_says)
{
    grove_sky *sky = parsed(RM_HEADER "a,0,0,4, .3, -.2, 150e6,[-0.7, 0.2],, 5\n"
                                      "b,0,0,4, .3, -.2, 150e6,[-0.7, 0.2],, 5,,, 1.5\n"
                                      "c,0,0,4, .3, -.2, 150e6,[-0.7, 0.2],false, 5,,, 1.5\n"
                                      "d,0,0,4,,,,,, -5, 0.25, 0.4\n"
                                      "e,0,0,4,,,,,, 5,,,\n"
                                      "f,0,0,4, .3, -.2,,,, 5,,,2\n");
    const grove_source *s = sky->sources;
    near(s[0].stokes[1], 0.3);
    near(s[0].stokes[2], -0.2);
    near(s[0].rotation_measure, 5);
    near(s[0].rotation_reference, pow(LIGHT_SPEED / 150e6, 2));
    for (int k = 1; k < 3; k++) { /* as written at 1.5 m once the spectrum is applied */
        double ratio = LIGHT_SPEED / 1.5 / 150e6, x = k == 1 ? log10(ratio) : ratio - 1;
        double scale = k == 1 ? pow(10, -0.7 * x + 0.2 * x * x) : (4 - 0.7 * x + 0.2 * x * x) / 4;
        ck_assert_double_lt(fabs(s[k].stokes[1] * scale - 0.3), 1e-15);
        ck_assert_double_lt(fabs(s[k].stokes[2] * scale + 0.2), 1e-15);
        near(s[k].rotation_reference, 2.25);
    }
    ck_assert_double_lt(fabs(s[3].stokes[1] - cos(0.8)), 1e-15);
    ck_assert_double_lt(fabs(s[3].stokes[2] - sin(0.8)), 1e-15);
    ck_assert_double_eq(s[3].rotation_reference, 0);
    near(s[3].rotation_measure, -5);
    ck_assert(s[4].stokes[1] == 0 && s[4].stokes[2] == 0);
    near(s[5].stokes[1], 0.3);
    near(s[5].rotation_reference, 4);
    grove_sky_free(sky);
}

TEST(a_real_model_in_text_is_read)
{
    char *path = data_file("lofar-8st.skymodel");
    if (!path) {
        return;
    }
    grove_sky *sky = grove_sky_read(path, NULL, NULL);
    ck_assert_ptr_nonnull(sky);
    ck_assert_int_eq(sky->count, 13);
    double flux = 0;
    int gaussians = 0, terms = 0;
    for (int k = 0; k < 13; k++) {
        flux += sky->sources[k].stokes[0];
        gaussians += sky->sources[k].major > 0;
        terms += sky->sources[k].terms;
        ck_assert_double_eq(sky->sources[k].reference_frequency, 6e7);
        ck_assert_str_eq(sky->sources[k].name, sky->sources[k].patch);
    }
    ck_assert_double_lt(fabs(flux - 110.9568), 1e-12);
    ck_assert_int_eq(gaussians, 8);
    ck_assert_int_eq(terms, 22);
    const grove_source *s = &sky->sources[11];
    ck_assert_str_eq(s->name, "2354.1+3255");
    near(s->ra, (23 + (54 + 11.359 / 60) / 60) * 15 * DEGREE);
    near(s->dec, (32 + (55 + 13.584 / 60) / 60) * DEGREE);
    near(s->major, 46.4 * ARCSEC);
    near(s->minor, 31.5 * ARCSEC);
    near(s->position_angle, 44.1 * DEGREE);
    ck_assert(!s->absolute_angle && s->logarithmic);
    near(s->spectrum[1], -0.0882);
    grove_sky_free(sky);
    free(path);
}

static double apart(const double a[2], double ra, double dec)
{
    return hypot((a[0] - ra) * cos(dec), a[1] - dec);
}

/* Numbers of astropy 7 (FK4 with equinox and time of observation B1950, to FK5 J2000; Galactic to
 * ICRS), and published positions of 3C 286, in B1950 and J2000, of the VLA's list of calibrators.
 */
TEST(frames)
{
    static const struct {
        const char *text;
        double ra, dec, north, within;
    } cases[] = {{"B1950, 05h38m43.5s, 49d49m42.7s", 1.4948836482619583, 0.8700810887812739,
                  0.4300469611600946, 2e-3},
                 {"b1950, 00h10m00s, -80d00m00s", 0.05349733371345606, -1.3914083942045632,
                  0.0766975438547841, 2e-3},
                 {"FK4, 13h28m49.6577s, 30d45m58.64s",
                  (13 + (31 + 8.287984 / 60) / 60) * 15 * DEGREE,
                  (30 + (30 + 32.95885 / 60) / 60) * DEGREE, -0.12379360874819512, 0.16},
                 {"GALACTIC, 120, -35", 0.1770520728351762, 0.48537454310124767, NAN, 0.03},
                 {"GALACTIC, 120:00:00, -35", 0.1770520728351762, 0.48537454310124767, NAN, 0.03},
                 {"J2000, 120, -35", 120 * DEGREE, -35 * DEGREE, 0, 1e-9}};

    for (size_t k = 0; k < sizeof(cases) / sizeof(*cases); k++) {
        grove_sky *sky =
            parsed(suite_text("format = Name, RefType, Ra, Dec, I, Q, U, MajorAxis, MinorAxis, "
                              "Orientation, OrientationIsAbsolute, Type\n"
                              "a, %s, 4, 1, 0, 8, 4, 10, true, GAUSSIAN\n"
                              "b, %s, 4, 1, 0, 8, 4, 10, false, GAUSSIAN\n",
                              cases[k].text, cases[k].text));
        const grove_source *s = sky->sources;
        double north = cases[k].north * DEGREE, direction[2];
        ck_assert_double_le(apart((double[]){s->ra, s->dec}, cases[k].ra, cases[k].dec),
                            cases[k].within * ARCSEC);
        ck_assert_double_le(fabs(hypot(s->stokes[1], s->stokes[2]) - 1), 1e-15);
        if (!isnan(north)) {
            ck_assert_double_le(fabs(s->position_angle - 10 * DEGREE - north), 2e-7);
            ck_assert_double_le(fabs(atan2(s->stokes[2], s->stokes[1]) / 2 - north), 2e-7);
        }
        ck_assert_double_eq(s[1].position_angle, 10 * DEGREE); /* from the m axis */
        grove_sky_free(sky);
        char *text = suite_keep(grove_strdup(cases[k].text)); /* the same in a tree, with units */
        *strchr(text, ',') = ' ';
        if (k < 3) {
            ck_assert_int_eq(grove_parse_direction(text, direction), 0);
            ck_assert_double_le(apart(direction, cases[k].ra, cases[k].dec),
                                cases[k].within * ARCSEC);
        }
    }
    double direction[2];
    ck_assert_int_eq(grove_parse_direction("galactic 120deg -35deg", direction), 0);
    ck_assert_double_le(apart(direction, cases[3].ra, cases[3].dec), 0.03 * ARCSEC);
    ck_assert_int_eq(grove_parse_direction("J2000 1h0m0s 2deg", direction), 0);
    ck_assert_double_le(apart(direction, 15 * DEGREE, 2 * DEGREE), 1e-9 * ARCSEC);
    ck_assert_int_eq(grove_parse_direction("1h -2d30m", direction), 0);
    ck_assert_double_le(apart(direction, 15 * DEGREE, -2.5 * DEGREE), 1e-9 * ARCSEC);
    ck_assert_int_ne(grove_parse_direction("1h-2d 30m", direction), 0);
    ck_assert_int_ne(grove_parse_direction("APP 1h0m0s 2deg", direction), 0);
    ck_assert_int_ne(grove_parse_direction("B1950", direction), 0);
}

TEST(faults_of_headers_are_told)
{
    refused_with("x, POINT, 1, 2, 3\n",
                 "1:1: error: sky model: the format is not known; a line \"# (Name, Type, Ra, Dec, "
                 "I, ...) = format\" first, or a Tigger .lsm.html");
    refused_with(
        "format = Name, Ra, I\n",
        "1:10: error: header: there is no column 'Dec'; Name, Ra, Dec and I must be there");
    refused_with("format = Name, Ra, Dec, I, name\n",
                 "1:28: error: header: column 'Name' is named twice");
    refused_with("format = Name, Ra, Dec, I=3\n",
                 "1:27: error: header: a default value is not in quotes; write Column='value'");
    refused_with("format = Name, Ra, Dec, I='3\n",
                 "1:27: error: header: a default value is not in quotes; write Column='value'");
    refused_with("format = Name, Ra, Dec) I\n",
                 "1:23: error: header: ')' cannot separate columns; a comma can");
    refused_with(HEADER "x,,1,2,3\nformat = Name, Ra, Dec, I\n",
                 "3:10: error: header: it differs from the first one; a file has one header");
    refused("", "error: s.txt: no sources\n");
    refused(HEADER "# none\n", "error: s.txt: no sources\n");
    char text[1200] = "format=Name,Ra,Dec,I";
    for (int k = 0; k < 130; k++) {
        strcat(text, ",xy");
    }
    refused_with(text, "1:394: error: header: more than 128 columns");
}

static const char value_header[] = "format = Name, Type, Ra, Dec, I, RefType, ReferenceFrequency, "
                                   "SpectralIndex, LogarithmicSI, MajorAxis, MinorAxis\n";
static const char *const value_cases[][2] = {
    {",", "1: error: source: neither Name nor Patch; a source has a Name"},
    {"x, POINT, 1, 2, 3z", "17: error: I: '3z' is not a finite number"},
    {"x, POINT, 1, 2, nan", "17: error: I: 'nan' is not a finite number"},
    {"x, POINT, 1, 2, -inf", "17: error: I: '-inf' is not a finite number"},
    {"x, POINT, 1, 2, 1e999", "17: error: I: '1e999' is not a finite number"},
    {"x, POINT, 1, 2", "1: error: I: missing; a flux density in Jy"},
    {"x, POINT, , 2, 3", "1: error: Ra: missing; hh:mm:ss.s, 12h34m56.7s or degrees"},
    {"x, POINT, one, 2, 3",
     "11: error: Ra: 'one' is not an angle; hh:mm:ss.s, 12h34m56.7s or degrees"},
    {"x, POINT, 1, +10:20:30, 3",
     "14: error: Dec: '+10:20:30' is not an angle; +dd.mm.ss.s, 12d34m56.7s or degrees"},
    {"x, POINT, 1, 91, 3", "14: error: Dec: '91' is out of range; at most 90 degrees"},
    {"x, POINT, 25:00:00, 1, 3", "11: error: Ra: '25:00:00' is out of range; at most 360 degrees"},
    {"x, SHAPELET, 1, 2, 3",
     "4: error: Type: 'SHAPELET' is not supported; it can be POINT or GAUSSIAN"},
    {"x, , 1, 2, 3, APP",
     "15: error: RefType: 'APP' is not supported; it can be J2000, B1950 or GALACTIC"},
    {"x, , 8h30m, 2, 3, GALACTIC", "6: error: Ra: '8h30m' is not an angle; in GALACTIC it is l, "
                                   "12d34m56.7s, dd:mm:ss.s or degrees"},
    {"x, , 1, 2, 3, , , [-0.7]",
     "19: error: ReferenceFrequency: a spectrum needs a positive one, in Hz"},
    {"x, , 1, 2, 3, , -1e8, [-0.7]",
     "17: error: ReferenceFrequency: a spectrum needs a positive one, in Hz"},
    {"x, , 1, 2, 3, , 1e8, [-0.7, b]",
     "22: error: SpectralIndex: '[-0.7, b]' is not a list of numbers; [a, b, ...]"},
    {"x, , 1, 2, 3, , 1e8, [1,2,3,4,5,6,7,8,9]",
     "22: error: SpectralIndex: too many terms; at most 8"},
    {"x, , 1, 2, 3, , 1e8, [1], maybe",
     "27: error: LogarithmicSI: 'maybe' is neither true nor false"},
    {"x, GAUSSIAN, 1, 2, 3, , , , , , 5",
     "1: error: MajorAxis: a GAUSSIAN needs one that is not negative, in arcsec"},
    {"x, GAUSSIAN, 1, 2, 3, , , , , 2, -5",
     "34: error: MinorAxis: a GAUSSIAN needs one that is not negative, in arcsec"},
    {"x, , 1, 2, 3, , -1e308",
     "17: error: ReferenceFrequency: a spectrum needs a positive one, in Hz"},
    {"x, , 1, 2, 3, , 1e8, [1, 2", "22: error: source: the bracket is not closed"},
    {"x, , 1, 2, 3, , 1e8, 1], 2", "23: error: source: the bracket is not closed"},
    {"x, , 1, 2, 3, 'J2000", "15: error: source: the quote is not closed"},
    {"x,,1,2,3,,,,,,,more", "16: error: source: more values than columns; the header names 11"},
};

TEST(faults_of_values_are_told)
{
    for (size_t k = 0; k < sizeof value_cases / sizeof *value_cases; k++) {
        refused_with(suite_text("%s%s\n", value_header, value_cases[k][0]),
                     suite_text("2:%s", value_cases[k][1]));
    }
}

TEST(faults_of_polarization_are_told)
{
    static const char *const cases[][2] = {
        {"a,0,0,4,,,,,,,0.1", "15: error: RotationMeasure: missing; PolarizedFraction, "
                              "PolarizationAngle and ReferenceWavelength require one"},
        {"a,0,0,4,1,1,,,,5,0.1,0.2", "16: error: RotationMeasure: both Q, U and PolarizedFraction, "
                                     "PolarizationAngle are given; give one pair"},
        {"a,0,0,4,1,1,,,,5",
         "16: error: ReferenceWavelength: a rotation measure with Q and U needs a positive one in "
         "m, or a ReferenceFrequency"},
        {"a,0,0,4,,,,,,5,0.1", "14: error: RotationMeasure: PolarizedFraction and "
                               "PolarizationAngle require each other, at ReferenceWavelength 0"},
        {"a,0,0,4,,,,,,5,0.1,1,2",
         "14: error: RotationMeasure: PolarizedFraction and PolarizationAngle require each other, "
         "at ReferenceWavelength 0"},
        {"a,0,0,4,1,1,1e-300,,,5",
         "1: error: source: a value overflows; finite in Jy, Hz, m and radians"},
        {"a,0,0,0,1,1,149896229,[1],no,5,,,1",
         "34: error: ReferenceWavelength: the spectrum vanishes there; give another wavelength"},
    };
    for (size_t k = 0; k < sizeof cases / sizeof *cases; k++) {
        refused_with(suite_text(RM_HEADER "%s\n", cases[k][0]), suite_text("2:%s", cases[k][1]));
    }
}

TEST(all_faults_are_told_up_to_twenty)
{
    refused(HEADER "x, POINT, one, 2, 3\n"
                   "y, POINT, 1, 2, 3\n"
                   "z, DISK, 1, two, 3\n",
            "s.txt:2:11: error: Ra: 'one' is not an angle; hh:mm:ss.s, 12h34m56.7s or degrees\n"
            "    x, POINT, one, 2, 3\n"
            "              ^~~\n"
            "s.txt:4:4: error: Type: 'DISK' is not supported; it can be POINT or GAUSSIAN\n"
            "    z, DISK, 1, two, 3\n"
            "       ^~~~\n"
            "s.txt:4:13: error: Dec: 'two' is not an angle; +dd.mm.ss.s, 12d34m56.7s or degrees\n"
            "    z, DISK, 1, two, 3\n"
            "                ^~~\n");
    grove_text text = {0};
    grove_text_add(&text, HEADER);
    for (int k = 0; k < 30; k++) {
        grove_text_add(&text, "x, , 1, 2, bad%d\n", k);
    }
    grove_error *error = grove_error_new();
    ck_assert_ptr_null(grove_sky_parse(text.at, "s.txt", error));
    ck_assert_uint_eq(grove_error_count(error), 21);
    ck_assert_str_eq(grove_error_message(error, 20), "s.txt: 20 faults; the rest was not read");
    grove_error_free(error);
    free(text.at);
}

TEST(files_that_are_missing_are_told)
{
    grove_error *error = grove_error_new();
    ck_assert_ptr_null(grove_sky_read("/nonexistent.skymodel", NULL, error));
    ck_assert_uint_eq(grove_error_count(error), 1);
    ck_assert_ptr_nonnull(strstr(grove_error_message(error, 0), "/nonexistent.skymodel"));
    grove_error_free(error);
}

SUITE(60, NULL, NULL)
