// A set that is being made: in a folder next to its name until all of it is written.
#include "nodes/sets/measurement_set_private.h"

#include <casacore/tables/Tables/TableInfo.h>
#include <casacore/tables/Tables/TableRecord.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <list>

using namespace casacore;

namespace
{
// The new sets of this process, which sinks of one run share.
std::list<std::weak_ptr<grove::new_set>> new_sets;

std::string freed(char *text)
{
    std::string copy(text ? text : "");
    std::free(text);
    return copy;
}

template <typename T> T *copy_array(const T *from, int64_t count)
{
    return static_cast<T *>(grove_copy(from, size_t(count) * sizeof(T)));
}

grove_ms_layout *copy_layout(const grove_ms_layout *from)
{
    grove_ms_layout *to = copy_array(from, 1);
    to->stations = copy_array(from->stations, from->station_count);
    for (int i = 0; i < from->station_count; i++)
        to->stations[i].name = grove_strdup(from->stations[i].name ? from->stations[i].name : "");
    to->telescope = grove_strdup(from->telescope ? from->telescope : "");
    to->field_name = grove_strdup(from->field_name ? from->field_name : "");
    to->time = copy_array(from->time, from->times);
    to->interval = copy_array(from->interval, from->times);
    to->scan = from->scan ? copy_array(from->scan, from->times) : nullptr;
    to->frequency = copy_array(from->frequency, from->channels);
    to->channel_width = copy_array(from->channel_width, from->channels);
    to->antenna1 = copy_array(from->antenna1, from->baselines);
    to->antenna2 = copy_array(from->antenna2, from->baselines);
    return to;
}

// Compares all that numbers depend on; names and diameters come from the first column's layout.
bool same_layout(const grove_ms_layout *a, const grove_ms_layout *b)
{
    auto same = [](const auto *one, const auto *other, int64_t count) {
        return std::equal(one, one + count, other);
    };
    auto same_place = [](const grove_station &one, const grove_station &other) {
        return std::equal(one.position, one.position + 3, other.position);
    };
    return a->times == b->times && a->rows == b->rows && a->channels == b->channels &&
           a->baselines == b->baselines && a->correlations == b->correlations &&
           a->weights == b->weights && same(a->correlation, b->correlation, a->correlations) &&
           same(a->time, b->time, a->times) && same(a->interval, b->interval, a->times) &&
           same(a->frequency, b->frequency, a->channels) &&
           same(a->channel_width, b->channel_width, a->channels) &&
           a->station_count == b->station_count &&
           std::equal(a->stations, a->stations + a->station_count, b->stations, same_place) &&
           same(a->antenna1, b->antenna1, a->baselines) &&
           same(a->antenna2, b->antenna2, a->baselines) &&
           same(a->phase_centre, b->phase_centre, 2);
}

bool is_measurement_set(const char *path)
{
    if (!Table::isReadable(path))
        return false;
    Table table(path, grove::locking());
    bool has = table.keywordSet().isDefined("ANTENNA");
    for (const char *column : {"ANTENNA1", "ANTENNA2", "TIME", "UVW", "DATA_DESC_ID"})
        has = has && table.tableDesc().isColumn(column);
    return has;
}

// The path without links; the last part need not exist, its folder must.
std::string whole_path(const std::string &path)
{
    std::string whole = freed(realpath(path.c_str(), nullptr));
    if (!whole.empty())
        return whole;
    std::string folder = freed(grove_path_folder(path.c_str()));
    std::string around = freed(realpath(folder.c_str(), nullptr));
    std::string name = freed(grove_path_name(path.c_str()));
    return around.empty() ? path : freed(grove_path_join(around.c_str(), name.c_str()));
}

// Whether the set may get its name; takes the lock of a set that it replaces.
int check_target(grove_ms *ms, bool overwrite, grove_error *error)
{
    const char *path = ms->path.c_str();
    bool left = false;
    int code = grove_path_exists(path) ? 0 : grove_set_recover(path, &left, error);
    if (code)
        return code;
    if (!grove_path_exists(path))
        return grove_path_is_link(path)
                   ? grove_fail(error, GROVE_INVALID,
                                "%s: is a symbolic link to a file that does not exist", path)
                   : 0;
    if (!overwrite)
        return grove_fail(error, GROVE_INVALID,
                          "%s: exists already; give overwrite=true to replace it", path);
    if (!is_measurement_set(path))
        return grove_fail(error, GROVE_INVALID,
                          "%s: exists and is not a Measurement Set; it is not replaced", path);
    ms->path = whole_path(ms->path);
    grove_set_lock *lock =
        grove_set_lock_take(ms->path.c_str(), ms->record, nullptr, nullptr, error);
    if (!lock)
        return grove_error_code(error);
    ms->locks.push_back(lock);
    return 0;
}

std::shared_ptr<grove::new_set> find_new(const grove_ms *ms)
{
    new_sets.remove_if([](const std::weak_ptr<grove::new_set> &each) { return each.expired(); });
    for (const auto &each : new_sets) {
        std::shared_ptr<grove::new_set> known = each.lock();
        if (known->record == ms->record && known->path == whole_path(ms->path))
            return known;
    }
    return nullptr;
}

// Makes a working folder next to the new set's name; casacore makes the table in it.
int make_new(grove_ms *ms, const grove_ms *like, grove_error *error)
{
    std::string folder = freed(grove_path_folder(ms->path.c_str()));
    std::string prefix = freed(grove_record_prefix(ms->path.c_str()));
    const char *work = grove_record_work(ms->record, folder.c_str(), prefix.c_str(), error);
    if (!work)
        return grove_error_code(error);
    ms->made = std::make_shared<grove::new_set>();
    ms->made->record = ms->record;
    ms->made->path = whole_path(ms->path);
    ms->made->work = work;
    ms->made->replaces = grove_path_exists(ms->path.c_str());
    int code = grove::check_space(ms->path, work, error);
    if (code)
        return code;
    ms->made->table = grove::make_table(ms->made->work + "/" GROVE_RECORD_TABLE, ms->layout,
                                        ms->rows.get(), ms->column, like);
    ms->made->layout = copy_layout(ms->layout);
    new_sets.push_back(ms->made);
    return 0;
}

// The column of the set that will be replaced, if it has it: a hint.
void find_replaced(grove_ms *ms, const IPosition &cell)
{
    try {
        Table table(ms->path, grove::locking());
        if (table.tableDesc().isColumn(ms->column))
            grove::open_flat(table, ms->column, cell, false, ms->replaced);
    } catch (const AipsError &) {
        // the table is not needed, so its errors do not matter
    }
}

// A column more of a set that the run makes already.
int join_new(grove_ms *ms, const std::shared_ptr<grove::new_set> &made, grove_error *error)
{
    const char *path = ms->path.c_str();
    if (std::count(made->columns.begin(), made->columns.end(), ms->column))
        return grove_fail(error, GROVE_INVALID,
                          "%s: column %s is being written already; write another column", path,
                          ms->column.c_str());
    if (made->lost || made->open_columns < made->columns.size())
        return grove_fail(error, GROVE_INTERNAL, "%s: it is too late for another column", path);
    if (!same_layout(ms->layout, made->layout))
        return grove_fail(error, GROVE_INVALID,
                          "%s: would get columns of different observations; write to another path",
                          path);
    ms->made = made;
    return 0;
}

struct table_info {
    std::string path, type;
};

std::vector<table_info> infos_of(const Table &table)
{
    std::vector<table_info> infos{{table.tableName(), TableInfo::type(TableInfo::MEASUREMENTSET)}};
    const TableRecord &keywords = table.keywordSet();
    for (uInt i = 0; i < keywords.nfields(); i++)
        if (keywords.dataType(i) == TpTable) {
            Table sub(keywords.asTable(i));
            infos.push_back({sub.tableName(), sub.tableInfo().type()});
        }
    return infos;
}
} // namespace

