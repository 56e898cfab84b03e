/* Inputs that point and predict share, and which of them smearing needs. */
#ifndef GROVE_NODES_SMEAR_H
#define GROVE_NODES_SMEAR_H

#include "base/error.h"
#include "plugin.h"

/* The first eight value inputs of both classes, in the order that the kernels expect. */
#define SMEAR_OPTIONS                                                                              \
    {"brightness",                                                                                 \
     GROVE_VALUE_FLUX,                                                                             \
     "brightness of the sources, Jy",                                                              \
     .initial = "brightness(sky, obs)",                                                            \
     .handing = GROVE_AS_COMPLEX,                                                                  \
     .shapes = GROVE_JONES,                                                                        \
     .linear = GROVE_LINEAR},                                                                      \
        {"lmn",                                                                                    \
         GROVE_VALUE_NUMBER,                                                                       \
         "direction cosines l, m, n - 1",                                                          \
         .initial = "lmn(sky, obs)",                                                               \
         .handing = GROVE_AS_DOUBLE,                                                               \
         .shapes = GROVE_VECTOR,                                                                   \
         .vector = 3},                                                                             \
        {"shape",                                                                                  \
         GROVE_VALUE_ANGLE,                                                                        \
         "full widths at half maximum and position angle of Gaussian sources, rad; with l, m, n "  \
         "- 1 of the plane that has them (without: 0, 0, 0)",                                      \
         .initial = "shape(sky, obs)",                                                             \
         .handing = GROVE_AS_DOUBLE,                                                               \
         .shapes = GROVE_VECTOR},                                                                  \
        {"uvw",                                                                                    \
         GROVE_VALUE_LENGTH,                                                                       \
         "baseline coordinates, m",                                                                \
         .initial = "obs.uvw",                                                                     \
         .handing = GROVE_AS_DOUBLE,                                                               \
         .shapes = GROVE_VECTOR,                                                                   \
         .vector = 3},                                                                             \
        {"freq", GROVE_VALUE_FREQUENCY, "frequencies, Hz", .initial = "obs.freq",                  \
         .handing = GROVE_AS_DOUBLE},                                                              \
        {"uvw_rate",                                                                               \
         GROVE_VALUE_SPEED,                                                                        \
         "rates of the baseline coordinates, m/s, for smearing in time",                           \
         .initial = "obs.uvw_rate",                                                                \
         .handing = GROVE_AS_DOUBLE,                                                               \
         .shapes = GROVE_VECTOR,                                                                   \
         .vector = 3},                                                                             \
        {"interval", GROVE_VALUE_TIME, "integration times, s, for smearing in time",               \
         .initial = "obs.interval", .handing = GROVE_AS_DOUBLE},                                   \
        {"channel_width", GROVE_VALUE_FREQUENCY, "channel widths, Hz, for smearing in frequency",  \
         .initial = "obs.channel_width", .handing = GROVE_AS_DOUBLE},                              \
    {                                                                                              \
        "smear", GROVE_CHOICE,                                                                     \
            "axes along which a cell averages the rotating phase: none, time, freq or both",       \
            .initial = "none", .choices = "none time freq both"                                    \
    }

/* Drops the inputs that the option smear does not need. A vector that is no shape is an error. */
static inline int smear_check(grove_node *node)
{
    int smear = grove_node_choice(node, "smear"); /* bit 0: time, bit 1: freq */
    const grove_form *shape = grove_node_input_form(node, grove_node_input(node, "shape"));

    if (shape && shape->vector != 3 && shape->vector != 6)
        return grove_node_fail_option(node, "shape",
                                      "a vector of %d; a shape has 3 elements, "
                                      "major, minor, angle, or 6, with l, m, n - 1",
                                      shape->vector);

    if (!(smear & 1)) {
        grove_node_drop_input(node, grove_node_input(node, "uvw_rate"));
        grove_node_drop_input(node, grove_node_input(node, "interval"));
    }
    if (!(smear & 2))
        grove_node_drop_input(node, grove_node_input(node, "channel_width"));
    return 0;
}

#endif
