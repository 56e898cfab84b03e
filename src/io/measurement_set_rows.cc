// Finds the rows of a part of a set: their times, baselines and numbers. Columns are read from
// casacore's buckets, row by row, so that no whole column is ever in memory.
#include "io/measurement_set_private.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <limits>
#include <set>
#include <sstream>

using namespace casacore;

namespace
{
constexpr int64_t NONE = std::numeric_limits<int64_t>::min();

// The columns that say what a row is, and which rows are chosen.
struct row_columns {
    const grove_ms_part &part;
    std::set<int> descriptions;
    ScalarColumn<Int> field, description, left, right, scan;
    ScalarColumn<Double> time, interval;
    int64_t rows;

    row_columns(const Table &table, const grove_ms_part &choice, const std::set<int> &ids)
        : part(choice), descriptions(ids), field(table, "FIELD_ID"),
          description(table, "DATA_DESC_ID"), left(table, "ANTENNA1"), right(table, "ANTENNA2"),
          time(table, "TIME"), interval(table, "INTERVAL"), rows(int64_t(table.nrow()))
    {
        if (table.tableDesc().isColumn("SCAN_NUMBER"))
            scan.attach(table, "SCAN_NUMBER");
    }

    // Calls work(row, left, right, time) for the rows that are chosen.
    template <typename Work> void each(const Work &work) const
    {
        int id = 0;
        bool wanted = descriptions.count(id);
        for (int64_t k = 0; k < rows; k++) {
            rownr_t row = rownr_t(k);
            if (field(row) != part.field)
                continue;
            int now = description(row);
            if (now != id)
                wanted = descriptions.count(id = now);
            int p = wanted ? left(row) : 0, q = wanted ? right(row) : 0;
            if (wanted && !(part.cross_only && p == q))
                work(k, p, q, time(row));
        }
    }
};

// Distinct ones of many numbers; those of neighbours are mostly equal, or follow each other as
// before.
class distinct_times
{
    std::vector<double> all; // those before `tidy` are sorted and distinct
    size_t tidy = 0, at = 0;
    double last = std::numeric_limits<double>::quiet_NaN();

    void put_in_order()
    {
        std::sort(all.begin(), all.end());
        all.erase(std::unique(all.begin(), all.end()), all.end());
        tidy = all.size();
    }

  public:
    void add(double time)
    {
        if (time == last)
            return;
        last = time;
        at = at + 1 < tidy ? at + 1 : 0;
        if (at < tidy && all[at] == time)
            return;
        all.push_back(time);
        if (all.size() >= 2 * tidy + 65536)
            put_in_order();
    }
    // The first of those that are equal within a millisecond.
    std::vector<double> slots()
    {
        std::vector<double> found;
        put_in_order();
        for (double time : all)
            if (found.empty() || time - found.back() > 1e-3)
                found.push_back(time);
        return found;
    }
};

// Numbers of times.
class time_numbers
{
    const std::vector<double> &start;
    size_t last = 0;

    bool has(size_t k, double time) const
    {
        return k < start.size() && start[k] <= time &&
               (k + 1 == start.size() || time < start[k + 1]);
    }

  public:
    explicit time_numbers(const std::vector<double> &times) : start(times)
    {
    }
    size_t of(double time)
    {
        if (has(last, time))
            return last;
        last = has(last + 1, time) ? last + 1 : 0;
        if (!has(last, time))
            last = size_t(std::upper_bound(start.begin(), start.end(), time) - start.begin()) - 1;
        return last;
    }
};

// Numbers of pairs of stations, by the first one; -1: there is no such baseline.
using baseline_table = std::vector<std::vector<int32_t>>;

// What is at the times: of the row that is first by time and number.
struct time_facts {
    int64_t rows = 0, row = -1, least = -1, most = -1; // rows of the least and most interval
    double time = 0, interval = 0, low = 0, high = 0;
};

template <typename T> T *copy(const std::vector<T> &from)
{
    T *to = static_cast<T *>(grove_try_alloc(from.size() + 1, sizeof(T)));
    if (!to)
        throw std::bad_alloc();
    std::copy(from.begin(), from.end(), to);
    return to;
}

// The rows, if each is the sum of a number of its time and one of its baseline.
struct row_sums {
    std::vector<int64_t> of_time, of_baseline;
    bool empty = true, holds = true;

