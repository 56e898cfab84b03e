/* Sky models that Tigger saves as .lsm.html. Elements with an attribute mdltype are objects: with
 * mdlval a plain value, without one a compound of the objects inside it. mdlattr names the part of
 * the enclosing object that an object is; those without it are its parts in the class's order.
 * Everything else in the HTML is only for people.
 *
 * Meanings (Tigger's ModelClasses, and Meow and Siamese of the MeqTrees Cattery that evaluate
 * them): angles in radians; a Gaussian's ex and ey are FWHM, ex along pa, which is north through
 * east on the l, m plane; the spectrum is I (nu/nu0)^(s0 + s1 ln(nu/nu0) + ...), natural
 * logarithms, for all Stokes parameters; the Q and U of a PolarizationWithRM are those at its
 * freq0. Meow turns Q + iU by RM lambda^2 only; the rotation here is 2 RM lambda^2, the usual
 * definition. */
#include "nodes/sky/html.h"
#include "nodes/sky/sky_reader.h"

#include "util.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#define LIGHT_SPEED 299792458.0

enum { MAX_DEPTH = 256, MAX_PARTS = 8 };

/* Classes with numbers as parts, and lists. OTHER and its contents are ignored. */
typedef enum {
    SOURCE,
    POSITION,
    FLUX,
    POLARIZATION,
    POLARIZATION_RM,
    SPECTRAL_INDEX,
    GAUSSIAN,
    LIST,
    TUPLE,
    OTHER
} class;

static const struct {
    const char *name;
    const char *parts[MAX_PARTS];
} classes[OTHER] = {
    [SOURCE] = {"Source", {"name", "pos", "flux", "spectrum", "shape"}},
    [POSITION] = {"Position", {"ra", "dec"}},
    [FLUX] = {"Flux", {"I"}},
    [POLARIZATION] = {"Polarization", {"I", "Q", "U", "V"}},
    [POLARIZATION_RM] = {"PolarizationWithRM", {"I", "Q", "U", "V", "rm", "freq0"}},
    [SPECTRAL_INDEX] = {"SpectralIndex", {"spi", "freq0"}},
    [GAUSSIAN] = {"Gaussian", {"ex", "ey", "pa"}},
    [LIST] = {"list", {NULL}},
    [TUPLE] = {"tuple", {NULL}},
};

/* The parts of a source that a class can be. */
static const int part_of_source[OTHER + 1] = {
    [POSITION] = 1,        [FLUX] = 2,           [POLARIZATION] = 2,
    [POLARIZATION_RM] = 2, [SPECTRAL_INDEX] = 3, [GAUSSIAN] = 4};

/* An open element. Elements that are not objects have class OTHER and `object` false. */
typedef struct {
    grove_piece element; /* its name */
    grove_piece place;   /* the whole tag */
    class class;
    bool object;
    int part, next; /* its part of the enclosing object, or -1; next without mdlattr */
    double value[MAX_PARTS];
    bool have[MAX_PARTS];
} element;

typedef struct {
    grove_sky_reader *in;
    grove_scan *scan;
    element open[MAX_DEPTH];
    int depth;
    grove_source source;              /* the source being read */
    double spi[GROVE_SPECTRUM_TERMS]; /* of the spectrum being read, if it is a list */
    int terms;
    char *name, *patch, *tag; /* the tag's value */
    bool position, flux;
} lsm;

/* The part of `owner` that a tag gives, or -1. */
static int find_part(element *owner, const grove_tag *t)
{
    if (owner->class == OTHER) {
        return -1;
    }
    if (!t->attribute.at) {
        return owner->next < MAX_PARTS ? owner->next++ : MAX_PARTS;
    }
    for (int k = 0; k < MAX_PARTS && classes[owner->class].parts[k]; k++) {
        if (grove_piece_is(t->attribute, classes[owner->class].parts[k])) {
            return k;
        }
    }
    return -1;
}

/* The innermost open object, or NULL. */
static element *innermost(lsm *m)
{
    for (int k = m->depth - 1; k >= 0; k--) {
        if (m->open[k].object) {
            return &m->open[k];
        }
    }
    return NULL;
}

static void take_value(lsm *m, const grove_tag *t)
{
    element *owner = innermost(m);
    if (!owner || owner->class == OTHER) {
        return;
    }
    int part = find_part(owner, t);
    if (owner->class == SOURCE) {
        if (part == 0 && !m->name) {
            m->name = grove_html_text(t->value);
        } else if (t->attribute.at && grove_piece_is(t->attribute, "cluster") && !m->patch) {
            m->patch = grove_html_text(t->value);
        }
        if (m->in->tag && t->attribute.at && grove_piece_is(t->attribute, m->in->tag) && !m->tag) {
            m->tag = grove_html_text(t->value);
        }
        return;
    }
    bool list = owner->class == LIST || owner->class == TUPLE;
    if (part < 0 || (!list && (part == MAX_PARTS || !classes[owner->class].parts[part]))) {
        return;
    }
    if (part == MAX_PARTS) { /* list items can be anything: only a spectrum is limited */
        owner->next = MAX_PARTS + 1;
        return;
    }
    double number = 0;
    if (grove_piece_number(grove_piece_trim(t->value.at, t->value.at + t->value.length), &number)) {
        owner->value[part] = number;
        owner->have[part] = true;
    } else if (!list && !grove_piece_is(t->value, "None")) {
        grove_scan_fault(m->scan, t->value.at, t->value.length,
                         "%s: %s '%.*s' is not a finite number", classes[owner->class].name,
                         classes[owner->class].parts[part], grove_piece_shown(t->value),
                         t->value.at);
        owner->have[part] = true;
    }
}

