// Finds the rows of a part of a set: their times, intervals, baselines and numbers. Columns are
// read in pieces, so that no whole one is ever in memory.
#include "nodes/sets/measurement_set_private.h"
#include "nodes/sets/measurement_set_slots.h"

#include "unstable/hash.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <limits>
#include <numeric>
#include <set>
#include <sstream>
#include <unordered_map>

using namespace casacore;

namespace
{
constexpr int64_t NONE = std::numeric_limits<int64_t>::min();

// The values of the columns in a row.
struct row_facts {
    int64_t row;
    int left, right;
    double time, interval;
};

// Some rows of the columns that identify a row.
struct row_piece {
    Vector<Int> field, description, left, right;
    Vector<Double> time, interval;
};

class row_columns
{
    ScalarColumn<Int> field, description, left, right;
    ScalarColumn<Double> time, interval;

    const grove::time_scale scale;
    const double second;

  public:
    const int64_t rows;

    explicit row_columns(const Table &table)
        : field(table, "FIELD_ID"), description(table, "DATA_DESC_ID"), left(table, "ANTENNA1"),
          right(table, "ANTENNA2"), time(table, "TIME"), interval(table, "INTERVAL"),
          scale(grove::scale_of_time(table)), second(grove::unit_of(table, "INTERVAL", "s")),
          rows(int64_t(table.nrow()))
    {
    }
    void read(int64_t first, int64_t count, row_piece &to) const
    {
        const Slicer part(IPosition(1, first), IPosition(1, count));
        field.getColumnRange(part, to.field, True);
        description.getColumnRange(part, to.description, True);
        left.getColumnRange(part, to.left, True);
        right.getColumnRange(part, to.right, True);
        time.getColumnRange(part, to.time, True);
        interval.getColumnRange(part, to.interval, True);
        grove::to_utc(scale, to.time.data(), size_t(count));
        to.interval *= second;
    }
};

// Pieces are small, so that all columns' pieces come from the same buckets.
template <typename Work> void in_small_pieces(const row_columns &columns, const Work &work)
{
    constexpr int64_t most = 1024;
    row_piece now;
    for (int64_t first = 0; first < columns.rows; first += most) {
        const int64_t count = std::min(most, columns.rows - first);
        columns.read(first, count, now);
        work(now, first, count);
    }
}

// The data description of a row.
grove::description described(const std::vector<grove::description> &all, int id, int64_t row)
{
    if (id < 0 || size_t(id) >= all.size())
        throw AipsError("row " + std::to_string(row) + " has DATA_DESC_ID " + std::to_string(id) +
                        "; DATA_DESCRIPTION has " + std::to_string(all.size()) +
                        (all.size() == 1 ? " row" : " rows") + ", from 0 on");
    return all[size_t(id)];
}

// The rows that are chosen.
class chosen_rows
{
    const std::vector<grove::description> &descriptions;
    const int polarization;
    row_columns columns;
    // The rows, where they are few: columns that are stored by change are slow to read.
    std::vector<row_facts> kept;
    bool complete = false;

    template <typename Work>
    void each_of(const row_piece &of, int64_t first, int64_t count, const Work &work)
    {
        bool chosen = false;
        for (size_t k = 0; k < size_t(count); k++) {
            const int id = of.description[k];
            if (!k || of.field[k] != of.field[k - 1] || id != of.description[k - 1]) {
                const grove::description now = described(descriptions, id, first + int64_t(k));
                chosen = now.window == part.spectral_window && now.polarization == polarization &&
                         of.field[k] == part.field;
                selections.insert({of.field[k], now.window, now.polarization});
            }
            if (chosen && !(part.cross_only && of.left[k] == of.right[k]))
                work(row_facts{first + int64_t(k), of.left[k], of.right[k], of.time[k],
                               of.interval[k]});
        }
    }

    template <typename Work> void read_each(const Work &work)
    {
        constexpr int64_t keep = 1 << 20;
        const bool few = of_table <= keep;
        if (few)
            kept.reserve(size_t(of_table));
        in_small_pieces(columns, [&](const row_piece &now, int64_t first, int64_t count) {
            each_of(now, first, count, [&](const row_facts &row) {
                work(row);
                if (few)
                    kept.push_back(row);
            });
        });
        complete = few;
    }

