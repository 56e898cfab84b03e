// Preparing to write a column of a set that exists, its flags and weights.
#include "io/measurement_set_private.h"

#include <casacore/tables/Tables/TableDesc.h>

#include <algorithm>

using namespace casacore;

namespace
{
// For each row of a set that consists of others, where it lies.
void find_places(grove_ms *ms, const std::vector<std::string> &roots)
{
    Block<String> parts(ms->table.getPartNames(False));
    std::vector<std::pair<int, int64_t>> all;
    for (size_t k = 0; k < roots.size(); k++)
        for (rownr_t i = 0, n = Table(roots[k]).nrow(); i < n; i++)
            all.emplace_back(int(k), int64_t(i));
    RowNumbers rows(ms->table.rowNumbers());
    // a new column of the table would not be one of the table that refers to it
    ms->selection = roots.size() == 1 || all.size() != rows.size();
    for (rownr_t i = 0; i < rows.size(); i++) {
        if (rows[i] >= all.size())
            throw AipsError("its rows cannot be found in the tables that it consists of");
        ms->selection = ms->selection || rows[i] != i;
        ms->place.push_back(all[rows[i]]);
    }
}

// The file of a column's cells of the set's shape; null: it has none that is flat.
std::shared_ptr<grove::flat_column> find_flat(const grove_ms *ms, const Table &table,
                                              const std::string &column, bool writes)
{
    std::shared_ptr<grove::flat_column> flat(new grove::flat_column);
    grove::open_flat(table, column, grove::shape_of_cell(table, ms->layout, column), writes, *flat);
    return flat->file >= 0 ? flat : nullptr;
}

int open_parts(grove_ms *ms, const char *column, grove_error *error)
{
    std::vector<std::string> roots = grove::roots_of(ms->table);
    if (!ms->table.isRootTable() || roots.size() > 1)
        find_places(ms, roots);
    bool waited = false;
    for (const std::string &root : roots) {
        std::shared_ptr<grove::view> view = grove::open_view(root, ms->record, error);
        if (!view)
            return grove_error_code(error);
        ms->parts.push_back({view, false, nullptr, nullptr});
        waited = waited || view->waited;
    }
    if (waited) { // all that was read may be another's
        for (grove_set_lock *lock : ms->locks)
            grove_set_lock_changed(lock);
        ms->stale = true;
        ms->flat.clear();
        grove::refresh(ms);
    }
    ms->column = column;
    for (grove::written_part &part : ms->parts) {
        int code =
            grove::open_column(part.to.get(), column, !ms->selection, ms, &part.is_new, error);
        if (code)
            return code;
        if (!part.is_new)
            continue;
        part.flat = find_flat(ms, part.to->table, column, true);
        if (part.to->original.tableDesc().isColumn(column))
            part.old = find_flat(ms, part.to->original, column, false);
    }
    return 0;
}
} // namespace

extern "C" int grove_ms_prepare(grove_ms *ms, const char *column, grove_ms_mode mode,
                                grove_error *error)
{
    return grove::guard(ms->path, error, [&] {
        grove::refresh(ms);
        bool exists = ms->table.tableDesc().isColumn(column);
        if (!exists && mode != GROVE_MS_REPLACE)
            return grove_fail(error, GROVE_MISSING,
                              "%s: has no column %s to add to or subtract from", ms->path.c_str(),
                              column);
        if (exists && ms->table.tableDesc().columnDesc(column).dataType() != TpComplex)
            return grove_fail(error, GROVE_INVALID, "%s: column %s does not hold complex numbers",
                              ms->path.c_str(), column);
        if (exists && !ms->table.tableDesc().columnDesc(column).isArray())
            return grove_fail(error, GROVE_INVALID,
                              "%s: column %s holds one number in each row, not an array",
                              ms->path.c_str(), column);
        ms->mode = mode;
        return open_parts(ms, column, error);
    });
}

extern "C" int grove_ms_prepare_flags(grove_ms *ms, grove_error *error)
{
    return grove::guard(ms->path, error, [&] {
        for (grove::written_part &part : ms->parts) {
            int code = grove::open_flags(part.to.get(), ms, error);
            if (code)
                return code;
        }
        ms->writes_flags = true;
        return 0;
    });
}

extern "C" int grove_ms_prepare_weights(grove_ms *ms, grove_error *error)
{
    return grove::guard(ms->path, error, [&] {
        for (grove::written_part &part : ms->parts) {
            int code = grove::open_weights(part.to.get(), !ms->selection, ms, error);
            if (code)
                return code;
        }
        ms->writes_weights = true;
        return 0;
    });
}

extern "C" bool grove_ms_has_flags_written(const grove_ms *ms)
{
    return std::any_of(ms->parts.begin(), ms->parts.end(), [&](const grove::written_part &part) {
        return grove::writes_flags_of(part.to.get(), ms);
    });
}
