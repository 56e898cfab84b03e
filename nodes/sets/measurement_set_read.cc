// Reads blocks of columns.
#include "nodes/sets/measurement_set_private.h"

#include <casacore/casa/Arrays/Slicer.h>
#include <casacore/tables/Tables/RefRows.h>

#include <algorithm>
#include <atomic>
#include <cmath>
#include <cstring>
#include <limits>
#include <numeric>

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
    IPosition expected(2, ms->layout->correlations, ms->layout->channels);
    for (int64_t row : rows) {
        if (!data.isDefined(rownr_t(row)))
            throw AipsError(column + " has no data in row " + std::to_string(row));
        if (!data.shape(rownr_t(row)).isEqual(expected))
            throw AipsError(column + " has another shape than the spectral window in row " +
                            std::to_string(row));
        if (description.isFixedShape())
            break;
    }
}

// [row][channel][correlation] of the channels of a block, for all rows of the list at once. Memory
// that `cells` has is used again.
template <typename T>
void read_cells(const Table &table, const char *column, const grove_ms *ms,
                const grove_ms_block *block, const std::vector<int64_t> &rows, Array<T> &cells)
{
    ArrayColumn<T> data(table, column);
    Slicer part(IPosition(2, 0, block->first_channel),
                IPosition(2, ms->layout->correlations, block->channels));
    check_cells(data, ms, rows);
    if (table.actualTableDesc().columnDesc(column).dataManagerType() != "TiledCellStMan")
        return data.getColumnCells(as_rows(rows), part, cells, True);
    // casacore reads slices of several cells from this manager wrongly, or not at all.
    cells.resize(IPosition(3, ms->layout->correlations, block->channels, Int64(rows.size())));
    for (size_t i = 0; i < rows.size(); i++)
        cells[i] = data.getSlice(rownr_t(rows[i]), part);
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

// Whether the numbers are consecutive.
bool follow_each_other(const int64_t *numbers, size_t count)
{
    for (size_t i = 1; i < count; i++)
        if (numbers[i] != numbers[0] + int64_t(i))
            return false;
    return true;
}

// Lets `cells` be the rows' place in `to`, if the rows follow each other there.
template <typename T>
void read_in_place(const grove_ms *ms, const grove_ms_block *block,
                   const std::vector<int64_t> &rows, const int64_t *place, T *to, Array<T> &cells)
{
    if (!follow_each_other(place, rows.size())) {
        cells.reference(Array<T>());
        return;
    }
    to += place[0] * block->channels * ms->layout->correlations;
    cells.takeStorage(IPosition(3, ms->layout->correlations, block->channels, Int64(rows.size())),
                      to, SHARE);
}

// The cells of all these rows from the column's file; false: casacore must read them.
bool read_at_once(grove_ms *ms, const char *column, const grove_ms_block *block,
                  const std::vector<int64_t> &rows, void *to,
                  const std::function<void(int64_t first, int64_t count)> &then = nullptr)
{
    return block->channels == ms->layout->channels &&
           grove::read_flat_rows(ms, column, rows, to, then);
}

// All of the list to where it belongs, from the column's file; false: see read_at_once.
bool read_list(grove_ms *ms, const char *column, const grove_ms_block *block,
               const grove::row_list &list, void *to,
               const std::function<void(int64_t first, int64_t count)> &then = nullptr)
{
    return !list.row.empty() && list.place[0] == 0 &&
           follow_each_other(list.place.data(), list.place.size()) &&
           read_at_once(ms, column, block, list.row, to, then);
}

// [row][channel][correlation] of these rows: `to` itself, where they belong there one after the
// other, or `cells`.
template <typename T>
const T *read_piece(grove_ms *ms, const char *column, const grove_ms_block *block,
                    const std::vector<int64_t> &rows, const int64_t *place, T *to, Array<T> &cells)
{
    T *here = to + place[0] * block->channels * ms->layout->correlations;
    if (follow_each_other(place, rows.size())) {
        if (read_at_once(ms, column, block, rows, here))
            return here;
    } else {
        ms->apart.resize(rows.size() * size_t(block->channels * ms->layout->correlations) *
                         sizeof(T));
        if (read_at_once(ms, column, block, rows, ms->apart.data()))
            return reinterpret_cast<const T *>(ms->apart.data());
    }
    read_in_place(ms, block, rows, place, to, cells);
    read_cells(ms->table, column, ms, block, rows, cells);
    return numbers(cells);
}

// Calls work(rows, places) for pieces of the list, of rows of `row_bytes` bytes: casacore reads
// each piece into an array, whose memory is then used again.
template <typename Work>
void in_pieces(const grove::row_list &list, size_t row_bytes, const Work &work)
{
    size_t step = std::max<size_t>(1, grove::PIECE / std::max<size_t>(1, row_bytes));
    for (size_t first = 0; first < list.row.size(); first += step) {
        size_t end = std::min(list.row.size(), first + step);
        work(std::vector<int64_t>(list.row.begin() + long(first), list.row.begin() + long(end)),
             &list.place[first]);
    }
}

// Where flags go: a byte for each correlation, or the bits of one for each channel.
struct flag_store {
    unsigned char *at; // nullptr: nowhere
    bool packed;
    size_t correlations;

    size_t bytes(size_t samples) const
    {
        return packed ? samples / correlations : samples;
    }
    // The byte that has all flags.
    int all() const
    {
        return packed ? (1 << correlations) - 1 : 1;
    }
    // Flags sample k of the flags at `to`; whether it was not flagged.
    bool set(unsigned char *to, size_t k) const
    {
        unsigned char &byte = to[packed ? k / correlations : k];
        auto bit = static_cast<unsigned char>(1u << (packed ? k % correlations : 0));
        bool before = byte & bit;
        byte = static_cast<unsigned char>(byte | bit);
        return !before;
    }
};

unsigned char pack(const Bool *from, size_t count)
{
    unsigned bits = 0;
    if (count == 4) {
        uint32_t four;
        std::memcpy(&four, from, sizeof(four));
        // no two products of bits meet
        return static_cast<unsigned char>(four * 0x01020408u >> 24 & 15);
    }
    for (size_t c = 0; c < count; c++)
        bits |= unsigned(from[c]) << c;
    return static_cast<unsigned char>(bits);
}

void read_flags(grove_ms *ms, const grove_ms_block *block, const std::vector<int64_t> &rows,
                Array<Bool> &read)
{
    const size_t count = read.nelements();
    std::vector<unsigned char> bits(count / 8 + 1);
    if (!read_at_once(ms, "FLAG", block, rows, bits.data()))
        return read_cells(ms->table, "FLAG", ms, block, rows, read);
    Bool *to = read.data();
    std::memset(to, 0, count);
    for (size_t i = 0; i < count / 8; i++) // a flat column has whole bytes
        for (size_t k = 0; bits[i] && k < 8; k++)
            to[8 * i + k] = bits[i] >> k & 1;
}

void store_flags(grove_ms *ms, const grove_ms_block *block, const std::vector<int64_t> &rows,
                 const int64_t *place, const flag_store &flags, Array<Bool> &read)
{
    size_t cell = size_t(block->channels * ms->layout->correlations), bytes = flags.bytes(cell);
    read.resize(IPosition(3, ms->layout->correlations, block->channels, Int64(rows.size())));
    read_flags(ms, block, rows, read);
    Vector<Bool> whole(rows.size(), False);
    if (ms->table.tableDesc().isColumn("FLAG_ROW")) // some programs leave it out
        ScalarColumn<Bool>(ms->table, "FLAG_ROW").getColumnCells(as_rows(rows), whole);
    for (size_t i = 0; i < rows.size(); i++) {
        const Bool *from = numbers(read) + i * cell;
        unsigned char *to = flags.at + size_t(place[i]) * bytes;
        if (whole[i])
            std::memset(to, flags.all(), bytes);
        else if (flags.packed)
            for (size_t f = 0; f < bytes; f++)
                to[f] = pack(from + f * flags.correlations, flags.correlations);
        else
            for (size_t k = 0; k < bytes; k++)
                to[k] = from[k];
    }
}

// The numbers of a row; a number that is not finite becomes 0 and is flagged. Returns how many were
// not flagged.
int64_t store_row(const Complex *from, size_t cell, float *data, const flag_store &flags,
                  unsigned char *flag)
{
    if (reinterpret_cast<const float *>(from) != data)
        std::memcpy(data, from, 2 * cell * sizeof(float));
    bool nonfinite, nonzero;
    grove_ms_examine(data, 2 * cell, &nonfinite, &nonzero);
    if (!nonfinite)
        return 0;
    int64_t count = 0;
    for (size_t k = 0; k < cell; k++)
        if (!std::isfinite(data[2 * k]) || !std::isfinite(data[2 * k + 1])) {
            data[2 * k] = data[2 * k + 1] = 0;
            if (flag)
                count += flags.set(flag, k);
        }
    return count;
}

bool is_same_block(const grove_ms_block &a, const grove_ms_block &b)
{
    return a.first_time == b.first_time && a.times == b.times &&
           a.first_baseline == b.first_baseline && a.baselines == b.baselines &&
           a.first_channel == b.first_channel && a.channels == b.channels;
}

// The flags of all rows of the list, one after the other.
void read_all_flags(grove_ms *ms, const grove_ms_block *block, const grove::row_list &list,
                    const flag_store &flags, size_t bytes)
{
    flag_store to = {nullptr, flags.packed, flags.correlations};
    std::vector<int64_t> place(list.row.size());
    Array<Bool> read;
    ms->flags.columns.clear();
    ms->flags.at.resize(list.row.size() * bytes);
    to.at = ms->flags.at.data();
    std::iota(place.begin(), place.end(), 0);
    const int64_t *next = place.data();
    in_pieces(list, size_t(block->channels) * flags.correlations,
              [&](const auto &piece, const int64_t *) {
                  store_flags(ms, block, piece, next, to, read);
                  next += piece.size();
              });
    ms->flags.block = *block;
    ms->flags.packed = flags.packed;
}

// Reads the flags of a block, unless they were read for another column just now.
void find_flags(grove_ms *ms, const char *column, const grove_ms_block *block,
                const grove::row_list &list, const flag_store &flags, size_t bytes)
{
    const size_t rows = size_t(block->times * block->baselines);
    std::vector<std::string> &columns = ms->flags.columns;
    bool known = !columns.empty() && ms->flags.packed == flags.packed &&
                 is_same_block(ms->flags.block, *block) &&
                 !std::count(columns.begin(), columns.end(), column);
    if (!known)
        read_all_flags(ms, block, list, flags, bytes);
    columns.push_back(column);
    if (list.row.size() < rows && !block->rows_unread)
        std::memset(flags.at, flags.all(), rows * bytes);
    for (size_t i = 0, count; i < list.row.size(); i += count) {
        for (count = 1; i + count < list.row.size() &&
                        list.place[i + count] == list.place[i] + int64_t(count);)
            count++;
        std::memcpy(flags.at + size_t(list.place[i]) * bytes, ms->flags.at.data() + i * bytes,
                    count * bytes);
    }
}

void read_uvw_piece(grove_ms *ms, const std::vector<int64_t> &rows, const int64_t *place,
                    double *uvw)
{
    const bool together = follow_each_other(place, rows.size());
    double *here = uvw + 3 * place[0];
    const double *from = here;
    Array<Double> values;
    if (!together) {
        ms->apart.resize(3 * rows.size() * sizeof(double));
        from = here = reinterpret_cast<double *>(ms->apart.data());
    }
    if (!grove::read_flat_rows(ms, "UVW", rows, here)) {
        values.reference(read_rows<Double>(ms->table, "UVW", 3, rows));
        from = numbers(values);
    }
    const double metre = grove::unit_of(ms->table, "UVW", "m");
    for (size_t i = 0; i < rows.size(); i++)
        for (size_t k = 0; k < 3; k++)
            uvw[3 * size_t(place[i]) + k] = -metre * from[3 * i + k];
}

int read_data(grove_ms *ms, const char *column, const grove_ms_block *block, float *data,
              unsigned char *flag, bool packed, grove_error *error)
{
    grove::refresh(ms);
    size_t cell = size_t(block->channels * ms->layout->correlations);
    size_t rows_needed = size_t(block->times * block->baselines);
    if (!ms->table.tableDesc().isColumn(column))
        return grove_fail(error, GROVE_MISSING, "%s: has no column %s", ms->path.c_str(), column);
    if (ms->table.tableDesc().columnDesc(column).dataType() != TpComplex)
        return grove_fail(error, GROVE_INVALID, "%s: column %s does not hold complex numbers",
                          ms->path.c_str(), column);
    flag_store flags = {flag, packed, size_t(ms->layout->correlations)};
    size_t bytes = cell ? flags.bytes(cell) : 0;
    grove::row_list list = grove::rows_of(ms, block);
    if (list.row.size() < rows_needed && !block->rows_unread)
        std::memset(data, 0, rows_needed * cell * 2 * sizeof(float));
    if (!cell)
        return 0;
    if (flag)
        find_flags(ms, column, block, list, flags, bytes);
    std::atomic<int64_t> nonfinite(0);
    bool whole = read_list(ms, column, block, list, data, [&](int64_t first, int64_t count) {
        for (size_t i = size_t(first); i < size_t(first + count); i++) {
            float *row = data + 2 * i * cell;
            nonfinite += store_row(reinterpret_cast<Complex *>(row), cell, row, flags,
                                   flag ? flag + i * bytes : nullptr);
        }
    });
    if (whole) {
        ms->nonfinite_samples += nonfinite;
        return 0;
    }
    Array<Complex> values;
    in_pieces(list, cell * sizeof(Complex), [&](const auto &rows, const int64_t *place) {
        const Complex *from =
            read_piece(ms, column, block, rows, place, reinterpret_cast<Complex *>(data), values);
        for (size_t i = 0; i < rows.size(); i++)
            ms->nonfinite_samples +=
                store_row(from + i * cell, cell, data + 2 * size_t(place[i]) * cell, flags,
                          flag ? flag + size_t(place[i]) * bytes : nullptr);
    });
    return 0;
}
// Which rows have a WEIGHT_SPECTRUM: some programs write it in some rows only, or make it empty.
void divide_by_spectrum(const Table &table, const grove::row_list &list, grove::row_list &with,
                        grove::row_list &without)
{
    const ArrayColumn<Float> spectrum(table, "WEIGHT_SPECTRUM");
    for (size_t i = 0; i < list.row.size(); i++) {
        const rownr_t row = rownr_t(list.row[i]);
        const bool has = spectrum.isDefined(row) && spectrum.shape(row).product() > 0;
        grove::row_list &to = has ? with : without;
        to.row.push_back(list.row[i]);
        to.place.push_back(list.place[i]);
    }
}

// Weights of these rows, by channel, or the same of all channels.
void read_weights(grove_ms *ms, const grove_ms_block *block, const grove::row_list &list,
                  bool spectrum, float *weight)
{
    const size_t corrs = size_t(ms->layout->correlations), cell = size_t(block->channels) * corrs;
    const size_t stride = spectrum ? cell : corrs;
    Array<Float> values;
    in_pieces(list, cell * sizeof(float), [&](const auto &rows, const int64_t *place) {
        if (!spectrum)
            values.reference(read_rows<Float>(ms->table, "WEIGHT", Int64(corrs), rows));
        const Float *from =
            spectrum ? read_piece(ms, "WEIGHT_SPECTRUM", block, rows, place, weight, values)
                     : numbers(values);
        for (size_t i = 0; from != weight + size_t(place[0]) * cell && i < rows.size(); i++)
            for (size_t first = 0; first < cell; first += stride)
                std::copy(from + i * stride, from + (i + 1) * stride,
                          weight + size_t(place[i]) * cell + first);
    });
}
} // namespace