/* Checks that all parts of an object are present; reports the first that is missing. */
static bool complete(lsm *m, const element *e)
{
    const char *const *parts = classes[e->class].parts;
    for (int k = 0; k < MAX_PARTS && parts[k]; k++) {
        if (!e->have[k]) {
            grove_scan_fault(m->scan, e->place.at, e->place.length, "%s: %s is missing",
                             classes[e->class].name, parts[k]);
            return false;
        }
    }
    return true;
}

static void close_flux(lsm *m, const element *e)
{
    grove_source *source = &m->source;
    memcpy(source->stokes, e->value, sizeof source->stokes);
    if (e->class == POLARIZATION_RM) {
        double frequency = e->value[5];
        source->rotation_measure = e->value[4];
        if (frequency < 0 || (frequency == 0 && source->rotation_measure != 0)) {
            grove_scan_fault(m->scan, e->place.at, e->place.length,
                             "PolarizationWithRM: freq0 is not positive; a frequency in Hz");
        } else if (frequency > 0) {
            source->rotation_reference = pow(LIGHT_SPEED / frequency, 2);
        }
    }
    m->flux = true;
}

/* Tigger's exponents are for natural logarithms: ln x = ln 10 log10 x. */
static void close_spectrum(lsm *m, const element *e)
{
    double factor = 1;
    m->source.reference_frequency = e->value[1];
    m->source.logarithmic = true;
    m->source.terms = m->terms ? m->terms : 1;
    for (int k = 0; k < m->source.terms; k++) {
        m->source.spectrum[k] = factor * (m->terms ? m->spi[k] : e->value[0]);
        factor *= log(10);
    }
    if (e->value[1] <= 0) {
        grove_scan_fault(m->scan, e->place.at, e->place.length,
                         "SpectralIndex: freq0 is not positive; a frequency in Hz");
    }
}

/* Stores a list as the spi of a spectrum. */
static void close_list(lsm *m, const element *e, element *owner)
{
    if (owner->class != SPECTRAL_INDEX || e->part != 0) {
        return;
    }
    int terms = e->next > GROVE_SPECTRUM_TERMS ? 0 : e->next;
    for (int k = 0; k < terms; k++) {
        terms = e->have[k] ? terms : 0;
    }
    if (!terms) {
        grove_scan_fault(m->scan, e->place.at, e->place.length,
                         "SpectralIndex: spi is not a list of 1 to %d numbers",
                         GROVE_SPECTRUM_TERMS);
    }
    _Static_assert(sizeof m->spi == sizeof e->value, "a list is a spectrum");
    memcpy(m->spi, e->value, sizeof m->spi);
    m->terms = terms;
    owner->have[0] = true;
}

static void close_part(lsm *m, const element *e)
{
    grove_source *source = &m->source;
    if (!complete(m, e)) {
        m->position = m->position || e->class == POSITION;
        m->flux =
            m->flux || e->class == FLUX || e->class == POLARIZATION || e->class == POLARIZATION_RM;
        return;
    }
    switch (e->class) {
    case POSITION:
        source->ra = e->value[0] < 0 ? e->value[0] + 2 * M_PI : e->value[0];
        source->dec = e->value[1];
        m->position = true;
        if (fabs(e->value[0]) > 7 || fabs(source->dec) > M_PI / 2 * (1 + 1e-12)) {
            grove_scan_fault(m->scan, e->place.at, e->place.length,
                             "Position: out of range; right ascension and declination in "
                             "radians");
        }
        break;
    case FLUX:
    case POLARIZATION:
    case POLARIZATION_RM:
        close_flux(m, e);
        break;
    case SPECTRAL_INDEX:
        close_spectrum(m, e);
        break;
    case GAUSSIAN:
        source->major = e->value[0];
        source->minor = e->value[1];
        source->position_angle = e->value[2];
        if (source->major < 0 || source->minor < 0) {
            grove_scan_fault(m->scan, e->place.at, e->place.length,
                             "Gaussian: ex or ey is negative; FWHM in radians");
        }
        break;
    default:
        break;
    }
}

static void reset_source(lsm *m)
{
    free(m->name);
    free(m->patch);
    free(m->tag);
    m->name = m->patch = m->tag = NULL;
    m->source = (grove_source){0};
    m->position = m->flux = false;
}

