// Opens a set, and reads its metadata.
#include "nodes/sets/measurement_set_private.h"

#include <casacore/casa/Logging/LogFilter.h>
#include <casacore/casa/Logging/LogSink.h>
#include <casacore/casa/Logging/NullLogSink.h>
#include <casacore/measures/Measures/MDirection.h>
#include <casacore/measures/Measures/MFrequency.h>
#include <casacore/measures/TableMeasures/ArrayMeasColumn.h>
#include <casacore/tables/Tables/TableRecord.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <mutex>
#include <set>
#include <unistd.h>

extern "C" {
#include "util.h"
}

using namespace casacore;

namespace
{
std::terminate_handler terminate_before;

// casacore's destructors throw where a file cannot be read, written or closed, which ends the
// process.
[[noreturn]] void end_process()
{
    try {
        if (std::current_exception())
            throw;
    } catch (const AipsError &fault) {
        grove_log(GROVE_LOG_ERROR,
                  "a table cannot be closed: %s; the outputs of this run are discarded, and grove "
                  "recover SET removes the files that it has left",
                  grove::one_line(fault.what()).c_str());
        _exit(1);
    } catch (...) {
    }
    terminate_before();
    std::abort();
}
} // namespace

namespace grove
{
void start_casacore()
{
    static std::once_flag once;
    std::call_once(once, [] {
        terminate_before = std::set_terminate(end_process);
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
        const std::string message = one_line(fault.what());
        char column[64];
        if (sscanf(message.c_str(), "Table column %63s is unknown", column) == 1)
            return grove_fail(error, GROVE_MISSING,
                              "%s: the set, or a table of it, has no column %s, which all "
                              "Measurement Sets have",
                              path.c_str(), column);
        return grove_fail(error, GROVE_IO, "%s: %s", path.c_str(), message.c_str());
    }
}

TableLock locking()
{
    return TableLock(TableLock::AutoNoReadLocking);
}

int check_block(const grove_ms *ms, const grove_ms_block *block, grove_error *error)
{
    const grove_ms_layout *all = ms->layout;
    if (block->first_time < 0 || block->times < 0 ||
        block->first_time + block->times > all->times || block->first_baseline < 0 ||
        block->baselines < 0 || block->first_baseline + block->baselines > all->baselines ||
        block->first_channel < 0 || block->channels < 0 ||
        block->first_channel + block->channels > all->channels)
        return grove_fail(error, GROVE_INTERNAL, "%s: a block outside the set was requested",
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
    const double metre = grove::unit_of(antenna, "POSITION", "m"),
                 across = grove::unit_of(antenna, "DISH_DIAMETER", "m");
    for (rownr_t i = 0; i < antenna.nrow(); i++) {
        grove_station *to = &layout->stations[i];
        Vector<Double> xyz(position(i));
        to->name = copy(name(i));
        for (size_t k = 0; k < 3; k++)
            to->position[k] = xyz.size() > k ? metre * xyz[k] : 0;
        to->diameter = across * diameter(i);
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

void read_field(const Table &table, int64_t field, grove_ms_layout *layout)
{
    Table fields = subtable(table, "FIELD");
    if (field < 0 || rownr_t(field) >= fields.nrow())
        throw AipsError("no field " + std::to_string(field) + "; " + numbers_up_to(fields.nrow()));
    ArrayColumn<Double> direction(fields, "PHASE_DIR");
    Array<Double> centre(direction(rownr_t(field)));
    if (centre.nelements() < 2)
        throw AipsError("field " + std::to_string(field) + " has no phase centre");
    if (grove::moves(fields, field))
        throw AipsError("the phase centre of field " + std::to_string(field) +
                        " moves: PHASE_DIR changes with time, or EPHEMERIS_ID names an ephemeris; "
                        "only fixed ones are supported");
    const double radian = grove::unit_of(fields, "PHASE_DIR", "rad");
    layout->phase_centre[0] = radian * centre.data()[0];
    layout->phase_centre[1] = radian * centre.data()[1];
    layout->field_name = copy(ScalarColumn<String>(fields, "NAME")(rownr_t(field)));
    if (!direction.keywordSet().isDefined("MEASINFO"))
        return;
    // the column's frame, or the row's
    Array<MDirection> measure(ArrayMeasColumn<MDirection>(fields, "PHASE_DIR")(rownr_t(field)));
    std::string frame = MDirection::showType(measure.data()[0].getRef().getType());
    if (frame != "J2000" && frame != "ICRS")
        throw AipsError("the phase centre of field " + std::to_string(field) + " is in " + frame +
                        "; only J2000 and ICRS are supported");
}

// The frame of frequencies: the column's, or the row's. Programs write REST when they ignore
// frames.
void read_frame(const Table &windows, int64_t window, grove_ms_layout *layout)
{
    if (!TableColumn(windows, "CHAN_FREQ").keywordSet().isDefined("MEASINFO"))
        return;
    Array<MFrequency> first(ArrayMeasColumn<MFrequency>(windows, "CHAN_FREQ")(rownr_t(window)));
    const uInt type = first.data()[0].getRef().getType();
    if (type != MFrequency::TOPO && type != MFrequency::REST && type != MFrequency::Undefined)
        snprintf(layout->frequency_frame, sizeof(layout->frequency_frame), "%s",
                 MFrequency::showType(type).c_str());
}

void read_window(const Table &table, int64_t window, grove_ms_layout *layout)
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
    const double hertz = grove::unit_of(windows, "CHAN_FREQ", "Hz"),
                 wide = grove::unit_of(windows, "CHAN_WIDTH", "Hz");
    for (double &each : f)
        each *= hertz;
    for (double &each : w)
        each = std::fabs(wide * each);
    layout->channels = int64_t(f.size());
    layout->frequency = copy(f);
    layout->channel_width = copy(w);
    read_frame(windows, window, layout);
}

std::vector<grove::description> read_descriptions(const Table &table)
{
    Table descriptions = subtable(table, "DATA_DESCRIPTION");
    Vector<Int> windows(ScalarColumn<Int>(descriptions, "SPECTRAL_WINDOW_ID").getColumn());
    Vector<Int> setups(ScalarColumn<Int>(descriptions, "POLARIZATION_ID").getColumn());
    std::vector<grove::description> all;
    for (size_t i = 0; i < windows.size(); i++)
        all.push_back({windows[i], setups[i]});
    return all;
}

// "0 (RR), 1 (LL)"
std::string names_of(const std::set<int> &numbers, const Table &polarizations)
{
    std::string list;
    for (int each : numbers)
        list += (list.empty() ? "" : ", ") + std::to_string(each) + " (" +
                grove::correlations_of(polarizations, each) + ")";
    return list;
}

// The requested polarization, or the only one of the rows.
int choose_polarization(const grove_ms *ms, const std::vector<grove::description> &descriptions,
                        const Table &polarizations)
{
    std::set<int> of_window;
    for (const grove::description &each : descriptions)
        if (each.window == ms->chosen.spectral_window)
            of_window.insert(each.polarization);
    if (of_window.empty())
        throw AipsError("no data description has spectral window " +
                        std::to_string(ms->chosen.spectral_window));
    const int64_t number = ms->chosen.polarization - 1;
    for (int each : of_window)
        if (each == number || (!ms->chosen.polarization && of_window.size() == 1))
            return each;
    if (ms->chosen.polarization)
        throw AipsError("spectral window " + std::to_string(ms->chosen.spectral_window) +
                        " has no such polarization; it has " + names_of(of_window, polarizations));
    std::set<int> found = grove::polarizations_of(ms, descriptions);
    if (found.size() > 1)
        throw AipsError("the rows of field " + std::to_string(ms->chosen.field) +
                        " and spectral window " + std::to_string(ms->chosen.spectral_window) +
                        " have several polarizations: " + names_of(found, polarizations) +
                        "; choose one, polarization=" + std::to_string(*found.begin()) +
                        " or another");
    return found.empty() ? *of_window.begin() : *found.begin();
}

void read_polarization(const grove_ms *ms, const std::vector<grove::description> &descriptions,
                       grove_ms_layout *layout)
{
    Table polarizations = subtable(ms->table, "POLARIZATION");
    layout->polarization = choose_polarization(ms, descriptions, polarizations);
    Vector<Int> codes(ArrayColumn<Int>(polarizations, "CORR_TYPE")(rownr_t(layout->polarization)));
    if (codes.size() < 1 || codes.size() > 4)
        throw AipsError("it has " + std::to_string(codes.size()) +
                        " correlations; 1 to 4 are supported");
    layout->correlations = int(codes.size());
    for (size_t i = 0; i < codes.size(); i++)
        layout->correlation[i] = codes[i];
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
// Another has changed the set: closes it, so that casacore forgets its content.
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
int lock_others(grove_ms *ms, grove_error *error)
{
    const std::set<std::string> others = grove::others_of(ms->table);
    if (others.empty())
        return 0;
    ms->table = Table();
    for (const std::string &each : others) {
        int code = lock_folder(ms, each, error);
        if (code)
            return code;
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
    const std::vector<grove::description> descriptions = read_descriptions(table);
    read_polarization(ms, descriptions, layout);
    grove::index_rows(ms, descriptions);
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
    code = lock_others(ms, error);
    if (!code)
        limit_caches(ms->table);
    return code;
}

void set_record(grove_ms *ms, grove_record *record)
{
    ms->record = record ? record : grove_record_new();
    ms->own_record = !record;
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
    if (!grove_set_rows_equal(now.rows.get(), ms->rows.get()) ||
        now.layout->channels != ms->layout->channels ||
        now.layout->correlations != ms->layout->correlations)
        throw AipsError("another program has changed its rows and channels; run again");
    ms->stale = false;
}
} // namespace grove

static grove_ms *open_set(std::unique_ptr<grove_ms> ms, const char *path, const grove_ms_part *part,
                          grove_error *error)
{
    ms->path = path;
    ms->chosen = *part;
    int code = grove::guard(path, error, [&] {
        int failed = grove::open_table(ms.get(), error);
        if (!failed)
            read_layout(ms.get());
        return failed;
    });
    return code ? nullptr : ms.release();
}

extern "C" grove_ms *grove_ms_open(const char *path, const grove_ms_part *part, grove_error *error)
{
    return open_set(std::unique_ptr<grove_ms>(new grove_ms), path, part, error);
}

extern "C" grove_ms *grove_ms_open_writable(const char *path, const grove_ms_part *part,
                                            grove_record *record, grove_error *error)
{
    std::unique_ptr<grove_ms> ms(new grove_ms);
    ms->writable = true;
    grove::set_record(ms.get(), record);
    return open_set(std::move(ms), path, part, error);
}

extern "C" int grove_ms_recover(const char *path, bool *done, grove_error *error)
{
    return grove::guard(path, error, [&] {
        int code = grove_set_recover(path, done, error);
        const std::string table = std::string(path) + "/table.dat";
        if (code || !grove_path_exists(table.c_str()))
            return code;
        for (const std::string &other : grove::others_of(Table(path, grove::locking()))) {
            bool also = false;
            if (!code)
                code = grove_set_recover(other.c_str(), &also, error);
            *done = *done || also;
        }
        return code;
    });
}

extern "C" const grove_ms_layout *grove_ms_layout_of(const grove_ms *ms)
{
    return ms->layout;
}

extern "C" uint64_t grove_ms_bytes(const grove_ms *ms)
{
    const uint64_t casacore = 8 << 20;
    return casacore + grove_set_rows_bytes(ms->rows.get());
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
