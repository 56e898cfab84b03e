/* Access to Measurement Sets without linking casacore: a module links it. */
#ifndef GROVE_IO_DATA_MODULE_H
#define GROVE_IO_DATA_MODULE_H

#include "io/measurement_set.h"

enum { GROVE_DATA_VERSION = 4 };

/* The reading functions of io/measurement_set.h; the module exports them as grove_data_api. */
typedef struct {
    int version; /* GROVE_DATA_VERSION */
    char *(*describe)(const char *path, grove_error *error);
    grove_ms *(*open)(const char *path, const grove_ms_part *part, bool writable,
                      grove_error *error);
    const grove_ms_layout *(*layout)(const grove_ms *ms);
    bool (*has_column)(const grove_ms *ms, const char *column);
    int (*read_data)(grove_ms *ms, const char *column, const grove_ms_block *block, float *data,
                     unsigned char *flag, grove_error *error);
    int (*read_weight)(grove_ms *ms, const grove_ms_block *block, float *weight,
                       grove_error *error);
    int (*read_uvw)(grove_ms *ms, const grove_ms_block *block, double *uvw, grove_error *error);
    void (*close)(grove_ms *ms);
    int (*recover)(const char *path, bool *done, grove_error *error);
    int (*restore_flags)(const char *path, const char *version, grove_error *error);
} grove_data_module;

extern const grove_data_module grove_data_api;

/* In libgrove: opens the module on first use. NULL with GROVE_MISSING when this build lacks it. */
const grove_data_module *grove_data_open(grove_error *error);

#endif
