/* Sky models in the text format of makesourcedb, BBS, DP3 and WSClean. A header names the columns
 * ("# (Name, Type, ...) = format" or "format = Name, Type, ..."). Each further line is a source, or
 * a patch when its Name is empty. Meanings and defaults follow DP3, except that a flux density, the
 * axes of a Gaussian and positions are mandatory (DP3 assumes 1 Jy, 1 arcsec and 0). */
#include "nodes/sky/sky_reader.h"

#include "nodes/sky/columns.h"
#include "util.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define DEGREE      (M_PI / 180)
#define ARCSEC      (DEGREE / 3600)
#define LIGHT_SPEED 299792458.0

enum { MAX_NUMBER = 64 };

typedef enum {
    NAME,
    TYPE,
    PATCH,
    REFERENCE_TYPE,
    RA,
    DEC,
    FLUX_I,
    FLUX_Q,
    FLUX_U,
    FLUX_V,
    FREQUENCY,
    SPECTRUM,
    LOGARITHMIC,
    MAJOR,
    MINOR,
    ORIENTATION,
    ABSOLUTE,
    ROTATION,
    FRACTION,
    ANGLE,
    WAVELENGTH,
    KNOWN /* columns with any other name are ignored */
} field;

static const char *const field_names[KNOWN] = {"Name",
                                               "Type",
                                               "Patch",
                                               "RefType",
                                               "Ra",
                                               "Dec",
                                               "I",
                                               "Q",
                                               "U",
                                               "V",
                                               "ReferenceFrequency",
                                               "SpectralIndex",
                                               "LogarithmicSI",
                                               "MajorAxis",
                                               "MinorAxis",
                                               "Orientation",
                                               "OrientationIsAbsolute",
                                               "RotationMeasure",
                                               "PolarizedFraction",
                                               "PolarizationAngle",
                                               "ReferenceWavelength"};

typedef struct {
    grove_sky_reader *in;
    grove_scan *scan;
    grove_piece header; /* the list of columns; at is NULL before it is found */
    grove_columns columns;
} bbs;

typedef struct {
    grove_piece value[KNOWN];
    grove_piece line;
} row;

static bool given(const row *r, field which)
{
    return r->value[which].length > 0;
}

/* Copies a grove_piece to a text of its own, for the number parsers; false if it is too long for a
 * number. */
static bool copy_short(grove_piece value, char text[MAX_NUMBER])
{
    if (value.length >= MAX_NUMBER) {
        return false;
    }
    memcpy(text, value.at, value.length);
    text[value.length] = 0;
    return true;
}

/* A number, or `other` if it is not given. */
static double read_number(bbs *b, const row *r, field which, double other)
{
    grove_piece value = r->value[which];
    double number = other;
    if (value.length && !grove_piece_number(value, &number)) {
        grove_scan_fault(b->scan, value.at, value.length, "%s: '%.*s' is not a finite number",
                         field_names[which], grove_piece_shown(value), value.at);
        return other;
    }
    return number;
}

static bool read_bool(bbs *b, const row *r, field which, bool other)
{
    static const char *const yes[] = {"true", "t", "yes", "y", "1"};
    static const char *const no[] = {"false", "f", "no", "n", "0"};
    grove_piece value = r->value[which];
    for (int k = 0; k < 5 && value.length; k++) {
        if (grove_piece_is(value, yes[k])) {
            return true;
        }
        if (grove_piece_is(value, no[k])) {
            return false;
        }
    }
    if (value.length) {
        grove_scan_fault(b->scan, value.at, value.length, "%s: '%.*s' is neither true nor false",
                         field_names[which], grove_piece_shown(value), value.at);
    }
    return other;
}

/* Ra or Dec: a plain number is in degrees. In makesourcedb colons mean hours, so Dec cannot have
 * them. In galactic coordinates Ra is l, which has no hours. */