    row_sums(size_t times, size_t baselines) : of_time(times, NONE), of_baseline(baselines, NONE)
    {
    }
    void add(int64_t row, size_t t, size_t b)
    {
        if (!holds)
            return;
        int64_t &x = of_time[t], &y = of_baseline[b];
        if (empty)
            y = 0;
        empty = false;
        if (x == NONE && y == NONE)
            holds = false;
        else if (x == NONE)
            x = row - y;
        else if (y == NONE)
            y = row - x;
        else
            holds = x + y == row;
    }
};

// What is known while the rows are being found.
struct row_finder {
    row_columns columns;
    const grove_ms_layout *layout; // its stations
    grove_set_rows *found;
    baseline_table number;
    std::vector<double> start; // of times
    std::vector<time_facts> facts;
};

void check_antennas(row_finder &f, int64_t row, int p, int q)
{
    if (p < 0 || q < 0 || p >= f.layout->station_count || q >= f.layout->station_count)
        throw AipsError("row " + std::to_string(row) + " has antennas " + std::to_string(p) +
                        " and " + std::to_string(q) + "; there are " +
                        std::to_string(f.layout->station_count));
}

int32_t &number_of(row_finder &f, int p, int q)
{
    std::vector<int32_t> &line = f.number[size_t(p)];
    if (line.empty())
        line.resize(size_t(f.layout->station_count), -1);
    return line[size_t(q)];
}

// What all rows of the set have, not only those chosen.
void count_choices(row_finder &f)
{
    std::set<int> fields, others;
    for (int64_t k = 0, field = -1, id = -1; k < f.columns.rows; k++) {
        int a = f.columns.field(rownr_t(k)), b = f.columns.description(rownr_t(k));
        if (!k || a != field)
            fields.insert(a);
        if (!k || b != id)
            others.insert(b);
        field = a;
        id = b;
    }
    for (int own : f.columns.descriptions)
        others.erase(own);
    f.found->fields = int(fields.size());
    f.found->windows = int(others.size()) + 1;
}

// Which times and baselines there are.
void look(row_finder &f)
{
    distinct_times times;
    f.number.resize(size_t(f.layout->station_count));
    f.columns.each([&](int64_t row, int p, int q, double time) {
        if (!std::isfinite(time))
            throw AipsError("row " + std::to_string(row) + " has no time");
        times.add(time);
        check_antennas(f, row, p, q);
        number_of(f, p, q) = 0;
        f.found->count++;
    });
    f.start = times.slots();
}

void number_baselines(row_finder &f)
{
    std::vector<int> left, right;
    for (int p = 0; p < f.layout->station_count; p++)
        for (int q = 0; q < f.layout->station_count && !f.number[size_t(p)].empty(); q++) {
            if (number_of(f, p, q) < 0)
                continue;
            if (p != q && !f.number[size_t(q)].empty() && number_of(f, q, p) >= 0)
                throw AipsError("baseline " + std::to_string(std::min(p, q)) + "-" +
                                std::to_string(std::max(p, q)) +
                                " stands in both orders; Grove needs one order per pair");
            number_of(f, p, q) = int32_t(left.size());
            left.push_back(p);
            right.push_back(q);
        }
    f.found->baselines = int64_t(left.size());
    f.found->left = copy(left);
    f.found->right = copy(right);
}

// The time and baseline of a row that is seen again.
std::pair<size_t, size_t> cell_of(row_finder &f, time_numbers &times, int64_t row, int p, int q,
                                  double time)
{
    check_antennas(f, row, p, q);
    int32_t baseline = number_of(f, p, q);
    if (baseline < 0 || !(time >= f.start[0]))
        throw AipsError("another program is changing it");
    return {times.of(time), size_t(baseline)};
}

// Facts of the times, and whether rows follow a rule.
void look_at_rows(row_finder &f)
{
    row_sums sums(f.start.size(), size_t(f.found->baselines));
    time_numbers times(f.start);
    f.facts.resize(f.start.size());
    f.columns.each([&](int64_t row, int p, int q, double time) {
        auto cell = cell_of(f, times, row, p, q, time);
        time_facts &now = f.facts[cell.first];
        double interval = f.columns.interval(rownr_t(row));
        if (now.row < 0 || time < now.time) {
            now.row = row;
            now.time = time;
            now.interval = interval;
        }
        if (!now.rows || interval < now.low || std::isnan(interval)) {
            now.least = row;
            now.low = interval;
        }
        if (!now.rows || interval > now.high) {
            now.most = row;
            now.high = interval;
        }
        now.rows++;
        sums.add(row, cell.first, cell.second);
    });
    if (sums.holds && f.found->count == f.found->times * f.found->baselines) {
        f.found->of_time = copy(sums.of_time);
        f.found->of_baseline = copy(sums.of_baseline);
    }
}

std::string show_interval(row_finder &f, int64_t row)
{
    std::ostringstream text;
    text << "row " << row << " " << f.columns.interval(rownr_t(row)) << " s";
    return text.str();
}

void tell_times(row_finder &f)
{
    std::vector<double> interval;
    std::vector<int> scan;
    for (const time_facts &each : f.facts) {
        interval.push_back(each.interval);
        scan.push_back(f.columns.scan.isNull() ? 1 : f.columns.scan(rownr_t(each.row)));
        int64_t other = -1;
        if (!(each.high - each.interval <= 1e-3))
            other = each.most;
        if (!(each.interval - each.low <= 1e-3) && (other < 0 || each.least < other))
            other = each.least;
        if (other >= 0 && !f.found->uneven)
            f.found->uneven =
                grove_strdup((show_interval(f, each.row) + ", " + show_interval(f, other)).c_str());
    }
    f.found->time = copy(f.start);
    f.found->interval = copy(interval);
    f.found->scan = copy(scan);
}

void put_row(row_finder &f, int64_t k, int64_t row)
{
    if (f.found->narrow)
        f.found->narrow[k] = uint32_t(row);
    else
        f.found->wide[k] = row;
}

int64_t row_at(row_finder &f, int64_t k)
{
    return f.found->narrow ? int64_t(f.found->narrow[k]) : f.found->wide[k];
}

// The rows of a time in the order of their baselines.
void sort_time(row_finder &f, int64_t first, int64_t last)
{
    int32_t *baseline = f.found->baseline;
    if (std::is_sorted(baseline + first, baseline + last))
        return;
    std::vector<std::pair<int32_t, int64_t>> both;
    for (int64_t k = first; k < last; k++)
        both.emplace_back(baseline[k], row_at(f, k));
    std::sort(both.begin(), both.end());
    for (int64_t k = first; k < last; k++) {
        baseline[k] = both[size_t(k - first)].first;
        put_row(f, k, both[size_t(k - first)].second);
    }
}

void make_lists(row_finder &f)
{
    const size_t count = size_t(f.found->count), many = f.start.size() + 1;
    const bool fits = f.columns.rows <= int64_t(std::numeric_limits<uint32_t>::max());
    f.found->first = static_cast<int64_t *>(grove_try_alloc(many, sizeof(int64_t)));
    f.found->baseline = static_cast<int32_t *>(grove_try_alloc(count, sizeof(int32_t)));
    void *rows = grove_try_alloc(count, fits ? sizeof(uint32_t) : sizeof(int64_t));
    if (fits)
        f.found->narrow = static_cast<uint32_t *>(rows);
    else
        f.found->wide = static_cast<int64_t *>(rows);
    if (!f.found->first || !f.found->baseline || !rows)
        throw std::bad_alloc();
}

// Each time's rows, one after the other.
void list_rows(row_finder &f)
{
    make_lists(f);
    int64_t sum = 0;
    for (size_t t = 0; t < f.facts.size(); t++) {
        f.found->first[t] = sum;
        sum += f.facts[t].rows;
        f.facts[t].rows = f.found->first[t]; // from now on: where the next one goes
    }
    f.found->first[f.facts.size()] = sum;
    time_numbers times(f.start);
    f.columns.each([&](int64_t row, int p, int q, double time) {
        auto cell = cell_of(f, times, row, p, q, time);
        int64_t k = f.facts[cell.first].rows++;
        if (k >= f.found->first[cell.first + 1])
            throw AipsError("another program is changing it");
        f.found->baseline[k] = int32_t(cell.second);
        put_row(f, k, row);
    });
    for (int64_t t = 0; t < f.found->times; t++) {
        sort_time(f, f.found->first[t], f.found->first[t + 1]);
        for (int64_t k = f.found->first[t] + 1; k < f.found->first[t + 1]; k++)
            if (f.found->baseline[k] == f.found->baseline[k - 1])
                throw AipsError("rows " + std::to_string(row_at(f, k - 1)) + " and " +
                                std::to_string(row_at(f, k)) + " have the same time and baseline");
    }
}

void find_rows(row_finder &f)
{
    count_choices(f);
    look(f);
    if (!f.found->count)
        throw AipsError("no row has field " + std::to_string(f.columns.part.field) +
                        " and the chosen spectral window" +
                        (f.columns.part.cross_only ? " and two stations" : ""));
    f.found->times = int64_t(f.start.size());
    number_baselines(f);
    look_at_rows(f);
    tell_times(f);
    if (!f.found->of_time)
        list_rows(f);
}

// Of the files that say which rows there are, and of the choice.
grove_hash key_of(const Table &table, const grove_ms *ms)
{
    grove_hash key = grove_hash_file(grove_hash_start(), ms->path.c_str());
    for (const std::string &root : grove::roots_of(table))
        key = grove_hash_file(key, root.c_str());
    key = grove_hash_integer(key, ms->chosen.field);
    key = grove_hash_integer(key, ms->chosen.spectral_window);
    return grove_hash_integer(key, ms->chosen.cross_only);
}

void fill_layout(grove_ms_layout *layout, const grove_set_rows *rows)
{
    const size_t times = size_t(rows->times), baselines = size_t(rows->baselines);

    layout->times = rows->times;
    layout->time = static_cast<double *>(grove_copy(rows->time, (times + 1) * sizeof(double)));
    layout->interval =
        static_cast<double *>(grove_copy(rows->interval, (times + 1) * sizeof(double)));
    layout->scan = static_cast<int *>(grove_copy(rows->scan, (times + 1) * sizeof(int)));
    layout->baselines = rows->baselines;
    layout->antenna1 = static_cast<int *>(grove_copy(rows->left, (baselines + 1) * sizeof(int)));
    layout->antenna2 = static_cast<int *>(grove_copy(rows->right, (baselines + 1) * sizeof(int)));
    for (size_t b = 0; b < baselines; b++)
        layout->autocorrelations |= rows->left[b] == rows->right[b];
    layout->rows = rows->count;
    layout->fields = rows->fields;
    layout->windows = rows->windows;
}

bool is_ascending(const std::vector<int64_t> &numbers)
{
    return std::is_sorted(numbers.begin(), numbers.end());
}

void sort_rows(grove::row_list &list)
{
    std::vector<std::pair<int64_t, int64_t>> both;
    both.reserve(list.row.size());
    for (size_t i = 0; i < list.row.size(); i++)
        both.emplace_back(list.row[i], list.place[i]);
    std::sort(both.begin(), both.end());
    for (size_t i = 0; i < both.size(); i++) {
        list.row[i] = both[i].first;
        list.place[i] = both[i].second;
    }
}

// Of a set in the order of baselines: each baseline's rows, one after the other.
bool list_by_baseline(const grove_set_rows *rows, const grove_ms_block *block,
                      grove::row_list &list)
{
    size_t i = 0;
    if (!rows->of_time)
        return false;
    for (int64_t b = 0; b < block->baselines; b++)
        for (int64_t t = 0; t < block->times; t++, i++) {
            list.row[i] =
                rows->of_time[block->first_time + t] + rows->of_baseline[block->first_baseline + b];
            list.place[i] = t * block->baselines + b;
        }
    return is_ascending(list.row);
}
} // namespace

