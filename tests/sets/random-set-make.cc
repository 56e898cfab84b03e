// The tables of a random set, made with casacore.
#include "random-set.h"

#include <casacore/ms/MeasurementSets/MSColumns.h>
#include <casacore/ms/MeasurementSets/MeasurementSet.h>
#include <casacore/tables/DataMan/IncrementalStMan.h>
#include <casacore/tables/DataMan/StandardStMan.h>
#include <casacore/tables/DataMan/TiledCellStMan.h>
#include <casacore/tables/DataMan/TiledColumnStMan.h>
#include <casacore/tables/DataMan/TiledShapeStMan.h>
#include <casacore/tables/Tables/ArrColDesc.h>
#include <casacore/tables/Tables/ScaColDesc.h>
#include <casacore/tables/Tables/SetupNewTab.h>

#include <cmath>
#include <limits>
#include <memory>

using namespace casacore;

namespace
{
IPosition shape_of(const random_set &set, int description)
{
    const auto &d = set.descriptions[size_t(description)];
    return IPosition(2, Int64(set.setups[size_t(d.second)].size()),
                     Int64(set.windows[size_t(d.first)].frequency.size()));
}

template <typename T> void add_array(TableDesc &desc, const random_set &set, const char *name)
{
    if (desc.isColumn(name))
        desc.removeColumn(name);
    if (set.fixed_shape)
        desc.addColumn(ArrayColumnDesc<T>(name, shape_of(set, 0), ColumnDesc::FixedShape));
    else
        desc.addColumn(ArrayColumnDesc<T>(name, 2));
}

TableDesc describe_table(const random_set &set)
{
    TableDesc desc(MS::requiredTableDesc());
    add_array<Complex>(desc, set, "DATA");
    add_array<Bool>(desc, set, "FLAG");
    if (set.has_model)
        add_array<Complex>(desc, set, "MODEL_DATA");
    if (set.has_spectrum)
        desc.addColumn(ArrayColumnDesc<Float>("WEIGHT_SPECTRUM", 2));
    if (set.fault == RANDOM_DOUBLE_COLUMN)
        desc.addColumn(ArrayColumnDesc<DComplex>("DOUBLE", 2));
    if (set.fault == RANDOM_SCALAR_TARGET)
        desc.addColumn(ScalarColumnDesc<Complex>("SCALAR"));
    return desc;
}

// `whole`: tiles have whole cells.
std::unique_ptr<DataManager> manager_of(random_storage kind, const char *name, bool whole)
{
    IPosition tile(3, whole ? 4 : 2, whole ? 1000 : 3, 4);
    switch (kind) {
    case RANDOM_INCREMENTAL:
        return std::unique_ptr<DataManager>(new IncrementalStMan(name));
    case RANDOM_TILED_SHAPE:
        return std::unique_ptr<DataManager>(new TiledShapeStMan(name, tile));
    case RANDOM_TILED_CELL:
        return std::unique_ptr<DataManager>(new TiledCellStMan(name, IPosition(2, 2, 3)));
    case RANDOM_TILED_COLUMN:
        return std::unique_ptr<DataManager>(new TiledColumnStMan(name, tile));
    default:
        return std::unique_ptr<DataManager>(new StandardStMan(name));
    }
}

void bind_columns(const random_set &set, SetupNewTable &setup)
{
    bool whole = set.seed % 2;
    std::unique_ptr<DataManager> data(manager_of(set.data, "data", whole)),
        model(manager_of(set.model, "model", whole)), flag(manager_of(set.flag, "flag", whole));
    IncrementalStMan slow("slow");
    setup.bindAll(StandardStMan("standard"));
    if (set.seed % 3)
        for (const char *name : {"TIME", "INTERVAL", "FIELD_ID", "DATA_DESC_ID", "FLAG_ROW"})
            setup.bindColumn(name, slow);
    setup.bindColumn("DATA", *data);
    setup.bindColumn("FLAG", *flag);
    if (set.has_model)
        setup.bindColumn("MODEL_DATA", set.together ? *data : *model);
}

void fill_subtables(const random_set &set, MeasurementSet &ms)
{
    random_numbers r(set.seed + 1);
    ms.antenna().addRow(set.stations.size());
    ms.field().addRow(set.fields.size());
    ms.spectralWindow().addRow(set.windows.size());
    ms.polarization().addRow(set.setups.size());
    ms.dataDescription().addRow(set.descriptions.size());
    ms.observation().addRow(1);
    MSColumns columns(ms);
    for (size_t i = 0; i < set.stations.size(); i++) {
        Vector<Double> position(3);
        position[0] = 5109000 + 1000 * r.uniform();
        position[1] = 2007000 + 1000 * r.uniform();
        position[2] = -3239000 + 1000 * r.uniform();
        columns.antenna().name().put(i, set.stations[i]);
        columns.antenna().mount().put(i, "ALT-AZ");
        columns.antenna().position().put(i, position);
        columns.antenna().dishDiameter().put(i, 12 + double(i));
    }
    for (size_t i = 0; i < set.fields.size(); i++) {
        Matrix<Double> direction(2, 1);
        direction(0, 0) = 6 * r.uniform() - 3;
        direction(1, 0) = -1.4 + 1.6 * r.uniform();
        columns.field().name().put(i, set.fields[i]);
        columns.field().phaseDir().put(i, direction);
        columns.field().delayDir().put(i, direction);
        columns.field().referenceDir().put(i, direction);
    }
    for (size_t i = 0; i < set.windows.size(); i++) {
        const random_window &w = set.windows[i];
        columns.spectralWindow().name().put(i, "window");
        columns.spectralWindow().numChan().put(i, Int(w.frequency.size()));
        columns.spectralWindow().chanFreq().put(i, Vector<Double>(w.frequency));
        columns.spectralWindow().chanWidth().put(i, Vector<Double>(w.width));
        columns.spectralWindow().refFrequency().put(i, w.frequency[0]);
    }
    for (size_t i = 0; i < set.setups.size(); i++) {
        columns.polarization().numCorr().put(i, Int(set.setups[i].size()));
        columns.polarization().corrType().put(i, Vector<Int>(set.setups[i]));
    }
    for (size_t i = 0; i < set.descriptions.size(); i++) {
        columns.dataDescription().spectralWindowId().put(i, set.descriptions[i].first);
        columns.dataDescription().polarizationId().put(i, set.descriptions[i].second);
    }
    columns.observation().telescopeName().put(0, "RANDOM");
}

template <typename T> Array<T> random_cell(random_numbers &r, const IPosition &shape)
{
    Array<T> cell(shape);
    for (T &each : cell)
        each = T(float(20 * r.uniform() - 10), float(20 * r.uniform() - 10));
    return cell;
}

Array<Complex> observed_cell(random_numbers &r, const IPosition &shape)
{
    Array<Complex> cell(random_cell<Complex>(r, shape));
    float nan = std::numeric_limits<float>::quiet_NaN();
    for (Complex &each : cell)
        if (r.chance(0.03))
            each = r.chance(0.5) ? Complex(nan, 1)
                                 : Complex(1, -std::numeric_limits<float>::infinity());
    return cell;
}

Array<Float> weights(random_numbers &r, const IPosition &shape)
{
    Array<Float> cell(shape);
    for (Float &each : cell)
        each = float(0.1 + r.uniform());
    return cell;
}

// Is this the row that is wrong?
bool is_wrong(const random_set &set, const random_row &row)
{
    const random_row *wrong = nullptr;
    for (const random_row &each : set.rows)
        if (each.field == set.field && !(set.cross_only && each.left == each.right) &&
            set.descriptions[size_t(each.description)].first == set.window)
            wrong = set.seed % 2 && wrong ? wrong : &each;
    return &row == wrong;
}

void fill_cells(const random_set &set, const random_row &row, random_numbers &r, Table &table,
                rownr_t i)
{
    IPosition shape(shape_of(set, row.description));
    ArrayColumn<Complex> data(table, "DATA");
    bool wrong = is_wrong(set, row);
    Array<Bool> flags(shape);
    double flagged = r.chance(0.1) ? 1 : 0.15;
    for (Bool &each : flags)
        each = r.chance(flagged);
    if (wrong && set.fault == RANDOM_ODD_SHAPE)
        data.put(i, random_cell<Complex>(r, IPosition(2, shape[0], shape[1] + 1)));
    else if (!wrong || set.fault != RANDOM_UNDEFINED_DATA)
        data.put(i, observed_cell(r, shape));
    if (!wrong || set.fault != RANDOM_UNDEFINED_FLAG)
        ArrayColumn<Bool>(table, "FLAG").put(i, flags);
    ScalarColumn<Bool>(table, "FLAG_ROW").put(i, r.chance(0.1));
    ArrayColumn<Float>(table, "WEIGHT").put(i, weights(r, IPosition(1, shape[0])));
    ArrayColumn<Float>(table, "SIGMA").put(i, weights(r, IPosition(1, shape[0])));
    if (set.has_spectrum)
        ArrayColumn<Float>(table, "WEIGHT_SPECTRUM").put(i, weights(r, shape));
    bool no_model =
        set.undefined_model && (set.fault == RANDOM_ADD_UNDEFINED ? wrong : r.chance(0.4));
    if (set.has_model && !no_model)
        ArrayColumn<Complex>(table, "MODEL_DATA").put(i, random_cell<Complex>(r, shape));
    if (set.fault == RANDOM_DOUBLE_COLUMN)
        ArrayColumn<DComplex>(table, "DOUBLE").put(i, random_cell<DComplex>(r, shape));
}

void fill_row(const random_set &set, const random_row &row, random_numbers &r, Table &table,
              rownr_t i)
{
    Vector<Double> uvw(3);
    for (size_t k = 0; k < 3; k++)
        uvw[k] = 2000 * r.uniform() - 1000;
    for (const char *name : {"ARRAY_ID", "OBSERVATION_ID", "PROCESSOR_ID", "STATE_ID", "FEED1",
                             "FEED2", "SCAN_NUMBER"})
        ScalarColumn<Int>(table, name).put(i, 0);
    for (const char *name : {"TIME", "TIME_CENTROID"})
        ScalarColumn<Double>(table, name).put(i, row.time);
    for (const char *name : {"INTERVAL", "EXPOSURE"})
        ScalarColumn<Double>(table, name).put(i, row.interval);
    ScalarColumn<Int>(table, "FIELD_ID").put(i, row.field);
    ScalarColumn<Int>(table, "DATA_DESC_ID").put(i, row.description);
    ScalarColumn<Int>(table, "ANTENNA1").put(i, row.left);
    ScalarColumn<Int>(table, "ANTENNA2").put(i, row.right);
    ArrayColumn<Double>(table, "UVW").put(i, uvw);
    fill_cells(set, row, r, table, i);
}

// A table with all rows, or those of the first or the second part.
void make_table(const random_set &set, const std::string &path, int part)
{
    SetupNewTable setup(path, describe_table(set), Table::New);
    bind_columns(set, setup);
    MeasurementSet ms(setup, 0);
    ms.createDefaultSubtables(Table::New);
    fill_subtables(set, ms);
    random_numbers r(set.seed + 2 + uint64_t(part));
    for (const random_row &row : set.rows)
        if (part < 0 || row.in_second == (part == 1)) {
            ms.addRow();
            fill_row(set, row, r, ms, ms.nrow() - 1);
        }
}

// Some rows, never all, in another order.
Table some_rows(const random_set &set, const Table &table)
{
    random_numbers r(set.seed + 5);
    std::vector<rownr_t> rows;
    bool turned = r.chance(0.5);
    for (rownr_t i = 1; i < table.nrow(); i++)
        if (r.chance(0.7))
            rows.insert(turned && r.chance(0.5) ? rows.begin() : rows.end(), i);
    return table(RowNumbers(Vector<rownr_t>(rows)));
}

Table some_columns(const Table &table)
{
    Block<String> kept;
    for (const String &name : table.tableDesc().columnNames())
        if (name != "EXPOSURE" && name != "SIGMA" && name != "ARRAY_ID")
            kept.resize(kept.size() + 1), kept[kept.size() - 1] = name;
    return table.project(kept);
}
} // namespace

std::string random_set_make(const random_set &set, const std::string &folder)
{
    std::string path = folder + "/" + set.name, base = folder + "/base.ms";
    if (set.form == RANDOM_PLAIN) {
        make_table(set, path, -1);
        return path;
    }
    Block<String> parts(2);
    parts[0] = base;
    parts[1] = folder + "/second.ms";
    bool two = set.form == RANDOM_CONCATENATION || set.form == RANDOM_NESTED;
    make_table(set, base, two ? 0 : -1);
    if (two)
        make_table(set, parts[1], 1);
    Table all(two ? Table(parts, Block<String>(), Table::Old) : Table(base));
    if (set.form == RANDOM_NESTED) {
        std::string both = folder + "/both.ms";
        all.rename(both, Table::New);
        all.flush();
    }
    Table chosen(set.form == RANDOM_PROJECTION      ? some_columns(all)
                 : set.form == RANDOM_CONCATENATION ? all
                                                    : some_rows(set, all));
    chosen.rename(path, Table::New);
    chosen.flush();
    return path;
}
