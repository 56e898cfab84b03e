#include "base/unit.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

bool grove_unit_equal(grove_unit a, grove_unit b)
{
    return a.m == b.m && a.s == b.s && a.Jy == b.Jy && a.rad == b.rad && a.K == b.K;
}

bool grove_unit_is_none(grove_unit unit)
{
    return grove_unit_equal(unit, GROVE_UNIT_NONE);
}

grove_unit grove_unit_multiply(grove_unit a, grove_unit b)
{
    return (grove_unit){.m = (int8_t)(a.m + b.m),
                        .s = (int8_t)(a.s + b.s),
                        .Jy = (int8_t)(a.Jy + b.Jy),
                        .rad = (int8_t)(a.rad + b.rad),
                        .K = (int8_t)(a.K + b.K)};
}

grove_unit grove_unit_divide(grove_unit a, grove_unit b)
{
    return (grove_unit){.m = (int8_t)(a.m - b.m),
                        .s = (int8_t)(a.s - b.s),
                        .Jy = (int8_t)(a.Jy - b.Jy),
                        .rad = (int8_t)(a.rad - b.rad),
                        .K = (int8_t)(a.K - b.K)};
}

static bool scale(int8_t exponent, double power, int8_t *result)
{
    double scaled = exponent * power;

    *result = (int8_t)(fabs(scaled) <= 100 ? scaled : 0);
    return scaled == rint(scaled) && fabs(scaled) <= 100;
}

bool grove_unit_power(grove_unit unit, double power, grove_unit *result)
{
    *result = GROVE_UNIT_NONE;
    return scale(unit.m, power, &result->m) && scale(unit.s, power, &result->s) &&
           scale(unit.Jy, power, &result->Jy) && scale(unit.rad, power, &result->rad) &&
           scale(unit.K, power, &result->K);
}

static const struct {
    const char *name;
    grove_unit unit;
    double factor;
} units[] = {
    {"m", {.m = 1}, 1},
    {"km", {.m = 1}, 1e3},
    {"cm", {.m = 1}, 1e-2},
    {"mm", {.m = 1}, 1e-3},
    {"s", {.s = 1}, 1},
    {"ms", {.s = 1}, 1e-3},
    {"us", {.s = 1}, 1e-6},
    {"ns", {.s = 1}, 1e-9},
    {"min", {.s = 1}, 60},
    {"h", {.s = 1}, 3600},
    {"d", {.s = 1}, 86400},
    {"Hz", {.s = -1}, 1},
    {"kHz", {.s = -1}, 1e3},
    {"MHz", {.s = -1}, 1e6},
    {"GHz", {.s = -1}, 1e9},
    {"Jy", {.Jy = 1}, 1},
    {"mJy", {.Jy = 1}, 1e-3},
    {"uJy", {.Jy = 1}, 1e-6},
    {"rad", {.rad = 1}, 1},
    {"mrad", {.rad = 1}, 1e-3},
    {"deg", {.rad = 1}, 0.017453292519943295769},
    {"arcmin", {.rad = 1}, 2.9088820866572159615e-4},
    {"arcsec", {.rad = 1}, 4.8481368110953599359e-6},
    {"mas", {.rad = 1}, 4.8481368110953599359e-9},
    {"K", {.K = 1}, 1},
    {"mK", {.K = 1}, 1e-3},
};

bool grove_unit_named(const char *name, int length, grove_unit *unit, double *factor)
{
    for (size_t i = 0; i < sizeof(units) / sizeof(units[0]); i++)
        if ((int)strlen(units[i].name) == length && !memcmp(units[i].name, name, (size_t)length)) {
            *unit = units[i].unit;
            *factor = units[i].factor;
            return true;
        }
    return false;
}

static void add(char *buf, const char *name, int exponent)
{
    size_t length = strlen(buf);

    if (!exponent || length > 38)
        return;
    if (length)
        buf[length++] = ' ';
    if (exponent == 1)
        snprintf(buf + length, 48 - length, "%s", name);
    else
        snprintf(buf + length, 48 - length, "%s^%d", name, exponent);
}

char *grove_unit_show(char *buf, grove_unit unit)
{
    buf[0] = 0;
    if (grove_unit_equal(unit, GROVE_UNIT_FREQUENCY))
        return strcpy(buf, "Hz");
    add(buf, "Jy", unit.Jy);
    add(buf, "K", unit.K);
    add(buf, "m", unit.m);
    add(buf, "rad", unit.rad);
    add(buf, "s", unit.s);
    return buf;
}

char *grove_unit_describe(char *buf, grove_unit unit)
{
    static const struct {
        grove_unit unit;
        const char *text;
    } names[] = {{{0}, "a plain number"},     {{.m = 1}, "a length"},
                 {{.s = 1}, "a time"},        {{.s = -1}, "a frequency"},
                 {{.rad = 1}, "an angle"},    {{.Jy = 1}, "a flux density"},
                 {{.K = 1}, "a temperature"}, {{.m = 1, .s = -1}, "a speed"}};

    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
        if (grove_unit_equal(unit, names[i].unit))
            return strcpy(buf, names[i].text);
    return grove_unit_show(buf, unit);
}
