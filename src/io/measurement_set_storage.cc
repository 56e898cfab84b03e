// casacore's storage managers of columns.
#include "io/measurement_set_private.h"

#include <casacore/tables/DataMan/StandardStMan.h>
#include <casacore/tables/DataMan/TiledColumnStMan.h>
#include <casacore/tables/DataMan/TiledShapeStMan.h>
#include <casacore/tables/DataMan/TiledStManAccessor.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <fcntl.h>
#include <sys/uio.h>
#include <unistd.h>

using namespace casacore;

namespace
{
// Bytes of a tile: casacore keeps some in memory; each is one access to a file.
const int64_t max_tile = 16 << 20, min_tile = 64 << 10;

// The tile of the cubes that have cells of this shape; empty: there are none.
IPosition tile_in(const Record &manager, const IPosition &cell)
{
    Record spec(manager.asRecord("SPEC"));
    if (!spec.isDefined("HYPERCUBES"))
        return IPosition();
    Record cubes(spec.asRecord("HYPERCUBES"));
    for (uInt i = 0; i < cubes.nfields(); i++) {
        const Record &cube = cubes.subRecord(i);
        IPosition found(Vector<Int>(cube.toArrayInt("CellShape")));
        IPosition tile(Vector<Int>(cube.toArrayInt("TileShape")));
        if (found.isEqual(cell) && tile.size() == 3)
            return tile;
    }
    return IPosition();
}

// Bytes of a cell in the file of a column; 0: they do not end with it, or this is no such column.
int64_t bytes_of_cell(const grove_ms *ms, const ColumnDesc &column)
{
    int64_t count = ms->layout->channels * ms->layout->correlations;
    switch (column.dataType()) {
    case TpComplex:
        return count * int64_t(sizeof(Complex));
    case TpFloat:
        return count * int64_t(sizeof(Float));
    case TpBool:
        return count % 8 ? 0 : count / 8;
    default:
        return 0;
    }
}

// The number of a manager whose file has cells of this column one after the other; -1 for others.
int flat_manager(const grove_ms *ms, const std::string &column, int64_t cell)
{
    Record manager(grove::manager_of(ms->table, column));
    if (manager.asString("TYPE") != "TiledColumnStMan" ||
        manager.asArrayString("COLUMNS").size() != 1)
        return -1;
    IPosition shape(2, ms->layout->correlations, ms->layout->channels);
    IPosition tile(tile_in(manager, shape));
    if (tile.size() != 3 || tile[0] != shape[0] || tile[1] != shape[1])
        return -1;
    Record cubes(manager.asRecord("SPEC").asRecord("HYPERCUBES"));
    bool fits = cubes.nfields() == 1 &&
                int64_t(cubes.subRecord(0).asInt("BucketSize")) == cell * int64_t(tile[2]);
    return fits ? int(manager.asuInt("SEQNR")) : -1;
}

void open_flat(const grove_ms *ms, const std::string &column, grove::flat_column &flat)
{
    const Table &table = ms->table;
    const uint16_t one = 1;
    bool little = *reinterpret_cast<const unsigned char *>(&one) == 1;
    int64_t cell = 0;
    if (!table.isRootTable() || grove::roots_of(table).size() != 1 ||
        (table.endianFormat() == Table::LittleEndian) != little)
        return;
    cell = bytes_of_cell(ms, table.tableDesc().columnDesc(column));
    int number = cell ? flat_manager(ms, column, cell) : -1;
    if (number < 0)
        return;
    std::string path =
        std::string(table.tableName()) + "/table.f" + std::to_string(number) + "_TSM0";
    flat.file = open(path.c_str(), O_RDONLY | O_CLOEXEC);
    flat.rows = int64_t(table.nrow());
}

// Rows of such a column that are read, in pieces that stay in the caches.
struct flat_rows {
    int file;
    int64_t cell, first, count; // bytes; rows
    char *to;
    const std::function<void(int64_t first, int64_t count)> &then;
    std::vector<char> done; // by piece

    int64_t step() const
    {
        return std::max(int64_t(1), int64_t(grove::PIECE) / cell);
    }
    int64_t pieces() const
    {
        return (count + step() - 1) / step();
    }
    // `flags`: of preadv2.
    bool read(int64_t piece, int flags)
    {
        int64_t row = piece * step(), rows = std::min(step(), count - row), bytes = rows * cell;
        for (int64_t have = 0; have < bytes;) {
            iovec part = {to + row * cell + have, size_t(bytes - have)};
            ssize_t got = preadv2(file, &part, 1, off_t((first + row) * cell + have), flags);
            if (got > 0)
                have += got;
            else if (got == 0 || errno != EINTR)
                return false;
        }
        if (then)
            then(row, rows);
        return true;
    }
};

void copy_pieces(void *context, int64_t first, int64_t last)
{
    flat_rows *all = static_cast<flat_rows *>(context);
    for (int64_t k = first; k < last; k++)
        all->done[size_t(k)] = all->read(k, RWF_NOWAIT);
}
} // namespace

