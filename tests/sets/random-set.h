// Random Measurement Sets: from a seed what a set holds and what is to be done with it; the tables,
// made with casacore; and what Grove must make of them, evaluated from the set's columns without
// any part of Grove.
#ifndef GROVE_TESTS_RANDOM_SET_H
#define GROVE_TESTS_RANDOM_SET_H

#include <array>
#include <complex>
#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

class random_numbers
{
  public:
    explicit random_numbers(uint64_t seed) : state(seed)
    {
    }
    uint64_t next();
    int below(int n); // 0 to n - 1
    bool chance(double p);
    double uniform(); // 0 to 1

  private:
    uint64_t state;
};

enum random_storage {
    RANDOM_STANDARD,
    RANDOM_INCREMENTAL,
    RANDOM_TILED_SHAPE,
    RANDOM_TILED_CELL,
    RANDOM_TILED_COLUMN, // with cells of one shape alone
    RANDOM_STORAGES
};

// How the set that Grove gets is made of tables.
enum random_form {
    RANDOM_PLAIN,
    RANDOM_SELECTION,     // a reference table: some rows, in any order
    RANDOM_PROJECTION,    // a reference table: some columns
    RANDOM_CONCATENATION, // two tables, one after the other
    RANDOM_NESTED,        // some rows of a concatenation
    RANDOM_FORMS
};

// What is wrong with a set, or with what is asked for.
enum random_fault {
    RANDOM_GOOD,
    RANDOM_NO_FIELD,
    RANDOM_NO_WINDOW,
    RANDOM_NO_ROW,
    RANDOM_SAME_ROW,
    RANDOM_BOTH_ORDERS,
    RANDOM_NO_ANTENNA,
    RANDOM_ODD_CORRELATIONS,
    RANDOM_NO_TIME,
    RANDOM_NO_INTERVAL,
    RANDOM_ODD_SHAPE,      // DATA of one row has one channel more
    RANDOM_UNDEFINED_DATA, // DATA of one row has no array
    RANDOM_UNDEFINED_FLAG, // FLAG of one row has no array
    RANDOM_DOUBLE_COLUMN,  // data as double complex numbers
    RANDOM_NO_COLUMN,      // data of a column that does not exist
    RANDOM_REAL_TARGET,    // a sink into UVW
    RANDOM_SCALAR_TARGET,  // a sink into a column of single complex numbers
    RANDOM_NOTHING_TO_ADD, // mode=add without a column
    RANDOM_ADD_UNDEFINED,  // mode=add to cells without arrays
    RANDOM_NEW_SELECTED,   // a new column through a selection of rows
    RANDOM_SHARED_MANAGER, // a column that shares its tiled manager is replaced
    RANDOM_FAULTS
};

// Are selections, concatenations and columns with undefined cells written? Grove cannot yet.
extern const bool random_writes_safely;

enum random_verdict {
    RANDOM_ACCEPTED,
    RANDOM_REFUSED,
    RANDOM_EITHER // accepted and right, or refused; never anything else
};

struct random_fault_info {
    const char *name;
    random_verdict verdict;
    const char *message; // a part of it
};
extern const random_fault_info random_faults[RANDOM_FAULTS];

enum random_expression {
    RANDOM_COPY,      // obs.data
    RANDOM_SCALED,    // 2.5 * obs.data
    RANDOM_HERMITIAN, // obs.data^H
    RANDOM_LESS_MEAN, // obs.data - mean(obs.data, over=time)
    RANDOM_WEIGHT,    // 1Jy * obs.weight
    RANDOM_LENGTH,    // 1Jy/m * norm(obs.uvw)
    RANDOM_EXPRESSIONS
};
extern const char *const random_expressions[RANDOM_EXPRESSIONS];

enum random_mode { RANDOM_REPLACE, RANDOM_ADD, RANDOM_SUBTRACT };
extern const char *const random_modes[3];

struct random_window {
    std::vector<double> frequency, width;
};

struct random_row {
    double time, interval;
    int field, description, left, right;
    bool in_second; // of a concatenation
};

struct random_sink {
    std::string column;
    random_mode mode;
    random_expression expression;
};

struct random_set {
    uint64_t seed;
    std::string name;
    std::vector<std::string> stations, fields;
    std::vector<random_window> windows;
    std::vector<std::vector<int>> setups;          // codes of correlations
    std::vector<std::pair<int, int>> descriptions; // window, setup
    std::vector<random_row> rows;
    random_form form;
    random_storage data, model, flag;
    bool fixed_shape, has_model, undefined_model, together, has_spectrum, some_spectrum;
    random_fault fault;
    // what is asked for
    int field, window;
    bool cross_only;
    std::vector<random_sink> sinks;
    bool writes; // or the sinks' values are computed alone
    int tile_times, tile_channels, tile_baselines, threads;
    bool serial, double_precision;
};

random_set random_set_draw(uint64_t seed);
std::string random_set_describe(const random_set &set); // a few lines
// Makes the tables of a set in a folder; returns the path of the set.
std::string random_set_make(const random_set &set, const std::string &folder);

// All columns of the table, of the tables it consists of, and of its subtables, as "TABLE/COLUMN":
// a text of bytes for each cell; of undefined cells "undefined".
typedef std::map<std::string, std::vector<std::string>> random_columns;
random_columns random_set_columns(const std::string &path);

// The part that is asked for, on a grid of times, baselines, channels and the elements of a cell.
struct random_part {
    std::vector<double> times, intervals, frequency; // of both each pair once, ascending
    std::vector<std::pair<int, int>> baselines;
    std::vector<int> codes;
    int elements;                           // 1 scalar, 2 diagonal, 4 matrix
    std::vector<int64_t> row;               // [time][baseline], -1: missing
    std::vector<std::complex<double>> data; // [time][baseline][channel][element]
    std::vector<char> flag;
    std::vector<double> weight;
    std::vector<double> length; // [time][baseline] of UVW, m
    bool empty() const
    {
        return row.empty();
    }
};
random_part random_set_read(const random_set &set, const std::string &path);

// An expression's value; `size` bounds the magnitudes that it was computed from.
struct random_result {
    int elements;
    bool has_frequency;
    std::vector<std::complex<double>> at; // [time][baseline][channel][element]
    std::vector<double> size;
    std::vector<char> flag, known; // not known: of missing rows
};
random_result random_set_evaluate(const random_part &part, random_expression expression);

// What stands in a column after the run, compared with what has to: an empty text, or what is
// wrong.
std::string random_set_compare(const random_part &part, const random_sink &sink,
                               const std::string &path, const random_columns &before);

#endif
