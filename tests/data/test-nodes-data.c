/* observe and sky_model: their members, and messages about wrong options. */
#include "tests/common/testing.h"

#include "base/text.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define PI           3.14159265358979323846
#define SIDEREAL_DAY 86164.0905

TESTING_FIXTURE()

static testing_value value_of(const char *text, const char *member)
{
    testing_tree(&t, suite_text("%sx = 1 * obs.%s\n", text, member));
    return testing_evaluate(&t, "x");
}

#define OBSERVE(...)                                                                               \
    "obs = observe(array=\"vla-d\", phase_centre=\"05h42m36.1s 49d51m07s\", " __VA_ARGS__ ")\n"

/* ---- observe ---- */

TEST(hour_angles_span_the_range)
{
    testing_value x = value_of(OBSERVE("hour_angle=-2h..1h, integration=60s"), "hour_angle");
    double step = 60 / SIDEREAL_DAY * 2 * PI, slots = rint(SIDEREAL_DAY / 8 / 60);

    ck_assert_int_eq(x.cells, (int64_t)slots);
    for (int64_t i = 0; i < x.cells; i++) {
        double wanted = -PI / 24 + step * ((double)i + 0.5 - slots / 2);
        ck_assert_msg(fabs(creal(x.at[i]) - wanted) < step / 2 + 1e-6, "slot %ld", (long)i);
    }
    ck_assert(fabs(creal(x.at[0]) + PI / 6) < step);
}

TEST(hour_angles_on_a_date)
{
    testing_value x =
        value_of(OBSERVE("hour_angle=-10deg..10deg, date=\"2013-05-06\", integration=1h"), "time");

    ck_assert_int_eq(x.cells, 1);
    ck_assert(fabs(creal(x.at[0]) / 86400 - (56418 + 0.5)) < 0.5);
}

TEST(times_from_a_start)
{
    testing_value x =
        value_of(OBSERVE("start=\"2000-01-01T12:00\", duration=35s, integration=10s"), "time");

    ck_assert_int_eq(x.cells, 4);
    for (int i = 0; i < 4; i++)
        ck_assert(fabs(creal(x.at[i]) - (51544.5 * 86400 + 10 * i + 5)) < 1e-5);
}

#define SHORT "start=\"2000-01-01\", duration=30s, integration=10s"

TEST(channels)
{
    testing_value x =
        value_of(OBSERVE(SHORT ", frequency=1GHz, channels=3, channel_width=2MHz"), "freq");

    ck_assert_int_eq(x.cells, 3);
    for (int k = 0; k < 3; k++)
        ck_assert(x.at[k] == 1e9 + 2e6 * k);
    x = value_of(OBSERVE(SHORT ", channels=3, channel_width=2MHz"), "channel_width");
    ck_assert(x.cells == 3 && x.at[0] == 2e6 && x.at[2] == 2e6);
    x = value_of(OBSERVE(SHORT), "interval");
    ck_assert(x.cells == 3 && x.at[0] == 10 && x.at[2] == 10);
    x = value_of(OBSERVE(SHORT), "scan");
    ck_assert(x.cells == 3 && x.at[0] == 1 && x.at[2] == 1);
}

TEST(baselines)
{
    testing_value x = value_of(OBSERVE(SHORT), "baseline");
    ck_assert_int_eq(x.cells, 27 * 26 / 2);
    ck_assert(x.at[0] == 0 && x.at[1] == 1 && x.at[2 * 350] == 25 && x.at[2 * 350 + 1] == 26);
    x = value_of(OBSERVE(SHORT ", autocorrelations=true"), "baseline");
    ck_assert_int_eq(x.cells, 27 * 28 / 2);
    ck_assert(x.at[0] == 0 && x.at[1] == 0);
}