namespace grove
{
flat_column::~flat_column()
{
    if (file >= 0)
        close(file);
}

bool read_flat(grove_ms *ms, const char *column, int64_t first, int64_t count, void *to,
               const std::function<void(int64_t first, int64_t count)> &then)
{
    auto found = ms->flat.find(column);
    if (found == ms->flat.end()) {
        found =
            ms->flat.emplace(std::piecewise_construct, std::make_tuple(column), std::make_tuple())
                .first;
        open_flat(ms, column, found->second);
    }
    if (found->second.file < 0 || first + count > found->second.rows)
        return false;
    int64_t cell = bytes_of_cell(ms, ms->table.tableDesc().columnDesc(column));
    flat_rows all = {found->second.file, cell, first, count, static_cast<char *>(to), then, {}};
    all.done.resize(size_t(all.pieces()));
    // Threads only copy what is in memory already: none waits for a disk.
    if (ms->parallel && all.pieces() > 1)
        ms->parallel(ms->parallel_context, all.pieces(), copy_pieces, &all);
    for (int64_t k = 0; k < all.pieces(); k++)
        if (!all.done[size_t(k)] && !all.read(k, 0))
            return false;
    return true;
}

Record manager_of(const Table &table, const std::string &column)
{
    Record managers(table.dataManagerInfo());
    for (uInt i = 0; i < managers.nfields(); i++) {
        const Record &manager = managers.subRecord(i);
        for (const String &each : Vector<String>(manager.asArrayString("COLUMNS")))
            if (each == String(column))
                return manager;
    }
    throw AipsError("no storage manager has column " + column);
}

void limit_caches(const Table &table)
{
    const unsigned most = 2; // MiB of each column
    Record managers(table.dataManagerInfo());

    for (uInt i = 0; i < managers.nfields(); i++)
        try {
            const Record &manager = managers.subRecord(i);
            if (manager.asString("TYPE").startsWith("Tiled"))
                ROTiledStManAccessor(table, manager.asString("NAME")).setMaximumCacheSize(most);
        } catch (const AipsError &) {
            // a table that has none of its own
        }
}

void read_storage(const Table &table, grove_ms_layout *layout)
{
    try {
        Record manager(manager_of(table, "DATA"));
        String type(manager.asString("TYPE"));
        IPosition tile(tile_in(manager, IPosition(2, layout->correlations, layout->channels)));
        snprintf(layout->manager, sizeof(layout->manager), "%s", type.c_str());
        for (size_t k = 0; k < tile.size(); k++)
            layout->tile[k] = tile[k];
    } catch (const std::exception &) {
        // whoever stores it in a way of its own can be read nevertheless
    }
}

IPosition tile_of(const grove_ms_layout *layout)
{
    int64_t correlations = layout->correlations, channels = layout->channels;
    int64_t rows = std::max(int64_t(1), (1 << 20) / (correlations * channels * 8));
    int64_t first = std::min(correlations, layout->tile[0]);
    int64_t second = std::min(channels, layout->tile[1]), third = layout->tile[2];
    bool fits = first > 0 && second > 0 && third > 0 && third <= max_tile &&
                first * second <= max_tile && first * second * third * 8 <= max_tile;
    // smaller ones only where they have the whole
    fits = fits && (first * second * third * 8 >= min_tile ||
                    (first == correlations && second == channels &&
                     third >= layout->times * layout->baselines));
    return fits ? IPosition(3, first, second, third) : IPosition(3, correlations, channels, rows);
}

std::unique_ptr<DataManager> make_manager(const grove_ms_layout *layout, const std::string &name)
{
    std::string kind = layout->manager;
    IPosition tile(tile_of(layout));
    if (kind == "TiledShapeStMan")
        return std::unique_ptr<DataManager>(new TiledShapeStMan(name, tile));
    if (kind == "StandardStMan")
        return std::unique_ptr<DataManager>(new StandardStMan(name));
    return std::unique_ptr<DataManager>(new TiledColumnStMan(name, tile));
}
} // namespace grove
