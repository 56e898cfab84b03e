// Opens a set: reads its metadata, and maps times and baselines to rows.
#include "io/measurement_set_private.h"

#include <casacore/casa/Logging/LogFilter.h>
#include <casacore/casa/Logging/LogSink.h>
#include <casacore/casa/Logging/NullLogSink.h>
#include <casacore/measures/Measures/MDirection.h>
#include <casacore/measures/TableMeasures/ArrayMeasColumn.h>
#include <casacore/tables/Tables/TableRecord.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>
#include <mutex>
#include <numeric>
#include <set>
#include <sstream>

using namespace casacore;

namespace grove
{
void start_casacore()
{
    static std::once_flag once;
    std::call_once(once, [] {
        LogSinkInterface *sink = new NullLogSink(LogFilter(LogMessage::SEVERE));
        LogSink::globalSink(sink);
        setenv("HOME", "/", 0); // without one, it fails
    });
}

std::string one_line(const std::string &text)
{
    std::string line = text.substr(0, text.find('\n'));
    while (!line.empty() && (line.back() == '.' || line.back() == ' '))
        line.pop_back();
    return line.empty() ? "unknown fault" : line;
}

int guard(const std::string &path, grove_error *error, const std::function<int()> &work)
{
    start_casacore();
    try {
        return work();
    } catch (const std::bad_alloc &) {
        return grove_fail(error, GROVE_NO_MEMORY, "%s: out of memory", path.c_str());
    } catch (const std::exception &fault) {
        return grove_fail(error, GROVE_IO, "%s: %s", path.c_str(), one_line(fault.what()).c_str());
    }
}

TableLock locking()
{
    return TableLock(TableLock::AutoNoReadLocking);
}

static void sort_rows(row_list &list)
{
    std::vector<std::pair<int64_t, int64_t>> both;
    for (size_t i = 0; i < list.row.size(); i++)
        both.emplace_back(list.row[i], list.place[i]);
    std::sort(both.begin(), both.end());
    for (size_t i = 0; i < both.size(); i++) {
        list.row[i] = both[i].first;
        list.place[i] = both[i].second;
    }
}

row_list rows_of(const grove_ms *ms, const grove_ms_block *block)
{
    row_list list;
    list.row.reserve(size_t(block->times * block->baselines));
    list.place.reserve(size_t(block->times * block->baselines));
    for (int64_t t = 0; t < block->times; t++)
        for (int64_t b = 0; b < block->baselines; b++) {
            int64_t at =
                (block->first_time + t) * ms->layout->baselines + block->first_baseline + b;
            if (ms->rows[size_t(at)] < 0)
                continue;
            list.row.push_back(ms->rows[size_t(at)]);
            list.place.push_back(t * block->baselines + b);
        }
    if (!std::is_sorted(list.row.begin(), list.row.end()))
        sort_rows(list);
    return list;
}

int check_block(const grove_ms *ms, const grove_ms_block *block, grove_error *error)
{
    const grove_ms_layout *all = ms->layout;
    if (block->first_time < 0 || block->times < 0 ||
        block->first_time + block->times > all->times || block->first_baseline < 0 ||
        block->baselines < 0 || block->first_baseline + block->baselines > all->baselines ||
        block->first_channel < 0 || block->channels < 0 ||
        block->first_channel + block->channels > all->channels)
        return grove_fail(error, GROVE_INTERNAL, "%s: a block outside of the set was asked for",
                          ms->path.c_str());
    return 0;
}
} // namespace grove

