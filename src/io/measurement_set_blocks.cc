// The rows of parts of an open set, in the order in which its files have them.
#include "io/measurement_set_private.h"

#include <algorithm>

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
} // namespace

namespace grove
{
void number_rows(grove_ms *ms)
{
    const grove_ms_layout *layout = ms->layout;
    grove_set_rows *rows = grove_set_rows_new();
    ms->rows.reset(rows);
    rows->times = layout->times;
    rows->baselines = layout->baselines;
    rows->count = layout->times * layout->baselines;
    rows->of_time =
        static_cast<int64_t *>(grove_alloc(size_t(layout->times + 1) * sizeof(int64_t)));
    rows->of_baseline =
        static_cast<int64_t *>(grove_alloc(size_t(layout->baselines + 1) * sizeof(int64_t)));
    for (int64_t t = 0; t < layout->times; t++)
        rows->of_time[t] = t * layout->baselines;
    for (int64_t b = 0; b < layout->baselines; b++)
        rows->of_baseline[b] = b;
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
