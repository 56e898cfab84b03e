// The table of a new set, with all its subtables and all that is known before the data.
#include "nodes/sets/measurement_set_private.h"

#include <casacore/casa/Arrays/ArrayMath.h>
#include <casacore/casa/Arrays/Slicer.h>
#include <casacore/casa/Quanta/MVTime.h>
#include <casacore/measures/Measures/MCuvw.h>
#include <casacore/measures/Measures/Muvw.h>
#include <casacore/ms/MeasurementSets/MSColumns.h>
#include <casacore/tables/DataMan/IncrementalStMan.h>
#include <casacore/tables/DataMan/StandardStMan.h>
#include <casacore/tables/DataMan/TiledColumnStMan.h>
#include <casacore/tables/Tables/ArrColDesc.h>
#include <casacore/tables/Tables/SetupNewTab.h>
#include <casacore/tables/Tables/TableCopy.h>
#include <casacore/tables/Tables/TableRecord.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <unistd.h>

using namespace casacore;

namespace
{
TableDesc describe_table(const grove_ms_layout *layout)
{
    TableDesc desc(MS::requiredTableDesc());
    IPosition cell(2, layout->correlations, layout->channels), row(1, layout->correlations);

    MS::addColumnToDesc(desc, MS::DATA, 2);
    desc.rwColumnDesc("DATA").setShape(cell);
    desc.rwColumnDesc("FLAG").setShape(cell);
    desc.rwColumnDesc("WEIGHT").setShape(row);
    desc.rwColumnDesc("SIGMA").setShape(row);
    if (layout->weights)
        desc.addColumn(ArrayColumnDesc<Float>("WEIGHT_SPECTRUM", cell, ColumnDesc::FixedShape));
    return desc;
}

// Columns constant over many rows use an incremental storage manager, arrays are tiled.
void bind_columns(SetupNewTable &setup, const grove_ms_layout *layout)
{
    static const char *const slow[] = {
        "TIME",         "TIME_CENTROID",  "INTERVAL",     "EXPOSURE", "FIELD_ID",
        "DATA_DESC_ID", "ARRAY_ID",       "FEED1",        "FEED2",    "FLAG_ROW",
        "SCAN_NUMBER",  "OBSERVATION_ID", "PROCESSOR_ID", "STATE_ID"};
    IPosition tile(grove::tile_of(layout));

    StandardStMan standard("standard", -1024); // rows that are read at a time
    setup.bindAll(standard);
    IncrementalStMan incremental("incremental");
    for (const char *name : slow)
        setup.bindColumn(name, incremental);
    for (const char *name : {"WEIGHT", "SIGMA"})
        if (!layout->weights)
            setup.bindColumn(name, incremental);
    TiledColumnStMan flag("flag", IPosition(3, tile[0], tile[1], 8 * tile[2])),
        uvw("uvw", IPosition(2, 3, 16384));
    setup.bindColumn("DATA", *grove::make_manager(layout, "data"));
    setup.bindColumn("FLAG", flag);
    setup.bindColumn("UVW", uvw);
    TiledColumnStMan weight("weight", IPosition(3, tile[0], tile[1], 2 * tile[2]));
    if (layout->weights)
        setup.bindColumn("WEIGHT_SPECTRUM", weight);
}

void fill_antennas(MeasurementSet &ms, const grove_ms_layout *layout)
{
    MSAntennaColumns columns(ms.antenna());
    ms.antenna().addRow(rownr_t(layout->station_count));
    for (rownr_t i = 0; i < rownr_t(layout->station_count); i++) {
        const grove_station *station = &layout->stations[i];
        Vector<Double> position(3), offset(3, 0.);
        for (size_t k = 0; k < 3; k++)
            position[k] = station->position[k];
        columns.name().put(i, station->name);
        columns.station().put(i, station->name);
        columns.type().put(i, "GROUND-BASED");
        columns.mount().put(i, station->mount);
        columns.position().put(i, position);
        columns.offset().put(i, offset);
        columns.dishDiameter().put(i, station->diameter);
        columns.flagRow().put(i, False);
    }
}

void fill_feeds(MeasurementSet &ms, const grove_ms_layout *layout)
{
    MSFeedColumns columns(ms.feed());
    bool circular = layout->correlation[0] >= 5 && layout->correlation[0] <= 8;
    Vector<String> types(2);
    types[0] = circular ? "R" : "X";
    types[1] = circular ? "L" : "Y";
    Matrix<Complex> response(2, 2, Complex(0));
    response(0, 0) = response(1, 1) = 1;
    ms.feed().addRow(rownr_t(layout->station_count));
    for (rownr_t i = 0; i < rownr_t(layout->station_count); i++) {
        columns.antennaId().put(i, Int(i));
        columns.feedId().put(i, 0);
        columns.spectralWindowId().put(i, -1);
        columns.time().put(i, 0.);
        columns.interval().put(i, 0.);
        columns.numReceptors().put(i, 2);
        columns.beamId().put(i, -1);
        columns.beamOffset().put(i, Matrix<Double>(2, 2, 0.));
        columns.polarizationType().put(i, types);
        columns.polResponse().put(i, response);
        columns.position().put(i, Vector<Double>(3, 0.));
        columns.receptorAngle().put(i, Vector<Double>(2, 0.));
    }
}

void fill_field(MeasurementSet &ms, const grove_ms_layout *layout)
{
    MSFieldColumns columns(ms.field());
    Matrix<Double> direction(2, 1);
    direction(0, 0) = layout->phase_centre[0];
    direction(1, 0) = layout->phase_centre[1];
    ms.field().addRow(1);
    columns.name().put(0, layout->field_name ? layout->field_name : "field");
    columns.code().put(0, "");
    columns.time().put(0, layout->times ? layout->time[0] : 0.);
    columns.numPoly().put(0, 0);
    columns.delayDir().put(0, direction);
    columns.phaseDir().put(0, direction);
    columns.referenceDir().put(0, direction);
    columns.sourceId().put(0, -1);
    columns.flagRow().put(0, False);
}

// Of the channels of the set that is copied; `other` where there is none.
Vector<Double> channels_of(const grove_ms *like, const char *column, const Vector<Double> &other)
{
    if (!like)
        return other;
    const rownr_t row = rownr_t(like->chosen.spectral_window);
    Table windows = like->table.keywordSet().asTable("SPECTRAL_WINDOW");
    if (!windows.tableDesc().isColumn(column))
        return other;
    const ArrayColumn<Double> from(windows, column);
    if (!from.isDefined(row) || !from.shape(row).isEqual(other.shape()))
        return other;
    Vector<Double> found(from(row));
    found *= grove::unit_of(windows, column, "Hz");
    return found;
}

// Where frequencies descend, CHAN_WIDTH is negative; EFFECTIVE_BW and RESOLUTION are not.
void fill_window(MeasurementSet &ms, const grove_ms_layout *layout, const grove_ms *like)
{
    MSSpWindowColumns columns(ms.spectralWindow());
    const size_t count = size_t(layout->channels);
    Vector<Double> frequency(count), width(count), step(count);
    const bool descends = count > 1 && layout->frequency[1] < layout->frequency[0];
    if (like &&
        (like->layout->channels != layout->channels ||
         !std::equal(layout->frequency, layout->frequency + count, like->layout->frequency)))
        like = nullptr;
    for (size_t i = 0; i < count; i++) {
        frequency[i] = layout->frequency[i];
        width[i] = layout->channel_width[i];
        step[i] = descends ? -width[i] : width[i];
    }
    ms.spectralWindow().addRow(1);
    columns.name().put(0, "window");
    columns.numChan().put(0, Int(layout->channels));
    columns.chanFreq().put(0, frequency);
    columns.chanWidth().put(0, channels_of(like, "CHAN_WIDTH", step));
    columns.effectiveBW().put(0, channels_of(like, "EFFECTIVE_BW", width));
    columns.resolution().put(0, channels_of(like, "RESOLUTION", width));
    columns.refFrequency().put(0, frequency[0]);
    MFrequency::Types frame = MFrequency::TOPO;
    if (like && like->layout->frequency_frame[0])
        MFrequency::getType(frame, like->layout->frequency_frame);
    columns.measFreqRef().put(0, frame);
    columns.totalBandwidth().put(0, sum(width));
    columns.netSideband().put(0, 1);
    columns.ifConvChain().put(0, 0);
    columns.freqGroup().put(0, 0);
    columns.freqGroupName().put(0, "");
    columns.flagRow().put(0, False);
}

// Receptor numbers of a correlation: RR or XX 0 0, RL or XY 0 1, ...
void fill_polarization(MeasurementSet &ms, const grove_ms_layout *layout)
{
    MSPolarizationColumns columns(ms.polarization());
    Vector<Int> codes(size_t(layout->correlations));
    Matrix<Int> product(2, size_t(layout->correlations));
    for (size_t i = 0; i < codes.size(); i++) {
        int code = layout->correlation[i], pair = code >= 9 ? code - 9 : code >= 5 ? code - 5 : 0;
        codes[i] = code;
        product(0, i) = pair / 2;
        product(1, i) = pair % 2;
    }
    ms.polarization().addRow(1);
    columns.numCorr().put(0, layout->correlations);
    columns.corrType().put(0, codes);
    columns.corrProduct().put(0, product);
    columns.flagRow().put(0, False);
    ms.dataDescription().addRow(1);
    MSDataDescColumns description(ms.dataDescription());
    description.spectralWindowId().put(0, 0);
    description.polarizationId().put(0, 0);
    description.flagRow().put(0, False);
}

void fill_observation(MeasurementSet &ms, const grove_ms_layout *layout)
{
    MSObservationColumns columns(ms.observation());
    Vector<Double> range(2, 0.);
    if (layout->times) {
        range[0] = layout->time[0] - layout->interval[0] / 2;
        range[1] = layout->time[layout->times - 1] + layout->interval[layout->times - 1] / 2;
    }
    ms.observation().addRow(1);
    columns.telescopeName().put(0, layout->telescope ? layout->telescope : "");
    columns.timeRange().put(0, range);
    columns.observer().put(0, "Grove");
    columns.log().put(0, Vector<String>(1, ""));
    columns.scheduleType().put(0, "");
    columns.schedule().put(0, Vector<String>(1, ""));
    columns.project().put(0, "");
    columns.releaseDate().put(0, 0.);
    columns.flagRow().put(0, False);
}

// One state, or all states of the set whose rows it has.
void fill_states(MeasurementSet &ms, const grove_ms *like)
{
    MSStateColumns state(ms.state());
    if (like && like->table.keywordSet().isDefined("STATE")) {
        Table from = like->table.keywordSet().asTable("STATE");
        ms.state().addRow(from.nrow());
        TableCopy::copyRows(ms.state(), from, 0, 0, from.nrow());
    }
    if (ms.state().nrow())
        return;
    ms.state().addRow(1);
    state.sig().put(0, True);
    state.ref().put(0, False);
    state.cal().put(0, 0.);
    state.load().put(0, 0.);
    state.subScan().put(0, 0);
    state.obsMode().put(0, "OBSERVE_TARGET.ON_SOURCE");
    state.flagRow().put(0, False);
}

void fill_rest(MeasurementSet &ms)
{
    MSProcessorColumns processor(ms.processor());
    ms.processor().addRow(1);
    processor.type().put(0, "SIMULATOR");
    processor.subType().put(0, "GROVE");
    processor.typeId().put(0, -1);
    processor.modeId().put(0, -1);
    processor.flagRow().put(0, False);
    MSHistoryColumns history(ms.history());
    ms.history().addRow(1);
    history.time().put(0, MVTime(Time()).second());
    history.observationId().put(0, 0);
    history.message().put(0, "written by Grove");
    history.priority().put(0, "NORMAL");
    history.origin().put(0, "grove");
    history.objectId().put(0, -1);
    history.application().put(0, "grove");
    history.cliCommand().put(0, Vector<String>(1, ""));
    history.appParams().put(0, Vector<String>(1, ""));
}

// A column of numbers that rows of a new set copy from rows of another set.
template <typename T> class copied_column
{
    const grove_ms *from; // null: there is none
    ScalarColumn<T> column, to;
    Vector<T> values;
    T last = 0; // that was put
    bool any = false;

  public:
    copied_column(const Table &table, const grove_ms *like, const char *name)
        : from(like && like->table.tableDesc().isColumn(name) ? like : nullptr), to(table, name)
    {
        if (from)
            column.attach(from->table, name);
    }
    // These rows, to the same number of them from `row` on. False: there are none to copy.
    bool put(const std::vector<int64_t> &number, rownr_t row, const std::function<T(T)> &change)
    {
        if (!from || number.empty())
            return false;
        const auto ends = std::minmax_element(number.begin(), number.end());
        const int64_t first = *ends.first, span = *ends.second - first + 1;
        const bool near = span <= 2 * int64_t(number.size());
        if (near)
            column.getColumnRange(Slicer(IPosition(1, first), IPosition(1, span)), values, True);
        for (size_t k = 0; k < number.size(); k++) {
            const T value =
                change(near ? values[size_t(number[k] - first)] : column(rownr_t(number[k])));
            if (value != last || !any) // the manager is incremental
                to.put(row + k, value);
            last = value;
            any = true;
        }
        return true;
    }
};

// Exposures, centroids and states of rows; with rows of another set, theirs.
class row_details
{
    const grove_ms *from;
    std::vector<int64_t> number, place;
    copied_column<Double> exposure, centroid;
    copied_column<Int> state;
    double second = 1;
    grove::time_scale scale = {1, false, 0};

