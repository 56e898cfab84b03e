/* observe: a simulated observation, in which an array of stations follows a phase centre. */
#include "plugin.h"

#include "facts.h"
#include "nodes/common/coordinates.h"
#include "nodes/common/layout.h"
#include "nodes/common/observation.h"
#include "nodes/common/report.h"
#include "util.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define SIDEREAL_DAY 86164.0905
#define DAY          86400.0

enum { MAX_TIMES = 100000000, MAX_CHANNELS = 10000000 };

static const grove_port inputs[] = {
    {"sky", GROVE_OBJECT,
     "sky whose brightest source is the phase centre, unless phase_centre is given",
     .object = "sky", .optional = true},
    {0},
};

static const grove_port options[] = {
    {"array", GROVE_FILE,
     "name of an array that Grove knows (vla-a, vla-b, vla-c, vla-d, meerkat, kat-7, wsrt), or a "
     "text file of ITRF positions"},
    {"phase_centre", GROVE_DIRECTION,
     "right ascension and declination, J2000, or in the frame named before them, B1950 or "
     "GALACTIC; none: the position of the brightest source of sky",
     .initial = "none"},
    {"hour_angle", GROVE_ANGLE_RANGE,
     "range of hour angles of the phase centre, such as -2h..2h; or give start and duration",
     .initial = "none"},
    {"date", GROVE_TEXT,
     "with hour_angle: UTC day on which the range is centred, such as 2026-11-21",
     .initial = "\"2000-01-01\""},
    {"start", GROVE_TEXT,
     "UTC date and time at which the first time slot begins, such as 2026-11-21T05:10:00; with "
     "duration, instead of hour_angle",
     .initial = "none"},
    {"duration", GROVE_TIME, "with start: length of the observation, s", .initial = "none"},
    {"integration", GROVE_TIME, "length of a time slot, s", .initial = "10s"},
    {"frequency", GROVE_FREQUENCY, "centre of the first channel, Hz", .initial = "1.4GHz"},
    {"channels", GROVE_INTEGER, "number of channels", .initial = "1"},
    {"channel_width", GROVE_FREQUENCY, "width and distance of the channels, Hz", .initial = "1MHz"},
    {"feed", GROVE_CHOICE, "linear (XX XY YX YY) or circular (RR RL LR LL) receptors",
     .initial = "linear", .choices = "linear circular"},
    {"autocorrelations", GROVE_BOOL, "include baselines of a station with itself",
     .initial = "false"},
    {"diameter", GROVE_LENGTH, "effective diameter of all dishes, m; none: the array's",
     .initial = "none"},
    {"ut1_utc", GROVE_TIME, "UT1 - UTC, s", .initial = "0s"},
    {"polar_x", GROVE_ANGLE, "polar motion towards Greenwich, rad", .initial = "0rad"},
    {"polar_y", GROVE_ANGLE, "polar motion towards 90 degrees west, rad", .initial = "0rad"},
    {0},
};

/* The brightest source, and not the mean of all: it is where an observer points at a field, and it
 * is a place of the sky also where the sources are spread over all of it. */
static int take_centre(grove_node *node, const grove_node *sky, double centre[2])
{
    const double *radec = grove_node_member_data(sky, "radec");
    const double *stokes = grove_node_member_data(sky, "stokes");
    const grove_axis *source = grove_node_axis(sky, "source");
    int64_t brightest = 0;
    char ra[32], dec[32];

    if (!radec || !stokes || !source || !source->size)
        return grove_node_fail_option(
            node, "sky", "'%s' has no %s; give phase_centre", grove_node_name(sky),
            radec && stokes && source ? "sources" : "constant directions");
    for (int64_t s = 1; s < source->size; s++)
        if (stokes[4 * s] > stokes[4 * brightest])
            brightest = s;
    memcpy(centre, radec + 2 * brightest, 2 * sizeof(*centre));
    grove_node_note(node, "phase centre: %s %s, the brightest of the %lld sources of %s%s%s",
                    grove_show_ra(ra, centre[0]), grove_show_dec(dec, centre[1]),
                    (long long)source->size, grove_node_name(sky), source->labels ? ", " : "",
                    source->labels ? source->labels[brightest] : "");
    return 0;
}

