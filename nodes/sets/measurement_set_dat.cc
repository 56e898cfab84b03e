// table.dat: the parts of a table.
//
// casacore opens all files of a table that it may write, and may write to any. A run therefore
// writes a table of its own, with the columns that it changes and no others; the description of the
// new state is made of this table's and the set's. Written as tables/Tables of casacore do it:
// PlainTable, ColumnSet and PlainColumn.
#include "nodes/sets/measurement_set_private.h"

#include <casacore/casa/IO/AipsIO.h>
#include <casacore/casa/IO/ArrayIO.h>
#include <casacore/casa/IO/MemoryIO.h>
#include <casacore/casa/OS/Path.h>
#include <casacore/tables/Tables/StorageOption.h>
#include <casacore/tables/Tables/TableAttr.h>
#include <casacore/tables/Tables/TableRecord.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <limits>

using namespace casacore;

namespace
{
const char *const unknown_version =
    "its table.dat has a version that cannot be written; make a copy with casacore or CASA";
const uInt max_table = 3, max_columns = 3; // the newest versions that are known
const rownr_t max_short = std::numeric_limits<Int>::max();

// A number of rows is an Int in older versions.
uInt64 get_rows(AipsIO &from, bool is_long)
{
    uInt64 rows = 0;
    uInt small = 0;
    if (is_long)
        from >> rows;
    else
        from >> small;
    return is_long ? rows : small;
}

void put_rows(AipsIO &to, bool is_long, uInt64 rows)
{
    if (is_long)
        to << rows;
    else
        to << uInt(rows);
}

void get_columns(AipsIO &from, grove::table_dat &dat)
{
    uInt version = 0;
    for (uInt i = 0; i < dat.desc.ncolumn(); i++) {
        const ColumnDesc &desc = dat.desc.columnDesc(i);
        grove::table_dat::column &column = dat.columns[desc.name()];
        from >> version;
        if (version != 2)
            throw AipsError(unknown_version);
        from >> column.original >> version >> column.manager;
        if (!desc.isArray())
            continue;
        from >> column.has_shape;
        if (column.has_shape)
            from >> column.shape;
    }
}

void put_columns(AipsIO &to, const grove::table_dat &dat)
{
    for (uInt i = 0; i < dat.desc.ncolumn(); i++) {
        const ColumnDesc &desc = dat.desc.columnDesc(i);
        const grove::table_dat::column &column = dat.columns.at(desc.name());
        to << uInt(2) << column.original << uInt(1) << column.manager;
        if (desc.isArray())
            to << column.has_shape;
        if (desc.isArray() && column.has_shape)
            to << column.shape;
    }
}

void get_managers(AipsIO &from, grove::table_dat &dat)
{
    uInt count = 0;
    from >> dat.next >> count;
    for (uInt i = 0; i < count; i++) {
        String type;
        uInt number = 0;
        from >> type >> number;
        dat.managers.push_back({type, number, {}});
    }
    get_columns(from, dat);
    for (grove::table_dat::manager &each : dat.managers) {
        uInt length = 0;
        uChar *data = nullptr;
        from.getnew(length, data);
        std::unique_ptr<uChar[]> owned(data);
        each.data.assign(data, data + length);
    }
}

void put_managers(AipsIO &to, const grove::table_dat &dat)
{
    to << dat.next << uInt(dat.managers.size());
    for (const grove::table_dat::manager &each : dat.managers)
        to << String(each.type) << each.number;
    put_columns(to, dat);
    for (const grove::table_dat::manager &each : dat.managers)
        to.put(uInt(each.data.size()), each.data.data());
}
} // namespace

