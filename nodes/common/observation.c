#include "nodes/common/observation.h"

#include "util.h"

#include <stdlib.h>
#include <string.h>

static grove_form form_of(int shape, int vector, grove_unit unit)
{
    return (grove_form){
        .shape = shape, .vector = vector, .precision = GROVE_PRECISION_DOUBLE, .unit = unit};
}

static const grove_unit none, metre = {.m = 1}, second = {.s = 1}, hertz = {.s = -1},
                              radian = {.rad = 1}, speed = {.m = 1, .s = -1};

static int add_axes(grove_node *node, const grove_observation *o)
{
    grove_axis axes[] = {
        {.name = "time", .size = o->times, .centre = o->time, .width = o->interval},
        {.name = "station", .size = o->stations, .labels = (const char *const *)o->names},
        {.name = "baseline", .size = o->baselines, .left = o->left, .right = o->right},
        {.name = "freq", .size = o->channels, .centre = o->freq, .width = o->channel_width},
    };
    int code = 0;

    for (size_t i = 0; i < sizeof(axes) / sizeof(axes[0]) && !code; i++)
        code = grove_node_add_axis(node, &axes[i]);
    return code;
}

static int add_scalar(grove_node *node, const char *name, const char *axes, grove_unit unit,
                      const void *data, const char *doc)
{
    grove_form form = form_of(GROVE_SCALAR, 0, unit);

    return grove_node_add_member(node, name, axes, &form, data, doc);
}

static int add_vector(grove_node *node, const char *name, const char *axes, int length,
                      grove_unit unit, const void *data, const char *doc)
{
    grove_form form = form_of(GROVE_VECTOR, length, unit);

    return grove_node_add_member(node, name, axes, &form, data, doc);
}

static int add_stations(grove_node *node, const grove_observation *o)
{
    double *index = grove_alloc((size_t)(o->stations + 1) * sizeof(double));
    double *pair = grove_alloc((size_t)(o->baselines + 1) * 2 * sizeof(double));
    bool equal = true;
    int code;

    for (int64_t i = 0; i < o->stations; i++) {
        index[i] = (double)i;
        equal = equal && o->diameter[i] == o->diameter[0];
    }
    for (int64_t b = 0; b < o->baselines; b++) {
        pair[2 * b] = o->left[b];
        pair[2 * b + 1] = o->right[b];
    }
    code = add_vector(node, "position", "station", 3, metre, o->position, "ITRF positions, m");
    if (!code)
        code =
            add_scalar(node, "diameter", equal && o->stations ? "" : "station", metre, o->diameter,
                       "effective dish diameters, m (one number when all are equal)");
    if (!code)
        code = add_scalar(node, "station_diameter", "station", metre, o->diameter,
                          "effective dish diameters, m");
    if (!code)
        code = add_scalar(node, "station_index", "station", none, index, "station numbers from 0");
    if (!code)
        code = add_vector(node, "baseline", "baseline", 2, none, pair,
                          "numbers of the stations p and q");
    free(index);
    free(pair);
    return code;
}

int grove_observation_publish(grove_node *node, const grove_observation *o)
{
    double feed = o->circular;
    int code = add_axes(node, o);

#define ADD(call) code = code ? code : (call)
    ADD(add_scalar(node, "time", "time", second, o->time, "centres of the time slots, UTC MJD s"));
    ADD(add_scalar(node, "interval", "time", second, o->interval, "integration times, s"));
    ADD(add_scalar(node, "scan", "time", none, o->scan, "scan numbers"));
    ADD(add_scalar(node, "freq", "freq", hertz, o->freq, "centres of the channels, Hz"));
    ADD(add_scalar(node, "channel_width", "freq", hertz, o->channel_width, "channel widths, Hz"));
    ADD(add_stations(node, o));
    ADD(add_vector(node, "phase_centre", "", 2, radian, o->phase_centre, "J2000 ra and dec, rad"));
    ADD(add_scalar(node, "feed", "", none, &feed, "0: linear feeds, 1: circular"));
    ADD(add_vector(node, "uvw", "time baseline", 3, metre, NULL,
                   "baseline coordinates u_p - u_q, m"));
    ADD(add_vector(node, "uvw_rate", "time baseline", 3, speed, NULL,
                   "their rates of change, m/s"));
    ADD(add_vector(node, "station_uvw", "time station", 3, metre, NULL, "station coordinates, m"));
    ADD(add_vector(node, "station_rate", "time station", 3, speed, NULL,
                   "rates of change of the station coordinates, m/s"));
    ADD(add_scalar(node, "hour_angle", "time", radian, NULL,
                   "hour angle of the phase centre, rad"));
    ADD(add_scalar(node, "azimuth", "time", radian, NULL,
                   "azimuth of the phase centre, north through east, rad"));
    ADD(add_scalar(node, "elevation", "time", radian, NULL, "elevation of the phase centre, rad"));
    ADD(add_scalar(node, "parallactic", "time station", radian, NULL,
                   "parallactic angle of the phase centre at each station, rad"));
#undef ADD
    return code;
}

grove_range grove_observation_range(const grove_array *out, int kind)
{
    for (int d = 0; d < out->axes; d++)
        if (out->range[d].axis->kind == kind)
            return out->range[d];
    return (grove_range){NULL, 0, 1};
}

int grove_observation_station_uvw(const grove_observation *o, int64_t first, int64_t count,
                                  double *uvw, double *rate, grove_error *error)
{
    if (o->misplaced)
        return grove_fail(error, GROVE_INVALID, "%s", o->misplaced);
    return grove_station_uvw(o->time + first, count, o->position, o->stations, o->reference,
                             o->phase_centre, &o->earth, uvw, rate, error);
}

