// Declarations that the files of the casacore shim share.
#ifndef GROVE_NODES_SETS_MEASUREMENT_SET_PRIVATE_H
#define GROVE_NODES_SETS_MEASUREMENT_SET_PRIVATE_H

#include <casacore/casa/Exceptions/Error.h>
#include <casacore/ms/MeasurementSets/MeasurementSet.h>
#include <casacore/tables/Tables/ArrayColumn.h>
#include <casacore/tables/Tables/ScalarColumn.h>
#include <casacore/tables/Tables/Table.h>
#include <casacore/tables/Tables/TableDesc.h>

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <new>
#include <set>
#include <string>
#include <sys/stat.h>
#include <sys/uio.h>
#include <vector>

extern "C" {
#include "base/file.h"
#include "base/memory.h"
#include "base/text.h"
#include "base/unit.h"
#include "nodes/sets/measurement_set.h"
#include "nodes/sets/set_lock.h"
#include "nodes/sets/set_rows.h"
#include "unstable/record.h"
#include "unstable/threads.h"
}

namespace casacore
{
class TiledStMan;
}

namespace grove
{
// The content of table.dat, a table's description; all exceptions are casacore's.
struct table_dat {
    struct manager {
        casacore::String type;
        casacore::uInt number;
        std::vector<casacore::uChar> data; // that it keeps there
    };
    struct column {
        casacore::String original; // the name by which its manager knows it
        casacore::uInt manager = 0;
        bool has_shape = false; // all cells have this one
        casacore::IPosition shape;
    };
    casacore::uInt format = 0; // order of bytes in the managers' files
    casacore::TableDesc desc;
    casacore::Int option = 0, block_size = 0;
    casacore::uInt next = 0; // number of the manager that is added next
    std::vector<manager> managers;
    std::map<std::string, column> columns;

    // `folder`: of the table, relative to which its subtables are.
    void read(const std::string &path, const std::string &folder);
    int write(const std::string &path, const std::string &folder, uint64_t rows,
              grove_error *error) const;
    const manager *find(unsigned number) const;
    std::vector<std::string> columns_of(unsigned number) const;
    bool has_own_files() const; // each manager; else all are in one file
    // Takes these columns from `from`, with their managers, which replace managers of the same
    // numbers; managers without columns go.
    void take(const table_dat &from, const std::vector<std::string> &names);
    void clear(); // no column
    // Makes paths of tables that columns forward to relative to the table itself. False: there are
    // none.
    bool name_forwards(const std::string &folder);
};

// A plain table that a run writes into. The columns that are written, and all columns of the same
// managers, are a table of their own in the working folder: new, or copies of their files. Next to
// these are hard links to all other files. At the end the table.dat of all columns is written
// there, and the files that differ replace the table's files.
struct view {
    // A column that one or several of the run write, each other rows of it.
    struct column {
        std::string name;
        bool is_new;            // in files of its own; else in copies of its old files
        std::vector<bool> rows; // that are written
        int open = 0;           // its writers that have not settled yet
        bool filled = false;    // the other rows have their old cells
    };
    std::string folder;        // the table
    std::string work;          // the working folder; the new state is in TABLE there
    casacore::Table original;  // open for reading, but locked as for writing
    casacore::Table table;     // in the working folder
    uint64_t rows = 0;         // of the original
    uint64_t added = 0;        // to them
    bool has_own_files = true; // each of its managers
    grove_record *record = nullptr;
    std::vector<column> columns; // that are written: of visibilities, FLAG, and WEIGHT
    // Files of the table that were copied, as they were.
    std::vector<std::pair<std::string, struct stat>> copied;
    int open_columns = 0; // of them, not yet settled
    // Where the table's flags are kept if other flags are written; empty: nobody writes FLAG.
    std::string flags_work;
    bool flags_changed = false;
    // Something could not be written. The table must never be closed then: casacore writes all that
    // it still holds, and an exception of its destructors ends the process.
    bool broken = false;
    bool settled = false;
    bool waited = false; // for another program, which may have changed the table