namespace
{
char *copy(const std::string &text)
{
    return grove_strdup(text.c_str());
}

double *copy(const std::vector<double> &numbers)
{
    return static_cast<double *>(grove_copy(numbers.data(), numbers.size() * sizeof(double)));
}

// Opens a subtable; the message names a missing one.
Table subtable(const Table &table, const char *name)
{
    if (!table.keywordSet().isDefined(name))
        throw AipsError(String("its subtable ") + name + " is missing");
    return table.keywordSet().asTable(name);
}

void read_antennas(const Table &table, grove_ms_layout *layout)
{
    Table antenna = subtable(table, "ANTENNA");
    ScalarColumn<String> name(antenna, "NAME"), mount(antenna, "MOUNT");
    ArrayColumn<Double> position(antenna, "POSITION");
    ScalarColumn<Double> diameter(antenna, "DISH_DIAMETER");

    layout->station_count = int(antenna.nrow());
    layout->stations =
        static_cast<grove_station *>(grove_alloc((antenna.nrow() + 1) * sizeof(grove_station)));
    for (rownr_t i = 0; i < antenna.nrow(); i++) {
        grove_station *to = &layout->stations[i];
        Vector<Double> xyz(position(i));
        to->name = copy(name(i));
        for (size_t k = 0; k < 3; k++)
            to->position[k] = xyz.size() > k ? xyz[k] : 0;
        to->diameter = diameter(i);
        snprintf(to->mount, sizeof(to->mount), "%s", mount(i).c_str());
    }
}

std::string numbers_up_to(rownr_t count)
{
    if (count == 0)
        return "there are none";
    if (count == 1)
        return "there is only 0";
    return "there are 0 to " + std::to_string(count - 1);
}

void read_field(const Table &table, int field, grove_ms_layout *layout)
{
    Table fields = subtable(table, "FIELD");
    if (field < 0 || rownr_t(field) >= fields.nrow())
        throw AipsError("no field " + std::to_string(field) + "; " + numbers_up_to(fields.nrow()));
    ArrayColumn<Double> direction(fields, "PHASE_DIR");
    Array<Double> centre(direction(rownr_t(field)));
    if (centre.nelements() < 2)
        throw AipsError("field " + std::to_string(field) + " has no phase centre");
    layout->phase_centre[0] = centre.data()[0];
    layout->phase_centre[1] = centre.data()[1];
    layout->field_name = copy(ScalarColumn<String>(fields, "NAME")(rownr_t(field)));
    if (!direction.keywordSet().isDefined("MEASINFO"))
        return;
    // the column's frame, or that of the row
    Array<MDirection> measure(ArrayMeasColumn<MDirection>(fields, "PHASE_DIR")(rownr_t(field)));
    std::string frame = MDirection::showType(measure.data()[0].getRef().getType());
    if (frame != "J2000" && frame != "ICRS")
        throw AipsError("the phase centre of field " + std::to_string(field) + " is in " + frame +
                        "; only J2000 and ICRS are understood");
}

void read_window(const Table &table, int window, grove_ms_layout *layout)
{
    Table windows = subtable(table, "SPECTRAL_WINDOW");
    if (window < 0 || rownr_t(window) >= windows.nrow())
        throw AipsError("no spectral window " + std::to_string(window) + "; " +
                        numbers_up_to(windows.nrow()));
    Vector<Double> frequency(ArrayColumn<Double>(windows, "CHAN_FREQ")(rownr_t(window)));
    Vector<Double> width(ArrayColumn<Double>(windows, "CHAN_WIDTH")(rownr_t(window)));
    if (frequency.size() == 0 || width.size() != frequency.size())
        throw AipsError("spectral window " + std::to_string(window) + " has no channels");
    std::vector<double> f(frequency.begin(), frequency.end()), w(width.begin(), width.end());
    for (double &each : w)
        each = std::fabs(each);
    layout->channels = int64_t(f.size());
    layout->frequency = copy(f);
    layout->channel_width = copy(w);
}

// The data descriptions with this spectral window, and their polarization, which must be unique.
std::set<int> read_polarization(const Table &table, int window, grove_ms_layout *layout)
{
    Table descriptions = subtable(table, "DATA_DESCRIPTION");
    Vector<Int> windows(ScalarColumn<Int>(descriptions, "SPECTRAL_WINDOW_ID").getColumn());
    Vector<Int> setups(ScalarColumn<Int>(descriptions, "POLARIZATION_ID").getColumn());
    std::set<int> ids;
    int setup = -1;
    for (size_t i = 0; i < windows.size(); i++)
        if (windows[i] == window && (setup < 0 || setup == setups[i])) {
            setup = setups[i];
            ids.insert(int(i));
        }
    if (setup < 0)
        throw AipsError("no data description has spectral window " + std::to_string(window));
    Table polarizations = subtable(table, "POLARIZATION");
    Vector<Int> codes(ArrayColumn<Int>(polarizations, "CORR_TYPE")(rownr_t(setup)));
    if (codes.size() < 1 || codes.size() > 4)
        throw AipsError("it has " + std::to_string(codes.size()) +
                        " correlations; 1 to 4 are understood");
    layout->correlations = int(codes.size());
    for (size_t i = 0; i < codes.size(); i++)
        layout->correlation[i] = codes[i];
    return ids;
}

// The rows of a part, and what the table says of all its rows.
struct row_choice {
    std::vector<int64_t> row;
    Vector<Int> left, right, scan;
    Vector<Double> time, interval;
};

// Distinct numbers; those of neighbouring rows are mostly equal.
std::set<int> distinct(const Vector<Int> &numbers)
{
    std::set<int> found;
    for (size_t i = 0; i < numbers.size(); i++)
        if (!i || numbers[i] != numbers[i - 1])
            found.insert(numbers[i]);
    return found;
}

row_choice choose_rows(const Table &table, const grove_ms_part &part,
                       const std::set<int> &descriptions, grove_ms_layout *layout)
{
    row_choice rows;
    Vector<Int> fields(ScalarColumn<Int>(table, "FIELD_ID").getColumn());
    Vector<Int> ids(ScalarColumn<Int>(table, "DATA_DESC_ID").getColumn());
    ScalarColumn<Int>(table, "ANTENNA1").getColumn(rows.left, True);
    ScalarColumn<Int>(table, "ANTENNA2").getColumn(rows.right, True);
    ScalarColumn<Double>(table, "TIME").getColumn(rows.time, True);
    ScalarColumn<Double>(table, "INTERVAL").getColumn(rows.interval, True);
    if (table.tableDesc().isColumn("SCAN_NUMBER"))
        ScalarColumn<Int>(table, "SCAN_NUMBER").getColumn(rows.scan, True);
    else
        rows.scan = Vector<Int>(rows.left.size(), 1);
    std::set<int> others = distinct(ids);
    rows.row.reserve(fields.size());
    layout->fields = int(distinct(fields).size());
    for (int own : descriptions)
        others.erase(own);
    layout->windows = int(others.size()) + 1;
    for (size_t i = 0; i < fields.size(); i++)
        if (fields[i] == part.field && descriptions.count(ids[i]) &&
            !(part.cross_only && rows.left[i] == rows.right[i]))
            rows.row.push_back(int64_t(i));
    return rows;
}

std::string show_interval(const row_choice &rows, size_t row)
{
    std::ostringstream text;
    text << "row " << row << " " << rows.interval[row] << " s";
    return text.str();
}

// Numbers of the chosen rows, in the order of their times.
std::vector<size_t> order_of_times(const row_choice &rows)
{
    std::vector<size_t> order(rows.row.size());
    std::iota(order.begin(), order.end(), size_t(0));
    auto earlier = [&](size_t a, size_t b) {
        return rows.time[size_t(rows.row[a])] < rows.time[size_t(rows.row[b])];
    };
    if (!std::is_sorted(order.begin(), order.end(), earlier))
        std::stable_sort(order.begin(), order.end(), earlier);
    return order;
}

// Distinct times; those within a millisecond are equal. Gives each row the number of its time.
std::vector<int64_t> number_times(const row_choice &rows, bool one_interval,
                                  grove_ms_layout *layout)
{
    std::vector<int64_t> number(rows.row.size());
    std::vector<double> times, intervals;
    std::vector<int> scans;
    size_t first = 0; // row of this time
    for (size_t k : order_of_times(rows)) {
        size_t row = size_t(rows.row[k]);
        if (!std::isfinite(rows.time[row]))
            throw AipsError("row " + std::to_string(row) + " has no time");
        if (times.empty() || rows.time[row] - times.back() > 1e-3) {
            times.push_back(rows.time[row]);
            intervals.push_back(rows.interval[row]);
            scans.push_back(rows.scan[row]);
            first = row;
        }
        if (one_interval && !(std::fabs(rows.interval[row] - rows.interval[first]) <= 1e-3))
            throw AipsError("rows of one time have different intervals: " +
                            show_interval(rows, first) + ", " + show_interval(rows, row) +
                            "; Grove computes with one interval at each time; split the set first");
        number[k] = int64_t(times.size()) - 1;
    }
    layout->times = int64_t(times.size());
    layout->time = copy(times);
    layout->interval = copy(intervals);
    layout->scan = static_cast<int *>(grove_copy(scans.data(), scans.size() * sizeof(int)));
    return number;
}

using baseline_numbers = std::map<std::pair<int, int>, int64_t>;

// The baseline's place. Rows mostly stand in the order of baselines: `next` is the one after the
// last.
baseline_numbers::iterator place_of(baseline_numbers &number, baseline_numbers::iterator &next,
                                    const std::pair<int, int> &key)
{
    if (next == number.end())
        next = number.begin();
    auto at = next != number.end() && next->first == key ? next : number.emplace(key, 0).first;
    next = std::next(at);
    return at;
}

void number_baselines(const row_choice &rows, grove_ms_layout *layout, baseline_numbers &number)
{
    auto guess = number.end();
    for (int64_t row : rows.row) {
        int left = rows.left[size_t(row)], right = rows.right[size_t(row)];
        if (left < 0 || right < 0 || left >= layout->station_count ||
            right >= layout->station_count)
            throw AipsError("row " + std::to_string(row) + " has antennas " + std::to_string(left) +
                            " and " + std::to_string(right) + "; there are " +
                            std::to_string(layout->station_count));
        place_of(number, guess, {left, right});
    }
    layout->baselines = int64_t(number.size());
    layout->antenna1 = static_cast<int *>(grove_alloc((number.size() + 1) * sizeof(int)));
    layout->antenna2 = static_cast<int *>(grove_alloc((number.size() + 1) * sizeof(int)));
    int64_t next = 0;
    for (auto &each : number) {
        if (each.first.first != each.first.second &&
            number.count({each.first.second, each.first.first}))
            throw AipsError("baseline " + std::to_string(each.first.first) + "-" +
                            std::to_string(each.first.second) +
                            " stands in both orders; Grove needs one order per pair");
        layout->autocorrelations |= each.first.first == each.first.second;
        layout->antenna1[next] = each.first.first;
        layout->antenna2[next] = each.first.second;
        each.second = next++;
    }
}

void index_rows(grove_ms *ms, const grove_ms_part &part, const std::set<int> &descriptions)
{
    grove_ms_layout *layout = ms->layout;
    row_choice rows = choose_rows(ms->table, part, descriptions, layout);
    if (rows.row.empty())
        throw AipsError("no row has field " + std::to_string(part.field) +
                        " and the chosen spectral window" +
                        (part.cross_only ? " and two stations" : ""));
    std::vector<int64_t> time = number_times(rows, part.one_interval, layout);
    baseline_numbers baseline;
    number_baselines(rows, layout, baseline);
    auto guess = baseline.end();
    ms->rows.assign(size_t(layout->times * layout->baselines), -1);
    for (size_t i = 0; i < rows.row.size(); i++) {
        size_t row = size_t(rows.row[i]);
        std::pair<int, int> key(rows.left[row], rows.right[row]);
        int64_t &at =
            ms->rows[size_t(time[i] * layout->baselines + place_of(baseline, guess, key)->second)];
        if (at >= 0)
            throw AipsError("rows " + std::to_string(at) + " and " + std::to_string(row) +
                            " have the same time and baseline");
        at = int64_t(row);
    }
    layout->rows = int64_t(rows.row.size());
    ms->all_rows = rows.row.size() == ms->table.nrow();
}
} // namespace