static double read_angle(bbs *b, const row *r, field which, grove_frame frame)
{
    bool galactic = which == RA && frame == GROVE_FRAME_GALACTIC;
    const char *forms = galactic      ? "in GALACTIC it is l, 12d34m56.7s, dd:mm:ss.s or degrees"
                        : which == RA ? "hh:mm:ss.s, 12h34m56.7s or degrees"
                                      : "+dd.mm.ss.s, 12d34m56.7s or degrees";
    grove_piece value = r->value[which];
    char text[MAX_NUMBER];
    double angle = 0;
    if (!value.length) {
        grove_scan_fault(b->scan, r->line.at, r->line.length, "%s: missing; %s", field_names[which],
                         forms);
        return 0;
    }
    bool good = copy_short(value, text) && (which == RA || !strchr(text, ':')) &&
                !(galactic && strchr(text, 'h'));
    if (good && grove_piece_number(value, &angle)) {
        angle *= DEGREE;
    } else if (good) {
        const char *end = grove_parse_angle(text, which == RA && !galactic, &angle);
        good = end == text + value.length && isfinite(angle);
    }
    if (!good) {
        grove_scan_fault(b->scan, value.at, value.length, "%s: '%.*s' is not an angle; %s",
                         field_names[which], grove_piece_shown(value), value.at, forms);
        return 0;
    }
    double max = which == RA ? 2 * M_PI : M_PI / 2;
    if (fabs(angle) > max * (1 + 1e-12)) {
        grove_scan_fault(b->scan, value.at, value.length,
                         "%s: '%.*s' is out of range; at most %s degrees", field_names[which],
                         grove_piece_shown(value), value.at, which == RA ? "360" : "90");
        return 0;
    }
    return which == RA && angle < 0 ? angle + 2 * M_PI : angle;
}

static void read_spectrum(bbs *b, const row *r, grove_source *source)
{
    grove_piece value = r->value[SPECTRUM];
    const char *at = value.at, *end = at + value.length;
    if (value.length >= 2 && *at == '[' && end[-1] == ']') {
        at++;
        end--;
    }
    while (grove_piece_trim(at, end).length) {
        const char *comma = memchr(at, ',', (size_t)(end - at));
        grove_piece term = grove_piece_trim(at, comma ? comma : end);
        double number = 0;
        if (source->terms == GROVE_SPECTRUM_TERMS) {
            grove_scan_fault(b->scan, value.at, value.length,
                             "SpectralIndex: too many terms; at most %d", GROVE_SPECTRUM_TERMS);
            return;
        }
        if (!grove_piece_number(term, &number)) {
            grove_scan_fault(b->scan, value.at, value.length,
                             "SpectralIndex: '%.*s' is not a list of numbers; [a, b, ...]",
                             grove_piece_shown(value), value.at);
            return;
        }
        source->spectrum[source->terms++] = number;
        at = comma ? comma + 1 : end;
    }
    source->reference_frequency = read_number(b, r, FREQUENCY, 0);
    source->logarithmic = read_bool(b, r, LOGARITHMIC, true);
    if (source->reference_frequency < 0 || (source->terms && source->reference_frequency <= 0)) {
        grove_piece where = given(r, FREQUENCY) ? r->value[FREQUENCY] : value;
        grove_scan_fault(b->scan, where.at, where.length,
                         "ReferenceFrequency: a spectrum needs a positive one, in Hz");
        source->terms = 0;
    }
}

static void read_shape(bbs *b, const row *r, grove_source *source)
{
    grove_piece type = r->value[TYPE];
    if (!type.length || grove_piece_is(type, "POINT")) {
        return;
    }
    if (!grove_piece_is(type, "GAUSSIAN")) {
        grove_scan_fault(b->scan, type.at, type.length,
                         "Type: '%.*s' is not supported; it can be POINT or GAUSSIAN",
                         grove_piece_shown(type), type.at);
        return;
    }
    for (field k = MAJOR; k <= MINOR; k++) {
        double axis = read_number(b, r, k, 0);
        if (!given(r, k) || axis < 0) {
            grove_piece where = given(r, k) ? r->value[k] : r->line;
            grove_scan_fault(b->scan, where.at, where.length,
                             "%s: a GAUSSIAN needs one that is not negative, in arcsec",
                             field_names[k]);
        }
        *(k == MAJOR ? &source->major : &source->minor) = axis * ARCSEC;
    }
    source->position_angle = read_number(b, r, ORIENTATION, 0) * DEGREE;
    source->absolute_angle = read_bool(b, r, ABSOLUTE, false);
}