    std::string prepared() const
    {
        return work + "/" GROVE_RECORD_TABLE;
    }
    ~view();
};

// A set that is being made, by all of a run that write a column of it. It is complete when all of
// them are settled.
struct new_set {
    std::string path; // without links
    std::string work; // the working folder; the set is TABLE there
    casacore::Table table;
    grove_ms_layout *layout = nullptr;
    grove_record *record = nullptr;
    std::vector<std::string> columns; // the first leads
    size_t open_columns = 0;          // of them, not yet settled
    bool replaces = false;            // a set of that name
    bool lost = false;                // one of its columns is not written
    bool broken = false;              // as in a view
    bool settled = false;

    ~new_set();
};

// The file of a column's cells of one shape, which can be read and written without casacore's cache
// of tiles. A tile has a part of the channels, with all correlations, of `tile_rows` cells; in a
// tile, and in the file where tiles have whole cells, they follow each other as in memory.
struct flat_column {
    // Rows whose cells follow each other.
    struct run {
        int64_t row, count, position; // position: the first one's, among the cells of the file
    };
    int file = -1; // -1: stored in another way
    std::string path;
    int64_t cell = 0;                // bytes of each
    int64_t pieces = 1, piece = 0;   // of a cell, each in another tile; bytes of each but the last
    int64_t tile_rows = 1, tile = 0; // cells that have a piece in a tile; bytes of it
    std::vector<run> runs;           // ascending; other rows have no cell, or one of another shape
    // Cells that are still to be written, and the place of each in `kept_data`.
    std::vector<std::pair<int64_t, int64_t>> kept;
    std::vector<char> kept_data;

    flat_column() = default;
    flat_column(const flat_column &) = delete;
    flat_column &operator=(const flat_column &) = delete;
    ~flat_column();
};

struct release_rows {
    void operator()(grove_set_rows *rows) const
    {
        grove_set_rows_release(rows);
    }
};

struct free_worker {
    void operator()(grove_worker *worker) const
    {
        grove_worker_free(worker); // waits for its jobs
    }
};

// The plain tables that have the cells of a column of a set.
struct cell_tables {
    std::vector<std::string> folders;
    // For each row of the set: the table, and the row there. Empty: the same row of the only one.
    std::vector<std::pair<int, int64_t>> place;
    bool whole = true;      // all their rows, in their order, and by no reference table
    bool forwarded = false; // by a column of another table
};

// A view into which some of the rows of an open set go.
struct written_part {
    std::shared_ptr<view> to;
    bool is_new = false; // the column has files of its own in the view
    // Of it, and of the column that it will replace; null: casacore writes, or reads.
    std::shared_ptr<flat_column> flat, old;
};

// A column that is written, in a view of each of the tables that have its cells.
struct written_column {
    cell_tables tables;
    std::vector<written_part> parts; // none: it is not written
};
} // namespace grove

struct grove_ms {
    std::string path;
    casacore::Table table; // null once closed
    grove_ms_layout *layout = nullptr;
    std::unique_ptr<grove_set_rows, grove::release_rows> rows;
    bool all_rows = false; // the choice is the whole table
    bool writable = false;
    grove_ms_part chosen = {};
    // Another has changed the set's tables: open it again before it is used.
    bool stale = false;
    std::vector<grove_set_lock *> locks;
    // Flags that were read last, for the other columns of the same block.
    struct {
        grove_ms_block block;
        bool packed;
        std::vector<std::string> columns; // that have taken them
        std::vector<unsigned char> at;
    } flags = {};
    std::map<std::string, grove::flat_column> flat; // by column, once it was read
    std::vector<char> apart;                        // buffer of rows not adjacent in the block
    grove_ms_parallel *parallel = nullptr;          // null: this thread alone reads
    void *parallel_context = nullptr;