/* The patch that the tag gives, if patches are by one. */
static void take_tag(lsm *m)
{
    bool has = m->tag && *m->tag && strcmp(m->tag, "False") != 0 && strcmp(m->tag, "None") != 0;
    m->in->tagged = m->in->tagged || has;
    if (!m->in->tag || (has && !strcmp(m->tag, "True"))) {
        return;
    }
    free(m->patch);
    m->patch = has ? m->tag : grove_strdup(GROVE_SKY_UNTAGGED);
    m->tag = has ? NULL : m->tag;
}

static void close_source(lsm *m, const element *e)
{
    const char *missing = !m->name ? "name" : !m->position ? "position" : !m->flux ? "flux" : NULL;
    if (missing) {
        grove_scan_fault(m->scan, e->place.at, e->place.length, "Source: its %s is missing",
                         missing);
    }
    if (!m->scan->code) {
        take_tag(m);
        m->source.name = m->name;
        m->source.patch = m->patch ? m->patch : grove_strdup("");
        m->name = m->patch = NULL;
        grove_sky_add(m->in, &m->source, e->place);
    }
    reset_source(m);
}

/* Closes the innermost element. */
static void close_element(lsm *m)
{
    const element *e = &m->open[--m->depth];
    if (!e->object) {
        return;
    }
    element *owner = innermost(m);
    if (e->class == SOURCE) {
        close_source(m, e);
    } else if (owner && (e->class == LIST || e->class == TUPLE)) {
        close_list(m, e, owner);
    } else if (owner && owner->class == SOURCE && e->part > 0 &&
               e->part == part_of_source[e->class]) {
        close_part(m, e);
    }
}

static void open_element(lsm *m, const grove_tag *t)
{
    if (m->depth == MAX_DEPTH) {
        grove_scan_fault(m->scan, t->place.at, t->place.length,
                         "sky model: elements are nested more than %d deep", MAX_DEPTH);
        m->scan->faults = GROVE_SCAN_FAULTS;
        return;
    }
    element *owner = innermost(m);
    element e = {.element = t->name, .place = t->place, .class = OTHER, .part = -1};
    e.object = t->type.at != NULL;
    for (int k = 0; k < OTHER && e.object; k++) {
        if (grove_piece_is(t->type, classes[k].name)) {
            e.class = (class)k;
        }
    }
    if (e.object && owner) {
        e.part = find_part(owner, t);
        if (e.class == SOURCE && owner->class != OTHER) {
            e.class = OTHER;
        }
        if (owner->class == SOURCE && e.part >= 1 && e.part <= 4 &&
            e.part != part_of_source[e.class]) {
            grove_scan_fault(m->scan, t->place.at, t->place.length,
                             "Source: %s '%.*s' is not supported", classes[SOURCE].parts[e.part],
                             grove_piece_shown(t->type), t->type.at);
            m->position = m->position || e.part == 1;
            m->flux = m->flux || e.part == 2;
        }
    }
    if (e.class == SOURCE) {
        reset_source(m);
    } else if (e.class == SPECTRAL_INDEX) {
        m->terms = 0;
    }
    m->open[m->depth++] = e;
}

static void end_tag(lsm *m, grove_piece name)
{
    for (int k = m->depth - 1; k >= 0; k--) {
        grove_piece open = m->open[k].element;
        if (open.length == name.length && strncasecmp(open.at, name.at, name.length) == 0) {
            while (m->depth > k) {
                close_element(m);
            }
            return;
        }
    }
}

void grove_sky_read_lsm(grove_sky_reader *in)
{
    lsm *m = grove_alloc(sizeof *m);
    bool model = false, whole = true;
    m->in = in;
    m->scan = &in->scan;
    const char *at = grove_html_find(in->scan.text);
    while (at && !grove_scan_stopped(m->scan)) {
        grove_tag t;
        const char *end = grove_html_read(at, &t);
        if (!end) {
            grove_scan_fault(m->scan, at, strcspn(at, "\n"),
                             "sky model: the file ends inside a tag");
            whole = false;
            break;
        }
        model = model || (t.type.at && grove_piece_is(t.type, "SkyModel"));
        if (t.closing) {
            end_tag(m, t.name);
        } else if (t.type.at && t.value.at) {
            take_value(m, &t);
        }
        if (!t.closing && !t.empty) {
            if (t.value.at) {
                t.type = (grove_piece){NULL, 0};
            }
            open_element(m, &t);
        }
        at = grove_html_find(end);
    }
    element *left = innermost(m);
    if (left && whole) {
        grove_scan_fault(m->scan, left->place.at, left->place.length,
                         "sky model: the end tag of this is missing; the file is cut off");
    }
    if (!model && !m->scan->code) {
        grove_scan_fault(m->scan, in->scan.text, 1,
                         "sky model: no element has mdltype=SkyModel; HTML as Tigger saves it");
    }
    reset_source(m);
    free(m);
}
