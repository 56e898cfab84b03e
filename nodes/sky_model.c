/* sky_model: sources from a file. */
#include "plugin.h"

#include "base/error.h"
#include "base/memory.h"
#include "io/sky.h"
#include "nodes/report.h"

#include <stdlib.h>
#include <string.h>

static const grove_option options[] = {
    {"file", GROVE_FILE, NULL,
     "sky model in makesourcedb (BBS, DP3) text or Tigger's .lsm.html; recognised by content"},
    {"cutoff", GROVE_FLUX, "0Jy",
     "sources whose Stokes I at their reference frequency is weaker are left out, Jy"},
    {0},
};

/* A member that varies with source: `length` doubles per source, filled in by `get`. */
typedef struct {
    const char *name;
    int length; /* 0: a scalar */
    grove_dimension unit;
    void (*get)(const grove_source *source, double *to, int length);
    const char *doc;
} column;

static void get_radec(const grove_source *s, double *to, int length)
{
    (void)length;
    to[0] = s->ra;
    to[1] = s->dec;
}
static void get_stokes(const grove_source *s, double *to, int length)
{
    memcpy(to, s->stokes, (size_t)length * sizeof(double));
}
static void get_reference(const grove_source *s, double *to, int length)
{
    (void)length;
    *to = s->terms ? s->reference_frequency : 0;
}
static void get_spectrum(const grove_source *s, double *to, int length)
{
    for (int k = 0; k < length && k < s->terms; k++)
        to[k] = s->spectrum[k];
}
static void get_logarithmic(const grove_source *s, double *to, int length)
{
    (void)length;
    *to = s->logarithmic;
}
static void get_measure(const grove_source *s, double *to, int length)
{
    (void)length;
    *to = s->rotation_measure;
}
static void get_rotation_reference(const grove_source *s, double *to, int length)
{
    (void)length;
    *to = s->rotation_reference;
}
static void get_shape(const grove_source *s, double *to, int length)
{
    (void)length;
    to[0] = s->major;
    to[1] = s->minor;
    to[2] = s->position_angle;
}
static void get_absolute(const grove_source *s, double *to, int length)
{
    (void)length;
    *to = s->absolute_angle;
}

static int add_column(grove_node *node, const grove_sky *sky, const column *what)
{
    size_t numbers = what->length ? (size_t)what->length : 1;
    double *data = grove_try_alloc((size_t)sky->count * numbers + 1, sizeof(double));
    grove_form form = {.shape = what->length ? GROVE_VECTOR : GROVE_SCALAR,
                       .vector = what->length,
                       .precision = GROVE_PRECISION_DOUBLE,
                       .unit = what->unit};
    int code;

    if (!data)
        return grove_node_fail(node, GROVE_NO_MEMORY, "no memory for %lld sources",
                               (long long)sky->count);
    for (int64_t s = 0; s < sky->count; s++)
        what->get(&sky->sources[s], data + (size_t)s * numbers, what->length);
    code = grove_node_add_member(node, what->name, "source", &form, data, what->doc);
    free(data);
    return code;
}

static int publish(grove_node *node, const grove_sky *sky)
{
    int terms = 1, code;
    const char **names = grove_try_alloc((size_t)sky->count + 1, sizeof(*names));
    grove_axis axis = {.name = "source", .size = sky->count};

    if (!names)
        return grove_node_fail(node, GROVE_NO_MEMORY, "no memory for %lld sources",
                               (long long)sky->count);
    for (int64_t s = 0; s < sky->count; s++) {
        names[s] = sky->sources[s].name;
        terms = sky->sources[s].terms > terms ? sky->sources[s].terms : terms;
    }
    axis.labels = names;
    code = grove_node_add_axis(node, &axis);
    free(names);
    const column columns[] = {
        {"radec", 2, {.rad = 1}, get_radec, "J2000 right ascension and declination, rad"},
        {"stokes", 4, {.Jy = 1}, get_stokes, "I, Q, U, V at the reference frequency, Jy"},
        {"reference_frequency",
         0,
         {.s = -1},
         get_reference,
         "frequency to which the spectrum refers, Hz; 0: a flat spectrum"},
        {"spectrum",
         terms,
         {0},
         get_spectrum,
         "terms of the spectrum; see brightness (ordinary ones are in Jy)"},
        {"logarithmic", 0, {0}, get_logarithmic, "1: the spectrum is logarithmic; 0: ordinary"},
        {"rotation_measure", 0, {.rad = 1, .m = -2}, get_measure, "rotation measure, rad/m^2"},
        {"rotation_reference",
         0,
         {.m = 2},
         get_rotation_reference,
         "squared wavelength at which Q and U are as given, m^2"},
        {"shape",
         3,
         {.rad = 1},
         get_shape,
         "full widths at half maximum and position angle, rad; 0 0 0: a point"},
        {"absolute_angle",
         0,
         {0},
         get_absolute,
         "1: the position angle counts from true north at the source; 0: from the m axis"},
    };
    for (size_t i = 0; i < sizeof(columns) / sizeof(columns[0]) && !code; i++)
        code = add_column(node, sky, &columns[i]);
    return code;
}

static void drop_weak(grove_node *node, grove_sky *sky)
{
    double cutoff = grove_node_number(node, "cutoff");
    int64_t count = sky->count;
    double lost = cutoff > 0 ? grove_sky_drop_weak(sky, cutoff) : 0;

    if (cutoff > 0)
        grove_node_note(node, "%lld of %lld sources, together %.6g Jy, are weaker than the cutoff",
                        (long long)(count - sky->count), (long long)count, lost);
    if (count && !sky->count)
        grove_node_warn(node, "the cutoff of %g Jy leaves none of the %lld sources", cutoff,
                        (long long)count);
}

static int open_sky(grove_node *node)
{
    const char *path = grove_node_text(node, "file");
    grove_error *error = grove_error_new();
    grove_sky *sky = grove_sky_read(path, error);
    int code = 0;

    if (sky) {
        grove_node_add_identity(node, path);
        drop_weak(node, sky);
        code = publish(node, sky);
    } else {
        code = report_errors(node, "file", error);
    }
    grove_sky_free(sky);
    grove_error_free(error);
    return code;
}

GROVE_CLASS(sky_model) = {
    GROVE_CLASS_HEAD(sky_model),
    .doc = "Sources from a sky model file: points and Gaussians with spectra and polarisation.",
    .output_doc = "a sky model: members radec, stokes, reference_frequency, spectrum, logarithmic, "
                  "rotation_measure, rotation_reference, shape, absolute_angle",
    .group = "data",
    .options = options,
    .kind = GROVE_CLASS_DATA,
    .object = "sky",
    .open = open_sky,
    .example = "S = sky_model(\"3C147.lsm.html\")",
};
