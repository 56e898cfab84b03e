// Writing blocks, and ending: with all changes, or with none.
//
// Blocks go into a view of each table (measurement_set_view.cc), or into a new set under a
// temporary name. The record of the run puts them in place.
#include "nodes/sets/measurement_set_private.h"

#include <casacore/casa/Arrays/Slicer.h>
#include <casacore/tables/Tables/RefRows.h>
#include <casacore/tables/Tables/TableInfo.h>
#include <casacore/tables/Tables/TableRecord.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <unistd.h>

using namespace casacore;

namespace grove
{
int check_space(const std::string &path, const std::string &work, grove_error *error)
{
    std::string probe = work + "/space";
    int file = open(probe.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
    int fault = file < 0 ? errno : posix_fallocate(file, 0, 4 << 20);
    if (file >= 0) {
        close(file);
        unlink(probe.c_str());
    }
    return fault == 0 || fault == EOPNOTSUPP
               ? 0
               : grove_fail(error, GROVE_IO, "%s: %s", path.c_str(), std::strerror(fault));
}

static int check_space(const grove_ms *ms, grove_error *error)
{
    const std::string &work = ms->made ? ms->made->work : ms->data.parts.at(0).to->work;
    return check_space(ms->path, work, error);
}

int guard_writing(grove_ms *ms, grove_error *error, const std::function<int()> &work)
{
    std::unique_ptr<grove_error, decltype(&grove_error_free)> fault(grove_error_new(),
                                                                    grove_error_free);
    int code = guard(ms->path, fault.get(), work);
    if (!code)
        return 0;
    if (ms->made)
        ms->made->broken = !ms->made->settled;
    for (const written_column *each : {&ms->data, &ms->written_flags, &ms->written_weights})
        for (const written_part &part : each->parts)
            part.to->broken = !part.to->settled;
    if (ms->history_view)
        ms->history_view->broken = !ms->history_view->settled;
    const char *message = grove_error_message(fault.get(), 0);
    if (check_space(ms, error) == 0)
        grove_fail(error, code, "%s", message ? message : "cannot be written");
    return code;
}
} // namespace grove

namespace
{
RefRows as_rows(const std::vector<int64_t> &rows)
{
    Vector<rownr_t> numbers(rows.size());
    for (size_t i = 0; i < rows.size(); i++)
        numbers[i] = rownr_t(rows[i]);
    return RefRows(numbers, False, True);
}

// In the order of `list`: [row][channel][correlation].
template <typename To, typename From>
void gather(const grove::row_list &list, size_t cell, const From *from, To *to)
{
    for (size_t i = 0; i < list.row.size(); i++)
        std::copy_n(from + size_t(list.place[i]) * cell, cell, to + i * cell);
}

// casacore cannot access slices of several cells of TiledCellStMan.
bool has_single_cells(const Table &table, const std::string &column)
{
    return table.actualTableDesc().columnDesc(column).dataManagerType() == "TiledCellStMan";
}

template <typename T>
Array<T> get_cells(const Table &table, const std::string &column, const Slicer &part,
                   const IPosition &shape, const std::vector<int64_t> &rows)
{
    ArrayColumn<T> in(table, column);
    if (!has_single_cells(table, column))
        return in.getColumnCells(as_rows(rows), part);
    Array<T> values(shape);
    for (size_t i = 0; i < rows.size(); i++)
        values[i] = in.getSlice(rownr_t(rows[i]), part);
    return values;
}

template <typename T>
void put_cells(Table &table, const std::string &column, const Slicer &part,
               const std::vector<int64_t> &rows, Array<T> &values)
{
    ArrayColumn<T> out(table, column);
    if (!has_single_cells(table, column))
        return out.putColumnCells(as_rows(rows), part, values);
    for (size_t i = 0; i < rows.size(); i++)
        out.putSlice(rownr_t(rows[i]), part, values[i]);
}

// `flag` NULL: nothing is flagged.
Array<Bool> flags_for(const grove_ms *ms, const grove_ms_block *block, const grove::row_list &list,
                      const unsigned char *flag)
{
    IPosition shape(3, ms->layout->correlations, block->channels, Int64(list.row.size()));
    Array<Bool> flags(shape, False);
    size_t cell = size_t(ms->layout->correlations * block->channels);
    Bool *to = flags.data();
    for (size_t i = 0; flag && i < list.row.size(); i++)
        for (size_t k = 0; k < cell; k++)
            to[i * cell + k] = flag[size_t(list.place[i]) * cell + k] != 0;
    return flags;
}

Slicer part_of_cell(const grove_ms *ms, const grove_ms_block *block)
{
    return Slicer(IPosition(2, 0, block->first_channel),
                  IPosition(2, ms->layout->correlations, block->channels));
}

void put_flags(grove_ms *ms, const grove_ms_block *block, const grove::row_list &list,
               const unsigned char *flag)
{
    Array<Bool> flags(flags_for(ms, block, list, flag));
    put_cells(ms->table, "FLAG", part_of_cell(ms, block), list.row, flags);
}

// Puts flags into a view, where they differ from the set's flags.
void put_changed_flags(grove_ms *ms, grove::view *to, const grove_ms_block *block,
                       const grove::row_list &list, const unsigned char *flag)
{
    const IPosition cell(2, ms->layout->correlations, ms->layout->channels);
    const Slicer part(part_of_cell(ms, block));
    ArrayColumn<Bool> out(to->table, "FLAG");
    for (int64_t row : list.row)
        if (!out.isDefined(rownr_t(row)))
            out.put(rownr_t(row), Array<Bool>(cell, False));
    Array<Bool> flags(flags_for(ms, block, list, flag));
    Array<Bool> old(get_cells<Bool>(to->table, "FLAG", part, flags.shape(), list.row));
    if (std::equal(old.begin(), old.end(), flags.begin()))
        return;
    put_cells(to->table, "FLAG", part, list.row, flags);
    to->flags_changed = true;
}

// A cell that has no array yet gets one; there is nothing to add to.
void define_cells(grove_ms *ms, ArrayColumn<Complex> &in, ArrayColumn<Complex> &out,
                  const grove::row_list &list)
{
    IPosition shape(2, ms->layout->correlations, ms->layout->channels);
    for (int64_t row : list.row) {
        if (ms->mode != GROVE_MS_REPLACE && !in.isDefined(rownr_t(row)))
            throw AipsError("row " + std::to_string(row) + " of column " + ms->column +
                            " has no data to add to or subtract from");
        if (!out.isDefined(rownr_t(row)))
            out.setShape(rownr_t(row), shape);
    }
}

// Rows of the list whose numbers stay in the caches, from `first` on.
grove::row_list piece_of(const grove::row_list &list, size_t first, size_t row_bytes)
{
    size_t count = std::max<size_t>(1, grove::PIECE / std::max<size_t>(1, row_bytes));
    auto from = ptrdiff_t(first), to = ptrdiff_t(std::min(list.row.size(), first + count));
    return {{list.row.begin() + from, list.row.begin() + to},
            {list.place.begin() + from, list.place.begin() + to}};
}

// Where a column's numbers go: `flat`, if there is one, else the column of this name of `table`.
// `before`: the table whose numbers they are added to or subtracted from, and `old` its file, if
// there is one.
struct target {
    Table &table, &before;
    std::string column;
    grove::flat_column *flat, *old;
};

// Adds the numbers of the list's rows to the old numbers, or subtracts them.
void add_old(grove_ms *ms, const target &to, const grove_ms_block *block,
             const grove::row_list &list, Array<Complex> &values)
{
    Array<Complex> old_values;
    std::vector<int64_t> cells;
    if (to.old && block->channels == ms->layout->channels &&
        grove::find_cells(*to.old, list.row, cells)) {
        old_values.resize(values.shape());
        if (!grove::read_cells_of(*to.old, cells.data(), int64_t(cells.size()), old_values.data()))
            throw AipsError("column " + to.column + " cannot be read");
    } else {
        old_values.reference(get_cells<Complex>(to.before, to.column, part_of_cell(ms, block),
                                                values.shape(), list.row));
    }
    const Complex *old = old_values.data();
    Complex *now = values.data();
    for (size_t i = 0; i < values.nelements(); i++)
        now[i] = ms->mode == GROVE_MS_ADD ? old[i] + now[i] : old[i] - now[i];
}

void put_piece(grove_ms *ms, const target &to, const grove_ms_block *block,
               const grove::row_list &list, const Complex *from, Array<Complex> &values)
{
    const int64_t corrs = ms->layout->correlations, cell = corrs * block->channels;
    ArrayColumn<Complex> out(to.table, to.column);
    bool adds = !ms->made && ms->mode != GROVE_MS_REPLACE;
    ArrayColumn<Complex> in(adds ? ArrayColumn<Complex>(to.before, to.column) : out);
    values.resize(IPosition(3, corrs, block->channels, Int64(list.row.size())));
    gather(list, size_t(cell), from, values.data());
    if (!ms->made && !out.columnDesc().isFixedShape())
        define_cells(ms, in, out, list);
    if (adds)
        add_old(ms, to, block, list, values);
    if (!to.flat)
        return put_cells(to.table, to.column, part_of_cell(ms, block), list.row, values);
    grove::row_list in_order = {list.row, {}};
    for (size_t i = 0; i < list.row.size(); i++)
        in_order.place.push_back(int64_t(i));
    const int64_t number = sizeof(Complex);
    grove::write_flat(*to.flat, in_order, block->first_channel * corrs * number, cell * number,
                      values.data());
}

void put_data(grove_ms *ms, const target &to, const grove_ms_block *block,
              const grove::row_list &list, const float *data)
{
    const int64_t number = ms->layout->correlations * int64_t(sizeof(Complex));
    bool adds = !ms->made && ms->mode != GROVE_MS_REPLACE;
    if (to.flat && !adds)
        return grove::write_flat(*to.flat, list, block->first_channel * number,
                                 block->channels * number, data);
    Array<Complex> values;
    for (size_t first = 0; first < list.row.size();) {
        grove::row_list piece = piece_of(list, first, size_t(block->channels * number));
        put_piece(ms, to, block, piece, reinterpret_cast<const Complex *>(data), values);
        first += piece.row.size();
    }
}

grove::flat_column *written_flat(grove::flat_column &flat)
{
    return flat.file >= 0 ? &flat : nullptr;
}

// Pages that were written go to the disk while the run continues: at the end they must be there.
// Not where rows lie apart: a page still to be completed would go twice.
void start_writing_back(const grove::flat_column *flat, const std::vector<int64_t> &rows)
{
    int64_t runs = 1;
    for (size_t i = 1; i < rows.size(); i++)
        runs += rows[i] != rows[i - 1] + 1;
    if (flat && int64_t(rows.size()) * flat->cell >= runs << 18)
        grove_path_start_sync(flat->path.c_str());
}

// A part of a file that the system need not keep in memory.
struct forgotten {
    std::string path;
    int64_t first, bytes;
};

void forget(void *context)
{
    std::unique_ptr<forgotten> part(static_cast<forgotten *>(context));
    grove_path_forget(part->path.c_str(), part->first, part->bytes);
}

// The system need not keep these rows of the column that will be replaced. The new ones get their
// memory: new memory can cost more than all else here.
void forget_replaced(grove_ms *ms, const grove::flat_column *old, const std::vector<int64_t> &rows)
{
    std::vector<int64_t> cells;
    if (!old || rows.back() - rows.front() + 1 != int64_t(rows.size()) ||
        !grove::find_cells(*old, rows, cells) ||
        cells.back() - cells.front() + 1 != int64_t(cells.size()))
        return;
    const int64_t bytes = old->pieces * old->piece; // of a row, with the room after the last piece
    // pages may be large, and are freed as a whole: the range before is freed again
    int64_t first = std::max(int64_t(0), cells.front() * bytes - (4 << 20));
    auto part = std::unique_ptr<forgotten>(
        new forgotten{old->path, first, (cells.back() + 1) * bytes - first});
    if (!ms->forgetting)
        ms->forgetting.reset(grove_worker_new("grove-forget"));
    grove_worker_queue(ms->forgetting.get(), forget, part.release());
}

void put_parts(grove_ms *ms, const grove_ms_block *block, const grove::row_list &list,
               const float *data, const unsigned char *flag)
{
    const bool whole = block->channels == ms->layout->channels; // else tiles may be used again
    for (size_t k = 0; k < ms->data.parts.size(); k++) {
        const grove::row_list rows = grove::rows_in(ms->data.tables, list, k);
        if (rows.row.empty())
            continue;
        const grove::written_part &part = ms->data.parts[k];
        grove::view *to = part.to.get();
        grove::fill_rest(to, ms->column, ms);
        if (whole && ms->mode == GROVE_MS_REPLACE)
            forget_replaced(ms, part.old.get(), rows.row);
        put_data(ms,
                 {to->table, part.is_new ? to->original : to->table, ms->column, part.flat.get(),
                  part.old.get()},
                 block, rows, data);
        if (whole)
            start_writing_back(part.flat.get(), rows.row);
    }
    for (size_t k = 0; k < ms->written_flags.parts.size(); k++) {
        const grove::row_list rows = grove::rows_in(ms->written_flags.tables, list, k);
        if (!rows.row.empty())
            put_changed_flags(ms, ms->written_flags.parts[k].to.get(), block, rows, flag);
    }
}

// A sample is flagged if any of the columns flags it.
void join_flags(grove_ms *ms, const grove_ms_block *block, const grove::row_list &list,
                const unsigned char *flag)
{
    if (!flag)
        return;
    size_t cell = size_t(ms->layout->correlations * block->channels);
    std::vector<unsigned char> joined(flag, flag + size_t(block->times * block->baselines) * cell);
    Array<Bool> old(ArrayColumn<Bool>(ms->table, "FLAG")
                        .getColumnCells(as_rows(list.row), part_of_cell(ms, block)));
    const Bool *from = old.data();
    for (size_t i = 0; i < list.row.size(); i++)
        for (size_t k = 0; k < cell; k++)
            joined[size_t(list.place[i]) * cell + k] |= from[i * cell + k];
    put_flags(ms, block, list, joined.data());
}

void put_new(grove_ms *ms, const grove_ms_block *block, const grove::row_list &list,
             const float *data, const unsigned char *flag)
{
    const std::vector<std::string> &columns = ms->made->columns;
    grove::flat_column *flat = written_flat(ms->made_flat);
    const bool whole = block->channels == ms->layout->channels;
    if (whole)
        forget_replaced(ms, written_flat(ms->replaced), list.row);
    put_data(ms, {ms->table, ms->table, ms->column, flat, nullptr}, block, list, data);
    if (whole)
        start_writing_back(flat, list.row);
    if (columns.size() > 1)
        join_flags(ms, block, list, flag);
    else if (flag)
        put_flags(ms, block, list, flag);
}
} // namespace

extern "C" int grove_ms_write_data(grove_ms *ms, const grove_ms_block *block, const float *data,
                                   const unsigned char *flag, grove_error *error)
{
    int code = grove::check_block(ms, block, error);
    return code ? code : grove::guard_writing(ms, error, [&] {
        grove::row_list list = grove::rows_of(ms, block);
        if (list.row.empty() || !block->channels)
            return 0;
        if (ms->made)
            put_new(ms, block, list, data, flag);
        else
            put_parts(ms, block, list, data, flag);
        return 0;
    });
}

extern "C" int grove_ms_write_uvw(grove_ms *ms, const grove_ms_block *block, const double *uvw,
                                  grove_error *error)
{
    int code = grove::check_block(ms, block, error);
    return code ? code : grove::guard_writing(ms, error, [&] {
        grove::row_list list = grove::rows_of(ms, block);
        if (list.row.empty())
            return 0;
        Array<Double> values(IPosition(2, 3, Int64(list.row.size())));
        Double *to = values.data();
        for (size_t i = 0; i < list.row.size(); i++)
            for (size_t k = 0; k < 3; k++)
                to[3 * i + k] = -uvw[3 * size_t(list.place[i]) + k];
        if (ms->made_uvw.file < 0) {
            ArrayColumn<Double>(ms->table, "UVW").putColumnCells(as_rows(list.row), values);
            return 0;
        }
        for (size_t i = 0; i < list.row.size(); i++)
            list.place[i] = int64_t(i);
        grove::write_flat(ms->made_uvw, list, 0, ms->made_uvw.cell, to);
        return 0;
    });
}

extern "C" int grove_ms_settle(grove_ms *ms, grove_error *error)
{
    return ms->settled ? 0 : grove::guard_writing(ms, error, [&] {
        if (grove::check_space(ms, nullptr))
            return int(GROVE_IO);
        ms->forgetting.reset(); // before another file has the replaced column's name
        for (grove::flat_column *flat : {&ms->made_flat, &ms->made_weight, &ms->made_uvw})
            if (flat->file >= 0)
                grove::flush_flat(*flat);
        int code = ms->made ? grove::settle_new(ms, error) : 0;
        for (grove::written_part &part : ms->written_flags.parts)
            if (!code)
                code = grove::settle_column(part.to.get(), "FLAG", error);
        for (grove::written_part &part : ms->written_weights.parts)
            if (!code)
                code = grove::settle_column(part.to.get(), "WEIGHT", error);
        for (grove::written_part &part : ms->data.parts) {
            if (!code && part.flat)
                grove::flush_flat(*part.flat);
            if (!code)
                grove::fill_rest(part.to.get(), ms->column, ms);
            if (!code)
                code = grove::settle_column(part.to.get(), ms->column, error);
        }
        if (!code && !ms->made)
            code = grove::write_history(ms, error);
        ms->settled = !code;
        return code;
    });
}

// Closes all; others in this process who have the set open will open it again.
static void close_written(grove_ms *ms)
{
    grove::guard(ms->path, nullptr, [&] {
        ms->table = Table();
        ms->close_views();
        return 0;
    });
    for (grove_set_lock *lock : ms->locks)
        grove_set_lock_changed(lock);
    delete ms;
}

extern "C" int grove_ms_finish(grove_ms *ms, grove_error *error)
{
    int code = grove_ms_settle(ms, error);
    if (!code && ms->own_record)
        code = grove_record_commit(ms->record, error);
    if (code)
        grove_ms_abort(ms);
    else
        close_written(ms);
    return code;
}

extern "C" void grove_ms_abort(grove_ms *ms)
{
    if (!ms)
        return;
    if (ms->made)
        ms->made->lost = true;
    grove::guard(ms->path, nullptr, [&] {
        ms->table = Table();
        ms->close_views();
        return 0;
    });
    delete ms;
}