  public:
    const grove_ms_part &part;
    const int64_t of_table; // rows
    // Of all its rows, once they were seen: fields, windows and polarizations.
    std::set<std::array<int, 3>> selections;

    chosen_rows(const Table &table, const grove_ms_part &choice,
                const std::vector<grove::description> &all, int chosen)
        : descriptions(all), polarization(chosen), columns(table), part(choice),
          of_table(columns.rows)
    {
    }
    // Calls work(facts) for each.
    template <typename Work> void each(const Work &work)
    {
        if (complete)
            for (const row_facts &row : kept)
                work(row);
        else
            read_each(work);
    }
};

// Numbers of pairs of stations, by the first one; -1: there is no such baseline.
using baseline_table = std::vector<std::vector<int32_t>>;

// A slot: its rows, and time and number of its first row.
struct slot_facts {
    int64_t rows = 0, row = -1;
    double time = 0;
};

template <typename T> T *copy(const std::vector<T> &from)
{
    T *to = static_cast<T *>(grove_try_alloc(from.size() + 1, sizeof(T)));
    if (!to)
        throw std::bad_alloc();
    std::copy(from.begin(), from.end(), to);
    return to;
}

// The rows, if each is the sum of a number of its slot and one of its baseline.
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

// The state while the rows are being found.
struct row_finder {
    chosen_rows rows;
    const grove_ms_layout *layout; // its stations
    grove_set_rows *found;
    baseline_table number;
    std::vector<grove::time_slot> start;
    std::vector<slot_facts> facts;
    bool ordered; // baselines are in the order of another set's
    // The first rows with an INTERVAL of 0, and with one above; -1: none.
    int64_t without_interval = -1, with_interval = -1;
};

[[noreturn]] void refuse_interval(int64_t row, double interval)
{
    std::ostringstream text;
    text << "row " << row << " has an INTERVAL of " << interval
         << " s; it must be a number above 0";
    throw AipsError(text.str());
}

void check_antennas(const row_finder &f, const row_facts &row)
{
    const int p = row.left, q = row.right;
    if (p < 0 || q < 0 || p >= f.layout->station_count || q >= f.layout->station_count)
        throw AipsError("row " + std::to_string(row.row) + " has antennas " + std::to_string(p) +
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

// An INTERVAL of 0 is one for all rows, as some programs write it: nothing is smeared in time.
void check_slot(row_finder &f, const row_facts &row)
{
    if (!std::isfinite(row.time))
        throw AipsError("row " + std::to_string(row.row) + " has no time");
    if (!std::isfinite(row.interval) || row.interval < 0)
        refuse_interval(row.row, row.interval);
    int64_t &first = row.interval > 0 ? f.with_interval : f.without_interval;
    if (first < 0)
        first = row.row;
    if (f.with_interval >= 0 && f.without_interval >= 0)
        refuse_interval(f.without_interval, 0);
}

// Which slots and baselines there are.
void look(row_finder &f)
{
    grove::distinct_slots slots;
    f.number.resize(size_t(f.layout->station_count));
    f.rows.each([&](const row_facts &row) {
        check_slot(f, row);
        slots.add({row.time, row.interval});
        check_antennas(f, row);
        number_of(f, row.left, row.right) = 0;
        f.found->count++;
    });
    f.start = slots.slots();
    std::set<int> fields, windows, polarizations;
    for (const auto &each : f.rows.selections) {
        fields.insert(each[0]);
        windows.insert(each[1]);
        if (each[1] == f.rows.part.spectral_window)
            polarizations.insert(each[2]);
    }
    f.found->fields = int(fields.size());
    f.found->windows = int(windows.size());
    f.found->polarizations = int(polarizations.size());
    f.found->selections = int(f.rows.selections.size());
}

// Fails because no row is chosen; the message lists the fields and windows that rows have.
[[noreturn]] void refuse_choice(const chosen_rows &rows)
{
    constexpr size_t most = 8; // that are named
    std::set<std::pair<int, int>> found;
    std::string others;
    for (const auto &each : rows.selections)
        if (found.insert({each[0], each[1]}).second && found.size() <= most)
            others += (others.empty() ? "; there are rows of field " : ", field ") +
                      std::to_string(each[0]) + " and spectral window " + std::to_string(each[1]);
    throw AipsError("no row has field " + std::to_string(rows.part.field) +
                    " and spectral window " + std::to_string(rows.part.spectral_window) +
                    (rows.part.cross_only ? " and two stations" : "") + others +
                    (found.size() > most ? ", ..." : ""));
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
                                " occurs in both orders; Grove needs one order per pair");
            left.push_back(p);
            right.push_back(q);
        }
    f.found->baselines = int64_t(left.size());
    f.found->left = copy(left);
    f.found->right = copy(right);
    f.ordered = grove_set_rows_order(f.found->baselines, f.found->left, f.found->right);
    for (size_t b = 0; b < left.size(); b++)
        number_of(f, f.found->left[b], f.found->right[b]) = int32_t(b);
}

// The slot and baseline of a row that is seen again.
std::pair<size_t, size_t> cell_of(row_finder &f, grove::slot_numbers &slots, const row_facts &row)
{
    check_antennas(f, row);
    const int32_t baseline = number_of(f, row.left, row.right);
    const int64_t slot = slots.of({row.time, row.interval});
    if (baseline < 0 || slot < 0)
        throw AipsError("another program is changing it");
    return {size_t(slot), size_t(baseline)};
}

// Facts of the slots, and whether rows follow a rule.
void look_at_rows(row_finder &f)
{
    row_sums sums(f.start.size(), size_t(f.found->baselines));
    grove::slot_numbers slots(f.start);
    size_t before = size_t(f.found->baselines); // the baseline of the row before: none
    int64_t follow = 0;
    f.facts.resize(f.start.size());
    f.rows.each([&](const row_facts &row) {
        auto cell = cell_of(f, slots, row);
        follow += cell.second == before;
        before = cell.second;
        slot_facts &now = f.facts[cell.first];
        if (now.row < 0 || row.time < now.time) {
            now.row = row.row;
            now.time = row.time;
        }
        now.rows++;
        sums.add(row.row, cell.first, cell.second);
    });
    if (sums.holds && f.found->count == f.found->times * f.found->baselines) {
        f.found->of_time = copy(sums.of_time);
        f.found->of_baseline = copy(sums.of_baseline);
    }
    f.found->by_baseline = f.found->baselines > 1 && follow > f.found->count / 2;
}

void store_slots(row_finder &f, const Table &table)
{
    std::vector<double> time, interval;
    std::vector<int> number(f.facts.size(), 1);
    for (const grove::time_slot &each : f.start) {
        time.push_back(each.time);
        interval.push_back(each.interval);
    }
    if (table.tableDesc().isColumn("SCAN_NUMBER")) {
        ScalarColumn<Int> scan(table, "SCAN_NUMBER");
        for (size_t k = 0; k < number.size(); k++)
            number[k] = scan(rownr_t(f.facts[k].row));
    }
    f.found->time = copy(time);
    f.found->interval = copy(interval);
    f.found->scan = copy(number);
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

// The rows of a slot in the order of their baselines.
void sort_slot(row_finder &f, int64_t first, int64_t last)
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
    const bool fits = f.rows.of_table <= int64_t(std::numeric_limits<uint32_t>::max());
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

// A hash for each baseline, of the slots that have it.
std::vector<uint64_t> slots_of_baselines(const grove_set_rows *rows)
{
    std::vector<uint64_t> sum(size_t(rows->baselines));
    for (int64_t t = 0; t < rows->times; t++) {
        const uint64_t slot = grove_hash_integer(grove_hash_start(), t).a;
        for (int64_t k = rows->first[t]; k < rows->first[t + 1]; k++)
            sum[size_t(rows->baseline[k])] += slot;
    }
    return sum;
}

// Baselines of the same slots become neighbours, where there are few kinds of them, as in sets
// averaged by baseline: then the rows of a slot lie together in values, as they do in the set.
void group_baselines(row_finder &f)
{
    constexpr size_t MIN_GROUP = 4; // baselines, on average
    const size_t count = size_t(f.found->baselines);
    if (f.ordered || f.found->count * 2 >= f.found->times * f.found->baselines)
        return;
    const std::vector<uint64_t> slots = slots_of_baselines(f.found);
    std::unordered_map<uint64_t, size_t> group;
    for (uint64_t each : slots)
        group.emplace(each, group.size());
    if (group.size() * MIN_GROUP > count)
        return;
    std::vector<size_t> order(count);
    std::iota(order.begin(), order.end(), size_t(0));
    std::stable_sort(order.begin(), order.end(),
                     [&](size_t a, size_t b) { return group[slots[a]] < group[slots[b]]; });
    std::vector<int32_t> number(count);
    std::vector<int> left(count), right(count);
    for (size_t b = 0; b < count; b++) {
        number[order[b]] = int32_t(b);
        left[b] = f.found->left[order[b]];
        right[b] = f.found->right[order[b]];
    }
    std::copy(left.begin(), left.end(), f.found->left);
    std::copy(right.begin(), right.end(), f.found->right);
    for (int64_t k = 0; k < f.found->count; k++)
        f.found->baseline[k] = number[size_t(f.found->baseline[k])];
}

// Each slot's rows, one after the other.
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
    grove::slot_numbers slots(f.start);
    f.rows.each([&](const row_facts &row) {
        auto cell = cell_of(f, slots, row);
        int64_t k = f.facts[cell.first].rows++;
        if (k >= f.found->first[cell.first + 1])
            throw AipsError("another program is changing it");
        f.found->baseline[k] = int32_t(cell.second);
        put_row(f, k, row.row);
    });
}

void sort_slots(row_finder &f)
{
    for (int64_t t = 0; t < f.found->times; t++) {
        sort_slot(f, f.found->first[t], f.found->first[t + 1]);
        for (int64_t k = f.found->first[t] + 1; k < f.found->first[t + 1]; k++)
            if (f.found->baseline[k] == f.found->baseline[k - 1])
                throw AipsError("rows " + std::to_string(row_at(f, k - 1)) + " and " +
                                std::to_string(row_at(f, k)) +
                                " have the same time, baseline and interval");
    }
}

void find_rows(row_finder &f, const Table &table)
{
    look(f);
    if (!f.found->count)
        refuse_choice(f.rows);
    f.found->times = int64_t(f.start.size());
    number_baselines(f);
    look_at_rows(f);
    store_slots(f, table);
    if (f.found->of_time)
        return;
    list_rows(f);
    group_baselines(f);
    sort_slots(f);
}

// Of the files that say which rows there are, and of the choice.
grove_hash key_of(const Table &table, const grove_ms *ms)
{
    grove_hash key = grove_hash_file(grove_hash_start(), ms->path.c_str());
    for (const std::string &other : grove::others_of(table))
        key = grove_hash_file(key, other.c_str());
    key = grove_hash_integer(key, ms->chosen.field);
    key = grove_hash_integer(key, ms->chosen.spectral_window);
    key = grove_hash_integer(key, ms->layout->polarization);
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
    layout->runs = grove_set_rows_runs(rows);
    layout->by_baseline = rows->by_baseline;
    layout->fields = rows->fields;
    layout->windows = rows->windows;
    layout->polarizations = rows->polarizations;
    layout->selections = rows->selections;
}
} // namespace