static int find_centre(grove_node *node, double centre[2])
{
    const grove_node *sky = grove_node_object(node, "sky");

    if (grove_node_given(node, "phase_centre")) {
        grove_node_direction(node, "phase_centre", centre);
        return 0;
    }
    return sky ? take_centre(node, sky, centre)
               : grove_node_fail_option(node, "phase_centre",
                                        "must be given, such as \"05h42m36.1s 49d51m07s\", or "
                                        "sky=... whose brightest source it is");
}

static int take_layout(grove_node *node, grove_observation *o, const grove_layout *layout)
{
    size_t n = (size_t)layout->count;
    bool given = grove_node_given(node, "diameter");
    double diameter = given ? grove_node_number(node, "diameter") : 0;

    if (given && !(diameter > 0))
        return grove_node_fail_option(node, "diameter", "%g m is not a diameter", diameter);
    o->stations = layout->count;
    o->names = grove_alloc((n + 1) * sizeof(char *));
    o->position = grove_alloc((3 * n + 1) * sizeof(double));
    o->diameter = grove_alloc((n + 1) * sizeof(double));
    for (size_t i = 0; i < n; i++) {
        const grove_station *station = &layout->stations[i];
        o->names[i] = grove_strdup(station->name ? station->name : "");
        memcpy(o->position + 3 * i, station->position, sizeof(station->position));
        o->diameter[i] = given ? diameter : station->diameter;
        for (int k = 0; k < 3; k++)
            o->reference[k] += station->position[k] / (double)n;
    }
    return grove_node_set_observation(
        node, &GROVE_OBSERVATION_FACTS(.telescope = layout->name ? layout->name : ""));
}

/* A user's array file is part of the leaf's identity; an array that Grove ships is identified by
 * its name. */
static int read_array(grove_node *node, grove_observation *o)
{
    const char *array = grove_node_text(node, "array");
    grove_error *error = grove_error_new();
    grove_layout *layout = grove_layout_read(array, grove_node_data_folders(node), error);
    int code;

    if (layout) {
        code = take_layout(node, o, layout);
        grove_node_add_identity(node, array);
    } else {
        code = report_errors(node, "array", error);
    }
    grove_layout_free(layout);
    grove_error_free(error);
    return code;
}

static int make_baselines(grove_node *node, grove_observation *o)
{
    bool own = grove_node_bool(node, "autocorrelations");
    int64_t n = o->stations;

    o->baselines = own ? n * (n + 1) / 2 : n * (n - 1) / 2;
    o->left = grove_try_alloc((size_t)o->baselines + 1, sizeof(int32_t));
    o->right = grove_try_alloc((size_t)o->baselines + 1, sizeof(int32_t));
    if (!o->left || !o->right)
        return grove_node_fail(node, GROVE_NO_MEMORY, "no memory for %lld baselines",
                               (long long)o->baselines);
    for (int64_t p = 0, b = 0; p < n; p++)
        for (int64_t q = own ? p : p + 1; q < n; q++, b++) {
            o->left[b] = (int32_t)p;
            o->right[b] = (int32_t)q;
        }
    if (!o->baselines)
        return grove_node_fail_option(node, "array",
                                      "one station has no baselines; give "
                                      "autocorrelations=true or more stations");
    return 0;
}

