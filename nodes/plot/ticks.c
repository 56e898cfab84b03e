#include "nodes/plot/ticks.h"
#include <math.h>
#include <stdio.h>
#include <string.h>

void grove_scale_fit(grove_scale *scale, double low, double high, double room)
{
    bool logarithmic = scale->kind == GROVE_SCALE_LOGARITHMIC;

    if (!isfinite(low) || !isfinite(high) || low > high || (logarithmic && high <= 0)) {
        low = logarithmic ? 1 : 0;
        high = logarithmic ? 10 : 1;
    }
    if (logarithmic && low <= 0)
        low = high * 1e-6;
    if (logarithmic) {
        low = log10(low);
        high = log10(high);
    }
    /* Avoids overflow at the ends of double. */
    double max = logarithmic ? 290 : 1e290;
    low = fmin(max, fmax(-max, low));
    high = fmin(max, fmax(-max, high));
    /* A range below the resolution of its numbers is treated as a single number. */
    double lowest = fmax(1e-290, 1e-12 * fmax(fabs(low), fabs(high)));
    if (high - low <= lowest) {
        double half = !logarithmic && fabs(low) > 1e-280 ? 0.5 * fabs(low) : 0.5;
        low -= half;
        high += half;
    } else {
        double extra = room * (high - low);
        low -= extra;
        high += extra;
    }
    scale->low = logarithmic ? pow(10, low) : low;
    scale->high = logarithmic ? pow(10, high) : high;
}

double grove_scale_place(const grove_scale *scale, double number)
{
    double share;

    if (scale->kind == GROVE_SCALE_LOGARITHMIC)
        share = number > 0 ? log(number / scale->low) / log(scale->high / scale->low) : NAN;
    else
        share = (number - scale->low) / (scale->high - scale->low);
    return scale->from + share * (scale->to - scale->from);
}

static grove_tick *add(grove_ticks *ticks, const grove_scale *scale, double number, bool minor)
{
    if (ticks->count == GROVE_MAX_TICKS)
        return NULL;
    grove_tick *tick = &ticks->tick[ticks->count++];
    tick->place = grove_scale_place(scale, number);
    tick->minor = minor;
    tick->label[0] = 0;
    return tick;
}

/* The first of steps[] (ascending) not below `lowest`, or the last. */
static double round_step(double lowest, const double *steps, size_t count)
{
    for (size_t k = 0; k < count; k++)
        if (steps[k] >= lowest)
            return steps[k];
    return steps[count - 1];
}

static double decimal_step(double lowest)
{
    static const double steps[] = {1, 2, 5, 10};
    double power = pow(10, floor(log10(lowest)));

    return power * round_step(lowest / power * (1 - 1e-9), steps, 4);
}

/* "10" and a superscript exponent. */
static void show_power(char *text, size_t size, const char *before, int exponent)
{
    static const char *const digits[] = {"⁰", "¹", "²", "³", "⁴", "⁵", "⁶", "⁷", "⁸", "⁹"};
    char plain[16];
    size_t at = (size_t)snprintf(text, size, "%s10", before);

    snprintf(plain, sizeof plain, "%d", exponent);
    for (const char *c = plain; *c && at + 4 < size; c++)
        at += (size_t)snprintf(text + at, size - at, "%s", *c == '-' ? "⁻" : digits[*c - '0']);
}

/* A minus sign in place of the hyphen, and no "-0". */
static void show_number(char *text, size_t size, double number, int decimals)
{
    char plain[24];

    if (fabs(number) < 0.5 * pow(10, -decimals))
        number = 0;
    snprintf(plain, sizeof plain, "%.*f", decimals, fabs(number));
    snprintf(text, size, "%s%s", number < 0 ? "−" : "", plain);
}

/* How many multiples of a step are within the range. */
static int count_steps(const grove_scale *scale, double step)
{
    return (int)(floor(scale->high / step + 1e-6) - ceil(scale->low / step - 1e-6)) + 1;
}

/* Of angles: right ones, but at least two within the range. */
static double angle_step(const grove_scale *scale, double lowest)
{
    static const double steps[] = {1, 2, 5, 10, 15, 30, 45, 90, 180, 360};
    size_t k = 0;

    while (steps[k] < lowest)
        k++;
    while (k && count_steps(scale, steps[k]) < 2)
        k--;
    return steps[k];
}

static double linear_step(const grove_scale *scale, double spacing)
{
    double lowest = (scale->high - scale->low) * spacing / fabs(scale->to - scale->from);

    return scale->kind == GROVE_SCALE_ANGLE && lowest > 1 && lowest <= 360
               ? angle_step(scale, lowest)
               : decimal_step(lowest);
}

