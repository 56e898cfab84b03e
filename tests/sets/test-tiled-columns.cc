// Columns in tiles as programs other than Grove make them: several cubes, rows that do not stand in
// their order, cells without arrays, tiles of a part of the channels. Read and written without
// casacore's tiles, and compared with what casacore reads.
#include "grove.h"
#include "nodes/sets/measurement_set_private.h"
#include "random-set.h"

#include <casacore/casa/Logging/LogFilter.h>
#include <casacore/casa/Logging/LogSink.h>
#include <casacore/casa/Logging/NullLogSink.h>
#include <casacore/tables/DataMan/TiledShapeStMan.h>
#include <casacore/tables/Tables/ArrColDesc.h>
#include <casacore/tables/Tables/ArrayColumn.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <filesystem>
#include <memory>

using namespace casacore;

namespace
{
grove_library *library;
int failures;

void expect(bool good, const std::string &what)
{
    if (!good) {
        std::printf("FAIL: %s\n", what.c_str());
        failures++;
    }
}

struct storage {
    const char *name;
    IPosition tile;
    bool flat;     // as Grove must find it
    bool in_order; // rows get their places by their numbers
};

// Two windows of 6 and 10 channels by turns, of 4 correlations.
const storage storages[] = {
    {"whole cells", IPosition(3, 4, 10, 7), true, true},
    {"whole cells out of order", IPosition(3, 4, 10, 4), true, false},
    {"pieces with room", IPosition(3, 4, 4, 5), true, true},
    {"pieces out of order", IPosition(3, 4, 4, 3), true, false},
    {"one channel", IPosition(3, 4, 1, 11), true, true},
    {"divided correlations", IPosition(3, 2, 4, 5), false, true},
};
constexpr int WINDOWS = 2, TIMES = 5, STATIONS = 5;
const int channels[WINDOWS] = {6, 10};

random_set describe()
{
    random_set set = {};
    set.seed = 1;
    set.name = "a.ms";
    set.fields = {"field"};
    set.setups = {{9, 10, 11, 12}};
    set.data = RANDOM_TILED_SHAPE;
    set.flag = set.model = RANDOM_STANDARD;
    for (int k = 0; k < STATIONS; k++)
        set.stations.push_back("s" + std::to_string(k));
    for (int w = 0; w < WINDOWS; w++) {
        set.windows.push_back({});
        for (int f = 0; f < channels[w]; f++) {
            set.windows.back().frequency.push_back(1e9 + 1e8 * w + 1e6 * f);
            set.windows.back().width.push_back(1e6);
        }
        set.descriptions.emplace_back(w, 0);
    }
    for (int t = 0; t < TIMES; t++)
        for (int w = 0; w < WINDOWS; w++)
            for (int p = 0; p < STATIONS; p++)
                for (int q = p + 1; q < STATIONS; q++)
                    if ((t + w + p + q) % 7) // rows are missing here and there
                        set.rows.push_back({5e9 + 10. * t, 10, 0, w, p, q, false});
    return set;
}

IPosition shape_of(const random_set &set, rownr_t row)
{
    return IPosition(2, 4, channels[set.rows[row].description]);
}

// `lacks`: the cells of these rows have no arrays.
void add_column(const random_set &set, Table &table, const char *name, const storage &how,
                bool (*lacks)(rownr_t row))
{
    TableDesc added;
    std::vector<rownr_t> rows(table.nrow());
    random_numbers r(7);
    added.addColumn(ArrayColumnDesc<Complex>(name, 2));
    table.addColumn(added, TiledShapeStMan(name, how.tile));
    ArrayColumn<Complex> column(table, name);
    for (rownr_t row = 0; row < rows.size(); row++)
        rows[row] = row;
    for (size_t k = rows.size() - 1; k > 0 && !how.in_order; k--)
        std::swap(rows[k], rows[size_t(r.below(int(k) + 1))]);
    for (rownr_t row : rows) {
        Array<Complex> cell(shape_of(set, row));
        for (Complex &each : cell)
            each = Complex(float(r.below(2000) - 1000), float(r.below(2000) - 1000));
        if (!lacks(row))
            column.put(row, cell);
    }
}

bool none(rownr_t)
{
    return false;
}

bool some(rownr_t row)
{
    return row % 5 == 3;
}

// DATA has all cells, HOLES lacks some.
std::string make(const storage &how, const std::string &folder)
{
    const random_set set = describe();
    std::string path = random_set_make(set, folder);
    Table table(path, Table::Update);
    table.removeColumn("DATA");
    add_column(set, table, "DATA", how, none);
    add_column(set, table, "HOLES", how, some);
    ArrayColumn<Bool> flags(table, "FLAG");
    for (rownr_t row = 0; row < table.nrow(); row++)
        flags.put(row, Array<Bool>(shape_of(set, row), False));
    ScalarColumn<Bool>(table, "FLAG_ROW").fillColumn(False);
    return path;
}

// Cells of all rows; empty where there is none.
std::vector<std::vector<Complex>> cells_of(const std::string &path, const std::string &name)
{
    Table table(path);
    ArrayColumn<Complex> column(table, name);
    std::vector<std::vector<Complex>> cells(table.nrow());
    for (rownr_t row = 0; row < cells.size(); row++)
        if (column.isDefined(row))
            cells[row] = column(row).tovector();
    return cells;
}

// ---- reading ----

void check_places(const storage &how, const std::string &path, const char *name)
{
    const random_set set = describe();
    const Table table(path);
    const auto cells = cells_of(path, name);
    for (int w = 0; w < WINDOWS; w++) {
        grove::flat_column flat;
        std::vector<int64_t> rows, at;
        grove::open_flat(table, name, IPosition(2, 4, channels[w]), false, flat);
        expect((flat.file >= 0) == how.flat, std::string(how.name) + ": whether it is flat");
        if (flat.file < 0)
            continue;
        for (size_t row = 0; row < cells.size(); row++) {
            bool there = set.rows[row].description == w && !cells[row].empty();
            expect(grove::find_cells(flat, {int64_t(row)}, at) == there,
                   std::string(how.name) + ": whether row " + std::to_string(row) + " has a cell");
            if (there)
                rows.push_back(int64_t(row));
        }
        const size_t cell = size_t(4 * channels[w]);
        std::vector<Complex> is(rows.size() * cell), wanted;
        for (int64_t row : rows)
            wanted.insert(wanted.end(), cells[size_t(row)].begin(), cells[size_t(row)].end());
        expect(grove::find_cells(flat, rows, at) &&
                   grove::read_cells_of(flat, at.data(), int64_t(at.size()), is.data()) &&
                   is == wanted,
               std::string(how.name) + ": cells of " + name);
    }
}

// ---- writing ----

bool run(const std::string &text, const grove_session_options &options)
{
    std::unique_ptr<grove_error, decltype(&grove_error_free)> error(grove_error_new(),
                                                                    grove_error_free);
    grove_tree *tree =
        grove_library_parse(library, text.c_str(), "test.tree", nullptr, 0, error.get());
    grove_session *session = tree ? grove_session_new(tree, &options, error.get()) : nullptr;
    bool good = session && !grove_session_run(session);
    char *said = grove_error_text(error.get());
    if (!good)
        std::printf("%s\n%s\n", text.c_str(), said ? said : "");
    free(said);
    grove_session_free(session);
    grove_tree_free(tree);
    return good;
}

// What is written into which column, from DATA.
struct writing {
    const char *column, *mode;
    std::vector<int> windows;
};

float factor_of(int window)
{
    return 2.f + float(window);
}

void check_cell(const storage &how, const writing &what, size_t row, bool written,
                const std::vector<Complex> &data, const std::vector<Complex> &before,
                const std::vector<Complex> &now, int window)
{
    const bool fresh = !std::string(what.column).compare("FRESH");
    std::vector<Complex> wanted(before);
    if (fresh && !written)
        wanted.assign(data.size(), Complex(0));
    if (written && before.empty())
        wanted.assign(data.size(), Complex(0));
    for (size_t i = 0; written && i < wanted.size(); i++) {
        const Complex value = factor_of(window) * data[i];
        wanted[i] = std::string(what.mode) == "add" ? wanted[i] + value : value;
    }
    expect(now == wanted, std::string(how.name) + ": row " + std::to_string(row) + " of " +
                              what.column + ", mode " + what.mode);
}

void check_writing(const storage &how, const std::string &path, const writing &what,
                   const grove_session_options &options)
{
    const random_set set = describe();
    const auto data = cells_of(path, "DATA");
    auto before = std::string(what.column) == "FRESH"
                      ? std::vector<std::vector<Complex>>(data.size())
                      : cells_of(path, what.column);
    std::string text;
    for (int w : what.windows) {
        std::string obs = "o" + std::to_string(w);
        text += obs + " = ms(\"" + path + "\", spectral_window=" + std::to_string(w) + ")\n";
        text += "w" + std::to_string(w) + " = sink(" + std::to_string(int(factor_of(w))) + " * " +
                obs + ".data, " + obs + ", column=\"" + what.column + "\", mode=" + what.mode +
                ", overwrite=true)\n";
    }
    expect(run(text, options), std::string(how.name) + ": a run");
    const auto now = cells_of(path, what.column);
    for (size_t row = 0; row < now.size(); row++) {
        const int window = set.rows[row].description;
        const bool written = std::count(what.windows.begin(), what.windows.end(), window);
        check_cell(how, what, row, written, data[row], before[row], now[row], window);
    }
}

void check(const storage &how, const std::string &folder)
{
    const std::string path = make(how, folder);
    grove_session_options small = {}, whole = {};
    small.size = whole.size = sizeof(small);
    small.tile_times = 2;
    small.tile_channels = 3;
    small.tile_baselines = 4;
    small.threads = whole.threads = 1;
    small.device = whole.device = "cpu";
    for (const char *name : {"DATA", "HOLES"})
        check_places(how, path, name);
    for (const grove_session_options &options : {small, whole}) {
        check_writing(how, path, {"DATA", "add", {1}}, options);
        check_writing(how, path, {"DATA", "replace", {0, 1}}, options);
        check_writing(how, path, {"HOLES", "replace", {1}}, options);
        check_writing(how, path, {"HOLES", "replace", {0, 1}}, options);
    }
    check_writing(how, path, {"FRESH", "replace", {1}}, small);
    for (const char *name : {"DATA", "HOLES"})
        check_places({how.name, how.tile, how.flat, true}, path, name);
    check_places({how.name, how.tile, true, true}, path, "FRESH");
}
} // namespace

int main()
{
    LogSinkInterface *quiet = new NullLogSink(LogFilter(LogMessage::SEVERE));
    LogSink::globalSink(quiet);
    library = grove_library_new(nullptr);
    for (const storage &how : storages) {
        std::string folder =
            std::filesystem::temp_directory_path().string() + "/grove-tiles-XXXXXX";
        if (!mkdtemp(&folder[0]))
            return 1;
        try {
            check(how, folder);
        } catch (const std::exception &fault) {
            expect(false, std::string(how.name) + ": " + fault.what());
        }
        std::filesystem::remove_all(folder);
    }
    grove_library_free(library);
    return failures != 0;
}