/* u_p - u_q of the stations, as long as the baselines on the ground, turning at the given rates. */
TEST(coordinates)
{
    testing_value uvw = value_of(OBSERVE(SHORT), "uvw");
    testing_value station = value_of(OBSERVE(SHORT), "station_uvw");
    testing_value rate = value_of(OBSERVE(SHORT), "uvw_rate");
    testing_value turning = value_of(OBSERVE(SHORT), "station_rate");
    testing_value position = value_of(OBSERVE(SHORT), "position");
    int64_t pairs = 351, b = 0;

    ck_assert_int_eq(uvw.cells, 3 * pairs);
    ck_assert_int_eq(station.cells, 3 * 27);
    for (int p = 0; p < 27; p++)
        for (int q = p + 1; q < 27; q++, b++) {
            double length = 0, ground = 0;
            for (int k = 0; k < 3; k++) {
                double at[3];
                for (int i = 0; i < 3; i++)
                    at[i] = creal(uvw.at[3 * (i * pairs + b) + k]);
                double difference =
                    creal(station.at[3 * (27 + p) + k] - station.at[3 * (27 + q) + k]);
                ck_assert(at[1] == difference);
                length += at[1] * at[1];
                double xyz = creal(position.at[3 * p + k] - position.at[3 * q + k]);
                ground += xyz * xyz;
                double now = creal(rate.at[3 * (pairs + b) + k]);
                ck_assert(fabs((at[2] - at[0]) / 20 - now) < 1e-6);
                ck_assert(now ==
                          creal(turning.at[3 * (27 + p) + k] - turning.at[3 * (27 + q) + k]));
            }
            ck_assert(fabs(sqrt(length / ground) - 1) < 1e-11);
        }
}

TEST(dishes_and_feeds)
{
    testing_value x = value_of(OBSERVE(SHORT), "diameter");
    ck_assert_int_eq(x.cells, 1);
    ck_assert(x.at[0] == 25);
    x = value_of(OBSERVE(SHORT ", diameter=12m"), "diameter");
    ck_assert(x.at[0] == 12);
    x = value_of(OBSERVE(SHORT ", diameter=12m"), "station_diameter");
    ck_assert(x.cells == 27 && x.at[0] == 12 && x.at[26] == 12);
    x = value_of(OBSERVE(SHORT), "station_index");
    ck_assert(x.cells == 27 && x.at[0] == 0 && x.at[26] == 26);
    x = value_of(OBSERVE(SHORT), "phase_centre");
    ck_assert(fabs(creal(x.at[0]) - (5 * 3600 + 42 * 60 + 36.1) * PI / 43200) < 1e-15);
    ck_assert(fabs(creal(x.at[1]) - (49 * 3600 + 51 * 60 + 7) * PI / 648000) < 1e-15);
    x = value_of(OBSERVE(SHORT), "feed");
    ck_assert(x.at[0] == 0);
    x = value_of(OBSERVE(SHORT ", feed=circular"), "feed");
    ck_assert(x.at[0] == 1);
}

TEST(an_array_from_a_file)
{
    const char *path = testing_file(&t, "two.itrf.txt",
                                    "0 0 6378000 25 north\n"
                                    "0 100 6378000 30 east\n");
    testing_tree(
        &t,
        suite_text("obs = observe(array=\"%s\", phase_centre=\"01h00m00s 80d00m00s\", " SHORT ")\n"
                   "x = 1 * obs.diameter\n",
                   path));
    testing_value x = testing_evaluate(&t, "x");
    ck_assert_int_eq(x.cells, 2);
    ck_assert(x.at[0] == 25 && x.at[1] == 30);
    ck_assert_str_eq(x.axis[0]->labels[1], "east");
}

