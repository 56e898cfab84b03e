// Writing blocks, and ending: whole, or as if nothing had been.
//
// A column of an existing set is written under a scratch name. Ending well renames the old column
// out of the way, the scratch column to the column's name, and removes the old one; a run that died
// in between is put right at the next opening for writing.
#include "io/measurement_set_private.h"

#include <casacore/casa/Arrays/Slicer.h>
#include <casacore/tables/DataMan/TiledShapeStMan.h>
#include <casacore/tables/Tables/RefRows.h>
#include <casacore/tables/Tables/TableDesc.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <fcntl.h>
#include <mutex>
#include <set>
#include <unistd.h>

using namespace casacore;

namespace grove
{
int check_space(const std::string &path, const std::string &probe, grove_error *error)
{
    int file = open(probe.c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0600);
    int fault = file < 0 ? errno : posix_fallocate(file, 0, 4 << 20);
    if (file >= 0)
        close(file);
    unlink(probe.c_str());
    return fault == 0 || fault == EOPNOTSUPP
               ? 0
               : grove_fail(error, GROVE_IO, "%s: %s", path.c_str(), std::strerror(fault));
}

std::string scratch_name(const std::string &column)
{
    return "GROVE_TMP_" + column;
}

std::string old_name(const std::string &column)
{
    return "GROVE_OLD_" + column;
}

namespace
{
// Columns that this process is writing, as "path|column": their scratch columns are no leftovers.
std::mutex writing_lock;
std::set<std::string> writing;

std::string writing_name(const Table &table, const std::string &column)
{
    return std::string(table.tableName()) + "|" + column;
}
} // namespace

void recover(Table &table, const std::string &own)
{
    std::lock_guard<std::mutex> guard(writing_lock);
    auto concerns = [&](const std::string &column) {
        return own.empty() ? !writing.count(writing_name(table, column)) : column == own;
    };
    Vector<String> names(table.tableDesc().columnNames());
    for (const String &name : names) {
        if (name.substr(0, 10) == "GROVE_OLD_" && concerns(name.substr(10))) {
            String column = name.substr(10);
            if (table.tableDesc().isColumn(column))
                table.removeColumn(name); // the swap was done
            else
                table.renameColumn(column, name);
        }
    }
    for (const String &name : names)
        if (name.substr(0, 10) == "GROVE_TMP_" && concerns(name.substr(10)))
            table.removeColumn(name);
}

bool reserve_name(grove_ms *ms, const std::string &column)
{
    std::lock_guard<std::mutex> guard(writing_lock);
    std::string name = writing_name(ms->table, column);
    if (!writing.insert(name).second)
        return false;
    ms->reserved = name;
    return true;
}

void release_name(const std::string &name)
{
    std::lock_guard<std::mutex> guard(writing_lock);
    writing.erase(name);
}
} // namespace grove