    // for writing
    grove_record *record = nullptr;
    bool own_record = false;
    std::shared_ptr<grove::new_set> made; // null: the set exists
    // Of a new set: the column, WEIGHT_SPECTRUM and UVW; the column of a set that it will replace.
    grove::flat_column made_flat, made_weight, made_uvw, replaced;
    std::string column;
    grove_ms_mode mode = GROVE_MS_REPLACE;
    grove::written_column data, written_flags, written_weights; // of a set that exists
    int64_t nonfinite_samples = 0;                              // read; not finite, and not flagged
    bool settled = false;                                       // all is written and closed
    std::string history;        // lines for HISTORY, written at the end
    std::string history_folder; // HISTORY of a set that exists, or of its first table
    std::shared_ptr<grove::view> history_view; // HISTORY of a set that exists
    // Frees cached pages of the column that is replaced, while another thread writes.
    std::unique_ptr<grove_worker, grove::free_worker> forgetting;

    void close_views()
    {
        for (grove::written_column *each : {&data, &written_flags, &written_weights})
            each->parts.clear();
        made.reset();
        history_view.reset();
    }
    ~grove_ms()
    {
        close_views();
        if (own_record)
            grove_record_free(record);
        for (grove_set_lock *lock : locks)
            grove_set_lock_release(lock);
        grove_ms_layout_free(layout);
    }
};

