/* Antenna layouts: positions of stations, from text files or of the arrays that Grove ships. */
#ifndef GROVE_NODES_COMMON_LAYOUT_H
#define GROVE_NODES_COMMON_LAYOUT_H

#include "base/error.h"

typedef struct {
    char *name;
    double position[3]; /* ITRF x, y, z in metres */
    double diameter;    /* effective dish diameter in metres; 0: not stated */
    char mount[16];     /* ALT-AZ, EQUATORIAL, X-Y, ... as Measurement Sets name them */
} grove_station;

typedef struct {
    char *name; /* of the array: from the file, else the file's name */
    grove_station *stations;
    int count;
} grove_layout;

/* Reads a layout. `what` is the path of an ITRF text file (lines "x y z [diameter [name [mount]]]"
 * and '#' comments; "# name: VLA" names the array), or the name of a shipped array (vla-a, vla-b,
 * vla-c, vla-d, meerkat, kat-7, wsrt), looked up as NAME.array in `folders` (NULL-terminated).
 * Messages have file:line:column, or list the known names. Limits: finite coordinates, unique
 * names, 1 to 100000 stations. Caller frees. NULL on failure. */
grove_layout *grove_layout_read(const char *what, const char *const *folders, grove_error *error);
grove_layout *grove_layout_parse(const char *text, const char *name, grove_error *error);
void grove_layout_free(grove_layout *layout);

#endif