extern "C" void grove_ms_layout_free(grove_ms_layout *layout)
{
    if (!layout)
        return;
    for (int i = 0; layout->stations && i < layout->station_count; i++)
        free(layout->stations[i].name);
    free(layout->stations);
    free(layout->telescope);
    free(layout->field_name);
    free(layout->time);
    free(layout->interval);
    free(layout->scan);
    free(layout->frequency);
    free(layout->channel_width);
    free(layout->antenna1);
    free(layout->antenna2);
    free(layout);
}

namespace
{
// Another has changed the set: closes it, so that casacore forgets what it knew.
void forget(void *user)
{
    grove_ms *ms = static_cast<grove_ms *>(user);
    ms->flat.clear();
    grove::guard(ms->path, nullptr, [&] {
        ms->table = Table();
        return 0;
    });
    ms->stale = true;
}

int lock_folder(grove_ms *ms, const std::string &folder, grove_error *error)
{
    grove_set_lock *lock =
        grove_set_lock_take(folder.c_str(), ms->writable ? ms->record : nullptr, forget, ms, error);
    if (!lock)
        return grove_error_code(error);
    ms->locks.push_back(lock);
    return 0;
}

// The tables that the set consists of, too, in one order for all.
int lock_roots(grove_ms *ms, grove_error *error)
{
    std::vector<std::string> roots = grove::roots_of(ms->table);
    if (ms->table.isRootTable() && roots.size() == 1)
        return 0;
    ms->table = Table();
    std::sort(roots.begin(), roots.end());
    for (const std::string &root : roots) {
        int code = lock_folder(ms, root, error);
        if (code)
            return code;
        if (ms->writable && !Table::isWritable(root))
            return grove_fail(error, GROVE_IO, "%s: may not be written", root.c_str());
    }
    ms->table = Table(ms->path, grove::locking());
    return 0;
}

void read_layout(grove_ms *ms)
{
    const Table &table = ms->table;
    grove_ms_layout *layout = static_cast<grove_ms_layout *>(grove_alloc(sizeof(grove_ms_layout)));
    grove_ms_layout_free(ms->layout);
    ms->layout = layout;
    read_antennas(table, layout);
    read_field(table, ms->chosen.field, layout);
    read_window(table, ms->chosen.spectral_window, layout);
    index_rows(ms, ms->chosen, read_polarization(table, ms->chosen.spectral_window, layout));
    grove::read_storage(table, layout);
    Table observation = subtable(table, "OBSERVATION");
    layout->telescope = copy(
        observation.nrow() ? ScalarColumn<String>(observation, "TELESCOPE_NAME")(0) : String());
}

} // namespace

