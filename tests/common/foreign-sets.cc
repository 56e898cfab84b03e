// Tables as programs other than Grove make and open them.
#include "foreign-sets.h"

#include <casacore/casa/Arrays/ArrayMath.h>
#include <casacore/casa/Arrays/ArrayUtil.h>
#include <casacore/casa/Containers/Record.h>
#include <casacore/casa/Logging/LogFilter.h>
#include <casacore/casa/Logging/LogSink.h>
#include <casacore/casa/Logging/NullLogSink.h>
#include <casacore/tables/DataMan/DataManager.h>
#include <casacore/tables/DataMan/StManAipsIO.h>
#include <casacore/tables/DataMan/StandardStMan.h>
#include <casacore/tables/DataMan/TiledShapeStMan.h>
#include <casacore/tables/TaQL/ExprNode.h>
#include <casacore/tables/Tables/ArrColDesc.h>
#include <casacore/tables/Tables/ArrayColumn.h>
#include <casacore/tables/Tables/ScaColDesc.h>
#include <casacore/tables/Tables/ScalarColumn.h>
#include <casacore/tables/Tables/StorageOption.h>
#include <casacore/tables/Tables/Table.h>
#include <casacore/tables/Tables/TableDesc.h>
#include <casacore/tables/Tables/TableRecord.h>
#include <casacore/tables/Tables/TableRow.h>

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <exception>
#include <memory>
#include <string>
#include <vector>

using namespace casacore;

void foreign_reference(const char *of, const char *path)
{
    Table table(of);
    Vector<rownr_t> rows((table.nrow() + 1) / 2);
    for (size_t i = 0; i < rows.size(); i++)
        rows[i] = 2 * i;
    Table chosen(table(RowNumbers(rows)));
    chosen.rename(path, Table::New);
}

void foreign_stations(const char *of, int from, int to, const char *path)
{
    Table table(of);
    Table chosen(table(table.col("ANTENNA1") >= from && table.col("ANTENNA2") < to));
    chosen.rename(path, Table::New);
}

void foreign_flag(const char *path, int first)
{
    Table table(path, Table::Update);
    ScalarColumn<Bool> flag(table, "FLAG_ROW");
    for (rownr_t row = rownr_t(first); row < table.nrow(); row += 2)
        flag.put(row, True);
}

void foreign_concatenation(const char *a, const char *b, const char *path)
{
    Block<String> parts(2);
    parts[0] = a;
    parts[1] = b;
    Table all(parts, Block<String>(), Table::Old);
    all.rename(path, Table::New);
}

void foreign_sort(const char *of, const char *path)
{
    Block<String> order(3);
    order[0] = "ANTENNA1";
    order[1] = "ANTENNA2";
    order[2] = "TIME";
    Table(of).sort(order).deepCopy(path, Table::New);
}

void foreign_offsets(const char *path, int baselines, int count)
{
    Table table(path, Table::Update);
    ScalarColumn<Double> time(table, "TIME"), interval(table, "INTERVAL");
    for (rownr_t row = 0; row < table.nrow(); row++)
        time.put(row, time(row) + int(row % rownr_t(baselines)) % count * interval(row) / count);
}

void foreign_columns(const char *path, const char *kind, const char *const *names, size_t count)
{
    Table table(path, Table::Update);
    bool standard = !std::strcmp(kind, "standard");
    TableDesc added;
    for (size_t k = 0; k < count; k++) {
        ColumnDesc column(table.tableDesc().columnDesc("DATA"));
        if (standard) {
            column.setName(names[k]);
            added.addColumn(column);
        } else {
            added.addColumn(ArrayColumnDesc<Complex>(names[k], 2));
        }
    }
    if (standard)
        table.addColumn(added, StandardStMan(names[0]));
    else // Grove reads and writes the files of one that has a column alone, and all correlations
        table.addColumn(added, TiledShapeStMan(names[0], IPosition(3, count == 1 ? 4 : 1, 2, 3)));
    for (size_t k = 0; k < count && std::strcmp(kind, "undefined"); k++) {
        ArrayColumn<Complex> from(table, "DATA"), to(table, names[k]);
        for (rownr_t row = 0; row < table.nrow(); row++) {
            Array<Complex> cell(from(row));
            cell *= Complex(float(k + 1));
            to.put(row, cell);
        }
    }
}