namespace grove
{
// Runs `work`, turning every exception into a message "PATH: ..." and GROVE_IO.
int guard(const std::string &path, grove_error *error, const std::function<int()> &work);
// casacore's messages go to Grove's errors, not to the terminal.
void start_casacore();
std::string one_line(const std::string &text);

casacore::TableLock locking();
// The rows of a block that exist, ascending, and for each its place (time, baseline) in the block.
struct row_list {
    std::vector<int64_t> row, place;
};
row_list rows_of(const grove_ms *ms, const grove_ms_block *block);
// The same in the order of times and baselines.
row_list rows_by_time(const grove_ms *ms, const grove_ms_block *block);
// The rows of each time, after each other.
void each_time(const grove_ms *ms, const std::function<void(const row_list &rows)> &work);
// The factor that converts numbers of the column to `unit`, by the column's keyword.
double unit_of(const casacore::Table &table, const char *column, const char *unit);
// Whether the phase centre of a field changes with time.
bool moves(const casacore::Table &fields, int64_t field);
// How TIME is to be understood.
struct time_scale {
    double unit;         // s
    bool atomic;         // not UTC
    double after_atomic; // s
};
time_scale scale_of_time(const casacore::Table &table);
void to_utc(const time_scale &scale, double *time, size_t count);

// A row of DATA_DESCRIPTION.
struct description {
    int window, polarization;
};
// The polarizations that rows of the chosen field and window have.
std::set<int> polarizations_of(const grove_ms *ms, const std::vector<description> &descriptions);
// Finds the rows that are chosen, by the set's data descriptions and the layout's polarization;
// fills that part of the layout.
void index_rows(grove_ms *ms, const std::vector<description> &descriptions);
// "RR LL", of a row of POLARIZATION.
std::string correlations_of(const casacore::Table &polarizations, int row);
// Numbers the rows of a new set by times and baselines: all, or only pairs that have a row in
// `like`.
void number_rows(grove_ms *ms, const grove_ms *like);
// The rows of the list that table `number` has, with the numbers that they have there.
row_list rows_in(const cell_tables &tables, const row_list &list, size_t number);
// Rows of the view with this number that the set's choice has.
std::vector<bool> rows_to_write(const grove_ms *ms, const written_column &column, size_t number);
// Runs `work`, which writes. A full disk shows in casacore as any write error.
int guard_writing(grove_ms *ms, grove_error *error, const std::function<int()> &work);
int check_block(const grove_ms *ms, const grove_ms_block *block, grove_error *error);

// Keeps a table open until the process ends, see view::broken; a set with its subtables.
void never_close(const casacore::Table &table);
void never_close(std::unique_ptr<casacore::MeasurementSet> set);

// Adds a row to HISTORY: the first line is its message, all are its parameters. Nothing for an
// empty text, or where the set has no HISTORY that can be written.
int write_history(grove_ms *ms, grove_error *error);

// Whether there is room for some megabytes in the folder `work`: the last bytes of a table are
// written by destructors, which must not fail.
int check_space(const std::string &path, const std::string &work, grove_error *error);

// Locks the set and its tables, puts right unfinished changes of a run that died, and opens it.
int open_table(grove_ms *ms, grove_error *error);
// Sets the record: of the run, or null: one of its own.
void set_record(grove_ms *ms, grove_record *record);
// Opens the set again if another has changed it; fails when it is not the same set any more.
void refresh(grove_ms *ms);
// Whether a table has its rows itself, though maybe not all of their cells.
bool is_plain(const casacore::Table &table);
// The plain tables that a table consists of but for itself.
std::set<std::string> others_of(const casacore::Table &table);
// Of a column with a forwarding manager: the table that it forwards to.
constexpr const char *FORWARD_KEYWORD = "_ForwardColumn_TableName";
// Where the cells of a column are, or would be if it were made.
cell_tables tables_of(const casacore::Table &table, const std::string &column);

// The storage manager of a column: TYPE, NAME, SEQNR, SPEC and COLUMNS.
casacore::Record manager_of(const casacore::Table &table, const std::string &column);
// The tiled manager of a column; null: it is none, or has other columns, too.
casacore::TiledStMan *tiled_manager(const casacore::Table &table, const std::string &column);
// Where parts of tiles are read, casacore keeps as many as it would need to read each tile once,
// which may be the whole set: at most some MiB of each column.
void limit_caches(const casacore::Table &table);
// Sets how DATA is stored.
void read_storage(const casacore::Table &table, grove_ms_layout *layout);
// Opens the file of a column's cells of a shape if it is flat: TiledColumnStMan or TiledShapeStMan
// have it alone, in tiles of whole correlations, with this machine's order of bytes. `writes`: to
// write, where the file has all its tiles.
void open_flat(const casacore::Table &table, const std::string &column,
               const casacore::IPosition &shape, bool writes, flat_column &flat);
// The shape of the cells of a column, visibilities or coordinates.
casacore::IPosition shape_of_cell(const casacore::Table &table, const grove_ms_layout *layout,
                                  const std::string &column);
// The places in the file of the cells of ascending rows. False: one of them has none.
bool find_cells(const flat_column &flat, const std::vector<int64_t> &rows,
                std::vector<int64_t> &cells);
// Reads whole cells at these places in the file into `to`, one after the other. `flags`: of
// preadv2. False: they cannot be read.
bool read_cells_of(const flat_column &flat, const int64_t *cells, int64_t count, void *to,
                   int flags = 0);
// Reads numbers of a column, or bits of FLAG, of ascending rows, all channels, from its file. False
// if it is not flat, or cannot be read so. Calls then(first, count) for some of them, by their
// places in `rows`, soon after they were read, in any thread of grove_ms_set_parallel.
bool read_flat_rows(grove_ms *ms, const char *column, const std::vector<int64_t> &rows, void *to,
                    const std::function<void(int64_t first, int64_t count)> &then = nullptr);
// Writes `bytes` of each row of the list at this offset in its cell; the bytes of place p are at
// from + p * bytes. All rows have cells. Whole cells that lie apart may be kept until flush_flat:
// GROVE_MS_KEPT bytes at most.
void write_flat(flat_column &to, const row_list &list, int64_t offset, int64_t bytes,
                const void *from);
void flush_flat(flat_column &to);
// The tile of the cubes that have cells of this shape; empty: there are none.
casacore::IPosition tile_in(const casacore::Record &manager, const casacore::IPosition &cell);
// Bytes that are read at once: they stay in the caches.
constexpr size_t PIECE = 1 << 20;
// A manager for visibilities of a new set, as the layout says, and the tiles that it has.
std::unique_ptr<casacore::DataManager> make_manager(const grove_ms_layout *layout,
                                                    const std::string &name);
casacore::IPosition tile_of(const grove_ms_layout *layout);

// The view of the run on a plain table: made, or the one that it has already for another column.
std::shared_ptr<view> open_view(const std::string &folder, grove_record *record,
                                grove_error *error);
// The view that the run has on a table; null: none.
std::shared_ptr<view> find_view(const std::string &folder, const grove_record *record);
// A view of a small table in which anything may be written; null where the run has one already.
std::shared_ptr<view> open_whole(const std::string &folder, grove_record *record,
                                 grove_error *error);
// The table of a new set: all but coordinates and weights; visibilities are 0, and not flagged. It
// has DATA and `column`. `like`: the set whose rows it has, whose exposures and states are theirs;
// may be null.
casacore::Table make_table(const std::string &path, const grove_ms_layout *layout,
                           const grove_set_rows *rows, const std::string &column,
                           const grove_ms *like);
// A table to add columns and rows to: once it is closed, files of new tiled columns have their
// whole length, without casacore's cache of tiles, which would write zeros, also over cells written
// by then. `lock`: none for a view, which is in a folder that is locked; casacore syncs its lock
// file.
casacore::Table open_to_extend(const std::string &path, casacore::TableLock::LockOption lock);
casacore::Table open_to_write(const std::string &path, casacore::TableLock::LockOption lock);
// Frees the blocks of the files of tiles of a closed table, which keep their length, and read as
// zeros. `manager`: its number; -1: all of them. Nothing in these files is needed.
void empty_tiles(const std::string &table, int manager);
void add_data_column(casacore::Table &table, const grove_ms_layout *layout,
                     const std::string &column);
// Settles a column of a new set. The last one also closes the set: the record will give it its
// name.
int settle_new(grove_ms *ms, grove_error *error);
// Throws unless table.info of a table that is closed has this type: casacore does not notice when
// it cannot be written.
void check_info(const std::string &folder, const std::string &type);

// Flushes and closes the view's table; the caller opens it again.
void close_table(view *to);
// The view's table has the columns of the original's manager with this number from now on, in
// copies of its files, if it has not yet: one of them may be written.
int own_files(view *to, unsigned number, grove_error *error);
// Closes a view whose table is complete: the record will put its files in place.
int settle_view(view *to, grove_error *error);
// Prepares `column` of a view for writing these rows: in files of its own, or in copies of its
// files. Writers of other rows share it. `whole`: all rows are the set's.
int open_column(view *to, const std::string &column, bool whole, const std::vector<bool> &rows,
                const grove_ms *ms, bool *is_new, grove_error *error);
// Rows of the column that nobody writes get their old cells, once, when all writers are known.
void fill_rest(view *to, const std::string &column, const grove_ms *ms);
// Prepares a column of a view for writing, in a copy of its files.
int open_copied(view *to, const std::string &column, const std::vector<bool> &rows,
                grove_error *error);
// Prepares FLAG of a view for writing, in a copy of its files; writers of other rows share it.
// Settled under the same name.
int open_flags(view *to, const std::vector<bool> &rows, grove_error *error);
// Whether somebody writes one of these rows of FLAG in a view.
bool writes_flags_of(view *to, const std::vector<bool> &rows);
// A working folder for the flags that are replaced, see measurement_set_flags.cc. Before anything
// is written: it may not be possible.
int open_kept_flags(view *to, grove_error *error);
// The table's flags, where the view's differ: the record will put them in place.
int keep_flags(view *to, grove_error *error);
// The same of WEIGHT, and of WEIGHT_SPECTRUM, which is made where there is none if that is `shown`
// by the set. Settled as WEIGHT.
int open_weights(view *to, bool shown, const std::vector<bool> &rows, const grove_ms *ms,
                 grove_error *error);
// One has written its rows of a column; the last one of all also closes the view.
int settle_column(view *to, const std::string &column, grove_error *error);
} // namespace grove

#endif