/* Start of the first time slot, and total length, s. */
static int find_span(grove_node *node, const grove_observation *o, double *start, double *length)
{
    bool angles = grove_node_given(node, "hour_angle"), dates = grove_node_given(node, "start");
    double range[2], day;

    if (angles == dates)
        return grove_node_fail(node, GROVE_INVALID,
                               "give the time: either hour_angle=-2h..2h or "
                               "start=\"2026-11-21T05:10\" and duration=4h");
    if (dates) {
        if (grove_parse_date(grove_node_text(node, "start"), start))
            return grove_node_fail_option(node, "start",
                                          "'%s' is not a date such as 2026-11-21T05:10:00",
                                          grove_node_text(node, "start"));
        if (!grove_node_given(node, "duration"))
            return grove_node_fail_option(node, "duration", "must be given with start");
        *length = grove_node_number(node, "duration");
        return *length > 0
                   ? 0
                   : grove_node_fail_option(node, "duration", "%g s is not positive", *length);
    }
    if (grove_node_given(node, "duration"))
        return grove_node_fail_option(node, "duration", "requires start, not hour_angle");
    if (grove_parse_date(grove_node_text(node, "date"), &day))
        return grove_node_fail_option(node, "date", "'%s' is not a date such as 2026-11-21",
                                      grove_node_text(node, "date"));
    grove_node_range(node, "hour_angle", range);
    *length = (range[1] - range[0]) / (2 * GROVE_PI) * SIDEREAL_DAY;
    /* the range is centred on that day */
    *start = grove_time_of_hour_angle((range[0] + range[1]) / 2, o->phase_centre, o->reference,
                                      day + DAY / 2, &o->earth) -
             *length / 2;
    if (!isfinite(*start))
        return grove_node_fail_option(node, "date", "is not between the years 1900 and 2100");
    return 0;
}

static int make_times(grove_node *node, grove_observation *o)
{
    double step = grove_node_number(node, "integration"), start = 0, length = 0, slots;
    int code = find_span(node, o, &start, &length);

    if (code)
        return code;
    if (!(step > 0))
        return grove_node_fail_option(node, "integration", "%g s is not positive", step);
    if (step > length * (1 + 1e-9))
        grove_node_warn(node,
                        "the integration of %g s is longer than the observation of %g s; there is "
                        "one time slot of %g s",
                        step, length, step);
    slots = rint(length / step) > 1 ? rint(length / step) : 1;
    if (slots > MAX_TIMES)
        return grove_node_fail_option(node, "integration", "makes %.3g time slots; at most %d",
                                      slots, MAX_TIMES);
    o->times = (int64_t)slots;
    o->time = grove_try_alloc((size_t)o->times, sizeof(double));
    o->interval = grove_try_alloc((size_t)o->times, sizeof(double));
    o->scan = grove_try_alloc((size_t)o->times, sizeof(double));
    if (!o->time || !o->interval || !o->scan)
        return grove_node_fail(node, GROVE_NO_MEMORY, "no memory for %.3g time slots", slots);
    for (int64_t i = 0; i < o->times; i++) {
        o->time[i] = start + ((double)i + 0.5) * step;
        o->interval[i] = step;
        o->scan[i] = 1;
    }
    return 0;
}

enum { ELEVATIONS = 256 };

static void check_elevation(const grove_node *node, const grove_observation *o)
{
    int64_t step = o->times / ELEVATIONS + 1;
    double highest = -GROVE_PI;

    for (int64_t i = 0; i < o->times; i += step) {
        double elevation;
        grove_horizon(o->time[i], o->phase_centre, o->reference, &o->earth, NULL, NULL, NULL,
                      &elevation, NULL);
        highest = fmax(highest, elevation);
    }
    if (highest < 0)
        grove_node_warn(node,
                        "the phase centre is below the horizon all the time; it comes up to %.1f "
                        "degrees",
                        highest * 180 / GROVE_PI);
}

/* East, north and up taken for ITRF show at once: they are not at the Earth's surface. */
static void check_positions(const grove_node *node, const grove_observation *o)
{
    for (int64_t i = 0; i < o->stations; i++) {
        const double *p = o->position + 3 * i;
        double radius = sqrt(p[0] * p[0] + p[1] * p[1] + p[2] * p[2]);
        if (radius > 6.3e6 && radius < 6.45e6)
            continue;
        grove_node_warn(node,
                        "station %s is %.6g km from the centre of the Earth, whose surface is 6371 "
                        "km away; positions are geocentric (ITRF), not east, north and up",
                        o->names[i], radius / 1e3);
        return;
    }
}

