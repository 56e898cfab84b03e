// Units and frames of columns, by their keywords.
#include "nodes/sets/measurement_set_private.h"

#include <casacore/casa/Quanta/Quantum.h>
#include <casacore/measures/Measures/MDirection.h>
#include <casacore/measures/Measures/MEpoch.h>
#include <casacore/measures/TableMeasures/ArrayMeasColumn.h>
#include <casacore/measures/TableMeasures/ScalarMeasColumn.h>
#include <casacore/tables/Tables/TableRecord.h>

extern "C" {
#include "nodes/common/coordinates.h"
}

using namespace casacore;

namespace grove
{
double unit_of(const Table &table, const char *column, const char *unit)
{
    const TableRecord &keywords = TableColumn(table, column).keywordSet();
    if (!keywords.isDefined("QuantumUnits"))
        return 1;
    const Vector<String> units(keywords.asArrayString("QuantumUnits"));
    for (const String &each : units) {
        Unit given(each);
        if (each != units[0] || !Quantity(1, given).isConform(Unit(unit)))
            throw AipsError("column " + std::string(column) + " is in " + std::string(each) +
                            "; it must have one unit, such as " + unit);
    }
    return units.empty() ? 1 : Quantity(1, units[0]).getValue(Unit(unit));
}

bool moves(const Table &fields, int64_t field)
{
    const Matrix<Double> terms(ArrayColumn<Double>(fields, "PHASE_DIR")(rownr_t(field)));
    for (size_t k = 1; k < terms.ncolumn(); k++)
        if (terms(0, k) != 0 || terms(1, k) != 0)
            return true;
    return fields.tableDesc().isColumn("EPHEMERIS_ID") &&
           ScalarColumn<Int>(fields, "EPHEMERIS_ID")(rownr_t(field)) >= 0;
}

time_scale scale_of_time(const Table &table)
{
    time_scale scale = {unit_of(table, "TIME", "s"), false, 0};
    const ScalarColumn<Double> column(table, "TIME");
    if (!column.keywordSet().isDefined("MEASINFO"))
        return scale;
    if (!table.nrow())
        return scale;
    const MEpoch first(ScalarMeasColumn<MEpoch>(table, "TIME")(0));
    const uInt type = first.getRef().getType();
    if (type == MEpoch::TDT)
        scale.after_atomic = 32.184;
    scale.atomic = type == MEpoch::TAI || type == MEpoch::TDT;
    if (!scale.atomic && type != MEpoch::UTC)
        throw AipsError("column TIME is in " + MEpoch::showType(type) +
                        "; UTC, TAI and TT are supported");
    return scale;
}

void to_utc(const time_scale &scale, double *time, size_t count)
{
    for (size_t i = 0; i < count; i++)
        time[i] *= scale.unit;
    for (size_t i = 0; i < count && scale.atomic; i++)
        time[i] = grove_utc_of_atomic(time[i] - scale.after_atomic);
}
} // namespace grove
