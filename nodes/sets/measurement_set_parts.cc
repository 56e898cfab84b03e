// The plain tables that a set consists of, and the places in them of its columns' cells.
//
// A set can be a plain table, refer to rows of another table, concatenate others, or have columns
// that forward to another table's columns: and each of these tables can be of any kind again.
#include "nodes/sets/measurement_set_private.h"

#include <casacore/casa/BasicSL/STLIO.h>
#include <casacore/casa/BasicSL/STLIO.tcc>
#include <casacore/casa/IO/AipsIO.h>
#include <casacore/casa/OS/Path.h>
#include <casacore/tables/DataMan/DataManager.h>
#include <casacore/tables/Tables/TableRecord.h>

#include <algorithm>

using namespace casacore;

namespace
{
// The tables that this one consists of; none for a plain one.
std::vector<Table> parts_of(const Table &table)
{
    std::vector<Table> parts;
    for (const String &name : Block<String>(table.getPartNames(False)))
        if (name != table.tableName())
            parts.emplace_back(name, grove::locking());
    return parts;
}

// The table that a column of a plain table forwards to; empty: none.
std::string forward_of(const Table &table, const std::string &column)
{
    if (!table.tableDesc().isColumn(column))
        return "";
    const TableRecord &keywords = table.tableDesc().columnDesc(column).keywordSet();
    return keywords.isDefined(grove::FORWARD_KEYWORD) &&
                   table.findDataManager(column, True)->dataManagerType() == "ForwardColumnEngine"
               ? std::string(Path::addDirectory(keywords.asString(grove::FORWARD_KEYWORD),
                                                table.tableName()))
               : "";
}

// Adds the plain tables that this one consists of.
void add_tables(const Table &table, std::set<std::string> &all)
{
    const std::vector<Table> parts = parts_of(table);
    std::set<std::string> others;
    for (const Table &part : parts)
        add_tables(part, all);
    if (!parts.empty() || !all.insert(table.tableName()).second)
        return;
    for (const String &column : table.tableDesc().columnNames())
        others.insert(forward_of(table, column));
    others.erase("");
    for (const std::string &other : others)
        add_tables(Table(other, grove::locking()), all);
}

// A column of a reference table may be another of the table that it refers to: casacore's RefTable
// writes down which.
void check_name(const Table &table, const std::string &column)
{
    AipsIO from(table.tableName() + "/table.dat");
    uInt64 rows = 0;
    uInt small = 0, format = 0;
    String type, other;
    std::map<String, String> names;
    if (from.getstart("Table") > 2)
        from >> rows;
    else
        from >> small;
    from >> format >> type;
    from.getstart("RefTable");
    from >> other >> names;
    auto found = names.find(column);
    if (found != names.end() && found->second != found->first)
        throw AipsError("its column " + String(column) + " is column " + found->second + " of " +
                        Path::addDirectory(other, table.tableName()) + "; write it there");
}

void add_cells(const Table &table, const std::string &column, grove::cell_tables &to)
{
    const std::vector<Table> parts = parts_of(table);
    const std::string other = parts.empty() ? forward_of(table, column) : "";
    if (!other.empty()) {
        to.forwarded = true;
        return add_cells(Table(other, grove::locking()), column, to);
    }
    const size_t before = to.place.size();
    if (parts.empty()) {
        auto &all = to.folders;
        const auto known = std::find(all.begin(), all.end(), std::string(table.tableName()));
        const auto number = int(known - all.begin());
        if (known == all.end())
            all.push_back(table.tableName());
        else
            to.whole = false;
        for (rownr_t i = 0; i < table.nrow(); i++)
            to.place.emplace_back(number, int64_t(i));
    }
    for (const Table &part : parts)
        add_cells(part, column, to);
    if (table.isRootTable())
        return;
    check_name(table, column);
    to.whole = false;
    const std::vector<std::pair<int, int64_t>> all(to.place.begin() + ptrdiff_t(before),
                                                   to.place.end());
    to.place.resize(before);
    for (rownr_t row : RowNumbers(table.rowNumbers()))
        to.place.push_back(all.at(row));
}
} // namespace

namespace grove
{
bool is_plain(const Table &table)
{
    return parts_of(table).empty();
}

std::set<std::string> others_of(const Table &table)
{
    std::set<std::string> all;
    add_tables(table, all);
    all.erase(table.tableName());
    return all;
}

cell_tables tables_of(const Table &table, const std::string &column)
{
    cell_tables to;
    if (is_plain(table) && forward_of(table, column).empty())
        to.folders.push_back(table.tableName()); // each row is where it is
    else
        add_cells(table, column, to);
    return to;
}

row_list rows_in(const cell_tables &tables, const row_list &list, size_t number)
{
    if (tables.place.empty())
        return list;
    row_list found;
    for (size_t i = 0; i < list.row.size(); i++) {
        const auto &place = tables.place[size_t(list.row[i])];
        if (size_t(place.first) == number) {
            found.row.push_back(place.second);
            found.place.push_back(list.place[i]);
        }
    }
    return found;
}

std::vector<bool> rows_to_write(const grove_ms *ms, const written_column &column, size_t number)
{
    std::vector<bool> chosen(column.parts[number].to->rows, false);
    each_time(ms, [&](const row_list &rows) {
        for (int64_t row : rows_in(column.tables, rows, number).row)
            chosen[size_t(row)] = true;
    });
    return chosen;
}
} // namespace grove

extern "C" char **grove_ms_tables(const grove_ms *ms)
{
    std::set<std::string> others;
    grove::guard(ms->path, nullptr, [&] {
        grove::refresh(const_cast<grove_ms *>(ms));
        others = grove::others_of(ms->table);
        return 0;
    });
    char **names = static_cast<char **>(grove_alloc((others.size() + 1) * sizeof(char *)));
    size_t count = 0;
    for (const std::string &other : others)
        names[count++] = grove_strdup(other.c_str());
    return names;
}