namespace
{
std::string any_complex_column(const Table &table)
{
    if (table.tableDesc().isColumn("DATA"))
        return "DATA";
    for (const String &name : table.tableDesc().columnNames())
        if (table.tableDesc().columnDesc(name).dataType() == TpComplex &&
            table.tableDesc().columnDesc(name).isArray())
            return name;
    throw AipsError("it has no column of visibilities whose shape a new one could take");
}

// The old content, so that rows that are not written, and those to add to, have it. A new column
// has zeros.
void copy_column(Table &table, const std::string &from, const std::string &to, bool values)
{
    ArrayColumn<Complex> in(table, from), out(table, to);
    for (rownr_t row = 0; row < table.nrow(); row++) {
        if (!in.isDefined(row))
            continue;
        Array<Complex> cell(in(row));
        if (!values)
            cell = Complex(0);
        out.put(row, cell);
    }
}

// Can the column not be removed by itself? Columns in one tiled manager stand and fall together.
bool shares_tiles(const Table &table, const std::string &column)
{
    Record managers(table.dataManagerInfo());
    for (uInt i = 0; i < managers.nfields(); i++) {
        const Record &manager = managers.subRecord(i);
        Vector<String> columns(manager.asArrayString("COLUMNS"));
        bool tiled = manager.asString("TYPE").substr(0, 5) == "Tiled";
        for (const String &each : columns)
            if (each == String(column))
                return tiled && columns.size() > 1;
    }
    return false;
}

// A name for the new column's manager that no other has: managers keep theirs when columns are
// renamed.
std::string free_manager_name(const Table &table)
{
    Record managers(table.dataManagerInfo());
    for (int k = 0;; k++) {
        std::string name = "Grove_" + std::to_string(k);
        bool taken = false;
        for (uInt i = 0; i < managers.nfields(); i++)
            taken = taken || managers.subRecord(i).asString("NAME") == String(name);
        if (!taken)
            return name;
    }
}

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

void put_flags(grove_ms *ms, const grove_ms_block *block, const grove::row_list &list,
               const unsigned char *flag)
{
    IPosition shape(3, ms->layout->correlations, block->channels, Int64(list.row.size()));
    Slicer part(IPosition(2, 0, block->first_channel),
                IPosition(2, ms->layout->correlations, block->channels));
    Array<Bool> flags(shape, False);
    size_t cell = size_t(ms->layout->correlations * block->channels);
    Bool *to = flags.data();
    for (size_t i = 0; flag && i < list.row.size(); i++)
        for (size_t k = 0; k < cell; k++)
            to[i * cell + k] = flag[size_t(list.place[i]) * cell + k] != 0;
    ArrayColumn<Bool>(ms->table, "FLAG").putColumnCells(as_rows(list.row), part, flags);
}

void put_data(grove_ms *ms, const std::string &column, const grove_ms_block *block,
              const grove::row_list &list, const float *data)
{
    IPosition shape(3, ms->layout->correlations, block->channels, Int64(list.row.size()));
    Slicer part(IPosition(2, 0, block->first_channel),
                IPosition(2, ms->layout->correlations, block->channels));
    ArrayColumn<Complex> out(ms->table, column);
    Array<Complex> values(shape);
    gather(list, size_t(ms->layout->correlations * block->channels),
           reinterpret_cast<const Complex *>(data), values.data());
    if (!ms->created && ms->mode != GROVE_MS_REPLACE) {
        Array<Complex> before(out.getColumnCells(as_rows(list.row), part));
        const Complex *old = before.data();
        Complex *now = values.data();
        for (size_t i = 0; i < size_t(shape.product()); i++)
            now[i] = ms->mode == GROVE_MS_ADD ? old[i] + now[i] : old[i] - now[i];
    }
    out.putColumnCells(as_rows(list.row), part, values);
}

void finish_new(grove_ms *ms)
{
    std::string aside = ms->temporary + "-old";
    bool there = grove_path_exists(ms->path.c_str());
    if (there && std::rename(ms->path.c_str(), aside.c_str()))
        throw AipsError("the set that is to be replaced cannot be moved");
    if (std::rename(ms->temporary.c_str(), ms->path.c_str())) {
        if (there)
            (void)!std::rename(aside.c_str(), ms->path.c_str());
        throw AipsError("the finished set cannot be given its name");
    }
    if (there)
        grove_path_remove(aside.c_str(), nullptr);
}

void give_up(grove_ms *ms)
{
    if (ms->broken)
        (void)new Table(ms->table);
    else if (ms->created && !ms->table.isNull())
        ms->table.markForDelete(); // or all rows that are still to come would be written first
    ms->table = Table();
}

int check_space(const grove_ms *ms, grove_error *error)
{
    return grove::check_space(ms->path, (ms->created ? ms->temporary : ms->path) + "/grove-space",
                              error);
}

// Runs what writes. A full disk shows in casacore as any write error.
int guard_writing(grove_ms *ms, grove_error *error, const std::function<int()> &work)
{
    std::unique_ptr<grove_error, decltype(&grove_error_free)> fault(grove_error_new(),
                                                                    grove_error_free);
    int code = grove::guard(ms->path, fault.get(), work);
    if (!code)
        return 0;
    ms->broken = true;
    const char *message = grove_error_message(fault.get(), 0);
    if (check_space(ms, error) == 0)
        grove_fail(error, code, "%s", message ? message : "cannot be written");
    return code;
}

void finish_column(grove_ms *ms)
{
    Table &table = ms->table;
    if (table.tableDesc().isColumn(ms->column)) {
        table.renameColumn(grove::old_name(ms->column), ms->column);
        table.flush(True, True);
        table.renameColumn(ms->column, ms->scratch);
        table.flush(True, True);
        table.removeColumn(grove::old_name(ms->column));
    } else {
        table.renameColumn(ms->column, ms->scratch);
    }
    table.flush(True, True);
    grove::write_history(table, ms->history);
    table = Table();
}
} // namespace

