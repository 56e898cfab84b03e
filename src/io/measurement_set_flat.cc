// Columns whose file has their rows one after the other: read and written without casacore's cache.
#include "io/measurement_set_private.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <unistd.h>

using namespace casacore;

namespace
{
// The shape of a cell: that of visibilities, or coordinates.
IPosition shape_of_cell(const grove_ms_layout *layout, const ColumnDesc &column)
{
    return column.dataType() == TpDouble ? IPosition(1, 3)
                                         : IPosition(2, layout->correlations, layout->channels);
}

// Bytes of a cell in the file of a column; 0: they do not end with it, or this is no such column.
int64_t bytes_of_cell(const grove_ms_layout *layout, const ColumnDesc &column)
{
    int64_t count = shape_of_cell(layout, column).product();
    switch (column.dataType()) {
    case TpDouble:
        return count * int64_t(sizeof(Double));
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
// *bytes: of all tiles.
int flat_manager(const Table &table, const grove_ms_layout *layout, const std::string &column,
                 int64_t cell, int64_t *bytes)
{
    Record manager(grove::manager_of(table, column));
    if (manager.asString("TYPE") != "TiledColumnStMan" ||
        manager.asArrayString("COLUMNS").size() != 1)
        return -1;
    IPosition shape(shape_of_cell(layout, table.tableDesc().columnDesc(column)));
    IPosition tile(grove::tile_in(manager, shape));
    if (tile.size() != shape.size() + 1 || !tile.getFirst(shape.size()).isEqual(shape))
        return -1;
    const int64_t rows = tile.last();
    Record cubes(manager.asRecord("SPEC").asRecord("HYPERCUBES"));
    bool fits =
        cubes.nfields() == 1 && int64_t(cubes.subRecord(0).asInt("BucketSize")) == cell * rows;
    *bytes = (int64_t(table.nrow()) + rows - 1) / rows * rows * cell;
    return fits ? int(manager.asuInt("SEQNR")) : -1;
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

constexpr size_t MOST_PARTS = 512; // of one write; systems take at least 16, Linux 1024

// Writes the parts one after the other in the file.
void write_parts(int file, std::vector<iovec> &parts, int64_t at)
{
    for (size_t first = 0; first < parts.size();) {
        int count = int(std::min(parts.size() - first, MOST_PARTS));
        ssize_t now = pwritev(file, &parts[first], count, off_t(at));
        if (now == 0 || (now < 0 && errno != EINTR))
            throw AipsError(now ? std::strerror(errno) : "nothing could be written");
        size_t left = now > 0 ? size_t(now) : 0;
        at += int64_t(left);
        for (; left && left >= parts[first].iov_len; first++)
            left -= parts[first].iov_len;
        if (left) {
            parts[first].iov_base = static_cast<char *>(parts[first].iov_base) + left;
            parts[first].iov_len -= left;
        }
    }
}

constexpr size_t WRITTEN = 1 << 20; // bytes of rows that are written at once

// How many rows from `first` on follow each other in the file, at most `most`.
size_t run_of(const std::vector<int64_t> &numbers, size_t first, size_t most)
{
    size_t count = 1;
    while (count < most && first + count < numbers.size() &&
           numbers[first + count] == numbers[first] + int64_t(count))
        count++;
    return count;
}
} // namespace

namespace grove
{
flat_column::~flat_column()
{
    if (file >= 0)
        close(file);
}

void open_flat(const Table &table, const grove_ms_layout *layout, const std::string &column,
               bool writes, flat_column &flat)
{
    const uint16_t one = 1;
    bool little = *reinterpret_cast<const unsigned char *>(&one) == 1;
    int64_t bytes = 0;
    struct stat info;
    if (!table.isRootTable() || roots_of(table).size() != 1 ||
        (table.endianFormat() == Table::LittleEndian) != little)
        return;
    int64_t cell = bytes_of_cell(layout, table.tableDesc().columnDesc(column));
    int number = cell ? flat_manager(table, layout, column, cell, &bytes) : -1;
    if (number < 0)
        return;
    std::string path =
        std::string(table.tableName()) + "/table.f" + std::to_string(number) + "_TSM0";
    flat.file = open(path.c_str(), (writes ? O_RDWR : O_RDONLY) | O_CLOEXEC);
    flat.rows = int64_t(table.nrow());
    flat.cell = cell;
    // casacore would fill what is still missing, and what is there with it
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

bool read_flat(grove_ms *ms, const char *column, int64_t first, int64_t count, void *to,
               const std::function<void(int64_t first, int64_t count)> &then)
{
    auto found = ms->flat.find(column);
    if (found == ms->flat.end()) {
        found =
            ms->flat.emplace(std::piecewise_construct, std::make_tuple(column), std::make_tuple())
                .first;
        open_flat(ms->table, ms->layout, column, false, found->second);
    }
    const flat_column &flat = found->second;
    if (flat.file < 0 || first + count > flat.rows)
        return false;
    flat_rows all = {flat.file, flat.cell, first, count, static_cast<char *>(to), then, {}};
    all.done.resize(size_t(all.pieces()));
    // Threads only copy what is in memory already: none waits for a disk.
    if (ms->parallel && all.pieces() > 1)
        ms->parallel(ms->parallel_context, all.pieces(), copy_pieces, &all);
    for (int64_t k = 0; k < all.pieces(); k++)
        if (!all.done[size_t(k)] && !all.read(k, 0))
            return false;
    return true;
}

bool read_flat_rows(grove_ms *ms, const char *column, const std::vector<int64_t> &rows, void *to,
                    const std::function<void(int64_t first, int64_t count)> &then)
{
    for (size_t i = 0, count; i < rows.size(); i += count) {
        count = run_of(rows, i, rows.size());
        int64_t cell = i ? ms->flat.find(column)->second.cell : 0;
        std::function<void(int64_t, int64_t)> shifted;
        if (then)
            shifted = [&](int64_t first, int64_t n) { then(int64_t(i) + first, n); };
        if (!read_flat(ms, column, rows[i], int64_t(count),
                       static_cast<char *>(to) + int64_t(i) * cell, shifted))
            return false;
    }
    return true;
}

void write_flat(flat_column &to, const row_list &list, int64_t offset, int64_t bytes,
                const void *from)
{
    char *data = static_cast<char *>(const_cast<void *>(from));
    const size_t most = bytes == to.cell ? std::max<size_t>(1, WRITTEN / size_t(bytes)) : 1;
    for (size_t i = 0, count; i < list.row.size(); i += count) {
        count = run_of(list.row, i, most);
        to.parts.clear();
        for (size_t k = i, together; k < i + count; k += together) {
            together = run_of(list.place, k, i + count - k);
            to.parts.push_back({data + list.place[k] * bytes, together * size_t(bytes)});
        }
        write_parts(to.file, to.parts, list.row[i] * to.cell + offset);
    }
}
} // namespace grove