TEST(wrong_observations_are_told)
{
    static const struct {
        const char *options, *message;
    } cases[] = {
        {"integration=10s", "give the time: either hour_angle=-2h..2h or start="},
        {"hour_angle=-1h..1h, start=\"2000-01-01\"", "give the time"},
        {"start=\"yesterday\", duration=1h", "'yesterday' is not a date"},
        {"start=\"2000-01-01\"", "duration: must be given with start"},
        {"start=\"2000-01-01\", duration=0s", "0 s is not positive"},
        {"hour_angle=-1h..1h, duration=1h", "requires start, not hour_angle"},
        {"hour_angle=-1h..1h, date=\"1800-01-01\"", "not between the years 1900 and 2100"},
        {"hour_angle=-1h..1h, integration=0s", "0 s is not positive"},
        {"hour_angle=-1h..1h, integration=1us", "time slots; at most"},
        {"hour_angle=-1h..1h, channels=0", "0 is not between 1 and"},
        {"hour_angle=-1h..1h, frequency=0Hz", "0 Hz is not positive"},
        {"hour_angle=-1h..1h, channel_width=-1MHz", "is not positive"},
        {"hour_angle=-1h..1h, diameter=0m", "0 m is not a diameter"},
        {"hour_angle=-1h..1h, feed=round", "feed"},
    };

    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        const char *said = testing_faults(&t, suite_text(OBSERVE("%s"), cases[i].options));
        ck_assert_msg(strstr(said, cases[i].message) != NULL, "%s", said);
    }
    const char *said =
        testing_faults(&t, "obs = observe(array=\"vla-e\", phase_centre=\"01h00m00s 02d00m00s\", "
                           "hour_angle=-1h..1h)\n");
    ck_assert_msg(strstr(said, "vla-d") != NULL, "%s", said);
    const char *path = testing_file(&t, "one.itrf.txt", "1 2 6378000\n");
    said = testing_faults(&t, suite_text("obs = observe(array=\"%s\", phase_centre=\"01h00m00s "
                                         "02d00m00s\", hour_angle=-1h..1h)\n",
                                         path));
    ck_assert_msg(strstr(said, "one station has no baselines") != NULL, "%s", said);
    said = testing_faults(&t, "obs = observe(\"vla-c\", hour_angle=-1h..1h)\n");
    ck_assert_msg(strstr(said, "phase_centre: must be given, such as") != NULL, "%s", said);
    said = testing_faults(&t, suite_text("S = sky_model(\"%s\", cutoff=1Jy)\n"
                                         "obs = observe(\"vla-c\", sky=S, hour_angle=-1h..1h)\n",
                                         testing_file(&t, "faint.skymodel",
                                                      "format = Name, Type, Ra, Dec, I\n"
                                                      "a, POINT, 01:00:00, +31.00.00, 0.9\n")));
    ck_assert_msg(strstr(said, "'S' has no sources; give phase_centre") != NULL, "%s", said);
}

/* The brightest source, the first of equal ones, is the phase centre; but not where one is given.
 */
TEST(phase_centre_from_the_sky)
{
    const char *path = testing_file(&t, "four.skymodel",
                                    "format = Name, Type, Ra, Dec, I, Q\n"
                                    "a, POINT, 01:00:00, +31.00.00, -9.0, 0\n"
                                    "b, POINT, 02:00:00, +32.00.00, 2.5, 0\n"
                                    "c, POINT, 03:00:00, +33.00.00, 2.5, 0\n"
                                    "d, POINT, 04:00:00, +34.00.00, 1.0, 8.0\n");
    testing_value x = value_of(suite_text("S = sky_model(\"%s\")\n"
                                          "obs = observe(\"vla-d\", sky=S, hour_angle=-1h..1h)\n",
                                          path),
                               "phase_centre");

    ck_assert(fabs(creal(x.at[0]) - 30 * PI / 180) < 1e-14);
    ck_assert(fabs(creal(x.at[1]) - 32 * PI / 180) < 1e-14);
    ck_assert_str_eq(
        testing_node(&t, "obs")->note,
        "phase centre: 02h00m00.00s +32d00m00.0s, the brightest of the 4 sources of S, b");
    x = value_of(suite_text("S = sky_model(\"%s\")\n" OBSERVE("hour_angle=-1h..1h, sky=S"), path),
                 "phase_centre");
    ck_assert(fabs(creal(x.at[0]) - (5 + 42 / 60. + 36.1 / 3600) * PI / 12) < 1e-14);
    ck_assert_ptr_null(testing_node(&t, "obs")->note);
}

/* ---- sky_model ---- */

static void sky_tree(const char *content, const char *member)
{
    const char *path = testing_file(&t, "my.skymodel", content);
    testing_tree(&t, suite_text("S = sky_model(\"%s\")\nx = 1 * S.%s\n", path, member));
}

