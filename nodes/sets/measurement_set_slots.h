// Slots along time of the rows of a set.
#ifndef GROVE_NODES_SETS_MEASUREMENT_SET_SLOTS_H
#define GROVE_NODES_SETS_MEASUREMENT_SET_SLOTS_H

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <vector>

namespace grove
{
constexpr double SLOT_CLOSE = 1e-3; // s: times and intervals that differ by less are one

// A time and an interval that rows have: a set that is averaged by baselines has several intervals
// at one time.
struct time_slot {
    double time, interval;

    bool operator<(const time_slot &other) const
    {
        return time < other.time || (time == other.time && interval < other.interval);
    }
    bool operator==(const time_slot &other) const
    {
        return time == other.time && interval == other.interval;
    }
};

// The distinct slots of many. Neighbours mostly have equal slots, or slots in the same order as
// before.
class distinct_slots
{
    std::vector<time_slot> all; // the first `tidy` are sorted and distinct
    size_t tidy = 0, at = 0;
    time_slot last = {std::numeric_limits<double>::quiet_NaN(), 0};

    void put_in_order()
    {
        std::sort(all.begin(), all.end());
        all.erase(std::unique(all.begin(), all.end()), all.end());
        tidy = all.size();
    }

    // Adds slots of [first, end), whose times are equal within a millisecond: one of each interval.
    static void add_time(std::vector<time_slot>::iterator first,
                         std::vector<time_slot>::iterator end, std::vector<time_slot> &found)
    {
        const double time = first->time;
        for (auto each = first; each != end; ++each)
            each->time = time;
        std::sort(first, end);
        for (auto each = first; each != end; ++each)
            if (each == first || each->interval - found.back().interval > SLOT_CLOSE)
                found.push_back(*each);
    }

  public:
    void add(const time_slot &slot)
    {
        if (slot == last)
            return;
        last = slot;
        at = at + 1 < tidy ? at + 1 : 0;
        if (at < tidy && all[at] == slot)
            return;
        auto end = all.begin() + std::ptrdiff_t(tidy),
             known = std::lower_bound(all.begin(), end, slot);
        if (known != end && *known == slot) {
            at = size_t(known - all.begin());
            return;
        }
        all.push_back(slot);
        if (all.size() >= 2 * tidy + 4096)
            put_in_order();
    }
    // One slot in place of all that are equal within a millisecond.
    std::vector<time_slot> slots()
    {
        std::vector<time_slot> found;
        put_in_order();
        for (auto first = all.begin(), end = first; first != all.end(); first = end) {
            const double time = first->time;
            while (end != all.end() && !(end->time - time > SLOT_CLOSE))
                ++end;
            add_time(first, end, found);
        }
        return found;
    }
};

// Numbers of slots.
class slot_numbers
{
    const std::vector<time_slot> &start;
    size_t last = 0;

    bool has(size_t k, const time_slot &slot) const
    {
        return k < start.size() && slot.time >= start[k].time &&
               !(slot.time - start[k].time > SLOT_CLOSE) && slot.interval >= start[k].interval &&
               !(slot.interval - start[k].interval > SLOT_CLOSE);
    }
    // The last one that is not after another; -1: all are.
    int64_t before(const time_slot &slot) const
    {
        return std::upper_bound(start.begin(), start.end(), slot) - start.begin() - 1;
    }

  public:
    explicit slot_numbers(const std::vector<time_slot> &slots) : start(slots)
    {
    }
    // -1: there is no such slot.
    int64_t of(const time_slot &slot)
    {
        if (has(last, slot))
            return int64_t(last);
        last = has(last + 1, slot) ? last + 1 : 0;
        if (has(last, slot))
            return int64_t(last);
        int64_t found = before({slot.time, std::numeric_limits<double>::infinity()});
        if (found >= 0) // has this time
            found = before({start[size_t(found)].time, slot.interval});
        if (found < 0 || !has(size_t(found), slot))
            return -1;
        last = size_t(found);
        return found;
    }
};
} // namespace grove

#endif
