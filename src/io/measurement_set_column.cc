// Columns of views: those that a run writes, and who of the run writes which rows of them.
#include "io/measurement_set_private.h"

#include <casacore/casa/Arrays/Matrix.h>
#include <casacore/casa/Containers/Record.h>
#include <casacore/tables/DataMan/DataManager.h>
#include <casacore/tables/DataMan/TiledShapeStMan.h>
#include <casacore/tables/Tables/ArrColDesc.h>
#include <casacore/tables/Tables/TableDesc.h>

#include <algorithm>
#include <unistd.h>

using namespace casacore;

namespace
{
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

grove::view::column *find_column(grove::view *to, const std::string &name)
{
    for (grove::view::column &each : to->columns)
        if (each.name == name)
            return &each;
    return nullptr;
}

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

// Adds a column whose file takes no room yet.
void add_sparse(grove::view *to, const TableDesc &added, const DataManager &manager)
{
    grove::close_table(to);
    to->table = grove::open_to_extend(to->prepared(), TableLock::NoLocking);
    to->table.addColumn(added, manager);
    unsigned number = grove::manager_of(to->table, added[0].name()).asuInt("SEQNR");
    grove::close_table(to);
    grove::empty_tiles(to->prepared(), int(number));
    to->table = grove::open_to_write(to->prepared(), TableLock::NoLocking);
}

// Rows that are not written keep what they had: copied from file to file. False: they cannot be.
bool copy_flat(grove::view *to, const std::string &from, const std::string &scratch,
               const std::vector<bool> &written, const grove_ms *ms)
{
    grove::flat_column in, out;
    grove::open_flat(to->table, ms->layout, from, false, in);
    grove::open_flat(to->table, ms->layout, scratch, true, out);
    if (in.file < 0 || out.file < 0)
        return false;
    const size_t most = std::max<size_t>(1, grove::PIECE / size_t(in.cell));
    std::vector<char> bytes(most * size_t(in.cell));
    for (size_t row = 0, count; row < written.size(); row += count) {
        for (count = 1;
             count < most && row + count < written.size() && written[row + count] == written[row];)
            count++;
        if (written[row])
            continue;
        const size_t length = count * size_t(in.cell);
        if (pread(in.file, bytes.data(), length, off_t(int64_t(row) * in.cell)) != ssize_t(length))
            throw AipsError("column " + from + " cannot be read");
        grove::row_list all;
        for (size_t i = 0; i < count; i++) {
            all.row.push_back(int64_t(row + i));
            all.place.push_back(int64_t(i));
        }
        grove::write_flat(out, all, 0, out.cell, bytes.data());
    }
    return true;
}

// Cells of rows that are not written keep what they had, in a new column zeros. Those that will be
// written get their shape.
void fill_column(Table &table, const std::string &from, const std::string &to, bool values,
                 const std::vector<bool> &written)
{
    if (std::find(written.begin(), written.end(), false) == written.end())
        return;
    ArrayColumn<Complex> in(table, from), out(table, to);
    for (rownr_t row = 0; row < table.nrow(); row++) {
        if (written[row] || !in.isDefined(row))
            continue;
        Array<Complex> cell(values ? in(row) : Array<Complex>(in.shape(row), Complex(0)));
        out.put(row, cell);
    }
}

// Rows of the table that the set's choice has.
std::vector<bool> chosen_rows(const grove::view *to, const grove_ms *ms)
{
    std::vector<bool> chosen(to->table.nrow(), false);
    grove::each_time(ms, [&](const grove::row_list &rows) {
        for (int64_t row : rows.row)
            if (ms->place.empty())
                chosen[size_t(row)] = true;
            else if (ms->parts[size_t(ms->place[size_t(row)].first)].to.get() == to)
                chosen[size_t(ms->place[size_t(row)].second)] = true;
    });
    return chosen;
}

// A new column beside the old one, if there is one, in a manager of the same kind.
std::string add_column(grove::view *to, const std::string &column, bool exists, const grove_ms *ms)
{
    Table &table = to->table;
    std::string like = exists ? column : any_complex_column(to->original),
                scratch = "GROVE_NEW_" + column;
    ColumnDesc description(table.tableDesc().columnDesc(like));
    description.setName(scratch);
    TableDesc added;
    added.addColumn(description);
    std::string name = free_manager_name(table);
    if (exists) {
        Record old(grove::manager_of(table, column)), spec(old.asRecord("SPEC"));
        if (spec.isDefined("HYPERCUBES"))
            spec.removeField("HYPERCUBES");
        std::unique_ptr<DataManager> manager(
            DataManager::getCtor(old.asString("TYPE"))(name, spec));
        add_sparse(to, added, *manager);
    } else {
        Int64 row = Int64(ms->layout->correlations) * ms->layout->channels * 8;
        TiledShapeStMan manager(name, IPosition(3, ms->layout->correlations, ms->layout->channels,
                                                std::max(Int64(1), Int64(1 << 20) / row)));
        table.addColumn(added, manager); // casacore writes it: its rows are not one after the other
    }
    return scratch;
}

// Another writes the column already: rows that are not these. False: some of them are.
bool join_column(grove::view *to, grove::view::column &known, const std::vector<bool> &rows)
{
    for (size_t i = 0; i < rows.size(); i++)
        if (rows[i] && known.rows[i])
            return false;
    for (size_t i = 0; i < rows.size(); i++)
        known.rows[i] = known.rows[i] || rows[i];
    known.open++;
    to->open_columns++;
    return true;
}

void add_written(grove::view *to, const grove::view::column &column)
{
    to->columns.push_back(column);
    to->open_columns++;
}

// Joins those who write FLAG or WEIGHT, which stay under their names, if somebody does. False:
// nobody does, or with a message: they are the same rows.
bool join_shared(grove::view *to, const std::string &name, const std::vector<bool> &rows,
                 const char *what, grove_error *error)
{
    grove::view::column *known = find_column(to, name);
    if (known && known->open && join_column(to, *known, rows))
        return true;
    if (known)
        grove_fail(error, GROVE_INVALID,
                   "%s: %s of its rows are being written already; let one sink do it",
                   to->folder.c_str(), what);
    return false;
}

// WEIGHT_SPECTRUM of a set that has none. In rows that are not written WEIGHT counts for all
// channels.
void add_spectrum(grove::view *to, const grove_ms *ms)
{
    Table &table = to->table;
    Int64 row = Int64(ms->layout->correlations) * ms->layout->channels * 4;
    TableDesc added;
    added.addColumn(ArrayColumnDesc<Float>("WEIGHT_SPECTRUM", "", 2));
    TiledShapeStMan manager(free_manager_name(table),
                            IPosition(3, ms->layout->correlations, ms->layout->channels,
                                      std::max(Int64(1), Int64(1 << 20) / row)));
    table.addColumn(added, manager);
    std::vector<bool> written(chosen_rows(to, ms));
    ArrayColumn<Float> mean(table, "WEIGHT"), spectrum(table, "WEIGHT_SPECTRUM");
    ArrayColumn<Bool> flags(table, "FLAG");
    for (rownr_t i = 0; i < table.nrow(); i++) {
        if (written[i] || !mean.isDefined(i) || !flags.isDefined(i))
            continue;
        Matrix<Float> cell(flags.shape(i));
        Vector<Float> weight(mean(i));
        for (size_t f = 0; f < cell.ncolumn(); f++)
            for (size_t c = 0; c < cell.nrow() && c < weight.size(); c++)
                cell(c, f) = weight[c];
        spectrum.put(i, cell);
    }
}

// Removes a column that a new one replaces. What casacore fails to remove, it does not say.
int remove_column(grove::view *to, const std::string &column, grove_error *error)
{
    unsigned number = grove::manager_of(to->table, column).asuInt("SEQNR");
    to->table.removeColumn(column);
    return grove::remove_files(to, number, error);
}

// Whether a new manager of this kind can take the column's place.
bool can_renew(const Record &manager)
{
    String type(manager.asString("TYPE"));
    return Vector<String>(manager.asArrayString("COLUMNS")).size() == 1 &&
           (type == "TiledColumnStMan" || type == "TiledShapeStMan" || type == "TiledCellStMan" ||
            type == "StandardStMan");
}

// Kinds that keep numbers as they are given.
bool is_exact(const std::string &type)
{
    return type.compare(0, 5, "Tiled") == 0 || type == "StandardStMan" ||
           type == "IncrementalStMan" || type == "StManAipsIO";
}
} // namespace

