/* Parses angles, directions and dates. */
#include "base/error.h"
#include "base/text.h"
#include "base/unit.h"

#include <erfa.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

static const double degree = 0.017453292519943295769;

/* Up to two more parts of a sexagesimal number: minutes below 60, seconds below 60. */
static const char *parse_parts(const char *at, char first, char second, char end, double *value)
{
    double scale = 60, part;
    char separators[2] = {first, second};

    for (int k = 0; k < 2 && *at == separators[k]; k++, scale *= 60) {
        const char *next = grove_parse_number(at + 1, &part);
        int64_t whole;
        if (end && (!at[1] || strchr(" \t,", at[1]))) /* 5h, 5h42m */
            return at + 1;
        if (k == 0 && separators[1] == '.') { /* in 49.51.07.2 the minutes end at the next point */
            next = grove_parse_integer(at + 1, &whole);
            part = (double)whole;
        }
        if (!next || at[1] == '-' || at[1] == '+' || part >= 60 || part < 0)
            return NULL;
        *value += part / scale;
        at = next;
    }
    if (end && *at == end)
        at++;
    return at;
}

static const char *parse_unit(const char *at, double number, double *radians)
{
    static const struct {
        const char *name;
        double factor;
    } names[] = {
        {"deg", 1}, {"rad", 57.295779513082320877}, {"arcmin", 1 / 60.}, {"arcsec", 1 / 3600.}};

    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
        if (!strncmp(at, names[i].name, strlen(names[i].name))) {
            *radians = number * names[i].factor * degree;
            return at + strlen(names[i].name);
        }
    return NULL;
}

const char *grove_parse_angle(const char *text, bool right_ascension, double *radians)
{
    double sign = *text == '-' ? -1 : 1, value = 0, unit = 1;
    const char *digits = text + (*text == '-' || *text == '+'), *at;
    int64_t whole = 0;

    if (*digits == '-' || *digits == '+')
        return NULL;
    at = grove_parse_integer(digits, &whole);
    value = (double)whole;
    if (at && *at == 'h') {
        unit = 15;
        at = parse_parts(at, 'h', 'm', 's', &value);
    } else if (at && *at == 'd' && at[1] != 'e') {
        at = parse_parts(at, 'd', 'm', 's', &value);
    } else if (at && *at == ':') {
        unit = right_ascension ? 15 : 1;
        at = parse_parts(at, ':', ':', 0, &value);
    } else if (at && *at == '.' && strspn(at + 1, "0123456789") > 0 &&
               at[1 + strspn(at + 1, "0123456789")] == '.') {
        at = parse_parts(at, '.', '.', 0, &value);
    } else {
        at = grove_parse_number(digits, &value);
        return at ? parse_unit(at, sign * value, radians) : NULL;
    }
    if (!at || whole > 360000)
        return NULL;
    *radians = sign * value * unit * degree;
    return at;
}

static bool is_word(const char *text, size_t length, const char *word)
{
    return strlen(word) == length && !strncasecmp(text, word, length);
}

grove_frame grove_frame_named(const char *name, size_t length)
{
    static const struct {
        const char *name;
        grove_frame frame;
    } frames[] = {{"J2000", GROVE_FRAME_J2000}, {"ICRS", GROVE_FRAME_J2000},
                  {"FK5", GROVE_FRAME_J2000},   {"B1950", GROVE_FRAME_B1950},
                  {"FK4", GROVE_FRAME_B1950},   {"GALACTIC", GROVE_FRAME_GALACTIC}};

    for (size_t i = 0; i < sizeof(frames) / sizeof(frames[0]); i++)
        if (is_word(name, length, frames[i].name))
            return frames[i].frame;
    return GROVE_FRAME_UNKNOWN;
}

void grove_frame_to_j2000(grove_frame frame, double radec[2])
{
    if (frame == GROVE_FRAME_B1950)
        eraFk45z(radec[0], radec[1], 1950, &radec[0], &radec[1]);
    else if (frame == GROVE_FRAME_GALACTIC)
        eraG2icrs(radec[0], radec[1], &radec[0], &radec[1]);
}

double grove_frame_north(grove_frame frame, const double radec[2])
{
    double step = radec[1] > 0 ? -1e-5 : 1e-5; /* away from the pole */
    double here[2] = {radec[0], radec[1]}, there[2] = {radec[0], radec[1] + step};

    if (frame == GROVE_FRAME_J2000)
        return 0;
    grove_frame_to_j2000(frame, here);
    grove_frame_to_j2000(frame, there);
    double angle = eraPas(here[0], here[1], there[0], there[1]);
    return step > 0 ? angle : eraAnpm(angle + 180 * degree);
}