static int make_channels(grove_node *node, grove_observation *o)
{
    double first = grove_node_number(node, "frequency");
    double width = grove_node_number(node, "channel_width");
    int64_t count = grove_node_integer(node, "channels");

    if (count < 1 || count > MAX_CHANNELS)
        return grove_node_fail_option(node, "channels", "%lld is not between 1 and %d",
                                      (long long)count, MAX_CHANNELS);
    if (!(first > 0))
        return grove_node_fail_option(node, "frequency", "%g Hz is not positive", first);
    if (!(width > 0))
        return grove_node_fail_option(node, "channel_width", "%g Hz is not positive", width);
    if (!(first > width / 2))
        return grove_node_fail_option(
            node, "channel_width",
            "channels of %g Hz are too wide for one at %g Hz, which would "
            "begin below 0",
            width, first);
    o->channels = count;
    o->freq = grove_try_alloc((size_t)count, sizeof(double));
    o->channel_width = grove_try_alloc((size_t)count, sizeof(double));
    if (!o->freq || !o->channel_width)
        return grove_node_fail(node, GROVE_NO_MEMORY, "no memory for %lld channels",
                               (long long)count);
    for (int64_t i = 0; i < count; i++) {
        o->freq[i] = first + width * (double)i;
        o->channel_width[i] = width;
    }
    return 0;
}

static int open_observation(grove_node *node)
{
    grove_observation *o = grove_alloc(sizeof(*o));
    int code;

    grove_node_set_user(node, o);
    o->circular = grove_node_choice(node, "feed") == 1;
    o->earth.ut1_utc = grove_node_number(node, "ut1_utc");
    o->earth.polar_x = grove_node_number(node, "polar_x");
    o->earth.polar_y = grove_node_number(node, "polar_y");
    code = find_centre(node, o->phase_centre);
    if (!code)
        code = read_array(node, o);
    if (!code)
        code = make_baselines(node, o);
    if (!code)
        code = make_times(node, o);
    if (!code)
        code = make_channels(node, o);
    if (!code) {
        check_positions(node, o);
        check_elevation(node, o);
    }
    return code ? code : grove_observation_publish(node, o);
}

static int read_member(const grove_call *call, const char *member, grove_array *out)
{
    const grove_node *node = call->node;
    return grove_observation_read(node, grove_node_user(node), member, out);
}

static void close_observation(grove_node *node)
{
    grove_observation_free(grove_node_user(node));
    grove_node_set_user(node, NULL);
}

GROVE_CLASS(observe) = {
    GROVE_CLASS_HEAD(observe),
    .doc = "An observation to be simulated: an array of stations follows a phase centre.\n"
           "Time slots fill the range of hour angles (or the time from start), the number rounded "
           "to whole slots. Station coordinates come from the ITRF positions by precession, "
           "nutation, Earth rotation and aberration (ERFA, IAU 2006/2000A).",
    .output_doc =
        "an observation: members time, interval, scan, freq, channel_width, uvw, uvw_rate, "
        "station_uvw, position, diameter, phase_centre, feed, hour_angle, parallactic, "
        "elevation, azimuth, baseline, station_index, station_diameter, station_rate",
    .group = "data",
    .inputs = inputs,
    .options = options,
    .kind = GROVE_CLASS_DATA,
    .object = "observation",
    .data = &(const grove_data_functions){.open = open_observation, .read = read_member},
    .close = close_observation,
    .example = "obs = observe(array=\"vla-c\", phase_centre=\"05h42m36.1s 49d51m07s\", "
               "hour_angle=-2h..2h, integration=10s, frequency=1.4GHz, channels=64, "
               "channel_width=1MHz)",
};
