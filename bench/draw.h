/* Figures of measurements. */
#ifndef GROVE_BENCH_DRAW_H
#define GROVE_BENCH_DRAW_H

#include "plot/plot.h"

/* Draws into a .svg or .png file; 0, or 1 after a message. */
int bench_draw(const grove_figure *figure, const char *path);

#endif
