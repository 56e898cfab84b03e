/* Sky models: recognises the format, and does the last steps, which all formats share. */
#include "nodes/sky/sky.h"

#include "nodes/sky/sky_reader.h"
#include "util.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_BYTES = 1 << 30 };

/* Finite numbers in the text can overflow in the units used here. */
static bool is_finite(const grove_source *s)
{
    const double values[] = {s->ra,
                             s->dec,
                             s->stokes[0],
                             s->stokes[1],
                             s->stokes[2],
                             s->stokes[3],
                             s->reference_frequency,
                             s->rotation_measure,
                             s->rotation_reference,
                             s->major,
                             s->minor,
                             s->position_angle};
    bool good = true;
    for (size_t k = 0; k < sizeof values / sizeof *values; k++) {
        good = good && isfinite(values[k]);
    }
    for (int k = 0; k < s->terms; k++) {
        good = good && isfinite(s->spectrum[k]);
    }
    return good;
}

void grove_sky_add(grove_sky_reader *in, const grove_source *source, grove_piece place)
{
    grove_sky *sky = in->sky;
    if (!is_finite(source)) {
        grove_scan_fault(&in->scan, place.at, place.length,
                         "source: a value overflows; finite in Jy, Hz, m and radians");
        free(source->name);
        free(source->patch);
        return;
    }
    if ((size_t)sky->count == in->capacity) {
        size_t capacity = in->capacity ? 2 * in->capacity : 64;
        grove_source *sources = grove_try_alloc(capacity, sizeof *sources);
        if (!sources) {
            free(source->name);
            free(source->patch);
            grove_scan_no_memory(&in->scan);
            return;
        }
        if (sky->count) {
            memcpy(sources, sky->sources, (size_t)sky->count * sizeof *sources);
        }
        free(sky->sources);
        sky->sources = sources;
        in->capacity = capacity;
    }
    sky->sources[sky->count++] = *source;
}

double grove_sky_spectrum(const grove_source *source, double frequency)
{
    if (!source->terms) {
        return 1;
    }
    double ratio = frequency / source->reference_frequency, sum = 0;
    double x = source->logarithmic ? log10(ratio) : ratio - 1;
    for (int k = source->terms - 1; k >= 0; k--) {
        sum = (sum + source->spectrum[k]) * x;
    }
    return source->logarithmic ? pow(10, sum) : 1 + sum / source->stokes[0];
}

static grove_sky *parse(const char *text, const char *name, const char *tag, grove_error *error)
{
    static const char mark[] = "\xef\xbb\xbf"; /* a byte order mark */
    if (strncmp(text, mark, 3) == 0) {
        text += 3;
    }
    grove_sky_reader in = {.scan = {.text = text, .name = name, .error = error}, .tag = tag};
    in.sky = grove_alloc(sizeof *in.sky);
    if (text[strspn(text, " \t\r\n\f\v")] == '<') {
        grove_sky_read_lsm(&in);
    } else {
        grove_sky_read_bbs(&in);
    }
    if (!in.sky->count && !in.scan.code) {
        in.scan.code = grove_fail(error, GROVE_INVALID, "%s: no sources", name);
    }
    if (tag && !in.tagged && !in.scan.code) {
        in.scan.code = grove_fail(
            error, GROVE_INVALID,
            "%s: no source has the tag '%s'; tags are from Tigger's .lsm.html, such as dE", name,
            tag);
    }
    if (in.scan.code) {
        grove_sky_free(in.sky);
        return NULL;
    }
    return in.sky;
}

grove_sky *grove_sky_parse(const char *text, const char *name, grove_error *error)
{
    return parse(text, name, NULL, error);
}

grove_sky *grove_sky_read(const char *path, const char *tag, grove_error *error)
{
    size_t length;
    char *text = grove_file_read(path, MAX_BYTES, true, &length, error);
    grove_sky *sky = text ? parse(text, path, tag, error) : NULL;
    free(text);
    return sky;
}

static void free_source(grove_source *source)
{
    free(source->name);
    free(source->patch);
}

double grove_sky_drop_weak(grove_sky *sky, double cutoff)
{
    int64_t kept = 0;
    double lost = 0;

    for (int64_t s = 0; s < sky->count; s++) {
        double flux = fabs(sky->sources[s].stokes[0]);
        if (flux < cutoff) {
            lost += flux;
            free_source(&sky->sources[s]);
        } else {
            sky->sources[kept++] = sky->sources[s];
        }
    }
    sky->count = kept;
    return lost;
}

void grove_sky_free(grove_sky *sky)
{
    if (!sky) {
        return;
    }
    for (int64_t s = 0; s < sky->count; s++) {
        free_source(&sky->sources[s]);
    }
    free(sky->sources);
    free(sky);
}
