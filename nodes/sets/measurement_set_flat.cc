// Cells of columns whose files have them one after the other: read and written without casacore's
// cache.
#include "nodes/sets/measurement_set_private.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <unistd.h>

using namespace casacore;

namespace
{
// Cells, and pieces of them, on their way from or to a file: not made anew for each access, since
// new memory costs more than the copy.
thread_local std::vector<char> buffer;

constexpr size_t MOST_PARTS = 512; // of one access; systems take at least 16, Linux 1024

// The next bytes of the parts from `first` on have been read or written.
void skip_parts(std::vector<iovec> &parts, size_t &first, size_t bytes)
{
    for (; bytes && bytes >= parts[first].iov_len; first++)
        bytes -= parts[first].iov_len;
    if (bytes) {
        parts[first].iov_base = static_cast<char *>(parts[first].iov_base) + bytes;
        parts[first].iov_len -= bytes;
    }
}

// Reads consecutive bytes of the file into the parts. `flags`: of preadv2.
bool read_parts(int file, std::vector<iovec> &parts, int64_t at, int flags)
{
    for (size_t first = 0; first < parts.size();) {
        int count = int(std::min(parts.size() - first, MOST_PARTS));
        ssize_t got = preadv2(file, &parts[first], count, off_t(at), flags);
        if (got == 0 || (got < 0 && errno != EINTR))
            return false;
        at += std::max(got, ssize_t(0));
        skip_parts(parts, first, size_t(std::max(got, ssize_t(0))));
    }
    return true;
}

// Writes the parts one after the other in the file.
void write_parts(int file, std::vector<iovec> &parts, int64_t at)
{
    for (size_t first = 0; first < parts.size();) {
        int count = int(std::min(parts.size() - first, MOST_PARTS));
        ssize_t now = pwritev(file, &parts[first], count, off_t(at));
        if (now == 0 || (now < 0 && errno != EINTR))
            throw AipsError(now ? std::strerror(errno) : "nothing could be written");
        at += std::max(now, ssize_t(0));
        skip_parts(parts, first, size_t(std::max(now, ssize_t(0))));
    }
}

// How many numbers from `first` on follow each other, at most `most`.
size_t run_of(const int64_t *numbers, size_t first, size_t most)
{
    size_t count = 1;
    while (count < most && numbers[first + count] == numbers[first] + int64_t(count))
        count++;
    return count;
}

// The same of cells whose pieces follow each other in the file.
size_t cells_together(const grove::flat_column &flat, const int64_t *cells, size_t first,
                      size_t most)
{
    if (flat.pieces > 1)
        most = std::min(most, size_t(flat.tile_rows - cells[first] % flat.tile_rows));
    return run_of(cells, first, most);
}

// Where piece p of a cell begins in the file.
int64_t place_of(const grove::flat_column &flat, int64_t cell, int64_t p)
{
    if (flat.pieces == 1)
        return cell * flat.cell;
    return (cell / flat.tile_rows * flat.pieces + p) * flat.tile +
           cell % flat.tile_rows * flat.piece;
}

// Bytes of a cell that piece p has.
int64_t bytes_in(const grove::flat_column &flat, int64_t p)
{
    return std::min(flat.piece, flat.cell - p * flat.piece);
}

// Rows of such a column that are read, in pieces that stay in the caches.
struct flat_rows {
    const grove::flat_column &flat;
    const std::vector<int64_t> &cells;
    char *to;
    const std::function<void(int64_t first, int64_t count)> &then;
    std::vector<char> done; // by piece