static const char three[] =
    "format = Name, Type, Ra, Dec, I, Q, U, V, ReferenceFrequency='150e6', SpectralIndex='[]', "
    "LogarithmicSI, MajorAxis, MinorAxis, Orientation, RotationMeasure, OrientationIsAbsolute\n"
    "a, POINT, 01:00:00, +10.00.00, 1, 0.1, 0.2, 0.3, , [-0.7, 0.1], true, , , , 12\n"
    "b, GAUSSIAN, 02:00:00, -10.00.00, 2, 0, 0, 0, , [0.5], false, 36, 18, 90, , true\n"
    "c, POINT, 03:00:00, +20.00.00, 3\n";

TEST(sources_are_published)
{
    static const struct {
        const char *member;
        int source, element;
        double is;
    } facts[] = {
        {"radec", 1, 0, PI / 6},
        {"radec", 1, 1, -PI / 18},
        {"stokes", 0, 0, 1},
        {"stokes", 0, 3, 0.3},
        {"stokes", 2, 0, 3},
        {"reference_frequency", 0, 0, 150e6},
        {"reference_frequency", 2, 0, 0},
        {"spectrum", 0, 0, -0.7},
        {"spectrum", 0, 1, 0.1},
        {"spectrum", 1, 0, 0.5},
        {"spectrum", 1, 1, 0},
        {"logarithmic", 0, 0, 1},
        {"logarithmic", 1, 0, 0},
        {"shape", 0, 0, 0},
        {"shape", 1, 0, 36 * PI / 648000},
        {"shape", 1, 1, 18 * PI / 648000},
        {"shape", 1, 2, PI / 2},
        {"rotation_measure", 0, 0, 12},
        {"rotation_measure", 1, 0, 0},
        {"rotation_reference", 0, 0, 299792458.0 / 150e6 * 299792458.0 / 150e6},
        {"absolute_angle", 0, 0, 0},
        {"absolute_angle", 1, 0, 1},
    };

    for (size_t i = 0; i < sizeof(facts) / sizeof(facts[0]); i++) {
        sky_tree(three, facts[i].member);
        testing_value x = testing_evaluate(&t, "x");
        double got = creal(x.at[facts[i].source * x.elements + facts[i].element]);
        ck_assert_int_eq(x.cells, 3);
        ck_assert_msg(fabs(got - facts[i].is) <= 1e-10 * fabs(facts[i].is), "%s: %.15g",
                      facts[i].member, got);
        ck_assert_str_eq(x.axis[0]->labels[1], "b");
    }
}

/* A source as Tigger saves it. */
#define TAGGED(name, more)                                                                         \
    "<TR mdltype=Source><TD mdltype=str mdlval=\"'" name "'\"></TD>"                               \
    "<TD mdltype=Position><A mdltype=float mdlval=\"1\"></A><A mdltype=float "                     \
    "mdlval=\"0.5\"></A></TD><TD mdltype=Flux><A mdltype=float mdlval=\"1\"></A></TD>" more        \
    "</TR>\n"
#define TAG(name, value) "<TD mdltype=str mdlattr=\"" name "\" mdlval=\"" value "\"></TD>"

