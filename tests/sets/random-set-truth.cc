// What a random set holds, cell by cell, and what Grove must make of it.
#include "random-set.h"

#include <casacore/tables/Tables/ArrayColumn.h>
#include <casacore/tables/Tables/ScalarColumn.h>
#include <casacore/tables/Tables/Table.h>
#include <casacore/tables/Tables/TableColumn.h>
#include <casacore/tables/Tables/TableDesc.h>
#include <casacore/tables/Tables/TableRecord.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <set>

using namespace casacore;
typedef std::complex<double> number;

namespace
{
Table open_table(const std::string &path)
{
    return Table(path, TableLock(TableLock::UserNoReadLocking), Table::Old);
}

void add_bytes(std::string &to, const String &text)
{
    to += std::to_string(text.size()) + ":" + std::string(text);
}

template <typename T> void add_bytes(std::string &to, const T &value)
{
    to.append(reinterpret_cast<const char *>(&value), sizeof(value));
}

template <typename T> std::string cell_bytes(const Table &table, const String &name, rownr_t row)
{
    std::string bytes;
    if (!table.tableDesc().columnDesc(name).isArray()) {
        add_bytes(bytes, ScalarColumn<T>(table, name)(row));
        return bytes;
    }
    ArrayColumn<T> column(table, name);
    if (!column.isDefined(row))
        return "undefined";
    Array<T> cell(column(row));
    for (Int64 length : cell.shape())
        bytes += std::to_string(length) + " ";
    for (const T &each : cell)
        add_bytes(bytes, each);
    return bytes;
}

std::string any_cell(const Table &table, const String &name, rownr_t row)
{
    switch (table.tableDesc().columnDesc(name).dataType()) {
    case TpBool:
        return cell_bytes<Bool>(table, name, row);
    case TpInt:
        return cell_bytes<Int>(table, name, row);
    case TpFloat:
        return cell_bytes<Float>(table, name, row);
    case TpDouble:
        return cell_bytes<Double>(table, name, row);
    case TpComplex:
        return cell_bytes<Complex>(table, name, row);
    case TpDComplex:
        return cell_bytes<DComplex>(table, name, row);
    case TpString:
        return cell_bytes<String>(table, name, row);
    default:
        return "";
    }
}

void add_columns(const Table &table, const std::string &as, random_columns &to)
{
    for (const String &name : table.tableDesc().columnNames()) {
        std::vector<std::string> &cells = to[as + "/" + std::string(name)];
        for (rownr_t row = 0; row < table.nrow(); row++)
            cells.push_back(any_cell(table, name, row));
    }
}

void add_subtables(const Table &table, const std::string &as, random_columns &to)
{
    const TableRecord &keywords = table.keywordSet();
    for (uInt i = 0; i < keywords.nfields(); i++)
        if (keywords.dataType(i) == TpTable && keywords.name(i) != "HISTORY")
            add_columns(keywords.asTable(i), as + "/" + std::string(keywords.name(i)), to);
}

// ---- the part that is asked for ----

struct found_row {
    rownr_t row;
    double time, interval;
    std::pair<int, int> baseline;
};

std::vector<found_row> find_rows(const random_set &set, const Table &table)
{
    ScalarColumn<Int> field(table, "FIELD_ID"), description(table, "DATA_DESC_ID"),
        left(table, "ANTENNA1"), right(table, "ANTENNA2");
    ScalarColumn<Double> time(table, "TIME"), interval(table, "INTERVAL");
    std::vector<found_row> found;
    for (rownr_t row = 0; row < table.nrow(); row++)
        if (field(row) == set.field &&
            set.descriptions[size_t(description(row))].first == set.window &&
            !(set.cross_only && left(row) == right(row)))
            found.push_back({row, time(row), interval(row), {left(row), right(row)}});
    return found;
}

// Whole seconds of the interval: those of a set differ by one at least.
std::pair<double, double> slot_of(const std::set<double> &times, const found_row &of)
{
    double first = of.time; // of those within a tenth of a second
    for (double time : times)
        if (std::fabs(time - of.time) < 0.1)
            first = std::min(first, time);
    return {first, std::floor(of.interval)};
}

void place_rows(const std::vector<found_row> &found, random_part &part)
{
    std::set<double> times;
    std::set<std::pair<double, double>> slots;
    std::set<std::pair<int, int>> baselines;
    for (const found_row &each : found) {
        times.insert(each.time);
        baselines.insert(each.baseline);
    }
    for (const found_row &each : found)
        slots.insert(slot_of(times, each));
    for (const auto &slot : slots) {
        part.times.push_back(slot.first);
        part.intervals.push_back(slot.second);
    }
    part.baselines.assign(baselines.begin(), baselines.end());
    part.row.assign(part.times.size() * part.baselines.size(), -1);
    for (const found_row &each : found) {
        size_t t = 0, b = 0;
        while (std::make_pair(part.times[t], part.intervals[t]) != slot_of(times, each))
            t++;
        while (part.baselines[b] != each.baseline)
            b++;
        part.row[t * part.baselines.size() + b] = int64_t(each.row);
    }
}

// The element XX XY YX YY (or RR RL LR LL) of a correlation, 0 for I.
int element_of(int code)
{
    return code < 5 ? 0 : (code - 5) % 4;
}

// Where an element of the full matrix stands in a cell; -1: that element is zero.
int place_of(int elements, int element)
{
    if (elements == 4)
        return element;
    if (element == 1 || element == 2)
        return -1;
    return elements == 2 ? element / 3 : 0;
}

int elements_for(const std::vector<int> &codes)
{
    std::set<int> have;
    for (int code : codes)
        have.insert(element_of(code));
    bool crosses = have.count(1) || have.count(2);
    return crosses ? 4 : codes.size() == 1 ? 1 : codes.size() == 2 ? 2 : 4;
}

void read_row(const Table &table, rownr_t row, size_t at, random_part &part)
{
    Array<Complex> data(ArrayColumn<Complex>(table, "DATA")(row));
    Array<Bool> flag(ArrayColumn<Bool>(table, "FLAG")(row));
    Array<Float> weight(ArrayColumn<Float>(table, "WEIGHT")(row));
    Vector<Double> uvw(ArrayColumn<Double>(table, "UVW")(row));
    bool spectrum = table.tableDesc().isColumn("WEIGHT_SPECTRUM");
    bool flag_row = ScalarColumn<Bool>(table, "FLAG_ROW")(row);
    if (spectrum)
        weight.reference(ArrayColumn<Float>(table, "WEIGHT_SPECTRUM")(row));
    size_t n = size_t(part.elements), channels = part.frequency.size();
    part.length[at] = std::sqrt(uvw[0] * uvw[0] + uvw[1] * uvw[1] + uvw[2] * uvw[2]);
    for (size_t f = 0; f < channels; f++)
        for (size_t c = 0; c < part.codes.size(); c++) {
            size_t e = size_t(place_of(part.elements, element_of(part.codes[c])));
            size_t to = (at * channels + f) * n + e, from = f * part.codes.size() + c;
            Complex value = data.data()[from];
            bool finite = std::isfinite(value.real()) && std::isfinite(value.imag());
            part.data[to] = finite ? number(value) : 0;
            part.flag[to] = flag.data()[from] || flag_row || !finite;
            part.weight[to] = double(weight.data()[spectrum ? from : c]);
        }
}

// ---- expressions ----

void less_mean(const random_part &part, random_result &x)
{
    size_t n = part.times.empty() ? 0 : part.data.size() / part.times.size();
    for (size_t k = 0; k < n; k++) {
        number sum = 0;
        double size = 0;
        int count = 0;
        for (size_t t = 0; t < part.times.size(); t++)
            if (!part.flag[t * n + k]) {
                sum += part.data[t * n + k];
                size = std::max(size, std::abs(part.data[t * n + k]));
                count++;
            }
        for (size_t t = 0; t < part.times.size() && count; t++) {
            x.at[t * n + k] -= sum / double(count);
            x.size[t * n + k] += size;
        }
    }
}

void hermitian(const random_part &part, random_result &x)
{
    for (size_t i = 0; i < x.at.size(); i++) {
        size_t e = i % 4, from = part.elements == 4 && (e == 1 || e == 2) ? i - e + 3 - e : i;
        x.at[i] = std::conj(part.data[from]);
        x.flag[i] = part.flag[from];
        x.size[i] = std::abs(x.at[i]);
    }
}

void length(const random_part &part, random_result &x)
{
    size_t channels = part.frequency.size();
    x.elements = 1;
    x.has_frequency = false;
    x.at.assign(part.row.size() * channels, 0);
    for (size_t i = 0; i < x.at.size(); i++)
        x.at[i] = part.length[i / channels];
    x.size.assign(x.at.size(), 2000);
    x.flag.assign(x.at.size(), 0);
}

// ---- columns ----

// The complex numbers of a cell, as random_set_columns gives it; none of an undefined one.
std::vector<number> numbers_of(const std::string &bytes, size_t count)
{
    std::vector<number> numbers;
    if (bytes == "undefined" || bytes.size() < count * sizeof(Complex))
        return numbers;
    for (size_t i = 0; i < count; i++) {
        Complex value;
        std::memcpy(&value, bytes.data() + bytes.size() - (count - i) * sizeof(Complex),
                    sizeof(value));
        numbers.push_back(number(value));
    }
    return numbers;
}

bool is_finite(number x)
{
    return std::isfinite(x.real()) && std::isfinite(x.imag());
}

std::string show(number x)
{
    char text[100];
    std::snprintf(text, sizeof(text), "%.9g%+.9gi", x.real(), x.imag());
    return text;
}

std::string compare_row(const random_part &part, const random_sink &sink, const random_result &x,
                        size_t at, const std::vector<number> &now, const std::vector<number> &old)
{
    size_t channels = part.frequency.size();
    for (size_t i = 0; i < now.size(); i++) {
        size_t f = i / part.codes.size(), c = i % part.codes.size();
        int e = place_of(x.elements, element_of(part.codes[c]));
        size_t from = (at * channels + f) * size_t(x.elements) + size_t(e < 0 ? 0 : e);
        number before = old.empty() || sink.mode == RANDOM_REPLACE ? 0 : old[i];
        number value = e < 0 ? 0 : x.at[from], wanted = before;
        wanted += sink.mode == RANDOM_SUBTRACT ? -value : value;
        if (!is_finite(before))
            continue;
        if (e >= 0 && x.flag[from] ? is_finite(now[i])
                                   : std::abs(now[i] - wanted) <=
                                         1e-6 * (std::abs(before) + (e < 0 ? 0 : x.size[from])))
            continue;
        return "channel " + std::to_string(f) + ", correlation " + std::to_string(part.codes[c]) +
               ": " + show(now[i]) + " and not " + show(wanted);
    }
    return "";
}

// A row that is not asked for: as it was; in a new column without array, or zero.
bool is_untouched(const std::string &now, const std::string *old)
{
    if (old)
        return now == *old;
    size_t shape = now.find(' ', now.find(' ') + 1);
    return now == "undefined" || now.find_first_not_of('\0', shape + 1) == std::string::npos;
}
} // namespace

