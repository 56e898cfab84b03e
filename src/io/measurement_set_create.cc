// Creates a set: the table with all its subtables, under a temporary name until it is complete.
#include "io/measurement_set_private.h"

#include <casacore/casa/Quanta/MVTime.h>
#include <casacore/measures/Measures/MCuvw.h>
#include <casacore/measures/Measures/Muvw.h>
#include <casacore/ms/MeasurementSets/MSColumns.h>
#include <casacore/tables/DataMan/IncrementalStMan.h>
#include <casacore/tables/DataMan/StandardStMan.h>
#include <casacore/tables/DataMan/TiledColumnStMan.h>
#include <casacore/tables/Tables/ArrColDesc.h>
#include <casacore/tables/Tables/SetupNewTab.h>
#include <casacore/tables/Tables/TableRecord.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>

using namespace casacore;

namespace
{
TableDesc describe_table(const grove_ms_layout *layout, const std::string &column)
{
    TableDesc desc(MS::requiredTableDesc());
    IPosition cell(2, layout->correlations, layout->channels), row(1, layout->correlations);

    MS::addColumnToDesc(desc, MS::DATA, 2);
    if (column != "DATA")
        desc.addColumn(ArrayColumnDesc<Complex>(column, cell, ColumnDesc::FixedShape));
    desc.rwColumnDesc("DATA").setShape(cell);
    desc.rwColumnDesc("FLAG").setShape(cell);
    desc.rwColumnDesc("WEIGHT").setShape(row);
    desc.rwColumnDesc("SIGMA").setShape(row);
    if (layout->weights)
        desc.addColumn(ArrayColumnDesc<Float>("WEIGHT_SPECTRUM", cell, ColumnDesc::FixedShape));
    return desc;
}

// Columns constant over many rows use an incremental storage manager, arrays are tiled in about
// a megabyte each.
void bind_columns(SetupNewTable &setup, const grove_ms_layout *layout, const std::string &column)
{
    static const char *const slow[] = {
        "TIME",         "TIME_CENTROID",  "INTERVAL",     "EXPOSURE", "FIELD_ID",
        "DATA_DESC_ID", "ARRAY_ID",       "FEED1",        "FEED2",    "FLAG_ROW",
        "SCAN_NUMBER",  "OBSERVATION_ID", "PROCESSOR_ID", "STATE_ID"};
    Int64 row_bytes = Int64(layout->correlations) * layout->channels * 8;
    Int64 rows = std::max(Int64(1), Int64(1 << 20) / row_bytes);
    IPosition tile(3, layout->correlations, layout->channels, rows);

    StandardStMan standard("standard", -128);
    setup.bindAll(standard);
    IncrementalStMan incremental("incremental");
    for (const char *name : slow)
        setup.bindColumn(name, incremental);
    for (const char *name : {"WEIGHT", "SIGMA"})
        if (!layout->weights)
            setup.bindColumn(name, incremental);
    TiledColumnStMan data("data", tile), flag("flag", IPosition(3, tile[0], tile[1], 8 * rows)),
        uvw("uvw", IPosition(2, 3, 16384)), extra("extra", tile);
    setup.bindColumn("DATA", data);
    setup.bindColumn("FLAG", flag);
    setup.bindColumn("UVW", uvw);
    TiledColumnStMan weight("weight", IPosition(3, tile[0], tile[1], 2 * rows));
    if (layout->weights)
        setup.bindColumn("WEIGHT_SPECTRUM", weight);
    if (column != "DATA")
        setup.bindColumn(column, extra);
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

void fill_window(MeasurementSet &ms, const grove_ms_layout *layout)
{
    MSSpWindowColumns columns(ms.spectralWindow());
    Vector<Double> frequency(size_t(layout->channels)), width(size_t(layout->channels));
    double total = 0;
    for (size_t i = 0; i < frequency.size(); i++) {
        frequency[i] = layout->frequency[i];
        width[i] = layout->channel_width[i];
        total += layout->channel_width[i];
    }
    ms.spectralWindow().addRow(1);
    columns.name().put(0, "window");
    columns.numChan().put(0, Int(layout->channels));
    columns.chanFreq().put(0, frequency);
    columns.chanWidth().put(0, width);
    columns.effectiveBW().put(0, width);
    columns.resolution().put(0, width);
    columns.refFrequency().put(0, frequency[0]);
    columns.measFreqRef().put(0, MFrequency::TOPO);
    columns.totalBandwidth().put(0, total);
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

void fill_rest(MeasurementSet &ms)
{
    MSStateColumns state(ms.state());
    ms.state().addRow(1);
    state.sig().put(0, True);
    state.ref().put(0, False);
    state.cal().put(0, 0.);
    state.load().put(0, 0.);
    state.subScan().put(0, 0);
    state.obsMode().put(0, "OBSERVE_TARGET.ON_SOURCE");
    state.flagRow().put(0, False);
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

// Fills the main table, except data, flags and uvw. Row = time * baselines + baseline.
void fill_main(MeasurementSet &ms, const grove_ms_layout *layout)
{
    ms.addRow(rownr_t(layout->times * layout->baselines));
    MSMainColumns columns(ms);
    Vector<Int> left(size_t(layout->baselines)), right(size_t(layout->baselines));
    for (size_t b = 0; b < left.size(); b++) {
        left[b] = layout->antenna1[b];
        right[b] = layout->antenna2[b];
    }
    Vector<Float> ones(size_t(layout->correlations), 1.f);
    for (int64_t t = 0; t < layout->times && layout->baselines; t++) {
        rownr_t row = rownr_t(t * layout->baselines);
        Slicer slots(IPosition(1, Int64(row)), IPosition(1, layout->baselines));
        columns.antenna1().putColumnRange(slots, left);
        columns.antenna2().putColumnRange(slots, right);
        // an incremental manager keeps a value until the next one is put
        columns.time().put(row, layout->time[t]);
        columns.timeCentroid().put(row, layout->time[t]);
        columns.interval().put(row, layout->interval[t]);
        columns.exposure().put(row, layout->interval[t]);
    }
    if (layout->times && layout->baselines) {
        columns.fieldId().put(0, 0);
        columns.dataDescId().put(0, 0);
        columns.arrayId().put(0, 0);
        columns.feed1().put(0, 0);
        columns.feed2().put(0, 0);
        columns.flagRow().put(0, False);
        columns.scanNumber().put(0, 1);
        columns.observationId().put(0, 0);
        columns.processorId().put(0, 0);
        columns.stateId().put(0, 0);
        if (!layout->weights) {
            columns.weight().put(0, ones);
            columns.sigma().put(0, ones);
        }
    }
}

grove_ms_layout *copy_layout(const grove_ms_layout *from)
{
    grove_ms_layout *to = static_cast<grove_ms_layout *>(grove_copy(from, sizeof(*from)));
    size_t n = size_t(from->station_count);
    to->stations =
        static_cast<grove_station *>(grove_copy(from->stations, n * sizeof(grove_station)));
    for (size_t i = 0; i < n; i++)
        to->stations[i].name = grove_strdup(from->stations[i].name ? from->stations[i].name : "");
    to->telescope = grove_strdup(from->telescope ? from->telescope : "");
    to->field_name = grove_strdup(from->field_name ? from->field_name : "");
    auto doubles = [](const double *x, int64_t count) {
        return static_cast<double *>(grove_copy(x, size_t(count) * sizeof(double)));
    };
    auto ints = [](const int *x, int64_t count) {
        return static_cast<int *>(grove_copy(x, size_t(count) * sizeof(int)));
    };
    to->time = doubles(from->time, from->times);
    to->interval = doubles(from->interval, from->times);
    to->frequency = doubles(from->frequency, from->channels);
    to->channel_width = doubles(from->channel_width, from->channels);
    to->antenna1 = ints(from->antenna1, from->baselines);
    to->antenna2 = ints(from->antenna2, from->baselines);
    to->rows = from->times * from->baselines;
    return to;
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

// Whether the set may get its name; *exists: in place of another.
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
                                "%s: is a symbolic link to something that is not there", path)
                   : 0;
    if (!overwrite)
        return grove_fail(error, GROVE_INVALID,
                          "%s: exists already; give overwrite=true to replace it", path);
    if (!is_measurement_set(path))
        return grove_fail(error, GROVE_INVALID,
                          "%s: exists and is not a Measurement Set; it is not replaced", path);
    std::unique_ptr<char, decltype(&std::free)> whole(realpath(path, nullptr), std::free);
    if (whole)
        ms->path = whole.get();
    grove_set_lock *lock =
        grove_set_lock_take(ms->path.c_str(), ms->record, nullptr, nullptr, error);
    if (!lock)
        return grove_error_code(error);
    ms->locks.push_back(lock);
    ms->overwrite = true;
    return 0;
}

// A working folder beside the set that is to be; casacore makes the table in it.
int make_work(grove_ms *ms, grove_error *error)
{
    auto freed = [](char *text) {
        std::string copy(text);
        std::free(text);
        return copy;
    };
    std::string folder = freed(grove_path_folder(ms->path.c_str()));
    std::string prefix = freed(grove_record_prefix(ms->path.c_str()));
    const char *work = grove_record_work(ms->record, folder.c_str(), prefix.c_str(), error);
    if (!work)
        return grove_error_code(error);
    ms->work = work;
    return grove::check_space(ms->path, ms->work, error);
}
} // namespace

extern "C" grove_ms *grove_ms_create(const char *path, const grove_ms_layout *layout,
                                     const char *column, bool overwrite, grove_error *error)
{
    std::unique_ptr<grove_ms> ms(new grove_ms);
    ms->path = path;
    ms->column = column;
    ms->created = true;
    grove::find_record(ms.get());
    int code = grove::guard(path, error, [&] {
        if (layout->correlations < 1 || layout->channels < 1)
            return grove_fail(error, GROVE_INVALID, "%s: a set needs a correlation and a channel",
                              path);
        int failed = check_target(ms.get(), overwrite, error);
        if (!failed)
            failed = make_work(ms.get(), error);
        if (failed)
            return failed;
        SetupNewTable setup(ms->work + "/" GROVE_RECORD_TABLE, describe_table(layout, column),
                            Table::New);
        bind_columns(setup, layout, column);
        MeasurementSet set(setup, 0);
        ms->table = set;
        set.createDefaultSubtables(Table::New);
        fill_antennas(set, layout);
        fill_feeds(set, layout);
        fill_field(set, layout);
        fill_window(set, layout);
        fill_polarization(set, layout);
        fill_observation(set, layout);
        fill_rest(set);
        MSColumns(set).setUVWRef(Muvw::J2000);
        fill_main(set, layout);
        ms->layout = copy_layout(layout);
        ms->all_rows = true;
        ms->rows.resize(size_t(layout->times * layout->baselines));
        for (size_t i = 0; i < ms->rows.size(); i++)
            ms->rows[i] = int64_t(i);
        return 0;
    });
    if (!code)
        return ms.release();
    grove_ms_abort(ms.release());
    return nullptr;
}
