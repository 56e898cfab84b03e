// Versions of a set's flags, as CASA's flagmanager has them: SET.flagversions/flags.NAME is a table
// of FLAG and FLAG_ROW, and a line "NAME : comment" of FLAG_VERSION_LIST describes it.
#include "nodes/sets/measurement_set_private.h"

#include <casacore/casa/OS/Time.h>
#include <casacore/casa/Quanta/MVTime.h>
#include <casacore/tables/DataMan/TiledShapeStMan.h>
#include <casacore/tables/Tables/ArrColDesc.h>
#include <casacore/tables/Tables/ScaColDesc.h>
#include <casacore/tables/Tables/SetupNewTab.h>
#include <casacore/tables/Tables/TableCopy.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

using namespace casacore;

namespace
{
const char own[] = "grove_"; // before the number of a version that Grove has made

std::string taken(char *text)
{
    std::string copy(text ? text : "");
    free(text);
    return copy;
}

std::string versions_of(const std::string &set)
{
    char *versions = grove_set_flag_versions(set.c_str());
    if (!versions)
        throw AipsError(set + ": " + std::strerror(errno));
    return taken(versions);
}

std::string table_of(const std::string &versions, const std::string &name)
{
    return versions + "/flags." + name;
}

// Names of all versions that are there.
std::vector<std::string> names_in(const std::string &versions)
{
    const std::string start = "flags.";
    std::vector<std::string> found;
    char **names = grove_folder_list(versions.c_str());
    for (char **each = names; each && *each; each++) {
        std::string name(taken(*each));
        if (name.compare(0, start.size(), start) == 0)
            found.push_back(name.substr(start.size()));
    }
    free(names);
    return found;
}

// The highest number of the versions that Grove has made; 0: there are none.
long last_number(const std::string &versions)
{
    long last = 0;
    for (const std::string &name : names_in(versions))
        if (name.compare(0, strlen(own), own) == 0)
            last = std::max(last, strtol(name.c_str() + strlen(own), nullptr, 10));
    return last;
}

// FLAG and FLAG_ROW of a table, as bits.
void copy_flags(const Table &from, const std::string &path)
{
    ArrayColumn<Bool> flags(from, "FLAG");
    rownr_t first = 0;
    while (first < from.nrow() && !flags.isDefined(first))
        first++;
    IPosition tile(first < from.nrow() ? flags.shape(first) : IPosition(2, 1, 1));
    const int64_t most = (int64_t(8) << 20) / std::max<int64_t>(1, tile.product()); // a megabyte
    tile.append(IPosition(1, std::max<int64_t>(1, std::min(most, int64_t(from.nrow())))));
    TableDesc columns;
    columns.addColumn(ArrayColumnDesc<Bool>("FLAG", int(tile.size()) - 1));
    const bool has_rows = from.tableDesc().isColumn("FLAG_ROW"); // some programs leave it out
    if (has_rows)
        columns.addColumn(ScalarColumnDesc<Bool>("FLAG_ROW"));
    SetupNewTable made(path, columns, Table::New);
    TiledShapeStMan manager("TiledFlag", tile);
    made.bindColumn("FLAG", manager);
    {
        Table to(made, TableLock(TableLock::NoLocking), from.nrow());
        ArrayColumn<Bool> kept(to, "FLAG");
        for (rownr_t row = first; row < from.nrow(); row++)
            if (flags.isDefined(row))
                kept.put(row, flags(row));
        if (has_rows)
            ScalarColumn<Bool>(to, "FLAG_ROW").putColumn(ScalarColumn<Bool>(from, "FLAG_ROW"));
        to.flush();
    }
    grove::check_info(path, "");
}

// Its list, with a line more, as a file of the record's.
int write_list(grove::view *to, const std::string &versions, const std::string &line,
               grove_error *error)
{
    const std::string path = versions + "/" GROVE_SET_FLAG_LIST;
    std::string text;
    if (grove_path_exists(path.c_str())) {
        char *all = grove_file_read(path.c_str(), size_t(16) << 20, true, nullptr, error);
        if (!all)
            return GROVE_IO;
        text = taken(all);
        if (!text.empty() && text.back() != '\n')
            text += '\n';
    }
    grove_file *file = grove_record_create(to->record, path.c_str(), true, error);
    if (!file)
        return grove_error_code(error);
    text += line;
    fwrite(text.data(), 1, text.size(), grove_file_stream(file));
    return grove_record_add_file(to->record, file, true, error);
}

// The same of a folder that the record makes with all that is in it.
int write_first_list(const std::string &folder, const std::string &line, grove_error *error)
{
    grove_file *file = grove_file_create((folder + "/" GROVE_SET_FLAG_LIST).c_str(), error);
    if (!file)
        return grove_error_code(error);
    fputs(line.c_str(), grove_file_stream(file));
    return grove_file_commit(file, error);
}
} // namespace