namespace grove
{
int open_table(grove_ms *ms, grove_error *error)
{
    const char *path = ms->path.c_str();
    bool left = false;
    int code = grove_path_exists(path) ? 0 : grove_set_recover(path, &left, error);
    if (code)
        return code;
    if (!grove_path_exists(path))
        return grove_path_fail(path, error);
    if (!Table::isReadable(path))
        return grove_fail(error, GROVE_INVALID, "%s: not a Measurement Set", path);
    if (ms->writable && !Table::isWritable(path))
        return grove_fail(error, GROVE_IO, "%s: may not be written", path);
    if ((code = lock_folder(ms, path, error)))
        return code;
    ms->table = Table(path, grove::locking());
    code = lock_roots(ms, error);
    if (!code)
        limit_caches(ms->table);
    return code;
}

void find_record(grove_ms *ms)
{
    ms->record = grove_record_current();
    ms->own_record = !ms->record;
    if (ms->own_record)
        ms->record = grove_record_new();
}

std::vector<std::string> roots_of(const Table &table)
{
    Block<String> names(table.getPartNames(True));
    std::vector<std::string> roots;
    for (const String &each : names) {
        std::string name(each);
        if (std::find(roots.begin(), roots.end(), name) == roots.end())
            roots.push_back(name);
    }
    if (roots.size() != names.size())
        throw AipsError("it has one table several times");
    return roots;
}

void refresh(grove_ms *ms)
{
    if (!ms->stale)
        return;
    ms->flags.columns.clear();
    grove_ms now;
    now.path = ms->path;
    now.chosen = ms->chosen;
    now.table = ms->table = Table(ms->path, locking());
    limit_caches(ms->table);
    read_layout(&now);
    if (now.rows != ms->rows || now.layout->channels != ms->layout->channels ||
        now.layout->correlations != ms->layout->correlations)
        throw AipsError("another program has changed which rows and channels it has; run again");
    ms->stale = false;
}
} // namespace grove