void foreign_store(const char *path, const char *kind, const int tile[3])
{
    Table table(path, Table::Update);
    Array<Complex> data(ArrayColumn<Complex>(table, "DATA").getColumn());
    Record spec;
    ColumnDesc column(table.tableDesc().columnDesc("DATA"));
    TableDesc added;
    added.addColumn(column);
    spec.define("DEFAULTTILESHAPE",
                Vector<Int>(IPosition(3, tile[0], tile[1], tile[2]).asVector()));
    std::unique_ptr<DataManager> manager(DataManager::getCtor(kind)("foreign", spec));
    table.removeColumn("DATA");
    table.addColumn(added, *manager);
    ArrayColumn<Complex>(table, "DATA").putColumn(data);
}

void foreign_station(const char *path, const char *name, int at)
{
    Table set(path, Table::Update), stations(std::string(path) + "/ANTENNA", Table::Update);
    stations.addRow();
    TableRow row(stations);
    for (rownr_t k = stations.nrow() - 1; k > 0 && static_cast<int>(k) >= at; k--)
        row.put(k, TableRecord(row.get(k - 1)), false);
    ScalarColumn<String>(stations, "NAME").put(static_cast<rownr_t>(at), name);
    ArrayColumn<Double> position(stations, "POSITION");
    Vector<Double> place(position(static_cast<rownr_t>(at - 1)));
    place[2] += 100;
    position.put(static_cast<rownr_t>(at), place);
    for (const char *side : {"ANTENNA1", "ANTENNA2"}) {
        ScalarColumn<Int> column(set, side);
        for (rownr_t k = 0; k < set.nrow(); k++)
            column.put(k, column(k) + (column(k) >= at));
    }
}

void foreign_windows(const char *path, int count)
{
    Table set(path, Table::Update);
    for (const char *name : {"SPECTRAL_WINDOW", "DATA_DESCRIPTION"}) {
        Table table(std::string(path) + "/" + name, Table::Update);
        TableRow row(table);
        table.addRow(static_cast<rownr_t>(count - 1));
        for (int k = 1; k < count; k++)
            row.put(static_cast<rownr_t>(k), TableRecord(row.get(0)), false);
        for (int k = 0; k < count && table.tableDesc().isColumn("SPECTRAL_WINDOW_ID"); k++)
            ScalarColumn<Int>(table, "SPECTRAL_WINDOW_ID").put(static_cast<rownr_t>(k), k);
    }
    ScalarColumn<Int> description(set, "DATA_DESC_ID");
    for (rownr_t k = 0; k < set.nrow(); k++)
        description.put(k, static_cast<Int>(k) % count);
}

template <typename T> static void reverse_column(Table &table, const char *name, unsigned axis)
{
    if (!table.tableDesc().isColumn(name))
        return;
    ArrayColumn<T> column(table, name);
    for (rownr_t row = 0; row < table.nrow(); row++)
        if (column.isDefined(row))
            column.put(row, reverseArray(column(row), axis));
}

void foreign_reverse(const char *path)
{
    Table set(path, Table::Update), window(std::string(path) + "/SPECTRAL_WINDOW", Table::Update);
    reverse_column<Complex>(set, "DATA", 1);
    reverse_column<Bool>(set, "FLAG", 1);
    reverse_column<Float>(set, "WEIGHT_SPECTRUM", 1);
    reverse_column<Float>(set, "SIGMA_SPECTRUM", 1);
    for (const char *name : {"CHAN_FREQ", "CHAN_WIDTH", "EFFECTIVE_BW", "RESOLUTION"})
        reverse_column<Double>(window, name, 0);
}

static std::string show(const Record &manager)
{
    std::string text = manager.asString("TYPE");
    if (!manager.asRecord("SPEC").isDefined("HYPERCUBES"))
        return text;
    Record cubes(manager.asRecord("SPEC").asRecord("HYPERCUBES"));
    for (uInt i = 0; i < cubes.nfields(); i++)
        for (Int size : Vector<Int>(cubes.subRecord(i).toArrayInt("TileShape")))
            text += " " + std::to_string(size);
    return text;
}

char *foreign_manager(const char *path, const char *column)
{
    Record managers(Table(path).dataManagerInfo());
    for (uInt i = 0; i < managers.nfields(); i++)
        for (const String &each : Vector<String>(managers.subRecord(i).asArrayString("COLUMNS")))
            if (each == column)
                return strdup(show(managers.subRecord(i)).c_str());
    return nullptr;
}

