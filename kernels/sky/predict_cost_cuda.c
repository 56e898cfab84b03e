/* The cost model of the sum over sources on a CUDA device. */
#include "predict_cost_cuda.h"

#include "predict_cuda.h"

/* Measured on an H100 at 64 stations and 64 channels (workload P3 of bench/gpu-kernels), 1e12
 * source-visibilities a second: recurrence 4.46; a phase evaluated 0.34; Jones terms 0.75, and 4.1
 * times as long where more than the phase varies with the channel (counted). By stations 3.34, two
 * fifths of the time for 64 phasors, the rest for 2816 products; with Jones terms 0.345, for 192
 * factors and 19456 products. Times are in slots to issue an instruction of a thread, 3.09e13 a
 * second (bench/RESULTS-gpu.md). Jones terms that vary: two products of matrices more and their
 * loads, 9.3 times as long (counted). */
grove_predict_cuda_costs grove_predict_cuda_measured(void)
{
    grove_predict_cuda_costs costs = {.recurrence = 6.9,
                                      .direct = 91,
                                      .jones = 41,
                                      .varying = 380,
                                      .phasor = 117,
                                      .product = 4,
                                      .factor = 376,
                                      .jones_product = 5.6};

    return costs;
}

static double round_up(int64_t count, int64_t to)
{
    return (double)((count + to - 1) / to * to);
}

/* Groups of channels are computed in full; groups are chosen as in grove_predict_cuda_direct. */
double grove_predict_cuda_by_baselines(const grove_predict_cuda_costs *costs,
                                       const grove_predict_cuda_shape *shape)
{
    double rows = (double)shape->baselines;
    double wide = round_up(shape->channels, PREDICT_CUDA_WIDE_SINGLE);
    /* Channels one by one, not in pairs: more than the phase varies with them. */
    const double alone = 4.1;
    double narrow = 2.1 * round_up(shape->channels, PREDICT_CUDA_NARROW);

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
