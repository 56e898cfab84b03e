// The places of the cells of a tiled column in its file.
#include "nodes/sets/measurement_set_private.h"

#include <casacore/tables/DataMan/TSMCube.h>
#include <casacore/tables/DataMan/TSMFile.h>
#include <casacore/tables/DataMan/TiledStMan.h>

#include <algorithm>
#include <fcntl.h>
#include <unistd.h>

using namespace casacore;

namespace
{
// Members of a cube of tiles that only derived classes may read.
struct cube_place : TSMCube {
    static int64_t offset(const TSMCube &cube)
    {
        return cube.*(&cube_place::fileOffset_p);
    }
    // The number of its file; -1: it has none.
    static int64_t file(const TSMCube &cube)
    {
        const TSMFile *file = cube.*(&cube_place::filePtr_p);
        return file ? file->sequenceNumber() : -1;
    }
};

// Bits of a number; 0: of no such column.
int64_t bits_of(DataType type)
{
    switch (type) {
    case TpDouble:
    case TpComplex:
        return 64;
    case TpFloat:
        return 32;
    case TpBool:
        return 1;
    default:
        return 0;
    }
}

// The only cube that has cells of this shape; null: there is none.
TSMCube *cube_of(TiledStMan *manager, const IPosition &shape)
{
    TSMCube *found = nullptr;
    for (uInt i = 0; i < manager->nhypercubes(); i++) {
        TSMCube *cube = manager->getTSMCube(i);
        if (!cube || cube->cubeShape().size() != shape.size() + 1 ||
            !cube->cellShape().isEqual(shape))
            continue;
        if (found)
            return nullptr;
        found = cube;
    }
    return found;
}

// Sets how cells are divided among tiles. False: they do not begin and end with bytes, or are
// divided otherwise.
bool find_pieces(const TSMCube *cube, const IPosition &shape, int64_t bits,
                 grove::flat_column &flat)
{
    const IPosition &tile = cube->tileShape();
    const size_t divided = shape.size() - 1;
    if (tile.size() != shape.size() + 1 || tile.last() < 1 || tile.product() < 1 ||
        tile[divided] > shape[divided])
        return false;
    for (size_t k = 0; k < divided; k++)
        if (tile[k] != shape[k])
            return false;
    const int64_t cell = shape.product() * bits, piece = tile.product() / tile.last() * bits;
    if (!cell || cell % 8 || piece % 8)
        return false;
    flat.cell = cell / 8;
    flat.piece = piece / 8;
    flat.pieces = (cell + piece - 1) / piece;
    flat.tile_rows = tile.last();
    flat.tile = flat.piece * flat.tile_rows;
    return flat.tile == int64_t(cube->bucketSize());
}

void find_runs(TiledStMan *manager, const TSMCube *cube, int64_t rows, grove::flat_column &flat)
{
    IPosition place;
    for (int64_t row = 0; row < rows; row++) {
        if (manager->getHypercube(rownr_t(row), place) != cube)
            continue;
        const int64_t position = place.last();
        grove::flat_column::run *last = flat.runs.empty() ? nullptr : &flat.runs.back();
        if (last && last->row + last->count == row && last->position + last->count == position)
            last->count++;
        else
            flat.runs.push_back({row, 1, position});
    }
}
} // namespace

namespace grove
{
flat_column::~flat_column()
{
    if (file >= 0)
        close(file);
}

TiledStMan *tiled_manager(const Table &table, const std::string &column)
{
    Record manager(manager_of(table, column));
    String type(manager.asString("TYPE"));
    if ((type != "TiledColumnStMan" && type != "TiledShapeStMan") ||
        manager.asArrayString("COLUMNS").size() != 1)
        return nullptr;
    return dynamic_cast<TiledStMan *>(table.findDataManager(column, True));
}

IPosition shape_of_cell(const Table &table, const grove_ms_layout *layout,
                        const std::string &column)
{
    return table.tableDesc().columnDesc(column).dataType() == TpDouble
               ? IPosition(1, 3)
               : IPosition(2, layout->correlations, layout->channels);
}

void open_flat(const Table &table, const std::string &column, const IPosition &shape, bool writes,
               flat_column &flat)
{
    const uint16_t one = 1;
    bool little = *reinterpret_cast<const unsigned char *>(&one) == 1;
    struct stat info;
    if (!is_plain(table) || (table.endianFormat() == Table::LittleEndian) != little)
        return;
    TiledStMan *manager = tiled_manager(table, column);
    TSMCube *cube = manager ? cube_of(manager, shape) : nullptr;
    const int64_t bits = bits_of(table.tableDesc().columnDesc(column).dataType());
    if (!cube || !find_pieces(cube, shape, bits, flat) || cube_place::offset(*cube) ||
        cube_place::file(*cube) < 0)
        return;
    find_runs(manager, cube, int64_t(table.nrow()), flat);
    flat.path = std::string(table.tableName()) + "/table.f" +
                std::to_string(manager->sequenceNr()) + "_TSM" +
                std::to_string(cube_place::file(*cube));
    flat.file = open(flat.path.c_str(), (writes ? O_RDWR : O_RDONLY) | O_CLOEXEC);
    const int64_t tiles = (cube->cubeShape().last() + flat.tile_rows - 1) / flat.tile_rows;
    const int64_t bytes = tiles * flat.pieces * flat.tile;
    // casacore would fill missing tiles, and overwrite existing ones
    if (writes && flat.file >= 0 && (fstat(flat.file, &info) || info.st_size < bytes)) {
        close(flat.file);
        flat.file = -1;
    }
#ifdef FALLOC_FL_KEEP_SIZE
    // all rows will be written: with its room reserved at once each write costs less
    if (writes && flat.file >= 0)
        (void)!fallocate(flat.file, 0, 0, bytes);
#endif
}

bool find_cells(const flat_column &flat, const std::vector<int64_t> &rows,
                std::vector<int64_t> &cells)
{
    size_t k = 0; // the run of the row before
    cells.resize(rows.size());
    for (size_t i = 0; i < rows.size(); i++) {
        const int64_t row = rows[i];
        if (k >= flat.runs.size() || row < flat.runs[k].row ||
            row >= flat.runs[k].row + flat.runs[k].count) {
            auto after = std::upper_bound(
                flat.runs.begin(), flat.runs.end(), row,
                [](int64_t number, const flat_column::run &run) { return number < run.row; });
            if (after == flat.runs.begin())
                return false;
            k = size_t(after - flat.runs.begin()) - 1;
            if (row >= flat.runs[k].row + flat.runs[k].count)
                return false;
        }
        cells[i] = flat.runs[k].position + row - flat.runs[k].row;
    }
    return true;
}
} // namespace grove