extern "C" void grove_ms_examine(const float *numbers, size_t count, bool *nonfinite, bool *nonzero)
{
    typedef uint32_t four __attribute__((vector_size(16)));
    constexpr uint32_t EXPONENT = 0x7f800000; // all of it is set in a number that is not finite
    const four exponent = {EXPONENT, EXPONENT, EXPONENT, EXPONENT};
    four is_nonfinite[2] = {}, bits[2] = {};
    size_t k = 0;
    for (; k + 8 <= count; k += 8) {
        four a, b;
        std::memcpy(&a, numbers + k, sizeof(a));
        std::memcpy(&b, numbers + k + 4, sizeof(b));
        is_nonfinite[0] |= four((a & exponent) == exponent);
        is_nonfinite[1] |= four((b & exponent) == exponent);
        bits[0] |= a;
        bits[1] |= b;
    }
    *nonfinite = *nonzero = false;
    for (int i = 0; i < 8; i++) {
        *nonfinite = *nonfinite || is_nonfinite[i / 4][i % 4];
        *nonzero = *nonzero || bits[i / 4][i % 4] << 1; // without the sign
    }
    for (; k < count; k++) {
        *nonfinite = *nonfinite || !std::isfinite(numbers[k]);
        *nonzero = *nonzero || numbers[k] != 0;
    }
}

