/* Colours: 0xAARRGGBB, not premultiplied. */
#ifndef GROVE_NODES_PLOT_COLOUR_H
#define GROVE_NODES_PLOT_COLOUR_H

#include "nodes/plot/plot.h"
#include <stdint.h>

typedef uint32_t grove_colour;

enum { GROVE_MAP_SIZE = 256 };

/* The colour map as a table from low to high. */
void grove_map_table(grove_map map, grove_colour table[GROVE_MAP_SIZE]);

/* Colour `k` of a palette for people with the common forms of colour blindness; repeats after 8. */
grove_colour grove_palette(size_t k);

/* The colour between a (share 0) and b (share 1). */
grove_colour grove_colour_mix(grove_colour a, grove_colour b, double share);
grove_colour grove_colour_fade(grove_colour colour, double opacity);

#endif