namespace grove
{
int open_kept_flags(view *to, grove_error *error)
{
    const std::string versions = versions_of(to->folder);
    const bool exists = grove_path_exists(versions.c_str());
    const std::string list = versions + "/" GROVE_SET_FLAG_LIST, place = exists ? list : to->folder;
    std::string prefix = taken(grove_record_prefix(place.c_str()));
    std::string folder = taken(grove_path_folder(exists ? list.c_str() : versions.c_str()));
    std::unique_ptr<grove_error, decltype(&grove_error_free)> fault(grove_error_new(),
                                                                    grove_error_free);
    const char *work = grove_record_work(to->record, folder.c_str(), prefix.c_str(), fault.get());
    if (!work)
        return grove_fail(error, grove_error_code(fault.get()),
                          "%s; replaced flags are kept in %s: make it writable, or leave FLAG "
                          "unchanged (flags=keep)",
                          grove_error_message(fault.get(), 0), versions.c_str());
    to->flags_work = work;
    return 0;
}

int keep_flags(view *to, grove_error *error)
{
    if (to->flags_work.empty() || !to->flags_changed)
        return 0;
    const std::string versions = versions_of(to->folder);
    const bool exists = to->flags_work.compare(0, versions.size() + 1, versions + "/") == 0;
    const std::string name = own + std::to_string(last_number(versions) + 1);
    const std::string line = name + " : flags before Grove replaced some, " +
                             std::string(MVTime(Time()).string(MVTime::YMD, 6)) + " UTC\n";
    const std::string made = to->flags_work + "/" GROVE_RECORD_TABLE;
    int code = 0;
    if (!exists && mkdir(made.c_str(), 0777))
        return grove_fail(error, GROVE_IO, "%s: %s", made.c_str(), std::strerror(errno));
    copy_flags(to->original, exists ? made : table_of(made, name));
    code = exists ? write_list(to, versions, line, error) : write_first_list(made, line, error);
    if (!code)
        grove_record_add_path(to->record, to->flags_work.c_str(),
                              exists ? table_of(versions, name).c_str() : versions.c_str(), false);
    return code;
}
} // namespace grove