    int64_t step() const
    {
        return std::max(int64_t(1), int64_t(grove::PIECE) / flat.cell);
    }
    int64_t pieces() const
    {
        return (int64_t(cells.size()) + step() - 1) / step();
    }
    // `flags`: of preadv2.
    bool read(int64_t piece, int flags)
    {
        int64_t row = piece * step(), rows = std::min(step(), int64_t(cells.size()) - row);
        if (!grove::read_cells_of(flat, &cells[size_t(row)], rows, to + row * flat.cell, flags))
            return false;
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

const grove::flat_column &flat_of(grove_ms *ms, const char *column)
{
    auto found = ms->flat.find(column);
    if (found == ms->flat.end()) {
        found =
            ms->flat.emplace(std::piecewise_construct, std::make_tuple(column), std::make_tuple())
                .first;
        grove::open_flat(ms->table, column, grove::shape_of_cell(ms->table, ms->layout, column),
                         false, found->second);
    }
    return found->second;
}

constexpr size_t WRITTEN = 1 << 20; // bytes of rows that are written at once

// Rows of a list whose cells follow each other in the file.
struct written_rows {
    const grove::row_list &list;
    const int64_t *cells;
    size_t first, count;
    int64_t offset, bytes; // of each cell
    char *from;
};

// Whole cells, where tiles have them.
void write_cells(const grove::flat_column &to, const written_rows &rows)
{
    const size_t end = rows.first + rows.count;
    std::vector<iovec> parts;
    for (size_t k = rows.first, together; k < end; k += together) {
        together = run_of(rows.list.place.data(), k, end - k);
        parts.push_back({rows.from + rows.list.place[k] * rows.bytes, together * size_t(to.cell)});
    }
    write_parts(to.file, parts, place_of(to, rows.cells[rows.first], 0));
}

// The bytes [begin, end) of piece p of all those cells: all that it has of the cell.
void write_piece(const grove::flat_column &to, const written_rows &rows, int64_t p, int64_t begin,
                 int64_t end)
{
    const auto bytes = rows.count * size_t(to.piece);
    buffer.resize(std::max(buffer.size(), bytes));
    if (end - begin < to.piece) // there is room after the last piece
        std::memset(buffer.data(), 0, bytes);
    for (size_t k = 0; k < rows.count; k++)
        std::memcpy(&buffer[k * size_t(to.piece)],
                    rows.from + rows.list.place[rows.first + k] * rows.bytes + begin - rows.offset,
                    size_t(end - begin));
    std::vector<iovec> part{{buffer.data(), bytes}};
    write_parts(to.file, part, place_of(to, rows.cells[rows.first], p));
}

void write_rows(const grove::flat_column &to, const written_rows &rows)
{
    const int64_t last = rows.offset + rows.bytes;
    if (to.pieces == 1 && rows.bytes == to.cell)
        return write_cells(to, rows);
    for (int64_t p = rows.offset / to.piece; p * to.piece < last; p++) {
        const int64_t start = p * to.piece, begin = std::max(rows.offset, start);
        const int64_t end = std::min(last, start + bytes_in(to, p));
        if (end - begin == bytes_in(to, p)) {
            write_piece(to, rows, p, begin, end);
            continue;
        }
        for (size_t k = rows.first; k < rows.first + rows.count; k++) {
            std::vector<iovec> part{
                {rows.from + rows.list.place[k] * rows.bytes + begin - rows.offset,
                 size_t(end - begin)}};
            write_parts(to.file, part, place_of(to, rows.cells[k], p) + begin - start);
        }
    }
}

// How many cells from `first` on lie so near to each other that reading the bytes between them
// costs less than another access, at most `most`.
size_t cells_near(const grove::flat_column &flat, const int64_t *cells, size_t first, size_t most)
{
    constexpr int64_t gap = 4 << 10, all = 64 << 10; // bytes
    size_t count = 1;
    if (flat.pieces > 1)
        return count;
    while (count < most) {
        const int64_t next = cells[first + count], step = next - cells[first + count - 1];
        if (step < 1 || (step - 1) * flat.cell > gap || (next + 1 - cells[first]) * flat.cell > all)
            break;
        count++;
    }
    return count;
}

// Reads such cells with the bytes between them.
bool read_near(const grove::flat_column &flat, const int64_t *cells, size_t count, char *to,
               int flags)
{
    const auto bytes = size_t((cells[count - 1] + 1 - cells[0]) * flat.cell);
    buffer.resize(std::max(buffer.size(), bytes));
    std::vector<iovec> part{{buffer.data(), bytes}};
    if (!read_parts(flat.file, part, place_of(flat, cells[0], 0), flags))
        return false;
    for (size_t k = 0; k < count; k++)
        std::memcpy(to + int64_t(k) * flat.cell, &buffer[size_t((cells[k] - cells[0]) * flat.cell)],
                    size_t(flat.cell));
    return true;
}

// Writes `bytes` of the cells at this offset; the bytes of place p are at from + p * bytes.
void write_list(const grove::flat_column &to, const grove::row_list &list,
                const std::vector<int64_t> &cells, int64_t offset, int64_t bytes, const void *from)
{
    char *data = static_cast<char *>(const_cast<void *>(from));
    const size_t most = std::max<size_t>(1, WRITTEN / size_t(to.cell));
    for (size_t i = 0, count; i < cells.size(); i += count) {
        count = cells_together(to, cells.data(), i, std::min(most, cells.size() - i));
        write_rows(to, {list, cells.data(), i, count, offset, bytes, data});
    }
}

// Whether little of the file would be written at once.
bool lie_apart(const grove::flat_column &flat, const std::vector<int64_t> &cells)
{
    int64_t runs = 0;
    for (size_t i = 0, count; i < cells.size(); i += count, runs++)
        count = cells_together(flat, cells.data(), i, cells.size() - i);
    return runs > 1 && int64_t(cells.size()) * flat.cell < runs << 14;
}

// Keeps cells that lie apart until there are many: later cells may lie between them.
void keep_cells(grove::flat_column &to, const grove::row_list &list,
                const std::vector<int64_t> &cells, const char *from)
{
    const size_t most = std::max<size_t>(1, GROVE_MS_KEPT / size_t(to.cell));
    for (size_t i = 0; i < cells.size(); i++) {
        if (to.kept.size() == most)
            grove::flush_flat(to);
        const char *cell = from + list.place[i] * to.cell;
        to.kept.emplace_back(cells[i], int64_t(to.kept.size()));
        to.kept_data.insert(to.kept_data.end(), cell, cell + to.cell);
    }
}

// Cells whose pieces follow each other in the file.
bool read_together(const grove::flat_column &flat, int64_t cell, size_t count, char *to, int flags)
{
    const bool whole = flat.pieces == 1;
    buffer.resize(std::max(buffer.size(), whole ? 0 : count * size_t(flat.piece)));
    for (int64_t p = 0; p < flat.pieces; p++) {
        std::vector<iovec> part{{whole ? to : buffer.data(), count * size_t(flat.piece)}};
        if (!read_parts(flat.file, part, place_of(flat, cell, p), flags))
            return false;
        for (size_t k = 0; k < count && !whole; k++)
            std::memcpy(to + int64_t(k) * flat.cell + p * flat.piece,
                        &buffer[k * size_t(flat.piece)], size_t(bytes_in(flat, p)));
    }
    return true;
}
} // namespace

namespace grove
{
bool read_cells_of(const flat_column &flat, const int64_t *cells, int64_t count, void *to,
                   int flags)
{
    for (size_t i = 0, taken; i < size_t(count); i += taken) {
        char *here = static_cast<char *>(to) + int64_t(i) * flat.cell;
        const size_t most = size_t(count) - i, together = cells_together(flat, cells, i, most);
        const size_t near = cells_near(flat, cells, i, most);
        taken = std::max(together, near);
        if (near > together ? !read_near(flat, cells + i, near, here, flags)
                            : !read_together(flat, cells[i], together, here, flags))
            return false;
    }
    return true;
}

bool read_flat_rows(grove_ms *ms, const char *column, const std::vector<int64_t> &rows, void *to,
                    const std::function<void(int64_t first, int64_t count)> &then)
{
    const flat_column &flat = flat_of(ms, column);
    std::vector<int64_t> cells;
    if (flat.file < 0 || !find_cells(flat, rows, cells))
        return false;
    flat_rows all = {flat, cells, static_cast<char *>(to), then, {}};
    all.done.resize(size_t(all.pieces()));
    // Threads only copy pages that are in memory already: none waits for a disk.
    if (ms->parallel && all.pieces() > 1)
        ms->parallel(ms->parallel_context, all.pieces(), copy_pieces, &all);
    for (int64_t k = 0; k < all.pieces(); k++)
        if (!all.done[size_t(k)] && !all.read(k, 0))
            return false;
    return true;
}

void write_flat(flat_column &to, const row_list &list, int64_t offset, int64_t bytes,
                const void *from)
{
    std::vector<int64_t> cells;
    if (!find_cells(to, list.row, cells)) {
        size_t k = 0;
        while (k + 1 < list.row.size() && find_cells(to, {list.row[k]}, cells))
            k++;
        throw AipsError(
            "row " + std::to_string(list.row[k]) +
            " has no cell of the spectral window's shape in the column that is written");
    }
    if (bytes == to.cell && lie_apart(to, cells))
        keep_cells(to, list, cells, static_cast<const char *>(from));
    else
        write_list(to, list, cells, offset, bytes, from);
}

void flush_flat(flat_column &to)
{
    row_list list;
    std::vector<int64_t> cells;
    std::sort(to.kept.begin(), to.kept.end());
    for (const auto &each : to.kept) {
        cells.push_back(each.first);
        list.place.push_back(each.second);
    }
    write_list(to, list, cells, 0, to.cell, to.kept_data.data());
    to.kept.clear();
    to.kept_data.clear();
}
} // namespace grove
