// The rows of parts of an open set, in the order in which its files have them.
#include "nodes/sets/measurement_set_private.h"

#include <algorithm>
#include <new>

namespace
{
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

template <typename number> number *new_numbers(size_t count)
{
    void *memory = grove_try_alloc(count + 1, sizeof(number));
    if (!memory)
        throw std::bad_alloc();
    return static_cast<number *>(memory);
}

template <typename number> number *copy_numbers(const number *from, size_t count)
{
    return std::copy(from, from + count, new_numbers<number>(count)) - count;
}

int64_t *multiples(int64_t count, int64_t step)
{
    int64_t *to = new_numbers<int64_t>(size_t(count));
    for (int64_t i = 0; i < count; i++)
        to[i] = i * step;
    return to;
}

// A row for each time and baseline.
void take_all(grove_set_rows *rows)
{
    rows->count = rows->times * rows->baselines;
    rows->of_time = multiples(rows->times, rows->baselines);
    rows->of_baseline = multiples(rows->baselines, 1);
}

// The rows of another set, in the order of times and baselines.
void take_rows(grove_set_rows *rows, const grove_set_rows *from)
{
    rows->count = from->count;
    rows->first = copy_numbers(from->first, size_t(from->times) + 1);
    rows->baseline = copy_numbers(from->baseline, size_t(from->count));
    rows->wide = multiples(from->count, 1);
}
} // namespace

namespace grove
{
void number_rows(grove_ms *ms, const grove_ms *like)
{
    grove_ms_layout *layout = ms->layout;
    grove_set_rows *rows = grove_set_rows_new();
    ms->rows.reset(rows);
    rows->times = layout->times;
    rows->baselines = layout->baselines;
    if (like && like->rows->times == rows->times && like->rows->baselines == rows->baselines &&
        like->rows->first)
        take_rows(rows, like->rows.get());
    else
        take_all(rows);
    layout->rows = rows->count;
    ms->all_rows = true;
}

row_list rows_by_time(const grove_ms *ms, const grove_ms_block *block)
{
    const grove_set_rows *rows = ms->rows.get();
    row_list list;
    int64_t most = block->times * block->baselines;
    if (rows->first)
        most = std::min(most, rows->first[block->first_time + block->times] -
                                  rows->first[block->first_time]);
    list.row.resize(size_t(most));
    list.place.resize(list.row.size());
    int64_t count =
        grove_set_rows_list(rows, block->first_time, block->times, block->first_baseline,
                            block->baselines, list.row.data(), list.place.data());
    list.row.resize(size_t(count));
    list.place.resize(size_t(count));
    return list;
}

row_list rows_of(const grove_ms *ms, const grove_ms_block *block)
{
    row_list list(rows_by_time(ms, block));
    if (!is_ascending(list.row) && !list_by_baseline(ms->rows.get(), block, list))
        sort_rows(list);
    return list;
}

void each_time(const grove_ms *ms, const std::function<void(const row_list &rows)> &work)
{
    for (int64_t t = 0; t < ms->layout->times; t++) {
        grove_ms_block block = {t, 1, 0, ms->layout->baselines, 0, 0, false};
        work(rows_of(ms, &block));
    }
}
} // namespace grove