  public:
    row_details(const Table &table, const grove_ms *like)
        : from(like), exposure(table, like, "EXPOSURE"), centroid(table, like, "TIME_CENTROID"),
          state(table, like, "STATE_ID")
    {
        if (!like)
            return;
        scale = grove::scale_of_time(like->table);
        if (like->table.tableDesc().isColumn("EXPOSURE"))
            second = grove::unit_of(like->table, "EXPOSURE", "s");
    }
    void put(MSMainColumns &columns, const grove_ms_layout *layout, int64_t t, rownr_t row,
             int64_t count)
    {
        const auto to_utc = [&](double time) {
            grove::to_utc(scale, &time, 1);
            return time;
        };
        number.clear();
        if (from) {
            const int64_t baselines = from->layout->baselines;
            number.resize(size_t(baselines));
            place.resize(size_t(baselines));
            const int64_t found = grove_set_rows_list(from->rows.get(), t, 1, 0, baselines,
                                                      number.data(), place.data());
            number.resize(found == count ? size_t(count) : 0);
        }
        // an incremental manager keeps a value until the next one is put
        if (!centroid.put(number, row, to_utc))
            columns.timeCentroid().put(row, layout->time[t]);
        if (!exposure.put(number, row, [&](double length) { return second * length; }))
            columns.exposure().put(row, layout->interval[t]);
        if (!state.put(number, row, [](Int id) { return id; }))
            columns.stateId().put(row, 0);
    }
};

// Fills the main table, except data, flags and uvw. Rows are in the order of times and baselines.
void fill_main(MeasurementSet &ms, const grove_ms_layout *layout, const grove_set_rows *rows,
               const grove_ms *like)
{
    row_details details(ms, like);
    MSMainColumns columns(ms);
    std::vector<int64_t> number(size_t(layout->baselines)), place(number.size());
    Vector<Float> ones(size_t(layout->correlations), 1.f);
    for (int64_t t = 0; t < layout->times; t++) {
        const int64_t count =
            grove_set_rows_list(rows, t, 1, 0, layout->baselines, number.data(), place.data());
        if (!count)
            continue;
        Vector<Int> left(static_cast<size_t>(count)), right(static_cast<size_t>(count));
        for (size_t i = 0; i < left.size(); i++) {
            left[i] = layout->antenna1[place[i]];
            right[i] = layout->antenna2[place[i]];
        }
        rownr_t row = rownr_t(number[0]);
        Slicer slots(IPosition(1, Int64(row)), IPosition(1, count));
        columns.antenna1().putColumnRange(slots, left);
        columns.antenna2().putColumnRange(slots, right);
        // an incremental manager keeps a value until the next one is put
        columns.time().put(row, layout->time[t]);
        columns.interval().put(row, layout->interval[t]);
        details.put(columns, layout, t, row, count);
        columns.scanNumber().put(row, layout->scan ? layout->scan[t] : 1);
    }
    if (rows->count) {
        columns.fieldId().put(0, 0);
        columns.dataDescId().put(0, 0);
        columns.arrayId().put(0, 0);
        columns.feed1().put(0, 0);
        columns.feed2().put(0, 0);
        columns.flagRow().put(0, False);
        columns.observationId().put(0, 0);
        columns.processorId().put(0, 0);
        if (!layout->weights) {
            columns.weight().put(0, ones);
            columns.sigma().put(0, ones);
        }
    }
}

// Without rows; with all subtables.
// `of_rows`: the set whose rows it has; null: others.
void make_empty(const std::string &path, const grove_ms_layout *layout, const std::string &column,
                const grove_ms *like, const grove_ms *of_rows)
{
    SetupNewTable setup(path, describe_table(layout), Table::New);
    bind_columns(setup, layout);
    std::unique_ptr<MeasurementSet> made(new MeasurementSet(setup, 0));
    MeasurementSet &set = *made;
    try {
        set.createDefaultSubtables(Table::New);
        fill_antennas(set, layout);
        fill_feeds(set, layout);
        fill_field(set, layout);
        fill_window(set, layout, like);
        fill_polarization(set, layout);
        fill_observation(set, layout);
        fill_states(set, of_rows);
        fill_rest(set);
        MSColumns(set).setUVWRef(Muvw::J2000);
        if (column != "DATA")
            grove::add_data_column(set, layout, column);
        set.flush(); // before casacore's destructors do: their exceptions end the process
    } catch (...) {
        grove::never_close(std::move(made));
        throw;
    }
}

// An incremental manager continues its last value only while the table stays open.
void add_rows(const std::string &path, const grove_ms_layout *layout, const grove_set_rows *rows,
              const grove_ms *like, TableLock::LockOption lock)
{
    std::unique_ptr<MeasurementSet> made(new MeasurementSet(grove::open_to_extend(path, lock)));
    try {
        made->addRow(rownr_t(rows->count));
        fill_main(*made, layout, rows, like);
        made->flush();
    } catch (...) {
        grove::never_close(std::move(made));
        throw;
    }
}
} // namespace

