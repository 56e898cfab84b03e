/* The costs of the ways to compute the sum over sources on a CUDA device. */
#ifndef GROVE_KERNELS_PREDICT_COST_CUDA_H
#define GROVE_KERNELS_PREDICT_COST_CUDA_H

#include "predict.h"

/* For one source and thread, in any unit: only ratios matter. In single precision. */
typedef struct {
    double recurrence; /* by baselines: a row and one of equally spaced channels */
    double direct;     /* ... and one channel whose phase is evaluated */
    double jones;      /* ... and one channel, with Jones terms inside the sum */
    double varying;    /* ... with Jones terms that vary with frequency */
    double phasor;     /* by stations: a station and channel in a tile of the products */
    double product;    /* ... and a complex number of the products */
    double factor;     /* by stations with Jones terms inside the sum: the same */
    double jones_product;
} grove_predict_cuda_costs;

/* A sum. */
typedef struct {
    int64_t baselines, stations, channels;
    int regular;       /* equally spaced channels */
    int flat;          /* the brightness does not vary with frequency */
    int jones, varies; /* Jones terms inside the sum; they vary with frequency */
} grove_predict_cuda_shape;

/* As measured on an H100, in issue slots. */
grove_predict_cuda_costs grove_predict_cuda_measured(void);

/* For a source and time. */
double grove_predict_cuda_by_baselines(const grove_predict_cuda_costs *costs,
                                       const grove_predict_cuda_shape *shape);
double grove_predict_cuda_by_stations(const grove_predict_cuda_costs *costs,
                                      const grove_predict_cuda_shape *shape);

#endif
