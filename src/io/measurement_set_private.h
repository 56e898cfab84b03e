// What the parts of the casacore shim share.
#ifndef GROVE_IO_MEASUREMENT_SET_PRIVATE_H
#define GROVE_IO_MEASUREMENT_SET_PRIVATE_H

#include <casacore/casa/Exceptions/Error.h>
#include <casacore/ms/MeasurementSets/MeasurementSet.h>
#include <casacore/tables/Tables/ArrayColumn.h>
#include <casacore/tables/Tables/ScalarColumn.h>
#include <casacore/tables/Tables/Table.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <new>
#include <string>
#include <vector>

extern "C" {
#include "base/file.h"
#include "base/memory.h"
#include "base/text.h"
#include "base/unit.h"
#include "io/measurement_set.h"
}

namespace grove
{
void release_name(const std::string &name);
}

struct grove_ms {
    std::string path, temporary; // temporary: of a set that is being made
    casacore::Table table;       // null once closed
    grove_ms_layout *layout = nullptr;
    std::vector<int64_t> rows; // [times * baselines], -1: missing
    bool all_rows = false;     // the choice is the whole table
    bool created = false, overwrite = false;
    // the column that is being written
    std::string column, scratch;
    grove_ms_mode mode = GROVE_MS_REPLACE;
    // Something could not be written. The table must never be closed then: casacore writes what it
    // still holds, and what its destructors throw would end the process.
    bool broken = false;
    int64_t odd_samples = 0; // read; not finite, and not flagged
    bool settled = false;    // all is written; a set that was made is closed

    std::string reserved; // see grove::reserve_name
    std::string history;  // lines for HISTORY, written at the end

    ~grove_ms()
    {
        grove::release_name(reserved);
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
int check_block(const grove_ms *ms, const grove_ms_block *block, grove_error *error);

// Whether there is room for some megabytes in a file `probe`, which is removed again: the last
// bytes of a table are written by destructors, which must not fail.
int check_space(const std::string &path, const std::string &probe, grove_error *error);

// Adds a row to HISTORY: the first line is its message, all are its parameters. Nothing for an
// empty text, or where the set has no HISTORY that can be written.
void write_history(const casacore::Table &table, const std::string &text);

std::string scratch_name(const std::string &column);
std::string old_name(const std::string &column);
// Puts a set right whose last run died while it wrote or swapped columns: all that this process
// does not write itself, or the one that is its own.
void recover(casacore::Table &table, const std::string &own);
// Makes the column known as being written, until the handle goes; false when it was already.
bool reserve_name(grove_ms *ms, const std::string &column);
} // namespace grove

#endif