extern "C" int grove_ms_prepare(grove_ms *ms, const char *column, grove_ms_mode mode,
                                grove_error *error)
{
    return grove::guard(ms->path, error, [&] {
        Table &table = ms->table;
        bool exists = table.tableDesc().isColumn(column);
        if (!exists && mode != GROVE_MS_REPLACE)
            return grove_fail(error, GROVE_MISSING,
                              "%s: has no column %s to add to or subtract from", ms->path.c_str(),
                              column);
        if (exists && table.tableDesc().columnDesc(column).dataType() != TpComplex)
            return grove_fail(error, GROVE_INVALID, "%s: column %s does not hold complex numbers",
                              ms->path.c_str(), column);
        if (exists && shares_tiles(table, column))
            return grove_fail(error, GROVE_INVALID,
                              "%s: column %s is stored together with others and cannot be replaced "
                              "safely; write another column",
                              ms->path.c_str(), column);
        std::string like = exists ? column : any_complex_column(table);
        ColumnDesc description(table.tableDesc().columnDesc(like));
        description.setName(grove::scratch_name(column));
        TableDesc added;
        added.addColumn(description);
        Int64 row = Int64(ms->layout->correlations) * ms->layout->channels * 8;
        TiledShapeStMan manager(free_manager_name(table),
                                IPosition(3, ms->layout->correlations, ms->layout->channels,
                                          std::max(Int64(1), Int64(1 << 20) / row)));
        if (check_space(ms, error))
            return int(GROVE_IO);
        if (!grove::reserve_name(ms, column))
            return grove_fail(error, GROVE_INVALID,
                              "%s: column %s is being written already; write another column",
                              ms->path.c_str(), column);
        ms->column = column;
        table.addColumn(added, manager);
        ms->scratch = grove::scratch_name(column);
        ms->mode = mode;
        bool all_written = ms->all_rows && mode == GROVE_MS_REPLACE;
        if (!all_written || !description.isFixedShape())
            copy_column(table, like, ms->scratch, exists);
        return 0;
    });
}

extern "C" int grove_ms_write_data(grove_ms *ms, const grove_ms_block *block, const float *data,
                                   const unsigned char *flag, grove_error *error)
{
    int code = grove::check_block(ms, block, error);
    return code ? code : guard_writing(ms, error, [&] {
        grove::row_list list = grove::rows_of(ms, block);
        if (list.row.empty() || !block->channels)
            return 0;
        put_data(ms, ms->created ? ms->column : ms->scratch, block, list, data);
        if (ms->created) {
            put_flags(ms, block, list, flag);
            if (ms->column != "DATA") {
                std::vector<float> zeros(2 * size_t(block->times * block->baselines *
                                                    block->channels * ms->layout->correlations));
                put_data(ms, "DATA", block, list, zeros.data());
            }
        }
        return 0;
    });
}

extern "C" int grove_ms_write_uvw(grove_ms *ms, const grove_ms_block *block, const double *uvw,
                                  grove_error *error)
{
    int code = grove::check_block(ms, block, error);
    return code ? code : guard_writing(ms, error, [&] {
        grove::row_list list = grove::rows_of(ms, block);
        if (list.row.empty())
            return 0;
        Array<Double> values(IPosition(2, 3, Int64(list.row.size())));
        for (size_t i = 0; i < list.row.size(); i++)
            for (size_t k = 0; k < 3; k++)
                values.data()[3 * i + k] = -uvw[3 * size_t(list.place[i]) + k];
        ArrayColumn<Double>(ms->table, "UVW").putColumnCells(as_rows(list.row), values);
        return 0;
    });
}

extern "C" int grove_ms_settle(grove_ms *ms, grove_error *error)
{
    return ms->settled ? 0 : guard_writing(ms, error, [&] {
        if (check_space(ms, nullptr))
            return int(GROVE_IO);
        if (ms->created)
            grove::write_history(ms->table, ms->history);
        ms->table.flush(True, True);
        if (ms->created)
            ms->table = Table();
        ms->settled = true;
        return 0;
    });
}

extern "C" int grove_ms_finish(grove_ms *ms, grove_error *error)
{
    int code = grove_ms_settle(ms, error);
    if (!code)
        code = guard_writing(ms, error, [&] {
            if (ms->created)
                finish_new(ms);
            else
                finish_column(ms);
            return 0;
        });
    if (code)
        grove_ms_abort(ms);
    else
        delete ms;
    return code;
}

extern "C" void grove_ms_abort(grove_ms *ms)
{
    if (!ms)
        return;
    grove::guard(ms->path, nullptr, [&] {
        if (!ms->created && !ms->scratch.empty() && !ms->table.isNull())
            grove::recover(ms->table, ms->column); // gives the scratch column's space back
        ms->broken = ms->broken && ms->created;
        return 0;
    });
    give_up(ms);
    if (ms->created && !ms->temporary.empty())
        grove_path_remove(ms->temporary.c_str(), nullptr);
    delete ms;
}
