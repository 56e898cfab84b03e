// Weights of a set that is being made, or of one that exists.
#include "nodes/sets/measurement_set_private.h"

#include <casacore/casa/Arrays/Slicer.h>

#include <cmath>

using namespace casacore;

namespace
{
// WEIGHT of a row is the mean of its channels, which may come in several blocks, in order.
Vector<Float> put_mean(ArrayColumn<Float> &weight, rownr_t row, const float *from,
                       const grove_ms_block *block, const grove_ms_layout *layout)
{
    size_t corrs = size_t(layout->correlations);
    Vector<Float> sum(corrs, 0.f);
    if (block->first_channel)
        weight.get(row, sum);
    for (int64_t f = 0; f < block->channels; f++)
        for (size_t c = 0; c < corrs; c++)
            sum[c] += from[size_t(f) * corrs + c] / float(layout->channels);
    weight.put(row, sum);
    return sum;
}

// The standard deviation that belongs to it.
void put_sigma(ArrayColumn<Float> &sigma, rownr_t row, const Vector<Float> &weight)
{
    Vector<Float> deviation(weight.size(), 0.f);
    for (size_t c = 0; c < weight.size(); c++)
        deviation[c] = weight[c] > 0 ? 1 / std::sqrt(weight[c]) : 0;
    sigma.put(row, deviation);
}

void put_spectrum(ArrayColumn<Float> &spectrum, rownr_t row, const Slicer &part, const float *from,
                  const grove_ms_layout *layout)
{
    Array<Float> cell(part.length());
    std::copy(from, from + cell.nelements(), cell.data());
    if (!spectrum.isDefined(row))
        spectrum.setShape(row, IPosition(2, layout->correlations, layout->channels));
    spectrum.putSlice(row, part, cell);
}

// `flat`: the file of WEIGHT_SPECTRUM; null: casacore writes it.
void put_weights(const grove_ms *ms, Table &table, const grove_ms_block *block,
                 const grove::row_list &list, const float *weight, grove::flat_column *flat)
{
    int64_t corrs = ms->layout->correlations;
    ArrayColumn<Float> spectrum(table, "WEIGHT_SPECTRUM"), mean(table, "WEIGHT");
    Slicer part(IPosition(2, 0, block->first_channel), IPosition(2, corrs, block->channels));
    if (flat)
        grove::write_flat(*flat, list, block->first_channel * corrs * int64_t(sizeof(float)),
                          block->channels * corrs * int64_t(sizeof(float)), weight);
    for (size_t i = 0; i < list.row.size(); i++) {
        rownr_t row = rownr_t(list.row[i]);
        const float *from = weight + size_t(list.place[i] * block->channels * corrs);
        if (!flat)
            put_spectrum(spectrum, row, part, from, ms->layout);
        Vector<Float> sum(put_mean(mean, row, from, block, ms->layout));
        if (ms->made) {
            ArrayColumn<Float> sigma(table, "SIGMA");
            put_sigma(sigma, row, sum);
        }
    }
}
} // namespace

extern "C" int grove_ms_write_weight(grove_ms *ms, const grove_ms_block *block, const float *weight,
                                     grove_error *error)
{
    int code = grove::check_block(ms, block, error);
    return code ? code : grove::guard_writing(ms, error, [&] {
        grove::row_list list = grove::rows_of(ms, block);
        if (ms->made)
            put_weights(ms, ms->table, block, list, weight,
                        ms->made_weight.file >= 0 ? &ms->made_weight : nullptr);
        const grove::written_column &to = ms->written_weights;
        for (size_t k = 0; k < to.parts.size(); k++)
            put_weights(ms, to.parts[k].to->table, block, grove::rows_in(to.tables, list, k),
                        weight, nullptr);
        return 0;
    });
}
