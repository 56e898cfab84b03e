// Weights of a set that is being made.
#include "io/measurement_set_private.h"

#include <casacore/casa/Arrays/Slicer.h>

#include <cmath>

using namespace casacore;

namespace
{
// WEIGHT of a row is the mean of its channels, which may come in several blocks, in order; SIGMA
// the standard deviation that belongs to it.
void put_row(ArrayColumn<Float> &weight, ArrayColumn<Float> &sigma, rownr_t row, const float *from,
             const grove_ms_block *block, int64_t channels)
{
    size_t corrs = weight.shape(row)[0];
    Vector<Float> sum(corrs, 0.f), deviation(corrs, 0.f);
    if (block->first_channel)
        weight.get(row, sum);
    for (int64_t f = 0; f < block->channels; f++)
        for (size_t c = 0; c < corrs; c++)
            sum[c] += from[size_t(f) * corrs + c] / float(channels);
    for (size_t c = 0; c < corrs; c++)
        deviation[c] = sum[c] > 0 ? 1 / std::sqrt(sum[c]) : 0;
    weight.put(row, sum);
    sigma.put(row, deviation);
}
} // namespace

extern "C" int grove_ms_write_weight(grove_ms *ms, const grove_ms_block *block, const float *weight,
                                     grove_error *error)
{
    int code = grove::check_block(ms, block, error);
    code = code ? code : grove::guard(ms->path, error, [&] {
        grove::row_list list = grove::rows_of(ms, block);
        int64_t corrs = ms->layout->correlations;
        ArrayColumn<Float> spectrum(ms->table, "WEIGHT_SPECTRUM"), mean(ms->table, "WEIGHT"),
            sigma(ms->table, "SIGMA");
        Slicer part(IPosition(2, 0, block->first_channel), IPosition(2, corrs, block->channels));
        for (size_t i = 0; i < list.row.size(); i++) {
            rownr_t row = rownr_t(list.row[i]);
            const float *from = weight + size_t(list.place[i] * block->channels * corrs);
            Array<Float> cell(IPosition(2, corrs, block->channels));
            std::copy(from, from + corrs * block->channels, cell.data());
            spectrum.putSlice(row, part, cell);
            put_row(mean, sigma, row, from, block, ms->layout->channels);
        }
        return 0;
    });
    ms->made->broken = ms->made->broken || code;
    return code;
}
