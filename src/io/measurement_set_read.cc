// Reads blocks of columns.
#include "io/measurement_set_private.h"

#include <casacore/casa/Arrays/Slicer.h>
#include <casacore/tables/Tables/RefRows.h>

#include <cmath>
#include <cstring>
#include <limits>

using namespace casacore;

namespace
{
RefRows as_rows(const std::vector<int64_t> &rows)
{
    Vector<rownr_t> numbers(rows.size());
    for (size_t i = 0; i < rows.size(); i++)
        numbers[i] = rownr_t(rows[i]);
    return RefRows(numbers, False, True);
}

// That every row has a cell of the spectral window's shape.
template <typename T>
void check_cells(const ArrayColumn<T> &data, const grove_ms *ms, const std::vector<int64_t> &rows)
{
    const ColumnDesc &description = data.columnDesc();
    std::string column = "column " + std::string(description.name());
    IPosition wanted(2, ms->layout->correlations, ms->layout->channels);
    for (int64_t row : rows) {
        if (!data.isDefined(rownr_t(row)))
            throw AipsError(column + " has no data in row " + std::to_string(row));
        if (!data.shape(rownr_t(row)).isEqual(wanted))
            throw AipsError(column + " has another shape than the spectral window in row " +
                            std::to_string(row));
        if (description.isFixedShape())
            break;
    }
}

// [row][channel][correlation] of the channels of a block, for all rows of the list at once.
template <typename T>
Array<T> read_cells(const Table &table, const char *column, const grove_ms *ms,
                    const grove_ms_block *block, const std::vector<int64_t> &rows)
{
    ArrayColumn<T> data(table, column);
    Slicer part(IPosition(2, 0, block->first_channel),
                IPosition(2, ms->layout->correlations, block->channels));
    check_cells(data, ms, rows);
    if (table.actualTableDesc().columnDesc(column).dataManagerType() != "TiledCellStMan")
        return data.getColumnCells(as_rows(rows), part);
    // casacore reads slices of several cells from this manager wrongly, or not at all.
    Array<T> cells(IPosition(3, ms->layout->correlations, block->channels, Int64(rows.size())));
    for (size_t i = 0; i < rows.size(); i++)
        cells[i] = data.getSlice(rownr_t(rows[i]), part);
    return cells;
}

// Cells of one axis, [row][length].
template <typename T>
Array<T> read_rows(const Table &table, const char *column, Int64 length,
                   const std::vector<int64_t> &rows)
{
    Array<T> values(ArrayColumn<T>(table, column).getColumnCells(as_rows(rows)));
    if (values.ndim() != 2 || values.shape()[0] != length)
        throw AipsError(std::string("the cells of column ") + column + " do not have " +
                        std::to_string(length) + " numbers");
    return values;
}

// A pointer to the first number: casacore's arrays are contiguous here.
template <typename T> const T *numbers(const Array<T> &array)
{
    return array.data();
}

void store_flags(const grove_ms *ms, const grove_ms_block *block, const grove::row_list &list,
                 unsigned char *flag)
{
    size_t cell = size_t(block->channels * ms->layout->correlations);
    Array<Bool> flags(read_cells<Bool>(ms->table, "FLAG", ms, block, list.row));
    const Bool *from = numbers(flags);
    Vector<Bool> rows(ScalarColumn<Bool>(ms->table, "FLAG_ROW").getColumnCells(as_rows(list.row)));
    for (size_t i = 0; i < list.row.size(); i++) {
        unsigned char *to = flag + size_t(list.place[i]) * cell;
        for (size_t k = 0; k < cell; k++)
            to[k] = from[i * cell + k] || rows[i];
    }
}
} // namespace

extern "C" int64_t grove_ms_odd_samples(const grove_ms *ms)
{
    return ms->odd_samples;
}