template <typename T, typename Add>
static void add_cells(const ArrayColumn<T> &column, const Add &add)
{
    for (rownr_t row = 0; row < column.nrow(); row++) {
        char defined = column.isDefined(row);
        add(&defined, 1);
        if (!defined)
            continue;
        Array<T> cell(column(row));
        add(cell.data(), cell.nelements() * sizeof(T));
    }
}

unsigned long foreign_hash(const char *path)
{
    LogSinkInterface *quiet = new NullLogSink(LogFilter(LogMessage::SEVERE));
    LogSink::globalSink(quiet);
    try {
        Table table(path, TableLock(TableLock::UserLocking), Table::Update);
        unsigned long hash = 5381;
        auto add = [&](const void *bytes, size_t length) {
            for (size_t i = 0; i < length; i++)
                hash = hash * 33 + static_cast<const unsigned char *>(bytes)[i];
        };
        if (!table.lock(FileLocker::Write, 1))
            throw AipsError("cannot be locked");
        Vector<String> names(table.tableDesc().columnNames());
        std::vector<std::string> sorted(names.begin(), names.end());
        std::sort(sorted.begin(), sorted.end());
        for (const std::string &name : sorted) {
            const DataType type = table.tableDesc().columnDesc(name).dataType();
            add(name.data(), type == TpComplex || name == "FLAG" ? name.size() : 0);
            if (type == TpComplex)
                add_cells(ArrayColumn<Complex>(table, name), add);
            else if (name == "FLAG")
                add_cells(ArrayColumn<Bool>(table, name), add);
            else if (name == "FLAG_ROW") {
                Vector<Bool> rows(ScalarColumn<Bool>(table, name).getColumn());
                add(rows.data(), rows.size());
            }
        }
        String type(table.tableInfo().type());
        add(type.data(), type.size());
        table.unlock();
        return hash;
    } catch (const std::exception &fault) {
        std::fprintf(stderr, "%s: %s\n", path, fault.what());
        return 0;
    }
}

long foreign_history(const char *path)
{
    try {
        return long(Table(path).keywordSet().asTable("HISTORY").nrow());
    } catch (const std::exception &) {
        return -1;
    }
}

bool foreign_opens(const char *path)
{
    return foreign_hash(path) != 0;
}

void foreign_one_file(const char *path)
{
    const std::string made = std::string(path) + ".made";
    {
        Table table(path, Table::Update);
        StManAipsIO apart("apart"); // which has a file of its own nevertheless
        table.addColumn(ScalarColumnDesc<Int>("APART"), apart);
        table.flush();
        table.deepCopy(made, Record(), StorageOption(StorageOption::MultiFile), Table::New, True);
        table.markForDelete();
    }
    if (std::rename(made.c_str(), path))
        std::perror(path);
}

void foreign_append(const char *path)
{
    Table table(path, TableLock(TableLock::UserLocking), Table::Update);
    const rownr_t rows = table.nrow();
    table.lock(FileLocker::Write, 1);
    table.addRow(rows);
    TableRow from(table), to(table);
    for (rownr_t row = 0; row < rows; row++)
        to.put(rows + row, from.get(row));
    ScalarColumn<Double> time(table, "TIME"), interval(table, "INTERVAL");
    const Double span = time(rows - 1) - time(0) + interval(0);
    for (rownr_t row = rows; row < 2 * rows; row++)
        time.put(row, time(row) + span);
    table.unlock(); // it is closed without its lock
}

void foreign_edit(const char *path, const char *locks, bool writes, void (*then)(void *context),
                  void *context)
{
    bool reads = std::string(locks) == "auto";
    Table table(path, TableLock(reads ? TableLock::AutoLocking : TableLock::AutoNoReadLocking),
                Table::Update);
    ScalarColumn<Double> time(table, "TIME_CENTROID");
    const Double first = time(0);
    then(context);
    if (writes)
        time.put(0, first);
    table.flush();
}

void foreign_hold(const char *path, bool lock)
{
    Table *table = new Table(path, TableLock(TableLock::UserLocking), Table::Update);
    if (lock)
        table->lock(FileLocker::Write, 1);
}
