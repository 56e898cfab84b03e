// Columns of views that a run writes, and the rows that each writer of the run has.
#include "nodes/sets/measurement_set_private.h"

#include <casacore/casa/Arrays/Matrix.h>
#include <casacore/casa/Containers/Record.h>
#include <casacore/tables/DataMan/DataManager.h>
#include <casacore/tables/DataMan/TSMCube.h>
#include <casacore/tables/DataMan/TiledShapeStMan.h>
#include <casacore/tables/Tables/ArrColDesc.h>
#include <casacore/tables/Tables/TableDesc.h>
#include <casacore/tables/Tables/TableRecord.h>

#include <algorithm>
#include <unistd.h>

using namespace casacore;

namespace
{
// A name for the new column's manager that no other has: managers keep theirs when columns are
// renamed.
std::string free_manager_name(const grove::view *to)
{
    const Record managers[] = {to->original.dataManagerInfo(), to->table.dataManagerInfo()};
    for (int k = 0;; k++) {
        std::string name = "Grove_" + std::to_string(k);
        bool taken = false;
        for (const Record &each : managers)
            for (uInt i = 0; i < each.nfields(); i++)
                taken = taken || each.subRecord(i).asString("NAME") == String(name);
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
    throw AipsError("it has no column of visibilities that gives a new column its shape");
}

// Calls work(row, shape) for rows whose cells in `column` have no shape yet and get one, from the
// column `like`, or from the set, which writes `rows`.
template <typename Work>
void each_new_cell(const grove::view *to, TiledStMan *manager, const std::string &like,
                   const std::vector<bool> &rows, const grove_ms *ms, const Work &work)
{
    ArrayColumn<Complex> in(to->original, like);
    const IPosition of_set(2, ms->layout->correlations, ms->layout->channels);
    const bool fixed = in.columnDesc().isFixedShape();
    for (rownr_t row = 0; row < to->rows; row++) {
        if (manager->getHypercube(row)->cubeShape().size())
            continue;
        if (fixed || in.isDefined(row))
            work(row, fixed ? in.shapeColumn() : in.shape(row));
        else if (rows[row])
            work(row, of_set);
    }
}

// A tiled column gets all cells before any is written: then writers know their places in its file,
// which takes no room yet. `added`: the column is new.
void make_cells(grove::view *to, const std::string &like, const std::string &column,
                const std::vector<bool> &rows, const grove_ms *ms)
{
    if (to->table.tableDesc().columnDesc(column).isFixedShape())
        return;
    TiledStMan *manager = grove::tiled_manager(to->table, column);
    if (manager)
        each_new_cell(to, manager, like, rows, ms, [&](rownr_t row, const IPosition &shape) {
            manager->setShape(row, manager->getHypercube(row), shape, manager->defaultTileShape());
        });
}

// Opens the view's table to add the column, or cells that are not written yet: its files of tiles
// get their whole length, and take no room.
void extend(grove::view *to, const std::string &column, const std::function<void()> &work)
{
    grove::close_table(to);
    to->table = grove::open_to_extend(to->prepared(), TableLock::NoLocking);
    work();
    unsigned number = grove::manager_of(to->table, column).asuInt("SEQNR");
    grove::close_table(to);
    grove::empty_tiles(to->prepared(), int(number));
    to->table = grove::open_to_write(to->prepared(), TableLock::NoLocking);
}

// Copies the old cells of these rows.
void copy_cells(grove::view *to, const std::string &column, const std::vector<int64_t> &rows)
{
    ArrayColumn<Complex> in(to->original, column), out(to->table, column);
    for (int64_t row : rows)
        if (in.isDefined(rownr_t(row)))
            out.put(rownr_t(row), in(rownr_t(row)));
}

// The same of those rows that have cells of this shape, file to file as far as it goes. Others who
// write to the same file at the same time must not use casacore's tiles.
void copy_cells_of(grove::view *to, const std::string &name, const IPosition &shape,
                   const std::vector<std::vector<int64_t>> &pieces)
{
    grove::flat_column in, out;
    std::vector<int64_t> cells, at;
    ArrayColumn<Complex> column(to->original, name);
    grove::open_flat(to->original, name, shape, false, in);
    grove::open_flat(to->table, name, shape, true, out);
    Array<Complex> values;
    for (const std::vector<int64_t> &piece : pieces) {
        grove::row_list list;
        for (int64_t row : piece)
            if (column.isDefined(rownr_t(row)) && column.shape(rownr_t(row)).isEqual(shape)) {
                list.place.push_back(int64_t(list.row.size()));
                list.row.push_back(row);
            }
        if (out.file < 0)
            copy_cells(to, name, list.row);
        if (out.file < 0 || list.row.empty())
            continue;
        IPosition all(shape);
        all.append(IPosition(1, Int64(list.row.size())));
        values.resize(all);
        if (in.file < 0 || !grove::find_cells(in, list.row, at))
            for (size_t i = 0; i < list.row.size(); i++)
                values[i] = column(rownr_t(list.row[i]));
        else if (!grove::read_cells_of(in, at.data(), int64_t(at.size()), values.data()))
            throw AipsError("column " + name + " cannot be read");
        grove::write_flat(out, list, 0, out.cell, values.data());
    }
    if (out.file >= 0)
        grove::flush_flat(out);
}

// Rows that are not written, in pieces.
std::vector<std::vector<int64_t>> rest_of(const std::vector<bool> &written, size_t most)
{
    std::vector<std::vector<int64_t>> pieces;
    for (size_t row = 0; row < written.size(); row++) {
        if (written[row])
            continue;
        if (pieces.empty() || pieces.back().size() == most)
            pieces.emplace_back();
        pieces.back().push_back(int64_t(row));
    }
    return pieces;
}

// The shapes of a manager's cells.
std::vector<IPosition> shapes_of(TiledStMan *manager)
{
    std::vector<IPosition> shapes;
    for (uInt i = 0; i < manager->nhypercubes(); i++) {
        const TSMCube *cube = manager->getTSMCube(i);
        if (cube && cube->cubeShape().size())
            shapes.push_back(cube->cellShape());
    }
    return shapes;
}

// A manager for the new column: of the same kind as the old column's manager, if there is one.
std::unique_ptr<DataManager> new_manager(const grove::view *to, const std::string &column,
                                         bool exists, const grove_ms *ms)
{
    const std::string name = free_manager_name(to);
    const Int64 row = Int64(ms->layout->correlations) * ms->layout->channels * 8;
    if (!exists)
        return std::unique_ptr<DataManager>(
            new TiledShapeStMan(name, IPosition(3, ms->layout->correlations, ms->layout->channels,
                                                std::max(Int64(1), Int64(1 << 20) / row))));
    Record old(grove::manager_of(to->original, column)), spec(old.asRecord("SPEC"));
    if (spec.isDefined("HYPERCUBES"))
        spec.removeField("HYPERCUBES");
    return std::unique_ptr<DataManager>(DataManager::getCtor(old.asString("TYPE"))(name, spec));
}

// A column in files of its own, also where there is one of that name. `rows`: which will be
// written.
void add_column(grove::view *to, const std::string &column, bool exists,
                const std::vector<bool> &rows, const grove_ms *ms)
{
    std::string like = exists ? column : any_complex_column(to->original);
    ColumnDesc description(to->original.tableDesc().columnDesc(like));
    description.setName(column);
    if (description.keywordSet().isDefined(grove::FORWARD_KEYWORD)) // it does not
        description.rwKeywordSet().removeField(grove::FORWARD_KEYWORD);
    TableDesc added;
    added.addColumn(description);
    std::unique_ptr<DataManager> manager(new_manager(to, column, exists, ms));
    extend(to, column, [&] {
        to->table.addColumn(added, *manager);
        make_cells(to, like, column, rows, ms);
    });
}

// Adds cells for these rows to a column whose other rows have another writer.
void add_cells(grove::view *to, const grove::view::column &known, const std::vector<bool> &rows,
               const grove_ms *ms)
{
    bool exists = to->original.tableDesc().isColumn(known.name), missing = false;
    std::string like = exists ? known.name : any_complex_column(to->original);
    TiledStMan *manager =
        known.is_new && !known.filled ? grove::tiled_manager(to->table, known.name) : nullptr;
    if (!manager || to->table.tableDesc().columnDesc(known.name).isFixedShape())
        return;
    each_new_cell(to, manager, like, rows, ms, [&](rownr_t, const IPosition &) { missing = true; });
    if (missing)
        extend(to, known.name, [&] { make_cells(to, like, known.name, rows, ms); });
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

// Joins other writers of FLAG or WEIGHT, which keep their names, if there are any. False: there are
// none, or with a message: they write the same rows.
bool join_shared(grove::view *to, const std::string &name, const std::vector<bool> &rows,
                 const char *what, grove_error *error)
{
    grove::view::column *known = find_column(to, name);
    if (known && known->open && join_column(to, *known, rows))
        return true;
    if (known)
        grove_fail(error, GROVE_INVALID,
                   "%s: %s of its rows are being written already; use only one sink for them",
                   to->folder.c_str(), what);
    return false;
}

// WEIGHT_SPECTRUM of a set that has none. In rows that are not written WEIGHT counts for all
// channels.
void add_spectrum(grove::view *to, const std::vector<bool> &written, const grove_ms *ms)
{
    Table &table = to->table;
    Int64 row = Int64(ms->layout->correlations) * ms->layout->channels * 4;
    TableDesc added;
    added.addColumn(ArrayColumnDesc<Float>("WEIGHT_SPECTRUM", "", 2));
    TiledShapeStMan manager(free_manager_name(to),
                            IPosition(3, ms->layout->correlations, ms->layout->channels,
                                      std::max(Int64(1), Int64(1 << 20) / row)));
    table.addColumn(added, manager);
    ArrayColumn<Float> mean(table, "WEIGHT"), spectrum(table, "WEIGHT_SPECTRUM");
    ArrayColumn<Bool> flags(to->original, "FLAG");
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

// Whether a new manager of this kind can take the column's place.
bool can_renew(const grove::view *to, const Record &manager)
{
    String type(manager.asString("TYPE"));
    return to->has_own_files && Vector<String>(manager.asArrayString("COLUMNS")).size() == 1 &&
           (type == "TiledColumnStMan" || type == "TiledShapeStMan" || type == "TiledCellStMan" ||
            type == "StandardStMan");
}

// Whether managers of this kind keep numbers exactly.
bool is_exact(const std::string &type)
{
    return type.compare(0, 5, "Tiled") == 0 || type == "StandardStMan" ||
           type == "IncrementalStMan" || type == "StManAipsIO";
}
} // namespace

namespace grove
{
int open_column(view *to, const std::string &column, bool whole, const std::vector<bool> &rows,
                const grove_ms *ms, bool *is_new, grove_error *error)
{
    bool exists = to->original.tableDesc().isColumn(column);
    view::column *known = find_column(to, column);
    if (known && known->open && join_column(to, *known, rows)) {
        add_cells(to, *known, rows, ms);
        *is_new = known->is_new;
        return 0;
    }
    if (known)
        return grove_fail(error, GROVE_INVALID,
                          "%s: column %s is being written already; write another column",
                          to->folder.c_str(), column.c_str());
    if (!exists && !whole)
        return grove_fail(error, GROVE_MISSING,
                          "%s: has no column %s, and it cannot be created through a table that "
                          "refers to it; create it there first",
                          to->folder.c_str(), column.c_str());
    Record manager(exists ? grove::manager_of(to->original, column) : Record());
    if (exists && !is_exact(manager.asString("TYPE")))
        return grove_fail(error, GROVE_INVALID,
                          "%s: column %s is stored by %s, which does not keep numbers unchanged; "
                          "write another column",
                          to->folder.c_str(), column.c_str(), manager.asString("TYPE").c_str());
    *is_new = !exists || (whole && can_renew(to, manager));
    int code = *is_new ? 0 : own_files(to, manager.asuInt("SEQNR"), error);
    if (code)
        return code;
    if (*is_new)
        add_column(to, column, exists, rows, ms);
    add_written(to, {column, *is_new, rows, 1, !*is_new});
    return 0;
}

void fill_rest(view *to, const std::string &column, const grove_ms *ms)
{
    view::column *of = find_column(to, column);
    // rows of a new column that nobody writes are zeros so far
    if (!of->filled && of->is_new && to->original.tableDesc().isColumn(column)) {
        TiledStMan *manager = tiled_manager(to->table, column);
        const int64_t row = ms->layout->correlations * ms->layout->channels * 8;
        auto pieces = rest_of(of->rows, size_t(std::max(int64_t(1), int64_t(PIECE) / row)));
        for (const auto &piece : pieces)
            if (!manager)
                copy_cells(to, column, piece);
        if (manager && !pieces.empty())
            for (const IPosition &shape : shapes_of(manager))
                copy_cells_of(to, column, shape, pieces);
    }
    of->filled = true;
}

int open_copied(view *to, const std::string &column, const std::vector<bool> &rows,
                grove_error *error)
{
    const char *path = to->folder.c_str();
    if (!to->original.tableDesc().isColumn(column))
        return grove_fail(error, GROVE_MISSING, "%s: has no column %s", path, column.c_str());
    Record manager(grove::manager_of(to->original, column));
    if (!is_exact(manager.asString("TYPE")))
        return grove_fail(error, GROVE_INVALID, "%s: column %s is stored by %s; it is not written",
                          path, column.c_str(), manager.asString("TYPE").c_str());
    int code = own_files(to, manager.asuInt("SEQNR"), error);
    if (!code)
        add_written(to, {column, false, rows, 1, true});
    return code;
}

int open_flags(view *to, const std::vector<bool> &rows, grove_error *error)
{
    if (join_shared(to, "FLAG", rows, "flags", error))
        return 0;
    if (find_column(to, "FLAG"))
        return grove_error_code(error);
    int code = open_copied(to, "FLAG", rows, error);
    return code ? code : open_kept_flags(to, error);
}

bool writes_flags_of(view *to, const std::vector<bool> &rows)
{
    const view::column *flags = find_column(to, "FLAG");
    if (!flags)
        return false;
    for (size_t i = 0; i < rows.size(); i++)
        if (rows[i] && flags->rows[i])
            return true;
    return false;
}

int open_weights(view *to, bool shown, const std::vector<bool> &rows, const grove_ms *ms,
                 grove_error *error)
{
    const char *path = to->folder.c_str();
    if (join_shared(to, "WEIGHT", rows, "weights", error))
        return 0;
    if (find_column(to, "WEIGHT"))
        return grove_error_code(error);
    for (const char *column : {"WEIGHT", "WEIGHT_SPECTRUM"}) {
        bool exists = to->original.tableDesc().isColumn(column), is_mean = column[6] == 0;
        if (!exists && (is_mean || !shown))
            return grove_fail(error, GROVE_MISSING, "%s: has no column %s%s", path, column,
                              is_mean ? ""
                                      : ", and it cannot be created through a table that refers to "
                                        "it; create it there first");
        Record manager(exists ? manager_of(to->original, column) : Record());
        if (exists && !is_exact(manager.asString("TYPE")))
            return grove_fail(error, GROVE_INVALID,
                              "%s: column %s is stored by %s; it is not written", path, column,
                              manager.asString("TYPE").c_str());
        int code = exists ? own_files(to, manager.asuInt("SEQNR"), error) : 0;
        if (code)
            return code;
        if (!exists)
            add_spectrum(to, rows, ms);
    }
    add_written(to, {"WEIGHT", false, rows, 1, true});
    return 0;
}

int settle_column(view *to, const std::string &column, grove_error *error)
{
    view::column *of = find_column(to, column);
    if (of)
        of->open--;
    to->table.flush();
    if (--to->open_columns)
        return 0;
    int code = keep_flags(to, error);
    return code ? code : settle_view(to, error);
}
} // namespace grove
