/* Shared by g2g and g2g_diagonal: the lattice of points, and how many of them visibilities take. */
#ifndef GROVE_NODES_G2G_H
#define GROVE_NODES_G2G_H

#include "../../kernels/imaging/g2g/g2g.h"
#include "nodes/imaging/image_functions.h"

/* clang-format off */
#define G2G_VISIBILITY_OPTIONS                                                                     \
    {"weights", GROVE_VALUE,                                                                       \
     "weights of the visibilities, as of grid; none: the set's own, or 1",                         \
     .initial = "none",                                                                            \
     .shapes = GROVE_JONES, .handing = GROVE_AS_REAL},                                             \
    {"data", GROVE_VALUE,                                                                          \
     "visibilities; only their flags count; none: the visibilities of the set, if there are any",  \
     .initial = "none",                                                                            \
     .shapes = GROVE_JONES, .handing = GROVE_AS_COMPLEX, .linear = GROVE_SELECTOR},                \
    {"uvw", GROVE_VALUE_LENGTH, "baselines, m", .initial = "obs.uvw", .handing = GROVE_AS_DOUBLE,  \
     .shapes = GROVE_VECTOR, .vector = 3, .linear = GROVE_SELECTOR}
#define G2G_FUNCTIONS_OPTION                                                                       \
    {"functions", GROVE_VALUE_NUMBER,                                                              \
     "convolution_functions of numbers with samples=nearest, those by which the dirty image was "  \
     "gridded; none: as the options below choose them",                                            \
     .initial = "none",                                                                            \
     .handing = GROVE_AS_COMPLEX, .shapes = GROVE_SCALAR, .own_axes = true}
/* clang-format on */

extern const char *const g2g_axes[2]; /* of a diagonal: its entries, and its label */

/* Only in check: the lattice of functions of an input, and which visibilities have which; `mueller`
 * is to be freed in any case. 0, or a code with a message. */
int g2g_read_functions(const grove_node *node, int input, const grove_gridder_plan *plan,
                       grove_lattice *lattice, image_mueller *mueller);
/* The same of functions; 0, or a code with a message where there are too many points. */
int g2g_make_lattice(const grove_node *node, const grove_convolution_plan *functions,
                     grove_lattice *lattice);
/* The label of a diagonal, with the numbers it is made with, to be freed. */
char *g2g_label(const grove_node *node, const grove_gridder_plan *plan,
                const grove_lattice *lattice);

/* Visibilities and entries of a diagonal, of all times, baselines and channels, by the antennas;
 * without flags and weights of 0. */
typedef struct {
    double samples, entries;
    bool known; /* false: the antennas are not; entries are then as many as samples */
} g2g_size;

/* `longest`: |u|, |v|, |w| that count, wavelengths. Of several functions of stations, times or
 * channels: as if there was one. */
g2g_size g2g_predict(const grove_node *obs, const grove_lattice *lattice, const double longest[3]);

/* Memory that devices keep for g2g in a run; zero before the first call. */
typedef struct {
    struct g2g_on_device *each;
    int count;
} g2g_devices;

/* Bytes of it on each device, at most, for `entries` entries; 0: none, the host computes. */
uint64_t g2g_device_memory(const grove_lattice *lattice, int64_t entries);
/* .device: applies a diagonal; the inputs `functions` and `diagonal` by their numbers. Arrays made
 * of the same content are kept. 0, the code of the first grove_call_... that failed, or
 * GROVE_MISSING: the host is to do it. */
int g2g_device_apply(const grove_call *call, const grove_lattice *lattice, int functions,
                     int diagonal, g2g_devices *devices);
void g2g_devices_free(g2g_devices *devices);

/* Of the class g2g_diagonal. */
int g2g_diagonal_check(grove_node *node);
void g2g_diagonal_close(grove_node *node);
int g2g_diagonal_new(const grove_call *call, void **state);
int g2g_diagonal_add(const grove_call *call, void *state, const grove_array *const *arrays,
                     int count);
int g2g_diagonal_finish(const grove_call *call, void *state, grove_array *out);
void g2g_diagonal_free(const grove_node *node, void *state);

#endif