namespace grove
{
std::string open_column(view *to, const std::string &column, bool whole, const grove_ms *ms,
                        grove_error *error)
{
    bool exists = to->original.tableDesc().isColumn(column);
    std::string name;
    std::vector<bool> rows(chosen_rows(to, ms));
    view::column *known = find_column(to, column);
    if (known && known->open && join_column(to, *known, rows))
        return known->scratch;
    if (known) {
        grove_fail(error, GROVE_INVALID,
                   "%s: column %s is being written already; write another column",
                   to->folder.c_str(), column.c_str());
        return "";
    }
    if (!exists && !whole) {
        grove_fail(error, GROVE_MISSING,
                   "%s: has no column %s, and none can be made through a selection of its rows; "
                   "make it there first",
                   to->folder.c_str(), column.c_str());
        return "";
    }
    Record manager(exists ? grove::manager_of(to->original, column) : Record());
    if (exists && !is_exact(manager.asString("TYPE"))) {
        grove_fail(error, GROVE_INVALID,
                   "%s: column %s is stored by %s, which does not keep numbers as they are; write "
                   "another column",
                   to->folder.c_str(), column.c_str(), manager.asString("TYPE").c_str());
        return "";
    }
    if (!exists || (whole && can_renew(manager)))
        name = add_column(to, column, exists, ms);
    else if (own_files(to, manager.asuInt("SEQNR"), error))
        return "";
    else
        name = column;
    add_written(to, {column, name, rows, 1, name == column});
    return name;
}

void fill_rest(view *to, const std::string &column, const grove_ms *ms)
{
    view::column *of = find_column(to, column);
    if (of->filled)
        return;
    bool exists = to->original.tableDesc().isColumn(column);
    std::string like = exists ? column : any_complex_column(to->original);
    if (!exists || !copy_flat(to, like, of->scratch, of->rows, ms))
        fill_column(to->table, like, of->scratch, exists, of->rows);
    of->filled = true;
}

int open_flags(view *to, const grove_ms *ms, grove_error *error)
{
    const char *path = to->folder.c_str();
    std::vector<bool> rows(chosen_rows(to, ms));
    if (join_shared(to, "FLAG", rows, "flags", error))
        return 0;
    if (find_column(to, "FLAG"))
        return grove_error_code(error);
    if (!to->original.tableDesc().isColumn("FLAG"))
        return grove_fail(error, GROVE_MISSING, "%s: has no column FLAG", path);
    Record manager(grove::manager_of(to->original, "FLAG"));
    if (!is_exact(manager.asString("TYPE")))
        return grove_fail(error, GROVE_INVALID,
                          "%s: column FLAG is stored by %s; it is not written", path,
                          manager.asString("TYPE").c_str());
    int code = own_files(to, manager.asuInt("SEQNR"), error);
    if (!code)
        add_written(to, {"FLAG", "FLAG", rows, 1, true});
    return code;
}

bool writes_flags_of(view *to, const grove_ms *ms)
{
    const view::column *flags = find_column(to, "FLAG");
    if (!flags)
        return false;
    std::vector<bool> rows(chosen_rows(to, ms));
    for (size_t i = 0; i < rows.size(); i++)
        if (rows[i] && flags->rows[i])
            return true;
    return false;
}

int open_weights(view *to, bool whole, const grove_ms *ms, grove_error *error)
{
    const char *path = to->folder.c_str();
    std::vector<bool> rows(chosen_rows(to, ms));
    if (join_shared(to, "WEIGHT", rows, "weights", error))
        return 0;
    if (find_column(to, "WEIGHT"))
        return grove_error_code(error);
    for (const char *column : {"WEIGHT", "WEIGHT_SPECTRUM"}) {
        bool exists = to->original.tableDesc().isColumn(column), is_mean = column[6] == 0;
        if (!exists && (is_mean || !whole))
            return grove_fail(error, GROVE_MISSING, "%s: has no column %s%s", path, column,
                              is_mean ? ""
                                      : ", and none can be made through a selection of its rows; "
                                        "make it there first");
        Record manager(exists ? manager_of(to->original, column) : Record());
        if (exists && !is_exact(manager.asString("TYPE")))
            return grove_fail(error, GROVE_INVALID,
                              "%s: column %s is stored by %s; it is not written", path, column,
                              manager.asString("TYPE").c_str());
        int code = exists ? own_files(to, manager.asuInt("SEQNR"), error) : 0;
        if (code)
            return code;
        if (!exists)
            add_spectrum(to, ms);
    }
    add_written(to, {"WEIGHT", "WEIGHT", rows, 1, true});
    return 0;
}

int settle_column(view *to, const std::string &column, grove_error *error)
{
    Table &table = to->table;
    view::column *of = find_column(to, column);
    int code = 0;
    if (of && --of->open == 0 && of->scratch != column) {
        if (table.tableDesc().isColumn(column))
            code = remove_column(to, column, error);
        if (code)
            return code;
        table.renameColumn(column, of->scratch);
    }
    table.flush();
    return --to->open_columns ? 0 : settle_view(to, error);
}
} // namespace grove
