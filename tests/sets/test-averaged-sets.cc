// Sets that are averaged by baselines: rows of one time have several intervals. Predicted, written
// and calibrated through trees, and compared row by row with sums in long double from the row's own
// columns, without any part of Grove.
#include "grove.h"

#include <casacore/casa/Logging/LogFilter.h>
#include <casacore/casa/Logging/LogSink.h>
#include <casacore/casa/Logging/NullLogSink.h>
#include <casacore/tables/Tables/ArrayColumn.h>
#include <casacore/tables/Tables/ScalarColumn.h>
#include <casacore/tables/Tables/Table.h>

#include <algorithm>
#include <cmath>
#include <complex>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <memory>
#include <random>
#include <string>
#include <tuple>
#include <vector>

using namespace casacore;
typedef std::complex<long double> number;

namespace
{
// One time before and one behind those that are averaged tell the rates of the coordinates.
enum { TIMES = 12, LONGEST = 4, CHANNELS = 3 };
const double STEP = 10, FREQUENCY = 1.4e9, WIDTH = 2e6;
const long double TURN = 2 * std::acos(-1.0L), LIGHT = 299792458, DEGREE = TURN / 360;
const long double RA = 85 * DEGREE, DEC = 50 * DEGREE;

struct source {
    long double ra, dec, flux;
};
const source sources[] = {
    {85 * DEGREE, 50 * DEGREE, 1}, {87 * DEGREE, 51 * DEGREE, 2}, {84 * DEGREE, 48 * DEGREE, 0.5}};

grove_library *library;
int failures;

void expect(bool good, const std::string &what)
{
    if (!good)
        std::printf("FAIL: %s\n", what.c_str());
    failures += !good;
}

// What is wrong, "" if nothing; the notes of the tree in *notes.
std::string run(const std::string &text, std::string *notes = nullptr)
{
    std::unique_ptr<grove_error, decltype(&grove_error_free)> error(grove_error_new(),
                                                                    grove_error_free);
    grove_session_options options = {};
    options.size = sizeof(options);
    options.threads = 2;
    options.device = "cpu";
    options.tile_times = 5; // not at the ends of a time's slots
    grove_tree *tree =
        grove_library_parse(library, text.c_str(), "averaged.tree", nullptr, 0, error.get());
    grove_session *session = tree ? grove_session_new(tree, &options, error.get()) : nullptr;
    if (session)
        grove_session_run(session);
    char *said = grove_error_text(error.get()), *lines = tree ? grove_tree_notes(tree) : nullptr;
    std::string wrong = grove_error_count(error.get()) ? said : "";
    if (notes)
        *notes = lines ? lines : "";
    free(said);
    free(lines);
    grove_session_free(session);
    grove_tree_free(tree);
    return wrong;
}

// ---- the set ----

struct row {
    double time, interval;
    Vector<Double> uvw;
    std::vector<long double> rate;
    rownr_t from; // a row of the set that is not averaged
};

// Baseline after baseline in the order of their times, 1, 2, 3 or LONGEST of which make one row.
// The coordinates are a little longer than Grove's own.
std::vector<row> average(const Table &full)
{
    ScalarColumn<Double> time(full, "TIME");
    ArrayColumn<Double> uvw(full, "UVW");
    const rownr_t baselines = full.nrow() / (TIMES + 2);
    std::vector<row> rows;
    for (rownr_t b = 0; b < baselines; b++)
        for (int first = 1, count = 1 + int(b % LONGEST); first <= TIMES; first += count) {
            auto at = [&](int t) { return rownr_t(t) * baselines + b; };
            row made{0, count * STEP, Vector<Double>(3, 0.), {}, at(first)};
            for (int t = first; t < first + count; t++) {
                made.time += time(at(t)) / count;
                for (size_t k = 0; k < 3; k++)
                    made.uvw[k] += 1.0001 * Vector<Double>(uvw(at(t)))[k] / count;
            }
            Vector<Double> before(uvw(at(first - 1))), behind(uvw(at(first + count)));
            for (size_t k = 0; k < 3; k++)
                made.rate.push_back((behind[k] - before[k]) / (STEP * (count + 1)));
            rows.push_back(made);
        }
    return rows;
}

// In any order; returns the rows as they stand in the set.
std::vector<row> make_averaged(const std::string &full_path, const std::string &path)
{
    Table full(full_path);
    std::vector<row> rows = average(full);
    std::mt19937 random(1);
    std::shuffle(rows.begin(), rows.end(), random);
    Vector<rownr_t> numbers(rows.size());
    for (size_t i = 0; i < rows.size(); i++)
        numbers[i] = rows[i].from;
    full(RowNumbers(numbers)).deepCopy(path, Table::New);
    Table table(path, Table::Update);
    ScalarColumn<Double> time(table, "TIME"), centroid(table, "TIME_CENTROID"),
        interval(table, "INTERVAL"), exposure(table, "EXPOSURE");
    ArrayColumn<Double> uvw(table, "UVW");
    ScalarColumn<Int> left(table, "ANTENNA1"), right(table, "ANTENNA2");
    ArrayColumn<Float> weight(table, "WEIGHT"), sigma(table, "SIGMA");
    ArrayColumn<Bool> flag(table, "FLAG");
    for (rownr_t i = 0; i < rows.size(); i++) {
        const int number = 100 * left(i) + 10 * right(i) + int(std::lround(rows[i].time / 5));
        const float worth = float(1 + number % 17);
        Array<Bool> flags(flag(i));
        for (int k = 0; k < 4; k++)
            flags.data()[4 + k] = number % 5 == 0;
        flag.put(i, flags);
        weight.put(i, Vector<Float>(4, worth));
        sigma.put(i, Vector<Float>(4, 1 / std::sqrt(worth)));
        time.put(i, rows[i].time);
        centroid.put(i, rows[i].time);
        interval.put(i, rows[i].interval);
        exposure.put(i, rows[i].interval);
        uvw.put(i, rows[i].uvw);
    }
    return rows;
}

// ---- truth ----

long double sinc(long double x)
{
    return std::fabs(x) < 1e-9L ? 1 : std::sin(x) / x;
}

// XX of a row and channel.
number truth(const row &of, int channel, bool smeared)
{
    const long double f = FREQUENCY + channel * WIDTH;
    number sum = 0;
    for (const source &s : sources) {
        const long double lmn[3] = {std::cos(s.dec) * std::sin(s.ra - RA),
                                    std::sin(s.dec) * std::cos(DEC) -
                                        std::cos(s.dec) * std::sin(DEC) * std::cos(s.ra - RA),
                                    std::sin(s.dec) * std::sin(DEC) +
                                        std::cos(s.dec) * std::cos(DEC) * std::cos(s.ra - RA) - 1};
        long double length = 0, change = 0;
        for (size_t k = 0; k < 3; k++) {
            length += of.uvw[k] * lmn[k];
            change += of.rate[k] * of.interval * lmn[k];
        }
        const long double less =
            sinc(TURN / 2 * f * change / LIGHT) * sinc(TURN / 2 * WIDTH * length / LIGHT);
        sum += s.flux * (smeared ? less : 1) * std::polar(1.0L, TURN * f * length / LIGHT);
    }
    return sum;
}

// In solution interval n.
number gain_of(int station, int n)
{
    return std::polar(1 + 0.02L * ((station + n) % 7), 0.3L * ((station + 2 * n) % 5));
}

// ---- checks ----

void check_prediction(const std::string &set, const std::vector<row> &rows, bool smeared)
{
    std::string notes,
        wrong = run("obs = ms(\"" + set + "\")\nS = sky_model(\"three.skymodel\")\n" +
                        "sink(sum[s](point(S, obs, smear=" + (smeared ? "both" : "none") +
                        ")), obs, column=\"POINT\")\n",
                    &notes);
    expect(wrong.empty(), wrong);
    if (!wrong.empty())
        return;
    std::string count = std::to_string(rows.size()) + " rows with intervals of 10 to 40 s make ";
    // 12 + 6 + 4 + 3
    expect(notes.find(count + "25 slots of one time and interval") != std::string::npos,
           "the notes: " + notes);
    Table table(set);
    ArrayColumn<Complex> column(table, "POINT");
    long double most = 0, least = 1e9;
    for (rownr_t i = 0; i < rows.size(); i++) {
        Array<Complex> cell(column(i));
        for (int f = 0; f < CHANNELS; f++) {
            number is(cell.data()[4 * f]), wanted = truth(rows[i], f, smeared);
            most = std::max(most, std::abs(is - wanted));
            least = std::min(least, std::abs(wanted));
        }
    }
    expect(most < 2e-5L, "a prediction is " + std::to_string(double(most)) + " Jy off");
    expect(!smeared || least < 0.1L, "nothing is smeared");
}

// TIME in tenths of a second, INTERVAL, antennas.
typedef std::tuple<long, int, int, int> row_key;

row_key key_of(const Table &in, rownr_t i)
{
    return row_key(std::lround(10 * ScalarColumn<Double>(in, "TIME")(i)),
                   int(std::lround(ScalarColumn<Double>(in, "INTERVAL")(i))),
                   ScalarColumn<Int>(in, "ANTENNA1")(i), ScalarColumn<Int>(in, "ANTENNA2")(i));
}

// Weights and flags of a copy's rows are those of the same rows.
void check_copy(const std::string &set)
{
    std::string wrong = run("obs = ms(\"" + set + "\")\nsink(obs.data, obs, to=\"copy.ms\")\n");
    expect(wrong.empty(), wrong);
    if (!wrong.empty())
        return;
    Table of(set), copy("copy.ms");
    std::map<row_key, rownr_t> from;
    for (rownr_t i = 0; i < of.nrow(); i++)
        from[key_of(of, i)] = i;
    expect(copy.nrow() == of.nrow(), "rows of a copy");
    int flagged = 0;
    for (rownr_t i = 0; i < copy.nrow(); i++) {
        const rownr_t k = from[key_of(copy, i)];
        Array<Bool> flags(ArrayColumn<Bool>(copy, "FLAG")(i)),
            wanted(ArrayColumn<Bool>(of, "FLAG")(k));
        expect(std::equal(flags.begin(), flags.end(), wanted.begin()), "flags of a copy");
        flagged += std::count(flags.begin(), flags.end(), true) > 0;
        for (const char *name : {"WEIGHT", "SIGMA"})
            expect(std::abs(ArrayColumn<Float>(copy, name)(i).data()[3] -
                            ArrayColumn<Float>(of, name)(k).data()[3]) < 1e-6,
                   std::string(name) + " of a copy");
    }
    expect(flagged > 9, "flagged rows");
}

// A new set has the rows of the other one, in the order of their times.
void check_new(const std::string &set, const std::vector<row> &rows)
{
    std::string wrong = run("obs = ms(\"" + set + "\")\nS = sky_model(\"three.skymodel\")\n" +
                            "sink(sum[s](point(S, obs, smear=both)), obs, to=\"new.ms\")\n");
    expect(wrong.empty(), wrong);
    if (!wrong.empty())
        return;
    Table of(set), table("new.ms");
    std::map<row_key, const row *> known;
    for (rownr_t i = 0; i < rows.size(); i++)
        known[key_of(of, i)] = &rows[i];
    expect(table.nrow() == rows.size(), std::to_string(table.nrow()) + " rows in a new set");
    long double most = 0;
    double last = 0;
    for (rownr_t i = 0; i < table.nrow(); i++) {
        auto found = known.find(key_of(table, i));
        double time = ScalarColumn<Double>(table, "TIME")(i);
        if (found == known.end() || time < last)
            return expect(false, "row " + std::to_string(i) + " of the new set");
        Array<Complex> cell(ArrayColumn<Complex>(table, "DATA")(i));
        Vector<Double> uvw(ArrayColumn<Double>(table, "UVW")(i));
        for (int f = 0; f < CHANNELS; f++)
            most = std::max(most,
                            std::abs(number(cell.data()[4 * f]) - truth(*found->second, f, true)));
        expect(std::equal(uvw.begin(), uvw.end(), found->second->uvw.begin()), "UVW of a new set");
        last = time;
        known.erase(found);
    }
    expect(most < 2e-5L, "in a new set " + std::to_string(double(most)) + " Jy off");
}

// The numbers of a member of obs.
std::vector<double> member(const std::string &set, const std::string &name)
{
    std::string wrong = run("obs = ms(\"" + set + "\")\nx = save(1 * obs." + name +
                            ", to=\"member.npy\", overwrite=true)\n");
    expect(wrong.empty(), wrong);
    std::ifstream file("member.npy", std::ios::binary);
    std::string bytes((std::istreambuf_iterator<char>(file)), std::istreambuf_iterator<char>());
    if (!wrong.empty() || bytes.size() < 10)
        return {};
    const size_t begin =
        10 + size_t((unsigned char)bytes[8]) + 256 * size_t((unsigned char)bytes[9]);
    std::vector<double> numbers((bytes.size() - begin) / sizeof(double));
    std::memcpy(numbers.data(), bytes.data() + begin, numbers.size() * sizeof(double));
    expect(bytes.find("<f8") < begin, "double precision");
    return numbers;
}

// Slots of one time have different rows, one station none; stations are where they are, to what
// averaging and lengths change.
void check_stations(const std::string &from, const std::string &set)
{
    {
        Table whole(from);
        ScalarColumn<Int> left(whole, "ANTENNA1"), right(whole, "ANTENNA2");
        ScalarColumn<Double> interval(whole, "INTERVAL");
        std::vector<rownr_t> kept;
        for (rownr_t i = 0; i < whole.nrow(); i++)
            if ((left(i) != 1 && right(i) != 1) || interval(i) > 25)
                kept.push_back(i);
        whole(RowNumbers(Vector<rownr_t>(kept))).deepCopy(set, Table::New);
    }
    const std::vector<double> time = member(set, "time"), all = member(set, "station_uvw");
    const size_t each = time.empty() ? 0 : all.size() / time.size();
    int pairs = 0;
    double most = 0, mean = 0, size = 0;
    for (size_t t = 0; t < time.size(); t++) {
        double sum[3] = {0, 0, 0};
        for (size_t i = 0; i < each; i++) {
            sum[i % 3] += all[t * each + i];
            size = std::max(size, std::abs(all[t * each + i]));
        }
        mean = std::max({mean, std::abs(sum[0]), std::abs(sum[1]), std::abs(sum[2])});
        for (size_t other = 0; other < t; other++) {
            if (std::abs(time[t] - time[other]) > 1e-3)
                continue;
            pairs++;
            for (size_t i = 0; i < each; i++)
                most = std::max(most, std::abs(all[t * each + i] - all[other * each + i]));
        }
    }
    expect(pairs > 3, std::to_string(pairs) + " pairs of slots of one time");
    expect(size > 100 && most < 1e-3 * size,
           "stations of one time are " + std::to_string(most) + " m apart");
    expect(mean < 1e-6 * size, "a mean of stations of " + std::to_string(mean) + " m");
}

// The largest modulus in a column.
float largest(const std::string &set, const char *name)
{
    Table table(set);
    ArrayColumn<Complex> column(table, name);
    float most = 0;
    for (rownr_t i = 0; i < table.nrow(); i++)
        for (const Complex &each : column(i))
            most = std::max(most, std::abs(each));
    return most;
}

// Data of known gains: what a calibration leaves.
void check_calibration(const std::string &set, const std::vector<row> &rows)
{
    {
        Table table(set, Table::Update);
        ArrayColumn<Complex> data(table, "DATA");
        ScalarColumn<Int> left(table, "ANTENNA1"), right(table, "ANTENNA2");
        double start = 1e99;
        for (const row &each : rows)
            start = std::min(start, each.time - each.interval / 2);
        for (rownr_t i = 0; i < rows.size(); i++) {
            const int n = int((rows[i].time - start) / 40);
            Array<Complex> cell(data(i));
            for (int f = 0; f < CHANNELS; f++) {
                number v =
                    gain_of(left(i), n) * truth(rows[i], f, true) * std::conj(gain_of(right(i), n));
                cell.data()[4 * f] = cell.data()[4 * f + 3] = Complex(v);
            }
            data.put(i, cell);
        }
    }
    auto tree = [&](const std::string &time) {
        return "obs = ms(\"" + set + "\")\nS = sky_model(\"three.skymodel\")\n" +
               "G[p] = parm(\"G\", jones=diagonal, time=" + time + ")\n" +
               "V[p,q] = G[p] * sum[s](point(S, obs, smear=both)) * G[q]^H\n" +
               "fit = solve(V, obs.data, parms=G)\n" + "sink(obs.data - V, obs, column=\"LEFT\")\n";
    };
    std::string wrong = run(tree("40s"));
    expect(wrong.empty(), wrong);
    if (!wrong.empty())
        return;
    const float most = largest(set, "LEFT");
    expect(most < 1e-4, "a calibration leaves " + std::to_string(most) + " Jy");
    wrong = run(tree("30s"));
    expect(wrong.find("30 s is shorter than the longest of the intervals of its rows, 40 s") !=
               std::string::npos,
           "an interval that is too short: " + wrong);
}

void check_intervals(const std::string &set)
{
    const std::pair<double, const char *> odd[] = {{std::nan(""), "nan"}, {0, "0"}, {-10, "-10"}};
    for (const auto &each : odd) {
        {
            Table table(set, Table::Update);
            ScalarColumn<Double>(table, "INTERVAL").put(7, each.first);
        }
        std::string wrong =
                        run("obs = ms(\"" + set + "\")\nsink(2 * obs.data, obs, column=\"X\")\n"),
                    wanted = std::string("row 7 has an INTERVAL of ") + each.second +
                             " s; it must be a number above 0";
        expect(wrong.find(wanted) != std::string::npos, wanted + ", not: " + wrong);
        expect(wrong.find(": error: ") == wrong.rfind(": error: "), "one error: " + wrong);
    }
}

// All rows may have an INTERVAL of 0: nothing is smeared in time.
void check_without_intervals(const std::string &set)
{
    {
        Table table(set, Table::Update);
        ScalarColumn<Double> interval(table, "INTERVAL");
        for (rownr_t i = 0; i < table.nrow(); i++)
            interval.put(i, 0);
    }
    std::string wrong =
        run("obs = ms(\"" + set +
            "\")\nS = sky_model(\"three.skymodel\")\n"
            "sink(sum[s](point(S, obs, smear=time)) - sum[s](point(S, obs)), obs, column=\"Y\")\n");
    expect(wrong.empty(), wrong);
    if (!wrong.empty())
        return;
    const float most = largest(set, "Y");
    expect(most < 1e-5, "smeared without an interval by " + std::to_string(most) + " Jy");
}

void check_all()
{
    std::ofstream sky("three.skymodel");
    sky << "format = Name, Type, Ra, Dec, I\na, POINT, 5h40m0, 50.0.0, 1\n"
           "b, POINT, 5h48m0, 51.0.0, 2\nc, POINT, 5h36m0, 48.0.0, 0.5\n";
    sky.close();
    std::string wrong = run("obs = observe(array=\"vla-c\", phase_centre=\"5h40m0s 50d0m0s\", "
                            "start=\"2000-01-01T05:00\", duration=140s, integration=10s, "
                            "frequency=1.4GHz, channels=3, channel_width=2MHz)\n"
                            "S = sky_model(\"three.skymodel\")\n"
                            "sink(sum[s](point(S, obs)), obs, to=\"full.ms\")\n");
    expect(wrong.empty(), wrong);
    std::vector<row> rows = make_averaged("full.ms", "averaged.ms");
    check_prediction("averaged.ms", rows, true);
    check_prediction("averaged.ms", rows, false);
    check_new("averaged.ms", rows);
    check_copy("averaged.ms");
    check_stations("averaged.ms", "fewer.ms");
    check_calibration("averaged.ms", rows);
    check_intervals("averaged.ms");
    check_without_intervals("averaged.ms");
}
} // namespace

int main()
{
    std::string folder = std::filesystem::temp_directory_path().string() + "/grove-averaged-XXXXXX";
    if (!mkdtemp(&folder[0]))
        return 1;
    LogSinkInterface *quiet = new NullLogSink(LogFilter(LogMessage::SEVERE));
    LogSink::globalSink(quiet);
    library = grove_library_new(nullptr);
    std::filesystem::path before = std::filesystem::current_path();
    try {
        std::filesystem::current_path(folder);
        check_all();
    } catch (const std::exception &error) {
        expect(false, error.what());
    }
    std::filesystem::current_path(before);
    grove_library_free(library);
    std::filesystem::remove_all(folder);
    return failures != 0;
}
