/* The cost model of the sum over sources on a CUDA device. */
#include "predict_cost_cuda.h"

#include "predict_cuda.h"

/* An H100 issues 132 multiprocessors x 4 schedulers x 32 lanes x 1.83 GHz = 3.09e13 instructions of
 * threads a second; those in double or on integers take two slots. Counted at 64 stations and 64
 * channels (workload P3 of bench/gpu-kernels) are 1e12 source-visibilities a second: recurrence
 * 5.92, hence 5.2 slots; a phase evaluated 0.52, hence 60; Jones terms 1.52, hence 20.4, and 4.1
 * times as many where more than the phase varies with the channel. By stations shared memory binds:
 * 7.31, hence 8520 slots for 64 phasors, two fifths of its time, and 2816 products; with Jones
 * terms 1.24, hence 50200 for 192 factors, two fifths too, and 19456 products
 * (bench/RESULTS-gpu-counted.md). Jones terms that vary: two products of matrices more and their
 * loads. */
grove_predict_cuda_costs grove_predict_cuda_counted(void)
{
    grove_predict_cuda_costs costs = {.recurrence = 5.2,
                                      .direct = 60,
                                      .jones = 20.4,
                                      .varying = 190,
                                      .phasor = 53,
                                      .product = 1.8,
                                      .factor = 105,
                                      .jones_product = 1.55};

    return costs;
}

static double round_up(int64_t count, int64_t to)
{
    return (double)((count + to - 1) / to * to);
}

/* Groups of channels are computed in full; the choice among groups is that of
 * grove_predict_cuda_direct. */
double grove_predict_cuda_by_baselines(const grove_predict_cuda_costs *costs,
                                       const grove_predict_cuda_shape *shape)
{
    double rows = (double)shape->baselines;
    double wide = round_up(shape->channels, PREDICT_CUDA_WIDE_SINGLE);
    /* Channels one by one, not in pairs: more than the phase varies with them. */
    const double alone = 4.1;
    double narrow = 1.9 * round_up(shape->channels, PREDICT_CUDA_NARROW);

    if (shape->jones && (shape->varies || !shape->flat || !shape->regular))
        return rows * round_up(shape->channels, PREDICT_CUDA_NARROW) *
               (shape->varies ? costs->varying : costs->jones * alone);
    if (shape->jones) {
        int few = shape->channels <= PREDICT_CUDA_NARROW;
        return rows * costs->jones *
               round_up(shape->channels, few ? PREDICT_CUDA_NARROW : PREDICT_CUDA_PAIRS_SINGLE);
    }
    if (shape->channels <= 2 || !shape->regular)
        return rows * (double)shape->channels * costs->direct;
    return rows * (wide < narrow ? wide : narrow) * costs->recurrence;
}

/* Tiles have PREDICT_CUDA_EDGE rows and columns, with Jones terms two for a station and two numbers
 * of each source. Those off the diagonal need the phases of the stations on both sides; on the
 * diagonal one side is the other's conjugate, but with Jones terms. Whole warps fill them. Parts of
 * 16 x 8 without a baseline are left out. */
double grove_predict_cuda_by_stations(const grove_predict_cuda_costs *costs,
                                      const grove_predict_cuda_shape *shape)
{
    int each = shape->jones ? 2 : 1;
    double rows = each * (double)shape->stations, stations = round_up(shape->stations, 32);
    double across = round_up(each * shape->stations, PREDICT_CUDA_EDGE) / PREDICT_CUDA_EDGE;
    double products = each * rows * (rows + 24) / 2;

    products *= shape->jones ? costs->jones_product : costs->product;
    return (double)shape->channels *
           (products +
            stations * (shape->jones ? (across + 1) * costs->factor : across * costs->phasor));
}
