/* Sky models that Tigger saves: a real file, faults. */
#include "sky.h"

#define START     "<HTML><BODY mdltype=SkyModel>\n"
#define END_MODEL "</BODY></HTML>\n"
#define NUMBER(x) "<A mdltype=float mdlval=\"" x "\"><A>" x "</A> </A>"
#define POS       "<TD mdltype=Position >" NUMBER("1.5") NUMBER("-0.5") "</TD>"
#define NAMED     "<TR mdltype=Source ><TD mdltype=str mdlval=\"'A'\"></TD>"

static const char two_sources[] =

    "<!-- <TR mdltype=Source> -->\n" START "<TABLE><BR>\n"
    "<tr MDLTYPE='Source'><td mdltype=str mdlval=\"'A&amp;\\'1'\"><A>name</A></td>"
    "<TD mdltype=Position>" NUMBER("-0.5") NUMBER(
        "0.25") "</TD>"
                "<TD mdltype=PolarizationWithRM>" NUMBER("2") NUMBER("-0.1") NUMBER("0.2")
                    NUMBER("1e-3") NUMBER("12.5") NUMBER(
                        "1.4e9") "</TD>"
                                 "<TD mdltype=SpectralIndex mdlattr=\"spectrum\"><A "
                                 "mdltype=tuple>" NUMBER("-0.7") NUMBER("0.3")
                                     NUMBER("0.05") "</A>" NUMBER(
                                         "1.5e9") "<A mdltype=float "
                                                  "mdlattr=spi_err mdlval=\"0.1\"></A></TD>"
                                                  "<TD mdltype=Gaussian "
                                                  "mdlattr=\"shape\">" NUMBER("1e-5") NUMBER("2e-5")
                                                      NUMBER(
                                                          "1.25") "</TD><TD mdltype=str "
                                                                  "mdlattr=cluster "
                                                                  "mdlval=\"'C1'\"></TD>"
                                                                  "<TD mdltype=Position "
                                                                  "mdlattr=other>" NUMBER("9") NUMBER(
                                                                      "9") "</TD></"
                                                                           "tr>\n" NAMED POS "<TD "
                                                                           "mdltype=Flux "
                                                                           "mdlattr=flux><"
                                                                           "A mdltype=int "
                                                                           "mdlval=\" 3 \" "
                                                                           "mdlattr=\"I\"/"
                                                                           "></TD>"
                                                                           "<TD "
                                                                           "mdltype="
                                                                           "SpectralIndex "
                                                                           "mdlattr="
                                                                           "spectrum"
                                                                           ">" NUMBER("-1") NUMBER(
                                                                               "1e9") "</"
                                                                                      "TD><"
                                                                                      "/TR>"
                                                                                      "</"
                                                                                      "TABL"
                                                                                      "E"
                                                                                      ">" END_MODEL;

TEST(tigger_models_have_all_parts)
{
    grove_sky *sky = parsed(two_sources);
    ck_assert_int_eq(sky->count, 2);
    const grove_source *a = &sky->sources[0], *b = a + 1;
    ck_assert_str_eq(a->name, "A&'1");
    ck_assert_str_eq(a->patch, "C1");
    near(a->ra, 2 * M_PI - 0.5);
    near(a->dec, 0.25);
    near(a->stokes[0], 2);
    near(a->stokes[1], -0.1);
    near(a->stokes[2], 0.2);
    near(a->stokes[3], 1e-3);
    near(a->rotation_measure, 12.5);
    near(a->rotation_reference, pow(LIGHT_SPEED / 1.4e9, 2));
    near(a->reference_frequency, 1.5e9);
    ck_assert(a->logarithmic);
    ck_assert_int_eq(a->terms, 3);
    /* The same spectrum in natural logarithms. */
    for (double nu = 1e9; nu < 3e9; nu += 0.3e9) {
        double ln = log(nu / 1.5e9), lg = log10(nu / 1.5e9), sum = 0;
        for (int k = 0; k < 3; k++) {
            sum += a->spectrum[k] * pow(lg, k + 1);
        }
        double expected = exp(ln * (-0.7 + 0.3 * ln + 0.05 * ln * ln));
        ck_assert_double_lt(fabs(pow(10, sum) / expected - 1), 1e-14);
    }
    near(a->major, 1e-5);
    near(a->minor, 2e-5);
    near(a->position_angle, 1.25);
    ck_assert(!a->absolute_angle);
    ck_assert_str_eq(b->name, "A");
    ck_assert_str_eq(b->patch, "");
    near(b->stokes[0], 3);
    near(b->dec, -0.5);
    ck_assert_int_eq(b->terms, 1);
    near(b->spectrum[0], -1);
    ck_assert(b->rotation_measure == 0 && b->major == 0);
    grove_sky_free(sky);
}

