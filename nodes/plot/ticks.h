/* Scales: map numbers to positions along an axis, and place the ticks. */
#ifndef GROVE_NODES_PLOT_TICKS_H
#define GROVE_NODES_PLOT_TICKS_H

#include "nodes/plot/plot.h"

/* Maps [low, high] to [from, to] pixels. */
typedef struct {
    grove_scale_kind kind;
    double low, high;
    double from, to;
    const char *const *names; /* [name_count] for GROVE_SCALE_NAMES */
    size_t name_count;
} grove_scale;

/* A valid range for drawing: a default when empty or not finite; when `room`, widened by that share
 * on both sides (in the logarithm for logarithmic scales). */
void grove_scale_fit(grove_scale *scale, double low, double high, double room);
/* NaN for a number without a position (not above 0 on a logarithmic scale). */
double grove_scale_place(const grove_scale *scale, double number);

enum { GROVE_MAX_TICKS = 64 };

typedef struct {
    double place; /* pixels */
    bool minor;   /* a short mark without a label */
    char label[32];
} grove_tick;

typedef struct {
    int count;
    grove_tick tick[GROVE_MAX_TICKS];
    char factor[32]; /* the common factor of the labels, "×10³", or empty */
} grove_ticks;

/* Ticks at round numbers, about `spacing` pixels apart. */
void grove_ticks_make(grove_ticks *ticks, const grove_scale *scale, double spacing);

#endif
