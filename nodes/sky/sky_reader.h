/* Declarations that the readers of sky model formats share. */
#ifndef GROVE_NODES_SKY_SKY_READER_H
#define GROVE_NODES_SKY_SKY_READER_H

#include "nodes/common/scan.h"
#include "nodes/sky/sky.h"

#include <stddef.h>

typedef struct {
    grove_scan scan;
    grove_sky *sky;
    size_t capacity;
    const char *tag; /* as in grove_sky_read */
    bool tagged;     /* a source has it */
} grove_sky_reader;

/* Appends a source; takes ownership of its name and patch. Reports an error at `place` when a
 * number has overflowed. */
void grove_sky_add(grove_sky_reader *in, const grove_source *source, grove_piece place);
/* I(nu) / I(nu0) of a source's spectrum (numerics.md "Spectra"). */
double grove_sky_spectrum(const grove_source *source, double frequency);

/* The formats. Each reads all of the text of `in` and reports every error. */
void grove_sky_read_bbs(grove_sky_reader *in);
void grove_sky_read_lsm(grove_sky_reader *in);

#endif