extern "C" void grove_ms_set_parallel(grove_ms *ms, grove_ms_parallel *parallel, void *context)
{
    ms->parallel = parallel;
    ms->parallel_context = context;
}

extern "C" int64_t grove_ms_nonfinite_samples(const grove_ms *ms)
{
    return ms->nonfinite_samples;
}

extern "C" int grove_ms_read_data(grove_ms *ms, const char *column, const grove_ms_block *block,
                                  float *data, unsigned char *flag, grove_error *error)
{
    int code = grove::check_block(ms, block, error);
    return code ? code : grove::guard(ms->path, error, [&] {
        return read_data(ms, column, block, data, flag, false, error);
    });
}

extern "C" int grove_ms_read_cells(grove_ms *ms, const char *column, const grove_ms_block *block,
                                   float *data, unsigned char *flags, grove_error *error)
{
    int code = grove::check_block(ms, block, error);
    return code ? code : grove::guard(ms->path, error, [&] {
        return read_data(ms, column, block, data, flags, true, error);
    });
}

extern "C" int grove_ms_read_weight(grove_ms *ms, const grove_ms_block *block, float *weight,
                                    grove_error *error)
{
    int code = grove::check_block(ms, block, error);
    return code ? code : grove::guard(ms->path, error, [&] {
        grove::refresh(ms);
        size_t corrs = size_t(ms->layout->correlations), cell = size_t(block->channels) * corrs;
        grove::row_list list = grove::rows_of(ms, block);
        if (int64_t(list.row.size()) < block->times * block->baselines && !block->rows_unread)
            std::memset(weight, 0, size_t(block->times * block->baselines) * cell * sizeof(float));
        if (list.row.empty() || !cell)
            return 0;
        const bool spectrum = ms->table.tableDesc().isColumn("WEIGHT_SPECTRUM");
        if (spectrum && read_list(ms, "WEIGHT_SPECTRUM", block, list, weight))
            return 0;
        grove::row_list with, without;
        if (spectrum)
            divide_by_spectrum(ms->table, list, with, without);
        else
            without = list;
        read_weights(ms, block, with, true, weight);
        read_weights(ms, block, without, false, weight);
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
        if (int64_t(list.row.size()) < block->times * block->baselines)
            std::fill_n(uvw, 3 * block->times * block->baselines,
                        std::numeric_limits<double>::quiet_NaN());
        if (list.row.empty())
            return 0;
        in_pieces(list, 3 * sizeof(double), [&](const auto &rows, const int64_t *place) {
            read_uvw_piece(ms, rows, place, uvw);
        });
        return 0;
    });
}

extern "C" int grove_ms_find_missing(const grove_ms *ms, const grove_ms_block *block,
                                     unsigned char *missing, grove_error *error)
{
    int code = grove::check_block(ms, block, error);
    return code ? code : grove::guard(ms->path, error, [&] {
        std::memset(missing, 1, size_t(block->times * block->baselines));
        for (int64_t place : grove::rows_by_time(ms, block).place)
            missing[place] = 0;
        return 0;
    });
}