/* Converts Q and U given at a wavelength to the reference frequency, keeping their ratio to I, as
 * makesourcedb does. */
static void rotate_from_wavelength(bbs *b, const row *r, grove_source *source)
{
    bool own = given(r, WAVELENGTH);
    double wavelength = own ? read_number(b, r, WAVELENGTH, 0) : 0;
    if (!own && source->reference_frequency > 0) {
        wavelength = LIGHT_SPEED / source->reference_frequency;
    }
    if (wavelength < 0 || (!own && wavelength == 0) || (source->terms && wavelength == 0)) {
        grove_piece where = r->value[own ? WAVELENGTH : ROTATION];
        grove_scan_fault(b->scan, where.at, where.length,
                         "ReferenceWavelength: a rotation measure with Q and U needs a positive "
                         "one in m, or a ReferenceFrequency");
        return;
    }
    source->rotation_reference = wavelength * wavelength;
    double scale = own ? grove_sky_spectrum(source, LIGHT_SPEED / wavelength) : 1;
    if (!isfinite(scale) || scale == 0) {
        grove_piece where = r->value[WAVELENGTH];
        grove_scan_fault(
            b->scan, where.at, where.length,
            "ReferenceWavelength: the spectrum vanishes there; give another wavelength");
        return;
    }
    source->stokes[1] /= scale;
    source->stokes[2] /= scale;
}

static void read_polarization(bbs *b, const row *r, grove_source *source)
{
    bool stokes = given(r, FLUX_Q) || given(r, FLUX_U);
    bool fraction = given(r, FRACTION) || given(r, ANGLE);
    grove_piece where = r->value[ROTATION];
    source->rotation_measure = read_number(b, r, ROTATION, 0);
    if (!given(r, ROTATION)) {
        if (fraction || given(r, WAVELENGTH)) {
            where = r->value[given(r, FRACTION) ? FRACTION : given(r, ANGLE) ? ANGLE : WAVELENGTH];
            grove_scan_fault(b->scan, where.at, where.length,
                             "RotationMeasure: missing; PolarizedFraction, PolarizationAngle and "
                             "ReferenceWavelength require one");
        }
    } else if (stokes && fraction) {
        grove_scan_fault(b->scan, where.at, where.length,
                         "RotationMeasure: both Q, U and PolarizedFraction, PolarizationAngle are "
                         "given; give one pair");
    } else if (stokes) {
        rotate_from_wavelength(b, r, source);
    } else if (fraction) {
        double part = read_number(b, r, FRACTION, 0), angle = read_number(b, r, ANGLE, 0);
        if (!given(r, FRACTION) || !given(r, ANGLE) || read_number(b, r, WAVELENGTH, 0) != 0) {
            grove_scan_fault(b->scan, where.at, where.length,
                             "RotationMeasure: PolarizedFraction and PolarizationAngle require "
                             "each other, at ReferenceWavelength 0");
        }
        source->stokes[1] = source->stokes[0] * part * cos(2 * angle);
        source->stokes[2] = source->stokes[0] * part * sin(2 * angle);
    }
}

static bool read_header(bbs *b, grove_piece header)
{
    static const field needed[] = {NAME, RA, DEC, FLUX_I};
    b->header = header;
    bool good = grove_columns_read(&b->columns, header);
    for (size_t k = 0; good && k < sizeof needed / sizeof *needed; k++) {
        if (!grove_columns_have(&b->columns, needed[k])) {
            grove_scan_fault(b->scan, header.at, header.length,
                             "header: there is no column '%s'; Name, Ra, Dec and I must be there",
                             field_names[needed[k]]);
            good = false;
        }
    }
    return good;
}