static void linear_ticks(grove_ticks *ticks, const grove_scale *scale, double spacing)
{
    double step = linear_step(scale, spacing);
    double max = fmax(fabs(scale->low), fabs(scale->high));
    int magnitude = (int)floor(log10(max)), power = 0;

    if (magnitude >= 5 || magnitude <= -3)
        power = 3 * (int)floor(magnitude / 3.0);
    if (power)
        show_power(ticks->factor, sizeof ticks->factor, "×", power);
    int decimals = (int)fmax(0, fmin(12, power - floor(log10(step) + 1e-9)));
    double first = ceil(scale->low / step - 1e-6);
    for (int k = 0; k < GROVE_MAX_TICKS; k++) {
        double number = (first + k) * step;
        if (number > scale->high + 1e-6 * step)
            break;
        grove_tick *tick = add(ticks, scale, number, false);
        show_number(tick->label, sizeof tick->label, number / pow(10, power), decimals);
    }
}

static void logarithmic_ticks(grove_ticks *ticks, const grove_scale *scale, double spacing)
{
    double low = log10(scale->low), high = log10(scale->high);
    double room = fabs(scale->to - scale->from) / (high - low); /* pixels per decade */
    int step = (int)fmax(1, ceil(spacing / room * 0.8));
    /* When little more than a decade is visible, 2 and 5 get labels too. */
    bool dense = room > 2.5 * spacing;

    for (int power = (int)floor(low); power <= high + 1e-9; power++)
        for (int digit = 1; digit < (room > 40 ? 10 : 2); digit++) {
            double number = digit * pow(10, power);
            if (number < scale->low * (1 - 1e-9) || number > scale->high * (1 + 1e-9))
                continue;
            bool labelled = digit == 1 ? power % step == 0 : dense && (digit == 2 || digit == 5);
            if (!labelled && room < 8)
                continue;
            grove_tick *tick = add(ticks, scale, number, !labelled);
            if (!tick)
                return;
            if (!labelled)
                continue;
            if (power >= -3 && power <= 4)
                snprintf(tick->label, sizeof tick->label, "%.*f", power < 0 ? -power : 0, number);
            else
                show_power(tick->label, sizeof tick->label,
                           digit == 1   ? ""
                           : digit == 2 ? "2×"
                                        : "5×",
                           power);
        }
}

static void clock_ticks(grove_ticks *ticks, const grove_scale *scale, double spacing)
{
    static const double steps[] = {1,   2,   5,    10,   15,   30,    60,    120,   300,
                                   600, 900, 1800, 3600, 7200, 10800, 21600, 43200, 86400};
    double lowest = (scale->high - scale->low) * fmax(spacing, 60) / fabs(scale->to - scale->from);

    if (lowest < 0.5 || lowest > 86400) {
        linear_ticks(ticks, scale, spacing);
        return;
    }
    double step = round_step(lowest, steps, sizeof steps / sizeof *steps);
    double first = ceil(scale->low / step - 1e-6);
    for (int k = 0; k < GROVE_MAX_TICKS; k++) {
        double number = (first + k) * step;
        if (number > scale->high + 1e-6 * step)
            break;
        grove_tick *tick = add(ticks, scale, number, false);
        double day = fmod(fmod(number, 86400) + 86400, 86400);
        int seconds = (int)(day + 0.5);
        if (step < 60)
            snprintf(tick->label, sizeof tick->label, "%02d:%02d:%02d", seconds / 3600,
                     seconds / 60 % 60, seconds % 60);
        else
            snprintf(tick->label, sizeof tick->label, "%02d:%02d", seconds / 3600,
                     seconds / 60 % 60);
    }
}

/* As many of the names as have room next to each other. */
static void name_ticks(grove_ticks *ticks, const grove_scale *scale)
{
    double longest = 1, room = fabs(scale->to - scale->from) / (scale->high - scale->low);

    for (size_t k = 0; k < scale->name_count; k++)
        longest = fmax(longest, (double)strlen(scale->names[k]));
    size_t step = (size_t)ceil(fmax(1, (6.5 * longest + 10) / room));
    step = (size_t)fmax((double)step, ceil((double)scale->name_count / GROVE_MAX_TICKS));
    for (size_t k = 0; k < scale->name_count; k += step) {
        if ((double)k < scale->low || (double)k > scale->high)
            continue;
        grove_tick *tick = add(ticks, scale, (double)k, false);
        snprintf(tick->label, sizeof tick->label, "%s", scale->names[k]);
    }
}

void grove_ticks_make(grove_ticks *ticks, const grove_scale *scale, double spacing)
{
    memset(ticks, 0, sizeof *ticks);
    if (scale->kind == GROVE_SCALE_NAMES)
        name_ticks(ticks, scale);
    else if (scale->kind == GROVE_SCALE_LOGARITHMIC && scale->high > 3 * scale->low)
        logarithmic_ticks(ticks, scale, spacing);
    else if (scale->kind == GROVE_SCALE_CLOCK)
        clock_ticks(ticks, scale, spacing);
    else
        linear_ticks(ticks, scale, spacing);
}