namespace grove
{
std::set<int> polarizations_of(const grove_ms *ms, const std::vector<description> &descriptions)
{
    const row_columns columns(ms->table);
    std::set<int> found;
    in_small_pieces(columns, [&](const row_piece &of, int64_t first, int64_t count) {
        for (size_t k = 0; k < size_t(count); k++) {
            const description now = described(descriptions, of.description[k], first + int64_t(k));
            if (of.field[k] == ms->chosen.field && now.window == ms->chosen.spectral_window &&
                !(ms->chosen.cross_only && of.left[k] == of.right[k]))
                found.insert(now.polarization);
        }
    });
    return found;
}

void index_rows(grove_ms *ms, const std::vector<description> &descriptions)
{
    grove_hash key = key_of(ms->table, ms);
    grove_set_rows *rows = grove_set_rows_find(key);
    ms->rows.reset(rows);
    if (!rows) {
        ms->rows.reset(rows = grove_set_rows_new());
        row_finder finder = {{ms->table, ms->chosen, descriptions, ms->layout->polarization},
                             ms->layout,
                             rows,
                             {},
                             {},
                             {},
                             false};
        find_rows(finder, ms->table);
        grove_set_rows_share(rows, key);
    }
    fill_layout(ms->layout, rows);
    ms->all_rows = rows->count == int64_t(ms->table.nrow());
}
} // namespace grove