/* The sums over all sources were taken with a script that searches for "ra:", "I:" and so on. */
TEST(a_real_tigger_model_is_read)
{
    char *path = data_file("3C147-dE-apparent.lsm.html");
    if (!path) {
        return;
    }
    grove_sky *sky = grove_sky_read(path, NULL, NULL);
    ck_assert_ptr_nonnull(sky);
    ck_assert_int_eq(sky->count, 60);
    double sums[9] = {0};
    static const double expected[9] = {
        23.21069534442141,     -1.0108394053025294e-05, 0.0006157707114067294,
        0.005041882288956373,  89.3260337821016,        52.120102765207264,
        0.0010853679019377136, 0.00027211428367843594,  43.185714533040446};
    int gaussians = 0, spectra = 0;
    for (int k = 0; k < 60; k++) {
        const grove_source *s = &sky->sources[k];
        const double values[9] = {s->stokes[0], s->stokes[1], s->stokes[2], s->stokes[3],     s->ra,
                                  s->dec,       s->major,     s->minor,     s->position_angle};
        for (int i = 0; i < 9; i++) {
            sums[i] += values[i];
        }
        gaussians += s->major > 0;
        spectra += s->terms;
    }
    for (int i = 0; i < 9; i++) {
        ck_assert_double_lt(fabs(sums[i] - expected[i]), 1e-13 * fabs(expected[i]));
    }
    ck_assert_int_eq(gaussians, 30);
    ck_assert_int_eq(spectra, 6);
    ck_assert_str_eq(sky->sources[0].name, "A0");
    ck_assert_str_eq(sky->sources[0].patch, "A0");
    near(sky->sources[0].spectrum[0], -0.7099262475967407);
    near(sky->sources[0].reference_frequency, 1385e6);
    grove_sky_free(sky);
    free(path);
}

TEST(faults_of_tigger_models_are_told)
{
    static const char *const cases[][2] = {
        {START, "1:7: error: sky model: the end tag of this is missing; the file is cut off"},
        {"<HTML></HTML>",
         "1:1: error: sky model: no element has mdltype=SkyModel; HTML as Tigger saves it"},
        {START "<TR mdltype=Source \n mdl=\"x>",
         "2:1: error: sky model: the file ends inside a tag"},
        {START NAMED POS "</TR>" END_MODEL, "2:1: error: Source: its flux is missing"},
        {START NAMED "<TD mdltype=Flux mdlattr=flux>" NUMBER("1") "</TD></TR>" END_MODEL,
         "2:1: error: Source: its position is missing"},
        {START "<TR mdltype=Source>" POS "</TR>" END_MODEL,
         "2:1: error: Source: its name is missing"},
        {START NAMED "<TD mdltype=Position>" NUMBER("1") "</TD><TD mdltype=Flux>" NUMBER(
             "1") "</TD></TR>" END_MODEL,
         "2:55: error: Position: dec is missing"},
        {START NAMED "<TD mdltype=Position>" NUMBER("1")
             NUMBER("2") "</TD><TD mdltype=Flux>" NUMBER("1") "</TD></TR>" END_MODEL,
         "2:55: error: Position: out of range; right ascension and declination in radians"},
        {START NAMED POS "<TD mdltype=Flux><A mdltype=float mdlval=nan></A></TD></TR>" END_MODEL,
         "2:215: error: Flux: I 'nan' is not a finite number"},
        {START NAMED POS "<TD mdltype=Flux>" NUMBER("1") "</TD><TD mdltype=FITSImage "
                                                         "mdlattr=shape></TD></TR>" END_MODEL,
         "2:237: error: Source: shape 'FITSImage' is not supported"},
        {START NAMED POS "<TD mdltype=Flux>" NUMBER("1") "</TD><TD mdltype=SpectralIndex "
                                                         "mdlattr=spectrum>" NUMBER("1")
                                                             NUMBER("0") "</TD></TR>" END_MODEL,
         "2:237: error: SpectralIndex: freq0 is not positive; a frequency in Hz"},
        {START NAMED POS "<TD mdltype=Flux>" NUMBER(
             "1") "</TD><TD mdltype=SpectralIndex "
                  "mdlattr=spectrum><A mdltype=list></A>" NUMBER("1e9") "</TD></TR>" END_MODEL,
         "2:280: error: SpectralIndex: spi is not a list of 1 to 8 numbers"},
        {START NAMED POS "<TD mdltype=PolarizationWithRM>" NUMBER("1") NUMBER("1") NUMBER("1")
             NUMBER("1") NUMBER("1") NUMBER("0") "</TD></TR>" END_MODEL,
         "2:174: error: PolarizationWithRM: freq0 is not positive; a frequency in Hz"},
        {START NAMED POS
         "<TD mdltype=Flux>" NUMBER("1") "</TD><TD mdltype=Gaussian mdlattr=shape>" NUMBER("-1")
             NUMBER("1") NUMBER("1") "</TD></TR>" END_MODEL,
         "2:237: error: Gaussian: ex or ey is negative; FWHM in radians"},
    };
    for (size_t k = 0; k < sizeof cases / sizeof *cases; k++) {
        refused_with(cases[k][0], cases[k][1]);
    }
    grove_text text = {0};
    grove_text_add(&text, START);
    for (int k = 0; k < 300; k++) {
        grove_text_add(&text, "<b>");
    }
    char *message = refusal(text.at);
    ck_assert_ptr_nonnull(strstr(message, "s.txt:2:763: error: sky model: elements are nested more "
                                          "than 256 deep\n"));
    free(message);
    free(text.at);
}

SUITE(60, NULL, NULL)