/* Patches by a tag: clusters of those that have it, or its values; and sources by their names. */
TEST(tags_and_choices)
{
    static const char sky[] = "<HTML><BODY mdltype=SkyModel><TABLE>\n" TAGGED(
        "a", TAG("dE", "True") TAG("cluster", "'C'"))
        TAGGED("b", TAG("cluster", "'C'") TAG("dE", "True")) TAGGED("c", TAG("dE", "True"))
            TAGGED("d", TAG("cluster", "'C'")) TAGGED("e", TAG("dE", "False"))
                TAGGED("f", TAG("dE", "'north'")) TAGGED("g", TAG("dE", "'north'"))
                    TAGGED("others", "") "</TABLE></BODY></HTML>\n";
    static const struct {
        const char *options, *member;
        double is[8];
    } facts[] = {
        {", tag=\"dE\"", "patch", {0, 0, 1, 2, 2, 3, 3, 2}},
        {", tag=\"dE\"", "patch(\"C\")", {1, 1, 0, 0, 0, 0, 0, 0}},
        {", tag=\"dE\"", "patch(\"others\")", {0, 0, 0, 1, 1, 0, 0, 1}},
        {"", "patch(\"C\")", {1, 1, 0, 1, 0, 0, 0, 0}},
        {", choose=\"C\"", "chosen", {1, 1, 0, 1, 0, 0, 0, 0}},
        {", tag=\"dE\", choose=\"C\"", "chosen", {1, 1, 0, 0, 0, 0, 0, 0}},
        {", tag=\"dE\", choose=\"north, c\"", "chosen", {0, 0, 1, 0, 0, 1, 1, 0}},
        {", tag=\"dE\", choose=\"others\"", "chosen", {0, 0, 0, 1, 1, 0, 0, 1}}, /* the patch */
        {", choose=\"others,g\"", "chosen", {0, 0, 0, 0, 0, 0, 1, 1}},
    };
    const char *path = testing_file(&t, "sky.lsm.html", sky);

    for (size_t i = 0; i < sizeof(facts) / sizeof(facts[0]); i++) {
        char *text = suite_text("S = sky_model(\"%s\"%s)\nx = 1 * S.%s\n", path, facts[i].options,
                                facts[i].member);
        testing_tree(&t, text);
        testing_value x = testing_evaluate(&t, "x");
        ck_assert_int_eq(x.cells, 8);
        for (int s = 0; s < 8; s++)
            ck_assert_msg(x.at[s] == facts[i].is[s], "%s of source %d: %g", text, s,
                          creal(x.at[s]));
    }
    const char *said = testing_faults(
        &t, suite_text("S = sky_model(\"%s\", tag=\"dF\")\nx = 1 * S.patch\n", path));
    ck_assert_msg(strstr(said, "no source has the tag 'dF'") != NULL, "%s", said);
    said = testing_faults(
        &t, suite_text("S = sky_model(\"%s\", choose=\"C, h\")\nx = 1 * S.chosen\n", path));
    ck_assert_msg(strstr(said, "there is no patch or source 'h'; it has C, c, ") != NULL, "%s",
                  said);
}

/* Numbers count patches as they occur; a source of none is one by itself, whatever its name. */
TEST(patches)
{
    static const char sky[] = "format = Name, Type, Patch, Ra, Dec, I\n"
                              " , , west, 0, 0\n"
                              "a, POINT, west, 01:00:00, +10.00.00, 1\n"
                              "b, POINT, , 02:00:00, +10.00.00, 1\n"
                              "c, POINT, east, 03:00:00, +10.00.00, 1\n"
                              "d, POINT, west, 04:00:00, +10.00.00, 1\n"
                              "east, POINT, , 05:00:00, +10.00.00, 1\n"
                              "west, POINT, , 06:00:00, +10.00.00, 1\n"
                              "b, POINT, , 07:00:00, +10.00.00, 1\n"
                              "f, POINT, b, 08:00:00, +10.00.00, 1\n";
    static const char *const labels[] = {"west", "b", "east", "east", "west", "b", "b"};
    static const struct {
        const char *member;
        double is[8];
    } facts[] = {
        {"patch", {0, 1, 2, 0, 3, 4, 5, 6}},
        {"patch(\"west\")", {1, 0, 0, 1, 0, 0, 0, 0}},
        {"patch(\"east\")", {0, 0, 1, 0, 0, 0, 0, 0}},
        {"patch(\"b\")", {0, 0, 0, 0, 0, 0, 0, 1}},
    };

    for (size_t i = 0; i < sizeof(facts) / sizeof(facts[0]); i++) {
        sky_tree(sky, facts[i].member);
        testing_value x = testing_evaluate(&t, "x");
        ck_assert_int_eq(x.cells, 8);
        for (int s = 0; s < 8; s++)
            ck_assert_msg(x.at[s] == facts[i].is[s], "%s of source %d", facts[i].member, s);
    }
    const grove_axis *axis = grove_node_axis(testing_node(&t, "S"), "patch");
    ck_assert_int_eq(axis->size, 7);
    for (int i = 0; i < 7; i++)
        ck_assert_str_eq(axis->labels[i], labels[i]);
    sky_tree(three, "stokes");
    ck_assert_ptr_null(grove_node_axis(testing_node(&t, "S"), "patch"));
}