/* Coordinates (or rates) at the block's times, for the block's stations or for the stations of its
 * baselines. */
static int read_uvw(const grove_observation *o, bool rates, bool baselines, grove_array *out,
                    grove_error *error)
{
    grove_range t = grove_observation_range(out, GROVE_AXIS_TIME);
    grove_range x =
        grove_observation_range(out, baselines ? GROVE_AXIS_BASELINE : GROVE_AXIS_STATION);
    size_t numbers = (size_t)t.count * (size_t)o->stations * 3;
    double *uvw = grove_try_alloc(2 * numbers + 1, sizeof(double));
    double *to = out->data;
    int code;

    if (!uvw)
        return grove_fail(error, GROVE_NO_MEMORY, "no memory for %lld times", (long long)t.count);
    code = grove_observation_station_uvw(o, t.first, t.count, uvw, uvw + numbers, error);
    const double *from = rates ? uvw + numbers : uvw;
    for (int64_t i = 0; i < t.count && !code; i++, from += 3 * o->stations)
        for (int64_t b = x.first; b < x.first + x.count; b++, to += 3) {
            const double *p = from + 3 * (baselines ? o->left[b] : b);
            for (int k = 0; k < 3; k++)
                to[k] = p[k] - (baselines ? from[3 * o->right[b] + k] : 0);
        }
    free(uvw);
    return code;
}

static int check_places(const grove_node *node, const grove_observation *o, const char *member)
{
    return o->misplaced ? grove_node_fail(node, GROVE_INVALID, "%s: %s", member, o->misplaced) : 0;
}

static void read_horizon(const grove_observation *o, int which, grove_array *out)
{
    grove_range t = grove_observation_range(out, GROVE_AXIS_TIME);
    double *to = out->data;

    for (int64_t i = t.first; i < t.first + t.count; i++) {
        double value[4];
        grove_horizon(o->time[i], o->phase_centre, o->reference, &o->earth, &value[0], NULL,
                      &value[1], &value[2], &value[3]);
        *to++ = value[which];
    }
}

static void read_parallactic(const grove_observation *o, grove_array *out)
{
    grove_range t = grove_observation_range(out, GROVE_AXIS_TIME);
    grove_range x = grove_observation_range(out, GROVE_AXIS_STATION);
    double *to = out->data;

    for (int64_t i = t.first; i < t.first + t.count; i++)
        for (int64_t p = x.first; p < x.first + x.count; p++)
            grove_horizon(o->time[i], o->phase_centre, o->position + 3 * p, &o->earth, NULL, NULL,
                          NULL, NULL, to++);
}

int grove_observation_read(const grove_node *node, const grove_observation *o, const char *member,
                           grove_array *out)
{
    static const struct {
        const char *name;
        bool rates, baselines;
    } coordinates[] = {{"uvw", false, true},
                       {"uvw_rate", true, true},
                       {"station_uvw", false, false},
                       {"station_rate", true, false}};
    static const char *const horizon[] = {"hour_angle", "azimuth", "elevation"};

    for (size_t i = 0; i < 4; i++)
        if (!strcmp(member, coordinates[i].name)) {
            grove_error *error = grove_error_new();
            int code = read_uvw(o, coordinates[i].rates, coordinates[i].baselines, out, error);
            if (code)
                grove_node_fail(node, code, "%s: %s", member, grove_error_message(error, 0));
            grove_error_free(error);
            return code;
        }
    for (int i = 0; i < 3; i++)
        if (!strcmp(member, horizon[i])) {
            if (check_places(node, o, member))
                return GROVE_INVALID;
            read_horizon(o, i, out);
            return 0;
        }
    if (!strcmp(member, "parallactic")) {
        if (check_places(node, o, member))
            return GROVE_INVALID;
        read_parallactic(o, out);
        return 0;
    }
    return GROVE_MISSING;
}

/* From the centre of the Earth, m. */
static double radius_of(const grove_observation *o, int64_t p)
{
    const double *x = o->position + 3 * p;

    return sqrt(x[0] * x[0] + x[1] * x[1] + x[2] * x[2]);
}

void grove_observation_place(grove_observation *o)
{
    const double least = 6.3e6; /* m, of the surface */
    int64_t count = 0;

    for (int64_t p = 0; p < o->stations; p++)
        count += radius_of(o, p) > least;
    for (int64_t p = 0; p < o->stations; p++)
        for (int k = 0; k < 3 && radius_of(o, p) > least; k++)
            o->reference[k] += o->position[3 * p + k] / (double)count;
    for (int64_t b = 0; b < 2 * o->baselines && !o->misplaced; b++) {
        const int32_t p = b % 2 ? o->right[b / 2] : o->left[b / 2];
        if (!(radius_of(o, p) > least))
            o->misplaced = grove_format(
                "it is computed from the stations' positions, but according to POSITION station %s "
                "is %.6g km from the centre of the Earth; geocentric positions (ITRF) are needed",
                o->names[p], radius_of(o, p) / 1e3);
    }
}

void grove_observation_free(grove_observation *o)
{
    if (!o)
        return;
    for (int64_t i = 0; o->names && i < o->stations; i++)
        free(o->names[i]);
    free(o->names);
    free(o->time);
    free(o->interval);
    free(o->scan);
    free(o->freq);
    free(o->channel_width);
    free(o->position);
    free(o->misplaced);
    free(o->diameter);
    free(o->left);
    free(o->right);
    free(o);
}