extern "C" grove_ms *grove_ms_open(const char *path, const grove_ms_part *part, bool writable,
                                   grove_error *error)
{
    std::unique_ptr<grove_ms> ms(new grove_ms);
    ms->path = path;
    ms->chosen = *part;
    ms->writable = writable;
    if (writable)
        grove::find_record(ms.get());
    int code = grove::guard(path, error, [&] {
        int failed = grove::open_table(ms.get(), error);
        if (!failed)
            read_layout(ms.get());
        return failed;
    });
    return code ? nullptr : ms.release();
}

extern "C" int grove_ms_recover(const char *path, bool *done, grove_error *error)
{
    return grove::guard(path, error, [&] {
        int code = grove_set_recover(path, done, error);
        if (code || !Table::isReadable(path))
            return code;
        for (const std::string &root : grove::roots_of(Table(path, grove::locking()))) {
            bool also = false;
            if (!code)
                code = grove_set_recover(root.c_str(), &also, error);
            *done = *done || also;
        }
        return code;
    });
}

extern "C" const grove_ms_layout *grove_ms_layout_of(const grove_ms *ms)
{
    return ms->layout;
}

extern "C" bool grove_ms_has_column(const grove_ms *ms, const char *column)
{
    bool has = false;
    grove::guard(ms->path, nullptr, [&] {
        grove::refresh(const_cast<grove_ms *>(ms));
        has = ms->table.tableDesc().isColumn(column);
        return 0;
    });
    return has;
}

extern "C" void grove_ms_close(grove_ms *ms)
{
    if (ms)
        grove::guard(ms->path, nullptr, [&] {
            ms->table = Table();
            return 0;
        });
    delete ms;
}