TEST(wrong_skies_are_told)
{
    const char *path = testing_file(&t, "bad.skymodel",
                                    "format = Name, Type, Ra, Dec, I\n"
                                    "a, POINT, 01:00:00, +10.00.00, one\n");
    const char *said = testing_faults(&t, suite_text("S = sky_model(\"%s\")\n", path));

    ck_assert_msg(strstr(said, "bad.skymodel:2:") != NULL, "%s", said);
    ck_assert_msg(strstr(said, "t.tree:1:") != NULL, "%s", said);
    said = testing_faults(&t, "S = sky_model(\"/nowhere/at.all\")\n");
    ck_assert_msg(strstr(said, "/nowhere/at.all") != NULL, "%s", said);
}

/* ---- what is hardly ever meant ---- */

/* That the tree is accepted, with a warning that has this text; without one for NULL. */
static void warned(const char *text, const char *message)
{
    testing_tree(&t, text);
    char *said = suite_messages(t.error);
    ck_assert_msg(message ? strstr(said, message) != NULL : !grove_error_warnings(t.error),
                  "%s: %s", text, said);
}

/* An observation of a direction, with one source 1 degree from its own, by a correct array. */
static void sees(const char *centre, const char *more, const char *message)
{
    const char *sky = testing_file(&t, "a.skymodel",
                                   "format = Name, Type, Ra, Dec, I\n"
                                   "a, POINT, 01:00:00, +31.00.00, 1.0\n"
                                   "b, POINT, 13:00:00, -31.00.00, 1.0\n");
    warned(suite_text("obs = observe(array=\"vla-c\", phase_centre=\"%s\", %s)\n"
                      "S = sky_model(\"%s\")\nl = lmn(S, obs)\nw = compare(l, l)\n",
                      centre, more, sky),
           message);
}

TEST(what_is_hardly_meant)
{
    const char *when = "hour_angle=-1h..1h";

    sees("01h0m0s 30d0m0s", when, "lmn: 1 of 2 sources are more than 90 degrees from the phase");
    sees("01h0m0s -48d0m0s", when,
         "lmn: the nearest of 2 sources is 79.0 degrees from the phase centre; is that");
    /* at latitude 34.08 what lies south of -55.9 never rises */
    sees("01h0m0s -58d0m0s", when,
         "observe: the phase centre is below the horizon all the time; it comes up to -2.");
    sees("01h0m0s 30d0m0s", "start=\"2020-01-01\", duration=5s",
         "observe: the integration of 10 s is longer than the observation of 5 s");
    warned("obs = observe(array=\"vla-c\", phase_centre=\"01h0m0s 30d0m0s\", "
           "hour_angle=-1h..1h)\nw = compare(obs.time, obs.time)\n",
           NULL);
    warned("obs = observe(array=\"vla-c\", phase_centre=\"01h0m0s 30d0m0s\", "
           "hour_angle=-1h..1h, feed=circular)\nP = rotation(obs.parallactic)\n",
           "rotation: it turns linear feeds, but the feeds of 'obs' are circular");
    warned(suite_text("obs = observe(array=\"%s\", phase_centre=\"0h0m0s 60d0m0s\", "
                      "hour_angle=-1h..1h)\n",
                      testing_file(&t, "enu.txt", "1 2 3\n100 200 0\n")),
           "observe: station S000 is 0.00374166 km from the centre of the Earth");
    warned(suite_text("S = sky_model(\"%s\", cutoff=2Jy)\n",
                      testing_file(&t, "a.skymodel",
                                   "format = Name, Type, Ra, Dec, I\n"
                                   "a, POINT, 01:00:00, +31.00.00, 1.0\n")),
           "sky_model: the cutoff of 2 Jy leaves none of the 1 sources");
}

SUITE(60, setup, teardown)