namespace grove
{
void index_rows(grove_ms *ms, const std::set<int> &descriptions)
{
    grove_hash key = key_of(ms->table, ms);
    grove_set_rows *rows = grove_set_rows_find(key);
    ms->rows.reset(rows);
    if (!rows) {
        ms->rows.reset(rows = grove_set_rows_new());
        row_finder finder = {{ms->table, ms->chosen, descriptions}, ms->layout, rows, {}, {}, {}};
        find_rows(finder);
        grove_set_rows_share(rows, key);
    }
    if (ms->chosen.one_interval && rows->uneven)
        throw AipsError(std::string("rows of one time have different intervals: ") + rows->uneven +
                        "; Grove computes with one interval at each time; split the set first");
    fill_layout(ms->layout, rows);
    ms->all_rows = rows->count == int64_t(ms->table.nrow());
}

void number_rows(grove_ms *ms)
{
    const grove_ms_layout *layout = ms->layout;
    grove_set_rows *rows = grove_set_rows_new();
    std::vector<int64_t> of_time, of_baseline;
    ms->rows.reset(rows);
    rows->times = layout->times;
    rows->baselines = layout->baselines;
    rows->count = layout->times * layout->baselines;
    for (int64_t t = 0; t < layout->times; t++)
        of_time.push_back(t * layout->baselines);
    for (int64_t b = 0; b < layout->baselines; b++)
        of_baseline.push_back(b);
    rows->of_time = copy(of_time);
    rows->of_baseline = copy(of_baseline);
    ms->all_rows = true;
}

row_list rows_of(const grove_ms *ms, const grove_ms_block *block)
{
    row_list list;
    list.row.resize(size_t(block->times * block->baselines));
    list.place.resize(list.row.size());
    int64_t count =
        grove_set_rows_list(ms->rows.get(), block->first_time, block->times, block->first_baseline,
                            block->baselines, list.row.data(), list.place.data());
    list.row.resize(size_t(count));
    list.place.resize(size_t(count));
    if (!is_ascending(list.row) && !list_by_baseline(ms->rows.get(), block, list))
        sort_rows(list);
    return list;
}

void each_time(const grove_ms *ms, const std::function<void(const row_list &rows)> &work)
{
    for (int64_t t = 0; t < ms->layout->times; t++) {
        grove_ms_block block = {t, 1, 0, ms->layout->baselines, 0, 0};
        work(rows_of(ms, &block));
    }
}
} // namespace grove
