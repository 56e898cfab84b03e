// casacore's storage managers of columns.
#include "nodes/sets/measurement_set_private.h"

#include <casacore/tables/DataMan/StandardStMan.h>
#include <casacore/tables/DataMan/TiledColumnStMan.h>
#include <casacore/tables/DataMan/TiledShapeStMan.h>
#include <casacore/tables/DataMan/TiledStManAccessor.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <unistd.h>

using namespace casacore;

namespace
{
// Bytes of a tile: casacore keeps some in memory; each is one access to a file.
const int64_t max_tile = 16 << 20, min_tile = 64 << 10;

} // namespace

namespace grove
{
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
        if (found.isEqual(cell) && tile.size() == cell.size() + 1)
            return tile;
    }
    return IPosition();
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
        // a column with an unknown kind of storage can be read nevertheless
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

void empty_tiles(const std::string &table, int manager)
{
    const std::string start = "table.f" + (manager < 0 ? "" : std::to_string(manager) + "_TSM");
    char **names = grove_folder_read(table.c_str(), nullptr);
    int fault = names ? 0 : errno;
    for (char **name = names; name && *name; name++) {
        std::string file = *name, path = table + "/" + file;
        struct stat info;
        bool meant = file.compare(0, start.size(), start) == 0 && file.find("_TSM") < file.size();
        if (meant && !fault &&
            (stat(path.c_str(), &info) || truncate(path.c_str(), 0) ||
             truncate(path.c_str(), info.st_size)))
            fault = errno;
    }
    grove_folder_free(names);
    if (fault)
        throw AipsError(std::strerror(fault));
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
