#include "base/text.h"

#include "base/error.h"
#include "base/memory.h"

#include <errno.h>
#include <locale.h>
#include <math.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void reserve(grove_text *text, size_t more)
{
    size_t need = text->length + more + 1;

    if (need <= text->capacity)
        return;
    text->capacity = need < 64 ? 64 : 2 * need;
    text->at = grove_realloc(text->at, text->capacity);
}

void grove_text_append(grove_text *text, const char *bytes, size_t length)
{
    reserve(text, length);
    memcpy(text->at + text->length, bytes, length);
    text->length += length;
    text->at[text->length] = 0;
}

void grove_text_add_v(grove_text *text, const char *format, va_list args)
{
    va_list again;

    va_copy(again, args);
    int length = vsnprintf(NULL, 0, format, again);
    va_end(again);
    if (length < 0)
        return;
    reserve(text, (size_t)length);
    vsnprintf(text->at + text->length, (size_t)length + 1, format, args);
    text->length += (size_t)length;
}

void grove_text_add(grove_text *text, const char *format, ...)
{
    va_list args;

    va_start(args, format);
    grove_text_add_v(text, format, args);
    va_end(args);
}

/* The bytes of a control character at `at`, also if UTF-8 writes it as C2 80 to C2 9F; 0: another
 * character. */
static size_t control_length(const char *at, size_t left, const char *keep)
{
    unsigned char byte = (unsigned char)*at;

    if (byte == 0xc2 && left > 1 && (unsigned char)at[1] >= 0x80 && (unsigned char)at[1] < 0xa0)
        return 2;
    return (byte < 0x20 && !(byte && strchr(keep, *at))) || byte == 0x7f;
}

void grove_text_add_shown(grove_text *text, const char *from, size_t length, const char *keep)
{
    size_t plain = 0;

    for (size_t i = 0, control; i < length; i += control ? control : 1) {
        if (!(control = control_length(from + i, length - i, keep)))
            continue;
        grove_text_append(text, from + plain, i - plain);
        for (size_t k = i; k < i + control; k++)
            grove_text_add(text, "\\x%02x", (unsigned char)from[k]);
        plain = i + control;
    }
    grove_text_append(text, from + plain, length - plain);
}

char *grove_shown(const char *from, const char *keep)
{
    grove_text text = {0};

    grove_text_add_shown(&text, from, strlen(from), keep);
    return text.at ? text.at : grove_strdup("");
}

char *grove_format(const char *format, ...)
{
    grove_text text = {0};
    va_list args;

    va_start(args, format);
    grove_text_add_v(&text, format, args);
    va_end(args);
    return text.at;
}

char *grove_strdup(const char *text)
{
    return grove_copy(text, strlen(text) + 1);
}

bool grove_equal(const char *a, const char *b)
{
    return a == b || (a && b && !strcmp(a, b));
}

bool grove_ends_with(const char *text, const char *end)
{
    size_t length = strlen(text), tail = strlen(end);

    return length >= tail && !strcmp(text + length - tail, end);
}

static char lower(char c)
{
    return c >= 'A' && c <= 'Z' ? (char)(c - 'A' + 'a') : c;
}

/* Edit distance with transposition of neighbours (optimal string alignment), regardless of case, at
 * most 63 characters each. */
static int distance(const char *first, const char *second)
{
    enum { MAX = 64 };
    char a[MAX], b[MAX];
    int d[3][MAX], n = (int)strlen(first), m = (int)strlen(second);

    if (n >= MAX || m >= MAX)
        return MAX;
    for (int i = 0; i <= n; i++)
        a[i] = lower(first[i]);
    for (int j = 0; j <= m; j++)
        b[j] = lower(second[j]);
    for (int j = 0; j <= m; j++)
        d[0][j] = j;
    for (int i = 1; i <= n; i++) {
        int *now = d[i % 3], *last = d[(i + 2) % 3], *before = d[(i + 1) % 3];
        now[0] = i;
        for (int j = 1; j <= m; j++) {
            int best = last[j - 1] + (a[i - 1] != b[j - 1]);
            if (last[j] + 1 < best)
                best = last[j] + 1;
            if (now[j - 1] + 1 < best)
                best = now[j - 1] + 1;
            if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1] &&
                before[j - 2] + 1 < best)
                best = before[j - 2] + 1;
            now[j] = best;
        }
    }
    return d[n % 3][m];
}