extern "C" int grove_ms_read_data(grove_ms *ms, const char *column, const grove_ms_block *block,
                                  float *data, unsigned char *flag, grove_error *error)
{
    int code = grove::check_block(ms, block, error);
    return code ? code : grove::guard(ms->path, error, [&] {
        grove::refresh(ms);
        size_t cell = size_t(block->channels * ms->layout->correlations);
        size_t cells = size_t(block->times * block->baselines);
        if (!ms->table.tableDesc().isColumn(column))
            return grove_fail(error, GROVE_MISSING, "%s: has no column %s", ms->path.c_str(),
                              column);
        if (ms->table.tableDesc().columnDesc(column).dataType() != TpComplex)
            return grove_fail(error, GROVE_INVALID, "%s: column %s does not hold complex numbers",
                              ms->path.c_str(), column);
        std::memset(data, 0, cells * cell * 2 * sizeof(float));
        if (flag)
            std::memset(flag, 1, cells * cell);
        grove::row_list list = grove::rows_of(ms, block);
        if (list.row.empty() || !cell)
            return 0;
        Array<Complex> values(read_cells<Complex>(ms->table, column, ms, block, list.row));
        const Complex *from = numbers(values);
        if (flag)
            store_flags(ms, block, list, flag);
        for (size_t i = 0; i < list.row.size(); i++) {
            size_t at = size_t(list.place[i]) * cell;
            for (size_t k = 0; k < cell; k++) {
                Complex value = from[i * cell + k];
                if (std::isfinite(value.real()) && std::isfinite(value.imag())) {
                    data[2 * (at + k)] = value.real();
                    data[2 * (at + k) + 1] = value.imag();
                } else if (flag) {
                    ms->odd_samples += !flag[at + k];
                    flag[at + k] = 1;
                }
            }
        }
        return 0;
    });
}

extern "C" int grove_ms_read_weight(grove_ms *ms, const grove_ms_block *block, float *weight,
                                    grove_error *error)
{
    int code = grove::check_block(ms, block, error);
    return code ? code : grove::guard(ms->path, error, [&] {
        grove::refresh(ms);
        size_t corrs = size_t(ms->layout->correlations), cell = size_t(block->channels) * corrs;
        std::memset(weight, 0, size_t(block->times * block->baselines) * cell * sizeof(float));
        grove::row_list list = grove::rows_of(ms, block);
        if (list.row.empty() || !cell)
            return 0;
        bool spectrum =
            ms->table.tableDesc().isColumn("WEIGHT_SPECTRUM") &&
            ArrayColumn<Float>(ms->table, "WEIGHT_SPECTRUM").isDefined(rownr_t(list.row[0]));
        Array<Float> values(
            spectrum ? read_cells<Float>(ms->table, "WEIGHT_SPECTRUM", ms, block, list.row)
                     : read_rows<Float>(ms->table, "WEIGHT", Int64(corrs), list.row));
        const Float *from = numbers(values);
        size_t stride = spectrum ? cell : corrs;
        for (size_t i = 0; i < list.row.size(); i++)
            for (size_t k = 0; k < cell; k++)
                weight[size_t(list.place[i]) * cell + k] = from[i * stride + k % stride];
        return 0;
    });
}

extern "C" int grove_ms_read_uvw(grove_ms *ms, const grove_ms_block *block, double *uvw,
                                 grove_error *error)
{
    int code = grove::check_block(ms, block, error);
    return code ? code : grove::guard(ms->path, error, [&] {
        grove::refresh(ms);
        grove::row_list list = grove::rows_of(ms, block);
        for (int64_t i = 0; i < 3 * block->times * block->baselines; i++)
            uvw[i] = std::numeric_limits<double>::quiet_NaN();
        if (list.row.empty())
            return 0;
        Array<Double> values(read_rows<Double>(ms->table, "UVW", 3, list.row));
        const Double *from = numbers(values);
        for (size_t i = 0; i < list.row.size(); i++)
            for (size_t k = 0; k < 3; k++)
                uvw[3 * size_t(list.place[i]) + k] = -from[3 * i + k];
        return 0;
    });
}