namespace grove
{
const table_dat::manager *table_dat::find(unsigned number) const
{
    for (const manager &each : managers)
        if (each.number == number)
            return &each;
    throw AipsError("its table.dat names a storage manager that it does not have");
}

std::vector<std::string> table_dat::columns_of(unsigned number) const
{
    std::vector<std::string> names;
    for (uInt i = 0; i < desc.ncolumn(); i++)
        if (columns.at(desc.columnDesc(i).name()).manager == number)
            names.push_back(desc.columnDesc(i).name());
    return names;
}

void table_dat::read(const std::string &path, const std::string &folder)
{
    std::unique_ptr<grove_error, decltype(&grove_error_free)> fault(grove_error_new(),
                                                                    grove_error_free);
    size_t length = 0;
    errno = 0;
    std::unique_ptr<char, decltype(&free)> text(
        grove_file_read(path.c_str(), size_t(1) << 30, false, &length, fault.get()), free);
    if (!text)
        throw AipsError(std::string("its table.dat cannot be read: ") + std::strerror(errno));
    MemoryIO bytes(text.get(), Int64(length));
    AipsIO from(&bytes);
    const uInt version = from.getstart("Table");
    String type;
    Int columns_version = 0;
    get_rows(from, version > 2);
    from >> format >> type;
    if (version < 2 || version > max_table || type != "PlainTable")
        throw AipsError(unknown_version);
    desc.getFile(from, TableAttr(folder));
    from >> columns_version;
    if (columns_version > -2 || columns_version < -Int(max_columns))
        throw AipsError(unknown_version);
    get_rows(from, columns_version == -3);
    option = Int(StorageOption::SepFile);
    if (columns_version == -3)
        from >> option >> block_size;
    get_managers(from, *this);
    from.getend();
}

int table_dat::write(const std::string &path, const std::string &folder, uint64_t rows,
                     grove_error *error) const
{
    const bool is_long = rows > max_short, is_new = is_long || !has_own_files();
    MemoryIO bytes;
    AipsIO to(&bytes);
    to.putstart("Table", is_long ? 3 : 2);
    put_rows(to, is_long, rows);
    to << format << String("PlainTable");
    desc.putFile(to, TableAttr(folder));
    to << Int(is_new ? -3 : -2);
    put_rows(to, is_new, rows);
    if (is_new)
        to << option << block_size;
    put_managers(to, *this);
    to.putend();
    FILE *file = fopen(path.c_str(), "we");
    bool done = file && fwrite(bytes.getBuffer(), size_t(bytes.length()), 1, file) == 1;
    if (file && fclose(file))
        done = false;
    return done ? 0 : grove_fail(error, GROVE_IO, "%s: %s", path.c_str(), std::strerror(errno));
}

bool table_dat::has_own_files() const
{
    return option == Int(StorageOption::SepFile);
}

void table_dat::take(const table_dat &from, const std::vector<std::string> &names)
{
    for (const std::string &name : names) {
        const column &taken = from.columns.at(name);
        if (!desc.isColumn(name))
            desc.addColumn(from.desc.columnDesc(name));
        columns[name] = taken;
        const manager *its = from.find(taken.manager);
        auto same = [&](const manager &each) { return each.number == taken.manager; };
        auto known = std::find_if(managers.begin(), managers.end(), same);
        if (known == managers.end())
            managers.push_back(*its);
        else
            *known = *its;
    }
    auto is_unused = [&](const manager &each) { return columns_of(each.number).empty(); };
    managers.erase(std::remove_if(managers.begin(), managers.end(), is_unused), managers.end());
    next = std::max(next, from.next);
}

bool table_dat::name_forwards(const std::string &folder)
{
    bool any = false;
    for (const auto &each : columns) {
        TableRecord &keywords = desc.rwColumnDesc(each.first).rwKeywordSet();
        if (!keywords.isDefined(FORWARD_KEYWORD))
            continue;
        any = true;
        keywords.define(FORWARD_KEYWORD,
                        Path::addDirectory(keywords.asString(FORWARD_KEYWORD), folder));
    }
    return any;
}

void table_dat::clear()
{
    for (const auto &each : columns)
        desc.removeColumn(each.first);
    columns.clear();
    managers.clear();
}
} // namespace grove