const char *grove_nearest(const char *word, const char *const *names, size_t count)
{
    int max = (int)strlen(word) / 3;
    const char *nearest = NULL;

    if (max < 1)
        max = 1;
    for (size_t i = 0; i < count; i++) {
        int d = distance(word, names[i]);
        if (d <= max && (!nearest || d < max || distance(word, nearest) > d)) {
            nearest = names[i];
            max = d;
        }
    }
    return nearest;
}

static locale_t the_locale; /* the C locale: one per process, never freed */
static pthread_once_t locale_once = PTHREAD_ONCE_INIT;

static void make_locale(void)
{
    the_locale = newlocale(LC_ALL_MASK, "C", (locale_t)0);
}

static locale_t c_locale(void)
{
    pthread_once(&locale_once, make_locale);
    return the_locale;
}

const char *grove_parse_number(const char *text, double *value)
{
    const char *digits = text + (*text == '+' || *text == '-');
    char *end;

    if (*digits == '.' ? digits[1] < '0' || digits[1] > '9' : *digits < '0' || *digits > '9')
        return NULL;
    if (digits[0] == '0' && (digits[1] == 'x' || digits[1] == 'X')) {
        *value = 0; /* strtod would accept a hexadecimal number */
        return digits + 1;
    }
    *value = strtod_l(text, &end, c_locale());
    return end == text || !isfinite(*value) ? NULL : end;
}

const char *grove_parse_integer(const char *text, int64_t *value)
{
    const char *digits = text + (*text == '+' || *text == '-');
    char *end;

    if (*digits < '0' || *digits > '9')
        return NULL;
    errno = 0;
    *value = strtoll(text, &end, 10);
    return errno ? NULL : end;
}

char *grove_show_bytes(char *buf, double bytes)
{
    static const char *const units[] = {"B", "KiB", "MiB", "GiB", "TiB", "PiB"};
    int k = 0;

    while (fabs(bytes) >= 1024 && k < 5) {
        bytes /= 1024;
        k++;
    }
    snprintf(buf, 32, k && bytes < 100 ? "%.1f %s" : "%.0f %s", bytes, units[k]);
    return buf;
}

char *grove_show_count(char *buf, double count)
{
    static const char *const units[] = {"", "k", "M", "G", "T", "P"};
    int k = 0;

    while (fabs(count) >= 1000 && k < 5) {
        count /= 1000;
        k++;
    }
    snprintf(buf, 32, k ? "%.3g%s" : "%.4g%s", count, units[k]);
    return buf;
}

char *grove_show_seconds(char *buf, double seconds)
{
    double whole = floor(seconds + 0.5);

    if (seconds < 0.9995e-3)
        snprintf(buf, 32, "%.3g us", seconds * 1e6);
    else if (seconds < 0.9995)
        snprintf(buf, 32, "%.3g ms", seconds * 1e3);
    else if (seconds < 59.95)
        snprintf(buf, 32, "%.1f s", seconds);
    else if (whole < 3600)
        snprintf(buf, 32, "%.0f min %.0f s", floor(whole / 60), fmod(whole, 60));
    else
        snprintf(buf, 32, "%.0f h %.0f min", floor(whole / 3600), floor(fmod(whole, 3600) / 60));
    return buf;
}

int grove_parse_bytes(const char *text, uint64_t *bytes)
{
    static const struct {
        const char *name;
        double factor;
    } units[] = {{"", 1},
                 {"B", 1},
                 {"kB", 1e3},
                 {"KB", 1e3},
                 {"MB", 1e6},
                 {"GB", 1e9},
                 {"TB", 1e12},
                 {"KiB", 1024.},
                 {"K", 1024.},
                 {"M", 1048576.},
                 {"G", 1073741824.},
                 {"MiB", 1048576.},
                 {"GiB", 1073741824.},
                 {"TiB", 1099511627776.}};
    double number;
    const char *end = grove_parse_number(text, &number);

    while (end && *end == ' ')
        end++;
    for (size_t i = 0; end && i < sizeof(units) / sizeof(units[0]); i++)
        if (!strcmp(end, units[i].name) && number >= 0 && number * units[i].factor < 9e18) {
            *bytes = (uint64_t)(number * units[i].factor);
            return 0;
        }
    return GROVE_INVALID;
}