random_columns random_set_columns(const std::string &path)
{
    random_columns columns;
    Table table(open_table(path));
    add_columns(table, "set", columns);
    for (const String &root : table.getPartNames(True)) {
        Table part(open_table(root));
        add_columns(part, root, columns);
        add_subtables(part, root, columns);
    }
    return columns;
}

random_part random_set_read(const random_set &set, const std::string &path)
{
    random_part part;
    Table table(open_table(path));
    std::vector<found_row> found(find_rows(set, table));
    place_rows(found, part);
    part.frequency = set.windows[size_t(set.window)].frequency;
    for (const auto &d : set.descriptions)
        if (d.first == set.window)
            part.codes = set.setups[size_t(d.second)];
    part.elements = elements_for(part.codes);
    size_t cells = part.row.size() * part.frequency.size() * size_t(part.elements);
    part.data.assign(cells, 0);
    part.flag.assign(cells, 1);
    part.weight.assign(cells, 0);
    part.length.assign(part.row.size(), 0);
    for (size_t i = 0; i < part.row.size(); i++)
        if (part.row[i] >= 0)
            read_row(table, rownr_t(part.row[i]), i, part);
    return part;
}

random_result random_set_evaluate(const random_part &part, random_expression expression)
{
    random_result x{part.elements, true, part.data, std::vector<double>(part.data.size()),
                    part.flag,     {}};
    if (expression == RANDOM_SCALED)
        for (number &each : x.at)
            each *= 2.5;
    if (expression == RANDOM_WEIGHT) {
        x.at.assign(part.weight.begin(), part.weight.end());
        x.flag.assign(x.flag.size(), 0);
    }
    for (size_t i = 0; i < x.at.size(); i++)
        x.size[i] = std::abs(x.at[i]);
    if (expression == RANDOM_HERMITIAN)
        hermitian(part, x);
    if (expression == RANDOM_LESS_MEAN)
        less_mean(part, x);
    if (expression == RANDOM_LENGTH)
        length(part, x);
    size_t numbers = part.frequency.size() * size_t(x.elements);
    for (size_t i = 0; i < x.at.size(); i++)
        x.known.push_back(part.row[i / numbers] >= 0 || expression != RANDOM_LENGTH);
    return x;
}