/* To J2000: the direction, and angles from north: of linear polarisation and, if absolute, the
 * position angle. */
static void change_frame(grove_source *source, grove_frame frame)
{
    double radec[2] = {source->ra, source->dec}, q = source->stokes[1], u = source->stokes[2];
    double north = grove_frame_north(frame, radec), c = cos(2 * north), s = sin(2 * north);

    if (frame == GROVE_FRAME_J2000) {
        return;
    }
    grove_frame_to_j2000(frame, radec);
    source->ra = radec[0];
    source->dec = radec[1];
    source->stokes[1] = c * q - s * u;
    source->stokes[2] = s * q + c * u;
    source->position_angle += source->absolute_angle ? north : 0;
}

static void read_row(bbs *b, grove_piece line)
{
    row r = {.line = line};
    if (!grove_columns_split(&b->columns, line, r.value)) {
        return;
    }
    if (!given(&r, NAME)) {
        if (!given(&r, PATCH)) {
            grove_scan_fault(b->scan, line.at, line.length,
                             "source: neither Name nor Patch; a source has a Name");
        }
        return;
    }
    int faults = b->scan->faults;
    grove_source source = {0};
    grove_piece frame = r.value[REFERENCE_TYPE];
    grove_frame known =
        frame.length ? grove_frame_named(frame.at, frame.length) : GROVE_FRAME_J2000;
    if (known == GROVE_FRAME_UNKNOWN) {
        grove_scan_fault(b->scan, frame.at, frame.length,
                         "RefType: '%.*s' is not supported; it can be J2000, B1950 or GALACTIC",
                         grove_piece_shown(frame), frame.at);
    }
    source.ra = read_angle(b, &r, RA, known);
    source.dec = read_angle(b, &r, DEC, known);
    if (!given(&r, FLUX_I)) {
        grove_scan_fault(b->scan, line.at, line.length, "I: missing; a flux density in Jy");
    }
    for (int k = 0; k < 4; k++) {
        source.stokes[k] = read_number(b, &r, (field)(FLUX_I + k), 0);
    }
    read_spectrum(b, &r, &source);
    read_shape(b, &r, &source);
    read_polarization(b, &r, &source);
    if (b->scan->faults == faults) {
        change_frame(&source, known);
        source.name = grove_piece_copy(r.value[NAME]);
        source.patch = grove_piece_copy(r.value[PATCH]);
        grove_sky_add(b->in, &source, line);
    }
}

static bool same(grove_piece a, grove_piece b)
{
    return a.length == b.length && memcmp(a.at, b.at, a.length) == 0;
}

void grove_sky_read_bbs(grove_sky_reader *in)
{
    bbs b = {.in = in, .scan = &in->scan};
    b.columns = (grove_columns){.scan = b.scan, .names = field_names, .known = KNOWN};
    for (const char *at = in->scan.text; *at && !grove_scan_stopped(&in->scan);) {
        const char *end = at + strcspn(at, "\n");
        grove_piece line = grove_piece_trim(at, end);
        at = *end ? end + 1 : end;
        if (!line.length) {
            continue;
        }
        grove_piece header = grove_columns_find(line);
        if (header.at && !b.header.at) {
            if (!read_header(&b, header)) {
                return;
            }
        } else if (header.at && !same(header, b.header)) {
            grove_scan_fault(b.scan, header.at, header.length,
                             "header: it differs from the first one; a file has one header");
        } else if (!header.at && *line.at != '#') {
            if (!b.header.at) {
                grove_scan_fault(b.scan, line.at, line.length,
                                 "sky model: the format is not known; a line \"# (Name, Type, "
                                 "Ra, Dec, I, ...) = format\" first, or a Tigger .lsm.html");
                return;
            }
            read_row(&b, line);
        }
    }
}
