/* Sky models: sources from makesourcedb/DP3 text and Tigger .lsm.html files. */
#ifndef GROVE_NODES_SKY_SKY_H
#define GROVE_NODES_SKY_SKY_H

#include "base/error.h"
#include <stdbool.h>
#include <stdint.h>

enum { GROVE_SPECTRUM_TERMS = 8 };

typedef struct {
    char *name, *patch;                    /* patch may be "" */
    double ra, dec;                        /* J2000, radians */
    double stokes[4];                      /* I Q U V in Jy at the reference frequency; any sign */
    double reference_frequency;            /* Hz; 0: flat spectrum */
    int terms;                             /* of the spectrum, 0: flat */
    double spectrum[GROVE_SPECTRUM_TERMS]; /* a1, a2, ... (logarithmic) or c1, c2, ... (ordinary) */
    bool logarithmic;                      /* numerics.md "Spectra" */
    double rotation_measure;               /* rad / m^2 */
    double rotation_reference;             /* wavelength squared, m^2, of Q and U; 0: lambda = 0 */
    double major, minor, position_angle; /* FWHM and north through east, radians; 0 0 0: a point */
    bool absolute_angle; /* position angle relative to true north at the source, not to m */
} grove_source;

typedef struct {
    grove_source *sources;
    int64_t count;
} grove_sky;

/* The patch of all sources without the tag that patches are made by. */
#define GROVE_SKY_UNTAGGED "others"
/* Reads a sky model, whose format is recognised by its content. `tag`: patches are by this tag of
 * Tigger: where it is true, the source's cluster, or the source alone; where it has another value,
 * that value; all sources without it are one patch. NULL: the file's own patches. Caller frees.
 * NULL with messages with file:line:column for up to 20 errors. */
grove_sky *grove_sky_read(const char *path, const char *tag, grove_error *error);
/* The same from text, without a tag; `name` is the file name in messages. */
grove_sky *grove_sky_parse(const char *text, const char *name, grove_error *error);
/* Removes sources with |I| < cutoff (Jy, at the reference frequency); returns the sum of their |I|.
 */
double grove_sky_drop_weak(grove_sky *sky, double cutoff);
void grove_sky_free(grove_sky *sky);

#endif