namespace grove
{
void check_info(const std::string &folder, const std::string &type)
{
    std::string file = folder + "/table.info";
    if (!grove_path_exists(file.c_str()) || TableInfo(file).type() != String(type))
        throw AipsError("table.info cannot be written");
}

new_set::~new_set()
{
    guard(path, nullptr, [&] {
        if (broken)
            never_close(table);
        else if (!table.isNull())
            table.markForDelete(); // or all rows that are still to come would be written first
        table = Table();
        return 0;
    });
    if (!settled)
        grove_record_drop(record, work.c_str());
    grove_ms_layout_free(layout);
}

int settle_new(grove_ms *ms, grove_error *error)
{
    new_set *made = ms->made.get();
    if (made->lost)
        return grove_fail(error, GROVE_IO, "%s: another of its columns is not written",
                          ms->path.c_str());
    ms->table = Table();
    if (--made->open_columns)
        return 0;
    int code = write_history(ms, error);
    std::vector<table_info> infos = infos_of(made->table);
    made->table.flush(False, True); // the record syncs it
    made->table = Table();
    for (const table_info &each : infos)
        check_info(each.path, each.type);
    grove_record_add_path(made->record, made->work.c_str(), made->path.c_str(), made->replaces);
    made->settled = true;
    return code;
}
} // namespace grove

extern "C" grove_ms *grove_ms_create(const char *path, const grove_ms_layout *layout,
                                     const grove_ms *like, const char *column, bool overwrite,
                                     grove_record *record, grove_error *error)
{
    std::unique_ptr<grove_ms> ms(new grove_ms);
    ms->path = path;
    ms->column = column;
    ms->layout = copy_layout(layout);
    grove::set_record(ms.get(), record);
    int code = grove::guard(path, error, [&] {
        if (layout->correlations < 1 || layout->channels < 1)
            return grove_fail(error, GROVE_INVALID, "%s: a set needs a correlation and a channel",
                              path);
        grove::number_rows(ms.get(), like);
        int failed = check_target(ms.get(), overwrite, error);
        std::shared_ptr<grove::new_set> made = find_new(ms.get());
        if (!failed)
            failed = made ? join_new(ms.get(), made, error) : make_new(ms.get(), like, error);
        if (failed)
            return failed;
        ms->table = ms->made->table;
        if (made && ms->column != "DATA")
            grove::add_data_column(ms->table, layout, ms->column);
        IPosition cell(2, layout->correlations, layout->channels);
        grove::open_flat(ms->table, ms->column, cell, true, ms->made_flat);
        if (layout->weights)
            grove::open_flat(ms->table, "WEIGHT_SPECTRUM", cell, true, ms->made_weight);
        if (!made)
            grove::open_flat(ms->table, "UVW", IPosition(1, 3), true, ms->made_uvw);
        if (ms->made->replaces)
            find_replaced(ms.get(), cell);
        ms->made->columns.push_back(ms->column);
        ms->made->open_columns++;
        return 0;
    });
    if (!code)
        return ms.release();
    grove_ms_abort(ms.release());
    return nullptr;
}

extern "C" bool grove_ms_leads(const grove_ms *ms)
{
    return ms->made && ms->made->columns[0] == ms->column;
}
