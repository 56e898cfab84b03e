/* The service of the module sets: reading Measurement Sets. */
#ifndef GROVE_NODES_SETS_SERVICE_H
#define GROVE_NODES_SETS_SERVICE_H

#include "nodes/sets/measurement_set.h"

enum { GROVE_SETS_VERSION = 2 };

/* The reading functions of nodes/sets/measurement_set.h: grove_service_open("sets",
 * GROVE_SETS_VERSION, error). Without casacore, open fails. */
typedef struct {
    int version;
    grove_ms *(*open)(const char *path, const grove_ms_part *part, grove_error *error);
    const grove_ms_layout *(*layout)(const grove_ms *ms);
    bool (*has_column)(const grove_ms *ms, const char *column);
    int (*read_data)(grove_ms *ms, const char *column, const grove_ms_block *block, float *data,
                     unsigned char *flag, grove_error *error);
    int (*read_weight)(grove_ms *ms, const grove_ms_block *block, float *weight,
                       grove_error *error);
    int (*read_uvw)(grove_ms *ms, const grove_ms_block *block, double *uvw, grove_error *error);
    void (*close)(grove_ms *ms);
} grove_sets;
extern const grove_sets grove_sets_api;

#endif