namespace
{
struct version {
    std::string name;
    Table table;
};

// A version of a view's flags, "last" or by its name.
int open_version(const grove::view *to, const char *requested, version *found, grove_error *error)
{
    const std::string versions = versions_of(to->folder);
    const long last = last_number(versions);
    const bool any = !strcmp(requested, "last");
    std::string all;
    found->name = any ? own + std::to_string(last) : requested;
    if (Table::isReadable(table_of(versions, found->name))) {
        found->table = Table(table_of(versions, found->name), TableLock(TableLock::NoLocking));
        return found->table.nrow() == to->rows
                   ? 0
                   : grove_fail(error, GROVE_INVALID,
                                "%s: has flags of %llu rows, but %s has %llu: they belong to "
                                "another set, or rows were added since",
                                found->table.tableName().c_str(),
                                (unsigned long long)found->table.nrow(), to->folder.c_str(),
                                (unsigned long long)to->rows);
    }
    for (const std::string &name : names_in(versions))
        all += (all.empty() ? "it has " : ", ") + name;
    return grove_fail(error, GROVE_MISSING, "%s: has no %s%s; %s", versions.c_str(),
                      any ? "flags that a run of Grove has changed" : "version of flags ",
                      any ? "" : requested, all.empty() ? "it has none at all" : all.c_str());
}

// Puts cells of a version into a view, where they differ.
void put_version(const Table &from, grove::view *to)
{
    ArrayColumn<Bool> old(from, "FLAG"), now(to->table, "FLAG");
    for (rownr_t row = 0; row < to->rows; row++) {
        const bool defined = now.isDefined(row);
        if (!old.isDefined(row) && !defined)
            continue;
        Array<Bool> cell(old.isDefined(row) ? old(row) : Array<Bool>(now.shape(row), False));
        if (defined && !now.shape(row).isEqual(cell.shape()))
            throw AipsError("flags of row " + std::to_string(row) + " have another shape than in " +
                            std::string(from.tableName()) + ": they belong to another set");
        if (defined && allEQ(now(row), cell))
            continue;
        now.put(row, cell);
        to->flags_changed = true;
    }
    if (!from.tableDesc().isColumn("FLAG_ROW") || !to->table.tableDesc().isColumn("FLAG_ROW"))
        return;
    Vector<Bool> rows(ScalarColumn<Bool>(from, "FLAG_ROW").getColumn());
    ScalarColumn<Bool> flagged(to->table, "FLAG_ROW");
    if (!allEQ(flagged.getColumn(), rows)) {
        flagged.putColumn(rows);
        to->flags_changed = true;
    }
}

// Prepares FLAG and FLAG_ROW of a set's tables for writing, and finds the version of each.
int open_parts(grove_ms *ms, const char *requested, std::vector<version> &versions,
               grove_error *error)
{
    int code = grove::open_table(ms, error);
    if (code)
        return code;
    ms->data.tables = grove::tables_of(ms->table, "FLAG");
    for (const std::string &folder : ms->data.tables.folders) {
        std::shared_ptr<grove::view> to = grove::open_view(folder, ms->record, error);
        if (!to)
            return grove_error_code(error);
        ms->data.parts.push_back({to, false, nullptr, nullptr});
        versions.emplace_back();
        code = open_version(to.get(), requested, &versions.back(), error);
        for (const char *column : {"FLAG", "FLAG_ROW"})
            if (!code && (!column[4] || to->original.tableDesc().isColumn(column)))
                code = grove::open_copied(to.get(), column, {}, error);
        if (!code)
            code = grove::open_kept_flags(to.get(), error);
        if (code)
            return code;
    }
    grove_ms_set_history(ms, ("flags of version " + versions.at(0).name).c_str());
    return 0;
}

int restore(grove_ms *ms, const std::vector<version> &versions, grove_error *error)
{
    int code = 0;
    for (size_t k = 0; k < ms->data.parts.size(); k++) {
        grove::view *to = ms->data.parts[k].to.get();
        put_version(versions[k].table, to);
        for (size_t i = 0, count = to->columns.size(); i < count && !code; i++)
            code = grove::settle_column(to, to->columns[i].name, error);
        if (code)
            return code;
    }
    code = grove::write_history(ms, error);
    ms->settled = !code;
    return code;
}
} // namespace

extern "C" int grove_ms_restore_flags(const char *path, const char *version_name,
                                      grove_error *error)
{
    std::unique_ptr<grove_ms> ms(new grove_ms);
    std::vector<version> versions;
    ms->path = path;
    ms->writable = true;
    grove::set_record(ms.get(), nullptr);
    int code = grove::guard(path, error,
                            [&] { return open_parts(ms.get(), version_name, versions, error); });
    if (!code)
        code = grove::guard_writing(ms.get(), error,
                                    [&] { return restore(ms.get(), versions, error); });
    if (!code)
        return grove_ms_finish(ms.release(), error);
    grove_ms_abort(ms.release());
    return code;
}
