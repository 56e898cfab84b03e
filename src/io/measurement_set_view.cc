// Views: a table's new state, prepared beside it.
//
// casacore removes a column's files before it writes its table anew, and empties headers before it
// fills them. Both happen in a view only: a folder inside of the set that has copies of its small
// files and hard links to the others, and is a table by itself.
#include "io/measurement_set_private.h"

#include <casacore/casa/Arrays/Matrix.h>
#include <casacore/casa/Containers/Record.h>
#include <casacore/tables/DataMan/DataManager.h>
#include <casacore/tables/DataMan/TiledShapeStMan.h>
#include <casacore/tables/Tables/ArrColDesc.h>
#include <casacore/tables/Tables/TableDesc.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <list>
#include <sys/stat.h>
#include <unistd.h>

using namespace casacore;

namespace
{
// The views of this process, which sinks of one run share.
std::list<std::weak_ptr<grove::view>> views;

int fail(const std::string &path, grove_error *error)
{
    return grove_fail(error, GROVE_IO, "%s: %s", path.c_str(), std::strerror(errno));
}

bool starts_with(const std::string &text, const std::string &start)
{
    return text.compare(0, start.size(), start) == 0;
}

bool same(const struct stat &a, const struct stat &b)
{
    return a.st_ino == b.st_ino && a.st_size == b.st_size && a.st_mtim.tv_sec == b.st_mtim.tv_sec &&
           a.st_mtim.tv_nsec == b.st_mtim.tv_nsec;
}

// A copy of a file of the table, which must not change any more.
int copy_file(grove::view *made, const std::string &file, grove_error *error)
{
    std::string from = made->folder + "/" + file, to = made->prepared() + "/" + file;
    struct stat info;
    if (stat(from.c_str(), &info) || grove_file_copy(from.c_str(), to.c_str()))
        return fail(to, error);
    made->copied.emplace_back(from, info);
    return 0;
}

int check_copied(const grove::view *made, grove_error *error)
{
    struct stat now;
    for (const auto &each : made->copied)
        if (stat(each.first.c_str(), &now) || !same(now, each.second))
            return grove_fail(error, GROVE_IO, "%s: another program has changed it during this run",
                              made->folder.c_str());
    return 0;
}

int fill(grove::view *made, grove_error *error)
{
    char **names = grove_folder_list(made->folder.c_str());
    int code = mkdir(made->prepared().c_str(), 0777) ? fail(made->prepared(), error) : 0;
    for (char **name = names; *name; name++) {
        std::string file = *name;
        bool needed =
            starts_with(file, "table.") && file != "table.lock" && file != "table.dat_tmp";
        std::string from = made->folder + "/" + file, to = made->prepared() + "/" + file;
        // Where the file system has no hard links, data are copied as well.
        if (needed && !code && (!starts_with(file, "table.f") || link(from.c_str(), to.c_str())))
            code = copy_file(made, file, error);
        free(*name);
    }
    free(names);
    return code;
}

// casacore's own lock, and no other program that has the table open: it would not know of what
// changes, and write the table as it was.
int lock_original(grove::view *made, grove_error *error)
{
    int times = 0, code = 0;
    while (!code) {
        if (!made->original.hasLock(FileLocker::Write) &&
            !made->original.lock(FileLocker::Write, 1))
            code = grove_set_wait(made->folder.c_str(), "another program has locked it", &times,
                                  error);
        else if (made->original.isMultiUsed())
            code =
                grove_set_wait(made->folder.c_str(), "another program has it open", &times, error);
        else
            break;
    }
    return code;
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

grove::view::column *find_column(grove::view *to, const std::string &name)
{
    for (grove::view::column &each : to->visibilities)
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

void close_table(grove::view *to)
{
    to->table.flush();
    to->table = Table();
}

// Adds a column whose file takes no room yet.
void add_sparse(grove::view *to, const TableDesc &added, const DataManager &manager)
{
    close_table(to);
    to->table = grove::open_to_extend(to->prepared());
    to->table.addColumn(added, manager);
    unsigned number = grove::manager_of(to->table, added[0].name()).asuInt("SEQNR");
    close_table(to);
    grove::empty_tiles(to->prepared(), int(number));
    to->table = grove::open_to_write(to->prepared());
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

// The files of a manager in a view: "table.fN", and others that begin so.
std::vector<std::string> files_of(const grove::view *to, unsigned number)
{
    std::string start = "table.f" + std::to_string(number);
    char **names = grove_folder_list(to->prepared().c_str());
    std::vector<std::string> files;
    for (char **name = names; *name; name++) {
        std::string file = *name;
        if (starts_with(file, start) &&
            (file.size() == start.size() || !isdigit((unsigned char)file[start.size()])))
            files.push_back(file);
        free(*name);
    }
    free(names);
    return files;
}

int remove_file(const grove::view *to, const std::string &file, grove_error *error)
{
    std::string path = to->prepared() + "/" + file;
    return unlink(path.c_str()) ? fail(path, error) : 0;
}

// Whether a file is still the table's, too.
bool is_shared(const grove::view *to, const std::string &file)
{
    struct stat here, there;
    return !stat((to->prepared() + "/" + file).c_str(), &here) &&
           !stat((to->folder + "/" + file).c_str(), &there) && here.st_ino == there.st_ino;
}

// The files of a manager become the view's own, if they are not: another of its columns may be
// written.
int own_files(grove::view *to, unsigned number, grove_error *error)
{
    int code = 0;
    close_table(to);
    for (const std::string &file : files_of(to, number)) {
        bool shared = is_shared(to, file);
        if (!code && shared)
            code = remove_file(to, file, error);
        if (!code && shared)
            code = copy_file(to, file, error);
    }
    to->table = grove::open_to_write(to->prepared());
    return code;
}

// Removes a column that a new one replaces. What casacore fails to remove, it does not say.
int remove_column(grove::view *to, const std::string &column, grove_error *error)
{
    unsigned number = grove::manager_of(to->table, column).asuInt("SEQNR");
    int code = 0;
    to->table.removeColumn(column);
    for (const std::string &file : files_of(to, number))
        if (!code)
            code = remove_file(to, file, error);
    return code;
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
    return starts_with(type, "Tiled") || type == "StandardStMan" || type == "IncrementalStMan" ||
           type == "StManAipsIO";
}
} // namespace

namespace grove
{
void never_close(const Table &table)
{
    static std::list<Table> *kept = new std::list<Table>;
    kept->push_back(table);
}

void never_close(std::unique_ptr<MeasurementSet> set)
{
    static std::list<MeasurementSet *> *kept = new std::list<MeasurementSet *>;
    kept->push_back(set.release());
}

view::~view()
{
    guard(folder, nullptr, [&] {
        if (broken)
            never_close(table);
        else if (!settled && !table.isNull())
            table.markForDelete(); // or all that it still holds would be written first
        table = Table();
        if (!original.isNull())
            original.unlock(); // closed with its lock, it would be written
        original = Table();
        return 0;
    });
    if (!settled && !work.empty())
        grove_record_drop(record, work.c_str());
}

std::shared_ptr<view> open_view(const std::string &folder, grove_record *record, grove_error *error)
{
    views.remove_if([](const std::weak_ptr<view> &each) { return each.expired(); });
    for (const auto &each : views) {
        std::shared_ptr<view> known = each.lock();
        if (known->record == record && known->folder == folder && !known->settled)
            return known;
    }
    std::shared_ptr<view> made(new view);
    made->folder = folder;
    made->record = record;
    made->original = Table(folder, TableLock(TableLock::UserNoReadLocking), Table::Update);
    if (lock_original(made.get(), error))
        return nullptr;
    const char *work = grove_record_work(record, folder.c_str(), GROVE_RECORD_INSIDE, error);
    if (!work)
        return nullptr;
    made->work = work;
    if (check_space(folder, work, error) || fill(made.get(), error))
        return nullptr;
    made->table = open_to_write(made->prepared());
    views.push_back(made);
    return made;
}

std::shared_ptr<view> open_whole(const std::string &folder, grove_record *record,
                                 grove_error *error)
{
    std::shared_ptr<view> made = open_view(folder, record, error);
    if (!made || made->open_columns)
        return nullptr;
    Record managers(made->original.dataManagerInfo());
    for (uInt i = 0; i < managers.nfields(); i++)
        if (own_files(made.get(), managers.subRecord(i).asuInt("SEQNR"), error))
            return nullptr;
    made->open_columns = 1;
    return made;
}

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
    to->columns.push_back(column);
    to->visibilities.push_back({column, name, rows, 1, name == column});
    to->open_columns++;
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

int open_flags(view *to, grove_error *error)
{
    const char *path = to->folder.c_str();
    if (std::count(to->columns.begin(), to->columns.end(), "FLAG"))
        return grove_fail(error, GROVE_INVALID,
                          "%s: its flags are being written already; let one sink do it", path);
    if (!to->original.tableDesc().isColumn("FLAG"))
        return grove_fail(error, GROVE_MISSING, "%s: has no column FLAG", path);
    Record manager(grove::manager_of(to->original, "FLAG"));
    if (!is_exact(manager.asString("TYPE")))
        return grove_fail(error, GROVE_INVALID,
                          "%s: column FLAG is stored by %s; it is not written", path,
                          manager.asString("TYPE").c_str());
    int code = own_files(to, manager.asuInt("SEQNR"), error);
    if (code)
        return code;
    to->columns.push_back("FLAG");
    to->open_columns++;
    return 0;
}

int open_weights(view *to, bool whole, const grove_ms *ms, grove_error *error)
{
    const char *path = to->folder.c_str();
    if (std::count(to->columns.begin(), to->columns.end(), "WEIGHT"))
        return grove_fail(error, GROVE_INVALID,
                          "%s: its weights are being written already; let one sink do it", path);
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
        to->columns.push_back(column);
    }
    to->open_columns++;
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

int settle_view(view *to, grove_error *error)
{
    bool renumbered = to->table.tableDesc().ncolumn() != to->original.tableDesc().ncolumn() ||
                      to->table.nrow() != to->original.nrow();
    to->table.flush();
    to->table = Table();
    int code = lock_original(to, error);
    if (!code)
        code = check_copied(to, error);
    if (code)
        return code;
    grove_record_add_files(to->record, to->work.c_str(), renumbered);
    to->settled = true;
    return 0;
}
} // namespace grove