int grove_parse_direction(const char *text, double radec[2])
{
    text += strspn(text, " \t");
    size_t word = strcspn(text, " \t,");
    grove_frame frame = grove_frame_named(text, word);

    if (frame != GROVE_FRAME_UNKNOWN)
        text += word + strspn(text + word, " \t,");
    const char *at = grove_parse_angle(text, frame != GROVE_FRAME_GALACTIC, &radec[0]);

    if (!at || (*at != ' ' && *at != '\t' && *at != ','))
        return GROVE_INVALID;
    at += strspn(at, " \t,");
    const bool hours = strchr(at, 'h'); /* a right ascension */
    at = grove_parse_angle(at, false, &radec[1]);
    if (!at || hours || at[strspn(at, " \t")])
        return GROVE_INVALID;
    if (radec[0] < -360.001 * degree || radec[0] > 360.001 * degree ||
        fabs(radec[1]) > 90.0000001 * degree)
        return GROVE_INVALID;
    grove_frame_to_j2000(frame, radec);
    return 0;
}

char *grove_show_ra(char *buf, double radians)
{
    double turns = radians / (360 * degree), tenths;

    turns -= floor(turns);
    tenths = rint(turns * 864000 * 10);
    if (tenths >= 8640000)
        tenths -= 8640000;
    int64_t all = (int64_t)tenths;
    snprintf(buf, 32, "%02dh%02dm%02d.%02ds", (int)(all / 360000), (int)(all / 6000 % 60),
             (int)(all / 100 % 60), (int)(all % 100));
    return buf;
}

char *grove_show_dec(char *buf, double radians)
{
    int64_t all = (int64_t)rint(fabs(radians) / degree * 36000);

    snprintf(buf, 32, "%c%02dd%02dm%02d.%ds", radians < 0 ? '-' : '+', (int)(all / 36000 % 1000),
             (int)(all / 600 % 60), (int)(all / 10 % 60), (int)(all % 10));
    return buf;
}

/* Modified Julian day of a Gregorian date (Fliegel & van Flandern 1968). */
static int64_t day_of(int64_t y, int64_t m, int64_t d)
{
    int64_t a = (m - 14) / 12;

    return d - 32075 + 1461 * (y + 4800 + a) / 4 + 367 * (m - 2 - a * 12) / 12 -
           3 * ((y + 4900 + a) / 100) / 4 - 2400001;
}

int grove_parse_date(const char *text, double *mjd_seconds)
{
    int y, m, d, h = 0, min = 0, used = 0;
    double s = 0;

    if (sscanf(text, "%4d-%2d-%2d%n", &y, &m, &d, &used) != 3 || used < 8)
        return GROVE_INVALID;
    text += used;
    if (*text == 'T' || *text == ' ') {
        if (sscanf(text + 1, "%2d:%2d%n", &h, &min, &used) != 2 || text[1] < '0' || text[1] > '9')
            return GROVE_INVALID;
        text += 1 + used;
        if (*text == ':') {
            const char *end =
                text[1] == '-' || text[1] == '+' ? NULL : grove_parse_number(text + 1, &s);
            if (!end)
                return GROVE_INVALID;
            text = end;
        }
        if (*text == 'Z')
            text++;
    }
    static const int days[] = {31, 29, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31};
    bool leap = (y % 4 == 0 && y % 100 != 0) || y % 400 == 0;
    if (*text || y < 1800 || m < 1 || m > 12 || d < 1 || d > days[m - 1] ||
        (m == 2 && d == 29 && !leap) || h < 0 || h > 23 || min < 0 || min > 59 || s < 0 || s >= 61)
        return GROVE_INVALID;
    *mjd_seconds = (double)day_of(y, m, d) * 86400 + h * 3600 + min * 60 + s;
    return 0;
}

char *grove_show_date(char *buf, double mjd_seconds)
{
    int64_t tenths = (int64_t)floor(mjd_seconds * 10 + 0.5);
    int64_t day = tenths / 864000 - (tenths % 864000 < 0), rest = tenths - day * 864000;
    int64_t l = day + 2400001 + 68569, n = 4 * l / 146097, i, j;

    l -= (146097 * n + 3) / 4;
    i = 4000 * (l + 1) / 1461001;
    l = l - 1461 * i / 4 + 31;
    j = 80 * l / 2447;
    int64_t d = l - 2447 * j / 80;
    l = j / 11;
    snprintf(buf, 40, "%04d-%02d-%02dT%02d:%02d:%02d.%d", (int)(100 * (n - 49) + i + l),
             (int)(j + 2 - 12 * l), (int)d, (int)(rest / 36000), (int)(rest / 600 % 60),
             (int)(rest / 10 % 60), (int)(rest % 10));
    return buf;
}