namespace grove
{
Table open_to_extend(const std::string &path, TableLock::LockOption lock)
{
    return Table(path, TableLock(lock), Table::Update, TSMOption(TSMOption::Buffer, 4096, 0));
}

Table open_to_write(const std::string &path, TableLock::LockOption lock)
{
    return Table(path, TableLock(lock), Table::Update);
}

Table make_table(const std::string &path, const grove_ms_layout *layout, const grove_set_rows *rows,
                 const std::string &column, const grove_ms *like)
{
    const bool same_rows = like && like->layout->times == layout->times &&
                           like->layout->baselines == layout->baselines;
    const grove_ms *of_rows = same_rows ? like : nullptr;
    make_empty(path, layout, column, like, of_rows);
    const int locks = grove_set_has_record_locks(path.c_str(), false);
    if (locks < 0)
        throw AipsError(path + "/table.dat: " + std::strerror(errno));
    const auto lock = locks ? TableLock::PermanentLocking : TableLock::NoLocking;
    if (!locks) // it says that there are no rows, and would not be written
        unlink((path + "/table.lock").c_str());
    add_rows(path, layout, rows, of_rows, lock);
    empty_tiles(path, -1);
    return open_to_write(path, lock);
}

void add_data_column(Table &table, const grove_ms_layout *layout, const std::string &column)
{
    IPosition cell(2, layout->correlations, layout->channels);
    TableDesc added;
    added.addColumn(ArrayColumnDesc<Complex>(column, cell, ColumnDesc::FixedShape));
    table.addColumn(added, *make_manager(layout, column));
}
} // namespace grove
