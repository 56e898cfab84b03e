// Preparing to write a column of a set that exists, its flags and weights.
#include "nodes/sets/measurement_set_private.h"

#include <casacore/tables/Tables/TableDesc.h>

#include <algorithm>

using namespace casacore;

namespace
{
// The file of a column's cells of the set's shape; null: it has no flat one.
std::shared_ptr<grove::flat_column> find_flat(const grove_ms *ms, const Table &table,
                                              const std::string &column, bool writes)
{
    std::shared_ptr<grove::flat_column> flat(new grove::flat_column);
    grove::open_flat(table, column, grove::shape_of_cell(table, ms->layout, column), writes, *flat);
    return flat->file >= 0 ? flat : nullptr;
}

// The views of the tables that have the column's cells.
int open_views(grove_ms *ms, const std::string &column, grove::written_column &to,
               grove_error *error)
{
    bool waited = false;
    to.tables = grove::tables_of(ms->table, column);
    for (const std::string &folder : to.tables.folders) {
        if (!Table::isWritable(folder))
            return grove_fail(error, GROVE_IO, "%s: may not be written", folder.c_str());
        std::shared_ptr<grove::view> view = grove::open_view(folder, ms->record, error);
        if (!view)
            return grove_error_code(error);
        to.parts.push_back({view, false, nullptr, nullptr});
        waited = waited || view->waited;
    }
    if (waited) { // all that was read may be another's
        for (grove_set_lock *lock : ms->locks)
            grove_set_lock_changed(lock);
        ms->stale = true;
        ms->flat.clear();
        grove::refresh(ms);
    }
    return 0;
}

int open_data(grove_ms *ms, const char *column, grove_error *error)
{
    int code = open_views(ms, column, ms->data, error);
    ms->column = column;
    for (size_t k = 0; k < ms->data.parts.size() && !code; k++) {
        grove::written_part &part = ms->data.parts[k];
        code = grove::open_column(part.to.get(), column, ms->data.tables.whole,
                                  grove::rows_to_write(ms, ms->data, k), ms, &part.is_new, error);
        if (code || !part.is_new)
            continue;
        part.flat = find_flat(ms, part.to->table, column, true);
        if (part.to->original.tableDesc().isColumn(column))
            part.old = find_flat(ms, part.to->original, column, false);
    }
    return code;
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
        return open_data(ms, column, error);
    });
}

extern "C" int grove_ms_prepare_flags(grove_ms *ms, grove_error *error)
{
    return grove::guard(ms->path, error, [&] {
        grove::written_column &flags = ms->written_flags;
        int code = open_views(ms, "FLAG", flags, error);
        for (size_t k = 0; k < flags.parts.size() && !code; k++)
            code = grove::open_flags(flags.parts[k].to.get(), grove::rows_to_write(ms, flags, k),
                                     error);
        if (code)
            flags.parts.clear();
        return code;
    });
}

extern "C" int grove_ms_prepare_weights(grove_ms *ms, grove_error *error)
{
    return grove::guard(ms->path, error, [&] {
        grove::written_column &weights = ms->written_weights;
        int code = open_views(ms, "WEIGHT", weights, error);
        const bool shown = weights.tables.whole && !weights.tables.forwarded;
        for (size_t k = 0; k < weights.parts.size() && !code; k++)
            code = grove::open_weights(weights.parts[k].to.get(), shown,
                                       grove::rows_to_write(ms, weights, k), ms, error);
        if (code)
            weights.parts.clear();
        return code;
    });
}

extern "C" bool grove_ms_has_flags_written(const grove_ms *ms)
{
    bool written = false;
    grove::guard(ms->path, nullptr, [&] {
        grove::refresh(const_cast<grove_ms *>(ms));
        grove::written_column flags = {grove::tables_of(ms->table, "FLAG"), {}};
        for (const std::string &folder : flags.tables.folders)
            flags.parts.push_back({grove::find_view(folder, ms->record), false, nullptr, nullptr});
        for (size_t k = 0; k < flags.parts.size(); k++) {
            grove::view *to = flags.parts[k].to.get();
            written =
                written || (to && grove::writes_flags_of(to, grove::rows_to_write(ms, flags, k)));
        }
        return 0;
    });
    return written;
}
