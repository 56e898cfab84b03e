/* sky_model: sources from a file. */
#include "plugin.h"

#include "nodes/common/report.h"
#include "nodes/sky/sky.h"
#include "util.h"

#include <stdlib.h>
#include <string.h>

static const grove_port options[] = {
    {"file", GROVE_FILE,
     "sky model in makesourcedb (BBS, DP3) text or Tigger's .lsm.html; recognised by content"},
    {"tag", GROVE_TEXT,
     "for .lsm.html: patches by this tag, such as dE: each cluster of sources with the tag, or, if "
     "its value is not true, the sources with the same value; all other sources are the patch "
     "others",
     .initial = "\"\""},
    {"choose", GROVE_TEXT,
     "names of patches or sources, separated by commas: the member chosen is 1 for these",
     .initial = "\"\""},
    {"cutoff", GROVE_FLUX,
     "sources whose Stokes I at their reference frequency is weaker are left out, Jy",
     .initial = "0Jy"},
    {0},
};

/* A member that varies with source: `length` doubles per source, filled in by `get`. */
typedef struct {
    const char *name;
    int length; /* 0: a scalar */
    grove_unit unit;
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

/* ---- patches ---- */

/* Most patches that have a member each. */
enum { PATCH_MEMBERS = 4096 };

typedef struct {
    const char *patch; /* "": none */
    int64_t source;
} patched;

static int compare(const void *a, const void *b)
{
    const patched *x = a, *y = b;
    int order = strcmp(x->patch, y->patch);

    return order ? order : x->source < y->source ? -1 : 1;
}

/* Of each source the number of its patch, counted as they first occur; a source of no patch is a
 * patch of its own, even if a patch or another source has its name. Returns how many there are;
 * their names are the names of the sources `first`. */
static int64_t number_patches(const grove_sky *sky, double *number, int64_t *first)
{
    patched *order = grove_alloc(((size_t)sky->count + 1) * sizeof(*order));
    int64_t *leader = grove_alloc(((size_t)sky->count + 1) * sizeof(*leader)), count = 0;

    for (int64_t s = 0; s < sky->count; s++)
        order[s] = (patched){sky->sources[s].patch, s};
    qsort(order, (size_t)sky->count, sizeof(*order), compare);
    for (int64_t i = 0; i < sky->count; i++)
        leader[order[i].source] =
            i && *order[i].patch && !strcmp(order[i].patch, order[i - 1].patch)
                ? leader[order[i - 1].source]
                : order[i].source;
    for (int64_t s = 0; s < sky->count; s++) {
        if (leader[s] == s)
            first[count] = s;
        number[s] = leader[s] == s ? (double)count++ : number[leader[s]];
    }
    free(order);
    free(leader);
    return count;
}

static int add_patches(grove_node *node, const grove_sky *sky)
{
    static const grove_form plain = {.shape = GROVE_SCALAR, .precision = GROVE_PRECISION_DOUBLE};
    size_t size = (size_t)sky->count + 1;
    double *number = grove_alloc(size * sizeof(*number));
    int64_t *first = grove_alloc(size * sizeof(*first));
    const char **names = grove_alloc(size * sizeof(*names));
    bool *is_patch = grove_alloc(size * sizeof(*is_patch)); /* a source may have a patch's name */
    grove_axis axis = {
        .name = "patch", .size = number_patches(sky, number, first), .labels = names};

    for (int64_t i = 0; i < axis.size; i++) {
        const grove_source *source = &sky->sources[first[i]];
        is_patch[i] = *source->patch != 0;
        names[i] = is_patch[i] ? source->patch : source->name;
    }
    grove_node_set_user(node, is_patch);
    int code = grove_node_add_axis(node, &axis);
    if (!code)
        code = grove_node_add_member(node, "patch", "source", &plain, number,
                                     "number of the source's patch");
    for (int64_t i = 0; i < axis.size && axis.size <= PATCH_MEMBERS && !code; i++) {
        char *member = grove_format("patch(%s)", names[i]);
        if (is_patch[i])
            code = grove_node_add_member(node, member, "source", &plain, NULL,
                                         "1: the source belongs to that patch; 0: to another");
        free(member);
    }
    free(number);
    free(first);
    free(names);
    return code;
}

/* ---- sources that are chosen ---- */

/* Sets the sources of the patch, or the source, of that name; returns how many. */
static int64_t choose_name(const grove_sky *sky, const char *name, size_t length, double *chosen)
{
    int64_t found = 0;

    for (int patches = 1; patches >= 0 && !found; patches--)
        for (int64_t s = 0; s < sky->count; s++) {
            const char *own = patches ? sky->sources[s].patch : sky->sources[s].name;
            if (strlen(own) == length && !memcmp(own, name, length)) {
                chosen[s] = 1;
                found++;
            }
        }
    return found;
}

/* The possible names, for messages: patches, or sources where there are none. */
static char *list_names(const grove_node *node)
{
    const grove_axis *axis = grove_node_axis(node, "patch");
    grove_text text = {0};
    enum { MOST = 20 };

    axis = axis ? axis : grove_node_axis(node, "source");
    for (int64_t i = 0; i < axis->size && i < MOST; i++)
        grove_text_add(&text, "%s%s", i ? ", " : "", axis->labels[i]);
    if (axis->size > MOST)
        grove_text_add(&text, " and %lld more", (long long)(axis->size - MOST));
    return text.at ? text.at : grove_strdup("none");
}

static int add_chosen(grove_node *node, const grove_sky *sky)
{
    static const grove_form plain = {.shape = GROVE_SCALAR, .precision = GROVE_PRECISION_DOUBLE};
    const char *at = grove_node_text(node, "choose");
    double *chosen = grove_alloc(((size_t)sky->count + 1) * sizeof(*chosen));
    int code = 0;

    for (at += strspn(at, ", "); *at && !code; at += strspn(at, ", ")) {
        size_t length = strcspn(at, ",");
        const char *next = at + length;
        while (length && at[length - 1] == ' ')
            length--;
        if (!choose_name(sky, at, length, chosen)) {
            char *names = list_names(node);
            code = grove_node_fail_option(node, "choose",
                                          "there is no patch or source '%.*s'; it has %s",
                                          (int)length, at, names);
            free(names);
        }
        at = next;
    }
    if (!code && grove_node_text(node, "choose")[0])
        code = grove_node_add_member(node, "chosen", "source", &plain, chosen,
                                     "1: the source is one that choose= names; 0: it is not");
    free(chosen);
    return code;
}

static void free_patches(grove_node *node)
{
    free(grove_node_user(node));
}

/* The member patch(NAME). */
static int read_patch(const grove_call *call, const char *member, grove_array *out)
{
    const grove_node *node = call->node;
    const grove_axis *patch = grove_node_axis(node, "patch");
    const double *number = grove_node_member_data(node, "patch");
    const bool *is_patch = grove_node_user(node);
    const char *name = member + strlen("patch(");
    size_t length = strlen(name) - 1;
    int64_t which = 0;
    double *to = out->data;

    while (!is_patch[which] || strlen(patch->labels[which]) != length ||
           memcmp(patch->labels[which], name, length) != 0)
        which++;
    for (int64_t i = 0; i < out->cells; i++)
        to[i] = number[out->range[0].first + i] == (double)which;
    return 0;
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
    bool patches = false;
    for (int64_t s = 0; s < sky->count; s++)
        patches = patches || *sky->sources[s].patch;
    if (!code && patches)
        code = add_patches(node, sky);
    return code ? code : add_chosen(node, sky);
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
    const char *path = grove_node_text(node, "file"), *tag = grove_node_text(node, "tag");
    grove_error *error = grove_error_new();
    grove_sky *sky = grove_sky_read(path, *tag ? tag : NULL, error);
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
    .doc =
        "Sources from a sky model file: points and Gaussians with spectra and polarisation.\nThe "
        "sky has the patches or clusters of the file; a source without one is a patch of its own, "
        "with its own name, even if a patch or another source has that name.",
    .output_doc =
        "a sky model: members radec, stokes, reference_frequency, spectrum, logarithmic, "
        "rotation_measure, rotation_reference, shape, absolute_angle; with patches "
        "patch, the number of each source's patch, and patch(\"NAME\"), 1 for the sources "
        "of that patch, else 0 (where there are at most 4096 patches); with choose= chosen",
    .group = "data",
    .options = options,
    .kind = GROVE_CLASS_DATA,
    .object = "sky",
    .data = &(const grove_data_functions){.open = open_sky, .read = read_patch},
    .close = free_patches,
    .example = "S = sky_model(\"3C147.lsm.html\")",
};
