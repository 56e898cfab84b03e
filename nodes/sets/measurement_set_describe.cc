// A summary of a set for users.
#include "nodes/sets/measurement_set_private.h"

#include <casacore/tables/Tables/TableRecord.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <iterator>

using namespace casacore;

namespace
{
const char *correlation_name(int code)
{
    static const char *const names[] = {"?",  "I",  "Q",  "U",  "V",  "RR", "RL",
                                        "LR", "LL", "XX", "XY", "YX", "YY"};
    return code > 0 && code <= 12 ? names[code] : "?";
}

// The finite numbers of a column, in order; 0 where there is none.
std::vector<double> sorted_column(const Table &table, const char *name)
{
    Vector<Double> column(ScalarColumn<Double>(table, name).getColumn());
    std::vector<double> numbers;
    if (std::string(name) == "TIME")
        grove::to_utc(grove::scale_of_time(table), column.data(), column.size());
    else
        column *= grove::unit_of(table, name, "s");
    std::copy_if(column.begin(), column.end(), std::back_inserter(numbers),
                 [](double x) { return std::isfinite(x); });
    std::sort(numbers.begin(), numbers.end());
    if (numbers.empty())
        numbers.push_back(0);
    return numbers;
}

void describe_main(const Table &table, grove_text *text)
{
    Table observation = table.keywordSet().asTable("OBSERVATION");
    Table antenna = table.keywordSet().asTable("ANTENNA");
    grove_text_add(
        text, "Measurement Set: %llu rows, %llu antennas, telescope %s\n",
        (unsigned long long)table.nrow(), (unsigned long long)antenna.nrow(),
        observation.nrow() ? ScalarColumn<String>(observation, "TELESCOPE_NAME")(0).c_str() : "?");
    if (!table.nrow())
        return;
    std::vector<double> times = sorted_column(table, "TIME"),
                        intervals = sorted_column(table, "INTERVAL");
    char from[40], to[40];
    grove_show_date(from, times.front());
    grove_show_date(to, times.back());
    size_t slots = size_t(
        std::unique(times.begin(), times.end(), [](double a, double b) { return b - a < 1e-3; }) -
        times.begin());
    grove_text_add(text, "times: %zu of %g", slots, intervals.front());
    if (intervals.back() - intervals.front() > 1e-3)
        grove_text_add(text, " to %g", intervals.back());
    grove_text_add(text, " s, %s to %s\n", from, to);
}

void describe_fields(const Table &table, grove_text *text)
{
    Table fields = table.keywordSet().asTable("FIELD");
    for (rownr_t i = 0; i < fields.nrow(); i++) {
        Array<Double> centre(ArrayColumn<Double>(fields, "PHASE_DIR")(i));
        const double radian = grove::unit_of(fields, "PHASE_DIR", "rad");
        char ra[32], dec[32];
        grove_text_add(text, "field %llu: %s at %s %s%s\n", (unsigned long long)i,
                       ScalarColumn<String>(fields, "NAME")(i).c_str(),
                       grove_show_ra(ra, radian * centre.data()[0]),
                       grove_show_dec(dec, radian * centre.data()[1]),
                       grove::moves(fields, int64_t(i)) ? ", moving" : "");
    }
}

void describe_windows(const Table &table, grove_text *text)
{
    Table windows = table.keywordSet().asTable("SPECTRAL_WINDOW");
    for (rownr_t i = 0; i < windows.nrow(); i++) {
        Vector<Double> freq(ArrayColumn<Double>(windows, "CHAN_FREQ")(i));
        Vector<Double> width(ArrayColumn<Double>(windows, "CHAN_WIDTH")(i));
        freq *= grove::unit_of(windows, "CHAN_FREQ", "Hz");
        width *= grove::unit_of(windows, "CHAN_WIDTH", "Hz");
        if (freq.size())
            grove_text_add(text, "spectral window %llu: %zu channels of %g kHz, %.6f to %.6f MHz\n",
                           (unsigned long long)i, size_t(freq.size()), width[0] * 1e-3,
                           freq[0] * 1e-6, freq[freq.size() - 1] * 1e-6);
    }
    Table polarization = table.keywordSet().asTable("POLARIZATION");
    for (rownr_t i = 0; i < polarization.nrow(); i++)
        grove_text_add(text, "polarization %llu: %s\n", (unsigned long long)i,
                       grove::correlations_of(polarization, int(i)).c_str());
}

void describe_columns(const Table &table, grove_text *text)
{
    grove_text_add(text, "columns of visibilities:");
    for (const String &name : table.tableDesc().columnNames())
        if (table.tableDesc().columnDesc(name).dataType() == TpComplex)
            grove_text_add(text, " %s", name.c_str());
    grove_text_add(text, "\n");
}
} // namespace

std::string grove::correlations_of(const Table &polarizations, int row)
{
    std::string names;
    for (Int code : Vector<Int>(ArrayColumn<Int>(polarizations, "CORR_TYPE")(rownr_t(row))))
        names += (names.empty() ? "" : " ") + std::string(correlation_name(code));
    return names;
}

extern "C" char **grove_ms_data_columns(const grove_ms *ms)
{
    const TableDesc &description = ms->table.tableDesc();
    char **names = static_cast<char **>(grove_alloc((description.ncolumn() + 1) * sizeof(char *)));
    size_t count = 0;

    for (const String &name : description.columnNames())
        if (description.columnDesc(name).dataType() == TpComplex &&
            description.columnDesc(name).isArray())
            names[count++] = grove_strdup(name.c_str());
    return names;
}

extern "C" char *grove_ms_describe(const char *path, grove_error *error)
{
    grove_text text = {};
    int code = grove::guard(path, error, [&] {
        grove_ms ms;
        ms.path = path;
        int failed = grove::open_table(&ms, error);
        if (failed)
            return failed;
        const Table &table = ms.table;
        describe_main(table, &text);
        describe_fields(table, &text);
        describe_windows(table, &text);
        describe_columns(table, &text);
        return 0;
    });
    if (code) {
        free(text.at);
        return nullptr;
    }
    return text.at;
}