std::string random_set_compare(const random_part &part, const random_sink &sink,
                               const std::string &path, const random_columns &before)
{
    Table table(open_table(path));
    random_result x = random_set_evaluate(part, sink.expression);
    auto old = before.find("set/" + sink.column);
    std::vector<bool> written(table.nrow(), false);
    size_t count = part.frequency.size() * part.codes.size();
    if (!table.tableDesc().isColumn(sink.column))
        return "there is no such column";
    for (size_t i = 0; i < part.row.size(); i++) {
        if (part.row[i] < 0)
            continue;
        size_t row = size_t(part.row[i]);
        std::vector<number> was;
        if (old != before.end())
            was = numbers_of(old->second[row], count);
        std::vector<number> now = numbers_of(any_cell(table, sink.column, row), count);
        std::string fault = now.empty() ? "undefined" : compare_row(part, sink, x, i, now, was);
        if (!fault.empty())
            return "row " + std::to_string(row) + ", " + fault;
        written[row] = true;
    }
    for (rownr_t row = 0; row < table.nrow(); row++)
        if (!written[row] && !is_untouched(any_cell(table, sink.column, row),
                                           old == before.end() ? nullptr : &old->second[row]))
            return "row " + std::to_string(row) + ", which is not to be written, changed";
    return "";
}
